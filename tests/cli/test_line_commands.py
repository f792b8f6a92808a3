"""Sync lines from the command line: pull, push, dry run, resumption, history."""

import json

import pytest

from cli.conftest import Done, Terminal
from outkey.spar import Spar

STYLES = {
    "page": 'kind = "page"\nsize_parameter = "per_page"\nposition_parameter = "page"',
    "offset": 'kind = "offset"\nsize_parameter = "per_page"\nposition_parameter = "offset"',
    "cursor": 'kind = "cursor"\nposition_parameter = "after"\ncursor = "next"',
    "link": 'kind = "link"',
}


def document(spar: Spar, style: str = "page", count: int = 250) -> str:
    return f"""
[configuration.shop]
base_url = "{spar.url}"
network = "internal"
authentication_type = "bearer"
token = "env:SHOP_TOKEN"

[line.contacts]
configuration = "shop"
direction = "pull"
path = "/records/contacts"
query = {{ style = "{style}", count = "{count}" }}
records = "items"
target = "demo.contact"
keys = ["external_id"]
gone = "archive"

[line.contacts.pagination]
{STYLES[style]}
size = 100

[[line.contacts.fields]]
api = "id"
host = "external_id"
required = true

[[line.contacts.fields]]
api = "full_name"
host = "name"
transform = "text"

[[line.contacts.fields]]
api = "credit"
host = "credit"
transform = "decimal"
"""


class Shop:
    """A terminal that says how each command must end."""

    def __init__(self, terminal: Terminal) -> None:
        self.terminal = terminal
        terminal.settings["SHOP_TOKEN"] = "spar-token"

    def run(self, *arguments: str, stdin: str = "", code: int) -> Done:
        done = self.terminal(*arguments, stdin=stdin)
        assert done.code == code, done.err
        return done


@pytest.fixture
def shop(outkey: Terminal) -> Shop:
    return Shop(outkey)


@pytest.mark.parametrize("style", STYLES)
def test_a_line_pulls_every_record_once_however_pages_are_handed_out(
    shop: Shop, spar: Spar, style: str
) -> None:
    shop.run("apply", "-", stdin=document(spar, style), code=0)
    done = json.loads(shop.run("line", "run", "contacts", "--json", code=0).out)
    assert (done["state"], done["created"], done["failed"]) == ("done", 250, 0)
    again = json.loads(shop.run("line", "run", "contacts", "--json", code=0).out)
    assert (again["created"], again["updated"], again["unchanged"]) == (0, 0, 250)


def test_a_dry_run_shows_what_would_change_and_changes_nothing(shop: Shop, spar: Spar) -> None:
    shop.run("apply", "-", stdin=document(spar, count=3), code=0)
    said = shop.run("line", "run", "contacts", "--dry-run", code=0).out
    assert "Contact 2" in said
    assert "would be: 3 created" in said
    done = json.loads(shop.run("line", "run", "contacts", "--json", code=0).out)
    assert done["created"] == 3


def test_what_is_gone_is_archived(shop: Shop, spar: Spar) -> None:
    shop.run("apply", "-", stdin=document(spar, count=30), code=0)
    shop.run("line", "run", "contacts", code=0)
    shop.run("apply", "-", stdin=document(spar, count=20), code=0)
    done = json.loads(shop.run("line", "run", "contacts", "--json", code=0).out)
    assert (done["unchanged"], done["archived"]) == (20, 10)


def test_lines_and_runs_are_listed_and_shown(shop: Shop, spar: Spar) -> None:
    shop.run("apply", "-", stdin=document(spar, count=5), code=0)
    assert "demo.contact" in shop.run("line", "list", code=0).out
    (line,) = json.loads(shop.run("line", "list", "--json", code=0).out)
    assert (line["name"], line["direction"]) == ("contacts", "pull")
    assert "[line.contacts]" in shop.run("line", "show", "contacts", code=0).out
    shown = json.loads(shop.run("line", "show", "contacts", "--json", code=0).out)
    assert shown["findings"] == []
    shop.run("line", "run", "contacts", code=0)
    (run,) = json.loads(shop.run("run", "list", "--json", code=0).out)
    assert run["created"] == 5
    assert "5 created" in shop.run("run", "show", run["run"], code=0).out
    assert json.loads(shop.run("run", "show", run["run"], "--json", code=0).out)["left_out"] == []


