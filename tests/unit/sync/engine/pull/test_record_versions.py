"""Which of two versions of a record is the newer one, and what becomes of the other."""

import json
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from itertools import product
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outkey.sync.core.mapping.records import FieldKind, HostField
from outkey.sync.core.mapping.versions import is_less, newer_rank, version_rank
from outkey.sync.core.paging.response import greater_value
from outkey.sync.core.pairs.pairs import is_host_newer
from unit import application_in_memory
from unit.webhooks.engine.test_webhook_processing import VERSIONED, Working, numbers
from unit.webhooks.engine.test_webhook_reception import LINE

# An older version and a newer one, as senders write them.
NEWER = [
    ("2026-11-17T09:00:00Z", "2026-11-17T09:00:00.500Z"),
    ("2026-11-17T09:00:00.9Z", "2026-11-17T09:00:00.95Z"),
    ("2026-10-25T02:50:00+02:00", "2026-10-25T02:10:00+01:00"),
    ("2026-11-17T10:30:00+02:00", "2026-11-17T09:00:00Z"),
    ("9", "10"),
    (9, 10),
    ("2026-11-17T09:00:00Z", "2026-11-17 09:05:00Z"),
    (9, "10"),
    (Decimal("9.5"), Decimal("1E+1")),
    ("9.5", "1E+1"),
    ("2026-11-17 09:00:00 UTC", "2026-11-17 09:00:01 UTC"),
    ("2026-11-17 09:00:00 UTC", "2026-11-17 10:30:00 +0100"),
    ("Tue, 17 Nov 2026 09:00:00 GMT", "Mon, 23 Nov 2026 09:00:00 GMT"),
    ("Tue, 17 Nov 2026 09:00:00 +0200", "2026-11-17T07:00:01Z"),
    ("2026-11-17", "2026-11-17T00:00:00.000001"),
    ("2026-10", "2026-11"),
    ("01KA8F2Z9QXN4T5V6W7Y8ZABCD", "01KA8F2Z9QXN4T5V6W7Y8ZABCE"),
    ("019a8f2e-1c00-7abc-8def-0123456789ab", "019a8f2e-1c01-7abc-8def-0123456789ab"),
]
EQUAL = [
    ("2026-11-17T09:00:00Z", "2026-11-17T10:00:00.000+01:00"),
    ("2026-11-17T09:00:00Z", "2026-11-17 09:00:00 UTC"),
    ("2026-11-17T09:00:00", "Tue, 17 Nov 2026 09:00:00 -0000"),
    ("2026-11-17T09:00:00Z", datetime(2026, 11, 17, 9, tzinfo=UTC)),
    ("2026-11-17", date(2026, 11, 17)),
    ("10", 10),
    ("10.0", Decimal(10)),
    (10.0, 10),
]
INCOMPARABLE = [
    ("Z", "2026-11-17T09:00:00Z"),
    ("Z", "9"),
    (9, "2026-11-17T09:00:00Z"),
    ("v9", "v10"),
    ("7d793037a0760186", "d41d8cd98f00b204"),
    ("abc", "abd"),
    ("17.11.2026 09:00", "01.12.2026 09:00"),
    ("11/17/2026", "12/01/2026"),
    ("Tue, 31 Nov 2026 09:00:00 GMT", "Tue, 17 Nov 2026 09:00:00 GMT"),
    (None, 1),
    ("", 1),
    (True, 1),
    (float("nan"), 1.0),
    (Decimal("NaN"), Decimal(1)),
    ([1], [2]),
    ("9" * 1001, "1"),
    ("a" * 1001, "b" * 1001),
]
CHANGED = NEWER[:-2]  # a pair compares times and numbers only


def is_older(value: object, other: object) -> bool:
    return is_less(version_rank(value), version_rank(other))


@pytest.mark.parametrize(("older", "newer"), NEWER)
def test_the_later_version_is_newer_however_both_are_written(
    older: object, newer: object
) -> None:
    assert is_older(older, newer)
    assert not is_older(newer, older)


@pytest.mark.parametrize(("first", "second"), EQUAL)
def test_the_same_version_in_another_spelling_is_not_older(
    first: object, second: object
) -> None:
    assert version_rank(first) == version_rank(second) is not None


@pytest.mark.parametrize(("first", "second"), INCOMPARABLE)
def test_of_versions_that_cannot_be_compared_none_is_older(
    first: object, second: object
) -> None:
    assert not is_older(first, second)
    assert not is_older(second, first)


