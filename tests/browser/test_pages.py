"""What an administrator does in the browser, and what nobody may see or do there."""

import re
import time
from pathlib import Path
from urllib.parse import quote_plus

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from browser.conftest import Served, log_in, serving
from outkey.spar import Spar
from outkey.testing.canary import Canaries
from programs import assert_program_passes

LIST = "/outkey/configuration/"
HOME = LIST + "home/"
LOOK = "button => getComputedStyle(button).backgroundColor"


def new(page: Page, name: str, url: str, kind: str, path: str) -> None:
    """Fill in the form of a new configuration as far as all types have it."""
    page.goto(LIST + "add/")
    page.fill("#f-name", name)
    page.fill("#f-base_url", url)
    page.select_option("#f-environment", "test")
    page.select_option("#f-network", "internal")
    tab(page, "Verification")
    page.locator('[name="verification.test_path"]').fill(path)
    tab(page, "Authentication")
    page.select_option("#f-authentication_type", kind)


def tab(page: Page, name: str) -> None:
    page.get_by_role("tab", name=re.compile(f"^{name}")).click()


def save(page: Page) -> None:
    with page.expect_navigation():
        page.get_by_role("button", name="Save").click()


def follow(page: Page, link: Locator) -> None:
    """Click a link or button, and wait until the scripts of its page have run."""
    with page.expect_navigation():
        link.click()


def open_listed(page: Page, name: str) -> None:
    """Open the page of a configuration from the list."""
    page.goto(f"{LIST}?q={quote_plus(name)}")
    follow(page, page.get_by_role("link", name=name, exact=True))


def run_test(page: Page) -> str:
    page.get_by_role("button", name="Test connection").click()
    return ended_outcome(page)


def ended_outcome(page: Page) -> str:
    """Return what a test says when it has ended."""
    ended = page.locator("#outcome:not([aria-busy])")
    expect(ended.locator("[role=status], [role=alert]").first).to_be_visible()
    return ended.inner_text()


def preview(page: Page) -> None:
    page.get_by_role("button", name="Preview request").click()
    expect(page.locator("#outcome:not([aria-busy]) #curl")).to_be_visible()


def visible_fields(page: Page) -> set[str]:
    fields = page.locator(".ok-panel [data-field]:visible")
    return {str(field.get_attribute("data-field")) for field in fields.all()}


@pytest.mark.parametrize(
    ("url", "kind", "field", "message"),
    [
        ("http://never.example", "bearer", "base_url", "plain http is not allowed"),
        (
            "https://[::ffff:169.254.169.254]",
            "bearer",
            "base_url",
            "requests are never sent to",
        ),
        ("https://never.example", "none", "authentication_type", "must not have"),
    ],
)
def test_what_can_never_be_sent_is_refused_at_its_field(
    page: Page, served: Served, url: str, kind: str, field: str, message: str
) -> None:
    new(page, "never sent", url, kind, "/")
    tab(page, "General")
    page.select_option("#f-environment", "production")
    page.select_option("#f-network", "public")
    with page.expect_response(re.compile("/add/$")) as answered:
        save(page)
    assert answered.value.status == 422
    expect(page.locator(f'[data-field="{field}"] .ok-message')).to_contain_text(message)
    assert '"never sent"' not in served.command("list", "--json")


def test_two_sources_of_a_header_are_refused_at_the_headers(
    page: Page, served: Served
) -> None:
    new(page, "never sent", "https://never.example", "bearer", "/")
    tab(page, "Headers")
    page.get_by_role("button", name="Add row").click()
    page.get_by_label("Key", exact=True).first.fill("Authorization")
    page.get_by_label("Value", exact=True).first.fill("Token x")
    with page.expect_response(re.compile("/add/$")) as answered:
        save(page)
    assert answered.value.status == 422
    tab(page, "Headers")
    message = (
        "the header Authorization is set by two sources: header row, authentication"
    )
    expect(page.get_by_text(message)).to_be_visible()
    assert '"never sent"' not in served.command("list", "--json")


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]"])
def test_the_pages_do_not_send_to_themselves(
    page: Page, served: Served, host: str
) -> None:
    own = served.url.replace("127.0.0.1", host)
    new(page, f"own pages {host}", own, "none", "/")
    assert "this outkey installation itself" in run_test(page)


