"""What needs attention, in which order, and the one button that helps."""

from collections.abc import Callable
from datetime import date, timedelta

import pytest

from outkey.administration.core.access.roles import ROLES
from outkey.administration.core.findings.monitoring import Notice
from outkey.administration.engine.watching.attention import (
    AttentionItem,
    HelpfulAction,
    LineFacts,
    Subject,
    Urgency,
    attention_items,
    configuration_item,
    line_item,
    notice_item,
    pair_item,
    with_rejection,
)
from outkey.administration.engine.watching.overview import AttentionEntry
from outkey.foundation.core.findings.conditions import Condition
from outkey.foundation.core.moments import day_of
from outkey.foundation.core.permission import Permission
from outkey.foundation.core.text import NO_TEXT
from outkey.sending.core.configuration.health import Health, Status, Summary
from outkey.sync.core.run.run import Counts, RejectionGroup

NOW = 1_800_000_000.0
TODAY = day_of(NOW)


def everything(_permission: Permission) -> bool:
    return True


def role(name: str) -> Callable[[Permission], bool]:
    return lambda permission: permission in ROLES[name]


def entry(
    status: Status, name: str = "acme", notice: Notice | None = None, **facts: object
) -> AttentionEntry:
    health = Health(**facts)  # type: ignore[arg-type]  # as a test writes them
    summary = Summary(
        name, "https://a.example", "bearer", "production", "public", "", health
    )
    return AttentionEntry(summary, status, notice)


@pytest.mark.parametrize(
    ("status", "administrator", "operator"),
    [
        (Status.NEEDS_SECRET, HelpfulAction.ENTER_SECRET, HelpfulAction.OPEN),
        (Status.REAUTHORIZATION_NEEDED, HelpfulAction.CONNECT, HelpfulAction.OPEN),
        (Status.SEALED, HelpfulAction.OPEN_KEYS, HelpfulAction.OPEN),
        (Status.PAUSED, HelpfulAction.FIX, HelpfulAction.TEST),
        (Status.EXPIRED, HelpfulAction.REPLACE, HelpfulAction.OPEN),
        (Status.FAILING, HelpfulAction.FIX, HelpfulAction.TEST),
        (Status.EXPIRING_SOON, HelpfulAction.REPLACE, HelpfulAction.OPEN),
        (Status.NEVER_TESTED, HelpfulAction.TEST, HelpfulAction.TEST),
    ],
)
def test_each_status_has_one_button_that_the_user_may_press(
    status: Status, administrator: HelpfulAction, operator: HelpfulAction
) -> None:
    problem = entry(status, cause="timeout", paused_at=NOW, expires_on=TODAY)
    assert configuration_item(problem, everything, NOW).action is administrator
    item = configuration_item(problem, role("Operator"), NOW)
    assert item.action is operator
    assert item.label
    assert item.status == status


@pytest.mark.parametrize(
    ("status", "facts", "reason"),
    [
        (Status.NEEDS_SECRET, {}, "a secret is missing"),
        (Status.REAUTHORIZATION_NEEDED, {}, "consent is needed"),
        (
            Status.REAUTHORIZATION_NEEDED,
            {"needs_person": True},
            "consent is needed again",
        ),
        (Status.SEALED, {}, "its secret cannot be opened without the key"),
        (Status.PAUSED, {"refused": 5}, "paused after 5 refusals in a row"),
        (Status.FAILING, {"cause": "timeout"}, "the last test failed: timeout"),
        (Status.NEVER_TESTED, {}, "never tested"),
        (Status.NEVER_TESTED, {"tested_at": 1.0}, "changed since the last test"),
    ],
)
def test_the_reason_is_a_plain_sentence(
    status: Status, facts: dict[str, object], reason: str
) -> None:
    assert configuration_item(entry(status, **facts), everything, NOW).reason == reason


@pytest.mark.parametrize(
    ("day", "reason"),
    [
        (TODAY - timedelta(days=1), "the token has expired"),
        (TODAY, "the token expires today"),
        (TODAY + timedelta(days=1), "the token expires tomorrow"),
        (TODAY + timedelta(days=6), "the token expires in 6 days"),
    ],
)
def test_an_expiry_is_counted_in_days(day: date, reason: str) -> None:
    problem = entry(Status.EXPIRING_SOON, expires_on=day)
    assert configuration_item(problem, everything, NOW).reason == reason


def test_it_says_since_when_where_that_is_known() -> None:
    paused = entry(Status.PAUSED, paused_at=5.0)
    assert configuration_item(paused, everything, NOW).since == 5.0
    failing = entry(Status.FAILING, cause="timeout", tested_at=6.0)
    assert configuration_item(failing, everything, NOW).since == 6.0
    missing = entry(Status.NEEDS_SECRET)
    assert configuration_item(missing, everything, NOW).since is None
    notice = Notice(Condition("S-failing", "acme"), 3.0)
    noticed = entry(Status.FAILING, cause="timeout", tested_at=6.0, notice=notice)
    assert configuration_item(noticed, everything, NOW).since == 3.0


REJECTED = Counts(created=259, failed=41)


