"""Endpoints of monitoring systems: `/healthz`, `/readyz` and `/metrics`.

In the embedded server the middleware responds before all others: a probe has no session
and uses any host name. A project of its own has the views:

    path("", include("outkey.hosts.django.operating_urls"))
"""

import ipaddress
import json
from collections.abc import Callable
from importlib.metadata import version
from urllib.parse import urlsplit

from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.http.response import HttpResponseBase

from outkey.administration.engine.operating.measuring import measure
from outkey.administration.engine.operating.readiness import is_ready
from outkey.foundation.adapters.extras import extra
from outkey.foundation.core.errors import OutkeyError
from outkey.hosts.django.api.access import access_of
from outkey.hosts.django.api.responses import error_response
from outkey.hosts.django.installed import installation
from outkey.hosts.django.readiness import readiness_of
from outkey.hosts.django.web.request_log import keep_out_of_log

FORWARDING = ("HTTP_FORWARDED", "HTTP_X_FORWARDED", "HTTP_X_REAL_IP", "HTTP_VIA")
TEXT = "text/plain; charset=utf-8"
View = Callable[[HttpRequest], HttpResponse]


class OperatingMiddleware:
    """Responds to requests for health and metrics, and passes on all others."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Respond before the host name, the session or the IP address is checked."""
        view = VIEWS.get(request.path_info)
        return self._get_response(request) if view is None else view(request)


def healthz(request: HttpRequest) -> HttpResponse:
    """Respond with 200: the process lives."""
    return _refuse_other_methods(request) or plain(200, "ok\n")


def readyz(request: HttpRequest) -> HttpResponse:
    """Respond with 200 if every part is ready, else with 503 and what is not."""
    refusal = _refuse_other_methods(request)
    if refusal is not None:
        return refusal
    results = readiness_of(installation()).check_all()
    ready = is_ready(results)
    body = json.dumps({"ready": ready, "checks": results}) + "\n"
    return response(200 if ready else 503, body.encode(), "application/json")


def metrics(request: HttpRequest) -> HttpResponse:
    """Respond with the metrics, to a token or to a program on this machine."""
    refusal = _refuse_other_methods(request)
    if refusal is not None:
        return refusal
    try:
        with extra("server"):
            from outkey.administration.adapters.metrics_prometheus import (
                CONTENT_TYPE,
                write_metrics,
            )
        if "HTTP_AUTHORIZATION" not in request.META and _is_direct_from_here(request):
            measurements = measure(installation())
        else:
            measurements = access_of(request).metrics()
    except OutkeyError as error:
        return error_response(error)
    return response(200, write_metrics(measurements, version("outkey")), CONTENT_TYPE)


VIEWS: dict[str, View] = {
    "/healthz": healthz,
    "/readyz": readyz,
    "/metrics": metrics,
}


def _refuse_other_methods(request: HttpRequest) -> HttpResponse | None:
    """Return the refusal of a method that reads nothing; None for GET and HEAD."""
    if request.method in {"GET", "HEAD"}:
        return None
    return HttpResponseNotAllowed(["GET", "HEAD"])


def _is_direct_from_here(request: HttpRequest) -> bool:
    """Whether the request is from this machine, and not through a proxy."""
    if any(name.startswith(FORWARDING) for name in request.META):
        return False
    # A page in a browser on this machine can ask by a name that its owner lets lead
    # here. It cannot choose the name that the browser sends.
    host = _host_name(request.META.get("HTTP_HOST", ""))
    return is_loopback(request.META.get("REMOTE_ADDR", "")) and (
        host in {"", "localhost"} or is_loopback(host)
    )


def _host_name(host: str) -> str:
    """Return the name or address in a Host header, without the port."""
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return host


def is_loopback(address: str) -> bool:
    """Whether this is an address by which a machine reaches itself."""
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False


def plain(status: int, text: str) -> HttpResponse:
    """Return a response for programs, as text."""
    return response(status, text.encode(), TEXT)


def response(status: int, body: bytes, content_type: str) -> HttpResponse:
    """Return a response that is not cached."""
    made = HttpResponse(body, status=status, content_type=content_type)
    made["Content-Length"] = str(len(body))
    made["Cache-Control"] = "no-store"
    keep_out_of_log(made)  # or Django logs each 503 of a probe
    return made
