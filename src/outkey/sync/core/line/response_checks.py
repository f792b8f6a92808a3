"""Checks of how a pull reads its responses."""

from collections.abc import Iterator

from outkey.foundation.core.findings.checks import Check, Finding, Level
from outkey.sync.core.formats.charsets import codec_of
from outkey.sync.core.line.line import Paging, RecordFormat, ResponseFormat, Sync

LIST_IN_ROWS = Check(
    "L044",
    Level.ERROR,
    "a {format} response is its records, one after another, without a list to find",
    "Remove Records (records).",
)
CURSOR_IN_ROWS = Check(
    "L045",
    Level.ERROR,
    "a {format} response has no place for the cursor of the next page",
    "Page by Link header, number or offset.",
)
WRONG_DELIMITER = Check(
    "L046",
    Level.ERROR,
    "the delimiter is not a character that can separate columns",
    "Enter one character such as , or ; or the word tab.",
)
UNKNOWN_CHARSET = Check(
    "L047",
    Level.ERROR,
    "there is no such charset",
    "Enter it as utf-8, iso-8859-1 or windows-1252.",
)
WHOLE_RESPONSE = Sync().records


def response_findings(sync: Sync) -> Iterator[Finding]:
    """Yield the findings about the format of the responses to a pull."""
    response: ResponseFormat = sync.response
    if response.has_rows:
        name = response.format.label
        if sync.records != WHOLE_RESPONSE:
            yield LIST_IN_ROWS.finding("records", format=name)
        if sync.pagination.kind is Paging.CURSOR:
            yield CURSOR_IN_ROWS.finding("pagination.kind", format=name)
    is_csv = response.format is RecordFormat.CSV
    if is_csv and not response.delimiter_character:
        yield WRONG_DELIMITER.finding("response.delimiter")
    if response.charset and codec_of(response.charset) is None:
        yield UNKNOWN_CHARSET.finding("response.charset")
