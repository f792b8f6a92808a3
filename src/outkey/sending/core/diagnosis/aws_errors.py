"""The errors of AWS, in a response to a signed request and in one of STS."""

import re
from collections.abc import Iterator

from outkey.foundation.core.errors import TokenEndpointFailed
from outkey.foundation.core.moments import CLOCK_SKEW_SECONDS
from outkey.foundation.core.text import NO_TEXT, Text
from outkey.sending.core.aws import faults
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.diagnosis.evidence import Clue, Evidence, fix_of
from outkey.sending.core.diagnosis.reasons import REASONS

# More than every phrase: a code of AWS is exact.
_STATED = 97
_OF_SECRET = 94  # less than a fault that is seen in the entered secret
# `sqs.eu-central-1.amazonaws.com`, `abc.execute-api.eu-central-1.amazonaws.com`.
_HOST = re.compile(
    r"(?:[a-z0-9-]+\.)+([a-z]{2}(?:-[a-z]+)+-\d)\.amazonaws\.com(?:\.cn)?"
)
_TEMPORARY = "ASIA"
_API_GATEWAY = "execute-api"
_TEXTS = {
    faults.SECRET: Text("AWS states that the signature does not match."),
    faults.KEY: Text("AWS states that it does not know the access key."),
    faults.SCOPE: Text(
        "AWS states that the signature is for another region or service."
    ),
    faults.CLOCK: Text("AWS states that the time of the request is wrong."),
    faults.EXPIRED: Text("AWS states that the session has expired."),
    faults.DENIED: Text(
        "AWS states that the access is denied, so the signature was accepted."
    ),
    faults.MISSING: Text("AWS states that the request has no signature."),
    faults.MALFORMED: Text("AWS states that the signature is incomplete."),
}
# The reasons of a failure at STS that a diagnosis names otherwise.
_AT_STS = {
    "aws-region-disabled": faults.SCOPE,
    "aws-invalid-value": "aws-role-denied",
    "not_a_token_endpoint": "sts-url-wrong",
    "not_found": "sts-url-wrong",
    "no_token": "sts-url-wrong",
    "too_large": "sts-url-wrong",
    "rate_limited": "rate-limited",
    "server_error": "server-error",
    "timeout": "time-out",
    "connection": "connection-refused",
    "dns": "dns-failed",
    "tls": "tls-failed",
}


def by_aws_error(evidence: Evidence) -> Iterator[Clue]:
    """Yield what the error code of AWS, or its words, say about a signed request."""
    configuration = evidence.configuration
    if not configuration.signs_for_aws:
        return
    fault = faults.fault_of(evidence.response)
    if not fault:
        return
    if fault == faults.KEY:
        yield from _clues_of_unknown_key(configuration)
    elif fault == faults.MISSING and configuration.aws.service == _API_GATEWAY:
        # API Gateway responds so to a path or method that it does not have.
        path = Text(
            "API Gateway responds to an unknown path or stage as if a signature were"
            " missing, and this request has one."
        )
        yield Clue(_STATED, "wrong-path", path)
    elif fault == faults.SCOPE:
        yield _clue_of_scope(configuration)
    elif fault == faults.EXPIRED:
        yield _clue_of_expiry(evidence)
    elif fault == faults.CLOCK and abs(evidence.skew) > CLOCK_SKEW_SECONDS:
        seconds = round(evidence.skew)
        skewed = Text(
            "AWS states that the time of the request is wrong; its clock differs from"
            " this machine's by {seconds} seconds.",
            seconds=seconds,
        )
        yield Clue(_STATED, fault, skewed)
    else:
        weight = _OF_SECRET if fault == faults.SECRET else _STATED
        yield Clue(weight, fault, _TEXTS[fault])


def _clues_of_unknown_key(configuration: Configuration) -> Iterator[Clue]:
    """Yield why AWS does not know a key: a temporary one needs its Session Token."""
    remedy = NO_TEXT
    text = _TEXTS[faults.KEY]
    has_session = "session_token" in configuration.secrets
    is_temporary = configuration.aws.access_key_id.startswith(_TEMPORARY)
    if is_temporary and not has_session and not configuration.uses_aws_role:
        text = Text(
            "AWS does not know the access key, and this one is temporary: its ID begins"
            " with ASIA, and no Session Token is set."
        )
        remedy = Text("Enter the Session Token that belongs to the access key.")
    elif has_session:
        remedy = Text(
            "Check Access Key ID and Session Token: all three values must be of the"
            " same session."
        )
    yield Clue(_STATED, faults.KEY, text, remedy)


def _clue_of_scope(configuration: Configuration) -> Clue:
    """Return the clue of another region, with the one that the host names."""
    text = _TEXTS[faults.SCOPE]
    host = _HOST.fullmatch(configuration.base.origin.host)
    region = host[1] if host else ""
    if not region or region == configuration.aws.region:
        return Clue(_STATED, faults.SCOPE, text)
    named = Text(
        "AWS states that the signature is for another region or service. The host names"
        " the region {host}, and Region is {region}.",
        host=region,
        region=configuration.aws.region,
    )
    fix = fix_of(faults.SCOPE, ("aws.region", region), value=region)
    return Clue(_STATED, faults.SCOPE, named, fix=fix)


def _clue_of_expiry(evidence: Evidence) -> Clue:
    """Return the clue of a session that has ended, with what helps."""
    reason = "expired-as-403" if evidence.status == 403 else "token-expired"
    remedy = Text(
        "Enter new keys and their Session Token, or set a Role ARN: outkey renews the"
        " session of a role by itself."
    )
    if evidence.configuration.uses_aws_role:
        remedy = Text(
            "Check the clock of this machine: outkey got a new session, and it is"
            " rejected too."
        )
    return Clue(_STATED, reason, _TEXTS[faults.EXPIRED], remedy)


def clues_at_sts(error: TokenEndpointFailed, now: float) -> Iterator[Clue]:
    """Yield the clues of a role that could not be assumed."""
    their_time = error.their_time or now
    skew = abs(round(their_time - now))
    if error.reason in {faults.CLOCK, faults.SECRET} and skew > CLOCK_SKEW_SECONDS:
        text = Text(
            "The clocks of STS and this machine differ by {seconds} seconds.",
            seconds=skew,
        )
        yield Clue(98, faults.CLOCK, text)
    reason = _AT_STS.get(error.reason, error.reason)
    if reason not in REASONS:
        reason = "unexpected"
    message = Text("{message:sentence}", message=error.message)
    yield Clue(90, reason, message, error.hint or REASONS[reason].remedy)
