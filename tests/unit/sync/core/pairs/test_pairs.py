"""The rules of pairs: who has changed a record, and whose version stays."""

from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outkey.sync.core.line.line import (
    Direction,
    FieldMapping,
    PushRequest,
    Sync,
    Transform,
)
from outkey.sync.core.pairs.pairs import (
    OPEN_END,
    Decision,
    PairAgreement,
    PairConflict,
    Side,
    changed_fields,
    decide,
    decide_resolved,
    has_same_values,
    is_host_newer,
    is_normalised,
    pair_fields,
    plain_values,
    side_of_api,
    side_of_host,
    stored_agreement,
)
from outkey.sync.core.pairs.section import ConflictRule

API, HOST, NEWEST, ASK = ConflictRule
ALWAYS = {
    (Side.UNCHANGED, Side.UNCHANGED): Decision.NOTHING,
    (Side.UNCHANGED, Side.CHANGED): Decision.LEAVE,
    (Side.UNCHANGED, Side.DELETED): Decision.LEAVE,
    (Side.CHANGED, Side.UNCHANGED): Decision.WRITE,
    (Side.DELETED, Side.UNCHANGED): Decision.RETIRE,
    (Side.DELETED, Side.DELETED): Decision.DELETE,
    (Side.NEW, Side.ABSENT): Decision.WRITE,
    (Side.ABSENT, Side.NEW): Decision.LEAVE,
    (Side.ABSENT, Side.ABSENT): Decision.DELETE,
}
AGAINST_A_DELETION = {
    (Side.CHANGED, Side.DELETED): Decision.WRITE,
    (Side.DELETED, Side.CHANGED): Decision.CREATE_AGAIN,
}
BOTH = [(Side.CHANGED, Side.CHANGED), (Side.NEW, Side.NEW)]


@pytest.mark.parametrize("rule", ConflictRule)
@pytest.mark.parametrize("sides", ALWAYS)
def test_where_one_side_changed_no_rule_is_needed(
    sides: tuple[Side, Side], rule: ConflictRule
) -> None:
    for newer in (False, True):
        assert decide(*sides, rule, is_host_newer=newer) is ALWAYS[sides]


@pytest.mark.parametrize("rule", ConflictRule)
@pytest.mark.parametrize("sides", AGAINST_A_DELETION)
def test_a_change_wins_over_a_deletion_unless_a_user_decides(
    sides: tuple[Side, Side], rule: ConflictRule
) -> None:
    wanted = Decision.ASK if rule is ASK else AGAINST_A_DELETION[sides]
    assert decide(*sides, rule) is wanted


@pytest.mark.parametrize("sides", BOTH)
@pytest.mark.parametrize(
    ("rule", "newer", "wanted"),
    [
        (API, True, Decision.WRITE),
        (HOST, False, Decision.LEAVE),
        (NEWEST, True, Decision.LEAVE),
        (NEWEST, False, Decision.WRITE),
        (ASK, True, Decision.ASK),
    ],
)
def test_where_both_sides_changed_the_rule_decides(
    sides: tuple[Side, Side],
    rule: ConflictRule,
    newer: object,
    wanted: Decision,
) -> None:
    assert decide(*sides, rule, is_host_newer=bool(newer)) is wanted
    assert decide(*sides, rule, is_equal=True) is Decision.AGREE


@pytest.mark.parametrize("rule", ConflictRule)
@pytest.mark.parametrize("sides", [*ALWAYS, *AGAINST_A_DELETION, *BOTH])
def test_no_decision_loses_the_only_change(
    sides: tuple[Side, Side], rule: ConflictRule
) -> None:
    api, host = sides
    decision = decide(api, host, rule)
    if host in {Side.CHANGED, Side.NEW} and api not in {Side.CHANGED, Side.NEW}:
        assert decision not in {Decision.WRITE, Decision.RETIRE, Decision.DELETE}
    if api in {Side.CHANGED, Side.NEW} and host not in {Side.CHANGED, Side.NEW}:
        assert decision in {Decision.WRITE, Decision.ASK}
    if rule is ASK and {api, host} <= {Side.CHANGED, Side.NEW}:
        assert decision is Decision.ASK


# ── who has changed it ────────────────────────────────────────────────────────────────

AGREED = PairAgreement("1", "n1", {"name": "Ada"}, {"name": "Ada", "note": "x"})


