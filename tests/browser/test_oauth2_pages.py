"""OAuth 2.0 in the browser: the tab, the token panel, and the way to a provider.

The pages are at `localhost` here and the provider at 127.0.0.1, which to a browser are
two sites: what a cookie or a policy does not let through fails these tests.
"""

import re
from collections.abc import Iterator
from urllib.parse import parse_qs, parse_qsl, urlsplit

import pytest
from playwright.sync_api import Browser, Page, expect

from browser.conftest import PATIENCE, Served, SignIn, log_in
from browser.test_pages import (
    HOME,
    LIST,
    follow,
    new,
    open_listed,
    run_test,
    save,
    tab,
    visible_fields,
)
from outkey.spar import Spar
from outkey.testing.canary import find

SECRET = "spar-client-secret"
USUAL = {"grant", "token_url", "client_id", "client_secret", "client_auth", "scope"}
CALLBACK = "/callback/"


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


def fill(page: Page, **values: str) -> None:
    for name, value in values.items():
        page.locator(f'[name="oauth2.{name}"]').fill(value)


def fields(page: Page) -> set[str]:
    return {path.removeprefix("oauth2.") for path in visible_fields(page)}


def begin(page: Page, spar: Spar, name: str, grant: str = "client_credentials") -> None:
    """Fill in a configuration as far as all grants have it."""
    new(page, name, spar.url, "bearer", "/oauth/api")
    page.select_option("#f-token_source", "oauth2")
    tab(page, "OAuth 2.0")
    page.locator('[name="oauth2.grant"]').select_option(grant)
    fill(page, token_url=f"{spar.url}/oauth/token", client_id="spar-client")
    page.locator('[name="secret:oauth2.client_secret"]').fill(SECRET)


def consenting(
    page: Page, spar: Spar, name: str, query: str = "", *, issuer: str | None = None
) -> str:
    """Save a configuration that waits for a consent, and return where its page is."""
    begin(page, spar, name, "authorization_code")
    fill(page, authorization_url=f"{spar.url}/oauth/authorize{query}")
    page.get_by_text("More", exact=True).locator("visible=true").click()
    fill(
        page,
        revocation_url=f"{spar.url}/oauth/revoke",
        issuer=spar.issuer if issuer is None else issuer,
    )
    save(page)
    expect(page.get_by_text(f"{name} was saved.")).to_be_visible()
    tab(page, "OAuth 2.0")
    return page.url.partition("#")[0]


def press(page: Page, name: str) -> None:
    with page.expect_navigation():
        page.get_by_role("button", name=name, exact=True).click()


def expect_chip(page: Page, text: str) -> None:
    expect(page.locator(".ok-token .ok-chip")).to_have_text(text)


def expect_no_button(page: Page, name: str) -> None:
    expect(page.get_by_role("button", name=name, exact=True)).to_have_count(0)


def leave(page: Page, name: str = "Connect") -> None:
    """Go to the provider, by way of the page that says where one goes."""
    press(page, name)
    follow(page, page.get_by_role("link", name="Continue"))


def connect(page: Page, name: str = "Connect") -> None:
    leave(page, name)
    page.get_by_role("button", name="Approve").click()
    page.wait_for_url(re.compile("#oauth2$"))


def test_the_fields_follow_type_source_and_grant_without_a_reload(page: Page) -> None:
    page.goto(LIST + "add/")
    the_tab = page.get_by_role("tab", name=re.compile(r"^OAuth 2\.0"))
    expect(the_tab).to_be_hidden()
    tab(page, "Authentication")
    page.select_option("#f-authentication_type", "bearer")
    assert visible_fields(page) == {
        "authentication_type",
        "token_source",
        "token",
        "token_expires_on",
    }
    page.select_option("#f-token_source", "oauth2")
    assert visible_fields(page) == {"authentication_type", "token_source"}
    expect(the_tab).to_be_visible()
    the_tab.click()
    assert fields(page) == USUAL
    for grant, own in {
        "refresh_token": {"refresh_token"},
        "authorization_code": {"authorization_url"},
        "device_code": {"device_url"},
        "client_credentials": set(),
    }.items():
        page.locator('[name="oauth2.grant"]').select_option(grant)
        assert fields(page) == USUAL | own
        redirect_url = page.get_by_text("Redirect URL")
        expect(redirect_url).to_be_visible(visible=grant == "authorization_code")
    page.get_by_text("More", exact=True).locator("visible=true").click()
    assert {"issuer", "dpop", "extra", "leeway_seconds"} < fields(page)
    the_tab.press("ArrowRight")
    headers = page.get_by_role("tab", name="Headers")
    expect(headers).to_have_attribute("aria-selected", "true")
    tab(page, "Authentication")
    page.select_option("#f-authentication_type", "basic")
    expect(the_tab).to_be_hidden()
    page.get_by_role("tab", name="Authentication").press("ArrowRight")
    expect(headers).to_have_attribute("aria-selected", "true")


