"""The verdicts of the demo's failing configurations, as a German user reads them."""

import re
from pathlib import Path

from babel.messages.pofile import read_po
from playwright.sync_api import Browser, expect

from browser.conftest import Served, log_in
from browser.test_pages import LIST, ended_outcome

CATALOGUE = (
    Path(__file__).parents[2]
    / "src/outkey/hosts/django/locale/de/LC_MESSAGES/django.po"
)
SHORTEST = 12  # shorter texts occur within others


def english_patterns() -> dict[str, re.Pattern[str]]:
    """Return a pattern for each English text that German users do not get."""
    with CATALOGUE.open("rb") as file:
        catalogue = read_po(file, locale="de")
    patterns = {}
    for message in catalogue:
        text = str(message.id)
        if text == message.string or not text:
            continue
        parts = re.split(r"\{\w*\}|%\(\w+\)s|%s", text)
        if max(map(len, parts)) >= SHORTEST:
            patterns[text] = re.compile(r"\S+".join(map(re.escape, parts)))
    return patterns


def test_the_verdicts_of_failing_configurations_have_no_english_line(
    browser: Browser, served: Served
) -> None:
    patterns = english_patterns()
    with browser.new_context(base_url=served.url, locale="de-DE") as context:
        page = context.new_page()
        log_in(page, "admin", served.password)
        page.goto(LIST + "?q=error")
        links = page.get_by_role("link", name=re.compile("^error "))
        expect(links).not_to_have_count(0)
        urls = {str(link.get_attribute("href")) for link in links.all()}
        english = {}
        for url in sorted(urls):
            page.goto(url)
            page.get_by_role("button", name="Verbindung testen").click()
            text = ended_outcome(page)
            found = [word for word, one in patterns.items() if one.search(text)]
            english |= dict.fromkeys(found, text)
    assert set(english) == set()


def test_django_does_not_translate_the_words_of_our_pages(
    browser: Browser, served: Served
) -> None:
    with browser.new_context(base_url=served.url, locale="de-DE") as context:
        page = context.new_page()
        log_in(page, "admin", served.password)
        page.goto("/outkey/usersettings/")
        expect(page.get_by_role("button", name="Speichern")).to_be_visible()
        expect(page.get_by_role("button", name="Sichern")).to_have_count(0)
