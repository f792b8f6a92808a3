"""The tables of configurations, sync lines, secrets, keys, tokens and shared states."""

import json
from collections.abc import Collection, Mapping
from dataclasses import asdict
from datetime import date
from sqlite3 import Row
from typing import Any

from outkey.foundation.core.shared_state import SharedState, StateKind
from outkey.foundation.core.state_shapes import read_state
from outkey.foundation.core.text import Text
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.configuration.custom_rows import CustomHeader
from outkey.sending.core.configuration.health import Health, Summary
from outkey.sending.core.configuration.rows import ConfigurationRow
from outkey.sending.core.connections.connection import Connection, ConnectionQuery
from outkey.sending.core.vault.envelope import (
    TokenRow,
    key_name_of,
    secret_place,
    token_place,
)
from outkey.sending.core.vault.versions import SecretVersion
from outkey.sending.core.vault.voucher import VOUCHER_FIELD
from outkey.sync.core.line.history import LineVersion
from outkey.sync.core.line.rows import LineRow
from third_host.database import Table

# A list of values is one JSON text, so that there can be any number of them.
IN_LIST = "({0} IN (SELECT value FROM json_each(:{0}s)) OR :{0}s IS NULL)"
NAMES = IN_LIST.format("name")
RECORDS = IN_LIST.format("record")
KEYS = IN_LIST.format("key")
LISTED = ("base_url", "authentication_type", "environment", "network", "owner")
COMPARED = ("record", "field", "version", "origin", "label", "sealed")
CHANGED = ("label", "sealed", "key_name")


class ConfigurationTable(Table):
    """Configurations. A transaction locks all of them: `lock` needs nothing more."""

    def find(
        self,
        *,
        names: Collection[str] | None = None,
        records: Collection[str] | None = None,
        lock: bool = False,
    ) -> list[ConfigurationRow]:
        where = f"{NAMES} AND {RECORDS}"
        if names is None and records is None:
            where = "parent IS NULL"
        query = f"SELECT * FROM configuration WHERE {where} ORDER BY name"
        rows = self.database.rows(query, names=names, records=records)
        return [configuration_row(row) for row in rows]

    def connections(
        self, configuration: str, query: ConnectionQuery
    ) -> list[ConfigurationRow]:
        rows = self.database.rows(
            "SELECT * FROM configuration WHERE parent = :parent"
            " AND connection_id > :after AND connection_id GLOB :prefix"
            " AND (:owner IS NULL OR owner = :owner)"
            " AND (:state IS NULL OR connection_state = :state)"
            " ORDER BY connection_id LIMIT :limit",
            parent=configuration,
            after=query.after,
            prefix=f"{query.prefix}*",  # no id has a character that GLOB reads
            owner=query.owner,
            state=query.state,
            limit=query.limit,
        )
        return [configuration_row(row) for row in rows]

    def swap(
        self, before: ConfigurationRow | None, after: ConfigurationRow | None
    ) -> bool:
        old = None if before is None else stamp_of(before)
        new = None if after is None else configuration_columns(after)
        return self.database.swap("configuration", old, new)

    def summaries(self) -> list[Summary]:
        rows = self.database.rows(
            f"SELECT name, {', '.join(LISTED)}, health FROM configuration"
            " WHERE parent IS NULL ORDER BY name"
        )
        return [Summary._make((*row[:-1], health_of(row["health"]))) for row in rows]


class LineTable(Table):
    """Sync lines."""

    def find(self, names: Collection[str] | None = None) -> list[LineRow]:
        where = NAMES.replace("(name", "(line.name", 1)
        query = (
            "SELECT line.*, configuration.record FROM line JOIN configuration"
            f" ON configuration.name = line.configuration WHERE {where}"
            " ORDER BY line.name"
        )
        rows = self.database.rows(query, names=names)
        return [
            LineRow(**dict(row) | {"sync": row["sync"] and json.loads(row["sync"])})
            for row in rows
        ]

    def swap(self, before: LineRow | None, after: LineRow | None) -> bool:
        old = None if before is None else {"name": before.name}
        new = None if after is None else line_columns(after)
        return self.database.swap("line", old, new)

    def versions(self, name: str, limit: int) -> list[LineVersion]:
        rows = self.database.rows(
            "SELECT * FROM line_version WHERE line = :name"
            " ORDER BY number DESC LIMIT :limit",
            name=name,
            limit=limit,
        )
        return [
            LineVersion(**dict(row) | {"summary": Text.from_json(row["summary"])})
            for row in rows
        ]

    def add_version(self, version: LineVersion, oldest: int) -> bool:
        columns = asdict(version) | {"summary": version.summary.to_json()}
        if not self.database.swap("line_version", None, columns):
            return False
        self.database.write(
            "DELETE FROM line_version WHERE line = :line AND number < :oldest",
            line=version.line,
            oldest=oldest,
        )
        return True


