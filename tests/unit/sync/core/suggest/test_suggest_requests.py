"""What the request of a sample shows: a range of time, and records of other lines."""

import pytest

from outkey.sync.core.line.fields import INCREMENTAL_FIELDS
from outkey.sync.core.line.line import (
    FieldMapping,
    ForEach,
    Incremental,
    Sync,
    SyncLine,
)
from outkey.sync.core.line.table import written_table
from outkey.sync.core.suggest.requests import parents_in_path, requested_time
from unit.sync.engine.pull.test_sync_run import answer, fake_sync, people


def line(path: str, sync: Sync | None = None, name: str = "new") -> SyncLine:
    return SyncLine(name, "shop", "GET", path, sync=sync)


ORDERS = line(
    "/v1/orders?a=b",
    Sync(target="table:orders", keys=("id",), mappings=(FieldMapping("id", "id"),)),
    "orders",
)


@pytest.mark.parametrize(
    ("query", "field", "expected"),
    [
        (
            "from=2026-01-01&to=2026-01-08",
            "",
            {
                "parameter": "from",
                "start": "2026-01-01T00:00:00Z",
                "window": "7d",
                "end_parameter": "to",
                "format": "%Y-%m-%d",
            },
        ),
        (
            "created[gte]=1767225600&created[lte]=1767232800",
            "",
            {
                "parameter": "created[gte]",
                "start": "2026-01-01T00:00:00Z",
                "window": "2h",
                "end_parameter": "created[lte]",
                "format": "unix",
            },
        ),
        (
            "updatedAfter=2026-01-01T02:00:00%2B02:00",
            "changed",
            {
                "parameter": "updatedAfter",
                "field": "changed",
                "start": "2026-01-01T00:00:00Z",
            },
        ),
        (
            "since=1767225600000",
            "changed",
            {
                "parameter": "since",
                "field": "changed",
                "start": "2026-01-01T00:00:00Z",
                "format": "unix_ms",
            },
        ),
    ],
)
def test_a_range_of_time_in_a_request_is_that_of_each_run(
    query: str, field: str, expected: dict[str, str]
) -> None:
    time = requested_time(line(f"/orders?{query}"), field)
    assert time is not None
    assert written_table(INCREMENTAL_FIELDS, time.incremental) == expected
    assert time.parameters <= {*expected.values()}


@pytest.mark.parametrize(
    "query",
    [
        "",
        "since=2026-01-01",  # without a field of changes
        "from=0&to=50",
        "after=abc",
        "day=2026-01-01&to=2026-01-08",
        "from=2026-99-01&to=2026-01-08",
        "from=2026-01-08&to=2026-01-01",
        "from=2026-01-01&to=1767232800",
        "from=2026-01-01&min=2026-01-01",
        "from=2026-01-01&to=2026-01-08&until=2026-01-08",
    ],
)
def test_other_parameters_are_no_range_of_time(query: str) -> None:
    assert requested_time(line(f"/orders?{query}"), "") is None


def test_a_line_that_has_a_range_of_time_gets_no_other() -> None:
    sync = Sync(incremental=Incremental("since", "changed"))
    path = "/orders?from=2026-01-01&to=2026-01-08"
    assert requested_time(line(path, sync), "") is None


def test_a_completed_line_asks_for_its_time_by_the_setting_alone() -> None:
    path = "/contacts?a=1&from=2026-01-01&to=2026-01-08"
    made = fake_sync(None, lambda _: answer({"data": people(1, 2)}), path=path)
    found = made.runner.suggest("contacts")
    completed = found.completed_line(made.ports.configurations.line("contacts"))
    assert completed.path == "/contacts?a=1"
    assert completed.sync is not None
    assert completed.sync.incremental.window == "7d"
    facts = found.facts()
    assert "incremental" in facts
    assert str(found.form_notes()[-1]).startswith("Incremental {")


def test_an_id_of_another_lines_record_is_noted_with_the_settings() -> None:
    new = line("/v1/orders/7/items?q=1")
    note = str(parents_in_path(new, [line("/v1/orders"), ORDERS]))
    assert note.startswith("7 in the path may be a record of orders")
    assert 'path = "/v1/orders/{parent.id}/items?q=1"' in note
    assert 'for_each = { line = "orders" }' in note
    assert "$parent.id" in note


def test_a_key_within_one_parent_is_noted_with_the_field_of_the_parent() -> None:
    new = line("/v1/orders/{parent.id}/items", Sync(for_each=ForEach("orders")))
    note = str(parents_in_path(new, [ORDERS]))
    assert note.endswith("map $parent.id to a field that is one of the keys")


@pytest.mark.parametrize(
    "new",
    [
        line("/v1/orders/7"),
        line("/v1/orders/latest/items"),
        line("/v1/customers/7/items"),
        line("/v1/orders/7/items", Sync(for_each=ForEach(values=("7",)))),
        SyncLine("new", "another", "GET", "/v1/orders/7/items"),
    ],
)
def test_other_paths_have_no_record_of_another_line(new: SyncLine) -> None:
    file = line("/v1/orders", Sync(target="file:orders.csv", keys=("id",)), "file")
    assert parents_in_path(new, [file, ORDERS]) is None
