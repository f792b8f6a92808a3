"""Changing what an installation keeps: configurations, secrets, lines, tests and the audit."""

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
    SecretState,
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
from outkey.core.request.script import SEAL, check_transform, fingerprint
from outkey.core.secret import Secret
from outkey.core.text import Text
from outkey.core.vault.voucher import SETTINGS, changed_settings, facts_of
from outkey.engine.managing.connection_test import Report
from outkey.engine.managing.test_setup import prepare_test
from outkey.engine.sending.scripts import prove_examples
from outkey.engine.sending.sender import Sender
from outkey.engine.tokens.actions import TokenActions
from outkey.engine.wire.transmit import SendContext
from outkey.ports.sending import Audit
from outkey.ports.storage import AuditRows, Checkpoints, Registry, SecretStore

_ENTERED_LATER = frozenset(
    f"E-{kind.code}" for kind in (SecretMissing, SecretRebindRequired)
)
_KEPT_AT_ONCE = 100
_PRUNED_AT_ONCE = 5000


@dataclass(frozen=True, slots=True)
class Applied:
    """What a document changed, and what is to be said about it."""

    created: tuple[str, ...]
    updated: tuple[str, ...]
    unchanged: tuple[str, ...]
    lines: Mapping[
        str, tuple[str, ...]
    ]  # what was created, updated and unchanged of them
    findings: tuple[tuple[str, Finding], ...]


@dataclass(frozen=True, slots=True)
class ConfigurationChange:
    """One save: the configuration as it was read, as it shall be, and what becomes of secrets.

    `secrets` are new values, bound to the origins that the configuration shall have.
    """

    stored: Configuration | None
    made: Configuration
    secrets: Mapping[str, Secret] = dataclass_field(default_factory=dict)
    cleared: tuple[str, ...] = ()

    @property
    def has_settings(self) -> bool:
        """Whether more changes than the values of secrets."""
        return self.stored != self.made

    def references(self) -> list[str]:
        """Return the names of secrets that are to be read from elsewhere than before."""
        before = self.stored.secrets if self.stored else {}
        return [
            name
            for name, state in self.made.secrets.items()
            if before.get(name) != state
        ]

    def facts(self) -> set[str]:
        """Return the names of what this save decides, and so can be vouched for."""
        if self.stored is None:
            return {*facts_of(self.made), *self.secrets}
        removed = self.stored.secrets.keys() - self.made.secrets.keys()
        changed = {*self.secrets, *self.cleared, *removed, *self.references()}
        if self.stored.script != self.made.script:
            changed.add(SEAL)
        return changed | changed_settings(self.stored, self.made) | self.destinations()

    def destinations(self) -> set[str]:
        """Return the URLs that a user accepts by entering a secret, which is bound to them."""
        return {path for name in self.secrets for path in destinations_of(name)}


