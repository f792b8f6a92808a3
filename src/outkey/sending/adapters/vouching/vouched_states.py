"""Shared states of which those that decide something are vouched for."""

from collections.abc import Collection, Mapping
from typing import Any

from outkey.foundation.core.errors import (
    ConfigError,
    OutkeyError,
    Sealed,
    SecretUnreadable,
    StorageUnavailable,
)
from outkey.foundation.core.shared_state import SharedState, StateKind
from outkey.foundation.core.stored_values import is_odd
from outkey.foundation.ports.database import StateRows
from outkey.sending.core.vault.row_voucher import (
    VOUCHED_STATES,
    RowName,
    changed_row_error,
)
from outkey.sending.ports.storage import RowVouchers

VOUCHER = "voucher"  # the name of the voucher among the facts of a value
# Of these a missing row decides as well: a line runs that was paused, a user sees what
# others own. So it is not deleted, but replaced by one that states that there is none.
MISSING_DECIDES = frozenset({StateKind.PAUSED_LINE, StateKind.USER_OWNERS})
REMOVED: Mapping[str, Any] = {"is_removed": True}
MOST_TRIES = 100  # against other processes that store the same row


class VouchedStates:
    """The states of a host; vouchers are added to values and checked.

    A state that is read by its key is about to be used: if it was changed without
    outkey, that is an error. Those that are read together are listed, each with its
    error. A changed state can be deleted, but not replaced: that would vouch for it.
    """

    def __init__(self, rows: StateRows, vouchers: RowVouchers) -> None:
        self._rows = rows
        self._vouchers = vouchers
        self._checked: dict[RowName, int] = {}  # generations that were read

    def read(
        self, kind: StateKind, keys: Collection[str] | None = None
    ) -> dict[str, SharedState]:
        if kind not in VOUCHED_STATES:
            return self._rows.read(kind, keys)
        seen = self._vouchers.seen()
        listed = self._listed(kind, keys, self._rows.read(kind, keys), seen)
        if keys is not None:
            for state in listed.values():
                if state.error is not None:
                    raise state.error
        return listed

    def removed(self, kind: StateKind) -> dict[str, SharedState]:
        """Return the valid rows of removed states, for a rotation."""
        seen = self._vouchers.seen()
        checked = {
            key: self._check(RowName(kind, key), state, seen)
            for key, state in self._rows.read(kind).items()
        }
        return {
            key: state
            for key, state in checked.items()
            if state.error is None and state.value == REMOVED
        }

    def swap(
        self, kind: StateKind, key: str, generation: int, value: Mapping[str, Any]
    ) -> bool:
        if kind not in VOUCHED_STATES:
            return self._rows.swap(kind, key, generation, value)
        name = RowName(kind, key)
        if generation and self._checked.get(name) != generation:
            self.read(kind, [key])
        return self._swap(name, generation, value)

    def put(
        self, kind: StateKind, values: Mapping[str, Mapping[str, Any] | None]
    ) -> None:
        if kind not in VOUCHED_STATES:
            self._rows.put(kind, values)
            return
        if len(values) > 1:  # none is stored if one cannot be
            new = [key for key, value in values.items() if value is not None]
            self._refuse_changed(kind, new)
        for key, value in values.items():
            for _ in range(MOST_TRIES):
                if self._put(RowName(kind, key), value):
                    break
            else:  # a trigger of the database may ignore what is written
                raise StorageUnavailable

    def _refuse_changed(self, kind: StateKind, keys: Collection[str]) -> None:
        """Raise the error of a stored state that was changed without outkey."""
        seen = self._vouchers.seen()
        stored = self._rows.read(kind, keys)
        for key, state in self._listed(kind, keys, stored, seen).items():
            if key in stored and state.error is not None:
                raise state.error

    def _put(self, name: RowName, value: Mapping[str, Any] | None) -> bool:
        """Store or delete a state; return False if another process was faster.

        It must not be replaced whatever is there: its number could be lower than that
        of a row which another process has stored meanwhile.
        """
        kind = StateKind(name.kind)
        seen = self._vouchers.seen()
        stored = self._rows.read(kind, [name.key])
        present = self._listed(kind, [name.key], stored, seen).get(name.key)
        if value is None and present is None:
            return True
        if value is None and kind not in MISSING_DECIDES:
            self._rows.put(kind, {name.key: None})
            self._vouchers.note_removed(name)
            return True
        error = None if present is None else present.error
        if value is not None and name.key in stored and error is not None:
            raise error
        generation = stored.get(name.key, SharedState()).generation
        return self._swap(name, generation, REMOVED if value is None else value)

    def confirm(self, kind: StateKind, key: str, seen: SharedState) -> bool:
        """Vouch for a state as a user has seen it; return whether it is still so."""
        value = seen.value if seen.generation else REMOVED
        return self._swap(RowName(kind, key), seen.generation, value)

    def _swap(self, name: RowName, generation: int, value: Mapping[str, Any]) -> bool:
        kind = StateKind(name.kind)
        voucher = self._vouchers.vouch(name, value, replaces=generation > 0)
        written = {**value, VOUCHER: voucher}
        if not self._rows.swap(kind, name.key, generation, written):
            return False
        self._vouchers.note_stored(name, voucher)
        return True

    def _listed(
        self,
        kind: StateKind,
        keys: Collection[str] | None,
        states: Mapping[str, SharedState],
        seen: Mapping[RowName, int],
    ) -> dict[str, SharedState]:
        """Return states without their vouchers, each with its error if it has one."""
        listed = {}
        for key, state in states.items():
            checked = self._check(RowName(kind, key), state, seen)
            was_changed = isinstance(checked.error, SecretUnreadable)
            if was_changed or checked.value != REMOVED:
                listed[key] = checked
        if kind in MISSING_DECIDES:
            known = {name.key: name for name in seen if name.kind == kind}
            for key in known if keys is None else known.keys() & {*keys}:
                if key not in states:
                    listed[key] = SharedState(error=changed_row_error(known[key]))
        return listed

    def _check(
        self, name: RowName, state: SharedState, seen: Mapping[RowName, int]
    ) -> SharedState:
        if is_odd(state.value):
            return state._replace(error=changed_row_error(name))
        error: OutkeyError
        content = dict(state.value)
        voucher = content.pop(VOUCHER, None)
        try:
            self._vouchers.check(name, content, voucher, seen)
        except (SecretUnreadable, Sealed, ConfigError) as found:
            error = found
            self._checked.pop(name, None)
            return SharedState(state.generation, content, error.with_traceback(None))
        self._checked[name] = state.generation
        return SharedState(state.generation, content)
