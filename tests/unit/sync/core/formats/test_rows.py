"""JSON Lines and CSV: whatever a writer wrote is read as it was, or refused by name."""

import csv
import gzip
import io
import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outkey.foundation.core.errors import SyncFailed
from outkey.sending.core.request.message import Response, ResponseHeaders
from outkey.sending.core.request.packed_body import PackedBody
from outkey.sync.core.formats import rows as rows_module
from outkey.sync.core.formats.rows import (
    MAX_CHARACTERS,
    MAX_COLUMNS,
    RowsBody,
    column_names,
    read_rows,
)
from outkey.sync.core.line.line import RecordFormat, ResponseFormat
from outkey.sync.core.mapping.mapping import Unmapped
from unit.sync.core.formats.test_unpacking import bomb

MEBIBYTE = 1024 * 1024
CSV = ResponseFormat(RecordFormat.CSV)
JSONL = ResponseFormat(RecordFormat.JSONL)


def read(
    body: bytes, format_: ResponseFormat, content_type: str = "", most_bytes: int = 0
) -> RowsBody:
    headers = ResponseHeaders((("Content-Type", content_type),))
    response = Response(200, headers, body)
    return read_rows(
        response, format_, most_bytes or 64 * MEBIBYTE, keep_working=lambda: None
    )


def records(body: bytes, format_: ResponseFormat = CSV, content_type: str = "") -> Any:  # noqa: ANN401 - of any shape
    whole = read(body, format_, content_type)
    read_records = [record for batch in whole.batches() for record in batch]
    assert whole.count == len(read_records)
    return read_records


def test_a_packed_body_is_read_as_a_plain_one_is() -> None:
    lines = [b"id,name\r\n", *(b"%d,Ada\r\n" % number for number in range(20_000))]
    packed = read_rows(
        Response(200, packed=PackedBody(lines)), CSV, MEBIBYTE, keep_working=list
    )
    plain = read(b"".join(lines), CSV)
    assert (packed.count, packed.digest) == (plain.count, plain.digest)
    assert list(packed.batches()) == list(plain.batches())


def csv_records(body: bytes, content_type: str = "", **settings: object) -> Any:  # noqa: ANN401 - of any shape
    format_ = ResponseFormat(RecordFormat.CSV, **settings)  # type: ignore[arg-type]
    return records(body, format_, content_type)


def refusal_of(body: bytes, format_: ResponseFormat = CSV) -> tuple[str, str]:
    with pytest.raises(SyncFailed) as caught:
        read(body, format_)
    return str(caught.value.reason), str(caught.value.message)


# ── CSV ──────────────────────────────────────────────────────────────────────────────

cells = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)


@given(
    st.integers(1, 4).flatmap(
        lambda width: st.lists(
            st.lists(cells, min_size=width, max_size=width).filter(any), max_size=6
        )
    ),
    st.sampled_from([",", ";", "\t", "|"]),
    st.sampled_from(["\r\n", "\n", "\r"]),
    st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
    st.sampled_from(["utf-8", "utf-16", "utf-8-sig"]),
)
def test_any_table_is_read_as_it_was_written(
    table: list[list[str]],
    delimiter: str,
    end: str,
    quoting: int,
    encoding: str,
) -> None:
    target = io.StringIO(newline="")
    # Before Python 3.13 the writer quotes only the breaks that its own lines end with.
    quoting = quoting if end == "\r\n" else csv.QUOTE_ALL
    writer = csv.writer(
        target, delimiter=delimiter, lineterminator=end, quoting=quoting
    )
    width = len(table[0]) if table else 1
    names = [f"n{place}" for place in range(width)]
    writer.writerows([names, *table])
    body = target.getvalue().encode(encoding)
    expected = [dict(zip(names, row, strict=True)) for row in table]
    assert csv_records(body, delimiter=delimiter) == expected


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_rows_end_as_they_like_and_empty_lines_are_none(end: str) -> None:
    body = end.join(["id,name", "1,Ada", "", "2,Bob"]).encode()
    expected = [{"id": "1", "name": "Ada"}, {"id": "2", "name": "Bob"}]
    assert csv_records(body) == expected
    assert csv_records(body + end.encode() * 3) == expected


def test_a_quoted_cell_has_delimiters_quotes_and_lines() -> None:
    body = b'a,b\r\n"1,\r\n2","say ""hi"""\r\n'
    assert csv_records(body) == [{"a": "1,\r\n2", "b": 'say "hi"'}]


def test_a_row_of_another_length_is_rejected_and_the_others_are_read() -> None:
    body = b"a,b\n1\n1,2\n1,2,3\n"
    rejected = Unmapped("", "row_length")
    assert csv_records(body) == [rejected, {"a": "1", "b": "2"}, rejected]


