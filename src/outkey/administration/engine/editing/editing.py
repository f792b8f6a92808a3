"""Editing a configuration by a form: what was entered, what it needs, how it is saved.

A form is a mapping of texts, whatever host it comes from:

    <path>              the value of a field
    secret:<path>       a new value for a secret; empty to leave it
    lines:<path>        the same for a value of several lines
    tidy:<path>         anything, to remove quotes and the like from the new value
    reference:<path>    one of the offered references
    clear:<path>        anything, to delete a secret
    row-key-<n>         a header row: its name, its value, whether the value is a
    row-value-<n>       secret, the text around a secret, and whether the row is to
    row-secret-<n>      be removed
    row-text-<n>
    row-gone-<n>
    row-tidy-<n>        as tidy:<path>
    query-key-<n> …     a query row, likewise
    token-key-<n> …     a header of token requests, likewise
    version             of the configuration that the form was drawn from

Secrets leave it as `Secret`, and no error repeats a value.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from datetime import date
from functools import partial
from typing import TypeVar

from outkey.administration.engine.editing.administration import Administration
from outkey.administration.engine.editing.changes import ConfigurationChange
from outkey.administration.engine.editing.drafts import (
    CandidateConfiguration,
    DraftSecrets,
)
from outkey.foundation.core.errors import (
    ConfigError,
    EditConflict,
    HeaderConflict,
    OutkeyError,
    ScriptFailed,
    UnknownConfiguration,
    configuration_exists,
)
from outkey.foundation.core.fields.field_kinds import Field, Kind
from outkey.foundation.core.permission import Allowed, Permission, Requirement
from outkey.foundation.core.secret import Secret
from outkey.foundation.core.text import Text
from outkey.sending.core.configuration.configuration import (
    STEPS,
    TOKEN_HEADERS,
    Configuration,
    build,
    kept_secrets,
)
from outkey.sending.core.configuration.custom_rows import (
    MAX_ROWS,
    PLACEHOLDER,
    CustomRow,
    header_row,
    query_row,
    token_header_row,
)
from outkey.sending.core.configuration.field_tables.login import STEP_FIELDS
from outkey.sending.core.configuration.fields import FIELDS, path_of_secret
from outkey.sending.core.configuration.pasted import tidy_secret
from outkey.sending.core.configuration.permissions import (
    ASK_ADMINISTRATOR,
    requirements,
)
from outkey.sending.core.configuration.reference import Reference
from outkey.sending.core.configuration.secret_state import SecretState
from outkey.sending.core.configuration.secret_values import refuse_unusable
from outkey.sending.engine.exchange.scripts import prove_examples
from outkey.sending.engine.wire.context import SendContext
from outkey.sending.ports.sending import Secrets
from outkey.sync.engine.line_registry import Registry

Errors = dict[str, OutkeyError]  # by the path of the field; other keys: of no field
Row = TypeVar("Row", bound=CustomRow)

# A page has no inputs for these where the user may not write scripts.
SCRIPT_FIELDS = ("script_enabled", "script")
_STEP_INPUT = re.compile(r"step-[a-z]+-(\d{1,4})")
_STEP_PLACE = re.compile(r"login\.steps\[(\d+)\]")
_EMPTY_MEANS_NOT_SET = (Kind.SECONDS, Kind.INTEGER, Kind.DATE)
# The prefix of the names of a form's inputs for each kind of rows.
ROW_PREFIXES = {"headers": "row", "query": "query", TOKEN_HEADERS: "token"}
_NOT_STRIPPED = (Kind.LONG_TEXT, Kind.SCRIPT)
_VERSION = re.compile(r"[0-9]{1,9}")


def add_error(
    errors: Errors, error: OutkeyError, settings: Mapping[str, object]
) -> None:
    """Add an error at its field beside these settings; a field's first error stays."""
    path = str(error.field or "")
    if isinstance(error, HeaderConflict):
        path = "headers"
    if step := _STEP_PLACE.match(path):
        path = STEPS
        error.replace_message(
            Text(
                "step {number}: {problem}",
                number=int(step[1]) + 1,
                problem=error.message,
            )
        )
    errors.setdefault(path_of_secret(path, settings), error)


