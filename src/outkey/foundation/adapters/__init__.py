"""Clocks, expressions, locks and protection of the process."""
