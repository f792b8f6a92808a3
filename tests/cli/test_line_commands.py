"""Sync lines from the command line: pull, push, dry run, resumption, history."""

import json
import re
import shlex
import signal
import sqlite3
import subprocess
import time
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

import forks
from cli.conftest import Done, Terminal
from outkey.spar import Spar

ROOT = Path(__file__).parents[2]

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
    assert "name: Contact 2, credit: 2.50" in said
    assert "would be: 3 created" in said
    done = json.loads(shop.run("line", "run", "contacts", "--json", code=0).out)
    assert done["created"] == 3


def test_what_is_gone_is_archived(shop: Shop, spar: Spar) -> None:
    shop.run("apply", "-", stdin=document(spar, count=30), code=0)
    shop.run("line", "run", "contacts", code=0)
    shop.run("apply", "-", stdin=document(spar, count=28), code=0)
    done = json.loads(shop.run("line", "run", "contacts", "--json", code=0).out)
    assert (done["unchanged"], done["archived"]) == (28, 2)


def test_more_than_the_guard_permits_is_removed_only_when_it_is_said(
    shop: Shop, spar: Spar
) -> None:
    text = document(spar, count=30).replace('gone = "archive"', 'gone = "delete"')
    shop.run("apply", "-", stdin=text, code=0)
    shop.run("line", "run", "contacts", code=0)
    shop.run("apply", "-", stdin=text.replace('"30"', '"20"'), code=0)
    refused = shop.run("line", "run", "contacts", code=1)
    assert "10 of 30 records are missing, and" in refused.err
    assert "outkey line run contacts --allow-removal" in refused.err
    shown = shop.run("run", "show", "2", code=0).out
    assert "outkey line run contacts --allow-removal" in shown
    (failed, *_) = json.loads(shop.run("run", "list", "--json", code=0).out)
    assert (failed["state"], failed["cause"]) == ("failed", "guard")
    allowed = shop.run("line", "run", "contacts", "--allow-removal", "--json", code=0)
    done = json.loads(allowed.out)
    assert (done["unchanged"], done["archived"], done["deleted"]) == (20, 0, 10)


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
        said = shop.run(*call, code=2).err
        assert said.startswith("error[")
        assert "hint: See: outkey run list" in said
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
    applied = json.loads(
        shop.run("apply", "-", "--replace", "--json", stdin=closed, code=0).out
    )
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
    assert waiting["attempt"] == 1
    assert datetime.fromisoformat(waiting["due_at"]).tzinfo == UTC
    shop.run("run", "cancel", waiting["run"], code=0)
    assert (
        json.loads(shop.run("run", "list", "--state", "waiting", "--json", code=0).out)
        == []
    )
    lost = shop.run("run", "list", "--state", "lost", code=2).err
    assert "waiting, running, done, failed or cancelled" in lost


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
    assert "rejected  ***  it repeats a secret that was sent to the API" in said
    assert "canary" not in said
    wrong = echo.replace('"id"', '"reverse(path)"').replace(
        '"credit"\nhost', '"method"\nhost'
    )
    shop.run("apply", "-", stdin=wrong, code=0)
    assert "yranac" not in shop.run("line", "run", "contacts", code=1).out
    run, _ = json.loads(shop.run("run", "list", "--json", code=0).out)
    shown = shop.run("run", "show", run["run"], code=0).out
    assert ("***" in shown, "yranac" in shown) == (True, False)


def headings(text: str) -> list[str]:
    """Return the lines that are not about a field."""
    return [line for line in text.splitlines() if not line.startswith(" ")]


def test_applying_says_which_lines_are_new_changed_or_as_they_were(
    shop: Shop, spar: Spar
) -> None:
    text = document(spar)
    planned = shop.run("apply", "-", "--dry-run", stdin=text, code=0).out
    assert headings(planned) == [
        "would be created: shop",
        "would be created: line contacts",
    ]
    assert shop.run("line", "list", "--json", code=0).json == []
    said = shop.run("apply", "-", stdin=text, code=0).out
    assert said == "created: shop\ncreated: line contacts\n"
    again = shop.run("apply", "-", "--json", stdin=text, code=0).json
    assert again["lines"] == {"created": [], "updated": [], "unchanged": ["contacts"]}
    changed = document(spar, count=3)
    said = shop.run("apply", "-", "--dry-run", stdin=changed, code=0).out
    assert headings(said) == [
        "would be updated: line contacts",
        "would be unchanged: shop",
    ]
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
    lines = shop.run("line", "run", "contacts", code=0).out.splitlines()
    titles, row, last, *_ = lines
    assert titles.split() == ["Record", "Key", "Rejected"]
    assert row.startswith("     3  rejected ")
    assert "KeyError" in row
    assert last == "contacts: done, 4 created, 1 rejected, run 1"


