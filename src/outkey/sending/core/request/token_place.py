"""Where a request carries its token: a header, a cookie or a query parameter."""

import re
from functools import partial

from outkey.foundation.core.errors import HeaderFormatError, ParameterConflict
from outkey.foundation.core.origin import parameter_names
from outkey.foundation.core.secret import Secret
from outkey.foundation.core.text import Text
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.request.headers import check_token
from outkey.sending.core.request.message import Header, Request, Source

_check_token = partial(check_token, field="token")
# RFC 6265 §4.1.1: they would end the cookie, or begin another one.
_COOKIE_FAULT = re.compile(r'[",;\\]')


def with_token(
    request: Request, configuration: Configuration, token: Secret, kind: str = "Bearer"
) -> Request:
    """Return a request with its token; `kind` is the word before it by default."""
    place, name = configuration.token_place
    token = token.derive(_check_token)
    if place == "query":
        return with_parameter(request, name, token)
    prefix = token_prefix(configuration, kind)
    if place == "cookie":
        value = Secret.joined(f"{name}={prefix}", token.derive(_check_cookie_value))
        _refuse_second_cookie(request)
        header = Header("Cookie", value, Source.AUTHENTICATION)
    else:
        value = Secret.joined(prefix, token)
        header = Header(name, value, Source.AUTHENTICATION)
    return request.with_headers((*request.headers, header))


def _check_cookie_value(token: str) -> str:
    """Return a token that may be the value of a cookie, else raise."""
    if _COOKIE_FAULT.search(token):
        raise HeaderFormatError(
            Text("the token has a character that a cookie cannot have"), field="token"
        )
    return token


def token_prefix(configuration: Configuration, kind: str = "Bearer") -> str:
    """Return the text before the token, with its space."""
    prefix = configuration.token_prefix
    if prefix is None:
        in_authorization = configuration.token_header.lower() == "authorization"
        prefix = kind if in_authorization else ""
    return f"{prefix} " if prefix else ""


def with_parameter(request: Request, name: str, value: str | Secret) -> Request:
    """Return a request with one more parameter, which must have no other source."""
    names = {*parameter_names(request.target), *request.secret_parameters}
    if name in names:
        raise ParameterConflict(
            Text("the parameter {name} is set by two sources", name=name),
            field=f"query:{name}",
        )
    return request.with_parameter(name, value)


def _refuse_second_cookie(request: Request) -> None:
    """Refuse a Cookie row or header beside a token that is sent as a cookie."""
    if any(header.name.lower() == "cookie" for header in request.headers):
        raise ParameterConflict(
            Text("the header Cookie is set by a row and by the token"),
            field="header:Cookie",
        )
