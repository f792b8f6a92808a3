"""Phrases that occur in error responses, and the reason that each one suggests.

A table and its search. Spaces, hyphens, underscores and capitals are ignored, so that
one row finds `Token has expired`, `token_has_expired` and `TokenHasExpired`.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import NamedTuple

from outkey.foundation.core.text import Text
from outkey.sending.core.diagnosis.comparison import (
    PLACE_IN_DOCUMENTATION,
    not_read_clue,
)
from outkey.sending.core.diagnosis.evidence import Clue, Evidence, compact, https_fix

_ALL = frozenset({400, 401, 403})
_REFUSED = frozenset({401, 403})
_OF_TOKENS = _REFUSED | {422}  # Flask-JWT-Extended: a token that cannot be decoded
_EXACT = 70
_READ = 74  # what is checked has been found, whatever a challenge asks for
_VAGUE = 60  # used for every kind of refusal
_AGAINST_403 = 8  # the words count more than the status if credentials were read
# "token has expired" is used for every kind of token, "session" by Salesforce,
# "authentication" by HubSpot, "lifetime validation" by Microsoft.
_TABLE: tuple[tuple[str, int, frozenset[int], tuple[str, ...]], ...] = (
    (
        "token-expired",
        _EXACT,
        _ALL,
        (
            "token expired",
            "token has expired",
            "token is expired",
            "expired token",
            "expired access token",
            "expired authentication",
            "expired credential",
            "expired session",
            "session expired",
            "session has expired",
            "credentials expired",
            "credentials have expired",
            "credential has expired",
            "jwt expired",
            "jwt is expired",
            "token you provided has expired",
            "api key expired",
            "api key has expired",
            "lifetime validation failed",
        ),
    ),
    (
        "token-revoked",
        _EXACT,
        _ALL,
        (
            "token revoked",
            "token has been revoked",
            "token was revoked",
            "revoked token",
            "token is revoked",
            "key has been revoked",
            "access has been revoked",
        ),
    ),
    (
        "token-not-yet-valid",
        _EXACT,
        _ALL,
        (
            "not yet valid",
            "token used before",
            "jwt not active",
            "issued in the future",
        ),
    ),
    (
        "token-other-audience",
        _EXACT,
        _ALL,
        (
            "invalid audience",
            "wrong audience",
            "incorrect audience",
            "audience is invalid",
            "audience invalid",
            "audience validation failed",
            "audience not allowed",
        ),
    ),
    (
        "token-other-issuer",
        _EXACT,
        _ALL,
        (
            "invalid issuer",
            "wrong issuer",
            "issuer is invalid",
            "issuer invalid",
            "issuer validation failed",
            "untrusted issuer",
            "issuer mismatch",
        ),
    ),
    (
        "missing-scope",
        _EXACT,
        _REFUSED,
        (
            "insufficient scope",
            "scope insufficient",
            "missing scope",
            "required scope",
            "insufficient authentication scopes",
            "merchant approval",
            "scope does not match",
            "scope mismatch",
            "insufficient privileges",
            "not accessible by personal access token",
            "not accessible by integration",
        ),
    ),
    (
        "forbidden",
        _EXACT - 1,  # a missing scope is more precise
        _REFUSED,
        (
            "insufficient permission",
            "insufficient right",
            "insufficient role",
            "insufficient access",
            "missing permission",
            "missing role",
            "required permission",
            "required role",
            "requires permission",
            "requires role",
            "permission required",
            "permission denied",
            "permission is required",
            "role is required",
            "not have permission",
            "n't have permission",
            "not have the permission",
            "not have the required",
            "not have access",
            "n't have access",
            "not have sufficient",
            "not have enough",
            "no permission",
            "lacks permission",
            "lack the required",
            "not permitted to",
            "not allowed to",
            "not authorized to perform",
            "unauthorized to perform",
            "admin privileges",
            "administrator privileges",
            "admin rights",
            "must be admin",
            "must be an admin",
            "only admin",
            "not an admin",
            "requires admin",
            "admin only",
        ),
    ),
    ("csrf-required", _EXACT, frozenset({400, 403}), ("csrf",)),
    (
        "ip-not-allowed",
        _EXACT,
        _REFUSED,
        ("ip address", "ip allow list", "ip whitelist", "ip referer blocked"),
    ),
    (
        "account-locked",
        _EXACT,
        _REFUSED | {402, 423},
        (
            "account locked",
            "account is locked",
            "account has been locked",
            "account disabled",
            "account is disabled",
            "account has been disabled",
            "account inactive",
            "account is inactive",
            "account suspended",
            "account is suspended",
            "account has been suspended",
            "user locked",
            "user is locked",
            "user disabled",
            "user is disabled",
            "user is inactive",
            "user inactive",
            "inactive user",
            "user is not active",
            "account is not active",
            "too many failed",
            "password expired",
            "password has expired",
        ),
    ),
    (
        "quota-exhausted",
        _EXACT,
        frozenset({403, 429}),
        (
            "quota exceeded",
            "exceeded your quota",
            "exceeded quota",
            "quota exhausted",
            "daily limit",
            "monthly limit",
            "rateLimitExceeded",
            "out of call volume quota",
            "request limit exceeded",
            "quota will be replenished",
        ),
    ),
    (
        "rate-limited",
        _EXACT,
        frozenset({403}),
        ("too many requests", "secondary rate limit"),
    ),
    (
        "https-required",
        _EXACT,
        _ALL | {426},
        (
            "https required",
            "https is required",
            "ssl required",
            "ssl is required",
            "requires https",
            "use https",
            "over https",
            "using https",
        ),
    ),
    (
        "client-certificate-missing",
        92,
        frozenset({400, 401, 403}),
        (
            "no required SSL certificate was sent",
            "client certificate required",
            "client certificate is required",
            "no client certificate",
        ),
    ),
    (
        "client-certificate-refused",
        91,
        frozenset({400, 401, 403}),
        (
            "the SSL certificate error",
            "invalid client certificate",
            "client certificate is not trusted",
        ),
    ),
    (
        "plain-http-to-tls-port",
        92,
        frozenset({400}),
        (
            "plain HTTP request was sent to HTTPS port",
            "sent an HTTP request to an HTTPS server",
            "speaking plain HTTP to an SSL-enabled server port",
        ),
    ),
    (
        "header-too-large",
        85,
        frozenset({400, 413}),
        (
            "header or cookie too large",
            "header fields too large",
            "header field too large",
            "headers too large",
            "header too large",
            "header field exceeds server limit",
            "request header is too long",
            "limit request headers fields size",
        ),
    ),
    (
        "malformed-header",
        72,
        _ALL | {422},
        (
            "authorization header malformed",
            "malformed authorization",
            "invalid authorization header",
            "bad authorization header",
            "authorization header format",
            "equal-sign) in authorization header",
            "incomplete signature",
            "jwt malformed",
            "jwt is not well formed",
            "not enough segments",
            "invalid header padding",
            "token is malformed",
            "malformed token",
            "compact token parsing failed",
        ),
    ),
    (
        "wrong-scheme",
        66,
        _REFUSED,
        (
            "authorization scheme",
            "authentication scheme",
            "unsupported authorization",
            "unsupported scheme",
        ),
    ),
    (
        "wrong-environment",
        _EXACT + 1,
        _ALL | {404},
        (
            "exists in test mode",
            "exists in live mode",
            "test mode key",
            "live mode key",
            "wrong datacenter",
            "wrong environment",
            "sandbox credentials",
            "sandbox account",
        ),
    ),
    (
        "hidden-401",
        _EXACT,
        frozenset({404}),
        (
            "do not have permission",
            "do not have access",
            "don't have permission",
            "don't have access",
            "not have sufficient",
            "docs.github.com",
            "not authorized",
        ),
    ),
    (
        "blocked-by-firewall",
        _EXACT,
        frozenset({403, 406, 429, 503}),
        (
            "attention required! | cloudflare",
            "requested url was rejected",
            "incapsula incident",
            "web application firewall",
            "sucuri website firewall",
            "request blocked",
        ),
    ),
    (
        "no-credentials-sent",
        _VAGUE + 2,
        _ALL,
        (
            "credentials were not provided",
            "no api key",
            "missing api key",
            "api key is missing",
            "did not provide an api key",
            "missing authorization",
            "missing authentication token",
            "authorization header is missing",
            "authorization header missing",
            "not authed",
            "no authorization header",
            "no token provided",
            "consumer key is missing",
            "login required",
            "missing subscription key",
            "missing credentials",
            "credentials required",
            "no authorization token",
            "no auth token",
            "no credentials",
            "missing bearer",
            "missing token",
            "token is missing",
            "token not provided",
            "not authenticated",
            "unauthenticated",
            "username is empty",
            "not logged in",
        ),
    ),
    (
        "wrong-credentials",
        _READ,
        _OF_TOKENS,
        (
            "invalid signature",
            "signature is invalid",
            "signature invalid",
            "bad signature",
            "signature verification failed",
            "signature does not match",
            "signature mismatch",
        ),
    ),
    # JSON-RPC servers respond with 400 (aria2).
    ("wrong-credentials", _VAGUE, frozenset({400}), ("unauthorized",)),
    (
        "wrong-credentials",
        _VAGUE,
        _ALL,
        (
            "bad credentials",
            "invalid credentials",
            "invalid api key",
            "api key not valid",
            "api key invalid",
            "api key is invalid",
        ),
    ),
    (
        "wrong-credentials",
        _VAGUE,
        _OF_TOKENS,
        (
            "invalid username or password",
            "incorrect username or password",
            "wrong username or password",
            "invalid access token",
            "access token is invalid",
            "unrecognized login",
            "authentication failed",
            "invalid auth",
            "invalid token",
            "invalid access key id",
            "key is invalid",
            "secret is invalid",
            "invalid client",
            "could not be authenticated",
            "unknown api key",
            "authentication failure",
        ),
    ),
)
# Nearly every phrase has one of these: most responses have few of them, which saves the
# search for all other phrases.
_STEMS = tuple(
    b"expired revoked scope audience issuer account certificate header limit quota"
    b" https ssl credentials apikey auth invalid missing token user have mode"
    b" ipaddress permission role admin allowed permitted segments".split()
)


class Phrase(NamedTuple):
    """One phrase of the table; `needle` is its compact form."""

    needle: bytes
    reason: str
    weight: int
    text: str


@cache  # made for the first response of a status: a command meets one or two
def _phrases_by_stem(status: int) -> tuple[tuple[bytes, tuple[Phrase, ...]], ...]:
    """Return the phrases for a status, grouped by their stem."""
    groups: dict[bytes, list[Phrase]] = {}
    for reason, weight, statuses, texts in _TABLE:
        # An error in a 200 may use the phrases of any status.
        if status in statuses or status == 200:
            for text in texts:
                needle = compact(text)
                stem = next((stem for stem in _STEMS if stem in needle), b"")
                groups.setdefault(stem, []).append(Phrase(needle, reason, weight, text))
    return tuple((stem, tuple(phrases)) for stem, phrases in groups.items())


_MISSING = "no-credentials-sent"
_NOT_READ = "credentials-not-read"
_WRONG = "wrong-credentials"
_EXPIRED = "token-expired"
# Only a known user can lack a right.
_OF_KNOWN_USERS = frozenset({"forbidden", "missing-scope"})
_OF_KEYS = frozenset(
    (
        "token-expired",
        "token-revoked",
        "token-not-yet-valid",
        "token-other-audience",
        "token-other-issuer",
    )
)


def by_phrases(evidence: Evidence) -> Iterator[Clue]:
    """Yield a clue for each phrase in the response that fits the request."""
    status = evidence.status if evidence.status >= 300 else 200
    if status == 403 and b"csrf" in evidence.phrases and evidence.is_unknown_reader:
        yield from _clues_of_csrf(evidence)
    for stem, phrases in _phrases_by_stem(status):
        if stem not in evidence.phrases:
            continue
        for phrase in phrases:
            if phrase.needle in evidence.phrases and _can_apply(
                phrase.reason, evidence
            ):
                reason = reason_for(phrase, evidence)
                text = Text('The response says "{phrase}".', phrase=phrase.text)
                if phrase.reason == _EXPIRED and evidence.names_alternatives:
                    text = Text("The response says that it is expired or invalid.")
                    # More than another scheme in a challenge: the token was read.
                    yield Clue(_EXACT - 1, _WRONG, text)
                    yield Clue(40, reason, text)
                elif reason == _NOT_READ:
                    weight = phrase.weight + 4 * evidence.is_same_without
                    yield not_read_clue(weight, text, evidence)
                else:
                    fix = https_fix(reason, evidence.configuration)
                    weight = phrase.weight
                    if reason == _WRONG and evidence.status == 403:
                        weight += _AGAINST_403 * evidence.reads_ours
                    yield Clue(weight, reason, text, fix=fix)


def _clues_of_csrf(evidence: Evidence) -> Iterator[Clue]:
    """Yield why a request that only reads needs a CSRF token: it is a browser's."""
    if not evidence.configuration.sends_credentials:
        return
    text = Text(
        "Even reading needs a CSRF token, as for a browser: the API has not recognized"
        " the credentials."
    )
    clue = not_read_clue(69, text, evidence)
    yield replace(clue, rivals=(_WRONG,), distinction=PLACE_IN_DOCUMENTATION)


def reason_for(phrase: Phrase, evidence: Evidence) -> str:
    """Return the reason that a phrase suggests for this request."""
    if phrase.reason == _EXPIRED and evidence.status == 403:
        return "expired-as-403"
    sends_credentials = evidence.configuration.sends_credentials
    if phrase.reason == _MISSING and sends_credentials:
        return _NOT_READ
    if phrase.reason == _WRONG and not sends_credentials:
        return _MISSING
    return phrase.reason


def _can_apply(reason: str, evidence: Evidence) -> bool:
    """Whether a reason is possible for this request."""
    if reason == "https-required":
        return evidence.configuration.base.origin.scheme == "http"
    if reason == _MISSING:
        return not evidence.reads_ours and not evidence.offers_ours
    if reason == "csrf-required":
        return not evidence.is_unknown_reader
    if reason in _OF_KNOWN_USERS:
        return not evidence.is_same_without and evidence.configuration.sends_credentials
    return evidence.sends_key or reason not in _OF_KEYS