@pytest.mark.parametrize("more", [(), ("--dry-run",)])
def test_a_run_that_could_take_no_record_fails(
    shop: Shop, spar: Spar, more: tuple[str, ...]
) -> None:
    text = document(spar, count=3).replace('"full_name"', '"nothing"\nrequired = true')
    shop.run("apply", "-", stdin=text, code=0)
    done = shop.run("line", "run", "contacts", *more, code=1)
    assert "name: a value is missing" in done.out
    dry = ", dry run, would be:" if more else ","
    assert (
        f"contacts: failed (every record was rejected){dry} 3 rejected, run 1"
        in done.out
    )
    assert done.err.startswith("error[sync_failed]: every record was rejected\nhint: ")
    told = shop.run("line", "run", "contacts", *more, "--json", code=1).json
    assert (told["state"], told["cause"], told["failed"]) == (
        "failed",
        "all_refused",
        3,
    )
    assert told["error"]["code"] == "sync_failed"


def test_a_number_out_of_range_is_told_the_range(shop: Shop) -> None:
    assert (
        "--runs NUMBER, from 1 to 64." in shop.run("worker", "--runs", "0", code=2).err
    )
    assert (
        "--limit NUMBER, from 1 to 1000."
        in shop.run("run", "list", "--limit", "0", code=2).err
    )


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


def test_a_pause_that_the_api_asks_for_holds_all_lines_and_says_until_when(
    shop: Shop, spar: Spar
) -> None:
    text = document(spar).replace("/records/contacts", "/limited")
    text = text.replace('count = "250"', 'after = "3600"')
    sister = text.partition("[line.contacts]")[2].replace(
        "line.contacts", "line.sister"
    )
    shop.run("apply", "-", stdin=f"{text}\n[line.sister]{sister}", code=0)
    refused = shop.run("line", "run", "contacts", "--json", code=1).json["error"]
    assert refused["code"] == "rate_limited"
    until = re.compile(r"Retry after .* UTC\.")
    assert until.fullmatch(refused["hint"])
    for name in ("contacts", "sister"):
        done = shop.run("line", "run", name, code=3)
        assert "error[rate_limited]: the API asked for a pause" in done.err
        assert until.search(done.err)
    local = shop.terminal("line", "run", "contacts", TZ="Asia/Kolkata")
    assert re.search(r"Retry after .* IST\.", local.err)
    assert len(spar.journal) == 1


def test_a_push_of_changes_is_shown_previewed_and_sent_as_the_guide_says(
    shop: Shop, spar: Spar
) -> None:
    guide = Path(__file__).parents[2] / "docs" / "guide" / "synchronizing.md"
    blocks = re.findall(r"```toml\n(.*?)```", guide.read_text("utf-8"), re.DOTALL)
    line, find = [text for text in blocks if '"send changes"' in text]
    pull = document(spar, count=5)
    text = pull + (line + find).replace(
        'configuration = "acme"', 'configuration = "shop"'
    )
    shop.run("apply", "-", stdin=text, code=0)
    shop.run("line", "run", "contacts", code=0)
    shown = shop.run("line", "show", "send changes", code=0).out
    assert 'path = "/records/stored/{remote_id}"' in shown
    assert '[line."send changes".find]' in shown
    dry = shop.run("line", "run", "send changes", "--dry-run", "--json", code=0).json
    assert (dry["created"], dry["deleted"]) == (5, 0)
    assert [change["outcome"] for change in dry["changes"]] == ["created"] * 5
    done = shop.run("line", "run", "send changes", code=0).out
    assert "5 created" in done
    again = shop.run("line", "run", "send changes", code=0).out
    assert "5 unchanged" in again
    fewer = document(spar, count=4) + text.removeprefix(pull)
    shop.run("apply", "-", stdin=fewer, code=0)
    shop.run("line", "run", "contacts", code=0)
    dry = shop.run("line", "run", "send changes", "--dry-run", code=0).out
    assert "would be: 4 unchanged, 1 deleted" in dry
    last = shop.run("line", "run", "send changes", "--json", code=0).json
    assert (last["unchanged"], last["deleted"]) == (4, 1)
    assert len(spar.stored.all()) == 4


