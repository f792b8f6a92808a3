"""outkey as the auth object of httpx, httpx2 and requests, against real servers.

These clients follow redirects by themselves when they are told to; what must hold is
that no credential follows along.
"""

import asyncio
import contextlib
import ssl
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import quote

import httpx
import httpx2
import pytest
import requests

from outkey import Gateway, errors
from outkey.integrations.httpx import OutkeyAuth as HttpxAuth
from outkey.integrations.httpx2 import OutkeyAuth as Httpx2Auth
from outkey.integrations.requests import OutkeyAuth as RequestsAuth
from peers.certificates import Pki
from peers.documents import (
    CREDENTIALS,
    Credential,
    GatewayFor,
    Table,
    basic,
    bearer,
    row,
)
from peers.servers import STATUSES, USERS, Nginx, Wire

# Sends with the configuration `api` and follows redirects:
# (gateway, url, CA) to (status, JSON).
Send = Callable[[Gateway, str, str], tuple[int, Any]]
TARGETS = ("port", "host", "upgrade", "downgrade", "scheme-relative", "userinfo")


def _with_httpx(
    module: ModuleType, auth: type, gateway: Gateway, url: str, ca: str
) -> tuple[int, Any]:
    context = ssl.create_default_context(cafile=ca)
    with module.Client(
        auth=auth(gateway, "api"), verify=context, follow_redirects=True, timeout=5
    ) as client:
        response = client.get(url)
        return response.status_code, response.json()


def send_httpx(gateway: Gateway, url: str, ca: str) -> tuple[int, Any]:
    return _with_httpx(httpx, HttpxAuth, gateway, url, ca)


def send_httpx2(gateway: Gateway, url: str, ca: str) -> tuple[int, Any]:
    return _with_httpx(httpx2, Httpx2Auth, gateway, url, ca)


def send_requests(gateway: Gateway, url: str, ca: str) -> tuple[int, Any]:
    with requests.Session() as session:
        session.auth = RequestsAuth(gateway, "api")
        response = session.get(url, verify=ca, allow_redirects=True, timeout=5)
        return response.status_code, response.json()


every_client = pytest.mark.parametrize(
    "send",
    [send_httpx, send_httpx2, send_requests],
    ids=["httpx", "httpx2", "requests"],
)
both_httpx = pytest.mark.parametrize(
    ("module", "auth"),
    [(httpx, HttpxAuth), (httpx2, Httpx2Auth)],
    ids=["httpx", "httpx2"],
)


def api(nginx: Nginx, table: Table, server: str = "main") -> Table:
    return {"base_url": nginx.url(server)} | table


# ── accepted ──────────────────────────────────────────────────────────────────────────


@every_client
@pytest.mark.parametrize(("username", "password"), USERS.items())
def test_nginx_accepts_basic(
    *,
    username: str,
    password: str,
    send: Send,
    gateway_for: GatewayFor,
    nginx: Nginx,
    pki: Pki,
    wire: Wire,
) -> None:
    gateway = gateway_for(api=api(nginx, basic(username, password)))
    assert send(gateway, f"{nginx.url('main')}/basic", pki.ca) == (
        200,
        {"user": username},
    )
    assert [arrival.user for arrival in wire.arrivals()] == [username]


@every_client
@pytest.mark.parametrize(
    ("table", "path"),
    [(bearer("good-token"), "/bearer"), (row("X-API-Key", "k-123"), "/key")],
)
def test_nginx_accepts_token_and_key(
    *,
    table: Table,
    path: str,
    send: Send,
    gateway_for: GatewayFor,
    nginx: Nginx,
    pki: Pki,
    wire: Wire,
) -> None:
    status, _ = send(
        gateway_for(api=api(nginx, table)), nginx.url("main") + path, pki.ca
    )
    assert status == 200
    [arrival] = wire.arrivals()
    assert len([value for value in arrival.credentials if value]) == 1


