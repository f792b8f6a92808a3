"""The form of a configuration, drawn from the field table. It never shows a secret.

A secret that was typed is read by `engine.managing.editing` and not by the page, so
that a form with an error is drawn with an empty input again.
"""

import dataclasses
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from outkey.core.config.configuration import Configuration, SecretState
from outkey.core.config.custom_rows import CustomHeader, CustomRow, QueryParameter
from outkey.core.config.field_kinds import URL_PARSERS, Field, Kind, Tab
from outkey.core.config.fields import FIELDS
from outkey.core.errors import OutkeyError
from outkey.core.findings.checks import Finding
from outkey.engine.managing.editing import (
    EMPTY_TEXT,
    Editor,
    Errors,
    entered_rows,
    is_left_alone,
    text_of_value,
)

INPUT_TYPES = {Kind.DATE: "date"} | dict.fromkeys(URL_PARSERS, "url")


@dataclass
class FormField:
    """One field as the page shows it."""

    field: Field
    value: object = ""
    error: str = ""
    hint: str = ""
    findings: list[Finding] = dataclasses.field(default_factory=list)
    state: SecretState | None = None
    locked: bool = False

    @property
    def when(self) -> str:
        """The values of other fields that this one is shown for; empty for always."""
        return condition_as_json(self.field)

    @property
    def input_type(self) -> str:
        """The `type` of the HTML input."""
        return INPUT_TYPES.get(self.field.kind, "text")

    @property
    def is_touched(self) -> bool:
        """Whether the field differs from its default, or has an error or a finding."""
        default = str(text_of_value(self.field.default) or "")
        return bool(self.error or self.findings) or str(self.value or "") != default


@dataclass
class FormRow:
    """One header or query row as the page shows it."""

    key: str = ""
    value: str = ""
    secret: bool = False
    state: SecretState | None = None
    secret_field: str = ""
    findings: list[Finding] = dataclasses.field(default_factory=list)


def condition_as_json(field: Field) -> str:
    """Return when a field is shown, as the page's script reads it."""
    return json.dumps(field.alternatives) if field.alternatives else ""


class ConfigurationForm:
    """Draws what is stored, or what was posted with its errors."""

    def __init__(
        self,
        editor: Editor,
        stored: Configuration | None,
        posted: Mapping[str, str] | None = None,
        errors: Errors | None = None,
        *,
        initial: Configuration | None = None,
    ) -> None:
        self._stored = stored
        # What a new configuration begins with, in the place of the defaults.
        self._initial = initial
        self._posted = posted
        self._locked = editor.locked
        self.offered = [str(reference) for reference in editor.references]
        self.errors: Errors = errors or {}
        self.rows = self._rows("headers", CustomHeader)
        self.query_rows = self._rows("query", QueryParameter)

    def tabs(
        self, findings: Iterable[Finding] = ()
    ) -> list[tuple[Tab, list[FormField]]]:
        """Return the fields by tab, each with its error and its findings."""
        findings = list(findings)
        for row in (*self.rows, *self.query_rows):
            row.findings = [f for f in findings if f.field == row.secret_field]
        fields = [field for field in FIELDS if field.kind is not Kind.ROWS]
        return [
            (
                tab,
                [self._form_field(f, findings) for f in fields if f.tab is tab],
            )
            for tab in Tab
        ]

    def findings_of_no_field(self, findings: Iterable[Finding]) -> list[Finding]:
        """Return the findings that are shown at the top of the page."""
        places = {field.path for field in FIELDS}
        places |= {field.secret_name for field in FIELDS if field.secret}
        places |= {row.secret_field for row in (*self.rows, *self.query_rows)}
        return [finding for finding in findings if finding.field not in places]

    def has_wrong_row(self) -> bool:
        """Whether a header or query row has an error or a finding."""
        is_refused = "headers" in self.errors or "query" in self.errors
        return is_refused or any(row.findings for row in (*self.rows, *self.query_rows))

    def top_errors(self) -> list[OutkeyError]:
        """Return the errors that are shown at the top of the page."""
        paths = {field.path for field in FIELDS}
        return [error for path, error in self.errors.items() if path not in paths]

    def _rows(self, path: str, kind: type[CustomRow]) -> list[FormRow]:
        """Return the rows that were posted, else those that are stored."""
        rows: Iterable[CustomRow] = getattr(self._stored or self._initial, path, ())
        if self._posted is not None:
            rows = [
                kind(row.key, row.value, row.is_secret)
                for row in entered_rows(self._posted, path)
            ]
        states = self._stored.secrets if self._stored else {}
        return [
            FormRow(
                row.key,
                row.value,
                row.secret,
                states.get(row.secret_field) if row.secret else None,
                row.secret_field,
            )
            for row in rows
        ]

    def _form_field(self, field: Field, findings: list[Finding]) -> FormField:
        error = self.errors.get(field.path)
        path = field.secret_name if field.secret else field.path
        states = self._stored.secrets if self._stored and field.secret else {}
        is_fixed = field.path == "name" and self._stored is not None
        return FormField(
            field,
            value=self._value(field),
            error=error.message if error else "",
            hint=(error.hint or "") if error else "",
            findings=[finding for finding in findings if finding.field == path],
            state=states.get(path),
            locked=is_fixed or field.path in self._locked,
        )

    def _value(self, field: Field) -> object:
        if field.secret:
            return ""
        stored = self._stored
        if self._posted is not None and not is_left_alone(
            field.path, self._posted, stored, self._locked
        ):
            return self._posted.get(field.path, "")
        shown = stored or self._initial
        if shown is None:
            return "" if field.default is None else text_of_value(field.default)
        if field.path == "name":
            return shown.name
        value = shown.values().get(field.path, "")
        if field.is_nullable and field.path in shown.values() and not value:
            return EMPTY_TEXT
        return text_of_value(value)
