"""Bruno's files: requests, collection, folder and environments, as .bru or YAML."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from urllib.parse import urlencode

from outkey.foundation.core.text import Text
from outkey.importing.core.auth_types import auth_of_kind, settings_getter
from outkey.importing.core.readers.collections import (
    CollectedRequest,
    group_requests,
    note_pre_request_script,
)
from outkey.importing.core.readers.tree import (
    ReadYaml,
    Table,
    read_tree,
    rows,
    table,
    text_of,
)
from outkey.importing.core.report import ImportReport
from outkey.importing.core.seen import Auth, SeenApi, SeenRequest
from outkey.importing.core.variables import Variables

_BLOCK = re.compile(r"([a-z][a-z0-9:-]*)\s*([\[{])\s*")
_QUOTES = "'''"  # around a value of several lines
_METHODS = ("get", "post", "put", "patch", "delete", "head", "options")


@dataclass(slots=True, repr=False)
class BruFile:
    """The blocks of one file by their names, each as it is written."""

    blocks: dict[str, str] = field(default_factory=dict)

    @property
    def method(self) -> str:
        """The method of a request; "" for a file that is not a request."""
        return next((name for name in _METHODS if name in self.blocks), "")

    def pairs(self, name: str) -> dict[str, str]:
        """Return the pairs of a block that are switched on."""
        pairs = {}
        lines = iter(self.blocks.get(name, "").splitlines())
        for line in lines:
            key, colon, value = line.strip().partition(":")
            text = value.strip()
            if text == _QUOTES:
                text = "\n".join(_quoted_lines(lines))
            if colon and key and not key.startswith("~"):
                pairs[key.strip().strip('"')] = text
        return pairs


def _quoted_lines(lines: Iterator[str]) -> Iterator[str]:
    """Yield the lines of a value, without their indentation, up to its end."""
    for line in lines:
        if line.strip() == _QUOTES:
            return
        yield line.strip()


def read_bruno(
    texts: Sequence[str], read_yaml: ReadYaml, report: ImportReport
) -> list[SeenApi]:
    """Return the APIs of Bruno's files, which may come in any order."""
    reader = BrunoReader(report, Variables())
    collected: list[CollectedRequest] = []
    files = []
    for text in texts:
        if _BLOCK.match(text.lstrip()):
            files.append(parse_bru(text))
        else:
            collected += reader.tree(read_tree(text, read_yaml))
    collected += reader.files(files)
    return group_requests(collected, reader.name, report)


def parse_bru(text: str) -> BruFile:
    """Return the blocks of a .bru file; a block ends with a brace at a line's start."""
    file = BruFile()
    name = ""
    lines: list[str] = []
    for line in text.replace("\r\n", "\n").split("\n"):
        begin = _BLOCK.fullmatch(line)
        if not name and begin:
            name = begin[1]
            lines = []
        elif name and line.rstrip() in {"}", "]"}:
            file.blocks[name] = "\n".join(lines)
            name = ""
        elif name:
            lines.append(line)
    return file


