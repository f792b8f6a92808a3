"""Records of an OpenAPI operation: pages, changes, fields and key.

The schema of the response becomes an example, which is read as `line suggest` reads a
sample. Whatever has several readings is reported and not taken.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import islice
from urllib.parse import urlencode

from outkey.foundation.core.findings.checks import Level
from outkey.foundation.core.origin import parse_base_url
from outkey.foundation.core.paging_words import (
    CURSORS,
    OFFSETS,
    PAGE_NUMBERS,
    SIZES,
    pagination_of,
    words,
)
from outkey.foundation.core.text import NO_TEXT, Text
from outkey.importing.core.readers.tree import EMPTY, Table, rows, table, text_of
from outkey.importing.core.report import ImportReport, shown_name
from outkey.sending.core.request.message import ResponseHeaders
from outkey.sync.core.line.fields import PAGINATION_FIELDS
from outkey.sync.core.line.line import Incremental, Pagination, Paging, Sync, Transform
from outkey.sync.core.line.table import written_table
from outkey.sync.core.suggest.fields import fields_of
from outkey.sync.core.suggest.keys import identifying_paths
from outkey.sync.core.suggest.names import (
    Path,
    comparable_name,
    expression_of,
    inner_path,
    snake_case,
)
from outkey.sync.core.suggest.paging import PagedSample, guess_paging, members_beside
from outkey.sync.core.suggest.records import (
    SIDE_LISTS,
    USUAL_LISTS,
    FoundRecords,
    find_records,
    lists_in,
)
from outkey.sync.core.suggest.suggest import CHANGE_TIMES, onto_columns
from outkey.sync.core.suggest.values import Guess

MAX_SCHEMAS = 2000  # of one response that are looked at
MAX_PROPERTIES = 1000  # of one schema
MAX_LEVELS = 20
MAX_PARTS = 20  # of a schema that is composed of others
USUAL_SIZE = 100
_SINCE = words("since after from min gte gt ge start")
_CHANGES = ("updat", "modif", "chang", "edit")
_MOMENTS = frozenset({"date", "date-time"})
_URL_FORMATS = words("uri url uri-reference iri iri-reference")
_NUMBERS = frozenset({"", "integer", "number"})
# Of a kind each; `line suggest` reads them like those of a response.
_DATE = "2000-01-01"
_MOMENT = "2000-01-01T00:00:00Z"
_TEXTS = {"date": _DATE, "date-time": _MOMENT, "binary": None}
_VALUES = {"integer": 1, "number": Decimal("0.5"), "boolean": True}
_TRANSFORMS = {
    _DATE: Transform.DATE,
    _MOMENT: Transform.DATETIME,
    1: Transform.NUMBER,
    Decimal("0.5"): Transform.DECIMAL,
}
_KEY_KINDS = frozenset({Transform.TEXT, Transform.NUMBER})
_LOCATION = parse_base_url("https://host.invalid")
Resolve = Callable[[object], Table]


@dataclass(frozen=True, slots=True)
class QueryParameter:
    """A parameter of the query, with its schema."""

    name: str
    schema: Table

    @property
    def lower(self) -> str:
        """The name as lists of usual names have it."""
        return self.name.lower()

    @property
    def format(self) -> str:
        """The format of its text, "" if none is stated."""
        return text_of(self.schema.get("format"))

    @property
    def is_number(self) -> bool:
        """Whether its value can be the number of a page."""
        return type_of(self.schema) in _NUMBERS

    def first_number(self, *keys: str) -> int | None:
        """Return the first of these keywords of its schema that has a whole number."""
        numbers = (text_of(self.schema.get(key)) for key in keys)
        return next((int(n) for n in numbers if n.isdecimal() and len(n) < 7), None)


@dataclass(frozen=True, slots=True)
class LineFacts:
    """How an operation brings records; without `sync` it is for single requests."""

    sync: Sync | None
    pagination: Mapping[str, object]  # as the table of a line, empty without pages


class LineReader:
    """Reads one operation; `place` is its name in the report."""

    def __init__(self, resolve: Resolve, report: ImportReport, place: str) -> None:
        self._resolve = resolve
        self._report = report
        self._place = place

    def read(
        self, parameters: Sequence[Table], operation: Table, word: str
    ) -> LineFacts:
        """Return the synchronization for a line; `word` is the last one of the path."""
        query = self._query(parameters)
        example = Example(self._resolve)
        document = example.build(self._response_schema(operation))
        found = self._records(document, word)
        pagination = self._pagination(query, document, found)
        if found is None:
            return LineFacts(None, written(pagination))
        fields = fields_of(found.records)
        guesses = {
            path: Guess(transform_of(values[0]), NO_TEXT)
            for path, values in fields.usable().items()
        }
        for note in fields.notes():
            self._drop("fields", note)
        if example.is_cut:
            self._drop(
                "fields",
                Text("the schema is too large: only a part of it was read"),
                Level.WARNING,
            )
        required = {
            path for path in guesses if (*(found.path or ()), *path) in example.required
        }
        named = [p for p, guess in guesses.items() if guess.transform in _KEY_KINDS]
        key = self._key(named, required, word)
        incremental = self._incremental(query, guesses)
        if key is None:
            return LineFacts(None, written(pagination))
        columns = onto_columns(guesses)
        sync = Sync(
            keys=(columns[key].mapping.host,),
            mappings=tuple(
                replace(column.mapping, required=path == key)
                for path, column in columns.items()
            ),
            records=found.expression,
            pagination=pagination,
            incremental=incremental,
        )
        return LineFacts(sync, written(pagination))

    def _drop(self, part: str, why: Text, level: Level = Level.NOTICE) -> None:
        self._report.note_dropped(f"{self._place}: {part}", why, level)

    def _drop_ambiguous(self, part: str, names: Iterable[str]) -> None:
        why = Text(
            "several readings are possible ({names}): none was taken",
            names=_names_text(names),
        )
        self._drop(part, why, Level.WARNING)

    # ── the document ────────────────────────────────────────────────────────────────

    def _query(self, parameters: Sequence[Table]) -> list[QueryParameter]:
        """Return the parameters of the query; the last of a name counts."""
        by_name = {}
        for value in parameters:
            parameter = self._resolve(value)
            name = text_of(parameter.get("name"))
            if parameter.get("in") == "query" and 0 < len(name) <= 80:
                schema = parameter  # as Swagger 2 has it
                if "schema" in parameter:
                    schema = self._resolve(parameter["schema"])
                by_name[name] = QueryParameter(name, schema)
        return list(by_name.values())

    def _response_schema(self, operation: Table) -> object:
        """Return the schema of a successful JSON response."""
        responses = table(operation.get("responses"))
        statuses = [status for status in responses if status.startswith("2")]
        if not statuses:
            return EMPTY
        response = self._resolve(responses[min(statuses)])
        if "schema" in response:
            return response["schema"]
        for kind, content in table(response.get("content")).items():
            if "json" in kind.lower():
                return self._resolve(content).get("schema")
        return EMPTY

    # ── records ─────────────────────────────────────────────────────────────────────

    def _records(self, document: object, word: str) -> FoundRecords | None:
        """Return where the list of records is, None without one."""
        if not document or not isinstance(document, dict | list):
            return None
        found = find_records(document, word)
        if found.is_single:
            return None
        lists: list[Path] = [()]
        if isinstance(document, dict):
            lists = [
                path
                for path, members in lists_in(document)
                if members and isinstance(members[0], dict)
            ]
        if found.path not in lists:
            self._drop("records", Text("the response is not a list of objects"))
            return None
        others = [path for path in lists if path != found.path]
        if found.path and not is_clear(found.path, others, word):
            self._drop_ambiguous("records", map(expression_of, lists))
            return None
        if others:
            why = Text(
                "the records are in {name}; the response has other lists too: {names}",
                name=_names_text([found.expression]),
                names=_names_text(map(expression_of, others)),
            )
            self._drop("records", why)
        return found

    def _key(
        self, paths: Iterable[Path], required: set[Path], word: str
    ) -> Path | None:
        """Return the field that is the key, None if the document does not state it."""
        candidates = identifying_paths(paths, word)
        ids = [path for path in candidates if comparable_name(path[-1]) == "id"]
        for choice in ([path for path in candidates if path in required], ids):
            if len(choice) == 1:
                return choice[0]
        if len(candidates) > 1:
            self._drop_ambiguous("keys", map(expression_of, candidates))
        else:
            why = Text("the document states no key: the line is for single requests")
            self._drop("keys", why, Level.WARNING)
        return None

    # ── pages ───────────────────────────────────────────────────────────────────────

    def _pagination(
        self,
        query: Sequence[QueryParameter],
        document: object,
        found: FoundRecords | None,
    ) -> Pagination:
        """Return how pages are requested, as the parameters and the response state."""
        numbered = [
            parameter
            for parameter in query
            if parameter.lower in PAGE_NUMBERS | OFFSETS and parameter.is_number
        ]
        cursors = [
            parameter
            for parameter in query
            if parameter.lower in CURSORS and parameter.format not in _MOMENTS
        ]
        pagination = self._cursor(cursors, document, found)
        positions = [parameter.name for parameter in (*numbered, *cursors)]
        if pagination.kind is not Paging.NONE:
            others = [n for n in positions if n != pagination.position_parameter]
            if others:
                why = Text(
                    "{names}: the response has the next page in {cursor}",
                    names=_names_text(others),
                    cursor=_names_text([pagination.cursor]),
                )
                self._drop("pages", why)
        elif len(numbered) == 1:
            first = numbered[0].first_number("default", "minimum")
            pairs = pagination_of(urlencode({numbered[0].name: text_of(first)}))
            pagination = Pagination(
                Paging(str(pairs["kind"])),
                position_parameter=numbered[0].name,
                first=0 if "first" in pairs else 1,
            )
        elif numbered:
            self._drop_ambiguous("pages", positions)
        elif cursors:
            why = Text(
                "{names}: the document does not state where the response"
                " has the next cursor",
                names=_names_text(positions),
            )
            self._drop("pages", why, Level.WARNING)
        if pagination.kind is Paging.NONE:
            return pagination
        return self._with_size(pagination, query)

    def _cursor(
        self,
        cursors: Sequence[QueryParameter],
        document: object,
        found: FoundRecords | None,
    ) -> Pagination:
        """Return pages by a cursor or a URL that the response is stated to have."""
        if found is None:
            return Pagination()
        target = "/?" + urlencode({parameter.name: "" for parameter in cursors})
        location = replace(_LOCATION, target=target)
        guess = guess_paging(PagedSample(document, ResponseHeaders(), location, found))
        pagination = guess.pagination
        stated = {
            expression_of(path) for path, _ in members_beside(document, found.path)
        }
        is_stated = pagination.cursor.rpartition(" && ")[2] in stated
        return Pagination() if guess.is_assumed or not is_stated else pagination

    def _with_size(
        self, pagination: Pagination, query: Sequence[QueryParameter]
    ) -> Pagination:
        """Return pages with the size that the document states."""
        sizes = [
            parameter
            for parameter in query
            if parameter.lower in SIZES and parameter.is_number
        ]
        if len(sizes) > 1:
            self._drop_ambiguous("pages", [parameter.name for parameter in sizes])
        if len(sizes) != 1:
            return pagination
        size = sizes[0].first_number("maximum", "default")
        if not size:
            why = Text(
                "{names}: the document states neither a default nor a maximum",
                names=_names_text([sizes[0].name]),
            )
            self._drop("pages", why)
            return pagination
        return replace(
            pagination, size_parameter=sizes[0].name, size=min(size, USUAL_SIZE)
        )

    # ── changes ─────────────────────────────────────────────────────────────────────

    def _incremental(
        self, query: Sequence[QueryParameter], guesses: Mapping[Path, Guess]
    ) -> Incremental:
        """Return how changes are requested, as parameter and field state it."""
        parameters = [
            parameter for parameter in query if _asks_for_changes(parameter.name)
        ]
        if not parameters:
            return Incremental()
        if len(parameters) > 1:
            self._drop_ambiguous("changes", [item.name for item in parameters])
            return Incremental()
        parameter = parameters[0]
        name = comparable_name(parameter.name)
        wanted = {"date": Transform.DATE, "date-time": Transform.DATETIME}
        fields = [
            path
            for path, guess in guesses.items()
            if len(inner_path(path)) == 1
            and comparable_name(path[-1]) in CHANGE_TIMES
            and guess.transform is wanted.get(parameter.format)
        ]
        stems = [stem for stem in _CHANGES if stem in name]
        alike = [p for p in fields if any(s in comparable_name(p[-1]) for s in stems)]
        if len(alike or fields) > 1:
            self._drop_ambiguous("changes", map(expression_of, alike or fields))
            return Incremental()
        if not fields or not stems:
            why = Text(
                "{names}: the document does not state which field of the"
                " records has the time of the last change in its format",
                names=_names_text([parameter.name]),
            )
            self._drop("changes", why, Level.WARNING)
            return Incremental()
        return Incremental(parameter.name, expression_of((alike or fields)[0]))


class Example:
    """Builds a response as a schema describes it, with a value of each kind.

    References that lead back to themselves end, and so does a schema that is too large.
    """

    def __init__(self, resolve: Resolve) -> None:
        self.required: set[Path] = set()
        self.is_cut = False
        self._resolve = resolve
        self._count = 0
        self._composed: dict[int, Table] = {}  # by the identity of a schema

    def build(
        self, value: object, path: Path = (), above: frozenset[int] = frozenset()
    ) -> object:
        """Return a value of this schema; None if its kind is not stated."""
        source = self._resolve(value)
        if id(source) in above:
            return {}  # it contains itself
        if len(above) == MAX_LEVELS:
            return None
        above |= {id(source)}
        schema = self._compose(source)
        kind = type_of(schema)
        if kind == "array":
            member = self.build(schema.get("items"), path, above)
            return [] if member is None else [member]
        if kind != "object":
            return scalar(kind, text_of(schema.get("format")))
        members = {}
        required = _first_texts(schema.get("required"))
        for name, part in table(schema.get("properties")).items():
            if self._is_full():
                break
            if not is_secret(self._resolve(part)):
                inner = (*path, name)
                members[name] = self.build(part, inner, above)
                if name in required:
                    self.required.add(inner)
        return members

    def _is_full(self) -> bool:
        self._count += 1
        self.is_cut |= self._count > MAX_SCHEMAS
        return self._count > MAX_SCHEMAS

    def _compose(self, schema: Table, level: int = 0) -> Table:
        """Return a schema with all its parts; an empty one for several readings."""
        if id(schema) not in self._composed:
            self._composed[id(schema)] = EMPTY  # as a part of itself
            self._composed[id(schema)] = self._with_parts(schema, level)
        return self._composed[id(schema)]

    def _with_parts(self, schema: Table, level: int) -> Table:
        parts = list(islice(rows(schema.get("allOf")), MAX_PARTS))
        alternatives = [
            part
            for key in ("oneOf", "anyOf")
            for part in islice(rows(schema.get(key)), MAX_PARTS)
            if self._resolve(part).get("type") != "null"
        ]
        if len(alternatives) > 1 or level == MAX_LEVELS:
            return EMPTY
        composed: dict[str, object] = {}
        properties: dict[str, object] = {}
        required: set[str] = set()
        inner = [
            self._compose(self._resolve(part), level + 1)
            for part in (*parts, *alternatives)
            if not self._is_full()
        ]
        for member in (*inner, schema):
            composed |= member
            properties |= _first_items(member.get("properties"))
            required |= _first_texts(member.get("required"))
        if properties:
            composed |= {"properties": properties, "required": [*required]}
        return composed


def is_clear(chosen: Path, others: Iterable[Path], word: str) -> bool:
    """Whether the names show which one of several lists has the records."""
    name = comparable_name(chosen[-1])
    rivals = {comparable_name(path[-1]) for path in others} - SIDE_LISTS
    is_usual = name in USUAL_LISTS and not rivals & USUAL_LISTS
    return not rivals or is_usual or name == comparable_name(word)


def _first_items(value: object) -> dict[str, object]:
    """Return the first entries of a table."""
    return dict(islice(table(value).items(), MAX_PROPERTIES))


def _first_texts(value: object) -> set[str]:
    """Return the first texts of a list."""
    return {*map(text_of, value[:MAX_PROPERTIES])} if isinstance(value, list) else set()


def is_secret(schema: Table) -> bool:
    """Whether a schema describes what is sent but not returned, or a password."""
    is_sent = text_of(schema.get("writeOnly")) == "true"
    return is_sent or schema.get("format") == "password"


def type_of(schema: Table) -> str:
    """Return the type of a schema besides null: "" without one, "several" for more."""
    stated = schema.get("type")
    types = stated if isinstance(stated, list) else [stated]
    names = [name for name in map(text_of, types) if name not in {"", "null"}]
    if names:
        return names[0] if len(names) == 1 else "several"
    if "properties" in schema:
        return "object"
    return "array" if "items" in schema else ""


def scalar(kind: str, text_format: str) -> object:
    """Return a value of a kind, None for an unknown one."""
    if kind == "string":
        default = "/" if text_format in _URL_FORMATS else "text"
        return _TEXTS.get(text_format, default)
    return _VALUES.get(kind)


def transform_of(value: object) -> Transform:
    """Return the transform for a value of an example."""
    if value is True:
        return Transform.BOOLEAN
    return _TRANSFORMS.get(value, Transform.TEXT)


def _asks_for_changes(name: str) -> bool:
    """Whether a parameter has the name of a moment since when changes are wanted."""
    whole = comparable_name(name)
    has_since = whole.endswith(("since", "after")) or bool(
        _SINCE & {*snake_case(name).split("_")}
    )
    return whole == "since" or (has_since and any(stem in whole for stem in _CHANGES))


def written(pagination: Pagination) -> dict[str, object]:
    """Return pages as the table of a line, an empty one without pages."""
    return written_table(PAGINATION_FIELDS, pagination)


def _names_text(names: Iterable[str]) -> str:
    """Return names as a report may show them."""
    return ", ".join(shown_name("", name) or "…" for name in islice(names, MAX_PARTS))
