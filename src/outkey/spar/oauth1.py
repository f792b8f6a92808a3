"""A provider of OAuth 1.0a (RFC 5849) that verifies signatures, by two or three legs.

Its credentials are made up and public: consumer `spar-consumer` with secret
`spar-consumer-secret`, token `spar-access-token` with `spar-access-token-secret`.
"""

import hashlib
import hmac
import re
import secrets
import time
from base64 import b64encode
from collections.abc import Callable
from functools import wraps
from urllib.parse import parse_qsl, quote, unquote, urlencode

from outkey.spar.approval import REDIRECT
from outkey.spar.exchange import Stage
from outkey.spar.records import OAuth1Temporary

CONSUMER = "spar-consumer"
CONSUMER_SECRET = "spar-consumer-secret"  # noqa: S105 - made up and public
_FORM = "application/x-www-form-urlencoded"
_BYTES = "surrogateescape"  # bytes that are not UTF-8 stay as they are
_MAX_SKEW = 300
_PARAMETER = re.compile(r'(\w+)="([^"]*)"')
_HASHES = {"HMAC-SHA1": hashlib.sha1, "HMAC-SHA256": hashlib.sha256}
# What other providers write instead of the name of a problem.
_WORDS = {
    "consumer_key_unknown": "Consumer key is invalid.",
    "signature_invalid": "Invalid signature - provided signature does not match.",
    "timestamp_refused": "Invalid timestamp.",
    "nonce_used": "Invalid nonce - nonce has already been used.",
    "token_rejected": "Invalid or expired token.",
    "verifier_invalid": "Invalid token.",
    "signature_method_rejected": "Unsupported signature method.",
    "permission_denied": "The account may not do this.",
    "parameter_absent": "Missing OAuth parameters.",
}


class Problem(Exception):
    """Why a request is refused, as "OAuth Problem Reporting" names it."""

    def __init__(self, name: str, status: int = 401) -> None:
        super().__init__(name)
        self.name = name
        self.status = status


# ── signatures ────────────────────────────────────────────────────────────────────────


def _verified(stage: Stage, secret_of: Callable[[str], str | None]) -> dict[str, str]:
    """Return the protocol parameters of a request, or raise what is wrong with it.

    `secret_of` returns the secret of a token; None for an unknown one.
    """
    parameters = _parameters_of(stage)
    _check_method(stage, parameters)
    if parameters["oauth_consumer_key"] != CONSUMER:
        raise Problem("consumer_key_unknown")
    token_secret = secret_of(parameters.get("oauth_token", ""))
    if token_secret is None:
        raise Problem("token_rejected")
    expected = _signature(stage, parameters, token_secret)
    if not hmac.compare_digest(expected, parameters["oauth_signature"]):
        raise Problem("signature_invalid")
    clock = time.time() + stage.number("skew", 0)
    if abs(clock - int(parameters["oauth_timestamp"])) > _MAX_SKEW:
        raise Problem("timestamp_refused")
    stamp = (parameters["oauth_timestamp"], parameters["oauth_nonce"])
    if not stage.authority.oauth1.use_nonce(stamp):
        raise Problem("nonce_used")
    if problem := stage.query.get("problem"):
        status = 403 if problem.startswith("permission") else 401
        raise Problem(problem, status)
    return parameters


def _parameters_of(stage: Stage) -> dict[str, str]:
    """Return the parameters of the header Authorization (RFC 5849 §3.5.1)."""
    scheme, _, text = stage.headers.get("authorization", "").partition(" ")
    pairs = {name: unquote(value) for name, value in _PARAMETER.findall(text)}
    needed = ("consumer_key", "signature_method", "signature", "timestamp", "nonce")
    is_complete = all(f"oauth_{name}" in pairs for name in needed)
    if scheme.lower() != "oauth" or not is_complete:
        raise Problem("parameter_absent")
    if not pairs["oauth_timestamp"].isdecimal():
        raise Problem("timestamp_refused")
    return pairs


def _check_method(stage: Stage, parameters: dict[str, str]) -> None:
    """Refuse a method that is unknown, or not the one that `?method=` names."""
    method = parameters["oauth_signature_method"]
    wanted = stage.query.get("method", method)
    is_plain = method == "PLAINTEXT" and stage.origin.startswith("https:")
    if method != wanted or not (method in _HASHES or is_plain):
        raise Problem("signature_method_rejected")


def _signature(stage: Stage, parameters: dict[str, str], token_secret: str) -> str:
    """Return the signature that a request should have."""
    key = f"{quote(CONSUMER_SECRET, safe='')}&{quote(token_secret, safe='')}"
    method = parameters["oauth_signature_method"]
    if method == "PLAINTEXT":
        return key
    kind, _, _ = stage.headers.get("content-type", "").partition(";")
    pairs = [(name, value) for name, value in parameters.items() if name != "realm"]
    pairs = [pair for pair in pairs if pair[0] != "oauth_signature"]
    forms = [stage.raw_query]
    if kind.strip().lower() == _FORM:
        forms.append(stage.body.decode("utf-8", _BYTES))
    for form in forms:
        pairs += parse_qsl(form, keep_blank_values=True, errors=_BYTES)
    encoded = sorted((_quoted(name), _quoted(text)) for name, text in pairs)
    normalized = "&".join(f"{name}={text}" for name, text in encoded)
    scheme = stage.origin.partition(":")[0]
    url = f"{scheme}://{stage.headers.get('host', '')}{stage.path}"
    parts = (stage.method, url, normalized)
    base = "&".join(quote(part, safe="") for part in parts)
    digest = hmac.new(key.encode(), base.encode(), _HASHES[method]).digest()
    return b64encode(digest).decode("ascii")


