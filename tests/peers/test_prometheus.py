"""Metrics as a real Prometheus scrapes them, next to what the audit has recorded."""

import hashlib
import hmac
import json
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from math import inf, nan
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

import forks
from cli.conftest import Terminal
from cli.served_operating import Served, serving_operating
from database.conftest import Cluster
from outkey.administration.core.operating.send_counts import BUCKETS
from outkey.spar import Spar
from outkey.spar.authority import CLIENT, CLIENT_SECRET
from outkey.testing.canary import Canaries
from peers.prometheus import (
    SETTINGS,
    Prometheus,
    Series,
    prometheus_running,
    promtool,
)
from ports import free_port

GUIDE = Path(__file__).parents[2] / "docs" / "guide" / "production.md"
INFO = "outkey_info"
HOOK_KEY = "hook-secret-7f3a"
PATIENCE = 60.0
RECORD_OUTCOMES = ("created", "updated", "unchanged", "failed", "archived", "deleted")
COUNTERS = (
    "outkey_sends_total",
    "outkey_send_duration_seconds_count",
    "outkey_send_duration_seconds_sum",
    "outkey_send_duration_seconds_bucket",
    "outkey_token_renewals_total",
    "outkey_refused_sends_total",
    "outkey_runs_total",
    "outkey_records_total",
    "outkey_webhook_refused_deliveries_total",
)
# What is sent through a server, and how often.
SENT = {
    "acme/echo": 5,
    "acme/status/500": 3,
    "acme/status/404": 2,
    "denied/bearer/expired": 2,
    "acme/slow/silent?seconds=2": 1,
    "acme/reset": 1,
    "orders/oauth/api": 2,
    "unset/echo": 2,  # refused: its token is missing
}


def document(spar: Spar) -> str:
    return f"""
[configuration.acme]
base_url = "{spar.url}"
network = "internal"
authentication_type = "bearer"
token = "env:ACME_TOKEN"
limits = {{ retries = 0, read_timeout = 0.3 }}
[configuration.denied]
base_url = "{spar.url}"
network = "internal"
authentication_type = "bearer"
token = "env:ACME_TOKEN"
limits = {{ retries = 0 }}
[configuration.unset]
base_url = "{spar.url}"
network = "internal"
authentication_type = "bearer"
limits = {{ retries = 0 }}
[configuration.orders]
base_url = "{spar.url}"
network = "internal"
authentication_type = "bearer"
token_source = "oauth2"
limits = {{ retries = 0 }}
[configuration.orders.oauth2]
token_url = "{spar.url}/oauth/token"
client_id = "{CLIENT}"
client_secret = "env:CLIENT_SECRET"
scope = "orders:read"
[line.contacts]
configuration = "acme"
direction = "pull"
path = "/records/contacts"
query = {{ style = "page", count = "30" }}
records = "items"
target = "table:contacts"
keys = ["id"]
fields = [{{ api = "id", host = "id" }}, {{ api = "full_name", host = "name" }}]
[line.contacts.pagination]
kind = "page"
size = 10
size_parameter = "per_page"
position_parameter = "page"
[webhook.contacts]
scheme = "github"
line = "contacts"
"""


@dataclass(frozen=True)
class Site:
    """A home with its servers, and the tokens of those who ask them."""

    outkey: Terminal
    folder: Path
    reader: str = field(repr=False)
    sender: str = field(repr=False)

    @contextmanager
    def serving(self, port: int = 0) -> Iterator[Served]:
        log = self.folder / "server.log"
        with serving_operating(self.outkey, log, port=port) as served:
            yield served

    @contextmanager
    def working(self) -> Iterator[None]:
        with (self.folder / "worker.log").open("wb") as log:
            process = forks.Popen(
                [*forks.OUTKEY, "worker"],
                stdout=log,
                stderr=log,
                env=self.outkey.environment,
            )
        try:
            yield
        finally:
            process.terminate()
            process.wait(30)


@pytest.fixture
def outkey(tmp_path: Path, canary: Canaries) -> Terminal:
    return Terminal(tmp_path / "home", canary)


