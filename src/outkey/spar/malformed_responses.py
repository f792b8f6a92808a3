"""Responses that no token endpoint should give, by name.

For any other use `?bend=` at `/oauth/token`, or `literal` for a complete one. Errors,
pages, redirects, `silent`, slow responses and `reset-before` grant nothing; every other
response holds a live token.
"""

import json
from collections.abc import Callable
from urllib.parse import urlencode

from outkey.spar.exchange import Stage
from outkey.spar.records import Fields

Usual = Callable[[], Fields]

JSON = "application/json"
HTML = "text/html"
FORM = "application/x-www-form-urlencoded"
_DEEP = 100_000
_LARGE = 20_000_000
_LONG = 70_000

# Status, content type and body.
FIXED = {
    "invalid_client": (401, JSON, '{"error": "invalid_client"}'),
    "invalid_grant": (400, JSON, '{"error": "invalid_grant"}'),
    "invalid_scope": (400, JSON, '{"error": "invalid_scope"}'),
    "temporarily_unavailable": (400, JSON, '{"error": "temporarily_unavailable"}'),
    # GitHub and Slack refuse with 200.
    "error-200": (200, JSON, '{"ok": false, "error": "bad_verification_code"}'),
    "html-200": (200, HTML, "<html><title>Log in</title></html>"),
    "rate-limited": (429, JSON, '{"error": "rate_limited"}'),
    "unavailable": (503, JSON, '{"message": "Service Unavailable"}'),
    "deep": (200, JSON, '{"a":' * _DEEP + "1" + "}" * _DEEP),
}


def play(stage: Stage, name: str, usual: Usual) -> None:
    """Send the response of that name; `usual` grants and returns the usual fields."""
    if name in FIXED:
        status, kind, text = FIXED[name]
        headers = [("Retry-After", "1")] if status in {429, 503} else []
        stage.respond(status, text.encode(), *headers, kind=kind)
    elif name in COMPUTED:
        COMPUTED[name](stage, usual)
    else:
        stage.respond(404, {"error": "no such answer", "names": names()})


def names() -> list[str]:
    """Return the names of all odd responses."""
    return [*FIXED, *COMPUTED]


def _send_literal(stage: Stage, _: Usual) -> None:
    """Send the response that the query describes."""
    # An encoded line break in the query must not become a header of its own.
    kind = " ".join(stage.query.get("type", JSON).split())
    stage.respond(
        int(stage.number("status", 200)),
        stage.query.get("body", "").encode(),
        kind=kind,
    )


def _sender_in(encoding: str) -> Callable[[Stage, Usual], None]:
    """Return a function that sends the usual response in another encoding."""
    return lambda stage, usual: stage.respond(200, json.dumps(usual()).encode(encoding))


def _send_long_token(stage: Stage, usual: Usual) -> None:
    """Send a token that is too long for a header."""
    length = int(stage.number("length", _LONG))
    stage.respond(200, usual() | {"access_token": "x" * length})


def _echo_request(stage: Stage, _: Usual) -> None:
    """Repeat the request, credentials included, as a careless server does."""
    header = stage.headers.get("authorization", "")
    body = stage.body.decode(errors="replace")
    description = f"Cannot read {header} {body}"
    stage.respond(400, {"error": "invalid_request", "error_description": description})


def redirect(stage: Stage, origin: str) -> None:
    """Redirect to the token endpoint of another origin, or of the same one."""
    status = int(stage.number("status", 307))
    stage.respond(status, None, ("Location", f"{origin}/oauth/token"))


def _reset_after_grant(stage: Stage, usual: Usual) -> None:
    """Grant, then reset the connection instead of a response."""
    usual()
    stage.reset()


def _reset_in_body(stage: Stage, usual: Usual) -> None:
    """Grant, then reset the connection in the middle of the response."""
    body = json.dumps(usual()).encode()
    stage.head(200, ("Content-Type", JSON), ("Content-Length", str(len(body))))
    stage.write(body[: len(body) // 2])
    stage.reset()


COMPUTED: dict[str, Callable[[Stage, Usual], None]] = {
    "literal": _send_literal,
    "form": lambda stage, usual: stage.respond(
        200, urlencode(usual()).encode(), kind=FORM
    ),
    "bom": _sender_in("utf-8-sig"),
    "utf-16": _sender_in("utf-16"),
    "long-token": _send_long_token,
    "large": lambda stage, usual: stage.respond(
        200, usual() | {"padding": "x" * _LARGE}
    ),
    "echo": _echo_request,
    "redirect-elsewhere": lambda stage, _: redirect(stage, stage.neighbours.elsewhere),
    "redirect-same": lambda stage, _: redirect(stage, ""),
    "silent": lambda stage, _: stage.silence(),
    "slow-headers": lambda stage, _: stage.trickle("headers"),
    "slow-body": lambda stage, _: stage.trickle("body"),
    "reset-before": lambda stage, _: stage.reset(),
    "reset-after": _reset_after_grant,
    "reset-body": _reset_in_body,
}
