"""What happens to webhooks is watched: silence, refusals, and a growing inbox."""

import json
from dataclasses import replace

import pytest

from outkey.administration.core.findings.notice_checks import NOTICE_CHECK_BY_ID, Opens
from outkey.administration.engine.watching.monitoring import open_notices
from outkey.foundation.core.findings.checks import Finding
from outkey.foundation.core.findings.conditions import Condition
from outkey.foundation.core.moments import DAY_SECONDS
from outkey.foundation.core.secret import Secret
from outkey.foundation.core.shared_state import StateKind
from outkey.sending.core.audit.events import Tag
from outkey.sync.core.run.run import RunState
from outkey.webhooks.core.inbox.activity import WebhookActivity
from outkey.webhooks.core.inbox.delivery import Delivery, RefusalReason
from outkey.webhooks.core.settings.checks import NOTICE_OF_CHECK
from outkey.webhooks.core.settings.stored import BODIES, PREVIOUS, REPLACED, SECRET
from outkey.webhooks.core.verification.refusals import EXPLAINED, refusal_texts
from outkey.webhooks.engine import monitoring, refusals
from unit.webhooks.engine.test_webhook_processing import Working
from unit.webhooks.engine.test_webhook_reception import (
    BODY,
    DOCUMENT,
    HMAC,
    KEY,
    LINE,
    signature,
    signed,
)

HOUR = 3600.0
STRIPE = DOCUMENT.replace('"shopify"', '"slack"')


def finding(working: Working, identity: str) -> Finding | None:
    stored = working.settings.get("shop")
    findings = working.application.webhooks.findings(stored)
    return next((one for one in findings if one.id == identity), None)


def conditions(working: Working) -> list[Condition]:
    return list(working.application.webhooks.conditions())


def hourly(document: str = DOCUMENT, number: int = 6) -> Working:
    """Return a webhook with a delivery in each of the last hours."""
    working = Working(document)
    for index in range(number):
        working.host.world.clock.sleep(HOUR)
        working.send({"id": f"a{index}"})
        working.work.round()
    return working


# ── what is usual ───────────────────────────────────────────────────────────────────


def test_the_usual_gap_is_known_after_some_deliveries() -> None:
    few = WebhookActivity().after([0.0, 100.0, 200.0, 300.0])
    assert few.usual_gap is None
    assert few.silence(1e6, None) is None
    enough = few.after_delivery(400.0)
    assert enough.usual_gap == 100.0
    assert enough.silence(700.0, None) is None
    assert enough.silence(701.0, None) == 301.0
    assert enough.without_last().silence(701.0, None) is None
    assert WebhookActivity.from_facts(json.loads(json.dumps(enough.facts()))) == enough
    assert WebhookActivity.from_facts({}) == WebhookActivity()


def test_a_burst_does_not_make_every_minute_a_silence() -> None:
    burst = WebhookActivity().after([1.0, 1.1, 1.2, 1.3, 1.4])
    assert burst.usual_gap == 60.0


def test_nights_and_weekends_are_usual_where_they_are() -> None:
    moments = [
        day * DAY_SECONDS + hour * HOUR
        for day in range(4, 24)
        for hour in range(8, 18)
        if day % 7 not in {2, 3}
    ]
    activity = WebhookActivity().after(moments)
    assert len(activity.gaps) == 10  # of the last 14 days
    assert activity.usual_gap == 63 * HOUR


def test_one_outage_does_not_become_usual() -> None:
    moments = [index * HOUR for index in range(24 * 10)]
    outage = WebhookActivity().after(moments).after_delivery(24 * 10 * HOUR + 5 * HOUR)
    assert outage.usual_gap == HOUR


# ── a silent sender ─────────────────────────────────────────────────────────────────


def test_a_silent_sender_is_a_finding_until_its_line_was_pulled() -> None:
    working = hourly()
    assert finding(working, "H004") is None
    working.host.world.clock.sleep(3 * HOUR)
    assert finding(working, "H004") is None
    working.host.world.clock.sleep(1)
    found = finding(working, "H004")
    assert found is not None
    assert "three times the usual gap of 1 h" in found.message
    assert found.hint.endswith("outkey line run orders.")
    assert conditions(working) == [Condition("S-webhook-silent", "", "shop")]
    runs = working.application.runs
    dry = runs.begin("orders", "tester", dry_run=True)
    runs.finish(replace(dry, state=RunState.DONE))
    failed = runs.begin("orders", "tester", dry_run=False)
    runs.finish(replace(failed, state=RunState.FAILED, cause="timeout"))
    assert finding(working, "H004") is not None
    done = runs.begin("orders", "tester", dry_run=False)
    runs.finish(replace(done, state=RunState.DONE))
    assert finding(working, "H004") is None
    assert conditions(working) == []
    working.host.world.clock.sleep(4 * HOUR)
    assert finding(working, "H004") is not None
    working.send({"id": "again"})
    assert finding(working, "H004") is None


