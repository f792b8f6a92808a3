import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from zoneinfo import ZoneInfo

import jmespath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from outkey.foundation.adapters.paths_jmespath import JmespathCompiler
from outkey.foundation.core.errors import ConfigError, SyncFailed
from outkey.foundation.core.findings.checks import Level
from outkey.foundation.core.stored_values import OddText
from outkey.sync.core.line.checks import line_findings
from outkey.sync.core.line.line import (
    Direction,
    FieldMapping,
    Gone,
    Incremental,
    Pagination,
    Paging,
    Sync,
    SyncLine,
    Transform,
    Writes,
)
from outkey.sync.core.line.templates import fill_body
from outkey.sync.core.mapping.mapping import (
    Unmapped,
    fill_path,
    map_incoming,
    map_outgoing,
    nest_values,
    resolve_transform,
)
from outkey.sync.core.mapping.records import FieldKind, HostField
from outkey.sync.core.mapping.transforms import MappingContext
from outkey.sync.core.paging.response import (
    greater_value,
    page_fingerprint,
    read_json,
    records_in,
    size_fault,
)

T = Transform
MEANS = MappingContext(ZoneInfo, {"x": {"7": 70}})
NOON = datetime(2026, 7, 1, 12, tzinfo=UTC)


def mapping(transform: Transform, host: str = "x", **values: object) -> FieldMapping:
    options = {name: str(text) for name, text in values.pop("options", {}).items()}
    return FieldMapping("x", host, transform, options=options, **values)


def came(transform: Transform, value: object, **options: str) -> object:
    """Return what a value becomes, or the reason why not."""
    row = map_incoming([mapping(transform, options=options)], [value], MEANS)
    return row.reason if isinstance(row, Unmapped) else row["x"]


@pytest.mark.parametrize(
    ("transform", "value", "made"),
    [
        (T.AS_IS, [1, {"a": None}], [1, {"a": None}]),
        (T.AS_IS, "a\x00b", "unstorable_character"),
        (T.AS_IS, [{"\ud800": 1}], "unstorable_character"),
        (T.TEXT, "", ""),
        (T.TEXT, "Müller", "Müller"),
        (T.TEXT, 7, "7"),
        (T.TEXT, Decimal("1.50"), "1.50"),
        (T.TEXT, True, "true"),
        (T.TEXT, False, "false"),
        (T.TEXT, None, None),
        (T.TEXT, ["a"], "no_text"),
        (T.TEXT, "\ud800", "unstorable_character"),
        (T.NUMBER, 7, 7),
        (T.NUMBER, " -7 ", -7),
        (T.NUMBER, Decimal("7.0"), 7),
        (T.NUMBER, 7.0, 7),
        (T.NUMBER, "", None),
        (T.NUMBER, Decimal("7.5"), "no_whole_number"),
        (T.NUMBER, float("nan"), "no_whole_number"),
        (T.NUMBER, Decimal("1e999999"), "no_whole_number"),
        (T.NUMBER, 10**50, "no_whole_number"),
        (T.NUMBER, "7.0", "no_whole_number"),
        (T.NUMBER, "٧", "no_whole_number"),
        (T.NUMBER, True, "no_whole_number"),
        (T.NUMBER, [], "no_whole_number"),
        (T.DECIMAL, Decimal("0.1"), Decimal("0.1")),
        (
            T.DECIMAL,
            "1234567890.123456789012345678",
            Decimal("1234567890.123456789012345678"),
        ),
        (T.DECIMAL, 3, Decimal(3)),
        (T.DECIMAL, "1e3", Decimal("1e3")),
        (T.DECIMAL, "1,5", "no_number"),
        (T.DECIMAL, "NaN", "no_number"),
        (T.DECIMAL, "1e999", "no_number"),
        (T.DECIMAL, False, "no_number"),
        (T.DECIMAL, {}, "no_number"),
        (T.DATE, "2026-07-01", date(2026, 7, 1)),
        (T.DATE, "2026-07-01T23:30:00+00:00", date(2026, 7, 1)),
        (T.DATE, date(2026, 7, 1), date(2026, 7, 1)),
        (T.DATE, "2026-02-30", "no_date"),
        (T.DATE, "yesterday", "no_date"),
        (T.DATE, 20260701, "no_date"),
        (T.DATETIME, "2026-07-01T12:00:00Z", NOON),
        (T.DATETIME, "2026-07-01T14:00:00+02:00", NOON),
        (T.DATETIME, "2026-07-01T12:00:00", NOON),
        (T.DATETIME, NOON, NOON),
        (T.DATETIME, date(2026, 7, 1), datetime(2026, 7, 1, tzinfo=UTC)),
        (T.DATETIME, "0001-01-01T00:00:00+23:00", "no_date"),
        (T.DATETIME, "12:00", "no_date"),
        (T.DATETIME, True, "no_date"),
        (T.BOOLEAN, True, True),
        (T.BOOLEAN, 0, False),
        (T.BOOLEAN, " Yes", True),
        (T.BOOLEAN, "off", False),
        (T.BOOLEAN, "maybe", "no_yes_or_no"),
        (T.BOOLEAN, 2, "no_yes_or_no"),
        (T.BOOLEAN, [], "no_yes_or_no"),
        (T.LOOKUP, 7, 70),
        (T.LOOKUP, "7", 70),
        (T.LOOKUP, 8, "not_found"),
        (T.LOOKUP, {}, "no_text"),
    ],
)
def test_a_value_becomes_exactly_what_the_host_keeps_or_a_reason(
    transform: Transform, value: object, made: object
) -> None:
    result = came(transform, value)
    assert result == made
    assert type(result) is type(made)


