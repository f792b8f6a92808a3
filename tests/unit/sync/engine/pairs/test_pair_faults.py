"""Pairs when something goes wrong.

Runs beside each other, creates that never succeed, rows that cannot be read, and
records that neither side has any more.
"""

import gc
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from outkey.foundation.adapters.states_memory import MemoryStateRows
from outkey.foundation.core.errors import BadResponse, LineBusy, OutkeyError, SyncFailed
from outkey.foundation.core.shared_state import StateKind
from outkey.foundation.core.text import Text
from outkey.sending.core.request.message import Request, Response
from outkey.sync.core.line.line import (
    FieldMapping,
    Gone,
    Incremental,
    Pagination,
    Paging,
    PushRequest,
    Writes,
)
from outkey.sync.core.pairs.pairs import PairConflict
from outkey.sync.core.pairs.section import ConflictRule, Pair
from outkey.sync.core.push.ledger import UNSURE, LedgerEntry
from outkey.sync.core.run.run import Run, RunState
from outkey.sync.engine.pairs.push import PairLedger
from outkey.sync.engine.pairs.runner import PairRunner
from outkey.sync.engine.push.push_jobs import Job, Settled
from outkey.sync.engine.sync_settings import SyncSettings
from unit.fake_orders_api import Reply, reply
from unit.sync.engine.pairs.test_pair_keys import (
    BY_ID,
    FIELDS,
    NAMES_ONLY,
    LossyShop,
    ShopWithIds,
    with_ids,
)
from unit.sync.engine.pairs.test_pair_runs import PULL, PUSH, PairOfLines, Shop, agreed
from unit.sync.engine.pull.test_sync_run import Faulty, Killed

API, HOST, NEWEST, ASK = ConflictRule
LINE = "send orders"


def run_line(made: PairOfLines, line: str) -> Run:
    *_, last = made.runner.run(line, "ada")
    return last


def reasons(made: PairOfLines, run: Run) -> list[tuple[str, str]]:
    return [(one.key, one.reason) for one in made.memory.runs.rejected(run.id, 99)]


def conflicts(made: PairOfLines) -> list[str]:
    return [known.key for known in made.memory.pairs.conflicts(LINE, "", 99)]


# ── both lines at once ────────────────────────────────────────────────────────────────


def test_a_pull_does_not_begin_while_the_push_waits_for_the_response_of_a_create() -> (
    None
):
    made = with_ids()
    made.add("", "Ours")
    push = made.runner.run(LINE, "ada")
    next(push)
    with pytest.raises(LineBusy, match=r"other line of the pair.*send orders"):
        next(made.runner.run("orders", "ada"))
    for _ in push:
        pass
    made.run()
    assert made.ours() == made.theirs() == {"r1": "First", "r2": "Ours"}


# ── creates that never succeed ────────────────────────────────────────────────────────


@dataclass
class FailingShop(ShopWithIds):
    """Fails to create what is called Bad."""

    failure: Reply = field(default_factory=lambda: reply(500))

    def __call__(self, request: Request) -> Reply:
        body = bytes(request.body)  # type: ignore[arg-type]
        if request.method == "POST" and b"Bad" in body:
            self.asked.append(request)
            return self.failure
        return super().__call__(request)


def test_a_create_that_never_succeeds_does_not_stop_the_pull() -> None:
    made = with_ids(api=FailingShop())
    made.add("", "Bad")
    with pytest.raises(OutkeyError):
        made.run()
    made.api.orders["r1"]["name"] = "Changed"
    made.api.orders["r9"] = {"id": "r9", "name": "New"}
    notes: list[Text] = []
    *_, pull = made.runner.run("orders", "ada", note_change=notes.append)
    assert pull.state is RunState.DONE
    assert made.ours() == {"r1": "Changed", "r9": "New", "": "Bad"}
    (note,) = notes
    assert str(note).startswith("sent records whose create has no response yet: 1;")
    made.edit("", "Good")  # under the same key
    made.run()
    made.run()
    assert len(made.ours()) == 3
    assert sorted(made.ours().values()) == sorted(made.theirs().values())  # type: ignore[type-var]


