"""A pull that orders a report, waits until it is done, and downloads it."""

import json
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field, replace
from urllib.parse import urlsplit

import pytest

from outkey.foundation.core.errors import (
    BadResponse,
    ConfigError,
    ConnectionFailed,
    OutkeyError,
    RedirectBlocked,
    RunStopped,
    StorageUnavailable,
    SyncFailed,
)
from outkey.foundation.core.secret import Secret
from outkey.sending.core.configuration.custom_rows import CustomHeader, QueryParameter
from outkey.sending.core.request.message import Request, Response, ResponseHeaders
from outkey.sync.core.line.line import (
    Gone,
    Incremental,
    JobOrder,
    JobPoll,
    JobSettings,
    Pagination,
    PushRequest,
    RecordFormat,
    ResponseFormat,
    Sync,
    SyncLine,
)
from outkey.sync.core.run.run import Counts, Run, RunState
from outkey.testing import configuration
from unit.sync.engine.pull.test_sync_run import (
    PAGES,
    PULL,
    FakeSync,
    Killed,
    answer,
    fake_sync,
    faulty,
    people,
)
from unit.sync.engine.runs.test_sync_planner import FakePlanner, fake_planner

JOB = JobSettings(
    JobOrder(path="/reports", body='{"from": "{since}", "to": "{until}"}'),
    id="data.id",
    poll=JobPoll("/reports/{job.id}", every_seconds=5),
    state="status",
    done=("done",),
    failed=("error",),
    delete=PushRequest("DELETE", "/reports/{job.id}"),
)
REPORT = replace(PULL, job=JOB, pagination=Pagination())
PATH = "/reports/{job.id}/download"
FILES = "https://files.example"


@dataclass
class Reports:
    """An API that makes a report of each order, and knows Idempotency-Key."""

    polls: int = 2  # how many of them say that it is not done yet
    people: tuple[int, ...] = (1, 2, 3)
    url: object = None
    headers: tuple[tuple[str, str], ...] = ()  # of each poll
    order: Response | OutkeyError | None = None  # in place of the usual one
    poll: Response | OutkeyError | None = None
    asked: list[Request] = field(default_factory=list)
    orders: dict[str, str] = field(default_factory=dict)  # ids by key
    polled: Counter[str] = field(default_factory=Counter)
    deleted: list[str] = field(default_factory=list)

    def __call__(self, request: Request) -> Response | OutkeyError:
        self.asked.append(request)
        path = urlsplit(request.target).path
        if path == "/reports":
            return self._order(request)
        if path.endswith("/download") or not path.startswith("/reports/"):
            is_next = "&page=2" in request.target
            return answer([] if is_next else people(*self.people))
        identity = path.removeprefix("/reports/")
        if request.method == "DELETE":
            self.deleted.append(identity)
            return Response(204)
        return self._poll(identity)

    def _order(self, request: Request) -> Response | OutkeyError:
        key = header(request, "Idempotency-Key")
        identity = self.orders.setdefault(key, f"r {len(self.orders) + 1}/x")
        location = ("Location", f"/reports/{identity.replace('/', '%2F')}?a=/b/")
        return self.order or answer({"data": {"id": identity}}, location, status=201)

    def _poll(self, identity: str) -> Response | OutkeyError:
        self.polled[identity] += 1
        state = "done" if self.polled[identity] > self.polls else "running"
        return self.poll or answer({"status": state, "url": self.url}, *self.headers)


def header(request: Request, name: str) -> str:
    return next((str(h.value) for h in request.headers if h.name == name), "")


def reporting(
    api: Reports, sync: Sync = REPORT, *, path: str = PATH, **values: object
) -> FakeSync:
    made = fake_sync(sync, api, path=path, **values)  # type: ignore[arg-type]
    made.world.resolver.names["files.example"] = ("93.184.216.34",)
    return made


def by_url(**changes: object) -> Sync:
    job = replace(JOB, url="url", origins=(FILES,), **changes)  # type: ignore[arg-type]
    return replace(REPORT, job=job)


def targets(api: Reports) -> list[str]:
    return [f"{request.method} {request.target}" for request in api.asked]


