"""The life of a configuration's token, as a value that is replaced and never changed.

Its store offers two operations: to read it, and to replace it if no other process has
done so in the meantime (`generation`). Leases, waits and the terminal state are decided
here.
"""

import hashlib
import json
import sys
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import Self

from outkey.foundation.core.fields.choices import ClientAuth, Grant
from outkey.foundation.core.secret import Secret
from outkey.sending.core.configuration.configuration import (
    PRIVATE_KEY,
    SECRETS_OF_AWS,
    SECRETS_OF_LOGIN,
    Configuration,
)
from outkey.sending.core.configuration.custom_rows import CustomRow
from outkey.sending.core.oauth2.responses import TokenResponse

LEASE_SECONDS = 15.0
# A renewal that a crash left without a result is retried once; then a user must act.
MAX_TRIES = 2
MAX_SUBJECTS = 10_000  # of a configuration
CSRF_SUFFIX = ":csrf"  # of a subject, or of none: the CSRF token that belongs to it
SET = "set"  # no hash of a subject begins with it
_WAITS = (1.0, 2.0, 4.0, 8.0)
CIRCUIT_SECONDS = 60.0
_REJECTED_AGAIN_SECONDS = 60.0
KINDS = frozenset({"Bearer", "DPoP", "AWS", "OAuth"})


class State(StrEnum):
    """The state of a token."""

    NONE = "none"
    FRESH = "fresh"
    STALE = "stale"
    EXPIRED = "expired"
    REAUTHORIZATION_NEEDED = "reauthorization_needed"


@dataclass(frozen=True, slots=True)
class AccessToken:
    """The token of a request, and the scheme that it is sent with."""

    value: Secret
    kind: str = "Bearer"
    secret: Secret | None = None  # of a token of OAuth 1.0a, which signs with it
    cookies: Secret | None = None  # of a login, as the header Cookie has them


@dataclass(frozen=True, slots=True)
class TokenContent:
    """The secret part of a token."""

    access: Secret
    refresh: Secret | None = None
    proof_key: Secret | None = None
    token_secret: Secret | None = None  # of OAuth 1.0a
    # Temporary credentials of OAuth 1.0a, while a user is at the provider. Until the
    # first user has agreed, the access token beside them is empty.
    temporary: Secret | None = None
    cookies: Secret | None = None  # of a login, as the header Cookie has them

    def packed(self) -> Secret:
        """Return all of it as one secret, to be sealed."""
        named = {
            "access": self.access,
            "refresh": self.refresh,
            "proof_key": self.proof_key,
            "token_secret": self.token_secret,
            "temporary": self.temporary,
            "cookies": self.cookies,
        }
        parts: list[str | Secret] = []
        for name, secret in named.items():
            if secret is not None:
                parts += [
                    ", " if parts else "{",
                    json.dumps(name),
                    ": ",
                    secret.derive(json.dumps),
                ]
        return Secret.joined(*parts, "}")

    @classmethod
    def unpacked(cls, packed: Secret) -> Self:
        """Undo `packed`."""

        def part(name: str) -> Secret:
            return packed.derive(lambda text: str(json.loads(text).get(name, "")))

        return cls(
            access=part("access"),
            refresh=part("refresh") or None,
            proof_key=part("proof_key") or None,
            token_secret=part("token_secret") or None,
            temporary=part("temporary") or None,
            cookies=part("cookies") or None,
        )


