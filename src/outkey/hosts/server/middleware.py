"""What every answer of the pages carries, and who may ask for one."""

import ipaddress
import os
import re
import secrets
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse, HttpResponseForbidden
from django.http.response import HttpResponseBase
from django.utils.text import capfirst
from django.utils.translation import gettext as _

from outkey.core.errors import ConfigError
from outkey.hosts.django.pages.sent_text import refuse_nul

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Answer = Callable[[HttpRequest], HttpResponseBase]
_FORWARDING = ("HTTP_FORWARDED", "HTTP_X_FORWARDED", "HTTP_X_REAL_IP")
_CLIENT = "HTTP_X_FORWARDED_FOR"
_PROTOCOL = "HTTP_X_FORWARDED_PROTO"
_ROW = re.compile(r"[0-9]{1,18}")
# The theme's colours are an inline style; it alone gets the nonce.
_THEME = b'<style id="unfold-theme-colors">'


class AddressMiddleware:
    """Answers only the addresses of OUTKEY_ALLOWED_ADDRESSES, if any are listed.

    What a proxy of OUTKEY_PROXIES says about the client's address and protocol is believed; then
    every client behind it has an address of its own, also for the lock of a login. Forwarding
    headers from anyone else are removed before anything reads them.
    """

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._allowed = _networks("OUTKEY_ALLOWED_ADDRESSES")
        self._proxies = _networks("OUTKEY_PROXIES")

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Refuse before anything else is done."""
        forwarded = {
            name: request.META.pop(name) for name in _forwarding_headers(request)
        }
        address = _address(request.META.get("REMOTE_ADDR", ""))
        if _listed(address, self._proxies):
            address = _address(_last_entry(forwarded.get(_CLIENT, "")))
            request.META["REMOTE_ADDR"] = str(address or "")
            request.META[_PROTOCOL] = _last_entry(forwarded.get(_PROTOCOL, ""))
        if self._allowed and not _listed(address, self._allowed):
            return HttpResponseForbidden("This address may not use these pages.")
        return self._answer(request)


def _forwarding_headers(request: HttpRequest) -> list[str]:
    return [name for name in request.META if name.startswith(_FORWARDING)]


def _last_entry(header: str) -> str:
    """Return what the proxy itself added; the entries before it are whatever the client sent."""
    return header.rpartition(",")[2].strip()


def _networks(variable: str) -> list[Network]:
    listed = os.environ.get(variable, "").replace(",", " ").split()
    return [ipaddress.ip_network(text, strict=False) for text in listed]


def _address(text: str) -> Address | None:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return mapped or address


def _listed(address: Address | None, networks: list[Network]) -> bool:
    return address is not None and any(address in network for network in networks)


class TextMiddleware:
    """Refuses what no page takes and no database stores, also on Django's own pages."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Refuse before a session, a user or a form is looked up."""
        try:
            refuse_nul(request)
            _refuse_strange_rows(request)
        except ConfigError as error:
            return _refused(error)
        return self._answer(request)

    def process_exception(
        self, _request: HttpRequest, exception: Exception
    ) -> HttpResponseBase | None:
        """Refuse a number that SQLite cannot compare with a column: Django lets it through."""
        if not isinstance(exception, OverflowError):
            return None
        return _refused(
            ConfigError(_("a number is too large"), hint=_("Load the list again."))
        )


def _refuse_strange_rows(request: HttpRequest) -> None:
    """Refuse ticked rows that are not numbers: Django's lists would hand them to the database."""
    if not all(_ROW.fullmatch(row) for row in request.POST.getlist("_selected_action")):
        raise ConfigError(
            _("a ticked row does not exist"), hint=_("Load the list again.")
        )


def _refused(error: ConfigError) -> HttpResponse:
    text = f"{capfirst(error.message)}. {error.hint}"
    return HttpResponse(text, status=422, content_type="text/plain; charset=utf-8")


class PageMiddleware:
    """Lets a page load nothing from elsewhere, be framed by nobody and be kept nowhere."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Set the headers of every answer that is no static file."""
        response = self._answer(request)
        nonce = secrets.token_urlsafe(16)
        if isinstance(response, HttpResponse) and _THEME in response.content:
            themed = _THEME.replace(b">", f' nonce="{nonce}">'.encode())
            response.content = response.content.replace(_THEME, themed)
            response["Content-Length"] = str(len(response.content))
        # Alpine, which the theme is made with, evaluates expressions of its own templates.
        response["Content-Security-Policy"] = (
            "default-src 'none'; script-src 'self' 'unsafe-eval'; img-src 'self' data:;"
            f" style-src 'self' 'nonce-{nonce}'; font-src 'self'; connect-src 'self';"
            " form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
        )
        response["Cache-Control"] = "no-store"
        return response