@pytest.mark.parametrize(
    ("transform", "value", "options", "made"),
    [
        (T.DECIMAL, "1.234,50", {"decimal_mark": ","}, Decimal("1234.50")),
        (T.DECIMAL, "1234,5", {"decimal_mark": ","}, Decimal("1234.5")),
        (T.DECIMAL, "1.23", {"decimal_mark": ","}, "no_number"),
        (T.DECIMAL, Decimal("1.23"), {"decimal_mark": ","}, Decimal("1.23")),
        (T.DATE, "01.07.2026", {"format": "%d.%m.%Y"}, date(2026, 7, 1)),
        (T.DATE, "2026-07-01", {"format": "%d.%m.%Y"}, "no_date"),
        (T.DATE, "2026-07-01T23:30:00Z", {"zone": "Europe/Berlin"}, date(2026, 7, 2)),
        (T.DATE, NOON, {}, date(2026, 7, 1)),
        (T.DATETIME, "2026-07-01T14:00:00", {"zone": "Europe/Berlin"}, NOON),
        (
            T.DATETIME,
            "1.7.2026 14:00",
            {"zone": "Europe/Berlin", "format": "%d.%m.%Y %H:%M"},
            NOON,
        ),
        (T.DATETIME, NOON.timestamp(), {"format": "unix"}, NOON),
        (T.DATETIME, int(NOON.timestamp()) * 1000, {"format": "unix_ms"}, NOON),
        (T.DATETIME, str(int(NOON.timestamp())), {"format": "unix"}, NOON),
        (T.DATETIME, True, {"format": "unix"}, "no_date"),
        (T.DATETIME, [], {"format": "unix"}, "no_date"),
        (T.DATETIME, 10**30, {"format": "unix"}, "no_date"),
        (T.DATETIME, Decimal("Infinity"), {"format": "unix"}, "no_date"),
        (T.CHOICE, "A", {"A": "active"}, "active"),
        (T.CHOICE, 1, {"1": "active"}, "active"),
        (T.CHOICE, "B", {"A": "active"}, "unknown_choice"),
        (T.TEMPLATE, {"a": "x", "b": {"c": 7}}, {"template": "{a}-{b.c}"}, "x-7"),
        (T.TEMPLATE, {"a": "x"}, {"template": "{a} {b.c}"}, "x"),
        (T.TEMPLATE, {"a": {"b": 1}}, {"template": "{a}"}, "no_text"),
        (
            T.TEMPLATE,
            {"a": "{b}", "b": "no"},
            {"template": "{a}{}{0}{a!r}"},
            "{b}{}{0}{a!r}",
        ),
    ],
)
def test_options_say_how_a_value_is_read(
    transform: Transform, value: object, options: dict[str, str], made: object
) -> None:
    assert came(transform, value, **options) == made


