"""Where attempts are recorded: a chain in a table, or the log."""
