"""The command line: one file for each command, and a few for what they share."""
