"""Rows of configurations, lines, secrets and keys in memory, and their registry."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from operator import attrgetter

from outkey.foundation.adapters.clock_system import SystemClock
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.configuration.health import Summary
from outkey.sending.core.configuration.rows import ConfigurationRow
from outkey.sending.core.connections.connection import ConnectionQuery
from outkey.sending.core.vault.envelope import named_key
from outkey.sending.core.vault.versions import SecretVersion
from outkey.sending.core.vault.voucher import VOUCHER_FIELD
from outkey.sync.core.line.history import LineVersion
from outkey.sync.core.line.line import SyncLine
from outkey.sync.core.line.rows import LineRow
from outkey.sync.engine.line_registry import Registry
from outkey.sync.ports.sync import Storage
from outkey.testing.fakes.basic import FakeClock, MemoryDatabase


class MemoryLineRows:
    """Sync lines in a dictionary."""

    def __init__(self) -> None:
        self.rows: dict[str, LineRow] = {}
        self.versions_of: dict[str, tuple[LineVersion, ...]] = {}
        self.record_of: Callable[[str], str] = lambda _: ""  # of a configuration

    def find(self, names: Collection[str] | None = None) -> list[LineRow]:
        wanted = self.rows.keys() if names is None else self.rows.keys() & set(names)
        rows = [self.rows[name] for name in sorted(wanted)]
        return [replace(row, record=self.record_of(row.configuration)) for row in rows]

    def swap(self, before: LineRow | None, after: LineRow | None) -> bool:
        if before is None:
            if after is None or after.name in self.rows:
                return False
        elif self.rows.pop(before.name, None) is None:
            return False
        versions = self.versions_of.pop(before.name, ()) if before else ()
        if after is not None:
            self.rows[after.name] = after
            self.versions_of[after.name] = tuple(
                replace(version, line=after.name) for version in versions
            )
        return True

    def versions(self, name: str, limit: int) -> list[LineVersion]:
        return list(self.versions_of.get(name, ())[:limit])

    def add_version(self, version: LineVersion, oldest: int) -> bool:
        stored = self.versions_of.get(version.line, ())
        numbers = [other.number for other in stored]
        if version.line not in self.rows or version.number in numbers:
            return False
        kept = [other for other in (version, *stored) if other.number >= oldest]
        kept.sort(key=attrgetter("number"), reverse=True)
        self.versions_of[version.line] = tuple(kept)
        return True

    def follow(self, configuration: str, new_name: str) -> None:
        """Keep the lines of a configuration that is renamed."""
        for name, row in self.rows.items():
            if row.configuration == configuration:
                self.rows[name] = replace(row, configuration=new_name)


class MemorySecretRows:
    """Versions of secrets in a dictionary, by record, field and number."""

    def __init__(self) -> None:
        self.rows: dict[tuple[str, str, int], SecretVersion] = {}

    def read(self, records: Collection[str], field: str = "") -> list[SecretVersion]:
        return [
            row if field else _without_ciphertext(row)
            for row in self.rows.values()
            if row.place.record in records and field in {"", row.place.field}
        ]

    def swap(self, before: SecretVersion | None, after: SecretVersion | None) -> bool:
        if before is None:
            if after is None or _key(after) in self.rows:
                return False
            self.rows[_key(after)] = after
            return True
        stored = self.rows.get(_key(before))
        if stored != before:
            return False
        if after is None:
            del self.rows[_key(before)]
        else:
            changed = replace(before, label=after.label, sealed=after.sealed)
            self.rows[_key(before)] = changed
        return True

    def sealed_by_others(self, key: str, limit: int) -> list[SecretVersion]:
        rows = [
            row
            for row in self.rows.values()
            if row.sealed is not None and named_key(row.sealed) != key
        ]
        return rows[:limit]

    def key_uses(self, *, vouchers: bool = False) -> dict[str, int]:
        return Counter(
            named_key(row.sealed)
            for row in self.rows.values()
            if row.sealed is not None and (vouchers or row.place.field != VOUCHER_FIELD)
        )

    def needs_key(self) -> bool:
        return any(row.sealed is not None for row in self.rows.values())


class MemoryKeyRows:
    """Check values of keys in a dictionary."""

    def __init__(self) -> None:
        self.rows: dict[str, bytes] = {}

    def read(self) -> dict[str, bytes]:
        return dict(self.rows)

    def add(self, keys: Mapping[str, bytes]) -> None:
        self.rows = {**keys, **self.rows}


class MemoryConfigurationRows:
    """Configurations in a dictionary, with the rows that are deleted with them."""

    def __init__(self, lines: MemoryLineRows, secrets: MemorySecretRows) -> None:
        self.rows: dict[str, ConfigurationRow] = {}
        self._of_configurations = (lines, secrets)
        lines.record_of = lambda name: self.rows[name].record

    def find(
        self,
        *,
        names: Collection[str] | None = None,
        records: Collection[str] | None = None,
        lock: bool = False,
    ) -> list[ConfigurationRow]:
        return [
            row
            for name, row in sorted(self.rows.items())
            if (names is None or name in names)
            and (records is None or row.record in records)
            and (row.connection is None or names is not None or records is not None)
        ]

    def connections(
        self, configuration: str, query: ConnectionQuery
    ) -> list[ConfigurationRow]:
        rows = {
            row.connection.id: row
            for row in self.rows.values()
            if row.connection is not None
            and row.connection.configuration == configuration
            and row.connection.id > query.after
            and row.connection.id.startswith(query.prefix)
            and query.owner in {None, row.connection.owner}
            and query.state in {None, row.connection_state}
        }
        return [rows[name] for name in sorted(rows)][: query.limit]

    def swap(
        self, before: ConfigurationRow | None, after: ConfigurationRow | None
    ) -> bool:
        if before is None:
            if after is None or after.name in self.rows:
                return False
        else:
            stored = self.rows.get(before.name)
            if stored is None or (stored.record, stored.stamp) != (
                before.record,
                before.stamp,
            ):
                return False
        if after is None:
            self._delete(before)  # type: ignore[arg-type]  # one of the two is given
            return True
        if before is not None and before.name != after.name:
            del self.rows[before.name]
            lines, _ = self._of_configurations
            lines.follow(before.name, after.name)
        self.rows[after.name] = after
        return True

    def summaries(self) -> list[Summary]:
        return [
            Summary(
                name,
                str(row.settings["base_url"]),
                str(row.settings["authentication_type"]),
                str(row.settings["environment"]),
                str(row.settings["network"]),
                str(row.settings["owner"]),
                row.health,
            )
            for name, row in sorted(self.rows.items())
            if row.connection is None
        ]

    def _delete(self, row: ConfigurationRow) -> None:
        lines, secrets = self._of_configurations
        for line in lines.find():
            if line.configuration == row.name:
                lines.swap(line, None)
        del self.rows[row.name]
        for key in [key for key in secrets.rows if key[0] == row.record]:
            del secrets.rows[key]
        for other in list(self.rows.values()):
            connection = other.connection
            if connection is not None and connection.configuration == row.record:
                self._delete(other)


class MemoryStorage(Storage):
    """Rows in memory, with their own types."""

    configurations: MemoryConfigurationRows
    lines: MemoryLineRows
    secrets: MemorySecretRows
    keys: MemoryKeyRows


def memory_storage(
    *,
    lines: MemoryLineRows | None = None,
    secrets: MemorySecretRows | None = None,
) -> MemoryStorage:
    """Return rows in memory, of one database; those that are not given are empty."""
    lines = lines or MemoryLineRows()
    secrets = secrets or MemorySecretRows()
    configurations = MemoryConfigurationRows(lines, secrets)
    keys = MemoryKeyRows()
    return MemoryStorage(
        MemoryDatabase(FakeClock(), configurations, lines, secrets, keys),
        configurations,
        secrets,
        keys,
        lines,
    )


def memory_registry(
    configurations: Iterable[Configuration] = (),
    lines: Iterable[SyncLine] = (),
    storage: Storage | None = None,
) -> Registry:
    """Return a registry in memory with these configurations; nothing is cached."""
    registry = Registry(storage or memory_storage(), SystemClock(), fresh_seconds=0.0)
    for configuration in configurations:
        registry.add(configuration)
    for line in lines:
        registry.put_line(line)
    return registry


def _key(row: SecretVersion) -> tuple[str, str, int]:
    return row.place.record, row.place.field, row.place.version


def _without_ciphertext(row: SecretVersion) -> SecretVersion:
    return SecretVersion(
        place=row.place,
        label=row.label,
        reference=row.reference,
        set_at=row.set_at,
        set_by=row.set_by,
    )
