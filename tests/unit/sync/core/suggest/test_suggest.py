"""Suggesting a line: values, keys, the host's models, hostile samples."""

import json
import time
from dataclasses import replace
from typing import Any

import jmespath
import pytest

from outkey.foundation.core.errors import SyncFailed
from outkey.foundation.core.origin import Location, parse_base_url
from outkey.sending.core.request.message import ResponseHeaders
from outkey.sync.core.line.line import Pagination, Paging, Sync, SyncLine, Transform
from outkey.sync.core.mapping.records import FieldKind, HostField
from outkey.sync.core.paging.response import read_json
from outkey.sync.core.suggest.names import column_name, quoted_name, snake_case
from outkey.sync.core.suggest.suggest import Sample, Suggestion, default_target, suggest
from outkey.sync.core.suggest.values import guess_transform
from unit.response_shapes import ORIGIN

LINE = SyncLine("parts", "acme", "GET", "/parts")


def sample(document: object, path: str = "/parts", **headers: str) -> Sample:
    pairs = tuple((name.replace("_", "-"), value) for name, value in headers.items())
    return Sample(
        read_json(json.dumps(document)),
        ResponseHeaders(pairs),
        Location(parse_base_url(ORIGIN).origin, path),
        replace(LINE, path=path),
    )


def suggested(document: object, path: str = "/parts", **headers: str) -> Suggestion:
    return suggest(sample(document, path, **headers))


def column(name: str, *values: object) -> dict[str, Any]:
    """Return the one field that is suggested for records with this value."""
    records = [{"id": number, name: value} for number, value in enumerate(values)]
    facts: Any = suggested(records).facts()
    found = [field for field in facts["fields"] if field["api"] != "id"]
    assert len(found) == 1, facts["why"]
    field: dict[str, Any] = found[0]
    return field


# ── values ────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("name", "values", "transform", "options"),
    [
        ("day", ["2026-01-31", None, ""], "date", {}),
        ("day", ["2026-01-31", "2026-01-31T10:00:00Z"], "datetime", {}),
        ("day", ["0000-00-00"], "text", {}),
        ("at", ["2026-01-31 10:00:00"], "datetime", {}),
        ("day", ["31.12.26", "1.2.27"], "text", {}),
        ("day", ["12/31/26"], "date", {"format": "%m/%d/%y"}),
        ("geburtsdatum", ["31.12.1951"], "date", {"format": "%d.%m.%Y"}),
        ("birthdate", ["31.12.1951"], "date", {"format": "%d.%m.%Y"}),
        ("mark", ["31.12.2026"], "text", {}),
        ("mark", ["31 Dec 2026"], "text", {}),
        ("mark", ["2026/12/31"], "text", {}),
        ("firmware", ["4.1.15", "4.2.1"], "text", {}),
        ("update", ["4.1.9015"], "text", {}),
        ("day", ["12/31/2026"], "date", {"format": "%m/%d/%Y"}),
        ("day", ["31/12/2026"], "date", {"format": "%d/%m/%Y"}),
        ("day", ["31/12/2026", "12/31/2026"], "text", {}),
        ("day", ["31/12/2026", "31.12.2026"], "text", {}),
        ("at", ["31.12.2026 10:30"], "datetime", {"format": "%d.%m.%Y %H:%M"}),
        ("at", ["31.12.2026 10:30:05"], "datetime", {"format": "%d.%m.%Y %H:%M:%S"}),
        (
            "at",
            ["01/02/2026 10:30 PM"],
            "datetime",
            {"format": "%m/%d/%Y %I:%M %p"},
        ),
        ("day", ["2026/12/31"], "date", {"format": "%Y/%m/%d"}),
        ("day", ["31 Dec 2026"], "date", {"format": "%d %b %Y"}),
        (
            "at",
            ["Thu, 31 Dec 2026 10:00:00 GMT"],
            "datetime",
            {"format": "%a, %d %b %Y %H:%M:%S GMT"},
        ),
        ("due_date", ["20261231"], "date", {"format": "%Y%m%d"}),
        ("turnover", ["20261231"], "number", {}),
        ("created", [1767225600], "datetime", {"format": "unix"}),
        ("created", [1767225600000], "datetime", {"format": "unix_ms"}),
        ("population", [1767225600], "number", {}),
        ("price", ["9.90", "10"], "decimal", {}),
        ("price", ["9,90", "1.000,00"], "decimal", {"decimal_mark": ","}),
        ("price", ["1,000.00"], "text", {}),
        ("price", [9], "decimal", {}),
        ("price", ["9"], "decimal", {}),
        ("seats", ["9"], "number", {}),
        ("seats", ["09"], "text", {}),
        ("phone", ["49431123"], "text", {}),
        ("version", ["1.2"], "text", {}),
        ("ratio", [1, 2.5], "decimal", {}),
        ("ok", [True, None], "boolean", {}),
        ("ok", ["yes", "No"], "boolean", {}),
        ("ok", ["0", "1"], "boolean", {}),
        ("is_open", ["0"], "boolean", {}),
        ("grade", ["0"], "number", {}),
        ("grade", ["y"], "text", {}),
        ("ok", ["J", "N"], "choice", {"J": "yes", "N": "no"}),
        ("aktiv", ["Ja"], "choice", {"ja": "yes", "nein": "no", "Ja": "yes"}),
        ("answer", ["ja"], "text", {}),
        ("size", [1, "L"], "text", {}),
        ("flagged", [True, 0], "text", {}),
        ("empty", ["", ""], "text", {}),
        ("long", ["9" * 5000], "text", {}),
        ("big", [10**30], "number", {}),
    ],
)
def test_a_transform_is_chosen_by_all_values_and_the_name(
    name: str, values: list[object], transform: str, options: dict[str, str]
) -> None:
    field = column(name, *values)
    assert (field["transform"], field["options"]) == (transform, options), field["why"]


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("day", "31.12.2026", "31.12.2026 becomes 2026-12-31"),
        ("created", 1767225600, "1767225600 becomes 2026-01-01T00:00:00+00:00"),
        ("price", "1.000,50", "1.000,50 becomes 1000.50"),
        ("is_open", "0", "0 becomes false"),
        ("aktiv", "Ja", "Ja becomes yes"),
    ],
)
def test_a_suggestion_that_changes_values_says_so(
    name: str, value: object, shown: str
) -> None:
    assert shown in column(name, value)["why"]


