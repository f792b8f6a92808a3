"""Pairs whose records have another key in the host than at the API."""

from dataclasses import dataclass, replace
from typing import Any

import pytest

from outkey.foundation.core.errors import OutkeyError, TimedOut
from outkey.sending.core.request.message import Request, Response
from outkey.sync.core.line.line import FieldMapping
from outkey.sync.core.mapping.records import FieldKind, HostField
from outkey.sync.core.pairs.section import ConflictRule
from outkey.sync.core.push.ledger import LedgerEntry
from outkey.sync.core.run.effects import Effect
from outkey.sync.engine.pairs.agreements import Agreements
from outkey.sync.engine.runs.runner import SyncRunner
from unit.fake_orders_api import Reply, reply
from unit.sync.engine.pairs.test_pair_runs import (
    PULL,
    PUSH,
    EveryCall,
    PairOfLines,
    Shop,
    agreed,
)
from unit.sync.engine.pull.test_sync_run import Faulty, Killed

API, HOST, NEWEST, ASK = ConflictRule
LINE = "send orders"
FIELDS = {
    "contact": [
        HostField("number", "Number", FieldKind.TEXT, longest=4),
        HostField("name", "Name", FieldKind.TEXT),
        HostField("note", "Note", FieldKind.TEXT),
    ]
}
NAME = FieldMapping("name", "name")
BY_ID = replace(PULL, mappings=(FieldMapping("id", "number"), NAME))
NAMES_ONLY = replace(PUSH, mappings=(NAME,))


@dataclass
class ShopWithIds(Shop):
    """Orders that get an ID of the API's own."""

    prefix: str = "r"

    def create(self, order: dict[str, Any]) -> str:
        self.created += 1
        known = f"{self.prefix}{self.created}"
        self.orders[known] = {"id": known, **order}
        return known


@dataclass
class LossyShop(ShopWithIds):
    """Does what a create asks for, and its first response is lost."""

    lost: int = 1

    def __call__(self, request: Request) -> Reply:
        response = super().__call__(request)
        if request.method == "POST" and self.lost:
            self.lost -= 1
            return TimedOut()
        return response


class Renaming(Shop):
    """The number of an order is its ID, also after a change."""

    def perform(self, request: Request) -> Response:
        response = super().perform(request)
        self.orders = {order["number"]: order for order in self.orders.values()}
        return response


def with_ids(rule: ConflictRule = API, **options: Any) -> PairOfLines:  # noqa: ANN401
    """Return a pair whose key is the API's own ID."""
    api = options.pop("api", None) or ShopWithIds()
    push = options.pop("push", NAMES_ONLY)
    made = PairOfLines(rule, api=api, pull=BY_ID, push=push, fields=FIELDS, **options)
    api.create({"name": "First"})
    made.run()
    assert made.ours() == {"r1": "First"}
    return made


def names(made: PairOfLines) -> list[object]:
    return sorted(str(row["name"]) for row in made.table.values())


@pytest.mark.parametrize("rule", ConflictRule)
def test_a_record_of_the_host_gets_the_key_that_the_api_gave_it(
    rule: ConflictRule,
) -> None:
    made = with_ids(rule)
    made.add("", "Ours")
    made.run()
    made.run()
    assert made.ours() == made.theirs() == {"r1": "First", "r2": "Ours"}
    assert made.api.writes() == ["POST /orders"]
    made.edit("r2", "Ours, later")
    made.run()
    assert made.theirs()["r2"] == "Ours, later"
    made.remove("r2")
    made.run()
    assert made.theirs() == {"r1": "First"}
    assert made.api.writes() == ["PATCH /orders/r2", "DELETE /orders/r2"]


def test_an_empty_key_that_is_sent_is_no_change_of_the_host() -> None:
    push = replace(PUSH, mappings=(FieldMapping("own", "number"), NAME))
    made = with_ids(push=push)
    made.add("", "Ours")
    made.run()
    made.api.writes()
    made.run()
    made.run()
    assert made.ours() == made.theirs()
    assert made.api.writes() == []


def test_an_edit_before_the_key_is_known_is_sent_and_the_key_assigned() -> None:
    made = with_ids()
    made.add("", "Ours")
    made.run()
    made.edit("", "Ours, later")
    made.run()
    assert made.ours() == made.theirs() == {"r1": "First", "r2": "Ours, later"}


