"""Databases of others that are hostile, and rows that outkey did not write."""

import socketserver
from pathlib import Path

import pytest

from database.hostile_servers import FileThief, MysqlClient, PasswordClient, served
from database.table_places import OTHER, shape
from database.test_table_faults import history
from outkey.adapters.secrets_reference import ReferencedSecrets
from outkey.adapters.states_memory import MemoryStateRows
from outkey.adapters.tables import NamedDatabases, SqliteFiles, TableStore
from outkey.core.config.sync_sections import OtherDatabase
from outkey.core.errors import ConfigError, OutkeyError
from outkey.core.sync.records import FieldKind

WANTED = shape(("id", FieldKind.NUMBER), ("v", FieldKind.TEXT))
TARGET = f"table:{OTHER}.t"


def store_of(url: str, own: Path) -> TableStore:
    """Return tables in the database of a URL, as a row of any origin may have it."""
    settings = {OTHER: OtherDatabase(OTHER, url)}
    files = SqliteFiles([own.parent], [own])
    named = NamedDatabases(lambda: settings, ReferencedSecrets().open_reference, files)
    return TableStore(MemoryStateRows(), None, named, lambda _run: "orders")


@pytest.mark.parametrize(
    ("scheme", "parameters"),
    [
        ("mysql", "local_infile=1"),
        ("mysql", "read_default_file=/etc/hostname"),
        ("mysql", "init_command=SELECT+1"),
        ("mysql", "unix_socket=/run/mysqld.sock"),
        ("postgresql", "service=other"),
        ("postgresql", "passfile=/etc/hostname"),
        ("postgresql", "sslkey=/etc/hostname"),
        ("postgresql", "host=127.0.0.1"),
    ],
)
def test_a_stored_url_with_a_dangerous_parameter_is_never_used(
    scheme: str, parameters: str, tmp_path: Path
) -> None:
    with served(MysqlClient) as server:
        url = f"{scheme}://u@127.0.0.1:{server.port}/d?{parameters}"
        with pytest.raises(ConfigError) as refused:
            store_of(url, tmp_path).prepare(TARGET, WANTED)
        assert not server.clients
    assert refused.value.field == f"database.{OTHER}.url"


@pytest.mark.parametrize(
    "url",
    [
        "mysql://u:hunter2@h/d?local_infile=1",
        "postgresql://u:hunter2@h/d?hunter2=1",
        "postgresql://u:hunter2@h/d?sslmode=require&sslmode=disable",
        "oracle://u:hunter2@h/d",
        "hunter2",
    ],
)
def test_what_a_reference_leads_to_is_checked_before_it_is_saved_and_used(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WAREHOUSE_URL", url)
    store = store_of("env:WAREHOUSE_URL", tmp_path)
    for attempt in (
        lambda: store.prepare(TARGET, WANTED),
        lambda: store.refuse_database(OtherDatabase(OTHER, "env:WAREHOUSE_URL")),
    ):
        with pytest.raises(ConfigError) as refused:
            attempt()
        assert refused.value.field == f"database.{OTHER}.url"
        assert "hunter2" not in history(refused.value) + refused.value.hint


def test_a_reference_that_leads_to_nothing_yet_can_be_saved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("WAREHOUSE_URL", raising=False)
    store = store_of("env:WAREHOUSE_URL", tmp_path)
    store.refuse_database(OtherDatabase(OTHER, "env:WAREHOUSE_URL"))


def test_a_server_that_asks_for_a_file_gets_none(tmp_path: Path) -> None:
    with served(FileThief) as server:
        url = f"mysql://u@127.0.0.1:{server.port}/d"
        with pytest.raises((OutkeyError, RuntimeError)):
            store_of(url, tmp_path).prepare(TARGET, WANTED)
        assert any(command[:1] == b"\x03" for command in server.received)
        assert b"PATH=" not in b"".join(server.received)


def test_a_server_gets_no_password_of_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """libpq would send what PGPASSWORD or ~/.pgpass has to any server."""
    (tmp_path / ".pgpass").write_text("*:*:*:*:hunter2\n")
    (tmp_path / ".pgpass").chmod(0o600)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert sent_password(PasswordClient, tmp_path) == b""
    monkeypatch.setenv("PGPASSFILE", str(tmp_path / ".pgpass"))
    assert sent_password(PasswordClient, tmp_path) == b""
    monkeypatch.setenv("PGPASSWORD", "hunter2")
    assert sent_password(PasswordClient, tmp_path) == b""


def sent_password(
    handler: type[socketserver.BaseRequestHandler], folder: Path
) -> bytes:
    """Return what a server gets that asks for the password of a URL without one."""
    with served(handler) as server:
        url = f"postgresql://u@127.0.0.1:{server.port}/d"
        with pytest.raises(OutkeyError):
            store_of(url, folder).prepare(TARGET, WANTED)
    return server.received[1]
