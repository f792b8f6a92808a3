"""Building a call from what a caller passes to a gateway."""

from collections.abc import Mapping
from typing import TypedDict

from outkey.foundation.core.fields.field_kinds import check_method
from outkey.foundation.core.origin import Params
from outkey.foundation.core.secret import Secret
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.connections.naming import (
    refuse_missing_connection,
)
from outkey.sending.core.request.assembly import Call, encode_body
from outkey.sending.ports.sending import Configurations

Data = bytes | str | Mapping[str, object] | None
_USUAL_METHODS = (
    "GET",
    "POST",
    "PUT",
    "PATCH",
    "DELETE",
)  # valid, without further checks


class RequestContent(TypedDict, total=False):
    """The parts that a caller adds to a request: query parameters, a body, headers."""

    params: Params | None
    json: object
    data: Data
    headers: Mapping[str, str | Secret] | None


class CallOptions(RequestContent, total=False):
    """The content of a request, and the line, actor and user that it belongs to."""

    line: str
    actor: str
    subject_token: str | Secret | None


class SendOptions(CallOptions, total=False):
    """The same, and the connection whose account sends it."""

    connection: str | None


def find_account(
    configurations: Configurations, name: str, connection: str | None
) -> Configuration:
    """Return a configuration, with the account of a connection where one is named."""
    if connection is None:
        return configurations.get(name)
    return configurations.connected(name, connection)


def require_account(
    configurations: Configurations, name: str, connection: str | None
) -> Configuration:
    """Return the same, or raise ConnectionMissing where a connection must be named."""
    found = find_account(configurations, name, connection)
    refuse_missing_connection(found)
    return found


def build_call(  # noqa: PLR0913 - the parts of a request, all by keyword
    configuration: Configuration,
    method: str,
    path: str | None,
    *,
    params: Params | None = None,
    json: object = None,
    data: Data = None,
    headers: Mapping[str, str | Secret] | None = None,
    line: str = "",
    actor: str = "",
    subject_token: str | Secret | None = None,
) -> Call:
    """Return a call; without a path, to the configuration's test path."""
    if method not in _USUAL_METHODS:
        method = check_method(method, field="method")
    body, content_type = encode_body(json, data)
    verification = configuration.verification
    if path is None and method == verification.test_method and not body:
        body = verification.test_body.encode()
        content_type = verification.test_content_type if body else ""
    return Call(
        configuration=configuration,
        method=method,
        path=verification.test_path if path is None else path,
        params=params,
        headers=headers or {},
        body=body,
        content_type=content_type,
        line=line,
        actor=actor,
        subject=subject_of(subject_token),
    )


def subject_of(token: str | Secret | None) -> Secret | None:
    """Return the token of a user as a secret."""
    return Secret(token) if isinstance(token, str) else token
