"""Items that need a user's attention, their order, and the one button that helps.

Everything is computed from facts that lists have anyway: no secret is opened.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import IntEnum, StrEnum
from types import MappingProxyType
from typing import NamedTuple

from outkey.administration.core.findings.monitoring import Notice
from outkey.administration.core.findings.notice_checks import Opens
from outkey.administration.engine.watching.overview import AttentionEntry
from outkey.foundation.core.findings.checks import Level
from outkey.foundation.core.moments import day_of
from outkey.foundation.core.permission import Allowed, Permission
from outkey.foundation.core.text import NO_TEXT, Text, counted
from outkey.sending.core.configuration.health import Health, Status
from outkey.sync.core.run.reasons import rejection_text
from outkey.sync.core.run.remedies import summary_of
from outkey.sync.core.run.run import Counts, RejectionGroup, RunState

NO_CONFLICTS: Mapping[str, int] = MappingProxyType({})


class Urgency(IntEnum):
    """How soon a user should look at it; the smallest comes first."""

    NOW = 0  # something does not work
    SOON = 1
    LATER = 2


class Subject(StrEnum):
    """The subject of an item."""

    CONFIGURATION = "configuration"
    LINE = "line"
    WEBHOOK = "webhook"
    PAIR = "pair"
    INSTALLATION = "installation"


class HelpfulAction(StrEnum):
    """The action of an item's button; a host knows the page or form of each."""

    ENTER_SECRET = "enter_secret"  # noqa: S105 - the name of an action
    CONNECT = "connect"
    REPLACE = "replace"
    FIX = "fix"
    TEST = "test"
    OPEN = "open"
    OPEN_AUDIT = "open_audit"
    OPEN_KEYS = "open_keys"
    OPEN_MAPPING = "open_mapping"
    OPEN_RUN = "open_run"
    OPEN_RUNS = "open_runs"
    OPEN_WEBHOOK = "open_webhook"
    RESUME_LINE = "resume_line"
    DECIDE = "decide"


ACTION_LABELS = {
    HelpfulAction.ENTER_SECRET: Text("Enter secret"),
    HelpfulAction.CONNECT: Text("Connect"),
    HelpfulAction.REPLACE: Text("Replace"),
    HelpfulAction.FIX: Text("Fix"),
    HelpfulAction.TEST: Text("Test"),
    HelpfulAction.OPEN: Text("Open"),
    HelpfulAction.OPEN_AUDIT: Text("Open activity"),
    HelpfulAction.OPEN_KEYS: Text("Open keys"),
    HelpfulAction.OPEN_MAPPING: Text("Open mapping"),
    HelpfulAction.OPEN_RUN: Text("Open run"),
    HelpfulAction.OPEN_RUNS: Text("Open runs"),
    HelpfulAction.OPEN_WEBHOOK: Text("Open"),
    HelpfulAction.RESUME_LINE: Text("Resume"),
    HelpfulAction.DECIDE: Text("Decide"),
}


class AttentionRow(NamedTuple):
    """Why a status needs attention, how soon, and what helps."""

    # The best first, each with the permissions that a user needs for it.
    actions: tuple[tuple[HelpfulAction, tuple[Permission, ...]], ...] = ()
    # Where `reason_of` does not know more.
    reason: Text = Text("its stored row cannot be read")
    urgency: Urgency = Urgency.NOW
    # A test helps; otherwise a user must do something first, and a test of refused
    # credentials could lock an account.
    is_testable: bool = False


_TEST = (HelpfulAction.TEST, (Permission.TEST,))
_FIX = (HelpfulAction.FIX, (Permission.CHANGE, Permission.TEST))
_MAY_SET = (Permission.CHANGE, Permission.SET_SECRET)
ATTENTION_ROWS: Mapping[Status, AttentionRow] = {
    Status.NEEDS_SECRET: AttentionRow(
        ((HelpfulAction.ENTER_SECRET, _MAY_SET),), Text("a secret is missing")
    ),
    Status.REAUTHORIZATION_NEEDED: AttentionRow(
        ((HelpfulAction.CONNECT, (Permission.SET_SECRET,)),),
        Text("consent is needed"),
    ),
    Status.SEALED: AttentionRow(
        ((HelpfulAction.OPEN_KEYS, (Permission.VIEW_KEYS,)),),
        Text("its secret cannot be opened without the key"),
    ),
    Status.PAUSED: AttentionRow((_FIX, _TEST)),
    Status.EXPIRED: AttentionRow(((HelpfulAction.REPLACE, _MAY_SET),)),
    Status.FAILING: AttentionRow((_FIX, _TEST), is_testable=True),
    Status.EXPIRING_SOON: AttentionRow(
        ((HelpfulAction.REPLACE, _MAY_SET),), urgency=Urgency.SOON
    ),
    Status.NEVER_TESTED: AttentionRow(
        (_TEST,), Text("never tested"), urgency=Urgency.LATER, is_testable=True
    ),
}
# The database counts by columns that may be odd, as text in the place of a number.
_UNKNOWN = AttentionRow()
TESTABLE = frozenset(
    status for status, row in ATTENTION_ROWS.items() if row.is_testable
)
URGENCY_OF_LEVEL = {Level.ERROR: Urgency.NOW, Level.WARNING: Urgency.SOON}
# What helps with a notice, by where it leads.
NOTICE_ACTIONS = {
    Opens.AUDIT: (HelpfulAction.OPEN_AUDIT, Permission.VIEW_AUDIT),
    Opens.RUNS: (HelpfulAction.OPEN_RUNS, Permission.VIEW_RUN),
}


