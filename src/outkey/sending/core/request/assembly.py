"""Building requests: body, framing, header rows, authentication, and redirects."""

import json as json_module
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import lru_cache, partial
from types import MappingProxyType
from typing import NamedTuple, assert_never
from urllib.parse import urlencode

from outkey.foundation.core.errors import ConfigError, RedirectBlocked
from outkey.foundation.core.origin import (
    Origin,
    Params,
    build_target,
    parse_redirect,
    query_pairs,
    without_parameters,
)
from outkey.foundation.core.secret import Secret
from outkey.foundation.core.text import Text
from outkey.sending.core.aws.requests import hash_of_body
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.configuration.custom_rows import CustomRow
from outkey.sending.core.connections.variables import fill_segment_path
from outkey.sending.core.oauth2.token import AccessToken
from outkey.sending.core.request.digest import ANY_USE
from outkey.sending.core.request.flow import (
    NeedBodyHash,
    NeedCsrfToken,
    NeedNonce,
    NeedProof,
    NeedSignature,
    NeedTime,
    NeedToken,
    RunScript,
    Send,
    StoreNonce,
)
from outkey.sending.core.request.headers import (
    check_name,
    check_value,
    tidy_value,
    with_composed_headers,
)
from outkey.sending.core.request.message import (
    BodySource,
    Header,
    Request,
    Response,
    Source,
)
from outkey.sending.core.request.schemes.choice import scheme_of
from outkey.sending.core.request.script import ScriptParts
from outkey.sending.core.request.token_place import with_parameter

SecretOpener = Callable[[str], Secret]
PLACEHOLDER = AccessToken(Secret("a-token-that-is-not-fetched-yet"))
_WITH_COOKIES = replace(PLACEHOLDER, cookies=PLACEHOLDER.value)
# Stands where only the form of a request matters.
ANY_SIGNATURE = Header(
    "Authorization", Secret("OAuth a-signature-of-no-request"), Source.AUTHENTICATION
)
_WITH_BODY = frozenset({"POST", "PUT", "PATCH"})
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
# A header row or the caller may override these.
_DEFAULTS = (
    Header("User-Agent", "outkey", Source.DEFAULT),
    Header("Accept", "*/*", Source.DEFAULT),
    Header("Accept-Encoding", "gzip, deflate", Source.DEFAULT),
)


class Call(NamedTuple):
    """A request that a caller wants to send with a configuration."""

    configuration: Configuration
    method: str
    path: str
    params: Params | None = None
    headers: Mapping[str, str | Secret] = MappingProxyType({})
    body: bytes | BodySource = b""
    content_type: str = ""
    line: str = ""
    purpose: str = ""  # as the audit has it, for what is no request of a caller
    actor: str = ""  # who asked for it, where that is recorded with the request
    # The token of the user that it is sent for, which is exchanged for another one.
    subject: Secret | None = None
    of_run: bool = False  # of a sync line

    def request(self) -> Request:
        """Build the request of the caller with the default headers."""
        base = self.configuration.base
        target = build_target(base, self._filled_path(), self.params)
        return _framed_request(
            self.method, base.origin, target, self._headers(), self.body
        )

    def _filled_path(self) -> str:
        """Return the path with the variables of the connection, if there is one."""
        connection = self.configuration.connection
        if connection is None:
            return self.path
        declared = self.configuration.connect.variables
        return fill_segment_path(self.path, connection.variables, declared=declared)

    def _headers(self) -> tuple[Header, ...]:
        if not self.content_type and not self.headers:
            return _DEFAULTS
        headers = list(_DEFAULTS)
        if self.content_type:
            headers.append(Header("Content-Type", self.content_type, Source.DEFAULT))
        for name, value in self.headers.items():
            check_name(name, field="headers")
            headers.append(
                Header(name, checked_value(value, f"header:{name}"), Source.CALLER)
            )
        return tuple(headers)

    def __repr__(self) -> str:
        return f"Call({self.method}, {self.configuration.name})"


def call_of_test(configuration: Configuration) -> Call:
    """Return the call that a connection test sends."""
    verification = configuration.verification
    body = verification.test_body.encode()
    return Call(
        configuration,
        verification.test_method,
        verification.test_path,
        body=body,
        content_type=verification.test_content_type if body else "",
    )


