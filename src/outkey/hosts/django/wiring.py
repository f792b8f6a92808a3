"""The one place that builds an Application from Django's database."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from django.conf import settings
from django.db import connection, connections
from django.utils import timezone

from outkey.foundation.core.text import Text
from outkey.hosts.django.rows.audit import DjangoAuditRows
from outkey.hosts.django.rows.deliveries import DjangoDeliveryRows
from outkey.hosts.django.rows.ledger import DjangoLedgerRows
from outkey.hosts.django.rows.odd_rows import odd_rows
from outkey.hosts.django.rows.pairs import DjangoPairRows
from outkey.hosts.django.rows.parents import DjangoParentRows
from outkey.hosts.django.rows.raw_sql import wrap_database_errors
from outkey.hosts.django.rows.runs import DjangoLineRuns, DjangoRunRows, queue
from outkey.hosts.django.rows.shared_state import DjangoStateRows
from outkey.hosts.django.rows.storage import django_storage
from outkey.hosts.django.rows.tokens import DjangoTokenRows
from outkey.hosts.django.rows.triggers import find_triggers
from outkey.hosts.installation import Tables, build_application

if TYPE_CHECKING:
    from outkey.administration.core.policy.policy import Policy
    from outkey.administration.engine.application import Application
    from outkey.hosts.django.records.django_records import (
        DjangoRecords,
        PermissionHolder,
    )
    from outkey.sync.adapters.tables.borrowed import HostConnection


def install(home: Path, environment: Mapping[str, str] = os.environ) -> Application:
    """Return the application; its database is Django's default one."""
    policy = partial(_read_project_policy, home, environment)
    audit = DjangoAuditRows(lambda: policy().durability)
    tables = Tables(
        storage=django_storage(),
        audit=audit,
        states=DjangoStateRows(),
        tokens=DjangoTokenRows(),
        runs=DjangoRunRows(),
        line_runs=DjangoLineRuns(),
        ledger=DjangoLedgerRows(),
        parents=DjangoParentRows(),
        agreements=DjangoPairRows(),
        records=records,
        queue=queue,
        close=audit.close,
        connection=borrow_connection,
        zone=timezone.get_default_timezone(),
        deliveries=DjangoDeliveryRows(),
        release_thread=connections.close_all,
        odd_rows=odd_rows,
        triggers=find_triggers,
    )
    options = getattr(settings, "OUTKEY", {})
    handlers = options.get("WEBHOOK_HANDLERS") or ()
    if isinstance(handlers, str):
        from outkey.webhooks.core.settings.handlers import parse_handlers

        handlers = parse_handlers(handlers)
    return build_application(
        tables,
        home,
        environment,
        policy=policy,
        public_url=str(options.get("PUBLIC_URL") or ""),
        handlers=handlers,
    )


@wrap_database_errors
def borrow_connection() -> HostConnection:
    """Return the connection of this thread, open, for tables of sync lines."""
    from outkey.sync.adapters.tables.borrowed import HostConnection

    connection.ensure_connection()
    return HostConnection(connection.vendor, connection.connection)


def _read_project_policy(home: Path, environment: Mapping[str, str]) -> Policy:
    """Return the policy of the home; the setting OUTKEY overrides its durability."""
    from outkey.administration.adapters.policy_file import read_policy

    policy = read_policy(home, environment)
    setting = getattr(settings, "OUTKEY", {})
    if "AUDIT_DURABILITY" not in setting:
        return policy
    from outkey.administration.core.policy.parsing import parse_durability

    level = parse_durability(
        setting["AUDIT_DURABILITY"],
        'OUTKEY["AUDIT_DURABILITY"]',
        hint=Text("Correct the settings of the project."),
    )
    return replace(policy, durability=level)


def records(user: PermissionHolder | None = None) -> DjangoRecords:
    """Return the records that the setting OUTKEY opens; without a user, all of them."""
    from outkey.hosts.django.records.django_records import DjangoRecords

    return DjangoRecords(getattr(settings, "OUTKEY", {}).get("RECORDS", {}), user)
