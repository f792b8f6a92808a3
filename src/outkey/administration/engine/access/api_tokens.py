"""Creating, listing, revoking and checking the tokens of the HTTP interface.

They are shared states: one row by the token's hash, which every request finds it by,
and one by its name, which no two tokens have at the same time.
"""

import secrets
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace

from outkey.administration.core.access.api_tokens import (
    DEFAULT_PER_MINUTE,
    PREFIX,
    RANDOM_BYTES,
    ApiToken,
    Scope,
    digest_of,
    read_per_minute,
)
from outkey.administration.engine.access.token_memory import TokenMemory
from outkey.administration.engine.editing.administration import Administration
from outkey.foundation.core.errors import (
    NAME_TAKEN,
    ConfigError,
    EditConflict,
    SecretUnreadable,
    TokenRefused,
)
from outkey.foundation.core.moments import DAY_SECONDS, day_of
from outkey.foundation.core.shared_state import SharedState, StateKind
from outkey.foundation.core.state_shapes import read_each, read_one, without_value
from outkey.foundation.core.text import Text, counted
from outkey.foundation.ports.database import Database, StateRows
from outkey.sending.core.audit.events import Tag
from outkey.sending.core.configuration.fields import BY_PATH
from outkey.sending.core.configuration.owners import (
    EVERYTHING,
    Reach,
    out_of_reach,
    read_owners,
)
from outkey.sync.engine.line_registry import Registry


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenWish:
    """The properties of a new token.

    `configurations` are names, and `owners` those whose configurations it is for; empty
    for all that its creator sees.
    """

    name: str
    scopes: frozenset[Scope]
    configurations: Collection[str] = ()
    owners: Collection[str] = ()
    expires_at: float | None = None
    allow_internal: bool = False
    allow_targets: bool = False
    per_minute: int = DEFAULT_PER_MINUTE


@dataclass(frozen=True, slots=True)
class CreatedToken:
    """A new token. Its text is nowhere else, and is shown once."""

    token: ApiToken
    text: str = field(repr=False)


