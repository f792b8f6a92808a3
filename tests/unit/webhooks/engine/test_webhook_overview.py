"""What the pages of webhooks say: states, counts, charts, reasons and instructions."""

from datetime import UTC, date
from zoneinfo import ZoneInfo

import pytest

from outkey.foundation.core.errors import UnknownConfiguration
from outkey.foundation.core.text import NO_TEXT
from outkey.webhooks.core.inbox.delivery import RefusalReason
from outkey.webhooks.core.inbox.delivery_words import (
    STATES,
    delivery_reason,
    delivery_remedy,
)
from outkey.webhooks.core.inbox.health import (
    LABELS,
    SENTENCES,
    WebhookFacts,
    WebhookState,
    hook_state,
)
from outkey.webhooks.core.inbox.inbox import DeliveryState
from outkey.webhooks.core.schemes.instructions import sender_steps
from outkey.webhooks.core.schemes.schemes import SCHEMES
from outkey.webhooks.core.settings.stored import StoredWebhook
from outkey.webhooks.core.verification.refusals import refusal_texts
from outkey.webhooks.engine.overview import WebhookOverview
from outkey.webhooks.engine.refusals import RefusalSummary
from outkey.webhooks.ports.webhooks import DeliveryCount
from unit.application_in_memory import memory_host
from unit.webhooks.engine.test_webhook_processing import Working
from unit.webhooks.engine.test_webhook_reception import BODY, Hooks, signed

HOUR = 500_000  # 08:00 UTC
NOW = HOUR * 3600.0 + 60
# Reasons that only an explanation has: they are not counted.


@pytest.mark.parametrize(
    ("facts", "state"),
    [
        (WebhookFacts(), WebhookState.NEW),
        (WebhookFacts(last_at=5.0), WebhookState.RECEIVING),
        (WebhookFacts(last_at=5.0, refused_at=4.0), WebhookState.RECEIVING),
        (WebhookFacts(last_at=5.0, refused_at=6.0), WebhookState.REFUSING),
        (WebhookFacts(refused_at=6.0, failed=1), WebhookState.REFUSING),
        (WebhookFacts(last_at=5.0, failed=1), WebhookState.FAILING),
        (WebhookFacts(last_at=5.0, failed=1, is_silent=True), WebhookState.SILENT),
        (WebhookFacts(refused_at=6.0, has_error=True), WebhookState.NOT_READY),
        (WebhookFacts(is_paused=True, has_error=True), WebhookState.PAUSED),
    ],
)
def test_the_state_is_what_a_user_has_to_know_first(
    facts: WebhookFacts, state: WebhookState
) -> None:
    assert hook_state(facts) is state


def test_every_state_has_words() -> None:
    assert set(LABELS) == set(SENTENCES) == set(WebhookState)
    assert set(STATES) == set(DeliveryState)


@pytest.mark.parametrize("reason", sorted(RefusalReason))
def test_every_counted_reason_says_what_to_do(reason: str) -> None:
    text, hint = refusal_texts(reason)
    assert text != reason.replace("_", " ")
    assert hint


def test_other_reasons_are_words_too() -> None:
    assert refusal_texts("secret_unresolved")[1]
    assert refusal_texts("a_later_one") == ("a later one", NO_TEXT)


@pytest.mark.parametrize(
    ("reason", "text"),
    [
        ("", ""),
        ("no_records", "the body has no records where the webhook looks for them"),
        ("all_refused", "every record was rejected"),
        ("something_new", "something new"),
    ],
)
def test_the_reason_of_a_delivery_is_in_words(reason: str, text: str) -> None:
    assert delivery_reason(reason) == text


def test_a_reason_has_a_remedy_where_one_is_known() -> None:
    assert delivery_remedy("not_json") == "Have the sender send JSON."
    assert delivery_remedy("out_of_order") == ""
    assert delivery_remedy("all_refused")
    assert delivery_remedy("something_new") == ""


@pytest.mark.parametrize("name", SCHEMES)
def test_every_scheme_has_instructions(name: str) -> None:
    steps = list(sender_steps(SCHEMES[name]))
    assert len(steps) >= 3
    assert "URL" in steps[0]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("stripe", "at Stripe, and enter the URL"),
        ("stripe", "Copy the secret that is shown there"),
        ("hmac", "the same long random secret"),
        ("token", "in the header Authorization"),
        ("basic", "password"),
        ("discord", "Copy the public key there"),
        ("sns", "Amazon"),
        ("unverified", "anybody who knows the URL"),
        ("meta", "verify token"),
        ("slack", "It checks the URL once"),
        ("standard", "settings of webhooks at the sender"),
    ],
)
def test_the_instructions_fit_the_sender(name: str, words: str) -> None:
    assert words in " ".join(sender_steps(SCHEMES[name]))


