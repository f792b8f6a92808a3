"""Every page for everybody: axe-core finds nothing, and the keyboard reaches all."""

import os
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import cycle, product
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from browser.conftest import Served, SignIn
from browser.pages_of_urls import NOT_PAGES, PAGES, url_names

AXE = Path(sys.prefix) / "peers/node_modules/axe-core/axe.min.js"  # tools/peers.sh
SCHEMES = ("light", "dark")
LANGUAGES = ("en-US", "de-DE")
WIDTHS = (390, 768, 1400)
COMBINATIONS = tuple(product(SCHEMES, LANGUAGES, WIDTHS))
# Each page once in the quick run, the combinations in turn.
QUICK = tuple(zip(PAGES, cycle(COMBINATIONS), strict=False))
FULL = tuple(product(PAGES, COMBINATIONS))
WEBHOOK = """
[webhook.sample]
scheme = "shopify"
line = "contacts"
"""
# In the order of the Tab key.
USER_MENU = ("Your settings", "Change password", "System", "Light", "Dark", "Sign out")
# Without the copies of style sheets that axe would write into the page: the policy of
# the pages refuses them, and only a rule that is off by default reads them.
VIOLATIONS = """
async () => {
  const { violations } = await axe.run(document, {
    resultTypes: ["violations"],
    preload: { assets: ["media"] },
  });
  return violations.flatMap(({ id, impact, nodes }) =>
    nodes.map((node) => `${id} (${impact}): ${node.html.slice(0, 160)}`));
}
"""
STRUCTURE = """
() => {
  const root = document.documentElement;
  const all = (selector) => [...document.querySelectorAll(selector)];
  const name = (element) =>
    element.getAttribute("aria-label") || element.getAttribute("aria-labelledby") || "";
  return {
    mains: all("main").length,
    headings: all("h1").length,
    skip: document.body.querySelector("a[href]").getAttribute("href"),
    target: Boolean(document.getElementById("content-start")),
    menus: all("nav").map(name),
    current: all(".ok-nav [aria-current]").length,
    readIcons: all("svg.ok-icon:not([aria-hidden=true])").length,
    sideways: root.scrollWidth - root.clientWidth,
    unreached: all(".ok-scroll:not([tabindex]):has(tbody td)").filter(
      (box) => !box.querySelector("a[href], button, input, select, summary")).length,
  };
}
"""


@pytest.fixture(scope="module")
def places(browser: Browser, served: Served, sign_in: SignIn) -> Mapping[str, str]:
    """Where the pages with an id in their URL are."""
    served.command("line", "run", "contacts")
    served.command("apply", "-", stdin=WEBHOOK)
    served.command("webhook", "secret", "sample", stdin="sample-secret")
    for body in ('{"id": "axe", "name": "Axe"}', "not JSON"):
        served.command("webhook", "send", "sample", "-", stdin=body)
    if "sample" not in served.command("api-token", "list"):
        served.command("api-token", "create", "sample", "--scope", "read")
    users = served.command("user", "list")
    if "reader" not in users:
        served.command("user", "add", "reader", "--role", "Auditor")
    with browser.new_context(base_url=served.url) as context:
        sign_in(context, "127.0.0.1")
        page = context.new_page()

        def first(url: str, pattern: str) -> str:
            page.goto(url)
            links = page.eval_on_selector_all(
                "main a[href]", "links => links.map(link => link.getAttribute('href'))"
            )
            found = [match[1] for link in links if (match := re.search(pattern, link))]
            assert found, f"{url} has no link like {pattern}"
            return found[-1]

        return {
            "configuration": first("/outkey/configuration/", r"/([0-9a-f-]{36})/"),
            "preset": first("/outkey/configuration/new/", r"/new/([^/]+)/"),
            "line": first("/outkey/syncline/", r"/syncline/([0-9]+)/"),
            "run": first("/outkey/run/", r"/run/([0-9]+)/"),
            "delivery": first("/outkey/webhook/inbox/?name=sample", r"[?&]id=([0-9]+)"),
            "contact": first("/demo/contact/", r"/contact/([0-9]+)/"),
            "other_user": first("/auth/user/?q=reader", r"/user/([0-9]+)/"),
        }


@contextmanager
def opened(
    browser: Browser,
    served: Served,
    sign_in: SignIn | None,
    combination: tuple[str, str, int],
) -> Iterator[Page]:
    """Yield a page as one user sees it; errors in its console fail the test."""
    scheme, language, width = combination
    context = browser.new_context(
        base_url=served.url,
        color_scheme="dark" if scheme == "dark" else "light",
        locale=language,
        viewport={"width": width, "height": 900},
    )
    if sign_in is not None:
        sign_in(context, "127.0.0.1")
    page = context.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on(
        "console",
        lambda message: (
            errors.append(message.text)
            if message.type in {"error", "warning"}
            else None
        ),
    )
    yield page
    context.close()
    # The browser itself reports that a page for 404 has this status.
    assert [error for error in errors if "status of 404" not in error] == []


