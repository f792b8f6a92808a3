"""Sync lines from the command line: pull, push, dry run, resumption, history."""

import json
import re
import signal
import sqlite3
import subprocess
import time
from contextlib import closing

import pytest

import forks
from cli.conftest import Done, Terminal
from outkey.spar import Spar

STYLES = {
    "page": 'kind = "page"\nsize_parameter = "per_page"\nposition_parameter = "page"',
    "offset": (
        'kind = "offset"\nsize_parameter = "per_page"\nposition_parameter = "offset"'
    ),
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
        terminal.settings |= {"SHOP_TOKEN": "spar-token", "OUTKEY_DEMO": "1"}

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


def test_a_dry_run_shows_what_would_change_and_changes_nothing(
    shop: Shop, spar: Spar
) -> None:
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
    assert (
        json.loads(shop.run("run", "show", run["run"], "--json", code=0).out)[
            "left_out"
        ]
        == []
    )


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
    for call in (("run", "show", "17"), ("run", "cancel", "x")):
        assert shop.run(*call, code=2).err.startswith("error[")
    for call in (("line", "run", "nobody"), ("line", "show", "nobody")):
        said = shop.run(*call, code=2).err
        assert said.startswith("error[unknown_configuration]")
        assert "hint: See: outkey line list" in said


def test_applying_tells_what_is_wrong_with_a_line(shop: Shop, spar: Spar) -> None:
    text = document(spar).replace(
        'direction = "pull"', 'direction = "pull"\nschedule = "daily"'
    )
    said = shop.run("apply", "-", stdin=text, code=0).err
    assert (
        "error shop.line.contacts.schedule: the schedule is not a cron expression"
        in said
    )
    closed = document(spar).replace("demo.contact", "demo.unknown")
    applied = json.loads(shop.run("apply", "-", "--json", stdin=closed, code=0).out)
    fields = [(found["id"], found["field"]) for found in applied["findings"]]
    assert ("L014", "line.contacts.target") in fields


def test_a_failed_run_is_found_and_repeated_by_a_worker(shop: Shop, spar: Spar) -> None:
    shop.run("apply", "-", stdin=document(spar), code=0)
    shop.terminal.settings["SHOP_TOKEN"] = "wrong"
    shop.run("line", "run", "contacts", code=1)
    (failed,) = json.loads(
        shop.run("run", "list", "--state", "failed", "--json", code=0).out
    )
    said = shop.run("run", "repeat", failed["run"], code=0).out
    assert said.startswith("contacts: waiting, run ")
    assert "a worker takes it" in said
    (waiting,) = json.loads(
        shop.run("run", "list", "--state", "waiting", "--json", code=0).out
    )
    assert (waiting["attempt"], waiting["due_at"] > 0) == (1, True)
    shop.run("run", "cancel", waiting["run"], code=0)
    assert (
        json.loads(shop.run("run", "list", "--state", "waiting", "--json", code=0).out)
        == []
    )
    assert (
        "waiting|running|done" in shop.run("run", "list", "--state", "lost", code=2).err
    )


def test_what_an_api_hands_back_of_a_secret_is_neither_told_nor_kept(
    shop: Shop, spar: Spar
) -> None:
    shop.terminal.settings["SHOP_TOKEN"] = "sekret-canary"
    text = document(spar).replace("/records/contacts", "/echo/sekret-canary")
    echo = text.replace('records = "items"', 'records = "[@]"').replace(
        '"page"', '"none"'
    )
    dry = echo.replace('"id"', '"method"').replace('"full_name"', '"path"')
    shop.run("apply", "-", stdin=dry.replace('"credit"\nhost', '"body"\nhost'), code=0)
    said = shop.run("line", "run", "contacts", "--dry-run", code=1).out
    assert ("***  : secret_in_record" in said, "canary" in said) == (True, False)
    wrong = echo.replace('"id"', '"reverse(path)"').replace(
        '"credit"\nhost', '"method"\nhost'
    )
    shop.run("apply", "-", stdin=wrong, code=0)
    assert "yranac" not in shop.run("line", "run", "contacts", code=1).out
    run, _ = json.loads(shop.run("run", "list", "--json", code=0).out)
    shown = shop.run("run", "show", run["run"], code=0).out
    assert ("***" in shown, "yranac" in shown) == (True, False)


def test_applying_says_which_lines_are_new_changed_or_as_they_were(
    shop: Shop, spar: Spar
) -> None:
    text = document(spar)
    planned = shop.run("apply", "-", "--dry-run", stdin=text, code=0).out
    assert planned == "would be created: shop\nwould be created: line contacts\n"
    assert shop.run("line", "list", "--json", code=0).json == []
    said = shop.run("apply", "-", stdin=text, code=0).out
    assert said == "created: shop\ncreated: line contacts\n"
    again = shop.run("apply", "-", "--json", stdin=text, code=0).json
    assert again["lines"] == {"created": [], "updated": [], "unchanged": ["contacts"]}
    changed = document(spar, count=3)
    said = shop.run("apply", "-", "--dry-run", stdin=changed, code=0).out
    assert said == "would be updated: line contacts\nwould be unchanged: shop\n"
    applied = shop.run("apply", "-", "--json", stdin=changed, code=0).json
    assert (applied["unchanged"], applied["lines"]["updated"]) == (
        ["shop"],
        ["contacts"],
    )


def test_a_dry_run_of_a_document_tells_what_is_wrong_with_its_lines(
    shop: Shop, spar: Spar
) -> None:
    text = document(spar).replace("demo.contact", "demo.unknown")
    said = shop.run("apply", "-", "--dry-run", "--json", stdin=text, code=0).json
    assert ("L014", "line.contacts.target") in [
        (f["id"], f["field"]) for f in said["findings"]
    ]
    assert shop.run("list", "--json", code=0).json == []


def test_cancelling_says_what_became_of_the_run(shop: Shop, spar: Spar) -> None:
    shop.run("apply", "-", stdin=document(spar, count=3), code=0)
    shop.run("line", "run", "contacts", code=0)
    said = shop.run("run", "cancel", "1", code=0).out
    assert said == "it has ended already: done, 3 created\n"
    told = shop.run("run", "cancel", "1", "--json", code=0).json
    assert told == {"done": "unchanged", "run": "1", "state": "done"}
    shop.run("run", "repeat", "1", code=0)
    assert shop.run("run", "cancel", "2", code=0).out == "cancelled: 2\n"
    assert (
        shop.run("run", "cancel", "2", code=0).out
        == "it has ended already: cancelled\n"
    )
    change(shop, "UPDATE outkey_run SET state = 'running' WHERE id = 2")
    said = shop.run("run", "cancel", "2", code=0).out
    assert said == "cancelled: 2; it stops at its next page\n"
    change(shop, "UPDATE outkey_run SET state = 'running' WHERE id = 2")
    told = shop.run("run", "cancel", "2", "--json", code=0).json
    assert told == {"done": "cancelled", "run": "2", "state": "cancelled"}


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_lets_the_next_one_go_on_at_once(
    shop: Shop, spar: Spar, how: signal.Signals
) -> None:
    text = document(spar, count=1500).replace("size = 100", "size = 10")
    shop.run("apply", "-", stdin=text, code=0)
    spar.clear()
    command = [*forks.OUTKEY, "line", "run", "contacts"]
    environment = shop.terminal.environment
    with forks.Popen(
        command, stderr=subprocess.PIPE, text=True, env=environment
    ) as process:
        ends = time.monotonic() + 60
        while len(spar.journal) < 5 and process.poll() is None:
            assert time.monotonic() < ends
            time.sleep(0.002)
        process.send_signal(how)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert re.fullmatch(
        r"error\[run_stopped\]: contacts was interrupted after (one page|\d+ pages),"
        r" run 1\n"
        r"hint: To resume it: outkey line run contacts\n",
        said,
    )
    (stopped,) = shop.run("run", "list", "--json", code=0).json
    assert (stopped["state"], stopped["cause"]) == ("failed", "stopping")
    assert 0 < stopped["created"] < 1500
    done = shop.run("line", "run", "contacts", "--json", code=0).json
    assert (done["run"], done["state"], done["created"]) == ("1", "done", 1500)


def test_a_dry_run_is_marked_and_its_changes_are_data(shop: Shop, spar: Spar) -> None:
    shop.run("apply", "-", stdin=document(spar, count=30), code=0)
    done = shop.run("line", "run", "contacts", "--dry-run", "--json", code=0).json
    assert (done["created"], len(done["changes"])) == (30, 20)
    assert done["changes"][1] == {
        "record": 2,
        "outcome": "created",
        "key": "c1",
        "field": "",
        "reason": "",
        "changes": {
            "external_id": [None, "c1"],
            "name": [None, "Contact 1"],
            "credit": [None, "1.50"],
        },
    }
    assert "done, dry run" in shop.run("run", "list", code=0).out
    asked = shop.run("run", "repeat", "1", code=0).out
    assert asked.startswith("contacts: waiting, dry run, run 2;")
    assert "changes" not in shop.run("line", "run", "contacts", "--json", code=0).json


def test_a_dry_run_without_changes_prints_no_table(shop: Shop, spar: Spar) -> None:
    shop.run("apply", "-", stdin=document(spar, count=3), code=0)
    shop.run("line", "run", "contacts", code=0)
    said = shop.run("line", "run", "contacts", "--dry-run", code=0).out
    assert said == "contacts: done, dry run, would be: 3 unchanged, run 2\n"
    shop.run("apply", "-", stdin=document(spar, count=0), code=0)
    assert (
        ": done, nothing to do, run 3"
        in shop.run("line", "run", "contacts", code=0).out
    )


def test_a_record_that_a_script_fails_on_is_shown_with_its_number(
    shop: Shop, spar: Spar
) -> None:
    script = (
        "def transform(record): return record if record['id'] != 'c2' else"
        " record['none']"
    )
    text = document(spar, count=5).replace('gone = "archive"', f'script = "{script}"')
    shop.run("apply", "-", stdin=text, code=0)
    titles, row, last = shop.run("line", "run", "contacts", code=0).out.splitlines()
    assert titles.split() == ["Record", "Key", "Rejected"]
    assert row.startswith("3 ")
    assert "KeyError" in row
    assert last == "contacts: done, 4 created, 1 rejected, run 1"


@pytest.mark.parametrize("more", [(), ("--dry-run",)])
def test_a_run_that_could_take_no_record_fails(
    shop: Shop, spar: Spar, more: tuple[str, ...]
) -> None:
    text = document(spar, count=3).replace('"full_name"', '"nothing"\nrequired = true')
    shop.run("apply", "-", stdin=text, code=0)
    done = shop.run("line", "run", "contacts", *more, code=1)
    assert "name: missing" in done.out
    assert "3 rejected, run 1" in done.out
    assert done.err.startswith("error[sync_failed]: every record was rejected\nhint: ")
    told = shop.run("line", "run", "contacts", *more, "--json", code=1).json
    assert (told["state"], told["failed"], told["error"]["code"]) == (
        "done",
        3,
        "sync_failed",
    )


def test_a_number_out_of_range_is_told_the_range(shop: Shop) -> None:
    assert "--runs <1 to 64>" in shop.run("worker", "--runs", "0", code=2).err
    assert "--limit <1 to 1000>" in shop.run("run", "list", "--limit", "0", code=2).err


def change(shop: Shop, statement: str) -> None:
    path = shop.terminal.home / "data" / "outkey.sqlite3"
    with closing(sqlite3.connect(path, timeout=10)) as database, database:
        database.execute(statement)


def test_a_failed_run_is_shown_with_who_began_it_and_what_helps(
    shop: Shop, spar: Spar
) -> None:
    shop.run("apply", "-", stdin=document(spar), code=0)
    shop.terminal.settings["SHOP_TOKEN"] = "wrong"
    shop.run("line", "run", "contacts", code=1)
    (failed,) = json.loads(shop.run("run", "list", "--json", code=0).out)
    shown = shop.run("run", "show", failed["run"], code=0).out
    assert "started by cli:" in shown
    assert "hint: Check the username and password, or the token." in shown
    facts = json.loads(shop.run("run", "show", failed["run"], "--json", code=0).out)
    assert facts["hint"] in shown
