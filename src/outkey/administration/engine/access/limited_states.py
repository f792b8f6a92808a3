"""The shared states that a limited user or token sees.

Each state belongs to a configuration, a line, a webhook or a pair. A kind without a
rule here belongs to the whole installation: its states look as if there were none.
"""

from collections.abc import Callable, Collection, Mapping
from functools import cached_property
from typing import Any

from outkey.foundation.core.errors import HostError
from outkey.foundation.core.shared_state import SharedState, StateKind
from outkey.foundation.ports.database import StateRows
from outkey.sending.core.configuration.owners import out_of_reach
from outkey.sync.engine.line_registry import Registry

Value = Mapping[str, Any]


class Names:
    """Names of configurations and lines: those of a registry, read when needed."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    @cached_property
    def configurations(self) -> set[str]:
        """The names of the configurations."""
        return {summary.name for summary in self._registry.summaries()}

    @cached_property
    def lines(self) -> set[str]:
        """The names of the sync lines."""
        return {line.name for line in self._registry.timetable()}


class LimitedStates:
    """The states of the configurations within a reach.

    `registry` has these configurations, `whole` has all.
    """

    def __init__(self, states: StateRows, registry: Registry, whole: Registry) -> None:
        self._states = states
        self._registry = registry
        self._whole = whole

    def read(
        self, kind: StateKind, keys: Collection[str] | None = None
    ) -> dict[str, SharedState]:
        if kind in _OF_ALL:
            return self._states.read(kind, keys)
        if kind not in _RULES:
            return {}
        states = self._read(kind, keys)
        if not states:
            return {}
        includes = _RULES[kind]
        names = Names(self._registry)
        visible = {
            key: state
            for key, state in states.items()
            if includes(self, names, key, _table(state.value))
        }
        if keys is not None:
            for state in visible.values():
                if state.error is not None:
                    raise state.error
        return visible

    def swap(
        self, kind: StateKind, key: str, generation: int, value: Mapping[str, Any]
    ) -> bool:
        self._refuse_others(kind, {key: value})
        return self._states.swap(kind, key, generation, value)

    def put(
        self, kind: StateKind, values: Mapping[str, Mapping[str, Any] | None]
    ) -> None:
        self._refuse_others(kind, values)
        self._states.put(kind, values)

    def webhooks(self, names: Names) -> dict[str, str]:
        """Return the webhooks of some configurations: their endpoints, by name."""
        return {
            key: str(value.get("endpoint", ""))
            for key, state in self._states.read(StateKind.WEBHOOK).items()
            if _webhook(self, names, key, value := _table(state.value))
        }

    def _read(
        self, kind: StateKind, keys: Collection[str] | None
    ) -> dict[str, SharedState]:
        """Return states; those that may not be used with their errors.

        An error of a state must not show that there is one which is not visible.
        """
        try:
            return self._states.read(kind, keys)
        except HostError:
            listed = self._states.read(kind)
            return {key: state for key, state in listed.items() if key in (keys or ())}

    def _refuse_others(self, kind: StateKind, values: Mapping[str, object]) -> None:
        """Raise ScopeMissing unless all of this is, and will be, within the reach.

        What belongs to nothing that is stored, as the states of what was just deleted,
        can be written.
        """
        if not values:
            return
        if kind not in _RULES:
            raise out_of_reach()
        includes = _RULES[kind]
        visible = Names(self._registry)
        every = Names(self._whole)
        stored = self._read(kind, [*values])
        for key, value in values.items():
            found = [state.value for state in (stored.get(key),) if state is not None]
            written = [] if value is None else [value]
            for table in map(_table, [*found, *written] or [{}]):
                is_hidden = kind in _BY_VALUE or includes(self, every, key, table)
                if is_hidden and not includes(self, visible, key, table):
                    raise out_of_reach()


def _table(value: object) -> Value:
    """Return a stored value; an empty one where another program has changed it."""
    return value if isinstance(value, Mapping) else {}


def _configuration_of(webhook: Value) -> object:
    return _table(webhook.get("settings")).get("configuration", "")


def _by_configuration(
    _states: LimitedStates, names: Names, key: str, _value: Value
) -> bool:
    return key in names.configurations


def _by_line(_states: LimitedStates, names: Names, key: str, _value: Value) -> bool:
    return key in names.lines


def _by_webhook(states: LimitedStates, names: Names, key: str, _value: Value) -> bool:
    return key in states.webhooks(names)


def _by_endpoint(states: LimitedStates, names: Names, key: str, _value: Value) -> bool:
    return key in states.webhooks(names).values()


def _sample(states: LimitedStates, names: Names, _key: str, value: Value) -> bool:
    return value.get("endpoint") in states.webhooks(names).values()


def _endpoint(states: LimitedStates, names: Names, _key: str, value: Value) -> bool:
    return value.get("webhook") in states.webhooks(names)


def _webhook(_states: LimitedStates, names: Names, _key: str, value: Value) -> bool:
    """Whether it is a webhook of these configurations, and names no other line."""
    settings = _table(value.get("settings"))
    named = {str(settings.get(key, "")) for key in ("line", "run")} - {""}
    return _configuration_of(value) in names.configurations and named <= names.lines


def _notice(_states: LimitedStates, names: Names, _key: str, value: Value) -> bool:
    return value.get("configuration") in names.configurations


def _pair(_states: LimitedStates, names: Names, _key: str, value: Value) -> bool:
    return value.get("pull") in names.lines and value.get("push") in names.lines


_OF_ALL = frozenset({StateKind.HOLD})  # can be read, and not changed
_RULES: Mapping[StateKind, Callable[[LimitedStates, Names, str, Value], bool]] = {
    StateKind.BASELINE: _by_configuration,
    StateKind.METRIC_SENDS: _by_configuration,
    StateKind.RUN_PAUSE: _by_configuration,
    StateKind.LINE_SHAPE: _by_line,
    StateKind.LINE_START: _by_line,
    StateKind.METRIC_RUNS: _by_line,
    StateKind.PAUSED_LINE: _by_line,
    StateKind.HOOK_ACTIVITY: _by_endpoint,
    StateKind.HOOK_ENDPOINT: _endpoint,
    StateKind.HOOK_REFUSALS: _by_webhook,
    StateKind.HOOK_SAMPLE: _sample,
    StateKind.NOTICE: _notice,
    StateKind.PAIR: _pair,
    StateKind.WEBHOOK: _webhook,
}
# What decides whose it is stands in the value: a configuration that does not exist, or
# none at all, is not within the reach.
_BY_VALUE = frozenset({StateKind.NOTICE, StateKind.PAIR, StateKind.WEBHOOK})
