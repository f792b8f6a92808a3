"""The content of the page of a sync line: its text and form, stored or posted."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from django.http import HttpRequest
from django.utils import timezone

from outkey.foundation.core.errors import ConfigError, OutkeyError
from outkey.foundation.core.text import Text
from outkey.sync.core.line_form.form_text import form_of, text_with_form
from outkey.sync.core.line_form.inputs import (
    SYNC_INPUT,
    input_name,
    posted_rows,
    read_posted,
)
from outkey.sync.core.line_form.line_form import MOST_ROWS, LineForm
from outkey.sync.core.line_form.schedule_choices import ScheduleKind
from outkey.sync.core.mapping.targets import FILE_PREFIX, TABLE_PREFIX
from outkey.sync.core.suggest.suggest import default_target

FORM_VIEW = "form"
TEXT_VIEW = "toml"
NEW_TABLE = "+table"
NEW_FILE = "+file"
NUMBER = re.compile(r"[0-9]{1,9}", re.ASCII)
CALL_INPUTS = ("name", "configuration", "method", "path")


@dataclass
class EditedLine:
    """The content of the page: the request, the text, and the form of that text.

    The text is the document. A form that was posted has changed it already.
    """

    values: dict[str, str]  # name, configuration, method, path, sync
    view: str
    form: LineForm
    version: int
    error: OutkeyError | None = None  # of a text that has no form

    @classmethod
    def of_text(
        cls, values: Mapping[str, str], view: str, version: int
    ) -> "EditedLine":
        """Return a line from its text; one that has no form is shown as text."""
        try:
            form = form_of(values["sync"])
        except ConfigError as error:
            return cls(dict(values), TEXT_VIEW, form_of(""), version, error)
        if form.schedule is not None and form.schedule.kind is ScheduleKind.BY_HAND:
            # A user who chooses a time next means the local one.
            zone = timezone.get_current_timezone_name()
            form = replace(form, schedule=replace(form.schedule, zone=zone))
        if form.row_count > MOST_ROWS:
            message = Text(
                "a line with more than {count} fields has no form", count=MOST_ROWS
            )
            return cls(dict(values), TEXT_VIEW, form, version, ConfigError(message))
        return cls(dict(values), view, form, version)

    @classmethod
    def posted(
        cls, request: HttpRequest, values: Mapping[str, str], version: int
    ) -> "EditedLine":
        """Return the posted content: the text, with the changes of the form."""
        posted = {name: str(value) for name, value in request.POST.items()}
        if posted.get("view", TEXT_VIEW) != FORM_VIEW:
            return cls.of_text(values, TEXT_VIEW, version)
        entered = read_posted(_with_target(_with_keys(posted)))
        try:
            text = text_with_form(values["sync"], entered)
        except ConfigError as error:
            return cls(dict(values), TEXT_VIEW, form_of(""), version, error)
        edited = cls.of_text({**values, "sync": text}, FORM_VIEW, version)
        edited.form = edited.form.with_entered(entered)
        return edited

    def change(self, form: LineForm) -> None:
        """Change the form, and the text with it."""
        self.form = form
        self.values["sync"] = text_with_form(self.values["sync"], form)


def _with_keys(posted: Mapping[str, str]) -> dict[str, str]:
    """Return the posted values with the keys that are ticked in the rows."""
    if "map-count" not in posted:
        return dict(posted)
    rows = posted_rows(posted).get(("", "map"), {})
    keys = [row.get("host", "") for _, row in sorted(rows.items()) if row.get("key")]
    return {**posted, "keys": ", ".join(filter(None, keys))}


def _with_target(posted: Mapping[str, str]) -> dict[str, str]:
    """Return the posted values with the name of the chosen target."""
    chosen = posted.get("target_choice")
    if chosen is None:
        return dict(posted)
    target = chosen
    if chosen == NEW_TABLE and "target_table" not in posted:
        target = default_target(posted.get("name", ""))
    elif chosen == NEW_TABLE:
        name = posted.get("target_table", "").strip()
        target = TABLE_PREFIX + name if name else ""
    elif chosen == NEW_FILE:
        name = posted.get("target_file", "").strip()
        target = FILE_PREFIX + name if name else ""
    return {**posted, "target": target}


def place_of(error: OutkeyError, form: LineForm) -> str:
    """Return the name of the input that an error belongs to; "" for none."""
    place = str(error.field or "")
    if place in CALL_INPUTS:
        return place
    if not place:
        return ""
    name = input_name(place, form)
    return "" if name == SYNC_INPUT else name


def number_in(request: HttpRequest, name: str) -> int | None:
    """Return a posted number; None for any other text."""
    return number_of(request.POST.get(name, ""))


def number_of(text: str) -> int | None:
    """Return a text as a number; None for any other text."""
    return int(text) if NUMBER.fullmatch(text) else None