def test_basic_fails_with_the_wrong_password_and_passes_with_the_right_one(
    page: Page, spar: Spar
) -> None:
    new(page, "by basic", spar.url, "basic", "/basic")
    page.fill("#f-username", "sparring")
    page.locator('[name="secret:password"]').fill("wrong")
    save(page)
    # The name stays as it is, also at the beginning of a sentence.
    expect(page.locator(".ok-messages")).to_contain_text("by basic was saved.")
    tab(page, "Authentication")
    told = run_test(page)
    assert "Cause: invalid credentials\n" in told
    assert "Check the username and password, or the token." in told
    page.get_by_role("button", name="Replace").first.click()
    page.locator('[name="secret:password"]').fill("open sesame")
    # The draft works before it is saved, and what is kept is still the wrong one.
    assert "by basic works." in run_test(page)
    save(page)
    assert "by basic works." in run_test(page)
    page.goto(LIST + "?q=by+basic")
    expect(page.locator(".ok-chip")).to_have_text("working")


def test_bearer_none_and_a_key_row_work_as_entered(page: Page, spar: Spar) -> None:
    new(page, "by bearer", spar.url, "bearer", "/bearer")
    page.locator('[name="secret:token"]').fill("spar-token")
    assert "by bearer works." in run_test(page)
    save(page)
    new(page, "by none", spar.url, "none", "/")
    page.select_option("#f-no_auth_reason", "development")
    assert "by none works." in run_test(page)
    save(page)
    new(page, "by row", spar.url, "none", "/key")
    page.select_option("#f-no_auth_reason", "internal")
    tab(page, "Headers")
    page.get_by_role("button", name="Add row").click()
    page.get_by_label("Key", exact=True).first.fill("X-API-Key")
    page.get_by_label("Key", exact=True).first.blur()
    expect(page.get_by_label("Secret", exact=True).first).to_be_checked()
    page.get_by_label("Value", exact=True).first.fill("spar-key")
    assert "by row works." in run_test(page)
    save(page)
    tab(page, "Headers")
    expect(page.get_by_label("Value", exact=True).first).to_have_value("")
    assert "by row works." in run_test(page)


def test_every_type_shows_exactly_its_fields(page: Page) -> None:
    page.goto(LIST + "add/")
    tab(page, "Authentication")
    always = {"authentication_type"}
    for kind, own, required in (
        ("none", {"no_auth_reason"}, []),
        ("basic", {"username", "password"}, ["Password (required)"]),
        ("bearer", {"token_source", "token", "token_expires_on"}, ["Token (required)"]),
    ):
        page.select_option("#f-authentication_type", kind)
        assert visible_fields(page) == always | own
        marked = page.locator("label:visible").filter(has_text="required")
        expect(marked).to_have_text(required)


def test_an_untouched_save_keeps_the_secret_and_no_page_holds_it(
    page: Page, spar: Spar, canary: Canaries
) -> None:
    secret, key = canary.token("password"), canary.token("key")
    new(page, "keeps", spar.url, "basic", "/echo")
    page.fill("#f-username", "u")
    page.locator('[name="secret:password"]').fill(secret)
    tab(page, "Headers")
    page.get_by_role("button", name="Add row").click()
    page.get_by_label("Key", exact=True).first.fill("X-API-Key")
    page.get_by_label("Key", exact=True).first.blur()
    page.get_by_label("Value", exact=True).first.fill(key)
    tab(page, "General")
    page.fill("#f-base_url", "nonsense")
    save(page)
    expect(page.locator('[data-field="base_url"].ok-bad')).to_be_visible()
    failed = page.content()
    tab(page, "Authentication")
    expect(page.locator('[name="secret:password"]')).to_have_value("")
    page.locator('[name="secret:password"]').fill(secret)
    tab(page, "Headers")
    page.get_by_label("Value", exact=True).first.fill(key)
    tab(page, "General")
    page.fill("#f-base_url", spar.url)
    save(page)
    for _ in range(2):
        save(page)
    spar.clear()
    assert (
        "keeps responds, but also without credentials: the test proves nothing."
        in run_test(page)
    )
    assert spar.journal[0].values("X-API-Key") == [key]
    preview(page)
    stored = page.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}])")
    for where, text in {
        "the failed form": failed,
        "the form": page.content(),
        "the storage": stored,
    }.items():
        assert list(canary.leaks(where, text.encode())) == []