@dataclass(frozen=True, slots=True)
class Administration:
    """Whoever changes something, and what they work with. Each change is recorded first."""

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

        `seen` is the configuration that the user entered it for: where it has changed since, the
        secret is refused, since it would be sealed for an origin that the user has not seen.
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
        """Let a secret be read from elsewhere, bound to the origin of now."""
        configuration = seen or self.current(name)
        check_secret_field(configuration, field)
        before, origin = (
            configuration.secrets.get(field),
            configuration.binding_of(field),
        )
        state = successor(before, origin, reference)
        made = replace(configuration, secrets={**configuration.secrets, field: state})
        refuse_blocked(self.policy(), [made])
        self.note(Tag.SECRET_SET, name, field)
        with self.registry.batch():
            self.registry.lock(configuration)
            self._put_reference(name, field, state)
            self._vouch(name, {field, *destinations_of(field)})

    def confirm(self, seen: Configuration) -> None:
        """Vouch for a configuration as the user has seen it, whatever the database says now."""
        facts = facts_of(seen)
        self.note(Tag.SECRETS_CONFIRMED, seen.name, *facts)
        with self.registry.batch():
            self.registry.lock(seen)
            self.secrets.vouch(seen, facts)

    def remove(self, name: str) -> None:
        """Forget a configuration with its secrets and lines."""
        self.registry.get(name)
        self.note(Tag.CONFIGURATION_REMOVED, name)
        self.registry.remove(name)

    def save(self, *changes: "ConfigurationChange") -> None:
        """Create and update configurations with their secrets: all of it or nothing.

        Each is refused where the configuration is not as it was read, inside the transaction, so
        that no secret is sealed for an origin that somebody else has just saved.
        """
        refuse_blocked(
            self.policy(), (change.made for change in changes if change.has_settings)
        )
        for change in changes:
            if change.has_settings:
                refuse_unsavable(change.made)
            for field in (*change.secrets, *change.cleared):
                check_secret_field(change.made, field)
            for field, secret in change.secrets.items():
                refuse_unusable(field, secret)
        self.audit.note(*(note for change in changes for note in self._notes(change)))
        with self.registry.batch():
            for change in changes:
                self._save(change)

    def _save(self, change: "ConfigurationChange") -> None:
        made = change.made
        if change.stored is None:
            saved = self.registry.add(made)
        else:
            self.registry.lock(made)
            saved = self.registry.replace(made) if change.has_settings else made
            for field in change.references():
                self._put_reference(saved.name, field, made.secrets[field])
        for field in change.cleared:
            self.registry.clear_secret(saved.name, field)
        for field, secret in change.secrets.items():
            self.secrets.replace(saved, field, secret, by=self.actor)
        planted = self._planted(change.stored) - change.destinations()
        self._vouch(saved.name, change.facts() - planted)

    def _planted(self, stored: Configuration | None) -> set[str]:
        """Return what a save must not vouch for: a script and settings that nobody saved.

        A save takes them over from the database, changed or not; only a user who was shown them
        as changed can confirm them.
        """
        if stored is None:
            return set()
        return {SEAL, *SETTINGS}.intersection(
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
        self.keep_trial(configuration, report, sender.context.clock.now())
        return report

    def note_test(self, name: str, script: str = "") -> None:
        """Record that a test begins; where that fails, the report itself will say why.

        An unsaved script is named by its fingerprint, since it will see a secret.
        """
        with suppress(HostError):
            key = f"script {fingerprint(script)}" if script else ""
            self.note(Tag.CONFIGURATION_TESTED, name, key=key)

    def keep_trial(
        self, configuration: Configuration, report: Report, now: float
    ) -> None:
        """Keep how a test ended; a storage that fails must not cost the report."""
        with suppress(HostError):
            self.registry.put_trial(configuration, now, report.cause or "", report.seen)

    def token(self, sender: Sender, name: str, tag: Tag) -> TokenActions:
        """Record what a user is about to do with a token, and return what does it."""
        actions = sender.token_actions(sender.configurations.get(name))
        self.note(tag, name)
        return actions

    def prune_audit(
        self, rows: AuditRows, checkpoints: Checkpoints, keys: AuditKeys, moment: float
    ) -> Iterator[int]:
        """Remove the records from before a moment, and yield how many at each step.

        What is signed away cannot be verified any more, so the chain is verified first.
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

    def keep_line(self, line: SyncLine) -> None:
        """Create or change a sync line."""
        self.registry.get(line.configuration)
        self.note(Tag.LINE_KEPT, line.configuration, line.name)
        self.registry.put_line(line)

    def remove_line(self, name: str) -> None:
        """Forget a sync line."""
        self.note(Tag.LINE_REMOVED, self.registry.line(name).configuration, name)
        self.registry.remove_line(name)

    def _put_reference(self, name: str, field: str, state: SecretState) -> None:
        self.registry.put_secret(name, field, state, None)
        self.registry.activate_secret(name, field, state.version)

    def _notes(self, change: "ConfigurationChange") -> Iterator[Change]:
        name = change.made.name
        if change.has_settings:
            yield self._described(change.stored, change.made)
        for field in change.cleared:
            yield Change(Tag.SECRET_CLEARED, self.actor, name, (field,))
        for field in change.secrets:
            yield Change(Tag.SECRET_SET, self.actor, name, (field,))

    def _described(self, stored: Configuration | None, made: Configuration) -> Change:
        tag = Tag.CONFIGURATION_CREATED if stored is None else Tag.CONFIGURATION_UPDATED
        fields = () if stored is None else tuple(_changed_fields(stored, made))
        written = made.script and (stored is None or stored.script != made.script)
        key = f"script {fingerprint(made.script)}" if written else ""
        return Change(tag, self.actor, made.name, fields, key)


def apply(
    desk: Administration,
    sender: SendContext,
    document: Document,
    *,
    dry_run: bool,
    progress: Callable[[int], None] = lambda _: None,
) -> Applied:
    """Create and update what a document names; all of it is read before any of it is kept.

    Some at a time: one long transaction would keep every send waiting for the database.
    """
    registry = desk.registry
    known = registry.find(draft.name for draft in document.drafts)
    wanted: list[tuple[Configuration | None, Configuration]] = []
    for draft in document.drafts:
        stored = known.get(draft.name)
        wanted.append(
            (stored, draft.merged(stored) if stored else draft.configuration())
        )
    _refuse_stray_lines(registry, document)
    lines = [(_stored_line(registry, line), line) for line in document.lines]
    refuse_blocked(desk.policy(), (made for _, made in wanted))
    _refuse_unsavable(made for _, made in wanted)
    prove_examples(
        sender, (made for was, made in wanted if not was or was.script != made.script)
    )
    for line in document.lines:
        if line.sync is not None and line.sync.script:
            check_transform(line.sync.script)
    if not dry_run:
        changes = [(stored, made) for stored, made in wanted if stored != made]
        for start in range(0, len(changes), _KEPT_AT_ONCE):
            some = changes[start : start + _KEPT_AT_ONCE]
            desk.save(*(ConfigurationChange(stored, made) for stored, made in some))
            progress(len(some))
        for kept, line in lines:
            if kept != line:
                desk.note(Tag.LINE_KEPT, line.configuration, line.name)
        with registry.batch():
            for kept, line in lines:
                if kept != line:
                    registry.put_line(line)
    return Applied(
        **_sorted(wanted),
        lines=_sorted(lines),
        findings=(*_replaced(wanted), *_findings(sender, wanted)),
    )


def warnings_error(findings: Iterable[tuple[str, Finding]]) -> ConfigError | None:
    """Return what `apply --strict` ends with if any of the findings is a warning or worse.

    A configuration that is switched off is meant to be.
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
    checkpoints: Checkpoints,
    keys: AuditKeys,
    passing: Callable[[Iterable[ChainRow]], Iterable[ChainRow]] = iter,
) -> ChainVerdict:
    """Verify all that is kept of the audit; `passing` sees the rows on their way, to count them."""
    tombstones = [stream.tombstone for stream in rows.streams()]
    return verify(
        passing(rows.read()),
        keys,
        checkpoints=checkpoints.read(),
        tombstones=[mark for mark in tombstones if mark is not None],
    )


