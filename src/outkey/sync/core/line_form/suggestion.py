"""A line's form, completed with what a sample of the API suggests."""

from dataclasses import replace

from outkey.sync.core.line.fields import PAGINATION_FIELDS
from outkey.sync.core.line.line import Direction
from outkey.sync.core.line_form.line_form import LineForm, row_of_mapping, value_text
from outkey.sync.core.suggest.suggest import Suggestion


def form_with_suggestion(form: LineForm, suggestion: Suggestion) -> LineForm:
    """Return a form with what a sample suggests.

    Records and pages are those that were found. Target, keys and rows are filled in
    only where the form has none: what a user entered stays.
    """
    texts = dict(form.texts)
    texts["records"] = suggestion.records
    for field in PAGINATION_FIELDS:
        value = getattr(suggestion.pagination, field.key)
        texts[field.path.replace(".", "_")] = value_text(value)
    texts["direction"] = texts.get("direction") or str(Direction.PULL)
    texts["target"] = texts.get("target") or suggestion.target
    rows = form.rows
    if not rows:
        rows = tuple(row_of_mapping(field.mapping) for field in suggestion.fields)
        texts["keys"] = ", ".join(suggestion.keys)
    return replace(form, texts=texts, rows=rows)
