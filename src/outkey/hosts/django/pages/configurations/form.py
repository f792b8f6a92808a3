"""The form of a configuration, drawn from the field table. It never shows a secret.

A secret that was typed is read by `administration.engine.editing` and not by the page,
so that a form with an error is drawn with an empty input again.
"""

import dataclasses
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from outkey.administration.engine.editing.editing import (
    Editor,
    Errors,
    entered_rows,
    entered_steps,
    is_left_alone,
    text_of_value,
)
from outkey.foundation.core.errors import OutkeyError
from outkey.foundation.core.fields.field_kinds import (
    EMPTY_TEXT,
    URL_PARSERS,
    Field,
    Kind,
    Tab,
)
from outkey.foundation.core.findings.checks import Finding
from outkey.sending.core.configuration.configuration import TOKEN_HEADERS, Configuration
from outkey.sending.core.configuration.custom_rows import (
    CustomHeader,
    CustomRow,
    QueryParameter,
    TokenHeader,
)
from outkey.sending.core.configuration.field_tables.login import STEP_FIELDS
from outkey.sending.core.configuration.fields import BY_PATH, FIELDS
from outkey.sending.core.configuration.methods import TEST_PATH, InitialValues
from outkey.sending.core.configuration.secret_state import SecretState

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
    hidden: bool = False

    @property
    def needs(self) -> str:
        """The field without whose value this one means nothing; empty for none."""
        return "script" if self.field.path == "script_enabled" else ""

    @property
    def when(self) -> str:
        """The values of other fields that this one is shown for; empty for always."""
        return condition_as_json(self.field)

    @property
    def required_when(self) -> str:
        """When it is marked as required; empty for always or never."""
        # An input that must be empty, as a table or a box, has no value.
        conditions = [
            (path, [str(value or "") for value in values])
            for path, values in self.field.required_when
        ]
        return json.dumps([conditions]) if conditions else ""

    @property
    def new_step(self) -> "FormStep":
        """A step of a login that a user may add."""
        return FormStep()

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
    number: int = 0  # in the names of its inputs
    findings: list[Finding] = dataclasses.field(default_factory=list)


@dataclass
class FormStep:
    """One step of a login as the page shows it; without a number one to be added."""

    number: int | str = "__N__"
    texts: Mapping[str, str] = dataclasses.field(default_factory=dict)

    @property
    def inputs(self) -> list[tuple[Field, str]]:
        """Its fields, each with the text in its input."""
        return [
            (part, self.texts.get(part.key) or str(text_of_value(part.default) or ""))
            for part in STEP_FIELDS
        ]


def condition_as_json(*fields: Field) -> str:
    """Return when one of some fields is shown, as the page's script reads it."""
    alternatives = [each for field in fields for each in field.alternatives]
    return json.dumps(alternatives) if alternatives else ""


