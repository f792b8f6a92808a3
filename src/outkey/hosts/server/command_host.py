"""The default host of the command line: a Django project, or the embedded home.

Whatever imports a model is imported after Django is set up.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from outkey.foundation.core.errors import ConfigError, OutkeyError, Sealed
from outkey.foundation.core.text import Text
from outkey.hosts.cli.garbage import end_loading
from outkey.hosts.cli.printing.output import print_line
from outkey.hosts.command_host import (
    CommandHost,
    Restored,
    UserAccounts,
    administration_of,
    refuse_home,
)
from outkey.hosts.django.project import in_project, project_home
from outkey.hosts.server.backup.left_overs import settle_left_overs
from outkey.hosts.server.backup.work_folders import NOT_RECORDED
from outkey.hosts.server.home import (
    PAGES,
    make_folders,
    open_home,
    prepare,
    private_files,
    refuse_project,
)
from outkey.hosts.server.location import home
from outkey.sending.adapters.secrets.keyring_file import KeySource
from outkey.sending.core.audit.events import Tag

if TYPE_CHECKING:
    from outkey.administration.core.access.token_owners import TokenOwner
    from outkey.administration.core.operating.checklist import ProductionFacts
    from outkey.administration.engine.application import Application
    from outkey.sync.core.run.run import Run


def django_host() -> CommandHost:
    """Return the project of this process, if it has one, else the embedded home."""
    return CommandHost(
        open_application=open_application,
        home_folder=home_folder,
        use_home=use_home,
        background_process="a process of the project"
        if in_project()
        else "outkey serve",
        open_users=open_users,
        serve=_serve_pages,
        run_worker=run_worker,
        back_up=back_up,
        restore=restore,
        production_facts=production_facts,
        token_owners=token_owners,
    )


def open_application() -> Application:
    """Open the database; the embedded home is created on first use."""
    return _application_at(open_home())


def home_folder() -> Path:
    """Return the folder of key and data, without a look at the database."""
    return project_home() if in_project() else home()


def use_home(folder: Path) -> None:
    """Use the embedded home in this folder, in processes that are started as well."""
    if in_project():
        refuse_home(folder)
    os.environ["OUTKEY_HOME"] = str(folder)


def _application_at(folder: Path) -> Application:
    """Return the application of a home whose Django is set up."""
    from outkey.hosts.django.wiring import install

    application = install(folder)
    _record_restore(application, folder)
    end_loading()
    return application


def _record_restore(application: Application, folder: Path) -> None:
    """Record that the home was restored, if that was not possible before.

    It needs the restored database and the key; and the process that restored it may
    have been killed.
    """
    mark = folder / "data" / NOT_RECORDED
    if mark.exists() and not application.keys.is_sealed():
        with suppress(OutkeyError):  # the next process tries again
            administration_of(application).note(Tag.BACKUP_RESTORED)
            mark.unlink(missing_ok=True)


def open_users() -> tuple[Application, UserAccounts]:
    """Open the embedded home with the accounts of its pages."""
    application = _application_at(prepare(PAGES))
    from outkey.hosts.server.users.accounts import EmbeddedAccounts

    return application, EmbeddedAccounts(application)


@private_files()
def _serve_pages(address: str, port: int, *, demo: bool) -> None:
    """Serve the pages of the embedded home."""
    folder = prepare(PAGES, demo=demo)
    from outkey.hosts.django.installed import installation
    from outkey.hosts.server.web import serve as server
    from outkey.hosts.server.web.exposure import warn_about_exposure

    # Before a password is generated: wrong settings and a port in use end the command.
    threads = server.helpers()
    _record_restore(installation(), folder)
    end_loading()
    listener = server.listen(address, port)
    warn_about_exposure(address)
    server.warn_about_second_server()
    with ExitStack() as stack:
        if demo:
            from outkey.hosts.server import demo as samples
            from outkey.spar import Spar

            spar = stack.enter_context(Spar())
            samples.silence_notices()
            samples.add_samples(_application_at(folder), spar.url)
        # Printed at once: a generated password that is not shown is lost.
        print_line(server.greeting(listener, server.first_administrator()))
        sys.stdout.flush()
        server.serve(listener, threads)


@private_files()
def back_up(file: Path, progress: Callable[[int], None]) -> Path:
    """Write a backup of the embedded home, and return where its key is."""
    refuse_project()
    application = open_application()
    from django.conf import settings

    from outkey.administration.engine.operating.backups import (
        note_backup,
        refuse_triggers,
    )
    from outkey.hosts.server.backup.embedded import back_up as write_backup

    application.keys.ring()  # a sealed home could not sign it
    ring = key_source().load()
    if ring is None:
        raise Sealed
    refuse_triggers(application)
    write_backup(
        home(),
        settings.DATABASES["default"],
        file,
        administration=administration_of(application),
        ring=ring,
        progress=progress,
    )
    note_backup(application)
    return application.key_file


def key_source() -> KeySource:
    """Return where the key of the embedded home is."""
    return KeySource.from_environment(os.environ, home() / "config" / "key")


@private_files()
def restore(
    file: Path, *, replace: bool, accept_unsigned: bool, goes_live: bool
) -> Restored:
    """Put a backup in the place of what the embedded home has."""
    refuse_project()
    make_folders(home())
    settle_left_overs(home())
    from outkey.administration.engine.operating import backups
    from outkey.hosts.server.backup.embedded import RestoreOptions
    from outkey.hosts.server.backup.embedded import restore as read_backup
    from outkey.hosts.server.settings import DATABASES

    options = RestoreOptions(
        replace=replace, accept_unsigned=accept_unsigned, goes_live=goes_live
    )
    backup = read_backup(
        home(), DATABASES["default"], file, source=key_source(), options=options
    )
    application = open_application()
    is_sealed = application.keys.is_sealed()
    sealed_secrets: dict[str, dict[str, int]] = {}
    if not is_sealed:
        sealed_secrets = backups.secrets_that_stay_sealed(application)
    return Restored(
        version=backup.manifest.version,
        created_at=backup.manifest.created_at,
        is_signed=backup.is_signed,
        key_file=application.key_file,
        is_sealed=is_sealed,
        has_other_key=is_sealed and application.key_file.exists(),
        is_audit_intact=not is_sealed and application.audit_trail.verify().ok,
        is_on_hold=application.is_on_hold(),
        outdated_tokens=tuple(backups.outdated_tokens(application)),
        retired_keys=sealed_secrets.get(backups.RETIRED, {}),
        missing_keys=sealed_secrets.get(backups.MISSING, {}),
    )


def production_facts(application: Application | None) -> ProductionFacts:
    """Gather what the production check list is about; None: the database is down."""
    if in_project():
        from outkey.hosts.django.production import project_facts

        return project_facts(application, project_home())
    from outkey.hosts.server.production import embedded_facts

    return embedded_facts(application, home(), os.environ)


def token_owners(application: Application) -> Mapping[str, TokenOwner] | None:
    """Return the users who created API tokens, by name; None without any users."""
    if in_project():
        from django.apps import apps

        if not apps.is_installed("django.contrib.auth"):
            return None
        from outkey.hosts.django.rows import token_owners as project

        return project.token_owners(application)
    from outkey.hosts.server import production

    return production.token_owners()


@private_files()
def run_worker(
    runs_at_once: int,
    log: Callable[[str], None],
    log_run: Callable[[Run], None],
) -> None:
    """Take runs from the PostgreSQL queue, on as many machines as share it."""
    import logging.config

    from outkey.hosts.server.logs import logging_settings

    application = open_application()
    from outkey.hosts.django.rows.runs import has_queue

    if not has_queue():
        hint = Text(
            "On SQLite outkey serve does the work; to use PostgreSQL set"
            " OUTKEY_DATABASE_URL."
        )
        if in_project():
            hint = Text("In this project run: python manage.py outkey_worker")
        raise ConfigError(Text("separate workers need PostgreSQL"), hint=hint)
    if application.keys.is_sealed():
        # It would take runs from workers that have the key, and fail them.
        raise Sealed
    from outkey.hosts.django.workers.worker import QueueWorker

    logging.config.dictConfig(logging_settings(os.environ))

    log(f"running sync lines, {runs_at_once} at a time; stop with Ctrl-C or SIGTERM")
    QueueWorker(application, runs_at_once, log, log_run).run()
    log("ended")
