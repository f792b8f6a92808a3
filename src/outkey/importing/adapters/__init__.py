"""YAML without aliases and types, and the scripts that an import fills in."""
