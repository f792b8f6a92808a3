"""Runs in the browser: followed, understood, corrected, retried and downloaded."""

import csv
import io
import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import Page, expect

from browser.conftest import Served, serving
from browser.test_sync_pages import ended, expect_facts, fact, open_line, press

LINES = "/outkey/syncline/"
RUNS = "/outkey/run/"
# Of the contacts, only those whose name has a 7 in it have one here.
PARTLY = "[full_name][?contains(@, '7')] | [0]"
RETRY = re.compile(r"^\s*retry of rejected records")
SYNC = """
direction = "pull"
target = "demo.contact"
keys = ["external_id"]
records = "items"
gone = "archive"
query = {{ count = "{count}" }}

[pagination]
kind = "page"
size_parameter = "per_page"
position_parameter = "page"

[[fields]]
api = "id"
host = "external_id"

[[fields]]
api = "{name}"
host = "name"
required = true

[[fields]]
api = "{credit}"
host = "credit"
"""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server of its own: its runs are counted."""
    with serving(tmp_path_factory.mktemp("runs")) as running:
        yield running


def save_line(
    page: Page, *, name: str = "full_name", count: int = 250, credit: str = "credit"
) -> None:
    """Save the line "clients", as its page does."""
    page.goto(LINES)
    link = page.get_by_role("link", name="clients", exact=True)
    url = link.get_attribute("href") if link.count() else f"{LINES}add/"
    assert url
    page.goto(url)
    token = page.locator('[name="csrfmiddlewaretoken"]').first.input_value()
    response = page.request.post(
        url,
        form={
            "csrfmiddlewaretoken": token,
            "name": "clients",
            "configuration": "demo bearer",
            "method": "GET",
            "path": "/records/contacts",
            "sync": SYNC.format(name=name, count=count, credit=credit),
        },
        headers={"Referer": page.url},
    )
    assert response.ok, response.status


def start_run(page: Page, button: str = "Run now") -> None:
    open_line(page, "clients")
    press(page, button)


def test_a_rejected_record_is_found_corrected_and_retried_until_it_is_accepted(
    page: Page,
) -> None:
    save_line(page, name=PARTLY)
    start_run(page)
    ended(page, "done, 207 rejected")
    expect_facts(page, New="43", Rejected="207")
    group = page.locator("#rejected details")
    expect(group.locator("summary")).to_contain_text("207")
    expect(group.locator("summary")).to_contain_text("a value is missing")
    first = group.locator("tbody tr").first.locator("td")
    expect(first).to_have_text(["1", "c0", "null", "null"])
    rejecting = page.url
    number = rejecting.rstrip("/").rpartition("/")[2]
    # What is not corrected is rejected again.
    press(page, "Retry rejected")
    ended(page, "failed")
    expect(fact(page, "Trigger")).to_have_text(RETRY)
    expect_facts(page, Rejected="207")
    expect(page.locator(".ok-note.ok-error")).to_contain_text(
        "every record was rejected"
    )
    page.get_by_role("link", name="Open mapping").first.click()
    expect(page).to_have_url(re.compile(rf"{LINES}\d+/"))
    save_line(page)
    page.goto(rejecting)
    retry = page.get_by_role("button", name="Retry rejected")
    retry.focus()
    with page.expect_navigation():
        page.keyboard.press("Enter")
    ended(page, "done")
    expect_facts(page, New="207", Rejected="0")
    page.get_by_role("link", name=f"#{number}", exact=True).click()
    expect(page).to_have_url(rejecting)
    expect(page.get_by_role("button", name="Retry rejected")).to_have_count(0)
    expect(page.locator("#rejected")).to_have_count(0)


def test_what_changed_is_told_by_field(page: Page) -> None:
    save_line(page, name="mail")
    for button in ("Dry run", "Run now"):
        start_run(page, button)
        ended(page, "done")
        expect_facts(page, Changed="250")
        cells = page.locator(".ok-changed tbody td")
        expect(cells.nth(0)).to_have_text("name")
        expect(cells.nth(1)).to_have_text("250")
    expect(page.get_by_role("heading", name="What changed, by field")).to_be_visible()


def test_a_run_is_followed_without_loading_the_page_again(page: Page) -> None:
    # A run that would take minutes, a few records on each page.
    save_line(page, count=1_000_000)
    # What is read aloud depends on the clock, which a loaded machine must not move.
    loaded = datetime.now(UTC)
    page.clock.set_fixed_time(loaded)
    start_run(page, "Dry run")
    page.evaluate("window.unchanged = true")
    progress = page.locator(".ok-progress")
    expect(progress).to_contain_text("records per second", timeout=20_000)
    expect(progress).to_contain_text("of 1,000,000")
    before = fact(page, "New").inner_text()
    expect(fact(page, "New")).not_to_have_text(before, timeout=20_000)
    assert page.evaluate("window.unchanged")
    expect(page.locator("#run-said")).to_have_text("")
    page.clock.set_fixed_time(loaded + timedelta(seconds=21))
    expect(page.locator("#run-said")).to_contain_text("of 1,000,000")
    cancel = page.get_by_role("button", name="Cancel")
    cancel.focus()
    with page.expect_navigation():
        page.keyboard.press("Enter")
    ended(page, "cancelled")
    expect(page.locator(".ok-progress")).to_have_count(0)


def test_the_end_of_a_run_appears_by_itself(page: Page) -> None:
    save_line(page, count=6000)
    start_run(page, "Dry run")
    page.evaluate("window.unchanged = true")
    ended(page, "done")
    assert page.evaluate("window.unchanged")
    expect(page.get_by_role("button", name="Run now")).to_be_visible()
    expect(page.locator("#run-said")).to_contain_text("The run has ended.")
    duration = re.compile(r"^(< 1 s|\d+ s|\d min.*)$")
    expect(fact(page, "Duration")).to_have_text(duration, use_inner_text=True)


def test_a_page_without_scripts_follows_a_run_too(served: Served, page: Page) -> None:
    save_line(page)
    start_run(page, "Dry run")
    source = page.request.get(page.url).text()
    assert "noscript" in source or "data-follows" not in source
    live = page.request.get(f"{page.url}?part=live").text()
    assert "<html" not in live
    assert len(live) < 6000
    ended(page, "done")


def test_a_download_has_no_formula_and_no_secret(page: Page) -> None:
    save_line(page, credit="join('', ['=', id])")
    start_run(page)
    ended(page, "failed")
    files = {}
    for button in ("Download CSV", "Download JSON"):
        with page.expect_download() as download:
            page.get_by_role("button", name=button).click()
        path = download.value.path()
        files[download.value.suggested_filename.rpartition(".")[2]] = path.read_text()
    rows = list(csv.DictReader(io.StringIO(files["csv"])))
    assert len(rows) == 250
    assert rows[0]["excerpt"] == "'=c0"
    assert (rows[0]["key"], rows[0]["field"]) == ("c0", "credit")
    assert json.loads(files["jsonl"].splitlines()[0])["excerpt"] == "=c0"
    page.goto("/outkey/auditrecord/")
    expect(page.locator("tbody")).to_contain_text("exported data")
    # A record that repeats a secret is rejected without an excerpt.
    save_line(page, credit="join('', ['spar-', 'token'])")
    start_run(page)
    ended(page, "failed")
    with page.expect_download() as download:
        page.get_by_role("button", name="Download CSV").click()
    content = download.value.path().read_text()
    assert len(content.splitlines()) == 251
    assert "spar-token" not in content


def test_a_removal_that_the_guard_stopped_is_allowed_once(page: Page) -> None:
    save_line(page)
    start_run(page)
    ended(page, "done")
    save_line(page, count=100)
    start_run(page)
    ended(page, "failed")
    note = page.locator(".ok-note.ok-error")
    expect(note).to_contain_text("150 of 250 records are missing")
    expect(note).not_to_contain_text("--allow-removal")
    open_line(page, "clients")
    expect(page.get_by_text("150 of 250 records are missing")).to_be_visible()
    allow = page.get_by_role("button", name="Allow the removal once")
    page.once("dialog", lambda dialog: dialog.dismiss())
    allow.click()
    expect(allow).to_be_visible()
    questions: list[str] = []

    def accept(dialog: object) -> None:
        questions.append(dialog.message)  # type: ignore[attr-defined]
        dialog.accept()  # type: ignore[attr-defined]

    page.once("dialog", accept)
    with page.expect_navigation():
        allow.click()
    assert "Are they really deleted?" in questions[0]
    ended(page, "done")
    expect_facts(page, Unchanged="100", Archived="150")
    open_line(page, "clients")
    expect(page.get_by_role("button", name="Allow the removal once")).to_have_count(0)


def test_the_numbers_of_the_chart_are_those_of_the_runs(page: Page) -> None:
    page.goto(RUNS)
    kinds = ["Unchanged", "New", "Changed", "Removed", "Rejected"]
    listed = {}
    for row in page.locator(".ok-runs tbody tr").all():
        number = row.locator("a").first.inner_text()
        cells = [row.locator(f'[data-label="{kind}"]').inner_text() for kind in kinds]
        listed[number] = [int(cell.replace(",", "")) for cell in cells]
    charted = {}
    for row in page.locator("figure table tbody tr").all():
        number = (row.locator("th").text_content() or "").split()[0]
        counts = [int(cell) for cell in row.locator("td").all_text_contents()]
        charted[number] = counts[:-1]
        assert counts[-1] == sum(counts[:-1])
    assert charted
    assert charted == {number: listed[number] for number in charted}
    legend = page.locator(".ok-chart-legend strong").all_inner_texts()
    totals = [sum(counts) for counts in zip(*charted.values(), strict=True)]
    assert [int(text.replace(",", "")) for text in legend] == totals


def test_a_chart_is_read_by_keyboard_and_leads_to_its_runs(page: Page) -> None:
    page.goto(RUNS)
    newest = page.locator("a.ok-column").last
    newest.focus()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowLeft")
    column = page.locator("a.ok-column:focus")
    tip = column.locator(".ok-tip")
    expect(tip).to_be_visible()
    number = tip.locator("strong").inner_text().split(",")[0]
    page.keyboard.press("Escape")
    expect(tip).to_be_hidden()
    with page.expect_navigation():
        page.keyboard.press("Enter")
    expect(page.locator(".ok-page h1")).to_contain_text(
        f"Run {number.removeprefix('#')}"
    )


def test_runs_are_filtered_by_time_and_retried_from_the_list(page: Page) -> None:
    save_line(page, name=PARTLY)
    start_run(page)
    ended(page, "done, 207 rejected")
    page.goto(RUNS)
    count = page.locator(".ok-runs tbody tr").count()
    page.select_option("[name=days]", "7")
    press(page, "Filter")
    expect(page).to_have_url(re.compile("days=7"))
    expect(page.locator(".ok-runs tbody tr")).to_have_count(count)
    rejecting = page.locator(".ok-runs tbody tr", has_text="Retry rejected").first
    with page.expect_navigation():
        rejecting.get_by_role("button").click()
    expect(page.locator("h1 .ok-chip")).to_have_text(
        re.compile("done|failed"), timeout=60_000
    )
    expect(fact(page, "Trigger")).to_have_text(RETRY)


def test_a_phone_shows_a_run_without_scrolling_sideways(page: Page) -> None:
    page.goto(RUNS + "?state=failed")
    page.locator(".ok-runs a").first.click()
    expect(page).to_have_url(re.compile(rf"{RUNS}\d+/"))
    run = page.url
    page.set_viewport_size({"width": 390, "height": 800})
    for path in (RUNS, run):
        page.goto(path)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path
