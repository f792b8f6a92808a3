"""Tokens of the HTTP interface: what they permit, how they are stored and refused."""

import json
from dataclasses import replace

import pytest

from outkey.administration.core.access.api_tokens import (
    ApiToken,
    ApiTokenState,
    Scope,
    digest_of,
    read_expiry,
    read_per_minute,
    read_scopes,
    token_of_header,
)
from outkey.administration.core.access.roles import ROLES
from outkey.administration.core.access.token_owners import TokenOwner, token_problems
from outkey.administration.core.access.token_permissions import (
    SCOPE_NEEDS,
    SCOPE_TEXTS,
    token_needs,
)
from outkey.administration.core.policy.policy import Policy
from outkey.administration.engine.access.api_tokens import (
    ApiTokens,
    CreatedToken,
    TokenWish,
)
from outkey.foundation.core.errors import (
    NAME_TAKEN,
    ConfigError,
    EditConflict,
    ScopeMissing,
    TokenRefused,
    UnknownConfiguration,
)
from outkey.foundation.core.moments import DAY_SECONDS
from outkey.foundation.core.permission import Permission
from outkey.foundation.core.shared_state import StateKind
from outkey.sending.core.audit.events import Change, Tag
from outkey.testing import configuration
from unit.application_in_memory import MemoryHost, memory_host

OPEN = configuration(no_auth_reason="public_api")
OTHER = configuration("other", no_auth_reason="public_api")
TOKEN = ApiToken(
    name="ci",
    digest="d",
    scopes=frozenset({Scope.READ}),
    created_at=1.0,
    created_by="ada",
    records=frozenset({"r"}),
    expires_at=20.0,
)


def create(
    host: MemoryHost, name: str = "ci", *scopes: Scope, **wishes: object
) -> CreatedToken:
    wish = TokenWish(name=name, scopes=frozenset(scopes or {Scope.READ}))
    wish = replace(wish, **wishes)  # type: ignore[arg-type]
    administration = host.application.administration("ada")
    return host.application.api_tokens.create(administration, wish)


def revoke(host: MemoryHost, name: str = "ci") -> ApiToken:
    administration = host.application.administration("ada")
    return host.application.api_tokens.revoke(administration, name)


def authenticate(host: MemoryHost, text: str) -> ApiToken:
    now = host.world.clock.monotonic()
    return host.application.api_tokens.authenticate(text, now)


# ── values ──────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("owners", [None, frozenset({"north"})])
@pytest.mark.parametrize("records", [None, frozenset({"r"})])
def test_a_token_is_the_same_after_it_was_stored(
    records: frozenset[str] | None,
    owners: frozenset[str] | None,
) -> None:
    token = replace(TOKEN, records=records, owners=owners)
    assert ApiToken.from_facts(json.loads(json.dumps(token.facts()))) == token


def test_a_token_is_active_until_it_expires_or_is_revoked() -> None:
    assert TOKEN.state(19.9) is ApiTokenState.ACTIVE
    assert TOKEN.state(20.0) is ApiTokenState.EXPIRED
    assert replace(TOKEN, expires_at=None).state(1e12) is ApiTokenState.ACTIVE
    revoked = TOKEN.revoked(5.0)
    assert revoked.state(6.0) is ApiTokenState.REVOKED
    assert revoked.revoked(7.0) is revoked


def test_a_token_is_for_its_configurations() -> None:
    assert TOKEN.reach.includes("r", "")
    assert not TOKEN.reach.includes("other", "")
    assert replace(TOKEN, records=None).reach.includes("other", "")
    of_north = replace(TOKEN, records=None, owners=frozenset({"north"}))
    assert of_north.reach.includes("r", "north")
    assert not of_north.reach.includes("r", "")


@pytest.mark.parametrize("scope", Scope)
def test_a_token_has_its_scopes_and_manage_includes_read(scope: Scope) -> None:
    token = replace(TOKEN, scopes=frozenset({scope}))
    granted = {scope} | ({Scope.READ} if scope is Scope.MANAGE else set())
    for needed in Scope:
        if needed in granted:
            token.demand(needed)
        else:
            with pytest.raises(ScopeMissing) as caught:
                token.demand(needed)
            assert f"--scope {needed}" in caught.value.hint


def test_one_of_several_scopes_is_enough() -> None:
    TOKEN.demand(Scope.RUN, Scope.READ)
    with pytest.raises(ScopeMissing, match="run or audit"):
        TOKEN.demand(Scope.RUN, Scope.AUDIT)


