"""The facts that the production check list is about, where Django stores the data."""

import os
import resource
import shutil
import sys
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from django.conf import settings
from django.db import connection

from outkey.administration.core.operating.checklist import ProductionFacts
from outkey.administration.engine.application import Application
from outkey.administration.engine.operating.backups import backed_up_at
from outkey.foundation.core.errors import StorageUnavailable
from outkey.hosts.django.readiness import readiness_of
from outkey.hosts.django.rows.raw_sql import wrap_database_errors
from outkey.sending.adapters.transport.listeners_file import ListenerFiles


def project_facts(application: Application | None, home: Path) -> ProductionFacts:
    """Return the facts known in every Django project, without its proxies and users."""
    facts = _machine_facts(home)
    if application is None:
        return replace(facts, parts={"database": StorageUnavailable.code})
    return _with_database(facts, application)


def _machine_facts(home: Path) -> ProductionFacts:
    """Return the facts that need no database."""
    descriptors, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    facts = ProductionFacts(
        now=time.time(),
        listening=ListenerFiles(home / "data" / "listening").bound_addresses(),
        debugging=_debugging_settings(),
        is_superuser=os.geteuid() == 0,
        descriptors=sys.maxsize
        if descriptors == resource.RLIM_INFINITY
        else descriptors,
    )
    with suppress(OSError):
        usage = shutil.disk_usage(home)
        facts = replace(
            facts, free_bytes=usage.free, free_share=usage.free / usage.total
        )
    return facts


def _debugging_settings() -> list[str]:
    """Return the settings for developers that are on."""
    is_on = {
        "DEBUG": settings.configured and settings.DEBUG,
        "PYTHONDEVMODE": sys.flags.dev_mode,
        "OUTKEY_LOG_LEVEL": os.environ.get("OUTKEY_LOG_LEVEL") in {"DEBUG", "NOTSET"},
    }
    return [name for name, value in is_on.items() if value]


def _with_database(facts: ProductionFacts, application: Application) -> ProductionFacts:
    """Add what an installation with a database shows of itself."""
    host, encrypted = _database_connection()
    return replace(
        facts,
        parts=readiness_of(application).check_all(),
        public_url=application.public_url,
        has_key_file="OUTKEY_KEY" not in os.environ or application.key_file.exists(),
        database_host=host,
        database_encrypted=encrypted,
        backed_up_at=backed_up_at(application),
        clock_offset=application.database.now() - time.time(),
        newest_record_at=newest_record_at(application),
    )


@wrap_database_errors
def _database_connection() -> tuple[str, bool | None]:
    """Return where the database is, and whether the connection to it is encrypted."""
    if connection.vendor == "sqlite":
        return "", None
    if connection.vendor != "postgresql":
        return str(connection.settings_dict["HOST"]), None
    connection.ensure_connection()
    info = connection.connection.info
    return info.host, connection.connection.pgconn.ssl_in_use


def newest_record_at(application: Application) -> float | None:
    """Return when the newest record of the audit was made, by the clock of then."""
    records = application.audit_trail.rows.newest(1)
    at = records[0].get("at") if records else None
    return at / 1000 if isinstance(at, int) else None
