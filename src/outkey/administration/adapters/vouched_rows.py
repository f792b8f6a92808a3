"""All rows that are vouched for: which were changed outside, and who accepts them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from outkey.foundation.core.errors import OutkeyError, SecretUnreadable
from outkey.foundation.core.fields.choices import Connections
from outkey.foundation.core.shared_state import SharedState, StateKind
from outkey.sending.adapters.vouching.vouched_states import (
    MISSING_DECIDES,
    VOUCHER,
    VouchedStates,
)
from outkey.sending.core.connections.connection import ConnectionQuery
from outkey.sending.core.vault.envelope import TokenRow
from outkey.sending.core.vault.row_voucher import (
    TOKEN_KIND,
    VOUCHED_STATES,
    RowName,
    parse_row_voucher,
)
from outkey.sync.adapters.vouched_lines import VouchedLines
from outkey.sync.adapters.vouched_lines import row_name as line_name
from outkey.sync.core.line.rows import LineRow

if TYPE_CHECKING:
    from outkey.administration.core.findings.changed_rows import ChangedRow
    from outkey.foundation.ports.database import StateRows
    from outkey.sending.adapters.vouching.codes import KeyedVouchers
    from outkey.sending.adapters.vouching.vouched_tokens import VouchedTokens
    from outkey.sending.core.configuration.configuration import Configuration
    from outkey.sending.ports.storage import ConfigurationRows, TokenRows
    from outkey.sync.ports.sync import LineRows


_PAGE = 1000  # connections that are read at once


class VouchedTables:
    """The tables of a host whose rows are vouched for, as they are stored."""

    def __init__(
        self,
        configurations: ConfigurationRows,
        lines: LineRows,
        states: StateRows,
        tokens: TokenRows,
    ) -> None:
        self.configurations = configurations
        self.lines = lines
        self.states = states
        self.tokens = tokens

    def key_uses(self) -> Mapping[str, int]:
        """Return how many rows each key vouches for, by the key's name."""
        vouchers = map(parse_row_voucher, self._vouchers())
        return Counter(voucher.key for voucher in vouchers if voucher is not None)

    def token_owners(self) -> Iterator[Configuration]:
        """Yield the configurations that may have a token, also those of accounts."""
        for row in self.configurations.find():
            try:
                configuration = row.configuration({})
            except OutkeyError:
                continue  # no token is used for what cannot be read
            if not configuration.fetches_token:
                continue
            yield configuration
            if configuration.connections is not Connections.NONE:
                yield from self._accounts(configuration)

    def _accounts(self, configuration: Configuration) -> Iterator[Configuration]:
        """Yield a configuration with each of its accounts, page by page."""
        query = ConnectionQuery(limit=_PAGE)
        while rows := self.configurations.connections(configuration.record, query):
            for row in rows:
                with suppress(OutkeyError):
                    yield row.configuration({}, unconnected=configuration)
            last = rows[-1].connection
            if last is None:
                return
            query = query._replace(after=last.id)

    def _vouchers(self) -> Iterator[object]:
        for kind in VOUCHED_STATES:
            for state in self.states.read(kind).values():
                if isinstance(state.value, Mapping):
                    yield state.value.get(VOUCHER)
        for line in self.lines.find():
            yield line.voucher
        for configuration in self.token_owners():
            token = self.tokens.read(configuration)
            if token is not None:
                yield token.facts.get(VOUCHER)


class VouchedRows:
    """Lists the rows that outkey does not believe, and accepts or deletes them."""

    def __init__(
        self,
        tables: VouchedTables,
        states: VouchedStates,
        lines: VouchedLines,
        tokens: VouchedTokens,
        vouchers: KeyedVouchers,
    ) -> None:
        self._vouchers = vouchers
        self._tables = tables
        self._states = states
        self._lines = lines
        self._tokens = tokens

    def changed(self) -> list[ChangedRow]:
        """Return the rows that were changed outside of outkey."""
        rows = []
        for row in self._all():
            error = row.seen.error
            if isinstance(error, SecretUnreadable):
                rows.append(row)
            elif error is not None:
                raise error  # sealed
        return rows

    def confirm(self, row: ChangedRow) -> bool:
        """Vouch for a row as it was listed; return whether it is still there."""
        if isinstance(row.seen, LineRow):
            return self._lines.confirm(row.seen)
        if isinstance(row.seen, SharedState):
            kind = StateKind(row.name.kind)
            return self._states.confirm(kind, row.name.key, row.seen)
        owner = self._owner(row.name)
        return owner is not None and self._tokens.confirm(owner, row.seen)

    def delete(self, row: ChangedRow) -> None:
        """Delete a row; of a token nothing stays that could be used."""
        from outkey.sending.core.oauth2.token import TokenState  # noqa: PLC0415

        if isinstance(row.seen, LineRow):
            self._lines.swap(row.seen, None)
            return
        if isinstance(row.seen, SharedState):
            self._states.put(StateKind(row.name.kind), {row.name.key: None})
            return
        owner = self._owner(row.name)
        if owner is not None:
            seen = row.seen
            empty = TokenRow(
                generation=seen.generation + 1,
                serial=seen.serial + 1,
                origin="",
                sealed=None,
                facts=TokenState().facts(),
            )
            self._tokens.swap(owner, seen.generation, empty)

    def rewrap(self) -> None:
        """Vouch with the primary key for the rows that other keys vouch for.

        A row that is changed meanwhile has the primary key already.
        """
        from outkey.administration.core.findings.changed_rows import ChangedRow  # noqa: PLC0415

        removed = [
            ChangedRow(RowName(kind, key), state)
            for kind in MISSING_DECIDES
            for key, state in self._states.removed(kind).items()
        ]
        for row in (*self._all(), *removed):
            if row.seen.error is None and self._vouchers.has_other_key(row.name):
                self.confirm(row)

    def _all(self) -> Iterator[ChangedRow]:
        from outkey.administration.core.findings.changed_rows import ChangedRow  # noqa: PLC0415

        for kind in sorted(VOUCHED_STATES):
            for key, state in sorted(self._states.read(kind).items()):
                yield ChangedRow(RowName(kind, key), state)
        for line in self._lines.find():
            yield ChangedRow(line_name(line), line)
        for owner in self._tables.token_owners():
            token = self._tokens.read(owner)
            if token is not None:
                yield ChangedRow(RowName(TOKEN_KIND, owner.record), token, owner.name)

    def _owner(self, name: RowName) -> Configuration | None:
        found = self._tables.configurations.find
        for row in found(records=[name.key]):
            if row.connection is None:
                return row.configuration({})
            for parent in found(records=[row.connection.configuration]):
                return row.configuration({}, unconnected=parent.configuration({}))
        return None
