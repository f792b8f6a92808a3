"""Answers that no token endpoint should give, by name. Most of them were met in the wild.

An odd answer that holds a token holds a live one: the grant was played before the answer was bent.
Errors, redirects and `reset-before` play no grant.
"""

import json
import re
import time
from collections.abc import Callable
from datetime import UTC, datetime
from email.utils import formatdate
from typing import NamedTuple
from urllib.parse import urlencode

from outkey.spar.stage import Stage

Fields = dict[str, object]
Usual = Callable[[], Fields]

JSON, HTML, FORM = "application/json", "text/html", "application/x-www-form-urlencoded"
_ABSENT = object()
_EVIL = "\r\nX-Evil: 1"
_DEEP = 100_000
_LARGE = 20_000_000
_LONG = 70_000


def play(stage: Stage, name: str, usual: Usual) -> None:
    """Give the odd answer of that name; `usual` plays the grant and returns the usual fields."""
    if name in BENT:
        stage.answer(200, _bent(usual(), BENT[name]))
    elif name in DRESSED:
        status, kind, dress = DRESSED[name]
        stage.answer(status, dress(usual()), kind=kind)
    elif name in REFUSED:
        status, body = REFUSED[name]
        stage.answer(status, body, *_retry_after(stage, name))
    elif name in MANNERS:
        MANNERS[name](stage, usual)
    else:
        stage.answer(404, {"error": "no such answer", "names": names()})


def names() -> list[str]:
    """Return the names of all odd answers."""
    return [*BENT, *DRESSED, *REFUSED, *MANNERS]


# ── fields that are not as RFC 6749 §5.1 has them ────────────────────────────────────────────


def _bent(fields: Fields, changes: Fields) -> Fields:
    for name, change in changes.items():
        fields[name] = change(fields.get(name, "")) if callable(change) else change
    return {name: value for name, value in fields.items() if value is not _ABSENT}


def _with(tail: str) -> Callable[[str], str]:
    return lambda token: token + tail


BENT: dict[str, Fields] = {
    "plain": {},
    "missing": {"expires_in": _ABSENT},
    "text": {"expires_in": str},
    "padded-text": {"expires_in": lambda seconds: f" {seconds} "},
    "float": {"expires_in": lambda seconds: seconds + 0.7},
    "text-float": {"expires_in": lambda seconds: f"{seconds:.1f}"},
    "garbage": {"expires_in": "soon"},
    "empty": {"expires_in": ""},
    "zero": {"expires_in": 0},
    "negative": {"expires_in": -5},
    "null": {"expires_in": None},
    "huge": {"expires_in": 99_999_999_999_999},
    "list": {"expires_in": [3600]},
    "bool": {"expires_in": True},
    "nan": {"expires_in": float("nan")},
    "infinity": {"expires_in": float("inf")},
    "milliseconds": {"expires_in": lambda seconds: seconds * 1000},
    "no-type": {"token_type": _ABSENT},
    "null-type": {"token_type": None},
    "list-type": {"token_type": ["Bearer"]},
    "lower-type": {"token_type": "bearer"},
    "mac-type": {"token_type": "mac"},
    "dpop-type": {"token_type": "DPoP"},
    "bearertoken-type": {"token_type": "BearerToken"},
    "crlf-type": {"token_type": _with(_EVIL)},
    "no-token": {"access_token": _ABSENT},
    "null-token": {"access_token": None},
    "empty-token": {"access_token": ""},
    "number-token": {"access_token": 12345},
    "list-token": {"access_token": lambda token: [token]},
    "crlf-token": {"access_token": _with(_EVIL)},
    "newline-token": {"access_token": _with("\n")},
    "blank-token": {"access_token": _with(" and more")},
    "control-token": {"access_token": _with("\0\x7f")},
    "non-ascii-token": {"access_token": _with("-ü€")},
    "huge-token": {"access_token": lambda token: token + "x" * (_LONG - len(token))},
    "null-refresh": {"refresh_token": None},
    "empty-refresh": {"refresh_token": ""},
    "number-refresh": {"refresh_token": 12345},
    "crlf-refresh": {"refresh_token": _with(_EVIL)},
    "list-scope": {"scope": str.split},
    "comma-scope": {"scope": lambda scope: scope.replace(" ", ",")},
}