def failure(made: FakeSync) -> OutkeyError:
    with pytest.raises(OutkeyError) as caught:
        made.run()
    return caught.value


# ── order, poll, download, delete ─────────────────────────────────────────────────────


def test_a_report_is_ordered_waited_for_downloaded_and_deleted() -> None:
    api = Reports()
    made = reporting(api)
    run = made.run()
    assert (run.state, run.counts) == (RunState.DONE, Counts(created=3))
    assert targets(api) == [
        "POST /reports",
        *["GET /reports/r%201%2Fx"] * 3,
        "GET /reports/r%201%2Fx/download",
        "DELETE /reports/r%201%2Fx",
    ]
    assert run.position == {}
    assert made.run().counts == Counts(unchanged=3)
    assert [*api.orders.values()] == ["r 1/x", "r 2/x"]  # each run orders its own


def test_only_the_file_of_a_job_is_compressed_while_it_arrives() -> None:
    api = Reports()
    made = reporting(api, replace(REPORT, response=ResponseFormat(RecordFormat.CSV)))
    assert failure(made).reason == "not_csv"
    sent = made.world.transport.sent
    packed = {request.target for request, route in sent if route.streams}
    assert packed == {"/reports/r%201%2Fx/download"}


def test_polls_become_rarer_up_to_a_minute_and_not_before_retry_after() -> None:
    api = Reports(polls=16)
    made = reporting(api)
    made.run()
    waits = [5 * 1.25**number for number in range(12)] + [60] * 5
    assert sum(made.world.clock.sleeps) == pytest.approx(
        sum(min(wait, 60) for wait in [5, *waits[1:]]), abs=0.5
    )
    api = Reports(polls=1, headers=(("Retry-After", "90"),))
    made = reporting(api)
    made.run()
    assert sum(made.world.clock.sleeps) == pytest.approx(5 + 90)


def test_an_order_may_ask_for_a_later_poll() -> None:
    api = Reports(polls=0)
    api.order = answer({"data": {"id": 7}}, ("Retry-After", "40"), status=202)
    made = reporting(api)
    made.run()
    assert sum(made.world.clock.sleeps) == pytest.approx(40)
    assert targets(api)[1] == "GET /reports/7"


def test_the_body_of_an_order_asks_for_what_changed_up_to_the_begin_of_the_run() -> (
    None
):
    incremental = Incremental("", "name")
    api = Reports()
    made = reporting(api, replace(REPORT, incremental=incremental))
    made.run()
    made.run()
    bodies = [
        json.loads(bytes(request.body))  # type: ignore[arg-type]
        for request in api.asked
        if request.target == "/reports"
    ]
    assert [body["from"] for body in bodies] == [None, "Name 3"]
    first, second = (body["to"] for body in bodies)
    assert first < second
    assert first.endswith("Z")


def test_an_order_for_changes_only_says_nothing_of_what_is_missing() -> None:
    for incremental, left in ((Incremental("", "name"), 3), (Incremental(), 1)):
        api = Reports()
        sync = replace(REPORT, gone=Gone.DELETE, incremental=incremental)
        made = reporting(api, replace(sync, guard_percent=100))
        made.run()
        api.people = (1,)
        made.run()
        assert len(made.numbers()) == left


def test_an_order_without_a_body_has_none() -> None:
    api = Reports()
    order = JobOrder("PUT", "/reports")
    reporting(api, replace(REPORT, job=replace(JOB, order=order))).run()
    assert (api.asked[0].method, api.asked[0].body) == ("PUT", b"")


def test_the_id_can_be_the_last_part_of_a_url_in_a_header() -> None:
    api = Reports()
    job = replace(JOB, id="header:Location")
    reporting(api, replace(REPORT, job=job)).run()
    assert targets(api)[-1] == "DELETE /reports/r%201%2Fx"


def test_the_id_is_filled_in_in_path_query_and_body_of_every_page() -> None:
    api = Reports(polls=0)
    sync = replace(
        REPORT,
        pagination=PAGES,
        query=(("report", "x{job.id}"),),
        body='{"report": "{job.id}"}',
    )
    made = reporting(api, sync, method="POST", path="/rows/download")
    made.run()
    pages = [request for request in api.asked if "/rows" in request.target]
    assert len(pages) == 2
    for request in pages:
        assert "report=xr+1%2Fx" in request.target
        assert json.loads(bytes(request.body)) == {"report": "r 1/x"}  # type: ignore[arg-type]


