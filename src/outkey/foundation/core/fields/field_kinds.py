"""Fields of settings: kind, place in the form, conditions, and reading of values.

The fields of a configuration are the table in `sending/core/configuration/fields.py`,
those of a sync line the table in `sync/core/line/fields.py`. A message never repeats a
value.
"""

import difflib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass
from datetime import date, datetime
from enum import StrEnum
from typing import Any

from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.fields.choices import Choice
from outkey.foundation.core.fields.statuses import parse_ranges
from outkey.foundation.core.origin import (
    parse_base_url,
    parse_endpoint,
    parse_proxy_url,
)
from outkey.foundation.core.placeholders import sample_of
from outkey.foundation.core.script_syntax import check_script
from outkey.foundation.core.text import Text, build_text

# Also what controls a terminal (C1) or changes the direction of a text.
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
CONTROL_BUT_LINES = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]"
)
METHOD = re.compile(r"[A-Z]{1,20}")
# Parameters of a token request that have fields of their own; some of them are secret.
WITH_FIELDS = frozenset(
    (
        "actor_token",
        "actor_token_type",
        "audience",
        "client_assertion",
        "client_id",
        "client_secret",
        "refresh_token",
        "requested_token_type",
        "resource",
        "scope",
        "subject_token",
        "subject_token_type",
    )
)
# Parameters that are made for each request.
MADE_BY_OUTKEY = frozenset(
    (
        "assertion",
        "client_assertion_type",
        "code",
        "code_verifier",
        "device_code",
        "redirect_uri",
    )
)
# Claims that outkey states itself, or by fields of their own (RFC 7519 §4.1).
CLAIMS_OF_OUTKEY = frozenset(("aud", "exp", "iat", "iss", "jti", "nbf", "scope", "sub"))
# How a user enters an empty text where an empty input means that nothing is set.
EMPTY_TEXT = "-"
MAX_TEXT = 2000
MAX_LIST = 1000


class Kind(StrEnum):
    """The kind of value that a field accepts."""

    TEXT = "text"
    LONG_TEXT = "long text"
    URL = "URL"
    ENDPOINT = "URL of an endpoint"
    PROXY = "URL of a proxy"
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
    CLAIMS = "claims of assertions"
    TEXTS = "texts by name"
    LIST = "list of texts"
    NAMES = "text or list of texts"
    TABLE = "table"
    TABLES = "list of tables"


class Audited(StrEnum):
    """The part of a changed field that the audit shows; never free text.

    The audit cannot be edited, so that a secret in it would stay.
    """

    NAME = "name"  # only that it changed
    VALUE = "value"  # chosen from a list, a number, or a list of names
    WHOLE = "whole"  # a name, whatever its length
    URL = "url"  # origin and path, without segments that may be an ID or a key
    PATH = "path"  # without such segments
    EXPRESSION = "expression"  # where it is a plain path before and after


class Tab(StrEnum):
    """Where a field of a configuration is in the form."""

    GENERAL = "General"
    AUTHENTICATION = "Authentication"
    OAUTH2 = "OAuth 2.0"
    OAUTH1 = "OAuth 1.0a"
    LOGIN = "Login"
    AWS = "AWS"
    HEADERS = "Headers and query"
    SCRIPT = "Script"
    TLS = "TLS"
    PROXY = "Proxy"
    LIMITS = "Limits"
    CONNECTIONS = "Connections"
    VERIFICATION = "Verification"


class LineTab(StrEnum):
    """The tab of a sync line's form that a field is on."""

    REQUEST = "Request"
    RECORDS = "Records"
    PAGES = "Pages"
    FIELDS = "Fields"
    RUN = "Run"


