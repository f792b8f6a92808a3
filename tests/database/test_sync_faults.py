"""Faults in the middle of a run, and many records, on both databases.

A run recovers, or stops with the cause: no gap that is not reported, nothing half
written.
"""

import json
import time
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

import pytest
from django.test import override_settings

from cli.conftest import Terminal
from cli.test_line_commands import document
from database.conftest import Cluster, stored_runs
from outkey.administration.core.document.document import parse_document
from outkey.administration.engine.editing.administration import Administration
from outkey.foundation.core.errors import OutkeyError
from outkey.spar import Spar
from outkey.spar.authority import CLIENT, CLIENT_SECRET
from outkey.spar.logins import PASSWORD, USERNAME
from outkey.spar.records_api import contact
from outkey.sync.core.run.run import Counts, RejectedRecord, Run, RunState
from outkey.testing.canary import Canaries
from programs import assert_program_passes

if TYPE_CHECKING:
    from outkey.administration.engine.application import Application
    from outkey.sync.engine.runs.runner import SyncRunner

SECONDS = 10.0  # within which the API responds
SIZE, COUNT = 100, 450  # five pages; the fault is at the third
Row = tuple[object, ...]
# What is about the API more than about the database is tried with one of the two.
ON_ONE = pytest.mark.parametrize("database", ["sqlite"], indirect=True)


@pytest.fixture(scope="module")
def spar() -> Iterator[Spar]:
    with Spar() as server:
        yield server


class Shop:
    """An installation with the line `contacts`, its API and the model that it fills."""

    def __init__(self, here: "Application", runner: "SyncRunner", spar: Spar) -> None:
        self.application, self._runner, self.spar = here, runner, spar

    def apply(
        self, style: str = "cursor", oauth2: str = "", script: str = "", **query: object
    ) -> None:
        asked = "".join(f', {name} = "{value}"' for name, value in query.items())
        text = document(self.spar, style, COUNT).replace(
            f'"{COUNT}"', f'"{COUNT}"{asked}'
        )
        if oauth2:
            text = text.replace('token = "env:SHOP_TOKEN"', oauth2)
        text = text.replace("[line.contacts]", f"{script}[line.contacts]", 1)
        administration = Administration(
            self.application.registry,
            self.application.secrets,
            self.application.audit,
            "tester",
        )
        self.application.apply(administration, parse_document(text), dry_run=False)
        self.spar.clear()

    def steps(self) -> Iterator[Run]:
        return self._runner.run("contacts", "tester")

    def run(self) -> Run:
        *_, done = self.steps()
        assert done.state is RunState.DONE
        return done

    def stopped(self) -> tuple[str, Run]:
        """Run until it stops, and return what was said and what was kept."""
        with pytest.raises(OutkeyError) as caught:
            self.run()
        kept, *_ = stored_runs().newest(1)
        assert kept.state is RunState.FAILED
        return str(caught.value.reason or caught.value.code), kept

    def target(self) -> list[Row]:
        from outkey.hosts.demo_records.models import Contact

        rows = Contact.objects.order_by("pk")
        return list(rows.values_list("external_id", "name", "credit", "active"))

    def pages(self) -> list[str]:
        """Return where each page began that was asked for, in order."""
        asked = [
            arrived
            for arrived in self.spar.journal
            if arrived.path.startswith("/records")
        ]
        return [parse_qs(arrived.query).get("after", ["0"])[0] for arrived in asked]


def source(count: int) -> list[Row]:
    theirs = [contact(number) for number in range(count)]
    return [(c["id"], c["full_name"], Decimal(str(c["credit"])), True) for c in theirs]


@pytest.fixture
def shop(
    database: str, tmp_path: Path, spar: Spar, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Shop]:
    from outkey.hosts.django.wiring import install

    home = tmp_path / "home"
    (home / "config").mkdir(parents=True)
    monkeypatch.setenv("SHOP_TOKEN", "spar-token")
    monkeypatch.setenv("SHOP_CLIENT_SECRET", CLIENT_SECRET)
    monkeypatch.setenv("SHOP_PASSWORD", PASSWORD)
    here = install(home, {})
    with override_settings(OUTKEY={"RECORDS": {"demo.Contact": {"active": False}}}):
        yield Shop(here, here.sync.runner(), spar)
    here.gateway.close()
    here.audit.close()


# ── what passes ───────────────────────────────────────────────────────────────────────


@ON_ONE
@pytest.mark.parametrize(("status", "times"), [(429, 1), (503, 2)])
def test_a_page_that_is_refused_for_a_moment_is_asked_for_again(
    shop: Shop, status: int, times: int
) -> None:
    shop.apply(fail=status, at=3, times=times)
    began = time.monotonic()
    assert shop.run().counts == Counts(created=COUNT)
    assert time.monotonic() - began >= times  # Retry-After is a second
    assert shop.pages() == ["0", "100", *["200"] * (times + 1), "300", "400"]
    assert shop.target() == source(COUNT)


