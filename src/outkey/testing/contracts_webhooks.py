"""The contract of the inbox: deliveries of webhooks, each stored once."""

import threading
from abc import ABC, abstractmethod
from dataclasses import replace

from outkey.foundation.core.stored_times import LONGEST_WAIT, SKEW_SECONDS
from outkey.webhooks.core.inbox.inbox import WAITING, DeliveryState, InboxDelivery
from outkey.webhooks.ports.webhooks import DeliveryCount, DeliveryQuery, DeliveryRows

ENDPOINT = "a" * 22
OTHER_ENDPOINT = "b" * 22
FULL = InboxDelivery(
    "",
    ENDPOINT,
    key='evt/ä "1"',
    event_id='evt/ä "1"',
    event_type="order.created",
    nonce="n1",
    fetch_id="tr_1",
    received_at=1_800_000_000.25,
    due_at=1_800_000_000.25,
    run="17",
    tested_by="web:änn",
    body=bytes(range(256)),
)
SAME_TIME = 8  # deliveries at once


def plain(key: str, **values: object) -> InboxDelivery:
    """Return a delivery with this key."""
    return replace(InboxDelivery("", ENDPOINT, key), **values)  # type: ignore[arg-type]


class DeliveryRowsContract(ABC):
    """The promises of every table of deliveries."""

    @abstractmethod
    def make(self) -> DeliveryRows:
        """Return an empty table."""

    def end_thread(self) -> None:
        """Do what a thread of the suite must do at its end."""
        return

    def test_a_delivery_is_read_as_it_was_stored(self) -> None:
        rows = self.make()
        stored = rows.swap(None, FULL)
        assert stored is not None
        assert stored.id
        assert replace(stored, id="") == FULL
        assert list(rows.find(DeliveryQuery(has_body=True))) == [stored]

    def test_many_deliveries_are_stored_together(self) -> None:
        rows = self.make()
        rows.insert([])
        stored = rows.swap(None, plain("2", body=b"before"))
        rows.insert(
            [
                FULL,
                plain("1", body=b"first"),
                plain("2", body=b"again"),
                plain("1", body=b"twice"),
                plain("3", nonce=FULL.nonce),
                plain("1", endpoint=OTHER_ENDPOINT),
            ]
        )
        found = rows.find(DeliveryQuery(has_body=True, oldest_first=True))
        assert found[0] == stored
        assert replace(found[1], id="") == FULL
        assert [(row.endpoint, row.key, row.body) for row in found[2:]] == [
            (ENDPOINT, "1", b"first"),
            (OTHER_ENDPOINT, "1", b""),
        ]
        assert len({row.id for row in found}) == len(found)

    def test_a_body_is_read_only_where_it_is_asked_for(self) -> None:
        rows = self.make()
        rows.swap(None, FULL)
        (found,) = rows.find(DeliveryQuery())
        assert found.body == b""

    def test_an_event_of_an_endpoint_is_stored_once(self) -> None:
        rows = self.make()
        assert rows.swap(None, plain("evt", body=b"first"))
        assert rows.swap(None, plain("evt", body=b"second")) is None
        assert rows.swap(None, plain("EVT"))
        assert rows.swap(None, plain("evt", endpoint=OTHER_ENDPOINT))
        bodies = [row.body for row in rows.find(DeliveryQuery(has_body=True))]
        assert bodies == [b"", b"", b"first"]

    def test_a_nonce_of_an_endpoint_is_accepted_once(self) -> None:
        rows = self.make()
        assert rows.swap(None, plain("1", nonce="n"))
        assert rows.swap(None, plain("2", nonce="n")) is None
        assert rows.swap(None, plain("2", nonce="n", endpoint=OTHER_ENDPOINT))
        assert rows.swap(None, plain("3"))
        assert rows.swap(None, plain("4"))  # no nonce is no nonce

    def test_a_nonce_that_a_delivery_gives_up_is_accepted_again(self) -> None:
        rows = self.make()
        nonce = f"{WAITING}tr_1"
        first = rows.swap(None, plain("1", nonce=nonce))
        assert first is not None
        assert rows.swap(None, plain("2", nonce=nonce)) is None
        taken = rows.swap(first, first.take(5.0))
        assert taken is not None
        assert taken.nonce == ""
        rows.insert([plain("3", nonce=nonce), plain("4", nonce=nonce)])
        found = rows.find(DeliveryQuery(oldest_first=True))
        assert [(row.key, row.nonce) for row in found] == [("1", ""), ("3", nonce)]

    def test_a_delivery_is_found_by_its_nonce(self) -> None:
        rows = self.make()
        stored = rows.swap(None, plain("1", nonce="n"))
        rows.insert([plain("2", nonce="N"), plain("3")])
        rows.insert([plain("1", nonce="n", endpoint=OTHER_ENDPOINT)])
        query = DeliveryQuery(endpoint=ENDPOINT, nonce="n")
        assert list(rows.find(query)) == [stored]
        assert not rows.find(replace(query, nonce="other"))

    def test_of_many_at_once_one_is_stored(self) -> None:
        rows = self.make()
        stored: list[InboxDelivery] = []
        started = threading.Barrier(SAME_TIME)

        def store() -> None:
            started.wait(10)
            delivery = rows.swap(None, FULL)
            if delivery is not None:
                stored.append(delivery)
            self.end_thread()

        threads = [threading.Thread(target=store) for _ in range(SAME_TIME)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        assert len(stored) == 1
        assert len(rows.find(DeliveryQuery())) == 1

    def test_a_delivery_is_replaced_only_in_the_generation_that_was_read(self) -> None:
        rows = self.make()
        stored = rows.swap(None, FULL)
        assert stored is not None
        taken = stored.take(1_800_000_100.0)
        assert rows.swap(stored, taken) == taken
        assert rows.swap(stored, stored.take(0.0)) is None
        ended = taken.end(DeliveryState.FAILED, reason="not_json", records=3)
        assert rows.swap(taken, ended) == ended
        (found,) = rows.find(DeliveryQuery(has_body=True))
        assert found == ended

    def test_a_body_stays_with_its_delivery(self) -> None:
        rows = self.make()
        rows.swap(None, FULL)
        (found,) = rows.find(DeliveryQuery())
        rows.swap(found, found.take(5.0))
        (again,) = rows.find(DeliveryQuery(has_body=True))
        assert again.body == FULL.body

    def test_a_delivery_is_deleted(self) -> None:
        rows = self.make()
        stored = rows.swap(None, FULL)
        assert stored is not None
        assert rows.swap(replace(stored, generation=7), None) is None
        assert rows.swap(stored, None) == stored
        assert rows.swap(stored, None) is None
        assert list(rows.find(DeliveryQuery())) == []

    def test_deliveries_are_found_by_what_a_query_names(self) -> None:
        rows = self.make()
        first = rows.swap(None, plain("1", received_at=10.0, due_at=100.0))
        second = rows.swap(None, plain("2", received_at=20.0, due_at=50.0))
        failed = plain("3", received_at=30.0, state=DeliveryState.FAILED)
        third = rows.swap(None, replace(failed, endpoint=OTHER_ENDPOINT))
        assert first is not None

        def found(**query: object) -> list[InboxDelivery]:
            return list(rows.find(DeliveryQuery(**query)))  # type: ignore[arg-type]

        assert found() == [third, second, first]
        assert found(oldest_first=True, limit=2) == [first, second]
        assert found(id=first.id) == [first]
        assert found(id="x") == []
        assert found(id="9" * 30) == []
        assert second is not None
        assert found(before=second.id) == [first]
        assert found(before="x") == []
        assert found(endpoint=OTHER_ENDPOINT) == [third]
        assert found(states=(DeliveryState.RECEIVED,), due_by=60.0) == [second]
        assert found(states=(DeliveryState.FAILED, DeliveryState.IGNORED)) == [third]
        assert found(received_from=20.0) == [third, second]
        assert found(received_before=20.0) == [first]
        assert found(run="7") == []
        ended = first.end(DeliveryState.FAILED, run="7")
        assert rows.swap(first, ended) == ended
        assert found(run="7") == [ended]

    def test_a_wait_that_a_clock_ahead_has_written_is_over(self) -> None:
        rows = self.make()
        new = rows.swap(None, plain("1", received_at=1000.0, due_at=1000.0))
        postponed = rows.swap(None, plain("2", received_at=10.0, due_at=2000.0))
        latest = 1000.0 - SKEW_SECONDS
        longest = LONGEST_WAIT + SKEW_SECONDS
        for moment, deliveries in (
            (latest - 1, [new]),  # no sender can have sent it then
            (latest, []),
            (1000.0, [new]),
            (2000.0, [postponed, new]),
            (2000.0 - longest - 1, [postponed, new]),
            (2000.0 - longest, [new]),
        ):
            assert list(rows.find(DeliveryQuery(due_by=moment))) == deliveries, moment

    def test_deliveries_are_counted_by_endpoint_state_and_hour(self) -> None:
        rows = self.make()
        hour = 500_000
        start = hour * 3600.0
        failed = DeliveryState.FAILED
        rows.swap(None, plain("0", received_at=start - 7200.5))
        rows.swap(None, plain("1", received_at=start - 0.25))
        rows.swap(None, plain("2", received_at=start))
        rows.swap(None, plain("3", received_at=start + 3599.75))
        rows.swap(None, plain("4", received_at=start + 3600))
        rows.swap(None, plain("5", received_at=start + 1, state=failed))
        rows.swap(None, plain("6", received_at=start, endpoint=OTHER_ENDPOINT))
        received = DeliveryState.RECEIVED
        own = {
            DeliveryCount(ENDPOINT, received, 0, 2, start - 0.25),
            DeliveryCount(ENDPOINT, received, hour, 2, start + 3599.75),
            DeliveryCount(ENDPOINT, received, hour + 1, 1, start + 3600),
            DeliveryCount(ENDPOINT, failed, hour, 1, start + 1),
        }
        other = DeliveryCount(OTHER_ENDPOINT, received, hour, 1, start)
        assert set(rows.count_by_hour(start)) == {*own, other}
        assert set(rows.count_by_hour(start, ENDPOINT)) == own
        assert list(rows.count_by_hour(start, "c" * 22)) == []