@pytest.mark.parametrize(
    ("name", "value"),
    [("day", "2026-12-31"), ("price", "9.90"), ("ok", True), ("is_ok", "true")],
)
def test_a_suggestion_that_changes_nothing_has_no_example(
    name: str, value: object
) -> None:
    assert "becomes" not in column(name, value)["why"]


def test_a_text_that_may_be_a_date_stays_a_text_and_says_what_to_choose() -> None:
    field = column("day", "31.12.26")
    assert field["transform"] == "text"
    assert "choose the transform date with the format %d.%m.%y" in field["why"]


def test_a_date_of_the_host_is_read_although_the_name_says_nothing() -> None:
    host = HostField("mark", "Mark", FieldKind.DATE)
    records = [{"id": 1, "mark": "31.12.26"}, {"id": 2, "mark": ""}]
    facts: Any = suggest(replace(sample(records), host_fields=(host,))).facts()
    assert [(f["transform"], f["options"]) for f in facts["fields"]] == [
        ("date", {"format": "%d.%m.%y"})
    ]


@pytest.mark.parametrize(
    ("name", "value", "part"),
    [
        ("day", "03.04.2026", "may be the other way round"),
        ("amount", "1,234", "may separate thousands"),
        ("at", "2026-01-01T10:00:00", "count as UTC"),
        ("at", "/Date(1767225600000)/", "no transform reads: use a script"),
        ("amount", "1,234.50", "commas no transform reads"),
    ],
)
def test_what_may_be_read_wrongly_is_said(name: str, value: str, part: str) -> None:
    assert part in column(name, value)["why"]


def test_numbers_of_a_gateway_without_json_are_decimals() -> None:
    assert guess_transform("x", [1.5, float("nan")]).transform is Transform.TEXT


# ── names ─────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("customerId", "customer_id"),
        ("HTMLTitle", "html_title"),
        ("Straße & Größe", "strasse_groesse"),
        ("été", "ete"),
        ("株式", ""),
        ("__x--y__", "x_y"),
    ],
)
def test_columns_are_in_snake_case(text: str, name: str) -> None:
    assert snake_case(text) == name


def test_columns_are_unique_short_and_not_those_of_outkey() -> None:
    assert column_name(("archived_at",), ()) == "api_archived_at"
    assert column_name(("2nd",), ()) == "api_2nd"
    assert column_name(("株",), ()) == "field"
    assert column_name(("attributes", "name"), {"name"}) == "attributes_name"
    assert column_name(("id",), {"id", "id_2"}) == "id_3"
    long = column_name(("x" * 100,), ())
    assert len(long) == 63
    assert column_name(("x" * 100,), {long}) == "x" * 61 + "_2"


