"""The brake on refused credentials, the patterns of the watch, and its notices."""

import hashlib
import hmac
import json
import logging
import threading
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from outkey.administration.adapters.notices_log import LoggedNotices
from outkey.administration.adapters.notices_webhook import WebhookNotices
from outkey.administration.core.findings.monitoring import (
    Baseline,
    EndedAttempt,
    LineRun,
    Notice,
    failing_hosts,
    has_overdue_run,
    health_conditions,
    refusal_bursts,
    run_conditions,
    update_baseline,
)
from outkey.administration.core.findings.notice_checks import NOTICE_CHECKS
from outkey.administration.engine.editing.administration import Administration
from outkey.administration.engine.watching.audit_trail import AuditTrail
from outkey.administration.engine.watching.background import (
    BackgroundPorts,
    BackgroundWork,
    verify_due,
)
from outkey.administration.engine.watching.monitoring import (
    Monitor,
    MonitoredRows,
    has_monitored,
    open_notices,
)
from outkey.foundation.core.errors import (
    ConnectionFailed,
    Paused,
    StorageUnavailable,
    UnknownConfiguration,
)
from outkey.foundation.core.findings.conditions import Condition
from outkey.foundation.core.origin import parse_endpoint
from outkey.foundation.core.secret import Secret
from outkey.foundation.core.shared_state import StateKind
from outkey.foundation.core.stored_times import SKEW_SECONDS
from outkey.foundation.engine.duties import MONITORING, SCHEDULES, Duties
from outkey.sending.adapters.configurations_memory import MemoryConfigurations
from outkey.sending.core.audit.chain import RowCodes, canonical, label_of
from outkey.sending.core.audit.events import Change, Refusal
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.configuration.custom_rows import CustomHeader
from outkey.sending.core.configuration.health import Health, Status, Summary
from outkey.sending.core.configuration.sections import TlsSettings
from outkey.sending.core.request.message import Request, Response, Route
from outkey.sending.engine.connection_test_setup import DraftCredentials, prepare_test
from outkey.sending.engine.wire.lockout_guard import MAX_REFUSED, LockoutGuard
from outkey.sync.core.run.run import Run, RunState
from outkey.testing import FakeClock, FakeTransport, configuration, fake_gateway
from outkey.testing.fakes.basic import (
    FakeWorld,
    MemoryAuditRows,
    MemoryCheckpoints,
    MemoryDatabase,
    MemoryStateRows,
)
from outkey.testing.fakes.monitoring import MemoryLineRuns, RecordedNotices
from outkey.testing.fakes.storage import memory_registry
from outkey.testing.fakes.sync import MemorySync

NOW = 1_800_000_000.0
HOUR = int(NOW // 3600)
KEY = b"k" * 32
ROW = (CustomHeader("X-API-Key", "", secret=True),)
SECRETS = {"token": "abc", "password": "p", "header:X-API-Key": "k", "secret_key": "s"}
SCRIPT = "def compute_auth_header(sync_line):\n    return {}"


def refusing(*configurations: Configuration, status: int = 401) -> FakeWorld:
    return fake_gateway(
        *configurations, responses=lambda _: Response(status), secrets=SECRETS
    )


def bearer(name: str = "acme", **values: object) -> Configuration:
    return configuration(name, **({"authentication_type": "bearer"} | values))


# ── the brake ─────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "made",
    [
        configuration(authentication_type="basic", username="u"),
        bearer(),
        configuration(headers=ROW, no_auth_reason="public_api"),
        configuration(no_auth_reason="public_api", script=SCRIPT, script_enabled=True),
    ],
    ids=["basic", "bearer", "row", "script"],
)
def test_five_refusals_in_a_row_pause_whatever_sends_credentials(
    made: Configuration,
) -> None:
    fake = refusing(made)
    for _ in range(MAX_REFUSED):
        assert fake.gateway.send("acme", "GET", "/").status == 401
    with pytest.raises(Paused) as caught:
        fake.gateway.send("acme", "GET", "/")
    assert caught.value.code == "paused"
    assert len(fake.transport.sent) == MAX_REFUSED
    assert fake.audit.events[-1] == Refusal("", "acme", "", "paused")


def test_what_sends_no_credentials_is_never_paused() -> None:
    fake = refusing(configuration(no_auth_reason="public_api"))
    for _ in range(MAX_REFUSED + 2):
        fake.gateway.send("acme", "GET", "/")
    assert len(fake.transport.sent) == MAX_REFUSED + 2


def test_an_accepted_request_begins_the_count_anew_and_another_error_does_not() -> None:
    statuses = [401] * 4 + [200] + [401, 500, 403] * 4 + [401]
    made = bearer(limits__retries=0)
    fake = fake_gateway(
        made, responses=[Response(s) for s in statuses], secrets=SECRETS
    )
    for _ in statuses:
        fake.gateway.send("acme", "GET", "/")
    with pytest.raises(Paused):
        fake.gateway.send("acme", "GET", "/")


def test_a_test_is_made_in_spite_of_the_pause_counts_and_ends_it_when_it_is_good() -> (
    None
):
    fake = refusing(bearer())
    for _ in range(MAX_REFUSED):
        assert not fake.gateway.test("acme").ok
    with pytest.raises(Paused):
        fake.gateway.send("acme", "GET", "/")
    fake.transport.responses = lambda _: Response(200)
    assert fake.gateway.test("acme").ok
    assert fake.gateway.send("acme", "GET", "/").status == 200


