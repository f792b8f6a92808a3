"""A third host, on sqlite3 without Django: the contracts, and a life by commands."""

import inspect
import io
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from outkey.administration.ports.installation import LineRuns
from outkey.foundation.adapters.clock_system import SystemClock
from outkey.foundation.core.errors import AuditUnavailable, StorageUnavailable
from outkey.foundation.ports import database as database_ports
from outkey.foundation.ports.clock import Clock
from outkey.hosts.cli.main import run
from outkey.hosts.installation import Tables
from outkey.sending.adapters.permits_leased import LeasedPermits
from outkey.sending.adapters.secrets.keyring import new_keyring
from outkey.sending.adapters.tokens.tokens_stored import StoredTokens
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.ports import storage
from outkey.spar import Spar
from outkey.spar.records_api import contact as spar_contact
from outkey.sync.core.line.line import Gone, SyncLine
from outkey.sync.core.mapping.records import WriteOutcome
from outkey.sync.engine.line_registry import Registry
from outkey.sync.engine.pull.page_groups import MOST_PAGES
from outkey.sync.engine.runs.runs import Runs
from outkey.sync.ports import sync
from outkey.testing import FakeClock, FixedRing, configuration
from outkey.testing.contracts_audit import AuditRowsContract, rows_at
from outkey.testing.contracts_database import DatabaseContract
from outkey.testing.contracts_ledger import LedgerRowsContract, StoredLedgerContract
from outkey.testing.contracts_pairs import PairRowsContract, StoredPairsContract
from outkey.testing.contracts_parents import (
    ParentRowsContract,
    StoredParentsContract,
)
from outkey.testing.contracts_records import TARGET, RecordsContract, contact
from outkey.testing.contracts_registry import RegistryContract
from outkey.testing.contracts_runs import (
    LineRunsContract,
    RunRowsContract,
    RunsContract,
)
from outkey.testing.contracts_state import PermitsContract, StateRowsContract
from outkey.testing.contracts_storage import (
    ConfigurationRowsContract,
    ConnectionRowsContract,
    KeyRowsContract,
    LineRowsContract,
    SecretRowsContract,
)
from outkey.testing.contracts_tokens import TokensContract
from programs import program_command
from third_host.database import SqliteDatabase
from third_host.host import command_host, open_application, sqlite_tables

FOLDER = Path(__file__).parent
LINES = ("contacts", "orders", "others")
PATIENCE = 60.0
MANY = 1000  # records, of a run that is killed
NO_DATABASE = "not a database, but long enough to be one" * 10
SEND = """
[line.send]
configuration = "shop"
direction = "push"
target = "demo.contact"
remote_id = "data.id"
parallel = 10
create = { method = "POST", path = "/records/stored" }
update = { method = "PATCH", path = "/records/stored/{remote_id}" }
delete = { method = "DELETE", path = "/records/stored/{remote_id}" }
fields = [{ host = "external_id", api = "number" }, { host = "name", api = "name" }]
"""
PAIR = (
    SEND.replace("[line.send]", "[line.send]\nquery = { own_id = 'number' }")
    + """
guard_percent = 100
[line.bring]
configuration = "shop"
direction = "pull"
path = "/records/stored"
records = "items"
target = "demo.contact"
keys = ["external_id"]
gone = "delete"
guard_percent = 100
fields = [{ api = "number", host = "external_id" }, { api = "name", host = "name" }]
[pair.both]
pull = "bring"
push = "send"
"""
)
ROW_PORTS = (
    database_ports.Database,
    storage.ConfigurationRows,
    sync.LineRows,
    storage.SecretRows,
    storage.KeyRows,
    storage.TokenRows,
    storage.AuditRows,
    database_ports.StateRows,
    LineRuns,
    sync.RunRows,
    sync.LedgerRows,
    sync.PairRows,
    sync.ParentRows,
    sync.Records,
    sync.Queue,
)


# ── the contracts ───────────────────────────────────────────────────────────────────


