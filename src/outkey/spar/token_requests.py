"""Reading requests to the authorization server, and authenticating their clients."""

import binascii
import json
from base64 import b64decode
from urllib.parse import parse_qsl, unquote_plus

from outkey.spar.exchange import Stage
from outkey.spar.records import OAuthError

# RFC 6749 §5.1: no cache may store a response that holds a token.
NO_STORE = (("Cache-Control", "no-store"), ("Pragma", "no-cache"))
_JSON = "application/json"
_FORM = "application/x-www-form-urlencoded"


def read_pairs(stage: Stage) -> list[tuple[str, str]]:
    """Return the parameters of the body as far as they can be read."""
    text = stage.body.decode(errors="replace")
    if stage.query.get("format") != "json":
        return parse_qsl(text, keep_blank_values=True)
    try:
        return [(name, str(value)) for name, value in json.loads(text).items()]
    except (ValueError, RecursionError, AttributeError):
        return []


def read_form(stage: Stage) -> dict[str, str]:
    """Return the parameters of the body, or refuse it."""
    expected = _JSON if stage.query.get("format") == "json" else _FORM
    kind = stage.headers.get("content-type", "").partition(";")[0]
    if kind.strip().lower() != expected:
        raise OAuthError("invalid_request", f"The body must be {expected}")
    pairs = read_pairs(stage)
    form = dict(pairs)
    if len(form) != len(pairs):
        raise OAuthError("invalid_request", "A parameter came twice")  # RFC 6749 §3.2
    # RFC 6749 §3.2: a parameter without a value counts as omitted.
    return {name: value for name, value in form.items() if value}


def authenticate_client(stage: Stage, form: dict[str, str]) -> str:
    """Return the client, authenticated in one way (RFC 6749 §2.3.1, RFC 7523 §2.2)."""
    client = form.get("client_id", "")
    secret = form.get("client_secret", "")
    if "authorization" in stage.headers:
        if secret:
            # RFC 6749 §2.3
            raise OAuthError("invalid_request", "Two ways of client authentication")
        client, secret = _basic_credentials(stage.headers["authorization"])
    if "client_assertion" in form:
        stage.authority.check_assertion(client, form["client_assertion"], stage.origin)
        return client
    stage.authority.authenticate(client, secret)
    return client


def _basic_credentials(header: str) -> tuple[str, str]:
    """Return client and secret of a Basic header; both are empty if it has none."""
    scheme, _, encoded = header.partition(" ")
    try:
        pair = b64decode(encoded, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return "", ""
    if scheme.lower() != "basic":
        return "", ""
    client, _, secret = pair.partition(":")
    # RFC 6749 §2.3.1: both were form-encoded before they went into Basic.
    return unquote_plus(client), unquote_plus(secret)


def refuse(stage: Stage, error: OAuthError) -> None:
    """Respond with an error (RFC 6749 §5.2)."""
    body = {"error": error.code, "error_description": error.description}
    headers = [*NO_STORE]
    if error.status == 401:
        headers.append(("WWW-Authenticate", 'Basic realm="spar"'))
    stage.respond(error.status, body, *headers)
