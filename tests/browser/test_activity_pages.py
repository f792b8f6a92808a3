"""Activity: an auditor finds out who changed what, and what was sent."""

import csv
import json
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from browser.conftest import Served
from browser.test_pages import follow, run_test, tab
from outkey.spar import Spar

ACTIVITY = "/outkey/auditrecord/"
CANARY = "activity-canary-81f3"


@pytest.fixture(scope="module")
def shop(served: Served, spar: Spar) -> str:
    """A configuration that was changed, sent with, refused, and synchronized."""
    name = "activity shop"
    served.command("apply", "-", stdin=document(spar, name, active=True, retries=2))
    served.command("secret", "set", name, "token", stdin="spar-token")
    served.command("apply", "-", stdin=document(spar, name, active=True, retries=5))
    served.command("request", name, "GET", "/bearer")
    served.command("line", "run", "activity pull")
    return name


def document(spar: Spar, name: str, *, active: bool, retries: int) -> str:
    return f"""
[configuration."{name}"]
base_url = "{spar.url}"
network = "internal"
authentication_type = "bearer"
active = {str(active).lower()}
notes = "{CANARY} {retries}"
[configuration."{name}".limits]
retries = {retries}
[line."activity pull"]
configuration = "{name}"
path = "/records/contacts"
direction = "pull"
target = "demo.contact"
keys = ["external_id"]
records = "items"
schedule = "{retries} 6 * * *"
[line."activity pull".pagination]
kind = "page"
position_parameter = "page"
size_parameter = "size"
[[line."activity pull".fields]]
api = "id"
host = "external_id"
[[line."activity pull".fields]]
api = "full_name"
host = "name"
"""


def row_with(page: Page, text: str) -> Locator:
    return page.locator("tbody tr").filter(has_text=text).first


def test_a_change_has_old_and_new_values_but_never_a_text(
    page: Page, shop: str
) -> None:
    page.goto(f"{ACTIVITY}?configuration={shop}")
    changed = row_with(page, "changed the configuration")
    expect(changed).to_contain_text("Retries: 2 → changed to 5")
    expect(changed).to_contain_text("Notes")
    expect(row_with(page, "5 6 * * *")).to_contain_text("Schedule: 2 6 * * *")
    expect(changed.locator("ul")).to_have_css("margin-top", "0px")  # on its row's line
    secret = row_with(page, f"set a secret of {shop}")
    expect(secret).to_contain_text("Token")
    expect(row_with(page, "created the sync line")).to_be_visible()
    expect(page.locator("tbody")).not_to_contain_text("replaced a secret")
    assert CANARY not in page.content()
    assert "spar-token" not in page.content()


def test_a_request_is_one_row_and_a_run_is_folded(page: Page, shop: str) -> None:
    page.goto(f"{ACTIVITY}?tab=requests&configuration={shop}")
    requests = page.locator("tbody tr")
    expect(requests).to_have_count(2)
    run = requests.filter(has_text="activity pull")
    expect(run).to_contain_text("/records/contacts")
    expect(run).to_contain_text("200 ×")
    expect(run).not_to_contain_text("? ×")
    run.locator("summary").press("Enter")
    run.get_by_role("link", name="Open the run").click()
    expect(page.get_by_role("heading", name="Run")).to_be_visible()


def test_requests_are_filtered_by_outcome_time_and_kind(page: Page, shop: str) -> None:
    page.goto(ACTIVITY)
    follow(page, page.get_by_role("link", name="Requests"))
    page.get_by_label("Configuration").fill(shop)
    page.get_by_label("Outcome").select_option("every failure")
    follow(page, page.get_by_role("button", name="Filter"))
    expect(page.get_by_text("No requests match these filters.")).to_be_visible()
    follow(page, page.get_by_role("link", name="Clear the filters"))
    page.get_by_label("When").select_option("last hour")
    follow(page, page.get_by_role("button", name="Filter"))
    expect(page.locator("tbody tr").first).to_be_visible()
    follow(page, page.get_by_role("link", name="Sign-ins"))
    expect(page.locator("tbody")).to_contain_text("signed in")
    page.get_by_label("Who").fill("web:nobody")
    page.get_by_role("button", name="Filter").press("Enter")
    expect(page.get_by_text("No records match these filters.")).to_be_visible()


