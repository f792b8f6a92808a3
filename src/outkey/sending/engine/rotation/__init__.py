"""Rotations: staging, trials of next credentials, and going back."""
