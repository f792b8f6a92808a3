"""Checks of a line that requests records for each parent: the line of the parents."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.findings.checks import Check, Finding, Level
from outkey.foundation.core.text import Text
from outkey.sync.core.line.checks import (
    MAX_FINDINGS,
    UNKNOWN_PLACEHOLDER,
    UNKNOWN_TARGET,
)
from outkey.sync.core.line.line import (
    PARENT,
    PARENT_VALUE,
    Direction,
    Sync,
    SyncLine,
)
from outkey.sync.core.line.templates import placeholders
from outkey.sync.core.mapping.records import HostField
from outkey.sync.core.mapping.targets import FILE_PREFIX

UNKNOWN_PARENT_LINE = Check(
    "L060",
    Level.ERROR,
    "there is no line {line}",
    "Name the pull whose records are the parents.",
)
UNFIT_PARENT_LINE = Check(
    "L061",
    Level.ERROR,
    "the line {line} is not a pull into a table or a model",
    "Name the pull whose records are the parents.",
)
PARENT_CYCLE = Check(
    "L062",
    Level.ERROR,
    "the lines are the parents of each other: {lines}",
    "Name another line.",
)
UNKNOWN_PARENT_FIELD = Check(
    "L063",
    Level.ERROR,
    "the parent has no field {name}",
    "Known here: {names}.",
)
UNNAMED_PARENT = Check(
    "L064",
    Level.ERROR,
    "no request names its parent, so all of them are the same",
    "Add a field of the parent to the path, such as /orders/{{parent.id}}/items.",
)
NO_PARENTS = Check(
    "L065",
    Level.ERROR,
    "the line has no parents",
    "Name the line whose records are the parents (for_each.line).",
)
PREFIX = "parent."  # of a placeholder
FindLine = Callable[[str], SyncLine | None]  # None: there is no such line


def parent_findings(
    line: SyncLine,
    sync: Sync,
    find_line: FindLine,
    fields_of: Callable[[Sync], Sequence[HostField]],
) -> Iterator[Finding]:
    """Yield the findings about the parents of a line, and where it names them.

    `fields_of` are the fields of another line's target, or ConfigError.
    """
    if not sync.for_each:
        yield from (NO_PARENTS.finding(place) for place in _mapped_fields(sync))
        return
    names: tuple[str, ...] = (PARENT_VALUE,)
    if sync.for_each.line:
        finding = _line_finding(line.name, sync, find_line)
        if finding is not None:
            yield finding
            return
        parent = parent_sync(sync, find_line)
        try:
            fields = fields_of(parent) if parent else ()
        except ConfigError as error:
            yield UNKNOWN_TARGET.finding_from(error, "for_each.line")
            return
        names = tuple(field.name for field in fields)
    yield from _field_findings(line, sync, names)


def brings_parents(sync: Sync) -> bool:
    """Whether the records of a line can be parents: of a pull, and not in a file."""
    is_file = sync.target.startswith(FILE_PREFIX)
    return sync.direction is Direction.PULL and not is_file


def parent_sync(sync: Sync, find_line: FindLine) -> Sync | None:
    """Return the settings of the line whose records are the parents; None if none."""
    line = find_line(sync.for_each.line) if sync.for_each.line else None
    return None if line is None else line.sync


def _line_finding(name: str, sync: Sync, find_line: FindLine) -> Finding | None:
    """Return what is wrong with the line of the parents."""
    place = "for_each.line"
    parent = sync.for_each.line
    line = find_line(parent)
    if line is None:
        return UNKNOWN_PARENT_LINE.finding(place, line=parent)
    ancestor = line.sync
    if ancestor is None or not brings_parents(ancestor):
        return UNFIT_PARENT_LINE.finding(place, line=parent)
    names = [name, parent]
    while ancestor is not None and names[-1] not in names[:-1]:
        names.append(ancestor.for_each.line)
        ancestor = parent_sync(ancestor, find_line)
    if names[-1] in names[:-1]:
        return PARENT_CYCLE.finding(place, lines=" → ".join(names))
    return None


def _field_findings(
    line: SyncLine, sync: Sync, names: tuple[str, ...]
) -> Iterator[Finding]:
    """Yield the findings about the fields of the parent that a line names."""
    templates = request_templates(line, sync)
    for place, template in templates.items():
        for name in list(dict.fromkeys(placeholders(template)))[:MAX_FINDINGS]:
            field = name.removeprefix(PREFIX)
            if name.startswith(PREFIX) and field not in names:
                yield _unknown_field(place, field, names)
            elif not name.startswith(PREFIX) and place != "body":
                yield UNKNOWN_PLACEHOLDER.finding(
                    place,
                    name=name,
                    names=", ".join(f"{PREFIX}{field}" for field in names),
                )
    for place, field in _mapped_fields(sync).items():
        if field not in names:
            yield _unknown_field(place, field, names)
    named = "".join(templates.values())
    if not any(name.startswith(PREFIX) for name in placeholders(named)):
        yield UNNAMED_PARENT.finding("path")


def _mapped_fields(sync: Sync) -> dict[str, str]:
    """Return the fields of the parent that are mapped, by the field of the line."""
    return {
        f"fields[{number}].api": mapping.api.removeprefix(PARENT)
        for number, mapping in enumerate(sync.mappings)
        if mapping.api.startswith(PARENT)
    }


def _unknown_field(place: str, field: str, names: Sequence[str]) -> Finding:
    return UNKNOWN_PARENT_FIELD.finding(place, name=field, names=", ".join(names))


def request_templates(line: SyncLine, sync: Sync) -> dict[str, str]:
    """Return the templates of a pull's requests, by the field of the line."""
    query = {f"query.{name}": value for name, value in sync.query}
    return {"path": line.path, "body": sync.body, **query}


def refuse_use_as_parent(names: Collection[str], lines: Iterable[SyncLine]) -> None:
    """Raise ConfigError if records of the lines with these names are parents of others.

    `lines` are all that are there.
    """
    for line in lines:
        parent = line.sync.for_each.line if line.sync is not None else ""
        if parent in names and line.name not in names:
            raise ConfigError(
                Text(
                    "the records of {parent} are the parents of the line {line}",
                    line=line.name,
                    parent=parent,
                ),
                hint=Text(
                    "Delete {line}, or let it name another line (for_each.line).",
                    line=line.name,
                ),
                field="name",
            )