def test_a_record_that_is_deleted_before_a_pull_saw_it_is_deleted_at_the_api() -> None:
    made = with_ids()
    made.add("", "Ours")
    made.run()
    made.remove("")
    made.run()
    assert made.ours() == made.theirs() == {"r1": "First"}


def test_an_archived_record_is_deleted_at_the_api_without_getting_its_key() -> None:
    made = with_ids()
    made.add("", "Ours")
    made.run()
    (row,) = [row for row in made.table.values() if row["name"] == "Ours"]
    row["_archived"] = True
    made.run()
    assert made.theirs() == {"r1": "First"}
    assert row["number"] == ""


def test_a_key_that_the_host_refuses_is_a_rejected_record() -> None:
    made = with_ids(api=ShopWithIds())
    made.add("", "Ours")
    made.api.prefix = "too long "  # type: ignore[attr-defined]
    made.run()
    noted: list[Effect] = []
    for _ in made.runner.run("orders", "ada", note=noted.append):
        pass
    (refused,) = [effect for effect in noted if effect.reason]
    assert (refused.field, refused.reason) == ("number", "taken")
    assert names(made) == ["First", "Ours"]


def test_a_dry_run_assigns_no_key_and_repeats_no_create() -> None:
    made = with_ids(api=LossyShop())
    made.add("", "Ours")
    with pytest.raises(OutkeyError):
        made.run()
    made.api.writes()
    for line in ("orders", LINE):
        for _ in made.runner.run(line, "ada", dry_run=True):
            pass
    assert made.api.writes() == []
    made.run()
    made.api.writes()
    made.edit("r1", "By the host")
    made.remove("r2")
    made.add("", "Another")
    made.run()
    made.api.writes()
    noted: list[Effect] = []
    for _ in made.runner.run("orders", "ada", dry_run=True, note=noted.append):
        pass
    outcomes = {effect.key: str(effect.outcome) for effect in noted}
    assert outcomes == {"r1": "unchanged", "r3": "updated"}
    assert "" in made.ours()


# ── creates without a response ────────────────────────────────────────────────────────


@pytest.mark.parametrize("rule", ConflictRule)
def test_a_create_without_a_response_is_repeated_before_its_record_comes(
    rule: ConflictRule,
) -> None:
    made = with_ids(rule, api=LossyShop())
    made.add("", "Ours")
    with pytest.raises(OutkeyError):
        made.run()
    made.run()
    assert made.ours() == made.theirs() == {"r1": "First", "r2": "Ours"}


@pytest.mark.parametrize("rule", ConflictRule)
def test_it_is_repeated_with_what_was_sent_although_the_record_was_edited(
    rule: ConflictRule,
) -> None:
    made = with_ids(rule, api=LossyShop())
    made.add("", "Ours")
    with pytest.raises(OutkeyError):
        made.run()
    made.edit("", "Ours, later")
    made.run()
    assert made.ours() == made.theirs() == {"r1": "First", "r2": "Ours, later"}
    # The server refuses another body under the same key.
    assert made.api.writes() == ["POST /orders", "POST /orders", "PATCH /orders/r2"]


def test_it_is_repeated_to_be_deleted_if_the_host_has_deleted_the_record() -> None:
    made = with_ids(api=LossyShop())
    made.add("", "Ours")
    with pytest.raises(OutkeyError):
        made.run()
    made.remove("")
    made.run()
    assert made.ours() == made.theirs() == {"r1": "First"}


def test_the_push_alone_repeats_it_too_with_several_requests_at_once() -> None:
    made = with_ids(api=LossyShop(), push=replace(NAMES_ONLY, parallel=2))
    made.add("", "Ours")
    made.add("", "Too")
    with pytest.raises(OutkeyError):
        made.run()
    for _ in made.runner.run(LINE, "ada"):
        pass
    made.run()
    assert made.ours() == made.theirs()
    assert names(made) == ["First", "Ours", "Too"]


def test_a_deleted_record_whose_sent_values_are_unknown_is_not_repeated() -> None:
    made = with_ids(api=LossyShop())
    made.add("", "Ours")
    with pytest.raises(OutkeyError):
        made.run()
    made.memory.pairs.agreements.clear()
    made.remove("")
    made.run()
    assert made.ours() == made.theirs() == {"r1": "First", "r2": "Ours"}


def test_a_record_that_can_no_longer_be_sent_is_not_repeated() -> None:
    made = with_ids(api=LossyShop())
    made.add("", "Ours")
    with pytest.raises(OutkeyError):
        made.run()
    made.memory.pairs.agreements.clear()
    made.edit("", "no API gets a \0")
    for _ in made.runner.run("orders", "ada"):
        pass
    assert made.ours()["r2"] == "Ours"


