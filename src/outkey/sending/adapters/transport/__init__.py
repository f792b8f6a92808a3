"""Connections, TLS, proxies and responses."""
