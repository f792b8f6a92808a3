"""Opening the installation of this process, for programs that send with the library."""

import asyncio
from importlib import import_module

from outkey.foundation.adapters.threads_system import SystemThreads
from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.text import Text
from outkey.sending.engine.gateway import Gateway
from outkey.sending.engine.wire.off_loop import off_loop


@off_loop(SystemThreads)
def open() -> Gateway:  # noqa: A001 - `outkey.open()` reads as what it does
    """Return a gateway for the configurations of this process's installation.

    In a Django project that is the one of its setting OUTKEY, elsewhere the embedded
    home (OUTKEY_HOME). Each call returns a new gateway, to be closed by the caller.
    """
    try:
        from outkey.hosts.server.home import open_home
    except ModuleNotFoundError as error:
        if str(error.name).startswith("outkey"):
            raise
        raise ConfigError(
            Text("an installation needs packages that are missing here"),
            hint=Text("Install outkey[server], or use outkey.load with a document."),
        ) from None

    home = open_home()
    from outkey.hosts.django.wiring import install

    # Loads the libraries of both transports: the first request on an event loop must
    # not wait for them.
    import_module("outkey.sending.adapters.transport.transport_asyncio")
    return install(home).gateway


async def aopen() -> Gateway:
    """Do what `open` does, without blocking the event loop."""
    return await asyncio.to_thread(open)
