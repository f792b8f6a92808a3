"""From an error without a response to its reasons."""

from collections.abc import Iterator
from enum import Enum

from outkey.foundation.core import errors
from outkey.foundation.core.fields.choices import ClientAuth, Network
from outkey.foundation.core.moments import CLOCK_SKEW_SECONDS
from outkey.foundation.core.text import Text
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.diagnosis.assertion_problems import clues_of_assertions
from outkey.sending.core.diagnosis.aws_errors import clues_at_sts
from outkey.sending.core.diagnosis.evidence import Clue, Fix, fix_of, https_fix
from outkey.sending.core.diagnosis.reasons import REASONS
from outkey.sending.core.diagnosis.token_refusal_phrases import METHOD_NAMES
from outkey.sending.core.request.addresses import is_internal, judge_host

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
# The reasons of `oauth2/responses.py`, mostly those of RFC 6749; the likeliest first.
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
# Of a subject token that is invalid for any reason RFC 8693 §2.2.2 says
# invalid_request; others say invalid_grant.
_AT_EXCHANGE = {
    "invalid_grant": ("subject-token-refused",),
    "invalid_request": ("subject-token-refused", "client-authentication-style"),
    "invalid_target": ("exchange-target-refused",),
}
_AT_LOGIN = {
    **_AT_TOKEN_URL,
    **dict.fromkeys(
        ("not_found", "not_a_token_endpoint", "too_large", "refused"),
        ("login-path-wrong",),
    ),
    "no_token": ("login-token-elsewhere",),
    "nothing_taken": ("login-token-elsewhere",),
    "bad_value": ("login-token-elsewhere",),
}
_REDIRECTED = {
    "oauth2.token_url": "token-url-wrong",
    "login.path": "login-path-wrong",
    "login.steps": "login-path-wrong",
    "aws.sts_url": "sts-url-wrong",
    "oauth1.request_url": "token-url-wrong",
    "oauth1.access_url": "token-url-wrong",
}
_PLAIN = "plain-http-to-tls-port"
_FROM_ELSEWHERE = Text(
    "A request from another machine shows which: it gets a response if only the IP"
    " address of this machine is blocked."
)
_LATER = Text(
    "A test in a minute shows which: a server that was starting responds then."
)
_STYLE = "client-authentication-style"
_OTHER_STYLE = {
    ClientAuth.BODY: ClientAuth.BASIC,
    ClientAuth.BASIC: ClientAuth.BODY,
    ClientAuth.BASIC_RAW: ClientAuth.BASIC,
}
_TIDIED = frozenset({"invisible-characters", "doubled-prefix"})


class TlsHello(Enum):
    """What a port did with a TLS handshake after it had closed plain http."""

    ACCEPTED = "accepted"
    NOT_TLS = "not_tls"
    CLOSED = "closed"


def tls_hello(error: errors.OutkeyError | None) -> TlsHello:
    """Return what the end of a handshake shows; a refused certificate is TLS too."""
    if error is None or isinstance(error, errors.TlsBelowFloor):
        return TlsHello.ACCEPTED
    if isinstance(error, errors.TlsFailed):
        is_plain = error.reason == "tls-to-plain-port"
        return TlsHello.NOT_TLS if is_plain else TlsHello.ACCEPTED
    return TlsHello.CLOSED


def is_silent_close(error: errors.OutkeyError, configuration: Configuration) -> bool:
    """Whether plain http was closed without a byte that shows why."""
    return (
        configuration.base.origin.scheme == "http"
        and isinstance(error, errors.ConnectionFailed)
        and not isinstance(error, errors.ResponseBroken)
        and not error.reason
    )


def clues_of(
    error: errors.OutkeyError,
    configuration: Configuration,
    now: float,
    *,
    met: bool,
    hello: TlsHello | None = None,
) -> Iterator[Clue]:
    """Yield the clues of an error; one that explains itself has none."""
    if isinstance(error, errors.BackendUnavailable | errors.SecretMissing):
        return  # its reason is one of an external store
    if isinstance(error, errors.TokenEndpointFailed):
        yield from _clues_at_token_url(error, configuration, now)
    elif isinstance(error, errors.HeaderFormatError):
        yield _header_clue(error)
    elif isinstance(error, errors.RedirectBlocked) and error.field in _REDIRECTED:
        yield _error_clue(90, _REDIRECTED[error.field], error)
    else:
        if met and configuration.base.origin.scheme == "http":
            yield from _clues_after_plain_http(error, configuration, hello)
        yield from _clues_of_connection(error, configuration)