@dataclass(slots=True)
class BrunoReader:
    """Reads files and trees of Bruno."""

    report: ImportReport
    variables: Variables
    name: str = ""

    def files(self, files: Sequence[BruFile]) -> Iterator[CollectedRequest]:
        """Yield the requests; a file without a method is what they inherit from."""
        inherited: tuple[Auth, ...] = ()
        for file in files:
            self.variables.add(file.pairs("vars"))
            self.variables.add(file.pairs("vars:pre-request"))
            if file.blocks.get("vars:secret", "").strip():
                self.report.note_dropped(
                    "vars:secret", Text("their values are not in the file: enter them")
                )
        for file in files:
            if not file.method:
                inherited = self._auth_of(file, inherited)
        for file in files:
            if file.method:
                yield self._request_of(file, inherited)

    def _auth_of(self, file: BruFile, inherited: tuple[Auth, ...]) -> tuple[Auth, ...]:
        kind = file.pairs("auth").get("mode") or file.pairs(file.method).get("auth", "")
        if not kind:
            blocks = (name for name in file.blocks if name.startswith("auth:"))
            kind = next(blocks, "").removeprefix("auth:")
        if kind in {"", "inherit"}:
            return inherited
        return self._auth(kind, file.pairs(f"auth:{kind}"))

    def _auth(self, kind: str, settings: Table) -> tuple[Auth, ...]:
        get = settings_getter(settings, self.variables.resolve)
        return auth_of_kind(kind, get, self.report)

    def _request_of(
        self, file: BruFile, inherited: tuple[Auth, ...]
    ) -> CollectedRequest:
        settings = file.pairs(file.method)
        request = SeenRequest(
            self.variables.resolve_url(settings.get("url", "")),
            method=file.method.upper(),
            headers=[
                (name, self.variables.resolve_named(name, value))
                for name, value in file.pairs("headers").items()
            ],
            name=file.pairs("meta").get("name", "")[:80],
        )
        form = file.pairs("body:form-urlencoded")
        resolved = {name: self.variables.resolve(text) for name, text in form.items()}
        body = file.blocks.get("body:json", file.blocks.get("body", ""))
        request.body = urlencode(resolved) or self.variables.resolve(body.strip())
        request.has_body = settings.get("body", "none") != "none"
        self._note_scripts(file.blocks)
        return CollectedRequest(request, self._auth_of(file, inherited))

    def _note_scripts(self, blocks: Table) -> None:
        if any(name.startswith("script:pre-request") for name in blocks):
            note_pre_request_script(self.report)

    # ── trees: the YAML form, and the export as JSON ────────────────────────────────

    def tree(
        self, tree: Table, inherited: tuple[Auth, ...] = ()
    ) -> Iterator[CollectedRequest]:
        """Yield the requests of a tree; folders hold them as `items`."""
        info = table(tree.get("info"))
        self.name = self.name or text_of(info.get("name") or tree.get("name"))[:100]
        for environment in rows(tree.get("environments")):
            self.variables.add(
                {
                    text_of(row.get("name")): text_of(row.get("value"))
                    for row in rows(environment.get("variables"))
                }
            )
        root = table(table(tree.get("root")).get("request"))
        shared = table(tree.get("request")) or root
        request = table(tree.get("http")) or shared
        is_request = bool(request.get("url"))
        auth = self._tree_auth(request.get("auth") or tree.get("auth"), inherited)
        if is_request:
            yield self._tree_request(tree, request, auth)
        for item in rows(tree.get("items")):
            yield from self.tree(item, auth)

    def _tree_auth(
        self, value: object, inherited: tuple[Auth, ...]
    ) -> tuple[Auth, ...]:
        settings = table(value)
        kind = text_of(settings.get("type") or settings.get("mode"))
        if kind in {"", "inherit"}:
            return inherited
        return self._auth(kind, table(settings.get(kind)) or settings)

    def _tree_request(
        self, tree: Table, request: Table, auth: tuple[Auth, ...]
    ) -> CollectedRequest:
        body = table(request.get("body"))
        name = text_of(table(tree.get("info")).get("name") or tree.get("name"))
        seen = SeenRequest(
            self.variables.resolve_url(text_of(request.get("url"))),
            method=(text_of(request.get("method")) or "GET").upper(),
            headers=[
                (
                    text_of(row.get("name")),
                    self.variables.resolve_named(
                        text_of(row.get("name")), text_of(row.get("value"))
                    ),
                )
                for row in rows(request.get("headers"))
                if row.get("enabled", True) and not row.get("disabled")
            ],
            body=self.variables.resolve(text_of(body.get("json") or body.get("data"))),
            name=name[:80],
        )
        seen.has_body = bool(seen.body)
        return CollectedRequest(seen, auth)
