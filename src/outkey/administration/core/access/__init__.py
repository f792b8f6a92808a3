"""API tokens, roles, and who may change which user."""
