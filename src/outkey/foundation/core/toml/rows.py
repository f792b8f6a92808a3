"""Lists of tables in a TOML document: which row is which, and lists in brackets."""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeGuard

from outkey.foundation.core.toml.parsing import STRING_OR_COMMENT
from outkey.foundation.core.toml.text import toml_value

Table = dict[str, Any]

PART_OF_ARRAY = re.compile(
    STRING_OR_COMMENT.pattern + r"|[\[\]{},\n]|[^\"'#\[\]{},\n]+", re.DOTALL
)
# What a row is recognized by in another version of the same list, the best first.
ROW_NAMES = ("host", "list", "api", "target", "name")


def are_rows(value: object) -> TypeGuard[list[Table]]:
    """Whether a value is a list of tables, with one at least."""
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(row, dict) for row in value)
    )


def match_rows(
    old: Sequence[Mapping[str, object]], new: Sequence[Mapping[str, object]]
) -> list[int | None]:
    """Return for each new row the number of the old row that it was, if any."""
    matches: list[int | None] = [None] * len(new)
    free = dict.fromkeys(range(len(old)))
    for name in ROW_NAMES:
        by_value: dict[str, list[int]] = defaultdict(list)
        for number in free:
            if old[number].get(name):
                by_value[str(old[number][name])].append(number)
        for number, row in enumerate(new):
            candidates = by_value.get(str(row.get(name) or ""))
            if matches[number] is None and candidates:
                matches[number] = candidates.pop(0)
        for match in matches:
            if match is not None:
                free.pop(match, None)
    return matches


@dataclass(slots=True)
class Element:
    """A table in a list between brackets, with its comments."""

    lead: str = ""  # comments and spaces before it
    value: str = ""
    comment: str = ""  # behind it in the same line


def array_with_rows(text: str, old: list[Table], new: list[Table]) -> str:
    """Return a list between brackets with other rows; the same ones keep their text."""
    elements, closing = _read_array(text)
    has_last_comma = text[:-1].rstrip().endswith(",")
    lead = "\n  " if "\n" in text else ""
    if elements and "\n" in elements[0].lead:
        lead = "\n" + elements[0].lead.rpartition("\n")[2]
    rows = []
    for number, row in zip(match_rows(old, new), new, strict=True):
        if number is None:
            rows.append(Element(lead, toml_value(row)))
        elif old[number] != row:
            rows.append(replace(elements[number], value=toml_value(row)))
        else:
            rows.append(elements[number])
    written = "["
    ends_with_comment = False
    for number, element in enumerate(rows):
        is_joined = ends_with_comment and "\n" not in element.lead
        space = " " if number and not element.lead else ""
        comma = "," if number < len(rows) - 1 or has_last_comma else ""
        before = "\n" if is_joined else space
        written += f"{before}{element.lead}{element.value}{comma}{element.comment}"
        ends_with_comment = bool(element.comment.strip())
    if ends_with_comment and "\n" not in closing:
        closing = f"\n{closing}"
    return f"{written}{closing}]"


def _read_array(text: str) -> tuple[list[Element], str]:
    """Return the elements of a list between brackets, and what is behind the last."""
    elements = [Element()]
    depth = 0
    is_behind_comma = False  # where a comment is still that of the element before
    for part in PART_OF_ARRAY.finditer(text, 1, len(text) - 1):
        piece = part[0]
        element = elements[-1]
        if depth == 0 and piece == ",":
            elements.append(Element())
            is_behind_comma = True
            continue
        if piece in {"[", "{"}:
            depth += 1
        elif piece in {"]", "}"}:
            depth -= 1
        is_trivia = depth == 0 and (piece.isspace() or piece[0] == "#")
        if is_behind_comma and piece[0] == "#":
            elements[-2].comment = f"{element.lead}{piece}"
            element.lead = ""
        elif is_trivia and not element.value:
            element.lead += piece
        elif is_trivia:
            element.comment += piece
        else:
            element.value += piece
        is_behind_comma = is_behind_comma and piece.strip(" \t") == ""
    last = elements.pop() if not elements[-1].value else None
    if last is not None:
        return elements, last.lead
    comment, line_end, closing = elements[-1].comment.partition("\n")
    elements[-1].comment = comment if comment.strip() else ""
    return elements, f"{line_end}{closing}"
