"""The authentication schemes, one in each module."""
