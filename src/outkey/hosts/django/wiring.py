"""The one place that builds a Gateway from Django's database."""

import os
from collections.abc import Mapping
from pathlib import Path

from outkey.hosts.django.audit import DjangoAuditRows
from outkey.hosts.django.registry import DjangoRegistry
from outkey.hosts.django.sharing import DjangoPaces, DjangoProcesses
from outkey.hosts.django.tokens import DjangoTokenRows
from outkey.hosts.installation import Installation, Tables, build_installation


def install(home: Path, environment: Mapping[str, str] = os.environ) -> Installation:
    """Build an installation; the database is Django's default one."""
    return build_installation(
        Tables(
            registry=DjangoRegistry(),
            audit=DjangoAuditRows(),
            paces=DjangoPaces(),
            processes=DjangoProcesses(),
            tokens=DjangoTokenRows(),
        ),
        home,
        environment,
    )