# ── what was entered ────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class EnteredRow:
    """One header or query row of a form.

    The value of a secret row is the text around the secret.
    """

    key: str
    value: str
    secret: Secret | None = None
    is_secret: bool = False
    # In the names of its inputs.
    number: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Edit:
    """The edit of a user: a configuration, and the changes of its secrets."""

    stored: Configuration | None
    configuration: Configuration
    secrets: Mapping[str, Secret] = field(default_factory=dict)
    references: Mapping[str, Reference] = field(default_factory=dict)
    cleared: tuple[str, ...] = ()
    # The permissions that saving needs, each with its field.
    needed: tuple[Requirement, ...] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        """Find out what saving needs: the form shows it, and saving refuses it."""
        touched = (*self.secrets, *self.references, *self.cleared)
        found = requirements(self.stored, self.configuration, touched)
        object.__setattr__(self, "needed", tuple(found))

    @classmethod
    def read(
        cls,
        values: Mapping[str, str],
        stored: Configuration | None = None,
        *,
        references: Iterable[Reference] = (),
        locked: Collection[str] = (),
    ) -> "Edit | Errors":
        """Read a form, or return what is wrong with it.

        Only the given references can be chosen. A `locked` field that is not among the
        values stays as it is stored.
        """
        offered = {str(reference): reference for reference in references}
        return FormReader(values, stored, offered, locked).edit()

    def needs(self) -> set[Permission]:
        """Return the permissions that saving needs."""
        return {requirement.permission for requirement in self.needed}

    def errors(self, allowed: Allowed) -> Errors:
        """Return the fields that the user may not change, and unusable secrets."""
        errors: Errors = {}
        settings = self.configuration.values()
        for requirement in self.needed:
            if not allowed(requirement.permission):
                message = requirement.message
                add_error(
                    errors,
                    ConfigError(
                        message, hint=ASK_ADMINISTRATOR, field=requirement.field
                    ),
                    settings,
                )
        for name, secret in self.secrets.items():
            try:
                refuse_unusable(name, secret)
            except ConfigError as error:
                add_error(errors, error, settings)
        return errors

    def save(
        self,
        administration: Administration,
        context: SendContext,
        *,
        allowed: Allowed,
        limit: Callable[[], AbstractContextManager[None]] = nullcontext,
        record: str = "",
    ) -> None:
        """Save the configuration with its secrets in one transaction.

        Raises ConfigError if the user lacks a permission; `errors` returns which field
        needs it. A new script must pass its own examples first; `limit` surrounds that.
        `record` is the id of a new configuration, where its form was drawn with one.
        """
        if not all(allowed(permission) for permission in self.needs()):
            raise ConfigError(
                Text("you may not save all of this"), hint=ASK_ADMINISTRATOR
            )
        script = self.stored.script if self.stored else ""
        if self.configuration.script not in {"", script}:
            with limit():
                _refuse_failing_examples(context, self.configuration)
        change = ConfigurationChange(
            self.stored,
            self.configuration,
            secrets=self.secrets,
            cleared=self.cleared,
            record=record,
        )
        administration.save(change)

    def candidate(self, secrets: Secrets) -> CandidateConfiguration:
        """Return the unsaved configuration for trials; `secrets` opens stored ones."""
        # A value that was typed now is meant for the URL that is in the form now.
        states = {
            name: SecretState(self.configuration.binding_of(name))
            for name in self.secrets
        }
        configuration = self.configuration
        if states:
            states = {**configuration.secrets, **states}
            configuration = replace(configuration, secrets=states)
        draft_secrets = DraftSecrets(self.stored, secrets, self.secrets, self.cleared)
        return CandidateConfiguration(self.stored, configuration, draft_secrets)