def test_a_browser_knows_which_fields_are_urls_and_which_are_dates(page: Page) -> None:
    page.goto(LIST + "add/")
    for name, kind in {
        "base_url": "url",
        "oauth2.token_url": "url",
        "token_expires_on": "date",
        "oauth2.scope": "text",
    }.items():
        expect(page.locator(f'[name="{name}"]')).to_have_attribute("type", kind)


def test_client_credentials_are_saved_tested_and_shown_with_their_token(
    page: Page, spar: Spar
) -> None:
    begin(page, spar, "machine")
    message = page.get_by_text("Save this configuration first")
    expect(message.locator("visible=true")).to_be_visible()
    assert "machine works." in run_test(page)
    save(page)
    assert "machine works." in run_test(page)
    steps = page.locator("#outcome .ok-step strong")
    expect(steps).to_have_text(
        ["configuration", "secrets", "token", "connect", "request"]
    )
    page.reload()
    tab(page, "OAuth 2.0")
    expect_chip(page, "fresh")
    expect(page.get_by_text("Audience", exact=True)).to_be_hidden()
    for unwanted in ("Connect", "Revoke"):
        expect_no_button(page, unwanted)
    tab(page, "General")
    follow(page, page.get_by_role("link", name="API Sync Configurations").first)
    page.goto(LIST + "?q=machine")
    expect(page.locator(".ok-chip")).to_have_text("working")


def test_extra_parameters_and_a_key_of_many_lines_are_kept(
    page: Page, served: Served
) -> None:
    page.goto(LIST + "add/")
    page.fill("#f-name", "lines")
    page.fill("#f-base_url", "https://api.acme.example")
    tab(page, "Authentication")
    page.select_option("#f-authentication_type", "bearer")
    page.select_option("#f-token_source", "oauth2")
    tab(page, "OAuth 2.0")
    fill(page, token_url="https://auth.acme.example/token", client_id="erp")
    page.get_by_text("A key of several lines, or a file").locator(
        "visible=true"
    ).click()
    several = page.locator('[name="lines:oauth2.client_secret"]')
    several.fill("-----BEGIN\nmade up\n-----END\n")
    several.blur()
    expect(page.get_by_text("Entered and hidden. Lines: 3")).to_be_visible()
    expect(several).to_be_hidden()
    page.get_by_text("More", exact=True).locator("visible=true").click()
    fill(page, extra="account_id = 7\n\nregion = eu = west\n")
    save(page)
    expect(page.get_by_text("lines was saved.")).to_be_visible()
    tab(page, "OAuth 2.0")
    # What is not as by default is not folded away.
    expect(page.locator('[name="oauth2.extra"]')).to_be_visible()
    expect(page.locator('[name="oauth2.extra"]')).to_have_value(
        "account_id = 7\nregion = eu = west"
    )
    for kind in ("secret", "lines"):
        secret = page.locator(f'[name="{kind}:oauth2.client_secret"]')
        expect(secret).to_have_value("")
    fill(page, extra="no sign")
    save(page)
    expect(page.locator('[data-field="oauth2.extra"] .ok-message')).to_be_visible()
    assert 'extra = { account_id = "7"' in served.command("export", "lines")


