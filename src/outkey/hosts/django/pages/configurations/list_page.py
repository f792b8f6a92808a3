"""The list of API Sync Configurations."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_

from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from outkey.foundation.core.permission import Permission
from outkey.hosts.django import models
from outkey.hosts.django.pages.access import (
    installation,
    offered_url,
    require,
    visible,
)
from outkey.hosts.django.pages.bulk import allowed_actions
from outkey.hosts.django.pages.configurations.bulk_actions import bulk_actions
from outkey.hosts.django.pages.configurations.listed_rows import (
    ends_of_tokens,
    rows_with_key,
)
from outkey.hosts.django.pages.lists import ListFilter, Sorting, read_choices, read_page
from outkey.hosts.django.pages.shell import page
from outkey.hosts.django.rows.statuses import status_conditions, status_rank
from outkey.hosts.django.rows.storage import health_of
from outkey.sending.core.configuration.fields import BY_PATH
from outkey.sending.core.configuration.health import Health, Status

ATTENTION = "attention"
INACTIVE = "inactive"
SORTS = {
    "name": "name",
    "status": "rank",
    "tested": "tested_at",
    "environment": "environment",
    "method": "authentication_type",
}
LISTED_STATUSES = [status for status in Status if status is not Status.SEALED]
COLUMN_FILTERS = ("environment", "network", "authentication_type")


@dataclass(frozen=True)
class ListedConfiguration:
    """One row of a list of configurations."""

    row: models.Configuration
    health: Health
    status: Status
    has_key: bool = False  # a secret row is its only credential
    token_ends: float | None = None  # of a token that was fetched, as Unix time


def list_page(request: HttpRequest) -> HttpResponse:
    """List configurations, fifty at a time; opens no secret."""
    require(request, Permission.VIEW)
    choices = read_choices(request, *COLUMN_FILTERS, "status", "q")
    sorting = Sorting.read(request, SORTS, "name")
    rows = _filtered_rows(choices)
    if sorting.column == "status":
        rows = rows.annotate(rank=status_rank())
    shown, pager = read_page(request, sorting.apply(rows, "name"))
    context = {
        "title": _("API Sync Configurations"),
        "rows": listed_rows(shown),
        "pager": pager,
        "sorting": sorting,
        "actions": allowed_actions(request, bulk_actions()),
        "chosen": choices,
        "is_filtered": any(choices.values()),
        "filters": list_filters(request),
        "add_url": offered_url(request, Permission.ADD, "configuration_new"),
    }
    return page(request, "outkey/configurations.html", context)


def list_filters(request: HttpRequest) -> list[ListFilter]:
    """Return the filters of the list, besides the text to search."""
    statuses = [
        (ATTENTION, _("needs attention")),
        *((str(status), status.replace("_", " ")) for status in LISTED_STATUSES),
        (INACTIVE, _("switched off")),
    ]
    columns = [BY_PATH[name] for name in COLUMN_FILTERS]
    return [
        ListFilter.read(request, "status", _("Status"), statuses),
        *(ListFilter.read(request, at.path, at.label, at.choices) for at in columns),
    ]


def listed_rows(rows: Sequence[models.Configuration]) -> list[ListedConfiguration]:
    """Return the rows of a page."""
    now = time.time()
    sealed = installation().keys.is_sealed()
    keyed = rows_with_key(rows)
    ends = ends_of_tokens(rows)
    entries = []
    for row in rows:
        health = health_of(row)
        entry = ListedConfiguration(
            row=row,
            health=health,
            status=health.status(now=now, sealed=sealed),
            has_key=row.pk in keyed,
            token_ends=ends.get(row.pk),
        )
        entries.append(entry)
    return entries


def _filtered_rows(choices: Mapping[str, str]) -> QuerySet[models.Configuration]:
    """Return the configurations that a user has chosen to see."""
    rows = visible(models.Configuration).defer("settings")
    for name in COLUMN_FILTERS:
        if choices[name]:
            rows = rows.filter(**{name: choices[name]})
    if choices["q"]:
        text = choices["q"]
        rows = rows.filter(Q(name__icontains=text) | Q(base_url__icontains=text))
    return _filter_by_status(rows, choices["status"])


def _filter_by_status(
    rows: QuerySet[models.Configuration], wanted: str
) -> QuerySet[models.Configuration]:
    """Return the rows with a status, by the rules of the core; all for no status.

    `attention` are those that are active and do not work.
    """
    conditions = status_conditions()
    if wanted == ATTENTION:
        del conditions[Status.NEVER_TESTED]
        return rows.filter(reduce(or_, conditions.values()), active=True)
    if wanted == INACTIVE:
        return rows.filter(active=False)
    if wanted not in {*conditions, Status.WORKING}:
        return rows
    for status, condition in conditions.items():
        if status == wanted:
            return rows.filter(condition)
        rows = rows.exclude(condition)  # an earlier status is the one to show
    return rows
