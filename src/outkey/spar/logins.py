"""Logins at the API itself, as many APIs have them: JSON in, a token out.

User and password are those of `scenes.py`. What is issued is a token of the
authorization server, so that `/oauth/expire` and the drills work on it too.
"""

import json
import re
import time
from base64 import b64encode
from collections.abc import Callable
from html import unescape
from urllib.parse import parse_qsl

from outkey.spar.authority import CLIENT
from outkey.spar.exchange import Stage
from outkey.spar.records import Fields, OAuthError, Terms
from outkey.spar.token_requests import NO_STORE

USERNAME = "sparring"
PASSWORD = "open sesame"  # noqa: S105 - made up and public
_REFUSAL = {"errors": [{"message": "Invalid user credentials."}]}
_COOKIE = "spar_session"
_HEADER = "X-Session"
_ELEMENT = re.compile(r"<(\w+)>([^<]*)</\1>")
BASIC = "Basic " + b64encode(f"{USERNAME}:{PASSWORD}".encode()).decode()


def _play_login(stage: Stage) -> None:
    """Exchange `sparring` and `open sesame`, as JSON or a form, for a token.

    The response is `{"data": {"access_token", "refresh_token", "expires"}}`, with
    milliseconds. `?style=cookie`, `header` or `text` has the token there, `moment` an
    `expires_at`. `lifetime=` in seconds, `before=` a wait, `refusal=` the status for a
    wrong password (401), `any=1` accepts every one, `key=1` demands X-API-Key too.
    """
    stage.sleep(0, "before")
    fields = read_fields(stage)
    name = fields.get("email") or fields.get("username")
    is_known = (name, fields.get("password")) == (USERNAME, PASSWORD)
    has_key = stage.headers.get("x-api-key") == "spar-key" or "key" not in stage.query
    if stage.method != "POST":
        stage.respond(405, {"error": "method"}, ("Allow", "POST"))
    elif (is_known or "any" in stage.query) and has_key:
        _send_tokens(stage, stage.authority.log_in(_terms_of(stage)))
    else:
        stage.respond(int(stage.number("refusal", 401)), _REFUSAL)


def _play_refresh(stage: Stage) -> None:
    """Exchange `{"refresh_token"}` for a new token; refresh tokens rotate."""
    form = {"grant_type": "refresh_token", **read_fields(stage)}
    try:
        _send_tokens(stage, stage.authority.grant(CLIENT, form, _terms_of(stage)))
    except OAuthError:
        stage.respond(int(stage.number("refusal", 401)), _REFUSAL)


def _play_logout(stage: Stage) -> None:
    """End the session of the token, or of `{"refresh_token"}`."""
    tokens = (_token_of(stage), read_fields(stage).get("refresh_token", ""))
    ended = [stage.authority.log_out(token) for token in tokens if token]
    stage.respond(204 if any(ended) else 401, b"")


def _play_session_api(stage: Stage) -> None:
    """Demand a live token of a login, as Bearer, cookie, X-Session or `?token=`."""
    if stage.authority.access(_token_of(stage)) is None:
        stage.respond(401, _REFUSAL)
    else:
        stage.respond(200, {"data": [{"id": 1}]})


def _play_steps(stage: Stage) -> None:
    """Log in by two steps: `/login/steps/start`, and `/finish` with its nonce.

    The first one issues a nonce: in `X-Nonce`, in JSON and in the cookie `spar_start`.
    The second one expects `sparring`, `open sesame` and the nonce, or the cookie, as
    JSON, a form or XML, and responds as `/login/json`; with `?style=xml` as XML, with
    `?style=cookies` by two cookies. A nonce is for one login (400). Both are at the
    other origin of the provider too.
    """
    sessions = stage.authority.sessions
    if stage.rest.endswith("start"):
        nonce = sessions.new_nonce()
        headers = (("X-Nonce", nonce), ("Set-Cookie", f"spar_start={nonce}; Path=/"))
        stage.respond(200, {"nonce": nonce}, *headers, *NO_STORE)
        return
    fields = read_fields(stage)
    nonce = fields.get("nonce") or cookies_of(stage).get("spar_start", "")
    name = fields.get("user") or fields.get("username")
    password = fields.get("pass") or fields.get("password")
    if not sessions.use_nonce(nonce):
        stage.respond(400, {"error": "unknown nonce"})
    elif (name, password) != (USERNAME, PASSWORD):
        stage.respond(int(stage.number("refusal", 401)), _REFUSAL)
    else:
        _send_tokens(stage, stage.authority.log_in(_terms_of(stage)))


