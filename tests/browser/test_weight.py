"""How much a browser loads: little at first, next to nothing later."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Response

from browser.conftest import Served, SignIn

FIRST_VISIT_BYTES = 400_000
LATER_PAGE_BYTES = 60_000
PAGES = (
    "/outkey/configuration/home/",
    "/outkey/configuration/",
    "/outkey/configuration/add/",
    "/outkey/syncline/",
    "/outkey/run/",
    "/outkey/auditrecord/",
    "/auth/user/",
    "/auth/user/1/change/",
    "/auth/group/1/change/",
    "/demo/contact/",
    "/password_change/",
)


@contextmanager
def transferred(page: Page) -> Iterator[list[float]]:
    """Yield what the browser received, headers included, as the network counts it."""
    sizes: list[float] = []
    session = page.context.new_cdp_session(page)
    session.send("Network.enable")
    session.on(
        "Network.loadingFinished",
        lambda event: sizes.append(event["encodedDataLength"]),
    )
    yield sizes
    session.detach()


@pytest.fixture
def fresh(
    browser: Browser, served: Served, sign_in: SignIn
) -> Iterator[BrowserContext]:
    context = browser.new_context(base_url=served.url)
    sign_in(context, "127.0.0.1")
    yield context
    context.close()


def test_the_first_visit_is_light(fresh: BrowserContext) -> None:
    page = fresh.new_page()
    with transferred(page) as sizes:
        page.goto(PAGES[0], wait_until="networkidle")
    assert sizes
    assert sum(sizes) < FIRST_VISIT_BYTES


def test_later_pages_load_next_to_nothing(fresh: BrowserContext) -> None:
    page = fresh.new_page()
    for url in PAGES:
        page.goto(url, wait_until="networkidle")
    weights = {}
    for url in PAGES:
        with transferred(page) as sizes:
            page.goto(url, wait_until="networkidle")
        weights[url] = sum(sizes)
    heavy = {url: size for url, size in weights.items() if size >= LATER_PAGE_BYTES}
    assert heavy == {}


def test_files_have_a_digest_in_their_name_and_are_cached_for_a_year(
    fresh: BrowserContext,
) -> None:
    page = fresh.new_page()
    responses: list[Response] = []
    # Playwright does not take a method of a list.
    page.on("response", lambda response: responses.append(response))  # noqa: PLW0108
    page.goto(PAGES[0], wait_until="networkidle")
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
