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
)
