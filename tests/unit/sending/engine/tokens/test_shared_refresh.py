"""Two sets of credentials have a token each, and one refresh token between them."""

from dataclasses import dataclass, field, replace
from urllib.parse import parse_qs

import pytest

from outkey.foundation.core.errors import (
    OutkeyError,
    StorageUnavailable,
    TokenEndpointFailed,
)
from outkey.foundation.core.secret import Secret
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.oauth2.token import TokenState
from outkey.sending.core.request.assembly import Call
from outkey.sending.core.request.message import Request, Response
from outkey.sending.core.rotation.credential_sets import CredentialSet, CredentialSets
from outkey.testing import configuration, fake_gateway
from outkey.testing.fakes.basic import FakeWorld


@dataclass
class RotatingServer:
    """Accepts the newest refresh token only; a second use of one is theft."""

    newest: str = "r0"
    used: list[str] = field(default_factory=list)
    rotates: bool = True
    status: int = 200
    lifetime: int = 60

    def respond(self, request: Request) -> Response:
        if request.target != "/token":
            return Response(200)
        assert isinstance(request.body, Secret)
        sent = parse_qs(request.body.reveal())["refresh_token"][0]
        self.used.append(sent)
        if self.status != 200:
            return Response(self.status)
        assert sent == self.newest, "a refresh token was used twice"
        number = len(self.used)
        body = f'{{"access_token": "a{number}", "token_type": "Bearer"'
        if self.rotates:
            self.newest = f"r{number}"
            body += f', "refresh_token": "{self.newest}"'
        body += f', "expires_in": {self.lifetime}}}'
        return Response(200, body=body.encode())


class World:
    def __init__(self, grant: str = "refresh_token") -> None:
        self.server = RotatingServer()
        made = configuration(
            authentication_type="bearer",
            token_source="oauth2",
            oauth2__grant=grant,
            oauth2__token_url="https://api.acme.example/token",
            oauth2__client_id="client",
            oauth2__authorization_url="https://api.acme.example/authorize",
        )
        self.current = replace(made, sets=CredentialSets(newest=2))
        self.next = self.current.with_set(CredentialSet(2))
        self.fake: FakeWorld = fake_gateway(
            self.current,
            responses=self.server.respond,
            secrets={"client_secret": "s", "refresh_token": "r0"},
        )

    def send(self, seen: Configuration) -> int:
        return self.fake.sender.send(Call(seen, "GET", "/orders")).status

    def state(self, seen: Configuration) -> TokenState:
        return self.fake.ports.tokens.read(seen)


def test_a_refresh_token_that_is_replaced_is_used_once_by_either_set() -> None:
    world = World()
    for seen in (world.current, world.next, world.next, world.current):
        assert world.send(seen) == 200
    assert world.server.used == ["r0", "r1"]
    tokens = [world.state(seen).access for seen in (world.current, world.next)]
    assert tokens[0] != tokens[1]
    other = world.state(world.next).content
    assert other is not None
    assert other.refresh is None, "there is one, and it is stored once"
    world.fake.clock.advance(100)
    for seen in (world.next, world.current, world.next):
        assert world.send(seen) == 200
    assert world.server.used == ["r0", "r1", "r2", "r3"]


def test_the_next_set_may_be_the_first_one_to_use_the_refresh_token() -> None:
    world = World()
    assert [world.send(world.next), world.send(world.current)] == [200, 200]
    assert world.server.used == ["r0", "r1"]


def test_a_refresh_token_that_stays_is_used_by_both() -> None:
    world = World()
    world.server.rotates = False
    assert [world.send(world.next), world.send(world.current)] == [200, 200]
    assert world.server.used == ["r0", "r0"]


def test_a_refused_request_leaves_the_token_in_use_as_it_is() -> None:
    world = World()
    world.send(world.current)
    before = world.state(world.current)
    world.server.status = 401
    with pytest.raises(TokenEndpointFailed):
        world.send(world.next)
    after = world.state(world.current)
    assert after.content == before.content
    assert (after.dead, after.holder) == (False, "")
    world.server.status = 200
    world.fake.clock.advance(100)
    assert world.send(world.current) == 200


def test_a_lease_that_another_process_left_is_waited_for() -> None:
    world = World()
    world.send(world.current)
    tokens = world.fake.ports.tokens
    before = tokens.read(world.current)
    tokens.swap(world.current, before, before.claimed("dead", tokens.now()))
    assert world.send(world.next) == 200
    assert 10 < sum(world.fake.clock.sleeps) < 20


def test_without_a_refresh_token_nothing_is_requested() -> None:
    world = World("authorization_code")
    with pytest.raises(OutkeyError) as failure:
        world.send(world.next)
    assert failure.value.code == "reauthorization_needed"
    assert world.server.used == []


def test_a_new_refresh_token_is_stored_as_soon_as_the_storage_works() -> None:
    world = World()
    tokens = world.fake.ports.tokens
    failures = [StorageUnavailable(), StorageUnavailable()]
    swap = tokens.swap

    def failing(
        seen: Configuration, before: TokenState, after: TokenState
    ) -> TokenState | None:
        content = after.content
        if seen is world.current and content and content.refresh and failures:
            raise failures.pop()
        return swap(seen, before, after)

    tokens.swap = failing  # type: ignore[method-assign]
    assert world.send(world.next) == 200
    assert world.send(world.current) == 200
    assert world.server.used == ["r0", "r1"]
