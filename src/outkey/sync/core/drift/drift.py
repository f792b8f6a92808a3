"""How records and pages differ from what a complete pull has recorded of them."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from shlex import quote
from typing import Any, NamedTuple, Self

from outkey.foundation.core.findings.checks import Check, Finding, Level
from outkey.foundation.core.text import Text
from outkey.sync.core.drift.shape import (
    MAX_FIELDS,
    OBJECT,
    Fields,
    FieldShape,
    Names,
    fields_data,
    fields_from_data,
    path_names,
    path_text,
)
from outkey.sync.core.line.line import INDEX, Sync, Transform
from outkey.sync.core.line.templates import placeholders
from outkey.sync.core.paging.response import Record

MAX_DRIFT = 100  # differences of one line that are stored
# An optional field may be missing in so few records of an incremental run.
ENOUGH_RECORDS = 100
MISSING_SHARE = 0.9  # of the total that an API states: it may grow during a run
LIST = "list"
RECORDS = "records"
PAGINATION = "pagination"
NEXT_PAGE = "next page"
ALL = "all"

FIELD_MISSING = Check(
    "L050",
    Level.WARNING,
    "the API no longer sends {name}, which every record had",
    "Look at the documentation of the API, and correct the fields of the line. Then"
    " accept the new shape: outkey line shape {line} --accept.",
)
OTHER_KIND = Check(
    "L051",
    Level.WARNING,
    "the API sends {name} as {now}, and not as {was} any more",
    "Check the transform of the field, and the records of the last run. Then accept the"
    " new shape: outkey line shape {line} --accept.",
)
NEW_FIELD = Check(
    "L052",
    Level.NOTICE,
    "the API sends a new field: {name} ({now})",
    "Map it if you need it, and accept the new shape: outkey line shape {line}"
    " --accept.",
)
OTHER_PAGES = Check(
    "L053",
    Level.WARNING,
    "the API divides its records into pages in another way, so that some may be"
    " missing: {name}",
    "Compare a response with Records and the settings of pages: outkey line suggest"
    " {line}. Then accept the new shape: outkey line shape {line} --accept.",
)
CHECKS = {
    check.id: check for check in (FIELD_MISSING, OTHER_KIND, NEW_FIELD, OTHER_PAGES)
}
KIND_TEXTS = {
    "text": Text("text"),
    "number": Text("number"),
    "true/false": Text("true or false"),
    LIST: Text("list"),
    OBJECT: Text("object"),
}
_LITERAL = re.compile(r"'(?:[^'\\]|\\.)*'|`(?:[^`\\]|\\.)*`")
_NAME = r'(?:[A-Za-z_]\w*|"(?:[^"\\]|\\.)*")'
# Names that a value is looked up by: not those of functions, and not new ones.
_NAMES_IN_EXPRESSION = re.compile(
    rf'(?<![\w."\]])({_NAME}(?:\.{_NAME})*)(?!["\w]|\s*[:(])', re.ASCII
)


class Drift(NamedTuple):
    """One difference; without `now` it is missing, without `was` it is new."""

    id: str
    field: str
    was: str | None
    now: str | None

    @property
    def check(self) -> Check:
        """The check that reports differences of this kind."""
        return CHECKS[self.id]

    @property
    def is_harmless(self) -> bool:
        """Whether no record is mapped otherwise because of it."""
        return self.check.level is Level.NOTICE

    @property
    def message(self) -> Text:
        """The difference as a user reads it."""
        return self.finding("").message

    def finding(self, line: str) -> Finding:
        """Return the difference as a finding about a line."""
        return self.check.finding(
            None,
            name=self._subject,
            was=kind_words(self.was),
            now=kind_words(self.now),
            line=quote(line),
        )

    @property
    def _subject(self) -> Text | str:
        """The field or the part of the pages that has changed, for a user."""
        if self.id != OTHER_PAGES.id:
            return self.field
        if self.field == RECORDS:
            return Text("there is no list of records where it was")
        if self.now is None:
            return Text("a full first page names no next one")
        return Text("{part} records were read", part=self.now)

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Self:
        """Return the difference that was stored."""
        return cls(*(data[name] for name in cls._fields))


def kind_words(kinds: str | None) -> Text | str:
    """Return kinds as a user reads them."""
    if kinds in KIND_TEXTS:
        return KIND_TEXTS[kinds]
    return kinds or ""


@dataclass(frozen=True, slots=True)
class PageStyle:
    """How a complete pull was divided into pages."""

    size: int = 0  # of the first page
    continues: bool = False  # the first page named a next one
    has_total: bool = False  # the API stated the number of records, and it was right


@dataclass(frozen=True, slots=True)
class LineShape:
    """The known shape of the records of a line, and how the last runs differed."""

    source: str = ""  # a digest of the request that the shape belongs to
    fields: Fields = field(default_factory=dict)
    records: int = 0  # that it was learnt from
    is_full: bool = False  # from a run that read everything
    pages: PageStyle = PageStyle()
    recorded_at: float = 0.0
    drift: tuple[Drift, ...] = ()  # that was not accepted yet
    # What accepting would record.
    next_fields: Fields = field(default_factory=dict)
    next_pages: PageStyle = PageStyle()

    @property
    def is_settled(self) -> bool:
        """Whether it is known well enough to compare with."""
        return bool(self.fields) and (self.is_full or self.records >= ENOUGH_RECORDS)

    def accepted(self, now: float) -> Self:
        """Return the shape with its differences accepted."""
        if not self.drift:
            return self
        return replace(
            self,
            fields=self.next_fields,
            pages=self.next_pages,
            recorded_at=now,
            drift=(),
            next_fields={},
            next_pages=PageStyle(),
        )

    def facts(self) -> dict[str, object]:
        """Return the shape as JSON can hold it."""
        return {
            "source": self.source,
            "fields": fields_data(self.fields),
            "records": self.records,
            "is_full": self.is_full,
            "pages": asdict(self.pages),
            "recorded_at": self.recorded_at,
            "drift": [each._asdict() for each in self.drift],
            "next_fields": fields_data(self.next_fields),
            "next_pages": asdict(self.next_pages),
        }

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any]) -> Self:
        """Return the shape that was stored; an empty one if that cannot be read."""
        try:
            return cls(
                source=facts["source"],
                fields=fields_from_data(facts["fields"]),
                records=facts["records"],
                is_full=facts["is_full"],
                pages=PageStyle(**facts["pages"]),
                recorded_at=facts["recorded_at"],
                drift=tuple(Drift.from_data(each) for each in facts["drift"]),
                next_fields=fields_from_data(facts["next_fields"]),
                next_pages=PageStyle(**facts["next_pages"]),
            )
        except (KeyError, TypeError, ValueError):
            return cls()


class NeededFields:
    """The fields of records that a line needs."""

    def __init__(self, sync: Sync) -> None:
        self._needs_all = bool(sync.script)  # what it reads is not known
        expressions = [
            *(mapping.api for mapping in sync.mappings),
            *(children.list for children in sync.children),
            sync.incremental.field,
        ]
        self._paths = {
            names
            for expression in expressions
            if expression != INDEX
            for names in names_in(expression)
        }
        self._paths |= {
            tuple(name.split("."))
            for mapping in sync.mappings
            if mapping.transform is Transform.TEMPLATE
            for name in placeholders(mapping.options.get("template", ""))
        }

    def __contains__(self, names: Names) -> bool:
        return self._needs_all or names in self._paths

    def touches(self, names: Names) -> bool:
        """Whether a field is needed, is a part of one that is, or has such a part."""
        return self._needs_all or any(
            names[: len(path)] == path or path[: len(names)] == names
            for path in self._paths
        )


def names_in(expression: str) -> Iterator[Names]:
    """Yield the paths of names that a JMESPath expression begins with or looks up."""
    for path in _NAMES_IN_EXPRESSION.findall(_LITERAL.sub(" ", expression)):
        yield path_names(path)


class ExpectedField(NamedTuple):
    """A field that every known record had, and that the line needs."""

    path: str
    names: Names
    kinds: str | None


def expected_fields(known: Fields, needed: NeededFields) -> list[ExpectedField]:
    """Return the needed fields that every known record had."""
    named = ((path, path_names(path), shape) for path, shape in known.items())
    return [
        ExpectedField(path, names, shape.words)
        for path, names, shape in named
        if shape.always and names in needed
    ]


def missing_fields(
    expected: Sequence[ExpectedField], records: Sequence[Record]
) -> Iterator[Drift]:
    """Yield the expected fields that none of some records has."""
    for path, names, kinds in expected:
        if is_missing(names, records):
            yield Drift(FIELD_MISSING.id, path, kinds, None)


def is_missing(names: Names, records: Sequence[Record]) -> bool:
    """Whether no record has a field, and not only since an object around it is null."""
    is_visible = False
    for record in records:
        is_present = has_field(names, record)
        if is_present:
            return False
        is_visible |= is_present is False
    return is_visible


def has_field(names: Names, record: Record) -> bool | None:
    """Whether a record has a field; None where an object around it is null."""
    value: object = record
    for name in names:
        if value is None:
            return None
        if not isinstance(value, dict) or name not in value:
            return False
        value = value[name]
    return True


def changed_fields(
    known: Fields, seen: Fields, needed: NeededFields, *, has_kinds: bool = True
) -> Iterator[Drift]:
    """Yield the fields that have another kind than before, and those that are new.

    Without kinds only the new ones.
    """
    is_whole = len(known) < MAX_FIELDS  # else a field may be older than it seems
    for path, shape in seen.items():
        names = path_names(path)
        before = known.get(path)
        if before is None:
            around = known.get(path_text(names[:-1]))
            is_visible = len(names) == 1 or (around and OBJECT in around.kinds)
            if is_whole and is_visible:
                yield Drift(NEW_FIELD.id, path, None, shape.words)
            continue
        others = tuple(kind for kind in shape.kinds if kind not in before.kinds)
        if has_kinds and before.kinds and others and needed.touches(names):
            now = FieldShape(others).words
            yield Drift(OTHER_KIND.id, path, before.words, now)


def merged_fields(
    known: Fields, seen: Fields, drift: Sequence[Drift] = (), *, is_whole: bool = False
) -> dict[str, FieldShape]:
    """Return the fields after a run, which may not have read everything.

    What a drift says has changed is as that run has seen it.
    """
    changed = {each.field for each in drift if each.id == OTHER_KIND.id}
    gone = [path_names(each.field) for each in drift if each.id == FIELD_MISSING.id]
    merged: dict[str, FieldShape] = {}
    for path, before in known.items():
        names = path_names(path)
        if any(names[: len(missing)] == missing for missing in gone):
            continue
        now = seen.get(path)
        if now is None:
            merged[path] = before._replace(always=False)
        elif path in changed:
            merged[path] = now
        else:
            kinds = tuple(sorted({*before.kinds, *now.kinds}))
            always = now.always and (is_whole or before.always)
            merged[path] = FieldShape(kinds, always)
    merged |= {path: shape for path, shape in seen.items() if path not in merged}
    return dict(list(merged.items())[:MAX_FIELDS])


def merged_drift(known: Sequence[Drift], new: Sequence[Drift]) -> tuple[Drift, ...]:
    """Return differences, each once."""
    by_field = {(each.id, each.field): each for each in (*known, *new)}
    return tuple(by_field.values())[:MAX_DRIFT]
