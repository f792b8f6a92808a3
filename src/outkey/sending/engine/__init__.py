"""Sending by the name of a configuration, its registry and its test."""
