"""Values of a database: each of its type, or an odd one in its place."""

from datetime import date

import pytest

from outkey.foundation.core.shared_state import SharedState, StateKind
from outkey.foundation.core.state_shapes import (
    MAX_GENERATION,
    SHAPES,
    has_shape,
    is_flag,
    is_number_text,
    known_members,
    list_of,
    map_of,
    or_null,
    pair_of,
    read_each,
    read_state,
    without_value,
)
from outkey.foundation.core.state_shapes import is_count as is_count_member
from outkey.foundation.core.state_shapes import is_text as is_text_member
from outkey.foundation.core.stored_values import (
    FIRST_DAY,
    OddRow,
    OddTable,
    is_odd,
    odd_names,
    read_bytes,
    read_count,
    read_day,
    read_flag,
    read_json,
    read_table,
    read_text,
    read_time,
)
from outkey.sync.core.run.run import Counts

DEEP = "[" * 900 + "]" * 900
VERY_DEEP = "[" * 200_000


@pytest.mark.parametrize(
    ("read", "good"),
    [
        (read_text, ["", "x"]),
        (read_count, [0, 7, 2**63 - 1]),
        (read_flag, [True, False]),
        (read_time, [0, 1.5, 1_800_000_000]),
        (read_bytes, [b"", b"x", memoryview(b"x")]),
        (read_day, [date(2027, 1, 2), "2027-01-02"]),
        (read_table, [{}, {"a": 1}, '{"a": [1]}', '{"a": "' + "[" * 200 + '"}']),
    ],
)
def test_a_value_of_the_type_of_its_column_is_as_it_was_stored(
    read: object, good: list[object]
) -> None:
    for stored in good:
        value = read(stored)  # type: ignore[operator]
        assert not is_odd(value)
        if not isinstance(stored, str) or read is read_text:
            assert value == stored


@pytest.mark.parametrize(
    ("read", "odd", "harmless"),
    [
        (read_text, [None, 7], None),
        (read_count, ["x", -1, 2**63, True, 1.5, None, b"1"], 0),
        (read_flag, ["x", 1, None, 2], 0),
        (read_time, ["x", -1, float("nan"), float("inf"), 1e300, True, None], 0.0),
        (read_bytes, ["x", 7, None], b""),
        (read_day, ["x", 7, None, b"\xff"], FIRST_DAY),
        (read_table, ["[]", "x", "", '{"a": NaN}', '{"a": 1e999}', 7, None, []], {}),
        (read_table, [f'{{"a": {DEEP}}}', VERY_DEEP], {}),
    ],
)
def test_a_value_of_another_type_is_a_harmless_one_that_is_marked_as_odd(
    read: object, odd: list[object], harmless: object
) -> None:
    for stored in odd:
        value = read(stored)  # type: ignore[operator]
        assert is_odd(value), str(stored)[:20]
        assert harmless is None or value == harmless


def test_a_text_of_other_bytes_keeps_the_characters_that_it_has() -> None:
    assert read_text(b"ab\xff") == "ab\ufffd"
    assert is_odd(read_text(b"ab"))


def test_a_count_has_the_limit_of_its_column() -> None:
    assert read_count(9, below=10) == 9
    assert is_odd(read_count(10, below=10))


def test_odd_columns_are_named() -> None:
    columns = [("name", read_text("a")), ("version", read_count("x"))]
    assert odd_names(columns) == ("version",)
    assert str(OddRow("known key", "7")) == "known key 7"


def test_numbers_of_stored_json_are_finite() -> None:
    assert read_json("[1.5]") == [1.5]
    with pytest.raises(ValueError, match="too large"):
        read_json("[-1e999]")


# ── shapes of shared states ─────────────────────────────────────────────────────────


def test_a_state_of_its_shape_is_read_as_it_was_stored() -> None:
    stored = '{"holder": "a", "until": 5.0, "later": [1]}'
    value = {"holder": "a", "until": 5.0, "later": [1]}
    assert read_state(StateKind.LEASE, 3, stored) == SharedState(3, value)


@pytest.mark.parametrize(
    ("generation", "stored"),
    [
        (1, '{"holder": "a"}'),
        (1, '{"holder": "a", "until": "x"}'),
        (1, '{"holder": 7, "until": 5.0}'),
        (1, "[]"),
        (0, '{"holder": "a", "until": 5.0}'),
        (MAX_GENERATION, '{"holder": "a", "until": 5.0}'),
        ("x", '{"holder": "a", "until": 5.0}'),
    ],
)
def test_a_state_of_another_shape_is_an_odd_empty_one(
    generation: object, stored: str
) -> None:
    state = read_state(StateKind.LEASE, generation, stored)
    assert is_odd(state.value)
    assert state.value == {}


def test_a_webhook_that_is_stored_as_text_is_read_anew_each_time() -> None:
    stored = '{"settings": {}, "endpoint": "e1", "paused": false, "secrets": {}}'
    first = read_state(StateKind.WEBHOOK, 1, stored)
    assert isinstance(first.value, dict)
    first.value["paused"] = True
    second = read_state(StateKind.WEBHOOK, 1, stored)
    assert second.value["paused"] is False


@pytest.mark.parametrize("stored", ["{}", "no JSON", '{"settings": 1}', VERY_DEEP])
def test_a_webhook_whose_text_has_another_shape_is_an_odd_one(stored: str) -> None:
    state = read_state(StateKind.WEBHOOK, 1, stored)
    assert is_odd(state.value)
    assert not state.value


def test_every_kind_of_state_has_a_shape() -> None:
    assert {*SHAPES} == {*StateKind}


def test_members_are_checked_by_their_form() -> None:
    shape = {
        "ids": list_of(is_count_member),
        "hours?": map_of(is_count_member, is_number_text),
        "pair?": or_null(pair_of(is_text_member, is_count_member)),
        "paused?": is_flag,
    }
    assert has_shape({"ids": [1, 2], "hours": {"17": 3}, "pair": ["a", 1]}, shape)
    assert has_shape({"ids": [], "pair": None, "paused": True}, shape)
    for table in (
        {},
        {"ids": [True]},
        {"ids": "1"},
        {"ids": [], "hours": {"x": 1}},
        {"ids": [], "hours": []},
        {"ids": [], "hours": {"1" * 20: 1}},
        {"ids": [], "pair": ["a"]},
        {"ids": [], "pair": [1, 1]},
        {"ids": [], "paused": 1},
    ):
        assert not has_shape(table, shape), table


def test_what_cannot_be_read_stands_beside_the_rest() -> None:
    states = {
        "b": SharedState(1, {"name": "b"}),
        "odd": SharedState(1, OddTable()),
        "a": SharedState(1, {}),
    }
    values = read_each(states, lambda _, state: state.value["name"])
    assert values == {"a": None, "b": "b", "odd": None}
    assert without_value(values) == ["a", "odd"]


def test_members_of_a_later_version_are_left_out() -> None:
    assert known_members(Counts, {"created": 1, "invented": 2}) == {"created": 1}
