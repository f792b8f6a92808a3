"""Where the records of a sample are: the path that a line needs as `records`."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, zip_longest

from outkey.foundation.core.errors import SyncFailed
from outkey.foundation.core.paging_words import words
from outkey.foundation.core.text import Text, counted
from outkey.sync.core.mapping.excerpt import excerpt_of
from outkey.sync.core.paging.response import Record
from outkey.sync.core.suggest.names import (
    Path,
    comparable_name,
    expression_of,
    quoted_name,
)

MAX_SAMPLE = 200  # records
MAX_DEPTH = 6
_MAX_NODES = 2000  # objects outside of the records
_MAX_EXPRESSION = 1000  # characters for the names of columns
_MAX_IDS = 50  # keys of a map that are looked at
USUAL_LISTS = words(
    "data items results value records entries rows docs hits list elements content"
    " objects resources edges result members collection"
)
# Lists beside the records, which are about them or about the request.
SIDE_LISTS = words(
    "included errors warnings messages links facets aggregations columns fields schema"
    " meta metadata breadcrumbs notices primarykeys expandedcolumns filters sort"
)
# Lists with the names of columns, beside rows without names.
_COLUMN_LISTS = words(
    "columns fields header headers cols meta columnnames fieldnames rowtype"
)
_IDENTIFYING = words("id uuid guid")
# Values of a response that are about the page and not part of a record.
_ABOUT_PAGE = words(
    "total count totalcount totalresults totalitems totalpages totalsize page pages"
    " perpage pagesize limit offset next prev previous hasmore object url status"
    " success ok message type kind version took timedout done cursor nextcursor"
    " startat maxresults size start code"
)
_LOOKS_LIKE_ID = re.compile(r".*\d.*")


@dataclass(frozen=True, slots=True)
class FoundRecords:
    """The records of a sample, and how a line finds them."""

    expression: str
    why: Text
    records: Sequence[Record]
    count: int  # of all records of the page, not only of the sample
    path: Path | None = None  # of the list or the map that is the records, if any
    is_single: bool = False  # one object, which has no pages


def find_records(document: object, word: str) -> FoundRecords:
    """Return the records of a response; `word` is the last one of the URL's path."""
    if isinstance(document, list):
        return _in_list((), document)
    if isinstance(document, dict) and document:
        if (series := _in_series(document)) is not None:
            return series
        path = _best_list(document, comparable_name(word))
        if path is not None:
            holder, members = _holder_and_list(document, path)
            return _in_list(path, members, _names_in(holder))
        return _without_list(document)
    raise SyncFailed(
        Text("the response has no records: it is neither a list nor an object"),
        hint=Text("Check the path of the line."),
        reason="not_a_list",
    )


def objects_in(members: Sequence[object]) -> list[Record]:
    """Return the objects among the first members of a list."""
    return [member for member in members[:MAX_SAMPLE] if isinstance(member, dict)]


# ── lists ────────────────────────────────────────────────────────────────────────────


def _best_list(document: Record, word: str) -> Path | None:
    """Return the path of the list that most likely holds the records."""
    lists = list(lists_in(document))
    if _scalar_names(document) - _ABOUT_PAGE:
        # Beside other values, a list of single values is one of them.
        lists = [
            (path, part) for path, part in lists if not part or _is_holder(part[0])
        ]
    named = [path for path, _ in lists if word and comparable_name(path[-1]) == word]
    if named:
        return min(named, key=len)
    if _is_record(document):
        return None
    ranked = [
        (_score(path, members), -number, path)
        for number, (path, members) in enumerate(lists)
    ]
    points, _, path = max(ranked, default=(0, 0, ()))
    return path if points > 0 else None


def lists_in(document: Record) -> Iterator[tuple[Path, list[object]]]:
    """Yield the lists of a document that are not inside of another list."""
    rest: list[tuple[Path, object]] = [((), document)]
    for _ in range(_MAX_NODES):
        if not rest:
            return
        path, holder = rest.pop(0)
        if isinstance(holder, list):
            yield path, holder
        elif isinstance(holder, dict) and len(path) < MAX_DEPTH:
            rest += [
                ((*path, name), part)
                for name, part in list(holder.items())[:_MAX_NODES]
                if isinstance(part, dict | list) and len(rest) < _MAX_NODES
            ]


