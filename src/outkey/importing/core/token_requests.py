"""Recognizing requests that obtain a token: OAuth 2.0 (RFC 6749) and logins."""

import json
import re
from collections.abc import Mapping
from urllib.parse import urlencode

from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.text import Text
from outkey.importing.core.authorization import authorization
from outkey.importing.core.readers.tree import read_json, table
from outkey.importing.core.report import ImportReport, shown_name
from outkey.importing.core.seen import (
    Auth,
    LoginAuth,
    OAuth2Auth,
    PasswordAuth,
    SeenRequest,
)
from outkey.importing.core.urls import query_pairs
from outkey.sending.core.configuration.body_credentials import BodyMember, text_members
from outkey.sending.core.configuration.placeholders import (
    is_placeholder,
    is_secret_parameter,
)

_LOGIN_PATH = re.compile(
    r"log[_-]?[io]n|sign[_-]?in|sessions?\b|auth|token|jwt|connect", re.IGNORECASE
)
_LOGIN_WORD = re.compile(
    r"(?:^|[._:/-])(?:log[_-]?[io]n|sign[_-]?in|authenticate)$", re.IGNORECASE
)
_PROCEDURES = ("method", "action", "cmd", "command", "operation")
_OF_KEYSTONE = {
    "token": "header:X-Subject-Token",
    "expires_in": "token.expires_at",
    "expires_unit": "at",
}
_OF_JSON_RPC = {"token": "result.token || result.access_token || result"}
_USERNAMES = (
    "username",
    "user",
    "email",
    "login",
    "user_name",
    "userName",
    "identifier",
    "account",
    "name",
    "userId",
    "user_id",
    "client_id",
)
_PASSWORDS = ("password", "passwd", "pass", "pwd", "passphrase", "user_password")
# The members that providers commonly have, in the order of how common they are.
TOKEN_PATHS = ("access_token", "accessToken", "token", "jwt", "id_token")
TOKEN_PATH = " || ".join((*TOKEN_PATHS, "data.access_token", "data.token"))
EXPIRY_PATH = "expires_in || expiresIn || data.expires_in"
_KNOWN = frozenset(
    {"grant_type", "client_id", "client_secret", "scope", "audience", "resource"}
    | {"refresh_token", "code", "redirect_uri", "code_verifier", "username", "password"}
)


def _body_members(request: SeenRequest) -> tuple[dict[str, str], str]:
    """Return the members of a body that are texts, and its format."""
    content_type = request.header("Content-Type").lower()
    text = request.body.strip()
    if "json" in content_type or text.startswith("{"):
        try:
            tree = table(read_json(text))
        except ConfigError:
            return {}, "json"
        return {k: v for k, v in tree.items() if isinstance(v, str)}, "json"
    return {name: value for name, value, _ in query_pairs(text)}, "form"


def token_auth(request: SeenRequest, report: ImportReport) -> Auth | None:
    """Return how tokens are obtained, if this is the request that obtains one."""
    members, body_format = _body_members(request)
    query = request.url.partition("?")[2]
    if "grant_type" not in members and "grant_type=" in query:
        members = {name: value for name, value, _ in query_pairs(query)}
        report.note_changed(
            "token request",
            Text("its parameters are sent in the body, not in the URL"),
        )
    if "grant_type" in members:
        return _oauth2(request, members, body_format, report)
    return _login(request, members, body_format, report)


def _oauth2(
    request: SeenRequest,
    members: Mapping[str, str],
    body_format: str,
    report: ImportReport,
) -> Auth:
    url = request.url.partition("?")[0]
    client_id = members.get("client_id", "")
    client_secret = members.get("client_secret")
    settings: dict[str, object] = {"token_url": url}
    header = request.header("Authorization")
    credentials = [*request.auth, *(authorization(header, report) if header else ())]
    basic = next((auth for auth in credentials if isinstance(auth, PasswordAuth)), None)
    if basic is not None:
        settings["client_auth"] = "basic"
        client_id = basic.username
        client_secret = basic.password or ""
    if body_format == "json":
        settings["body_format"] = "json"
    grant = members["grant_type"]
    if grant == "password":
        return _password_grant(url, members, basic, body_format, report)
    settings["client_id"] = "" if is_placeholder(client_id) else client_id
    for name in ("scope", "audience", "resource"):
        if members.get(name) and not is_placeholder(members[name]):
            settings[name] = members[name]
    settings["extra"] = _extra(members, report)
    if grant == "client_credentials":
        report.note_taken(
            "token request", Text("it became OAuth 2.0, client credentials")
        )
        return OAuth2Auth(settings, client_secret or "")
    settings["grant"] = "refresh_token"
    if grant == "refresh_token":
        report.note_taken("token request", Text("it became OAuth 2.0, refresh token"))
        return OAuth2Auth(settings, client_secret, members.get("refresh_token", ""))
    report.note_changed(
        "grant_type",
        Text(
            "this grant needs more than a request shows: enter a refresh token, or"
            " choose the grant and its URLs"
        ),
    )
    return OAuth2Auth(settings, client_secret, "")


def _extra(members: Mapping[str, str], report: ImportReport) -> dict[str, str]:
    """Return the other parameters of a token request; secrets cannot be among them."""
    extra = {}
    for name, value in members.items():
        if name in _KNOWN:
            continue
        if is_secret_parameter(name) or is_placeholder(value):
            report.note_dropped(
                shown_name("parameter", name),
                Text("a token request takes no other secrets than its own"),
            )
        else:
            extra[name] = value
    return extra


