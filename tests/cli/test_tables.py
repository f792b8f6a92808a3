"""Tables and files from the command line, without a line of Django."""

import csv
import json
import sqlite3
import subprocess
import sys
from io import StringIO
from pathlib import Path

import pytest
from pyarrow import parquet

from cli.conftest import Terminal
from outkey.spar import Spar

FIELDS = """
[[line.contacts.fields]]
api = "id"
host = "id"
[[line.contacts.fields]]
api = "full_name"
host = "name"
[[line.contacts.fields]]
api = "credit"
host = "credit"
transform = "decimal"
"""


def contacts(spar: Spar, target: str, count: int = 25, more: str = "") -> str:
    return f"""
[configuration.acme]
base_url = "{spar.url}"
network = "internal"
authentication_type = "bearer"
token = "env:ACME_TOKEN"
{more}
[line.contacts]
configuration = "acme"
direction = "pull"
path = "/records/contacts"
query = {{ count = "{count}" }}
records = "items"
target = "{target}"
keys = ["id"]
[line.contacts.pagination]
kind = "page"
size = 10
size_parameter = "per_page"
position_parameter = "page"
{FIELDS}
"""


SEND = """
[line."send on"]
configuration = "acme"
direction = "push"
target = "table:warehouse.contacts"
remote_id = "data.id"
[line."send on".create]
method = "POST"
path = "/records/stored"
[line."send on".delete]
method = "DELETE"
path = "/records/stored/{remote_id}"
[[line."send on".fields]]
host = "name"
api = "name"
"""


@pytest.fixture
def terminal(outkey: Terminal) -> Terminal:
    outkey.settings["ACME_TOKEN"] = "spar-token"
    return outkey


APPLY = """
import sys
from outkey.hosts.cli.entry import main
sys.argv = ["outkey", "apply", "-"]
try:
    main()
except SystemExit as done:
    assert not done.code
print("sqlalchemy" in sys.modules)
"""