def _error_clue(
    weight: int, reason: str, error: errors.OutkeyError, fix: Fix | None = None
) -> Clue:
    """Return a clue with the message of an error, our own text, as evidence."""
    evidence = Text("{message:sentence}", message=error.message)
    return Clue(weight, reason, evidence, error.hint or REASONS[reason].remedy, fix)


def _clues_of_connection(
    error: errors.OutkeyError, configuration: Configuration
) -> Iterator[Clue]:
    """Yield the clue of an error between us and the server."""
    kinds = (reason for kind, reason in _BY_KIND if isinstance(error, kind))
    reason = error.reason or next(kinds, "")
    plain = configuration.base.origin.scheme == "http"
    if (
        isinstance(error, errors.EgressDenied)
        and plain
        and configuration.network is Network.PUBLIC
        and not is_internal(judge_host(configuration.base.origin.host))
    ):
        reason = "https-required"
    if not reason:
        return
    if reason == "client-certificate-missing" and configuration.tls.client_certificate:
        reason = "client-certificate-refused"
    if reason == "redirected-elsewhere":
        # The message may name an origin that the server chose.
        text = Text("The server redirects to another origin.")
        yield Clue(90, reason, text, error.hint)
    else:
        yield _error_clue(90, reason, error, https_fix(reason, configuration))


def _clues_after_plain_http(
    error: errors.OutkeyError, configuration: Configuration, hello: TlsHello | None
) -> Iterator[Clue]:
    """Recognize a port for https: it closes the connection when plain http is sent.

    So do other protocols, and servers that block the IP address of the client.
    """
    if error.reason:
        return  # the received bytes have shown what it is
    match hello:
        case TlsHello.ACCEPTED:
            text = Text(
                "The connection was closed without a response when plain http was sent,"
                " and the port accepts a TLS handshake."
            )
            yield Clue(92, _PLAIN, text, fix=https_fix(_PLAIN, configuration))
        case TlsHello.NOT_TLS:
            text = Text(
                "The connection was closed without a response when plain http was sent,"
                " and the port does not support TLS either."
            )
            yield Clue(
                91,
                "other-protocol",
                text,
                rivals=("connection-refused",),
                distinction=_LATER,
            )
        case TlsHello.CLOSED:
            text = Text(
                "The connection was opened, and closed without a response: to plain"
                " http, and to a TLS handshake too."
            )
            yield Clue(
                91,
                "other-protocol",
                text,
                rivals=("ip-not-allowed",),
                distinction=_FROM_ELSEWHERE,
            )
    if isinstance(error, errors.TimedOut):
        text = Text(
            "The Base URL is plain http, and some ports for https do not respond to"
            " that."
        )
        yield Clue(30, _PLAIN, text)


def _clues_at_token_url(
    error: errors.TokenEndpointFailed, configuration: Configuration, now: float
) -> Iterator[Clue]:
    """Yield the clues of an error of the Token URL or the Login path."""
    if configuration.uses_aws_role:
        yield from clues_at_sts(error, now)
        return
    if configuration.uses_login:
        reason, *_ = _AT_LOGIN.get(error.reason, ("unexpected",))
        yield _error_clue(90, reason, error)
        return
    if configuration.uses_oauth1:
        yield from _clues_of_legs(error, now)
        return
    yield from _clues_of_oauth2(error, configuration, now)