@pytest.mark.parametrize(
    ("line", "urgency", "reason", "action"),
    [
        (
            LineFacts("l", run="7", state="failed", cause="timeout", ended_at=1.0),
            Urgency.NOW,
            "the last run failed: timeout",
            HelpfulAction.OPEN_RUN,
        ),
        (
            LineFacts("l", run="7", state="failed"),
            Urgency.NOW,
            "the last run failed: the cause is unknown",
            HelpfulAction.OPEN_RUN,
        ),
        (
            LineFacts("l", run="7", state="done", counts=REJECTED),
            Urgency.SOON,
            "41 of 300 records rejected",
            HelpfulAction.OPEN_MAPPING,
        ),
        (
            LineFacts("l", run="7", state="done", counts=Counts(failed=3)),
            Urgency.NOW,
            "3 of 3 records rejected",
            HelpfulAction.OPEN_MAPPING,
        ),
        (
            LineFacts("l", is_paused=True, state="failed"),
            Urgency.LATER,
            "paused: no run begins until it is resumed",
            HelpfulAction.RESUME_LINE,
        ),
    ],
)
def test_a_line_needs_attention_after_a_failure_rejected_records_or_a_pause(
    line: LineFacts, urgency: Urgency, reason: str, action: HelpfulAction
) -> None:
    item = line_item(line, everything)
    assert item is not None
    assert (item.urgency, item.reason, item.action) == (urgency, reason, action)
    assert item.subject is Subject.LINE


def test_a_user_is_not_offered_what_they_may_not_do_with_a_line() -> None:
    def nothing(_permission: Permission) -> bool:
        return False

    rejected = LineFacts("l", run="7", state="done", counts=REJECTED)
    item = line_item(rejected, role("Operator"))
    assert item
    assert item.action is HelpfulAction.OPEN_RUN
    item = line_item(rejected, nothing)
    assert item
    assert item.action is HelpfulAction.OPEN
    item = line_item(LineFacts("l", is_paused=True), nothing)
    assert item
    assert item.action is HelpfulAction.OPEN


@pytest.mark.parametrize("state", ["", "waiting", "running", "done", "cancelled"])
def test_a_line_without_a_problem_is_not_listed(state: str) -> None:
    line = LineFacts("l", state=state, counts=Counts(created=3))
    assert line_item(line, everything) is None
    assert not line.is_failing


def test_a_line_is_failing_if_its_run_failed_or_rejected_everything() -> None:
    assert LineFacts("l", state="failed").is_failing
    assert LineFacts("l", state="done", counts=Counts(failed=3)).is_failing
    assert not LineFacts("l", state="done", counts=REJECTED).is_failing


def test_the_most_frequent_rejection_explains_the_item() -> None:
    item = AttentionItem(Urgency.SOON, Subject.LINE, "l", NO_TEXT)
    named = with_rejection(item, RejectionGroup("no_date", "born_on", 41))
    assert named.detail == "born_on: the value is not a date"
    assert with_rejection(item, RejectionGroup("status_500", "", 1)).detail == (
        "the API returned status 500"
    )
    assert item.label == ""


def test_a_notice_leads_to_where_its_reason_is_found() -> None:
    burst = Notice(Condition("S-refused-burst", "acme"), 2.0)
    item = notice_item(burst, everything)
    assert item.action is HelpfulAction.OPEN_AUDIT
    assert (item.urgency, item.name, item.since) == (Urgency.SOON, "acme", 2.0)
    assert notice_item(burst, lambda _: False).action is HelpfulAction.OPEN
    new = Notice(Condition("S-new-origin", "acme", "https://b.example"), 2.0)
    assert notice_item(new, everything).reason.endswith("(https://b.example)")
    worker = notice_item(Notice(Condition("S-no-worker"), 2.0), everything)
    assert worker.subject is Subject.INSTALLATION
    assert worker.action is HelpfulAction.OPEN_RUNS
    assert worker.urgency is Urgency.NOW
    assert worker.detail == "The administrator of the server starts one."
    ends = Notice(Condition("S-accepted-after-refusals", "acme"), 2.0)
    assert notice_item(ends, everything).urgency is Urgency.LATER


def test_a_notice_of_a_webhook_leads_to_the_webhook() -> None:
    refusing = Notice(Condition("S-webhook-refusing", "acme", "shop"), 2.0)
    item = notice_item(refusing, everything)
    assert (item.subject, item.name) == (Subject.WEBHOOK, "shop")
    assert (item.urgency, item.since) == (Urgency.NOW, 2.0)
    assert (item.action, item.label) == (HelpfulAction.OPEN_WEBHOOK, "Open")
    assert item.detail == "See the reasons before the sender gives up."
    assert notice_item(refusing, lambda _: False).action is None
    silent = Notice(Condition("S-webhook-silent", "", "shop"), 2.0)
    item = notice_item(silent, everything)
    assert (item.urgency, item.since) == (Urgency.SOON, 2.0)
    assert "sync line" in item.detail


def test_what_does_not_work_comes_before_what_soon_will_not() -> None:
    items = attention_items(
        [entry(Status.NEVER_TESTED, "new"), entry(Status.NEEDS_SECRET, "empty")],
        [
            LineFacts("orders", state="done", counts=REJECTED),
            LineFacts("contacts", state="failed"),
            LineFacts("fine", state="done"),
        ],
        [
            Notice(Condition("S-line-failing", "acme", "contacts"), 1.0),
            Notice(Condition("S-volume", "acme"), 1.0),
        ],
        allowed=everything,
        now=NOW,
    )
    assert [item.name for item in items] == [
        "empty",
        "contacts",
        "orders",
        "acme",
        "new",
    ]


@pytest.mark.parametrize(
    ("count", "words"),
    [
        (1, "1 record was changed on both sides and waits for a decision"),
        (2, "2 records were changed on both sides and wait for a decision"),
    ],
)
def test_open_conflicts_of_a_pair_wait_for_a_user(count: int, words: str) -> None:
    (item,) = attention_items(
        [], [], [], allowed=everything, now=NOW, conflicts={"orders": count}
    )
    assert (item.subject, item.name, item.urgency) == (
        Subject.PAIR,
        "orders",
        Urgency.SOON,
    )
    assert item.reason == words
    assert (item.action, item.label) == (HelpfulAction.DECIDE, "Decide")
    looking = pair_item("orders", count, role("Auditor"))
    assert looking.action is HelpfulAction.OPEN
