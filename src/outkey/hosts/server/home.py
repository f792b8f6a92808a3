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

from outkey.core.errors import StorageUnavailable
from outkey.hosts.server.settings import home

COMMANDS = "outkey.hosts.server.settings"
PAGES = "outkey.hosts.server.settings_pages"
_TABLES = 0x6F75746B6579  # any number that is ours


def prepare(settings_module: str = COMMANDS) -> Path:
    """Make sure that home and tables are there, and return the home."""
    folder = home()
    try:
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


def _configure(settings_module: str) -> None:
    if not settings.configured:
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", settings_module)
    if not apps.ready:
        django.setup()


def _migrate(folder: Path) -> None:
    failed = False
    try:
        if _outdated():
            with _alone(folder):  # two first processes must not both make tables
                if _outdated():
                    call_command("migrate", verbosity=0)
    except DatabaseError:
        failed = True
    if failed:
        raise StorageUnavailable


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Keep everybody else from making tables: on this machine, or at the server that many use."""
    with (folder / "data" / "migrate.lock").open("w") as lock, connection.cursor() as cursor:
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
