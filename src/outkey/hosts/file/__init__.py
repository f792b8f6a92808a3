"""A gateway from one TOML document, without a database."""

from outkey.hosts.file.loading import from_text, load

__all__ = ["from_text", "load"]
