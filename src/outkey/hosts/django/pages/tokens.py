"""What people do with tokens on the pages: connect, renew, give back, forget, and discover.

A consent leaves with the browser and comes back with it. Of the way between, the session keeps
what is no secret: a random state, and for which configuration and person it was made.
"""

import secrets
import time
from base64 import urlsafe_b64encode
from collections.abc import Callable
from typing import TypedDict
from uuid import UUID

from django.contrib import messages
from django.http import (
    Http404,
    HttpRequest,
    HttpResponse,
    HttpResponseRedirect,
    JsonResponse,
)
from django.utils.crypto import constant_time_compare, salted_hmac
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import pgettext
from django.views.decorators.http import require_GET, require_POST

from outkey.core.audit.events import Tag
from outkey.core.config.choices import Network
from outkey.core.config.configuration import Configuration
from outkey.core.config.fields import BY_PATH
from outkey.core.errors import ConfigError, OutkeyError
from outkey.core.oauth2.grants import Consent, consent_for, refuse_other_issuer
from outkey.core.oauth2.responses import failure, provider_reason
from outkey.core.request.origin import parse_endpoint
from outkey.core.secret import Secret
from outkey.engine.tokens.actions import TokenActions
from outkey.hosts.django.pages.access import desk_for, installation, may, require
from outkey.hosts.django.pages.configurations import page, stored_at, url_of, waiting
from outkey.hosts.django.pages.token_panel import redirect_url

_TAB = "#oauth2"
_CONSENTS = "outkey_consents"
_MOST_CONSENTS = 5
_CONSENT_SECONDS = 600


class Pending(TypedDict):
    """A consent on its way, as the session keeps it."""

    state: str
    version: int
    began: float
    user: str


# ── what is done to a token ──────────────────────────────────────────────────────────────────


@require_POST
def renew(request: HttpRequest, record: UUID) -> HttpResponse:
    """Get a new token now."""
    require(request, "test_configuration")
    return _acted(
        request,
        record,
        Tag.TOKEN_RENEWED,
        TokenActions.renew,
        _("The token is renewed."),
    )


@require_POST
def revoke(request: HttpRequest, record: UUID) -> HttpResponse:
    """Give the token back to the provider, and forget it."""
    require(request, "set_secret")
    told = _("The token is given back to the provider and forgotten here.")
    return _acted(request, record, Tag.TOKEN_REVOKED, TokenActions.revoke, told)


@require_POST
def forget(request: HttpRequest, record: UUID) -> HttpResponse:
    """Forget the token here."""
    require(request, "set_secret")
    told = _("The token is forgotten here; the provider was not told.")
    return _acted(request, record, Tag.TOKEN_FORGOTTEN, TokenActions.forget, told)


def _acted(
    request: HttpRequest,
    record: UUID,
    tag: Tag,
    act: Callable[[TokenActions], object],
    told: str,
) -> HttpResponse:
    """Do something to the token that is kept, and tell on the page how it ended."""
    stored = _stored(record)
    try:
        with waiting():
            act(installation().change_token(desk_for(request.user), stored.name, tag))
            messages.success(request, told)
    except OutkeyError as error:
        messages.error(request, spoken(error))
    return _back(stored)


# ── a person agrees ──────────────────────────────────────────────────────────────────────────


@require_POST
def connect(request: HttpRequest, record: UUID) -> HttpResponse:
    """Begin a consent, and say where it leads."""
    require(request, "set_secret")
    stored, state = _stored(record), secrets.token_urlsafe(32)
    try:
        desk = installation().change_token(
            desk_for(request.user), stored.name, Tag.TOKEN_AUTHORIZED
        )
        where = parse_endpoint(
            desk.consent_url(_consent(request, stored, state)), ""
        ).origin
    except OutkeyError as error:
        messages.error(request, spoken(error))
        return _back(stored)
    _remember(request, desk.configuration, state)
    context = {
        "title": _("Connect %s") % stored.name,
        "where": where,
        "token_where": parse_endpoint(stored.oauth2.token_url, "").origin,
        "base_where": stored.base.origin,
        "record": record,
    }
    return page(request, "outkey/leave.html", context)


@require_GET
def leave(request: HttpRequest, record: UUID) -> HttpResponse:
    """Send the browser to the provider.

    A page stands between Connect and this: `form-action` of the content security policy holds for
    whatever a form's answer redirects to, and nobody knows where a provider redirects next.
    """
    require(request, "set_secret")
    stored = _stored(record)
    pending = _pending(request).get(stored.record)
    if pending is None or pending["version"] != stored.version:
        return _back(stored)
    desk = installation().token(stored)
    return HttpResponseRedirect(
        desk.consent_url(_consent(request, stored, pending["state"]))
    )


