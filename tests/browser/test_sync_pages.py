"""Sync lines in the browser: what a line does, a sample of it, its runs, and who may begin one."""

from playwright.sync_api import Browser, Page, expect

from browser.conftest import Served, log_in
from browser.test_pages import people

LINES = "/outkey/syncline/"
RUNS = "/outkey/run/"


def open_line(page: Page, name: str) -> None:
    page.goto(LINES)
    page.get_by_role("link", name=name, exact=True).click()


def press(page: Page, name: str) -> None:
    with page.expect_navigation():
        page.get_by_role("button", name=name, exact=True).click()


def fact(page: Page, name: str) -> str:
    return page.locator(f"dt:text-is('{name}') + dd").inner_text()


def ended(page: Page, state: str) -> None:
    """Wait for the page of a run, which follows the run by itself."""
    expect(page.locator("h1 .ok-chip")).to_have_text(state, timeout=20_000)


def test_a_line_tells_what_it_does_and_a_sample_of_what_is_on_the_page_writes_nothing(
    page: Page, served: Served
) -> None:
    before = served.command("line", "show", "contacts")
    open_line(page, "contacts")
    told = page.locator(".ok-page").inner_text()
    assert "GET /records/contacts of demo bearer brings records into demo.contact." in told
    assert "Pages of 100 are asked for by their number." in told
    expect(page.locator("summary", has_text="demo.contact")).to_be_visible()
    assert "portal_password" not in page.content()
    press(page, "Sample")
    first = page.locator("#sample tbody tr").first.locator("td")
    assert first.all_inner_texts() == [
        "new", "c0", "Contact 0", "contact0@example.com", "company", "0.50"
    ]  # fmt: skip
    text = page.locator("#l-sync").input_value()
    page.fill("#l-sync", text.replace('api = "full_name"', 'api = "nothing"\nrequired = true'))
    press(page, "Sample")
    assert "c0" not in page.locator("#sample").inner_text()
    row = page.locator("#sample tbody tr").first
    expect(row).to_contain_text("left out")
    expect(row).to_contain_text("name a value is missing")
    echoed = 'transform = "constant"\noptions = { value = "my spar-token" }'
    page.fill("#l-sync", text.replace('api = "full_name"', echoed))
    press(page, "Sample")
    assert page.locator("#sample tbody tr").first.locator("td").all_inner_texts()[2] == "***"
    assert served.command("line", "show", "contacts") == before
    page.goto(RUNS)
    expect(page.get_by_text("Nothing here yet.")).to_be_visible()


def test_what_is_wrong_stands_at_its_field_and_what_is_right_is_saved_as_shown(
    page: Page, served: Served
) -> None:
    before = served.command("line", "show", "contacts")
    open_line(page, "contacts")
    right = page.locator("#l-sync").input_value()
    for wrong, told in {
        "direction =": "TOML: This is not TOML:",
        right.replace('"pull"', '"sideways"'): "direction: Must be one of: pull, push",
        right.replace('host = "credit"', 'host = "credits"'): "fields[4].host:",
        right.replace("demo.contact", "auth.user"): "target: This model is not open",
        right.replace('records = "items"', 'records = "items["'): "records:",
        right + "\ncolour = 'red'": "fields[4].colour: Unknown key",
    }.items():
        page.fill("#l-sync", wrong)
        press(page, "Save")
        expect(page.locator(".ok-bad .ok-message")).to_contain_text(told)
        assert page.locator("#l-sync").input_value() == wrong
    page.fill("#l-sync", right)
    page.fill("#l-configuration", "nobody")
    press(page, "Save")
    expect(page.locator(".ok-bad #l-configuration")).to_be_visible()
    open_line(page, "contacts")
    assert page.locator("#l-sync").input_value() == right
    press(page, "Save")
    expect(page.get_by_text("contacts is saved.")).to_be_visible()
    assert served.command("line", "show", "contacts") == before


