"""Checks of a webhook: mistakes and risks."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from outkey.foundation.core.errors import SecretMissing, SecretUnreadable
from outkey.foundation.core.findings.checks import Check, Finding, Level
from outkey.foundation.core.moments import DAY_SECONDS, elapsed_text, moment_text
from outkey.foundation.core.text import Text
from outkey.sync.core.line.line import Sync, Transform
from outkey.sync.core.mapping.shape import is_made_by_outkey
from outkey.sync.core.mapping.versions import TIME_WORDS, version_mapping
from outkey.sync.core.run.run import Run
from outkey.sync.core.suggest.names import snake_case
from outkey.webhooks.core.inbox.activity import WebhookActivity
from outkey.webhooks.core.inbox.inbox import InboxDelivery
from outkey.webhooks.core.schemes.scheme import VerificationKind
from outkey.webhooks.core.settings.handlers import is_allowed_handler
from outkey.webhooks.core.settings.section import scheme_keys
from outkey.webhooks.core.settings.settings import Webhook, scheme_of
from outkey.webhooks.core.settings.stored import (
    PREVIOUS,
    SECRET,
    VERIFY_TOKEN,
    StoredWebhook,
)
from outkey.webhooks.core.verification.refusals import refusal_texts

NO_SECRET = Check(
    "H001",
    Level.ERROR,
    "the webhook has no secret, so that every delivery is refused",
    "Enter the secret that the sender shows, with outkey webhook secret {name}.",
)
SECRET_UNRESOLVED = Check(
    "H002",
    Level.ERROR,
    "a secret cannot be read, so that senders are asked to retry later",
    "Set the environment variable or the file that the webhook names.",
)
UNVERIFIED = Check(
    "H003",
    Level.WARNING,
    "deliveries are accepted from anybody who knows the endpoint",
    "Choose the scheme of the sender, if it has one.",
)
SILENT = Check(
    "H004",
    Level.WARNING,
    "no delivery for {silence}, more than three times the usual gap of {gap}",
    "Check the settings and the list of deliveries at the sender.",
    notice="S-webhook-silent",
)
SILENT_LINE = Check(
    "H004",
    Level.WARNING,
    "no delivery for {silence}, more than three times the usual gap of {gap}, and no"
    " run of {line} since",
    "Check the settings and the list of deliveries at the sender. Fetch what was missed"
    " with outkey line run {line}.",
    notice="S-webhook-silent",
)
REFUSED = Check(
    "H005",
    Level.WARNING,
    "refused deliveries within two hours: {count}; {reason}",
    "{hint} The reasons are listed by outkey webhook show {name}.",
    notice="S-webhook-refusing",
)
WAITING = Check(
    "H006",
    Level.WARNING,
    "deliveries that have waited for more than {minutes} minutes: {count}; the oldest"
    " since {since}",
    "Check that outkey serve or outkey worker is running, and that the sync line is"
    " neither paused nor busy.",
    notice="S-webhook-waiting",
)
FAILED = Check(
    "H007",
    Level.WARNING,
    "failed deliveries within a week: {count}; the newest by {reason}",
    "See them with outkey webhook inbox {name} --state failed, and process them again"
    " with outkey webhook replay {name} --state failed.",
    notice="S-webhook-failing",
)
HANDLER_UNLISTED = Check(
    "H008",
    Level.ERROR,
    "the operator has not listed the function {name}, so that every delivery fails",
    "Add it, or its module, to OUTKEY_WEBHOOK_HANDLERS.",
)
SCHEME_ENDS = Check(
    "H009",
    Level.WARNING,  # a notice while the day is far away
    "the sender signs with this scheme until {day}",
    "Change the scheme to {successor} as soon as the sender signs with it, and enter"
    " its secret or key: outkey webhook secret {name}.",
)
SECRET_OF_OTHER_SCHEME = Check(
    "H017",
    Level.ERROR,
    "the secret was entered for another scheme, so that every delivery is refused",
    "If it is meant for this scheme, enter it again with outkey webhook secret {name},"
    " or apply a document that names its reference.",
)
PREVIOUS_OF_OTHER_SCHEME = Check(
    "H010",
    Level.WARNING,
    "the previous secret was entered for another scheme and is not accepted",
    "Remove it, or enter it again with outkey webhook secret {name} --previous.",
)
VERIFY_TOKEN_OF_OTHER_SCHEME = Check(
    "H011",
    Level.WARNING,
    "the verify token was entered for another scheme, so that handshakes are refused",
    "Enter it again with outkey webhook secret {name} --verify-token.",
)
VERSION_IS_TEXT = Check(
    "H012",
    Level.WARNING,
    "{name} shows which delivery of a record is newer, and is stored as text",
    'Map it with transform = "{transform}". A column that is there already stays text:'
    " choose another name for the new one.",
)
ID_NOT_SIGNED = Check(
    "H013",
    Level.WARNING,
    "the ID in the header {header} is not signed, so that deliveries with the same body"
    " count as one whatever their IDs are",
    "Put {{id}} into signed if the sender signs it, or remove id_header.",
)
SECRET_OFFERED = Check(
    "H014",
    Level.NOTICE,
    "the secret was offered from {address} at {moment}",
    "Compare this IP address with those of the sender. If it is not one of them, delete"
    " the webhook and make it again.",
)
REJECTED = Check(
    "H015",
    Level.WARNING,
    "rejected records in deliveries of a week: {count}; the newest in run {run}",
    "See them with outkey run show {run}, and process the deliveries again with outkey"
    " run retry {run}.",
    notice="S-webhook-rejecting",
)
CHANGED_OUTSIDE = Check(
    "H016",
    Level.ERROR,
    "the webhook was changed outside of outkey, so that senders are asked to retry"
    " later",
    "Look at the change with outkey secret confirm, which accepts it after a question."
    " After an upgrade, webhooks of version 0.2 or older are reported too, until they"
    " are confirmed once.",
)
# Findings that end once the secret is entered on the page of the webhook.
SECRET_NEEDED = frozenset({NO_SECRET.id, SECRET_OF_OTHER_SCHEME.id})
MANY_REFUSALS = 5
WAITING_SECONDS = 900.0
FAILED_SECONDS = 7.0 * DAY_SECONDS  # older ones are known, or do not matter
MOST_COUNTED = 1000  # deliveries of a state
# What the watch finds, with the notice that is open meanwhile.
NOTICE_OF_CHECK = {
    check.id: check.notice for check in (SILENT, REFUSED, WAITING, FAILED, REJECTED)
}


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchedWebhook:
    """The state of a webhook, as the checks of its activity need it."""

    name: str
    now: float
    line: str = ""  # whose pull brings what the sender did not send
    activity: WebhookActivity = field(default_factory=WebhookActivity)
    pulled_at: float | None = None  # when the line was last pulled completely
    refused: Mapping[str, int] = field(default_factory=dict)  # within two hours
    explained: Mapping[str, tuple[Text, Text]] = field(default_factory=dict)
    waiting: Sequence[InboxDelivery] = ()  # for too long, the oldest first
    failed: Sequence[InboxDelivery] = ()  # the newest first
    # The runs of its deliveries that rejected some of the records, the newest first.
    rejecting: Sequence[Run] = ()


def watch_findings(watched: WatchedWebhook) -> Iterator[Finding]:
    """Yield the findings about a webhook's activity."""
    silence = watched.activity.silence(watched.now, watched.pulled_at)
    if silence is not None:
        check = SILENT_LINE if watched.line else SILENT
        yield check.finding(
            None,
            silence=elapsed_text(silence),
            gap=elapsed_text(watched.activity.usual_gap or 0.0),
            line=watched.line,
        )
    for reason, count in watched.refused.items():
        if count >= MANY_REFUSALS:
            text, hint = watched.explained.get(reason) or refusal_texts(reason)
            yield REFUSED.finding(
                None, count=count, reason=text, hint=hint, name=watched.name
            )
    if watched.waiting:
        yield WAITING.finding(
            None,
            count=len(watched.waiting),
            minutes=int(WAITING_SECONDS // 60),
            since=moment_text(watched.waiting[0].received_at),
        )
    if watched.failed:
        yield FAILED.finding(
            None,
            count=len(watched.failed),
            reason=watched.failed[0].reason,
            name=watched.name,
        )
    elif watched.rejecting:  # each is mentioned once
        yield REJECTED.finding(
            None,
            count=sum(run.counts.failed for run in watched.rejecting),
            run=watched.rejecting[0].id,
        )


def handler_findings(
    webhook: Webhook, listed_handlers: Collection[str]
) -> Iterator[Finding]:
    """Yield a finding if the operator does not allow the function of a webhook."""
    name = webhook.handler
    if name and not is_allowed_handler(name, listed_handlers):
        yield HANDLER_UNLISTED.finding("handler", name=name)


def ending_findings(webhook: Webhook, now: float) -> Iterator[Finding]:
    """Yield a finding if the sender stops what the deliveries are verified by."""
    scheme = scheme_of(webhook)
    ending = scheme.ending if scheme else None
    level = ending.level(now) if ending else None
    if ending is None or level is None:
        return
    finding = SCHEME_ENDS.finding(
        "scheme", day=ending.day, successor=ending.successor, name=webhook.name
    )
    yield replace(finding, level=level)


def id_findings(webhook: Webhook) -> Iterator[Finding]:
    """Yield a finding if a user relies on an id that is not signed."""
    scheme = scheme_of(webhook)
    is_notice = webhook.run or webhook.confirm
    if not webhook.id_header or scheme is None or is_notice:
        return
    if scheme.signs_body and not scheme.signs_id:
        yield ID_NOT_SIGNED.finding("id_header", header=webhook.id_header)


def version_findings(webhook: Webhook, sync: Sync) -> Iterator[Finding]:
    """Yield a finding if versions are stored as text where a better type exists."""
    mapping = version_mapping(sync)
    if not webhook.line or mapping is None or not is_made_by_outkey(sync.target):
        return
    is_time = bool(TIME_WORDS.intersection(snake_case(mapping.api).split("_")))
    is_taken = mapping.transform is Transform.AS_IS and is_time
    if is_taken or mapping.transform is Transform.TEXT:
        transform = Transform.DATETIME if is_time else Transform.NUMBER
        yield VERSION_IS_TEXT.finding("line", name=mapping.host, transform=transform)


def webhook_findings(
    stored: StoredWebhook, unresolved: SecretMissing | None
) -> Iterator[Finding]:
    """Yield mistakes and risks; `unresolved` is a secret that cannot be read."""
    scheme = scheme_of(stored.webhook)
    if isinstance(stored.error, SecretUnreadable):
        yield CHANGED_OUTSIDE.finding(None)
    if unresolved is not None:
        yield SECRET_UNRESOLVED.finding(unresolved.field)
    yield from missing_secret(stored)
    yield from secrets_of_other_scheme(stored)
    if scheme is not None and scheme.kind is VerificationKind.UNVERIFIED:
        yield UNVERIFIED.finding("scheme")
    yield from offered_secret(stored)


def offered_secret(stored: StoredWebhook) -> Iterator[Finding]:
    """Yield where a secret came from that the first handshake has set."""
    secret = stored.secrets.get(SECRET)
    if secret is not None and secret.offered_from:
        yield SECRET_OFFERED.finding(
            SECRET, address=secret.offered_from, moment=moment_text(secret.set_at)
        )


def secrets_of_other_scheme(stored: StoredWebhook) -> Iterator[Finding]:
    """Yield the secrets that the scheme uses, but that were entered for another one."""
    scheme = scheme_of(stored.webhook)
    uses = scheme_keys(scheme) if scheme else {}
    checks = {
        SECRET: SECRET_OF_OTHER_SCHEME,
        PREVIOUS: PREVIOUS_OF_OTHER_SCHEME,
        VERIFY_TOKEN: VERIFY_TOKEN_OF_OTHER_SCHEME,
    }
    for field_name, check in checks.items():
        if uses.get(field_name) and stored.is_of_other_scheme(field_name):
            yield check.finding(field_name, name=stored.name)


def missing_secret(stored: StoredWebhook) -> Iterator[Finding]:
    """Yield a finding if a webhook refuses every delivery for lack of a secret."""
    scheme = scheme_of(stored.webhook)
    if scheme is not None and scheme.needs_secret and not stored.has_secret:
        yield NO_SECRET.finding(SECRET, name=stored.name)
