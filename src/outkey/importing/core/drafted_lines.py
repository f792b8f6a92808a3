"""The first sync lines of an imported API, without credentials in their paths."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.fields.field_kinds import check_method
from outkey.foundation.core.findings.checks import Level
from outkey.foundation.core.paging_words import pagination_of
from outkey.foundation.core.text import Text
from outkey.importing.core.report import ImportReport, shown_name, unique
from outkey.importing.core.seen import SeenRequest
from outkey.importing.core.urls import SeenUrl, has_credentials, without_credentials
from outkey.sending.core.configuration.placeholders import is_secret_segment
from outkey.sync.core.line.line import Sync, SyncLine
from outkey.sync.core.line.section import read_request
from outkey.sync.core.line.table import read_sync
from outkey.sync.core.suggest.suggest import default_target

MAX_LINES = 50
_MAX_TARGET = 60  # characters of a table's name, so that a number fits behind it
# Placeholders that a line fills in itself.
_OF_LINES = re.compile(r"\{(?:parent\.[\w-]+|job\.id)\}", re.ASCII)
_WORDS = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")


@dataclass(frozen=True, slots=True)
class DraftedLine:
    """A first sync line, and how its URL asks for pages."""

    line: SyncLine
    pagination: Mapping[str, object]


class LineDrafter:
    """Makes the lines of one configuration."""

    def __init__(
        self, configuration: str, origin: str, path: str, report: ImportReport
    ) -> None:
        self._configuration = configuration
        self._origin = origin
        self._path = path  # of the Base URL
        self._report = report
        self._names: set[str] = set()
        self._tables: set[str] = set()
        self._pulls: dict[str, str] = {}  # by the places of their requests

    def lines(
        self, requests: Iterable[tuple[SeenRequest, SeenUrl]]
    ) -> Iterator[DraftedLine]:
        """Yield a line for each request at the API."""
        for request, url in requests:
            if url.origin != self._origin:
                self._report.note_dropped(
                    shown_name("request", request.name),
                    Text(
                        "it goes to another origin, which needs its own configuration"
                    ),
                )
                continue
            if len(self._names) == MAX_LINES:
                self._report.note_dropped(
                    "lines", Text("only the first {count} were taken", count=MAX_LINES)
                )
                return
            line = self._line(request, url)
            if line is not None:
                yield line

    def _line(self, request: SeenRequest, url: SeenUrl) -> DraftedLine | None:
        """Return the line of a request, None for one that no line can be."""
        report = self._report
        method = _checked_method(request.method, report)
        target = _target_below(url, self._path, report)
        if request.has_body:
            report.note_dropped(
                "body",
                Text("a line for single requests has none: pass it when sending"),
            )
        word = readable_name(request.name) or last_word(target.partition("?")[0])
        name = unique(f"{self._configuration} {word}", self._names)
        settings = {
            "configuration": self._configuration,
            "method": method,
            "path": target,
        }
        try:
            line = read_request(name, settings, self._sync(request, name))
        except ConfigError as error:
            report.note_dropped(shown_name("line", request.name), error.message)
            return None
        if line.sync is not None and request.place:
            self._pulls[request.place] = name
        pagination = request.pagination or pagination_of(without_credentials(url.query))
        _note_line(report, word, sync=line.sync, pagination=pagination)
        return DraftedLine(line, pagination)

    def _sync(self, request: SeenRequest, name: str) -> Sync | None:
        """Return the described synchronization, with a table that no other line has."""
        if request.sync is None:
            return None
        target = self._free_table(name)
        settings = {**request.sync, "direction": "pull", "target": target}
        for_each = settings.get("for_each")
        if isinstance(for_each, dict) and "line" in for_each:
            parent = self._pulls.get(str(for_each["line"]))
            if parent is None:
                raise ConfigError(
                    Text("the line that it needs the records of is missing")
                )
            settings["for_each"] = {**for_each, "line": parent}
        sync = read_sync(settings)
        self._tables.add(target)
        return sync

    def _free_table(self, name: str) -> str:
        """Return the table for a line; long names are cut, and so can be equal."""
        table = default_target(name)
        number = 2
        while table in self._tables:
            table = f"{default_target(name)[:_MAX_TARGET].rstrip('_')}_{number}"
            number += 1
        return table


def _note_line(
    report: ImportReport,
    word: str,
    *,
    sync: Sync | None,
    pagination: Mapping[str, object],
) -> None:
    """Report what a line pulls, or how it could request pages."""
    if sync is not None:
        report.note_taken(
            shown_name("line", word),
            Text(
                "it pulls into {target} with the key {key}, when you run it: check"
                " the target and the fields ({count})",
                count=len(sync.mappings),
                key=", ".join(sync.keys),
                target=sync.target,
            ),
        )
    elif pagination:
        report.note_taken(
            "pages",
            Text(
                "{parameters}; a sync line can use them once it has a target",
                parameters=_parameters_of_pages(pagination),
            ),
        )


def _parameters_of_pages(pagination: Mapping[str, object]) -> str:
    """Return how a query asks for pages, such as `page, per_page = 50`."""
    parts = [str(pagination.get("position_parameter") or pagination["cursor"])]
    if "size_parameter" in pagination:
        size = f" = {pagination['size']}" if "size" in pagination else ""
        parts.append(f"{pagination['size_parameter']}{size}")
    return ", ".join(parts)


def readable_name(text: str) -> str:
    """Return a name as it may be shown, "" for one that may hold a credential.

    Postman names a request after its URL.
    """
    readable = "".join(filter(str.isprintable, text)).strip()
    plain = readable.partition("?")[0].strip()
    is_secret = has_credentials(readable) or any(
        map(is_secret_segment, re.split(r"[/\s]", plain))
    )
    return "" if is_secret else plain


def _checked_method(method: str, report: ImportReport) -> str:
    """Return a method that a line may have."""
    try:
        return check_method(method, field="method")
    except ConfigError as error:
        report.note_dropped("method", error.message)
        return "GET"


def _target_below(url: SeenUrl, base: str, report: ImportReport) -> str:
    """Return path and query below the Base URL, without credentials."""
    path = path_below(url.path, base, report)
    if "{" in _OF_LINES.sub("", path):
        report.note_dropped(
            "path", Text("it has a placeholder: enter the value in the line")
        )
    query = without_credentials(url.query)
    return f"{path}?{query}" if query else path


def path_below(path: str, base: str, report: ImportReport) -> str:
    """Return the path below the Base URL, cut before a credential."""
    below = path.removeprefix(base) or "/"
    parts = below.split("/")
    for number, part in enumerate(parts):
        if is_secret_segment(part):
            report.note_dropped(
                "path",
                Text(
                    "a part of the path looks like a credential: outkey has no field"
                    " for one there"
                ),
                Level.ERROR,
            )
            return "/".join(parts[:number]) or "/"
    return below


def last_word(path: str) -> str:
    """Return the last part of a path that is a word."""
    parts = [part for part in path.split("/") if _WORDS.fullmatch(part)]
    return parts[-1] if parts else "request"
