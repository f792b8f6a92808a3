"""Pairs in the browser: their lines and runs, and a user who decides conflicts."""

import json
import re
import sqlite3
import urllib.request
from collections.abc import Iterator
from contextlib import closing
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from browser.conftest import Served, log_in, serving
from browser.test_accessibility import assert_accessible
from browser.test_german_verdicts import english_patterns
from browser.test_pages import people
from browser.test_sync_pages import ended, fact
from outkey.spar import Spar

PAIRS = "/outkey/syncline/pairs/"
NAME = "people/<b>&amp;?'%"  # any text is a valid name
PAIR = f"{PAIRS}pair/?name={quote(NAME, safe='')}"
CONFLICTS = f"{PAIRS}conflicts/?name={quote(NAME, safe='')}"
HOSTILE = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def api() -> Iterator[Spar]:
    with Spar() as server:
        yield server


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, api: Spar) -> Iterator[Served]:
    """A server of its own, with a pair whose sides agree on three records."""
    with serving(tmp_path_factory.mktemp("pairs")) as running:
        running.command("apply", "-", stdin=document(api))
        running.command("secret", "set", "crm", "token", stdin="spar-token")
        for name in ("Ada", "Grace", "Hedy"):
            call(api, "POST", name=name, mail="", kind="person")
        running.command("pair", "run", NAME)
        yield running


def document(api: Spar) -> str:
    return f"""
[configuration.crm]
base_url = "{api.url}"
network = "internal"
authentication_type = "bearer"

[line.people]
configuration = "crm"
direction = "pull"
path = "/records/stored"
records = "items"
target = "demo.contact"
keys = ["external_id"]
fields = [
  {{ api = "id", host = "external_id" }},
  {{ api = "name", host = "name" }},
  {{ api = "mail", host = "email" }},
  {{ api = "kind", host = "kind" }},
]

[line."send people"]
configuration = "crm"
direction = "push"
target = "demo.contact"
remote_id = "data.id"
create = {{ method = "POST", path = "/records/stored" }}
update = {{ method = "PATCH", path = "/records/stored/{{remote_id}}" }}
fields = [
  {{ host = "name", api = "name" }},
  {{ host = "email", api = "mail" }},
]

[pair.{json.dumps(NAME)}]
pull = "people"
push = "send people"
conflict = "ask"
"""


def call(api: Spar, method: str, record: str = "", **values: str) -> None:
    """Change something at the API, as another user of it does."""
    request = urllib.request.Request(
        f"{api.url}/records/stored{record}",
        data=json.dumps(values).encode(),
        method=method,
        headers={"Authorization": "Bearer spar-token"},
    )
    urllib.request.urlopen(request, timeout=10).close()


def rename(served: Served, record: str, name: str) -> None:
    """Change something in the host, as a user of the application does."""
    path = served.home / "data" / "outkey.sqlite3"
    statement = "UPDATE demo_contact SET name = ? WHERE external_id = ?"
    with closing(sqlite3.connect(path, timeout=10)) as database, database:
        assert database.execute(statement, [name, record]).rowcount


def names_in_host(served: Served) -> list[str]:
    path = served.home / "data" / "outkey.sqlite3"
    query = "SELECT name FROM demo_contact ORDER BY external_id"
    with closing(sqlite3.connect(path, timeout=10)) as database:
        return [name for (name,) in database.execute(query)]


def names_at_api(api: Spar) -> list[str]:
    return [record["name"] for record in api.stored.all()]


def disagree(served: Served, api: Spar, *, at_api: str, in_host: str) -> None:
    """Change the name of s3 on both sides, so that there is a conflict about it."""
    call(api, "PATCH", "/s3", name=at_api)
    rename(served, "s3", in_host)
    served.command("pair", "run", NAME)


def conflict_of(page: Page, key: str) -> Locator:
    return page.get_by_role("region", name=key)


def keep(page: Page, key: str, version: str) -> None:
    """Decide one conflict, whatever others there are."""
    with page.expect_navigation():
        conflict_of(page, key).get_by_role("button", name=f"Keep {version}").click()


