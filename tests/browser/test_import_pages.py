"""From a copied command to a green test in the browser, and nothing left behind."""

import json
import logging
import re
import time
from pathlib import Path

from playwright.sync_api import Page, expect

from browser.conftest import Served
from browser.test_pages import LIST, ended_outcome, follow
from outkey.spar import Spar
from outkey.testing.canary import Canaries

MAX_SECONDS = 60
MAX_CLICKS = 4


def paste(page: Page, text: str) -> None:
    """Paste a text where the cursor is on the page New."""
    expect(page.locator("#import-text")).to_be_focused()
    page.keyboard.insert_text(text)


class Clicks:
    """Counts what a person presses."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self.count = 0

    def __call__(self, name: str, role: str = "button") -> None:
        self.count += 1
        found = self._page.get_by_role(role, name=name, exact=True)  # type: ignore[arg-type]
        found.first.click()
        # A page that the click opened has its scripts then.
        self._page.wait_for_load_state()


def test_a_copied_command_is_a_green_test_within_a_minute_and_four_clicks(
    page: Page, spar: Spar, served: Served
) -> None:
    command = (
        f"curl '{spar.url}/bearer?page=1&per_page=50' \\\n"
        "  -H 'Accept: application/json' \\\n"
        "  -H 'Authorization: Bearer spar-token' | jq ."
    )
    clicks = Clicks(page)
    page.goto(LIST)
    began = time.monotonic()
    clicks("New", "link")
    paste(page, command)
    clicks("Import")
    expect(page.get_by_text("What became of the import")).to_be_visible()
    expect(page.locator(".ok-list")).to_contain_text("Authorization")
    clicks("Test connection")
    told = ended_outcome(page)
    seconds = time.monotonic() - began
    assert "works." in told
    # What asked for the test is gone, and the next step is there.
    expect(page.get_by_text("Run a connection test.")).to_have_count(0)
    step = page.get_by_role("link", name="Bring records in: add a sync line")
    expect(step).to_have_attribute("href", re.compile(r"add/\?configuration=127"))
    message = f"imported and tested in {seconds:.1f} s with {clicks.count} clicks"
    logging.getLogger("import").info(message)
    assert seconds < MAX_SECONDS
    assert clicks.count <= MAX_CLICKS
    page.reload()
    expect(page.get_by_text("What became of the import")).to_have_count(0)
    expect(step).to_be_visible()
    served.command("delete", "127.0.0.1", "--yes")


def test_a_name_is_asked_for_and_used_for_the_configuration_and_its_line(
    page: Page, served: Served
) -> None:
    page.goto(LIST + "new/")
    paste(page, "curl http://127.0.0.1:9/orders -H 'Authorization: Bearer s3cr3t99'")
    page.get_by_label("Name (optional)").fill("Acme shop")
    page.get_by_role("button", name="Import", exact=True).click()
    expect(page.locator(".ok-head h1")).to_contain_text("Acme shop")
    # Of the report: the list of lines has another one, hidden once the page is ready.
    link = page.locator("a.ok-beside", has_text="Acme shop orders")
    expect(link).to_be_visible()
    expect(page.locator(".ok-list")).to_contain_text("it is Production")
    served.command("delete", "Acme shop", "--yes")


def test_nothing_of_a_pasted_text_is_left_behind(
    page: Page, spar: Spar, served: Served, canary: Canaries
) -> None:
    secret = canary.token()
    note = canary.token("note")
    command = (
        f"curl {spar.url}/bearer?api_key={secret} -H 'X-Api-Key: {secret}'"
        f" -u me:{secret} -H 'X-Note;' -d '{note}' -b 'sid={secret}'"
    )
    page.goto(LIST + "new/")
    paste(page, command)
    page.get_by_role("button", name="Import", exact=True).click()
    expect(page.get_by_text("What became of the import")).to_be_visible()
    shown = page.content()
    kept = page.evaluate(
        "() => JSON.stringify([{...localStorage}, {...sessionStorage},"
        " document.cookie, location.href, history.state])"
    )
    page.go_back()
    expect(page.locator("#import-text")).to_be_visible()
    expect(page.locator("#import-text")).to_have_value("")
    back = page.content()
    listed = served.command("show", "127.0.0.1", "--json")
    assert "me" in listed
    exported = served.command("export", "127.0.0.1")
    log = (served.home.parent / "log").read_text()
    audit = served.command("audit", "list", "--json")
    for where, text in {
        "page": shown,
        "browser": kept,
        "back": back,
        "show": listed,
        "export": exported,
        "log": log,
        "audit": audit,
    }.items():
        assert list(canary.leaks(where, text.encode())) == []
    for file in served.home.rglob("*"):
        if file.is_file():
            assert list(canary.leaks(file.name, file.read_bytes())) == []
    assert exported.count(": set 20") == 4
    served.command("delete", "127.0.0.1", "--yes")


def test_what_cannot_be_read_is_refused_without_the_text(
    page: Page, canary: Canaries
) -> None:
    secret = canary.token()
    page.goto(LIST + "new/")
    paste(page, f"wget https://api.example.com/{secret}")
    page.get_by_role("button", name="Import", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("the format was not recognized")
    assert secret not in page.content()


def test_two_configurations_and_their_lines_are_linked_and_the_missing_secret_named(
    page: Page, served: Served
) -> None:
    page.goto(LIST + "new/")
    paste(
        page,
        "curl https://api.acme.example/a -H 'Authorization: Bearer <token>'\n"
        "curl 'https://api.other.example/b?page=1' -u me:s3cr3t99",
    )
    page.get_by_role("button", name="Import", exact=True).click()
    message = page.get_by_text("2 configurations were imported: acme, other.")
    expect(message).to_contain_text("Enter Token, then run a connection test.")
    expect(page.locator(".ok-list")).to_contain_text("other: pages")
    expect(page.get_by_role("link", name="other b")).to_be_visible()
    page.get_by_role("link", name="other", exact=True).click()
    expect(page.locator(".ok-head h1")).to_contain_text("other")
    for name in ("acme", "other"):
        served.command("delete", name, "--yes")


def test_a_refused_import_shows_what_was_found(page: Page) -> None:
    page.goto(LIST + "new/")
    paste(page, "curl https://api.acme.example/bot/8s7D6f5G4h3J2k1L0qW9eRt/send")
    page.get_by_role("button", name="Import", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("looks like a credential")


def test_a_collection_and_its_environment_are_chosen_as_files(
    page: Page, spar: Spar, served: Served, tmp_path: Path
) -> None:
    collection = {
        "info": {
            "name": "From files",
            "schema": "https://schema.getpostman.com/json/collection/v2.1.0/",
        },
        "auth": {"type": "bearer", "bearer": [{"key": "token", "value": "{{token}}"}]},
        "item": [{"name": "me", "request": {"url": "{{base}}/bearer"}}],
    }
    environment = {
        "values": [
            {"key": "base", "value": spar.url},
            {"key": "token", "value": "spar-token"},
        ]
    }
    (tmp_path / "a.json").write_text(json.dumps(collection))
    (tmp_path / "b.json").write_text(json.dumps(environment))
    page.goto(LIST + "new/")
    files = [tmp_path / "a.json", tmp_path / "b.json"]
    page.locator("[data-import-files]").set_input_files(files)
    expect(page.locator("[data-import-more]")).to_have_count(1)
    follow(page, page.get_by_role("button", name="Import", exact=True))
    page.get_by_role("button", name="Test connection").first.click()
    assert "works." in ended_outcome(page)
    served.command("delete", "From files", "--yes")
