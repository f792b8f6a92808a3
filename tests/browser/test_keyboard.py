"""From the sign-in to records in a table without a mouse.

Nothing here clicks, fills in or sets the focus: keys are pressed, and whatever gets the
focus on the way must be seen, with a ring around it.
"""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from browser.conftest import PATIENCE, Served, serving
from browser.test_page_states import ENDLESS
from browser.test_pages import ended_outcome
from outkey.spar import Spar

MOST_STOPS = 250  # of the Tab key, on the way through one page
# What has the focus: a few words for messages, and what is wrong with how it looks.
FOCUS = """
() => {
  const focused = document.activeElement;
  if (!focused || focused === document.body) return { name: "", problem: "" };
  const text = focused.innerText || focused.getAttribute("aria-label") || focused.name;
  const name = `${focused.tagName.toLowerCase()}#${focused.id} ${(text || "").trim()}`;
  const box = focused.getBoundingClientRect();
  const isOnScreen = box.width > 0 && box.height > 0 && box.bottom > 0 && box.right > 0
    && box.top < innerHeight && box.left < innerWidth;
  if (!isOnScreen) return { name, problem: "is not on the screen" };
  // The middle of what is seen of it, and its corners: another element may be on top.
  const left = Math.max(box.left, 0);
  const right = Math.min(box.right, innerWidth);
  const top = Math.max(box.top, 0);
  const bottom = Math.min(box.bottom, innerHeight);
  const points = [
    [(left + right) / 2, (top + bottom) / 2],
    [left + 2, top + 2], [right - 2, top + 2],
    [left + 2, bottom - 2], [right - 2, bottom - 2],
  ];
  const isThere = ([x, y]) => {
    const found = document.elementFromPoint(x, y);
    return found && (focused.contains(found) || found.contains(focused));
  };
  if (!points.some(isThere)) return { name, problem: "is covered by something else" };
  const hasRing = (element) => {
    const style = getComputedStyle(element);
    const outline = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0;
    return outline || style.boxShadow !== "none";
  };
  const around = [focused, focused.parentElement, focused.closest(".ok-live")];
  const isRinged = around.filter(Boolean).some(hasRing);
  return { name, problem: isRinged ? "" : "has no ring" };
}
"""
# Where the Tab key should stop; of a group of radio buttons, the chosen one.
STOPS = """
() => [...document.querySelectorAll(
    "a[href], button, input, select, textarea, summary, [tabindex='0']")]
  .filter((element) => element.tabIndex >= 0 && !element.disabled
    && !element.matches("fieldset:disabled *") && element.checkVisibility(
      { visibilityProperty: true }) && element.getBoundingClientRect().width > 0)
  .filter((element) => element.type !== "radio" || element.checked).length
"""