def test_what_may_be_the_record_of_a_create_is_not_written_until_it_is_known() -> None:
    made = with_ids(api=LossyShop(lost=3))
    made.add("", "Ours")
    for _ in range(2):
        with pytest.raises(OutkeyError):
            made.run()
        made.api.orders["r7"] = {"id": "r7", "name": "Another"}
    pull = made.memory.runs.newest(1, "orders")[0]
    assert pull.state is RunState.DONE
    assert reasons(made, pull) == [("r2", "create_unanswered")]
    assert made.ours() == {"r1": "First", "": "Ours", "r7": "Another"}
    made.run()
    assert made.ours() == made.theirs()
    assert len(made.ours()) == 3


def test_a_record_without_texts_may_be_any_new_row() -> None:
    made = with_ids(api=LossyShop(lost=2))
    made.add("", "")
    with pytest.raises(OutkeyError):
        made.run()
    made.api.orders["r7"] = {"id": "r7", "name": "Another"}
    pull = run_line(made, "orders")
    assert reasons(made, pull) == [
        ("r2", "create_unanswered"),
        ("r7", "create_unanswered"),
    ]
    made.run()
    assert made.ours() == made.theirs()


def test_a_record_that_sends_its_own_key_is_found_by_it() -> None:
    made = agreed(api=FailingShop())
    made.add("n8", "Bad")
    with pytest.raises(OutkeyError):
        made.run()
    made.api.orders["n9"] = {"number": "n9", "name": "Bad"}
    pull = run_line(made, "orders")
    assert reasons(made, pull) == []
    assert made.ours()["n9"] == "Bad"


def test_after_some_errors_the_other_creates_wait_for_the_next_run() -> None:
    made = with_ids(api=FailingShop())
    for number in range(6):
        made.add("", f"Bad {number}")
    api = made.api
    assert isinstance(api, FailingShop)
    for number in range(1, 7):
        record = str(1000 * number)
        entry = LedgerEntry(record, key=f"key {record}", sent=UNSURE)
        made.memory.ledger.put(LINE, [entry])
    assert run_line(made, "orders").state is RunState.DONE
    assert made.api.writes() == ["POST /orders"] * 3


def test_a_push_ends_at_a_create_that_fails_again_after_what_comes_before() -> None:
    made = with_ids(api=FailingShop())
    made.edit("r1", "Changed")
    made.add("", "Bad")
    made.add("", "Later")
    made.memory.ledger.put(LINE, [LedgerEntry("1000", key="a key", sent=UNSURE)])
    with pytest.raises(BadResponse):
        run_line(made, LINE)
    assert made.api.writes() == ["POST /orders", "PATCH /orders/r1"]
    made.table.pop("1000")  # nobody can create it: the push goes on without it
    made.run()
    assert sorted(map(str, made.theirs().values())) == ["Changed", "Later"]


def test_a_kill_during_a_repetition_ends_the_pull() -> None:
    made = with_ids(api=LossyShop())
    made.add("", "Ours")
    with pytest.raises(OutkeyError):
        made.run()
    sender = Faulty(made.ports.sender, [1], Killed(), after=False)
    made.runner = type(made.runner)(replace(made.ports, sender=sender))
    with pytest.raises(Killed):
        run_line(made, "orders")


@dataclass
class PagedShop(ShopWithIds):
    """Returns one order on each page, and IDs where nobody looks for them."""

    hides_ids: bool = False

    def perform(self, request: Request) -> Response:
        if request.method == "GET":
            page = int(parse_qs(urlsplit(request.target).query)["page"][0])
            return reply(200, list(self.orders.values())[page - 1 : page])
        response = super().perform(request)
        if request.method == "POST" and self.hides_ids:
            return reply(201, json.loads(response.body)["data"])
        return response


BY_PAGE = Pagination(Paging.PAGE, size=1, position_parameter="page")


