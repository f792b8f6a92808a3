"""The embedded host: outkey with its own database, for command line and pages."""