def test_a_missing_value_is_the_default_or_nothing_or_a_reason() -> None:
    rows = [
        mapping(T.NUMBER, "a", default="7"),
        mapping(T.NUMBER, "b", default=""),
        mapping(T.TEXT, "c", default=""),
    ]
    assert map_incoming(rows, [None, "", None], MEANS) == {"a": 7, "b": None, "c": ""}
    needed = [*rows, mapping(T.TEXT, "d", required=True)]
    refused = map_incoming(needed, [1, 2, "3", None], MEANS)
    assert refused == Unmapped("d", "missing", {"a": 1, "b": 2, "c": "3"})
    assert "3" not in repr(refused)


@pytest.mark.parametrize(
    ("kind", "value", "made"),
    [
        (FieldKind.TEXT, 7, "7"),
        (FieldKind.NUMBER, "7", 7),
        (FieldKind.DATE, "2026-07-01", date(2026, 7, 1)),
        (FieldKind.JSON, {"a": [1]}, {"a": [1]}),
        (FieldKind.LINK, 7, 7),
    ],
)
def test_as_it_is_means_what_the_hosts_field_takes(
    kind: FieldKind, value: object, made: object
) -> None:
    ready = resolve_transform(mapping(T.AS_IS), HostField("x", "X", kind))
    assert map_incoming([ready], [value], MEANS) == {"x": made}


def test_a_constant_is_read_like_any_other_text() -> None:
    constant = mapping(T.CONSTANT, options={"value": "yes"})
    ready = resolve_transform(constant, HostField("x", "X", FieldKind.BOOLEAN))
    assert map_incoming([ready], [None], MEANS) == {"x": True}
    assert resolve_transform(constant, None).default == "yes"


# ── to the API ────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("transform", "value", "options", "sent"),
    [
        (T.AS_IS, Decimal("1.50"), {}, 1.5),
        (T.AS_IS, Decimal("1234567890.123456789"), {}, "1234567890.123456789"),
        (T.TEXT, Decimal("1.50"), {}, "1.50"),
        (T.DECIMAL, Decimal("1.50"), {}, 1.5),
        (T.DECIMAL, Decimal("1084.50"), {"decimal_mark": ","}, "1084,50"),
        (T.DECIMAL, Decimal("1E+3"), {"decimal_mark": ","}, "1000"),
        (T.DATE, date(2026, 7, 1), {}, "2026-07-01"),
        (T.DATE, date(2026, 7, 1), {"format": "%d.%m.%Y"}, "01.07.2026"),
        (T.DATETIME, NOON, {}, "2026-07-01T12:00:00+00:00"),
        (T.DATETIME, NOON, {"zone": "Europe/Berlin"}, "2026-07-01T14:00:00+02:00"),
        (T.DATETIME, NOON, {"format": "unix"}, int(NOON.timestamp())),
        (T.DATETIME, NOON, {"format": "unix_ms"}, int(NOON.timestamp()) * 1000),
        (T.CHOICE, "active", {"A": "active"}, "A"),
        (T.CONSTANT, None, {"value": "erp"}, "erp"),
        (T.TEMPLATE, "Ada", {"template": "Dear {x}"}, "Dear Ada"),
        (T.BOOLEAN, True, {}, True),
        (T.TEXT, None, {}, None),
    ],
)
def test_a_value_is_sent_as_json_has_it(
    transform: Transform, value: object, options: dict[str, str], sent: object
) -> None:
    row = map_outgoing([mapping(transform, options=options)], {"x": value}, MEANS)
    assert row == {"x": sent}
    json.dumps(row)


def test_what_cannot_be_sent_is_named() -> None:
    rows = [mapping(T.NUMBER)]
    assert map_outgoing(rows, {"x": "seven"}, MEANS) == Unmapped("x", "no_whole_number")


def test_dots_make_objects() -> None:
    rows = [
        FieldMapping("name", "n"),
        FieldMapping("address.city", "c"),
        FieldMapping("address.zip", "z"),
    ]
    made = nest_values(rows, {"n": "Ada", "c": "London", "z": "W1"})
    assert made == {"name": "Ada", "address": {"city": "London", "zip": "W1"}}


