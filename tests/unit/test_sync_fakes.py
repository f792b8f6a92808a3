from outkey.testing import FakeClock
from outkey.testing.contracts_records import FIELDS, TARGET, RecordsContract
from outkey.testing.contracts_runs import RunsContract
from outkey.testing.fakes_sync import MemoryRecords, MemoryRuns


class TestMemoryRecords(RecordsContract):
    def make(self) -> MemoryRecords:
        self.runs = MemoryRuns(FakeClock())
        return MemoryRecords({TARGET: FIELDS}, self.runs)

    def begun(self, line: str) -> str:
        for run in self.runs.newest(9):
            self.runs.cancel(run.id)
        return self.runs.begin(line, "tester", dry_run=False).id


class TestMemoryRuns(RunsContract):
    def make(self) -> MemoryRuns:
        self.clock = FakeClock()
        return MemoryRuns(self.clock)

    def pass_time(self, seconds: float) -> None:
        self.clock.advance(seconds)
