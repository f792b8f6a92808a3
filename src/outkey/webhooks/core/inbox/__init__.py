"""Deliveries that are stored, and how healthy a webhook is."""
