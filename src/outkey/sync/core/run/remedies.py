"""Why a run ended and what helps, by the cause that is stored with it."""

from enum import StrEnum

from outkey.foundation.core import errors
from outkey.foundation.core.errors import BadResponse, Cause, OutkeyError
from outkey.foundation.core.text import NO_TEXT, Text
from outkey.sending.core.diagnosis.reasons import REASONS, REMEDIES
from outkey.sending.core.oauth2.responses import FAILURES
from outkey.sync.core.run.reasons import (
    ALL_REFUSED,
    GUARD,
    NO_REMOTE_ID,
    RUN_FAILURES,
    SHAPE_CHANGED,
)
from outkey.sync.core.run.states import KILLED, PAUSED, STOPPING

# One error of each class, by code; of several classes with one code, the first.
ERRORS: dict[str, OutkeyError] = {
    kind.code: kind()
    for kind in reversed(vars(errors).values())
    if isinstance(kind, type)
    and issubclass(kind, OutkeyError)
    and kind is not BadResponse
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


class RunHelp(StrEnum):
    """The help of a page after a run that did not end well."""

    OPEN_MAPPING = "open_mapping"
    OPEN_LINE = "open_line"
    TEST_CONFIGURATION = "test_configuration"
    ALLOW_REMOVAL = "allow_removal"
    RUN_AGAIN = "run_again"


# Causes about the fields of a line, and causes that may have passed meanwhile.
MAPPING_CAUSES = frozenset(
    {ALL_REFUSED, NO_REMOTE_ID, "expression", "not_a_list", "not_objects"}
)
PASSING_CAUSES = frozenset(
    {KILLED, STOPPING, "gap", "internal_error", "line_busy", "storage_unavailable"}
)
LINE_CAUSES = {*RUN_FAILURES, PAUSED, "configuration", "not_found"}
# Where a page has a button, it does not name the command.
PAGE_REMEDIES = {
    SHAPE_CHANGED: Text(
        "Correct the fields of the line, and accept the new shape on its page. The next"
        " run continues there."
    ),
    GUARD: Text(
        "Check where they are missing: at the API, or for a push in the host. If"
        " they are really deleted, allow the removal once, or raise guard_percent."
    ),
}


def help_after(cause: str) -> RunHelp | None:
    """Return the best help after a run that ended for a cause; None if unknown."""
    if cause == GUARD:
        return RunHelp.ALLOW_REMOVAL
    if cause in MAPPING_CAUSES:
        return RunHelp.OPEN_MAPPING
    if cause in PASSING_CAUSES:
        return RunHelp.RUN_AGAIN
    if cause in LINE_CAUSES:
        return RunHelp.OPEN_LINE
    is_known = cause in REMEDY_BY_CAUSE or cause in set(Cause)
    return RunHelp.TEST_CONFIGURATION if is_known else None


def cause_text(cause: str) -> Text:
    """Return why a run ended or waits; a pause may be over meanwhile."""
    if cause == PAUSED:
        return Text("stopped by a pause of the line")
    return summary_of(cause)


def page_remedy_of(cause: str) -> Text:
    """Return the remedy, for a page that has a button for it."""
    return PAGE_REMEDIES.get(cause) or remedy_of(cause)


def summary_of(cause: str) -> Text:
    """Return why a run ended; an unknown cause is returned with spaces."""
    # The label of a pause would not say that the API has rejected the credentials.
    if cause in set(Cause) - {Cause.PAUSED}:
        return Cause(cause).label
    if cause in FAILURES:
        return FAILURES[cause][0]
    if cause in ERRORS:
        return ERRORS[cause].message
    if cause in RUN_FAILURES:
        return RUN_FAILURES[cause].summary
    return Text("{cause}", cause=cause.replace("_", " "))


def remedy_of(cause: str) -> Text:
    """Return the remedy in the words of a connection test; it may be empty."""
    return REMEDY_BY_CAUSE.get(cause, NO_TEXT)
