"""Shapes of the values of shared states, by their kind.

A value of another form was not written by outkey. It is read as an odd, empty table:
most states then start again, and what cannot is reported as unreadable.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import lru_cache
from typing import Any, TypeVar

from outkey.foundation.core.errors import OutkeyError
from outkey.foundation.core.shared_state import SharedState, StateKind
from outkey.foundation.core.stored_values import (
    OddCount,
    OddTable,
    is_odd,
    read_count,
    read_table,
    read_time,
)

MAX_GENERATION = 2**62
Value = TypeVar("Value")
Check = Callable[[object], bool]
Shape = Mapping[str, Check]  # by the name of the member; one with ? may be missing


def is_text(value: object) -> bool:
    """Whether a member is a text."""
    return isinstance(value, str)


def is_flag(value: object) -> bool:
    """Whether a member is true or false."""
    return isinstance(value, bool)


def is_count(value: object) -> bool:
    """Whether a member is a whole number that is not negative."""
    return not is_odd(read_count(value))


def is_time(value: object) -> bool:
    """Whether a member is a Unix time, or a number of seconds."""
    return not is_odd(read_time(value))


def is_table(value: object) -> bool:
    """Whether a member is a table, of whatever form."""
    return isinstance(value, dict)


def or_null(check: Check) -> Check:
    """Let a member be null."""
    return lambda value: value is None or check(value)


def list_of(check: Check) -> Check:
    """Let a member be a list."""
    return lambda value: isinstance(value, list) and all(map(check, value))


def pair_of(first: Check, second: Check) -> Check:
    """Let a member be a list of two."""

    def is_pair(value: object) -> bool:
        if not isinstance(value, list) or len(value) != 2:
            return False
        return first(value[0]) and second(value[1])

    return is_pair


def map_of(check: Check, key: Check = is_text) -> Check:
    """Let a member be a table whose members are all alike."""

    def is_map(value: object) -> bool:
        if not isinstance(value, dict):
            return False
        return all(map(key, value)) and all(map(check, value.values()))

    return is_map


def table_of(shape: Shape) -> Check:
    """Let a member be a table with these members."""
    return lambda value: isinstance(value, dict) and has_shape(value, shape)


def is_number_text(value: object) -> bool:
    """Whether a member is a whole number as a text."""
    return isinstance(value, str) and value.isdecimal() and len(value) < 20


COUNTS = map_of(is_count)
SHAPES: Mapping[StateKind, Shape] = {
    StateKind.API_TOKEN: {
        "name": is_text,
        "digest": is_text,
        "scopes": list_of(is_text),
        "created_at": is_time,
        "created_by": is_text,
        "records": or_null(list_of(is_text)),
        "owners?": or_null(list_of(is_text)),
        "expires_at?": or_null(is_time),
        "revoked_at?": or_null(is_time),
        "allow_internal?": is_flag,
        "allow_targets?": is_flag,
        "per_minute?": is_count,
    },
    StateKind.API_TOKEN_NAME: {"digest": is_text},
    StateKind.BASELINE: {
        "origins": list_of(is_text),
        "hours": list_of(pair_of(is_count, is_count)),
        "refused": is_count,
    },
    StateKind.CONNECT_LINK: {
        "digest": is_text,
        "expires_at": is_time,
        "made_by": is_text,
        "return_url": is_text,
        "allow_other_account": is_flag,
        "tries": is_count,
    },
    StateKind.CONNECT_LINK_HASH: {"link": is_text, "expires_at": is_time},
    StateKind.DATABASE: {},
    StateKind.HOLD: {},
    StateKind.HOOK_ACTIVITY: {
        "last_at?": or_null(is_time),
        "count?": is_count,
        "gaps?": list_of(pair_of(is_count, is_time)),
    },
    StateKind.HOOK_ENDPOINT: {"webhook": is_text},
    StateKind.HOOK_REFUSALS: {
        "total?": COUNTS,
        "minute?": is_count,
        "at?": is_time,
        "recent?": COUNTS,
        "hours?": map_of(COUNTS, is_number_text),
        "explained?": map_of(pair_of(is_text, is_text)),
    },
    StateKind.HOOK_SAMPLE: {
        "endpoint": is_text,
        "actor": is_text,
        "at": is_time,
    },
    StateKind.LEASE: {"holder": is_text, "until": is_time},
    StateKind.LINE_SHAPE: {
        "source": is_text,
        "fields": map_of(is_table),
        "records": is_count,
        "is_full": is_flag,
        "pages": is_table,
        "recorded_at": is_time,
        "drift": list_of(is_table),
        "next_fields": map_of(is_table),
        "next_pages": is_table,
    },
    StateKind.MARK: {
        "at?": is_time,
        "ok?": is_flag,
        "position?": is_count,
        "last?": is_count,
        "gaps?": list_of(pair_of(is_count, is_time)),
    },
    StateKind.METRIC_RUNS: {
        "runs?": COUNTS,
        "records?": COUNTS,
        "done_at?": is_time,
        "counted?": map_of(COUNTS),
    },
    StateKind.METRIC_SENDS: {
        "sends?": COUNTS,
        "renewals?": COUNTS,
        "refusals?": COUNTS,
        "rotation_steps?": COUNTS,
        "durations?": list_of(is_count),
        "seconds?": is_time,
    },
    StateKind.NOTICE: {
        "kind": is_text,
        "configuration": is_text,
        "about": is_text,
        "opened_at": is_time,
    },
    StateKind.PAIR: {},
    StateKind.LINE_START: {"since": is_text, "at?": is_time},
    StateKind.PAUSED_LINE: {"at?": is_time},
    StateKind.PROCESS: {"host": is_text, "keys": list_of(is_text), "seen_at": is_time},
    StateKind.RATE_LIMIT: {
        "drained_at": is_time,
        "quiet_until": is_time,
        "spent_until?": is_time,
        "at?": is_time,
    },
    StateKind.RUN_PAUSE: {"until": is_time, "at?": is_time},
    StateKind.TABLE: {
        "columns": map_of(
            table_of(
                {
                    "kind": is_text,
                    "longest?": is_count,
                    "precision?": is_count,
                    "scale?": is_count,
                    "is_double?": is_flag,
                }
            )
        ),
        "keys": list_of(is_text),
        "archives": is_flag,
        "has_id?": is_flag,
        "id_column?": is_text,
        "fills_ids?": is_flag,
        "is_made?": is_flag,
        "is_partial?": is_flag,
        "refilled_by?": list_of(is_text),
        "first_id?": is_count,
        "next_id?": is_count,
    },
    StateKind.TOKEN_BESIDE: {
        "serial": is_count,
        "origin": is_text,
        "sealed": is_text,
        "facts": is_table,
    },
    StateKind.TRIAL: {
        "good": is_count,
        "refused": is_count,
        "denied": is_count,
        "cause": is_text,
        "holder": is_text,
        "until": is_time,
    },
    StateKind.USER_OWNERS: {"owners?": list_of(is_text)},
    StateKind.WEBHOOK: {
        "settings": is_table,
        "endpoint": is_text,
        "paused": is_flag,
        "secrets": map_of(
            table_of(
                {
                    "version": is_count,
                    "sealed": is_text,
                    "set_at?": is_time,
                    "set_by?": is_text,
                }
            )
        ),
        "bound?": map_of(is_text),
    },
    StateKind.WORKER: {"at": is_time},
}


# Read for each delivery and seldom changed: the form of their text is checked once.
SELDOM_CHANGED = frozenset({StateKind.WEBHOOK, StateKind.HOOK_ENDPOINT})


def has_shape(table: Mapping[str, object], shape: Shape) -> bool:
    """Whether a table has these members; it may have others."""
    for member, check in shape.items():
        name = member.removesuffix("?")
        if name in table:
            if not check(table[name]):
                return False
        elif member == name:
            return False
    return True


def read_each(
    states: Mapping[str, SharedState], read: Callable[[str, SharedState], Value]
) -> dict[str, Value | None]:
    """Return the value of each state, sorted by key; None for an unreadable one."""
    return {key: read_one(key, state, read) for key, state in sorted(states.items())}


def without_value(values: Mapping[str, object]) -> list[str]:
    """Return the keys of what could not be read."""
    return [key for key, value in values.items() if value is None]


def read_one(
    key: str, state: SharedState, read: Callable[[str, SharedState], Value]
) -> Value | None:
    """Return the value of a state; None if it cannot be read."""
    try:
        return None if is_odd(state.value) else read(key, state)
    except (OutkeyError, ValueError, LookupError):
        return None


def known_members(cls: type, facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the members of a stored table that a dataclass has fields for."""
    names = {field.name for field in fields(cls)}
    return {name: value for name, value in facts.items() if name in names}


def read_state(kind: StateKind, generation: object, stored: object) -> SharedState:
    """Return a state of a table: its generation, and its value as JSON or a table."""
    number = read_count(generation)
    if not 0 < number < MAX_GENERATION:
        return SharedState(OddCount(), OddTable())
    if kind in SELDOM_CHANGED and isinstance(stored, str):
        value = json.loads(stored) if is_well_formed(kind, stored) else OddTable()
        return SharedState(number, value)
    value = read_table(stored)
    return SharedState(number, value if has_shape(value, SHAPES[kind]) else OddTable())


@lru_cache(maxsize=256)
def is_well_formed(kind: StateKind, text: str) -> bool:
    """Whether a stored text has the form of its kind."""
    value = read_table(text)
    return not is_odd(value) and has_shape(value, SHAPES[kind])
