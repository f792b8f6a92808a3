"""A configuration: its fields, sections, rows, health and checks."""