def test_a_person_connects_and_the_token_is_renewed_revoked_and_forgotten(
    page: Page, spar: Spar, served: Served, pages_url: str
) -> None:
    change = consenting(page, spar, "with consent")
    expect_chip(page, "no token yet")
    redirect_url = change.rstrip("/") + CALLBACK
    expect(page.locator("#redirect-url")).to_have_text(redirect_url)
    texts = [page.content()]
    spar.clear()
    connect(page)
    expect(page).to_have_url(change + "#oauth2")
    expect(page.get_by_text("with consent is connected.")).to_be_in_viewport()
    expect_chip(page, "fresh")
    texts.append(page.content())
    left = page.get_by_role("timer")
    expect(left).to_have_text(re.compile(r"^(1:00:00|0:59:\d\d)$"))
    before = left.inner_text()
    expect(left).not_to_have_text(before)
    assert "with consent works." in run_test(page)
    press(page, "Renew")
    expect(page.get_by_text("The token was renewed.")).to_be_visible()
    texts.append(page.content())
    stored = page.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}])")
    press(page, "Revoke")
    expect(page.get_by_text("revoked at the provider and deleted here")).to_be_visible()
    expect_chip(page, "no token yet")
    connect(page)
    press(page, "Forget")
    expect(page.get_by_text("The token was deleted here")).to_be_visible()
    expect_chip(page, "no token yet")
    values = precious(spar)
    assert {"code", "code_verifier", "state", "token", "client_secret"} <= set(values)
    page.goto("/outkey/auditrecord/")
    texts += [page.content(), stored, (served.home.parent / "log").read_text()]
    for text in texts:
        for name, known in values.items():
            for value in known:
                assert find(text.encode(), value) == [], name


def precious(spar: Spar) -> dict[str, set[str]]:
    """Return by name what went between the provider and the browser or the server."""
    found: dict[str, set[str]] = {}
    for arrival in spar.journal:
        pairs = parse_qsl(arrival.query) + parse_qsl(arrival.body.decode())
        pairs += [
            ("token", text.partition(" ")[2])
            for text in arrival.values("Authorization")
        ]
        for name, value in pairs:
            found.setdefault(name, set()).add(value)
    wanted = (
        "code",
        "code_verifier",
        "state",
        "token",
        "refresh_token",
        "client_secret",
    )
    return {name: found[name] for name in wanted if name in found}


def test_a_pushed_consent_shows_the_browser_no_parameters(
    page: Page, spar: Spar
) -> None:
    at = consenting(page, spar, "pushed", "?par=required")
    fill(page, pushed_authorization_url=f"{spar.url}/oauth/par?lifetime=1")
    save(page)
    tab(page, "OAuth 2.0")
    spar.clear()
    press(page, "Connect")
    page.wait_for_timeout(1100)  # the request expires, and is pushed again
    follow(page, page.get_by_role("link", name="Continue"))
    query = dict(parse_qsl(urlsplit(page.url).query))
    assert set(query) == {"par", "client_id", "request_uri"}
    page.get_by_role("button", name="Approve").click()
    page.wait_for_url(re.compile("#oauth2$"))
    expect_chip(page, "fresh")
    assert [arrival.path for arrival in spar.journal].count("/oauth/par") == 2
    assert page.url.startswith(at)


def test_a_push_that_the_provider_refuses_is_told_in_its_words(
    page: Page, spar: Spar
) -> None:
    consenting(page, spar, "refused push")
    fill(page, pushed_authorization_url=f"{spar.url}/oauth/par", client_id="nobody")
    save(page)
    tab(page, "OAuth 2.0")
    press(page, "Connect")
    words = "Unknown client or wrong secret"
    expect(page.get_by_text(words, exact=False).first).to_be_visible()


def test_tokens_of_users_are_counted_and_a_test_needs_a_user(
    page: Page, spar: Spar
) -> None:
    begin(page, spar, "for users", "token_exchange")
    page.locator('[name="oauth2.subject_token_from"]').select_option("caller")
    expect(page.locator('[name="secret:oauth2.subject_token"]')).to_be_hidden()
    save(page)
    tab(page, "OAuth 2.0")
    expect_chip(page, "users with a token: 0")
    expect(page.get_by_text("brings the token of its user")).to_be_visible()
    expect_no_button(page, "Forget")
    run_test(page)
    expect(page.get_by_text("--subject-token").first).to_be_visible()


