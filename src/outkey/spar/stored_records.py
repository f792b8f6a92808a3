"""An API that stores what it is sent, until the provider ends: `/records/stored`.

    POST /records/stored            creates one: 201 {"data": {"id": "s1", …}}
    PUT or PATCH /records/stored/s1 changes it; DELETE deletes it; 404 if it is missing
    GET /records/stored?name=value  finds: {"items": […]}
    POST, PATCH or DELETE /records/stored/batch
                                    {"items": […]} → {"results": […]}, in their order

An `Idempotency-Key` is honoured: the same request again gets the first response, and
another body under the same key gets 422. `?keys=ignored` ignores it. `?unique=name`
refuses with 409 to create a record whose value another one has. `?own_id=name` takes
that value as the ID of a new record.
"""

import json
import threading
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote

from outkey.spar.exchange import Stage

Record = dict[str, Any]
Reply = tuple[int, object]
BATCH = "batch"
_SETTINGS = frozenset({"keys", "unique", "own_id"})
_NOT_FOUND: Reply = 404, {"error": "no such record"}


class StoredRecords:
    """Records by id, and the responses by Idempotency-Key."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._records: dict[str, Record] = {}
        self._replies: dict[str, tuple[bytes, Reply]] = {}
        self._count = 0

    def all(self) -> list[Record]:
        """Return the records, oldest first, without their ids."""
        with self._lock:
            return [dict(record) for record in self._records.values()]

    def play(self, stage: Stage) -> None:
        """Respond to a request."""
        with self._lock:
            status, body = self._reply_once(stage)
        stage.respond(status, b"" if status == 204 else body)

    def _reply_once(self, stage: Stage) -> Reply:
        key = stage.headers.get("idempotency-key", "")
        if not key or stage.query.get("keys") == "ignored":
            return self._reply(stage)
        first = self._replies.get(key)
        if first is None:
            first = self._replies[key] = stage.body, self._reply(stage)
        body, reply = first
        return reply if body == stage.body else (422, {"error": "another body"})

    def _reply(self, stage: Stage) -> Reply:
        place = unquote(stage.rest.partition("/")[2])
        try:
            body = json.loads(stage.body or b"null")
        except ValueError:
            return 400, {"error": "not JSON"}
        if place == BATCH:
            return self._batch(stage, body)
        unique = stage.query.get("unique", "")
        replies: dict[str, Callable[[], Reply]] = {
            "POST": lambda: self._create(body, unique, stage.query.get("own_id", "")),
            "PUT": lambda: self._change(place, body),
            "PATCH": lambda: self._change(place, body),
            "DELETE": lambda: self._delete(place),
            "GET": lambda: self._find(stage.query),
        }
        return replies.get(stage.method, lambda: (405, {"error": "method"}))()

    def _batch(self, stage: Stage, body: Record) -> Reply:
        unique = stage.query.get("unique", "")
        replies: dict[str, Callable[[Any], Reply]] = {
            "POST": lambda item: self._create(item, unique),
            "PATCH": lambda item: self._change(item.get("id", ""), item),
            "DELETE": self._delete,
        }
        change = replies[stage.method]
        results = []
        for item in body["items"]:
            status, document = change(item)
            details = document if isinstance(document, dict) else {}
            results.append({"status": status, **details})
        return 200, {"results": results}

    def _create(self, record: Record, unique: str, own_id: str = "") -> Reply:
        value = record.get(unique)
        if unique and any(
            known.get(unique) == value for known in self._records.values()
        ):
            return 409, {"error": "it exists"}
        self._count += 1
        known = str(record.get(own_id) or f"s{self._count}")
        self._records[known] = _without_id(record)
        return 201, {"data": {**record, "id": known}}

    def _change(self, known: str, record: Record) -> Reply:
        if known not in self._records:
            return _NOT_FOUND
        self._records[known] |= _without_id(record)
        return 200, {"data": {**self._records[known], "id": known}}

    def _delete(self, known: str) -> Reply:
        return _NOT_FOUND if self._records.pop(known, None) is None else (204, None)

    def _find(self, query: dict[str, str]) -> Reply:
        wanted = {name: query[name] for name in query.keys() - _SETTINGS}
        return 200, {
            "items": [
                {**record, "id": known}
                for known, record in self._records.items()
                if all(str(record.get(name)) == wanted[name] for name in wanted)
            ]
        }


def _without_id(record: Record) -> Record:
    """Return a record without its ID, as it is stored."""
    return {name: value for name, value in record.items() if name != "id"}
