"""Runs of a pair: each change travels once, and the rule decides conflicts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from outkey.foundation.adapters.paths_jmespath import JmespathCompiler
from outkey.foundation.core.errors import ConfigError, SyncFailed, UnknownConfiguration
from outkey.sending.core.request.message import Request, Response
from outkey.sync.adapters.calendar_cronsim import CronCalendar
from outkey.sync.core.line.line import (
    Direction,
    FieldMapping,
    Gone,
    PushRequest,
    Sync,
    SyncLine,
    Transform,
)
from outkey.sync.core.mapping.records import HostField
from outkey.sync.core.pairs.pairs import PairConflict
from outkey.sync.core.pairs.section import ConflictRule, Pair
from outkey.sync.core.run.effects import Effect
from outkey.sync.core.run.run import RunState
from outkey.sync.engine.pairs.agreements import Agreements
from outkey.sync.engine.pairs.runner import PairRunner
from outkey.sync.engine.runs.line_plan import PairPorts, SyncPorts
from outkey.sync.engine.runs.runner import SyncRunner
from outkey.sync.engine.sync_settings import SyncSettings
from outkey.testing import configuration, fake_gateway
from outkey.testing.fakes.storage import memory_registry
from outkey.testing.fakes.sync import MemorySync
from unit.fake_orders_api import OrdersApi, reply
from unit.sync.engine.pull.test_sync_run import FIELDS, Faulty, Killed

API, HOST, NEWEST, ASK = ConflictRule
MAPPED = (FieldMapping("number", "number"), FieldMapping("name", "name"))
PULL = Sync(
    target="contact",
    keys=("number",),
    mappings=MAPPED,
    gone=Gone.DELETE,
    guard_percent=100,  # there are few records
)
ONE = "/orders/{remote_id}"
PUSH = Sync(
    direction=Direction.PUSH,
    target="contact",
    mappings=MAPPED,
    create=PushRequest("POST", "/orders"),
    update=PushRequest("PATCH", ONE),
    delete=PushRequest("DELETE", ONE),
    remote_id="data.id",
    guard_percent=100,
)


@dataclass
class Shop(OrdersApi):
    """Orders whose id is their number; a GET of all returns them."""

    upper: bool = False  # changes what it is sent

    def perform(self, request: Request) -> Response:
        if request.method == "GET":
            return reply(200, list(self.orders.values()))
        response = super().perform(request)
        for order in self.orders.values():
            if self.upper:
                order["name"] = order["name"].upper()
        return response

    def create(self, order: dict[str, Any]) -> str:
        self.created += 1
        self.orders[order["number"]] = order
        return str(order["number"])

    def writes(self) -> list[str]:
        return [call for call in self.calls() if not call.startswith("GET")]


@dataclass
class PairOfLines:
    rule: ConflictRule = API
    api: Shop = field(default_factory=Shop)
    pull: Sync = PULL
    push: Sync = PUSH
    fields: Mapping[str, Sequence[HostField]] = field(default_factory=lambda: FIELDS)
    times: tuple[str, str] = ("", "")  # of changes: the host's field, and the API's
    added: int = 0  # no id is used again

    def __post_init__(self) -> None:
        lines = [
            SyncLine("orders", "acme", "GET", "/orders", self.pull),
            SyncLine("send orders", "acme", "POST", "/", self.push),
        ]
        made = configuration(limits__retries=0, authentication_type="bearer")
        registry = memory_registry([made], lines)
        world = fake_gateway(
            responses=self.api, secrets={"token": "t"}, registry=registry
        )
        self.memory = MemorySync(world.ports.configurations, self.fields, world.clock)
        pair = Pair("orders", "orders", "send orders", self.rule, *self.times)
        self.pairing = PairPorts(self.memory.pairs, lambda: {"orders": pair})
        # The runs ask only which lines it has; a stored pair by time needs the times.
        SyncSettings(self.memory.states).put([], [replace(pair, conflict=API)])
        ports = SyncPorts(
            sender=world.sender,
            configurations=world.ports.configurations,
            models=self.memory.records,
            runs=self.memory.runs,
            finder=JmespathCompiler(),
            clock=world.clock,
            calendar=CronCalendar(),
            ledger=self.memory.ledger,
            parents=self.memory.parents,
            scripts=world.scripts,
            pairing=self.pairing,
        )
        self.ports = ports
        self.secrets = world.secrets.values
        self.clock = world.clock
        self.runner = SyncRunner(ports)

    def run(self) -> None:
        for line in ("orders", "send orders"):
            for _ in self.runner.run(line, "ada"):
                pass

    @property
    def table(self) -> dict[str, dict[str, object]]:
        return self.memory.records.table("contact")

    def edit(self, number: str, name: str) -> None:
        (row,) = [row for row in self.table.values() if row["number"] == number]
        row["name"] = name

    def remove(self, number: str) -> None:
        (record,) = [r for r, row in self.table.items() if row["number"] == number]
        del self.table[record]

    def add(self, number: str, name: str) -> None:
        self.added += 1000
        record = str(self.added)
        marks = {"_archived": False, "_line": "", "_run": ""}
        self.table[record] = {"number": number, "name": name, **marks}

    def ours(self) -> dict[str, object]:
        rows = self.memory.records.rows("contact")
        return {str(row["number"]): row["name"] for row in rows}

    def theirs(self) -> dict[str, object]:
        return {number: order["name"] for number, order in self.api.orders.items()}


def agreed(rule: ConflictRule = API, **options: Any) -> PairOfLines:  # noqa: ANN401
    """Return a pair whose sides both have n1 to n3."""
    made = PairOfLines(rule, **options)
    for number in ("n1", "n2", "n3"):
        made.api.orders[number] = {"number": number, "name": f"Name {number}"}
    made.run()
    assert made.ours() == made.theirs()
    assert made.api.writes() == []
    return made


@pytest.mark.parametrize("rule", ConflictRule)
def test_each_change_travels_once_and_nothing_is_sent_back(rule: ConflictRule) -> None:
    made = agreed(rule)
    made.api.orders["n1"]["name"] = "By the API"
    made.edit("n2", "By the host")
    made.add("n4", "New in the host")
    made.run()
    assert made.ours() == made.theirs()
    assert made.ours()["n1"] == "By the API"
    assert made.api.writes() == ["PATCH /orders/n2", "POST /orders"]
    made.run()
    made.run()
    assert made.api.writes() == []


@pytest.mark.parametrize(("rule", "wanted"), [(API, "A"), (HOST, "H")])
def test_where_both_changed_a_record_the_rule_decides(
    rule: ConflictRule, wanted: str
) -> None:
    made = agreed(rule)
    made.api.orders["n1"]["name"] = "A"
    made.edit("n1", "H")
    made.run()
    assert made.ours() == made.theirs()
    assert made.ours()["n1"] == wanted
    assert made.api.writes() == ([] if rule is API else ["PATCH /orders/n1"])
    made.run()
    assert made.api.writes() == []


@pytest.mark.parametrize("choice", [API, HOST])
def test_a_conflict_waits_for_a_user(choice: ConflictRule) -> None:
    made = agreed(ASK)
    made.api.orders["n1"]["name"] = "A"
    made.edit("n1", "H")
    for _ in range(2):
        made.run()
        assert (made.ours()["n1"], made.theirs()["n1"]) == ("H", "A")
        assert made.api.writes() == []
    (asked,) = made.memory.pairs.conflicts("send orders", "", 9)
    assert asked.key == "n1"
    made.memory.pairs.put("send orders", [asked.resolve(choice)])
    made.run()
    assert made.ours() == made.theirs()
    assert made.ours()["n1"] == ("A" if choice is API else "H")
    assert made.memory.pairs.conflicts("send orders", "", 9) == []


@pytest.mark.parametrize("rule", [API, HOST, NEWEST])
def test_a_change_wins_over_a_deletion(rule: ConflictRule) -> None:
    made = agreed(rule)
    made.api.orders["n1"]["name"] = "Changed by the API"
    made.remove("n1")
    made.edit("n2", "Changed by the host")
    del made.api.orders["n2"]
    made.run()
    assert made.ours() == made.theirs()
    assert made.ours()["n1"] == "Changed by the API"
    assert made.ours()["n2"] == "Changed by the host"
    assert made.api.writes() == ["POST /orders"]
    made.run()
    assert made.api.writes() == []


@pytest.mark.parametrize("rule", ConflictRule)
def test_a_deletion_travels_once(rule: ConflictRule) -> None:
    made = agreed(rule)
    made.remove("n1")
    del made.api.orders["n2"]
    made.run()
    assert made.ours() == made.theirs() == {"n3": "Name n3"}
    assert made.api.writes() == ["DELETE /orders/n1"]
    made.run()
    assert made.api.writes() == []


@pytest.mark.parametrize(
    ("ours", "theirs", "wanted"),
    [
        ("2026-01-02T10:00:01Z", "2026-01-02T10:00:00Z", "H"),
        ("2026-01-02T10:00:00Z", "2026-01-02T10:00:01Z", "A"),
        ("2026-01-02T10:00:00Z", "2026-01-02T12:00:00+02:00", "A"),
        ("2026-01-02T10:00:01", 1_767_348_000, "H"),
        ("yesterday", "2026-01-02T10:00:00Z", "A"),
    ],
)
def test_the_newest_change_wins_by_the_times_of_both_sides(
    ours: str, theirs: object, wanted: str
) -> None:
    made = agreed(NEWEST, times=("owner", "meta.changed"))
    made.api.orders["n1"] |= {"name": "A", "meta": {"changed": theirs}}
    made.edit("n1", "H")
    (row,) = [row for row in made.table.values() if row["number"] == "n1"]
    row["owner"] = ours
    made.run()
    assert made.ours()["n1"] == made.theirs()["n1"] == wanted


@pytest.mark.parametrize("choice", [API, HOST])
@pytest.mark.parametrize("is_api_deleting", [False, True])
def test_a_user_decides_between_a_change_and_a_deletion(
    choice: ConflictRule, *, is_api_deleting: bool
) -> None:
    made = agreed(ASK)
    if is_api_deleting:
        del made.api.orders["n1"]
        made.edit("n1", "Changed")
    else:
        made.api.orders["n1"]["name"] = "Changed"
        made.remove("n1")
    for _ in range(2):
        made.run()
        assert made.api.writes() == []
        assert ("n1" in made.theirs(), "n1" in made.ours()) == (
            not is_api_deleting,
            is_api_deleting,
        )
    (asked,) = made.memory.pairs.conflicts("send orders", "", 9)
    assert asked.key == "n1"
    made.memory.pairs.put("send orders", [asked.resolve(choice)])
    made.run()
    assert made.ours() == made.theirs()
    is_deleted = (choice is API) is is_api_deleting
    assert ("n1" in made.ours()) is not is_deleted
    assert made.memory.pairs.conflicts("send orders", "", 9) == []
    made.api.writes()
    made.run()
    assert made.api.writes() == []


def test_a_conflict_ends_when_neither_side_has_the_record_any_more() -> None:
    made = agreed(ASK)
    made.api.orders["n1"]["name"] = "A"
    made.edit("n1", "H")
    made.run()
    del made.api.orders["n1"]
    made.remove("n1")
    made.run()
    assert made.memory.pairs.conflicts("send orders", "", 9) == []
    assert made.api.writes() == []


def test_a_conflict_of_an_unseen_version_is_asked_again() -> None:
    made = agreed(ASK)
    made.api.orders["n1"]["name"] = "A"
    made.edit("n1", "H")
    made.run()
    (asked,) = made.memory.pairs.conflicts("send orders", "", 9)
    made.memory.pairs.put("send orders", [asked.resolve(API)])
    made.edit("n1", "H2")
    made.run()
    (asked,) = made.memory.pairs.conflicts("send orders", "", 9)
    assert asked.is_open
    assert asked.conflict == PairConflict({"name": "A"}, {"name": "H2"})


def test_a_record_without_an_agreement_that_the_api_deletes_is_not_lost() -> None:
    made = agreed(ASK)
    made.memory.pairs.agreements.clear()
    del made.api.orders["n1"]
    made.run()
    (asked,) = made.memory.pairs.conflicts("send orders", "", 9)
    assert (asked.key, asked.conflict) == (
        "n1",
        PairConflict(None, {"name": "Name n1"}),
    )
    assert "n1" in made.ours()


PRICE = FieldMapping("price", "price")


@pytest.mark.parametrize("rule", ConflictRule)
def test_a_field_that_is_only_sent_travels_whatever_the_api_changes(
    rule: ConflictRule,
) -> None:
    made = agreed(rule, push=replace(PUSH, mappings=(*MAPPED, PRICE)))
    (row,) = [row for row in made.table.values() if row["number"] == "n1"]
    row["price"] = Decimal("1.50")
    made.api.orders["n1"]["name"] = "A"
    made.run()
    assert made.ours() == made.theirs()
    assert made.ours()["n1"] == "A"
    assert made.api.orders["n1"]["price"] == 1.5
    assert made.api.writes() == ["PATCH /orders/n1"]
    made.run()
    assert made.api.writes() == []


def test_a_field_that_is_only_pulled_is_written_whatever_the_host_changes() -> None:
    born = FieldMapping("born", "born", Transform.DATE)
    made = agreed(HOST, pull=replace(PULL, mappings=(*MAPPED, born)))
    made.edit("n1", "H")
    made.api.orders["n1"]["born"] = "2000-01-02"
    made.run()
    (row,) = [row for row in made.table.values() if row["number"] == "n1"]
    assert row["born"] == date(2000, 1, 2)
    assert made.theirs()["n1"] == "H"


def test_a_dry_run_of_a_pair_changes_nothing() -> None:
    made = agreed()
    made.api.orders["n1"]["name"] = "A"
    made.api.orders["n4"] = {"number": "n4", "name": "New"}
    made.edit("n2", "H")
    before = made.ours()
    agreements = dict(made.memory.pairs.agreements)
    entries = dict(made.memory.ledger.entries)
    outcomes: dict[str, str] = {}
    for line in ("orders", "send orders"):
        noted: list[Effect] = []
        for _ in made.runner.run(line, "ada", dry_run=True, note=noted.append):
            pass
        outcomes |= {f"{line} {one.key}": str(one.outcome) for one in noted}
    assert outcomes == {
        "orders n1": "updated",
        "orders n2": "unchanged",
        "orders n3": "unchanged",
        "orders n4": "created",
        "send orders 1": "unchanged",
        "send orders 2": "updated",
        "send orders 3": "unchanged",
    }
    assert made.ours() == before
    assert made.api.writes() == []
    assert made.memory.pairs.agreements == agreements
    assert made.memory.ledger.entries == entries


def test_a_refused_row_has_no_agreement() -> None:
    made = agreed()
    made.api.orders["n4"] = {"number": "n4", "name": "x" * 21}
    made.api.orders["n5"] = {"number": "n5", "name": {"not": "a text"}}
    made.run()
    assert Agreements(made.memory.pairs).by_key("send orders", ["n4", "n5"]) == {}
    assert "n4" not in made.ours()


def test_a_rejected_update_changes_no_agreement() -> None:
    made = agreed()
    made.edit("n1", "H")
    made.api.calls()
    made.api.odd = {2: reply(400)}
    before = dict(made.memory.pairs.agreements)
    made.run()
    assert made.memory.pairs.agreements == before
    made.api.odd = {}
    made.run()
    assert made.theirs()["n1"] == "H"


def test_a_pull_that_continues_old_pages_is_run_again_before_the_push() -> None:
    made = agreed()
    pairs = PairRunner(made.pairing, made.runner, made.memory.runs)
    left = [0]
    records = EveryCall(made.memory.records, left, Killed(), after=True)
    made.runner = SyncRunner(replace(made.ports, models=records))
    stopped = PairRunner(made.pairing, made.runner, made.memory.runs)
    del made.api.orders["n3"]
    left[0] = 5
    with pytest.raises(Killed):
        stopped.run("orders", "ada")
    made.clock.advance(3600)
    made.api.orders["n1"]["name"] = "A"
    made.edit("n1", "H")
    made.api.calls()
    pairs.run("orders", "ada")
    assert made.ours()["n1"] == made.theirs()["n1"] == "A"
    assert made.ours() == made.theirs()


def test_what_the_api_made_of_sent_values_is_taken_and_not_sent_back() -> None:
    made = agreed(HOST, api=Shop(upper=True))
    made.edit("n1", "loud")
    made.run()
    assert made.theirs()["n1"] == "LOUD"
    made.api.writes()
    made.run()
    assert made.ours()["n1"] == "LOUD"
    made.run()
    assert made.api.writes() == []


def test_a_second_edit_wins_over_what_the_api_made_of_the_first() -> None:
    made = agreed(API, api=Shop(upper=True))
    made.edit("n1", "first")
    made.run()
    made.edit("n1", "second")
    made.run()
    assert made.theirs()["n1"] == "SECOND"


# ── the guard against mass removal ────────────────────────────────────────────────────

GUARDED = {
    "pull": replace(PULL, guard_percent=25),
    "push": replace(PUSH, guard_percent=25),
}


@pytest.mark.parametrize("rule", ConflictRule)
def test_an_api_that_suddenly_returns_no_record_removes_nothing(
    rule: ConflictRule,
) -> None:
    made = agreed(rule, **GUARDED)
    before = made.ours()
    hidden = made.api.orders
    made.api.orders = {}
    made.run()
    assert made.ours() == before
    assert made.api.writes() == []
    made.api.orders = hidden
    made.run()
    assert made.ours() == made.theirs() == before
    assert made.api.writes() == []


@pytest.mark.parametrize("rule", ConflictRule)
def test_an_api_that_suddenly_returns_few_records_removes_nothing(
    rule: ConflictRule,
) -> None:
    made = agreed(rule, **GUARDED)
    before = made.ours()
    made.edit("n3", "By the host")
    hidden = made.api.orders
    made.api.orders = {"n1": hidden["n1"]}
    with pytest.raises(SyncFailed):
        made.run()
    assert made.ours() == before | {"n3": "By the host"}
    made.api.orders = hidden
    assert made.api.writes() == []
    made.run()
    assert made.ours() == made.theirs() == before | {"n3": "By the host"}
    assert made.api.writes() == ["PATCH /orders/n3"]


@pytest.mark.parametrize("rule", ConflictRule)
def test_a_host_that_has_suddenly_lost_its_records_deletes_nothing_at_the_api(
    rule: ConflictRule,
) -> None:
    made = agreed(rule, **GUARDED)
    before = made.theirs()
    made.remove("n1")
    made.remove("n2")
    with pytest.raises(SyncFailed):
        made.run()
    assert made.theirs() == before
    assert made.api.writes() == []


# ── kills ─────────────────────────────────────────────────────────────────────────────


class EveryCall(Faulty):
    """Raises at any call that reads or writes."""

    def __getattr__(self, name: str) -> object:
        method = getattr(self._port, name)
        if name in {"now", "shapes", "targets"}:
            return method

        def call(*args: object, **options: object) -> object:
            if not self._after:
                self._step()
            result = method(*args, **options)
            if self._after:
                self._step()
            return result

        return call


@pytest.mark.untraced
@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("rule", [API, HOST, NEWEST])
def test_whatever_kills_a_pair_at_any_step_the_next_runs_complete_it(
    rule: ConflictRule, pytestconfig: pytest.Config, *, after: bool
) -> None:
    for turn in range(1, 300, 1 if pytestconfig.getoption("--full") else 11):
        made = agreed(rule)
        made.api.orders["n1"]["name"] = "A"
        made.edit("n1", "H")
        made.edit("n2", "By the host")
        made.add("n4", "New in the host")
        del made.api.orders["n3"]
        whole = made.runner
        left = [turn]
        ports = replace(
            made.ports,
            sender=Faulty(made.ports.sender, left, Killed(), after=after),
            runs=EveryCall(made.memory.runs, left, Killed(), after=after),
            models=EveryCall(made.memory.records, left, Killed(), after=after),
            ledger=EveryCall(made.memory.ledger, left, Killed(), after=after),
            pairing=replace(
                made.pairing,
                agreements=EveryCall(made.memory.pairs, left, Killed(), after=after),
            ),
        )
        made.runner = SyncRunner(ports)
        was_killed = False
        try:
            made.run()
        except Killed:
            was_killed = True
        made.runner = whole
        made.clock.advance(3600)
        made.run()
        made.clock.advance(3600)
        made.run()
        made.api.writes()
        made.run()
        assert made.api.writes() == []
        assert made.ours() == made.theirs()
        assert made.ours() == {
            "n1": "H" if rule is HOST else "A",
            "n2": "By the host",
            "n4": "New in the host",
        }
        assert made.api.doubles() == []
        if not was_killed:
            assert turn > 50
            return
    pytest.fail("the runs have more steps than were tried")


# ── the interface for users ───────────────────────────────────────────────────────────


def test_users_run_a_pair_see_its_conflicts_and_resolve_them() -> None:
    made = agreed(ASK)
    pairs = PairRunner(made.pairing, made.runner, made.memory.runs)
    made.api.orders["n1"]["name"] = "A"
    made.edit("n1", "H")
    pull, push = pairs.run("orders", "ada")
    assert (pull.line, push.line) == ("orders", "send orders")
    (asked,) = pairs.conflicts("orders")
    assert asked.api == {"name": "Name n1"}
    assert asked.conflict == PairConflict({"name": "A"}, {"name": "H"})
    with pytest.raises(ConfigError):
        pairs.resolve("orders", "n2", API)
    pairs.resolve("orders", "n1", HOST)
    pairs.run("orders", "ada")
    assert made.theirs()["n1"] == "H"
    assert list(pairs.conflicts("orders")) == []
    with pytest.raises(UnknownConfiguration):
        pairs.get("other")


def test_the_push_does_not_begin_after_a_pull_that_failed() -> None:
    made = agreed()
    made.api.orders = {"": {"number": "", "name": "no key"}}
    made.edit("n1", "H")
    pairs = PairRunner(made.pairing, made.runner, made.memory.runs)
    (pull,) = pairs.run("orders", "ada")
    assert pull.state is RunState.FAILED
    assert made.api.writes() == []


def test_a_record_that_was_lost_with_its_table_is_written_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = agreed()
    records = made.memory.records
    lost = {*made.table}
    made.table.clear()
    made.added = 5000
    monkeypatch.setattr(
        records, "present", lambda _target, ids: {*ids} & (lost | {*made.table})
    )
    made.run()
    assert made.ours() == made.theirs() == {n: f"Name {n}" for n in ("n1", "n2", "n3")}
    assert made.api.writes() == []
