"""Deliveries of many threads in one transaction: told of success after the commit."""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

import pytest

from outkey.foundation.core.errors import StorageUnavailable
from outkey.testing.fakes.webhooks import MemoryDeliveryRows
from outkey.webhooks.core.inbox.inbox import InboxDelivery
from outkey.webhooks.core.settings.settings import Webhook
from outkey.webhooks.core.settings.stored import StoredWebhook
from outkey.webhooks.engine import batched_writes as intake_module
from outkey.webhooks.engine.batched_writes import Intake

NOW = 1_800_000_000.0
ENDPOINT = "a" * 22
OTHER_ENDPOINT = "b" * 22
PATIENCE = 30.0


class SlowDatabase:
    """A database whose commits wait until the test lets them go on."""

    def __init__(self) -> None:
        self.begun = threading.Semaphore(0)
        self.may_commit = threading.Semaphore(0)
        self.error: BaseException | None = None
        self.commits: list[int] = []
        self.rows = MemoryDeliveryRows()
        self.webhooks: dict[str, StoredWebhook] = {}  # by endpoint
        self.reads: list[str] = []
        self.read_errors: list[Exception] = []
        self._together: list[InboxDelivery] = []

    @contextmanager
    def transaction(self, *, durable: bool = True) -> Iterator[None]:
        assert durable
        self._together = []
        yield
        self.begun.release()
        assert self.may_commit.acquire(timeout=PATIENCE)
        if self.error is not None:
            raise self.error
        self.rows.insert(self._together)
        self.commits.append(len(self._together))

    def after_commit(self, work: Callable[[], None]) -> None:
        raise NotImplementedError

    def now(self) -> float:
        return NOW

    def insert(self, deliveries: Sequence[InboxDelivery]) -> None:
        self._together = list(deliveries)

    def read_again(self, endpoint: str) -> StoredWebhook | None:
        self.reads.append(endpoint)
        if self.read_errors:
            raise self.read_errors.pop()
        return self.webhooks.get(endpoint)

    def let_commit(self, count: int = 1) -> None:
        self.may_commit.release(count)

    def wait_for_begin(self) -> None:
        assert self.begun.acquire(timeout=PATIENCE)


class Threads:
    """Threads that store deliveries, and how each ended."""

    def __init__(self, intake: Intake) -> None:
        self._intake = intake
        self._threads: list[threading.Thread] = []
        self.outcomes: dict[str, str] = {}

    def store(
        self,
        key: str,
        size: int = 1,
        *,
        endpoint: str = ENDPOINT,
        verified_by: StoredWebhook | None = None,
    ) -> None:
        delivery = InboxDelivery("", endpoint, key, body=b"x" * size)
        arguments = (delivery, verified_by)
        thread = threading.Thread(target=self._store, args=arguments, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _store(
        self, delivery: InboxDelivery, verified_by: StoredWebhook | None
    ) -> None:
        try:
            is_stored = self._intake.store(delivery, verified_by)
        except StorageUnavailable:
            self.outcomes[delivery.key] = "unavailable"
        except KeyboardInterrupt:
            self.outcomes[delivery.key] = "interrupted"
        else:
            self.outcomes[delivery.key] = "stored" if is_stored else "outdated"

    def join(self) -> dict[str, str]:
        for thread in self._threads:
            thread.join(PATIENCE)
        return self.outcomes


def make(wait_seconds: float = PATIENCE) -> tuple[SlowDatabase, Intake, Threads]:
    database = SlowDatabase()
    intake = Intake(database, database, database.read_again, wait_seconds)  # type: ignore[arg-type]
    return database, intake, Threads(intake)


def wait_until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.001)


def wait_for_queue(intake: Intake, count: int) -> None:
    wait_until(lambda: len(intake._queue) == count)


def test_those_who_come_during_a_commit_are_committed_together() -> None:
    database, intake, threads = make()
    threads.store("first")
    database.wait_for_begin()
    for key in ("c", "b", "a"):
        threads.store(key)
    wait_for_queue(intake, 3)
    assert threads.outcomes == {}  # nobody is told before the commit
    database.let_commit(2)
    assert set(threads.join().values()) == {"stored"}
    assert database.commits == [1, 3]
    rows = list(database.rows.rows.values())
    assert [row.key for row in rows] == ["first", "a", "b", "c"]
    assert {(row.received_at, row.due_at) for row in rows} == {(NOW, NOW)}
    assert intake._bytes == 0


def test_a_failed_commit_is_told_to_all_and_the_next_is_tried() -> None:
    database, intake, threads = make()
    threads.store("first")
    database.wait_for_begin()
    threads.store("second")
    threads.store("third")
    wait_for_queue(intake, 2)
    database.let_commit()
    database.wait_for_begin()
    threads.store("fourth")
    wait_for_queue(intake, 1)
    database.error = StorageUnavailable()
    database.let_commit()
    database.wait_for_begin()  # the same once more
    database.let_commit()
    database.wait_for_begin()
    database.error = None
    database.let_commit()
    assert threads.join() == {
        "first": "stored",
        "second": "unavailable",
        "third": "unavailable",
        "fourth": "stored",
    }


def test_a_commit_on_an_old_connection_is_tried_once_more() -> None:
    database, _, threads = make()
    threads.store("first")
    database.wait_for_begin()
    database.error = StorageUnavailable()
    database.let_commit()
    database.wait_for_begin()
    database.error = None
    database.let_commit()
    assert threads.join() == {"first": "stored"}


