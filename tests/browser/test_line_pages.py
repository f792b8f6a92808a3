"""The page of a sync line, as an administrator uses it who does not program."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, Dialog, Locator, Page, expect

from browser.conftest import Served, SignIn, serving

LINES = "/outkey/syncline/"
PEOPLE = (
    {"full_name": "Ann Lee", "born": "31.12.80"},
    {"full_name": "Bo Ray", "born": "01.02.75"},
    {"full_name": "Cy Fox", "born": "15.07.99"},
)
PULL = """
[line."{name}"]
configuration = "demo bearer"
path = "/records/contacts"
direction = "pull"
target = "table:{table}"
keys = ["id"]
records = "items"
fields = [
    {{ api = "id", host = "id", required = true }},
    {{ api = "full_name", host = "name" }},
    {{ api = "mail", host = "email" }},
]
"""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server of its own: the records of its API are counted."""
    with serving(tmp_path_factory.mktemp("lines")) as running:
        yield running


@pytest.fixture(scope="module")
def people(served: Served) -> None:
    """Records of an API whose dates are not written as anybody expects."""
    for person in PEOPLE:
        served.command(
            "request", "demo bearer", "POST", "/records/stored?own_id=full_name",
            "--data", json.dumps(person),
        )  # fmt: skip


@pytest.fixture
def second_page(browser: Browser, served: Served, sign_in: SignIn) -> Iterator[Page]:
    """A second editor, in another window."""
    context = browser.new_context(base_url=served.url)
    context.set_default_timeout(15_000)
    sign_in(context, "127.0.0.1")
    yield context.new_page()
    context.close()


def make_line(served: Served, name: str) -> None:
    text = PULL.format(name=name, table=name.replace(" ", "_"))
    served.command("apply", "-", stdin=text)


def open_line(page: Page, name: str, view: str = "form") -> None:
    page.goto(LINES)
    link = page.get_by_role("link", name=name, exact=True)
    page.goto(f"{link.get_attribute('href')}?view={view}")


@contextmanager
def redrawn(page: Page) -> Iterator[None]:
    """Wait until the parts of the page are drawn anew after what is done inside."""
    # The parts are busy from before the request until its response is drawn.
    with page.expect_request(lambda request: "/check/" in request.url):
        yield
    expect(page.locator("#line-parts")).not_to_have_attribute("aria-busy", "true")


def press(page: Page, name: str) -> None:
    with redrawn(page):
        page.get_by_role("button", name=name, exact=True).click()


def save(page: Page, name: str = "Save") -> None:
    with page.expect_navigation():
        page.locator(".ok-save").get_by_role("button", name=name, exact=True).click()


def choose(page: Page, locator: str, value: str) -> None:
    with redrawn(page):
        page.select_option(locator, value)


def type_in(page: Page, locator: str, text: str) -> None:
    with redrawn(page):
        page.fill(locator, text)
        page.locator(locator).blur()


def row_of(page: Page, host: str) -> Locator:
    """The row of the mapping that fills a field of the target."""
    chosen = f'[id^="m-host-"] option[value="{host}"]:checked'
    written = f'input[id^="m-host-"][value="{host}"]'
    rows = page.locator("#mapping tbody").first.locator("tr")
    return rows.filter(has=page.locator(f"{chosen}, {written}"))


