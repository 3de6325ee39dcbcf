"""One's own files from the command line: fit, predict, evaluate, inspect, export."""
