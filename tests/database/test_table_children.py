"""Children in tables: those of the API's list stay, whatever the columns make of them.

On every database that tables can be in.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from database.list_api import ListApi, list_api
from database.table_places import Place, place, shape  # noqa: F401 - a fixture
from database.test_table_kills import execute
from database.test_target_faults import PLACES, SECTION, Home, home_at
from outkey.sync.core.mapping.records import FieldKind

MIXED_IDS = [1, 2, "A3"]
LONG_IDS = [1, 2**70]


@pytest.fixture
def api() -> Iterator[ListApi]:
    with list_api() as made:
        yield made


def apply_as_is(home: Home, api: ListApi) -> None:
    """Apply the line with its ID as the API sends it."""
    text = api.document(
        home.target,
        more=SECTION if "warehouse." in home.target else "",
        has_children=True,
    ).replace('transform = "text"\n', "")
    applied = home("apply", "-", stdin=text)
    assert applied.returncode == 0, applied.stderr


def order(number: object, *skus: str) -> dict[str, object]:
    return {"id": number, "name": "x", "lines": [{"sku": sku} for sku in skus]}


@pytest.mark.parametrize("ids", [MIXED_IDS, LONG_IDS], ids=["mixed", "long"])
@pytest.mark.parametrize("where", PLACES)
def test_children_of_keys_that_became_texts_stay(
    where: str,
    ids: list[object],
    api: ListApi,
    tmp_path: Path,
    request: pytest.FixtureRequest,
) -> None:
    home = home_at(where, tmp_path, request)
    apply_as_is(home, api)
    table = f"{home.table}_lines"
    api.records = [order(number, f"a{number}", f"b{number}") for number in ids]
    skus = sorted(f"{letter}{number}" for number in ids for letter in "ab")
    for _ in range(2):
        facts = home.run()
        assert facts["children"]["deleted"] == 0, facts
        assert home.keys(table) == skus
    api.records[0] = order(ids[0], f"a{ids[0]}")
    assert home.run()["children"]["deleted"] == 1
    assert home.keys(table) == sorted({*skus} - {f"b{ids[0]}"})
    api.records = [order(number) for number in ids]
    facts = home.run("--allow-removal")
    assert facts["children"]["deleted"] == len(skus) - 1
    assert home.keys(table) == []


@pytest.mark.parametrize("where", ["sqlite", "postgresql", "mariadb"])
def test_children_in_a_text_column_of_others_stay(
    where: str, api: ListApi, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    home = home_at(where, tmp_path, request)
    columns = "order_id VARCHAR(20) NOT NULL, position INTEGER NOT NULL, sku TEXT"
    execute(home.url, f"CREATE TABLE orders_lines ({columns})")
    adopted = f'{SECTION}\nadopt = ["orders_lines"]'
    text = api.document(home.target, more=adopted, has_children=True)
    applied = home("apply", "-", stdin=text.replace('transform = "text"\n', ""))
    assert applied.returncode == 0, applied.stderr
    api.records = [order(5, "a", "b"), order(6, "c")]
    for _ in range(2):
        facts = home.run()
        assert (facts["state"], facts["children"]["deleted"]) == ("done", 0), facts
        assert home.keys("orders_lines") == ["a", "b", "c"]


@pytest.mark.parametrize("where", PLACES)
def test_a_first_page_of_empty_lists_ends_no_run(
    where: str, api: ListApi, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    home = home_at(where, tmp_path, request)
    apply_as_is(home, api)
    api.records = [order(number) for number in range(30)]
    assert home.run()["state"] == "done"
    api.records[25] = order(25, "a")
    facts = home.run()
    assert facts["children"]["created"] == 1, facts
    api.records = [order(number, "b") for number in ("A3", 25)]
    facts = home.run()
    assert (facts["children"]["created"], facts["children"]["updated"]) == (1, 1)


def test_a_parent_that_differs_in_case_only_keeps_its_children(place: Place) -> None:
    if place.vendor != "mysql":
        return  # the others tell a from A
    place.sql(
        "CREATE TABLE t (parent VARCHAR(20) COLLATE utf8mb4_general_ci NOT NULL,"
        " n INTEGER NOT NULL)"
    )
    place.sql("INSERT INTO t VALUES ('abc', 1), ('ABC', 2), ('abc', 3)")
    place.adopt = ("t",)
    store = place.store()
    columns = ("parent", FieldKind.TEXT), ("n", FieldKind.NUMBER)
    store.prepare(place.target("t"), shape(*columns, keys=("parent", "n")))
    kept = {("abc",): [("abc", 1)]}
    keys = ["parent", "n"]
    assert store.delete_children(place.target("t"), ["parent"], keys, kept) == 1
    found = place.sql("SELECT parent, n FROM t ORDER BY n")
    assert found == [("abc", 1), ("ABC", 2)]


def test_a_parent_that_a_column_cannot_hold_has_no_children_there(
    place: Place,
) -> None:
    store = place.store()
    target = place.target("t")
    columns = ("parent", FieldKind.NUMBER), ("n", FieldKind.NUMBER)
    store.prepare(target, shape(*columns, keys=("parent", "n")))
    rows: list[dict[str, object]] = [{"parent": 5, "n": n} for n in (1, 2)]
    store.upsert(target, ["parent", "n"], rows, place.begin_run())
    kept = {("A3",): [], (2**70,): [], (None,): [], (5,): [(5, 1)]}
    assert store.delete_children(target, ["parent"], ["parent", "n"], kept) == 1
    assert store.count(target) == 1
