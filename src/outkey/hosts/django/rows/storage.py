"""The rows of configurations, sync lines, secrets and keys in Django's tables."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import fields
from typing import Any, TypeVar
from uuid import UUID

from django.db import IntegrityError, connection, transaction
from django.db.models import Count, Model, Q, QuerySet

from outkey.foundation.core.errors import RowUnreadable
from outkey.foundation.core.groups import groups_of
from outkey.foundation.core.stored_values import (
    is_odd,
    odd_names,
    read_bytes,
    read_count,
    read_text,
    read_time,
)
from outkey.foundation.core.text import Text
from outkey.hosts.django import models
from outkey.hosts.django.rows.columns import as_bytes, optional_bytes
from outkey.hosts.django.rows.database import DjangoDatabase
from outkey.hosts.django.rows.raw_sql import (
    execute,
    insert_new,
    insert_row,
    wrap_errors_of_methods,
)
from outkey.sending.core.configuration.custom_rows import CustomHeader
from outkey.sending.core.configuration.health import Health, Summary
from outkey.sending.core.configuration.rows import ConfigurationRow
from outkey.sending.core.connections.connection import (
    Connection,
    ConnectionQuery,
    ConnectionState,
    connection_record,
    row_of_record,
)
from outkey.sending.core.vault.envelope import (
    key_name_of,
    named_key,
    secret_place,
    token_place,
)
from outkey.sending.core.vault.versions import SecretVersion
from outkey.sending.core.vault.voucher import VOUCHER_FIELD
from outkey.sync.core.line.history import LineVersion
from outkey.sync.core.line.rows import LineRow
from outkey.sync.ports.sync import Storage

_CHECKED = (
    "id",
    "version",
    "revision",
    "name",
    "base_url",
    "environment",
    "network",
    "active",
    "owner",
    "authentication_type",
    "settings",
    "refused",
)
# What has a column of its own; the other settings are in one JSON document.
_COLUMNS = (
    "base_url",
    "environment",
    "network",
    "active",
    "owner",
    "authentication_type",
)
_SUMMARY = Summary._fields[:-1]
# Whether a test is current is stored as the revision that it tested.
_HEALTH = tuple(known.name for known in fields(Health) if known.name != "current")
# Every change of a row changes one of these.
_CONFIGURATION = (
    f"SELECT id, version, revision, tested_revision, settings, {', '.join(_COLUMNS)},"  # noqa: S608 - constants
    " refused, paused_at, tested_at, needs_person, seen"
    " FROM outkey_configuration WHERE name = %s"
)
# What a refusal, a pause and a rotation of keys change.
_COUNTS = ("revision", "tested_revision", "refused", "paused_at")
_COUNT = (
    f"UPDATE outkey_configuration SET {', '.join(f'{name} = %s' for name in _COUNTS)}"  # noqa: S608 - constants
    " WHERE id = %s AND version = %s AND revision = %s AND refused = %s"
    " AND coalesce(paused_at, -1) = coalesce(CAST(%s AS double precision), -1)"
    " AND coalesce(tested_at, -1) = coalesce(CAST(%s AS double precision), -1)"
    " AND (coalesce(tested_revision, 0) = revision) = %s AND needs_person = %s"
)
_LINE_FIELDS = ("name", "method", "path", "sync", "source", "voucher", "configuration")
_LINE = (
    "SELECT line.name, line.method, line.path, line.sync, line.source, line.voucher,"
    " configuration.id, configuration.name"
    " FROM outkey_syncline line JOIN outkey_configuration configuration"
    " ON configuration.id = line.configuration_id WHERE line.name = %s"
)
_VERSIONS = (
    "SELECT version, label, origin, reference, sealed, set_at, set_by"
    " FROM outkey_secretvalue WHERE configuration_id = %s AND field = %s"
)
_UPDATE_VERSION = (
    "UPDATE outkey_secretvalue SET sealed = %s, key_id = %s, label = %s"
    " WHERE configuration_id = %s AND field = %s AND version = %s"
    " AND label = %s AND sealed = %s"
)
_IS_PAUSED = Q(active=False) | Q(paused_at__isnull=False)
_NEEDS_PERSON = Q(needs_person=True) | Q(needs_secret=True)
# `ConfigurationRow.connection_state` as queries.
_STATES = {
    ConnectionState.PAUSED: _IS_PAUSED,
    ConnectionState.NEW: ~_IS_PAUSED & Q(connected_at=None),
    ConnectionState.NEEDS_PERSON: (
        ~_IS_PAUSED & Q(connected_at__isnull=False) & _NEEDS_PERSON
    ),
    ConnectionState.WORKING: (
        ~_IS_PAUSED & Q(connected_at__isnull=False) & ~_NEEDS_PERSON
    ),
}
Sealing = TypeVar("Sealing", models.SecretValue, models.Token)
Named = TypeVar("Named", ConfigurationRow, LineRow)
_BATCH = 500
_MAX_CACHED = 2000


def django_storage() -> Storage:
    """Return the rows in Django's default database."""
    return Storage(
        database=DjangoDatabase(),
        configurations=DjangoConfigurationRows(),
        lines=DjangoLineRows(),
        secrets=DjangoSecretRows(),
        keys=DjangoKeyRows(),
    )


