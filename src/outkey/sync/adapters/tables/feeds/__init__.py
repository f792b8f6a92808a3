"""The changes of tables, recorded in the transactions of their rows."""
