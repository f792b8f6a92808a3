"""Resources of dlt's `rest_api`: request, pages, changes, parents, keys and fields."""

import json
import re
from collections.abc import Mapping
from itertools import islice

from outkey.foundation.core.findings.checks import Level
from outkey.foundation.core.paging_words import MAX_RECORDS, SIZES
from outkey.foundation.core.text import Text
from outkey.importing.core.readers.line_notes import LineNotes, names_text
from outkey.importing.core.readers.manifests.common import (
    DescribedLine,
    RecordRows,
    filled_document,
    minutes_text,
    moment,
    note_keys,
    note_pages,
)
from outkey.importing.core.readers.record_fields import note_cut
from outkey.importing.core.readers.tree import Table, rows, table, text_of
from outkey.importing.core.seen import KeyAuth, SeenRequest
from outkey.sending.core.configuration.placeholders import (
    is_secret_parameter,
    is_secret_value,
)
from outkey.sync.core.line.line import PARENT, FieldMapping, Transform
from outkey.sync.core.suggest.fields import MAX_FIELDS
from outkey.sync.core.suggest.names import quoted_name

_OF_PARENT = re.compile(r"\{resources\.([A-Za-z_]\w{0,80})\.([\w.]{1,200})\}")
_OF_CHANGES = re.compile(r"\{incremental\.(start_value|last_value|end_value)\}")
_JSONPATH = re.compile(r"(?:\$\.?)?((?:[A-Za-z_@][\w@-]*|\[\*\]|\['[^']+'\]|\*|\.)*)")
_STEP = re.compile(r"\[\*\]|\*|\['([^']+)'\]|([A-Za-z_@][\w@-]*)")
_KINDS = {
    "text": Transform.TEXT,
    "bigint": Transform.NUMBER,
    "double": Transform.DECIMAL,
    "decimal": Transform.DECIMAL,
    "wei": Transform.DECIMAL,
    "timestamp": Transform.DATETIME,
    "date": Transform.DATE,
    "bool": Transform.BOOLEAN,
    "time": Transform.TEXT,
}
_ALIASES = {
    "json_response": "json_link",
    "json_response_cursor": "cursor",
    "json_cursor": "cursor",
}
_CODE = ("processing_steps", "data", "response_actions")


def parent_names(component: Table) -> list[str]:
    """Return the names of the resources whose records a resource needs."""
    endpoint = table(component.get("endpoint"))
    names = [
        text_of(table(value).get("resource"))
        for value in table(endpoint.get("params")).values()
        if table(value).get("type") == "resolve"
    ]
    texts = json.dumps(
        [endpoint.get(key) for key in ("path", "params", "json", "headers")]
    )
    names += [name for name, _ in _OF_PARENT.findall(texts)]
    return list(dict.fromkeys(filter(None, names)))


