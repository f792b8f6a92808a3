"""Applying a TOML document: all of it is checked before any of it is saved."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol, TypeVar

from outkey.administration.core.document.document import Document
from outkey.administration.core.document.removals import (
    Removal,
    line_table,
    removals_of,
)
from outkey.administration.core.policy.blocking import refuse_blocked
from outkey.administration.engine.editing.administration import Administration
from outkey.administration.engine.editing.applied_connections import (
    SAVED_AT_ONCE,
    ConnectionChange,
    compare_connections,
    connection_findings,
    names_by_outcome,
    refuse_references,
    save_connections,
)
from outkey.administration.engine.editing.changes import ConfigurationChange
from outkey.administration.engine.editing.references import (
    replaced_values,
    states_to_keep,
    unresolved_finding,
)
from outkey.foundation.core.errors import (
    BackendUnavailable,
    ConfigError,
    InactiveConfiguration,
    OutkeyError,
    SecretMissing,
    SecretRebindRequired,
    UnknownConfiguration,
    no_webhooks,
)
from outkey.foundation.core.findings.checks import Finding, Level
from outkey.foundation.core.groups import groups_of
from outkey.foundation.core.script_syntax import check_transform
from outkey.foundation.core.secret import Secret
from outkey.foundation.core.text import Text, build_text, join_texts
from outkey.foundation.ports.expressions import PathCompiler
from outkey.sending.core.configuration.checks import (
    KEYS_NOT_NAMED,
    REFERENCE_REPLACES_VALUE,
    findings_for_any_account,
    refuse_unsavable,
)
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.configuration.drafts import naming
from outkey.sending.core.configuration.secret_values import refuse_control_characters
from outkey.sending.core.request.assembly import SecretOpener
from outkey.sending.engine.exchange.scripts import prove_examples
from outkey.sending.engine.tokens.login_paths import refuse_invalid_expressions
from outkey.sending.engine.wire.context import SendContext
from outkey.sync.core.databases.section import OtherDatabase, database_table
from outkey.sync.core.line.line import SyncLine
from outkey.sync.core.mapping.records import Target
from outkey.sync.core.pairs.rules import refuse_shared_lines, refuse_unfit_pair
from outkey.sync.core.pairs.section import Pair, pair_table
from outkey.sync.engine.line_registry import Registry
from outkey.sync.engine.sync_settings import SyncSettings
from outkey.webhooks.core.settings.section import (
    REFERENCES,
    references_of,
    webhook_table,
)
from outkey.webhooks.core.settings.settings import Webhook
from outkey.webhooks.core.settings.stored import StoredWebhook, without_references

if TYPE_CHECKING:
    from outkey.administration.core.document.differences import SectionDifference

ENTERED_LATER = frozenset(
    f"E-{kind.code}"
    for kind in (SecretMissing, SecretRebindRequired, BackendUnavailable)
)
Named = TypeVar("Named", Configuration, SyncLine, OtherDatabase, Pair, Webhook)


class DocumentWebhooks(Protocol):
    """Checks and saves the webhooks of a document."""

    def stored_webhooks(self) -> Mapping[str, StoredWebhook]:
        """Return the webhooks that are stored, by name."""

    def secrets_to_keep(
        self, webhooks: Sequence[Webhook]
    ) -> Mapping[str, Sequence[str]]:
        """Return by webhook the stored secrets whose new references cannot be read."""

    def compared(
        self, webhooks: Sequence[Webhook]
    ) -> list[tuple[Webhook | None, Webhook]]:
        """Return each with the one that is stored, None for a new one."""

    def refuse_unfit(self, document: Document) -> None:
        """Raise ConfigError for a webhook that could not work."""

    def save(self, webhooks: Sequence[Webhook]) -> None:
        """Create and change webhooks."""


@dataclass(frozen=True, slots=True)
class Applied:
    """The names of what a document changed, and the findings about it."""

    created: tuple[str, ...]
    updated: tuple[str, ...]
    unchanged: tuple[str, ...]
    # Each by created, updated and unchanged.
    lines: Mapping[str, tuple[str, ...]]
    databases: Mapping[str, tuple[str, ...]]
    pairs: Mapping[str, tuple[str, ...]]
    webhooks: Mapping[str, tuple[str, ...]]
    connections: Mapping[str, tuple[str, ...]]
    findings: tuple[tuple[str, Finding], ...]
    differences: "tuple[SectionDifference, ...]" = ()


def apply(  # noqa: PLR0913 - a document is about all of these
    administration: Administration,
    context: SendContext,
    document: Document,
    *,
    settings: SyncSettings,
    dry_run: bool,
    replaces: bool = False,
    targets: Callable[[], Sequence[Target]] = tuple,
    hooks: Callable[[], DocumentWebhooks] | None = None,
    progress: Callable[[int], None] = lambda _: None,
    check: Callable[[ConfigurationChange], None] = lambda _: None,
    check_database: Callable[[OtherDatabase], None] = lambda _: None,
) -> Applied:
    """Create and update what a document names.

    All of it is checked before any is saved. It is saved in parts: one long
    transaction would block every send. `targets` are those that lines may write to,
    and `hooks` saves webhooks: it is called only for a document that has some.
    `check` raises if a change is more than the actor may do, `check_database` if
    outkey must not open a database. What the document would remove of a line by not
    naming it is refused, unless it `replaces` what is stored.
    """
    changes, unresolved = _compare_configurations(administration, context, document)
    for change in changes:
        check(change)
    registry = administration.registry
    connections = compare_connections(registry, context, document, changes)
    _refuse_references(administration, document, changes)
    refuse_references(administration, connections)
    for database in document.databases:
        check_database(database)
    refuse_stray_lines(registry, document)
    made = [change.made for change in changes]
    administration.refuse_lines(made, document.lines)
    compared = _compare_document(registry, document, settings, hooks)
    _refuse_unfit_pairs(
        registry, document, compared.known_pairs, context.paths, targets
    )
    if compared.hooks:
        compared.hooks.refuse_unfit(document)
    refuse_blocked(administration.policy(), (change.made for change in changes))
    _refuse_unfit_settings(context, document, changes)
    removals = list(_document_removals(document, compared))
    if not dry_run:
        if not replaces:
            _refuse_removals_of_lines(removals)
        _save_configurations(administration, changes, progress)
        save_connections(
            administration, connections, now=context.clock.now(), progress=progress
        )
        _save_rest(administration, settings, compared)
    return Applied(
        **_names_by_outcome([(change.stored, change.made) for change in changes]),
        lines=_names_by_outcome(compared.lines),
        databases=_names_by_outcome(compared.databases),
        pairs=_names_by_outcome(compared.pairs),
        webhooks=_names_by_outcome(compared.webhooks),
        connections=names_by_outcome(connections),
        findings=(
            *unresolved,
            *compared.findings,
            *(() if replaces else _removal_findings(removals)),
            *(
                (change.made.name, finding)
                for change in changes
                for finding in replaced_values(change.stored, change.made)
            ),
            *_document_findings(context, changes),
            *connection_findings(context, connections),
        ),
        differences=tuple(_document_differences(changes, compared, connections)),
    )


@dataclass(frozen=True, slots=True)
class ComparedDocument:
    """The entries of a document besides configurations, each with the stored one."""

    lines: Sequence[tuple[SyncLine | None, SyncLine]]
    databases: Sequence[tuple[OtherDatabase | None, OtherDatabase]]
    pairs: Sequence[tuple[Pair | None, Pair]]
    webhooks: Sequence[tuple[Webhook | None, Webhook]]
    known_pairs: Mapping[str, Pair]
    known_webhooks: Mapping[str, StoredWebhook]
    hooks: DocumentWebhooks | None  # None: the document has no webhooks
    findings: Sequence[tuple[str, Finding]] = ()  # about secrets of webhooks


def _compare_configurations(
    administration: Administration, context: SendContext, document: Document
) -> tuple[list[ConfigurationChange], list[tuple[str, Finding]]]:
    """Return the changes of a document, and the references that cannot be read."""
    stored = administration.registry.find(draft.name for draft in document.drafts)
    changes: list[ConfigurationChange] = []
    unresolved: list[tuple[str, Finding]] = []
    for draft in document.drafts:
        before = stored.get(draft.name)
        if before is None:
            changes.append(ConfigurationChange(None, draft.configuration()))
            continue
        after = draft.merged(before)
        states = states_to_keep(context, before, after)
        unresolved += [
            (draft.name, unresolved_finding(field, after.secrets[field].reference))
            for field in states
        ]
        after = replace(after, secrets={**after.secrets, **states})
        changes.append(ConfigurationChange(before, after))
    return changes, unresolved


def _compare_document(
    registry: Registry,
    document: Document,
    settings: SyncSettings,
    hooks: Callable[[], DocumentWebhooks] | None,
) -> ComparedDocument:
    """Return the entries of a document besides configurations, with the stored ones."""
    known_databases = settings.databases() if document.databases else {}
    known_pairs = settings.pairs() if document.pairs or document.lines else {}
    document_webhooks = _webhooks_of(document, hooks)
    known_webhooks = document_webhooks.stored_webhooks() if document_webhooks else {}
    kept_secrets = (
        document_webhooks.secrets_to_keep(document.webhooks)
        if document_webhooks
        else {}
    )
    webhooks = [
        without_references(new, kept_secrets.get(new.name, ()))
        for new in document.webhooks
    ]
    return ComparedDocument(
        lines=[(stored_line(registry, line), line) for line in document.lines],
        databases=[(known_databases.get(new.name), new) for new in document.databases],
        pairs=[(known_pairs.get(new.name), new) for new in document.pairs],
        webhooks=document_webhooks.compared(webhooks) if document_webhooks else (),
        known_pairs=known_pairs,
        known_webhooks=known_webhooks,
        hooks=document_webhooks,
        findings=[
            ("", finding)
            for new in document.webhooks
            for finding in (
                *_webhook_secret_findings(
                    known_webhooks.get(new.name), new, kept_secrets.get(new.name, ())
                ),
                *_webhook_settings_findings(registry, document, new),
            )
        ],
    )


def _webhook_secret_findings(
    stored: StoredWebhook | None, new: Webhook, kept_secrets: Collection[str]
) -> Iterator[Finding]:
    """Yield findings about the secrets of a webhook: what replaces them, or is missing.

    A missing secret can be entered later, so it is a warning only.
    """
    from outkey.webhooks.core.settings.checks import (  # noqa: PLC0415 - sending never needs it
        missing_secret,
        secrets_of_other_scheme,
    )

    for name in REFERENCES:
        reference = getattr(new, name)
        if stored is None or name not in stored.secrets or not reference:
            continue
        place = f"webhook.{new.name}.{name}"
        if name in kept_secrets:
            yield unresolved_finding(place, reference)
        else:
            yield REFERENCE_REPLACES_VALUE.finding(place)
    made = without_references(new, kept_secrets)
    after = (stored or StoredWebhook(made, endpoint="")).with_settings(made)
    for finding in (*missing_secret(after), *secrets_of_other_scheme(after)):
        place = f"webhook.{new.name}.{finding.field}"
        yield replace(finding, level=Level.WARNING, field=place)


def _webhook_settings_findings(
    registry: Registry, document: Document, new: Webhook
) -> Iterator[Finding]:
    """Yield findings about risky settings of a webhook, and about its line."""
    from outkey.webhooks.core.settings.checks import id_findings, version_findings  # noqa: PLC0415 - sending never needs it

    findings = [*id_findings(new)]
    lines = {line.name: line for line in document.lines}
    line = lines.get(new.line)
    if line is None and new.line:
        with suppress(OutkeyError):  # that it does not exist is refused later
            line = registry.line(new.line)
    if line is not None and line.sync is not None:
        findings += version_findings(new, line.sync)
    for finding in findings:
        yield replace(finding, field=f"webhook.{new.name}.{finding.field}")


def _document_differences(
    changes: Iterable[ConfigurationChange],
    compared: ComparedDocument,
    connections: Iterable[ConnectionChange],
) -> "Iterator[SectionDifference]":
    """Yield the created and updated entries, field by field."""
    from outkey.administration.core.document.differences import (  # noqa: PLC0415 - sending never needs it
        configuration_difference,
        connection_difference,
        database_difference,
        line_difference,
        pair_difference,
        webhook_difference,
    )

    pairs = [(change.stored, change.made) for change in changes]
    yield from _differences_of(pairs, configuration_difference)
    for change in connections:
        if change.is_changed:
            yield connection_difference(change.name, change.stored, change.made)
    yield from _differences_of(compared.databases, database_difference)
    yield from _differences_of(compared.lines, line_difference)
    yield from _differences_of(compared.pairs, pair_difference)
    known = compared.known_webhooks
    yield from _differences_of(
        compared.webhooks,
        lambda _, made: webhook_difference(known.get(made.name), made),
    )


def _differences_of(
    pairs: Iterable[tuple[Named | None, Named]],
    difference: "Callable[[Named | None, Named], SectionDifference]",
) -> "Iterator[SectionDifference]":
    """Yield the difference of each pair that differs."""
    for before, made in pairs:
        if before != made:
            yield difference(before, made)


def _refuse_unfit_settings(
    context: SendContext, document: Document, changes: Sequence[ConfigurationChange]
) -> None:
    """Refuse settings, expressions and scripts that could not work."""
    for change in changes:
        with naming(change.made.name):
            refuse_unsavable(change.made)
            refuse_invalid_expressions(context.paths, change.made)
    prove_examples(
        context, (change.made for change in changes if change.has_new_script)
    )
    for line in document.lines:
        if line.sync is not None and line.sync.script:
            check_transform(line.sync.script)


def _save_configurations(
    administration: Administration,
    changes: Sequence[ConfigurationChange],
    progress: Callable[[int], None],
) -> None:
    """Save the configurations that change, some at once."""
    new = [change for change in changes if change.changes_settings]
    for part in groups_of(new, SAVED_AT_ONCE):
        administration.save(*part)
        progress(len(part))


def _save_rest(
    administration: Administration, settings: SyncSettings, compared: ComparedDocument
) -> None:
    """Save what changes besides configurations: what others name comes first."""
    administration.save_sync_settings(
        settings,
        [database for before, database in compared.databases if before != database],
        [pair for before, pair in compared.pairs if before != pair],
    )
    administration.save_lines(line for before, line in compared.lines if before != line)
    if compared.hooks:
        compared.hooks.save([new for before, new in compared.webhooks if before != new])


def _webhooks_of(
    document: Document, hooks: Callable[[], DocumentWebhooks] | None
) -> DocumentWebhooks | None:
    """Return the service that saves a document's webhooks; None if it has none."""
    if not document.webhooks:
        return None
    if hooks is None:
        raise no_webhooks()
    return hooks()


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


