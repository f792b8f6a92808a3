"""Pairs that cannot work are refused when they are saved, with what to do next."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from outkey.administration.core.document.document import Document
from outkey.foundation.core.errors import ConfigError
from outkey.sync.core.line.line import (
    Children,
    FieldMapping,
    ForEach,
    JobOrder,
    JobSettings,
    PushedRecords,
    PushRequest,
    SyncLine,
)
from outkey.sync.core.mapping.records import FieldKind, HostField, Target
from outkey.sync.core.pairs.rules import refuse_shared_lines, refuse_unfit_pair
from outkey.sync.core.pairs.section import Pair
from outkey.sync.core.run.run import RunState
from outkey.sync.engine.runs.runner import SyncRunner
from outkey.testing import configuration
from unit.administration.engine.editing.test_changes import Office
from unit.sync.engine.pairs.test_pair_runs import PULL, PUSH, PairOfLines

PAIR = Pair("both", "orders", "send orders")
ORDERS = SyncLine("orders", "acme", "GET", "/orders", PULL)
SEND = SyncLine("send orders", "acme", "POST", "/", PUSH)
NAMES = ("number", "name", "updated_at")
CONTACT = Target(
    "Contact",
    "Contacts",
    tuple(HostField(name, name, FieldKind.TEXT) for name in NAMES),
    ("saved_at",),
)


def lines(*, pull: Any = None, push: Any = None) -> dict[str, SyncLine]:  # noqa: ANN401
    """Return both lines, with some settings changed."""
    return {
        "orders": replace(ORDERS, sync=replace(PULL, **(pull or {}))),
        "send orders": replace(SEND, sync=replace(PUSH, **(push or {}))),
    }


def unfit() -> Iterator[tuple[dict[str, SyncLine], str, str]]:
    """Yield lines, the field that is named, and a part of what is said."""
    yield {"send orders": SEND}, "pull", "there is no line orders"
    yield {"orders": ORDERS}, "push", "there is no line send orders"
    call = replace(ORDERS, sync=None)
    yield {"orders": call, "send orders": SEND}, "pull", "the direction pull"
    yield {"orders": ORDERS, "send orders": ORDERS}, "push", "the direction push"
    yield {"orders": SEND, "send orders": SEND}, "pull", "the direction pull"
    other = replace(SEND, configuration="other")
    yield {"orders": ORDERS, "send orders": other}, "push", "same configuration"
    yield lines(push={"target": "demo.other"}), "push", "same target"
    file = {"target": "file:orders.csv"}
    yield lines(pull=file, push=file), "pull", "cannot be a file"
    children = {"children": (Children("lines", "line"),)}
    yield lines(pull=children), "pull", "cannot have children"
    job = {"job": JobSettings(order=JobOrder("POST", "/reports"))}
    yield lines(pull=job), "pull", "cannot order a job"
    parents = {"for_each": ForEach("orders")}
    yield lines(pull=parents), "pull", "for each parent"
    nothing = PushRequest()
    yield lines(push={"update": nothing}), "push", "updates a record"
    only_line = {"create": nothing, "update": nothing, "delete": nothing}
    yield lines(push=only_line), "push", "updates a record"
    yield lines(push={"changes": PushedRecords.ALL}), "push", "changed records only"


@pytest.mark.parametrize(("named", "field", "message"), list(unfit()))
def test_lines_that_do_not_fit_each_other_are_refused(
    named: dict[str, SyncLine], field: str, message: str
) -> None:
    with pytest.raises(ConfigError, match=message) as refused:
        refuse_unfit_pair(PAIR, named)
    assert refused.value.field == f"pair.both.{field}"
    assert refused.value.hint


def faulty_field(pair: Pair, named: dict[str, SyncLine]) -> str:
    """Return the field for which a pair is refused, or "" if it is accepted."""
    try:
        refuse_unfit_pair(pair, named)
    except ConfigError as error:
        return error.field
    return ""


@pytest.mark.parametrize("push", [{}, {"target": "CONTACT"}, {"create": PushRequest()}])
def test_lines_of_one_target_fit_each_other(push: dict[str, object]) -> None:
    assert faulty_field(PAIR, lines(push=push)) == ""


def test_the_field_with_the_time_of_a_change_must_be_one_of_the_target() -> None:
    timed = replace(PAIR, host_changed="updated_at", api_changed="updated")
    for name in ("updated_at", "saved_at"):
        named = replace(timed, host_changed=name)
        refuse_unfit_pair(named, lines(), lambda: [CONTACT])
    wrong = replace(timed, host_changed="changed")
    with pytest.raises(ConfigError, match="no such field") as refused:
        refuse_unfit_pair(wrong, lines(), lambda: [CONTACT])
    assert refused.value.field == "pair.both.host_changed"
    assert (
        str(refused.value.hint) == "Choose one of: name, number, saved_at, updated_at."
    )
    # That the model is not open is a finding of the lines.
    refuse_unfit_pair(wrong, lines(), list)


def test_a_new_table_has_the_fields_that_the_pull_writes() -> None:
    table = {"target": "table:contacts"}
    mapped = (*PULL.mappings, FieldMapping("updated", "updated_at"))
    named = lines(pull={**table, "mappings": mapped}, push=table)
    refuse_unfit_pair(replace(PAIR, host_changed="updated_at"), named)
    with pytest.raises(ConfigError, match="no such field"):
        refuse_unfit_pair(replace(PAIR, host_changed="changed"), named)


@pytest.mark.parametrize(
    ("second", "field"),
    [
        (Pair("more", "orders", "b"), "pull"),
        (Pair("more", "a", "send orders"), "push"),
        (Pair("more", "a", "a"), "push"),
    ],
)
def test_a_line_is_in_one_pair_only(second: Pair, field: str) -> None:
    refuse_shared_lines([PAIR, Pair("more", "a", "b")])
    with pytest.raises(ConfigError, match="already") as refused:
        refuse_shared_lines([PAIR, second])
    assert refused.value.field == f"pair.more.{field}"
    assert refused.value.hint


# ── when a document is applied ────────────────────────────────────────────────────────


def applied(office: Office, *named: SyncLine, pairs: tuple[Pair, ...] = ()) -> None:
    from outkey.administration.engine.editing.applying import apply

    apply(
        office.administration,
        office.sender,
        Document((), named, pairs=pairs),
        settings=office.settings,
        dry_run=False,
        targets=lambda: [CONTACT],
    )


def test_nothing_of_a_document_with_an_unfit_pair_is_saved() -> None:
    office = Office(configuration())
    with pytest.raises(ConfigError, match="no line send orders"):
        applied(office, ORDERS, pairs=(PAIR,))
    assert (office.registry.lines(), office.settings.pairs()) == ([], {})


def test_a_pair_may_name_saved_lines_and_those_of_the_document() -> None:
    office = Office(configuration())
    applied(office, ORDERS)
    applied(office, SEND, pairs=(PAIR,))
    assert office.settings.pairs() == {"both": PAIR}


def test_a_line_of_a_saved_pair_cannot_be_changed_so_that_it_no_longer_fits() -> None:
    office = Office(configuration())
    applied(office, ORDERS, SEND, pairs=(PAIR,))
    elsewhere = replace(ORDERS, sync=replace(PULL, target="demo.other"))
    with pytest.raises(ConfigError, match="same target"):
        applied(office, elsewhere)
    applied(office, replace(ORDERS, path="/v2/orders"))
    applied(office, SyncLine("more", "acme", "GET", "/x"))


def test_a_saved_pair_and_one_of_the_document_share_no_line() -> None:
    office = Office(configuration())
    applied(office, ORDERS, SEND, pairs=(PAIR,))
    with pytest.raises(ConfigError, match="in the pair both already"):
        applied(office, pairs=(Pair("more", "orders", "send orders"),))


@pytest.mark.parametrize(
    ("host", "api", "field"),
    [("changed", "updated", "host_changed"), ("updated_at", "a b", "api_changed")],
)
def test_the_times_of_changes_are_checked(host: str, api: str, field: str) -> None:
    office = Office(configuration())
    timed = replace(PAIR, host_changed=host, api_changed=api)
    with pytest.raises(ConfigError) as refused:
        applied(office, ORDERS, SEND, pairs=(timed,))
    assert refused.value.field == f"pair.both.{field}"


# ── when a line is saved in a form, or run ────────────────────────────────────────────


def test_a_line_whose_pair_no_longer_fits_is_neither_saved_nor_run() -> None:
    made = PairOfLines(push=replace(PUSH, update=PushRequest()))
    for line in ("orders", "send orders"):
        with pytest.raises(ConfigError, match="updates a record"):
            made.runner.refuse_faults(line)
        with pytest.raises(ConfigError, match="updates a record"):
            next(made.runner.run(line, "ada"))
    assert made.api.calls() == []


def test_the_pairs_of_other_lines_do_not_matter() -> None:
    made = PairOfLines()
    others = {"others": Pair("others", "a", "b"), **made.pairing.pairs()}
    pairing = replace(made.pairing, pairs=lambda: others)
    runner = SyncRunner(replace(made.ports, pairing=pairing))
    runner.refuse_faults("orders")
    assert last_state(runner, "orders") is RunState.DONE
    del others["orders"]
    runner.refuse_faults("orders")
    assert last_state(runner, "orders") is RunState.DONE


def last_state(runner: SyncRunner, line: str) -> RunState:
    """Run a line, and return the state in which it ends."""
    *_, run = runner.run(line, "ada")
    return run.state
