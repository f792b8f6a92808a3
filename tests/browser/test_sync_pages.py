"""Sync lines in the browser: what a line does, a sample, its runs, and permissions."""

import json
import os
import re
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from browser.conftest import Served, log_in, serving
from browser.test_pages import people

LINES = "/outkey/syncline/"
RUNS = "/outkey/run/"
LONG_NAME = "x" * 58
# Its name and its table are as long as they may be, and without a space.
LONG_LINE = f"""
[line.{LONG_NAME}]
configuration = "demo bearer"
path = "/records/contacts"
direction = "pull"
target = "table:{LONG_NAME}"
keys = ["id"]
records = "items"
fields = [{{ api = "id", host = "id", required = true }}]
"""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server of its own: its lines, records and runs are counted."""
    with serving(tmp_path_factory.mktemp("sync")) as running:
        yield running


def open_line(page: Page, name: str, view: str = "form") -> None:
    page.goto(LINES)
    link = page.get_by_role("link", name=name, exact=True)
    page.goto(f"{link.get_attribute('href')}?view={view}")


def check(page: Page) -> None:
    """Check what is on the page, and wait for the result."""
    # The parts are busy from before the request until its response is drawn.
    with page.expect_request(lambda request: "/check/" in request.url):
        page.locator("#l-check").click()
    expect(page.locator("#line-parts")).not_to_have_attribute("aria-busy", "true")


def save(page: Page) -> None:
    with page.expect_navigation():
        page.locator("#l-save").click()


def press(page: Page, name: str) -> None:
    with page.expect_navigation():
        page.get_by_role("button", name=name, exact=True).click()


def fact(page: Page, name: str) -> Locator:
    return page.locator(f"dt:text-is('{name}') + dd")


def expect_facts(page: Page, **expected: str) -> None:
    for name, text in expected.items():
        expect(fact(page, name)).to_have_text(text)


def ended(page: Page, state: str) -> None:
    """Wait for the page of a run, which follows the run by itself."""
    expect(page.locator("h1 .ok-chip")).to_have_text(state, timeout=60_000)


def test_a_line_tells_what_it_does_and_a_sample_of_what_is_on_the_page_writes_nothing(
    page: Page, served: Served
) -> None:
    before = served.command("line", "show", "contacts")
    open_line(page, "contacts", view="toml")
    told = page.locator(".ok-page")
    expect(told).to_contain_text(
        "GET /records/contacts of demo bearer brings records into demo.contact."
    )
    expect(told).to_contain_text("Pages of 100 are requested by number.")
    assert "portal_password" not in page.content()
    check(page)
    first = page.locator("#sample tbody tr").first
    expect(first.locator("ins")).to_have_text(
        ["c0", "Contact 0", "contact0@example.com", "company", "0.50"]
    )
    expect(first).to_contain_text("new")
    text = page.locator("#l-sync").input_value()
    page.fill(
        "#l-sync", text.replace('api = "full_name"', 'api = "nothing"\nrequired = true')
    )
    check(page)
    row = page.locator("#sample tbody tr").first
    expect(row).to_contain_text("rejected")
    expect(row).to_contain_text("a value is missing")
    expect(page.locator("#sample")).not_to_contain_text("Contact 0")
    echoed = 'transform = "constant"\noptions = { value = "my spar-token" }'
    page.fill("#l-sync", text.replace('api = "full_name"', echoed))
    check(page)
    expect(page.locator("#sample tbody tr").first).to_contain_text("repeats a secret")
    assert served.command("line", "show", "contacts") == before
    page.goto(RUNS)
    expect(page.get_by_text("Nothing here yet.")).to_be_visible()


def test_what_is_wrong_stands_at_its_field_and_what_is_right_is_saved_as_shown(
    page: Page, served: Served
) -> None:
    before = served.command("line", "show", "contacts")
    open_line(page, "contacts", view="toml")
    right = page.locator("#l-sync").input_value()
    for wrong, told in {
        "direction =": "TOML: This is not TOML:",
        right.replace('"pull"', '"sideways"'): "Direction must be one of: pull, push",
        right.replace('host = "credit"', 'host = "credits"'): "fields[4].host:",
        right.replace("demo.contact", "auth.user"): "target: This model is not open",
        right.replace('records = "items"', 'records = "items["'): "records:",
        right + "\ncolour = 'red'": "fields[4].colour: Unknown key",
        "path = '/x'\n" + right: "TOML: Path has a field of its own on this page",
    }.items():
        page.fill("#l-sync", wrong)
        save(page)
        expect(page.locator(".ok-bad:has(#l-sync) .ok-message")).to_contain_text(told)
        expect(page.locator("#l-sync")).to_have_value(wrong)
    page.fill("#l-sync", right)
    save(page)
    expect(page.get_by_text("The sync line contacts was saved.")).to_be_visible()
    expect(page.locator("#l-sync")).to_have_value(right)
    assert served.command("line", "show", "contacts") == before


def test_runs_are_begun_followed_and_told(page: Page) -> None:
    # Before the contacts are there, no order finds its own.
    open_line(page, "orders")
    press(page, "Run now")
    ended(page, "failed")
    expect(page.locator("h1 .ok-chip.ok-error")).to_be_visible()
    expect(page.locator(".ok-note.ok-error")).to_contain_text(
        "every record was rejected"
    )
    expect_facts(page, New="0", Rejected="250")
    group = page.locator("#rejected summary")
    for words in ("250", "contact", "there is no such record here", "c0"):
        expect(group).to_contain_text(words)
    first = page.locator("#rejected tbody tr").first.locator("td")
    expect(first).to_have_text(["1", "2026, 1", "text", "c0"])
    expect(page.get_by_text("1 to 50 of 250")).to_be_visible()
    page.get_by_role("link", name="Next records").click()
    expect(page.get_by_text("51 to 100 of 250")).to_be_visible()
    open_line(page, "contacts")
    press(page, "Dry run")
    ended(page, "done")
    expect_facts(page, New="250")
    expect(page.get_by_text("Nothing is written")).to_be_visible()
    open_line(page, "contacts")
    press(page, "Run now")
    ended(page, "done")
    expect_facts(page, New="250", By="web:admin")
    page.goto(LINES)
    expect(page.get_by_role("row", name="contacts")).to_contain_text("done")
    expect(page.get_by_role("row", name="contacts")).not_to_contain_text("dry run")
    page.get_by_role("link", name="Contacts (demo)").click()
    page.fill("#changelist-search [name=q]", "c249")
    page.press("#changelist-search [name=q]", "Enter")
    expect(page.locator("#result_list")).to_contain_text("contact249@example.com")
    page.get_by_role("link", name="c249").click()
    expect(page).to_have_url(re.compile(r"/contact/\d+/"))
    expect(page.get_by_text("contact249@example.com")).to_be_visible()
    assert "portal" not in page.content().lower()
    expect(page.locator("[name=_save], [name=email], .deletelink")).to_have_count(0)
    page.goto(RUNS)
    rows = page.locator(".ok-runs tbody tr")
    expect(rows).to_have_count(3)
    expect(page.locator("rect.ok-part-rejected")).to_have_count(1)
    # The dry run has created nothing.
    expect(page.locator("rect.ok-part-created")).to_have_count(1)
    page.fill("[name=line]", "orders")
    press(page, "Filter")
    expect(rows).to_have_count(1)
    page.select_option("[name=state]", "failed")
    press(page, "Filter")
    expect(rows).to_have_count(1)
    page.select_option("[name=state]", "cancelled")
    press(page, "Filter")
    expect(page.get_by_text("No run matches.")).to_be_visible()


def test_a_line_is_paused_and_resumed(page: Page) -> None:
    open_line(page, "orders")
    press(page, "Pause")
    expect(page.get_by_text("This sync line is paused")).to_be_visible()
    expect(page.get_by_role("button", name="Run now")).to_have_count(0)
    expect(page.get_by_role("button", name="Dry run", exact=True)).to_be_visible()
    page.goto(LINES)
    name = page.get_by_role("link", name="orders", exact=True)
    expect(page.locator("tr").filter(has=name)).to_contain_text("paused")
    open_line(page, "orders")
    press(page, "Resume")
    expect(page.get_by_role("button", name="Run now")).to_be_visible()


def test_a_changed_shape_is_shown_until_it_is_accepted(
    page: Page, served: Served
) -> None:
    served.command("line", "run", "contacts")
    open_line(page, "contacts")
    section = page.get_by_role("region", name="Changed shape")
    expect(section).to_have_count(0)
    path = served.home / "data" / "outkey.sqlite3"
    with closing(sqlite3.connect(path, timeout=10)) as database, database:
        query = "FROM outkey_sharedstate WHERE kind = 'line_shape'"
        ((shape,),) = database.execute(f"SELECT value {query}")
        facts = json.loads(shape)
        facts["fields"]["full_name"]["kinds"] = ["number"]
        facts["fields"].pop("updated_at")
        statement = "UPDATE outkey_sharedstate SET value = ? WHERE kind = 'line_shape'"
        database.execute(statement, [json.dumps(facts)])
    served.command("line", "run", "contacts")
    page.reload()
    expect(section).to_contain_text(
        "The API sends full_name as text, and not as number"
    )
    expect(section).to_contain_text("The API sends a new field: updated_at (text).")
    press(page, "Accept the new shape")
    expect(page.get_by_text("The new shape of contacts was accepted.")).to_be_visible()
    expect(section).to_have_count(0)
    assert "L051" not in served.command("line", "show", "contacts", "--json")


def test_a_new_line_is_sampled_before_it_is_saved_and_deleted_with_its_runs(
    page: Page, served: Served
) -> None:
    open_line(page, "contacts", view="toml")
    sync = page.locator("#l-sync").input_value()
    page.goto(LINES + "add/?view=toml")
    page.fill("#l-name", "parcels")
    page.select_option("#l-configuration", "demo bearer")
    page.fill("#l-path", "/records/contacts")
    page.fill("#l-sync", 'schedule = "30 5 1 1 *"\n' + sync)
    check(page)
    expect(page.locator("#sample tbody tr").first).to_contain_text("Contact 0")
    assert "parcels" not in served.command("line", "list")
    save(page)
    expect(page.locator(".ok-line-head")).to_contain_text(
        re.compile(r"next 20\d\d-01-01")
    )
    page.goto(LINES)
    row = page.get_by_role("row", name="parcels")
    expect(row).to_contain_text(re.compile(r"20\d\d-01-01"))
    open_line(page, "parcels")
    press(page, "Dry run")
    ended(page, "done")
    page.goto(LINES)
    last = row.locator("td[data-label='Last run']")
    expect(last).to_have_text("never")  # a dry run is none
    row.get_by_role("link", name="parcels").click()
    page.get_by_role("link", name="Delete").click()
    expect(page.get_by_text("parcels is deleted with its runs.")).to_be_visible()
    press(page, "Delete")
    expect(page.get_by_text("The sync line parcels was deleted.")).to_be_visible()


def test_what_a_webhook_names_is_not_deleted(page: Page, served: Served) -> None:
    line = LONG_LINE.replace(LONG_NAME, "hooked")
    webhook = '[webhook.shop]\nscheme = "github"\nline = "hooked"\n'
    served.command("apply", "-", stdin=line + webhook)
    open_line(page, "hooked")
    page.get_by_role("link", name="Delete").click()
    expect(page.get_by_role("alert")).to_contain_text(
        "These webhooks depend on it: shop."
    )
    button = page.get_by_role("button", name="Delete", exact=True)
    expect(button).to_have_count(0)
    served.command("webhook", "delete", "shop", "--yes")
    page.reload()
    expect(page.get_by_text("Sync line hooked, runs: 0")).to_be_visible()
    press(page, "Delete")
    expect(page.get_by_text("The sync line hooked was deleted.")).to_be_visible()


def test_a_phone_shows_runs_and_lines_without_scrolling_sideways(
    page: Page, served: Served
) -> None:
    served.command("apply", "-", stdin=LONG_LINE)
    served.command("line", "run", LONG_NAME)
    open_line(page, "contacts")
    places = [page.url]
    open_line(page, LONG_NAME)
    places += [page.url, page.url.replace("view=form", "view=toml")]
    page.set_viewport_size({"width": 390, "height": 800})
    for path in (RUNS, LINES, *places):
        page.goto(path)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path
    page.goto(RUNS)
    heights = page.locator("td.ok-when time").evaluate_all(
        "times => times.map(time => time.getClientRects().length)"
    )
    assert heights
    assert set(heights) == {1}


def test_a_run_that_fails_names_its_cause_and_one_that_is_cancelled_stops(
    page: Page,
) -> None:
    open_line(page, "contacts", view="toml")
    kept = page.locator("#l-sync").input_value()
    page.fill("#l-path", "/records/nothing")
    save(page)
    press(page, "Run now")
    ended(page, "failed")
    told = page.locator(".ok-note.ok-error")
    expect(told).to_contain_text("Cause: not found")
    expect(told).to_contain_text("Remedy: Check Base URL and path")
    expect(told.get_by_role("link", name="To the line")).to_be_visible()
    told.get_by_role("link", name="To the configuration").click()
    expect(page.get_by_label("Base URL")).to_be_visible()
    page.goto(RUNS + "?state=failed")
    expect(page.locator(".ok-runs tbody tr").first).to_contain_text("not found")
    # A run that would take minutes: a million records, a few on each page.
    open_line(page, "contacts", view="toml")
    page.fill("#l-path", "/records/contacts")
    page.fill("#l-sync", 'query = { count = "1000000" }\n' + kept)
    save(page)
    press(page, "Dry run")
    expect(page.locator("h1 .ok-chip")).to_have_text("running")
    busy = page.url
    open_line(page, "contacts")
    press(page, "Dry run")
    expect(page.get_by_text("A run of this line is in progress")).to_be_visible()
    expect(page).to_have_url(f"{busy}?busy=1")
    press(page, "Cancel")
    ended(page, "cancelled")
    expect(page.get_by_role("button", name="Cancel")).to_have_count(0)
    open_line(page, "contacts", view="toml")
    page.fill("#l-sync", kept)
    save(page)
    expect(page.get_by_text("contacts was saved.")).to_be_visible()


def test_who_may_not_write_the_records_begins_nothing_and_reads_it_in_german(
    browser: Browser, served: Served, page: Page
) -> None:
    page.goto(LINES)
    link = page.get_by_role("link", name="orders", exact=True).get_attribute("href")
    page.goto(RUNS)
    numbers = page.locator(".ok-runs tbody td:first-child")
    before = numbers.all_inner_texts()
    passwords = people(served)
    for name, statuses in {"operator": (200, 422), "auditor": (403, 403)}.items():
        context = browser.new_context(base_url=served.url, locale="de-DE")
        theirs = context.new_page()
        log_in(theirs, name, passwords[name])
        shown = theirs.goto(RUNS)
        assert shown
        assert shown.status == statuses[0]
        if shown.ok:
            expect(theirs.get_by_role("heading", name="Läufe")).to_be_visible()
            expect(theirs.locator(".ok-runs thead")).to_contain_text("Abgelehnt")
        theirs.goto("/outkey/auditrecord/")
        token = theirs.locator('[name="csrfmiddlewaretoken"]').first.input_value()
        for action in ("run/", "sample/"):
            response = context.request.post(
                f"{link}{action}",
                form={"csrfmiddlewaretoken": token},
                headers={"Referer": served.url},
            )
            assert response.status == statuses[1], (name, action)
        context.close()
    page.reload()
    expect(numbers).to_have_text(before)


PROGRAM = """
import json
import re
import time
from pathlib import Path
import outkey
from outkey.hosts.server.home import PAGES, prepare
prepare(PAGES, demo=True)
from django.contrib.auth.models import Permission, User
from django.test import Client
from outkey.administration.core.document.document import parse_document
from outkey.foundation.core.secret import Secret
from outkey.administration.engine.editing.applying import apply
from outkey.hosts.demo_records.models import Contact
from outkey.hosts.django.models import Run, SyncLine
from outkey.hosts.django.pages.access import installation
from outkey.spar import Spar

