"""YAML without aliases and types."""
