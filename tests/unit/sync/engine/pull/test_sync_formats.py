"""Pulls whose responses are CSV, JSON Lines or XML: pages, batches, kills, secrets."""

import gzip
import io
import json
import zipfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from outkey.foundation.core.errors import OutkeyError, SyncFailed
from outkey.sending.core.request.message import Request, Response, ResponseHeaders
from outkey.sync.core.formats import rows
from outkey.sync.core.line.line import (
    Incremental,
    Pagination,
    Paging,
    RecordFormat,
    ResponseFormat,
    Sync,
)
from outkey.sync.core.mapping.records import WriteOutcome
from outkey.sync.core.paging import response
from outkey.sync.core.run.effects import Effect
from outkey.sync.core.run.run import Counts
from unit.sync.engine.pull.test_sync_run import (
    PAGES,
    PULL,
    FakeSync,
    Killed,
    fake_sync,
)

CSV = ResponseFormat(RecordFormat.CSV)
JSONL = ResponseFormat(RecordFormat.JSONL)
XML = ResponseFormat(RecordFormat.XML)
WHOLE = replace(PULL, pagination=Pagination())
AS_CSV = replace(WHOLE, response=CSV)
TOKEN = "sekret-canary-4711"


@pytest.fixture(autouse=True)
def _small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "BATCH", 2)


def ok(body: bytes, *headers: tuple[str, str]) -> Response:
    return Response(200, ResponseHeaders(headers), body)


def table(*numbers: int, name: str = "Name") -> bytes:
    return b"id,name\n" + b"".join(
        b"%d,%s %d\n" % (n, name.encode(), n) for n in numbers
    )


def lines(*numbers: int) -> bytes:
    return b"".join(b'{"id": %d, "name": "Name %d"}\n' % (n, n) for n in numbers)


def elements(*numbers: int) -> bytes:
    items = "".join(f"<p><id>{n}</id><name>Name {n}</name></p>" for n in numbers)
    return f"<people>{items}</people>".encode()


def zipped(name: str, content: bytes) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, content)
        archive.writestr("read.me", b"hello")
    return target.getvalue()


def pulled(sync: Sync, body: bytes, **settings: object) -> FakeSync:
    return fake_sync(sync, lambda _: ok(body), **settings)  # type: ignore[arg-type]


WITH_PEOPLE = {"response": XML, "records": "people.p"}


@pytest.mark.parametrize(
    ("settings", "body"),
    [
        ({"response": CSV}, table(1, 2, 3, 4, 5)),
        ({"response": CSV}, gzip.compress(table(1, 2, 3, 4, 5))),
        (
            {"response": replace(CSV, delimiter="tab")},
            table(1, 2, 3, 4, 5).replace(b",", b"\t"),
        ),
        (
            {"response": replace(CSV, file="people-*.csv")},
            zipped("2026/people-7.csv", table(1, 2, 3, 4, 5)),
        ),
        ({"response": JSONL}, lines(1, 2, 3, 4, 5)),
        (WITH_PEOPLE, elements(1, 2, 3, 4, 5)),
        (WITH_PEOPLE, gzip.compress(elements(1, 2, 3, 4, 5))),
    ],
)
def test_a_response_of_any_format_brings_its_records(
    settings: dict[str, Any], body: bytes
) -> None:
    made = pulled(replace(WHOLE, **settings), body)
    run = made.run()
    assert (run.counts, run.pages, run.position) == (Counts(created=5), 1, {})
    assert made.numbers() == ["1", "2", "3", "4", "5"]
    assert made.run(dry_run=True).counts == Counts(unchanged=5)


def test_a_single_element_of_xml_is_a_record_too() -> None:
    made = pulled(replace(WHOLE, **WITH_PEOPLE), elements(7))
    assert made.run().counts == Counts(created=1)


@pytest.mark.parametrize("records", ["people.p", '"people"."p"', "people.p.q"])
def test_an_element_without_records_in_it_is_none(records: str) -> None:
    sync = replace(WHOLE, response=XML, records=records)
    body = b"<people><p/></people>" if records.endswith("q") else b"<people/>"
    assert pulled(sync, body).run().counts == Counts()


@pytest.mark.parametrize("records", ["persons.p", "persons.p.q", "people", "sort(p)"])
def test_an_element_that_is_not_there_is_no_list(records: str) -> None:
    made = pulled(replace(WHOLE, response=XML, records=records), b"<people/>")
    with pytest.raises(SyncFailed) as caught:
        made.run()
    assert caught.value.reason in {"not_a_list", "expression"}


def test_rows_are_written_some_at_a_time_each_with_a_checkpoint() -> None:
    made = pulled(AS_CSV, table(1, 2, 3, 4, 5))
    seen = [
        (run.counts.created, run.position.get("written"), run.expected)
        for run in made.runner.run("contacts", "ada")
    ]
    assert seen == [(0, None, 0), (2, 2, 5), (4, 4, 5), (5, 0, 5), (5, None, 5)]


