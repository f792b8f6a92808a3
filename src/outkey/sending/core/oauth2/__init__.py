"""OAuth 2.0 without I/O: requests, responses, and the life of a token."""
