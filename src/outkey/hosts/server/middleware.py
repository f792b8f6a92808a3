"""What every answer of the pages carries, and who may ask for one."""

import ipaddress
import os
import secrets
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse, HttpResponseForbidden
from django.http.response import HttpResponseBase

Answer = Callable[[HttpRequest], HttpResponseBase]
# The theme's colours are an inline style; it alone gets the nonce.
_THEME = b'<style id="unfold-theme-colors">'


class AddressMiddleware:
    """Answers only the addresses of OUTKEY_ALLOWED_ADDRESSES, if any are listed."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        listed = os.environ.get("OUTKEY_ALLOWED_ADDRESSES", "").replace(",", " ").split()
        self._allowed = [ipaddress.ip_network(text, strict=False) for text in listed]

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Refuse before anything else is done."""
        if self._allowed:
            address = ipaddress.ip_address(request.META.get("REMOTE_ADDR") or "0.0.0.0")  # noqa: S104 - nobody's address
            if not any(address in network for network in self._allowed):
                return HttpResponseForbidden("This address may not use these pages.")
        return self._answer(request)


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