def test_a_refused_create_leaves_no_agreement() -> None:
    made = agreed()
    made.add("n4", "Ours")
    made.api.calls()
    made.api.odd = {2: reply(400)}
    made.run()
    assert Agreements(made.memory.pairs).by_key(LINE, ["n4"]) == {}
    made.run()
    assert made.ours() == made.theirs()


# ── keys that users change ────────────────────────────────────────────────────────────


def rename(made: PairOfLines, before: str, after: str) -> None:
    (row,) = [row for row in made.table.values() if row["number"] == before]
    row["number"] = after


@pytest.mark.parametrize("rule", ConflictRule)
def test_a_key_that_a_user_changes_in_the_host_is_sent(rule: ConflictRule) -> None:
    made = agreed(rule, api=Renaming())
    records = {*made.table}
    rename(made, "n1", "n9")
    made.run()
    assert made.ours() == made.theirs()
    assert made.ours()["n9"] == "Name n1"
    assert made.api.writes() == ["PATCH /orders/n1"]
    made.edit("n9", "Later")
    made.run()
    made.run()
    assert made.theirs()["n9"] == "Later"
    assert made.api.writes() == ["PATCH /orders/n9"]
    assert {*made.table} == records


@pytest.mark.parametrize(("rule", "key"), [(API, "n1"), (HOST, "n9")])
def test_where_the_api_has_changed_the_record_too_the_rule_decides(
    rule: ConflictRule, key: str
) -> None:
    made = agreed(rule, api=Renaming())
    rename(made, "n1", "n9")
    made.api.orders["n1"]["name"] = "A"
    made.run()
    made.run()
    assert made.ours() == made.theirs()
    assert made.ours()[key] == ("A" if rule is API else "Name n1")
    assert len(made.ours()) == 3


@pytest.mark.parametrize(("choice", "key"), [(API, "n1"), (HOST, "n9")])
def test_a_user_sees_the_changed_key_in_the_conflict(
    choice: ConflictRule, key: str
) -> None:
    made = agreed(ASK, api=Renaming())
    rename(made, "n1", "n9")
    made.api.orders["n1"]["name"] = "A"
    made.run()
    made.run()
    assert made.api.writes() == []
    (asked,) = made.memory.pairs.conflicts(LINE, "", 9)
    assert asked.key == "n1"
    assert asked.conflict is not None
    assert asked.conflict.api == {"name": "A", "number": "n1"}
    assert asked.conflict.host == {"name": "Name n1", "number": "n9"}
    made.memory.pairs.put(LINE, [asked.resolve(choice)])
    made.run()
    made.run()
    assert made.ours() == made.theirs()
    assert key in made.ours()
    assert made.memory.pairs.conflicts(LINE, "", 9) == []


def test_a_renamed_record_that_the_api_deletes_is_created_again() -> None:
    made = agreed(api=Renaming())
    rename(made, "n1", "n9")
    del made.api.orders["n1"]
    made.run()
    assert made.ours() == made.theirs()
    assert made.ours()["n9"] == "Name n1"


def test_a_key_that_is_not_sent_stays_the_apis() -> None:
    made = with_ids()
    rename(made, "r1", "mine")
    made.run()
    assert made.ours() == made.theirs() == {"r1": "First"}
    assert len(made.table) == 1
    assert made.api.writes() == []


def test_a_dry_run_leaves_a_changed_key() -> None:
    made = agreed(api=Renaming())
    rename(made, "n1", "n9")
    noted: list[Effect] = []
    for _ in made.runner.run("orders", "ada", dry_run=True, note=noted.append):
        pass
    assert {str(effect.outcome) for effect in noted} == {"unchanged"}
    assert "n9" in made.ours()


@pytest.mark.parametrize("rule", [API, HOST])
def test_a_record_that_gets_the_key_of_a_deleted_one_is_compared_with_that(
    rule: ConflictRule,
) -> None:
    made = agreed(rule, api=Renaming())
    made.remove("n2")
    rename(made, "n1", "n2")
    made.run()
    made.run()
    made.api.writes()
    made.run()
    assert made.api.writes() == []
    assert made.ours() == made.theirs()
    kept = "Name n2" if rule is API else "Name n1"
    assert made.ours() == {"n1": "Name n1", "n2": kept, "n3": "Name n3"}


