"""Importing: a description that was read is checked and saved as a whole."""

from collections.abc import Callable, Collection
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace

from outkey.administration.engine.editing.administration import Administration
from outkey.administration.engine.editing.changes import ConfigurationChange
from outkey.foundation.core.errors import (
    ConfigError,
    UnknownConfiguration,
    configuration_exists,
    line_exists,
)
from outkey.foundation.core.permission import Allowed, Permission
from outkey.foundation.core.text import Text
from outkey.importing.core.reading import Import
from outkey.importing.core.report import ImportedConfiguration
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.configuration.drafts import naming
from outkey.sending.core.configuration.permissions import (
    ASK_ADMINISTRATOR,
    requirements,
)
from outkey.sending.engine.exchange.scripts import prove_examples
from outkey.sending.engine.wire.context import SendContext
from outkey.sync.engine.line_registry import Registry


def save_import(
    administration: Administration,
    context: SendContext,
    imported: Import,
    *,
    allowed: Allowed = lambda _permission: True,
    limit: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> list[str]:
    """Save configurations, the secrets that were found, and lines, in one transaction.

    Returns the names of the configurations. Raises ConfigError if a name is taken or
    the user lacks a permission; without the permission to add lines they are left out.
    `limit` surrounds the examples of a script.
    """
    changes = [_change_for(item) for item in imported.configurations]
    lines = [drafted.line for drafted in imported.lines]
    if not allowed(Permission.ADD_LINE):
        lines = []
    configurations = [change.made for change in changes]
    _refuse_known(
        administration.registry, configurations, [line.name for line in lines]
    )
    for change in changes:
        refuse_forbidden(change, allowed)
    scripted = [item for item in configurations if item.script]
    if scripted:
        with limit():
            prove_examples(context, scripted)
    administration.save(*changes, lines=lines)
    return [item.name for item in configurations]


def incomplete_error(imported: Import) -> ConfigError | None:
    """Return the error of `import --apply` if no request could succeed."""
    if not imported.has_errors:
        return None
    return ConfigError(
        Text("nothing was saved because the report has an error"),
        hint=Text("Import without --apply, complete the document, and apply that."),
    )


def _change_for(imported: ImportedConfiguration) -> ConfigurationChange:
    """Return the save of a new configuration, with secrets instead of references."""
    configuration = replace(imported.draft, references={}).configuration()
    return ConfigurationChange(None, configuration, imported.secrets)


def _refuse_known(
    registry: Registry,
    configurations: Collection[Configuration],
    lines: Collection[str],
) -> None:
    """Refuse names that are taken: an import only creates."""
    for name in registry.find(item.name for item in configurations):
        with naming(name):
            raise configuration_exists()
    for name in lines:
        try:
            registry.line(name)
        except UnknownConfiguration:
            continue
        raise line_exists()


def refuse_forbidden(change: ConfigurationChange, allowed: Allowed) -> None:
    """Refuse an import that needs a permission which the user does not have."""
    for requirement in requirements(None, change.made, change.secrets):
        if not allowed(requirement.permission):
            raise ConfigError(
                requirement.message, hint=ASK_ADMINISTRATOR, field=requirement.field
            )


def taken_names(registry: Registry) -> set[str]:
    """Return the names that a new configuration cannot have."""
    return {summary.name for summary in registry.summaries()}
