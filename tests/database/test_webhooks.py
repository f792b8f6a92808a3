"""Webhooks on real databases: stored once, processed with their records, rotated."""

import threading
from base64 import b64encode
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from hmac import digest
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
import pytest
from django.db import connection, connections

from outkey.administration.core.document.document import parse_document
from outkey.foundation.core.secret import Secret
from outkey.foundation.core.shared_state import StateKind
from outkey.webhooks.core.inbox.delivery import Delivery

if TYPE_CHECKING:
    from outkey.administration.engine.application import Application
    from outkey.webhooks.core.settings.stored import StoredWebhook
    from outkey.webhooks.engine.reception import Reception, WebhookResponse

KEY = "hook-secret"
DOCUMENT = """
[configuration.shop]
base_url = "https://api.shop.example"
no_auth_reason = "public_api"
[line.orders]
configuration = "shop"
path = "/orders"
direction = "pull"
target = "table:orders"
keys = ["id"]
fields = [{ api = "id", host = "id" }, { api = "total", host = "total" }]
[webhook.shop]
scheme = "shopify"
line = "orders"
"""
AT_ONCE = 16
DUPLICATES = 100
BURST = 150


@pytest.fixture
def application(database: str, tmp_path: Path) -> Iterator["Application"]:
    from outkey.hosts.django.wiring import install

    home = tmp_path / "home"
    (home / "config").mkdir(parents=True)
    made = install(home, {})
    administration = made.administration("tester")
    made.apply(administration, parse_document(DOCUMENT), dry_run=False)
    made.webhooks.administration(administration).set_secret("shop", Secret(KEY))
    yield made
    made.audit.close()


def signed(body: bytes, event: str, key: str = KEY) -> Delivery:
    headers = (
        (
            "X-Shopify-Hmac-SHA256",
            b64encode(digest(key.encode(), body, sha256)).decode(),
        ),
        ("X-Shopify-Event-Id", event),
        ("X-Shopify-Webhook-Id", event),
    )
    return Delivery("POST", "/hooks/x", headers, body)


def receive(application: "Application", delivery: Delivery) -> "WebhookResponse":
    endpoint = application.webhooks.inbox().settings.get("shop").endpoint
    return application.webhooks.reception().receive(endpoint, delivery)


def only_body(application: "Application") -> bytes:
    (delivery,) = application.webhooks.inbox().newest("shop")
    return application.webhooks.inbox().content("shop", delivery.id).body


def at_once(
    application: "Application",
    deliveries: list[Delivery],
    reception: "Reception | None" = None,
) -> list[int]:
    """Receive deliveries in several threads; return the statuses."""
    endpoint = application.webhooks.inbox().settings.get("shop").endpoint
    reception = reception or application.webhooks.reception()
    started = threading.Barrier(AT_ONCE)
    is_first = threading.local()

    def work(delivery: Delivery) -> int:
        if not hasattr(is_first, "done"):
            is_first.done = True
            started.wait(30)
        try:
            return reception.receive(endpoint, delivery).status
        finally:
            connections.close_all()

    with ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(work, deliveries))


def test_an_event_that_comes_many_times_at_once_is_stored_once(
    application: "Application",
) -> None:
    statuses = at_once(application, [signed(b'{"id": 1}', "e1")] * DUPLICATES)
    assert set(statuses) == {200}
    assert len(application.webhooks.inbox().newest("shop")) == 1


def test_of_a_burst_all_are_stored_but_those_that_are_refused(
    application: "Application",
) -> None:
    reception = application.webhooks.reception()
    endpoint = application.webhooks.inbox().settings.get("shop").endpoint
    assert reception.receive(endpoint, signed(b"[]", "first")).status == 200
    right = [signed(b'{"id": %d}' % number, f"e{number}") for number in range(BURST)]
    wrong = [signed(b"{}", f"w{number}", "wrong") for number in range(BURST)]
    mixed = [delivery for pair in zip(right, wrong, strict=True) for delivery in pair]
    statuses = at_once(application, mixed, reception)
    assert statuses == [200, 401] * BURST
    with connection.cursor() as cursor:
        cursor.execute("SELECT event_id FROM outkey_delivery")
        stored = sorted(event for (event,) in cursor.fetchall())
    assert stored == sorted(["first", *(f"e{number}" for number in range(BURST))])


