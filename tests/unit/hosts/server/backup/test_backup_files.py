"""Backups that somebody damaged or wrote by hand, and restores that fail midway."""

import hashlib
import io
import json
import os
import sqlite3
import tarfile
import threading
from contextlib import closing
from dataclasses import asdict
from pathlib import Path

import pytest

from outkey.foundation.core.errors import ConfigError, Sealed, StorageUnavailable
from outkey.hosts.server.backup import archive, left_overs, sqlite_copy
from outkey.hosts.server.backup.archive import Manifest
from outkey.hosts.server.backup.embedded import RestoredBackup, RestoreOptions, restore
from outkey.hosts.server.backup.left_overs import settle_left_overs
from outkey.hosts.server.backup.replacement import Plan, name_of
from outkey.hosts.server.backup.signing import sign
from outkey.hosts.server.backup.work_folders import backup_folder, restore_folder
from outkey.sending.adapters.secrets.keyring import Keyring, new_keyring
from outkey.sending.adapters.secrets.keyring_file import KeySource

RING = new_keyring()
MANIFEST = {
    "version": "0.1.0",
    "database": "sqlite",
    "created_at": "2026-01-01T00:00:00+00:00",
    "format": 2,
    "key": RING.primary.name,
    "code": "0" * 64,
}
UNSIGNED = {"format": 1, "key": "", "code": ""}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with a database in which there is an old row."""
    home = tmp_path / "home"
    (home / "data").mkdir(parents=True)
    (home / "config").mkdir()
    make_database(database_of(home), "old")
    source_of(home).save(RING)
    return home


def source_of(home: Path) -> KeySource:
    return KeySource(home / "config" / "key", None)


def database_of(home: Path) -> Path:
    return home / "data" / "outkey.sqlite3"


def settings_of(home: Path) -> dict[str, object]:
    return {"ENGINE": "django.db.backends.sqlite3", "NAME": database_of(home)}


def make_database(path: Path, row: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("CREATE TABLE outkey_configuration (name TEXT)")
        connection.execute("INSERT INTO outkey_configuration VALUES (?)", (row,))
        connection.execute(
            "CREATE TABLE outkey_sharedstate (kind TEXT, key TEXT, generation INTEGER,"
            " value TEXT, UNIQUE (kind, key))"
        )


def row_in(path: Path) -> str:
    with closing(sqlite3.connect(path)) as connection:
        (name,) = connection.execute("SELECT name FROM outkey_configuration").fetchone()
    return str(name)


def write_backup(path: Path, members: dict[str, bytes], **facts: object) -> Path:
    """Write a backup with these facts in its manifest, whatever they are."""
    hashes = {
        name: hashlib.sha256(content).hexdigest() for name, content in members.items()
    }
    return write_archive(path, members, MANIFEST | {"sha256": hashes} | facts)


def write_archive(
    path: Path, members: dict[str, bytes], manifest: dict[str, object]
) -> Path:
    content = {"manifest.json": json.dumps(manifest).encode(), **members}
    with tarfile.open(path, "w:gz") as written:
        for name, text in content.items():
            info = tarfile.TarInfo(name)
            info.size = len(text)
            written.addfile(info, io.BytesIO(text))
    return path


def write_signed(
    path: Path, members: dict[str, bytes], ring: Keyring = RING, **facts: str
) -> Path:
    """Write a backup as outkey does."""
    hashes = {
        name: hashlib.sha256(content).hexdigest() for name, content in members.items()
    }
    made: dict[str, str] = {
        "version": "0.1.0",
        "database": "sqlite",
        "created_at": "2026-01-01T00:00:00+00:00",
    }
    manifest = sign(Manifest(**made | facts, sha256=hashes), ring)  # type: ignore[arg-type]
    return write_archive(path, members, asdict(manifest))


@pytest.fixture
def new_database(tmp_path: Path) -> bytes:
    """A database in which there is a new row."""
    make_database(tmp_path / "new", "new")
    return (tmp_path / "new").read_bytes()


@pytest.fixture
def backup(tmp_path: Path, new_database: bytes) -> Path:
    """A backup in which there is a new row."""
    return write_signed(tmp_path / "backup", {"database": new_database})


def put_back(
    home: Path, file: Path, *, replace: bool = True, unsigned: bool = False
) -> RestoredBackup:
    options = RestoreOptions(replace=replace, accept_unsigned=unsigned)
    return restore(
        home, settings_of(home), file, source=source_of(home), options=options
    )


def refusal_of(home: Path, file: Path) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        put_back(home, file)
    assert row_in(database_of(home)) == "old"
    assert {path.name for path in (home / "data").iterdir()} == {
        "backup.lock",
        "outkey.sqlite3",
    }
    return caught.value


def test_a_restored_database_is_for_its_owner_only(home: Path, backup: Path) -> None:
    umask = os.umask(0o022)
    try:
        put_back(home, backup)
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
        {"key": 1},
        {"code": "ü"},
        {"code": None},
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


@pytest.mark.parametrize("facts", [{"format": 3, "new": 1}, {"version": "999.0"}])
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
        put_back(home, file)
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
        put_back(home, backup)
    assert row_in(database_of(home)) == "old"


def test_a_config_folder_that_cannot_be_written_keeps_the_old_database(
    home: Path, tmp_path: Path, new_database: bytes
) -> None:
    members = {"database": new_database, "policy.toml": b""}
    file = write_signed(tmp_path / "backup", members)
    key = home / "config" / "key"
    key.rename(tmp_path / "key")
    (home / "config").rmdir()
    source = KeySource(tmp_path / "key", None)
    options = RestoreOptions(replace=True)
    with pytest.raises(StorageUnavailable):
        restore(home, settings_of(home), file, source=source, options=options)
    assert row_in(database_of(home)) == "old"


def test_a_database_in_use_is_not_replaced(home: Path, backup: Path) -> None:
    with closing(sqlite3.connect(database_of(home))) as other:
        other.execute("SELECT name FROM outkey_configuration").fetchone()
        with pytest.raises(ConfigError, match="another process"):
            put_back(home, backup)
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
    put_back(home, backup)
    assert row_in(database_of(home)) == "new"


def test_a_damaged_database_is_replaced(home: Path, backup: Path) -> None:
    database_of(home).write_bytes(b"damaged" * 1000)
    put_back(home, backup)
    assert row_in(database_of(home)) == "new"


def test_a_policy_is_replaced_on_request_and_never_deleted(
    home: Path, backup: Path, tmp_path: Path, new_database: bytes
) -> None:
    policy = home / "config" / "policy.toml"
    policy.write_bytes(b"# mine\n")
    put_back(home, backup)
    assert policy.read_bytes() == b"# mine\n"

    members = {"database": new_database, "policy.toml": b"# of the backup\n"}
    other = write_signed(tmp_path / "other", members)
    database_of(home).unlink()
    with pytest.raises(ConfigError, match="already"):
        put_back(home, other, replace=False)
    assert policy.read_bytes() == b"# mine\n"
    assert not database_of(home).exists()

    put_back(home, other)
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
        sqlite_copy.check(tmp_path / "copy")


# ── signatures ────────────────────────────────────────────────────────────────────────


@pytest.fixture
def members(new_database: bytes) -> dict[str, bytes]:
    return {
        "database": new_database,
        "audit-checkpoints": b"{}\n",
        "policy.toml": b"# of the backup\n",
    }


def manifest_of(file: Path) -> dict[str, object]:
    with tarfile.open(file) as archive:
        member = archive.extractfile("manifest.json")
        assert member is not None
        manifest: dict[str, object] = json.load(member)
        return manifest


def assert_needs_consent(home: Path, file: Path, error: type[Exception]) -> None:
    """Assert that a backup is refused, and restored without its policy on request."""
    policy = home / "config" / "policy.toml"
    policy.write_bytes(b"# mine\n")
    with pytest.raises(error) as caught:
        put_back(home, file)
    assert "--unsigned" in str(caught.value.hint)  # type: ignore[attr-defined]
    assert row_in(database_of(home)) == "old"
    assert not (home / "config" / "audit-checkpoints").exists()

    assert not put_back(home, file, unsigned=True).is_signed
    assert row_in(database_of(home)) == "new"
    assert policy.read_bytes() == b"# mine\n"


def test_a_backup_that_was_signed_is_restored_with_its_policy(
    home: Path, tmp_path: Path, members: dict[str, bytes]
) -> None:
    file = write_signed(tmp_path / "backup", members)
    for unsigned in (False, True):
        assert put_back(home, file, unsigned=unsigned).is_signed
    assert row_in(database_of(home)) == "new"
    config = home / "config"
    for name in ("audit-checkpoints", "policy.toml"):
        assert (config / name).read_bytes() == members[name]


def test_a_backup_of_the_first_format_needs_consent(
    home: Path, tmp_path: Path, members: dict[str, bytes]
) -> None:
    old = {name: value for name, value in MANIFEST.items() if name not in UNSIGNED}
    hashes = {
        name: hashlib.sha256(content).hexdigest() for name, content in members.items()
    }
    manifest = old | {"format": 1, "sha256": hashes}
    file = write_archive(tmp_path / "backup", members, manifest)
    assert_needs_consent(home, file, ConfigError)


@pytest.mark.parametrize(
    "changed",
    [
        {"policy.toml": b"[proxy]\n"},
        {"audit-checkpoints": b""},
        {"audit-checkpoints": None},
        {"policy.toml": None},
    ],
)
def test_a_member_that_was_changed_or_removed_needs_consent(
    home: Path,
    tmp_path: Path,
    members: dict[str, bytes],
    changed: dict[str, bytes | None],
) -> None:
    whole = write_signed(tmp_path / "whole", members)
    manifest = manifest_of(whole)
    after = {
        name: content
        for name, content in (members | changed).items()
        if content is not None
    }
    hashes = {
        name: hashlib.sha256(content).hexdigest() for name, content in after.items()
    }
    file = write_archive(tmp_path / "backup", after, manifest | {"sha256": hashes})
    assert_needs_consent(home, file, ConfigError)


def test_a_member_that_the_manifest_does_not_have_is_refused(
    home: Path, tmp_path: Path, members: dict[str, bytes]
) -> None:
    whole = write_signed(tmp_path / "whole", members)
    manifest = manifest_of(whole)
    file = write_archive(tmp_path / "backup", members | {"other": b""}, manifest)
    assert "not a backup" in refusal_of(home, file).message


@pytest.mark.parametrize(
    "facts", [{"created_at": "2027-01-01T00:00:00+00:00"}, {"version": "0.0.1"}]
)
def test_a_fact_that_was_changed_needs_consent(
    home: Path, tmp_path: Path, members: dict[str, bytes], facts: dict[str, str]
) -> None:
    whole = write_signed(tmp_path / "whole", members)
    manifest = manifest_of(whole)
    file = write_archive(tmp_path / "backup", members, manifest | facts)
    assert_needs_consent(home, file, ConfigError)


def test_a_backup_of_another_installation_needs_consent(
    home: Path, tmp_path: Path, members: dict[str, bytes]
) -> None:
    file = write_signed(tmp_path / "backup", members, new_keyring())
    assert_needs_consent(home, file, Sealed)


def test_a_backup_is_verified_with_a_retired_key(
    home: Path, tmp_path: Path, members: dict[str, bytes]
) -> None:
    file = write_signed(tmp_path / "backup", members)
    added, key = RING.add()
    ring = added.promote(key.name).retire(RING.primary.name, secrets=0)
    source_of(home).save(ring)
    assert put_back(home, file).is_signed


@pytest.mark.parametrize("key", [None, b"damaged"])
def test_a_home_without_a_usable_key_verifies_nothing(
    home: Path, tmp_path: Path, members: dict[str, bytes], key: bytes | None
) -> None:
    file = write_signed(tmp_path / "backup", members)
    place = home / "config" / "key"
    place.unlink()
    if key is not None:
        place.write_bytes(key)
        place.chmod(0o600)
    with pytest.raises(Sealed):
        put_back(home, file)
    assert row_in(database_of(home)) == "old"
    assert not put_back(home, file, unsigned=True).is_signed


# ── what killed processes leave ───────────────────────────────────────────────────────


def test_what_a_backup_at_work_has_is_not_removed(home: Path) -> None:
    with backup_folder(home / "data") as first, backup_folder(home / "data") as second:
        settle_left_overs(home)
        assert first.exists()
        assert second.exists()
    assert not first.exists()
    assert not second.exists()


def test_nothing_begins_while_a_restore_is_at_work(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(left_overs, "PATIENCE_SECONDS", 0.2)
    with restore_folder(home / "data") as folder:
        with pytest.raises(ConfigError, match="restore of this home is running"):
            settle_left_overs(home)
        with pytest.raises(ConfigError), backup_folder(home / "data"):
            pass
        assert folder.exists()
    settle_left_overs(home)


def test_a_process_waits_for_a_restore_that_is_about_to_end(home: Path) -> None:
    with restore_folder(home / "data") as folder:
        waiting = threading.Thread(target=settle_left_overs, args=[home])
        waiting.start()
        waiting.join(0.3)
        assert waiting.is_alive()
    waiting.join(10)
    assert not waiting.is_alive()
    assert not folder.exists()


def test_a_restore_of_another_database_is_left_to_a_process_that_uses_it(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OUTKEY_HOME", str(home))
    settings = {"ENGINE": "postgresql", "HOST": "db", "NAME": "outkey"}
    folder = home / "data" / ".restore-a"
    folder.mkdir()
    Plan("1", name_of(settings), ()).write(folder)
    settle_left_overs(home)
    assert folder.exists()
    Plan("1", "sqlite", ()).write(folder)
    settle_left_overs(home)
    assert not folder.exists()


def test_left_overs_are_removed_with_the_unfinished_file_of_a_backup(
    home: Path, tmp_path: Path
) -> None:
    unfinished = tmp_path / ".backup-file"
    unfinished.write_bytes(b"half of it")
    for name in (".backup-a", ".restore-b"):  # the second as of version 0.2.0
        (home / "data" / name).mkdir()
        (home / "data" / name / "database").write_bytes(b"a copy of all data")
    (home / "data" / ".backup-a" / "draft").write_text(str(unfinished))
    (home / "config" / ".restore-c").write_bytes(b"a part")
    (home / "data" / ".restore-file").write_bytes(b"of somebody else")
    settle_left_overs(home)
    assert sorted(path.name for path in home.glob("*/.*")) == [".restore-file"]
    assert not unfinished.exists()


@pytest.mark.parametrize("action", ["RAISE(IGNORE)", "RAISE(ABORT, 'no')"])
def test_a_database_that_swallows_what_a_restore_adds_is_refused_with_its_trigger(
    home: Path, tmp_path: Path, action: str
) -> None:
    database = tmp_path / "trigger"
    make_database(database, "new")
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute(
            "CREATE TRIGGER swallow BEFORE INSERT ON outkey_sharedstate"
            f" BEGIN SELECT {action}; END"
        )
    file = write_signed(tmp_path / "backup", {"database": database.read_bytes()})
    assert "swallow (outkey_sharedstate)" in refusal_of(home, file).message
    assert row_in(database_of(home)) == "old"


def test_a_database_without_the_tables_that_a_restore_writes_is_no_backup(
    home: Path, tmp_path: Path
) -> None:
    database = tmp_path / "database"
    make_database(database, "new")
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("DROP TABLE outkey_sharedstate")
    file = write_signed(tmp_path / "backup", {"database": database.read_bytes()})
    assert "not a backup" in refusal_of(home, file).message
