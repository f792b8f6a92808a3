"""The shape of records: names and kinds of fields, never a value, and bounded."""

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outkey.sync.core.drift.drift import is_missing
from outkey.sync.core.drift.shape import (
    KIND_OF_TYPE,
    MAX_FIELDS,
    MAX_MEMBERS,
    FieldShape,
    RecordShapes,
    fields_data,
    fields_from_data,
    path_names,
    path_text,
)

NAMES = st.sampled_from(["id", "name", "e-mail", "a.b", 'quo"ted', "ä", "city"])
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.text(max_size=3),
    st.just(Decimal("1.5")),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=2), st.dictionaries(NAMES, inner, max_size=4)
    ),
    max_leaves=8,
)
RECORDS = st.lists(st.dictionaries(NAMES, VALUES, max_size=5), min_size=1, max_size=8)


def shapes_of(*pages: list[dict[str, Any]]) -> dict[str, FieldShape]:
    shapes = RecordShapes()
    for page in pages:
        shapes.add(page)
    return shapes.fields


def plain_shapes(records: list[dict[str, Any]]) -> dict[str, FieldShape]:
    """Compute the same the slow way: record by record and path by path."""
    found: dict[tuple[str, ...], set[str]] = {}
    counts: dict[tuple[str, ...], int] = {}

    def walk(value: dict[str, Any], around: tuple[str, ...]) -> None:
        for name, part in value.items():
            names = (*around, name)
            found.setdefault(names, set())
            counts[names] = counts.get(names, 0) + 1
            if part is not None:
                found[names].add(KIND_OF_TYPE[type(part)])
            if isinstance(part, dict):
                walk(part, names)

    for record in records:
        walk(record, ())
    return {
        path_text(names): FieldShape(
            tuple(sorted(kinds)), counts[names] == len(records)
        )
        for names, kinds in found.items()
    }


@given(RECORDS)
def test_the_shape_is_that_of_each_record_looked_at_alone(
    records: list[dict[str, Any]],
) -> None:
    assert shapes_of(records) == plain_shapes(records)


@given(RECORDS, RECORDS)
def test_it_does_not_matter_how_records_are_divided_into_pages(
    first: list[dict[str, Any]], second: list[dict[str, Any]]
) -> None:
    assert shapes_of(first, second) == shapes_of(first + second)


@given(RECORDS)
def test_a_field_that_every_record_has_is_missing_in_none(
    records: list[dict[str, Any]],
) -> None:
    for path, shape in shapes_of(records).items():
        if shape.always:
            assert not is_missing(path_names(path), records)


@given(RECORDS)
def test_records_like_those_before_are_nothing_new(
    records: list[dict[str, Any]],
) -> None:
    shapes = RecordShapes()
    shapes.add(records)
    assert not shapes.add(records)


@given(st.lists(st.text(min_size=1, max_size=5), min_size=1, max_size=4))
def test_a_path_of_any_names_is_read_as_it_was_written(names: list[str]) -> None:
    assert path_names(path_text(tuple(names))) == tuple(names)


@given(RECORDS)
def test_a_shape_is_read_as_it_was_stored(records: list[dict[str, Any]]) -> None:
    fields = shapes_of(records)
    assert fields_from_data(fields_data(fields)) == fields


def test_null_is_no_kind_and_a_masked_value_has_none() -> None:
    class Masked(str):
        __slots__ = ()

    fields = shapes_of([{"a": None, "b": Masked("***"), "c": 1}, {"a": "x", "b": 2}])
    assert fields == {
        "a": FieldShape(("text",), always=True),
        "b": FieldShape(("number",), always=True),
        "c": FieldShape(("number",), always=False),
    }
    assert FieldShape().words is None
    assert FieldShape(("number", "text")).words == "number or text"


@pytest.mark.parametrize(
    "name", ["2026-01-31", "4711", "--", "a" * 101, "6f9619ff-8b86-d011-b42d-00cf4fc9"]
)
def test_a_name_that_is_data_is_not_recorded(name: str) -> None:
    assert [*shapes_of([{"id": 1, name: 1, "prices": {name: 2, "EUR": 3}}])] == [
        *("id", "prices", "prices.EUR")
    ]


def test_an_object_with_too_many_names_has_data_as_names() -> None:
    prices = {f"item{number}": number for number in range(MAX_MEMBERS + 1)}
    assert [
        *shapes_of([{"id": 1, "prices": prices}, {"id": 2, "prices": {"a": 1}}])
    ] == [*("id", "prices")]
    pages = [[{"id": 1, "prices": {name: 1}}] for name in prices]
    assert [*shapes_of(*pages)] == ["id", "prices"]


def test_records_of_too_many_fields_have_no_shape() -> None:
    wide = {f"field{number}": 1 for number in range(MAX_FIELDS + 1)}
    assert shapes_of([wide], [{"id": 1}]) == {}


def test_the_fields_of_all_objects_together_are_bounded() -> None:
    part = {f"field{number}": 1 for number in range(MAX_MEMBERS - 1)}
    record = {f"part{number}": dict(part) for number in range(20)}
    shapes = RecordShapes()
    for _ in range(3):
        shapes.add([record])
    assert len(shapes.fields) == MAX_FIELDS
    deep: dict[str, Any] = {}
    for _ in range(50):
        deep = {"in": deep}
    assert len(shapes_of([deep])) == 6


def test_room_of_an_object_that_has_data_as_names_is_free_again() -> None:
    shapes = RecordShapes()
    for number in range(3 * MAX_MEMBERS):
        shapes.add([{"map": {f"name{number}": {"inner": 1}}}])
    shapes.add([{"map": {}, **{f"field{number}": 1 for number in range(400)}}])
    assert len(shapes.fields) == 401


def test_records_that_are_all_unlike_are_not_all_remembered() -> None:
    names = [f"field{number}" for number in range(12)]
    records = [
        {name: 1 for place, name in enumerate(names) if number >> place & 1}
        for number in range(1, 1 << 12)
    ]
    shapes = RecordShapes()
    assert shapes.add(records)
    assert shapes.add(records), "they were too many to be remembered"
    assert {*shapes.fields} == {*names}
    assert not any(shape.always for shape in shapes.fields.values())
    for record in records[:2000]:
        shapes.add([record])
    assert {*shapes.fields} == {*names}