@pytest.mark.parametrize(
    ("values", "path"),
    [
        ({"id": "7"}, "/contacts/7"),
        ({"id": "a/b?c#d %"}, "/contacts/a%2Fb%3Fc%23d%20%25"),
        ({"id": ".."}, Unmapped("id", "not_for_a_path")),
        ({"id": "a/../b"}, Unmapped("id", "not_for_a_path")),
        ({"id": "..;x"}, Unmapped("id", "not_for_a_path")),
        ({"id": ".. "}, Unmapped("id", "not_for_a_path")),
        ({"id": "%2e%2e"}, Unmapped("id", "not_for_a_path")),
        ({"id": ""}, Unmapped("id", "not_for_a_path")),
        ({}, Unmapped("id", "not_for_a_path")),
        ({"id": "7" * 2000}, "/contacts/" + "7" * 2000),
        ({"id": "7" * 2001}, Unmapped("id", "too_long")),
    ],
)
def test_a_value_stays_one_segment_of_the_path(
    values: Mapping[str, object], path: str | Unmapped
) -> None:
    assert fill_path("/contacts/{id}", values) == path


def test_a_value_in_a_body_stays_a_value() -> None:
    template = {"n": "{name}", "a": ["{age}", "#{age}", 1], "d": "Dear {name}{no}"}
    made = fill_body(template, {"name": '", "admin": "1', "age": 7})
    assert made == {
        "n": '", "admin": "1',
        "a": [7, "#7", 1],
        "d": 'Dear ", "admin": "1',
    }


# ── what an API answers ───────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", "not_json"),
        (b"<html>", "not_json"),
        (b'{"a": 1', "not_json"),
        (b"\xff\xfe\xff", "not_json"),
        (b"[NaN]", "not_json"),
        (b"[1e9999999999999999999]", "not_json"),
        (b"[" + b"9" * 5000 + b"]", "not_json"),
        (b"[" * 200_000, "too_deep"),
    ],
)
def test_what_is_no_json_is_refused_whole(body: bytes, reason: str) -> None:
    with pytest.raises(SyncFailed) as failed:
        read_json(body)
    assert failed.value.reason == reason


def test_numbers_with_a_fraction_stay_exact() -> None:
    assert read_json(b"\xef\xbb\xbf[0.1, 1, 1.10]") == [
        Decimal("0.1"),
        1,
        Decimal("1.10"),
    ]


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        ({"items": None}, "not_a_list"),
        ({"items": {}}, "not_a_list"),
        ({"items": [{}, 1]}, "not_objects"),
    ],
)
def test_records_are_a_list_of_objects(document: object, reason: str) -> None:
    find = JmespathCompiler().compile("items", field="records")
    assert records_in({"items": [{"a": 1}]}, find) == [{"a": 1}]
    with pytest.raises(SyncFailed) as failed:
        records_in(document, find)
    assert failed.value.reason == reason


def deep(levels: int) -> dict[str, object]:
    record: dict[str, object] = {}
    for level in range(levels):
        record = {"a": [record]} if level % 2 else {"a": record}
    return record


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        ({"a": [1, {"b": 2}]}, ""),
        ({str(n): n for n in range(10_000)}, ""),
        ({str(n): n for n in range(10_001)}, "too_many_fields"),
        ({str(n): n for n in range(9_999)} | {"a": [0, 1]}, "too_many_fields"),
        ({"a": [0] * 10_001}, "too_many_fields"),
        (deep(50), ""),
        (deep(5000), "too_deep"),
    ],
)
def test_a_record_has_bounds(record: dict[str, object], reason: str) -> None:
    assert size_fault(record) == reason


@pytest.mark.parametrize(
    ("before", "value", "after"),
    [
        ("", "2026-07-01", "2026-07-01"),
        ("2026-07-01T12:00:00+02:00", "2026-07-01T11:00:00Z", "2026-07-01T11:00:00Z"),
        ("2026-07-01T12:00:00Z", "2026-07-01T11:59:59", "2026-07-01T12:00:00Z"),
        ("9", 10, "10"),
        ("9", Decimal("9.5"), "9.5"),
        ("b", "a", "b"),
        ("a", "b", "b"),
        ("a", None, "a"),
        ("1", True, "1"),
        ("1", [2], "1"),
    ],
)
def test_the_greatest_value_of_a_field_is_remembered(
    before: str, value: object, after: str
) -> None:
    assert greater_value(before, value) == after


@given(
    st.lists(
        st.datetimes(timezones=st.sampled_from([UTC, timezone(timedelta(hours=5))]))
    )
)
def test_the_latest_moment_is_the_same_in_any_order(moments: list[datetime]) -> None:
    found = ""
    for moment in moments:
        found = greater_value(found, moment.isoformat())
    assert not moments or datetime.fromisoformat(found) == max(moments)


