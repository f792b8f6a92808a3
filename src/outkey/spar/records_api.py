"""An API with records to synchronize: contacts and orders, in every way of handing out pages.

`/records/contacts` and `/records/orders` demand the token `spar-token`. `?count=` says how many
there are, `?style=` how pages are asked for: `page`, `offset`, `cursor` or `link`. What is posted
or put is only counted. `?fail=` spoils a page, as often as it is asked to.
"""

import json
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qsl

from outkey.spar.exchange import Stage

TOKEN = "spar-token"  # noqa: S105 - made up and public
_MOST = 1_000_000
_SIZE = 100
_HUGE, _WIDE = 50_000_000, 1_000_000

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


_KINDS: dict[str, Callable[[int], dict[str, object]]] = {
    "contacts": contact,
    "orders": order,
}


def records(stage: Stage) -> None:
    """Hand out `contacts` or `orders` (`?count=`, `?style=`), or take one; `spar-token` needed.

    A live access token will do as well. `?fail=` with a status, `truncated`, `text`, `huge`,
    `wide` (a record of a million fields) or `loop` (of cursors) spoils the page `at=` (2), the
    first `times=` (1) that it is asked for.
    """
    make = _KINDS.get(stage.rest.partition("/")[0])
    given = stage.headers.get("authorization", "").removeprefix("Bearer ")
    if given != TOKEN and stage.authority.access(given) is None:
        stage.answer(
            401, {"error": "unauthorized"}, ("WWW-Authenticate", 'Bearer realm="spar"')
        )
    elif make is None:
        stage.answer(404, {"error": "no such records", "records": sorted(_KINDS)})
    elif stage.method in {"POST", "PUT", "PATCH"}:
        stage.answer(201, {"kept": len(stage.body)})
    else:
        _page(stage, make)


def _page(stage: Stage, make: Callable[[int], dict[str, object]]) -> None:
    style, size = stage.query.get("style", "page"), int(stage.number("per_page", _SIZE))
    count = int(min(stage.number("count", 250), _MOST))
    start = int(stage.number("offset", 0))
    if style == "page":
        start = (int(stage.number("page", 1)) - 1) * size
    elif style in {"cursor", "link"}:
        start = int(stage.number("after", 0))
    items = [make(number) for number in range(max(start, 0), min(start + size, count))]
    more = start + size < count
    body: Body = {"items": items, "total": count}
    headers = []
    if style == "cursor" and more:
        body["next"] = str(start + size)
    if style == "link" and more:
        query = {**stage.query, "after": str(start + size)}
        joined = "&".join(f"{name}={value}" for name, value in query.items())
        headers.append(("Link", f'<{stage.path}?{joined}>; rel="next"'))
    if _is_spoiled(stage, start // size + 1):
        _FAULTS.get(stage.query["fail"], _refused)(stage, body)
    else:
        stage.answer(200, body, *headers)


# ── pages that are spoiled ───────────────────────────────────────────────────────────────────


def _is_spoiled(stage: Stage, page: int) -> bool:
    if "fail" not in stage.query or page != stage.number("at", 2):
        return False
    here = [dict(parse_qsl(arrived.query)) for arrived in list(stage.journal)]
    return here.count(stage.query) <= stage.number("times", 1)


def _refused(stage: Stage, _: Body) -> None:
    status = int(stage.number("fail", 500))
    stage.answer(status, None, *[("Retry-After", "1")] if status in {429, 503} else [])


def _truncated(stage: Stage, body: Body) -> None:
    whole = json.dumps(body).encode()
    stage.head(
        200, ("Content-Type", "application/json"), ("Content-Length", str(len(whole)))
    )
    stage.write(whole[: len(whole) // 2])
    stage.hang_up = True


def _wide(stage: Stage, body: Body) -> None:
    first, *others = body["items"]
    wide = first | {f"f{number}": 0 for number in range(_WIDE)}
    stage.answer(200, body | {"items": [wide, *others]})


_FAULTS: dict[str, Callable[[Stage, Body], None]] = {
    "truncated": _truncated,
    "text": lambda stage, _: stage.answer(
        200, b"<p>Please log in</p>", kind="text/html"
    ),
    "huge": lambda stage, body: stage.answer(200, body | {"padding": "x" * _HUGE}),
    "wide": _wide,
    "loop": lambda stage, body: stage.answer(200, body | {"next": "0"}),
}
