"""Which records the lines of a limited user or token may use."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from outkey.foundation.core.errors import (
    BlockedByPolicy,
    ConfigError,
    UnknownConfiguration,
)
from outkey.foundation.core.shared_state import StateKind
from outkey.foundation.core.text import Text
from outkey.sync.core.line.permissions import record_accesses
from outkey.sync.core.mapping.targets import TableName, parse_target

if TYPE_CHECKING:
    from outkey.administration.engine.application import Application
    from outkey.sync.core.line.line import Sync, SyncLine


def refuse_targets(
    application: Application,
    sync: Sync | None,
    place: str = "",
    *,
    allow_targets: bool,
) -> None:
    """Raise BlockedByPolicy if a line uses records that the application is not for.

    Those are models, files and other databases unless it may use them by
    `allow_targets`, and in a limited application the tables of others. `place` is the
    key to name, where the line is only named.
    """
    if sync is None:
        return
    others = _used_targets(application).others
    parents = sync.for_each.line
    parent = None
    if parents:  # the requests have values of its records
        parent = named_line(application, parents, place or "for_each.line").sync
    for used in record_accesses(sync, parent):
        field = place or used.field or "target"
        target = parse_target(used.target, field=field)
        is_own_table = isinstance(target, TableName) and not target.database
        if not is_own_table and not allow_targets:
            raise BlockedByPolicy(
                Text("only tables in the database of outkey may be used here"),
                hint=Text(
                    "Write table:NAME, or let an administrator create the line; a token"
                    " needs --allow-targets."
                ),
                field=field,
            )
        if used.target.lower() in others:
            raise BlockedByPolicy(
                Text("this table belongs to another configuration or owner"),
                hint=Text(
                    "Choose another table, or let an administrator create a line for"
                    " this one."
                ),
                field=field,
            )


def named_line(application: Application, name: str, field: str) -> SyncLine:
    """Return a line that another one names; UnknownConfiguration has the field."""
    try:
        return application.registry.line(name)
    except UnknownConfiguration as error:
        error.field = field
        raise


class OwnTargets:
    """The targets that a limited application may use, as they are at this moment."""

    def __init__(self, application: Application, *, allow_targets: bool) -> None:
        self._application = application
        self._allow_targets = allow_targets

    def refuse(self, name: str) -> None:
        """Raise ConfigError for a target of others.

        What a line of its own uses is not one of them: an administrator may have
        created the line.
        """
        if name.lower() in self._used.own:
            return
        target = parse_target(name)
        is_own_table = isinstance(target, TableName) and not target.database
        is_allowed = is_own_table or self._allow_targets
        if not is_allowed or name.lower() in self._used.others:
            raise ConfigError(
                Text("this target belongs to another owner"),
                hint=Text("Choose another table."),
                field="target",
            )

    @cached_property
    def _used(self) -> UsedTargets:
        return _used_targets(self._application)


class UsedTargets(NamedTuple):
    """The targets of lines within a reach, and all others, in lower case."""

    own: set[str]
    others: set[str]


def _used_targets(application: Application) -> UsedTargets:
    """Return the targets of own lines, and the tables that are there or others name.

    A table whose lines were deleted has the records of a configuration that is not
    known any more.
    """
    whole = application.unlimited
    if whole is None:
        return UsedTargets(set(), set())
    names = {summary.name for summary in application.registry.summaries()}
    own: set[str] = set()
    others = {name.lower() for name in whole.states.read(StateKind.TABLE)}
    for line in whole.registry.lines():
        if line.sync is not None:
            used = {use.target.lower() for use in record_accesses(line.sync)}
            (own if line.configuration in names else others).update(used)
    return UsedTargets(own, others - own)
