"""Pairs on real databases, against an API over HTTP: equal at the end, no echo."""

import http.client
import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

import pytest
from django.conf import settings
from django.db import connection, connections
from sqlalchemy import create_engine

from database.conftest import configure
from outkey.administration.core.document.document import parse_document
from outkey.foundation.core.secret import Secret
from outkey.spar import Spar
from outkey.sync.adapters.tables.databases import parse_database_url
from outkey.sync.core.pairs.section import ConflictRule
from outkey.sync.core.run.run import Run, RunState
from outkey.sync.engine.targets import Targets

if TYPE_CHECKING:
    from outkey.administration.engine.application import Application

FULL = pytest.mark.full
PLACES = (
    pytest.param("model in sqlite", marks=FULL),
    "model in postgresql",
    "table in sqlite",
    pytest.param("table in postgresql", marks=FULL),
    pytest.param("other sqlite", marks=FULL),
    pytest.param("other postgresql", marks=FULL),
    "other mariadb",
)
DOCUMENT = """
[database.warehouse]
url = "env:WAREHOUSE_URL"
[configuration.acme]
base_url = "{url}"
network = "internal"
authentication_type = "bearer"
token = "env:ACME_TOKEN"
[line.contacts]
configuration = "acme"
direction = "pull"
path = "/records/stored"
records = "items"
target = "{target}"
keys = ["external_id"]
gone = "{gone}"
guard_percent = 100
fields = [{{ api = "number", host = "external_id" }}, {{ api = "name", host = "name" }}]
[line.send]
configuration = "acme"
direction = "push"
target = "{target}"
remote_id = "data.id"
guard_percent = 100
query = {{ own_id = "number" }}
create = {{ method = "POST", path = "/records/stored" }}
update = {{ method = "PATCH", path = "/records/stored/{{remote_id}}" }}
delete = {{ method = "DELETE", path = "/records/stored/{{remote_id}}" }}
fields = [{{ api = "number", host = "external_id" }}, {{ api = "name", host = "name" }}]
[pair.contacts]
pull = "contacts"
push = "send"
conflict = "{rule}"
"""
BY_API_USER = {"X-By": "a user of the API"}
Execute = Callable[[str], list[tuple[object, ...]]]


@pytest.fixture(scope="module")
def spar() -> Iterator[Spar]:
    with Spar() as server:
        yield server


class Killed(BaseException):
    """What a kill looks like from inside."""


@dataclass
class Host:
    """The host's contacts, as users see and change them."""

    target: str
    table: str
    execute: Execute

    @property
    def condition(self) -> str:
        return "active" if self.table == "demo_contact" else "archived_at IS NULL"

    def all(self, *, archives: bool) -> dict[object, object]:
        where = f" WHERE {self.condition}" if archives else ""
        rows = self.execute(f"SELECT external_id, name FROM {self.table}{where}")
        assert len(rows) == len({number for number, _ in rows})
        return dict(rows)  # type: ignore[arg-type]

    def edit(self, number: str, name: str) -> None:
        self.execute(
            f"UPDATE {self.table} SET name = '{name}' WHERE external_id = '{number}'"
        )

    def remove(self, number: str) -> None:
        self.execute(f"DELETE FROM {self.table} WHERE external_id = '{number}'")

    def add(self, number: str, name: str) -> None:
        if self.table == "demo_contact":
            from outkey.hosts.demo_records.models import Contact

            Contact.objects.create(external_id=number, name=name)
            return
        self.execute(
            f"INSERT INTO {self.table} (external_id, name, outkey_line, outkey_run)"
            f" VALUES ('{number}', '{name}', '', '')"
        )


@dataclass
class Office:
    """A pair of lines, the host's records and the API's."""

    application: "Application"
    host: Host
    spar: Spar
    gone: str

    def run(self) -> list[Run]:
        runs = self.application.sync.pair_runner().run("contacts", "tester")
        assert [run.state for run in runs] == [RunState.DONE, RunState.DONE]
        assert not any(run.counts.failed for run in runs)
        return runs

    def ours(self) -> dict[object, object]:
        return self.host.all(archives=self.gone == "archive")

    def theirs(self) -> dict[object, object]:
        return {item["number"]: item["name"] for item in self.spar.stored.all()}

    def at_api(self, method: str, place: str = "", **record: object) -> None:
        """Change a record of the API as its own users do."""
        address = self.spar.url.removeprefix("http://")
        api = http.client.HTTPConnection(address, timeout=10)
        headers = {"Authorization": "Bearer spar-token", **BY_API_USER}
        path = f"/records/stored{place}?own_id=number"
        api.request(method, path, json.dumps(record), headers)
        assert api.getresponse().status < 300
        api.close()

    def writes(self) -> list[str]:
        """Return what outkey has written at the API since the last call."""
        arrivals = self.spar.journal
        self.spar.clear()
        return sorted(
            f"{arrival.method} {arrival.path.rpartition('/')[2]}"
            for arrival in arrivals
            if arrival.method != "GET" and not arrival.values(*BY_API_USER)
        )