@wrap_errors_of_methods
class DjangoConfigurationRows:
    """Configurations with their header rows."""

    def __init__(self) -> None:
        self._cache: dict[str, tuple[object, ConfigurationRow]] = {}

    def find(
        self,
        *,
        names: Collection[str] | None = None,
        records: Collection[str] | None = None,
        lock: bool = False,
    ) -> list[ConfigurationRow]:
        if names is not None and len(names) == 1 and not lock:
            (name,) = names
            return self._find_one(name)
        query = models.Configuration.with_connections.order_by("name")
        if lock:
            query = query.select_for_update()
        if records is not None:
            query = query.filter(pk__in=map(_id_of, records))
        if names is None and records is None:
            query = query.filter(parent=None)
        if names is None:
            return with_headers(query)
        return _rows_named(
            names,
            (
                row
                for group in groups_of(sorted(names), _BATCH)
                for row in with_headers(query.filter(name__in=group))
            ),
        )

    def _find_one(self, name: str) -> list[ConfigurationRow]:
        """Return the row that was read before where its columns are as they were.

        One plain statement: every send comes here. Header rows are read with a changed
        row only, since every change of them changes the revision.
        """
        columns = execute(_CONFIGURATION, (name,)).fetchall()
        if not columns:
            return []
        cached = self._cache.get(name)
        if cached is not None and cached[0] == columns:
            return [cached[1]]
        stored = models.Configuration.with_connections.filter(name=name)
        rows = _rows_named([name], with_headers(stored))
        # What is written in a transaction may still be rolled back.
        if rows and not connection.in_atomic_block:
            if len(self._cache) >= _MAX_CACHED:
                self._cache.clear()
            self._cache[name] = (columns, rows[0])
        return rows

    def connections(
        self, configuration: str, query: ConnectionQuery
    ) -> list[ConfigurationRow]:
        rows = models.Configuration.with_connections.filter(
            parent=UUID(configuration), connection__gt=query.after
        )
        if query.prefix:
            # Not startswith, which SQLite compares without case. No id has \x7f.
            end = f"{query.prefix}\x7f"
            rows = rows.filter(connection__gte=query.prefix, connection__lt=end)
        if query.owner is not None:
            rows = rows.filter(owner=query.owner)
        if query.state is not None:
            rows = rows.filter(_STATES[query.state])
        return with_headers(rows.order_by("connection")[: query.limit])

    def swap(
        self, before: ConfigurationRow | None, after: ConfigurationRow | None
    ) -> bool:
        if before is None:
            return after is not None and insert_configuration(after)
        stored = _rows_with_stamp(before)
        if after is None:
            lines = models.SyncLine.objects.filter(configuration__in=stored)
            return _delete_with_marks(stored, lines)
        old = columns_of(before)
        new = columns_of(after)
        changed = {name for name, value in new.items() if value != old[name]}
        if changed <= {*_COUNTS} and before.headers == after.headers:
            counts = [new[name] for name in _COUNTS]
            where = (row_of_record(before.record), *before.stamp)
            return bool(execute(_COUNT, (*counts, *where)).rowcount)
        columns = {name: new[name] for name in changed}
        if before.headers == after.headers:
            return bool(stored.update(**columns))
        with transaction.atomic():
            if not stored.update(**columns):
                return False
            models.HeaderRow.objects.filter(configuration=_id_of(after.record)).delete()
            _insert_headers(after)
        return True

    def summaries(self) -> list[Summary]:
        # Plain values: the home page reads thousands, and models cost twice as much.
        columns = (*_SUMMARY, *_HEALTH, "revision", "tested_revision")
        rows = models.Configuration.objects.order_by("name").values_list(*columns)
        return [summary_of(row) for row in rows]