SIGNS = """script = '''
def compute_auth_header(sync_line):
    return {{"X-Script": "{version}"}}
'''
"""


@ON_ONE
def test_a_run_keeps_the_script_that_it_began_with(shop: Shop) -> None:
    shop.apply(script=SIGNS.format(version="before"))
    steps = shop.steps()
    assert [next(steps).pages for _ in range(3)] == [0, 1, 2]
    wait_for_requests(shop, 3)
    journal = list(shop.spar.journal)
    shop.apply(script=SIGNS.format(version="after"))
    *_, done = steps
    signed = [dict(seen.headers)["X-Script"] for seen in [*journal, *shop.spar.journal]]
    assert (done.state, signed) == (RunState.DONE, ["before"] * 5)
    shop.run()
    assert dict(shop.spar.journal[-1].headers)["X-Script"] == "after"


def oauth2(spar: Spar, *, lifetime: int = 3600, leeway: int = 60) -> str:
    return f"""token_source = "oauth2"
[configuration.shop.oauth2]
token_url = "{spar.url}/oauth/token?lifetime={lifetime}"
client_id = "{CLIENT}"
client_secret = "env:SHOP_CLIENT_SECRET"
leeway_seconds = {leeway}
"""


@ON_ONE
def test_tokens_that_are_revoked_at_every_page_cost_one_renewal_each(
    shop: Shop,
) -> None:
    shop.apply(oauth2=oauth2(shop.spar))
    before = shop.spar.authorization.counts().token_requests
    for run in shop.steps():
        # Although their lifetime is an hour.
        shop.spar.authorization.expire_all()
        last = run
    assert last.counts == Counts(created=COUNT)
    # One for each page at most: the next page may have arrived before the revocation.
    assert 1 < shop.spar.authorization.counts().token_requests - before <= 5
    assert shop.target() == source(COUNT)


@ON_ONE
def test_a_token_that_expires_in_the_middle_is_renewed_before_the_next_page(
    shop: Shop,
) -> None:
    shop.apply(oauth2=oauth2(shop.spar, lifetime=1, leeway=0))
    for run in shop.steps():
        if run.pages == 2:
            time.sleep(1.1)
        last = run
    assert last.counts == Counts(created=COUNT)
    assert shop.pages() == ["0", "100", "200", "300", "400"]  # no page was refused
    assert shop.target() == source(COUNT)


def login(*, lifetime: int = 900) -> str:
    return f"""token_source = "login"
username = "{USERNAME}"
password = "env:SHOP_PASSWORD"
[configuration.shop.login]
path = "/login/json?lifetime={lifetime}"
body = '{{"username": "{{username}}", "password": "{{password}}"}}'
token = "data.access_token"
expires_in = "data.expires"
expires_unit = "ms"
refresh_path = "/login/refresh?lifetime={lifetime}"
refresh_body = '{{"refresh_token": "{{refresh_token}}"}}'
refresh_token = "data.refresh_token"
"""


def requests_of_logins(shop: Shop) -> list[str]:
    paths = [arrived.path for arrived in shop.spar.journal]
    return [path for path in paths if path.startswith("/login/")]


@ON_ONE
def test_a_login_that_expires_in_the_middle_is_refreshed_before_the_next_page(
    shop: Shop,
) -> None:
    shop.apply(oauth2=login(lifetime=1))
    for run in shop.steps():
        if run.pages == 2:
            time.sleep(1.1)
        last = run
    assert last.counts == Counts(created=COUNT)
    assert shop.pages() == ["0", "100", "200", "300", "400"]  # no page was refused
    assert requests_of_logins(shop)[:2] == ["/login/json", "/login/refresh"]
    assert shop.target() == source(COUNT)


@ON_ONE
def test_a_session_that_is_revoked_in_the_middle_costs_one_login(shop: Shop) -> None:
    shop.apply(oauth2=login())
    for run in shop.steps():
        if run.pages == 2:
            wait_for_requests(shop, 3)
            shop.spar.authorization.revoke_family()
        last = run
    assert last.counts == Counts(created=COUNT)
    assert requests_of_logins(shop) == ["/login/json", "/login/refresh", "/login/json"]
    assert shop.pages() == ["0", "100", "200", "300", "300", "400"]
    assert shop.target() == source(COUNT)


def wait_for_requests(shop: Shop, count: int) -> None:
    """Wait until the API has responded to the request for the next page too."""
    until = time.monotonic() + SECONDS
    while len(shop.pages()) < count and time.monotonic() < until:
        time.sleep(0.01)
    assert len(shop.pages()) == count
    time.sleep(0.2)


# ── what ends a run ───────────────────────────────────────────────────────────────────