@dataclass(frozen=True, slots=True)
class AttentionItem:
    """One row of what needs attention: why, since when, and what helps."""

    urgency: Urgency
    subject: Subject
    name: str  # of the configuration, line or webhook; "" for the installation
    reason: Text
    since: float | None = None
    detail: Text = NO_TEXT
    action: HelpfulAction | None = None  # None: this user can do nothing about it
    status: str = ""  # of a configuration
    run: str = ""  # the run that an item of a line is about

    @property
    def label(self) -> Text:
        """The text of the button."""
        return ACTION_LABELS[self.action] if self.action else NO_TEXT


@dataclass(frozen=True, slots=True)
class LineFacts:
    """A line that synchronizes, with its last run that was not a dry run."""

    name: str
    is_paused: bool = False
    run: str = ""  # its id; "" if there was none
    state: str = ""
    cause: str = ""
    counts: Counts = field(default_factory=Counts)
    ended_at: float | None = None

    @property
    def is_failing(self) -> bool:
        """Whether the last run failed, or rejected every record."""
        if self.state == RunState.DONE:
            return self.counts.is_all_rejected
        return self.state == RunState.FAILED


def attention_items(
    entries: Iterable[AttentionEntry],
    lines: Iterable[LineFacts],
    notices: Iterable[Notice],
    *,
    allowed: Allowed,
    now: float,
    conflicts: Mapping[str, int] = NO_CONFLICTS,
) -> list[AttentionItem]:
    """Return the items that need attention, the most urgent first.

    `conflicts` has how many of each pair wait for a user.
    """
    items = [configuration_item(entry, allowed, now) for entry in entries]
    items += [item for line in lines if (item := line_item(line, allowed))]
    items += [pair_item(name, count, allowed) for name, count in conflicts.items()]
    items += [
        notice_item(notice, allowed)
        for notice in notices
        if notice.check.opens is not Opens.LINE  # a line's state says more
    ]
    # Stable: what is equally urgent stays in the order in which it came.
    return sorted(items, key=lambda item: item.urgency)


def configuration_item(
    entry: AttentionEntry, allowed: Allowed, now: float
) -> AttentionItem:
    """Return a configuration that is not working, and what helps."""
    status = entry.status
    row = ATTENTION_ROWS.get(status, _UNKNOWN)
    health = entry.summary.health
    since = entry.notice.opened_at if entry.notice else _since_of(status, health)
    return AttentionItem(
        urgency=row.urgency,
        subject=Subject.CONFIGURATION,
        name=entry.summary.name,
        reason=reason_of(status, health, now),
        since=since,
        action=_first_allowed(row.actions, allowed),
        status=status,
    )


def _first_allowed(
    actions: Iterable[tuple[HelpfulAction, tuple[Permission, ...]]], allowed: Allowed
) -> HelpfulAction:
    """Return the first action that a user may take, or OPEN."""
    for action, permissions in actions:
        if all(allowed(permission) for permission in permissions):
            return action
    return HelpfulAction.OPEN


def _since_of(status: Status, health: Health) -> float | None:
    """Return since when a status holds, where that is known."""
    if status is Status.PAUSED:
        return health.paused_at
    return health.tested_at if status is Status.FAILING else None


def reason_of(status: Status, health: Health, now: float) -> Text:
    """Return why a configuration needs attention, in plain words."""
    if status is Status.PAUSED:
        return Text("paused after {count} refusals in a row", count=health.refused)
    if status is Status.FAILING:
        return Text("the last test failed: {cause}", cause=summary_of(health.cause))
    if status in {Status.EXPIRED, Status.EXPIRING_SOON} and health.expires_on:
        return _expiry_text((health.expires_on - day_of(now)).days)
    if status is Status.REAUTHORIZATION_NEEDED and health.needs_person:
        # A token has ended; without one, this may be the first consent.
        return Text("consent is needed again")
    if status is Status.NEVER_TESTED and health.tested_at is not None:
        return Text("changed since the last test")
    return ATTENTION_ROWS.get(status, _UNKNOWN).reason