@pytest.mark.parametrize("name", ['a"b', "a\\b", "a.b", "ä", "\x00", "\ud800", "", "`"])
def test_a_name_is_quoted_as_jmespath_needs_it(name: str) -> None:
    from outkey.foundation.adapters.paths_jmespath import JmespathCompiler

    find = JmespathCompiler().compile(quoted_name(name), field="api")
    assert find({name: 7}) == 7


def test_a_line_without_a_target_gets_a_table() -> None:
    assert default_target("My Parts") == "table:my_parts"
    assert default_target("2 parts") == "table:t_2_parts"
    assert default_target("株") == "table:records"
    assert len(default_target("x" * 99)) == len("table:") + 58
    assert len(default_target("2" * 99)) == len("table:") + 58


# ── records, pages and keys ───────────────────────────────────────────────────────────


def test_members_of_a_list_that_are_not_objects_are_left_out() -> None:
    found = suggested([{"id": 1}, None, 7])
    assert found.records == "[?type(@) == 'object']"
    assert "omitted" in found.records_why


def test_rows_without_names_are_numbered() -> None:
    found = suggested({"rows": [[1, "a"], [2, "b"]], "columns": ["only one"]})
    assert found.records == "rows[*].{column_1: [0], column_2: [1]}"
    wide = suggested([list(range(500))])
    assert len(wide.records) < 1100


def test_an_object_of_objects_that_differ_is_one_record() -> None:
    found = suggested({"a1": {"x": 1, "y": 2}, "b2": {"z": 1}})
    assert found.records == "[@]"
    assert [field.mapping.api for field in found.fields] == ["a1.x", "a1.y", "b2.z"]


def test_the_key_of_another_record_is_not_the_key() -> None:
    found = suggested([{"customer": {"id": 1}, "text": "a"}, {"customer": {"id": 2}}])
    assert found.keys == ()
    assert "enter the key yourself" in found.keys_why


def test_a_key_that_only_ends_like_one_is_to_be_checked() -> None:
    found = suggested([{"booking_number": "a"}, {"booking_number": "b"}])
    assert found.keys == ("booking_number",)
    assert "check that this field identifies" in found.keys_why
    assert suggested([{"country_code": "a"}, {"country_code": "b"}]).keys == ()


def test_fields_that_are_null_or_missing_in_a_record_are_no_key() -> None:
    assert suggested([{"id": 1}, {"id": None}]).keys == ()
    assert suggested([{"id": 1}, {"id": 1}]).keys == ()
    same = {"order_id": 1, "position": 1}
    assert suggested([same, same]).keys == ()


def test_a_next_url_at_another_origin_is_not_followed() -> None:
    found = suggested({"data": [{"id": 1}], "next": "https://other.example/x?token=1"})
    assert found.pagination == Pagination()
    assert "another origin" in found.pagination_why
    link = suggested([{"id": 1}], Link='<https://other.example/?page=2>; rel="next"')
    assert link.pagination.kind is Paging.PAGE
    broken = suggested({"data": [{"id": 1}], "next": "http://[::1?"})
    assert broken.pagination == Pagination()


def test_a_cursor_without_a_known_parameter_is_a_guess() -> None:
    found = suggested({"items": [{"id": 1}], "next": "100"}, "/parts?q=1")
    assert found.pagination.position_parameter == "cursor"
    assert "is a guess" in found.pagination_why
    assert found.is_paging_assumed
    sent = suggested({"items": [{"id": 1}], "next": "100"}, "/parts?after=&limit=1")
    assert sent.pagination.position_parameter == "after"
    assert "a guess" not in sent.pagination_why
    assert not sent.is_paging_assumed
    snake = suggested({"items": [{"id": 1}], "next_page_token": ""})
    assert snake.pagination.position_parameter == "page_token"


def test_what_looks_like_paging_and_is_not() -> None:
    documents: list[dict[str, object]] = [
        {"data": [{"id": 1}], "next": True},
        {"data": [{"id": 1}], "cursor": 0},
        {"data": [{"id": 1}], "after": None},
        {"data": [{"id": 1}], "next_page": None},
        {"data": [{"id": 1}], "page": 1},
        {"data": [{"id": 1}], "total": 1, "per_page": 100},
        {"data": [{"id": 1}], "total": True},
        {"data": [{"id": 1}], "next": {"href": "/parts{?page}"}},
        {"data": [{"id": 1}], "_links": {"self": {"href": "/parts"}}},
    ]
    for document in documents:
        assert suggested(document).pagination == Pagination(), document