def test_a_push_of_changes_without_an_update_is_applied_with_a_warning(
    shop: Shop, spar: Spar
) -> None:
    text = (
        document(spar)
        + """
[line.send]
configuration = "shop"
direction = "push"
target = "demo.contact"
create = { method = "POST", path = "/records/stored" }
fields = [{ host = "name", api = "name" }]
"""
    )
    done = shop.run("apply", "-", stdin=text, code=0)
    assert "records that have changed are not sent again" in done.out + done.err


def test_rejected_records_are_counted_shown_and_tried_again(
    shop: Shop, spar: Spar
) -> None:
    text = document(spar, count=5)
    script = (
        "def transform(r):\\n    r['credit'] = 'much' if r['id'] in ('c2', 'c4')"
        " else r['credit']\\n    return r"
    )
    broken = text.replace('gone = "archive"', f'script = "{script}"')
    shop.run("apply", "-", stdin=broken, code=0)
    said = shop.run("line", "run", "contacts", code=0).out
    assert "rejected  c2   credit: the value is not a number" in said
    assert said.endswith(
        "contacts: done, 3 created, 2 rejected, run 1\n"
        "to see the rejected records: outkey run show 1\n"
        "after correcting them or the line: outkey run retry 1\n"
    )
    shown = shop.run("run", "show", "1", code=0).out
    assert ", 2 pages, all records\n" in shown
    assert "       2  the value is not a number  credit  much" in shown
    assert "c2   credit  the value is not a number  text  much" in shown
    assert shown.endswith("correcting them or the line: outkey run retry 1\n")
    facts = json.loads(shop.run("run", "show", "1", "--json", code=0).out)
    assert facts["reasons"] == [{"reason": "no_number", "field": "credit", "count": 2}]
    assert [(one["key"], one["kind"]) for one in facts["left_out"]] == [
        ("c2", "text"),
        ("c4", "text"),
    ]
    shop.run("apply", "-", "--replace", stdin=text, code=0)
    retry = json.loads(shop.run("run", "retry", "1", "--json", code=0).out)
    assert (retry["created"], retry["unchanged"], retry["retry_of"]) == (2, 0, "1")
    facts = json.loads(shop.run("run", "show", "1", "--json", code=0).out)
    assert facts["left_out"] == facts["reasons"] == []
    refused = shop.run("run", "retry", "1", code=2)
    assert "no rejected records" in refused.err


def test_a_pair_is_deleted_with_its_line(shop: Shop, spar: Spar) -> None:
    send = """
[line.send]
configuration = "shop"
direction = "push"
target = "demo.contact"
update = { method = "PATCH", path = "/records/stored/{remote_id}" }
fields = [{ api = "name", host = "name" }]
[pair.both]
pull = "contacts"
push = "send"
"""
    text = document(spar, count=3) + send
    broken = text.replace('pull = "contacts"', 'pull = "nobody"')
    refused = shop.run("apply", "-", stdin=broken, code=2)
    assert "there is no line nobody (pair.both.pull)" in refused.err
    shop.run("apply", "-", stdin=text, code=0)
    deleted = shop.run("line", "delete", "send", "--yes", code=0)
    assert deleted.out == "deleted: send, with the pair both\n"
    assert json.loads(shop.run("pair", "list", "--json", code=0).out) == []


def test_a_line_is_paused_resumed_and_deleted(shop: Shop, spar: Spar) -> None:
    shop.run("apply", "-", stdin=document(spar, count=3), code=0)
    assert shop.run("line", "pause", "contacts", code=0).out == "paused: contacts\n"
    refused = shop.run("line", "run", "contacts", code=2)
    assert refused.err.startswith("error[line_paused]: ")
    assert "outkey line resume contacts" in refused.err
    shop.run("line", "run", "contacts", "--dry-run", code=0)
    assert "paused" in shop.run("line", "list", code=0).out
    assert "outkey line resume" in shop.run("line", "show", "contacts", code=0).out
    (line,) = json.loads(shop.run("line", "list", "--json", code=0).out)
    assert line["paused"] is True
    done = json.loads(shop.run("line", "resume", "contacts", "--json", code=0).out)
    assert done == {"done": "resumed", "line": "contacts"}
    shop.run("line", "run", "contacts", code=0)
    unconfirmed = shop.run("line", "delete", "contacts", code=2)
    assert "--yes" in unconfirmed.err
    shop.run("line", "pause", "contacts", code=0)
    shop.run("line", "delete", "contacts", "--yes", code=0)
    assert json.loads(shop.run("run", "list", "--json", code=0).out) == []
    for command in ("pause", "resume", "delete", "reset"):
        unknown = shop.run("line", command, "contacts", code=2)
        assert "outkey line list" in unknown.err
    shop.run("apply", "-", stdin=document(spar, count=3), code=0)
    shop.run("line", "run", "contacts", code=0)  # a new line is not paused
    tags = [
        row["tag"]
        for row in json.loads(shop.run("audit", "list", "--json", code=0).out)
    ]
    assert {"api:line:paused", "api:line:resumed", "api:line:removed"} <= {*tags}