def _sorted(
    wanted: (
        Sequence[tuple[Configuration | None, Configuration]]
        | Sequence[tuple[SyncLine | None, SyncLine]]
    ),
) -> dict[str, tuple[str, ...]]:
    """Return the names of what is new, changed and as it was."""
    return {
        "created": tuple(made.name for stored, made in wanted if stored is None),
        "updated": tuple(
            made.name for stored, made in wanted if stored not in (None, made)
        ),
        "unchanged": tuple(made.name for stored, made in wanted if stored == made),
    }


def _stored_line(registry: Registry, line: SyncLine) -> SyncLine | None:
    """Return a line as it is kept; one that cannot be read any more is another than any."""
    try:
        return registry.line(line.name)
    except UnknownConfiguration:
        return None
    except ConfigError:
        return replace(line, configuration="")


def _replaced(
    wanted: Iterable[tuple[Configuration | None, Configuration]],
) -> Iterator[tuple[str, Finding]]:
    """Say where a reference takes the place of a value that somebody entered."""
    for stored, made in wanted:
        for field, state in made.secrets.items():
            before = stored.secrets.get(field) if stored else None
            if (
                before is not None
                and before.reference is None
                and state.reference is not None
            ):
                yield made.name, REFERENCE_REPLACES_VALUE.finding(field)


def destinations_of(secret: str) -> set[str]:
    """Return the paths of the URLs that a secret is bound to, and shown with when it is entered."""
    urls = {"base_url"}
    if secret in SENT_TO_TOKEN_URL:
        urls.add("oauth2.token_url")
    return urls


def check_secret_field(configuration: Configuration, field: str) -> None:
    """Refuse a name that is no secret of this configuration."""
    known = [f.secret_name for f in FIELDS if f.secret]
    rows = [row.secret_field for row in configuration.headers if row.secret]
    if field not in known + rows:
        hint = Text("Known: {names}.", names=", ".join(known + rows))
        raise ConfigError(Text("there is no such secret"), field="field", hint=hint)


def _changed_fields(stored: Configuration, made: Configuration) -> list[str]:
    """Return the names of the fields, rows and references that are not as they were."""
    before, after = stored.values(), made.values()
    changed = [path for path in after | before if before.get(path) != after.get(path)]
    if stored.headers != made.headers:
        changed.append("headers")
    return changed + [
        f for f, state in made.secrets.items() if stored.secrets.get(f) != state
    ]


def _refuse_unsavable(configurations: Iterable[Configuration]) -> None:
    """Refuse a document for the first configuration that could never send; the error names it."""
    for made in configurations:
        with naming(made.name):
            refuse_unsavable(made)


def _refuse_stray_lines(registry: Registry, document: Document) -> None:
    drafted = {draft.name for draft in document.drafts}
    for line in document.lines:
        if line.configuration not in drafted:
            try:
                registry.get(line.configuration)
            except UnknownConfiguration as error:
                place = f"line.{line.name}.configuration"
                raise ConfigError(error.message, hint=error.hint, field=place) from None


def _findings(
    sender: SendContext, wanted: Iterable[tuple[Configuration | None, Configuration]]
) -> Iterable[tuple[str, Finding]]:
    """Yield the findings; a missing secret can be entered later, so it is a warning only."""
    now = sender.clock.now()
    for stored, made in wanted:
        for finding in check(made, _opener(sender, stored, made), now=now):
            is_entered_later = finding.id in _ENTERED_LATER
            level = Level.WARNING if is_entered_later else finding.level
            yield made.name, replace(finding, level=level)


def _opener(
    sender: SendContext, stored: Configuration | None, made: Configuration
) -> SecretOpener:
    """Return what opens the secrets of a configuration as a document describes it.

    The references of the document come from the operator; the others as they are stored.
    """

    def open_secret(name: str) -> Secret:
        if stored is not None and stored.secrets.get(name) == made.secrets.get(name):
            made.refuse_unbound(name)
            opened = sender.secrets.open(stored, name)
            refuse_control_characters(name, opened)
            return opened
        return sender.open(replace(made, record=""), name)

    return open_secret