def _clues_of_oauth2(
    error: errors.TokenEndpointFailed, configuration: Configuration, now: float
) -> Iterator[Clue]:
    """Yield the clues of an error of a Token URL."""
    oauth2 = configuration.oauth2
    style = oauth2.client_auth
    refused = error.reason in {"invalid_client", "invalid_dpop_proof", "invalid_grant"}
    if refused and (oauth2.signs_assertions or oauth2.dpop):
        yield from _clock_clues(error, now)
    if error.reason == "invalid_client" and style is ClientAuth.MTLS:
        missing = not configuration.tls.client_certificate
        text = Text(
            "The provider does not know the client, and Client Authentication is mTLS."
        )
        yield Clue(
            92,
            "client-certificate-missing" if missing else "client-certificate-refused",
            text,
        )
    explained = tuple(clues_of_assertions(error, configuration))
    yield from explained
    if explained:
        return  # what the error alone suggests is less than what its words are about
    suspected = error.suspected
    if suspected == "token-other-audience" and error.reason == "invalid_target":
        suspected = ""  # that is about the token which the API gets
    if suspected == _STYLE and METHOD_NAMES[style] in error.named_methods:
        # Authlib responds so to a wrong secret, and lists what the endpoint takes.
        text = Text("The provider names the Client Authentication that is in use.")
        yield Clue(94, "client-secret-wrong", text)
    elif suspected:
        text = Text("The description in the provider's response states it.")
        fix = _style_fix(suspected, configuration)
        yield Clue(94, suspected, text, fix=fix)
    for number, reason in enumerate(_reasons_at_token_url(error.reason, configuration)):
        fix = _style_fix(reason, configuration)
        weight = 90 - 10 * number
        clue = _error_clue(weight, reason, error, fix)
        # The hint of the error belongs to its first reason.
        yield clue if number == 0 else Clue(weight, reason, clue.evidence, fix=fix)


def _clock_clues(error: errors.TokenEndpointFailed, now: float) -> Iterator[Clue]:
    """Yield the clue of two clocks that differ; the header Date has whole seconds."""
    skew = abs(round((error.their_time or now) - now))
    if skew <= 1:
        return
    text = Text(
        "The clocks of the provider and this machine differ by {seconds} seconds.",
        seconds=skew,
    )
    yield Clue(95 if skew > CLOCK_SKEW_SECONDS else 20, "clock-off", text)


def _reasons_at_token_url(reason: str, configuration: Configuration) -> tuple[str, ...]:
    """Return the reasons that an error of the Token URL suggests by itself."""
    if configuration.exchanges_token and reason in _AT_EXCHANGE:
        return _AT_EXCHANGE[reason]
    if reason == "invalid_grant" and not configuration.needs_consent:
        return ("unexpected",)  # no user has given a consent
    return _AT_TOKEN_URL.get(reason, ("unexpected",))


def _clues_of_legs(error: errors.TokenEndpointFailed, now: float) -> Iterator[Clue]:
    """Yield the clues of an error of the URLs of OAuth 1.0a."""
    skew = abs(round((error.their_time or now) - now))
    if skew > CLOCK_SKEW_SECONDS:
        text = Text(
            "The clocks of the provider and this machine differ by {seconds} seconds.",
            seconds=skew,
        )
        yield Clue(95, "clock-off", text)
    [reason, *_] = _AT_TOKEN_URL.get(error.reason, (error.reason,))
    yield _error_clue(90, reason if reason in REASONS else "unexpected", error)


def _style_fix(reason: str, configuration: Configuration) -> Fix | None:
    """Return the change of the OAuth 2.0 settings that a reason calls for."""
    oauth2 = configuration.oauth2
    if reason == "client-authentication-style" and oauth2.client_auth in _OTHER_STYLE:
        other = _OTHER_STYLE[oauth2.client_auth]
        change = ("oauth2.client_auth", str(other))
        return fix_of(reason, change, value=other.label)
    if reason == "dpop-required" and not oauth2.dpop:
        return fix_of(reason, ("oauth2.dpop", "true"))
    return None


def _header_clue(error: errors.HeaderFormatError) -> Clue:
    """Return the clue of a header that we refused to send ourselves."""
    reason = error.fault or "malformed-header"
    secret = error.field or ""
    has_fix = reason in _TIDIED and (
        secret in {"password", "token"} or secret.startswith("header:")
    )
    fix = fix_of(reason, tidied=secret) if has_fix else None
    return _error_clue(90, reason, error, fix)
