"""Backups that somebody damaged or wrote by hand, and restores that fail midway."""

import hashlib
import io
import json
import os
import sqlite3
import tarfile
from contextlib import closing
from pathlib import Path

import pytest

from outkey.core.errors import ConfigError, StorageUnavailable
from outkey.hosts.server.backup import archive, sqlite_copy
from outkey.hosts.server.backup.embedded import read_backup, restore

MANIFEST = {
    "version": "0.1.0",
    "database": "sqlite",
    "created_at": "2026-01-01T00:00:00+00:00",
    "format": 1,
}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with a database in which there is an old row."""
    home = tmp_path / "home"
    (home / "data").mkdir(parents=True)
    (home / "config").mkdir()
    make_database(database_of(home), "old")
    return home


def database_of(home: Path) -> Path:
    return home / "data" / "outkey.sqlite3"


def settings_of(home: Path) -> dict[str, object]:
    return {"ENGINE": "django.db.backends.sqlite3", "NAME": database_of(home)}


def make_database(path: Path, row: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("CREATE TABLE outkey_configuration (name TEXT)")
        connection.execute("INSERT INTO outkey_configuration VALUES (?)", (row,))


def row_in(path: Path) -> str:
    with closing(sqlite3.connect(path)) as connection:
        (name,) = connection.execute("SELECT name FROM outkey_configuration").fetchone()
    return str(name)


def write_backup(path: Path, members: dict[str, bytes], **facts: object) -> Path:
    hashes = {
        name: hashlib.sha256(content).hexdigest() for name, content in members.items()
    }
    manifest = json.dumps(MANIFEST | {"sha256": hashes} | facts).encode()
    with tarfile.open(path, "w:gz") as written:
        for name, content in {"manifest.json": manifest, **members}.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            written.addfile(info, io.BytesIO(content))
    return path


@pytest.fixture
def backup(tmp_path: Path) -> Path:
    """A backup in which there is a new row."""
    make_database(tmp_path / "new", "new")
    content = (tmp_path / "new").read_bytes()
    return write_backup(tmp_path / "backup", {"database": content})


def refusal_of(home: Path, file: Path) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        restore(home, settings_of(home), file, replace=True)
    assert row_in(database_of(home)) == "old"
    assert [path.name for path in (home / "data").iterdir()] == ["outkey.sqlite3"]
    return caught.value


def test_a_restored_database_is_for_its_owner_only(home: Path, backup: Path) -> None:
    umask = os.umask(0o022)
    try:
        restore(home, settings_of(home), backup, replace=True)
    finally:
        os.umask(umask)
    assert row_in(database_of(home)) == "new"
    assert database_of(home).stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    "facts",
    [
        {"sha256": 5},
        {"sha256": None},
        {"database": {"a": 1}},
        {"version": None},
        {"created_at": 1},
        {"format": "1"},
        {"format": None},
        {"other": 1},
    ],
)
def test_a_manifest_of_another_shape_is_refused(
    home: Path, tmp_path: Path, facts: dict[str, object]
) -> None:
    file = write_backup(tmp_path / "backup", {"database": b"x"}, **facts)
    assert "not a backup" in refusal_of(home, file).message


def test_a_manifest_nested_too_deeply_is_refused(home: Path, tmp_path: Path) -> None:
    file = write_backup(tmp_path / "backup", {"manifest.json": b"[" * 60_000})
    assert "not a backup" in refusal_of(home, file).message


@pytest.mark.parametrize("facts", [{"format": 2, "new": 1}, {"version": "999.0"}])
def test_a_backup_of_a_newer_version_is_refused(
    home: Path, tmp_path: Path, facts: dict[str, object]
) -> None:
    file = write_backup(tmp_path / "backup", {"database": b"x"}, **facts)
    assert "newer version" in refusal_of(home, file).message


def test_damage_in_the_middle_of_a_backup_is_refused(
    home: Path, tmp_path: Path
) -> None:
    file = write_backup(tmp_path / "backup", {"database": b"abc def ghi " * 1_000_000})
    content = bytearray(file.read_bytes())
    middle = len(content) // 2
    for place in range(middle, middle + 40):
        content[place] ^= 0xFF
    file.write_bytes(content)
    assert "not a backup" in refusal_of(home, file).message


def test_links_and_paths_in_an_archive_lead_nowhere(home: Path, tmp_path: Path) -> None:
    file = tmp_path / "backup"
    for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.DIRTYPE, tarfile.FIFOTYPE):
        with tarfile.open(file, "w:gz") as written:
            info = tarfile.TarInfo("database")
            info.type = kind
            info.linkname = str(tmp_path / "elsewhere")
            written.addfile(info)
        assert "not a backup" in refusal_of(home, file).message
    write_backup(file, {"../../elsewhere": b"x", "database": b"x"})
    assert "not a backup" in refusal_of(home, file).message
    assert not (tmp_path / "elsewhere").exists()


def test_a_header_that_would_fill_the_memory_is_not_read(
    home: Path, tmp_path: Path
) -> None:
    file = tmp_path / "backup"
    with tarfile.open(file, "w:gz") as written:
        info = tarfile.TarInfo("pax")
        info.type = tarfile.XHDTYPE
        info.size = 2 * archive.MAX_READ
        written.addfile(info, io.BytesIO(bytes(info.size)))
    assert "not a backup" in refusal_of(home, file).message


def test_a_member_larger_than_the_disk_is_not_written(
    home: Path, tmp_path: Path
) -> None:
    file = tmp_path / "backup"
    info = tarfile.TarInfo("database")
    info.size = 1 << 60
    with tarfile.open(file, "w:gz") as written:
        written.addfile(info)
    with pytest.raises(StorageUnavailable, match="no space"):
        restore(home, settings_of(home), file, replace=True)
    assert row_in(database_of(home)) == "old"


def test_a_restore_that_fails_at_the_last_step_keeps_the_old_database(
    home: Path, backup: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rename = Path.rename

    def fail_for_the_copy(source: Path, target: str | Path) -> Path:
        if source.name == archive.DATABASE:
            raise OSError
        return rename(source, target)

    monkeypatch.setattr(Path, "rename", fail_for_the_copy)
    monkeypatch.setattr(Path, "replace", fail_for_the_copy)
    with pytest.raises(StorageUnavailable):
        restore(home, settings_of(home), backup, replace=True)
    assert row_in(database_of(home)) == "old"


def test_a_config_folder_that_cannot_be_written_keeps_the_old_database(
    home: Path, tmp_path: Path
) -> None:
    make_database(tmp_path / "new", "new")
    members = {"database": (tmp_path / "new").read_bytes(), "policy.toml": b""}
    file = write_backup(tmp_path / "backup", members)
    (home / "config").rmdir()
    with pytest.raises(StorageUnavailable):
        restore(home, settings_of(home), file, replace=True)
    assert row_in(database_of(home)) == "old"


def test_a_database_in_use_is_not_replaced(home: Path, backup: Path) -> None:
    with closing(sqlite3.connect(database_of(home))) as other:
        other.execute("SELECT name FROM outkey_configuration").fetchone()
        with pytest.raises(ConfigError, match="another process"):
            read_backup(home, settings_of(home), backup, replace=True)
    assert row_in(database_of(home)) == "old"


def test_what_is_only_in_the_log_does_not_reach_the_restored_database(
    home: Path, backup: Path
) -> None:
    log = Path(f"{database_of(home)}-wal")
    with closing(sqlite3.connect(database_of(home))) as connection, connection:
        connection.execute("UPDATE outkey_configuration SET name = 'newest'")
        connection.commit()
        content = log.read_bytes()
    assert content
    log.write_bytes(content)  # as a killed process leaves it
    restore(home, settings_of(home), backup, replace=True)
    assert row_in(database_of(home)) == "new"


def test_a_damaged_database_is_replaced(home: Path, backup: Path) -> None:
    database_of(home).write_bytes(b"damaged" * 1000)
    restore(home, settings_of(home), backup, replace=True)
    assert row_in(database_of(home)) == "new"


def test_a_policy_is_replaced_on_request_and_never_deleted(
    home: Path, backup: Path, tmp_path: Path
) -> None:
    policy = home / "config" / "policy.toml"
    policy.write_bytes(b"# mine\n")
    restore(home, settings_of(home), backup, replace=True)
    assert policy.read_bytes() == b"# mine\n"

    members = {
        "database": (tmp_path / "new").read_bytes(),
        "policy.toml": b"# of the backup\n",
    }
    other = write_backup(tmp_path / "other", members)
    database_of(home).unlink()
    with pytest.raises(ConfigError, match="already"):
        restore(home, settings_of(home), other, replace=False)
    assert policy.read_bytes() == b"# mine\n"
    assert not database_of(home).exists()

    restore(home, settings_of(home), other, replace=True)
    assert policy.read_bytes() == b"# of the backup\n"


def test_a_backup_is_written_where_a_file_has_one_name_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(1, "as on a memory stick")

    monkeypatch.setattr(os, "link", refuse)
    draft = tmp_path / "draft"
    draft.write_bytes(b"new")
    archive.give_name(draft, tmp_path / "backup")
    assert (tmp_path / "backup").read_bytes() == b"new"

    draft.write_bytes(b"newer")
    with pytest.raises(FileExistsError):
        archive.give_name(draft, tmp_path / "backup")
    assert (tmp_path / "backup").read_bytes() == b"new"


def test_a_copy_that_is_no_database_of_outkey_is_refused(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "copy")) as connection, connection:
        connection.execute("CREATE TABLE other (name TEXT)")
    with pytest.raises(ConfigError, match="not a backup"):
        sqlite_copy.load(tmp_path / "copy", tmp_path / "database", replace=True)