class ConfigurationForm:
    """Draws what is stored, or what was posted with its errors."""

    def __init__(
        self,
        editor: Editor,
        stored: Configuration | None,
        posted: Mapping[str, str] | None = None,
        errors: Errors | None = None,
        *,
        initial: InitialValues | None = None,
    ) -> None:
        self._stored = stored
        # What a new configuration begins with, in the place of the defaults.
        self._initial = initial
        self.is_guided = initial is not None
        self._first = initial.fields if initial else ()
        self._posted = posted
        self._locked = editor.locked
        self.offered = [str(reference) for reference in editor.references]
        self.errors: Errors = errors or {}
        self.rows = self._rows("headers", CustomHeader)
        self.query_rows = self._rows("query", QueryParameter)
        self.token_rows = self._rows(TOKEN_HEADERS, TokenHeader)

    def first_fields(self) -> list[FormField]:
        """Return the fields that a new configuration needs, for the top of the page."""
        return [self._form_field(BY_PATH[path], []) for path in self._first]

    @property
    def every_row(self) -> list[FormRow]:
        """The rows of all tables."""
        return [*self.rows, *self.query_rows, *self.token_rows]

    @property
    def token_rows_when(self) -> str:
        """When the table of headers of token requests is shown."""
        return condition_as_json(BY_PATH[TOKEN_HEADERS])

    @property
    def token_rows_error(self) -> OutkeyError | None:
        """The error of a header of token requests, shown at their table."""
        return self.errors.get(TOKEN_HEADERS)

    @property
    def has_token_rows(self) -> bool:
        """Whether the table of headers of token requests has a row or an error."""
        return bool(self.token_rows or self.token_rows_error)

    @property
    def key_rows(self) -> list[tuple[str, FormRow]]:
        """The rows of keys that a new configuration needs, each with its prefix."""
        if not self.is_guided:
            return []
        rows = [("row", row) for row in self.rows]
        rows += [("query", row) for row in self.query_rows]
        return [(prefix, row) for prefix, row in rows if row.secret]

    @property
    def other_rows(self) -> list[FormRow]:
        """The header rows of the table: without those at the top of the page."""
        return [row for row in self.rows if not (self.is_guided and row.secret)]

    @property
    def other_query_rows(self) -> list[FormRow]:
        """The query rows of the table: without those at the top of the page."""
        return [row for row in self.query_rows if not (self.is_guided and row.secret)]

    def test_path(self, findings: Iterable[Finding] = ()) -> FormField:
        """Return the Test Path, which is beside the button that tests."""
        return self._form_field(BY_PATH[TEST_PATH], list(findings))

    def tabs(
        self, findings: Iterable[Finding] = ()
    ) -> list[tuple[Tab, list[FormField]]]:
        """Return the other fields by tab, each with its error and its findings."""
        findings = list(findings)
        for row in self.every_row:
            row.findings = [f for f in findings if f.field == row.secret_field]
        elsewhere = {*self._first, TEST_PATH}
        fields = [
            field
            for field in FIELDS
            if field.kind is not Kind.ROWS and field.path not in elsewhere
        ]
        tabs = [
            (tab, [self._form_field(f, findings) for f in fields if f.tab is tab])
            for tab in Tab
        ]
        return [(tab, shown) for tab, shown in tabs if shown or tab is Tab.HEADERS]

    def _has_script(self) -> bool:
        """Whether there is a script that could be switched on or off."""
        return bool(str(self._value(BY_PATH["script"])).strip())

    def row_errors(self) -> list[OutkeyError]:
        """Return the errors of the rows at the top of the page."""
        if not self.key_rows:
            return []
        errors = (self.errors.get(path) for path in ("headers", "query"))
        return [error for error in errors if error is not None]

    @property
    def table_errors(self) -> Errors:
        """The errors of rows that are shown at their tables, by path."""
        return {} if self.key_rows else self.errors

    def hides_error(self) -> bool:
        """Whether an error is at a field that the page does not show first."""
        shown = {*self._first, TEST_PATH}
        if self.key_rows:
            shown |= {"headers", "query"}
        return any(path in BY_PATH and path not in shown for path in self.errors)

    def findings_of_no_field(self, findings: Iterable[Finding]) -> list[Finding]:
        """Return the findings that are shown at the top of the page."""
        places = {field.path for field in FIELDS}
        places |= {field.secret_name for field in FIELDS if field.secret}
        places |= {row.secret_field for row in self.every_row}
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
        rows: Iterable[CustomRow] = ()
        if self._stored is not None:
            rows = self._stored.rows_by_path[path]
        elif self._initial is not None:
            rows = getattr(self._initial, path.rpartition(".")[2])
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
                secret=row.secret,
                state=states.get(row.secret_field) if row.secret else None,
                secret_field=row.secret_field,
                number=number,
            )
            for number, row in enumerate(rows)
        ]

    def _steps(self, field: Field) -> list[FormStep]:
        """Return the steps of a login that were posted, else those that are stored."""
        if self._posted is not None and field.path in self._posted:
            return [FormStep(n, texts) for n, texts in entered_steps(self._posted)]
        values = self._initial.values if self._initial else {}
        if self._stored is not None:
            values = self._stored.values()
        tables = values.get(field.path, ())
        assert isinstance(tables, tuple | list)  # noqa: S101 - for the type checker
        return [
            FormStep(n, {key: str(text_of_value(value)) for key, value in step.items()})
            for n, step in enumerate(tables)
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
            hidden=field.path == "script_enabled" and not self._has_script(),
        )

    def _value(self, field: Field) -> object:
        if field.secret:
            return ""
        stored = self._stored
        if field.kind is Kind.TABLES:
            return self._steps(field)
        if self._posted is not None and not is_left_alone(
            field.path, self._posted, stored, self._locked
        ):
            return self._posted.get(field.path, "")
        values: Mapping[str, object] = {}
        if stored is not None:
            values = {**stored.values(), "name": stored.name}
        elif self._initial is not None:
            values = self._initial.values
        if field.path not in values:
            is_unset = stored is not None or field.default is None
            return "" if is_unset else text_of_value(field.default)
        value = values[field.path]
        if field.is_nullable and not value:
            return EMPTY_TEXT
        return text_of_value(value)
