"""The endpoints of webhooks: `/hooks/` and 22 characters.

Senders have no session, cookie or form, so none of these plays a part: in the embedded
server the gate answers in front of Django. A project of its own has the view:

    path("hooks/", include("outkey.hosts.django.hook_urls"))
"""

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property, lru_cache
from http import HTTPStatus
from typing import Any
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from django.db import connections, transaction
from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt

from outkey.administration.engine.application import Application
from outkey.hosts.django.installed import installation
from outkey.hosts.django.web.content_length import stated_size
from outkey.hosts.django.web.request_log import keep_out_of_log
from outkey.webhooks.core.inbox.delivery import Delivery
from outkey.webhooks.engine.reception import (
    RETRY_LATER,
    TOO_LARGE,
    UNKNOWN,
    Reception,
    WebhookResponse,
)

PREFIX = "/hooks/"
LARGE = 1024 * 1024  # bytes of a body, of which few are in memory at the same time
LARGE_AT_ONCE = 4
LARGE_WAIT_SECONDS = 10.0
_large_bodies = threading.BoundedSemaphore(LARGE_AT_ONCE)


class WebhookGate:
    """Answers requests to endpoints, and passes all others on.

    The addresses that may use the pages do not matter here: senders prove who they are
    by their signatures.
    """

    def __init__(
        self,
        others: WSGIApplication,
        address_of: Callable[[WSGIEnvironment], str] = lambda environ: environ.get(
            "REMOTE_ADDR", ""
        ),
    ) -> None:
        self._others = others
        self._address_of = address_of

    def __call__(
        self, environ: WSGIEnvironment, start_response: StartResponse
    ) -> Iterable[bytes]:
        """Answer before Django makes anything of a request."""
        path = environ.get("PATH_INFO", "")
        if not path.startswith(PREFIX):
            return self._others(environ, start_response)
        endpoint = path.removeprefix(PREFIX)
        read = environ["wsgi.input"].read
        response = _receive_delivery(
            self._application,
            environ,
            endpoint=endpoint,
            read=read,
            address=self._address_of(environ),
        )
        if stated_size(environ) > LARGE:
            # Its statements keep the values that they were last used with.
            connections.close_all()
        status = HTTPStatus(response.status)
        start_response(f"{status.value} {status.phrase}", _headers_to_send(response))
        return [response.body]

    @cached_property
    def _application(self) -> Application:
        """The installation, once Django is ready for it."""
        return installation()


@csrf_exempt
@transaction.non_atomic_requests  # one thread commits what others answer for
def receive(request: HttpRequest, endpoint: str) -> HttpResponse:
    """Receive a delivery at an endpoint."""
    response = _receive_delivery(
        installation(),
        request.META,
        endpoint=endpoint,
        read=_reader_of(request),
        address=request.META.get("REMOTE_ADDR", ""),
    )
    result = HttpResponse(response.body, status=response.status)
    del result["Content-Type"]
    keep_out_of_log(result)  # an endpoint is known to its sender alone
    for name, value in _headers_to_send(response):
        result[name] = value
    return result


def _reader_of(request: HttpRequest) -> Callable[[int], bytes]:
    """Return a reader of a request's body."""
    if hasattr(request, "_body"):  # a middleware of the project has read it
        return lambda size: request.body[:size]
    return request.read


def _receive_delivery(
    application: Application,
    environ: Mapping[str, Any],
    *,
    endpoint: str,
    read: Callable[[int], bytes],
    address: str,
) -> WebhookResponse:
    """Receive the delivery of a request, and return the response."""
    if application.hook_ports is None:
        return UNKNOWN
    reception = _reception_of(application)
    size = stated_size(environ)
    if size > reception.max_body:
        return TOO_LARGE  # not read at all
    with place_in_memory(size) as has_place:
        if not has_place:
            return RETRY_LATER
        delivery = Delivery(
            method=environ["REQUEST_METHOD"],
            url=url_of(environ, application.public_url),
            headers=tuple(headers_of(environ)),
            body=read(reception.max_body + 1),
            address=address,
        )
        return reception.receive(endpoint, delivery)


@lru_cache(maxsize=4)
def _reception_of(application: Application) -> Reception:
    """Return the reception of an installation's deliveries, made once."""
    return application.webhooks.reception(end_thread=connections.close_all)


@contextmanager
def place_in_memory(size: int) -> Iterator[bool]:
    """Wait until a body of this size may be read; false if that takes too long."""
    if size <= LARGE:
        yield True
        return
    has_place = _large_bodies.acquire(timeout=LARGE_WAIT_SECONDS)
    try:
        yield has_place
    finally:
        if has_place:
            _large_bodies.release()


def url_of(environ: Mapping[str, Any], public_url: str) -> str:
    """Return the URL as the sender was given it; never by the header Host."""
    path = environ.get("SCRIPT_NAME", "") + environ.get("PATH_INFO", "")
    query = environ.get("QUERY_STRING", "")
    return f"{public_url.rstrip('/')}{path}{'?' if query else ''}{query}"


def headers_of(environ: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the headers of a request."""
    for name, value in environ.items():
        if name.startswith("HTTP_"):
            yield name.removeprefix("HTTP_").replace("_", "-"), str(value)
        elif name == "CONTENT_TYPE" and value:
            yield "Content-Type", str(value)


def _headers_to_send(response: WebhookResponse) -> list[tuple[str, str]]:
    """Return the headers of a response; one without a body has no type."""
    return [
        ("Content-Length", str(len(response.body))),
        ("Cache-Control", "no-store"),
        *response.headers,
    ]
