"""Suggestions that complete a line, from a sample of an API's response."""