def test_a_state_can_be_a_flag_or_a_number_and_a_poll_can_be_empty() -> None:
    for value, text in ((True, "true"), (3, "3")):
        api = Reports()
        made = reporting(api, replace(REPORT, job=replace(JOB, done=(text,))))
        api.poll = Response(202)
        steps = made.runner.run("contacts", "ada")
        for _ in range(20):
            next(steps)
        api.poll = answer({"status": value})
        assert [*steps][-1].state is RunState.DONE


def test_a_dry_run_orders_and_deletes_too_and_a_preview_is_refused() -> None:
    api = Reports()
    made = reporting(api)
    run = made.run(dry_run=True)
    assert (run.state, made.numbers()) == (RunState.DONE, [])
    assert api.deleted == ["r%201%2Fx"]
    with pytest.raises(ConfigError, match="a preview cannot show") as refused:
        made.runner.preview("contacts")
    assert refused.value.field == "job"
    with pytest.raises(ConfigError, match="has to be ordered"):
        made.runner.sample("contacts")


# ── what goes wrong ───────────────────────────────────────────────────────────────────


def test_a_job_that_fails_ends_the_run_and_the_next_one_orders_again() -> None:
    api = Reports(poll=answer({"status": "error"}))
    made = reporting(api)
    error = failure(made)
    assert (error.reason, error.code) == ("job_failed", SyncFailed().code)
    (run,) = made.runs.newest(9)
    assert (run.state, run.cause, run.position) == (RunState.FAILED, "job_failed", {})
    api.poll = None
    assert made.run().state is RunState.DONE
    assert len(api.orders) == 2


@pytest.mark.parametrize("status", [404, 410])
def test_a_job_that_the_api_no_longer_has_has_failed(status: int) -> None:
    api = Reports(poll=answer({}, status=status))
    error = failure(reporting(api))
    assert error.reason == "job_failed"
    assert str(error) == f"the API has no job of this ID: status {status}"


@pytest.mark.parametrize(
    ("document", "words"), [({"status": "queued"}, "took too long"), ({}, "no state")]
)
def test_a_job_that_is_never_done_ends_after_its_time(
    document: object, words: str
) -> None:
    api = Reports(poll=answer(document))
    made = reporting(api, replace(REPORT, job=replace(JOB, max_minutes=10)))
    error = failure(made)
    assert error.reason == "job_timeout"
    assert words in str(error)
    assert sum(made.world.clock.sleeps) == pytest.approx(600, abs=1)
    (run,) = made.runs.newest(9)
    assert (run.cause, run.position) == ("job_timeout", {})


def test_a_retry_after_beyond_the_time_of_the_job_ends_it_at_once() -> None:
    api = Reports(headers=(("Retry-After", "7200"),))
    made = reporting(api)
    assert failure(made).reason == "job_timeout"
    assert sum(made.world.clock.sleeps) == 5


def test_the_time_of_the_run_counts_while_it_waits() -> None:
    api = Reports(polls=10**6)
    made = reporting(api, replace(REPORT, max_minutes=3))
    assert failure(made).reason == "run_limit"
    assert sum(made.world.clock.sleeps) == pytest.approx(180, abs=2)


@pytest.mark.parametrize(
    "identity", [None, True, "", " \n", ".", "..", "x" * 201, [1], 1.5, "a/../b"]
)
def test_an_order_without_a_usable_id_has_failed(identity: object) -> None:
    api = Reports(order=answer({"data": {"id": identity}}))
    error = failure(reporting(api))
    assert error.reason == "job_failed"
    assert "no usable ID" in str(error)
    assert len(api.asked) == 1


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("", None),
        ("7", "7"),
        ("https://api.acme.example/reports/7/", "7"),
        ("/reports/..", None),
        ("/reports/%2E%2E", None),
        ("http://[", None),
    ],
)
def test_an_id_in_a_header_is_a_text_or_the_end_of_a_url(
    value: str, expected: str | None
) -> None:
    api = Reports(polls=0, order=Response(201, ResponseHeaders((("X-Job", value),))))
    made = reporting(api, replace(REPORT, job=replace(JOB, id="header:X-Job")))
    if expected is None:
        assert failure(made).reason == "job_failed"
    else:
        made.run()
        assert targets(api)[1] == f"GET /reports/{expected}"


