"""The life of a configuration's token, as a value that is replaced and never changed.

Whoever keeps it offers two things: to read it, and to put another in its place if nobody else has
done so meanwhile (`generation`). Leases, waits and the terminal state are decided here.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import Self

from outkey.core.config.choices import Grant
from outkey.core.config.configuration import Configuration
from outkey.core.oauth2.responses import TokenResponse
from outkey.core.secret import Secret

LEASE_SECONDS = 15.0
# A renewal that a crash left without an answer is tried once more; after that a person is asked.
MOST_TRIES = 2
_WAITS = (1.0, 2.0, 4.0, 8.0)
CIRCUIT_SECONDS = 60.0
_QUARREL_SECONDS = 60.0
KINDS = frozenset({"Bearer", "DPoP"})


class State(StrEnum):
    """How a token stands."""

    NONE = "none"
    FRESH = "fresh"
    STALE = "stale"
    EXPIRED = "expired"
    REAUTHORIZATION_NEEDED = "reauthorization_needed"


@dataclass(frozen=True, slots=True)
class AccessToken:
    """What a request carries: the token and the scheme it is sent with."""

    value: Secret
    kind: str = "Bearer"


@dataclass(frozen=True, slots=True)
class TokenContent:
    """The secret part of a token."""

    access: Secret
    refresh: Secret | None = None
    proof_key: Secret | None = None

    def packed(self) -> Secret:
        """Return all of it as one secret, to be sealed."""
        named = {
            "access": self.access,
            "refresh": self.refresh,
            "proof_key": self.proof_key,
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

        return cls(part("access"), part("refresh") or None, part("proof_key") or None)


@dataclass(frozen=True, slots=True)
class TokenState:
    """What is kept of a configuration's token. Moments are Unix times."""

    generation: int = 0  # grows with every write
    serial: int = 0  # grows with every token
    content: TokenContent | None = None
    basis: str = ""  # what the token was got with
    kind: str = "Bearer"
    scope: str = ""
    obtained_at: float = 0.0
    lifetime: float = 0.0
    holder: str = ""  # who is getting the next one, until then or until the lease ends
    leased_until: float = 0.0
    tries: int = 0
    failures: int = 0
    retry_at: float = 0.0
    error: str = ""
    after_rejection: bool = False
    spent: bool = (
        False  # the entered refresh token was replaced, and its successor forgotten
    )
    dead: bool = False

    @property
    def expires_at(self) -> float:
        """The end of the token's life."""
        return self.obtained_at + self.lifetime

    @property
    def access(self) -> AccessToken | None:
        """The token to send, if there is one."""
        return AccessToken(self.content.access, self.kind) if self.content else None

    def leeway(self, most: float) -> float:
        """Return how long before its end a token is renewed."""
        return min(most, self.lifetime / 10)

    def standing(self, configuration: Configuration, now: float) -> State:
        """Say how the token stands."""
        if self.dead:
            return State.REAUTHORIZATION_NEEDED
        if self.content is None or not self.lifetime:
            return State.NONE if self.content is None else State.EXPIRED
        left = self.expires_at - now
        if left <= 0:
            return State.EXPIRED
        leeway = self.leeway(configuration.oauth2.leeway_seconds)
        return State.STALE if left <= leeway else State.FRESH

    def for_basis(self, basis: str) -> "TokenState":
        """Return the state for what the configuration says now.

        Another client, address or grant begins anew, and so does another wish, where a person
        agreed to the one before. A refresh token that was entered, or another client secret,
        keeps the newest refresh token, but not the token. Whoever is asking goes on asking: its
        lease stays. An entered refresh token that was used already is not used again, since a
        provider takes that for theft.
        """
        if self.basis == basis:
            return self
        consent, wish, _, seed = basis.split(":")
        before = [*self.basis.split(":"), *[""] * 4]
        same_consent, same_seed = before[0] == consent, before[3] == seed
        if (
            self.content is not None
            and same_consent
            and same_seed
            and (before[1] == wish or seed)
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
            spent=bool(seed) and same_seed and used,
        )

    def claimed(self, holder: str, now: float) -> "TokenState":
        """Let somebody get the next token; nobody else does until the lease ends."""
        leased = now + LEASE_SECONDS
        return replace(self, holder=holder, leased_until=leased, tries=self.tries + 1)

    def is_leased(self, now: float) -> bool:
        """Tell whether somebody is getting the next token.

        A lease from the future was written by a clock that was set back since.
        """
        return bool(self.holder) and now < self.leased_until <= now + 2 * LEASE_SECONDS

    def released(self) -> "TokenState":
        """End a lease under which nothing was sent; what a crash left before stays counted."""
        return replace(self, holder="", leased_until=0.0, tries=max(0, self.tries - 1))

    def granted(
        self,
        answer: TokenResponse,
        *,
        at: float,
        default_lifetime: float,
        proof_key: Secret | None,
    ) -> "TokenState":
        """Take the new token; a refresh token that was not replaced stays."""
        before = self.content
        refresh = answer.refresh or (before.refresh if before else None)
        return TokenState(
            generation=self.generation,
            serial=self.serial + 1,
            content=TokenContent(answer.access, refresh, proof_key),
            basis=self.basis,
            kind=answer.kind,
            scope=answer.scope,
            obtained_at=at,
            lifetime=default_lifetime if answer.lifetime is None else answer.lifetime,
        )

    def failed(self, reason: str, *, now: float, asked: float = 0.0) -> "TokenState":
        """Note a failure: waits grow, and from the fifth on the circuit is open for a minute."""
        wait = _WAITS[self.failures] if self.failures < len(_WAITS) else CIRCUIT_SECONDS
        later, count = now + max(wait, asked), self.failures + 1
        return replace(
            self.released(), tries=0, failures=count, retry_at=later, error=reason
        )

    def is_waiting(self, now: float) -> bool:
        """Tell whether the Token URL is left alone after failures."""
        most = CIRCUIT_SECONDS * 5
        return now < self.retry_at <= now + most

    def ended(self, reason: str) -> "TokenState":
        """Note that only a person can help; the token itself may still be valid."""
        return replace(self.released(), dead=True, error=reason)

    def was_for_nothing(self, now: float) -> bool:
        """Tell whether a renewal after a refusal gave a token that is refused as well."""
        return self.after_rejection and 0 <= now - self.obtained_at < _QUARREL_SECONDS

    def facts(self) -> dict[str, object]:
        """Return what may be kept as it is."""
        bare = asdict(replace(self, content=None))
        return {name: value for name, value in bare.items() if name not in _ELSEWHERE}

    @classmethod
    def from_facts(
        cls,
        facts: Mapping[str, object],
        generation: int,
        serial: int,
        content: TokenContent | None,
    ) -> Self:
        """Undo `facts`; raises ValueError for what `facts` would not have written."""
        usual = cls().facts()
        for name, value in facts.items():
            kinds = (
                (int, float)
                if isinstance(usual.get(name), float)
                else type(usual.get(name))
            )
            if name not in usual or not isinstance(value, kinds):
                raise ValueError(name)
        if facts.get("kind", "Bearer") not in KINDS:  # it stands in a header line
            raise ValueError("kind")
        return cls(generation, serial, content, **facts)  # type: ignore[arg-type]  # as was just seen


_ELSEWHERE = frozenset({"generation", "serial", "content"})


def basis_of(configuration: Configuration) -> str:
    """Return a fingerprint of the settings that a token depends on, without any secret.

    Four parts: whose consent it is, what is wished for, with which client secret it is asked for,
    and from which entered refresh token it began (nothing for other grants).
    """
    settings, secrets = configuration.oauth2, configuration.secrets

    def version(name: str) -> object:
        state = secrets.get(name)
        return state and (state.version, str(state.reference), state.origin)

    base = configuration.base.origin.bound
    consent = [settings.grant, settings.token_url, settings.client_id, base]
    wish = [
        settings.scope,
        settings.audience,
        settings.resource,
        dict(settings.extra),
        settings.dpop,
    ]
    credential = [settings.client_auth, version("client_secret")]
    parts = [_hashed(part) for part in (consent, wish, credential)]
    entered = settings.grant is Grant.REFRESH_TOKEN
    return ":".join([*parts, _hashed(version("refresh_token")) if entered else ""])


def _hashed(part: object) -> str:
    return hashlib.sha256(json.dumps(part, sort_keys=True).encode()).hexdigest()[:32]
