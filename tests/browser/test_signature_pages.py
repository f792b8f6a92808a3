"""AWS signatures and OAuth 1.0a in the browser: fields, secrets, tests and consent.

The pages are at `localhost` and the provider at 127.0.0.1, as with OAuth 2.0: to a
browser these are two sites.
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from browser.conftest import PATIENCE, Served, SignIn, log_in
from browser.test_new_configuration import NEW, Mouse, save_by, verdict_of
from browser.test_oauth2_pages import expect_chip, expect_no_button, press
from browser.test_pages import (
    LIST,
    new,
    preview,
    run_test,
    save,
    tab,
    visible_fields,
)
from outkey.spar import Spar, aws, oauth1
from outkey.spar.records import OAUTH1_TOKEN, OAUTH1_TOKEN_SECRET
from outkey.testing.canary import find

AWS_USUAL = {
    "access_key_id",
    "secret_access_key",
    "session_token",
    "region",
    "service",
    "role_arn",
    "web_identity_token",
}
AWS_RARE = {
    "payload",
    "sts_url",
    "session_name",
    "external_id",
    "duration_seconds",
}
OAUTH1_USUAL = {
    "consumer_key",
    "consumer_secret",
    "access_token",
    "access_token_secret",
    "signature_method",
    "request_url",
    "authorization_url",
    "access_url",
}
# Where to store pictures of the pages, to look at; nothing is compared with them.
PICTURES = os.environ.get("OUTKEY_TESTS_PICTURES", "")


@pytest.fixture
def pages_url(served: Served) -> str:
    return served.url.replace("127.0.0.1", "localhost")


@pytest.fixture
def page(browser: Browser, pages_url: str, sign_in: SignIn) -> Iterator[Page]:
    """A page with the administrator signed in; errors of its scripts fail the test."""
    context = browser.new_context(
        base_url=pages_url, viewport={"width": 1280, "height": 900}
    )
    context.set_default_timeout(PATIENCE)
    opened = context.new_page()
    errors: list[str] = []
    opened.on("pageerror", lambda error: errors.append(str(error)))
    opened.on("dialog", lambda dialog: dialog.accept())
    sign_in(context, "localhost")
    yield opened
    context.close()
    assert errors == []


def picture(page: Page, name: str) -> None:
    if PICTURES:
        page.screenshot(path=Path(PICTURES) / f"{name}.png", full_page=True)


def fields(page: Page, section: str) -> set[str]:
    """Return the keys of a section whose fields are visible."""
    return {path.removeprefix(f"{section}.") for path in visible_fields(page)}


def fill(page: Page, section: str, **values: str) -> None:
    for key, value in values.items():
        page.locator(f'[name="{section}.{key}"]').fill(value)


def fill_secrets(page: Page, section: str, **values: str) -> None:
    for key, value in values.items():
        page.locator(f'[name="secret:{section}.{key}"]').fill(value)


def open_more(page: Page) -> None:
    page.get_by_text("More", exact=True).locator("visible=true").click()


# ── which fields there are ────────────────────────────────────────────────────────────


def test_the_tabs_and_fields_follow_the_type_without_a_reload(page: Page) -> None:
    page.goto(LIST + "add/")
    of_aws = page.get_by_role("tab", name=re.compile("^AWS"))
    of_oauth1 = page.get_by_role("tab", name=re.compile(r"^OAuth 1\.0a"))
    expect(of_aws).to_be_hidden()
    expect(of_oauth1).to_be_hidden()
    tab(page, "Authentication")
    page.select_option("#f-authentication_type", "aws_sigv4")
    assert visible_fields(page) == {"authentication_type"}
    expect(of_oauth1).to_be_hidden()
    of_aws.click()
    assert fields(page, "aws") == AWS_USUAL
    open_more(page)
    assert fields(page, "aws") == AWS_USUAL | AWS_RARE
    picture(page, "aws-form")
    tab(page, "Authentication")
    page.select_option("#f-authentication_type", "oauth1")
    expect(of_aws).to_be_hidden()
    of_oauth1.click()
    assert fields(page, "oauth1") == OAUTH1_USUAL
    picture(page, "oauth1-form")
    method = page.locator('[name="oauth1.signature_method"]')
    method.select_option("RSA-SHA1")
    by_key = OAUTH1_USUAL - {"consumer_secret", "access_token_secret"}
    assert fields(page, "oauth1") == by_key | {"private_key"}
    method.select_option("PLAINTEXT")
    assert fields(page, "oauth1") == OAUTH1_USUAL


@pytest.mark.parametrize(
    ("kind", "section", "empty"),
    [
        ("aws_sigv4", "AWS", ["access_key_id", "region", "service"]),
        ("oauth1", "OAuth 1.0a", ["consumer_key"]),
    ],
)
def test_what_cannot_sign_is_refused_at_its_field_and_opens_its_tab(
    page: Page, spar: Spar, kind: str, section: str, empty: list[str]
) -> None:
    new(page, f"cannot sign by {kind}", spar.url, kind, "/")
    page.evaluate("document.querySelector('form').noValidate = true")
    save(page)
    the_tab = page.get_by_role("tab", name=re.compile(f"^{re.escape(section)}"))
    expect(the_tab).to_have_attribute("aria-selected", "true")
    key = kind.partition("_")[0]
    marked = page.locator(f'[data-field^="{key}."] .ok-message:visible')
    expect(marked.first).to_be_visible()
    paths = page.locator(f'[data-field^="{key}."]:has(.ok-message:visible)')
    names = {str(each.get_attribute("data-field")) for each in paths.all()}
    assert names <= {f"{key}.{each}" for each in empty}


# ── AWS ───────────────────────────────────────────────────────────────────────────────


def test_a_mistake_in_the_key_is_repaired_before_it_is_saved(
    page: Page, spar: Spar, served: Served
) -> None:
    user = Mouse(page)
    page.goto(NEW)
    with page.expect_navigation():
        page.get_by_role("link", name=re.compile("^AWS signature")).click()
    page.get_by_label("Name (required)").fill("aws by new")
    page.get_by_label("Base URL (required)").fill(spar.url)
    page.get_by_label("Network").select_option(label="Internal trusted network")
    page.get_by_label("Access Key ID").fill(aws.KEY_ID)
    page.get_by_label("Secret Access Key").fill("not the key")
    page.get_by_label("Region").fill("eu-central-1")
    page.get_by_label("Service").fill("execute-api")
    assert "Secret Access Key" in verdict_of(user, "/aws/api")
    picture(page, "aws-wrong-secret")
    page.get_by_label("Secret Access Key").fill(aws.KEY)
    assert "aws by new works." in verdict_of(user, "/aws/api")
    save_by(user)
    assert "aws by new works." in run_test(page)
    preview(page)
    expect(page.locator("#outcome")).to_contain_text("AWS4-HMAC-SHA256 ***")
    picture(page, "aws-saved")
    assert find(page.content().encode(), aws.KEY) == []


def test_a_key_without_a_role_has_no_token(page: Page, spar: Spar) -> None:
    new(page, "aws region", spar.url, "aws_sigv4", "/aws/api")
    tab(page, "AWS")
    later = page.get_by_text("Then its token is shown here.").locator("visible=true")
    expect(later).to_have_count(0)
    fill(
        page,
        "aws",
        access_key_id=aws.KEY_ID,
        region="us-east-1",
        service="execute-api",
    )
    fill_secrets(page, "aws", secret_access_key=aws.KEY)
    save(page)
    assert "for another region or service" in run_test(page)
    picture(page, "aws-region")
    expect(later).to_have_count(0)
    expect(page.locator(".ok-token")).to_have_count(0)


def test_a_role_is_assumed_renewed_and_forgotten(page: Page, spar: Spar) -> None:
    new(page, "aws role", spar.url, "aws_sigv4", "/aws/api")
    tab(page, "AWS")
    open_more(page)
    fill(
        page,
        "aws",
        access_key_id=aws.KEY_ID,
        region="eu-central-1",
        service="execute-api",
        role_arn="arn:aws:iam::1:role/erp",
        sts_url=f"{spar.url}/aws/sts",
    )
    fill_secrets(page, "aws", secret_access_key=aws.KEY)
    save(page)
    assert "aws role works." in run_test(page)
    page.reload()
    tab(page, "AWS")
    expect_chip(page, "fresh")
    expect_no_button(page, "Connect")
    picture(page, "aws-role")
    press(page, "Renew")
    expect(page.get_by_text("The token was renewed.")).to_be_visible()
    press(page, "Forget")
    expect_chip(page, "no token yet")
    assert find(page.content().encode(), aws.KEY) == []


# ── OAuth 1.0a ────────────────────────────────────────────────────────────────────────


def test_an_entered_token_is_tested_before_it_is_saved(page: Page, spar: Spar) -> None:
    user = Mouse(page)
    page.goto(NEW)
    with page.expect_navigation():
        page.get_by_role("link", name=re.compile(r"^OAuth 1\.0a")).click()
    page.get_by_label("Name (required)").fill("oauth1 by new")
    page.get_by_label("Base URL (required)").fill(spar.url)
    page.get_by_label("Network").select_option(label="Internal trusted network")
    page.get_by_label("Consumer Key").fill(oauth1.CONSUMER)
    page.get_by_label("Consumer Secret").fill(oauth1.CONSUMER_SECRET)
    page.get_by_label("Access Token", exact=True).fill(OAUTH1_TOKEN)
    page.get_by_label("Access Token Secret").fill("not the secret")
    assert "signature" in verdict_of(user, "/oauth1/api")
    picture(page, "oauth1-wrong-secret")
    page.get_by_label("Access Token Secret").fill(OAUTH1_TOKEN_SECRET)
    assert "oauth1 by new works." in verdict_of(user, "/oauth1/api")
    save_by(user)
    assert "oauth1 by new works." in run_test(page)
    preview(page)
    expect(page.locator("#outcome")).to_contain_text("OAuth ***")
    content = page.content().encode()
    for secret in (oauth1.CONSUMER_SECRET, OAUTH1_TOKEN, OAUTH1_TOKEN_SECRET):
        assert find(content, secret) == []


def three_legs(page: Page, spar: Spar, name: str, query: str) -> None:
    """Save a configuration whose access a user has to authorize."""
    new(page, name, spar.url, "oauth1", "/oauth1/api")
    tab(page, "OAuth 1")
    fill(
        page,
        "oauth1",
        consumer_key=oauth1.CONSUMER,
        request_url=f"{spar.url}/oauth1/initiate",
        authorization_url=f"{spar.url}/oauth1/authorize{query}",
        access_url=f"{spar.url}/oauth1/token",
    )
    fill_secrets(page, "oauth1", consumer_secret=oauth1.CONSUMER_SECRET)
    save(page)
    tab(page, "OAuth 1")


def test_a_user_connects_by_three_legs_and_the_token_is_forgotten(
    page: Page, spar: Spar, served: Served
) -> None:
    three_legs(page, spar, "oauth1 legs", "?auto=1")
    expect_chip(page, "no token yet")
    expect_no_button(page, "Renew")
    picture(page, "oauth1-legs")
    before = set(spar.authorization.oauth1.tokens)
    press(page, "Connect")
    picture(page, "oauth1-leave")
    with page.expect_navigation(url=re.compile("#oauth1$")):
        page.get_by_role("link", name="Continue").click()
    expect(page.get_by_text("oauth1 legs is connected.")).to_be_visible()
    expect_chip(page, "fresh")
    picture(page, "oauth1-connected")
    assert "oauth1 legs works." in run_test(page)
    [token] = set(spar.authorization.oauth1.tokens) - before
    secret = spar.authorization.oauth1.tokens[token]
    log = (served.home.parent / "log").read_text()
    for text in (page.content(), log):
        for value in (token, secret, oauth1.CONSUMER_SECRET):
            assert find(text.encode(), value) == []
    press(page, "Forget")
    expect_chip(page, "no token yet")


def test_a_user_who_refuses_is_told_in_our_words(page: Page, spar: Spar) -> None:
    three_legs(page, spar, "oauth1 refused", "?auto=0")
    press(page, "Connect")
    with page.expect_navigation(url=re.compile("#oauth1$")):
        page.get_by_role("link", name="Continue").click()
    expect(page.get_by_text("The user did not authorize the access.")).to_be_visible()
    expect_chip(page, "no token yet")


# ── on a phone, and in German ─────────────────────────────────────────────────────────


@pytest.mark.parametrize(("kind", "name"), [("aws_sigv4", "AWS"), ("oauth1", "OAuth")])
def test_a_phone_shows_the_tab_without_scrolling_sideways(
    page: Page, kind: str, name: str
) -> None:
    page.set_viewport_size({"width": 390, "height": 800})
    page.goto(LIST + "add/")
    tab(page, "Authentication")
    page.select_option("#f-authentication_type", kind)
    tab(page, name)
    open_more(page)
    picture(page, f"{kind}-phone")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_german_user_reads_german(
    browser: Browser, served: Served, pages_url: str
) -> None:
    with browser.new_context(
        base_url=pages_url, locale="de-DE", viewport={"width": 1280, "height": 900}
    ) as context:
        opened = context.new_page()
        log_in(opened, "admin", served.password)
        opened.goto(LIST + "add/")
        opened.get_by_role("tab", name=re.compile("^Authentifizierung")).click()
        for kind, the_tab, words in (
            ("aws_sigv4", "AWS", ("Dienst", "Sitzungsdauer")),
            ("oauth1", "OAuth 1", ("Zugriffstoken", "Signaturverfahren")),
        ):
            opened.get_by_role("tab", name=re.compile("^Authentifizierung")).click()
            opened.select_option("#f-authentication_type", kind)
            opened.get_by_role("tab", name=re.compile(f"^{the_tab}")).click()
            opened.get_by_text("Mehr", exact=True).locator("visible=true").click()
            picture(opened, f"{kind}-german")
            for word in words:
                label = opened.locator("label:visible").filter(has_text=word)
                expect(label.first).to_be_visible()
