"""Reading what authorization servers answer: tokens, errors and metadata.

They differ from RFC 6749 in many ways, so what can be understood is, and everything else becomes
one of the failures below, in our own words: nothing of an answer's text is handed on.
"""

import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from urllib.parse import parse_qsl

from outkey.core.echo.search import SearchText
from outkey.core.errors import (
    OutkeyError,
    RedirectBlocked,
    TokenEndpointFailed,
    frameless,
)
from outkey.core.request.message import Response, http_date
from outkey.core.secret import Secret

MAX_ANSWER = 1024 * 1024
_MAX_TOKEN = 64 * 1024
_LONGEST_LIFE = 10 * 366 * 86_400.0
_MILLISECONDS = 100_000_000_000  # a Unix time above this counts milliseconds
_TOKEN = re.compile(r"[\x21-\x7e]+")
_REFRESH = re.compile(r"[\x20-\x7e]+")  # RFC 6749 A.17: it is never a header
_SCOPE = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]+")  # RFC 6749 §3.3
_MAX_SCOPE = 2000
_MAX_FIELDS = 200

# Why there is no token, and what to do; the first words are those of RFC 6749 §5.2 and §4.1.2.1,
# RFC 8628 §3.5, RFC 8707 §2 and RFC 9449 §5.
_THEIRS: dict[str, tuple[str, str]] = {
    "invalid_client": (
        "the provider does not know the client, or not with this secret",
        "Check Client ID, Client Secret and Client Authentication.",
    ),
    "invalid_grant": (
        "the provider does not accept the refresh token, code or assertion",
        "Authorize again, or enter a new refresh token.",
    ),
    "invalid_scope": (
        "the provider does not grant the Scope that is asked for",
        "Check Scope, and what the application may ask for at the provider.",
    ),
    "unauthorized_client": (
        "the provider does not allow this Grant to the application",
        (
            "Allow it in the application's settings at the provider, or choose another"
            " Grant."
        ),
    ),
    "unsupported_grant_type": (
        "the provider does not know this Grant",
        "Choose another Grant, and check the Token URL.",
    ),
    "invalid_request": (
        "the provider does not understand the token request",
        (
            "Check Client Authentication, Body format, Audience, Resource and the Extra"
            " parameters."
        ),
    ),
    "invalid_target": (
        "the provider does not know the Resource or Audience",
        "Check Resource and Audience.",
    ),
    "invalid_dpop_proof": (
        "the provider does not accept the DPoP proof",
        "Check this machine's clock, and whether the provider supports DPoP.",
    ),
    "use_dpop_nonce": (
        "the provider keeps asking for another DPoP nonce",
        "Try again; if it stays so, ask the provider.",
    ),
    "unsupported_token_type": (
        "the provider does not revoke tokens of this kind",
        "Forget the token, and end it at the provider.",
    ),
    "access_denied": (
        "the person did not agree",
        "Ask again, and explain what it is for.",
    ),
    "expired_token": (
        "the code was not entered in time",
        "Begin again: outkey token authorize NAME.",
    ),
    "authorization_pending": ("the person has not agreed yet", "Wait."),
    "slow_down": ("the provider wants to be asked less often", "Wait."),
    "temporarily_unavailable": ("the provider is busy", "Try again later."),
    "server_error": (
        "the provider failed",
        "Try again later; the fault is on the other side.",
    ),
}
# The words are ours.
_OURS: dict[str, tuple[str, str]] = {
    "rate_limited": (
        "the provider answers too many requests",
        "Wait; outkey tries again later.",
    ),
    "timeout": (
        "the Token URL did not answer in time",
        "Check the provider's status; outkey tries again by itself.",
    ),
    "connection": ("the Token URL could not be reached", "Check its host and port."),
    "dns": (
        "the host of the Token URL could not be resolved",
        "Check it for a typing error.",
    ),
    "tls": (
        "the TLS handshake with the Token URL failed",
        "Check its certificate; add a private CA to CA certificates (tls.ca_file).",
    ),
    "too_large": ("the answer of the Token URL is too large", "Check the Token URL."),
    "not_a_token_endpoint": (
        "the answer does not look like that of a token endpoint",
        "Check the Token URL; it may be a web page, or the API itself.",
    ),
    "not_found": ("there is nothing at the Token URL", "Check its path."),
    "refused": (
        "the provider refused the token request",
        "Compare the settings with the provider's documentation.",
    ),
    "no_token": (
        "the answer holds no access token",
        "Check the Token URL and the Grant.",
    ),
    "bad_token": (
        "the answer holds an access token that no header can carry",
        "Ask the provider; a token is visible ASCII without blanks, up to 64 kB.",
    ),
    "token_type": (
        "the answer holds a token of another type than was asked for",
        "Switch DPoP on or off as the provider has it; other types are not supported.",
    ),
    "interrupted": (
        "the renewal was broken off twice, and nobody knows what the provider did",
        "Renew it once more, or authorize again.",
    ),
    "waiting": (
        "another process is getting the token and has not finished",
        "Try again in a moment.",
    ),
}
FAILURES = _THEIRS | _OURS
_SAME = {"scope_invalid": "invalid_scope"}  # glewlwyd's own word
_REDIRECTED = "redirect_blocked"
_BY_CAUSE = {
    "timeout": "timeout",
    "dns": "dns",
    "tls": "tls",
    "response_too_large": "too_large",
}


