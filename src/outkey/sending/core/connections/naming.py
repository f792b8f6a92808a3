"""Whether a connection must be named for a request, or may be named at all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from outkey.foundation.core.errors import ConnectionMissing, UnknownConnection
from outkey.foundation.core.fields.choices import Connections
from outkey.foundation.core.text import Text

if TYPE_CHECKING:
    from outkey.sending.core.configuration.configuration import Configuration


def refuse_missing_connection(configuration: Configuration) -> None:
    """Raise ConnectionMissing where a connection must be named and none was."""
    if configuration.needs_connection:
        raise ConnectionMissing(field="connection")


def refuse_without_connections(configuration: Configuration) -> None:
    """Raise UnknownConnection if a configuration has no connections at all."""
    if configuration.connections is Connections.NONE:
        raise UnknownConnection(
            Text("the configuration has no connections"),
            hint=Text("Set Connections (connections) to optional or required first."),
            field="connections",
        )