def test_a_create_without_an_id_is_sent_once_in_a_run() -> None:
    api = PagedShop(honours_keys=False)
    for number in range(5):
        api.create({"name": f"Name {number}"})
    pull = replace(BY_ID, pagination=BY_PAGE)
    made = PairOfLines(api=api, pull=pull, push=NAMES_ONLY, fields=FIELDS)
    made.run()
    assert len(made.ours()) == 5
    api.hides_ids = True
    made.add("", "One")
    made.add("", "Two")
    made.api.writes()
    with pytest.raises(SyncFailed, match="remote_id"):
        made.run()
    assert made.api.writes() == ["POST /orders"]
    pull_run = run_line(made, "orders")
    assert made.api.writes() == ["POST /orders"]
    assert pull_run.pages > 5
    assert {reason for _, reason in reasons(made, pull_run)} == {"create_unanswered"}


def test_a_repeated_create_that_is_rejected_is_sent_once_and_listed() -> None:
    made = with_ids(api=LossyShop())
    made.add("", "Ours")
    with pytest.raises(OutkeyError):
        made.run()
    made.memory.pairs.agreements.clear()
    made.edit("", "Ours, later")  # under the same key the server refuses that
    made.api.writes()
    push = run_line(made, LINE)
    assert made.api.writes() == ["POST /orders"]
    assert reasons(made, push) == [("1000", "status_422")]
    assert push.counts.failed == 1


def test_a_retry_of_a_push_repeats_only_rejected_creates() -> None:
    made = with_ids(api=LossyShop(lost=0))
    made.edit("r1", "Changed")
    made.api.calls()
    made.api.odd = {2: reply(409)}
    made.run()
    rejecting = made.memory.runs.newest(1, LINE)[0]
    made.api.odd = {}
    made.add("", "Ours")
    assert isinstance(made.api, LossyShop)
    made.api.lost = 1
    with pytest.raises(OutkeyError):
        run_line(made, LINE)
    made.edit("r1", "Changed again")
    made.api.writes()
    for _ in made.runner.retry(rejecting.id, "ada"):
        pass
    assert made.api.writes() == ["PATCH /orders/r1"]


def test_a_push_has_the_values_of_one_step_in_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("outkey.sync.engine.push.push.STEP", 3)
    held: list[int] = []
    store = PairLedger.store
    of_other_tests = jobs_in_memory()  # kept, so that no other job gets their place
    old = {id(job) for job in of_other_tests}

    def count_values(self: PairLedger, results: Sequence[Settled]) -> None:
        held.append(len({job.record for job in jobs_in_memory() if id(job) not in old}))
        store(self, results)

    monkeypatch.setattr(PairLedger, "store", count_values)
    made = agreed()
    for number in range(20):
        made.add(f"m{number}", "Ours")
    made.run()
    assert made.ours() == made.theirs()
    assert max(held) == 3


def jobs_in_memory() -> list[Job]:
    return [each for each in gc.get_objects() if type(each) is Job]


# ── rows that cannot be read ──────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("rule", "name"),
    [(API, ["no text"]), (ASK, ["no text"]), (NEWEST, ["no text"]), (API, "x" * 21)],
)
def test_what_the_pull_rejected_is_not_overwritten(
    rule: ConflictRule, name: object
) -> None:
    made = agreed(rule)
    made.api.orders["n1"]["name"] = name
    made.edit("n1", "By the host")
    made.edit("n2", "Too")
    made.run()
    push = made.memory.runs.newest(1, LINE)[0]
    assert made.api.writes() == ["PATCH /orders/n2"]
    assert reasons(made, push) == [("1", "rejected_by_pull")]
    made.api.orders["n1"]["name"] = "Name n1"
    made.run()
    assert made.theirs()["n1"] == "By the host"


def test_nor_is_it_deleted() -> None:
    made = agreed()
    made.api.orders["n1"]["name"] = ["no text"]
    made.remove("n1")
    made.remove("n2")
    made.run()
    assert made.api.writes() == ["DELETE /orders/n2"]
    made.api.orders["n1"]["name"] = "Name n1"
    made.run()
    assert made.theirs() == {"n3": "Name n3"}


