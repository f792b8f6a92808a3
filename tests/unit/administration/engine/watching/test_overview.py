"""What the home page shows, computed from summaries, notices and counts."""

import pytest

from outkey.administration.core.findings.monitoring import Notice
from outkey.administration.core.policy.policy import Policy
from outkey.administration.engine.watching.overview import (
    Recommendations,
    build_overview,
    recommendations,
)
from outkey.foundation.core.findings.checks import Level
from outkey.foundation.core.findings.conditions import Condition
from outkey.sending.core.configuration.health import Health, Status, Summary

NOW = 1_800_000_000.0
WORKING = Health(NOW, NOW, "", current=True)


def summary(name: str, health: Health = WORKING, url: str = "https://a") -> Summary:
    return Summary(name, url, "bearer", "production", "public", "", health)


def recommended(
    *summaries: Summary,
    policy: Policy | None = None,
    secret_ages: dict[str, dict[str, float]] | None = None,
) -> Recommendations:
    return recommendations(
        summaries, now=NOW, policy=policy or Policy(), secret_ages=secret_ages or {}
    )


def test_the_home_page_counts_what_needs_a_user_and_what_is_untested() -> None:
    counts = {Status.WORKING: 12, Status.FAILING: 4, Status.NEVER_TESTED: 3}
    shown = build_overview(counts, 2, [], (), {})
    assert (shown.needing, shown.unwell, shown.inactive) == (4, 7, 2)
    assert build_overview({}, 0, [], (), {}).needing == 0


def test_a_notice_that_repeats_a_status_explains_it_and_is_not_listed_again() -> None:
    paused = Health(NOW, NOW, "", current=True, paused_at=NOW)
    explains = Notice(Condition("S-paused", "acme"), 1.0)
    another = Notice(Condition("S-new-origin", "acme", "https://new.example"), 2.0)
    of_working = Notice(Condition("S-paused", "works"), 3.0)
    shown = build_overview(
        {Status.PAUSED: 1, Status.WORKING: 1},
        0,
        [summary("acme", paused)],
        (explains, another, of_working),
        {"acme": Status.PAUSED, "works": Status.WORKING},
    )
    assert shown.attention[0].notice == explains
    assert shown.attention[0].status is Status.PAUSED
    assert shown.notices == [of_working, another]


def test_weaknesses_are_counted_once_for_each_configuration_and_ranked() -> None:
    plain = [summary(f"plain-{number}", url="http://a") for number in range(7)]
    ages = {"old": {"token": 1.0, "password": 1.0}}
    shown = recommended(*plain, summary("old"), secret_ages=ages)
    first, second = shown.weaknesses
    assert (first.level, first.count) == (Level.WARNING, 7)
    assert first.names == tuple(f"plain-{number}" for number in range(5))
    assert first.more == 2
    assert (second.count, second.names, second.more) == (1, ("old",), 0)
    assert shown.levels == [(Level.WARNING, 8)]


def test_what_the_policy_blocks_is_an_error_and_comes_first() -> None:
    policy = Policy(blocking={"production": frozenset({"P-old-secret"})})
    shown = recommended(
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


@pytest.mark.parametrize(
    ("names", "command"),
    [(("my api",), "outkey test 'my api'."), (("a", "b"), "outkey test NAME.")],
)
def test_the_command_has_the_name_if_one_configuration_is_weak(
    names: tuple[str, ...], command: str
) -> None:
    (weakness,) = recommended(*(summary(name, Health()) for name in names)).weaknesses
    assert weakness.hint == f"Test it: {command}"


def test_nothing_is_weak_about_a_sound_configuration() -> None:
    assert recommended(summary("acme")).weaknesses == []
