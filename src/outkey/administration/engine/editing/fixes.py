"""Applying the fix that a diagnosis proposes, after its difference was shown."""

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from outkey.administration.engine.editing.administration import Administration
from outkey.administration.engine.editing.changes import ConfigurationChange
from outkey.administration.engine.editing.connections import (
    ConnectionAdministration,
)
from outkey.administration.engine.editing.editing import ROW_PREFIXES, entered_rows
from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.fields.field_kinds import Kind
from outkey.foundation.core.permission import Permission
from outkey.foundation.core.text import Text
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.configuration.connect_settings import USERNAME
from outkey.sending.core.configuration.custom_rows import ROW_KINDS, CustomHeader
from outkey.sending.core.configuration.drafts import ConfigurationDraft
from outkey.sending.core.configuration.fields import (
    BY_PATH,
    path_of_secret,
    secret_label,
)
from outkey.sending.core.configuration.pasted import tidy_secret
from outkey.sending.core.configuration.permissions import requirements
from outkey.sending.core.diagnosis.evidence import Fix
from outkey.sending.engine.wire.context import SendContext

_ROW_KEY = re.compile(r"headers\[(\d+)\]\.key")


def difference(configuration: Configuration, fix: Fix) -> list[tuple[str, str, str]]:
    """Return the changes of a fix: label, before, after.

    Secrets are described, not shown.
    """
    rows = []
    for path, after in fix.changes:
        number = row_number(path)
        if number is None:
            label = BY_PATH[path].label
            before = str(configuration.values().get(path, ""))
        else:
            label = Text(
                "{label} {number}", label=BY_PATH["headers"].label, number=number + 1
            )
            before = configuration.headers[number].key
        rows.append((label, before, after))
    if fix.tidied:
        rows.append(
            (
                secret_label(fix.tidied),
                Text("as entered"),
                Text("without quotes, spaces and what was pasted before the value"),
            )
        )
    return rows


def form_changes(fix: Fix, values: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return the inputs of an unsaved form that a fix changes, with their new values.

    `values` is the form as `editing.editing` describes it. There is nothing to
    change in the form if the fix is about a secret that was not entered in it: the list
    is empty then. A secret is not returned but marked, to be tidied when it is read.
    """
    rows = list(entered_rows(values))
    changes = []
    for path, after in fix.changes:
        number = row_number(path)
        name = path if number is None else f"row-key-{rows[number].number}"
        changes.append((name, after))
    if fix.tidied:
        mark = _tidy_mark(fix.tidied, values)
        if not mark:
            return []
        changes.append((mark, "on"))
    return changes


def changed_field(fix: Fix) -> str:
    """Return the path of the field that a fix changes first, for a page to go there."""
    if fix.changes:
        path = fix.changes[0][0]
        return path if row_number(path) is None else "headers"
    return path_of_secret(fix.tidied, {})


def _tidy_mark(secret: str, values: Mapping[str, str]) -> str:
    """Return the input that marks an entered secret to be tidied, or "".

    A secret that is stored already is not in the form.
    """
    path = path_of_secret(secret, values)
    if path in BY_PATH:
        is_entered = values.get(f"secret:{path}") or values.get(f"lines:{path}")
        return f"tidy:{path}" if is_entered else ""
    for path, kind in ROW_KINDS.items():
        for row in entered_rows(values, path):
            if row.secret and kind(row.key, "", secret=True).secret_field == secret:
                return f"{ROW_PREFIXES[path]}-tidy-{row.number}"
    return ""


def apply_fix(
    administration: Administration, context: SendContext, name: str, fix: Fix
) -> None:
    """Save what a fix changes; a value that a reference points to cannot be changed."""
    stored = administration.registry.get(name)
    secrets = {}
    if fix.tidied:
        _refuse_reference(stored, fix.tidied)
        value = context.open(stored, fix.tidied)
        secrets[fix.tidied] = value.derive(partial(tidy_secret, fix.tidied))
    successor = _configuration_after(fix, stored)
    for old, new in zip(stored.headers, successor.headers, strict=True):
        if old.secret and old.key != new.key:
            _refuse_reference(stored, old.secret_field)
            secrets[new.secret_field] = context.open(stored, old.secret_field)
    administration.save(ConfigurationChange(stored, successor, secrets))


def apply_fix_to_account(
    administration: Administration,
    context: SendContext,
    name: str,
    connection: str,
    fix: Fix,
) -> None:
    """Save what a fix changes that the test of an account has shown.

    The user name and the secrets of the account are its own; what else is wrong about
    the settings is corrected for all accounts of the configuration.
    """
    account = administration.current(name, connection)
    if fix.tidied and account.is_of_account(fix.tidied):
        _refuse_reference(account, fix.tidied)
        value = context.open(account, fix.tidied)
        tidied = value.derive(partial(tidy_secret, fix.tidied))
        administration.set_secret(name, fix.tidied, tidied, seen=account)
        return
    changes = dict(fix.changes)
    if USERNAME in changes and USERNAME not in account.connect.shared:
        facts = {USERNAME: changes.pop(USERNAME)}
        accounts = ConnectionAdministration(administration, context.clock)
        accounts.update(name, connection, facts)
    if changes or fix.tidied:
        rest = replace(fix, changes=tuple(changes.items()))
        apply_fix(administration, context, name, rest)


def permissions_for(fix: Fix, stored: Configuration) -> set[Permission]:
    """Return the permissions to apply a fix: the same as for its change by hand."""
    secrets = [fix.tidied] if fix.tidied else []
    successor = _configuration_after(fix, stored)
    needs = {need.permission for need in requirements(stored, successor, secrets)}
    if successor.base.origin != stored.base.origin:
        # Every secret must be entered again after that, which is the next thing to do.
        needs.add(Permission.SET_SECRET)
    return needs


def _configuration_after(fix: Fix, stored: Configuration) -> Configuration:
    """Return the configuration as it will be stored after a fix."""
    values = {
        path: after == "true" if BY_PATH[path].kind is Kind.FLAG else after
        for path, after in fix.changes
        if row_number(path) is None
    }
    draft = ConfigurationDraft(
        stored.name, values, _headers_after(fix, stored), query=None, references={}
    )
    return draft.merged(stored)


def _headers_after(fix: Fix, stored: Configuration) -> tuple[CustomHeader, ...]:
    """Return the header rows with the names that a fix gives them."""
    rows = list(stored.headers)
    for path, key in fix.changes:
        number = row_number(path)
        if number is not None:
            rows[number] = replace(rows[number], key=key)
    return tuple(rows)


def row_number(path: str) -> int | None:
    """Return the number of the header row whose name a path means; None for a field."""
    match = _ROW_KEY.fullmatch(path)
    return int(match[1]) if match else None


def _refuse_reference(stored: Configuration, field: str) -> None:
    """Raise ConfigError for a secret whose value is stored elsewhere."""
    state = stored.secrets.get(field)
    if state is not None and state.reference is not None:
        message = Text("the value is a reference, so outkey cannot change it")
        hint = Text("Correct the value that the reference points to.")
        raise ConfigError(message, hint=hint, field=field)
