"""From nothing to a tested configuration: by mouse, and by keyboard alone."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from browser.conftest import PATIENCE, Served, SignIn
from browser.test_pages import (
    LIST,
    ended_outcome,
    follow,
    open_listed,
    run_test,
    save,
    tab,
)
from outkey.spar import Spar

ADD = LIST + "add/"
NEW = LIST + "new/"
MOST_STOPS = 120  # of the Tab key, on the way to one input


class Mouse:
    """A user who points and clicks."""

    def __init__(self, page: Page) -> None:
        self.page = page

    def press(self, place: Locator) -> None:
        place.click()

    def fill(self, place: Locator, text: str) -> None:
        place.fill(text)

    def choose(self, place: Locator, label: str) -> None:
        place.select_option(label=label)


class Keyboard(Mouse):
    """A user who has no mouse: everything is reached by the Tab key."""

    def reach(self, place: Locator) -> None:
        place.wait_for()
        for _ in range(MOST_STOPS):
            if place.evaluate("element => element === document.activeElement"):
                return
            self.page.keyboard.press("Tab")
        pytest.fail("the Tab key does not lead there")

    def press(self, place: Locator) -> None:
        self.reach(place)
        self.page.keyboard.press("Enter")

    def fill(self, place: Locator, text: str) -> None:
        self.reach(place)
        self.page.keyboard.press("Control+A")
        self.page.keyboard.insert_text(text)

    def choose(self, place: Locator, label: str) -> None:
        self.reach(place)
        self.page.keyboard.type(label)


by_hand = pytest.mark.parametrize("hand", [Mouse, Keyboard])


@pytest.fixture
def page(browser: Browser, served: Served, sign_in: SignIn) -> Iterator[Page]:
    """A page at `localhost`, which to a browser is another site than the provider."""
    url = served.url.replace("127.0.0.1", "localhost")
    context = browser.new_context(
        base_url=url, viewport={"width": 1400, "height": 1000}
    )
    context.set_default_timeout(PATIENCE)
    opened = context.new_page()
    errors: list[str] = []
    opened.on("pageerror", lambda error: errors.append(str(error)))
    sign_in(context, "localhost")
    yield opened
    context.close()
    assert errors == []


def begin(user: Mouse, method: str, name: str, url: str) -> None:
    """Choose a method on the page New, and fill in what every API needs."""
    page = user.page
    page.goto(NEW)
    expect(page.locator("#import-text")).to_be_focused()
    with page.expect_navigation():
        user.press(page.get_by_role("link", name=re.compile(f"^{method}")))
    user.fill(page.get_by_label("Name (required)"), name)
    user.fill(page.get_by_label("Base URL (required)"), url)
    user.choose(page.get_by_label("Network"), "Internal trusted network")


def verdict_of(user: Mouse, path: str) -> str:
    """Enter a Test Path, press the button beside it, and return the verdict."""
    page = user.page
    user.fill(page.get_by_label("Test Path"), path)
    user.press(page.get_by_role("button", name="Test connection"))
    return ended_outcome(page)


def save_by(user: Mouse) -> None:
    with user.page.expect_navigation():
        user.press(user.page.get_by_role("button", name="Save", exact=True))


def head_of(page: Page) -> Locator:
    return page.locator(".ok-head .ok-chip")


@by_hand
def test_basic_with_a_mistake_is_repaired_before_it_is_saved(
    page: Page, spar: Spar, served: Served, hand: type[Mouse]
) -> None:
    user = hand(page)
    name = f"basic by {hand.__name__}"
    begin(user, "Basic", name, spar.url)
    user.fill(page.get_by_label("Username"), "sparring")
    user.fill(page.get_by_label("Password (required)"), '"open sesame"')
    assert "The value of Password is in quotes" in verdict_of(user, "/basic")
    fix = page.locator("[data-changes]")
    expect(page.locator(".ok-fix")).to_contain_text("nothing is saved yet")
    user.press(fix)
    # It lands on the field, and tests again by itself.
    expect(page.locator("#outcome")).to_contain_text(f"{name} works.")
    expect(page.get_by_label("Password (required)")).to_be_focused()
    assert f'"{name}"' not in served.command("list", "--json")
    save_by(user)
    expect(page.get_by_text("The test of these values counts.")).to_be_visible()
    expect(head_of(page)).to_have_text("working")
    assert f"{name} works." in run_test(page)
    assert "open sesame" not in page.content()


@by_hand
def test_a_key_in_a_header_is_entered_masked_and_tested(
    page: Page, spar: Spar, hand: type[Mouse]
) -> None:
    user = hand(page)
    name = f"key by {hand.__name__}"
    begin(user, "API key in a header", name, spar.url)
    key = page.get_by_label("API key (required)")
    expect(key).to_have_attribute("type", "password")
    user.fill(key, "spar-key")
    assert f"{name} works." in verdict_of(user, "/key")
    save_by(user)
    expect(head_of(page)).to_have_text("working")
    assert "spar-key" not in page.content()
    tab(page, "Headers")
    expect(page.locator('[name="row-key-0"]')).to_have_value("X-API-Key")
    value = page.locator('[name="row-value-0"]')
    expect(value).to_have_attribute("type", "password")


@by_hand
def test_a_key_in_the_url_is_entered_masked_and_tested(
    page: Page, spar: Spar, hand: type[Mouse]
) -> None:
    user = hand(page)
    name = f"query by {hand.__name__}"
    begin(user, "API key in the URL", name, spar.url)
    user.fill(page.get_by_label("Name of the parameter"), "appid")
    user.fill(page.get_by_label("API key (required)"), "canary-in-query")
    spar.clear()
    assert "proves nothing" in verdict_of(user, "/echo")
    assert "appid=canary-in-query" in {arrival.query for arrival in spar.journal}
    save_by(user)
    expect(page.get_by_text(f"{name} was saved.")).to_be_visible()
    assert "canary-in-query" not in page.content()


@by_hand
def test_consent_on_one_origin_needs_no_issuer_and_no_save_before_the_redirect_url(
    page: Page, spar: Spar, hand: type[Mouse]
) -> None:
    user = hand(page)
    name = f"consent by {hand.__name__}"
    begin(user, "OAuth 2.0 with a user", name, spar.url)
    expect(page.locator("#redirect-url")).to_have_text(re.compile("/callback/$"))
    redirect_url = page.locator("#redirect-url").inner_text()
    expect(page.get_by_role("button", name="Copy")).to_be_visible()
    user.fill(page.get_by_label("Authorization URL"), f"{spar.url}/oauth/authorize")
    user.fill(page.get_by_label("Token URL"), f"{spar.url}/oauth/token")
    user.fill(page.get_by_label("Client ID"), "spar-client")
    user.fill(page.get_by_label("Client Secret", exact=True), "spar-client-secret")
    user.fill(page.get_by_label("Test Path"), "/oauth/api")
    save_by(user)
    expect(page.get_by_text("Press Connect")).to_be_visible()
    expect(page.locator("#redirect-url")).to_have_text(redirect_url)
    with page.expect_navigation():
        user.press(page.get_by_role("button", name="Connect", exact=True))
    with page.expect_navigation():
        user.press(page.get_by_role("link", name="Continue"))
    user.press(page.get_by_role("button", name="Approve"))
    page.wait_for_url(re.compile("#oauth2$"))
    expect(page.get_by_text(f"{name} is connected.")).to_be_visible()
    assert f"{name} works." in run_test(page)


@by_hand
def test_a_pasted_command_stays_after_an_error_and_becomes_a_configuration(
    page: Page, spar: Spar, served: Served, hand: type[Mouse]
) -> None:
    user = hand(page)
    page.goto(NEW)
    box = page.locator("#import-text")
    expect(box).to_be_focused()
    wrong = f"wget {spar.url}/bearer --header 'Authorization: Bearer spar-token'"
    user.fill(box, wrong)
    user.press(page.get_by_role("button", name="Import", exact=True))
    expect(page.get_by_role("alert")).to_contain_text("was not recognized")
    expect(box).to_have_value(wrong)
    assert "spar-token" not in page.content()
    expect(box).to_be_focused()
    user.fill(box, f"curl {spar.url}/bearer -H 'Authorization: Bearer spar-token'")
    with page.expect_navigation():
        user.press(page.get_by_role("button", name="Import", exact=True))
    expect(page.get_by_text("What became of the import")).to_be_visible()
    expect(page.get_by_label("Test Path")).to_have_value("/bearer")
    user.press(page.locator('[data-act="test"]'))
    expect(page.locator("#outcome")).to_contain_text("works.")
    served.command("delete", "127.0.0.1", "--yes")


def test_only_a_test_of_exactly_the_saved_values_counts(page: Page, spar: Spar) -> None:
    user = Mouse(page)
    begin(user, "Bearer token", "changed after", spar.url)
    page.get_by_label("Token (required)", exact=True).fill("spar-token")
    assert "changed after works." in verdict_of(user, "/bearer")
    page.get_by_label("Token (required)", exact=True).fill("another-token")
    save_by(user)
    expect(page.get_by_text("Run a connection test.")).to_be_visible()
    expect(head_of(page)).to_have_text("never tested")
    tab(page, "Authentication")
    page.get_by_role("button", name="Replace").first.click()
    page.locator('[name="secret:token"]').fill("spar-token")
    assert "changed after works." in run_test(page)
    save(page)
    expect(page.get_by_text("The test of these values counts.")).to_be_visible()
    expect(head_of(page)).to_have_text("working")


def test_a_fix_of_a_saved_configuration_lands_on_its_field_and_tests_again(
    page: Page, spar: Spar
) -> None:
    user = Mouse(page)
    begin(user, "Basic", "fixed when saved", spar.url)
    page.get_by_label("Username").fill("sparring")
    page.get_by_label("Password (required)").fill("'open sesame'")
    page.get_by_label("Test Path").fill("/basic")
    save_by(user)
    assert "is in quotes" in run_test(page)
    with page.expect_navigation():
        page.locator('#outcome button[name="fix"]').click()
    expect(page.get_by_text("Changed and saved")).to_be_visible()
    expect(page.locator("#outcome")).to_contain_text("fixed when saved works.")
    expect(page.locator("#panel-authentication")).to_be_visible()
    expect(head_of(page)).to_have_text("working")
    page.reload()
    expect(page.locator("#outcome")).to_be_hidden()


def test_a_fix_that_switches_the_type_shows_the_fields_it_needs(
    page: Page, spar: Spar
) -> None:
    user = Mouse(page)
    begin(user, "Bearer token", "switched", spar.url)
    page.get_by_label("Token (required)", exact=True).fill("spar-token")
    assert "asks for Basic" in verdict_of(user, "/basic")
    page.get_by_role("button", name="Switch Authentication Type to Basic").click()
    expect(page.get_by_label("Password (required)")).to_be_visible()
    expect(page.get_by_label("Token (required)", exact=True)).to_be_hidden()
    page.get_by_label("Username").fill("sparring")
    page.get_by_label("Password (required)").fill("open sesame")
    assert "switched works." in verdict_of(user, "/basic")


def test_the_mark_of_an_error_goes_when_the_value_is_corrected(page: Page) -> None:
    page.goto(ADD + "?start=basic")
    page.get_by_label("Name (required)").fill("marked")
    page.get_by_label("Base URL (required)").fill("nonsense")
    page.get_by_label("Password (required)").fill("typed-canary")
    save(page)
    expect(page.get_by_text("Secrets are not shown again")).to_be_visible()
    field = page.locator('[data-field="base_url"]')
    expect(field.locator(".ok-message")).to_be_visible()
    assert "typed-canary" not in page.content()
    page.get_by_label("Base URL (required)").fill("https://api.acme.example")
    expect(field.locator(".ok-message")).to_have_count(0)
    expect(field).not_to_have_class(re.compile("ok-bad"))


def test_a_form_with_the_id_of_another_configuration_is_refused(page: Page) -> None:
    open_listed(page, "demo bearer")
    record = page.url.partition("#")[0].rstrip("/").rpartition("/")[2]
    fill_in = "([name, text]) => document.getElementsByName(name)[0].value = text"
    own = ""
    for name, given, message in (
        ("forged", record, "the id of this form is not valid"),
        ("first", "", "first was saved."),
        ("second", "own", "this form was saved before"),
    ):
        page.goto(ADD + "?start=none")
        page.get_by_label("Name (required)").fill(name)
        page.get_by_label("Base URL (required)").fill("https://api.acme.example")
        page.get_by_label("Reason").select_option("public_api")
        if given:
            page.evaluate(fill_in, ["record", own if given == "own" else given])
        own = page.locator('[name="record"]').input_value()
        save(page)
        expect(page.get_by_text(message)).to_be_visible()


def test_the_root_path_is_called_useless_and_dynamic_authentication_needs_a_script(
    page: Page,
) -> None:
    page.goto(ADD + "?start=bearer")
    note = page.get_by_text("The path / often works for everybody")
    expect(note).to_be_visible()
    page.get_by_label("Test Path").fill("/me")
    expect(note).to_be_hidden()
    page.goto(ADD + "?start=script")
    expect(page.get_by_label("Dynamic Authentication")).to_be_hidden()
    page.locator('[name="script"]').fill("def compute_auth_header(sync_line): ...")
    expect(page.get_by_label("Dynamic Authentication")).to_be_visible()


def test_a_key_of_several_lines_is_hidden_as_soon_as_it_is_pasted(page: Page) -> None:
    page.goto(ADD + "?start=oauth2")
    secret = page.get_by_label("Client Secret", exact=True)
    expect(secret).to_have_attribute("type", "password")
    secret.focus()
    paste = """element => {
      const data = new DataTransfer();
      data.setData("text", "-----BEGIN\\nmade up\\n-----END\\n");
      element.dispatchEvent(new ClipboardEvent("paste",
        {clipboardData: data, bubbles: true, cancelable: true}));
    }"""
    secret.evaluate(paste)
    expect(page.get_by_text("Entered and hidden. Lines: 3")).to_be_visible()
    expect(secret).to_be_hidden()
    several = page.locator('[name="lines:oauth2.client_secret"]')
    expect(several).to_be_hidden()
    expect(several).to_have_value(re.compile("^-----BEGIN"))
    page.get_by_role("button", name="Enter another").click()
    expect(secret).to_be_focused()
    expect(several).to_have_value("")


def test_a_configuration_is_duplicated_without_its_secrets(
    page: Page, served: Served
) -> None:
    open_listed(page, "demo bearer")
    follow(page, page.get_by_role("link", name="Duplicate"))
    expect(page.get_by_text("Its secrets are not copied")).to_be_visible()
    expect(page.get_by_label("Name (required)")).to_have_value("demo bearer (copy)")
    save(page)
    expect(
        page.get_by_text("demo bearer (copy) was saved. Enter Token")
    ).to_be_visible()
    expect(head_of(page)).to_have_text("needs secret")
    served.command("delete", "demo bearer (copy)", "--yes")


def test_the_history_is_fresh_when_it_is_opened_after_a_test(
    page: Page, spar: Spar
) -> None:
    user = Mouse(page)
    begin(user, "Bearer token", "with history", spar.url)
    page.get_by_label("Token (required)", exact=True).fill("spar-token")
    page.get_by_label("Test Path").fill("/bearer")
    save_by(user)
    records = page.locator("#history-records tbody tr")
    tab(page, "History")
    expect(records).not_to_have_count(0)
    before = records.count()
    run_test(page)
    tab(page, "History")
    expect(records.nth(before)).to_be_visible()


def test_requests_that_work_count_where_nobody_has_tested(
    page: Page, spar: Spar, served: Served
) -> None:
    user = Mouse(page)
    begin(user, "Bearer token", "in use", spar.url)
    page.get_by_label("Token (required)", exact=True).fill("spar-token")
    save_by(user)
    expect(head_of(page)).to_have_text("never tested")
    served.command("request", "in use", "GET", "/bearer")
    page.reload()
    expect(head_of(page)).to_have_text("works, not tested")
    page.goto(LIST + "?status=working&q=in+use")
    expect(page.get_by_role("link", name="in use")).to_be_visible()


def test_a_preset_with_consent_shows_the_redirect_url_before_it_asks_for_an_id(
    page: Page,
) -> None:
    page.goto(NEW + "airtable/?method=oauth2_authorization_code")
    shown = page.locator("#redirect-url")
    expect(shown).to_have_text(re.compile("/callback/$"))
    redirect_url = shown.inner_text()
    page.get_by_label("Client ID").fill("registered-with-that-url")
    follow(page, page.get_by_role("button", name="Continue"))
    expect(page.get_by_text("Filled in from the preset Airtable")).to_be_visible()
    expect(shown).to_have_text(redirect_url)
    save(page)
    expect(page.get_by_text("airtable was saved.")).to_be_visible()
    expect(shown).to_have_text(redirect_url)
