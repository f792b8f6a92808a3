"""The report of an import between the request that made it and the page that shows it.

It holds names and sentences of our own, so that a session may store it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import UUID

from django.http import HttpRequest
from django.urls import reverse

from outkey.foundation.core.findings.checks import Level
from outkey.foundation.core.permission import Permission
from outkey.foundation.core.text import Text
from outkey.hosts.django import models
from outkey.hosts.django.pages.access import (
    may,
    visible,
)
from outkey.importing.core.report import ReportAction, ReportItem

if TYPE_CHECKING:
    from outkey.importing.core.reading import Import

REPORT = "outkey-import-report"
MAX_SHOWN = 60


@dataclass(frozen=True)
class ShownReport:
    """An import as a page shows it: its items, and links to the created rows.

    The configurations are those besides the one of the page.
    """

    items: Sequence[ReportItem] = ()
    configurations: Sequence[tuple[str, str]] = ()  # names and URLs
    lines: Sequence[tuple[str, str]] = ()


def store_report(request: HttpRequest, record: str, imported: "Import") -> None:
    """Store a report until the page of the configuration shows it."""
    request.session[REPORT] = {
        "record": record,
        "items": [
            [str(item.level), item.item, str(item.action), item.why.to_json()]
            for item in sorted(imported.report, key=_rank)[:MAX_SHOWN]
        ],
        "configurations": [item.draft.name for item in imported.configurations],
        "lines": [drafted.line.name for drafted in imported.lines],
    }


def _rank(item: ReportItem) -> int:
    """Return the place of an item: what needs attention comes first."""
    return list(Level).index(item.level)


def take_report(request: HttpRequest, record: UUID) -> ShownReport:
    """Return the report of the import that made this configuration, once."""
    stored = request.session.get(REPORT)
    if not stored or UUID(stored["record"]) != record:
        return ShownReport()
    del request.session[REPORT]
    items = [
        ReportItem(Level(level), item, ReportAction(action), Text.from_json(why))
        for level, item, action, why in stored["items"]
    ]
    rows = visible(models.Configuration).filter(name__in=stored["configurations"])
    configurations = [
        (row.name, reverse("admin:outkey_configuration_change", args=[row.pk]))
        for row in rows.exclude(pk=record).order_by("name")
    ]
    lines: list[tuple[str, str]] = []
    if may(request, Permission.VIEW_LINE):
        lines = [
            (row.name, reverse("admin:outkey_syncline_change", args=[row.pk]))
            for row in visible(models.SyncLine).filter(name__in=stored["lines"])
        ]
    return ShownReport(items, configurations, lines)
