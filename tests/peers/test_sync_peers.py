"""Records are the same at both ends, at servers that nobody here wrote."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import partial
from pathlib import Path

import pytest

from outkey.foundation.adapters.clock_system import SystemClock
from outkey.foundation.adapters.paths_jmespath import JmespathCompiler
from outkey.foundation.adapters.states_memory import MemoryStateRows
from outkey.foundation.core.errors import (
    BadResponse,
    ConnectionFailed,
    OutkeyError,
    SyncFailed,
)
from outkey.sync.adapters.calendar_cronsim import CronCalendar
from outkey.sync.core.line.line import (
    Direction,
    FieldMapping,
    Gone,
    Pagination,
    Paging,
    Sync,
    SyncLine,
    Transform,
)
from outkey.sync.core.mapping.mapping import BY_KIND
from outkey.sync.core.mapping.records import FieldKind, HostField
from outkey.sync.core.run.run import Counts, Run, RunState
from outkey.sync.engine.runs.line_plan import SyncPorts
from outkey.sync.engine.runs.runner import SyncRunner
from outkey.sync.engine.runs.runs import Runs
from outkey.testing.canary import find
from outkey.testing.fakes.basic import MemoryLines
from outkey.testing.fakes.storage import memory_registry
from outkey.testing.fakes.sync import MemorySync
from peers.authorization_servers import SECRET, Asker, Oidc
from peers.conftest import oauth2
from peers.documents import GatewayFor, Given, Table, basic, bearer, row
from peers.registries import USERS
from peers.sync_records import CONTACTS, REPOSITORIES, contact
from peers.sync_servers import (
    KEY,
    KEYED,
    QUERY_KEY,
    SIGNED,
    TOKEN,
    JsonServer,
    Row,
    door_running,
    token_guard,
)

# ── the records ───────────────────────────────────────────────────────────────────────


def kept(one: Row) -> Row:
    """Return a contact as the host must have it."""
    return {
        "number": one["id"],
        "name": one["name"],
        "credit": Decimal(str(one["credit"])),
        "born": date.fromisoformat(str(one["born"])),
        "active": one["active"],
        "seen": datetime.fromisoformat(str(one["seen"])).astimezone(UTC),
        "note": one["note"],
    }


FIELDS = {
    "contact": (
        HostField("number", "Number", FieldKind.TEXT, required=True),
        HostField("name", "Name", FieldKind.TEXT, required=True),
        HostField("credit", "Credit", FieldKind.DECIMAL),
        HostField("born", "Born", FieldKind.DATE),
        HostField("active", "Active", FieldKind.BOOLEAN),
        HostField("seen", "Seen", FieldKind.DATETIME),
        HostField("note", "Note", FieldKind.TEXT),
    ),
    "repository": (HostField("name", "Name", FieldKind.TEXT, required=True),),
}
SOURCE = {
    "contact": [kept(one) for one in CONTACTS],
    "repository": [{"name": name} for name in REPOSITORIES],
}
MAPPINGS = (
    FieldMapping("id", "number", required=True),
    FieldMapping("credit", "credit", Transform.DECIMAL),
    FieldMapping("active", "active", Transform.BOOLEAN),
    FieldMapping("seen", "seen", Transform.DATETIME),
    *(FieldMapping(name, name) for name in ("name", "born", "note")),
)
PULL = Sync(target="contact", keys=("number",), mappings=MAPPINGS, gone=Gone.ARCHIVE)
PUSH = replace(PULL, direction=Direction.PUSH, gone=Gone.KEEP)


def in_order(rows: list[Row]) -> list[Row]:
    return sorted(rows, key=lambda one: str(one.get("number", one["name"])))


# ── the servers ───────────────────────────────────────────────────────────────────────

SIGNING = """
import base64
import hashlib
import time


def compute_auth_header(sync_line):
    asked = sync_line.request
    target = asked.path + ("?" + asked.query if asked.query else "")
    expires = str(int(time.time()) + 60)
    secret = sync_line.api_config_id.get_secret_key()
    text = f"{expires} {asked.method} {target} {secret}"
    digest = hashlib.md5(text.encode()).digest()
    signature = base64.urlsafe_b64encode(digest).decode().rstrip("=")
    return {"X-Expires": expires, "X-Signature": signature}
