"""Rows that were changed outside of outkey, as an operator sees them."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from outkey.core.config.sync_sections import has_password
from outkey.core.rows import LineRow
from outkey.core.shared_state import SharedState, StateKind
from outkey.core.text import Text
from outkey.core.vault.envelope import TokenRow
from outkey.core.vault.row_voucher import RowName

_HIDDEN = ("digest", "secrets", "columns")  # long, or of no use to a reader


@dataclass(frozen=True, slots=True)
class ChangedRow:
    """A row that is vouched for, or should be, as it was read."""

    name: RowName
    seen: SharedState | LineRow | TokenRow
    configuration: str = ""  # the name of the one that a token belongs to

    @property
    def label(self) -> str:
        """The row as lists and commands name it."""
        key = self.configuration
        if self.name.kind == StateKind.API_TOKEN:
            key = str(self._facts().get("name", ""))
        return RowName(self.name.kind, key).label if key else self.name.label

    @property
    def is_missing(self) -> bool:
        """Whether the row was deleted."""
        return not isinstance(self.seen, LineRow) and not self.seen.generation

    def is_named(self, name: str) -> bool:
        """Whether a user who writes this name means the row."""
        return name in {self.label, self.name.label}

    def summary(self) -> str:
        """Return what the row says, without secrets."""
        if self.is_missing:
            return Text("deleted outside of outkey")
        return ", ".join(f"{name} = {text}" for name, text in self._texts())

    def _facts(self) -> Mapping[str, object]:
        seen = self.seen
        if isinstance(seen, LineRow):
            content = seen.vouched_content()
            return {**content, "configuration": seen.configuration, "source": None}
        if isinstance(seen, TokenRow):
            return {**seen.facts, "serial": seen.serial}
        facts: object = seen.value  # another program may have written anything
        return facts if isinstance(facts, Mapping) else {"value": facts}

    def _texts(self) -> Iterator[tuple[str, str]]:
        """Yield the facts that say something, those of a table in it one by one."""
        facts = dict(self._facts())
        for name in ("sync", "settings"):
            table = facts.pop(name, None)
            facts |= table if isinstance(table, Mapping) else {}
        for name, value in facts.items():
            if name in _HIDDEN and isinstance(value, Mapping):
                yield name, " ".join(map(str, value))
            elif value not in ("", None, False, [], {}) and name not in _HIDDEN:
                is_text = isinstance(value, str)
                text = str(value) if is_text else json.dumps(value, default=str)
                yield name, "***" if has_password(text) else text
