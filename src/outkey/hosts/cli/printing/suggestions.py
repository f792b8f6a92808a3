"""The output of `outkey line suggest`: a line completed from one live sample."""

from typing import TYPE_CHECKING

from outkey.administration.core.document.export import render
from outkey.foundation.core.toml.text import toml_value
from outkey.hosts.cli.output_file import output_file
from outkey.hosts.cli.printing.output import print_json, print_line, warn

if TYPE_CHECKING:
    from outkey.sync.core.line.line import SyncLine
    from outkey.sync.core.suggest.suggest import FieldSuggestion, Suggestion


def print_suggestion(
    suggestion: "Suggestion", line: "SyncLine", output: str, *, as_json: bool
) -> None:
    """Print the completed line as TOML, or write it to a file.

    The reasons are printed on standard error.
    """
    text = ""
    if suggestion.fields:
        text = render([], [suggestion.completed_line(line)])
    if text and not suggestion.keys:
        text = f"# Before you apply this, add keys: none was found.\n{text}"
    if text and output:
        with output_file(output) as file:
            file.write(text.encode())
    if as_json:
        print_json(suggestion.facts())
        return
    _print_reasons(suggestion)
    if text:
        print_line(f"wrote {output}" if output else text.rstrip("\n"))


def _print_reasons(suggestion: "Suggestion") -> None:
    """List on standard error what is proposed, and why."""
    if suggestion.is_other_format:
        warn(f"format: {suggestion.response.format} ({suggestion.response_why})")
    warn(f"records: {suggestion.records} ({suggestion.records_why})")
    warn(f"pages: {suggestion.pagination.kind} ({suggestion.pagination_why})")
    if suggestion.time is not None:
        parameters = " and ".join(sorted(suggestion.time.parameters, reverse=True))
        warn(f"incremental: {parameters} ({suggestion.time.why})")
    warn(f"keys: {', '.join(suggestion.keys) or '-'} ({suggestion.keys_why})")
    for field in suggestion.fields:
        warn(f"field {_field_text(field)}")
    for note in suggestion.document_notes():
        warn(f"note: {note}")


def _field_text(field: "FieldSuggestion") -> str:
    """Return a field with its transform and why, in one line."""
    mapping = field.mapping
    names = mapping.api
    if mapping.host != mapping.api:
        names = f"{mapping.api} as {mapping.host}"
    transform = str(mapping.transform)
    if mapping.options:
        transform += f" {toml_value(mapping.options)}"
    return f"{names}: {transform} ({field.why})"
