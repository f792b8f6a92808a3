"""Logins in steps and CSRF tokens in the browser: rows of steps, and errors at them."""

from playwright.sync_api import Page, expect

from browser.test_oauth2_pages import expect_chip, expect_no_button, press
from browser.test_pages import new, run_test, save, tab
from outkey.spar import Spar
from outkey.spar.logins import PASSWORD, USERNAME
from outkey.testing.canary import find


def begin(page: Page, spar: Spar, name: str) -> None:
    """Begin a configuration that logs in by steps."""
    new(page, name, spar.url, "bearer", "/login/api")
    page.select_option("#f-token_source", "login")
    page.fill("#f-username", USERNAME)
    page.locator('[name="secret:password"]').fill(PASSWORD)
    tab(page, "Login")


def add_step(page: Page, number: int, **values: str) -> None:
    """Add a step with these inputs."""
    page.get_by_role("button", name="Add step").click()
    for key, value in values.items():
        where = page.locator(f'[name="step-{key}-{number}"]')
        if key == "format":
            where.select_option(value)
        else:
            where.fill(value)


def test_steps_are_added_saved_tested_changed_and_removed(
    page: Page, spar: Spar
) -> None:
    begin(page, spar, "steps pages")
    add_step(
        page, 0, method="GET", path="/login/steps/start", take="nonce = header:X-Nonce"
    )
    add_step(
        page,
        1,
        path="/login/steps/finish",
        format="form",
        body="user={username}&pass={password}&nonce={nonce}",
        take="session = data.access_token",
    )
    page.locator('[name="login.token"]').fill("{session}")
    save(page)
    run_test(page)
    page.reload()
    tab(page, "Login")
    expect_chip(page, "fresh")
    taken = page.locator('[name="step-take-0"]')
    expect(taken).to_have_value("nonce = header:X-Nonce")
    expect(page.locator('[name="step-format-1"]')).to_have_value("form")
    assert list(find(page.content().encode(), PASSWORD)) == []
    page.locator('[name="step-gone-0"]').check()
    save(page)
    tab(page, "Login")
    shown = page.locator('[data-field="login.steps"]')
    error = shown.get_by_text("step 1: Steps has an unknown placeholder")
    expect(error).to_be_visible()


def test_what_cannot_work_is_refused_at_the_steps(page: Page, spar: Spar) -> None:
    begin(page, spar, "wrong steps")
    add_step(page, 0, body='{"password": "{password}"}')
    page.locator('[name="login.token"]').fill("token")
    save(page)
    tab(page, "Login")
    shown = page.locator('[data-field="login.steps"]')
    error = shown.get_by_text("step 1: Steps need either a URL or a path")
    expect(error).to_be_visible()
    body = page.locator('[name="step-body-0"]')
    expect(body).to_have_value('{"password": "{password}"}')


def test_a_csrf_token_is_set_beside_the_rows(page: Page, spar: Spar) -> None:
    new(page, "csrf pages", spar.url, "basic", "/csrf/odata")
    page.fill("#f-username", USERNAME)
    page.locator('[name="secret:password"]').fill(PASSWORD)
    tab(page, "Headers and query")
    page.get_by_text("More", exact=True).locator("visible=true").click()
    methods = page.locator('[name="csrf.methods"]')
    expect(methods).to_have_value("POST, PUT, PATCH, DELETE")
    page.locator('[name="csrf.path"]').fill("/csrf/odata")
    methods.fill("POST DELETE")
    save(page)
    tab(page, "Headers and query")
    expect(methods).to_have_value("POST, DELETE")
    run_test(page)
    page.reload()
    tab(page, "Headers and query")
    expect_chip(page, "no token yet")
    expect_no_button(page, "Renew")


def test_a_csrf_token_is_shown_and_forgotten(page: Page, spar: Spar) -> None:
    page.on("dialog", lambda dialog: dialog.accept())
    new(page, "csrf panel", spar.url, "basic", "/csrf/odata")
    page.fill("#f-username", USERNAME)
    page.locator('[name="secret:password"]').fill(PASSWORD)
    tab(page, "Headers and query")
    page.get_by_text("More", exact=True).locator("visible=true").click()
    page.locator('[name="csrf.path"]').fill("/csrf/odata")
    tab(page, "Verification")
    page.locator('[name="verification.test_method"]').fill("POST")
    save(page)
    run_test(page)
    page.reload()
    tab(page, "Headers and query")
    expect(page.get_by_role("heading", name="CSRF token")).to_be_visible()
    expect_chip(page, "fresh")
    press(page, "Forget")
    expect_chip(page, "no token yet")