def _play_csrf(stage: Stage) -> None:
    """Demand Basic, and a CSRF token for every method but GET, as SAP's OData does.

    A GET with `X-CSRF-Token: Fetch` gets one, with the cookie that belongs to it; with
    `?none=1` it gets none. `/csrf/expire` lets all of them expire. A write without a
    valid token is 403 with `X-CSRF-Token: Required`.
    """
    sessions = stage.authority.sessions
    if stage.path.endswith("/expire"):
        sessions.expire_csrf()
        stage.respond(204, b"")
    elif stage.headers.get("authorization") != BASIC:
        stage.respond(401, _REFUSAL, ("WWW-Authenticate", 'Basic realm="spar"'))
    elif stage.method == "GET":
        headers: tuple[tuple[str, str], ...] = ()
        asked = stage.headers.get("x-csrf-token", "").lower() == "fetch"
        if asked and "none" not in stage.query:
            token, session = sessions.new_csrf()
            cookie = f"spar_odata={session}; Path=/; HttpOnly"
            headers = (("x-csrf-token", token), ("Set-Cookie", cookie))
        stage.respond(200, {"d": {"results": [{"id": 1}]}}, *headers)
    else:
        token = stage.headers.get("x-csrf-token", "")
        if sessions.has_csrf(token, cookies_of(stage).get("spar_odata", "")):
            stage.respond(201, {"d": {"id": 2}})
        else:
            stage.respond(403, {"error": "CSRF"}, ("X-CSRF-Token", "Required"))


def _play_odd_login(stage: Stage) -> None:
    """Respond to a login as `/login/odd/NAME` names it.

    Names: `redirect` (to another origin), `echo` (an error that repeats the request),
    `error-200`, `echo-200`, `no-token`, `html`, `silent` (`?seconds=`), `unavailable`.
    """
    repeated = stage.body.decode(errors="replace")
    location = ("Location", f"{stage.neighbours.elsewhere}/login/json")
    plays: dict[str, Callable[[], None]] = {
        "redirect": lambda: stage.respond(307, None, location),
        "echo": lambda: stage.respond(400, {"error": f"cannot read {repeated}"}),
        "echo-200": lambda: stage.respond(200, {"received": repeated}),
        "error-200": lambda: stage.respond(200, {"ok": False, "error": "bad_login"}),
        "no-token": lambda: stage.respond(200, {"data": {"user": USERNAME}}),
        "html": lambda: stage.respond(200, b"<html>Log in</html>", kind="text/html"),
        "silent": stage.silence,
        "unavailable": lambda: stage.respond(503, None, ("Retry-After", "1")),
    }
    name = stage.rest.partition("/")[2]
    if name in plays:
        plays[name]()
    else:
        stage.respond(404, {"error": "no such answer", "names": sorted(plays)})


def read_fields(stage: Stage) -> dict[str, str]:
    """Return the fields of a JSON object, a form or the elements of XML."""
    text = stage.body.decode(errors="replace")
    if "xml" in stage.headers.get("content-type", ""):
        return {name: unescape(value) for name, value in _ELEMENT.findall(text)}
    if "json" not in stage.headers.get("content-type", ""):
        return dict(parse_qsl(text, keep_blank_values=True))
    try:
        return {name: str(value) for name, value in json.loads(text).items()}
    except (ValueError, RecursionError, AttributeError):
        return {}


def cookies_of(stage: Stage) -> dict[str, str]:
    """Return the cookies of a request."""
    pairs = (pair.partition("=") for pair in stage.headers.get("cookie", "").split(";"))
    return {name.strip(): value for name, _, value in pairs}


def _terms_of(stage: Stage) -> Terms:
    """Return how long the tokens of a login live."""
    return Terms(stage.number("lifetime", 900))


def _send_tokens(stage: Stage, issued: Fields) -> None:
    """Send the tokens in the style that the query names."""
    token = str(issued["access_token"])
    seconds = stage.number("lifetime", 900)
    match stage.query.get("style"):
        case "cookie":
            cookie = f"{_COOKIE}={token}; Path=/; HttpOnly; SameSite=Lax"
            headers = (("Set-Cookie", "theme=dark"), ("Set-Cookie", cookie))
            stage.respond(200, {"user": USERNAME}, *headers, *NO_STORE)
        case "header":
            header = ("Authorization", f"Bearer {token}")
            stage.respond(200, {"user": USERNAME}, header, *NO_STORE)
        case "cookies":
            cookies = (
                ("Set-Cookie", f"{_COOKIE}={token}; Path=/; HttpOnly"),
                ("Set-Cookie", f"spar_user={USERNAME}; Path=/"),
            )
            stage.respond(200, {"user": USERNAME}, *cookies, *NO_STORE)
        case "xml":
            document = f"<session><token>{token}</token></session>".encode()
            stage.respond(200, document, *NO_STORE, kind="application/xml")
        case "text":
            stage.respond(200, token, *NO_STORE)
        case "moment":
            ends = time.time() + seconds
            stage.respond(200, {"token": token, "expires_at": ends}, *NO_STORE)
        case _:
            data = {
                "access_token": token,
                "refresh_token": issued["refresh_token"],
                "expires": int(seconds * 1000),
            }
            stage.respond(200, {"data": data}, *NO_STORE)


def _token_of(stage: Stage) -> str:
    """Return the token of a request, wherever it is."""
    scheme, _, token = stage.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        return token.strip()
    if session := cookies_of(stage).get(_COOKIE):
        return session
    return stage.headers.get(_HEADER.lower()) or stage.query.get("token", "")


LOGINS: dict[str, Callable[[Stage], None]] = {
    "login/json": _play_login,
    "login/refresh": _play_refresh,
    "login/logout": _play_logout,
    "login/api": _play_session_api,
    "login/odd": _play_odd_login,
    "login/steps": _play_steps,
    "csrf": _play_csrf,
}
