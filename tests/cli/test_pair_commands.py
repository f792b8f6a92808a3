"""Pairs from the command line: both directions, conflicts, and users who decide."""

import json
import re
import signal
import sqlite3
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import closing

import pytest

import forks
from cli.conftest import Done, Terminal
from cli.test_terminal import outkey_on_terminal
from outkey.spar import Spar

PULL = """
[line.people]
configuration = "crm"
direction = "pull"
path = "/records/stored"
records = "items"
target = "demo.contact"
keys = ["external_id"]
gone = "delete"
guard_percent = 100
fields = [
  { api = "id", host = "external_id" },
  { api = "name", host = "name" },
  { api = "kind", host = "kind" },
]
"""
MANY = """
[line.people]
configuration = "crm"
direction = "pull"
path = "/records/contacts"
query = { count = "300" }
records = "items"
target = "demo.contact"
keys = ["external_id"]
fields = [{ api = "id", host = "external_id" }, { api = "full_name", host = "name" }]

[line.people.pagination]
kind = "page"
size = 2
size_parameter = "per_page"
position_parameter = "page"
"""
PUSH = """
[line."send people"]
configuration = "crm"
direction = "push"
target = "demo.contact"
remote_id = "data.id"
guard_percent = 100
create = { method = "POST", path = "/records/stored" }
update = { method = "PATCH", path = "/records/stored/{remote_id}" }
delete = { method = "DELETE", path = "/records/stored/{remote_id}" }
fields = [{ host = "name", api = "name" }, { host = "email", api = "mail" }]
"""
SEND_ALL = """
[line."send people"]
configuration = "crm"
direction = "push"
target = "demo.contact"
create = { method = "POST", path = "/records/stored" }
remote_id = "data.id"
update = { method = "POST", path = "/records/stored?{remote_id}" }
fields = [{ host = "name", api = "name" }]
"""


class Crm:
    """A terminal with a pair named people, and the API at its other end."""

    def __init__(self, terminal: Terminal, api: Spar) -> None:
        self.terminal = terminal
        self.api = api
        terminal.settings |= {"CRM_TOKEN": "spar-token", "OUTKEY_DEMO": "1"}

    def apply(self, rule: str, pull: str = PULL, push: str = PUSH) -> None:
        text = f"""
[configuration.crm]
base_url = "{self.api.url}"
network = "internal"
authentication_type = "bearer"
token = "env:CRM_TOKEN"
{pull}
{push}
[pair.people]
pull = "people"
push = "send people"
{rule}
"""
        self.run("apply", "-", stdin=text, code=0)

    def run(self, *arguments: str, stdin: str = "", code: int = 0) -> Done:
        done = self.terminal(*arguments, stdin=stdin)
        assert done.code == code, done.err
        return done

    def call(self, method: str, record: str = "", **values: str) -> None:
        """Change something at the API, as another user of it does."""
        request = urllib.request.Request(
            f"{self.api.url}/records/stored{record}",
            data=json.dumps(values).encode(),
            method=method,
            headers={"Authorization": "Bearer spar-token"},
        )
        urllib.request.urlopen(request, timeout=10).close()

    def change(self, statement: str) -> None:
        """Change something in the host, as a user of the application does."""
        path = self.terminal.home / "data" / "outkey.sqlite3"
        with closing(sqlite3.connect(path, timeout=10)) as database, database:
            assert database.execute(statement).rowcount

    def names(self) -> tuple[list[str], list[str]]:
        """Return the names in the host and those at the API."""
        path = self.terminal.home / "data" / "outkey.sqlite3"
        query = "SELECT name FROM demo_contact WHERE active ORDER BY external_id"
        with closing(sqlite3.connect(path, timeout=10)) as database:
            host = [name for (name,) in database.execute(query)]
        return host, [record["name"] for record in self.api.stored.all()]

    def conflict(self) -> None:
        """Change the name of the first record on both sides, and run the pair."""
        self.call("PATCH", "/s1", name="Ada King")
        self.change("UPDATE demo_contact SET name = 'Ada L.' WHERE name = 'Ada'")
        self.run("pair", "run", "people")


@pytest.fixture
def crm(ready: Terminal) -> Iterator[Crm]:
    with Spar() as api:
        yield Crm(ready, api)


@pytest.fixture
def asking(crm: Crm) -> Crm:
    """Both sides agree on two records, and users decide conflicts."""
    crm.apply('conflict = "ask"')
    crm.call("POST", name="Ada")
    crm.call("POST", name="Grace")
    crm.run("pair", "run", "people")
    return crm