def _score(path: Path, members: Sequence[object]) -> int:
    name = comparable_name(path[-1])
    first = members[0] if members else None
    points = 60 if isinstance(first, dict) else 45 if isinstance(first, list) else 20
    if name in SIDE_LISTS or path[0] in {"included", "_links", "links"}:
        points -= 80
    if name in USUAL_LISTS or path[0] == "_embedded":
        points += 30
    return points - 8 * (len(path) - 1) + min(len(members), 5)


def _in_list(path: Path, members: list[object], names: object = None) -> FoundRecords:
    """Return the members of a list as records; `names` are those of its columns."""
    place = expression_of(path)
    prefix = place if path else ""
    count = len(members)
    first = members[0] if members else {}
    if isinstance(first, list):
        return _rows(prefix, members, _column_names(names, len(first)))
    if not isinstance(first, dict):
        return FoundRecords(
            f"{prefix}[*].{{value: @}}",
            counted(
                count,
                Text("a list of 1 single value: it becomes a field"),
                Text(
                    "a list of {count} single values: each becomes a field", count=count
                ),
            ),
            [{"value": part} for part in members[:MAX_SAMPLE] if part is not None],
            count,
        )
    if isinstance(first.get("node"), dict):
        nodes = [edge.get("node") for edge in objects_in(members)]
        why = counted(
            count,
            Text("a list of 1 edge with a node"),
            Text("a list of {count} edges with a node each", count=count),
        )
        return FoundRecords(f"{prefix}[].node", why, objects_in(nodes), count)
    records = objects_in(members)
    if len(records) < min(count, MAX_SAMPLE):
        why = Text("a list that has values beside its objects: these are omitted")
        expression = f"{prefix}[?type(@) == 'object']"
        return FoundRecords(expression, why, records, count)
    why = counted(
        count,
        Text("a list of 1 object"),
        Text("a list of {count} objects", count=count),
    )
    if not members:
        why = Text("the list is empty: its fields are unknown")
    return FoundRecords(place, why, records, count, path)


def _names_in(holder: Record) -> object:
    """Return the names of columns beside rows: texts, or objects with a name each."""
    for member, names in holder.items():
        if comparable_name(member) not in _COLUMN_LISTS or not isinstance(names, list):
            continue
        return [name.get("name") if isinstance(name, dict) else name for name in names]
    return None


def _in_series(document: Record) -> FoundRecords | None:
    """Return the rows of tables in a list, each with its columns, as of InfluxDB."""
    holders: list[Record] = [document]
    expression = ""
    for _ in range(MAX_DEPTH):
        tables = [_table_of(holder) for holder in holders]
        names = next((columns for columns, _ in tables if columns), [])
        if names and expression:
            alike = [rows for columns, rows in tables if columns == names]
            rows = [row for part in alike for row in part]
            return _rows(f"{expression}.values[]", rows, names, is_flat=True)
        lists = [
            (name, part)
            for holder in holders
            for name, part in holder.items()
            if isinstance(part, list) and part and isinstance(part[0], dict)
        ]
        names_of_lists = {name for name, _ in lists}
        if len(names_of_lists) != 1:
            return None
        (name,) = names_of_lists
        expression += f"{'.' if expression else ''}{quoted_name(name)}[]"
        holders = [member for _, part in lists for member in objects_in(part)][
            :MAX_SAMPLE
        ]
    return None


def _table_of(holder: Record) -> tuple[list[str], list[object]]:
    """Return the columns and the rows of an object that has both, else nothing."""
    columns = holder.get("columns")
    rows = holder.get("values")
    if not isinstance(columns, list) or not isinstance(rows, list):
        return [], []
    names = [name for name in columns if isinstance(name, str)]
    are_names = len({*names}) == len(columns)
    are_rows = all(isinstance(row, list) for row in rows)
    return (names, rows) if are_names and are_rows else ([], [])


def _column_names(names: object, width: int) -> list[str]:
    """Return the names of the columns of rows, or numbers if the response has none."""
    if (
        isinstance(names, list)
        and len({*map(str, names)}) == len(names) == width
        and all(isinstance(name, str) for name in names)
    ):
        return names
    return [f"column_{number}" for number in range(1, width + 1)]


