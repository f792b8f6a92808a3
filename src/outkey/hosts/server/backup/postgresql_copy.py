"""A consistent copy of a PostgreSQL database by its own programs, and back."""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from outkey.administration.engine.operating.workers import count_running
from outkey.foundation.core.errors import ConfigError, StorageUnavailable
from outkey.foundation.core.shared_state import StateKind
from outkey.foundation.core.text import Text
from outkey.hosts.server.backup.restored_states import (
    READ_STATE,
    RESTORE_MARK,
    States,
    write_states,
)
from outkey.hosts.server.backup.sqlite_copy import has_data

if TYPE_CHECKING:
    from psycopg import Connection as PsycopgConnection
    from psycopg.rows import TupleRow

    Connection = PsycopgConnection[TupleRow]

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
LIBPQ_NAMES = OPTION_VARIABLES | {
    "PGHOST": "host",
    "PGPORT": "port",
    "PGUSER": "user",
    "PGPASSWORD": "password",
    "PGDATABASE": "dbname",
}
OF_PROCESSES = (StateKind.WORKER, StateKind.PROCESS, StateKind.LEASE)
CONNECT_SECONDS = 5
LOCK_SECONDS = 60
RESTORE_LOCK = 0x6F75746B657A  # any number that only restores lock
# In a script: commands of psql alone, and the end of a table's rows.
FOR_PSQL = (b"\\restrict ", b"\\unrestrict ")
END_OF_ROWS = b"\\.\n"


def dump(settings: Settings, place: Path) -> None:
    """Copy the database as it is at one moment; others go on to write."""
    _run_program(
        settings, ["pg_dump", "--format=custom", "--no-owner", "--no-privileges"], place
    )


def load(settings: Settings, copy: Path, states: States, *, replace: bool) -> None:
    """Load a copy and states into the database, all or nothing.

    Into a database that has tables of outkey only if `replace`.
    """
    with connect(settings) as connection:
        lock(connection)
        if _has_tables(connection) and not replace:
            raise has_data()
        _refuse_running_processes(connection)
        _refuse_newer_tables(connection, copy)
        with connection.transaction():
            run_script(connection, copy, replace=replace)
            # The script leaves an empty one.
            connection.execute("RESET search_path")
            put_states(connection, states)


def has_restored(settings: Settings, restore_id: str) -> bool:
    """Whether the restore of this id has loaded its copy; waits for one at work."""
    with connect(settings) as connection:
        lock(connection)
        if not _has_tables(connection):
            return False
        row = connection.execute(
            READ_STATE.format("%s"), (StateKind.MARK, RESTORE_MARK)
        ).fetchone()
    return row == (json.dumps({"id": restore_id}),)


@contextmanager
def connect(settings: Settings) -> "Iterator[Connection]":
    """Connect to the database; what it complains about is not repeated."""
    import psycopg  # not installed for SQLite alone
    from psycopg.conninfo import make_conninfo

    variables = _connection_variables(settings)
    facts = {LIBPQ_NAMES[name]: value for name, value in variables.items()}
    target = make_conninfo(**facts, connect_timeout=CONNECT_SECONDS)
    try:
        with psycopg.connect(target, autocommit=True) as connection:
            yield connection
    except psycopg.Error:
        raise StorageUnavailable from None


def lock(connection: "Connection") -> None:
    """Wait until no other restore works on the database.

    Also for the end of a session whose process was killed: its commit may be under way.
    """
    connection.execute(f"SET lock_timeout = '{LOCK_SECONDS}s'")
    connection.execute("SELECT pg_advisory_lock(%s)", [RESTORE_LOCK])


