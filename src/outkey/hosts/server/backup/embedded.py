"""Backup and restore of the embedded home."""

import os
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

from outkey.adapters.keyring import Keyring
from outkey.adapters.keyring_file import KeySource
from outkey.adapters.listeners_file import ListenerFiles
from outkey.core.audit.events import Tag
from outkey.core.errors import ConfigError, OutkeyError, Sealed, StorageUnavailable
from outkey.core.moments import iso_moment
from outkey.core.text import Text
from outkey.engine.managing.changes import Administration
from outkey.hosts.server.backup import postgresql_copy, sqlite_copy
from outkey.hosts.server.backup.archive import (
    CHECKPOINTS,
    DATABASE,
    POLICY,
    Manifest,
    Progress,
    copy_if_there,
    file_exists,
    read_archive,
    write_archive,
)
from outkey.hosts.server.backup.signing import sign, signature_error

SQLITE = "sqlite"
POSTGRESQL = "postgresql"
Settings = Mapping[str, object]  # Django's, of one database


def vendor_of(settings: Settings) -> str:
    """Return which database an installation has."""
    return SQLITE if str(settings["ENGINE"]).endswith("sqlite3") else POSTGRESQL


def back_up(
    home: Path,
    settings: Settings,
    file: Path,
    administration: Administration,
    ring: Keyring,
    progress: Progress = lambda _: None,
) -> None:
    """Write a backup of a home whose database is open, while others work with it.

    It is signed with the primary key of the ring.
    """
    try:
        if os.path.lexists(file):
            raise file_exists()
        administration.note(Tag.BACKUP_MADE)
        write_backup(home, settings, file, ring, progress)
    except OSError:
        raise StorageUnavailable(Text("the backup cannot be written")) from None


def write_backup(
    home: Path, settings: Settings, file: Path, ring: Keyring, progress: Progress
) -> None:
    """Copy what a home has, and write the copies to a file."""
    # Beside the database, since the copy is as sensitive.
    with tempfile.TemporaryDirectory(dir=home / "data", prefix=".backup-") as folder:
        members = {}
        # Before the database: a checkpoint may state less than the audit has, but a
        # statement about rows that are not there would look like a cut.
        for name in (CHECKPOINTS, POLICY):
            place = Path(folder) / name
            if copy_if_there(home / "config" / name, place):
                members[name] = place
        members[DATABASE] = Path(folder) / DATABASE
        if vendor_of(settings) == SQLITE:
            sqlite_copy.dump(Path(str(settings["NAME"])), members[DATABASE])
        else:
            postgresql_copy.dump(settings, members[DATABASE])

        def manifest(hashes: Mapping[str, str]) -> Manifest:
            unsigned = Manifest(
                version=version("outkey"),
                database=vendor_of(settings),
                created_at=iso_moment(time.time()),
                sha256=hashes,
            )
            return sign(unsigned, ring)

        write_archive(file, members, manifest, progress)


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreOptions:
    """What an operator allows a restore to do."""

    replace: bool = False  # what the home has
    accept_unsigned: bool = False  # restore what nobody with the key has vouched for


class ReadBackup(NamedTuple):
    """A backup that was restored."""

    manifest: Manifest
    is_signed: bool  # by a key of this home; else its policy was not restored


def restore(
    home: Path,
    settings: Settings,
    file: Path,
    source: KeySource,
    options: RestoreOptions,
) -> ReadBackup:
    """Put a backup in the place of what a home has, and return what it was of.

    A policy stays if the backup has none: its rules would be lifted unnoticed. It stays
    as well if the backup is not signed.
    """
    refuse_running_server(home)
    try:
        return read_backup(home, settings, file, source, options)
    except OSError:
        raise StorageUnavailable(Text("the home folder cannot be written")) from None


def read_backup(
    home: Path,
    settings: Settings,
    file: Path,
    source: KeySource,
    options: RestoreOptions,
) -> ReadBackup:
    """Replace the database and the files beside it, all or nothing."""
    with tempfile.TemporaryDirectory(dir=home / "data", prefix=".restore-") as folder:
        manifest = read_archive(file, Path(folder))
        if manifest.database != vendor_of(settings):
            raise ConfigError(
                Text("the backup is of {database}", database=manifest.database),
                hint=Text(
                    "Set OUTKEY_DATABASE_URL to a PostgreSQL database, or unset it for"
                    " SQLite."
                ),
                field="FILE",
            )
        is_signed = verify_signature(manifest, source, options)
        if not is_signed:
            (Path(folder) / POLICY).unlink(missing_ok=True)
        if not options.replace:
            refuse_other_files(home, Path(folder))
        copy = Path(folder) / DATABASE
        with ExitStack() as stack:
            # Before the database: what cannot be written must not be found out when
            # that is replaced.
            drafts = {
                name: stack.enter_context(drafted(Path(folder) / name, home / "config"))
                for name in (CHECKPOINTS, POLICY)
                if (Path(folder) / name).exists()
            }
            if manifest.database == SQLITE:
                database = Path(str(settings["NAME"]))
                sqlite_copy.load(copy, database, replace=options.replace)
            else:
                postgresql_copy.load(settings, copy, replace=options.replace)
            for name, draft in drafts.items():
                draft.replace(home / "config" / name)
            if CHECKPOINTS not in drafts:
                (home / "config" / CHECKPOINTS).unlink(missing_ok=True)
    return ReadBackup(manifest, is_signed)


def verify_signature(
    manifest: Manifest, source: KeySource, options: RestoreOptions
) -> bool:
    """Return whether a key of the home has signed a backup; raise if it must have."""
    error: OutkeyError | None
    try:
        error = signature_error(manifest, source.load(), source.file)
    except (Sealed, ConfigError) as unreadable:  # the key
        error = unreadable
    if error is not None and not options.accept_unsigned:
        raise error
    return error is None


def refuse_other_files(home: Path, folder: Path) -> None:
    """Raise ConfigError if a restore would replace a policy or checkpoints."""
    for name in (CHECKPOINTS, POLICY):
        restored = folder / name
        place = home / "config" / name
        if not place.exists() or (name == POLICY and not restored.exists()):
            continue
        if not restored.exists() or restored.read_bytes() != place.read_bytes():
            raise sqlite_copy.has_data()


@contextmanager
def drafted(source: Path, folder: Path) -> Iterator[Path]:
    """Copy a file to a folder, which may be another disk; delete what is left."""
    handle, name = tempfile.mkstemp(dir=folder, prefix=".restore-")  # its mode is 0600
    try:
        with os.fdopen(handle, "wb") as output:
            output.write(source.read_bytes())
            output.flush()
            os.fsync(output.fileno())
        yield Path(name)
    finally:
        Path(name).unlink(missing_ok=True)


def refuse_running_server(home: Path) -> None:
    """Raise ConfigError while a server of this home runs on this machine."""
    urls = ListenerFiles(home / "data" / "listening").urls()
    if urls:
        raise ConfigError(
            Text("a server of this home is running: {urls}", urls=", ".join(urls)),
            hint=Text("Stop it, and the workers, and restore again."),
        )
