"""A page that the database takes longer for than the lease of its run, on both."""

import threading
import time

import pytest
from django.db import connection

from database.conftest import stored_runs
from database.test_sync_faults import Shop, shop, spar  # noqa: F401 - fixtures
from outkey.foundation.core.errors import OutkeyError
from outkey.sync.core.run import states as run_states
from outkey.sync.core.run.run import Counts, Run, RunState

SECONDS = 2.5  # of one page
LEASE = 1.0


@pytest.fixture
def slow_shop(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> Shop:  # noqa: F811
    """Let every page take longer than the lease, in the middle of its transaction."""
    from outkey.hosts.django.records import django_records

    write = django_records.upsert_rows
    begin = run_states.begin

    def write_slowly(*arguments: object) -> object:
        time.sleep(SECONDS)
        return write(*arguments)  # type: ignore[arg-type]

    def begin_briefly(run: Run, actor: str, now: float, _lease: float) -> Run:
        return begin(run, actor, now, LEASE)

    monkeypatch.setattr(django_records, "upsert_rows", write_slowly)
    monkeypatch.setattr(run_states, "begin", begin_briefly)
    return shop


class OtherWorker(threading.Thread):
    """Tries again and again to take the run over, until it is told to stop."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.is_over = threading.Event()
        self.refusals: set[str] = set()
        self.taken: list[Run] = []

    def run(self) -> None:
        while not self.is_over.wait(0.1):
            try:
                self.taken.append(stored_runs().begin("contacts", "x", dry_run=False))
            except OutkeyError as error:
                self.refusals.add(str(error.code))
        connection.close()


def test_no_worker_takes_a_run_over_while_its_page_is_written(slow_shop: Shop) -> None:
    slow_shop.apply(style="page")
    steps = slow_shop.steps()
    next(steps)
    other = OtherWorker()
    other.start()
    first = next(steps)
    other.is_over.set()
    other.join()
    assert (first.state, first.counts) == (RunState.RUNNING, Counts(created=100))
    assert other.taken == []
    assert other.refusals <= {"line_busy", "storage_unavailable"}
    assert other.refusals
