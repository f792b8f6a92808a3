"""Every page for everybody: axe-core finds nothing, and the keyboard reaches all."""

import os
import re
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import cycle, product
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from browser.conftest import PATIENCE, Served, SignIn
from browser.pages_of_urls import NOT_PAGES, PAGES, url_names

AXE = Path(sys.prefix) / "peers/node_modules/axe-core/axe.min.js"  # tools/peers.sh
SCHEMES = ("light", "dark")
LANGUAGES = ("en-US", "de-DE")
WIDTHS = (390, 768, 1400)
LOOKS = tuple(product(SCHEMES, WIDTHS))
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
# axe must not see a colour on its way to another one: some of Django's links take a
# moment, whatever the user has asked for.
SETTLE = """
() => new Promise((resolve) => requestAnimationFrame(() => {
  for (const animation of document.getAnimations()) animation.finish();
  resolve();
}))
"""
# What the browser itself reports about a page that says what is wrong.
EXPECTED_STATUS = re.compile(r"status of (403|404|409|422|429)")
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


@dataclass(frozen=True)
class View:
    """A page in a language, and the colours and widths to look at it in."""

    name: str
    language: str
    looks: Sequence[tuple[str, int]]

    def __str__(self) -> str:
        look = self.looks[0] if len(self.looks) == 1 else ("all",)
        return "-".join(map(str, (self.name, self.language, *look)))


def views_of(names: Collection[str]) -> list[object]:
    """Return each page once, and in the full run in everything as well.

    In the quick run languages, colours and widths take turns.
    """
    combinations = cycle(product(LOOKS, LANGUAGES))
    quick = [
        View(name, language, (look,))
        for name, (look, language) in zip(names, combinations, strict=False)
    ]
    return [
        *(pytest.param(view, id=str(view)) for view in quick),
        *every_view_of(names),
    ]


def every_view_of(names: Collection[str]) -> list[object]:
    """Return each page in each language with all colours and widths, in full runs."""
    views = [
        View(name, language, LOOKS) for name, language in product(names, LANGUAGES)
    ]
    return [pytest.param(view, id=str(view), marks=pytest.mark.full) for view in views]


@contextmanager
def opened(
    browser: Browser, served: Served, sign_in: SignIn | None, language: str
) -> Iterator[Page]:
    """Yield a page as one user sees it; errors in its console fail the test."""
    context = browser.new_context(
        base_url=served.url, locale=language, reduced_motion="reduce"
    )
    context.set_default_timeout(PATIENCE)
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
    assert [error for error in errors if not EXPECTED_STATUS.search(error)] == []


def set_look(page: Page, look: tuple[str, int]) -> None:
    scheme, width = look
    page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    page.set_viewport_size({"width": width, "height": 900})
    page.evaluate(SETTLE)


def assert_view_accessible(page: Page, view: View) -> None:
    """Check a page as it is now in all colours and widths, and report all problems."""
    problems = []
    for look in view.looks:
        set_look(page, look)
        try:
            assert_accessible(page, f"{view.name} {view.language} {look}")
        except AssertionError as error:
            problems.append(str(error))
    assert not problems, "\n".join(problems)


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
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE.read_text(encoding="utf-8"))
    violations = page.evaluate(VIOLATIONS)
    assert violations == [], f"{what}:\n" + "\n".join(violations)


def test_every_url_is_known_as_a_page_or_as_none(served: Served) -> None:
    names = url_names(served.home)
    assert names - PAGES.keys() - NOT_PAGES.keys() == set()
    assert (PAGES.keys() | NOT_PAGES.keys()) - names == set()


@pytest.mark.parametrize("view", views_of(PAGES))
def test_a_page_has_no_accessibility_violation(
    browser: Browser,
    served: Served,
    sign_in: SignIn,
    places: Mapping[str, str],
    view: View,
) -> None:
    signed_in = None if view.name == "login" else sign_in
    with opened(browser, served, signed_in, view.language) as page:
        set_look(page, view.looks[0])
        path = PAGES[view.name].format(**places)
        page.goto(path, wait_until="networkidle")
        assert_view_accessible(page, view)


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
