"""Interfaces of an installation: keys, vouched rows, presets, notifications."""
