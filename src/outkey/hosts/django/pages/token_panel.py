"""The tab OAuth 2.0 of a configuration's page: what is shown of a token, and what may be done."""

from dataclasses import dataclass
from uuid import UUID

from django.conf import settings
from django.http import HttpRequest
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from outkey.core.config.choices import Grant
from outkey.core.config.configuration import Configuration
from outkey.core.errors import OutkeyError, Sealed
from outkey.core.oauth2.responses import failure
from outkey.core.oauth2.token import State
from outkey.engine.tokens.actions import TokenStatus
from outkey.hosts.django.pages.access import installation, may

_WORDS: dict[State, Promise] = {
    State.NONE: _("no token yet"),
    State.FRESH: _("fresh"),
    State.STALE: _("about to be renewed"),
    State.EXPIRED: _("expired"),
    State.REAUTHORIZATION_NEEDED: _("reauthorization needed"),
}
_WITHOUT_TOKEN = (State.NONE, State.REAUTHORIZATION_NEEDED)
_BY_ITSELF = (Grant.CLIENT_CREDENTIALS, Grant.REFRESH_TOKEN)


@dataclass(frozen=True, slots=True)
class Panel:
    """How a token stands; `problem` says why that is not known."""

    grant: Grant
    status: TokenStatus | None = None
    problem: OutkeyError | None = None
    connect: bool = False
    renew: bool = False
    revoke: bool = False
    forget: bool = False

    @property
    def words(self) -> object:
        """The state in words."""
        return _WORDS[self.status.state] if self.status else ""

    @property
    def failed(self) -> OutkeyError | None:
        """The last error, as it is told to people."""
        return failure(self.status.error) if self.status and self.status.error else None


def panel_for(request: HttpRequest, stored: Configuration | None) -> Panel | None:
    """Return the panel of a configuration that gets its tokens; a sealed one opens nothing."""
    if stored is None or not stored.uses_oauth2:
        return None
    here, settings_ = installation(), stored.oauth2
    if here.keys.is_sealed():
        return Panel(settings_.grant, problem=Sealed())
    try:
        status = here.token(stored).status()
    except OutkeyError as error:
        return Panel(settings_.grant, problem=error)
    may_set, there = may(request, "set_secret"), status.state is not State.NONE
    usable = settings_.grant in _BY_ITSELF or status.state not in _WITHOUT_TOKEN
    return Panel(
        grant=settings_.grant,
        status=status,
        connect=may_set and settings_.grant is Grant.AUTHORIZATION_CODE,
        renew=usable and may(request, "test_configuration"),
        revoke=may_set and there and bool(settings_.revocation_url),
        forget=may_set and there,
    )


def redirect_url(request: HttpRequest, record: UUID) -> str:
    """Return where a provider sends the browser back to: an address for each configuration.

    So that no provider can pass its own browser's answer off as another one's (RFC 9700 §4.4).
    Behind a proxy only the operator knows the address: OUTKEY["PUBLIC_URL"].
    """
    path = reverse("admin:outkey_oauth2_callback", args=[record])
    public = str(getattr(settings, "OUTKEY").get("PUBLIC_URL") or "")  # noqa: B009 - a setting that mypy cannot know
    return public.rstrip("/") + path if public else request.build_absolute_uri(path)
