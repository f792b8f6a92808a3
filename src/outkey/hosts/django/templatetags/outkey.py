"""Texts of the core in the language of the user, and times as users read them."""

import shlex
from collections.abc import Iterable, Mapping

from django import template
from django.http import HttpRequest
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from outkey.core.config.fields import BY_PATH, PATHS_OF_SECRETS, secret_label
from outkey.core.findings.health import Health, Status
from outkey.core.moments import duration_text, moment_text, record_moment
from outkey.core.text import Text
from outkey.engine.managing.overview import ChartBar
from outkey.hosts.django.pages.forms import FormField
from outkey.hosts.django.translation import translate_text

register = template.Library()
_RECTANGLE = (
    '<rect x="{}" y="{}" width="16" height="{}" class="ok-fill-{}"><title>{}:'
    " {}</title></rect>"
)


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
    return translate_text(str(status).replace("_", " "))


@register.filter
def secret_words(name: str) -> str:
    """Return the name of a secret as its field is labelled."""
    return translate_text(secret_label(name))


@register.filter
def secret_path(name: str) -> str:
    """Return the path of the field that has a secret; a row has none."""
    return PATHS_OF_SECRETS.get(name, name)


@register.filter
def moment(seconds: float | None) -> str:
    """Return a Unix time as users read it; a question mark if it is invalid."""
    if seconds is None:
        return ""
    try:
        return moment_text(seconds)
    except (ValueError, OverflowError, OSError):
        return "?"


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
def duration(seconds: int | None) -> str:
    """Return a number of seconds as hours, minutes and seconds."""
    return duration_text(seconds or 0)


@register.filter
def shell(text: str) -> str:
    """Return a word as a shell reads it."""
    return shlex.quote(text)


@register.filter(name="record_moment")
def written_at(record: Mapping[str, object]) -> str:
    """Return when an audit record was written."""
    return translate_text(record_moment(record))


@register.simple_tag
def query_with(request: HttpRequest, **changed: object) -> str:
    """Return the query of the page with some of it changed."""
    query = request.GET.copy()
    for name, value in changed.items():
        if value:
            query[name] = str(value)
        else:
            query.pop(name, None)
    return query.urlencode()


@register.simple_tag
def bar_shapes(position: int, bar: ChartBar) -> SafeString:
    """Draw one hour of the chart: ok, failed and refused above each other.

    Every fourth hour has a label below.
    """
    left = position * 20 + 2
    bottom = 100.0
    shapes = []
    for kind in ("ok", "failed", "refused"):
        height = getattr(bar, kind) * 0.95
        if height:
            bottom -= height
            shapes.append(
                format_html(
                    _RECTANGLE,
                    left,
                    f"{bottom:.1f}",
                    f"{height:.1f}",
                    kind,
                    bar.label,
                    bar.total,
                )
            )
    if position % 4 == 0:
        shapes.append(format_html('<text x="{}" y="115">{}</text>', left, bar.label))
    return format_html_join("", "{}", ((shape,) for shape in shapes))
