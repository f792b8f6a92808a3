import json
import os
import stat
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import pytest

from outkey.foundation.core.errors import AuditUnavailable, ConfigError
from outkey.foundation.core.text import Text
from outkey.sending.adapters.audit import audit_chained
from outkey.sending.adapters.audit.audit_chained import ChainedAudit
from outkey.sending.adapters.audit.audit_timer import AuditTimer
from outkey.sending.adapters.audit.checkpoints_file import CheckpointFile
from outkey.sending.core.audit.chain import (
    ChainRow,
    ChainVerdict,
    sign_checkpoint,
    verify,
)
from outkey.sending.core.audit.events import Intent, Outcome, Refusal
from outkey.testing import FakeClock, MemoryAuditRows, MemoryCheckpoints

KEY = b"k" * 32
INTENT = Intent("acme", "", "basic", "GET", "https://a.example", "/", ("Host",), 0)


class AuditBench:
    """An audit with its fakes."""

    def __init__(self) -> None:
        self.rows, self.checkpoints, self.clock = (
            MemoryAuditRows(),
            MemoryCheckpoints(),
            FakeClock(),
        )
        self.timed: list[Callable[[], None]] = []  # what the timer was asked to call
        self.audit = ChainedAudit(
            self.rows,
            self.checkpoints,
            self.clock,
            key_id="k1",
            key=KEY,
            call_later=self.timed.append,
        )

    def verdict(self) -> ChainVerdict:
        return verify(
            self.rows.read(),
            lambda _: KEY,
            checkpoints=self.checkpoints.read(),
            tombstones=(),
        )

    def facts(self) -> list[dict[str, object]]:
        return [json.loads(row.body) for row in self.rows.rows]


def test_an_intent_is_written_at_once_and_an_outcome_with_the_next() -> None:
    bench = AuditBench()
    attempt = bench.audit.intend(INTENT)
    bench.audit.conclude(Outcome(attempt, "acme", 200, "ok", 5))
    assert [f["tag"] for f in bench.facts()] == ["engine:send:intended"]
    bench.audit.intend(INTENT)
    assert [f["tag"] for f in bench.facts()] == [
        "engine:send:intended",
        "engine:send:ended",
        "engine:send:intended",
    ]
    assert bench.rows.commits == 2
    assert bench.facts()[0]["attempt"] == bench.facts()[1]["attempt"] == attempt
    assert bench.facts()[0]["at"] == 1_800_000_000_000


def test_closing_writes_what_is_queued_and_leaves_no_unprotected_tail() -> None:
    bench = AuditBench()
    bench.audit.conclude(Outcome("a", "acme", 200, "ok", 5))
    bench.audit.close()
    bench.audit.close()
    assert bench.verdict() == ChainVerdict(
        ok=True, rows=1, first_bad=None, unprotected_tail=0
    )
    assert len(bench.checkpoints.marks) == 1


