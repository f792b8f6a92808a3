"""A sync line that is renamed keeps its runs and its records, wherever these are."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from database.list_api import ListApi, list_api, orders
from database.test_target_faults import PLACES, home_at


@pytest.fixture
def api() -> Iterator[ListApi]:
    with list_api() as made:
        yield made


@pytest.mark.parametrize("where", [*PLACES, "model sqlite"])
def test_a_renamed_line_finds_what_it_brought_under_its_old_name(
    where: str, api: ListApi, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    home = home_at(where, tmp_path, request)
    has_children = not where.startswith("model")
    api.records = orders(30)
    home.apply(api, 'gone = "archive"', has_children=has_children)
    assert home.run()["created"] == 30
    renamed = home("line", "rename", "orders", "sales")
    assert (renamed.returncode, renamed.stdout) == (0, "renamed: orders → sales\n")
    api.records = orders(28)
    done = home("line", "run", "sales", "--json")
    facts = json.loads(done.stdout)
    assert (facts["unchanged"], facts["archived"]) == (28, 2), done.stderr
    assert home.keys(where=home.archived) == ["o000028", "o000029"]
    runs = json.loads(home("run", "list", "--json").stdout)
    assert [run["line"] for run in runs] == ["sales", "sales"]
    # A line that gets the old name owns nothing of it.
    home.apply(api, 'gone = "archive"', has_children=has_children)
    api.records = orders(25)
    assert home.run()["archived"] == 0