# ── the usual fields in a dress that RFC 6749 §5.1 does not know ─────────────────────────────


class Dressed(NamedTuple):
    """A status, a content type and how the fields become a body."""

    status: int
    kind: str
    dress: Callable[[Fields], bytes]


def _json(fields: Fields) -> bytes:
    return json.dumps(fields).encode()


def _form(fields: Fields) -> bytes:
    return urlencode(fields).encode()


def _text(text: str) -> Callable[[Fields], bytes]:
    return lambda _: text.encode()


def _lasting(number: bytes) -> Callable[[Fields], bytes]:
    return lambda fields: re.sub(rb'(?<="expires_in": )[^,}]+', number, _json(fields))


def _until(name: str, write: Callable[[float], object]) -> Callable[[Fields], bytes]:
    def dress(fields: Fields) -> bytes:
        ends = time.time() + float(str(fields.pop("expires_in", 3600)))
        return _json(fields | {name: write(ends)})

    return dress


def _iso(ends: float) -> str:
    return datetime.fromtimestamp(ends, UTC).isoformat()


DRESSED = {
    "expires-at": Dressed(200, JSON, _until("expires_at", int)),
    "expires-at-ms": Dressed(200, JSON, _until("expires_at", lambda ends: int(ends * 1000))),
    "expires-at-iso": Dressed(200, JSON, _until("expires_at", _iso)),
    "expires-on": Dressed(200, JSON, _until("expires_on", lambda ends: str(int(ends)))),
    "form": Dressed(200, FORM, _form),
    "form-as-text": Dressed(200, "text/plain", _form),
    "json-as-html": Dressed(200, HTML, _json),
    "json-as-text": Dressed(200, "text/plain", _json),
    "html-200": Dressed(200, HTML, _text("<html><title>Log in</title></html>")),
    "html-500": Dressed(500, HTML, _text("<html><title>Oops</title></html>")),
    "empty-200": Dressed(200, JSON, _text("")),
    "array": Dressed(200, JSON, _text("[]")),
    "null-body": Dressed(200, JSON, _text("null")),
    "string-body": Dressed(200, JSON, _text('"token"')),
    "half": Dressed(200, JSON, lambda fields: _json(fields)[:-9]),
    "bom": Dressed(200, JSON, lambda fields: b"\xef\xbb\xbf" + _json(fields)),
    "utf-16": Dressed(200, JSON, lambda fields: _json(fields).decode().encode("utf-16")),
    "bad-utf-8": Dressed(200, JSON, lambda fields: _json(fields)[:-1] + b', "name": "\xff"}'),
    "twice": Dressed(200, JSON, lambda fields: b'{"access_token": "other", ' + _json(fields)[1:]),
    # Python refuses to read an integer of more than 4300 digits.
    "digits": Dressed(200, JSON, _lasting(b"9" * 5000)),
    "exponent": Dressed(200, JSON, _lasting(b"1e400")),
    "created": Dressed(201, JSON, _json),
    "deep": Dressed(200, JSON, _text('{"a":' * _DEEP + "1" + "}" * _DEEP)),
}


# ── errors ───────────────────────────────────────────────────────────────────────────────────


def _error(status: int, code: str, **more: object) -> tuple[int, Fields]:
    return status, {"error": code, **more}


