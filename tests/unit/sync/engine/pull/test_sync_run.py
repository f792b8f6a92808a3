import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import date
from decimal import Decimal
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from outkey.foundation.adapters.paths_jmespath import JmespathCompiler
from outkey.foundation.core.errors import (
    BadResponse,
    ConfigError,
    ConnectionFailed,
    EditConflict,
    LineBusy,
    OutkeyError,
    RunStopped,
    StorageUnavailable,
    SyncFailed,
)
from outkey.foundation.core.text import Text
from outkey.sending.core.audit.events import Outcome
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.request.message import Request, Response, ResponseHeaders
from outkey.sending.core.request.script import SCRIPT_FACT, digest
from outkey.sync.adapters.calendar_cronsim import CronCalendar
from outkey.sync.core.line.line import (
    Direction,
    FieldMapping,
    Gone,
    Incremental,
    Pagination,
    Paging,
    Sync,
    SyncLine,
    Transform,
)
from outkey.sync.core.mapping.keys import key_text
from outkey.sync.core.mapping.records import FieldKind, HostField, WriteOutcome
from outkey.sync.core.run.effects import Effect
from outkey.sync.core.run.run import Counts, RejectedRecord, Run, RunState
from outkey.sync.engine.pull.target_columns import ignore_change
from outkey.sync.engine.runs.line_plan import SyncPorts
from outkey.sync.engine.runs.runner import SyncRunner
from outkey.sync.engine.runs.runs import Runs
from outkey.sync.ports.sync import StorageBusy
from outkey.testing import configuration, fake_gateway
from outkey.testing.fakes.basic import FakeClock, FakeWorld
from outkey.testing.fakes.storage import memory_registry
from outkey.testing.fakes.sync import MemoryRecords, MemorySync

FIELDS = {
    "contact": (
        HostField("number", "Number", FieldKind.TEXT, required=True),
        HostField("name", "Name", FieldKind.TEXT, longest=20),
        HostField("born", "Born", FieldKind.DATE),
        HostField("price", "Price", FieldKind.DECIMAL),
        HostField("owner", "Owner", FieldKind.LINK, target="person"),
    ),
    "person": (HostField("login", "Login", FieldKind.TEXT),),
    "item": (
        HostField("contact", "Contact", FieldKind.TEXT, required=True),
        HostField("position", "Position", FieldKind.NUMBER, required=True),
        HostField("sku", "Article", FieldKind.TEXT, longest=10),
        HostField("owner", "Owner", FieldKind.LINK, target="person"),
    ),
    "note": (
        HostField("contact", "Contact", FieldKind.LINK, target="Contact"),
        HostField("text", "Text", FieldKind.TEXT),
        HostField("day", "Day", FieldKind.DATE),
    ),
}
ROWS = (FieldMapping("id", "number", required=True), FieldMapping("name", "name"))
PAGES = Pagination(Paging.PAGE, 2, "per_page", "page")
PULL = Sync(target="contact", keys=("number",), mappings=ROWS, pagination=PAGES)
PUSH = replace(PULL, direction=Direction.PUSH, pagination=Pagination())


class Killed(BaseException):
    """What a kill looks like from inside."""


@dataclass
class Api:
    """A list of records in pages, by number."""

    records: list[dict[str, Any]] = field(default_factory=list)
    odd: dict[int, Response | OutkeyError] = field(default_factory=dict)  # by request
    asked: list[Request] = field(default_factory=list)

    def __call__(self, request: Request) -> Response | OutkeyError:
        self.asked.append(request)
        if len(self.asked) in self.odd:
            return self.odd[len(self.asked)]
        query = parse_qs(urlsplit(request.target).query)
        start, size = (
            2 * (int(query.get("page", ["1"])[0]) - 1),
            int(query.get("per_page", [99])[0]),
        )
        return answer(self.records[start : start + size])


def answer(document: object, *headers: tuple[str, str], status: int = 200) -> Response:
    return Response(status, ResponseHeaders(headers), json.dumps(document).encode())


def people(*numbers: int, **values: object) -> list[dict[str, Any]]:
    return [{"id": number, "name": f"Name {number}"} | values for number in numbers]


@dataclass
class FakeSync:
    runner: SyncRunner
    world: FakeWorld
    memory: MemorySync
    ports: SyncPorts

    @property
    def records(self) -> MemoryRecords:
        return self.memory.records

    @property
    def runs(self) -> Runs:
        return self.memory.runs

    def run(
        self,
        *,
        dry_run: bool = False,
        note: Callable[[Effect], None] | None = None,
        note_change: Callable[[Text], None] = ignore_change,
        allows_removal: bool = False,
    ) -> Run:
        *_, last = self.runner.run(
            "contacts",
            "ada",
            dry_run=dry_run,
            note=note,
            note_change=note_change,
            allows_removal=allows_removal,
        )
        return last

    def numbers(self) -> list[object]:
        return sorted(row["number"] for row in self.records.rows("contact"))

    def change(
        self, sync: Sync | None, method: str = "GET", path: str = "/contacts"
    ) -> None:
        line = SyncLine("contacts", "acme", method, path, sync)
        self.world.ports.configurations.put_line(line)  # type: ignore[attr-defined]

    def use(self, sync: Sync, method: str = "GET", path: str = "/contacts") -> None:
        """Run a line that no document can have, and that no registry can store."""
        line = SyncLine("contacts", "acme", method, path, sync)
        self.world.ports.configurations.line = lambda _: line  # type: ignore[method-assign]

    def kill(self) -> None:
        """Let the lease of whoever runs now pass."""
        self.world.clock.advance(3600)


