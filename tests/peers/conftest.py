"""Fixtures: the servers, run once; and gateways, closed after each test."""

from collections.abc import Iterator
from contextlib import ExitStack
from itertools import count
from pathlib import Path

import pytest

from outkey import Gateway
from outkey.hosts.file import from_text
from peers.certificates import Pki, make_pki
from peers.documents import GatewayFor, Table, document
from peers.servers import Nginx, Wire, httpbin_running, nginx_running

PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")
TRUST = ("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Keep the settings of whoever runs the tests out of the clients."""
    for name in (*PROXIES, *map(str.lower, PROXIES), *TRUST, "NETRC"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))


@pytest.fixture(scope="session")
def pki(tmp_path_factory: pytest.TempPathFactory) -> Pki:
    return make_pki(tmp_path_factory.mktemp("pki"))


@pytest.fixture(scope="session")
def nginx(tmp_path_factory: pytest.TempPathFactory, pki: Pki) -> Iterator[Nginx]:
    with nginx_running(tmp_path_factory.mktemp("nginx"), pki) as running:
        yield running


@pytest.fixture(scope="session")
def httpbin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with httpbin_running(tmp_path_factory.mktemp("httpbin")) as url:
        yield url


@pytest.fixture
def wire(nginx: Nginx) -> Wire:
    """What arrives at nginx from here on."""
    return Wire(nginx.log)


@pytest.fixture
def gateway_for(monkeypatch: pytest.MonkeyPatch) -> Iterator[GatewayFor]:
    """Make gateways from configurations given as `name=table`."""
    numbers = count(1)

    def keep(secret: str) -> str:
        name = f"PEERS_SECRET_{next(numbers)}"
        monkeypatch.setenv(name, secret)
        return f"env:{name}"

    with ExitStack() as closing:

        def make(**configurations: Table) -> Gateway:
            return closing.enter_context(from_text(document(configurations, keep)))

        yield make
