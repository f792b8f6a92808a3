"""When a run that failed is tried again, and which runs must wait for each other."""

from collections.abc import Mapping

from outkey.core.errors import Cause, OutkeyError, Sealed

# Seconds help against a restart, an hour against an outage; after that a person is needed.
DELAYS = (15.0, 60.0, 300.0, 900.0, 3600.0)
ATTEMPTS = len(DELAYS) + 1
_PASSING = frozenset(
    {Cause.CONNECTION, Cause.TIMEOUT, Cause.DNS, Cause.RATE_LIMITED, Cause.SERVER_ERROR}
)


def delay_before_retry(error: OutkeyError, attempt: int) -> float | None:
    """Return the seconds until a run may be tried again; None where only a person can help."""
    passing = error.cause in _PASSING or (error.retryable and not isinstance(error, Sealed))
    return DELAYS[attempt - 1] if passing and attempt < ATTEMPTS else None


def lock_of(line: str, owners: Mapping[str, str], at_once: int) -> str:
    """Return the name of the lock that a line's runs hold; lines have configurations as owners.

    The lines of a configuration share as many locks as it may have runs at once, in turns: so many
    run at the same time and no more, whoever runs them, and without anybody who counts.
    """
    before = sum(owner == owners[line] and name < line for name, owner in owners.items())
    return f"{owners[line]}/{before % at_once}"
