"""Rows of sync lines as values: what a host stores, without a rule."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from dataclasses import field as dataclass_field
from typing import TYPE_CHECKING

from outkey.foundation.core.stored_values import odd_names
from outkey.sending.core.configuration.rows import row_unreadable

if TYPE_CHECKING:
    from outkey.foundation.core.errors import OutkeyError
    from outkey.sync.core.line.line import SyncLine
    from outkey.sync.core.run.schedule import TimedLine


@dataclass(frozen=True, slots=True)
class LineRow:
    """A sync line as it is stored."""

    name: str
    configuration: str
    method: str
    path: str
    sync: Mapping[str, object] | None  # the table that a TOML document has
    source: str = ""  # the TOML of that table as a user wrote it
    record: str = ""  # the id of its configuration, which a host fills in
    # That outkey has stored it (`sending.core.vault.row_voucher`).
    voucher: str = ""
    # Why it must not run: it was changed without outkey, or outkey is sealed.
    error: OutkeyError | None = dataclass_field(default=None, compare=False)

    def vouched_content(self) -> dict[str, object]:
        """Return the vouched content; it has the configuration's id, which stays."""
        return {
            "configuration": self.record,
            "method": self.method,
            "path": self.path,
            "sync": self.sync,
            "source": self.source,
        }

    def line(self) -> SyncLine:
        """Return the line, or raise ConfigError where its table cannot be read."""
        from outkey.sync.core.line.line import SyncLine  # noqa: PLC0415
        from outkey.sync.core.line.table import read_sync  # noqa: PLC0415

        columns = ((field.name, getattr(self, field.name)) for field in fields(self))
        if odd := odd_names(columns):
            raise row_unreadable(odd)
        sync = None if self.sync is None else read_sync(self.sync)
        return SyncLine(
            self.name,
            configuration=self.configuration,
            method=self.method,
            path=self.path,
            sync=sync,
            source=self.source,
            error=self.error,
            record=self.record,
        )

    def timed(self) -> TimedLine:
        """Return when the line runs, also where its table cannot be read otherwise."""
        from outkey.sync.core.mapping.targets import other_database  # noqa: PLC0415
        from outkey.sync.core.run.schedule import TimedLine  # noqa: PLC0415

        table = self.sync if isinstance(self.sync, Mapping) else {}
        schedule = table.get("schedule")
        return TimedLine(
            self.name,
            self.configuration,
            schedule if isinstance(schedule, str) else "",
            other_database(table.get("target")),
        )


def line_row(line: SyncLine) -> LineRow:
    """Return the row of a sync line."""
    from outkey.sync.core.line.table import sync_table  # noqa: PLC0415

    sync = None if line.sync is None else sync_table(line.sync)
    return LineRow(
        line.name,
        configuration=line.configuration,
        method=line.method,
        path=line.path,
        sync=sync,
        source=line.source,
    )
