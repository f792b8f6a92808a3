"""The entry point for pages and commands: an Application administers one installation.

A host puts adapters around its tables (`outkey.hosts.installation`) and hands this to
its pages, its commands and its background work. Callers that only send use a `Gateway`.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from outkey.administration.engine.access.token_memory import TokenMemory
from outkey.foundation.core.errors import (
    BackendUnknown,
    ConfigError,
    Sealed,
    configuration_exists,
)
from outkey.foundation.core.shared_state import StateKind
from outkey.foundation.core.stored_values import OddRow, is_odd
from outkey.foundation.core.text import Text
from outkey.sending.core.audit.events import Tag
from outkey.sending.core.configuration.owners import EVERYTHING, Reach

if TYPE_CHECKING:  # loaded when it is used: most commands and pages need none of it
    from collections.abc import Callable, Collection, Mapping, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from outkey.administration.core.document.document import Document
    from outkey.administration.core.policy.policy import Policy
    from outkey.administration.core.presets.presets import Preset, PresetMethod
    from outkey.administration.engine.access.api_tokens import ApiTokens
    from outkey.administration.engine.access.user_owners import UserOwners
    from outkey.administration.engine.connecting.connecting import Connecting
    from outkey.administration.engine.connecting.consents import ConnectConsents
    from outkey.administration.engine.connecting.linking import LinkAdministration
    from outkey.administration.engine.connecting.links import ConnectLinks
    from outkey.administration.engine.editing.administration import Administration
    from outkey.administration.engine.editing.applying import Applied
    from outkey.administration.engine.editing.changes import (
        ConfigurationChange,
        NamingWebhooks,
    )
    from outkey.administration.engine.editing.connections import (
        ConnectionAdministration,
    )
    from outkey.administration.engine.editing.dependents import Dependents
    from outkey.administration.engine.editing.drafts import CandidateConfiguration
    from outkey.administration.engine.editing.editing import Edit
    from outkey.administration.engine.editing.key_steps import KeyAdministration
    from outkey.administration.engine.editing.rotating import CredentialRotation
    from outkey.administration.engine.operating.secret_backends import SecretBackends
    from outkey.administration.engine.subjects.lines import LineActions
    from outkey.administration.engine.subjects.runs import Synchronization
    from outkey.administration.engine.subjects.webhooks import Webhooks
    from outkey.administration.engine.watching.audit_trail import AuditTrail
    from outkey.administration.engine.watching.background import BackgroundWork
    from outkey.administration.engine.watching.doctor import Doctor
    from outkey.administration.ports.installation import (
        Keys,
        KeySteps,
        LineRuns,
        Notifier,
        Presets,
        SealedSecrets,
        ServerAddresses,
        VouchedRows,
    )
    from outkey.foundation.core.errors import OutkeyError
    from outkey.foundation.core.fields.choices import Network
    from outkey.foundation.core.findings.checks import Finding
    from outkey.foundation.core.permission import Allowed
    from outkey.foundation.core.secret import Secret
    from outkey.foundation.ports.clock import Clock
    from outkey.foundation.ports.database import Database, StateRows
    from outkey.importing.core.reading import Import
    from outkey.sending.core.configuration.configuration import Configuration
    from outkey.sending.engine.backends.stores import CachedStores
    from outkey.sending.engine.connection_test import ConnectionTest
    from outkey.sending.engine.exchange.preview import Preview
    from outkey.sending.engine.exchange.scripts import ScriptTrial
    from outkey.sending.engine.exchange.sender import Sender
    from outkey.sending.engine.gateway import Gateway
    from outkey.sending.ports.sending import Audit, Tokens
    from outkey.sync.core.line.line import SyncLine
    from outkey.sync.core.run.run import Run
    from outkey.sync.engine.line_registry import Registry
    from outkey.sync.engine.record_rights import UserRecords
    from outkey.sync.engine.runs.line_plan import SyncPorts
    from outkey.sync.engine.runs.runs import Runs
    from outkey.sync.engine.sync_settings import SyncSettings
    from outkey.sync.ports.sync import Queue
    from outkey.webhooks.engine.reception import ReceptionPorts
    from outkey.webhooks.engine.work import Handler


def _no_handlers(name: str) -> Handler:
    """Refuse a handler in a host that has none."""
    raise ConfigError(Text("there is no function {name}", name=name), field="handler")


@dataclass(frozen=True, slots=True, kw_only=True)
class Application:
    """Everything that the pages and commands of one installation work with."""

    database: Database
    registry: Registry
    states: StateRows
    secrets: SealedSecrets
    keys: Keys
    key_file: Path
    rotation: KeySteps
    audit: Audit
    audit_trail: AuditTrail
    runs: Runs
    line_runs: LineRuns
    clock: Clock
    vouched_rows: VouchedRows
    listeners: ServerAddresses
    presets: Presets
    open_sender: Callable[[], Sender]  # the same one each time
    # None: the host reads no external stores of secrets.
    open_stores: Callable[[], CachedStores] | None = None
    policy: Callable[[], Policy]  # read each time: an operator may change it
    queue: Callable[[], Queue]
    sync_ports: Callable[[], SyncPorts]
    # None: the host stores no deliveries, so that it receives no webhooks.
    hook_ports: Callable[[], ReceptionPorts] | None = None
    # Finds the function that a webhook names.
    handler: Callable[[str], Handler] = _no_handlers
    # The functions, or modules of functions, that webhooks may name.
    listed_handlers: tuple[str, ...] = ()
    public_url: str = ""  # where senders and users reach the installation
    # Rows of the host's own tables that outkey did not write as they are.
    odd_table_rows: Callable[[], list[OddRow]] = list
    # The triggers on outkey's tables, where the host can tell.
    triggers: Callable[[], list[str]] = list
    token_memory: TokenMemory = field(default_factory=TokenMemory)
    # What a limited user or token sees, by `access.limited_application`.
    reach: Reach = EVERYTHING
    unlimited: Application | None = None  # the whole of a limited one
    # Refuses a line that a limited user or token must not save, try or preview.
    refuse_line: Callable[[SyncLine], None] = lambda _line: None
    # Refuses to rename or delete what another owner uses.
    refuse_used: Callable[[str, Collection[str]], None] = lambda _name, _lines: None

    @property
    def sender(self) -> Sender:
        """The sender of all requests."""
        return self.open_sender()

    @property
    def gateway(self) -> Gateway:
        """The gateway for callers, with the ports of this installation."""
        from outkey.sending.engine.gateway import Gateway  # noqa: PLC0415

        return Gateway(self.sender)

    # ── administration ──────────────────────────────────────────────────────────────

    def administration(self, actor: str) -> Administration:
        """Return the administration of this actor, under the operator's policy."""
        from outkey.administration.engine.editing.administration import Administration  # noqa: PLC0415

        return Administration(
            self.registry,
            self.secrets,
            self.audit,
            actor,
            self.policy,
            self.sender.context.paths,
            self._webhooks_naming,
            self.sender.context.tokens,
            self.sender.context.refuse_reference,
            reach=self.reach,
            refuse_line=self.refuse_line,
            refuse_used=self.refuse_used,
        )

    def _webhooks_naming(self) -> NamingWebhooks | None:
        """Return the webhooks, which are loaded when a name is looked up."""
        return self.webhooks.naming()

    def preset_of(self, configuration: Configuration) -> Preset | None:
        """Return the preset that a configuration was made from, if it is known here."""
        name = configuration.preset
        return self.presets.get(name) if name in self.presets.names() else None

    def credential_rotation(self, administration: Administration) -> CredentialRotation:
        """Return the rotations of credentials by the actor of an administration."""
        from outkey.administration.engine.editing.rotating import CredentialRotation  # noqa: PLC0415

        return CredentialRotation(administration, self.sender, self.clock)

    def connections(self, administration: Administration) -> ConnectionAdministration:
        """Return the connections of configurations, for the actor."""
        from outkey.administration.engine.editing.connections import (  # noqa: PLC0415
            ConnectionAdministration,
        )

        return ConnectionAdministration(administration, self.clock, self.connect_links)

    @property
    def connect_links(self) -> ConnectLinks:
        """The links that accounts are connected by."""
        from outkey.administration.engine.connecting.links import ConnectLinks  # noqa: PLC0415

        return ConnectLinks(self.states, self.database)

    def linking(self, administration: Administration) -> LinkAdministration:
        """Return what makes connect links, for the actor."""
        from outkey.administration.engine.connecting.linking import LinkAdministration  # noqa: PLC0415

        return LinkAdministration(
            self.connections(administration), self.connect_links, self.public_url
        )

    def connecting(self, new_tokens: Callable[[], Tokens]) -> Connecting:
        """Return what connects accounts by their links; each try has new tokens."""
        from outkey.administration.engine.connecting.connecting import (  # noqa: PLC0415
            ACTOR,
            Connecting,
        )

        return Connecting(
            self.administration(ACTOR), self.connect_links, self.sender, new_tokens
        )

    def connect_consents(self, new_tokens: Callable[[], Tokens]) -> ConnectConsents:
        """Return what connects accounts by the consent of their users."""
        from outkey.administration.engine.connecting.consents import ConnectConsents  # noqa: PLC0415

        return ConnectConsents(self.connecting(new_tokens), self.public_url)

    def key_administration(self, administration: Administration) -> KeyAdministration:
        """Return the key rotation actions."""
        from outkey.administration.engine.editing.key_steps import KeyAdministration  # noqa: PLC0415

        return KeyAdministration(
            administration, self.rotation, self.secrets, self.keys, self.vouched_rows
        )

    def apply(
        self,
        administration: Administration,
        document: Document,
        *,
        dry_run: bool,
        replaces: bool = False,
        progress: Callable[[int], None] = lambda _: None,
        check: Callable[[ConfigurationChange], None] = lambda _: None,
    ) -> Applied:
        """Create and update what a document names, if `check` accepts each change.

        What it would remove of a line by not naming it is refused unless it `replaces`.
        """
        from outkey.administration.engine.editing.applying import apply  # noqa: PLC0415

        return apply(
            administration,
            self.sender.context,
            document,
            settings=self.sync_settings,
            dry_run=dry_run,
            replaces=replaces,
            targets=self.sync.targets,
            hooks=partial(self.webhooks.administration, administration)
            if self.hook_ports
            else None,
            progress=progress,
            check=check,
            check_database=self.sync.refuse_database,
        )

    @property
    def sync_settings(self) -> SyncSettings:
        """The other databases and the pairs."""
        from outkey.sync.engine.sync_settings import SyncSettings  # noqa: PLC0415

        return SyncSettings(self.states)

    def save_import(
        self,
        administration: Administration,
        imported: Import,
        *,
        allowed: Allowed = lambda _permission: True,
        limit: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> list[str]:
        """Save what an import has read, and return the names of its configurations.

        `limit` surrounds the examples of a script.
        """
        from outkey.administration.engine.editing.importing import save_import  # noqa: PLC0415

        return save_import(
            administration,
            self.sender.context,
            imported,
            allowed=allowed,
            limit=limit,
        )

    def secret_backends(self) -> SecretBackends:
        """Return the external stores of secrets, and what uses them."""
        from outkey.administration.engine.operating.secret_backends import (  # noqa: PLC0415
            SecretBackends,
            external_uses,
        )

        if self.open_stores is None:
            raise BackendUnknown
        webhooks = self.webhooks.stored().values()
        databases = self.sync_settings.databases().values()
        uses = external_uses(
            self.registry.all(),
            [stored.webhook for stored in webhooks if stored.error is None],
            [database for database in databases if database.error is None],
        )
        return SecretBackends(self.open_stores(), self.clock, list(uses))

    def findings(self, configuration: Configuration) -> list[Finding]:
        """Return the findings about a configuration; no external store is asked."""
        from outkey.sending.core.configuration.checks import (  # noqa: PLC0415
            ANY_SECRET,
            findings_for_any_account,
        )

        context = self.sender.context

        def open_here(name: str) -> Secret:
            state = configuration.secrets.get(name)
            reference = None if state is None else state.reference
            if reference is None or not reference.is_external:
                return context.open(configuration, name)
            context.refuse_reference(reference, name)
            return ANY_SECRET

        return findings_for_any_account(configuration, open_here, now=self.clock.now())

    def sealing_error(self) -> OutkeyError | None:
        """Return why stored secrets cannot be opened; None if they can."""
        if self.keys.is_sealed():
            try:
                self.keys.ring()
            except (Sealed, ConfigError) as error:
                return error
        return None

    def doctor(self) -> Doctor:
        """Return the doctor, which examines the installation and its configurations."""
        from outkey.administration.engine.watching.doctor import Doctor  # noqa: PLC0415

        return Doctor(
            self.registry,
            self.secrets,
            self.sender.context.scripts,
            self.audit_trail,
            self.presets,
            self.vouched_rows,
        )

    def odd_rows(self) -> list[OddRow]:
        """Return the rows that cannot be read, by what they are."""
        names: dict[str, list[str]] = {
            "configuration": self.registry.unreadable(),
            "line": self.registry.unreadable_lines(),
            **self.sync_settings.unreadable(),
            StateKind.WEBHOOK: self.webhooks.unreadable(),
            StateKind.API_TOKEN: self.api_tokens.unreadable(),
        }
        for kind in StateKind:
            states = self.states.read(kind) if kind not in names else {}
            names[kind] = names.get(kind, []) + [
                key for key, state in states.items() if is_odd(state.value)
            ]
        rows = [
            OddRow(str(kind).replace("_", " "), name)
            for kind, unreadable in names.items()
            for name in unreadable
        ]
        return rows + self.odd_table_rows()

    def create_from_preset(
        self,
        administration: Administration,
        name: str,
        preset: Preset,
        method: PresetMethod,
        values: Mapping[str, str],
    ) -> Configuration:
        """Create a configuration from a preset; its secrets follow."""
        from outkey.administration.engine.editing.changes import ConfigurationChange  # noqa: PLC0415

        configuration = preset.draft(name, method, values).configuration()
        if self.registry.find([name]):
            raise configuration_exists()
        administration.save(ConfigurationChange(None, configuration))
        return self.registry.get(name)

    def proxy_of(self, configuration: Configuration) -> str:
        """Return the proxy that requests go through, "" for none."""
        from outkey.sending.engine.wire.proxies import shown_proxy  # noqa: PLC0415

        proxy, _ = shown_proxy(configuration, lambda: self.policy().proxy)
        return proxy

    @property
    def api_tokens(self) -> ApiTokens:
        """The tokens of the HTTP interface."""
        from outkey.administration.engine.access.api_tokens import ApiTokens  # noqa: PLC0415

        states = (self.unlimited or self).states
        return ApiTokens(
            states,
            self.database,
            self.registry,
            self.token_memory,
            reach=self.reach,
        )

    @property
    def user_owners(self) -> UserOwners:
        """The owners that users of the pages are limited to."""
        from outkey.administration.engine.access.user_owners import UserOwners  # noqa: PLC0415

        return UserOwners((self.unlimited or self).states)

    # ── forms: a configuration before it is saved ───────────────────────────────────

    def save_edit(
        self,
        administration: Administration,
        edit: Edit,
        *,
        allowed: Allowed,
        limit: Callable[[], AbstractContextManager[None]] = nullcontext,
        record: str = "",
    ) -> None:
        """Save the form of a user who is allowed what it needs, in one transaction.

        `limit` surrounds the examples of a new script. `record` is the id of a new
        configuration, where its form was drawn with one.
        """
        edit.save(
            administration,
            self.sender.context,
            allowed=allowed,
            limit=limit,
            record=record,
        )

    def begin_test(
        self,
        administration: Administration,
        candidate: CandidateConfiguration,
        tokens: Tokens,
    ) -> ConnectionTest:
        """Record that a test of a form begins; a draft has `tokens` of its own."""
        return candidate.begin_test(administration, self.sender, tokens)

    def preview_candidate(
        self, administration: Administration, candidate: CandidateConfiguration
    ) -> Preview:
        """Return the test request of a form, secrets masked."""
        return candidate.preview(administration, self.sender.context)

    def run_script(
        self,
        administration: Administration,
        candidate: CandidateConfiguration,
        at: float | None,
    ) -> ScriptTrial:
        """Record and run the script of a form once."""
        return candidate.run_script(administration, self.sender.context, at)

    # ── tokens ──────────────────────────────────────────────────────────────────────

    def discover(
        self, issuer: str, network: Network, ca_file: str = ""
    ) -> dict[str, str]:
        """Return the URLs that an authorization server publishes in its metadata."""
        from outkey.sending.engine.tokens.discovery import discover  # noqa: PLC0415

        steps = discover(self.sender.context, issuer, network, ca_file)
        return self.sender.run_for_user(steps)

    # ── synchronization ─────────────────────────────────────────────────────────────

    @property
    def sync(self) -> Synchronization:
        """Runs of sync lines and pairs: starting, retrying, cancelling them."""
        from outkey.administration.engine.subjects.runs import Synchronization  # noqa: PLC0415

        return Synchronization(
            self.registry, self.runs, self.audit, self.queue, self.sync_ports
        )

    @property
    def lines(self) -> LineActions:
        """The sync lines: trying, pausing, renaming and deleting them."""
        from outkey.administration.engine.subjects.lines import LineActions  # noqa: PLC0415

        return LineActions(
            self.registry,
            self.runs,
            self.sync_settings,
            self.sync,
            refuse=self.refuse_line,
        )

    @property
    def webhooks(self) -> Webhooks:
        """The webhooks: their settings, inboxes, findings and work."""
        from outkey.administration.engine.subjects.webhooks import Webhooks  # noqa: PLC0415

        return Webhooks(
            database=self.database,
            states=self.states,
            registry=self.registry,
            runs=self.runs,
            sender=self.sender,
            clock=self.clock,
            settings=self.sync_settings,
            sync=self.sync,
            open_ports=self.hook_ports,
            handler=self.handler,
            listed_handlers=self.listed_handlers,
            public_url=self.public_url,
            is_on_hold=self.is_on_hold,
        )

    def request_run(
        self,
        name: str,
        actor: str,
        records: UserRecords | None = None,
        *,
        dry_run: bool = False,
        allows_removal: bool = False,
    ) -> Run:
        """Queue a run of a line for a user, who needs the rights on its records.

        None: a program or an operator, who has them all. LineBusy has the id of the run
        that is active already. `allows_removal` turns the guard against the removal of
        many records off.
        """
        return self.sync.request(
            name, actor, records, dry_run=dry_run, allows_removal=allows_removal
        )

    def is_on_hold(self) -> bool:
        """Whether it was restored, and does nothing by itself until it is resumed."""
        return bool(self.states.read(StateKind.HOLD))

    def resume_all(self, administration: Administration) -> bool:
        """End the hold of a restored installation; return whether there was one."""
        holds = self.states.read(StateKind.HOLD)
        if holds:
            administration.note(Tag.INSTALLATION_RESUMED)
            self.states.put(StateKind.HOLD, dict.fromkeys(holds))
        return bool(holds)

    def dependents(
        self, administration: Administration, *, configuration: str = "", line: str = ""
    ) -> Dependents:
        """Return the entries deleted with a configuration or line, or preventing it."""
        from outkey.administration.engine.editing.dependents import dependents_of  # noqa: PLC0415

        return dependents_of(
            administration,
            self.sync_settings,
            self.runs,
            configuration=configuration,
            lines=[line] if line else (),
        )

    def next_runs(self, names: Collection[str]) -> dict[str, float | None]:
        """Return when these lines run next; None without a valid schedule."""
        return self.sync.planner().next_runs(names)

    # ── background work ─────────────────────────────────────────────────────────────

    def background_work(
        self,
        administration: Administration,
        notifiers: Sequence[Notifier],
        *,
        verify_hours: int,
        pause: Callable[[float], bool],
        delete_older_than: Callable[[int], object],
        clock: Clock | None = None,
    ) -> BackgroundWork:
        """Return the work that a host calls once a minute: monitoring, tests, pruning.

        `pause` waits some seconds and returns whether the work may go on;
        `delete_older_than` deletes what the host itself stores for so many days.
        """
        from outkey.administration.engine.watching.background import (  # noqa: PLC0415
            BackgroundPorts,
            BackgroundWork,
        )
        from outkey.administration.engine.watching.monitoring import (  # noqa: PLC0415
            Monitor,
            MonitoredRows,
        )
        from outkey.foundation.engine.duties import Duties  # noqa: PLC0415

        rows = MonitoredRows(
            database=self.database,
            states=self.states,
            audit=self.audit_trail.rows,
            runs=self.line_runs,
            registry=self.registry,
            webhook_conditions=self.webhooks.conditions,
        )
        ports = BackgroundPorts(
            duties=Duties(self.states, self.database),
            monitor=Monitor(rows, notifiers, clock or self.clock),
            administration=administration,
            sender=self.sender,
            audit=self.audit_trail,
            is_sealed=self.keys.is_sealed,
            retention_days=lambda: self.policy().retention_days,
            runs=self.runs,
            delete_older_than=delete_older_than,
            clock=clock or self.clock,
            note_refused_deliveries=self.webhooks.note_refused,
            prune_deliveries=self.webhooks.prune,
            prune_changes=self.sync.prune_changes,
            changes_days=lambda: self.policy().changes.days,
            is_on_hold=self.is_on_hold,
        )
        return BackgroundWork(ports, verify_hours=verify_hours, pause=pause)
