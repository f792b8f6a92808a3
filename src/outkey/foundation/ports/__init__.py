"""Interfaces that every feature needs: a clock, a database, expressions."""
