"""The path of a request as its client sent it, so that %2F is not a separator."""

from urllib.parse import quote, urlsplit

from django.http import HttpRequest

from outkey.foundation.core.errors import InvalidRequest
from outkey.foundation.core.text import Text


def raw_rest(request: HttpRequest, rest: str) -> str:
    """Return the path after the interface's prefix, as it was sent, with the query.

    `rest` is the same, decoded by Django.
    """
    prefix = request.path.removesuffix(rest)
    raw = _raw_target(request)
    if not raw.startswith(prefix):
        raise InvalidRequest(
            Text("the first part of the path is encoded"),
            hint=Text("Write it without percent signs."),
            field="path",
        )
    return raw.removeprefix(prefix)


def _raw_target(request: HttpRequest) -> str:
    """Return path and query as the client sent them, percent-encoded.

    Django decodes the path, so that %2F becomes a slash. Servers hand on what was sent
    under different names; without any of them the path is encoded again.
    """
    for name in ("REQUEST_URI", "RAW_URI"):
        if target := request.META.get(name):
            return without_origin(str(target))
    scope = getattr(request, "scope", None)
    path = quote(request.path)
    if scope and scope.get("raw_path"):
        path = scope["raw_path"].decode("latin-1")
    query = request.META.get("QUERY_STRING", "")
    return f"{path}?{query}" if query else path


def without_origin(target: str) -> str:
    """Return a request target without the origin that a client may write before it."""
    if target.startswith("/"):
        return target
    parts = urlsplit(target)
    return f"{parts.path}?{parts.query}" if parts.query else parts.path
