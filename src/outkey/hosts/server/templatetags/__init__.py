"""Template tags of the embedded host."""
