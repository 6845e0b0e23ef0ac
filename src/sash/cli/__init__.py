"""The command line: one file per command; only faces print."""
