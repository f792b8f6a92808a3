"""The contacts at servers that take writes, past outkey, and what has arrived there."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol
from urllib.parse import quote

from peers.authorization_servers import Asker
from peers.directus import STATIC_TOKEN, Directus
from peers.kinto import Kinto
from peers.servers import wait_until
from peers.sync_servers import JsonServer, Row

COLUMNS = ("number", "name", "credit", "born", "active", "seen", "note")


class Api(Protocol):
    """What a user of the server could do in its own pages."""

    def all(self) -> list[Row]:
        """Return every contact."""

    def add(self, rows: Sequence[Row]) -> None:
        """Add contacts."""

    def change(self, number: str, **values: object) -> None:
        """Change a contact."""

    def remove(self, number: str) -> None:
        """Delete a contact."""

    def clear(self) -> None:
        """Delete all contacts."""

    def writes(self) -> Counter[str]:
        """Count the creates, updates and deletions so far."""


# ── Directus ──────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class DirectusContacts:
    """Contacts in Directus, with numbers of ours and IDs of its own."""

    server: Directus

    def all(self) -> list[Row]:
        return list(self._ask("/items/contacts?limit=-1"))

    def add(self, rows: Sequence[Row]) -> None:
        self._ask("/items/contacts", "POST", rows)

    def change(self, number: str, **values: object) -> None:
        self._ask(f"/items/contacts/{self._id(number)}", "PATCH", values)

    def remove(self, number: str) -> None:
        self._ask(f"/items/contacts/{self._id(number)}", "DELETE")

    def clear(self) -> None:
        self._ask("/items/contacts", "DELETE", {"query": {"limit": -1}})

    def writes(self) -> Counter[str]:
        """Count by its own log of activities."""
        query = "filter[collection][_eq]=contacts&limit=-1&fields=action"
        return Counter(one["action"] for one in self._ask(f"/activity?{query}"))

    def _id(self, number: str) -> int:
        query = f"filter[number][_eq]={quote(number, safe='')}&fields=id"
        (found,) = self._ask(f"/items/contacts?{query}")
        return int(found["id"])

    def _ask(self, path: str, method: str = "GET", data: object = None) -> Any:  # noqa: ANN401
        return ask_directus(self.server, path, method, data)


def ask_directus(
    server: Directus, path: str, method: str = "GET", data: object = None
) -> Any:  # noqa: ANN401 - what Directus says
    """Send a request as the administrator, and return the data of its response."""
    headers = {"Authorization": f"Bearer {STATIC_TOKEN}"}
    answer = Asker().ask(server.url + path, method=method, data=data, headers=headers)
    assert answer.status in {200, 204}, answer
    return answer.json["data"] if answer.body else None


def field(name: str, kind: str, *special: str, **schema: object) -> Row:
    meta = {"special": special} if special else {}
    return {"field": name, "type": kind, "schema": schema, "meta": meta}


ID = field("id", "integer", is_primary_key=True, has_auto_increment=True)
MONEY = {"numeric_precision": 12, "numeric_scale": 2}
CONTACT_FIELDS = [
    ID,
    field("number", "string", is_unique=True),
    field("name", "string"),
    field("credit", "decimal", **MONEY),
    field("born", "date"),
    field("active", "boolean", "cast-boolean"),
    field("seen", "timestamp"),
    field("note", "text"),
    field("changed", "timestamp", "date-created", "date-updated"),
]
ORDER_FIELDS = [
    ID,
    field("number", "string", is_unique=True),
    field("status", "string"),
    field("total", "decimal", **MONEY),
    field("paid", "boolean", "cast-boolean"),
    field("due", "date"),
    field("placed", "timestamp"),
]
LINE_FIELDS = [
    ID,
    field("order", "integer"),
    field("sku", "string"),
    field("quantity", "integer"),
    field("price", "decimal", **MONEY),
]


def make_collections(server: Directus) -> None:
    """Make contacts, and orders with lines, as an administrator would."""
    collections = {
        "contacts": CONTACT_FIELDS,
        "orders": ORDER_FIELDS,
        "order_lines": LINE_FIELDS,
    }
    for name, fields in collections.items():
        made = {"collection": name, "schema": {}, "meta": {}, "fields": fields}
        ask_directus(server, "/collections", "POST", made)
    lines = {"field": "lines", "type": "alias", "meta": {"special": ["o2m"]}}
    ask_directus(server, "/fields/orders", "POST", lines)
    relation = {
        "collection": "order_lines",
        "field": "order",
        "related_collection": "orders",
        "meta": {"one_field": "lines"},
        "schema": {"on_delete": "CASCADE"},
    }
    ask_directus(server, "/relations", "POST", relation)


# ── Kinto ─────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class KintoContacts:
    """Contacts in Kinto, whose IDs are our numbers."""

    server: Kinto

    def all(self) -> list[Row]:
        rows = self.server.ask(f"{self.server.records}?_limit=10000")
        return [row | {"number": row["id"]} for row in rows]

    def add(self, rows: Sequence[Row]) -> None:
        for row in rows:
            values = {name: value for name, value in row.items() if name != "number"}
            url = f"{self.server.records}/{row['number']}"
            self.server.ask(url, "PUT", {"data": values})

    def change(self, number: str, **values: object) -> None:
        self.server.ask(f"{self.server.records}/{number}", "PATCH", {"data": values})

    def remove(self, number: str) -> None:
        self.server.ask(f"{self.server.records}/{number}", "DELETE")

    def clear(self) -> None:
        self.server.ask(self.server.records, "DELETE")

    def writes(self) -> Counter[str]:
        """Count by the history of the bucket."""
        url = f"{self.server.url}/buckets/shop/history?resource_name=record"
        return Counter(one["action"] for one in self.server.ask(url))


# ── json-server ───────────────────────────────────────────────────────────────────────

ACTIONS = {"POST": "create", "PATCH": "update", "DELETE": "delete"}
COLOURS = re.compile(r"\x1b\[\d*m")


@dataclass(frozen=True, slots=True)
class JsonServerContacts:
    """Contacts in json-server, whose IDs are our numbers."""

    server: JsonServer

    def all(self) -> list[Row]:
        rows = Asker().ask(f"{self.server.url}/people").json
        return [row | {"number": row["id"]} for row in rows]

    def add(self, rows: Sequence[Row]) -> None:
        for row in rows:
            self._ask("", "POST", row | {"id": row["number"]})

    def change(self, number: str, **values: object) -> None:
        self._ask(f"/{quote(number, safe='')}", "PATCH", values)

    def remove(self, number: str) -> None:
        self._ask(f"/{quote(number, safe='')}", "DELETE")

    def clear(self) -> None:
        for row in self.all():
            self.remove(str(row["id"]))

    def writes(self) -> Counter[str]:
        """Count by the log that it prints, which is complete up to our own request."""
        seen = len(self._logged("GET"))
        Asker().ask(f"{self.server.url}/people?_limit=1")
        wait_until(lambda: len(self._logged("GET")) > seen, "json-server's log")
        methods = Counter({name: len(self._logged(name)) for name in ACTIONS})
        return Counter({ACTIONS[name]: count for name, count in methods.items()})

    def _logged(self, method: str) -> list[str]:
        lines = COLOURS.sub("", self.server.log.read_text()).splitlines()
        return [line for line in lines if line.startswith(f"{method} /people")]

    def _ask(self, path: str, method: str, data: object = None) -> None:
        url = f"{self.server.url}/people{path}"
        assert Asker().ask(url, method=method, data=data).status in {200, 201}