def _refuse_failing_examples(
    context: SendContext, configuration: Configuration
) -> None:
    """Raise at the script's field if its examples return other headers."""
    try:
        prove_examples(context, [configuration])
    except OutkeyError as error:
        hint = error.hint
        if hint == ScriptFailed.default_hint:
            hint = Text(
                "This happened in an example of GOLDEN, before the script was saved."
            )
        raise ConfigError(error.message, hint=hint, field="script") from None


# ── reading a form ──────────────────────────────────────────────────────────────────


class FormReader:
    """Reads one form, and collects what is wrong with it."""

    def __init__(
        self,
        values: Mapping[str, str],
        stored: Configuration | None,
        offered: Mapping[str, Reference],
        locked: Collection[str],
    ) -> None:
        self._values = values
        self._stored = stored
        self._offered = offered
        self._locked = locked
        self._errors: Errors = {}

    def edit(self) -> Edit | Errors:
        """Return the edit, or the errors in the form."""
        values = dict(self._read_fields())
        self._require(values)
        secrets, references, cleared = self._read_secrets()
        headers = self._read_rows("headers", header_row, secrets)
        query = self._read_rows("query", query_row, secrets)
        token_headers = self._read_rows(TOKEN_HEADERS, token_header_row, secrets)
        if self._errors:
            return self._errors
        name = str(values.pop("name", ""))
        rows = (*headers, *query, *token_headers)
        states = kept_secrets(self._stored.secrets, rows) if self._stored else {}
        for secret in cleared:
            states.pop(secret, None)
        try:
            configuration = build(
                name,
                values,
                headers=headers,
                query=query,
                token_headers=token_headers,
                references=references,
                secrets=states,
            )
            configuration = self._continue_stored(configuration)
        except ConfigError as error:
            add_error(self._errors, error, values)
            return self._errors
        return Edit(self._stored, configuration, secrets, references, tuple(cleared))

    def _continue_stored(self, configuration: Configuration) -> Configuration:
        """Return it as the successor of the version that the form was drawn from."""
        if self._stored is None:
            return configuration
        text = self._values.get("version", "")
        # A newer version than the one that permissions are compared with would slip
        # past that comparison.
        if not _VERSION.fullmatch(text) or int(text) > self._stored.version:
            raise EditConflict
        return replace(
            configuration,
            record=self._stored.record,
            version=int(text),
            voucher=self._stored.voucher,
        )

    def _read_fields(self) -> Iterator[tuple[str, object]]:
        for known in FIELDS:
            if known.kind in {Kind.SECRET, Kind.ROWS}:
                continue
            try:
                value = self._value(known)
                if value is not None:
                    yield known.path, known.parse(value)
            except ConfigError as error:
                place = str(error.field or "")
                if not place.startswith(STEPS):
                    place = known.path
                add_error(
                    self._errors,
                    ConfigError(error.message, hint=error.hint, field=place),
                    {},
                )

    def _require(self, values: Mapping[str, object]) -> None:
        """Note every required field that is empty, not only the first."""
        beside = {
            known.path: values.get(known.path, known.default)
            for known in FIELDS
            if known.kind is not Kind.ROWS
        }
        if STEPS in self._errors:  # a wrong step takes the place of a login path too
            beside[STEPS] = entered_steps(self._values)
        for known in FIELDS:
            is_empty = not beside.get(known.path) and not known.secret
            if is_empty and known.is_required(beside):
                error = known.refuse(Text("must not be empty"))
                self._errors.setdefault(known.path, error)

    def _value(self, known: Field) -> object:
        """Return a value in the type that the field table parses; None if not set."""
        stored = self._stored
        if known.path == "name" and stored is not None:
            return stored.name
        is_left = is_left_alone(known.path, self._values, stored, self._locked)
        if known.kind is Kind.FLAG and not is_left:
            return bool(self._values.get(known.path))
        if known.kind is Kind.TABLES and known.path in self._values:
            return [typed_step(texts) for _, texts in entered_steps(self._values)]
        if known.path not in self._values:
            return stored.values().get(known.path) if stored else None
        text = self._values[known.path].replace("\r\n", "\n")
        if known.kind not in _NOT_STRIPPED:
            text = text.strip()
        if not text and (known.kind in _EMPTY_MEANS_NOT_SET or known.default is None):
            return None
        return typed_value(known, text)

    def _read_secrets(
        self,
    ) -> tuple[dict[str, Secret], dict[str, Reference], list[str]]:
        secrets: dict[str, Secret] = {}
        references: dict[str, Reference] = {}
        cleared: list[str] = []
        for known in FIELDS:
            if not known.secret:
                continue
            name = known.secret_name
            text = self._values.get(f"secret:{known.path}", "")
            if known.lines:
                text = text or self._values.get(f"lines:{known.path}", "")
                text = text.replace("\r\n", "\n").strip("\n")
            choice = self._values.get(f"reference:{known.path}", "")
            if text:
                flag = f"tidy:{known.path}"
                secrets[name] = self._tidied(name, Secret(text), flag)
            elif choice in self._offered:
                references[name] = self._offered[choice]
            elif self._values.get(f"clear:{known.path}"):
                cleared.append(name)
        return secrets, references, cleared

    def _read_rows(
        self, path: str, make: Callable[..., Row], secrets: dict[str, Secret]
    ) -> tuple[Row, ...]:
        """Return header or query rows, and add what was entered to `secrets`."""
        rows: list[Row] = []
        if self._values.get(f"{ROW_PREFIXES[path]}-key-{MAX_ROWS}"):
            message = Text("there are more than {count} rows", count=MAX_ROWS)
            self._errors.setdefault(path, ConfigError(message, field=path))
        for entered in entered_rows(self._values, path):
            value = entered.value
            try:
                row = make(
                    entered.key,
                    None if entered.is_secret and not value else value,
                    secret=entered.is_secret,
                    place=path,
                )
                _refuse_lost_text(row, entered)
            except ConfigError as error:
                message = Text(
                    "{row}: {message}",
                    row=entered.key or Text("row"),
                    message=error.message,
                )
                refused = ConfigError(message, hint=error.hint, field=path)
                self._errors.setdefault(path, refused)
                continue
            rows.append(row)
            if entered.secret is not None:
                name = row.secret_field
                flag = f"{ROW_PREFIXES[path]}-tidy-{entered.number}"
                secrets[name] = self._tidied(name, entered.secret, flag)
        return tuple(rows)

    def _tidied(self, name: str, secret: Secret, flag: str) -> Secret:
        """Return a secret as it was entered, or tidied if the form asks for it.

        The user has accepted that as a fix. The page does not get the value back.
        """
        if not self._values.get(flag):
            return secret
        return secret.derive(partial(tidy_secret, name))