# What other fields must be: their paths, each with the values that it may have.
Conditions = tuple[tuple[str, tuple[object, ...]], ...]


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a configuration or a sync line."""

    tab: Tab | LineTab
    path: str
    label: str
    kind: Kind
    options: type[Choice] | None = None
    _: KW_ONLY
    help: str
    default: object = None  # that of the kind, unless one is given
    when: Conditions = ()
    or_when: tuple[Conditions, ...] = ()  # others that it applies under as well
    required: bool = False  # when it applies
    required_when: Conditions = ()  # required under these conditions, not always
    minimum: float = 0
    maximum: float = 0  # of a text, its length
    no_colon: bool = False
    rare: bool = False  # most users leave it as it is
    lines: bool = False  # a secret that may have several lines
    to_token_url: bool = False  # a secret that is sent there
    only_reference: bool = False  # a secret that is never stored
    takes_variables: bool = False  # a URL that values of a connection are filled in
    stored_as: str = ""  # the name of a secret, if it is not its key
    parts: "tuple[Field, ...]" = ()  # the keys of a table
    make: Callable[[Any], object] | None = None  # of the values of a table, or of texts
    is_nullable: bool = False  # a text that may be missing, which is not empty
    is_always_written: bool = False  # also where it is as by default
    is_strict: bool = False  # a document must not name it where it does not apply
    audited: Audited = Audited.NAME  # that of the kind, unless it is given

    def __post_init__(self) -> None:
        """Make the label a text, and set the defaults of the kind."""
        object.__setattr__(self, "label", build_text(self.label, {}))
        if self.audited is Audited.NAME:
            audited = AUDITED_KINDS.get(self.kind, Audited.NAME)
            object.__setattr__(self, "audited", audited)
        if self.default is None and not self.is_nullable:
            object.__setattr__(self, "default", EMPTY_VALUES.get(self.kind))

    @property
    def choices(self) -> list[tuple[str, str]]:
        """The values to choose from, each with its label."""
        return [(choice.value, choice.label) for choice in self.options or ()]

    @property
    def secret(self) -> bool:
        """Whether the field's value must never be shown."""
        return self.kind is Kind.SECRET

    @property
    def key(self) -> str:
        """The key of this field in its table of a TOML document."""
        return self.path.rpartition(".")[2]

    @property
    def secret_name(self) -> str:
        """The name under which the secret of this field is stored and set."""
        return self.stored_as or self.key

    @property
    def alternatives(self) -> tuple[Conditions, ...]:
        """The conditions under which it applies: one of these; none means always."""
        return tuple(filter(None, (self.when, *self.or_when)))

    def applies(self, values: Mapping[str, object]) -> bool:
        """Whether the other fields have the values that this one needs."""
        if not self.alternatives:
            return True
        return any(_hold(conditions, values) for conditions in self.alternatives)

    def is_required(self, values: Mapping[str, object]) -> bool:
        """Whether it must not be empty beside these values."""
        if self.required_when:
            return _hold(self.required_when, values)
        return self.required and self.applies(values)

    def is_refused(self, values: Mapping[str, object]) -> bool:
        """Whether a document with these values must not set it."""
        return self.is_strict and not self.applies(values)

    def parse(
        self,
        value: object,
        beside: Mapping[str, object] | None = None,
        place: str = "",
    ) -> object:
        """Return the value as this field stores it, or refuse it.

        A field that applies only beside other values may be empty where they are not
        given. The place is that of the value in a document; it is the path by default.
        """
        parsed = PARSERS[self.kind](self, value, place)
        if not parsed and self.is_required(beside or {}):
            raise self.refuse(Text("must not be empty"), place=place)
        return parsed

    def errors(
        self, value: object, beside: Mapping[str, object], place: str
    ) -> "Iterator[ConfigError]":
        """Yield everything that `parse` would refuse, also in tables."""
        if self.kind is Kind.TABLE and isinstance(value, Mapping):
            yield from table_errors(self.parts, value, f"{place}.")
            return
        if self.kind is Kind.TABLES and isinstance(value, list) and value:
            for number, row in enumerate(value[:MAX_LIST]):
                yield from table_errors(self.parts, row, f"{place}[{number}].")
            if len(value) <= MAX_LIST:
                return
        try:
            self.parse(value, beside, place)
        except ConfigError as error:
            yield error

    def refuse(
        self, problem: Text, *, place: str = "", hint: Text | None = None
    ) -> ConfigError:
        """Return the error for a value that this field does not take."""
        message = Text("{label} {problem}", label=self.label, problem=problem)
        return ConfigError(message, field=place or self.path, hint=hint)


