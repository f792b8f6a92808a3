"""Whether the installation of a Django process is ready, with all of its parts."""

from functools import lru_cache
from typing import Protocol, runtime_checkable

from django.db import connections

from outkey.administration.engine.application import Application
from outkey.administration.engine.operating.parts import readiness_checks
from outkey.administration.engine.operating.readiness import Readiness


@runtime_checkable
class SupportsProbe(Protocol):
    """A store of audit records that can be checked without storing one."""

    def probe(self) -> None:
        """Raise AuditUnavailable if nothing could be stored now."""


@lru_cache(maxsize=4)
def readiness_of(application: Application) -> Readiness:
    """Return the readiness checks of an installation, made once."""
    checks = readiness_checks(application)
    return Readiness(
        checks | {"audit": lambda: _probe_audit(application)},
        application.clock,
        application.sender.threads,
        release_thread=connections.close_all,
    )


def _probe_audit(application: Application) -> None:
    """Raise AuditUnavailable if a record could not be stored now."""
    trail = application.audit_trail
    for place in (trail.rows, trail.checkpoints):
        if isinstance(place, SupportsProbe):
            place.probe()