def address_of(name: str, places: Mapping[str, str]) -> str:
    return PAGES[name].format(**places)


def assert_accessible(page: Page, what: str) -> None:
    structure = page.evaluate(STRUCTURE)
    assert structure["mains"] == 1, f"{what}: {structure['mains']} <main>"
    assert structure["headings"] == 1, f"{what}: {structure['headings']} <h1>"
    assert structure["skip"] == "#content-start", f"{what}: the first link is no skip"
    assert structure["target"], f"{what}: the skip link leads nowhere"
    assert len(set(structure["menus"])) == len(structure["menus"]), (
        f"{what}: {structure}"
    )
    assert "" not in structure["menus"], f"{what}: a <nav> without a name"
    assert structure["current"] <= 1, f"{what}: the menu marks more than one page"
    assert structure["readIcons"] == 0, f"{what}: an icon is read aloud"
    assert structure["sideways"] <= 0, f"{what}: scrolls sideways"
    assert structure["unreached"] == 0, f"{what}: no key scrolls a wide table"
    if not AXE.exists():
        reason = f"missing npm package: axe-core ({AXE.name}, by tools/peers.sh)"
        (pytest.fail if os.environ.get("OUTKEY_TESTS_SKIP_NOTHING") else pytest.skip)(
            reason
        )
    page.evaluate(AXE.read_text(encoding="utf-8"))
    violations = page.evaluate(VIOLATIONS)
    assert violations == [], f"{what}:\n" + "\n".join(violations)


def check(
    browser: Browser,
    served: Served,
    sign_in: SignIn,
    places: Mapping[str, str],
    name: str,
    combination: tuple[str, str, int],
) -> None:
    signed_in = None if name == "login" else sign_in
    with opened(browser, served, signed_in, combination) as page:
        address = address_of(name, places)
        page.goto(address, wait_until="networkidle")
        assert_accessible(page, f"{address} {combination}")


def test_every_url_is_known_as_a_page_or_as_none(served: Served) -> None:
    names = url_names(served.home)
    assert names - PAGES.keys() - NOT_PAGES.keys() == set()
    assert (PAGES.keys() | NOT_PAGES.keys()) - names == set()


@pytest.mark.parametrize(("name", "combination"), QUICK)
def test_a_page_has_no_accessibility_violation(
    browser: Browser,
    served: Served,
    sign_in: SignIn,
    places: Mapping[str, str],
    name: str,
    combination: tuple[str, str, int],
) -> None:
    check(browser, served, sign_in, places, name, combination)


@pytest.mark.full
@pytest.mark.parametrize(("name", "combination"), FULL)
def test_a_page_has_none_in_any_colours_language_or_width(
    browser: Browser,
    served: Served,
    sign_in: SignIn,
    places: Mapping[str, str],
    name: str,
    combination: tuple[str, str, int],
) -> None:
    check(browser, served, sign_in, places, name, combination)


def test_the_keyboard_skips_to_the_content_and_reaches_menu_and_sign_out(
    page: Page,
) -> None:
    page.goto("/outkey/configuration/home/")
    page.keyboard.press("Tab")
    expect(page.locator(".ok-skip")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#content-start")).to_be_focused()
    menu = page.locator("#ok-user-menu")
    page.locator(".ok-user-button").focus()
    page.keyboard.press("Enter")
    expect(menu).to_be_visible()
    for name in USER_MENU:
        page.keyboard.press("Tab")
        expect(menu.locator(":focus")).to_have_text(name)
    expect(menu.locator("form[action='/logout/'] :focus")).to_have_count(1)
    page.keyboard.press("Escape")
    expect(menu).to_be_hidden()


def test_a_narrow_screen_opens_the_menu_with_a_button(page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 800})
    page.goto("/outkey/configuration/home/")
    menu = page.locator("#ok-menu")
    expect(menu).to_be_hidden()
    page.locator(".ok-menu-button").focus()
    page.keyboard.press("Enter")
    expect(menu).to_be_visible()
    menu.get_by_role("link", name="Runs").press("Enter")
    expect(page).to_have_url(re.compile("/outkey/run/$"))


def test_the_chosen_appearance_is_kept(page: Page) -> None:
    page.goto("/outkey/configuration/home/")
    page.locator(".ok-user-button").click()
    page.get_by_role("button", name="Dark").click()
    page.goto("/outkey/run/")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    expect(page.locator("body")).to_have_css("background-color", "rgb(17, 24, 39)")
