"""Where tokens are stored, and what signs with keys."""