def test_an_id_that_repeats_a_secret_is_not_stored() -> None:
    token = "a-token-of-some-length"
    api = Reports(order=answer({"data": {"id": token}}))
    made = reporting(api, token=token)
    assert failure(made).reason in {"secret_in_cursor", "job_failed"}
    assert token not in repr(made.runs.newest(9))
    api.order = Response(201, ResponseHeaders((("X-Job", token),)))
    made = reporting(
        api, replace(REPORT, job=replace(JOB, id="header:X-Job")), token=token
    )
    assert failure(made).reason == "secret_in_cursor"
    assert token not in repr(made.runs.newest(9))


def test_a_refused_order_is_not_one_that_a_later_run_repeats() -> None:
    api = Reports(order=answer({}, status=422))
    made = reporting(api)
    assert isinstance(failure(made), BadResponse)
    api.order = None
    made.run()
    first, second = (
        header(request, "Idempotency-Key")
        for request in api.asked
        if request.target == "/reports"
    )
    assert first != second


@pytest.mark.parametrize("order", [ConnectionFailed(), Response(500)])
def test_an_order_whose_response_was_lost_is_repeated_with_its_key(
    order: Response | OutkeyError,
) -> None:
    api = Reports(order=order)
    made = reporting(api)
    failure(made)
    api.order = None
    assert made.run().state is RunState.DONE
    assert len(api.orders) == 1


def test_a_poll_that_fails_is_repeated_by_the_next_run_without_another_order() -> None:
    api = Reports(poll=answer({}, status=500))
    made = reporting(api)
    failure(made)
    api.poll = None
    assert made.run().state is RunState.DONE
    assert len(api.orders) == 1


def test_a_download_that_is_refused_twice_is_ordered_again() -> None:
    api = Reports(polls=0)
    refused: list[Response | OutkeyError] = [answer({}, status=404)] * 2
    made = fake_sync(
        REPORT,
        lambda request: (
            refused.pop() if "/download" in request.target and refused else api(request)
        ),
        path=PATH,
    )
    for _ in range(2):
        failure(made)
    assert len(api.orders) == 1
    assert made.run().state is RunState.DONE
    assert len(api.orders) == 2


@pytest.mark.parametrize("response", [Response(500), ConnectionFailed(), Response(404)])
def test_a_job_that_cannot_be_deleted_does_not_fail_the_run(
    response: Response | OutkeyError,
) -> None:
    api = Reports()
    made = fake_sync(
        REPORT,
        lambda request: response if request.method == "DELETE" else api(request),
        path=PATH,
    )
    run = made.run()
    is_gone = isinstance(response, Response) and response.status == 404
    assert run.state is RunState.DONE
    assert [*run.notes] == (
        [] if is_gone else ["the job was downloaded, but the API did not delete it"]
    )


def test_without_a_request_for_it_a_job_is_not_deleted() -> None:
    api = Reports()
    reporting(api, replace(REPORT, job=replace(JOB, delete=PushRequest()))).run()
    assert api.deleted == []


# ── the file at a URL ─────────────────────────────────────────────────────────────────

ROWS = (CustomHeader("X-Tenant", "7", secret=False),)
PARAMETERS = (QueryParameter("tenant", "7", secret=False),)


@pytest.mark.parametrize(
    "url", ["https://api.acme.example/files/1.json?s=2", "/files/1.json?s=2"]
)
def test_a_file_at_the_base_urls_origin_gets_the_credentials(url: str) -> None:
    api = Reports(url=url)
    made = reporting(api, by_url())
    assert made.run().counts == Counts(created=3)
    download = api.asked[-2]
    assert (download.method, download.target) == ("GET", "/files/1.json?s=2")
    assert header(download, "Authorization")


