"""Where a configuration begins: presets; rows of the query; another name."""

import re

from playwright.sync_api import Page, expect

from browser.conftest import Served
from browser.test_pages import LIST, follow, new, run_test, save, tab
from outkey.spar import Spar


def test_a_preset_is_found_chosen_and_fills_the_form(
    page: Page, served: Served
) -> None:
    page.goto(LIST)
    follow(page, page.get_by_role("link", name="New", exact=True))
    cards = page.locator("#presets li:visible")
    expect(cards.nth(99)).to_be_visible()
    page.get_by_role("main").get_by_label("Search").fill("metab")
    expect(cards).to_have_count(1)
    page.get_by_role("main").get_by_label("Search").fill("nothing like this")
    expect(page.get_by_text("No provider has that name.")).to_be_visible()
    page.get_by_role("main").get_by_label("Search").fill("metab")
    cards.first.click()
    page.get_by_role("button", name="Continue").click()
    expect(page.get_by_text("Host must not be empty")).to_be_visible()
    page.get_by_label("Host (required)").fill("bi.acme.example")
    follow(page, page.get_by_role("button", name="Continue"))
    expect(page.get_by_text("Filled in from the preset Metabase")).to_be_visible()
    page.get_by_role("link", name="x-api-key").click()
    expect(page.get_by_label("API key (required)")).to_be_focused()
    save(page)
    expect(page.get_by_text("then run a connection test")).to_be_visible()
    expect(page.get_by_text("Still to enter:")).to_be_visible()
    expect(page.get_by_text("Header x-api-key is not set")).to_be_visible()
    expect(page.locator("#f-base_url")).to_have_value("https://bi.acme.example/api")
    tab(page, "Headers")
    page.locator('[name="row-value-0"]').fill("mb_the-key")
    save(page)
    expect(page.get_by_text("metabase was saved.")).to_be_visible()
    expect(page.get_by_text("Still to enter:")).to_have_count(0)
    shown = served.command("show", "metabase", "--json")
    assert '"preset": "metabase"' in shown
    assert "mb_the-key" not in page.content()


def test_nothing_reaches_over_the_border_of_its_card(page: Page) -> None:
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 900})
        page.goto(LIST + "new/")
        expect(page.locator("[data-import-files]")).to_be_visible()
        over = """card => {
            const right = card.getBoundingClientRect().right;
            const inputs = [...card.querySelectorAll("input, textarea, button")];
            return inputs.filter(
                input => input.getBoundingClientRect().right >= right).length;
        }"""
        for card in page.locator(".ok-way").all():
            assert card.evaluate(over) == 0, width


def test_the_search_of_presets_works_without_a_script(
    page: Page, served: Served
) -> None:
    page.goto(LIST + "new/?q=weather")
    expect(page.get_by_role("link", name=re.compile("OpenWeather"))).to_be_visible()
    expect(page.locator("#presets li")).to_have_count(1)
    page.goto(LIST + "new/?q=stirpe")
    expect(page.get_by_text("Did you mean:")).to_contain_text("Stripe")
    response = page.goto(LIST + "new/nothing/")
    assert response is not None
    assert response.status == 422


def test_the_page_of_a_preset_shows_its_sources_and_what_ends(page: Page) -> None:
    page.goto(LIST + "new/zendesk/?method=api_token")
    ending = page.get_by_text("API token: ends on 2027-04-30; instead: OAuth 2.0")
    expect(ending).to_be_visible()
    page.get_by_text("Where these settings come from").click()
    expect(page.get_by_text("outkey renews the tokens;")).to_be_visible()
    expect(
        page.get_by_text("@nangohq/providers 0.71.10: zendesk").first
    ).to_be_visible()
    page.goto(LIST + "new/zendesk/")
    expect(ending).to_have_count(0)


def test_a_key_in_the_query_is_entered_tested_and_shown_nowhere(
    page: Page, spar: Spar
) -> None:
    new(page, "by query", spar.url, "none", "/echo")
    tab(page, "Headers")
    page.get_by_role("button", name="Add parameter").click()
    page.locator('[name="query-key-0"]').fill("api_key")
    page.locator('[name="query-value-0"]').click()
    expect(page.locator('[name="query-secret-0"]')).to_be_checked()
    page.locator('[name="query-value-0"]').fill("canary-in-query")
    save(page)
    spar.clear()
    run_test(page)
    expect(page.locator(".ok-head .ok-chip")).to_contain_text("working")
    assert "canary-in-query" not in page.content()
    assert any("canary-in-query" in str(seen.query) for seen in spar.journal)
    tab(page, "Headers")
    expect(page.locator('[name="query-key-0"]')).to_have_value("api_key")
    expect(page.locator('[name="query-value-0"]')).to_have_value("")
    page.goto(LIST + "?q=by+query")
    expect(page.locator("tr", has_text="by query")).to_contain_text("API key")


def test_a_text_around_a_secret_says_where_the_secret_goes(
    page: Page, spar: Spar
) -> None:
    new(page, "by text", spar.url, "none", "/echo")
    tab(page, "Headers")
    page.get_by_role("button", name="Add row").click()
    page.locator('[name="row-key-0"]').fill("Authorization")
    page.locator('[name="row-value-0"]').fill("abc")
    page.locator('[name="row-text-0"]').fill("Token token=")
    save(page)
    tab(page, "Headers")
    expect(page.get_by_text("lacks {secret}")).to_be_visible()
    page.locator('[name="row-text-0"]').fill("Token token={secret}")
    page.locator('[name="row-value-0"]').fill("abc")
    save(page)
    spar.clear()
    run_test(page)
    sent = [seen.values("Authorization") for seen in spar.journal]
    assert ["Token token=abc"] in sent


def test_a_configuration_is_renamed_on_its_page(
    page: Page, served: Served, spar: Spar
) -> None:
    new(page, "old name", spar.url, "none", "/echo")
    page.select_option("#f-no_auth_reason", "development")
    save(page)
    page.get_by_role("link", name="Rename").click()
    page.get_by_label("New name").fill("")
    page.get_by_role("button", name="Rename").click()
    expect(page.get_by_role("alert")).to_contain_text("must not be empty")
    page.get_by_label("New name").fill("new name")
    follow(page, page.get_by_role("button", name="Rename"))
    message = page.locator(".ok-messages")
    expect(message).to_contain_text("old name was renamed to new name.")
    listed = served.command("list", "--json")
    assert '"new name"' in listed
    assert '"old name"' not in listed
    tab(page, "History")
    expect(page.locator("#panel-history")).to_contain_text("created the configuration")
