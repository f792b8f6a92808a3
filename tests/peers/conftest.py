"""Fixtures: the servers, run once; and gateways, closed after each test."""

import shutil
import time
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from cli.conftest import Terminal
from database.conftest import Cluster, mariadb, postgresql
from database.mariadb import MariaDb
from outkey import Gateway, Response, Secret
from outkey.foundation.core.fields.choices import Network
from outkey.hosts.file.loading import from_text
from outkey.sending.adapters.tokens.tokens_memory import MemoryTokens
from outkey.sending.engine.tokens import discovery
from outkey.sending.engine.tokens.actions import TokenActions
from outkey.testing.canary import Canaries
from peers.authorization_servers import (
    Asker,
    Glewlwyd,
    Oidc,
    Toolkit,
    basic_header,
    glewlwyd_running,
    oidc_running,
    toolkit_running,
)
from peers.certificates import Pki, make_pki
from peers.directus import Directus, directus_running
from peers.documents import GatewayFor, Given, Table, document
from peers.kinto import Kinto, kinto_running
from peers.moto import Moto, moto_running
from peers.registries import (
    DockerRegistry,
    Verdaccio,
    docker_registry_running,
    verdaccio_running,
)
from peers.servers import Nginx, Wire, httpbin_running, nginx_running
from peers.sync_apis import ask_directus, make_collections
from peers.sync_places import Place
from peers.sync_records import CONTACTS, ORDERS, REPOSITORIES
from peers.sync_servers import (
    KEYED,
    JsonServer,
    catalog_running,
    datasette_running,
    door_running,
    json_server_running,
)

__all__ = ["mariadb", "postgresql"]  # fixtures of the tests of databases
FOLDER = Path(__file__).parent
PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")
AuthorizationServer = Oidc | Toolkit | Glewlwyd
TRUST = ("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Measure coverage of the integrations only: the rest is reached without peers."""
    for item in items:
        if item.path.parent == FOLDER and item.path.name != "test_integrations.py":
            item.add_marker("untraced")


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


@pytest.fixture(scope="session")
def oidc(tmp_path_factory: pytest.TempPathFactory, pki: Pki) -> Iterator[Oidc]:
    with oidc_running(tmp_path_factory.mktemp("oidc"), pki) as running:
        yield running


@pytest.fixture(scope="session")
def oidc_with_nonce(
    tmp_path_factory: pytest.TempPathFactory, pki: Pki
) -> Iterator[Oidc]:
    """Run oidc-provider so that every proof of DPoP needs a nonce."""
    with oidc_running(
        tmp_path_factory.mktemp("nonce"), pki, dpop_nonce=True
    ) as running:
        yield running


@pytest.fixture(scope="session")
def toolkit(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Toolkit]:
    with toolkit_running(tmp_path_factory.mktemp("toolkit")) as running:
        yield running


@pytest.fixture(scope="session")
def glewlwyd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Glewlwyd]:
    with glewlwyd_running(tmp_path_factory.mktemp("glewlwyd")) as running:
        yield running


@pytest.fixture(scope="session")
def docker(
    tmp_path_factory: pytest.TempPathFactory, pki: Pki
) -> Iterator[DockerRegistry]:
    with docker_registry_running(tmp_path_factory.mktemp("docker"), pki) as running:
        yield running


@pytest.fixture(scope="session")
def verdaccio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Verdaccio]:
    with verdaccio_running(tmp_path_factory.mktemp("verdaccio")) as running:
        yield running


@pytest.fixture(scope="session")
def directus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Directus]:
    with directus_running(tmp_path_factory.mktemp("directus")) as running:
        yield running


@pytest.fixture(scope="session")
def shop(directus: Directus) -> Directus:
    """Directus with contacts, and orders with lines."""
    make_collections(directus)
    ask_directus(directus, "/items/orders", "POST", ORDERS)
    return directus


@pytest.fixture(scope="session")
def moto(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Moto]:
    with moto_running(tmp_path_factory.mktemp("moto")) as running:
        yield running


@pytest.fixture(scope="session")
def kinto(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kinto]:
    with kinto_running(tmp_path_factory.mktemp("kinto")) as running:
        yield running


@pytest.fixture(scope="session")
def datasette_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with datasette_running(tmp_path_factory.mktemp("datasette"), CONTACTS) as url:
        yield url


@pytest.fixture(scope="session")
def catalog_url(tmp_path_factory: pytest.TempPathFactory, pki: Pki) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("catalog")
    with catalog_running(folder, pki, REPOSITORIES) as url:
        yield url


