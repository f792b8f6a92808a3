"""The layout of sealed secrets, and what the key vouches for. No cryptography."""
