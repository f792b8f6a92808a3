"""Configurations and sync lines: values, the field table, and TOML read and written."""