def test_each_change_travels_once_in_its_direction(asking: Crm) -> None:
    asking.call("PATCH", "/s1", name="Ada King")
    asking.change("UPDATE demo_contact SET name = 'Grace H.' WHERE name = 'Grace'")
    out = asking.run("pair", "run", "people").out
    assert out == (
        "people: done, 1 updated, 1 unchanged, run 3\n"
        "send people: done, 1 updated, 1 unchanged, run 4\n"
    )
    assert asking.names() == (["Ada King", "Grace H."], ["Ada King", "Grace H."])
    asking.api.clear()
    asking.run("pair", "run", "people")
    assert [arrival.method for arrival in asking.api.journal] == ["GET"]


@pytest.mark.parametrize(
    ("rule", "name"), [("api", "Ada King"), ("host", "Ada L."), ("", "Ada King")]
)
def test_the_rule_decides_what_both_sides_have_changed(
    asking: Crm, rule: str, name: str
) -> None:
    asking.apply(f'conflict = "{rule}"' if rule else "")
    asking.conflict()
    assert asking.names() == ([name, "Grace"], [name, "Grace"])
    said = asking.run("pair", "conflicts", "people").out
    assert said == "No record has a conflict. There is nothing to decide.\n"


def test_the_newest_change_wins(asking: Crm) -> None:
    times = 'host_changed = "changed_at"\napi_changed = "changed"'
    asking.apply(f'conflict = "newest"\n{times}')
    asking.call("PATCH", "/s1", name="Ada King", changed="2001-01-01T00:00:00Z")
    asking.call("PATCH", "/s2", name="Grace H.", changed="2099-01-01T00:00:00Z")
    asking.change("UPDATE demo_contact SET name = name || ' of the host'")
    asking.run("pair", "run", "people")
    both = ["Ada of the host", "Grace H."]
    assert asking.names() == (both, both)


@pytest.mark.parametrize(("side", "name"), [("api", "Ada King"), ("host", "Ada L.")])
def test_a_user_decides_and_the_next_run_applies_it(
    asking: Crm, side: str, name: str
) -> None:
    asking.conflict()
    assert asking.names() == (["Ada L.", "Grace"], ["Ada King", "Grace"])
    table = asking.run("pair", "conflicts", "people").out
    assert table == (
        "Key  Field  Agreed  API       Host    Choice\n"
        "s1   name   Ada     Ada King  Ada L.\n"
        "\n"
        "to decide: outkey pair resolve people KEY api|host\n"
    )
    done = asking.run("pair", "resolve", "people", "s1", side).out
    assert done == (
        f"resolved: people s1 {side}; the next run applies it: outkey pair run people\n"
    )
    (chosen,) = asking.run("pair", "conflicts", "people", "--json").json
    assert chosen["choice"] == side
    asking.run("pair", "run", "people")
    assert asking.names() == ([name, "Grace"], [name, "Grace"])
    assert asking.run("pair", "conflicts", "people", "--json").json == []


def test_the_json_of_conflicts_has_both_versions_and_the_agreed_one(
    asking: Crm,
) -> None:
    asking.conflict()
    assert asking.run("pair", "conflicts", "people", "--json").json == [
        {
            "key": "s1",
            "agreed": {"name": "Ada"},
            "api": {"name": "Ada King"},
            "host": {"name": "Ada L."},
            "choice": None,
        }
    ]
    asking.run("pair", "resolve", "people", "s1", "api")
    asking.run("pair", "run", "people")
    asking.call("DELETE", "/s2")
    asking.change("UPDATE demo_contact SET name = 'Grace H.' WHERE name = 'Grace'")
    asking.run("pair", "run", "people")
    (deleted,) = asking.run("pair", "conflicts", "people", "--json").json
    assert (deleted["api"], deleted["host"]) == (None, {"name": "Grace H."})
    shown = asking.run("pair", "conflicts", "people").out
    assert "s2   name   Grace   deleted  Grace H." in shown


def test_the_json_of_a_run_has_both_runs_as_line_run_prints_them(asking: Crm) -> None:
    asking.conflict()
    done = asking.run("pair", "run", "people", "--json").json
    assert [*done] == ["pair", "pull", "push", "conflicts"]
    assert (done["pair"], done["conflicts"]) == ("people", 1)
    line = asking.run("line", "run", "people", "--json").json
    assert done["pull"].keys() == done["push"].keys() == line.keys()
    assert (done["pull"]["line"], done["push"]["line"]) == ("people", "send people")