def fake_sync(
    sync: Sync | None = PULL,
    responses: Callable[[Request], Response | OutkeyError] | None = None,
    *,
    method: str = "GET",
    path: str = "/contacts",
    token: str = "t",
    **values: object,
) -> FakeSync:
    line = SyncLine("contacts", "acme", method, path, sync)
    settings = {"limits__retries": 0, "authentication_type": "bearer"}
    made = configuration(**(settings | values))
    world = fake_gateway(
        responses=responses or Api(),
        secrets={"token": token},
        registry=memory_registry([made], [line]),
    )
    memory = MemorySync(world.ports.configurations, FIELDS, world.clock)
    ports = SyncPorts(
        world.sender,
        world.ports.configurations,
        memory.records,
        memory.runs,
        JmespathCompiler(),
        world.clock,
        CronCalendar(),
        memory.ledger,
        memory.parents,
        world.scripts,
    )
    return FakeSync(SyncRunner(ports), world, memory, ports)


def stored(made: FakeSync, *rows: dict[str, object]) -> None:
    """Put records into the host that no line has brought."""
    for number, row in enumerate(rows, start=1):
        made.records.table("contact")[str(number)] = {
            "_archived": False,
            "_line": "",
            **row,
        }


# ── pull ──────────────────────────────────────────────────────────────────────────────


def test_a_pull_brings_every_page_and_tells_how_far_it_is() -> None:
    made = fake_sync(responses=Api(people(1, 2, 3)))
    seen = list(made.runner.run("contacts", "ada"))
    assert [(run.pages, run.counts.created, run.state) for run in seen] == [
        (0, 0, RunState.RUNNING),
        (1, 2, RunState.RUNNING),
        (2, 3, RunState.RUNNING),
        (3, 3, RunState.RUNNING),
        (3, 3, RunState.DONE),
    ]
    assert made.numbers() == ["1", "2", "3"]
    assert (seen[-1].actor, seen[-1].position) == ("ada", {})
    assert made.runs.get(seen[-1].id).state is RunState.DONE


def test_the_same_again_changes_nothing() -> None:
    made = fake_sync(responses=Api(people(1, 2, 3)))
    made.run()
    assert made.run().counts == Counts(unchanged=3)


