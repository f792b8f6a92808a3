"""Checks, findings and conditions: problems and risks of settings."""
