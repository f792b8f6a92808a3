"""Suggesting lines whose responses are not JSON: the format, and what follows."""

import gzip

import pytest

from outkey.foundation.core.errors import OutkeyError, SyncFailed
from outkey.sending.core.request.message import Response, ResponseHeaders
from outkey.sync.core.formats.guessing import guess_format
from outkey.sync.core.line.fields import RESPONSE_FIELDS
from outkey.sync.core.line.line import RecordFormat, ResponseFormat
from outkey.sync.core.line.table import written_table
from outkey.sync.core.line_form.form_text import form_of
from outkey.sync.core.suggest.suggest import Suggestion
from unit.sync.engine.pull.test_sync_formats import zipped
from unit.sync.engine.pull.test_sync_run import FakeSync, fake_sync

TABLE = b"id;name;price\n7;Ada;1,5\n8;Bob;2,5\n"
LINES = b'{"id": 7, "name": "Ada"}\n{"id": 8, "name": "Bob"}\n'
XML = b"<?xml version='1.0'?><r><p><id>7</id><n>A</n></p><p><id>8</id><n>B</n></p></r>"


def response(body: bytes, content_type: str = "") -> Response:
    return Response(200, ResponseHeaders((("Content-Type", content_type),)), body)


def guessed(body: bytes, content_type: str = "", **stored: object) -> dict[str, object]:
    settings = ResponseFormat(**stored)  # type: ignore[arg-type]
    guess = guess_format(response(body, content_type), settings, 2**20)
    return written_table(RESPONSE_FIELDS, guess.format)


@pytest.mark.parametrize(
    ("body", "content_type", "expected"),
    [
        (b'[{"a": 1}]', "", {}),
        (b'{"a": 1}', "application/json", {}),
        (b'{\n"a": 1,\n"b": 2}', "", {}),
        (b"", "text/csv", {}),
        (b"<!DOCTYPE html><html></html>", "text/html", {}),
        (b"<p>hello</p>", "text/html", {}),
        (b"just some words", "text/plain", {}),
        (LINES, "", {"format": "jsonl"}),
        (b'{"a": 1}', "application/x-ndjson", {"format": "jsonl"}),
        (gzip.compress(LINES), "application/gzip", {"format": "jsonl"}),
        (XML, "", {"format": "xml"}),
        (b"<r/>", "application/atom+xml", {"format": "xml"}),
        (TABLE, "text/csv", {"format": "csv", "delimiter": ";"}),
        (TABLE.replace(b";", b"\t"), "", {"format": "csv", "delimiter": "tab"}),
        (TABLE.replace(b";", b"|"), "", {"format": "csv", "delimiter": "|"}),
        (b"a,b\n1,2\n3,4", "text/plain", {"format": "csv"}),
        (b"1,2\n3,4\n5,6", "", {"format": "csv", "header": False}),
        (b"id\n1\n2\n", "text/csv", {"format": "csv"}),
        (b'a,b\n"1', "text/csv", {"format": "csv"}),
        (zipped("p.csv", TABLE), "", None),
    ],
)
def test_the_format_is_seen_by_the_type_and_the_beginning(
    body: bytes, content_type: str, expected: dict[str, object] | None
) -> None:
    if expected is None:
        with pytest.raises(SyncFailed) as caught:
            guessed(body, content_type)
        assert caught.value.reason == "bad_archive"
    else:
        assert guessed(body, content_type) == expected


def test_what_the_line_names_already_stays() -> None:
    named = {"format": RecordFormat.CSV, "delimiter": "|"}
    assert guessed(TABLE, "", **named) == named
    archive = zipped("p.csv", TABLE)
    assert guessed(archive, file="*.csv") == {
        "file": "*.csv",
        "format": "csv",
        "delimiter": ";",
    }


def test_a_delimiter_of_the_line_that_cannot_be_one_is_replaced() -> None:
    found = guessed(TABLE, "text/csv", delimiter=";;")
    assert found == {"format": "csv", "delimiter": ";"}


def test_rows_of_different_lengths_are_no_columns() -> None:
    assert guessed(b"a,b\n1\n2,3,4\n") == {}
    guess = guess_format(
        response(b"a,b\n1\n2,3,4\n", "text/csv"), ResponseFormat(), 2**20
    )
    assert written_table(RESPONSE_FIELDS, guess.format) == {"format": "csv"}
    assert str(guess.why) == "the response is a table of 2 columns"


def suggested(body: bytes, content_type: str = "") -> tuple[FakeSync, Suggestion]:
    made = fake_sync(None, lambda _: response(body, content_type))
    return made, made.runner.suggest("contacts")


@pytest.mark.parametrize(
    ("body", "records", "names"),
    [
        (TABLE, "@", ["id", "name", "price"]),
        (LINES, "@", ["id", "name"]),
        (XML, "r.p", ["id", "n"]),
        (b"<?xml version='1.0'?><r><p><id>7</id><n>A</n></p></r>", "r.p", ["id", "n"]),
    ],
)
def test_the_suggested_line_can_be_run(
    body: bytes, records: str, names: list[str]
) -> None:
    made, found = suggested(body)
    assert found.records == records
    assert [field.mapping.api for field in found.fields] == names
    assert found.keys == ("id",)
    assert found.is_other_format
    assert found.facts()["response"] == written_table(RESPONSE_FIELDS, found.response)
    line = found.completed_line(made.world.ports.configurations.line("contacts"))
    assert line.sync is not None
    assert line.sync.response == found.response
    assert "Format: " in str(found.sentences()[0])


def test_a_form_takes_the_format_over() -> None:
    _, found = suggested(TABLE, "text/csv")
    form = form_of('direction = "pull"').with_pages(found)
    assert form.texts["response_format"] == "csv"
    assert form.texts["response_delimiter"] == ";"
    assert form.texts["response_header"] == "true"


def test_a_sample_shows_the_first_rows_of_a_table() -> None:
    made, _ = suggested(TABLE + b"9\n")
    sample = made.runner.sample("contacts")
    assert [record["name"] for record in sample.records] == ["Ada", "Bob"]


@pytest.mark.parametrize("body", [b"\xff\xfe", b"a,b\n\xff,1\n2,3\n", b"<?xml ", b"PK"])
def test_a_damaged_response_is_a_plain_error(body: bytes) -> None:
    with pytest.raises(OutkeyError):
        suggested(body)


def test_a_table_that_repeats_a_secret_is_suggested_without_it() -> None:
    made, _ = suggested(TABLE)
    made.world.secrets.values["token"] = "sekret-canary-4711"
    made.world.transport.responses = lambda _: response(
        TABLE + b"9;sekret-canary-4711;1\n"
    )
    found = made.runner.suggest("contacts")
    assert "sekret" not in repr(found)
    assert any("repeats a secret" in str(note) for note in found.notes)
