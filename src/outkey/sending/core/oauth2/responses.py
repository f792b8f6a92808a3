"""Reading the responses of authorization servers: tokens, errors and metadata.

They differ from RFC 6749 in many ways, so every known form is accepted, and anything
else becomes one of the failures below, in our own words: no remote text is passed on.
"""

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import parse_qsl

from outkey.foundation.core.echo.search import SearchText
from outkey.foundation.core.errors import (
    LoginRefused,
    OutkeyError,
    ProxyFailed,
    RedirectBlocked,
    TokenEndpointFailed,
    drop_traceback,
)
from outkey.foundation.core.moments import DAY_SECONDS, parse_iso
from outkey.foundation.core.secret import Secret
from outkey.foundation.core.text import Text, build_text
from outkey.sending.core.oauth2.jwt import claims_of
from outkey.sending.core.request.message import Response, server_time
from outkey.sending.core.request.proxy import FAILURES as PROXY_FAILURES
from outkey.sending.core.request.proxy import proxy_failure

MAX_RESPONSE = 1024 * 1024
_MAX_TOKEN = 64 * 1024
MAX_LIFE = 10.0 * 366 * DAY_SECONDS
_MILLISECONDS = 100_000_000_000  # a Unix time above this counts milliseconds
_TOKEN = re.compile(r"[\x21-\x7e]+")
REFRESH_GRAMMAR = re.compile(r"[\x20-\x7e]+")  # RFC 6749 A.17: it is never a header
_SCOPE = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]+")  # RFC 6749 §3.3
_MAX_SCOPE = 2000
_DOTS_OF_JWE = 4
_MAX_FIELDS = 200
_MISSING = frozenset({404, 405, 410})

