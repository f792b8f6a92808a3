"""Threads and processes that do runs and deliveries."""