def _password_grant(
    url: str,
    members: Mapping[str, str],
    basic: PasswordAuth | None,
    body_format: str,
    report: ImportReport,
) -> LoginAuth:
    report.note_changed(
        "grant_type", Text("the password grant became a login with user and password")
    )
    body = dict(members)
    if basic is not None:
        body |= {"client_id": basic.username, "client_secret": basic.password or ""}
        report.note_changed(
            "client authentication", Text("client ID and secret are sent in the body")
        )
    return _login_auth(url, body, body_format, report)


def _login(
    request: SeenRequest,
    members: Mapping[str, str],
    body_format: str,
    report: ImportReport,
) -> Auth | None:
    path = request.url.partition("?")[0].rpartition("://")[2].partition("/")[2]
    may_be_login = (
        request.method in {"POST", "PUT"}
        and not request.auth
        and not request.header("Authorization")
        and (_LOGIN_PATH.search(path) or _names_login(members))
    )
    if not may_be_login:
        return None
    login: Auth | None = None
    if body_format == "json":
        login = _json_login(request, report)
    elif any(name in members for name in _PASSWORDS):
        login = _login_auth(request.url, members, body_format, report)
    if login is not None:
        report.note_taken(
            "login request", Text("it became a login that obtains tokens")
        )
    return login


def _names_login(members: Mapping[str, str]) -> bool:
    """Whether a body calls a procedure that signs in, such as user.login."""
    names = (members.get(name, "") for name in _PROCEDURES)
    return any(_LOGIN_WORD.search(name) for name in names)


def _json_login(request: SeenRequest, report: ImportReport) -> LoginAuth | None:
    """Return a login by JSON, whose user and password may be deep in it."""
    try:
        tree = table(read_json(request.body))
    except ConfigError:
        return None
    template = LoginTemplate(request.body, report)
    body = template.filled(tree)
    if template.password is None:
        return None
    is_keystone = "identity" in table(tree.get("auth"))
    settings: dict[str, object] = {
        "format": "json",
        "body": json.dumps(body),
        "token": TOKEN_PATH,
        "expires_in": EXPIRY_PATH,
    }
    if is_keystone:  # Identity API v3 of OpenStack: the token is in a header
        settings |= _OF_KEYSTONE
    elif "jsonrpc" in tree:
        settings |= _OF_JSON_RPC
        _note_unknown_token(report)
    else:
        _note_unknown_token(report)
    return LoginAuth(
        request.url,
        settings,
        template.username,
        template.password,
        template.secret_key,
        header="X-Auth-Token" if is_keystone else "",
    )


class LoginTemplate:
    """Makes the body of a login from a sent one: placeholders for its credentials."""

    def __init__(self, body: str, report: ImportReport) -> None:
        self._report = report
        self._user = _user_member(body)
        self.username = ""
        self.password: str | None = None
        self.secret_key: str | None = None

    def filled(self, value: object) -> object:
        """Return a part of the body with placeholders; its depth is limited."""
        if isinstance(value, list):
            return [self.filled(part) for part in value]
        if not isinstance(value, dict):
            return value
        filled: dict[str, object] = {}
        for name, part in value.items():
            if not isinstance(part, str):
                filled[name] = self.filled(part)
            elif name in _PASSWORDS and self.password is None:
                self.password = part
                filled[name] = "{password}"
            elif BodyMember((name,), part) == self._user and not self.username:
                self.username = part
                filled[name] = "{username}"
            elif is_secret_parameter(name) and self.secret_key is None:
                self.secret_key = part
                filled[name] = "{secret_key}"
            elif is_secret_parameter(name) or "{" in part:
                _note_dropped_member(self._report, name)
            else:
                filled[name] = part
        return filled


def _login_auth(
    url: str, members: Mapping[str, str], body_format: str, report: ImportReport
) -> LoginAuth:
    user_member = next((name for name in _USERNAMES if name in members), "")
    password_member = next((name for name in _PASSWORDS if name in members), "")
    secret_key: str | None = None
    body: dict[str, str] = {}
    for name, value in members.items():
        if name == user_member:
            body[name] = "{username}"
        elif name == password_member:
            body[name] = "{password}"
        elif is_secret_parameter(name) and secret_key is None:
            body[name] = "{secret_key}"
            secret_key = value
        elif is_secret_parameter(name) or "{" in value:
            _note_dropped_member(report, name)
        else:
            body[name] = value
    text = json.dumps(body) if body_format == "json" else _form(body)
    _note_unknown_token(report)
    settings = {
        "format": body_format,
        "body": text,
        "token": TOKEN_PATH,
        "expires_in": EXPIRY_PATH,
    }
    username = members.get(user_member, "")
    return LoginAuth(
        url, settings, username, members.get(password_member, ""), secret_key
    )


def _user_member(body: str) -> BodyMember | None:
    """Return the member with the user name: beside the password, or else the first."""
    members = text_members(body)
    beside = {member.path[:-1] for member in members if member.path[-1] in _PASSWORDS}
    users = [
        member for name in _USERNAMES for member in members if member.path[-1] == name
    ]
    nearest = [member for member in users if member.path[:-1] in beside] or users
    return BodyMember(nearest[0].path[-1:], nearest[0].value) if nearest else None


def _note_dropped_member(report: ImportReport, name: str) -> None:
    report.note_dropped(
        shown_name("member", name),
        Text("a login body has room for one secret besides the password"),
    )


def _note_unknown_token(report: ImportReport) -> None:
    report.note_changed(
        "token",
        Text(
            "where the response has the token is not known: check Token in the response"
        ),
    )


def _form(body: Mapping[str, str]) -> str:
    return urlencode(body, safe="{}")
