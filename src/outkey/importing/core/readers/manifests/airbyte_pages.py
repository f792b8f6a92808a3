"""Paginators and decoders of a declarative manifest."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from outkey.foundation.core.text import Text
from outkey.importing.core.readers.line_notes import LineNotes, names_text
from outkey.importing.core.readers.manifests.common import note_pages
from outkey.importing.core.readers.manifests.expressions import (
    Expression,
    parse_expression,
)
from outkey.importing.core.readers.tree import Table, table, text_of

Fill = Callable[[object], str | None]
_BODY_PLACES = frozenset({"body_json", "body_data"})
# Conditions that end pages as an empty cursor does.
_MORE = re.compile(
    r"\{\{\s*(?:not\s+(?P<a>[^{}|]{1,200}?)|(?P<b>[^{}|]{1,200}?)\s*"
    r"(?:==|is)\s*(?:[Ff]alse|[Nn]one))\s*\}\}"
)


@dataclass(slots=True)
class DescribedPages:
    """Pages as the table of a line, and what the body has of them."""

    table: dict[str, object] = field(default_factory=dict)
    body: dict[str, object] = field(default_factory=dict)


def read_paginator(
    component: Table, fill: Fill, notes: LineNotes, records: str
) -> DescribedPages:
    """Return how a stream requests pages."""
    described = DescribedPages()
    kind = text_of(component.get("type"))
    if kind in {"", "NoPagination"}:
        notes.leave("pagination", Text("one response has all records"))
        return described
    strategy = table(component.get("pagination_strategy"))
    kinds = {
        "PageIncrement": _by_page,
        "OffsetIncrement": _by_offset,
        "CursorPagination": _by_cursor,
    }
    name = text_of(strategy.get("type"))
    if kind != "DefaultPaginator" or name not in kinds:
        shown = names_text([name or kind])
        notes.drop("pagination", Text("{kind} is code of its own", kind=shown))
        return described
    pages = kinds[name](strategy, notes, records)
    if pages is None:
        return described
    described.table = pages
    option = table(component.get("page_token_option"))
    if text_of(option.get("type")) != "RequestPath" and pages["kind"] != "link":
        _add_option(option, "position_parameter", fill, described, notes)
    _add_size(component, strategy, fill, described, notes)
    note_pages(notes, described.table)
    return described


def _by_page(
    strategy: Table, notes: LineNotes, _records: str
) -> dict[str, object] | None:
    first = text_of(strategy.get("start_from_page")) or "0"
    if first not in {"0", "1"}:
        notes.drop("pagination", Text("the first page has the number 0 or 1"))
        return None
    return {"kind": "page", "first": int(first)}


def _by_offset(
    _strategy: Table, _notes: LineNotes, _records: str
) -> dict[str, object] | None:
    return {"kind": "offset"}


def _by_cursor(
    strategy: Table, notes: LineNotes, records: str
) -> dict[str, object] | None:
    expression = parse_expression(text_of(strategy.get("cursor_value")))
    if expression is None:
        why = Text("the expression of its cursor is not one that is read here")
        notes.drop("pagination", why)
        return None
    if expression.root == "headers" and _is_link(expression):
        return {"kind": "link"}
    cursor = _cursor(expression, records)
    if not cursor:
        why = Text("the cursor is in the body of a response, or of its last record")
        notes.drop("pagination", why)
        return None
    more = _more(text_of(strategy.get("stop_condition")), notes, cursor)
    return {"kind": "cursor", "cursor": f"{more} && {cursor}" if more else cursor}


def _is_link(expression: Expression) -> bool:
    names = [str(step).lower() for step in expression.steps]
    return names[:2] == ["link", "next"]


def _cursor(expression: Expression, records: str) -> str:
    """Return the cursor of an expression as JMESPath, "" for another one."""
    if expression.root == "response":
        return expression.path
    within = "" if records == "@" else records
    if expression.root == "last_record":
        return f"{within}[-1].{expression.path}"
    if expression.root == "last_records" and expression.steps:
        return f"{within}{expression.path}"
    return ""


def _more(condition: str, notes: LineNotes, cursor: str) -> str:
    """Return a flag that the response has while there is another page."""
    if not condition:
        return ""
    match = _MORE.fullmatch(condition.strip())
    inner = next(filter(None, match.groups()), "") if match else ""
    expression = parse_expression(f"{{{{ {inner} }}}}") if inner else None
    if expression is not None and expression.root == "response":
        return "" if expression.path == cursor else expression.path
    why = Text("pages end where the cursor is empty, and not by an expression")
    notes.change("pagination", why)
    return ""


def _add_option(
    option: Table, key: str, fill: Fill, described: DescribedPages, notes: LineNotes
) -> None:
    """Set where requests have the position or the size of a page."""
    steps = option.get("field_path")
    path = steps if isinstance(steps, list) else [option.get("field_name")]
    names = [fill(step) or "" for step in path]
    place = text_of(option.get("inject_into"))
    if place == "request_parameter" and len(names) == 1 and names[0]:
        described.table[key] = names[0]
    elif place in _BODY_PLACES and all(names) and key == "position_parameter":
        nested: object = "{position}"
        for name in reversed(names[1:]):
            nested = {name: nested}
        described.body[names[0]] = nested
    elif place in _BODY_PLACES and len(names) == 1 and names[0]:
        described.body[names[0]] = described.table.get("size", 0)
    else:
        why = Text("the position and the size of pages are sent in query or body")
        notes.drop("pagination", why)


def _add_size(
    component: Table,
    strategy: Table,
    fill: Fill,
    described: DescribedPages,
    notes: LineNotes,
) -> None:
    size = fill(strategy.get("page_size")) or ""
    if size.isdecimal() and 0 < int(size[:6]) <= 10_000:
        described.table["size"] = int(size)
    elif size:
        notes.drop("pagination", Text("the page size is a number up to 10,000"))
    option = table(component.get("page_size_option"))
    if option and "size" in described.table:
        _add_option(option, "size_parameter", fill, described, notes)


# ── decoders ─────────────────────────────────────────────────────────────────────────


def read_decoder(component: Table, notes: LineNotes) -> dict[str, object]:
    """Return the format of responses as the table of a line."""
    settings: dict[str, object] = {}
    for _ in range(5):
        kind = text_of(component.get("type"))
        if kind in {"", "JsonDecoder", "JsonParser"}:
            return settings
        if kind in {"JsonlDecoder", "JsonLineParser"}:
            return settings | {"format": "jsonl"}
        if kind == "XmlDecoder":
            return settings | {"format": "xml"}
        if kind in {"CsvDecoder", "CsvParser"}:
            return settings | _csv(component)
        if kind in {"GzipDecoder", "GzipParser"}:
            settings["compression"] = "gzip"
        elif kind in {"ZipfileDecoder", "ZipfileParser"}:
            settings["compression"] = "zip"
        elif kind != "CompositeRawDecoder":
            break
        component = table(
            component.get("parser")
            or component.get("decoder")
            or component.get("inner_parser")
        )
    shown = names_text([text_of(component.get("type"))])
    notes.drop("response", Text("{kind} is code of its own", kind=shown))
    return {}


def _csv(component: Table) -> dict[str, object]:
    settings: dict[str, object] = {"format": "csv"}
    charset = text_of(component.get("encoding"))
    if charset.lower() not in {"", "utf-8", "utf8"}:
        settings["charset"] = charset
    delimiter = text_of(component.get("delimiter"))
    if delimiter not in {"", ","}:
        settings["delimiter"] = "tab" if delimiter in {"\t", "\\t"} else delimiter
    return settings
