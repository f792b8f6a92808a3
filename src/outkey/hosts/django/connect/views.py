"""The page of a connect link: it shows what to enter, and connects the account."""

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
from outkey.administration.engine.connecting.failures import TryFailed
from outkey.foundation.core.errors import OutkeyError, ServerBusy
from outkey.hosts.django.connect.frame import below_connect, shown
from outkey.hosts.django.installed import installation
from outkey.hosts.django.pages.posted_text import refuse_nul
from outkey.hosts.django.translation import translate_text
from outkey.sending.adapters.tokens.tokens_memory import MemoryTokens
from outkey.sending.core.connections.connect_form import Entry

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
            url = connecting.connect(opened, values)
    except InvalidEntries as invalid:
        return _form(request, opened, values, errors=invalid.errors)
    except TryFailed as failure:
        connecting.open(token)  # over, if it was the last try
        return _form(request, opened, values, failure=failure)
    return HttpResponseSeeOther(url) if url else _connected(request, opened)


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
    context = {
        "title": _("Connect %s") % name,
        "name": name,
        "inputs": inputs,
        "problems": [shown_input for shown_input in inputs if shown_input.problem],
        "failure": failure and _sentences(failure),
    }
    return shown(
        request,
        context,
        status=422 if errors or failure else 200,
        leads_away=bool(opened.found.link.return_url),
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
