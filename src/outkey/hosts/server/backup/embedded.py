"""Backup and restore of the embedded home."""

import os
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from secrets import token_hex
from typing import NamedTuple

from outkey.administration.engine.editing.administration import Administration
from outkey.foundation.core.errors import (
    ConfigError,
    OutkeyError,
    Sealed,
    StorageUnavailable,
)
from outkey.foundation.core.moments import iso_moment
from outkey.foundation.core.text import Text
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
from outkey.hosts.server.backup.postgresql_copy import Settings
from outkey.hosts.server.backup.replacement import (
    SQLITE,
    Plan,
    complete,
    name_of,
    prepare_database,
    replace_database,
    vendor_of,
)
from outkey.hosts.server.backup.restored_states import restored_states
from outkey.hosts.server.backup.signing import sign, signature_error
from outkey.hosts.server.backup.work_folders import (
    RESTORE,
    backup_folder,
    restore_folder,
)
from outkey.sending.adapters.secrets.keyring import Keyring
from outkey.sending.adapters.secrets.keyring_file import KeySource
from outkey.sending.adapters.transport.listeners_file import ListenerFiles
from outkey.sending.core.audit.events import Tag


def back_up(
    home: Path,
    settings: Settings,
    file: Path,
    *,
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
        write_backup(home, settings, file, ring=ring, progress=progress)
    except OSError:
        raise StorageUnavailable(Text("the backup cannot be written")) from None


def write_backup(
    home: Path, settings: Settings, file: Path, *, ring: Keyring, progress: Progress
) -> None:
    """Copy what a home has, and write the copies to a file."""
    # Beside the database, since the copy is as sensitive.
    with backup_folder(home / "data") as folder:
        members = {}
        # Before the database: a checkpoint may state less than the audit has, but a
        # statement about rows that are not there would look like a cut.
        for name in (CHECKPOINTS, POLICY):
            place = folder / name
            if copy_if_there(home / "config" / name, place):
                members[name] = place
        members[DATABASE] = folder / DATABASE
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

        write_archive(file, members, manifest, progress=progress, folder=folder)


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreOptions:
    """The options of a restore, chosen by the operator."""

    replace: bool = False  # what the home has
    accept_unsigned: bool = False  # a backup without a valid signature
    goes_live: bool = False  # it is not on hold afterwards


class RestoredBackup(NamedTuple):
    """The facts about a backup that was restored."""

    manifest: Manifest
    is_signed: bool  # by a key of this home; else its policy was not restored


def restore(
    home: Path,
    settings: Settings,
    file: Path,
    *,
    source: KeySource,
    options: RestoreOptions,
) -> RestoredBackup:
    """Put a backup in the place of what a home has, and return what it was of.

    A policy stays if the backup has none: its rules would be lifted unnoticed. It stays
    as well if the backup is not signed.
    """
    _refuse_running_server(home)
    try:
        return read_backup(home, settings, file, source=source, options=options)
    except OSError:
        raise StorageUnavailable(Text("the home folder cannot be written")) from None


def read_backup(
    home: Path,
    settings: Settings,
    file: Path,
    *,
    source: KeySource,
    options: RestoreOptions,
) -> RestoredBackup:
    """Replace the database and the files beside it, all or nothing.

    Whatever ends the process, it is undone or completed by the next one of this home.
    """
    with restore_folder(home / "data") as folder:
        manifest = read_archive(file, folder)
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
            (folder / POLICY).unlink(missing_ok=True)
        if not options.replace:
            _refuse_other_files(home, folder)
        # What cannot be written must not be found out after the database is replaced.
        _refuse_read_only(home / "config")
        files = (name for name in (CHECKPOINTS, POLICY) if (folder / name).exists())
        plan = Plan(token_hex(16), name_of(settings), tuple(files))
        states = restored_states(
            manifest, plan.id, time.time(), goes_live=options.goes_live
        )
        copy = folder / DATABASE
        prepare_database(settings, copy, states)
        plan.write(folder)
        replace_database(settings, copy, states, replace=options.replace)
        complete(home, folder, plan)
    return RestoredBackup(manifest, is_signed)


def _refuse_read_only(config: Path) -> None:
    """Raise OSError if no file can be written to a folder."""
    with tempfile.NamedTemporaryFile(dir=config, prefix=RESTORE):
        pass


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


def _refuse_other_files(home: Path, folder: Path) -> None:
    """Raise ConfigError if a restore would replace a policy or checkpoints."""
    for name in (CHECKPOINTS, POLICY):
        restored = folder / name
        place = home / "config" / name
        if not place.exists() or (name == POLICY and not restored.exists()):
            continue
        if not restored.exists() or restored.read_bytes() != place.read_bytes():
            raise sqlite_copy.has_data()


def _refuse_running_server(home: Path) -> None:
    """Raise ConfigError while a server of this home runs on this machine."""
    urls = ListenerFiles(home / "data" / "listening").urls()
    if urls:
        raise ConfigError(
            Text("a server of this home is running: {urls}", urls=", ".join(urls)),
            hint=Text("Stop it, and the workers, and restore again."),
        )
