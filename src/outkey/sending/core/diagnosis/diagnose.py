"""The diagnosis of a response, or of an error that came instead."""

from dataclasses import replace

from outkey.foundation.core.errors import Cause, OutkeyError
from outkey.foundation.core.text import Text, join_texts
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.diagnosis import entered, response_rules
from outkey.sending.core.diagnosis.evidence import (
    PROVED,
    STATED,
    Clue,
    Diagnosis,
    Evidence,
    have_same_message,
    rank_clues,
)
from outkey.sending.core.diagnosis.failures import TlsHello, clues_of
from outkey.sending.core.diagnosis.reasons import REASONS, REMEDIES
from outkey.sending.core.diagnosis.remote_text import read_json
from outkey.sending.core.diagnosis.success import clues_in_success, doubt_about
from outkey.sending.core.request.assembly import SecretOpener
from outkey.sending.core.request.expired_marker import FORBIDDEN
from outkey.sending.core.request.message import BODY_READ, Response
from outkey.sending.core.request.schemes.fetched import is_rejected

_RENEWED = Text(
    "Check Scope, Audience and Resource: outkey got a new token, and it is rejected"
    " too."
)
_LOGGED_IN = Text(
    "Check Token in the response, Token header and Token prefix: outkey logged in"
    " again, and the new token is rejected too."
)
_NOT_RENEWED = Text(
    "Implement a token refresh mechanism: enter a text of this response as Expired"
    " marker, or its status as Expired statuses, and outkey gets a new token after it."
)
_EXPIRED = frozenset({"token-expired", "expired-as-403"})
_OF_TOKENS = _EXPIRED | {"wrong-credentials"}
_WRONG = "wrong-credentials"
_EXPLAINS = STATED  # such a clue says more than the status of a 401


def diagnose(
    response: Response,
    configuration: Configuration,
    *,
    now: float,
    secret: SecretOpener | None = None,
    anonymous: Response | None = None,
) -> Diagnosis | None:
    """Return the cause of an error response; None for a success.

    A status below 400 is one, unless the response has the Expired marker.

    In tests of a configuration the entered secrets are evidence too (`secret`), and the
    response to the same request without credentials (`anonymous`).
    """
    if response.status < 400:
        return _diagnose_marker(response, configuration, now=now)
    evidence = Evidence(response, configuration, now, secret, anonymous)
    rules = response_rules.RULES
    if secret is not None:
        rules = (*rules, *entered.RULES)
    clues = [
        clue
        for rule, statuses in rules
        if response.status in statuses
        for clue in rule(evidence)
    ]
    if any(clue.weight >= _EXPLAINS for clue in clues):
        clues = [
            clue for clue in clues if clue.reason != _WRONG or clue.weight >= _EXPLAINS
        ]
    if response.status == FORBIDDEN and any(clue.weight >= PROVED for clue in clues):
        # What a 403 may mean otherwise is no news beside what is proved.
        clues = [clue for clue in clues if clue.weight >= STATED]
    diagnosis = _diagnosis_of(clues, configuration, response)
    if secret is None:
        return diagnosis
    return _name_fields(diagnosis, configuration, response)


def _diagnose_marker(
    response: Response, configuration: Configuration, *, now: float
) -> Diagnosis | None:
    """Return the diagnosis of a success that has the Expired marker, if it has."""
    if not configuration.looks_for_marker:
        return None
    clues = list(
        response_rules.by_expiry_settings(Evidence(response, configuration, now))
    )
    return _diagnosis_of(clues, configuration, response) if clues else None


def _name_fields(
    diagnosis: Diagnosis, configuration: Configuration, response: Response
) -> Diagnosis:
    """Return a diagnosis whose remedy names the fields of the credentials."""
    fields = entered.fields_in_use(configuration)
    remedies = [
        REASONS[_WRONG].remedy,
        Text("In use here: {fields}.", fields=join_texts(fields, ", ")),
    ]
    if configuration.renews_token and _is_renewed_after(response, configuration):
        remedies.append(_renewed_remedy(configuration))
    remedy = join_texts(remedies)
    suspicions = tuple(
        replace(suspicion, remedy=remedy)
        if fields and suspicion.reason.id == _WRONG
        else suspicion
        for suspicion in diagnosis.suspicions
    )
    return replace(diagnosis, remedy=suspicions[0].remedy, suspicions=suspicions)


def _token_remedies(
    response: Response, configuration: Configuration
) -> dict[str, Text]:
    """Return the remedies for a token that was fetched, by reason.

    That it was renewed is only stated of a response that makes outkey do so.
    """
    if _is_renewed_after(response, configuration):
        return dict.fromkeys(_OF_TOKENS, _renewed_remedy(configuration))
    return dict.fromkeys(_EXPIRED, _NOT_RENEWED)


def _is_renewed_after(response: Response, configuration: Configuration) -> bool:
    """Whether a fetched token is renewed after such a response."""
    return is_rejected(response, configuration, lambda _response: False)


def _renewed_remedy(configuration: Configuration) -> Text:
    """Return the remedy where the API rejects a token that was just fetched."""
    return _LOGGED_IN if configuration.uses_login else _RENEWED


def diagnose_success(
    response: Response, configuration: Configuration, *, now: float
) -> Diagnosis | None:
    """Return the diagnosis of an error inside a successful response, or None."""
    expired = _diagnose_marker(response, configuration, now=now)
    if expired is not None:
        return expired
    clues = list(clues_in_success(Evidence(response, configuration, now)))
    return _diagnosis_of(clues, configuration, response) if clues else None


def doubt_about_success(
    response: Response, configuration: Configuration, *, now: float
) -> Text | None:
    """Return the sign of a refusal in a successful response, or None."""
    return doubt_about(Evidence(response, configuration, now))


def have_other_content(response: Response, other: Response) -> bool:
    """Whether two successes are documents with other members or other values.

    Times and ids do not count, as in the comparison of refusals.
    """
    documents = [read_json(one.text[:BODY_READ]) for one in (response, other)]
    if not all(isinstance(document, dict | list) for document in documents):
        return False
    return not have_same_message(response, other)


def diagnose_error(
    error: OutkeyError,
    configuration: Configuration,
    *,
    now: float,
    met: bool = False,
    hello: TlsHello | None = None,
) -> Diagnosis:
    """Return why there was no response; the cause is always that of the error.

    `met` means that a connection was opened before, so that the request itself failed;
    `hello` is what the port did with a TLS handshake after that.
    """
    clues = clues_of(error, configuration, now, met=met, hello=hello)
    suspicions = rank_clues(list(clues))
    remedy = suspicions[0].remedy if suspicions else error.hint
    fallback = REMEDIES.get(error.cause, REMEDIES[Cause.UNEXPECTED])
    return Diagnosis(error.cause, remedy or fallback, suspicions)


def _diagnosis_of(
    clues: list[Clue], configuration: Configuration, response: Response
) -> Diagnosis:
    """Return the diagnosis of a response from its clues, at least one."""
    suspicions = rank_clues(clues)
    if configuration.renews_token:
        remedies = _token_remedies(response, configuration)
        suspicions = tuple(
            replace(suspicion, remedy=remedies[suspicion.reason.id])
            if suspicion.reason.id in remedies
            and suspicion.remedy == suspicion.reason.remedy
            else suspicion
            for suspicion in suspicions
        )
    first = suspicions[0]
    cause = first.reason.cause
    if cause is Cause.UNEXPECTED:
        cause = REASONS[response_rules.status_reason(response.status)].cause
    return Diagnosis(cause, first.remedy, suspicions)