def test_from_a_sample_to_a_scheduled_run_with_a_date_repaired_in_its_row(
    page: Page, served: Served, people: None
) -> None:
    page.goto(LINES)
    page.get_by_role("link", name="New").click()
    page.fill("#l-name", "people")
    page.select_option("#l-configuration", "demo bearer")
    page.fill("#l-path", "/records/stored")
    press(page, "Fetch a sample")
    expect(page.locator("#l-record")).to_have_text("record 1 of 3")
    expect(page.locator(".ok-found").first).to_contain_text("Records: items (found)")
    choose(page, "#l-target", "demo.contact")
    press(page, "Use all suggestions")
    expect(row_of(page, "external_id").get_by_label("key")).to_be_checked()
    expect(row_of(page, "name")).to_contain_text("Ann Lee")
    # No field of the model is named so: it is mapped by hand, and the date is wrong.
    press(page, "Map this field born")
    choose(page, "#m-host-2", "born_on")
    choose(page, "#m-transform-2", "date")
    help_text = "For example %d.%m.%Y; empty: ISO dates such as 2026-02-01."
    expect(page.locator("[name=map-format-2]")).to_have_accessible_description(
        help_text
    )
    type_in(page, "[name=map-format-2]", "%Y/%m/%d")
    born = row_of(page, "born_on")
    expect(born).to_contain_text("31.12.80")
    expect(born.locator(".ok-wrong-value")).to_be_visible()
    expect(born).to_contain_text("rejects 3 of 3 records")
    with redrawn(page):
        born.locator(".ok-repairs button").first.click()
    expect(row_of(page, "born_on")).to_contain_text("1980-12-31")
    expect(page.locator(".ok-wrong-value")).to_have_count(0)
    press(page, "Next record")
    expect(page.locator("#l-record")).to_have_text("record 2 of 3")
    expect(row_of(page, "born_on")).to_contain_text("1975-02-01")
    with redrawn(page):
        page.check("#l-schedule-daily")
    type_in(page, "#l-schedule-time", "06:30")
    type_in(page, "#l-schedule-zone", "Europe/Berlin")
    expect(page.locator("#l-next")).to_contain_text("06:30")
    press(page, "Check")
    expect(page.locator(".ok-counts")).to_contain_text("3 new")
    expect(page.locator("#sample tbody tr").first).to_contain_text("1980-12-31")
    page.check("#l-problems")
    expect(page.locator("#sample tbody tr").first).to_be_hidden()
    save(page)
    expect(page.get_by_text("The sync line people was saved.")).to_be_visible()
    expect(page.locator(".ok-page h1")).to_contain_text("people")
    expect(page.locator(".ok-page h1 .ok-chip")).to_have_text("on")
    # The sample is still there, in this window only.
    expect(row_of(page, "name")).to_contain_text("Ann Lee")
    assert "CRON_TZ=Europe/Berlin 30 6 * * *" in served.command(
        "line", "show", "people"
    )
    with page.expect_navigation():
        page.get_by_role("button", name="Run now").click()
    expect(page.locator(".ok-page h1 .ok-chip")).to_have_text("done", timeout=60_000)


def test_the_list_tells_the_last_run_and_pauses_a_line(
    page: Page, served: Served
) -> None:
    make_line(served, "listed")
    served.command("line", "run", "listed", "--dry-run")
    page.goto(LINES)
    row = page.get_by_role("row", name="listed")
    expect(row).to_contain_text("never")
    served.command("line", "run", "listed")
    page.goto(LINES)
    expect(row).to_contain_text("100 new")
    last = row.locator("td[data-label='Last run'] a")
    page.goto(last.get_attribute("href") or "")
    took = page.locator(".ok-run-facts div").filter(has_text="Duration").locator("dd")
    seconds = took.inner_text().strip()
    page.goto(LINES)
    expect(row).to_contain_text(f"{seconds} ·")
    expect(row).to_contain_text("demo bearer")
    expect(row).to_contain_text("table:listed")
    row.get_by_role("button", name="Pause").click()
    expect(row).to_contain_text("paused")
    expect(row.get_by_role("button", name="Run now")).to_have_count(0)
    row.get_by_role("button", name="Resume").click()
    expect(row.get_by_role("button", name="Run now")).to_be_visible()


def tab_to(page: Page, id_: str) -> None:
    """Move the focus to an element as a user without a mouse does."""
    tab_to_element(page, page.locator(f"[id='{id_}']"))


def tab_to_element(page: Page, element: Locator) -> None:
    element.wait_for()
    for _ in range(150):
        if element.evaluate("element => element === document.activeElement"):
            return
        page.keyboard.press("Tab")
    pytest.fail(f"the keyboard does not reach {element}")


