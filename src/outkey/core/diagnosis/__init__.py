"""From an exchange to its causes: ranked suspicions with evidence, remedy and what to click.

Pure: the answer or error, the configuration and the time go in, a diagnosis comes out. Rules yield
clues with a weight (`answers`, `entered`, `failures`); the reasons they speak for are one table
(`reasons`). Remote text is read but never handed on, except by `words_of`, whose whole point it is.

    diagnose           an answer from 400 on
    diagnose_success   an answer that says success, in tests only
    diagnose_error     nothing came back
"""

from dataclasses import replace
from email.utils import parsedate_to_datetime

from outkey.core.assembly import SecretOpener
from outkey.core.config import Configuration
from outkey.core.diagnosis import answers, entered
from outkey.core.diagnosis.evidence import Clue, Diagnosis, Evidence, Fix, Suspicion, ranked
from outkey.core.diagnosis.failures import clues_of
from outkey.core.diagnosis.reasons import FIXES, REASONS, REMEDIES, Reason
from outkey.core.diagnosis.success import clues_in_success
from outkey.core.diagnosis.words import shortened, words_of
from outkey.core.errors import Cause, OutkeyError
from outkey.core.message import Response

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

_RENEWED = "Check Scope, Audience and Resource: outkey got a new token, and it is refused too."
_OF_TOKENS = frozenset({"wrong-credentials", "token-expired", "expired-as-403"})


def diagnose(
    response: Response,
    configuration: Configuration,
    *,
    now: float,
    secret: SecretOpener | None = None,
) -> Diagnosis | None:
    """Say why an answer is bad; an answer below 400 has no cause.

    With `secret`, in tests of a configuration, what was entered is evidence too.
    """
    if response.status < 400:
        return None
    evidence = Evidence(response, configuration, now, secret)
    clues = [clue for rule in answers.RULES for clue in rule(evidence)]
    if secret is not None:
        clues += [clue for rule in entered.RULES for clue in rule(evidence)]
    return _diagnosis(clues, configuration, response.status)


def diagnose_success(
    response: Response, configuration: Configuration, *, now: float
) -> Diagnosis | None:
    """Say what is wrong with an answer that says success; None where nothing is."""
    clues = list(clues_in_success(Evidence(response, configuration, now)))
    return _diagnosis(clues, configuration, response.status) if clues else None


def diagnose_error(error: OutkeyError, configuration: Configuration, *, now: float) -> Diagnosis:
    """Say why nothing came back; the error itself has the last word on cause and remedy."""
    suspicions = ranked(list(clues_of(error, configuration, now)))
    remedy = suspicions[0].remedy if suspicions else error.hint
    fallback = REMEDIES.get(error.cause, REMEDIES[Cause.UNEXPECTED])
    return Diagnosis(error.cause, remedy or fallback, suspicions)


def _diagnosis(clues: list[Clue], configuration: Configuration, status: int) -> Diagnosis:
    suspicions = ranked(clues)
    if configuration.uses_oauth2 and status >= 400:
        suspicions = tuple(
            replace(one, remedy=_RENEWED) if one.reason.id in _OF_TOKENS else one
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
    try:
        until: float = parsedate_to_datetime(text).timestamp()
    except (ValueError, TypeError, OverflowError):
        return None
    return until - now if until > now else 0.0
