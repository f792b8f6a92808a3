"""Endpoints for programs: webhooks, health and metrics."""
