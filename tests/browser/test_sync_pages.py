"""Sync lines in the browser: what a line does, a sample, its runs, and permissions."""

import os
import re
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import Browser, Page, expect

from browser.conftest import Served, log_in
from browser.test_pages import people

LINES = "/outkey/syncline/"
RUNS = "/outkey/run/"


def open_line(page: Page, name: str) -> None:
    page.goto(LINES)
    page.get_by_role("link", name=name, exact=True).click()


def press(page: Page, name: str) -> None:
    with page.expect_navigation():
        page.get_by_role("button", name=name, exact=True).click()


def fact(page: Page, name: str) -> str:
    return page.locator(f"dt:text-is('{name}') + dd").inner_text()


def ended(page: Page, state: str) -> None:
    """Wait for the page of a run, which follows the run by itself."""
    expect(page.locator("h1 .ok-chip")).to_have_text(state, timeout=20_000)


def test_a_line_tells_what_it_does_and_a_sample_of_what_is_on_the_page_writes_nothing(
    page: Page, served: Served
) -> None:
    before = served.command("line", "show", "contacts")
    open_line(page, "contacts")
    told = page.locator(".ok-page").inner_text()
    assert (
        "GET /records/contacts of demo bearer brings records into demo.contact." in told
    )
    assert "Pages of 100 are requested by number." in told
    expect(page.locator("summary", has_text="demo.contact")).to_be_visible()
    assert "portal_password" not in page.content()
    press(page, "Sample")
    first = page.locator("#sample tbody tr").first.locator("td")
    assert first.all_inner_texts() == [
        "new",
        "c0",
        "Contact 0",
        "contact0@example.com",
        "company",
        "0.50",
    ]
    text = page.locator("#l-sync").input_value()
    page.fill(
        "#l-sync", text.replace('api = "full_name"', 'api = "nothing"\nrequired = true')
    )
    press(page, "Sample")
    assert "c0" not in page.locator("#sample").inner_text()
    row = page.locator("#sample tbody tr").first
    expect(row).to_contain_text("rejected")
    expect(row).to_contain_text("name a value is missing")
    echoed = 'transform = "constant"\noptions = { value = "my spar-token" }'
    page.fill("#l-sync", text.replace('api = "full_name"', echoed))
    press(page, "Sample")
    expect(page.locator("#sample tbody tr").first).to_contain_text("repeats a secret")
    assert served.command("line", "show", "contacts") == before
    page.goto(RUNS)
    expect(page.get_by_text("Nothing here yet.")).to_be_visible()


def test_what_is_wrong_stands_at_its_field_and_what_is_right_is_saved_as_shown(
    page: Page, served: Served
) -> None:
    before = served.command("line", "show", "contacts")
    open_line(page, "contacts")
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
        press(page, "Save")
        expect(page.locator(".ok-bad:has(#l-sync) .ok-message")).to_contain_text(told)
        assert page.locator("#l-sync").input_value() == wrong
    page.fill("#l-sync", right)
    page.fill("#l-configuration", "nobody")
    press(page, "Save")
    expect(page.locator(".ok-bad #l-configuration")).to_be_visible()
    open_line(page, "contacts")
    assert page.locator("#l-sync").input_value() == right
    press(page, "Save")
    expect(page.get_by_text("The sync line contacts was saved.")).to_be_visible()
    assert served.command("line", "show", "contacts") == before


def test_runs_are_begun_followed_and_told(page: Page) -> None:
    # Before the contacts are there, no order finds its own.
    open_line(page, "orders")
    press(page, "Run now")
    ended(page, "done, all rejected")
    expect(page.locator("h1 .ok-chip.ok-error")).to_be_visible()
    expect(page.locator(".ok-note.ok-error")).to_contain_text(
        "Every record was rejected."
    )
    assert (fact(page, "Created"), fact(page, "Rejected")) == ("0", "250")
    first = page.locator("section tbody tr").first.locator("td").all_inner_texts()
    assert first == ["1", "contact", "there is no such record here"]
    expect(page.get_by_text("and 200 more")).to_be_visible()
    open_line(page, "contacts")
    press(page, "Dry run")
    ended(page, "done")
    assert fact(page, "Created") == "250"
    expect(page.get_by_text("Nothing is written")).to_be_visible()
    open_line(page, "contacts")
    press(page, "Run now")
    ended(page, "done")
    assert (fact(page, "Created"), fact(page, "By")) == ("250", "web:admin")
    page.goto(LINES)
    expect(page.get_by_role("row", name="contacts")).to_contain_text("done")
    expect(page.get_by_role("row", name="contacts")).not_to_contain_text("dry run")
    page.get_by_role("link", name="Contacts (demo)").click()
    page.fill("[name=q]", "c249")
    page.press("[name=q]", "Enter")
    expect(page.locator("#result_list")).to_contain_text("contact249@example.com")
    page.get_by_role("link", name="c249").click()
    expect(page.get_by_text("contact249@example.com")).to_be_visible()
    assert "portal" not in page.content().lower()
    expect(page.locator("[name=_save], [name=email], .deletelink")).to_have_count(0)
    page.goto(RUNS)
    assert page.locator("tbody tr").count() == 3
    assert page.locator(".ok-chart rect.ok-fill-refused").count() == 1
    assert page.locator(".ok-chart rect.ok-fill-ok").count() == 2
    page.fill("[name=line]", "orders")
    press(page, "Filter")
    assert page.locator("tbody tr").count() == 1
    page.select_option("[name=state]", "failed")
    press(page, "Filter")
    expect(page.get_by_text("Nothing here yet.")).to_be_visible()


