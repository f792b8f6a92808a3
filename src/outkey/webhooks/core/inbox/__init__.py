"""Stored deliveries: their content, states and events, and a webhook's health."""
