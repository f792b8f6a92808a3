"""The section `[database.NAME]` of a document, and which URLs it may have."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from urllib.parse import unquote

from outkey.foundation.core.errors import ConfigError, OutkeyError
from outkey.foundation.core.fields.field_kinds import Field, Kind, LineTab, read_table
from outkey.foundation.core.text import Text
from outkey.sending.core.configuration.reference import is_reference, parse_reference
from outkey.sync.core.databases.urls import refuse_unsafe_literal
from outkey.sync.core.line.table import written_table
from outkey.sync.core.mapping.targets import NAME

# As SQLAlchemy reads a URL: up to the first @, with any character in between. The path
# of SQLite, after three slashes, may have both of them.
PASSWORD_IN_URL = re.compile(r"://(?!/)[^@]*:[^@]+@")
PASSWORD_IN_QUERY = re.compile(r"[?&;](.*passw\w*|pass)\s*=", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class OtherDatabase:
    """A database that the operator names, for tables."""

    name: str
    url: str = ""  # of SQLAlchemy, or a reference to it
    adopt: tuple[str, ...] = ()  # existing tables that lines may write
    # Why it must not be opened: it was changed without outkey, or outkey is sealed.
    error: OutkeyError | None = field(default=None, compare=False)


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


def database_table(database: OtherDatabase) -> dict[str, object]:
    """Return the table that `read_database` reads."""
    return written_table(DATABASE_FIELDS, database)