def test_both_sides_may_give_a_record_the_same_new_key() -> None:
    made = agreed(api=Renaming())
    rename(made, "n1", "n9")
    made.api.orders["n9"] = {"number": "n9", "name": "Name n1"}
    del made.api.orders["n1"]
    made.run()
    assert made.ours() == made.theirs()
    assert made.api.writes() == []
    made.edit("n9", "Later")
    made.run()
    assert made.api.writes() == ["PATCH /orders/n9"]


def test_an_id_that_is_another_records_key_by_chance_finds_no_record() -> None:
    made = agreed(api=ShopWithIds(prefix="n"))
    made.add("x1", "Ours")  # the API gives it the ID n1
    made.api.orders["n4"] = {"number": "n4", "name": "New"}
    entry = replace(made.memory.ledger.entries[LINE, "1"], record="1000")
    made.add("x1", "Ours")
    made.memory.ledger.put(LINE, [replace(entry, record="1000", remote_id="n4")])
    for _ in made.runner.run("orders", "ada"):
        pass
    assert made.ours()["n4"] == "New"
    assert made.ours()["x1"] == "Ours"


def test_a_new_record_with_the_key_that_another_one_had_is_compared_by_itself() -> None:
    made = agreed(api=Renaming())
    rename(made, "n1", "n9")
    made.add("n1", "New")
    made.run()
    made.run()
    assert made.ours() == made.theirs()
    assert made.ours()["n1"] == made.ours()["n9"] == "Name n1"


def test_a_record_that_the_host_stores_under_another_key_has_no_agreement() -> None:
    made = agreed()
    made.memory.records.matching = lambda *_: {}  # type: ignore[method-assign]
    made.api.orders["n4"] = {"number": "n4", "name": "New"}
    for _ in made.runner.run("orders", "ada"):
        pass
    assert made.ours()["n4"] == "New"
    assert Agreements(made.memory.pairs).by_key(LINE, ["n4"]) == {}


def test_a_record_whose_create_has_no_response_yet_is_not_retired() -> None:
    made = agreed()
    del made.api.orders["n1"]
    made.memory.ledger.put(LINE, [LedgerEntry("1", key="k", sent="s")])
    made.api.calls()
    made.api.odd = {1: reply(400), 3: reply(400)}
    for _ in made.runner.run("orders", "ada"):
        pass
    assert "n1" in made.ours()
    assert made.memory.ledger.read(LINE, ["1"])["1"].key == "k"


@pytest.mark.parametrize("rule", [API, HOST, NEWEST])
def test_a_record_that_is_deleted_and_made_again_in_the_host_is_a_changed_one(
    rule: ConflictRule,
) -> None:
    made = agreed(rule)
    made.remove("n1")
    made.add("n1", "Made again")
    made.run()
    assert made.ours() == made.theirs()
    assert made.ours()["n1"] == "Made again"
    assert made.api.writes() == ["PATCH /orders/n1"]
    made.run()
    assert made.api.writes() == []


@pytest.mark.untraced
@pytest.mark.parametrize("after", [False, True])
def test_whatever_kills_a_pair_while_keys_are_assigned_the_next_runs_complete_it(
    pytestconfig: pytest.Config, *, after: bool
) -> None:
    for turn in range(1, 300, 1 if pytestconfig.getoption("--full") else 11):
        made = with_ids()
        made.add("", "Ours")
        made.edit("r1", "By the host")
        left = [turn]
        agreements = EveryCall(made.memory.pairs, left, Killed(), after=after)
        whole = made.runner
        made.runner = SyncRunner(
            replace(
                made.ports,
                sender=Faulty(made.ports.sender, left, Killed(), after=after),
                runs=EveryCall(made.memory.runs, left, Killed(), after=after),
                models=EveryCall(made.memory.records, left, Killed(), after=after),
                ledger=EveryCall(made.memory.ledger, left, Killed(), after=after),
                pairing=replace(made.pairing, agreements=agreements),
            )
        )
        was_killed = False
        try:
            made.run()
            made.run()
        except Killed:
            was_killed = True
        made.runner = whole
        for _ in range(3):
            made.clock.advance(3600)
            made.run()
        assert made.ours() == made.theirs() == {"r1": "By the host", "r2": "Ours"}
        made.api.writes()
        made.run()
        assert made.api.writes() == []
        if not was_killed:
            assert turn > 50
            return
    pytest.fail("the runs have more steps than were tried")
