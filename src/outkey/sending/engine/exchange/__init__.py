"""Sending by a configuration's name: exchange, preview, scripts, lending."""