def test_open_conflicts_are_counted_and_are_no_failure(asking: Crm) -> None:
    asking.conflict()
    out = asking.run("pair", "run", "people", code=0).out
    assert "one record has a conflict; to see: outkey pair conflicts people" in out
    asking.call("PATCH", "/s2", name="G")
    asking.change("UPDATE demo_contact SET name = 'H' WHERE name = 'Grace'")
    out = asking.run("pair", "run", "people", code=0).out
    assert "2 records have a conflict; to see: outkey pair conflicts people" in out


def test_pairs_are_listed_and_shown_with_the_fields_of_each_side(asking: Crm) -> None:
    asking.conflict()
    assert asking.run("pair", "list").out == (
        "Pair    Pull    Push         Conflict  Open conflicts\n"
        "people  people  send people  ask                    1\n"
    )
    shown = asking.run("pair", "show", "people").out
    assert shown == (
        '[pair.people]\npull = "people"\npush = "send people"\nconflict = "ask"\n\n'
        "Fields                Names\n"
        "keys                  external_id\n"
        "shared by both sides  name\n"
        "only from the API     kind\n"
        "only to the API       email\n"
        "one record has a conflict; to see: outkey pair conflicts people\n"
    )
    facts = {
        "pair": "people",
        "pull": "people",
        "push": "send people",
        "conflict": "ask",
        "host_changed": None,
        "api_changed": None,
        "conflicts": 1,
    }
    assert asking.run("pair", "list", "--json").json == [facts]
    fields = {
        "keys": ["external_id"],
        "shared": ["name"],
        "pulled": ["kind"],
        "sent": ["email"],
    }
    assert asking.run("pair", "show", "people", "--json").json == {
        **facts,
        "fields": fields,
    }


def test_without_pairs_the_list_says_how_to_make_one(crm: Crm) -> None:
    assert crm.run("pair", "list").out == (
        "There are no pairs yet. Apply a document with [pair.NAME]: outkey apply FILE\n"
    )
    assert crm.run("pair", "list", "--json").json == []


@pytest.mark.parametrize("command", ["show", "run", "conflicts"])
def test_an_unknown_pair_is_a_wrong_usage_with_a_hint(crm: Crm, command: str) -> None:
    crm.apply("")
    done = crm.run("pair", command, "nobody", code=2)
    assert done.err == (
        "error[unknown_configuration]: there is no such pair\n"
        "hint: See: outkey pair list\n"
    )


def test_what_cannot_be_resolved_is_refused_with_what_to_do(asking: Crm) -> None:
    asking.conflict()
    done = asking.run("pair", "resolve", "people", "s2", "api", code=2)
    assert "no record with this key has a conflict" in done.err
    assert "hint: List them with: outkey pair conflicts people" in done.err
    done = asking.run("pair", "resolve", "people", "s1", "mine", code=2)
    assert "choose api or host" in done.err
    assert "mine" not in done.err
    asking.run("pair", "resolve", "nobody", "s1", "api", code=2)
    (still,) = asking.run("pair", "conflicts", "people", "--json").json
    assert still["choice"] is None


def test_the_audit_has_who_decided_and_no_value_of_the_record(asking: Crm) -> None:
    asking.conflict()
    done = asking.run("pair", "resolve", "people", "s1", "host", "--json").json
    assert done == {"done": "resolved", "pair": "people", "key": "s1", "choice": "host"}
    records = asking.run("audit", "list", "--json").json
    (record,) = [one for one in records if one["tag"] == "api:conflict:resolved"]
    assert record["actor"].startswith("cli:")
    assert "people" in json.dumps(record)
    assert "Ada" not in json.dumps(record)


def test_the_push_does_not_begin_after_a_pull_that_failed(asking: Crm) -> None:
    asking.change("UPDATE demo_contact SET name = 'Grace H.' WHERE name = 'Grace'")
    asking.api.clear()
    asking.terminal.settings["CRM_TOKEN"] = "wrong"
    done = asking.run("pair", "run", "people", code=1)
    assert "people: failed (invalid credentials), run 3\n" in done.out
    assert "error[" in done.err
    assert "hint: " in done.err
    failed = asking.run("pair", "run", "people", "--json", code=1).json
    assert (failed["pull"], failed["push"]) == (None, None)
    assert failed["error"]["code"] == "invalid_credentials"
    assert {arrival.method for arrival in asking.api.journal} == {"GET"}