@pytest.mark.parametrize("deadlocks", [1, 2])
def test_a_page_that_a_deadlock_undid_is_written_again(
    deadlocks: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = fake_sync(responses=Api(people(1, 2, 3)))
    fail_upserts(monkeypatch, made, deadlocks)
    assert made.run().counts == Counts(created=3)
    assert made.numbers() == ["1", "2", "3"]


def test_a_page_that_deadlocks_undo_again_and_again_ends_the_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = fake_sync(responses=Api(people(1, 2, 3)))
    fail_upserts(monkeypatch, made, 3)
    with pytest.raises(StorageBusy):
        made.run()
    assert made.numbers() == []


def fail_upserts(monkeypatch: pytest.MonkeyPatch, made: FakeSync, times: int) -> None:
    """Let the first upserts of a host fail as if its database undid them."""
    upsert = made.records.upsert
    failures = iter([StorageBusy()] * times)

    def fail_first(*args: Any, **options: Any) -> object:  # noqa: ANN401 - of the method
        failure = next(failures, None)
        if failure is not None:
            raise failure
        return upsert(*args, **options)

    monkeypatch.setattr(made.records, "upsert", fail_first)


def test_requests_belong_to_the_line() -> None:
    made = fake_sync(responses=Api())
    made.run()
    assert {
        event.line for event in made.world.audit.events if hasattr(event, "line")
    } == {"contacts"}


def test_the_audit_has_every_outcome_when_a_run_has_ended() -> None:
    made = fake_sync(responses=Api(people(1, 2, 3)))
    flushes: list[tuple[int, int]] = []
    audit = made.world.audit

    def flush() -> None:
        outcomes = [event for event in audit.events if isinstance(event, Outcome)]
        flushes.append((len(outcomes), len(made.world.transport.sent)))

    audit.flush = flush  # type: ignore[method-assign]
    made.run()
    assert flushes == [(3, 3)]  # once, not for every request
    made.run(dry_run=True)
    made.runner.preview("contacts")
    made.runner.sample("contacts")
    made.runner.suggest("contacts")
    assert len(flushes) == 5
    assert all(outcomes == requests for outcomes, requests in flushes)


def test_the_audit_has_the_outcome_that_ended_a_run() -> None:
    made = fake_sync(responses=lambda _: Response(500))
    with pytest.raises(OutkeyError):
        made.run()
    assert made.world.audit.flushes == 1


def test_a_run_keeps_the_script_that_it_began_with() -> None:
    made = fake_sync(responses=Api(people(1, 2, 3)))
    registry = made.world.ports.configurations
    signs = "def compute_auth_header(sync_line): return {}  # version %d"
    for version in (1, 2):
        script = signs % version
        made.world.secrets.values[SCRIPT_FACT] = digest(script)
        configured = replace(registry.get("acme"), script=script, script_enabled=True)
        registry.put_settings(configured)  # type: ignore[attr-defined]
        if version == 1:
            steps = made.runner.run("contacts", "ada")
            next(steps), next(steps)
    *_, last = steps
    made.run()
    used = [call.source[-1] for call in made.world.scripts.calls]
    assert (last.state, used) == (RunState.DONE, ["1"] * 3 + ["2"] * 3)


def test_values_are_mapped_and_looked_up_once_for_a_page() -> None:
    rows = (
        *ROWS,
        FieldMapping("b", "born", Transform.DATE, options={"format": "%d.%m.%Y"}),
        FieldMapping("p", "price"),
        FieldMapping(
            "o",
            "owner",
            Transform.LOOKUP,
            options={"target": "person", "field": "login"},
        ),
    )
    api = Api(
        people(1, b="01.07.2026", p=0.1, o="ada")
        + people(2, o=True)
        + people(3, o="eve")
    )
    made = fake_sync(replace(PULL, mappings=rows, pagination=Pagination()), api)
    made.records.table("person")["7"] = {"login": "ada"}
    run = made.run()
    assert made.records.rows("contact") == [
        {
            "number": "1",
            "name": "Name 1",
            "born": date(2026, 7, 1),
            "price": Decimal("0.1"),
            "owner": 7,
        }
    ]
    left = made.runs.rejected(run.id, 9)
    assert left == [
        RejectedRecord(2, "2", "owner", "not_found", "true/false", "true"),
        RejectedRecord(3, "3", "owner", "not_found", "text", "eve"),
    ]


def test_a_constant_and_a_template_need_no_field_of_the_api() -> None:
    rows = (
        FieldMapping(
            "", "number", Transform.TEMPLATE, options={"template": "{org.id}-{id}"}
        ),
        FieldMapping("name", "name", Transform.CONSTANT, options={"value": "them"}),
    )
    made = fake_sync(replace(PULL, mappings=rows), Api(people(1, org={"id": "x"})))
    made.run()
    assert made.records.rows("contact") == [{"number": "x-1", "name": "them"}]


def deep() -> dict[str, object]:
    record: dict[str, object] = {}
    for _ in range(200):
        record = {"a": record}
    return record


@pytest.mark.parametrize(
    ("record", "left"),
    [
        ({"name": "x"}, ("", "number", "missing", "null", "null")),
        ({"id": "", "name": "x"}, ("", "number", "key_missing", "text", "")),
        ({"id": 9, "name": ["x"]}, ("9", "name", "no_text", "list", '["x"]')),
        ({"id": 9, "name": "x" * 21}, ("9", "name", "too_long", "text", "x" * 21)),
        (
            {"id": 9, "name": "x\x00"},
            ("9", "name", "unstorable_character", "text", "x\ufffd"),
        ),
        ({"id": 9, "a": deep()}, ("", "", "too_deep")),
        ({"id": 9, "a": [0] * 20_000}, ("", "", "too_many_fields")),
        ({"id": 1, "name": "other"}, ("1", "number", "duplicate_key", "text", "1")),
        (
            {"id": "x" * 300, "name": []},
            (key_text(["x" * 300]), "name", "no_text", "list", "[]"),
        ),
    ],
)
def test_a_bad_record_is_left_out_and_takes_no_other_with_it(
    record: dict[str, object], left: tuple[str, ...]
) -> None:
    made = fake_sync(responses=Api([*people(1), record, *people(2)]))
    run = made.run()
    assert made.numbers() == ["1", "2"]
    assert run.counts == Counts(created=2, failed=1)
    assert made.runs.rejected(run.id, 9) == [RejectedRecord(2, *left)]


def test_the_same_record_twice_on_a_page_is_one() -> None:
    made = fake_sync(responses=Api(people(1, 1)))
    assert made.run().counts == Counts(created=1, unchanged=1)


def test_an_expression_that_fails_on_one_record_leaves_that_one_out() -> None:
    rows = (ROWS[0], FieldMapping("join('-', names)", "name"))
    made = fake_sync(
        replace(PULL, mappings=rows), Api(people(1, names=["a", "b"]) + people(2))
    )
    run = made.run()
    assert made.runs.rejected(run.id, 9) == [
        RejectedRecord(2, "", "name", "expression")
    ]
    assert made.records.rows("contact") == [{"number": "1", "name": "a-b"}]


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"<html>", "not_json"),
        (b"{}", "not_a_list"),
        (b"null", "not_a_list"),
        (b"[1]", "not_objects"),
        (b"[" * 100_000, "too_deep"),
    ],
)
def test_a_page_that_cannot_be_read_ends_the_run_and_keeps_the_pages_before(
    body: bytes, reason: str
) -> None:
    made = fake_sync(responses=Api(people(1, 2, 3), {2: Response(200, body=body)}))
    with pytest.raises(SyncFailed) as failed:
        made.run()
    assert failed.value.reason == reason
    (run,) = made.runs.newest(9)
    assert (run.state, run.cause, run.counts) == (
        RunState.FAILED,
        reason,
        Counts(created=2),
    )
    assert made.numbers() == ["1", "2"]


