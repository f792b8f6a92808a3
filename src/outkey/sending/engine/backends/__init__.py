"""Reading secrets from external stores: log-in, cache, and one read at a time."""
