"""The contract suite of stored tokens, used like those of `contracts`."""

import threading
from abc import ABC, abstractmethod
from dataclasses import replace

from outkey.foundation.core.secret import Secret
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.oauth2.responses import TokenResponse
from outkey.sending.core.oauth2.token import TokenState
from outkey.sending.ports.sending import Tokens

RESPONSE = TokenResponse(
    Secret("an-access-token"), Secret("a-refresh-token"), "Bearer", 60.0, "orders:read"
)


class TokensContract(ABC):
    """The promises of every store of tokens."""

    @abstractmethod
    def make(self) -> tuple[Tokens, Configuration]:
        """Return the tokens, and a configuration that has none yet."""

    def end_thread(self) -> None:
        """Do what a thread of the suite must do at its end."""
        return

    def test_a_token_that_was_never_stored_is_an_empty_state(self) -> None:
        tokens, acme = self.make()
        assert tokens.read(acme) == TokenState()

    def test_a_token_is_read_as_it_was_stored(self) -> None:
        tokens, acme = self.make()
        state = tokens.swap(acme, TokenState(), _granted_state())
        assert state is not None
        assert state.generation == 1
        assert tokens.read(acme) == state

    def test_tokens_may_be_requested_where_no_hold_is_stored(self) -> None:
        tokens, _ = self.make()
        tokens.refuse_renewal()

    def test_a_state_is_replaced_only_in_the_generation_that_was_read(self) -> None:
        tokens, acme = self.make()
        first = tokens.swap(acme, TokenState(), TokenState(holder="first"))
        assert first is not None
        assert tokens.swap(acme, TokenState(), TokenState(holder="second")) is None
        assert tokens.swap(acme, replace(first, generation=7), first) is None
        assert tokens.read(acme) == first

    def test_a_lease_leaves_the_token_as_it_is(self) -> None:
        tokens, acme = self.make()
        state = tokens.swap(acme, TokenState(), _granted_state())
        assert state is not None
        leased = tokens.swap(acme, state, state.claimed("a process", tokens.now()))
        assert leased is not None
        assert tokens.read(acme) == leased
        assert leased.content == state.content

    def test_a_mark_knows_the_same_secret_again_and_no_other(self) -> None:
        tokens, _ = self.make()
        mark = tokens.mark(Secret("a-refresh-token"), "")
        assert mark == tokens.mark(Secret("a-refresh-token"), mark)
        assert mark != tokens.mark(Secret("another-token"), mark)
        assert "a-refresh-token" not in mark

    def test_a_deleted_token_is_not_read_again(self) -> None:
        tokens, acme = self.make()
        state = tokens.swap(acme, TokenState(), _granted_state())
        assert state is not None
        empty = TokenState(state.generation, state.serial + 1)
        assert tokens.swap(acme, state, empty) is not None
        assert tokens.read(acme).content is None

    def test_unopened_it_can_still_be_replaced(self) -> None:
        tokens, acme = self.make()
        tokens.swap(acme, TokenState(), _granted_state())
        state = tokens.read(acme, opened=False)
        assert state.content is None
        empty = TokenState(state.generation, state.serial + 1)
        assert tokens.swap(acme, state, empty) is not None

    def test_of_many_at_once_one_gets_the_lease(self) -> None:
        tokens, acme = self.make()
        before = tokens.read(acme)
        winners: list[int] = []
        started = threading.Barrier(8)

        def claim(number: int) -> None:
            started.wait(10)
            after = before.claimed(str(number), tokens.now())
            if tokens.swap(acme, before, after) is not None:
                winners.append(number)
            self.end_thread()

        threads = [
            threading.Thread(target=claim, args=(number,)) for number in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        assert len(winners) == 1

    def test_the_token_of_a_user_belongs_to_that_user_alone(self) -> None:
        tokens, acme = self.make()
        alice = tokens.of_subject(Secret("the token of alice"))
        state = alice.swap(acme, TokenState(), _granted_state())
        assert state is not None
        again = tokens.of_subject(Secret("the token of alice"))
        assert again.read(acme) == state
        assert tokens.of_subject(Secret("the token of bob")).read(acme) == TokenState()
        assert tokens.subjects(acme) == 1
        csrf = tokens.csrf().swap(acme, TokenState(), _granted_state())
        assert csrf is not None
        assert tokens.subjects(acme) == 1
        tokens.delete_beside(acme)
        assert again.read(acme) == TokenState()
        assert tokens.csrf().read(acme) == TokenState()
        assert tokens.subjects(acme) == 0

    def test_the_tokens_of_users_are_deleted_when_they_have_ended(self) -> None:
        tokens, acme = self.make()
        now = tokens.now()
        for user, at in {"alice": now, "bob": now - 60}.items():
            granted = TokenState().granted(RESPONSE, at=at, default_lifetime=10.0)
            one = tokens.of_subject(Secret(user))
            assert one.swap(acme, TokenState(), granted) is not None
        tokens.prune_ended()
        assert tokens.subjects(acme) == 1
        assert tokens.of_subject(Secret("alice")).read(acme).content is not None

    def test_its_clock_goes_forward(self) -> None:
        tokens, _ = self.make()
        first = tokens.now()
        assert 0 <= tokens.now() - first < 60


def _granted_state() -> TokenState:
    """Return the state of a token that a provider has just issued."""
    return TokenState().granted(
        RESPONSE, at=1000.0, default_lifetime=10.0, proof_key=None
    )
