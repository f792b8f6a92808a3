from outkey.adapters.registry_memory import MemoryRegistry
from outkey.core.config.configuration import SyncLine
from outkey.engine.sync import Runs
from outkey.testing import FakeClock, configuration
from outkey.testing.contracts_records import FIELDS, TARGET, RecordsContract
from outkey.testing.contracts_runs import RunRowsContract, RunsContract
from outkey.testing.fakes_sync import (
    MemoryDatabase,
    MemoryRecords,
    MemoryRunRows,
    MemoryScheduleRow,
    memory_runs,
)

LINES = [
    SyncLine(name, "acme", "GET", "/x") for name in ("contacts", "orders", "others")
]


def registry() -> MemoryRegistry:
    return MemoryRegistry([configuration()], LINES)


class TestMemoryRecords(RecordsContract):
    def make(self) -> MemoryRecords:
        database = MemoryDatabase(FakeClock())
        self.runs = memory_runs(registry(), database)
        return MemoryRecords({TARGET: FIELDS}, database)

    def begun(self, line: str) -> str:
        for run in self.runs.newest(9):
            self.runs.cancel(run.id)
        return self.runs.begin(line, "tester", dry_run=False).id


class TestMemoryRunRows(RunRowsContract):
    def make(self) -> tuple[MemoryRunRows, MemoryScheduleRow, MemoryDatabase]:
        database = MemoryDatabase(FakeClock())
        rows = MemoryRunRows(database, registry())
        return rows, MemoryScheduleRow(database), database


class TestMemoryRuns(RunsContract):
    def make(self) -> Runs:
        self.clock = FakeClock()
        return memory_runs(registry(), MemoryDatabase(self.clock))

    def pass_time(self, seconds: float) -> None:
        self.clock.advance(seconds)
