"""Actions on tokens: connect, renew, revoke, delete, discover."""

import time
from collections.abc import Callable, Iterator, MutableMapping
from uuid import UUID

from django.contrib import messages
from django.contrib.sessions.backends.base import SessionBase
from django.http import (
    HttpRequest,
    HttpResponse,
    HttpResponseRedirect,
    JsonResponse,
)
from django.utils.crypto import salted_hmac
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from outkey.foundation.core.errors import ConfigError, OutkeyError
from outkey.foundation.core.fields.choices import Network
from outkey.foundation.core.origin import parse_endpoint
from outkey.foundation.core.permission import Permission
from outkey.hosts.django.pages.access import (
    administration_for,
    installation,
    may,
    require,
)
from outkey.hosts.django.pages.configurations.token_panel import (
    redirect_url,
    token_tab,
)
from outkey.hosts.django.pages.shell import (
    configuration_at,
    find_configuration,
    limited_concurrency,
    message_of,
    page,
    url_of,
)
from outkey.hosts.django.translation import translate_text
from outkey.sending.core.audit.events import Tag
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.configuration.fields import BY_PATH
from outkey.sending.core.configuration.permissions import MAY_NOT_USE_NETWORK
from outkey.sending.engine.tokens.actions import TokenActions
from outkey.sending.engine.tokens.consent import Consents, PendingConsent

SESSION_KEY = "outkey_consents"


# ── what is done to a token ─────────────────────────────────────────────────────────


@require_POST
def renew(request: HttpRequest, record: UUID) -> HttpResponse:
    """Get a new token now."""
    require(request, Permission.TEST)
    return _act_on_token(
        request,
        record,
        tag=Tag.TOKEN_RENEWED,
        act=TokenActions.renew,
        success=_("The token was renewed."),
    )


@require_POST
def revoke(request: HttpRequest, record: UUID) -> HttpResponse:
    """Revoke the token at the provider, and delete it."""
    require(request, Permission.SET_SECRET)
    return _act_on_token(
        request,
        record,
        tag=Tag.TOKEN_REVOKED,
        act=TokenActions.revoke,
        success=_("The token was revoked at the provider and deleted here."),
    )


@require_POST
def forget(request: HttpRequest, record: UUID) -> HttpResponse:
    """Delete the token here; it stays valid at the provider."""
    require(request, Permission.SET_SECRET)
    return _act_on_token(
        request,
        record,
        tag=Tag.TOKEN_FORGOTTEN,
        act=TokenActions.forget,
        success=_("The token was deleted here; it was not revoked at the provider."),
    )


def _act_on_token(
    request: HttpRequest,
    record: UUID,
    *,
    tag: Tag,
    act: Callable[[TokenActions], object],
    success: str,
) -> HttpResponse:
    """Do something with the stored token, and show on the page how it ended."""
    stored = configuration_at(record)
    try:
        with limited_concurrency():
            administration = administration_for(request.user)
            act(administration.token(installation().sender, stored.name, tag))
            messages.success(request, success)
    except OutkeyError as error:
        messages.error(request, message_of(error))
    return _redirect_to_token(stored)


# ── a user agrees ───────────────────────────────────────────────────────────────────


class SessionConsents(MutableMapping[str, PendingConsent]):
    """The pending consents of a session of Django."""

    def __init__(self, session: SessionBase) -> None:
        self._session = session

    def _consents(self) -> dict[str, PendingConsent]:
        return dict(self._session.get(SESSION_KEY, {}))

    def __getitem__(self, record: str) -> PendingConsent:
        return self._consents()[record]

    def __setitem__(self, record: str, consent: PendingConsent) -> None:
        self._session[SESSION_KEY] = self._consents() | {record: consent}

    def __delitem__(self, record: str) -> None:
        """Delete a consent at once, so that another request finds it no more."""
        pending = self._consents()
        del pending[record]
        self._session[SESSION_KEY] = pending
        self._session.save()

    def __iter__(self) -> Iterator[str]:
        return iter(self._consents())

    def __len__(self) -> int:
        return len(self._consents())


def _consents_of(request: HttpRequest) -> Consents:
    """Return the consents that the user has begun in this session."""
    return Consents(
        pending=SessionConsents(request.session),
        user=str(request.user.pk),
        derive=_derive_verifier,
        now=time.time,
    )