def run_script(connection: "Connection", copy: Path, *, replace: bool) -> None:
    """Execute the statements of a copy, and copy its rows, in the open transaction.

    Not with psql: a name in the copy could contain one of its commands, which start
    programs.
    """
    cleaning = ["--clean", "--if-exists"] if replace else []
    options = ["--file=-", "--no-owner", "--no-privileges", *cleaning]
    program = _find_program("pg_restore")
    with subprocess.Popen(  # noqa: S603 - no text from outside
        [program, *options, str(copy)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        assert process.stdout is not None  # noqa: S101 - for the type
        lines = iter(process.stdout)
        statements: list[bytes] = []
        for line in lines:
            if line.startswith(FOR_PSQL):
                continue
            if line.startswith(b"COPY ") and line.rstrip().endswith(b" FROM stdin;"):
                connection.execute(b"".join(statements))
                statements.clear()
                copy_rows(connection, line.rstrip(b";\n"), lines)
            else:
                statements.append(line)
        connection.execute(b"".join(statements))
    if process.returncode:
        raise _program_failed("pg_restore")


def copy_rows(
    connection: "Connection", statement: bytes, lines: Iterator[bytes]
) -> None:
    """Copy the rows of one table, up to the mark of their end."""
    with connection.cursor().copy(statement) as rows:
        for line in lines:
            if line == END_OF_ROWS:
                break
            rows.write(line)


def put_states(connection: "Connection", states: States) -> None:
    """Put shared states into the database, in the open transaction."""
    write_states(
        lambda statement, values: connection.execute(statement.encode(), values),
        states,
        database="postgresql",
    )


def _has_tables(connection: "Connection") -> bool:
    """Whether outkey has used the database before."""
    query = "SELECT to_regclass('outkey_configuration') IS NOT NULL"
    return connection.execute(query).fetchone() == (True,)


def _refuse_running_processes(connection: "Connection") -> None:
    """Raise ConfigError while processes of any machine work with the database."""
    if not _has_tables(connection):
        return
    states: dict[StateKind, dict[str, object]] = {kind: {} for kind in OF_PROCESSES}
    query = "SELECT kind, key, value FROM outkey_sharedstate WHERE kind = ANY(%s)"
    for kind, key, value in connection.execute(query, [list(OF_PROCESSES)]):
        with suppress(ValueError, RecursionError):  # not written by outkey
            states[StateKind(kind)][key] = json.loads(value)
    ((now,),) = connection.execute("SELECT extract(epoch FROM clock_timestamp())")
    count = count_running(states, float(now))
    if count:
        raise ConfigError(
            Text("processes of outkey use the database: {count}", count=count),
            hint=Text(
                "Stop the servers and workers on all machines, and restore again. One"
                " that was killed counts for up to three minutes."
            ),
        )


def _refuse_newer_tables(connection: "Connection", copy: Path) -> None:
    """Raise ConfigError if the database has tables of outkey that the copy lacks.

    They would stay, and the migration that makes them would fail for ever.
    """
    query = r"SELECT tablename FROM pg_tables WHERE tablename LIKE 'outkey\_%'"
    tables = {name.encode() for (name,) in connection.execute(query)}
    listed = _run_program({}, ["pg_restore", "--list", str(copy)])
    copied = set(re.findall(rb" TABLE \S+ (outkey_\S+) ", listed))
    if not copied.issuperset(tables):
        raise ConfigError(
            Text("the database has tables of a newer version than the backup"),
            hint=Text("Restore it to an empty database."),
            field="OUTKEY_DATABASE_URL",
        )


def _connection_variables(settings: Settings) -> dict[str, str]:
    """Return how the programs of PostgreSQL find the database, and connect to it."""
    options = settings.get("OPTIONS")
    found = {variable: settings.get(name) for variable, name in VARIABLES.items()}
    if isinstance(options, Mapping):
        found |= {
            variable: options.get(name) for variable, name in OPTION_VARIABLES.items()
        }
    return {variable: str(value) for variable, value in found.items() if value}


def _run_program(
    settings: Settings, command: Sequence[str], place: Path | None = None
) -> bytes:
    """Run a program of PostgreSQL; return what it printed, or write it to a file.

    The password is in its environment, and what it complains about is not repeated:
    it may hold values.
    """
    program = _find_program(command[0])
    environment = dict(os.environ) | _connection_variables(settings)
    output = [] if place is None else [f"--file={place}"]
    done = subprocess.run(  # noqa: S603 - no text from outside
        [program, *command[1:], *output],
        env=environment,
        capture_output=True,
        check=False,
    )
    if done.returncode:
        raise _program_failed(command[0])
    return done.stdout


def _find_program(name: str) -> str:
    """Return the path of a program of PostgreSQL, or raise ConfigError."""
    path = shutil.which(name)
    if path is None:
        raise ConfigError(
            Text("the program {program} is missing", program=name),
            hint=Text("Install the client programs of PostgreSQL."),
        )
    return path


def _program_failed(name: str) -> StorageUnavailable:
    """Return the error for a program of PostgreSQL that failed."""
    return StorageUnavailable(
        Text("{program} failed", program=name),
        hint=Text(
            "Check that the database is running, and that this program is not"
            " older than the database."
        ),
    )
