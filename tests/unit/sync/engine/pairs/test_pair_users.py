"""Users of pairs: what they are shown, and what they may decide."""

from dataclasses import replace

import pytest

from outkey.administration.engine.application import Application
from outkey.foundation.core.errors import ConfigError
from outkey.sending.core.audit.events import Tag
from outkey.sync.core.line.line import FieldMapping, SyncLine
from outkey.sync.core.pairs.pairs import PairAgreement, PairConflict
from outkey.sync.core.pairs.section import ConflictRule, Pair
from outkey.sync.core.run.run import Run
from outkey.sync.engine.pairs.runner import (
    Begin,
    PairRunner,
    conflict_version,
    fields_by_owner,
    run_to_end,
)
from outkey.sync.engine.runs.line_plan import PairPorts
from outkey.testing import configuration
from outkey.testing.fakes.sync import MemoryPairRows
from unit.application_in_memory import MemoryHost, memory_host
from unit.sync.engine.pairs.test_pair_runs import PULL, PUSH, agreed

CONFLICT = PairAgreement(
    "7",
    "n1",
    api={"name": "Agreed"},
    host={"name": "Agreed"},
    conflict=PairConflict({"name": "A"}, {"name": "H"}),
)


class Rights:
    """The rights of a user on records: all, or none."""

    def __init__(self, *, has_all: bool) -> None:
        self.has_all = has_all
        self.demanded: list[tuple[str, ...]] = []

    def demand(self, target: str, *verbs: str) -> None:
        self.demanded.append((target, *verbs))
        if not self.has_all:
            raise ConfigError("you may not do this")


def host_with_conflict() -> tuple[MemoryHost, Application, PairRunner]:
    host = memory_host(configuration())
    host.registry.put_line(SyncLine("orders", "acme", "GET", "/orders", PULL))
    host.registry.put_line(SyncLine("send orders", "acme", "POST", "/", PUSH))
    rows = MemoryPairRows()
    rows.put("send orders", [CONFLICT])
    pair = Pair("orders", "orders", "send orders", ConflictRule.ASK)
    pairing = PairPorts(rows, lambda: {"orders": pair})
    ports = replace(host.application.sync_ports(), pairing=pairing)
    application = replace(host.application, sync_ports=lambda: ports)
    return host, application, application.sync.pair_runner()


def test_a_decision_is_stored_and_audited_without_the_key_of_the_record() -> None:
    host, application, pairs = host_with_conflict()
    assert pairs.count_open("orders") == 1
    office = application.administration("ada")
    application.sync.resolve_conflict(office, "orders", "n1", ConflictRule.HOST)
    assert pairs.conflict("orders", "n1") == CONFLICT.resolve(ConflictRule.HOST)
    assert pairs.count_open("orders") == 0
    (event,) = host.audit.events
    assert event.tag is Tag.CONFLICT_RESOLVED
    assert "n1" not in repr(event)
    assert "ada" in repr(event)


def test_who_may_not_change_the_records_decides_nothing() -> None:
    host, application, pairs = host_with_conflict()
    office = application.administration("ada")
    rights = Rights(has_all=False)
    with pytest.raises(ConfigError):
        application.sync.resolve_conflict(
            office, "orders", "n1", ConflictRule.API, rights=rights
        )
    assert rights.demanded == [("contact", "view", "add", "change", "delete")]
    assert pairs.conflict("orders", "n1") == CONFLICT
    assert list(host.audit.events) == []


def test_a_decision_about_other_versions_than_were_seen_is_refused() -> None:
    host, application, pairs = host_with_conflict()
    office = application.administration("ada")
    rights = Rights(has_all=True)
    seen = replace(CONFLICT, conflict=PairConflict({"name": "A"}, {"name": "Other"}))
    with pytest.raises(ConfigError, match="has changed since"):
        application.sync.resolve_conflict(
            office,
            "orders",
            "n1",
            ConflictRule.API,
            rights=rights,
            version=conflict_version(seen),
        )
    assert (pairs.count_open("orders"), list(host.audit.events)) == (1, [])
    application.sync.resolve_conflict(
        office,
        "orders",
        "n1",
        ConflictRule.API,
        rights=rights,
        version=conflict_version(CONFLICT),
    )
    assert pairs.count_open("orders") == 0
    # A table may be written by whoever runs lines, and needs a permission to be seen.
    assert rights.demanded[-1] == ("contact", "view")


def test_a_choice_does_not_make_another_version_of_a_conflict() -> None:
    chosen = CONFLICT.resolve(ConflictRule.API)
    assert conflict_version(chosen) == conflict_version(CONFLICT)


def test_a_host_without_pairs_refuses_them() -> None:
    with pytest.raises(ConfigError, match="no pairs"):
        memory_host(configuration()).application.sync.pair_runner()


def test_a_caller_follows_the_run_of_each_line() -> None:
    made = agreed()
    pairs = PairRunner(made.pairing, made.runner, made.memory.runs)
    lines: list[str] = []

    def follow(line: str, begin: Begin) -> Run:
        lines.append(line)
        return run_to_end(line, begin)

    pull, push = pairs.run("orders", "ada", follow)
    assert lines == [pull.line, push.line] == ["orders", "send orders"]


def test_a_pull_that_was_resumed_is_run_again_before_the_push() -> None:
    made = agreed()
    steps = made.runner.run("orders", "ada")
    next(steps)
    next(steps)  # a page is stored
    with pytest.raises(KeyboardInterrupt):
        steps.throw(KeyboardInterrupt())
    made.clock.advance(5)
    lines: list[str] = []

    def follow(line: str, begin: Begin) -> Run:
        lines.append(line)
        return run_to_end(line, begin)

    pairs = PairRunner(made.pairing, made.runner, made.memory.runs)
    pull, _push = pairs.run("orders", "ada", follow)
    assert lines == ["orders", "orders", "send orders"]
    assert pull.started_at == made.memory.runs.now()


def test_fields_are_shown_by_the_side_that_may_change_them() -> None:
    pulled = FieldMapping("seen", "seen")
    sent = FieldMapping("note", "note")
    pull = replace(PULL, mappings=(*PULL.mappings, pulled))
    push = replace(PUSH, mappings=(*PUSH.mappings, sent))
    assert fields_by_owner(pull, push) == {
        "keys": ["number"],
        "shared": ["name"],
        "pulled": ["seen"],
        "sent": ["note"],
    }
    assert fields_by_owner(pull, None) == {}