@pytest.mark.parametrize(
    ("odd", "cause"),
    [
        (Response(401), "invalid_credentials"),
        (Response(403), "insufficient_permissions"),
        (Response(429), "rate_limited"),
        (Response(503), "server_error"),
        (ConnectionFailed(), "connection"),
    ],
)
def test_a_failure_in_the_middle_ends_the_run_and_the_next_one_goes_on_behind_it(
    odd: Response | OutkeyError, cause: str
) -> None:
    api = Api(people(1, 2, 3, 4, 5), {2: odd})
    made = fake_sync(responses=api)
    with pytest.raises(OutkeyError):
        made.run()
    (failed,) = made.runs.newest(9)
    assert (failed.state, failed.cause) == (RunState.FAILED, cause)
    done = made.run()
    assert (done.id, done.counts) == (failed.id, Counts(created=5))
    pages = [
        parse_qs(urlsplit(request.target).query)["page"][0] for request in api.asked
    ]
    assert pages == ["1", "2", "2", "3", "4"]


def test_a_place_that_the_api_knows_no_more_is_tried_once_and_then_it_begins_anew() -> (
    None
):
    api = Api(people(1, 2, 3), {2: Response(503), 3: Response(410)})
    made = fake_sync(responses=api)
    for _ in range(2):
        with pytest.raises(BadResponse):
            made.run()
    assert made.run().counts == Counts(created=1, unchanged=2)
    assert len(made.runs.newest(9)) == 2


def test_a_line_that_was_changed_begins_anew() -> None:
    made = fake_sync(responses=Api(people(1, 2, 3), {2: Response(503)}))
    with pytest.raises(BadResponse):
        made.run()
    made.change(replace(PULL, query=(("all", "1"),)))
    assert made.run().counts == Counts(created=1, unchanged=2)


def test_a_line_with_another_schedule_or_more_at_a_time_goes_on() -> None:
    api = Api(people(1, 2, 3, 4, 5), {2: ConnectionFailed()})
    made = fake_sync(responses=api)
    with pytest.raises(ConnectionFailed):
        made.run()
    made.change(replace(PULL, schedule="0 6 * * *", parallel=2))
    assert made.run().counts.created == 5
    pages = [parse_qs(urlsplit(request.target).query)["page"] for request in api.asked]
    assert pages[:3] == [["1"], ["2"], ["2"]]


def test_links_lead_from_page_to_page_and_back_into_a_run() -> None:
    base = "https://api.acme.example/contacts"
    pages = {
        base: answer(people(1), ("Link", "</contacts?n=2>; rel=next")),
        f"{base}?n=2": answer(people(2), ("Link", f"<{base}?n=3>; rel=next")),
        f"{base}?n=3": answer(people(3)),
    }
    made = fake_sync(
        replace(PULL, pagination=Pagination(Paging.LINK)), lambda r: pages[r.url]
    )
    steps = made.runner.run("contacts", "ada")
    next(steps)
    next(steps)
    steps.close()
    with pytest.raises(LineBusy):
        made.run()
    made.kill()
    assert made.run().counts == Counts(created=3)


@pytest.mark.parametrize(
    ("link", "reason"),
    [("https://evil.example/", "foreign_next"), ("/contacts?n=2", "cursor_loop")],
)
def test_a_next_link_leads_neither_away_nor_back(link: str, reason: str) -> None:
    page = answer(people(1), ("Link", f"<{link}>; rel=next"))
    made = fake_sync(
        replace(PULL, pagination=Pagination(Paging.LINK)), lambda _request: page
    )
    with pytest.raises(SyncFailed) as failed:
        made.run()
    assert failed.value.reason == reason
    assert {request.origin.host for request, _ in made.world.transport.sent} == {
        "api.acme.example"
    }


def test_a_cursor_in_the_body_and_in_the_question_may_be_json() -> None:
    asked: list[object] = []

    def api(request: Request) -> Response:
        assert isinstance(request.body, bytes)
        asked.append(json.loads(request.body))
        following = {None: "a", "a": "b"}.get(asked[-1]["after"])  # type: ignore[index]
        return answer({"items": people(len(asked)), "next": following})

    sync = replace(
        PULL,
        records="items",
        body='{"after": "{position}", "size": "{size}", "since": "{since}"}',
        pagination=Pagination(Paging.CURSOR, 7, cursor="next", position_parameter="c"),
    )
    made = fake_sync(sync, api, method="POST")
    assert made.run().counts == Counts(created=3)
    assert asked == [{"after": p, "size": 7, "since": None} for p in (None, "a", "b")]


def test_page_numbers_in_a_body_are_numbers() -> None:
    bodies: list[object] = []

    def api(request: Request) -> Response:
        bodies.append(request.body)
        return answer([])

    fake_sync(replace(PULL, body='{"page": "{position}"}'), api, method="POST").run()
    assert bodies == [b'{"page": 1}']


def test_an_answer_without_content_has_no_records() -> None:
    made = fake_sync(responses=lambda _request: Response(204))
    assert made.run().counts == Counts()


def test_the_page_behind_the_last_one_may_be_missing() -> None:
    made = fake_sync(responses=Api(people(1, 2), {2: Response(404)}))
    assert made.run().counts == Counts(created=2)


# ── only what changed ─────────────────────────────────────────────────────────────────

SINCE = replace(PULL, incremental=Incremental("since", "at"))


def asked_since(api: Api) -> list[str]:
    return [parse_qs(urlsplit(r.target).query).get("since", [""])[0] for r in api.asked]


