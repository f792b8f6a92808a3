"""The list of what only the full run does."""

from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from full_run import ROWS, Row, long_tests

TESTS = Path(__file__).parents[1]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.where)
def test_a_row_is_about_tests_that_exist(row: Row) -> None:
    file, _, test = row.where.partition("::")
    place = TESTS / file
    assert place.exists(), "the file was moved or deleted: so is its row"
    text = "" if place.is_dir() else place.read_text("utf-8")
    assert f"def {test}" in text or not test
    for word in (*row.only, *row.but):
        assert f"def {word}" in text or not word.startswith("test_")


def fake_item(test: str, **parameters: object) -> pytest.Item:
    name = f"{test}[{'-'.join(map(str, parameters.values()))}]"
    item = SimpleNamespace(
        nodeid=f"tests/{name}",
        callspec=SimpleNamespace(params=parameters),
        get_closest_marker=lambda _: None,
    )
    return cast("pytest.Item", item)


def test_each_two_parameters_stay_together_once() -> None:
    row = next(row for row in ROWS if row.pairs_stay)
    items = [
        fake_item(row.where, status=status, target=target, client=client)
        for status in (301, 302, 303)
        for target in ("port", "host")
        for client in ("httpx", "requests")
    ]
    left_out = {item.nodeid for item in long_tests(items)}
    stay = [item.nodeid for item in items if item.nodeid not in left_out]
    assert 6 <= len(stay) < len(items)
    for pair in ("301-port", "303-host", "host-requests", "port-httpx"):
        assert any(pair in name for name in stay)
    for status in (301, 302, 303):
        for client in ("httpx", "requests"):
            assert any(f"[{status}-" in name and client in name for name in stay)


def test_what_is_in_no_row_stays() -> None:
    assert not list(long_tests([fake_item("unit/test_texts.py::test_any", a=1)]))