def test_a_changed_address_asks_for_the_secret_again_and_says_why(
    page: Page, spar: Spar
) -> None:
    new(page, "moves", spar.url, "bearer", "/bearer")
    page.locator('[name="secret:token"]').fill("spar-token")
    save(page)
    tab(page, "General")
    page.fill("#f-base_url", spar.elsewhere)
    spar.clear()
    told = run_test(page)
    assert "another Base URL" in told
    assert spar.journal == []
    save(page)
    tab(page, "Authentication")
    expect(page.locator('[data-field="token"] .ok-note').first).to_contain_text(
        "another Base URL"
    )


def test_stored_html_is_inert(page: Page, spar: Spar) -> None:
    hostile = "<img src=x onerror=alert(1)>"
    page.on("dialog", lambda dialog: pytest.fail("a script ran") or dialog.dismiss())
    new(page, hostile, spar.url, "none", f"/{hostile}")
    page.select_option("#f-no_auth_reason", "development")
    tab(page, "Headers")
    page.get_by_role("button", name="Add row").click()
    page.get_by_label("Key", exact=True).first.fill("X-Html")
    page.get_by_label("Value", exact=True).first.fill(hostile)
    save(page)
    run_test(page)
    preview(page)
    for path in (LIST, HOME, "/outkey/auditrecord/"):
        page.goto(path)
        expect(page.locator("img[src=x]")).to_have_count(0)
    response = page.goto(LIST)
    assert response is not None
    assert hostile in response.text().replace("&lt;", "<").replace("&gt;", ">")


def test_two_editors_at_once_the_second_is_told(
    page: Page, browser: Browser, served: Served, spar: Spar
) -> None:
    new(page, "shared", spar.url, "none", "/")
    page.select_option("#f-no_auth_reason", "development")
    save(page)
    context = browser.new_context(base_url=served.url)
    second = context.new_page()
    log_in(second, "admin", served.password)
    second.goto(page.url)
    for editor, text in ((page, "first"), (second, "second")):
        tab(editor, "General")
        editor.fill("#f-notes", text)
        save(editor)
    expect(second.get_by_text("another user has changed")).to_be_visible()
    assert 'notes = "first"' in served.command("export", "shared")
    context.close()


def people(served: Served) -> dict[str, str]:
    """Make one person in each group, and return their passwords."""
    assert_program_passes("browser/group_users", served.home)
    names = ("Administrator", "Operator", "Auditor")
    return {name.lower(): f"a long password {name}" for name in names}


def test_each_page_and_action_refuses_the_wrong_group(
    browser: Browser, served: Served, page: Page
) -> None:
    open_listed(page, "demo bearer")
    change = page.url.removeprefix(served.url).partition("#")[0]
    allowed = {
        LIST: {"administrator", "operator"},
        # An auditor is sent to the audit.
        HOME: {"administrator", "operator", "auditor"},
        "/outkey/configuration/recommendations/": {"administrator", "operator"},
        "/outkey/usersettings/": {"administrator", "operator", "auditor"},
        change: {"administrator", "operator"},
        LIST + "add/": {"administrator"},
        change + "delete/": {"administrator"},
        "/outkey/auditrecord/": {"administrator", "operator", "auditor"},
        "/outkey/auditrecord/people/": {"administrator", "operator", "auditor"},
        "/outkey/knownkey/": {"administrator"},
        "/outkey/syncline/": {"administrator", "operator"},
        "/outkey/run/": {"administrator", "operator"},
        "/auth/user/": set(),
    }
    posts = {
        change: {"administrator"},
        change + "test/": {"administrator", "operator"},
        change + "delete/": {"administrator"},
        "/outkey/knownkey/add/": {"administrator"},
        "/outkey/auditrecord/verify/": {"administrator", "operator", "auditor"},
        "/outkey/syncline/add/": {"administrator"},
    }
    for name, password in people(served).items():
        context = browser.new_context(base_url=served.url)
        theirs = context.new_page()
        log_in(theirs, name, password)
        for path, groups in allowed.items():
            response = context.request.get(path)  # only its status is of interest
            assert (response.status == 200) == (name in groups), (
                name,
                path,
                response.status,
            )
        if name != "administrator":
            theirs.goto("/outkey/auditrecord/")
            token = theirs.locator('[name="csrfmiddlewaretoken"]').first.input_value()
            for path, groups in posts.items():
                status = theirs.evaluate(
                    "async ([path, token]) => (await fetch(path, {method: 'POST',"
                    " headers: {'X-CSRFToken': token}})).status",
                    [path, token],
                )
                assert (status == 403) == (name not in groups), (name, path, status)
        context.close()


