"""Editing a TOML document by its parts, so that comments and order stay.

The document is cut into blocks: what is above the first header, and then one for each
header. A block has pairs of key and value with their comments. Only the pairs and the
blocks of what changes are written anew.

The text must have been read by tomllib before: nothing here looks for mistakes.
"""

import re
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from outkey.foundation.core.toml.parsing import STRING_OR_COMMENT
from outkey.foundation.core.toml.rows import (
    Table,
    are_rows,
    array_with_rows,
    match_rows,
)
from outkey.foundation.core.toml.text import toml_key, toml_value

Place = tuple[str | int, ...]  # the keys that lead to a value; numbers are rows

KEY_PART = re.compile(r"""[A-Za-z0-9_-]+|"(?:[^"\\]|\\.)*"|'[^']*'""")
SPACES = re.compile(r"[ \t]*")
LINE = re.compile(r"[^\n]*\n?")
PART_OF_VALUE = re.compile(
    STRING_OR_COMMENT.pattern + r"|[\[\]{}\n]|[^\"'#\[\]{}\n]+", re.DOTALL
)


@dataclass(slots=True)
class KeyValue:
    """A key with its value, and the comment behind it."""

    place: Place
    key: str  # with its indentation and the equals sign
    value: str
    ending: str = "\n"  # spaces, a comment and the end of the line

    def __str__(self) -> str:
        return f"{self.key}{self.value}{self.ending}"


@dataclass(slots=True)
class Block:
    """A header with all that is below it; the first one has no header."""

    place: Place
    lead: str = ""  # comments and empty lines above the header
    header: str = ""
    items: list[KeyValue | str] = field(default_factory=list)  # texts are comments

    def __str__(self) -> str:
        return self.lead + self.header + "".join(map(str, self.items))

    def pairs(self) -> Iterator[KeyValue]:
        """Yield the pairs without the comments."""
        return (item for item in self.items if isinstance(item, KeyValue))

    def append(self, pair: KeyValue) -> None:
        """Add a pair behind the last one."""
        numbers = [n for n, item in enumerate(self.items) if isinstance(item, KeyValue)]
        place = numbers[-1] + 1 if numbers else 0
        self.items.insert(place, pair)
        self.end_lines()

    def end_lines(self) -> None:
        """Add the end of the line that the last line of a document may lack."""
        for item in self.pairs():
            if not item.ending.endswith("\n"):
                item.ending += "\n"
        self.items = [
            f"{item}\n" if isinstance(item, str) and item[-1] != "\n" else item
            for item in self.items
        ]
        if self.header and not self.header.endswith("\n"):
            self.header += "\n"


def _read_blocks(text: str) -> list[Block]:
    """Cut a document into its blocks."""
    blocks = [Block(())]
    newest_rows: dict[Place, int] = {}
    at = 0
    while at < len(text):
        start = SPACES.match(text, at).end()  # type: ignore[union-attr]  # always
        if start == len(text) or text[start] in "\n#":
            end = _end_of_line(text, start)
            blocks[-1].items.append(text[at:end])
        elif text[start] == "[":
            brackets = 2 if text.startswith("[[", start) else 1
            parts, end = read_key(text, start + brackets)
            end = _end_of_line(text, end)
            place = _header_place(parts, newest_rows, is_row=brackets == 2)
            blocks.append(Block(place, _lead_of(blocks[-1]), text[at:end]))
        else:
            pair, end = read_pair(text, at, blocks[-1].place)
            blocks[-1].items.append(pair)
        at = end
    return blocks


def _end_of_line(text: str, at: int) -> int:
    """Return where the next line begins."""
    return LINE.match(text, at).end()  # type: ignore[union-attr]  # it always matches


def read_key(text: str, at: int) -> tuple[Place, int]:
    """Return the parts of a dotted key, and where the text continues."""
    parts: list[str] = []
    while True:
        at = SPACES.match(text, at).end()  # type: ignore[union-attr]  # always
        end = KEY_PART.match(text, at).end()  # type: ignore[union-attr]  # it is TOML
        parts.append(_key_meaning(text[at:end]))
        at = SPACES.match(text, end).end()  # type: ignore[union-attr]  # always
        if text[at] != ".":
            return tuple(parts), at
        at += 1