@pytest.mark.parametrize(
    "text",
    ["", "ok_", "ok_" + "a" * 42, "ok_" + "a" * 44, "no_" + "a" * 43, "ok_é" * 9],
)
def test_what_can_be_no_token_has_no_digest(text: str) -> None:
    assert digest_of(text) is None
    assert digest_of("ok_" + "a" * 43) is not None


@pytest.mark.parametrize(
    ("header", "token"),
    [
        ("Bearer abc", "abc"),
        ("bearer  abc ", "abc"),
        ("Basic abc", ""),
        ("", ""),
        ("abc", ""),
    ],
)
def test_the_token_is_read_from_the_header(header: str, token: str) -> None:
    assert token_of_header(header) == token


def test_scopes_are_read_by_name() -> None:
    assert read_scopes(["read,send", "run"]) == {Scope.READ, Scope.SEND, Scope.RUN}
    for wrong in ([], ["all"], ["read,"]):
        with pytest.raises(ConfigError) as caught:
            read_scopes(wrong)
        assert "read, send, manage, run, audit" in caught.value.hint


def test_an_expiry_includes_its_day() -> None:
    assert read_expiry("2030-01-31") == 1_896_134_400.0
    assert read_expiry("2030-01-31T23:00:00Z") == 1_896_134_400.0 - 3600
    for wrong in ("tomorrow", "2030-02-31", "2030-13-01T00:00:00Z"):
        with pytest.raises(ConfigError, match="not a date"):
            read_expiry(wrong)


def test_a_rate_has_limits() -> None:
    assert read_per_minute(1) == 1
    for wrong in (0, 1_000_001):
        with pytest.raises(ConfigError):
            read_per_minute(wrong)


# ── stored ──────────────────────────────────────────────────────────────────────────


def test_a_new_token_is_accepted_and_only_its_hash_is_stored() -> None:
    host = memory_host(OPEN)
    made = create(host, "ci", Scope.READ, Scope.SEND)
    assert made.text.startswith("ok_")
    assert len(made.text) == 46
    assert made.text not in repr(made)
    assert authenticate(host, made.text) == made.token
    assert host.application.api_tokens.all() == [made.token]
    stored = [
        *host.application.states.read(StateKind.API_TOKEN).items(),
        *host.application.states.read(StateKind.API_TOKEN_NAME).items(),
    ]
    assert made.text not in str(stored)
    assert made.text.removeprefix("ok_") not in str(stored)


def test_creation_and_revocation_are_recorded_without_the_token() -> None:
    host = memory_host(OPEN)
    made = create(host, "ci", Scope.SEND, Scope.READ)
    revoke(host)
    assert host.audit.events == [
        Change(Tag.API_TOKEN_CREATED, "ada", "", ("read", "send"), "ci"),
        Change(Tag.API_TOKEN_REVOKED, "ada", key="ci"),
    ]
    assert made.token.digest not in str(host.audit.events)


def test_nothing_is_stored_that_is_not_recorded() -> None:
    host = memory_host(OPEN)
    host.audit.broken = True
    with pytest.raises(Exception, match="could not be recorded"):
        create(host)
    assert host.application.api_tokens.all() == []


def test_a_revoked_token_is_refused_and_stays_listed() -> None:
    host = memory_host(OPEN)
    made = create(host)
    revoked = revoke(host)
    assert revoke(host) == revoked
    assert len(host.audit.events) == 2
    with pytest.raises(TokenRefused):
        authenticate(host, made.text)
    assert host.application.api_tokens.all() == [revoked]


def test_an_expired_an_unknown_and_a_malformed_token_are_refused_alike() -> None:
    host = memory_host(OPEN)
    made = create(host, expires_at=host.world.clock.now() + 60)
    host.world.clock.advance(60)
    messages = set()
    for text in (made.text, "ok_" + "a" * 43, "secret", ""):
        with pytest.raises(TokenRefused) as caught:
            authenticate(host, text)
        messages.add(str(caught.value))
    assert len(messages) == 1


def test_a_token_that_another_process_revokes_is_refused_within_a_second() -> None:
    host = memory_host(OPEN)
    made = create(host)
    assert authenticate(host, made.text) == made.token
    revoked = made.token.revoked(1.0)
    digest = made.token.digest
    host.application.states.put(StateKind.API_TOKEN, {digest: revoked.facts()})
    assert authenticate(host, made.text) == made.token
    host.world.clock.advance(1)
    with pytest.raises(TokenRefused):
        authenticate(host, made.text)


