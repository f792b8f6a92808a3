"""The consent of the authorization code flow, on its way through a user's browser.

The browser leaves for the provider and comes back with a code (RFC 6749 §4.1). In
between, the host's session stores what is not a secret: a random state, and for which
configuration and user it was made. A consent is redeemed once, by the user who began
it, within ten minutes, and for the same version of the configuration.
"""

import secrets
from base64 import urlsafe_b64encode
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from hmac import compare_digest
from typing import NotRequired, TypedDict

from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.secret import Secret
from outkey.foundation.core.text import Text
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.oauth1.legs import authorization_url
from outkey.sending.core.oauth2.grants import (
    Consent,
    PushedRequest,
    consent_for,
    refuse_other_issuer,
)
from outkey.sending.core.oauth2.responses import authorization_failure
from outkey.sending.engine.tokens.actions import TokenActions

CONSENT_SECONDS = 600
_MAX_PENDING = 5
_BEGIN_AGAIN = Text("Open the configuration and press Connect again.")

Parameters = Mapping[str, Sequence[str]]  # of the URL that the browser came back to


def _random_state() -> str:
    return secrets.token_urlsafe(32)


class PendingConsent(TypedDict):
    """A consent that a user has begun, as a host's session stores it."""

    state: str
    version: int
    began: float
    user: str
    # Of a pushed request: its name at the provider, and until when that holds.
    request_uri: NotRequired[str]
    pushed_until: NotRequired[float]


@dataclass(frozen=True, slots=True)
class Consents:
    """The consents that one user has begun in one session.

    `pending` is the session's own storage, by the record of the configuration; what is
    deleted from it must be deleted for every later request. `derive` returns 32 bytes
    for a state that only this host can compute.
    """

    pending: MutableMapping[str, PendingConsent]
    user: str
    derive: Callable[[str], bytes]
    now: Callable[[], float]
    new_state: Callable[[], str] = _random_state

    def begin(self, actions: TokenActions, redirect_url: str) -> str:
        """Begin a consent, and return the URL where the user agrees.

        There is one for each configuration, and only the newest few are stored.
        """
        configuration = actions.configuration
        pending = PendingConsent(
            state=self.new_state(),
            version=configuration.version,
            began=self.now(),
            user=self.user,
        )
        if configuration.has_three_legs:
            temporary = actions.request_legs(redirect_url)
            actions.store_temporary(temporary)
            pending["state"] = _mark_of(temporary.token)
            url = authorization_url(configuration, temporary)
        else:
            url = self._consent_url(actions, pending, redirect_url)
        self.pending[configuration.record] = pending
        by_age = sorted(self.pending, key=lambda record: self.pending[record]["began"])
        for record in by_age[:-_MAX_PENDING]:
            del self.pending[record]
        return url

    def url(self, actions: TokenActions, redirect_url: str) -> str | None:
        """Return the URL of the consent that was begun.

        None if no consent was begun for this version of the configuration.
        """
        pending = self.pending.get(actions.configuration.record)
        if pending is None or pending["version"] != actions.configuration.version:
            return None
        if not actions.configuration.has_three_legs:
            url = self._consent_url(actions, pending, redirect_url)
            self.pending[actions.configuration.record] = pending
            return url
        temporary = actions.stored_temporary()
        if temporary is None or not is_same(
            pending["state"], _mark_of(temporary.token)
        ):
            return None  # another user has begun one since
        return authorization_url(actions.configuration, temporary)

    def _consent_url(
        self, actions: TokenActions, pending: PendingConsent, redirect_url: str
    ) -> str:
        """Return the URL of a consent; push its parameters where that is set.

        A pushed request that has expired is pushed again.
        """
        consent = self._consent(pending["state"], redirect_url)
        if not actions.configuration.oauth2.pushes_authorization:
            return actions.consent_url(consent)
        now = self.now()
        lifetime = pending.get("pushed_until", 0.0) - now
        if lifetime > 0:
            pushed = PushedRequest(pending["request_uri"], lifetime)
        else:
            pushed = actions.push(consent)
            pending["request_uri"] = pushed.request_uri
            pending["pushed_until"] = now + pushed.lifetime
        return actions.pushed_consent_url(pushed)

    def accept(
        self,
        record: str,
        parameters: Parameters,
        find: Callable[[], Configuration | None],
    ) -> tuple[Configuration, str]:
        """Return the configuration and the state of the consent that a browser ends.

        It is deleted first: a second browser with the same parameters finds nothing.
        `find` returns the configuration as it is stored now.
        """
        pending = self.pending.get(record)
        state = _state_in(parameters)
        if pending is None or not is_same(pending["state"], state):
            raise self._unknown()
        del self.pending[record]
        if pending["user"] != self.user:
            raise self._unknown()
        if not 0 <= self.now() - pending["began"] <= CONSENT_SECONDS:
            message = Text("the consent took longer than ten minutes")
            raise ConfigError(message, hint=_BEGIN_AGAIN)
        configuration = find()
        if configuration is None:
            message = Text("the configuration was deleted in the meantime")
            raise ConfigError(message, hint=_BEGIN_AGAIN)
        if configuration.version != pending["version"]:
            message = Text("the configuration was changed in the meantime")
            raise ConfigError(message, hint=_BEGIN_AGAIN)
        if "iss" in parameters:
            refuse_other_issuer(configuration, _only_value(parameters, "iss"))
        return configuration, pending["state"]

    def redeem(
        self,
        actions: TokenActions,
        parameters: Parameters,
        *,
        state: str,
        redirect_url: str,
    ) -> None:
        """Exchange the code of an accepted consent for tokens, and store them."""
        if actions.configuration.has_three_legs:
            self._authorize(actions, parameters, state)
            return
        actions.redeem(code_of(parameters), self._consent(state, redirect_url))

    def _authorize(
        self, actions: TokenActions, parameters: Parameters, state: str
    ) -> None:
        """Exchange the verifier of OAuth 1.0a, for the token that was stored for it."""
        verifier = verifier_of(parameters)
        temporary = actions.stored_temporary()
        if temporary is None or not is_same(state, _mark_of(temporary.token)):
            message = Text("another authorization was begun in the meantime")
            raise ConfigError(message, hint=_BEGIN_AGAIN)
        actions.authorize(temporary, verifier)

    def _consent(self, state: str, redirect_url: str) -> Consent:
        # The PKCE verifier is derived, so that no table of sessions holds it.
        verifier = urlsafe_b64encode(self.derive(state)).rstrip(b"=").decode("ascii")
        return consent_for(state, verifier, redirect_url)

    def _unknown(self) -> ConfigError:
        message = Text(
            "this response belongs to no consent that was begun in this session"
        )
        return ConfigError(message, hint=_BEGIN_AGAIN)


