"""Connections of a document that `outkey.load` reads, against a real server."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest
import requests

from outkey import Gateway
from outkey.foundation.core.errors import (
    ConfigError,
    ConnectionMissing,
    ConnectionPaused,
    SecretMissing,
    UnknownConnection,
)
from outkey.hosts.file.loading import from_text
from outkey.integrations.httpx import OutkeyAuth as HttpxAuth
from outkey.integrations.requests import OutkeyAuth as RequestsAuth
from outkey.testing import FakeGateway, UnexpectedRequest
from third_host.test_connections import DOCUMENT, Server

ACCOUNTS = """
[configuration.books.connection."acme:1"]
username = "ann"
password = "env:ANN_PASSWORD"
[configuration.books.connection."acme:2"]
username = "bob"
password = "env:BOB_PASSWORD"
[configuration.books.connection.new]
username = "erp"
"""


def document(url: str, mode: str = "required") -> str:
    text = DOCUMENT.format(url=url, mode=mode) + ACCOUNTS
    own = 'username = "erp"\npassword = "env:ERP_PASSWORD"\nconnections'
    text = text.replace('username = "erp"\nconnections', own)
    return text.replace("secret = true", 'value = "env:APP_KEY"')


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("APP_KEY", "app-key")
    monkeypatch.setenv("ERP_PASSWORD", "of-erp")
    monkeypatch.setenv("ANN_PASSWORD", "of-ann")
    monkeypatch.setenv("BOB_PASSWORD", "of-bob")
    made = Server()
    yield made
    made.close()


@pytest.fixture
def gateway(server: Server) -> Iterator[Gateway]:
    made = from_text(document(server.url))
    yield made
    made.close()


def send(gateway: Gateway, connection: str | None) -> int:
    return gateway.send("books", "GET", "/", connection=connection).status


def test_each_account_of_a_document_sends_its_own_credentials(
    gateway: Gateway, server: Server
) -> None:
    assert send(gateway, "acme:1") == send(gateway, "acme:2") == 200
    assert server.accepted == ["ann", "bob"]
    assert gateway.test("books", connection="acme:2").ok


def test_what_a_document_does_not_have_is_not_sent(
    gateway: Gateway, server: Server
) -> None:
    with pytest.raises(ConnectionMissing):
        send(gateway, None)
    with pytest.raises(UnknownConnection):
        send(gateway, "acme:3")
    with pytest.raises(SecretMissing):
        send(gateway, "new")
    assert server.requests == 0


def test_without_a_connection_the_configuration_may_send_its_own(
    server: Server,
) -> None:
    gateway = from_text(document(server.url, "optional"))
    assert send(gateway, None) == send(gateway, "acme:1") == 200
    assert server.accepted == ["erp", "ann"]
    gateway.close()


def test_refusals_pause_one_account_of_a_document_alone(
    gateway: Gateway, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANN_PASSWORD", "wrong")
    for _ in range(5):
        assert send(gateway, "acme:1") == 401
    with pytest.raises(ConnectionPaused):
        send(gateway, "acme:1")
    assert server.requests == 5
    assert send(gateway, "acme:2") == 200


def test_a_refresh_token_of_an_account_could_not_be_stored() -> None:
    with pytest.raises(ConfigError) as caught:
        from_text("""
        [configuration.books]
        base_url = "https://books.example"
        authentication_type = "bearer"
        token_source = "oauth2"
        connections = "required"
        [configuration.books.oauth2]
        grant = "authorization_code"
        authorization_url = "https://books.example/authorize"
        token_url = "https://books.example/token"
        client_id = "erp"
        [configuration.books.connection.acme]
        refresh_token = "env:A"
        """)
    assert caught.value.field == "oauth2.grant"


def with_httpx(gateway: Gateway, url: str, connection: str | None) -> int:
    auth = HttpxAuth(gateway, "books", connection=connection)
    return httpx.get(f"{url}/", auth=auth).status_code


def with_requests(gateway: Gateway, url: str, connection: str | None) -> int:
    auth = RequestsAuth(gateway, "books", connection=connection)
    return requests.get(f"{url}/", auth=auth, timeout=10).status_code


@pytest.mark.parametrize("get", [with_httpx, with_requests])
def test_another_client_sends_for_an_account(
    gateway: Gateway,
    server: Server,
    get: Callable[[Gateway, str, str | None], int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert get(gateway, server.url, "acme:2") == 200
    assert server.accepted == ["bob"]
    with pytest.raises(ConnectionMissing):
        get(gateway, server.url, None)
    monkeypatch.setenv("ANN_PASSWORD", "wrong")
    for _ in range(5):
        assert get(gateway, server.url, "acme:1") == 401
    with pytest.raises(ConnectionPaused):
        get(gateway, server.url, "acme:1")
    assert get(gateway, server.url, "acme:2") == 200


def test_a_fake_gateway_knows_the_accounts_of_a_document(tmp_path: Path) -> None:
    file = tmp_path / "books.toml"
    file.write_text(document("https://books.example"), "utf-8")
    fake = FakeGateway(document=file)
    fake.on("books", "GET", "/", connection="acme:1").respond(json="ann")
    fake.on("books", "GET", "/", connection="acme:2").respond(json="bob")
    assert fake.send("books", "GET", "/", connection="acme:2").json() == "bob"
    assert fake.send("books", "GET", "/", connection="acme:1").json() == "ann"
    assert len(fake.assert_sent("books", connection="acme:1")) == 1
    with pytest.raises(UnknownConnection):
        fake.send("books", "GET", "/", connection="acme:3")
    with pytest.raises(ConnectionMissing):
        fake.send("books", "GET", "/")


def test_a_recording_has_the_account_of_each_exchange(
    gateway: Gateway, tmp_path: Path
) -> None:
    file = tmp_path / "books.json"
    with FakeGateway.record(gateway, file) as recorded:
        assert send(recorded, "acme:1") == send(recorded, "acme:2") == 200
    text = file.read_text("utf-8")
    assert "of-ann" not in text
    exchanges = json.loads(text)["exchanges"]
    accounts = [exchange["request"]["connection"] for exchange in exchanges]
    assert accounts == ["acme:1", "acme:2"]
    replay = FakeGateway.replay(file)
    assert send(replay, "acme:2") == 200
    with pytest.raises(UnexpectedRequest, match="connection acme:2"):
        send(replay, "acme:2")
    with pytest.raises(UnexpectedRequest):
        send(replay, "acme:3")


def test_a_recorded_secret_of_an_account_is_masked_where_the_api_repeats_it(
    gateway: Gateway, tmp_path: Path
) -> None:
    file = tmp_path / "books.json"
    with FakeGateway.record(gateway, file) as recorded:
        recorded.send(
            "books", "POST", "/", connection="acme:1", json={"note": "of-ann of-bob"}
        )
    text = file.read_text("utf-8")
    assert "of-ann" not in text
    assert "of-bob" in text
    assert FakeGateway.replay(file).send(
        "books", "POST", "/", connection="acme:1", json={"note": "of-ann of-bob"}
    )


def test_what_was_recorded_without_an_account_is_not_replayed_for_one(
    server: Server, tmp_path: Path
) -> None:
    file = tmp_path / "books.json"
    gateway = from_text(document(server.url, "optional"))
    with FakeGateway.record(gateway, file) as recorded:
        send(recorded, None)
    gateway.close()
    replay = FakeGateway.replay(file)
    with pytest.raises(UnexpectedRequest):
        send(replay, "acme:1")
    assert send(replay, None) == 200
