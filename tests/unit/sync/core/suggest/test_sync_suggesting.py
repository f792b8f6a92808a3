"""Suggesting a line: the one request, its limits, and secrets that come back."""

import json
from collections.abc import Callable
from dataclasses import replace

import pytest

from outkey.foundation.core.errors import (
    BadResponse,
    ConfigError,
    OutkeyError,
    SyncFailed,
)
from outkey.sending.core.configuration.custom_rows import query_row
from outkey.sending.core.request.message import Request, Response
from outkey.sending.core.request.script import SCRIPT_FACT, digest
from outkey.sync.core.line.line import Direction, Pagination, Paging, Sync, SyncLine
from outkey.sync.engine.runs.runner import SyncRunner
from outkey.testing import configuration, fake_gateway
from outkey.testing.fakes.storage import memory_registry
from outkey.testing.fakes.sync import MemorySync
from unit.sync.engine.pull.test_sync_run import (
    FIELDS,
    PULL,
    PUSH,
    FakeSync,
    answer,
    fake_sync,
    people,
)

SECRET = "canary-0123456789abcdef"
Respond = Callable[[Request], Response | OutkeyError]


class Recorder:
    """Returns one response, and remembers the requests."""

    def __init__(self, response: Response | OutkeyError) -> None:
        self.requests: list[Request] = []
        self._response = response

    def __call__(self, request: Request) -> Response | OutkeyError:
        self.requests.append(request)
        return self._response


def with_secret(responses: Respond, **settings: object) -> FakeSync:
    """Return a host whose configuration sends the canary."""
    line = SyncLine("contacts", "acme", "GET", "/contacts")
    made = configuration(authentication_type="bearer", **settings)
    world = fake_gateway(
        responses=responses,
        secrets={"token": SECRET},
        registry=memory_registry([made], [line]),
    )
    memory = MemorySync(world.ports.configurations, FIELDS, world.clock)
    ports = replace(
        fake_sync().ports,
        sender=world.sender,
        configurations=world.ports.configurations,
        models=memory.records,
        runs=memory.runs,
        clock=world.clock,
    )
    return FakeSync(SyncRunner(ports), world, memory, ports)


def test_a_line_that_names_one_call_is_enough() -> None:
    api = Recorder(answer({"data": people(1, 2)}))
    made = fake_sync(None, api, path="/contacts?q=1")
    found = made.runner.suggest("contacts")
    assert (found.records, found.keys) == ("data", ("id",))
    assert found.target == "table:contacts"
    (request,) = api.requests
    assert (request.method, request.target.endswith("/contacts?q=1")) == ("GET", True)
    lines = {event.line for event in made.world.audit.events if hasattr(event, "line")}
    assert lines == {"contacts"}


def test_a_pull_uses_its_query_method_and_body() -> None:
    api = Recorder(answer({"data": people(1, 2)}))
    sync = replace(
        PULL,
        query=(("q", "1"),),
        body='{"page": "{position}", "size": "{size}"}',
        pagination=Pagination(Paging.PAGE, 2),
        target="table:x",
    )
    made = fake_sync(sync, api, method="POST")
    found = made.runner.suggest("contacts")
    (request,) = api.requests
    assert (request.method, request.target.endswith("/contacts?q=1")) == ("POST", True)
    assert json.loads(request.body or b"") == {"page": 1, "size": 2}
    assert (found.pagination, found.target) == (sync.pagination, "table:x")
    assert [field.mapping.host for field in found.fields] == ["id", "name"]


def test_a_model_of_the_host_gets_its_own_names() -> None:
    made = fake_sync(PULL, Recorder(answer(people(1, 2))))
    hosts = [field.mapping.host for field in made.runner.suggest("contacts").fields]
    assert hosts == ["name"]


def test_the_expression_of_the_line_stays_while_it_finds_records() -> None:
    api = Recorder(answer({"a": people(1), "b": people(2, 3)}))
    chosen = fake_sync(replace(PULL, records="a"), api).runner.suggest("contacts")
    assert chosen.records == "a"
    for wrong in ("c", "a[0].id", "length(a)", "max(@)"):
        made = fake_sync(replace(PULL, records=wrong), api)
        assert made.runner.suggest("contacts").records == "b"
    broken = fake_sync(PULL, api)
    broken.use(replace(PULL, records="a["))
    assert broken.runner.suggest("contacts").records == "b"


@pytest.mark.parametrize(
    ("sync", "method", "field"),
    [
        (PUSH, "POST", "direction"),
        (None, "DELETE", "method"),
        (None, "POST", "method"),
        (PULL, "PUT", "method"),
    ],
)
def test_what_may_change_something_is_not_sent(
    sync: Sync | None, method: str, field: str
) -> None:
    api = Recorder(answer([]))
    made = fake_sync(sync, api, method=method)
    with pytest.raises(ConfigError) as refused:
        made.runner.suggest("contacts")
    assert (refused.value.field, api.requests) == (field, [])