def test_a_line_is_reset(shop: Shop, spar: Spar) -> None:
    text = document(spar, count=3)
    shop.run("apply", "-", stdin=text, code=0)
    shop.run("line", "run", "contacts", code=0)
    assert "--yes" in shop.run("line", "reset", "contacts", code=2).err
    done = shop.run("line", "reset", "contacts", "--yes", code=0).out
    assert done == "reset: contacts, the next run begins as a first one\n"
    refused = shop.run("line", "reset", "contacts", "--since", "-1d", "--yes", code=2)
    assert "incremental.parameter" in refused.err
    text += '[line.contacts.incremental]\nparameter = "since"\nfield = "id"\n'
    shop.run("apply", "-", stdin=text, code=0)
    reset = ("line", "reset", "contacts", "--json", "--yes", "--since")
    for since, stored in (
        ("2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z"),
        ("7", "7"),
    ):
        facts = json.loads(shop.run(*reset, since, code=0).out)
        assert facts == {"line": "contacts", "since": stored, "parents": 0}
    assert "not a time" in shop.run(*reset, "soon", code=2).out
    plain = shop.run("line", "reset", "contacts", "--yes", "--since", "7", code=0).out
    assert plain == "reset: contacts, the next run begins at 7\n"
    rows = json.loads(shop.run("audit", "list", "--json", code=0).out)
    assert "api:line:reset" in {row["tag"] for row in rows}


@pytest.mark.parametrize(
    "title",
    [
        "A range of time",
        "A list for each record",
        "Exports, reports and recorded changes",
    ],
)
def test_an_example_for_the_provider_is_what_happens(
    title: str, shop: Shop, spar: Spar
) -> None:
    page = (ROOT / "docs" / "guide" / "sync-examples.md").read_text("utf-8")
    part = page.partition(f"## {title}")[2]
    text = part.partition("```toml\n")[2].partition("```")[0]
    session = part.partition("```console\n")[2].partition("```")[0]
    shop.terminal.settings["ACME_TOKEN"] = "spar-token"
    text = text.replace("http://127.0.0.1:9000", spar.url)
    applied, *steps = session.split("$ outkey ")[1:]
    file = applied.split()[-1]
    assert f"Save this as `{file}`" in part
    shop.run("apply", "-", stdin=text, code=0)
    for step in steps:
        command, _, output = step.partition("\n")
        assert shop.run(*shlex.split(command), code=0).out == output


def test_a_run_is_followed_with_its_exit_code(shop: Shop, spar: Spar) -> None:
    shop.run("apply", "-", stdin=document(spar, count=3), code=0)
    shop.run("line", "run", "contacts", code=0)
    followed = shop.run("run", "follow", "1", code=0).out
    assert followed == "contacts: done, 3 created, run 1\n"
    (fact,) = shop.run("run", "follow", "1", "--json", code=0).out.splitlines()
    assert (json.loads(fact)["state"], json.loads(fact)["created"]) == ("done", 3)
    shop.terminal.settings["SHOP_TOKEN"] = "wrong"
    shop.run("line", "run", "contacts", code=1)
    failed = shop.run("run", "follow", "2", code=1).out
    assert "contacts: failed (invalid credentials), run 2" in failed
    assert "hint: " in failed
    shop.run("run", "repeat", "2", code=0)
    shop.run("run", "cancel", "3", code=0)
    assert "cancelled" in shop.run("run", "follow", "3", code=2).out
    shop.run("run", "follow", "99", code=2)


