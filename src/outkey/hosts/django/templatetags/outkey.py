"""Texts of the core in the language of the user, and times as users read them."""

import shlex
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from math import ceil

from django import template
from django.http import HttpRequest
from django.utils import timezone
from django.utils.formats import number_format
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _

from outkey.administration.engine.watching.run_history import RunDay, RunHistory
from outkey.foundation.core.chart import Chart
from outkey.foundation.core.errors import Cause
from outkey.foundation.core.moments import (
    duration_text,
    elapsed_text,
    iso_moment,
    live_moment,
    plain_moment,
    zoned_text,
)
from outkey.foundation.core.stored_values import is_odd
from outkey.foundation.core.text import Text
from outkey.hosts.django.pages.configurations.form import FormField
from outkey.hosts.django.pages.lists import Sorting, query_with
from outkey.hosts.django.translation import translate_text
from outkey.sending.core.configuration.fields import BY_PATH, secret_label
from outkey.sending.core.configuration.health import Health, Status
from outkey.sending.core.rotation.credential_sets import CredentialSet
from outkey.webhooks.engine.overview import DeliveryDay

register = template.Library()
INVALID_MOMENT = (ValueError, OverflowError, OSError)
HISTORY_HEIGHT = 24
HISTORY_STEP = 4  # from one day to the next
DELIVERY_STEP = 8
CHART_SLOTS = 12  # fewer columns would be too wide


@register.filter(name="translate_text")
def translate_any(text: object) -> str:
    """Return a text, label, help or status of the core in the language of the user."""
    return translate_text(text if isinstance(text, str) else str(text or ""))


@register.filter
def status_words(status: object, health: Health | None = None) -> str:
    """Return a status or a cause in words.

    With the health of the configuration, one that was tested before has its own words.
    """
    if status == Status.NEVER_TESTED and health and health.tested_at is not None:
        return _("changed since the last test")
    if status == Status.WORKING and health and not health.current:
        return _("works, not tested")
    if status == Cause.EGRESS_DENIED:
        return translate_text(Cause.EGRESS_DENIED.label)
    return translate_text(str(status).replace("_", " "))


@register.filter
def secret_words(name: str) -> str:
    """Return the name of a secret as its field is labelled."""
    return translate_text(secret_label(name))


@register.filter
def credential_words(made: CredentialSet) -> str:
    """Return what a set of credentials has, as its fields are labelled."""
    labels = [secret_label(name) for name in made.secrets]
    labels += [BY_PATH[path].label for path, value in made.companions.items() if value]
    return ", ".join(map(translate_text, labels))


@register.filter
def moment(seconds: float | None) -> str:
    """Return a Unix time as an element: in words, with the exact time as its title.

    Where HTML is not possible, as in an attribute, use `exact_moment`.
    """
    if seconds is None:
        return ""
    if is_odd(seconds):
        return "?"
    now = time.time()
    try:
        exact = zoned_text(seconds, timezone.get_current_timezone())
        shown = live_moment(seconds, now, timezone.get_current_timezone())
    except INVALID_MOMENT:
        return "?"
    # A script replaces words that age by these.
    words = "|".join(translate_text(word) for word in shown.words)
    live = format_html(' data-words="{}"', words) if words else ""
    return format_html(
        '<time datetime="{}" title="{}"{}{}>{}</time>',
        iso_moment(seconds),
        exact,
        live,
        mark_safe(" data-future") if words and seconds > now else "",
        translate_text(shown.text),
    )


@register.filter
def exact_moment(seconds: float | None) -> str:
    """Return a Unix time as text: to the second, in the time zone of the user."""
    if seconds is None:
        return ""
    if is_odd(seconds):
        return "?"
    try:
        return zoned_text(seconds, timezone.get_current_timezone())
    except INVALID_MOMENT:
        return "?"


@register.filter
def local_moment(value: datetime | None) -> str:
    """Return a stored moment as an element: in the time zone of the user.

    Its title is the moment exactly as it is stored.
    """
    if value is None:
        return ""
    stored = value.isoformat()
    try:
        local = value.astimezone(timezone.get_current_timezone())
    except INVALID_MOMENT:  # at the end of what Python can write
        return stored
    return format_html(
        '<time datetime="{}" title="{}">{}</time>', stored, stored, plain_moment(local)
    )


@register.filter
def is_on(value: object) -> bool:
    """Whether a posted or stored flag is on."""
    return value is True or value in {"on", "True", "true"}


@register.filter
def type_words(value: str) -> str:
    """Return an authentication type as the specification calls it."""
    return translate_text(
        dict(BY_PATH["authentication_type"].choices).get(value, value)
    )


