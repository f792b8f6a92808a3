"""Changing what an installation keeps: documents are applied and references set."""

from collections.abc import Iterable
from dataclasses import dataclass

from outkey.core.checks import Finding, check
from outkey.core.config import Configuration, SecretState
from outkey.core.document import Document, Draft
from outkey.core.errors import ConfigError, UnknownConfiguration
from outkey.core.fields import FIELDS
from outkey.core.reference import Reference
from outkey.engine.send import Sender
from outkey.ports import Registry


@dataclass(frozen=True, slots=True)
class Applied:
    """What a document changed, and what is to be said about it."""

    created: tuple[str, ...]
    updated: tuple[str, ...]
    unchanged: tuple[str, ...]
    findings: tuple[tuple[str, Finding], ...]


def apply(registry: Registry, sender: Sender, document: Document, *, dry_run: bool) -> Applied:
    """Create and update what a document names; all of it is read before any of it is kept."""
    wanted = [_wanted(registry, draft) for draft in document.drafts]
    _refuse_stray_lines(registry, document)
    if not dry_run:
        for stored, made in wanted:
            if stored != made:
                _keep(registry, stored, made)
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


def set_reference(registry: Registry, name: str, field: str, reference: Reference) -> None:
    """Let a secret be read from elsewhere, bound to the origin of now."""
    configuration = registry.get(name)
    check_secret_field(configuration, field)
    state = SecretState(configuration.base.origin.bound, reference)
    registry.put_secret(name, field, state, None)


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


def _keep(registry: Registry, stored: Configuration | None, made: Configuration) -> None:
    kept = registry.add(made) if stored is None else registry.replace(made)
    before = stored.secrets if stored else {}
    for field, state in made.secrets.items():
        if before.get(field) != state:
            registry.put_secret(kept.name, field, state, None)


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