@ON_ONE
@pytest.mark.parametrize(
    ("fault", "times", "cause"),
    [
        ("401", 1, "invalid_credentials"),
        ("403", 1, "insufficient_permissions"),
        ("404", 1, "not_found"),
        ("500", 1, "server_error"),
        ("429", 3, "rate_limited"),  # as often as it is tried
        ("truncated", 1, "connection"),
        ("text", 1, "not_json"),
        ("huge", 1, "response_too_large"),
    ],
)
def test_a_fault_that_remains_stops_the_run_with_its_cause_and_the_next_one_goes_on(
    shop: Shop, fault: str, times: int, cause: str
) -> None:
    shop.apply(fail=fault, at=3, times=times)
    said, kept = shop.stopped()
    assert (said, kept.cause, kept.pages, kept.counts) == (
        cause,
        cause,
        2,
        Counts(created=200),
    )
    assert shop.target() == source(2 * SIZE)
    done = shop.run()
    assert (done.id, done.counts) == (kept.id, Counts(created=COUNT))
    assert shop.pages() == ["0", "100", *["200"] * (times + 1), "300", "400"]
    assert shop.target() == source(COUNT)


@ON_ONE
def test_a_token_that_cannot_be_renewed_stops_the_run_with_its_cause(
    shop: Shop,
) -> None:
    shop.apply(oauth2=oauth2(shop.spar))
    steps = shop.steps()
    assert [next(steps).pages for _ in range(3)] == [0, 1, 2]
    wait_for_requests(shop, 3)
    shop.spar.authorization.expire_all()
    shop.spar.authorization.next_responses("invalid_client")
    assert next(steps).pages == 3
    with pytest.raises(OutkeyError) as caught:
        next(steps)
    assert caught.value.code == "token_endpoint"
    assert shop.target() == source(3 * SIZE)
    time.sleep(1.1)  # so long the Token URL is left alone
    assert shop.run().counts == Counts(created=COUNT)
    assert shop.target() == source(COUNT)


def test_cursors_that_lead_in_circles_end_every_run_until_the_api_is_mended(
    shop: Shop,
) -> None:
    shop.apply(fail="loop", at=3, times=1000)
    for _ in range(2):
        said, kept = shop.stopped()
        assert (said, kept.cause, kept.counts.created) == (
            "cursor_loop",
            "cursor_loop",
            3 * SIZE,
        )
        assert shop.target() == source(3 * SIZE)
    shop.apply()
    assert shop.run().counts == Counts(created=COUNT - 3 * SIZE, unchanged=3 * SIZE)
    assert shop.target() == source(COUNT)


def test_a_run_that_stops_archives_nothing(shop: Shop) -> None:
    shop.apply()
    shop.run()
    for fault in ("text", "truncated", "loop", "401", "404", "huge"):
        shop.apply(fail=fault, at=3, times=1000)
        _, kept = shop.stopped()
        assert (kept.counts.created, kept.counts.archived) == (0, 0)
        assert shop.target() == source(COUNT)


@ON_ONE
def test_a_record_of_a_million_fields_is_left_out_and_said_so_while_the_others_come(
    shop: Shop,
) -> None:
    shop.apply(fail="wide", at=3)
    run = shop.run()
    assert run.counts == Counts(created=COUNT - 1, failed=1)
    assert stored_runs().rejected(run.id, 5) == [
        RejectedRecord(201, "", "", "too_many_fields")
    ]
    assert shop.target() == [row for row in source(COUNT) if row[0] != "c200"]
    assert shop.run().counts == Counts(created=1, unchanged=COUNT - 1)
    assert sorted(shop.target()) == sorted(source(COUNT))


# ── many records ──────────────────────────────────────────────────────────────────────

QUICK, FULL = 10_000, 100_000
GROWTH = 5 * 1024  # KiB


@pytest.fixture(params=["sqlite", "postgresql"])
def many(request: pytest.FixtureRequest, tmp_path: Path, canary: Canaries) -> Terminal:
    """A terminal whose home is empty, on each of the two databases."""
    terminal = Terminal(tmp_path / "home", canary, {"SHOP_TOKEN": "spar-token"})
    terminal.settings["OUTKEY_DEMO"] = "1"
    if request.param == "postgresql":
        cluster: Cluster = request.getfixturevalue("postgresql")
        terminal.settings["OUTKEY_DATABASE_URL"] = cluster.create("many")
    return terminal


def test_many_records_come_with_flat_memory(
    many: Terminal, spar: Spar, pytestconfig: pytest.Config
) -> None:
    count = FULL if pytestconfig.getoption("--full") else QUICK
    assert many("apply", "-", stdin=document(spar, "cursor", count)).code == 0
    done = assert_program_passes(
        "database/line_memory",
        many.home,
        str(count),
        settings=many.settings,
        timeout=600,
    )
    facts = json.loads(done.stdout)
    assert (facts["created"], facts["stored"]) == (count, count)
    assert facts["peak"] - facts["early"] < GROWTH, facts
