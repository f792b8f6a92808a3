"""Webhooks: stored settings and secrets, reception, and the inbox of deliveries."""