def killed_at(made: FakeSync, monkeypatch: pytest.MonkeyPatch, upserts: int) -> None:
    """Run a line, and kill the run at one of its writes."""
    upsert = made.records.upsert
    calls: list[None] = []

    def upsert_or_die(*args: Any, **options: Any) -> object:  # noqa: ANN401 - of the method
        calls.append(None)
        if len(calls) == upserts:
            raise Killed
        return upsert(*args, **options)

    with monkeypatch.context() as patched:
        patched.setattr(made.records, "upsert", upsert_or_die)
        with suppress(Killed):
            made.run()
    made.kill()


@pytest.mark.parametrize("upserts", [1, 2, 3])
@pytest.mark.parametrize(("format_", "body"), [(CSV, table), (JSONL, lines)])
def test_a_killed_run_continues_behind_what_it_has_written(
    format_: ResponseFormat,
    body: Callable[..., bytes],
    upserts: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = pulled(replace(WHOLE, response=format_), body(1, 2, 3, 4, 5))
    killed_at(made, monkeypatch, upserts)
    run = made.run()
    assert run.counts == Counts(created=5)
    assert made.numbers() == ["1", "2", "3", "4", "5"]


def test_a_killed_run_reads_a_response_that_has_changed_from_its_start(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bodies = [table(1, 2, 3, 4, 5), table(0, 1, 2, 3, 4, 5)]
    made = fake_sync(AS_CSV, lambda _: ok(bodies.pop(0)))
    killed_at(made, monkeypatch, 2)
    assert made.run().counts == Counts(created=4 + 2, unchanged=2)
    assert made.numbers() == ["0", "1", "2", "3", "4", "5"]


def test_a_killed_run_of_pages_continues_in_the_middle_of_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    requests: list[str] = []

    def respond(request: Request) -> Response:
        page = int(parse_qs(urlsplit(request.target).query)["page"][0])
        requests.append(str(page))
        return ok(table(*([], [1, 2, 3], [4, 5, 6], [])[page]))

    paged = replace(AS_CSV, pagination=PAGES)
    made = fake_sync(paged, respond)
    killed_at(made, monkeypatch, 4)  # the second batch of the second page
    run = made.run()
    assert (run.counts, run.pages) == (Counts(created=6), 3)
    assert requests == ["1", "2", "2", "3"]


def test_rows_have_pages_by_link() -> None:
    def respond(request: Request) -> Response:
        if request.target == "/contacts":
            return ok(table(1, 2, 3), ("Link", '</contacts?after=3>; rel="next"'))
        return ok(table(4))

    made = fake_sync(replace(AS_CSV, pagination=Pagination(Paging.LINK)), respond)
    assert made.run().counts == Counts(created=4)


def test_rows_have_pages_by_offset_of_several_requests() -> None:
    def respond(request: Request) -> Response:
        offset = int(parse_qs(urlsplit(request.target).query)["offset"][0])
        return ok(table(*range(offset, min(offset + 2, 7))))

    paging = Pagination(Paging.OFFSET, 2, position_parameter="offset")
    made = fake_sync(replace(AS_CSV, pagination=paging, parallel=3), respond)
    assert made.run().counts == Counts(created=7)


def test_a_page_of_rows_that_comes_again_ends_the_run() -> None:
    made = pulled(replace(AS_CSV, pagination=PAGES), table(1, 2))
    with pytest.raises(SyncFailed) as caught:
        made.run()
    assert caught.value.reason == "page_repeated"


def test_an_empty_page_before_others_is_a_gap() -> None:
    def respond(request: Request) -> Response:
        page = int(parse_qs(urlsplit(request.target).query)["page"][0])
        return ok(table(*([], [1, 2], [3, 4], [], [5, 6])[min(page, 4)]))

    made = fake_sync(replace(AS_CSV, pagination=PAGES, parallel=4), respond)
    with pytest.raises(SyncFailed) as caught:
        made.run()
    assert caught.value.reason == "gap"


def test_xml_has_a_cursor_in_its_body() -> None:
    def respond(request: Request) -> Response:
        after = parse_qs(urlsplit(request.target).query).get("after")
        people = elements(3) if after else elements(1, 2)
        following = b"" if after else b"<next>2</next>"
        return ok(b"<r>" + people + following + b"</r>")

    cursor = Pagination(Paging.CURSOR, position_parameter="after", cursor="r.next")
    sync = replace(PULL, response=XML, records="r.people.p", pagination=cursor)
    made = fake_sync(sync, respond)
    assert made.run().counts == Counts(created=3)


@pytest.mark.parametrize(
    ("format_", "body", "reason"),
    [
        (CSV, table(1, 2, 3, 4) + b'5,"', "not_csv"),
        (CSV, table(1, 2, 3, 4) + b"5,\xff", "bad_charset"),
        (CSV, gzip.compress(table(*range(99)))[:-4], "bad_archive"),
        (JSONL, lines(1, 2, 3, 4) + b"{", "not_jsonl"),
        (XML, elements(1, 2) + b"<", "not_xml"),
        (XML, b"<!DOCTYPE a>" + elements(1), "unsafe_xml"),
        (CSV, gzip.compress(b"id,name\n" + b"1,x\n" * 2**19), "response_too_large"),
        (XML, gzip.compress(b" " * 2**21), "response_too_large"),
    ],
)
def test_nothing_is_written_of_a_response_that_is_unreadable_at_its_end(
    format_: ResponseFormat, body: bytes, reason: str
) -> None:
    sync = replace(WHOLE, response=format_)
    made = pulled(sync, body, limits__response_mebibytes=1)
    with pytest.raises(OutkeyError) as caught:
        made.run()
    assert (caught.value.reason or caught.value.code) == reason
    assert made.records.rows("contact") == []
    assert made.runs.newest(1)[0].cause == reason


def test_a_row_of_another_length_is_rejected_and_the_others_are_written() -> None:
    made = pulled(AS_CSV, table(1, 2) + b"3\n4,Name 4,more\n5,Name 5\n")
    effects: list[Effect] = []
    run = made.run(note=effects.append)
    assert run.counts == Counts(created=3, failed=2)
    assert made.numbers() == ["1", "2", "5"]
    rejected = made.runs.rejected(run.id, 9)
    assert [(item.number, item.reason) for item in rejected] == [
        (3, "row_length"),
        (4, "row_length"),
    ]


def test_a_row_with_a_nul_is_rejected_and_the_others_are_written() -> None:
    made = pulled(AS_CSV, table(1) + b"2,Na\0me\n3,Name 3\n")
    run = made.run()
    assert run.counts == Counts(created=2, failed=1)
    (item,) = made.runs.rejected(run.id, 9)
    assert item.reason == "unstorable_character"


@pytest.mark.parametrize("format_", [CSV, JSONL, XML])
def test_a_record_that_repeats_a_secret_is_rejected_in_every_format(
    format_: ResponseFormat,
) -> None:
    people = [{"id": str(n), "name": f"Name {n}"} for n in range(1, 6)]
    people[3]["name"] = f"I {TOKEN}"
    body = b"id,name\n" + "".join(f"{p['id']},{p['name']}\n" for p in people).encode()
    sync = replace(WHOLE, response=format_)
    if format_ is JSONL:
        body = "\n".join(map(json.dumps, people)).encode()
    if format_ is XML:
        items = "".join(
            f"<p><id>{p['id']}</id><name>{p['name']}</name></p>" for p in people
        )
        body = f"<people>{items}</people>".encode()
        sync = replace(sync, records="people.p")
    made = pulled(sync, body, token=TOKEN)
    effects: list[Effect] = []
    run = made.run(note=effects.append)
    assert run.counts == Counts(created=4, failed=1)
    (item,) = made.runs.rejected(run.id, 9)
    assert item.reason == "secret_in_record"
    assert made.numbers() == ["1", "2", "3", "5"]
    assert TOKEN not in repr((run, item, effects, [one.values for one in effects]))


def test_a_secret_in_one_batch_beside_a_row_of_another_length_is_rejected() -> None:
    made = pulled(AS_CSV, f"id,name\n1\n2,{TOKEN}\n3,x\n".encode(), token=TOKEN)
    run = made.run()
    assert run.counts == Counts(created=1, failed=2)


def test_the_greatest_value_of_a_field_is_that_of_all_batches() -> None:
    body = b"id,name,at\n1,a,2026-01-01\n2,b,2026-01-03\n3\n4,d,2026-01-02\n"
    made = pulled(replace(AS_CSV, incremental=Incremental("since", "at")), body)
    cursors = [run.cursor for run in made.runner.run("contacts", "ada")]
    # The next run requests the rejected row again.
    assert cursors == ["", "2026-01-03", "2026-01-03", ""]


@pytest.mark.parametrize("format_", [CSV, JSONL, XML])
def test_no_content_is_no_records(format_: ResponseFormat) -> None:
    made = fake_sync(replace(WHOLE, response=format_), lambda _: Response(204))
    assert made.run().counts == Counts()


def test_a_run_takes_no_more_records_than_its_line_permits() -> None:
    made = pulled(replace(AS_CSV, max_records=3), table(1, 2, 3, 4, 5))
    with pytest.raises(SyncFailed) as caught:
        made.run()
    assert caught.value.reason == "run_limit"
    assert made.numbers() == ["1", "2"]


def test_a_preview_shows_the_first_records_of_a_table() -> None:
    made = pulled(AS_CSV, table(1, 2, 3, 4, 5))
    effects = made.runner.preview("contacts", 2)
    assert [effect.values["number"] for effect in effects] == ["1", "2"]
    assert {effect.outcome for effect in effects} == {WriteOutcome.CREATED}
    assert made.records.rows("contact") == []


def test_more_records_than_a_page_may_have_are_one_response(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(response, "MAX_RECORDS", 3)
    assert pulled(AS_CSV, table(1, 2, 3, 4)).run().counts == Counts(created=4)
    made = pulled(replace(WHOLE, **WITH_PEOPLE), elements(1, 2, 3, 4))
    with pytest.raises(SyncFailed) as caught:
        made.run()
    assert caught.value.reason == "too_many_records"
