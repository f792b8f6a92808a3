"""An API in memory that creates, updates and deletes records, also in batches."""

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from outkey.foundation.core.errors import OutkeyError
from outkey.sending.core.request.message import Request, Response, ResponseHeaders

Record = dict[str, Any]
Reply = Response | OutkeyError


def reply(status: int, document: object = None) -> Response:
    body = b"" if document is None else json.dumps(document).encode()
    return Response(status, ResponseHeaders(()), body)


@dataclass
class OrdersApi:
    """Orders by id; keys are honoured, and one with another body is refused (422)."""

    orders: dict[str, Record] = field(default_factory=dict)
    honours_keys: bool = True
    replays_other_bodies: bool = False  # returns the first response whatever was sent
    odd: dict[int, Reply | Callable[[], Reply]] = field(default_factory=dict)
    asked: list[Request] = field(default_factory=list)
    answered: dict[str, tuple[bytes, Response]] = field(default_factory=dict)
    name_id: Callable[[int], str] = lambda number: f"r{number}"
    created: int = 0

    def __call__(self, request: Request) -> Reply:
        self.asked.append(request)
        odd = self.odd.get(len(self.asked))
        if odd is not None:
            return odd() if callable(odd) else odd
        return self.answer(request)

    def answer(self, request: Request) -> Response:
        key = header(request, "Idempotency-Key")
        body = bytes(request.body)  # type: ignore[arg-type]
        if not (key and self.honours_keys):
            return self.perform(request)
        if key in self.answered:
            first, response = self.answered[key]
            is_same = first == body or self.replays_other_bodies
            return response if is_same else reply(422, {"error": "key reused"})
        response = self.perform(request)
        self.answered[key] = body, response
        return response

    def perform(self, request: Request) -> Response:
        url = urlsplit(request.target)
        body = json.loads(bytes(request.body) or b"null")  # type: ignore[arg-type]
        if url.path == "/batch":
            return self.perform_batch(request.method, body["data"]["items"])
        if request.method == "GET":
            number = parse_qs(url.query)["number"][0]
            found = [
                {"id": known}
                for known, order in self.orders.items()
                if order["number"] == number
            ]
            return reply(200, {"items": found})
        if request.method == "POST":
            return reply(201, {"data": {"id": self.create(body)}})
        known = unquote(url.path.removeprefix("/orders/"))
        if known not in self.orders:
            return reply(404, {"error": "no such order"})
        if request.method == "DELETE":
            del self.orders[known]
            return reply(204)
        self.orders[known] |= body
        return reply(200, {"id": known})

    def perform_batch(self, method: str, items: list[Any]) -> Response:
        return reply(207, {"results": [self.perform_item(method, i) for i in items]})

    def perform_item(self, method: str, item: Any) -> Record:  # noqa: ANN401
        if method == "DELETE":
            known = self.orders.pop(item, None)
            return {"status": 404} if known is None else {"status": 204}
        if method == "POST":
            if "bad" in item["name"]:
                return {"status": 422, "error": "bad"}
            item.pop("id", None)
            return {"status": 201, "data": {"id": self.create(item)}}
        if item["id"] not in self.orders:
            return {"error": {"code": 404}}
        self.orders[item["id"]] |= item
        return {"status": 200}

    def create(self, order: Record) -> str:
        self.created += 1
        known = self.name_id(self.created)
        self.orders[known] = order
        return known

    def calls(self) -> list[str]:
        """Return method and path of what was asked since the last time."""
        calls = [f"{asked.method} {asked.target}" for asked in self.asked]
        self.asked.clear()
        return calls

    def keys(self) -> list[str]:
        return [
            key for asked in self.asked if (key := header(asked, "Idempotency-Key"))
        ]

    def doubles(self) -> list[str]:
        """Return the numbers that several orders have."""
        counts = Counter(order["number"] for order in self.orders.values())
        return [number for number, count in counts.items() if count > 1]


def header(request: Request, name: str) -> str:
    return next((str(h.value) for h in request.headers if h.name == name), "")