@pytest.mark.parametrize(("older", "newer"), CHANGED)
def test_the_newest_of_a_pair_is_found_by_the_same_order(
    older: object, newer: object
) -> None:
    assert is_host_newer(newer, older)
    assert not is_host_newer(older, newer)


def test_a_fraction_of_a_unix_time_counts_for_a_pair() -> None:
    assert is_host_newer("2026-11-17T09:00:00.6Z", Decimal("1794906000.5"))
    assert not is_host_newer("2026-11-17T09:00:00.4Z", Decimal("1794906000.5"))
    assert not is_host_newer("2026-11-17T09:00:00Z", Decimal("1E+999999"))


def test_a_time_of_the_host_without_a_zone_is_in_the_zone_of_the_host() -> None:
    berlin = ZoneInfo("Europe/Berlin")
    naive = datetime(2026, 11, 17, 10)  # noqa: DTZ001 - as a host without zones has it
    assert not is_host_newer(naive, "2026-11-17T09:00:00Z", berlin)
    assert is_host_newer(naive, "2026-11-17T08:59:59Z", berlin)
    assert version_rank(naive, berlin) == version_rank("2026-11-17T09:00:00Z")


@pytest.mark.parametrize(("older", "newer"), NEWER)
def test_the_cursor_of_a_pull_is_the_newer_version(
    older: object, newer: object
) -> None:
    assert greater_value(greater_value("", older), newer) == str(newer)
    assert greater_value(greater_value("", newer), older) == str(newer)


