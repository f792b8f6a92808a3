"""What no URL leads to by itself: open menus, verdicts, mistakes, a run that goes on.

Each is looked at like the pages of `test_accessibility.py`. What is pressed is found by
its id or name, since the pages are in English and in German.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from typing import Final
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, Page, expect

from browser import test_pair_pages as pair_pages
from browser.conftest import (
    PATIENCE,
    Served,
    SignIn,
    log_in,
    serving,
    sign_in_once,
)
from browser.test_accessibility import (
    View,
    assert_view_accessible,
    every_view_of,
    opened,
    set_look,
    views_of,
)
from browser.test_line_pages import redrawn
from outkey.spar import Spar

PASSWORD = "a-long-enough-password"
CONFIGURATION = "/outkey/configuration/"
LINES = "/outkey/syncline/"
NUMBERS = count(1)  # no name is taken twice
# Half of the contacts have a name here that a required field may have.
REJECTING = """
[line.rejecting]
configuration = "demo bearer"
direction = "pull"
path = "/records/contacts"
records = "items"
target = "table:rejecting"
keys = ["id"]
fields = [
    { api = "id", host = "id" },
    { api = "[full_name][?contains(@, '7')] | [0]", host = "name", required = true },
]
"""
ENDLESS = """
[line.endless]
configuration = "demo bearer"
direction = "pull"
path = "/records/contacts"
query = { count = "1000000" }
records = "items"
target = "demo.contact"
keys = ["external_id"]
pagination = { kind = "page", size_parameter = "per_page", position_parameter = "page" }
fields = [{ api = "id", host = "external_id" }, { api = "full_name", host = "name" }]
"""
ROTATING = """
[configuration.{name}]
base_url = "{url}"
network = "internal"
authentication_type = "bearer"
[configuration.{name}.verification]
test_path = "/records/contacts?count=1"
"""
WEBHOOK = """
[webhook.sample]
scheme = "shopify"
line = "contacts"
"""


@dataclass(frozen=True)
class State:
    """Where it begins, what is done there, and what ends it."""

    path: str
    prepare: Callable[[Page], None]
    finish: Callable[[Page], None] = lambda _page: None


def press(page: Page, selector: str) -> None:
    """Press a button that leads to another page."""
    with page.expect_navigation():
        page.locator(selector).first.click()


def ended_outcome(page: Page, outcome: str = "#outcome") -> None:
    ended = page.locator(f"{outcome}:not([aria-busy])")
    expect(ended.locator("*").first).to_be_visible()


def try_connection(page: Page) -> None:
    page.click('[data-act="test"]')
    ended_outcome(page)


def preview(page: Page) -> None:
    page.click('[data-act="preview"]')
    ended_outcome(page)


def open_tab(name: str) -> Callable[[Page], None]:
    def choose(page: Page) -> None:
        page.click(f"#tab-{name}")
        for folded in page.locator(
            f"#panel-{name} details:not([open]) > summary"
        ).all():
            if folded.is_visible():
                folded.click()

    return choose


def run_script(page: Page) -> None:
    page.click("#tab-script")
    page.click('[data-act="run"]')
    ended_outcome(page, "#panel-script .ok-outcome")


def save_configuration(page: Page) -> None:
    press(page, "#configuration-form [type=submit]")
    expect(page.locator(".ok-message").first).to_be_attached()


def open_rotation(page: Page) -> None:
    page.click("details:has(#rotation) > summary")


def replace_secret(page: Page) -> None:
    page.click("#tab-authentication")
    page.locator("[data-replace]").first.click()


def continue_preset(page: Page) -> None:
    press(page, "[name=continue]")
    expect(page.locator(".ok-message").first).to_be_visible()


def refuse_command(page: Page) -> None:
    page.fill("#import-text", "wget https://api.example.com/me")
    page.click(".ok-import .ok-primary")
    expect(page.locator("[data-import-error] *").first).to_be_visible()


def import_command(page: Page) -> None:
    command = "curl https://api.example.com/v1/me -H 'Authorization: Bearer made-up'"
    page.fill("#import-text", command)
    page.fill("#import-name", f"imported {next(NUMBERS)}")
    press(page, ".ok-import .ok-primary")


def filter_presets(page: Page) -> None:
    page.fill("[data-filter]", "nothing like this")
    expect(page.locator("#presets-none")).to_be_visible()


def select_rows(action: str) -> Callable[[Page], None]:
    def choose(page: Page) -> None:
        page.locator("[name=selected]").first.check()
        press(page, f".ok-bulk [value={action}]")

    return choose


def fetch_sample(page: Page) -> None:
    with redrawn(page):
        page.click("#l-sample")
    expect(page.locator("#l-record")).to_be_visible()


def check_line(page: Page) -> None:
    fetch_sample(page)
    with redrawn(page):
        page.click("#l-check")
    expect(page.locator(".ok-counts")).to_be_visible()


def break_rule(page: Page) -> None:
    """Read a name as a date: the row shows wrong values, and how to repair them."""
    fetch_sample(page)
    with redrawn(page):
        page.select_option("#m-transform-1", "date")
    expect(page.locator(".ok-wrong-value").first).to_be_visible()


def add_rows(page: Page) -> None:
    for kind in ("field", "constant", "template", "lookup"):
        with redrawn(page):
            page.click(f"#l-add-{kind}")


def choose_schedule(page: Page) -> None:
    for kind in ("daily", "cron"):
        with redrawn(page):
            page.check(f"#l-schedule-{kind}")


def save_line(page: Page) -> None:
    press(page, "#l-save")
    expect(page.locator(".ok-note.ok-error").first).to_be_visible()


def save_outdated_line(page: Page) -> None:
    """Save over a version that this page has not seen."""
    page.locator("#line-parts [name=version]").evaluate("input => input.value = '0'")
    with redrawn(page):
        page.fill("#l-path", "/records/contacts?count=3")
        page.locator("#l-path").blur()
    press(page, "#l-save")
    expect(page.locator("#l-conflict")).to_be_visible()


def search(text: str) -> Callable[[Page], None]:
    def type_in(page: Page) -> None:
        page.keyboard.press("Control+k")
        expect(page.locator("#ok-search-dialog")).to_be_visible()
        with page.expect_response(re.compile("part=1")):
            page.keyboard.type(text)

    return type_in


def open_user_menu(page: Page) -> None:
    page.click(".ok-user-button")
    expect(page.locator("#ok-user-menu")).to_be_visible()


def open_menu(page: Page) -> None:
    """Open the menu of a narrow screen; on a wide one it is always there."""
    if page.locator(".ok-menu-button").is_visible():
        page.click(".ok-menu-button")
    expect(page.locator("#ok-menu")).to_be_visible()


def open_details(page: Page) -> None:
    for folded in page.locator("main details:not([open]) > summary").all():
        if folded.is_visible():
            folded.click()


def start_run(page: Page) -> None:
    press(page, "form[action$='/run/'] [name=dry]")
    expect(page.locator(".ok-progress")).to_be_visible()


def cancel_run(page: Page) -> None:
    press(page, "form[action$='/cancel/'] button")


def submit(page: Page) -> None:
    """Send an empty form, as a browser does that does not check it itself."""
    form = page.locator("main form[method=post]").last
    form.evaluate("form => form.noValidate = true")
    with page.expect_navigation():
        form.locator("button:not([type=button]), [type=submit]").first.click()


def create_token(page: Page) -> None:
    page.fill("#t-name", f"token {next(NUMBERS)}")
    page.locator("[name=scope]").first.check()
    press(page, "main form .ok-primary")


def send_sample(page: Page) -> None:
    press(page, "main form .ok-primary")


def fail_sign_in(page: Page) -> None:
    log_in(page, f"nobody {next(NUMBERS)}", "wrong")


def lock_out(page: Page) -> None:
    name = f"nobody {next(NUMBERS)}"
    for _ in range(6):
        log_in(page, name, "wrong")
        if not page.locator("[name=password]").count():
            return
    pytest.fail("nobody is locked out")


def connect_token(page: Page) -> None:
    page.click("#tab-oauth2")
    press(page, "[formaction$='/connect/']")


def look(_page: Page) -> None:
    """Nothing else is to be done."""


STATES: Final = {
    "a test that fails": State(f"{CONFIGURATION}{{failing}}/", try_connection),
    "a test that passes": State(f"{CONFIGURATION}{{bearer}}/", try_connection),
    "a preview": State(f"{CONFIGURATION}{{bearer}}/", preview),
    "a script that ran": State(f"{CONFIGURATION}{{script}}/", run_script),
    "the token of an API": State(f"{CONFIGURATION}{{oauth2}}/", open_tab("oauth2")),
    "a user who leaves for a provider": State(
        f"{CONFIGURATION}{{consent}}/", connect_token
    ),
    "a provider who sends nothing back": State(
        f"{CONFIGURATION}{{consent}}/callback/", look
    ),
    **{
        f"the tab {name}": State(f"{CONFIGURATION}{{bearer}}/", open_tab(name))
        for name in (
            "authentication",
            "headers",
            "script",
            "tls",
            "proxy",
            "limits",
            "verification",
            "history",
        )
    },
    "the next credentials": State(f"{CONFIGURATION}{{bearer}}/", open_rotation),
    "tested credentials": State(f"{CONFIGURATION}{{tested}}/", open_details),
    "replaced credentials": State(f"{CONFIGURATION}{{replaced}}/", look),
    "a secret to replace": State(f"{CONFIGURATION}{{bearer}}/", replace_secret),
    "a configuration with mistakes": State(f"{CONFIGURATION}add/", save_configuration),
    "a guided configuration with mistakes": State(
        f"{CONFIGURATION}add/?start=oauth2", save_configuration
    ),
    "a preset with mistakes": State(f"{CONFIGURATION}new/metabase/", continue_preset),
    "no preset": State(f"{CONFIGURATION}new/", filter_presets),
    "a refused command": State(f"{CONFIGURATION}new/", refuse_command),
    "an imported command": State(f"{CONFIGURATION}new/", import_command),
    "no configuration like this": State(f"{CONFIGURATION}?q=nothing-like-this", look),
    "configurations to switch off": State(CONFIGURATION, select_rows("pause")),
    "configurations to test": State(CONFIGURATION, select_rows("test")),
    "a line with a sample": State(f"{LINES}{{line}}/", fetch_sample),
    "a checked line": State(f"{LINES}{{line}}/", check_line),
    "a rule that does not fit": State(f"{LINES}{{line}}/", break_rule),
    "rows of each kind": State(f"{LINES}{{line}}/", add_rows),
    "a schedule": State(f"{LINES}{{line}}/", choose_schedule),
    "a line as text": State(f"{LINES}{{line}}/?view=toml", look),
    "a line with mistakes": State(f"{LINES}add/", save_line),
    "a line that somebody else has saved": State(
        f"{LINES}{{line}}/", save_outdated_line
    ),
    "results of a search": State(LINES, search("demo")),
    "a search without results": State(LINES, search("nothing-like-this")),
    "the user menu": State("/outkey/run/", open_user_menu),
    "the menu": State("/outkey/run/", open_menu),
    "a run that goes on": State(f"{LINES}{{endless}}/", start_run, cancel_run),
    "a run with rejected records": State("/outkey/run/{rejecting_run}/", open_details),
    "a table of records": State(f"{LINES}data/rejecting/", look),
    "a pair": State(pair_pages.PAIR, look),
    "conflicts of a pair": State(pair_pages.CONFLICTS, look),
    "activity in detail": State("/outkey/auditrecord/", open_details),
    "a webhook with mistakes": State("/outkey/webhook/add/", submit),
    "a tested webhook": State("/outkey/webhook/test/?name=sample", send_sample),
    "a token with mistakes": State("/outkey/apitoken/add/", submit),
    "a created token": State("/outkey/apitoken/add/", create_token),
    "a user with mistakes": State("/auth/user/add/", submit),
    "a group with mistakes": State("/auth/group/add/", submit),
    "a password with mistakes": State("/password_change/", submit),
}
SIGNED_OUT: Final = {
    "a failed sign-in": State("/login/", fail_sign_in),
    "a locked sign-in": State("/login/", lock_out),
}
EMPTY: Final = {
    f"empty {path}": State(path, look)
    for path in (
        f"{CONFIGURATION}home/",
        CONFIGURATION,
        f"{CONFIGURATION}recommendations/",
        f"{CONFIGURATION}search/?q=nothing",
        LINES,
        f"{LINES}add/",
        f"{LINES}pairs/",
        f"{LINES}data/",
        "/outkey/run/",
        "/outkey/webhook/",
        "/outkey/webhook/add/",
        "/outkey/apitoken/",
        "/outkey/knownkey/",
        "/outkey/auditrecord/?q=nothing-like-this",
    )
}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server of its own, with a pair in conflict and a run that rejected records."""
    with Spar() as api, serving(tmp_path_factory.mktemp("states")) as running:
        text = pair_pages.document(api) + REJECTING + ENDLESS + WEBHOOK
        running.command("apply", "-", stdin=text)
        running.command("secret", "set", "crm", "token", stdin="spar-token")
        running.command("webhook", "secret", "sample", stdin="sample-secret")
        running.command("line", "run", "rejecting")
        for name in ("Ada", "Grace", "Hedy"):
            pair_pages.call(api, "POST", name=name, mail="", kind="person")
        running.command("pair", "run", pair_pages.NAME)
        pair_pages.disagree(running, api, at_api="Hedy K.", in_host="Hedy Lamarr")
        for name, steps in (("tested", ("test",)), ("replaced", ("test", "promote"))):
            running.command("apply", "-", stdin=ROTATING.format(name=name, url=api.url))
            running.command("secret", "set", name, "token", stdin="old-token")
            running.command("secret", "stage", name, "token", stdin="spar-token")
            for step in steps:
                running.command("rotation", step, name)
        yield running


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server on its first day."""
    with serving(tmp_path_factory.mktemp("empty"), options=()) as running:
        yield running


@pytest.fixture(scope="module")
def sign_in_to_empty(browser: Browser, empty: Served) -> SignIn:
    return sign_in_once(browser, empty)


@pytest.fixture(scope="module")
def places(browser: Browser, served: Served, sign_in: SignIn) -> Mapping[str, str]:
    """Where the pages with an id in their URL are."""
    with browser.new_context(base_url=served.url) as context:
        context.set_default_timeout(PATIENCE)
        sign_in(context, "127.0.0.1")
        page = context.new_page()

        def id_of(name: str, path: str) -> str:
            page.goto(f"{path}?q={quote(name)}")
            link = page.get_by_role("link", name=name, exact=True).first
            return (link.get_attribute("href") or "").rstrip("/").rpartition("/")[2]

        page.goto("/outkey/run/?line=rejecting")
        run = page.locator("main tbody a[href^='/outkey/run/']").last
        return {
            "failing": id_of("error header format", CONFIGURATION),
            "bearer": id_of("demo bearer", CONFIGURATION),
            "script": id_of("demo script", CONFIGURATION),
            "oauth2": id_of("demo oauth2", CONFIGURATION),
            "consent": id_of("demo oauth2 consent", CONFIGURATION),
            "tested": id_of("tested", CONFIGURATION),
            "replaced": id_of("replaced", CONFIGURATION),
            "line": id_of("contacts", LINES),
            "endless": id_of("endless", LINES),
            "rejecting_run": (run.get_attribute("href") or "").split("/")[3],
        }


def check(page: Page, state: State, path: str, view: View) -> None:
    set_look(page, view.looks[0])
    page.goto(path)
    state.prepare(page)
    assert_view_accessible(page, view)
    state.finish(page)


@pytest.mark.parametrize("view", views_of(STATES))
def test_a_state_has_no_accessibility_violation(
    browser: Browser,
    served: Served,
    sign_in: SignIn,
    places: Mapping[str, str],
    view: View,
) -> None:
    state = STATES[view.name]
    with opened(browser, served, sign_in, view.language) as page:
        check(page, state, state.path.format(**places), view)


@pytest.mark.parametrize("view", views_of(SIGNED_OUT))
def test_a_sign_in_that_fails_has_no_violation(
    browser: Browser, served: Served, view: View
) -> None:
    state = SIGNED_OUT[view.name]
    with opened(browser, served, None, view.language) as page:
        check(page, state, state.path, view)


@pytest.mark.parametrize("view", every_view_of(EMPTY))
def test_an_empty_page_has_no_violation(
    browser: Browser, empty: Served, sign_in_to_empty: SignIn, view: View
) -> None:
    state = EMPTY[view.name]
    with opened(browser, empty, sign_in_to_empty, view.language) as page:
        check(page, state, state.path, view)


def test_a_page_that_a_user_may_not_see_has_no_violation(
    browser: Browser, served: Served
) -> None:
    served.command("user", "add", "reader", "--role", "Auditor", stdin=PASSWORD)
    with opened(browser, served, None, "en-US") as page:
        log_in(page, "reader", PASSWORD)
        page.goto("/outkey/apitoken/add/")
        view = View("refused", "en-US", (("dark", 390), ("light", 1400)))
        assert_view_accessible(page, view)