def _hold(conditions: Conditions, values: Mapping[str, object]) -> bool:
    return all(values.get(path) in wanted for path, wanted in conditions)


def read_table(
    fields: Sequence[Field], table: object, place: str = ""
) -> dict[str, object]:
    """Return the values of a table by key: those that it names, parsed.

    The place is put before the keys in the fields of errors.
    """
    if not isinstance(table, Mapping):
        raise ConfigError(Text("must be a table"), field=place.removesuffix("."))
    refuse_unknown_keys(table, [field.key for field in fields], place)
    values: dict[str, object] = {}
    beside: dict[str, object] = {}
    for field in fields:
        key = field.key
        if key in table:
            values[key] = field.parse(table[key], beside, place + key)
            beside[field.path] = values[key]
        elif field.is_required(beside):
            raise field.refuse(Text("must not be empty"), place=place + key)
    return values


def table_errors(
    fields: Sequence[Field], table: object, place: str = ""
) -> Iterator[ConfigError]:
    """Yield everything that `read_table` would refuse, not only the first."""
    if not isinstance(table, Mapping):
        yield ConfigError(Text("must be a table"), field=place.removesuffix("."))
        return
    by_key = {field.key: field for field in fields}
    for key in table:
        if key not in by_key:
            yield _unknown_key(key, list(by_key), place)
    beside: dict[str, object] = {}
    for key, field in by_key.items():
        if key in table:
            yield from field.errors(table[key], beside, place + key)
            with suppress(ConfigError):
                beside[field.path] = PARSERS[field.kind](field, table[key], place)
        elif field.required and field.applies(beside):
            yield field.refuse(Text("must not be empty"), place=place + key)


def refuse_unknown_keys(
    table: Mapping[str, object], keys: Sequence[str], place: str = ""
) -> None:
    """Refuse a table that has another key than these, with what was probably meant."""
    for key in table:
        if key not in keys:
            raise _unknown_key(key, keys, place)


def _unknown_key(key: str, keys: Sequence[str], place: str) -> ConfigError:
    """Return the error for a key that a table does not have."""
    similar = difflib.get_close_matches(key, keys, n=1)
    hint = Text("Known here: {names}.", names=", ".join(keys))
    if similar:
        hint = Text("Did you mean {name}?", name=similar[0])
    return ConfigError(Text("unknown key"), field=f"{place}{key}", hint=hint)


def _parse_text(field: Field, value: object, place: str) -> str:
    """Return a text without control characters and of limited length."""
    if not isinstance(value, str):
        raise field.refuse(Text("must be text"), place=place)
    forbidden = CONTROL_BUT_LINES if field.kind in MULTI_LINE else CONTROL
    if forbidden.search(value):
        raise field.refuse(Text("contains a control character"), place=place)
    longest = int(field.maximum) or MAX_TEXT
    if len(value) > longest:
        raise field.refuse(
            Text("is longer than {limit} characters", limit=longest), place=place
        )
    if field.no_colon and ":" in value:
        # RFC 7617 §2: the first colon ends the user name.
        raise field.refuse(
            Text("contains a colon, which Basic authentication cannot send"),
            place=place,
        )
    if field.is_nullable and field.kind is Kind.TEXT and value == EMPTY_TEXT:
        return ""
    return value


def _parse_address(field: Field, value: object, place: str) -> str:
    """Return a URL, or an empty text."""
    text = _parse_text(field, value, place)
    if text:
        url = sample_of(text) if field.takes_variables else text
        URL_PARSERS[field.kind](url, place or field.path)
    return text


def parse_script(field: Field, value: object, place: str) -> str:
    """Return a script that signs requests, or an empty text."""
    if not isinstance(value, str):
        raise field.refuse(Text("must be text"), place=place)
    source = value.replace("\r\n", "\n")
    if not source.strip():
        return ""
    check_script(source)
    return source