def test_an_interrupted_commit_is_a_failed_one_for_the_others() -> None:
    database, intake, threads = make()
    threads.store("first")
    database.wait_for_begin()
    threads.store("second")
    wait_for_queue(intake, 1)
    database.error = KeyboardInterrupt()
    database.let_commit()
    database.wait_for_begin()
    database.error = None
    database.let_commit()
    assert threads.join() == {"first": "interrupted", "second": "stored"}


def test_who_waits_too_long_gives_up_and_leaves_nothing_behind() -> None:
    database, intake, threads = make(wait_seconds=0.05)
    threads.store("first")
    database.wait_for_begin()
    threads.store("second")
    wait_until(lambda: threads.outcomes == {"second": "unavailable"})
    assert (len(intake._queue), intake._bytes) == (0, 0)
    database.let_commit()
    assert threads.join()["first"] == "stored"
    assert [row.key for row in database.rows.rows.values()] == ["first"]


def test_who_gives_up_during_its_commit_may_be_stored_all_the_same() -> None:
    database, intake, threads = make(wait_seconds=0.3)
    threads.store("first")
    database.wait_for_begin()
    threads.store("second")
    threads.store("third")
    wait_for_queue(intake, 2)
    database.let_commit()
    database.wait_for_begin()
    # One of the two commits for both, and the other one does not wait so long.
    wait_until(lambda: "unavailable" in threads.outcomes.values())
    database.let_commit()
    assert sorted(threads.join().values()) == ["stored", "stored", "unavailable"]
    assert len(database.rows.rows) == 3


def test_whose_turn_comes_at_the_end_of_its_time_takes_it() -> None:
    database, intake, _ = make(wait_seconds=0.0)
    waiting = intake_module.WaitingDelivery(InboxDelivery("", "a" * 22, "k"))
    waiting.is_next = True
    intake._queue.append(waiting)
    intake._wait(waiting)
    assert list(intake._queue) == [waiting]
    assert database.commits == []


def test_the_queue_has_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(intake_module, "MOST_WAITING", 2)
    monkeypatch.setattr(intake_module, "MOST_BYTES_WAITING", 10)
    database, intake, threads = make()
    threads.store("first", 100)  # alone, whatever its size is
    database.wait_for_begin()
    threads.store("second", 8)
    wait_for_queue(intake, 1)
    small = InboxDelivery("", "a" * 22, "third", body=b"xx")
    with pytest.raises(StorageUnavailable):
        intake.store(replace(small, body=b"xxx"))
    threads.store("third", 2)
    wait_for_queue(intake, 2)
    with pytest.raises(StorageUnavailable):
        intake.store(replace(small, body=b""))
    database.let_commit(3)
    assert set(threads.join().values()) == {"stored"}


def test_a_transaction_has_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(intake_module, "MOST_TOGETHER", 2)
    monkeypatch.setattr(intake_module, "MOST_BYTES_TOGETHER", 10)
    database, intake, threads = make()
    threads.store("first")
    database.wait_for_begin()
    for number, size in enumerate((1, 1, 5, 9, 50)):
        threads.store(f"k{number}", size)
        wait_for_queue(intake, number + 1)
    database.let_commit(5)
    assert set(threads.join().values()) == {"stored"}
    assert database.commits == [1, 2, 1, 1, 1]


def webhook(endpoint: str = ENDPOINT) -> StoredWebhook:
    return StoredWebhook(Webhook("shop", scheme="shopify"), endpoint)


def test_a_webhook_is_read_once_for_all_that_are_committed_together() -> None:
    database, intake, threads = make()
    shop = webhook()
    other = webhook(OTHER_ENDPOINT)
    database.webhooks = {ENDPOINT: shop, OTHER_ENDPOINT: other}
    threads.store("first")
    database.wait_for_begin()
    for key in ("a", "b", "c"):
        threads.store(key, verified_by=shop)
    threads.store("d", endpoint=OTHER_ENDPOINT, verified_by=other)
    wait_for_queue(intake, 4)
    assert database.reads == [], "after they have arrived"
    database.let_commit(2)
    assert set(threads.join().values()) == {"stored"}
    assert sorted(database.reads) == [ENDPOINT, OTHER_ENDPOINT]
    assert database.commits == [1, 4]


def test_what_was_verified_by_a_changed_webhook_is_not_stored_and_others_are() -> None:
    database, intake, threads = make()
    database.webhooks = {ENDPOINT: webhook()}
    threads.store("first")
    database.wait_for_begin()
    threads.store("changed", verified_by=webhook())  # equal, but read before
    threads.store("current", verified_by=database.webhooks[ENDPOINT])
    threads.store("deleted", endpoint=OTHER_ENDPOINT, verified_by=webhook())
    threads.store("looked up", endpoint=OTHER_ENDPOINT)
    wait_for_queue(intake, 4)
    database.let_commit(2)
    assert threads.join() == {
        "first": "stored",
        "changed": "outdated",
        "current": "stored",
        "deleted": "outdated",
        "looked up": "stored",
    }
    stored = {row.key for row in database.rows.rows.values()}
    assert stored == {"first", "current", "looked up"}


def test_a_webhook_that_cannot_be_read_is_read_once_more() -> None:
    database, _, threads = make()
    shop = webhook()
    database.webhooks = {ENDPOINT: shop}
    database.read_errors = [StorageUnavailable()]
    threads.store("first", verified_by=shop)
    database.let_commit()
    assert threads.join() == {"first": "stored"}
    database.read_errors = [StorageUnavailable(), StorageUnavailable()]
    threads.store("second", verified_by=shop)
    assert threads.join()["second"] == "unavailable"
