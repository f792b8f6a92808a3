"""A login in the browser: the tab, the token panel, and errors at their fields."""

import re

from playwright.sync_api import Page, expect

from browser.test_oauth2_pages import expect_chip, expect_no_button, press
from browser.test_pages import LIST, new, run_test, save, tab, visible_fields
from outkey.spar import Spar
from outkey.spar.logins import PASSWORD, USERNAME
from outkey.testing.canary import find

BODY = '{"email": "{username}", "password": "{password}"}'


def begin(page: Page, spar: Spar, name: str, **changed: str) -> None:
    """Fill in a configuration that logs in."""
    new(page, name, spar.url, "bearer", "/login/api")
    page.select_option("#f-token_source", "login")
    page.fill("#f-username", USERNAME)
    page.locator('[name="secret:password"]').fill(PASSWORD)
    tab(page, "Login")
    page.get_by_text("More", exact=True).locator("visible=true").click()
    values = {
        "path": "/login/json",
        "body": BODY,
        "token": "data.access_token",
        "expires_in": "data.expires",
        "refresh_path": "/login/refresh",
        "refresh_body": '{"refresh_token": "{refresh_token}"}',
        "refresh_token": "data.refresh_token",
        "logout_path": "/login/logout",
    } | changed
    for field, value in values.items():
        page.locator(f'[name="login.{field}"]').fill(value)
    page.locator('[name="login.expires_unit"]').select_option("ms")


def test_the_tab_appears_with_the_token_source(page: Page) -> None:
    page.goto(LIST + "add/")
    the_tab = page.get_by_role("tab", name=re.compile("^Login"))
    expect(the_tab).to_be_hidden()
    tab(page, "Authentication")
    page.select_option("#f-authentication_type", "bearer")
    page.select_option("#f-token_source", "login")
    assert visible_fields(page) == {
        "authentication_type",
        "token_source",
        "username",
        "password",
    }
    expect(the_tab).to_be_visible()
    the_tab.click()
    expect(
        page.get_by_text("Save this configuration first").locator("visible=true")
    ).to_have_count(1)


def test_a_login_is_saved_tested_renewed_logged_out_and_forgotten(
    page: Page, spar: Spar
) -> None:
    page.on("dialog", lambda dialog: dialog.accept())
    begin(page, spar, "login pages")
    save(page)
    run_test(page)
    page.reload()
    tab(page, "Login")
    expect_chip(page, "fresh")
    expect(page.get_by_text("Scopes")).to_have_count(0)
    press(page, "Renew")
    expect(page).to_have_url(re.compile("#login$"))
    expect(page.get_by_text("The token was renewed.")).to_be_visible()
    press(page, "Revoke")
    expect_chip(page, "no token yet")
    expect_no_button(page, "Connect")
    press(page, "Renew")
    press(page, "Forget")
    expect_chip(page, "no token yet")
    assert list(find(page.content().encode(), PASSWORD, USERNAME)) == []
    press(page, "Renew")
    page.goto(LIST + "?q=login+pages")
    row = page.locator("tr", has_text="login pages")
    expect(row.locator("time[title$=' UTC']").last).to_contain_text(re.compile("^in "))


def test_an_empty_login_marks_every_missing_field_and_opens_its_tab(
    page: Page, spar: Spar
) -> None:
    for name in ("Test connection", "Save"):
        new(page, "empty login", spar.url, "bearer", "/login/api")
        page.select_option("#f-token_source", "login")
        page.get_by_role("button", name=name, exact=True).click()
        expect(page.locator('[data-field="login.path"]')).to_be_visible()
        for field in ("path", "body", "token"):
            shown = page.locator(f'[data-field="login.{field}"]')
            expect(shown).to_have_class(re.compile("ok-bad"))


def test_a_refused_login_is_the_last_error_of_the_panel(page: Page, spar: Spar) -> None:
    begin(page, spar, "login refused", path="/login/odd/echo")
    save(page)
    tab(page, "Login")
    press(page, "Renew")
    panel = page.locator(".ok-token")
    expect(panel.get_by_text("The API refused the login.")).to_be_visible()
    assert list(find(page.content().encode(), PASSWORD, USERNAME)) == []


def test_what_cannot_work_is_refused_at_its_field(page: Page, spar: Spar) -> None:
    for field, value, words in (
        ("body", '{"password": "{pass}"}', "unknown placeholder"),
        ("token", "data.[[", "not a JMESPath"),
        ("path", "https://evil.example/login", "another origin"),
    ):
        begin(page, spar, f"wrong {field}", **{field: value})
        save(page)
        tab(page, "Login")
        shown = page.locator(f'.ok-field:has([name="login.{field}"])')
        expect(shown.get_by_text(words)).to_be_visible()
