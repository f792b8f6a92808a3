"""Approval or denial by the user: in a browser (RFC 6749), on a device (RFC 8628)."""

import re
from html import escape
from urllib.parse import urlencode

from outkey.spar.exchange import Stage
from outkey.spar.records import SCOPE, Fields, OAuthError
from outkey.spar.token_requests import NO_STORE, authenticate_client, read_form

ISSUER_PATH = "/oauth"
_PUSHED_LIFETIME = 60
_CONTROLS = ("auto", "decision", "pkce", "twist")
# Loopback with any port (RFC 8252 §7.3) and names reserved by RFC 2606, no fragment.
REDIRECT = re.compile(
    r"https?://(127\.0\.0\.1|\[::1\]|localhost|[\w.-]+\.(example|test))"
    r"(:\d+)?(/[!\"$-~]*)?",
    re.ASCII,
)


# ── approval in the browser ───────────────────────────────────────────────────────────


def authorize(stage: Stage) -> None:
    """Ask for approval (RFC 6749 §4.1) and redirect with code, state and iss.

    PKCE with S256 is required, and refused with `pkce=refused` in the query. With
    `par=required` the parameters must have been pushed. `auto=1` approves at once;
    `twist=state`, `twist=iss`, `twist=no-state` and `twist=no-iss` falsify the
    redirect.
    """
    try:
        query = _authorization_query(stage)
    except OAuthError as error:
        send_page(stage, 400, error.description)
        return
    uri = query.get("redirect_uri", "")
    if not _is_known(stage, query):
        # RFC 6749 §4.1.2.1: never redirect to a URL that cannot be trusted.
        send_page(stage, 400, "Unknown client or redirect_uri")
        return
    try:
        parameters = _approval_of(stage, query)
    except OAuthError as error:
        parameters = {"error": error.code, "error_description": error.description}
    if parameters is None:
        send_page(stage, 200, "Approve?", _decision_form(stage.query))
        return
    more = urlencode(_redirect_parameters(stage, query, parameters))
    location = uri + ("&" if "?" in uri else "?") + more
    stage.respond(302, b"", ("Location", location), *NO_STORE, kind="text/html")


def push(stage: Stage) -> None:
    """Take the parameters of an authorization, for `/oauth/authorize` (RFC 9126).

    They are valid for `?lifetime=` seconds, and for one approval.
    """
    form = read_form(stage)
    client = authenticate_client(stage, form)
    parameters = {"client_id": client} | {
        name: value for name, value in form.items() if name != "client_secret"
    }
    if "request_uri" in form:
        raise OAuthError("invalid_request", "request_uri must not be pushed")
    if not _is_known(stage, parameters):
        raise OAuthError("invalid_request", "Unknown redirect_uri")
    if form.get("response_type") != "code":
        raise OAuthError("unsupported_response_type", "Only code")
    seconds = stage.number("lifetime", _PUSHED_LIFETIME)
    name = stage.authority.push(client, parameters, seconds)
    stage.respond(201, {"request_uri": name, "expires_in": int(seconds)}, *NO_STORE)


def _is_known(stage: Stage, query: dict[str, str]) -> bool:
    """Whether client and redirect_uri of an authorization may be trusted."""
    is_client = stage.authority.knows(query.get("client_id", ""))
    return is_client and REDIRECT.fullmatch(query.get("redirect_uri", "")) is not None


def _authorization_query(stage: Stage, *, used: bool = False) -> dict[str, str]:
    """Return the parameters of an authorization, those that were pushed if there are.

    Beside a request_uri no other parameter counts (RFC 9101 §5).
    """
    query = stage.query
    if "request_uri" not in query:
        if query.get("par") == "required":
            raise OAuthError("invalid_request", "A pushed request is needed")
        return query
    client = query.get("client_id", "")
    pushed = stage.authority.pushed(client, query["request_uri"], used=used)
    return pushed | {name: query[name] for name in _CONTROLS if name in query}


