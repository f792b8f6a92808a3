"""The commands for configurations, requests, sync lines and webhooks."""
