"""OAuth 2.0 tokens: renewal, cache, discovery, and what a user does with them."""
