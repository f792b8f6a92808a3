"""Which audit records are those of one configuration.

Records have the name that a configuration had, and names are used again: for a new
configuration after one was deleted, or by a rename. So a configuration is followed back
through the records of its renames to its creation.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from outkey.sending.core.audit.chain import CHANGE, AuditStream, ChainMark, ChainRow
from outkey.sending.core.audit.events import Tag
from outkey.sending.core.configuration.owners import out_of_reach
from outkey.sending.ports.storage import AuditRows

PAGE = 100
MAX_NAMES = 20  # of one configuration, so that no loop of records is followed for ever
Facts = Mapping[str, object]


class Period(NamedTuple):
    """The records of a name from an id on, before another id; 0 for no end."""

    name: str
    first: int
    before: int

    def includes(self, record: Facts) -> bool:
        """Whether a record is one of these."""
        number = _id_of(record)
        is_before = not self.before or number < self.before
        return (
            record.get("configuration") == self.name
            and self.first <= number
            and is_before
        )


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


class LimitedAudit:
    """The records of some configurations, also from before they were renamed.

    `names` returns the names that these have now.
    """

    def __init__(self, rows: AuditRows, names: Callable[[], Collection[str]]) -> None:
        self._rows = rows
        self._names = names
        self._known: list[Period] | None = None

    def newest(
        self, limit: int, *, before: int = 0, **labels: str
    ) -> list[dict[str, object]]:
        configuration = labels.pop("configuration", "")
        found: list[dict[str, object]] = []
        for period in self._periods():
            if configuration not in {"", period.name}:
                continue
            ends = [end for end in (before, period.before) if end]
            page = self._rows.newest(
                limit,
                before=min(ends, default=0),
                configuration=period.name,
                **labels,
            )
            found += [record for record in page if _id_of(record) >= period.first]
        return sorted(found, key=_id_of, reverse=True)[:limit]

    def position_at(self, moment: float) -> int:
        return self._rows.position_at(moment)

    def after(self, position: int, limit: int) -> list[dict[str, object]]:
        """Return those of the next rows that are within the limit."""
        return [
            record
            for record in self._rows.after(position, limit)
            if any(period.includes(record) for period in self._periods())
        ]

    def append(self, rows: Sequence[ChainRow], *, sync: bool = False) -> None:
        raise out_of_reach()

    def read(self) -> Iterator[ChainRow]:
        raise out_of_reach()

    def streams(self) -> Iterator[AuditStream]:
        raise out_of_reach()

    def beginnings(self, limit: int) -> list[ChainRow]:
        raise out_of_reach()

    def prune(self, tombstone: ChainMark) -> int:
        raise out_of_reach()

    def _periods(self) -> list[Period]:
        """Return the periods of all of the configurations.

        Not those of unsaved values: nobody knows whose a name was before it was saved.
        """
        if self._known is None:
            self._known = [
                period
                for configuration in sorted(self._names())
                for period in _periods_of(self._rows, configuration)
            ]
        return self._known


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
