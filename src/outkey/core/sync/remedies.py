"""Why a run ended and what helps, by the cause that is stored with it."""

from outkey.core import errors
from outkey.core.diagnosis import REASONS, REMEDIES
from outkey.core.errors import BadAnswer, Cause, OutkeyError
from outkey.core.oauth2.responses import FAILURES
from outkey.core.sync.reasons import RUN_FAILURES
from outkey.core.text import NO_TEXT, Text

# One error of each class, by code; of several classes with one code, the first.
ERRORS: dict[str, OutkeyError] = {
    kind.code: kind()
    for kind in reversed(vars(errors).values())
    if isinstance(kind, type)
    and issubclass(kind, OutkeyError)
    and kind is not BadAnswer
}
# The later of these tables is the more helpful one for a run.
REMEDY_BY_CAUSE: dict[str, Text] = {
    **{reason: hint for reason, (_message, hint) in FAILURES.items()},
    **{str(cause): remedy for cause, remedy in REMEDIES.items()},
    **{code: error.hint for code, error in ERRORS.items() if error.hint},
    **{reason: failure.remedy for reason, failure in RUN_FAILURES.items()},
    "configuration": Text(
        "Open the line and its configuration: they show what is wrong."
    ),
    # By the API, more often than by a login or by the configuration's own limit.
    "invalid_credentials": REMEDIES[Cause.INVALID_CREDENTIALS],
    "rate_limited": REMEDIES[Cause.RATE_LIMITED],
    "egress_denied": REASONS["egress-denied"].remedy,
}


def summary_of(cause: str) -> Text:
    """Return why a run ended; an unknown cause is returned with spaces."""
    if cause in set(Cause):
        return Cause(cause).label
    if cause in FAILURES:
        return FAILURES[cause][0]
    if cause in ERRORS:
        return ERRORS[cause].message
    if cause in RUN_FAILURES:
        return RUN_FAILURES[cause].summary
    return Text("{cause}", cause=cause.replace("_", " "))


def remedy_of(cause: str) -> Text:
    """Return what helps, as a connection test would say it; empty if nothing does."""
    return REMEDY_BY_CAUSE.get(cause, NO_TEXT)