def test_a_refused_consent_is_told_in_our_words(page: Page, spar: Spar) -> None:
    consenting(page, spar, "refused consent")
    spar.clear()
    leave(page)
    page.get_by_role("button", name="Deny").click()
    page.wait_for_url(re.compile("#oauth2$"))
    expect(page.get_by_text("The user did not authorize the access.")).to_be_visible()
    assert "Somebody denied it" not in page.content()
    assert "/oauth/token" not in {arrival.path for arrival in spar.journal}


@pytest.mark.parametrize("twist", ["state", "no-state", "iss"])
def test_an_answer_that_is_not_for_this_consent_is_refused(
    page: Page, spar: Spar, twist: str
) -> None:
    consenting(page, spar, f"twisted {twist}", f"?twist={twist}&auto=1")
    spar.clear()
    press(page, "Connect")
    with page.expect_response(re.compile(CALLBACK)) as answered:
        page.get_by_role("link", name="Continue").click()
    assert answered.value.status == 422
    expect(page.get_by_text("press Connect again")).to_be_visible()
    expect(page).not_to_have_url(re.compile(r"\?"))
    assert "/oauth/token" not in {arrival.path for arrival in spar.journal}


def test_connect_needs_no_issuer_where_the_token_url_is_at_the_base_urls_origin(
    page: Page, spar: Spar
) -> None:
    """The provider names its issuer in the response (RFC 9207)."""
    consenting(page, spar, "unnamed issuer", issuer="")
    connect(page)
    expect(page.get_by_text("unnamed issuer is connected.")).to_be_visible()
    expect_chip(page, "fresh")


def test_without_an_issuer_a_response_of_another_server_tells_what_to_enter(
    page: Page, spar: Spar
) -> None:
    consenting(page, spar, "mixed up", "?twist=iss&auto=1", issuer="")
    spar.clear()
    press(page, "Connect")
    with page.expect_response(re.compile(CALLBACK)) as answered:
        page.get_by_role("link", name="Continue").click()
    assert answered.value.status == 422
    expect(page.get_by_text("enter its issuer in Issuer")).to_be_visible()
    assert "/oauth/token" not in {arrival.path for arrival in spar.journal}


def test_a_callback_counts_once_and_only_in_the_session_that_began_it(
    page: Page, browser: Browser, spar: Spar, served: Served, pages_url: str
) -> None:
    consenting(page, spar, "once")
    leave(page)
    asked = {
        name: values[0] for name, values in parse_qs(urlsplit(page.url).query).items()
    }
    code = spar.authorization.approve(
        asked["client_id"], asked["redirect_uri"], asked["code_challenge"], ""
    )
    callback = urlsplit(asked["redirect_uri"]).path
    answer = f"{callback}?state={asked['state']}&code={code}"
    spar.clear()
    context = browser.new_context(base_url=pages_url)
    other = context.new_page()
    nobody = other.goto(answer)
    assert nobody is not None
    shown_to_nobody = code in other.url + other.content()
    assert not shown_to_nobody
    log_in(other, "admin", served.password)
    foreign = other.goto(answer)
    assert foreign is not None
    assert foreign.status == 422
    shown_to_others = code in other.content()
    assert not shown_to_others
    context.close()
    assert spar.journal == []
    page.goto(pages_url + answer)
    expect(page.get_by_text("once is connected.")).to_be_visible()
    still_in_the_url = code in page.url
    assert not still_in_the_url
    spar.clear()
    replayed = page.goto(pages_url + answer)
    assert replayed is not None
    assert replayed.status == 422
    assert spar.journal == []


def test_texts_of_the_provider_are_inert(page: Page, spar: Spar) -> None:
    hostile = "<img/src=x/onerror=alert(1)>"
    page.on("dialog", lambda dialog: pytest.fail("a script ran"))
    begin(page, spar, "hostile scope")
    fill(page, scope=hostile)
    save(page)
    assert "hostile scope works." in run_test(page)
    page.reload()
    tab(page, "OAuth 2.0")
    expect(page.locator(".ok-facts")).to_contain_text(hostile)
    expect(page.locator("img[src=x]")).to_have_count(0)