# Why there is no token, and what to do. These reasons are those of RFC 6749 §5.2 and
# §4.1.2.1, RFC 8628 §3.5, RFC 8707 §2 and RFC 9449 §5.
_TOKEN_URL = Text("Token URL")
_THEIRS: dict[str, tuple[Text, Text]] = {
    "invalid_client": (
        Text("the provider does not know the client, or the client secret is wrong"),
        Text("Check Client ID, Client Secret and Client Authentication."),
    ),
    "invalid_grant": (
        Text("the provider does not accept the refresh token, code or assertion"),
        Text("Authorize again, or enter a new refresh token."),
    ),
    "invalid_scope": (
        Text("the provider does not grant the requested Scope"),
        Text("Check Scope, and what the application may request at the provider."),
    ),
    "unauthorized_client": (
        Text("the provider does not allow this Grant to the application"),
        Text(
            "Allow it in the application's settings at the provider, or choose another"
            " Grant."
        ),
    ),
    "unsupported_grant_type": (
        Text("the provider does not know this Grant"),
        Text("Choose another Grant, and check the {url}.", url=_TOKEN_URL),
    ),
    "invalid_request": (
        Text("the provider does not understand the token request"),
        Text(
            "Check Client Authentication, Body format, Audience, Resource and the Extra"
            " parameters."
        ),
    ),
    "invalid_target": (
        Text("the provider does not know the Resource or Audience"),
        Text("Check Resource and Audience."),
    ),
    "invalid_dpop_proof": (
        Text("the provider does not accept the DPoP proof"),
        Text("Check this machine's clock, and whether the provider supports DPoP."),
    ),
    "use_dpop_nonce": (
        Text("the provider repeatedly asks for another DPoP nonce"),
        Text("Retry; if it happens again, ask the provider."),
    ),
    "unsupported_token_type": (
        Text("the provider does not revoke tokens of this kind"),
        Text("Delete the token, and revoke it at the provider."),
    ),
    "access_denied": (
        Text("the user did not authorize the access"),
        Text("Ask again, and explain what it is for."),
    ),
    "expired_token": (
        Text("the code was not entered in time"),
        Text("Start again with outkey token authorize."),
    ),
    "authorization_pending": (
        Text("the user has not authorized the access yet"),
        Text("Wait."),
    ),
    "slow_down": (Text("the provider asks for fewer requests"), Text("Wait.")),
    "temporarily_unavailable": (Text("the provider is busy"), Text("Retry later.")),
    "server_error": (
        Text("the provider failed"),
        Text("Retry later; the error is on the side of the provider."),
    ),
}
# What the Authorization URL reports instead of a code.
_ASK_PROVIDER = Text("Ask the provider, and press Connect again.")
_AT_AUTHORIZATION: dict[str, tuple[Text, Text]] = {
    **{
        reason: _THEIRS[reason]
        for reason in ("access_denied", "invalid_scope", "invalid_target")
    },
    "invalid_request": (
        Text("the provider does not understand the authorization request"),
        Text(
            "Check Client ID, Scope, Resource and the Extra parameters, and whether the"
            " redirect URL of this page is registered at the provider."
        ),
    ),
    "unauthorized_client": (
        Text("the provider does not let this application request a code"),
        Text("Allow the authorization code grant in the application's settings there."),
    ),
    "unsupported_response_type": (
        Text("the provider does not issue codes at the Authorization URL"),
        Text("Check the Authorization URL, or choose another Grant."),
    ),
    "server_error": (Text("the provider failed"), _ASK_PROVIDER),
    "temporarily_unavailable": (Text("the provider is busy"), Text("Retry later.")),
    **dict.fromkeys(
        (
            "interaction_required",
            "login_required",
            "account_selection_required",
            "consent_required",
        ),
        (
            Text("the provider needs input of the user that it did not ask for"),
            Text("Sign in at the provider first, and press Connect again."),
        ),
    ),
    # OpenID Connect Core §3.1.2.6; also where a pushed request is used twice.
    "invalid_request_uri": (
        Text("the provider does not accept the pushed request any more"),
        Text("It may have expired, or was used before. Press Connect again."),
    ),
    "refused": (Text("the provider refused the authorization"), _ASK_PROVIDER),
}
# These reasons are our own.
_OURS: dict[str, tuple[Text, Text]] = {
    "rate_limited": (
        Text("the provider received too many requests"),
        Text("Wait; outkey retries later."),
    ),
    "timeout": (
        Text("the {url} did not respond in time", url=_TOKEN_URL),
        Text("Check the status of the provider; outkey retries automatically."),
    ),
    "connection": (
        Text("the {url} could not be reached", url=_TOKEN_URL),
        Text("Check its host and port."),
    ),
    "dns": (
        Text("the host of the {url} could not be resolved", url=_TOKEN_URL),
        Text("Check it for typos."),
    ),
    "tls": (
        Text("the TLS handshake with the {url} failed", url=_TOKEN_URL),
        Text(
            "Check its certificate; add a private CA to CA certificates (tls.ca_file)."
        ),
    ),
    "too_large": (
        Text("the response of the {url} is too large", url=_TOKEN_URL),
        Text("Check the {url}.", url=_TOKEN_URL),
    ),
    "not_a_token_endpoint": (
        Text("the response does not look like that of a token endpoint"),
        Text(
            "Check the {url}; it may be a web page, or the API itself.", url=_TOKEN_URL
        ),
    ),
    "not_found": (
        Text("there is nothing at the {url}", url=_TOKEN_URL),
        Text("Check its path."),
    ),
    "refused": (
        Text("the provider refused the token request"),
        Text("Compare the settings with the provider's documentation."),
    ),
    "no_token": (
        Text("the response has no access token"),
        Text("Check the {url} and the Grant.", url=_TOKEN_URL),
    ),
    "bad_token": (
        Text("the response has an access token that cannot be sent in a header"),
        Text(
            "Ask the provider; a token is visible ASCII without spaces, up to 64 KiB."
        ),
    ),
    "own_secret": (
        Text("the response repeats one of your secrets as the access token"),
        Text(
            "Check the {url}: a token would be sent to the API, which may not get this"
            " secret. If you do not trust the {url}, replace the secret.",
            url=_TOKEN_URL,
        ),
    ),
    "token_type": (
        Text("the response has a token of another type than requested"),
        Text(
            "Switch DPoP on or off as the provider expects it; other types are not"
            " supported."
        ),
    ),
    "other_nonce": (
        Text("the ID token in the response belongs to another consent"),
        Text("Authorize again; if it happens again, ask the provider."),
    ),
    "interrupted": (
        Text(
            "the renewal was interrupted twice, and the result at the provider is"
            " unknown"
        ),
        Text("Renew it again, or authorize again."),
    ),
    "waiting": (
        Text("another process is getting the token and has not finished"),
        Text("Retry in a moment."),
    ),
}
FAILURES = _THEIRS | _OURS
# A subject token that is invalid for any reason is an invalid_request (RFC 8693
# §2.2.2), and an invalid_grant at others.
_AT_EXCHANGE: dict[str, tuple[Text, Text]] = {
    **dict.fromkeys(
        ("invalid_grant", "invalid_request"),
        (
            Text("the provider does not accept the subject token"),
            Text(
                "Pass one that is valid now, and compare Subject token type with the"
                " provider's documentation."
            ),
        ),
    ),
    "invalid_target": (
        Text("the provider does not exchange tokens for this Audience or Resource"),
        Text(
            "Compare Audience and Resource with the provider's documentation, and have"
            " the application permitted to request them."
        ),
    ),
}
_SYNONYMS = {"scope_invalid": "invalid_scope"}  # glewlwyd
REDIRECTED = "redirect_blocked"
_BY_CAUSE = {
    "timeout": "timeout",
    "dns": "dns",
    "tls": "tls",
    "response_too_large": "too_large",
}


