"""Ports for the servers that tests start."""

import secrets
import socket
from contextlib import suppress


def free_port() -> int:
    """Return a port below those that the system gives to outgoing connections.

    One of theirs may be taken before a server binds it.
    """
    for _ in range(100):
        port = 12_000 + secrets.randbelow(20_000)
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise RuntimeError("no port is free")
