"""Lists below the records of another list: `/orders/{id}/items` below `/orders`."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from outkey.foundation.core.text import Text
from outkey.importing.core.readers.line_notes import LineNotes, names_text
from outkey.sync.core.line.line import (
    PARENT,
    FieldMapping,
    ForEach,
    Sync,
    Transform,
)
from outkey.sync.core.mapping.targets import MAX_NAME
from outkey.sync.core.suggest.names import comparable_name, snake_case
from outkey.sync.core.suggest.suggest import last_word

VARIABLE = re.compile(r"\{([^{}/]{1,80})\}")
# A list below one record: everything before the last variable is a list itself.
_BELOW = re.compile(
    r"(?P<parent>/.*?)/\{(?P<variable>[^{}/]{1,80})\}/[^{}]*[^{}/]", re.DOTALL
)
_KEY_KINDS = frozenset({Transform.TEXT, Transform.NUMBER})


@dataclass(frozen=True, slots=True)
class DescribedList:
    """A list that became a pull, as a parent of others."""

    path: str  # as the document has it
    request_path: str  # with the fields of its parent
    sync: Sync
    columns: Mapping[str, str] = field(default_factory=dict)  # of its own parents

    def column_for(self, variable: str) -> FieldMapping | None:
        """Return the field that a variable of a path below this list means."""
        word = singular(last_word(self.path))
        fields = {
            comparable_name(row.api): row
            for row in self.sync.mappings
            if row.transform in _KEY_KINDS and "." not in row.api
        }
        key = next(row for row in self.sync.mappings if row.host == self.sync.keys[-1])
        name = comparable_name(variable)
        rest = name.removeprefix(comparable_name(word))
        if name in fields:
            return fields[name]
        if not rest:
            return key
        return fields.get(rest) if rest != name else None


def parent_path(path: str) -> str:
    """Return the path of the list that the last variable of a path is from."""
    match = _BELOW.fullmatch(path)
    return match["parent"] if match else ""


def below(
    parent: DescribedList, path: str, sync: Sync, notes: LineNotes
) -> DescribedList | None:
    """Return a list for each record of another one, None if that is not clear.

    Its key has the fields of the parent too: an id may be unique below it only.
    """
    variables = VARIABLE.findall(path)
    row = parent.column_for(variables[-1])
    if row is None:
        why = Text(
            "the document does not state which field of the parent {name} is",
            name=names_text([variables[-1]]),
        )
        notes.drop("for_each", why)
        return None
    columns = {**parent.columns, variables[-1]: row.host}
    taken = {mapping.host for mapping in sync.mappings}
    added = []
    for variable, column in columns.items():
        source = next(r for r in parent.sync.mappings if r.host == column)
        host = _column(variable, column, parent.path, taken)
        taken.add(host)
        added.append(
            FieldMapping(PARENT + column, host, source.transform, required=True)
        )
    hosts = [mapping.host for mapping in added]
    child = replace(
        sync,
        keys=(*hosts, *sync.keys),
        mappings=(*added, *sync.mappings),
        for_each=ForEach(line=parent.path),
    )
    own = dict(zip(columns, hosts, strict=True))
    filled = VARIABLE.sub(lambda match: f"{{parent.{columns[match[1]]}}}", path)
    notes.take_names("for_each", last_word(parent.path))
    return DescribedList(path, filled, child, own)


def _column(variable: str, column: str, parent: str, taken: set[str]) -> str:
    """Return the column that has a field of the parent."""
    name = snake_case(variable)
    if name == column and "_" not in name:
        name = f"{singular(last_word(parent))}_{column}"
    name = snake_case(name)[:MAX_NAME]
    return name if name not in taken else f"parent_{name}"[:MAX_NAME]


def singular(word: str) -> str:
    """Return one of what a word names several of: order of orders."""
    word = snake_case(word)
    if word.endswith("ies"):
        return f"{word[:-3]}y"
    if word.endswith(("ses", "xes", "ches", "shes")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word
