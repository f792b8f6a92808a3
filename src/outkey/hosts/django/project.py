"""A Django project as the host: whether there is one, and its home.

Nothing here imports a model, so that it can be used before Django is set up.
"""

import atexit
import contextlib
import os
import pkgutil
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path

import django
from django.apps import apps
from django.conf import settings
from django.db import DatabaseError, connection, connections

from outkey.foundation.core.errors import ConfigError, StorageUnavailable
from outkey.foundation.core.text import Text

APP = "outkey.hosts.django"
LABEL = "outkey"
MARK = Path("config", "project")
_EMBEDDED = "outkey.hosts.server."  # the settings modules of the embedded server
_MARK_TEXT = (
    "The database of this home is that of a Django project: use its manage.py outkey.\n"
)


def in_project() -> bool:
    """Whether Django is or will be set up for a project, not the embedded server."""
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
            Text("the setting OUTKEY has no HOME"),
            hint=Text(
                'Add OUTKEY = {{"HOME": "/var/lib/outkey"}} to the settings of the'
                " project."
            ),
            field="OUTKEY",
        )
    return Path(home)


def project_home() -> Path:
    """Set up the project and return its home; the database is not read."""
    _set_up_django()
    if not apps.is_installed(APP):
        raise ConfigError(
            Text("this Django project does not have outkey's app"),
            hint=Text(
                'Add "{app}" to INSTALLED_APPS. To use the embedded home instead, run'
                " this in a process without Django and without DJANGO_SETTINGS_MODULE.",
                app=APP,
            ),
            field="INSTALLED_APPS",
        )
    return home_setting()


def open_project() -> Path:
    """Return the project's home once its tables are complete; migrates nothing."""
    home = project_home()
    _refuse_pending_migrations()
    claim(home)
    return home


def claim(home: Path) -> None:
    """Mark a home as a project's, so that the embedded server refuses it."""
    mark = home / MARK
    # It may exist already, or the home cannot be written.
    with contextlib.suppress(OSError):
        home.mkdir(parents=True, exist_ok=True, mode=0o700)
        mark.parent.mkdir(exist_ok=True, mode=0o700)
        descriptor = os.open(mark, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(_MARK_TEXT)


def _set_up_django() -> None:
    """Set up Django for the project, unless that is done."""
    # Not `ready`: an app may open a gateway while the apps get ready.
    if apps.models_ready:
        return
    failure = ""
    try:
        django.setup()
        atexit.register(connections.close_all)  # see `configure_django` of the server
    except Exception as error:  # noqa: BLE001 - its text may hold a secret
        failure = type(error).__name__
    if failure:
        raise ConfigError(
            Text("the Django project cannot be set up ({failure})", failure=failure),
            hint=Text(
                "Run python manage.py check in the project to see why; outside of its"
                " folder, PYTHONPATH has to name it."
            ),
        )


def _refuse_pending_migrations() -> None:
    """Refuse a database that lacks some of outkey's migrations."""
    pending = migrations() - applied_migrations()
    if pending:
        raise ConfigError(
            Text(
                "the project's database lacks {count} of outkey's migrations",
                count=len(pending),
            ),
            hint=Text("Run: python manage.py migrate outkey"),
        )


def migrations() -> set[str]:
    """Return the names of the app's migrations; none if a project disabled them."""
    # Here, as below: without a project nothing of it is needed.
    from django.db.migrations.loader import MigrationLoader

    package, _ = MigrationLoader.migrations_module(LABEL)
    if package is None:
        return set()
    folder = import_module(package).__path__
    return {
        module.name
        for module in pkgutil.iter_modules(folder)
        if module.name[0] not in "_~"
    }


def applied_migrations() -> set[str]:
    """Return the names of outkey's migrations that the database has."""
    from django.db.migrations.recorder import MigrationRecorder

    try:
        applied = list(MigrationRecorder(connection).applied_migrations())
    except DatabaseError:
        applied = None
    if applied is None:
        raise StorageUnavailable
    return {name for label, name in applied if label == LABEL}
