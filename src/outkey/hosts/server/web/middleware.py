"""Who may use the pages, and the headers that every response carries."""

import ipaddress
import os
import re
import secrets
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from django.conf import settings
from django.core.exceptions import DisallowedHost
from django.http import HttpRequest, HttpResponse, HttpResponseForbidden
from django.http.response import HttpResponseBase
from django.middleware.gzip import GZipMiddleware
from django.urls import resolve

from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.text import Text
from outkey.foundation.ports.request_id import current_request_id
from outkey.hosts.django.pages.posted_text import refuse_nul
from outkey.hosts.django.translation import translate_text
from outkey.sending.core.request.addresses import counted_part

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network
GetResponse = Callable[[HttpRequest], HttpResponseBase]
_FORWARDING = ("HTTP_FORWARDED", "HTTP_X_FORWARDED", "HTTP_X_REAL_IP")
_CLIENT = "HTTP_X_FORWARDED_FOR"
_PROTOCOL = "HTTP_X_FORWARDED_PROTO"
_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{8,64}")
_LONGEST_ADDRESS = 64  # characters; IPv6 has 45, and the name of an interface
_ROW = re.compile(r"[0-9]{1,18}")
INTERFACE = "/api/v1/"
_NOT_FOUND = "(?P<url>.*)$"  # of the admin, for what is none of its pages
UNKNOWN_HOST = (
    '{"error": {"code": "invalid_request", "message": "the host name is unknown",'
    ' "hint": "Set OUTKEY_PUBLIC_URL to the URL that programs use.", "field": null}}'
)
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:;"
    " connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)


class RequestIdMiddleware:
    """Gives every request an id that logs, the audit and the response have.

    The id that a proxy of OUTKEY_PROXIES has given is used, so that its log has it too.
    """

    def __init__(self, get_response: GetResponse) -> None:
        self._get_response = get_response
        self._proxies = _networks("OUTKEY_PROXIES")

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Set the id for the time of the request."""
        request_id = self._forwarded_id(request) or secrets.token_hex(8)
        before = current_request_id.set(request_id)
        try:
            response = self._get_response(request)
        finally:
            current_request_id.reset(before)
        response["X-Request-ID"] = request_id
        return response

    def _forwarded_id(self, request: HttpRequest) -> str:
        """Return the id that a trusted proxy has given, if it looks like one."""
        address = _address(request.META.get("REMOTE_ADDR", ""))
        request_id = request.META.get("HTTP_X_REQUEST_ID", "")
        if _REQUEST_ID.fullmatch(request_id) and _is_in_networks(
            address, self._proxies
        ):
            return str(request_id)
        return ""


class AddressMiddleware:
    """Serves only the addresses of OUTKEY_ALLOWED_ADDRESSES, if any are listed.

    The client address and protocol that a proxy of OUTKEY_PROXIES forwards are trusted,
    so that every client behind it has an address of its own, also for the lock of a
    sign-in. Forwarding headers of other clients are removed before they are read.
    """

    def __init__(self, get_response: GetResponse) -> None:
        self._get_response = get_response
        self._allowed = _networks("OUTKEY_ALLOWED_ADDRESSES")
        self._proxies = _networks("OUTKEY_PROXIES")

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Refuse before anything else is done."""
        headers = {
            name: request.META.pop(name) for name in _forwarding_headers(request)
        }
        address = _address(request.META.get("REMOTE_ADDR", ""))
        if _is_in_networks(address, self._proxies):
            address = _address(_last_entry(headers.get(_CLIENT, "")))
            request.META["REMOTE_ADDR"] = str(address or "")
            request.META[_PROTOCOL] = _last_entry(headers.get(_PROTOCOL, ""))
        if self._allowed and not _is_in_networks(address, self._allowed):
            return HttpResponseForbidden("This address may not use these pages.")
        return self._get_response(request)


def _forwarding_headers(request: HttpRequest) -> list[str]:
    return [name for name in request.META if name.startswith(_FORWARDING)]


def _last_entry(header: str) -> str:
    """Return the entry of the proxy itself; those before it are the client's word."""
    return header.rpartition(",")[2].strip()


def _networks(variable: str) -> list[Network]:
    texts = os.environ.get(variable, "").replace(",", " ").split()
    return [ipaddress.ip_network(text, strict=False) for text in texts]


def _address(text: str) -> Address | None:
    # A client may write what it likes into the header of a proxy that passes it on:
    # only short texts are cached.
    return _parse_address(text) if len(text) <= _LONGEST_ADDRESS else None


@lru_cache(maxsize=1024)
def _parse_address(text: str) -> Address | None:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped:
        return address.ipv4_mapped
    return address


@lru_cache(maxsize=1024)
def _address_text(address: Address | None) -> str:
    return str(address or "")


def _is_in_networks(address: Address | None, networks: list[Network]) -> bool:
    """Whether an address belongs to one of the networks."""
    return address is not None and any(address in network for network in networks)