def code_of(parameters: Parameters) -> Secret:
    """Return the code; raise what the provider reports instead, in our own words.

    Its description is not quoted: it comes from the browser, and not from the provider.
    """
    if "error" in parameters:
        raise authorization_failure(_only_value(parameters, "error"))
    code = _only_value(parameters, "code")
    if not code:
        message = Text("the provider sent no code")
        raise ConfigError(message, hint=_BEGIN_AGAIN)
    return Secret(code)


def verifier_of(parameters: Parameters) -> Secret:
    """Return the verifier of OAuth 1.0a, or raise that the user did not agree.

    A refusal is `denied` at Twitter, and a problem or just no verifier elsewhere.
    """
    if "denied" in parameters or "oauth_problem" in parameters:
        raise authorization_failure("access_denied")
    verifier = _only_value(parameters, "oauth_verifier")
    if not verifier:
        message = Text("the provider sent no verifier")
        raise ConfigError(message, hint=_BEGIN_AGAIN)
    return Secret(verifier)


def _state_in(parameters: Parameters) -> str:
    """Return the state that a browser brings; for OAuth 1.0a a mark of its token."""
    for name in ("oauth_token", "denied"):
        if token := _only_value(parameters, name):
            return _mark_of(Secret(token))
    return _only_value(parameters, "state")


def _mark_of(token: Secret) -> str:
    """Return a hash of a temporary token: a session is stored in plain text."""
    return token.fingerprint(b"outkey.oauth1").hex()


def _only_value(parameters: Parameters, name: str) -> str:
    """Return a parameter, empty if it is repeated (RFC 6749 §3.1 forbids that)."""
    values = parameters.get(name, ())
    return values[0] if len(values) == 1 else ""


def is_same(state: str, other: str) -> bool:
    """Compare two states in constant time."""
    return compare_digest(state.encode(), other.encode(errors="surrogatepass"))
