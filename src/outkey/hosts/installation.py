"""Puts adapters around the tables of a host with a database: an `Application`."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from datetime import UTC
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, cast

from outkey.administration.adapters.preset_files import PresetFiles
from outkey.administration.adapters.vouched_rows import VouchedRows, VouchedTables
from outkey.administration.engine.application import Application
from outkey.administration.engine.watching.audit_trail import AuditTrail
from outkey.foundation.adapters.clock_system import SystemClock
from outkey.foundation.adapters.extras import extra
from outkey.foundation.adapters.on_demand import OnDemand
from outkey.hosts.webhook_ports import (
    WebhookStorage,
    find_handler,
    listed_handlers,
    open_hook_ports,
)
from outkey.sending.adapters.audit.audit_keyed import KeyedAudit
from outkey.sending.adapters.audit.checkpoints_file import CheckpointFile
from outkey.sending.adapters.secrets.keyring_file import KeySource
from outkey.sending.adapters.secrets.keyring_loader import (
    KeyringLoader,
    KeyRotation,
    ProcessHeartbeat,
)
from outkey.sending.adapters.secrets.secrets_reference import ReferencedSecrets
from outkey.sending.adapters.secrets.secrets_stored import StoredSecrets
from outkey.sending.adapters.transport.configured_files import ConfiguredFiles
from outkey.sending.adapters.transport.listeners_file import ListenerFiles
from outkey.sending.adapters.vouching.codes import KeyedVouchers
from outkey.sending.adapters.vouching.seen_file import SeenRowsFile, seen_rows_file
from outkey.sending.adapters.vouching.vouched_configurations import (
    VouchedConfigurations,
)
from outkey.sending.adapters.vouching.vouched_states import VouchedStates
from outkey.sending.adapters.vouching.vouched_tokens import VouchedTokens
from outkey.sync.adapters.vouched_lines import VouchedLines
from outkey.sync.engine.line_registry import Registry
from outkey.sync.engine.runs.runs import Runs
from outkey.webhooks.adapters.secrets_of_webhooks import SecretsWithWebhooks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from datetime import tzinfo

    from outkey.administration.core.policy.policy import Policy
    from outkey.administration.ports.installation import LineRuns
    from outkey.foundation.core.secret import Secret
    from outkey.foundation.core.stored_values import OddRow
    from outkey.foundation.ports.database import StateRows
    from outkey.sending.adapters.scripts_locked.pool import LockedScripts
    from outkey.sending.adapters.secrets.backends_file import BackendsFile
    from outkey.sending.core.configuration.sections import TlsSettings
    from outkey.sending.engine.backends.stores import CachedStores
    from outkey.sending.engine.exchange.sender import Sender
    from outkey.sending.ports.storage import AuditRows, SeenRows, TokenRows
    from outkey.sync.adapters.tables.borrowed import Borrow
    from outkey.sync.engine.runs.line_plan import SyncPorts
    from outkey.sync.ports.sync import (
        LedgerRows,
        Models,
        PairRows,
        ParentRows,
        Queue,
        RunRows,
        Storage,
        StoredTables,
    )
    from outkey.webhooks.engine.reception import ReceptionPorts
    from outkey.webhooks.ports.webhooks import DeliveryRows


@dataclass(frozen=True, slots=True, kw_only=True)
class Tables:
    """The tables that a host with a database implements.

    Records and the queue are opened when they are first used: most commands and pages
    need neither.
    """

    storage: Storage
    audit: AuditRows
    states: StateRows
    tokens: TokenRows
    runs: RunRows
    line_runs: LineRuns
    ledger: LedgerRows
    agreements: PairRows
    parents: ParentRows
    records: Callable[[], Models]
    queue: Callable[[], Queue]
    close: Callable[[], None] = lambda: None  # what is open besides, such as files
    # The connection of the thread that asks, for tables in the host's own database; a
    # host without it has tables in other databases only.
    connection: Borrow | None = None
    # Of the times of the host's models that have none.
    zone: tzinfo = UTC
    # The inbox of webhooks; a host without it receives none.
    deliveries: DeliveryRows | None = None
    # Closes what is open for the thread that calls it, such as its connection.
    release_thread: Callable[[], None] = lambda: None
    # Rows that outkey did not write as they are, where the host can find them.
    odd_rows: Callable[[], list[OddRow]] = list
    # Triggers on outkey's tables, which outkey never makes.
    triggers: Callable[[], list[str]] = list


def build_application(
    tables: Tables,
    home: Path,
    environment: Mapping[str, str] = os.environ,
    *,
    policy: Callable[[], Policy] | None = None,
    public_url: str = "",
    handlers: Iterable[str] = (),
) -> Application:
    """Put the adapters around a host's tables; by default the policy is the home's."""
    policy = policy or partial(_read_policy, home, environment)
    parts = _Installation(tables, home, environment, policy)
    tables = parts.tables
    storage = tables.storage
    return Application(
        database=storage.database,
        registry=parts.registry,
        states=tables.states,
        secrets=parts.secrets,
        keys=parts.keys,
        key_file=parts.key_source.file,
        rotation=KeyRotation(
            parts.keys, storage.secrets, tables.states, now=storage.database.now
        ),
        audit=parts.audit,
        audit_trail=AuditTrail(tables.audit, parts.checkpoints, parts.keys.audit_key),
        runs=parts.runs,
        line_runs=tables.line_runs,
        clock=parts.clock,
        vouched_rows=parts.vouched_rows,
        listeners=parts.listeners,
        presets=PresetFiles(),
        open_sender=parts.open_sender,
        open_stores=parts.open_stores,
        policy=policy,
        queue=tables.queue,
        sync_ports=parts.open_sync,
        hook_ports=(
            partial(parts.open_hooks, tables.deliveries)
            if tables.deliveries is not None
            else None
        ),
        odd_table_rows=tables.odd_rows,
        triggers=tables.triggers,
        handler=find_handler,
        listed_handlers=(*listed_handlers(environment), *handlers),
        public_url=public_url or environment.get("OUTKEY_PUBLIC_URL", ""),
    )


def _read_policy(home: Path, environment: Mapping[str, str]) -> Policy:
    from outkey.administration.adapters.policy_file import read_policy

    return read_policy(home, environment)


def _open_backends_file(home: Path) -> BackendsFile:
    from outkey.sending.adapters.secrets.backends_file import BackendsFile

    return BackendsFile(home)


class _Installation:
    """The adapters of one installation, each made once.

    What takes long to load is loaded when it is first used: most commands and pages
    send nothing.
    """

    def __init__(
        self,
        tables: Tables,
        home: Path,
        environment: Mapping[str, str],
        policy: Callable[[], Policy],
    ) -> None:
        self._environment = environment
        self._policy = policy
        self.clock = SystemClock()
        self.key_source = KeySource.from_environment(
            environment, home / "config" / "key"
        )
        self._seen = SeenRowsFile(seen_rows_file(home))
        self.tables, self.keys, self.vouched_rows = _vouch_for_rows(
            tables, self.key_source, self._seen
        )
        self.registry = Registry(self.tables.storage, self.clock)
        # No configuration may have these read and sent: the key, the database and what
        # lies beside them.
        self._own_files = (self.key_source.file, home / "config", home / "data")
        self._files = ConfiguredFiles(self._own_files)
        self._backends_file = OnDemand(partial(_open_backends_file, home))
        self.open_stores = OnDemand(self._make_stores)
        self._references = ReferencedSecrets(self._files, self.open_stores)
        self.checkpoints = CheckpointFile(home / "config" / "audit-checkpoints")
        self.listeners = ListenerFiles(home / "data" / "listening")
        self._line_files = files_folder(home, environment)
        self.runs = Runs(
            self.tables.runs,
            self.tables.states,
            self.tables.storage.database,
            self.registry,
        )
        self._open_scripts = OnDemand(self._make_scripts)
        self.open_sender = OnDemand(self._make_sender)
        self._stored_tables = _StoredTablesOnDemand(
            self.tables,
            self.runs,
            self._references,
            sqlite_folders=sqlite_folders(environment),
            own=(*self._own_files, self._line_files),
        )

    @cached_property
    def secrets(self) -> StoredSecrets:
        """The secrets of configurations: sealed, or references."""
        return StoredSecrets(
            self.tables.storage,
            self._references,
            self.keys,
            clock=self.clock,
            seen=self._seen,
        )

    @cached_property
    def audit(self) -> KeyedAudit:
        """The audit trail, which every send is recorded in first."""
        tables = self.tables
        heartbeat = ProcessHeartbeat(
            tables.states, self.keys, self.clock, now=tables.storage.database.now
        )
        return KeyedAudit(
            self.keys,
            tables.audit,
            self.checkpoints,
            self.clock,
            heartbeat,
            close_rows=tables.close,
            release_thread=tables.release_thread,
        )

    @staticmethod
    def _make_scripts() -> LockedScripts:
        from outkey.sending.adapters.scripts_locked.pool import LockedScripts

        return LockedScripts()

    def _make_stores(self) -> CachedStores:
        """Return the external stores of secrets, which few installations have."""
        import logging

        from outkey.sending.adapters.tokens.signer_jose import JoseSigner
        from outkey.sending.adapters.transport.resolver_system import SystemResolver
        from outkey.sending.adapters.transport.transports_on_demand import (
            TransportOnDemand,
        )
        from outkey.sending.core.backends.rules import rules_of
        from outkey.sending.engine.backends.stores import CachedStores, StorePorts
        from outkey.sending.engine.wire.egress import Egress

        return CachedStores(
            StorePorts(
                settings=self._backends_file().read,
                # Without external stores: a backend's own secrets are on this machine.
                open_reference=ReferencedSecrets(self._files).open_reference,
                transport=TransportOnDemand(self._files),
                resolver=SystemResolver(),
                egress=Egress(self.listeners),
                clock=self.clock,
                signer=JoseSigner(),
                find_rules=rules_of,
                warn=logging.getLogger("outkey.send").warning,
            )
        )

    def _make_sender(self) -> Sender:
        """Return the sender of all requests: of gateways, lines, tests and renewals."""
        from outkey.administration.adapters.policy_proxies import PolicyProxies
        from outkey.foundation.adapters.clock_shared import SharedClock
        from outkey.foundation.adapters.paths_on_demand import PathsOnDemand
        from outkey.foundation.adapters.threads_system import SystemThreads
        from outkey.sending.adapters.permits_leased import LeasedPermits
        from outkey.sending.adapters.tokens.signer_jose import JoseSigner
        from outkey.sending.adapters.tokens.tokens_stored import StoredTokens
        from outkey.sending.adapters.transport.resolver_system import (
            AsyncSystemResolver,
            SystemResolver,
        )
        from outkey.sending.adapters.transport.transports_on_demand import (
            AsyncTransportOnDemand,
            TransportOnDemand,
        )
        from outkey.sending.engine.exchange.sender import Asynchronous, Ports, Sender
        from outkey.sending.engine.rotation.rotations import Rotations
        from outkey.sending.engine.rotation.trial import Trials

        tables = self.tables
        storage = tables.storage
        resolver = SystemResolver()
        # The clocks of the machines that share a database may differ.
        shared_clock = SharedClock(storage.database, self.clock)
        tokens = StoredTokens(
            tables.tokens,
            self.keys,
            storage.database,
            storage.configurations,
            tables.states,
        )
        return Sender(
            Ports(
                threads=SystemThreads(),
                configurations=self.registry,
                secrets=self.secrets,
                transport=TransportOnDemand(self._files),
                resolver=resolver,
                clock=self.clock,
                audit=self.audit,
                permits=LeasedPermits(tables.states, shared_clock.now),
                tokens=tokens,
                signer=JoseSigner(),
                scripts=self._open_scripts(),
                paths=PathsOnDemand(),
                asynchronous=Asynchronous(
                    AsyncTransportOnDemand(self._files),
                    AsyncSystemResolver(resolver),
                    blocking_ports=True,
                    release_thread=tables.release_thread,
                ),
                listeners=self.listeners,
                proxies=PolicyProxies(self._policy, self._references),
                stores=self.open_stores,
            ),
            Trials(
                Rotations(self.registry, self.secrets, self.audit, tokens, self.clock),
                tables.states,
                storage.database.now,
                self._certificate_times,
            ),
        )

    def _certificate_times(
        self, settings: TlsSettings, key: Secret
    ) -> tuple[float, float]:
        from outkey.sending.adapters.transport.tls_context import certificate_times

        return certificate_times(settings, key, self._files)

    def open_hooks(self, deliveries: DeliveryRows) -> ReceptionPorts:
        """Return the adapters that webhooks are received with."""
        tables = self.tables
        return open_hook_ports(
            deliveries,
            WebhookStorage(
                tables.states,
                tables.storage.database,
                self.keys,
                self._references,
                self.audit,
            ),
            self.open_sender(),
            self._environment,
        )

    def open_sync(self) -> SyncPorts:
        """Return the adapters that lines run with; their libraries are loaded here."""
        from outkey.foundation.adapters.paths_jmespath import JmespathCompiler

        with extra("sync"):
            from outkey.sync.adapters.calendar_cronsim import CronCalendar
        from outkey.sync.adapters.files.store import FileStore
        from outkey.sync.adapters.record_scripts import LockedRecordScripts
        from outkey.sync.engine.runs.line_plan import PairPorts, SyncPorts
        from outkey.sync.engine.sync_settings import SyncSettings

        tables = self.tables
        return SyncPorts(
            sender=self.open_sender(),
            configurations=self.registry,
            models=tables.records(),
            runs=self.runs,
            finder=JmespathCompiler(),
            clock=self.clock,
            calendar=CronCalendar(),
            ledger=tables.ledger,
            parents=tables.parents,
            scripts=LockedRecordScripts(self._open_scripts()),
            zone=tables.zone,
            tables=cast("StoredTables", self._stored_tables),
            files=FileStore(self._line_files),
            pairing=PairPorts(tables.agreements, SyncSettings(tables.states).pairs),
            reads_ahead=True,
            writes_together=True,
        )


def _vouch_for_rows(
    tables: Tables, source: KeySource, seen: SeenRows
) -> tuple[Tables, KeyringLoader, VouchedRows]:
    """Return tables whose rows are vouched for, with the keys that do so.

    Nothing else may use the host's own tables: what is read there could have been
    written by any program.
    """
    rows = tables.storage
    stored = VouchedTables(
        rows.configurations, rows.lines, tables.states, tables.tokens
    )
    uses = SecretsWithWebhooks(rows.secrets, tables.states, code_uses=stored.key_uses)
    keys = KeyringLoader(source, rows.keys, uses)
    vouchers = KeyedVouchers(keys, seen, rows.database)
    states = VouchedStates(tables.states, vouchers)
    lines = VouchedLines(rows.lines, rows.configurations, vouchers)
    tokens = VouchedTokens(tables.tokens, vouchers)
    secrets = SecretsWithWebhooks(
        rows.secrets, states, unvouched=tables.states, code_uses=stored.key_uses
    )
    vouched = replace(
        tables,
        storage=replace(
            rows,
            configurations=VouchedConfigurations(rows.configurations, seen),
            lines=lines,
            secrets=secrets,
        ),
        states=states,
        tokens=tokens,
    )
    return vouched, keys, VouchedRows(stored, states, lines, tokens, vouchers)


class _StoredTablesOnDemand:
    """The tables of an installation, one for all, as `StoredTables`.

    SQLAlchemy is loaded when one of its methods is first needed.
    """

    def __init__(
        self,
        tables: Tables,
        runs: Runs,
        references: ReferencedSecrets,
        *,
        sqlite_folders: Sequence[Path],
        own: Sequence[Path],
    ) -> None:
        self._tables = tables
        self._runs = runs
        self._references = references
        self._sqlite_folders = sqlite_folders
        self._own_files = own
        self._store = OnDemand(self._open)

    def interrupt(self) -> None:
        """End what threads wait for, if there is anything that they could."""
        if self._store.made is not None:
            self._store.made.interrupt()

    def __getattr__(self, name: str) -> object:
        return getattr(self._store(), name)

    def _open(self) -> StoredTables:
        with extra("tables"):
            from outkey.sync.adapters.tables.databases import (
                NamedDatabases,
                OwnDatabase,
            )
            from outkey.sync.adapters.tables.sqlite_files import SqliteFiles
            from outkey.sync.adapters.tables.store import TableStore
        from outkey.sync.engine.sync_settings import SyncSettings

        tables = self._tables
        own = None
        if tables.connection is not None:
            own = OwnDatabase(tables.connection, tables.storage.database)
        named = NamedDatabases(
            SyncSettings(tables.states).databases,
            self._references.open_reference,
            SqliteFiles(self._sqlite_folders, self._own_files),
        )
        return TableStore(tables.states, own, named, self._line_of)

    def _line_of(self, run: str) -> str:
        return self._runs.get(run).line


def files_folder(home: Path, environment: Mapping[str, str]) -> Path:
    """Return the folder of the files that sync lines write."""
    return Path(environment.get("OUTKEY_FILES") or home / "data" / "files")


def sqlite_folders(environment: Mapping[str, str]) -> list[Path]:
    """Return the folders whose SQLite files sync lines may read and write."""
    names = environment.get("OUTKEY_SQLITE_FOLDERS", "").split(os.pathsep)
    return [Path(name) for name in names if name]
