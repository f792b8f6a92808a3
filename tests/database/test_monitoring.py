"""Monitoring on both databases: its rows, pauses across processes, the background."""

import json
import logging
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from django.core import mail
from django.db import connection, connections
from django.test.utils import CaptureQueriesContext, override_settings

from outkey.administration.core.document.document import parse_document
from outkey.administration.core.findings.monitoring import Notice
from outkey.administration.engine.editing.administration import Administration
from outkey.administration.engine.watching import background as background_work
from outkey.foundation.core.errors import ConfigError, Paused, StorageUnavailable
from outkey.foundation.core.findings.conditions import Condition
from outkey.foundation.core.secret import Secret
from outkey.sending.adapters.audit import audit_chained
from outkey.sending.engine.wire.lockout_guard import MAX_REFUSED
from outkey.spar import Spar
from outkey.testing import FakeClock

if TYPE_CHECKING:
    from outkey.administration.engine.application import Application
    from outkey.hosts.server.background import Background

THREADS = 50
DOCUMENT = """
[configuration.acme]
base_url = "{url}"
network = "internal"
authentication_type = "bearer"
[configuration.acme.verification]
test_path = "/bearer"
[configuration.acme.limits]
retries = 0
"""


@pytest.fixture(scope="module")
def spar() -> Iterator[Spar]:
    with Spar() as server:
        yield server


@pytest.fixture
def application(database: str, tmp_path: Path, spar: Spar) -> Iterator["Application"]:
    from outkey.hosts.django.wiring import install

    (tmp_path / "home" / "config").mkdir(parents=True)
    made = install(tmp_path / "home", {})
    spar.clear()
    administration = Administration(made.registry, made.secrets, made.audit, "tester")
    document = parse_document(DOCUMENT.format(url=spar.url))
    made.apply(administration, document, dry_run=False)
    administration.set_secret("acme", "token", Secret("wrong"))
    yield made
    made.audit.close()
    made.gateway.close()


def background(
    application: "Application", clock: FakeClock, **environment: str
) -> "Background":
    from outkey.hosts.server.background import Background

    return Background(application, environment, clock)


def clock_of_now() -> FakeClock:
    import time

    return FakeClock(time.time())