@pytest.mark.parametrize(
    ("target", "is_loaded"),
    [("demo.contact", False), ("file:contacts.csv", False), ("table:contacts", True)],
)
def test_an_apply_without_tables_does_not_load_sqlalchemy(
    terminal: Terminal, spar: Spar, *, target: str, is_loaded: bool
) -> None:
    document = contacts(spar, target)
    if target == "demo.contact":
        document = document.replace('"id"]', '"external_id"]').replace(
            'host = "id"', 'host = "external_id"'
        )
    done = subprocess.run(
        [sys.executable, "-c", APPLY],
        env=terminal.environment | {"OUTKEY_DEMO": "1"},
        input=document,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.splitlines()[-1] == str(is_loaded), done.stdout + done.stderr


def test_a_table_from_apply_to_export(terminal: Terminal, spar: Spar) -> None:
    applied = terminal("apply", "-", stdin=contacts(spar, "table:contacts"))
    assert (applied.code, "line.contacts" in applied.err) == (0, False)
    dry = terminal("line", "run", "contacts", "--dry-run")
    change = "table contacts: would be created: id text, name text, credit decimal"
    assert (dry.code, change in dry.out) == (0, True), dry
    assert terminal("data", "list", "--json").json == []
    done = terminal("line", "run", "contacts", "--json")
    assert done.json["created"] == 25
    assert done.json["changes_to_target"] == [change.replace("would be ", "")]
    again = terminal("line", "run", "contacts", "--json").json
    assert (again["unchanged"], again["changes_to_target"]) == (25, [])
    (listed,) = terminal("data", "list", "--json").json
    assert (listed["table"], listed["rows"]) == ("contacts", 25)
    assert "contacts" in terminal("data", "list").out
    shown = terminal("data", "show", "contacts", "--limit", "3", "--json").json
    assert [row["outkey_id"] for row in shown["records"]] == [1, 2, 3]
    assert len(terminal("data", "show", "contacts").out.splitlines()) == 21
    rows = list(csv.DictReader(StringIO(terminal("data", "export", "contacts").out)))
    assert (len(rows), [*rows[0]]) == (25, ["id", "name", "credit"])
    lines = terminal("data", "export", "contacts", "--format", "jsonl").out.splitlines()
    assert [json.loads(line)["id"] for line in lines] == [row["id"] for row in rows]


def test_a_table_is_exported_as_parquet_to_a_file_only(
    terminal: Terminal, spar: Spar, tmp_path: Path
) -> None:
    terminal("apply", "-", stdin=contacts(spar, "table:contacts"))
    terminal("line", "run", "contacts")
    refused = terminal("data", "export", "contacts", "--format", "parquet")
    assert (refused.code, "--output" in refused.err) == (2, True)
    file = tmp_path / "contacts.parquet"
    done = terminal(
        "data", "export", "contacts", "--format", "parquet", "--output", str(file)
    )
    assert (done.code, file.stat().st_mode & 0o777) == (0, 0o600)
    assert done.out == f"exported 25 records of contacts to {file}\n"
    table = parquet.read_table(file)
    assert [str(field.type) for field in table.schema] == [
        "string",
        "string",
        "decimal128(38, 18)",
    ]
    assert table.num_rows == 25
    unknown = terminal("data", "show", "nothing")
    assert (unknown.code, "outkey data list" in unknown.err) == (2, True)
    unwritable = terminal("data", "export", "contacts", "--output", "/proc/x.csv")
    assert unwritable.code == 5


def test_a_table_in_another_database(
    terminal: Terminal, spar: Spar, tmp_path: Path
) -> None:
    file = tmp_path / "warehouse.db"
    section = '[database.warehouse]\nurl = "env:WAREHOUSE_URL"'
    document = contacts(spar, "table:warehouse.contacts", more=section)
    missing = terminal("apply", "-", stdin=document)
    assert missing.code == 0
    assert "WAREHOUSE_URL" in missing.err
    terminal.settings["WAREHOUSE_URL"] = f"sqlite:///{file}"
    terminal.settings["OUTKEY_SQLITE_FOLDERS"] = str(tmp_path)
    again = terminal("apply", "-", "--json", stdin=document).json
    assert again["databases"]["unchanged"] == ["warehouse"]
    assert terminal("line", "run", "contacts", "--json").json["created"] == 25
    with sqlite3.connect(file) as database:
        assert database.execute("SELECT count(*) FROM contacts").fetchone() == (25,)
    assert section in terminal("export").out
    assert "database" in terminal("audit", "export").out
    (listed,) = terminal("data", "list", "--json").json
    assert listed["table"] == "warehouse.contacts"


def test_a_table_that_was_dropped_and_filled_again_is_not_sent_a_second_time(
    terminal: Terminal, spar: Spar, tmp_path: Path
) -> None:
    file = tmp_path / "warehouse.db"
    terminal.settings["WAREHOUSE_URL"] = f"sqlite:///{file}"
    terminal.settings["OUTKEY_SQLITE_FOLDERS"] = str(tmp_path)
    section = '[database.warehouse]\nurl = "env:WAREHOUSE_URL"'
    document = contacts(spar, "table:warehouse.contacts", more=section)
    assert terminal("apply", "-", stdin=document + SEND).code == 0
    assert terminal("line", "run", "contacts").code == 0
    assert terminal("line", "run", "send on", "--json").json["created"] == 25
    stored = spar.stored.all()
    with sqlite3.connect(file) as database:
        database.execute("DROP TABLE contacts")
    assert terminal("line", "run", "contacts", "--json").json["created"] == 25
    refused = terminal("line", "run", "send on")
    assert refused.code == 1
    assert "25 of the 25 records that were sent are no longer in" in refused.err
    assert "outkey line run 'send on' --allow-removal" in refused.err
    (last, *_) = terminal("run", "list", "--json").json
    assert (last["state"], last["cause"]) == ("failed", "target_replaced")
    assert "'send on' --allow-removal" in terminal("run", "show", last["run"]).out
    assert spar.stored.all() == stored
    allowed = terminal("line", "run", "send on", "--allow-removal", "--json").json
    assert (allowed["created"], allowed["deleted"]) == (25, 0)
    assert terminal("line", "run", "send on", "--json").json["unchanged"] == 25


def test_a_database_that_is_down_is_named_without_its_password(
    terminal: Terminal, spar: Spar
) -> None:
    section = '[database.warehouse]\nurl = "env:WAREHOUSE_URL"'
    document = contacts(spar, "table:warehouse.contacts", more=section)
    for scheme in ("postgresql", "mysql"):
        url = f"{scheme}://user:hunter2-secret@127.0.0.1:9/name"
        terminal.settings["WAREHOUSE_URL"] = url
        applied = terminal("apply", "-", stdin=document)
        assert (applied.code, "warehouse" in applied.err) == (0, True)
        done = terminal("line", "run", "contacts")
        assert (done.code, "the database warehouse cannot be reached" in done.err) == (
            5,
            True,
        )
        printed = applied.out + applied.err + done.out + done.err
        assert "hunter2" not in printed
        assert "127.0.0.1:9" not in printed


def test_a_table_that_cannot_be_read_does_not_hide_the_others(
    terminal: Terminal, spar: Spar, tmp_path: Path
) -> None:
    file = tmp_path / "warehouse.db"
    terminal.settings["WAREHOUSE_URL"] = f"sqlite:///{file}"
    terminal.settings["OUTKEY_SQLITE_FOLDERS"] = str(tmp_path)
    section = '[database.warehouse]\nurl = "env:WAREHOUSE_URL"'
    for target in ("table:warehouse.contacts", "table:contacts"):
        terminal("apply", "-", stdin=contacts(spar, target, more=section))
        assert terminal("line", "run", "contacts").code == 0
    with sqlite3.connect(file) as database:
        database.execute("DROP TABLE contacts")
    listed = terminal("data", "list", "--json")
    assert listed.code == 0
    assert [fact["rows"] for fact in listed.json] == [25, None]
    assert "lacks a table" in listed.json[1]["problem"]
    assert "lacks a table" in terminal("data", "list").out
    assert terminal("data", "show", "warehouse.contacts").code == 5


def test_a_password_in_a_document_and_urls_of_nothing_are_refused(
    terminal: Terminal, spar: Spar
) -> None:
    literal = '[database.warehouse]\nurl = "postgresql://u:hunter2@h/n"'
    document = contacts(spar, "table:warehouse.contacts", more=literal)
    refused = terminal("apply", "-", stdin=document)
    assert (refused.code, "hunter2" in refused.err) == (2, False)
    own = terminal.home / "data" / "outkey.sqlite3"
    terminal.settings["OUTKEY_SQLITE_FOLDERS"] = "/"
    for url in (
        "oracle://u:hunter2@h/n",
        "nonsense hunter2",
        "sqlite:///hunter2.db",
        f"sqlite:///{own}",
    ):
        terminal.settings["WAREHOUSE_URL"] = url
        section = '[database.warehouse]\nurl = "env:WAREHOUSE_URL"'
        document = contacts(spar, "table:warehouse.contacts", more=section)
        refused = terminal("apply", "-", "--json", stdin=document)
        assert refused.json["error"]["field"] == "database.warehouse.url"
        assert (refused.code, "hunter2" in refused.out) == (2, False), url


def test_a_sqlite_database_is_refused_until_the_operator_names_its_folder(
    terminal: Terminal, spar: Spar, tmp_path: Path
) -> None:
    file = tmp_path / "authorized_keys"
    section = f'[database.warehouse]\nurl = "sqlite:///{file}"'
    document = contacts(spar, "table:warehouse.contacts", more=section)
    refused = terminal("apply", "-", stdin=document)
    assert refused.code == 2
    assert "(database.warehouse.url)" in refused.err
    assert "OUTKEY_SQLITE_FOLDERS" in refused.err
    assert not file.exists()
    terminal.settings["OUTKEY_SQLITE_FOLDERS"] = f"/nowhere:{tmp_path}"
    assert terminal("apply", "-", stdin=document).code == 0
    del terminal.settings["OUTKEY_SQLITE_FOLDERS"]
    again = terminal("line", "run", "contacts")
    assert (again.code, "OUTKEY_SQLITE_FOLDERS" in again.err) == (2, True)


@pytest.mark.parametrize("ending", ["jsonl", "csv", "parquet"])
def test_a_file_is_replaced_as_a_whole(
    terminal: Terminal, spar: Spar, tmp_path: Path, ending: str
) -> None:
    terminal.settings["OUTKEY_FILES"] = str(tmp_path / "files")
    file = tmp_path / "files" / "out" / f"contacts.{ending}"
    target = f"file:out/contacts.{ending}"
    for count in (25, 12):
        terminal("apply", "-", stdin=contacts(spar, target, count))
        done = terminal("line", "run", "contacts", "--json").json
        assert done["created"] == count
        if ending == "parquet":
            assert parquet.read_table(file).num_rows == count
        else:
            header = ending == "csv"
            assert len(file.read_text().splitlines()) == count + header
    done = terminal("line", "run", "contacts")
    assert done.out.endswith(f"\nfile: {file}\n")
    assert "file: " not in terminal("line", "run", "contacts", "--dry-run").out
    assert file.stat().st_mode & 0o777 == 0o600
    names = {path.name for path in file.parent.iterdir()}
    assert names <= {file.name, f".{file.name}.unfinished"}


def test_what_a_file_cannot_do_is_refused_before_a_run(
    terminal: Terminal, spar: Spar
) -> None:
    document = contacts(spar, "file:contacts.csv")
    for key in ('gone = "archive"', 'gone = "delete"'):
        changed = document.replace('keys = ["id"]', f'keys = ["id"]\n{key}')
        terminal("apply", "-", stdin=changed)
        refused = terminal("line", "run", "contacts")
        assert (refused.code, "snapshot" in refused.err) == (2, True)
    section = '[line.contacts.incremental]\nparameter = "since"\nfield = "id"\n'
    terminal("apply", "-", stdin=document + section)
    refused = terminal("line", "run", "contacts")
    assert (refused.code, "snapshot" in refused.err) == (2, True)