def test_a_silent_sender_without_a_line_names_no_command() -> None:
    document = (
        LINE + '[webhook.shop]\nscheme = "shopify"\nhandler = "shop.hooks.order"\n'
    )
    working = Working(document, order=lambda _: None)
    for _ in range(6):
        working.host.world.clock.sleep(HOUR)
        working.send({"id": "a"})
        working.work.round()
    working.host.world.clock.sleep(4 * HOUR)
    found = finding(working, "H004")
    assert found is not None
    assert "outkey line run" not in found.hint
    working.changes.pause("shop")
    assert finding(working, "H004") is None
    assert conditions(working) == []


def test_what_is_usual_outlives_the_deliveries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(monitoring, "SAMPLE", 3)
    working = Working()
    endpoint = working.endpoint
    states = working.application.states
    for _ in range(6):
        working.host.world.clock.sleep(HOUR)
        working.send({"id": "a"})
        conditions(working)
    before = states.read(StateKind.HOOK_ACTIVITY)[endpoint]
    conditions(working)
    assert states.read(StateKind.HOOK_ACTIVITY)[endpoint] == before  # nothing is new
    working.work.round()
    working.application.webhooks.inbox().prune(working.host.world.clock.now() + 1)
    working.host.world.clock.sleep(4 * HOUR)
    assert finding(working, "H004") is not None
    for _ in range(3):  # as many as are read at a time: there may be more
        working.send({"id": "a"})
    assert finding(working, "H004") is None
    working.changes.remove("shop")
    assert states.read(StateKind.HOOK_ACTIVITY) == {}


# ── refusals ────────────────────────────────────────────────────────────────────────


def refused(body: bytes, signed_body: bytes = BODY, key: str = KEY) -> Delivery:
    header = ("X-Shopify-Hmac-SHA256", signature(signed_body, key))
    return Delivery("POST", "/hooks/x", (header,), body)


def test_refusals_are_counted_by_what_explains_them() -> None:
    working = Working()
    reencoded = json.dumps(json.loads(BODY), separators=(",", ":")).encode()
    assert working.receive(refused(reencoded)).status == 401
    assert working.receive(refused(BODY, key="wrong")).status == 401
    github = Delivery(
        "POST", "/x", (("X-Hub-Signature-256", "sha256=" + "0" * 64),), b""
    )
    assert working.receive(github).status == 401
    assert working.refused() == {
        "body_changed": 1,
        "wrong_signature": 1,
        "other_scheme": 1,
    }
    texts = working.application.webhooks.explained_refusals("shop")
    assert "another form" in texts["body_changed"][0]
    assert "GitHub" in texts["other_scheme"][0]
    assert texts["wrong_signature"][1]


def test_a_clock_that_is_hours_off_is_explained() -> None:
    from hashlib import sha256
    from hmac import new

    working = Working(STRIPE)
    now = int(working.host.world.clock.now()) - 8 * 3600
    code = new(KEY.encode(), f"v0:{now}:".encode() + BODY, sha256).hexdigest()
    headers = (
        ("X-Slack-Signature", f"v0={code}"),
        ("X-Slack-Request-Timestamp", str(now)),
    )
    assert working.receive(Delivery("POST", "/x", headers, BODY)).status == 401
    message, hint = working.application.webhooks.explained_refusals("shop")["too_old"]
    assert "8 h" in message
    assert "time zone" in hint


def test_refusals_of_a_clock_that_was_ahead_are_not_recent() -> None:
    working = Working()
    counted = working.application.webhooks.ports().refusals
    counted.count("shop", "wrong_signature")
    assert counted.within_two_hours("shop") == {"wrong_signature": 1}
    working.host.world.clock.advance(-86_400)
    assert counted.within_two_hours("shop") == {}


def test_many_refusals_are_a_finding_with_the_reason() -> None:
    working = Working()
    for number in range(5):
        assert finding(working, "H005") is None, number
        working.receive(signed(event=f"e{number}", key="wrong"))
    found = finding(working, "H005")
    assert found is not None
    message, hint = working.application.webhooks.explained_refusals("shop")[
        "wrong_signature"
    ]
    assert found.message == f"refused deliveries within two hours: 5; {message}"
    assert found.hint.startswith(hint)
    assert conditions(working) == [Condition("S-webhook-refusing", "", "shop")]
    working.host.world.clock.sleep(2 * HOUR)
    assert finding(working, "H005") is None
    working.receive(signed(key="wrong"))
    state = working.application.states.read(StateKind.HOOK_REFUSALS)["shop"]
    assert len(state.value["hours"]) == 1
    assert working.refused() == {"wrong_signature": 6}


