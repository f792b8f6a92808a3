"""YAML from outside as plain values, read from the events of libyaml within a budget.

Only texts, lists and tables come out: `no` stays "no". An alias is its anchor's value
and not copied, but counted as large as it is: a document of nested aliases describes
more than any memory holds. Tags, merge keys and further documents are refused.
"""

from collections.abc import Iterator

import yaml

from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.text import Text
from outkey.importing.core.readers.tree import MAX_DEPTH, too_deep

MAX_EVENTS = 200_000
MAX_ALIASES = 100
# The tags that plain JSON-like documents have without writing them.
_PLAIN_TAGS = frozenset({None, "!", "tag:yaml.org,2002:str"})


def parse_yaml(text: str) -> object:
    """Return the value of a YAML document, or raise ConfigError without its text."""
    try:
        return _Builder(yaml.parse(text, Loader=_loader())).document()
    except (yaml.YAMLError, ValueError):
        raise ConfigError(Text("this is not valid YAML")) from None


def _loader() -> type:
    return getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Builder:
    """Builds the values of one document."""

    def __init__(self, events: Iterator[yaml.Event]) -> None:
        self._events = events
        self._count = 0
        self._aliases = 0
        self._anchors: dict[str, tuple[object, int]] = {}

    def document(self) -> object:
        self._next()  # the stream
        event = self._next()
        if not isinstance(event, yaml.DocumentStartEvent):
            return None
        value = self._value(self._next(), 0)
        self._next()
        if not isinstance(self._next(), yaml.StreamEndEvent):
            raise ConfigError(Text("the YAML has more than one document"))
        return value

    def _next(self) -> yaml.Event:
        self._spend(1)
        return next(self._events)

    def _spend(self, events: int) -> None:
        self._count += events
        if self._count > MAX_EVENTS:
            raise ConfigError(
                Text("the YAML has more than {limit} parts", limit=MAX_EVENTS)
            )

    def _value(self, event: yaml.Event, depth: int) -> object:
        if depth > MAX_DEPTH:
            raise too_deep()
        if isinstance(event, yaml.AliasEvent):
            return self._alias(str(event.anchor))
        before = self._count
        tag = getattr(event, "tag", None)
        if tag not in _PLAIN_TAGS:
            raise ConfigError(Text("the YAML has a tag, which is not read"))
        value: object
        if isinstance(event, yaml.ScalarEvent):
            value = event.value
        elif isinstance(event, yaml.SequenceStartEvent):
            value = self._list(depth)
        else:
            value = self._table(depth)
        anchor = getattr(event, "anchor", None)
        if anchor:
            self._anchors[anchor] = (value, self._count - before + 1)
        return value

    def _alias(self, anchor: str) -> object:
        self._aliases += 1
        if self._aliases > MAX_ALIASES:
            raise ConfigError(
                Text("the YAML has more than {limit} aliases", limit=MAX_ALIASES)
            )
        if anchor not in self._anchors:  # of a value that is still open
            raise ConfigError(Text("the YAML has an alias of itself"))
        value, size = self._anchors[anchor]
        self._spend(size)
        return value

    def _list(self, depth: int) -> list[object]:
        values = []
        while not isinstance(event := self._next(), yaml.SequenceEndEvent):
            values.append(self._value(event, depth + 1))
        return values

    def _table(self, depth: int) -> dict[str, object]:
        values: dict[str, object] = {}
        while not isinstance(event := self._next(), yaml.MappingEndEvent):
            key = self._value(event, depth + 1)
            if not isinstance(key, str) or key == "<<":
                raise ConfigError(Text("the YAML has a key that is not a text"))
            values[key] = self._value(self._next(), depth + 1)
        return values
