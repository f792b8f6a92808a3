"""An API with records to synchronize: contacts and orders, in every kind of paging.

`/records/contacts` and `/records/orders` demand the token `spar-token`. `?count=` is
the number of records, `?style=` the paging: `page`, `offset`, `cursor` or `link`.
With `?days=` they are those of a range of time.
What is posted or put there is only counted; `/records/stored` stores it. `?fail=`
spoils a page, as often as requested.
"""

import json
import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any
from urllib.parse import parse_qsl

from outkey.spar.exchange import Stage
from outkey.spar.exports import export

TOKEN = "spar-token"  # noqa: S105 - made up and public
STORED = "stored"
_MOST = 1_000_000
_MOST_ITEMS = 3  # of an order
_ITEMS = re.compile(r"orders/([1-9][0-9]{0,6})/items", re.ASCII)
_SIZE = 100
_HUGE = 50_000_000
_WIDE = 1_000_000

Body = dict[str, Any]


def contact(number: int) -> dict[str, object]:
    """Return a contact that is the same each time."""
    return {
        "id": f"c{number}",
        "full_name": f"Contact {number}",
        "mail": f"contact{number}@example.com",
        "type": "company" if number % 3 == 0 else "person",
        "credit": f"{number % 1000}.50",
        "updated_at": f"2026-01-{number % 28 + 1:02}T00:00:00Z",
    }


def order(number: int) -> dict[str, object]:
    """Return an order of some contact."""
    return {
        "year": 2026,
        "number": number + 1,
        "customer": {"id": f"c{number % 10}"},
        "ordered_at": f"2026-02-{number % 28 + 1:02}T08:00:00+01:00",
        "weight": number / 4,
    }


def item(order_number: int, number: int) -> dict[str, object]:
    """Return an item of an order."""
    return {
        "position": number + 1,
        "sku": f"sku-{(order_number + number) % 7}",
        "quantity": number % 3 + 1,
    }


_KINDS: dict[str, Callable[[int], dict[str, object]]] = {
    "contacts": contact,
    "orders": order,
}


def records(stage: Stage) -> None:
    """Return `contacts` or `orders` (`?count=`, `?style=`), or accept one.

    `?format=` csv, jsonl or xml is an export: all records at once, unless `per_page` is
    given; with `?packed=` gzip or zip, `?delimiter=` semicolon or tab, `?header=no`.

    `orders/7/items` are the items of an order, three unless `?count=` is given.

    `stored` creates, changes, finds and deletes records that are sent to it.

    Demands `spar-token` or a live access token. `?fail=` with a status, `truncated`,
    `text`, `huge`, `wide` (a record of a million fields) or `loop` (of cursors) spoils
    the page `at=` (2), the first `times=` (1) that it is requested. `?budget=` permits
    so many requests in `within=` seconds (1), states how many are left in
    X-RateLimit-Remaining and -Reset, and responds with 429 to more. `?days=` demands
    `updated_from` and `updated_to`, at most so many days apart.
    """
    kind = stage.rest.partition("/")[0]
    make = _KINDS.get(kind)
    items = _ITEMS.fullmatch(stage.rest)
    if items is not None:
        make = partial(item, int(items[1]))
    token = stage.headers.get("authorization", "").removeprefix("Bearer ")
    if token != TOKEN and stage.authority.access(token) is None:
        stage.respond(
            401, {"error": "unauthorized"}, ("WWW-Authenticate", 'Bearer realm="spar"')
        )
    elif kind == STORED:
        stage.stored.play(stage)
    elif make is None:
        stage.respond(
            404, {"error": "no such records", "records": [*sorted(_KINDS), STORED]}
        )
    elif stage.method in {"POST", "PUT", "PATCH"}:
        stage.respond(201, {"kept": len(stage.body)})
    else:
        send_page(stage, make, _MOST_ITEMS if items is not None else 250)


