"""Drilling a configuration: a copy of it against the sparring provider."""
