"""The embedded home: its folders, database and tables, made on first use."""

import atexit
import fcntl
import logging
import os
import pkgutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import django
from django.apps import apps
from django.conf import settings
from django.db import DatabaseError, connection, connections

from outkey.foundation.core.errors import ConfigError, StorageUnavailable
from outkey.foundation.core.text import Text
from outkey.hosts.django.project import LABEL, MARK, in_project, open_project
from outkey.hosts.django.rows.tolerant_connections import tolerate_odd_times
from outkey.hosts.server.backup.left_overs import settle_left_overs
from outkey.hosts.server.location import DEMO_MARK, home

COMMANDS = "outkey.hosts.server.settings"
PAGES = "outkey.hosts.server.settings_pages"
# Recorded among the applied migrations, before those of outkey's app: a database that
# has these without this one belongs to a Django project.
EMBEDDED_DATABASE = ("outkey_embedded", "0001_database")
DEMO_LABEL = "demo"  # recorded instead in databases of version 0.1
DEMO_MARK_TEXT = (
    "The models of the demo belong to this home: it was served with --demo.\n"
)
MIGRATION_SECONDS = 3600
MIGRATION_LOCK = 0x6F75746B6579  # any number that only outkey locks


def open_home() -> Path:
    """Return the home of this process: its Django project's, or the embedded one."""
    return open_project() if in_project() else prepare()


def prepare(settings_module: str = COMMANDS, *, demo: bool = False) -> Path:
    """Return the embedded home, with all folders and tables.

    With `demo` the home gets the models of the demo, from now on.
    """
    refuse_project()
    folder = home()
    with private_files():
        make_folders(folder)
        settle_left_overs(folder)
        if demo:
            _mark_as_demo(folder)
        configure_django(settings_module)
        migrate(folder)
    return folder


@contextmanager
def private_files() -> Iterator[None]:
    """Create files for their owner only: the database and its WAL, static files."""
    umask = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(umask)


def refuse_project() -> None:
    """Refuse to serve the embedded home in a process of a Django project."""
    if in_project():
        raise ConfigError(
            Text("this is part of the embedded server, and a Django project is in use"),
            hint=Text(
                "In a project the pages are in its admin, and its users are its own."
                " For the embedded server, unset DJANGO_SETTINGS_MODULE."
            ),
        )


def make_folders(folder: Path) -> None:
    """Make the folders of a home unless it belongs to a Django project."""
    try:
        _refuse_home_of_project(folder)
        for part in (folder, folder / "data", folder / "config"):
            part.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError:
        raise StorageUnavailable(Text("the home folder cannot be made")) from None


def _refuse_home_of_project(folder: Path) -> None:
    """Refuse a home whose database is that of a Django project."""
    if (folder / MARK).exists():
        raise ConfigError(
            Text("this home belongs to a Django project, and so does its database"),
            hint=Text(
                "Run python manage.py outkey in the project instead. If no project"
                " uses this home any more, delete {mark} in it.",
                mark=str(MARK),
            ),
            field="OUTKEY_HOME",
        )


def _mark_as_demo(folder: Path) -> None:
    """Enable the models of the demo in every later process of this home."""
    try:
        (folder / DEMO_MARK).write_text(DEMO_MARK_TEXT, encoding="utf-8")
    except OSError:
        raise StorageUnavailable(Text("the home folder cannot be written")) from None


def configure_django(settings_module: str) -> None:
    """Set Django up with the settings of the embedded server."""
    if not settings.configured:
        # Also where one is set: a parent process may have set our other module.
        os.environ["DJANGO_SETTINGS_MODULE"] = settings_module
    if not apps.ready:
        if settings_module == COMMANDS:
            _set_up_without_pages()
        else:
            django.setup()
        tolerate_odd_times()
        # SQLite deletes its write-ahead log when the last connection is closed.
        atexit.register(connections.close_all)


