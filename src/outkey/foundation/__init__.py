"""Shared by all features: texts, errors, secrets, fields, TOML, the database."""
