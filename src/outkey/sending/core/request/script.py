"""Scripts as data: their input, their result, and the check before one is saved.

Nothing here runs a script. The script of a configuration signs requests and may contain
its own examples: a list of literals named GOLDEN, each with a made-up secret, fixed
inputs and the headers that they must give.
The script of a sync line transforms records.
"""

import hashlib
from functools import lru_cache, partial
from typing import NamedTuple

from outkey.foundation.core.errors import HeaderFormatError, ParameterConflict
from outkey.foundation.core.origin import parameter_names
from outkey.foundation.core.script_syntax import FUNCTION
from outkey.foundation.core.secret import MASK, Secret
from outkey.foundation.core.text import Text
from outkey.sending.core.configuration.custom_rows import (
    MAX_ROWS,
    check_parameter_name,
    check_parameter_value,
)
from outkey.sending.core.request.headers import (
    MAX_HEADERS,
    NAME_HINT,
    check_value,
    compose,
    is_settable_name,
    of_connection,
)
from outkey.sending.core.request.message import Header, Request, Source

SCRIPT_FACT = "script"  # the name of the script's digest among the facts of a voucher
MAX_BODY = 16 * 1024 * 1024
MAX_RECORD = 256 * 1024


Pairs = tuple[tuple[str, str], ...]
SecretPairs = tuple[tuple[str, Secret], ...]


class ScriptResult(NamedTuple):
    """The names and values that a script returned, as they are."""

    headers: SecretPairs
    query: SecretPairs = ()


class ScriptParts(NamedTuple):
    """The headers and parameters that a script adds to a request."""

    headers: tuple[Header, ...] = ()
    parameters: SecretPairs = ()


class ScriptCall(NamedTuple):
    """The input of one run of a script; `at` stops the clock for a trial.

    A tuple for the same reason as a `Request`.
    """

    place: str  # the owner of the script: two places never share a process
    source: str
    secret: Secret | None = None
    name: str = ""  # the sync line's
    configuration: str = ""
    base_url: str = ""
    username: str = ""
    method: str = ""
    url: str = ""
    path: str = ""
    query: str = ""
    headers: Pairs = ()  # of all other sources, as `visible_headers` returns them
    body: bytes = b""
    at: float | None = None
    shift: int = 0  # seconds that the API's clock is ahead, if it is used
    function: str = FUNCTION
    connection: str = ""  # the id of the account that the request is sent for

    def __repr__(self) -> str:
        return f"ScriptCall({self.place}, {self.function})"


@lru_cache(maxsize=256)
def digest(source: str) -> str:
    """Return the SHA-256 of a script."""
    return hashlib.sha256(source.encode()).hexdigest()


def secret_digest(source: str) -> Secret:
    """Return the digest that a voucher must contain: only a saved script runs."""
    return Secret(digest(source))


def fingerprint(source: str) -> str:
    """Return the id of a version of a script in the audit."""
    return digest(source)[:16]


def visible_headers(request: Request) -> Pairs:
    """Return the headers of a request as its script sees them, secrets masked."""
    return tuple(
        (name, MASK if isinstance(value, Secret) else value)
        for name, value, _ in compose(request.headers)
    )


def with_parts(request: Request, parts: ScriptParts) -> Request:
    """Return a request with what its script adds; a parameter has one source."""
    if parts.parameters:
        names = {*parameter_names(request.target), *request.secret_parameters}
        for name, _ in parts.parameters:
            if name in names:
                raise ParameterConflict(
                    Text(
                        "the parameter {name} is set by the script and by another"
                        " source",
                        name=name,
                    ),
                    field=f"query:{name}",
                )
        request = request._replace(script_parameters=parts.parameters)
    return request.with_headers((*request.headers, *parts.headers))


def script_parts(result: ScriptResult, secret: Secret | None) -> ScriptParts:
    """Return what a script returned, after the same checks as all other sources."""
    return ScriptParts(
        headers_of(result.headers, secret), _parameters_of(result.query, secret)
    )


def _parameters_of(pairs: SecretPairs, secret: Secret | None) -> SecretPairs:
    """Return the parameters that a script returned; their names are not repeated."""
    if len(pairs) > MAX_ROWS:
        raise HeaderFormatError(
            Text("the script returned more than {limit} parameters", limit=MAX_ROWS)
        )
    for number, (name, value) in enumerate(pairs, start=1):
        place = f"script, parameter {number}"
        check_parameter_name(name, field=place)
        if secret is not None and secret.occurs_in(name):
            raise HeaderFormatError(
                Text("the script returned the secret as a parameter name"), field=place
            )
        value.derive(partial(check_parameter_value, field=place))
    return pairs


def headers_of(pairs: SecretPairs, secret: Secret | None) -> tuple[Header, ...]:
    """Return the headers that a script returned, after the same checks as all others.

    The names are text of the script: they are never repeated in a message, and they are
    shown in previews, so that they must not contain the secret.
    """
    if len(pairs) > MAX_HEADERS:
        raise HeaderFormatError(
            Text("the script returned more than {limit} headers", limit=MAX_HEADERS)
        )
    if len({name.lower() for name, _ in pairs}) != len(pairs):
        raise HeaderFormatError(
            Text("the script returned one header twice, in two spellings")
        )
    headers: list[Header] = []
    for number, (name, value) in enumerate(pairs, start=1):
        place = f"script, header {number}"
        if not is_settable_name(name):
            raise _script_name_error(name, place)
        if secret is not None and secret.occurs_in(name):
            raise HeaderFormatError(
                Text("the script returned the secret as a header name"), field=place
            )
        checked_value = value.derive(partial(check_value, field=place))
        headers.append(Header(name, checked_value, Source.SCRIPT))
    return tuple(headers)


def _script_name_error(name: str, place: str) -> HeaderFormatError:
    """Return the error for a header name of a script, without repeating it."""
    if own := of_connection(name):
        return HeaderFormatError(
            Text(
                "the script returned the header {name}, which belongs to the"
                " connection",
                name=own,
            ),
            hint=Text("Remove it from the result; outkey sets it where it is needed."),
            field=place,
        )
    return HeaderFormatError(
        Text(
            "the script returned a header name that is empty or has an invalid"
            " character"
        ),
        hint=NAME_HINT,
        field=place,
    )