application = installation()
spar = Spar().__enter__()
application.apply(application.administration("test"), parse_document(f'''
[configuration.shop]
base_url = "{spar.url}"
network = "internal"
authentication_type = "bearer"
[line.kept]
configuration = "shop"
method = "GET"
path = "/"
'''), dry_run=False)
application.administration("test").set_secret("shop", "token", Secret("sekret-canary"))
LINES = "/outkey/syncline/"
OURS = ("view_syncline", "add_syncline", "change_syncline", "run_syncline", "view_run")
ORDERS = ("view_order", "add_order", "change_order")
CONTACTS = ("view_contact", "add_contact", "change_contact")


def person(name, *permissions):
    user = User.objects.create_user(name, is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    client = Client(SERVER_NAME="127.0.0.1")
    client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
    return client


def posted(name, sync, path="/echo/x"):
    return {
        "name": name,
        "configuration": "shop",
        "method": "GET",
        "path": path,
        "sync": sync,
    }


def place(name):
    return f"{LINES}{SyncLine.objects.get(name=name).pk}/"


# What is looked up must be seen by whoever saves, tries or runs the line.
LOOKUP = '''direction = "pull"
target = "demo.order"
keys = ["year", "number"]
records = "[@]"
[[fields]]
api = "body"
host = "year"
[[fields]]
api = "body"
host = "number"
[[fields]]
api = "path"
host = "contact"
transform = "lookup"
options = { target = "demo.contact", field = "email" }
'''
everything = person("everything", *OURS, *ORDERS, *CONTACTS, "edit_script")
blind = person("blind", *OURS, *ORDERS)
page = blind.post(LINES + "add/", posted("orders", LOOKUP))
assert page.status_code == 422
assert not SyncLine.objects.filter(name="orders").exists()
assert b"fields[2].options.target" in page.content
assert b"permission is missing" in page.content
assert everything.post(LINES + "add/", posted("orders", LOOKUP)).status_code == 302
for answer in (
    blind.post(place("orders"), posted("orders", LOOKUP)),
    blind.post(place("orders") + "sample/", posted("orders", LOOKUP)),
    blind.post(place("orders") + "run/"),
    blind.post(place("orders") + "run/", {"dry": "1"}),
):
    assert (answer.status_code, Run.objects.count()) == (422, 0), answer.status_code
assert everything.post(place("orders") + "run/").status_code == 302

# Only users who may write scripts may add, change, remove and try one.
BARE = '''direction = "pull"
target = "demo.contact"
keys = ["external_id"]
records = "[@]"
fields = [ { api = "method", host = "external_id" }, { api = "path", host = "name" } ]
'''
SCRIPT = BARE + 'script = "def transform(record):\\\\n    return record"'
OTHER = SCRIPT.replace("return record", "return dict(record)")
scriptless = person("scriptless", *OURS, *CONTACTS)
refused = scriptless.post(LINES + "add/", posted("scripted", SCRIPT))
assert (refused.status_code, b"not write scripts" in refused.content) == (422, True)
assert not SyncLine.objects.filter(name="scripted").exists()
assert everything.post(LINES + "add/", posted("scripted", SCRIPT)).status_code == 302
spar.clear()
for sync in (OTHER, BARE, ""):
    for action in ("", "sample/"):
        page = scriptless.post(place("scripted") + action, posted("scripted", sync))
        assert page.status_code == 422, sync
        assert b"not write scripts" in page.content, sync
assert spar.journal == []
same = posted("scripted", SCRIPT.replace("\\n", "\\r\\n"), path="/echo/y")
assert scriptless.post(place("scripted") + "sample/", same).status_code == 200
assert scriptless.post(place("scripted"), same).status_code == 302
assert everything.post(place("scripted"), posted("scripted", OTHER)).status_code == 302

# An answer that holds a secret is shown by no expression.
for api in ("path", "reverse(path)", "join('.', [path, method])"):
    sync = BARE.replace('"path"', f'"{api}"')
    shown = everything.post(
        place("kept") + "sample/", posted("kept", sync, "/echo/sekret-canary")
    )
    table = shown.content.decode().partition('id="sample"')[2].partition("</table>")[0]
    assert "repeats a secret" in table, (api, table)
    assert 'class="ok-problem"' in table, (api, table)  # "only problems" shows it
    assert "canary" not in table and "yranac" not in table, (api, table)
shown = everything.post(place("kept") + "sample/", posted("kept", BARE)).content
assert b"<ins>/echo/x</ins>" in shown and Contact.objects.count() == 0
assert b"ok-problem" not in shown

# Nonsense in a row of the database spoils no page.
def planted(**columns):
    Run.objects.all().delete()
    usual = {
        "digest": "x",
        "actor": "x",
        "state": "done",
        "dry_run": False,
        "checkpoint": "{}",
    }
    usual |= {"counts": {"created": 3}, "started_at": 1.0, "until": 0.0}
    return Run.objects.create(line=SyncLine.objects.get(name="kept"), **usual | columns)


for columns in (
    {"counts": {"evil": 1}}, {"counts": []}, {"counts": "x"},
    {"counts": {"created": "x"}}, {"counts": {"failed": -1, "created": None}},
    {"started_at": 1e300}, {"ended_at": 1e18},
    {"started_at": -1e18}, {"state": "weird"}, {"checkpoint": "nonsense"},
    {"state": "waiting", "until": 1e300, "cause": "<b>"},
    {"checkpoint": '{"notes": 7, "worked": "x", "expected": "y"}'},
    {"checkpoint": '{"notes": [7, {"text": 1}, {"text": "{", "values": {}}]}'},
    {"state": "running", "checkpoint": '{"worked": 1e300, "expected": -1}'},
):
    run = planted(**columns)
    for path in (f"/outkey/run/{run.pk}/", "/outkey/run/", LINES, place("kept")):
        assert everything.get(path).status_code == 200, (columns, path)
content = everything.get(f"/outkey/run/{planted(ended_at=1e18).pk}/").content
assert b"<dd>?</dd>" in b"".join(content.split())

# The page of a run reloads only while something can be expected to happen.
now = time.time()
for columns, follows in (
    ({"state": "running", "until": now}, True),
    ({"state": "waiting", "until": now + 5}, True),
    ({"state": "waiting", "until": now + 3600}, False),
    ({"state": "done"}, False),
):
    page = everything.get(f"/outkey/run/{planted(**columns).pk}/").content
    assert (b'http-equiv="refresh"' in page) is follows, columns
# What left records out says so, a cause has its remedy, and what waits did not begin.
for counts, told in (
    ({"created": 3}, 'ok-success">done<'),
    ({"created": 3, "failed": 2}, 'ok-warning">done, 2 rejected<'),
    ({"failed": 2}, 'ok-error">done, all rejected<'),
):
    run = planted(counts=counts)
    for path in (f"/outkey/run/{run.pk}/", "/outkey/run/", LINES, place("kept")):
        assert told in everything.get(path).content.decode(), (counts, path)
for cause, told in {
    "secret_missing": "Enter the secret, or set the environment variable",
    "not_json": "Check the path of the line;",
    "invalid_client": "Check Client ID, Client Secret and Client Authentication.",
    "rate_limited": "Send less often:",
    "inactive": "Set Active (active = true)",
    "configuration": "Open the line and its configuration",
    "unexpected": "Compare the request with the API",
    "expression": "Preview the line to see the response",
}.items():
    run = planted(state="failed", cause=cause)
    page = everything.get(f"/outkey/run/{run.pk}/").content.decode()
    page = " ".join(page.split())
    assert f"Remedy:</strong> {told}" in page, cause
killed = planted(cause="killed")
assert b"Remedy" not in everything.get(f"/outkey/run/{killed.pk}/").content
waiting = {"state": "waiting", "started_at": now}
page = everything.get(f"/outkey/run/{planted(until=now, **waiting).pk}/").content
assert b"Asked for" in page and b"Began" not in page
for seconds, words in ((150, "in 2 min"), (9000, "in 2 h")):
    run = planted(until=now + seconds, cause="timeout", attempt=2, **waiting)
    page = " ".join(everything.get(f"/outkey/run/{run.pk}/").content.decode().split())
    told = re.search(r"retried <time [^>]*>([^<]*)</time>, attempt 2\\.", page)
    assert told and told[1] == words and "Began" in page, (words, page)
    assert re.search(r'title="[0-9-]{10} [0-9:]{8} UTC"[^>]*>' + words, page), words
for word in ("too_many_records", "internal_error", "secret_in_cursor"):
    run = planted(state="failed", cause=word)
    page = " ".join(everything.get(f"/outkey/run/{run.pk}/").content.decode().split())
    assert "</strong> " in page and f"</strong> {word.replace('_', ' ')}" not in page
pull = {
    "direction": "pull", "target": "demo.contact", "keys": ["external_id"],
    "fields": [{"api": "id", "host": "external_id"}],
}
line = SyncLine.objects.create(
    name="seen", configuration_id=run.line.configuration_id, method="GET", path="/",
    sync=pull,
)
def confirm():
    rows = installation().vouched_rows.changed()
    (changed,) = [row for row in rows if row.name.kind == "line"]
    assert installation().vouched_rows.confirm(changed)
    line.refresh_from_db()
confirm()
counts = {"created": 3, "failed": 2, "children": {"created": 7, "failed": 1}}
checkpoint = '{"since": "2027", "retry_of": "x"}'
run = planted(counts=counts, checkpoint=checkpoint)
run.line = line
run.save()
below = pull | {"for_each": {"line": "seen"}}
at_parent = {"text": "{failure}, in the list of the parent {parent}", "values": {
    "failure": {"text": "the page is odd"}, "parent": "number = p-canary"}}
run.checkpoint = json.dumps({"since": "2027", "retry_of": "x", "notes": [at_parent]})
run.save()
for sync, sees in ((pull, True), (below, False)):
    line.sync = sync
    line.save()
    for client, may in ((everything, True), (blind, sees)):
        page = client.get(f"/outkey/run/{run.pk}/").content.decode()
        assert "he page is odd" in page and ("p-canary" in page) is may, sync
line.sync = pull
line.save()
run.checkpoint = checkpoint
run.save()
run.left_out.create(
    number=1, key="k-canary", field="name", reason="too_long", kind="text",
    excerpt="<b>ada</b>",
)
for client, sees in ((everything, True), (blind, False)):
    page = " ".join(client.get(f"/outkey/run/{run.pk}/").content.decode().split())
    assert ("k-canary" in page) is ("&lt;b&gt;ada" in page) is sees
    assert "the value is too long" in page and '">text</td>' in page
    assert "New: 7" in page and "Rejected: 1" in page
    assert "changed records only" in page and "Retry of" not in page
    files = client.post(f"/outkey/run/{run.pk}/rejected/", {"format": "csv"})
    assert files.status_code == (200 if sees else 404)
    assert b"Download CSV" in client.get(f"/outkey/run/{run.pk}/").content or not sees
    # The line lacks a field that its model requires, or the user the rights.
    assert client.post(f"/outkey/run/{run.pk}/retry/").status_code == 422
    assert Run.objects.filter(line=line).count() == 1
assert b"Download" not in blind.get(f"/outkey/run/{run.pk}/").content
for form in ({}, {"format": "parquet"}, {"format": "exe"}):
    assert everything.post(f"/outkey/run/{run.pk}/rejected/", form).status_code == 404
assert everything.get(f"/outkey/run/{run.pk}/rejected/").status_code == 405
# The values of children are for users who may see those too.
contacts_only = person("contacts only", *OURS, *CONTACTS)
order_lines = {"list": "orders", "target": "demo.order"}
for children, sees in (([], True), ([order_lines], False), ({}, False), (["?"], False)):
    line.sync = pull | {"children": children}
    line.save()
    page = contacts_only.get(f"/outkey/run/{run.pk}/").content.decode()
    assert ("k-canary" in page) is ("&lt;b&gt;ada" in page) is sees, children
line.sync = pull | {"children": [order_lines]}
line.save()
assert "k-canary" in everything.get(f"/outkey/run/{run.pk}/").content.decode()
line.sync = pull
line.save()
run.left_out.bulk_create(
    run.left_out.model(run=run, number=n, key="k", field="f", reason="taken")
    for n in range(2, 12_000)
)
page = " ".join(everything.get(f"/outkey/run/{run.pk}/").content.decode().split())
assert "11,998</span>" in page and "1 to 50 of 11,998" in page
run.left_out.filter(field="f").delete()
run.checkpoint = '{"retry_of": "7"}'
run.save()
page = everything.get(f"/outkey/run/{run.pk}/").content.decode()
assert "#7</a>" in page and "all records" in page
assert "Retry rejected" not in page  # the run 7 has no rejected records
poor = person("poor", "view_syncline")
for action in ("retry/", "rejected/", "cancel/", ""):
    assert poor.post(f"/outkey/run/{run.pk}/{action}").status_code == 403, action
looker = person("looker", "view_run")
page = looker.get(f"/outkey/run/{run.pk}/")
assert page.status_code == 200
assert b"<form" not in page.content.partition(b'id="run"')[2]
assert looker.post(f"/outkey/run/{run.pk}/retry/").status_code == 403
assert poor.post(f"{LINES}{line.pk}/pause/").status_code == 403
assert application.runs.paused_lines() == set()
assert everything.post(f"{LINES}{line.pk}/pause/").status_code == 302
assert application.runs.paused_lines() == {"seen"}
assert "paused" in everything.get(LINES).content.decode()
assert everything.post(f"{LINES}{line.pk}/pause/", {"resume": 1}).status_code == 302
assert application.runs.paused_lines() == set()
assert poor.post(f"{LINES}{line.pk}/shape/").status_code == 403
assert everything.get(f"{LINES}{line.pk}/shape/").status_code == 405
page = everything.get(f"{LINES}{line.pk}/").content.decode()
assert "l-incremental_parameter" in page and "l-incremental_start" not in page
changes = {"parameter": "since", "start": "-7d", "window": "1d", "end_parameter": "to"}
line.sync = pull | {"incremental": changes}
line.save()
confirm()
reset = f"{LINES}{line.pk}/reset/"
page = everything.get(f"{LINES}{line.pk}/").content.decode()
assert reset in page and "from -7d on, for 1d at a time" in page
for name in ("start", "window", "lookback", "format", "end_parameter"):
    assert f"l-incremental_{name}" in page, name
assert poor.get(reset).status_code == 403
assert b"as a first run" in everything.get(reset).content
wrong = everything.post(reset, {"since": "soon"})
assert wrong.status_code == 422 and b"not in the future" in wrong.content
assert everything.post(reset, {"since": "2026-01-01"}).status_code == 302
page = everything.get(f"{LINES}{line.pk}/").content.decode()
assert "was reset" in page
assert b'name="parent"' not in everything.get(reset).content
line.sync = pull | {"for_each": {"values": ["DE", "AT"]}}
line.save()
confirm()
assert b'name="parent"' in everything.get(reset).content
wrong = everything.post(reset, {"parent": "FR"})
assert wrong.status_code == 422 and b'id="parent-error"' in wrong.content
assert b'value="FR"' in wrong.content and b"no such parent" in wrong.content
assert everything.post(reset, {"parent": "AT"}).status_code == 302
page = everything.get(f"{LINES}{line.pk}/").content.decode()
assert "was reset for the parent AT" in page
spar.close()
print("everything holds")
"""


def test_lookups_scripts_and_secrets_keep_their_bounds_and_no_row_spoils_a_page(
    tmp_path: Path,
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={"PATH": os.environ["PATH"], "OUTKEY_HOME": str(tmp_path / "home")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "everything holds\n", done.stderr[-3000:]
