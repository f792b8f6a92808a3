"""Building requests: body, framing, header rows, authentication, and what a redirect asks for."""

import json as json_module
from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import NamedTuple, assert_never
from urllib.parse import urlencode

from outkey.core.config.configuration import Configuration
from outkey.core.errors import ConfigError, RedirectBlocked
from outkey.core.oauth2.token import AccessToken
from outkey.core.request.flow import NeedProof, NeedToken, RunScript, Send
from outkey.core.request.headers import check_name, check_value, compose, tidy_value
from outkey.core.request.message import Header, Request, Response, Source
from outkey.core.request.origin import (
    Origin,
    Params,
    build_target,
    parse_redirect,
    query_pairs,
)
from outkey.core.request.schemes import scheme_of
from outkey.core.secret import Secret

SecretOpener = Callable[[str], Secret]
PLACEHOLDER = AccessToken(Secret("a-token-that-is-not-fetched-yet"))
_WITH_BODY = frozenset({"POST", "PUT", "PATCH"})
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
# Identity of the client and what it can read; a header row or the caller may override these.
_DEFAULTS = (
    Header("User-Agent", "outkey", Source.DEFAULT),
    Header("Accept", "*/*", Source.DEFAULT),
    Header("Accept-Encoding", "gzip, deflate", Source.DEFAULT),
)


class Call(NamedTuple):
    """What a caller wants sent with a configuration."""

    configuration: Configuration
    method: str
    path: str
    params: Params | None = None
    headers: Mapping[str, str | Secret] = MappingProxyType({})
    body: bytes = b""
    content_type: str = ""
    line: str = ""

    def request(self) -> Request:
        """Build the request as far as the caller and the defaults decide it."""
        base = self.configuration.base
        target = build_target(base, self.path, self.params)
        return _framed(self.method, base.origin, target, self._headers(), self.body)

    def _headers(self) -> tuple[Header, ...]:
        if not self.content_type and not self.headers:
            return _DEFAULTS
        headers = list(_DEFAULTS)
        if self.content_type:
            headers.append(Header("Content-Type", self.content_type, Source.DEFAULT))
        for name, value in self.headers.items():
            check_name(name, field="headers")
            headers.append(
                Header(name, _checked(value, f"header:{name}"), Source.CALLER)
            )
        return tuple(headers)

    def __repr__(self) -> str:
        return f"Call({self.method}, {self.configuration.name})"


def encode_body(json: object, data: object) -> tuple[bytes, str]:
    """Return the bytes of a body and the content type that goes with them."""
    if json is not None and data is not None:
        raise ConfigError("a request has either json or data, not both", field="data")
    if json is not None:
        return (
            _utf8(json_module.dumps(json, ensure_ascii=False), "json"),
            "application/json",
        )
    if data is None:
        return b"", ""
    if isinstance(data, Mapping):
        return (
            urlencode(query_pairs(data, "data")).encode(),
            "application/x-www-form-urlencoded",
        )
    if isinstance(data, str):
        return _utf8(data, "data"), "text/plain; charset=utf-8"
    if isinstance(data, bytes):
        return data, "application/octet-stream"
    raise ConfigError("data must be bytes, text or a mapping", field="data")


def _utf8(text: str, field: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        message = "the body holds a character that UTF-8 cannot encode"
        raise ConfigError(message, field=field) from None


def with_rows(
    request: Request, configuration: Configuration, secret: SecretOpener
) -> Request:
    """Add the configuration's header rows."""
    if not configuration.headers:
        return request
    rows = []
    for row in configuration.headers:
        value: str | Secret = row.value
        if row.secret:
            value = _checked(
                secret(row.secret_field).derive(tidy_value), row.secret_field
            )
        rows.append(Header(row.key, value, Source.ROW))
    return request.with_headers((*request.headers, *rows))


def authenticated(
    request: Request,
    configuration: Configuration,
    secret: SecretOpener,
    token: AccessToken = PLACEHOLDER,
    proof: Callable[[Request, AccessToken], Secret] = lambda _request, token: (
        token.value
    ),
    signed: Callable[[Request], tuple[Header, ...]] = lambda _request: (),
) -> Request:
    """Return the first request that the configuration's scheme would send, without sending it.

    With a token of OAuth 2.0, if there is one; else something stands in its place. With what a
    script gives, if somebody runs it.
    """
    flow = scheme_of(configuration, secret).flow(
        with_rows(request, configuration, secret)
    )
    try:
        step = next(flow)
        while not isinstance(step, Send):
            match step:
                case NeedToken():
                    step = flow.send(token)
                case NeedProof(about, used):
                    step = flow.send(proof(about, used))
                case RunScript(about):
                    step = flow.send(signed(about))
                case _:
                    assert_never(step)
    finally:
        flow.close()
    return step.request.with_headers(compose(step.request.headers))


def redirected(
    request: Request, response: Response, configuration: Configuration
) -> Request | None:
    """Return the request that a redirect asks for, None if it asks for none, or refuse.

    Only the same origin is followed: custom credential headers would go along otherwise, and a
    person who configured one place did not agree to another. The error names the other origin only
    where the configuration has it too: a server could spell a secret as a host name.
    """
    if response.status not in _REDIRECTS or "Location" not in response.headers:
        return None
    reference = response.headers["Location"]
    try:
        location = parse_redirect(request.origin, request.target, reference)
    except ConfigError as error:
        raise RedirectBlocked(f"the server redirected, but {error.message}") from None
    if location.origin != request.origin:
        secured = (request.origin.scheme, location.origin.scheme) == ("http", "https")
        same = secured and location.origin.host == request.origin.host
        name = (
            f", {location.origin}" if location.origin in configuration.origins() else ""
        )
        raise RedirectBlocked(
            f"the server redirected to another origin{name}",
            reason="https-required" if same else "",
        )
    method, body = (
        request.method,
        request.body if isinstance(request.body, bytes) else b"",
    )
    # RFC 9110 §15.4.2-4: 303 asks for GET; for 301 and 302 after POST every client does the same.
    if response.status == 303 or (response.status in {301, 302} and method == "POST"):
        method, body = ("HEAD" if method == "HEAD" else "GET"), b""
    headers = tuple(
        h for h in request.headers if not _is_framing(h.name, keep_body=bool(body))
    )
    return _framed(method, request.origin, location.target, headers, body)


def _checked(value: str | Secret, field: str) -> str | Secret:
    check = partial(check_value, field=field)
    return value.derive(check) if isinstance(value, Secret) else check(value)


def _framed(
    method: str, origin: Origin, target: str, headers: tuple[Header, ...], body: bytes
) -> Request:
    """Put the headers in front that belong to the message itself: Host and Content-Length."""
    host = Header("Host", origin.authority, Source.DEFAULT)
    if not body and method not in _WITH_BODY:
        return Request(method, origin, target, (host, *headers))
    length = Header("Content-Length", str(len(body)), Source.DEFAULT)
    return Request(method, origin, target, (host, length, *headers), body)


def _is_framing(name: str, *, keep_body: bool) -> bool:
    """Tell whether a header describes a message or a body that is no longer the same."""
    lower = name.lower()
    return lower in {"host", "content-length"} or (
        not keep_body and lower.startswith("content-")
    )