def encode_body(json: object, data: object) -> tuple[bytes, str]:
    """Return the bytes of a body and the content type that goes with them."""
    if json is not None and data is not None:
        raise ConfigError(
            Text("a request takes either json or data, not both"), field="data"
        )
    if json is not None:
        return (
            _utf8_bytes(json_module.dumps(json, ensure_ascii=False), "json"),
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
        return _utf8_bytes(data, "data"), "text/plain; charset=utf-8"
    if isinstance(data, bytes):
        return data, "application/octet-stream"
    raise ConfigError(Text("data must be bytes, text or a mapping"), field="data")


def _utf8_bytes(text: str, field: str) -> bytes:
    """Return a text as UTF-8, or refuse one that cannot be encoded."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise ConfigError(
            Text("the body has a character that UTF-8 cannot encode"), field=field
        ) from None


def with_rows(
    request: Request, configuration: Configuration, secret: SecretOpener
) -> Request:
    """Add the configuration's header and query rows."""
    for parameter in configuration.query:
        text: str | Secret = parameter.value
        if parameter.secret:
            text = parameter.fill(secret(parameter.secret_field).derive(tidy_value))
        request = with_parameter(request, parameter.key, text)
    if not configuration.headers:
        return request
    return with_header_rows(request, configuration.headers, secret)


def with_header_rows(
    request: Request, rows: Iterable[CustomRow], secret: SecretOpener
) -> Request:
    """Add the headers of rows."""
    headers = list(request.headers)
    for row in rows:
        value: str | Secret = row.value
        if row.secret:
            filled = row.fill(secret(row.secret_field).derive(tidy_value))
            value = checked_value(filled, row.secret_field)
        headers.append(Header(row.key, value, Source.ROW))
    return request.with_headers(tuple(headers))


def authenticated_request(  # noqa: PLR0913 - what the steps of the schemes need
    request: Request,
    configuration: Configuration,
    secret: SecretOpener,
    token: AccessToken | None = None,
    proof: Callable[[Request, AccessToken], Secret] = lambda _request, token: (
        token.value
    ),
    signed: Callable[[Request], ScriptParts] = lambda _request: ScriptParts(),
    *,
    now: float = 0.0,
) -> Request:
    """Return the first request that the configuration's scheme would send.

    Nothing is sent. It has the OAuth 2.0 token if one is given, else a placeholder, and
    the parts of the script if the caller runs it. `now` is the time that is signed.
    """
    flow = scheme_of(configuration, secret).flow(
        with_rows(request, configuration, secret)
    )
    try:
        step = next(flow)
        while not isinstance(step, Send):
            match step:
                case NeedCsrfToken():
                    step = flow.send(PLACEHOLDER)
                case NeedToken():
                    step = flow.send(token or _placeholder_for(configuration))
                case NeedProof(about, used):
                    step = flow.send(proof(about, used))
                case NeedSignature():
                    step = flow.send(ANY_SIGNATURE)
                case RunScript(about):
                    step = flow.send(signed(about))
                case NeedNonce() | StoreNonce():
                    step = flow.send(ANY_USE)
                case NeedTime():
                    step = flow.send(now)
                case NeedBodyHash(body):
                    step = flow.send(hash_of_body(body))
                case _:
                    assert_never(step)
    finally:
        flow.close()
    return with_composed_headers(step.request)


def _placeholder_for(configuration: Configuration) -> AccessToken:
    """Return what stands for a token that is not there yet."""
    keeps_cookies = configuration.uses_login and configuration.login.cookies
    return _WITH_COOKIES if keeps_cookies else PLACEHOLDER


def redirected_request(
    request: Request,
    response: Response,
    configuration: Configuration,
    script_parameters: frozenset[str] = frozenset(),
) -> Request | None:
    """Return the request that follows a redirect, None without one, or refuse it.

    Only redirects to the same origin are followed: otherwise custom credential headers
    would be sent to an origin that no user has entered. The error names the other
    origin only if the configuration has it too: a server could spell a secret as a host
    name.
    """
    if response.status not in _REDIRECTS or "Location" not in response.headers:
        return None
    reference = response.headers["Location"]
    try:
        location = parse_redirect(request.origin, request.target, reference)
    except ConfigError as error:
        raise RedirectBlocked(
            Text("the server redirected, but {problem}", problem=error.message)
        ) from None
    if location.origin != request.origin:
        if (request.origin.scheme, location.origin.scheme) == ("https", "http"):
            raise RedirectBlocked(
                Text("the server redirected from https to plain http"),
                hint=Text(
                    "Ask the provider for the https URL of its API: it redirects to"
                    " plain http, where everybody on the way can read the credentials."
                ),
                reason="redirected-to-http",
            )
        secured = (request.origin.scheme, location.origin.scheme) == ("http", "https")
        same = secured and location.origin.host == request.origin.host
        message = Text("the server redirected to another origin")
        if location.origin in configuration.origins():
            message = Text(
                "the server redirected to another origin, {origin}",
                origin=location.origin,
            )
        raise RedirectBlocked(message, reason="https-required" if same else "")
    method = request.method
    body = b"" if isinstance(request.body, Secret) else request.body
    # RFC 9110 §15.4.2-4: 303 asks for GET; for 301 and 302 after POST every client does
    # the same.
    if response.status == 303 or (response.status in {301, 302} and method == "POST"):
        method = "HEAD" if method == "HEAD" else "GET"
        body = b""
    headers = tuple(
        header
        for header in request.headers
        if not _is_framing(header.name, keep_body=bool(body))
    )
    # A server may repeat our parameters, with their secrets; they are added again.
    names = configuration.parameter_names() | script_parameters
    target = without_parameters(location.target, names)
    return _framed_request(method, request.origin, target, headers, body)


def checked_value(value: str | Secret, field: str) -> str | Secret:
    """Return a header value that arrives unchanged, else raise."""
    check = partial(check_value, field=field)
    return value.derive(check) if isinstance(value, Secret) else check(value)


def _framed_request(
    method: str,
    origin: Origin,
    target: str,
    headers: tuple[Header, ...],
    body: bytes | BodySource,
) -> Request:
    """Return a request with the headers Host and Content-Length before the others."""
    host = _host_header(origin.authority)
    if not body and method not in _WITH_BODY:
        return Request(method, origin, target, (host, *headers))
    length = Header("Content-Length", str(len(body)), Source.DEFAULT)
    return Request(method, origin, target, (host, length, *headers), body)


@lru_cache(maxsize=1024)
def _host_header(authority: str) -> Header:
    return Header("Host", authority, Source.DEFAULT)


def _is_framing(name: str, *, keep_body: bool) -> bool:
    """Whether a header describes a message or body that has changed."""
    lower = name.lower()
    return lower in {"host", "content-length"} or (
        not keep_body and lower.startswith("content-")
    )