def test_exactly_one_request_is_sent_even_if_it_fails() -> None:
    api = Recorder(answer({"error": "busy"}, status=503))
    made = with_secret(api, limits__retries=3)
    with pytest.raises(BadResponse):
        made.runner.suggest("contacts")
    assert len(api.requests) == 1


def test_a_response_without_content_has_an_empty_list() -> None:
    made = fake_sync(None, Recorder(answer(None, status=204)))
    found = made.runner.suggest("contacts")
    assert (found.records, found.fields) == ("@", ())


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"<p>Please log in</p>", "not_json"),
        (b'{"data": [{"x": NaN}]}', "not_json"),
        (b"[" * 100_000, "too_deep"),
        (b"[" * 1000 + b"]" * 1000, ""),
        (b'{"a":' * 900 + b"1" + b"}" * 900, ""),
        (b"[" + b"1," * 300_000 + b"1]", "too_many_values"),
        (b'"text"', "not_a_list"),
    ],
)
def test_a_hostile_response_is_a_plain_error_or_a_suggestion(
    body: bytes, reason: str
) -> None:
    response = replace(answer(None), body=body)
    made = fake_sync(None, Recorder(response))
    try:
        made.runner.suggest("contacts")
    except SyncFailed as failed:
        assert failed.reason == (reason or failed.reason)
    else:
        assert reason == ""


def test_a_response_is_limited_as_in_a_preview() -> None:
    large = replace(answer(None), body=b'["' + b"x" * 5 * 1024 * 1024 + b'"]')
    made = fake_sync(None, Recorder(large))
    with pytest.raises(OutkeyError, match="4 MiB") as refused:
        made.runner.suggest("contacts")
    assert refused.value.code == "response_too_large"
    small = with_secret(Recorder(large), limits__response_mebibytes=1)
    with pytest.raises(OutkeyError) as refused:
        small.runner.suggest("contacts")
    assert refused.value.code == "response_too_large"


def test_a_configuration_with_a_smaller_limit_keeps_it() -> None:
    made = with_secret(Recorder(answer(people(1))), limits__response_mebibytes=1)
    assert made.runner.suggest("contacts").keys == ("id",)


# ── secrets that come back ────────────────────────────────────────────────────────────


def texts_of(made: FakeSync) -> str:
    found = made.runner.suggest("contacts")
    line = made.world.ports.configurations.line("contacts")
    return json.dumps(found.facts()) + repr(found) + repr(found.completed_line(line))


@pytest.mark.parametrize(
    "record",
    [
        {"id": 1, "token": SECRET},
        {"id": 1, SECRET: "x"},
        {"id": 1, "headers": {"Authorization": f"Bearer {SECRET}"}},
        {"id": 1, "all": [SECRET]},
    ],
)
def test_a_secret_that_comes_back_is_not_shown_and_is_pointed_out(
    record: dict[str, object],
) -> None:
    made = with_secret(Recorder(answer([record, {"id": 2, "name": "x"}])))
    said = texts_of(made)
    assert SECRET not in said
    assert "repeats a secret of the configuration" in said


def test_a_next_url_that_repeats_the_key_in_the_query_is_still_recognised() -> None:
    url = f"/contacts?key={SECRET}&after=2"
    deep = json.loads('{"a":' * 40 + "1" + "}" * 40)
    api = Recorder(answer({"items": people(1, 2), "next": url, "deep": deep}))
    made = with_secret(api, query=(query_row("key", None, secret=True, place=""),))
    made.world.secrets.values["query:key"] = SECRET
    found = made.runner.suggest("contacts")
    assert found.pagination.cursor == "next"
    assert "is the URL of the next page" in found.pagination_why
    assert not any("repeats a secret" in note for note in found.notes)


def test_a_secret_in_two_pieces_is_not_put_together() -> None:
    half = len(SECRET) // 2
    halves = {"id": 1, SECRET[:half]: 1, SECRET[half:]: 2}
    made = with_secret(Recorder(answer([halves])))
    with pytest.raises(SyncFailed, match="repeats a secret") as refused:
        made.runner.suggest("contacts")
    assert SECRET[:half] not in f"{refused.value.message}{refused.value.hint}"


def test_a_sample_with_a_script_is_signed_by_the_vouched_one() -> None:
    made = fake_sync(None, Recorder(answer(people(1))))
    registry = made.world.ports.configurations
    script = "def compute_auth_header(sync_line): return {}"
    made.world.secrets.values[SCRIPT_FACT] = digest(script)
    configured = replace(registry.get("acme"), script=script, script_enabled=True)
    registry.put_settings(configured)  # type: ignore[attr-defined]
    made.runner.suggest("contacts")
    assert len(made.world.scripts.calls) == 1


def test_the_direction_of_a_suggested_line_is_pull() -> None:
    made = fake_sync(None, Recorder(answer(people(1, 2))))
    line = made.world.ports.configurations.line("contacts")
    sync = made.runner.suggest("contacts").completed_line(line).sync
    assert sync is not None
    assert sync.direction is Direction.PULL
