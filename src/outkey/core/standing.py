"""How a configuration stands: what its secrets, its expiry date and its last test say together."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from outkey.core.checks import WARN_DAYS
from outkey.core.config import Configuration


class Status(StrEnum):
    """One word for a list; what needs attention first comes first."""

    NEEDS_SECRET = "needs_secret"  # noqa: S105 - the name of a status
    SEALED = "sealed"
    EXPIRED = "expired"
    FAILING = "failing"
    EXPIRING_SOON = "expiring_soon"
    NEVER_TESTED = "never_tested"
    WORKING = "working"


@dataclass(frozen=True, slots=True)
class Standing:
    """How the last test ended; `current` says that nothing was changed since."""

    tested_at: float | None = None
    verified_at: float | None = None
    cause: str = ""
    current: bool = False


def status_of(
    configuration: Configuration, standing: Standing, *, now: float, sealed: bool
) -> Status:
    """Return the status to show."""
    secrets = [configuration.secrets.get(name) for name in configuration.needed_secrets()]
    bound = configuration.base.origin.bound
    if any(state is None or state.origin != bound for state in secrets):
        return Status.NEEDS_SECRET
    if sealed and any(state is not None and state.reference is None for state in secrets):
        return Status.SEALED
    today, ends = datetime.fromtimestamp(now, UTC).date(), configuration.token_expires_on
    if ends is not None and ends < today:
        return Status.EXPIRED
    if standing.current and standing.cause:
        return Status.FAILING
    if ends is not None and ends - today <= timedelta(days=WARN_DAYS):
        return Status.EXPIRING_SOON
    return Status.WORKING if standing.current else Status.NEVER_TESTED
