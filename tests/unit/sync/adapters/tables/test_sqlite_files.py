"""Which SQLite files may be databases of sync lines."""

import os
import sqlite3
from pathlib import Path

import pytest

from outkey.foundation.adapters.states_memory import MemoryStateRows
from outkey.foundation.core.errors import (
    BackendUnavailable,
    BackendUnknown,
    ConfigError,
    OutkeyError,
    SecretMissing,
)
from outkey.foundation.core.secret import Secret
from outkey.foundation.core.text import Text
from outkey.hosts.installation import sqlite_folders
from outkey.sending.adapters.secrets.secrets_reference import ReferencedSecrets
from outkey.sending.core.configuration.reference import Reference
from outkey.sync.adapters.tables.databases import NamedDatabases
from outkey.sync.adapters.tables.sqlite_files import SqliteFiles
from outkey.sync.adapters.tables.store import TableStore
from outkey.sync.core.databases.section import OtherDatabase
from outkey.sync.core.mapping.records import FieldKind, HostField, Shape

FIELD = "database.w.url"
OWN = "outkey's own files"
FOREIGN = "in a folder that outkey may not use"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder that the operator has named."""
    folder = tmp_path / "named"
    folder.mkdir()
    return folder


def refusal(files: SqliteFiles, path: object) -> str:
    with pytest.raises(ConfigError) as refused:
        files.resolve(str(path), field=FIELD)
    assert refused.value.field == FIELD
    assert "named" not in f"{refused.value} {refused.value.hint}"
    return str(refused.value)


def test_a_file_below_a_named_folder_is_a_database(folder: Path) -> None:
    files = SqliteFiles([folder.parent / "other", folder])
    for path in (folder / "a.db", folder / "deep" / "a.db", folder / "x" / ".." / "a"):
        assert files.resolve(str(path), field=FIELD) == Path(os.path.realpath(path))


def test_without_a_named_folder_no_file_is_a_database(folder: Path) -> None:
    with pytest.raises(ConfigError, match=FOREIGN) as refused:
        SqliteFiles().resolve(str(folder / "a.db"), field=FIELD)
    assert "OUTKEY_SQLITE_FOLDERS" in refused.value.hint


def test_dots_and_links_lead_to_no_other_folder(folder: Path) -> None:
    files = SqliteFiles([folder])
    (folder.parent / "named too").mkdir()
    (folder / "link").symlink_to(folder.parent)
    (folder / "link.db").symlink_to(folder.parent / "a.db")
    for path in (
        folder.parent / "a.db",
        folder / ".." / "a.db",
        folder / "link" / "a.db",
        folder / "link.db",
        folder.parent / "named too" / "a.db",
        folder,
        "/",
    ):
        assert FOREIGN in refusal(files, path)


def test_a_link_to_a_named_folder_is_that_folder(folder: Path) -> None:
    link = folder.parent / "link"
    link.symlink_to(folder)
    files = SqliteFiles([link])
    assert files.resolve(str(link / "a.db"), field=FIELD) == folder / "a.db"
    assert files.resolve(str(folder / "a.db"), field=FIELD) == folder / "a.db"


def test_no_file_of_outkey_is_a_database_wherever_it_is(folder: Path) -> None:
    key = folder / "the key"
    key.write_text("primary …")
    data = folder / "data"
    data.mkdir()
    (data / "outkey.sqlite3").write_bytes(b"")
    os.link(data / "outkey.sqlite3", folder / "hard link.db")
    (folder / "link.db").symlink_to(key)
    files = SqliteFiles([folder], [key, data, folder / "later"])
    for path in (
        key,
        data / "outkey.sqlite3",
        data / "new.db",
        folder / "DATA" / "new.db",  # the same where case makes no difference
        folder / "hard link.db",
        folder / "link.db",
        folder / "later" / "a.db",
    ):
        assert OWN in refusal(files, path)
    assert files.resolve(str(folder / "data.db"), field=FIELD) == folder / "data.db"


@pytest.mark.parametrize("path", ["", "a.db", ":memory:", "file:/a.db", "/a\0b"])
def test_a_path_that_is_not_absolute_is_refused(path: str, folder: Path) -> None:
    assert "not absolute" in refusal(SqliteFiles([folder]), path)


def test_folders_are_separated_like_those_of_programs(folder: Path) -> None:
    variable = {"OUTKEY_SQLITE_FOLDERS": f"relative:{folder}::/srv/data"}
    folders = sqlite_folders(variable)
    assert folders == [Path("relative"), folder, Path("/srv/data")]
    assert sqlite_folders({}) == []
    files = SqliteFiles(folders)
    assert FOREIGN in refusal(files, Path.cwd() / "relative" / "a.db")


def test_a_file_is_checked_again_when_a_connection_is_opened(folder: Path) -> None:
    """A link that takes the place of a folder later leads nowhere else."""
    inner = folder / "inner"
    inner.mkdir()
    settings = {"w": OtherDatabase("w", f"sqlite:///{inner / 'a.db'}")}
    files = SqliteFiles([folder])
    named = NamedDatabases(lambda: settings, ReferencedSecrets().open_reference, files)
    store = TableStore(MemoryStateRows(), None, named, lambda _run: "orders")
    database = named.open("w")
    inner.rmdir()
    foreign = folder.parent / "foreign"
    foreign.mkdir()
    inner.symlink_to(foreign)
    with pytest.raises(ConfigError, match=FOREIGN), database.connect():
        pass
    shape = Shape(("id",), (HostField("id", "id", FieldKind.NUMBER),))
    with pytest.raises(ConfigError, match=FOREIGN):
        store.prepare("table:w.t", shape)
    assert not [*foreign.iterdir()]
    inner.unlink()
    inner.mkdir()
    store.prepare("table:w.t", shape)
    with sqlite3.connect(inner / "a.db") as connection:
        assert connection.execute("SELECT count(*) FROM t").fetchone() == (0,)
    database.close()


@pytest.mark.parametrize("kind", [SecretMissing, BackendUnavailable])
def test_a_url_that_cannot_be_read_now_may_be_saved(kind: type[OutkeyError]) -> None:
    read: list[str] = []

    def fail(reference: Reference, field: str) -> Secret:
        read.append(str(reference))
        raise kind(Text("no {reference}", reference=reference), field=field)

    named = NamedDatabases(dict, fail, SqliteFiles())
    named.refuse_unusable(OtherDatabase("w", "vault:warehouse#url"))
    assert read == ["vault:warehouse#url"]


def test_a_url_in_an_unknown_store_is_not_saved() -> None:
    named = NamedDatabases(dict, ReferencedSecrets().open_reference, SqliteFiles())
    with pytest.raises(BackendUnknown):
        named.refuse_unusable(OtherDatabase("w", "vault:warehouse#url"))