def send_page(
    stage: Stage, make: Callable[[int], dict[str, object]], most: int = 250
) -> None:
    """Send one page of records, or the fault that `?fail=` names."""
    style = stage.query.get("style", "page")
    size = int(stage.number("per_page", _MOST if "format" in stage.query else _SIZE))
    count = int(min(stage.number("count", most), _MOST))
    start = int(stage.number("offset", 0))
    if style == "page":
        start = (int(stage.number("page", 1)) - 1) * size
    elif style in {"cursor", "link"}:
        start = int(stage.number("after", 0))
    headers: list[tuple[str, str]] = []
    if "budget" in stage.query:
        limit = int(stage.number("budget", 1))
        is_permitted, stated = stage.budgets.take(
            stage.path, limit, stage.number("within", 1)
        )
        if not is_permitted:
            stage.respond(429, None, *stated)
            return
        headers.extend(stated)
    numbers = _updated(stage, make, range(count))
    if numbers is None:
        return
    items = [make(number) for number in numbers[max(start, 0) : max(start + size, 0)]]
    more = start + size < len(numbers)
    body: Body = {"items": items, "total": len(numbers)}
    if style == "cursor" and more:
        body["next"] = str(start + size)
    if style == "link" and more:
        query = {**stage.query, "after": str(start + size)}
        text = "&".join(f"{name}={value}" for name, value in query.items())
        headers.append(("Link", f'<{stage.path}?{text}>; rel="next"'))
    if _is_spoiled(stage, start // size + 1):
        _FAULTS.get(stage.query["fail"], _fail_with_status)(stage, body)
    else:
        _send(stage, body, headers)


def _send(stage: Stage, body: Body, headers: list[tuple[str, str]]) -> None:
    """Send a page, in the format that the query names."""
    kind = stage.rest.partition("/")[0]
    exported = export(body["items"], kind, stage.query)
    if exported is None:
        stage.respond(200, body, *headers)
    else:
        content, content_type = exported
        stage.respond(200, content, *headers, kind=content_type)


def _updated(
    stage: Stage, make: Callable[[int], dict[str, object]], numbers: Sequence[int]
) -> Sequence[int] | None:
    """Return the records of the requested range of time; None where it is refused."""
    if "days" not in stage.query:
        return numbers
    try:
        first, last = (
            _read_moment(stage.query[name]) for name in ("updated_from", "updated_to")
        )
    except (KeyError, ValueError):
        stage.respond(400, {"error": "updated_from and updated_to are missing"})
        return None
    days = stage.number("days", 31)
    if last - first > timedelta(days=days):
        stage.respond(400, {"error": f"at most {days:g} days at once"})
        return None
    return [number for number in numbers if first <= _moment(make(number)) < last]


def _moment(record: dict[str, object]) -> datetime:
    """Return when a contact was updated, or an order was placed."""
    return _read_moment(str(record.get("updated_at") or record["ordered_at"]))


def _read_moment(text: str) -> datetime:
    """Return a moment in ISO 8601, in UTC if it names no zone."""
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


# ── pages that are spoiled ────────────────────────────────────────────────────────────


def _is_spoiled(stage: Stage, page: int) -> bool:
    """Whether `?fail=` is about this page, and has not been played often enough."""
    if "fail" not in stage.query or page != stage.number("at", 2):
        return False
    queries = [dict(parse_qsl(arrival.query)) for arrival in list(stage.journal)]
    return queries.count(stage.query) <= stage.number("times", 1)


def _fail_with_status(stage: Stage, _: Body) -> None:
    """Respond with the status of `?fail=`."""
    status = int(stage.number("fail", 500))
    stage.respond(status, None, *[("Retry-After", "1")] if status in {429, 503} else [])


def truncate(stage: Stage, body: Body) -> None:
    """Send half of the page and close the connection."""
    whole = json.dumps(body).encode()
    stage.head(
        200, ("Content-Type", "application/json"), ("Content-Length", str(len(whole)))
    )
    stage.write(whole[: len(whole) // 2])
    stage.hang_up = True


def widen(stage: Stage, body: Body) -> None:
    """Send a page whose first record has a million fields."""
    first, *others = body["items"]
    wide = first | {f"f{number}": 0 for number in range(_WIDE)}
    stage.respond(200, body | {"items": [wide, *others]})


_FAULTS: dict[str, Callable[[Stage, Body], None]] = {
    "truncated": truncate,
    "text": lambda stage, _: stage.respond(
        200, b"<p>Please log in</p>", kind="text/html"
    ),
    "huge": lambda stage, body: stage.respond(200, body | {"padding": "x" * _HUGE}),
    "wide": widen,
    "loop": lambda stage, body: stage.respond(200, body | {"next": "0"}),
}