def test_the_next_run_asks_for_what_changed_since() -> None:
    api = Api(
        people(1, at="2026-01-02")
        + people(2, at="2026-01-03")
        + people(3, at="2026-01-01")
    )
    made = fake_sync(SINCE, api)
    assert made.run().cursor == "2026-01-03"
    made.run()
    assert asked_since(api) == [*[""] * 3, *["2026-01-03"] * 3]


def test_what_was_left_out_is_asked_for_again() -> None:
    api = Api([*people(1, at="2026-01-02"), {"name": "x", "at": "2026-01-03"}])
    made = fake_sync(SINCE, api)
    assert made.run().cursor == ""
    api.records = people(1, 2, at="2026-01-04")
    assert made.run().cursor == "2026-01-04"
    assert set(asked_since(api)) == {""}


def test_the_first_run_asks_from_the_start_and_later_ones_look_back() -> None:
    api = Api(people(1, at="2026-01-03T12:00:00Z"))
    start = Incremental("since", "at", start="2026-01-01", lookback="1h")
    made = fake_sync(replace(SINCE, incremental=start), api)
    made.run()
    made.run()
    first, *_, last = asked_since(api)
    assert (first, last) == ("2026-01-01T00:00:00Z", "2026-01-03T11:00:00Z")
    assert made.run().since == "2026-01-03T12:00:00Z"


def test_a_value_that_is_not_a_moment_ends_a_run_that_looks_back() -> None:
    api = Api(people(1, at="4711"))
    back = Incremental("since", "at", lookback="1h")
    made = fake_sync(replace(SINCE, incremental=back), api)
    made.run()
    requests = len(api.asked)
    with pytest.raises(SyncFailed) as failed:
        made.run()
    assert (failed.value.reason, len(api.asked)) == ("not_a_moment", requests)


# ── what is gone ──────────────────────────────────────────────────────────────────────

ARCHIVE = replace(PULL, gone=Gone.ARCHIVE, guard_percent=100)


def test_what_the_api_has_no_more_is_archived_and_comes_back() -> None:
    api = Api(people(1, 2, 3))
    made = fake_sync(ARCHIVE, api)
    stored(made, {"number": "mine"})
    made.run()
    api.records = people(1)
    assert made.run().counts == Counts(unchanged=1, archived=2)
    assert made.numbers() == ["1", "mine"]
    api.records = people(1, 2)
    assert made.run().counts == Counts(unchanged=1, updated=1)
    assert made.numbers() == ["1", "2", "mine"]


@pytest.mark.parametrize(
    ("records", "sync", "dry_run"),
    [
        (people(1), PULL, False),  # keep
        ([], ARCHIVE, False),  # nothing at all is more likely hidden than gone
        (
            [*people(1), {"name": "no id"}],
            ARCHIVE,
            False,
        ),  # who knows which one that was
        (people(1), replace(SINCE, gone=Gone.ARCHIVE), False),  # only what changed
        (people(1), ARCHIVE, True),
    ],
)
def test_nothing_is_archived_where_a_record_may_only_be_out_of_sight(
    records: list[dict[str, object]], sync: Sync, *, dry_run: bool
) -> None:
    api = Api(people(1, 2, at="2026-01-01"))
    made = fake_sync(
        replace(SINCE, gone=Gone.ARCHIVE) if sync.incremental.parameter else sync, api
    )
    made.run()
    api.records = records
    assert made.run(dry_run=dry_run).counts.archived == 0
    assert made.numbers() == ["1", "2"]


def test_nothing_is_archived_where_a_404_told_the_end() -> None:
    api = Api(people(1, 2, 3, 4))
    made = fake_sync(replace(PULL, gone=Gone.ARCHIVE), api)
    made.run()
    api.odd[len(api.asked) + 2] = Response(404)  # the second page is missing, this once
    assert made.run().counts == Counts(unchanged=2)
    assert made.run().counts == Counts(unchanged=4)


def test_a_run_that_failed_archives_nothing() -> None:
    api = Api(people(1, 2, 3))
    made = fake_sync(ARCHIVE, api)
    made.run()
    api.records, api.odd = people(1, 2, 4), {len(api.asked) + 2: Response(503)}
    with pytest.raises(BadResponse):
        made.run()
    assert made.numbers() == ["1", "2", "3"]
    assert made.run().counts == Counts(created=1, unchanged=2, archived=1)


# ── a look ahead ──────────────────────────────────────────────────────────────────────


def test_a_dry_run_counts_and_shows_the_difference_and_writes_nothing() -> None:
    made = fake_sync(
        responses=Api([{"id": 1, "name": "new"}, *people(2, 3), {"name": "x"}])
    )
    stored(made, {"number": "1", "name": "old"}, {"number": "2", "name": "Name 2"})
    before = made.records.rows("contact")
    effects: list[Effect] = []
    run = made.run(dry_run=True, note=effects.append)
    assert run.counts == Counts(created=1, updated=1, unchanged=1, failed=1)
    assert [effect.outcome for effect in effects] == [
        "updated",
        "unchanged",
        "created",
        "refused",
    ]
    assert effects[0].changes == {"name": ("old", "new")}
    assert (effects[3].field, effects[3].reason) == ("number", "missing")
    assert made.records.rows("contact") == before
    assert "old" not in repr(effects)
    assert made.run().counts.created == 1  # nothing is gone on with


