"""Deliveries of webhooks: are they from their sender? Pure: no I/O, no clock."""
