"""Changes of an installation: configurations, secrets, lines, tests and the audit."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from dataclasses import field as dataclass_field

from outkey.core.audit.chain import (
    AuditKeys,
    ChainRow,
    ChainVerdict,
    key_id_of,
    label_of,
    sign_tombstone,
    verify,
)
from outkey.core.audit.chain import facts_of as record_facts
from outkey.core.audit.events import Change, Tag
from outkey.core.config.configuration import (
    Configuration,
    SyncLine,
    successor,
)
from outkey.core.config.document import Document, naming
from outkey.core.config.fields import FIELDS, SENT_TO_TOKEN_URL
from outkey.core.config.reference import Reference
from outkey.core.config.secret_values import refuse_control_characters, refuse_unusable
from outkey.core.errors import (
    ChainBroken,
    ConfigError,
    HostError,
    InactiveConfiguration,
    SecretMissing,
    SecretRebindRequired,
    UnknownConfiguration,
)
from outkey.core.findings.checks import Finding, Level
from outkey.core.findings.configuration_checks import (
    REFERENCE_REPLACES_VALUE,
    check,
    refuse_unsavable,
)
from outkey.core.findings.policy import refuse_blocked
from outkey.core.findings.posture import Policy
from outkey.core.request.assembly import SecretOpener
from outkey.core.request.script import SCRIPT_FACT, check_transform, fingerprint
from outkey.core.secret import Secret
from outkey.core.text import Text
from outkey.core.vault.voucher import SETTINGS, changed_settings, facts_of
from outkey.engine.managing.connection_test import Report
from outkey.engine.managing.registry import Registry
from outkey.engine.managing.test_setup import prepare_test
from outkey.engine.sending.scripts import prove_examples
from outkey.engine.sending.sender import Sender
from outkey.engine.tokens.actions import TokenActions
from outkey.engine.wire.transmit import SendContext
from outkey.ports.sending import Audit
from outkey.ports.storage import AuditCheckpoints, AuditRows, SecretStore

_ENTERED_LATER = frozenset(
    f"E-{kind.code}" for kind in (SecretMissing, SecretRebindRequired)
)
_SAVED_AT_ONCE = 100
_PRUNED_AT_ONCE = 5000


@dataclass(frozen=True, slots=True)
class Applied:
    """The names of what a document changed, and the findings about it."""

    created: tuple[str, ...]
    updated: tuple[str, ...]
    unchanged: tuple[str, ...]
    lines: Mapping[str, tuple[str, ...]]  # by created, updated and unchanged
    findings: tuple[tuple[str, Finding], ...]


@dataclass(frozen=True, slots=True)
class ConfigurationChange:
    """One save: a configuration as it was read, as it will be, and its new secrets.

    `secrets` are new values, bound to the origins that the configuration will have.
    """

    stored: Configuration | None
    made: Configuration
    secrets: Mapping[str, Secret] = dataclass_field(default_factory=dict)
    cleared: tuple[str, ...] = ()

    @property
    def changes_settings(self) -> bool:
        """Whether more changes than the values of secrets."""
        return self.stored != self.made

    def references(self) -> list[str]:
        """Return the names of secrets whose references are new."""
        before = self.stored.secrets if self.stored else {}
        return [
            name
            for name, state in self.made.secrets.items()
            if before.get(name) != state
        ]

    @property
    def has_new_script(self) -> bool:
        """Whether it has another script than is stored, or none any more."""
        return self.stored is None or self.stored.script != self.made.script

    def facts(self) -> set[str]:
        """Return the names of what this save decides, and so can be vouched for."""
        if self.stored is None:
            return {*facts_of(self.made), *self.secrets}
        removed = self.stored.secrets.keys() - self.made.secrets.keys()
        changed = {*self.secrets, *self.cleared, *removed, *self.references()}
        if self.has_new_script:
            changed.add(SCRIPT_FACT)
        return changed | changed_settings(self.stored, self.made) | self.destinations()

    def destinations(self) -> set[str]:
        """Return the URLs that a user accepts by entering a secret bound to them."""
        return {path for name in self.secrets for path in destinations_of(name)}


@dataclass(frozen=True, slots=True)
class Administration:
    """The changes that a user makes. Each is recorded in the audit first."""

    registry: Registry
    secrets: SecretStore
    audit: Audit
    actor: str
    policy: Callable[[], Policy] = Policy

    def note(
        self, tag: Tag, configuration: str = "", *fields: str, key: str = ""
    ) -> None:
        """Record what is about to be done; where that fails, it is not done."""
        self.audit.note(Change(tag, self.actor, configuration, fields, key))

    def set_secret(
        self,
        name: str,
        field: str,
        secret: Secret,
        *,
        seen: Configuration | None = None,
    ) -> None:
        """Replace a stored secret.

        `seen` is the configuration that the user entered it for: if it has changed
        since, the secret is refused. It would be sealed for an origin that the user has
        not seen.
        """
        configuration = seen or self.current(name)
        self.save(
            ConfigurationChange(configuration, configuration, secrets={field: secret})
        )

    def clear_secret(self, name: str, field: str) -> None:
        """Delete a secret; sending refuses until another is set."""
        configuration = self.current(name)
        self.save(ConfigurationChange(configuration, configuration, cleared=(field,)))

    def set_reference(
        self,
        name: str,
        field: str,
        reference: Reference,
        *,
        seen: Configuration | None = None,
    ) -> None:
        """Read a secret from a reference, bound to the origin configured now."""
        configuration = seen or self.current(name)
        check_secret_field(configuration, field)
        before = configuration.secrets.get(field)
        state = successor(before, configuration.binding_of(field), reference)
        secrets = {**configuration.secrets, field: state}
        refuse_blocked(self.policy(), [replace(configuration, secrets=secrets)])
        self.note(Tag.SECRET_SET, name, field)
        with self.registry.transaction():
            self.registry.lock(configuration)
            self.registry.put_reference(configuration, field, state)
            self.registry.note_secrets_changed(name)
            self._vouch(name, {field, *destinations_of(field)})

    def confirm(self, seen: Configuration) -> None:
        """Vouch for a configuration as the user has seen it."""
        facts = facts_of(seen)
        self.note(Tag.SECRETS_CONFIRMED, seen.name, *facts)
        with self.registry.transaction():
            self.registry.lock(seen)
            self.secrets.vouch(seen, facts)
            self.registry.note_vouched(seen.name)

    def remove(self, name: str) -> None:
        """Delete a configuration with its secrets and lines."""
        self.registry.get(name)
        self.note(Tag.CONFIGURATION_REMOVED, name)
        self.registry.remove(name)

    def save(self, *changes: ConfigurationChange) -> None:
        """Create and update configurations with their secrets: all of it or nothing.

        A change is refused if the configuration is not as it was read, inside the
        transaction: no secret is sealed for an origin that another user just saved.
        """
        refuse_blocked(
            self.policy(),
            (change.made for change in changes if change.changes_settings),
        )
        for change in changes:
            if change.changes_settings:
                refuse_unsavable(change.made)
            for field in (*change.secrets, *change.cleared):
                check_secret_field(change.made, field)
            for field, secret in change.secrets.items():
                refuse_unusable(field, secret)
        self.audit.note(*(note for change in changes for note in self._notes(change)))
        with self.registry.transaction():
            for change in changes:
                self._save(change)

    def _save(self, change: ConfigurationChange) -> None:
        made = change.made
        references: Sequence[str] = ()
        if change.stored is None:
            saved = self.registry.add(made)  # with its references
        else:
            self.registry.lock(made)
            saved = (
                self.registry.put_settings(made) if change.changes_settings else made
            )
            references = change.references()
        for field in references:
            self.registry.put_reference(saved, field, made.secrets[field])
        for field in change.cleared:
            self.registry.clear_secret(saved, field)
        for field, secret in change.secrets.items():
            self.secrets.set_value(saved, field, secret, by=self.actor)
        if references or change.cleared or change.secrets:
            self.registry.note_secrets_changed(saved.name)
        # Seal what this save decided (`core.vault.voucher`), so that a change which was
        # made in the database without outkey is noticed.
        unconfirmed = self._unconfirmed_facts(change.stored) - change.destinations()
        self._vouch(saved.name, change.facts() - unconfirmed)

    def _unconfirmed_facts(self, stored: Configuration | None) -> set[str]:
        """Return what a save must not vouch for: facts that outkey did not save.

        They are a script or settings in the database, which a save takes over. Only a
        user who was shown them as changed can confirm them.
        """
        if stored is None:
            return set()
        return {SCRIPT_FACT, *SETTINGS}.intersection(
            self.secrets.voucher(stored).differences(stored)
        )

    def _vouch(self, name: str, changed: Collection[str]) -> None:
        """Vouch for what was changed, as it is stored now."""
        self.secrets.vouch(self.registry.find([name])[name], changed)

    def current(self, name: str) -> Configuration:
        """Return a configuration as it is stored now, not as it is cached."""
        return self.registry.find([name]).get(name) or self.registry.get(name)

    def test(self, sender: Sender, name: str) -> Report:
        """Test a configuration and store the result."""
        configuration = self.registry.get(name)
        self.note_test(name)
        report = prepare_test(sender, configuration).run()
        self.save_test_result(configuration, report, sender.context.clock.now())
        return report

    def note_test(self, name: str, script: str = "") -> None:
        """Record that a test begins; if that fails, the report contains the reason.

        An unsaved script is named by its fingerprint, since it will see a secret.
        """
        with suppress(HostError):
            key = f"script {fingerprint(script)}" if script else ""
            self.note(Tag.CONFIGURATION_TESTED, name, key=key)

    def save_test_result(
        self, configuration: Configuration, report: Report, now: float
    ) -> None:
        """Store the result of a test; a storage that fails must not cost the report."""
        with suppress(HostError):
            self.registry.save_test_result(
                configuration, now, report.cause or "", report.seen
            )

    def token(self, sender: Sender, name: str, tag: Tag) -> TokenActions:
        """Record what a user is about to do with a token, and return the actions."""
        actions = sender.token_actions(sender.configurations.get(name))
        self.note(tag, name)
        return actions

    def prune_audit(
        self,
        rows: AuditRows,
        checkpoints: AuditCheckpoints,
        keys: AuditKeys,
        moment: float,
    ) -> Iterator[int]:
        """Delete the records from before a moment, and yield how many at each step.

        Deleted records cannot be verified any more, so the chain is verified first.
        """
        expired = ExpiredRows(round(moment * 1000), _PRUNED_AT_ONCE)
        verdict = verify_audit(rows, checkpoints, keys, expired)
        if not verdict.ok:
            raise ChainBroken(
                Text("the audit is broken at {record}", record=verdict.first_bad)
            )
        self.note(Tag.AUDIT_PRUNED)
        for row in expired.last_rows():
            # The key is in the ring, since it verified the chain.
            key = keys(key_id_of(row.stream)) or b""
            yield rows.prune(sign_tombstone(key, row))

    def save_line(self, line: SyncLine) -> None:
        """Create or change a sync line."""
        self.registry.get(line.configuration)
        self.save_lines([line])

    def save_lines(self, lines: Iterable[SyncLine]) -> None:
        """Create and change sync lines: all of them or none."""
        changed = list(lines)
        for line in changed:
            self.note(Tag.LINE_SAVED, line.configuration, line.name)
        with self.registry.transaction():
            for line in changed:
                self.registry.put_line(line)

    def remove_line(self, name: str) -> None:
        """Delete a sync line."""
        self.note(Tag.LINE_REMOVED, self.registry.line(name).configuration, name)
        self.registry.remove_line(name)

    def _notes(self, change: ConfigurationChange) -> Iterator[Change]:
        name = change.made.name
        if change.changes_settings:
            yield self._note_of_settings(change.stored, change.made)
        for field in change.cleared:
            yield Change(Tag.SECRET_CLEARED, self.actor, name, (field,))
        for field in change.secrets:
            yield Change(Tag.SECRET_SET, self.actor, name, (field,))

    def _note_of_settings(
        self, stored: Configuration | None, made: Configuration
    ) -> Change:
        tag = Tag.CONFIGURATION_CREATED
        fields: tuple[str, ...] = ()
        is_new_script = bool(made.script)
        if stored is not None:
            tag = Tag.CONFIGURATION_UPDATED
            fields = tuple(changed_fields(stored, made))
            is_new_script = bool(made.script) and stored.script != made.script
        key = f"script {fingerprint(made.script)}" if is_new_script else ""
        return Change(tag, self.actor, made.name, fields, key)


def apply(
    administration: Administration,
    sender: SendContext,
    document: Document,
    *,
    dry_run: bool,
    progress: Callable[[int], None] = lambda _: None,
) -> Applied:
    """Create and update what a document names.

    All of it is checked before any is saved. It is saved in parts: one long
    transaction would block every send.
    """
    registry = administration.registry
    stored = registry.find(draft.name for draft in document.drafts)
    changes: list[ConfigurationChange] = []
    for draft in document.drafts:
        before = stored.get(draft.name)
        after = draft.merged(before) if before else draft.configuration()
        changes.append(ConfigurationChange(before, after))
    refuse_stray_lines(registry, document)
    lines = [(stored_line(registry, line), line) for line in document.lines]
    refuse_blocked(administration.policy(), (change.made for change in changes))
    for change in changes:
        with naming(change.made.name):
            refuse_unsavable(change.made)
    prove_examples(sender, (change.made for change in changes if change.has_new_script))
    for line in document.lines:
        if line.sync is not None and line.sync.script:
            check_transform(line.sync.script)
    if not dry_run:
        new = [change for change in changes if change.changes_settings]
        for start in range(0, len(new), _SAVED_AT_ONCE):
            part = new[start : start + _SAVED_AT_ONCE]
            administration.save(*part)
            progress(len(part))
        administration.save_lines(line for before, line in lines if before != line)
    return Applied(
        **names_by_outcome([(change.stored, change.made) for change in changes]),
        lines=names_by_outcome(lines),
        findings=(*replaced_values(changes), *document_findings(sender, changes)),
    )


def warnings_error(findings: Iterable[tuple[str, Finding]]) -> ConfigError | None:
    """Return the error of `apply --strict` if a finding is a warning or worse.

    That a configuration is switched off is intended, and not counted.
    """
    inactive = f"E-{InactiveConfiguration.code}"
    count = sum(
        finding.level is not Level.NOTICE and finding.id != inactive
        for _, finding in findings
    )
    if not count:
        return None
    return ConfigError(
        Text("nothing was saved because of {count} warnings", count=count)
        if count > 1
        else Text("nothing was saved because of a warning"),
        hint=Text("Correct the listed warnings, or apply without --strict."),
    )


class ExpiredRows:
    """Finds the rows up to which each stream is expired, while the chain is verified.

    Only what was verified is pruned: a column of the table could be changed meanwhile.
    """

    def __init__(self, moment: int, step: int) -> None:
        self._moment = moment
        self._step = step
        self._counts: Counter[str] = Counter()
        self._last: dict[str, list[ChainRow]] = {}
        self._ended: set[str] = set()

    def __call__(self, rows: Iterable[ChainRow]) -> Iterator[ChainRow]:
        """Return the rows as they are, and note which are expired."""
        for row in rows:
            if label_of(record_facts(row.body)).at >= self._moment:
                self._ended.add(row.stream)
            elif row.stream not in self._ended:
                self._note(row)
            yield row

    def last_rows(self) -> Iterator[ChainRow]:
        """Return the last expired row of each stream, after every so many others."""
        for rows in self._last.values():
            yield from rows

    def _note(self, row: ChainRow) -> None:
        rows = self._last.setdefault(row.stream, [])
        if self._counts[row.stream] % self._step:
            rows.pop()
        self._counts[row.stream] += 1
        rows.append(replace(row, body=b""))


def verify_audit(
    rows: AuditRows,
    checkpoints: AuditCheckpoints,
    keys: AuditKeys,
    passing: Callable[[Iterable[ChainRow]], Iterable[ChainRow]] = iter,
) -> ChainVerdict:
    """Verify the whole audit; `passing` sees the rows on their way, to count them."""
    tombstones = [stream.tombstone for stream in rows.streams()]
    return verify(
        passing(rows.read()),
        keys,
        checkpoints=checkpoints.read(),
        tombstones=[mark for mark in tombstones if mark is not None],
    )


def names_by_outcome(
    pairs: (
        Sequence[tuple[Configuration | None, Configuration]]
        | Sequence[tuple[SyncLine | None, SyncLine]]
    ),
) -> dict[str, tuple[str, ...]]:
    """Return the names of what is created, updated and unchanged."""
    return {
        "created": tuple(after.name for before, after in pairs if before is None),
        "updated": tuple(
            after.name for before, after in pairs if before not in (None, after)
        ),
        "unchanged": tuple(after.name for before, after in pairs if before == after),
    }


def stored_line(registry: Registry, line: SyncLine) -> SyncLine | None:
    """Return a line as it is stored; an unreadable one differs from every line."""
    try:
        return registry.line(line.name)
    except UnknownConfiguration:
        return None
    except ConfigError:
        return replace(line, configuration="")


def replaced_values(
    changes: Iterable[ConfigurationChange],
) -> Iterator[tuple[str, Finding]]:
    """Yield a finding for each reference that replaces a value that a user entered."""
    for change in changes:
        before = change.stored.secrets if change.stored else {}
        for field, state in change.made.secrets.items():
            is_value = field in before and before[field].reference is None
            if is_value and state.reference is not None:
                yield change.made.name, REFERENCE_REPLACES_VALUE.finding(field)


def destinations_of(secret: str) -> set[str]:
    """Return the paths of the URLs that a secret is bound to."""
    urls = {"base_url"}
    if secret in SENT_TO_TOKEN_URL:
        urls.add("oauth2.token_url")
    return urls


def check_secret_field(configuration: Configuration, field: str) -> None:
    """Refuse the name of a secret that this configuration does not have."""
    known = [f.secret_name for f in FIELDS if f.secret]
    rows = [row.secret_field for row in configuration.headers if row.secret]
    if field not in known + rows:
        hint = Text("Known: {names}.", names=", ".join(known + rows))
        raise ConfigError(Text("there is no such secret"), field="field", hint=hint)


def changed_fields(stored: Configuration, made: Configuration) -> list[str]:
    """Return the names of the fields, rows and references that differ."""
    before = stored.values()
    after = made.values()
    changed = [path for path in after | before if before.get(path) != after.get(path)]
    if stored.headers != made.headers:
        changed.append("headers")
    for field, state in made.secrets.items():
        if stored.secrets.get(field) != state:
            changed.append(field)
    return changed


def refuse_stray_lines(registry: Registry, document: Document) -> None:
    """Refuse a line whose configuration is neither stored nor in the document."""
    drafts = {draft.name for draft in document.drafts}
    for line in document.lines:
        if line.configuration not in drafts:
            try:
                registry.get(line.configuration)
            except UnknownConfiguration as error:
                place = f"line.{line.name}.configuration"
                raise ConfigError(error.message, hint=error.hint, field=place) from None


def document_findings(
    sender: SendContext, changes: Iterable[ConfigurationChange]
) -> Iterator[tuple[str, Finding]]:
    """Yield the findings of a document's configurations.

    A missing secret can be entered later, so it is a warning only.
    """
    now = sender.clock.now()
    for change in changes:
        for finding in check(change.made, secret_opener(sender, change), now=now):
            is_entered_later = finding.id in _ENTERED_LATER
            level = Level.WARNING if is_entered_later else finding.level
            yield change.made.name, replace(finding, level=level)


def secret_opener(sender: SendContext, change: ConfigurationChange) -> SecretOpener:
    """Return what opens the secrets of a configuration as a document describes it.

    References in the document come from the operator; other secrets are opened as
    they are stored.
    """
    stored = change.stored
    made = change.made

    def open_secret(name: str) -> Secret:
        if stored is not None and stored.secrets.get(name) == made.secrets.get(name):
            made.refuse_unbound(name)
            secret = sender.secrets.open(stored, name)
            refuse_control_characters(name, secret)
            return secret
        return sender.open(replace(made, record=""), name)

    return open_secret
