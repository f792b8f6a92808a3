"""Reception, settings, refusals and the inbox of webhooks, without a database."""

import json
import threading
from base64 import b64encode
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from hashlib import sha256
from hmac import digest

import pytest

from outkey.administration.core.document.document import parse_document
from outkey.administration.core.document.export import render
from outkey.administration.engine.editing.applying import Applied
from outkey.administration.engine.operating.measuring import count_deliveries
from outkey.foundation.adapters.clock_system import SystemClock
from outkey.foundation.adapters.threads_system import SystemThreads
from outkey.foundation.core.errors import (
    BackendUnavailable,
    BackendUnknown,
    BlockedByPolicy,
    ConfigError,
    EditConflict,
    EgressDenied,
    OutkeyError,
    RateLimited,
    Sealed,
    SecretUnreadable,
    StorageUnavailable,
    UnknownConfiguration,
)
from outkey.foundation.core.secret import Secret
from outkey.foundation.core.shared_state import SharedState, StateKind
from outkey.sending.adapters.secrets.keyring import Keyring, new_keyring
from outkey.sending.adapters.secrets.secrets_reference import ReferencedSecrets
from outkey.sending.core.audit.events import Change, Tag
from outkey.sending.core.request.message import Response
from outkey.sending.core.vault.envelope import key_name_of
from outkey.testing import configuration, fake_gateway
from outkey.testing.fakes.storage import MemorySecretRows
from outkey.webhooks.adapters.public_keys import CryptographyKeys
from outkey.webhooks.adapters.secrets_of_webhooks import SecretsWithWebhooks
from outkey.webhooks.core.inbox.delivery import Delivery, Refused
from outkey.webhooks.core.inbox.inbox import DeliveryState, InboxDelivery
from outkey.webhooks.core.settings.stored import PREVIOUS, SECRET, VERIFY_TOKEN
from outkey.webhooks.core.verification.handshakes import HandshakeResponse
from outkey.webhooks.engine.changes import WebhookAdministration
from outkey.webhooks.engine.fetching import (
    FETCHES_AT_ONCE,
    KEPT_SECONDS,
    MOST_KEPT,
    Certificates,
    fetch_public,
)
from outkey.webhooks.engine.reception import Reception, WebhookResponse
from outkey.webhooks.engine.refusals import LaterRefusals
from outkey.webhooks.engine.stored_webhooks import WebhookSettings
from unit.application_in_memory import MemoryHost, memory_host

KEY = "hook-secret"
OTHER_KEY = "earlier-secret"
BODY = b'{"id": "o1", "total": 3}'
LINE = """
[line.orders]
configuration = "acme"
path = "/orders"
direction = "pull"
target = "contact"
keys = ["number"]
fields = [{ api = "id", host = "number" }]
"""
DOCUMENT = f"""{LINE}
[webhook.shop]
scheme = "shopify"
line = "orders"
"""


def signature(body: bytes, key: str = KEY) -> str:
    return b64encode(digest(key.encode(), body, sha256)).decode()


def body_of(event: str) -> bytes:
    """Return a body that no other event has: two equal ones are one delivery."""
    return BODY + b" " * (int(event.removeprefix("e")) + 1)


def signed(body: bytes = b"", event: str = "e1", key: str = KEY) -> Delivery:
    body = body or (BODY if event == "e1" else body_of(event))
    headers = (
        ("X-Shopify-Hmac-SHA256", signature(body, key)),
        ("X-Shopify-Event-Id", event),
        ("X-Shopify-Webhook-Id", event),
        ("X-Shopify-Topic", "orders/create"),
    )
    return Delivery("POST", "/hooks/x", headers, body)


class Hooks:
    """A memory host with the webhooks of a document, and the secret of one."""

    def __init__(self, document: str = DOCUMENT, secret: str = KEY) -> None:
        self.host: MemoryHost = memory_host(configuration())
        self.application = self.host.application
        self.apply(document)
        if secret:
            self.changes.set_secret("shop", Secret(secret))
        self.host.audit.events.clear()

    def apply(
        self, document: str, *, dry_run: bool = False, replaces: bool = False
    ) -> Applied:
        return self.application.apply(
            self.application.administration("tester"),
            parse_document(document),
            dry_run=dry_run,
            replaces=replaces,
        )

    @property
    def changes(self) -> WebhookAdministration:
        administration = self.application.administration("tester")
        return self.application.webhooks.administration(administration)

    @property
    def settings(self) -> WebhookSettings:
        return self.application.webhooks.inbox().settings

    @property
    def endpoint(self) -> str:
        return self.settings.get("shop").endpoint

    def receive(self, delivery: Delivery) -> WebhookResponse:
        return self.application.webhooks.reception().receive(self.endpoint, delivery)

    def refused(self) -> dict[str, int]:
        return self.application.webhooks.refused("shop")

    def tags(self) -> list[Tag]:
        return [event.tag for event in self.host.audit.events]

    def last_changes(self) -> object:
        """Return the old and new values of the newest record in the audit."""
        event = self.host.audit.events[-1]
        assert isinstance(event, Change)
        return event.changes


