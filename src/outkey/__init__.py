"""outkey: outbound authentication for business applications.

gateway = outkey.open()                      # the embedded home
gateway = outkey.load("configurations.toml") # a document, without a database
response = gateway.send("acme", "GET", "/orders")
"""

from outkey import errors, integrations
from outkey.core.message import Response
from outkey.core.secret import Secret
from outkey.engine.gateway import Gateway
from outkey.hosts.file import load

__all__ = ["Gateway", "Response", "Secret", "errors", "integrations", "load", "open"]


def open() -> Gateway:  # noqa: A001 - `outkey.open()` reads as what it does
    """Return a gateway for the configurations of the embedded home (OUTKEY_HOME)."""
    from outkey.hosts.server.home import prepare  # noqa: PLC0415 - needs outkey[server]

    folder = prepare()
    from outkey.hosts.django.wiring import install  # noqa: PLC0415 - needs Django to be set up

    return install(folder).gateway
