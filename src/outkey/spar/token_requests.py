"""Who asks the authorization server, and how a request for tokens is read or refused."""

import binascii
import json
from base64 import b64decode
from urllib.parse import parse_qsl, unquote_plus

from outkey.spar.exchange import Stage
from outkey.spar.records import Refused

# RFC 6749 §5.1: nothing on the way may keep an answer that holds a token.
NO_STORE = (("Cache-Control", "no-store"), ("Pragma", "no-cache"))
_JSON, _FORM = "application/json", "application/x-www-form-urlencoded"


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
    wanted = _JSON if stage.query.get("format") == "json" else _FORM
    if (
        stage.headers.get("content-type", "").partition(";")[0].strip().lower()
        != wanted
    ):
        raise Refused("invalid_request", f"The body must be {wanted}")
    pairs = read_pairs(stage)
    form = dict(pairs)
    if len(form) != len(pairs):
        raise Refused("invalid_request", "A parameter came twice")  # RFC 6749 §3.2
    # RFC 6749 §3.2: a parameter without a value counts as omitted.
    return {name: value for name, value in form.items() if value}


def authenticated(stage: Stage, form: dict[str, str]) -> str:
    """Return the client that authenticated, in one way (RFC 6749 §2.3.1, RFC 7523 §2.2)."""
    client, secret = form.get("client_id", ""), form.get("client_secret", "")
    if "authorization" in stage.headers:
        if secret:
            raise Refused(
                "invalid_request", "The client came in two ways"
            )  # RFC 6749 §2.3
        client, secret = _basic(stage.headers["authorization"])
    if "client_assertion" in form:
        stage.authority.check_assertion(client, form["client_assertion"], stage.origin)
        return client
    stage.authority.authenticate(client, secret)
    return client


def _basic(header: str) -> tuple[str, str]:
    scheme, _, encoded = header.partition(" ")
    try:
        pair = (
            b64decode(encoded, validate=True).decode()
            if scheme.lower() == "basic"
            else ""
        )
    except (binascii.Error, UnicodeDecodeError):
        return "", ""
    client, _, secret = pair.partition(":")
    # RFC 6749 §2.3.1: both were form-encoded before they went into Basic.
    return unquote_plus(client), unquote_plus(secret)


def refuse(stage: Stage, refused: Refused) -> None:
    """Answer with an error (RFC 6749 §5.2)."""
    body = {"error": refused.code, "error_description": refused.description}
    challenge = (
        [("WWW-Authenticate", 'Basic realm="spar"')] if refused.status == 401 else []
    )
    stage.answer(refused.status, body, *NO_STORE, *challenge)
