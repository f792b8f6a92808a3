"""Tokens of users in shared states: sealed, apart from each other, and bounded."""

from dataclasses import replace

import pytest

from outkey.foundation.adapters.states_memory import MemoryStateRows
from outkey.foundation.core.secret import Secret
from outkey.foundation.core.shared_state import StateKind
from outkey.sending.adapters.secrets.keyring import new_keyring
from outkey.sending.adapters.tokens import tokens_beside
from outkey.sending.adapters.tokens.tokens_stored import StoredTokens
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.oauth2 import token
from outkey.sending.core.oauth2.token import TokenState
from outkey.testing import configuration
from outkey.testing.contracts_tokens import RESPONSE
from outkey.testing.fakes.basic import FakeClock, FixedRing

KIND = StateKind.TOKEN_BESIDE


class World:
    def __init__(self) -> None:
        self.clock = FakeClock()
        self.states = MemoryStateRows()
        self.ring = FixedRing(new_keyring())
        self.acme = replace(configuration(), record="0" * 32)
        self.tokens = self.stored()

    def stored(self) -> StoredTokens:
        database = type("Database", (), {"now": staticmethod(self.clock.now)})()
        return StoredTokens(None, self.ring, database, None, self.states)  # type: ignore[arg-type]

    def grant(self, user: str, owner: Configuration | None = None) -> TokenState:
        one = self.tokens.of_subject(Secret(user))
        granted = TokenState().granted(
            RESPONSE, at=self.clock.now(), default_lifetime=60.0
        )
        state = one.swap(owner or self.acme, TokenState(), granted)
        assert state is not None
        return state

    def read(self, user: str) -> TokenState:
        return self.tokens.of_subject(Secret(user)).read(self.acme)


def test_neither_the_subject_nor_its_token_is_stored_in_plain_text() -> None:
    world = World()
    world.grant("the-token-of-alice")
    stored = repr(world.states.read(KIND))
    assert "the-token-of-alice" not in stored
    assert "an-access-token" not in stored


def test_the_row_of_another_user_or_configuration_does_not_open() -> None:
    world = World()
    world.grant("alice")
    world.grant("bob")
    rows = world.states.read(KIND)
    (first, one), (second, other) = rows.items()
    world.states.put(KIND, {first: other.value, second: one.value})
    assert world.read("alice").content is None
    assert world.read("bob").content is None


def test_with_another_key_a_token_is_not_found_and_needs_no_old_key() -> None:
    world = World()
    world.grant("alice")
    world.ring = FixedRing(new_keyring())
    world.tokens = world.stored()
    assert world.read("alice") == TokenState()


@pytest.mark.parametrize("odd", [{}, {"serial": "x"}, {"facts": []}, {"sealed": "%"}])
def test_a_state_that_outkey_did_not_write_is_replaced(odd: dict[str, object]) -> None:
    world = World()
    world.grant("alice")
    [(key, stored)] = world.states.read(KIND).items()
    world.states.put(KIND, {key: {**stored.value, **odd} if odd else {}})
    state = world.read("alice")
    assert state.content is None
    one = world.tokens.of_subject(Secret("alice"))
    assert one.swap(world.acme, state, replace(state, holder="a process")) is not None


def test_what_has_ended_is_deleted_when_another_user_comes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tokens_beside, "PRUNE_EVERY", 1)
    world = World()
    removed = replace(configuration("removed"), record="1" * 32)
    world.grant("alice", removed)
    world.clock.advance(61)
    world.grant("bob")
    assert world.tokens.subjects(removed) == 0
    assert world.tokens.subjects(world.acme) == 1


def test_the_oldest_of_too_many_users_are_deleted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(token, "MAX_SUBJECTS", 3)
    world = World()
    for user in ("alice", "bob", "carol", "dave", "eve"):
        world.grant(user)
        world.clock.advance(1)
    world.tokens.prune_ended()
    assert world.tokens.subjects(world.acme) == 3
    assert world.read("alice").content is None
    assert world.read("eve").content is not None
