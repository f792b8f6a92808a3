"""Synchronization as data and pure rules: lines, pages, field mappings and runs."""
