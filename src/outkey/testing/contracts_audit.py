"""Contract suites of audit rows and checkpoints, used like those of `contracts`."""

from abc import ABC, abstractmethod
from itertools import groupby

from outkey.sending.core.audit import chain
from outkey.sending.core.audit.events import Tag
from outkey.sending.ports.storage import AuditCheckpoints, AuditRows

KEY = b"k" * 32


def rows_at(stream: str, *moments: int) -> list[chain.ChainRow]:
    """Return the first rows of a stream, recorded at these times."""
    facts = [{"at": at, "configuration": "acme", "outcome": "ok"} for at in moments]
    records = [(chain.canonical(fact), chain.label_of(fact)) for fact in facts]
    return list(chain.RowCodes(KEY, stream).chain(records))


class AuditRowsContract(ABC):
    """The promises of every table of audit rows."""

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

    def test_changes_sign_ins_and_failures_are_found_by_their_kind(self) -> None:
        table = self.make()
        events = [
            {"at": 1, "tag": Tag.SEND_INTENT},
            {"at": 2, "tag": Tag.SEND_OUTCOME, "outcome": "ok"},
            {"at": 3, "tag": Tag.SEND_OUTCOME, "outcome": "timeout"},
            {"at": 4, "tag": Tag.LINE_SAVED, "actor": "ann"},
            {"at": 5, "tag": Tag.SESSION_BEGAN, "actor": "ann"},
            {"at": 6, "tag": Tag.LINE_SAVED, "actor": "ben"},
        ]
        records = [(chain.canonical(fact), chain.label_of(fact)) for fact in events]
        rows = list(chain.RowCodes(KEY, "k.a").chain(records))
        table.append(rows)
        assert list(table.read()) == rows

        changes = table.newest(9, kind=chain.CHANGE)
        assert [facts["at"] for facts in changes] == [6, 4]
        (change,) = table.newest(9, kind=chain.CHANGE, actor="ann")
        assert change["at"] == 4
        (sign_in,) = table.newest(9, kind=chain.SIGN_IN)
        assert sign_in["at"] == 5
        (failure,) = table.newest(9, kind=chain.FAILURE)
        assert failure["at"] == 3

    def test_the_last_row_before_a_moment_is_found(self) -> None:
        table = self.make()
        assert table.position_at(1) == 0
        rows = rows_at("k.a", 1000, 2000, 2000, 3000, 9000)
        table.append(rows)
        ids = {int(str(facts["id"])): facts["at"] for facts in table.newest(len(rows))}
        positions = [table.position_at(moment) for moment in (0, 1, 2, 2.5, 5, 9.5)]
        assert [ids.get(position, 0) for position in positions] == [
            0,
            0,
            1000,
            2000,
            3000,
            9000,
        ]
        tombstone = chain.sign_tombstone(KEY, rows[2])
        table.prune(tombstone)
        assert table.position_at(1.5) == 0

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

    def test_streams_are_found_that_began_or_were_written_last(self) -> None:
        table = self.make()
        assert table.beginnings(5) == []
        first = {}
        for name in ("k.a", "k.b", "k.c", "k.d"):
            rows = rows_at(name, 1, 2)
            table.append(rows)
            first[name] = rows[0]
        old = rows_at("k.a", 1, 2, 3)
        table.append(old[2:])
        found = {row.stream: row for row in table.beginnings(1)}
        assert found == {name: first[name] for name in ("k.a", "k.d")}
        table.prune(chain.sign_tombstone(KEY, first["k.a"]))
        assert [row.stream for row in table.beginnings(1)] == ["k.d"]
        assert len(table.beginnings(99)) == 3


class CheckpointsContract(ABC):
    """The promises of every place for checkpoints."""

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

    def test_a_stream_is_sighted_once_and_not_beside_a_checkpoint(self) -> None:
        place = self.make()
        checkpoint = chain.sign_checkpoint(KEY, rows_at("k.a", 1)[0])
        place.append(checkpoint)
        sightings = [chain.sign_sighting(KEY, name) for name in ("k.a", "k.b", "k.c")]
        place.add_sightings(sightings[:2])
        place.add_sightings(sightings)
        assert list(place.read()) == [checkpoint, *sightings[1:]]
