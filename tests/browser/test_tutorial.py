"""The tutorial of the handbook: each of its steps on the pages is true."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page

from browser.conftest import Served, serving
from outkey.spar import Spar

ROOT = Path(__file__).parents[2]
TUTORIAL = ROOT / "docs" / "tutorial" / "index.md"
sys.path.insert(0, str(ROOT / "tools"))


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server of its own, as `make run` starts it."""
    with serving(tmp_path_factory.mktemp("tutorial")) as running:
        yield running


def test_a_user_who_follows_the_tutorial_gets_a_synchronized_table(
    page: Page, spar: Spar, served: Served
) -> None:
    from tutorial_steps import COMMAND, walk_tutorial

    text = TUTORIAL.read_text("utf-8")
    taken: list[str] = []
    pressed = walk_tutorial(
        page, spar.url, lambda _page, name, *_size: taken.append(name)
    )
    # The page asks for the same, in the same order, and shows each picture.
    assert COMMAND in text
    wanted = re.findall(r"(?:[Pp]ress|Follow|then) \*([^*]+)\*", text)
    assert pressed == wanted
    assert taken == re.findall(r"_pictures/([\w-]+)\.png", text)
    listed = served.command("data", "list", "--json")
    assert '"people"' in listed
