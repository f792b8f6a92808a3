"""Recognising a secret that a remote system repeats in its response."""