def test_a_post_without_its_token_or_by_get_is_refused(page: Page) -> None:
    open_listed(page, "demo bearer")
    change = page.url.partition("#")[0]
    script = "async ([path, method]) => (await fetch(path, {method})).status"
    for path in (change, change + "test/", change + "delete/", change + "preview/"):
        assert page.evaluate(script, [path, "POST"]) == 403
    for path in (change + "test/", change + "preview/", "/outkey/auditrecord/export/"):
        assert page.evaluate(script, [path, "GET"]) == 405


def test_nothing_is_kept_by_the_browser_and_after_logout_nothing_comes_back(
    page: Page, served: Served
) -> None:
    response = page.goto(LIST)
    assert response is not None
    headers = response.headers
    assert headers["cache-control"] == "no-store"
    assert headers["x-frame-options"] == "DENY"
    policy = headers["content-security-policy"]
    assert "'unsafe-inline'" not in policy
    assert "frame-ancestors 'none'" in policy
    cookies = {cookie["name"]: cookie for cookie in page.context.cookies()}
    assert cookies["outkey_session"]["httpOnly"]
    assert cookies["outkey_session"]["sameSite"] == "Lax"
    page.context.clear_cookies()
    page.goto("/login/")
    page.go_back()
    # What comes is the login again, which leads on to the list.
    expect(page.locator("[name=password]")).to_be_visible()
    expect(page).to_have_url(re.compile(f"/login/.*next={LIST}$"))
    assert "demo bearer" not in page.content()


def test_a_login_is_locked_after_repeated_wrong_passwords(
    browser: Browser, served: Served
) -> None:
    context = browser.new_context(base_url=served.url)
    stranger = context.new_page()
    for _ in range(6):
        log_in(stranger, "somebody", "wrong")
    assert "outkey_session" not in {cookie["name"] for cookie in context.cookies()}
    response = stranger.goto("/login/")
    assert response is not None
    stranger.fill("[name=username]", "somebody")
    stranger.fill("[name=password]", "wrong")
    with stranger.expect_response(re.compile("/login/")) as answered:
        stranger.press("[name=password]", "Enter")
    assert answered.value.status == 429
    expect(stranger.get_by_text("Wait 15 minutes")).to_be_visible()
    context.close()


def test_the_tabs_are_reached_by_keyboard_and_every_input_has_a_name(
    page: Page,
) -> None:
    page.goto(LIST + "add/")
    page.get_by_role("tab", name="General").focus()
    page.keyboard.press("ArrowRight")
    second = page.get_by_role("tab", name="Authentication")
    expect(second).to_have_attribute("aria-selected", "true")
    tab(page, "Headers")
    page.get_by_role("button", name="Add row").click()
    nameless = page.evaluate(
        "[...document.querySelectorAll('.ok-page input:not([type=hidden]), .ok-page"
        " select, .ok-page textarea')].filter(e => !e.labels?.length &&"
        " !e.ariaLabel).map(e => e.name)"
    )
    assert nameless == []


def test_a_phone_shows_the_pages_without_scrolling_sideways(page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 800})
    for path in (LIST, LIST + "add/#headers", "/outkey/auditrecord/", HOME):
        page.goto(path)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path


