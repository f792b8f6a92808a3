"""Rotations as users and programs read them."""
