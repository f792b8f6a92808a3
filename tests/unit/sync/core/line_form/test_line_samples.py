"""Samples of an unsaved line: one request, no secrets, limited size, posted back."""

import json
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from outkey.foundation.core.errors import ConfigError, OutkeyError
from outkey.sync.core.line.line import Paging, SyncLine
from outkey.sync.core.line_form.form_text import sample_sync
from outkey.sync.core.line_form.sample import (
    MAX_DEPTH,
    MAX_RECORDS,
    MAX_TEXT,
    LineSample,
)
from outkey.sync.engine.forms.unsaved_lines import WithLine
from outkey.sync.engine.runs.runner import SyncRunner
from unit.sync.core.suggest.test_sync_suggesting import SECRET, Recorder, with_secret
from unit.sync.engine.pull.test_sync_run import PUSH, answer, fake_sync, people


def sample_of(document: object) -> LineSample:
    return fake_sync(None, Recorder(answer(document))).runner.sample("contacts")


def read_back(sample: LineSample) -> tuple[dict[str, Any], ...]:
    return LineSample.read(sample.to_json()).records


def test_a_sample_has_records_with_their_place_pages_and_reasons() -> None:
    api = Recorder(answer({"items": people(1, 2), "page": 1, "total_pages": 9}))
    made = fake_sync(None, api, path="/contacts?page=1")
    sample = made.runner.sample("contacts")
    assert len(api.requests) == 1
    assert (sample.records_at, list(sample.records)) == ("items", people(1, 2))
    assert sample.suggestion is not None
    assert sample.suggestion.pagination.kind is Paging.PAGE
    assert sample.suggestion.pagination_why
    assert sample.suggestion.keys == ("id",)


def test_a_line_that_is_not_complete_yet_gets_a_sample() -> None:
    api = Recorder(answer({"a": people(1), "b": people(2, 3)}))
    made = fake_sync(None, api)
    sync = sample_sync('direction = "pull"\nrecords = "a"\nquery = { q = "7" }')
    line = SyncLine("new", "acme", "GET", "/contacts", sync)
    configurations = WithLine(made.world.ports.configurations, line)
    runner = SyncRunner(replace(made.ports, configurations=configurations))
    assert list(runner.sample("new").records) == people(1)
    assert api.requests[0].target.endswith("/contacts?q=7")


def test_a_push_gets_no_sample() -> None:
    made = fake_sync(PUSH, Recorder(answer([])), method="POST")
    with pytest.raises(ConfigError):
        made.runner.sample("contacts")


def test_at_most_twenty_records_are_shown() -> None:
    assert len(sample_of(people(*range(50))).records) == MAX_RECORDS


@pytest.mark.parametrize(
    "record",
    [
        {"id": 1, "token": SECRET},
        {"id": 1, "headers": {"Authorization": f"Bearer {SECRET}"}},
        {"id": 1, "all": [SECRET]},
        {"id": 1, "half": SECRET[:12], "other": [SECRET[12:]], "text": SECRET[::-1]},
    ],
)
def test_a_secret_that_comes_back_is_not_in_a_sample(record: dict[str, Any]) -> None:
    made = with_secret(Recorder(answer([record, {"id": 2, "name": "x"}])))
    try:
        sample = made.runner.sample("contacts")
    except OutkeyError as refused:
        assert SECRET not in str(refused)
    else:
        assert SECRET not in sample.to_json()
        assert {"id": 2, "name": "x"} in sample.records


def test_a_record_that_still_repeats_a_secret_is_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As if the detector had overlooked it in the response."""
    made = with_secret(Recorder(answer([{"id": 1, "note": SECRET}, {"id": 2}])))
    module = "outkey.sync.engine.forms.suggesting"
    monkeypatch.setattr(f"{module}.SecretGuard.look_at", lambda *_, **__: False)
    monkeypatch.setattr(f"{module}.suggest", lambda _sample: NoParts())
    sample = made.runner.sample("contacts")
    assert sample.records == ({"id": 2},)


class NoParts:
    """A suggestion that repeats nothing of the response."""

    def response_parts(self) -> list[object]:
        return []


# ── posted back ──────────────────────────────────────────────────────────────────────


def test_a_sample_comes_back_as_it_was() -> None:
    record = {
        "id": 1,
        "price": Decimal("1.234567890123456789"),
        "tags": ["ä", None, True, {"x": Decimal("1E+5")}],
        'quote"': "</textarea>\n",
    }
    sample = LineSample((record,), "items[?active]")
    again = LineSample.read(sample.to_json())
    assert again == sample
    assert again.suggestion is None


def test_long_deep_and_many_parts_are_shortened() -> None:
    deep: object = "x"
    for _ in range(MAX_DEPTH + 2):
        deep = {"in": deep}
    record = {"text": "x" * 5000, "list": list(range(100)), "deep": deep}
    (short,) = read_back(sample_of([record]))
    assert len(short["text"]) == 2000
    assert short["text"].endswith("…")
    assert len(short["list"]) == 20
    assert '"in": null' in json.dumps(short["deep"])


def test_a_sample_is_never_too_large_to_be_posted_back() -> None:
    large = {f"field {number}": "x" * 1500 for number in range(300)}
    sample = sample_of([large | {"id": number} for number in range(5)])
    assert len(sample.to_json()) <= MAX_TEXT
    assert 0 < len(read_back(sample)) < 5


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        "[]",
        "{}",
        '{"records_at": "@", "records": [1]}',
        '{"records_at": 1, "records": []}',
        '{"records_at": "@", "records": {}}',
        json.dumps({"records_at": "x" * 3000, "records": []}),
        json.dumps({"records_at": "@", "records": [{}] * 21}),
        '{"records_at": "@", "records": [{"x": NaN}]}',
        '{"records_at": "@", "records": [{"x": ' + "9" * 500 + "}]}",
        '{"records_at": "@", "records": [' + '{"x":' * 20 + "1" + "}" * 20 + "]}",
        '{"records_at": "@", "records": [' + "[" * 100_000 + "]}",
        '{"records_at": "@", "records": [{"x": [' + "1," * 60_000 + "1]}]}",
        " " * MAX_TEXT + "{}",
        '{"records_at": "' + "ä" * (MAX_TEXT - 1000) + '", "records": []}',
        '{"records_at": "\ud800", "records": 1}',
    ],
)
def test_a_sample_that_was_changed_on_its_way_is_refused(text: str) -> None:
    with pytest.raises(ConfigError) as refused:
        LineSample.read(text)
    assert refused.value.field == "sample"
