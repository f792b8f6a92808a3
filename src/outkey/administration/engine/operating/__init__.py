"""Counts for metrics, and whether an installation is ready to work."""