class ResourceReader:
    """Reads one resource, given the client and its parent."""

    def __init__(
        self, notes: LineNotes, client: Table, parent: DescribedLine | None
    ) -> None:
        self._notes = notes
        self._client = client
        self._parent = parent
        self._rows = RecordRows(notes)
        self._incremental: dict[str, object] = {}
        self._credentials: list[KeyAuth] = []

    def read(self, component: Table) -> DescribedLine:
        """Return a resource as a request; one with a key has the settings of a line."""
        endpoint = table(component.get("endpoint"))
        name = text_of(component.get("name"))
        self._note_unread(component, endpoint)
        self._read_columns(component)
        settings: dict[str, object] = {
            "records": self._records(text_of(endpoint.get("data_selector")))
        }
        self._read_incremental(table(endpoint.get("incremental")), "")
        path, query = self._path_and_query(endpoint, name)
        pagination, body = self._pages(endpoint, query)
        document = endpoint.get("json")
        if document or body:
            filled = filled_document(document or {}, self._fill_text)
            settings["body"] = json.dumps({**table(filled), **body})
        if self._parent is not None:
            settings["for_each"] = {"line": self._parent.request.place}
            self._notes.take_names("for_each", self._parent.request.name)
            self._include(component, self._parent)
        keys = self._keys(component)
        parts: dict[str, object] = {
            "query": query,
            "pagination": pagination,
            "incremental": self._changes(text_of(settings.get("body"))),
        }
        settings |= {key: part for key, part in parts.items() if part}
        settings |= {"keys": keys, "fields": self._rows.tables()}
        request = SeenRequest(
            self._url(path),
            text_of(endpoint.get("method")).upper() or "GET",
            headers=self._headers(endpoint),
            auth=tuple(self._credentials),
            name=name,
            sync=settings if keys else None,
            pagination=pagination,
            place=name,
        )
        return DescribedLine(request, self._rows)

    def _note_unread(self, component: Table, endpoint: Table) -> None:
        """Note what a line does not have."""
        for key in _CODE:
            if component.get(key) or endpoint.get(key):
                self._notes.drop(key, Text("it is code, or decided while it is read"))
        if text_of(component.get("write_disposition")) == "replace":
            why = Text("records that are missing upstream stay in the table")
            self._notes.change("write_disposition", why)

    def _path_and_query(self, endpoint: Table, name: str) -> tuple[str, dict[str, str]]:
        """Return where requests go; values of the parent are in the path or behind."""
        query, variables = self._query(table(endpoint.get("params")))
        path = text_of(endpoint.get("path")) or name
        for variable, placeholder in variables.items():
            if f"{{{variable}}}" in path:
                path = path.replace(f"{{{variable}}}", placeholder)
            else:
                query[variable] = placeholder
        return path, query

    def _url(self, path: str) -> str:
        """Return the URL of a path, which may be a URL itself."""
        path = self._text(path)
        if "://" in path:
            return path
        base = text_of(self._client.get("base_url")).rstrip("/")
        return f"{base}/{path.lstrip('/')}"

    # ── texts ───────────────────────────────────────────────────────────────────────

    def _text(self, text: str) -> str:
        """Return a text with the placeholders of a line."""

        def of_parent(match: re.Match[str]) -> str:
            return self._placeholder(match[2])

        def of_changes(match: re.Match[str]) -> str:
            return "{until}" if match[1] == "end_value" else "{since}"

        return _OF_CHANGES.sub(of_changes, _OF_PARENT.sub(of_parent, text))

    def _placeholder(self, field: str) -> str:
        """Return the placeholder of a field of the parent, which is mapped there."""
        if self._parent is None:
            return "{parent.value}"
        column = self._parent.column_of(tuple(field.split(".")))
        return f"{{parent.{column}}}"

    def _headers(self, endpoint: Table) -> list[tuple[str, str]]:
        both = {**table(self._client.get("headers")), **table(endpoint.get("headers"))}
        return [(name, text_of(value)) for name, value in both.items()]

    def _fill_text(self, text: str) -> str | None:
        """Return a text in a body with placeholders; None for a user's own value."""
        if "{{" in text:
            self._drop_value("body", "body")
            return None
        return self._text(text)

    def _drop_value(self, setting: str, name: str) -> None:
        why = Text("{name}: enter its value", name=names_text([name]))
        self._notes.drop(setting, why)

    def _query(self, params: Table) -> tuple[dict[str, str], dict[str, str]]:
        """Return the parameters of every request, and those of the parent by name."""
        query: dict[str, str] = {}
        variables: dict[str, str] = {}
        for name, value in params.items():
            kind = text_of(table(value).get("type"))
            text = self._text(text_of(value))
            if kind == "resolve":
                variables[name] = self._placeholder(text_of(table(value).get("field")))
            elif kind == "incremental":
                self._read_incremental(table(value), name)
            elif isinstance(value, dict | list):
                self._notes.drop(
                    "query", Text("{name} is not a text", name=names_text([name]))
                )
            elif text in {"{since}", "{until}"}:
                key = "parameter" if text == "{since}" else "end_parameter"
                self._incremental[key] = name
            elif is_secret_parameter(name) or is_secret_value(text):
                self._credentials.append(KeyAuth(name, text, "query"))
            elif "{{" in text:
                self._drop_value("query", name)
            elif text:
                query[name] = text
        return query, variables

    # ── records, keys and fields ────────────────────────────────────────────────────

    def _records(self, selector: str) -> str:
        """Return where the records are, as JMESPath."""
        if not selector:
            why = Text("dlt finds the list itself: the response is taken for it")
            self._notes.drop("records", why)
            return "@"
        expression = jmespath_of(selector.removesuffix("[*]"))
        if expression is None:
            why = Text("its selector is not one that is read here")
            self._notes.drop("records", why)
            return "@"
        self._notes.take_records(expression)
        return expression

    def _read_columns(self, component: Table) -> None:
        """Take the fields that the resource states."""
        stated = component.get("columns")
        columns = {text_of(row.get("name")): row for row in rows(stated)}
        columns |= {name: table(row) for name, row in table(stated).items()}
        if len(columns) > MAX_FIELDS:
            columns = dict(islice(columns.items(), MAX_FIELDS))
            note_cut(self._notes)
        for name, row in columns.items():
            transform = _KINDS.get(text_of(row.get("data_type")), Transform.AS_IS)
            if name:
                self._rows.host_of((name,), transform)
        if columns:
            why = Text("{count} by their types", count=len(columns))
            self._notes.take("fields", why)
        else:
            self._rows.note_unstated()

    def _keys(self, component: Table) -> list[str]:
        stated = component.get("primary_key")
        names = stated if isinstance(stated, list) else [stated]
        keys = [self._rows.host_of((text_of(name),)) for name in names if name]
        note_keys(self._notes, keys)
        return keys

    def _include(self, component: Table, parent: DescribedLine) -> None:
        """Take the fields of the parent that each record gets."""
        included = component.get("include_from_parent")
        for field in included if isinstance(included, list) else []:
            column = parent.column_of(tuple(text_of(field).split(".")))
            host = f"{parent.request.name}_{column}"
            self._rows.add(FieldMapping(PARENT + column, host))

    # ── changes ─────────────────────────────────────────────────────────────────────

    def _read_incremental(self, component: Table, parameter: str) -> None:
        """Take how changes are requested: of an endpoint, or of one parameter."""
        if not component:
            return
        start = component.get("initial_value")
        self._incremental |= {
            "field": jmespath_of(text_of(component.get("cursor_path"))) or "",
            "parameter": parameter or text_of(component.get("start_param")),
            "end_parameter": text_of(component.get("end_param")),
        }
        if isinstance(start, int) and not isinstance(start, bool):
            self._incremental |= {"format": "unix", "start": moment(str(start), "%s")}
        elif text_of(start):
            self._incremental["start"] = moment(text_of(start))
            if not self._incremental["start"]:
                why = Text("it is not a time that can be read here")
                self._notes.drop("incremental.start", why)
        lag = text_of(component.get("lag"))
        if lag.replace(".", "", 1).isdecimal():
            self._incremental["lookback"] = minutes_text(-(-int(float(lag)) // 60))
        if component.get("convert") or component.get("transform"):
            why = Text("a function writes the time: choose its format")
            self._notes.drop("incremental.format", why)
        if component.get("end_value"):
            why = Text("a run asks for everything until it begins")
            self._notes.drop("incremental", why, Level.NOTICE)

    def _changes(self, body: str) -> dict[str, object]:
        """Return the table of a line for changes."""
        changes = {name: value for name, value in self._incremental.items() if value}
        if not changes:
            self._notes.leave("incremental", Text("every run reads all records"))
            return {}
        if "parameter" not in changes and "{since}" not in body:
            why = Text("no request has the time since when changes are wanted")
            self._notes.drop("incremental", why)
            return {}
        if "field" in changes:
            is_number = changes.get("format") == "unix"
            transform = Transform.NUMBER if is_number else Transform.DATETIME
            self._rows.host_of(tuple(str(changes["field"]).split(".")), transform)
        names = [str(changes[n]) for n in ("parameter", "field") if n in changes]
        self._notes.take_names("incremental", *names)
        return changes

    # ── pages ───────────────────────────────────────────────────────────────────────

    def _pages(
        self, endpoint: Table, query: dict[str, str]
    ) -> tuple[dict[str, object], dict[str, object]]:
        """Return how pages are requested, and what the body has of them."""
        value = endpoint.get("paginator") or self._client.get("paginator")
        settings: Mapping[str, object] = (
            {"type": value} if isinstance(value, str) else table(value)
        )
        kind = text_of(settings.get("type"))
        kind = _ALIASES.get(kind, kind)
        body: dict[str, object] = {}
        if kind == "single_page":
            self._notes.leave("pagination", Text("one response has all records"))
            return {}, body
        if kind in {"", "auto"}:
            why = Text("dlt finds it while it reads: `outkey line suggest` does too")
            self._notes.drop("pagination", why)
            return {}, body
        pages = _PAGINATORS[kind](settings) if kind in _PAGINATORS else {}
        if not pages or pages.get("cursor") == "":
            why = Text("{kind} has no setting here", kind=names_text([kind]))
            self._notes.drop("pagination", why)
            return {}, body
        if kind == "cursor" and (place := text_of(settings.get("cursor_body_path"))):
            del pages["position_parameter"]
            body[place] = "{position}"
        self._take_size(pages, query)
        note_pages(self._notes, pages)
        return pages, body

    def _take_size(self, pages: dict[str, object], query: dict[str, str]) -> None:
        """Take the page size that the parameters of every request have."""
        for name in [name for name in query if name.lower() in SIZES]:
            size = _size(query[name])
            if size and pages.get("size_parameter", name) == name:
                pages |= {"size_parameter": name, "size": size}
                del query[name]


def _json_link(settings: Table) -> dict[str, object]:
    path = text_of(settings.get("next_url_path")) or "next"
    return {"kind": "cursor", "cursor": jmespath_of(path) or ""}


def _header_link(_settings: Table) -> dict[str, object]:
    return {"kind": "link"}


def _offset(settings: Table) -> dict[str, object]:
    return {
        "kind": "offset",
        "position_parameter": text_of(settings.get("offset_param")) or "offset",
        "size_parameter": text_of(settings.get("limit_param")) or "limit",
        "size": _size(settings.get("limit")) or 100,
    }


def _page_number(settings: Table) -> dict[str, object]:
    return {
        "kind": "page",
        "position_parameter": text_of(settings.get("page_param")) or "page",
        "first": 1 if text_of(settings.get("base_page")) == "1" else 0,
    }


def _cursor(settings: Table) -> dict[str, object]:
    path = text_of(settings.get("cursor_path")) or "cursors.next"
    return {
        "kind": "cursor",
        "cursor": jmespath_of(path) or "",
        "position_parameter": text_of(settings.get("cursor_param")) or "cursor",
    }


_PAGINATORS = {
    "json_link": _json_link,
    "header_link": _header_link,
    "offset": _offset,
    "page_number": _page_number,
    "cursor": _cursor,
}


def _size(value: object) -> int:
    """Return a page size that a line may have, else 0."""
    text = text_of(value)
    size = int(text) if text.isdecimal() and len(text) < 7 else 0
    return size if size <= MAX_RECORDS else 0


def jmespath_of(selector: str) -> str | None:
    """Return a JSONPath of names as JMESPath, None for another one."""
    match = _JSONPATH.fullmatch(selector[:500])
    if match is None:
        return None
    expression = ""
    for step in _STEP.finditer(match[1]):
        if step[0] in {"[*]", "*"}:
            expression += "[]"
        else:
            dot = "." if expression else ""
            expression += f"{dot}{quoted_name(step[1] or step[2])}"
    return expression or "@"