def test_a_test_without_credentials_is_told_in_words(
    page: Page, served: Served, spar: Spar
) -> None:
    name = "activity test"
    served.command(
        "apply",
        "-",
        stdin=f"""
[configuration."{name}"]
base_url = "{spar.url}"
network = "internal"
authentication_type = "bearer"
[configuration."{name}".verification]
test_path = "/bearer"
""",
    )
    served.command("secret", "set", name, "token", stdin="spar-token")
    page.goto(f"{ACTIVITY}?configuration={name}")
    follow(page, row_with(page, "set a secret").get_by_role("link", name=name))
    run_test(page)
    page.locator("#f-notes").fill("not saved")
    run_test(page)
    page.goto(f"{ACTIVITY}?tab=requests&configuration={name}")
    rows = page.locator("tbody tr")
    expect(rows).to_have_count(4)
    expect(rows.filter(has_text="unsaved values")).to_have_count(2)
    expect(rows.filter(has_text="no outcome recorded")).to_have_count(0)
    compared = rows.filter(has_text="to prove that the API checks them")
    expect(compared).to_have_count(2)
    expect(compared.first).to_contain_text("refused, as it should")
    expect(page.locator("tbody .ok-error")).to_have_count(0)
    page.get_by_label("Outcome").select_option("every failure")
    follow(page, page.get_by_role("button", name="Filter"))
    expect(page.get_by_text("No requests match these filters.")).to_be_visible()


def test_a_change_leads_to_its_line(page: Page, shop: str) -> None:
    page.goto(f"{ACTIVITY}?configuration={shop}")
    created = row_with(page, "created the sync line")
    follow(page, created.get_by_role("link", name="activity pull"))
    expect(page.get_by_role("heading", level=1)).to_contain_text("activity pull")


def test_a_user_is_found_by_name_and_the_tabs_keep_the_filters(
    page: Page, shop: str
) -> None:
    page.goto(f"{ACTIVITY}?tab=sign-ins&period=day")
    page.get_by_label("Who").fill("admin")
    follow(page, page.get_by_role("button", name="Filter"))
    expect(row_with(page, "signed in")).to_contain_text("admin (pages)")
    follow(page, page.get_by_role("link", name="Changes"))
    expect(page.get_by_label("Who")).to_have_value("admin")
    expect(page.get_by_label("When")).to_have_value("day")
    page.get_by_label("Configuration").fill(shop)
    page.get_by_label("Who").fill("")
    follow(page, page.get_by_role("button", name="Filter"))
    expect(row_with(page, "created the configuration")).to_contain_text(
        "(command line)"
    )
    follow(page, page.get_by_role("link", name="Requests"))
    expect(page.get_by_label("Configuration")).to_have_value(shop)
    expect(page.get_by_label("When")).to_have_value("day")


def test_a_renamed_configuration_keeps_its_activity(
    page: Page, served: Served, spar: Spar
) -> None:
    served.command(
        "apply",
        "-",
        stdin=f"""
[configuration."before rename"]
base_url = "{spar.url}"
network = "internal"
no_auth_reason = "development"
""",
    )
    served.command("request", "before rename", "GET", "/echo")
    served.command("rename", "before rename", "after rename")
    page.goto(f"{ACTIVITY}?configuration=after rename")
    expect(page.locator("tbody tr")).to_have_count(2)
    renamed = row_with(page, "renamed the configuration")
    expect(renamed).to_contain_text("before rename → changed to after rename")
    expect(row_with(page, "created the configuration")).to_be_visible()
    page.goto(ACTIVITY)
    rows = page.locator("tbody tr").filter(has_text="renamed the configuration")
    expect(rows.filter(has_text="after rename")).to_have_count(1)
    page.goto(f"{ACTIVITY}?tab=requests&configuration=after rename")
    expect(page.locator("tbody tr")).to_have_count(1)
    follow(page, page.locator("tbody").get_by_role("link", name="before rename"))
    tab(page, "History")
    history = page.locator("#history-records")
    expect(history).to_contain_text("created the configuration")
    expect(history).to_contain_text("/echo")
    expect(history).not_to_contain_text("engine:send")


def test_what_is_listed_is_exported(page: Page, shop: str) -> None:
    page.goto(f"{ACTIVITY}?configuration={shop}")
    with page.expect_download() as downloaded:
        page.get_by_role("button", name="Export CSV").click()
    text = Path(str(downloaded.value.path())).read_text()
    rows = list(csv.DictReader(text.splitlines()))
    assert {row["configuration"] for row in rows} == {shop}
    assert any("Retries: 2 → 5" in row["changes"] for row in rows)
    assert CANARY not in text
    page.goto(f"{ACTIVITY}?tab=requests&configuration={shop}")
    with page.expect_download() as downloaded:
        page.get_by_role("button", name="Export JSON").click()
    requests = json.loads(Path(str(downloaded.value.path())).read_text())
    assert {request["configuration"] for request in requests} == {shop}
    assert {request["status"] for request in requests} == {200}


def test_odd_filters_are_no_error(page: Page) -> None:
    for query in (
        "before=x&tab=nothing&period=century",
        "from=9999-12-31&to=9999-12-31",
        "from=0001-01-01&tab=requests",
        "tab=requests&outcome=%27;--&before=99999999999999999999",
    ):
        response = page.goto(f"{ACTIVITY}?{query}")
        assert response
        assert response.status == 200, query