def test_a_draft_is_tested_without_counting_for_what_is_kept() -> None:
    fake = refusing(bearer())
    kept = fake.ports.configurations.get("acme")
    for _ in range(MAX_REFUSED + 1):
        prepare_test(
            fake.sender, kept, DraftCredentials(fake.secrets, fake.ports.tokens)
        ).run()
    assert fake.ports.configurations.get("acme").refused == 0
    LockoutGuard().refuse_paused_meanwhile(replace(kept, paused_at=NOW))
    assert fake.gateway.send("acme", "GET", "/").status == 401


def test_lent_credentials_count_and_are_not_lent_while_paused() -> None:
    fake = refusing(bearer())
    url = "https://api.acme.example/"
    for _ in range(MAX_REFUSED):
        fake.gateway.settle(fake.gateway.lend("acme", "GET", url, ()), 401)
    with pytest.raises(Paused):
        fake.gateway.lend("acme", "GET", url, ())


def test_a_renewed_oauth_token_that_is_refused_counts_once_a_call() -> None:
    made = bearer(
        token_source="oauth2",
        oauth2__token_url="https://api.acme.example/token",
        oauth2__client_id="c",
    )
    tokens = iter(range(1000))

    def answer(request: Request) -> Response:
        if request.target == "/token":
            body = {
                "access_token": f"t{next(tokens)}",
                "token_type": "Bearer",
                "expires_in": 600,
            }
            return Response(200, body=json.dumps(body).encode())
        return Response(401)

    fake = fake_gateway(made, responses=answer, secrets={"client_secret": "s"})
    for _ in range(MAX_REFUSED):
        assert fake.gateway.send("acme", "GET", "/").status == 401
        fake.clock.advance(100)
    with pytest.raises(Paused):
        fake.gateway.send("acme", "GET", "/")
    assert (
        len([r for r, _ in fake.transport.sent if r.target == "/"]) <= 2 * MAX_REFUSED
    )


def test_an_oauth_token_refused_to_another_client_is_renewed_and_does_not_count() -> (
    None
):
    made = bearer(
        token_source="oauth2",
        oauth2__token_url="https://api.acme.example/token",
        oauth2__client_id="c",
    )
    body = b'{"access_token": "t", "token_type": "Bearer", "expires_in": 600}'
    fake = fake_gateway(
        made, responses=[Response(200, body=body)], secrets={"client_secret": "s"}
    )
    loan = fake.gateway.lend("acme", "GET", "https://api.acme.example/", ())
    assert fake.gateway.settle(loan, 401)
    assert fake.ports.configurations.get("acme").refused == 0


def test_who_waited_while_sending_was_paused_sends_nothing() -> None:
    fake = refusing(bearer(limits__requests_per_minute=1))
    registry, sleep = fake.ports.configurations, fake.clock.sleep
    fake.gateway.send("acme", "GET", "/")

    def paused_meanwhile(seconds: float) -> None:
        registry.pause("acme", NOW)
        sleep(seconds)

    fake.clock.sleep = paused_meanwhile  # type: ignore[method-assign]
    fake.clock.advance(1)
    with pytest.raises(Paused):
        fake.gateway.send("acme", "GET", "/")
    assert fake.clock.sleeps
    assert len(fake.transport.sent) == 1


def test_a_count_that_cannot_be_written_costs_no_answer() -> None:
    class Broken(MemoryConfigurations):
        def note_refused(self, name: str, revision: int) -> int:
            raise StorageUnavailable

    made = bearer()
    LockoutGuard(Broken([made])).record_status(made, 401, NOW)
    fake = refusing(made)
    fake.sender.context = replace(
        fake.sender.context, lockout_guard=LockoutGuard(Broken([made]))
    )
    assert fake.gateway.send("acme", "GET", "/").status == 401