def test_a_new_line_is_sampled_before_it_is_saved_and_deleted_with_its_runs(
    page: Page, served: Served
) -> None:
    open_line(page, "contacts")
    sync = page.locator("#l-sync").input_value()
    page.goto(LINES + "add/")
    page.fill("#l-name", "parcels")
    page.fill("#l-configuration", "demo bearer")
    page.fill("#l-path", "/records/contacts")
    page.fill("#l-sync", 'schedule = "30 5 1 1 *"\n' + sync)
    press(page, "Sample")
    expect(page.locator("#sample tbody tr").first).to_contain_text("Contact 0")
    assert "parcels" not in served.command("line", "list")
    press(page, "Save")
    row = page.get_by_role("row", name="parcels")
    expect(row).to_contain_text(re.compile(r"next 20\d\d-01-01 05:30:00 UTC"))
    open_line(page, "parcels")
    expect(page.locator(".ok-note")).to_contain_text(
        re.compile(r"next 20\d\d-01-01 05:30:00 UTC")
    )
    press(page, "Dry run")
    ended(page, "done")
    page.goto(LINES)
    expect(row).to_contain_text("dry run")
    row.get_by_role("link", name="parcels").click()
    page.get_by_role("link", name="Delete").click()
    expect(page.get_by_text("parcels is deleted with its runs.")).to_be_visible()
    press(page, "Delete")
    expect(page.get_by_text("The sync line parcels was deleted.")).to_be_visible()


def test_a_phone_shows_runs_and_lines_without_scrolling_sideways(page: Page) -> None:
    open_line(page, "contacts")
    line = page.url
    page.set_viewport_size({"width": 390, "height": 800})
    for path in (RUNS, LINES, line):
        page.goto(path)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path
    page.goto(RUNS)
    heights = page.locator("td.ok-when").evaluate_all(
        "cells => cells.map(cell => { const r = document.createRange();"
        " r.selectNodeContents(cell); return r.getClientRects().length; })"
    )
    assert heights
    assert set(heights) == {1}


def test_a_run_that_fails_names_its_cause_and_one_that_is_cancelled_stops(
    page: Page,
) -> None:
    open_line(page, "contacts")
    kept = page.locator("#l-sync").input_value()
    page.fill("#l-path", "/records/nothing")
    press(page, "Save")
    open_line(page, "contacts")
    press(page, "Run now")
    ended(page, "failed")
    told = page.locator(".ok-note.ok-error")
    expect(told).to_contain_text("Cause: not found")
    expect(told).to_contain_text("Remedy: Check Base URL and path")
    expect(told.get_by_role("link", name="To the line")).to_be_visible()
    told.get_by_role("link", name="To the configuration").click()
    expect(page.get_by_label("Base URL")).to_be_visible()
    page.goto(RUNS + "?state=failed")
    expect(page.locator("tbody tr").first).to_contain_text("not found")
    # A run that would take minutes: a million records, a few on each page.
    open_line(page, "contacts")
    page.fill("#l-path", "/records/contacts")
    page.fill("#l-sync", 'query = { count = "1000000" }\n' + kept)
    press(page, "Save")
    open_line(page, "contacts")
    press(page, "Dry run")
    expect(page.locator("h1 .ok-chip")).to_have_text("running")
    busy = page.url
    open_line(page, "contacts")
    press(page, "Dry run")
    expect(page.get_by_text("A run of this line is in progress")).to_be_visible()
    assert page.url == f"{busy}?busy=1"
    press(page, "Cancel")
    ended(page, "cancelled")
    expect(page.get_by_role("button", name="Cancel")).to_have_count(0)
    open_line(page, "contacts")
    page.fill("#l-sync", kept)
    press(page, "Save")
    expect(page.get_by_text("contacts was saved.")).to_be_visible()


def test_who_may_not_write_the_records_begins_nothing_and_reads_it_in_german(
    browser: Browser, served: Served, page: Page
) -> None:
    page.goto(LINES)
    link = page.get_by_role("link", name="orders", exact=True).get_attribute("href")
    page.goto(RUNS)
    before = page.locator("tbody").inner_text()
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
            expect(theirs.locator("thead")).to_contain_text("Abgelehnt")
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
    assert page.locator("tbody").inner_text() == before


PROGRAM = """
import re
import time
from pathlib import Path
import outkey
from outkey.hosts.server.home import PAGES, prepare
prepare(PAGES, demo=True)
from django.contrib.auth.models import Permission, User
from django.test import Client
from outkey.core.config.document import parse_document
from outkey.core.secret import Secret
from outkey.engine.managing.applying import apply
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
    assert "canary" not in table and "yranac" not in table, (api, table)
shown = everything.post(place("kept") + "sample/", posted("kept", BARE)).content
assert b"<td>/echo/x</td>" in shown and Contact.objects.count() == 0

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
for seconds in (120, 7200):
    run = planted(until=now + seconds, cause="timeout", attempt=2, **waiting)
    page = " ".join(everything.get(f"/outkey/run/{run.pk}/").content.decode().split())
    assert re.search("at [0-9-]{10} [0-9:]{8} UTC,", page) and "Began" in page, seconds
for word in ("too_many_records", "internal_error", "secret_in_cursor"):
    run = planted(state="failed", cause=word)
    page = " ".join(everything.get(f"/outkey/run/{run.pk}/").content.decode().split())
    assert "</strong> " in page and f"</strong> {word.replace('_', ' ')}" not in page
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
