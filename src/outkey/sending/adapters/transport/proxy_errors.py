"""Failures of a proxy, distinguished from failures of the API."""

from outkey.foundation.core.errors import (
    ConnectionFailed,
    OutkeyError,
    ResponseBroken,
    ResponseTooLarge,
    TimedOut,
    TlsBelowFloor,
    TlsFailed,
)
from outkey.sending.adapters.transport.response_reader import ResponseReader
from outkey.sending.core.request.proxy import own_failure, proxy_failure


def connecting_failure(error: OutkeyError) -> OutkeyError:
    """Return the error for a connection to a proxy that could not be opened."""
    if isinstance(error, TlsFailed | TlsBelowFloor):
        return proxy_failure("proxy-tls")
    if isinstance(error, ConnectionFailed | TimedOut):
        return proxy_failure("proxy-unreachable")
    return error


def opening_failure(error: OutkeyError) -> OutkeyError:
    """Return the error for a response to CONNECT that did not arrive as it should."""
    if isinstance(error, TimedOut):  # it waits for the server
        return proxy_failure("proxy-cannot-reach")
    if isinstance(error, ConnectionFailed | ResponseTooLarge | TlsFailed):
        return proxy_failure("proxy-not-http")
    return error


def forwarding_failure(error: OutkeyError, reader: ResponseReader) -> OutkeyError:
    """Return the error for a response of plain http, which the proxy passes on.

    A proxy may respond and close before it has read the request, so that the head of
    its response is all that arrives. What else broke in the middle of a response may be
    the server's fault as well.
    """
    if reader.status and (failure := own_failure(reader.response(b""))):
        return failure
    is_whole = not isinstance(error, ResponseBroken)
    if isinstance(error, ConnectionFailed) and is_whole:
        return proxy_failure("proxy-not-http")
    return error
