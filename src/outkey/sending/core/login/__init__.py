"""Tokens of a login at the API itself, without I/O: requests, responses and checks."""