@require_GET
def callback(request: HttpRequest, record: UUID) -> HttpResponse:
    """Take the browser back, and exchange the code that it brings for a token."""
    require(request, "set_secret")
    stored, state = _begun(request, record)
    if "iss" in request.GET:
        refuse_other_issuer(stored, _one(request, "iss"))
    try:
        desk = installation().token(stored)
        desk.redeem(_code(request), _consent(request, stored, state))
    except OutkeyError as error:
        messages.error(request, spoken(error))
    else:
        messages.success(
            request, _("%s is connected. Test it as it is kept now.") % stored.name
        )
    return _back(stored)


def _begun(request: HttpRequest, record: UUID) -> tuple[Configuration, str]:
    """Return what the browser was sent away for, once: whoever comes again finds nothing."""
    given, pending = _one(request, "state"), _pending(request)
    taken = pending.get(record.hex)
    if taken is None or not constant_time_compare(taken["state"], given):
        raise _begin_again(
            _("this answer belongs to no consent that was begun in this session")
        )
    del pending[record.hex]
    request.session[_CONSENTS] = pending
    request.session.save()
    if taken["user"] != str(request.user.pk):
        raise _begin_again(
            _("this answer belongs to no consent that was begun in this session")
        )
    if not 0 <= time.time() - taken["began"] <= _CONSENT_SECONDS:
        raise _begin_again(_("the consent took longer than ten minutes"))
    try:
        stored = _stored(record)
    except Http404:
        raise _begin_again(_("the configuration was deleted meanwhile")) from None
    if stored.version != taken["version"]:
        raise _begin_again(_("the configuration was changed meanwhile"))
    return stored, taken["state"]


def _code(request: HttpRequest) -> Secret:
    """Return the code, or raise what the provider says instead, in our words only."""
    if "error" in request.GET:
        raise failure(provider_reason(_one(request, "error")) or "refused")
    code = _one(request, "code")
    if not code:
        raise _begin_again(_("the provider sent no code"))
    return Secret(code)


def _one(request: HttpRequest, name: str) -> str:
    """Return a parameter; RFC 6749 §3.1 has each at most once."""
    given = request.GET.getlist(name)
    return given[0] if len(given) == 1 else ""


def _begin_again(message: str) -> ConfigError:
    return ConfigError(
        message, hint=_("Open the configuration and press Connect again.")
    )


def _consent(request: HttpRequest, stored: Configuration, state: str) -> Consent:
    """Prepare what both ways need; the verifier is derived, so that no table holds it."""
    digest = salted_hmac("outkey.pkce", state, algorithm="sha256").digest()
    verifier = urlsafe_b64encode(digest).rstrip(b"=").decode("ascii")
    return consent_for(state, verifier, redirect_url(request, UUID(stored.record)))


def _pending(request: HttpRequest) -> dict[str, Pending]:
    return dict(request.session.get(_CONSENTS, {}))


def _remember(request: HttpRequest, stored: Configuration, state: str) -> None:
    """Keep one consent a configuration, and only the newest ones."""
    pending = _pending(request)
    pending.pop(stored.record, None)
    pending[stored.record] = Pending(
        state=state,
        version=stored.version,
        began=time.time(),
        user=str(request.user.pk),
    )
    kept = sorted(pending.items(), key=lambda one: one[1]["began"])[-_MOST_CONSENTS:]
    request.session[_CONSENTS] = dict(kept)


# ── discovery ────────────────────────────────────────────────────────────────────────────────


@require_POST
def discover(request: HttpRequest) -> HttpResponse:
    """Return the addresses that an issuer names, for the page to fill in; nothing is kept."""
    if not may(request, "change_configuration"):
        require(request, "add_configuration")
    issuer = request.POST.get("oauth2.issuer", "").strip()
    internal = request.POST.get("network") == Network.INTERNAL
    if internal and not may(request, "use_internal_network"):
        refused = ConfigError(
            _("you may not allow the internal network, or another address in it")
        )
        return JsonResponse({"error": spoken(refused)}, status=403)
    network = Network.INTERNAL if internal else Network.PUBLIC
    try:
        with waiting():
            found = installation().discover(issuer, network)
    except OutkeyError as error:
        return JsonResponse({"error": spoken(error)}, status=422)
    fields = {f"oauth2.{name}": url for name, url in found.items()}
    labels = ", ".join(pgettext("outkey", BY_PATH[path].label) for path in fields)
    done = (
        _("Filled in: %s. Check where the Client Secret will go, then save.") % labels
    )
    return JsonResponse({"fields": fields, "done": done})


# ── helpers ──────────────────────────────────────────────────────────────────────────────────


def spoken(error: OutkeyError) -> str:
    """Return an error's message and hint in the language of the person."""
    message = capfirst(pgettext("outkey", error.message))
    return f"{message}. {pgettext('outkey', error.hint) if error.hint else ''}".strip()


def _stored(record: UUID) -> Configuration:
    stored = stored_at(record)
    assert stored is not None  # noqa: S101 - a record was given
    return stored


def _back(stored: Configuration) -> HttpResponse:
    """Lead to the token, so that what came with the address leaves it."""
    return HttpResponseRedirect(url_of("change", stored) + _TAB)
