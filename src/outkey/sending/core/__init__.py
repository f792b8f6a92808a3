"""The rules of sending."""
