"""Requests and responses: URLs, headers, bodies, and the authentication schemes."""
