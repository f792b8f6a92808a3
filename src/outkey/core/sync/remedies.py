"""Why a run ended and what helps, by the word that is kept with it."""

from outkey.core import errors
from outkey.core.diagnosis import REASONS, REMEDIES
from outkey.core.errors import BadAnswer, Cause, OutkeyError, SyncFailed
from outkey.core.oauth2.responses import FAILURES

# One of each kind of error, by its code; of several kinds with one code, the first.
_ERRORS: dict[str, OutkeyError] = {
    kind.code: kind()
    for kind in reversed(vars(errors).values())
    if isinstance(kind, type)
    and issubclass(kind, OutkeyError)
    and kind is not BadAnswer
}
# What helps against the cause of a run. Those of reasons are the words that the core raises.
HINTS: dict[str, str] = {
    **{reason: hint for reason, (_message, hint) in FAILURES.items()},
    **{str(cause): remedy for cause, remedy in REMEDIES.items()},
    **{code: error.hint for code, error in _ERRORS.items() if error.hint},
    **dict.fromkeys(("killed", "stopping", "internal_error"), ""),  # their words say it
    **dict.fromkeys(("too_many_pages", "expression"), SyncFailed.default_hint),
    "configuration": (
        "Look at the line and its configuration: what is wrong stands there."
    ),
    "rate_limited": REMEDIES[Cause.RATE_LIMITED],  # by the API, more often than by us
    "egress_denied": REASONS["egress-denied"].remedy,
    "not_json": (
        "Check the path of the line; an address for people answers with a page."
    ),
    "not_a_list": (
        "Correct Records (records); where an empty answer has none, add || `[]`."
    ),
    "not_objects": "Correct Records (records): it must lead to a list of objects.",
    "too_many_records": (
        "Ask for them page by page (pagination), or for a smaller size."
    ),
    "too_many_values": "Ask for fewer records at a time (pagination.size).",
    "run_limit": (
        "If there are really so many records, raise max_records or max_minutes of the"
        " line; else check the pagination, or ask the provider of the API."
    ),
    "preview_limit": "Simplify the expressions of the line, or start a dry run.",
    "page_repeated": (
        "Check the parameter of the position (pagination.position_parameter)."
    ),
    "bad_cursor": "Correct the cursor (pagination.cursor).",
    "cursor_loop": "Check the cursor (pagination.cursor) and its parameter.",
    "foreign_next": (
        "Credentials stay at their origin: page by number or cursor instead."
    ),
    "secret_in_cursor": (
        "Page by number or offset, and choose another incremental field."
    ),
    "gap": "Run it again; if it stays so, ask for one page at a time (parallel).",
    "all_refused": (
        "Look at what was left out; check path, body and fields of the line."
    ),
}


def cause_of(word: str) -> str:
    """Return why a run ended, where the word is one of an error; else nothing."""
    if word in FAILURES:
        return FAILURES[word][0]
    return _ERRORS[word].message if word in _ERRORS else ""


def remedy_of(word: str) -> str:
    """Return what helps, as a test of the configuration would say it."""
    return HINTS.get(word, "")
