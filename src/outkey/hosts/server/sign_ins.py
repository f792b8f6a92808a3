"""Sign-ins, sign-outs and failed attempts: recorded, counted and slowed down."""

import ipaddress
import logging
import threading
import unicodedata
from contextlib import suppress
from functools import lru_cache
from math import ceil

from axes.backends import (  # type: ignore[import-untyped]  # axes has no types
    AxesStandaloneBackend,
)
from axes.handlers.proxy import AxesProxyHandler  # type: ignore[import-untyped]
from axes.models import AccessLog  # type: ignore[import-untyped]
from django.contrib import admin
from django.contrib.auth.models import AbstractBaseUser, User
from django.contrib.auth.signals import (
    user_logged_in,
    user_logged_out,
    user_login_failed,
)
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render

from outkey.administration.engine.access.sign_ins import SignInGuard
from outkey.foundation.core.errors import HostError
from outkey.hosts.django.installed import installation
from outkey.hosts.django.pages.access import web_actor
from outkey.hosts.django.workers.repeating_thread import RepeatingThread
from outkey.sending.core.audit.events import Change, Tag
from outkey.sending.core.request.addresses import counted_part

PROVIDED_BITS = {4: 24, 6: 48}  # of the network that a customer gets, by version of IP
ROUND_SECONDS = 60.0
_log = logging.getLogger(__name__)


@lru_cache(maxsize=1)
def sign_in_guard() -> SignInGuard:
    """Return the guard of sign-ins of this process."""
    application = installation()
    return SignInGuard(application.audit, application.clock, web_actor(""))


def counted_address(request: HttpRequest) -> str:
    """Return the address that a client is counted by: of IPv6, its network."""
    return counted_part(str(request.META.get("REMOTE_ADDR", "")))


def network_of(address: str) -> str:
    """Return the network that takes turns as one: what one attacker easily has."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    bits = PROVIDED_BITS[parsed.version]
    return str(ipaddress.ip_network((int(parsed), bits), strict=False))


class LockingBackend(AxesStandaloneBackend):  # type: ignore[misc]
    """Refuses every attempt while a sign-in is locked, and marks that it did."""

    def authenticate(
        self,
        request: HttpRequest,
        username: str | None = None,
        password: str | None = None,
        **others: object,
    ) -> None:
        """Raise PermissionDenied while the sign-in is locked."""
        try:
            super().authenticate(request, username, password, **others)
        except PermissionDenied:
            request.META[WAS_LOCKED] = True
            raise


WAS_LOCKED = "outkey.sign_in_was_locked"  # in the META of a request


def sign_in(request: HttpRequest) -> HttpResponseBase:
    """Show the sign-in page, and sign in; an account that failed often has to wait."""
    if request.method == "POST":
        seconds = wait_seconds(request)
        if seconds:
            return _wait_page(request, ceil(seconds))
    return admin.site.login(request)


def wait_seconds(request: HttpRequest) -> float:
    """Return how long a sign-in has to wait; 0.0 also for one that is locked."""
    name = _clean_name(request.POST.get("username", ""))
    if not AxesProxyHandler.is_allowed(request, {"username": name}):
        return 0.0  # the lock refuses it, so that it delays no other one
    address = counted_address(request)
    return sign_in_guard().wait_seconds(
        name, network_of(address), lambda: _has_signed_in(name, address)
    )


def _clean_name(text: str) -> str:
    """Return a name as the form of the sign-in reads it."""
    return unicodedata.normalize("NFKC", text.strip())


def _has_signed_in(name: str, address: str) -> bool:
    """Whether a user has signed in from an address before."""
    return bool(AccessLog.objects.filter(username=name, ip_address=address).exists())


def _wait_page(request: HttpRequest, seconds: int) -> HttpResponse:
    """Return the page of a sign-in that has to wait; the password was not checked."""
    response = render(request, "sign_in_slowed.html", {"seconds": seconds}, status=429)
    response["Retry-After"] = str(seconds)
    return response


def record_sign_ins() -> None:
    """Record every sign-in, sign-out and failed attempt from now on."""
    user_logged_in.connect(_record_sign_in)
    user_logged_out.connect(_record_sign_out)
    user_login_failed.connect(_record_failed_sign_in)


def _record_sign_in(user: AbstractBaseUser, **_: object) -> None:
    """Record who signed in."""
    record(Tag.SESSION_BEGAN, user.get_username())


def _record_sign_out(user: AbstractBaseUser | None, **_: object) -> None:
    """Record who signed out."""
    record(Tag.SESSION_ENDED, user.get_username() if user else "")


def _record_failed_sign_in(
    credentials: dict[str, object], request: HttpRequest | None = None, **_: object
) -> None:
    """Record the attempt without the name that was typed: it may be a password."""
    name = str(credentials.get("username", ""))
    was_checked = request is None or WAS_LOCKED not in request.META
    exists = was_checked and User.objects.filter(username=name).exists()
    with suppress(HostError):
        sign_in_guard().note_failure(name, was_checked=was_checked, exists=exists)


def record(tag: Tag, name: str) -> None:
    """Record an event if possible: who repairs a sealed installation must sign in."""
    with suppress(HostError):
        installation().audit.note(Change(tag, web_actor(name)))


class SignInRounds:
    """Records what was counted of failed sign-ins, once a minute and at the end."""

    def __init__(self) -> None:
        self._ended = threading.Event()
        self._thread = RepeatingThread(
            sign_in_guard().note_past_minutes,
            ROUND_SECONDS,
            self._ended,
            name="outkey-sign-ins",
            logger=_log,
            end=sign_in_guard().note_all,
        )

    def start(self) -> None:
        """Work in a thread."""
        self._thread.start()

    def stop(self) -> None:
        """Stop, without waiting for it."""
        self._ended.set()

    def end(self) -> None:
        """Stop, and wait for the last record."""
        self.stop()
        self._thread.join(2.0)
