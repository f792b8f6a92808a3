"""Declarative manifests of Airbyte: each stream becomes a line. Nothing is executed."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.paging_words import words
from outkey.foundation.core.text import Text
from outkey.importing.core.readers.line_notes import LineNotes
from outkey.importing.core.readers.manifests.airbyte_auth import read_authenticator
from outkey.importing.core.readers.manifests.airbyte_streams import StreamReader
from outkey.importing.core.readers.manifests.common import DescribedLine, note_written
from outkey.importing.core.readers.manifests.components import Components
from outkey.importing.core.readers.manifests.expressions import Expression, fill
from outkey.importing.core.readers.tree import Table, rows, table, text_of
from outkey.importing.core.report import ImportReport, shown_name
from outkey.importing.core.seen import Auth, SeenApi, SeenRequest

MAX_STREAMS = 200
_MAX_LEVELS = 5  # of parents above a stream
_KNOWN = words(
    "version type check definitions schemas spec metadata description streams"
    " concurrency_level api_budget max_concurrent_async_job_count"
)


def read_airbyte(trees: Sequence[Table], report: ImportReport) -> list[SeenApi]:
    """Return the API that a manifest describes."""
    api = AirbyteManifest(trees[0], report).api()
    return [api] if api.requests else []


class AirbyteManifest:
    """One manifest: its streams, and the configuration that they share."""

    def __init__(self, tree: Table, report: ImportReport) -> None:
        self._tree = tree
        self._report = report
        self._components = Components(tree)
        self._defaults = _defaults_of(tree)
        self._secrets = frozenset(
            name for name, schema in _properties(tree) if _is_secret(schema)
        )
        self._streams: dict[str, DescribedLine] = {}
        self._requests: list[SeenRequest] = []
        self._base = ""

    def api(self) -> SeenApi:
        """Return the configuration and the lines of all streams."""
        for key in self._tree:
            if key not in _KNOWN:
                self._drop(key, Text("it is decided while streams are read"))
        self._note_defaults()
        auth: tuple[Auth, ...] | None = None
        for component in self._stream_components():
            requester = table(_requester(component))
            if auth is None:
                authenticator = table(requester.get("authenticator"))
                auth = read_authenticator(authenticator, self.fill, self._report)
                self._base = self._base_url(requester)
            self._read(component, level=0)
        name = text_of(table(self._tree.get("metadata")).get("name"))
        return SeenApi(
            self._requests,
            auth=auth or (),
            name=name[:100],
            base_url=self._base,
        )

    def _note_defaults(self) -> None:
        """Note secrets that a user would not have to enter."""
        for name, schema in _properties(self._tree):
            if name in self._secrets:
                item = shown_name("spec", name)
                note_written(self._report, item, _default_of(schema))

    def fill(self, value: object) -> str:
        """Return a text; what a user has to enter stays a variable."""
        filled = fill(text_of(value), self._value_of)
        if filled is None:
            self._drop("expression", Text("an expression is not one that is read here"))
        return filled or ""

    def _value_of(self, expression: Expression) -> str | None:
        if expression.root != "config" or not expression.steps:
            return None
        default = self._defaults.get(expression.name) or expression.default
        return default or f"{{{{{expression.name}}}}}"

    def _stream_components(self) -> Iterator[Table]:
        for value in islice(_list(self._tree.get("streams")), MAX_STREAMS):
            try:
                component = table(self._components.resolve(value))
            except ConfigError as error:
                self._drop("stream", error.message)
                continue
            if text_of(component.get("type")) == "ConditionalStreams":
                self._drop("ConditionalStreams", Text("all of its streams are taken"))
                yield from rows(component.get("streams"))
            elif text_of(component.get("type")) == "StateDelegatingStream":
                self._drop(
                    "StateDelegatingStream",
                    Text("its incremental stream is taken for all runs"),
                )
                yield table(component.get("incremental_stream"))
            else:
                yield component

    def _base_url(self, requester: Table) -> str:
        """Return the URL that all paths are below."""
        url = self.fill(requester.get("url_base") or requester.get("url"))
        scheme, mark, rest = url.partition("://")
        if not requester.get("url_base"):
            rest = rest.partition("/")[0]
        return f"{scheme}{mark}{rest}".rstrip("/")

    def _read(self, component: Table, level: int) -> DescribedLine | None:
        """Read a stream after its parents; None if these have too many levels."""
        name = text_of(component.get("name"))
        if name in self._streams or level > _MAX_LEVELS:
            return self._streams.get(name)
        notes = LineNotes(self._report, shown_name("line", name) or "line")
        reader = StreamReader(notes, self._value_of, self._secrets, self._base)
        parent = None
        for config in reader.parent_configs(component):
            parent = self._read(table(config.get("stream")), level + 1)
        stream = reader.read(component, parent)
        self._streams[name] = stream
        self._requests.append(stream.request)
        return stream

    def _drop(self, item: str, why: Text) -> None:
        self._report.note_dropped(shown_name("", item) or "manifest", why)


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _requester(component: Table) -> object:
    retriever = table(component.get("retriever"))
    return retriever.get("requester") or retriever.get("creation_requester")


def _properties(tree: Table) -> Iterator[tuple[str, Table]]:
    """Yield what a user enters for a manifest, by its dotted name."""
    yield from _parts_of(table(table(tree.get("spec")).get("connection_specification")))


def _parts_of(
    schema: Table, prefix: str = "", level: int = 0
) -> Iterator[tuple[str, Table]]:
    for name, part in islice(table(schema.get("properties")).items(), 200):
        yield f"{prefix}{name}", table(part)
        if level < 3:
            yield from _parts_of(table(part), f"{prefix}{name}.", level + 1)


def _is_secret(schema: Table) -> bool:
    return text_of(schema.get("airbyte_secret")) == "true"


def _defaults_of(tree: Table) -> Mapping[str, str]:
    """Return the values that a user need not enter, without secrets."""
    defaults = {}
    for name, schema in _properties(tree):
        value = _default_of(schema)
        if value and not _is_secret(schema):
            defaults[name] = value
    return defaults


def _default_of(schema: Table) -> str:
    return text_of(schema.get("const")) or text_of(schema.get("default"))
