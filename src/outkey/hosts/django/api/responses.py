"""Responses of the HTTP interface: JSON, and errors in one shape."""

import json
import logging
import secrets
from collections.abc import Callable, Iterable
from functools import wraps
from traceback import format_tb
from typing import Any
from urllib.parse import unquote

from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.http.response import HttpResponseBase
from django.views.decorators.csrf import csrf_exempt

from outkey.administration.core.access.http_statuses import (
    TOO_LARGE,
    retry_after,
    status_of,
)
from outkey.foundation.core.errors import InvalidRequest, OutkeyError, TokenRefused
from outkey.foundation.core.text import Text
from outkey.hosts.django.web.request_log import keep_out_of_log

View = Callable[..., HttpResponseBase]
NUL = "\x00"
_log = logging.getLogger(__name__)


def json_response(
    document: object, status: int = 200, *, default: Callable[[Any], object] = str
) -> HttpResponse:
    """Return a document as JSON, which no cache stores.

    `default` makes a value of JSON of another one.
    """
    body = json.dumps(document, default=default).encode()
    response = HttpResponse(body, status=status, content_type="application/json")
    response["Cache-Control"] = "no-store"
    return response


def empty_response() -> HttpResponse:
    """Return a response without content."""
    response = HttpResponse(status=204)
    response["Cache-Control"] = "no-store"
    del response["Content-Type"]
    return response


def error_response(error: OutkeyError, *, sends: bool = False) -> HttpResponse:
    """Return an error; `sends`: it is the send proxy's."""
    facts = error.facts()
    response = plain_error(
        status_of(error, sends=sends),
        facts["code"],
        facts["message"],
        hint=facts["hint"],
        field=facts["field"],
    )
    if sends:
        response["X-Outkey-Cause"] = str(error.cause)
    if seconds := retry_after(error):
        response["Retry-After"] = seconds
    if isinstance(error, TokenRefused):
        response["WWW-Authenticate"] = 'Bearer realm="outkey"'
    return response


def plain_error(
    status: int, code: str, message: str, *, hint: str = "", field: str | None = None
) -> HttpResponse:
    """Return an error in the one shape that the interface has for them."""
    facts = {"code": code, "message": message, "hint": hint, "field": field}
    return json_response({"error": facts}, status=status)


def method_not_allowed(methods: Iterable[str]) -> HttpResponse:
    """Return the error for a method that a path has not."""
    response = plain_error(405, "method_not_allowed", "this path has no such method")
    response["Allow"] = ", ".join(methods)
    return response


def failure_response(failure: Exception) -> HttpResponse:
    """Return the response to a failure of our own: an id that the log has too."""
    if isinstance(failure, RequestDataTooBig):
        return error_response(body_too_large())
    reference = secrets.token_hex(4)
    # Without its text, which may hold anything.
    frames = "".join(format_tb(failure.__traceback__))
    _log.error("error %s: %s\n%s", reference, type(failure).__name__, frames)
    return plain_error(
        500,
        "unexpected",
        "outkey could not finish this",
        hint=f"Give an administrator this id, which the log has too: {reference}.",
    )


def body_too_large() -> InvalidRequest:
    """Return the error for a body over the limit."""
    return InvalidRequest(
        Text("the body is too large"),
        hint=Text("Send less at a time."),
        reason=TOO_LARGE,
    )


def in_json(view: View) -> View:
    """Let a view respond in JSON also where it fails, or has no such method."""

    @wraps(view)
    def respond(request: HttpRequest, **arguments: object) -> HttpResponseBase:
        response = respond_in_json(request, **arguments)
        # Paths of refused requests may hold an id or a key.
        keep_out_of_log(response)
        return response

    def respond_in_json(request: HttpRequest, **arguments: object) -> HttpResponseBase:
        try:
            refuse_nul(request)
            response = view(request, **arguments)
        except OutkeyError as error:
            return error_response(error)
        except Exception as failure:  # noqa: BLE001 - a program gets JSON
            return failure_response(failure)
        if isinstance(response, HttpResponseNotAllowed):
            return method_not_allowed(response["Allow"].split(", "))
        return response

    return csrf_exempt(respond)  # no cookie is accepted


def refuse_nul(request: HttpRequest) -> None:
    """Refuse a URL with a character that no database can store."""
    if NUL in request.path or NUL in unquote(request.META.get("QUERY_STRING", "")):
        raise InvalidRequest(Text("the URL has a NUL character"))


def not_found(_request: HttpRequest) -> HttpResponse:
    """Respond where there is nothing."""
    return plain_error(
        404, "not_found", "there is no such path", hint="See /api/v1/openapi.json."
    )
