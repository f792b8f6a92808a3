"""Use cases, built from core and ports: whether, and in what order."""