@pytest.fixture
def spar() -> Iterator[Spar]:
    with Spar() as server:
        yield server


def make_site(outkey: Terminal, spar: Spar, folder: Path) -> Site:
    outkey.settings |= {"ACME_TOKEN": "spar-token", "CLIENT_SECRET": CLIENT_SECRET}
    applied = outkey("apply", "-", stdin=document(spar))
    assert applied.code == 0, applied.err
    outkey("webhook", "secret", "contacts", stdin=HOOK_KEY)
    reader, sender = (
        outkey("api-token", "create", scope, "--scope", scope).out.strip()
        for scope in ("read", "send")
    )
    return Site(outkey, folder, reader, sender)


# ── what happens ──────────────────────────────────────────────────────────────────────


def send_all(site: Site, served: Sequence[Served], times: int = 1) -> None:
    """Send requests with every outcome, through each server in turn."""
    paths = [path for path, count in SENT.items() for _ in range(count * times)]
    servers = [served[number % len(served)] for number, _ in enumerate(paths)]

    def send(server: Served, path: str) -> None:
        httpx.get(
            f"{server.url}/api/v1/send/{path}",
            headers={"Authorization": f"Bearer {site.sender}"},
            timeout=60,
        )

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(send, servers, paths))


def deliver(site: Site, served: Served, numbers: Sequence[int], key: str) -> list[int]:
    """Post deliveries of a sender, and return their statuses."""
    endpoint = site.outkey("webhook", "show", "contacts", "--json").json["endpoint"]
    statuses = []
    for number in numbers:
        body = json.dumps({"id": f"hooked-{number}", "full_name": "Hooked"}).encode()
        code = hmac.new(key.encode(), body, hashlib.sha256).hexdigest()
        headers = {
            "X-Hub-Signature-256": f"sha256={code}",
            "X-GitHub-Delivery": f"delivery-{number}",
            "X-GitHub-Event": "contact",
            "Content-Type": "application/json",
        }
        response = httpx.post(
            f"{served.url}{endpoint}", content=body, headers=headers, timeout=60
        )
        statuses.append(response.status_code)
    return statuses


def wait_for_processed(site: Site, count: int) -> None:
    end = time.monotonic() + PATIENCE
    while [row["state"] for row in inbox(site)] != ["processed"] * count:
        assert time.monotonic() < end, inbox(site)
        time.sleep(0.5)


# ── what was recorded ─────────────────────────────────────────────────────────────────


@dataclass
class Recorded:
    """What the audit, the runs and the inbox have, counted without outkey's help."""

    sends: Counter[tuple[str, ...]] = field(default_factory=Counter)
    renewals: Counter[tuple[str, ...]] = field(default_factory=Counter)
    refusals: Counter[tuple[str, ...]] = field(default_factory=Counter)
    milliseconds: dict[str, list[int]] = field(default_factory=dict)
    runs: Counter[tuple[str, ...]] = field(default_factory=Counter)
    records: Counter[tuple[str, ...]] = field(default_factory=Counter)
    complete_at: float = 0.0
    deliveries: Counter[tuple[str, ...]] = field(default_factory=Counter)
    refused_deliveries: Counter[tuple[str, ...]] = field(default_factory=Counter)


def recorded(site: Site) -> Recorded:
    found = Recorded()
    for record in site.outkey("audit", "list", "--limit", "10000", "--json").json:
        add_record(found, record)
    for run in site.outkey("run", "list", "--json").json:
        if run["dry_run"] or not run["ended_at"] or run["trigger"] == "delivery":
            continue
        found.runs[run["line"], run["state"]] += 1
        for outcome in RECORD_OUTCOMES:
            found.records[run["line"], outcome] += run[outcome]
        if run["state"] == "done":
            ended = datetime.fromisoformat(run["ended_at"]).timestamp()
            found.complete_at = max(found.complete_at, ended)
    for row in inbox(site):
        found.deliveries[row["state"], "contacts"] += 1
        found.records["contacts", "created"] += row["records"]  # each has a new key
    found.records = +found.records  # without those that no record ended in
    shown = site.outkey("webhook", "show", "contacts", "--json").json
    for reason, count in shown["refused"].items():
        found.refused_deliveries[reason, shown["webhook"]] = count
    return found