@wrap_errors_of_methods
class DjangoLineRows:
    """Sync lines."""

    def __init__(self) -> None:
        self._cache: dict[str, tuple[object, LineRow]] = {}

    def find(self, names: Collection[str] | None = None) -> list[LineRow]:
        if names is not None and len(names) == 1:
            (name,) = names
            return self._find_one(name)
        query = _lines().order_by("name")
        if names is None:
            return [line_of(row) for row in query]
        rows = map(line_of, query.filter(name__in=list(names)))
        return _rows_named(names, rows)

    def _find_one(self, name: str) -> list[LineRow]:
        """Return the row that was read before where its columns are as they were."""
        # Read before each page that a run requests.
        columns = execute(_LINE, (name,)).fetchall()
        cached = self._cache.get(name)
        if cached is not None and cached[0] == columns:
            return [cached[1]]
        rows = _rows_named([name], map(line_of, _lines().filter(name=name)))
        if rows and not connection.in_atomic_block:
            if len(self._cache) >= _MAX_CACHED:
                self._cache.clear()
            self._cache[name] = (columns, rows[0])
        return rows

    def swap(self, before: LineRow | None, after: LineRow | None) -> bool:
        stored = models.SyncLine.objects.filter(name=before.name if before else "")
        if after is None:
            return _delete_with_marks(stored, stored)
        owner = _owner_of(after)
        if owner is None:
            return False
        columns: dict[str, Any] = {
            "name": after.name,
            "configuration": owner,
            "method": after.method,
            "path": after.path,
            "sync": None if after.sync is None else dict(after.sync),
            "source": after.source,
            "voucher": after.voucher,
        }
        if before is not None:
            return bool(stored.update(**columns))
        line = models.SyncLine(**columns)
        if not insert(line):
            return False
        # The ID may be that of a line that another program has removed by SQL.
        models.SyncMark.objects.filter(line=line).delete()
        return True

    def versions(self, name: str, limit: int) -> list[LineVersion]:
        rows = models.LineVersion.objects.filter(line__name=name).order_by("-number")
        return [
            LineVersion(
                line=name,
                number=row.number,
                at=row.at,
                actor=row.actor,
                text=row.text,
                summary=Text.from_json(row.summary),
            )
            for row in rows[:limit]
        ]

    def add_version(self, version: LineVersion, oldest: int) -> bool:
        line = models.SyncLine.objects.filter(name=version.line).first()
        if line is None:
            return False
        row = models.LineVersion(
            line=line,
            number=version.number,
            at=version.at,
            actor=version.actor,
            text=version.text,
            summary=version.summary.to_json(),
        )
        if not insert(row):
            return False
        models.LineVersion.objects.filter(line=line, number__lt=oldest).delete()
        return True