def test_a_preview_asks_for_one_page_and_keeps_no_run() -> None:
    api = Api(people(1, 2, 3))
    made = fake_sync(responses=api)
    (effect,) = made.runner.preview("contacts", limit=1)
    assert (effect.outcome, effect.key) == (WriteOutcome.CREATED, "1")
    assert effect.values == {"number": "1", "name": "Name 1"}
    assert len(api.asked) == 1
    assert made.runs.newest(9) == []
    assert made.records.rows("contact") == []


# ── what is wrong before anything is sent ─────────────────────────────────────────────


@pytest.mark.parametrize(
    ("sync", "place"),
    [
        (None, "direction"),
        (replace(PULL, target="nothing"), "target"),
        (replace(PULL, records="items["), "records"),
        (replace(PULL, mappings=(*ROWS, FieldMapping("a", "nam"))), "fields[2].host"),
        (replace(PULL, mappings=(*ROWS, FieldMapping("a(", "born"))), "fields[2].api"),
        (
            replace(PULL, pagination=Pagination(Paging.CURSOR, cursor="(")),
            "pagination.cursor",
        ),
        (replace(PULL, incremental=Incremental("since", "?")), "incremental.field"),
        (replace(PULL, script="def transform(): return {}"), "script"),
    ],
)
def test_a_line_that_cannot_work_sends_nothing_and_keeps_no_run(
    sync: Sync | None, place: str
) -> None:
    made = fake_sync(sync)
    for call in (made.run, lambda: made.runner.preview("contacts")):
        with pytest.raises(ConfigError) as failed:
            call()
        assert failed.value.field == place
    assert made.world.transport.sent == []
    assert made.runs.newest(9) == []


def test_findings_are_collected() -> None:
    bad = (FieldMapping("(", "number"), FieldMapping("a", "nam"))
    sync = replace(
        PULL, mappings=bad, incremental=Incremental("s", "a"), gone=Gone.ARCHIVE
    )
    found = fake_sync(sync).runner.check("contacts")
    assert [(one.id, one.field) for one in found] == [
        ("L005", "gone"),
        ("L001", "fields[1].host"),
        ("L012", "fields[0].api"),
    ]


def test_a_warning_stops_no_run() -> None:
    made = fake_sync(replace(SINCE, gone=Gone.ARCHIVE), Api(people(1)))
    assert made.run().state is RunState.DONE


# ── cancelled, taken over, killed ─────────────────────────────────────────────────────


def test_a_cancelled_run_stops_at_its_next_page_and_is_not_gone_on_with() -> None:
    made = fake_sync(responses=Api(people(1, 2, 3, 4, 5)))
    steps = made.runner.run("contacts", "ada")
    next(steps)
    first = next(steps)
    made.runs.cancel(first.id)
    with pytest.raises(RunStopped) as stopped:
        next(steps)
    assert stopped.value.reason == "cancelled"
    kept = made.runs.get(first.id)
    assert (kept.state, kept.counts) == (RunState.CANCELLED, Counts(created=2))
    assert made.numbers() == ["1", "2"]
    assert made.run().id != first.id


def test_a_run_that_was_taken_over_writes_nothing_more() -> None:
    made = fake_sync(responses=Api(people(1, 2, 3, 4, 5)))
    slow = made.runner.run("contacts", "ada")
    next(slow)
    next(slow)
    made.kill()
    quick = made.runner.run("contacts", "eve")
    next(quick)
    with pytest.raises(RunStopped) as stopped:
        next(slow)
    assert stopped.value.reason == "taken_over"
    assert [run.counts for run in quick][-1] == Counts(created=5)


class Faulty:
    """Wraps a port and raises at one call, before or after it is done."""

    def __init__(
        self, port: object, turn: list[int], fault: BaseException, *, after: bool
    ) -> None:
        self._port, self._turn, self._fault, self._after = port, turn, fault, after

    def __getattr__(self, name: str) -> object:
        method = getattr(self._port, name)
        if name not in {
            "begin",
            "save",
            "finish",
            "add_rejected",
            "upsert",
            "archive",
            "send",
        }:
            return method

        def call(*args: object, **options: object) -> object:
            if not self._after:
                self._step()
            result = method(*args, **options)
            if self._after:
                self._step()
            return result

        return call

    @contextmanager
    def transaction(self, *, durable: bool = True) -> Iterator[None]:
        with self._port.transaction(durable=durable):  # type: ignore[attr-defined]
            yield
            self._step()  # the commit fails
        self._step()

    def _step(self) -> None:
        self._turn[0] -= 1
        if self._turn[0] == 0:
            raise self._fault


def faulty(
    made: FakeSync, turn: int, fault: BaseException, *, after: bool
) -> SyncRunner:
    left = [turn]
    return SyncRunner(
        replace(
            made.ports,
            sender=Faulty(made.ports.sender, left, fault, after=after),
            runs=Faulty(made.runs, left, fault, after=after),
            models=Faulty(made.records, left, fault, after=after),
        )
    )


