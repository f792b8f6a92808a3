"""The registry of configurations in Django's tables."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from datetime import date
from operator import attrgetter
from time import monotonic
from uuid import UUID

from django.db import DatabaseError, IntegrityError, transaction
from django.db.models import Count, F

from outkey.core.config import configuration as config
from outkey.core.config.reference import parse_reference
from outkey.core.errors import (
    ConfigError,
    EditConflict,
    StorageUnavailable,
    UnknownConfiguration,
)
from outkey.core.findings.health import Health, Summary, needs_secret, stores_secret
from outkey.core.sync.schedule import TimedLine
from outkey.core.sync.table import read_sync, sync_table
from outkey.core.vault.envelope import (
    Place,
    SealedRow,
    key_name_of,
    secret_place,
    token_place,
)
from outkey.core.vault.voucher import FIELD
from outkey.hosts.django import models
from outkey.hosts.django.raw_sql import execute, recover, wrap_errors_of_methods

_COLUMNS = ("base_url", "environment", "network", "active", "authentication_type")
_LISTED = attrgetter(*Summary._fields[:-1])
_STANDING = {known.name for known in fields(Health)} - {
    "current"
}  # the others are columns
_CONFIGURATION = (
    f"SELECT id, version, revision, refused, paused_at, settings, {', '.join(_COLUMNS)}"  # noqa: S608 - constants
    " FROM outkey_configuration WHERE name = %s"
)
_LINE = (
    "SELECT line.name, line.method, line.path, line.sync, configuration.name"
    " FROM outkey_syncline line JOIN outkey_configuration configuration"
    " ON configuration.id = line.configuration_id WHERE line.name = %s"
)
_SEALED = (
    "SELECT sealed FROM outkey_secretvalue"
    " WHERE configuration_id = %s AND field = %s AND version = %s"
)
_SWAP = (
    "UPDATE outkey_secretvalue SET sealed = %s, key_id = %s"
    " WHERE configuration_id = %s AND field = %s AND version = %s AND sealed = %s"
)
# Caches must read again, but what a test of the secret found still holds.
_REWRAPPED = (
    "UPDATE outkey_configuration SET revision = revision + 1,"
    " tested_revision = tested_revision + 1 WHERE id = %s"
)
_REFUSED = (
    "UPDATE outkey_configuration SET refused = refused + 1"
    " WHERE name = %s AND revision = %s RETURNING refused"
)
_ACCEPTED = (
    "UPDATE outkey_configuration SET refused = 0, paused_at = NULL WHERE name = %s"
)
_PAUSED = (
    "UPDATE outkey_configuration SET paused_at = %s"
    " WHERE name = %s AND refused > 0 AND paused_at IS NULL"
)
_COUNTED = ("version", "revision", "refused", "paused_at")
FRESH_SECONDS = 0.1
_UNREFUSED: dict[str, object] = {"refused": 0, "paused_at": None}
_BATCH = 500
_MOST_KEPT = 2000


@dataclass(slots=True)
class _Made:
    """A configuration with the columns that it was made of and the ciphertexts it was sent with."""

    columns: object
    configuration: config.Configuration
    sealed: dict[tuple[str, int], bytes | None]
    read_at: float


@wrap_errors_of_methods
class DjangoRegistry:
    """Keeps configurations, header rows, sync lines and sealed secrets."""

    def __init__(self) -> None:
        self._made: dict[str, _Made] = {}
        self._lines: dict[
            str, tuple[object, config.SyncLine]
        ] = {}  # with the columns they were

    def get(self, name: str) -> config.Configuration:
        """Return one configuration, or raise UnknownConfiguration.

        Every send asks, so what was read a moment ago is taken as it was: a send that began then
        would carry it just the same. After that the columns are read by one plain statement, and
        if they are as they were, so are header rows, secrets and ciphertexts, since every change
        of those changes the revision.
        """
        known, now = self._made.get(name), monotonic()
        if known is not None and now - known.read_at < FRESH_SECONDS:
            return known.configuration
        columns = execute(_CONFIGURATION, (name,)).fetchone()
        if known is not None and known.columns == columns:
            known.read_at = now
            return known.configuration
        made = next(_loaded([_row(name)]))
        if len(self._made) >= _MOST_KEPT:
            self._made.clear()
        self._made[name] = _Made(columns, made, {}, now)
        return made

    def find(self, names: Iterable[str]) -> dict[str, config.Configuration]:
        found: dict[str, config.Configuration] = {}
        wanted = list(names)
        for start in range(0, len(wanted), _BATCH):
            some = wanted[start : start + _BATCH]
            rows = models.Configuration.objects.filter(name__in=some)
            found |= {made.name: made for made in _loaded(rows)}
        return found

    @contextmanager
    def batch(self) -> Iterator[None]:
        try:
            with transaction.atomic():
                yield
        except DatabaseError:
            recover()
            raise StorageUnavailable from None

    def line(self, name: str) -> config.SyncLine:
        columns = execute(_LINE, (name,)).fetchone()  # every page asks
        if name in self._lines and self._lines[name][0] == columns:
            return self._lines[name][1]
        line = (
            models.SyncLine.objects.select_related("configuration")
            .filter(name=name)
            .first()
        )
        if line is None:
            raise UnknownConfiguration(
                "there is no sync line of that name", field="line"
            )
        if len(self._lines) >= _MOST_KEPT:
            self._lines.clear()
        self._lines[name] = columns, _line(line)
        return self._lines[name][1]

    def all(self) -> list[config.Configuration]:
        return list(_loaded(models.Configuration.objects.order_by("name")))

    def add(self, configuration: config.Configuration) -> config.Configuration:
        with transaction.atomic():
            try:
                with transaction.atomic():
                    columns = {"name": configuration.name, **_split(configuration)}
                    row = models.Configuration.objects.create(**columns)
            except IntegrityError:
                message = "there is a configuration of that name already"
                raise ConfigError(message, field="name") from None
            _keep_rows(row, configuration)
            # A reference needs no proof that it opens, and a new configuration had nothing before.
            models.SecretValue.objects.bulk_create(
                _value(row, field, state, models.SecretLabel.CURRENT, None)
                for field, state in configuration.secrets.items()
                if state.reference is not None
            )
        return replace(
            configuration, record=row.id.hex, version=row.version, revision=row.revision
        )

    def replace(self, configuration: config.Configuration) -> config.Configuration:
        version = configuration.version + 1
        with transaction.atomic():
            row = _row(configuration.name)
            changed = models.Configuration.objects.filter(
                pk=row.pk, version=configuration.version
            ).update(
                version=version, revision=F("revision") + 1, **_split(configuration)
            )
            if not changed:
                raise EditConflict
            row.headers.all().delete()
            _keep_rows(row, configuration)
            # Only of rows that are gone: another secret may have been set since this was read.
            wanted = [
                header.secret_field for header in configuration.headers if header.secret
            ]
            of_rows = row.secret_values.filter(field__startswith="header:")
            of_rows.exclude(field__in=wanted).delete()
        self._made.pop(configuration.name, None)
        return replace(configuration, version=version)

    def remove(self, name: str) -> None:
        _row(name).delete()
        self._made.pop(name, None)

    def lines(self) -> list[config.SyncLine]:
        found = models.SyncLine.objects.select_related("configuration").order_by("name")
        return [_line(row) for row in found]

    def timetable(self) -> list[TimedLine]:
        rows = models.SyncLine.objects.values_list(
            "name", "configuration__name", "sync"
        )
        return [
            TimedLine(name, owner, str((sync or {}).get("schedule", "")))
            for name, owner, sync in rows
        ]

    def put_line(self, line: config.SyncLine) -> None:
        sync = None if line.sync is None else sync_table(line.sync)
        said = {"method": line.method, "path": line.path, "sync": sync}
        known = {"configuration": _row(line.configuration), **said}
        models.SyncLine.objects.update_or_create(name=line.name, defaults=known)

    def remove_line(self, name: str) -> None:
        models.SyncLine.objects.filter(name=self.line(name).name).delete()

    def put_secret(
        self, name: str, field: str, state: config.SecretState, sealed: bytes | None
    ) -> None:
        """Keep a pending version; one that was left over from before gives way."""
        with transaction.atomic():
            row = _row(name)
            versions = row.secret_values.filter(field=field)
            versions.filter(label=models.SecretLabel.PENDING).delete()
            if versions.filter(version=state.version).exists():
                raise EditConflict
            _value(row, field, state, models.SecretLabel.PENDING, sealed).save(
                force_insert=True
            )

    def activate_secret(self, name: str, field: str, version: int) -> None:
        label = models.SecretLabel
        with transaction.atomic():
            row = _row(name)
            versions = row.secret_values.filter(field=field)
            versions.filter(label=label.PREVIOUS).delete()
            versions.filter(label=label.CURRENT).update(label=label.PREVIOUS)
            pending = versions.filter(label=label.PENDING, version=version)
            if not pending.update(label=label.CURRENT):
                raise EditConflict  # somebody else's was put in its place, or is in use already
            _secrets_changed(row)
        self._made.pop(name, None)

    def lock(self, configuration: config.Configuration) -> None:
        found = models.Configuration.objects.select_for_update().filter(
            pk=UUID(configuration.record), version=configuration.version
        )
        if not found.exists():
            raise EditConflict

    def put_voucher(self, name: str, voucher: SealedRow) -> None:
        with transaction.atomic():
            row = _row(name)
            row.secret_values.filter(field=FIELD).delete()
            models.SecretValue.objects.create(
                configuration=row,
                field=FIELD,
                version=voucher.place.version,
                label=models.SecretLabel.CURRENT,
                sealed=voucher.stored,
                key_id=key_name_of(voucher.stored),
            )
        self._made.pop(name, None)

    def clear_secret(self, name: str, field: str) -> None:
        with transaction.atomic():
            row = _row(name)
            row.secret_values.filter(field=field).delete()
            _secrets_changed(row)
        self._made.pop(name, None)

    def key_uses(self, *, vouchers: bool = False) -> dict[str, int]:
        values = models.SecretValue.objects.all()
        if not vouchers:
            values = values.exclude(field=FIELD)
        uses: Counter[str] = Counter()
        for rows in (values, models.Token.objects.all()):
            sealed = rows.exclude(key_id="").values_list("key_id")
            uses.update(dict(sealed.annotate(Count("pk"))))
        return dict(uses)

    def sealed_by_others(self, key: str, limit: int) -> list[SealedRow]:
        values = models.SecretValue.objects.exclude(key_id__in=["", key]).order_by(
            "id"
        )[:limit]
        rows = [
            SealedRow(_place(value), bytes(value.sealed or b"")) for value in values
        ]
        tokens = models.Token.objects.exclude(key_id__in=["", key]).order_by("pk")
        for token in tokens[: limit - len(rows)]:
            place = token_place(token.configuration_id.hex, token.serial, token.origin)
            rows.append(SealedRow(place, bytes(token.sealed or b"")))
        return rows

    def swap_sealed(self, row: SealedRow, stored: bytes) -> bool:
        place = row.place
        if place.table == "token":
            found = models.Token.objects.filter(
                pk=UUID(place.record), sealed=row.stored
            )
            return bool(found.update(sealed=stored, key_id=key_name_of(stored)))
        where = place.record, place.field, place.version, row.stored
        with transaction.atomic():
            swapped = execute(_SWAP, (stored, key_name_of(stored), *where)).rowcount
            if swapped:
                execute(_REWRAPPED, (place.record,))
        return bool(swapped)

    def sealed(
        self, configuration: config.Configuration, field: str, version: int
    ) -> bytes | None:
        kept, state = (
            self._made.get(configuration.name),
            configuration.secrets.get(field),
        )
        in_use = state is not None and state.version == version
        if kept is None or kept.configuration is not configuration or not in_use:
            return _sealed(configuration.record, field, version)
        if (field, version) not in kept.sealed:
            kept.sealed[field, version] = _sealed(configuration.record, field, version)
        return kept.sealed[field, version]

    def known_keys(self) -> dict[str, bytes]:
        known = models.KnownKey.objects.values_list("key_id", "check_value")
        return {key_id: bytes(value) for key_id, value in known}

    def put_known_keys(self, keys: dict[str, bytes]) -> None:
        rows = [
            models.KnownKey(key_id=name, check_value=value)
            for name, value in keys.items()
        ]
        models.KnownKey.objects.bulk_create(rows, ignore_conflicts=True)

    def note_refused(self, name: str, revision: int) -> int:
        self._made.pop(name, None)
        return sum(count for (count,) in execute(_REFUSED, (name, revision)).fetchall())

    def note_accepted(self, name: str) -> None:
        execute(_ACCEPTED, (name,))
        self._made.pop(name, None)

    def pause(self, name: str, at: float) -> None:
        execute(_PAUSED, (at, name))
        self._made.pop(name, None)

    def resume(self, name: str) -> None:
        self.note_accepted(_row(name).name)

    def due(self, before: float, limit: int) -> list[str]:
        able = models.Configuration.objects.filter(active=True, paused_at=None)
        able = able.filter(needs_secret=False, needs_person=False)
        found = able.filter(tested_at__lt=before).order_by("tested_at", "name")
        return list(found.values_list("name", flat=True)[:limit])

    def put_trial(
        self,
        configuration: config.Configuration,
        at: float,
        cause: str,
        seen: Mapping[str, object] | None = None,
    ) -> None:
        found = models.Configuration.objects.filter(pk=UUID(configuration.record))
        found = found.filter(revision=configuration.revision)
        ended: dict[str, object] = {"tested_at": at, "cause": cause}
        if not cause:
            ended |= {"verified_at": at, **_UNREFUSED}
        if seen:
            ended["seen"] = dict(seen)
        found.update(tested_revision=configuration.revision, **ended)
        self._made.pop(configuration.name, None)

    def summaries(self) -> list[Summary]:
        rows = models.Configuration.objects.defer("settings").order_by("name")
        return [Summary._make((*_LISTED(row), health_of(row))) for row in rows]


def _line(row: models.SyncLine) -> config.SyncLine:
    sync = None if row.sync is None else read_sync(row.sync)
    return config.SyncLine(row.name, row.configuration.name, row.method, row.path, sync)


def health_of(row: models.Configuration) -> Health:
    """Return how a configuration stands, from its columns alone."""
    current = row.tested_revision == row.revision
    return Health(**{name: getattr(row, name) for name in _STANDING}, current=current)


def _secrets_changed(row: models.Configuration) -> None:
    """Let caches read again, and lists know what is missing now."""
    known = _about_secrets(next(_loaded([row])))
    models.Configuration.objects.filter(pk=row.pk).update(
        revision=F("revision") + 1, **known
    )


def _about_secrets(made: config.Configuration) -> dict[str, object]:
    """Return what lists say of secrets; what was refused, or missed, counts no more."""
    known = {"needs_secret": needs_secret(made), "stores_secret": stores_secret(made)}
    return known | {"needs_person": False} | _UNREFUSED


def _sealed(record: str, field: str, version: int) -> bytes | None:
    row = execute(_SEALED, (record, field, version)).fetchone()
    return None if row is None or row[0] is None else bytes(row[0])


def _row(name: str) -> models.Configuration:
    row = models.Configuration.objects.filter(name=name).first()
    if row is None:
        known = models.Configuration.objects.order_by("name").values_list(
            "name", flat=True
        )
        raise UnknownConfiguration(hint=config.known_names(known[:11], known.count()))
    return row


def _split(configuration: config.Configuration) -> dict[str, object]:
    """Return the columns; dates become text, since the other fields are kept as JSON."""
    values = configuration.values()
    columns: dict[str, object] = {name: values.pop(name) for name in _COLUMNS}
    columns |= {"expires_on": configuration.expires_on, **_about_secrets(configuration)}
    columns["settings"] = {
        path: value.isoformat() if isinstance(value, date) else value
        for path, value in values.items()
    }
    return columns


def _keep_rows(row: models.Configuration, configuration: config.Configuration) -> None:
    models.HeaderRow.objects.bulk_create(
        models.HeaderRow(
            configuration=row, position=n, key=h.key, value=h.value, secret=h.secret
        )
        for n, h in enumerate(configuration.headers)
    )


def _value(
    row: models.Configuration,
    field: str,
    state: config.SecretState,
    label: models.SecretLabel,
    sealed: bytes | None,
) -> models.SecretValue:
    return models.SecretValue(
        configuration=row,
        field=field,
        version=state.version,
        label=label,
        origin=state.origin,
        reference=str(state.reference or ""),
        sealed=sealed,
        key_id="" if sealed is None else key_name_of(sealed),
        set_at=state.set_at,
        set_by=state.set_by,
    )


def _loaded(rows: Iterable[models.Configuration]) -> Iterator[config.Configuration]:
    """Make configurations of rows, with three more queries however many there are."""
    found = list(rows)
    ids = [row.pk for row in found]
    headers: dict[object, list[config.HeaderRow]] = {pk: [] for pk in ids}
    for header in models.HeaderRow.objects.filter(configuration__in=ids).order_by(
        "position"
    ):
        made = config.HeaderRow(header.key, header.value, secret=header.secret)
        headers[header.configuration_id].append(made)
    secrets: dict[object, dict[str, config.SecretState]] = {pk: {} for pk in ids}
    vouchers: dict[object, SealedRow] = {}
    current = models.SecretValue.objects.filter(label=models.SecretLabel.CURRENT)
    current = current.filter(configuration__in=ids)
    for value in current.exclude(field=FIELD).defer("sealed"):
        secrets[value.configuration_id][value.field] = _state(value)
    for value in current.filter(field=FIELD):
        vouchers[value.configuration_id] = SealedRow(
            _place(value), bytes(value.sealed or b"")
        )
    for row in found:
        values = {name: getattr(row, name) for name in _COLUMNS} | _parsed(row.settings)
        shown, known = tuple(headers[row.pk]), secrets[row.pk]
        made_of_row = config.build(row.name, values, headers=shown, secrets=known)
        known_of_row = {name: getattr(row, name) for name in _COUNTED}
        yield replace(
            made_of_row, record=row.pk.hex, voucher=vouchers.get(row.pk), **known_of_row
        )


def _parsed(settings: dict[str, object]) -> dict[str, object]:
    day = settings.get("token_expires_on")
    return (
        settings | {"token_expires_on": date.fromisoformat(str(day))}
        if day
        else settings
    )


def _place(value: models.SecretValue) -> Place:
    record = value.configuration_id.hex
    return secret_place(record, value.field, value.version, value.origin)


def _state(value: models.SecretValue) -> config.SecretState:
    reference = None
    if value.reference:
        reference = parse_reference(value.reference, field=value.field)
    return config.SecretState(
        value.origin, reference, value.version, value.set_at, value.set_by
    )