@pytest.fixture(scope="session")
def json_server_behind(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[JsonServer]:
    """Run json-server, which lets everybody in."""
    tables = {
        "contacts": CONTACTS,
        "changing": CONTACTS,
        "pushed": [],
        "people": [],
        "posts": [],
        "comments": [],
    }
    with json_server_running(tmp_path_factory.mktemp("json-server"), tables) as running:
        yield running


@pytest.fixture(scope="session")
def json_server_door(
    tmp_path_factory: pytest.TempPathFactory, json_server_behind: JsonServer
) -> Iterator[str]:
    """Run nginx before json-server, with a key."""
    folder = tmp_path_factory.mktemp("keyed")
    with door_running(folder, json_server_behind.url, KEYED) as url:
        yield url


@pytest.fixture(scope="session")
def new_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a home with an empty database, once; tests get copies."""
    home = tmp_path_factory.mktemp("new") / "home"
    assert Terminal(home, Canaries())("line", "list").code == 0
    return home


@pytest.fixture
def place(request: pytest.FixtureRequest, tmp_path: Path, new_home: Path) -> Place:
    """The kind of place that a test has as its parameter, with an empty home."""
    home = tmp_path / "home"
    shutil.copytree(new_home, home)
    kind = request.param
    if kind not in {"postgresql", "mariadb"}:
        return Place(kind, home)
    server: Cluster | MariaDb = request.getfixturevalue(kind)
    return Place(kind, home, server.create("peers"))


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
            tokens = MemoryTokens(time.time)
            text = document(configurations, keep)
            return closing.enter_context(from_text(text, tokens=tokens))

        yield make


# ── configurations with tokens of the authorization servers ───────────────────────────


def oauth2(server: AuthorizationServer, client: str, **settings: object) -> Table:
    """Get tokens of a server for one of its clients, and use them at its API."""
    asked: Table = {
        "client_id": client,
        "client_auth": "basic",
        "token_url": server.endpoint("token"),
        "revocation_url": server.endpoint("revoke"),
        "introspection_url": server.endpoint("introspect"),
    }
    if secret := server.clients.get(client):
        asked["client_secret"] = Given(secret)
    return {
        "base_url": server.url,
        "authentication_type": "bearer",
        "token_source": "oauth2",
        "oauth2": asked | settings,
        "verification": {"test_path": api_path(server)},
    }


def api_path(server: AuthorizationServer) -> str:
    return urlsplit(server.endpoint("api")).path


def call(gateway: Gateway, server: AuthorizationServer, query: str = "") -> Response:
    """Call the API of an authorization server by the configuration `peer`."""
    return gateway.send("peer", "GET", api_path(server) + query)


def code_in(callback: str) -> Secret:
    """Return the code that a browser came back with."""
    return Secret(parse_qs(urlsplit(callback).query)["code"][0])


def token_actions(gateway: Gateway) -> TokenActions:
    """Return what a user can do with the token of the configuration `peer`."""
    sender = gateway._sender
    return sender.token_actions(sender.configurations.get("peer"))


def discover(
    gateway: Gateway, issuer: str, network: Network = Network.INTERNAL
) -> dict[str, str]:
    """Return the URLs that an authorization server's metadata names."""
    sender = gateway._sender
    steps = discovery.discover(sender.context, issuer, network, ca_file="")
    return sender.run(steps)


def revoke_behind_our_back(
    gateway: Gateway, server: AuthorizationServer, client: str
) -> None:
    """Revoke the gateway's access token, as the provider's administrator could."""
    form = {"token": token_actions(gateway).ready().value.reveal()}
    header = basic_header(client, str(server.clients[client]))
    assert Asker().ask(server.endpoint("revoke"), form, headers=header).status == 200


class Arrived:
    """What has arrived at a server since this was made."""

    def __init__(self, server: Oidc | Toolkit) -> None:
        self._server, self._before = server, server.calls()

    @property
    def token_calls(self) -> int:
        return self._server.calls().token - self._before.token

    @property
    def refused(self) -> int:
        """Count the requests for tokens that were answered with anything but 200."""
        now, before = self._server.calls().statuses, self._before.statuses
        return (
            sum(now.values())
            - sum(before.values())
            - (now.get("200", 0) - before.get("200", 0))
        )

    @property
    def api_calls(self) -> int:
        path = api_path(self._server)
        return self._server.calls().paths.get(path, 0) - self._before.paths.get(path, 0)