def _rows(
    prefix: str,
    members: Sequence[object],
    names: list[str],
    *,
    is_flat: bool = False,
) -> FoundRecords:
    """Return rows as records, as many of their columns as one expression can name."""
    pairs = [f"{quoted_name(name)}: [{place}]" for place, name in enumerate(names)]
    lengths = accumulate(len(pair) + len(", ") for pair in pairs)
    width = sum(length < _MAX_EXPRESSION for length in lengths)
    rows = [row for row in members[:MAX_SAMPLE] if isinstance(row, list)]
    return FoundRecords(
        f"{prefix}{'' if is_flat else '[*]'}.{{{', '.join(pairs[:width])}}}",
        counted(
            len(members),
            Text("a list of 1 row: each column becomes a field"),
            Text(
                "a list of {count} rows: each column becomes a field",
                count=len(members),
            ),
        ),
        [dict(zip_longest(names[:width], row[:width])) for row in rows],
        len(members),
    )


# ── objects ──────────────────────────────────────────────────────────────────────────


def _is_record(document: Record) -> bool:
    """Whether an object is a record itself: it has an id and other values."""
    own = _scalar_names(document)
    return bool(own & _IDENTIFYING) and len(own - _IDENTIFYING - _ABOUT_PAGE) >= 2


def _scalar_names(holder: Record) -> set[str]:
    return {
        comparable_name(name) for name, part in holder.items() if not _is_holder(part)
    }


def _without_list(document: Record) -> FoundRecords:
    """Return a map of objects, or the one object that the response has."""
    path: Path = ()
    holder = document
    while True:
        if found := _map_of_objects(path, holder):
            return found
        inner = [
            (name, part)
            for name, part in holder.items()
            if isinstance(part, dict)
            and part
            and comparable_name(name) not in SIDE_LISTS
        ]
        is_wrapped = len(inner) == 1 and not _own_values(holder)
        if not is_wrapped or len(path) == MAX_DEPTH:
            break
        name, holder = inner[0]
        path = (*path, name)
    why = Text("a single object: it is the only record")
    return FoundRecords(f"[{expression_of(path)}]", why, [holder], 1, is_single=True)


def _own_values(holder: Record) -> bool:
    return any(
        not isinstance(part, dict) and comparable_name(name) not in _ABOUT_PAGE
        for name, part in holder.items()
    )


def _map_of_objects(path: Path, holder: Record) -> FoundRecords | None:
    """Return the objects of a map by id: alike, and nothing beside them."""
    members = list(holder.values())
    is_map = len(members) > 1 and all(isinstance(part, dict) for part in members)
    if not is_map or not _are_ids(holder):
        return None
    records = objects_in(members)
    first = set(records[0])
    if any(2 * len(first & set(other)) < len(first) for other in records):
        return None
    has_ids = all(
        any(str(part) == name for part in record.values() if not _is_holder(part))
        for name, record in list(zip(holder, records, strict=False))[:_MAX_IDS]
    )
    why = Text("a map of {count} objects", count=len(members))
    if not has_ids:
        why = Text(
            "a map of {count} objects; their keys, such as {key}, are lost, because"
            " JMESPath returns the values of a map only",
            count=len(members),
            key=excerpt_of(next(iter(holder))),
        )
    expression = f"values({expression_of(path)})"
    return FoundRecords(expression, why, records, len(members), path)


def _are_ids(holder: Mapping[str, object]) -> bool:
    names = list(holder)[:_MAX_IDS]
    return len(names) > 3 or all(_LOOKS_LIKE_ID.fullmatch(name[:200]) for name in names)


def _is_holder(value: object) -> bool:
    return isinstance(value, dict | list)


def _holder_and_list(document: Record, path: Path) -> tuple[Record, list[object]]:
    """Return the list at a path, and the object that it is in."""
    holder = document
    for name in path[:-1]:
        holder = holder[name]  # type: ignore[assignment]  # `lists_in` has been there
    return holder, holder[path[-1]]  # type: ignore[return-value]  # the same
