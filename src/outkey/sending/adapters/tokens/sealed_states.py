"""Tokens in the table of shared states, with their content sealed.

Each can be requested again, so that one that cannot be opened, as after its key was
retired, is as good as none.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from outkey.foundation.core.errors import SecretUnreadable
from outkey.foundation.core.stored_values import is_odd
from outkey.sending.adapters.secrets.secrets_envelope import seal, unseal
from outkey.sending.core.oauth2.token import TokenContent, TokenState
from outkey.sending.core.vault.envelope import key_name_of

if TYPE_CHECKING:
    from outkey.foundation.core.shared_state import SharedState
    from outkey.sending.adapters.secrets.secrets_stored import Keyrings
    from outkey.sending.core.vault.envelope import Place


def bare_state(stored: SharedState) -> TokenState:
    """Return a state without its content; an odd one is empty, and is replaced."""
    if not stored.value or is_odd(stored.value):
        return TokenState(stored.generation)
    try:
        serial = stored.value["serial"]
        return TokenState.from_facts(
            stored.value["facts"], stored.generation, serial, None
        )
    except ValueError:
        return TokenState(stored.generation)


def with_content(
    bare: TokenState, stored: SharedState, place: Place, keys: Keyrings
) -> TokenState:
    """Return a state with its content, as far as it can be opened in its place."""
    value = stored.value
    if not bare.serial or not value["sealed"] or value["origin"] != place.origin:
        return bare
    with suppress(SecretUnreadable, ValueError):  # changed in the database
        sealed = b64decode(value["sealed"], validate=True)
        key = key_name_of(sealed)
        ring = keys.ring(key)
        if ring.opens(key):
            content = TokenContent.unpacked(unseal(sealed, place, ring))
            return replace(bare, content=content)
    return bare


def is_under_other_key(stored: SharedState, key_name: str) -> bool:
    """Whether another key than this one seals the content, if there is any."""
    sealed = stored.value.get("sealed", "")
    try:
        return bool(sealed) and key_name_of(b64decode(sealed)) != key_name
    except (SecretUnreadable, TypeError, ValueError):  # changed in the database
        return True


def sealed_value(state: TokenState, place: Place, keys: Keyrings) -> dict[str, Any]:
    """Return the value to store for a state, with its content sealed in its place."""
    sealed = ""
    if state.content is not None:
        packed = seal(state.content.packed(), place, keys.fresh())
        sealed = b64encode(packed).decode("ascii")
    return {
        "serial": state.serial,
        "origin": place.origin,
        "sealed": sealed,
        "facts": state.facts(),
    }
