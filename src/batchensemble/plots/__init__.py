"""Pages that need no other file and no network: their frame, tables and charts."""
