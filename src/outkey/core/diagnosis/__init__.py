"""From an exchange to its causes: ranked suspicions with evidence, remedy and what to click.

Pure: the answer or error, the configuration and the time go in, a diagnosis comes out. Rules yield
clues with a weight (`answers`, `entered`, `failures`); the reasons they speak for are one table
(`reasons`). Remote text is read but never handed on, except by `words_of`, whose whole point it is.

    diagnose           an answer from 400 on
    diagnose_success   an answer that says success, in tests only
    diagnose_error     nothing came back
"""

from dataclasses import replace

from outkey.core.config.configuration import Configuration
from outkey.core.diagnosis import entered
from outkey.core.diagnosis import response_rules as answers
from outkey.core.diagnosis.evidence import (
    Clue,
    Diagnosis,
    Evidence,
    Fix,
    Suspicion,
    ranked,
)
from outkey.core.diagnosis.failures import clues_of
from outkey.core.diagnosis.reasons import FIXES, REASONS, REMEDIES, Reason
from outkey.core.diagnosis.remote_text import shortened, words_of
from outkey.core.diagnosis.success import clues_in_success
from outkey.core.errors import Cause, OutkeyError
from outkey.core.request.assembly import SecretOpener
from outkey.core.request.message import Response, http_date

__all__ = [
    "FIXES",
    "REASONS",
    "REMEDIES",
    "Diagnosis",
    "Fix",
    "Reason",
    "Suspicion",
    "diagnose",
    "diagnose_error",
    "diagnose_success",
    "retry_after",
    "shortened",
    "words_of",
]

_RENEWED = (
    "Check Scope, Audience and Resource: outkey got a new token, and it is refused too."
)
_OF_TOKENS = frozenset({"wrong-credentials", "token-expired", "expired-as-403"})
_WRONG = "wrong-credentials"
_BETTER = 60  # from here on a clue explains a 401, and its usual reason only repeats the status


def diagnose(
    response: Response,
    configuration: Configuration,
    *,
    now: float,
    secret: SecretOpener | None = None,
    anonymous: int | None = None,
) -> Diagnosis | None:
    """Say why an answer is bad; an answer below 400 has no cause.

    In tests of a configuration, what was entered is evidence too (`secret`), and the status that
    the same request got without credentials (`anonymous`).
    """
    if response.status < 400:
        return None
    evidence = Evidence(response, configuration, now, secret)
    evidence.anonymous = anonymous
    rules = answers.RULES if secret is None else (*answers.RULES, *entered.RULES)
    asked = [rule for rule, statuses in rules if response.status in statuses]
    clues = [clue for rule in asked for clue in rule(evidence)]
    if any(clue.weight >= _BETTER for clue in clues):
        clues = [
            clue for clue in clues if clue.reason != _WRONG or clue.weight >= _BETTER
        ]
    found = _diagnosis(clues, configuration, response.status)
    return found if secret is None else _naming_fields(found, configuration)


def _naming_fields(found: Diagnosis, configuration: Configuration) -> Diagnosis:
    """Say which fields the credentials of this configuration stand in."""
    fields = entered.fields_in_use(configuration)
    named = f"{REASONS[_WRONG].remedy} In use here: {', '.join(fields)}."
    if configuration.uses_oauth2:
        named = f"{named} {_RENEWED}"
    suspicions = tuple(
        replace(one, remedy=named) if fields and one.reason.id == _WRONG else one
        for one in found.suspicions
    )
    return replace(found, remedy=suspicions[0].remedy, suspicions=suspicions)


def diagnose_success(
    response: Response, made: Configuration, *, now: float
) -> Diagnosis | None:
    """Say what is wrong with an answer that says success; None where nothing is."""
    clues = list(clues_in_success(Evidence(response, made, now)))
    return _diagnosis(clues, made, response.status) if clues else None


def diagnose_error(
    error: OutkeyError, configuration: Configuration, *, now: float, met: bool = False
) -> Diagnosis:
    """Say why nothing came back; the error itself has the last word on the cause.

    `met` says that a connection was opened before, so that it is the request which failed.
    """
    suspicions = ranked(list(clues_of(error, configuration, now, met=met)))
    remedy = suspicions[0].remedy if suspicions else error.hint
    fallback = REMEDIES.get(error.cause, REMEDIES[Cause.UNEXPECTED])
    return Diagnosis(error.cause, remedy or fallback, suspicions)


def _diagnosis(
    clues: list[Clue], configuration: Configuration, status: int
) -> Diagnosis:
    suspicions = ranked(clues)
    if configuration.uses_oauth2 and status >= 400:
        suspicions = tuple(
            (
                replace(one, remedy=_RENEWED)
                if one.reason.id in _OF_TOKENS and one.remedy == one.reason.remedy
                else one
            )
            for one in suspicions
        )
    first = suspicions[0]
    cause = first.reason.cause
    if cause is Cause.UNEXPECTED:
        cause = REASONS[answers.usual(status)].cause
    return Diagnosis(cause, first.remedy, suspicions)


def retry_after(response: Response, *, now: float) -> float | None:
    """Read Retry-After (RFC 9110 §10.2.3): seconds or a date; nonsense counts as absent."""
    text = response.headers.get("Retry-After").strip()
    if text.isascii() and text.isdigit():
        return float(text[:10])  # ten digits are three centuries
    until = http_date(text)
    return None if until is None else max(until - now, 0.0)
