"""Cursors of changes, and rows as JSON."""

import json
from datetime import UTC, date, datetime
from decimal import Decimal

import pytest

from outkey.foundation.core.errors import ConfigError
from outkey.sync.core.mapping.records import HostRecord
from outkey.sync.core.mapping.row_changes import (
    Cursor,
    changed_fields,
    cursor_expired,
    no_feed,
    parse_cursor,
    row_json,
    row_of,
)


def test_a_cursor_is_read_as_it_was_written() -> None:
    cursor = Cursor("0f9c", 12)
    assert parse_cursor(str(cursor)) == cursor


@pytest.mark.parametrize("text", ["", "12", "0f9c-", "xyz-1", "0f9c-1 ", "0f9c-١"])
def test_another_text_is_no_cursor(text: str) -> None:
    with pytest.raises(ConfigError) as refused:
        parse_cursor(text)
    assert refused.value.field == "after"


def test_what_cannot_be_read_is_an_error_with_what_to_do_next() -> None:
    assert (cursor_expired().code, cursor_expired().field) == (
        "cursor_expired",
        "after",
    )
    assert "the changes of orders are not recorded" in str(no_feed("orders"))
    assert cursor_expired().hint
    assert no_feed("orders").hint


def test_values_that_json_does_not_know_are_texts() -> None:
    row = row_of(
        HostRecord(
            "7",
            {
                "amount": Decimal("2.50"),
                "day": date(2026, 3, 1),
                "at": datetime(2026, 3, 1, 9, 30, tzinfo=UTC),
                "tags": {"n": Decimal("0.1")},
                "name": None,
            },
        )
    )
    assert json.loads(row_json(row) or "") == {
        "outkey_id": 7,
        "amount": "2.50",
        "day": "2026-03-01",
        "at": "2026-03-01T09:30:00Z",
        "tags": {"n": "0.1"},
        "name": None,
    }
    assert row_json(None) is None


def test_changed_fields_have_their_earlier_values() -> None:
    before = {"a": 1, "b": 2, "c": 3}
    assert changed_fields(before, {"a": 1, "b": 5, "d": 4}) == {
        "b": 2,
        "c": 3,
        "d": None,
    }
