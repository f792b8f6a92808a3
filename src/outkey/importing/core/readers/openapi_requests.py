"""The requests of an OpenAPI document: pulls, and a few for single requests.

Lists below the records of another one come after it. A list that needs more than that
has no line: the report names it.
"""

from collections.abc import Iterator, Sequence

from outkey.foundation.core.text import Text
from outkey.importing.core.readers.line_notes import LineNotes, names_text
from outkey.importing.core.readers.openapi_lines import (
    LineFacts,
    LineReader,
    Operation,
)
from outkey.importing.core.readers.openapi_parents import (
    DescribedList,
    below,
    parent_path,
)
from outkey.importing.core.readers.openapi_schemas import (
    MAX_SCHEMAS,
    Example,
    Resolve,
)
from outkey.importing.core.report import ImportReport, shown_name, unique
from outkey.importing.core.seen import SeenRequest
from outkey.sync.core.line.table import sync_table
from outkey.sync.core.suggest.suggest import last_word

MAX_PLAIN_LINES = 10
MAX_SCHEMAS_OF_ALL = 50_000  # of all responses together


class RequestReader:
    """Turns the operations of a document into requests."""

    def __init__(self, resolve: Resolve, report: ImportReport, base_url: str) -> None:
        self._resolve = resolve
        self._report = report
        self._base_url = base_url.rstrip("/")
        self._places: set[str] = set()
        self._pulls: dict[str, DescribedList] = {}  # by their paths
        self._count = 0  # of requests
        self._schemas_left = MAX_SCHEMAS_OF_ALL

    def read(self, operations: Sequence[Operation]) -> Iterator[SeenRequest]:
        """Yield pulls, and of the first operations also those for single requests."""
        for operation in sorted(operations, key=lambda op: len(op.variables)):
            request = self._request(operation)
            if request is not None:
                yield request

    def _request(self, operation: Operation) -> SeenRequest | None:
        """Return the request of an operation, None without a line for it."""
        place = unique_place(operation, self._places)
        report = ImportReport()
        notes = LineNotes(report, place)
        facts = self._facts(operation, notes)
        parent = self._parent_of(operation, facts)
        needs = (*operation.variables, *operation.needs)
        if needs and parent is None:
            if facts.is_list:
                self._note_needs(place, needs)
            return None
        pull = self._pull(operation, facts, parent, notes)
        has_room = self._count < MAX_PLAIN_LINES
        if facts.is_list or has_room:
            self._report.add(report.items)
        if pull is None and (operation.variables or not has_room):
            return None
        self._count += 1
        if pull is not None:
            self._pulls[operation.path] = pull
        return SeenRequest(
            self._base_url + (pull.request_path if pull else operation.path),
            name=operation.name,
            sync=sync_table(pull.sync) if pull else None,
            pagination=facts.pagination,
            place=operation.path,
        )

    def _facts(self, operation: Operation, notes: LineNotes) -> LineFacts:
        """Return how an operation brings records, within the limit of all schemas."""
        example = Example(self._resolve, min(MAX_SCHEMAS, self._schemas_left))
        facts = LineReader(self._resolve, notes).read(operation, example)
        self._schemas_left = max(self._schemas_left - example.count, 0)
        return facts

    def _parent_of(
        self, operation: Operation, facts: LineFacts
    ) -> DescribedList | None:
        """Return the pull whose records a list is below, if it needs no more."""
        if facts.sync is None or operation.needs:
            return None
        return self._pulls.get(parent_path(operation.path))

    def _pull(
        self,
        operation: Operation,
        facts: LineFacts,
        parent: DescribedList | None,
        notes: LineNotes,
    ) -> DescribedList | None:
        """Return the pull of an operation, None if it is for single requests."""
        if facts.sync is None:
            return None
        if parent is not None:
            return below(parent, operation.path, facts.sync, notes)
        return DescribedList(operation.path, operation.path, facts.sync)

    def _note_needs(self, place: str, needs: Sequence[str]) -> None:
        why = Text("it needs {names}, which only you know", names=names_text(needs))
        self._report.note_dropped(place, why)


def unique_place(operation: Operation, taken: set[str]) -> str:
    """Return the name of an operation in the report, with a number if need be."""
    names = (operation.name, last_word(operation.path))
    place = next(
        (p for name in names if " " in (p := shown_name("line", name))), "line"
    )
    return unique(place, taken)