def failure(reason: str, their_time: float | None = None) -> OutkeyError:
    """Return the error for one of the reasons above, also from a stored reason."""
    if reason == REDIRECTED:
        return RedirectBlocked(
            Text(
                "the {url} redirected, and secrets are not sent to another URL",
                url=_TOKEN_URL,
            ),
            hint=Text(
                "Enter the URL that it redirects to as {url}, if you trust it.",
                url=_TOKEN_URL,
            ),
            field="oauth2.token_url",
        )
    if reason in PROXY_FAILURES:
        return proxy_failure(reason)
    message, hint = FAILURES.get(reason, FAILURES["refused"])
    return TokenEndpointFailed(message, hint=hint, reason=reason, their_time=their_time)


def exchange_failure(reason: str, their_time: float | None = None) -> OutkeyError:
    """Return the error of a token exchange, worded for its subject."""
    if reason not in _AT_EXCHANGE:
        return failure(reason, their_time)
    message, hint = _AT_EXCHANGE[reason]
    return TokenEndpointFailed(message, hint=hint, reason=reason, their_time=their_time)


def authorization_failure(error: str) -> TokenEndpointFailed:
    """Return the error for an error response of the Authorization URL.

    No token request was sent then (RFC 6749 §4.1.2.1, OpenID Connect Core §3.1.2.6).
    """
    reason = error if error in _AT_AUTHORIZATION else "refused"
    message, hint = _AT_AUTHORIZATION[reason]
    return TokenEndpointFailed(
        message, hint=hint, reason=reason, field="oauth2.authorization_url"
    )


def pushed_failure(failed: OutkeyError) -> OutkeyError:
    """Return the error of a pushed authorization request, worded for a consent.

    It fails as a token request or as the Authorization URL does (RFC 9126 §2.3).
    """
    reason = reason_of(failed)
    if reason in _AT_AUTHORIZATION and reason in _THEIRS:
        return authorization_failure(reason)
    return failure(reason)


def failure_elsewhere(
    own: Mapping[str, tuple[Text, Text]],
    reason: str,
    their_time: float | None,
    *,
    field: str,
    label: str,
) -> OutkeyError:
    """Return the error for a reason at another URL than the Token URL.

    `own` are messages and hints that are worded for that URL.
    """
    if reason in PROXY_FAILURES:
        return proxy_failure(reason)
    words = own.get(reason) or FAILURES.get(reason)
    words = words or own.get("refused") or FAILURES["refused"]
    message, hint = (name_url(text, label) for text in words)
    return TokenEndpointFailed(
        message, hint=hint, reason=reason, their_time=their_time, field=field
    )


