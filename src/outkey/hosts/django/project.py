"""The installation of a Django project: when it is used, what it needs, and the mark on its home.

Nothing here imports a model, so that it can be asked before Django is set up.
"""

import contextlib
import os
import pkgutil
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path

import django
from django.apps import apps
from django.conf import settings
from django.db import DatabaseError, connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from outkey.core.errors import ConfigError, StorageUnavailable

APP = "outkey.hosts.django"
LABEL = "outkey"
MARK = Path("config", "project")
_EMBEDDED = "outkey.hosts.server."  # the settings modules of the embedded server
_MARK_TEXT = (
    "The database of this home is that of a Django project: use its manage.py outkey.\n"
)


def in_project() -> bool:
    """Whether Django is, or is about to be, set up for a project instead of the embedded server."""
    if settings.configured:  # by code, if there is no module
        return not str(settings.SETTINGS_MODULE).startswith(_EMBEDDED)
    module = os.environ.get("DJANGO_SETTINGS_MODULE", "")
    return bool(module) and not module.startswith(_EMBEDDED)


def home_setting() -> Path:
    """Return the home that the setting OUTKEY names."""
    setting = getattr(settings, "OUTKEY", None)
    home = setting.get("HOME") if isinstance(setting, Mapping) else None
    if not home:
        raise ConfigError(
            "the setting OUTKEY has no HOME",
            hint=(
                'Add OUTKEY = {"HOME": "/var/lib/outkey"} to the settings of the'
                " project."
            ),
            field="OUTKEY",
        )
    return Path(home)


def project_home() -> Path:
    """Set up the project and return its home, without a look at the database."""
    _set_up()
    if not apps.is_installed(APP):
        raise ConfigError(
            "this Django project does not have outkey's app",
            hint=(
                f'Add "{APP}" to INSTALLED_APPS. To use the embedded home instead, run'
                " this in a process without Django and without DJANGO_SETTINGS_MODULE."
            ),
            field="INSTALLED_APPS",
        )
    return home_setting()


def open_project() -> Path:
    """Return the home of the project once its tables are complete; nothing is migrated."""
    home = project_home()
    _refuse_pending_migrations()
    claim(home)
    return home


def claim(home: Path) -> None:
    """Mark a home as a project's, so that the embedded server does not take it for its own."""
    mark = home / MARK
    with contextlib.suppress(
        OSError
    ):  # it is there already, or the home cannot be written
        home.mkdir(parents=True, exist_ok=True, mode=0o700)
        mark.parent.mkdir(exist_ok=True, mode=0o700)
        descriptor = os.open(mark, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(_MARK_TEXT)


def _set_up() -> None:
    if (
        apps.models_ready
    ):  # not `ready`: an app may open a gateway while the apps get ready
        return
    failure = ""
    try:
        django.setup()
    except Exception as error:  # noqa: BLE001 - a project's own code; its text may hold a value
        failure = type(error).__name__
    if failure:
        raise ConfigError(
            f"the Django project cannot be set up ({failure})",
            hint=(
                "Run python manage.py check in the project to see why; outside of its"
                " folder, PYTHONPATH has to name it."
            ),
        )


def _refuse_pending_migrations() -> None:
    pending = _migrations() - _applied_migrations()
    if pending:
        raise ConfigError(
            f"the project's database lacks {len(pending)} of outkey's migrations",
            hint="Run: python manage.py migrate outkey",
        )


def _migrations() -> set[str]:
    """Return the names of the app's migrations; none where a project has switched them off."""
    module, _ = MigrationLoader.migrations_module(LABEL)
    if module is None:
        return set()
    folder = import_module(module).__path__
    return {
        found.name
        for found in pkgutil.iter_modules(folder)
        if found.name[0] not in "_~"
    }


def _applied_migrations() -> set[str]:
    try:
        applied = list(MigrationRecorder(connection).applied_migrations())
    except DatabaseError:
        applied = None
    if applied is None:
        raise StorageUnavailable
    return {name for label, name in applied if label == LABEL}
