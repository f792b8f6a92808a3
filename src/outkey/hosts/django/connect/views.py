"""The page of a connect link: it shows what to enter, and connects the account."""

import re
import secrets
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

from django.http import (
    HttpRequest,
    HttpResponse,
    HttpResponseNotAllowed,
    HttpResponseRedirect,
)
from django.utils.text import capfirst
from django.utils.translation import gettext as _

from outkey.administration.engine.connecting.connecting import (
    Connecting,
    InvalidEntries,
    OpenedLink,
)
from outkey.administration.engine.connecting.consents import (
    ConnectConsents,
    ConsentUnknown,
)
from outkey.administration.engine.connecting.failures import TryFailed
from outkey.foundation.core.errors import OutkeyError, ServerBusy
from outkey.hosts.django.connect.frame import below_connect, shown
from outkey.hosts.django.installed import installation
from outkey.hosts.django.pages.posted_text import refuse_nul
from outkey.hosts.django.translation import translate_text
from outkey.sending.adapters.tokens.tokens_memory import MemoryTokens
from outkey.sending.core.connections.connect_form import Entry
from outkey.sending.core.connections.links import PATH

BROWSER = "outkey_connect"  # the cookie
_RANDOM = re.compile(r"[A-Za-z0-9_-]{43}")
# Tries wait for APIs; other pages need threads as well.
_places = threading.BoundedSemaphore(8)


class HttpResponseSeeOther(HttpResponseRedirect):
    """A redirect that is followed with GET."""

    status_code = 303


@dataclass(frozen=True, slots=True)
class Input:
    """An input as the page shows it. The value of a secret is never shown again."""

    entry: Entry
    label: str
    place: str  # where a user finds it
    value: str
    problem: str

    @property
    def described_by(self) -> str:
        """The ids of what explains the input to whoever does not see it."""
        parts = {"place": self.place, "wrong": self.problem}
        return " ".join(f"{kind}-{self.entry.name}" for kind in parts if parts[kind])


@below_connect
def connect_page(request: HttpRequest, token: str) -> HttpResponse:
    """Show what is to be entered; connect the account with what was."""
    if request.method not in {"GET", "HEAD", "POST"}:
        return HttpResponseNotAllowed(["GET", "HEAD", "POST"])
    refuse_nul(request)
    connecting = _connecting()
    opened = connecting.open(token)
    if request.method != "POST":
        return _form(request, opened)
    values = request.POST.dict()
    try:
        with _limited_tries():
            if opened.needs_consent:
                return _leave(request, opened, values)
            url = connecting.connect(opened, values)
    except InvalidEntries as invalid:
        return _form(request, opened, values, errors=invalid.errors)
    except TryFailed as failure:
        connecting.open(token)  # over, if it was the last try
        return _form(request, opened, values, failure=failure)
    return _finished(request, opened, url)


@below_connect
def callback(request: HttpRequest) -> HttpResponse:
    """Connect the account that a user has agreed to at the provider."""
    if request.method != "GET":
        return HttpResponseNotAllowed(["GET"])
    refuse_nul(request)
    parameters = dict(request.GET.lists())
    try:
        with _limited_tries():
            opened, url = _consents().finish(parameters, _browser_of(request))
    except ConsentUnknown:
        context = {
            "title": _("This does not belong to this browser"),
            "text": _(
                "The connection was begun in another browser, or has come back before."
            ),
            "advice": _("Open the link again, in this browser."),
        }
        return shown(request, context, status=403)
    except TryFailed as failure:
        facts: dict[str, object] = {
            "title": _("The account was not connected"),
            "failure": _sentences(failure),
            "advice": _("Open the link again to retry."),
        }
        return shown(request, facts, status=422)
    return _finished(request, opened, url)


def _leave(
    request: HttpRequest, opened: OpenedLink, values: Mapping[str, str]
) -> HttpResponse:
    """Send the browser to the provider, with a cookie that it must come back with."""
    browser = _browser_of(request) or secrets.token_urlsafe(32)
    response = HttpResponseSeeOther(_consents().begin(opened, values, browser))
    response.set_cookie(
        BROWSER,
        browser,
        path=PATH,
        secure=installation().public_url.startswith("https:"),
        httponly=True,
        samesite="Lax",
    )
    return response


def _browser_of(request: HttpRequest) -> str:
    """Return what this browser is known by, "" before it has begun a consent."""
    browser = request.COOKIES.get(BROWSER, "")
    return browser if _RANDOM.fullmatch(browser) else ""


def _finished(request: HttpRequest, opened: OpenedLink, url: str) -> HttpResponse:
    return HttpResponseSeeOther(url) if url else _connected(request, opened)


def _consents() -> ConnectConsents:
    return installation().connect_consents(partial(MemoryTokens, time.time))


def _connecting() -> Connecting:
    return installation().connecting(partial(MemoryTokens, time.time))


@contextmanager
def _limited_tries() -> Iterator[None]:
    """Take one of the places for a try, or refuse it if all are taken."""
    if not _places.acquire(blocking=False):
        raise ServerBusy
    try:
        yield
    finally:
        _places.release()


def _form(
    request: HttpRequest,
    opened: OpenedLink,
    values: Mapping[str, str] | None = None,
    *,
    errors: Mapping[str, OutkeyError] | None = None,
    failure: TryFailed | None = None,
) -> HttpResponse:
    """Return the page with its form, after a try with why that did not connect."""
    inputs = list(_inputs(opened, values or {}, errors or {}))
    name = opened.unconnected.name
    has_consent = opened.needs_consent
    context = {
        "title": _("Connect %s") % name,
        "name": name,
        "has_consent": has_consent,
        "inputs": inputs,
        "problems": [shown_input for shown_input in inputs if shown_input.problem],
        "failure": failure and _sentences(failure),
    }
    return shown(
        request,
        context,
        status=422 if errors or failure else 200,
        leads_away=has_consent or bool(opened.found.link.return_url),
    )


def _inputs(
    opened: OpenedLink, values: Mapping[str, str], errors: Mapping[str, OutkeyError]
) -> Iterator[Input]:
    preset = installation().preset_of(opened.unconnected)
    places = preset.places_of(opened.unconnected) if preset else {}
    for entry in opened.entries:
        error = errors.get(entry.name)
        yield Input(
            entry,
            label=translate_text(entry.label),
            place=places.get(entry.name, ""),
            value="" if entry.is_secret else values.get(entry.name, ""),
            problem=capfirst(translate_text(error.message)) if error else "",
        )


def _sentences(failure: TryFailed) -> dict[str, str]:
    """Return why a try failed: the cause, and the provider's own words."""
    return {
        "cause": capfirst(translate_text(failure.reason.replace("_", " "))),
        "message": capfirst(translate_text(failure.message)),
        "said": failure.said,
    }


def _connected(request: HttpRequest, opened: OpenedLink) -> HttpResponse:
    context = {
        "title": _("%s is connected") % opened.unconnected.name,
        "text": _("You can close this page."),
        "is_done": True,
    }
    return shown(request, context)
