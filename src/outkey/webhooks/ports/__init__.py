"""What webhooks need of a host."""
