"""A TOML document of all features: read, written and compared."""