def _parse_pairs(field: Field, value: object, place: str) -> dict[str, str]:
    """Return more parameters of a token request, or more claims of an assertion."""
    if not isinstance(value, Mapping) or not all(
        isinstance(text, str) for pair in value.items() for text in pair
    ):
        raise field.refuse(
            Text('must be texts by name, such as {{ account_id = "7" }}'), place=place
        )
    for name, text in value.items():
        if refusal := _REFUSALS[field.kind](name):
            raise field.refuse(refusal, place=place)
        if not name or CONTROL.search(name + text) or len(name + text) > MAX_TEXT:
            raise field.refuse(
                Text("contains an empty name, a control character or too long a text"),
                place=place,
            )
    return dict(value)


def _refusal_of_parameter(name: str) -> Text | None:
    """Return why a parameter cannot be an extra one of a token request."""
    lower = name.lower()
    if lower in WITH_FIELDS:
        return Text("must not contain {name}, which has a field of its own", name=name)
    if lower in MADE_BY_OUTKEY:
        return Text("must not contain {name}, which outkey sets itself", name=name)
    if lower == "password":
        return Text(
            "must not contain {name}, since these parameters are not secret", name=name
        )
    return None


def _refusal_of_claim(name: str) -> Text | None:
    """Return why a claim cannot be one of more claims."""
    if name in CLAIMS_OF_OUTKEY:
        return Text("must not contain {name}, which outkey sets itself", name=name)
    return None


_REFUSALS: Mapping[Kind, Callable[[str], Text | None]] = {
    Kind.PAIRS: _refusal_of_parameter,
    Kind.CLAIMS: _refusal_of_claim,
}


def _parse_texts(field: Field, value: object, place: str) -> object:
    """Return texts by name, or what the field makes of them."""
    if not isinstance(value, Mapping):
        raise field.refuse(
            Text('must be texts by name, such as {{ active = "true" }}'), place=place
        )
    texts = {
        _parse_text(field, name, place): _parse_text(field, text, f"{place}.{name}")
        for name, text in value.items()
    }
    return texts if field.make is None else field.make(texts)


def _parse_list(field: Field, value: object, place: str) -> tuple[str, ...]:
    """Return a list of texts."""
    return tuple(
        _parse_text(field, text, f"{place or field.path}[{number}]")
        for number, text in enumerate(_limited_list(field, value, place))
    )


def _parse_names(field: Field, value: object, place: str) -> tuple[str, ...]:
    """Return one text or a list of texts as a list."""
    if isinstance(value, str):
        return (_parse_text(field, value, place),) if value else ()
    return _parse_list(field, value, place)


def _parse_nested_table(field: Field, value: object, place: str) -> object:
    """Return the table, read by its own fields and converted by `make`."""
    values = read_table(field.parts, value, f"{place}.")
    return values if field.make is None else field.make(values)


def _parse_tables(field: Field, value: object, place: str) -> tuple[object, ...]:
    """Return the tables of a list, each as `_parse_nested_table` returns it."""
    return tuple(
        _parse_nested_table(field, table, f"{place or field.path}[{number}]")
        for number, table in enumerate(_limited_list(field, value, place))
    )


def _limited_list(field: Field, value: object, place: str) -> list[object]:
    """Return a list of limited length; a tuple is one that was read before."""
    longest = int(field.maximum) or MAX_LIST
    if not isinstance(value, list | tuple) or len(value) > longest:
        raise field.refuse(
            Text("must be a list of at most {limit}", limit=longest), place=place
        )
    return list(value)


def _parse_choice(field: Field, value: object, place: str) -> Choice:
    """Return one of the field's choices."""
    for choice in field.options or ():
        if value == choice:
            return choice
    names = ", ".join(name for name, _ in field.choices)
    raise field.refuse(Text("must be one of: {names}", names=names), place=place)


def _parse_flag(field: Field, value: object, place: str) -> bool:
    """Return true or false."""
    if not isinstance(value, bool):
        raise field.refuse(Text("must be true or false"), place=place)
    return value


