"""The rules of storing configurations and secrets, over the rows of a host.

Rows hold no rule (`ports.storage.ConfigurationStorage`): what an edit,
another secret, a test, a refusal or a removal means for what is stored is decided
here, once for every host.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, replace
from types import MappingProxyType
from uuid import UUID, uuid4

from outkey.foundation.core.errors import (
    ConfigError,
    EditConflict,
    OutkeyError,
    RowUnreadable,
    UnknownConfiguration,
    UnknownConnection,
    configuration_exists,
)
from outkey.foundation.core.text import Text
from outkey.foundation.ports.clock import Clock
from outkey.sending.core.configuration.configuration import (
    Configuration,
    kept_secrets,
    known_names,
)
from outkey.sending.core.configuration.custom_rows import is_row_secret
from outkey.sending.core.configuration.health import Health, Summary
from outkey.sending.core.configuration.rows import (
    ConfigurationRow,
    new_connection_row,
    new_row,
)
from outkey.sending.core.configuration.secret_state import SecretState
from outkey.sending.core.connections.connection import (
    Connection,
    ConnectionQuery,
    account_name,
    connection_record,
    is_account_name,
    parse_account_name,
)
from outkey.sending.core.connections.ids import check_connection_id
from outkey.sending.core.connections.naming import (
    refuse_without_connections,
)
from outkey.sending.core.rotation.credential_sets import CredentialSets
from outkey.sending.core.vault.versions import (
    SecretLabel,
    SecretVersion,
    Swap,
    activate,
    add_pending,
    current_states,
    current_voucher,
    delete_all,
    exchange,
    next_number,
    secret_version,
    stage,
    unused_versions,
)
from outkey.sending.core.vault.voucher import VOUCHER_FIELD
from outkey.sending.ports.storage import ConfigurationStorage

# A configuration that is 0.1 s old is no worse than a send that began 0.1 s earlier.
FRESH_SECONDS = 0.1
LOAD_TRIES = 10  # another process may save a configuration while it is read
HEALTH_TRIES = 50  # another process may write the same row at the same moment
MOST_CACHED = 2000
READ_AT_ONCE = 500  # connections
NO_SECRETS: Mapping[str, SecretState] = MappingProxyType({})


@dataclass(slots=True)
class CachedConfiguration:
    """A configuration, the row it was built from, and when that was last read."""

    row: ConfigurationRow
    configuration: Configuration
    read_at: float


class ConfigurationRegistry:
    """The configurations of an installation and the states of their secrets."""

    def __init__(
        self,
        storage: ConfigurationStorage,
        clock: Clock,
        *,
        fresh_seconds: float = FRESH_SECONDS,
    ) -> None:
        self._storage = storage
        self._clock = clock
        self._fresh_seconds = fresh_seconds
        # By name; those with a connection by the name of the account.
        self._cache: dict[str, CachedConfiguration] = {}
        self._names: dict[str, str] = {}  # of configurations, by their records

    def transaction(self) -> AbstractContextManager[None]:
        """Write all of what is changed inside, or nothing."""
        return self._storage.database.transaction()

    # ── configurations ──────────────────────────────────────────────────────────────

    def get(self, name: str) -> Configuration:
        """Return one configuration, or raise UnknownConfiguration.

        Every send calls this. What was read a moment ago is returned as it was; after
        that the row alone is read, and if it did not change, neither did headers,
        secrets and voucher: their changes change the revision.
        """
        unconnected = None
        if is_account_name(name):
            unconnected = self._by_record(parse_account_name(name)[0])
        return self._get(name, unconnected)

    def connected(self, name: str, connection: str) -> Configuration:
        """Return a configuration with an account, or raise UnknownConnection."""
        unconnected = self.get(name)
        refuse_without_connections(unconnected)
        check_connection_id(connection)
        return self._get(account_name(unconnected.record, connection), unconnected)

    def _get(self, name: str, unconnected: Configuration | None) -> Configuration:
        cached = self._cache.get(name)
        if cached is not None and cached.configuration.unconnected is not unconnected:
            cached = None  # another object since the configuration was changed
        now = self._clock.monotonic()
        if cached is not None and now - cached.read_at < self._fresh_seconds:
            return cached.configuration
        row = self._row(name)
        if cached is not None and cached.row == row:
            cached.read_at = now
            return cached.configuration
        row, configuration = self._load_unchanged(row)
        if len(self._cache) >= MOST_CACHED:
            self._cache.clear()
        self._cache[name] = CachedConfiguration(row, configuration, now)
        return configuration

    def _by_record(self, record: str) -> Configuration:
        """Return the configuration with this id."""
        name = self._names.get(record, "")
        with suppress(UnknownConfiguration):  # it was renamed
            found = self.get(name)
            if found.record == record:
                return found
        names = self.names_of([record])
        if record not in names:
            raise UnknownConfiguration
        if len(self._names) >= MOST_CACHED:
            self._names.clear()
        self._names[record] = names[record]
        return self.get(names[record])

    def _unconnected(self, row: ConfigurationRow) -> Configuration | None:
        """Return the configuration that a connection is of; None for another row."""
        if row.connection is None:
            return None
        return self._by_record(row.connection.configuration)

    def all(self) -> list[Configuration]:
        """Return every configuration that can be read, by name; opens no secret."""
        rows = self._storage.configurations.find()
        loaded = [found for _, found in self._load_each(rows)]
        return [found for found in loaded if not isinstance(found, OutkeyError)]

    def unreadable(self) -> list[str]:
        """Return the names of the configurations that cannot be read."""
        rows = self._storage.configurations.find()
        return [
            row.name
            for row, found in self._load_each(rows)
            if isinstance(found, OutkeyError)
        ]

    def find(self, names: Iterable[str]) -> dict[str, Configuration]:
        """Return those of these configurations that exist, as they are stored now.

        RowUnreadable or ConfigError if one of them cannot be read.
        """
        rows = self._storage.configurations.find(names=list(names))
        return {found.account: found for found in self._load(rows)}

    def names_of(self, records: Collection[str]) -> dict[str, str]:
        """Return the names that the configurations with these ids have now, by id."""
        rows = self._storage.configurations.find(records=records)
        return {row.record: row.name for row in rows}

    def summaries(self) -> list[Summary]:
        """Return the summary of every configuration, by name; reads no secret."""
        return self._storage.configurations.summaries()

    def lock(self, configuration: Configuration) -> None:
        """Lock a configuration against other processes until the transaction ends.

        Raises EditConflict if it is not stored any more, or not in this version.
        """
        names = [configuration.account]
        rows = self._storage.configurations.find(names=names, lock=True)
        seen = (configuration.record, configuration.version)
        if [(row.record, row.version) for row in rows] != [seen]:
            raise EditConflict

    def add(self, configuration: Configuration, record: str = "") -> Configuration:
        """Store a new configuration with its references.

        Returns it with record and version. A reference is not opened first, unlike a
        value: nothing was in its place before. `record` is an id that the form of a new
        configuration was drawn with; without it the configuration gets one here.
        """
        if record:
            self._refuse_used_record(record)
        references = {
            field: state
            for field, state in configuration.secrets.items()
            if state.reference is not None
        }
        new_record = record or uuid4().hex
        row = new_row(replace(configuration, secrets=references), new_record)
        with self.transaction():
            if not self._storage.configurations.swap(None, row):
                raise configuration_exists()
            self._add_current(row.record, references)
        return replace(
            configuration,
            record=row.record,
            version=row.version,
            revision=row.revision,
        )

    def _add_current(self, record: str, references: Mapping[str, SecretState]) -> None:
        """Store the references of a new row, which need not be opened first."""
        self._apply(
            (None, secret_version(record, field, state, label=SecretLabel.CURRENT))
            for field, state in references.items()
        )

    def _refuse_used_record(self, record: str) -> None:
        """Refuse an id that is not a new one: of another configuration, or no id."""
        if not _is_new_record(record) or self._storage.configurations.find(
            records=[record]
        ):
            raise ConfigError(
                Text("this form was saved before"),
                hint=Text("Open the configuration in the list, or begin a new one."),
            )

    def put_settings(self, configuration: Configuration) -> Configuration:
        """Store changed settings, or raise EditConflict if another version is stored.

        Secrets of rows that were removed are deleted; the others stay as they
        are, since one may have been set after this configuration was read.
        """
        name = configuration.name
        with self.transaction():
            row = self._row(name, lock=True)
            if row.version != configuration.version:
                raise EditConflict
            versions = self._storage.secrets.read([row.record])
            fields = {version.place.field for version in versions}
            wanted = {r.secret_field for r in configuration.rows if r.secret}
            for field in fields - wanted:
                if is_row_secret(field):
                    self._delete_secret(row.record, field)
            secrets = kept_secrets(current_states(versions), configuration.rows)
            changed = row.after_edit(replace(configuration, secrets=secrets))
            self._swap(row, changed)
        return replace(
            configuration, version=changed.version, revision=changed.revision
        )

    def rename(self, name: str, new_name: str, at: float) -> None:
        """Give a configuration another name; all that belongs to it stays with it.

        Raises UnknownConfiguration, and ConfigError if the new name is taken.
        """
        with self.transaction():
            row = self._row(name, lock=True)
            if self._storage.configurations.find(names=[new_name]):
                raise configuration_exists()
            self._swap(row, row.after_rename(new_name, at))
        self._cache.pop(new_name, None)

    def remove(self, name: str) -> None:
        """Delete a configuration with its secrets, or raise UnknownConfiguration."""
        with self.transaction():
            row = self._row(name, lock=True)
            self._swap(row, None)
        self._cache.pop(name, None)

    # ── connections ─────────────────────────────────────────────────────────────────

    def connections(
        self, configuration: Configuration, query: ConnectionQuery
    ) -> list[ConfigurationRow]:
        """Return the rows of some connections, by id; opens no secret."""
        return self._storage.configurations.connections(configuration.record, query)

    def each_connection(self, configuration: Configuration) -> Iterator[Configuration]:
        """Yield a configuration with each of its accounts, by id; opens no secret."""
        query = ConnectionQuery(limit=READ_AT_ONCE)
        while rows := self.connections(configuration, query):
            yield from self._load(rows)
            query = query._replace(after=parse_account_name(rows[-1].name)[1])

    def add_connection(
        self,
        unconnected: Configuration,
        connection: Connection,
        references: Mapping[str, SecretState] = NO_SECRETS,
    ) -> str:
        """Store a new connection with its references, or raise EditConflict.

        Returns the name that it is stored under. Like every new secret it is complete
        when it is vouched for, in the same transaction.
        """
        record = connection_record(uuid4().hex, connection.configuration, connection.id)
        row = new_connection_row(unconnected, connection, record, references)
        if not self._storage.configurations.swap(None, row):
            raise EditConflict(
                Text("there is a connection with this id already"), field="connection"
            )
        self._add_current(record, references)
        return row.name

    def put_connection(
        self,
        seen: Configuration,
        connection: Connection,
        references: Mapping[str, SecretState] = NO_SECRETS,
    ) -> None:
        """Store changed facts and references of a connection, or raise EditConflict."""
        with self.transaction():
            row = self._row(seen.account, lock=True)
            if (row.record, row.version) != (seen.record, seen.version):
                raise EditConflict
            for field, state in references.items():
                self.put_reference(seen, field, state)
            states = current_states(self._storage.secrets.read([row.record]))
            unconnected = self._unconnected(row)
            assert unconnected is not None  # noqa: S101 - of a connection
            self._swap(row, row.after_connection(connection, states, unconnected))

    # ── secrets ─────────────────────────────────────────────────────────────────────

    def put_reference(
        self, configuration: Configuration, field: str, state: SecretState
    ) -> None:
        """Read a secret from a reference; the value before becomes the previous one.

        Like every change of a secret it is complete after `note_secrets_changed`.
        """
        record = configuration.record
        with self.transaction():
            new = self._add_pending_reference(record, field, state)
            versions = self._storage.secrets.read([record], field)
            self._apply(activate(versions, new.version))

    def stage_reference(
        self, configuration: Configuration, field: str, state: SecretState
    ) -> SecretState:
        """Store a reference for the next set of credentials; return its state."""
        record = configuration.record
        with self.transaction():
            new = self._add_pending_reference(record, field, state)
            versions = self._storage.secrets.read([record], field)
            self._apply(stage(versions, new.version))
        return new

    def _add_pending_reference(
        self, record: str, field: str, state: SecretState
    ) -> SecretState:
        versions = self._storage.secrets.read([record], field)
        state = replace(state, version=next_number(versions))
        self._apply(add_pending(versions, secret_version(record, field, state)))
        return state

    def put_sets(
        self,
        seen: Configuration,
        sets: CredentialSets,
        *,
        exchanges: Mapping[str, str] | None = None,
    ) -> Configuration:
        """Store the sets of credentials after a step of a rotation.

        With `exchanges`, the settings that change, the other set and the one in use
        change places. Secrets of no set are deleted. EditConflict if the sets are not
        as they were read.
        """
        with self.transaction():
            row = self._row(seen.name, lock=True)
            versions = self._storage.secrets.read([row.record])
            stored = row.configuration(current_states(versions))
            if row.record != seen.record or stored.sets != seen.sets:
                raise EditConflict
            if exchanges is not None:
                self._apply(exchange(self._other_versions(row.record)))
            others = self._other_versions(row.record)
            self._apply(delete_all(unused_versions(others, sets)))
            states = current_states(self._storage.secrets.read([row.record]))
            self._swap(row, row.after_rotation(sets, states, exchanges))
            return next(self._load([self._row(seen.name)]))

    def _other_versions(self, record: str) -> list[SecretVersion]:
        """Return all versions, with ciphertexts, of the secrets in another set."""
        secrets = self._storage.secrets
        fields = {
            version.place.field
            for version in secrets.read([record])
            if version.label == SecretLabel.OTHER_SET
        }
        return [
            version
            for field in sorted(fields)
            for version in secrets.read([record], field)
        ]

    def clear_secret(self, configuration: Configuration, field: str) -> None:
        """Delete all versions of a secret, but not that of another set.

        Like every change of a secret it is complete after `note_secrets_changed`.
        """
        with self.transaction():
            versions = self._storage.secrets.read([configuration.record], field)
            self._apply(
                delete_all(v for v in versions if v.label != SecretLabel.OTHER_SET)
            )

    def note_secrets_changed(self, name: str) -> None:
        """Make caches read the secrets again, and lists show which are missing."""
        with self.transaction():
            row = self._row(name, lock=True)
            states = current_states(self._storage.secrets.read([row.record]))
            self._swap(row, row.after_secrets(states, self._unconnected(row)))

    def note_vouched(self, name: str) -> None:
        """Make caches read a configuration's voucher again; nothing else changed."""
        with self.transaction():
            row = self._row(name, lock=True)
            self._swap(row, row.after_reseal())

    def rename_setter(self, before: str, after: str) -> None:
        """Replace the name of who set secrets; values and test results stay valid."""
        configurations = self._storage.configurations
        secrets = self._storage.secrets
        with self.transaction():
            records = [row.record for row in configurations.find()]
            places = [v.place for v in secrets.read(records) if v.set_by == before]
            records = [place.record for place in places]
            for row in configurations.find(records=records, lock=True):
                self._swap(row, row.after_reseal())
            for record, field in sorted({(p.record, p.field) for p in places}):
                for version in secrets.read([record], field):
                    if version.set_by == before:
                        # Two swaps: an update changes only label and ciphertext.
                        renamed = replace(version, set_by=after)
                        self._apply([(version, None), (None, renamed)])

    # ── health ──────────────────────────────────────────────────────────────────────

    def save_test_result(
        self,
        configuration: Configuration,
        at: float,
        cause: str,
        seen: Mapping[str, object] | None = None,
    ) -> None:
        """Store the result of a test, if this state is still stored."""
        tested = (configuration.record, configuration.revision)

        def health_after_test(row: ConfigurationRow) -> Health:
            if (row.record, row.revision) != tested:
                return row.health
            return row.health.after_test(at, cause, seen)

        self._change_health(configuration.account, health_after_test)

    def note_refused(self, name: str, revision: int) -> int:
        """Count a response 401 to this revision, and return how many came in a row."""

        def health_after_refusal(row: ConfigurationRow) -> Health:
            is_same = row.revision == revision
            return row.health.after_refusal() if is_same else row.health

        row = self._change_count(name, health_after_refusal)
        if row is None or row.revision != revision:
            return 0
        return row.health.refused

    def note_accepted(self, name: str, revision: int, at: float) -> None:
        """Reset the count of refusals, end a pause, and note that this revision works.

        An earlier revision that was accepted says nothing about the current settings.
        """

        def health_after_success(row: ConfigurationRow) -> Health:
            is_same = row.revision == revision
            return row.health.after_success(at if is_same else None)

        self._change_count(name, health_after_success, used_at=at)

    def pause(self, name: str, at: float) -> None:
        """Stop sending, unless the credentials were replaced in the meantime."""
        self._change_count(name, lambda row: row.health.after_pause(at))

    def resume(self, name: str) -> None:
        """End a pause, or raise UnknownConfiguration."""
        self._row(name)
        self._change_count(name, lambda row: row.health.after_success())

    def due(self, now: float, seconds: float, limit: int) -> list[str]:
        """Return the names of configurations whose last test is older, oldest first.

        Without those that could not send, and those that were never tested.
        """
        tested = [
            (summary.health.tested_at or 0.0, summary.name)
            for summary in self.summaries()
            if summary.health.is_due(now, seconds)
        ]
        return [name for _, name in sorted(tested)[:limit]]

    def _change_count(
        self,
        name: str,
        step: Callable[[ConfigurationRow], Health],
        used_at: float | None = None,
    ) -> ConfigurationRow | None:
        """Write what a step makes of refusals and pause, and return the row then.

        Tries the cached row first, which takes one statement if it is still stored.
        """
        cached = self._cache.pop(name, None)
        if cached is not None:
            changed = _row_after(cached.row, step, used_at)
            is_changed = changed.stamp != cached.row.stamp
            if is_changed and self._storage.configurations.swap(cached.row, changed):
                return changed
        return self._change_health(name, step, used_at)

    def _change_health(
        self,
        name: str,
        step: Callable[[ConfigurationRow], Health],
        used_at: float | None = None,
    ) -> ConfigurationRow | None:
        """Write what a step makes of the health, and return the row then.

        Without a transaction: SQLite refuses one that reads before it writes, as soon
        as another process has written in between. Only a token writes its part of the
        health by itself, in the transaction of its row (`StoredTokens`).
        """
        configurations = self._storage.configurations
        for _ in range(HEALTH_TRIES):
            rows = configurations.find(names=[name])
            if not rows:
                return None
            changed = _row_after(rows[0], step, used_at)
            if changed == rows[0]:
                return changed
            if configurations.swap(rows[0], changed):
                self._cache.pop(name, None)
                return changed
        raise EditConflict

    # ── rows ────────────────────────────────────────────────────────────────────────

    def _row(self, name: str, *, lock: bool = False) -> ConfigurationRow:
        rows = self._storage.configurations.find(names=[name], lock=lock)
        if rows:
            return rows[0]
        if is_account_name(name):
            raise UnknownConnection(field="connection")
        names = [summary.name for summary in self.summaries()]
        raise UnknownConfiguration(hint=known_names(names))

    def _load_unchanged(
        self, row: ConfigurationRow
    ) -> tuple[ConfigurationRow, Configuration]:
        """Return a row with the configuration of it, all of the same save.

        Secrets and voucher are read after the row: with those of a later save, it would
        look as if the row had been changed outside of outkey.
        """
        for _ in range(LOAD_TRIES):
            found = next(found for _, found in self._load_each([row]))
            again = self._row(row.name)
            if (again.record, again.revision) == (row.record, row.revision):
                if isinstance(found, OutkeyError):
                    raise found
                return row, found
            row = again
        raise EditConflict

    def _load(self, rows: Collection[ConfigurationRow]) -> Iterator[Configuration]:
        """Yield configurations with their secrets; raise for one that is unreadable."""
        for _, found in self._load_each(rows):
            if isinstance(found, OutkeyError):
                raise found
            yield found

    def _load_each(
        self, rows: Collection[ConfigurationRow]
    ) -> Iterator[tuple[ConfigurationRow, Configuration | OutkeyError]]:
        """Yield rows with their configurations, or with why one cannot be read.

        Secrets are read at once for all of them.
        """
        records = [row.record for row in rows]
        secrets: dict[str, list[SecretVersion]] = {record: [] for record in records}
        vouchers: dict[str, list[SecretVersion]] = {record: [] for record in records}
        for version in self._storage.secrets.read(records):
            secrets[version.place.record].append(version)
        for version in self._storage.secrets.read(records, VOUCHER_FIELD):
            vouchers[version.place.record].append(version)
        for row in rows:
            found: Configuration | OutkeyError
            try:
                found = row.configuration(
                    current_states(secrets[row.record]),
                    current_voucher(vouchers[row.record]),
                    self._unconnected(row),
                )
            except (ConfigError, RowUnreadable) as error:
                found = error
            yield row, found

    def _swap(self, before: ConfigurationRow, after: ConfigurationRow | None) -> None:
        if not self._storage.configurations.swap(before, after):
            raise EditConflict
        self._cache.pop(before.name, None)

    def _apply(self, swaps: Iterable[Swap]) -> None:
        for before, after in swaps:
            if not self._storage.secrets.swap(before, after):
                raise EditConflict

    def _delete_secret(self, record: str, field: str) -> None:
        self._apply(delete_all(self._storage.secrets.read([record], field)))


def _row_after(
    row: ConfigurationRow,
    step: Callable[[ConfigurationRow], Health],
    used_at: float | None,
) -> ConfigurationRow:
    """Return a row with the health that a step makes, after a use if there was one."""
    changed = replace(row, health=step(row))
    return changed if used_at is None else changed.after_use(used_at)


def _is_new_record(text: str) -> bool:
    """Whether a text is an id as new configurations get it: a random UUID, in hex."""
    try:
        record = UUID(hex=text)
    except ValueError:
        return False
    return record.version == 4 and record.hex == text
