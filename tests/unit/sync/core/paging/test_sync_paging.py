import json
import re
from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outkey.foundation.core.errors import SyncFailed
from outkey.foundation.core.origin import Location, Origin
from outkey.sending.core.request.message import ResponseHeaders
from outkey.sync.core.line.line import Incremental, Pagination, Paging, Sync
from outkey.sync.core.paging import paging
from outkey.sync.core.paging.link_header import next_link
from outkey.sync.core.paging.paging import (
    Page,
    Position,
    is_past_the_end,
    next_position,
    parameters,
    position_of,
)
from outkey.sync.core.paging.request_values import NO_VALUES, RequestValues
from outkey.sync.engine.pull.page_requests import page_body

ORIGIN = Origin("https", "api.acme.example", 443)
HERE = Location(ORIGIN, "/v2/contacts?page=1")
START = Position()


def line(kind: Paging, **values: object) -> Sync:
    made = {
        "size": 2,
        "size_parameter": "per_page",
        "position_parameter": "at",
    } | values
    return Sync(
        pagination=Pagination(kind, **made), query=(("active", "1"), ("active", "2"))
    )


def page(*records: object, cursor: object = None, link: str = "") -> Page:
    headers = ResponseHeaders((("link", link),) if link else ())
    return Page(HERE, headers, records, cursor)


def reason_of(sync: Sync, position: Position, answer: Page) -> str:
    with pytest.raises(SyncFailed) as failed:
        next_position(sync, position, answer)
    assert failed.value.hint
    return failed.value.reason


def test_everything_at_once_has_no_second_page() -> None:
    sync = line(Paging.NONE, size_parameter="")
    assert parameters(sync, START, NO_VALUES) == {"active": ["1", "2"]}
    assert next_position(sync, START, page(1, 2, 3)).ended


@pytest.mark.parametrize(
    ("kind", "first", "second"), [(Paging.PAGE, "1", "2"), (Paging.OFFSET, "0", "2")]
)
def test_numbers_and_offsets_are_sent_with_the_size(
    kind: Paging, first: str, second: str
) -> None:
    sync = line(kind)
    asked = {"active": ["1", "2"], "per_page": ["2"]}
    assert parameters(sync, START, NO_VALUES) == asked | {"at": [first]}
    after = next_position(sync, START, page(1, 2))
    assert parameters(sync, after, NO_VALUES) == asked | {"at": [second]}


def test_pages_may_be_counted_from_zero() -> None:
    sync = line(Paging.PAGE, first=0)
    assert parameters(sync, START, NO_VALUES)["at"] == ["0"]
    assert parameters(sync, next_position(sync, START, page(1, 2)), NO_VALUES)[
        "at"
    ] == ["1"]


def test_the_time_of_the_last_run_is_sent_along_except_to_an_address_of_the_api() -> (
    None
):
    sync = replace(line(Paging.LINK), incremental=Incremental("since", "updated_at"))
    assert parameters(sync, START, RequestValues("2026-01-01"))["since"] == [
        "2026-01-01"
    ]
    assert "since" not in parameters(sync, START, NO_VALUES)
    after = next_position(
        sync, START, page(1, link='</v2/contacts?page=2>; rel="next"')
    )
    assert after.at == "https://api.acme.example/v2/contacts?page=2"
    assert parameters(sync, after, RequestValues("2026-01-01")) == {}


def test_a_short_page_in_the_middle_is_not_the_end() -> None:
    sync = line(Paging.PAGE)
    third = next_position(sync, next_position(sync, START, page(1, 2)), page(3))
    assert (third.at, third.ended) == ("3", False)
    assert next_position(sync, third, page()).ended


def test_a_checkpoint_that_a_later_version_wrote_is_the_beginning() -> None:
    checkpoint = START.as_checkpoint() | {"at": "7"}
    assert position_of(checkpoint).at == "7"
    assert position_of(checkpoint | {"line": "as version 0.1 has it"}).at == "7"
    assert position_of(checkpoint | {"new": 1}) == START


def test_a_short_first_page_may_be_the_greatest_that_the_api_gives() -> None:
    sync = line(Paging.OFFSET, size=100)
    second = next_position(sync, START, page(*range(50)))
    assert (second.at, second.short, second.ended) == ("50", True, False)
    assert not next_position(sync, second, page(*range(50, 90))).ended
    assert next_position(sync, second, page()).ended


