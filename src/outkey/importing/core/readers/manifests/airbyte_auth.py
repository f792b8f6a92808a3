"""Authenticators of a declarative manifest as credentials that are still to enter."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from outkey.foundation.core.text import Text
from outkey.importing.core.auth_types import OAuth2Facts, oauth2_auth, plain_extra
from outkey.importing.core.readers.manifests.common import note_written
from outkey.importing.core.readers.tree import Table, table, text_of
from outkey.importing.core.report import ImportReport, shown_name
from outkey.importing.core.seen import (
    Auth,
    KeyAuth,
    LoginAuth,
    PasswordAuth,
    SeenRequest,
    TokenAuth,
)
from outkey.importing.core.token_requests import token_auth
from outkey.sending.core.configuration.placeholders import VARIABLE
from outkey.sync.core.suggest.names import expression_of

Fill = Callable[[object], str]
_PLACES = {"request_parameter": "query", "header": "header"}
_USUAL_HEADERS = frozenset({"accept", "authorization", "content-type"})


def read_authenticator(
    component: Table, fill: Fill, report: ImportReport
) -> tuple[Auth, ...]:
    """Return the credentials that an authenticator needs; `fill` fills in texts."""
    kind = text_of(component.get("type"))
    if kind in {"", "NoAuth"}:
        return ()
    readers: Mapping[str, Callable[[Table, Fill, ImportReport], tuple[Auth, ...]]] = {
        "ApiKeyAuthenticator": _key,
        "BearerAuthenticator": _bearer,
        "BasicHttpAuthenticator": _basic,
        "OAuthAuthenticator": _oauth2,
        "SessionTokenAuthenticator": _session,
        "SelectiveAuthenticator": _first_authenticator,
    }
    if kind not in readers:
        report.note_dropped(
            shown_name("authenticator", kind),
            Text("outkey does not have this kind of authentication"),
        )
        return ()
    return readers[kind](component, fill, report)


def _key(component: Table, fill: Fill, report: ImportReport) -> tuple[Auth, ...]:
    option = table(component.get("inject_into"))
    name = fill(component.get("header") or option.get("field_name"))
    kind = text_of(option.get("inject_into")) or "header"
    place = _PLACES.get(kind, "")
    value = fill(component.get("api_token"))
    note_written(report, "ApiKeyAuthenticator: api_token", value)
    if not name or not place:
        report.note_dropped(
            "ApiKeyAuthenticator", Text("a key is sent in a header or in the query")
        )
        return ()
    before, _, after = _around(value)
    if name.lower() == "authorization":
        return (TokenAuth("", before.strip()),)
    around = f"{before}{{secret}}{after}" if before or after else ""
    return (KeyAuth(name, "", place, around),)


def _around(value: str) -> tuple[str, str, str]:
    """Return the fixed texts around the variable of a credential."""
    match = VARIABLE.search(value)
    if match is None:
        return "", value, ""
    return value[: match.start()], match[0], value[match.end() :]


def _bearer(component: Table, _fill: Fill, report: ImportReport) -> tuple[Auth, ...]:
    note_written(report, "BearerAuthenticator: api_token", component.get("api_token"))
    return (TokenAuth(""),)


def _basic(component: Table, fill: Fill, _report: ImportReport) -> tuple[Auth, ...]:
    username = fill(component.get("username"))
    password = fill(component.get("password"))
    # A key alone is the user name, and the password a dummy or nothing.
    return (PasswordAuth(username, password or ""),)


def _oauth2(component: Table, fill: Fill, report: ImportReport) -> tuple[Auth, ...]:
    scopes = component.get("scopes")
    names = scopes if isinstance(scopes, list) else []
    body = table(component.get("refresh_request_body"))
    extra = {name: fill(value) for name, value in body.items()}
    scope = " ".join(map(fill, names)) or extra.pop("scope", "")
    for setting in ("client_secret", "refresh_token"):
        note_written(report, f"OAuthAuthenticator: {setting}", component.get(setting))
    headers = table(component.get("refresh_request_headers"))
    _note_headers(headers, "OAuthAuthenticator: header", report)
    is_basic = "authorization" in map(str.lower, headers)
    facts = OAuth2Facts(
        grant=fill(component.get("grant_type")) or "refresh_token",
        token_url=fill(component.get("token_refresh_endpoint")),
        client_id=fill(component.get("client_id")),
        client_secret="{{client_secret}}",  # noqa: S106 - a placeholder
        refresh_token="{{refresh_token}}",  # noqa: S106 - a placeholder
        scope=scope,
        audience=extra.pop("audience", ""),
        client_auth="basic" if is_basic else "",
        extra=plain_extra(extra, report),
    )
    return oauth2_auth(facts, report)


def _note_headers(headers: Table, place: str, report: ImportReport) -> None:
    """Note the headers of a request for tokens, which has none of its own here."""
    for name, value in headers.items():
        if name.lower() == "authorization":
            note_written(report, shown_name(place, name), value)
        elif name.lower() not in _USUAL_HEADERS:
            why = Text("a request for tokens has no headers of its own")
            report.note_dropped(shown_name(place, name), why)


def _session(component: Table, fill: Fill, report: ImportReport) -> tuple[Auth, ...]:
    requester = table(component.get("login_requester"))
    body = requester.get("request_body_json") or requester.get("request_body_data")
    url = fill(requester.get("url") or requester.get("url_base")).rstrip("/")
    if path := fill(requester.get("path")):
        url = f"{url}/{path.lstrip('/')}"
    headers = table(requester.get("request_headers"))
    _note_headers(headers, "SessionTokenAuthenticator: header", report)
    filled = {name: fill(value) for name, value in table(body).items()}
    request = SeenRequest(url, "POST", body=json.dumps(filled), has_body=True)
    auth = token_auth(request, report)
    if not isinstance(auth, LoginAuth):
        report.note_dropped(
            "SessionTokenAuthenticator",
            Text("its login has no user and password in a JSON body"),
        )
        return ()
    path_of_token = component.get("session_token_path")
    settings = dict(auth.settings)
    if isinstance(path_of_token, list) and path_of_token:
        settings["token"] = expression_of(tuple(map(text_of, path_of_token)))
    sending = table(component.get("request_authentication"))
    option = table(sending.get("inject_into"))
    header = fill(option.get("field_name")) if option else ""
    if text_of(option.get("inject_into")) not in {"", "header"}:
        report.note_dropped(
            "SessionTokenAuthenticator", Text("a token of a login goes in a header")
        )
    return (replace(auth, settings=settings, header=header),)


def _first_authenticator(
    component: Table, fill: Fill, report: ImportReport
) -> tuple[Auth, ...]:
    """Return the first of several ways that has fields here."""
    choices = table(component.get("authenticators"))
    others: Sequence[str] = list(choices)
    for name, choice in choices.items():
        auth = read_authenticator(table(choice), fill, report)
        if auth:
            rest = [shown_name("authenticator", n) for n in others if n != name]
            for other in rest:
                report.note_dropped(other, Text("another alternative was taken"))
            return auth
    return ()
