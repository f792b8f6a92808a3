"""A sync line: a named request of a configuration."""

from dataclasses import dataclass
from dataclasses import field as attribute

from outkey.foundation.core.errors import EditConflict, OutkeyError
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sync.core.line.line import Sync


@dataclass(frozen=True, slots=True)
class SyncLine:
    """A named request of a configuration, or the records that many of them bring."""

    name: str
    configuration: str
    method: str
    path: str
    sync: Sync | None = None
    # The TOML of `sync` as a user wrote it, with comments; empty: nobody wrote it.
    source: str = attribute(default="", compare=False, repr=False)
    # Why it must not run: it was changed without outkey, or outkey is sealed.
    error: OutkeyError | None = attribute(default=None, compare=False, repr=False)
    # The id of its configuration, which it is vouched for with; "" before it is saved.
    record: str = attribute(default="", compare=False, repr=False)

    def refuse_other(self, configuration: Configuration) -> None:
        """Raise EditConflict if the name belongs to another configuration by now."""
        if self.record and configuration.record != self.record:
            raise EditConflict