def test_lists_inside_records_become_records(shop: Shop, spar: Spar) -> None:
    script = (
        "def transform(r):\\n    n = int(r['id'][1:])\\n    r['orders'] ="
        " [{'n': 10 * n + k} for k in range(1, n + 1)]\\n    return r"
    )
    text = document(spar, count=3).replace('gone = "archive"', f'script = "{script}"')
    text += """
[[line.contacts.children]]
list = "orders"
target = "demo.order"
parent = "contact"
keys = ["number", "year"]

[[line.contacts.children.fields]]
api = "n"
host = "number"

[[line.contacts.children.fields]]
host = "year"
transform = "constant"
options = { value = "2027" }
"""
    shop.run("apply", "-", stdin=text, code=0)
    dry = shop.run("line", "run", "contacts", "--dry-run", code=0).out
    assert "created in demo.order" in dry
    assert "would be: 3 created; children: 3 created" in dry
    facts = json.loads(
        shop.run("line", "run", "contacts", "--dry-run", "--json", code=0).out
    )
    targets = [change.get("target") for change in facts["changes"]]
    assert targets == [None, None, "demo.order", None, "demo.order", "demo.order"]
    done = json.loads(shop.run("line", "run", "contacts", "--json", code=0).out)
    children = dict.fromkeys(
        ("updated", "unchanged", "failed", "deleted", "without_list"), 0
    )
    assert (done["created"], done["children"]) == (3, {"created": 3, **children})
    fewer = text.replace("n + 1)", "n)")
    shop.run("apply", "-", stdin=fewer, code=0)
    refused = shop.run("line", "run", "contacts", code=1).err
    assert "2 of 3 children in demo.order are missing" in refused
    assert "--allow-removal" in refused
    said = shop.run("line", "run", "contacts", "--allow-removal", code=0).out
    assert said == (
        "contacts: done, 3 unchanged; children: 1 unchanged, 2 deleted, run 5\n"
    )
    listed = shop.run("run", "list", code=0).out.splitlines()
    assert listed[0].endswith("Deleted  Children")
    assert listed[1].endswith("1 unchanged, 2 deleted")


SEND = """
[line."send all"]
configuration = "shop"
direction = "push"
method = "PUT"
path = "/records/stored/{external_id}"
target = "demo.contact"
fields = [{ host = "name", api = "name" }, { host = "credit", api = "credit" }]
"""


def test_a_record_that_the_api_refuses_is_named_with_its_status_in_words(
    shop: Shop, spar: Spar
) -> None:
    text = document(spar, count=2) + SEND.replace("/stored/", "/nowhere/")
    shop.run("apply", "-", stdin=text, code=0)
    shop.run("line", "run", "contacts", code=0)
    said = shop.run("line", "run", "send all", code=1)
    assert "rejected  1    the API returned status 404" in said.out
    assert "status_" not in said.out
    shown = shop.run("run", "show", "2", code=0).out
    assert ", one page, all records\n" in shown
    assert "       2  the API returned status 404" in shown
    facts = shop.run("run", "show", "2", "--json", code=0).json
    assert [one["reason"] for one in facts["left_out"]] == ["status_404"] * 2


def test_a_run_that_a_pause_has_stopped_says_so_and_how_to_resume_the_line(
    shop: Shop, spar: Spar
) -> None:
    text = document(spar, count=1).replace("line.contacts", 'line."all contacts"')
    shop.run("apply", "-", stdin=text, code=0)
    shop.run("line", "run", "all contacts", code=0)
    shop.run("run", "repeat", "1", code=0)
    change(shop, "UPDATE outkey_run SET cause = 'line_paused' WHERE id = 2")
    shown = shop.run("run", "show", "2", code=0).out
    assert "all contacts: waiting (stopped by a pause of the line), run 2" in shown
    assert "hint: Resume it: outkey line resume 'all contacts'" in shown


def test_what_a_retry_rejects_again_is_retried_by_the_first_run(
    shop: Shop, spar: Spar
) -> None:
    script = (
        "def transform(r):\\n    r['credit'] = 'much' if r['id'] in {'c1', 'c2'}"
        " else r['credit']\\n    return r"
    )
    broken = document(spar, count=4).replace('gone = "archive"', f'script = "{script}"')
    shop.run("apply", "-", stdin=broken, code=0)
    shop.run("line", "run", "contacts", code=0)
    dry = shop.run("line", "run", "contacts", "--dry-run", code=0).out
    assert "outkey run show 2" in dry
    assert "outkey run retry" not in dry
    shop.run("apply", "-", stdin=broken.replace("'c1', ", ""), code=0)
    again = shop.run("run", "retry", "1", code=0).out
    assert "done, 1 created, 1 rejected, run 3" in again
    assert again.endswith("after correcting them or the line: outkey run retry 1\n")
    machine = shop.run("line", "run", "contacts", "--json", code=0).out
    assert "outkey run" not in machine