def test_a_line_is_made_with_the_keyboard_alone(
    page: Page, served: Served, people: None
) -> None:
    page.goto(LINES + "add/")
    page.locator(".ok-page h1").wait_for()
    tab_to(page, "l-name")
    page.keyboard.type("by keyboard")
    tab_to(page, "l-configuration")
    page.keyboard.type("demo bea")
    tab_to(page, "l-path")
    page.keyboard.press("Control+A")
    page.keyboard.type("/records/stored")
    tab_to(page, "l-sample")
    with redrawn(page):
        page.keyboard.press("Enter")
    expect(page.locator("#l-sample")).to_be_focused()
    expect(page.locator("#line-said")).to_have_text("Records in the sample: 3.")
    tab_to(page, "l-accept")
    with redrawn(page):
        page.keyboard.press("Enter")
    expect(page.locator("#l-add-field")).to_be_focused()
    expect(page.locator("#line-said")).to_have_text("Fields mapped: 3.")
    # Back to the row of the date: as text first, then as the date that it is.
    expect(row_of(page, "born")).to_be_visible()
    number = row_number(page, "born")
    for _ in range(80):
        if page.evaluate("document.activeElement.id") == f"m-transform-{number}":
            break
        page.keyboard.press("Shift+Tab")
    with redrawn(page):
        page.keyboard.type("Yes")
    expect(page.locator(f"#m-transform-{number}")).to_be_focused()
    tab_to(page, f"repair-{number}-0")
    with redrawn(page):
        page.keyboard.press("Enter")
    expect(page.locator(f"#m-transform-{number}")).to_be_focused()
    expect(page.locator(".ok-wrong-value")).to_have_count(0)
    tab_to(page, "l-schedule-by_hand")
    for _ in range(3):
        with redrawn(page):
            page.keyboard.press("ArrowRight")
    expect(page.locator("#l-schedule-daily")).to_be_focused()
    tab_to(page, "l-check")
    with redrawn(page):
        page.keyboard.press("Enter")
    expect(page.locator(".ok-counts")).to_contain_text("3 new")
    tab_to(page, "l-save")
    with page.expect_navigation():
        page.keyboard.press("Enter")
    expect(page.get_by_text("The sync line by keyboard was saved.")).to_be_visible()
    assert "0 6 * * *" in served.command("line", "show", "by keyboard")


def row_number(page: Page, host: str) -> int:
    number: int = page.evaluate(
        "host => [...document.querySelectorAll('[id^=\"m-host-\"]')]"
        ".findIndex(field => field.value === host)",
        host,
    )
    return number


def test_comments_survive_what_is_changed_in_the_form(
    page: Page, served: Served
) -> None:
    make_line(served, "commented")
    open_line(page, "commented", view="toml")
    text = page.locator("#l-sync").input_value()
    page.fill("#l-sync", "# asked for by Mrs. Lee\n" + text + "\n# the end\n")
    press(page, "Form")
    with redrawn(page):
        page.check("#l-gone-archive")
    type_in(page, "#l-guard_percent", "25")
    press(page, "TOML")
    expect(page.locator("#l-sync")).to_have_value(re.compile("guard_percent = 25"))
    changed = page.locator("#l-sync").input_value()
    assert changed.startswith("# asked for by Mrs. Lee\n")
    assert "# the end" in changed
    save(page)
    expect(page.locator("#l-sync")).to_have_value(changed)
    assert "guard_percent = 25" in served.command("line", "show", "commented")


def test_unsaved_changes_are_warned_about_and_a_save_stays_on_the_page(
    page: Page, served: Served
) -> None:
    make_line(served, "unsaved")
    open_line(page, "unsaved")
    asked: list[str] = []

    def stay(dialog: Dialog) -> None:
        asked.append(dialog.type)
        dialog.dismiss()

    page.on("dialog", stay)
    type_in(page, "#l-path", "/records/contacts?count=3")
    with page.expect_event("dialog"):
        page.get_by_role("link", name="Sync Lines").last.click()
    expect(page.locator("#l-path")).to_have_value("/records/contacts?count=3")
    assert asked == ["beforeunload"]
    place = page.url.partition("?")[0]
    save(page)
    expect(page).to_have_url(re.compile(rf"^{re.escape(place)}(\?.*)?$"))
    expect(page.get_by_text("The sync line unsaved was saved.")).to_be_visible()
    page.get_by_role("link", name="Sync Lines").last.click()
    page.wait_for_url("**" + LINES)
    assert asked == ["beforeunload"]


def test_versions_are_compared_and_restored(page: Page, served: Served) -> None:
    make_line(served, "versioned")
    open_line(page, "versioned")
    choose(page, "#m-transform-1", "text")
    save(page)
    row = page.locator(".ok-versions-list tbody tr").first
    expect(row).to_contain_text("v2")
    expect(row).to_contain_text("web:admin")
    expect(row).to_contain_text("Field name, Rule: As it is → Text")
    page.get_by_role("link", name="Compare v1").click()
    expect(page.locator(".ok-page h1")).to_have_text("Version 1 of versioned")
    difference = page.locator(".ok-diff tbody tr")
    expect(difference).to_have_count(1)
    expect(difference).to_contain_text(re.compile("Rule.*As it is.*Text", re.DOTALL))
    page.get_by_role("button", name="Restore this version").click()
    expect(page.get_by_text("Version 1 was restored.")).to_be_visible()
    expect(page.locator("#m-transform-1")).to_have_value("as_is")
    expect(page.locator(".ok-versions-list tbody tr").first).to_contain_text("v3")


