"""Interfaces that webhooks need: stored deliveries, and the vault of their secrets."""