@pytest.mark.parametrize(
    ("kind", "pages", "short", "status", "ended"),
    [
        (Paging.PAGE, 1, False, 404, True),  # Django REST framework
        (Paging.PAGE, 1, True, 400, True),  # WordPress
        (Paging.OFFSET, 1, True, 422, True),
        (
            Paging.OFFSET,
            1,
            False,
            400,
            False,
        ),  # a limit of what is handed out, as of a search
        (Paging.PAGE, 0, False, 404, False),
        (Paging.PAGE, 1, True, 500, False),
        (Paging.CURSOR, 1, False, 404, False),
    ],
)
def test_some_apis_refuse_the_page_behind_the_last_one(
    kind: Paging, pages: int, *, short: bool, status: int, ended: bool
) -> None:
    position = replace(START, pages=pages, short=short)
    assert is_past_the_end(line(kind), position, status) is ended


GUIDE = Path(__file__).parents[5] / "docs" / "explanation" / "synchronizing.md"


def statuses_that_end(kind: Paging, *, pages: int, short: bool) -> set[int]:
    position = replace(START, pages=pages, short=short)
    return {
        status
        for status in range(300, 600)
        if is_past_the_end(line(kind), position, status)
    }


def test_the_statuses_that_end_a_run_are_those_of_the_guide() -> None:
    text = GUIDE.read_text(encoding="utf-8")
    table = text.partition("## Where the pages end")[2].partition("\n\nA 404")[0]
    documented: dict[str, set[int]] = {"short": set(), "full": set()}
    for row in table.splitlines():
        if re.match(r"\| \d{3}", row):
            statuses, short, full = row.strip("| ").split(" | ")
            for page_kind, effect in (("short", short), ("full", full)):
                if effect.startswith("the end"):
                    documented[page_kind] |= set(map(int, statuses.split(", ")))
    for kind in (Paging.PAGE, Paging.OFFSET):
        assert statuses_that_end(kind, pages=1, short=True) == documented["short"]
        assert statuses_that_end(kind, pages=1, short=False) == documented["full"]
        assert statuses_that_end(kind, pages=0, short=False) == set()
    for kind in (Paging.CURSOR, Paging.LINK, Paging.NONE):
        assert statuses_that_end(kind, pages=1, short=True) == set()


def test_the_same_full_page_again_means_that_the_number_is_not_heeded() -> None:
    sync = line(Paging.PAGE)
    second = next_position(sync, START, page(1, 2))
    assert reason_of(sync, second, page(1, 2)) == "page_repeated"


def test_the_same_short_page_again_is_the_last_one() -> None:
    sync = line(Paging.PAGE)
    second = next_position(sync, START, page(1))
    assert next_position(sync, second, page(1)).ended


def test_there_is_an_end_to_pages() -> None:
    full = replace(START, pages=paging.MAX_PAGES)
    with pytest.raises(SyncFailed) as failed:
        next_position(line(Paging.PAGE), full, page(1, 2))
    assert failed.value.reason == "too_many_pages"


@pytest.mark.parametrize("nothing", [None, "", False, {}, []])
def test_without_a_cursor_it_ends(nothing: object) -> None:
    assert next_position(line(Paging.CURSOR), START, page(1, cursor=nothing)).ended


@pytest.mark.parametrize("cursor", ["abc", 7, "/9j/4AA="])
def test_a_cursor_is_sent_back_as_it_came(cursor: object) -> None:
    sync = line(Paging.CURSOR)
    assert "at" not in parameters(sync, START, NO_VALUES)
    after = next_position(sync, START, page(1, cursor=cursor))
    assert parameters(sync, after, NO_VALUES)["at"] == [str(cursor)]


@pytest.mark.parametrize(
    ("parameter", "cursor"),
    [
        ("at", "https://api.acme.example/v2/contacts?c=9"),
        ("", "https://api.acme.example/v2/contacts?c=9"),
        ("", "/v2/contacts?c=9"),
        ("", "?c=9"),
    ],
)
def test_a_cursor_may_be_an_address(parameter: str, cursor: str) -> None:
    sync = line(Paging.CURSOR, position_parameter=parameter)
    after = next_position(sync, START, page(1, cursor=cursor))
    assert (after.at, after.is_address) == (
        "https://api.acme.example/v2/contacts?c=9",
        True,
    )


