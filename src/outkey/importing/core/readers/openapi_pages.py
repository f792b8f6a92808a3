"""Pages and changes of an OpenAPI operation, as parameters and response state them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from urllib.parse import urlencode

from outkey.foundation.core.origin import parse_base_url
from outkey.foundation.core.paging_words import (
    CURSORS,
    OFFSETS,
    PAGE_NUMBERS,
    SIZES,
    pagination_of,
    words,
)
from outkey.foundation.core.text import Text
from outkey.importing.core.readers.line_notes import LineNotes, names_text
from outkey.importing.core.readers.openapi_schemas import QueryParameter
from outkey.importing.core.readers.tree import text_of
from outkey.sending.core.request.message import ResponseHeaders
from outkey.sync.core.line.line import Incremental, Pagination, Paging, Transform
from outkey.sync.core.suggest.names import (
    Path,
    comparable_name,
    expression_of,
    inner_path,
    snake_case,
)
from outkey.sync.core.suggest.paging import PagedSample, guess_paging, members_beside
from outkey.sync.core.suggest.records import FoundRecords
from outkey.sync.core.suggest.suggest import CHANGE_TIMES
from outkey.sync.core.suggest.values import Guess

USUAL_SIZE = 100
_SINCE = words("since after from min gte gt ge start")
_CHANGES = ("updat", "modif", "chang", "edit")
_MOMENTS = frozenset({"date", "date-time"})
_AFTER_RECORD = words("starting_after after")
_LOCATION = parse_base_url("https://host.invalid")


@dataclass(frozen=True, slots=True)
class Described:
    """The parameters of an operation, and an example of its responses."""

    query: Sequence[QueryParameter]
    document: object  # an example of the response
    found: FoundRecords | None  # the records in it
    has_links: bool = False  # whether the response has a Link header
    key: str = ""  # JMESPath in a record


def read_pagination(described: Described, notes: LineNotes) -> Pagination:
    """Return how pages are requested."""
    pagination = _position(described, notes)
    if pagination.kind is Paging.NONE:
        return pagination
    pagination = _with_size(pagination, described.query, notes)
    notes.take_pages(
        pagination.kind,
        pagination.position_parameter,
        pagination.cursor,
        pagination.size_parameter,
    )
    return pagination


def _position(described: Described, notes: LineNotes) -> Pagination:
    """Return pages without their size."""
    numbered = [
        parameter
        for parameter in described.query
        if parameter.lower in PAGE_NUMBERS | OFFSETS and parameter.is_number
    ]
    cursors = [
        parameter
        for parameter in described.query
        if parameter.lower in CURSORS and parameter.format not in _MOMENTS
    ]
    positions = [parameter.name for parameter in (*numbered, *cursors)]
    pagination = _cursor(described, cursors)
    if pagination.kind is not Paging.NONE:
        others = [n for n in positions if n != pagination.position_parameter]
        if others:
            why = Text(
                "{names}: the response has the next page in {cursor}",
                names=names_text(others),
                cursor=names_text([pagination.cursor]) if pagination.cursor else "Link",
            )
            notes.change("pagination", why)
        return pagination
    if len(numbered) == 1:
        first = numbered[0].first_number("default", "minimum")
        pairs = pagination_of(urlencode({numbered[0].name: text_of(first)}))
        return Pagination(
            Paging(str(pairs["kind"])),
            position_parameter=numbered[0].name,
            first=0 if "first" in pairs else 1,
        )
    _note_unread(described.query, positions, notes, is_ambiguous=bool(numbered))
    return pagination


def _note_unread(
    query: Sequence[QueryParameter],
    positions: Sequence[str],
    notes: LineNotes,
    *,
    is_ambiguous: bool,
) -> None:
    """Note why an operation has no pages."""
    sizes = [parameter.name for parameter in query if parameter.lower in SIZES]
    if is_ambiguous:
        notes.drop_ambiguous("pagination", positions)
    elif positions:
        why = Text(
            "{names}: the document does not state where the response"
            " has the next cursor",
            names=names_text(positions),
        )
        notes.drop("pagination", why)
    elif sizes:
        why = Text(
            "{names}: the document states how many records a page has, but not how"
            " to request the next page",
            names=names_text(sizes),
        )
        notes.drop("pagination", why)
    else:
        notes.leave("pagination", Text("one response has all records"))


def _cursor(described: Described, cursors: Sequence[QueryParameter]) -> Pagination:
    """Return pages by a cursor or a URL that the response is stated to have."""
    found = described.found
    if found is None or found.path is None:
        return Pagination()
    target = "/?" + urlencode({parameter.name: "" for parameter in cursors})
    location = replace(_LOCATION, target=target)
    sample = PagedSample(described.document, ResponseHeaders(), location, found)
    guess = guess_paging(sample)
    pagination = guess.pagination
    beside = dict(members_beside(described.document, found.path))
    stated = {expression_of(path) for path in beside}
    if not guess.is_assumed and pagination.cursor.rpartition(" && ")[2] in stated:
        return pagination
    if described.has_links:
        return Pagination(Paging.LINK)
    # As Stripe has it: the cursor is the id of the last record.
    last = [parameter for parameter in cursors if parameter.lower in _AFTER_RECORD]
    guess = guess_paging(replace(sample, key=described.key))
    if len(last) == 1 and guess.pagination.cursor.endswith(f"[-1].{described.key}"):
        return replace(guess.pagination, position_parameter=last[0].name)
    return Pagination()


def _with_size(
    pagination: Pagination, query: Sequence[QueryParameter], notes: LineNotes
) -> Pagination:
    """Return pages with the size that the document states."""
    sizes = [
        parameter
        for parameter in query
        if parameter.lower in SIZES and parameter.is_number
    ]
    if len(sizes) > 1:
        notes.drop_ambiguous("pagination", [parameter.name for parameter in sizes])
    if len(sizes) != 1:
        return pagination
    size = sizes[0].first_number("maximum", "default")
    if not size:
        why = Text(
            "{names}: the document states neither a default nor a maximum, so that the"
            " API decides",
            names=names_text([sizes[0].name]),
        )
        notes.change("pagination", why)
        return pagination
    return replace(pagination, size_parameter=sizes[0].name, size=min(size, USUAL_SIZE))


# ── changes ──────────────────────────────────────────────────────────────────────────


def read_incremental(
    query: Sequence[QueryParameter], guesses: Mapping[Path, Guess], notes: LineNotes
) -> Incremental:
    """Return how changes are requested, as parameter and field state it."""
    parameters = [parameter for parameter in query if asks_for_changes(parameter.name)]
    if not parameters:
        notes.leave("incremental", Text("there is no parameter for changes only"))
        return Incremental()
    if len(parameters) > 1:
        notes.drop_ambiguous("incremental", [item.name for item in parameters])
        return Incremental()
    parameter = parameters[0]
    fields = _times_of_change(parameter, guesses)
    if len(fields) > 1:
        notes.drop_ambiguous("incremental", map(expression_of, fields))
        return Incremental()
    if not fields:
        why = Text(
            "{names}: the document does not state which field of the"
            " records has the time of the last change in its format",
            names=names_text([parameter.name]),
        )
        notes.drop("incremental", why)
        return Incremental()
    incremental = Incremental(parameter.name, expression_of(fields[0]))
    notes.take_names("incremental", incremental.parameter, incremental.field)
    return incremental


def _times_of_change(
    parameter: QueryParameter, guesses: Mapping[Path, Guess]
) -> list[Path]:
    """Return the fields that a parameter of changes may mean, one if it is clear."""
    name = comparable_name(parameter.name)
    wanted = {"date": Transform.DATE, "date-time": Transform.DATETIME}
    kind = wanted.get(parameter.format)
    if parameter.schema.get("type") == "integer":
        kind = Transform.NUMBER  # Unix times in both
    fields = [
        path
        for path, guess in guesses.items()
        if len(inner_path(path)) == 1
        and comparable_name(path[-1]) in CHANGE_TIMES
        and guess.transform is kind
    ]
    stems = [stem for stem in _CHANGES if stem in name]
    alike = [p for p in fields if any(s in comparable_name(p[-1]) for s in stems)]
    return alike or fields


def asks_for_changes(name: str) -> bool:
    """Whether a parameter has the name of a moment since when changes are wanted."""
    whole = comparable_name(name)
    has_since = whole.endswith(("since", "after")) or bool(
        _SINCE & {*snake_case(name).split("_")}
    )
    return whole == "since" or (has_since and any(stem in whole for stem in _CHANGES))
