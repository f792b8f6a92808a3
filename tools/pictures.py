"""Take the handbook's pictures of the real pages, with Debian's Chromium.

`make docs` runs this first, so no picture is ever stale. To add one, add a row to
`PICTURES`, and show it with `![…](../_pictures/NAME.png)`; the pictures of the tutorial
are taken by its own steps in `tutorial_steps.py`. `--readme` renews the one picture
that is in the repository.
"""

import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Browser, Page, expect, sync_playwright
from tutorial_steps import walk_tutorial

from outkey.spar import Spar

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "docs" / "_pictures"
README_PICTURE = ROOT / "docs" / "readme.png"
README_SOURCE = "failed-test.png"
OUTKEY = Path(sys.executable).parent / "outkey"
CHROMIUM = shutil.which("chromium-headless-shell") or shutil.which("chromium")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
WIDTH = 1200
HEIGHT = 760
PATIENCE = 30_000  # milliseconds, on a busy machine
SPAR_PORT = 9000  # the one that the tutorial names
CONFIGURATIONS = "/outkey/configuration/"


@dataclass(frozen=True)
class Picture:
    """One picture: where it is taken, what is done first, and what of it is shown."""

    name: str
    path: str
    prepare: Callable[[Page], None] = lambda _page: None
    crop: str = ""  # a selector; without one, the window
    height: int = HEIGHT


def open_sample(page: Page, name: str) -> None:
    """Open the page of a sample configuration."""
    page.get_by_role("link", name=name, exact=True).first.click()
    expect(page.locator("h1").first).to_contain_text(name)


def show_failed_test(page: Page) -> None:
    """Test a sample that fails on purpose."""
    open_sample(page, "error header format")
    page.get_by_role("button", name="Test connection").first.click()
    expect(page.locator("#outcome")).to_contain_text("remedy", ignore_case=True)
    page.locator("#outcome").scroll_into_view_if_needed()


def show_script(page: Page) -> None:
    """Open the script of a sample."""
    open_sample(page, "demo script")
    page.get_by_role("tab", name="Script").click()


def show_line(page: Page) -> None:
    """Open a sample line with a sample of its records."""
    page.get_by_role("link", name="contacts", exact=True).first.click()
    page.get_by_role("button", name="Fetch a sample", exact=True).click()
    expect(page.locator("#l-record")).to_contain_text("record 1 of")


def stage_token(page: Page) -> None:
    """Stage another token of the API beside the one of a sample, and test it."""
    open_sample(page, "demo bearer")
    base = page.locator("[name=base_url]").input_value()
    client = {"client_id": "spar-client", "client_secret": "spar-client-secret"}
    form = {"grant_type": "client_credentials", **client}
    issued = page.request.post(f"{base}/oauth/token", form=form).json()
    # The other scene accepts one token only.
    page.fill("[name='verification.test_path']", "/records/contacts?count=1")
    press(page, "Save")
    page.locator("details:has(#next-token) > summary").click()
    page.fill("#next-token", issued["access_token"])
    press(page, "Store it beside the one in use")
    press(page, "Test the next one")


def promote_token(page: Page) -> None:
    """Use the staged token for all requests."""
    open_sample(page, "demo bearer")
    press(page, "Use it for all")


def press(page: Page, button: str) -> None:
    """Press a button that leads to another page."""
    with page.expect_navigation():
        page.get_by_role("button", name=button, exact=True).click()


PICTURES = (
    Picture("overview", f"{CONFIGURATIONS}home/"),
    Picture("configurations", CONFIGURATIONS),
    Picture("new-configuration", f"{CONFIGURATIONS}new/"),
    Picture("failed-test", CONFIGURATIONS, show_failed_test),
    Picture("script", CONFIGURATIONS, show_script),
    Picture("line", "/outkey/syncline/", show_line, height=1100),
    Picture("runs", "/outkey/run/"),
    Picture("new-webhook", "/outkey/webhook/add/"),
    Picture("activity", "/outkey/auditrecord/"),
    Picture("rotation-tested", CONFIGURATIONS, stage_token, crop="#rotation"),
    Picture("rotation-overlap", CONFIGURATIONS, promote_token, crop="#rotation"),
)


@dataclass(frozen=True)
class DemoServer:
    """A running server with samples, and how to sign in."""

    url: str
    password: str


@contextmanager
def serving() -> Iterator[DemoServer]:
    """Serve the demo in a temporary home."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with tempfile.TemporaryDirectory() as home:
        process = subprocess.Popen(
            [OUTKEY, "serve", "--demo", "--port", str(port)],
            env={"PATH": os.environ["PATH"], "OUTKEY_HOME": home},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        try:
            yield DemoServer(f"http://127.0.0.1:{port}", read_password(process))
        finally:
            process.terminate()
            process.wait(20)


def read_password(process: subprocess.Popen[str]) -> str:
    """Return the password that a starting server prints."""
    for line in process.stdout or ():
        if match := re.search(r"Password  (\S+)", line):
            return match[1]
    raise RuntimeError("the demo server did not start")


def wait_for(url: str) -> None:
    """Wait until a server responds."""
    deadline = time.monotonic() + 30
    while True:
        try:
            urllib.request.urlopen(url, timeout=5).close()  # noqa: S310 - a URL of ours
        except (urllib.error.URLError, ConnectionError):
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)
        else:
            return


def open_page(browser: Browser, server: DemoServer) -> Page:
    """Return a page of the right size, with the administrator signed in."""
    context = browser.new_context(
        base_url=server.url,
        viewport={"width": WIDTH, "height": HEIGHT},
        color_scheme="light",
        reduced_motion="reduce",
        locale="en-GB",
        timezone_id="UTC",
    )
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    page.goto("/login/")
    page.fill("[name=username]", "admin")
    page.fill("[name=password]", server.password)
    with page.expect_navigation():
        page.press("[name=password]", "Enter")
    return page


def take(page: Page, name: str, height: int = HEIGHT, crop: str = "") -> None:
    """Store a picture of what the page shows now."""
    page.set_viewport_size({"width": WIDTH, "height": height})
    page.evaluate("document.fonts.ready")
    shown = page.locator(crop).first if crop else page
    shown.screenshot(
        path=FOLDER / f"{name}.png", animations="disabled", caret="hide", scale="css"
    )
    page.set_viewport_size({"width": WIDTH, "height": HEIGHT})


def spar_for_tutorial() -> Spar:
    """Return the API of the tutorial, at the port that it names if that is free."""
    try:
        return Spar(port=SPAR_PORT)
    except OSError:
        return Spar()


def main(*, only_readme: bool) -> None:
    """Take all pictures, or the one of the README."""
    if CHROMIUM is None:
        sys.exit(
            "error: the handbook's pictures need Chromium, which was not found."
            " Install the Debian package chromium-headless-shell."
        )
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir()
    expect.set_options(timeout=PATIENCE)
    with (
        serving() as server,
        sync_playwright() as playwright,
        spar_for_tutorial() as api,
    ):
        wait_for(server.url)
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = open_page(browser, server)
        walk_tutorial(page, api.url, take)
        for picture in PICTURES:
            page.goto(picture.path)
            picture.prepare(page)
            take(page, picture.name, picture.height, picture.crop)
        browser.close()
    if only_readme:
        shutil.copy(FOLDER / README_SOURCE, README_PICTURE)


if __name__ == "__main__":
    main(only_readme="--readme" in sys.argv)
