"""Other libraries that read responses, as a second opinion on ours."""

import asyncio
import http.client
import io
from typing import Any, cast

import h11
from aiohttp import http_exceptions
from aiohttp.base_protocol import BaseProtocol
from aiohttp.http import HttpResponseParser

from contract.odd_responses import Case
from contract.reading import Read

REFUSED = "refused"
Opinion = Read | str


class _Input:
    """All that http.client asks of a socket."""

    def __init__(self, data: bytes) -> None:
        self._data = io.BytesIO(data)

    def makefile(self, _mode: str) -> io.BytesIO:
        return self._data


def by_http_client(case: Case) -> Opinion:
    """Read with http.client."""
    response = http.client.HTTPResponse(
        cast("Any", _Input(case.data)), method=case.method
    )
    try:
        response.begin()
        body = response.read()
    except (http.client.HTTPException, ValueError, OverflowError):
        return REFUSED
    headers = tuple(response.msg.items())
    return Read(response.status, headers, body, reusable=not response.will_close)


def by_h11(case: Case) -> Opinion:
    """Read with h11."""
    connection = h11.Connection(h11.CLIENT)
    connection.send(
        h11.Request(method=case.method, target="/", headers=[("Host", "a")])
    )
    connection.send(h11.EndOfMessage())
    connection.receive_data(case.data)
    head: h11.Response | None = None
    body = b""
    try:
        while True:
            event = connection.next_event()
            if event is h11.NEED_DATA:
                connection.receive_data(b"")
            elif isinstance(event, h11.Response):
                head = event
            elif isinstance(event, h11.Data):
                body += event.data
            elif isinstance(event, h11.EndOfMessage) and head is not None:
                break
            elif not isinstance(event, h11.InformationalResponse):
                return REFUSED
    except h11.RemoteProtocolError:
        return REFUSED
    headers = tuple(
        (name.decode("latin-1"), value.decode("latin-1"))
        for name, value in head.headers.raw_items()
    )
    reusable = connection.their_state is h11.DONE and not connection.trailing_data[0]
    return Read(head.status_code, headers, body, reusable)


def by_aiohttp(case: Case, loop: asyncio.AbstractEventLoop) -> Opinion:
    """Read with aiohttp's parser, with the limits of ours."""
    parser = HttpResponseParser(
        BaseProtocol(loop),
        loop,
        2**16,
        max_line_size=65_536,
        max_field_size=65_536,
        max_headers=99,
        response_with_body=case.method != "HEAD",
        read_until_eof=True,
        auto_decompress=False,
    )
    try:
        messages, _, _ = parser.feed_data(case.data)
        final = [found for found in messages if found[0].code >= 200]
        if not final:
            return REFUSED
        head, payload = final[0]
        if not payload.is_eof():
            parser.feed_eof()
        body = payload.read_nowait()
        if payload.exception() is not None or not payload.is_eof():
            return REFUSED
    except http_exceptions.HttpProcessingError:
        return REFUSED
    headers = tuple(
        (name.decode("latin-1"), value.decode("latin-1"))
        for name, value in head.raw_headers
    )
    return Read(head.code, headers, body, reusable=not head.should_close)
