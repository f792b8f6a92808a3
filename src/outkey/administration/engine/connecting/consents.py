"""Connecting an account by a user's consent, on its way through their browser.

`Consents` begins and accepts it, as on the pages. In between there is no session of a
user: what was begun is sealed in a row that is found by the cookie of the browser and
the state together. So another browser, or another state, finds nothing.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from outkey.administration.engine.connecting.connecting import OpenedLink, failures
from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.secret import Secret
from outkey.sending.core.connections.connect_form import Entered
from outkey.sending.core.oauth2.token import TokenContent, TokenState
from outkey.sending.engine.tokens.consent import (
    CONSENT_SECONDS,
    Consents,
    PendingConsent,
)

if TYPE_CHECKING:
    from outkey.administration.engine.connecting.candidate import Candidate
    from outkey.administration.engine.connecting.connecting import Connecting
    from outkey.sending.ports.sending import Tokens

CALLBACK = "callback"
_RANDOM_BYTES = 32
# Random characters, and the id of the configuration that the consent is for.
_STATE = re.compile(r"[A-Za-z0-9_-]{43}([0-9a-f]{32})")
_KEY = ""  # one consent is pending in each row


class ConsentUnknown(ConfigError):
    """No consent with this state was begun in this browser, or it has come back."""


@dataclass(frozen=True, slots=True)
class BegunConsent:
    """A consent that was begun, with what was entered before it."""

    digest: str  # of the link
    seed: bytes
    pending: PendingConsent
    entered: Entered

    def packed(self) -> TokenContent:
        """Return all of it, to be sealed."""
        facts = {
            "digest": self.digest,
            "seed": self.seed.hex(),
            "pending": self.pending,
            "facts": dict(self.entered.facts),
            "variables": dict(self.entered.variables),
            "names": [*self.entered.secrets],
        }
        parts: list[str | Secret] = []
        for secret in self.entered.secrets.values():
            parts += [", " if parts else "", secret.derive(json.dumps)]
        return TokenContent(
            access=Secret(json.dumps(facts)), refresh=Secret.joined("[", *parts, "]")
        )

    @classmethod
    def unpacked(cls, content: TokenContent) -> Self:
        """Undo `packed`."""
        facts = json.loads(content.access.reveal())
        packed = content.refresh or Secret("[]")

        def secret_at(place: int) -> Secret:
            return packed.derive(lambda text: str(json.loads(text)[place]))

        entered = Entered(
            {name: secret_at(place) for place, name in enumerate(facts["names"])},
            facts["facts"],
            facts["variables"],
        )
        seed = bytes.fromhex(facts["seed"])
        return cls(facts["digest"], seed, facts["pending"], entered)


@dataclass(frozen=True, slots=True)
class ConnectConsents:
    """The consents of connect links, each of one browser."""

    connecting: Connecting
    public_url: str

    @property
    def redirect_url(self) -> str:
        """Where every provider sends browsers back to: one for all configurations."""
        return f"{self.public_url.rstrip('/')}/connect/{CALLBACK}"

    def begin(self, opened: OpenedLink, values: Mapping[str, str], browser: str) -> str:
        """Begin a consent in a browser, and return the URL where the user agrees."""
        entered = self.connecting.read(opened, values)
        candidate = self.connecting.candidate(opened, entered)
        record = opened.unconnected.record
        seed = secrets.token_bytes(_RANDOM_BYTES)
        pending: dict[str, PendingConsent] = {}
        with failures():
            self.connecting.refuse_changed(opened)
            consents = self._consents(pending, seed, record)
            url = consents.begin(candidate.actions(), self.redirect_url)
        begun = BegunConsent(opened.found.digest, seed, pending[_KEY], entered)
        content = begun.packed()
        tokens = self._tokens_of(browser, pending[_KEY]["state"])
        now = self.connecting.sender.context.clock.now()
        state = TokenState(
            serial=1, content=content, obtained_at=now, lifetime=CONSENT_SECONDS
        )
        tokens.swap(opened.unconnected, TokenState(), state)
        return url

    def finish(
        self, parameters: Mapping[str, Sequence[str]], browser: str
    ) -> tuple[OpenedLink, str]:
        """Connect the account that a browser comes back for.

        Raises ConsentUnknown before anything is sent or counted, where this browser has
        not begun it or has come back before.
        """
        begun = self._take(parameters, browser)
        opened = self.connecting.open_by_hash(begun.digest)
        candidate = self.connecting.candidate(opened, begun.entered)
        self.connecting.links.begin_try(opened.found)
        with failures():
            self.connecting.refuse_changed(opened)
            self._redeem(candidate, parameters, begun)
            candidate.read_token_variables()
            candidate.read_redirect(_single_values(parameters))
            candidate.request_variables()
            self.connecting.refuse_other_account(opened, candidate)
            candidate.configuration()  # every URL has a value now
        return opened, self.connecting.store(opened, candidate)

    def _redeem(
        self,
        candidate: Candidate,
        parameters: Mapping[str, Sequence[str]],
        begun: BegunConsent,
    ) -> None:
        """Exchange the code of a consent that is not pending any more."""
        actions = candidate.actions()
        consents = self._consents({_KEY: begun.pending}, begun.seed)
        _, state = consents.accept(_KEY, parameters, lambda: actions.configuration)
        consents.redeem(
            actions, parameters, state=state, redirect_url=self.redirect_url
        )

    def _consents(
        self, pending: dict[str, PendingConsent], seed: bytes, record: str = ""
    ) -> Consents:
        return Consents(
            pending=pending,
            user="",
            derive=lambda _state: seed,
            now=self.connecting.sender.context.clock.now,
            # It comes back without the link: the record says where it is sealed.
            new_state=lambda: f"{secrets.token_urlsafe(_RANDOM_BYTES)}{record}",
        )

    def _take(
        self, parameters: Mapping[str, Sequence[str]], browser: str
    ) -> BegunConsent:
        """Return what was begun, once; it is deleted before anything is sent."""
        state = _single_values(parameters).get("state", "")
        match = _STATE.fullmatch(state)
        if match is None or not browser:
            raise ConsentUnknown
        unconnected = self.connecting.configuration_of(match[1])
        if unconnected is None:
            raise ConsentUnknown
        tokens = self._tokens_of(browser, state)
        before = tokens.read(unconnected)
        content = before.content
        taken = TokenState(serial=before.serial + 1)
        if content is None or tokens.swap(unconnected, before, taken) is None:
            raise ConsentUnknown
        return BegunConsent.unpacked(content)

    def _tokens_of(self, browser: str, state: str) -> Tokens:
        """Return where the consent of a browser and a state is sealed."""
        subject = Secret(f"{browser}:{state}")
        return self.connecting.sender.context.tokens.of_subject(subject)


def _single_values(parameters: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Return the parameters that are there once (RFC 6749 §3.1)."""
    return {name: values[0] for name, values in parameters.items() if len(values) == 1}