class OnSqlite:
    """Gives each test of a suite a database of its own."""

    @pytest.fixture(autouse=True)
    def _database(self, tmp_path: Path) -> None:
        self.database = SqliteDatabase(tmp_path / "host.sqlite3")
        self.tables = sqlite_tables(self.database)

    def add_lines(self) -> Tables:
        """Store the sync lines that the suites of runs need."""
        registry = Registry(self.tables.storage, SystemClock())
        registry.add(configuration())
        for name in LINES:
            registry.put_line(SyncLine(name, "acme", "GET", "/x"))
        return self.tables

    def runs(self) -> Runs:
        tables = self.tables
        registry = Registry(tables.storage, SystemClock())
        return Runs(tables.runs, tables.states, self.database, registry)


class TestSqliteDatabase(OnSqlite, DatabaseContract):
    def make(self) -> tuple[database_ports.Database, database_ports.StateRows]:
        return self.database, self.tables.states


class TestConfigurationTable(OnSqlite, ConfigurationRowsContract):
    def make(self) -> sync.Storage:
        return self.tables.storage


class TestConnectionRows(OnSqlite, ConnectionRowsContract):
    def make(self) -> sync.Storage:
        return self.tables.storage


class TestLineTable(OnSqlite, LineRowsContract):
    def make(self) -> sync.Storage:
        return self.tables.storage


class TestSecretTable(OnSqlite, SecretRowsContract):
    def make(self) -> sync.Storage:
        return self.tables.storage


class TestKeyTable(OnSqlite, KeyRowsContract):
    def make(self) -> sync.Storage:
        return self.tables.storage


class TestRegistryOnSqlite(OnSqlite, RegistryContract):
    def make(self) -> sync.Storage:
        return self.tables.storage


class TestAuditTable(OnSqlite, AuditRowsContract):
    def make(self) -> storage.AuditRows:
        return self.tables.audit


class TestStateTable(OnSqlite, StateRowsContract):
    def make(self) -> database_ports.StateRows:
        return self.tables.states


class TestPermitsOnSqlite(OnSqlite, PermitsContract):
    def clock(self) -> Clock:
        return FakeClock()

    def make(self, clock: Clock) -> LeasedPermits:
        return LeasedPermits(self.tables.states, clock.monotonic)


class TestTokenTable(OnSqlite, TokensContract):
    def make(self) -> tuple[StoredTokens, Configuration]:
        rows = self.tables.storage
        stored = Registry(rows, SystemClock()).add(configuration())
        ring = FixedRing(new_keyring())
        tokens = StoredTokens(
            self.tables.tokens,
            ring,
            rows.database,
            rows.configurations,
            self.tables.states,
        )
        return tokens, stored


class TestRunTable(OnSqlite, RunRowsContract):
    def make(self) -> tuple[sync.RunRows, database_ports.Database]:
        return self.add_lines().runs, self.database


class TestLedgerTable(OnSqlite, LedgerRowsContract, StoredLedgerContract):
    def make(self) -> sync.LedgerRows:
        return self.add_lines().ledger

    def lines(self) -> sync.LineRows:
        return self.tables.storage.lines


class TestAgreementTable(OnSqlite, PairRowsContract, StoredPairsContract):
    def make(self) -> sync.PairRows:
        return self.add_lines().agreements

    def lines(self) -> sync.LineRows:
        return self.tables.storage.lines


class TestParentTable(OnSqlite, ParentRowsContract, StoredParentsContract):
    def make(self) -> sync.ParentRows:
        return self.add_lines().parents

    def lines(self) -> sync.LineRows:
        return self.tables.storage.lines


class TestLatestRuns(OnSqlite, LineRunsContract):
    def make(self) -> tuple[LineRuns, sync.RunRows]:
        tables = self.add_lines()
        return tables.line_runs, tables.runs


class TestRunsOnSqlite(OnSqlite, RunsContract):
    def make(self) -> Runs:
        self.add_lines()
        return self.runs()

    def pass_time(self, seconds: float) -> None:
        now = self.database.now() + seconds
        self.database.now = lambda: now  # type: ignore[method-assign]