def test_a_full_page_without_paging_is_pointed_out() -> None:
    found = suggested([{"id": number} for number in range(100)])
    assert "100 records may be a full page" in found.pagination_why
    assert found.is_paging_assumed
    assert not suggested([{"id": 1}]).is_paging_assumed


def test_totals_in_headers_count_too() -> None:
    found = suggested([{"id": 1}], X_Total_Count="40")
    assert found.pagination.position_parameter == "page"
    assert "1 of 40" in found.pagination_why
    assert found.is_paging_assumed


def test_every_sentence_names_what_it_is_about() -> None:
    records = [
        {"id": number, "updated_at": "2026-01-31T10:00:00Z", "lines": []}
        for number in range(100)
    ]
    found = suggested({"items": records}, X_Total_Count="400")
    assert found.count == 100
    place, pages, keys, lists, changes = found.sentences()
    assert place == "Records: a list of 100 objects"
    assert pages.startswith("Pages: the sample has 100 of 400 records, but")
    assert keys == "id: unique among 100 records, and named like a key"
    assert lists == "lists, which can become children of the record: lines"
    assert changes.startswith("updated_at has the time of the last change")
    assert changes.endswith(
        "enter that parameter as Parameter of changes, and updated_at as Field of"
        " changes"
    )
    written = found.document_notes()[-1]
    assert written.endswith(
        'add incremental = { parameter = "updated_since", field = "updated_at" }'
    )
    assert found.facts()["why"]["notes"][-1] == written  # type: ignore[index]
    keyless = suggested([{"text": "a"}, {"text": "a"}])
    assert keyless.sentences()[2].startswith("Key: no field is unique")


def test_what_the_line_has_already_stays() -> None:
    pages = Pagination(Paging.PAGE, 5, "n", "p")
    sync = Sync(
        target="file:x.csv",
        records="a.b",
        pagination=pages,
        query=(("p", "1"), ("q", "2")),
        body='{"x": 1}',
        script="def transform(record): return record",
        schedule="0 6 * * *",
    )
    line = replace(LINE, sync=sync)
    records = [{"id": 1}]
    found = suggest(
        replace(
            sample({"next": "/parts?page=2", "a": {"b": records}}),
            line=line,
            records=records,
            target=sync.target,
        )
    )
    assert (found.records, found.pagination) == ("a.b", pages)
    assert any("script of the line was not run" in note for note in found.notes)
    assert any("write {position} there" in note for note in found.notes)
    made = found.completed_line(line).sync
    assert made is not None
    assert (made.query, made.schedule, made.target) == (
        (("q", "2"),),
        "0 6 * * *",
        "file:x.csv",
    )
    assert made.mappings[0].required


# ── the host's own models ─────────────────────────────────────────────────────────────

HOST = (
    HostField("external_id", "", FieldKind.TEXT, required=True),
    HostField("name", "", FieldKind.TEXT, required=True),
    HostField("email", "", FieldKind.TEXT),
    HostField("kind", "", FieldKind.CHOICE, choices=("person", "company")),
    HostField("credit", "", FieldKind.DECIMAL),
    HostField("born_on", "", FieldKind.DATE),
    HostField("owner", "", FieldKind.LINK, target="demo.person"),
    HostField("tags", "", FieldKind.JSON),
    HostField("active", "", FieldKind.BOOLEAN),
    HostField("tenant", "", FieldKind.TEXT, required=True),
)
CONTACT = {
    "id": 7,
    "fullName": "Ada",
    "mail": "a@example.com",
    "type": "Company",
    "credit": "1,50",
    "bornOn": "31.12.1990",
    "owner": {"id": 3},
    "tags": ["a"],
    "active": "perhaps",
    "more": 1,
}


def onto_host(*records: dict[str, object], hosts: tuple[HostField, ...] = HOST) -> Any:  # noqa: ANN401
    made = replace(sample(list(records)), host_fields=hosts, target="demo.contact")
    return suggest(made).facts()