def _refuse_lost_text(row: CustomRow, entered: EnteredRow) -> None:
    """Refuse a text around a secret that does not say where the secret goes."""
    if row.secret and entered.value and PLACEHOLDER not in entered.value:
        raise ConfigError(
            Text(
                "the text around the secret lacks {placeholder}",
                placeholder=PLACEHOLDER,
            ),
            hint=Text(
                "Write it where the secret goes, such as Token token={secret}.",
                secret=PLACEHOLDER,
            ),
        )


def entered_rows(
    values: Mapping[str, str], path: str = "headers"
) -> Iterator[EnteredRow]:
    """Yield the header or query rows of a form that are not to be removed."""
    prefix = ROW_PREFIXES[path]
    for number in range(MAX_ROWS):
        key = values.get(f"{prefix}-key-{number}", "").strip()
        text = values.get(f"{prefix}-value-{number}", "")
        if values.get(f"{prefix}-gone-{number}") or not (key or text):
            continue
        if values.get(f"{prefix}-secret-{number}"):
            around = values.get(f"{prefix}-text-{number}", "").strip()
            secret = Secret(text) if text else None
            yield EnteredRow(key, around, secret, is_secret=True, number=number)
        else:
            yield EnteredRow(key, text, number=number)


def entered_steps(values: Mapping[str, str]) -> list[tuple[int, dict[str, str]]]:
    """Return the steps of a login in a form, with their numbers there.

    Without those that are to be removed, or that have no text.
    """
    matches = map(_STEP_INPUT.fullmatch, values)
    numbers = sorted({int(match[1]) for match in matches if match})
    steps = []
    for number in numbers:
        texts = {
            part.key: values.get(f"step-{part.key}-{number}", "").replace("\r\n", "\n")
            for part in STEP_FIELDS
        }
        is_empty = not any(texts[key].strip() for key in ("url", "path", "body"))
        if not is_empty and not values.get(f"step-gone-{number}"):
            steps.append((number, texts))
    return steps


