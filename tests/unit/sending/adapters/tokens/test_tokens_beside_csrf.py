"""CSRF tokens in shared states: sealed, and replaced where they cannot be opened."""

from dataclasses import replace
from types import SimpleNamespace

from outkey.foundation.adapters.states_memory import MemoryStateRows
from outkey.foundation.core.shared_state import StateKind
from outkey.sending.adapters.secrets.keyring import new_keyring
from outkey.sending.adapters.tokens.tokens_stored import StoredTokens
from outkey.sending.core.oauth2.token import TokenState
from outkey.testing import configuration
from outkey.testing.contracts_tokens import RESPONSE
from outkey.testing.fakes.basic import FixedRing

ACME = replace(configuration(), record="0" * 32)


class World:
    def __init__(self) -> None:
        self.states = MemoryStateRows()
        self.ring = FixedRing(new_keyring())
        self.clock = SimpleNamespace(now=lambda: self.at)
        self.at = 0.0
        self.all = StoredTokens(None, self.ring, self.clock, None, self.states)  # type: ignore[arg-type]
        self.tokens = self.all.csrf()

    def grant(self) -> TokenState:
        granted = TokenState().granted(RESPONSE, at=0.0, default_lifetime=60.0)
        state = self.tokens.swap(ACME, TokenState(), granted)
        assert state is not None
        return state


def test_a_csrf_token_is_not_stored_in_plain_text() -> None:
    world = World()
    state = world.grant()
    assert "an-access-token" not in repr(world.states.read(StateKind.TOKEN_BESIDE))
    assert world.tokens.read(ACME) == state


def test_a_csrf_token_of_another_configuration_does_not_open() -> None:
    world = World()
    world.grant()
    [(key, stored)] = world.states.read(StateKind.TOKEN_BESIDE).items()
    other = replace(ACME, record="1" * 32)
    stolen = key.replace(ACME.record, other.record)
    world.states.put(StateKind.TOKEN_BESIDE, {stolen: stored.value})
    assert world.tokens.read(other).serial == stored.value["serial"]
    assert world.tokens.read(other).content is None


def test_a_csrf_token_of_a_retired_key_is_replaced() -> None:
    world = World()
    world.grant()
    former = world.ring.kept.primary.name
    ring, key = world.ring.kept.add()
    world.ring.kept = ring.promote(key.name).retire(former, secrets=0)
    state = world.tokens.read(ACME)
    assert state.content is None
    granted = state.granted(RESPONSE, at=0.0, default_lifetime=60.0)
    assert world.tokens.swap(ACME, state, granted) is not None
    assert world.tokens.read(ACME).content is not None


def test_a_csrf_token_is_deleted_after_it_has_ended() -> None:
    world = World()
    world.grant()
    world.at = 59.0
    world.tokens.prune_ended()
    assert world.tokens.read(ACME).content is not None
    world.at = 61.0
    world.tokens.prune_ended()
    assert world.states.read(StateKind.TOKEN_BESIDE) == {}


def test_a_key_rotation_deletes_what_another_key_seals() -> None:
    world = World()
    world.grant()
    world.all.drop_other_keys()
    assert world.tokens.read(ACME).content is not None
    ring, key = world.ring.kept.add()
    world.ring.kept = ring.promote(key.name)
    world.all.drop_other_keys()
    assert world.states.read(StateKind.TOKEN_BESIDE) == {}


def test_a_key_rotation_leaves_a_lease_and_deletes_what_is_odd() -> None:
    world = World()
    world.tokens.swap(ACME, TokenState(), TokenState(holder="a process"))
    world.states.put(StateKind.TOKEN_BESIDE, {"odd": {"sealed": "%"}})
    world.all.drop_other_keys()
    assert len(world.states.read(StateKind.TOKEN_BESIDE)) == 1
    assert world.tokens.read(ACME).holder == "a process"
