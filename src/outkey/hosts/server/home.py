"""First use and every use of the embedded home: folders, database and tables."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import django
from django.apps import apps
from django.conf import settings
from django.core.management import call_command
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.recorder import MigrationRecorder

from outkey.core.errors import ConfigError, StorageUnavailable
from outkey.hosts.django.project import LABEL, MARK, in_project, open_project
from outkey.hosts.server.settings import home

COMMANDS = "outkey.hosts.server.settings"
PAGES = "outkey.hosts.server.settings_pages"
_TABLES = 0x6F75746B6579  # any number that is ours
_DEMO = "demo"  # an app that no project has; its tables are made before outkey's


def open_home() -> Path:
    """Return the home of this process: that of its Django project, or the embedded one."""
    return open_project() if in_project() else prepare()


def prepare(settings_module: str = COMMANDS) -> Path:
    """Make sure that the embedded home and its tables are there, and return the home."""
    _refuse_project()
    folder = home()
    try:
        _refuse_home_of_a_project(folder)
        for part in (folder, folder / "data", folder / "config"):
            part.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError:
        raise StorageUnavailable("the home folder cannot be made") from None
    before = os.umask(0o077)  # the database and its WAL are for their owner only
    try:
        _configure(settings_module)
        _migrate(folder)
    finally:
        os.umask(before)
    return folder


def _refuse_project() -> None:
    if in_project():
        raise ConfigError(
            "this is part of the embedded server, and a Django project is in use",
            hint=(
                "In a project the pages are in its admin, and its users are its own."
                " For the embedded server, unset DJANGO_SETTINGS_MODULE."
            ),
        )


def _refuse_home_of_a_project(folder: Path) -> None:
    if (folder / MARK).exists():
        raise ConfigError(
            "this home belongs to a Django project, and so does its database",
            hint=(
                "Run python manage.py outkey in the project instead. If no project"
                f" uses this home any more, delete {MARK} in it."
            ),
            field="OUTKEY_HOME",
        )


def _refuse_database_of_a_project() -> None:
    labels = {label for label, _ in MigrationRecorder(connection).applied_migrations()}
    if LABEL in labels and _DEMO not in labels:
        raise ConfigError(
            "the database belongs to a Django project",
            hint=(
                "Run python manage.py outkey in the project instead, or name another"
                " database."
            ),
            field="OUTKEY_DATABASE_URL",
        )


def _configure(settings_module: str) -> None:
    if not settings.configured:
        # Not only where it is missing: a parent process may have set our other module.
        os.environ["DJANGO_SETTINGS_MODULE"] = settings_module
    if not apps.ready:
        django.setup()


def _migrate(folder: Path) -> None:
    failed = False
    try:
        if _outdated():
            with _alone(folder):  # two first processes must not both make tables
                if _outdated():
                    _refuse_database_of_a_project()
                    call_command("migrate", verbosity=0)
    except DatabaseError:
        failed = True
    if failed:
        raise StorageUnavailable


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Keep everybody else from making tables: on this machine, or at the server that many use."""
    with (
        (folder / "data" / "migrate.lock").open("w") as lock,
        connection.cursor() as cursor,
    ):
        fcntl.flock(lock, fcntl.LOCK_EX)
        if connection.vendor != "postgresql":
            yield
            return
        cursor.execute("SET lock_timeout = '60s'")
        cursor.execute("SELECT pg_advisory_lock(%s)", [_TABLES])
        try:
            yield
        finally:
            cursor.execute("SELECT pg_advisory_unlock(%s)", [_TABLES])
            cursor.execute("RESET lock_timeout")


def _outdated() -> bool:
    executor = MigrationExecutor(connection)
    return bool(executor.migration_plan(executor.loader.graph.leaf_nodes()))
