"""The one place that builds a Gateway from Django's database."""

import os
from collections.abc import Mapping
from pathlib import Path

from outkey.hosts.django.audit import DjangoAuditRows
from outkey.hosts.django.registry import DjangoRegistry
from outkey.hosts.django.sharing import DjangoPaces, DjangoProcesses
from outkey.hosts.installation import Installation, build_installation


def install(home: Path, environment: Mapping[str, str] = os.environ) -> Installation:
    """Build an installation; the database is Django's default one."""
    return build_installation(
        DjangoRegistry(), DjangoAuditRows(), DjangoPaces(), DjangoProcesses(), home, environment
    )
