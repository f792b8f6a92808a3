"""What `outkey doctor` finds in a real home and prints, and what the policy decides."""

import json
import shutil
import sqlite3
import time
from html.parser import HTMLParser
from pathlib import Path

import pytest

from cli.conftest import Terminal
from outkey.administration.core.findings.posture import POSTURE_CHECKS
from outkey.foundation.core.findings.checks import Finding, Level
from outkey.hosts.cli.printing import doctor_reports as reports
from outkey.spar import Spar
from outkey.testing.canary import Canaries

DAY = 86_400


def ids(outkey: Terminal, **environment: str) -> set[tuple[str | None, str]]:
    done = outkey("doctor", "--json", **environment)
    found = done.json["findings"]
    errors = any(f["level"] == "error" for f in found)
    assert (done.code, done.json["ok"]) == ((2, False) if errors else (0, True))
    return {(f["configuration"], f["id"]) for f in found}


def change(outkey: Terminal, statement: str, *values: object) -> None:
    with sqlite3.connect(outkey.home / "data" / "outkey.sqlite3") as database:
        assert database.execute(statement, values).rowcount
    database.close()


def test_a_fresh_home_has_no_findings_and_gets_no_key(outkey: Terminal) -> None:
    done = outkey("doctor")
    assert done.code == 0
    assert done.out == (
        "audit durability: process (a record survives a killed process)\n"
        "no findings: the installation and 0 configurations are sound\n"
    )
    assert not (outkey.home / "config" / "key").exists()


def test_the_doctor_names_the_durability_that_the_policy_sets(outkey: Terminal) -> None:
    assert outkey("doctor", "--json").json["audit_durability"] == "process"
    policy = outkey.home / "config" / "policy.toml"
    policy.write_text('[audit]\ndurability = "power"\n')
    assert outkey("doctor", "--json").json["audit_durability"] == "power"
    line = "audit durability: power (a record survives a power failure)"
    assert line in outkey("doctor").out
    page = outkey("doctor", "--format", "html").out
    assert f"<p>{line}</p>" in page


def test_a_policy_that_cannot_be_read_stops_requests(
    ready: Terminal, spar: Spar
) -> None:
    policy = ready.home / "config" / "policy.toml"
    policy.write_text('[audit]\ndurability = "disk"\n')
    refused = ready("request", "acme", "/bearer")
    assert refused.code == 2
    assert "audit.durability must be one of: process, power" in refused.err
    assert spar.journal == []


def test_what_an_earlier_version_saved_is_reported_and_can_be_corrected(
    outkey: Terminal,
) -> None:
    text = (
        '[configuration.old]\nbase_url = "https://old.example"\nauthentication_type ='
        ' "bearer"'
    )
    outkey("apply", "-", stdin=text)
    outkey("secret", "set", "old", "token", stdin="t")
    change(
        outkey, "UPDATE outkey_configuration SET base_url = 'https://169.254.169.254'"
    )
    assert ("old", "E-egress_denied") in ids(outkey)
    assert outkey("show", "old", "--json").json["base_url"] == "https://169.254.169.254"
    assert outkey("apply", "-", stdin='[configuration.old]\nnotes = "more"').code == 3
    assert outkey("secret", "set", "old", "token", stdin="t2").code == 0
    assert outkey("apply", "-", stdin=text).code == 0
    assert ("old", "E-egress_denied") not in ids(outkey)
    change(
        outkey, "UPDATE outkey_configuration SET base_url = 'https://169.254.169.254'"
    )
    assert outkey("delete", "old", "--yes").code == 0