def test_a_stop_by_the_guard_names_the_line_the_run_and_the_command(crm: Crm) -> None:
    crm.apply("", push=PUSH.replace("guard_percent = 100", "guard_percent = 10"))
    for name in ("Ada", "Grace", "Edsger"):
        crm.call("POST", name=name)
    crm.run("pair", "run", "people")
    crm.change("DELETE FROM demo_contact WHERE name != 'Ada'")
    done = crm.run("pair", "run", "people", code=1)
    shown = crm.run("run", "list", "--json").json[0]
    assert (shown["line"], shown["cause"]) == ("send people", "guard")
    failed = "send people: failed (more records are missing than the line removes"
    assert failed in done.out
    assert f"run {shown['run']}" in done.out
    assert "outkey line run 'send people' --allow-removal" in done.err
    asked = crm.run("pair", "run", "people", "--json", code=1).json
    assert "'send people' --allow-removal" in asked["error"]["hint"]
    crm.run("line", "run", "send people", "--allow-removal")


def test_a_pull_that_rejects_every_record_fails_the_pair(asking: Crm) -> None:
    asking.apply("", PULL.replace('"name", host', '"nothing", required = true, host'))
    done = asking.run("pair", "run", "people", code=1)
    assert "people: failed (every record was rejected), 2 rejected" in done.out
    assert "send people" not in done.out
    assert "error[sync_failed]: every record was rejected\nhint: " in done.err
    failed = asking.run("pair", "run", "people", "--json", code=1).json
    assert failed["pull"]["error"] == failed["error"]
    assert failed["push"] is None


def test_after_a_push_that_failed_the_pull_is_reported_too(asking: Crm) -> None:
    elsewhere = PUSH.replace(
        "/records/stored/{remote_id}", "/status/401?id={remote_id}"
    )
    asking.apply("", push=elsewhere)
    asking.call("PATCH", "/s1", name="Ada King")
    asking.change("UPDATE demo_contact SET name = 'Grace H.' WHERE name = 'Grace'")
    done = asking.run("pair", "run", "people", code=1)
    assert "people: done, 1 updated, 1 unchanged" in done.out
    assert "error[" in done.err
    failed = asking.run("pair", "run", "people", "--json", code=1).json
    assert failed["pull"]["state"] == "done"
    assert failed["push"] is None
    assert failed["error"]["code"]


def test_a_deleted_line_is_named_with_what_to_do(asking: Crm) -> None:
    asking.run("line", "delete", "send people", "--yes")
    for command in ("run", "show"):
        done = asking.run("pair", command, "people", code=2)
        assert "hint: See: outkey " in done.err


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_an_interrupted_pair_is_resumed_by_the_next_run(
    crm: Crm, how: signal.Signals, method: str
) -> None:
    crm.apply("", MANY, SEND_ALL)
    if method == "POST":
        crm.run("pair", "run", "people")
        crm.change("UPDATE demo_contact SET name = name || ' of the host'")
    crm.api.clear()
    command = [*forks.OUTKEY, "pair", "run", "people"]
    environment = crm.terminal.environment
    with forks.Popen(
        command, stderr=subprocess.PIPE, text=True, env=environment
    ) as process:
        ends = time.monotonic() + 60
        while process.poll() is None:
            arrived = [arrival.method for arrival in crm.api.journal]
            if arrived.count(method) >= 5:
                break
            assert time.monotonic() < ends
            time.sleep(0.002)
        process.send_signal(how)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    line = "people" if method == "GET" else "send people"
    assert re.fullmatch(
        rf"error\[run_stopped\]: {line} was interrupted after (one page|\d+ pages),"
        r" run \d+\n"
        r"hint: To resume it: outkey pair run people\n",
        said,
    )
    stopped = crm.run("run", "list", "--json").json[0]
    assert (stopped["line"], stopped["cause"]) == (line, "stopping")
    done = crm.run("pair", "run", "people", "--json").json
    assert (done["pull"]["state"], done["push"]["state"]) == ("done", "done")
    resumed = crm.run("run", "show", stopped["run"], "--json").json
    assert resumed["state"] == "done"
    # The pages of a resumed pull may be out of date, so it is run again.
    assert done["pull"]["run"] != stopped["run"]


def test_a_terminal_sees_a_progress_bar_for_each_line(asking: Crm) -> None:
    asking.terminal.settings["COLUMNS"] = "100"
    sent = outkey_on_terminal(asking.terminal, "pair", "run", "people")
    for line in (b"people ", b"send people "):
        assert re.search(re.escape(line) + rb"\S*\x1b\[[\d;]*m\xe2\x94\x81", sent)