@dataclass(frozen=True, slots=True)
class TokenState:
    """The token of a configuration as it is stored. Moments are Unix times."""

    generation: int = 0  # grows with every write
    serial: int = 0  # grows with every token
    content: TokenContent | None = None
    basis: str = ""  # the settings that the token was requested with
    kind: str = "Bearer"
    scope: str = ""
    obtained_at: float = 0.0
    lifetime: float = 0.0
    holder: str = ""  # the process that requests the next one, until its lease ends
    leased_until: float = 0.0
    tries: int = 0
    failures: int = 0
    retry_at: float = 0.0
    error: str = ""
    after_rejection: bool = False
    # The entered refresh token was replaced, and its successor deleted.
    spent: bool = False
    entered: str = ""  # a mark of the entered refresh token that was used last
    dead: bool = False

    @property
    def expires_at(self) -> float:
        """The end of the token's life."""
        return self.obtained_at + self.lifetime

    @property
    def access(self) -> AccessToken | None:
        """The token to send, if there is one."""
        content = self.content
        if content is None or not content.access:
            return None
        return AccessToken(
            content.access, self.kind, content.token_secret, content.cookies
        )

    def leeway(self, most: float) -> float:
        """Return how long before its expiry a token is renewed."""
        return min(most, self.lifetime / 10)

    def state_at(self, configuration: Configuration, now: float) -> State:
        """Return the state of the token."""
        if self.dead:
            return State.REAUTHORIZATION_NEEDED
        if self.access is None or not self.lifetime:
            return State.NONE if self.access is None else State.EXPIRED
        left = self.expires_at - now
        if left <= 0:
            return State.EXPIRED
        leeway = self.leeway(configuration.leeway_seconds)
        return State.STALE if left <= leeway else State.FRESH

    def begun(self, temporary: Secret) -> "TokenState":
        """Return the state while a user authorizes another token; this one stays."""
        content = self.content or TokenContent(Secret(""))
        content = replace(content, temporary=temporary)
        return replace(self, serial=self.serial + 1, content=content)

    def for_basis(self, basis: str) -> "TokenState":
        """Return the state for the present settings of the configuration.

        Another client, URL or grant starts over, and so do other permissions if a user
        authorized the former ones. With an entered refresh token, or another client
        secret, the newest refresh token stays, but not the token. A running request
        goes on: its lease stays. An entered refresh token that was used already is not
        used again, since a provider takes that for theft.
        """
        if self.basis == basis:
            return self
        consent, permissions, _, entered_token = basis.split(":")
        before = [*self.basis.split(":"), *[""] * 4]
        same_consent, same_token = before[0] == consent, before[3] == entered_token
        if (
            self.content is not None
            and same_consent
            and same_token
            and (before[1] == permissions or entered_token)
        ):
            fresh = replace(self, failures=0, retry_at=0.0, error="", dead=False)
            return replace(fresh, basis=basis, lifetime=0.0)
        used = self.spent or self.content is not None or bool(self.holder)
        return TokenState(
            self.generation,
            self.serial + 1,
            basis=basis,
            holder=self.holder,
            leased_until=self.leased_until,
            tries=self.tries,
            spent=bool(entered_token) and same_token and used,
            entered=self.entered if same_token else "",
        )

    def with_entered(self, mark: str) -> "TokenState":
        """Return the state for the entered refresh token with this mark.

        Another one than the last starts over, since a user has replaced it. A running
        request goes on: its lease stays.
        """
        if not self.entered or self.entered == mark:
            return replace(self, entered=mark)
        return TokenState(
            self.generation,
            self.serial + 1,
            basis=self.basis,
            holder=self.holder,
            leased_until=self.leased_until,
            entered=mark,
        )

    def claimed(self, holder: str, now: float) -> "TokenState":
        """Lease the renewal to a process; no other one renews until the lease ends."""
        leased = now + LEASE_SECONDS
        return replace(self, holder=holder, leased_until=leased, tries=self.tries + 1)

    def is_leased(self, now: float) -> bool:
        """Whether a process is requesting the next token.

        A lease from the future was written by a clock that was set back since.
        """
        return bool(self.holder) and now < self.leased_until <= now + 2 * LEASE_SECONDS

    def released(self) -> "TokenState":
        """End a lease without a request sent; attempts that crashed stay counted."""
        return replace(self, holder="", leased_until=0.0, tries=max(0, self.tries - 1))

    def granted(
        self,
        response: TokenResponse,
        *,
        at: float,
        default_lifetime: float,
        proof_key: Secret | None = None,
        requested_scope: str = "",
    ) -> "TokenState":
        """Return the state with the new token and a new or the same refresh token.

        A response that names no scope grants the requested one (RFC 6749 §5.1).
        """
        before = self.content
        refresh = response.refresh or (before.refresh if before else None)
        return TokenState(
            generation=self.generation,
            serial=self.serial + 1,
            content=TokenContent(
                response.access, refresh, proof_key, cookies=response.cookies
            ),
            basis=self.basis,
            kind=response.kind,
            scope=requested_scope if response.scope is None else response.scope,
            obtained_at=at,
            lifetime=default_lifetime
            if response.lifetime is None
            else response.lifetime,
            entered=self.entered,
        )

    def failed(
        self, reason: str, *, now: float, retry_after: float = 0.0
    ) -> "TokenState":
        """Count a failure: waits grow, and from the fifth on the circuit is open.

        `retry_after` are the seconds that the provider asked to wait.
        """
        wait = _WAITS[self.failures] if self.failures < len(_WAITS) else CIRCUIT_SECONDS
        return replace(
            self.released(),
            tries=0,
            failures=self.failures + 1,
            retry_at=now + max(wait, retry_after),
            error=reason,
        )

    def is_waiting(self, now: float) -> bool:
        """Whether the Token URL is not called for a while after failures."""
        most = CIRCUIT_SECONDS * 5
        return now < self.retry_at <= now + most

    def is_of_use(self, now: float) -> bool:
        """Whether there is a valid token, or a request to wait for or to hold back."""
        return now < self.expires_at or self.is_leased(now) or self.is_waiting(now)

    def ended(self, reason: str) -> "TokenState":
        """End the renewals until a user acts; the token itself may still be valid."""
        return replace(self.released(), dead=True, error=reason)

    def was_rejected_too(self, now: float) -> bool:
        """Whether the token of a renewal after a rejection was rejected too."""
        return (
            self.after_rejection
            and 0 <= now - self.obtained_at < _REJECTED_AGAIN_SECONDS
        )

    def facts(self) -> dict[str, object]:
        """Return the values that may be stored unencrypted."""
        bare = asdict(replace(self, content=None))
        return {name: value for name, value in bare.items() if name not in _ELSEWHERE}

    @classmethod
    def from_facts(
        cls,
        stored: object,
        generation: int,
        serial: int,
        content: TokenContent | None,
    ) -> Self:
        """Undo `facts`; raise ValueError for anything that `facts` does not write."""
        # Not a table: changed outside of outkey, and refused as an unknown fact.
        facts = stored if isinstance(stored, Mapping) else {"stored": stored}
        usual = cls().facts()
        for name, value in facts.items():
            is_valid = (
                is_finite(value)
                if isinstance(usual.get(name), float)
                else isinstance(value, type(usual.get(name)))
            )
            if name not in usual or not is_valid:
                raise ValueError(name)
        if facts.get("kind", "Bearer") not in KINDS:  # it is sent in a header
            raise ValueError("kind")
        return cls(generation, serial, content, **facts)