def turns(sync: Sync, method: str = "GET") -> Iterator[tuple[FakeSync, Api, int]]:
    """Return desks in the same state, and one more step to fail at each time."""
    for turn in range(1, 60):
        api = Api([*people(1, 2, 3, 4), {"name": "no id"}])
        made = fake_sync(sync, api, method=method)
        stored(made, *({"number": str(n), "name": f"Name {n}"} for n in range(1, 4)))
        yield made, api, turn


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("fault", [Killed, StorageUnavailable])
def test_whatever_ends_a_pull_at_any_step_the_next_run_completes_it(
    fault: type[BaseException], *, after: bool
) -> None:
    for made, _, turn in turns(ARCHIVE):
        ended = False
        with suppress(Killed, StorageUnavailable):
            list(faulty(made, turn, fault(), after=after).run("contacts", "ada"))
            ended = True
        if ended:
            assert turn > 10
            return
        made.kill()
        run = made.run()
        assert made.numbers() == ["1", "2", "3", "4"]
        assert len(made.records.table("contact")) == 4
        first = made.runs.newest(9)[-1]
        if run.id == first.id:  # gone on with: every record was counted once
            assert run.counts == Counts(created=1, unchanged=3, failed=1)
            assert len(made.runs.rejected(run.id, 9)) == 1
    pytest.fail("the run never got through")


# ── push ──────────────────────────────────────────────────────────────────────────────


def header(request: Request, name: str) -> str:
    return next((str(h.value) for h in request.headers if h.name == name), "")


def pushing(
    sync: Sync = PUSH, api: Api | None = None, **line: str
) -> tuple[FakeSync, Api]:
    api = api or Api()
    made = fake_sync(
        sync, api, method=line.get("method", "POST"), path=line.get("path", "/contacts")
    )
    stored(made, *({"number": f"n{n}", "name": f"Name {n}"} for n in range(1, 4)))
    return made, api


def test_a_push_sends_each_record_with_a_key_against_doubles() -> None:
    made, api = pushing()
    run = made.run()
    assert (run.state, run.counts, run.pages) == (RunState.DONE, Counts(created=3), 1)
    assert [json.loads(bytes(request.body)) for request in api.asked] == [  # type: ignore[arg-type]
        {"id": f"n{n}", "name": f"Name {n}"} for n in range(1, 4)
    ]
    assert [header(r, "Idempotency-Key") for r in api.asked] == ["1-1", "1-2", "1-3"]


def test_a_push_fills_in_path_and_body() -> None:
    sync = replace(PUSH, body='{"contact": {"name": "{name}", "label": "#{number}"}}')
    sync = replace(sync, query=(("notify", "no"), ("tag", "a"), ("tag", "b")))
    made, api = pushing(PUSH, method="PUT", path="/contacts/{number}")
    made.use(sync, method="PUT", path="/contacts/{number}")
    assert made.run().counts == Counts(updated=3)
    assert api.asked[0].target == "/contacts/n1?notify=no&tag=a&tag=b"
    assert header(api.asked[0], "Idempotency-Key") == ""
    sent = json.loads(bytes(api.asked[0].body))  # type: ignore[arg-type]
    assert sent == {"contact": {"name": "Name 1", "label": "#n1"}}


def test_a_large_value_does_not_fill_a_body_again_and_again() -> None:
    sync = replace(PUSH, body=json.dumps({"names": ["{name}"] * 100 + ["#{name}"]}))
    made, api = pushing(sync)
    made.records.table("contact")["2"]["name"] = "x" * 100_000
    run = made.run()
    assert run.counts == Counts(created=2, failed=1)
    assert made.runs.rejected(run.id, 9) == [RejectedRecord(2, "2", "", "too_long")]
    assert len(api.asked) == 2


def test_a_record_that_the_api_refuses_is_left_out() -> None:
    made, api = pushing(api=Api(odd={2: Response(422)}))
    run = made.run()
    assert run.counts == Counts(created=2, failed=1)
    assert made.runs.rejected(run.id, 9) == [RejectedRecord(2, "2", "", "status_422")]
    assert len(api.asked) == 3


def test_a_record_that_cannot_be_mapped_is_left_out() -> None:
    made, api = pushing(path="/contacts/{name}")
    made.records.table("contact")["1"]["name"] = None
    made.records.table("contact")["2"]["number"] = None
    run = made.run()
    left = [(q.key, q.field, q.reason) for q in made.runs.rejected(run.id, 9)]
    assert left == [("1", "name", "not_for_a_path"), ("2", "number", "missing")]
    assert len(api.asked) == 1


@pytest.mark.parametrize("status", [401, 403, 429, 500, 503])
def test_what_is_not_about_the_record_ends_a_push_and_the_next_run_goes_on(
    status: int,
) -> None:
    made, api = pushing(api=Api(odd={2: Response(status)}))
    with pytest.raises(BadResponse):
        made.run()
    assert made.run().counts == Counts(created=3)
    assert [header(r, "Idempotency-Key") for r in api.asked] == [
        "1-1",
        "1-2",
        "1-2",
        "1-3",
    ]


def test_a_push_of_which_nothing_arrives_is_given_up() -> None:
    made, api = pushing(api=Api(odd={n: Response(404) for n in range(1, 1000)}))
    stored(made, *({"number": str(n)} for n in range(250)))
    run = made.run()
    assert (run.state, run.cause, len(api.asked)) == (
        RunState.FAILED,
        "all_refused",
        100,
    )


