"""Configurations held in memory, as a TOML document or a test gives them."""

import threading
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from uuid import uuid4

from outkey.core.config import Configuration, SecretState, SyncLine
from outkey.core.envelope import SealedRow, key_name_of, secret_place
from outkey.core.errors import ConfigError, EditConflict, UnknownConfiguration


class MemoryRegistry:
    """Keeps configurations, sync lines and ciphertexts in dictionaries."""

    def __init__(
        self, configurations: Iterable[Configuration] = (), lines: Iterable[SyncLine] = ()
    ) -> None:
        self._lock = threading.Lock()
        self._configurations = {c.name: c for c in configurations}
        self._lines = {line.name: line for line in lines}
        self._sealed: dict[tuple[str, str], SealedRow] = {}

    def get(self, name: str) -> Configuration:
        """Return one configuration, or raise UnknownConfiguration."""
        try:
            return self._configurations[name]
        except KeyError:
            known = ", ".join(sorted(self._configurations)[:10]) or "none"
            raise UnknownConfiguration(hint=f"Known: {known}.") from None

    def line(self, name: str) -> SyncLine:
        """Return one sync line, or raise UnknownConfiguration."""
        try:
            return self._lines[name]
        except KeyError:
            raise UnknownConfiguration("there is no sync line of that name", field="line") from None

    def all(self) -> list[Configuration]:
        """Return every configuration, by name."""
        return [self._configurations[name] for name in sorted(self._configurations)]

    def add(self, configuration: Configuration) -> Configuration:
        """Keep a new configuration and return it with its record and version."""
        with self._lock:
            if configuration.name in self._configurations:
                raise ConfigError("there is a configuration of that name already", field="name")
            kept = replace(configuration, record=uuid4().hex, version=1)
            self._configurations[kept.name] = kept
            return kept

    def replace(self, configuration: Configuration) -> Configuration:
        """Keep a changed configuration, or raise EditConflict if its version is not the newest."""
        with self._lock:
            if self.get(configuration.name).version != configuration.version:
                raise EditConflict
            kept = replace(configuration, version=configuration.version + 1)
            self._configurations[kept.name] = kept
            return kept

    def remove(self, name: str) -> None:
        """Forget a configuration with its secrets and lines."""
        with self._lock:
            gone = self.get(name)
            del self._configurations[name]
            self._lines = {n: li for n, li in self._lines.items() if li.configuration != name}
            self._sealed = {k: v for k, v in self._sealed.items() if k[0] != gone.record}

    def lines(self) -> list[SyncLine]:
        """Return every sync line, by name."""
        return [self._lines[name] for name in sorted(self._lines)]

    def put_line(self, line: SyncLine) -> None:
        """Keep a sync line, new or changed."""
        self._lines[line.name] = line

    def put_secret(self, name: str, field: str, state: SecretState, sealed: bytes | None) -> None:
        """Keep a secret's state and, unless it is a reference, its ciphertext."""
        with self._lock:
            kept = self.get(name)
            secrets = {**kept.secrets, field: state}
            self._configurations[name] = replace(kept, secrets=secrets)
            self._sealed.pop((kept.record, field), None)
            if sealed is not None:
                place = secret_place(kept.record, field, state.version, state.origin)
                self._sealed[kept.record, field] = SealedRow(place, sealed)

    def sealed(self, configuration: Configuration, field: str) -> bytes | None:
        """Return the ciphertext of a stored secret."""
        row = self._sealed.get((configuration.record, field))
        return None if row is None else row.stored

    def key_uses(self) -> dict[str, int]:
        """Return how many stored secrets each key seals, by the key's name."""
        return Counter(key_name_of(row.stored) for row in self._sealed.values())

    def sealed_by_others(self, key: str, limit: int) -> list[SealedRow]:
        """Return some of the ciphertexts that another key than this one seals."""
        rows = [row for row in self._sealed.values() if key_name_of(row.stored) != key]
        return rows[:limit]

    def swap_sealed(self, row: SealedRow, stored: bytes) -> None:
        """Put new bytes in the place of exactly these; where they are gone, do nothing."""
        with self._lock:
            where = row.place.record, row.place.field
            if self._sealed.get(where) == row:
                self._sealed[where] = replace(row, stored=stored)
