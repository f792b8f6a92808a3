"""The fields of the tab Connections: the accounts under one configuration."""

from functools import partial

from outkey.foundation.core.fields import choices
from outkey.foundation.core.fields.field_kinds import Audited, Field, Kind, Tab

connections = partial(Field, Tab.CONNECTIONS)
CONNECTED = (("connections", ("optional", "required")),)

FIELDS: tuple[Field, ...] = (
    connections(
        "connections",
        "Connections",
        Kind.CHOICE,
        choices.Connections,
        default="none",
        help=(
            "Whether several accounts are connected under this configuration, such as"
            " those of your customers, each with credentials of its own."
        ),
    ),
    connections(
        "connect.shared",
        "Shared secrets",
        Kind.LIST,
        when=CONNECTED,
        audited=Audited.VALUE,
        help=(
            "Secrets of an account that all connections take from the configuration"
            " after all, such as header:X-App-Key."
        ),
    ),
    connections(
        "connect.own",
        "Own client",
        Kind.LIST,
        when=CONNECTED,
        audited=Audited.VALUE,
        help=(
            "client_id and client_secret where each connection has an OAuth client of"
            " its own."
        ),
    ),
    connections(
        "allowed_origins",
        "Allowed origins",
        Kind.LIST,
        when=CONNECTED,
        audited=Audited.VALUE,
        help=(
            "Where requests may go if a variable changes the origin of a URL, such as"
            " https://*.books.example."
        ),
    ),
    connections(
        "connect.variables",
        "Variables",
        Kind.TEXTS,
        when=CONNECTED,
        audited=Audited.NAME,
        help=(
            "Values of each account that URLs, paths and rows contain as {name}, with"
            " their sources: token:PATH, redirect:PARAMETER, request:PATH or entered."
        ),
    ),
    connections(
        "connect.account",
        "Account variable",
        Kind.TEXT,
        maximum=60,
        when=CONNECTED,
        audited=Audited.WHOLE,
        help=(
            "The variable that identifies an account: connecting again with another"
            " value is refused."
        ),
    ),
    connections(
        "connect.request_url",
        "Request after connecting",
        Kind.ENDPOINT,
        when=CONNECTED,
        help="A URL that is requested once to read variables from its response.",
    ),
)
