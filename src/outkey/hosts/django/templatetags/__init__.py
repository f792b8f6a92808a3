"""What the templates ask for by name."""