@wrap_errors_of_methods
class DjangoSecretRows:
    """Ciphertexts: secrets in all versions, vouchers and tokens."""

    def read(self, records: Collection[str], field: str = "") -> list[SecretVersion]:
        if field and len(records) == 1:
            (record,) = records
            return versions_of(record, field)
        by_id = {_id_of(record): record for record in records}
        query = models.SecretValue.objects.filter(configuration__in=by_id)
        query = query.filter(field=field) if field else query.defer("sealed")
        versions = [
            version_of(row, by_id[row.configuration_id], read_sealed=bool(field))
            for row in query
        ]
        return [version for version in versions if is_usable(version)]

    def swap(self, before: SecretVersion | None, after: SecretVersion | None) -> bool:
        if before is None:
            return after is not None and insert(_secret_value(after))
        place = before.place
        if place.table == "token":
            return after is not None and _reseal_token(before, after)
        if after is not None and before.sealed is not None:
            # SQL of our own, since a key rotation writes thousands. The label of every
            # new value is written here too.
            sealed = after.sealed or b""
            record = row_of_record(place.record)
            where = (record, place.field, place.version, before.label)
            new = (sealed, key_name_of(sealed), after.label)
            return bool(
                execute(_UPDATE_VERSION, (*new, *where, before.sealed)).rowcount
            )
        stored = models.SecretValue.objects.filter(
            configuration=_id_of(place.record),
            field=place.field,
            version=place.version,
            label=before.label,
            sealed=before.sealed,
        )
        if after is None:
            return bool(stored.delete()[0])
        return bool(stored.update(label=after.label))

    def sealed_by_others(self, key: str, limit: int) -> list[SecretVersion]:
        values = _sealed_rows(models.SecretValue).exclude(key_id=key)
        # Also those that cannot be read: a rotation names them, instead of ending.
        values = values.select_related("configuration").order_by("id")
        rows = [version_of(row, record_of(row.configuration)) for row in values[:limit]]
        tokens = _sealed_rows(models.Token).exclude(key_id=key).order_by("pk")
        tokens = tokens.select_related("configuration")
        for token in tokens[: limit - len(rows)]:
            record = record_of(token.configuration)
            place = token_place(record, token.serial, token.origin)
            rows.append(SecretVersion(place, sealed=optional_bytes(token.sealed)))
        return rows

    def key_uses(self, *, vouchers: bool = False) -> dict[str, int]:
        values = _sealed_rows(models.SecretValue)
        if not vouchers:
            values = values.exclude(field=VOUCHER_FIELD)
        uses: Counter[str] = Counter()
        for rows in (values, _sealed_rows(models.Token)):
            named = rows.exclude(key_id="").values_list("key_id")
            uses.update(dict(named.annotate(Count("pk"))))
            # outkey never leaves this column empty.
            others = rows.filter(key_id="").values_list("sealed", flat=True)
            uses.update(named_key(as_bytes(sealed)) for sealed in others)
        return dict(uses)

    def needs_key(self) -> bool:
        tables = (
            _sealed_rows(models.SecretValue),
            _sealed_rows(models.Token),
            models.Delivery.objects.all(),
            models.Stream.objects.all(),  # of the audit, which is signed
        )
        return any(rows.exists() for rows in tables)


@wrap_errors_of_methods
class DjangoKeyRows:
    """The keys that this database was used with."""

    def read(self) -> dict[str, bytes]:
        rows = models.KnownKey.objects.values_list("key_id", "check_value")
        return {key_id: optional_bytes(value) or b"" for key_id, value in rows}

    def add(self, keys: Mapping[str, bytes]) -> None:
        rows = [
            models.KnownKey(key_id=name, check_value=value)
            for name, value in keys.items()
        ]
        models.KnownKey.objects.bulk_create(rows, ignore_conflicts=True)


def _rows_named(names: Collection[str], rows: Iterable[Named]) -> list[Named]:
    """Return the rows that have exactly these names, each once.

    A changed collation also finds other names, and without its constraint a table has
    several rows of a name: none of them may then stand for the others.
    """
    found = [row for row in rows if row.name in names]
    counts = Counter(row.name for row in found)
    doubled = [name for name, count in counts.items() if count > 1]
    if doubled:
        raise RowUnreadable(
            Text("the database has several rows of this name: {name}", name=doubled[0])
        )
    return found


def _owner_of(row: LineRow) -> models.Configuration | None:
    """Return the configuration of a line: by its id, which is vouched for."""
    stored = models.Configuration.objects
    if row.record:
        return stored.filter(pk=UUID(row.record)).first()
    owners = [
        owner
        for owner in stored.filter(name=row.configuration)
        if owner.name == row.configuration
    ]
    return owners[0] if len(owners) == 1 else None


def _sealed_rows(model: type[Sealing]) -> QuerySet[Sealing]:
    """Return the rows of a table that have a ciphertext."""
    return QuerySet(model).filter(sealed__isnull=False)


def summary_of(columns: tuple[Any, ...]) -> Summary:
    """Return a summary from the columns that `summaries` reads."""
    *listed, revision, tested_revision = columns
    health = dict(zip(_HEALTH, listed[len(_SUMMARY) :], strict=True))
    current = revision == tested_revision
    return Summary._make((*listed[: len(_SUMMARY)], Health(**health, current=current)))


def health_of(row: models.Configuration) -> Health:
    """Return the health of a configuration from its columns alone."""
    current = row.tested_revision == row.revision
    return Health(**{name: getattr(row, name) for name in _HEALTH}, current=current)


