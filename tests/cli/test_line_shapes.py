"""The shape of a line's records from the command line: shown, compared and accepted."""

from collections.abc import Iterator

import pytest

from cli.conftest import Terminal
from database.list_api import ListApi, list_api, orders

MISSING = {"id": "L050", "field": "name", "was": "text", "now": None}
NEW = {"id": "L052", "field": "title", "was": None, "now": "text"}


@pytest.fixture
def api() -> Iterator[ListApi]:
    with list_api() as served:
        yield served


@pytest.fixture
def shop(outkey: Terminal, api: ListApi) -> Terminal:
    """A home with a line that has recorded the shape of its records."""
    outkey.settings |= {"LIST_TOKEN": "t"}
    assert outkey("apply", "-", stdin=api.document("table:orders")).code == 0
    assert "Nothing is recorded yet" in outkey("line", "shape", "orders").out
    api.records = orders(3)
    assert outkey("line", "run", "orders").code == 0
    return outkey


def rename_field(api: ListApi) -> None:
    api.records = [
        {"id": order["id"], "title": order["name"], "lines": []}
        for order in api.records
    ]


def ids_of(shop: Terminal) -> list[str]:
    findings = shop("line", "show", "orders", "--json").json["findings"]
    return [each["id"] for each in findings if each["id"].startswith("L05")]


def test_a_changed_shape_is_reported_until_it_is_accepted(
    shop: Terminal, api: ListApi
) -> None:
    shape = shop("line", "shape", "orders", "--json").json
    assert {*shape} == {"line", "fields", "recorded_at", "drift"}
    assert shape["fields"] == {"id": "text", "name": "text", "lines": "list"}
    assert (shape["line"], shape["drift"]) == ("orders", [])
    rename_field(api)
    done = shop("line", "run", "orders", "--json").json
    assert (done["state"], done["drift"]) == ("done", [MISSING, NEW])
    assert shop("run", "show", done["run"], "--json").json["drift"] == [MISSING, NEW]
    assert "no longer sends name" in shop("run", "show", done["run"]).err
    assert ids_of(shop) == ["L050", "L052"]
    assert {"L050", "L052"} < {
        each["id"] for each in shop("doctor", "--json").json["findings"]
    }
    shown = shop("line", "shape", "orders")
    assert "outkey line shape orders --accept" in shown.err
    accepted = shop("line", "shape", "orders", "--accept", "--json").json
    assert accepted["fields"] == {"id": "text", "title": "text", "lines": "list"}
    assert (accepted["drift"], ids_of(shop)) == ([], [])
    assert "title" in shop("line", "shape", "orders", "--accept").out, "nothing to do"
    audited = shop("audit", "list", "--json").out
    assert audited.count("api:line:shape_accepted") == 1
    assert shop("line", "shape", "nothing").code == 2


def test_with_stop_the_run_ends_and_continues_once_the_shape_is_accepted(
    shop: Terminal, api: ListApi
) -> None:
    text = api.document("table:orders").replace(
        'path = "/orders"', 'path = "/orders"\ndrift = "stop"'
    )
    assert shop("apply", "-", stdin=text).code == 0
    rename_field(api)
    before = shop("data", "show", "orders", "--json").json
    stopped = shop("line", "run", "orders", "--json")
    assert stopped.code == 1
    assert "no longer sends name" in stopped.json["error"]["message"]
    assert "outkey line shape orders" in stopped.json["error"]["hint"]
    (run,) = shop("run", "list", "--limit", "1", "--json").json
    assert (run["state"], run["cause"]) == ("failed", "shape_changed")
    assert run["drift"] == [MISSING, NEW]
    assert shop("data", "show", "orders", "--json").json == before
    assert ids_of(shop) == ["L050", "L052"]
    shop("line", "shape", "orders", "--accept")
    assert shop("line", "run", "orders").code == 0


def test_a_dry_run_shows_a_change_and_records_nothing(
    shop: Terminal, api: ListApi
) -> None:
    rename_field(api)
    dry = shop("line", "run", "orders", "--dry-run", "--json").json
    assert dry["drift"] == [MISSING, NEW]
    assert "no longer sends name" in shop("line", "run", "orders", "--dry-run").err
    assert ids_of(shop) == []