def test_each_side_is_compared_with_its_own_earlier_values() -> None:
    rounded = PairAgreement("1", api={"price": "1.01"}, host={"price": "1.005"})
    assert side_of_api(rounded, {"price": "1.01"}) is Side.UNCHANGED
    assert side_of_host(rounded, {"price": "1.005"}) is Side.UNCHANGED
    assert side_of_api(rounded, {"price": "1.005"}) is Side.CHANGED
    assert side_of_host(rounded, {"price": "1.01"}) is Side.CHANGED


def test_what_is_missing_on_a_side_was_deleted_or_never_there() -> None:
    assert side_of_api(AGREED, None) is Side.DELETED
    assert side_of_host(AGREED, None) is Side.DELETED
    assert side_of_api(None, None) is Side.ABSENT
    assert side_of_host(None, None) is Side.ABSENT
    assert side_of_api(None, {"name": "Ada"}) is Side.NEW
    assert side_of_host(PairAgreement("1"), {"name": "Ada"}) is Side.NEW


def test_a_field_that_only_the_push_has_is_no_change_of_the_shared_ones() -> None:
    assert side_of_host(AGREED, {"name": "Ada"}) is Side.UNCHANGED
    assert side_of_host(AGREED, {"name": "Eve"}) is Side.CHANGED


def test_what_an_api_made_of_sent_values_is_no_change_only_after_a_push() -> None:
    pushed = PairAgreement("1", api={"name": " ADA "}, host={}, is_pushed=True)
    assert side_of_api(pushed, {"name": "Ada"}, is_lenient=True) is Side.UNCHANGED
    assert side_of_api(pushed, {"name": "Ada"}) is Side.CHANGED
    assert side_of_api(pushed, {"name": "Eve"}, is_lenient=True) is Side.CHANGED
    assert side_of_api(pushed, {"other": "Ada"}, is_lenient=True) is Side.CHANGED
    assert side_of_api(pushed, None, is_lenient=True) is Side.DELETED
    lower = {"name": "ada"}
    assert side_of_api(AGREED, lower, is_lenient=True) is Side.CHANGED


@pytest.mark.parametrize(
    ("sent", "received"),
    [
        ("Ada", "Ada"),
        (" Ada  King ", "ada king"),
        ("Ada Lovelace", "Ada Love"),
        ("1.005", 1.01),
        (1.005, "1.0"),
        ("12.7", 13),
        (None, ""),
        ("", None),
        ("2026-01-02T03:04:05.678+00:00", "2026-01-02T03:04:05Z"),
    ],
)
def test_what_an_api_may_make_of_a_value(sent: object, received: object) -> None:
    assert is_normalised(sent, received)


@pytest.mark.parametrize(
    ("sent", "received"),
    [
        ("Ada", "Eve"),
        ("Ada", "Ada Lovelace"),
        ("Ada", ""),
        ("Ada", None),
        ("1.005", "1.02"),
        (100, 101),
        ("5", "50"),
        ("1", "1.4"),
        (True, 1.5),
        ("NaN", "1"),
        (["a"], ["b"]),
        ("1250", "1300"),
        ("2026-01-02T03:04:05Z", "2026-01-02T03:04:06Z"),
    ],
)
def test_what_somebody_must_have_changed(sent: object, received: object) -> None:
    assert not is_normalised(sent, received)


@given(st.decimals(-(10**6), 10**6, places=4), st.integers(0, 3))
def test_rounding_is_a_normalisation(number: Decimal, places: int) -> None:
    assert is_normalised(str(number), str(round(number, places)))


# ── values, choices and times ─────────────────────────────────────────────────────────


def test_values_are_compared_as_they_are_stored() -> None:
    noon = datetime(2026, 1, 2, 12, tzinfo=UTC)
    row = {
        "a": Decimal("1.50"),
        "b": noon.astimezone(timezone(timedelta(hours=2))),
        "c": date(2026, 1, 2),
        "d": Decimal("NaN"),
        "e": Decimal("-0.00"),
        "f": noon.replace(tzinfo=None),
        "g": ["x", {"y": None}],
        "h": Decimal(100),
        "not": "picked",
    }
    assert plain_values(row, "abcdefghi") == {
        "a": "1.5",
        "b": "2026-01-02T12:00:00+00:00",
        "c": "2026-01-02",
        "d": "NaN",
        "e": "0",
        "f": "2026-01-02T12:00:00",
        "g": ["x", {"y": None}],
        "h": "100",
        "i": None,
    }


def test_any_other_value_is_compared_as_text() -> None:
    assert plain_values({"a": {1}}, "a") == {"a": "{1}"}


