"""What the home page shows, computed from summaries, notices and counts."""

import pytest

from outkey.core.findings.checks import Level
from outkey.core.findings.health import Health, Status, Summary
from outkey.core.findings.monitoring import Condition, Notice
from outkey.core.findings.posture import Policy
from outkey.core.sync.run import Counts
from outkey.engine.managing.overview import (
    CHART_HOURS,
    Overview,
    build_overview,
    hourly_bars,
    kind_of_outcome,
    run_bars,
)

NOW = 1_800_000_000.0
HOUR = int(NOW // 3600)
WORKING = Health(NOW, NOW, "", current=True)


def summary(name: str, health: Health = WORKING, url: str = "https://a") -> Summary:
    return Summary(name, url, "bearer", "production", "public", health)


def overview(
    *summaries: Summary,
    notices: tuple[Notice, ...] = (),
    sealed: bool = False,
    policy: Policy | None = None,
    secret_ages: dict[str, dict[str, float]] | None = None,
) -> Overview:
    return build_overview(
        summaries,
        notices,
        now=NOW,
        sealed=sealed,
        policy=policy or Policy(),
        secret_ages=secret_ages or {},
    )


def test_what_needs_attention_comes_by_urgency_and_then_by_name() -> None:
    failing = Health(NOW, NOW, "timeout", current=True)
    missing = Health(NOW, NOW, "", current=True, needs_secret=True)
    shown = overview(
        summary("b", failing),
        summary("a", failing),
        summary("c", missing),
        summary("d"),
    )
    assert [(entry.summary.name, entry.status) for entry in shown.attention] == [
        ("c", Status.NEEDS_SECRET),
        ("a", Status.FAILING),
        ("b", Status.FAILING),
    ]
    assert shown.counts[Status.WORKING] == 1
    assert shown.counts[Status.FAILING] == 2
    assert shown.counts[Status.PAUSED] == 0


def test_a_sealed_installation_shows_what_it_cannot_open() -> None:
    stores = Health(NOW, NOW, "", current=True, stores_secret=True)
    shown = overview(summary("a", stores), summary("b"), sealed=True)
    assert [entry.status for entry in shown.attention] == [Status.SEALED]


def test_a_notice_that_repeats_a_status_explains_it_and_is_not_listed_again() -> None:
    paused = Health(NOW, NOW, "", current=True, paused_at=NOW)
    explains = Notice(Condition("S-paused", "acme"), 1.0)
    another = Notice(Condition("S-new-origin", "acme", "https://new.example"), 2.0)
    of_working = Notice(Condition("S-paused", "works"), 3.0)
    shown = overview(
        summary("acme", paused),
        summary("works"),
        notices=(explains, another, of_working),
    )
    assert shown.attention[0].notice == explains.facts()
    assert shown.notices == [of_working.facts(), another.facts()]


def test_weaknesses_are_counted_once_for_each_configuration_and_ranked() -> None:
    plain = [summary(f"plain-{number}", url="http://a") for number in range(7)]
    ages = {"old": {"token": 1.0, "password": 1.0}}
    shown = overview(*plain, summary("old"), secret_ages=ages)
    first, second = shown.weaknesses
    assert (first.level, first.count) == (Level.WARNING, 7)
    assert first.names == tuple(f"plain-{number}" for number in range(5))
    assert first.more == 2
    assert (second.count, second.names, second.more) == (1, ("old",), 0)
    assert shown.levels == [(Level.WARNING, 8)]


def test_what_the_policy_blocks_is_an_error_and_comes_first() -> None:
    policy = Policy(blocking={"production": frozenset({"P-old-secret"})})
    shown = overview(
        summary("plain", url="http://a"),
        summary("old"),
        policy=policy,
        secret_ages={"old": {"token": 1.0}},
    )
    assert [weakness.level for weakness in shown.weaknesses] == [
        Level.ERROR,
        Level.WARNING,
    ]
    assert shown.levels == [(Level.ERROR, 1), (Level.WARNING, 1)]


def test_nothing_is_weak_about_a_sound_configuration() -> None:
    assert overview(summary("acme")).weaknesses == []


@pytest.mark.parametrize(
    ("outcome", "kind"),
    [
        ("ok", "ok"),
        ("timeout", "failed"),
        ("tls", "failed"),
        ("egress_denied", "refused"),
        ("paused", "refused"),
        ("audit_unavailable", "refused"),
        ("configuration", "refused"),
    ],
)
def test_an_outcome_is_ok_failed_or_refused_by_us(outcome: str, kind: str) -> None:
    assert kind_of_outcome(outcome) == kind


def test_hours_are_bars_in_percent_of_the_highest() -> None:
    bars = hourly_bars(
        [
            (HOUR, "ok", 6),
            (HOUR, "timeout", 2),
            (HOUR, "paused", 2),
            (HOUR - 1, "ok", 5),
        ],
        HOUR,
    )
    assert len(bars) == CHART_HOURS
    assert (bars[-1].ok, bars[-1].failed, bars[-1].refused) == (60, 20, 20)
    assert (bars[-2].ok, bars[-2].total) == (50, 5)
    assert bars[0].total == 0
    assert bars[-1].label == "08:00"
    assert bars[0].label == "09:00"


def test_a_chart_of_nothing_is_flat() -> None:
    assert {bar.ok for bar in hourly_bars([], HOUR)} == {0}
    assert run_bars([]) == []


def test_runs_are_bars_of_what_they_wrote_and_rejected() -> None:
    done = Counts(created=3, updated=3, unchanged=1, archived=1, failed=2)
    failed = Counts(created=5)
    first, second, empty = run_bars(
        [("#1", False, done), ("#2", True, failed), ("#3", False, Counts())]
    )
    assert (first.ok, first.failed, first.refused, first.total) == (80, 0, 20, 10)
    assert (second.ok, second.failed, second.refused, second.total) == (0, 50, 0, 5)
    assert (empty.label, empty.total) == ("#3", 0)