class SecretTable(Table):
    """Ciphertexts; those of tokens are in their own table."""

    def read(self, records: Collection[str], field: str = "") -> list[SecretVersion]:
        sealed = "sealed" if field else "NULL AS sealed"
        rows = self.database.rows(
            "SELECT record, field, version, origin, label, reference, set_at, set_by,"
            f" {sealed} FROM secret WHERE {RECORDS} AND :field IN ('', field)",
            records=records,
            field=field,
        )
        return [secret_version(row) for row in rows]

    def swap(self, before: SecretVersion | None, after: SecretVersion | None) -> bool:
        new = None if after is None else secret_columns(after)
        if before is None:
            return self.database.swap("secret", None, new)
        columns = secret_columns(before)
        if before.place.table == "secret":
            old = {name: columns[name] for name in COMPARED}
            changed = new and {name: new[name] for name in CHANGED}
            return self.database.swap("secret", old, changed)
        place = {"record": columns["record"], "serial": columns["version"]}
        sealed = new and {name: new[name] for name in ("sealed", "key_name")}
        return self.database.swap("token", place | {"sealed": before.sealed}, sealed)

    def sealed_by_others(self, key: str, limit: int) -> list[SecretVersion]:
        others = "WHERE key_name != :key ORDER BY rowid LIMIT :limit"
        query = f"SELECT * FROM secret {others}"
        rows = self.database.rows(query, key=key, limit=limit)
        versions = [secret_version(row) for row in rows]
        for record, serial, origin, sealed in self.database.rows(
            f"SELECT record, serial, origin, sealed FROM token {others}",
            key=key,
            limit=limit - len(versions),
        ):
            place = token_place(record, serial, origin)
            versions.append(SecretVersion(place, sealed=sealed))
        return versions

    def key_uses(self, *, vouchers: bool = False) -> dict[str, int]:
        rows = self.database.rows(
            "SELECT key_name, count(*) FROM ("
            " SELECT key_name FROM secret WHERE :vouchers OR field != :voucher"
            " UNION ALL SELECT key_name FROM token"
            ") WHERE key_name IS NOT NULL GROUP BY key_name",
            vouchers=vouchers,
            voucher=VOUCHER_FIELD,
        )
        return dict(map(tuple, rows))

    def needs_key(self) -> bool:
        rows = self.database.rows(
            "SELECT 1 FROM secret WHERE sealed IS NOT NULL UNION ALL"
            " SELECT 1 FROM token WHERE sealed IS NOT NULL UNION ALL"
            " SELECT 1 FROM audit LIMIT 1"
        )
        return bool(list(rows))


class KeyTable(Table):
    """The keys that this database was used with."""

    def read(self) -> dict[str, bytes]:
        rows = self.database.rows("SELECT name, check_value FROM known_key")
        return dict(map(tuple, rows))

    def add(self, keys: Mapping[str, bytes]) -> None:
        for name, value in keys.items():  # a name that is taken is not inserted
            self.database.swap("known_key", None, {"name": name, "check_value": value})


class TokenTable(Table):
    """Tokens, one row a configuration."""

    def read(self, configuration: Configuration) -> TokenRow | None:
        rows = self.database.rows(
            "SELECT generation, serial, origin, sealed, facts FROM token"
            " WHERE record = :record",
            record=configuration.record,
        )
        for generation, serial, origin, sealed, facts in rows:
            return TokenRow(generation, serial, origin, sealed, json.loads(facts))
        return None

    def swap(
        self, configuration: Configuration, generation: int, row: TokenRow
    ) -> bool:
        new = asdict(row) | {"key_name": key_name(row.sealed)}
        del new["error"]  # of a check
        old: dict[str, object] = {"record": configuration.record}
        if not generation:
            return self.database.swap("token", None, old | new)
        old["generation"] = generation
        # The bytes of the same token stay: a key rotation may have changed them.
        facts = {name: new[name] for name in ("generation", "facts")}
        return self.database.swap(
            "token", old | {"serial": row.serial}, facts
        ) or self.database.swap("token", old, new)


