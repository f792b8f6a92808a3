"""Doing what a diagnosis proposes: the difference is shown first, and then the change is made."""

import re
from dataclasses import replace

from outkey.core.access.permissions import Permission, requirements
from outkey.core.config.configuration import Configuration, HeaderRow
from outkey.core.config.document import Draft
from outkey.core.config.field_kinds import Kind
from outkey.core.config.fields import BY_PATH, FIELDS
from outkey.core.diagnosis import Fix
from outkey.core.errors import ConfigError
from outkey.core.text import Text
from outkey.engine.managing.changes import Administration, ConfigurationChange
from outkey.engine.wire.transmit import SendContext

_ROW_KEY = re.compile(r"headers\[(\d+)\]\.key")
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]")
_SCHEME = re.compile(
    r"(?:(?:authorization|x-[a-z-]{2,30})\s*[:=]\s*)?"
    r"(?:(?:(?:bearer|basic|token|api-?key)[\s:=]|access_token=)\s*)*",
    re.IGNORECASE,
)
_AROUND = " \t\r\n\u00a0\"'`\u2018\u2019\u201c\u201d"


def difference(configuration: Configuration, fix: Fix) -> list[tuple[str, str, str]]:
    """Return what a fix would change: label, before, after. Secrets are described, not shown."""
    rows = []
    for path, after in fix.changes:
        if found := _ROW_KEY.fullmatch(path):
            before = configuration.headers[int(found[1])].key
            rows.append(
                (f"{BY_PATH['headers'].label} {int(found[1]) + 1}", before, after)
            )
        else:
            rows.append(
                (BY_PATH[path].label, str(configuration.values().get(path, "")), after)
            )
    if fix.tidied:
        labels = {field.secret_name: field.label for field in FIELDS if field.secret}
        label = labels.get(fix.tidied, fix.tidied.removeprefix("header:"))
        rows.append(
            (
                label,
                Text("as entered"),
                Text("without quotes, spaces and the name of a scheme"),
            )
        )
    return rows


def apply_fix(desk: Administration, context: SendContext, name: str, fix: Fix) -> None:
    """Change what a fix names; a value that a reference points to is not ours to change."""
    stored = desk.registry.get(name)
    secrets = {}
    if fix.tidied:
        _refuse_reference(stored, fix.tidied)
        value = context.open(stored, fix.tidied)
        secrets[fix.tidied] = value.derive(untangled)
    changed = changed_by(fix, stored)
    for old, new in zip(stored.headers, changed.headers, strict=True):
        if old.secret and old.key != new.key:
            _refuse_reference(stored, old.secret_field)
            secrets[new.secret_field] = context.open(stored, old.secret_field)
    desk.save(ConfigurationChange(stored, changed, secrets))


def permissions_for(fix: Fix, stored: Configuration) -> set[Permission]:
    """Return what a user needs to apply a fix: the same as for making its change by hand."""
    tidied = [fix.tidied] if fix.tidied else []
    changed = changed_by(fix, stored)
    needed = {need.permission for need in requirements(stored, changed, tidied)}
    if changed.base.origin != stored.base.origin:
        # Every secret must be entered again after that, which is the next thing to do.
        needed.add(Permission.SET_SECRET)
    return needed


def changed_by(fix: Fix, stored: Configuration) -> Configuration:
    """Return the configuration as it will be stored after a fix."""
    values = {
        path: after == "true" if BY_PATH[path].kind is Kind.FLAG else after
        for path, after in fix.changes
        if not _ROW_KEY.fullmatch(path)
    }
    return Draft(stored.name, values, _renamed(stored, fix), {}).merged(stored)


def untangled(text: str) -> str:
    """Remove what came along when a secret was copied: quotes, invisible characters, a scheme."""
    text = _INVISIBLE.sub("", text).strip(_AROUND)
    return _SCHEME.sub("", text, count=1).strip(_AROUND)


def _renamed(stored: Configuration, fix: Fix) -> tuple[HeaderRow, ...]:
    rows = list(stored.headers)
    for path, key in fix.changes:
        if found := _ROW_KEY.fullmatch(path):
            rows[int(found[1])] = replace(rows[int(found[1])], key=key)
    return tuple(rows)


def _refuse_reference(stored: Configuration, field: str) -> None:
    state = stored.secrets.get(field)
    if state is not None and state.reference is not None:
        message = Text("the value is a reference, so outkey cannot change it")
        hint = Text("Correct the value that the reference points to.")
        raise ConfigError(message, hint=hint, field=field)