def typed_step(texts: Mapping[str, str]) -> dict[str, object]:
    """Return a step as a document has it, without what is as by default."""
    step: dict[str, object] = {}
    for part in STEP_FIELDS:
        text = texts[part.key].strip()
        if text and text != part.default:
            step[part.key] = typed_value(part, text)
    return step


def is_left_alone(
    path: str,
    values: Mapping[str, str],
    stored: Configuration | None,
    locked: Collection[str],
) -> bool:
    """Whether a form offered no way to change a field, and none was tried."""
    if path == "name":
        return stored is not None
    return path in locked and path not in values


def typed_value(known: Field, text: str) -> object:  # noqa: PLR0911 - one for a kind
    """Return a number, date, list or table if the text is one.

    Other text is returned as it is: the field table refuses it.
    """
    try:
        match known.kind:
            case Kind.INTEGER:
                return int(text)
            case Kind.SECONDS:
                return float(text)
            case Kind.DATE:
                return date.fromisoformat(text)
            case Kind.LIST:
                return text.replace(",", " ").split()
            case Kind.PAIRS | Kind.CLAIMS | Kind.TEXTS:
                return dict(_pair(line) for line in text.splitlines() if line.strip())
            case _:
                return text
    except ValueError:
        return text


def text_of_value(value: object) -> object:
    """Return a stored value as a user types it."""
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    if isinstance(value, dict):
        return "\n".join(f"{name} = {text}" for name, text in value.items())
    return value.isoformat() if isinstance(value, date) else value


def _pair(line: str) -> tuple[str, str]:
    name, sign, text = line.partition("=")
    if not sign:
        raise ValueError
    return name.strip(), text.strip()


# ── who edits ───────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Editor:
    """A user who edits configurations, and the references that a form offers."""

    allowed: Allowed
    references: tuple[Reference, ...] = ()

    @property
    def locked(self) -> tuple[str, ...]:
        """The fields that a form gives this user no way to change."""
        return () if self.allowed(Permission.EDIT_SCRIPT) else SCRIPT_FIELDS

    def read(
        self, values: Mapping[str, str], stored: Configuration | None
    ) -> Edit | Errors:
        """Read a form; return what is wrong with it, or not for this user to change."""
        edit = self._read(values, stored)
        if isinstance(edit, Edit):
            return edit.errors(self.allowed) or edit
        return edit

    def candidate(
        self,
        values: Mapping[str, str],
        stored: Configuration | None,
        *,
        registry: Registry,
        secrets: Secrets,
    ) -> CandidateConfiguration | Errors:
        """Return the configuration of the form, to be tried before it is saved.

        A user who may not change configurations gets the stored one, whatever the form
        has. Raises UnknownConfiguration if there is none.
        """
        if not self.allowed(Permission.CHANGE):
            if stored is None:
                raise UnknownConfiguration
            return CandidateConfiguration(stored, stored, DraftSecrets(stored, secrets))
        edit = self._read(values, stored)
        if not isinstance(edit, Edit):
            return edit
        errors = edit.errors(self.allowed)
        if stored is None and registry.find([edit.configuration.name]):
            # A draft must not use the permits and the audit of another configuration.
            errors["name"] = configuration_exists()
        return errors or edit.candidate(secrets)

    def _read(
        self, values: Mapping[str, str], stored: Configuration | None
    ) -> Edit | Errors:
        references = self.references
        return Edit.read(values, stored, references=references, locked=self.locked)