def _names_by_outcome(
    pairs: Sequence[tuple[Named | None, Named]],
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


def _document_removals(
    document: Document, compared: ComparedDocument
) -> Iterator[Removal]:
    """Yield the entries that a document would remove from its sections."""
    tables = [
        *_removable_tables("line", compared.lines, line_table),
        *_removable_tables("database", compared.databases, database_table),
        *_removable_tables("pair", compared.pairs, pair_table),
        *_removable_tables("webhook", compared.webhooks, webhook_table),
    ]
    for place, stored, made in tables:
        yield from removals_of(place, stored, made, named_keys=document.named_keys)


def _removable_tables(
    section: str,
    pairs: Iterable[tuple[Named | None, Named]],
    table_of: Callable[[Named], Mapping[str, object]],
) -> Iterator[tuple[str, Mapping[str, object], Mapping[str, object]]]:
    """Yield the places of what is stored already, with its tables before and after."""
    for stored, made in pairs:
        if stored is not None:
            yield f"{section}.{made.name}", table_of(stored), table_of(made)


def _removal_findings(removals: Iterable[Removal]) -> Iterator[tuple[str, Finding]]:
    """Yield a finding for each section of which a document would remove something."""
    for place, keys in removals:
        yield "", KEYS_NOT_NAMED.finding(place, place=place, keys=", ".join(keys))


def _refuse_removals_of_lines(removals: Iterable[Removal]) -> None:
    """Refuse to remove a mapping, a target, keys or a schedule by not naming them.

    The other sections have only settings, whose removal is a warning.
    """
    of_lines = [removal for removal in removals if removal.is_of_line]
    if not of_lines:
        return
    messages = [
        Text(
            "the document names [{place}] without {keys}: applying it would remove"
            " them",
            place=place,
            keys=", ".join(keys),
        )
        for place, keys in of_lines
    ]
    raise ConfigError(
        join_texts(messages, "; "),
        hint=build_text(KEYS_NOT_NAMED.hint, {}),
        field=of_lines[0].place,
    )


def _refuse_references(
    administration: Administration,
    document: Document,
    changes: Iterable[ConfigurationChange],
) -> None:
    """Refuse a reference that no backend of the operator is for.

    That of a database is refused with its URL.
    """
    for change in changes:
        for field in change.references():
            reference = change.made.secrets[field].reference
            if reference is not None:
                administration.refuse_reference(reference, field)
    for webhook in document.webhooks:
        for key, reference in references_of(webhook).items():
            field = f"webhook.{webhook.name}.{key}"
            administration.refuse_reference(reference, field)


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


def _document_findings(
    context: SendContext, changes: Iterable[ConfigurationChange]
) -> Iterator[tuple[str, Finding]]:
    """Yield the findings of a document's configurations.

    A missing secret can be entered later, so it is a warning only.
    """
    now = context.clock.now()
    for change in changes:
        for finding in findings_for_any_account(
            change.made, _secret_opener(context, change), now=now
        ):
            is_entered_later = finding.id in ENTERED_LATER
            level = Level.WARNING if is_entered_later else finding.level
            yield change.made.name, replace(finding, level=level)


def _secret_opener(context: SendContext, change: ConfigurationChange) -> SecretOpener:
    """Return the opener of a configuration's secrets as a document describes them.

    References in the document come from the operator; other secrets are opened as
    they are stored.
    """
    stored = change.stored
    made = change.made

    def open_secret(name: str) -> Secret:
        if stored is not None and stored.secrets.get(name) == made.secrets.get(name):
            made.refuse_unbound(name)
            secret = context.secrets.open(stored, name)
            refuse_control_characters(name, secret)
            return secret
        return context.open(replace(made, record=""), name)

    return open_secret


def _refuse_unfit_pairs(
    registry: Registry,
    document: Document,
    stored: Mapping[str, Pair],
    paths: PathCompiler,
    targets: Callable[[], Sequence[Target]],
) -> None:
    """Refuse pairs whose lines do not fit each other, as the document leaves them."""
    pairs = {**stored, **{pair.name: pair for pair in document.pairs}}
    refuse_shared_lines(pairs.values())
    new = {line.name: line for line in document.lines}
    for pair in pairs.values():
        if pair not in document.pairs and not {pair.pull, pair.push} & new.keys():
            continue
        lines = {**new}
        for name in {pair.pull, pair.push} - new.keys():
            with suppress(UnknownConfiguration):
                lines[name] = registry.line(name)
        refuse_unfit_pair(pair, lines, targets)
        if pair.api_changed:
            paths.compile(pair.api_changed, field=f"pair.{pair.name}.api_changed")
