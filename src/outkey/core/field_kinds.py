"""What a field of a configuration is: its kind, its tab, its conditions, and what it takes.

The fields themselves are the table in `fields.py`.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum

from outkey.core.errors import ConfigError
from outkey.core.origin import parse_base_url, parse_endpoint

# Also what steers a terminal (C1) or turns the direction of a text.
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_STEERING = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_METHOD = re.compile(r"[A-Z]{1,20}")
_STATUSES = re.compile(r"[1-5]\d\d(-[1-5]\d\d)?( *, *[1-5]\d\d(-[1-5]\d\d)?)*")
# Parameters of a token request that have fields of their own; most of them are secret.
_RESERVED = frozenset(
    {
        "audience",
        "client_assertion",
        "client_assertion_type",
        "client_id",
        "client_secret",
        "code",
        "code_verifier",
        "device_code",
        "password",
        "redirect_uri",
        "refresh_token",
        "resource",
        "scope",
    }
)
_MAX_TEXT = 2000
_MAX_NAME = 200


class Kind(StrEnum):
    """What a field takes."""

    TEXT = "text"
    LONG_TEXT = "long text"
    URL = "URL"
    ENDPOINT = "address"
    CHOICE = "choice"
    FLAG = "flag"
    SECONDS = "seconds"
    INTEGER = "integer"
    DATE = "date"
    METHOD = "HTTP method"
    STATUSES = "statuses"
    SECRET = "secret"  # noqa: S105 - the name of a kind
    ROWS = "rows"
    PAIRS = "pairs"


class Tab(StrEnum):
    """Where a field stands in the form."""

    GENERAL = "General"
    AUTHENTICATION = "Authentication"
    OAUTH2 = "OAuth 2.0"
    HEADERS = "Headers"
    TLS = "TLS"
    LIMITS = "Limits"
    VERIFICATION = "Verification"


@dataclass(frozen=True, slots=True)
class When:
    """A condition on another field: it has one of these values, and another condition holds."""

    path: str
    values: tuple[str, ...]
    also: "When | None" = None

    def holds(self, values: Mapping[str, object]) -> bool:
        """Tell whether the other fields have such values."""
        return all(values.get(one.path) in one.values for one in self.each())

    def each(self) -> Iterator["When"]:
        """Return the conditions one by one, the widest first."""
        if self.also is not None:
            yield from self.also.each()
        yield self


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One field of the configuration."""

    path: str
    label: str
    tab: Tab
    kind: Kind
    help: str
    default: object = None
    choices: tuple[tuple[str, str], ...] = ()
    visible_when: When | None = None
    required: bool = False
    required_when: When | None = None
    minimum: float = 0
    maximum: float = 0
    sent_to_token_url: bool = False

    @property
    def secret(self) -> bool:
        """Whether the field's value must never be shown."""
        return self.kind is Kind.SECRET

    @property
    def secret_name(self) -> str:
        """What the secret of this field is called where secrets are kept and set."""
        return self.path.rpartition(".")[2]

    def parse(self, value: object) -> object:
        """Return the value as this field keeps it, or say what it takes; never repeat it."""
        return _PARSERS[self.kind](self, value)

    def is_required(self, values: Mapping[str, object]) -> bool:
        """Tell whether the field must have a value beside these values of the others."""
        return self.required or (
            self.required_when is not None and self.required_when.holds(values)
        )

    def refuse(self, reason: str, hint: str | None = None) -> ConfigError:
        """Make the error for a value that this field does not take."""
        return ConfigError(f"{self.label} {reason}", field=self.path, hint=hint)


def _text(field: Field, value: object) -> object:
    if not isinstance(value, str):
        raise field.refuse("must be text")
    if (_STEERING if field.kind is Kind.LONG_TEXT else _CONTROL).search(value):
        raise field.refuse("holds a control character")
    longest = _MAX_NAME if field.path == "name" else _MAX_TEXT
    if len(value) > longest:
        raise field.refuse(f"is longer than {longest} characters")
    if field.path == "username" and ":" in value:
        # RFC 7617 §2: the first colon ends the user name.
        raise field.refuse("holds a colon, which Basic authentication cannot send")
    if field.required and not value:
        raise field.refuse("must not be empty")
    return value


def _url(field: Field, value: object) -> object:
    text = _text(field, value)
    parse_base_url(str(text), field.path)
    return text


def _endpoint(field: Field, value: object) -> object:
    text = _text(field, value)
    if text:
        parse_endpoint(str(text), field.path)
    return text


def _pairs(field: Field, value: object) -> object:
    if not isinstance(value, Mapping) or not all(
        isinstance(text, str) for pair in value.items() for text in pair
    ):
        raise field.refuse('must be names with texts, such as { account_id = "7" }')
    for name, text in value.items():
        if name.lower() in _RESERVED:
            raise field.refuse(f"must not hold {name}, which has a field of its own")
        if not name or len(name + text) > _MAX_TEXT or _CONTROL.search(name + text):
            raise field.refuse("holds an empty name, a control character or too long a text")
    return dict(value)


def _choice(field: Field, value: object) -> object:
    allowed = [key for key, _ in field.choices]
    if value not in allowed:
        raise field.refuse(f"must be one of: {', '.join(allowed)}")
    return value


def _flag(field: Field, value: object) -> object:
    if not isinstance(value, bool):
        raise field.refuse("must be true or false")
    return value


def _number(field: Field, value: object) -> object:
    wanted = (int, float) if field.kind is Kind.SECONDS else int
    # Written this way round because every comparison with NaN is false.
    if (
        isinstance(value, bool)
        or not isinstance(value, wanted)
        or not field.minimum <= value <= field.maximum
    ):
        noun = "a number" if field.kind is Kind.SECONDS else "a whole number"
        raise field.refuse(f"must be {noun} from {field.minimum:g} to {field.maximum:g}")
    return value


def _date(field: Field, value: object) -> object:
    if isinstance(value, datetime):
        return value.date()
    if not isinstance(value, date):
        raise field.refuse("must be a date such as 2027-01-31, without quotes")
    return value


def check_method(value: object, *, field: str) -> str:
    """Return an HTTP method in upper case, or say that it is none."""
    if not isinstance(value, str) or not _METHOD.fullmatch(value.upper()):
        raise ConfigError("must be an HTTP method such as GET", field=field)
    # CONNECT opens a tunnel, and TRACE sends credentials back in a body.
    if value.upper() in {"CONNECT", "TRACE"}:
        raise ConfigError("must not be CONNECT or TRACE", field=field)
    return value.upper()


def _method(field: Field, value: object) -> object:
    return check_method(value, field=field.path)


def _statuses(field: Field, value: object) -> object:
    if not isinstance(value, str) or not _STATUSES.fullmatch(value):
        raise field.refuse("must be statuses such as 200-299 or 200, 404")
    return value


_PARSERS: dict[Kind, Callable[[Field, object], object]] = {
    Kind.TEXT: _text,
    Kind.LONG_TEXT: _text,
    Kind.URL: _url,
    Kind.ENDPOINT: _endpoint,
    Kind.CHOICE: _choice,
    Kind.FLAG: _flag,
    Kind.SECONDS: _number,
    Kind.INTEGER: _number,
    Kind.DATE: _date,
    Kind.METHOD: _method,
    Kind.STATUSES: _statuses,
    Kind.PAIRS: _pairs,
}