def _derive_verifier(state: str) -> bytes:
    """Return the bytes of a PKCE verifier, from the secret key of Django."""
    return salted_hmac("outkey.pkce", state, algorithm="sha256").digest()


@require_POST
def connect(request: HttpRequest, record: UUID) -> HttpResponse:
    """Begin a consent, and show where it leads."""
    require(request, Permission.SET_SECRET)
    stored = configuration_at(record)
    try:
        administration = administration_for(request.user)
        actions = administration.token(
            installation().sender, stored.name, Tag.TOKEN_AUTHORIZED
        )
        with limited_concurrency():
            url = _consents_of(request).begin(actions, redirect_url(request, record))
        origin = parse_endpoint(url, "").origin
    except OutkeyError as error:
        messages.error(request, message_of(error))
        return _redirect_to_token(stored)
    is_oauth1 = stored.uses_oauth1
    token_url = stored.oauth1.access_url if is_oauth1 else stored.oauth2.token_url
    context = {
        "title": _("Connect %s") % stored.name,
        "where": origin,
        "token_where": parse_endpoint(token_url, "").origin,
        "tab": token_tab(stored).name.lower(),
        "base_where": stored.base.origin,
        "record": record,
    }
    return page(request, "outkey/leave.html", context)


@require_GET
def leave(request: HttpRequest, record: UUID) -> HttpResponse:
    """Send the browser to the provider.

    A page stands between Connect and this: `form-action` of the content security policy
    holds for every redirect after a form, and a provider may redirect anywhere.
    """
    require(request, Permission.SET_SECRET)
    stored = configuration_at(record)
    actions = installation().sender.token_actions(stored)
    try:
        # A pushed request that has expired in the meantime is pushed again.
        with limited_concurrency():
            url = _consents_of(request).url(actions, redirect_url(request, record))
    except OutkeyError as error:
        messages.error(request, message_of(error))
        url = None
    return HttpResponseRedirect(url) if url else _redirect_to_token(stored)


@require_GET
def callback(request: HttpRequest, record: UUID) -> HttpResponse:
    """Exchange the code that the browser comes back with for a token."""
    require(request, Permission.SET_SECRET)
    configuration_at(record)  # one that the user sees
    consents = _consents_of(request)
    parameters = dict(request.GET.lists())
    stored, state = consents.accept(
        record.hex, parameters, lambda: find_configuration(record)
    )
    try:
        consents.redeem(
            installation().sender.token_actions(stored),
            parameters,
            state=state,
            redirect_url=redirect_url(request, record),
        )
    except OutkeyError as error:
        messages.error(request, message_of(error))
    else:
        name = stored.name
        messages.success(request, _("%s is connected. Run a connection test.") % name)
    return _redirect_to_token(stored)


def _redirect_to_token(stored: Configuration) -> HttpResponse:
    """Redirect to the token, so that the parameters of this URL leave the browser."""
    tab = f"#{token_tab(stored).name.lower()}"
    return HttpResponseRedirect(url_of("change", stored) + tab)


# ── discovery ───────────────────────────────────────────────────────────────────────


@require_POST
def discover(request: HttpRequest) -> HttpResponse:
    """Return the URLs that an issuer publishes, for the form; nothing is stored."""
    if not may(request, Permission.CHANGE):
        require(request, Permission.ADD)
    network = Network.PUBLIC
    if request.POST.get("network") == Network.INTERNAL:
        network = Network.INTERNAL
        if not may(request, Permission.USE_INTERNAL_NETWORK):
            message = message_of(ConfigError(MAY_NOT_USE_NETWORK))
            return JsonResponse({"error": message}, status=403)
    issuer = request.POST.get("oauth2.issuer", "").strip()
    try:
        with limited_concurrency():
            urls = installation().discover(issuer, network)
    except OutkeyError as error:
        return JsonResponse({"error": message_of(error)}, status=422)
    fields = {f"oauth2.{name}": url for name, url in urls.items()}
    labels = ", ".join(translate_text(BY_PATH[path].label) for path in fields)
    template = _("Filled in: %s. Check where the Client Secret will go, then save.")
    return JsonResponse({"fields": fields, "done": template % labels})