def test_a_dry_push_shows_the_values_that_would_be_sent(shop: Shop, spar: Spar) -> None:
    shop.run("apply", "-", stdin=document(spar, count=3) + SEND, code=0)
    shop.run("line", "run", "contacts", code=0)
    change(shop, "UPDATE demo_contact SET name = 'spar-token' WHERE id = 3")
    spar.clear()
    said = shop.run("line", "run", "send all", "--dry-run", code=0).out
    assert "     2  updated  2    name: Contact 1, credit: 1.5" in said
    assert "     3  updated  3    name: ***, credit: 2.5" in said
    facts = shop.run("line", "run", "send all", "--dry-run", "--json", code=0).json
    assert facts["changes"][1]["values"] == {"name": "Contact 1", "credit": 1.5}
    assert facts["changes"][2]["values"]["name"] == "***"
    assert spar.journal == []


def test_a_dry_push_of_changes_shows_the_new_values(shop: Shop, spar: Spar) -> None:
    send = SEND.replace('method = "PUT"', 'changes = "changed"\nmethod = "PUT"')
    shop.run("apply", "-", stdin=document(spar, count=3) + send, code=0)
    shop.run("line", "run", "contacts", code=0)
    said = shop.run("line", "run", "send all", "--dry-run", code=0).out
    assert "1    name: Contact 0, credit: 0.5" in said


def test_a_dry_run_says_how_many_changes_it_does_not_show(
    shop: Shop, spar: Spar
) -> None:
    shop.run("apply", "-", stdin=document(spar, count=30), code=0)
    said = shop.run("line", "run", "contacts", "--dry-run", code=0).out.splitlines()
    assert said[-2:] == [
        "and 10 more",
        "contacts: done, dry run, would be: 30 created, run 1",
    ]
    shop.run("apply", "-", stdin=document(spar, count=20), code=0)
    assert " more" not in shop.run("line", "run", "contacts", "--dry-run", code=0).out


@pytest.mark.parametrize("paused", [False, True])
def test_following_says_what_a_run_waits_for(
    shop: Shop, spar: Spar, *, paused: bool
) -> None:
    text = document(spar, count=1).replace("line.contacts", 'line."all contacts"')
    shop.run("apply", "-", stdin=text, code=0)
    shop.run("line", "run", "all contacts", code=0)
    shop.run("run", "repeat", "1", code=0)
    if paused:
        shop.run("line", "pause", "all contacts", code=0)
    command = [*forks.OUTKEY, "run", "follow", "2"]
    with forks.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=shop.terminal.environment,
    ) as process:
        assert process.stderr is not None
        said = process.stderr.readline()
        shop.run("run", "cancel", "2", code=0)
        out, rest = process.communicate(timeout=60)
    if paused:
        assert said == "the line is paused: outkey line resume 'all contacts'\n"
    else:
        assert said.startswith("waiting for a worker: outkey worker, or outkey serve")
    assert (out, rest) == ("all contacts: cancelled, run 2\n", "")
    assert process.returncode == 2


def test_the_guard_names_the_command_of_a_line_with_a_space_in_its_name(
    shop: Shop, spar: Spar
) -> None:
    text = document(spar, count=30).replace("line.contacts", 'line."all contacts"')
    shop.run("apply", "-", stdin=text, code=0)
    shop.run("line", "run", "all contacts", code=0)
    shop.run("apply", "-", stdin=text.replace('"30"', '"20"'), code=0)
    refused = shop.run("line", "run", "all contacts", code=1).err
    assert "outkey line run 'all contacts' --allow-removal" in refused


def test_a_run_heeds_the_stated_budget_and_so_does_the_next_process(
    shop: Shop, spar: Spar
) -> None:
    text = document(spar).replace(
        'count = "250"', 'count = "250", budget = "2", within = "2"'
    )
    text = text.replace("[line.contacts]", "limits = {retries = 0}\n[line.contacts]", 1)
    shop.run("apply", "-", stdin=text, code=0)
    refused = spar.budgets.refused
    for _ in range(2):
        shop.run("line", "run", "contacts", code=0)
    assert len(spar.journal) == 8
    assert spar.budgets.refused == refused
    patient = text.replace("retries = 0", 'retries = 0, rate_headers = "off"')
    shop.run("apply", "-", stdin=patient, code=0)
    shop.run("line", "run", "contacts", code=1)
    assert spar.budgets.refused == refused + 1
