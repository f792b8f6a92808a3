"""OAuth 1.0a (RFC 5849): signatures, and the three legs of an authorization."""