def test_columns_without_a_header_are_numbered() -> None:
    body = b"1,2\n3,4\n5\n"
    assert csv_records(body, header=False) == [
        {"c1": "1", "c2": "2"},
        {"c1": "3", "c2": "4"},
        Unmapped("", "row_length"),
    ]
    assert csv_records(b"", header=False) == []


@pytest.mark.parametrize("body", [b"", b"\n\n", b"a,b", b"a,b\n", b"\xef\xbb\xbf"])
def test_a_table_without_rows_has_no_records(body: bytes) -> None:
    assert csv_records(body) == []


@pytest.mark.parametrize(
    ("header", "names"),
    [
        (["id", " name "], ["id", "name"]),
        (["a", "a", "a"], ["a", "a_2", "a_3"]),
        (["a", "a_2", "a"], ["a", "a_2", "a_3"]),
        (["a", "a", "a_2"], ["a", "a_3", "a_2"]),
        (["", "b", ""], ["c1", "b", "c3"]),
        (["c2", ""], ["c2", "c2_2"]),
    ],
)
def test_every_column_has_a_name_of_its_own(
    header: Sequence[str], names: list[str]
) -> None:
    assert column_names(header) == names


@given(st.lists(st.sampled_from(["", "a", "a_2", "a_3", "c1", "c2"]), max_size=12))
def test_no_two_columns_have_one_name(header: list[str]) -> None:
    assert len({*column_names(header)}) == len(header)


@pytest.mark.parametrize(
    ("body", "content_type", "settings", "text"),
    [
        ("n\nMüller".encode(), "", {}, "Müller"),
        ("n\nMüller".encode(), "text/csv; charset=UTF-8", {}, "Müller"),
        ("n\nMüller".encode("latin-1"), "text/csv; charset=iso-8859-1", {}, "Müller"),
        ("n\nMüller".encode("cp1252"), "", {"charset": "windows-1252"}, "Müller"),
        ("n\nMüller".encode("utf-16"), "", {}, "Müller"),
        (
            "\ufeffn\nMüller".encode("utf-16-le"),
            "text/csv; charset=utf-16le",
            {},
            "Müller",
        ),
        (b"n\n\0", "", {}, "\0"),
        (b"n\nA", 'text/csv; charset="utf-8"; header=present', {}, "A"),
        (b"n\nA", "text/csv; charset*=utf-8''x; charset*0=u; charset*1=x", {}, "A"),
        (b"n\nA", "text/csv" + ";" * 1000, {}, "A"),
    ],
)
def test_the_text_is_in_the_encoding_that_something_states(
    body: bytes, content_type: str, settings: dict[str, object], text: str
) -> None:
    assert csv_records(body, content_type, **settings) == [{"n": text}]


@pytest.mark.parametrize("record_format", [RecordFormat.CSV, RecordFormat.JSONL])
@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        ("n\nMüller".encode("latin-1"), ""),
        ("n\nMüller".encode(), "text/csv; charset=us-ascii"),
        (b"n\n1", "text/csv; charset=zip"),
        (b"n\n1", "text/csv; charset=unicode_escape"),
        (b"n\n1\0", "text/csv; charset=utf-16"),
    ],
)
def test_a_wrong_charset_is_refused_by_name(
    body: bytes, content_type: str, record_format: RecordFormat
) -> None:
    if record_format is RecordFormat.JSONL:
        body = b'{"n":"' + body.replace(b"\n", b"") + b'"}'
    with pytest.raises(SyncFailed) as caught:
        read(body, ResponseFormat(record_format), content_type)
    assert caught.value.reason == "bad_charset"


@pytest.mark.parametrize(
    "body",
    [b'a,b\n1,"2\n', b'a\n"1"2\n', b'a,b\n1,2\n"'],
)
def test_wrong_quotes_are_no_csv(body: bytes) -> None:
    reason, message = refusal_of(body)
    assert (reason, "line " in message) == ("not_csv", True)


@pytest.mark.parametrize(
    "body",
    [
        b"<html><body>Maintenance</body></html>",
        b'\n  <?xml version="1.0"?><error/>',
        b'{"error": "maintenance"}\n',
        b'[{"id": 1}]',
    ],
)
def test_a_page_or_an_error_with_status_200_is_no_table_without_rows(
    body: bytes,
) -> None:
    reason, message = refusal_of(body)
    assert (reason, "begins as HTML" in message) == ("not_csv", True)


def test_the_columns_of_a_header_are_limited() -> None:
    most = ",".join("x" * MAX_COLUMNS).encode()
    assert read(most, CSV).count == 0
    assert refusal_of(most + b",x") == ("not_csv", "it has more than 10000 columns")
    million = b",".join([b"x"] * 10**6)
    assert refusal_of(million)[0] == "not_csv"


