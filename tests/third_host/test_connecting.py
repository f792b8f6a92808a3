"""Connecting an account by a link: what was entered is tried, and stored at once."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from outkey.administration.core.document.document import parse_document
from outkey.administration.engine.connecting.connecting import (
    Connecting,
    InvalidEntries,
    OpenedLink,
)
from outkey.administration.engine.connecting.failures import TryFailed
from outkey.administration.engine.connecting.linking import LinkWish
from outkey.foundation.core.errors import SecretMissing
from outkey.foundation.core.secret import Secret
from outkey.sending.adapters.tokens.tokens_memory import MemoryTokens
from outkey.sending.core.connections.connection import ConnectionState
from outkey.sending.core.connections.links import LinkEnded
from third_host.test_connections import Books, Server

PUBLIC_URL = "https://outkey.example"
ANN = {"username": "ann", "password": "of-ann"}


class Desk(Books):
    """The installation of the tests of connections, with links."""

    def __init__(self, home: Path, url: str) -> None:
        policy = home / "config" / "policy.toml"
        policy.parent.mkdir()
        policy.write_text('[connect]\nreturn_urls = ["https://app.example/settings"]\n')
        super().__init__(home, url)
        self.application = replace(self.application, public_url=PUBLIC_URL)

    @property
    def connecting(self) -> Connecting:
        return self.application.connecting(partial(MemoryTokens, lambda: 0.0))

    def open(self, connection: str = "new", **wish: object) -> OpenedLink:
        """Make a link, and open it as a browser does."""
        linking = self.application.linking(self.administration)
        link = linking.create("books", connection, LinkWish(**wish))  # type: ignore[arg-type]
        return self.connecting.open(link.url.rpartition("/")[2])


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    yield made
    made.close()


@pytest.fixture
def desk(tmp_path: Path, server: Server) -> Iterator[Desk]:
    made = Desk(tmp_path, server.url)
    yield made
    made.application.gateway.close()


def test_what_is_entered_connects_the_account(desk: Desk, server: Server) -> None:
    opened = desk.open(return_url="https://app.example/settings?tab=1")
    assert [entry.name for entry in opened.entries] == ["username", "password"]
    with pytest.raises(SecretMissing):
        desk.send("new")
    url = desk.connecting.connect(opened, ANN)
    assert url == "https://app.example/settings?tab=1&connection=new&status=connected"
    assert desk.send("new") == 200
    assert server.accepted == ["ann", "ann"]
    assert desk.state("new") is ConnectionState.WORKING


def test_the_audit_names_the_account_and_no_secret(desk: Desk) -> None:
    desk.connecting.connect(desk.open(), ANN)
    desk.application.audit.flush()
    facts = desk.application.audit_trail.rows.newest(50)
    (fact,) = [fact for fact in facts if fact["tag"] == "api:connection:connected"]
    assert (fact["configuration"], fact["connection"]) == ("books", "new")
    assert fact["fields"] == ["password"]
    assert "of-ann" not in str(facts)


def test_a_link_connects_once(desk: Desk, server: Server) -> None:
    opened = desk.open()
    desk.connecting.connect(opened, ANN)
    with pytest.raises(LinkEnded):
        desk.connecting.connect(opened, {"username": "bob", "password": "of-bob"})
    assert desk.send("new") == 200
    assert server.accepted == ["ann", "ann"]


def test_a_try_that_fails_stores_nothing_and_leaves_the_link_open(
    desk: Desk, server: Server
) -> None:
    desk.connect("acme", "ann", "of-ann")
    opened = desk.open("acme")
    with pytest.raises(TryFailed) as caught:
        desk.connecting.connect(opened, {"username": "bob", "password": "wrong"})
    assert "401" in str(caught.value)
    assert "wrong" not in str(caught.value)
    assert desk.send("acme") == 200
    assert server.accepted == ["ann"]
    desk.connecting.connect(opened, {"username": "bob", "password": "of-bob"})
    assert desk.send("acme") == 200
    assert server.accepted[-1] == "bob"


def test_ten_tries_end_a_link(desk: Desk) -> None:
    opened = desk.open()
    for _ in range(10):
        with pytest.raises(TryFailed):
            desk.connecting.connect(opened, {"username": "bob", "password": "wrong"})
    with pytest.raises(LinkEnded):
        desk.connecting.connect(opened, ANN)


def test_what_cannot_be_right_is_no_try(desk: Desk, server: Server) -> None:
    opened = desk.open()
    with pytest.raises(InvalidEntries) as caught:
        desk.connecting.connect(opened, {"username": "a:b", "password": ""})
    assert sorted(caught.value.errors) == ["password", "username"]
    assert server.requests == 0
    desk.connecting.connect(opened, ANN)


def test_a_link_without_its_connection_is_over(desk: Desk) -> None:
    opened = desk.open()
    desk.accounts.remove("books", "new")
    with pytest.raises(LinkEnded):
        desk.connecting.connect(opened, ANN)


VARIABLES = """
[configuration.books]
base_url = "{{instance_url}}/v2"
allowed_origins = ["{url}"]
[configuration.books.connect]
account = "tenant"
[configuration.books.connect.variables]
instance_url = "entered"
tenant = "entered"
"""


def test_entered_variables_lead_the_test_and_are_stored(
    desk: Desk, server: Server
) -> None:
    document = parse_document(VARIABLES.format(url=server.url))
    desk.application.apply(desk.administration, document, dry_run=False)
    desk.administration.set_secret("books", "header:X-App-Key", Secret("app-key"))
    opened = desk.open()
    entered = ANN | {"variable:instance_url": server.url, "variable:tenant": "7"}
    evil = entered | {"variable:instance_url": "https://evil.example"}
    with pytest.raises(TryFailed):
        desk.connecting.connect(opened, evil)
    assert server.requests == 0
    desk.connecting.connect(opened, entered)
    assert desk.send("new", "/{tenant}") == 200
    assert server.paths[-1] == "/v2/7"
    again = entered | {"variable:tenant": "8"}
    with pytest.raises(TryFailed) as caught:
        desk.connecting.connect(desk.open(), again)
    assert caught.value.reason == "account_changed"
    desk.connecting.connect(desk.open(allow_other_account=True), again)
    assert desk.send("new", "/{tenant}") == 200
    assert server.paths[-1] == "/v2/8"
