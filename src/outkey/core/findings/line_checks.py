"""What is wrong with a synchronization before it runs: its fields against the host's own."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial

from outkey.core.config.configuration import SyncLine
from outkey.core.errors import SyncFailed
from outkey.core.findings.checks import Finding, Level
from outkey.core.sync.line import Direction, FieldMapping, Gone, Paging, Sync, Transform
from outkey.core.sync.mapping import (
    BY_KIND,
    MappingContext,
    Zones,
    placeholders,
    refusal_reason,
    resolve_transform,
)
from outkey.core.sync.records import FieldKind, HostField
from outkey.core.sync.response import read_json

_DOTTED = re.compile(r"[\w-]+(\.[\w-]+)*", re.ASCII)
_ANY = frozenset({Transform.AS_IS, Transform.CONSTANT})
_FITTING = {
    FieldKind.TEXT: {Transform.CHOICE, Transform.TEMPLATE},
    FieldKind.DECIMAL: {Transform.NUMBER},
    FieldKind.CHOICE: {Transform.CHOICE, Transform.TEMPLATE},
    FieldKind.LINK: {Transform.LOOKUP},
    FieldKind.JSON: set(Transform) - {Transform.LOOKUP},
}
_NEEDED = {  # the options without which a transform can do nothing
    Transform.LOOKUP: ("target", "field"),
    Transform.CONSTANT: ("value",),
    Transform.TEMPLATE: ("template",),
}
_POSITIONS = ("position", "size", "since")
_METHODS = {  # the finding, what may be chosen, and why
    Direction.PULL: (
        "L016",
        ("GET", "POST"),
        "a pull reads, and other methods may change records",
    ),
    Direction.PUSH: (
        "L006",
        ("POST", "PUT", "PATCH"),
        "a push needs a method that carries records",
    ),
}

_MOST_FINDINGS = 20  # about one text
_MOST_PARTS = 16  # of a name that is sent
Fields = Mapping[str, HostField]
_error = partial(Finding, level=Level.ERROR)


def check(
    line: SyncLine, sync: Sync, fields: Sequence[HostField], zones: Zones
) -> list[Finding]:
    """Return what would fail in every run, and what is risky."""
    known = {one.name: one for one in fields}
    pull = sync.direction is Direction.PULL
    found = list(_in_method(line, sync.direction))
    found += _in_pages(sync) if pull else _in_push(line, sync, known)
    found += _in_body(
        sync, _POSITIONS if pull else tuple(m.host for m in sync.mappings)
    )
    for number, mapping in enumerate(sync.mappings):
        rule = _in_mapping(mapping, known.get(mapping.host), zones, pull=pull)
        found += [
            _error("L001", message=message, hint=hint, field=f"fields[{number}].{part}")
            for part, message, hint in rule
        ]
    return [*found, *_unmapped(sync, fields), *_in_keys(sync, known)] if pull else found


def _in_method(line: SyncLine, direction: Direction) -> Iterator[Finding]:
    number, methods, message = _METHODS[direction]
    if line.method not in methods:
        yield _error(
            number,
            message=message,
            hint=f"Choose {' or '.join(methods)}.",
            field="method",
        )


def _in_pages(sync: Sync) -> Iterator[Finding]:
    paging, incremental = sync.pagination, sync.incremental
    if paging.kind in {Paging.PAGE, Paging.OFFSET} and not (
        paging.position_parameter or sync.body
    ):
        yield _error(
            "L002",
            message="pages without a parameter for their number are all the same page",
            hint="Name the parameter, such as page or offset.",
            field="pagination.position_parameter",
        )
    if paging.kind is Paging.CURSOR and not paging.cursor:
        yield _error(
            "L003",
            message="it is not said where the next cursor is",
            hint="Write where it stands in the answer, such as meta.next.",
            field="pagination.cursor",
        )
    if bool(incremental.parameter) != bool(incremental.field):
        yield _error(
            "L004",
            message="an incremental run needs both a parameter and a field",
            hint=(
                "Name the field whose greatest value the parameter of the next run is."
            ),
            field=(
                "incremental.field"
                if incremental.parameter
                else "incremental.parameter"
            ),
        )
    if sync.parallel > 1 and paging.kind not in {Paging.PAGE, Paging.OFFSET}:
        yield Finding(
            "L013",
            Level.WARNING,
            "several pages at a time need numbers or offsets, so parallel has no"
            " effect",
            "Leave it out, or page by number or offset if the API can.",
            "parallel",
        )
    if incremental.parameter and sync.gone is Gone.ARCHIVE:
        yield Finding(
            "L005",
            Level.WARNING,
            "only the first run is complete, so later ones archive nothing",
            "Leave out incremental, or keep what is gone.",
            "gone",
        )


def _in_push(line: SyncLine, sync: Sync, known: Fields) -> Iterator[Finding]:
    yield from _unknown_names(placeholders(line.path), tuple(known), "path")
    names = [mapping.api for mapping in sync.mappings]
    taken = Counter(place for name in names for place in _places(name))
    for number, name in enumerate(names):
        if taken[name] > 1:
            yield _error(
                "L010",
                message="two fields would be sent in one place",
                hint="Give each a name of its own.",
                field=f"fields[{number}].api",
            )


def _places(name: str) -> Iterator[str]:
    """Yield the objects that a dotted name is in, and the name itself."""
    parts = name.split(".", _MOST_PARTS)
    for count in range(1, len(parts) + 1):
        yield ".".join(parts[:count])


def _in_body(sync: Sync, names: tuple[str, ...]) -> Iterator[Finding]:
    if not sync.body:
        return
    try:
        read_json(sync.body)
    except SyncFailed:
        hint = 'Write a document, with names as texts: {"id": "{external_id}"}.'
        yield _error("L007", message="the body is not JSON", hint=hint, field="body")
    yield from _unknown_names(placeholders(sync.body), names, "body")


def _unknown_names(
    asked: list[str], known: tuple[str, ...], field: str
) -> Iterator[Finding]:
    hint = f"Known here: {', '.join(known)}."
    known_names = frozenset(known)
    unknown = [
        name
        for name in dict.fromkeys(asked)
        if name.partition(".")[0] not in known_names
    ]
    for name in unknown[:_MOST_FINDINGS]:
        message = f"there is no {{{name}}} to fill in"
        yield _error("L008", message=message, hint=hint, field=field)


def _unmapped(sync: Sync, fields: Sequence[HostField]) -> Iterator[Finding]:
    mapped = {mapping.host for mapping in sync.mappings}
    for one in fields:
        if one.required and one.name not in mapped:
            yield _error(
                "L009",
                message=f"the host's field {one.name} must have a value",
                hint="Map it, if need be to a constant.",
                field="fields",
            )


def _in_keys(sync: Sync, known: Fields) -> Iterator[Finding]:
    """Look at a key that stands alone; whether several are unique together is not known here."""
    for name in sync.keys if len(sync.keys) == 1 else ():
        if name in known and known[name].unique is False:
            yield Finding(
                "L017",
                Level.WARNING,
                f"two records of the host may have the same {name}, and then none is"
                " updated",
                "Make the field unique in the host's model, or choose one that is.",
                "keys",
            )


Wrong = Iterator[tuple[str, str, str]]  # part of the mapping, message, hint


def _in_mapping(
    mapping: FieldMapping, host: HostField | None, zones: Zones, *, pull: bool
) -> Wrong:
    constant = mapping.transform is Transform.CONSTANT
    if host is None and (pull or not constant):
        yield "host", "the host has no such field", "Choose one of the target's fields."
        return
    for option in _NEEDED.get(mapping.transform, ()):
        if not mapping.options.get(option):
            yield (
                f"options.{option}",
                f"{mapping.transform} needs this option",
                "Fill it in.",
            )
    if mapping.transform is Transform.CHOICE and not mapping.options:
        yield (
            "options",
            "a choice needs a table",
            "Write the API's value and the host's for each.",
        )
    if (problem := _in_moments(mapping, zones)) is not None:
        yield problem
    elif pull and host is not None:
        yield from _in_pull(mapping, host, zones)
    else:
        yield from _in_pushed(mapping)


def _in_pull(mapping: FieldMapping, host: HostField, zones: Zones) -> Wrong:
    own = BY_KIND.get(host.kind)
    if mapping.transform not in _ANY | _FITTING.get(host.kind, set()) | {own}:
        yield (
            "transform",
            (
                f"{mapping.transform} does not make what the host's field takes:"
                f" {host.kind}"
            ),
            f"Choose {own or ' or '.join(_FITTING[host.kind])}.",
        )
        return
    if not mapping.api and mapping.transform not in {
        Transform.CONSTANT,
        Transform.TEMPLATE,
    }:
        yield (
            "api",
            "it is not said which field of the API this is",
            "Name it, such as id.",
        )
    ready = resolve_transform(mapping, host)
    looked_up = mapping.transform is Transform.LOOKUP
    if (
        ready.default is not None
        and not looked_up
        and refusal_reason(ready, None, MappingContext(zones))
    ):
        part = "options.value" if mapping.transform is Transform.CONSTANT else "default"
        yield part, f"it is none that {ready.transform} takes", "Correct it."
    if mapping.transform is Transform.CHOICE and host.choices:
        for theirs, ours in mapping.options.items():
            if ours not in host.choices:
                yield (
                    f"options.{theirs}",
                    "the host's field has no such choice",
                    "Correct it.",
                )


def _in_pushed(mapping: FieldMapping) -> Wrong:
    if not _DOTTED.fullmatch(mapping.api) or mapping.api.count(".") >= _MOST_PARTS:
        yield (
            "api",
            "a field that is sent has a plain name, if need be with dots",
            "Correct it.",
        )
    if mapping.transform is Transform.LOOKUP:
        yield (
            "transform",
            "a lookup is for records that come in",
            "Choose text or number.",
        )


def _in_moments(mapping: FieldMapping, zones: Zones) -> tuple[str, str, str] | None:
    """Look whether there is such a zone, and whether the format writes what it reads."""
    zone, pattern = mapping.options.get("zone", ""), mapping.options.get("format", "")
    if mapping.transform not in {Transform.DATE, Transform.DATETIME, Transform.AS_IS}:
        return None
    try:
        zones(zone or "UTC")
    except (LookupError, ValueError, OSError):
        return (
            "options.zone",
            "there is no such time zone",
            "Write it as in Europe/Berlin.",
        )
    try:
        sample = datetime(2000, 12, 31, 23, 59, 58)  # noqa: DTZ001 - the format alone is tried
        datetime.strptime(sample.strftime(pattern), pattern)  # noqa: DTZ007 - the same
    except (ValueError, re.error):  # the latter where one part stands twice
        return (
            "options.format",
            "it cannot be read",
            "Write it like %d.%m.%Y, or unix or unix_ms.",
        )
    return None