def overview_of(*counts: DeliveryCount) -> WebhookOverview:
    (overview,) = Hooks().application.webhooks.overviews("shop")
    return WebhookOverview(overview.stored, (), counts, RefusalSummary())


def counted(state: DeliveryState, hour: int, count: int) -> DeliveryCount:
    return DeliveryCount("e" * 22, state, hour, count, hour * 3600.0 + 1)


def test_the_chart_has_the_last_24_hours_by_state() -> None:
    overview = overview_of(
        counted(DeliveryState.PROCESSED, HOUR, 3),
        counted(DeliveryState.FAILED, HOUR, 1),
        counted(DeliveryState.IGNORED, HOUR - 23, 2),
        counted(DeliveryState.RECEIVED, HOUR - 24, 9),
    )
    chart = overview.chart(NOW, UTC)
    assert [column.label for column in chart.columns[-2:]] == ["07:00", "08:00"]
    assert chart.columns[-1].counts == [3, 0, 0, 1]
    assert chart.columns[0].counts == [0, 2, 0, 0]
    assert chart.totals == [3, 2, 0, 1]
    assert overview.last_at == HOUR * 3600.0 + 1
    assert overview.number(DeliveryState.RECEIVED) == 9


def test_days_are_those_of_the_time_zone() -> None:
    overview = overview_of(
        counted(DeliveryState.PROCESSED, HOUR, 3),
        counted(DeliveryState.FAILED, HOUR - 9, 2),
        counted(DeliveryState.PROCESSED, 0, 50),  # before the days
    )
    days = overview.days(NOW, UTC)
    assert len(days) == 14
    today = date(2027, 1, 15)
    assert (days[-1].day, days[-1].count, days[-1].failed) == (today, 3, 0)
    assert (days[-2].count, days[-2].failed) == (2, 2)
    in_tokyo = overview.days(NOW, ZoneInfo("Asia/Tokyo"))
    assert (in_tokyo[-1].count, in_tokyo[-1].failed) == (5, 2)


def test_overviews_have_counts_refusals_and_findings() -> None:
    working = Working()
    (new,) = working.application.webhooks.overviews()
    assert (new.state, new.last_at, new.refused) == (WebhookState.NEW, None, 0)
    working.send({"id": "a"}, b"not json")
    working.work.round()
    (failing,) = working.application.webhooks.overviews("shop")
    assert failing.state is WebhookState.FAILING
    assert failing.facts.failed == 1
    assert failing.label == "some failed"
    assert "inbox" in failing.sentence
    working.host.world.clock.advance(5)
    working.receive(signed(BODY, key="wrong"))
    (refusing,) = working.application.webhooks.overviews()
    assert refusing.state is WebhookState.REFUSING
    assert refusing.refusals.totals == {"wrong_signature": 1}
    assert refusing.refusals.last_at == working.host.world.clock.now()


def test_a_silent_sender_is_a_state() -> None:
    hooks = Hooks()
    clock = hooks.host.world.clock
    for number in range(6):
        clock.advance(600)
        hooks.receive(signed(event=f"e{number}"))
    clock.advance(600)
    (overview,) = hooks.application.webhooks.overviews()
    assert overview.state is WebhookState.RECEIVING
    clock.advance(3600)
    (overview,) = hooks.application.webhooks.overviews()
    assert overview.state is WebhookState.SILENT
    assert "H004" in [finding.id for finding in overview.other_findings]


def test_what_the_state_says_is_no_finding_beside_it() -> None:
    working = Working()
    working.send(b"not json")
    working.work.round()
    for _ in range(5):
        working.receive(signed(BODY, key="wrong"))
    (overview,) = working.application.webhooks.overviews()
    assert {finding.id for finding in overview.findings} == {"H005", "H007"}
    assert overview.other_findings == []


def test_a_webhook_without_a_secret_is_not_ready() -> None:
    (overview,) = Hooks(secret="").application.webhooks.overviews()
    assert overview.state is WebhookState.NOT_READY
    assert [finding.id for finding in overview.findings] == ["H001"]


def test_without_webhooks_there_is_nothing_to_show() -> None:
    application = memory_host().application
    assert application.webhooks.overviews() == []
    with pytest.raises(UnknownConfiguration):
        application.webhooks.overviews("shop")


def test_a_stored_webhook_is_the_one_of_its_overview() -> None:
    hooks = Hooks()
    (overview,) = hooks.application.webhooks.overviews("shop")
    assert isinstance(overview.stored, StoredWebhook)
    assert overview.stored.endpoint == hooks.endpoint