class Keys:
    """A user with nothing but a keyboard."""

    def __init__(self, page: Page) -> None:
        self.page = page

    def check_focus(self) -> str:
        """Return what has the focus, which must be visible; empty for the page."""
        focus = self.page.evaluate(FOCUS)
        assert not focus["problem"], f"{self.page.url}: {focus}"
        return str(focus["name"])

    def tab(self, key: str = "Tab") -> str:
        self.page.keyboard.press(key)
        return self.check_focus()

    def leave_editor(self) -> None:
        """Escape lets the Tab key out of the editor of scripts, as it says there."""
        if self.page.evaluate("Boolean(document.activeElement.closest('.ok-live'))"):
            help_text = "To leave the field, press Escape, then Tab."
            described = self.page.locator(":focus")
            expect(described).to_have_accessible_description(re.compile(help_text))
            self.page.keyboard.press("Escape")

    def reach(self, place: Locator, key: str = "Tab") -> None:
        """Press Tab until this has the focus."""
        place.wait_for()
        stops = []
        for _ in range(MOST_STOPS):
            if place.evaluate("element => element === document.activeElement"):
                self.check_focus()
                return
            stops.append(self.tab(key))
        pytest.fail(f"{key} does not lead to {place}, but to {stops}")

    def press(self, place: Locator, key: str = "Enter") -> None:
        self.reach(place)
        self.page.keyboard.press(key)

    def follow(self, place: Locator) -> None:
        """Press what leads to another page."""
        with self.page.expect_navigation():
            self.press(place)

    def write(self, place: Locator, text: str) -> None:
        self.reach(place)
        self.page.keyboard.press("Control+A")
        self.page.keyboard.type(text)

    def paste(self, text: str) -> None:
        """Enter a text where the focus is, all at once."""
        self.page.keyboard.insert_text(text)

    def choose(self, place: Locator, words: str) -> None:
        """Choose from a list by typing how the choice begins."""
        self.reach(place)
        self.page.keyboard.type(words)
        chosen = place.locator("option:checked")
        expect(chosen).to_have_text(re.compile(rf"^\s*{re.escape(words)}"))

    def press_and_wait(self, place: Locator, key: str = "Enter") -> None:
        """Press what draws the parts of a line's page anew."""
        self.reach(place)
        with self.page.expect_request(lambda request: "/check/" in request.url):
            self.page.keyboard.press(key)
        parts = self.page.locator("#line-parts")
        expect(parts).not_to_have_attribute("aria-busy", "true")

    def expect_focus(self, place: Locator) -> None:
        expect(place).to_be_focused()
        self.check_focus()


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server of its own: what is created here has names that others use too."""
    with serving(tmp_path_factory.mktemp("keyboard")) as running:
        yield running


@pytest.fixture
def keys(browser: Browser, served: Served) -> Iterator[Keys]:
    """A user who has signed in with the keyboard."""
    context = browser.new_context(
        base_url=served.url, viewport={"width": 1280, "height": 800}
    )
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    user = Keys(page)
    page.goto("/")
    user.expect_focus(page.locator("[name=username]"))
    page.keyboard.type("admin")
    user.write(page.locator("[name=password]"), served.password)
    with page.expect_navigation():
        page.keyboard.press("Enter")
    expect(page.locator("h1")).to_be_visible()
    yield user
    context.close()
    assert errors == []


def button(page: Page, name: str) -> Locator:
    return page.locator("main").get_by_role("button", name=name, exact=True)


def link(page: Page, name: str) -> Locator:
    return page.locator("main").get_by_role("link", name=name, exact=True)


def open_new(keys: Keys) -> None:
    """Open the page New by way of the menu; its box takes a command at once."""
    page = keys.page
    keys.follow(page.locator(".ok-nav").get_by_role("link", name="Configurations"))
    keys.follow(link(page, "New"))
    expect(page.locator("h1")).to_have_text("New API Sync Configuration")
    keys.expect_focus(page.locator("#import-text"))


def try_path(keys: Keys, path: str) -> None:
    """Test a connection, which works; the focus stays where it was."""
    page = keys.page
    keys.write(page.get_by_label("Test Path"), path)
    keys.press(button(page, "Test connection"))
    assert "works." in ended_outcome(page)
    keys.expect_focus(button(page, "Test connection"))


def save(keys: Keys, name: str) -> None:
    keys.follow(button(keys.page, "Save"))
    expect(keys.page.get_by_text(f"{name} was saved.")).to_be_visible()
    expect(keys.page.locator("h1 .ok-chip")).to_have_text("working")


def test_a_configuration_is_made_from_a_preset(keys: Keys, spar: Spar) -> None:
    page = keys.page
    open_new(keys)
    # The search of the providers is before the box that has the focus at first.
    search = page.locator("[data-filter]")
    keys.reach(search, "Shift+Tab")
    page.keyboard.type("metab")
    expect(page.locator("#presets li:visible")).to_have_count(1)
    keys.follow(page.locator("#presets a:visible"))
    # Nothing is entered yet: the mistake gets the focus.
    keys.follow(button(page, "Continue"))
    host = page.get_by_label("Host (required)")
    keys.expect_focus(host)
    page.keyboard.type("bi.acme.example")
    with page.expect_navigation():
        page.keyboard.press("Enter")
    expect(page.get_by_text("Filled in from the preset Metabase")).to_be_visible()
    keys.write(page.get_by_label("Name (required)"), "by preset")
    keys.write(page.get_by_label("Base URL (required)"), spar.url)
    keys.choose(page.get_by_label("Network"), "Internal")
    keys.write(page.get_by_label("API key (required)"), "spar-key")
    try_path(keys, "/key")
    save(keys, "by preset")


def test_a_configuration_is_made_by_hand_with_a_mistake_on_the_way(
    keys: Keys, spar: Spar
) -> None:
    page = keys.page
    open_new(keys)
    keys.follow(page.get_by_role("link", name=re.compile("^Basic")))
    keys.write(page.get_by_label("Name (required)"), "by hand")
    keys.write(page.get_by_label("Base URL (required)"), "no URL")
    # Enter in a field saves; what is wrong gets the focus.
    with page.expect_navigation():
        page.keyboard.press("Enter")
    keys.expect_focus(page.get_by_label("Base URL (required)"))
    keys.write(page.get_by_label("Base URL (required)"), spar.url)
    keys.choose(page.get_by_label("Network"), "Internal")
    keys.write(page.get_by_label("Username"), "sparring")
    keys.write(page.get_by_label("Password (required)"), "wrong")
    keys.write(page.get_by_label("Test Path"), "/basic")
    keys.press(button(page, "Test connection"))
    assert "works." not in ended_outcome(page)
    keys.reach(page.get_by_label("Password (required)"), "Shift+Tab")
    keys.write(page.get_by_label("Password (required)"), "open sesame")
    try_path(keys, "/basic")
    save(keys, "by hand")


def test_a_pasted_command_becomes_a_table_of_records(keys: Keys, spar: Spar) -> None:
    page = keys.page
    open_new(keys)
    url = f"{spar.url}/records/contacts?count=50"
    keys.paste(f"wget '{url}'")
    keys.press(button(page, "Import"))
    expect(page.get_by_role("alert")).to_contain_text("was not recognized")
    keys.expect_focus(page.locator("#import-text"))
    page.keyboard.press("Control+A")
    keys.paste(f"curl '{url}' -H 'Authorization: Bearer spar-token'")
    keys.write(page.get_by_label("Name (optional)"), "acme")
    with page.expect_navigation():
        page.keyboard.press("Enter")
    expect(page.get_by_text("What became of the import")).to_be_visible()
    keys.press(button(page, "Test connection").first)
    assert "acme works." in ended_outcome(page)
    keys.follow(link(page, "Bring records in: add a sync line").first)
    make_line(keys)
    run_line(keys)


def make_line(keys: Keys) -> None:
    """Map fields of a sample to a table, correct a mistake, and save the line."""
    page = keys.page
    # Nothing is entered yet: the first mistake gets the focus.
    keys.follow(page.locator("#l-save"))
    keys.expect_focus(page.locator("#l-name"))
    page.keyboard.type("people")
    keys.write(page.locator("#l-path"), "/records/contacts?count=50")
    keys.press_and_wait(page.locator("#l-sample"))
    keys.expect_focus(page.locator("#l-sample"))
    expect(page.locator("#l-record")).to_have_text("record 1 of 20")
    expect(page.locator("#l-target-table")).to_have_value("people")
    keys.press_and_wait(page.locator("#l-accept"))
    keys.expect_focus(page.locator("#l-add-field"))
    rows = page.locator("#mapping tbody").first.locator("tr")
    expect(rows).to_have_count(6)
    # One rule is changed to one that does not fit, and repaired in its row.
    rule = page.locator("#m-transform-1")
    keys.reach(rule, "Shift+Tab")
    with page.expect_request(lambda request: "/check/" in request.url):
        page.keyboard.type("Date")
    expect(page.locator(".ok-wrong-value").first).to_be_visible()
    keys.expect_focus(rule)
    with page.expect_request(lambda request: "/check/" in request.url):
        page.keyboard.type("As it")
    expect(page.locator(".ok-wrong-value")).to_have_count(0)
    keys.expect_focus(rule)
    # The last row is removed: the focus is somewhere near, not lost.
    keys.press_and_wait(rows.last.get_by_role("button", name=re.compile("^Remove")))
    expect(rows).to_have_count(5)
    assert keys.check_focus()
    keys.press_and_wait(page.locator("#l-check"))
    expect(page.locator(".ok-counts")).to_contain_text("20 new")
    keys.follow(page.locator("#l-save"))
    expect(page.get_by_text("The sync line people was saved.")).to_be_visible()


def run_line(keys: Keys) -> None:
    page = keys.page
    keys.follow(button(page, "Run now"))
    chip = page.locator("h1 .ok-chip")
    expect(chip).to_have_text("done", timeout=60_000)
    keys.follow(link(page, "table:people"))
    expect(page).to_have_url(re.compile("/data/people/"))
    expect(page.get_by_text("contact0@example.com")).to_be_visible()


def test_a_run_that_ends_leaves_the_focus_in_its_page(
    keys: Keys, served: Served
) -> None:
    page = keys.page
    served.command("apply", "-", stdin=ENDLESS)
    keys.follow(page.locator(".ok-nav").get_by_role("link", name="Lines"))
    keys.follow(link(page, "endless"))
    keys.follow(button(page, "Dry run"))
    expect(page.locator(".ok-progress")).to_be_visible()
    keys.reach(button(page, "Cancel"))
    served.command("run", "cancel", page.url.rstrip("/").rpartition("/")[2])
    expect(page.locator("h1 .ok-chip")).to_have_text("cancelled", timeout=60_000)
    # The button is gone. Another one in its place could be pressed by mistake.
    keys.expect_focus(page.locator("h1"))


PATHS = (
    "/outkey/configuration/home/",
    "/outkey/configuration/",
    "/outkey/configuration/new/",
    "/outkey/configuration/add/",
    "/outkey/configuration/add/?start=script",
    "/outkey/syncline/",
    "/outkey/syncline/add/",
    "/outkey/run/",
    "/outkey/auditrecord/",
    "/outkey/webhook/add/",
    "/outkey/apitoken/add/",
    "/outkey/usersettings/",
    "/auth/user/",
    "/auth/user/1/change/",
)


@pytest.mark.parametrize("width", [pytest.param(1280, marks=pytest.mark.full), 390])
def test_the_tab_key_leads_through_every_page_and_out_again(
    keys: Keys, width: int
) -> None:
    page = keys.page
    page.set_viewport_size({"width": width, "height": 800})
    for path in PATHS:
        page.goto(path, wait_until="networkidle")
        expected = page.evaluate(STOPS)
        names = [keys.tab()]
        first = page.evaluate_handle("document.activeElement")
        for _ in range(MOST_STOPS):
            keys.leave_editor()
            name = keys.tab()
            if first.evaluate("element => element === document.activeElement"):
                break
            names.append(name)
        else:
            pytest.fail(f"{path}: the Tab key does not come back: {names}")
        stops = len([name for name in names if name])
        assert stops >= expected, f"{path}: {stops} of {expected} stops: {names}"
