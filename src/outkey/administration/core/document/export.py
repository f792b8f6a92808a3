"""Writing configurations and sync lines as the TOML that `document.py` reads.

References are written as they are. A stored secret is a comment with the time when it
was set, so that the output can be stored, compared and applied elsewhere.
"""

from collections.abc import Iterable

from outkey.foundation.core.toml.text import section_lines, toml_key
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.configuration.text import configuration_lines
from outkey.sending.core.connections.drafts import connection_lines
from outkey.sync.core.databases.section import OtherDatabase, database_table
from outkey.sync.core.line.line import SyncLine
from outkey.sync.core.line.section import sync_line_lines
from outkey.sync.core.pairs.section import Pair, pair_table
from outkey.webhooks.core.settings.stored import StoredWebhook, webhook_lines


def render(
    configurations: Iterable[Configuration],
    lines: Iterable[SyncLine],
    databases: Iterable[OtherDatabase] = (),
    pairs: Iterable[Pair] = (),
    webhooks: Iterable[StoredWebhook] = (),
    connections: Iterable[Configuration] = (),
) -> str:
    """Return the document that describes these configurations and lines.

    The connections are configurations with an account.
    """
    parts = [configuration_lines(configuration) for configuration in configurations]
    parts += [connection_lines(connection) for connection in connections]
    parts += [
        section_lines(f"database.{database.name}", database_table(database))
        for database in databases
    ]
    parts += [sync_line_lines(line) for line in lines]
    parts += [
        section_lines(f"pair.{toml_key(pair.name)}", pair_table(pair)) for pair in pairs
    ]
    parts += [webhook_lines(webhook) for webhook in webhooks]
    return "\n".join("\n".join(part) + "\n" for part in parts)