def add_record(found: Recorded, record: Mapping[str, Any]) -> None:
    configuration = record.get("configuration", "")
    if record["tag"] == "engine:send:ended":
        found.sends[configuration, record["outcome"]] += 1
        found.milliseconds.setdefault(configuration, []).append(record["duration_ms"])
    elif record["tag"] == "engine:token:ended":
        found.renewals[configuration, record["outcome"]] += 1
    elif record["tag"] == "engine:send:refused":
        found.refusals[record["code"], configuration] += 1
        found.milliseconds.setdefault(configuration, [])


def inbox(site: Site) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = site.outkey(
        "webhook", "inbox", "contacts", "--json"
    ).json
    return rows


def quantile(share: float, milliseconds: Sequence[int]) -> float:
    """Return the quantile that a histogram with these bounds can tell."""
    if not milliseconds:
        return nan
    seconds = [value / 1000 for value in milliseconds]
    bounds = [0.0, *BUCKETS, inf]
    up_to = [sum(value <= bound for value in seconds) for bound in bounds]
    rank = share * len(seconds)
    place = max(bisect_left(up_to, rank), 1)
    lower, upper = bounds[place - 1], bounds[place]
    if upper == inf:
        return lower
    inside = up_to[place] - up_to[place - 1]
    return lower + (upper - lower) * (rank - up_to[place - 1]) / inside


# ── the comparison ────────────────────────────────────────────────────────────────────


def assert_right(prometheus: Prometheus, site: Site, *selectors: str) -> Recorded:
    """Compare what was scraped from each target with what was recorded."""
    prometheus.wait_for_scrapes(INFO)
    expected = recorded(site)
    for selector in selectors:
        assert_target_is_right(prometheus, expected, selector)
    return expected


def assert_target_is_right(
    prometheus: Prometheus, expected: Recorded, selector: str
) -> None:
    def total(names: str, metric: str) -> Series:
        return prometheus.query(f"sum by ({names}) ({metric}{{{selector}}})")

    assert total("configuration, outcome", "outkey_sends_total") == expected.sends
    assert (
        total("configuration, outcome", "outkey_token_renewals_total")
        == expected.renewals
    )
    assert total("configuration, code", "outkey_refused_sends_total") == (
        expected.refusals
    )
    assert total("line, state", "outkey_runs_total") == expected.runs
    assert total("line, outcome", "outkey_records_total") == expected.records
    assert total("webhook, state", "outkey_webhook_deliveries") == expected.deliveries
    assert total("webhook, reason", "outkey_webhook_refused_deliveries_total") == (
        expected.refused_deliveries
    )
    (complete_at,) = total(
        "line", "outkey_last_complete_run_timestamp_seconds"
    ).values()
    assert complete_at == pytest.approx(expected.complete_at, abs=1)
    assert_durations_are_right(prometheus, expected.milliseconds, selector)


def assert_durations_are_right(
    prometheus: Prometheus, milliseconds: Mapping[str, Sequence[int]], selector: str
) -> None:
    name = "outkey_send_duration_seconds"
    counts = prometheus.query(f"sum by (configuration) ({name}_count{{{selector}}})")
    assert counts == {(key,): len(values) for key, values in milliseconds.items()}
    sums = prometheus.query(f"sum by (configuration) ({name}_sum{{{selector}}})")
    assert sums == pytest.approx(
        {(key,): sum(values) / 1000 for key, values in milliseconds.items()}
    )
    for share in (0.5, 0.9, 0.99):
        buckets = f"sum by (configuration, le) ({name}_bucket{{{selector}}})"
        found = prometheus.query(f"histogram_quantile({share}, {buckets})")
        assert found == pytest.approx(
            {(key,): quantile(share, values) for key, values in milliseconds.items()},
            nan_ok=True,
        )


