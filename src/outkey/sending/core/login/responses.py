"""Reading the response to a login or a refresh: token, refresh token and expiry."""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType

from outkey.foundation.core.errors import SyncFailed, drop_traceback
from outkey.foundation.core.fields.choices import ExpiryUnit
from outkey.foundation.core.secret import Secret
from outkey.sending.core.configuration.configuration import STEPS, Configuration
from outkey.sending.core.configuration.sections import LoginSettings
from outkey.sending.core.login.failures import (
    BAD_VALUE,
    LOGIN_REFUSED,
    NO_TOKEN,
    login_failure,
)
from outkey.sending.core.login.template import fill_text
from outkey.sending.core.oauth2.responses import (
    MAX_LIFE,
    MAX_RESPONSE,
    REFRESH_GRAMMAR,
    TokenResponse,
    read_moment,
    read_number,
    read_secret,
    reason_in_status,
    token_text,
)
from outkey.sending.core.request.headers import tidy_token
from outkey.sending.core.request.message import Response, server_time
from outkey.sending.core.request.token_place import token_prefix

Finder = Callable[[object], object]
Compiler = Callable[[str, str], Finder]  # of an expression, and the field that has it
# 400 and 422 are how many frameworks respond to wrong credentials.
REFUSING = frozenset({400, 401, 403, 422})
_EXACT_DIGITS = 20
_ERRORS = ("error", "errors", "fault")
_FAILED = frozenset({"error", "fail", "fails", "failed", "failure"})  # JSend, others
_LONGEST_WORD = 20
# Of a value: no line break may end a header, XML has no control characters, and UTF-8
# no half ones, which JSON can have.
_CONTROL = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")
_MAX_TAKEN = 64 * 1024


def _find_nothing(_document: object) -> object:
    """Find nothing: no expression is set."""
    return None


def finders_of(settings: LoginSettings, compiled: Compiler) -> dict[str, Finder]:
    """Return a finder for each expression of the Login tab; refuse an invalid one."""
    finders = {}
    for name in ("token", "refresh_token", "expires_in"):
        where: str = getattr(settings, name)
        is_part = name != "expires_in" and named_part(where) is not None
        is_filled = name == "token" and settings.fills_token
        if where and not is_part and not is_filled:
            finders[name] = compiled(where, f"login.{name}")
    for number, step in enumerate(settings.each_step):
        for name, where in step.take.items():
            if named_part(where) is None:
                field = f"login.steps[{number}].take.{name}"
                finders[field] = compiled(where, field)
    return finders


def named_part(where: str) -> tuple[str, str] | None:
    """Return kind and name of `header:NAME` and `cookie:NAME`, None for a JMESPath."""
    kind, colon, name = where.partition(":")
    return (kind, name) if colon and kind in {"header", "cookie"} else None


@drop_traceback  # its traceback would hold the response
def read_login(  # noqa: PLR0913 - a response, and what the steps before have brought
    response: Response,
    configuration: Configuration,
    finders: Mapping[str, Finder],
    *,
    now: float,
    document: object = None,
    taken: Mapping[str, Secret] = MappingProxyType({}),
    cookies: Secret | None = None,
) -> TokenResponse:
    """Return the token of a response, or raise why it has none.

    The document is that of a response which is not JSON.
    """
    if response.status >= 300:
        raise login_failure(reason_of_status(response.status), server_time(response))
    settings = configuration.login
    prefix = token_prefix(configuration)
    document = parse_body(response.body) if document is None else document

    def part(name: str) -> object:
        value = find_part(
            response, getattr(settings, name), document, finders.get(name)
        )
        return _tidy_part(value, prefix)

    access: Secret | None
    if settings.fills_token:
        filled = fill_text(settings.token, taken)
        access = filled.derive(token_text) if isinstance(filled, Secret) else None
    elif settings.token:
        access = read_secret(part("token"))
    else:  # the cookies are the token
        access = cookies
    if access is None:
        raise login_failure(
            _reason_of_missing_token(response, document, is_found="token" in finders)
        )
    refresh = part("refresh_token") if settings.refresh_path else None
    expiry = finders.get("expires_in", _find_nothing)
    return TokenResponse(
        access=access,
        refresh=read_secret(refresh, REFRESH_GRAMMAR),
        kind="Bearer",
        # A moment refers to the clock of the API.
        lifetime=lifetime_of(
            _find_value(expiry, document),
            settings.expires_unit,
            server_time(response) or now,
        ),
        scope="",
        cookies=cookies,
    )


