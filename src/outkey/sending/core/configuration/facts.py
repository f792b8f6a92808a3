"""Configurations as programs read and write them, in JSON; of secrets only their state.

The keys are those of the TOML. What `configuration_facts` returns can be changed and
handed to `written_table`: the states of secrets are left out there, so that they stay
as they are.
"""

from collections.abc import Mapping

from outkey.foundation.core.errors import InvalidRequest
from outkey.foundation.core.moments import iso_or_none
from outkey.foundation.core.text import Text
from outkey.sending.core.configuration.configuration import VALUE_FIELDS, Configuration
from outkey.sending.core.configuration.custom_rows import (
    ROW_KINDS,
    CustomRow,
    is_row_secret,
)
from outkey.sending.core.configuration.fields import BY_PATH, SECTIONS, other_type_of
from outkey.sending.core.configuration.health import Status, Summary

_SHOWN_ONLY = ("findings", "proxy_in_use")
_UNSET_BY_NULL = frozenset(
    path for path, field in VALUE_FIELDS.items() if field.default is None
)


def summary_facts(summary: Summary, status: Status) -> dict[str, object]:
    """Return a row of the list."""
    facts = summary._asdict()
    verified = facts.pop("health").verified_at
    return {
        **facts,
        "status": str(status),
        "last_verified_at": iso_or_none(verified),
    }


def configuration_facts(configuration: Configuration) -> dict[str, object]:
    """Return a configuration by its TOML keys; of a secret, whether and since when."""
    facts: dict[str, object] = {"name": configuration.name}
    settings = configuration.values()
    for path, value in settings.items():
        # What was entered for another type or grant stays stored, but could not be
        # written back.
        is_of_type = other_type_of(path, configuration.authentication_type) is None
        if is_of_type and not BY_PATH[path].is_refused(settings):
            _set_fact(facts, path, value)
    for field in configuration.needed_secrets():
        if not is_row_secret(field):
            facts[field] = secret_facts(configuration, field)
    for path, rows in configuration.rows_by_path.items():
        if BY_PATH[path].is_refused(settings):
            continue
        _set_fact(facts, path, [row_facts(configuration, row) for row in rows])
    return facts


def _set_fact(facts: dict[str, object], path: str, value: object) -> None:
    """Set a fact in the table of its section, as a document has it."""
    section, _, key = path.rpartition(".")
    table = facts
    for name in filter(None, section.split(".")):
        inner = table.setdefault(name, {})
        assert isinstance(inner, dict)  # noqa: S101 - for the type checker
        table = inner
    table[key] = value


def row_facts(configuration: Configuration, row: CustomRow) -> dict[str, object]:
    """Return a header or query row; of a secret one, the text around the secret."""
    if not row.secret:
        return {"key": row.key, "value": row.value, "secret": False}
    facts: dict[str, object] = {
        "key": row.key,
        "value": secret_facts(configuration, row.secret_field),
        "secret": True,
    }
    if row.value:
        facts["text"] = row.value
    return facts


def secret_facts(configuration: Configuration, field: str) -> dict[str, object]:
    """Return whether a secret is set, since when, and where it is read from."""
    state = configuration.secrets.get(field)
    return {
        "set": state is not None,
        "set_at": iso_or_none(state.set_at) if state else None,
        "reference": str(state.reference) if state and state.reference else None,
    }


def written_table(name: str, facts: Mapping[str, object]) -> dict[str, object]:
    """Return the table of a document that these facts describe.

    Null unsets a setting that has no default, such as a limit; else it means the same
    as a key that is missing.
    """
    if facts.get("name", name) != name:
        raise InvalidRequest(
            Text("the name in the body is not the one in the URL"),
            hint=Text("Leave it out: the name of a configuration does not change."),
            field="name",
        )
    settings = {
        key: value
        for key, value in facts.items()
        if key != "name" and key not in _SHOWN_ONLY
    }
    return _written_section(settings, "")


def _written_section(facts: Mapping[str, object], prefix: str) -> dict[str, object]:
    """Return the table of a section, or of the whole configuration."""
    table: dict[str, object] = {}
    for key, value in facts.items():
        path = prefix + key
        if _is_left_out(value, path):
            continue
        if path in ROW_KINDS and isinstance(value, list):
            table[key] = [written_row(row) for row in value]
        elif path in SECTIONS and isinstance(value, dict):
            table[key] = _written_section(value, f"{path}.")
        else:
            table[key] = value
    return table


def written_row(row: object) -> object:
    """Return a header or query row as a document has it."""
    if not isinstance(row, dict):
        return row
    written = {key: value for key, value in row.items() if not _is_left_out(value)}
    if "text" in written and "value" not in written:
        written["value"] = written.pop("text")
    return written


def _is_left_out(value: object, path: str = "") -> bool:
    """Whether a value is not stored: null, or the state of a secret."""
    if value is None:
        return path not in _UNSET_BY_NULL
    return isinstance(value, dict) and value.keys() == {"set", "set_at", "reference"}
