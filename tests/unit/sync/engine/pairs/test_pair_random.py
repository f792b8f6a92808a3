"""Random edits on both sides of a pair, with kills and clocks that differ.

A model tells what may become of each record: whatever the engine does, an edit is on
both sides in the end, or was overruled as the rule says, or waits for a user. Requests
are counted against the edits of the host.
"""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outkey.sending.core.request.message import Request, Response
from outkey.sync.core.line.line import FieldMapping
from outkey.sync.core.mapping.records import FieldKind, HostField
from outkey.sync.core.pairs.pairs import is_host_newer
from outkey.sync.core.pairs.section import ConflictRule
from outkey.sync.engine.pairs.runner import PairRunner
from outkey.sync.engine.runs.runner import SyncRunner
from unit.sync.engine.pairs.test_pair_runs import (
    PULL,
    PUSH,
    EveryCall,
    PairOfLines,
    Shop,
)
from unit.sync.engine.pull.test_sync_run import Faulty, Killed

API, HOST, NEWEST, ASK = ConflictRule
START = datetime(2026, 1, 1, tzinfo=UTC)
TEXTS = ("number", "name", "tag", "changed")
FIELDS = {"contact": [HostField(name, name, FieldKind.TEXT) for name in TEXTS]}
Version = str | None  # the name that a side has; None: it does not have the record
Worlds = frozenset[Version]  # what both sides may have agreed on


@dataclass
class TimedShop(Shop):
    """Orders with an ID of their own, and the time of their last change."""

    now: datetime = START
    numbers_are_ids: bool = True

    def create(self, order: dict[str, Any]) -> str:
        self.created += 1
        known = order["number"] if self.numbers_are_ids else f"r{self.created}"
        stored = {"id": known, **order, "changed": self.now.isoformat()}
        self.orders[known] = stored
        return str(known)

    def perform(self, request: Request) -> Response:
        before = {known: dict(order) for known, order in self.orders.items()}
        response = super().perform(request)
        for known, order in self.orders.items():
            if known in before and order != before[known]:
                order["changed"] = self.now.isoformat()
        return response


@dataclass(frozen=True)
class Outcome:
    """What one side has after a run, by what both sides agreed on before."""

    api: Version
    host: Version
    agreed: Version


@dataclass(frozen=True)
class Step:
    """How a run decides about a record."""

    rule: ConflictRule
    is_host_newer: bool
    is_chosen: bool  # by a user

    def pulled(self, start: Outcome) -> Outcome:
        """Return what a pull makes of a record."""
        api, host, agreed = start.api, start.host, start.agreed
        taken = Outcome(api, api, api)
        if host in {api, agreed}:
            return taken
        if self.is_chosen:
            return start if self.rule is HOST else taken
        if api == agreed or self.rule is ASK:
            return start
        if api is None:
            return Outcome(None, host, None)
        is_hosts = self.rule is HOST or (self.rule is NEWEST and self.is_host_newer)
        return start if is_hosts and host is not None else taken


def pushed(after: Outcome, *, waits: bool) -> Outcome:
    """Return what the push then makes of it."""
    if after.host == after.agreed or waits:
        return after
    return Outcome(after.host, after.host, after.host)


