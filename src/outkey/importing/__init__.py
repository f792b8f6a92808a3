"""Configurations and lines from cURL, Postman, OpenAPI and others."""
