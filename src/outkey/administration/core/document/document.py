"""The TOML document of configurations and sync lines, read into values.

The grammar is the tables of fields; a key that they do not name is refused, and no
message repeats a value.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from dataclasses import field as attribute

from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.fields.field_kinds import refuse_unknown_keys
from outkey.foundation.core.text import Text
from outkey.foundation.core.toml.parsing import parse_toml
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.configuration.drafts import ConfigurationDraft, read_draft
from outkey.sending.core.connections.drafts import (
    SECTION,
    ConnectionDraft,
    read_connections,
)
from outkey.sync.core.databases.section import (
    OtherDatabase,
    read_database,
    refuse_unsafe_url,
)
from outkey.sync.core.line.line import SyncLine
from outkey.sync.core.line.section import read_line
from outkey.sync.core.pairs.section import Pair, read_pair
from outkey.webhooks.core.settings.section import read_webhook
from outkey.webhooks.core.settings.settings import Webhook

MAX_DOCUMENT = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Document:
    """The contents of one TOML document."""

    drafts: tuple[ConfigurationDraft, ...]
    lines: tuple[SyncLine, ...]
    databases: tuple[OtherDatabase, ...] = ()
    pairs: tuple[Pair, ...] = ()
    webhooks: tuple[Webhook, ...] = ()
    # The accounts below configurations, by the name of the configuration.
    connections: Mapping[str, tuple[ConnectionDraft, ...]] = attribute(
        default_factory=dict
    )
    # The keys that it names of each section, by the section's place: line.orders.
    # Configurations are not among them: what is not named of one is not changed.
    named_keys: Mapping[str, frozenset[str]] = attribute(default_factory=dict)

    def configurations(self) -> list[Configuration]:
        """Return the configurations and their accounts, where nothing is stored."""
        configurations = [draft.configuration() for draft in self.drafts]
        return [
            *configurations,
            *(
                connection.merged(configuration)
                for configuration in configurations
                for connection in self.connections.get(configuration.name, ())
            ),
        ]


def parse_document(text: str) -> Document:
    """Read a document; the first mistake is a ConfigError that names its place."""
    tree = parse_toml(text, longest=MAX_DOCUMENT)
    refuse_unknown_keys(tree, ["configuration", "database", "line", "pair", "webhook"])
    configurations = dict(_tables_of(tree, "configuration"))
    drafts = tuple(
        read_draft(name, {key: table[key] for key in table if key != SECTION})
        for name, table in configurations.items()
    )
    connections = {
        name: tuple(read_connections(name, table[SECTION]))
        for name, table in configurations.items()
        if SECTION in table
    }
    lines = tuple(read_line(name, table) for name, table in _tables_of(tree, "line"))
    databases = tuple(
        read_database(name, table, f"database.{name}.")
        for name, table in _tables_of(tree, "database")
    )
    for database in databases:
        refuse_unsafe_url(database)
    pairs = tuple(
        read_pair(name, table, f"pair.{name}.")
        for name, table in _tables_of(tree, "pair")
    )
    webhooks = tuple(
        read_webhook(name, table, f"webhook.{name}.")
        for name, table in _tables_of(tree, "webhook")
    )
    named_keys = {
        f"{section}.{name}": frozenset(table)
        for section in ("database", "line", "pair", "webhook")
        for name, table in _tables_of(tree, section)
    }
    return Document(
        drafts,
        lines,
        databases=databases,
        pairs=pairs,
        webhooks=webhooks,
        connections=connections,
        named_keys=named_keys,
    )


def _tables_of(
    tree: Mapping[str, object], key: str
) -> Iterator[tuple[str, Mapping[str, object]]]:
    """Yield the tables below a key of the document by their names."""
    tables = tree.get(key, {})
    if not isinstance(tables, dict):
        raise ConfigError(Text("[{key}.NAME] must be a table", key=key), field=key)
    for name, table in tables.items():
        if not isinstance(table, dict):
            raise ConfigError(
                Text("[{key}.{name}] must be a table", key=key, name=name), field=key
            )
        yield name, table