def test_a_line_is_renamed_with_its_runs_and_versions(
    page: Page, served: Served
) -> None:
    make_line(served, "misnamed")
    make_line(served, "taken")
    served.command("line", "run", "misnamed")
    open_line(page, "misnamed")
    page.get_by_role("link", name="Rename").click()
    page.get_by_label("New name").fill("taken")
    page.get_by_role("button", name="Rename").click()
    expect(page.get_by_role("alert")).to_contain_text("already exists")
    page.get_by_label("New name").fill("well named")
    page.get_by_role("button", name="Rename").click()
    expect(page.get_by_text("misnamed was renamed to well named.")).to_be_visible()
    expect(page.locator(".ok-page h1")).to_contain_text("well named")
    expect(page.locator(".ok-versions-list tbody tr").first).to_contain_text("v1")
    expect(page.locator(".ok-runs tbody tr")).to_have_count(1)
    with page.expect_navigation():
        page.get_by_role("button", name="Run now").click()
    expect(page.locator(".ok-page h1 .ok-chip")).to_have_text("done", timeout=60_000)
    expect(page.locator("#run-live")).to_contain_text("100")


def test_of_two_editors_the_second_sees_what_the_first_has_saved(
    page: Page, second_page: Page, served: Served
) -> None:
    make_line(served, "contested")
    open_line(page, "contested")
    open_line(second_page, "contested")
    type_in(page, "#l-path", "/records/contacts?count=1")
    save(page)
    type_in(second_page, "#l-path", "/records/contacts?count=2")
    save(second_page)
    conflict = second_page.locator("[aria-labelledby=l-conflict]")
    expect(conflict).to_contain_text("Version 2 was saved by web:admin")
    expect(conflict.locator("tbody tr")).to_contain_text("/records/contacts?count=1")
    expect(conflict.locator("tbody tr")).to_contain_text("/records/contacts?count=2")
    expect(second_page.locator("#l-path")).to_have_value("/records/contacts?count=2")
    assert "count=1" in served.command("line", "show", "contested")
    tab_to_element(second_page, conflict.get_by_role("button", name="Save mine anyway"))
    with second_page.expect_navigation():
        second_page.keyboard.press("Enter")
    assert "count=2" in served.command("line", "show", "contested")
    type_in(page, "#l-path", "/records/contacts?count=9")
    save(page)
    tab_to_element(page, page.get_by_role("link", name="Load the saved version"))
    page.keyboard.press("Enter")
    expect(page.locator("#l-path")).to_have_value("/records/contacts?count=2")


def test_a_table_is_made_on_the_spot_and_filled(page: Page, served: Served) -> None:
    page.goto(LINES + "add/")
    page.fill("#l-name", "Our contacts")
    page.select_option("#l-configuration", "demo bearer")
    page.fill("#l-path", "/records/contacts?count=30")
    press(page, "Fetch a sample")
    expect(page.locator("#l-target")).to_have_value("+table")
    expect(page.locator("#l-target-table")).to_have_value("our_contacts")
    expect(page.locator("#l-cut")).to_have_text("(shown records: 20 of 30)")
    type_in(page, "#l-target-table", "clients")
    notes = page.locator("#l-notes li")
    expect(notes.filter(has_text="id: unique among 30 records")).to_have_count(1)
    press(page, "Use all suggestions")
    with redrawn(page):
        page.check("#l-schedule-daily")
    expect(notes.filter(has_text="id: unique among 30 records")).to_have_count(1)
    with redrawn(page):
        page.check("#l-schedule-cron")
    expect(page.locator("#l-schedule-expression")).to_have_accessible_description(
        re.compile("0 6 \\* \\* 1-5 is 06:00 from Monday to Friday")
    )
    with redrawn(page):
        page.check("#l-schedule-by_hand")
    expect(page.locator("#mapping tbody").first.locator("tr")).to_have_count(6)
    save(page, "Save and dry run")
    expect(page.locator(".ok-page h1 .ok-chip")).to_have_text("done", timeout=60_000)
    open_line(page, "Our contacts")
    with page.expect_navigation():
        page.get_by_role("button", name="Run now").click()
    expect(page.locator(".ok-page h1 .ok-chip")).to_have_text("done", timeout=60_000)
    page.get_by_role("link", name="table:clients").click()
    expect(page).to_have_url(re.compile("/outkey/syncline/data/clients/"))
    expect(page.get_by_text("contact29@example.com")).to_be_visible()
    open_line(page, "Our contacts")
    chosen = page.locator("#l-target option:checked")
    expect(chosen).to_have_text("Table clients")


