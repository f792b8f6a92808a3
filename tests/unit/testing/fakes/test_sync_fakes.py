from outkey.sync.core.line.line import SyncLine
from outkey.sync.engine.runs.runs import Runs
from outkey.testing import FakeClock, configuration
from outkey.testing.contracts_ledger import LedgerRowsContract
from outkey.testing.contracts_pairs import PairRowsContract
from outkey.testing.contracts_parents import ParentRowsContract
from outkey.testing.contracts_records import FIELDS, TARGET, RecordsContract
from outkey.testing.contracts_runs import RunRowsContract, RunsContract
from outkey.testing.fakes.basic import MemoryDatabase
from outkey.testing.fakes.storage import memory_registry
from outkey.testing.fakes.sync import (
    MemoryLedgerRows,
    MemoryPairRows,
    MemoryParentRows,
    MemoryRecords,
    MemoryRunRows,
    MemorySync,
)

NAMES = ("contacts", "orders", "others")


def memory(clock: FakeClock) -> MemorySync:
    lines = [SyncLine(name, "acme", "GET", "/x") for name in NAMES]
    return MemorySync(
        memory_registry([configuration()], lines), {TARGET: FIELDS}, clock
    )


class TestMemoryRecords(RecordsContract):
    def make(self) -> MemoryRecords:
        self.memory = memory(FakeClock())
        return self.memory.records

    def begin_run(self, line: str) -> str:
        runs = self.memory.runs
        for run in runs.newest(9):
            runs.cancel(run.id)
        return runs.begin(line, "tester", dry_run=False).id


class TestMemoryRunRows(RunRowsContract):
    def make(self) -> tuple[MemoryRunRows, MemoryDatabase]:
        made = memory(FakeClock())
        return made.rows, made.database


class TestMemoryParentRows(ParentRowsContract):
    def make(self) -> MemoryParentRows:
        return MemoryParentRows()


class TestMemoryLedgerRows(LedgerRowsContract):
    def make(self) -> MemoryLedgerRows:
        return MemoryLedgerRows()


class TestMemoryPairRows(PairRowsContract):
    def make(self) -> MemoryPairRows:
        return MemoryPairRows()


class TestMemoryRuns(RunsContract):
    def make(self) -> Runs:
        self.clock = FakeClock()
        return memory(self.clock).runs

    def pass_time(self, seconds: float) -> None:
        self.clock.advance(seconds)