def reason_of_status(status: int) -> str:
    """Return why a response of this status, from 300 on, has no token."""
    if status in REFUSING:
        return LOGIN_REFUSED
    return reason_in_status(status) or "refused"


def _reason_of_missing_token(
    response: Response, document: object, *, is_found: bool
) -> str:
    """Return why a response of success has no token; `is_found`: by a JMESPath."""
    if reason := reason_of_missing_part(response, document):
        return reason
    return "not_a_token_endpoint" if is_found and document is None else NO_TOKEN


def reason_of_missing_part(response: Response, document: object) -> str:
    """Return LOGIN_REFUSED for a response of success that states an error."""
    if _reports_error(document) or _is_word_of_failure(response.body):
        return LOGIN_REFUSED
    return ""


def _is_word_of_failure(body: bytes) -> bool:
    """Whether the whole response is a word such as `Fails.`, as of qBittorrent."""
    word = body[:_LONGEST_WORD].decode("ascii", "replace").strip(" .!\r\n").lower()
    return word in _FAILED


def _reports_error(document: object) -> bool:
    """Whether a document states explicitly that it is an error."""
    if isinstance(document, list):
        return any(isinstance(part, dict) and _reports_error(part) for part in document)
    if not isinstance(document, dict):
        return False
    status = document.get("status")
    return (
        any(document.get(name) for name in _ERRORS)
        or any(document.get(flag) is False for flag in ("ok", "success"))
        or (isinstance(status, str) and status.lower() in _FAILED)
    )


def parse_body(body: bytes) -> object:
    """Return a JSON document, or None if it is not JSON."""
    text = body[:MAX_RESPONSE].decode("utf-8-sig", "replace").strip()
    try:
        return json.loads(text, parse_int=_parse_integer)
    except (ValueError, RecursionError):
        return None


def _parse_integer(digits: str) -> int | float:
    """Return an integer; of many digits a float, which takes any number of them."""
    return int(digits) if len(digits) <= _EXACT_DIGITS else float(digits)


def taken_value(value: object) -> Secret | None:
    """Return a value for later requests; None for nothing, a list or a table."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str) or not value:
        return None
    if len(value) > _MAX_TAKEN or _CONTROL.search(value):
        raise login_failure(BAD_VALUE, field=STEPS)
    return Secret(value)


def find_part(
    response: Response, where: str, document: object, finder: Finder | None
) -> object:
    """Return a part of a response: of its body, a header or a cookie."""
    if finder is not None:
        return _find_value(finder, document)
    kind, _, name = where.partition(":")
    if kind == "header":
        return response.headers.get(name)
    return cookie_value(response.headers.get_all("Set-Cookie"), name)


def _find_value(finder: Finder, document: object) -> object:
    """Return the result of an expression; None where it does not fit the document."""
    try:
        return finder(document)
    except SyncFailed:
        return None


def cookie_value(lines: Iterable[str], name: str) -> str:
    """Return the value that a response sets a cookie to (RFC 6265 §5.2), the last one.

    An empty value deletes the cookie, and is ignored.
    """
    value = ""
    for line in lines:
        key, _, text = line.partition(";")[0].partition("=")
        if key.strip() == name:
            value = text.strip() or value
    return value


def _tidy_part(value: object, prefix: str) -> object:
    """Return a token without a word such as Bearer before it; a number as text."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return tidy_token(value, prefix) if isinstance(value, str) else value


def lifetime_of(value: object, unit: ExpiryUnit, now: float) -> float | None:
    """Return the lifetime of a token in seconds, None if the response has none.

    One that is over already means that the clocks differ, or that it has no end.
    """
    if unit is ExpiryUnit.MOMENT:
        moment = read_moment(value)
        seconds = None if moment is None else moment - now
    else:
        seconds = read_number(value)
        if seconds is not None and unit is ExpiryUnit.MILLISECONDS:
            seconds /= 1000
    return min(seconds, MAX_LIFE) if seconds is not None and seconds > 0 else None
