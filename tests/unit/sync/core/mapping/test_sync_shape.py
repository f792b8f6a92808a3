from collections.abc import Sequence
from datetime import date
from decimal import Decimal

import pytest

from outkey.foundation.core.errors import ConfigError
from outkey.sync.core.line.line import FieldMapping, Gone, Sync, Transform
from outkey.sync.core.mapping.records import FieldKind
from outkey.sync.core.mapping.shape import (
    fitted_value,
    is_made_by_outkey,
    kind_for,
    shape_of,
    value_text,
    widened_by_size,
    widened_kind,
    with_kinds,
)

ANY, TEXT, NUMBER, DECIMAL = (
    FieldKind.ANY,
    FieldKind.TEXT,
    FieldKind.NUMBER,
    FieldKind.DECIMAL,
)


def test_every_transform_tells_the_kind_of_its_column() -> None:
    mappings = tuple(
        FieldMapping("x", f"c_{transform}", transform, options={"target": "table:t"})
        for transform in Transform
    )
    shape = shape_of(Sync(keys=("c_text",), mappings=mappings, gone=Gone.ARCHIVE))
    assert {field.name: str(field.kind) for field in shape.fields} == {
        "c_as_is": "any",
        "c_text": "text",
        "c_number": "number",
        "c_decimal": "decimal",
        "c_date": "date",
        "c_datetime": "datetime",
        "c_boolean": "boolean",
        "c_choice": "text",
        "c_lookup": "link",
        "c_constant": "any",
        "c_template": "text",
    }
    assert [field.name for field in shape.fields if field.required] == ["c_text"]
    assert [field.name for field in shape.fields if field.target] == ["c_lookup"]
    assert (shape.archives, shape.retires) == (True, True)
    deleting = shape_of(Sync(mappings=mappings, gone=Gone.DELETE))
    assert (deleting.archives, deleting.retires) == (False, True)
    widened = with_kinds(shape, {"c_as_is": TEXT})
    assert widened.fields[0].kind is TEXT
    assert widened.fields[1:] == shape.fields[1:]


@pytest.mark.parametrize(
    "names", [("outkey_id",), ("Archived_At",), ("a b",), ("x" * 64,), ("a", "A")]
)
def test_names_that_no_table_can_have_are_refused_with_their_place(
    names: Sequence[str],
) -> None:
    sync = Sync(mappings=tuple(FieldMapping("x", name) for name in names))
    with pytest.raises(ConfigError) as refused:
        shape_of(sync)
    assert refused.value.field == f"fields[{len(names) - 1}].host"


def test_tables_and_files_are_made_by_outkey_and_models_are_not() -> None:
    targets = ["table:t", "table:w.s.t", "file:a.csv", "shop.order"]
    assert [is_made_by_outkey(target) for target in targets] == [
        True,
        True,
        True,
        False,
    ]


@pytest.mark.parametrize(
    ("stored", "wanted", "kind"),
    [
        (NUMBER, NUMBER, NUMBER),
        (NUMBER, ANY, NUMBER),
        (ANY, FieldKind.DATE, FieldKind.DATE),
        (NUMBER, DECIMAL, DECIMAL),
        (FieldKind.LINK, DECIMAL, DECIMAL),
        (DECIMAL, NUMBER, DECIMAL),
        (NUMBER, FieldKind.LINK, NUMBER),
        (FieldKind.LINK, NUMBER, FieldKind.LINK),
        (TEXT, FieldKind.LINK, TEXT),
        (FieldKind.DATE, TEXT, TEXT),
        (TEXT, NUMBER, None),
        (FieldKind.DATE, FieldKind.DATETIME, None),
        (FieldKind.BOOLEAN, NUMBER, None),
        (DECIMAL, FieldKind.BOOLEAN, None),
    ],
)
def test_a_column_becomes_wider_or_stays_but_never_becomes_narrower(
    stored: FieldKind, wanted: FieldKind, kind: FieldKind | None
) -> None:
    assert kind_for(stored, wanted) is kind


@pytest.mark.parametrize(
    ("stored", "values", "kind"),
    [
        (ANY, [None, None], ANY),
        (ANY, [None, 1], NUMBER),
        (ANY, [1, Decimal("1.5")], DECIMAL),
        (ANY, [1.5], DECIMAL),
        (ANY, [True], FieldKind.BOOLEAN),
        (ANY, [True, 1], TEXT),
        (ANY, [{"a": 1}, []], FieldKind.JSON),
        (ANY, [1, "x"], TEXT),
        (ANY, [2**63], TEXT),
        (ANY, [1, -(2**63) - 1], TEXT),
        (NUMBER, [2**63], TEXT),
        (NUMBER, [None], NUMBER),
        (DECIMAL, [1], DECIMAL),
        (FieldKind.JSON, ["x"], TEXT),
        (TEXT, [1, True, {}], TEXT),
    ],
)
def test_values_that_are_taken_as_they_are_tell_the_kind_of_their_column(
    stored: FieldKind, values: list[object], kind: FieldKind
) -> None:
    assert widened_kind(stored, values) is kind
    assert widened_kind(stored, values[::-1]) is kind


def test_long_numbers_and_ids_of_other_types_widen_the_column_of_a_transform() -> None:
    assert widened_by_size(NUMBER, [1, None, 2**63]) is DECIMAL
    assert widened_by_size(NUMBER, [1, None]) is NUMBER
    assert widened_by_size(FieldKind.LINK, [None, "a uuid"]) is TEXT
    assert widened_by_size(FieldKind.LINK, [7]) is FieldKind.LINK
    assert widened_by_size(TEXT, ["x"]) is TEXT


def test_values_fit_a_column_that_became_wider() -> None:
    values = [None, "x", 5, True, Decimal("1.50"), {"a": Decimal("2.5")}, date.min]
    assert [fitted_value(TEXT, value) for value in values] == [
        None,
        "x",
        "5",
        "true",
        "1.50",
        '{"a": 2.5}',
        "0001-01-01",
    ]
    assert value_text(False) == "false"  # noqa: FBT003
    fitted = [
        fitted_value(DECIMAL, value) for value in (None, 5, 2.5, Decimal(1), True)
    ]
    assert fitted == [None, Decimal(5), Decimal("2.5"), Decimal(1), True]
    assert type(fitted[4]) is bool
    assert fitted_value(NUMBER, 5) == 5
