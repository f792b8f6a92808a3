"""The registry of configurations in Django's tables."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from datetime import date
from functools import wraps
from typing import ParamSpec, TypeVar
from uuid import UUID

from django.db import DatabaseError, IntegrityError, transaction
from django.db.models import Count

from outkey.core import config
from outkey.core.envelope import Place, SealedRow, key_name_of, secret_place
from outkey.core.errors import ConfigError, EditConflict, StorageUnavailable, UnknownConfiguration
from outkey.core.reference import parse_reference
from outkey.hosts.django import models

_COLUMNS = ("base_url", "environment", "network", "active", "authentication_type")

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


def _stored(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Turn what the database raises into our own error, without its text and its parameters."""

    @wraps(function)
    def guarded(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        try:
            return function(*args, **kwargs)
        except DatabaseError:
            pass  # raised below, so that the database's own error is not its context
        raise StorageUnavailable

    return guarded


class DjangoRegistry:
    """Keeps configurations, header rows, sync lines and sealed secrets."""

    @_stored
    def get(self, name: str) -> config.Configuration:
        """Return one configuration, or raise UnknownConfiguration."""
        return next(_loaded([_row(name)]))

    @_stored
    def line(self, name: str) -> config.SyncLine:
        """Return one sync line, or raise UnknownConfiguration."""
        line = models.SyncLine.objects.select_related("configuration").filter(name=name).first()
        if line is None:
            raise UnknownConfiguration("there is no sync line of that name", field="line")
        return config.SyncLine(line.name, line.configuration.name, line.method, line.path)

    @_stored
    def all(self) -> list[config.Configuration]:
        """Return every configuration, by name; opens no secret."""
        return list(_loaded(models.Configuration.objects.order_by("name")))

    @_stored
    def add(self, configuration: config.Configuration) -> config.Configuration:
        """Keep a new configuration and return it with its record and version."""
        with transaction.atomic():
            try:
                with transaction.atomic():
                    row = models.Configuration.objects.create(
                        name=configuration.name, **_split(configuration)
                    )
            except IntegrityError:
                message = "there is a configuration of that name already"
                raise ConfigError(message, field="name") from None
            _keep_rows(row, configuration)
        return replace(configuration, record=row.id.hex, version=row.version)

    @_stored
    def replace(self, configuration: config.Configuration) -> config.Configuration:
        """Keep a changed configuration, or raise EditConflict if its version is not the newest."""
        version = configuration.version + 1
        with transaction.atomic():
            row = _row(configuration.name)
            changed = models.Configuration.objects.filter(
                pk=row.pk, version=configuration.version
            ).update(version=version, **_split(configuration))
            if not changed:
                raise EditConflict
            row.headers.all().delete()
            _keep_rows(row, configuration)
            row.secret_values.exclude(field__in=configuration.secrets).delete()
        return replace(configuration, version=version)

    @_stored
    def remove(self, name: str) -> None:
        """Forget a configuration with its secrets and lines."""
        _row(name).delete()

    @_stored
    def lines(self) -> list[config.SyncLine]:
        """Return every sync line, by name."""
        found = models.SyncLine.objects.select_related("configuration").order_by("name")
        return [config.SyncLine(r.name, r.configuration.name, r.method, r.path) for r in found]

    @_stored
    def put_line(self, line: config.SyncLine) -> None:
        """Keep a sync line, new or changed."""
        models.SyncLine.objects.update_or_create(
            name=line.name,
            defaults={
                "configuration": _row(line.configuration),
                "method": line.method,
                "path": line.path,
            },
        )

    @_stored
    def put_secret(
        self, name: str, field: str, state: config.SecretState, sealed: bytes | None
    ) -> None:
        """Keep a secret's state and ciphertext as current; the version before becomes previous."""
        with transaction.atomic():
            row = _row(name)
            versions = row.secret_values.filter(field=field)
            versions.filter(label=models.SecretLabel.PREVIOUS).delete()
            versions.exclude(version=state.version).update(label=models.SecretLabel.PREVIOUS)
            versions.filter(version=state.version).delete()
            models.SecretValue.objects.create(
                configuration=row,
                field=field,
                version=state.version,
                label=models.SecretLabel.CURRENT,
                origin=state.origin,
                reference=str(state.reference or ""),
                sealed=sealed,
                key_id="" if sealed is None else key_name_of(sealed),
                set_at=state.set_at,
            )

    @_stored
    def key_uses(self) -> dict[str, int]:
        """Return how many stored secrets each key seals."""
        values = models.SecretValue.objects.exclude(key_id="").values_list("key_id")
        return dict(values.annotate(Count("id")))

    @_stored
    def sealed_by_others(self, key: str, limit: int) -> list[SealedRow]:
        """Return some of the ciphertexts, all versions, that another key than this one seals."""
        values = models.SecretValue.objects.exclude(key_id__in=["", key]).order_by("id")[:limit]
        return [SealedRow(_place(value), bytes(value.sealed or b"")) for value in values]

    @_stored
    def swap_sealed(self, row: SealedRow, stored: bytes) -> None:
        """Put new bytes in the place of exactly these; where they are gone, do nothing."""
        place = row.place
        models.SecretValue.objects.filter(
            configuration=UUID(place.record),
            field=place.field,
            version=place.version,
            sealed=row.stored,
        ).update(sealed=stored, key_id=key_name_of(stored))

    @_stored
    def sealed(self, configuration: config.Configuration, field: str) -> bytes | None:
        """Return the ciphertext of a stored secret."""
        value = models.SecretValue.objects.filter(
            configuration=UUID(configuration.record),
            field=field,
            label=models.SecretLabel.CURRENT,
        ).first()
        return None if value is None or value.sealed is None else bytes(value.sealed)


def _row(name: str) -> models.Configuration:
    row = models.Configuration.objects.filter(name=name).first()
    if row is None:
        known = models.Configuration.objects.order_by("name").values_list("name", flat=True)[:10]
        raise UnknownConfiguration(hint=f"Known: {', '.join(known) or 'none'}.")
    return row


def _split(configuration: config.Configuration) -> dict[str, object]:
    """Return the columns; dates become text, since the other fields are kept as JSON."""
    values = configuration.values()
    columns: dict[str, object] = {name: values.pop(name) for name in _COLUMNS}
    columns["settings"] = {
        path: value.isoformat() if isinstance(value, date) else value
        for path, value in values.items()
    }
    return columns


def _keep_rows(row: models.Configuration, configuration: config.Configuration) -> None:
    models.HeaderRow.objects.bulk_create(
        models.HeaderRow(configuration=row, position=n, key=h.key, value=h.value, secret=h.secret)
        for n, h in enumerate(configuration.headers)
    )


def _loaded(rows: Iterable[models.Configuration]) -> Iterator[config.Configuration]:
    """Make configurations of rows, with two more queries however many there are."""
    found = list(rows)
    ids = [row.pk for row in found]
    headers: dict[object, list[config.HeaderRow]] = {pk: [] for pk in ids}
    for header in models.HeaderRow.objects.filter(configuration__in=ids).order_by("position"):
        made = config.HeaderRow(header.key, header.value, secret=header.secret)
        headers[header.configuration_id].append(made)
    secrets: dict[object, dict[str, config.SecretState]] = {pk: {} for pk in ids}
    current = models.SecretValue.objects.filter(
        configuration__in=ids, label=models.SecretLabel.CURRENT
    ).defer("sealed")
    for value in current:
        secrets[value.configuration_id][value.field] = _state(value)
    for row in found:
        values = {name: getattr(row, name) for name in _COLUMNS} | _parsed(row.settings)
        made_of_row = config.build(
            row.name, values, headers=tuple(headers[row.pk]), secrets=secrets[row.pk]
        )
        yield replace(made_of_row, record=row.pk.hex, version=row.version)


def _parsed(settings: dict[str, object]) -> dict[str, object]:
    day = settings.get("token_expires_on")
    return settings | {"token_expires_on": date.fromisoformat(str(day))} if day else settings


def _place(value: models.SecretValue) -> Place:
    record = value.configuration_id.hex
    return secret_place(record, value.field, value.version, value.origin)


def _state(value: models.SecretValue) -> config.SecretState:
    reference = None
    if value.reference:
        reference = parse_reference(value.reference, field=value.field)
    return config.SecretState(value.origin, reference, value.version, value.set_at)
