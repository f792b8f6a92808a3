"""The rules of administration."""
