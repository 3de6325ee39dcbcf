"""Files and frames into matrices and windows: reading, columns, encodings, panels. No torch."""