@pytest.mark.parametrize("change", ["remove", "pause", "secret"])
def test_what_another_process_changes_holds_for_the_next_delivery(
    application: "Application", tmp_path: Path, change: str
) -> None:
    from outkey.hosts.django.wiring import install

    reception = application.webhooks.reception()
    endpoint = application.webhooks.inbox().settings.get("shop").endpoint
    assert reception.receive(endpoint, signed(b"[]", "first")).status == 200
    # Like another process: it has read nothing that this one has.
    other = install(tmp_path / "home", {})
    changes = other.webhooks.administration(other.administration("tester"))
    if change == "secret":
        changes.set_secret("shop", Secret("another-secret"))
    else:
        getattr(changes, change)("shop")
    deliveries = [signed(b"{}", f"e{number}") for number in range(AT_ONCE)]
    known = reception._ports.settings.last_read(endpoint)
    assert known is not None
    assert not known.is_paused, "this process does not know of the change"
    statuses = [reception.receive(endpoint, delivery).status for delivery in deliveries]
    assert set(statuses) == {{"remove": 410, "pause": 503, "secret": 401}[change]}
    with connection.cursor() as cursor:
        cursor.execute("SELECT event_id FROM outkey_delivery")
        stored = {event for (event,) in cursor.fetchall()}
    assert stored <= {"first"}, "a webhook takes its deliveries along"
    other.audit.close()


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
@pytest.mark.parametrize("known", ["look-up", "commit"])
def test_a_delivery_on_a_connection_that_has_ended_is_stored(
    application: "Application", monkeypatch: pytest.MonkeyPatch, known: str
) -> None:
    reception = application.webhooks.reception()
    endpoint = application.webhooks.inbox().settings.get("shop").endpoint
    assert reception.receive(endpoint, signed(b"{}", "e1")).status == 200
    if known == "look-up":
        end_connection()
    else:
        find = reception._ports.settings.open_secrets

        def end_first(stored: "StoredWebhook") -> object:
            end_connection()
            return find(stored)

        monkeypatch.setattr(reception._ports.settings, "open_secrets", end_first)
    assert reception.receive(endpoint, signed(b"[]", "e2")).status == 200
    assert len(application.webhooks.inbox().newest("shop")) == 2


def end_connection() -> None:
    """End the connection of this thread, as a database that is restarted does."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        (pid,) = cursor.fetchone()
    parameters = connection.get_connection_params()
    names = ("host", "port", "user", "dbname")
    place = {name: parameters[name] for name in names if parameters.get(name)}
    with psycopg.connect(**place) as other:
        other.execute("SELECT pg_terminate_backend(%s, 10000)", (pid,))


def test_every_refusal_is_counted_also_of_many_at_once(
    application: "Application",
) -> None:
    statuses = at_once(application, [signed(b"{}", "e1", "wrong")] * DUPLICATES)
    assert set(statuses) == {401}
    assert application.webhooks.refused("shop") == {"wrong_signature": DUPLICATES}


def test_deliveries_become_rows_of_a_table(application: "Application") -> None:
    for number in range(3):
        body = f'{{"id": {number}, "total": "{number}.50"}}'.encode()
        assert receive(application, signed(body, f"e{number}")).status == 200
    assert application.webhooks.work().round() == 3
    states = {row.state for row in application.webhooks.inbox().newest("shop")}
    assert states == {"processed"}
    rows = application.sync.tables().rows("table:orders", "", 10)
    assert [row.values["id"] for row in rows] == [0, 1, 2]
    (run,) = application.runs.newest(9)
    assert (run.trigger, run.pages, run.counts.created) == ("delivery", 3, 3)


def test_a_delivery_whose_state_cannot_be_stored_leaves_no_record(
    application: "Application", monkeypatch: pytest.MonkeyPatch
) -> None:
    work = application.webhooks.work()
    assert receive(application, signed(b'{"id": 0}', "e0")).status == 200
    assert work.round() == 1
    assert receive(application, signed(b'{"id": 1}', "e1")).status == 200
    rows = work._ports.deliveries
    swap = rows.swap

    def taken_over(before: object, after: object) -> object:
        if getattr(after, "state", "") == "processed":
            return None
        return swap(before, after)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(rows, "swap", taken_over)
        work.round()
    rows_left = application.sync.tables().rows("table:orders", "", 10)
    assert [row.values["id"] for row in rows_left] == [0]
    delivery, _ = application.webhooks.inbox().newest("shop")
    assert (delivery.state, delivery.reason) == ("received", "line_busy")


def test_no_table_holds_a_secret_or_a_body_in_the_clear(
    application: "Application",
) -> None:
    body = b'{"id": 1, "total": "plainly-visible"}'
    receive(application, signed(body, "e1"))
    with connection.cursor() as cursor:
        cursor.execute("SELECT body FROM outkey_delivery")
        bodies = [bytes(row[0]) for row in cursor.fetchall()]
        cursor.execute("SELECT value FROM outkey_sharedstate")
        states = [row[0] for row in cursor.fetchall()]
    assert bodies
    assert all(b"plainly-visible" not in stored for stored in bodies)
    assert all(KEY not in state for state in states)
    assert only_body(application) == body


def test_a_key_rotation_rewraps_the_secrets_of_webhooks(
    application: "Application",
) -> None:
    receive(application, signed(b'{"id": 1}', "e1"))
    old = application.keys.fresh().primary.name
    new = application.rotation.add(lambda _: None)
    application.rotation.promote(new, lambda _: None)
    assert application.rotation.uses()[old] >= 2
    steps = application.key_administration(application.administration("tester"))
    assert sum(steps.rewrap()) >= 2
    application.rotation.retire(old, lambda _: None)
    assert only_body(application) == b'{"id": 1}'
    assert receive(application, signed(b'{"id": 2}', "e2")).status == 200
    assert application.states.read(StateKind.WEBHOOK).keys() == {"shop"}
