"""Sync lines that are vouched for."""

from collections.abc import Collection, Mapping
from dataclasses import replace

from outkey.foundation.core.errors import ConfigError, Sealed, SecretUnreadable
from outkey.sending.core.vault.row_voucher import LINE_KIND, RowName
from outkey.sending.ports.storage import ConfigurationRows, RowVouchers
from outkey.sync.core.line.history import LineVersion
from outkey.sync.core.line.rows import LineRow
from outkey.sync.ports.sync import LineRows


class VouchedLines:
    """The lines of a host; vouchers are added and checked.

    A line that was changed without outkey is found with its error. It can be deleted,
    but not replaced: that would vouch for it.
    """

    def __init__(
        self, rows: LineRows, configurations: ConfigurationRows, vouchers: RowVouchers
    ) -> None:
        self._rows = rows
        self._configurations = configurations
        self._vouchers = vouchers

    def find(self, names: Collection[str] | None = None) -> list[LineRow]:
        seen = self._vouchers.seen()
        return [self._check(row, seen) for row in self._rows.find(names)]

    def swap(self, before: LineRow | None, after: LineRow | None) -> bool:
        if before is not None and before.error is not None and after is not None:
            raise before.error
        return self._swap(before, after)

    def confirm(self, seen: LineRow) -> bool:
        """Vouch for a line as a user has seen it; return whether it is still so."""
        return self._rows.find([seen.name]) == [seen] and self._swap(seen, seen)

    def versions(self, name: str, limit: int) -> list[LineVersion]:
        return self._rows.versions(name, limit)

    def add_version(self, version: LineVersion, oldest: int) -> bool:
        return self._rows.add_version(version, oldest)

    def _swap(self, before: LineRow | None, after: LineRow | None) -> bool:
        voucher = ""
        if after is not None:
            after = replace(after, record=self._record_for(before, after))
            is_same = before is not None and before.name == after.name
            voucher = self._vouchers.vouch(
                row_name(after), after.vouched_content(), replaces=is_same
            )
            after = replace(after, voucher=voucher, error=None)
        if not self._rows.swap(before, after):
            return False
        if before is not None and (after is None or after.name != before.name):
            self._vouchers.note_removed(row_name(before))
        if after is not None:
            self._vouchers.note_stored(row_name(after), voucher)
        return True

    def _record_for(self, before: LineRow | None, after: LineRow) -> str:
        """Return the id of a line's configuration; it stays unless the name changes."""
        if before is not None and before.configuration == after.configuration:
            return before.record
        owners = self._configurations.find(names=[after.configuration])
        return owners[0].record if owners else ""

    def _check(self, row: LineRow, seen: Mapping[RowName, int]) -> LineRow:
        content = row.vouched_content()
        try:
            self._vouchers.check(row_name(row), content, row.voucher, seen)
        except (SecretUnreadable, Sealed, ConfigError) as error:
            return replace(row, error=error.with_traceback(None))
        return row


def row_name(row: LineRow) -> RowName:
    """Return the name of a line's row."""
    return RowName(LINE_KIND, row.name)