def test_fields_are_mapped_onto_the_fields_of_a_model_by_name() -> None:
    facts = onto_host(CONTACT, CONTACT | {"id": 8, "type": "person"})
    fields = {
        field["host"]: (field["api"], field["transform"], field["options"])
        for field in facts["fields"]
    }
    assert fields == {
        "external_id": ("id", "text", {}),
        "name": ("fullName", "text", {}),
        "email": ("mail", "text", {}),
        "kind": ("type", "choice", {"Company": "company", "person": "person"}),
        "credit": ("credit", "decimal", {"decimal_mark": ","}),
        "born_on": ("bornOn", "date", {"format": "%d.%m.%Y"}),
        "tags": ("tags", "as_is", {}),
    }
    assert facts["keys"] == ["external_id"]
    notes = " | ".join(facts["why"]["notes"])
    assert "owner is a link to demo.person" in notes
    assert "active has the same name as active, but does not take" in notes
    assert "the model requires tenant" in notes
    assert "without a field of the model: owner.id, active, more" in notes


def test_choices_that_the_model_has_are_texts_and_others_are_left_out() -> None:
    (host,) = (field for field in HOST if field.name == "kind")
    as_they_are = onto_host({"id": 1, "kind": "person"}, hosts=(host,))
    assert as_they_are["fields"][0]["transform"] == "text"
    other = onto_host({"id": 1, "kind": "robot"}, hosts=(host,))
    assert other["fields"] == []
    assert "is not mapped to a field of the model" in other["why"]["keys"]


def test_a_table_of_words_fits_a_text() -> None:
    hosts = (HostField("id", "", FieldKind.NUMBER), HostField("ok", "", FieldKind.TEXT))
    facts = onto_host({"id": 1, "ok": "ja"}, {"id": 2, "ok": "nein"}, hosts=hosts)
    assert facts["fields"][1]["transform"] == "choice"


def test_more_fields_than_a_note_names_are_counted_by_dots() -> None:
    wide = {f"f{number}": number for number in range(30)}
    facts = onto_host(wide | {"id": 1})
    assert any(note.endswith(", …") for note in facts["why"]["notes"])


# ── hostile samples ───────────────────────────────────────────────────────────────────


def nested(depth: int) -> dict[str, object]:
    document: dict[str, object] = {"leaf": 1}
    for _ in range(depth):
        document = {"deeper": document}
    return document


@pytest.mark.parametrize(
    ("document", "part"),
    [
        ([{f"f{n}": n for n in range(10_000)}] * 20, "only the first 500"),
        ([{f"f{n}": n for n in range(600)}], "only the first 500"),
        ([{"id": 1, "tree": nested(80)}], "more than 6 levels"),
        (nested(80), ""),
        ([{"id": n, "text": "x" * 200_000} for n in range(15)], ""),
        ([{"id": n} for n in range(9000)], "only the first 200 records"),
        ([{"a": 1}, {"a": {"b": 2}}, {"a": [3]}], "of several kinds: a"),
        ([{"x" * 10_000: 1, "id": 2}], ""),
        ({f"k{n}": {"id": n} for n in range(5000)}, ""),
        ({f"k{n}": [n] for n in range(5000)}, ""),
        ([[]], ""),
        ([], ""),
        ([1, 2, None, "x"], ""),
        ({"a": {"b": {"c": {"d": {"e": {"f": {"g": [{"id": 1}]}}}}}}}, ""),
    ],
)
def test_a_hostile_sample_ends_quickly(document: object, part: str) -> None:
    made = sample(document)
    began = time.thread_time()  # other processes do not count
    found = suggest(made)
    assert time.thread_time() - began < 2
    assert len(found.fields) <= 500
    assert part in " | ".join(found.notes)
    assert len(json.dumps(found.facts())) < 200_000
    assert all(len(note) < 1500 for note in found.notes)


@pytest.mark.parametrize("document", [7, "text", None, True, {}])
def test_a_response_without_records_is_a_plain_error(document: object) -> None:
    with pytest.raises(SyncFailed, match="has no records") as refused:
        suggested(document)
    assert refused.value.reason == "not_a_list"


def test_an_empty_list_says_nothing_about_fields() -> None:
    found = suggested({"data": []})
    assert (found.records, found.fields, found.keys) == ("data", (), ())
    assert "the list is empty" in found.records_why


# ── columns and values ────────────────────────────────────────────────────────────────


def found(document: object, suggestion: Suggestion) -> object:
    return jmespath.search(suggestion.records, document)


