"""The sections `[database.NAME]` and `[pair.NAME]` of a document."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from urllib.parse import unquote

from outkey.foundation.core.errors import ConfigError, OutkeyError
from outkey.foundation.core.fields.choices import Choice
from outkey.foundation.core.fields.field_kinds import Field, Kind, LineTab, read_table
from outkey.foundation.core.text import Text
from outkey.sending.core.configuration.fields import BY_PATH
from outkey.sending.core.configuration.reference import is_reference, parse_reference
from outkey.sync.core.line.database_urls import refuse_unsafe_literal
from outkey.sync.core.line.table import written_table
from outkey.sync.core.mapping.targets import NAME

# As SQLAlchemy reads a URL: up to the first @, with any character in between. The path
# of SQLite, after three slashes, may have both of them.
PASSWORD_IN_URL = re.compile(r"://(?!/)[^@]*:[^@]+@")
PASSWORD_IN_QUERY = re.compile(r"[?&;](.*passw\w*|pass)\s*=", re.IGNORECASE | re.DOTALL)


class ConflictRule(Choice):
    """Which side wins if both have changed a record since they agreed."""

    API = "api", "The API's version"
    HOST = "host", "The host's version"
    NEWEST = "newest", "The version that was changed last"
    ASK = "ask", "A user decides"


@dataclass(frozen=True, slots=True)
class OtherDatabase:
    """A database that the operator names, for tables."""

    name: str
    url: str = ""  # of SQLAlchemy, or a reference to it
    adopt: tuple[str, ...] = ()  # existing tables that lines may write
    # Why it must not be opened: it was changed without outkey, or outkey is sealed.
    error: OutkeyError | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Pair:
    """Two lines that synchronize both directions of one thing."""

    name: str
    pull: str = ""
    push: str = ""
    conflict: ConflictRule = ConflictRule.API
    host_changed: str = ""  # the host's field with the time of a change
    api_changed: str = ""  # JMESPath of the time in the API's record
    # Why its lines must not run: it was changed without outkey, or outkey is sealed.
    error: OutkeyError | None = field(default=None, compare=False)

    def other(self, line: str) -> str:
        """Return the other line of the pair; "" for a line that is not in it."""
        return {self.pull: self.push, self.push: self.pull}.get(line, "")


records = partial(Field, LineTab.RECORDS)
DATABASE_FIELDS: tuple[Field, ...] = (
    records(
        "database.url",
        "Database URL",
        Kind.LONG_TEXT,
        required=True,
        is_always_written=True,
        help=(
            "The URL of the database, such as env:WAREHOUSE_URL for"
            " postgresql://user:password@host/name. A URL with a password must be a"
            " reference."
        ),
    ),
    records(
        "database.adopt",
        "Tables of others",
        Kind.LIST,
        help="Tables that outkey did not create and that lines may write.",
    ),
)
PAIR_FIELDS: tuple[Field, ...] = (
    records(
        "pair.pull",
        "Pull",
        Kind.LONG_TEXT,
        required=True,
        is_always_written=True,
        help="The line that brings records of the API; it runs first.",
    ),
    records(
        "pair.push",
        "Push",
        Kind.LONG_TEXT,
        required=True,
        is_always_written=True,
        help="The line that sends the records of the same target.",
    ),
    records(
        "pair.conflict",
        "Conflict",
        Kind.CHOICE,
        ConflictRule,
        default=ConflictRule.API,
        help="Which version of a record stays if both sides have changed it.",
    ),
    records(
        "pair.host_changed",
        "Time of the host's change",
        Kind.LONG_TEXT,
        help="The host's field with the time of its last change; newest needs it.",
    ),
    records(
        "pair.api_changed",
        "Time of the API's change",
        Kind.LONG_TEXT,
        help="JMESPath of that time in the API's record; newest needs it.",
    ),
)


def read_database(name: str, table: Mapping[str, object], place: str) -> OtherDatabase:
    """Read the table of one other database."""
    if not NAME.fullmatch(name):
        raise ConfigError(
            Text("the name of a database has letters, digits and underscores only"),
            field=place.removesuffix("."),
        )
    return OtherDatabase(name, **read_table(DATABASE_FIELDS, table, place))  # type: ignore[arg-type]


def refuse_unsafe_url(database: OtherDatabase) -> None:
    """Raise ConfigError for a URL that outkey must not store or open as it is.

    For a document, and again before a stored URL is used: not only outkey may have
    written the row. What a reference leads to is checked when it is resolved.
    """
    field = f"database.{database.name}.url"
    if is_reference(database.url):
        parse_reference(database.url, field=field)
        return
    if "://" not in database.url:
        raise ConfigError(
            Text("this is not the URL of a database"),
            hint=Text("Write env:NAME, or a URL such as sqlite:////folder/orders.db."),
            field=field,
        )
    if has_password(database.url):
        raise ConfigError(
            Text("a password must not stand in the document"),
            hint=Text("Put the URL into an environment variable: env:NAME."),
            field=field,
        )
    refuse_unsafe_literal(database.url, field=field)


def has_password(url: str) -> bool:
    """Whether a URL of a database has a password, or what could be one."""
    in_query = PASSWORD_IN_QUERY.search(unquote(url))
    return bool(PASSWORD_IN_URL.search(url) or in_query)


def read_pair(name: str, table: Mapping[str, object], place: str) -> Pair:
    """Read the table of one pair."""
    BY_PATH["name"].parse(name)
    pair = Pair(name, **read_table(PAIR_FIELDS, table, place))  # type: ignore[arg-type]
    for key in ("host_changed", "api_changed"):
        if pair.conflict is ConflictRule.NEWEST and not getattr(pair, key):
            raise ConfigError(
                Text("the rule newest needs the times of both changes"),
                hint=Text("Enter host_changed and api_changed."),
                field=f"{place}{key}",
            )
    return pair


def database_table(database: OtherDatabase) -> dict[str, object]:
    """Return the table that `read_database` reads."""
    return written_table(DATABASE_FIELDS, database)


def pair_table(pair: Pair) -> dict[str, object]:
    """Return the table that `read_pair` reads."""
    return written_table(PAIR_FIELDS, pair)
