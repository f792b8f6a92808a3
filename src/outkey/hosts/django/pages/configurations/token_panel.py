"""The token on a configuration's page, and what the user may do with it."""

from dataclasses import dataclass
from uuid import UUID

from django.conf import settings
from django.http import HttpRequest
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from outkey.foundation.core.errors import OutkeyError, Sealed
from outkey.foundation.core.fields.choices import Grant
from outkey.foundation.core.fields.field_kinds import Tab
from outkey.foundation.core.permission import Permission
from outkey.hosts.django.pages.access import installation, may
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.oauth2.token import State
from outkey.sending.engine.tokens.actions import TokenAction, TokenStatus

STATES: dict[State, Promise] = {
    State.NONE: _("no token yet"),
    State.FRESH: _("fresh"),
    State.STALE: _("about to be renewed"),
    State.EXPIRED: _("expired"),
    State.REAUTHORIZATION_NEEDED: _("reauthorization needed"),
}
# Where there always is a token; OAuth 1.0a and AWS may do without one.
TOKEN_TABS = (Tab.OAUTH2.name, Tab.LOGIN.name)
# Where a user agrees in the browser, and comes back by the redirect URL.
CONSENT_URLS = ("oauth2.authorization_url", "oauth1.authorization_url")
PERMISSIONS = {
    TokenAction.CONNECT: Permission.SET_SECRET,
    TokenAction.RENEW: Permission.TEST,
    TokenAction.REVOKE: Permission.SET_SECRET,
    TokenAction.FORGET: Permission.SET_SECRET,
}


@dataclass(frozen=True, slots=True)
class TokenPanel:
    """The status of a token, or the `problem` that hides it, and what may be done."""

    stored: Configuration
    status: TokenStatus | None = None
    problem: OutkeyError | None = None
    last_error: OutkeyError | None = None  # of a renewal
    connect: bool = False
    renew: bool = False
    revoke: bool = False
    forget: bool = False

    @property
    def tab(self) -> str:
        """The tab of the form that shows it."""
        return token_tab(self.stored).name

    @property
    def grant(self) -> Grant | None:
        """How a user agrees; None for a login, which needs no one."""
        return self.stored.oauth2.grant if self.stored.uses_oauth2 else None

    @property
    def needs_user(self) -> bool:
        """Whether a user has to agree in the browser before requests can be sent."""
        is_first = self.status is not None and self.status.state is State.NONE
        by_browser = self.grant is Grant.AUTHORIZATION_CODE or self.stored.uses_oauth1
        return is_first and by_browser

    @property
    def is_csrf(self) -> bool:
        """Whether this is the CSRF token: no other one is fetched."""
        return not self.stored.fetches_token

    @property
    def csrf_words(self) -> object:
        """The state of the CSRF token beside a token, as the page shows it."""
        return STATES[self.status.csrf] if self.status and self.status.csrf else ""

    @property
    def words(self) -> object:
        """The state as the page shows it."""
        if self.status and self.status.subjects is not None:
            return _("users with a token: %s") % self.status.subjects
        return STATES[self.status.state] if self.status else ""


def token_tab(stored: Configuration) -> Tab:
    """Return the tab of the form that shows the token of a configuration."""
    if stored.csrf.path and not stored.fetches_token:
        return Tab.HEADERS  # where CSRF path is
    if stored.uses_aws_role:
        return Tab.AWS
    if stored.uses_oauth1:
        return Tab.OAUTH1
    return Tab.LOGIN if stored.uses_login else Tab.OAUTH2


def panel_for(request: HttpRequest, stored: Configuration) -> TokenPanel | None:
    """Return the panel of a configuration that fetches a token, or None."""
    if not (stored.fetches_token or stored.csrf.path):
        return None
    application = installation()
    if application.keys.is_sealed():
        return TokenPanel(stored, problem=Sealed())
    token = application.sender.token_actions(stored)
    try:
        status = token.status()
    except OutkeyError as error:
        return TokenPanel(stored, problem=error)
    actions = {
        action for action in token.possible(status) if may(request, PERMISSIONS[action])
    }
    return TokenPanel(
        stored=stored,
        status=status,
        last_error=token.last_error(status),
        connect=TokenAction.CONNECT in actions,
        renew=TokenAction.RENEW in actions,
        revoke=TokenAction.REVOKE in actions,
        forget=TokenAction.FORGET in actions,
    )


def redirect_url(request: HttpRequest, record: UUID) -> str:
    """Return the URL that a provider sends the browser back to.

    Each configuration has its own, so that no provider can pass off a response as one
    of another provider (RFC 9700 §4.4). Behind a proxy only the operator knows the URL:
    OUTKEY["PUBLIC_URL"].
    """
    path = reverse("admin:outkey_oauth2_callback", args=[record])
    public = str(getattr(settings, "OUTKEY").get("PUBLIC_URL") or "")  # noqa: B009 - a setting that mypy cannot know
    return public.rstrip("/") + path if public else request.build_absolute_uri(path)