def test_rows_in_series_are_records_with_the_names_of_their_columns() -> None:
    rows = [["2026-01-01T00:00:00Z", "a", 1], ["2026-01-02T00:00:00Z", "b", 2]]
    series = [
        {"name": "cpu", "columns": ["time", "host", "load"], "values": rows},
        {"name": "cpu", "columns": ["time", "host", "load"], "values": rows[:1]},
    ]
    document = {"results": [{"statement_id": 0, "series": series}]}
    suggestion = suggested(document, "/query")
    assert suggestion.records == (
        "results[].series[].values[].{time: [0], host: [1], load: [2]}"
    )
    assert found(document, suggestion) == [
        {"time": row[0], "host": row[1], "load": row[2]} for row in [*rows, rows[0]]
    ]
    assert suggestion.count == 3
    assert {field.mapping.api for field in suggestion.fields} == {
        "time",
        "host",
        "load",
    }


@pytest.mark.parametrize(
    ("columns", "rows"),
    [
        ({"columns": ["id", "name"]}, "values"),
        ({"columns": [{"name": "id", "type": "int"}, {"name": "name"}]}, "data"),
        ({"meta": [{"name": "id"}, {"name": "name"}]}, "data"),
        ({"header": ["id", "name"]}, "rows"),
    ],
)
def test_columns_beside_rows_give_their_names(
    columns: dict[str, object], rows: str
) -> None:
    document = columns | {rows: [[1, "a"], [2, "b"]]}
    suggestion = suggested(document)
    assert suggestion.records == f"{rows}[*].{{id: [0], name: [1]}}"
    assert suggestion.keys == ("id",)


@pytest.mark.parametrize(
    "document",
    [
        {"results": [{"statement_id": 0}], "id": 1},
        {"results": [{"series": [{"columns": ["a", "a"], "values": [[1, 2]]}]}]},
        {"results": [{"series": [{"columns": [], "values": []}]}]},
        {"results": [{"series": [{"columns": ["a"], "values": [1]}]}]},
        {"a": [{"b": [{"c": [{"d": [{"e": [{"f": [{"g": [{}]}]}]}]}]}]}]},
        {"a": [{"x": [{"columns": ["a"], "values": [[1]]}], "y": [{"z": 1}]}]},
    ],
)
def test_what_is_no_table_in_series_is_read_as_before(document: object) -> None:
    assert "values[]" not in suggested(document).records


# ── keys ──────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("records", "key"),
    [
        ([{"name": "a", "hash": "f00"}, {"name": "b", "hash": "ba7"}], "hash"),
        ([{"name": "a", "torrentId": 7}, {"name": "b", "torrentId": 8}], "torrent_id"),
        (
            [
                {"name": "a", "content_sha256": "x"},
                {"name": "b", "content_sha256": "y"},
            ],
            "content_sha256",
        ),
        ([{"name": "a", "parent_id": 7}, {"name": "b", "parent_id": 8}], "name"),
        ([{"name": "a", "torrentId": 7}, {"name": "b", "torrentId": 7}], "name"),
        ([{"name": "a", "id": 7, "infohash": "x"}], "id"),
        ([{"name": "a", "paid": 7}, {"name": "b", "paid": 8}], "name"),
    ],
)
def test_an_id_or_a_hash_is_a_better_key_than_a_name(
    records: list[dict[str, object]], key: str
) -> None:
    assert suggested(records, "/things").keys == (key,)


# ── the cursor that was given ─────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("path", "member", "parameter"),
    [
        ("/parts?cursor=abc", "next_batch", "cursor"),
        ("/parts?since=s72595", "next_batch", "since"),
        ("/parts?since=", "next_batch", "since"),
        ("/parts?limit=5&marker=x", "next_cursor", "marker"),
        ("/parts?since=2026-01-01", "next_batch", "from"),
        ("/parts?since=2026-01-01&cursor=x", "next_batch", "cursor"),
        ("/parts?after=x", "endMarker", "after"),
    ],
)
def test_the_parameter_of_a_cursor_is_the_one_of_the_request(
    path: str, member: str, parameter: str
) -> None:
    document = {"items": [{"id": 1}], member: "s9"}
    pagination = suggested(document, path).pagination
    assert (pagination.kind, pagination.cursor) == (Paging.CURSOR, member)
    assert pagination.position_parameter == parameter


def test_a_member_that_only_looks_like_a_cursor_is_none_without_a_request_for_it() -> (
    None
):
    document = {"items": [{"id": 1}], "end_marker": "s9"}
    assert suggested(document).pagination.kind is Paging.NONE
