"""Contract suites of vouchers for rows, used like those of `contracts`."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import pytest

from outkey.foundation.core.errors import SecretUnreadable
from outkey.foundation.ports.database import Database
from outkey.sending.core.vault.row_voucher import RowName
from outkey.sending.ports.storage import RowVouchers, SeenRows

LINE = RowName("line", "orders")
OTHER = RowName("line", "customers")
CONTENT: Mapping[str, Any] = {"path": "/ä", "limits": [1, 2.5, 1e16], "sync": None}


class SeenRowsContract(ABC):
    """The promises of every memory of serial numbers."""

    @abstractmethod
    def make(self) -> SeenRows:
        """Return an empty memory."""

    @abstractmethod
    def reopened(self, rows: SeenRows) -> SeenRows:
        """Return the same memory as another process has it."""

    def test_the_highest_serial_number_is_remembered(self) -> None:
        rows = self.make()
        assert rows.newest(LINE) == 0
        for serial, newest in ((3, 3), (7, 7), (5, 7)):
            rows.note(LINE, serial)
            assert rows.newest(LINE) == newest
        assert rows.newest(OTHER) == 0

    def test_rows_are_told_apart_by_kind_and_by_any_key(self) -> None:
        rows = self.make()
        names = [
            RowName("pair", "orders"),
            RowName("line", 'two\nlines "and" quotes'),
            RowName("line", "ünïcode"),
        ]
        for serial, name in enumerate(names, start=1):
            rows.note(name, serial)
        assert [rows.newest(name) for name in names] == [1, 2, 3]
        assert rows.serials() == dict(zip(names, (1, 2, 3), strict=True))

    def test_other_processes_see_what_was_noted(self) -> None:
        rows = self.make()
        rows.note(LINE, 1)
        other = self.reopened(rows)
        assert other.newest(LINE) == 1
        for serial in range(2, 10):
            rows.note(LINE, serial)
            assert other.newest(LINE) == serial
        other.note(OTHER, 4)
        assert rows.newest(OTHER) == 4

    def test_all_can_be_forgotten(self) -> None:
        rows = self.make()
        rows.note(LINE, 9)
        other = self.reopened(rows)
        assert other.newest(LINE) == 9
        rows.clear()
        assert rows.newest(LINE) == other.newest(LINE) == 0
        other.note(LINE, 2)
        assert rows.newest(LINE) == 2


class RowVouchersContract(ABC):
    """The promises of everything that vouches for rows."""

    @abstractmethod
    def make(self) -> tuple[RowVouchers, Database]:
        """Return it, and the database that the rows are in."""

    def test_a_row_is_accepted_as_it_was_vouched_for(self) -> None:
        vouchers, _ = self.make()
        voucher = vouchers.vouch(LINE, CONTENT)
        vouchers.note_stored(LINE, voucher)
        vouchers.check(LINE, CONTENT, voucher, vouchers.seen())
        # A database may have another order of the facts, and 10**16 for 1e16.
        other: dict[str, Any] = {"sync": None, "limits": [1, 2.5, 10**16]}
        vouchers.check(LINE, {**other, "path": "/ä"}, voucher, vouchers.seen())

    @pytest.mark.parametrize(
        "change", [{"path": "/b"}, {"sync": {}}, {"limits": [1, 2.5]}, {"new": 1}]
    )
    def test_a_row_with_another_content_is_refused(
        self, change: Mapping[str, Any]
    ) -> None:
        vouchers, _ = self.make()
        voucher = vouchers.vouch(LINE, CONTENT)
        with pytest.raises(SecretUnreadable, match=r"line:orders was changed outside"):
            vouchers.check(LINE, {**CONTENT, **change}, voucher, vouchers.seen())

    def test_a_voucher_is_good_for_its_own_row_only(self) -> None:
        vouchers, _ = self.make()
        voucher = vouchers.vouch(LINE, CONTENT)
        for name in (OTHER, RowName("pair", LINE.key)):
            with pytest.raises(SecretUnreadable):
                vouchers.check(name, CONTENT, voucher, vouchers.seen())

    @pytest.mark.parametrize("voucher", ["", None, 7, {}, "1.aa.bb", "x" * 100])
    def test_what_is_not_a_voucher_vouches_for_nothing(self, voucher: object) -> None:
        vouchers, _ = self.make()
        with pytest.raises(SecretUnreadable):
            vouchers.check(LINE, CONTENT, voucher, vouchers.seen())

    def test_a_serial_number_cannot_be_raised_without_the_key(self) -> None:
        vouchers, _ = self.make()
        voucher = vouchers.vouch(LINE, CONTENT)
        serial, _, rest = voucher.partition(".")
        with pytest.raises(SecretUnreadable):
            vouchers.check(LINE, CONTENT, f"{int(serial) + 1}.{rest}", vouchers.seen())

    @pytest.mark.parametrize("replaces", [False, True])
    def test_a_row_that_was_replaced_is_refused_when_it_is_put_back(
        self, *, replaces: bool
    ) -> None:
        vouchers, _ = self.make()
        old = vouchers.vouch(LINE, CONTENT)
        vouchers.note_stored(LINE, old)
        vouchers.check(LINE, CONTENT, old, vouchers.seen())
        new = vouchers.vouch(LINE, {"path": "/new"}, replaces=replaces)
        vouchers.check(
            LINE, CONTENT, old, vouchers.seen()
        )  # the new one is not stored yet
        vouchers.note_stored(LINE, new)
        vouchers.check(LINE, {"path": "/new"}, new, vouchers.seen())
        with pytest.raises(SecretUnreadable):
            vouchers.check(LINE, CONTENT, old, vouchers.seen())

    def test_a_row_that_was_deleted_is_refused_when_it_is_put_back(self) -> None:
        vouchers, _ = self.make()
        voucher = vouchers.vouch(LINE, CONTENT)
        vouchers.note_stored(LINE, voucher)
        vouchers.note_removed(LINE)
        with pytest.raises(SecretUnreadable):
            vouchers.check(LINE, CONTENT, voucher, vouchers.seen())
        again = vouchers.vouch(LINE, CONTENT)
        vouchers.note_stored(LINE, again)
        vouchers.check(LINE, CONTENT, again, vouchers.seen())

    def test_what_is_rolled_back_was_not_seen(self) -> None:
        vouchers, database = self.make()
        old = vouchers.vouch(LINE, CONTENT)
        vouchers.note_stored(LINE, old)
        with pytest.raises(LookupError), database.transaction():  # noqa: PT012
            new = vouchers.vouch(LINE, {"path": "/new"})
            vouchers.note_stored(LINE, new)
            vouchers.check(LINE, {"path": "/new"}, new, vouchers.seen())
            raise LookupError
        vouchers.check(LINE, CONTENT, old, vouchers.seen())

    def test_rows_are_known_once_they_were_seen(self) -> None:
        vouchers, _ = self.make()
        assert LINE not in vouchers.seen()
        voucher = vouchers.vouch(LINE, CONTENT)
        vouchers.check(LINE, CONTENT, voucher, vouchers.seen())
        assert [*vouchers.seen()] == [LINE]