def failure(reason: str, their_time: float | None = None) -> OutkeyError:
    """Return the error for one of the reasons above, for who comes later as well."""
    if reason == _REDIRECTED:
        return RedirectBlocked(
            "the Token URL redirected, and secrets are not sent after it",
            hint="Put the address that it really has into Token URL.",
            field="oauth2.token_url",
        )
    message, hint = FAILURES.get(reason, FAILURES["refused"])
    return TokenEndpointFailed(message, hint=hint, reason=reason, their_time=their_time)


def said_by_provider(word: str) -> str:
    """Return the reason for a word of a provider's; our own words are not theirs to say."""
    known = _SAME.get(word, word)
    return known if known in _THEIRS else ""


def reason_of(error: OutkeyError) -> str:
    """Return the reason behind an error that getting a token ended with."""
    if isinstance(error, TokenEndpointFailed):
        return error.reason
    if isinstance(error, RedirectBlocked):
        return _REDIRECTED
    return _BY_CAUSE.get(error.cause, "connection")


@dataclass(frozen=True, slots=True)
class TokenResponse:
    """What a token endpoint gave. A lifetime of None means that it did not say."""

    access: Secret
    refresh: Secret | None
    kind: str
    lifetime: float | None
    scope: str


@frameless  # its frames hold the answer
def read_document(
    response: Response, *, may_be_empty: bool = False
) -> Mapping[str, object]:
    """Return an answer's fields, or raise what it says is wrong.

    JSON first, whatever the content type; then a form, as GitHub sends it unless asked otherwise.
    """
    if 300 <= response.status < 400:
        raise failure(_REDIRECTED)
    document = _parsed(response.body)
    error = document.get("error")
    if error or document.get("ok") is False or response.status >= 400:
        silent = not response.body.strip()
        reason = _reason(error, response.status, empty=not document, silent=silent)
        raise failure(reason, _their_time(response))
    if not document and not may_be_empty:
        raise failure("not_a_token_endpoint")
    return document


@frameless
def read_token(
    response: Response,
    *,
    secrets: Iterable[Secret],
    now: float,
    requested_scope: str = "",
) -> TokenResponse:
    """Return the token of an answer; `secrets` are what the provider must not echo as a scope."""
    document = read_document(response)
    access = _secret(document.get("access_token"))
    if access is None:
        raise failure("no_token")
    refresh = _secret(document.get("refresh_token"), _REFRESH)
    return TokenResponse(
        access=access,
        refresh=refresh,
        kind=_kind(document.get("token_type")),
        lifetime=_lifetime(document, _their_time(response) or now),
        scope=_scope(
            document.get("scope"),
            secrets=[*secrets, access, *([refresh] if refresh else [])],
            requested=requested_scope.split(),
        ),
    )