@pytest.mark.parametrize("cursor", [True, 1.5, "x" * 9000, ["x" * 9000]])
def test_a_cursor_that_is_none_is_refused(cursor: object) -> None:
    assert reason_of(line(Paging.CURSOR), START, page(1, cursor=cursor)) == "bad_cursor"


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("https://evil.example/contacts", "foreign_next"),
        ("//evil.example/contacts", "foreign_next"),
        ("http://api.acme.example/contacts", "foreign_next"),
        ("https://api.acme.example:8443/contacts", "foreign_next"),
        ("https://user@api.acme.example/contacts", "bad_cursor"),
        ("https://api.acme.example\\@evil.example/", "bad_cursor"),
        ("ftp://api.acme.example/contacts", "bad_cursor"),
        ("https://[", "bad_cursor"),
    ],
)
def test_the_next_page_stays_at_the_origin(address: str, reason: str) -> None:
    assert (
        reason_of(line(Paging.LINK), START, page(1, link=f"<{address}>; rel=next"))
        == reason
    )


@pytest.mark.parametrize("length", [1, 2, 3, 7, 50])
def test_cursors_that_walk_in_a_circle_are_found(length: int) -> None:
    sync, position = line(Paging.CURSOR), START
    for number in count():
        assert number < 4 * length + 8
        answer = page(number, cursor=f"cursor-{number % length}")
        try:
            position = next_position(sync, position, answer)
        except SyncFailed as failed:
            assert failed.reason == "cursor_loop"
            return


def test_ten_thousand_different_cursors_are_no_loop_and_no_bigger_checkpoint() -> None:
    sync, position = line(Paging.CURSOR), START
    for number in range(10_000):
        position = next_position(sync, position, page(number, cursor=f"c{number}"))
    assert len(json.dumps(position.as_checkpoint())) < 300


def test_a_position_survives_a_checkpoint() -> None:
    position = next_position(line(Paging.CURSOR), START, page(1, cursor="abc"))
    checkpoint = json.loads(json.dumps(position.as_checkpoint()))
    assert position_of(checkpoint) == position
    assert position_of({}) == START


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ('<https://a.example/?p=2>; rel="next"', "https://a.example/?p=2"),
        ('<a>; rel="prev", <b>; rel="next", <c>; rel="last"', "b"),
        ('<a,b;c>; title="x, <y>; rel=next"; rel="prev next"', "a,b;c"),
        ('<a>; title="say \\"next\\", <b>; rel=next"; rel=last', None),
        ("<a>;rel=NEXT", "a"),
        ("< a > ; REL = next ;", "a"),
        ("<a>; rel=last; rel=next", None),  # of two, the first counts
        ('<a>; rel="next"; anchor="#foo"', None),  # it speaks of another page
        ("<a>; nofollow; rel=next", "a"),
        (" , ,<a>; rel=next", "a"),
        ("<a>; rel=nextish", None),
        ("<a>", None),
        ("a; rel=next", None),
        ('<a>; rel="next', None),
        ("", None),
        ("<>; rel=next", ""),
    ],
)
def test_the_link_header_is_read_as_the_standard_says(
    value: str, found: str | None
) -> None:
    assert next_link([value]) == found


def test_links_may_stand_in_several_headers() -> None:
    assert next_link(["<a>; rel=prev", "<b>; rel=next"]) == "b"


@given(st.text(alphabet='<>;,="\\ relnxta', max_size=200))
def test_no_link_header_breaks_the_reader(value: str) -> None:
    found = next_link([value])
    assert found is None or ("<" in value and found in value)


@pytest.mark.parametrize("filler", [" ", "; ", ";a ", ';a="', "<", ",", "\\"])
def test_a_link_header_made_to_keep_us_busy_is_read_at_once(filler: str) -> None:
    assert next_link(["<a>" + filler * 30_000 + "!"]) is None


@pytest.mark.parametrize(
    ("kind", "first"), [(Paging.OFFSET, 0), (Paging.PAGE, 1), (Paging.CURSOR, None)]
)
def test_the_first_page_of_a_body_has_its_number_or_no_cursor(
    kind: Paging, first: object
) -> None:
    sync = Sync(body='{"from": "{position}"}', pagination=Pagination(kind))
    assert page_body(sync, Position(), NO_VALUES) == {"from": first}