def test_a_mark_tells_pages_apart_also_with_odd_characters() -> None:
    assert page_fingerprint([{"a": "\ud800"}]) != page_fingerprint([{"a": "\ud801"}])
    assert page_fingerprint([1]) == page_fingerprint([1])


# ── JMESPath ──────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("expression", ["", "a[", "(" * 1500, "a" * 3000, "f(", "a b"])
def test_an_expression_that_is_none_is_a_configuration_error_at_its_field(
    expression: str,
) -> None:
    with pytest.raises(ConfigError) as failed:
        JmespathCompiler().compile(expression, field="records")
    assert failed.value.field == "records"
    assert failed.value.__cause__ is None


@pytest.mark.parametrize(
    ("expression", "found"),
    [
        ("prices[0]", Decimal("1.5")),
        ("sum(prices)", Decimal("4.0")),
        ("max(prices)", Decimal("2.5")),
        ("max_by(rows, &p).n", "b"),
        ("rows[?p > `1`].n", ["b"]),
        ("to_string(prices[0])", '"1.5"'),
        ("a.b.c", None),
        ("place.city.name", "Bonn"),
        ("length(rows)", 2),
    ],
)
def test_expressions_find_values_and_reckon_with_decimals(
    expression: str, found: object
) -> None:
    document = {
        "prices": [Decimal("1.5"), Decimal("2.5")],
        "place": {"city": {"name": "Bonn"}},
        "rows": [{"n": "a", "p": Decimal("0.5")}, {"n": "b", "p": Decimal("1.5")}],
    }
    assert JmespathCompiler().compile(expression, field="records")(document) == found


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text("abc"),
    lambda part: st.lists(part) | st.dictionaries(st.sampled_from("abc"), part),
)
NAMES = st.lists(st.sampled_from(["a", "b", "c", "_a1"]), min_size=1, max_size=4)


@given(JSON, NAMES)
def test_a_path_of_names_finds_what_the_interpreter_finds(
    document: object, names: list[str]
) -> None:
    path = ".".join(names)
    found = JmespathCompiler().compile(path, field="records")(document)
    assert found == jmespath.search(path, document)


@pytest.mark.parametrize(
    "expression", ["sum(a)", "unknown(a)", "join(',', b)", "avg(c)"]
)
def test_an_expression_that_fails_on_a_value_repeats_nothing_of_it(
    expression: str,
) -> None:
    find = JmespathCompiler().compile(expression, field="records")
    with pytest.raises(SyncFailed) as failed:
        find({"a": "hush-hush", "b": [1], "c": [Decimal(1), 1.5]})
    assert failed.value.reason == "expression"
    assert "hush" not in str(failed.value)
    assert failed.value.__suppress_context__


# ── before a run ──────────────────────────────────────────────────────────────────────

FIELDS = (
    HostField("number", "Number", FieldKind.TEXT, required=True),
    HostField("name", "Name", FieldKind.TEXT),
    HostField("born", "Born", FieldKind.DATE),
    HostField("state", "State", FieldKind.CHOICE, choices=("on", "off")),
    HostField("owner", "Owner", FieldKind.LINK, target="people"),
    HostField("extra", "Extra", FieldKind.JSON),
)
KEY = FieldMapping("id", "number", required=True)


def found_in(
    sync: Sync, method: str = "GET", path: str = "/contacts"
) -> set[tuple[str, str]]:
    line = SyncLine("contacts", "acme", method, path, sync)
    found = line_findings(line, sync, FIELDS, ZoneInfo)
    assert all(one.message and one.hint for one in found)
    return {(one.id, one.field or "") for one in found if one.level is Level.ERROR}


def test_a_line_that_fits_has_no_finding() -> None:
    rows = (
        KEY,
        FieldMapping("n", "name", T.TEMPLATE, options={"template": "{a} {b}"}),
        FieldMapping(
            "born",
            "born",
            T.DATE,
            options={"zone": "Europe/Berlin", "format": "%d.%m.%y"},
        ),
        FieldMapping("s", "state", T.CHOICE, options={"1": "on", "0": "off"}),
        FieldMapping(
            "o", "owner", T.LOOKUP, default="7", options={"target": "t", "field": "f"}
        ),
        FieldMapping("", "extra", T.CONSTANT, options={"value": "x"}),
    )
    body = '{"page": "{position}", "size": "{size}", "since": "{since}"}'
    assert found_in(Sync(mappings=rows, body=body)) == set()


