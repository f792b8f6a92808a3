"""A sender of webhooks: signed deliveries at a steady rate on connections that stay.

A process of its own with one thread, so that it takes little from the server beside it.
Signatures are computed before it starts. It repeats what is not answered with 200.
Its argument is its task as JSON; it prints what it saw as JSON.
"""

import heapq
import json
import selectors
import socket
import sys
import time
from base64 import b64encode
from collections import Counter, deque
from dataclasses import dataclass
from hashlib import sha256
from hmac import digest
from typing import Any

LONGEST_PAUSE = 0.05
RETRY_SECONDS = 0.2  # after a lost connection or another response than 200
PATIENCE = 120.0  # for deliveries that were not answered with 200, at the end


@dataclass(slots=True)
class Connection:
    """A connection to the server, and the delivery that it waits for."""

    address: tuple[str, int]
    number: int | None = None
    link: socket.socket | None = None
    received: bytes = b""


class Sender:
    """Sends all deliveries, each at its time."""

    def __init__(self, task: dict[str, Any]) -> None:
        self.task = task
        self.selector = selectors.DefaultSelector()
        self.waiting: deque[int] = deque()  # the numbers of deliveries to be sent
        self.resting: list[tuple[float, int, Connection]] = []
        self.latencies: list[float] = []
        self.statuses: Counter[str] = Counter()
        self.interruptions = 0
        self.answered = 0
        self.upcoming = 0  # the number of the next delivery that is not due yet

    def run(self) -> dict[str, Any]:
        requests = [self.request(number) for number in range(self.task["count"])]
        address = (self.task["host"], self.task["port"])
        self.free = [Connection(address) for _ in range(self.task["connections"])]
        self.started = time.monotonic()
        ends = self.started + self.task["seconds"]
        rate = self.task["rate"]
        # Without a rate a delivery is due when a connection is free for it.
        self.due = [self.started + n / rate for n in range(len(requests)) if rate]
        self.last_at = self.started
        while True:
            now = time.monotonic()
            is_over = now >= ends or self.upcoming == len(requests)
            if is_over and (self.answered == self.upcoming or now > ends + PATIENCE):
                break
            if not rate and not is_over:
                self.due += [now] * (len(self.free) - len(self.waiting))
                del self.due[len(requests) :]
            self.send_waiting(now, requests)
            self.read_responses(now)
        return {
            "due": self.upcoming,
            "answered": self.answered,
            "seconds": self.last_at - self.started,
            "latencies": self.latencies,
            "statuses": self.statuses,
            "interruptions": self.interruptions,
        }

    def send_waiting(self, now: float, requests: list[bytes]) -> None:
        """Send what is due, as far as connections are free."""
        while self.upcoming < len(self.due) and self.due[self.upcoming] <= now:
            self.waiting.append(self.upcoming)
            self.upcoming += 1
        while self.resting and self.resting[0][0] <= now:
            self.free.append(heapq.heappop(self.resting)[2])
        while self.waiting and self.free:
            connection = self.free.pop()
            number = self.waiting.popleft()
            if not self.send(connection, number, requests[number]):
                self.rest(connection)

    def read_responses(self, now: float) -> None:
        """Wait for responses, but not longer than until the next delivery is due."""
        has_more = self.upcoming < len(self.due)
        pause = self.due[self.upcoming] - now if has_more else LONGEST_PAUSE
        for key, _ in self.selector.select(min(max(pause, 0), LONGEST_PAUSE)):
            connection = key.data
            status = self.read(connection)
            if status is None:
                continue
            self.statuses[status] += 1
            if status == "200":
                self.note_answer(connection)
            else:
                self.rest(connection)

    def note_answer(self, connection: Connection) -> None:
        self.answered += 1
        self.last_at = time.monotonic()
        assert connection.number is not None  # it was just answered
        due = self.due[connection.number]
        if due >= self.started + self.task["warm_up"]:
            self.latencies.append(self.last_at - due)
        connection.number = None
        self.free.append(connection)

    def request(self, number: int) -> bytes:
        event = f"{self.task['run']}-{number}"
        body = json.dumps(
            {"id": event, "total": "10.50", "note": "x" * self.task["bytes"]}
        ).encode()
        code = b64encode(digest(self.task["secret"].encode(), body, sha256)).decode()
        head = (
            f"POST {self.task['path']} HTTP/1.1\r\n"
            f"Host: {self.task['host']}:{self.task['port']}\r\n"
            "Content-Type: application/json\r\n"
            f"X-Shopify-Hmac-SHA256: {code}\r\n"
            f"X-Shopify-Event-Id: {event}\r\n"
            f"X-Shopify-Webhook-Id: {event}\r\n"
            "X-Shopify-Topic: orders/create\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        return head.encode() + body

    def send(self, connection: Connection, number: int, request: bytes) -> bool:
        connection.number = number
        connection.received = b""
        try:
            if connection.link is None:
                connection.link = socket.create_connection(connection.address, 5)
                option = (socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                connection.link.setsockopt(*option)
                self.selector.register(
                    connection.link, selectors.EVENT_READ, connection
                )
            connection.link.sendall(request)
        except OSError:
            self.close(connection)
            return False
        return True

    def read(self, connection: Connection) -> str | None:
        """Return the status of a response, "lost" with the connection, else None."""
        assert connection.link is not None
        try:
            received = connection.link.recv(65_536)
        except OSError:
            received = b""
        if not received:
            self.close(connection)
            return None if connection.number is None else "lost"
        connection.received += received
        if b"\r\n\r\n" not in connection.received:
            return None
        return connection.received[9:12].decode()

    def close(self, connection: Connection) -> None:
        self.interruptions += 1
        if connection.link is not None:
            if connection.link.fileno() in self.selector.get_map():
                self.selector.unregister(connection.link)
            connection.link.close()
            connection.link = None

    def rest(self, connection: Connection) -> None:
        """Let a connection pause, and send its delivery again."""
        if connection.number is not None:
            self.waiting.append(connection.number)
        connection.number = None
        ends = time.monotonic() + RETRY_SECONDS
        heapq.heappush(self.resting, (ends, id(connection), connection))


if __name__ == "__main__":
    print(json.dumps(Sender(json.loads(sys.argv[1])).run()))