class TestContactRecords(OnSqlite, RecordsContract):
    def make(self) -> sync.Records:
        return self.add_lines().records()

    def begin_run(self, line: str) -> str:
        runs = self.runs()
        for stored in runs.newest(9):
            runs.cancel(stored.id)
        return runs.begin(line, "tester", dry_run=False).id

    def test_an_archived_record_that_is_seen_again_is_active_again(self) -> None:
        records = self.make()
        records.upsert(
            TARGET, ["external_id"], [contact(1)], self.begin_run("contacts")
        )
        run_id = self.begin_run("contacts")
        assert records.retire(TARGET, "contacts", run_id, Gone.ARCHIVE) == 1
        (written,) = records.upsert(TARGET, ["external_id"], [contact(1)], run_id)
        assert written.outcome is WriteOutcome.UPDATED

    def test_a_row_whose_key_two_records_have_or_whose_value_is_taken_is_refused(
        self,
    ) -> None:
        records = self.make()
        run_id = self.begin_run("contacts")
        rows = [contact(1), contact(2, name="Contact 1"), contact(3)]
        records.upsert(TARGET, ["external_id"], rows, run_id)
        ambiguous, taken = records.upsert(
            TARGET, ["name"], [contact(1), contact(1, name="Contact 3")], run_id
        )
        assert (ambiguous.reason, taken.reason) == ("ambiguous", "taken")


# ── what is special to SQLite ───────────────────────────────────────────────────────


def test_an_audit_row_is_not_written_inside_a_transaction(tmp_path: Path) -> None:
    database = SqliteDatabase(tmp_path / "host.sqlite3")
    audit = sqlite_tables(database).audit
    with database.transaction(), pytest.raises(AuditUnavailable):
        audit.append(rows_at("k.a", 1))
    audit.append(rows_at("k.a", 1))
    with pytest.raises(AuditUnavailable):
        audit.append(rows_at("k.a", 1))
    assert len(list(audit.read())) == 1


def test_a_database_that_fails_is_storage_that_is_not_available(tmp_path: Path) -> None:
    file = tmp_path / "host.sqlite3"
    file.write_text(NO_DATABASE)
    with pytest.raises(StorageUnavailable):
        SqliteDatabase(file)
    database = SqliteDatabase(tmp_path / "other.sqlite3")
    with pytest.raises(StorageUnavailable), database.transaction():
        database.rows("SELECT * FROM unknown")
    assert not database.connection.in_transaction


# ── a life by commands ──────────────────────────────────────────────────────────────


class Commands:
    """Runs commands for the third host, in this process or in one of their own."""

    def __init__(self, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.home = home
        self.application = open_application(home)
        self.host = replace(
            command_host(home), open_application=lambda: self.application
        )
        self._capsys = capsys

    def __call__(self, *arguments: str, code: int = 0) -> str:
        """Run a command, check its exit code, and return what it printed."""
        self._capsys.readouterr()
        result = run(arguments, host=self.host)
        output = self._capsys.readouterr()
        assert result == code, output.err + output.out
        return output.out

    def json(self, *arguments: str, code: int = 0) -> Any:  # noqa: ANN401
        return json.loads(self(*arguments, "--json", code=code))

    def start(self, command: list[str]) -> subprocess.Popen[str]:
        """Start a process that has the folder of tests on its path."""
        return subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={
                "PATH": os.environ["PATH"],
                "PYTHONPATH": str(FOLDER.parent),
                "OUTKEY_HOME": str(self.home),
            },
        )


@pytest.fixture
def commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[Commands]:
    commands = Commands(tmp_path / "home", capsys)
    yield commands
    commands.application.gateway.close()


@pytest.fixture
def spar() -> Iterator[Spar]:
    with Spar() as server:
        yield server


