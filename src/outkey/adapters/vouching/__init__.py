"""Rows that are vouched for: their codes, what a home has seen, and the tables."""
