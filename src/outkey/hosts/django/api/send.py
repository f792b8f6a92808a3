"""The send proxy: a caller's request goes out with a configuration's credentials.

A large body of the request is read from the file that the server has put it in. The
body of a success is passed on as it arrives; that of an error is read first, within the
configuration's limit, since the gateway diagnoses it.
"""

import logging
import time
from collections.abc import Iterator
from urllib.parse import unquote

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.utils.cache import patch_vary_headers

from outkey.administration.core.access.relay import (
    RelayedRequest,
    returned_headers,
    returned_status,
)
from outkey.foundation.core.errors import OutkeyError
from outkey.hosts.django.api.aborted import RESPOND_WITHIN, ResponseAborted
from outkey.hosts.django.api.access import access_of
from outkey.hosts.django.api.bodies import read_body
from outkey.hosts.django.api.paths import raw_rest
from outkey.hosts.django.api.responses import error_response, method_not_allowed
from outkey.sending.core.request.message import BodyStream
from outkey.sending.core.request.message import Response as ApiResponse
from outkey.sending.engine.wire.transmit import MEBIBYTE

METHODS = ("GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE")
NOT_SENT = ("CONNECT", "TRACE")  # they are about the connection, not about a resource
_log = logging.getLogger(__name__)


def send(request: HttpRequest, rest: str) -> HttpResponseBase:
    """Send a request; `rest` is the configuration and the path, decoded by Django."""
    if request.method in NOT_SENT:
        return method_not_allowed(METHODS)
    try:
        return _send_by_token(request, rest)
    except OutkeyError as error:
        return error_response(error, sends=True)


def _send_by_token(request: HttpRequest, rest: str) -> HttpResponseBase:
    """Send a request that has a token, and return the API's response."""
    access = access_of(request)
    path, _, query = raw_rest(request, rest).partition("?")
    encoded_name, _, path = path.partition("/")
    name = unquote(encoded_name)
    limits = access.limits(name)
    relayed = RelayedRequest(
        method=request.method or "",
        path=path,
        query=query,
        headers=tuple(request.headers.items()),
        body=read_body(request, limits.response_mebibytes * MEBIBYTE),
    )
    began = time.monotonic()
    sent = access.send(name, relayed)
    if sent.stream is not None and RESPOND_WITHIN in request.META:
        # The stream knows its deadline only when it is read, and a caller that takes
        # nothing keeps it from being read.
        left = began + limits.total_timeout - time.monotonic()
        request.META[RESPOND_WITHIN](left)
    return response_of(sent)


def response_of(sent: ApiResponse) -> HttpResponseBase:
    """Return the API's response as the caller gets it."""
    status = returned_status(sent)
    headers = returned_headers(sent)
    response: HttpResponseBase
    if sent.stream is None:
        response = HttpResponse(sent.body, status=status)
    else:
        response = StreamingHttpResponse(RelayedBody(sent.stream), status=status)
        if sent.stream.size is not None:
            response["Content-Length"] = str(sent.stream.size)
    del response["Content-Type"]  # Django's own guess
    for header, value in headers:
        response[header] = value
    response.headers.setdefault("Cache-Control", "no-store")
    # A cache must not give a response to a client without the token.
    patch_vary_headers(response, ["Authorization"])
    return response


class RelayedBody:
    """The body of a response as it arrives; the server closes it in any case."""

    def __init__(self, stream: BodyStream) -> None:
        self._stream = stream

    def __iter__(self) -> Iterator[bytes]:
        try:
            yield from self._stream
        except OutkeyError as error:
            _log.warning("a response was aborted: %s", error.code)
            raise ResponseAborted from None

    def close(self) -> None:
        """End the connection to the API, if the caller does not read to the end."""
        self._stream.close()
