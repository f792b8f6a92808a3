"""OAuth 2.0 without I/O: what is asked, what is answered, and the life of a token."""
