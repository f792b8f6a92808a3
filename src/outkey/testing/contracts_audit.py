"""Contract suites of audit rows and checkpoints, used like those of `contracts`."""

from abc import ABC, abstractmethod
from itertools import groupby

from outkey.core.audit import chain
from outkey.ports.storage import AuditCheckpoints, AuditRows

KEY = b"k" * 32


def rows_at(stream: str, *moments: int) -> list[chain.ChainRow]:
    """Return the first rows of a stream, recorded at these times."""
    facts = [{"at": at, "configuration": "acme", "outcome": "ok"} for at in moments]
    records = [(chain.canonical(fact), chain.label_of(fact)) for fact in facts]
    return list(chain.chain_rows(KEY, stream, records))


class AuditRowsContract(ABC):
    """What every table of audit rows promises."""

    @abstractmethod
    def make(self) -> AuditRows:
        """Return an empty table."""

    def test_rows_come_back_one_stream_after_the_other_and_each_in_order(self) -> None:
        table = self.make()
        short = rows_at("k.b", *range(3))
        long = rows_at("k.a", *range(12))
        table.append(short)
        table.append(long[:5])
        table.append(long[5:])
        rows = list(table.read())
        assert sorted(rows, key=lambda row: row.stream) == long + short
        streams = [stream for stream, _ in groupby(rows, key=lambda row: row.stream)]
        assert sorted(streams) == ["k.a", "k.b"]

    def test_rows_are_synced_with_others_and_alone(self) -> None:
        table = self.make()
        rows = rows_at("k.a", 1, 2)
        table.append([], sync=True)
        table.append(rows[:1])
        table.append(rows[1:], sync=True)
        table.append([], sync=True)
        assert list(table.read()) == rows

    def test_the_newest_rows_are_found_by_label_and_page(self) -> None:
        table = self.make()
        assert table.newest(1) == []
        table.append(rows_at("k.a", 1, 2, 3, 4))
        first, second = table.newest(2)
        assert (first["at"], second["at"]) == (4, 3)
        page = table.newest(9, before=int(str(second["id"])))
        assert [facts["at"] for facts in page] == [2, 1]
        assert len(table.newest(9, configuration="acme", outcome="ok")) == 4
        assert table.newest(9, configuration="other") == []

    def test_rows_are_read_on_from_an_id_oldest_first(self) -> None:
        table = self.make()
        assert table.after(0, 9) == []
        table.append(rows_at("k.a", 1, 2))
        position = int(str(table.newest(1)[0]["id"]))
        assert table.after(position, 9) == []
        table.append(rows_at("k.b", 3, 4, 5))
        page = table.after(position, 2)
        assert [facts["at"] for facts in page] == [3, 4]
        rest = table.after(int(str(page[-1]["id"])), 2)
        assert [facts["at"] for facts in rest] == [5]

    def test_rows_are_pruned_up_to_a_tombstone_and_the_chain_stays_whole(self) -> None:
        table = self.make()
        rows = rows_at("k.a", 10, 20, 30)
        table.append(rows)
        table.append(rows_at("k.b", 5))
        assert table.prune(chain.sign_tombstone(KEY, rows[0])) == 1
        tombstone = chain.sign_tombstone(KEY, rows[1])
        assert table.prune(tombstone) == 1
        left = sorted((row.stream, row.number) for row in table.read())
        assert left == [("k.a", 3), ("k.b", 1)]
        streams = {stream.name: stream for stream in table.streams()}
        assert streams == {
            "k.a": chain.AuditStream("k.a", 1, 30, tombstone),
            "k.b": chain.AuditStream("k.b", 1, 5, None),
        }
        verdict = chain.verify(
            table.read(), lambda _: KEY, checkpoints=(), tombstones=[tombstone]
        )
        assert (verdict.ok, verdict.rows) == (True, 2)

    def test_an_older_tombstone_changes_nothing(self) -> None:
        table = self.make()
        rows = rows_at("k.a", 10, 20, 30)
        table.append(rows)
        newer = chain.sign_tombstone(KEY, rows[1])
        assert table.prune(newer) == 2
        assert table.prune(chain.sign_tombstone(KEY, rows[0])) == 0
        assert table.prune(newer) == 0
        assert list(table.streams()) == [chain.AuditStream("k.a", 1, 30, newer)]

    def test_a_stream_stays_when_all_its_rows_are_pruned(self) -> None:
        table = self.make()
        rows = rows_at("k.a", 10, 20)
        table.append(rows)
        tombstone = chain.sign_tombstone(KEY, rows[-1])
        assert table.prune(tombstone) == 2
        assert list(table.streams()) == [chain.AuditStream("k.a", 0, None, tombstone)]


class CheckpointsContract(ABC):
    """What every place for checkpoints promises."""

    @abstractmethod
    def make(self) -> AuditCheckpoints:
        """Return an empty place."""

    def test_checkpoints_come_back_as_they_were(self) -> None:
        place = self.make()
        assert list(place.read()) == []
        marks = [chain.sign_checkpoint(KEY, row) for row in rows_at("k.a", 1, 2, 3)]
        for mark in marks:
            place.append(mark)
        assert list(place.read()) == marks
