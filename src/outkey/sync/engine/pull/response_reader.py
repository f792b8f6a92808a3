"""Reading a response: the records in it, and what it says about the next page."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from outkey.foundation.core.origin import without_parameters
from outkey.sending.core.request.message import Response
from outkey.sending.engine.wire.transmit import MEBIBYTE
from outkey.sync.core.formats.documents import read_document
from outkey.sync.core.formats.rows import RowRecord, RowsBody, read_rows
from outkey.sync.core.line.line import Paging, RecordFormat
from outkey.sync.core.mapping.mapping import Unmapped
from outkey.sync.core.paging.paging import Position, refuse_deep_cursor
from outkey.sync.core.paging.response import (
    MAX_VALUES,
    Record,
    checked_records,
    page_fingerprint,
)
from outkey.sync.core.paging.totals import total_of
from outkey.sync.engine.pull.page_requests import expressions
from outkey.sync.engine.pull.pages import SourcePage
from outkey.sync.engine.runs.run_in_progress import RunInProgress

NO_CONTENT = 204
# A path of names, and in front the path to the element around the records.
OUTER = re.compile(r'((?:\w+|"[^"]+")(?:\.(?:\w+|"[^"]+"))*)\.(?:\w+|"[^"]+")')


class ResponsePart(NamedTuple):
    """Records of a response that are written at once."""

    records: Sequence[RowRecord]
    is_suspicious: bool  # a secret may be in the records
    written: int = 0  # records of the response, with these
    is_last: bool = True

    def page(self, position: Position, digest: str, cursor: str) -> SourcePage:
        """Return the records of a part that is not the last one of a response."""
        reached = replace(position, written=self.written, content=digest)
        return SourcePage(self.records, reached, cursor, self.is_suspicious, pages=0)


class ResponseContent(NamedTuple):
    """What a response of one document brings."""

    records: Sequence[Record]
    cursor: object  # of the next page, as the body has it
    stated_total: int  # records of the list; 0: unknown
    is_suspicious: bool  # a secret may be in the records
    digest: str = ""

    def parts(self, _position: Position) -> Iterator[ResponsePart]:
        """Yield all records, to be written at once."""
        yield ResponsePart(self.records, self.is_suspicious)


@dataclass(frozen=True, slots=True)
class RowsContent:
    """What a response brings whose records are read one after another."""

    reader: "ResponseReader"
    response: Response
    body: RowsBody
    stated_total: int
    cursor: object = None

    @property
    def records(self) -> Sequence[object]:
        """As many elements as there are records, which are not in memory."""
        return range(self.body.count)

    @property
    def digest(self) -> str:
        """A text that differs for responses with other records."""
        return self.body.digest

    def parts(self, position: Position) -> Iterator[ResponsePart]:
        """Yield the records after those that are written, some at a time.

        All of them if the response is another one than before.
        """
        skipped = position.written if position.content == self.body.digest else 0
        read = 0
        for batch in self.body.batches():
            rest = batch[max(0, skipped - read) :]
            read += len(batch)
            if rest:
                is_last = read == self.body.count
                yield self.reader.rows_part(self.response, rest, read, is_last=is_last)
        if not read:
            yield ResponsePart([], is_suspicious=False)


class ResponseReader:
    """Finds records and the next cursor in the responses to a line's requests."""

    def __init__(self, progress: RunInProgress) -> None:
        finders = {
            field: progress.ports.finder.compile(expression, field=field)
            for field, expression in expressions(progress.sync).items()
        }
        self._find_records = finders["records"]
        outer = OUTER.fullmatch(progress.sync.records)
        self._find_outer = (
            progress.ports.finder.compile(outer[1], field="records") if outer else None
        )
        self._find_cursor = finders.get("pagination.cursor")
        self._guard = progress.guard
        self._own_parameters = progress.plan.configuration.parameter_names()
        self._keep_working = progress.keep_working
        self._format = progress.sync.response
        self._kind = progress.sync.pagination.kind
        limits = progress.plan.configuration.limits
        self._most_bytes = limits.response_mebibytes * MEBIBYTE
        self.max_values = MAX_VALUES

    def read(self, response: Response) -> ResponseContent | RowsContent:
        """Return what a response brings, without secrets that it repeats."""
        if self._format.has_rows and response.status != NO_CONTENT:
            return self._read_rows(response)
        is_empty = response.status == NO_CONTENT
        document = [] if is_empty else self._document(response, self.max_values)
        # Before anything is masked: a URL of the next page may repeat our parameters.
        cursor = self._find_cursor(document) if self._find_cursor else None
        refuse_deep_cursor(cursor)
        if isinstance(cursor, str):
            cursor = without_parameters(cursor, self._own_parameters)
        is_suspicious = self._guard.look_at(response, document, is_json=self._is_json)
        if is_suspicious:
            document = self._guard.detector().masked(document)
            cursor = self._guard.detector().masked(cursor)
        self._guard.refuse_echo(cursor)
        return ResponseContent(
            [] if is_empty else self._records_in(document),
            cursor,
            total_of(document, response.headers),
            is_suspicious,
        )

    def count_and_fingerprint(self, response: Response) -> tuple[int, str]:
        """Return the number of records in a response, and what differs with them."""
        if self._format.has_rows:
            rows = self._rows(response)
            return rows.count, rows.digest
        records = self._records_in(self._document(response, MAX_VALUES))
        return len(records), page_fingerprint(records)

    def rows_part(
        self,
        response: Response,
        batch: Sequence[RowRecord],
        written: int,
        *,
        is_last: bool,
    ) -> ResponsePart:
        """Return records of a response without secrets that it repeats."""
        records = [record for record in batch if not isinstance(record, Unmapped)]
        is_suspicious = self._guard.look_at(response, records, is_json=False)
        if is_suspicious:
            masked = self._guard.detector().masked
            batch = [
                record if isinstance(record, Unmapped) else masked(record)  # type: ignore[misc]  # an object stays one
                for record in batch
            ]
        return ResponsePart(batch, is_suspicious, written, is_last)

    @property
    def _is_json(self) -> bool:
        return self._format.format is RecordFormat.JSON

    def _document(self, response: Response, most_values: int) -> object:
        return read_document(
            response,
            self._format,
            most_bytes=self._most_bytes,
            most_values=most_values,
        )

    def _records_in(self, document: object) -> list[Record]:
        """Return the records of a document; in XML one alone is not a list."""
        found = self._find_records(document)
        if self._format.format is RecordFormat.XML:
            if isinstance(found, dict):
                found = [found]
            elif found is None and self._find_outer is not None:
                # No list is written for no records, but the element around it is.
                found = None if self._find_outer(document) is None else []
        return checked_records(found)

    def _rows(self, response: Response) -> RowsBody:
        return read_rows(response, self._format, self._most_bytes, self._keep_working)

    def _read_rows(self, response: Response) -> RowsContent:
        body = self._rows(response)
        stated = total_of(None, response.headers)
        total = body.count if self._kind is Paging.NONE else stated
        return RowsContent(self, response, body, total)
