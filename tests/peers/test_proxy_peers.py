"""Proxies that nobody here wrote: squid and tinyproxy, by http and by https."""

from base64 import b64encode
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from contract.raw_peer import raw_peer
from outkey import Gateway, Response
from outkey.foundation.core.errors import EgressDenied, ProxyFailed, TlsFailed
from peers.authorization_servers import Oidc, Toolkit
from peers.certificates import Pki
from peers.conftest import call, oauth2
from peers.documents import GatewayFor, Given, Table, basic, run_on_loop
from peers.servers import USERS, Nginx, Wire, wait_until
from peers.test_diagnosis_peers import WRONG, leaks, reasons
from peers.unpacked import (
    PROXY_USERS,
    RunningProxy,
    squid_running,
    tinyproxy_running,
)
from ports import free_port

USER = "svc"
PASSWORD = PROXY_USERS[USER]
API = "Basic " + b64encode(f"alice:{USERS['alice']}".encode()).decode()
Sender = Callable[[Gateway, str], Response]


@pytest.fixture(scope="module")
def squid(pki: Pki) -> Iterator[RunningProxy]:
    with squid_running(pki) as running:
        yield running


@pytest.fixture(scope="module")
def tinyproxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningProxy]:
    with tinyproxy_running(tmp_path_factory.mktemp("tinyproxy")) as running:
        yield running


@pytest.fixture(params=["squid", "tinyproxy"])
def proxy(request: pytest.FixtureRequest) -> RunningProxy:
    running: RunningProxy = request.getfixturevalue(request.param)
    return running


@pytest.fixture(params=["send", "asend"])
def send(request: pytest.FixtureRequest) -> Sender:
    if request.param == "send":
        return lambda gateway, path: gateway.send("peer", "GET", path)
    return lambda gateway, path: run_on_loop(
        gateway, gateway.asend("peer", "GET", path)
    )


def through(url: str, user: str = USER, password: str = PASSWORD) -> Table:
    """Go through a proxy; without credentials there if the user is empty."""
    settings: Table = {"url": url}
    if user:
        settings |= {"username": user, "password": Given(password)}
    return {"proxy": settings, "limits": {"retries": 0}}


def plain(nginx: Nginx) -> Table:
    return basic("alice", USERS["alice"]) | {
        "base_url": nginx.url("main"),
        "verification": {"test_path": "/basic"},
    }


def secured(nginx: Nginx) -> Table:
    return basic("alice", USERS["alice"]) | {
        "base_url": nginx.url("good"),
        "tls": {"ca_file": nginx.pki.ca},
        "verification": {"compare": False},
    }


def test_plain_http_goes_through_and_the_api_sees_no_credential_of_the_proxy(
    proxy: RunningProxy, nginx: Nginx, wire: Wire, send: Sender, gateway_for: GatewayFor
) -> None:
    gateway = gateway_for(peer=plain(nginx) | through(proxy.url))
    assert send(gateway, "/basic").status == 200
    assert send(gateway, "/basic").status == 200
    arrivals = wire.arrivals("main")
    assert [arrival.authorization for arrival in arrivals] == [API, API]
    assert f"{nginx.url('main')}/basic" in proxy.logged()


def test_https_goes_through_a_tunnel_in_which_the_proxy_sees_nothing(
    proxy: RunningProxy, nginx: Nginx, wire: Wire, send: Sender, gateway_for: GatewayFor
) -> None:
    before = proxy.logged()
    gateway = gateway_for(peer=secured(nginx) | through(proxy.url))
    assert send(gateway, "/secret-path").status == 200
    (arrival,) = wire.arrivals("good")
    assert arrival.authorization == API
    gateway.close()  # squid logs a tunnel at its end
    tunnel = f"CONNECT 127.0.0.1:{nginx.ports['good']}"
    wait_until(lambda: tunnel in proxy.logged()[len(before) :], "the proxy's log")
    logged = proxy.logged()[len(before) :]
    assert "secret-path" not in logged
    assert API.partition(" ")[2] not in logged


@pytest.mark.parametrize("target", ["plain", "secured"])
def test_an_https_proxy_gets_its_own_tls(
    target: str,
    squid: RunningProxy,
    nginx: Nginx,
    wire: Wire,
    send: Sender,
    gateway_for: GatewayFor,
) -> None:
    table = (plain if target == "plain" else secured)(nginx)
    table |= through(squid.secure_url) | {"tls": {"ca_file": nginx.pki.ca}}
    gateway = gateway_for(peer=table)
    assert send(gateway, "/basic").status == 200
    assert send(gateway, "/basic").status == 200
    server = "main" if target == "plain" else "good"
    assert [arrival.authorization for arrival in wire.arrivals(server)] == [API, API]