def test_a_line_that_sends_records_is_a_form_too(page: Page, served: Served) -> None:
    page.goto(LINES + "add/")
    page.fill("#l-name", "send contacts")
    page.select_option("#l-configuration", "demo bearer")
    choose(page, "#l-direction", "push")
    page.select_option("#l-create_method", "POST")
    page.fill("#l-create_path", "/records/stored")
    page.select_option("#l-update_method", "PUT")
    page.fill("#l-update_path", "/records/stored/{remote_id}")
    page.fill("#l-remote_id", "data.id")
    choose(page, "#l-target", "demo.contact")
    press(page, "+ Field")
    page.fill("#m-api-0", "mail")
    choose(page, "#m-host-0", "email")
    press(page, "+ Field")
    page.fill("#m-api-1", "full_name")
    choose(page, "#m-host-1", "name")
    press(page, "Move up name")
    expect(page.locator("#m-host-0")).to_have_value("name")
    save(page)
    expect(page.get_by_text("The sync line send contacts was saved.")).to_be_visible()
    text = served.command("line", "show", "send contacts")
    assert "/records/stored/{remote_id}" in text
    press(page, "Check")


def test_every_mistake_stands_at_its_field_after_one_save(
    page: Page, served: Served
) -> None:
    make_line(served, "mistaken")
    open_line(page, "mistaken")
    page.locator("#l-paging summary").click()
    choose(page, "#l-pagination_kind", "cursor")
    type_in(page, "#l-pagination_size", "many")
    type_in(page, "#m-host-1", "")
    save(page)
    expect(page.locator("#l-pagination_size-error")).to_be_visible()
    expect(page.locator("#m-host-1-error")).to_be_visible()
    expect(page.locator("#l-pagination_size")).to_have_value("many")
    assert "many" not in served.command("line", "show", "mistaken")


