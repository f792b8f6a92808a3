"""Serial numbers of rows that were seen, and vouchers for rows, in memory."""

from collections.abc import Mapping
from typing import Any

from outkey.administration.core.findings.changed_rows import ChangedRow
from outkey.foundation.ports.database import Database
from outkey.sending.core.vault.row_voucher import (
    RowName,
    RowVoucher,
    changed_row_error,
    parse_row_voucher,
    vouched_bytes,
)

KEY_NAME = "0f" * 8


class MemorySeenRows:
    """Serial numbers in a dictionary."""

    def __init__(self) -> None:
        self.noted: dict[RowName, int] = {}

    def newest(self, name: RowName) -> int:
        return self.noted.get(name, 0)

    def serials(self) -> Mapping[RowName, int]:
        return dict(self.noted)

    def note(self, name: RowName, serial: int) -> None:
        self.noted[name] = max(serial, self.newest(name))

    def clear(self) -> None:
        self.noted.clear()


class FakeVouchers:
    """Remembers what it has vouched for, in the place of a key."""

    def __init__(self, database: Database) -> None:
        self.rows = MemorySeenRows()
        self._database = database
        self._issued: dict[str, bytes] = {}

    def vouch(
        self, name: RowName, content: Mapping[str, Any], *, replaces: bool = False
    ) -> str:
        lowest = self.rows.newest(name) + 1
        serial = lowest if replaces else max(lowest, int(self._database.now() * 1000))
        voucher = RowVoucher(serial, KEY_NAME, f"{len(self._issued):064x}").text
        self._issued[voucher] = vouched_bytes(name, serial, content)
        return voucher

    def check(
        self,
        name: RowName,
        content: Mapping[str, Any],
        voucher: object,
        seen: Mapping[RowName, int],
    ) -> None:
        stored = parse_row_voucher(voucher)
        if stored is None or self._issued.get(stored.text) != vouched_bytes(
            name, stored.serial, content
        ):
            raise changed_row_error(name)
        if stored.serial < seen.get(name, 0):
            raise changed_row_error(name)
        self._note(name, stored.serial)

    def note_stored(self, name: RowName, voucher: str) -> None:
        stored = parse_row_voucher(voucher)
        assert stored is not None
        self._note(name, stored.serial)

    def note_removed(self, name: RowName) -> None:
        self._note(name, self.rows.newest(name) + 1)

    def seen(self) -> Mapping[RowName, int]:
        return self.rows.serials()

    def _note(self, name: RowName, serial: int) -> None:
        self._database.after_commit(lambda: self.rows.note(name, serial))


class FakeVouchedRows:
    """Rows that were changed, and what was done with them."""

    def __init__(self) -> None:
        self.rows: list[ChangedRow] = []
        self.deleted: list[ChangedRow] = []
        self.rewraps = 0

    def changed(self) -> list[ChangedRow]:
        return list(self.rows)

    def confirm(self, row: ChangedRow) -> bool:
        if row not in self.rows:
            return False
        self.rows.remove(row)
        return True

    def delete(self, row: ChangedRow) -> None:
        self.rows.remove(row)
        self.deleted.append(row)

    def rewrap(self) -> None:
        self.rewraps += 1