def test_concurrent_intents_share_commits_and_each_has_its_row() -> None:
    bench = AuditBench()
    slow = threading.Event()
    append = bench.rows.append

    def slowly(rows: Sequence[ChainRow], *, sync: bool = False) -> None:
        slow.wait(0.02)
        append(rows, sync=sync)

    bench.rows.append = slowly  # type: ignore[method-assign]
    attempts: list[str] = []
    threads = [
        threading.Thread(target=lambda: attempts.append(bench.audit.intend(INTENT)))
        for _ in range(50)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(f["attempt"] for f in bench.facts()) == sorted(attempts)  # type: ignore[type-var]
    assert bench.rows.commits < 25
    assert bench.verdict().ok


def test_a_table_that_cannot_be_written_refuses_intents_and_recovers() -> None:
    bench = AuditBench()
    first = bench.audit.intend(INTENT)
    bench.audit.conclude(Outcome(first, "acme", 200, "ok", 5))
    bench.rows.broken = True
    with pytest.raises(AuditUnavailable):
        bench.audit.intend(INTENT)
    bench.audit.refuse(Refusal("", "acme", "", "egress_denied"))
    bench.rows.broken = False
    bench.audit.intend(INTENT)
    tags = [f["tag"] for f in bench.facts()]
    ended, refused = "engine:send:ended", "engine:send:refused"
    assert sorted(tags) == [
        ended,
        "engine:send:intended",
        "engine:send:intended",
        refused,
    ]
    assert len({row.stream for row in bench.rows.rows}) == 2
    assert bench.verdict().ok


def test_a_writer_that_hangs_refuses_others_in_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(audit_chained, "PATIENCE_SECONDS", 0.05)
    bench = AuditBench()
    with bench.audit._writer, pytest.raises(AuditUnavailable, match="in time"):
        bench.audit.intend(INTENT)
    bench.audit.intend(INTENT)
    assert bench.verdict().ok


@pytest.mark.parametrize("by", ["rows", "seconds"])
def test_a_checkpoint_is_signed_every_thousand_rows_and_every_minute(
    by: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = AuditBench()
    if by == "rows":
        monkeypatch.setattr(audit_chained, "CHECKPOINT_ROWS", 3)
        for _ in range(7):
            bench.audit.intend(INTENT)
    else:
        for _ in range(7):
            bench.clock.advance(25)
            bench.audit.intend(INTENT)
    assert [mark.number for mark in bench.checkpoints.marks] == [3, 6]
    assert bench.verdict().unprotected_tail == 1


def test_a_checkpoint_states_only_what_survives_a_power_failure() -> None:
    bench = AuditBench()
    bench.audit.intend(INTENT)
    assert bench.rows.synced == 0
    bench.audit.flush()
    assert [mark.number for mark in bench.checkpoints.marks] == [bench.rows.synced]
    bench.audit.flush()
    assert [mark.number for mark in bench.checkpoints.marks] == [1]


def test_records_before_a_failure_are_missed_when_they_are_deleted() -> None:
    bench = AuditBench()
    bench.audit.intend(INTENT)
    bench.audit.intend(INTENT)
    bench.rows.broken = True
    with pytest.raises(AuditUnavailable):
        bench.audit.intend(INTENT)
    bench.rows.broken = False
    assert bench.verdict().ok
    del bench.rows.rows[1]
    assert "missing at the end" in str(bench.verdict().first_bad)


def test_a_checkpoint_that_cannot_be_written_does_not_stop_the_audit() -> None:
    bench = AuditBench()
    bench.checkpoints.broken = True
    bench.audit.intend(INTENT)
    bench.audit.close()
    verdict = bench.verdict()
    assert (verdict.ok, verdict.rows, verdict.unprotected_tail) == (True, 1, 1)


def test_a_checkpoint_that_cannot_be_written_is_not_tried_with_every_record() -> None:
    bench = AuditBench()
    bench.checkpoints.broken = True
    bench.clock.advance(audit_chained.CHECKPOINT_SECONDS)
    bench.audit.intend(INTENT)
    assert bench.rows.synced == 1
    bench.audit.intend(INTENT)
    assert bench.rows.synced == 1
    bench.checkpoints.broken = False
    bench.clock.advance(audit_chained.CHECKPOINT_SECONDS)
    bench.audit.intend(INTENT)
    assert (
        [mark.number for mark in bench.checkpoints.marks] == [bench.rows.synced] == [3]
    )


def test_records_that_cannot_be_written_do_not_pile_up_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(audit_chained, "MAX_QUEUED", 5)
    bench = AuditBench()
    bench.rows.broken = True
    for number in range(20):
        bench.audit.refuse(Refusal(str(number), "acme", "", "egress_denied"))
    bench.rows.broken = False
    bench.audit.close()
    assert [f["attempt"] for f in bench.facts()] == ["15", "16", "17", "18", "19"]


def test_many_outcomes_at_once_are_all_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(audit_chained, "MAX_QUEUED", 5)
    bench = AuditBench()
    attempts = bench.audit.intend_all([INTENT] * 20)
    for attempt in attempts:
        bench.audit.conclude(Outcome(attempt, "acme", 200, "ok", 5))
    bench.audit.intend_all([INTENT] * 20)
    assert len(bench.rows.rows) == 60
    assert [f["attempt"] for f in bench.facts()[20:40]] == attempts


def test_whatever_error_writing_ends_with_no_outcome_is_lost() -> None:
    bench = AuditBench()
    append = bench.rows.append

    def misconfigured(rows: Sequence[ChainRow], *, sync: bool = False) -> None:
        raise ConfigError(Text("the policy is not TOML"))

    attempt = bench.audit.intend(INTENT)
    bench.audit.conclude(Outcome(attempt, "acme", 200, "ok", 5))
    bench.rows.append = misconfigured  # type: ignore[method-assign]
    with pytest.raises(ConfigError):
        bench.audit.intend(INTENT)
    bench.audit.close()
    bench.rows.append = append  # type: ignore[method-assign]
    bench.audit.close()
    assert [f["tag"] for f in bench.facts()] == [
        "engine:send:intended",
        "engine:send:ended",
    ]
    assert bench.verdict().ok


def test_a_forked_child_writes_a_stream_of_its_own() -> None:
    bench = AuditBench()
    bench.audit.intend(INTENT)
    bench.audit.conclude(Outcome("parent", "acme", 200, "ok", 5))
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:  # pragma: no cover - the child's lines are not measured
        bench.audit.intend(INTENT)
        os.write(write_end, "\n".join(row.stream for row in bench.rows.rows).encode())
        os._exit(0)
    os.close(write_end)
    os.waitpid(child, 0)
    with os.fdopen(read_end) as pipe:
        seen = pipe.read().split("\n")
    assert len(seen) == 2
    assert seen[0] != seen[1]


def test_a_checkpoint_file_is_private_and_survives_a_cut_line(tmp_path: Path) -> None:
    file = tmp_path / "checkpoints"
    place = CheckpointFile(file)
    bench = AuditBench()
    bench.audit.intend(INTENT)
    mark = sign_checkpoint(KEY, bench.rows.rows[0])
    place.append(mark)
    with file.open("ab") as handle:
        handle.write(b'{"stream": "cut')
    assert list(place.read()) == [mark]
    place.append(mark)
    assert list(place.read()) == [mark, mark]
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    with pytest.raises(AuditUnavailable):
        CheckpointFile(tmp_path / "no" / "folder").append(mark)


def test_a_write_that_fails_refuses_everybody_whose_record_was_in_it() -> None:
    bench, release, calls, ends = (
        AuditBench(),
        threading.Event(),
        list[int](),
        list[bool](),
    )
    original = bench.rows.append

    def append(rows: Sequence[ChainRow], *, sync: bool = False) -> None:
        calls.append(len(rows))
        if len(calls) == 1:
            release.wait(5)
        if len(calls) == 2:
            raise AuditUnavailable
        original(rows, sync=sync)

    def intend() -> None:
        try:
            bench.audit.intend(INTENT)
        except AuditUnavailable:
            ends.append(False)
        else:
            ends.append(True)

    bench.rows.append = append  # type: ignore[method-assign]
    threads = [threading.Thread(target=intend) for _ in range(6)]
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + 5
    while len(bench.audit._queue) < 5 and time.monotonic() < deadline:
        time.sleep(0.01)
    release.set()
    for thread in threads:
        thread.join()
    assert calls == [1, 5]
    assert sorted(ends) == [False] * 5 + [True]


def test_a_forked_child_leaves_what_its_parent_has_queued(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bench = AuditBench()
    bench.audit.conclude(Outcome("a", "acme", 200, "ok", 5))
    with monkeypatch.context() as child:
        child.setattr("os.getpid", lambda: -1)
        bench.audit.flush()
        bench.audit.close()
    assert bench.rows.rows == []
    bench.audit.close()
    assert len(bench.rows.rows) == 1


def test_the_last_record_and_outcome_are_protected_though_nothing_follows() -> None:
    bench = AuditBench()
    attempt = bench.audit.intend(INTENT)
    bench.audit.conclude(Outcome(attempt, "acme", 200, "ok", 5))
    assert len(bench.timed) == 1
    bench.timed.pop()()
    assert bench.verdict() == ChainVerdict(
        ok=True, rows=2, first_bad=None, unprotected_tail=0
    )
    assert bench.timed == [], "nothing is unprotected"
    bench.audit.intend(INTENT)
    assert len(bench.timed) == 1


def test_the_timer_is_asked_once_however_often_the_audit_is_flushed() -> None:
    bench = AuditBench()
    for _ in range(5):
        bench.audit.intend(INTENT)
        bench.audit.flush()
    assert len(bench.timed) == 1
    written = bench.rows.commits
    bench.timed.pop()()
    assert bench.rows.commits == written
    assert bench.timed == []


@pytest.mark.parametrize("place", ["rows", "checkpoints"])
def test_what_could_not_be_protected_is_tried_again(place: str) -> None:
    bench = AuditBench()
    attempt = bench.audit.intend(INTENT)
    bench.audit.conclude(Outcome(attempt, "acme", 200, "ok", 5))
    getattr(bench, place).broken = True
    bench.timed.pop()()
    assert len(bench.timed) == 1
    getattr(bench, place).broken = False
    bench.timed.pop()()
    assert len(bench.facts()) == 2
    assert bench.checkpoints.marks[-1].number == bench.rows.rows[-1].number


def test_the_timer_of_a_parent_does_nothing_in_a_forked_child(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bench = AuditBench()
    bench.audit.conclude(Outcome("a", "acme", 200, "ok", 5))
    with monkeypatch.context() as child:
        child.setattr("os.getpid", lambda: -1)
        bench.timed.pop()()
    assert bench.rows.rows == []
    assert bench.timed == []


def timer_threads() -> set[threading.Thread]:
    return {t for t in threading.enumerate() if t.name == "outkey-audit"}


def wait_for(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_one_thread_serves_all_audits_and_ends_when_none_waits() -> None:
    others = timer_threads()
    timer = AuditTimer(0.2)
    calls: list[int] = []
    for number in range(3):
        timer.call_later(partial(calls.append, number))
    (thread,) = timer_threads() - others
    assert thread.daemon
    wait_for(lambda: calls == [0, 1, 2])
    wait_for(lambda: not thread.is_alive())
    timer.call_later(partial(calls.append, 3))
    wait_for(lambda: calls == [0, 1, 2, 3])


def test_an_audit_that_fails_stops_no_other(caplog: pytest.LogCaptureFixture) -> None:
    timer = AuditTimer(0.0)
    calls: list[str] = []

    def fail() -> None:
        raise ValueError("a value")

    timer.call_later(fail)
    timer.call_later(lambda: calls.append("other"))
    wait_for(lambda: calls)
    assert "ValueError" in caplog.text
    assert "a value" not in caplog.text


def test_a_forked_child_has_a_timer_of_its_own() -> None:
    timer = AuditTimer(0.2)
    calls: list[str] = []
    timer.call_later(lambda: calls.append("parent"))
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:  # pragma: no cover - the child's lines are not measured
        timer.call_later(lambda: calls.append("child"))
        deadline = time.monotonic() + 20
        while "child" not in calls and time.monotonic() < deadline:
            time.sleep(0.01)
        os.write(write_end, "+".join(calls).encode())
        os._exit(0)
    os.close(write_end)
    os.waitpid(child, 0)
    with os.fdopen(read_end) as pipe:
        assert pipe.read() == "child"
    wait_for(lambda: calls == ["parent"])


def test_the_first_record_of_a_stream_names_the_streams_before_it() -> None:
    bench = AuditBench()
    bench.audit.intend(INTENT)
    planted = bench.rows.rows[0]._replace(stream="k1.planted")
    bench.rows.rows.append(planted)
    later = ChainedAudit(
        bench.rows, bench.checkpoints, bench.clock, key_id="k1", key=KEY
    )
    later.intend(INTENT)
    later.intend(INTENT)
    own, _, first, second = bench.facts()
    assert "follows" not in own
    assert first["follows"] == [bench.rows.rows[0].stream]
    assert "follows" not in second
    bench.rows.rows.remove(planted)
    assert bench.verdict().ok
    del bench.rows.rows[0]
    assert "the stream is missing" in str(bench.verdict().first_bad)
