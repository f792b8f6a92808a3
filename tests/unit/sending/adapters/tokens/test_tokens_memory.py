"""Tokens in the memory of a process: whose they are."""

from dataclasses import replace

from outkey.sending.adapters.tokens.tokens_memory import MemoryTokens
from outkey.sending.core.connections.account import with_account
from outkey.sending.core.connections.connection import Connection
from outkey.sending.core.oauth2.token import TokenState
from outkey.testing import FakeClock, configuration


def test_each_account_has_a_token_of_its_own() -> None:
    tokens = MemoryTokens(FakeClock().now)
    books = replace(configuration(), record="r")
    acme, other = (
        with_account(books, Connection(name, "r"), {}) for name in ("acme", "other")
    )
    stored = tokens.swap(acme, TokenState(), TokenState(holder="acme"))
    assert tokens.read(acme) == stored
    assert tokens.read(other) == tokens.read(books) == TokenState()