def assert_nothing_went_back(prometheus: Prometheus) -> None:
    """Let Prometheus look for a counter that is less than it was."""
    for counter in COUNTERS:
        assert prometheus.query(f"max(resets({counter}[1h]))") == {(): 0}, counter


def test_the_guide_shows_the_delivered_job() -> None:
    block = GUIDE.read_text().partition("```yaml\n")[2].partition("```")[0]
    (shown,) = yaml.safe_load(block)["scrape_configs"]
    assert shown in yaml.safe_load(SETTINGS.read_text())["scrape_configs"]


def test_promtool_accepts_the_delivered_settings() -> None:
    checked = promtool("check", "config", "--syntax-only", str(SETTINGS))
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_a_scraped_server_on_sqlite_agrees_with_the_audit(
    outkey: Terminal, spar: Spar, tmp_path: Path
) -> None:
    site = make_site(outkey, spar, tmp_path)
    port = free_port()
    target = f"127.0.0.1:{port}"
    targets = {"outkey": [target], "outkey-local": [target]}
    with prometheus_running(tmp_path, targets, site.reader) as prometheus:
        with site.serving(port) as served:
            send_all(site, [served])
            site.outkey("request", "acme", "/echo")
            assert site.outkey("token", "renew", "orders").code == 0
            for _ in range(2):
                assert site.outkey("line", "run", "contacts").code == 0
            assert deliver(site, served, range(3), HOOK_KEY) == [200] * 3
            assert deliver(site, served, range(3, 5), "wrong") == [401] * 2
            wait_for_processed(site, 3)
            found = assert_right(prometheus, site, *(f'job="{job}"' for job in targets))
            checked = promtool("check", "metrics", stdin=served.get("/metrics").text)
        assert checked.returncode == 0, checked.stdout + checked.stderr
        outcomes = {outcome for _, outcome in found.sends}
        assert {"ok", "server_error", "token_expired", "timeout"} <= outcomes
        assert found.refusals == {("secret_missing", "unset"): SENT["unset/echo"]}
        assert sum(found.renewals.values()) >= 2

        # Counts outlive the server and the records that they were made from.
        assert site.outkey("audit", "prune", "--days", "0", "--yes").code == 0
        with site.serving(port):
            prometheus.wait_for_scrapes(INFO)
            sends = "sum by (configuration, outcome) (outkey_sends_total{job='outkey'})"
            assert prometheus.query(sends) == found.sends
            assert_nothing_went_back(prometheus)


@pytest.mark.full
def test_two_scraped_servers_on_postgresql_agree_with_one_audit(
    postgresql: Cluster, outkey: Terminal, spar: Spar, tmp_path: Path
) -> None:
    outkey.settings["OUTKEY_DATABASE_URL"] = postgresql.create("scraped")
    site = make_site(outkey, spar, tmp_path)
    ports = [free_port(), free_port()]
    instances = [f"127.0.0.1:{port}" for port in ports]
    targets = {"outkey": instances, "outkey-local": instances}
    with ExitStack() as stack:
        prometheus = stack.enter_context(
            prometheus_running(tmp_path, targets, site.reader)
        )
        servers = [stack.enter_context(site.serving(port)) for port in ports]
        stack.enter_context(site.working())
        prometheus.wait_for_scrapes(INFO)
        send_all(site, servers, times=2)
        assert site.outkey("line", "run", "contacts").code == 0
        assert deliver(site, servers[0], range(2), HOOK_KEY) == [200] * 2
        assert deliver(site, servers[1], range(2, 4), HOOK_KEY) == [200] * 2
        assert deliver(site, servers[1], range(4, 6), "wrong") == [401] * 2
        wait_for_processed(site, 4)
        places = [f'job="outkey", instance="{instance}"' for instance in instances]
        assert_right(prometheus, site, *places)

        servers[0].process.kill()
        servers[0].process.wait(30)
        stack.enter_context(site.serving(ports[0]))
        send_all(site, servers)
        found = assert_right(prometheus, site, *places)
        assert sum(found.sends.values()) > 40
        assert prometheus.query("max(outkey_workers)") == {(): 1}
        assert_nothing_went_back(prometheus)