def test_a_file_at_another_origin_gets_nothing_of_the_configuration() -> None:
    api = Reports(url=f"{FILES}/1.json?signature=abc")
    made = fake_sync(
        replace(by_url(), query=(("of", "line"),)),
        api,
        method="POST",
        path="/x",
        verification__expired_marker="Name 1",
        headers=ROWS,
        query=PARAMETERS,
    )
    made.world.resolver.names["files.example"] = ("93.184.216.34",)
    assert made.run().counts == Counts(created=3)
    download = api.asked[-2]
    assert str(download.origin) == FILES
    assert (download.method, download.target) == ("GET", "/1.json?signature=abc")
    assert {h.name for h in download.headers} == {
        "Host",
        "User-Agent",
        "Accept",
        "Accept-Encoding",
    }
    assert not download.secret_parameters
    assert not any(isinstance(h.value, Secret) for h in download.headers)
    assert header(api.asked[0], "X-Tenant") == "7"
    assert "signature" not in repr(made.runs.newest(9))


@pytest.mark.parametrize(
    "url",
    [
        "https://evil.example/1.json",
        "http://api.acme.example/1.json",
        "https://files.example:444/1.json",
        "//evil.example/1.json",
    ],
)
def test_a_file_anywhere_else_is_refused_without_a_request(url: str) -> None:
    api = Reports(url=url, polls=0)
    made = reporting(api, by_url())
    error = failure(made)
    assert isinstance(error, RedirectBlocked)
    assert "evil" not in f"{error} {error.hint}"
    assert len(api.asked) == 2


@pytest.mark.parametrize("url", [None, "", 7, "https://[", "https://u:p@files.example"])
def test_a_job_that_is_done_without_a_usable_url_has_failed(url: object) -> None:
    assert failure(reporting(Reports(url=url), by_url())).reason == "job_failed"


def test_a_file_on_an_internal_address_is_refused_as_any_request_is() -> None:
    api = Reports(url=f"{FILES}/1.json", polls=0)
    made = reporting(api, by_url())
    made.world.resolver.names["files.example"] = ("127.0.0.1",)
    assert failure(made).code == "egress_denied"


def test_a_url_that_repeats_a_secret_is_not_sent_elsewhere() -> None:
    token = "a-token-of-some-length"
    api = Reports(url=f"{FILES}/1.json?key={token}", polls=0)
    made = reporting(api, by_url(), token=token)
    assert failure(made).reason == "secret_in_cursor"
    assert len(api.asked) == 2


# ── kills, stops and workers ──────────────────────────────────────────────────────────


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("fault", [Killed, StorageUnavailable])
def test_whatever_ends_a_job_at_any_step_the_next_run_completes_it(
    fault: type[BaseException], *, after: bool
) -> None:
    for turn in range(1, 80):
        api = Reports()
        made = reporting(api)
        ended = False
        with suppress(Killed, StorageUnavailable):
            list(faulty(made, turn, fault(), after=after).run("contacts", "ada"))
            ended = True
        if ended:
            assert turn > 10
            return
        made.world.clock.advance(600)
        run = made.run()
        assert run.state is RunState.DONE
        assert made.numbers() == ["1", "2", "3"]
        if run.id == made.runs.newest(9)[-1].id:
            assert len(api.orders) == 1
    pytest.fail("the run never got through")


def killed_at(api: Reports, part: str) -> FakeSync:
    """Return a line whose process was killed at the response to a request."""
    made = reporting(api)
    before = made.world.transport.send

    def send(request: Request, route: object) -> Response:
        response = before(request, route)  # type: ignore[arg-type]
        if f"{request.method} {request.target}".startswith(part):
            raise Killed
        return response

    made.world.transport.send = send  # type: ignore[method-assign]
    with pytest.raises(Killed):
        made.run()
    made.world.transport.send = before  # type: ignore[method-assign]
    return made


@pytest.mark.parametrize(
    "part",
    [
        "POST /reports",
        "GET /reports/r%201%2Fx",
        "GET /reports/r%201%2Fx/download",
        "DELETE",
    ],
)
def test_a_run_that_was_killed_at_any_request_orders_once(part: str) -> None:
    api = Reports()
    made = killed_at(api, part)
    made.world.clock.advance(600)
    run = made.run()
    assert (run.state, run.id) == (RunState.DONE, "1")
    assert run.counts == Counts(created=3)
    assert len(api.orders) == 1
    assert made.numbers() == ["1", "2", "3"]


