"""Public keys, and the vault of webhooks' secrets and bodies."""
