"""The rights of a user on the host's records."""

from collections.abc import Iterable
from contextlib import suppress
from typing import Protocol

from outkey.foundation.core.errors import ConfigError, UnknownConfiguration
from outkey.sync.core.line.line import Sync, SyncLine
from outkey.sync.core.line.permissions import (
    RecordAccess,
    parent_access,
    record_accesses,
)
from outkey.sync.ports.sync import Models


class RecordRights(Protocol):
    """The rights of a user on the host's own records, beside the port `Records`."""

    def demand(self, target: str, *verbs: str) -> None:
        """Raise ConfigError if the user may not view, add or change them."""


class NamedLines(Protocol):
    """Where a line is found by its name."""

    def line(self, name: str) -> SyncLine:
        """Return one sync line, or raise UnknownConfiguration."""


class UserRecords(Models, RecordRights, Protocol):
    """The host's records as one user may see them, with the rights of that user."""


def refuse_forbidden(
    rights: RecordRights, sync: Sync, lines: NamedLines, *, dry_run: bool = False
) -> None:
    """Raise ConfigError if a line does to records what its user may not do.

    `lines` has the line whose records are its parents.
    """
    parent = _parent_of(sync, lines)
    _demand(rights, record_accesses(sync, parent, dry_run=dry_run))


def refuse_hidden_parents(rights: RecordRights, sync: Sync, lines: NamedLines) -> None:
    """Raise ConfigError if the user may not view the parents of a line.

    The line may be incomplete: its own target is not looked at.
    """
    parent = _parent_of(sync, lines)
    if parent is not None:
        _demand(rights, [parent_access(parent)])


def _parent_of(sync: Sync, lines: NamedLines) -> Sync | None:
    """Return the line whose records are the parents, if there is one."""
    if sync.for_each.line:
        with suppress(UnknownConfiguration):  # the checks of the line report it
            return lines.line(sync.for_each.line).sync
    return None


def _demand(rights: RecordRights, accesses: Iterable[RecordAccess]) -> None:
    """Raise ConfigError at the field of the first access that is forbidden."""
    for access in accesses:
        try:
            rights.demand(access.target, *access.verbs)
        except ConfigError as error:
            if not access.field:
                raise
            raise ConfigError(
                error.message, hint=error.hint, field=access.field
            ) from None