@pytest.fixture
def shop(
    commands: Commands, spar: Spar, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Commands:
    """Commands with the configuration `shop`, its secret and the line `contacts`."""
    text = (FOLDER / "shop.toml").read_text("utf-8").replace("SPAR_URL", spar.url)
    document = tmp_path / "shop.toml"
    document.write_text(text, encoding="utf-8")
    assert "shop" in commands("apply", str(document))
    monkeypatch.setattr(sys, "stdin", io.StringIO("spar-token\n"))
    commands("secret", "set", "shop", "token")
    return commands


def test_a_configuration_is_applied_tested_previewed_and_used(
    shop: Commands, spar: Spar
) -> None:
    (listed,) = shop.json("list")
    assert (listed["name"], listed["status"]) == ("shop", "never_tested")
    assert shop.json("test", "shop")["ok"]
    assert shop.json("list")[0]["status"] == "working"
    spar.clear()
    assert "spar-token" not in shop("preview", "shop", "GET", "/records/contacts")
    assert spar.journal == []
    page = shop("request", "shop", "GET", "/records/contacts?count=1")
    assert json.loads(page)["items"] == [spar_contact(0)]


def test_an_installation_in_use_is_sound(shop: Commands) -> None:
    shop("test", "shop")
    assert shop.json("audit", "verify")["ok"]
    (key,) = shop.json("keys", "status")["keys"]
    assert (key["state"], key["secrets"]) == ("primary", 1)
    report = shop.json("doctor")
    assert report["ok"]
    named = {finding["configuration"] for finding in report["findings"]}
    assert named == {"shop"}, "nothing is wrong with the installation itself"


def test_a_login_works_in_this_host_too(
    commands: Commands, spar: Spar, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = tmp_path / "crm.toml"
    document.write_text(
        f"""
[configuration.crm]
base_url = "{spar.url}"
network = "internal"
authentication_type = "bearer"
token_source = "login"
username = "sparring"
verification = {{ test_path = "/login/api" }}
[configuration.crm.login]
path = "/login/json"
body = '{{"username": "{{username}}", "password": "{{password}}"}}'
token = "data.access_token"
logout_path = "/login/logout"
""",
        encoding="utf-8",
    )
    commands("apply", str(document))
    monkeypatch.setattr(sys, "stdin", io.StringIO("open sesame"))
    commands("secret", "set", "crm", "password")
    assert commands.json("test", "crm")["ok"]
    assert commands.json("token", "status", "crm")["state"] == "fresh"
    assert commands.json("token", "revoke", "crm")["state"] == "none"
    assert spar.authorization.counts().live_access_tokens == 0


def test_the_doctor_finds_a_broken_database(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "data" / "host.sqlite3"
    file.parent.mkdir()
    file.write_text(NO_DATABASE)
    assert run(["doctor", "--json"], host=command_host(tmp_path)) == 2
    findings = json.loads(capsys.readouterr().out)["findings"]
    assert "P-database" in {finding["id"] for finding in findings}


def test_a_line_brings_the_records_of_the_api_into_the_table_of_the_host(
    shop: Commands,
) -> None:
    assert shop.json("line", "run", "contacts", "--dry-run")["created"] == 250
    assert contacts(shop) == {}
    done = shop.json("line", "run", "contacts")
    assert (done["state"], done["created"], done["failed"]) == ("done", 250, 0)
    again = shop.json("line", "run", "contacts")
    assert (again["created"], again["unchanged"]) == (0, 250)
    assert contacts(shop) == {
        f"c{number}": (f"Contact {number}", f"{number}.50") for number in range(250)
    }
    newest = shop.json("run", "list", "--limit", "2")
    assert [item["run"] for item in newest] == [again["run"], done["run"]]


def test_a_line_sends_what_changed_of_the_records_of_the_host(
    shop: Commands, spar: Spar, tmp_path: Path
) -> None:
    shop("line", "run", "contacts")
    document = tmp_path / "send.toml"
    document.write_text(SEND, encoding="utf-8")
    shop("apply", str(document))
    assert shop.json("line", "run", "send")["created"] == 250
    database = SqliteDatabase(shop.home / "data" / "host.sqlite3")
    database.write("UPDATE contact SET name = 'Other' WHERE id = 1")
    database.write("DELETE FROM contact WHERE id = 2")
    done = shop.json("line", "run", "send")
    assert (done["updated"], done["deleted"], done["unchanged"]) == (1, 1, 248)
    names = {record["number"]: record["name"] for record in spar.stored.all()}
    assert names == {number: name for number, (name, _) in contacts(shop).items()}


def test_a_pair_keeps_both_sides_equal_in_this_host_too(
    shop: Commands, spar: Spar, tmp_path: Path
) -> None:
    document = tmp_path / "pair.toml"
    document.write_text(PAIR, encoding="utf-8")
    shop("apply", str(document))
    database = SqliteDatabase(shop.home / "data" / "host.sqlite3")
    for number in range(3):
        row = {"external_id": f"n{number}", "name": f"Name {number}"}
        database.insert("contact", row)
    assert shop.json("pair", "run", "both")["push"]["created"] == 3
    database.write("UPDATE contact SET name = 'Other' WHERE external_id = 'n0'")
    database.write("DELETE FROM contact WHERE external_id = 'n1'")
    shop("request", "shop", "PATCH", "/records/stored/n2", "--data", '{"name": "New"}')
    done = shop.json("pair", "run", "both")
    assert (done["pull"]["updated"], done["push"]["updated"]) == (1, 1)
    assert done["push"]["deleted"] == 1
    names = {record["number"]: record["name"] for record in spar.stored.all()}
    assert names == {"n0": "Other", "n2": "New"}
    assert names == {number: name for number, (name, _) in contacts(shop).items()}
    spar.clear()
    shop("pair", "run", "both")
    assert {arrival.method for arrival in spar.journal} == {"GET"}


def contacts(shop: Commands) -> dict[str, tuple[str, str]]:
    """Return names and credits of the host's contacts, by external id."""
    database = SqliteDatabase(shop.home / "data" / "host.sqlite3")
    return {
        external_id: (name, credit)
        for external_id, name, credit in database.rows(
            "SELECT external_id, name, credit FROM contact"
        )
    }


def test_a_killed_run_is_resumed_where_it_was(
    shop: Commands, spar: Spar, tmp_path: Path
) -> None:
    document = tmp_path / "shop.toml"
    text = document.read_text("utf-8").replace('count = "250"', f'count = "{MANY}"')
    document.write_text(text, encoding="utf-8")
    shop("apply", str(document))
    spar.clear()
    command = [sys.executable, "-m", "third_host.host", "line", "run", "contacts"]
    process = shop.start(command)
    with process:
        deadline = time.monotonic() + PATIENCE
        # Small pages are written together, and then the next ones.
        while len(spar.journal) < MOST_PAGES + 3 and process.poll() is None:
            assert time.monotonic() < deadline
            time.sleep(0.002)
        process.send_signal(signal.SIGKILL)
    (killed,) = shop.json("run", "list")
    assert killed["state"] == "running"
    assert len(contacts(shop)) == killed["created"]
    assert 0 < killed["created"] < MANY, "it was killed in the middle"
    # Until its lease ends, a killed run cannot be told from a slow one.
    assert shop.json("line", "run", "contacts", code=2)["error"]["code"] == "line_busy"
    database = SqliteDatabase(shop.home / "data" / "host.sqlite3")
    database.write("UPDATE run SET until = 0")
    resumed = shop.json("line", "run", "contacts")
    assert (resumed["run"], resumed["state"]) == (killed["run"], "done")
    assert resumed["created"] == MANY
    assert len(contacts(shop)) == MANY


def test_no_command_of_the_host_loads_django(shop: Commands) -> None:
    program = "third_host/command_without_django"
    for command in (["test", "shop"], ["line", "run", "contacts"], ["doctor"]):
        with shop.start(program_command(program, shop.home, *command)) as process:
            _, errors = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, errors


# ── how much a host implements ──────────────────────────────────────────────────────


def methods_of(port: type) -> list[str]:
    """Return the names of a port's methods."""
    return [name for name in vars(port) if not name.startswith("_")]


def test_a_storage_host_implements_at_most_60_methods() -> None:
    """Each one is work for the author of a host; see 0015, 0047, 0050 and 0086."""
    counts = {port.__name__: len(methods_of(port)) for port in ROW_PORTS}
    assert sum(counts.values()) <= 60, counts


def test_the_guide_lists_every_method_of_a_storage_host() -> None:
    guide = FOLDER.parents[1] / "docs" / "guide" / "writing-a-host.md"
    text = guide.read_text("utf-8")
    for port in ROW_PORTS:
        methods = ", ".join(f"`{name}`" for name in methods_of(port))
        assert f"| `{port.__name__}` | {methods} |" in text


def test_every_row_port_is_among_the_tables_of_a_host() -> None:
    """A port that is added to `Tables` or `Storage` is counted here."""
    fields = {
        **inspect.get_annotations(Tables),
        **inspect.get_annotations(storage.ConfigurationStorage),
        **inspect.get_annotations(sync.Storage),
    }
    del fields["storage"]
    del fields["close"]  # not ports
    del fields["release_thread"]
    del fields["connection"]
    del fields["zone"]
    del fields["odd_rows"]
    del fields["triggers"]
    del fields["deliveries"]  # optional: this host receives no webhooks
    assert len(fields) == len(ROW_PORTS)
