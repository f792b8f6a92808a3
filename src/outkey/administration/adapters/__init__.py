"""Notices, metrics, policies, presets and reports of failures."""
