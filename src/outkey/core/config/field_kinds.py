"""What a field of a configuration is: its kind, its tab, its conditions, and what it takes.

The fields themselves are the table in `fields.py`.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass
from datetime import date, datetime
from enum import StrEnum

from outkey.core.config.choices import Choice
from outkey.core.errors import ConfigError
from outkey.core.request.origin import parse_base_url, parse_endpoint
from outkey.core.request.script import check_script

# Also what steers a terminal (C1) or turns the direction of a text.
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_STEERING = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]"
)
_METHOD = re.compile(r"[A-Z]{1,20}")
_STATUSES = re.compile(r"[1-5]\d\d(-[1-5]\d\d)?( *, *[1-5]\d\d(-[1-5]\d\d)?)*")
# Parameters of a token request that have fields of their own; most of them are secret.
_RESERVED = frozenset(
    (
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
    )
)
_MAX_TEXT = 2000


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
    SCRIPT = "Python script"
    ROWS = "rows"
    PAIRS = "pairs"


class Tab(StrEnum):
    """Where a field stands in the form."""

    GENERAL = "General"
    AUTHENTICATION = "Authentication"
    OAUTH2 = "OAuth 2.0"
    HEADERS = "Headers"
    SCRIPT = "Script"
    TLS = "TLS"
    LIMITS = "Limits"
    VERIFICATION = "Verification"


# What other fields must say: their paths and values.
Conditions = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Field:
    """One field of the configuration."""

    tab: Tab
    path: str
    label: str
    kind: Kind
    options: type[Choice] | None = None
    _: KW_ONLY
    help: str
    default: object = None  # the kind's own where nothing is said
    when: Conditions = ()
    required: bool = False  # when it applies
    minimum: float = 0
    maximum: float = 0  # of a text, its length
    no_colon: bool = False
    rare: bool = False  # most people leave it as it is
    lines: bool = False  # a secret that may have several lines
    to_token_url: bool = False  # a secret that is sent there

    def __post_init__(self) -> None:
        """Give a field without a default that of its kind."""
        if self.default is None:
            object.__setattr__(self, "default", _EMPTY.get(self.kind))

    @property
    def choices(self) -> list[tuple[str, str]]:
        """What may be chosen, each with its label."""
        return [(choice.value, choice.label) for choice in self.options or ()]

    @property
    def secret(self) -> bool:
        """Whether the field's value must never be shown."""
        return self.kind is Kind.SECRET

    @property
    def secret_name(self) -> str:
        """What the secret of this field is called where secrets are kept and set."""
        return self.path.rpartition(".")[2]

    def applies(self, values: Mapping[str, object]) -> bool:
        """Tell whether the other fields have the values that this one needs."""
        return all(values.get(path) == value for path, value in self.when)

    def parse(
        self, value: object, beside: Mapping[str, object] | None = None
    ) -> object:
        """Return the value as this field keeps it, or say what it takes; never repeat it.

        A field that applies only beside other values may be empty where they are not given.
        """
        parsed = _PARSERS[self.kind](self, value)
        if self.required and not parsed and self.applies(beside or {}):
            raise self.refuse("must not be empty")
        return parsed

    def refuse(self, reason: str, hint: str | None = None) -> ConfigError:
        """Make the error for a value that this field does not take."""
        return ConfigError(f"{self.label} {reason}", field=self.path, hint=hint)


def _text(field: Field, value: object) -> str:
    if not isinstance(value, str):
        raise field.refuse("must be text")
    if (_STEERING if field.kind is Kind.LONG_TEXT else _CONTROL).search(value):
        raise field.refuse("holds a control character")
    longest = field.maximum or _MAX_TEXT
    if len(value) > longest:
        raise field.refuse(f"is longer than {longest} characters")
    if field.no_colon and ":" in value:
        # RFC 7617 §2: the first colon ends the user name.
        raise field.refuse("holds a colon, which Basic authentication cannot send")
    return value


def _address(field: Field, value: object) -> str:
    text = _text(field, value)
    if text:
        (parse_base_url if field.kind is Kind.URL else parse_endpoint)(text, field.path)
    return text


def _script(field: Field, value: object) -> object:
    if not isinstance(value, str):
        raise field.refuse("must be text")
    source = value.replace("\r\n", "\n")
    if source.strip():
        check_script(source)
    return source if source.strip() else ""


def _pairs(field: Field, value: object) -> object:
    if not isinstance(value, Mapping) or not all(
        isinstance(text, str) for pair in value.items() for text in pair
    ):
        raise field.refuse('must be names with texts, such as { account_id = "7" }')
    for name, text in value.items():
        if name.lower() in _RESERVED:
            raise field.refuse(f"must not hold {name}, which has a field of its own")
        if not name or len(name + text) > _MAX_TEXT or _CONTROL.search(name + text):
            raise field.refuse(
                "holds an empty name, a control character or too long a text"
            )
    return dict(value)


def _choice(field: Field, value: object) -> object:
    for choice in field.options or ():
        if value == choice:
            return choice
    raise field.refuse(f"must be one of: {', '.join(key for key, _ in field.choices)}")


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
        raise field.refuse(
            f"must be {noun} from {field.minimum:g} to {field.maximum:g}"
        )
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


def _statuses(field: Field, value: object) -> object:
    if not isinstance(value, str) or not _STATUSES.fullmatch(value):
        raise field.refuse("must be statuses such as 200-299 or 200, 404")
    return value


_PARSERS: dict[Kind, Callable[[Field, object], object]] = {
    Kind.TEXT: _text,
    Kind.LONG_TEXT: _text,
    Kind.URL: _address,
    Kind.ENDPOINT: _address,
    Kind.CHOICE: _choice,
    Kind.FLAG: _flag,
    Kind.SECONDS: _number,
    Kind.INTEGER: _number,
    Kind.DATE: _date,
    Kind.STATUSES: _statuses,
    Kind.PAIRS: _pairs,
    Kind.SCRIPT: _script,
    Kind.METHOD: lambda field, value: check_method(value, field=field.path),
}
_EMPTY: dict[Kind, object] = {
    **dict.fromkeys(
        (Kind.TEXT, Kind.LONG_TEXT, Kind.URL, Kind.ENDPOINT, Kind.SCRIPT), ""
    ),
    Kind.FLAG: False,
    Kind.PAIRS: {},
    Kind.ROWS: (),
}
