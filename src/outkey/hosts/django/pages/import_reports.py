"""The report of an import between the request that made it and the page that shows it.

It holds names and sentences of our own, so that a session may store it.
"""

from collections.abc import Iterable
from itertools import islice
from uuid import UUID

from django.http import HttpRequest

from outkey.core.findings.checks import Level
from outkey.core.importing.report import Action, ReportItem
from outkey.core.text import Text

REPORT = "outkey-import-report"
MAX_SHOWN = 60


def store_report(
    request: HttpRequest, record: str, items: Iterable[ReportItem]
) -> None:
    """Store a report until the page of the configuration shows it."""
    request.session[REPORT] = {
        "record": record,
        "items": [
            [str(item.level), item.item, str(item.action), item.why.to_json()]
            for item in islice(items, MAX_SHOWN)
        ],
    }


def take_report(request: HttpRequest, record: UUID) -> list[ReportItem]:
    """Return the report of the import that made this configuration, once."""
    stored = request.session.get(REPORT)
    if not stored or UUID(stored["record"]) != record:
        return []
    del request.session[REPORT]
    return [
        ReportItem(Level(level), item, Action(action), Text.from_json(why))
        for level, item, action, why in stored["items"]
    ]
