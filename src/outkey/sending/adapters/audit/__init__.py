"""Stores of audit records: a chain in a table, or the log."""
