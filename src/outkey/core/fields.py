"""The declarative table of a configuration's fields.

Forms, command line, TOML, documentation and every later host derive from it or are tested
against it. A field says what it is called, where it stands, what it takes and when it applies.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum

from outkey.core.errors import ConfigError
from outkey.core.origin import parse_base_url

# Also what steers a terminal (C1) or turns the direction of a text.
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_STEERING = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_METHOD = re.compile(r"[A-Z]{1,20}")
_STATUSES = re.compile(r"[1-5]\d\d(-[1-5]\d\d)?( *, *[1-5]\d\d(-[1-5]\d\d)?)*")
_MAX_TEXT = 2000
_MAX_NAME = 200


class Kind(StrEnum):
    """What a field takes."""

    TEXT = "text"
    LONG_TEXT = "long text"
    URL = "URL"
    CHOICE = "choice"
    FLAG = "flag"
    SECONDS = "seconds"
    INTEGER = "integer"
    DATE = "date"
    METHOD = "HTTP method"
    STATUSES = "statuses"
    SECRET = "secret"  # noqa: S105 - the name of a kind
    ROWS = "rows"


class Tab(StrEnum):
    """Where a field stands in the form."""

    GENERAL = "General"
    AUTHENTICATION = "Authentication"
    HEADERS = "Headers"
    TLS = "TLS"
    LIMITS = "Limits"
    VERIFICATION = "Verification"


@dataclass(frozen=True, slots=True)
class When:
    """A condition on another field: it has one of these values."""

    path: str
    values: tuple[str, ...]

    def __str__(self) -> str:
        return f"{BY_PATH[self.path].label} is {' or '.join(self.values)}"


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

    def applies(self, condition: "When | None", values: Mapping[str, object]) -> bool:
        """Tell whether a condition holds for these values of the other fields."""
        return condition is not None and values.get(condition.path) in condition.values

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
    Kind.CHOICE: _choice,
    Kind.FLAG: _flag,
    Kind.SECONDS: _number,
    Kind.INTEGER: _number,
    Kind.DATE: _date,
    Kind.METHOD: _method,
    Kind.STATUSES: _statuses,
}

_BASIC = When("authentication_type", ("basic",))
_BEARER = When("authentication_type", ("bearer",))
_NONE = When("authentication_type", ("none",))

FIELDS: tuple[Field, ...] = (
    Field(
        path="name",
        label="Name",
        tab=Tab.GENERAL,
        kind=Kind.TEXT,
        required=True,
        help="What you call this API; unique.",
    ),
    Field(
        path="base_url",
        label="Base URL",
        tab=Tab.GENERAL,
        kind=Kind.URL,
        default="",
        required=True,
        help="Where the API lives, for example https://api.acme.example/v2.",
    ),
    Field(
        path="environment",
        label="Environment",
        tab=Tab.GENERAL,
        kind=Kind.CHOICE,
        default="production",
        choices=(
            ("development", "Development"),
            ("test", "Test"),
            ("production", "Production"),
        ),
        help="What the external system is used for.",
    ),
    Field(
        path="network",
        label="Network",
        tab=Tab.GENERAL,
        kind=Kind.CHOICE,
        default="public",
        choices=(("public", "Public internet"), ("internal", "Internal trusted network")),
        help="Public internet means https and global addresses only; "
        "Internal trusted network permits private addresses and plain http.",
    ),
    Field(
        path="active",
        label="Active",
        tab=Tab.GENERAL,
        kind=Kind.FLAG,
        default=True,
        help="Whether requests may be sent.",
    ),
    Field(
        path="notes",
        label="Notes",
        tab=Tab.GENERAL,
        kind=Kind.LONG_TEXT,
        default="",
        help="For people: who to call, where the credentials came from. No secrets.",
    ),
    Field(
        path="authentication_type",
        label="Authentication Type",
        tab=Tab.AUTHENTICATION,
        kind=Kind.CHOICE,
        default="none",
        choices=(("none", "None"), ("basic", "Basic"), ("bearer", "Bearer Token")),
        help="How each request proves who sends it.",
    ),
    Field(
        path="no_auth_reason",
        label="Reason",
        tab=Tab.AUTHENTICATION,
        kind=Kind.CHOICE,
        choices=(
            ("internal", "internal API"),
            ("development", "development or test"),
            ("public_api", "public API"),
        ),
        visible_when=_NONE,
        help="Why no credentials are needed.",
    ),
    Field(
        path="username",
        label="Username",
        tab=Tab.AUTHENTICATION,
        kind=Kind.TEXT,
        default="",
        visible_when=_BASIC,
        help="The dedicated API user in the external system.",
    ),
    Field(
        path="password",
        label="Password",
        tab=Tab.AUTHENTICATION,
        kind=Kind.SECRET,
        visible_when=_BASIC,
        required_when=_BASIC,
        help="That user's password; sent as it is, blanks included.",
    ),
    Field(
        path="token_source",
        label="Token Source",
        tab=Tab.AUTHENTICATION,
        kind=Kind.CHOICE,
        default="entered",
        choices=(("entered", "Entered token"),),
        visible_when=_BEARER,
        help="Where the token comes from.",
    ),
    Field(
        path="token",
        label="Token",
        tab=Tab.AUTHENTICATION,
        kind=Kind.SECRET,
        visible_when=_BEARER,
        required_when=_BEARER,
        help="The token without the word Bearer.",
    ),
    Field(
        path="token_expires_on",
        label="Token Expires On",
        tab=Tab.AUTHENTICATION,
        kind=Kind.DATE,
        visible_when=_BEARER,
        help="The last day the token is valid, if you know it.",
    ),
    Field(
        path="headers",
        label="Headers",
        tab=Tab.HEADERS,
        kind=Kind.ROWS,
        default=(),
        help="Rows of Key, Value and Secret, sent with every request.",
    ),
    Field(
        path="tls.minimum_version",
        label="Minimum version",
        tab=Tab.TLS,
        kind=Kind.CHOICE,
        default="1.2",
        choices=(("1.2", "TLS 1.2"), ("1.3", "TLS 1.3")),
        help="The oldest TLS version that is accepted.",
    ),
    Field(
        path="tls.ca_file",
        label="CA certificates",
        tab=Tab.TLS,
        kind=Kind.TEXT,
        default="",
        help="A PEM file with certificate authorities to trust besides the system's.",
    ),
    Field(
        path="tls.client_certificate",
        label="Client certificate",
        tab=Tab.TLS,
        kind=Kind.TEXT,
        default="",
        help="A PEM file with the certificate that identifies this client.",
    ),
    Field(
        path="tls.client_key",
        label="Client key",
        tab=Tab.TLS,
        kind=Kind.SECRET,
        help="The private key of the client certificate, in PEM form.",
    ),
    Field(
        path="limits.connect_timeout",
        label="Connect time-out",
        tab=Tab.LIMITS,
        kind=Kind.SECONDS,
        default=5,
        minimum=0.1,
        maximum=300,
        help="Seconds until a connection must stand.",
    ),
    Field(
        path="limits.read_timeout",
        label="Read time-out",
        tab=Tab.LIMITS,
        kind=Kind.SECONDS,
        default=15,
        minimum=0.1,
        maximum=3600,
        help="Seconds of silence that are tolerated.",
    ),
    Field(
        path="limits.total_timeout",
        label="Total time-out",
        tab=Tab.LIMITS,
        kind=Kind.SECONDS,
        default=60,
        minimum=0.1,
        maximum=3600,
        help="Seconds for the whole request with its waits, retries and redirects.",
    ),
    Field(
        path="limits.requests_per_minute",
        label="Rate limit",
        tab=Tab.LIMITS,
        kind=Kind.INTEGER,
        minimum=1,
        maximum=1_000_000,
        help="Requests per minute at the most; empty means no limit.",
    ),
    Field(
        path="limits.response_mebibytes",
        label="Response size",
        tab=Tab.LIMITS,
        kind=Kind.INTEGER,
        default=32,
        minimum=1,
        maximum=1024,
        help="Mebibytes that an answer may have, also after decompression.",
    ),
    Field(
        path="limits.retries",
        label="Retries",
        tab=Tab.LIMITS,
        kind=Kind.INTEGER,
        default=2,
        minimum=0,
        maximum=10,
        help="How often an idempotent request is repeated after 429, 502, 503, 504 "
        "or a failed connection.",
    ),
    Field(
        path="verification.test_path",
        label="Test Path",
        tab=Tab.VERIFICATION,
        kind=Kind.TEXT,
        default="/",
        help="A path that answers only to valid credentials and changes nothing.",
    ),
    Field(
        path="verification.test_method",
        label="Test Method",
        tab=Tab.VERIFICATION,
        kind=Kind.METHOD,
        default="GET",
        help="The method of the test request.",
    ),
    Field(
        path="verification.accepted_statuses",
        label="Accepted statuses",
        tab=Tab.VERIFICATION,
        kind=Kind.STATUSES,
        default="200-299",
        help="The statuses that count as success in a test.",
    ),
    Field(
        path="verification.forbidden_means_expired",
        label="403 means expired",
        tab=Tab.VERIFICATION,
        kind=Kind.FLAG,
        default=False,
        help="For APIs that answer 403 to an expired token.",
    ),
    Field(
        path="verification.expired_marker",
        label="Expired marker",
        tab=Tab.VERIFICATION,
        kind=Kind.TEXT,
        default="",
        help="A text in an error answer's body that means the token has expired.",
    ),
)

BY_PATH: dict[str, Field] = {field.path: field for field in FIELDS}