ZONES = st.timedeltas(timedelta(hours=-23), timedelta(hours=23)).map(
    lambda offset: timezone(timedelta(minutes=offset // timedelta(minutes=1)))
)
MOMENTS = st.datetimes(
    datetime(2, 1, 1),  # noqa: DTZ001 - hypothesis adds the zones
    datetime(9998, 1, 1),  # noqa: DTZ001
    timezones=ZONES,
)
NUMBERS = st.integers() | st.decimals(allow_nan=False, allow_infinity=False)
VERSIONS = (
    NUMBERS
    | NUMBERS.map(str)
    | MOMENTS
    | MOMENTS.map(datetime.isoformat)
    | st.floats()
    | st.dates()
    | st.booleans()
    | st.none()
    | st.text()
    | st.from_regex(r"[0-9A-Za-z]{3}", fullmatch=True)
)


@given(VERSIONS, VERSIONS)
def test_of_two_versions_at_most_one_is_older(first: object, second: object) -> None:
    assert not (is_older(first, second) and is_older(second, first))
    assert not is_older(first, first)
    one, other = version_rank(first), version_rank(second)
    if one and other and one.kind == other.kind:
        assert (one == other) + is_less(one, other) + is_less(other, one) == 1


@given(st.lists(VERSIONS, min_size=3, max_size=3))
def test_what_is_older_than_an_older_version_is_older(versions: list[object]) -> None:
    for first, second, third in product(versions, repeat=3):
        if is_older(first, second) and is_older(second, third):
            assert is_older(first, third)


@given(MOMENTS, ZONES)
def test_a_moment_is_the_same_in_every_zone_and_spelling(
    moment: datetime, zone: timezone
) -> None:
    rank = version_rank(moment)
    moved = moment.astimezone(zone)
    spellings = (
        moved,
        moved.isoformat(),
        moved.isoformat(" "),
        moved.isoformat(timespec="microseconds"),
        moment.astimezone(UTC).isoformat().replace("+00:00", "Z"),
        moment.astimezone(UTC).isoformat(" ").replace("+00:00", " UTC"),
    )
    assert {version_rank(spelling) for spelling in spellings} == {rank}


@given(MOMENTS, MOMENTS)
def test_moments_are_compared_as_python_compares_them(
    first: datetime, second: datetime
) -> None:
    assert is_older(first.isoformat(), second) is (first < second)


@given(NUMBERS, NUMBERS)
def test_numbers_are_compared_as_python_compares_them(
    first: Decimal, second: Decimal
) -> None:
    assert is_older(first, second) is (Decimal(first) < Decimal(second))


@given(VERSIONS, VERSIONS)
def test_the_newer_of_two_is_older_than_neither(first: object, second: object) -> None:
    newest = newer_rank(version_rank(first), version_rank(second))
    assert not is_less(newest, version_rank(first))
    assert not is_less(newest, version_rank(second))


# ── deliveries ───────────────────────────────────────────────────────────────────────

TEXT_COLUMN = VERSIONED.replace(
    '{ api = "at", host = "name" }',
    '{ api = "at", host = "name" }, { api = "what", host = "what" }',
)


def receiving(
    monkeypatch: pytest.MonkeyPatch,
    kind: FieldKind = FieldKind.TEXT,
    document: str = TEXT_COLUMN,
    **others: tuple[HostField, ...],
) -> Working:
    """Return a host whose column of versions is of this kind."""
    fields = (
        HostField("number", "Number", FieldKind.TEXT, required=True),
        HostField("name", "Name", kind),
        HostField("what", "What", FieldKind.TEXT),
    )
    monkeypatch.setattr(application_in_memory, "FIELDS", {"contact": fields, **others})
    return Working(document)


def send(working: Working, *records: object) -> list[str]:
    """Send records one after the other, and return the reasons of their states."""
    for record in records:
        body = json.dumps(record, default=float).encode()
        working.send(body)
        working.work.round()
    return [reason or state for state, reason, _ in working.states()]


@pytest.mark.parametrize("newer_is_first", [False, True])
@pytest.mark.parametrize(("older", "newer"), NEWER)
def test_a_delivery_with_the_newer_version_wins_in_any_order(
    monkeypatch: pytest.MonkeyPatch,
    older: object,
    newer: object,
    *,
    newer_is_first: bool,
) -> None:
    working = receiving(monkeypatch)
    records = [
        {"id": "a", "at": older, "what": "older"},
        {"id": "a", "at": newer, "what": "newer"},
    ]
    if newer_is_first:
        assert send(working, *reversed(records)) == ["processed", "out_of_order"]
    else:
        assert send(working, *records) == ["processed", "processed"]
    (record,) = working.records()
    assert record["what"] == "newer"


@pytest.mark.parametrize(
    ("kind", "older", "newer"),
    [
        (FieldKind.NUMBER, "9", 10),
        (FieldKind.DECIMAL, "9.95", "10"),
        (FieldKind.DATETIME, "2026-10-25T02:50:00+02:00", "2026-10-25T02:10:00+01:00"),
        (FieldKind.DATETIME, "2026-11-17T09:00:00Z", "2026-11-17T09:00:00.5Z"),
        (FieldKind.DATE, "2026-11-16T23:30:00Z", "2026-11-17T00:10:00+00:00"),
    ],
)
def test_versions_are_compared_in_columns_of_every_kind(
    monkeypatch: pytest.MonkeyPatch, kind: FieldKind, older: object, newer: object
) -> None:
    first = {"id": "a", "at": older, "what": "older"}
    second = {"id": "a", "at": newer, "what": "newer"}
    for records, reasons in (
        ((first, second), ["processed", "processed"]),
        ((second, first), ["processed", "out_of_order"]),
    ):
        working = receiving(monkeypatch, kind)
        assert send(working, *records) == reasons
        assert working.records()[0]["what"] == "newer"


def test_a_day_has_no_order_within_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    working = receiving(monkeypatch, FieldKind.DATE)
    late = {"id": "a", "at": "2026-11-17T00:10:00+02:00", "what": "late"}
    later = {"id": "a", "at": "2026-11-16T23:30:00Z", "what": "later"}
    assert send(working, late, later) == ["processed", "processed"]


@pytest.mark.parametrize("first", ["Z", True, "soon", [1]])
def test_a_version_without_an_order_freezes_no_record(
    monkeypatch: pytest.MonkeyPatch, first: object
) -> None:
    working = receiving(monkeypatch, FieldKind.JSON)
    last = {"id": "a", "at": "2026-11-17T09:00:00Z", "what": "last"}
    assert send(working, {"id": "a", "at": first}, last) == ["processed"] * 2
    assert working.records()[0]["what"] == "last"


@pytest.mark.parametrize("missing", [{}, {"at": None}, {"at": ""}])
@pytest.mark.parametrize("default", ["", ', default = "2001-01-01"'])
def test_a_delivery_without_a_version_clears_none(
    monkeypatch: pytest.MonkeyPatch, missing: dict[str, object], default: str
) -> None:
    document = TEXT_COLUMN.replace('host = "name" }', f'host = "name"{default} }}')
    working = receiving(monkeypatch, document=document)
    reasons = send(
        working,
        {"id": "a", "at": "2026-11-17T09:00:00Z", "what": "new"},
        {"id": "a", **missing, "what": "without"},
    )
    assert reasons == ["processed", "processed"]
    (record,) = working.records()
    assert record == {"number": "a", "name": "2026-11-17T09:00:00Z", "what": "without"}
    old = {"id": "a", "at": "2001-01-01T00:00:00Z", "what": "years old"}
    assert send(working, old)[-1] == "out_of_order"


def test_a_record_that_has_no_version_yet_gets_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    working = receiving(monkeypatch)
    send(working, {"id": "a"}, {"id": "a"}, {"id": "a", "at": "2001-01-01"})
    assert working.records()[0]["name"] == "2001-01-01"


def test_of_several_versions_in_one_delivery_the_newest_is_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    working = receiving(monkeypatch)
    events = [
        {"id": "a", "at": "10", "what": "third"},
        {"id": "a", "at": "9", "what": "second"},
        {"id": "b", "at": "1", "what": "other"},
        {"id": "a", "at": "11", "what": "last"},
        {"id": None},
    ]
    assert send(working, {"id": "a", "at": "8"}, events) == ["processed", "processed"]
    assert [(row["number"], row["what"]) for row in working.records()] == [
        ("a", "last"),
        ("b", "other"),
    ]


def test_the_versions_of_a_choice_have_no_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    choice = ', transform = "choice", options = { draft = "z", final = "a" }'
    document = TEXT_COLUMN.replace('host = "name" }', f'host = "name"{choice} }}')
    working = receiving(monkeypatch, document=document)
    records = [{"id": "a", "at": "draft"}, {"id": "a", "at": "final"}]
    assert send(working, *records) == ["processed", "processed"]


def test_the_children_of_an_older_record_replace_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    item = (
        HostField("contact", "Contact", FieldKind.TEXT, required=True),
        HostField("position", "Position", FieldKind.NUMBER, required=True),
        HostField("text", "Text", FieldKind.TEXT),
    )
    children = (
        '[[line.orders.children]]\nlist = "lines"\ntarget = "item"\n'
        'parent = "contact"\nkeys = ["contact", "position"]\n'
        'fields = [{ api = "position", host = "position" },'
        ' { api = "text", host = "text" }]\n[webhook.shop]'
    )
    document = TEXT_COLUMN.replace("[webhook.shop]", children)
    working = receiving(monkeypatch, document=document, item=item)
    new = [{"position": 1, "text": "new"}, {"position": 2, "text": "new"}]
    reasons = send(
        working,
        {"id": "a", "at": "10", "lines": new},
        {"id": "a", "at": "9", "lines": [{"position": 1, "text": "old"}]},
    )
    assert reasons == ["processed", "out_of_order"]
    items = working.application.sync_ports().models.read("item", "", 9)
    assert [row.values["text"] for row in items] == ["new", "new"]


def test_a_line_without_an_incremental_field_writes_what_comes_last() -> None:
    working = Working(LINE + '[webhook.shop]\nscheme = "shopify"\nline = "orders"\n')
    working.send({"id": "a"}, {"id": "a", "again": 1})
    working.work.round()
    assert numbers(working) == ["a"]


# ── where versions are stored as text ────────────────────────────────────────────────

TABLE = (
    VERSIONED.replace('target = "contact"', 'target = "table:orders"')
    .replace('field = "at"', 'field = "meta.updatedAt"')
    .replace('{ api = "at", host = "name" }', '{ api = "meta.updatedAt", host = "v" }')
)


@pytest.mark.parametrize(
    ("document", "transform"),
    [
        (TABLE, "datetime"),
        (TABLE.replace('host = "v" }', 'host = "v", transform = "text" }'), "datetime"),
        (TABLE.replace('host = "v" }', 'host = "v", transform = "datetime" }'), ""),
        (TABLE.replace("meta.updatedAt", "revision"), ""),
        (
            TABLE.replace("meta.updatedAt", "revision").replace(
                'host = "v" }', 'host = "v", transform = "text" }'
            ),
            "number",
        ),
        (VERSIONED, ""),
        (TABLE.replace('\nline = "orders"', '\nrun = "orders"'), ""),
    ],
)
def test_apply_warns_where_versions_become_text(document: str, transform: str) -> None:
    working = Working(VERSIONED)
    found = [
        finding
        for _, finding in working.apply(document, dry_run=True).findings
        if finding.id == "H012"
    ]
    assert [finding.field for finding in found] == ["webhook.shop.line"][: len(found)]
    assert [f'transform = "{transform}"' in str(finding.hint) for finding in found] == (
        [True] if transform else []
    )


def test_the_line_of_a_webhook_may_be_stored_already() -> None:
    working = Working(TABLE.replace('line = "orders"\n', 'run = "orders"\n'))
    webhook = '[webhook.shop]\nscheme = "shopify"\nline = "orders"\n'
    applied = working.apply(webhook, dry_run=True)
    assert "H012" in {finding.id for _, finding in applied.findings}
