"""Configurations held in memory, as a TOML document or a test gives them."""

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from uuid import uuid4

from outkey.core.config.configuration import (
    Configuration,
    SecretState,
    SyncLine,
    known_names,
)
from outkey.core.errors import ConfigError, EditConflict, UnknownConfiguration
from outkey.core.findings.health import Health, Summary, needs_secret, stores_secret
from outkey.core.sync.schedule import TimedLine
from outkey.core.vault.envelope import SealedRow, key_name_of, secret_place
from outkey.core.vault.voucher import FIELD


class MemoryRegistry:
    """Keeps configurations, sync lines and ciphertexts in dictionaries."""

    def __init__(
        self,
        configurations: Iterable[Configuration] = (),
        lines: Iterable[SyncLine] = (),
    ) -> None:
        self._lock = threading.Lock()
        self._configurations = {c.name: c for c in configurations}
        self._lines = {line.name: line for line in lines}
        self._sealed: dict[tuple[str, str, int], SealedRow] = {}
        self._pending: dict[tuple[str, str], SecretState] = {}
        self._known_keys: dict[str, bytes] = {}
        self._trials: dict[str, tuple[Health, int]] = {}

    def get(self, name: str) -> Configuration:
        try:
            return self._configurations[name]
        except KeyError:
            known = sorted(self._configurations)
            raise UnknownConfiguration(hint=known_names(known, len(known))) from None

    def line(self, name: str) -> SyncLine:
        try:
            return self._lines[name]
        except KeyError:
            raise UnknownConfiguration(
                "there is no sync line of that name", field="line"
            ) from None

    def all(self) -> list[Configuration]:
        return [self._configurations[name] for name in sorted(self._configurations)]

    def find(self, names: Iterable[str]) -> dict[str, Configuration]:
        known = self._configurations
        return {name: known[name] for name in names if name in known}

    @contextmanager
    def batch(self) -> Iterator[None]:
        kept = ("_configurations", "_lines", "_sealed", "_pending", "_trials")
        before = {name: getattr(self, name).copy() for name in kept}
        try:
            yield
        except BaseException:
            vars(self).update(before)
            raise

    def add(self, configuration: Configuration) -> Configuration:
        with self._lock:
            if configuration.name in self._configurations:
                raise ConfigError(
                    "there is a configuration of that name already", field="name"
                )
            known = configuration.secrets.items()
            references = {
                name: state for name, state in known if state.reference is not None
            }
            kept = replace(
                configuration,
                record=uuid4().hex,
                version=1,
                revision=1,
                secrets=references,
            )
            self._configurations[kept.name] = kept
            return kept

    def replace(self, configuration: Configuration) -> Configuration:
        with self._lock:
            if self.get(configuration.name).version != configuration.version:
                raise EditConflict
            before = self.get(configuration.name)
            known = before.secrets
            rows = {row.secret_field for row in configuration.headers if row.secret}
            kept = replace(
                configuration,
                version=before.version + 1,
                revision=before.revision + 1,
                refused=0,
                paused_at=None,
                voucher=before.voucher,
                secrets={
                    n: s
                    for n, s in known.items()
                    if not n.startswith("header:") or n in rows
                },
            )
            self._sealed = {
                where: row
                for where, row in self._sealed.items()
                if where[0] != kept.record or where[1] in {*kept.secrets, FIELD}
            }
            self._configurations[kept.name] = kept
            return kept

    def remove(self, name: str) -> None:
        with self._lock:
            gone = self.get(name)
            del self._configurations[name]
            self._lines = {
                n: li for n, li in self._lines.items() if li.configuration != name
            }
            self._sealed = {
                k: v for k, v in self._sealed.items() if k[0] != gone.record
            }

    def lines(self) -> list[SyncLine]:
        return [self._lines[name] for name in sorted(self._lines)]

    def timetable(self) -> list[TimedLine]:
        found = (
            (line, line.sync.schedule if line.sync else "") for line in self.lines()
        )
        return [
            TimedLine(line.name, line.configuration, schedule)
            for line, schedule in found
        ]

    def put_line(self, line: SyncLine) -> None:
        self._lines[line.name] = line

    def remove_line(self, name: str) -> None:
        del self._lines[self.line(name).name]

    def put_secret(
        self, name: str, field: str, state: SecretState, sealed: bytes | None
    ) -> None:
        with self._lock:
            kept = self.get(name)
            before = kept.secrets.get(field)
            if before is not None and before.version == state.version:
                raise EditConflict
            self._pending[kept.record, field] = state
            self._drop(kept.record, field, state.version)
            if sealed is not None:
                place = secret_place(kept.record, field, state.version, state.origin)
                self._sealed[kept.record, field, state.version] = SealedRow(
                    place, sealed
                )

    def lock(self, configuration: Configuration) -> None:
        with self._lock:
            stored = self._configurations.get(configuration.name)
            known = None if stored is None else (stored.record, stored.version)
            if known != (configuration.record, configuration.version):
                raise EditConflict

    def put_voucher(self, name: str, voucher: SealedRow) -> None:
        with self._lock:
            stored = self.get(name)
            for key in [
                key for key in self._sealed if key[:2] == (stored.record, FIELD)
            ]:
                self._drop(*key)
            self._sealed[stored.record, FIELD, voucher.place.version] = voucher
            self._configurations[name] = replace(stored, voucher=voucher)

    def clear_secret(self, name: str, field: str) -> None:
        with self._lock:
            kept = self.get(name)
            secrets = {
                known: state for known, state in kept.secrets.items() if known != field
            }
            self._change_secrets(kept, secrets)
            for row in [key for key in self._sealed if key[:2] == (kept.record, field)]:
                self._drop(*row)

    def activate_secret(self, name: str, field: str, version: int) -> None:
        with self._lock:
            kept = self.get(name)
            before = kept.secrets.get(field)
            state = self._pending.get((kept.record, field))
            if state is None or state.version != version:
                raise EditConflict
            del self._pending[kept.record, field]
            self._change_secrets(kept, {**kept.secrets, field: state})
            current = before.version if before else 0
            for row in [key for key in self._sealed if key[:2] == (kept.record, field)]:
                if row[2] not in {current, version}:
                    self._drop(*row)

    def sealed(
        self, configuration: Configuration, field: str, version: int
    ) -> bytes | None:
        row = self._sealed.get((configuration.record, field, version))
        return None if row is None else row.stored

    def key_uses(self, *, vouchers: bool = False) -> dict[str, int]:
        rows = self._sealed.values()
        counted = [row for row in rows if vouchers or row.place.field != FIELD]
        return Counter(key_name_of(row.stored) for row in counted)

    def sealed_by_others(self, key: str, limit: int) -> list[SealedRow]:
        rows = [row for row in self._sealed.values() if key_name_of(row.stored) != key]
        return rows[:limit]

    def swap_sealed(self, row: SealedRow, stored: bytes) -> bool:
        with self._lock:
            where = row.place.record, row.place.field, row.place.version
            there = self._sealed.get(where) == row
            if there:
                swapped = self._sealed[where] = replace(row, stored=stored)
                for name, kept in self._configurations.items():
                    if kept.voucher == row:
                        self._configurations[name] = replace(kept, voucher=swapped)
            return there

    def known_keys(self) -> dict[str, bytes]:
        return dict(self._known_keys)

    def put_known_keys(self, keys: dict[str, bytes]) -> None:
        self._known_keys = keys | self._known_keys

    def put_trial(
        self,
        configuration: Configuration,
        at: float,
        cause: str,
        seen: Mapping[str, object] | None = None,
    ) -> None:
        record = configuration.record
        before, _ = self._trials.get(record, (Health(), 0))
        verified = before.verified_at if cause else at
        if self.get(configuration.name).revision != configuration.revision:
            return
        ended = Health(at, verified, cause, seen=seen or before.seen)
        self._trials[record] = ended, configuration.revision
        if not cause:
            self.note_accepted(configuration.name)

    def note_refused(self, name: str, revision: int) -> int:
        with self._lock:
            kept = self._configurations.get(name)
            if kept is None or kept.revision != revision:
                return 0
        return self._count(name, lambda kept: replace(kept, refused=kept.refused + 1))

    def note_accepted(self, name: str) -> None:
        self._count(name, lambda kept: replace(kept, refused=0, paused_at=None))

    def pause(self, name: str, at: float) -> None:
        self._count(
            name,
            lambda kept: (
                replace(kept, paused_at=kept.paused_at or at) if kept.refused else kept
            ),
        )

    def resume(self, name: str) -> None:
        self.note_accepted(self.get(name).name)

    def due(self, before: float, limit: int) -> list[str]:
        found = [
            (listed.standing.tested_at, listed.name)
            for listed in self.summaries()
            if listed.standing.is_due(before)
        ]
        return [name for _, name in sorted(found)][:limit]

    def summaries(self) -> list[Summary]:
        return [self._summary(kept) for kept in self.all()]

    def _summary(self, kept: Configuration) -> Summary:
        standing, revision = self._trials.get(kept.record, (Health(), -1))
        standing = replace(
            standing,
            current=revision == kept.revision,
            needs_secret=needs_secret(kept),
            stores_secret=stores_secret(kept),
            expires_on=kept.expires_on,
            refused=kept.refused,
            paused_at=kept.paused_at,
            active=kept.active,
        )
        facts = (
            str(kept.authentication_type),
            str(kept.environment),
            str(kept.network),
        )
        return Summary(kept.name, kept.base_url, *facts, standing)

    def _change_secrets(
        self, kept: Configuration, secrets: Mapping[str, SecretState]
    ) -> None:
        self._configurations[kept.name] = replace(
            kept, secrets=secrets, revision=kept.revision + 1, refused=0, paused_at=None
        )

    def _count(self, name: str, step: Callable[[Configuration], Configuration]) -> int:
        with self._lock:
            if name not in self._configurations:
                return 0
            counted = self._configurations[name] = step(self._configurations[name])
            return counted.refused

    def _drop(self, record: str, field: str, version: int) -> None:
        self._sealed.pop((record, field, version), None)