def test_a_secret_that_was_replaced_or_removed_is_recognized() -> None:
    working = Working()
    working.changes.set_secret("shop", Secret("newer"))
    assert working.receive(signed()).status == 401
    assert working.refused() == {"previous_secret": 1}
    text, hint = working.application.webhooks.explained_refusals("shop")[
        "previous_secret"
    ]
    assert "replaced or removed" in text
    assert "--previous" in hint
    assert working.receive(signed(key="other")).status == 401
    assert working.refused() == {"previous_secret": 1, "wrong_signature": 1}
    working.changes.set_secret("shop", Secret(KEY), PREVIOUS)
    assert working.receive(signed()).status == 200
    working.apply(DOCUMENT + 'previous_secret = ""\n')
    assert working.receive(signed(event="e2")).status == 401
    assert working.refused()["previous_secret"] == 2
    working.apply(DOCUMENT + 'previous_secret = ""\n')  # there is none any more
    assert working.receive(signed(event="e3", key="newer")).status == 200


def test_an_unreadable_secret_is_replaced_and_explains_nothing() -> None:
    working = Working()
    working.changes.set_secret("shop", Secret("newer"))
    stored = working.settings.get("shop")

    def damage(field: str) -> None:
        damaged = replace(stored.secrets[field], sealed=stored.secrets[BODIES].sealed)
        working.settings.change("shop", lambda now: now.with_secret(field, damaged))

    damage(REPLACED)
    assert working.settings.open_secrets(working.settings.get("shop")).replaced is None
    assert working.receive(signed()).status == 401
    assert working.refused() == {"wrong_signature": 1}
    damage(SECRET)
    working.changes.set_secret("shop", Secret(KEY))
    assert working.receive(signed()).status == 200


def test_a_flood_is_counted_without_explanations(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(refusals, "EXPLAINED_PER_MINUTE", 2)
    working = Working()
    changed = refused(b'{"id":"o1","total":3}')
    for _ in range(4):
        working.receive(changed)
    assert working.refused() == {"body_changed": 2, "wrong_signature": 2}
    working.host.world.clock.sleep(60)
    working.receive(changed)
    assert working.refused() == {"body_changed": 3, "wrong_signature": 2}


def test_each_reason_has_words() -> None:
    for reason in (*RefusalReason, "secret_unresolved"):
        text, hint = refusal_texts(reason)
        assert text
        assert hint, reason
    assert refusal_texts("of_another_version") == ("of another version", "")
    assert set(EXPLAINED) < set(RefusalReason)


# ── the inbox ───────────────────────────────────────────────────────────────────────


def test_an_inbox_that_grows_is_a_finding() -> None:
    working = Working()
    working.send({"id": "a"}, {"id": "b"})
    working.host.world.clock.sleep(901)
    found = finding(working, "H006")
    assert found is not None
    begin = "deliveries that have waited for more than 15 minutes: 2; the oldest since"
    assert found.message.startswith(begin)
    assert conditions(working) == [Condition("S-webhook-waiting", "", "shop")]
    working.work.round()
    assert finding(working, "H006") is None


def test_failed_deliveries_are_a_finding() -> None:
    working = Working()
    working.send({"id": "a"}, b"text")
    working.work.round()
    found = finding(working, "H007")
    assert found is not None
    assert found.message == "failed deliveries within a week: 1; the newest by not_json"
    assert "replay shop --state failed" in found.hint
    assert conditions(working) == [Condition("S-webhook-failing", "", "shop")]
    working.host.world.clock.sleep(8 * DAY_SECONDS)
    assert finding(working, "H007") is None


def test_a_function_that_is_not_listed_any_more_is_a_finding() -> None:
    working = Working(HMAC)
    assert finding(working, "H008") is None
    working.application = replace(working.application, listed_handlers=())
    assert finding(working, "H008") is not None


# ── notices ─────────────────────────────────────────────────────────────────────────


def test_every_condition_has_words() -> None:
    of_webhooks = {
        check.id
        for check in NOTICE_CHECK_BY_ID.values()
        if check.opens is Opens.WEBHOOK
    }
    assert set(NOTICE_OF_CHECK.values()) == of_webhooks


def test_monitoring_opens_and_closes_notices_of_webhooks() -> None:
    working = Working()
    application = working.application
    background = application.background_work(
        application.administration("tester"),
        [],
        verify_hours=0,
        pause=lambda _: True,
        delete_older_than=lambda _: None,
    )
    monitor = background._ports.monitor
    for number in range(5):
        working.receive(signed(event=f"e{number}", key="wrong"))
    (opened,) = monitor.look()
    assert opened.condition == Condition("S-webhook-refusing", "", "shop")
    assert open_notices(application.states) == [opened]
    assert monitor.look() == []
    working.host.world.clock.sleep(2 * HOUR)
    (closed,) = monitor.look()
    assert closed.closed_at is not None
    assert Tag.DELIVERIES_REFUSED not in working.tags()
