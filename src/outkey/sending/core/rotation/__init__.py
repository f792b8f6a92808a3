"""Two sets of credentials: what is in use, and what replaces it."""