REFUSED: dict[str, tuple[int, Fields]] = {
    # RFC 6749 §5.2
    "invalid_request": _error(400, "invalid_request"),
    "invalid_client": _error(401, "invalid_client"),
    "invalid_client-400": _error(400, "invalid_client"),
    "invalid_grant": _error(400, "invalid_grant"),
    "invalid_grant-401": _error(401, "invalid_grant"),
    "unauthorized_client": _error(400, "unauthorized_client"),
    "unsupported_grant_type": _error(400, "unsupported_grant_type"),
    "invalid_scope": _error(400, "invalid_scope"),
    # RFC 8628 §3.5
    "authorization_pending": _error(400, "authorization_pending"),
    "slow_down": _error(400, "slow_down"),
    "expired_token": _error(400, "expired_token"),
    "access_denied": _error(400, "access_denied"),
    # RFC 6749 §4.1.2.1 has these for redirects only; token endpoints send them nevertheless.
    "server_error": _error(400, "server_error"),
    "temporarily_unavailable": _error(400, "temporarily_unavailable"),
    "use_dpop_nonce": _error(400, "use_dpop_nonce"),
    "unheard-of": _error(400, "Access Denied"),
    "error-200": _error(200, "bad_verification_code"),
    "ok-false": (200, {"ok": False, "error": "invalid_auth"}),
    "error-object": (400, {"error": {"code": "invalid_grant", "message": "no"}}),
    "error-null": (400, {"error": None}),
    "errors-list": (401, {"response": {"errors": [{"code": "10401", "message": "no"}]}}),
    "long-description": _error(400, "invalid_grant", error_description="no " * 50_000),
    "control-description": _error(400, "invalid_grant", error_description="\x1b[2J\r\nno"),
    "status-403": (403, {"message": "Forbidden"}),
    "status-404": (404, {"message": "Not Found"}),
    "rate-limited": _error(429, "rate_limited"),
    "rate-limited-until": _error(429, "rate_limited"),
    "unavailable": (503, {"message": "Service Unavailable"}),
    "bad-gateway": (502, {"message": "Bad Gateway"}),
}


def _retry_after(stage: Stage, name: str) -> list[tuple[str, str]]:
    seconds = max(0.0, min(1e9, stage.number("after", 1)))
    if name == "rate-limited-until":
        return [("Retry-After", formatdate(time.time() + seconds, usegmt=True))]
    if name in {"rate-limited", "unavailable"}:
        return [("Retry-After", f"{seconds:g}")]
    return []


# ── bad manners ──────────────────────────────────────────────────────────────────────────────


def _echo(stage: Stage, _: Usual) -> None:
    """Repeat what the client sent, credentials and all, as a careless server does."""
    sent = f"{stage.headers.get('authorization', '')} {stage.body.decode(errors='replace')}"
    stage.answer(400, {"error": "invalid_request", "error_description": f"Cannot read {sent}"})


def _redirect(stage: Stage, origin: str) -> None:
    status = int(stage.number("status", 307))
    stage.answer(status, None, ("Location", f"{origin}/oauth/token"))


def _large(stage: Stage, usual: Usual) -> None:
    padding = "x" * int(stage.number("bytes", _LARGE))
    stage.answer(200, {**usual(), "padding": padding})


def _reset_after(stage: Stage, usual: Usual) -> None:
    usual()
    stage.reset()


def _reset_body(stage: Stage, usual: Usual) -> None:
    body = _json(usual())
    stage.head(200, ("Content-Type", JSON), ("Content-Length", str(len(body))))
    stage.write(body[: len(body) // 2])
    stage.reset()


MANNERS: dict[str, Callable[[Stage, Usual], None]] = {
    "echo": _echo,
    "redirect-elsewhere": lambda stage, _: _redirect(stage, stage.neighbours.elsewhere),
    "redirect-same": lambda stage, _: _redirect(stage, ""),
    "large": _large,
    "silent": lambda stage, _: stage.silence(),
    "slow-headers": lambda stage, _: stage.trickle("headers"),
    "slow-body": lambda stage, _: stage.trickle("body"),
    "reset-before": lambda stage, _: stage.reset(),
    "reset-after": _reset_after,
    "reset-body": _reset_body,
}
