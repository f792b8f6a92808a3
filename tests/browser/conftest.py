"""The pages as a person sees them: outkey serves, and Debian's Chromium looks."""

import os
import re
import shutil
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    Page,
    expect,
    sync_playwright,
)

import forks
from outkey.spar import Spar
from ports import free_port

SignIn = Callable[[BrowserContext, str], None]
# The shell draws no window around the pages, which is a third of what they cost.
CHROMIUM = shutil.which("chromium-headless-shell") or shutil.which("chromium")
# How long a page may take on a machine that does much else; in milliseconds.
PATIENCE = 30_000
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
expect.set_options(timeout=PATIENCE)


@dataclass(frozen=True)
class Served:
    """A running server and how to get in."""

    url: str
    home: Path
    password: str = field(repr=False)  # a failed test prints its fixtures

    def command(self, *arguments: str, stdin: str = "") -> str:
        environment = {"PATH": os.environ["PATH"], "OUTKEY_HOME": str(self.home)}
        done = forks.run([*forks.OUTKEY, *arguments], environment, stdin=stdin)
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture(scope="session")
def spar() -> Iterator[Spar]:
    with Spar() as server:
        yield server


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("served")) as running:
        yield running


@contextmanager
def serving(
    home: Path,
    command: Sequence[str | Path] = forks.OUTKEY,
    *,
    options: Sequence[str] = ("--demo",),
) -> Iterator[Served]:
    """Start outkey in a home of its own, by default with its samples."""
    port = free_port()
    log = (home / "log").open("w")
    process = forks.Popen(
        [*command, "serve", *options, "--port", str(port)],
        stdout=subprocess.PIPE,
        stderr=log,
        text=True,
        env={"PATH": os.environ["PATH"], "OUTKEY_HOME": str(home / "home")},
    )
    assert process.stdout is not None
    try:
        # The output ends where the server does.
        passwords = (re.search(r"Password  (\S+)", line) for line in process.stdout)
        password = next(filter(None, passwords), None)
        assert password, "the server printed no password"
        url = f"http://127.0.0.1:{port}"
        wait_for(url)
        yield Served(url, home / "home", password[1])
    finally:
        process.terminate()
        process.wait(60)
        process.stdout.close()
        log.close()


def wait_for(url: str) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            urllib.request.urlopen(url, timeout=20).close()
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            time.sleep(0.1)
        else:
            return
    pytest.fail("the server did not start")


class Chromium:
    """The browser of all tests in this folder.

    To start it for each file took as long as ten tests. It keeps an event loop running
    in this thread, so it ends before tests of other folders, which run their own.
    """

    def __init__(self) -> None:
        self._opened = ExitStack()
        self._browser: Browser | None = None

    def start(self) -> Browser:
        if self._browser is None or not self._browser.is_connected():
            self.close()
            playwright = self._opened.enter_context(sync_playwright())
            self._browser = playwright.chromium.launch(
                executable_path=CHROMIUM, args=FLAGS
            )
            self._opened.callback(self._browser.close)
        return self._browser

    def close(self) -> None:
        self._browser = None
        self._opened.close()


CHROMIUM_OF_ALL = Chromium()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(nextitem: pytest.Item | None) -> Iterator[None]:
    yield
    if nextitem is None or Path(__file__).parent not in nextitem.path.parents:
        CHROMIUM_OF_ALL.close()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    if CHROMIUM is None:
        reason = "missing program: chromium (Debian package chromium-headless-shell)"
        (pytest.fail if os.environ.get("OUTKEY_TESTS_SKIP_NOTHING") else pytest.skip)(
            reason
        )
    opened = CHROMIUM_OF_ALL.start()
    yield opened
    for context in opened.contexts:  # that a test has left
        context.close()


@pytest.fixture(scope="module")
def sign_in(browser: Browser, served: Served) -> SignIn:
    return sign_in_once(browser, served)


def sign_in_once(browser: Browser, served: Served) -> SignIn:
    """Sign the administrator in once; contexts get the cookies of that session."""
    with browser.new_context(base_url=served.url) as context:
        log_in(context.new_page(), "admin", served.password)
        cookies = context.cookies()

    def add_cookies(context: BrowserContext, host: str) -> None:
        context.add_cookies([cookie | {"domain": host} for cookie in cookies])

    return add_cookies


@pytest.fixture
def page(browser: Browser, served: Served, sign_in: SignIn) -> Iterator[Page]:
    """A page with the administrator signed in; errors of its scripts fail the test."""
    context = browser.new_context(
        base_url=served.url, viewport={"width": 1280, "height": 900}
    )
    context.set_default_timeout(PATIENCE)
    opened = context.new_page()
    errors: list[str] = []
    opened.on("pageerror", lambda error: errors.append(str(error)))
    sign_in(context, "127.0.0.1")
    yield opened
    context.close()
    assert errors == []


def log_in(page: Page, name: str, password: str) -> None:
    page.goto("/login/")
    page.fill("[name=username]", name)
    page.fill("[name=password]", password)
    with page.expect_navigation():
        page.press("[name=password]", "Enter")
