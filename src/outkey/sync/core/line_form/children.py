"""Lists inside the records of a sample, each as what a form can add for it."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from outkey.sync.core.line.line import INDEX, FieldMapping, Transform
from outkey.sync.core.line_form.rows import ChildForm, row_of_mapping
from outkey.sync.core.mapping.targets import TABLE_PREFIX
from outkey.sync.core.paging.response import Record
from outkey.sync.core.suggest.fields import fields_of
from outkey.sync.core.suggest.keys import guess_keys
from outkey.sync.core.suggest.names import Path, expression_of, snake_case
from outkey.sync.core.suggest.suggest import default_target, onto_columns
from outkey.sync.core.suggest.values import guess_transform

MOST_ELEMENTS = 200
POSITION = "position"  # the column of $index, where no field identifies an element


def suggest_children(
    records: Sequence[Record], target: str, keys: Sequence[str]
) -> list[ChildForm]:
    """Return a form for each list of objects, with target, parent, keys and fields.

    `target` and `keys` are those of the records themselves.
    """
    word = singular(target.removeprefix(TABLE_PREFIX).rpartition(".")[2])
    parents = [_parent_field(word, key) for key in keys or ("id",)]
    return [
        _child_form(path, elements, word, parents)
        for path in fields_of(records).lists
        if (elements := list(_elements_at(records, path)))
    ]


def _elements_at(records: Sequence[Record], path: Path) -> Iterator[tuple[int, Record]]:
    """Yield the objects in a list, each with the place of its parent."""
    count = 0
    for place, record in enumerate(records):
        found: object = record
        for name in path:
            found = found.get(name) if isinstance(found, dict) else None
        for element in found if isinstance(found, list) else ():
            if isinstance(element, dict) and element and count < MOST_ELEMENTS:
                count += 1
                yield place, element


def _child_form(
    path: Path,
    elements: Sequence[tuple[int, Record]],
    word: str,
    parents: Sequence[str],
) -> ChildForm:
    """Return the form of one list."""
    usable = fields_of([element for _, element in elements]).usable()
    # A key need not be unique but in the list of one parent.
    within_parent = {
        field: [
            None if value is None else f"{place} {value}"
            for (place, _), value in zip(elements, values, strict=True)
        ]
        for field, values in usable.items()
    }
    key_paths, _why = guess_keys(within_parent, path[-1])
    guesses = {
        field: guess_transform(field[-1], values) for field, values in usable.items()
    }
    taken = {*parents} | ({POSITION} if not key_paths else set())
    columns = onto_columns(guesses, taken)
    mappings = [
        replace(column.mapping, required=field in key_paths)
        for field, column in columns.items()
    ]
    own_keys = [columns[field].mapping.host for field in key_paths]
    if not own_keys:
        own_keys = [POSITION]
        position = FieldMapping(INDEX, POSITION, Transform.NUMBER, required=True)
        mappings.insert(0, position)
    return ChildForm(
        list=expression_of(path),
        target=default_target(f"{word} {path[-1]}"),
        parent=", ".join(parents),
        keys=", ".join((*parents, *own_keys)),
        rows=tuple(map(row_of_mapping, mappings)),
    )


def _parent_field(word: str, key: str) -> str:
    """Return the field of a child for a key of its parent: order_id for id."""
    return key if not word or key.startswith(word) else f"{word}_{snake_case(key)}"


def singular(name: str) -> str:
    """Return the singular of a table's name, by the usual English plurals."""
    word = snake_case(name)
    if word.endswith("ies"):
        return f"{word[:-3]}y"
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word
