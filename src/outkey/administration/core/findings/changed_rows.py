"""Rows that were changed outside of outkey, as an operator sees them."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from outkey.foundation.core.shared_state import SharedState, StateKind
from outkey.foundation.core.text import Text
from outkey.sending.core.vault.envelope import TokenRow
from outkey.sending.core.vault.row_voucher import RowName
from outkey.sync.core.databases.section import has_password
from outkey.sync.core.line.rows import LineRow

_LONG = ("secrets", "columns")  # of which the names are enough
_PLAIN = re.compile(r"[A-Za-z0-9_./:{}@+*?&%-][A-Za-z0-9_./:{}@+*?&% -]*", re.ASCII)
_INVISIBLE = "\u115f\u1160\u3164\uffa0"  # letters of Korean without a shape


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
        """Return the facts of the row, without secrets."""
        if self.is_missing:
            return Text("deleted outside of outkey")
        return ", ".join(f"{quoted(name)} = {text}" for name, text in self._texts())

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
        """Yield the facts that are not empty, those of a table in it one by one."""
        facts = dict(self._facts())
        tables = {name: facts.pop(name, None) for name in ("sync", "settings")}
        for table_name, table in tables.items():
            members = table if isinstance(table, Mapping) else {"": table}
            for name, value in members.items():
                # Nothing in a table may be shown in the place of what is beside it.
                is_taken = name in facts or not name
                facts[f"{table_name}.{name}" if is_taken else name] = value
        for name, value in facts.items():
            if name in _LONG and isinstance(value, Mapping):
                yield name, quoted(" ".join(map(str, value)))
            elif not is_empty(value):
                yield name, "***" if self._is_secret(value) else quoted(value)

    def _is_secret(self, value: object) -> bool:
        """Whether a value is a URL with a password, which a database must not have."""
        return self.name.kind == StateKind.DATABASE and has_password(str(value))


def is_empty(value: object) -> bool:
    """Whether a value means nothing; a zero does."""
    return value is None or value is False or value in ("", [], {})


def quoted(value: object) -> str:
    """Return a value as a list of facts shows it: everything in it can be seen.

    A text with a comma or an equals sign is quoted, and characters that cannot be seen
    are escaped. Otherwise a value could look like another one, or like several facts.
    """
    if isinstance(value, str) and _PLAIN.fullmatch(value):
        return value
    text = json.dumps(value, ensure_ascii=False, default=str)
    return "".join(
        char if char.isprintable() and char not in _INVISIBLE else escaped(char)
        for char in text
    )


def escaped(char: str) -> str:
    """Return a character by its number."""
    return char.encode("unicode_escape", "surrogatepass").decode()
