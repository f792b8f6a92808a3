"""The rights of a user on the host's records."""

from typing import Protocol

from outkey.foundation.core.errors import ConfigError
from outkey.sync.core.line.line import Sync
from outkey.sync.core.line.permissions import record_accesses
from outkey.sync.ports.sync import Models


class RecordRights(Protocol):
    """The rights of a user on the host's own records, beside the port `Records`."""

    def demand(self, target: str, *verbs: str) -> None:
        """Raise ConfigError if the user may not view, add or change them."""


class UserRecords(Models, RecordRights, Protocol):
    """The host's records as one user may see them, with the rights of that user."""


def refuse_forbidden(
    rights: RecordRights, sync: Sync, *, dry_run: bool = False
) -> None:
    """Raise ConfigError if a line does to records what its user may not do."""
    for access in record_accesses(sync, dry_run=dry_run):
        try:
            rights.demand(access.target, *access.verbs)
        except ConfigError as error:
            if not access.field:
                raise
            raise ConfigError(
                error.message, hint=error.hint, field=access.field
            ) from None