@every_client
def test_nginx_accepts_over_tls(
    send: Send, gateway_for: GatewayFor, nginx: Nginx, pki: Pki, wire: Wire
) -> None:
    gateway = gateway_for(api=api(nginx, bearer("good-token"), "good"))
    status, answer = send(gateway, f"{nginx.url('good')}/", pki.ca)
    assert (status, answer["tls"]) == (200, "TLSv1.3")
    [arrival] = wire.arrivals("good")
    assert arrival.authorization == "Bearer good-token"


@every_client
def test_httpbin_accepts_basic(
    send: Send, gateway_for: GatewayFor, httpbin: str, pki: Pki
) -> None:
    gateway = gateway_for(api={"base_url": httpbin} | basic("user", "pass"))
    status, answer = send(gateway, f"{httpbin}/basic-auth/user/pass", pki.ca)
    assert (status, answer["user"]) == (200, "user")


@every_client
def test_httpbin_receives_each_credential_once(
    send: Send, gateway_for: GatewayFor, httpbin: str, pki: Pki
) -> None:
    table = bearer("abc") | row("X-API-Key", "k-123")
    status, answer = send(
        gateway_for(api={"base_url": httpbin} | table), f"{httpbin}/headers", pki.ca
    )
    assert status == 200
    # gunicorn joins repeated headers by a comma.
    assert answer["headers"]["Authorization"] == "Bearer abc"
    assert answer["headers"]["X-Api-Key"] == "k-123"


@both_httpx
def test_an_asynchronous_client_is_accepted_too(
    *,
    module: ModuleType,
    auth: type,
    gateway_for: GatewayFor,
    nginx: Nginx,
    wire: Wire,
) -> None:
    gateway = gateway_for(api=api(nginx, basic("alice", USERS["alice"])))

    async def send() -> Any:  # noqa: ANN401 - JSON
        async with module.AsyncClient(auth=auth(gateway, "api"), timeout=5) as client:
            return (await client.get(f"{nginx.url('main')}/basic")).json()

    assert asyncio.run(send()) == {"user": "alice"}
    assert [arrival.user for arrival in wire.arrivals()] == ["alice"]


# ── kept from other origins ───────────────────────────────────────────────────────────


@every_client
@pytest.mark.parametrize(
    "credential", CREDENTIALS, ids=lambda credential: credential.name
)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("status", STATUSES)
def test_no_credential_follows_a_redirect_to_another_origin(
    *,
    status: int,
    target: str,
    credential: Credential,
    send: Send,
    gateway_for: GatewayFor,
    nginx: Nginx,
    pki: Pki,
    wire: Wire,
) -> None:
    server = "good" if target == "downgrade" else "main"
    gateway = gateway_for(api=api(nginx, credential.table, server))
    with pytest.raises(errors.RedirectBlocked):
        send(gateway, f"{nginx.url(server)}/to/{target}/{status}", pki.ca)
    first, *others = wire.arrivals()
    assert first.server == server
    assert getattr(first, credential.logged_as) == credential.logged
    assert [other.credentials for other in others if any(other.credentials)] == []


@every_client
def test_no_credential_follows_a_redirect_from_httpbin(
    *,
    send: Send,
    gateway_for: GatewayFor,
    httpbin: str,
    nginx: Nginx,
    pki: Pki,
    wire: Wire,
) -> None:
    gateway = gateway_for(
        api={"base_url": httpbin} | bearer("abc") | row("X-API-Key", "k-123")
    )
    target = quote(f"{nginx.url('elsewhere')}/landed", safe="")
    with pytest.raises(errors.RedirectBlocked):
        send(gateway, f"{httpbin}/redirect-to?url={target}", pki.ca)
    assert [a.credentials for a in wire.arrivals() if any(a.credentials)] == []


