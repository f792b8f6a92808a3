"""Stores of tokens, and signatures with keys."""