def _key_meaning(text: str) -> str:
    """Return the name that a part of a key stands for, in quotes or not."""
    return str(tomllib.loads(f"key = {text}")["key"]) if text[0] in "\"'" else text


def read_pair(text: str, at: int, parent: Place) -> tuple[KeyValue, int]:
    """Return a pair, and where the text continues."""
    parts, equals = read_key(text, at)
    start = SPACES.match(text, equals + 1).end()  # type: ignore[union-attr]  # always
    stop = _end_of_value(text, start)
    end = _end_of_line(text, stop)
    return KeyValue(
        (*parent, *parts), text[at:start], text[start:stop], text[stop:end]
    ), end


def _end_of_value(text: str, at: int) -> int:
    """Return where a value ends: before a comment, or at the end of its last line."""
    depth = 0
    end = at
    for part in PART_OF_VALUE.finditer(text, at):
        first = part[0][0]
        if depth == 0 and first in "\n#":
            break
        if part[0] in {"[", "{"}:
            depth += 1
        elif part[0] in {"]", "}"}:
            depth -= 1
        if first not in "\n#":
            end = part.start() + len(part[0].rstrip(" \t"))
    return end


def _header_place(
    parts: Place, newest_rows: dict[Place, int], *, is_row: bool
) -> Place:
    """Return the place that a header names: of a list its newest row."""
    place: Place = ()
    for part in parts[:-1]:
        place = (*place, part)
        if place in newest_rows:
            place = (*place, newest_rows[place])
    place = (*place, parts[-1])
    if is_row:
        newest_rows[place] = newest_rows.get(place, -1) + 1
        place = (*place, newest_rows[place])
    return place


def _lead_of(block: Block) -> str:
    """Remove from the end of a block what belongs to the header below, and return it.

    That is from the first empty line on; without one all comments above the header.
    """
    count = 0
    for item in reversed(block.items):
        if isinstance(item, KeyValue):
            break
        count += 1
    first = len(block.items) - count
    comments = block.items[first:]
    empty = [n for n, text in enumerate(comments) if not str(text).strip()]
    first += empty[0] if empty else 0
    lead = "".join(map(str, block.items[first:]))
    del block.items[first:]
    return lead