class ClientAddress:
    """Returns the address of a client, as a proxy of OUTKEY_PROXIES forwards it."""

    def __init__(self) -> None:
        self._proxies = _networks("OUTKEY_PROXIES")

    def __call__(self, environ: Mapping[str, Any]) -> str:
        """Return the address; "" if it is unknown."""
        address = _address(environ.get("REMOTE_ADDR", ""))
        if _is_in_networks(address, self._proxies):
            address = _address(_last_entry(environ.get(_CLIENT, "")))
        return _address_text(address)


class CountedAddress(ClientAddress):
    """Returns what a client is counted by, of the same address."""

    def __call__(self, environ: Mapping[str, Any]) -> str:
        """Return the address, of IPv6 its network; "" if it is unknown."""
        return counted_part(super().__call__(environ))


class InterfaceMiddleware:
    """Leads programs to the HTTP interface, past all that is for browsers.

    Sessions, forms and languages play no part there, and a body is not to be parsed.
    """

    def __init__(self, get_response: GetResponse) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Respond to a request below the path of the interface."""
        if not request.path_info.startswith(INTERFACE):
            return self._get_response(request)
        try:
            request.get_host()
        except DisallowedHost:
            return HttpResponse(
                UNKNOWN_HOST, status=400, content_type="application/json"
            )
        match = resolve(request.path_info)
        response: HttpResponseBase = match.func(request, *match.args, **match.kwargs)
        # Without it the connection could not be used for the next request. A response
        # to HEAD has the length that another one would have, which is not known.
        has_body = request.method != "HEAD" and response.status_code not in {204, 304}
        if has_body and isinstance(response, HttpResponse):
            response["Content-Length"] = str(len(response.content))
        return response


class HttpsMiddleware:
    """Serves no page without TLS, where the public URL has it: no form in clear.

    Health, metrics, webhooks, the HTTP interface and static files do not get here.
    """

    def __init__(self, get_response: GetResponse) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Respond with where the pages are; a redirect could lead back to here."""
        if request.is_secure():
            return self._get_response(request)
        # It imports models, which this module is imported before.
        from outkey.hosts.server.web.errors import https_needed

        return https_needed(str(settings.OUTKEY["PUBLIC_URL"]))


class TextMiddleware:
    """Refuses text that no database can store, also on Django's own pages."""

    def __init__(self, get_response: GetResponse) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Refuse before a session, a user or a form is looked up."""
        try:
            refuse_nul(request)
            _refuse_strange_rows(request)
        except ConfigError as error:
            return refusal(error)
        return self._get_response(request)

    def process_exception(
        self, _request: HttpRequest, exception: Exception
    ) -> HttpResponseBase | None:
        """Refuse a number that SQLite cannot compare: Django lets it through."""
        if not isinstance(exception, OverflowError):
            return None
        return refusal(
            ConfigError(
                Text("a number is too large"), hint=Text("Load the list again.")
            )
        )


def _refuse_strange_rows(request: HttpRequest) -> None:
    """Refuse selected rows that are not numbers: Django would query with them."""
    if not all(_ROW.fullmatch(row) for row in request.POST.getlist("_selected_action")):
        raise ConfigError(
            Text("a ticked row does not exist"), hint=Text("Load the list again.")
        )


def refusal(error: ConfigError) -> HttpResponse:
    """Return an error as a plain page."""
    text = translate_text(
        Text("{message:sentence} {hint}", message=error.message, hint=error.hint)
    )
    return HttpResponse(text, status=422, content_type="text/plain; charset=utf-8")


class PageMiddleware:
    """Lets a page load nothing from elsewhere, and be neither framed nor cached."""

    def __init__(self, get_response: GetResponse) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Set the headers of every response that is not a static file."""
        response = self._get_response(request)
        if not response.has_header("Content-Security-Policy"):
            response["Content-Security-Policy"] = POLICY
        response["Cache-Control"] = "no-store"
        return response


class LimitsMiddleware:
    """Shows limited users what is theirs, and refuses all pages that are not for them.

    Also those of other apps, such as users, groups and records of models.
    """

    def __init__(self, get_response: GetResponse) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Let pages and errors have what the user sees."""
        from outkey.hosts.django.pages.access import page_of_user

        with page_of_user(request):
            return self._get_response(request)

    def process_view(
        self,
        request: HttpRequest,
        _view: object,
        _args: object,
        _kwargs: object,
    ) -> None:
        """Respond with 403 to a limited user whom a page is not for."""
        match = request.resolver_match
        if match is None or (match.url_name is None and _is_for_all(match.route)):
            return
        from outkey.hosts.django.pages.limits import FOR_LIMITED, refuse_page

        name = match.url_name or ""
        if name not in FOR_LIMITED and request.user.is_authenticated:
            refuse_page(request, name)


def _is_for_all(route: str) -> bool:
    """Whether a URL without a name is that of a page that everybody may open."""
    is_interface = f"/{route}".startswith(INTERFACE)  # it has tokens and no users
    return is_interface or route in {"", "login/", "password_change/", _NOT_FOUND}


class CompressionMiddleware(GZipMiddleware):
    """Compresses pages; Django adds random bytes, so that their length tells nothing.

    A streamed response is shown as it arrives, which compression would delay.
    """

    def process_response(
        self, request: HttpRequest, response: HttpResponseBase
    ) -> HttpResponseBase:
        """Compress a response that is complete."""
        if response.streaming:
            return response
        return super().process_response(request, response)