class ApiTokens:
    """The API tokens of an installation.

    A limited user sees and revokes those that see no more than the user, and creates
    such ones only.
    """

    def __init__(
        self,
        states: StateRows,
        database: Database,
        registry: Registry,
        memory: TokenMemory,
        *,
        reach: Reach = EVERYTHING,
    ) -> None:
        self._states = states
        self._database = database
        self._registry = registry
        self._memory = memory
        self._reach = reach

    def create(self, administration: Administration, wish: TokenWish) -> CreatedToken:
        """Store a new token; the name of one that is accepted no more can be reused."""
        name = str(BY_PATH["name"].parse(wish.name))
        text = PREFIX + secrets.token_urlsafe(RANDOM_BYTES)
        now = self._database.now()
        _refuse_long_life(wish.expires_at, administration.policy().token_days, now)
        token = ApiToken(
            name=name,
            digest=str(digest_of(text)),
            scopes=wish.scopes,
            created_at=now,
            created_by=administration.actor,
            records=self._records(wish.configurations),
            owners=self._owners(wish.owners),
            expires_at=wish.expires_at,
            allow_internal=wish.allow_internal,
            allow_targets=wish.allow_targets,
            per_minute=read_per_minute(wish.per_minute),
        )
        # Also those that a limited user does not see: their names are taken.
        stored = _with_name(name, self._read().values())
        if any(before.is_active(now) for before in stored):
            raise name_taken()
        kind = StateKind.API_TOKEN_NAME
        generation = self._states.read(kind, [name]).get(name, SharedState()).generation
        granted = (*sorted(token.scopes), *token.extras)
        administration.note(Tag.API_TOKEN_CREATED, "", *granted, key=token.name)
        with self._database.transaction():
            value = {"digest": token.digest}
            if not self._states.swap(kind, name, generation, value):
                raise name_taken()  # another process has just created it
            old = {before.digest: None for before in stored}
            new = {token.digest: token.facts()}
            self._states.put(StateKind.API_TOKEN, {**old, **new})
        return CreatedToken(token, text)

    def all(self) -> list[ApiToken]:
        """Return all tokens by name, also those that are accepted no more."""
        tokens = filter(None, self._all().values())
        return sorted(tokens, key=lambda token: token.name)

    def unreadable(self) -> list[str]:
        """Return the hashes of tokens that cannot be read, and are not accepted."""
        return [] if self._reach.is_limited else without_value(self._all())

    def _all(self) -> dict[str, ApiToken | None]:
        return {
            digest: token
            for digest, token in self._read().items()
            if token is None or self._reach.covers(token.owners)
        }

    def _read(self) -> dict[str, ApiToken | None]:
        return read_each(self._states.read(StateKind.API_TOKEN), read_token)

    def configurations_of(self, token: ApiToken) -> list[str] | None:
        """Return the names of the configurations that a token is for; None for all."""
        if token.records is None:
            return None
        return sorted(self._registry.names_of(token.records).values())

    def revoke(self, administration: Administration, name: str) -> ApiToken:
        """Accept a token no more: at once here, within a second in other processes."""
        stored = _with_name(name, self._all().values())
        if not stored:
            raise ConfigError(
                Text("there is no API token with this name"),
                hint=Text("See: outkey api-token list"),
                field="name",
            )
        now = self._database.now()
        revoked = {token.digest: token.revoked(now).facts() for token in stored}
        if any(token.revoked_at is None for token in stored):
            administration.note(Tag.API_TOKEN_REVOKED, key=name)
            self._states.put(StateKind.API_TOKEN, revoked)
            for digest in revoked:
                self._memory.forget(digest)
        return stored[-1].revoked(now)

    def active(self) -> list[ApiToken]:
        """Return the tokens that are accepted, by name."""
        now = self._database.now()
        return [token for token in self.all() if token.is_active(now)]

    def revoke_all_of(self, administration: Administration, creator: str) -> list[str]:
        """Revoke the tokens that an actor has created; return their names."""
        tokens = [token for token in self.active() if token.created_by == creator]
        for token in tokens:
            self.revoke(administration, token.name)
        return [token.name for token in tokens]

    def revoke_beyond(
        self, administration: Administration, creator: str, reach: Reach
    ) -> list[str]:
        """Revoke the tokens that an actor has created and that see more than this.

        Return their names.
        """
        tokens = [
            token
            for token in self.active()
            if token.created_by == creator and not reach.covers(token.owners)
        ]
        for token in tokens:
            self.revoke(administration, token.name)
        return [token.name for token in tokens]

    def rename_creator(self, creator: str, replacement: str) -> None:
        """Replace the actor who has created tokens, also revoked ones."""
        for digest, state in self._states.read(StateKind.API_TOKEN).items():
            token = read_one(digest, state, read_token)
            if token is not None and token.created_by == creator:
                renamed = replace(token, created_by=replacement).facts()
                # Not over a revocation that another process has just stored.
                kind = StateKind.API_TOKEN
                if not self._states.swap(kind, digest, state.generation, renamed):
                    raise EditConflict

    def authenticate(self, text: str, now: float) -> ApiToken:
        """Return the token of a request, or raise TokenRefused.

        The error is the same for an unknown token, an expired or a revoked one, and
        one that outkey did not store. `now` is the time by the monotonic clock.
        """
        digest = digest_of(text)
        if digest is None:
            raise TokenRefused
        if recent := self._memory.find(digest, now):
            return recent
        try:
            state = self._states.read(StateKind.API_TOKEN, [digest]).get(digest)
        except SecretUnreadable:
            raise TokenRefused from None
        if state is None:
            raise TokenRefused
        token = read_one(digest, state, read_token)
        if token is None or not token.is_active(self._database.now()):
            raise TokenRefused
        self._memory.accept(token, now)
        return token

    def _records(self, names: Collection[str]) -> frozenset[str] | None:
        if not names:
            return None
        return frozenset(self._registry.get(name).record for name in names)

    def _owners(self, owners: Collection[str]) -> frozenset[str] | None:
        """Return the owners of a new token, or raise ScopeMissing."""
        chosen = read_owners(owners) or self._reach.owners
        if not self._reach.covers(chosen):
            raise out_of_reach()
        return chosen


def _with_name(name: str, tokens: Iterable[ApiToken | None]) -> list[ApiToken]:
    """Return the tokens of a name, oldest first.

    There is one, unless the row that reserves its name was deleted in the database.
    """
    named = [token for token in tokens if token is not None and token.name == name]
    return sorted(named, key=lambda token: token.created_at)


def read_token(_digest: str, state: SharedState) -> ApiToken:
    """Return the token that a state describes."""
    is_changed = isinstance(state.error, SecretUnreadable)
    return replace(ApiToken.from_facts(state.value), is_changed=is_changed)


def _refuse_long_life(expires_at: float | None, days: int | None, now: float) -> None:
    """Refuse a token that is valid for longer than the policy allows.

    An expiry date includes its whole day.
    """
    if days is None:
        return
    if expires_at is None or expires_at > now + (days + 1) * DAY_SECONDS:
        raise ConfigError(
            counted(
                days,
                Text("the policy allows an API token for 1 day at most"),
                Text(
                    "the policy allows an API token for {days} days at most", days=days
                ),
            ),
            hint=Text(
                "Choose an expiry date until {day}.",
                day=day_of(now + days * DAY_SECONDS),
            ),
            field="expires",
        )


def name_taken() -> ConfigError:
    """Return the error for the name of a token that another one has."""
    return ConfigError(
        Text("an API token with this name already exists"),
        hint=Text("Choose another name, or revoke the present one first."),
        field="name",
        reason=NAME_TAKEN,
    )
