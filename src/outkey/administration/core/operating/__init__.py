"""Metrics, counts and the check list of production."""
