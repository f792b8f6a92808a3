"""The steps of the tutorial in the browser.

`make docs` walks them to take the tutorial's pictures, a test to see that each step is
true. The names of what is pressed are those in docs/tutorial/index.md.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from playwright.sync_api import Page, expect

Take = Callable[..., None]
API = "http://127.0.0.1:9000"  # as the tutorial has it
COMMAND = (
    f"curl '{API}/records/contacts?count=250' -H 'Authorization: Bearer spar-token'"
)
RUN_SECONDS = 60


def walk_tutorial(page: Page, api: str, take: Take) -> list[str]:
    """Do what the tutorial asks for, and return the names of what was pressed."""
    walk = Walk(page, take)
    walk.look_around()
    walk.connect(COMMAND.replace(API, api))
    walk.test()
    walk.fetch_sample()
    walk.map_fields()
    walk.check()
    walk.run()
    walk.look_at_table()
    walk.run_again()
    return walk.pressed


class Walk:
    """One user who follows the tutorial."""

    def __init__(self, page: Page, take: Take) -> None:
        self._page = page
        self._take = take
        self.pressed: list[str] = []

    def press(self, name: str, role: str = "button") -> None:
        """Press a button or follow a link."""
        self.pressed.append(name)
        found = self._page.get_by_role(role, name=name, exact=True)  # type: ignore[arg-type]
        found.first.click()

    @contextmanager
    def redrawn(self) -> Iterator[None]:
        """Wait until the parts of a line's page are drawn anew."""
        with self._page.expect_request(lambda request: "/check/" in request.url):
            yield
        parts = self._page.locator("#line-parts")
        expect(parts).not_to_have_attribute("aria-busy", "true")

    def look_around(self) -> None:
        """Begin at the overview."""
        self._page.goto("/outkey/configuration/home/")
        expect(self._page.locator("h1").first).to_be_visible()
        self._take(self._page, "tutorial-overview")

    def connect(self, command: str) -> None:
        """Make a configuration of a curl command."""
        self.press("New", "link")
        self._page.locator("#import-text").fill(command)
        self._page.get_by_label("Name (optional)").fill("acme")
        self._take(self._page, "tutorial-paste")
        self.press("Import")
        expect(self._page.get_by_text("What became of the import")).to_be_visible()

    def test(self) -> None:
        """Test the connection."""
        self.press("Test connection")
        expect(self._page.locator("#outcome")).to_contain_text("works.")
        self._page.locator("#outcome").scroll_into_view_if_needed()
        self._take(self._page, "tutorial-test")

    def fetch_sample(self) -> None:
        """Begin a sync line with a sample of the records."""
        self.press("Bring records in: add a sync line", "link")
        self._page.fill("#l-name", "people")
        self._page.fill("#l-path", "/records/contacts?count=250")
        with self.redrawn():
            self.press("Fetch a sample")
        expect(self._page.locator("#l-record")).to_have_text("record 1 of 20")
        self._take(self._page, "tutorial-sample", 900)

    def map_fields(self) -> None:
        """Map every field that has a suggestion."""
        with self.redrawn():
            self.press("Use all suggestions")
        rows = self._page.locator("#mapping tbody").first.locator("tr")
        expect(rows).to_have_count(6)
        self._page.locator("#mapping").scroll_into_view_if_needed()
        self._take(self._page, "tutorial-map", 900)

    def check(self) -> None:
        """See what a run would do."""
        with self.redrawn():
            self.press("Check")
        expect(self._page.locator(".ok-counts")).to_contain_text("new")
        self._page.locator(".ok-counts").evaluate(
            "element => element.scrollIntoView({block: 'center'})"
        )
        self._take(self._page, "tutorial-check")

    def run(self) -> None:
        """Save the line and run it."""
        with self._page.expect_navigation():
            self.press("Save")
        saved = self._page.get_by_text("The sync line people was saved.")
        expect(saved).to_be_visible()
        with self._page.expect_navigation():
            self.press("Run now")
        chip = self._page.locator(".ok-page h1 .ok-chip")
        expect(chip).to_have_text("done", timeout=RUN_SECONDS * 1000)
        self.expect_count("New", 250)
        self._take(self._page, "tutorial-run")

    def expect_count(self, label: str, count: int) -> None:
        """Check one of the counts of a run."""
        counts = self._page.locator(".ok-page").get_by_text(
            re.compile(rf"^\s*{label}\s*{count}\s*$")
        )
        expect(counts.first).to_be_visible()

    def look_at_table(self) -> None:
        """Look at the records."""
        self.press("table:people", "link")
        expect(self._page).to_have_url(re.compile("/data/people/"))
        expect(self._page.get_by_text("contact0@example.com")).to_be_visible()
        self._take(self._page, "tutorial-table")

    def run_again(self) -> None:
        """Run the line once more: nothing has changed, so nothing is written."""
        self._page.goto("/outkey/syncline/")
        row = self._page.get_by_role("row", name="people")
        self.pressed.append("Run now")
        with self._page.expect_navigation():
            row.get_by_role("button", name="Run now").click()
        chip = self._page.locator(".ok-page h1 .ok-chip")
        expect(chip).to_have_text("done", timeout=RUN_SECONDS * 1000)
        self.expect_count("Unchanged", 250)
