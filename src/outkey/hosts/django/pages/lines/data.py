"""The pages of tables that sync lines have filled: listed, searched, exported."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from io import BytesIO
from itertools import chain

from django.http import (
    Http404,
    HttpRequest,
    HttpResponse,
    HttpResponseBase,
    QueryDict,
)
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from outkey.foundation.core.errors import ConfigError, OutkeyError
from outkey.foundation.core.permission import Permission
from outkey.hosts.django.pages.access import (
    administration_for,
    installation,
    require,
)
from outkey.hosts.django.pages.lists import PAGE_SIZE, pager_to, split_page
from outkey.hosts.django.pages.shell import attachment, message_of, page
from outkey.sending.core.audit.events import Tag
from outkey.sync.core.mapping.filters import NUMBERS, Wanted, read_wanted
from outkey.sync.core.mapping.records import (
    FieldKind,
    HostField,
    HostRecord,
    Target,
    find_target,
)
from outkey.sync.core.mapping.shown import shortened
from outkey.sync.core.mapping.targets import ARCHIVED_AT, TABLE_PREFIX, FileFormat
from outkey.sync.ports.sync import StoredTables

LONGEST = 200  # characters of a value that the page shows
CONTENT_TYPES = {FileFormat.CSV: "text/csv", FileFormat.JSONL: "application/jsonl"}


@dataclass(frozen=True)
class ListedTable:
    """A table as the list shows it."""

    name: str
    columns: int
    rows: int | None  # None: its database cannot be reached
    problem: str


@dataclass(frozen=True)
class ListedCell:
    """A value as the page shows it."""

    text: str
    is_number: bool = False
    moment: datetime | None = None  # shown in the time zone of the user


@dataclass(frozen=True)
class ListedRow:
    """A row as the page shows it."""

    id: str
    cells: list[ListedCell]
    is_archived: bool


def list_page(request: HttpRequest) -> HttpResponse:
    """List the tables."""
    require(request, Permission.VIEW_DATA)
    tables = installation().sync.tables()
    listed = [_listed_table(tables, target) for target in tables.targets()]
    return page(request, "outkey/data.html", {"title": _("Data"), "rows": listed})


def table_page(request: HttpRequest, name: str) -> HttpResponse:
    """Show the rows of a table, some at a time."""
    require(request, Permission.VIEW_DATA)
    tables = installation().sync.tables()
    target = _table_at(tables, name)
    after = request.GET.get("after", "").strip()
    wanted = _wanted_of(request.GET, target)
    found = tables.rows(target.name, after, PAGE_SIZE + 1, wanted)
    shown, last = split_page(found, lambda row: row.id)
    count = tables.count(target.name, wanted=wanted)
    rest = tables.count(target.name, after, wanted) if after else count
    context = {
        "title": name,
        "name": name,
        "columns": [(field.name, field.kind in NUMBERS) for field in target.fields],
        "rows": [_listed_row(row, target.fields) for row in shown],
        "chosen": {
            "column": request.GET.get("column", ""),
            "text": request.GET.get("text", ""),
        },
        "is_filtered": bool(wanted),
        "count": count,
        "first": count - rest + 1,
        "last": count - rest + len(shown),
        "pager": pager_to(request, _("Next"), after=last),
        "formats": [str(known) for known in CONTENT_TYPES],
        "has_times": any(field.kind is FieldKind.DATETIME for field in target.fields),
        "time_zone": str(timezone.get_current_timezone()),
    }
    return page(request, "outkey/data_table.html", context)


@require_POST
def export(request: HttpRequest, name: str) -> HttpResponseBase:
    """Return the rows of a table that its page lists as a file, all pages of them."""
    require(request, Permission.VIEW_DATA)
    tables = installation().sync.tables()
    target = _table_at(tables, name)
    format_ = posted_format(request)
    administration_for(request.user).note(Tag.DATA_EXPORTED, "", target.name)
    # The name of a table has letters, digits, dots and underscores only.
    wanted = _wanted_of(request.POST, target)
    parts = exported_rows(tables, target, format_, wanted)
    return attached_records(parts, format_, name)


def posted_format(request: HttpRequest) -> FileFormat:
    """Return the format that a user chose, or respond with 404."""
    try:
        format_ = FileFormat(request.POST.get("format", ""))
    except ValueError:
        raise Http404 from None
    if format_ not in CONTENT_TYPES:
        raise Http404
    return format_


def attached_records(
    parts: Iterator[bytes], format_: FileFormat, name: str
) -> HttpResponseBase:
    """Return records as a file to download."""
    first = next(parts)  # before the status is sent: the database may be down
    content_type = f"{CONTENT_TYPES[format_]}; charset=utf-8"
    return attachment(chain([first], parts), content_type, f"{name}.{format_}")


def exported_rows(
    tables: StoredTables,
    target: Target,
    format_: FileFormat,
    wanted: Mapping[str, Wanted],
) -> Iterator[bytes]:
    """Yield the content of a file, a part at a time."""
    from outkey.sync.adapters.files.export import export_table

    buffer = BytesIO()
    for _count in export_table(tables, target, format_, buffer, wanted=wanted):
        yield buffer.getvalue()
        buffer.seek(0)
        buffer.truncate()


def _wanted_of(query: QueryDict, target: Target) -> dict[str, Wanted]:
    """Return the filter of the rows by column; an empty one if none was entered."""
    text = query.get("text", "")
    zone = timezone.get_current_timezone()
    return {
        field.name: read_wanted(field.kind, text, zone)
        for field in target.fields
        if text and field.name == query.get("column")
    }


def _table_at(tables: StoredTables, name: str) -> Target:
    """Return the table of a page, or respond with 404."""
    try:
        return find_target(tables.targets(), TABLE_PREFIX + name)
    except ConfigError:
        raise Http404 from None


def _listed_table(tables: StoredTables, target: Target) -> ListedTable:
    """Return a table for the list; its database may be down."""
    name = target.name.removeprefix(TABLE_PREFIX)
    try:
        count = tables.count(target.name)
    except OutkeyError as error:
        return ListedTable(name, len(target.fields), None, message_of(error))
    return ListedTable(name, len(target.fields), count, "")


def _listed_row(row: HostRecord, fields: Sequence[HostField]) -> ListedRow:
    """Return a row for the page, with values of bounded length."""
    return ListedRow(
        row.id,
        [_listed_cell(row.values.get(field.name), field.kind) for field in fields],
        row.values.get(ARCHIVED_AT) is not None,
    )


def _listed_cell(value: object, kind: FieldKind) -> ListedCell:
    """Return a value for the page."""
    return ListedCell(
        text=shortened(value, LONGEST),
        is_number=kind in NUMBERS,
        moment=value if isinstance(value, datetime) else None,
    )