@dataclass
class Sides:
    """Both sides of a pair, and the model of each record."""

    rule: ConflictRule
    numbers_are_ids: bool
    skew: timedelta  # of the host's clock
    worlds: dict[str, Worlds] = field(default_factory=dict)
    edits: Counter[str] = field(default_factory=Counter)  # of the host, by tag
    requests: Counter[str] = field(default_factory=Counter)
    tags: dict[str, str] = field(default_factory=dict)  # by the API's ID
    number: int = 0
    kills: int = 0
    was_killed: bool = False
    # What the API had when runs were killed: the next run continues with their pages.
    read_before: dict[str, set[Version]] = field(default_factory=dict)
    # What both sides agreed on after the last complete run.
    settled: dict[str, Worlds] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.api = TimedShop(numbers_are_ids=self.numbers_are_ids)
        pull, push = PULL, PUSH
        if not self.numbers_are_ids:
            mapped = (FieldMapping("id", "number"), FieldMapping("tag", "tag"))
            name = FieldMapping("name", "name")
            pull = replace(PULL, mappings=(*mapped, name))
            push = replace(PUSH, mappings=(mapped[1], name))
        self.pair = PairOfLines(
            self.rule,
            api=self.api,
            pull=pull,
            push=push,
            fields=FIELDS,
            times=("changed", "changed"),
        )
        self.pairs = PairRunner(
            self.pair.pairing, self.pair.runner, self.pair.memory.runs
        )
        self.tag_name = "number" if self.numbers_are_ids else "tag"

    # ── what each side has ───────────────────────────────────────────────────────────

    def order(self, tag: str) -> dict[str, Any] | None:
        found = [o for o in self.api.orders.values() if o[self.tag_name] == tag]
        assert len(found) <= 1, "it was created twice at the API"
        return found[0] if found else None

    def row(self, tag: str) -> dict[str, Any] | None:
        rows = self.pair.table.values()
        found: list[dict[str, Any]] = [r for r in rows if r[self.tag_name] == tag]
        assert len(found) <= 1, "the host has it twice"
        return found[0] if found else None

    def versions(self, tag: str) -> tuple[Version, Version]:
        order, row = self.order(tag), self.row(tag)
        return order and order["name"], row and row["name"]

    def conflicts(self) -> dict[str, Any]:
        """Return the conflicts of the stored agreements, by tag."""
        found = {}
        for known in self.pair.memory.pairs.conflicts("send orders", "", 99):
            tag = known.key
            if not self.numbers_are_ids:
                versions = (known.conflict.api, known.conflict.host)  # type: ignore[union-attr]
                tag = next(str(one["tag"]) for one in versions if one)
            found[tag] = known
        return found

    # ── edits ────────────────────────────────────────────────────────────────────────

    def edit_api(self, tag: str) -> None:
        self.number += 1
        name = f"A{self.number}"
        self.api.now += timedelta(seconds=1)
        order = self.order(tag)
        if order is None:
            tag = self.fresh(tag)
            self.note_new_record(tag)
            self.api.create({self.tag_name: tag, "name": name})
        else:
            order |= {"name": name, "changed": self.api.now.isoformat()}

    def edit_host(self, tag: str) -> None:
        self.number += 1
        self.api.now += timedelta(seconds=1)
        row = self.row(tag)
        if row is None:
            tag = self.fresh(tag)
            self.note_new_record(tag)
            self.pair.add(tag if self.numbers_are_ids else "", "")
            row = list(self.pair.table.values())[-1]
            row["tag"] = tag
        row["name"] = f"H{self.number}"
        row["changed"] = (self.api.now + self.skew).isoformat()
        self.edits[tag] += 1

    def note_new_record(self, tag: str) -> None:
        """Note that both sides may agree on nothing: it is another record."""
        if self.versions(tag) == (None, None):
            self.worlds[tag] = self.worlds.get(tag, frozenset()) | {None}

    def fresh(self, tag: str) -> str:
        """Return a tag for a new record; without keys of its own it is another one."""
        is_used = tag in self.worlds
        return tag if self.numbers_are_ids or not is_used else f"{tag}-{self.number}"

    def delete_api(self, tag: str) -> None:
        order, row = self.order(tag), self.row(tag)
        # A record of the host that no pull has seen is not deleted with the API's.
        is_brought = row is None or row["_line"] == "orders"
        if order and is_brought:
            del self.api.orders[order["id"]]

    def delete_host(self, tag: str) -> None:
        tables = self.pair.table
        for record in [r for r, row in tables.items() if row[self.tag_name] == tag]:
            del tables[record]
            self.edits[tag] += 1

    def resolve(self, tag: str, choice: ConflictRule) -> None:
        known = self.conflicts().get(tag)
        if known:
            self.pairs.resolve("orders", known.key, choice)

    # ── runs ─────────────────────────────────────────────────────────────────────────

    def run(
        self, *, only_pull: bool = False, kill: int = 0, after: bool = False
    ) -> None:
        """Run the pair, perhaps up to a kill; compare what happened with the model."""
        before = {tag: self.versions(tag) for tag in self.worlds}
        newer = {tag: self.is_host_newer(tag) for tag in self.worlds}
        chosen = self.conflicts()
        self.count_requests()
        is_killed = self.run_lines(only_pull=only_pull, kill=kill, after=after)
        self.count_requests()
        may_be_partial = is_killed or self.was_killed
        # A pull alone continues a killed one behind its last page; the next run of the
        # pair reads the earlier pages again.
        saw_all = not is_killed and not (only_pull and self.was_killed)
        waiting = self.conflicts()
        for tag, (api, host) in before.items():
            allowed: set[Outcome] = set()
            must_wait = saw_all and tag not in self.read_before
            for agreed in self.worlds[tag]:
                known = chosen.get(tag)
                rule = self.rule
                if known and rule is ASK:
                    rule = self.rule_of(known.conflict, api, host)
                step = Step(rule, newer[tag], rule is not self.rule)
                waits = rule is ASK and api not in {host, agreed} and host != agreed
                must_wait = must_wait and waits
                start = Outcome(api, host, agreed)
                pull = step.pulled(start)
                push = pushed(pull, waits=waits)
                allowed.add(pull if only_pull else push)
                if known and tag in waiting:  # a user decides about what there is now
                    allowed.add(start)
                if may_be_partial:
                    lost_response = Outcome(push.api, push.host, agreed)
                    unstored = Outcome(push.api, push.host, pull.agreed)
                    allowed |= {start, pull, push, lost_response, unstored}
                for version in self.read_before.get(tag, ()):
                    early = step.pulled(replace(start, api=version))
                    late = replace(early, api=api)
                    allowed |= {late, pushed(late, waits=waits)}
            seen = self.versions(tag)
            possible = {one for one in allowed if (one.api, one.host) == seen}
            assert not must_wait or tag in waiting
            assert possible, (tag, api, host, self.worlds[tag], "became", seen)
            self.worlds[tag] = frozenset(one.agreed for one in possible)
        self.note_end(before, only_pull=only_pull, is_killed=is_killed)

    def note_end(
        self,
        before: dict[str, tuple[Version, Version]],
        *,
        only_pull: bool,
        is_killed: bool,
    ) -> None:
        """Note what the next run may still know of the time before this one."""
        self.was_killed = is_killed or (self.was_killed and only_pull)
        if is_killed:
            for tag, (api, _host) in before.items():
                self.read_before.setdefault(tag, set()).add(api)
        elif not only_pull:
            self.read_before.clear()
            self.settled = dict(self.worlds)
            return
        # Only the push notices what the host has deleted.
        for tag, settled in self.settled.items():
            if self.versions(tag) == (None, None):
                self.worlds[tag] |= settled

    def rule_of(self, conflict: Any, api: Version, host: Version) -> ConflictRule:  # noqa: ANN401
        """Return the choice of a user, if it is about what the sides have now."""
        shown_host = conflict.host and conflict.host["name"]
        shown_api = conflict.api and conflict.api["name"]
        if conflict.choice is API and shown_host == host:
            return API
        if conflict.choice is HOST and shown_api == api:
            return HOST
        return ASK

    def is_host_newer(self, tag: str) -> bool:
        order, row = self.order(tag), self.row(tag)
        if order is None or row is None:
            return False
        return is_host_newer(row.get("changed"), order["changed"])

    def run_lines(self, *, only_pull: bool, kill: int, after: bool) -> bool:
        """Run both lines; return whether they were killed."""
        left = [kill]
        ports = self.pair.ports
        memory = self.pair.memory
        if kill:
            agreements = EveryCall(memory.pairs, left, Killed(), after=after)
            ports = replace(
                ports,
                sender=Faulty(ports.sender, left, Killed(), after=after),
                runs=EveryCall(memory.runs, left, Killed(), after=after),
                models=EveryCall(memory.records, left, Killed(), after=after),
                ledger=EveryCall(memory.ledger, left, Killed(), after=after),
                pairing=replace(self.pair.pairing, agreements=agreements),
            )
        runner = SyncRunner(ports)
        try:
            if only_pull:
                for _ in runner.run("orders", "ada"):
                    pass
            else:
                PairRunner(self.pair.pairing, runner, memory.runs).run("orders", "ada")
        except Killed:
            self.kills += 1
            self.pair.clock.advance(3600)
            return True
        self.pair.clock.advance(1)
        return False

    def count_requests(self) -> None:
        """Count the requests that write, by the tag of their record."""
        orders = self.api.orders.values()
        self.tags |= {order["id"]: order[self.tag_name] for order in orders}
        for request in self.api.asked:
            if request.method == "POST":
                tag = json.loads(bytes(request.body))[self.tag_name]  # type: ignore[arg-type]
                self.requests[tag] += 1
            elif request.method != "GET":
                self.requests[self.tags[request.target.rpartition("/")[2]]] += 1
        self.api.asked.clear()


