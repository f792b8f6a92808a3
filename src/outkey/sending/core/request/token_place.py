"""Where a request carries its token: a header, a cookie or a query parameter."""

import re
from base64 import b64encode
from functools import lru_cache
from typing import NamedTuple

from outkey.foundation.core.errors import HeaderFormatError, ParameterConflict
from outkey.foundation.core.fields.choices import TokenEncoding
from outkey.foundation.core.origin import parameter_names
from outkey.foundation.core.secret import Secret
from outkey.foundation.core.text import Text
from outkey.sending.core.configuration.configuration import (
    TOKEN_PLACEHOLDER,
    USERNAME_PLACEHOLDER,
    Configuration,
    parse_token_header,
)
from outkey.sending.core.oauth2.token import AccessToken
from outkey.sending.core.request.cookies import merged_cookies
from outkey.sending.core.request.headers import check_token, check_value, tidy_token
from outkey.sending.core.request.message import Header, Request, Source

# RFC 6265 §4.1.1: they would end the cookie, or begin another one.
_COOKIE_FAULT = re.compile(r'[",;\\]')


class TokenPlace(NamedTuple):
    """Where requests of a configuration carry a token, and how it is written there."""

    kind: str  # header, cookie or query
    name: str
    prefix: str  # the text before the token, with its space
    is_entered: bool  # by a user, who may have pasted it with spaces or its prefix
    around: tuple[str, str] = ("", "")  # the texts before and after it in its value
    encoding: TokenEncoding = TokenEncoding.NONE

    @property
    def is_composed(self) -> bool:
        """Whether the value is more than the token itself."""
        return self.around != ("", "") or self.encoding is not TokenEncoding.NONE

    def _composed(self, token: str) -> str:
        before, after = self.around
        text = f"{before}{token}{after}"
        if self.encoding is TokenEncoding.BASE64:
            return b64encode(text.encode()).decode("ascii")
        return text

    def write(self, token: str) -> str:
        """Return a token as it is written in this place, or raise."""
        if self.is_entered:
            token = tidy_token(token, self.prefix)
        token = check_token(token, field="token")
        if self.is_composed:
            token = check_value(self._composed(token), field="token")
        if self.kind == "query":
            return token
        if self.kind == "cookie":
            return f"{self.name}={self.prefix}{_check_cookie_value(token)}"
        return f"{self.prefix}{token}"


def with_token(
    request: Request,
    configuration: Configuration,
    token: Secret,
    kind: str = "Bearer",
    *,
    is_entered: bool = False,
) -> Request:
    """Return a request with its token; `kind` is the word before it by default."""
    place = place_of(configuration, kind, is_entered=is_entered)
    value = token.derive_once(place.write)
    name = place.name
    if place.kind == "query":
        return with_parameter(request, name, value)
    if place.kind == "cookie":
        return with_cookies(request, value)
    header = Header(name, value, Source.AUTHENTICATION)
    return request.with_headers((*request.headers, header))


def with_session(
    request: Request, configuration: Configuration, token: AccessToken
) -> Request:
    """Return a request with a token, and with the cookies of the login it is from."""
    if configuration.uses_cookies_only:
        return with_cookies(request, token.value)
    if token.cookies is not None:
        request = with_cookies(request, token.cookies)
    return with_token(request, configuration, token.value, token.kind)


def with_cookies(request: Request, cookies: Secret) -> Request:
    """Return a request with cookies, beside those that it has for authentication.

    Of each name the newest counts, which was added first: that of a CSRF token, which
    was fetched with the cookies of the login.
    """
    others = []
    for header in request.headers:
        if header.name.lower() != "cookie":
            others.append(header)
        elif header.source is Source.AUTHENTICATION and isinstance(
            header.value, Secret
        ):
            cookies = merged_cookies(cookies, header.value)
        else:
            raise ParameterConflict(
                Text("the header Cookie is set by a row and by the token"),
                field="header:Cookie",
            )
    header = Header("Cookie", cookies, Source.AUTHENTICATION)
    return request.with_headers((*others, header))


def without_own_cookies(request: Request) -> Request:
    """Return a request without the cookies of a CSRF token.

    They belong to the session of the token that was refused. Those of the new one may
    have the same names.
    """
    headers = tuple(
        header
        for header in request.headers
        if header.name.lower() != "cookie" or header.source is not Source.AUTHENTICATION
    )
    return request.with_headers(headers)


def with_csrf_token(
    request: Request, configuration: Configuration, token: AccessToken
) -> Request:
    """Return a request with a CSRF token, and with the cookies it was fetched with."""
    header = Header(configuration.csrf.header, token.value, Source.AUTHENTICATION)
    request = request.with_headers((*request.headers, header))
    return request if token.cookies is None else with_cookies(request, token.cookies)


def place_of(
    configuration: Configuration, kind: str = "Bearer", *, is_entered: bool = False
) -> TokenPlace:
    """Return where requests of a configuration carry their token."""
    place = _place_of(
        configuration.token_header, configuration.token_prefix, kind, is_entered
    )
    encoding = configuration.token_encoding
    if configuration.token_value == TOKEN_PLACEHOLDER:
        return place if encoding is TokenEncoding.NONE else _encoded(place, encoding)
    return _composed_place(
        place, configuration.token_value, configuration.username, encoding
    )


@lru_cache(maxsize=1024)
def _place_of(
    token_header: str,
    token_prefix: str | None,
    kind: str,
    is_entered: bool,  # noqa: FBT001 - by position, which the cache finds sooner
) -> TokenPlace:
    """Return a place; the texts it depends on are hashed sooner than all settings."""
    place, name = parse_token_header(token_header)
    if token_prefix is None:
        in_authorization = token_header.lower() == "authorization"
        token_prefix = kind if in_authorization else ""
    prefix = f"{token_prefix} " if token_prefix else ""
    return TokenPlace(place, name, prefix, is_entered)


@lru_cache(maxsize=1024)
def _composed_place(
    place: TokenPlace, template: str, username: str, encoding: TokenEncoding
) -> TokenPlace:
    """Return a place whose value has more than the token, such as the user name."""
    before, _, after = (
        part.replace(USERNAME_PLACEHOLDER, username)
        for part in template.partition(TOKEN_PLACEHOLDER)
    )
    return place._replace(around=(before, after), encoding=encoding)


@lru_cache(maxsize=1024)
def _encoded(place: TokenPlace, encoding: TokenEncoding) -> TokenPlace:
    """Return a place whose value is encoded; the same each time, as it is cached."""
    return place._replace(encoding=encoding)


def _check_cookie_value(token: str) -> str:
    """Return a token that may be the value of a cookie, else raise."""
    if _COOKIE_FAULT.search(token):
        raise HeaderFormatError(
            Text("the token has a character that a cookie cannot have"), field="token"
        )
    return token


def token_prefix(configuration: Configuration, kind: str = "Bearer") -> str:
    """Return the text before the token, with its space."""
    return place_of(configuration, kind).prefix


def with_parameter(request: Request, name: str, value: str | Secret) -> Request:
    """Return a request with one more parameter, which must have no other source."""
    names = {*parameter_names(request.target), *request.secret_parameters}
    if name in names:
        raise ParameterConflict(
            Text("the parameter {name} is set by two sources", name=name),
            field=f"query:{name}",
        )
    return request.with_parameter(name, value)