def _set_up_without_pages() -> None:
    """Do what `django.setup` does, without loading its URLs, responses and mail.

    Django's own configuration of the log writes nothing without DEBUG and ADMINS.
    """
    logging.getLogger("django").addHandler(logging.NullHandler())
    apps.populate(settings.INSTALLED_APPS)


def migrate(folder: Path) -> None:
    """Bring the tables up to date."""
    failed = False
    try:
        if needs_migration():
            with migration_lock(
                folder
            ):  # two first processes must not both make tables
                if needs_migration():
                    from django.core.management import call_command

                    _claim_database()
                    call_command("migrate", verbosity=0)
    except DatabaseError:
        failed = True
    if failed:
        raise StorageUnavailable


def needs_migration() -> bool:
    """Whether a migration is missing, or the record whose database this is."""
    if has_every_migration():
        return False
    # Loads all migrations, which can replace others.
    from django.db.migrations.executor import MigrationExecutor

    executor = MigrationExecutor(connection)
    if EMBEDDED_DATABASE not in executor.loader.applied_migrations:
        return True
    return bool(executor.migration_plan(executor.loader.graph.leaf_nodes()))


def has_every_migration() -> bool:
    """Whether all migrations are recorded by their names, with whose database it is."""
    with connection.cursor() as cursor:
        if "django_migrations" not in connection.introspection.table_names(cursor):
            return False
        cursor.execute("SELECT app, name FROM django_migrations")
        applied = set(cursor.fetchall())
    return EMBEDDED_DATABASE in applied and applied.issuperset(migration_names())


def migration_names() -> Iterator[tuple[str, str]]:
    """Yield the migrations of all apps by the names of their files, as Django does."""
    for app in apps.get_app_configs():
        package = find_spec(f"{app.name}.migrations")
        folders = package.submodule_search_locations if package else None
        for file in pkgutil.iter_modules(folders or []):
            if not file.ispkg and file.name[0] not in "_~":
                yield app.label, file.name


def _claim_database() -> None:
    """Record that this is a database of the embedded server; refuse a project's."""
    from django.db.migrations.recorder import MigrationRecorder

    recorder = MigrationRecorder(connection)
    applied = recorder.applied_migrations()
    if EMBEDDED_DATABASE in applied:
        return
    labels = {label for label, _ in applied}
    if LABEL in labels and DEMO_LABEL not in labels:
        raise ConfigError(
            Text("the database belongs to a Django project"),
            hint=Text(
                "Run python manage.py outkey in the project instead, or name another"
                " database."
            ),
            field="OUTKEY_DATABASE_URL",
        )
    recorder.record_applied(*EMBEDDED_DATABASE)


@contextmanager
def migration_lock(folder: Path) -> Iterator[None]:
    """Lock this home and this database against other processes that make tables."""
    with (
        (folder / "data" / "migrate.lock").open("w") as lock,
        connection.cursor() as cursor,
    ):
        fcntl.flock(lock, fcntl.LOCK_EX)
        if connection.vendor != "postgresql":
            yield
            return
        cursor.execute("SET lock_timeout = '60s'")
        cursor.execute("SELECT pg_advisory_lock(%s)", [MIGRATION_LOCK])
        try:
            with _long_statements():
                yield
        finally:
            cursor.execute("SELECT pg_advisory_unlock(%s)", [MIGRATION_LOCK])
            cursor.execute("RESET lock_timeout")


@contextmanager
def _long_statements() -> Iterator[None]:
    """Let each statement of a migration take an hour, on PostgreSQL."""
    # Here, since only PostgreSQL needs its driver.
    from outkey.foundation.adapters.postgresql_deadlines import LATER_SECONDS

    limits = ("statement_timeout", "idle_in_transaction_session_timeout")
    ours = connection.connection
    patience = ours.patience
    with connection.cursor() as cursor:
        for limit in limits:
            cursor.execute(f"SET {limit} = '{MIGRATION_SECONDS}s'")
        ours.patience = MIGRATION_SECONDS + LATER_SECONDS
        try:
            yield
        finally:
            for limit in limits:
                cursor.execute(f"RESET {limit}")
            ours.patience = patience
