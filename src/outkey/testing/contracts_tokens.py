"""The contract suite of tokens, used like those of `contracts`."""

import threading
from abc import ABC, abstractmethod
from dataclasses import replace

from outkey.core.config.configuration import Configuration
from outkey.core.oauth2.responses import TokenResponse
from outkey.core.oauth2.token import TokenState
from outkey.core.secret import Secret
from outkey.ports.sending import Tokens

_BOTH = Secret("an-access-token"), Secret("a-refresh-token")
_ANSWER = TokenResponse(*_BOTH, "Bearer", 60.0, "orders:read")


class TokensContract(ABC):
    """What every place that keeps tokens promises."""

    @abstractmethod
    def make(self) -> tuple[Tokens, Configuration]:
        """Return the tokens, and a configuration that has none yet."""

    def finished(self) -> None:
        """Do what a thread of the suite must do at its end."""
        return

    def test_what_was_never_kept_is_an_empty_state(self) -> None:
        tokens, acme = self.make()
        assert tokens.read(acme) == TokenState()

    def test_a_token_is_read_as_it_was_kept(self) -> None:
        tokens, acme = self.make()
        kept = tokens.swap(acme, TokenState(), _granted(TokenState()))
        assert kept is not None
        assert kept.generation == 1
        assert tokens.read(acme) == kept

    def test_a_state_is_replaced_only_by_who_has_seen_it(self) -> None:
        tokens, acme = self.make()
        first = tokens.swap(acme, TokenState(), TokenState(holder="first"))
        assert first is not None
        assert tokens.swap(acme, TokenState(), TokenState(holder="second")) is None
        assert tokens.swap(acme, replace(first, generation=7), first) is None
        assert tokens.read(acme) == first

    def test_a_claim_leaves_the_token_as_it_is(self) -> None:
        tokens, acme = self.make()
        kept = tokens.swap(acme, TokenState(), _granted(TokenState()))
        assert kept is not None
        claimed = tokens.swap(acme, kept, kept.claimed("somebody", tokens.now()))
        assert claimed is not None
        assert tokens.read(acme) == claimed
        assert claimed.content == kept.content

    def test_what_is_forgotten_is_gone(self) -> None:
        tokens, acme = self.make()
        kept = tokens.swap(acme, TokenState(), _granted(TokenState()))
        assert kept is not None
        empty = TokenState(kept.generation, kept.serial + 1)
        assert tokens.swap(acme, kept, empty) is not None
        assert tokens.read(acme).content is None

    def test_unopened_it_can_still_be_replaced(self) -> None:
        tokens, acme = self.make()
        tokens.swap(acme, TokenState(), _granted(TokenState()))
        seen = tokens.read(acme, opened=False)
        assert seen.content is None
        assert (
            tokens.swap(acme, seen, TokenState(seen.generation, seen.serial + 1))
            is not None
        )

    def test_of_many_at_once_one_gets_the_lease(self) -> None:
        tokens, acme = self.make()
        before, won = tokens.read(acme), []
        started = threading.Barrier(8)

        def claim(number: int) -> None:
            started.wait(10)
            after = before.claimed(str(number), tokens.now())
            if tokens.swap(acme, before, after) is not None:
                won.append(number)
            self.finished()

        threads = [
            threading.Thread(target=claim, args=(number,)) for number in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        assert len(won) == 1

    def test_its_clock_goes_forward(self) -> None:
        tokens, _ = self.make()
        first = tokens.now()
        assert 0 <= tokens.now() - first < 60


def _granted(state: TokenState) -> TokenState:
    return state.granted(_ANSWER, at=1000.0, default_lifetime=10.0, proof_key=None)
