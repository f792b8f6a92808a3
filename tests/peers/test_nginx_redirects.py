"""Redirects: followed within the origin, with credentials; never to another one."""

import pytest
import requests

from outkey import errors
from peers.certificates import Pki
from peers.documents import CREDENTIALS, Credential, GatewayFor, Table, basic, bearer
from peers.servers import STATUSES, USERS, Nginx, Wire

TARGETS = ("port", "host", "upgrade", "downgrade", "scheme-relative", "userinfo")
LANDINGS = {"host": "localhost", "upgrade": "good"}  # all others land at `elsewhere`


def first_server(target: str) -> str:
    return "good" if target == "downgrade" else "main"


def api(nginx: Nginx, pki: Pki, target: str, table: Table) -> Table:
    return {
        "base_url": nginx.url(first_server(target)),
        "tls": {"ca_file": pki.ca},
    } | table


# ── to another origin ─────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "credential", CREDENTIALS, ids=lambda credential: credential.name
)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("status", STATUSES)
def test_no_credential_reaches_another_origin(
    *,
    status: int,
    target: str,
    credential: Credential,
    gateway_for: GatewayFor,
    nginx: Nginx,
    pki: Pki,
    wire: Wire,
) -> None:
    gateway = gateway_for(api=api(nginx, pki, target, credential.table))
    with pytest.raises(errors.RedirectBlocked) as caught:
        gateway.send("api", "GET", f"/to/{target}/{status}")
    assert caught.value.code == "redirect_blocked"
    # One request in all of nginx: the first, which did carry the credential.
    [arrival] = wire.arrivals()
    assert (arrival.server, arrival.status) == (first_server(target), status)
    assert getattr(arrival, credential.logged_as) == credential.logged


@pytest.mark.parametrize("method", ["HEAD", "POST", "PUT", "PATCH", "DELETE"])
@pytest.mark.parametrize("status", [302, 307])
def test_no_method_and_no_body_reaches_another_origin(
    *,
    method: str,
    status: int,
    gateway_for: GatewayFor,
    nginx: Nginx,
    pki: Pki,
    wire: Wire,
) -> None:
    gateway = gateway_for(api=api(nginx, pki, "port", bearer("good-token")))
    data = None if method == "HEAD" else b"a body"
    with pytest.raises(errors.RedirectBlocked):
        gateway.send("api", method, f"/to/port/{status}", data=data)
    assert [(a.server, a.method) for a in wire.arrivals()] == [("main", method)]


@pytest.mark.parametrize("target", TARGETS)
def test_a_client_without_this_rule_would_have_carried_the_key_there(
    target: str, nginx: Nginx, pki: Pki, wire: Wire
) -> None:
    url = f"{nginx.url(first_server(target))}/to/{target}/307"
    key = {"X-API-Key": "k-123"}
    response = requests.get(url, headers=key, verify=pki.ca, timeout=5)
    assert response.status_code == 200
    _, landed = wire.arrivals()
    assert (landed.server, landed.api_key) == (
        LANDINGS.get(target, "elsewhere"),
        "k-123",
    )


def test_the_message_does_not_name_an_origin_that_the_server_chose(
    gateway_for: GatewayFor, nginx: Nginx, pki: Pki
) -> None:
    gateway = gateway_for(api=api(nginx, pki, "port", bearer("good-token")))
    with pytest.raises(errors.RedirectBlocked) as caught:
        gateway.send("api", "GET", "/to/port/302")
    assert caught.value.message == "the server redirected to another origin"
    assert "Base URL" in caught.value.hint


# ── within the origin ─────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("spelling", ["relative", "absolute", "shouted"])
@pytest.mark.parametrize("status", STATUSES)
def test_a_redirect_within_the_origin_is_followed_and_authenticated(
    *,
    status: int,
    spelling: str,
    gateway_for: GatewayFor,
    nginx: Nginx,
    pki: Pki,
    wire: Wire,
) -> None:
    gateway = gateway_for(api=api(nginx, pki, "port", basic("alice", USERS["alice"])))
    response = gateway.send("api", "GET", f"/to/same/{spelling}/{status}")
    assert (response.status, response.json()) == (200, {"user": "alice"})
    first, second = wire.arrivals("main")
    assert (first.status, second.target) == (status, "/basic/landed")
    assert second.credentials == first.credentials
    assert second.user == "alice"


@pytest.mark.parametrize("status", STATUSES)
def test_a_redirected_post_keeps_its_body_only_where_the_rfc_says_so(
    status: int, gateway_for: GatewayFor, nginx: Nginx, pki: Pki, wire: Wire
) -> None:
    gateway = gateway_for(api=api(nginx, pki, "port", basic("alice", USERS["alice"])))
    response = gateway.send("api", "POST", f"/to/same/relative/{status}", data=b"12345")
    assert response.status == 200
    first, second = wire.arrivals("main")
    assert (first.method, first.content_length) == ("POST", "5")
    kept = status in {307, 308}
    assert (second.method, second.content_length) == (
        ("POST", "5") if kept else ("GET", "")
    )


def test_three_hops_are_followed(
    gateway_for: GatewayFor, nginx: Nginx, pki: Pki, wire: Wire
) -> None:
    gateway = gateway_for(api=api(nginx, pki, "port", basic("alice", USERS["alice"])))
    assert gateway.send("api", "GET", "/hops/3").json() == {"user": "alice"}
    assert [a.target for a in wire.arrivals()] == [
        "/hops/3",
        "/hops/2",
        "/hops/1",
        "/basic",
    ]


def test_a_fourth_hop_is_refused(
    gateway_for: GatewayFor, nginx: Nginx, pki: Pki, wire: Wire
) -> None:
    gateway = gateway_for(api=api(nginx, pki, "port", basic("alice", USERS["alice"])))
    with pytest.raises(errors.RedirectBlocked, match="more than 3 times"):
        gateway.send("api", "GET", "/hops/4")
    assert [a.target for a in wire.arrivals()] == [
        "/hops/4",
        "/hops/3",
        "/hops/2",
        "/hops/1",
    ]
