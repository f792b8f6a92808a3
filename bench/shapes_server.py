"""A quick server with the shapes of APIs that `bench/shapes.py` pulls.

    /parents?page=N             parents, 100 a page
    /parents/ID/items?page=N    the items of a parent, ten pages
    /changes?since=&until=&page=N   records by the moment of their change, 100 a page
    /export.csv                 rows as CSV

It prints its port, and serves until its input ends. A program of its own, so that its
time is not that of who pulls.
"""

import asyncio
import json
import sys
from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qs, urlsplit

PAGE = 100
PAGES_OF_A_PARENT = 10
ITEMS_OF_A_PAGE = 50
FIRST_CHANGE = datetime(2025, 1, 1, tzinfo=UTC)
PERIOD = timedelta(days=364)


class Shapes:
    """The responses of the server, for so many records of each kind."""

    def __init__(self, parents: int, changes: int, rows: int) -> None:
        self._parents = parents
        self._changes = changes
        self._step = PERIOD / changes
        lines = ["id,name,credit,updated_at,country,note\r\n"]
        lines += [
            f"{number},Customer {number},{number % 1000}.{number % 100:02d},"
            f'2026-01-{number % 28 + 1:02d}T00:00:00Z,DE,"a, {number}"\r\n'
            for number in range(1, rows + 1)
        ]
        self._csv = "".join(lines).encode()

    def response(self, target: str) -> tuple[str, bytes]:
        """Return the type and the body of the response for a target."""
        url = urlsplit(target)
        query = {name: values[0] for name, values in parse_qs(url.query).items()}
        page = int(query.get("page", "1"))
        if url.path == "/export.csv":
            return "text/csv; charset=utf-8", self._csv
        if url.path == "/parents":
            return _json(self._parents_of_page(page))
        if url.path == "/changes":
            return _json(self._changes_of_page(query, page))
        return _json(_items_of_page(int(url.path.split("/")[2]), page))

    def _parents_of_page(self, page: int) -> list[object]:
        first = (page - 1) * PAGE + 1
        last = min(self._parents, page * PAGE)
        return [
            {"id": number, "name": f"Parent {number}"}
            for number in range(first, last + 1)
        ]

    def _changes_of_page(self, query: dict[str, str], page: int) -> list[object]:
        begin = self._number_at(query.get("since", ""), 0)
        end = self._number_at(query.get("until", ""), self._changes)
        first = begin + (page - 1) * PAGE
        return [
            {
                "id": number + 1,
                "name": f"Change {number}",
                "updated_at": (FIRST_CHANGE + number * self._step).isoformat(),
            }
            for number in range(first, min(end, first + PAGE))
        ]

    def _number_at(self, moment: str, default: int) -> int:
        """Return the number of the first change at a moment or after it."""
        if not moment:
            return default
        passed = datetime.fromisoformat(moment) - FIRST_CHANGE
        return min(self._changes, max(0, -(-passed // self._step)))


def _items_of_page(parent: int, page: int) -> list[object]:
    if page > PAGES_OF_A_PARENT:
        return []
    first = (page - 1) * ITEMS_OF_A_PAGE
    return [
        {"sku": f"{parent}-{first + place}", "quantity": place, "price": "9.50"}
        for place in range(ITEMS_OF_A_PAGE)
    ]


def _json(document: object) -> tuple[str, bytes]:
    return "application/json", json.dumps(document).encode()


class Connection(asyncio.Protocol):
    """One connection: GET requests without a body, one after another."""

    def __init__(self, shapes: Shapes) -> None:
        self._shapes = shapes
        self._received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._received += data
        while b"\r\n\r\n" in self._received:
            head, _, self._received = self._received.partition(b"\r\n\r\n")
            kind, body = self._shapes.response(head.split(b" ", 2)[1].decode())
            self._transport.write(
                f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\n"
                f"Content-Length: {len(body)}\r\n\r\n".encode()
            )
            self._transport.write(body)


async def main() -> None:
    shapes = Shapes(*map(int, sys.argv[1:4]))
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Connection(shapes), "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await loop.run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main())