def test_keys_are_rotated_and_the_chain_verified_in_the_browser(
    browser: Browser, tmp_path: Path
) -> None:
    # A server that ran for a minute has reported which keys it holds, and would have
    # to report again.
    with serving(tmp_path) as fresh:
        context = browser.new_context(base_url=fresh.url)
        page = context.new_page()
        log_in(page, "admin", fresh.password)
        page.goto("/outkey/knownkey/")
        page.get_by_role("button", name="Add a key").click()
        page.get_by_role("button", name="Promote").click()
        page.get_by_role("button", name="Rewrap secrets").click()
        expect(page.get_by_text("Secrets that were rewrapped")).to_be_visible()
        page.goto("/outkey/auditrecord/")
        page.get_by_role("button", name="Verify the chain").click()
        expect(page.get_by_text("The chain is clean")).to_be_visible()
        with page.expect_download() as downloaded:
            page.get_by_role("button", name="Export the whole audit").click()
        lines = Path(str(downloaded.value.path())).read_text().splitlines()
        assert any("keys:key:promoted" in line for line in lines)
        context.close()


def test_a_sync_line_is_made_changed_and_deleted(page: Page) -> None:
    page.goto("/outkey/syncline/add/")
    page.fill("#l-name", "parcels")
    page.select_option("#l-direction", "")
    page.locator("#l-save").click()
    expect(page.locator("#l-configuration-error")).to_be_visible()
    page.select_option("#l-configuration", "demo bearer")
    page.locator("#l-save").click()
    expect(page.get_by_text("The sync line parcels was saved.")).to_be_visible()
    page.get_by_role("link", name="Delete").click()
    page.get_by_role("button", name="Delete").click()
    expect(page.get_by_text("parcels was deleted.")).to_be_visible()


def test_the_list_renders_when_a_secret_cannot_be_opened(
    page: Page, served: Served
) -> None:
    key = served.home / "config" / "key"
    right = key.read_text()
    key.write_text("damaged")
    try:
        assert "demo bearer" in served.command("list")
    finally:
        key.write_text(right)
    started = time.monotonic()
    page.goto(LIST)
    assert time.monotonic() - started < 5
    expect(page.get_by_role("link", name="demo bearer")).to_be_visible()


def test_a_login_leads_home_and_no_page_breaks_its_own_policy(
    browser: Browser, served: Served
) -> None:
    context = browser.new_context(base_url=served.url)
    opened = context.new_page()
    complaints: list[str] = []
    opened.on(
        "console",
        lambda said: complaints.append(said.text) if said.type == "error" else None,
    )
    log_in(opened, "admin", served.password)
    expect(opened).to_have_url(served.url + HOME)
    assert complaints == []
    context.close()


def test_a_verdict_numbers_its_reasons_and_shows_what_a_fix_changes(page: Page) -> None:
    open_listed(page, "error header format")
    told = run_test(page)
    remedy = "Review the authentication header format. The API asks for Basic."
    assert told.count(remedy) == 1
    assert "Cause: header format\n" in told
    reasons = page.locator(".ok-reasons")
    expect(reasons).to_have_css("list-style-type", "decimal")
    table = reasons.locator("table")
    expect(table.locator("thead th")).to_have_text(["Field", "Now", "Then"])
    row = table.locator("tbody th, tbody td")
    expect(row).to_have_text(["Authentication Type", "bearer", "basic"])
    button = page.get_by_role("button", name="Switch Authentication Type to Basic")
    save_look = page.get_by_role("button", name="Save").evaluate(LOOK)
    assert button.evaluate(LOOK) == save_look


def test_a_german_browser_gets_german_pages(browser: Browser, served: Served) -> None:
    context = browser.new_context(base_url=served.url, locale="de-DE")
    opened = context.new_page()
    log_in(opened, "admin", served.password)
    opened.goto(LIST)
    expect(
        opened.get_by_role("heading", name="API-Sync-Konfigurationen")
    ).to_be_visible()
    follow(opened, opened.get_by_role("link", name="error 401 invalid credentials"))
    opened.get_by_role("tab", name="Authentifizierung").click()
    opened.get_by_role("button", name="Verbindung testen").click()
    expect(opened.locator("#outcome")).to_contain_text(
        "Benutzername und Passwort oder das Token prüfen."
    )
    context.close()