class TomlEditor:
    """Changes a document into one with other values, part by part."""

    def __init__(self, text: str, table: Table) -> None:
        self._blocks = _read_blocks(text)
        self._table = table  # what the text means; it is changed with it
        self._homes: dict[Place, Block] = {}  # by the place of a block or a pair
        self._pairs: dict[Place, KeyValue] = {}
        for block in self._blocks:
            self._register(block)

    def __str__(self) -> str:
        return "".join(map(str, self._blocks))

    def apply(self, new: Table) -> None:
        """Change what differs from a table."""
        self._change_table((), self._table, new)

    def _register(self, block: Block) -> None:
        self._homes.setdefault(block.place, block)
        for pair in block.pairs():
            self._pairs[pair.place] = pair
            # A dotted key opens the tables before it.
            for count in range(len(block.place) + 1, len(pair.place) + 1):
                self._homes[pair.place[:count]] = block

    def _change_table(self, place: Place, old: Table, new: Table) -> None:
        for name in [name for name in old if name not in new]:
            self._remove((*place, name))
        for name, value in new.items():
            inner = (*place, name)
            if name not in old:
                self._add(inner, value)
            elif old[name] != value:
                self._change(inner, old[name], value)

    def _change(self, place: Place, old: object, new: object) -> None:
        pair = self._pair_around(place)
        if pair is not None:
            self._assign(place, new)
            if pair.place == place and are_rows(old) and are_rows(new):
                pair.value = array_with_rows(pair.value, old, new)
            else:
                pair.value = toml_value(self._value(pair.place))
        elif isinstance(old, dict) and isinstance(new, dict):
            self._change_table(place, old, new)
        elif are_rows(old) and are_rows(new):
            self._change_rows(place, old, new)
        else:
            self._remove(place)
            self._add(place, new)

    def _change_rows(self, place: Place, old: list[Table], new: list[Table]) -> None:
        """Change a list of tables with headers of their own."""
        matches = match_rows(old, new)
        for number, row in zip(matches, new, strict=True):
            if number is not None:
                self._change_table((*place, number), old[number], row)
        groups: dict[object, list[Block]] = defaultdict(list)
        for block in self._blocks_below(place):
            groups[block.place[len(place)]].append(block)
        added = [
            block
            for number, row in zip(matches, new, strict=True)
            for block in groups.get(number, [_row_block(place, row)])
        ]
        first = self._blocks.index(groups[0][0])
        self._drop(self._blocks_below(place))
        self._insert(first, added)
        self._assign(place, new)

    def _remove(self, place: Place) -> None:
        self._unassign(place)
        homes = self._blocks
        pair = self._pairs.pop(place, None)
        if pair is not None:
            homes = [self._homes[place]]
        for block in homes:
            block.items = [
                item
                for item in block.items
                if isinstance(item, str) or not is_below(item.place, place)
            ]
        if pair is None:
            self._drop(self._blocks_below(place))

    def _add(self, place: Place, value: object) -> None:
        """Add a value that the document does not have."""
        self._assign(place, value)
        *parent, name = place
        if not parent and isinstance(value, dict) and value:
            block = _new_block(place, f"[{toml_key(str(name))}]\n", value)
            numbers = [n for n, b in enumerate(self._blocks) if has_number(b.place)]
            self._insert(numbers[0] if numbers else len(self._blocks), [block])
        elif not parent and are_rows(value):
            blocks = [_row_block(place, row) for row in value]
            self._insert(len(self._blocks), blocks)
        else:
            if tuple(parent) not in self._homes:  # only tables inside have a header
                header = Block(tuple(parent), "\n", f"[{dotted(tuple(parent))}]\n")
                self._insert(len(self._blocks), [header])
            block = self._homes[tuple(parent)]
            block.append(_new_pair(place, block.place, value))
            self._register(block)

    def _insert(self, number: int, blocks: list[Block]) -> None:
        for block in self._blocks[:number]:
            block.end_lines()
        for block in blocks:
            block.end_lines()
            self._register(block)
        self._blocks[number:number] = blocks

    def _drop(self, blocks: list[Block]) -> None:
        dropped = {id(block) for block in blocks}
        self._blocks = [b for b in self._blocks if id(b) not in dropped]

    def _pair_around(self, place: Place) -> KeyValue | None:
        """Return the pair whose value is, or contains, the value at a place."""
        for count in range(1, len(place) + 1):
            pair = self._pairs.get(place[:count])
            if pair is not None:
                return pair
        return None

    def _blocks_below(self, place: Place) -> list[Block]:
        return [block for block in self._blocks if is_below(block.place, place)]

    def _value(self, place: Place) -> Any:  # noqa: ANN401 - any value of TOML
        value: Any = self._table
        for part in place:
            value = value[part]
        return value

    def _assign(self, place: Place, value: object) -> None:
        self._value(place[:-1])[place[-1]] = value

    def _unassign(self, place: Place) -> None:
        del self._value(place[:-1])[place[-1]]


def is_below(place: Place, holder: Place) -> bool:
    """Whether a place is another one or inside of it."""
    return place[: len(holder)] == holder


def has_number(place: Place) -> bool:
    """Whether a place is in a list of tables."""
    return any(isinstance(part, int) for part in place)


def dotted(place: Place) -> str:
    """Return the key of a place, without the numbers of rows."""
    return ".".join(toml_key(part) for part in place if isinstance(part, str))


def _new_pair(place: Place, parent: Place, value: object) -> KeyValue:
    """Return a pair for a block; its key has dots if the block is further outside."""
    return KeyValue(place, f"{dotted(place[len(parent) :])} = ", toml_value(value))


def _new_block(place: Place, header: str, table: Table) -> Block:
    """Return a block with the values of a table."""
    items: list[KeyValue | str] = [
        _new_pair((*place, name), place, value) for name, value in table.items()
    ]
    return Block(place, "\n", header, items)


def _row_block(place: Place, row: Table) -> Block:
    """Return a block for a new row of a list of tables."""
    return _new_block((*place, -1), f"[[{dotted(place)}]]\n", row)
