"""Tokens of APIs whose rows are vouched for.

Their secret parts are sealed. The other facts decide as well: without the fact that an
entered refresh token was replaced, it would be sent again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from outkey.foundation.core.errors import ConfigError, Sealed, SecretUnreadable
from outkey.sending.adapters.vouching.vouched_states import VOUCHER
from outkey.sending.core.vault.envelope import TokenRow
from outkey.sending.core.vault.row_voucher import TOKEN_KIND, RowName, changed_row_error

if TYPE_CHECKING:
    from outkey.sending.core.configuration.configuration import Configuration
    from outkey.sending.ports.storage import RowVouchers, TokenRows


class VouchedTokens:
    """The token rows of a host; vouchers are added to their facts and checked.

    A row that was changed without outkey is read with its error, and so is one that is
    missing: outkey replaces them, and deletes them with their configuration only.
    """

    def __init__(self, rows: TokenRows, vouchers: RowVouchers) -> None:
        self._rows = rows
        self._vouchers = vouchers

    def read(self, configuration: Configuration) -> TokenRow | None:
        name = row_name(configuration)
        seen = self._vouchers.seen()
        row = self._rows.read(configuration)
        if row is None:
            if name not in seen:
                return None
            return TokenRow(0, 0, "", None, {}, changed_row_error(name))
        facts = dict(row.facts)
        voucher = facts.pop(VOUCHER, None)
        row = replace(row, facts=facts)
        # Version 0.2 stored none. Its tokens are accepted until outkey replaces them.
        if voucher is None and name not in seen:
            return row
        try:
            self._vouchers.check(name, vouched_content(row), voucher, seen)
        except (SecretUnreadable, Sealed, ConfigError) as error:
            return replace(row, error=error.with_traceback(None))
        return row

    def swap(
        self, configuration: Configuration, generation: int, row: TokenRow
    ) -> bool:
        name = row_name(configuration)
        voucher = self._vouchers.vouch(name, vouched_content(row))
        stored = replace(row, facts={**row.facts, VOUCHER: voucher}, error=None)
        if not self._rows.swap(configuration, generation, stored):
            return False
        self._vouchers.note_stored(name, voucher)
        return True

    def confirm(self, configuration: Configuration, seen: TokenRow) -> bool:
        """Vouch for a row as it was read; for a missing one, start without a token.

        Its generation stays, so that a process which renews the token can store it.
        """
        from outkey.sending.core.oauth2.token import TokenState  # noqa: PLC0415

        if seen.generation:
            return self.swap(configuration, seen.generation, seen)
        return self.swap(
            configuration, 0, TokenRow(1, 1, "", None, TokenState().facts())
        )


def row_name(configuration: Configuration) -> RowName:
    """Return the name of a token's row."""
    return RowName(TOKEN_KIND, configuration.record)


def vouched_content(row: TokenRow) -> Mapping[str, Any]:
    """Return the vouched content; the sealed bytes are bound to their serial number."""
    return {
        "generation": row.generation,
        "serial": row.serial,
        "facts": {name: fact for name, fact in row.facts.items() if name != VOUCHER},
    }