@both_httpx
def test_an_asynchronous_client_loses_the_credentials_at_a_redirect_too(
    *,
    module: ModuleType,
    auth: type,
    gateway_for: GatewayFor,
    nginx: Nginx,
    wire: Wire,
) -> None:
    gateway = gateway_for(
        api=api(nginx, bearer("good-token") | row("X-API-Key", "k-123"))
    )

    async def send() -> None:
        async with module.AsyncClient(
            auth=auth(gateway, "api"), follow_redirects=True, timeout=5
        ) as client:
            await client.get(f"{nginx.url('main')}/to/port/307")

    with pytest.raises(errors.RedirectBlocked):
        asyncio.run(send())
    first, *others = wire.arrivals()
    assert first.credentials == ("Bearer good-token", "k-123", "")
    assert {other.credentials for other in others} <= {("", "", "")}


@every_client
def test_a_request_to_another_origin_is_refused_before_it_is_sent(
    send: Send, gateway_for: GatewayFor, nginx: Nginx, pki: Pki, wire: Wire
) -> None:
    gateway = gateway_for(api=api(nginx, bearer("good-token")))
    for url in (
        nginx.url("elsewhere"),
        nginx.url("main", "localhost"),
        nginx.url("good"),
    ):
        with pytest.raises(errors.EgressDenied):
            send(gateway, f"{url}/", pki.ca)
    assert wire.arrivals() == []


# ── within the origin ─────────────────────────────────────────────────────────────────


def test_requests_refuses_to_follow_within_the_origin(
    gateway_for: GatewayFor, nginx: Nginx, pki: Pki, wire: Wire
) -> None:
    gateway = gateway_for(api=api(nginx, basic("alice", USERS["alice"])))
    with pytest.raises(errors.RedirectBlocked) as caught:
        send_requests(gateway, f"{nginx.url('main')}/to/same/relative/302", pki.ca)
    assert "gateway.send" in caught.value.hint
    assert [arrival.user for arrival in wire.arrivals()] == ["alice"]


@pytest.mark.parametrize("send", [send_httpx, send_httpx2], ids=["httpx", "httpx2"])
def test_httpx_refuses_to_follow_within_the_origin(
    send: Send, gateway_for: GatewayFor, nginx: Nginx, pki: Pki, wire: Wire
) -> None:
    gateway = gateway_for(api=api(nginx, basic("alice", USERS["alice"])))
    with pytest.raises(errors.RedirectBlocked) as caught:
        send(gateway, f"{nginx.url('main')}/to/same/relative/302", pki.ca)
    assert "follow_redirects=False" in caught.value.hint
    assert [arrival.user for arrival in wire.arrivals()] == ["alice", ""]


# ── netrc ─────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def netrc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A netrc that knows nginx, which requests reads unless it is told not to."""
    file = tmp_path / "netrc"
    file.write_text("machine 127.0.0.1 login netrc-user password netrc-password\n")
    monkeypatch.setenv("NETRC", str(file))


@pytest.mark.parametrize(
    "credential", CREDENTIALS, ids=lambda credential: credential.name
)
@pytest.mark.usefixtures("netrc")
def test_requests_sends_our_credentials_and_not_those_of_a_netrc(
    *,
    credential: Credential,
    gateway_for: GatewayFor,
    nginx: Nginx,
    pki: Pki,
    wire: Wire,
) -> None:
    gateway = gateway_for(api=api(nginx, credential.table))
    assert send_requests(gateway, f"{nginx.url('main')}/open", pki.ca)[0] == 200
    [arrival] = wire.arrivals()
    assert [value for value in arrival.credentials if value] == [credential.logged]


@pytest.mark.parametrize(
    "credential", CREDENTIALS, ids=lambda credential: credential.name
)
@pytest.mark.usefixtures("netrc")
def test_requests_does_not_turn_to_a_netrc_when_it_follows_a_redirect(
    *,
    credential: Credential,
    gateway_for: GatewayFor,
    nginx: Nginx,
    pki: Pki,
    wire: Wire,
) -> None:
    gateway = gateway_for(api=api(nginx, credential.table))
    with contextlib.suppress(
        errors.RedirectBlocked
    ):  # not to follow would be safe as well
        send_requests(gateway, f"{nginx.url('main')}/to/same/open/302", pki.ca)
    arrivals = wire.arrivals()
    assert arrivals
    for arrival in arrivals:
        assert [value for value in arrival.credentials if value] == [credential.logged]