def test_a_row_whose_key_comes_after_the_fault_is_recognized() -> None:
    mapped = (FieldMapping("name", "name"), FieldMapping("number", "number"))
    made = agreed(pull=replace(PULL, mappings=mapped))
    made.api.orders["n1"]["name"] = ["no text"]
    made.edit("n1", "By the host")
    made.run()
    assert made.api.writes() == []
    # A pull that fails before it has read a row changes nothing about that.
    made.api.calls()
    made.api.odd = {1: reply(500)}
    with pytest.raises(OutkeyError):
        run_line(made, "orders")
    run_line(made, LINE)
    assert made.api.writes() == []


def test_a_key_that_no_expression_finds_is_left_out() -> None:
    mapped = (FieldMapping("name", "name"), FieldMapping("max(number)", "number"))
    made = PairOfLines(pull=replace(PULL, mappings=mapped))
    made.api.orders["n1"] = {"number": "n1", "name": "Ada"}
    pull = run_line(made, "orders")
    assert reasons(made, pull) == [("", "expression")]


def test_what_a_retry_of_the_pull_accepts_is_sent_again() -> None:
    made = agreed(HOST)
    made.api.orders["n1"]["name"] = ["no text"]
    made.edit("n1", "By the host")
    made.run()
    rejecting = made.memory.runs.newest(1, "orders")[0]
    made.api.orders["n1"]["name"] = "By the API"
    for _ in made.runner.retry(rejecting.id, "ada"):
        pass
    run_line(made, LINE)
    assert made.theirs()["n1"] == "By the host"


# ── records that neither side has ─────────────────────────────────────────────────────


@dataclass
class ChangesShop(Shop):
    """Returns what was changed since a time."""

    def perform(self, request: Request) -> Response:
        if request.method != "GET":
            return super().perform(request)
        since = parse_qs(urlsplit(request.target).query).get("since", [""])[0]
        orders = [o for o in self.orders.values() if str(o["at"]) >= since]
        return reply(200, orders)


def changed_only(**options: object) -> PairOfLines:
    """Return a pair with an incremental pull that keeps what is gone."""
    pull = replace(
        PULL, gone=Gone.KEEP, incremental=Incremental(parameter="since", field="at")
    )
    made = PairOfLines(ASK, api=ChangesShop(), pull=pull, **options)  # type: ignore[arg-type]
    for number in ("n1", "n2", "n3"):
        name = f"Name {number}"
        made.api.orders[number] = {"number": number, "name": name, "at": "1"}
    made.run()
    return made


def dispute(made: PairOfLines) -> None:
    made.api.orders["n1"] |= {"name": "A", "at": "2"}
    made.edit("n1", "H")
    made.run()
    assert conflicts(made) == ["n1"]


def test_with_gone_keep_a_conflict_ends_too_when_neither_side_has_the_record() -> None:
    made = agreed(ASK, pull=replace(PULL, gone=Gone.KEEP))
    made.api.orders["n1"]["name"] = "A"
    made.edit("n1", "H")
    made.run()
    del made.api.orders["n1"]
    made.remove("n1")
    made.run()
    assert conflicts(made) == []


def test_an_incremental_pull_does_not_stand_still_for_a_record_that_nobody_has() -> (
    None
):
    made = changed_only()
    dispute(made)
    del made.api.orders["n1"]
    made.remove("n1")
    made.api.orders["n2"] |= {"name": "B", "at": "3"}
    made.run()
    assert conflicts(made) == []
    assert made.memory.runs.newest(1, "orders")[0].cursor == "3"


def test_an_incremental_pull_keeps_a_conflict_that_the_api_still_has() -> None:
    made = changed_only()
    dispute(made)
    made.remove("n1")
    made.api.orders["n2"] |= {"name": "B", "at": "3"}
    made.run()
    assert conflicts(made) == ["n1"]
    assert made.memory.runs.newest(1, "orders")[0].cursor == "1"


