"""The digest of the settings that the checkpoint of a run depends on.

A run may continue from its position, and an incremental run from the cursor of the
last one, only while the digest of the line is the same: another path, field or script
would give other records, or make something else of them.
"""

import hashlib
import json
from collections.abc import Callable
from uuid import UUID

from outkey.sending.core.configuration.configuration import Configuration
from outkey.sync.core.line.line import SyncLine
from outkey.sync.core.line.table import sync_table

# These change when and how fast a line runs, not which records come and as what.
# A push that reached a limit continues when the limit is raised.
INDEPENDENT_KEYS = frozenset(
    {
        "schedule",
        "drift",
        "parallel",
        "max_records",
        "max_minutes",
        "guard_percent",
        "full_every",
        "feed",
    }
)

SOURCE_KEYS = frozenset({"query", "body", "records", "pagination", "response", "job"})


def line_digest(line: SyncLine, configuration: Configuration) -> str:
    """Return a digest of all that decides which records a line brings, and as what.

    It is stored with every run: changing it makes each line begin again.
    """
    return _digest(line, configuration, lambda key: key not in INDEPENDENT_KEYS)


def source_digest(line: SyncLine, configuration: Configuration) -> str:
    """Return a digest of the request that decides which shape records have.

    Another mapping or target leaves it as it is.
    """
    return _digest(line, configuration, SOURCE_KEYS.__contains__)


def _digest(
    line: SyncLine, configuration: Configuration, is_relevant: Callable[[str], bool]
) -> str:
    """Return a digest of a line's request and the relevant keys of its settings."""
    table = {} if line.sync is None else sync_table(line.sync)
    relevant = {key: value for key, value in table.items() if is_relevant(key)}
    facts = [_record_id(configuration), line.method, line.path, relevant]
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()


def _record_id(configuration: Configuration) -> str:
    """Return the id of the configuration as version 0.1 wrote it into digests."""
    try:
        return str(UUID(configuration.record))
    except ValueError:  # a host with other ids than UUIDs
        return configuration.record