def test_a_phone_shows_a_line_without_scrolling_sideways(
    page: Page, served: Served
) -> None:
    make_line(served, "narrow")
    page.set_viewport_size({"width": 390, "height": 800})
    open_line(page, "narrow")
    press(page, "Fetch a sample")
    expect(page.locator("#l-record")).to_be_visible()
    press(page, "Check")
    expect(page.locator(".ok-counts")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.goto(LINES)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_list_inside_the_records_is_a_table_of_its_own(
    page: Page, served: Served
) -> None:
    order = {"kind": "order", "lines": [{"sku": "a", "n": 2}, {"sku": "b", "n": 1}]}
    path = "/records/stored?kind=order"
    data = json.dumps(order)
    served.command("request", "demo bearer", "POST", "/records/stored", "--data", data)
    page.goto(LINES + "add/")
    page.fill("#l-name", "orders with lines")
    page.select_option("#l-configuration", "demo bearer")
    page.fill("#l-path", path)
    press(page, "Fetch a sample")
    press(page, "Use all suggestions")
    press(page, "+ lines to table:orders_with_line_lines")
    expect(page.locator("#c-list-0")).to_have_value("lines")
    expect(page.locator("#c-parent-0")).to_have_value("orders_with_line_id")
    expect(page.locator("#c-keys-0")).to_have_value("orders_with_line_id, sku")
    expect(page.locator(".ok-sub")).to_contain_text("2 ✓")
    expect(page.locator("#l-lists")).to_have_count(0)
    with redrawn(page):
        page.locator("#c-delete-0").click()
    press(page, "+ List inside the record")
    page.fill("#c-list-0", "lines")
    page.fill("#c-target-0", "table:order_lines")
    page.fill("#c-parent-0", "order_id")
    type_in(page, "#c-keys-0", "order_id, sku")
    for number, name in enumerate(("sku", "n")):
        with redrawn(page):
            page.locator("#c-add-0").click()
        page.fill(f"#m-api-child-0-{number}", name)
        type_in(page, f"#m-host-child-0-{number}", name)
    expect(page.locator(".ok-sub")).to_contain_text("2 ✓")
    save(page)
    expect(page.get_by_text("orders with lines was saved.")).to_be_visible()
    served.command("line", "run", "orders with lines")
    page.goto("/outkey/syncline/data/order_lines/")
    expect(page.locator("tbody tr")).to_have_count(2)


@pytest.mark.parametrize("view", ["form", "toml"])
def test_saving_an_empty_new_line_marks_every_empty_field(
    page: Page, view: str
) -> None:
    page.goto(f"{LINES}add/?view={view}")
    choose(page, "#l-configuration", "")
    save(page)
    for name in ("name", "configuration"):
        expect(page.locator(f"#l-{name}")).to_have_attribute("aria-invalid", "true")
        expect(page.locator(f"#l-{name}-error")).to_contain_text("must not be empty")


def test_a_new_line_has_the_configuration_of_the_link_and_the_zone_of_the_user(
    page: Page,
) -> None:
    page.goto("/outkey/usersettings/")
    page.select_option("#time_zone", "Asia/Tokyo")
    with page.expect_navigation():
        page.get_by_role("button", name="Save", exact=True).click()
    try:
        page.goto(LINES + "add/?configuration=demo+bearer")
        expect(page.locator("#l-configuration")).to_have_value("demo bearer")
        page.fill("#l-path", "/records/contacts?count=30")
        press(page, "Fetch a sample")
        with redrawn(page):
            page.locator("#l-schedule-daily").check()
        expect(page.locator("#l-schedule-zone")).to_have_value("Asia/Tokyo")
        expect(page.locator("#l-next")).to_contain_text("(Asia/Tokyo)")
    finally:
        page.goto("/outkey/usersettings/")
        page.select_option("#time_zone", "")
        with page.expect_navigation():
            page.get_by_role("button", name="Save", exact=True).click()


def test_a_job_is_entered_where_its_path_needs_one(page: Page, served: Served) -> None:
    page.goto(LINES + "add/")
    page.fill("#l-name", "ordered")
    page.select_option("#l-configuration", "demo bearer")
    expect(page.locator("#l-job")).not_to_have_attribute("open", "")
    expect(page.locator("#l-parents")).not_to_have_attribute("open", "")
    with redrawn(page):
        page.fill("#l-path", "/reports/{job.id}/download")
        page.press("#l-path", "Tab")
    expect(page.locator("#l-parents")).not_to_have_attribute("open", "")
    type_in(page, "#l-job_order_path", "/reports")
    expect(page.get_by_text("A job must be ordered")).to_be_visible()
    page.fill("#l-job_order_body", '{"polls": 1}')
    page.fill("#l-job_id", "data.id")
    page.fill("#l-job_poll_path", "/reports/{job.id}")
    page.fill("#l-job_done", "done")
    choose(page, "#l-target", "+table")
    press(page, "+ Field")
    page.fill("#m-api-0", "id")
    page.fill("#m-host-0", "id")
    page.check("#m-key-0")
    save(page)
    expect(page.locator("#l-job_state-error")).to_be_visible()
    page.fill("#l-job_state", "status")
    page.locator("#l-runs summary").click()
    choose(page, "#l-drift", "stop")
    page.check("#l-feed")
    save(page)
    expect(page.get_by_text("The sync line ordered was saved.")).to_be_visible()
    text = served.command("line", "show", "ordered", "--json")
    sync = json.loads(text)
    assert sync["job"]["order"] == {"path": "/reports", "body": '{"polls": 1}'}
    assert (sync["drift"], sync["feed"]) == ("stop", True)


def test_parents_are_chosen_with_their_fields(page: Page, served: Served) -> None:
    make_line(served, "parents")
    make_line(served, "of parents")
    open_line(page, "of parents")
    page.locator("#l-parents summary").click()
    type_in(page, "#l-for_each_line", "parents")
    expect(page.locator("#l-parent-fields")).to_contain_text("{parent.email}")
    type_in(page, "#l-for_each_line", "nobody")
    save(page)
    expect(page.locator("#l-for_each_line-error")).to_be_visible()


def test_a_sample_for_a_parent_needs_no_target_yet(page: Page, served: Served) -> None:
    make_line(served, "parents of a sample")
    page.goto(LINES + "add/")
    page.select_option("#l-configuration", "demo bearer")
    type_in(page, "#l-path", "/records/orders/{parent.email}/items")
    type_in(page, "#l-for_each_line", "parents of a sample")
    press(page, "Fetch a sample")
    expect(page.locator("#l-sample-error")).to_contain_text(
        "Run the line that fills it"
    )
