"""A process that stops sending: its last records and outcomes are protected soon."""

import asyncio
import gc
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from django.db import connection

from database.test_installation import application, spar  # noqa: F401 - fixtures
from outkey.administration.engine.operating.measuring import measure
from outkey.foundation.core.secret import Secret
from outkey.sending.adapters.audit import audit_keyed
from outkey.sending.adapters.audit.audit_timer import AuditTimer
from outkey.sending.core.audit.events import Tag

if TYPE_CHECKING:
    from outkey.administration.engine.application import Application


def wait_for(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.fixture(autouse=True)
def _quick_timer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit_keyed, "AUDIT_TIMER", AuditTimer(0.5))


def prepare(
    application: "Application",  # noqa: F811
) -> None:
    administration = application.administration("tester")
    administration.set_secret("acme", "header:X-API-Key", Secret("a-key"))
    administration.set_secret("acme", "token", Secret("spar-token"))


def marks_of(application: "Application") -> int:  # noqa: F811
    return len(list(application.audit_trail.checkpoints.read()))


def test_an_idle_process_protects_its_audit_and_counts_its_last_send(
    application: "Application",  # noqa: F811
) -> None:
    prepare(application)
    application.gateway.send("acme", "GET", "/bearer")
    rows = application.audit_trail.rows
    wait_for(lambda: rows.newest(1)[0]["tag"] == Tag.SEND_OUTCOME)
    wait_for(lambda: application.audit_trail.verify().unprotected_tail == 0)
    assert measure(application).sends["acme"].sends == {"ok": 1}
    if connection.vendor == "postgresql":
        # The thread leaves no connection open.
        wait_for(lambda: count_connections() == 1)


# Django's connections end with threads
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_a_task_that_stops_sending_has_its_audit_protected(
    application: "Application",  # noqa: F811
) -> None:
    prepare(application)
    application.audit.flush()
    before = marks_of(application)

    async def send_and_wait() -> None:
        async with application.gateway as gateway:
            await gateway.asend("acme", "GET", "/bearer")
            deadline = time.monotonic() + 30
            while marks_of(application) == before:
                assert time.monotonic() < deadline
                await asyncio.sleep(0.05)

    asyncio.run(send_and_wait())
    gc.collect()


def count_connections() -> int:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
        )
        return int(cursor.fetchone()[0])
