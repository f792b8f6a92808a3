"""In-memory stand-ins for what the watch reads, remembers and tells."""

from collections.abc import Iterable, Mapping, Sequence

from outkey.core.audit.chain import facts_of
from outkey.core.findings.monitoring import Baseline, Notice
from outkey.ports.sending import Clock
from outkey.testing.fakes import MemoryAuditRows


class MemoryMonitoringRows:
    """Duties, habits and notices in dictionaries; records from a list of rows."""

    def __init__(self, clock: Clock, rows: MemoryAuditRows) -> None:
        self._clock, self._rows = clock, rows
        self._duties: dict[str, tuple[str, float]] = {}
        self._position: int | None = None
        self._habits: dict[str, Baseline] = {}
        self.notices: list[Notice] = []
        self.failing: list[tuple[str, str]] = []
        self.missed = False

    def take(self, duty: str, holder: str, seconds: float) -> bool:
        now = self._clock.now()
        held_by, until = self._duties.get(duty, ("", 0.0))
        if held_by != holder and until >= now:
            return False
        self._duties[duty] = holder, now + seconds
        return True

    def leave(self, holder: str) -> None:
        self._duties = {
            duty: held for duty, held in self._duties.items() if held[0] != holder
        }

    def has_run(self) -> bool:
        return self._position is not None

    def position(self) -> int:
        return self._rows.count() if self._position is None else self._position

    def records(self, after: int, limit: int) -> list[dict[str, object]]:
        rows = enumerate(self._rows.rows[after : after + limit], start=after + 1)
        return [facts_of(row.body) | {"id": number} for number, row in rows]

    def habits(self, names: Iterable[str]) -> dict[str, Baseline]:
        return {name: self._habits[name] for name in names if name in self._habits}

    def is_anybody_missed(self, seconds: float) -> bool:
        return self.missed

    def failing_lines(self) -> list[tuple[str, str]]:
        return self.failing

    def open_notices(self) -> list[Notice]:
        return [notice for notice in self.notices if notice.closed_at is None]

    def turn(
        self, position: int, habits: Mapping[str, Baseline], notices: Iterable[Notice]
    ) -> None:
        self._position = position
        self._habits.update(habits)
        for notice in notices:
            still = [
                n
                for n in self.notices
                if n.sign != notice.sign or n.closed_at is not None
            ]
            self.notices = [*still, notice]


class RecordedNotices:
    """Remembers what was told, each time as a list."""

    def __init__(self) -> None:
        self.told: list[list[Notice]] = []

    def tell(self, notices: Sequence[Notice]) -> None:
        self.told.append(list(notices))