def test_a_verified_delivery_is_stored_sealed_and_answered() -> None:
    hooks = Hooks()
    assert hooks.receive(signed()) == WebhookResponse(200)
    (stored,) = hooks.host.deliveries.rows.values()
    assert (stored.event_id, stored.event_type) == ("e1", "orders/create")
    assert stored.state is DeliveryState.RECEIVED
    assert stored.received_at == hooks.host.world.clock.now()
    assert BODY not in stored.body
    assert hooks.application.webhooks.inbox().content("shop", stored.id).body == BODY


def test_the_same_event_again_is_answered_alike_and_stored_once() -> None:
    hooks = Hooks()
    for _ in range(3):
        assert hooks.receive(signed()).status == 200
    assert hooks.receive(signed(event="e2")).status == 200
    assert [row.event_id for row in hooks.host.deliveries.rows.values()] == ["e1", "e2"]


def test_a_wrong_signature_is_refused_with_an_empty_body_and_counted() -> None:
    hooks = Hooks()
    assert hooks.receive(signed(key="wrong")) == WebhookResponse(401)
    assert hooks.receive(Delivery("POST", "", (), BODY)) == WebhookResponse(401)
    assert hooks.receive(signed(key="wrong")) == WebhookResponse(401)
    assert hooks.refused() == {"wrong_signature": 2, "signature_missing": 1}
    assert hooks.host.deliveries.rows == {}


def test_refusals_are_one_row_of_the_audit_for_each_reason_and_minute() -> None:
    hooks = Hooks()
    clock = hooks.host.world.clock
    work = hooks.application.webhooks.note_refused
    work()
    for _ in range(3):
        hooks.receive(signed(key="wrong"))
    work()
    assert hooks.tags() == []
    clock.sleep(61)
    work()
    work()
    (note,) = hooks.host.audit.events
    assert note.tag is Tag.DELIVERIES_REFUSED
    assert note.fields == ("shop", "wrong_signature", "3")
    hooks.receive(signed(key="wrong"))
    clock.sleep(61)
    hooks.receive(signed(key="wrong"))
    assert [note.fields[-1] for note in hooks.host.audit.events] == ["3", "1"]
    assert hooks.refused() == {"wrong_signature": 5}


