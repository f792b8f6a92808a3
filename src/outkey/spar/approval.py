"""Where somebody approves or denies: in the browser (RFC 6749) or on a device (RFC 8628)."""

from html import escape
from urllib.parse import urlencode, urlsplit

from outkey.spar.asking import NO_STORE, authenticated, read_form, refuse
from outkey.spar.records import SCOPE, Refused
from outkey.spar.stage import Stage

ISSUER_PATH = "/oauth"


# ── approval in the browser ──────────────────────────────────────────────────────────────────


def authorize(stage: Stage) -> None:
    """Ask for approval (RFC 6749 §4.1, PKCE S256 demanded) and redirect with code, state, iss.

    Query besides the client's: `auto=1` approves at once, `auto=deny` denies, and `twist=state`,
    `twist=iss`, `twist=no-state`, `twist=no-iss` bend the redirect.
    """
    uri = stage.query.get("redirect_uri", "")
    if not stage.authority.knows(stage.query.get("client_id", "")) or not _may_redirect(uri):
        # RFC 6749 §4.1.2.1: never redirect to an address that cannot be trusted.
        _page(stage, 400, "Unknown client or redirect_uri")
        return
    try:
        answer = _approval(stage)
    except Refused as refused:
        answer = {"error": refused.code, "error_description": refused.description}
    if answer is None:
        _page(stage, 200, "Approve?", _choice("/oauth/authorize", stage.query))
        return
    answer = _twisted(stage, answer)
    location = uri + ("&" if "?" in uri else "?") + urlencode(answer)
    stage.answer(302, b"", ("Location", location), *NO_STORE, kind="text/html")


def _approval(stage: Stage) -> dict[str, str] | None:
    query = stage.query
    if query.get("response_type") != "code":
        raise Refused("unsupported_response_type", "Only code")
    challenge = query.get("code_challenge")
    if not challenge or query.get("code_challenge_method") != "S256":
        raise Refused("invalid_request", "PKCE with S256 is needed")  # RFC 7636 §4.4.1
    decision = query.get("decision") or query.get("auto")
    if decision == "deny":
        raise Refused("access_denied", "Somebody denied it")
    if decision not in {"approve", "1"}:
        return None
    scope = query.get("scope", SCOPE)
    code = stage.authority.approve(query["client_id"], query["redirect_uri"], challenge, scope)
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


def _may_redirect(uri: str) -> bool:
    """Allow loopback with any port (RFC 8252 §7.3) and the names reserved by RFC 2606."""
    try:
        parts = urlsplit(uri)
        host = parts.hostname or ""
    except ValueError:
        return False
    local = host in {"127.0.0.1", "::1", "localhost"} or host.endswith((".example", ".test"))
    plain = all("!" <= character <= "~" for character in uri)
    return local and plain and parts.scheme in {"http", "https"} and "#" not in uri


# ── approval on another device ───────────────────────────────────────────────────────────────


def device(stage: Stage) -> None:
    """Start a device authorization (RFC 8628) on POST, ask for its user code on GET.

    `/oauth/device/approve?user_code=` and `/oauth/device/deny?user_code=` decide. Query on POST:
    `lifetime`, `interval` and `omit=FIELD`.
    """
    decision = stage.rest.partition("/")[2]
    if decision in {"approve", "deny"}:
        found = stage.authority.decide(stage.query.get("user_code", ""), decision)
        _page(stage, 200 if found else 404, "Done" if found else "No such code")
    elif stage.method == "POST":
        try:
            stage.answer(200, _device_started(stage), *NO_STORE)
        except Refused as refused:
            refuse(stage, refused)
    else:
        _page(stage, 200, "Which code?", _code_form(stage.query.get("user_code", "")))


def _device_started(stage: Stage) -> dict[str, object]:
    form = read_form(stage)
    lifetime, interval = stage.number("lifetime", 600), stage.number("interval", 5)
    client, scope = authenticated(stage, form), form.get("scope", SCOPE)
    facts = stage.authority.device(client, scope, lifetime=lifetime, interval=interval)
    page = f"{stage.origin}/oauth/device"
    facts |= {
        "verification_uri": page,
        "verification_uri_complete": f"{page}?user_code={facts['user_code']}",
    }
    omitted = stage.query.get("omit", "").split(",")
    return {name: value for name, value in facts.items() if name not in omitted}


def _choice(action: str, query: dict[str, str]) -> str:
    hidden = "".join(
        f'<input type="hidden" name="{escape(name)}" value="{escape(value)}">'
        for name, value in query.items()
        if name not in {"decision", "auto"}
    )
    return (
        f'<form action="{action}">{hidden}<button name="decision" value="approve">Approve</button>'
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
