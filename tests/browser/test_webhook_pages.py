"""Webhooks and API tokens in the browser: created, tested, looked at and revoked."""

import json
import re
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from browser.conftest import Served, log_in, serving
from browser.test_accessibility import assert_accessible
from outkey.webhooks.engine.form import INPUTS

WEBHOOKS = "/outkey/webhook/"
TOKENS = "/outkey/apitoken/"
NAME = "shop/<b>&amp;?'%"  # any text is a valid name
SECRET = "hook-secret-1"
NEW_SECRET = "hook-secret-2"
WRONG_SIGNATURE = "A" * 43 + "="
DOCUMENT = """
[configuration.shop]
base_url = "https://api.shop.example"
authentication_type = "none"
no_auth_reason = "public_api"

[line.people]
configuration = "shop"
direction = "pull"
path = "/people"
target = "demo.contact"
keys = ["external_id"]
fields = [{ api = "id", host = "external_id" }, { api = "name", host = "name" }]
"""
HOOK = """
[webhook.{name}]
scheme = "shopify"
line = "people"
"""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server of its own, with a line and without webhooks."""
    with serving(tmp_path_factory.mktemp("webhooks")) as running:
        running.command("apply", "-", stdin=DOCUMENT)
        yield running


def make_webhook(served: Served, name: str) -> str:
    """Create a webhook with a secret, and return the URL of its endpoint."""
    served.command("apply", "-", stdin=HOOK.format(name=name))
    served.command("webhook", "secret", name, stdin=SECRET)
    facts = json.loads(served.command("webhook", "show", name, "--json"))
    return served.url + facts["endpoint"]


def url_of(name: str, view: str = "webhook") -> str:
    return f"{WEBHOOKS}{view}/?name={quote(name, safe='')}"


def post(url: str, signature: str = "") -> int:
    """Send a delivery as a sender would, and return the status of the response."""
    headers = {"X-Shopify-Hmac-SHA256": signature} if signature else {}
    request = urllib.request.Request(url, data=b"{}", headers=headers, method="POST")
    try:
        with urllib.request.urlopen(request, timeout=30) as response:
            return int(response.status)
    except urllib.error.HTTPError as error:
        with error:
            return error.code


def wait_for_refusals(served: Served, name: str, count: int) -> None:
    """Wait until refusals are counted, which happens a moment after the response."""
    end = time.monotonic() + 30
    while time.monotonic() < end:
        facts = json.loads(served.command("webhook", "show", name, "--json"))
        if sum(facts["refused"].values()) >= count:
            return
        time.sleep(0.1)
    pytest.fail("the refusals are not counted")


def field_error(page: Page, key: str) -> Locator:
    return page.locator(f"#w-{key}-error")


def test_every_input_is_drawn_once_since_a_save_reads_them_all(page: Page) -> None:
    page.goto(WEBHOOKS + "add/")
    keys = [field.key for field in INPUTS]
    assert len(keys) > 15
    counts = {key: page.locator(f"form [name='{key}']").count() for key in keys}
    assert counts == dict.fromkeys(keys, 1)


def test_a_webhook_is_created_tested_and_its_delivery_replayed(page: Page) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(WEBHOOKS)
    page.get_by_role("link", name="Create the first webhook").click()
    page.get_by_label("Name", exact=True).fill(NAME)
    secret = page.get_by_label("Secret", exact=True)
    expect(secret).to_be_hidden()
    page.get_by_role("combobox", name="Sender").select_option("shopify")
    expect(page.get_by_label("Signature header")).to_be_hidden()
    secret.fill(SECRET)
    page.get_by_role("combobox", name="Sync Line").select_option("people")
    page.get_by_role("button", name="Save").click()

    expect(page).to_have_url(re.compile(r"/webhook/webhook/\?name="))
    expect(page.locator("h1")).to_contain_text(f"{NAME} no delivery yet")
    page.get_by_role("button", name="Copy").click()
    expect(page.get_by_role("button", name="Copy")).to_contain_text("✓")
    endpoint = page.locator("#endpoint").inner_text()
    assert page.evaluate("navigator.clipboard.readText()") == endpoint
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/hooks/[\w-]{22}", endpoint)
    assert SECRET not in page.content()

    page.get_by_role("link", name="Send a test delivery").click()
    sample = '{"id": "w1", "name": "<script>alert(1)</script>"}'
    page.get_by_label("Body of the delivery").fill(sample)
    page.get_by_role("button", name="Send").click()
    expect(page.get_by_role("status")).to_contain_text("The response is 200")
    page.get_by_role("link", name=re.compile("Open delivery")).click()
    expect(page.locator("h1")).to_contain_text("processed")
    expect(page.locator("h1")).to_contain_text("test")
    expect(page.locator(".ok-facts").first).to_contain_text("A test delivery of")
    expect(page.locator(".ok-facts").first).to_contain_text("records: 1")
    expect(page.locator("pre")).to_have_count(0)
    page.get_by_role("button", name="Show headers and body").click()
    expect(page.locator("pre")).to_contain_text('"name": "<script>alert(1)</script>"')
    headers = page.locator(".ok-headers")
    expect(headers).to_contain_text("x-shopify-hmac-sha256 ***", use_inner_text=False)
    assert_accessible(page, "a delivery with its body")

    page.get_by_role("link", name="Inbox", exact=True).click()
    row = page.locator("tbody tr")
    expect(row).to_have_count(1)
    expect(page.get_by_role("button", name="Replay")).to_be_disabled()
    page.get_by_label(re.compile("Select delivery")).check()
    page.get_by_role("button", name="Replay").click()
    expect(page.get_by_text("Deliveries that are processed again: 1.")).to_be_visible()
    page.get_by_role("search").get_by_label("State").select_option("failed")
    page.get_by_role("button", name="Filter").click()
    expect(page.get_by_text("No delivery is in this state.")).to_be_visible()


def test_what_was_looked_at_and_done_is_in_the_audit(page: Page) -> None:
    page.goto("/outkey/auditrecord/")
    main = page.locator("main")
    for sentence in (
        "saved the webhook",
        "looked at the body of a delivery",
        "processed a delivery again",
        "sent a test delivery",
    ):
        expect(main).to_contain_text(sentence)
    assert SECRET not in page.content()


def test_a_webhook_is_created_with_the_keyboard(page: Page) -> None:
    page.goto(f"{WEBHOOKS}add/")
    page.get_by_label("Name", exact=True).focus()
    page.keyboard.type("keys")
    page.keyboard.press("Tab")
    expect(page.get_by_role("combobox", name="Sender")).to_be_focused()
    page.keyboard.type("Shopify")
    page.keyboard.press("Tab")
    expect(page.get_by_label("Secret", exact=True)).to_be_focused()
    page.keyboard.type(SECRET)
    page.keyboard.press("Tab")  # the first choice of what is done
    page.keyboard.press("Tab")
    expect(page.get_by_role("combobox", name="Sync Line")).to_be_focused()
    page.keyboard.type("people")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_contain_text("keys")
    page.get_by_role("link", name="Send a test delivery").focus()
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Send").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("status")).to_contain_text("The response is 200")


def test_errors_are_next_to_their_fields(page: Page, served: Served) -> None:
    make_webhook(served, "taken")
    page.goto(f"{WEBHOOKS}add/")
    page.get_by_label("Name", exact=True).fill("other")
    page.get_by_role("combobox", name="Sender").select_option("hmac")
    page.get_by_label("Signed text").fill("{body} {wrong}")
    page.get_by_label("Records", exact=True).fill("][")
    page.get_by_label("Secret", exact=True).fill("kept-by-nobody")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("alert")).to_contain_text("Nothing was saved")
    expect(field_error(page, "signature_header")).to_contain_text("needs this")
    expect(field_error(page, "signed")).to_contain_text("Must have {body}")
    expect(field_error(page, "target")).to_contain_text("one of line, run and handler")
    expect(page.get_by_label("Name", exact=True)).to_have_value("other")
    assert "kept-by-nobody" not in page.content()
    assert_accessible(page, "the form of a webhook with errors")

    page.get_by_label("Name", exact=True).fill("taken")
    page.get_by_role("combobox", name="Sender").select_option("shopify")
    page.get_by_role("combobox", name="Sync Line").select_option("people")
    page.get_by_label("Records", exact=True).fill("@")
    page.get_by_role("button", name="Save").click()
    expect(field_error(page, "name")).to_contain_text("already exists")


def test_a_webhook_is_changed_and_deleted(page: Page, served: Served) -> None:
    endpoint = make_webhook(served, "changing")
    page.goto(url_of("changing"))
    page.get_by_role("link", name="Edit").click()
    page.get_by_label("It starts a run of a sync line").check()
    expect(page.get_by_label("Records", exact=True)).to_be_hidden()
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".ok-facts")).to_contain_text("starts a run of people")
    page.get_by_role("link", name="Delete").click()
    page.get_by_role("button", name="Delete").click()
    expect(page.get_by_text("The webhook changing was deleted.")).to_be_visible()
    assert post(endpoint) == 410


def test_a_refused_delivery_is_explained(page: Page, served: Served) -> None:
    endpoint = make_webhook(served, "refused")
    assert post(endpoint, signature=WRONG_SIGNATURE) == 401
    assert post(endpoint) == 401
    assert post(endpoint) == 401
    wait_for_refusals(served, "refused", 3)
    page.goto(url_of("refused"))
    expect(page.locator("h1")).to_contain_text("refusing")
    rows = page.locator(".ok-refusals tbody tr")
    expect(rows).to_have_count(2)
    expect(rows.first).to_contain_text("The delivery has no signature")
    expect(rows.first).to_contain_text("Enter the secret at the sender as well")
    expect(rows.first.locator("td").last).to_have_text("2")
    expect(rows.last).to_contain_text("matches neither the secret")


def test_a_test_delivery_without_a_secret_says_what_to_do(
    page: Page, served: Served
) -> None:
    served.command("apply", "-", stdin=HOOK.format(name="bare"))
    page.goto(url_of("bare"))
    expect(page.locator("h1")).to_contain_text("not ready")
    page.get_by_role("link", name="Send a test delivery").click()
    page.get_by_role("button", name="Send").click()
    expect(page.get_by_role("alert")).to_contain_text("secret")
    page.goto(url_of("bare"))
    page.get_by_role("link", name="Enter it below").click()
    page.locator("[name=value]").fill(SECRET)
    page.get_by_role("button", name="Save").click()
    expect(page.locator("h1")).to_contain_text("no delivery yet")


def test_a_paused_webhook_tells_senders_to_wait(page: Page, served: Served) -> None:
    endpoint = make_webhook(served, "paused")
    page.goto(url_of("paused"))
    page.get_by_role("button", name="Pause").click()
    expect(page.locator("h1")).to_contain_text("paused paused")
    assert post(endpoint) == 503
    page.get_by_role("link", name="Send a test delivery").click()
    page.get_by_role("button", name="Send").click()
    expect(page.get_by_role("alert")).to_contain_text("The response is 503")
    page.goto(url_of("paused"))
    page.get_by_role("button", name="Resume").click()
    expect(page.locator("h1")).to_contain_text("no delivery yet")
    assert post(endpoint) == 401


def test_a_secret_is_replaced_while_the_old_one_is_accepted(
    page: Page, served: Served
) -> None:
    make_webhook(served, "rotated")
    page.goto(url_of("rotated"))
    page.locator("[name=value]").fill(NEW_SECRET)
    page.get_by_role("button", name="Replace").click()
    expect(page.get_by_text("The secret was saved.")).to_be_visible()
    expect(page.locator("#secrets")).to_contain_text("Previous secret")
    assert NEW_SECRET not in page.content()
    page.get_by_role("button", name="Remove the previous secret").click()
    expect(page.locator("#secrets")).not_to_contain_text("Previous secret")


def test_failed_deliveries_are_replayed_together(page: Page, served: Served) -> None:
    make_webhook(served, "failing")
    # With the same body the second one would be a duplicate.
    for body in ("not JSON", "not JSON either"):
        served.command("webhook", "send", "failing", "-", stdin=body)
    page.goto(url_of("failing", "inbox"))
    wait_for_count(page, page.locator(".ok-chip.ok-error"), 2)
    expect(page.locator("tbody")).to_contain_text("the body is not JSON")
    page.goto(url_of("failing"))
    expect(page.locator("h1")).to_contain_text("some failed")
    page.get_by_role("button", name="Replay all that failed").click()
    expect(page.get_by_text("Deliveries that are processed again: 2.")).to_be_visible()


def test_a_rejected_delivery_is_retried_from_its_run_and_the_line_is_fine(
    page: Page, served: Served
) -> None:
    make_webhook(served, "rejecting")
    served.command("webhook", "send", "rejecting", "-", stdin='{"id": null}')
    page.goto(url_of("rejecting", "inbox"))
    wait_for_count(page, page.locator(".ok-chip.ok-error"), 1)
    page.locator("tbody a").first.click()
    page.get_by_role("link", name=re.compile("rejected records of run")).click()
    expect(page.locator("#rejected")).to_contain_text("external_id")
    facts = page.locator(".ok-run-facts")
    expect(facts).to_contain_text("deliveries of a webhook rejecting")
    expect(page.get_by_role("button", name="Run again")).to_have_count(0)
    assert_accessible(page, "a run of deliveries")
    page.get_by_role("button", name="Retry rejected").click()
    expect(page.get_by_text("Deliveries that are processed again: 1.")).to_be_visible()
    page.goto("/outkey/run/?trigger=delivery")
    wait_for_count(page, page.locator("tbody .ok-chip", has_text="repaired"), 1)
    page.get_by_role("link", name=re.compile("by run")).first.click()
    expect(page.locator(".ok-tally-bad")).to_contain_text("1")
    # The line itself has not run, and does not need attention because of deliveries.
    page.goto("/outkey/syncline/")
    people = page.locator("tbody tr", has_text="people")
    expect(people).not_to_contain_text("failed")
    page.goto("/outkey/run/?trigger=other")
    expect(page.get_by_text("No run matches.")).to_be_visible()


def test_deliveries_of_a_period_are_replayed(page: Page, served: Served) -> None:
    make_webhook(served, "period")
    for number in range(2):
        body = json.dumps({"id": f"period-{number}", "name": "P"})
        served.command("webhook", "send", "period", "-", stdin=body)
    page.goto(url_of("period", "inbox"))
    done = page.locator(".ok-chip.ok-success")
    wait_for_count(page, done, 2)
    page.get_by_text("Replay a period").click()
    period = page.locator(".ok-period")
    period.get_by_label("State").select_option("processed")
    period.get_by_label("Received from").fill("2020-01-01T00:00")
    period.get_by_label("until").fill("2020-01-02T00:00")
    page.once("dialog", lambda dialog: dialog.accept())
    period.get_by_role("button").click()
    expect(page.get_by_text("There is nothing to replay.")).to_be_visible()
    page.get_by_text("Replay a period").click()
    period.get_by_label("State").select_option("processed")
    period.get_by_label("Received from").fill("2020-01-01T00:00")
    page.once("dialog", lambda dialog: dialog.accept())
    period.get_by_role("button").click()
    expect(page.get_by_text("Deliveries that are processed again: 2.")).to_be_visible()


def wait_for_count(page: Page, rows: Locator, count: int) -> None:
    """Load a page again until workers have done what it waits for."""
    for _ in range(60):
        if rows.count() == count:
            return
        page.wait_for_timeout(500)
        page.reload()
    expect(rows).to_have_count(count)


def test_an_operator_sees_no_deliveries(served: Served, browser: Browser) -> None:
    make_webhook(served, "private")
    served.command("webhook", "send", "private", "-", stdin='{"id": "p1", "name": "P"}')
    password = "a-long-enough-password"
    served.command("user", "add", "olga", "--role", "Operator", stdin=password)
    with browser.new_context(base_url=served.url) as context:
        page = context.new_page()
        log_in(page, "olga", password)
        page.goto(url_of("private"))
        expect(page.locator("h1")).to_contain_text("private")
        expect(page.get_by_role("link", name="Inbox")).to_have_count(0)
        expect(page.get_by_role("link", name="Edit")).to_have_count(0)
        expect(page.locator("[type=password]")).to_have_count(0)
        expect(page.get_by_role("link", name="Send a test delivery")).to_have_count(0)
        for view in ("inbox", "delivery", "edit", "delete", "test"):
            response = page.goto(url_of("private", view))
            assert response is not None
            assert response.status == 403, view


def test_a_token_is_created_shown_once_and_revoked(page: Page, served: Served) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(TOKENS)
    page.get_by_role("link", name="Create the first token").click()
    page.get_by_label("Name", exact=True).fill("billing")
    page.get_by_label("send", exact=True).check()
    page.get_by_label("Configurations").select_option("shop")
    page.get_by_label("Last day").fill("2999-12-31")
    page.get_by_role("button", name="Create the token").click()
    expect(page.locator("h1")).to_contain_text("The API token billing was created")
    token = page.locator("#token").inner_text()
    assert re.fullmatch(r"ok_[\w-]{43}", token)
    page.get_by_role("button", name="Copy").click()
    expect(page.get_by_role("button", name="Copy")).to_contain_text("✓")
    assert page.evaluate("navigator.clipboard.readText()") == token
    assert_accessible(page, "a token that was created")
    assert status_with(served, token) == 200

    page.get_by_role("main").get_by_role("link", name="API tokens").last.click()
    row = page.locator("tbody tr")
    expect(row).to_have_count(1)
    expect(row).to_contain_text("read, send")
    expect(row).to_contain_text("shop")
    assert token not in page.content()
    row.get_by_role("link", name="Revoke").click()
    page.get_by_role("button", name="Revoke").click()
    expect(row).to_contain_text("revoked")
    expect(row.get_by_role("link", name="Revoke")).to_have_count(0)
    deadline = time.monotonic() + 10  # a process may remember a token for a moment
    while status_with(served, token) != 401:
        assert time.monotonic() < deadline
        time.sleep(0.2)


def status_with(served: Served, token: str) -> int:
    headers = {"Authorization": f"Bearer {token}"}
    url = f"{served.url}/api/v1/configurations"
    try:
        request = urllib.request.Request(url, headers=headers)
        with urllib.request.urlopen(request, timeout=30) as response:
            return int(response.status)
    except urllib.error.HTTPError as error:
        with error:
            return error.code


def test_a_token_is_created_and_revoked_with_the_keyboard(page: Page) -> None:
    page.goto(f"{TOKENS}add/")
    page.get_by_label("Name", exact=True).focus()
    page.keyboard.type("keyboard")
    page.keyboard.press("Tab")
    expect(page.get_by_label("read", exact=True)).to_be_focused()
    page.keyboard.press("Space")  # no scope any more
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("No token was created")
    expect(page.locator("#t-scope-error")).to_contain_text("at least one scope")
    page.get_by_label("run", exact=True).focus()
    page.keyboard.press("Space")
    page.keyboard.press("Enter")
    expect(page.locator("#token")).to_contain_text("ok_")
    page.goto(TOKENS)
    link = page.get_by_role("link", name="Revoke keyboard")
    link.focus()
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Revoke").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_text("The API token keyboard was revoked.")).to_be_visible()


def test_a_name_of_a_token_is_taken_once(page: Page, served: Served) -> None:
    served.command("api-token", "create", "twice", "--scope", "read")
    page.goto(f"{TOKENS}add/")
    page.get_by_label("Name", exact=True).fill("twice")
    page.get_by_role("button", name="Create the token").click()
    expect(page.locator("#t-name-error")).to_contain_text("already exists")


def test_a_token_for_a_configuration_that_is_gone_is_refused_with_words(
    page: Page,
) -> None:
    page.goto(f"{TOKENS}add/")
    page.get_by_label("Name", exact=True).fill("gone")
    choice = page.get_by_label("Configurations").locator("option", has_text="shop")
    choice.evaluate("option => { option.value = 'deleted'; option.selected = true; }")
    page.get_by_role("button", name="Create the token").click()
    expect(page.get_by_role("alert")).to_contain_text("There is no configuration")