@register.filter
def get_item(values: Mapping[str, str], name: str) -> str:
    """Return one value of a mapping."""
    return values.get(name, "")


@register.filter
def any_wrong(fields: Iterable[FormField]) -> bool:
    """Whether one of these fields has an error or a finding."""
    return any(field.error or field.findings for field in fields)


@register.filter
def line_of(message: str) -> str:
    """Return the line number in a message about a script, "" if there is none."""
    if not isinstance(message, Text):
        return ""
    if "line" in message.values:
        return str(message.values["line"])
    lines = (
        line_of(value) for value in message.values.values() if isinstance(value, str)
    )
    return next(filter(None, lines), "")


@register.filter
def usual(fields: Iterable[FormField]) -> list[FormField]:
    """Return the fields that most users fill in."""
    return [field for field in fields if not field.field.rare]


@register.filter
def rare(fields: Iterable[FormField]) -> list[FormField]:
    """Return the fields that most users leave as they are."""
    return [field for field in fields if field.field.rare]


@register.filter
def any_changed(fields: Iterable[FormField]) -> bool:
    """Whether one of these fields differs from its default."""
    return any(field.is_touched for field in fields)


@register.filter
def countdown(seconds: int | None) -> str:
    """Return a number of seconds as hours, minutes and seconds: 1:02:03."""
    return duration_text(seconds or 0)


@register.filter
def duration(seconds: float | None) -> str:
    """Return how long something took: 2 min 5 s."""
    return "" if seconds is None else elapsed_text(seconds)


@register.filter
def grouped(number: int) -> str:
    """Return a number with its thousands apart, in the language of the user."""
    return number_format(number, force_grouping=True)


@register.filter
def shell(text: str) -> str:
    """Return a word as a shell reads it."""
    return shlex.quote(text)


@register.inclusion_tag("outkey/history.html")
def history_chart(history: RunHistory) -> dict[str, object]:
    """Draw what the runs of a line did day by day, with its numbers as a text."""
    text = _(
        "Last 30 days: runs %(runs)s, failed %(failed)s; records written %(written)s,"
        " rejected %(rejected)s."
    ) % {
        "runs": grouped(history.runs),
        "failed": grouped(history.failed),
        "written": grouped(history.written),
        "rejected": grouped(history.rejected),
    }
    title = _(
        "%(day)s: runs %(runs)s, failed %(failed)s; records written %(written)s,"
        " rejected %(rejected)s"
    )
    scale = (HISTORY_HEIGHT - 2) / history.highest
    shapes = [
        _history_bar(number * HISTORY_STEP, day, scale, title)
        for number, day in enumerate(history.days)
        if day.runs
    ]
    return {
        "text": text,
        "shapes": format_html_join("", "{}", ((shape,) for shape in shapes)),
    }


def _history_bar(left: int, day: RunDay, scale: float, title: str) -> SafeString:
    """Return the shapes of a day; one with runs has a bar also without records."""
    height = 2 + day.written * scale
    rejected = day.rejected * scale
    return format_html(
        '<g><title>{}</title><rect class="ok-hover" x="{}" y="0" width="4" height="24">'
        '</rect><rect class="ok-day-{}" x="{}" y="{}" width="3" height="{}"></rect>'
        '<rect class="ok-day-rejected" x="{}" y="{}" width="3" height="{}"></rect></g>',
        title
        % {
            "day": day.day.isoformat(),
            "runs": day.runs,
            "failed": day.failed,
            "written": day.written,
            "rejected": day.rejected,
        },
        left,
        "failed" if day.failed else "ok",
        left,
        f"{HISTORY_HEIGHT - height:.1f}",
        f"{height:.1f}",
        left,
        f"{max(0, HISTORY_HEIGHT - height - rejected):.1f}",
        f"{rejected:.1f}",
    )


@register.inclusion_tag("outkey/history.html")
def delivery_history(days: Sequence[DeliveryDay]) -> dict[str, object]:
    """Draw the deliveries of a webhook day by day, with their numbers as a text."""
    text = _("Last 14 days: deliveries %(count)s, failed %(failed)s.") % {
        "count": grouped(sum(day.count for day in days)),
        "failed": grouped(sum(day.failed for day in days)),
    }
    title = _("%(day)s: deliveries %(count)s, failed %(failed)s")
    scale = (HISTORY_HEIGHT - 2) / max([1, *(day.count for day in days)])
    shapes = [
        _delivery_bar(number * DELIVERY_STEP, day, scale, title)
        for number, day in enumerate(days)
        if day.count
    ]
    return {
        "text": text,
        "shapes": format_html_join("", "{}", ((shape,) for shape in shapes)),
    }