@pytest.mark.parametrize("choice", [API, HOST])
def test_a_choice_about_a_record_that_neither_side_has_ends_the_conflict(
    choice: ConflictRule,
) -> None:
    made = agreed(ASK)
    del made.api.orders["n1"]
    made.edit("n1", "H")
    made.run()
    (asked,) = made.memory.pairs.conflicts(LINE, "", 9)
    assert asked.conflict == PairConflict(None, {"name": "H"})
    made.remove("n1")
    pairs = PairRunner(made.pairing, made.runner, made.memory.runs)
    pairs.resolve("orders", "n1", choice)
    assert conflicts(made) == []
    made.run()
    made.run()
    assert "n1" not in made.theirs()
    assert "n1" not in made.ours()


def test_the_choice_of_a_deletion_that_is_not_sent_ends_the_conflict() -> None:
    made = changed_only(push=replace(PUSH, delete=PushRequest()))
    dispute(made)
    made.remove("n1")
    pairs = PairRunner(made.pairing, made.runner, made.memory.runs)
    pairs.resolve("orders", "n1", HOST)
    assert conflicts(made) == []
    made.run()
    made.run()
    assert conflicts(made) == []
    assert made.theirs()["n1"] == "A"
    assert "n1" not in made.ours()
    assert made.memory.runs.newest(1, "orders")[0].cursor == "2"


@pytest.mark.parametrize(("choice", "left"), [(API, True), (HOST, False)])
def test_a_choice_about_a_deletion_that_is_sent_waits_for_the_next_run(
    choice: ConflictRule, *, left: bool
) -> None:
    made = changed_only()
    dispute(made)
    made.remove("n1")
    made.run()
    pairs = PairRunner(made.pairing, made.runner, made.memory.runs)
    pairs.resolve("orders", "n1", choice)
    assert conflicts(made) == ["n1"]
    made.run()
    assert conflicts(made) == []
    assert ("n1" in made.ours(), "n1" in made.theirs()) == (left, left)


# ── the host's own code ───────────────────────────────────────────────────────────────


def test_a_key_is_saved_by_the_code_of_the_host_if_the_line_wants_it() -> None:
    pull = replace(BY_ID, writes=Writes.MODEL)
    made = PairOfLines(api=ShopWithIds(), pull=pull, push=NAMES_ONLY, fields=FIELDS)
    made.add("", "Ours")
    made.run()
    before = made.memory.records.saved
    run_line(made, "orders")
    assert made.ours() == {"r1": "Ours"}
    assert made.memory.records.saved > before + 1


def test_a_push_before_the_first_pull_asks_no_pull() -> None:
    made = PairOfLines()
    made.add("n1", "Ours")
    run_line(made, LINE)
    assert made.ours() == made.theirs() == {"n1": "Ours"}


def test_a_record_that_repeats_a_secret_is_rejected_without_its_key() -> None:
    made = agreed()
    made.secrets["token"] = "a-secret-of-some-length"
    made.api.orders["n1"]["name"] = "a-secret-of-some-length"
    pull = run_line(made, "orders")
    assert reasons(made, pull) == [("***", "secret_in_record")]


# ── who may begin ─────────────────────────────────────────────────────────────────────


class BusyStates(MemoryStateRows):
    """Another process writes before each of the first writes, or deletes the row."""

    def __init__(self, *, deletes: bool) -> None:
        super().__init__()
        self.deletes = deletes
        self.left = 2

    def swap(
        self, kind: StateKind, key: str, generation: int, value: Mapping[str, Any]
    ) -> bool:
        if self.left:
            self.left -= 1
            self.put(kind, {key: None if self.deletes else value})
        return super().swap(kind, key, generation, value)


@pytest.mark.parametrize("deletes", [True, False])
def test_a_pair_that_others_write_is_locked_as_it_is_then(*, deletes: bool) -> None:
    settings = SyncSettings(BusyStates(deletes=deletes))
    pair = Pair("orders", "orders", LINE)
    settings.put([], [pair])
    assert settings.lock_pair("orders") == (None if deletes else pair)
