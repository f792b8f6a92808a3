"""The last steps of a restore, each of which can be repeated after a kill.

The database is replaced in one step, and everything else follows from it: before that
step a restore is undone, and after it completed. A plan in the folder of the restore
says what to do then.
"""

import json
import logging
import os
from pathlib import Path
from typing import NamedTuple, Self

from outkey.hosts.server.backup import postgresql_copy, sqlite_copy
from outkey.hosts.server.backup.archive import CHECKPOINTS, DATABASE
from outkey.hosts.server.backup.postgresql_copy import Settings
from outkey.hosts.server.backup.restored_states import States
from outkey.hosts.server.backup.work_folders import NOT_RECORDED, PLAN, RESTORE
from outkey.sending.adapters.vouching.seen_file import clear_seen_rows

SQLITE = "sqlite"
POSTGRESQL = "postgresql"

logger = logging.getLogger("outkey.restore")


class Plan(NamedTuple):
    """The steps of a restore after it has replaced the database."""

    id: str  # of this restore, which the restored database has too
    database: str  # which one is replaced
    files: tuple[str, ...]  # of the folder `config`, that are replaced

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Return the plan in a folder, which was written whole."""
        facts = json.loads((folder / PLAN).read_bytes())
        return cls(str(facts["id"]), str(facts["database"]), tuple(facts["files"]))

    def write(self, folder: Path) -> None:
        """Write the plan in one step: from now on the restore can be completed."""
        draft = folder / f"{PLAN}.draft"
        write_synced(draft, json.dumps(self._asdict()).encode())
        draft.replace(folder / PLAN)
        _sync_folder(folder)


def complete(home: Path, folder: Path, plan: Plan) -> None:
    """Replace what belongs to the database, after that was replaced."""
    config = home / "config"
    for name in plan.files:
        draft = config / f"{RESTORE}{name}"
        write_synced(draft, (folder / name).read_bytes())
        draft.replace(config / name)
    if CHECKPOINTS not in plan.files:
        (config / CHECKPOINTS).unlink(missing_ok=True)
    # The rows of the backup are older than those that this home has seen.
    clear_seen_rows(home)
    _sync_folder(config)
    (home / "data" / NOT_RECORDED).touch(mode=0o600)


def settle_restore(home: Path, folder: Path) -> bool:
    """Complete a restore that has replaced the database; else there is nothing to do.

    Return whether the folder can be removed. It cannot while another database is in
    use: whether its own one was replaced is unknown.
    """
    from outkey.hosts.server.settings import DATABASES

    plan = Plan.read(folder)
    settings = DATABASES["default"]
    if plan.database != name_of(settings):
        return False
    if _has_replaced_database(settings, folder, plan):
        complete(home, folder, plan)
        logger.warning("a restore that was interrupted has been completed")
    else:
        logger.warning("a restore that was interrupted has been undone")
    return True


def _has_replaced_database(settings: Settings, folder: Path, plan: Plan) -> bool:
    """Whether a restore has come as far as to replace the database."""
    if vendor_of(settings) == SQLITE:
        return not (folder / DATABASE).exists()  # it was moved
    return postgresql_copy.has_restored(settings, plan.id)


def vendor_of(settings: Settings) -> str:
    """Return which database an installation has."""
    return SQLITE if str(settings["ENGINE"]).endswith("sqlite3") else POSTGRESQL


def name_of(settings: Settings) -> str:
    """Return a text that identifies the database of an installation."""
    if vendor_of(settings) == SQLITE:
        return SQLITE  # the one of the home
    facts = (str(settings.get(name) or "") for name in ("HOST", "PORT", "NAME"))
    return " ".join((POSTGRESQL, *facts))


def prepare_database(settings: Settings, copy: Path, states: States) -> None:
    """Check the copy of a database, and put states into it where it is a file."""
    if vendor_of(settings) == SQLITE:
        sqlite_copy.check(copy)
        sqlite_copy.put_states(copy, states)


def replace_database(
    settings: Settings, copy: Path, states: States, *, replace: bool
) -> None:
    """Replace the database by a copy in one step; an existing one if `replace`."""
    if vendor_of(settings) == SQLITE:
        database = Path(str(settings["NAME"]))
        sqlite_copy.load(copy, database, replace=replace)
        _sync_folder(database.parent)
    else:
        postgresql_copy.load(settings, copy, states, replace=replace)


def write_synced(place: Path, content: bytes) -> None:
    """Write a file for its owner only, onto the disk."""
    descriptor = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _sync_folder(folder: Path) -> None:
    """Write the names in a folder onto the disk."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