def test_a_refusal_that_another_process_counts_first_is_counted_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    hooks = Hooks()
    states = hooks.application.states
    swap = states.swap
    lost = iter([True, False])

    def lose_once(kind: StateKind, *rest: object) -> bool:
        is_lost = kind is StateKind.HOOK_REFUSALS and next(lost)
        return not is_lost and swap(kind, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(states, "swap", lose_once)
    hooks.receive(signed(key="wrong"))
    assert hooks.refused() == {"wrong_signature": 1}
    monkeypatch.setattr(states, "swap", lambda *_: False)
    hooks.receive(signed(key="wrong"))
    hooks.host.world.clock.sleep(61)
    hooks.application.webhooks.note_refused()
    assert hooks.tags() == []


def test_without_a_secret_nothing_is_accepted() -> None:
    hooks = Hooks(secret="")
    assert hooks.receive(signed(key="")).status == 401
    assert hooks.refused() == {"no_secret": 1}


def test_a_reference_that_names_nothing_lets_the_sender_retry() -> None:
    document = DOCUMENT.replace('"shopify"', '"shopify"\nsecret = "env:NO_SUCH_NAME"')
    hooks = Hooks(document, secret="")
    response = hooks.receive(signed())
    assert response.status == 503
    assert dict(response.headers)["Retry-After"]
    assert hooks.refused() == {"secret_unresolved": 1}


REFERRING = DOCUMENT.replace('"shopify"', '"shopify"\nsecret = "env:HOOK_KEY"')


@pytest.mark.parametrize("kind", [BackendUnknown, BlockedByPolicy, EgressDenied])
def test_a_store_that_is_not_allowed_any_more_stops_one_webhook_only(
    monkeypatch: pytest.MonkeyPatch, kind: type[OutkeyError]
) -> None:
    hooks = Hooks(REFERRING, secret="")
    monkeypatch.setattr(ReferencedSecrets, "open_reference", failing(kind))
    assert hooks.receive(signed()).status == 503
    assert hooks.refused() == {"secret_unresolved": 1}
    stored = hooks.settings.get("shop")
    assert hooks.settings.findings(stored)
    assert hooks.settings.known_secrets(stored) == []


def test_a_store_that_does_not_respond_replaces_no_secret_that_works(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    hooks = Hooks()
    monkeypatch.setattr(
        ReferencedSecrets, "open_reference", failing(BackendUnavailable)
    )
    assert hooks.apply(REFERRING).findings
    assert hooks.receive(signed()).status == 200


def failing(kind: type[OutkeyError]) -> Callable[..., Secret]:
    def fail(*_: object) -> Secret:
        raise kind(field="secret")

    return fail


def test_a_reference_is_read_when_a_delivery_comes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    document = DOCUMENT.replace('"shopify"', '"shopify"\nsecret = "env:HOOK_KEY"')
    hooks = Hooks(document, secret="")
    monkeypatch.setenv("HOOK_KEY", KEY)
    assert hooks.receive(signed()).status == 200


def test_the_previous_secret_is_accepted_until_it_is_cleared() -> None:
    hooks = Hooks()
    hooks.changes.set_secret("shop", Secret(OTHER_KEY), PREVIOUS)
    assert hooks.receive(signed(key=OTHER_KEY)).status == 200
    cleared = DOCUMENT.replace('"shopify"', '"shopify"\nprevious_secret = ""')
    assert hooks.apply(cleared).webhooks["updated"] == ("shop",)  # type: ignore[attr-defined]
    assert hooks.receive(signed(key=OTHER_KEY, event="e2")).status == 401
    assert hooks.apply(cleared).webhooks["unchanged"] == ("shop",)  # type: ignore[attr-defined]


def test_an_unknown_endpoint_is_404_and_a_deleted_one_410() -> None:
    hooks = Hooks()
    reception = hooks.application.webhooks.reception()
    for endpoint in ("x", "x" * 22, "x" * 23, "../" * 7 + "x", "\x00" * 22):
        assert reception.receive(endpoint, signed()).status == 404
    endpoint = hooks.endpoint
    hooks.receive(signed())
    hooks.changes.remove("shop")
    assert reception.receive(endpoint, signed()).status == 410
    assert hooks.host.deliveries.rows == {}
    assert hooks.tags() == [Tag.WEBHOOK_REMOVED]
    with pytest.raises(UnknownConfiguration):
        hooks.settings.get("shop")


def test_what_no_webhook_receives_is_neither_counted_nor_stored() -> None:
    hooks = Hooks()
    hooks.receive(signed(key="wrong"))
    reception = hooks.application.webhooks.reception()
    assert reception.receive("x" * 22, signed(key="wrong")).status == 404
    assert hooks.refused() == {"wrong_signature": 1}
    assert hooks.host.deliveries.rows == {}


def test_a_paused_webhook_lets_the_sender_retry() -> None:
    hooks = Hooks()
    hooks.changes.pause("shop")
    assert hooks.receive(signed()).status == 503
    hooks.changes.resume("shop")
    assert hooks.receive(signed()).status == 200
    assert hooks.tags() == [Tag.WEBHOOK_PAUSED, Tag.WEBHOOK_RESUMED]


@pytest.mark.parametrize("error", [StorageUnavailable, Sealed])
def test_what_cannot_be_stored_now_is_sent_again_later(
    monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    hooks = Hooks()

    def fail(*_: object) -> None:
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(hooks.host.deliveries, "insert", fail)
        assert hooks.receive(signed()).status == 503
    assert hooks.receive(signed()).status == 200


@pytest.mark.parametrize(("failures", "status"), [(1, 200), (2, 503)])
def test_a_look_up_on_an_old_connection_is_tried_once_more(
    monkeypatch: pytest.MonkeyPatch, failures: int, status: int
) -> None:
    hooks = Hooks()
    endpoint = hooks.endpoint
    states = hooks.application.states
    read = states.read
    left = [None] * failures

    def fail_first(*arguments: object) -> object:
        if left:
            left.pop()
            raise StorageUnavailable
        return read(*arguments)  # type: ignore[arg-type]

    reception = hooks.application.webhooks.reception()
    monkeypatch.setattr(states, "read", fail_first)
    assert reception.receive(endpoint, signed()).status == status


def test_a_body_over_the_limit_is_413() -> None:
    hooks = Hooks()
    body = b"x" * (1024 * 1024 + 1)
    assert hooks.receive(signed(body)).status == 413
    assert hooks.receive(signed(body[:-1])).status == 200


def test_a_request_that_cannot_be_a_delivery_is_405() -> None:
    hooks = Hooks()
    response = hooks.receive(replace(signed(), method="GET"))
    assert (response.status, response.headers) == (405, (("Allow", "POST"),))
    assert hooks.refused() == {}


def test_an_open_handshake_is_answered_and_not_stored() -> None:
    document = DOCUMENT.replace('"shopify"', '"meta"')
    hooks = Hooks(document)
    hooks.changes.set_secret("shop", Secret("vt"), VERIFY_TOKEN)
    query = "hub.mode=subscribe&hub.challenge=4711&hub.verify_token=vt"
    response = hooks.receive(Delivery("GET", f"/hooks/x?{query}", (), b""))
    assert (response.status, response.body) == (200, b"4711")
    assert dict(response.headers)["X-Content-Type-Options"] == "nosniff"
    assert hooks.host.deliveries.rows == {}


def test_a_signed_handshake_is_answered_and_not_stored() -> None:
    hooks = Hooks(DOCUMENT.replace('"shopify"', '"slack"'))
    body = json.dumps({"type": "url_verification", "challenge": "c1"}).encode()
    at = str(int(hooks.host.world.clock.now()))
    code = digest(KEY.encode(), f"v0:{at}:".encode() + body, sha256).hex()
    headers = (
        ("X-Slack-Signature", f"v0={code}"),
        ("X-Slack-Request-Timestamp", at),
    )
    for _ in range(2):  # again when the webhook is known
        response = hooks.receive(Delivery("POST", "/hooks/x", headers, body))
        assert (response.status, response.body) == (200, b"c1")
    assert hooks.host.deliveries.rows == {}


SNS = """
[webhook.shop]
scheme = "sns"
topic = "arn:aws:sns:eu-west-1:123456789012:orders"
run = "orders"
"""


def sns_message() -> bytes:
    return json.dumps(
        {
            "Type": "Notification",
            "MessageId": "m1",
            "TopicArn": "arn:aws:sns:eu-west-1:123456789012:orders",
            "Message": "x",
            "Timestamp": "2027-01-15T08:00:00.000Z",
            "SignatureVersion": "2",
            "Signature": b64encode(b"s" * 256).decode(),
            "SigningCertURL": "https://sns.eu-west-1.amazonaws.com"
            "/SimpleNotificationService-a.pem",
        }
    ).encode()


def test_a_certificate_is_fetched_where_the_sender_has_it() -> None:
    hooks = Hooks(LINE + SNS, secret="")
    fetched: list[str] = []
    ports = hooks.application.webhooks.ports()

    def fetch(url: str) -> bytes:
        fetched.append(url)
        return b"not a certificate"

    reception = Reception(replace(ports, fetch=fetch))
    response = reception.receive(
        hooks.endpoint, Delivery("POST", "", (), sns_message())
    )
    assert response.status == 401
    assert hooks.refused() == {"certificate": 1}
    assert len(fetched) == 1
    empty = Reception(replace(ports, fetch=lambda _: b""))
    delivery = Delivery("POST", "", (), sns_message())
    assert empty.receive(hooks.endpoint, delivery).status == 401
    assert hooks.refused() == {"certificate": 2}


def test_a_certificate_that_has_verified_a_delivery_is_fetched_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    hooks = Hooks(LINE + SNS, secret="")
    fetched: list[str] = []
    keys = CryptographyKeys()
    monkeypatch.setattr(keys, "key_of_certificate", lambda *_, **__: b"key")
    is_valid = False
    monkeypatch.setattr(keys, "is_valid", lambda *_: is_valid)

    def fetch(url: str) -> bytes:
        fetched.append(url)
        return b"certificate"

    ports = hooks.application.webhooks.ports()
    reception = Reception(replace(ports, fetch=fetch, keys=keys))
    delivery = Delivery("POST", "", (), sns_message())
    # A forged one has nothing kept: it may have named what is no certificate.
    statuses = [reception.receive(hooks.endpoint, delivery).status for _ in range(2)]
    assert (statuses, len(fetched)) == ([401, 401], 2)
    is_valid = True
    statuses = [reception.receive(hooks.endpoint, delivery).status for _ in range(3)]
    assert (statuses, len(fetched)) == ([200, 200, 200], 3)


def test_certificates_are_kept_for_a_time_and_not_too_many() -> None:
    now = 0.0
    fetched: list[str] = []

    def fetch(url: str) -> bytes:
        fetched.append(url)
        return url.encode()

    certificates = Certificates(fetch, lambda: now)
    certificates.keep("a", b"A")
    now = KEPT_SECONDS - 1
    assert certificates.get("a") == b"A"
    certificates.keep("a", b"A")
    now = KEPT_SECONDS
    assert certificates.get("a") == b"a"
    certificates.keep("a", b"new")
    assert certificates.get("a") == b"new"
    for number in range(MOST_KEPT):
        certificates.keep(str(number), b"")
    certificates.get("a")
    certificates.get("0")
    assert fetched == ["a", "a"]


def test_only_some_certificates_are_fetched_at_the_same_time() -> None:
    depth = 0

    def fetch(url: str) -> bytes:
        nonlocal depth
        depth += 1
        return certificates.get(f"{url}x")

    certificates = Certificates(fetch, lambda: 0.0)
    for _ in range(2):  # every place is free again
        depth = 0
        with pytest.raises(RateLimited):
            certificates.get("a")
        assert depth == FETCHES_AT_ONCE


def test_a_certificate_that_cannot_be_fetched_is_no_refusal() -> None:
    hooks = Hooks(LINE + SNS, secret="")
    delivery = Delivery("POST", "", (), sns_message())
    assert hooks.receive(delivery).status == 503
    assert hooks.refused() == {}


HMAC = f"""{LINE}
[webhook.shop]
scheme = "hmac"
signature_header = "X-Signature"
handler = "shop.hooks.order"
"""


def hmac_signed(body: bytes) -> Delivery:
    code = digest(KEY.encode(), body, sha256).hex()
    return Delivery("POST", "", (("X-Signature", code),), body)


def test_an_id_is_found_by_an_expression_in_a_verified_body() -> None:
    hooks = Hooks(HMAC.replace("[webhook.shop]", '[webhook.shop]\nid = "event.id"'))
    bodies = (
        b'{"event": {"id": "a"}}',
        b'{"event": {"id": "a"}, "again": 1}',
        b'{"event": {"id": 7}}',
        b'{"event": {"id": true}}',
        b"not json",
    )
    for body in bodies:
        assert hooks.receive(hmac_signed(body)).status == 200
    rows = list(hooks.host.deliveries.rows.values())
    assert [row.event_id for row in rows] == ["a", "7", "", ""]


def test_a_signed_delivery_without_an_id_is_recognized_by_its_body() -> None:
    hooks = Hooks(HMAC)
    for body in (b"1", b"1", b"2"):
        assert hooks.receive(hmac_signed(body)).status == 200
    assert len(hooks.host.deliveries.rows) == 2


def test_equal_deliveries_that_are_not_signed_may_be_two_events() -> None:
    token = HMAC.replace('"hmac"\nsignature_header = "X-Signature"', '"token"')
    hooks = Hooks(token)
    headers = (("Authorization", f"Bearer {KEY}"),)
    for _ in range(2):
        assert hooks.receive(Delivery("POST", "", headers, b"{}")).status == 200
    assert len(hooks.host.deliveries.rows) == 2


def test_refusals_are_counted_a_moment_later_in_a_thread_of_their_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    hooks = Hooks()
    ended: list[str] = []
    refusals = hooks.application.webhooks.ports().refusals
    later = LaterRefusals(
        refusals, SystemClock(), SystemThreads(), lambda: ended.append("ended")
    )
    later.join(0)  # nothing to wait for
    reception = Reception(hooks.application.webhooks.ports(), later)
    for _ in range(3):
        assert reception.receive(hooks.endpoint, signed(key="wrong")).status == 401
    assert reception.receive("x" * 22, signed()).status == 404
    later.join(30)
    assert hooks.refused() == {"wrong_signature": 3}
    assert ended == ["ended"]
    assert hooks.application.states.read(StateKind.HOOK_REFUSALS).keys() == {"shop"}

    def fail(*_: object) -> None:
        raise StorageUnavailable

    with monkeypatch.context() as patch:
        patch.setattr(refusals, "count", fail)
        later.count("shop", "too_old")
        later.join(30)
    later.count("shop", "too_old", 2)
    later.join(30)
    assert hooks.refused() == {"wrong_signature": 3, "too_old": 2}


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_refusals_are_counted_again_after_an_error() -> None:
    hooks = Hooks()
    counted = hooks.application.webhooks.ports().refusals
    refusals = LaterRefusals(counted, SystemClock(), SystemThreads(), lambda: None)

    def fail() -> Refused:
        raise RuntimeError

    refusals.count("shop", "wrong_signature", find_reason=fail)
    refusals.join(10)
    refusals.count("shop", "too_old")
    refusals.join(10)
    assert hooks.refused() == {"too_old": 1}


def test_a_host_may_have_refusals_counted_later() -> None:
    hooks = Hooks()
    ended = threading.Event()
    reception = hooks.application.webhooks.reception(end_thread=ended.set)
    assert reception.receive(hooks.endpoint, signed(key="wrong")).status == 401
    assert ended.wait(30)
    assert hooks.refused() == {"wrong_signature": 1}


def test_changes_of_a_webhook_take_effect_at_the_next_delivery() -> None:
    hooks = Hooks()
    reception = hooks.application.webhooks.reception()
    endpoint = hooks.endpoint
    assert reception.receive(endpoint, signed()).status == 200
    assert reception.receive(endpoint, signed()).status == 200
    hooks.changes.pause("shop")
    assert reception.receive(endpoint, signed()).status == 503
    hooks.changes.resume("shop")
    hooks.changes.set_secret("shop", Secret("another"))
    assert reception.receive(endpoint, signed()).status == 401
    assert reception.receive(endpoint, signed(key="another")).status == 200
    hooks.changes.remove("shop")
    assert reception.receive(endpoint, signed(key="another")).status == 410


def test_a_webhook_that_is_made_again_is_another_one() -> None:
    hooks = Hooks()
    reception = hooks.application.webhooks.reception()
    before = hooks.endpoint
    assert reception.receive(before, signed()).status == 200
    hooks.changes.remove("shop")
    hooks.apply(DOCUMENT)
    hooks.changes.set_secret("shop", Secret("another"))
    assert reception.receive(before, signed(key="another")).status == 410
    assert reception.receive(hooks.endpoint, signed()).status == 401
    assert reception.receive(hooks.endpoint, signed(key="another")).status == 200


# ── the inbox ───────────────────────────────────────────────────────────────────────


def test_the_inbox_lists_deliveries_newest_first_and_by_state() -> None:
    hooks = Hooks()
    for number in range(3):
        hooks.receive(signed(event=f"e{number}"))
    inbox = hooks.application.webhooks.inbox()
    assert [row.event_id for row in inbox.newest("shop", limit=2)] == ["e2", "e1"]
    assert inbox.newest("shop", "failed") == []
    for wrong in ("", "99", "x"):
        with pytest.raises(ConfigError, match="no delivery with this id"):
            inbox.get("shop", wrong)


def test_a_replay_is_recorded_and_makes_deliveries_due_again() -> None:
    hooks = Hooks()
    hooks.receive(signed())
    (stored,) = hooks.host.deliveries.rows.values()
    ended = stored.end(DeliveryState.FAILED, reason="not_json")
    hooks.host.deliveries.swap(stored, ended)
    (again,) = hooks.changes.replay("shop", [stored.id])
    assert (again.state, again.attempts, again.reason) == ("received", 0, "")
    (note,) = hooks.host.audit.events
    assert (note.tag, note.fields) == (Tag.DELIVERY_REPLAYED, ("shop", stored.id))
    with pytest.raises(ConfigError, match="no delivery with this id"):
        hooks.changes.replay("shop", [stored.id, "99"])


def test_a_delivery_that_a_worker_has_is_not_replayed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    hooks = Hooks()
    hooks.receive(signed())
    monkeypatch.setattr(hooks.host.deliveries, "swap", lambda *_: None)
    with pytest.raises(ConfigError, match="a worker has the delivery"):
        hooks.changes.replay("shop", ["1"])


def test_looking_at_a_body_is_recorded() -> None:
    hooks = Hooks()
    hooks.receive(signed())
    assert hooks.changes.view_body("shop", "1") == BODY
    assert hooks.tags() == [Tag.DELIVERY_VIEWED]


def test_old_deliveries_are_pruned() -> None:
    hooks = Hooks()
    clock = hooks.host.world.clock
    hooks.receive(signed())
    clock.sleep(100)
    hooks.receive(signed(event="e2"))
    hooks.application.webhooks.prune(clock.now() - 50)
    assert [row.event_id for row in hooks.host.deliveries.rows.values()] == ["e2"]
    memory_host().application.webhooks.prune(clock.now())


# ── settings and secrets ────────────────────────────────────────────────────────────


def test_a_document_creates_and_changes_webhooks() -> None:
    hooks = Hooks()
    endpoint = hooks.endpoint
    assert len(endpoint) == 22
    assert hooks.apply(DOCUMENT).webhooks["unchanged"] == ("shop",)  # type: ignore[attr-defined]
    assert hooks.tags() == []
    changed = DOCUMENT + "tolerance_seconds = 60\n"
    hooks.apply(changed, dry_run=True)
    assert hooks.settings.get("shop").webhook.tolerance_seconds is None
    assert hooks.apply(changed).webhooks["updated"] == ("shop",)  # type: ignore[attr-defined]
    assert hooks.tags() == [Tag.WEBHOOK_SAVED]
    assert hooks.endpoint == endpoint
    secrets = hooks.settings.open_secrets(hooks.settings.get("shop"))
    assert secrets.current == Secret(KEY)


def test_the_audit_tells_that_the_records_of_a_webhook_were_changed() -> None:
    hooks = Hooks()
    stored = hooks.settings.get("shop").webhook
    hooks.changes.save([replace(stored, records="order.lines")])
    assert hooks.last_changes() == (("records", stored.records, "order.lines"),)
    invented = "[{id: '1', name: 'a text that could be a secret'}]"
    hooks.changes.save_with_secrets(replace(stored, records=invented), {})
    assert hooks.last_changes() == (("records", "", ""),)
    hooks.changes.save([replace(stored, records=invented, tolerance_seconds=60)])
    assert hooks.last_changes() == ()


def test_what_is_exported_can_be_applied_and_has_no_secret() -> None:
    hooks = Hooks()
    text = render([], [], webhooks=hooks.application.webhooks.stored().values())
    assert KEY not in text
    assert "# secret: set " in text
    assert "bodies" not in text
    assert hooks.apply(text).webhooks["unchanged"] == ("shop",)  # type: ignore[attr-defined]


def test_a_reference_and_a_value_replace_each_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HOOK_KEY", "by reference")
    hooks = Hooks()
    referring = DOCUMENT.replace('"shopify"', '"shopify"\nsecret = "env:HOOK_KEY"')
    hooks.apply(referring)
    assert SECRET not in hooks.settings.get("shop").secrets
    hooks.changes.set_secret("shop", Secret(KEY))
    stored = hooks.settings.get("shop")
    assert stored.webhook.secret == ""
    assert stored.secrets[SECRET].set_by == "tester"
    assert hooks.tags() == [Tag.WEBHOOK_SAVED, Tag.SECRET_SET]


def test_an_unusable_secret_replaces_nothing() -> None:
    hooks = Hooks()
    for text in ("", "****"):
        with pytest.raises(ConfigError):
            hooks.changes.set_secret("shop", Secret(text))
    assert hooks.receive(signed()).status == 200


@pytest.mark.parametrize(
    ("section", "message"),
    [
        ('scheme = "square"\nrun = "orders"', "signs the URL"),
        ('scheme = "shopify"\nrun = "unknown"', "no sync line"),
        ('scheme = "shopify"\nline = "call"', "synchronizes nothing"),
        ('scheme = "shopify"\nrun = "call"', "synchronizes nothing"),
        ('scheme = "shopify"\nline = "push"', "go through a pull line"),
        (
            'scheme = "mollie_classic"\nconfiguration = "acme"\nline = "orders"',
            "only name what has changed",
        ),
        (
            'scheme = "shopify"\nconfiguration = "none"\nrun = "orders"',
            "configuration",
        ),
        ('scheme = "shopify"\nrecords = "["\nrun = "orders"', "."),
        ('scheme = "shopify"\nid = "["\nrun = "orders"', "."),
    ],
)
def test_a_webhook_that_could_not_work_is_refused(section: str, message: str) -> None:
    hooks = Hooks(LINE, secret="")
    lines = """
[line.call]
configuration = "acme"
path = "/x"
[line.push]
configuration = "acme"
direction = "push"
target = "contact"
path = "/x"
fields = [{ api = "id", host = "number" }]
"""
    with pytest.raises(ConfigError, match=message):
        hooks.apply(f"{lines}[webhook.shop]\n{section}\n")
    assert hooks.application.webhooks.stored() == {}


def test_with_a_public_url_a_scheme_may_sign_it() -> None:
    hooks = Hooks(LINE, secret="")
    application = replace(hooks.application, public_url="https://hooks.example/x/")
    section = '[webhook.shop]\nscheme = "square"\nrun = "orders"\n'
    application.apply(
        application.administration("tester"), parse_document(section), dry_run=False
    )
    assert application.webhooks.endpoint_url("E").startswith(
        "https://hooks.example/x/hooks/E"
    )


def test_a_host_without_deliveries_has_no_webhooks() -> None:
    application = replace(Hooks().application, hook_ports=None)
    assert application.webhooks.stored() == {}
    for use in (application.webhooks.reception, application.webhooks.inbox):
        with pytest.raises(ConfigError, match="has no webhooks"):
            use()
    with pytest.raises(ConfigError, match="has no webhooks"):
        application.apply(
            application.administration("tester"),
            parse_document(DOCUMENT),
            dry_run=False,
        )


def test_of_two_who_create_a_webhook_one_has_a_conflict(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    hooks = Hooks(LINE, secret="")
    monkeypatch.setattr(hooks.application.states, "swap", lambda *_: False)
    with pytest.raises(EditConflict):
        hooks.apply(DOCUMENT)


def test_of_two_who_change_a_webhook_again_and_again_one_has_a_conflict(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    hooks = Hooks()
    monkeypatch.setattr(hooks.application.states, "swap", lambda *_: False)
    with pytest.raises(EditConflict):
        hooks.changes.pause("shop")


def test_a_change_does_not_undo_what_another_process_has_just_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    hooks = Hooks()
    read = hooks.application.states.read

    def read_then_rotate(
        kind: StateKind, names: Collection[str] | None = None
    ) -> Mapping[str, SharedState]:
        states = read(kind, names)
        if kind is StateKind.WEBHOOK:
            monkeypatch.undo()
            hooks.settings.set_secret("shop", "secret", Secret("rotated"), "another")
        return states

    monkeypatch.setattr(hooks.application.states, "read", read_then_rotate)
    hooks.settings.set_paused("shop", is_paused=True)
    stored = hooks.settings.get("shop")
    assert stored.is_paused
    assert hooks.settings.open_secrets(stored).current == Secret("rotated")


def test_nothing_that_is_printed_has_a_secret() -> None:
    hooks = Hooks()
    stored = hooks.settings.get("shop")
    assert KEY not in repr(stored)
    assert KEY not in json.dumps(stored.facts())


# ── keys ────────────────────────────────────────────────────────────────────────────


def test_a_key_rotation_takes_the_secrets_of_webhooks_along() -> None:
    hooks = Hooks()
    hooks.receive(signed())
    keys = hooks.application.keys
    old: Keyring = keys.kept  # type: ignore[attr-defined]
    ring, added = old.add()
    keys.kept = ring.promote(added.name)  # type: ignore[attr-defined]
    rows = SecretsWithWebhooks(MemorySecretRows(), hooks.application.states)
    assert rows.key_uses() == {old.primary.name: 2}
    assert rows.read([]) == []
    versions = rows.sealed_by_others(added.name, 10)
    assert {version.place.field for version in versions} == {"secret", "bodies"}
    secrets = hooks.application.secrets
    secrets._storage = replace(secrets._storage, secrets=rows)  # type: ignore[attr-defined]
    assert sum(secrets.rewrap()) == 2
    assert rows.key_uses() == {added.name: 2}
    assert not rows.swap(versions[0], versions[0])
    assert not rows.swap(None, None)
    only_new = new_keyring()
    keys.kept = replace(only_new, keys=(keys.ring().primary,))  # type: ignore[attr-defined]
    assert hooks.application.webhooks.inbox().content("shop", "1").body == BODY
    assert hooks.receive(signed(event="e2")).status == 200


def test_a_body_opens_only_where_it_was_stored() -> None:
    hooks = Hooks()
    hooks.receive(signed())
    (stored,) = hooks.host.deliveries.rows.values()
    webhook = hooks.settings.get("shop")
    with pytest.raises(SecretUnreadable):
        hooks.settings.open_body(webhook, replace(stored, key="other"))
    with pytest.raises(SecretUnreadable):
        hooks.settings.open_body(webhook, replace(stored, body=b"short"))


def test_a_secret_opens_only_for_its_webhook() -> None:
    hooks = Hooks()
    stored = hooks.settings.get("shop")
    with pytest.raises(SecretUnreadable):
        hooks.settings.open_secrets(replace(stored, endpoint="x" * 22))
    sealed = stored.secrets[SECRET].sealed
    assert key_name_of(sealed)


# ── what a delivery lets us fetch ───────────────────────────────────────────────────


def test_a_handshake_is_confirmed_by_fetching_its_url() -> None:
    hooks = Hooks()
    fetched: list[str] = []

    def fetch(url: str) -> bytes:
        fetched.append(url)
        return b""

    reception = Reception(replace(hooks.application.webhooks.ports(), fetch=fetch))
    handshake = HandshakeResponse(fetch_url="https://sns.example/?x")
    stored = hooks.settings.get("shop")
    assert reception._shake_hands(stored, handshake).status == 200
    assert fetched == ["https://sns.example/?x"]


def test_a_public_document_is_fetched_without_credentials_and_redirects() -> None:
    names = {"sns.example": ("93.184.216.34",)}
    responses = [Response(200, body=b"pem"), Response(302), Response(404)]
    world = fake_gateway(responses=responses, names=names)

    def fetch() -> bytes:
        steps = fetch_public(world.sender.context, "https://sns.example/a.pem?x=1")
        return world.sender.run(steps)

    assert fetch() == b"pem"
    ((request, _route),) = world.transport.sent
    assert request.url == "https://sns.example/a.pem?x=1"
    assert not any(header.name == "Authorization" for header in request.headers)
    for _ in range(2):
        with pytest.raises(ConfigError, match="cannot be fetched"):
            fetch()


def test_deliveries_that_others_change_do_not_hold_up_the_pruning(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    hooks = Hooks()
    for event in ("e1", "e2"):
        hooks.receive(signed(event=event))
    rows = hooks.host.deliveries
    swap = rows.swap

    def swap_others(before: InboxDelivery, after: InboxDelivery | None) -> object:
        return None if before.event_id == "e1" else swap(before, after)

    monkeypatch.setattr(rows, "swap", swap_others)
    later = hooks.host.world.clock.now() + 1
    assert hooks.application.webhooks.inbox().prune(later) == 1
    assert [row.event_id for row in rows.rows.values()] == ["e1"]


# ── findings ────────────────────────────────────────────────────────────────────────


def findings(hooks: Hooks) -> list[str]:
    return [
        finding.id for finding in hooks.settings.findings(hooks.settings.get("shop"))
    ]


def test_a_webhook_that_accepts_nothing_or_anything_is_a_finding() -> None:
    assert findings(Hooks()) == []
    assert findings(Hooks(secret="")) == ["H001"]
    referring = DOCUMENT.replace('"shopify"', '"shopify"\nsecret = "env:NO_SUCH_NAME"')
    assert findings(Hooks(referring, secret="")) == ["H002"]
    open_scheme = DOCUMENT.replace('"shopify"', '"unverified"\nreason = "a test"')
    assert findings(Hooks(open_scheme, secret="")) == ["H003"]


def test_the_findings_about_a_webhook_ask_no_external_store() -> None:
    hooks = Hooks()
    stored = hooks.settings.get("shop")
    # No backend is there: to ask for it would fail.
    in_store = replace(stored.webhook, secret="vault:main/hooks#shop")
    assert list(hooks.settings.findings(replace(stored, webhook=in_store))) == []


def test_a_webhook_with_a_reference_to_an_unknown_backend_is_not_saved() -> None:
    in_store = DOCUMENT.replace('"shopify"', '"shopify"\nsecret = "vault:a/b#key"')
    hooks = Hooks()
    with pytest.raises(BackendUnknown) as refusal:
        hooks.apply(in_store)
    assert refusal.value.field == "webhook.shop.secret"
    assert hooks.settings.get("shop").webhook.secret == ""


def test_a_secret_that_is_sealed_is_no_finding_of_its_webhook() -> None:
    hooks = Hooks()
    hooks.host.application.keys.kept = new_keyring()  # type: ignore[attr-defined]
    assert findings(hooks) == []


def test_deliveries_are_counted_by_webhook_and_state_except_of_unknown_ones() -> None:
    hooks = Hooks()
    assert count_deliveries(memory_host().application) == {}
    assert count_deliveries(hooks.application) == {"shop": {}}
    for event in ("e1", "e2"):
        hooks.receive(signed(event=event))
    assert count_deliveries(hooks.application) == {"shop": {"received": 2}}
    deliveries = hooks.application.webhooks.ports().deliveries
    first, _ = hooks.application.webhooks.inbox().newest("shop")
    assert deliveries.swap(first, replace(first, endpoint="another"))
    assert count_deliveries(hooks.application) == {"shop": {"received": 1}}


def test_applying_a_webhook_without_a_secret_is_a_warning_until_it_has_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def warned(hooks: Hooks, text: str) -> list[tuple[str, str, str | None]]:
        findings = hooks.apply(text).findings  # type: ignore[attr-defined]
        return [(f.id, str(f.level), f.field) for _, f in findings if f.id == "H001"]

    hooks = Hooks()
    assert warned(hooks, DOCUMENT) == []
    new = '[webhook.other]\nscheme = "shopify"\nrun = "orders"\n'
    missing = [("H001", "warning", "webhook.other.secret")]
    assert warned(hooks, new) == missing
    assert warned(hooks, new) == missing
    monkeypatch.setenv("OTHER_KEY", "by reference")
    assert warned(hooks, f'{new}secret = "env:OTHER_KEY"') == []
