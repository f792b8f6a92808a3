"""Transports whose libraries are loaded when the first request is sent.

Most commands send none.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from outkey.foundation.adapters.process_lock import ProcessLock

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from outkey.foundation.core.origin import Origin
    from outkey.sending.adapters.transport.configured_files import ConfiguredFiles
    from outkey.sending.adapters.transport.transport_asyncio import AsyncioTransport
    from outkey.sending.adapters.transport.transport_sockets import SocketTransport
    from outkey.sending.core.request.message import Peer, Request, Response, Route
    from outkey.sending.ports.sending import BegunExchange


# One lock for both, since they share modules: two threads that load these in different
# orders could each see a module that is only half loaded.
_LOADING = ProcessLock()


class TransportOnDemand:
    """Sends as `SocketTransport` does."""

    def __init__(self, files: ConfiguredFiles | None = None) -> None:
        self._files = files
        self._transport: SocketTransport | None = None

    def send(self, request: Request, route: Route) -> Response:
        return (self._transport or self._open()).send(request, route)

    def begin(self, request: Request, route: Route) -> BegunExchange | None:
        return (self._transport or self._open()).begin(request, route)

    def probe(self, origin: Origin, route: Route) -> Peer:
        return (self._transport or self._open()).probe(origin, route)

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def _open(self) -> SocketTransport:
        with _LOADING:
            from outkey.sending.adapters.transport.transport_sockets import (  # noqa: PLC0415
                SocketTransport,
            )

            if self._transport is None:
                self._transport = SocketTransport(self._files)
            return self._transport


class AsyncTransportOnDemand:
    """Sends as `AsyncioTransport` does."""

    def __init__(self, files: ConfiguredFiles | None = None) -> None:
        self._files = files
        self._transport: AsyncioTransport | None = None

    def send(self, request: Request, route: Route) -> Coroutine[Any, Any, Response]:
        # Each level of coroutines costs time, so the transport's own is returned.
        if self._transport is None:
            return self._open_and_send(request, route)
        return self._transport.send(request, route)

    async def close(self) -> None:
        if self._transport is not None:
            await self._transport.close()

    async def _open_and_send(self, request: Request, route: Route) -> Response:
        # Loading takes too long for an event loop.
        transport = await asyncio.to_thread(self._open)
        return await transport.send(request, route)

    def _open(self) -> AsyncioTransport:
        with _LOADING:
            from outkey.sending.adapters.transport.transport_asyncio import (  # noqa: PLC0415
                AsyncioTransport,
            )

            if self._transport is None:
                self._transport = AsyncioTransport(self._files)
            return self._transport