def test_a_dry_push_sends_nothing() -> None:
    made, api = pushing()
    effects: list[Effect] = []
    assert made.run(dry_run=True, note=effects.append).counts == Counts(created=3)
    assert [effect.values for effect in effects] == [
        {"number": f"n{n}", "name": f"Name {n}"} for n in range(1, 4)
    ]
    assert list(made.runner.preview("contacts", 2)) == effects[:2]
    assert api.asked == []


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("fault", [Killed, StorageUnavailable])
def test_whatever_ends_a_push_at_any_step_the_next_run_completes_it_without_doubles(
    fault: type[BaseException], *, after: bool
) -> None:
    for made, api, turn in turns(PUSH, "POST"):
        ended = False
        with suppress(Killed, StorageUnavailable):
            list(faulty(made, turn, fault(), after=after).run("contacts", "ada"))
            ended = True
        if ended:
            assert turn > 10
            return
        made.kill()
        made.run()
        sent = [json.loads(bytes(request.body))["id"] for request in api.asked]  # type: ignore[arg-type]
        assert set(sent) == {"1", "2", "3"}
        # an API that heeds the key has each record once
        if made.runs.newest(9)[0].id == "1":
            assert len({header(r, "Idempotency-Key") for r in api.asked}) == 3
            assert len(sent) <= 4
    pytest.fail("the run never got through")


def test_a_page_that_could_not_be_committed_is_not_taken_for_kept() -> None:
    made = fake_sync(responses=Api(people(1, 2, 3, 4, 5)))
    # begin, send, upsert, save and the commit; the page after that is the second one.
    runner = faulty(made, 10, StorageUnavailable(), after=False)
    with pytest.raises(StorageUnavailable):
        list(runner.run("contacts", "ada"))
    (run,) = made.runs.newest(9)
    assert (run.state, run.cause) == (RunState.FAILED, "storage_unavailable")
    assert (run.pages, run.counts) == (1, Counts(created=2))
    assert made.numbers() == ["1", "2"]


def test_a_fault_of_our_own_ends_the_run_with_its_place_and_none_of_its_words() -> None:
    made = fake_sync(responses=Api(people(1, 2, 3)))

    def broken(*_arguments: object, **_options: object) -> list[Any]:
        raise ValueError("a-value-of-a-record")

    made.records.upsert = broken  # type: ignore[method-assign]
    with pytest.raises(SyncFailed) as caught:
        made.run()
    assert caught.value.reason == "internal_error"
    assert "ValueError in test_sync_run.py, line" in caught.value.message
    assert "a-value-of-a-record" not in str(caught.value)
    assert caught.value.__cause__ is None
    (kept,) = made.runs.newest(9)
    assert (kept.state, kept.cause) == (RunState.FAILED, "internal_error")


def test_what_another_version_has_begun_counts_from_the_beginning() -> None:
    made = fake_sync(responses=Api(people(1, 2, 3), {2: ConnectionFailed()}))
    with pytest.raises(ConnectionFailed):
        made.run()
    (failed,) = made.runs.newest(9)
    made.memory.rows.runs[failed.id] = replace(failed, digest="another")
    assert made.run().counts == Counts(created=1, unchanged=2)


def test_a_checkpoint_of_version_0_1_is_continued() -> None:
    api = Api(people(1, 2, 3), {2: ConnectionFailed()})
    made = fake_sync(responses=api)
    with pytest.raises(ConnectionFailed):
        made.run()
    (failed,) = made.runs.newest(9)
    assert "line" not in failed.position
    made.memory.rows.runs[failed.id] = replace(
        failed, position={**failed.position, "line": "a digest of its own"}
    )
    done = made.run()
    assert (done.id, done.counts) == (failed.id, Counts(created=3))
    assert len(api.asked) == 4


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ({"target": "person", "field": "login"}, []),
        ({"target": "user", "field": "login"}, [("L018", "fields[2].options.target")]),
        (
            {"target": "person", "field": "password"},
            [("L018", "fields[2].options.field")],
        ),
        ({"target": "person"}, [("L001", "fields[2].options.field")]),
    ],
)
def test_a_lookup_in_what_is_not_open_is_told_before_anything_is_asked(
    options: dict[str, str], found: list[tuple[str, str]]
) -> None:
    owner = FieldMapping("owner", "owner", Transform.LOOKUP, options=options)
    made = fake_sync(replace(PULL, mappings=(*ROWS, owner)))
    assert [(one.id, one.field) for one in made.runner.check("contacts")] == found
    if found:
        with pytest.raises(ConfigError):
            made.run()
        assert made.runs.newest(9) == []


@pytest.mark.parametrize(
    "responses", [Api(people(1)), Api(odd={1: ConnectionFailed()})]
)
def test_a_run_ends_by_the_clock_of_the_database_like_it_began(responses: Api) -> None:
    made = fake_sync(responses=responses)
    late_clock = FakeClock(made.world.clock.now() - 3600)
    runner = SyncRunner(replace(made.ports, clock=late_clock))
    with suppress(ConnectionFailed):
        list(runner.run("contacts", "ada"))
    (ended,) = made.runs.newest(9)
    assert ended.ended_at == ended.started_at == made.world.clock.now()


def test_a_run_stops_when_its_name_belongs_to_another_configuration() -> None:
    api = Api(people(1, 2, 3))
    fake = fake_sync(PULL, api)
    registry = fake.world.ports.configurations
    get = registry.get

    def get_renamed(name: str) -> Configuration:
        found = get(name)
        return replace(found, record="other") if api.asked else found

    registry.get = get_renamed  # type: ignore[method-assign]
    with pytest.raises(EditConflict):
        fake.run()
    assert len(api.asked) == 1