"""


@dataclass(frozen=True, slots=True)
class Peer:
    """A running server, and how to get in."""

    url: str
    secret: str
    credentials: Callable[[str], Table]

    def table(self, secret: str = "") -> Table:
        return self.credentials(secret or self.secret) | {"base_url": self.url}


def in_query(secret: str) -> Table:
    return {"query": [{"key": QUERY_KEY, "value": Given(secret), "secret": True}]}


def signing(secret: str) -> Table:
    return {"script": SIGNING, "secret_key": Given(secret)}


Folder = Callable[[str], Path]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Folder:
    return tmp_path_factory.mktemp


@pytest.fixture(scope="session")
def datasette(datasette_url: str) -> Peer:
    return Peer(datasette_url, TOKEN, bearer)


@pytest.fixture(scope="session")
def datasette_by_query(datasette_url: str) -> Peer:
    return Peer(datasette_url, TOKEN, in_query)


@pytest.fixture(scope="session")
def catalog(catalog_url: str) -> Peer:
    return Peer(catalog_url, USERS["alice"], partial(basic, "alice"))


@pytest.fixture(scope="session")
def json_server(json_server_behind: JsonServer) -> str:
    return json_server_behind.url


@pytest.fixture(scope="session")
def keyed(json_server_door: str) -> Peer:
    return Peer(json_server_door, KEY, partial(row, "X-API-Key"))


@pytest.fixture(scope="module")
def signed(folder: Folder, json_server: str) -> Iterator[Peer]:
    with door_running(folder("signed"), json_server, SIGNED) as url:
        yield Peer(url, KEY, signing)


@pytest.fixture(scope="module")
def tokened(folder: Folder, json_server: str, oidc: Oidc) -> Iterator[Peer]:
    def credentials(secret: str) -> Table:
        return oauth2(oidc, "cc_basic", scope="api:read", client_secret=Given(secret))

    guard = token_guard(oidc.endpoint("api"))
    with door_running(folder("tokened"), json_server, **guard) as url:
        yield Peer(url, SECRET, credentials)


@pytest.fixture
def peer(request: pytest.FixtureRequest, way: str) -> Peer:
    found: Peer = request.getfixturevalue(WAYS[way][0])
    return found


# ── a host without a database ─────────────────────────────────────────────────────────


class Host:
    """Records and runs in memory, and a real gateway."""

    def __init__(self, gateway_for: GatewayFor) -> None:
        self._gateway_for = gateway_for
        self.memory = MemorySync(memory_registry(), FIELDS, SystemClock())
        self.records = self.memory.records

    def steps(
        self, configuration: Table, method: str, path: str, sync: Sync
    ) -> Iterator[Run]:
        """Run a line page by page; it has the name of its path."""
        line = SyncLine(path, "peer", method, path, sync)
        return self.runner(configuration, line).run(path, "tester")

    def runner(self, configuration: Table, line: SyncLine) -> SyncRunner:
        """Return what runs a line."""
        sender = self._gateway_for(peer=configuration)._sender
        known = sender.configurations.configurations  # type: ignore[attr-defined]
        registry = MemoryLines(known.values(), [line])
        sender.configurations = registry
        self.memory.rows.configurations = registry
        self.runs = Runs(
            self.memory.rows, MemoryStateRows(), self.memory.database, registry
        )
        ports = SyncPorts(
            sender,
            registry,
            self.records,
            self.runs,
            JmespathCompiler(),
            SystemClock(),
            CronCalendar(),
            self.memory.ledger,
            self.memory.parents,
            sender.context.scripts,
        )
        return SyncRunner(ports)

    def open(self, target: str, fields: tuple[HostField, ...]) -> None:
        """Open another target in the place of all others."""
        self.memory = MemorySync(memory_registry(), {target: fields}, SystemClock())
        self.records = self.memory.records

    def sync(self, configuration: Table, method: str, path: str, sync: Sync) -> Run:
        """Run a line to its end, and leave nothing out."""
        *_, last = self.steps(configuration, method, path, sync)
        assert self.runs.rejected(last.id, 10) == []
        assert last.state is RunState.DONE
        return last

    def rows(self, target: str = "contact") -> list[Row]:
        return in_order(self.records.rows(target))


@pytest.fixture
def host(gateway_for: GatewayFor) -> Host:
    return Host(gateway_for)


# ── pulling ───────────────────────────────────────────────────────────────────────────


def paged(kind: Paging, size: int, *parameters: str, **settings: str) -> Sync:
    return replace(PULL, pagination=Pagination(kind, size, *parameters, **settings))  # type: ignore[arg-type]


def of_datasette(pages: Sync) -> tuple[str, str, Sync]:
    shaped = replace(pages, records="rows", query=(("_shape", "objects"),))
    return "datasette", "/crm/contacts.json", shaped


# How a server hands out its records: which one, where, and in what pages.
WAYS: dict[str, tuple[str, str, Sync]] = {
    "datasette, cursor": of_datasette(
        paged(Paging.CURSOR, 50, "_size", "_next", cursor="next")
    ),
    "datasette, address": of_datasette(
        paged(Paging.CURSOR, 100, "_size", cursor="next_url")
    ),
    # Its URL of the next page repeats the key, which must not be stored with it.
    "datasette, address, key in the query": (
        "datasette_by_query",
        *of_datasette(paged(Paging.CURSOR, 100, "_size", cursor="next_url"))[1:],
    ),
    "docker-registry, Link": (
        "catalog",
        "/v2/_catalog",
        Sync(
            target="repository",
            keys=("name",),
            mappings=(FieldMapping("name", "name"),),
            records="repositories[].{name: @}",
            pagination=Pagination(Paging.LINK, 20, "n"),
            gone=Gone.ARCHIVE,
        ),
    ),
    "json-server, page": (
        "keyed",
        "/contacts",
        paged(Paging.PAGE, 50, "_limit", "_page"),
    ),
    "json-server, offset": (
        "tokened",
        "/contacts",
        paged(Paging.OFFSET, 40, "_limit", "_start"),
    ),
    "json-server, Link": (
        "signed",
        "/contacts",
        replace(paged(Paging.LINK, 60, "_limit"), query=(("_page", "1"),)),
    ),
}
# What each makes of wrong credentials; most of them answer 403 to those, too.
CAUSES = {
    "datasette": "insufficient_permissions",
    "datasette_by_query": "insufficient_permissions",
    "catalog": "invalid_credentials",
    "keyed": "insufficient_permissions",
    "signed": "insufficient_permissions",
    "tokened": "invalid_client",
}


@pytest.mark.parametrize("way", WAYS)
def test_a_pull_brings_every_record_exactly_and_a_second_one_changes_nothing(
    host: Host, peer: Peer, way: str
) -> None:
    _, path, sync = WAYS[way]
    expected = in_order(SOURCE[sync.target])
    first = host.sync(peer.table(), "GET", path, sync)
    assert host.rows(sync.target) == expected
    assert first.counts == Counts(created=len(expected))
    assert first.pages > 1
    second = host.sync(peer.table(), "GET", path, sync)
    assert host.rows(sync.target) == expected
    assert second.counts == Counts(unchanged=len(expected))


# Where a line is suggested from, and how many records the server has there.
SUGGESTED = {
    "datasette, rows": ("datasette", "/crm/contacts.json?_size=50", 160),
    "datasette, objects": ("datasette", "/crm/contacts.json?_shape=objects", 160),
    "datasette, key in the query": ("datasette_by_query", "/crm/contacts.json", 160),
    "docker-registry": ("catalog", "/v2/_catalog?n=20", 60),
    "json-server, Link": ("keyed", "/contacts?_page=1&_limit=50", 160),
    "json-server, offset": ("keyed", "/contacts?_start=0&_limit=40", 160),
}


@pytest.mark.parametrize("name", SUGGESTED)
def test_a_suggested_line_brings_every_record(
    host: Host, request: pytest.FixtureRequest, name: str
) -> None:
    fixture, path, count = SUGGESTED[name]
    table = request.getfixturevalue(fixture).table()
    call = SyncLine("parts", "peer", "GET", path)
    suggestion = host.runner(table, call).suggest("parts")
    kinds = {transform: kind for kind, transform in BY_KIND.items()}
    kinds[Transform.TEXT] = FieldKind.TEXT  # a choice is text as well
    mappings = [field.mapping for field in suggestion.fields]
    host.open(
        "part", tuple(HostField(row.host, "", kinds[row.transform]) for row in mappings)
    )
    line = suggestion.completed_line(call)
    # This host has no tables.
    line = replace(line, sync=replace(line.sync, target="part"))
    *_, last = host.runner(table, line).run("parts", "tester")
    assert last.pages > 1
    assert last.counts == Counts(created=count), suggestion.facts()


@pytest.mark.parametrize("way", WAYS)
def test_wrong_credentials_end_a_pull_before_anything_is_written(
    host: Host, peer: Peer, way: str
) -> None:
    fixture, path, sync = WAYS[way]
    wrong = "not-the-right-secret-0815"
    with pytest.raises(OutkeyError) as caught:
        host.sync(peer.table(wrong), "GET", path, sync)
    (run,) = host.runs.newest(1)
    assert (run.state, run.pages, host.rows(sync.target)) == (RunState.FAILED, 0, [])
    assert run.cause == CAUSES[fixture]
    assert not find(f"{caught.value!r} {caught.value.hint} {run}".encode(), wrong)


def test_what_changes_at_the_source_is_what_the_next_pull_changes(
    host: Host, keyed: Peer, json_server: str
) -> None:
    pull = partial(
        host.sync, keyed.table(), "GET", "/changing", WAYS["json-server, page"][2]
    )
    pull()
    table = f"{json_server}/changing"
    changed, new = CONTACTS[10] | {"credit": 0.3}, contact(1000)
    assert Asker().ask(f"{table}/C-11", method="DELETE").status == 200
    assert Asker().ask(f"{table}/C-10", method="PUT", data=changed).status == 200
    assert Asker().ask(table, method="POST", data=new).status == 201
    assert pull().counts == Counts(created=1, updated=1, archived=1, unchanged=158)
    left = [*CONTACTS[:10], changed, *CONTACTS[12:], new]
    assert host.rows() == in_order([kept(one) for one in left])


def test_a_pull_goes_on_behind_the_last_page_when_the_server_is_back(
    host: Host, folder: Folder, keyed: Peer, json_server: str
) -> None:
    _, path, sync = WAYS["json-server, page"]
    with door_running(folder("closing"), json_server, KEYED) as url:
        steps = host.steps(replace(keyed, url=url).table(), "GET", path, sync)
        begun, _ = next(steps), next(steps)
    with pytest.raises(ConnectionFailed):
        next(steps)
    assert len(host.rows()) == sync.pagination.size
    last = host.sync(keyed.table(), "GET", path, sync)
    assert (last.id, last.counts) == (begun.id, Counts(created=len(CONTACTS)))
    assert host.rows() == in_order(SOURCE["contact"])


def test_an_api_whose_next_page_is_elsewhere_is_not_followed_there(
    host: Host, folder: Folder, keyed: Peer, json_server: str
) -> None:
    _, path, sync = WAYS["json-server, Link"]
    with (
        door_running(folder("careless"), json_server, KEYED, host="") as url,
        pytest.raises(SyncFailed) as caught,
    ):
        host.sync(replace(keyed, url=url).table(), "GET", path, sync)
    assert caught.value.reason == "foreign_next"
    assert host.rows() == []


# ── pushing ───────────────────────────────────────────────────────────────────────────


def test_what_was_pulled_from_one_server_and_pushed_to_another_is_the_same_there(
    host: Host, gateway_for: GatewayFor, request: pytest.FixtureRequest
) -> None:
    datasette, keyed, signed, tokened = map(
        request.getfixturevalue, ("datasette", "keyed", "signed", "tokened")
    )
    pages = WAYS["json-server, page"][2]
    expected, size = in_order(SOURCE["contact"]), len(CONTACTS)
    _, path, from_datasette = WAYS["datasette, cursor"]
    host.sync(datasette.table(), "GET", path, from_datasette)

    posted = host.sync(keyed.table(), "POST", "/pushed", PUSH)
    assert posted.counts == Counts(created=size)
    other = Host(gateway_for)
    other.sync(tokened.table(), "GET", "/pushed", pages)
    assert other.rows() == expected

    for one in host.records.table("contact").values():
        one["credit"] = Decimal("0.1") - Decimal(str(one["credit"]))
    put = host.sync(signed.table(), "PUT", "/pushed/{number}", PUSH)
    assert put.counts == Counts(updated=size)
    again = other.sync(tokened.table(), "GET", "/pushed", pages)
    assert again.counts.updated + again.counts.unchanged == size
    assert other.rows() == host.rows() != expected


def test_records_that_are_there_already_are_not_pushed_a_second_time(
    host: Host, keyed: Peer, json_server: str
) -> None:
    host.sync(keyed.table(), "GET", "/contacts", WAYS["json-server, page"][2])
    with pytest.raises(
        BadResponse
    ) as caught:  # json-server's word for an id that is taken
        host.sync(keyed.table(), "POST", "/contacts", PUSH)
    assert caught.value.status == 500
    assert Asker().ask(f"{json_server}/contacts").json == CONTACTS
