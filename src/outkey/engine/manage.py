"""Changing what an installation keeps: configurations, secrets, lines, tests and the audit."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from outkey.core.audit import Change, Tag
from outkey.core.chain import AuditKeys, ChainRow, Verdict, key_id_of, sign_tombstone, verify
from outkey.core.checks import Finding, Level, check, refuse_unsavable
from outkey.core.config import Configuration, SecretState, SyncLine, successor
from outkey.core.document import Document, naming
from outkey.core.errors import (
    ChainBroken,
    ConfigError,
    HostError,
    InactiveConfiguration,
    SecretMissing,
    SecretRebindRequired,
    UnknownConfiguration,
)
from outkey.core.fields import FIELDS
from outkey.core.headers import check_token, check_value, tidy_token, tidy_value
from outkey.core.policy import refuse_blocked
from outkey.core.posture import Policy
from outkey.core.reference import Reference
from outkey.core.script import SEAL, check_transform, fingerprint, seal_of
from outkey.core.secret import Secret
from outkey.engine.carry import Sender
from outkey.engine.gateway import Gateway
from outkey.engine.scripts import prove_examples
from outkey.engine.token_desk import TokenDesk
from outkey.engine.verify import Report
from outkey.ports import Audit, AuditRows, Checkpoints, Registry, SecretStore

_ENTERED_LATER = frozenset(f"E-{kind.code}" for kind in (SecretMissing, SecretRebindRequired))
_KEPT_AT_ONCE = 100
_LONGEST_SECRET = 64 * 1024
_PRUNED_AT_ONCE = 5000


@dataclass(frozen=True, slots=True)
class Applied:
    """What a document changed, and what is to be said about it."""

    created: tuple[str, ...]
    updated: tuple[str, ...]
    unchanged: tuple[str, ...]
    lines: Mapping[str, tuple[str, ...]]  # what was created, updated and unchanged of them
    findings: tuple[tuple[str, Finding], ...]


@dataclass(frozen=True, slots=True)
class Desk:
    """Whoever changes something, and what they work with. Each change is recorded first."""

    registry: Registry
    secrets: SecretStore
    audit: Audit
    actor: str
    policy: Callable[[], Policy] = Policy

    def note(self, tag: Tag, configuration: str = "", *fields: str, key: str = "") -> None:
        """Record what is about to be done; where that fails, it is not done."""
        self.audit.note(Change(tag, self.actor, configuration, fields, key))

    def set_secret(self, name: str, field: str, secret: Secret) -> None:
        """Replace a stored secret."""
        configuration = self.registry.get(name)
        check_secret_field(configuration, field)
        refuse_unusable(field, secret)
        self.note(Tag.SECRET_SET, name, field)
        self.secrets.replace(configuration, field, secret, by=self.actor)

    def clear_secret(self, name: str, field: str) -> None:
        """Forget a secret; sending refuses until another is set."""
        check_secret_field(self.registry.get(name), field)
        self.note(Tag.SECRET_CLEARED, name, field)
        self.registry.clear_secret(name, field)

    def set_reference(self, name: str, field: str, reference: Reference) -> None:
        """Let a secret be read from elsewhere, bound to the origin of now."""
        configuration = self.registry.get(name)
        check_secret_field(configuration, field)
        before, origin = configuration.secrets.get(field), configuration.binding_of(field)
        state = successor(before, origin, reference)
        made = replace(configuration, secrets={**configuration.secrets, field: state})
        refuse_blocked(self.policy(), [made])
        self.note(Tag.SECRET_SET, name, field)
        with self.registry.batch():
            self._put_reference(name, field, state)

    def remove(self, name: str) -> None:
        """Forget a configuration with its secrets and lines."""
        self.registry.get(name)
        self.note(Tag.CONFIGURATION_REMOVED, name)
        self.registry.remove(name)

    def keep(
        self,
        *changes: tuple[Configuration | None, Configuration],
        moved: Mapping[str, Secret] | None = None,
    ) -> None:
        """Create and update configurations with their references, all or none.

        `moved` are secrets that come along under a new name.
        """
        refuse_blocked(self.policy(), (made for _, made in changes))
        for _, made in changes:
            refuse_unsavable(made)
        self.audit.note(*(self._described(stored, made) for stored, made in changes))
        with self.registry.batch():
            for stored, made in changes:
                if stored is None:
                    self._vouch(self.registry.add(made))
                    continue
                kept = self.registry.replace(made)
                for field, value in (moved or {}).items():
                    self.secrets.replace(kept, field, value, by=self.actor)
                for field, state in made.secrets.items():
                    if stored.secrets.get(field) != state:
                        self._put_reference(made.name, field, state)
                if stored.script != made.script:
                    self._vouch(kept)

    def _vouch(self, kept: Configuration) -> None:
        """Seal what a script is known by, which nobody without the key can do."""
        if kept.script:
            self.secrets.replace(kept, SEAL, seal_of(kept.script), by=self.actor)
        elif SEAL in kept.secrets:
            self.registry.clear_secret(kept.name, SEAL)

    def test(self, gateway: Gateway, name: str) -> Report:
        """Test a configuration and keep how that ended."""
        configuration = self.registry.get(name)
        self.note_test(name)
        report = gateway.trial(configuration).run()
        self.keep_trial(configuration, report, gateway.sender.clock.now())
        return report

    def note_test(self, name: str, script: str = "") -> None:
        """Record that a test begins; where that fails, the report itself will say why.

        An unsaved script is named by its fingerprint, since it will see a secret.
        """
        with suppress(HostError):
            key = f"script {fingerprint(script)}" if script else ""
            self.note(Tag.CONFIGURATION_TESTED, name, key=key)

    def keep_trial(self, configuration: Configuration, report: Report, now: float) -> None:
        """Keep how a test ended; a storage that fails must not cost the report."""
        with suppress(HostError):
            self.registry.put_trial(configuration, now, report.cause or "", report.seen)

    def token(self, gateway: Gateway, name: str, tag: Tag) -> TokenDesk:
        """Record what a person is about to do with a token, and return where it is done."""
        found = gateway.token(name)
        self.note(tag, name)
        return found

    def prune_audit(
        self, rows: AuditRows, checkpoints: Checkpoints, keys: AuditKeys, moment: float
    ) -> Iterator[int]:
        """Remove the records from before a moment, and yield how many at each step.

        What is signed away cannot be verified any more, so the chain is verified first.
        """
        verdict = verify_audit(rows, checkpoints, keys)
        if not verdict.ok:
            raise ChainBroken(f"the audit is broken at {verdict.first_bad}")
        self.note(Tag.AUDIT_PRUNED)
        for row in rows.expired(round(moment * 1000), _PRUNED_AT_ONCE):
            key = keys(key_id_of(row.stream)) or b""  # there, since the chain was verified with it
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

    def _described(self, stored: Configuration | None, made: Configuration) -> Change:
        tag = Tag.CONFIGURATION_CREATED if stored is None else Tag.CONFIGURATION_UPDATED
        fields = () if stored is None else tuple(_changed_fields(stored, made))
        written = made.script and (stored is None or stored.script != made.script)
        key = f"script {fingerprint(made.script)}" if written else ""
        return Change(tag, self.actor, made.name, fields, key)


def apply(
    desk: Desk,
    sender: Sender,
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
        wanted.append((stored, draft.merged(stored) if stored else draft.configuration()))
    _refuse_stray_lines(registry, document)
    lines = [(_stored_line(registry, line), line) for line in document.lines]
    refuse_blocked(desk.policy(), (made for _, made in wanted))
    _refuse_unsavable(made for _, made in wanted)
    prove_examples(sender, (made for was, made in wanted if not was or was.script != made.script))
    for line in document.lines:
        if line.sync is not None and line.sync.script:
            check_transform(line.sync.script)
    if not dry_run:
        changes = [(stored, made) for stored, made in wanted if stored != made]
        for start in range(0, len(changes), _KEPT_AT_ONCE):
            some = changes[start : start + _KEPT_AT_ONCE]
            desk.keep(*some)
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
        findings=(*_replaced(wanted), *_findings(sender, (made for _, made in wanted))),
    )


def warnings_error(findings: Iterable[tuple[str, Finding]]) -> ConfigError | None:
    """Return what `apply --strict` ends with if any of the findings is a warning or worse.

    A configuration that is switched off is meant to be.
    """
    inactive = f"E-{InactiveConfiguration.code}"
    count = sum(
        finding.level is not Level.NOTICE and finding.id != inactive for _, finding in findings
    )
    if not count:
        return None
    return ConfigError(
        f"nothing was saved, because of {count} {'warning' if count == 1 else 'warnings'}",
        hint="Correct what is listed, or apply without --strict.",
    )


def verify_audit(
    rows: AuditRows,
    checkpoints: Checkpoints,
    keys: AuditKeys,
    passing: Callable[[Iterable[ChainRow]], Iterable[ChainRow]] = iter,
) -> Verdict:
    """Verify all that is kept of the audit; `passing` sees the rows on their way, to count them."""
    ends, starts = checkpoints.read(), rows.tombstones()
    return verify(passing(rows.read()), keys, checkpoints=ends, tombstones=starts)


def refuse_unusable(field: str, secret: Secret) -> None:
    """Refuse a value that could never be sent, before it takes the place of one that can."""
    if secret.is_mask():
        hint = "Enter the value itself."
        raise ConfigError("this is a mask and not a secret", field=field, hint=hint)
    if secret.longer_than(_LONGEST_SECRET):
        raise ConfigError("the value is too long to be a secret", field=field)
    if not secret and field != "password":  # RFC 7617 allows an empty password
        raise ConfigError("the value is empty; nothing was changed", field=field)
    if field == "token":
        secret.derive(lambda text: check_token(tidy_token(text), field=field))
    elif field.startswith("header:"):
        secret.derive(lambda text: check_value(tidy_value(text), field=field))


def _sorted(
    wanted: Sequence[tuple[Configuration | None, Configuration]]
    | Sequence[tuple[SyncLine | None, SyncLine]],
) -> dict[str, tuple[str, ...]]:
    """Return the names of what is new, changed and as it was."""
    return {
        "created": tuple(made.name for stored, made in wanted if stored is None),
        "updated": tuple(made.name for stored, made in wanted if stored not in (None, made)),
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
            if before is not None and before.reference is None and state.reference is not None:
                message = "the reference takes the place of the value that was entered"
                hint = "Leave the key out of the document to keep what is entered."
                yield made.name, Finding("W006", Level.WARNING, message, hint, field)


def check_secret_field(configuration: Configuration, field: str) -> None:
    """Refuse a name that is no secret of this configuration."""
    known = [f.secret_name for f in FIELDS if f.secret]
    rows = [row.secret_field for row in configuration.headers if row.secret]
    if field not in known + rows:
        hint = f"Known: {', '.join(known + rows)}."
        raise ConfigError("there is no such secret", field="field", hint=hint)


def _changed_fields(stored: Configuration, made: Configuration) -> list[str]:
    """Return the names of the fields, rows and references that are not as they were."""
    before, after = stored.values(), made.values()
    changed = [path for path in after | before if before.get(path) != after.get(path)]
    if stored.headers != made.headers:
        changed.append("headers")
    return changed + [f for f, state in made.secrets.items() if stored.secrets.get(f) != state]


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
    sender: Sender, configurations: Iterable[Configuration]
) -> Iterable[tuple[str, Finding]]:
    """Yield the findings; a missing secret can be entered later, so it is a warning only."""
    now = sender.clock.now()
    for made in configurations:
        for finding in check(made, sender.opener(made), now=now):
            later = finding.id in _ENTERED_LATER
            yield made.name, replace(finding, level=Level.WARNING) if later else finding
