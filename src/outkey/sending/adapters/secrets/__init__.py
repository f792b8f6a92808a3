"""Keys, sealed secrets and references to secrets."""
