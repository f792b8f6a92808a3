"""Schemas of a document as examples of what they describe, read within limits."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import islice

from outkey.foundation.core.paging_words import words
from outkey.importing.core.readers.tree import EMPTY, Table, rows, table, text_of
from outkey.sync.core.line.line import Transform
from outkey.sync.core.suggest.names import Path, comparable_name

MAX_SCHEMAS = 2000  # of one response that are looked at
MAX_PROPERTIES = 1000  # of one schema
MAX_LEVELS = 20
MAX_PARTS = 20  # of a schema that is composed of others
_MAX_TEXT = 1000  # characters of a description that are looked at
_URL_FORMATS = words("uri url uri-reference iri iri-reference")
_DECIMAL_FORMATS = words("decimal decimal128 money")
_NUMBERS = frozenset({"", "integer", "number"})
# Of a kind each; `line suggest` reads them like those of a response.
_DATE = "2000-01-01"
_MOMENT = "2000-01-01T00:00:00Z"
_DECIMAL = "0.5"
_PLAIN = "text"
_TEXTS = {"date": _DATE, "date-time": _MOMENT}
_VALUES = {"integer": 1, "number": Decimal("0.5"), "boolean": True}
_TRANSFORMS = {
    _DATE: Transform.DATE,
    _MOMENT: Transform.DATETIME,
    _DECIMAL: Transform.DECIMAL,
    1: Transform.NUMBER,
    Decimal("0.5"): Transform.DECIMAL,
}
# Nothing is known of a value that may have several kinds.
_SEVERAL: Table = {"type": ["integer", "string"]}
Resolve = Callable[[object], Table]


@dataclass(frozen=True, slots=True)
class QueryParameter:
    """A parameter of the query, with its schema."""

    name: str
    schema: Table
    description: str = ""
    is_required: bool = False

    @property
    def lower(self) -> str:
        """The name as lists of usual names have it."""
        return self.name.lower()

    @property
    def format(self) -> str:
        """The format of its text: as stated, or ISO 8601 by its description."""
        stated = text_of(self.schema.get("format"))
        if stated or type_of(self.schema) not in {"", "string"}:
            return stated
        is_moment = any(
            word in self.description.lower()
            for word in ("8601", "rfc 3339", "rfc3339", "date-time")
        )
        return "date-time" if is_moment else ""

    @property
    def is_number(self) -> bool:
        """Whether its value can be the number of a page."""
        return type_of(self.schema) in _NUMBERS

    @property
    def constant(self) -> str:
        """The only value that it can have, or the one it has without another."""
        choices = self.schema.get("enum")
        if isinstance(choices, list) and len(choices) == 1:
            return text_of(choices[0])
        return text_of(self.schema.get("const")) or text_of(self.schema.get("default"))

    def first_number(self, *keys: str) -> int | None:
        """Return the first of these keywords of its schema that has a whole number."""
        numbers = (text_of(self.schema.get(key)) for key in keys)
        return next((int(n) for n in numbers if n.isdecimal() and len(n) < 7), None)


def query_parameters(
    parameters: Sequence[Table], resolve: Resolve
) -> Iterator[QueryParameter]:
    """Yield the parameters of the query; the last of a name counts."""
    by_name = {}
    for value in parameters:
        parameter = resolve(value)
        name = text_of(parameter.get("name"))
        if parameter.get("in") == "query" and 0 < len(name) <= 80:
            schema = parameter  # as Swagger 2 has it
            if "schema" in parameter:
                schema = resolve(parameter["schema"])
            by_name[name] = QueryParameter(
                name,
                schema,
                description=text_of(parameter.get("description"))[:_MAX_TEXT],
                is_required=text_of(parameter.get("required")) == "true",
            )
    yield from by_name.values()


class Example:
    """Builds a response as a schema describes it, with a value of each kind.

    References that lead back to themselves end, and so does a schema that is too large.
    """

    def __init__(self, resolve: Resolve, limit: int = MAX_SCHEMAS) -> None:
        self.required: set[Path] = set()
        self.is_cut = False
        self.count = 0  # schemas that were looked at
        self._limit = limit
        self._resolve = resolve
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
            if is_record_part(self._resolve(part)):
                inner = (*path, name)
                member = self.build(part, inner, above)
                members[name] = "/" if is_url(name, member) else member
                if name in required:
                    self.required.add(inner)
        return members

    def _is_full(self) -> bool:
        self.count += 1
        self.is_cut |= self.count > self._limit
        return self.count > self._limit

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
        if level == MAX_LEVELS:
            return EMPTY
        if len(alternatives) > 1:
            parts.append(self._one_of(alternatives, level))
            alternatives = []
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

    def _one_of(self, alternatives: Sequence[Table], level: int) -> Table:
        """Return what several objects may have; of other kinds nothing is known."""
        schemas = [
            self._compose(self._resolve(part), level + 1)
            for part in alternatives
            if not self._is_full()
        ]
        if not all("properties" in schema for schema in schemas):
            return _SEVERAL
        properties: dict[str, object] = {}
        for schema in schemas:
            for name, part in table(schema["properties"]).items():
                stated = properties.setdefault(name, part)
                if self._kind_of(stated) != self._kind_of(part):
                    properties[name] = _SEVERAL
        required = [_first_texts(schema.get("required")) for schema in schemas]
        return {
            "properties": properties,
            "required": [*set.intersection(*required)] if required else [],
        }

    def _kind_of(self, value: object) -> tuple[str, str]:
        schema = self._resolve(value)
        return type_of(schema), text_of(schema.get("format"))


def _first_items(value: object) -> dict[str, object]:
    """Return the first entries of a table."""
    return dict(islice(table(value).items(), MAX_PROPERTIES))


def _first_texts(value: object) -> set[str]:
    """Return the first texts of a list."""
    return {*map(text_of, value[:MAX_PROPERTIES])} if isinstance(value, list) else set()


def is_record_part(schema: Table) -> bool:
    """Whether a schema is not of a password, a file, or what is sent only."""
    is_sent = text_of(schema.get("writeOnly")) == "true"
    return not is_sent and schema.get("format") not in {"password", "binary"}


def is_url(name: str, value: object) -> bool:
    """Whether a text without a format is a URL by its name."""
    endings = ("url", "uri", "href", "link")
    return value == _PLAIN and comparable_name(name).endswith(endings)


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
        default = "/" if text_format in _URL_FORMATS else _PLAIN
        if text_format in _DECIMAL_FORMATS:
            default = _DECIMAL
        return _TEXTS.get(text_format, default)
    return _VALUES.get(kind)


def transform_of(value: object) -> Transform:
    """Return the transform for a value of an example."""
    if value is True:
        return Transform.BOOLEAN
    return _TRANSFORMS.get(value, Transform.TEXT)