def _expiry_text(days: int) -> Text:
    """Return when a token ends, counted in days from today."""
    if days < 0:
        return Text("the token has expired")
    if days == 0:
        return Text("the token expires today")
    if days == 1:
        return Text("the token expires tomorrow")
    return Text("the token expires in {days} days", days=days)


def line_item(line: LineFacts, allowed: Allowed) -> AttentionItem | None:
    """Return a line that needs attention, or None."""
    may_open_run = allowed(Permission.VIEW_RUN)
    open_run = HelpfulAction.OPEN_RUN if may_open_run else HelpfulAction.OPEN
    if line.is_paused:
        may_resume = allowed(Permission.RUN_LINE)
        return AttentionItem(
            urgency=Urgency.LATER,
            subject=Subject.LINE,
            name=line.name,
            reason=Text("paused: no run begins until it is resumed"),
            action=HelpfulAction.RESUME_LINE if may_resume else HelpfulAction.OPEN,
        )
    if line.state == RunState.FAILED:
        cause = summary_of(line.cause) if line.cause else Text("the cause is unknown")
        return AttentionItem(
            urgency=Urgency.NOW,
            subject=Subject.LINE,
            name=line.name,
            reason=Text("the last run failed: {cause}", cause=cause),
            since=line.ended_at,
            action=open_run,
            run=line.run,
        )
    if line.state != RunState.DONE or not line.counts.failed:
        return None
    may_map = allowed(Permission.CHANGE_LINE)
    return AttentionItem(
        urgency=Urgency.NOW if line.is_failing else Urgency.SOON,
        subject=Subject.LINE,
        name=line.name,
        reason=counted(
            line.counts.seen,
            Text("the only record was rejected"),
            Text(
                "{failed} of {count} records rejected",
                failed=line.counts.failed,
                count=line.counts.seen,
            ),
        ),
        since=line.ended_at,
        action=HelpfulAction.OPEN_MAPPING if may_map else open_run,
        run=line.run,
    )


def pair_item(name: str, count: int, allowed: Allowed) -> AttentionItem:
    """Return a pair with conflicts that a user has to decide."""
    may_decide = allowed(Permission.RUN_LINE)
    return AttentionItem(
        urgency=Urgency.SOON,
        subject=Subject.PAIR,
        name=name,
        reason=counted(
            count,
            Text("1 record was changed on both sides and waits for a decision"),
            Text(
                "{count} records were changed on both sides and wait for a decision",
                count=count,
            ),
        ),
        action=HelpfulAction.DECIDE if may_decide else HelpfulAction.OPEN,
    )


def with_rejection(item: AttentionItem, group: RejectionGroup) -> AttentionItem:
    """Return an item of rejected records with the most frequent reason."""
    reason = rejection_text(group.reason)
    if not group.field:
        return replace(item, detail=reason)
    detail = Text("{field}: {reason}", field=group.field, reason=reason)
    return replace(item, detail=detail)


def _webhook_item(notice: Notice, allowed: Allowed) -> AttentionItem:
    """Return a notice about a webhook."""
    may_open = allowed(Permission.VIEW_WEBHOOK)
    return AttentionItem(
        urgency=URGENCY_OF_LEVEL.get(notice.check.level, Urgency.LATER),
        subject=Subject.WEBHOOK,
        name=notice.condition.about,
        reason=notice.message,
        since=notice.opened_at,
        detail=notice.check.page_hint or notice.hint,
        action=HelpfulAction.OPEN_WEBHOOK if may_open else None,
    )


def notice_item(notice: Notice, allowed: Allowed) -> AttentionItem:
    """Return a notice that adds something to the status."""
    check = notice.check
    if check.opens is Opens.WEBHOOK:
        return _webhook_item(notice, allowed)
    _, name, about = notice.condition
    action, permission = NOTICE_ACTIONS.get(
        check.opens, (HelpfulAction.OPEN, Permission.VIEW)
    )
    message = notice.message
    if about:
        message = Text("{message} ({about})", message=message, about=about)
    return AttentionItem(
        urgency=URGENCY_OF_LEVEL.get(check.level, Urgency.LATER),
        subject=Subject.CONFIGURATION if name else Subject.INSTALLATION,
        name=name,
        reason=message,
        since=notice.opened_at,
        detail=check.page_hint or notice.hint,
        action=action if allowed(permission) else HelpfulAction.OPEN,
    )
