"""outkey: outbound authentication for business applications.

gateway = outkey.open()                       # a Django project, or the embedded home
gateway = await outkey.aopen()                # the same, on an event loop
gateway = outkey.load("configurations.toml")  # a document, without a database
response = gateway.send("acme", "GET", "/orders")
"""

import asyncio

from outkey import errors, integrations
from outkey.core.request.message import Response
from outkey.core.secret import Secret
from outkey.engine.gateway import Gateway
from outkey.engine.wire.off_loop import off_loop
from outkey.hosts.file import load

__all__ = [
    "Gateway",
    "Response",
    "Secret",
    "aopen",
    "errors",
    "integrations",
    "load",
    "open",
]


@off_loop
def open() -> Gateway:  # noqa: A001 - `outkey.open()` reads as what it does
    """Return a gateway for the configurations of this process's installation.

    In a Django project that is the one of its setting OUTKEY, elsewhere the embedded
    home (OUTKEY_HOME). Each call returns a new gateway, to be closed by the caller.
    """
    from outkey.hosts.server.home import open_home

    home = open_home()
    from outkey.hosts.django.wiring import install

    return install(home).gateway


async def aopen() -> Gateway:
    """Do what `open` does, without blocking the event loop."""
    return await asyncio.to_thread(open)
