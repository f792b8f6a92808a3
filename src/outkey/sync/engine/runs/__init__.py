"""Runs: requested, planned, begun, continued and ended; their requests."""
