"""Permissions: what an edit needs, and who may change which user."""
