"""The connections of a document: compared with what is stored, and saved."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from outkey.administration.core.document.document import Document
from outkey.administration.engine.editing.administration import Administration
from outkey.administration.engine.editing.changes import ConfigurationChange
from outkey.administration.engine.editing.references import (
    replaced_values,
    states_to_keep,
    unresolved_finding,
)
from outkey.foundation.core.errors import OutkeyError
from outkey.foundation.core.findings.checks import Finding, Level, error_finding
from outkey.foundation.core.groups import groups_of
from outkey.sending.core.audit.events import Change, Tag
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.configuration.secret_state import SecretState
from outkey.sending.core.connections.connection import Connection, account_name
from outkey.sending.core.connections.drafts import SECTION, ConnectionDraft
from outkey.sending.core.connections.entered_facts import FACTS
from outkey.sending.core.vault.voucher import CONNECTION, vouchable_facts
from outkey.sending.engine.registry import READ_AT_ONCE
from outkey.sending.engine.wire.context import SendContext
from outkey.sync.engine.line_registry import Registry

SAVED_AT_ONCE = 100


@dataclass(frozen=True, slots=True)
class ConnectionChange:
    """A connection of a document, as it is stored and as it will be."""

    draft: ConnectionDraft
    stored: Configuration | None
    made: Configuration
    # The stored values that references would replace, which cannot be read.
    kept: Mapping[str, SecretState]

    @property
    def name(self) -> str:
        """The name that a list of changes has; no id has a slash."""
        return f"{self.draft.configuration}/{self.draft.id}"

    @property
    def changes_facts(self) -> bool:
        """Whether more changes than references."""
        return self.stored is None or self.stored.connection != self.made.connection

    @property
    def is_changed(self) -> bool:
        """Whether anything of it changes."""
        return self.changes_facts or bool(self.references())

    def references(self) -> dict[str, SecretState]:
        """Return the secrets whose references are new."""
        before = self.stored.secrets if self.stored else {}
        return {
            name: self.made.secrets[name]
            for name in self.draft.references
            if before.get(name) != self.made.secrets[name]
        }

    def changed_fields(self) -> list[str]:
        """Return the names of the facts, variables and secrets that change."""
        before = self.stored.connection if self.stored else Connection("", "")
        after = self.made.connection
        assert before is not None  # noqa: S101 - for the type checker
        assert after is not None  # noqa: S101
        variables = [
            f"variables.{name}"
            for name, value in after.variables.items()
            if before.variables.get(name) != value
        ]
        facts = [n for n in FACTS if getattr(before, n) != getattr(after, n)]
        return [*facts, *variables, *self.references()]


def compare_connections(
    registry: Registry,
    context: SendContext,
    document: Document,
    changes: Iterable[ConfigurationChange],
) -> list[ConnectionChange]:
    """Return the connections of a document, each with what is stored of it."""
    drafts = [
        (change.made, draft)
        for change in changes
        for draft in document.connections.get(change.made.name, ())
    ]
    compared: list[ConnectionChange] = []
    for group in groups_of(drafts, READ_AT_ONCE):
        names = [account_name(made.record, draft.id) for made, draft in group]
        stored = registry.find(names)
        compared += [
            _compare(context, draft, made, stored.get(name))
            for name, (made, draft) in zip(names, group, strict=True)
        ]
    return compared


def _compare(
    context: SendContext,
    draft: ConnectionDraft,
    unconnected: Configuration,
    stored: Configuration | None,
) -> ConnectionChange:
    made = draft.merged(unconnected, stored)
    kept = states_to_keep(context, stored, made) if stored else {}
    made = replace(made, secrets={**made.secrets, **kept})
    return ConnectionChange(draft, stored, made, kept)


def refuse_references(
    administration: Administration, changes: Iterable[ConnectionChange]
) -> None:
    """Refuse a reference that no backend of the operator is for."""
    for change in changes:
        for name, state in change.references().items():
            if state.reference is not None:
                field = f"{change.draft.place}{name}"
                administration.refuse_reference(state.reference, field)


def connection_findings(
    context: SendContext, changes: Iterable[ConnectionChange]
) -> Iterator[tuple[str, Finding]]:
    """Yield findings about references that cannot be read, or that replace a value.

    That a secret is missing is none: it is entered later, or by the account's owner.
    """
    for change in changes:
        findings = [
            *_unread_references(context, change),
            *replaced_values(change.stored, change.made),
        ]
        for finding in findings:
            field = f"{change.draft.place}{finding.field}"
            yield change.draft.configuration, replace(finding, field=field)


def is_about_connection(finding: Finding) -> bool:
    """Whether a finding about a document has the place of a connection there."""
    return (finding.field or "").startswith(f"{SECTION}.")


def _unread_references(
    context: SendContext, change: ConnectionChange
) -> Iterator[Finding]:
    # Without its record: a document comes from the operator, whatever is stored.
    made = replace(change.made, record="")
    for name, reference in change.draft.references.items():
        if name in change.kept:
            yield unresolved_finding(name, reference)
            continue
        try:
            context.open(made, name)
        except OutkeyError as error:
            finding = error_finding(error)
            yield replace(finding, level=Level.WARNING, field=name)


def save_connections(
    administration: Administration,
    changes: Iterable[ConnectionChange],
    *,
    now: float,
    progress: Callable[[int], None],
) -> None:
    """Save the connections that change, some at once."""
    changed = [change for change in changes if change.is_changed]
    for part in groups_of(changed, SAVED_AT_ONCE):
        _save_part(administration, part, now)
        progress(len(part))


def _save_part(
    administration: Administration, part: Sequence[ConnectionChange], now: float
) -> None:
    """Save some connections: all of them or none."""
    registry = administration.registry
    administration.audit.note(*(_note(administration.actor, each) for each in part))
    with registry.transaction():
        owners = registry.find({change.draft.configuration for change in part})
        for owner in owners.values():
            registry.lock(owner)
        accounts = [
            _save(
                administration,
                change,
                owners[change.draft.configuration],
                now=now,
            )
            for change in part
        ]
        stored = registry.find(accounts)
        saved = [
            (
                stored[account],
                _facts_of(change, stored[account])
                - administration.unconfirmed_facts(change.stored),
            )
            for change, account in zip(part, accounts, strict=True)
        ]
        administration.secrets.vouch_each(each for each in saved if each[1])


def _save(
    administration: Administration,
    change: ConnectionChange,
    owner: Configuration,
    *,
    now: float,
) -> str:
    """Store a connection, and return the name that it is stored under."""
    made = change.made.connection
    assert made is not None  # noqa: S101 - for the type checker
    references = {
        name: replace(state, set_at=now, set_by=administration.actor)
        for name, state in change.references().items()
    }
    registry = administration.registry
    if change.stored is not None:
        registry.put_connection(change.stored, made, references)
        return change.stored.account
    made = replace(made, configuration=owner.record, created_at=now)
    return registry.add_connection(owner, made, references)


def _facts_of(change: ConnectionChange, stored: Configuration) -> set[str]:
    """Return what the save of a connection decides, and so can be vouched for."""
    if change.stored is None:
        return {*vouchable_facts(stored)}
    facts = {*change.references()}
    return facts | {CONNECTION} if change.changes_facts else facts


def _note(actor: str, change: ConnectionChange) -> Change:
    is_new = change.stored is None
    return Change(
        Tag.CONNECTION_CREATED if is_new else Tag.CONNECTION_UPDATED,
        actor,
        change.draft.configuration,
        tuple(change.changed_fields()),
        connection=change.draft.id,
    )


def names_by_outcome(
    changes: Collection[ConnectionChange],
) -> dict[str, tuple[str, ...]]:
    """Return the names of the connections that are created, updated and unchanged."""
    return {
        "created": tuple(each.name for each in changes if each.stored is None),
        "updated": tuple(
            each.name for each in changes if each.stored and each.is_changed
        ),
        "unchanged": tuple(each.name for each in changes if not each.is_changed),
    }