class StateTable(Table):
    """Small values that all processes share."""

    def read(
        self, kind: StateKind, keys: Collection[str] | None = None
    ) -> dict[str, SharedState]:
        query = f"SELECT * FROM state WHERE kind = :kind AND {KEYS}"
        rows = self.database.rows(query, kind=kind, keys=keys)
        return {
            row["key"]: read_state(kind, row["generation"], row["value"])
            for row in rows
        }

    def swap(
        self, kind: StateKind, key: str, generation: int, value: Mapping[str, Any]
    ) -> bool:
        old = {"kind": kind, "key": key, "generation": generation}
        new = old | {"generation": generation + 1, "value": value}
        return self.database.swap("state", old if generation else None, new)

    def put(
        self, kind: StateKind, values: Mapping[str, Mapping[str, Any] | None]
    ) -> None:
        delete = "DELETE FROM state WHERE kind = :kind AND key = :key"
        store = (
            "INSERT INTO state (kind, key, generation, value)"
            " VALUES (:kind, :key, 1, :value) ON CONFLICT DO UPDATE"
            " SET value = excluded.value, generation = generation + 1"
        )
        with self.database.transaction():
            for key, value in values.items():
                statement = delete if value is None else store
                self.database.write(statement, kind=kind, key=key, value=value)


def line_columns(row: LineRow) -> dict[str, object]:
    """Return the columns of a line."""
    columns = asdict(row)
    for name in ("record", "error"):  # of its configuration, and of a check
        del columns[name]
    return columns


def stamp_of(row: ConfigurationRow) -> dict[str, object]:
    """Return the columns that a swap of a configuration compares."""
    return {"record": row.record, **row.stamp._asdict()}


def configuration_columns(row: ConfigurationRow) -> dict[str, object]:
    """Return the columns of a configuration; what lists show is in its settings too."""
    listed = {name: row.settings.get(name, "") for name in LISTED}
    columns = asdict(row) | stamp_of(row) | listed
    del columns["odd"]  # of reading it
    del columns["seen_voucher"]  # of the home, not of the database
    if row.connection is not None:
        columns["owner"] = row.connection.owner
        columns["parent"] = row.connection.configuration
        columns["connection_id"] = row.connection.id
        columns["connection_state"] = row.connection_state
    return columns


def configuration_row(row: Row) -> ConfigurationRow:
    """Return a configuration as core has it."""
    return ConfigurationRow(
        record=row["record"],
        name=row["name"],
        version=row["version"],
        revision=row["revision"],
        settings=json.loads(row["settings"]),
        headers=tuple(CustomHeader(**header) for header in json.loads(row["headers"])),
        health=health_of(row["health"]),
        connection=row["connection"] and Connection(**json.loads(row["connection"])),
    )


def health_of(text: str) -> Health:
    """Return a health that is stored as JSON, which has texts for dates."""
    facts = json.loads(text)
    day = facts.pop("expires_on")
    return Health(**facts, expires_on=day and date.fromisoformat(day))


def secret_columns(version: SecretVersion) -> dict[str, object]:
    """Return the columns of a version."""
    columns = asdict(version)
    place = columns.pop("place")
    del place["table"]
    return {**place, **columns, "key_name": key_name(version.sealed)}


def secret_version(row: Row) -> SecretVersion:
    """Return a version as core has it."""
    return SecretVersion(
        place=secret_place(row["record"], row["field"], row["version"], row["origin"]),
        label=row["label"],
        sealed=row["sealed"],
        reference=row["reference"],
        set_at=row["set_at"],
        set_by=row["set_by"],
    )


def key_name(sealed: bytes | None) -> str | None:
    """Return the name of the key that seals a ciphertext."""
    return None if sealed is None else key_name_of(sealed)
