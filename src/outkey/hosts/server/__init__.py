"""The embedded default: outkey with a database of its own, for the command line and the pages."""