def name_url(text: Text, label: str) -> Text:
    """Return a message or hint of `failure` with another URL than the Token URL."""
    return build_text(text.template, {**text.values, "url": label})


def _provider_reason(error: str) -> str:
    """Return the reason for an error of a provider; it cannot claim one of ours."""
    reason = _SYNONYMS.get(error, error)
    return reason if reason in _THEIRS else ""


def reason_of(error: OutkeyError) -> str:
    """Return the reason of an error that ended a token request."""
    if isinstance(error, TokenEndpointFailed | LoginRefused | ProxyFailed):
        return error.reason
    if isinstance(error, RedirectBlocked):
        return REDIRECTED
    return _BY_CAUSE.get(error.cause, "connection")


@dataclass(frozen=True, slots=True)
class TokenResponse:
    """The response of a token endpoint. A lifetime or scope of None was not given."""

    access: Secret
    refresh: Secret | None
    kind: str
    lifetime: float | None
    scope: str | None
    cookies: Secret | None = None  # of a login: the value of the header Cookie


@drop_traceback  # its traceback would hold the response
def read_document(
    response: Response, *, may_be_empty: bool = False
) -> Mapping[str, object]:
    """Return the fields of a response, or raise the error that it reports.

    JSON first, whatever the content type; then a form, as GitHub sends it by default.
    """
    if 300 <= response.status < 400:
        raise failure(REDIRECTED)
    document = parse_document(response.body)
    error = document.get("error")
    if error or document.get("ok") is False or response.status >= 400:
        reason = _error_reason(
            error,
            response.status,
            is_document=bool(document),
            has_body=bool(response.body.strip()),
        )
        raise failure(reason, server_time(response))
    if not document and not may_be_empty:
        raise failure("not_a_token_endpoint")
    return document


@drop_traceback
def read_token(
    response: Response,
    *,
    secrets: Sequence[Secret],
    now: float,
    requested_scope: str = "",
) -> TokenResponse:
    """Return the token of a response; it must not repeat one of `secrets`.

    They are for the Token URL alone, and the access token is sent to the API. A refresh
    token goes back to the Token URL, and may be the one that was sent.
    """
    document = read_document(response)
    access = read_secret(document.get("access_token"))
    if access is None:
        raise failure("no_token")
    if any(repeats(access, secret) for secret in secrets):
        raise failure("own_secret")
    refresh = read_secret(document.get("refresh_token"), REFRESH_GRAMMAR)
    return TokenResponse(
        access=access,
        refresh=refresh,
        kind=_token_kind(document.get("token_type")),
        # Expiry times refer to the clock of the provider.
        lifetime=_token_lifetime(document, server_time(response) or now),
        scope=_granted_scope(
            document.get("scope"),
            secrets=[*secrets, access, *([refresh] if refresh else [])],
            requested=requested_scope.split(),
        ),
    )


def repeats(token: Secret, secret: Secret) -> bool:
    """Whether a token is another secret, or contains it as it is or encoded."""
    return token == secret or token.contains(secret)


@drop_traceback
def refuse_other_nonce(response: Response, nonce: str) -> None:
    """Refuse an ID token of another consent (OpenID Connect Core §3.1.3.7, 11).

    Its signature is not verified: it comes from the token endpoint itself, by TLS (the
    same section, 6). One that is encrypted cannot be read here.
    """
    token = parse_document(response.body).get("id_token")
    if not nonce or not isinstance(token, str) or token.count(".") == _DOTS_OF_JWE:
        return
    claims = claims_of(Secret(token))
    if claims is None or claims.nonce != nonce:
        raise failure("other_nonce")


def parse_document(body: bytes) -> Mapping[str, object]:
    """Return the fields of a JSON object or a form; none for anything else."""
    text = body[:MAX_RESPONSE].decode("utf-8-sig", "replace").strip()
    try:
        # A float takes any number of digits.
        document = json.loads(text, parse_int=float)
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