def test_a_row_of_a_million_columns_is_rejected_alone() -> None:
    body = b"a,b\n1,2\n" + b",".join([b"x"] * 10**6) + b"\n3,4\n"
    assert csv_records(body) == [
        {"a": "1", "b": "2"},
        Unmapped("", "row_length"),
        {"a": "3", "b": "4"},
    ]


@pytest.mark.parametrize("format_", [CSV, JSONL])
def test_a_cell_of_a_gibibyte_ends_the_reading_early(format_: ResponseFormat) -> None:
    noted: list[int] = []
    body = bomb(1024)
    source = rows_module._RowSource(body, format_, None, 2**31)
    lines = source.lines(lambda part: noted.append(len(part)))
    with pytest.raises(SyncFailed) as caught:
        list(source.records(lines))
    assert caught.value.reason in {"not_csv", "not_jsonl"}
    assert sum(noted) < 2 * MAX_CHARACTERS


def test_a_cell_of_many_lines_is_as_long_as_one_of_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(rows_module, "MAX_CHARACTERS", 100)
    assert csv_records(b'a\n"' + b"x\n" * 40 + b'"\n') == [{"a": "x\n" * 40}]
    reason, message = refusal_of(b'a\n1\n"' + b"x\n" * 60 + b'"\n')
    assert reason == "not_csv"
    assert "more than 100 characters" in message


def test_a_long_cell_is_read_whatever_the_limit_of_the_csv_module() -> None:
    limit = csv.field_size_limit(1000)
    try:
        assert csv_records(b"a\n" + b"x" * 300_000) == [{"a": "x" * 300_000}]
    finally:
        csv.field_size_limit(limit)


# ── JSON Lines ───────────────────────────────────────────────────────────────────────

values = st.none() | st.booleans() | st.integers(-(2**63), 2**63) | cells
objects = st.dictionaries(cells, values | st.lists(values, max_size=3), max_size=4)


@given(st.lists(objects, max_size=6), st.sampled_from(["\n", "\r\n", "\n\n"]))
def test_any_json_lines_are_read_as_they_were_written(
    documents: list[dict[str, object]], end: str
) -> None:
    body = end.join(map(json.dumps, documents)).encode()
    assert records(body, JSONL) == documents
    assert records(gzip.compress(body + end.encode()), JSONL) == documents


@pytest.mark.parametrize(
    ("body", "number"),
    [
        (b"<html>", 1),
        (b'{"a": 1}\n\n{"a": 2', 3),
        (b'{"a": 1}\n[1]', 2),
        (b'{"a": 1} {"a": 2}', 1),
        (b'[\n{"a": 1}\n]', 1),
        (b'{"a": NaN}', 1),
        (b"\0", 1),
    ],
)
def test_the_line_that_is_no_object_is_named(body: bytes, number: int) -> None:
    reason, message = refusal_of(body, JSONL)
    assert reason == "not_jsonl"
    assert f"line {number} is not" in message


def test_a_line_that_is_too_deep_is_named_so() -> None:
    assert refusal_of(b'{"a":' * 100_000, JSONL)[0] == "too_deep"


# ── batches ──────────────────────────────────────────────────────────────────────────


def test_records_come_some_at_a_time_and_in_order() -> None:
    body = b"n\n" + b"".join(b"%d\n" % number for number in range(2500))
    whole = read(body, CSV)
    batches = list(whole.batches())
    assert [len(batch) for batch in batches] == [1000, 1000, 500]
    assert [record["n"] for batch in batches for record in batch] == [  # type: ignore[index]
        str(number) for number in range(2500)
    ]
    assert whole.digest == read(gzip.compress(body), CSV).digest
    assert whole.digest != read(body + b"1\n", CSV).digest


def test_long_records_come_in_smaller_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows_module, "_MAX_BATCH_CHARACTERS", 1000)
    body = b"n\n" + (b"x" * 399 + b"\n") * 5
    assert [len(batch) for batch in read(body, CSV).batches()] == [3, 2]


@pytest.mark.parametrize("format_", [CSV, JSONL])
def test_the_lease_is_extended_while_lines_without_a_record_are_read(
    format_: ResponseFormat,
) -> None:
    parts = 3
    body = gzip.compress(b"\n" * parts * 64 * 1024)
    calls: list[None] = []
    response = Response(200, body=body)
    whole = read_rows(response, format_, MEBIBYTE, lambda: calls.append(None))
    assert len(calls) == parts
    assert list(whole.batches()) == []
    assert len(calls) == 2 * parts
