"""Answers that no token endpoint should give, by name: what somebody looks for, or needs a wire.

Any other is said by the one who asks: with `?bend=` at `/oauth/token`, or by `literal` in full.
Errors, pages, redirects, `silent`, slow answers and `reset-before` play no grant; whatever else
holds a token holds a live one.
"""

import json
from collections.abc import Callable
from urllib.parse import urlencode

from outkey.spar.exchange import Stage
from outkey.spar.records import Fields

Usual = Callable[[], Fields]

JSON, HTML, FORM = "application/json", "text/html", "application/x-www-form-urlencoded"
_DEEP = 100_000
_LARGE, _LONG = 20_000_000, 70_000

# Status, content type and body.
SAID = {
    "invalid_client": (401, JSON, '{"error": "invalid_client"}'),
    "invalid_grant": (400, JSON, '{"error": "invalid_grant"}'),
    "invalid_scope": (400, JSON, '{"error": "invalid_scope"}'),
    "temporarily_unavailable": (400, JSON, '{"error": "temporarily_unavailable"}'),
    # GitHub and Slack say no with 200.
    "error-200": (200, JSON, '{"ok": false, "error": "bad_verification_code"}'),
    "html-200": (200, HTML, "<html><title>Log in</title></html>"),
    "rate-limited": (429, JSON, '{"error": "rate_limited"}'),
    "unavailable": (503, JSON, '{"message": "Service Unavailable"}'),
    "deep": (200, JSON, '{"a":' * _DEEP + "1" + "}" * _DEEP),
}


def play(stage: Stage, name: str, usual: Usual) -> None:
    """Give the odd answer of that name; `usual` plays the grant and returns the usual fields."""
    if name in SAID:
        status, kind, text = SAID[name]
        later = [("Retry-After", "1")] if status in {429, 503} else []
        stage.answer(status, text.encode(), *later, kind=kind)
    elif name in PLAYED:
        PLAYED[name](stage, usual)
    else:
        stage.answer(404, {"error": "no such answer", "names": names()})


def names() -> list[str]:
    """Return the names of all odd answers."""
    return [*SAID, *PLAYED]


def _literal(stage: Stage, _: Usual) -> None:
    # A query may hold an encoded line break, which must not become a header of its own.
    kind = " ".join(stage.query.get("type", JSON).split())
    stage.answer(
        int(stage.number("status", 200)),
        stage.query.get("body", "").encode(),
        kind=kind,
    )


def _encoded(encoding: str) -> Callable[[Stage, Usual], None]:
    return lambda stage, usual: stage.answer(200, json.dumps(usual()).encode(encoding))


def _long_token(stage: Stage, usual: Usual) -> None:
    length = int(stage.number("length", _LONG))
    stage.answer(200, usual() | {"access_token": "x" * length})


def _echo(stage: Stage, _: Usual) -> None:
    """Repeat what the client sent, credentials and all, as a careless server does."""
    sent = (
        f"{stage.headers.get('authorization', '')}"
        f" {stage.body.decode(errors='replace')}"
    )
    stage.answer(
        400, {"error": "invalid_request", "error_description": f"Cannot read {sent}"}
    )


def _redirect(stage: Stage, origin: str) -> None:
    status = int(stage.number("status", 307))
    stage.answer(status, None, ("Location", f"{origin}/oauth/token"))


def _reset_after(stage: Stage, usual: Usual) -> None:
    usual()
    stage.reset()


def _reset_body(stage: Stage, usual: Usual) -> None:
    body = json.dumps(usual()).encode()
    stage.head(200, ("Content-Type", JSON), ("Content-Length", str(len(body))))
    stage.write(body[: len(body) // 2])
    stage.reset()


PLAYED: dict[str, Callable[[Stage, Usual], None]] = {
    "literal": _literal,
    "form": lambda stage, usual: stage.answer(
        200, urlencode(usual()).encode(), kind=FORM
    ),
    "bom": _encoded("utf-8-sig"),
    "utf-16": _encoded("utf-16"),
    "long-token": _long_token,
    "large": lambda stage, usual: stage.answer(
        200, usual() | {"padding": "x" * _LARGE}
    ),
    "echo": _echo,
    "redirect-elsewhere": lambda stage, _: _redirect(stage, stage.neighbours.elsewhere),
    "redirect-same": lambda stage, _: _redirect(stage, ""),
    "silent": lambda stage, _: stage.silence(),
    "slow-headers": lambda stage, _: stage.trickle("headers"),
    "slow-body": lambda stage, _: stage.trickle("body"),
    "reset-before": lambda stage, _: stage.reset(),
    "reset-after": _reset_after,
    "reset-body": _reset_body,
}