@pytest.mark.parametrize(
    ("row", "field"),
    [
        (FieldMapping("a", "nam"), "host"),
        (FieldMapping("", "name"), "api"),
        (FieldMapping("a", "name", T.DATE), "transform"),
        (FieldMapping("a", "born", T.NUMBER), "transform"),
        (FieldMapping("a", "owner", T.NUMBER), "transform"),
        (FieldMapping("a", "born", default="soon"), "default"),
        (
            FieldMapping("a", "born", T.CONSTANT, options={"value": "soon"}),
            "options.value",
        ),
        (FieldMapping("a", "name", T.CONSTANT), "options.value"),
        (FieldMapping("a", "name", T.TEMPLATE), "options.template"),
        (
            FieldMapping("a", "owner", T.LOOKUP, options={"target": "t"}),
            "options.field",
        ),
        (FieldMapping("a", "state", T.CHOICE), "options"),
        (FieldMapping("a", "state", T.CHOICE, options={"1": "up"}), "options.1"),
        (
            FieldMapping("a", "born", T.DATE, options={"zone": "Mars/Olympus"}),
            "options.zone",
        ),
        (
            FieldMapping("a", "born", T.DATE, options={"zone": "../../etc/passwd"}),
            "options.zone",
        ),
        (FieldMapping("a", "born", T.DATE, options={"format": "%Q"}), "options.format"),
    ],
)
def test_a_field_that_cannot_work_is_found_before_the_run(
    row: FieldMapping, field: str
) -> None:
    assert found_in(Sync(mappings=(KEY, row))) == {("L001", f"fields[1].{field}")}


@pytest.mark.parametrize(
    ("sync", "finding"),
    [
        (
            Sync(pagination=Pagination(Paging.PAGE)),
            ("L002", "pagination.position_parameter"),
        ),
        (Sync(pagination=Pagination(Paging.CURSOR)), ("L003", "pagination.cursor")),
        (Sync(incremental=Incremental("since", "")), ("L004", "incremental.field")),
        (Sync(incremental=Incremental("", "at")), ("L004", "incremental.parameter")),
        (
            Sync(incremental=Incremental(start="-1d")),
            ("L004", "incremental.parameter"),
        ),
        (
            Sync(incremental=Incremental("a", "b", end_parameter="c")),
            ("L071", "incremental.end_parameter"),
        ),
        (Sync(body='{"a": "{until}"}'), ("L071", "body")),
        (
            Sync(incremental=Incremental("a", window="1d", end_parameter="b")),
            ("L070", "incremental.start"),
        ),
        (
            Sync(incremental=Incremental(start="-1d", window="1d", end_parameter="b")),
            ("L070", "incremental.parameter"),
        ),
        (
            Sync(incremental=Incremental("a", start="-1d", window="1d")),
            ("L070", "incremental.end_parameter"),
        ),
        (
            Sync(incremental=Incremental("a", "b", format="%Q")),
            ("L072", "incremental.format"),
        ),
        (
            Sync(
                incremental=Incremental(
                    "a", start="-1d", window="1h", end_parameter="b", format="%Y-%m-%d"
                )
            ),
            ("L072", "incremental.format"),
        ),
        (
            Sync(
                incremental=Incremental("a", "b", start="-1d"),
                gone=Gone.DELETE,
                full_every="7d",
            ),
            ("L073", "incremental.start"),
        ),
        (Sync(body="{"), ("L007", "body")),
        (Sync(body='{"a": "{b}"}'), ("L008", "body")),
    ],
)
def test_pages_and_bodies_are_looked_at(sync: Sync, finding: tuple[str, str]) -> None:
    assert found_in(sync) == {finding, ("L009", "fields")}


@pytest.mark.parametrize(
    ("body", "incremental"),
    [
        ("", Incremental("a", "", "-1d", "1d", "b", "1h", "%Y-%m-%d")),
        ("", Incremental("a", "", "-1d", "1h", "b", "1h", "unix")),
        ('{"a": "{since}"}', Incremental(field="at", start="-1d")),
        (
            '{"a": "{since}", "b": "{until}"}',
            Incremental(start="2026-01-01", window="1w"),
        ),
    ],
)
def test_windows_need_no_field_and_a_body_can_have_their_bounds(
    body: str, incremental: Incremental
) -> None:
    sync = Sync(mappings=(KEY,), body=body, incremental=incremental)
    assert found_in(sync) == set()