def told(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [
        record.message for record in caplog.records if record.name == "outkey.notices"
    ]


def test_fifty_threads_with_a_wrong_token_stop_after_five_and_those_in_flight(
    application: "Application", spar: Spar, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Fifty that wait for one another take long on a busy machine.
    monkeypatch.setattr(audit_chained, "PATIENCE_SECONDS", 60.0)
    stopped = []

    def send_often() -> None:
        try:
            for _ in range(4):
                try:
                    application.gateway.send("acme", "GET", "/bearer")
                except Paused:
                    stopped.append(1)
                except StorageUnavailable:  # SQLite lets one at a time write
                    continue
        finally:
            connection.close()

    threads = [threading.Thread(target=send_often) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(spar.journal) <= MAX_REFUSED + THREADS
    assert len(stopped) >= THREADS
    arrived = len(spar.journal)
    with pytest.raises(Paused):
        application.gateway.send("acme", "GET", "/bearer")
    assert len(spar.journal) == arrived


def test_another_process_knows_of_the_pause_and_a_new_token_ends_it(
    application: "Application", spar: Spar
) -> None:
    from outkey.hosts.django.wiring import install

    for _ in range(MAX_REFUSED):
        assert application.gateway.send("acme", "GET", "/bearer").status == 401
    other = install(application.keys.source.file.parent.parent, {})
    with pytest.raises(Paused), other.gateway as gateway:
        gateway.send("acme", "GET", "/bearer")
    other.audit.close()
    assert len(spar.journal) == MAX_REFUSED
    administration = Administration(
        application.registry, application.secrets, application.audit, "tester"
    )
    administration.set_secret("acme", "token", Secret("spar-token"))
    assert application.gateway.send("acme", "GET", "/bearer").status == 200


def test_an_ordinary_send_writes_nothing_but_its_record(
    application: "Application",
) -> None:
    administration = Administration(
        application.registry, application.secrets, application.audit, "tester"
    )
    administration.set_secret("acme", "token", Secret("spar-token"))
    # The first request that is accepted is noted with the configuration.
    application.gateway.send("acme", "GET", "/bearer")
    application.gateway.send("acme", "GET", "/bearer")
    with CaptureQueriesContext(connection) as queries:
        before = application.registry.get("acme")
        assert application.gateway.send("acme", "GET", "/bearer").status == 200
    assert [query for query in queries if "outkey_configuration" in query["sql"]] == []
    assert application.registry.get("acme") is before


def test_a_round_verifies_what_is_old_and_tells_what_fails_and_recovers(
    application: "Application",
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(background_work, "SECONDS_BETWEEN_TESTS", 0.0)
    administration = Administration(
        application.registry, application.secrets, application.audit, "tester"
    )
    report = administration.test(application.sender, "acme")
    assert not report.ok
    running = background(application, clock_of_now())
    running.round()
    assert told(caplog) == ["S-failing error: acme: the last test failed"]
    running.round()
    assert len(told(caplog)) == 1
    administration.set_secret("acme", "token", Secret("spar-token"))
    application.registry.save_test_result(
        application.registry.get("acme"), 1000.0, "timeout"
    )  # long ago
    running.round()
    assert application.registry.summaries()[0].health.cause == ""
    running.round()
    assert told(caplog)[1:] == ["S-failing recovered: acme: the last test failed"]
    assert connections["default"].connection is None


def test_nothing_is_verified_when_it_is_switched_off_or_sealed(
    application: "Application", spar: Spar
) -> None:
    application.registry.save_test_result(
        application.registry.get("acme"), 1000.0, "timeout"
    )
    background(application, clock_of_now(), OUTKEY_VERIFY_HOURS="0").round()
    application.keys.source.file.unlink()
    from outkey.hosts.django.wiring import install

    sealed = install(application.keys.source.file.parent.parent, {})
    assert sealed.keys.is_sealed()
    background(sealed, clock_of_now()).round()
    assert spar.journal == []


def test_of_two_processes_one_does_the_work_until_it_ends(
    application: "Application", caplog: pytest.LogCaptureFixture
) -> None:
    application.registry.save_test_result(
        application.registry.get("acme"), 1000.0, "timeout"
    )
    before = threading.active_count()
    one = background(application, clock_of_now(), OUTKEY_VERIFY_HOURS="0")
    two = background(application, clock_of_now(), OUTKEY_VERIFY_HOURS="0")
    one.round()
    two.round()
    assert len(told(caplog)) == 1
    application.registry.save_test_result(application.registry.get("acme"), 2000.0, "")
    two.round()
    assert len(told(caplog)) == 1
    one.start()
    one.end()
    assert threading.active_count() == before
    two.round()
    assert len(told(caplog)) == 2


def count_rows(application: "Application") -> int:
    return sum(stream.rows for stream in application.audit_trail.rows.streams())


def tombstones(application: "Application") -> list[int]:
    marks = [stream.tombstone for stream in application.audit_trail.rows.streams()]
    return [mark.number for mark in marks if mark is not None]


def test_old_records_are_pruned_once_a_day(application: "Application") -> None:
    application.audit.flush()
    later = FakeClock(clock_of_now().now() + 500 * 86_400)
    assert count_rows(application)
    background(application, later, OUTKEY_VERIFY_HOURS="0").round()
    assert count_rows(application) <= 1  # that it was pruned
    marks = tombstones(application)
    assert marks
    background(application, later, OUTKEY_VERIFY_HOURS="0").round()
    assert tombstones(application) == marks


def test_a_round_that_fails_is_logged_without_its_text_and_the_next_one_works(
    application: "Application", caplog: pytest.LogCaptureFixture
) -> None:
    running = background(application, clock_of_now(), OUTKEY_VERIFY_HOURS="0")
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE outkey_sharedstate RENAME TO hidden")
    running.round()
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE hidden RENAME TO outkey_sharedstate")
    (failure,) = [r for r in caplog.records if r.name == "outkey.background"]
    assert failure.message == "background work failed (StorageUnavailable)"
    application.registry.save_test_result(
        application.registry.get("acme"), 1000.0, "timeout"
    )
    running.round()
    assert len(told(caplog)) == 1


def test_notices_are_mailed_together_and_a_mail_server_that_fails_is_only_logged(
    application: "Application", caplog: pytest.LogCaptureFixture
) -> None:
    from outkey.hosts.server.background import notifiers

    _, way = notifiers(
        application, {"OUTKEY_NOTICE_EMAIL": "a@example.com, b@example.com"}
    )
    many = [Notice(Condition("S-failing", f"n{n}"), 1.0) for n in range(102)]
    backend = "django.core.mail.backends.locmem.EmailBackend"
    with override_settings(EMAIL_BACKEND=backend):
        mail.outbox = []
        way.send(many[:1])
        way.send(many)
    one, all_of_them = mail.outbox
    assert one.to == ["a@example.com", "b@example.com"]
    assert one.subject == "outkey: error: n0: the last test failed"
    assert "Open the configuration, and test it." in one.body
    assert all_of_them.subject == "outkey: 102 notices"
    assert all_of_them.body.endswith("and 2 more: outkey notices")
    with override_settings(EMAIL_BACKEND="nowhere.Backend"):
        way.send(many)
    assert told(caplog) == ["notices could not be mailed (ModuleNotFoundError)"]


def test_notices_are_posted_by_our_own_rules(
    application: "Application", spar: Spar, caplog: pytest.LogCaptureFixture
) -> None:
    from outkey.hosts.server.background import notifiers

    chosen = {
        "OUTKEY_NOTICE_WEBHOOK": f"{spar.url}/echo?k=1",
        "OUTKEY_NOTICE_SECRET": "s",
    }
    _, way = notifiers(application, chosen | {"OUTKEY_NOTICE_NETWORK": "internal"})
    way.send([Notice(Condition("S-failing", "acme"), 1.0)])
    (arrival,) = spar.journal
    assert arrival.values("Content-Type") == ["application/json"]
    (signature,) = arrival.values("X-Outkey-Signature")
    assert signature.startswith("sha256=")
    assert json.loads(arrival.body)["notices"][0]["id"] == "S-failing"
    _, way = notifiers(application, chosen)
    way = type(way)(way.location, way.transport, way.route, FakeClock(), way.key)  # type: ignore[attr-defined, call-arg]
    with caplog.at_level(logging.ERROR):
        way.send([Notice(Condition("S-failing", "acme"), 1.0)])
    assert told(caplog) == ["notices could not be posted (egress_denied)"]
    assert len(spar.journal) == 1


@pytest.mark.parametrize(
    "settings",
    [
        {"OUTKEY_VERIFY_HOURS": "soon"},
        {"OUTKEY_NOTICE_WEBHOOK": "not an address"},
        {"OUTKEY_NOTICE_WEBHOOK": "https://a.example", "OUTKEY_NOTICE_NETWORK": "moon"},
    ],
)
def test_wrong_settings_are_told_at_once(
    application: "Application", settings: dict[str, str]
) -> None:
    with pytest.raises(ConfigError):
        background(application, clock_of_now(), **settings)
