"""Postman collections 2.0 and 2.1, with their environments; scripts are never run."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from urllib.parse import urlencode

from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.text import Text
from outkey.importing.core.auth_types import Get, auth_of_kind, settings_getter
from outkey.importing.core.readers.collections import (
    CollectedRequest,
    group_requests,
    note_pre_request_script,
)
from outkey.importing.core.readers.tree import Table, rows, table, text_of
from outkey.importing.core.report import ImportReport
from outkey.importing.core.seen import Auth, SeenApi, SeenRequest
from outkey.importing.core.variables import Variables
from outkey.sending.core.configuration.placeholders import is_secret_variable

MAX_PATH_VARIABLES = 20


def is_environment(tree: Table) -> bool:
    """Whether a document is an environment or the globals of Postman."""
    return isinstance(tree.get("values"), list)


def read_postman(trees: Sequence[Table], report: ImportReport) -> list[SeenApi]:
    """Return the APIs of a collection; the other documents are its environments."""
    collection = next((tree for tree in trees if "item" in tree), None)
    if collection is None:
        raise ConfigError(
            Text("this is an environment without a collection"),
            hint=Text("Import both together: the collection and the environment."),
        )
    reader = PostmanReader(report, Variables())
    reader.add_variables(collection.get("variable"))
    for tree in trees:
        if is_environment(tree):
            reader.add_variables(tree.get("values"))
    name = text_of(table(collection.get("info")).get("name"))[:100]
    return group_requests(reader.requests(collection, ()), name, report)


def pairs_of(value: object) -> dict[str, str]:
    """Return the pairs of a list of keys and values that are switched on."""
    return {
        text_of(row.get("key") or row.get("id") or row.get("name")): text_of(
            row.get("value")
        )
        for row in rows(value)
        if row.get("enabled", True) and not row.get("disabled")
    }


@dataclass(slots=True)
class PostmanReader:
    """Reads the folders and requests of a collection."""

    report: ImportReport
    variables: Variables

    def add_variables(self, value: object) -> None:
        """Add the variables of a collection or an environment."""
        secret = {
            text_of(v.get("key")) for v in rows(value) if v.get("type") == "secret"
        }
        self.variables.add(pairs_of(value), secret)

    def requests(
        self, folder: Table, inherited: tuple[Auth, ...]
    ) -> Iterator[CollectedRequest]:
        """Yield the requests of a folder; without an `auth` it inherits."""
        self._note_scripts(folder)
        auth = self._auth(folder.get("auth"), inherited)
        for item in rows(folder.get("item")):
            if "item" in item:
                yield from self.requests(item, auth)
            elif "request" in item:
                self._note_scripts(item)
                yield self._request(item, auth)

    def _note_scripts(self, item: Table) -> None:
        for event in rows(item.get("event")):
            lines = table(event.get("script")).get("exec")
            is_used = event.get("listen") == "prerequest" and bool(lines)
            if is_used and any(text_of(line).strip() for line in _as_list(lines)):
                note_pre_request_script(self.report)

    def _request(self, item: Table, inherited: tuple[Auth, ...]) -> CollectedRequest:
        value = item["request"]
        name = text_of(item.get("name"))[:80]
        if isinstance(value, str):
            request = SeenRequest(self.variables.resolve_url(value), name=name)
            return CollectedRequest(request, inherited)
        source = table(value)
        request = SeenRequest(
            self._url(source.get("url")),
            method=text_of(source.get("method")) or "GET",
            headers=self._headers(source.get("header")),
            name=name,
        )
        self._add_body(request, table(source.get("body")))
        return CollectedRequest(request, self._auth(source.get("auth"), inherited))

    def _auth(self, value: object, inherited: tuple[Auth, ...]) -> tuple[Auth, ...]:
        auth = table(value)
        kind = text_of(auth.get("type"))
        if not kind:
            return inherited
        settings = auth.get(kind)
        extra = {}
        for row in rows(settings):
            if row.get("key") == "tokenRequestParams":
                extra = pairs_of(row.get("value"))
        return auth_of_kind(kind, self._settings(settings), self.report, extra)

    def _settings(self, value: object) -> Get:
        """Return a reader of the settings: a list in 2.1, a table in 2.0."""
        pairs = pairs_of(value) if isinstance(value, list) else table(value)
        return settings_getter(pairs, self.variables.resolve)

    def _url(self, value: object) -> str:
        if isinstance(value, str):
            return self.variables.resolve_url(value)
        url = table(value)
        raw = text_of(url.get("raw")) or _url_of_parts(url)
        raw = raw.partition("?")[0]
        variables = pairs_of(url.get("variable")).items()
        for name, text in islice(variables, MAX_PATH_VARIABLES):
            is_plain = bool(text) and not is_secret_variable(name)
            raw = raw.replace(
                f"/:{name}", f"/{text if is_plain else f'{{{{{name}}}}}'}"
            )
        query = pairs_of(url.get("query"))
        if not url.get("query"):
            query_text = text_of(url.get("raw")).partition("?")[2]
        else:
            query_text = urlencode(
                {
                    name: self.variables.resolve_named(name, text)
                    for name, text in query.items()
                },
                safe="{}",
            )
        whole = f"{raw}?{query_text}" if query_text else raw
        return self.variables.resolve_url(whole)

    def _headers(self, value: object) -> list[tuple[str, str]]:
        if isinstance(value, str):
            lines = (line.partition(":") for line in value.splitlines())
            pairs = {name.strip(): text.strip() for name, _, text in lines}
        else:
            pairs = pairs_of(value)
        return [
            (name, self.variables.resolve_named(name, text))
            for name, text in pairs.items()
            if name
        ]

    def _add_body(self, request: SeenRequest, body: Table) -> None:
        mode = text_of(body.get("mode"))
        request.has_body = bool(mode) and mode != "none"
        if mode == "raw":
            request.body = self.variables.resolve(text_of(body.get("raw")))
        elif mode == "urlencoded":
            pairs = pairs_of(body.get("urlencoded"))
            resolved = {k: self.variables.resolve(v) for k, v in pairs.items()}
            request.body = urlencode(resolved)


def _as_list(value: object) -> list[object]:
    """Return a list as it is, and anything else as the only item of one."""
    return value if isinstance(value, list) else [value]


def _url_of_parts(url: Table) -> str:
    """Return a URL of its parts: protocol, host, port and path."""
    host = ".".join(map(text_of, _as_list(url.get("host") or [])))
    path = "/".join(map(text_of, _as_list(url.get("path") or [])))
    port = f":{text_of(url.get('port'))}" if url.get("port") else ""
    protocol = text_of(url.get("protocol"))
    prefix = f"{protocol}://" if protocol else ""
    return f"{prefix}{host}{port}/{path.removeprefix('/')}"
