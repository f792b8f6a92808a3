"""Differences of a document, field by field, with the names that the document uses.

A secret is named by its reference or version, never by its value. Long values are
shortened.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain

from outkey.foundation.core.fields.changes import FieldChange
from outkey.foundation.core.secret import MASK
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.configuration.custom_rows import (
    CustomRow,
    is_row_secret,
)
from outkey.sending.core.configuration.fields import BY_PATH, path_of_secret
from outkey.sending.core.configuration.placeholders import (
    is_placeholder,
    is_secret_parameter,
)
from outkey.sending.core.configuration.secret_state import SecretState
from outkey.sending.core.connections.entered_facts import FACTS
from outkey.sending.core.connections.variables import variable_field
from outkey.sync.core.databases.section import OtherDatabase, database_table
from outkey.sync.core.line.history import compared_values
from outkey.sync.core.line.line import SyncLine
from outkey.sync.core.line.versions import compare_lines, table_changes
from outkey.sync.core.pairs.section import Pair, pair_table
from outkey.webhooks.core.settings.section import REFERENCES, webhook_table
from outkey.webhooks.core.settings.settings import Webhook
from outkey.webhooks.core.settings.stored import StoredWebhook

_PARAMETER = re.compile(r"([?&])([\w.-]+)=([^&#\s]*)")


@dataclass(frozen=True, slots=True)
class SectionDifference:
    """A created or updated entry, with its fields that differ from the stored one."""

    section: str  # configuration, connection, line, database, pair or webhook
    name: str
    is_new: bool
    fields: tuple[FieldChange, ...]

    @property
    def outcome(self) -> str:
        """Whether it is created or updated."""
        return "created" if self.is_new else "updated"

    def facts(self) -> dict[str, object]:
        """Return the difference as programs read it; null where nothing is set."""
        return {
            "section": self.section,
            "name": self.name,
            "outcome": self.outcome,
            "fields": [
                {
                    "field": change.path,
                    "old": change.old or None,
                    "new": change.new or None,
                }
                for change in self.fields
            ],
        }


def configuration_difference(
    stored: Configuration | None, made: Configuration
) -> SectionDifference:
    """Return the differences between two versions of a configuration.

    For a new configuration, these are the settings without their default value.
    """
    after = made.values()
    if stored is None:
        before: Mapping[str, object] = {
            path: value
            for path, value in after.items()
            if value == BY_PATH[path].default and not BY_PATH[path].is_always_written
        }
    else:
        before = stored.values()
    changes = chain(
        map(_without_credential, table_changes(before, after)),
        table_changes(_secret_texts(stored, made), _secret_texts(made, stored)),
        row_changes(stored, made),
    )
    return SectionDifference("configuration", made.name, stored is None, tuple(changes))


def connection_difference(
    name: str, stored: Configuration | None, made: Configuration
) -> SectionDifference:
    """Return the differences between two versions of a connection."""
    facts = table_changes(_connection_facts(stored), _connection_facts(made))
    secrets = table_changes(
        _account_secrets(stored, made), _account_secrets(made, stored)
    )
    changes = (*map(_without_credential, facts), *secrets)
    return SectionDifference("connection", name, stored is None, changes)


def _connection_facts(configuration: Configuration | None) -> dict[str, object]:
    """Return the facts and variables of a connection, to be compared."""
    connection = configuration.connection if configuration else None
    if connection is None:
        return {}
    facts = {name: getattr(connection, name) for name in FACTS}
    variables = {
        variable_field(name): value for name, value in connection.variables.items()
    }
    return {name: value for name, value in facts.items() if value} | variables


def _account_secrets(
    configuration: Configuration | None, other: Configuration | None
) -> dict[str, object]:
    """Return how each secret of an account is stored, to be compared."""
    if configuration is None:
        return {}
    return {
        name: secret_text(name, configuration, other)
        for name in configuration.secrets
        if configuration.is_of_account(name)
    }


def _without_credential(change: FieldChange) -> FieldChange:
    """Return a change without values that a name betrays as secrets.

    Such as of a parameter `api_key` among others of free choice, or in a query.
    """
    name = change.path.rpartition(".")[2]
    if change.path not in BY_PATH and is_secret_parameter(name):
        return _hidden_change(change, hides_old=True, hides_new=True)
    old = _PARAMETER.sub(_masked_parameter, change.old)
    new = _PARAMETER.sub(_masked_parameter, change.new)
    return FieldChange(change.path, old, new)


def _masked_parameter(match: re.Match[str]) -> str:
    """Return a parameter of a URL or path; without its value if it may be a secret."""
    before, name, value = match.groups()
    if is_secret_parameter(name) and not is_placeholder(value):
        value = MASK
    return f"{before}{name}={value}"


def row_changes(
    stored: Configuration | None, made: Configuration
) -> Iterator[FieldChange]:
    """Yield the header and query rows that differ.

    A value in clear text is not shown where it may be a secret: the row is called like
    one, or is a secret in the other version, as after a correction.
    """
    old_rows = _rows_by_path(stored)
    new_rows = _rows_by_path(made)
    for change in table_changes(_row_texts(stored, made), _row_texts(made, stored)):
        rows = (old_rows.get(change.path), new_rows.get(change.path))
        may_be_secret = any(
            row.secret or is_secret_parameter(row.key) for row in rows if row
        )
        hides_old, hides_new = (
            may_be_secret and row is not None and not row.secret for row in rows
        )
        yield _hidden_change(change, hides_old=hides_old, hides_new=hides_new)


def _hidden_change(
    change: FieldChange, *, hides_old: bool, hides_new: bool
) -> FieldChange:
    """Return a change that shows only whether there was, and is, a value."""
    old, new = change.old, change.new
    if hides_old and old:
        old = "not shown"
    if hides_new and new:
        new = "another value, not shown" if hides_old and old else "not shown"
    return FieldChange(change.path, old, new)


def _rows_by_path(configuration: Configuration | None) -> dict[str, CustomRow]:
    """Return the header and query rows by the names that differences have."""
    if configuration is None:
        return {}
    return {
        f"{path}.{row.key}": row
        for path, rows in configuration.rows_by_path.items()
        for row in rows
    }


def _secret_texts(
    configuration: Configuration | None, other: Configuration | None
) -> dict[str, str]:
    """Return how each secret is stored, by name, to compare with another version."""
    if configuration is None:
        return {}
    settings = configuration.values()
    return {
        path_of_secret(name, settings): secret_text(name, configuration, other)
        for name in configuration.secrets
        if not is_row_secret(name)
    }


def _row_texts(
    configuration: Configuration | None, other: Configuration | None
) -> dict[str, str]:
    """Return the header and query rows by name, to compare with another version."""
    if configuration is None:
        return {}
    return {
        path: row_text(row, configuration, other)
        for path, row in _rows_by_path(configuration).items()
    }


def row_text(
    row: CustomRow, configuration: Configuration, other: Configuration | None
) -> str:
    """Return the value of a row, or how it is stored if it is a secret."""
    if not row.secret:
        return row.value
    parts = (row.value, secret_text(row.secret_field, configuration, other))
    return ", ".join(filter(None, parts))


def secret_text(
    name: str, configuration: Configuration, other: Configuration | None
) -> str:
    """Return how a secret is stored, with its origin if only that differs."""
    state = configuration.secrets.get(name)
    if state is None:
        return "secret, not set"
    text = _storage_text(state)
    twin = other.secrets.get(name) if other else None
    if twin is not None and twin.origin != state.origin and _storage_text(twin) == text:
        return f"{text} for {state.origin.replace(' ', ' and ')}"
    return text


def _storage_text(state: SecretState) -> str:
    """Return a secret's reference, or the version of its stored value."""
    return str(state.reference or f"stored, version {state.version}")


