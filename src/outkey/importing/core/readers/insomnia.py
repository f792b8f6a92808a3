"""Insomnia's exports, version 4 (JSON) and 5 (YAML); templates are never rendered."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from outkey.importing.core.auth_types import auth_of_kind, settings_getter
from outkey.importing.core.readers.collections import CollectedRequest, group_requests
from outkey.importing.core.readers.tree import MAX_DEPTH, Table, rows, table, text_of
from outkey.importing.core.report import ImportReport
from outkey.importing.core.seen import Auth, SeenApi, SeenRequest
from outkey.importing.core.variables import Variables

_TEMPLATE_TAG = re.compile(r"\{%[^%]*%\}")


def read_insomnia(trees: Sequence[Table], report: ImportReport) -> list[SeenApi]:
    """Return the APIs of an export."""
    tree = trees[0]
    reader = InsomniaReader(report, Variables())
    if "resources" in tree:
        collected = reader.resources(list(rows(tree.get("resources"))))
        name = reader.workspace_name(tree)
    else:
        reader.add_environment(table(tree.get("environments")))
        collected = reader.children(tree.get("collection"), ())
        name = text_of(tree.get("name"))[:100]
    return group_requests(collected, name, report)


def flat_values(data: Table, prefix: str = "") -> dict[str, str]:
    """Return the texts of nested tables by their dotted names."""
    values: dict[str, str] = {}
    for name, value in data.items():
        if isinstance(value, dict):
            values |= flat_values(value, f"{prefix}{name}.")
        else:
            values[f"{prefix}{name}"] = _without_tags(text_of(value))
    return values


def _without_tags(text: str) -> str:
    """Return a text in which calls of templates are variables without a value."""
    return _TEMPLATE_TAG.sub("{{template}}", text)


@dataclass(slots=True)
class InsomniaReader:
    """Reads requests and their folders."""

    report: ImportReport
    variables: Variables

    def workspace_name(self, tree: Table) -> str:
        """Return the name of the first workspace."""
        names = (
            text_of(resource.get("name"))
            for resource in rows(tree.get("resources"))
            if resource.get("_type") == "workspace"
        )
        return next(names, "")[:100]

    def add_environment(self, environment: Table) -> None:
        """Add the variables of an environment and of those below it."""
        self.variables.add(flat_values(table(environment.get("data"))))
        for inner in rows(environment.get("subEnvironments")):
            self.variables.add(flat_values(table(inner.get("data"))))

    def resources(self, resources: Sequence[Table]) -> Iterator[CollectedRequest]:
        """Yield the requests of version 4, in which folders are named by ids."""
        folders = {text_of(resource.get("_id")): resource for resource in resources}
        for resource in resources:
            if resource.get("_type") == "environment":
                self.add_environment(resource)
        for resource in resources:
            if resource.get("_type") == "request":
                yield self._request(resource, self._folder_auth(resource, folders))

    def _folder_auth(
        self, resource: Table, folders: Mapping[str, Table]
    ) -> tuple[Auth, ...]:
        visited: set[str] = set()
        parent = text_of(resource.get("parentId"))
        # A folder may name itself.
        while parent in folders and parent not in visited and len(visited) < MAX_DEPTH:
            visited.add(parent)
            folder = folders[parent]
            if self._has_auth(folder):
                return self._auth(folder)
            parent = text_of(folder.get("parentId"))
        return ()

    def children(
        self, value: object, inherited: tuple[Auth, ...]
    ) -> Iterator[CollectedRequest]:
        """Yield the requests of version 5, in which folders hold them."""
        for item in rows(value):
            if "children" in item:
                auth = self._auth(item) if self._has_auth(item) else inherited
                yield from self.children(item.get("children"), auth)
            elif "url" in item:
                yield self._request(item, inherited)

    def _has_auth(self, item: Table) -> bool:
        return bool(text_of(table(item.get("authentication")).get("type")))

    def _auth(self, item: Table) -> tuple[Auth, ...]:
        settings = table(item.get("authentication"))
        if settings.get("disabled") is True or settings.get("disabled") == "true":
            return ()
        kind = text_of(settings.get("type"))
        get = settings_getter(settings, self._resolve)
        return auth_of_kind(kind, get, self.report)

    def _resolve(self, text: str) -> str:
        return self.variables.resolve(_without_tags(text))

    def _pairs(self, value: object) -> list[tuple[str, str]]:
        return [
            (
                text_of(row.get("name")),
                self.variables.resolve_named(
                    text_of(row.get("name")), _without_tags(text_of(row.get("value")))
                ),
            )
            for row in rows(value)
            if row.get("name") and row.get("disabled") not in (True, "true")
        ]

    def _request(self, item: Table, inherited: tuple[Auth, ...]) -> CollectedRequest:
        url = self.variables.resolve_url(_without_tags(text_of(item.get("url"))))
        parameters = self._pairs(item.get("parameters"))
        if parameters:
            url += ("&" if "?" in url else "?") + urlencode(parameters, safe="{}")
        request = SeenRequest(
            url,
            method=text_of(item.get("method")) or "GET",
            headers=self._pairs(item.get("headers")),
            name=text_of(item.get("name"))[:80],
        )
        body = table(item.get("body"))
        text = self._resolve(text_of(body.get("text")))
        request.body = text or urlencode(self._pairs(body.get("params")))
        request.has_body = bool(request.body)
        auth = self._auth(item) if self._has_auth(item) else inherited
        return CollectedRequest(request, auth)
