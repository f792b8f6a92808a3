"""From an error that came instead of an answer to its reasons."""

from collections.abc import Iterator

from outkey.core import errors
from outkey.core.config.choices import ClientAuth, Network
from outkey.core.config.configuration import Configuration
from outkey.core.diagnosis.evidence import Clue, Fix, fix_of, https_fix
from outkey.core.diagnosis.reasons import REASONS
from outkey.core.moments import CLOCK_SKEW_SECONDS

_BY_KIND: tuple[tuple[type[errors.OutkeyError], str], ...] = (
    (errors.TlsBelowFloor, "tls-too-old"),
    (errors.TlsFailed, "tls-failed"),
    (errors.TimedOut, "time-out"),
    (errors.DnsFailed, "dns-failed"),
    (errors.ConnectionFailed, "connection-refused"),
    (errors.RedirectBlocked, "redirected-elsewhere"),
    (errors.EgressDenied, "egress-denied"),
    (errors.RateLimited, "rate-limited"),
    (errors.ReauthorizationNeeded, "refresh-token-dead"),
)
# The reasons of `oauth2/answers.py`, most of them words of RFC 6749; the likeliest comes first.
_AT_TOKEN_URL = {
    "invalid_client": ("client-secret-wrong", "client-authentication-style"),
    "invalid_grant": ("refresh-token-dead",),
    "invalid_scope": ("scope-not-allowed",),
    "unauthorized_client": ("grant-not-allowed",),
    "unsupported_grant_type": ("grant-not-allowed", "token-url-wrong"),
    "invalid_request": ("client-authentication-style",),
    "invalid_target": ("token-other-audience",),
    **dict.fromkeys(
        ("invalid_dpop_proof", "use_dpop_nonce", "token_type"), ("dpop-required",)
    ),
    **dict.fromkeys(("not_a_token_endpoint", "not_found"), ("token-url-wrong",)),
    **dict.fromkeys(("no_token", "too_large"), ("token-url-wrong",)),
    **dict.fromkeys(("rate_limited", "slow_down"), ("rate-limited",)),
    **dict.fromkeys(("server_error", "temporarily_unavailable"), ("server-error",)),
    "timeout": ("time-out",),
    "connection": ("connection-refused",),
    "dns": ("dns-failed",),
    "tls": ("tls-failed",),
}
_PLAIN = "plain-http-to-tls-port"
_OTHER_STYLE = {
    ClientAuth.BODY: ClientAuth.BASIC,
    ClientAuth.BASIC: ClientAuth.BODY,
    ClientAuth.BASIC_RAW: ClientAuth.BASIC,
}
_SIGNED = frozenset({ClientAuth.CLIENT_SECRET_JWT, ClientAuth.PRIVATE_KEY_JWT})
# Words of our own checks in `headers.py`, and the reason behind each.
_HEADER_FAULTS = (
    ("JSON document", "pasted-json"),
    ("outside ASCII", "invisible-characters"),
    ("control character", "invisible-characters"),
    ("line break", "invisible-characters"),
    ("a blank", "doubled-prefix"),
    ("is longer than", "header-too-large"),
)


def clues_of(
    error: errors.OutkeyError, made: Configuration, now: float, *, met: bool
) -> Iterator[Clue]:
    """Yield what an error is a sign of; one that speaks for itself gives none."""
    if isinstance(error, errors.TokenEndpointFailed):
        yield from _at_token_url(error, made, now)
    elif isinstance(error, errors.HeaderFormatError):
        yield from _header(error)
    elif (
        isinstance(error, errors.RedirectBlocked) and error.field == "oauth2.token_url"
    ):
        yield _clue(90, "token-url-wrong", error)
    elif met and made.base.origin.scheme == "http":
        yield from _after_plain_http(error, made)
        yield from _on_the_way(error, made)
    else:
        yield from _on_the_way(error, made)