def test_a_failing_provider_is_told_in_words_and_named_on_the_home_page(
    page: Page, spar: Spar
) -> None:
    consenting(page, spar, "lost consent")
    connect(page)
    spar.authorization.revoke_family()
    press(page, "Renew")
    expect_chip(page, "reauthorization needed")
    expect(page.locator(".ok-facts")).to_contain_text(
        "does not accept the refresh token"
    )
    expect_no_button(page, "Renew")
    page.goto(LIST + "?status=reauthorization_needed")
    expect(page.get_by_role("link", name="lost consent")).to_be_visible()
    page.goto(HOME)
    row = page.locator(".ok-attention li", has_text="lost consent")
    expect(row).to_contain_text("consent is needed again")
    follow(page, row.get_by_role("link", name="Connect: lost consent", exact=True))
    connect(page, "Connect again")
    expect_chip(page, "fresh")


def test_the_issuer_fills_in_the_addresses_and_nothing_is_saved(
    page: Page, spar: Spar
) -> None:
    begin(page, spar, "discovered", "authorization_code")
    page.get_by_text("More", exact=True).locator("visible=true").click()
    fill(page, issuer="https://nobody.invalid")
    told = page.locator("#discovered")
    page.get_by_role("button", name="Fill in from the issuer").click()
    expect(told).to_contain_text("could not be resolved")
    fill(page, issuer=spar.issuer, token_url="")
    page.get_by_role("button", name="Fill in from the issuer").click()
    expect(told).to_contain_text("Filled in: Issuer, Token URL")
    for name, path in {"token_url": "token", "authorization_url": "authorize"}.items():
        filled = page.locator(f'[name="oauth2.{name}"]')
        expect(filled).to_have_value(f"{spar.url}/oauth/{path}")
    page.goto(LIST + "?q=discovered")
    expect(page.get_by_text("Nothing matches.")).to_be_visible()


def test_a_device_code_names_the_command_to_run(page: Page, spar: Spar) -> None:
    begin(page, spar, "a device's", "device_code")
    fill(page, device_url=f"{spar.url}/oauth/device")
    save(page)
    tab(page, "OAuth 2.0")
    command = page.locator(".ok-token .ok-code")
    expect(command).to_have_text("""outkey token authorize 'a device'"'"'s'""")
    expect_no_button(page, "Connect")


def test_what_is_not_saved_yet_is_not_sent_by_the_buttons_of_the_token(
    page: Page, spar: Spar
) -> None:
    begin(page, spar, "unsaved")
    save(page)
    tab(page, "OAuth 2.0")
    fill(page, client_id="somebody else")
    spar.clear()
    with page.expect_request(re.compile("/token/renew/$")) as sent:
        press(page, "Renew")
    assert set(dict(parse_qsl(str(sent.value.post_data)))) == {"csrfmiddlewaretoken"}
    assert precious_client(spar) == {"spar-client"}
    expect(page.locator('[name="oauth2.client_id"]')).to_have_value("spar-client")


def precious_client(spar: Spar) -> set[str]:
    sent = (dict(parse_qsl(arrival.body.decode())) for arrival in spar.journal)
    return {form["client_id"] for form in sent if "client_id" in form}


def test_the_demo_has_one_that_works_and_one_that_waits_for_a_person(
    page: Page,
) -> None:
    open_listed(page, "demo oauth2")
    tab(page, "OAuth 2.0")
    expect_chip(page, "fresh")
    open_listed(page, "demo oauth2 consent")
    tab(page, "OAuth 2.0")
    connect(page)
    assert "demo oauth2 consent works." in run_test(page)


def test_a_phone_shows_the_tab_without_scrolling_sideways(page: Page) -> None:
    open_listed(page, "demo oauth2 consent")
    tab(page, "OAuth 2.0")
    page.set_viewport_size({"width": 390, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_german_person_reads_german(
    browser: Browser, served: Served, pages_url: str
) -> None:
    context = browser.new_context(base_url=pages_url, locale="de-DE")
    opened = context.new_page()
    log_in(opened, "admin", served.password)
    open_listed(opened, "demo oauth2")
    opened.get_by_role("tab", name="OAuth 2.0").click()
    for words in ("Client-Geheimnis", "Letzte Erneuerung", "Läuft ab in", "gültig"):
        expect(opened.get_by_text(words, exact=True).first).to_be_visible()
    context.close()
