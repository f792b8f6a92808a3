"""Home, the lists, the search, and the time zone of each user."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from browser.conftest import PATIENCE, Served, SignIn
from browser.test_pages import HOME, LIST
from browser.test_run_pages import LINES
from programs import assert_program_passes


@pytest.mark.parametrize("program", ["time_zones", "home_and_lists"])
def test_what_every_user_sees_and_may_do_there(program: str, tmp_path: Path) -> None:
    assert_program_passes(f"browser/{program}", tmp_path / "home")


def test_the_keyboard_finds_a_configuration_from_any_page(page: Page) -> None:
    page.goto(HOME)
    page.keyboard.press("Control+k")
    field = page.get_by_role("combobox", name="Search")
    expect(field).to_be_focused()
    page.keyboard.type("demo bas")
    first = page.get_by_role("option").first
    expect(first).to_contain_text("demo basic")
    expect(first).to_have_attribute("aria-selected", "true")
    expect(field).to_have_attribute(
        "aria-activedescendant", str(first.get_attribute("id"))
    )
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_contain_text("demo basic")


def test_the_search_says_that_nothing_matches_and_closes_with_escape(
    page: Page,
) -> None:
    page.goto(LIST)
    page.get_by_role("searchbox", name="Search").first.press("x")
    dialog = page.get_by_role("dialog", name="Search")
    expect(dialog).to_be_visible()
    page.keyboard.type("yz-nothing")
    expect(dialog).to_contain_text("Nothing matches.")
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()


def test_home_names_the_problem_and_its_button_leads_to_the_fix(page: Page) -> None:
    page.goto(HOME)
    row = page.locator(".ok-attention li", has_text="error 401 invalid credentials")
    expect(row).to_contain_text("the last test failed: invalid credentials")
    row.get_by_role("link", name="Fix").click()
    heading = page.get_by_role("heading", level=1)
    expect(heading).to_contain_text("error 401 invalid credentials")


def test_test_all_tests_what_failed_and_counts_the_results(page: Page) -> None:
    page.goto(HOME)
    page.get_by_role("button", name="Test all").click()
    summary = page.locator("[data-check-summary]")
    all_tested = re.compile(r"(\d+) of \1 tested")
    expect(summary).to_contain_text(all_tested, timeout=4 * PATIENCE)
    row = page.get_by_role("row", name="error 401 invalid credentials")
    expect(row).to_contain_text("failing")


def test_selected_rows_are_counted_and_switched_off_after_a_question(
    page: Page,
) -> None:
    page.goto(LIST + "?q=demo+none")
    switch_off = page.get_by_role("button", name="Switch off")
    expect(switch_off).to_be_disabled()
    page.get_by_role("checkbox", name="Select demo none").check()
    expect(page.locator("[data-bulk-count]")).to_have_text("1 selected")
    switch_off.click()
    expect(page.get_by_text("Nothing is sent with")).to_be_visible()
    page.get_by_role("button", name="Switch off (1)").click()
    row = page.get_by_role("row", name="demo none")
    expect(row).to_contain_text("switched off")
    row.get_by_role("checkbox").check()
    page.get_by_role("button", name="Switch on").click()
    page.get_by_role("button", name="Switch on (1)").click()
    expect(row).not_to_contain_text("switched off")


def test_a_click_on_a_column_sorts_the_list(page: Page) -> None:
    page.goto(LIST + "?q=error")
    names = page.locator(".ok-named a")
    expect(names).not_to_have_count(0)
    ascending = names.all_inner_texts()
    assert ascending == sorted(ascending)
    assert len(ascending) > 1
    page.get_by_role("link", name="Name", exact=True).click()
    expect(names).to_have_text(ascending[::-1])
    heading = page.get_by_role("columnheader", name="Name")
    expect(heading).to_have_attribute("aria-sort", "descending")


def test_the_list_of_configurations_fits_a_usual_screen(page: Page) -> None:
    page.goto(LIST)
    expect(page.locator(".ok-configurations tbody tr").first).to_be_visible()
    hidden = (
        "table => table.parentElement.scrollWidth - table.parentElement.clientWidth"
    )
    assert page.locator(".ok-configurations").evaluate(hidden) <= 0


def test_the_value_of_a_card_is_not_spread_across_it(page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 900})
    page.goto(LINES)
    cell = page.locator(".ok-ends").first
    expect(cell).to_contain_text("→")
    gap = """cell => {
        const arrow = cell.querySelector("[aria-hidden]");
        const range = document.createRange();
        range.selectNodeContents(arrow.previousSibling);
        return arrow.getBoundingClientRect().left - range.getBoundingClientRect().right;
    }"""
    assert cell.evaluate(gap) < 10


def test_the_zone_of_the_browser_is_offered_once(
    browser: Browser, served: Served, sign_in: SignIn
) -> None:
    with browser.new_context(
        base_url=served.url, timezone_id="Asia/Tokyo", locale="en"
    ) as context:
        sign_in(context, "127.0.0.1")
        page = context.new_page()
        page.goto(HOME)
        page.get_by_role("button", name="Asia/Tokyo").click()
        expect(page.locator(".ok-zone-link")).to_have_text("Times in Asia/Tokyo")
        expect(page.locator("[data-zone-offer]")).to_have_count(0)
        moment = page.locator("time").first
        expect(moment).to_have_attribute("title", re.compile("Asia/Tokyo$"))
        page.goto("/outkey/usersettings/")
        page.get_by_label("Time zone").select_option("")
        page.get_by_role("button", name="Save", exact=True).click()
        expect(page.get_by_text("Your settings were saved.")).to_be_visible()


@pytest.mark.parametrize("path", [HOME, LIST, "/outkey/usersettings/"])
def test_a_phone_needs_no_scrolling_sideways(page: Page, path: str) -> None:
    page.set_viewport_size({"width": 390, "height": 800})
    page.goto(path)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