def _approval_of(stage: Stage, query: dict[str, str]) -> dict[str, str] | None:
    """Return the parameters with a code, or nothing while the user has not decided."""
    if query.get("response_type") != "code":
        raise OAuthError("unsupported_response_type", "Only code")
    challenge = query.get("code_challenge", "")
    if query.get("pkce") == "refused":
        if challenge:
            raise OAuthError("invalid_request", "Unknown parameter code_challenge")
    elif not challenge or query.get("code_challenge_method") != "S256":
        # RFC 7636 §4.4.1
        raise OAuthError("invalid_request", "PKCE with S256 is needed")
    if query.get("decision") == "deny":
        raise OAuthError("access_denied", "The user denied it")
    if query.get("decision") != "approve" and query.get("auto") != "1":
        return None
    _authorization_query(stage, used=True)
    scope = query.get("scope", SCOPE)
    code = stage.authority.approve(
        query["client_id"], query["redirect_uri"], challenge, scope
    )
    return {"code": code}


def _redirect_parameters(
    stage: Stage, query: dict[str, str], parameters: dict[str, str]
) -> dict[str, str]:
    """Return the parameters of the redirect, changed as `twist=` says."""
    # RFC 9207: iss lets a client with several servers notice a mix-up.
    parameters = parameters | {"iss": stage.origin + ISSUER_PATH}
    if "state" in query:
        parameters["state"] = query["state"]
    twist = query.get("twist", "")
    if twist in {"state", "iss"}:
        parameters[twist] = f"{stage.neighbours.elsewhere}{ISSUER_PATH}"
    elif twist in {"no-state", "no-iss"}:
        parameters.pop(twist.removeprefix("no-"), None)
    return parameters


# ── approval on another device ────────────────────────────────────────────────────────


def device(stage: Stage) -> None:
    """Start a device authorization (RFC 8628) on POST, ask for its user code on GET.

    `/oauth/device/approve?user_code=` and `/oauth/device/deny?user_code=` decide. Query
    on POST: `interval`, in seconds.
    """
    decision = stage.rest.partition("/")[2]
    if decision in {"approve", "deny"}:
        if stage.authority.decide(stage.query.get("user_code", ""), decision):
            send_page(stage, 200, "Done")
        else:
            send_page(stage, 404, "No such code")
    elif stage.method == "POST":
        stage.respond(200, _start_device(stage), *NO_STORE)
    else:
        send_page(
            stage, 200, "Which code?", _user_code_form(stage.query.get("user_code", ""))
        )


def _start_device(stage: Stage) -> Fields:
    """Return the response that starts a device authorization (RFC 8628 §3.2)."""
    form = read_form(stage)
    client = authenticate_client(stage, form)
    scope = form.get("scope", SCOPE)
    facts = stage.authority.device(client, scope, stage.number("interval", 5))
    page = f"{stage.origin}/oauth/device"
    complete = f"{page}?user_code={facts['user_code']}"
    return facts | {"verification_uri": page, "verification_uri_complete": complete}


def _decision_form(query: dict[str, str]) -> str:
    """Return the form that approves or denies a request."""
    hidden = "".join(
        f'<input type="hidden" name="{escape(name)}" value="{escape(value)}">'
        for name, value in query.items()
        if name != "decision"
    )
    return (
        f'<form>{hidden}<button name="decision" value="approve">Approve</button>'
        '<button name="decision" value="deny">Deny</button></form>'
    )


def _user_code_form(user_code: str) -> str:
    """Return the form that approves or denies a device."""
    return (
        f'<form><input name="user_code" value="{escape(user_code)}">'
        '<button formaction="/oauth/device/approve">Approve</button>'
        '<button formaction="/oauth/device/deny">Deny</button></form>'
    )


def send_page(stage: Stage, status: int, title: str, form: str = "") -> None:
    """Send a small HTML page."""
    text = f"<!doctype html><title>{title}</title><h1>{title}</h1>{form}"
    stage.respond(status, text.encode(), kind="text/html; charset=utf-8")