def test_a_token_that_this_process_revokes_is_refused_at_once() -> None:
    host = memory_host(OPEN)
    made = create(host)
    authenticate(host, made.text)
    revoke(host)
    with pytest.raises(TokenRefused):
        authenticate(host, made.text)


def test_an_unknown_token_cannot_be_revoked() -> None:
    with pytest.raises(ConfigError, match="no API token"):
        revoke(memory_host(), "other")


def test_a_name_is_free_again_once_its_token_is_refused() -> None:
    host = memory_host(OPEN)
    first = create(host)
    with pytest.raises(ConfigError) as caught:
        create(host)
    assert caught.value.reason == NAME_TAKEN
    revoke(host)
    second = create(host)
    assert host.application.api_tokens.all() == [second.token]
    with pytest.raises(TokenRefused):
        authenticate(host, first.text)


def test_two_processes_cannot_create_one_name(monkeypatch: pytest.MonkeyPatch) -> None:
    host = memory_host(OPEN)
    monkeypatch.setattr(type(host.application.states), "swap", lambda *_: False)
    with pytest.raises(ConfigError, match="already exists"):
        create(host)


def test_a_token_follows_its_configuration_to_another_name() -> None:
    host = memory_host(OPEN, OTHER)
    tokens: ApiTokens = host.application.api_tokens
    limited = create(host, "limited", configurations=("other", "acme")).token
    assert tokens.configurations_of(limited) == ["acme", "other"]
    assert tokens.configurations_of(create(host).token) is None
    host.application.administration("ada").rename("acme", "crm", 7.0)
    assert tokens.configurations_of(limited) == ["crm", "other"]


def test_the_options_of_a_token_are_stored_and_audited() -> None:
    host = memory_host(OPEN)
    made = create(host, "ci", Scope.MANAGE, allow_internal=True, allow_targets=True)
    assert authenticate(host, made.text).extras == ("allow-internal", "allow-targets")
    (event,) = host.audit.events
    assert event == Change(
        Tag.API_TOKEN_CREATED,
        "ada",
        "",
        ("manage", "allow-internal", "allow-targets"),
        "ci",
    )
    assert create(host, "other").token.extras == ()


def test_a_token_for_an_unknown_configuration_is_refused() -> None:
    with pytest.raises(UnknownConfiguration):
        create(memory_host(OPEN), configurations=("other",))


def test_nobody_grants_more_than_they_may_do() -> None:
    assert set(SCOPE_NEEDS) == set(SCOPE_TEXTS) == set(Scope)
    assert token_needs([]) == frozenset()
    assert token_needs([Scope.RUN, Scope.AUDIT]) == {
        Permission.RUN_LINE,
        Permission.VIEW_RUN,
        Permission.VIEW_AUDIT,
    }
    internal = token_needs([Scope.AUDIT], allow_internal=True)
    assert internal == {Permission.VIEW_AUDIT, Permission.USE_INTERNAL_NETWORK}
    for scope in (Scope.MANAGE, Scope.SEND):  # an API may repeat a secret that is sent
        assert Permission.SET_SECRET in token_needs([scope])
    # A webhook over HTTP starts runs, and writes by a line.
    assert {Permission.RUN_LINE, Permission.ADD_WEBHOOK} <= token_needs([Scope.MANAGE])
    assert token_needs([Scope.SEND]) - ROLES["Operator"]
    assert token_needs(list(Scope), allow_internal=True) <= ROLES["Administrator"]


@pytest.mark.parametrize(
    ("days", "expires_in", "is_allowed"),
    [
        (None, None, True),
        (None, 9999.0, True),
        (90, None, False),
        (90, 92.0, False),
        (90, 90.9, True),  # the date of the last day
        (90, 1.0, True),
    ],
)
def test_the_policy_limits_the_life_of_a_new_token(
    *, days: int | None, expires_in: float | None, is_allowed: bool
) -> None:
    host = memory_host(OPEN)
    now = host.application.database.now()
    administration = replace(
        host.application.administration("ada"), policy=lambda: Policy(token_days=days)
    )
    wish = TokenWish(
        name="ci",
        scopes=frozenset({Scope.READ}),
        expires_at=None if expires_in is None else now + expires_in * DAY_SECONDS,
    )
    if is_allowed:
        host.application.api_tokens.create(administration, wish)
        return
    with pytest.raises(ConfigError, match="for 90 days at most") as caught:
        host.application.api_tokens.create(administration, wish)
    assert caught.value.field == "expires"
    assert host.application.api_tokens.all() == []


