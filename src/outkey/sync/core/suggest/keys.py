"""Which fields identify a record: unique in the sample, and named like it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations

from outkey.foundation.core.paging_words import words
from outkey.foundation.core.text import Text
from outkey.sync.core.suggest.names import Path, comparable_name, inner_path, snake_case

# The best names first.
_NAMES = (
    "id",
    "uuid",
    "guid",
    "externalid",
    "key",
    "objectid",
    "code",
    "number",
    "sku",
    "slug",
    "handle",
    "no",
    "nr",
    "nummer",
    "hash",
    "infohash",
    "sha",
    "sha1",
    "sha256",
    "digest",
    "fingerprint",
    "value",
    "…id",  # any other name that ends with id
    "name",
    "email",
)
_ANY_ID = _NAMES.index("…id")
_OTHER_IDS = (_NAMES.index("uuid"), _NAMES.index("guid"))
_UNSURE = _ANY_ID  # from this rank on, others have such names too
# Ends of names that a key may have: InvoiceNumber. Others have them too.
_ENDS = ("number", "nummer", "code", "no", "nr")
_OTHER_NUMBERS = words(
    "postal country zip phone telephone currency account tax vat bank area fax mobile"
    " customer language state region"
)
_ID_WORDS = words("id uuid guid hash sha1 sha256")
# Ids of what a record belongs to, which other records share.
_OTHER_THINGS = words(
    "parent owner customer account user company organization organisation org project"
    " group team tenant category creator author assignee created updated modified last"
    " request session order product external_user client vendor supplier contact"
)
# Words of fields that identify a record together with others.
_PART_WORDS = words(
    "id uuid key code number no nr nummer position line year date day type kind name"
    " sku column datum jahr beleg belegfeld"
)
_WITHIN_YEAR = words("number no nr nummer position")
_YEARS = words("year fiscalyear jahr wirtschaftsjahr")
_MAX_PARTS = 8  # fields that are combined
_MAX_KEY = 200  # characters of a value

Fields = Mapping[Path, Sequence[object]]


def guess_keys(fields: Fields, word: str) -> tuple[tuple[Path, ...], Text]:
    """Return the fields of the key, and why; `word` is what the records are called."""
    usable = {path: values for path, values in fields.items() if _can_be_key(values)}
    unique = [
        path for path in _key_candidates(usable, word) if _are_unique(usable[path])
    ]
    if unique:
        key = unique[0]
        year = next(
            (path for path in usable if comparable_name(path[-1]) in _YEARS), None
        )
        if year is not None and comparable_name(key[-1]) in _WITHIN_YEAR:
            why = Text(
                "the numbers are unique in the sample, but perhaps only within a year"
            )
            return (year, key), why
        is_sure = (_rank(key, comparable_name(word)) or 0) < _UNSURE
        return (key,), _unique_reason(len(usable[key]), is_sure=is_sure)
    for paths in _combinations(usable):
        rows = list(zip(*(usable[path] for path in paths), strict=True))
        if _are_unique(rows):
            return paths, Text(
                "no field alone is unique in the sample; these are together"
            )
    return (), Text(
        "no field is unique in the sample and named like a key: enter the key yourself"
    )


def identifying_paths(paths: Iterable[Path], word: str) -> list[Path]:
    """Return the fields that are called id; without one uuid, guid and order_id."""
    ranks = {path: _rank(path, comparable_name(word)) for path in paths}
    ids = [path for path, rank in ranks.items() if rank == 0]
    return ids or [path for path, rank in ranks.items() if rank in _OTHER_IDS]


def _unique_reason(count: int, *, is_sure: bool) -> Text:
    if count == 1:
        return Text("named like a key; the sample has one record only")
    if is_sure:
        return Text("unique among {count} records, and named like a key", count=count)
    return Text(
        "unique among {count} records, but other fields have such names too: check that"
        " this field identifies a record",
        count=count,
    )


def _can_be_key(values: Sequence[object]) -> bool:
    """Whether every record has a text or a whole number of moderate length."""
    return bool(values) and all(
        isinstance(value, str | int)
        and not isinstance(value, bool)
        and 0 < len(str(value)) <= _MAX_KEY
        for value in values
    )


def _are_unique(values: Sequence[object]) -> bool:
    return len({str(value) for value in values}) == len(values)


def _key_candidates(fields: Fields, word: str) -> list[Path]:
    """Return the fields whose names may be those of a key, the best first."""
    ranked = []
    for number, path in enumerate(fields):
        rank = _rank(path, comparable_name(word))
        if rank is not None:
            ranked.append((rank, len(path), number, path))
    return [path for *_, path in sorted(ranked)]


def _rank(path: Path, word: str) -> int | None:
    name = comparable_name(path[-1])
    if len(inner_path(path)) > 1:
        return None  # of something else: the id of a customer is not that of an order
    if name in _NAMES:
        return _NAMES.index(name)
    stem = name.removesuffix("id").removesuffix("uu").removesuffix("gu")
    singular = word.removesuffix("s").removesuffix("ie")
    if stem and name.endswith("id") and singular and stem.startswith(singular):
        return 1
    parts = {*snake_case(path[-1]).split("_")}
    if len(parts) > 1 and parts & _ID_WORDS and not parts & _OTHER_THINGS:
        return _ANY_ID
    if name.endswith(_ENDS) and not parts & _OTHER_NUMBERS:
        return len(_NAMES)
    return None


def _combinations(fields: Fields) -> Iterator[tuple[Path, ...]]:
    parts = [
        path
        for path in fields
        if len(path) <= 2 and _PART_WORDS & {*snake_case(path[-1]).split("_")}
    ][:_MAX_PARTS]
    for count in (2, 3):
        yield from combinations(parts, count)