def edits(sides: Sides, data: st.DataObject) -> Iterator[None]:
    """Make random edits, runs, kills and choices."""
    tags = st.sampled_from(["n1", "n2", "n3", "n4"])
    kinds = ["api", "host", "api", "host", "delete api", "delete host"]
    kinds += ["run", "pull", "kill", "resolve"]
    steps = st.lists(
        st.tuples(st.sampled_from(kinds), tags, st.integers(1, 120), st.booleans()),
        max_size=25,
    )
    for kind, tag, turn, flag in data.draw(steps):
        match kind:
            case "api":
                sides.edit_api(tag)
            case "host":
                sides.edit_host(tag)
            case "delete api":
                sides.delete_api(tag)
            case "delete host":
                sides.delete_host(tag)
            case "run":
                sides.run()
            case "pull":
                sides.run(only_pull=True)
            case "kill":
                sides.run(kill=turn, after=flag)
            case "resolve":
                sides.resolve(tag, API if flag else HOST)
        yield


@pytest.mark.untraced
@pytest.mark.parametrize("numbers_are_ids", [True, False])
@pytest.mark.parametrize("rule", ConflictRule)
@given(data=st.data(), skew=st.integers(-3, 3))
def test_random_edits_converge_and_none_is_lost_or_sent_twice(
    data: st.DataObject, skew: int, rule: ConflictRule, *, numbers_are_ids: bool
) -> None:
    sides = Sides(rule, numbers_are_ids, timedelta(seconds=skew))
    # An API without any record is more likely to hide them than to have none.
    for tag in ("always", "n1", "n2", "n3"):
        sides.edit_api(tag)
    sides.run()
    for _ in edits(sides, data):
        pass
    sides.run()
    sides.run()
    for tag in sides.conflicts():
        sides.resolve(tag, data.draw(st.sampled_from([API, HOST])))
    sides.run()
    assert sides.conflicts() == {}
    before = sides.requests.total()
    sides.run()
    assert sides.requests.total() == before
    for tag in sides.worlds:
        api, host = sides.versions(tag)
        assert api == host
    # A kill may repeat the request that it has interrupted, and a create that was
    # repeated needs an update if the record was edited meanwhile.
    for tag, count in sides.requests.items():
        assert count <= sides.edits[tag] + 2 * sides.kills
