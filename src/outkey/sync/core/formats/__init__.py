"""Formats of responses: from the bytes of a body to records."""
