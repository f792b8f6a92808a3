"""Activity: one row for a request, one for a run, and the changes of users."""

from collections.abc import Collection, Sequence

import pytest

from outkey.administration.engine.watching import activity
from outkey.administration.engine.watching.activity import (
    Activity,
    ActivityFilter,
    RequestGroup,
    RequestPage,
    RunSpan,
    SentRequest,
)
from outkey.sending.core.audit import chain
from outkey.sending.core.audit.events import Tag
from outkey.testing import MemoryAuditRows

EVERYTHING = ActivityFilter()


class Recorder:
    """An audit to which a test adds records, one second after the other."""

    def __init__(self) -> None:
        self.rows = MemoryAuditRows()
        self.activity = Activity(self.rows)
        self._attempts = 0

    def add(self, tag: Tag, **facts: object) -> None:
        at = (len(self.rows.rows) + 1) * 1000
        record = {"at": at, "tag": tag, "configuration": "shop", **facts}
        body = chain.canonical(record)
        label = chain.label_of(record)
        self.rows.append(list(chain.RowCodes(b"k" * 32, "k.a").chain([(body, label)])))

    def begin(self, line: str = "", path: str = "/orders", **facts: object) -> str:
        self._attempts += 1
        attempt = f"a{self._attempts}"
        self.add(
            Tag.SEND_INTENT,
            attempt=attempt,
            line=line,
            method="GET",
            origin="https://shop.example",
            path=path,
            retry=0,
            **facts,
        )
        return attempt

    def end(self, attempt: str, status: int = 200, outcome: str = "ok") -> None:
        self.add(
            Tag.SEND_OUTCOME,
            attempt=attempt,
            status=status,
            outcome=outcome,
            duration_ms=7,
        )

    def send(self, line: str = "", status: int = 200, outcome: str = "ok") -> None:
        self.end(self.begin(line), status, outcome)

    def requests(
        self,
        chosen: ActivityFilter = EVERYTHING,
        *spans: RunSpan,
        limit: int = 50,
        before: int = 0,
    ) -> RequestPage:
        def runs(
            lines: Collection[str], first: float, last: float
        ) -> Sequence[RunSpan]:
            assert first <= last
            return [span for span in spans if span.line in lines]

        return self.activity.requests(chosen, limit, runs, before=before)


@pytest.fixture
def recorder() -> Recorder:
    return Recorder()


def statuses(page: RequestPage) -> list[int]:
    return [item.status for item in page.items if isinstance(item, SentRequest)]


def test_intent_and_outcome_are_one_row(recorder: Recorder) -> None:
    recorder.send(status=404, outcome="not_found")
    assert recorder.requests() == RequestPage(
        [
            SentRequest(
                id=2,
                at=1.0,
                attempt="a1",
                configuration="shop",
                method="GET",
                target="https://shop.example/orders",
                status=404,
                outcome="not_found",
                duration_ms=7,
            )
        ],
        older=0,
    )


def test_requests_that_overlap_are_told_apart(recorder: Recorder) -> None:
    first = recorder.begin(path="/first")
    second = recorder.begin(path="/second")
    recorder.end(first, 200)
    recorder.end(second, 500, "server_error")
    rows = [
        (item.target[-7:], item.status)
        for item in recorder.requests().items
        if isinstance(item, SentRequest)
    ]
    assert rows == [("/second", 500), ("e/first", 200)]


def test_a_request_without_an_outcome_is_listed_without_one(
    recorder: Recorder,
) -> None:
    recorder.begin()
    (item,) = recorder.requests().items
    assert isinstance(item, SentRequest)
    assert (item.outcome, item.status, item.duration_ms) == ("", 0, None)


def test_a_refusal_is_a_row_of_its_own(recorder: Recorder) -> None:
    recorder.add(Tag.SEND_REFUSED, attempt="", line="orders", code="egress_denied")
    (item,) = recorder.requests().items
    assert isinstance(item, SentRequest)
    assert item.is_refused
    assert (item.outcome, item.line, item.method) == ("egress_denied", "orders", "")


