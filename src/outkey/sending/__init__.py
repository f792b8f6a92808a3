"""Requests with credentials: configurations, secrets, tokens, audit, diagnosis."""
