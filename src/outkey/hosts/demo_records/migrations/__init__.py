"""The demo's tables."""
