"""Changing, testing and watching what an installation stores."""