def _parse_number(field: Field, value: object, place: str) -> float:
    """Return a number within the field's limits; only seconds have fractions."""
    takes_fraction = field.kind is Kind.SECONDS
    if isinstance(value, int | float) and not isinstance(value, bool):
        is_fitting = takes_fraction or isinstance(value, int)
        # NaN is refused too, because every comparison with it is false.
        if is_fitting and field.minimum <= value <= field.maximum:
            return value
    low = f"{field.minimum:.10g}"
    high = f"{field.maximum:.10g}"
    problem = Text("must be a whole number from {low} to {high}", low=low, high=high)
    if takes_fraction:
        problem = Text("must be a number from {low} to {high}", low=low, high=high)
    raise field.refuse(problem, place=place)


def parse_date(field: Field, value: object, place: str) -> date:
    """Return a date; one with a time counts as its day."""
    if isinstance(value, datetime):
        return value.date()
    if not isinstance(value, date):
        raise field.refuse(
            Text("must be a date such as 2027-01-31, without quotes"), place=place
        )
    return value


def _parse_method(field: Field, value: object, place: str) -> str:
    """Return an HTTP method in upper case."""
    return check_method(value, field=place or field.path)


def check_method(value: object, *, field: str) -> str:
    """Return an HTTP method in upper case, or refuse the value."""
    if not isinstance(value, str) or not METHOD.fullmatch(value.upper()):
        raise ConfigError(Text("must be an HTTP method such as GET"), field=field)
    # CONNECT opens a tunnel, and TRACE sends credentials back in a body.
    if value.upper() in {"CONNECT", "TRACE"}:
        raise ConfigError(Text("must not be CONNECT or TRACE"), field=field)
    return value.upper()


def _parse_statuses(field: Field, value: object, place: str) -> str:
    """Return HTTP statuses and ranges of them."""
    text = value if isinstance(value, str) else ""
    try:
        parse_ranges(text)
    except ConfigError as error:
        raise field.refuse(error.message, place=place, hint=error.hint) from None
    return text


URL_PARSERS = {
    Kind.URL: parse_base_url,
    Kind.ENDPOINT: parse_endpoint,
    Kind.PROXY: parse_proxy_url,
}
MULTI_LINE = frozenset({Kind.LONG_TEXT, Kind.TEXTS, Kind.LIST})
PARSERS: dict[Kind, Callable[[Field, object, str], object]] = {
    Kind.TEXT: _parse_text,
    Kind.LONG_TEXT: _parse_text,
    Kind.URL: _parse_address,
    Kind.ENDPOINT: _parse_address,
    Kind.PROXY: _parse_address,
    Kind.CHOICE: _parse_choice,
    Kind.FLAG: _parse_flag,
    Kind.SECONDS: _parse_number,
    Kind.INTEGER: _parse_number,
    Kind.DATE: parse_date,
    Kind.METHOD: _parse_method,
    Kind.STATUSES: _parse_statuses,
    Kind.SCRIPT: parse_script,
    Kind.PAIRS: _parse_pairs,
    Kind.CLAIMS: _parse_pairs,
    Kind.TEXTS: _parse_texts,
    Kind.LIST: _parse_list,
    Kind.NAMES: _parse_names,
    Kind.TABLE: _parse_nested_table,
    Kind.TABLES: _parse_tables,
}
AUDITED_KINDS: dict[Kind, Audited] = {
    **dict.fromkeys(URL_PARSERS, Audited.URL),
    Kind.CHOICE: Audited.VALUE,
    Kind.FLAG: Audited.VALUE,
    Kind.SECONDS: Audited.VALUE,
    Kind.INTEGER: Audited.VALUE,
    Kind.DATE: Audited.VALUE,
    Kind.METHOD: Audited.VALUE,
    Kind.STATUSES: Audited.VALUE,
}
EMPTY_VALUES: dict[Kind, object] = {
    **dict.fromkeys((Kind.TEXT, Kind.LONG_TEXT, *URL_PARSERS, Kind.SCRIPT), ""),
    Kind.FLAG: False,
    Kind.PAIRS: {},
    Kind.CLAIMS: {},
    Kind.TEXTS: {},
    Kind.LIST: (),
    Kind.NAMES: (),
    Kind.TABLES: (),
    Kind.ROWS: (),
}
