"""Webhooks at work: settings, receiving and processing deliveries, refusals."""