def _quoted(text: str) -> str:
    return quote(text, safe="", errors=_BYTES)


def _reporting(play: Callable[[Stage], None]) -> Callable[[Stage], None]:
    """Return a scene that reports a problem as its response."""

    @wraps(play)
    def reporting(stage: Stage) -> None:
        try:
            play(stage)
        except Problem as problem:
            _report(stage, problem)

    return reporting


def _report(stage: Stage, problem: Problem) -> None:
    """Report a problem in body and challenge; with `?words=1` in words only."""
    if stage.query.get("words") == "1":
        words = _WORDS.get(problem.name, problem.name)
        stage.respond(problem.status, {"message": words})
        return
    challenge = f'OAuth realm="spar", oauth_problem="{problem.name}"'
    body = urlencode({"oauth_problem": problem.name}).encode()
    stage.respond(problem.status, body, ("WWW-Authenticate", challenge), kind=_FORM)


# ── the API ───────────────────────────────────────────────────────────────────────────


@_reporting
def _play_api(stage: Stage) -> None:
    """Demand a signature by `spar-consumer` with a token (RFC 5849).

    The token is `spar-access-token`, or one that a user authorized. `?problem=NAME`
    reports that problem, `?words=1` in words, `?method=` demands that Signature Method,
    `?skew=` shifts the clock.
    """
    _verified(stage, stage.authority.oauth1.tokens.get)
    stage.respond(200, {"signed_by": CONSUMER, "legs": 3})


@_reporting
def _play_two_legs(stage: Stage) -> None:
    """Demand a signature by `spar-consumer` alone, without a token."""
    _verified(stage, lambda token: None if token else "")
    stage.respond(200, {"signed_by": CONSUMER, "legs": 2})


# ── three legs ────────────────────────────────────────────────────────────────────────


@_reporting
def _play_initiate(stage: Stage) -> None:
    """Issue temporary credentials (RFC 5849 §2.1); the callback may be `oob`."""
    callback = _checked_callback(stage)
    token = f"spar-temporary-{secrets.token_hex(8)}"
    secret = secrets.token_hex(16)
    stage.authority.oauth1.temporary[token] = OAuth1Temporary(secret, callback)
    _send_token(stage, token, secret, oauth_callback_confirmed="true")


def _checked_callback(stage: Stage) -> str:
    """Return the callback of a signed request, or raise what is wrong with it."""
    parameters = _verified(stage, lambda token: None if token else "")
    callback = parameters.get("oauth_callback", "")
    if callback != "oob" and not REDIRECT.fullmatch(callback):
        raise Problem("parameter_rejected", 400)
    return callback


def _play_authorize(stage: Stage) -> None:
    """Let a user agree (RFC 5849 §2.2); `auto=1` agrees, `auto=0` refuses.

    With the callback `oob` it shows the verifier.
    """
    token = stage.query.get("oauth_token", "")
    temporary = stage.authority.oauth1.temporary.get(token)
    if temporary is None:
        stage.respond(400, b"unknown token", kind="text/plain")
        return
    if stage.query.get("auto") not in {"0", "1"}:
        text = "Add auto=1 to the URL to agree, or auto=0 to refuse.\n"
        stage.respond(200, text.encode(), kind="text/plain")
        return
    agrees = stage.query["auto"] == "1"
    if agrees:
        temporary.verifier = f"{secrets.randbelow(10**8):08}"
    if temporary.callback == "oob":
        text = f"The verifier is {temporary.verifier}\n" if agrees else "Refused\n"
        stage.respond(200, text.encode(), kind="text/plain")
        return
    consent = {"oauth_token": token, "oauth_verifier": temporary.verifier}
    query = urlencode(consent if agrees else {"denied": token})
    mark = "&" if "?" in temporary.callback else "?"
    location = f"{temporary.callback}{mark}{query}"
    stage.respond(302, b"", ("Location", location), kind="text/html")


@_reporting
def _play_token(stage: Stage) -> None:
    """Exchange temporary credentials and a verifier for a token (RFC 5849 §2.3)."""
    temporary = _authorized_token(stage)
    del stage.authority.oauth1.temporary[temporary]
    token = f"spar-token-{secrets.token_hex(8)}"
    secret = secrets.token_hex(16)
    stage.authority.oauth1.tokens[token] = secret
    _send_token(stage, token, secret)


def _authorized_token(stage: Stage) -> str:
    """Return the temporary token of a request with its verifier, or raise."""
    temporary = stage.authority.oauth1.temporary

    def secret_of(token: str) -> str | None:
        return temporary[token].secret if token in temporary else None

    parameters = _verified(stage, secret_of)
    token = parameters["oauth_token"]
    expected = temporary[token].verifier
    given = parameters.get("oauth_verifier", "")
    if not expected or not hmac.compare_digest(expected, given):
        raise Problem("verifier_invalid")
    return token


def _send_token(stage: Stage, token: str, secret: str, **more: str) -> None:
    """Respond with a token and its secret as a form."""
    fields = {"oauth_token": token, "oauth_token_secret": secret, **more}
    stage.respond(200, urlencode(fields).encode(), kind=_FORM)


OAUTH1: dict[str, Callable[[Stage], None]] = {
    "oauth1/api": _play_api,
    "oauth1/two-legs": _play_two_legs,
    "oauth1/initiate": _play_initiate,
    "oauth1/authorize": _play_authorize,
    "oauth1/token": _play_token,
}
