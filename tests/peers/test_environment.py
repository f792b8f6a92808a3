"""The environment of the process decides neither who we are nor whom we trust.

Each trap is shown to work on a client that does read the environment.
"""

import socket
import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

from outkey import errors
from peers.certificates import Pki
from peers.documents import GatewayFor, Table, basic, bearer
from peers.servers import Nginx, Wire

NETRC = "".join(
    f"machine {host} login netrc-user password netrc-password\n"
    for host in ("127.0.0.1", "localhost")
)


@pytest.fixture
def netrc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A netrc that knows the servers, at both places where clients look for it."""
    file = tmp_path / ".netrc"
    file.write_text(NETRC)
    file.chmod(0o600)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("NETRC", str(file))


@pytest.fixture
def dead_proxies(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Proxy variables with a port that is taken, so that nothing can listen there."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        proxy = f"http://127.0.0.1:{taken.getsockname()[1]}"
        for name in ("http_proxy", "https_proxy", "all_proxy"):
            monkeypatch.setenv(name, proxy)
            monkeypatch.setenv(name.upper(), proxy)
        yield


@pytest.fixture
def trusting_environment(monkeypatch: pytest.MonkeyPatch, pki: Pki) -> None:
    """Every variable that makes some client trust the test authority."""
    for name in ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):
        monkeypatch.setenv(name, pki.ca)
    monkeypatch.setenv("SSL_CERT_DIR", str(pki.folder))


def api(nginx: Nginx, table: Table, host: str = "127.0.0.1") -> Table:
    return {"base_url": nginx.url("main", host)} | table


# ── who we are ────────────────────────────────────────────────────────────────────────


def test_the_netrc_works_on_a_client_that_reads_it(
    netrc: None, nginx: Nginx, wire: Wire
) -> None:
    requests.get(f"{nginx.url('main')}/open", timeout=5)
    [arrival] = wire.arrivals()
    assert arrival.user == "netrc-user"


def test_the_proxies_work_on_a_client_that_reads_them(
    dead_proxies: None, nginx: Nginx, wire: Wire
) -> None:
    with pytest.raises(requests.exceptions.ProxyError):
        requests.get(f"{nginx.url('main')}/open", timeout=5)
    assert wire.arrivals() == []


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
@pytest.mark.usefixtures("netrc", "dead_proxies")
def test_type_none_sends_no_authorization(
    host: str, gateway_for: GatewayFor, nginx: Nginx, wire: Wire
) -> None:
    gateway = gateway_for(api=api(nginx, {"authentication_type": "none"}, host))
    response = gateway.send("api", "GET", "/open")
    assert response.status == 200
    [arrival] = wire.arrivals()
    assert arrival.credentials == ("", "", "")


@pytest.mark.usefixtures("netrc", "dead_proxies")
def test_type_none_is_refused_rather_than_helped_by_a_netrc(
    gateway_for: GatewayFor, nginx: Nginx, wire: Wire
) -> None:
    response = gateway_for(api=api(nginx, {})).send("api", "GET", "/basic")
    assert (response.status, response.cause) == (401, "invalid_credentials")
    assert [arrival.authorization for arrival in wire.arrivals()] == [""]


@pytest.mark.parametrize("path", ["/bearer", "/to/same/relative/302"])
@pytest.mark.usefixtures("netrc", "dead_proxies")
def test_a_bearer_stays_a_bearer(
    path: str, gateway_for: GatewayFor, nginx: Nginx, wire: Wire
) -> None:
    gateway_for(api=api(nginx, bearer("good-token"))).send("api", "GET", path)
    arrivals = wire.arrivals("main")
    assert arrivals
    assert {arrival.authorization for arrival in arrivals} == {"Bearer good-token"}


@pytest.mark.usefixtures("netrc", "dead_proxies")
def test_a_basic_user_stays_who_he_is(
    gateway_for: GatewayFor, nginx: Nginx, wire: Wire
) -> None:
    response = gateway_for(api=api(nginx, basic("alice", "s3cret"))).send(
        "api", "GET", "/basic"
    )
    assert response.json() == {"user": "alice"}
    assert [arrival.user for arrival in wire.arrivals()] == ["alice"]


@pytest.mark.usefixtures("dead_proxies")
def test_https_goes_past_the_proxies_too(
    gateway_for: GatewayFor, nginx: Nginx, pki: Pki, wire: Wire
) -> None:
    table = {"base_url": nginx.url("good"), "tls": {"ca_file": pki.ca}}
    assert gateway_for(api=table).send("api", "GET", "/").status == 200
    assert [arrival.server for arrival in wire.arrivals()] == ["good"]


# ── whom we trust ─────────────────────────────────────────────────────────────────────


@pytest.mark.usefixtures("trusting_environment")
def test_the_variables_work_on_clients_that_read_them(nginx: Nginx, wire: Wire) -> None:
    assert requests.get(nginx.url("good"), timeout=5).status_code == 200
    context = ssl.create_default_context()
    with (
        socket.create_connection(
            ("127.0.0.1", nginx.ports["good"]), timeout=5
        ) as plain,
        context.wrap_socket(plain, server_hostname="localhost") as wrapped,
    ):
        assert wrapped.version() == "TLSv1.3"
    assert [arrival.server for arrival in wire.arrivals()] == ["good"]


@pytest.mark.usefixtures("trusting_environment")
def test_no_variable_makes_an_unknown_authority_known(
    gateway_for: GatewayFor, nginx: Nginx, wire: Wire
) -> None:
    table = {"base_url": nginx.url("good")} | bearer("good-token")
    with pytest.raises(errors.TlsFailed, match="unknown authority"):
        gateway_for(api=table).send("api", "GET", "/")
    assert wire.arrivals() == []
