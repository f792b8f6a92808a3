"""Where somebody approves or denies: in the browser (RFC 6749) or on a device (RFC 8628)."""

import re
from html import escape
from urllib.parse import urlencode

from outkey.spar.exchange import Stage
from outkey.spar.records import SCOPE, Fields, Refused
from outkey.spar.token_requests import NO_STORE, authenticated, read_form

ISSUER_PATH = "/oauth"
# Loopback with any port (RFC 8252 §7.3) and the names reserved by RFC 2606, without a fragment.
_REDIRECT = re.compile(
    r"https?://(127\.0\.0\.1|\[::1\]|localhost|[\w.-]+\.(example|test))(:\d+)?(/[!\"$-~]*)?",
    re.ASCII,
)


# ── approval in the browser ──────────────────────────────────────────────────────────────────


def authorize(stage: Stage) -> None:
    """Ask for approval (RFC 6749 §4.1, PKCE S256 demanded) and redirect with code, state, iss.

    Query besides the client's: `auto=1` approves at once, and `twist=state`, `twist=iss`,
    `twist=no-state`, `twist=no-iss` bend the redirect.
    """
    uri = stage.query.get("redirect_uri", "")
    if not stage.authority.knows(
        stage.query.get("client_id", "")
    ) or not _REDIRECT.fullmatch(uri):
        # RFC 6749 §4.1.2.1: never redirect to an address that cannot be trusted.
        _page(stage, 400, "Unknown client or redirect_uri")
        return
    try:
        answer = _approval(stage)
    except Refused as refused:
        answer = {"error": refused.code, "error_description": refused.description}
    if answer is None:
        _page(stage, 200, "Approve?", _choice(stage.query))
        return
    location = uri + ("&" if "?" in uri else "?") + urlencode(_twisted(stage, answer))
    stage.answer(302, b"", ("Location", location), *NO_STORE, kind="text/html")


def _approval(stage: Stage) -> dict[str, str] | None:
    query = stage.query
    if query.get("response_type") != "code":
        raise Refused("unsupported_response_type", "Only code")
    challenge = query.get("code_challenge")
    if not challenge or query.get("code_challenge_method") != "S256":
        raise Refused("invalid_request", "PKCE with S256 is needed")  # RFC 7636 §4.4.1
    if query.get("decision") == "deny":
        raise Refused("access_denied", "Somebody denied it")
    if query.get("decision") != "approve" and query.get("auto") != "1":
        return None
    scope = query.get("scope", SCOPE)
    code = stage.authority.approve(
        query["client_id"], query["redirect_uri"], challenge, scope
    )
    return {"code": code}


def _twisted(stage: Stage, answer: dict[str, str]) -> dict[str, str]:
    # RFC 9207: iss lets a client with several servers notice a mix-up.
    answer = answer | {"iss": stage.origin + ISSUER_PATH}
    if "state" in stage.query:
        answer["state"] = stage.query["state"]
    twist = stage.query.get("twist", "")
    if twist in {"state", "iss"}:
        answer[twist] = f"{stage.neighbours.elsewhere}{ISSUER_PATH}"
    elif twist in {"no-state", "no-iss"}:
        answer.pop(twist.removeprefix("no-"), None)
    return answer


# ── approval on another device ───────────────────────────────────────────────────────────────


def device(stage: Stage) -> None:
    """Start a device authorization (RFC 8628) on POST, ask for its user code on GET.

    `/oauth/device/approve?user_code=` and `/oauth/device/deny?user_code=` decide. Query on POST:
    `interval`, in seconds.
    """
    decision = stage.rest.partition("/")[2]
    if decision in {"approve", "deny"}:
        found = stage.authority.decide(stage.query.get("user_code", ""), decision)
        _page(stage, 200 if found else 404, "Done" if found else "No such code")
    elif stage.method == "POST":
        stage.answer(200, _device_started(stage), *NO_STORE)
    else:
        _page(stage, 200, "Which code?", _code_form(stage.query.get("user_code", "")))


def _device_started(stage: Stage) -> Fields:
    form = read_form(stage)
    client, scope = authenticated(stage, form), form.get("scope", SCOPE)
    facts = stage.authority.device(client, scope, stage.number("interval", 5))
    page = f"{stage.origin}/oauth/device"
    complete = f"{page}?user_code={facts['user_code']}"
    return facts | {"verification_uri": page, "verification_uri_complete": complete}


def _choice(query: dict[str, str]) -> str:
    hidden = "".join(
        f'<input type="hidden" name="{escape(name)}" value="{escape(value)}">'
        for name, value in query.items()
        if name != "decision"
    )
    return (
        f'<form>{hidden}<button name="decision" value="approve">Approve</button>'
        '<button name="decision" value="deny">Deny</button></form>'
    )


def _code_form(user_code: str) -> str:
    return (
        f'<form><input name="user_code" value="{escape(user_code)}">'
        '<button formaction="/oauth/device/approve">Approve</button>'
        '<button formaction="/oauth/device/deny">Deny</button></form>'
    )


def _page(stage: Stage, status: int, title: str, form: str = "") -> None:
    text = f"<!doctype html><title>{title}</title><h1>{title}</h1>{form}"
    stage.answer(status, text.encode(), kind="text/html; charset=utf-8")
