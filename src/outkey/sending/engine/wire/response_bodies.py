"""Bodies of responses that arrive after the flow of their request has ended."""

from collections.abc import Callable, Iterator
from dataclasses import replace

from outkey.foundation.core.errors import OutkeyError
from outkey.sending.core.audit.events import Outcome
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.request.expired_marker import MARKER_BYTES, has_expired_marker
from outkey.sending.core.request.message import BodyStream, Response
from outkey.sending.core.request.packed_body import PackedBody

Conclude = Callable[[Outcome], None]


class StartedBody:
    """A body that is still arriving, and whose start was read already."""

    def __init__(self, body: BodyStream, start_bytes: int) -> None:
        self.size = body.size
        self._body = body
        self._parts = iter(body)
        self.start = b""
        for part in self._parts:
            self.start += part
            if len(self.start) >= start_bytes:
                break

    def __iter__(self) -> Iterator[bytes]:
        yield self.start
        yield from self._parts

    def close(self) -> None:
        """Let go of the connection."""
        self._body.close()


def read_for_marker(
    response: Response, stream: BodyStream, configuration: Configuration
) -> Response:
    """Return a response whose stream was read as far as the Expired marker may be.

    A body that has the marker is read whole, like that of an error.
    """
    body = StartedBody(stream, MARKER_BYTES)
    started = replace(response, body=body.start, stream=body)
    if has_expired_marker(started, configuration):
        return replace(response, body=b"".join(body), stream=None)
    return replace(response, stream=body)


def with_packed_body(response: Response, stream: BodyStream) -> Response:
    """Return a response whose stream was read to its end."""
    try:
        return replace(response, stream=None, packed=PackedBody(stream))
    finally:
        stream.close()


class UnfinishedBody:
    """A body that is still arriving; how its request ended is recorded after it.

    `outcome` makes the record from a result: "ok", the code of an error, or
    "cancelled" where the caller does not read to the end.
    """

    def __init__(
        self,
        parts: BodyStream,
        outcome: Callable[[str], Outcome],
        conclude: Conclude | None = None,
    ) -> None:
        self.size = parts.size
        self._parts = parts
        self._outcome = outcome
        self._conclude = conclude

    def recorded_by(self, conclude: Conclude) -> "UnfinishedBody":
        """Return the same body, whose end will be handed to `conclude`."""
        return UnfinishedBody(self._parts, self._outcome, conclude)

    def __iter__(self) -> Iterator[bytes]:
        try:
            yield from self._parts
        except OutkeyError as error:
            self._end(str(error.code))
            raise
        self._end("ok")

    def close(self) -> None:
        """Let go of the connection; an unread body is recorded as cancelled."""
        self._parts.close()
        self._end("cancelled")

    def _end(self, result: str) -> None:
        conclude = self._conclude
        self._conclude = None
        if conclude is not None:
            conclude(self._outcome(result))
