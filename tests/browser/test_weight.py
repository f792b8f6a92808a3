"""How much a browser loads: little at first, next to nothing later.

What is transferred is what the network counts: all resources, compressed, with headers.
The time of scripts is what Chromium adds up as ScriptDuration from an empty cache until
the page is loaded and no request is pending. It is real time, so a machine that
does other things makes it longer: the shortest of up to three loads counts.
"""

import logging
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest
from playwright.sync_api import Browser, BrowserContext, CDPSession, Page, Response

from browser.conftest import PATIENCE, Served, SignIn
from browser.pages_of_urls import PAGES
from browser.test_accessibility import places

__all__ = ["places"]  # a fixture

FIRST_VISIT_BYTES = 200_000
LATER_PAGE_BYTES = 60_000
SCRIPT_MILLISECONDS = 100
LOADS = 3
HOME = PAGES["outkey_home"]


@dataclass
class Load:
    """What a browser needed to show a page once."""

    bytes: float = 0
    script_milliseconds: float = 0
    pending: set[str] = field(default_factory=set)  # requests without an end

    def __str__(self) -> str:
        return (
            f"{self.bytes / 1000:.1f} kB, {self.script_milliseconds:.1f} ms of script"
        )


@contextmanager
def measured(page: Page) -> Iterator[Load]:
    """Yield what the browser needs for what is opened inside."""
    load = Load()
    session = page.context.new_cdp_session(page)
    session.send("Network.enable")
    session.send("Performance.enable")

    def finish(event: Mapping[str, object]) -> None:
        load.pending.discard(str(event["requestId"]))
        load.bytes += float(str(event.get("encodedDataLength", 0)))

    session.on(
        "Network.requestWillBeSent",
        lambda event: load.pending.add(str(event["requestId"])),
    )
    session.on("Network.loadingFinished", finish)
    session.on("Network.loadingFailed", finish)
    before = script_seconds(session)
    yield load
    # What scripts ask for when the page is loaded counts too.
    page.wait_for_timeout(50)
    for _ in range(PATIENCE // 50):
        if not load.pending:
            break
        page.wait_for_timeout(50)
    load.script_milliseconds = (script_seconds(session) - before) * 1000
    session.detach()


def script_seconds(session: CDPSession) -> float:
    metrics = session.send("Performance.getMetrics")["metrics"]
    return float(
        next(row["value"] for row in metrics if row["name"] == "ScriptDuration")
    )


def first_visit(
    browser: Browser, served: Served, sign_in: SignIn | None, path: str
) -> Load:
    """Open a page with an empty cache."""
    with browser.new_context(base_url=served.url) as context:
        context.set_default_timeout(PATIENCE)
        if sign_in is not None:
            sign_in(context, "127.0.0.1")
        page = context.new_page()
        with measured(page) as load:
            page.goto(path)
    return load


@pytest.fixture
def fresh(
    browser: Browser, served: Served, sign_in: SignIn
) -> Iterator[BrowserContext]:
    context = browser.new_context(base_url=served.url)
    sign_in(context, "127.0.0.1")
    yield context
    context.close()


@pytest.mark.alone
def test_the_first_visit_of_every_page_is_light_and_quick(
    browser: Browser, served: Served, sign_in: SignIn, places: Mapping[str, str]
) -> None:
    heavy = []
    slow = []
    for name, path in PAGES.items():
        signed_in = None if name == "login" else sign_in
        load = first_visit(browser, served, signed_in, path.format(**places))
        assert load.bytes > 0, f"{name}: nothing was measured"
        logging.getLogger(__name__).info("%s: %s", name, load)
        times = [load.script_milliseconds]
        while min(times) >= SCRIPT_MILLISECONDS and len(times) < LOADS:
            again = first_visit(browser, served, signed_in, path.format(**places))
            times.append(again.script_milliseconds)
        if load.bytes >= FIRST_VISIT_BYTES:
            heavy.append(f"{name}: {load}")
        if min(times) >= SCRIPT_MILLISECONDS:
            slow.append(f"{name}: {', '.join(f'{time:.0f} ms' for time in times)}")
    assert not heavy, "\n".join(heavy)
    assert not slow, "\n".join(slow)


def test_later_pages_load_next_to_nothing(
    fresh: BrowserContext, places: Mapping[str, str]
) -> None:
    page = fresh.new_page()
    paths = [
        PAGES[name].format(**places)
        for name in (
            "outkey_home",
            "outkey_configuration_changelist",
            "outkey_configuration_add",
            "outkey_syncline_change",
            "outkey_run_changelist",
            "outkey_auditrecord_changelist",
            "auth_user_change",
            "demo_contact_changelist",
        )
    ]
    for path in paths:
        page.goto(path)
    heavy = []
    for path in paths:
        with measured(page) as load:
            page.goto(path)
        assert load.bytes > 0, f"{path}: nothing was measured"
        if load.bytes >= LATER_PAGE_BYTES:
            heavy.append(f"{path}: {load}")
    assert not heavy, "\n".join(heavy)


def test_files_have_a_digest_in_their_name_and_are_cached_for_a_year(
    fresh: BrowserContext,
) -> None:
    page = fresh.new_page()
    responses: list[Response] = []
    # Playwright does not take a method of a list.
    page.on("response", lambda response: responses.append(response))  # noqa: PLW0108
    page.goto(HOME, wait_until="networkidle")
    files = [response for response in responses if "/static/" in response.url]
    assert files
    for response in files:
        headers = response.all_headers()
        assert re.search(r"\.[0-9a-f]{12}\.\w+$", response.url.partition("#")[0])
        assert headers["cache-control"] == "max-age=31536000, public, immutable"
    compressed = [file for file in files if file.url.endswith((".css", ".js"))]
    assert {file.all_headers().get("content-encoding") for file in compressed} == {
        "gzip"
    }
