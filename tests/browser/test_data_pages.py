"""Tables in the browser: many columns, hostile values, small and dark screens."""

import csv
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from browser.conftest import Served, SignIn
from database.list_api import ListApi, list_api

HTML = "<img src=x onerror=alert(1)>"
COLUMNS = 200
LONG = "x" * 100_000
FIELD = """
[[line.wide.fields]]
api = "{name}"
host = "{name}"
"""
DOCUMENT = """
[configuration.list]
base_url = "{url}"
network = "internal"
authentication_type = "none"
[line.wide]
configuration = "list"
direction = "pull"
path = "/orders"
records = "items"
target = "table:wide"
keys = ["id"]
pagination = {{ kind = "page", size = 20, position_parameter = "page" }}
"""


@pytest.fixture(scope="module")
def table(served: Served) -> Iterator[ListApi]:
    """A table of 60 rows and 200 columns, filled by a line."""
    with list_api() as api:
        names = [f"c{number}" for number in range(COLUMNS)]
        api.records = [
            {"id": number, **{name: f"{name} of {number}" for name in names}}
            for number in range(60)
        ]
        api.records[0] |= {"c0": HTML, "c1": "=1+1", "c2": LONG, "c3": "a\nb\tc"}
        text = DOCUMENT.format(url=api.url)
        text += "".join(FIELD.format(name=name) for name in ("id", *names))
        served.command("apply", "-", stdin=text)
        served.command("line", "run", "wide")
        yield api
        # Other tests count the lines and runs of the same server.
        served.command("line", "delete", "wide", "--yes")


def open_table(page: Page) -> None:
    page.goto("/outkey/syncline/data/")
    page.get_by_role("link", name="wide", exact=True).click()


def overflow(page: Page) -> int:
    """Return by how many pixels the page is wider than the window."""
    return page.evaluate(
        "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    )


@pytest.mark.usefixtures("table")
def test_a_table_is_read_filtered_and_exported(page: Page, tmp_path: Path) -> None:
    dialogs: list[str] = []
    page.on("dialog", lambda dialog: dialogs.append(dialog.message))
    open_table(page)
    rows = page.locator(".ok-table tbody tr")
    expect(rows).to_have_count(50)
    expect(rows.first).to_contain_text(HTML)
    expect(page.locator(".ok-table img")).to_have_count(0)
    expect(page.locator(".ok-table th")).to_have_count(COLUMNS + 2)
    assert len(rows.first.inner_text()) < 5_000
    page.get_by_role("link", name="Next").click()
    expect(rows).to_have_count(10)
    page.get_by_label("Column").select_option("c7")
    page.get_by_label("contains").fill("C7 OF 1%")
    page.get_by_role("button", name="Filter").click()
    expect(rows).to_have_count(0)
    page.get_by_label("contains").fill("C7 OF 1")
    page.get_by_role("button", name="Filter").click()
    expect(rows).to_have_count(11)
    with page.expect_download() as download:
        page.get_by_role("button", name="Export CSV (found records: 11)").click()
    file = tmp_path / "wide.csv"
    download.value.save_as(file)
    with file.open(newline="") as opened:
        found = list(csv.DictReader(opened))
    assert [row["id"] for row in found] == ["1", *map(str, range(10, 20))]
    page.get_by_role("link", name="Show all records").click()
    expect(rows).to_have_count(50)
    with page.expect_download() as download:
        page.get_by_role("button", name="Export CSV (all records: 60)").click()
    download.value.save_as(file)
    with file.open(newline="") as opened:
        first, *others = csv.DictReader(opened)
    assert (first["c1"], first["c2"], len(others)) == ("'=1+1", LONG, 59)
    assert dialogs == []


@pytest.mark.usefixtures("table")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_wide_table_scrolls_in_its_place(
    browser: Browser, served: Served, sign_in: SignIn, scheme: str
) -> None:
    for width in (1280, 400):
        with browser.new_context(
            base_url=served.url,
            viewport={"width": width, "height": 900},
            color_scheme=scheme,  # type: ignore[arg-type]
        ) as context:
            sign_in(context, "127.0.0.1")
            page = context.new_page()
            page.goto("/outkey/syncline/data/wide/")
            expect(page.locator(".ok-table tbody tr")).to_have_count(50)
            if folder := os.environ.get("OUTKEY_SCREENSHOTS"):
                page.screenshot(path=f"{folder}/faults19-table-{scheme}-{width}.png")
            assert overflow(page) <= 0, width
            row = page.locator(".ok-table tbody tr").first
            # A long value pushes neither columns nor rows out of sight.
            box = row.locator("td").nth(4).bounding_box()
            assert box is not None
            assert (box["width"] <= 340, box["height"] < 400) == (True, True), box
            expect(row.locator("td").nth(4)).to_contain_text("x…")
            page.goto("/outkey/syncline/data/")
            if folder:
                page.screenshot(path=f"{folder}/faults19-tables-{scheme}-{width}.png")
            assert overflow(page) <= 0, width