def test_fifty_threads_send_five_and_those_in_flight() -> None:
    threads, calls = 50, 10
    fake = refusing(bearer())
    stopped = []

    def send_often() -> None:
        for _ in range(calls):
            try:
                fake.gateway.send("acme", "GET", "/")
            except Paused:
                stopped.append(1)

    running = [threading.Thread(target=send_often) for _ in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    assert MAX_REFUSED <= len(fake.transport.sent) <= MAX_REFUSED + threads
    assert len(fake.transport.sent) + len(stopped) == threads * calls


# ── patterns ──────────────────────────────────────────────────────────────────────────


def seen(
    at: float = NOW,
    name: str = "acme",
    origin: str = "https://a",
    outcome: str = "ok",
    status: int = 200,
) -> EndedAttempt:
    return EndedAttempt(at, name, origin, outcome, status)


@pytest.mark.parametrize(
    ("count", "apart", "found"),
    [(10, 6.0, True), (9, 1.0, False), (10, 7.0, False), (30, 7.0, False)],
)
def test_ten_refusals_within_a_minute_are_a_burst(
    count: int, apart: float, *, found: bool
) -> None:
    recent = [seen(NOW + n * apart, status=401) for n in range(count)]
    assert list(refusal_bursts(recent)) == (
        [Condition("S-refused-burst", "acme")] if found else []
    )


def test_a_burst_belongs_to_one_configuration() -> None:
    recent = [seen(NOW, f"n{n}", status=401) for n in range(20)]
    assert list(refusal_bursts([*recent, seen()])) == []


def test_three_configurations_that_fail_at_one_host_are_told_as_one() -> None:
    fails = [
        seen(name=n, status=s, outcome="x")
        for n, s in (("a", 500), ("b", 0), ("c", 401))
    ]
    sign = Condition("S-host-failing", "", "https://a")
    assert list(failing_hosts(fails)) == [sign]
    assert list(failing_hosts(fails[:2])) == []
    elsewhere = [fails[0], fails[1], fails[2]._replace(origin="https://b")]
    assert list(failing_hosts(elsewhere)) == []
    assert list(failing_hosts([*fails, seen(name="a")])) == []  # one works again
    asked_wrongly = [seen(name=n, status=404, outcome="not_found") for n in "abc"]
    assert list(failing_hosts(asked_wrongly)) == []
    unknown = [seen(name=n, status=0, outcome="unknown") for n in "abc"]
    assert list(failing_hosts(unknown)) == []


def test_an_origin_is_new_unless_it_is_among_the_first() -> None:
    both = [seen(origin="https://a"), seen(origin="https://token"), seen(origin="")]
    habit, signs = update_baseline("acme", Baseline(), both, NOW)
    assert (habit.origins, signs) == (("https://a", "https://token"), [])
    habit, signs = update_baseline(
        "acme", habit, [seen(), seen(origin="https://evil")], NOW
    )
    assert signs == [Condition("S-new-origin", "acme", "https://evil")]
    assert update_baseline("acme", habit, [seen(origin="https://evil")], NOW)[1] == []


def test_an_acceptance_after_five_refusals_is_told_across_looks() -> None:
    habit, signs = update_baseline(
        "acme", Baseline(), [seen(status=401)] * 4 + [seen(status=500)], NOW
    )
    assert signs == []
    habit, signs = update_baseline(
        "acme", habit, [seen(status=401), seen(), seen()], NOW
    )
    assert signs == [Condition("S-accepted-after-refusals", "acme")]
    assert habit.refused == 0
    assert (
        update_baseline("acme", Baseline(), [seen(status=401)] * 4 + [seen()], NOW)[1]
        == []
    )


@pytest.mark.parametrize(
    ("usual", "count", "unusual"),
    [
        ([10] * 168, 101, True),
        ([10] * 168, 100, False),
        ([11] * 168, 110, False),
        ([5000] * 7, 5000, False),  # a nightly job
        ([10] * 4, 5000, False),  # too new to know what is usual
    ],
)
def test_a_volume_is_unusual_beside_the_hours_of_a_week(
    usual: list[int], count: int, *, unusual: bool
) -> None:
    hours = {HOUR - 1 - n: c for n, c in enumerate(usual)} | {HOUR: count}
    assert Baseline((), hours).is_unusual(NOW) is unusual


def test_a_habit_keeps_a_week_and_comes_back_from_json() -> None:
    habit = Baseline(("https://a",), {HOUR - 169: 1, HOUR - 168: 2}, 3)
    habit, _ = update_baseline("acme", habit, [seen(), seen()], NOW)
    assert habit.hours == {HOUR - 168: 2, HOUR: 2}
    assert Baseline.from_facts(json.loads(json.dumps(habit.facts()))) == habit


def listed(**health: object) -> Summary:
    known = Health(NOW, NOW, current=True)
    made = replace(known, **health)  # type: ignore[arg-type]
    return Summary("acme", "https://a", "bearer", "test", "public", "", made)


TODAY = datetime.fromtimestamp(NOW, UTC).date()


@pytest.mark.parametrize(
    ("days", "stage"),
    [(31, None), (30, 30), (8, 30), (7, 7), (2, 7), (1, 1), (0, 1), (-1, 0)],
)
def test_an_end_is_told_thirty_seven_and_one_days_ahead(
    days: int, stage: int | None
) -> None:
    day = TODAY + timedelta(days=days)
    moment = datetime(day.year, day.month, day.day, 12, tzinfo=UTC).timestamp()
    signs = health_conditions(
        listed(expires_on=day, seen={"certificate_ends": moment}), NOW
    )
    wanted = [
        Condition(f"S-{noun}-ends-{stage}", "acme", str(day))
        for noun in ("token", "certificate")
    ]
    assert list(signs) == ([] if stage is None else wanted)


@pytest.mark.parametrize(
    ("health", "kind"),
    [
        ({"cause": "timeout"}, "S-failing"),
        ({"paused_at": 1.0}, "S-paused"),
        ({"needs_person": True}, "S-person-needed"),
    ],
)
def test_a_standing_that_stops_sending_is_told(
    health: dict[str, object], kind: str
) -> None:
    assert list(health_conditions(listed(**health), NOW)) == [Condition(kind, "acme")]
    assert list(health_conditions(listed(active=False, **health), NOW)) == []


def test_what_is_paused_says_so_before_what_fails() -> None:
    health = Health(NOW, NOW, "invalid_credentials", current=True, paused_at=NOW)
    assert health.status(now=NOW, sealed=False) is Status.PAUSED


def test_every_kind_of_notice_says_what_to_do() -> None:
    for check in NOTICE_CHECKS:
        assert check.id.startswith("S-")
        assert check.message
        assert check.hint.endswith(".")


# ── runs ──────────────────────────────────────────────────────────────────────────────


def line_run(
    state: RunState,
    *,
    until: float = NOW,
    attempt: int = 1,
    dry_run: bool = False,
) -> LineRun:
    run = Run("1", "orders", "ada", NOW, state, dry_run, attempt=attempt, until=until)
    return LineRun("acme", run)


@pytest.mark.parametrize(
    ("runs", "overdue"),
    [
        ([], False),
        ([line_run(RunState.WAITING, until=NOW - 301)], True),
        ([line_run(RunState.WAITING, until=NOW - 301, dry_run=True)], True),
        ([line_run(RunState.WAITING, until=NOW - 300)], False),
        ([line_run(RunState.WAITING, until=NOW - 301, attempt=0)], False),
        ([line_run(RunState.RUNNING, until=NOW - 301)], True),  # killed long ago
        ([line_run(RunState.RUNNING, until=NOW - 299)], False),
        ([line_run(RunState.FAILED, until=NOW - 301)], False),
        (
            [line_run(RunState.WAITING, until=NOW - 301), line_run(RunState.RUNNING)],
            False,
        ),
        (
            [
                line_run(RunState.WAITING, until=NOW - 301),
                line_run(RunState.RUNNING, until=NOW - 1),  # killed
            ],
            True,
        ),
    ],
)
def test_a_run_is_overdue_after_five_minutes_while_none_is_active(
    runs: list[LineRun], *, overdue: bool
) -> None:
    assert has_overdue_run(runs, NOW) is overdue


def test_a_line_fails_by_its_last_run_and_not_by_a_dry_run() -> None:
    runs = [line_run(RunState.FAILED, dry_run=True), line_run(RunState.DONE)]
    assert list(run_conditions(runs, NOW)) == []
    runs = [line_run(RunState.DONE, dry_run=True), line_run(RunState.FAILED)]
    condition = Condition("S-line-failing", "acme", "orders")
    assert list(run_conditions(runs, NOW)) == [condition]


# ── duties ────────────────────────────────────────────────────────────────────────────


def test_a_duty_has_one_holder_until_it_is_released_or_its_time_ends() -> None:
    clock, states = FakeClock(NOW), MemoryStateRows()
    duties = Duties(states, MemoryDatabase(clock, states))
    assert duties.take("a", "one", 60.0)
    assert not duties.take("a", "two", 60.0)
    assert duties.take("a", "one", 60.0)
    assert duties.take("b", "two", 60.0)
    duties.release("one")
    assert duties.take("a", "two", 60.0)
    assert not duties.take("b", "one", 60.0)
    clock.advance(61)
    assert duties.take("b", "one", 60.0)


def test_a_duty_that_a_clock_ahead_has_taken_is_free() -> None:
    clock, states = FakeClock(NOW), MemoryStateRows()
    duties = Duties(states, MemoryDatabase(clock, states))
    assert duties.take("a", "one", 60.0)
    clock.advance(-SKEW_SECONDS)
    assert not duties.take("a", "two", 60.0)
    clock.advance(-1)
    assert duties.take("a", "two", 60.0)
    assert not duties.take("a", "one", 60.0)


class Racing(MemoryStateRows):
    """Another process always writes between our reading and our writing."""

    def swap(self, *_: object) -> bool:
        return False


def test_of_two_who_take_a_duty_at_once_one_has_it() -> None:
    states = Racing()
    duties = Duties(states, MemoryDatabase(FakeClock(NOW), states))
    assert not duties.take("a", "one", 60.0)
    assert duties.claim_interval(SCHEDULES) == (NOW, NOW)


def test_the_time_of_a_duty_is_taken_once_and_without_a_gap() -> None:
    clock, states = FakeClock(59.9997), MemoryStateRows()
    duties = Duties(states, MemoryDatabase(clock, states))
    taken = []
    for now in (59.9997, 60.5, 50.0, 70.0):
        clock.advance(now - clock.now())
        taken.append(duties.claim_interval(SCHEDULES))
    begins = [since for since, _ in taken]
    assert begins == pytest.approx([59.9997, 59.9997, 60.5, 60.5])
    assert [now for _, now in taken] == pytest.approx([59.9997, 60.5, 50.0, 70.0])


def test_the_mark_of_a_duty_goes_back_after_a_clock_was_ahead() -> None:
    clock, states = FakeClock(NOW), MemoryStateRows()
    duties = Duties(states, MemoryDatabase(clock, states))
    duties.claim_interval(SCHEDULES)
    clock.advance(-86_400)
    assert duties.claim_interval(SCHEDULES) == (NOW - 86_400, NOW - 86_400)
    clock.advance(60)
    assert duties.claim_interval(SCHEDULES) == (NOW - 86_400, NOW - 86_340)


# ── the watch ─────────────────────────────────────────────────────────────────────────


class Bench:
    """A watch over a list of records, with a clock that is moved."""

    def __init__(self, *configurations: Configuration) -> None:
        self.clock = FakeClock(NOW)
        self.rows = MemoryAuditRows()
        self.states = MemoryStateRows()
        self.runs = MemoryLineRuns()
        self.notifier = RecordedNotices()
        self.registry = memory_registry(configurations)
        rows = MonitoredRows(
            database=MemoryDatabase(self.clock, self.states),
            states=self.states,
            audit=self.rows,
            runs=self.runs,
            registry=self.registry,
        )
        self.monitor = Monitor(rows, [self.notifier], self.clock)
        assert not has_monitored(self.states)
        self.monitor.look()
        assert has_monitored(self.states)

    def position(self) -> int:
        marks = self.states.read(StateKind.MARK, [MONITORING])
        return int(marks[MONITORING].value["position"])

    def open_notices(self) -> list[Notice]:
        return open_notices(self.states)

    def put_baseline(self, name: str, baseline: Baseline) -> None:
        self.states.put(StateKind.BASELINE, {name: baseline.facts()})

    def sent(
        self, status: int = 200, name: str = "acme", origin: str = "https://a"
    ) -> None:
        attempt = f"{len(self.rows.rows)}"
        at = round(self.clock.now() * 1000)
        common: dict[str, object] = {
            "attempt": attempt,
            "configuration": name,
            "at": at,
        }
        self.record(common | {"tag": "engine:send:intended", "origin": origin})
        outcome = {"tag": "engine:send:ended", "outcome": "ok", "status": status}
        self.record(common | outcome)

    def record(self, facts: dict[str, object]) -> None:
        stream = f"k.{len(self.rows.rows)}"
        made = [(canonical(facts), label_of(facts))]
        self.rows.append(list(RowCodes(KEY, stream).chain(made)))

    def look(self, minutes: float = 1.0) -> list[str]:
        self.clock.advance(minutes * 60)
        return [notice.text() for notice in self.monitor.look()]


def test_a_burst_is_told_once_and_its_end_too() -> None:
    bench = Bench()
    for _ in range(10):
        bench.sent(401)
    text = "acme: the API refused the credentials ten times within a minute"
    assert bench.look() == [f"warning: {text}"]
    assert bench.look() == []
    assert bench.look(10) == [f"recovered: {text}"]
    assert bench.look() == []
    assert [len(at_once) for at_once in bench.notifier.sent] == [1, 1]


def test_a_burst_while_the_clock_was_ahead_is_over_when_it_is_right() -> None:
    bench = Bench()
    for _ in range(10):
        bench.sent(401)
    (opened,) = bench.look()
    assert bench.look(-120) == [opened.replace("warning", "recovered", 1)]


def test_an_event_while_the_clock_was_ahead_is_closed_when_it_is_right() -> None:
    odd = Notice(Condition("S-accepted-after-refusals", "acme"), NOW)
    assert not odd.is_over(NOW - SKEW_SECONDS)
    assert odd.is_over(NOW - SKEW_SECONDS - 1)


def test_hours_of_a_clock_that_was_ahead_are_not_usual() -> None:
    habit = Baseline(("https://a",), {HOUR - 1: 7, HOUR + 24: 2})
    habit, _ = update_baseline("acme", habit, [seen()], NOW)
    assert habit.hours == {HOUR - 1: 7, HOUR: 1}


def test_a_line_whose_run_failed_is_told_until_it_runs_again() -> None:
    bench = Bench()
    bench.runs.runs = [line_run(RunState.FAILED)]
    text = "acme: the last run of a sync line failed: orders"
    assert bench.look() == [f"error: {text}"]
    bench.runs.runs = [line_run(RunState.DONE)]
    assert bench.look() == [f"recovered: {text}"]


def test_runs_that_nobody_takes_are_told() -> None:
    bench = Bench()
    bench.runs.runs = [line_run(RunState.WAITING, until=NOW - 300)]
    assert bench.look() == ["error: runs of sync lines wait, and no worker takes them"]


def test_what_happened_once_closes_after_a_day_without_a_word() -> None:
    bench = Bench()
    bench.sent()
    assert bench.look() == []
    bench.sent(origin="https://b")
    (told,) = bench.look()
    assert told.endswith("never used before: https://b")
    assert bench.look(23 * 60) == []
    assert len(bench.open_notices()) == 1
    assert bench.look(60) == []
    assert bench.open_notices() == []


def test_a_user_whose_sign_ins_fail_again_and_again_is_reported_once_a_day() -> None:
    bench = Bench()
    for _ in range(2):
        bench.record({"at": 1, "tag": "people:session:slowed", "key": "user ada"})
    (notice,) = bench.look()
    assert notice == "warning: many sign-ins of a user have failed within an hour: ada"
    bench.record({"at": 1, "tag": "people:session:slowed", "key": "user ada"})
    assert bench.look() == []
    assert bench.look(24 * 60) == []
    assert bench.open_notices() == []


@pytest.mark.parametrize(
    ("tag", "actor", "notice"),
    [
        ("api:rotation:refused", {}, "warning: acme: the API refused the next"),
        ("api:rotation:discarded", {}, "notice: acme: the next credentials were"),
        ("api:rotation:discarded", {"actor": "ada"}, ""),
        ("api:rotation:promoted", {}, ""),
    ],
)
def test_what_outkey_did_to_next_credentials_by_itself_is_reported(
    tag: str, actor: dict[str, object], notice: str
) -> None:
    bench = Bench()
    bench.record({"at": 1, "tag": tag, "configuration": "acme", **actor})
    assert [text[: len(notice)] for text in bench.look()] == [notice] * bool(notice)
    assert bench.look(24 * 60) == []


def test_an_unusual_volume_is_told_until_its_hour_ends() -> None:
    bench = Bench()
    bench.put_baseline("acme", Baseline((), {HOUR - n: 10 for n in range(1, 9)}))
    for _ in range(150):
        bench.sent()
    assert bench.look(0) == [
        "warning: acme: more than ten times as many requests as usual"
    ]
    assert bench.look(0) == []  # though nothing was sent since
    (told,) = bench.look(60)
    assert told.startswith("recovered")


def test_a_failing_and_a_paused_configuration_are_told_and_their_recovery() -> None:
    made = bearer()
    bench = Bench(replace(made, secrets={}))
    kept = bench.registry.get("acme")
    bench.registry.note_refused("acme", bench.registry.get("acme").revision)
    bench.registry.pause("acme", NOW)
    assert bench.look() == []  # a secret is missing, which comes first
    bench = Bench(configuration(no_auth_reason="public_api"))
    kept = bench.registry.get("acme")
    bench.registry.save_test_result(kept, NOW, "timeout")
    assert bench.look() == ["error: acme: the last test failed"]
    bench.registry.save_test_result(kept, NOW, "")
    assert bench.look() == ["recovered: acme: the last test failed"]


def test_each_warning_of_an_end_is_told_once_and_a_new_token_silently_ends_it() -> None:
    day = TODAY + timedelta(days=29)
    made = configuration(no_auth_reason="public_api")
    bench = Bench(made)
    kept = bench.registry.get("acme")
    ends = datetime(day.year, day.month, day.day, 12, tzinfo=UTC).timestamp()
    bench.registry.save_test_result(kept, NOW, "", {"certificate_ends": ends})
    told = [bench.look(24 * 60) for _ in range(31)]
    days = {n: texts for n, texts in enumerate(told, start=1) if texts}
    ending = f"the server's certificate {{}}: {day}"
    assert days == {
        1: [f"warning: acme: {ending.format('ends within 30 days')}"],
        22: [f"warning: acme: {ending.format('ends within a week')}"],
        28: [f"warning: acme: {ending.format('ends within a day')}"],
        30: [f"error: acme: {ending.format('has ended')}"],
    }
    bench.registry.save_test_result(kept, NOW, "", {"certificate_ends": ends + 4e7})
    assert bench.look() == []
    assert bench.open_notices() == []


def test_records_that_somebody_has_spoilt_are_passed_over() -> None:
    bench = Bench()
    bench.record(
        {"at": 1, "tag": "engine:send:ended", "status": "many", "configuration": "acme"}
    )
    bench.record({"at": 1, "tag": "people:session:began"})
    assert bench.look() == []
    assert bench.position() == 2


def test_reading_is_bounded_and_goes_on_at_the_next_look(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from outkey.administration.engine.watching import monitoring as watch

    monkeypatch.setattr(watch, "READ_AT_ONCE", 4)
    monkeypatch.setattr(watch, "MAX_BATCHES", 2)
    monkeypatch.setattr(watch, "MAX_PENDING", 1)
    bench = Bench()
    for number in range(5):
        bench.record(
            {
                "at": 1,
                "tag": "engine:send:intended",
                "attempt": str(number),
                "origin": "o",
            }
        )
    for _ in range(3):
        bench.sent()
    bench.look()
    assert bench.position() == 8
    bench.look()
    assert bench.position() == 11
    baseline = bench.states.read(StateKind.BASELINE)["acme"].value
    assert baseline["origins"] == ["https://a"]


# ── what else is done in the background ───────────────────────────────────────────────


class NoSecrets:
    """A store that nobody writes to."""


def kept_open(name: str) -> Configuration:
    """Return a configuration without credentials."""
    return configuration(name, no_auth_reason="public_api")


def administration_of(fake: FakeWorld) -> Administration:
    return Administration(fake.ports.configurations, NoSecrets(), fake.audit, "outkey")  # type: ignore[arg-type]


def verified(fake: FakeWorld) -> list[str]:
    return [e.configuration for e in fake.audit.events if isinstance(e, Change)]


def test_a_share_of_what_is_due_is_verified_oldest_first() -> None:
    names = [f"n{number:03}" for number in range(150)]
    fake = fake_gateway(registry=memory_registry(map(kept_open, names)))
    administration = administration_of(fake)
    for number, name in enumerate(names):
        administration.registry.save_test_result(
            administration.registry.get(name), NOW - 200_000 + number, "timeout"
        )
    assert verify_due(administration, fake.sender, 86_400, lambda: True) == 3
    assert verified(fake) == names[:3]
    assert verify_due(administration, fake.sender, 86_400, lambda: False) == 0
    assert verify_due(administration, fake.sender, 500_000, lambda: True) == 0


def test_a_configuration_that_was_removed_meanwhile_does_not_stop_the_others() -> None:
    names = [f"n{number:03}" for number in range(60)]
    fake = fake_gateway(registry=memory_registry(map(kept_open, names)))
    administration = administration_of(fake)
    for name in names:
        administration.registry.save_test_result(
            administration.registry.get(name), 1.0, ""
        )
    gone = iter([True, False])

    def goes_on() -> bool:
        if next(gone):
            administration.registry.remove("n000")
        return True

    assert verify_due(administration, fake.sender, 86_400, goes_on) == 2
    assert verified(fake) == ["n001"]
    with pytest.raises(UnknownConfiguration):
        administration.registry.get("n000")


def test_pruning_without_anything_old_records_nothing() -> None:
    fake, rows = fake_gateway(), MemoryAuditRows()
    administration = administration_of(fake)
    trail = AuditTrail(rows, MemoryCheckpoints(), lambda _: KEY)
    facts = {"at": 5000, "configuration": "acme"}
    rows.append(list(RowCodes(KEY, "k.a").chain([(canonical(facts), label_of(facts))])))
    assert trail.prune_expired(administration, 4.0) == 0
    assert fake.audit.events == []
    assert trail.prune_expired(administration, 6.0) == 1
    assert rows.rows == []


class Site:
    """An installation of fakes with its background work."""

    def __init__(self, states: MemoryStateRows | None = None) -> None:
        self.fake = fake_gateway(registry=memory_registry([kept_open("acme")]))
        self.clock = self.fake.clock
        self.states = states or MemoryStateRows()
        self.rows = MemoryAuditRows()
        self.sealed = False
        self.days: list[int] = []
        self.pruned: list[float] = []  # until when changes were
        self.pauses: list[float] = []
        self.administration = administration_of(self.fake)
        self.database = MemoryDatabase(self.clock, self.states)

    def work(self, verify_hours: int = 24) -> BackgroundWork:
        monitored = MonitoredRows(
            database=self.database,
            states=self.states,
            audit=self.rows,
            runs=MemoryLineRuns(),
            registry=self.administration.registry,
        )
        ports = BackgroundPorts(
            duties=Duties(self.states, self.database),
            monitor=Monitor(monitored, [], self.clock),
            administration=self.administration,
            sender=self.fake.sender,
            audit=AuditTrail(self.rows, MemoryCheckpoints(), lambda _: KEY),
            is_sealed=lambda: self.sealed,
            retention_days=lambda: 30,
            runs=MemorySync(self.administration.registry, {}, self.clock).runs,
            delete_older_than=self.days.append,
            clock=self.clock,
            prune_changes=self.pruned.append,
            changes_days=lambda: 3,
        )
        return BackgroundWork(ports, verify_hours=verify_hours, pause=self.pause)

    def pause(self, seconds: float) -> bool:
        self.pauses.append(seconds)
        return True

    def tested_long_ago(self) -> None:
        registry = self.administration.registry
        registry.save_test_result(registry.get("acme"), 1.0, "")

    def lease(self) -> Mapping[str, Any]:
        return self.states.read(StateKind.LEASE)[MONITORING].value


def test_a_round_monitors_verifies_and_prunes_and_the_next_one_not_again() -> None:
    site = Site()
    site.tested_long_ago()
    work = site.work()
    work.round()
    work.round()
    assert has_monitored(site.states)
    assert verified(site.fake) == ["acme"]
    assert site.days == [30]
    assert site.pruned == [site.clock.now() - 3 * 86_400]
    site.clock.advance(86_401)
    work.round()
    assert site.days == [30, 30]


def test_what_is_switched_off_or_sealed_is_not_verified() -> None:
    site = Site()
    site.tested_long_ago()
    site.work(verify_hours=0).round()
    assert (verified(site.fake), site.days) == ([], [30])
    site = Site()
    site.tested_long_ago()
    site.sealed = True
    site.work().round()
    assert has_monitored(site.states)
    assert (verified(site.fake), site.days) == ([], [])


def test_a_second_process_works_when_the_first_one_has_released_the_duty() -> None:
    site = Site()
    first, second = site.work(), site.work()
    first.round()
    holder = site.lease()["holder"]
    second.round()
    assert site.lease()["holder"] == holder
    first.release()
    second.round()
    assert site.lease()["holder"] != holder


# ── ways out ──────────────────────────────────────────────────────────────────────────

FAILING = Notice(Condition("S-failing", "acme"), NOW)


def test_the_log_has_a_line_for_each_notice(caplog: pytest.LogCaptureFixture) -> None:
    odd = Notice(Condition("S-accepted-after-refusals", "acme"), NOW)
    LoggedNotices().send([FAILING, replace(FAILING, closed_at=NOW + 1), odd])
    assert [(r.levelno, r.message) for r in caplog.records] == [
        (logging.ERROR, "S-failing error: acme: the last test failed"),
        (logging.ERROR, "S-failing recovered: acme: the last test failed"),
        (logging.INFO, f"{odd.condition.kind} {odd.text()}"),
    ]


def webhook(
    transport: FakeTransport, clock: FakeClock, key: Secret | None
) -> WebhookNotices:
    place = parse_endpoint("https://hooks.example/T0/secret-part?x=1", "url")
    route = Route(("93.184.215.14",), "notices", TlsSettings(), 5, 10, 15, 1024)
    return WebhookNotices(place, transport, lambda: route, clock, key)


def test_a_webhook_gets_json_with_a_signature_that_can_be_checked() -> None:
    transport = FakeTransport()
    webhook(transport, FakeClock(), Secret("shared")).send([FAILING])
    ((request, _),) = transport.sent
    headers = {h.name: h.value for h in request.headers}
    assert (request.method, request.target) == ("POST", "/T0/secret-part?x=1")
    assert isinstance(request.body, bytes)
    code = hmac.new(b"shared", request.body, hashlib.sha256).hexdigest()
    assert headers["X-Outkey-Signature"] == Secret(f"sha256={code}")
    assert headers["Content-Length"] == str(len(request.body))
    assert json.loads(request.body) == {
        "notices": [
            {
                "id": "S-failing",
                "level": "error",
                "configuration": "acme",
                "about": "",
                "message": "the last test failed",
                "hint": "Open the configuration, and test it.",
                "opened_at": "2027-01-15T08:00:00Z",
                "closed_at": None,
            }
        ]
    }


def test_without_a_key_there_is_no_signature() -> None:
    transport = FakeTransport()
    webhook(transport, FakeClock(), None).send([FAILING])
    assert "X-Outkey-Signature" not in [h.name for h in transport.sent[0][0].headers]


def test_a_webhook_that_fails_is_tried_three_times_and_logged_without_its_address(
    caplog: pytest.LogCaptureFixture,
) -> None:
    clock = FakeClock()
    transport = FakeTransport([ConnectionFailed(), Response(500), Response(302)])
    hook = webhook(transport, clock, Secret("shared"))
    hook.send([FAILING])
    assert (len(transport.sent), clock.sleeps) == (3, [1.0, 4.0])
    assert [record.message for record in caplog.records] == [
        "notices could not be posted (302)"
    ]
    assert "secret-part" not in caplog.text + repr(hook)
    recovering = FakeTransport([Response(503), Response(204)])
    webhook(recovering, FakeClock(), None).send([FAILING])
    assert len(recovering.sent) == 2
    assert len(caplog.records) == 1


def test_late_refusals_of_a_former_secret_say_nothing_of_the_new_one() -> None:
    made = configuration(authentication_type="bearer")
    fake = fake_gateway(made, secrets={"token": "new"})
    registry = fake.ports.configurations
    lockout_guard = fake.sender.context.lockout_guard
    for _ in range(MAX_REFUSED):
        lockout_guard.record_status(
            replace(registry.get("acme"), revision=-1), 401, 0.0
        )
    assert not registry.get("acme").paused


@pytest.mark.parametrize(
    ("body", "paused"),
    [
        (b'{"message": "Permission denied: role ADMIN is missing"}', False),
        (b'{"message": "Bad credentials"}', True),
    ],
)
def test_a_401_for_a_missing_right_does_not_count_towards_the_pause(
    *, body: bytes, paused: bool
) -> None:
    made = configuration(authentication_type="bearer")
    responses = [Response(401, body=body)] * MAX_REFUSED
    fake = fake_gateway(made, responses=responses, secrets={"token": "t"})
    for _ in range(MAX_REFUSED):
        fake.gateway.send("acme", "GET", "/")
    assert fake.ports.configurations.get("acme").paused is paused


def test_a_late_success_ends_what_it_did_not_know_of() -> None:
    made = configuration(authentication_type="bearer")
    fake = fake_gateway(made, secrets={"token": "t"})
    registry = fake.ports.configurations
    before, lockout_guard = registry.get("acme"), fake.sender.context.lockout_guard
    for _ in range(MAX_REFUSED):
        lockout_guard.record_status(registry.get("acme"), 401, 0.0)
    assert registry.get("acme").paused
    lockout_guard.record_status(before, 200, 0.0)
    assert not registry.get("acme").paused


@pytest.mark.parametrize("kind", ["bearer", "none"])
def test_good_requests_prove_a_configuration_that_nobody_tested(kind: str) -> None:
    made = configuration(authentication_type=kind, no_auth_reason="public_api")
    fake = fake_gateway(made, secrets={"token": "t"})
    assert not fake.ports.configurations.get("acme").is_proved
    fake.gateway.send("acme", "GET", "/")
    assert fake.ports.configurations.get("acme").is_proved


def test_a_lent_token_that_was_renewed_and_is_refused_again_counts() -> None:
    made = configuration(
        authentication_type="bearer",
        token_source="oauth2",
        oauth2__token_url="https://api.acme.example/token",
        oauth2__client_id="erp",
    )
    issued = b'{"access_token": "a", "token_type": "Bearer", "expires_in": 600}'
    fake = fake_gateway(
        made,
        responses=lambda _: Response(200, body=issued),
        secrets={"client_secret": "s"},
    )
    url = "https://api.acme.example/x"
    first = fake.gateway.lend("acme", "GET", url, [])
    fake.gateway.settle(first, 401)
    assert fake.ports.configurations.get("acme").refused == 0
    second = fake.gateway.lend("acme", "GET", url, [], rejected=first)
    fake.gateway.settle(second, 401)
    assert fake.ports.configurations.get("acme").refused == 1


def test_a_test_that_would_change_something_is_not_repeated_in_the_background() -> None:
    made = configuration(
        no_auth_reason="public_api", verification__test_method="DELETE"
    )
    fake = fake_gateway(registry=memory_registry([made]))
    administration = administration_of(fake)
    administration.registry.save_test_result(
        administration.registry.get("acme"), 1.0, ""
    )
    assert verify_due(administration, fake.sender, 86_400, lambda: True) == 1
    assert fake.transport.sent == []
