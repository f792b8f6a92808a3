"""A sync line as a form: its fields as texts, its rows, and what its buttons do.

`form_text.py` reads a form from the TOML of a line and writes it back; `inputs.py`
names the inputs, reads what is posted, and finds all mistakes.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from outkey.foundation.core.fields.field_kinds import Field, Kind
from outkey.sync.core.line.fields import PAGINATION_FIELDS, RESPONSE_FIELDS, SYNC_FIELDS
from outkey.sync.core.line.line import Direction, Transform
from outkey.sync.core.line_form.rows import ChildForm, MappingRow, names_in, value_text
from outkey.sync.core.line_form.schedule_choices import ScheduleChoice
from outkey.sync.core.suggest.suggest import Suggestion

# Of one form: Django refuses a form with more than 1,000 inputs.
MOST_ROWS = 100
NEW_SCRIPT = "def transform(record):\n    return record\n"
TABLES = frozenset({Kind.TABLE, Kind.TABLES, Kind.TEXTS})
ROW_STEP = re.compile(r"(?:child-(\d{1,4})-)?(up|down|remove)-(\d{1,4})", re.ASCII)
CHILD_STEP = re.compile(r"child-(\d{1,4})-(add|delete)", re.ASCII)


def _scalar_fields(fields: Sequence[Field] = SYNC_FIELDS) -> Iterator[Field]:
    """Yield the fields with one value, also those in tables."""
    for field in fields:
        if field.kind is Kind.TABLE:
            yield from _scalar_fields(field.parts)
        elif field.kind not in TABLES and field.path != "schedule":
            yield field


def _input_of(field: Field) -> str:
    """Return the name of the input for a field with one value."""
    return field.path.replace(".", "_")


# By the name of their input. The schedule is a choice of its own.
INPUTS: Mapping[str, Field] = {_input_of(field): field for field in _scalar_fields()}


@dataclass(frozen=True, slots=True)
class LineForm:
    """The form of a synchronization, as it is shown or was filled in.

    Without a direction the line only names one request. What a form does not have
    (`None`, or an input that is missing in `texts`) stays as the text has it. Rows and
    lists that are not filled in yet are in the form, but never in the text.
    """

    texts: Mapping[str, str]  # by the name of the input
    schedule: ScheduleChoice | None = None
    query: tuple[tuple[str, str], ...] | None = None
    rows: tuple[MappingRow, ...] | None = None
    children: tuple[ChildForm, ...] | None = None

    @property
    def direction(self) -> str:
        """The direction, "" for a line that only names one request."""
        return self.texts.get("direction", "")

    @property
    def keys(self) -> list[str]:
        """The names of the key fields."""
        return names_in(self.texts.get("keys", ""))

    @property
    def has_new_list(self) -> bool:
        """Whether its last list inside the records is not filled in yet."""
        return any(child.is_blank for child in (self.children or ())[-1:])

    @property
    def row_count(self) -> int:
        """How many rows it has, with those of lists inside the records."""
        children = self.children or ()
        return len(self.rows or ()) + sum(len(child.rows) for child in children)

    def rows_of(self, child: int | None = None) -> tuple[MappingRow, ...]:
        """Return the rows of the records, or of a list inside them by its number."""
        if child is None:
            return self.rows or ()
        children = self.children or ()
        return children[child].rows if child < len(children) else ()

    def with_entered(self, entered: "LineForm") -> "LineForm":
        """Return the form of a text with what the text cannot have of what was entered.

        That is a wrong schedule, and rows that are not filled in.
        """
        rows = self.rows
        if entered.rows is not None:
            filled = iter(self.rows or ())
            rows = tuple(
                row if row.is_blank else next(filled, row) for row in entered.rows
            )
        return replace(
            self,
            texts={**self.texts, **entered.texts},
            schedule=entered.schedule or self.schedule,
            rows=rows,
        )

    # ── buttons ──────────────────────────────────────────────────────────────────────

    def apply(self, step: str) -> "LineForm":
        """Return the form after a button; one that is unknown changes nothing."""
        if match := ROW_STEP.fullmatch(step):
            place = None if match[1] is None else int(match[1])
            rows = _moved_rows(self.rows_of(place), match[2], int(match[3]))
            return self._with_rows(rows, place)
        if match := CHILD_STEP.fullmatch(step):
            return self._with_changed_list(int(match[1]), match[2])
        if step.startswith("add-") and step.removeprefix("add-") in set(Transform):
            new = MappingRow(transform=step.removeprefix("add-"))
            return self._with_rows((*self.rows_of(), new))
        if step == "child":
            return replace(self, children=(*(self.children or ()), ChildForm()))
        if step == "script":
            return self.with_texts(script=NEW_SCRIPT)
        return self

    def with_texts(self, **texts: str) -> "LineForm":
        """Change inputs with one value."""
        return replace(self, texts={**self.texts, **texts})

    def with_child(self, child: ChildForm) -> "LineForm":
        """Add a list inside the records, with as many rows as there is room for."""
        shorter = replace(child, rows=child.rows[: self._room()])
        return replace(self, children=(*(self.children or ()), shorter))

    def with_fields(
        self, fields: Sequence[MappingRow], key_paths: Sequence[str]
    ) -> "LineForm":
        """Add rows for fields of a sample, and make those of the key the key.

        `key_paths` are the paths of the fields that identify a record.
        """
        added = []
        keys = []
        for row in fields[: self._room()]:
            is_key = row.api in key_paths and bool(row.host) and not self.keys
            added.append(replace(row, required=True) if is_key else row)
            keys += [row.host] if is_key else []
        longer = self._with_rows((*self.rows_of(), *added))
        return longer.with_texts(keys=", ".join([*self.keys, *keys]))

    def with_repair(
        self, changes: Mapping[str, str], number: int, child: int | None = None
    ) -> "LineForm":
        """Change inputs of a row; IndexError for an unknown number."""
        rows = [*self.rows_of(child)]
        rows[number] = MappingRow.of_inputs({**rows[number].inputs(), **changes})
        return self._with_rows(rows, child)

    def with_pages(self, suggestion: Suggestion) -> "LineForm":
        """Take over the format of a sample, and where it has its records and pages.

        A direction and a target are those of the sample only if the form has none. Keys
        and rows are added when the user accepts them.
        """
        pages = {
            _input_of(field): value_text(getattr(suggestion.pagination, field.key))
            for field in PAGINATION_FIELDS
        }
        formats = {
            _input_of(field): value_text(getattr(suggestion.response, field.key))
            for field in RESPONSE_FIELDS
        }
        return self.with_texts(
            **pages,
            **formats,
            records=suggestion.records,
            direction=self.direction or str(Direction.PULL),
            target=self.texts.get("target") or suggestion.target,
        )

    def _room(self) -> int:
        return max(0, MOST_ROWS - self.row_count)

    def _with_changed_list(self, number: int, action: str) -> "LineForm":
        """Remove a list inside the records, or add an empty row to it."""
        if action == "add":
            return self._with_rows((*self.rows_of(number), MappingRow()), number)
        children = self.children or ()
        return replace(self, children=children[:number] + children[number + 1 :])

    def _with_rows(
        self, rows: Iterable[MappingRow], child: int | None = None
    ) -> "LineForm":
        if child is None:
            return replace(self, rows=tuple(rows))
        children = [*(self.children or ())]
        if child < len(children):
            children[child] = replace(children[child], rows=tuple(rows))
        return replace(self, children=tuple(children))


def _moved_rows(
    rows: Sequence[MappingRow], action: str, number: int
) -> list[MappingRow]:
    """Return rows after one was moved or removed."""
    changed = list(rows)
    if number >= len(changed):
        return changed
    row = changed.pop(number)
    if action == "up":
        changed.insert(max(0, number - 1), row)
    elif action == "down":
        changed.insert(number + 1, row)
    return changed