def test_runs_are_begun_followed_and_told(page: Page) -> None:
    # Before the contacts are there, no order finds its own.
    open_line(page, "orders")
    press(page, "Run now")
    ended(page, "done")
    assert (fact(page, "Created"), fact(page, "Left out")) == ("0", "250")
    first = page.locator("section tbody tr").first.locator("td").all_inner_texts()
    assert first == ["1", "contact", "there is no such record here"]
    expect(page.get_by_text("and 200 more")).to_be_visible()
    open_line(page, "contacts")
    press(page, "Dry run")
    ended(page, "done")
    assert fact(page, "Created") == "250"
    expect(page.get_by_text("Nothing is written")).to_be_visible()
    open_line(page, "contacts")
    press(page, "Run now")
    ended(page, "done")
    assert (fact(page, "Created"), fact(page, "By")) == ("250", "web:admin")
    page.goto(LINES)
    expect(page.get_by_role("row", name="contacts")).to_contain_text("done")
    page.goto(RUNS)
    assert page.locator("tbody tr").count() == 3
    assert page.locator(".ok-chart rect.ok-fill-refused").count() == 1
    assert page.locator(".ok-chart rect.ok-fill-ok").count() == 2
    page.fill("[name=line]", "orders")
    press(page, "Filter")
    assert page.locator("tbody tr").count() == 1


def test_a_run_that_fails_names_its_cause_and_one_that_is_cancelled_stops(page: Page) -> None:
    open_line(page, "contacts")
    kept = page.locator("#l-sync").input_value()
    page.fill("#l-path", "/records/nothing")
    press(page, "Save")
    open_line(page, "contacts")
    press(page, "Run now")
    ended(page, "failed")
    expect(page.locator(".ok-note.ok-error")).to_contain_text("Cause: not found")
    # A run that would take minutes: a million records, a few on each page.
    open_line(page, "contacts")
    page.fill("#l-path", "/records/contacts")
    page.fill("#l-sync", 'query = { count = "1000000" }\n' + kept)
    press(page, "Save")
    open_line(page, "contacts")
    press(page, "Dry run")
    expect(page.locator("h1 .ok-chip")).to_have_text("running")
    busy = page.url
    open_line(page, "contacts")
    press(page, "Run now")
    expect(page.get_by_text("Another run of this sync line is under way")).to_be_visible()
    page.goto(busy)
    press(page, "Cancel")
    ended(page, "cancelled")
    expect(page.get_by_role("button", name="Cancel")).to_have_count(0)
    open_line(page, "contacts")
    page.fill("#l-sync", kept)
    press(page, "Save")
    expect(page.get_by_text("contacts is saved.")).to_be_visible()


def test_who_may_not_write_the_records_begins_nothing_and_reads_it_in_german(
    browser: Browser, served: Served, page: Page
) -> None:
    page.goto(LINES)
    link = page.get_by_role("link", name="orders", exact=True).get_attribute("href")
    page.goto(RUNS)
    before = page.locator("tbody").inner_text()
    passwords = people(served)
    for name, statuses in {"operator": (200, 422), "auditor": (403, 403)}.items():
        context = browser.new_context(base_url=served.url, locale="de-DE")
        theirs = context.new_page()
        log_in(theirs, name, passwords[name])
        shown = theirs.goto(RUNS)
        assert shown
        assert shown.status == statuses[0]
        if shown.ok:
            expect(theirs.get_by_role("heading", name="Läufe")).to_be_visible()
            expect(theirs.locator("thead")).to_contain_text("Ausgelassen")
        theirs.goto("/outkey/auditrecord/")
        token = theirs.locator('[name="csrfmiddlewaretoken"]').first.input_value()
        for action in ("run/", "sample/"):
            response = context.request.post(
                f"{link}{action}",
                form={"csrfmiddlewaretoken": token},
                headers={"Referer": served.url},
            )
            assert response.status == statuses[1], (name, action)
        context.close()
    page.reload()
    assert page.locator("tbody").inner_text() == before