def test_a_refused_token_ends_the_run_with_its_cause(shop: Shop, spar: Spar) -> None:
    shop.terminal.settings["SHOP_TOKEN"] = "wrong"
    shop.run("apply", "-", stdin=document(spar), code=0)
    refused = shop.run("line", "run", "contacts", "--json", code=1)
    assert json.loads(refused.out)["error"]["code"] == "invalid_credentials"
    (run,) = json.loads(shop.run("run", "list", "--json", code=0).out)
    assert (run["state"], run["cause"]) == ("failed", "invalid_credentials")


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ('host = "name"', 'host = "nobody"'),
        ('target = "demo.contact"', 'target = "auth.user"'),
        ('records = "items"', 'records = "items["'),
    ],
)
def test_a_line_that_cannot_work_is_refused_before_anything_is_asked(
    shop: Shop, spar: Spar, change: str, field: str
) -> None:
    shop.run("apply", "-", stdin=document(spar).replace(change, field), code=0)
    spar.clear()
    shop.run("line", "run", "contacts", code=2)
    assert spar.journal == []


def test_an_unknown_line_or_run_is_a_wrong_call(shop: Shop) -> None:
    for call in (("line", "run", "nobody"), ("run", "show", "17"), ("run", "cancel", "x")):
        assert shop.run(*call, code=2).err.startswith("error[")


def test_applying_tells_what_is_wrong_with_a_line(shop: Shop, spar: Spar) -> None:
    text = document(spar).replace('direction = "pull"', 'direction = "pull"\nschedule = "daily"')
    said = shop.run("apply", "-", stdin=text, code=0).err
    assert "error shop.line.contacts.schedule: the schedule is no cron expression" in said
    closed = document(spar).replace("demo.contact", "demo.unknown")
    applied = json.loads(shop.run("apply", "-", "--json", stdin=closed, code=0).out)
    fields = [(found["id"], found["field"]) for found in applied["findings"]]
    assert ("L014", "line.contacts.target") in fields
    assert "line.contacts" not in shop.run("apply", "-", "--dry-run", stdin=closed, code=0).err


def test_a_failed_run_is_found_and_repeated_by_a_worker(shop: Shop, spar: Spar) -> None:
    shop.run("apply", "-", stdin=document(spar), code=0)
    shop.terminal.settings["SHOP_TOKEN"] = "wrong"
    shop.run("line", "run", "contacts", code=1)
    (failed,) = json.loads(shop.run("run", "list", "--state", "failed", "--json", code=0).out)
    said = shop.run("run", "repeat", failed["run"], code=0).out
    assert "contacts: waiting" in said
    assert "a worker takes it" in said
    (waiting,) = json.loads(shop.run("run", "list", "--state", "waiting", "--json", code=0).out)
    assert (waiting["attempt"], waiting["due_at"] > 0) == (1, True)
    shop.run("run", "cancel", waiting["run"], code=0)
    assert json.loads(shop.run("run", "list", "--state", "waiting", "--json", code=0).out) == []
    assert "waiting|running|done" in shop.run("run", "list", "--state", "lost", code=2).err


def test_what_an_api_hands_back_of_a_secret_is_neither_told_nor_kept(
    shop: Shop, spar: Spar
) -> None:
    shop.terminal.settings["SHOP_TOKEN"] = "sekret-canary"
    text = document(spar).replace("/records/contacts", "/echo/sekret-canary")
    echo = text.replace('records = "items"', 'records = "[@]"').replace('"page"', '"none"')
    dry = echo.replace('"id"', '"method"').replace('"full_name"', '"path"')
    shop.run("apply", "-", stdin=dry.replace('"credit"\nhost', '"body"\nhost'), code=0)
    said = shop.run("line", "run", "contacts", "--dry-run", code=0).out
    assert ("name: '***' → '***'" in said, "canary" in said) == (True, False)
    wrong = echo.replace('"id"', '"reverse(path)"').replace('"credit"\nhost', '"method"\nhost')
    shop.run("apply", "-", stdin=wrong, code=0)
    assert "yranac" not in shop.run("line", "run", "contacts", code=0).out
    (run, _) = json.loads(shop.run("run", "list", "--json", code=0).out)
    shown = shop.run("run", "show", run["run"], code=0).out
    assert ("***" in shown, "yranac" in shown) == (True, False)