def test_a_token_request_is_marked(recorder: Recorder) -> None:
    recorder.add(Tag.TOKEN_INTENT, attempt="t", method="POST", retry=0)
    recorder.add(Tag.TOKEN_OUTCOME, attempt="t", status=200, outcome="ok")
    (item,) = recorder.requests().items
    assert isinstance(item, SentRequest)
    assert (item.is_token, item.method, item.status) == (True, "POST", 200)


def test_the_requests_of_a_run_are_one_row(recorder: Recorder) -> None:
    recorder.send("orders")  # 1 s, before the run
    recorder.send("orders")  # 3 s
    recorder.send("orders", 500, "server_error")  # 5 s
    recorder.send()  # by hand, at the same time
    recorder.send("orders")  # 9 s
    span = RunSpan("4", "orders", started=2.0, ended=9.5, actor="ann")
    items = recorder.requests(EVERYTHING, span).items
    group, by_hand, before = items
    assert isinstance(group, RequestGroup)
    assert group.run == span
    assert group.outcomes() == [("200", 2), ("500", 1)]
    assert group.targets() == [("GET https://shop.example/orders", 3)]
    assert group.duration == 6.0
    assert isinstance(by_hand, SentRequest)
    assert isinstance(before, SentRequest)
    assert before.line == "orders"


def test_a_run_that_has_not_ended_takes_all_its_requests(recorder: Recorder) -> None:
    recorder.send("orders")
    recorder.begin("orders")
    (group,) = recorder.requests(EVERYTHING, RunSpan("4", "orders", 0.5, None)).items
    assert isinstance(group, RequestGroup)
    assert group.outcomes() == [("?", 1), ("200", 1)]


def test_pages_follow_each_other_without_gap_and_repetition(
    recorder: Recorder,
) -> None:
    for status in range(200, 210):
        recorder.send(status=status)
    page = recorder.requests(limit=4)
    pages = [statuses(page)]
    while page.older:
        page = recorder.requests(limit=4, before=page.older)
        pages.append(statuses(page))
    assert pages == [[209, 208, 207, 206], [205, 204, 203, 202], [201, 200]]


