"""The form of a configuration, made from the field table. It never gives a secret back.

For each secret the form says keep, set or clear. What was typed is handed to the desk and not to
the page, so that a failed validation renders an empty input again.
"""

import dataclasses
import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date

from django.http import QueryDict
from django.utils.translation import gettext as _

from outkey.core.access.permissions import refuse_other_tls
from outkey.core.config.configuration import (
    Configuration,
    HeaderRow,
    SecretState,
    build,
    header_row,
    kept_secrets,
)
from outkey.core.config.field_kinds import Field, Kind, Tab
from outkey.core.config.fields import FIELDS
from outkey.core.config.reference import Reference
from outkey.core.errors import ConfigError, EditConflict, HeaderConflict, SecretMissing
from outkey.core.findings.checks import Finding
from outkey.core.request.headers import MAX_HEADERS
from outkey.core.request.script import SEAL, seal_of
from outkey.core.secret import Secret
from outkey.ports.sending import Secrets

_TYPED = (Kind.SECONDS, Kind.INTEGER, Kind.DATE)
_AS_IT_IS = (Kind.LONG_TEXT, Kind.SCRIPT)
_VERSION = re.compile(r"[0-9]{1,9}")
_PLACES = {f.secret_name: f.path for f in FIELDS if f.secret}


@dataclass
class Shown:
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
        """What other fields must say for this one to be shown; empty for nothing."""
        return conditions_of(self.field)

    @property
    def touched(self) -> bool:
        """Whether the field says something else than by default, or something is said about it."""
        default = str(_written(self.field.default) or "")
        return bool(self.error or self.findings) or str(self.value or "") != default


@dataclass
class ShownRow:
    """One header row as the page shows it."""

    key: str = ""
    value: str = ""
    secret: bool = False
    state: SecretState | None = None
    findings: list[Finding] = dataclasses.field(default_factory=list)


@dataclass
class Entered:
    """What a person entered: a configuration, and what to do with its secrets."""

    configuration: Configuration
    secrets: dict[str, Secret]
    references: dict[str, Reference]
    cleared: list[str]


class DraftSecrets:
    """The secrets of a draft: those that were typed, and those that are kept already."""

    def __init__(
        self,
        stored: Configuration | None,
        kept: Secrets,
        typed: Mapping[str, Secret] | None = None,
        cleared: Iterable[str] = (),
    ) -> None:
        self._stored, self._kept = stored, kept
        self._typed, self._cleared = typed or {}, set(cleared)

    def open(self, configuration: Configuration, secret: str) -> Secret:
        """Return a secret for immediate use, or raise SecretMissing."""
        if secret == SEAL:
            if self._stored is not None and self._stored.script == configuration.script:
                return self._kept.open(self._stored, SEAL)
            return seal_of(
                configuration.script
            )  # who typed it may write scripts: the page asked
        if secret in self._typed:
            return self._typed[secret]
        if secret in self._cleared:
            raise SecretMissing(f"{secret} is not set", field=secret)
        before = self._stored.secrets.get(secret) if self._stored else None
        if configuration.secrets.get(secret) != before:
            # A reference that was chosen on the page now, which nothing vouches for yet.
            return self._kept.open(replace(configuration, record=""), secret)
        if self._stored is None:
            raise SecretMissing(f"{secret} is not set", field=secret)
        refuse_other_tls(self._stored, configuration, secret)
        return self._kept.open(self._stored, secret)

    def refuse_changed_settings(self, configuration: Configuration) -> None:
        """Refuse nothing: `open` compares the settings of stored secrets."""


def conditions_of(known: Field) -> str:
    """Return when a field is shown, as the page's script reads it."""
    return json.dumps(known.when) if known.when else ""