def test_a_user_sees_both_versions_decides_and_the_next_runs_apply_it(
    page: Page, served: Served, api: Spar
) -> None:
    page.goto(CONFLICTS)
    expect(page.get_by_text("No record has a conflict.")).to_be_visible()
    call(api, "PATCH", "/s1", name="Ada King", mail="ada@api.example")
    rename(served, "s1", HOSTILE)
    call(api, "PATCH", "/s2", name="Grace H.")
    rename(served, "s2", "Grace Hopper")
    served.command("pair", "run", NAME)
    page.goto("/")
    item = page.locator(".ok-attention li", has_text=NAME)
    expect(item).to_contain_text("2 records were changed on both sides")
    expect(item.get_by_role("link", name="Decide")).to_be_visible()
    badge = page.locator("#ok-menu a", has_text="Pairs").locator(".ok-badge")
    expect(badge).to_have_text("1 needs attention", use_inner_text=False)
    assert_accessible(page, "a pair that needs attention")
    page.goto("/outkey/syncline/")
    page.get_by_role("link", name="Pairs", exact=True).last.click()
    row = page.get_by_role("row", name=NAME)
    expect(row).to_contain_text("A user decides")
    row.get_by_role("link", name=NAME, exact=True).click()
    expect(fact(page, "Fields that both sides change")).to_have_text("email, name")
    expect(fact(page, "Fields only from the API")).to_have_text("kind")
    expect(page.get_by_role("row", name="send people").first).to_contain_text("done")
    page.get_by_role("link", name="send people", exact=True).first.click()
    page.get_by_text("follows the rules of a pair").get_by_role("link").click()
    page.get_by_role("link", name="Decide").click()
    first = conflict_of(page, "s1")
    cells = first.get_by_role("row", name="name", exact=False).last.locator("td")
    expect(cells).to_have_text(["Ada", "Ada King", HOSTILE])
    expect(first.locator("mark")).to_have_text(["ada@api.example", "Ada King", HOSTILE])
    expect(conflict_of(page, "s2")).to_contain_text("the same on both sides: 1.")
    keep(page, "s1", "the API's version")
    expect(page.get_by_text("The API's version of s1 will be kept")).to_be_visible()
    expect(conflict_of(page, "s1")).to_contain_text("the API's version was chosen")
    keep(page, "s2", "ours")
    expect(page.get_by_text("Our version of s2 will be kept")).to_be_visible()
    expect(badge).to_have_count(0)
    assert names_in_host(served) == [HOSTILE, "Grace Hopper", "Hedy"]
    page.get_by_role("link", name=NAME, exact=True).click()
    expect(page).to_have_title(re.compile(f"^{re.escape(NAME)}"))
    for number, line in enumerate(("people", "send people")):
        page.goto(PAIR)
        with page.expect_navigation():
            page.get_by_role("button", name="Run now").nth(number).click()
        ended(page, "done")
        expect(fact(page, "Sync Line")).to_have_text(line)
    both = ["Ada King", "Grace Hopper", "Hedy"]
    assert (names_in_host(served), names_at_api(api)) == (both, both)
    page.goto(CONFLICTS)
    expect(page.get_by_text("No record has a conflict.")).to_be_visible()
    page.goto("/outkey/auditrecord/")
    expect(page.locator("tbody")).to_contain_text("resolved a conflict")


def test_a_decision_about_versions_that_have_changed_since_is_refused(
    page: Page, served: Served, api: Spar
) -> None:
    disagree(served, api, at_api="Hedy K.", in_host="Hedy Lamarr")
    page.goto(CONFLICTS)
    rename(served, "s3", "Hedwig Kiesler")
    served.command("pair", "run", NAME)
    keep(page, "s3", "the API's version")
    expect(page.get_by_text("has changed since you looked")).to_be_visible()
    conflict = conflict_of(page, "s3")
    expect(conflict).to_contain_text("Hedwig Kiesler")
    expect(conflict).not_to_contain_text("was chosen")
    keep(page, "s3", "ours")
    expect(conflict).to_contain_text("our version was chosen")


def test_a_phone_shows_conflicts_without_scrolling_sideways(
    page: Page, served: Served, api: Spar
) -> None:
    disagree(served, api, at_api="x" * 100, in_host="Hedy Keller")
    page.set_viewport_size({"width": 400, "height": 800})
    for path in (PAIRS, PAIR, CONFLICTS):
        page.goto(path)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path
    expect(conflict_of(page, "s3")).to_be_visible()


def test_who_may_not_change_the_records_decides_nothing_and_sees_no_values(
    browser: Browser, page: Page, served: Served, api: Spar
) -> None:
    disagree(served, api, at_api="Hedwig A.", in_host="Hedwig Kiesler")
    page.goto(CONFLICTS)
    keep(page, "s3", "ours")
    passwords = people(served)
    # The operator may run lines, but has no permission on the records.
    for name, statuses in {"operator": (200, 302), "auditor": (403, 403)}.items():
        context = browser.new_context(base_url=served.url)
        theirs = context.new_page()
        log_in(theirs, name, passwords[name])
        shown = theirs.goto(CONFLICTS)
        assert shown
        assert shown.status == statuses[0]
        assert "Hedwig" not in theirs.content()
        assert "s3" not in theirs.locator("body").inner_text()
        theirs.goto("/outkey/auditrecord/")
        token = theirs.locator('[name="csrfmiddlewaretoken"]').first.input_value()
        values = {"name": NAME, "key": "s3", "choice": "api", "version": "x"}
        response = context.request.post(
            f"{PAIRS}resolve/",
            form={"csrfmiddlewaretoken": token, **values},
            headers={"Referer": served.url},
            max_redirects=0,
        )
        assert response.status == statuses[1]
        context.close()
    conflicts = json.loads(served.command("pair", "conflicts", NAME, "--json"))
    (still,) = [conflict for conflict in conflicts if conflict["key"] == "s3"]
    assert still["choice"] == "host"


def test_unknown_pairs_and_choices_are_not_found_and_a_get_decides_nothing(
    page: Page, served: Served, api: Spar
) -> None:
    disagree(served, api, at_api="Hedy A.", in_host="Hedy B.")
    for path in (f"{PAIRS}pair/?name=nobody", f"{PAIRS}conflicts/"):
        shown = page.goto(path)
        assert shown
        assert shown.status == 404
    shown = page.goto(f"{PAIRS}resolve/?name=x&key=s3&choice=api")
    assert shown
    assert shown.status == 405
    page.goto(f"{CONFLICTS}&page=x")
    expect(conflict_of(page, "s3")).to_be_visible()


def test_the_page_of_a_pair_is_german_in_german(
    browser: Browser, served: Served
) -> None:
    with browser.new_context(base_url=served.url, locale="de-DE") as context:
        page = context.new_page()
        log_in(page, "admin", served.password)
        page.goto(PAIR)
        text = page.locator("main").inner_text()
        page.goto(PAIRS)
        text += page.locator("main").inner_text()
    assert "Ein Benutzer entscheidet" in text
    found = [word for word, one in english_patterns().items() if one.search(text)]
    assert found == []
