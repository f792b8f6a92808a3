"""TOML as text: read, written, and edited with its comments."""
