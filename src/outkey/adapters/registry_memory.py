"""Configurations held in memory, as a TOML document or a test gives them."""

import threading
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from uuid import uuid4

from outkey.core.config import Configuration, SecretState, SyncLine
from outkey.core.envelope import SealedRow, key_name_of, secret_place
from outkey.core.errors import ConfigError, EditConflict, UnknownConfiguration
from outkey.core.standing import Standing, needs_secret, stores_secret


class MemoryRegistry:
    """Keeps configurations, sync lines and ciphertexts in dictionaries."""

    def __init__(
        self, configurations: Iterable[Configuration] = (), lines: Iterable[SyncLine] = ()
    ) -> None:
        self._lock = threading.Lock()
        self._configurations = {c.name: c for c in configurations}
        self._lines = {line.name: line for line in lines}
        self._sealed: dict[tuple[str, str, int], SealedRow] = {}
        self._pending: dict[tuple[str, str], SecretState] = {}
        self._known_keys: dict[str, bytes] = {}
        self._revisions: Counter[str] = Counter()
        self._trials: dict[str, tuple[Standing, int]] = {}

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

    def find(self, names: Iterable[str]) -> dict[str, Configuration]:
        """Return those of these configurations that there are."""
        known = self._configurations
        return {name: known[name] for name in names if name in known}

    @contextmanager
    def batch(self) -> Iterator[None]:
        """Keep all of what is changed inside, or none of it."""
        before = self._configurations.copy(), self._lines.copy(), self._sealed.copy()
        try:
            yield
        except BaseException:
            self._configurations, self._lines, self._sealed = before
            raise

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
            self._revisions[kept.record] += 1
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
        """Keep a pending version of a secret."""
        with self._lock:
            kept = self.get(name)
            self._pending[kept.record, field] = state
            self._drop(kept.record, field, state.version)
            if sealed is not None:
                place = secret_place(kept.record, field, state.version, state.origin)
                self._sealed[kept.record, field, state.version] = SealedRow(place, sealed)

    def clear_secret(self, name: str, field: str) -> None:
        """Forget all versions of a secret."""
        with self._lock:
            kept = self.get(name)
            secrets = {known: state for known, state in kept.secrets.items() if known != field}
            self._configurations[name] = replace(kept, secrets=secrets)
            for row in [key for key in self._sealed if key[:2] == (kept.record, field)]:
                self._drop(*row)
            self._revisions[kept.record] += 1

    def activate_secret(self, name: str, field: str, version: int) -> None:
        """Make the pending version the current one; the one before stays as the previous."""
        with self._lock:
            kept = self.get(name)
            before = kept.secrets.get(field)
            state = self._pending.pop((kept.record, field))
            secrets = {**kept.secrets, field: state}
            self._configurations[name] = replace(kept, secrets=secrets)
            current = before.version if before else 0
            for row in [key for key in self._sealed if key[:2] == (kept.record, field)]:
                if row[2] not in {current, version}:
                    self._drop(*row)
            self._revisions[kept.record] += 1

    def sealed(self, configuration: Configuration, field: str, version: int) -> bytes | None:
        """Return the ciphertext of one version of a stored secret."""
        row = self._sealed.get((configuration.record, field, version))
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
            where = row.place.record, row.place.field, row.place.version
            if self._sealed.get(where) == row:
                self._sealed[where] = replace(row, stored=stored)

    def known_keys(self) -> dict[str, bytes]:
        """Return the keys that were used here, by name, with the check value of each."""
        return dict(self._known_keys)

    def put_known_keys(self, keys: dict[str, bytes]) -> None:
        """Keep the check values of these keys as well."""
        self._known_keys = keys | self._known_keys

    def put_trial(self, configuration: Configuration, at: float, cause: str) -> None:
        """Keep how the last test of this state of a configuration ended."""
        record = configuration.record
        before, _ = self._trials.get(record, (Standing(), 0))
        verified = before.verified_at if cause else at
        self._trials[record] = Standing(at, verified, cause), self._revisions[record]

    def standings(self) -> dict[str, Standing]:
        """Return how the last test of each configuration ended, by name."""
        found = {}
        for name, kept in self._configurations.items():
            standing, revision = self._trials.get(kept.record, (Standing(), -1))
            found[name] = replace(
                standing,
                current=revision == self._revisions[kept.record],
                needs_secret=needs_secret(kept),
                stores_secret=stores_secret(kept),
                expires_on=kept.token_expires_on,
            )
        return found

    def _drop(self, record: str, field: str, version: int) -> None:
        self._sealed.pop((record, field, version), None)