def reason_in_status(status: int) -> str:
    """Return why a response of this status has no token, "" if that may differ."""
    if 300 <= status < 400:
        return REDIRECTED
    if status == 429:
        return "rate_limited"
    if status >= 500:
        return "server_error"
    return "not_found" if status in _MISSING else ""


def _error_reason(
    error: object, status: int, *, is_document: bool, has_body: bool
) -> str:
    """Return the reason for the error field of a response, or for its status."""
    if isinstance(error, Mapping):  # some APIs wrap it: {"error": {"code": …}}
        error = next(
            (error[key] for key in ("code", "type", "error") if key in error), ""
        )
    if isinstance(error, str) and (reason := _provider_reason(error)):
        return reason
    if reason := reason_in_status(status):
        return reason
    # glewlwyd responds to a wrong secret with an empty 403.
    if status == 401 or (status == 403 and not has_body):
        return "invalid_client"
    return "refused" if is_document else "not_a_token_endpoint"


def read_secret(value: object, grammar: re.Pattern[str] = _TOKEN) -> Secret | None:
    """Return a token of a response, None if it has none, or refuse an invalid one."""
    if value is None or value == "":
        return None
    return Secret(token_text(value, grammar))


def token_text(value: object, grammar: re.Pattern[str] = _TOKEN) -> str:
    """Return a token that a header can carry, or refuse it."""
    if (
        not isinstance(value, str)
        or len(value) > _MAX_TOKEN
        or not grammar.fullmatch(value)
    ):
        raise failure("bad_token")
    return value


def _token_kind(value: object) -> str:
    """Return the scheme of a token; eBay and others have other names for Bearer."""
    name = value.strip().lower() if isinstance(value, str) else ""
    if name == "mac":
        raise failure("token_type")
    return "DPoP" if name == "dpop" else "Bearer"


def _token_lifetime(document: Mapping[str, object], now: float) -> float | None:
    """Return the lifetime of a token in seconds, None if it is not given."""
    for key in ("expires_in", "expiresIn"):
        seconds = read_number(document.get(key))
        if seconds is not None and seconds >= 0:
            return min(seconds, MAX_LIFE)
    for key in ("expires_at", "expires_on", "accessTokenExpiration"):
        moment = read_moment(document.get(key))
        if moment is not None and moment > now:
            return min(moment - now, MAX_LIFE)
    return None


def read_number(value: object) -> float | None:
    """Return a number, also from a text; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):  # an integer may have any number of digits
        return None
    return None if math.isnan(number) else number


def read_moment(value: object) -> float | None:
    """Return a Unix time from a number or an ISO date; None for anything else."""
    number = read_number(value)
    if number is not None:
        return number / 1000 if number > _MILLISECONDS else number
    moment = parse_iso(value) if isinstance(value, str) else None
    return moment.timestamp() if moment else None


def _granted_scope(
    value: object, *, secrets: list[Secret], requested: list[str]
) -> str | None:
    """Return a scope; only its requested words if the others reveal a secret.

    None if the response names none.
    """
    if not value:
        return None
    texts = value if isinstance(value, list) else [value]
    text = " ".join(part for part in texts if isinstance(part, str))
    words = text.split()
    others = [word for word in words if word not in requested]
    if _scope_reveals_secret(secrets, others, text):
        words = [word for word in words if word in requested]
    return " ".join(word for word in words if _SCOPE.fullmatch(word))[:_MAX_SCOPE]


def _scope_reveals_secret(secrets: list[Secret], words: list[str], text: str) -> bool:
    """Whether the words of a scope, joined or as they arrived, contain a secret.

    A secret may have spaces itself, and a provider may have inserted some.
    """
    joined = "".join(words)
    searched = SearchText.of_json(json.dumps([words, joined]).encode())
    return bool(words) and any(
        secret.occurs_in(text)
        or secret.occurs_in(joined)
        or secret.patterns().is_in(searched)
        for secret in secrets
    )