def _parsed(body: bytes) -> Mapping[str, object]:
    text = body[:MAX_ANSWER].decode("utf-8-sig", "replace").strip()
    try:
        document = json.loads(
            text, parse_int=float
        )  # however many digits somebody sends
    except (ValueError, RecursionError):
        document = None
    if isinstance(document, dict):
        return document
    if document is None and "=" in text and not text.startswith(("<", "{", "[")):
        try:
            return dict(parse_qsl(text, max_num_fields=_MAX_FIELDS))
        except ValueError:
            return {}
    return {}


def _reason(error: object, status: int, *, empty: bool, silent: bool) -> str:
    if isinstance(error, Mapping):  # some APIs wrap it: {"error": {"code": …}}
        error = next(
            (error[key] for key in ("code", "type", "error") if key in error), ""
        )
    if isinstance(error, str) and (known := said_by_provider(error)):
        return known
    if status == 429:
        return "rate_limited"
    if status >= 500:
        return "server_error"
    if status in {404, 405, 410}:
        return "not_found"
    if status == 401 or (
        status == 403 and silent
    ):  # glewlwyd's answer to a wrong secret
        return "invalid_client"
    return "not_a_token_endpoint" if empty else "refused"


def _secret(value: object, grammar: re.Pattern[str] = _TOKEN) -> Secret | None:
    if value is None or value == "":
        return None
    if (
        not isinstance(value, str)
        or len(value) > _MAX_TOKEN
        or not grammar.fullmatch(value)
    ):
        raise failure("bad_token")
    return Secret(value)


def _kind(value: object) -> str:
    """Return the scheme to send a token with; eBay and others have their own words for Bearer."""
    word = value.strip().lower() if isinstance(value, str) else ""
    if word == "mac":
        raise failure("token_type")
    return "DPoP" if word == "dpop" else "Bearer"


def _lifetime(document: Mapping[str, object], now: float) -> float | None:
    for key in ("expires_in", "expiresIn"):
        seconds = _number(document.get(key))
        if seconds is not None and seconds >= 0:
            return min(seconds, _LONGEST_LIFE)
    for key in ("expires_at", "expires_on", "accessTokenExpiration"):
        moment = _moment(document.get(key))
        if moment is not None and moment > now:
            return min(moment - now, _LONGEST_LIFE)
    return None


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except ValueError:
        return None
    return None if math.isnan(number) else number


def _moment(value: object) -> float | None:
    number = _number(value)
    if number is not None:
        return number / 1000 if number > _MILLISECONDS else number
    try:
        moment = datetime.fromisoformat(str(value))
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None


def _their_time(response: Response) -> float | None:
    """Return the time by the provider's clock, which is the one its moments are meant by."""
    return http_date(response.headers.get("Date"))


def _scope(value: object, *, secrets: list[Secret], requested: list[str]) -> str:
    """Return the words of a scope; only the requested ones where the others give a secret away."""
    texts = value if isinstance(value, list) else [value]
    text = " ".join(part for part in texts if isinstance(part, str))
    words = text.split()
    others = [word for word in words if word not in requested]
    if _give_away(secrets, others, text):
        words = [word for word in words if word in requested]
    return " ".join(word for word in words if _SCOPE.fullmatch(word))[:_MAX_SCOPE]


def _give_away(secrets: list[Secret], words: list[str], text: str) -> bool:
    """Tell whether words give a secret away: one of them, all together, or the text they were in.

    A secret may have blanks of its own, and a provider may have put some into it.
    """
    joined = "".join(words)
    searched = SearchText.of_json(json.dumps([words, joined]).encode())
    return bool(words) and any(
        secret.occurs_in(text)
        or secret.occurs_in(joined)
        or secret.patterns().is_in(searched)
        for secret in secrets
    )