def set_mark(serial: int) -> str:
    """Return what the marks of the tokens of another set of credentials begin with."""
    return f"{SET}{serial}:"


def superfluous(states: Mapping[str, TokenState], now: float) -> list[str]:
    """Return the keys of the subjects whose tokens need not be stored any longer.

    Those that have ended, and the oldest of too many: each can be requested again.
    """
    alive = {key: state for key, state in states.items() if state.is_of_use(now)}
    by_age = sorted(alive, key=lambda key: alive[key].obtained_at)
    oldest = by_age[: max(0, len(by_age) - MAX_SUBJECTS)]
    return [*(states.keys() - alive.keys()), *oldest]


_ELSEWHERE = frozenset({"generation", "serial", "content"})


def is_finite(value: object) -> bool:
    """Whether a value is a number that a float can hold; JSON may have others."""
    return isinstance(value, int | float) and abs(value) <= sys.float_info.max


def basis_of(configuration: Configuration) -> str:
    """Return a fingerprint of the settings that a token depends on, without any secret.

    Four parts: the client of the consent, the requested permissions, the client secret,
    and the entered refresh token (nothing for other grants).
    """
    settings = configuration.oauth2
    base = configuration.base.origin.bound
    consent = [settings.grant, settings.token_url, settings.client_id, base]
    permissions = [
        settings.scope,
        settings.audience,
        settings.resource,
        dict(settings.extra),
        settings.dpop,
    ]
    if settings.exchanges_token:
        permissions += [
            settings.subject_token_from,
            settings.subject_token_type,
            settings.actor_token_type,
            settings.requested_token_type,
            _secret_version_of(configuration, "subject_token"),
            _secret_version_of(configuration, "actor_token"),
        ]
    credential: list[object] = [
        settings.client_auth,
        _secret_version_of(configuration, "client_secret"),
    ]
    if settings.token_headers:
        credential.append(_rows_of(configuration, settings.token_headers))
    if settings.refresh_url:
        consent.append(settings.refresh_url)
    if settings.client_auth is ClientAuth.FEDERATED:
        credential.append(_secret_version_of(configuration, "client_assertion"))
    if settings.grant is Grant.PASSWORD:
        consent.append(configuration.username)
        credential.append(_secret_version_of(configuration, "password"))
    if settings.grant is Grant.JWT_BEARER:
        permissions.append(asdict(settings.assertion))
        credential.append(_secret_version_of(configuration, PRIVATE_KEY))
    parts = [hash_of(part) for part in (consent, permissions, credential)]
    entered_token = ""
    if settings.grant is Grant.REFRESH_TOKEN:
        entered_token = hash_of(_secret_version_of(configuration, "refresh_token"))
    return ":".join([*parts, entered_token])


