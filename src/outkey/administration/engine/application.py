"""The entry point for pages and commands: an Application administers one installation.

A host puts adapters around its tables (`outkey.hosts.installation`) and hands this to
its pages, its commands and its background work. Callers that only send use a `Gateway`.
"""

from collections.abc import (
    Callable,
    Collection,
    Generator,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from outkey.administration.core.document.document import Document
from outkey.administration.core.findings.monitoring import Notice
from outkey.administration.core.findings.posture import Policy
from outkey.administration.core.presets.presets import Preset, PresetMethod
from outkey.administration.engine.access.token_memory import TokenMemory
from outkey.administration.engine.editing.applying import Applied, apply
from outkey.administration.engine.editing.changes import (
    Administration,
    ConfigurationChange,
)
from outkey.administration.engine.editing.drafts import CandidateConfiguration
from outkey.administration.engine.editing.editing import Edit
from outkey.administration.engine.editing.fixes import apply_fix
from outkey.administration.engine.editing.key_steps import KeyAdministration
from outkey.administration.engine.watching.audit_trail import AuditTrail
from outkey.administration.engine.watching.background import (
    BackgroundPorts,
    BackgroundWork,
)
from outkey.administration.engine.watching.doctor import Doctor
from outkey.administration.engine.watching.monitoring import (
    Monitor,
    MonitoredRows,
    has_monitored,
    open_notices,
)
from outkey.administration.ports.installation import (
    Keys,
    KeySteps,
    Presets,
    SealedSecrets,
    ServerAddresses,
    VouchedRows,
)
from outkey.administration.ports.monitoring import LineRuns, Notifier
from outkey.foundation.core.errors import (
    ConfigError,
    OutkeyError,
    Sealed,
    UnknownConfiguration,
    configuration_exists,
    line_exists,
    no_webhooks,
)
from outkey.foundation.core.fields.choices import Network
from outkey.foundation.core.findings.checks import Finding
from outkey.foundation.core.findings.conditions import Condition
from outkey.foundation.core.permission import Allowed
from outkey.foundation.core.secret import Secret
from outkey.foundation.core.shared_state import StateKind
from outkey.foundation.core.stored_values import OddRow, is_odd
from outkey.foundation.core.text import Text
from outkey.foundation.engine.duties import Duties
from outkey.foundation.ports.clock import Clock
from outkey.foundation.ports.database import Database, StateRows
from outkey.sending.core.audit.events import ALLOW_REMOVAL, DRY_RUN, Change, Tag
from outkey.sending.core.configuration.checks import configuration_findings
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.configuration.fields import BY_PATH
from outkey.sending.core.diagnosis.evidence import Fix
from outkey.sending.core.request.message import Response, Route
from outkey.sending.engine.connection_test import ConnectionTest, Report
from outkey.sending.engine.exchange.echoed_secrets import sent_secrets
from outkey.sending.engine.exchange.preview import Preview
from outkey.sending.engine.exchange.scripts import ScriptTrial, try_script
from outkey.sending.engine.exchange.sender import Sender
from outkey.sending.engine.gateway import Gateway
from outkey.sending.engine.tokens.actions import TokenActions
from outkey.sending.engine.tokens.discovery import discover
from outkey.sending.ports.sending import Audit, Tokens
from outkey.sync.core.line.sync_line import SyncLine
from outkey.sync.core.line.sync_sections import ConflictRule, OtherDatabase
from outkey.sync.core.mapping.records import Target
from outkey.sync.core.mapping.targets import TABLE_PREFIX
from outkey.sync.core.run.run import OPEN_STATES, Run
from outkey.sync.engine.line_registry import Registry
from outkey.sync.engine.runs.runs import Runs
from outkey.sync.engine.sync_settings import SyncSettings
from outkey.sync.ports.sync import LineSource, Models, Queue, StoredTables

if TYPE_CHECKING:  # loaded when it is used: most commands and pages need none of it
    from outkey.administration.engine.access.api_tokens import ApiTokens
    from outkey.administration.engine.editing.dependents import Dependents
    from outkey.importing.core.reading import Import
    from outkey.sync.core.line_form.sample import LineSample
    from outkey.sync.core.suggest.suggest import Suggestion
    from outkey.sync.engine.pairs.runner import Follow, PairRunner
    from outkey.sync.engine.pull.target_columns import NoteChange
    from outkey.sync.engine.record_rights import RecordRights, UserRecords
    from outkey.sync.engine.runs.plan import Effect, Note, SyncPorts
    from outkey.sync.engine.runs.planner import Planner
    from outkey.sync.engine.runs.runner import SyncRunner
    from outkey.webhooks.core.inbox.inbox import InboxDelivery
    from outkey.webhooks.core.settings.facts import ShownWebhook
    from outkey.webhooks.core.settings.stored import StoredWebhook
    from outkey.webhooks.engine.changes import WebhookAdministration
    from outkey.webhooks.engine.hook_settings import HookSettings
    from outkey.webhooks.engine.inbox import Inbox
    from outkey.webhooks.engine.overview import WebhookOverview
    from outkey.webhooks.engine.reception import Reception, ReceptionPorts
    from outkey.webhooks.engine.watch import HookWatch
    from outkey.webhooks.engine.work import Handler, HookWork


def no_handlers(name: str) -> "Handler":
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
    sender: Sender
    policy: Callable[[], Policy]  # read each time: an operator may change it
    queue: Callable[[], Queue]
    sync_ports: "Callable[[], SyncPorts]"
    # None: the host stores no deliveries, so that it receives no webhooks.
    hook_ports: "Callable[[], ReceptionPorts] | None" = None
    # Finds the function that a webhook names.
    handler: "Callable[[str], Handler]" = no_handlers
    # The functions, or modules of functions, that webhooks may name.
    listed_handlers: tuple[str, ...] = ()
    public_url: str = ""  # where senders and users reach the installation
    # Rows of the host's own tables that outkey did not write as they are.
    odd_table_rows: Callable[[], list[OddRow]] = list
    # The triggers on outkey's tables, where the host can tell.
    triggers: Callable[[], list[str]] = list
    token_memory: TokenMemory = field(default_factory=TokenMemory)

    @property
    def gateway(self) -> Gateway:
        """The gateway for callers, with the ports of this installation."""
        return Gateway(self.sender)

    # ── administration ──────────────────────────────────────────────────────────────

    def administration(self, actor: str) -> Administration:
        """Return what an actor changes things with, under the operator's policy."""
        return Administration(
            self.registry,
            self.secrets,
            self.audit,
            actor,
            self.policy,
            self.sender.context.paths,
            self._naming_webhooks,
        )

    def key_administration(self, administration: Administration) -> KeyAdministration:
        """Return what a user takes the steps of a key rotation with."""
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
        return apply(
            administration,
            self.sender.context,
            document,
            settings=self.sync_settings,
            dry_run=dry_run,
            replaces=replaces,
            targets=self._targets,
            hooks=partial(self.webhook_administration, administration)
            if self.hook_ports
            else None,
            progress=progress,
            check=check,
            check_database=self._refuse_database,
        )

    @property
    def sync_settings(self) -> SyncSettings:
        """The other databases and the pairs."""
        return SyncSettings(self.states)

    def save_import(
        self,
        administration: Administration,
        imported: "Import",
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

    def apply_fix(self, administration: Administration, name: str, fix: Fix) -> None:
        """Change a configuration as a diagnosis proposed."""
        apply_fix(administration, self.sender.context, name, fix)

    def findings(self, configuration: Configuration) -> list[Finding]:
        """Return what is wrong or risky about a configuration."""
        secret = self.sender.context.opener(configuration)
        return configuration_findings(configuration, secret, now=self.clock.now())

    def sealing_error(self) -> OutkeyError | None:
        """Return why stored secrets cannot be opened; None if they can."""
        if self.keys.is_sealed():
            try:
                self.keys.ring()
            except (Sealed, ConfigError) as error:
                return error
        return None

    def doctor(self) -> Doctor:
        """Return what examines the installation and its configurations."""
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
            StateKind.WEBHOOK: self.unreadable_webhooks(),
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
        configuration = preset.draft(name, method, values).configuration()
        if self.registry.find([name]):
            raise configuration_exists()
        administration.save(ConfigurationChange(None, configuration))
        return self.registry.get(name)

    def proxy_of(self, configuration: Configuration) -> str:
        """Return the proxy that requests go through, "" for none."""
        proxy, _ = self.sender.context.proxies.shown_for(configuration)
        return proxy

    @property
    def api_tokens(self) -> "ApiTokens":
        """The tokens of the HTTP interface."""
        from outkey.administration.engine.access.api_tokens import ApiTokens  # noqa: PLC0415

        return ApiTokens(self.states, self.database, self.registry, self.token_memory)

    # ── requests, tests and scripts ─────────────────────────────────────────────────

    def test(self, administration: Administration, name: str) -> Report:
        """Test a stored configuration and store the result."""
        return administration.test(self.sender, name)

    def try_script(
        self, configuration: Configuration, at: float | None = None
    ) -> ScriptTrial:
        """Run a script once for the test request, with its clock stopped at `at`."""
        return try_script(self.sender.context, configuration, at)

    def sent_secrets(
        self, configuration: Configuration, response: Response
    ) -> list[Secret]:
        """Return the secrets that a response may repeat."""
        return sent_secrets(self.sender.context, configuration, response)

    def route_to(self, configuration: Configuration) -> Route:
        """Return the vetted route to a configuration's Base URL."""
        return self.sender.route_to(configuration)

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

    def token(self, configuration: Configuration) -> TokenActions:
        """Return what a user can do with a configuration's token."""
        return self.sender.token_actions(configuration)

    def change_token(
        self, administration: Administration, name: str, tag: Tag
    ) -> TokenActions:
        """Record what a user is about to do with a token, and return what does it."""
        return administration.token(self.sender, name, tag)

    def discover(
        self, issuer: str, network: Network, ca_file: str = ""
    ) -> dict[str, str]:
        """Return the URLs that an authorization server publishes in its metadata."""
        steps = discover(self.sender.context, issuer, network, ca_file)
        return self.sender.run_for_user(steps)

    # ── synchronization ─────────────────────────────────────────────────────────────

    def sync_runner(
        self, records: Models | None = None, lines: LineSource | None = None
    ) -> "SyncRunner":
        """Return what checks and runs sync lines.

        `records` are those that one user may see; `lines` may be unsaved ones.
        """
        from outkey.sync.engine.runs.runner import SyncRunner  # noqa: PLC0415

        ports = self._sync_ports(records)
        if lines is not None:
            ports = replace(ports, configurations=lines)
        return SyncRunner(ports)

    def pair_runner(self) -> "PairRunner":
        """Return what runs pairs; ConfigError if the host has none."""
        from outkey.sync.engine.pairs.runner import PairRunner  # noqa: PLC0415

        pairing = self.sync_ports().pairing
        if pairing is None:
            raise ConfigError(Text("this installation has no pairs"))
        return PairRunner(pairing, self.sync_runner(), self.runs)

    def resolve_conflict(
        self,
        administration: Administration,
        pair: str,
        key: str,
        choice: ConflictRule,
        *,
        rights: "RecordRights | None" = None,
        version: str = "",
    ) -> None:
        """Store whose version of a record stays, and by whom.

        The audit has the pair and the choice; a record's key may be personal data.
        `rights` are those that the user has on records. `version` is that of the
        conflict which the user has seen, "" for the current one.
        """
        runner = self.pair_runner()
        line = self.registry.line(runner.get(pair).pull)
        if rights is not None and line.sync is not None:
            from outkey.sync.engine.record_rights import refuse_forbidden  # noqa: PLC0415

            refuse_forbidden(rights, line.sync)
            rights.demand(line.sync.target, "view")
        runner.conflict(pair, key, version)
        administration.note(Tag.CONFLICT_RESOLVED, line.configuration, pair, choice)
        runner.resolve(pair, key, choice, version)

    def planner(
        self,
        stopping: Callable[[], bool] = lambda: False,
        records: Models | None = None,
    ) -> "Planner":
        """Return what queues runs of sync lines and performs them."""
        from outkey.sync.engine.runs.planner import Planner  # noqa: PLC0415

        return Planner(self._sync_ports(records), self.registry, self.queue(), stopping)

    def request_run(
        self,
        name: str,
        actor: str,
        records: "UserRecords | None" = None,
        *,
        dry_run: bool = False,
        allows_removal: bool = False,
    ) -> Run:
        """Queue a run of a line for a user, who needs the rights on its records.

        None: a program or an operator, who has them all. LineBusy has the id of the run
        that is active already. `allows_removal` turns the guard against the removal of
        many records off.
        """
        self._refuse_forbidden(name, records, dry_run=dry_run)
        self._note_run(name, actor, dry_run=dry_run, allows_removal=allows_removal)
        return self.planner(records=records).request(
            name, actor, dry_run=dry_run, allows_removal=allows_removal
        )

    def request_retry(
        self, run_id: str, actor: str, records: "UserRecords | None" = None
    ) -> Run:
        """Queue a retry of what a run rejected, with the rights of `request_run`."""
        line = self.runs.get(run_id).line
        self._refuse_forbidden(line, records)
        self._note_line(Tag.RUN_RETRIED, self.registry.line(line), actor, run_id)
        return self.planner(records=records).request_retry(run_id, actor)

    def retry_deliveries(
        self,
        administration: Administration,
        run_id: str,
        records: "UserRecords | None" = None,
    ) -> "tuple[str, list[InboxDelivery]]":
        """Process the deliveries again of which a run has rejected records.

        Return the name of their webhook, and the deliveries.
        """
        from outkey.sync.engine.runs.runner import refuse_unended  # noqa: PLC0415

        run = self.runs.get(run_id)
        inbox = self.inbox()
        deliveries = inbox.rejected_by(run_id)
        if not deliveries and self.runs.rejected(run_id, 1):
            raise ConfigError(
                Text("the deliveries of this run are not known any more"),
                hint=Text("Replay those that have failed in the inbox of the webhook."),
                field="run",
            )
        refuse_unended(run, has_rejected=bool(deliveries))
        self._refuse_forbidden(run.line, records)
        stored = inbox.settings.by_endpoint(deliveries[0].endpoint)
        if stored is None:  # it was just deleted, and its deliveries soon are
            raise UnknownConfiguration(field="webhook")
        ids = [delivery.id for delivery in deliveries]
        changes = self.webhook_administration(administration)
        return stored.name, changes.replay(stored.name, ids)

    def run_line(
        self,
        name: str,
        actor: str,
        *,
        dry_run: bool = False,
        allows_removal: bool = False,
        note: "Note | None" = None,
        note_change: "NoteChange | None" = None,
    ) -> Generator[Run]:
        """Run a line in this process, as `SyncRunner.run` does, for a user."""
        self._note_run(name, actor, dry_run=dry_run, allows_removal=allows_removal)
        return self.sync_runner().run(
            name,
            actor,
            dry_run=dry_run,
            allows_removal=allows_removal,
            note=note,
            note_change=note_change or (lambda _change: None),
        )

    def retry_run(
        self, run_id: str, actor: str, *, note: "Note", note_change: "NoteChange"
    ) -> Generator[Run]:
        """Retry what a run rejected in this process, for a user."""
        line = self.registry.line(self.runs.get(run_id).line)
        self._note_line(Tag.RUN_RETRIED, line, actor, run_id)
        return self.sync_runner().retry(
            run_id, actor, note=note, note_change=note_change
        )

    def run_pair(self, name: str, actor: str, follow: "Follow") -> list[Run]:
        """Run both lines of a pair in this process, for a user."""
        runner = self.pair_runner()
        pair = runner.get(name)
        for line in (pair.pull, pair.push):
            self._note_run(line, actor)
        return runner.run(name, actor, follow)

    def cancel_run(self, run_id: str, actor: str) -> Run:
        """Cancel a run that waits or runs; return it as it is then."""
        run = self.runs.get(run_id)
        if run.state in OPEN_STATES:
            # Also of a line that cannot be read any more.
            owners = [
                line.configuration for line in self.registry.timetable([run.line])
            ]
            change = Change(
                Tag.RUN_CANCELLED, actor, "".join(owners), fields=(run.line, run_id)
            )
            self.audit.note(change)
        return self.runs.cancel(run_id)

    def sample_line(
        self, line: SyncLine, actor: str, runner: "SyncRunner"
    ) -> "LineSample":
        """Request the first page of a line, which may be unsaved, for a user."""
        self._note_line(Tag.LINE_SAMPLED, line, actor)
        return runner.sample(line.name)

    def suggest_line(self, line: SyncLine, actor: str) -> "Suggestion":
        """Return what a line can be completed with, from its first page."""
        self._note_line(Tag.LINE_SAMPLED, line, actor)
        return self.sync_runner().suggest(line.name)

    def preview_line(
        self, line: SyncLine, actor: str, runner: "SyncRunner"
    ) -> "Sequence[Effect]":
        """Return what a run of a line, which may be unsaved, would do at first."""
        self._note_line(Tag.LINE_CHECKED, line, actor)
        return runner.preview(line.name)

    def _note_run(
        self,
        line: str,
        actor: str,
        *,
        dry_run: bool = False,
        allows_removal: bool = False,
    ) -> None:
        """Record that a user starts a run, and what it may do."""
        options = {DRY_RUN: dry_run, ALLOW_REMOVAL: allows_removal}
        chosen = [name for name, is_chosen in options.items() if is_chosen]
        self._note_line(Tag.RUN_REQUESTED, self.registry.line(line), actor, *chosen)

    def _note_line(self, tag: Tag, line: SyncLine, actor: str, *more: str) -> None:
        fields = (line.name, *more)
        self.audit.note(Change(tag, actor, line.configuration, fields=fields))

    def _refuse_forbidden(
        self, line: str, records: "UserRecords | None", *, dry_run: bool = False
    ) -> None:
        """Raise ConfigError if a user lacks the rights on the records of a line.

        A worker has no user whose rights it could check.
        """
        from outkey.sync.engine.record_rights import refuse_forbidden  # noqa: PLC0415

        sync = self.registry.line(line).sync
        if sync is not None and records is not None:
            refuse_forbidden(records, sync, dry_run=dry_run)

    def pause_line(self, administration: Administration, name: str) -> None:
        """Pause a sync line: no run of it begins, and the one under way stops."""
        configuration = self.registry.owner_of_line(name)
        administration.note(Tag.LINE_PAUSED, configuration, name)
        self.runs.pause_line(name)

    def resume_line(self, administration: Administration, name: str) -> None:
        """Resume a sync line; workers continue what was stopped."""
        configuration = self.registry.owner_of_line(name)
        administration.note(Tag.LINE_RESUMED, configuration, name)
        self.runs.resume_lines(name)

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

    def rename_line(
        self, administration: Administration, name: str, new_name: str
    ) -> None:
        """Give a sync line another name; runs, records and its pair follow it.

        LineBusy while a run of it, or of the other line of its pair, is in progress:
        such a run knows it by its name.
        """
        line = self.registry.line(name)
        new_name = str(BY_PATH["name"].parse(new_name))
        if new_name == name:
            return
        if self.registry.timetable([new_name]):
            raise line_exists()
        pairs = self.sync_settings.pairs()
        involved = {name}
        for pair in self.sync_settings.pairs_of([name]):
            involved |= {pairs[pair].pull, pairs[pair].push}
        for each_name in sorted(involved):
            self.runs.refuse_running(each_name)

        def follow() -> None:
            self.runs.rename_line(name, new_name)
            for target in tables_of(line):
                self.stored_tables().rename_line(target, name, new_name)

        administration.rename_line(name, new_name, self.sync_settings, follow)

    def dependents(
        self, administration: Administration, *, configuration: str = "", line: str = ""
    ) -> "Dependents":
        """Return what is deleted with a configuration or a line, or forbids that."""
        from outkey.administration.engine.editing.dependents import dependents_of  # noqa: PLC0415

        return dependents_of(
            administration,
            self.sync_settings,
            self.runs,
            configuration=configuration,
            lines=[line] if line else (),
        )

    def remove_line(self, administration: Administration, name: str) -> list[str]:
        """Delete a sync line with its runs; the records that it brought stay.

        The pair that it is in is deleted too; return its name.
        """
        pairs = administration.remove_line(name, self.sync_settings)
        self.runs.resume_lines(name)
        return pairs

    def next_runs(self, names: Collection[str]) -> dict[str, float | None]:
        """Return when these lines run next; None without a valid schedule."""
        return self.planner().next_runs(names)

    def line_findings(self, document: Document) -> Iterator[tuple[str, Finding]]:
        """Yield what is wrong or risky about a document's lines, by configuration."""
        from outkey.sync.engine.forms.unsaved_lines import DocumentLines  # noqa: PLC0415

        databases = self.sync_settings.databases() if document.databases else {}
        pairs = [*self.sync_settings.pairs().values(), *document.pairs]
        lines = DocumentLines(self.registry, document, databases, pairs)
        return lines.findings(self.sync_runner(lines=lines))

    def stored_tables(self) -> StoredTables:
        """Return the tables that lines write to and users look at."""
        tables = self.sync_ports().tables
        if tables is None:
            raise ConfigError(
                Text("this installation has no tables"),
                hint=Text("Its sync lines write to models of the host."),
            )
        return tables

    def interrupt_targets(self) -> None:
        """End what runs of this process wait for in other databases: it stops."""
        tables = self.sync_ports().tables
        if tables is not None:
            tables.interrupt()

    def _refuse_database(self, database: OtherDatabase) -> None:
        tables = self.sync_ports().tables
        if tables is not None:
            tables.refuse_database(database)

    def _targets(self) -> Sequence[Target]:
        return self.sync_ports().records.targets()

    def _sync_ports(self, records: Models | None) -> "SyncPorts":
        ports = self.sync_ports()
        return ports if records is None else replace(ports, models=records)

    # ── webhooks ────────────────────────────────────────────────────────────────────

    def reception(self, end_thread: Callable[[], object] | None = None) -> "Reception":
        """Return what receives deliveries; ConfigError if the host has no webhooks.

        With `end_thread`, which releases what a thread holds of the host, refusals are
        counted in a thread of their own a moment later.
        """
        from outkey.webhooks.engine.reception import Reception  # noqa: PLC0415
        from outkey.webhooks.engine.refusals import LaterRefusals  # noqa: PLC0415

        ports = self.webhook_ports()
        if end_thread is None:
            return Reception(ports)
        later = LaterRefusals(
            ports.refusals, self.clock, self.sender.threads, end_thread
        )
        return Reception(ports, later)

    def stored_webhooks(self) -> "dict[str, StoredWebhook]":
        """Return the webhooks by name; none in a host without them."""
        if self.hook_ports is None or not self.states.read(StateKind.WEBHOOK):
            return {}
        return self.hook_ports().settings.all()

    def unreadable_webhooks(self) -> list[str]:
        """Return the names of webhooks that cannot be read."""
        if self.hook_ports is None or not self.states.read(StateKind.WEBHOOK):
            return []
        return self.hook_ports().settings.unreadable()

    def inbox(self) -> "Inbox":
        """Return the deliveries of webhooks."""
        from outkey.webhooks.engine.inbox import Inbox  # noqa: PLC0415

        ports = self.webhook_ports()
        return Inbox(ports.settings, ports.deliveries, ports.database)

    def refused_deliveries(self, webhook: str) -> dict[str, int]:
        """Return how many deliveries of a webhook were refused, by reason."""
        return self.webhook_ports().refusals.totals(webhook)

    def webhook_findings(self, stored: "StoredWebhook") -> list[Finding]:
        """Return what is wrong with a webhook, and what happened to it."""
        from outkey.webhooks.core.settings.checks import handler_findings  # noqa: PLC0415

        return [
            *self.webhook_ports().settings.findings(stored),
            *handler_findings(stored.webhook, self.listed_handlers),
            *self._hook_watch().findings(stored),
        ]

    def explained_refusals(self, webhook: str) -> dict[str, tuple[Text, Text]]:
        """Return text and hint of each reason for which deliveries were refused."""
        from outkey.webhooks.core.verification.refusals import refusal_texts  # noqa: PLC0415

        refusals = self.webhook_ports().refusals
        explained = refusals.explanations(webhook)
        return {
            reason: explained.get(reason) or refusal_texts(reason)
            for reason in refusals.totals(webhook)
        }

    def _hook_watch(self) -> "HookWatch":
        from outkey.webhooks.engine.watch import HookWatch  # noqa: PLC0415

        ports = self.webhook_ports()
        return HookWatch(
            states=self.states,
            deliveries=ports.deliveries,
            refusals=ports.refusals,
            runs=self.runs,
            database=self.database,
        )

    def _webhook_conditions(self) -> Iterator[Condition]:
        for stored in self.stored_webhooks().values():
            yield from self._hook_watch().conditions(stored)

    def shown_webhook(self, stored: "StoredWebhook") -> "ShownWebhook":
        """Return a webhook with its URL, its refusals and its findings."""
        from outkey.webhooks.core.settings.facts import ShownWebhook  # noqa: PLC0415

        return ShownWebhook(
            stored,
            endpoint=self.endpoint_url(stored.endpoint),
            refused=self.refused_deliveries(stored.name),
            explained=self.explained_refusals(stored.name),
            findings=self.webhook_findings(stored),
        )

    def webhook_overviews(self, name: str = "") -> "list[WebhookOverview]":
        """Return all webhooks as a user looks at them, or the one of a name."""
        from outkey.webhooks.engine.overview import history_begin, overviews  # noqa: PLC0415

        webhooks = self.stored_webhooks()
        if name:
            webhooks = {name: self.webhook_ports().settings.listed(name)}
        if not webhooks:
            return []
        ports = self.webhook_ports()
        endpoint = webhooks[name].endpoint if name else ""
        return overviews(
            [(stored, self.webhook_findings(stored)) for stored in webhooks.values()],
            ports.deliveries.count_by_hour(
                history_begin(self.database.now()), endpoint
            ),
            ports.refusals.summaries(),
        )

    def webhook_administration(
        self, administration: Administration
    ) -> "WebhookAdministration":
        """Return what a user changes webhooks with."""
        from outkey.webhooks.engine.changes import WebhookAdministration  # noqa: PLC0415

        return WebhookAdministration(
            registry=administration.registry,
            audit=administration.audit,
            actor=administration.actor,
            settings=self.webhook_ports().settings,
            inbox=self.inbox(),
            paths=self.sender.context.paths,
            pairs=self.sync_settings,
            public_url=self.public_url,
            listed_handlers=self.listed_handlers,
            sent_secrets=self._secrets_of,
        )

    def _secrets_of(self, configuration: str) -> list[Secret]:
        return sent_secrets(self.sender.context, self.registry.get(configuration))

    def hook_work(self, stopping: Callable[[], bool] = lambda: False) -> "HookWork":
        """Return what processes deliveries; a worker calls its `round`."""
        from outkey.webhooks.engine.work import HookWork, WorkPorts  # noqa: PLC0415

        ports = self.webhook_ports()
        return HookWork(
            WorkPorts(
                settings=ports.settings,
                deliveries=ports.deliveries,
                database=ports.database,
                finder=ports.finder,
                lines=self.registry,
                runner=self.sync_runner(),
                runs=self.runs,
                planner=self.planner(stopping),
                handler=self.handler,
                listed_handlers=self.listed_handlers,
                sender=self.sender,
                monotonic=self.clock.monotonic,
                is_on_hold=self.is_on_hold,
            ),
            stopping,
        )

    def endpoint_url(self, endpoint: str) -> str:
        """Return the URL of an endpoint; only its path if the public URL is unknown."""
        return f"{self.public_url.rstrip('/')}/hooks/{endpoint}"

    def _naming_webhooks(self) -> "HookSettings | None":
        return self.inbox().settings if self.stored_webhooks() else None

    def _note_refused_deliveries(self) -> None:
        if self.states.read(StateKind.HOOK_REFUSALS):
            self.webhook_ports().refusals.note_past_minutes()

    def _prune_deliveries(self, before: float) -> None:
        if self.stored_webhooks():
            self.inbox().prune(before)

    def webhook_ports(self) -> "ReceptionPorts":
        """Return the ports of webhooks; ConfigError if the host has none."""
        if self.hook_ports is None:
            raise no_webhooks()
        return self.hook_ports()

    # ── background work ─────────────────────────────────────────────────────────────

    def open_notices(self) -> list[Notice]:
        """Return what monitoring has noticed and what has not recovered yet."""
        return open_notices(self.states)

    def has_monitored(self) -> bool:
        """Whether monitoring has run at least once."""
        return has_monitored(self.states)

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
        """Return what a host calls once a minute: monitoring, tests, pruning.

        `pause` waits some seconds and returns whether the work may go on;
        `delete_older_than` deletes what the host itself stores for so many days.
        """
        rows = MonitoredRows(
            database=self.database,
            states=self.states,
            audit=self.audit_trail.rows,
            runs=self.line_runs,
            registry=self.registry,
            webhook_conditions=self._webhook_conditions,
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
            note_refused_deliveries=self._note_refused_deliveries,
            prune_deliveries=self._prune_deliveries,
            is_on_hold=self.is_on_hold,
        )
        return BackgroundWork(ports, verify_hours=verify_hours, pause=pause)


def tables_of(line: SyncLine) -> list[str]:
    """Return the tables among the targets of a line."""
    if line.sync is None:
        return []
    targets = (line.sync.target, *(child.target for child in line.sync.children))
    return [target for target in targets if target.startswith(TABLE_PREFIX)]