def line_difference(stored: SyncLine | None, made: SyncLine) -> SectionDifference:
    """Return the differences between two versions of a sync line."""
    # Without what a user wrote: a default that is written out is not a difference.
    before = compared_values(replace(stored, source="")) if stored else {}
    after = compared_values(replace(made, source=""))
    changes = compare_lines(before, after).changes
    return SectionDifference("line", made.name, stored is None, changes)


def database_difference(
    stored: OtherDatabase | None, made: OtherDatabase
) -> SectionDifference:
    """Return the differences between two versions of another database."""
    before = database_table(stored) if stored else {}
    changes = table_changes(before, database_table(made))
    return SectionDifference("database", made.name, stored is None, tuple(changes))


def pair_difference(stored: Pair | None, made: Pair) -> SectionDifference:
    """Return the differences between two versions of a pair."""
    before = pair_table(stored) if stored else {}
    changes = table_changes(before, pair_table(made))
    return SectionDifference("pair", made.name, stored is None, tuple(changes))


def webhook_difference(
    stored: StoredWebhook | None, made: Webhook
) -> SectionDifference:
    """Return the differences between two versions of a webhook."""
    before: Mapping[str, object] = {}
    after = webhook_table(made)
    if stored is not None:
        before = _webhook_values(stored)
        after = _webhook_values(stored.with_settings(made))
    changes = tuple(table_changes(before, after))
    return SectionDifference("webhook", made.name, stored is None, changes)


def _webhook_values(stored: StoredWebhook) -> dict[str, object]:
    """Return the settings of a webhook, and the versions of its stored secrets.

    A secret that is for another scheme has that one's name.
    """
    values: dict[str, object] = {
        name: f"stored, version {secret.version}"
        for name, secret in stored.secrets.items()
        if name in REFERENCES
    } | webhook_table(stored.webhook)
    for name in REFERENCES:
        if stored.is_of_other_scheme(name):
            values[name] = f"{values[name]} for {stored.bound.get(name, '')}".rstrip()
    return values
