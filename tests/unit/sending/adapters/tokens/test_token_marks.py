"""Marks of entered refresh tokens: keyed, and of use until their key is retired."""

from outkey.foundation.core.secret import Secret
from outkey.sending.adapters.secrets.keyring import Keyring, new_keyring
from outkey.sending.adapters.tokens.tokens_stored import StoredTokens
from outkey.sending.core.oauth2.token import TokenState
from outkey.testing.fakes.basic import FixedRing

TOKEN, OTHER = Secret("a-refresh-token"), Secret("another-refresh-token")


def tokens_with(ring: Keyring) -> StoredTokens:
    nothing: object = None  # a mark needs the keys only
    return StoredTokens(nothing, FixedRing(ring), nothing, nothing, nothing)  # type: ignore[arg-type]


def test_two_installations_have_different_marks_of_one_token() -> None:
    marks = {tokens_with(new_keyring()).mark(TOKEN, "") for _ in range(2)}
    assert len(marks) == 2


def test_a_mark_outlives_a_rotation_of_the_keys() -> None:
    ring = new_keyring()
    mark = tokens_with(ring).mark(TOKEN, "")
    added, key = ring.add()
    rotated = tokens_with(added.promote(key.name))
    assert rotated.mark(TOKEN, mark) == mark
    assert rotated.mark(OTHER, mark) != mark
    assert rotated.mark(TOKEN, "") != mark  # a new one has the new key


def test_where_the_key_of_a_mark_is_gone_every_token_counts_as_the_same() -> None:
    mark = tokens_with(new_keyring()).mark(TOKEN, "")
    assert tokens_with(new_keyring()).mark(OTHER, mark) == mark


def test_another_mark_starts_over_but_a_running_request_goes_on() -> None:
    state = TokenState(
        3, 5, basis="a", holder="a process", leased_until=9.0, entered="x", dead=True
    )
    assert state.with_entered("x") == state
    other = state.with_entered("y")
    assert (other.dead, other.serial, other.entered) == (False, 6, "y")
    assert (other.holder, other.leased_until) == ("a process", 9.0)