class ConfigurationForm:
    """Reads what was posted, says what is wrong with it, and shows the rest again."""

    def __init__(
        self,
        stored: Configuration | None,
        posted: QueryDict | None = None,
        *,
        offered: Iterable[Reference] = (),
        locked: Collection[str] = (),
    ) -> None:
        self._stored, self._posted, self._locked = stored, posted, locked
        self.offered = {str(reference): reference for reference in offered}
        self.errors: dict[str, ConfigError] = {}
        self.rows: list[ShownRow] = (
            [self._stored_row(r) for r in stored.headers] if stored else []
        )

    def entered(self) -> Entered | None:
        """Return what was entered, or None after noting what is wrong with it."""
        values = dict(self._values())
        secrets, references, cleared = self._read_secrets()
        rows = self._read_rows(secrets)
        if self.errors:
            return None
        name = self._stored.name if self._stored else str(values.pop("name", ""))
        values.pop("name", None)
        states = kept_secrets(self._stored.secrets, rows) if self._stored else {}
        for gone in cleared:
            states.pop(gone, None)
        try:
            made = build(
                name, values, headers=tuple(rows), references=references, secrets=states
            )
        except ConfigError as error:
            self.refuse(error)
            return None
        if self._stored:
            version = self._get("version")
            # A newer one than what the page was checked against would slip past those checks.
            if not _VERSION.fullmatch(version) or int(version) > self._stored.version:
                self.refuse(EditConflict())
                return None
            made = replace(
                made,
                record=self._stored.record,
                version=int(version),
                voucher=self._stored.voucher,
            )
        return Entered(made, secrets, references, cleared)

    def refuse(self, error: ConfigError) -> None:
        """Note an error at its field, or at the top of the page."""
        place = (
            "headers" if isinstance(error, HeaderConflict) else str(error.field or "")
        )
        self.errors.setdefault(_PLACES.get(place, place), error)

    def tabs(self, findings: Iterable[Finding] = ()) -> list[tuple[Tab, list[Shown]]]:
        """Return the fields by tab, with what is to be said about each."""
        listed = list(findings)
        for row in self.rows:
            row.findings = [f for f in listed if f.field == f"header:{row.key}"]
        return [
            (
                tab,
                [
                    self._shown(f, listed)
                    for f in FIELDS
                    if f.tab is tab and f.path != "headers"
                ],
            )
            for tab in Tab
        ]

    def elsewhere(self, findings: Iterable[Finding]) -> list[Finding]:
        """Return the findings that belong to no field of the page."""
        known = {f.path for f in FIELDS} | {f.secret_name for f in FIELDS if f.secret}
        known |= {f"header:{row.key}" for row in self.rows}
        return [finding for finding in findings if finding.field not in known]

    def top_errors(self) -> list[ConfigError]:
        """Return the errors that belong to no field of the page."""
        known = {f.path for f in FIELDS}
        return [error for path, error in self.errors.items() if path not in known]

    def _get(self, name: str) -> str:
        return "" if self._posted is None else str(self._posted.get(name, ""))

    def _values(self) -> Iterator[tuple[str, object]]:
        for known in FIELDS:
            if known.kind in {Kind.SECRET, Kind.ROWS}:
                continue
            try:
                value = self._value(known)
                if value is not None:
                    yield known.path, known.parse(value)
            except ConfigError as error:
                told = ConfigError(error.message, hint=error.hint, field=known.path)
                self.errors[known.path] = told

    def _value(self, known: Field) -> object:
        """Return a posted value in the type that the table wants; None where nothing was said."""
        if known.path == "name" and self._stored:
            return self._stored.name
        text = self._get(known.path)
        if known.kind is Kind.FLAG and not self._is_left(known):
            return bool(text)
        if self._posted is None or known.path not in self._posted:
            return self._stored.values().get(known.path) if self._stored else None
        text = text.replace("\r\n", "\n")
        text = text if known.kind in _AS_IT_IS else text.strip()
        if not text and (known.kind in _TYPED or known.default is None):
            return None
        return _typed(known, text)

    def _read_secrets(
        self,
    ) -> tuple[dict[str, Secret], dict[str, Reference], list[str]]:
        typed: dict[str, Secret] = {}
        references: dict[str, Reference] = {}
        cleared: list[str] = []
        for known in FIELDS:
            if not known.secret:
                continue
            name = known.secret_name
            text = self._get(f"secret:{known.path}")
            if known.lines:
                text = text.replace("\r\n", "\n").strip("\n")
            chosen = self.offered.get(self._get(f"reference:{known.path}"))
            if text:
                typed[name] = Secret(text)
            elif chosen is not None:
                references[name] = chosen
            elif self._get(f"clear:{known.path}"):
                cleared.append(name)
        return typed, references, cleared

    def _read_rows(self, secrets: dict[str, Secret]) -> list[HeaderRow]:
        """Read the rows; of a secret one, only whether a new value was typed."""
        rows: list[HeaderRow] = []
        states = self._stored.secrets if self._stored else {}
        self.rows = []
        if self._get(f"row-key-{MAX_HEADERS}"):
            message = _("there are more than %s rows") % MAX_HEADERS
            self.errors["headers"] = ConfigError(message, field="headers")
        for number in range(MAX_HEADERS):
            key, value = (
                self._get(f"row-key-{number}").strip(),
                self._get(f"row-value-{number}"),
            )
            if self._get(f"row-gone-{number}") or not (key or value):
                continue
            secret = bool(self._get(f"row-secret-{number}"))
            state = states.get(f"header:{key}") if secret else None
            self.rows.append(ShownRow(key, "" if secret else value, secret, state))
            try:
                row = header_row(
                    key, None if secret else value, secret=secret, place="headers"
                )
            except ConfigError as error:
                message = f"{key or _('row')}: {error.message}"
                self.errors["headers"] = ConfigError(
                    message, hint=error.hint, field="headers"
                )
                continue
            rows.append(row)
            if secret and value:
                secrets[row.secret_field] = Secret(value)
        return rows

    def _stored_row(self, row: HeaderRow) -> ShownRow:
        assert self._stored is not None  # noqa: S101 - for the type checker
        return ShownRow(
            row.key, row.value, row.secret, self._stored.secrets.get(row.secret_field)
        )

    def _shown(self, known: Field, findings: list[Finding]) -> Shown:
        error = self.errors.get(known.path)
        path = known.secret_name if known.secret else known.path
        return Shown(
            known,
            value=self._value_to_show(known),
            error=error.message if error else "",
            hint=(error.hint or "") if error else "",
            findings=[finding for finding in findings if finding.field == path],
            state=(
                self._stored.secrets.get(path)
                if self._stored and known.secret
                else None
            ),
            locked=known.path in self._locked
            or (known.path == "name" and self._stored is not None),
        )

    def _is_left(self, known: Field) -> bool:
        """Tell whether the page gave no way to change a field, and nobody tried another."""
        if known.path == "name":
            return self._stored is not None
        return known.path in self._locked and known.path not in (self._posted or {})

    def _value_to_show(self, known: Field) -> object:
        if known.secret:
            return ""
        if self._posted is not None and not self._is_left(known):
            return self._get(known.path)
        if self._stored is None:
            return "" if known.default is None else _written(known.default)
        if known.path == "name":
            return self._stored.name
        return _written(self._stored.values().get(known.path, ""))


def _written(value: object) -> object:
    """Return a stored value as a person types it."""
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, dict):
        return "\n".join(f"{name} = {text}" for name, text in value.items())
    return value.isoformat() if isinstance(value, date) else value


def _typed(known: Field, text: str) -> object:
    """Return a number or a date where the text is one; what is none is for the table to refuse."""
    try:
        if known.kind is Kind.INTEGER:
            return int(text)
        if known.kind is Kind.SECONDS:
            return float(text)
        if known.kind is Kind.DATE:
            return date.fromisoformat(text)
        if known.kind is Kind.PAIRS:
            return dict(_pair(line) for line in text.splitlines() if line.strip())
    except ValueError:
        return text
    return text


def _pair(line: str) -> tuple[str, str]:
    """Return name and text of a line; one without a sign is for the table to refuse."""
    name, sign, text = line.partition("=")
    if not sign:
        raise ValueError
    return name.strip(), text.strip()