def with_headers(rows: Iterable[models.Configuration]) -> list[ConfigurationRow]:
    """Return rows with their header rows, which are read at once for all of them."""
    stored = list(rows)
    headers: dict[UUID, list[CustomHeader]] = {row.pk: [] for row in stored}
    odd: dict[UUID, tuple[str, ...]] = {row.pk: _odd_columns(row) for row in stored}
    for header in models.HeaderRow.objects.filter(
        configuration__in=headers.keys()
    ).order_by("position"):
        if is_odd(header.position, header.key, header.value, header.secret):
            odd[header.configuration_id] = ("headers",)
        headers[header.configuration_id].append(
            CustomHeader(header.key, header.value, secret=header.secret)
        )
    return [
        ConfigurationRow(
            record=record_of(row),
            name=row.name,
            version=row.version,
            revision=row.revision,
            settings=_settings_of(row),
            headers=tuple(headers[row.pk]),
            health=health_of(row),
            odd=odd[row.pk],
            connection=_connection_of(row),
        )
        for row in stored
    ]


def _odd_columns(row: models.Configuration) -> tuple[str, ...]:
    """Return the columns of a configuration that hold what outkey never writes."""
    return odd_names((name, getattr(row, name)) for name in _CHECKED)


def record_of(row: models.Configuration) -> str:
    """Return the record of a row, which the secrets of it are sealed for."""
    record: str = row.pk.hex
    if row.parent_id is None:
        return record
    return connection_record(record, row.parent_id.hex, row.connection)


def _id_of(record: str) -> UUID:
    """Return the id of the row that a record is stored in."""
    return UUID(row_of_record(record))


def _settings_of(row: models.Configuration) -> dict[str, object]:
    """Return the settings of a configuration; a connection has none of its own."""
    if row.parent_id is not None:
        return {}
    return {**row.settings, **{column: getattr(row, column) for column in _COLUMNS}}


def _connection_of(row: models.Configuration) -> Connection | None:
    """Return the facts of a connection; None for a configuration."""
    if row.parent_id is None:
        return None
    facts = row.settings
    variables = facts.get("variables", {})
    return Connection(
        id=row.connection,
        configuration=row.parent_id.hex,
        owner=row.owner,
        username=read_text(facts.get("username", "")),
        client_id=read_text(facts.get("client_id", "")),
        variables={
            read_text(name): read_text(value) for name, value in variables.items()
        }
        if isinstance(variables, dict)
        else {},
        active=row.active,
        created_at=row.created_at,
        connected_at=row.connected_at,
        last_used_at=row.last_used_at,
    )


def _rows_with_stamp(row: ConfigurationRow) -> QuerySet[models.Configuration]:
    """Return the stored row if nothing has changed it; else no row."""
    stamp = row.stamp._asdict()
    is_current = stamp.pop("current")
    rows = models.Configuration.with_connections
    stored = rows.filter(pk=_id_of(row.record), **stamp)
    if is_current:
        return stored.filter(tested_revision=row.revision)
    return stored.exclude(tested_revision=row.revision)


def columns_of(row: ConfigurationRow) -> dict[str, Any]:
    """Return the columns of a row, apart from its header rows."""
    columns = {
        "name": row.name,
        "version": row.version,
        "revision": row.revision,
        "tested_revision": row.revision if row.health.current else None,
        **{name: getattr(row.health, name) for name in _HEALTH},
        "seen": dict(row.health.seen),
    }
    if row.connection is not None:
        return columns | _columns_of_connection(row.connection)
    settings = dict(row.settings)
    own = {column: settings.pop(column) for column in _COLUMNS}
    return {**columns, **own, "settings": settings}


def _columns_of_connection(connection: Connection) -> dict[str, Any]:
    """Return the columns that a connection has in the place of settings."""
    return {
        **dict.fromkeys(_COLUMNS, ""),
        "parent_id": UUID(connection.configuration),
        "connection": connection.id,
        "owner": connection.owner,
        "active": connection.active,
        "created_at": connection.created_at,
        "connected_at": connection.connected_at,
        "last_used_at": connection.last_used_at,
        "settings": {
            "username": connection.username,
            "client_id": connection.client_id,
            "variables": dict(connection.variables),
        },
    }


