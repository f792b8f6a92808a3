"""Header and query rows: what a user adds to every request.

The value of a secret row is stored as a secret. Fixed text may stand around it, with
the placeholder `{secret}` where the secret goes: `Token token={secret}`.
"""

import re
from dataclasses import dataclass
from typing import ClassVar

from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.secret import Secret
from outkey.foundation.core.text import Text
from outkey.sending.core.configuration.reference import is_reference
from outkey.sending.core.request.headers import (
    MAX_VALUE,
    check_name,
    check_value,
    looks_like_credential,
    tidy_value,
)

PLACEHOLDER = "{secret}"
MAX_ROWS = 64
# Client authentication, the body and proofs of possession decide about these.
HEADERS_OF_TOKEN_REQUESTS = frozenset({"authorization", "content-type", "dpop"})
_MAX_PARAMETER_NAME = 256
_PARAMETER_NAME_FAULT = re.compile(r"[\x00-\x20\x7f-\x9f\ud800-\udfff]")
_PARAMETER_VALUE_FAULT = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class CustomRow:
    """A name and a value that every request carries.

    The value of a secret row is the text around the secret; it may be empty.
    """

    KIND: ClassVar[str]

    key: str
    value: str
    secret: bool

    @property
    def secret_field(self) -> str:
        """The name of the secret of this row."""
        return f"{self.KIND}:{self.key}"

    def fill(self, secret: Secret) -> Secret:
        """Return the secret with the text around it."""
        if not self.value:
            return secret
        before, _, after = self.value.partition(PLACEHOLDER)
        return Secret.joined(before, secret, after)


@dataclass(frozen=True, slots=True)
class CustomHeader(CustomRow):
    """One header row."""

    KIND = "header"


@dataclass(frozen=True, slots=True)
class QueryParameter(CustomRow):
    """One query row."""

    KIND = "query"


@dataclass(frozen=True, slots=True)
class TokenHeader(CustomRow):
    """One header of token requests, which requests to the API do not have."""

    KIND = "token_header"


# The kinds of rows, by the path of their field.
ROW_KINDS: dict[str, type[CustomRow]] = {
    "headers": CustomHeader,
    "query": QueryParameter,
    "oauth2.token_headers": TokenHeader,
}
_SECRET_PREFIXES = tuple(f"{kind.KIND}:" for kind in ROW_KINDS.values())


def is_row_secret(name: str) -> bool:
    """Whether this is the name of a row's secret."""
    return name.startswith(_SECRET_PREFIXES)


def row_label(name: str) -> str:
    """Return the name of the row that a secret belongs to."""
    return name.partition(":")[2] if is_row_secret(name) else name


def header_row(
    key: str, value: str | None, *, secret: bool | None, place: str
) -> CustomHeader:
    """Return a header row; it is secret by default if it looks like a credential."""
    return CustomHeader(*_header_parts(key, value, secret=secret, place=place))


def token_header_row(
    key: str, value: str | None, *, secret: bool | None, place: str
) -> TokenHeader:
    """Return a row of a token request's header; secret as in `header_row`."""
    row = TokenHeader(*_header_parts(key, value, secret=secret, place=place))
    if row.key.lower() in HEADERS_OF_TOKEN_REQUESTS:
        raise ConfigError(
            Text("outkey sets the header {name} of token requests", name=row.key),
            field=f"{place}.key",
            hint=Text("Remove the row; see Client Authentication and Body format."),
        )
    return row


def _header_parts(
    key: str, value: str | None, *, secret: bool | None, place: str
) -> tuple[str, str, bool]:
    """Return name, value and secrecy of a header row."""
    key = check_name(key.strip(), field=f"{place}.key")
    is_secret = _is_secret(key, value) if secret is None else secret
    value = _value_of(value, is_secret=is_secret, place=place)
    check_value(value.replace(PLACEHOLDER, "x"), field=f"{place}.value")
    return key, value, is_secret


def query_row(
    key: str, value: str | None, *, secret: bool | None, place: str
) -> QueryParameter:
    """Return a query row; it is secret by default if it looks like a credential."""
    key = check_parameter_name(key.strip(), field=f"{place}.key")
    is_secret = _is_secret(key, value) if secret is None else secret
    value = _value_of(value, is_secret=is_secret, place=place)
    check_parameter_value(value, field=f"{place}.value")
    return QueryParameter(key, value, is_secret)


def check_parameter_name(name: str, *, field: str) -> str:
    """Return the name of a query parameter that a user may set, else raise."""
    is_fitting = 0 < len(name) <= _MAX_PARAMETER_NAME
    if not is_fitting or _PARAMETER_NAME_FAULT.search(name):
        raise ConfigError(
            Text("the parameter name is empty, too long or has an invalid character"),
            field=field,
            hint=Text("Enter the name as the API's documentation writes it."),
        )
    return name


def check_parameter_value(text: str, *, field: str) -> str:
    """Return the value of a query parameter, else raise; it is encoded when sent."""
    if len(text) > MAX_VALUE or _PARAMETER_VALUE_FAULT.search(text):
        raise ConfigError(
            Text("the value is too long or has a control character"), field=field
        )
    return text


def _is_secret(key: str, value: str | None) -> bool:
    if value is None or is_reference(value) or PLACEHOLDER in value:
        return True
    return looks_like_credential(key)


def _value_of(value: str | None, *, is_secret: bool, place: str) -> str:
    """Return a row's value to store; of a secret row, the text around the secret."""
    field = f"{place}.value"
    if not is_secret:
        if value is None:
            raise ConfigError(
                Text("a row that is not secret needs a value"), field=field
            )
        return tidy_value(value)
    # Anything else is a reference, or a value that the reader of the row refuses.
    if value is None or PLACEHOLDER not in value:
        return ""
    if value.count(PLACEHOLDER) > 1:
        raise ConfigError(
            Text("{placeholder} may occur once only", placeholder=PLACEHOLDER),
            field=field,
        )
    value = tidy_value(value)
    return "" if value == PLACEHOLDER else value
