"""What monitoring notifies users of: a table of checks, and where each is shown."""

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from enum import StrEnum

from outkey.foundation.core.findings.checks import Check, Level
from outkey.foundation.core.moments import DAY_SECONDS
from outkey.foundation.core.text import NO_TEXT, Text
from outkey.sending.core.configuration.expiry_warnings import NEW_TOKEN_HINT


class Opens(StrEnum):
    """Where a page leads to from a notice."""

    CONFIGURATION = "configuration"
    AUDIT = "audit"
    RUNS = "runs"
    WEBHOOK = "webhook"
    LINE = "line"  # pages show it as the state of the line, which says more


@dataclass(frozen=True, slots=True)
class NoticeCheck(Check):
    """A check whose notice opens and closes.

    One with a `duration` is about an event and closes after it; any other is about a
    state, and closes when that recovers.
    """

    _: KW_ONLY
    duration: float = 0.0
    reports_recovery: bool = True
    opens: Opens = Opens.CONFIGURATION
    # On pages, instead of a hint that names a command, which needs a terminal.
    page_hint: Text = NO_TEXT
    command: str = ""  # shows the cause, in a terminal


_CERTIFICATE_HINT = (
    "Report it to the API's provider, or renew it where the API is your own."
)
NOTICE_CHECKS: tuple[NoticeCheck, ...] = (
    NoticeCheck(
        "S-failing",
        Level.ERROR,
        "the last test failed",
        "Open the configuration, and test it.",
        command="outkey test {name}",
    ),
    NoticeCheck(
        "S-paused",
        Level.ERROR,
        "sending is paused, since the credentials were refused again and again",
        "Enter the right credentials, or test the configuration.",
        command="outkey test {name}",
    ),
    NoticeCheck(
        "S-person-needed",
        Level.ERROR,
        "the provider requires a user to allow access again",
        "Press Connect on the configuration's page, or enter a new refresh token.",
    ),
    NoticeCheck(
        "S-refused-burst",
        Level.WARNING,
        "the API refused the credentials ten times within a minute",
        "Check the audit for what sends, and test the configuration.",
        opens=Opens.AUDIT,
        command="outkey test {name}",
    ),
    NoticeCheck(
        "S-host-failing",
        Level.ERROR,
        "several configurations fail at one host",
        "Check whether the provider has an outage before you change credentials.",
    ),
    NoticeCheck(
        "S-new-origin",
        Level.WARNING,
        "requests go to a host that was never used before",
        "Check the configuration's history for who changed the URL, and whether"
        " on purpose.",
        duration=DAY_SECONDS,
        opens=Opens.AUDIT,
    ),
    NoticeCheck(
        "S-accepted-after-refusals",
        Level.NOTICE,
        "the credentials were accepted after a series of refusals",
        "If no user has corrected them, they may have been guessed: check the audit.",
        duration=DAY_SECONDS,
        opens=Opens.AUDIT,
    ),
    NoticeCheck(
        "S-line-failing",
        Level.ERROR,
        "the last run of a sync line failed",
        "Open the run to see the cause, and run the line again.",
        opens=Opens.LINE,
        command="outkey run list --line {about} --state failed",
    ),
    NoticeCheck(
        "S-no-worker",
        Level.ERROR,
        "runs of sync lines wait, and no worker takes them",
        "Start outkey worker, or check why it ended; it needs the key.",
        opens=Opens.RUNS,
        page_hint=Text("The administrator of the server starts one."),
    ),
    NoticeCheck(
        "S-rotation-refused",
        Level.WARNING,
        "the API refused the next credentials, which ended their trial",
        "Compare them with what the provider has, and stage them again. Requests use"
        " the credentials from before.",
        duration=DAY_SECONDS,
        command="outkey rotation status {name}",
    ),
    NoticeCheck(
        "S-rotation-stale",
        Level.NOTICE,
        "the next credentials were deleted, since they were not used within 30 days",
        "Stage them again if you still need them.",
        duration=DAY_SECONDS,
        command="outkey rotation status {name}",
    ),
    NoticeCheck(
        "S-volume",
        Level.WARNING,
        "more than ten times as many requests as usual",
        "Check the audit for what sends, or set a rate limit.",
        opens=Opens.AUDIT,
    ),
    NoticeCheck(
        "S-sign-ins",
        Level.WARNING,
        "many sign-ins of a user have failed within an hour",
        "The password may be guessed by an attacker. Ask the user, and restrict who"
        " can reach the pages.",
        duration=DAY_SECONDS,
        opens=Opens.AUDIT,
    ),
    NoticeCheck(
        "S-webhook-silent",
        Level.WARNING,
        "a webhook has had no delivery for three times the usual gap",
        "Check the settings at the sender, and run its sync line.",
        opens=Opens.WEBHOOK,
    ),
    NoticeCheck(
        "S-webhook-refusing",
        Level.ERROR,
        "many deliveries of a webhook are refused",
        "See the reasons with outkey webhook show, before the sender gives up.",
        opens=Opens.WEBHOOK,
        page_hint=Text("See the reasons before the sender gives up."),
    ),
    NoticeCheck(
        "S-webhook-waiting",
        Level.ERROR,
        "deliveries of a webhook wait, and are not processed",
        "Check that a worker is running, and the sync line of the webhook.",
        opens=Opens.WEBHOOK,
    ),
    NoticeCheck(
        "S-webhook-failing",
        Level.WARNING,
        "deliveries of a webhook have failed",
        "See the inbox of the webhook, and replay them when the cause is removed.",
        opens=Opens.WEBHOOK,
    ),
    NoticeCheck(
        "S-webhook-rejecting",
        Level.WARNING,
        "records of a webhook's deliveries were rejected",
        "Open the run to see why, correct the cause, and retry them.",
        opens=Opens.WEBHOOK,
    ),
    NoticeCheck(
        "S-token-ends-0",
        Level.ERROR,
        "the token has ended",
        NEW_TOKEN_HINT,
        reports_recovery=False,
    ),
    NoticeCheck(
        "S-token-ends-1",
        Level.WARNING,
        "the token ends within a day",
        NEW_TOKEN_HINT,
        reports_recovery=False,
    ),
    NoticeCheck(
        "S-token-ends-7",
        Level.WARNING,
        "the token ends within a week",
        NEW_TOKEN_HINT,
        reports_recovery=False,
    ),
    NoticeCheck(
        "S-token-ends-30",
        Level.WARNING,
        "the token ends within 30 days",
        NEW_TOKEN_HINT,
        reports_recovery=False,
    ),
    NoticeCheck(
        "S-certificate-ends-0",
        Level.ERROR,
        "the server's certificate has ended",
        _CERTIFICATE_HINT,
        reports_recovery=False,
    ),
    NoticeCheck(
        "S-certificate-ends-1",
        Level.WARNING,
        "the server's certificate ends within a day",
        _CERTIFICATE_HINT,
        reports_recovery=False,
    ),
    NoticeCheck(
        "S-certificate-ends-7",
        Level.WARNING,
        "the server's certificate ends within a week",
        _CERTIFICATE_HINT,
        reports_recovery=False,
    ),
    NoticeCheck(
        "S-certificate-ends-30",
        Level.WARNING,
        "the server's certificate ends within 30 days",
        _CERTIFICATE_HINT,
        reports_recovery=False,
    ),
)
NOTICE_CHECK_BY_ID: Mapping[str, NoticeCheck] = {
    check.id: check for check in NOTICE_CHECKS
}
