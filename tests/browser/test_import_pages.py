"""From a copied command to a green test in the browser, and nothing left behind."""

import json
import logging
import time
from pathlib import Path

from playwright.sync_api import Page, expect

from browser.conftest import Served
from outkey.spar import Spar
from outkey.testing.canary import Canaries

LIST = "/outkey/configuration/"
MAX_SECONDS = 60
MAX_CLICKS = 4


class Clicks:
    """Counts what a person presses."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self.count = 0

    def __call__(self, name: str, role: str = "button") -> None:
        self.count += 1
        found = self._page.get_by_role(role, name=name, exact=True)  # type: ignore[arg-type]
        found.first.click()


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
    expect(page.locator("#import-text")).to_be_focused()
    page.keyboard.insert_text(command)
    clicks("Import")
    expect(page.get_by_text("What became of the import")).to_be_visible()
    expect(page.locator(".ok-list")).to_contain_text("Authorization")
    clicks("Test connection")
    page.locator("#outcome [role=status], #outcome [role=alert]").first.wait_for()
    seconds = time.monotonic() - began
    assert "works." in page.locator("#outcome").inner_text()
    message = f"imported and tested in {seconds:.1f} s with {clicks.count} clicks"
    logging.getLogger("import").info(message)
    assert seconds < MAX_SECONDS
    assert clicks.count <= MAX_CLICKS
    page.reload()
    expect(page.get_by_text("What became of the import")).to_have_count(0)
    served.command("delete", "127.0.0.1", "--yes")


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
    page.keyboard.insert_text(command)
    page.get_by_role("button", name="Import", exact=True).click()
    expect(page.get_by_text("What became of the import")).to_be_visible()
    shown = page.content()
    kept = page.evaluate(
        "() => JSON.stringify([{...localStorage}, {...sessionStorage},"
        " document.cookie, location.href, history.state])"
    )
    page.go_back()
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
    page.keyboard.insert_text(f"wget https://api.example.com/{secret}")
    page.get_by_role("button", name="Import", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("the format was not recognized")
    assert secret not in page.content()


def test_two_configurations_and_their_lines_are_linked_and_the_missing_secret_named(
    page: Page, served: Served
) -> None:
    page.goto(LIST + "new/")
    page.keyboard.insert_text(
        "curl https://api.acme.example/a -H 'Authorization: Bearer <token>'\n"
        "curl 'https://api.other.example/b?page=1' -u me:s3cr3t99"
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
    page.keyboard.insert_text(
        "curl https://api.acme.example/bot/8s7D6f5G4h3J2k1L0qW9eRt/send"
    )
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
    page.get_by_role("button", name="Import", exact=True).click()
    page.get_by_role("button", name="Test connection").first.click()
    page.locator("#outcome [role=status], #outcome [role=alert]").first.wait_for()
    assert "works." in page.locator("#outcome").inner_text()
    served.command("delete", "From files", "--yes")
