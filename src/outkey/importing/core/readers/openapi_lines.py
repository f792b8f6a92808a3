"""Records of an OpenAPI operation: pages, changes, fields and key.

The schema of the response becomes an example, which is read as `line suggest` reads a
sample. Whatever has several readings is reported and not taken.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from outkey.foundation.core.findings.checks import Level
from outkey.foundation.core.paging_words import words
from outkey.foundation.core.text import Text
from outkey.importing.core.readers.line_notes import LineNotes, names_text
from outkey.importing.core.readers.openapi_pages import (
    Described,
    read_incremental,
    read_pagination,
)
from outkey.importing.core.readers.openapi_schemas import (
    Example,
    QueryParameter,
    Resolve,
)
from outkey.importing.core.readers.record_fields import (
    RecordFields,
    note_cut,
    record_fields,
    shown_paths,
)
from outkey.importing.core.readers.tree import EMPTY, Table, table
from outkey.importing.core.report import ImportReport
from outkey.sync.core.line.fields import PAGINATION_FIELDS
from outkey.sync.core.line.line import Pagination, Sync, Transform
from outkey.sync.core.line.table import written_table
from outkey.sync.core.suggest.keys import identifying_paths
from outkey.sync.core.suggest.names import Path, comparable_name, expression_of
from outkey.sync.core.suggest.records import (
    SIDE_LISTS,
    USUAL_LISTS,
    FoundRecords,
    find_records,
    lists_in,
)
from outkey.sync.core.suggest.suggest import last_word

_KEY_KINDS = frozenset({Transform.TEXT, Transform.NUMBER})
_OTHER_KEYS = words("key code uid sid")
# Of what is unique below one record only.
_KEYS_BELOW = words("sku number position line linenumber lineno slug name")


@dataclass(frozen=True, slots=True)
class LineFacts:
    """How an operation brings records; without `sync` it is for single requests."""

    sync: Sync | None
    pagination: Mapping[str, object]  # as the table of a line, empty without pages
    is_list: bool = False  # whether the response is a list of objects


@dataclass(frozen=True, slots=True)
class Operation:
    """A GET, with its parameters and those of its path."""

    path: str
    name: str
    is_secured: bool
    variables: tuple[str, ...]  # of the path
    needs: tuple[str, ...]  # other parameters that only a user knows
    query: tuple[QueryParameter, ...]
    constants: Mapping[str, str]  # required parameters with one value
    description: Table = field(repr=False)


class LineReader:
    """Reads one operation."""

    def __init__(self, resolve: Resolve, notes: LineNotes) -> None:
        self._resolve = resolve
        self._notes = notes

    def read(self, operation: Operation, example: Example) -> LineFacts:
        """Return the synchronization for a line; the example is an empty one."""
        word = last_word(operation.path)
        response = self._response(operation.description)
        document = example.build(self._schema(response))
        found = self._records(document, operation, word)
        described = Described(
            operation.query,
            document,
            found,
            has_links="link" in map(str.lower, table(response.get("headers"))),
        )
        if found is None:
            # Of a single request the report has the pages as a whole.
            unread = LineNotes(ImportReport(), self._notes.place)
            return LineFacts(None, written(read_pagination(described, unread)))
        fields = self._fields(found, example)
        within = found.path or ()
        required = {
            path for path in fields.typed if (*within, *path) in example.required
        }
        key = self._key(fields, required, operation)
        if key is not None:
            described = replace(described, key=expression_of(key))
        pagination = read_pagination(described, self._notes)
        incremental = read_incremental(operation.query, fields.typed, self._notes)
        if key is None:
            return LineFacts(None, written(pagination), is_list=True)
        mappings = fields.mappings({key}, self._notes)
        sync = Sync(
            keys=(mappings[key].host,),
            mappings=tuple(mappings.values()),
            records=found.expression,
            pagination=pagination,
            incremental=incremental,
            query=tuple(operation.constants.items()),
        )
        return LineFacts(sync, written(pagination), is_list=True)

    # ── the document ────────────────────────────────────────────────────────────────

    def _response(self, operation: Table) -> Table:
        """Return the successful response."""
        responses = table(operation.get("responses"))
        statuses = [status for status in responses if status.startswith("2")]
        return self._resolve(responses[min(statuses)]) if statuses else EMPTY

    def _schema(self, response: Table) -> object:
        """Return the schema of a JSON response."""
        if "schema" in response:
            return response["schema"]
        for kind, content in table(response.get("content")).items():
            if "json" in kind.lower():
                return self._resolve(content).get("schema")
        return EMPTY

    # ── records ─────────────────────────────────────────────────────────────────────

    def _records(
        self, document: object, operation: Operation, word: str
    ) -> FoundRecords | None:
        """Return where the list of records is, None without one."""
        is_one = operation.path.endswith("}")  # one record, whatever lists it has
        if is_one or not document or not isinstance(document, dict | list):
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
            why = Text("the response is not a list of objects")
            self._notes.drop("records", why, Level.NOTICE)
            return None
        others = [path for path in lists if path != found.path]
        if found.path and not is_clear(found.path, others, word):
            self._notes.drop_ambiguous("records", map(expression_of, lists))
            return None
        self._notes.take_records(found.expression)
        if others:
            why = Text(
                "the records are in {name}; the response has other lists too: {names}",
                name=names_text([found.expression]) if found.path else "@",
                names=names_text(map(expression_of, others)),
            )
            self._notes.drop("records", why, Level.NOTICE)
        return found

    def _fields(self, found: FoundRecords, example: Example) -> RecordFields:
        """Return the fields of the records; the report has what was too large."""
        fields = record_fields(found.records)
        if fields.is_cut:
            note_cut(self._notes)
        if example.is_cut:
            why = Text("the schema is too large: only a part of it was read")
            self._notes.drop("fields", why)
        return fields

    def _key(
        self, fields: RecordFields, required: set[Path], operation: Operation
    ) -> Path | None:
        """Return the field that is the key, None if the document does not state it."""
        candidates = key_candidates(fields, required, operation)
        for choice in ([path for path in candidates if path in required], candidates):
            if len(choice) == 1:
                self._notes.take("keys", Text("{names}", names=shown_paths(choice)))
                return choice[0]
        if candidates:
            self._notes.drop_ambiguous("keys", map(expression_of, candidates))
        else:
            why = Text("the document states no key: the line is for single requests")
            self._notes.drop("keys", why)
        return None


def key_candidates(
    fields: RecordFields, required: set[Path], operation: Operation
) -> Sequence[Path]:
    """Return the fields that may be the key, by the best kind of names that occurs."""
    typed = fields.typed
    paths = [path for path in typed if typed[path].transform in _KEY_KINDS]
    names = {path: comparable_name(path[0]) for path in paths if len(path) == 1}
    candidates = identifying_paths(paths, last_word(operation.path))
    if not candidates:
        candidates = [path for path, name in names.items() if name in _OTHER_KEYS]
    if not candidates and operation.variables:
        candidates = [
            path
            for path, name in names.items()
            if path in required and name in _KEYS_BELOW
        ]
    return candidates


def is_clear(chosen: Path, others: Iterable[Path], word: str) -> bool:
    """Whether the names show which one of several lists has the records."""
    name = comparable_name(chosen[-1])
    rivals = {
        comparable_name(path[-1])
        for path in others
        if len(path) <= len(chosen)  # what is deeper belongs to something else
        and not SIDE_LISTS & {*map(comparable_name, path)}
    }
    is_usual = name in USUAL_LISTS and not rivals & USUAL_LISTS
    return not rivals or is_usual or name == comparable_name(word)


def written(pagination: Pagination) -> dict[str, object]:
    """Return pages as the table of a line, an empty one without pages."""
    return written_table(PAGINATION_FIELDS, pagination)
