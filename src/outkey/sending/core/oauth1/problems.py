"""What a provider reports about a request of OAuth 1.0a, as one of our reasons.

Providers report it as the extension "OAuth Problem Reporting" does (`oauth_problem`, in
the body or the challenge), as NetSuite (`error` in the challenge), by the codes of
Twitter, or in words only. Reasons are those of `sending/core/diagnosis/reasons.py`.
"""

import json
import re
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import parse_qs

from outkey.sending.core.request.challenge import parse_challenges
from outkey.sending.core.request.message import BODY_READ, Response

SIGNATURE = "oauth1-signature"
CONSUMER = "oauth1-consumer"
TOKEN = "oauth1-token"  # noqa: S105 - the name of a reason
METHOD = "oauth1-method"
NONCE = "oauth1-nonce"
CLOCK = "clock-off"
FORBIDDEN = "forbidden"
_MALFORMED = "malformed-header"
_EXPIRED = "token-expired"
_REVOKED = "token-revoked"
# Where a challenge or a JSON document names the problem.
_PROBLEM_KEYS = ("oauth_problem", "error")
_BY_PROBLEM = {
    "signature_invalid": SIGNATURE,
    "invalid_signature": SIGNATURE,
    "consumer_key_unknown": CONSUMER,
    "consumer_key_rejected": CONSUMER,
    "consumer_key_refused": CONSUMER,
    "token_rejected": TOKEN,
    "token_used": TOKEN,
    "verifier_invalid": TOKEN,
    "token_expired": _EXPIRED,
    "token_revoked": _REVOKED,
    "timestamp_refused": CLOCK,
    "nonce_used": NONCE,
    "nonce_rejected": NONCE,
    "signature_method_rejected": METHOD,
    "permission_denied": FORBIDDEN,
    "permission_unknown": FORBIDDEN,
    "additional_authorization_required": FORBIDDEN,
    "user_refused": FORBIDDEN,
    "parameter_absent": _MALFORMED,
    "parameter_rejected": _MALFORMED,
    "version_rejected": _MALFORMED,
}
# https://developer.x.com/en/support/x-api/error-troubleshooting
_BY_CODE = {
    32: SIGNATURE,
    89: TOKEN,
    135: CLOCK,
    215: _MALFORMED,
    220: FORBIDDEN,
    416: CONSUMER,
}
# Spaces and punctuation are ignored. The first that is there decides: a message about a
# timestamp or a nonce may also speak of the signature.
_BY_WORDS = (
    (
        CLOCK,
        (
            "timestamp refused",
            "timestamp out of bounds",
            "invalid timestamp",
            "timestamp is invalid",
            "timestamp expired",
            "timestamp too old",
            "expired timestamp",
        ),
    ),
    (
        NONCE,
        (
            "nonce used",
            "nonce has already",
            "nonce already",
            "nonce is already",
            "used nonce",
            "invalid nonce",
        ),
    ),
    (
        METHOD,
        (
            "invalid signature method",
            "unsupported signature method",
            "signature method is not",
            "signature method not",
            "signature method is invalid",
        ),
    ),
    (
        CONSUMER,
        (
            "consumer key is invalid",
            "consumer key has expired",
            "consumer key unknown",
            "consumer key not found",
            "invalid consumer",
            "unknown consumer",
            "consumer not found",
            "consumer does not exist",
            "invalid client key",
        ),
    ),
    (
        SIGNATURE,
        (
            "consumer secret is invalid",
            "invalid signature",
            "signature is invalid",
            "signature invalid",
            "signature mismatch",
            "signature does not match",
            "signature did not match",
            "signature verification failed",
            "bad signature",
        ),
    ),
    (TOKEN, ("invalid or expired token",)),
    (_EXPIRED, ("token expired", "token has expired", "expired token")),
    (_REVOKED, ("token revoked", "token has been revoked", "revoked token")),
    (
        TOKEN,
        (
            "token rejected",
            "invalid access token",
            "invalid token",
            "unknown token",
            "token is invalid",
            "token not found",
            "token does not exist",
        ),
    ),
)
_NOT_LETTERS = re.compile(r"[^a-z]+")


class Problem(NamedTuple):
    """What a response reports: the reason, and our own name of the sign for it."""

    reason: str
    sign: str
    is_stated: bool  # as a code that means only this


def problem_of(response: Response) -> Problem | None:
    """Return what a response reports about the request, None if it says nothing."""
    text = response.body[:BODY_READ].decode("utf-8", "replace")
    name = _named_problem(response, text)
    if name:
        return Problem(_BY_PROBLEM[name], name, is_stated=True)
    code = _code_in(text)
    if code:
        return Problem(_BY_CODE[code], f"code {code}", is_stated=True)
    return _problem_in_words(f"{text} {_descriptions(response)}")


def _named_problem(response: Response, text: str) -> str:
    """Return the problem that the challenge or the body names, if we know it."""
    names = []
    for challenge in parse_challenges(response.headers.get_all("WWW-Authenticate")):
        names += [challenge.parameters.get(key, "") for key in _PROBLEM_KEYS]
    names += parse_qs(text.strip()).get("oauth_problem", [])
    document = _document(text)
    names += [str(document.get(key, "")) for key in _PROBLEM_KEYS]
    return next((name for name in map(str.strip, names) if name in _BY_PROBLEM), "")


def _code_in(text: str) -> int:
    """Return the code of Twitter in a body, 0 without one that we know."""
    errors = _document(text).get("errors")
    if not isinstance(errors, list) or not errors or not isinstance(errors[0], dict):
        return 0
    code = errors[0].get("code")
    return code if isinstance(code, int) and code in _BY_CODE else 0


def _document(text: str) -> Mapping[str, object]:
    """Return the object of a JSON body, empty for any other body."""
    if not text.lstrip().startswith("{"):
        return {}
    try:
        document = json.loads(text, parse_int=_short_int)
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


def _short_int(digits: str) -> int:
    """Return a number of a code; a long one is none, and would take long to read."""
    return int(digits) if len(digits) <= 6 else 0


def _descriptions(response: Response) -> str:
    """Return the descriptions in the challenges."""
    challenges = parse_challenges(response.headers.get_all("WWW-Authenticate"))
    return " ".join(
        challenge.parameters.get("error_description", "") for challenge in challenges
    )


def _problem_in_words(text: str) -> Problem | None:
    """Return the problem that the words of a response name."""
    letters = _NOT_LETTERS.sub("", text.lower())
    for reason, phrases in _BY_WORDS:
        for phrase in phrases:
            if phrase.replace(" ", "") in letters:
                return Problem(reason, phrase, is_stated=False)
    return None