# ── the users who created them ──────────────────────────────────────────────────────


def create_as(host: MemoryHost, actor: str, name: str, **wishes: object) -> ApiToken:
    wish = replace(TokenWish(name=name, scopes=frozenset({Scope.READ})), **wishes)  # type: ignore[arg-type]
    administration = host.application.administration(actor)
    return host.application.api_tokens.create(administration, wish).token


def test_the_tokens_of_a_user_are_revoked_together_and_others_stay() -> None:
    host = memory_host(OPEN)
    tokens = host.application.api_tokens
    for name in ("one", "two", "gone"):
        create_as(host, "web:ada", name)
    create_as(host, "web:bob", "other")
    create_as(host, "cli:ada", "operator")
    revoke(host, "gone")
    assert [token.name for token in tokens.active()] == [
        "one",
        "operator",
        "other",
        "two",
    ]
    host.audit.events.clear()
    administration = host.application.administration("web:root")
    assert tokens.revoke_all_of(administration, "web:ada") == ["one", "two"]
    assert host.audit.events == [
        Change(Tag.API_TOKEN_REVOKED, "web:root", key="one"),
        Change(Tag.API_TOKEN_REVOKED, "web:root", key="two"),
    ]
    assert [token.name for token in tokens.active()] == ["operator", "other"]
    assert tokens.revoke_all_of(administration, "web:ada") == []


def test_the_creator_of_tokens_is_renamed_and_nothing_else_changes() -> None:
    host = memory_host(OPEN)
    tokens = host.application.api_tokens
    ours = create_as(host, "web:ada", "ours")
    other = create_as(host, "web:adam", "other")
    tokens.rename_creator("web:ada", "erased:1")
    assert tokens.all() == [other, replace(ours, created_by="erased:1")]


def test_a_rename_does_not_undo_a_revocation(monkeypatch: pytest.MonkeyPatch) -> None:
    host = memory_host(OPEN)
    tokens = host.application.api_tokens
    create_as(host, "web:ada", "ours")
    states = tokens._states
    before = states.read(StateKind.API_TOKEN)
    revoke(host, "ours")
    monkeypatch.setattr(states, "read", lambda *_arguments: before)
    with pytest.raises(EditConflict):
        tokens.rename_creator("web:ada", "web:eve")
    monkeypatch.undo()
    assert tokens.all()[0].revoked_at is not None


NEEDED = frozenset(map(str, token_needs([Scope.SEND])))
SENDS = replace(
    TOKEN, scopes=frozenset({Scope.SEND}), created_by="web:ada", expires_at=None
)


@pytest.mark.parametrize(
    ("token", "owner", "problem"),
    [
        (SENDS, TokenOwner(is_active=True, permissions=None), None),
        (SENDS, TokenOwner(is_active=True, permissions=NEEDED), None),
        (SENDS, None, "ci: the user ada does not exist"),
        (
            SENDS,
            TokenOwner(is_active=False, permissions=None),
            "ci: the user ada is disabled",
        ),
        (
            SENDS,
            TokenOwner(
                is_active=True,
                permissions=NEEDED - {"set_secret", "test_configuration"},
            ),
            "ci: the user ada lacks set_secret, test_configuration",
        ),
        (
            replace(SENDS, allow_internal=True),
            TokenOwner(is_active=True, permissions=NEEDED),
            "ci: the user ada lacks use_internal_network",
        ),
        (replace(SENDS, created_by="cli:root"), None, None),
        (replace(SENDS, created_by="erased:1"), None, None),
        (replace(SENDS, created_by="web:"), None, None),
        (replace(SENDS, revoked_at=1.0), None, None),
        (replace(SENDS, expires_at=5.0), None, None),
    ],
)
def test_a_token_that_does_more_than_its_creator_may_is_a_problem(
    token: ApiToken, owner: TokenOwner | None, problem: str | None
) -> None:
    owners = {"bob": TokenOwner(is_active=True)} | ({"ada": owner} if owner else {})
    problems = [str(found.message) for found in token_problems([token], owners, 9.0)]
    assert problems == ([problem] if problem else [])
