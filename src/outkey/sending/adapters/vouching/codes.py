"""Vouchers of rows: HMAC-SHA-256 with keys that are derived from those of the ring."""

import hmac
from collections.abc import Mapping
from functools import partial
from typing import Any

from outkey.foundation.ports.database import Database
from outkey.sending.adapters.secrets.secrets_stored import Keyrings
from outkey.sending.core.vault.row_voucher import (
    RowName,
    RowVoucher,
    changed_row_error,
    parse_row_voucher,
    vouched_bytes,
)
from outkey.sending.ports.storage import SeenRows

_PURPOSE = "rows"
_MAX_CACHED = 10_000
CheckedRow = tuple[object, Mapping[str, Any], int]  # its voucher, content and serial
_NEVER_CHECKED: CheckedRow = ("", {}, 0)


class KeyedVouchers:
    """Computes and compares codes; each names its key, so that rotations are possible.

    What was compared is cached: rows that do not change cost no code.
    """

    def __init__(self, keys: Keyrings, seen: SeenRows, database: Database) -> None:
        self._keys = keys
        self._seen = seen
        self._database = database
        self._derived: dict[str, bytes] = {}  # by the name of the ring's key
        self._valid: dict[RowName, CheckedRow] = {}

    def vouch(
        self, name: RowName, content: Mapping[str, Any], *, replaces: bool = False
    ) -> str:
        # A row under a key that was retired meanwhile would not be accepted.
        key = self._keys.fresh().primary.name
        serial = self._next_serial(name, replaces=replaces)
        return RowVoucher(serial, key, self._code(key, name, serial, content)).text

    def _next_serial(self, name: RowName, *, replaces: bool) -> int:
        """Return a serial number above all that homes have seen of a row."""
        _, _, serial = self._valid.get(name, _NEVER_CHECKED)
        lowest = max(serial, self._seen.newest(name)) + 1
        if replaces and serial:
            return lowest
        # Another home may have stored and deleted rows of this name.
        return max(lowest, int(self._database.now() * 1000))

    def seen(self) -> Mapping[RowName, int]:
        return self._seen.serials()

    def check(
        self,
        name: RowName,
        content: Mapping[str, Any],
        voucher: object,
        seen: Mapping[RowName, int],
    ) -> None:
        # Read once: another thread may store a newer row meanwhile.
        *checked, serial = self._valid.get(name, _NEVER_CHECKED)
        if checked != [voucher, content]:
            serial = self._verified_serial(name, content, voucher)
            if len(self._valid) >= _MAX_CACHED:
                self._valid.clear()
            self._valid[name] = (voucher, content, serial)
        newest = seen.get(name, 0)
        if serial < newest:
            raise changed_row_error(name)
        if serial > newest:
            self._note(name, serial)

    def note_stored(self, name: RowName, voucher: str) -> None:
        stored = parse_row_voucher(voucher)
        if stored is not None:
            self._note(name, stored.serial)

    def note_removed(self, name: RowName) -> None:
        _, _, serial = self._valid.get(name, _NEVER_CHECKED)
        self._note(name, max(serial, self._seen.newest(name)) + 1)

    def has_other_key(self, name: RowName) -> bool:
        """Whether a row that was checked has a voucher of another than the primary."""
        voucher = parse_row_voucher(self._valid.get(name, _NEVER_CHECKED)[0])
        return voucher is not None and voucher.key != self._keys.ring().primary.name

    def _verified_serial(
        self, name: RowName, content: Mapping[str, Any], voucher: object
    ) -> int:
        """Return the serial number of a valid voucher, or raise SecretUnreadable."""
        stored = parse_row_voucher(voucher)
        if stored is None or not self._keys.ring(stored.key).opens(stored.key):
            raise changed_row_error(name)
        try:
            code = self._code(stored.key, name, stored.serial, content)
        except (RecursionError, TypeError, ValueError):  # not what outkey stores
            raise changed_row_error(name) from None
        if not hmac.compare_digest(code, stored.code):
            raise changed_row_error(name)
        return stored.serial

    def _code(
        self, key: str, name: RowName, serial: int, content: Mapping[str, Any]
    ) -> str:
        derived = self._derived.get(key)
        if derived is None:
            derived = self._keys.ring(key).derive(_PURPOSE, key)
            self._derived[key] = derived
        message = vouched_bytes(name, serial, content)
        return hmac.digest(derived, message, "sha256").hex()

    def _note(self, name: RowName, serial: int) -> None:
        """Remember a row; what is rolled back must not count as seen."""
        self._database.after_commit(partial(self._seen.note, name, serial))