def test_one_tunnel_serves_many_requests(
    squid: RunningProxy, nginx: Nginx, wire: Wire, gateway_for: GatewayFor
) -> None:
    for url in (squid.url, squid.secure_url):
        gateway = gateway_for(peer=secured(nginx) | through(url))
        for _ in range(3):
            assert gateway.send("peer", "GET", "/").status == 200

        async def send_often(gateway: Gateway = gateway) -> None:
            for _ in range(3):
                assert (await gateway.asend("peer", "GET", "/")).status == 200

        run_on_loop(gateway, send_often())
    connections = [arrival.connection for arrival in wire.arrivals("good")]
    assert len(connections) == 12
    assert len(set(connections)) == 4


def test_a_large_body_goes_through_tls_inside_of_tls(
    squid: RunningProxy, nginx: Nginx, wire: Wire, gateway_for: GatewayFor
) -> None:
    gateway = gateway_for(peer=secured(nginx) | through(squid.secure_url))
    body = b"x" * 900_000
    assert gateway.send("peer", "POST", "/open", data=body).status == 200
    sent = run_on_loop(gateway, gateway.asend("peer", "POST", "/open", data=body))
    assert sent.status == 200
    lengths = [arrival.content_length for arrival in wire.arrivals("good")]
    assert lengths == ["900000", "900000"]


def test_a_test_tells_which_proxy_was_used(
    squid: RunningProxy, nginx: Nginx, gateway_for: GatewayFor
) -> None:
    for url in (squid.url, squid.secure_url):
        gateway = gateway_for(peer=secured(nginx) | through(url))
        report = gateway.test("peer")
        assert report.ok
        (connect,) = [step for step in report.steps if step.step == "connect"]
        assert f"through the proxy {url}, TLSv1.3" in connect.detail
    gateway = gateway_for(peer=plain(nginx) | through(squid.url))
    report = gateway.test("peer")
    (connect,) = [step for step in report.steps if step.step == "connect"]
    assert connect.detail == f"through the proxy {squid.url}, without TLS"
    assert "W001" in {finding.id for finding in report.findings}


@pytest.mark.parametrize("target", ["plain", "secured"])
@pytest.mark.parametrize("user", [USER, ""])
def test_wrong_or_missing_credentials_of_the_proxy_are_named_first(
    *,
    target: str,
    user: str,
    proxy: RunningProxy,
    nginx: Nginx,
    wire: Wire,
    send: Sender,
    gateway_for: GatewayFor,
) -> None:
    table = (plain if target == "plain" else secured)(nginx)
    table |= through(proxy.url, user, WRONG)
    with pytest.raises(ProxyFailed) as failed:
        send(gateway_for(peer=table), "/basic")
    assert (failed.value.code, failed.value.reason) == ("proxy", "proxy-credentials")
    report = gateway_for(peer=table).test("peer")
    assert (report.cause, reasons(report)[:1]) == ("proxy", ["proxy-credentials"])
    assert leaks(report, table) == []
    assert wire.arrivals() == []


def test_wrong_credentials_of_the_api_are_not_blamed_on_the_proxy(
    proxy: RunningProxy, nginx: Nginx, gateway_for: GatewayFor
) -> None:
    table = plain(nginx) | basic("alice", WRONG) | through(proxy.url)
    report = gateway_for(peer=table).test("peer")
    assert (report.status, reasons(report)[:1]) == (401, ["wrong-credentials"])
    assert leaks(report, table) == []


@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize(
    ("host", "reason"),
    [
        ("forbidden.example", "proxy-refused"),
        ("127.0.0.1", "proxy-cannot-reach"),
        ("no-such-host.invalid", "proxy-cannot-reach"),
    ],
)
def test_what_the_proxy_refuses_or_cannot_reach_is_named(
    scheme: str,
    host: str,
    reason: str,
    proxy: RunningProxy,
    send: Sender,
    gateway_for: GatewayFor,
) -> None:
    url = f"{scheme}://{host}:{free_port()}"
    table = basic("alice", "x-s3cret") | {"base_url": url} | through(proxy.url)
    with pytest.raises(ProxyFailed) as failed:
        send(gateway_for(peer=table), "/")
    assert failed.value.reason == reason
    report = gateway_for(peer=table).test("peer")
    assert (report.cause, reasons(report)[:1]) == ("proxy", [reason])


@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize("target", ["plain", "secured"])
def test_a_proxy_that_is_down_is_named(
    scheme: str, target: str, nginx: Nginx, send: Sender, gateway_for: GatewayFor
) -> None:
    table = (plain if target == "plain" else secured)(nginx)
    table |= through(f"{scheme}://127.0.0.1:{free_port()}")
    with pytest.raises(ProxyFailed) as failed:
        send(gateway_for(peer=table), "/")
    assert failed.value.reason == "proxy-unreachable"
    report = gateway_for(peer=table).test("peer")
    assert (report.cause, reasons(report)[:1]) == ("proxy", ["proxy-unreachable"])


