"""outkey: outbound authentication for business applications.

gateway = outkey.load("configurations.toml")
response = gateway.send("acme", "GET", "/orders")
"""

from outkey import errors, integrations
from outkey.core.message import Response
from outkey.core.secret import Secret
from outkey.engine.gateway import Gateway
from outkey.hosts.file import load

__all__ = ["Gateway", "Response", "Secret", "errors", "integrations", "load"]