def _clue(
    weight: int, reason: str, error: errors.OutkeyError, fix: Fix | None = None
) -> Clue:
    """Make a clue of an error, whose message and hint are words of ours."""
    said = f"{error.message[:1].upper()}{error.message[1:]}."
    return Clue(weight, reason, said, error.hint or REASONS[reason].remedy, fix)


def _on_the_way(
    error: errors.OutkeyError, configuration: Configuration
) -> Iterator[Clue]:
    kinds = (reason for kind, reason in _BY_KIND if isinstance(error, kind))
    reason = error.reason or next(kinds, "")
    plain = configuration.base.origin.scheme == "http"
    if (
        isinstance(error, errors.EgressDenied)
        and plain
        and configuration.network is Network.PUBLIC
    ):
        reason = "https-required"
    if not reason:
        return
    if reason == "client-certificate-missing" and configuration.tls.client_certificate:
        reason = "client-certificate-refused"
    said = _clue(90, reason, error, https_fix(reason, configuration))
    if (
        reason == "redirected-elsewhere"
    ):  # the message may name a place that the other side chose
        said = Clue(
            90,
            reason,
            "The server redirects to a place that is not its own.",
            error.hint,
        )
    yield said


def _after_plain_http(
    error: errors.OutkeyError, configuration: Configuration
) -> Iterator[Clue]:
    """Tell a port for https by what it does with plain http: it hangs up, with an alert or not."""
    if isinstance(error, errors.ConnectionFailed) and not isinstance(
        error, errors.AnswerBroken
    ):
        fix = https_fix(_PLAIN, configuration)
        said = (
            "The connection was opened, and ended without HTTP when plain http was"
            " sent."
        )
        yield Clue(92, _PLAIN, said, fix=fix)
    elif isinstance(error, errors.TimedOut):
        said = (
            "The Base URL is plain http, and some ports for https answer that with"
            " silence."
        )
        yield Clue(30, _PLAIN, said)


def _at_token_url(
    error: errors.TokenEndpointFailed, made: Configuration, now: float
) -> Iterator[Clue]:
    style, certificate = made.oauth2.client_auth, made.tls.client_certificate
    refused = error.reason in {"invalid_client", "invalid_dpop_proof", "invalid_grant"}
    skew = round((error.their_time or now) - now)
    if refused and (style in _SIGNED or made.oauth2.dpop):
        said = f"The provider's clock and ours differ by {abs(skew)} seconds."
        yield Clue(95 if abs(skew) > CLOCK_SKEW_SECONDS else 20, "clock-off", said)
    if error.reason == "invalid_client" and style is ClientAuth.MTLS:
        reason = (
            "client-certificate-refused"
            if certificate
            else "client-certificate-missing"
        )
        said = "The provider does not know the client, and it is to be known by mTLS."
        yield Clue(92, reason, said)
    for place, reason in enumerate(_AT_TOKEN_URL.get(error.reason, ("unexpected",))):
        fix = None
        if reason == "client-authentication-style" and style in _OTHER_STYLE:
            other = _OTHER_STYLE[style]
            fix = fix_of(reason, ("oauth2.client_auth", str(other)), word=other.label)
        if reason == "dpop-required" and not made.oauth2.dpop:
            fix = fix_of(reason, ("oauth2.dpop", "true"))
        weight = 90 - 10 * place
        clue = _clue(weight, reason, error, fix)
        yield clue if not place else Clue(weight, reason, clue.evidence, fix=fix)


def _header(error: errors.HeaderFormatError) -> Iterator[Clue]:
    found = (reason for words, reason in _HEADER_FAULTS if words in error.message)
    reason = next(found, "malformed-header")
    secret = error.field or ""
    mends = reason in {"invisible-characters", "doubled-prefix"}
    tidy = mends and (secret in {"password", "token"} or secret.startswith("header:"))
    yield _clue(90, reason, error, fix_of(reason, tidied=secret) if tidy else None)