def test_a_choice_stands_while_the_version_that_loses_is_the_one_shown() -> None:
    api, host, other = {"name": "A"}, {"name": "H"}, {"name": "O"}
    asked = PairAgreement("1", conflict=PairConflict(api, host))
    assert asked.is_open
    for_api = asked.resolve(API)
    assert not for_api.is_open
    assert for_api.conflict is not None
    assert decide_resolved(for_api.conflict, other, host) is Decision.WRITE
    assert decide_resolved(for_api.conflict, None, host) is Decision.RETIRE
    assert decide_resolved(for_api.conflict, api, other) is Decision.ASK
    for_host = asked.resolve(HOST).conflict
    assert for_host is not None
    assert decide_resolved(for_host, api, other) is Decision.LEAVE
    assert decide_resolved(for_host, other, host) is Decision.ASK
    deleted = PairConflict(None, host, HOST)
    assert decide_resolved(deleted, None, host) is Decision.CREATE_AGAIN
    open_one = PairConflict(api, host)
    assert decide_resolved(open_one, api, host) is Decision.ASK


@pytest.mark.parametrize(
    ("host", "api", "newer"),
    [
        ("2026-01-02T00:00:01Z", "2026-01-02T00:00:00Z", True),
        ("2026-01-02T00:00:00Z", "2026-01-02T00:00:00Z", False),
        ("2026-01-02T02:00:00", "2026-01-02T02:00:00+02:00", True),
        (datetime(2026, 1, 2, tzinfo=UTC), "2026-01-01", True),
        (datetime(2026, 1, 2), 1, True),  # noqa: DTZ001 - a host without zones
        (2, 1, True),
        (1_767_312_001, 1_767_312_000_000, True),
        ("soon", "2026-01-01", False),
        ("2026-01-01", None, False),
        (True, 0, False),
    ],
)
def test_the_later_change_is_the_hosts_only_if_that_is_clear(
    host: object, api: object, newer: object
) -> None:
    assert is_host_newer(host, api) is newer


def test_the_fields_of_a_pair_are_those_of_its_mappings_templates_and_paths() -> None:
    pull = Sync(
        keys=("number",),
        mappings=tuple(FieldMapping(n, n) for n in ("number", "name", "city", "seen")),
    )
    template = {"template": "{city.name} {street}"}
    push = Sync(
        direction=Direction.PUSH,
        mappings=(
            FieldMapping("number", "number"),
            FieldMapping("name", "name"),
            FieldMapping("x", "x", Transform.CONSTANT),
            FieldMapping("address", "y", Transform.TEMPLATE, options=template),
        ),
        update=PushRequest("PATCH", "/{shop}/{remote_id}"),
    )
    fields = pair_fields(pull, push)
    assert fields.shared == {"name", "city"}
    assert fields.pulled == {"number", "name", "city", "seen"}
    assert fields.sent == {"number", "name", "city", "street", "shop"}


def test_the_fields_that_differ_are_named() -> None:
    assert changed_fields({"a": 1, "b": 2}, {"a": 1, "b": 3}) == ["b"]
    assert changed_fields(None, {"a": 1}) == ["a"]
    assert changed_fields({"a": 1}, None) == ["a"]


def test_an_agreement_is_stored_in_columns_and_read_from_them() -> None:
    conflict = PairConflict({"name": "A"}, None, HOST)
    for known in (AGREED, PairAgreement("1", "n1", conflict=conflict)):
        assert stored_agreement(known.as_columns()) == known


@pytest.mark.parametrize("side", [{"choice": None}, {}, None])
def test_a_stored_conflict_shows_at_its_end_whether_it_is_open(
    side: dict[str, object] | None,
) -> None:
    for choice in (None, HOST, API):
        known = PairAgreement("1", conflict=PairConflict(side, side, choice))
        stored = str(known.as_columns()["conflict"])
        assert stored.endswith(OPEN_END) is known.is_open
    assert not str(AGREED.as_columns()["conflict"]).endswith(OPEN_END)


@pytest.mark.parametrize(
    ("agreed", "now", "is_same"),
    [
        (5, "5", True),
        (True, "true", True),
        ([1], "[1]", True),
        (5, "6", False),
        (None, "", False),
        (None, "null", False),
        ("a", "A", False),
    ],
)
def test_a_value_that_became_text_with_its_column_is_unchanged(
    agreed: object, now: object, *, is_same: bool
) -> None:
    known = PairAgreement("1", "n1", {"v": agreed}, {"v": agreed})
    side = Side.UNCHANGED if is_same else Side.CHANGED
    assert side_of_api(known, {"v": now}) is side
    assert side_of_host(known, {"v": now}) is side
    assert not has_same_values({"v": 1}, {"v": 1, "w": 1})