def in_django(statement: str) -> list[tuple[object, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return list(cursor.fetchall()) if cursor.description else []


def in_database(url: str) -> Execute:
    def execute(statement: str) -> list[tuple[object, ...]]:
        engine = create_engine(parse_database_url("warehouse", Secret(url)))
        with engine.begin() as opened:
            result = opened.exec_driver_sql(statement)
            rows = [tuple(row) for row in result] if result.returns_rows else []
        engine.dispose()
        return rows

    return execute


Opened = Callable[..., Office]


@pytest.fixture(params=PLACES)
def opened(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    spar: Spar,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Opened]:
    """Open an installation whose pair has its records in one of the places."""
    where: str = request.param
    kind, _, vendor = where.rpartition(" ")
    if vendor == "postgresql" and kind != "other":
        tables = request.getfixturevalue("postgresql_tables")
        cluster = request.getfixturevalue("postgresql")
        configure(cluster.create("outkey", tables), tmp_path)
    else:
        tables = request.getfixturevalue("sqlite_tables")
        shutil.copy(tables, tmp_path / "outkey.sqlite3")
        configure(None, tmp_path)
    warehouse = f"sqlite:///{tmp_path / 'warehouse.sqlite3'}"
    if where == "other postgresql":
        warehouse = request.getfixturevalue("postgresql").create("pairs")
    elif where == "other mariadb":
        warehouse = request.getfixturevalue("mariadb").create("pairs")
    host = {
        "model in": Host("demo.contact", "demo_contact", in_django),
        "table in": Host("table:contacts", "data_contacts", in_django),
        "other": Host("table:warehouse.contacts", "contacts", in_database(warehouse)),
    }[kind]
    monkeypatch.setenv("WAREHOUSE_URL", warehouse)
    monkeypatch.setenv("OUTKEY_SQLITE_FOLDERS", str(tmp_path))
    monkeypatch.setenv("ACME_TOKEN", "spar-token")
    opened_models = {"demo.Contact": {"active": False}}
    monkeypatch.setattr(settings, "OUTKEY", {"RECORDS": opened_models}, raising=False)
    offices: list[Office] = []

    def open_office(
        rule: ConflictRule = ConflictRule.API,
        gone: str = "delete",
        numbers: tuple[object, ...] = ("n1", "n2", "n3"),
    ) -> Office:
        from outkey.hosts.django.wiring import install

        (tmp_path / "home" / "config").mkdir(parents=True)
        application = install(tmp_path / "home")
        text = DOCUMENT.format(url=spar.url, target=host.target, rule=rule, gone=gone)
        application.apply(
            application.administration("tester"), parse_document(text), dry_run=False
        )
        office = Office(application, host, spar, gone)
        offices.append(office)
        for number in numbers:
            office.at_api("POST", number=number, name=f"Name {number}")
        office.run()
        assert {*office.ours().values()} == {*office.theirs().values()}
        assert office.writes() == []
        return office

    yield open_office
    for office in offices:
        office.application.gateway.close()
        for item in office.theirs():
            office.at_api("DELETE", f"/{item}")
    connections.close_all()


@pytest.mark.parametrize("gone", ["delete", "archive"])
def test_each_change_travels_once_and_both_sides_are_equal(
    opened: Opened, gone: str
) -> None:
    office = opened(gone=gone)
    office.at_api("PATCH", "/n1", name="By the API")
    office.at_api("POST", number="n5", name="New at the API")
    office.host.edit("n2", "By the host")
    office.host.remove("n3")
    office.host.add("n4", "New in the host")
    office.run()
    assert office.ours() == office.theirs()
    assert office.ours() == {
        "n1": "By the API",
        "n2": "By the host",
        "n4": "New in the host",
        "n5": "New at the API",
    }
    assert office.writes() == ["DELETE n3", "PATCH n2", "POST stored"]
    office.at_api("DELETE", "/n5")
    office.run()
    assert "n5" not in office.ours()
    assert office.ours() == office.theirs()
    office.run()
    assert office.writes() == []


def test_a_record_that_comes_back_at_the_api_is_there_again(opened: Opened) -> None:
    office = opened(gone="archive")
    office.at_api("DELETE", "/n1")
    office.run()
    assert "n1" not in office.ours()
    office.at_api("POST", number="n1", name="Back")
    office.run()
    assert office.ours() == office.theirs()
    assert office.ours()["n1"] == "Back"
    assert office.writes() == []


@pytest.mark.parametrize(
    ("rule", "wanted", "sent"),
    [(ConflictRule.API, "A", []), (ConflictRule.HOST, "H", ["PATCH n1"])],
)
def test_where_both_changed_a_record_the_rule_decides(
    opened: Opened, rule: ConflictRule, wanted: str, sent: list[str]
) -> None:
    office = opened(rule)
    office.at_api("PATCH", "/n1", name="A")
    office.host.edit("n1", "H")
    office.run()
    assert office.ours() == office.theirs()
    assert office.ours()["n1"] == wanted
    assert office.writes() == sent
    office.run()
    assert office.writes() == []


def test_a_user_decides_and_a_change_wins_over_a_deletion(opened: Opened) -> None:
    office = opened(ConflictRule.ASK)
    office.at_api("PATCH", "/n1", name="A")
    office.host.edit("n1", "H")
    office.at_api("PATCH", "/n2", name="Changed")
    office.host.remove("n2")
    office.host.edit("n3", "Kept")
    office.at_api("DELETE", "/n3")
    office.run()
    assert office.writes() == []
    pairs = office.application.sync.pair_runner()
    assert sorted(known.key for known in pairs.conflicts("contacts")) == [
        "n1",
        "n2",
        "n3",
    ]
    for number in ("n1", "n3"):
        pairs.resolve("contacts", number, ConflictRule.HOST)
    pairs.resolve("contacts", "n2", ConflictRule.API)
    office.run()
    assert office.ours() == {"n1": "H", "n2": "Changed", "n3": "Kept"}
    assert office.ours() == office.theirs()
    assert office.writes() == ["PATCH n1", "POST stored"]
    assert list(pairs.conflicts("contacts")) == []
    office.run()
    assert office.writes() == []


def test_an_edit_between_comparing_and_writing_is_not_lost(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The host wins also where a deadlock lets the late edit come first.
    office = opened(ConflictRule.HOST)
    office.at_api("PATCH", "/n1", name="By the API")
    matching = Targets.matching
    late_edit = Thread(target=edit_late, args=(office.host,))

    def edit_meanwhile(*args: Any) -> object:  # noqa: ANN401 - of the method
        found = matching(*args)
        if late_edit.ident is None:
            late_edit.start()
            late_edit.join(0.3)
            assert late_edit.is_alive(), "the record was not locked"
        return found

    monkeypatch.setattr(Targets, "matching", edit_meanwhile)
    *_, pulled = office.application.sync.runner().run("contacts", "tester")
    assert pulled.state is RunState.DONE
    late_edit.join(30)
    assert office.ours()["n1"] == "Late"
    office.run()
    assert office.ours() == office.theirs()
    assert office.ours()["n1"] == "Late"
    assert office.writes() == ["PATCH n1"]


def edit_late(host: Host) -> None:
    host.edit("n1", "Late")
    connections.close_all()


@pytest.mark.parametrize("step", ["page", "removal"])
@pytest.mark.parametrize("rule", [ConflictRule.API, ConflictRule.HOST])
def test_a_kill_before_the_checkpoint_loses_and_doubles_nothing(
    opened: Opened, rule: ConflictRule, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    office = opened(rule)
    office.at_api("PATCH", "/n1", name="By the API")
    office.at_api("POST", number="n4", name="New at the API")
    office.at_api("DELETE", "/n3")
    office.host.edit("n2", "By the host")
    kill_after_commit(office, step, monkeypatch)
    office.run()
    assert office.ours() == office.theirs()
    assert office.ours() == {
        "n1": "By the API",
        "n2": "By the host",
        "n4": "New at the API",
    }
    assert office.writes() == ["PATCH n2"]
    office.run()
    assert office.writes() == []


def kill_after_commit(
    office: Office, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kill a pull when another database has committed, and the host's own has not."""
    steps = iter(["page", "removal"])
    transaction = Targets.transaction

    @contextmanager
    def die_after_it(*args: Any) -> Iterator[None]:  # noqa: ANN401 - of the method
        with transaction(*args):
            yield
        if next(steps) == step:
            raise Killed

    monkeypatch.setattr(Targets, "transaction", die_after_it)
    with pytest.raises(Killed):
        office.run()
    monkeypatch.setattr(Targets, "transaction", transaction)
    (killed,) = office.application.runs.newest(1)
    office.application.runs.cancel(killed.id)


def test_a_push_after_a_killed_pull_creates_nothing_twice(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    office = opened()
    office.at_api("POST", number="n4", name="New at the API")
    kill_after_commit(office, "page", monkeypatch)
    list(office.application.sync.runner().run("send", "tester"))
    assert office.writes() == []
    office.run()
    assert office.ours() == office.theirs()
    assert office.writes() == []


def test_a_change_at_the_api_after_a_killed_pull_is_not_lost(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    office = opened(ConflictRule.HOST)
    office.at_api("PATCH", "/n1", name="First")
    kill_after_commit(office, "page", monkeypatch)
    office.at_api("PATCH", "/n1", name="Second")
    office.run()
    assert office.ours() == office.theirs()
    assert office.ours()["n1"] == "Second"
    assert office.writes() == []


@pytest.mark.parametrize("gone", ["delete", "archive"])
def test_a_record_that_was_missing_during_a_killed_pull_is_not_deleted_at_the_api(
    opened: Opened, gone: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    office = opened(gone=gone)
    office.at_api("DELETE", "/n3")
    kill_after_commit(office, "removal", monkeypatch)
    office.at_api("POST", number="n3", name="There again")
    office.run()
    assert office.ours() == office.theirs()
    assert office.ours()["n3"] == "There again"
    assert office.writes() == []


def test_a_table_whose_key_becomes_text_keeps_its_records(opened: Opened) -> None:
    office = opened(numbers=(1, 2))
    office.at_api("PATCH", "/1", name="By the API")
    office.at_api("POST", number="n3", name="With a text")
    office.host.edit("2", "By the host")
    office.run()
    office.run()
    assert {str(key): name for key, name in office.ours().items()} == {
        "1": "By the API",
        "2": "By the host",
        "n3": "With a text",
    }
    assert {str(key): name for key, name in office.theirs().items()} == {
        str(key): name for key, name in office.ours().items()
    }
    office.writes()
    office.run()
    assert office.writes() == []


def test_a_preview_of_a_pair_writes_nothing(opened: Opened) -> None:
    office = opened()
    office.at_api("PATCH", "/n1", name="By the API")
    office.host.edit("n2", "By the host")
    before = office.ours()
    runner = office.application.sync.runner()
    changes = [dict(effect.changes) for effect in runner.preview("contacts")]
    assert changes == [{"name": ("Name n1", "By the API")}, {}, {}]
    for line in ("contacts", "send"):
        *_, last = runner.run(line, "tester", dry_run=True)
        assert (last.counts.updated, last.counts.unchanged) == (1, 2)
    assert office.ours() == before
    assert office.writes() == []


@pytest.mark.parametrize("rule", [ConflictRule.API, ConflictRule.HOST])
def test_a_table_that_others_dropped_is_filled_again_and_nothing_is_deleted(
    opened: Opened, rule: ConflictRule
) -> None:
    office = opened(rule)
    if office.host.table == "demo_contact":
        return  # a host does not drop its own tables
    office.run()
    office.host.add("n9", "of the host")
    office.run()
    expected = office.theirs()
    assert office.ours() == expected
    office.writes()
    office.host.execute(f"DROP TABLE {office.host.table}")
    for _ in range(2):
        office.run()
        assert office.ours() == office.theirs() == expected
        assert office.writes() == []
    # From now on users are asked again.
    office.host.edit("n1", "edited")
    office.host.remove("n2")
    office.run()
    assert office.ours() == office.theirs()
    assert office.theirs()["n1"] == "edited"
    assert office.writes() == ["DELETE n2", "PATCH n1"]
