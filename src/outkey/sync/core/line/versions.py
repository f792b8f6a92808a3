"""Two versions of a sync line compared: which fields changed, from what to what."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.fields.changes import FieldChange
from outkey.foundation.core.text import Text
from outkey.foundation.core.toml.rows import are_rows, match_rows
from outkey.sync.core.line.text import LineText
from outkey.sync.core.line_form.change_words import ChangeInWords
from outkey.sync.core.mapping.shown import shortened, shortened_pair

SYNC = "sync"
MAX_SHOWN = 60
NAMES_OF_ROWS = ("host", "list")
NO_ENTRY = object()


@dataclass(frozen=True, slots=True)
class LineComparison:
    """The differences between two versions of a line."""

    changes: tuple[FieldChange, ...]

    def summary(self) -> Text:
        """Return one sentence about all changes."""
        if not self.changes:
            return Text("nothing changed")
        if len(self.changes) == 1:
            return ChangeInWords.of(self.changes[0]).sentence()
        return Text("{count} fields changed", count=len(self.changes))


def compare_lines(old: Mapping[str, str], new: Mapping[str, str]) -> LineComparison:
    """Compare two versions: the values of the line's form, `sync` with TOML.

    A text that is not TOML is compared as a whole. Comments are not compared.
    """
    changes = [
        FieldChange(name, *_shortened_texts(old.get(name), new.get(name)))
        for name in dict.fromkeys((*old, *new))
        if name != SYNC and old.get(name, "") != new.get(name, "")
    ]
    before = old.get(SYNC, "")
    after = new.get(SYNC, "")
    try:
        changes += table_changes(LineText(before).table(), LineText(after).table())
    except ConfigError:
        changes += _value_changes(SYNC, before, after)
    return LineComparison(tuple(changes))


def table_changes(
    old: Mapping[str, Any], new: Mapping[str, Any], place: str = ""
) -> Iterator[FieldChange]:
    """Yield the differences between two tables."""
    for name in dict.fromkeys((*old, *new)):
        yield from _value_changes(
            place + name, old.get(name, NO_ENTRY), new.get(name, NO_ENTRY)
        )


def _value_changes(place: str, old: object, new: object) -> Iterator[FieldChange]:
    """Yield the differences between two values."""
    is_added_or_removed = new is NO_ENTRY or old is NO_ENTRY
    if old == new:
        return
    if is_table(old, new) or is_table(new, old):
        yield from table_changes(
            old if isinstance(old, dict) else {},
            new if isinstance(new, dict) else {},
            f"{place}.",
        )
    elif (are_rows(old) or are_rows(new)) and (
        is_added_or_removed or (isinstance(old, list) and isinstance(new, list))
    ):
        yield from row_changes(
            place, old if are_rows(old) else [], new if are_rows(new) else []
        )
    else:
        yield FieldChange(place, *_shortened_texts(old, new))


def is_table(value: object, other: object) -> bool:
    """Whether a value is a table with entries, beside another one or none."""
    is_alone = other is NO_ENTRY and bool(value)
    return isinstance(value, dict) and (isinstance(other, dict) or is_alone)


def row_changes(
    place: str, old: list[dict[str, Any]], new: list[dict[str, Any]]
) -> Iterator[FieldChange]:
    """Yield the rows that were added, changed or removed, by the names they have."""
    matches = match_rows(old, new)
    for number, row in enumerate(old):
        if number not in matches:
            yield FieldChange(f"{place}.{row_name(row, number)}", row_words(row), "")
    for number, (match, row) in enumerate(zip(matches, new, strict=True)):
        name = f"{place}.{row_name(row, number)}"
        if match is None:
            yield FieldChange(name, "", row_words(row))
        else:
            before = {"transform": "as_is", **old[match]}
            yield from table_changes(before, {"transform": "as_is", **row}, f"{name}.")
    matched = [number for number in matches if number is not None]
    if matched != sorted(matched):
        names = [row_name(old[number], number) for number in sorted(matched)]
        order = [row_name(old[number], number) for number in matched]
        yield FieldChange(place, _shortened_text(names), _shortened_text(order))


def row_name(row: Mapping[str, Any], number: int) -> str:
    """Return the name of a row: its host's field, or the list of children."""
    return next(
        (str(row[name]) for name in NAMES_OF_ROWS if row.get(name)), str(number)
    )


def row_words(row: Mapping[str, Any]) -> str:
    """Return a row of a mapping in short."""
    parts = (row.get("api") or row.get("target"), row.get("transform"))
    return _shortened_text(" ".join(str(part) for part in parts if part) or "…")


def _shortened_texts(old: object, new: object) -> tuple[str, str]:
    """Return two values as users compare them; "" for one that is not given."""
    texts = (_shortened_text(old), _shortened_text(new))
    return shortened_pair(old, new, MAX_SHOWN) if all(texts) else texts


def _shortened_text(value: object) -> str:
    """Return a value as users read it; a text of several lines in one."""
    if value is NO_ENTRY or value is None or value == "":
        return ""
    return shortened(value, MAX_SHOWN)
