"""The shape of a table: planned, compared and changed."""
