"""What both sides agreed on, as the runs of a pair and their users ask for it."""

from dataclasses import replace

import pytest

from outkey.sending.core.audit.events import Change, Tag
from outkey.sync.core.pairs.pairs import PairAgreement, PairConflict
from outkey.sync.core.pairs.section import ConflictRule, Pair
from outkey.sync.engine.pairs.agreements import Agreements
from outkey.sync.engine.pairs.runner import PairRunner
from outkey.testing import configuration
from outkey.testing.fakes.sync import MemoryPairRows
from unit.administration.engine.editing.test_changes import Office
from unit.sync.core.pairs.test_pair_rules import ORDERS, PAIR, SEND, applied
from unit.sync.engine.pairs.test_pair_runs import PairOfLines

CONFLICT = PairConflict({"name": "A"}, {"name": "H"})
PLAIN = PairAgreement("1", "n1", {"name": "N"}, {"name": "N"})
OPEN = replace(PLAIN, record="2", conflict=CONFLICT)
CHOSEN = replace(OPEN, record="3").resolve(ConflictRule.API)


@pytest.mark.parametrize(
    "stored", [(PLAIN, OPEN, CHOSEN), (CHOSEN, OPEN, PLAIN), (OPEN, PLAIN)]
)
def test_of_several_with_one_key_the_one_that_waits_for_a_user_is_found(
    stored: tuple[PairAgreement, ...],
) -> None:
    agreements = Agreements(MemoryPairRows())
    agreements.put("send", stored)
    assert agreements.by_key("send", ["n1", "n2"]) == {"n1": OPEN}
    agreements.delete("send", ["2"])
    rest = CHOSEN if CHOSEN in stored else PLAIN
    assert agreements.by_key("send", ["n1"]) == {"n1": rest}


def test_nothing_is_asked_of_the_table_for_no_records() -> None:
    agreements = Agreements(None)  # type: ignore[arg-type]
    assert agreements.read("send", []) == {}
    assert agreements.by_key("send", []) == {}


def test_a_user_resolves_the_conflict_of_a_key_that_another_record_had() -> None:
    made = PairOfLines(ConflictRule.ASK)
    made.memory.pairs.put("send orders", [OPEN, replace(PLAIN, record="9")])
    pairs = PairRunner(made.pairing, made.runner, made.memory.runs)
    pairs.resolve("orders", "n1", ConflictRule.HOST)
    (resolved,) = pairs.conflicts("orders")
    assert resolved == OPEN.resolve(ConflictRule.HOST)


def test_all_conflicts_are_listed_however_many() -> None:
    agreements = Agreements(MemoryPairRows())
    agreements.put("send", [replace(OPEN, record=f"{n:05}") for n in range(1500)])
    assert len(list(agreements.every_conflict("send"))) == 1500


# ── pairs that lose a line ────────────────────────────────────────────────────────────


@pytest.mark.parametrize("line", ["orders", "send orders"])
def test_a_pair_is_deleted_with_each_of_its_lines(line: str) -> None:
    office = Office(configuration())
    others = (replace(ORDERS, name="a"), replace(SEND, name="b"))
    more = Pair("more", "a", "b")
    applied(office, ORDERS, SEND, *others, pairs=(PAIR, more))
    office.audit.events.clear()
    assert office.administration.remove_line(line, office.settings) == ["both"]
    assert office.settings.pairs() == {"more": more}
    changes = [event for event in office.audit.events if isinstance(event, Change)]
    assert [change.tag for change in changes] == [Tag.LINE_REMOVED, Tag.PAIR_REMOVED]
    assert changes[1].fields == ("both",)


def test_a_pair_is_deleted_with_the_configuration_of_its_lines() -> None:
    office = Office(configuration(), configuration("other"))
    others = [
        replace(ORDERS, name="a", configuration="other"),
        replace(SEND, name="b", configuration="other"),
    ]
    more = Pair("more", "a", "b")
    applied(office, ORDERS, SEND, *others, pairs=(PAIR, more))
    office.administration.remove("acme", office.settings)
    assert office.settings.pairs() == {"more": more}
    assert [line.name for line in office.registry.lines()] == ["a", "b"]
