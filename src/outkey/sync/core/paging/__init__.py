"""Pages of an API: how the next one is found, and what a response contains."""
