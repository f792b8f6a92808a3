"""Rows that are vouched for: their codes, and what a home has seen."""