def test_a_job_that_was_done_while_nobody_polled_is_downloaded_late() -> None:
    api = Reports()
    made = killed_at(api, "GET /reports")
    api.polls = 0
    made.world.clock.advance(48 * 3600)
    assert made.run().state is RunState.DONE
    api = Reports()
    made = killed_at(api, "GET /reports")
    made.world.clock.advance(48 * 3600)
    assert failure(made).reason == "job_timeout"


def test_a_stop_or_a_cancel_ends_the_wait_within_a_step() -> None:
    api = Reports(polls=10**6)
    made = reporting(api)
    steps = made.runner.run("contacts", "ada")
    for _ in range(20):
        run = next(steps)
    made.runs.cancel(run.id)
    before = sum(made.world.clock.sleeps)
    with pytest.raises(RunStopped) as stopped:
        list(steps)
    assert stopped.value.reason == "cancelled"
    assert sum(made.world.clock.sleeps) - before <= 16
    stopping = [False] * 10 + [True]
    steps = made.runner.run(
        "contacts", "ada", is_stopping=lambda: stopping.pop(0) if stopping else True
    )
    with pytest.raises(RunStopped):
        list(steps)


def test_a_lease_lasts_as_long_as_the_wait() -> None:
    api = Reports(polls=30)
    made = reporting(api)
    ends = [run.until for run in made.runner.run("contacts", "ada")]
    assert ends == sorted(ends)
    assert ends[-1] - ends[0] > 900


def test_a_stored_id_that_no_path_can_name_is_not_requested() -> None:
    api = Reports()
    made = killed_at(api, "GET /reports")
    (run,) = made.runs.newest(9)
    job = {**run.position["job"], "id": ".."}  # type: ignore[dict-item]
    position = {**run.position, "job": job}
    made.memory.runs.save(replace(run, position=position))
    made.world.clock.advance(600)
    before = len(api.asked)
    assert failure(made).reason == "job_failed"
    assert len(api.asked) == before


def waiting_worker(api: Reports) -> FakePlanner:
    fake = fake_planner(reporting(api))
    fake.planner.request("contacts", "ada")
    return fake


def test_a_worker_lets_another_run_begin_while_a_job_is_not_done() -> None:
    api = Reports(polls=60)
    fake = waiting_worker(api)
    made = fake.sync
    registry = made.world.ports.configurations
    registry.add(configuration("shop", authentication_type="bearer"))  # type: ignore[attr-defined]
    registry.put_line(SyncLine("other", "shop", "GET", "/rows/download", PULL))  # type: ignore[attr-defined]
    (first,) = made.runs.due()

    def request_other(run: Run) -> None:
        if run.pages == 0 and made.world.clock.monotonic() > 20 and not others:
            others.append(fake.planner.request("other", "eve"))

    others: list[Run] = []
    begin = made.world.clock.sleep

    def sleep(seconds: float) -> None:
        begin(seconds)
        request_other(made.runs.get(first.id))

    made.world.clock.sleep = sleep  # type: ignore[method-assign]
    waiting = fake.planner.work(first.id)
    assert waiting.state is RunState.WAITING
    polls = sum(api.polled.values())
    assert fake.planner.work(others[0].id).state is RunState.DONE
    assert fake.planner.work(first.id).state is RunState.DONE
    assert sum(api.polled.values()) > polls
    assert len(api.orders) == 1


def test_a_pause_that_a_poll_asks_for_ends_the_run_and_it_continues_its_job() -> None:
    api = Reports()
    fake = waiting_worker(api)
    api.poll = Response(429, ResponseHeaders((("Retry-After", "3600"),)))
    (waiting,) = fake.work()
    assert (waiting.state, waiting.attempt) == (RunState.WAITING, 1)
    api.poll = answer({"status": "done"})
    fake.wait(3600)
    assert [run.state for run in fake.work()] == [RunState.DONE]
    assert len(api.orders) == 1