def test_a_request_across_two_pages_is_listed_once_and_complete(
    recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(activity, "WINDOW", 3)
    monkeypatch.setattr(activity, "MAX_WINDOWS", 1)
    recorder.send(status=201)
    long = recorder.begin()
    recorder.send(status=202)
    recorder.end(long, 203)
    page = recorder.requests()
    assert statuses(page) == [203, 202]
    assert all(
        item.method == "GET" for item in page.items if isinstance(item, SentRequest)
    )
    assert statuses(recorder.requests(before=page.older)) == [201]


def test_a_long_run_fills_a_page_up_to_the_bound(
    recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(activity, "WINDOW", 4)
    for _ in range(10):
        recorder.send("orders")
    span = RunSpan("4", "orders", 0.0, None)
    page = recorder.requests(EVERYTHING, span)
    (group,) = page.items
    assert isinstance(group, RequestGroup)
    assert len(group.requests) == 6
    (rest,) = recorder.requests(EVERYTHING, span, before=page.older).items
    assert isinstance(rest, RequestGroup)
    assert len(rest.requests) == 4


def test_failures_are_found_among_many_requests(
    recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(activity, "NEAR", 2)
    first = recorder.begin(path="/slow")
    for _ in range(5):
        recorder.send()
    recorder.end(first, 0, "timeout")
    recorder.send(status=401, outcome="unauthorized")
    recorder.add(Tag.SEND_REFUSED, attempt="", code="egress_denied")
    failures = recorder.requests(ActivityFilter(outcome=chain.FAILURE))
    rows = [
        (item.outcome, item.target.removeprefix("https://shop.example"))
        for item in failures.items
        if isinstance(item, SentRequest)
    ]
    assert rows == [
        ("egress_denied", ""),
        ("unauthorized", "/orders"),
        ("timeout", "/slow"),
    ]
    (only,) = recorder.requests(ActivityFilter(outcome="timeout")).items
    assert isinstance(only, SentRequest)
    assert only.outcome == "timeout"
    assert len(recorder.requests(ActivityFilter(outcome="ok")).items) == 5


def test_an_outcome_whose_intent_was_pruned_is_listed_without_it(
    recorder: Recorder,
) -> None:
    recorder.end("long ago", 500, "server_error")
    for chosen in (EVERYTHING, ActivityFilter(outcome=chain.FAILURE)):
        (item,) = recorder.requests(chosen).items
        assert isinstance(item, SentRequest)
        assert (item.status, item.method) == (500, "")


def test_failures_are_paged(recorder: Recorder) -> None:
    for status in range(500, 507):
        recorder.send(status=status, outcome="server_error")
    chosen = ActivityFilter(outcome=chain.FAILURE, configuration="shop")
    page = recorder.requests(chosen, limit=3)
    assert statuses(page) == [506, 505, 504]
    page = recorder.requests(chosen, limit=3, before=page.older)
    assert statuses(page) == [503, 502, 501]
    page = recorder.requests(chosen, limit=3, before=page.older)
    assert (statuses(page), page.older) == ([500], 0)


def test_requests_are_filtered_by_configuration_and_time(recorder: Recorder) -> None:
    recorder.send(status=201)  # 1 and 2 s
    recorder.send(status=202)  # 3 and 4 s
    recorder.send(status=203)  # 5 and 6 s
    assert statuses(recorder.requests(ActivityFilter(configuration="other"))) == []
    assert statuses(recorder.requests(ActivityFilter(configuration="shop"))) == [
        203,
        202,
        201,
    ]
    since = recorder.requests(ActivityFilter(since=2.5))
    assert (statuses(since), since.older) == ([203, 202], 0)
    assert statuses(recorder.requests(ActivityFilter(until=4.5))) == [202, 201]
    between = ActivityFilter(since=2.5, until=4.5)
    assert statuses(recorder.requests(between, before=99)) == [202]


def test_changes_and_sign_ins_are_listed_apart_and_by_user(recorder: Recorder) -> None:
    recorder.add(Tag.LINE_SAVED, actor="ann", fields=["orders"])
    recorder.send()
    recorder.add(Tag.SESSION_BEGAN, actor="ben")
    recorder.add(Tag.CONFIGURATION_UPDATED, actor="ben", configuration="crm")
    recorder.add(Tag.CONFIGURATION_UPDATED, actor="ann")

    def tags(kind: str, chosen: ActivityFilter) -> list[object]:
        page = recorder.activity.records(kind, chosen, 9)
        return [record["tag"] for record in page.records]

    updated = Tag.CONFIGURATION_UPDATED
    assert tags(chain.CHANGE, EVERYTHING) == [updated, updated, Tag.LINE_SAVED]
    assert tags(chain.SIGN_IN, EVERYTHING) == [Tag.SESSION_BEGAN]
    assert tags(chain.CHANGE, ActivityFilter(actor="ben")) == [updated]
    assert tags(chain.CHANGE, ActivityFilter(configuration="crm")) == [updated]
    assert tags(chain.CHANGE, ActivityFilter(since=5.5)) == [updated]
    assert tags(chain.CHANGE, ActivityFilter(until=1.5)) == [Tag.LINE_SAVED]


def test_a_user_is_found_with_and_without_the_origin(recorder: Recorder) -> None:
    for actor in ("web:ann", "cli:ann", "web:ben", "schedule", "web:anna"):
        recorder.add(Tag.LINE_SAVED, actor=actor)

    def actors(name: str) -> list[object]:
        page = recorder.activity.records(chain.CHANGE, ActivityFilter(actor=name), 9)
        return [record["actor"] for record in page.records]

    assert actors("ann") == ["cli:ann", "web:ann"]
    assert actors("web:ann") == ["web:ann"]
    assert actors("schedule") == ["schedule"]


def rename(recorder: Recorder, old: str, new: str) -> None:
    for name in (old, new):
        recorder.add(
            Tag.CONFIGURATION_RENAMED, actor="ann", configuration=name, fields=["name"]
        )


def test_a_rename_is_one_row_with_both_names(recorder: Recorder) -> None:
    rename(recorder, "shop", "store")
    rename(recorder, "crm", "people")
    page = recorder.activity.records(chain.CHANGE, EVERYTHING, 9)
    assert [(record["id"], record["changes"]) for record in page.records] == [
        (4, [["name", "crm", "people"]]),
        (2, [["name", "shop", "store"]]),
    ]


def test_a_page_does_not_end_inside_of_a_rename(recorder: Recorder) -> None:
    rename(recorder, "shop", "store")
    recorder.add(Tag.LINE_SAVED, actor="ann")
    rename(recorder, "crm", "people")
    page = recorder.activity.records(chain.CHANGE, EVERYTHING, 1)
    pages = [[record["id"] for record in page.records]]
    while page.older:
        page = recorder.activity.records(chain.CHANGE, EVERYTHING, 1, before=page.older)
        pages.append([record["id"] for record in page.records])
    assert pages == [[5], [3], [2]]


def test_the_requests_of_a_configuration_are_found_by_all_its_names(
    recorder: Recorder,
) -> None:
    def send(name: str, status: int) -> None:
        attempt = recorder.begin(configuration=name)
        recorder.add(
            Tag.SEND_OUTCOME,
            attempt=attempt,
            configuration=name,
            status=status,
            outcome="ok" if status < 400 else "server_error",
            duration_ms=7,
        )

    send("store", 201)  # of another configuration, which had the name before
    send("shop", 202)
    send("shop (draft)", 500)
    # Renamed at 6.5 s.
    send("store", 204)
    send("store (draft)", 205)
    send("shop", 206)  # of another one, which has the name since
    chosen = ActivityFilter(configuration="store", former_names=[("shop", 6.5)])
    page = recorder.requests(chosen)
    assert statuses(page) == [205, 204, 500, 202]
    draft = page.items[0]
    assert isinstance(draft, SentRequest)
    assert (draft.is_draft, draft.stored_name) == (True, "store")
    failed = ActivityFilter(
        configuration="store", former_names=[("shop", 6.5)], outcome=chain.FAILURE
    )
    assert statuses(recorder.requests(failed)) == [500]
    page = recorder.requests(chosen, limit=3)
    assert statuses(page) == [205, 204, 500]
    assert statuses(recorder.requests(chosen, before=page.older)) == [202]


def test_a_request_without_credentials_is_told_from_others(recorder: Recorder) -> None:
    recorder.end(recorder.begin(purpose="comparison"), 401, "challenged")
    recorder.send(status=401, outcome="unauthorized")
    refused, compared = recorder.requests().items
    assert isinstance(refused, SentRequest)
    assert isinstance(compared, SentRequest)
    assert (compared.is_comparison, refused.is_comparison) == (True, False)
    failures = recorder.requests(ActivityFilter(outcome=chain.FAILURE))
    assert [item.id for item in failures.items if isinstance(item, SentRequest)] == [4]


def test_changes_are_paged(recorder: Recorder) -> None:
    for _ in range(5):
        recorder.add(Tag.LINE_SAVED, actor="ann")
    page = recorder.activity.records(chain.CHANGE, EVERYTHING, 3)
    assert [record["id"] for record in page.records] == [5, 4, 3]
    page = recorder.activity.records(chain.CHANGE, EVERYTHING, 3, before=page.older)
    assert ([record["id"] for record in page.records], page.older) == ([2, 1], 0)


def test_a_record_that_was_tampered_with_is_listed_as_far_as_it_can_be(
    recorder: Recorder,
) -> None:
    recorder.add(Tag.SEND_OUTCOME, status="200", outcome="ok", duration_ms=None)
    (item,) = recorder.requests().items
    assert isinstance(item, SentRequest)
    assert (item.status, item.duration_ms) == (0, None)


def test_no_records_are_no_page(recorder: Recorder) -> None:
    assert recorder.requests() == RequestPage([], 0)
