"""A user replaces a token without an outage, on the page of its configuration."""

import json
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from browser.conftest import Served
from cli.rotating_api import RotatingApi, rotating_api

DOCUMENT = """
[configuration.rotated]
base_url = "{url}"
network = "internal"
authentication_type = "bearer"
[configuration.rotated.verification]
test_path = "/contacts"
[configuration.rotated.rotation]
share = 100
successes = 2
automatic = false
"""


@pytest.fixture
def api(served: Served) -> Iterator[RotatingApi]:
    with rotating_api() as running:
        served.command("apply", "-", stdin=DOCUMENT.format(url=running.url))
        served.command("secret", "set", "rotated", "token", stdin="old")
        yield running


def press(page: Page, button: str) -> None:
    with page.expect_navigation():
        page.get_by_role("button", name=button, exact=True).click()


def stage(page: Page, value: str) -> None:
    page.locator("details:has(#next-token) > summary").click()
    page.fill("#next-token", value)
    with page.expect_navigation():
        page.press("#next-token", "Enter")


def state(served: Served) -> str:
    facts = json.loads(served.command("rotation", "status", "rotated", "--json"))
    return str(facts["state"])


def test_a_user_stages_tests_tries_promotes_goes_back_and_deletes(
    page: Page, served: Served, api: RotatingApi
) -> None:
    page.on("dialog", lambda dialog: dialog.accept())
    page.goto("/outkey/configuration/?q=rotated")
    page.get_by_role("link", name="rotated", exact=True).click()
    panel = page.locator("#rotation")
    expect(panel).not_to_be_visible()
    stage(page, "wrong")
    press(page, "Test the next one")
    expect(page.locator(".ok-messages")).to_contain_text("invalid credentials")
    expect(page.get_by_role("button", name="Use it for all")).to_have_count(0)
    stage(page, "new")
    press(page, "Test the next one")
    expect(panel).to_contain_text("accepted the next credentials in a test")
    press(page, "Use it for 100 %")
    served.command("request", "rotated", "GET", "/contacts")
    page.reload()
    expect(panel).to_contain_text("They were accepted 1 of 2 times")
    press(page, "Use it for all")
    expect(panel).to_contain_text("You can go back until")
    assert api.count("new") >= 2
    outdated = page.context.new_page()
    outdated.on("dialog", lambda dialog: dialog.accept())
    outdated.goto(page.url)
    press(page, "Go back")
    expect(panel).to_contain_text("The earlier credentials are used again")
    press(outdated, "Go back")
    expect(outdated.locator(".ok-messages")).to_contain_text("have changed since")
    press(page, "Go back")
    expect(page.locator(".ok-messages")).to_contain_text("credentials of set 2")
    api.statuses["old"] = 401
    press(page, "Check that the old one is refused")
    expect(panel).to_contain_text("The API refuses the ones before.")
    served.command("request", "rotated", "GET", "/contacts")
    page.reload()
    press(page, "Delete the old one")
    expect(page.locator(".ok-messages")).to_contain_text("were deleted")
    expect(panel).not_to_be_visible()
    assert state(served) == "none"
    assert "wrong" not in page.content()
