"""Requests of a login: to log in, to refresh a token, and to log out."""

from collections.abc import Iterator
from contextlib import contextmanager

from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.origin import Location, build_target
from outkey.foundation.core.placeholders import placeholders_in
from outkey.foundation.core.secret import Secret
from outkey.sending.core.configuration.configuration import (
    SECRETS_OF_LOGIN,
    Configuration,
)
from outkey.sending.core.login.failures import LOGIN_PATH
from outkey.sending.core.login.template import CONTENT_TYPES, fill
from outkey.sending.core.oauth2.grants import common_headers
from outkey.sending.core.oauth2.token import AccessToken, TokenContent
from outkey.sending.core.request.assembly import SecretOpener, with_rows
from outkey.sending.core.request.message import Request
from outkey.sending.core.request.token_place import with_session

USERNAME = "username"
REFRESH_TOKEN = "refresh_token"  # noqa: S105 - the name of a placeholder
OF_LOGIN = (USERNAME, *SECRETS_OF_LOGIN)
OF_REFRESH = (*OF_LOGIN, REFRESH_TOKEN)


def login_request(configuration: Configuration, secret: SecretOpener) -> Request:
    """Log in: exchange user and password for a token."""
    login = configuration.login
    return _request(configuration, secret, login.method, LOGIN_PATH, login.body)


def refresh_request(
    configuration: Configuration, secret: SecretOpener, refresh: Secret
) -> Request:
    """Exchange a refresh token for a new token."""
    body = configuration.login.refresh_body
    path = "login.refresh_path"
    return _request(configuration, secret, "POST", path, body, refresh)


def logout_request(
    configuration: Configuration,
    secret: SecretOpener,
    content: TokenContent,
) -> Request:
    """End the session of a token.

    Some APIs end a session by its refresh token: it is sent as for a refresh.
    """
    refresh = content.refresh
    body = configuration.login.refresh_body if refresh else ""
    path = "login.logout_path"
    request = _request(configuration, secret, "POST", path, body, refresh)
    token = AccessToken(content.access, cookies=content.cookies)
    return with_session(request, configuration, token)


def target_of(configuration: Configuration, path: str) -> str:
    """Return the target of one of the login's paths; one elsewhere is refused."""
    with _errors_at(path):
        text: str = getattr(configuration.login, path.rpartition(".")[2])
        return build_target(configuration.base, text)


@contextmanager
def _errors_at(path: str) -> Iterator[None]:
    """Name the field in an error about a path."""
    try:
        yield
    except ConfigError as error:
        raise ConfigError(error.message, hint=error.hint, field=path) from None


def _request(
    configuration: Configuration,
    secret: SecretOpener,
    method: str,
    path: str,
    template: str,
    refresh: Secret | None = None,
) -> Request:
    """Build a request with the rows of the configuration, but without a token."""
    login = configuration.login
    values: dict[str, str | Secret] = {USERNAME: configuration.username}
    names = placeholders_in(template)
    values |= {name: secret(name) for name in SECRETS_OF_LOGIN if name in names}
    if refresh is not None:
        values[REFRESH_TOKEN] = refresh
    body = fill(template, values, login.format)
    origin = configuration.base.origin
    location = Location(origin, target_of(configuration, path))
    framing = {"Content-Length": str(body.wire_length)}
    if body:
        framing["Content-Type"] = CONTENT_TYPES[login.format]
    secrets = tuple(value for value in values.values() if isinstance(value, Secret))
    request = Request(
        method=method,
        origin=origin,
        target=location.target,
        headers=tuple(common_headers(location, framing)),
        body=body,
        body_secrets=secrets,
    )
    return with_rows(request, configuration, secret)
