"""An API in memory that responds as an OpenAPI document describes it, and its lines.

It has its own reading of documents: of the names of parameters and members, and of
schemas. What the import understands differently shows in the records that arrive.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from outkey.foundation.adapters.paths_jmespath import JmespathCompiler
from outkey.foundation.adapters.states_memory import MemoryStateRows
from outkey.importing.core.reading import Import
from outkey.sending.adapters.secrets.secrets_reference import ReferencedSecrets
from outkey.sending.core.request.message import Request, Response, ResponseHeaders
from outkey.sync.adapters.calendar_cronsim import CronCalendar
from outkey.sync.adapters.files.store import FileStore
from outkey.sync.adapters.tables.databases import NamedDatabases
from outkey.sync.adapters.tables.sqlite_files import SqliteFiles
from outkey.sync.adapters.tables.store import TableStore
from outkey.sync.core.databases.section import OtherDatabase
from outkey.sync.core.line.line import SyncLine
from outkey.sync.core.run.run import Run
from outkey.sync.engine.runs.line_plan import SyncPorts
from outkey.sync.engine.runs.runner import SyncRunner
from outkey.testing import configuration, fake_gateway
from outkey.testing.fakes.storage import memory_registry
from outkey.testing.fakes.sync import MemorySync

RECORDS = 7
USUAL_PAGE = 3  # where a document states no size
MAX_LEVELS = 8
LAST_CHANGE = "2026-01-0{number}T00:00:00Z"
NEXT = re.compile(r"(.*\.)?next.*|(after_?|end_?)?cursor|after", re.IGNORECASE)
MORE = re.compile(r"has_?(more|next).*|more", re.IGNORECASE)
PAGE = re.compile(
    r"_?page(_?(number|no|index))?|page\[number\]|currentpage|p", re.IGNORECASE
)
OFFSET = re.compile(
    r"\$?skip|_?start(_?(index|at))?|offset|page\[offset\]|from", re.IGNORECASE
)
SIZE = re.compile(
    r"\$?top|_?limit|per_?page|page_?size|count|size|max_?results|rows|first"
    r"|page\[(size|limit)\]|items_per_page",
    re.IGNORECASE,
)
CURSOR = re.compile(
    r"(page\[)?(start_)?(cursor|after)\]?|starting_after|(page_|next_)?token|pagetoken"
    r"|continuation_?token|page_cursor|bookmark",
    re.IGNORECASE,
)
SINCE = re.compile(
    r"since|.*(updat|modif|chang).*(since|after|from|gte?|min)\]?", re.IGNORECASE
)
CHANGED = re.compile(r"(date_?)?(last_?)?(updat|modif|chang)\w*", re.IGNORECASE)


@dataclass
class DescribedApi:
    """Responds to each GET with seven records in pages, as the document states."""

    document: dict[str, Any]
    requests: list[str] = field(default_factory=list)

    def __call__(self, request: Request) -> Response:
        self.requests.append(request.target)
        url = urlsplit(request.target)
        query = {name: values[-1] for name, values in parse_qs(url.query).items()}
        for template, item in self.document["paths"].items():
            pattern = re.sub(r"\\{[^{}]+\\}", "([^/]+)", re.escape(template))
            match = re.fullmatch(f".*?{pattern}", url.path)
            if match and "get" in item:
                above = "-".join(map(unquote, match.groups()))
                return self.respond(item, above, url.path, query)
        return Response(404, ResponseHeaders(()), b"{}")

    def respond(
        self, item: dict[str, Any], above: str, path: str, query: dict[str, str]
    ) -> Response:
        operation = item["get"]
        parameters = [*item.get("parameters", []), *operation.get("parameters", [])]
        named = {
            p["name"]: p for p in map(self.follow, parameters) if p["in"] == "query"
        }
        missing = [n for n, p in named.items() if p.get("required") and n not in query]
        if missing:
            return Response(400, ResponseHeaders(()), b'{"missing": true}')
        response = self.follow(operation["responses"].get("200", {}))
        schema = response.get("schema") or next(
            media["schema"]
            for kind, media in response["content"].items()
            if "json" in kind
        )
        paging = Paging(self, named, query, path)
        body = self.value(schema, "", paging=paging)
        fill_numbers(body, above, paging.start)
        headers = paging.headers() if "Link" in response.get("headers", {}) else ()
        return Response(200, ResponseHeaders(headers), json.dumps(body).encode())

    # ── schemas ─────────────────────────────────────────────────────────────────────

    def follow(self, value: Any) -> dict[str, Any]:  # noqa: ANN401 - of JSON
        while "$ref" in value:
            node: Any = self.document
            for part in value["$ref"].removeprefix("#/").split("/"):
                node = node[part.replace("~1", "/").replace("~0", "~")]
            value = node
        merged = dict(value)
        for key in ("oneOf", "anyOf"):
            options = [o for o in value.get(key, ()) if o.get("type") != "null"]
            parts = [self.follow(option) for option in options]
            merged |= parts[0] if parts else {}
            for part in parts:  # a record that has the fields of all of them
                inner = {**part.get("properties", {}), **merged.get("properties", {})}
                merged |= {"properties": inner} if inner else {}
        for part in map(self.follow, value.get("allOf", ())):
            inner = {**merged.get("properties", {}), **part.get("properties", {})}
            merged = {**part, **merged, "properties": inner}
        return merged

    def value(
        self,
        schema: Any,  # noqa: ANN401 - of JSON
        name: str,
        paging: "Paging | None" = None,
        level: int = 0,
    ) -> Any:  # noqa: ANN401 - of JSON
        schema = self.follow(schema)
        kinds = schema.get("type", "object" if "properties" in schema else "")
        kind = (
            next((k for k in kinds if k != "null"), "")
            if isinstance(kinds, list)
            else kinds
        )
        if kind == "array" or "items" in schema:
            items = self.follow(schema.get("items", {}))
            is_list = "properties" in items
            count = (
                paging.count(self) if paging and is_list else int(level < MAX_LEVELS)
            )
            return [self.value(items, "", level=level + 1) for _ in range(count)]
        if kind == "object":
            if level > MAX_LEVELS:
                return {}
            return {
                key: self.value(part, key, paging, level + 1)
                for key, part in schema.get("properties", {}).items()
                if not self.follow(part).get("writeOnly")
            }
        if paging is not None:
            found = paging.member(name, schema, kind)
            if found is not None:
                return found[0]
        return self.scalar(schema, name, kind)

    def scalar(self, schema: dict[str, Any], name: str, kind: str) -> Any:  # noqa: ANN401
        if "enum" in schema:
            return schema["enum"][0]
        stated = schema.get("format", "")
        if CHANGED.fullmatch(name) and kind == "integer":
            return UnixTime()
        texts = {
            "date-time": ChangedAt()
            if CHANGED.fullmatch(name)
            else "2026-01-01T12:00:00Z",
            "date": "2026-01-01",
            "decimal": "12.50",
            "uri": "https://acme.example/x",
        }
        values = {"integer": Number(), "number": 1.5, "boolean": True}
        return values.get(kind, texts.get(stated, Numbered(name or "text")))


class Number(int):
    """Becomes the number of its record."""


class UnixTime(int):
    """Becomes the time of the last change of its record."""


class ChangedAt(str):
    """Becomes the time of the last change of its record."""

    __slots__ = ()


class Numbered(str):
    """A text that gets the number of its record behind it."""

    __slots__ = ()


def fill_numbers(value: Any, above: str, start: int) -> None:  # noqa: ANN401 - of JSON
    """Give the records of each list their numbers."""
    if isinstance(value, dict):
        for part in value.values():
            fill_numbers(part, above, start)
    elif isinstance(value, list):
        for number, record in enumerate(value, start=start + 1):
            fill_record(record, above, number)


def fill_record(value: Any, above: str, number: int) -> Any:  # noqa: ANN401 - of JSON
    """Return a value of a record with its number."""
    if isinstance(value, dict):
        for name, part in value.items():
            value[name] = fill_record(part, above, number)
    elif isinstance(value, list):
        return [fill_record(part, above, number) for part in value]
    elif isinstance(value, UnixTime):
        return 1_767_225_600 + 86_400 * number
    elif isinstance(value, Number):
        return number
    elif isinstance(value, ChangedAt):
        return LAST_CHANGE.format(number=number)
    elif isinstance(value, Numbered):
        return f"{value}-{above}{number}"
    return value


@dataclass
class Paging:
    """Where a request is, by the parameters that the document names."""

    api: DescribedApi
    named: dict[str, Any]
    query: dict[str, str]
    path: str

    def stated(self, pattern: re.Pattern[str]) -> str:
        return next((name for name in self.named if pattern.fullmatch(name)), "")

    def schema(self, name: str) -> dict[str, Any]:
        parameter = self.named.get(name, {})
        return self.api.follow(parameter.get("schema", parameter))

    @property
    def size(self) -> int:
        name = self.stated(SIZE)
        if name in self.query:
            return min(int(self.query[name]), USUAL_PAGE)
        return USUAL_PAGE

    @property
    def is_paged(self) -> bool:
        patterns = (PAGE, OFFSET, CURSOR, SIZE)
        return any(map(self.stated, patterns))

    @property
    def start(self) -> int:
        """How many records are before this page."""
        skipped = self.skipped
        page, offset, cursor = map(self.stated, (PAGE, OFFSET, CURSOR))
        position = skipped
        if "at" in self.query:  # of the URL of a next page
            position = int(self.query["at"])
        elif page in self.query:
            schema = self.schema(page)
            first = schema.get("default", schema.get("minimum", 1))
            position = skipped + (int(self.query[page]) - int(first > 0)) * self.size
        elif offset in self.query:
            position = skipped + int(self.query[offset])
        elif cursor in self.query:
            digits = re.findall(r"\d+", self.query[cursor])
            position = int(digits[-1])
        return position

    @property
    def skipped(self) -> int:
        """How many records have not changed since the time of the request."""
        name = self.stated(SINCE)
        since = self.query.get(name, "")
        if not since:
            return 0
        if since.isdecimal():
            return (int(since) - 1_767_225_600) // 86_400 - 1
        return max(int(since[8:10]) - 1, 0)

    def count(self, _api: DescribedApi) -> int:
        rest = max(RECORDS - self.start, 0)
        return min(rest, self.size) if self.is_paged else rest

    @property
    def after(self) -> int | None:
        end = self.start + self.size
        return end if self.is_paged and end < RECORDS else None

    def next_url(self) -> str:
        return f"{self.path}?at={self.after}"

    def member(self, name: str, schema: dict[str, Any], kind: str) -> tuple[Any] | None:
        """Return the value of a member beside the records that is about the page."""
        if MORE.fullmatch(name) and kind == "boolean":
            return (self.after is not None,)
        if not NEXT.fullmatch(name) and name != "href":
            return None
        is_url = "ur" in schema.get("format", "") or re.search(
            "ur[il]|link|href", name.lower()
        )
        if self.after is None:
            return (None,)
        return (self.next_url() if is_url else f"c{self.after}",)

    def headers(self) -> tuple[tuple[str, str], ...]:
        if self.after is None:
            return ()
        return (("Link", f'<{self.next_url()}>; rel="next"'),)


# ── running ──────────────────────────────────────────────────────────────────────────


@dataclass
class Machine:
    """The lines of an import with their tables in a file of SQLite."""

    lines: list[SyncLine]
    runner: SyncRunner
    tables: TableStore

    def run(self, line: SyncLine) -> Run:
        *_, last = self.runner.run(line.name, "ada")
        return last

    def rows(self, line: SyncLine) -> list[dict[str, object]]:
        assert line.sync is not None
        found = self.tables.rows(line.sync.target, "", 1000)
        return [dict(row.values) for row in found]


def machine(imported: Import, api: DescribedApi, folder: Path) -> Machine:
    """Return the pulls of an import, to be run against an API."""
    settings = {"w": OtherDatabase("w", f"sqlite:///{folder / 'w.db'}")}
    made = configuration(authentication_type="none", no_auth_reason="public_api")
    lines = list(pulls(imported, made.name))
    world = fake_gateway(responses=api, registry=memory_registry([made], lines))
    memory = MemorySync(world.ports.configurations, {}, world.clock)
    named = NamedDatabases(
        lambda: settings, ReferencedSecrets().open_reference, SqliteFiles([folder])
    )
    states = MemoryStateRows()
    tables = TableStore(states, None, named, lambda run: memory.runs.get(run).line)
    ports = SyncPorts(
        world.sender,
        world.ports.configurations,
        memory.records,
        memory.runs,
        JmespathCompiler(),
        world.clock,
        CronCalendar(),
        memory.ledger,
        memory.parents,
        world.scripts,
    )
    ports = replace(ports, tables=tables, files=FileStore(folder / "files"))
    return Machine(lines, SyncRunner(ports), tables)


def pulls(imported: Import, owner: str) -> Iterator[SyncLine]:
    """Yield the pulls of an import, parents first, into another database."""
    for drafted in imported.lines:
        line = drafted.line
        if line.sync is not None:
            target = line.sync.target.replace("table:", "table:w.")
            sync = replace(line.sync, target=target)
            yield replace(line, configuration=owner, sync=sync)
