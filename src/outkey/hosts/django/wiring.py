"""The one place that builds a Gateway from Django's database."""

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from django.conf import settings

from outkey.adapters.clock_system import SystemClock
from outkey.engine.managing.registry import Registry
from outkey.hosts.django.audit import DjangoAuditRows
from outkey.hosts.django.registry import django_storage
from outkey.hosts.django.shared_state import DjangoStateRows
from outkey.hosts.django.tokens import DjangoTokenRows
from outkey.hosts.installation import Installation, Tables, build_installation
from outkey.ports.sending import Configurations

if TYPE_CHECKING:
    from outkey.core.config.configuration import SyncLine
    from outkey.engine.sync import Planner, Runs, SyncPorts, SyncRunner
    from outkey.hosts.django.records.django_records import (
        DjangoRecords,
        PermissionHolder,
    )


def install(home: Path, environment: Mapping[str, str] = os.environ) -> Installation:
    """Build an installation; the database is Django's default one."""
    return build_installation(
        Tables(
            storage=django_storage(),
            audit=DjangoAuditRows(),
            states=DjangoStateRows(),
            tokens=DjangoTokenRows(),
        ),
        home,
        environment,
    )


def records(person: "PermissionHolder | None" = None) -> "DjangoRecords":
    """Return the records that the setting OUTKEY opens; for work in the background, no person."""
    from outkey.hosts.django.records.django_records import DjangoRecords

    return DjangoRecords(getattr(settings, "OUTKEY", {}).get("RECORDS", {}), person)


def runs() -> "Runs":
    """Return the stored runs of sync lines."""
    from outkey.engine.sync import Runs
    from outkey.hosts.django.runs import DjangoRunRows

    storage = django_storage()
    return Runs(DjangoRunRows(), DjangoStateRows(), storage.database, Registry(storage))


def sync_runner(
    here: Installation,
    person: "PermissionHolder | None" = None,
    line: "SyncLine | None" = None,
    *,
    configurations: Configurations | None = None,
) -> "SyncRunner":
    """Return what checks and runs sync lines; `line` counts as saved under its name.

    `configurations` takes the place of all that is stored.
    """
    from outkey.engine.managing.line_editing import WithLine
    from outkey.engine.sync import SyncRunner

    ports = _sync_ports(here, person)
    if configurations is not None:
        ports = replace(ports, configurations=configurations)
    if line is not None:
        ports = replace(ports, configurations=WithLine(here.registry, line))
    return SyncRunner(ports)


def planner(
    here: Installation,
    is_stopping: Callable[[], bool] = lambda: False,
    person: "PermissionHolder | None" = None,
) -> "Planner":
    """Return what requests runs of sync lines and does them."""
    from outkey.engine.sync import Planner
    from outkey.hosts.django.runs import queue

    return Planner(_sync_ports(here, person), here.registry, queue(), is_stopping)


def _sync_ports(here: Installation, person: "PermissionHolder | None") -> "SyncPorts":
    from outkey.adapters.calendar_cronsim import CronCalendar
    from outkey.adapters.paths_jmespath import JmespathCompiler
    from outkey.engine.sync import SyncPorts

    return SyncPorts(
        gateway=here.gateway,
        configurations=here.registry,
        records=records(person),
        runs=runs(),
        finder=JmespathCompiler(),
        clock=SystemClock(),
        calendar=CronCalendar(),
    )