@pytest.fixture(scope="session")
def good_home(session_spar: Spar, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a home with a tested and used configuration; its URL is set afterwards."""
    run = Terminal(tmp_path_factory.mktemp("good") / "home", Canaries())
    document = f"""
[configuration.good]
base_url = "{session_spar.url}"
network = "internal"
authentication_type = "bearer"
token_expires_on = 2100-01-01
limits = {{ requests_per_minute = 600 }}
verification = {{ test_path = "/bearer" }}
"""
    run("apply", "-", stdin=document)
    run("secret", "set", "good", "token", stdin="spar-token")
    assert run("test", "good").code == 0
    assert run("request", "good", "/bearer").code == 0
    change(run, "UPDATE outkey_configuration SET base_url = 'https://api.acme.example'")
    # bound to the new address
    run("secret", "set", "good", "token", stdin="spar-token")
    return run.home


@pytest.fixture
def good(good_home: Path, outkey: Terminal) -> Terminal:
    shutil.copytree(good_home, outkey.home)
    return outkey


def test_a_good_configuration_has_no_findings(good: Terminal) -> None:
    assert ids(good) == set()


def test_weaknesses_that_are_planted_are_found(good: Terminal) -> None:
    change(good, "UPDATE outkey_secretvalue SET set_at = ?", time.time() - 400 * DAY)
    change(good, "UPDATE outkey_configuration SET verified_at = NULL, refused = 3")
    change(good, "UPDATE outkey_auditrecord SET body = '{}' WHERE number = 1")
    (good.home / "data").chmod(0o755)
    assert ids(good) == {
        (None, "P-audit-broken"),
        (None, "P-files-readable"),
        ("good", "P-old-secret"),
        ("good", "P-never-verified"),
        ("good", "P-failing"),
    }


def test_a_stored_time_that_lies_in_the_future_is_named(good: Terminal) -> None:
    until = time.time() + DAY
    lease = json.dumps({"holder": "x", "until": until})
    change(
        good,
        "INSERT INTO outkey_sharedstate (kind, key, generation, value)"
        " VALUES ('lease', 'monitoring', 1, ?)",
        lease,
    )
    assert ids(good) == {(None, "P-future-time")}
    assert "leases of background work: monitoring" in good("doctor").out


def test_a_key_that_others_may_read_or_that_is_missing_is_an_error(
    good: Terminal,
) -> None:
    key = good.home / "config" / "key"
    key.chmod(0o644)
    assert ids(good) == {(None, "P-key-readable"), (None, "P-sealed")}
    key.unlink()
    assert ids(good) == {(None, "P-sealed")}


def test_a_database_that_does_not_answer_is_an_error(outkey: Terminal) -> None:
    nobody = "postgresql://x@127.0.0.1:1/x"
    assert ids(outkey, OUTKEY_DATABASE_URL=nobody) == {(None, "P-database")}


WEAK = """
[configuration."<b>odd</b>"]
base_url = "http://10.0.0.1:9"
network = "internal"
authentication_type = "bearer"
token = "env:ONE"
[configuration.shop]
base_url = "https://shop.example"
authentication_type = "bearer"
token = "env:OTHER"
"""


SHARED = "another configuration has the same secret"


def test_findings_are_grouped_and_nothing_of_a_shared_secret_is_shown(
    outkey: Terminal, canary: Canaries
) -> None:
    outkey("apply", "-", stdin=WEAK)
    token = canary("shared")
    done = outkey("doctor", ONE=token, OTHER=f"Bearer {token}")
    lines = [" ".join(line.split()) for line in done.out.splitlines()]
    assert (done.code, lines[0]) == (0, "<b>odd</b>")
    assert lines[1:5] == [
        "warning P-plain-http base_url: requests are sent unencrypted",
        "Use https, also inside your own network.",
        f"warning P-shared-secret token: {SHARED}: also used by shop",
        (
            "Get a secret for each configuration, so that one can be revoked without"
            " the others."
        ),
    ]
    assert (
        lines[-1]
        == "0 errors, 3 warnings, 6 notices: the installation and 2 configurations"
    )


def test_a_hint_names_its_configuration_and_what_can_never_send_is_an_error(
    outkey: Terminal,
) -> None:
    text = "\n".join(
        f'[configuration."{name}"]\nbase_url = "https://a.example"\nactive = {active}\n'
        'authentication_type = "bearer"\ntoken = "env:NOBODY_SETS_THIS"'
        for name, active in (("my shop", "true"), ("off", "false"))
    )
    outkey("apply", "-", stdin=text)
    done = outkey("doctor", "--json")
    assert done.code == 2
    first, *others = done.json["findings"]
    assert (first["configuration"], first["id"]) == ("my shop", "E-secret_missing")
    assert "Test it: outkey test 'my shop'." in {other["hint"] for other in others}
    assert {"error"} & {o["level"] for o in others} == set()
    assert [o["configuration"] for o in others] == sorted(
        o["configuration"] for o in others
    )


def test_what_the_policy_blocks_is_not_applied_and_named_at_once(
    outkey: Terminal,
) -> None:
    policy = outkey.home / "config" / "policy.toml"
    outkey("list")
    policy.write_text('[production]\nblocking = ["P-no-rate-limit", "P-plain-http"]\n')
    text = '[configuration.a]\nbase_url = "http://a.example"\nnetwork = "internal"'
    done = outkey("apply", "-", "--json", stdin=text)
    assert (done.code, done.json["error"]["code"]) == (3, "policy")
    assert "blocks P-plain-http, P-no-rate-limit" in done.json["error"]["message"]
    assert done.json["error"]["hint"].startswith("Use https")
    assert outkey("list", "--json").json == []


def test_the_policy_makes_errors_and_what_is_wrong_with_it_is_one(
    good: Terminal,
) -> None:
    policy = good.home / "config" / "policy.toml"
    policy.write_text('[production]\nblocking = ["P-never-verified"]\n')
    change(good, "UPDATE outkey_configuration SET verified_at = NULL")
    done = good("doctor", "--json")
    (found,) = done.json["findings"]
    assert (done.code, found["id"], found["level"]) == (2, "P-never-verified", "error")
    policy.write_text('[production]\nblocking = ["P-no-such-check"]\n')
    done = good("doctor", "--json")
    assert (done.code, done.json["error"]["field"]) == (2, "production.blocking")


def test_pruning_keeps_to_the_retention(good: Terminal) -> None:
    done = good("audit", "prune", "--yes", OUTKEY_RETENTION_DAYS="5")
    assert (done.code, done.out) == (0, "removed: 0 records\n")
    done = good("audit", "prune", "--json", OUTKEY_RETENTION_DAYS="soon")
    assert done.code == 2


def test_the_page_needs_nothing_else_and_runs_nothing(
    outkey: Terminal, tmp_path: Path
) -> None:
    file = tmp_path / "report.html"
    done = outkey("doctor", "--format", "html", "--output", str(file))
    assert (done.code, done.out) == (0, "")
    assert "no findings" in file.read_text("utf-8")
    page = Tags()
    page.feed(reports.as_html(reports.Examination(FOUND, 1, None), "1 < 2"))
    assert {"table", "style", "h2"} <= page.seen
    assert not page.seen & {"script", "b", "img", "link", "iframe", "a"}


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.seen: set[str] = set()

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.seen.add(tag)


FOUND = [
    ("", Finding("P-sealed", Level.ERROR, "<script>", "<img>")),
    ("<b>odd</b>", Finding("P-plain-http", Level.WARNING, "m", "h", "base_url")),
]


def test_sarif_names_every_rule_and_has_what_the_standard_requires() -> None:
    document = json.loads(reports.as_sarif(FOUND))
    assert document["version"] == "2.1.0"
    (run,) = document["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == [check.id for check in POSTURE_CHECKS]
    assert run["tool"]["driver"]["name"]
    assert all(
        rule["shortDescription"]["text"] and rule["help"]["text"] for rule in rules
    )
    first, second = run["results"]
    assert (first["ruleId"], first["level"]) == ("P-sealed", "error")
    assert second["message"]["text"] == "m. h"
    (where,) = second["locations"][0]["logicalLocations"]
    assert where["fullyQualifiedName"] == "configuration.<b>odd</b>.base_url"


def test_levels_have_colours_on_a_terminal_and_names_cannot_steer_it() -> None:
    found = [("\x1b[2J", Finding("P-unused", Level.ERROR, "m", "h"))]
    assert "\x1b[31merror" in reports.as_text(found, colours=True)
    assert "\x1b" not in reports.as_text(found, colours=False)


@pytest.mark.parametrize(
    "arguments", [("--json", "--format", "html"), ("--output", "/nowhere/at/all")]
)
def test_a_wrong_call_is_told(outkey: Terminal, arguments: tuple[str, ...]) -> None:
    assert outkey("doctor", *arguments).code == 2
