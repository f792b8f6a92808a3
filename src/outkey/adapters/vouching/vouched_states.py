"""Shared states of which those that decide something are vouched for."""

from collections.abc import Collection, Mapping
from typing import Any

from outkey.core.errors import ConfigError, OutkeyError, Sealed, SecretUnreadable
from outkey.core.shared_state import SharedState, StateKind
from outkey.core.stored_values import is_odd
from outkey.core.vault.row_voucher import VOUCHED_STATES, RowName, changed_row_error
from outkey.ports.storage import RowVouchers, StateRows

VOUCHER = "voucher"  # the name of the voucher among the facts of a value
# Of these a missing row decides as well: a line runs that was paused. So it is not
# deleted, but replaced by one that states that there is none.
MISSING_DECIDES = frozenset({StateKind.PAUSED_LINE})
REMOVED: Mapping[str, Any] = {"is_removed": True}


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
        """Return the valid rows that state that there is none, for a rotation."""
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
        seen = self._vouchers.seen()
        stored = self._rows.read(kind, list(values))
        present = self._listed(kind, list(values), stored, seen)
        new = {key: value for key, value in values.items() if value is not None}
        for key in new.keys() & stored.keys() & present.keys():
            error = present[key].error
            if error is not None:
                raise error
        removed = present.keys() - new.keys()
        if kind in MISSING_DECIDES:
            new |= dict.fromkeys(removed, REMOVED)
            removed = set()
        vouchers = {
            key: self._vouchers.vouch(RowName(kind, key), value, replaces=key in stored)
            for key, value in new.items()
        }
        written = {key: {**value, VOUCHER: vouchers[key]} for key, value in new.items()}
        self._rows.put(kind, {**dict.fromkeys(removed), **written})
        for key, voucher in vouchers.items():
            self._vouchers.note_stored(RowName(kind, key), voucher)
        for key in removed:
            self._vouchers.note_removed(RowName(kind, key))

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