def oauth1_basis_of(configuration: Configuration) -> str:
    """Return the same for OAuth 1.0a: who authorized, for which application, where.

    Another consumer secret alone starts nothing over: a provider lets both rotate.
    """
    settings = configuration.oauth1
    base = configuration.base.origin.bound
    return f"{hash_of([settings.consumer_key, settings.request_url, base])}:::"


def login_basis_of(configuration: Configuration) -> str:
    """Return the same for a login: a change of any of these needs a new one."""
    settings = asdict(configuration.login)
    del settings["logout_path"]
    versions = [_secret_version_of(configuration, name) for name in SECRETS_OF_LOGIN]
    parts = [configuration.base_url, configuration.username, settings, versions]
    if configuration.api_rows:  # the login has them too
        parts.append(_rows_of(configuration, configuration.api_rows))
    return f"{hash_of(parts)}:::"


def aws_basis_of(configuration: Configuration) -> str:
    """Return the same for a role: a change of any of these needs a new session."""
    settings = asdict(configuration.aws)
    # These change how requests are signed, but not the session.
    for name in ("service", "payload"):
        del settings[name]
    versions = [
        _secret_version_of(configuration, name) for name in sorted(SECRETS_OF_AWS)
    ]
    parts = [configuration.base_url, settings, versions]
    return f"{hash_of(parts)}:::"


def csrf_basis_of(configuration: Configuration, serial: int) -> str:
    """Return the same for a CSRF token: whose it is, and how it is fetched.

    `serial` is that of the token which authenticates the requests: another one may be
    of another user, or of a session that the CSRF token does not belong to.
    """
    settings = configuration.csrf
    parts = [
        serial,
        configuration.base_url,
        [settings.path, settings.header, settings.lifetime_seconds],
        configuration.authentication_type,
        configuration.token_source,
        configuration.username,
        [
            _secret_version_of(configuration, name)
            for name in sorted(configuration.needed_secrets())
        ],
    ]
    return f"{hash_of(parts)}:::"


def _rows_of(
    configuration: Configuration, rows: Iterable[CustomRow]
) -> list[list[object]]:
    """Return what changes with rows, such as one that names a tenant."""
    return [
        [
            row.secret_field,
            row.value,
            _secret_version_of(configuration, row.secret_field),
        ]
        for row in rows
    ]


def _secret_version_of(configuration: Configuration, name: str) -> object:
    """Return a value that changes with a secret, unless that is a reference."""
    state = configuration.secrets.get(name)
    return state and (state.version, str(state.reference), state.origin)


def hash_of(part: object) -> str:
    """Return a hash of JSON data."""
    return hashlib.sha256(json.dumps(part, sort_keys=True).encode()).hexdigest()[:32]
