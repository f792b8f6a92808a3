"""Which audit records are those of one configuration.

Records have the name that a configuration had, and names are used again: for a new
configuration after one was deleted, or by a rename. So a configuration is followed back
through the records of its renames to its creation.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from outkey.sending.core.audit.chain import CHANGE
from outkey.sending.core.audit.events import Tag
from outkey.sending.ports.storage import AuditRows

PAGE = 100
MAX_NAMES = 20  # of one configuration, so that no loop of records is followed for ever
Facts = Mapping[str, object]


class Period(NamedTuple):
    """The records of a name from an id on, before another id; 0 for no end."""

    name: str
    first: int
    before: int


class Beginning(NamedTuple):
    """The id from which on a name belongs to its configuration, and its name before."""

    first: int
    previous: str = ""


def _periods_of(rows: AuditRows, name: str) -> Iterator[Period]:
    """Yield the periods of the configuration that has this name now, newest first."""
    before = 0
    for _ in range(MAX_NAMES):
        beginning = _beginning(rows, name, before)
        yield Period(name, beginning.first, before)
        if not beginning.previous:
            return
        name = beginning.previous
        before = beginning.first


def newest_of(
    rows: AuditRows, name: str, *, limit: int, before: int = 0
) -> list[dict[str, object]]:
    """Return the newest records of the configuration that has this name now."""
    found: list[dict[str, object]] = []
    for period in _periods_of(rows, name):
        ends = [end for end in (before, period.before) if end]
        page = rows.newest(
            limit, before=min(ends, default=0), configuration=period.name
        )
        found += [record for record in page if _id_of(record) >= period.first]
        if len(found) >= limit:
            break
    return found[:limit]


def _beginning(rows: AuditRows, name: str, before: int) -> Beginning:
    """Return since when the configuration has had a name that it lost `before`."""
    # A rename has two records, one for each name: the first one that is found is the
    # end of the period, if that has one.
    is_end = bool(before)
    while page := rows.newest(PAGE, before=before, configuration=name, kind=CHANGE):
        for record in page:
            number = _id_of(record)
            match record.get("tag"):
                case Tag.CONFIGURATION_CREATED:
                    return Beginning(number)
                case Tag.CONFIGURATION_REMOVED:
                    return Beginning(number + 1)
                case Tag.CONFIGURATION_RENAMED:
                    if previous := _previous_name(record, name):
                        return Beginning(number, previous)
                    if not is_end:
                        return Beginning(number + 1)
                    is_end = False
        before = _id_of(page[-1])
    return Beginning(0)


def _previous_name(record: Facts, name: str) -> str:
    """Return the name that was changed to this one by a rename; "" for another one."""
    match record.get("changes"):
        case [["name", str(previous), str(new)]] if new == name:
            return previous
    return ""


def _id_of(record: Facts) -> int:
    return int(str(record["id"]))
