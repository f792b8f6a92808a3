"""Streams of a declarative manifest: request, records, fields, parents and changes."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from urllib.parse import urlencode

from outkey.foundation.core.text import Text, counted
from outkey.importing.core.readers.line_notes import LineNotes, names_text
from outkey.importing.core.readers.manifests.airbyte_jobs import (
    DOWNLOAD,
    JobValues,
    read_job,
)
from outkey.importing.core.readers.manifests.airbyte_pages import (
    DescribedPages,
    read_decoder,
    read_paginator,
)
from outkey.importing.core.readers.manifests.airbyte_times import (
    Interval,
    read_interval,
)
from outkey.importing.core.readers.manifests.common import (
    DescribedLine,
    RecordRows,
    filled_document,
    note_keys,
)
from outkey.importing.core.readers.manifests.expressions import (
    Expression,
    ValueOf,
    fill,
    known,
    parse_expression,
)
from outkey.importing.core.readers.tree import Table, rows, table, text_of
from outkey.importing.core.seen import KeyAuth, SeenRequest
from outkey.sending.core.configuration.placeholders import is_secret_parameter
from outkey.sync.core.line.line import FieldMapping, Transform
from outkey.sync.core.suggest.names import Path, quoted_name

_SLICES = frozenset({"stream_partition", "stream_slice", "stream_interval"})
_STARTS = frozenset({"start_time", "start_date", "start"})
_ENDS = frozenset({"end_time", "end_date", "end"})
_SINCE = "{since}"
_UNTIL = "{until}"
_POSITION = "{position}"
_DATA_SOURCES = ("request_body_data", "request_body")


@dataclass(slots=True)
class Slices:
    """The placeholders of a line for the partitions and times of a stream."""

    by_name: dict[str, str] = field(default_factory=dict)
    for_each: dict[str, object] = field(default_factory=dict)
    interval: Interval | None = None

    def value_of(self, expression: Expression) -> str | None:
        """Return the placeholder of a line for an expression of a manifest."""
        if expression.root == "next_page_token":
            return _POSITION
        if expression.root not in _SLICES or not expression.steps:
            return None
        name = str(expression.steps[-1])
        if name in self.by_name:
            return self.by_name[name]
        if self.interval is None:
            return None
        if name in _STARTS | {self.interval.start_name}:
            return _SINCE
        return _UNTIL if name in _ENDS | {self.interval.end_name} else None


class StreamReader:
    """Reads one stream; `config` has the values that a user need not enter."""

    def __init__(
        self, notes: LineNotes, config: ValueOf, secrets: frozenset[str], base: str
    ) -> None:
        self._notes = notes
        self._base = base
        self._job = JobValues()
        self._config = config
        self._secrets = secrets
        self._slices = Slices()
        self._parameters: dict[str, str] = {}
        self._credentials: list[KeyAuth] = []
        self._rows = RecordRows(notes)
        self._query: dict[str, str] = {}
        self._settings: dict[str, object] = {}  # of the line

    def parent_configs(self, component: Table) -> Iterator[Table]:
        """Yield how a stream depends on the records of another one."""
        for router in self._routers(component):
            if text_of(router.get("type")) == "SubstreamPartitionRouter":
                yield from rows(router.get("parent_stream_configs"))

    def _routers(self, component: Table) -> list[Table]:
        router = table(component.get("retriever")).get("partition_router")
        return list(rows(router)) if isinstance(router, list) else [table(router)]

    def read(self, component: Table, parent: DescribedLine | None) -> DescribedLine:
        """Return a stream as a request, with the settings of a line if it has a key."""
        self._parameters = {
            name: text_of(value)
            for name, value in table(component.get("$parameters")).items()
        }
        retriever = table(component.get("retriever"))
        name = text_of(component.get("name"))
        is_job = text_of(retriever.get("type")) == "AsyncRetriever"
        requester = table(
            retriever.get("download_requester" if is_job else "requester")
        )
        self._read_records(component, parent)
        pages = self._read_response(retriever)
        url = self._read_request(requester, pages)
        if is_job:
            url = self._read_job(retriever, url)
        self._read_interval()
        if self._query:
            self._settings["query"] = self._query
        keys = self._keys(component)
        self._settings |= {"keys": keys, "fields": self._rows.tables()}
        is_line = keys and (not is_job or "job" in self._settings)
        request = SeenRequest(
            url,
            text_of(requester.get("http_method")).upper() or "GET",
            headers=self._headers(requester),
            auth=tuple(self._credentials),
            name=name,
            sync=self._settings if is_line else None,
            pagination=pages.table,
            place=name,
        )
        return DescribedLine(request, self._rows)

    def _read_records(self, component: Table, parent: DescribedLine | None) -> None:
        """Take the fields of the records, their parents, and how they change."""
        self._rows.read_schema(self._schema(component))
        self._read_routers(component, parent)
        self._slices.interval = read_interval(
            table(component.get("incremental_sync")), self._fill, self._notes
        )
        self._read_transformations(component)

    def _read_request(self, requester: Table, pages: DescribedPages) -> str:
        """Take the parameters and the body of requests; return their URL."""
        self._read_query(requester, self._query)
        if body := self._body(requester, pages.body):
            self._settings["body"] = body
        return self._url(requester)

    def _read_response(self, retriever: Table) -> DescribedPages:
        """Take the format of responses, and where they have records and pages."""
        records = self._records(table(retriever.get("record_selector")))
        self._settings["records"] = records
        paginator = table(retriever.get("paginator"))
        pages = read_paginator(paginator, self._fill, self._notes, records)
        if pages.table:
            self._settings["pagination"] = pages.table
        if response := read_decoder(_decoder(retriever), self._notes):
            self._settings["response"] = response
        return pages

    # ── texts ───────────────────────────────────────────────────────────────────────

    def _fill(self, value: object) -> str | None:
        """Return a text with its expressions as placeholders; None if one is not."""
        return fill(text_of(value), known(self._parameters, self._value_of))

    def _value_of(self, expression: Expression) -> str | None:
        for values in (self._slices, self._job):
            value = values.value_of(expression)
            if value is not None:
                return value
        return self._config(expression)

    def _read_job(self, retriever: Table, url: str) -> str:
        """Take a job that is ordered; return the URL of what it makes."""
        body = self._body(table(retriever.get("creation_requester")), {})
        job = read_job(retriever, self._job, self._job_path, body, self._notes)
        if job is not None:
            self._settings["job"] = job
        if DOWNLOAD not in url and job is not None:
            job.pop("url", None)  # the line has a path to download from
        return self._base if DOWNLOAD in url or not url else url

    def _job_path(self, requester: Table) -> str:
        """Return the path of a request of a job, below the Base URL."""
        path = self._url(requester)
        query: dict[str, str] = {}
        self._read_query(requester, query)
        pairs = urlencode(query, safe="{}")
        if not path.startswith(self._base):
            self._notes.drop("job", Text("a request of it is at another URL"))
            return ""
        return path.removeprefix(self._base) + (f"?{pairs}" if pairs else "")

    def _url(self, requester: Table) -> str:
        """Return the URL of the requests."""
        base = self._fill(requester.get("url_base") or requester.get("url")) or ""
        path = self._fill(requester.get("path"))
        if path is None:
            why = Text("an expression of the path is not one that is read here")
            self._notes.drop("path", why)
        base = base.rstrip("/")
        return f"{base}/{path.lstrip('/')}" if path else base

    def _headers(self, requester: Table) -> list[tuple[str, str]]:
        headers = []
        for name, value in table(requester.get("request_headers")).items():
            filled = self._fill(value)
            if filled is None:
                self._drop_expression("request_headers", name)
            else:
                headers.append((name, filled))
        return headers

    def _drop_expression(self, setting: str, name: str) -> None:
        why = Text(
            "{name}: its expression is not one that is read here",
            name=names_text([name]),
        )
        self._notes.drop(setting, why)

    def _read_query(self, requester: Table, query: dict[str, str]) -> None:
        """Take the parameters of every request, and that of changes."""
        for name, value in table(requester.get("request_parameters")).items():
            filled = self._fill(value)
            interval = self._slices.interval
            if filled is None:
                self._drop_expression("query", name)
            elif filled == _SINCE and interval is not None:
                interval.parameter = name
            elif filled == _UNTIL and interval is not None:
                interval.end_parameter = name
            elif filled == _POSITION:
                continue  # the paginator has its parameter
            elif self._is_secret(value) or is_secret_parameter(name):
                self._credentials.append(KeyAuth(name, filled, "query"))
            elif "{{" in filled:
                why = Text("{name}: enter its value", name=names_text([name]))
                self._notes.drop("query", why)
            elif filled:
                query[name] = filled

    def _is_secret(self, value: object) -> bool:
        """Whether a text is a secret that a user enters."""
        expression = parse_expression(text_of(value))
        return (
            expression is not None
            and expression.root == "config"
            and expression.name in self._secrets
        )

    def _body(self, requester: Table, position: Mapping[str, object]) -> str:
        """Return the JSON body of the requests, with the placeholders of a line."""
        for key in _DATA_SOURCES:
            if requester.get(key):
                why = Text("a line sends JSON in its body, and no form")
                self._notes.drop("body", why)
        body = requester.get("request_body_json")
        graphql = requester.get("request_body_graphql")
        document = dict(table(body if body is not None else graphql))
        if not document and not position:
            return ""
        filled = table(filled_document(document, self._fill_text))
        return json.dumps({**filled, **position})

    def _fill_text(self, text: str) -> object:
        """Return the value of a text in a body."""
        filled = self._fill(text)
        if filled is None or "{{" in filled:
            self._drop_expression("body", "body")
            return None
        return _typed(filled) if filled == text else filled

    # ── records, keys and fields ────────────────────────────────────────────────────

    def _schema(self, component: Table) -> Table:
        loader = component.get("schema_loader")
        loaders = list(rows(loader)) if isinstance(loader, list) else [table(loader)]
        for part in loaders:
            if schema := table(part.get("schema")):
                return schema
        return {}

    def _records(self, selector: Table) -> str:
        """Return where the records are, as JMESPath."""
        if selector.get("record_filter"):
            why = Text("records are filtered by an expression: all of them are taken")
            self._notes.drop("record_filter", why)
        extractor = table(selector.get("extractor"))
        kind = text_of(extractor.get("type")) or "DpathExtractor"
        if kind != "DpathExtractor":
            why = Text("{kind} is code of its own", kind=names_text([kind]))
            self._notes.drop("records", why)
            return "@"
        steps = extractor.get("field_path")
        expression = ""
        for step in map(self._fill, steps if isinstance(steps, list) else []):
            if step is None:
                self._drop_expression("records", "field_path")
            elif step in {"*", "**"}:
                expression += "[]"
            else:
                dot = "." if expression else ""
                expression += f"{dot}{quoted_name(step)}"
        expression = expression or "@"
        self._notes.take_records(expression)
        return expression

    def _keys(self, component: Table) -> list[str]:
        """Return the columns of the key."""
        stated = component.get("primary_key")
        parts = stated if isinstance(stated, list) else [stated]
        keys = []
        for part in parts:
            steps = part if isinstance(part, list) else [part]
            filled = [self._fill(step) for step in steps if step]
            path: Path = tuple(step for step in filled if step)
            if path:
                keys.append(self._rows.host_of(path))
        note_keys(self._notes, keys)
        return keys

    def _read_transformations(self, component: Table) -> None:
        """Take fields that are added and removed."""
        for part in rows(component.get("transformations")):
            kind = text_of(part.get("type"))
            if kind == "RemoveFields":
                for pointer in lists(part.get("field_pointers")):
                    self._rows.remove(tuple(map(text_of, pointer)))
            elif kind == "AddFields":
                for added in rows(part.get("fields")):
                    self._add_field(added)
            else:
                why = Text(
                    "{kind} changes records while they are read",
                    kind=names_text([kind]),
                )
                self._notes.drop("transformations", why)

    def _add_field(self, added: Table) -> None:
        """Take a field of the parent, of the record itself, or with one value."""
        steps = added.get("path")
        host = text_of(steps[-1]) if isinstance(steps, list) and steps else ""
        text = text_of(added.get("value"))
        expression = parse_expression(text)
        if expression is not None and expression.root == "record":
            self._rows.add(FieldMapping(expression.path, host))
            return
        filled = self._fill(text)
        is_parent = filled is not None and filled.startswith("{parent.")
        if filled and is_parent and filled.endswith("}") and filled.count("{") == 1:
            self._rows.add(FieldMapping(f"${filled[1:-1]}", host))
        elif filled and "{" not in filled:
            constant = FieldMapping(
                "", host, Transform.CONSTANT, options={"value": filled}
            )
            self._rows.add(constant)
        else:
            self._drop_expression("fields", host)

    # ── parents ─────────────────────────────────────────────────────────────────────

    def _read_routers(self, component: Table, parent: DescribedLine | None) -> None:
        """Take the partitions of a stream: the records of another one, or a list."""
        routers = [router for router in self._routers(component) if router]
        if len(routers) > 1:
            why = Text("a line has one list of parents: the first one was taken")
            self._notes.drop("for_each", why)
        for router in routers[:1]:
            kind = text_of(router.get("type"))
            if kind == "SubstreamPartitionRouter" and parent is not None:
                self._read_parent(router, parent)
            elif kind == "ListPartitionRouter":
                self._read_values(router)
            else:
                why = Text("{kind} has no setting here", kind=names_text([kind]))
                self._notes.drop("for_each", why)

    def _read_parent(self, router: Table, parent: DescribedLine) -> None:
        configs = list(rows(router.get("parent_stream_configs")))
        if len(configs) != 1:
            why = Text("a line has the records of one other line as parents")
            self._notes.drop("for_each", why)
        config = configs[-1]
        path = tuple((self._fill(config.get("parent_key")) or "").split("."))
        placeholder = f"{{parent.{parent.column_of(path)}}}"
        name = self._fill(config.get("partition_field")) or ""
        self._slices.by_name[name] = placeholder
        for_each: dict[str, object] = {"line": parent.request.place}
        if text_of(config.get("incremental_dependency")) == "true":
            for_each["only"] = "changed"
        self._add_option(config, placeholder)
        self._settings["for_each"] = for_each
        self._notes.take_names("for_each", parent.request.name)

    def _read_values(self, router: Table) -> None:
        values = router.get("values")
        if not isinstance(values, list):
            why = Text("its values are those of a user: enter them")
            self._notes.drop("for_each", why)
            return
        name = self._fill(router.get("cursor_field")) or ""
        self._slices.by_name[name] = "{parent.value}"
        self._add_option(router, "{parent.value}")
        self._settings["for_each"] = {"values": [text_of(value) for value in values]}
        count = len(values)
        why = counted(count, Text("1 value"), Text("{count} values", count=count))
        self._notes.take("for_each", why)

    def _add_option(self, component: Table, placeholder: str) -> None:
        """Send a value of a parent as a parameter, where the manifest does."""
        option = table(component.get("request_option"))
        if not option:
            return
        name = self._fill(option.get("field_name")) or ""
        if text_of(option.get("inject_into")) == "request_parameter" and name:
            self._query[name] = placeholder
        else:
            self._notes.drop("for_each", Text("it is sent in the path or the query"))

    # ── changes ─────────────────────────────────────────────────────────────────────

    def _read_interval(self) -> None:
        interval = self._slices.interval
        if interval is None:
            return
        path = tuple(interval.cursor.split("."))
        transform = Transform.NUMBER if interval.is_number else Transform.DATETIME
        self._rows.host_of(path, transform)
        bodies = f"{self._settings.get('body')} {self._settings.get('job')}"
        if not interval.parameter and _SINCE not in bodies:
            why = Text("no request has the time since when changes are wanted")
            self._notes.drop("incremental", why)
            return
        incremental = interval.table()
        self._settings["incremental"] = incremental
        names = [
            str(incremental[name])
            for name in ("parameter", "field", "end_parameter")
            if name in incremental
        ]
        self._notes.take_names("incremental", *names)


def lists(value: object) -> Iterator[list[object]]:
    """Yield the lists of a list."""
    if isinstance(value, list):
        for part in value:
            if isinstance(part, list):
                yield part


def _decoder(retriever: Table) -> Table:
    """Return the decoder of what has the records."""
    return table(retriever.get("download_decoder") or retriever.get("decoder"))


def _typed(text: str) -> object:
    """Return a scalar of YAML as JSON has it."""
    if text in {"true", "false"}:
        return text == "true"
    return int(text) if text.isdecimal() and len(text) < 16 else text