def insert_configuration(row: ConfigurationRow) -> bool:
    """Insert a row with its headers, and return whether its name was free."""
    columns = columns_of(row)
    stored = models.Configuration(id=_id_of(row.record), **columns)
    if not row.headers:  # of connections there may be thousands
        return insert(stored)
    with transaction.atomic():
        if not insert(stored):
            return False
        _insert_headers(row)
    return True


def _insert_headers(row: ConfigurationRow) -> None:
    """Insert the header rows of a configuration."""
    models.HeaderRow.objects.bulk_create(
        models.HeaderRow(
            configuration_id=_id_of(row.record),
            position=position,
            key=header.key,
            value=header.value,
            secret=header.secret,
        )
        for position, header in enumerate(row.headers)
    )


def _delete_with_marks(stored: QuerySet[Any], lines: QuerySet[models.SyncLine]) -> bool:
    """Delete rows, and the marks of the lines that are deleted with them."""
    line_ids = list(lines.values_list("pk", flat=True))
    is_deleted = bool(stored.delete()[0])
    # Once more: no constraint prevents a page from adding marks after Django has
    # deleted them. Deleting the runs has then waited until the page was written.
    models.SyncMark.objects.filter(line__in=line_ids).delete()
    return is_deleted


def insert(row: Model) -> bool:
    """Insert a row, and return whether no other row has its unique columns."""
    if insert_new(row):
        return True
    # A row has its columns, or a trigger ignores what is written.
    try:
        with transaction.atomic():
            insert_row(row)
    except IntegrityError:
        return False
    return True


def _lines() -> QuerySet[models.SyncLine]:
    """Return the lines, with only those columns that `line_of` reads.

    Every worker reads all lines four times a minute, and each would bring the twenty
    other columns of its configuration.
    """
    lines = models.SyncLine.objects.select_related("configuration")
    return lines.only(*_LINE_FIELDS, "configuration__name")


def line_of(row: models.SyncLine) -> LineRow:
    """Return a line as core has it."""
    return LineRow(
        row.name,
        configuration=row.configuration.name,
        method=row.method,
        path=row.path,
        sync=row.sync,
        source=row.source,
        record=row.configuration_id.hex,
        voucher=row.voucher,
    )


def version_of(
    row: models.SecretValue, record: str, *, read_sealed: bool = True
) -> SecretVersion:
    """Return a version as core has it; its ciphertext may be left unread."""
    sealed = row.sealed if read_sealed else None
    return SecretVersion(
        place=secret_place(record, row.field, row.version, row.origin),
        label=row.label,
        sealed=optional_bytes(sealed),
        reference=row.reference,
        set_at=row.set_at,
        set_by=row.set_by,
    )


def versions_of(record: str, field: str) -> list[SecretVersion]:
    """Return all versions of one secret by one plain statement: sending opens it."""
    rows = execute(_VERSIONS, (row_of_record(record), field)).fetchall()
    versions = [
        SecretVersion(
            place=secret_place(record, field, read_count(version), read_text(origin)),
            label=read_text(label),
            sealed=None if sealed is None else read_bytes(sealed),
            reference=read_text(reference),
            set_at=None if set_at is None else read_time(set_at),
            set_by=read_text(set_by),
        )
        for version, label, origin, reference, sealed, set_at, set_by in rows
    ]
    return [version for version in versions if is_usable(version)]


def is_usable(version: SecretVersion) -> bool:
    """Whether no column of a version is odd; others count as not stored."""
    place = version.place
    return not is_odd(
        place.record,
        place.field,
        place.version,
        place.origin,
        version.label,
        version.sealed,
        version.reference,
    )


def _secret_value(version: SecretVersion) -> models.SecretValue:
    """Return the row of a version."""
    place = version.place
    return models.SecretValue(
        configuration_id=_id_of(place.record),
        field=place.field,
        version=place.version,
        label=version.label,
        origin=place.origin,
        reference=version.reference,
        sealed=version.sealed,
        key_id="" if version.sealed is None else key_name_of(version.sealed),
        set_at=version.set_at,
        set_by=version.set_by,
    )


def _reseal_token(before: SecretVersion, after: SecretVersion) -> bool:
    """Put other bytes in the place of a token's ciphertext, if it is still that one."""
    sealed = after.sealed or b""
    stored = models.Token.objects.filter(
        pk=_id_of(before.place.record), sealed=before.sealed
    )
    return bool(stored.update(sealed=sealed, key_id=key_name_of(sealed)))
