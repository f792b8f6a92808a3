"""The pages about the whole installation: activity, keys, API tokens, settings."""