def test_only_a_model_can_save_its_records() -> None:
    mapped = Sync(target="table:orders", mappings=(KEY,), writes=Writes.MODEL)
    assert found_in(mapped) == {("L023", "writes")}
    assert ("L023", "writes") not in found_in(replace(mapped, target="contact"))


def test_only_changes_of_a_table_can_be_recorded() -> None:
    mapped = Sync(target="table:orders", mappings=(KEY,), feed=True)
    assert found_in(mapped) == set()
    for target in ("contact", "file:orders.csv"):
        assert ("L025", "feed") in found_in(replace(mapped, target=target))


def test_a_line_that_could_archive_once_only_is_warned_of() -> None:
    sync = Sync(
        mappings=(KEY,), incremental=Incremental("since", "at"), gone=Gone.ARCHIVE
    )
    found = line_findings(
        SyncLine("c", "acme", "GET", "/", sync), sync, FIELDS, ZoneInfo
    )
    assert [(one.id, one.level) for one in found] == [("L005", Level.WARNING)]
    fuller = replace(sync, full_every="7d")
    line = SyncLine("c", "acme", "GET", "/", fuller)
    assert line_findings(line, fuller, FIELDS, ZoneInfo) == []


def pushed(*rows: FieldMapping, **values: str) -> Sync:
    return Sync(Direction.PUSH, mappings=rows, **values)


@pytest.mark.parametrize(
    ("sync", "path", "findings"),
    [
        (pushed(KEY), "/contacts/{number}", set()),
        (
            pushed(FieldMapping("a", "z", T.CONSTANT, options={"value": "1"})),
            "/",
            set(),
        ),
        (pushed(KEY), "/contacts/{id}", {("L008", "path")}),
        (pushed(KEY, body='{"n": "{name}"}'), "/", {("L008", "body")}),
        (pushed(FieldMapping("a[0]", "name")), "/", {("L001", "fields[0].api")}),
        (pushed(FieldMapping("a", "nam")), "/", {("L001", "fields[0].host")}),
        (
            pushed(
                FieldMapping(
                    "a", "owner", T.LOOKUP, options={"target": "t", "field": "f"}
                )
            ),
            "/",
            {("L001", "fields[0].transform")},
        ),
        (
            pushed(FieldMapping("a", "name"), FieldMapping("a.b", "number")),
            "/",
            {("L010", "fields[0].api")},
        ),
    ],
)
def test_a_push_is_looked_at(
    sync: Sync, path: str, findings: set[tuple[str, str]]
) -> None:
    assert found_in(sync, "POST", path) == findings
    assert found_in(sync, "GET", path) == findings | {("L006", "method")}


@given(
    st.sampled_from([t for t in Transform if t is not T.CONSTANT]),
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats()
        | st.decimals()
        | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=5,
    ),
    st.sampled_from(["", "unix", "unix_ms", "%d.%m.%Y"]),
)
def test_whatever_an_api_sends_becomes_a_value_or_a_reason(
    transform: Transform, value: object, pattern: str
) -> None:
    options: dict[str, str] = {"format": pattern, "template": "{a}"}
    row = map_incoming([mapping(transform, options=options)], [value], MEANS)
    assert set(row) == {"x"} if isinstance(row, dict) else row.field == "x"


@pytest.mark.parametrize("transform", [T.AS_IS, T.TEXT, T.TEMPLATE])
def test_a_value_that_the_database_cannot_show_is_rejected_and_not_sent(
    transform: Transform,
) -> None:
    rows = [mapping(transform, options={"template": "{x}"})]
    odd = {"x": OddText("caf\ufffd")}
    refused = map_outgoing(rows, odd, MEANS)
    assert isinstance(refused, Unmapped)
    assert (refused.field, refused.reason) == ("x", "unreadable")


def test_a_constant_is_sent_whatever_the_record_has() -> None:
    rows = [mapping(T.CONSTANT, options={"value": "a"})]
    assert map_outgoing(rows, {"x": OddText("\ufffd")}, MEANS) == {"x": "a"}
