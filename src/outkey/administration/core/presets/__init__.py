"""Known APIs, with the settings that they need."""
