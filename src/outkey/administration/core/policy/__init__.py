"""The policy of an operator: read from its file, and what it blocks."""