def _delivery_bar(left: int, day: DeliveryDay, scale: float, title: str) -> SafeString:
    """Return the shapes of a day: those that failed stand on the others."""
    height = 2 + day.count * scale
    failed = day.failed * scale
    return format_html(
        '<g><title>{}</title><rect class="ok-hover" x="{}" y="0" width="8" height="24">'
        '</rect><rect class="ok-day-ok" x="{}" y="{}" width="6" height="{}"></rect>'
        '<rect class="ok-day-failed" x="{}" y="{}" width="6" height="{}"></rect></g>',
        title % {"day": day.day.isoformat(), "count": day.count, "failed": day.failed},
        left,
        left,
        f"{HISTORY_HEIGHT - height:.1f}",
        f"{height:.1f}",
        left,
        f"{HISTORY_HEIGHT - height:.1f}",
        f"{failed:.1f}",
    )


@register.inclusion_tag("outkey/sort_header.html", takes_context=True)
def sort_header(
    context: template.Context, column: str, label: str
) -> dict[str, object]:
    """Draw the heading of a column that a list can be sorted by."""
    request: HttpRequest = context["request"]
    sorting: Sorting = context["sorting"]
    return {
        "label": label,
        "state": sorting.state_of(column),
        "query": query_with(request, sort=sorting.next_of(column), page=""),
    }


@dataclass(frozen=True)
class DrawnPart:
    """One kind of one column: its place in percent of the plot, and its number."""

    kind: str
    label: str
    count: int
    left: str
    top: str
    width: str
    height: str


@dataclass(frozen=True)
class DrawnColumn:
    """One column of a drawn chart, with its label and its link."""

    label: str
    note: str
    words: str  # all of it, for screen readers
    total: int
    counts: Sequence[int]
    parts: Sequence[DrawnPart]
    url: str
    labelled: str  # when there is room for the label: always, often, never
    is_right: bool  # its tip opens to the left


@register.inclusion_tag("outkey/chart.html")
def stacked_chart(
    chart: Chart,
    title: str,
    heading: str,
    name: str = "chart",
    urls: Sequence[str] = (),
) -> dict[str, object]:
    """Draw a chart with axes, a legend and a table of its numbers.

    `heading` is that of the labels in the table; `urls` are what the columns lead to.
    """
    slots = max(len(chart.columns), CHART_SLOTS)
    links = urls or [""] * len(chart.columns)
    labels = [translate_text(label) for label in chart.kinds.values()]
    columns = []
    for place, (column, url) in enumerate(zip(chart.columns, links, strict=True)):
        parts = _drawn_parts(chart, labels, place, slots)
        note = _("failed") if column.has_failed else ""
        numbers = [f"{grouped(part.count)} {part.label}" for part in parts]
        numbers = numbers or [_("none")]
        name_and_note = ", ".join(filter(None, (column.label, note)))
        drawn = DrawnColumn(
            label=column.label,
            note=note,
            words=f"{name_and_note}: {', '.join(numbers)}",
            total=column.total,
            counts=column.counts,
            parts=parts,
            url=url,
            labelled=labelled(place, slots),
            is_right=place >= slots / 2,
        )
        columns.append(drawn)
    totals = chart.totals or [0] * len(labels)
    return {
        "title": title,
        "heading": heading,
        "name": name,
        "columns": columns,
        "empty_slots": range(slots - len(columns)),
        "labels": labels,
        "legend": list(zip(chart.kinds, labels, totals, strict=True)),
        "total": sum(totals),
        "has_failed": any(column.has_failed for column in chart.columns),
        "ticks": [chart.top, chart.top // 2, 0],
    }


def _drawn_parts(
    chart: Chart, labels: Sequence[str], place: int, slots: int
) -> list[DrawnPart]:
    """Return the parts of a column, each on top of the one before."""
    slot = 100 / slots
    parts = []
    below = 0
    column = chart.columns[place]
    for kind, label, count in zip(chart.kinds, labels, column.counts, strict=True):
        if not count:
            continue
        below += count
        part = DrawnPart(
            kind=kind,
            label=label,
            count=count,
            left=f"{(place + 0.15) * slot:.3f}%",
            top=f"{100 - below * 100 / chart.top:.3f}%",
            width=f"{0.7 * slot:.3f}%",
            height=f"{count * 100 / chart.top:.3f}%",
        )
        parts.append(part)
    return parts


def labelled(place: int, slots: int) -> str:
    """Return on which screens a column has its label: all, wide ones, or none."""
    if place % ceil(slots / 4) == 0:
        return "always"
    return "often" if place % ceil(slots / 8) == 0 else "never"
