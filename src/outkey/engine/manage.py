"""Changing what an installation keeps: documents are applied and references set."""

from collections.abc import Iterable
from dataclasses import dataclass

from outkey.core.audit import Change, Tag
from outkey.core.checks import Finding, check
from outkey.core.config import Configuration, SecretState
from outkey.core.document import Document, Draft
from outkey.core.errors import ConfigError, UnknownConfiguration
from outkey.core.fields import FIELDS
from outkey.core.reference import Reference
from outkey.core.secret import Secret
from outkey.engine.send import Sender
from outkey.ports import Audit, Registry, SecretStore


@dataclass(frozen=True, slots=True)
class Applied:
    """What a document changed, and what is to be said about it."""

    created: tuple[str, ...]
    updated: tuple[str, ...]
    unchanged: tuple[str, ...]
    findings: tuple[tuple[str, Finding], ...]


@dataclass(frozen=True, slots=True)
class Desk:
    """Whoever changes something, and what they work with. Each change is recorded first."""

    registry: Registry
    secrets: SecretStore
    audit: Audit
    actor: str

    def note(self, tag: Tag, configuration: str = "", *fields: str, key: str = "") -> None:
        """Record what is about to be done; where that fails, it is not done."""
        self.audit.note(Change(tag, self.actor, configuration, fields, key))

    def set_secret(self, name: str, field: str, secret: Secret) -> None:
        """Replace a stored secret."""
        configuration = self.registry.get(name)
        check_secret_field(configuration, field)
        self.note(Tag.SECRET_SET, name, field)
        self.secrets.replace(configuration, field, secret)

    def set_reference(self, name: str, field: str, reference: Reference) -> None:
        """Let a secret be read from elsewhere, bound to the origin of now."""
        configuration = self.registry.get(name)
        check_secret_field(configuration, field)
        self.note(Tag.SECRET_SET, name, field)
        state = SecretState(configuration.base.origin.bound, reference)
        self.registry.put_secret(name, field, state, None)

    def remove(self, name: str) -> None:
        """Forget a configuration with its secrets and lines."""
        self.registry.get(name)
        self.note(Tag.CONFIGURATION_REMOVED, name)
        self.registry.remove(name)


def apply(desk: Desk, sender: Sender, document: Document, *, dry_run: bool) -> Applied:
    """Create and update what a document names; all of it is read before any of it is kept."""
    registry = desk.registry
    wanted = [_wanted(registry, draft) for draft in document.drafts]
    _refuse_stray_lines(registry, document)
    if not dry_run:
        for stored, made in wanted:
            if stored != made:
                _keep(desk, stored, made)
        for line in document.lines:
            registry.put_line(line)
    return Applied(
        created=tuple(made.name for stored, made in wanted if stored is None),
        updated=tuple(
            made.name for stored, made in wanted if stored is not None and stored != made
        ),
        unchanged=tuple(made.name for stored, made in wanted if stored == made),
        findings=tuple(_findings(sender, (made for _, made in wanted))),
    )


def check_secret_field(configuration: Configuration, field: str) -> None:
    """Refuse a name that is no secret of this configuration."""
    known = [f.secret_name for f in FIELDS if f.secret]
    rows = [row.secret_field for row in configuration.headers if row.secret]
    if field not in known + rows:
        raise ConfigError(
            "there is no such secret", field="field", hint=f"Known: {', '.join(known + rows)}."
        )


def _wanted(registry: Registry, draft: Draft) -> tuple[Configuration | None, Configuration]:
    try:
        stored = registry.get(draft.name)
    except UnknownConfiguration:
        return None, draft.configuration()
    return stored, draft.merged(stored)


def _keep(desk: Desk, stored: Configuration | None, made: Configuration) -> None:
    tag = Tag.CONFIGURATION_CREATED if stored is None else Tag.CONFIGURATION_UPDATED
    desk.note(tag, made.name, *_changed_fields(stored, made))
    kept = desk.registry.add(made) if stored is None else desk.registry.replace(made)
    before = stored.secrets if stored else {}
    for field, state in made.secrets.items():
        if before.get(field) != state:
            desk.registry.put_secret(kept.name, field, state, None)


def _changed_fields(stored: Configuration | None, made: Configuration) -> list[str]:
    """Return the names of the fields, rows and references that are not as they were."""
    if stored is None:
        return []
    before, after = stored.values(), made.values()
    changed = [path for path in after | before if before.get(path) != after.get(path)]
    if stored.headers != made.headers:
        changed.append("headers")
    return changed + [f for f, state in made.secrets.items() if stored.secrets.get(f) != state]


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
    now = sender.clock.now()
    for configuration in configurations:
        for finding in check(configuration, sender.opener(configuration), now=now):
            yield configuration.name, finding
