"""Checks of the format of responses."""

from dataclasses import replace

import pytest

from outkey.sync.core.line.line import (
    Pagination,
    Paging,
    RecordFormat,
    ResponseFormat,
    Sync,
)
from outkey.sync.core.line.response_checks import response_findings
from outkey.sync.core.line_form.form_text import form_of, text_with_form

ROWS = [RecordFormat.CSV, RecordFormat.JSONL]
CURSOR = Pagination(Paging.CURSOR, cursor="meta.next")


def findings(sync: Sync) -> list[tuple[str, str | None]]:
    return [(found.id, found.field) for found in response_findings(sync)]


@pytest.mark.parametrize("record_format", [*RecordFormat])
@pytest.mark.parametrize("kind", [Paging.NONE, Paging.PAGE, Paging.OFFSET, Paging.LINK])
def test_every_format_has_the_pages_that_need_no_body(
    record_format: RecordFormat, kind: Paging
) -> None:
    sync = Sync(pagination=Pagination(kind), response=ResponseFormat(record_format))
    assert findings(sync) == []


@pytest.mark.parametrize("record_format", ROWS)
def test_rows_have_no_place_for_a_cursor_and_no_list_to_find(
    record_format: RecordFormat,
) -> None:
    sync = Sync(
        records="items", pagination=CURSOR, response=ResponseFormat(record_format)
    )
    assert findings(sync) == [("L044", "records"), ("L045", "pagination.kind")]


def test_xml_has_a_cursor_and_a_list_to_find() -> None:
    xml = ResponseFormat(RecordFormat.XML)
    assert findings(Sync(records="a.b", pagination=CURSOR, response=xml)) == []


@pytest.mark.parametrize("delimiter", ["", ",,", "x", "7", '"', "\n", "TAB"])
def test_a_delimiter_is_one_character_that_can_separate_columns(delimiter: str) -> None:
    csv = ResponseFormat(RecordFormat.CSV, delimiter=delimiter)
    assert findings(Sync(response=csv)) == [("L046", "response.delimiter")]
    jsonl = replace(csv, format=RecordFormat.JSONL)
    assert findings(Sync(response=jsonl)) == []


@pytest.mark.parametrize("delimiter", [",", ";", "|", "\t", "tab", " "])
def test_usual_delimiters_are_accepted(delimiter: str) -> None:
    csv = ResponseFormat(RecordFormat.CSV, delimiter=delimiter)
    assert findings(Sync(response=csv)) == []


@pytest.mark.parametrize(
    "charset", ["zlib", "unicode_escape", "rot13", "x" * 41, "../utf8", "utf-7", "none"]
)
def test_a_charset_is_an_encoding_of_texts(charset: str) -> None:
    response = ResponseFormat(charset=charset)
    assert findings(Sync(response=response)) == [("L047", "response.charset")]


@pytest.mark.parametrize(
    "charset", ["UTF-8", "latin1", "Windows-1252", "UTF-16LE", "Shift_JIS", "us-ascii"]
)
def test_usual_charsets_are_accepted(charset: str) -> None:
    assert findings(Sync(response=ResponseFormat(charset=charset))) == []


def test_a_header_that_is_not_ticked_is_written() -> None:
    text = 'direction = "pull"\n[response]\nformat = "csv"\n'
    form = form_of(text)
    assert form.texts["response_header"] == "true"
    without = replace(form, texts={**form.texts, "response_header": ""})
    written = text_with_form(text, without)
    assert "header = false" in written
    assert form_of(written).texts["response_header"] == ""
    again = replace(form, texts={**form.texts, "response_header": "true"})
    assert "header" not in text_with_form(written, again)
