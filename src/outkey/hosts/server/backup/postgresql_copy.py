"""A consistent copy of a PostgreSQL database by its own programs, and back."""

import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from outkey.core.errors import ConfigError, StorageUnavailable
from outkey.core.text import Text
from outkey.hosts.server.backup.sqlite_copy import has_data

Settings = Mapping[str, object]  # Django's, of one database
VARIABLES = {
    "PGHOST": "HOST",
    "PGPORT": "PORT",
    "PGUSER": "USER",
    "PGPASSWORD": "PASSWORD",
    "PGDATABASE": "NAME",
}
OPTION_VARIABLES = {
    "PGSSLMODE": "sslmode",
    "PGSSLROOTCERT": "sslrootcert",
    "PGSSLCERT": "sslcert",
    "PGSSLKEY": "sslkey",
}


def dump(settings: Settings, place: Path) -> None:
    """Copy the database as it is at one moment; others go on to write."""
    run_program(
        settings, ["pg_dump", "--format=custom", "--no-owner", "--no-privileges"], place
    )


def load(settings: Settings, copy: Path, *, replace: bool) -> None:
    """Load a copy into the database, all or nothing; into a full one if `replace`."""
    if has_tables(settings) and not replace:
        raise has_data()
    refuse_newer_tables(settings, copy)
    cleaning = ["--clean", "--if-exists"] if replace else []
    run_program(
        settings,
        [
            "pg_restore",
            "--single-transaction",
            "--exit-on-error",
            "--no-owner",
            "--no-privileges",
            *cleaning,
            "--dbname",
            str(settings["NAME"]),
            str(copy),
        ],
    )


def has_tables(settings: Settings) -> bool:
    """Whether outkey has used the database before."""
    query = "SELECT to_regclass('outkey_configuration') IS NOT NULL"
    printed = run_program(
        settings, ["psql", "--no-psqlrc", "--tuples-only", "--command", query]
    )
    return printed.strip() == b"t"


def refuse_newer_tables(settings: Settings, copy: Path) -> None:
    """Raise ConfigError if the database has tables of outkey that the copy lacks.

    They would stay, and the migration that makes them would fail for ever.
    """
    query = r"SELECT tablename FROM pg_tables WHERE tablename LIKE 'outkey\_%'"
    printed = run_program(
        settings,
        ["psql", "--no-psqlrc", "--tuples-only", "--no-align", "--command", query],
    )
    listed = run_program(settings, ["pg_restore", "--list", str(copy)])
    copied = set(re.findall(rb" TABLE \S+ (outkey_\S+) ", listed))
    if not copied.issuperset(printed.split()):
        raise ConfigError(
            Text("the database has tables of a newer version than the backup"),
            hint=Text("Restore it to an empty database."),
            field="OUTKEY_DATABASE_URL",
        )


def connection_variables(settings: Settings) -> dict[str, str]:
    """Return how the programs of PostgreSQL find the database, and connect to it."""
    options = settings.get("OPTIONS")
    found = {variable: settings.get(name) for variable, name in VARIABLES.items()}
    if isinstance(options, Mapping):
        found |= {
            variable: options.get(name) for variable, name in OPTION_VARIABLES.items()
        }
    return {variable: str(value) for variable, value in found.items() if value}


def run_program(
    settings: Settings, command: Sequence[str], place: Path | None = None
) -> bytes:
    """Run a program of PostgreSQL; return what it printed, or write it to a file.

    The password is in its environment, and what it complains about is not repeated:
    it may hold values.
    """
    if shutil.which(command[0]) is None:
        raise ConfigError(
            Text("the program {program} is missing", program=command[0]),
            hint=Text("Install the client programs of PostgreSQL."),
        )
    environment = dict(os.environ) | connection_variables(settings)
    output = [] if place is None else [f"--file={place}"]
    done = subprocess.run(  # noqa: S603 - no text from outside
        [*command, *output], env=environment, capture_output=True, check=False
    )
    if done.returncode:
        raise StorageUnavailable(
            Text("{program} failed", program=command[0]),
            hint=Text(
                "Check that the database is running, and that this program is not"
                " older than the database."
            ),
        )
    return done.stdout