@pytest.mark.parametrize("target", ["plain", "secured"])
def test_a_proxy_that_is_none_is_named(
    target: str, nginx: Nginx, send: Sender, gateway_for: GatewayFor
) -> None:
    with raw_peer(b"220 mail.example ESMTP\r\n") as peer:
        table = (plain if target == "plain" else secured)(nginx)
        table |= through(f"http://127.0.0.1:{peer.port}")
        with pytest.raises(ProxyFailed) as failed:
            send(gateway_for(peer=table), "/")
        assert failed.value.reason == "proxy-not-http"
        report = gateway_for(peer=table).test("peer")
    assert (report.cause, reasons(report)[:1]) == ("proxy", ["proxy-not-http"])
    assert all(API.encode() not in request for request in peer.requests) or (
        target == "plain"
    )


def test_the_certificate_of_a_proxy_is_verified(
    squid: RunningProxy, nginx: Nginx, send: Sender, gateway_for: GatewayFor
) -> None:
    table = plain(nginx) | through(squid.secure_url)  # its authority is not trusted
    with pytest.raises(ProxyFailed) as failed:
        send(gateway_for(peer=table), "/")
    assert failed.value.reason == "proxy-tls"


@pytest.mark.parametrize("server", ["expired", "wronghost", "stranger"])
def test_the_certificate_of_the_server_is_verified_behind_a_proxy(
    server: str,
    squid: RunningProxy,
    nginx: Nginx,
    wire: Wire,
    send: Sender,
    gateway_for: GatewayFor,
) -> None:
    for url in (squid.url, squid.secure_url):
        table = secured(nginx) | {"base_url": nginx.url(server)} | through(url)
        with pytest.raises(TlsFailed):
            send(gateway_for(peer=table), "/")
    assert wire.arrivals(server) == []


def test_our_certificate_is_shown_to_the_api_and_not_to_the_proxy(
    squid: RunningProxy, nginx: Nginx, wire: Wire, send: Sender, gateway_for: GatewayFor
) -> None:
    for url in (squid.url, squid.secure_url):
        table = secured(nginx) | {"base_url": nginx.url("mutual")} | through(url)
        table["tls"] = {
            "ca_file": nginx.pki.ca,
            "client_certificate": nginx.pki.certificate("client"),
            "client_key": f"file:{nginx.pki.key('client')}",
        }
        assert send(gateway_for(peer=table), "/").status == 200
    assert all(arrival.client for arrival in wire.arrivals("mutual"))


def test_tokens_are_requested_through_the_proxy(
    proxy: RunningProxy, toolkit: Toolkit, gateway_for: GatewayFor
) -> None:
    before = proxy.logged()
    table = oauth2(toolkit, "cc", scope="read") | through(proxy.url)
    # tinyproxy closes after the token without saying so, perhaps while we send.
    once_more: Table = {"limits": {"retries": 1}}
    gateway = gateway_for(peer=table | once_more)
    assert call(gateway, toolkit, "?need=read").status == 200
    logged = proxy.logged().removeprefix(before)
    assert f"POST {toolkit.endpoint('token')}" in logged
    table |= through(proxy.url, password=WRONG)
    report = gateway_for(peer=table).test("peer")
    assert (report.cause, reasons(report)[:1]) == ("proxy", ["proxy-credentials"])
    assert leaks(report, table) == []


def test_a_token_is_requested_through_a_tunnel_that_hides_it(
    proxy: RunningProxy, oidc: Oidc, gateway_for: GatewayFor
) -> None:
    before = proxy.logged()
    table = oauth2(oidc, "cc_basic", scope="api:read") | through(proxy.url)
    path = urlsplit(oidc.endpoint("token")).path
    settings: Table = {
        "client_id": "cc_basic",
        "client_auth": "basic",
        "client_secret": Given(str(oidc.clients["cc_basic"])),
        "scope": "api:read",
        "token_url": oidc.endpoint("token", tls=True),
    }
    table |= {"oauth2": settings, "tls": {"ca_file": oidc.pki.ca}}
    gateway = gateway_for(peer=table)
    assert call(gateway, oidc, "?need=api:read").status == 200
    gateway.close()
    tunnel = f"CONNECT {urlsplit(oidc.tls_url).netloc}"
    wait_until(lambda: tunnel in proxy.logged()[len(before) :], "the proxy's log")
    assert path not in proxy.logged()[len(before) :]


def test_a_proxy_at_an_address_that_is_not_allowed_gets_nothing(
    squid: RunningProxy, wire: Wire, send: Sender, gateway_for: GatewayFor
) -> None:
    before = squid.logged()
    table = basic("alice", "s3cret") | {
        "network": "public",
        "base_url": "https://api.acme.example",
    }
    with pytest.raises(EgressDenied):
        send(gateway_for(peer=table | through(squid.url)), "/")
    assert squid.logged() == before


def test_without_users_a_proxy_needs_no_credentials(
    tmp_path: Path, pki: Pki, nginx: Nginx, send: Sender, gateway_for: GatewayFor
) -> None:
    with (
        squid_running(pki, users={}) as squid,
        tinyproxy_running(tmp_path, users={}) as tinyproxy,
    ):
        for running in (squid, tinyproxy):
            for target in (plain, secured):
                table = target(nginx) | through(running.url, user="")
                assert send(gateway_for(peer=table), "/basic").status == 200
