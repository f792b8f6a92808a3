"""What every answer of the pages carries, and who may ask for one."""

import ipaddress
import os
import secrets
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse, HttpResponseForbidden
from django.http.response import HttpResponseBase

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Answer = Callable[[HttpRequest], HttpResponseBase]
# The theme's colours are an inline style; it alone gets the nonce.
_THEME = b'<style id="unfold-theme-colors">'


class AddressMiddleware:
    """Answers only the addresses of OUTKEY_ALLOWED_ADDRESSES, if any are listed.

    What a proxy of OUTKEY_PROXIES says of the address it asks for is believed; then everybody
    behind it has an address of their own, also for the lock of a login.
    """

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._allowed = _networks("OUTKEY_ALLOWED_ADDRESSES")
        self._proxies = _networks("OUTKEY_PROXIES")

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Refuse before anything else is done."""
        address = _address(request.META.get("REMOTE_ADDR", ""))
        if _listed(address, self._proxies):
            # The last entry is the proxy's own; those before it are whatever the client sent.
            said = request.META.get("HTTP_X_FORWARDED_FOR", "").rpartition(",")[2].strip()
            address = _address(said)
            request.META["REMOTE_ADDR"] = str(address or "")
        if self._allowed and not _listed(address, self._allowed):
            return HttpResponseForbidden("This address may not use these pages.")
        return self._answer(request)


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
