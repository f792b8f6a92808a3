"""A send that was started: its caller waits for the response later, or not at all."""

import threading
from contextlib import suppress
from dataclasses import replace
from email.utils import formatdate
from typing import Any

import pytest

from outkey.foundation.core.errors import (
    ConnectionFailed,
    OutkeyError,
    StorageUnavailable,
)
from outkey.sending.core.audit.events import Intent, Outcome, Tag
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.request.message import (
    Request,
    Response,
    ResponseHeaders,
    Route,
)
from outkey.sending.engine.exchange.calls import build_call
from outkey.sending.engine.wire.started_send import StartedSend
from outkey.testing import FakeTransport, configuration, fake_gateway
from outkey.testing.fakes.basic import FakeWorld

SECONDS = 10.0
TOKEN = Response(200, body=b'{"access_token": "0123456789abcdef", "expires_in": 999}')
OAUTH2 = {
    "authentication_type": "bearer",
    "token_source": "oauth2",
    "oauth2__token_url": "https://api.acme.example/token",
    "oauth2__client_id": "erp",
}


class GatedTransport(FakeTransport):
    """Responds to GET when the test opens the gate."""

    def __init__(self, *responses: Response | OutkeyError) -> None:
        super().__init__(list(responses))
        self.gate = threading.Event()
        self.has_responded = threading.Event()

    def send(self, request: Request, route: Route) -> Response:
        if request.method == "GET":
            assert self.gate.wait(SECONDS)
        response = super().send(request, route)
        # Once the waiting thread has noted the time.
        threading.Timer(0.2, self.has_responded.set).start()
        return response


def world_of(**values: object) -> tuple[FakeWorld, Configuration]:
    plain = {"authentication_type": "bearer", "limits__retries": 0}
    acme = configuration(**(plain | values))
    secrets = {"client_secret": "s" * 20, "token": "t" * 20}
    return fake_gateway(acme, secrets=secrets), acme


def start(
    world: FakeWorld, acme: Configuration, transport: FakeTransport
) -> StartedSend[Response]:
    call = build_call(acme, "GET", "/orders")
    world.sender.runtime = replace(world.sender.runtime, transport=transport)
    return world.sender.start(call)


def outcomes(world: FakeWorld) -> list[tuple[str, int]]:
    return [
        (event.outcome, event.duration_ms)
        for event in world.audit.events
        if isinstance(event, Outcome)
    ]


def test_the_intent_is_recorded_at_once_and_the_response_is_there_later() -> None:
    world, acme = world_of()
    transport = GatedTransport(Response(200, body=b"later"))
    started = start(world, acme, transport)
    assert [type(event) for event in world.audit.events] == [Intent]
    transport.gate.set()
    assert started.result().body == b"later"
    assert outcomes(world) == [("ok", 0)]


def test_the_audit_has_the_time_that_the_api_took_and_not_its_caller() -> None:
    world, acme = world_of()
    transport = GatedTransport(Response(200))
    started = start(world, acme, transport)
    world.clock.advance(3)  # the API makes the page
    transport.gate.set()
    assert transport.has_responded.wait(SECONDS)
    world.clock.advance(5)  # the caller writes the last one
    started.result()
    assert outcomes(world) == [("ok", 3000)]


def test_what_the_transport_raises_is_raised_and_recorded() -> None:
    world, acme = world_of()
    transport = GatedTransport(ConnectionFailed())
    started = start(world, acme, transport)
    transport.gate.set()
    with pytest.raises(ConnectionFailed):
        started.result()
    assert [outcome for outcome, _ in outcomes(world)] == ["connection"]


def test_a_failure_that_is_no_error_of_outkey_is_raised_too() -> None:
    class Broken(FakeTransport):
        def send(self, request: Request, route: Route) -> Response:
            raise MemoryError

    world, acme = world_of()
    with pytest.raises(MemoryError):
        start(world, acme, Broken()).result()


def test_a_retry_is_made_by_the_thread_that_waits() -> None:
    world, acme = world_of(limits__retries=1)
    transport = GatedTransport(Response(503), Response(200, body=b"again"))
    transport.gate.set()
    started = start(world, acme, transport)
    assert started.result().body == b"again"
    assert [outcome for outcome, _ in outcomes(world)] == ["server_error", "ok"]


def test_an_abandoned_request_is_recorded_as_cancelled() -> None:
    world, acme = world_of()
    transport = GatedTransport(Response(200))
    started = start(world, acme, transport)
    started.abandon()
    transport.gate.set()
    assert [outcome for outcome, _ in outcomes(world)] == ["cancelled"]


def test_a_token_is_fetched_and_stored_before_the_request_is_left_alone() -> None:
    world, acme = world_of(**OAUTH2)
    transport = GatedTransport(TOKEN, Response(200))
    start(world, acme, transport).abandon()
    transport.gate.set()
    tags = [event.tag for event in world.audit.events]
    assert tags[:2] == [Tag.TOKEN_INTENT, Tag.TOKEN_OUTCOME]
    assert world.token("acme").status().expires_at is not None


def test_a_token_whose_storing_fails_once_is_stored_before_the_request_is_left_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world, acme = world_of(**OAUTH2)
    swap = world.ports.tokens.swap
    failures = iter([StorageUnavailable()])

    def fail_once(*arguments: Any, **options: Any) -> object:  # noqa: ANN401 - of the port
        if len(arguments) > 1 and (failure := next(failures, None)):
            raise failure
        return swap(*arguments, **options)

    transport = GatedTransport(TOKEN, Response(200))
    granted = transport.send

    def send(request: Request, route: Route) -> Response:
        response = granted(request, route)
        monkeypatch.setattr(world.ports.tokens, "swap", fail_once)
        return response

    monkeypatch.setattr(transport, "send", send)
    start(world, acme, transport).abandon()
    transport.gate.set()
    assert next(failures, None) is None
    assert world.token("acme").status().expires_at is not None


class LeavingTransport(FakeTransport):
    """Leaves each response until it is read, as a socket does."""

    def __init__(self, *responses: Response | OutkeyError) -> None:
        super().__init__(list(responses))
        self.arrived_at = 0.0
        self.is_there = True
        self.is_abandoned = False

    def begin(self, request: Request, route: Route) -> Any:  # noqa: ANN401 - it is itself
        self.begun = request, route
        return self

    def wait(self, seconds: float) -> bool:
        return self.is_there

    def result(self) -> Response:
        return self.send(*self.begun)

    def abandon(self) -> None:
        self.is_abandoned = True


def test_no_thread_is_started_where_the_response_can_be_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world, acme = world_of()
    transport = LeavingTransport(Response(200, body=b"later"))
    transport.arrived_at = world.clock.monotonic() + 3
    monkeypatch.setattr(world.sender, "threads", None)
    started = start(world, acme, transport)
    assert [type(event) for event in world.audit.events] == [Intent]
    assert started.is_sent
    assert transport.sent == []
    world.clock.advance(10)
    assert started.result().body == b"later"
    assert outcomes(world) == [("ok", 3000)]


def test_an_abandoned_response_that_was_left_is_recorded_as_cancelled() -> None:
    world, acme = world_of()
    transport = LeavingTransport()
    transport.is_there = False
    started = start(world, acme, transport)
    started.abandon()
    assert transport.is_abandoned
    assert [outcome for outcome, _ in outcomes(world)] == ["cancelled"]


def test_what_cannot_be_begun_is_sent_by_a_thread() -> None:
    class Refusing(FakeTransport):
        def begin(self, request: Request, route: Route) -> None:
            raise ConnectionFailed

    world, acme = world_of()
    assert start(world, acme, Refusing([Response(204)])).result().status == 204


def test_an_error_before_the_request_is_raised_when_the_response_is_wanted() -> None:
    world, acme = world_of()
    world.audit.broken = True
    started = start(world, acme, GatedTransport())
    with pytest.raises(OutkeyError):
        started.result()
    started.abandon()
    assert world.audit.events == []


def after_a_long_page(started: StartedSend[Response], world: FakeWorld) -> Response:
    """Return the response once it has arrived and a page was written for 40 seconds."""
    assert started._pending is not None
    with suppress(OutkeyError):
        started._pending.result()
    world.clock.advance(40)
    return started.result()


def test_a_long_page_leaves_time_for_retries_and_redirects() -> None:
    moved = Response(307, ResponseHeaders([("Location", "/elsewhere")]))
    for first in (Response(503), moved, ConnectionFailed()):
        world, acme = world_of(limits__retries=1, limits__total_timeout=10.0)
        transport = FakeTransport([first, Response(200)])
        assert after_a_long_page(start(world, acme, transport), world).status == 200


def test_a_long_page_is_not_taken_for_a_difference_of_clocks() -> None:
    world, acme = world_of(verification__follow_clock=True)
    date = formatdate(world.clock.now(), usegmt=True)
    answer = Response(200, ResponseHeaders([("Date", date)]))
    after_a_long_page(start(world, acme, FakeTransport([answer])), world)
    assert world.sender.context.shift(acme, acme.base.origin) == 0


def test_what_is_signed_after_a_long_page_has_the_time_of_now() -> None:
    times: list[float] = []
    world, acme = world_of(limits__retries=1)
    started = start(world, acme, FakeTransport([Response(503), Response(200)]))
    clock = started._clock
    now = clock.now
    sleep = world.clock.sleep

    def note_time(seconds: float) -> None:
        times.append(now() - world.clock.now())
        sleep(seconds)

    world.clock.sleep = note_time  # type: ignore[method-assign]
    after_a_long_page(started, world)
    assert times == [0.0]


def test_a_pause_goes_on_while_a_page_is_written() -> None:
    world, acme = world_of(limits__requests_per_minute=2, limits__total_timeout=60.0)
    transport = FakeTransport([Response(200)] * 9)
    while (started := start(world, acme, transport)).is_sent:
        started.result()
    world.clock.advance(25)
    before = world.clock.monotonic()
    assert started.result().status == 200
    assert world.clock.monotonic() - before <= 5.0


def test_a_response_that_has_arrived_counts_although_it_is_abandoned() -> None:
    world, acme = world_of(limits__retries=3)
    answer = Response(429, ResponseHeaders([("Retry-After", "30")]))
    transport = FakeTransport([answer, Response(200)])
    started = start(world, acme, transport)
    assert started._pending is not None
    started._pending.result()
    started.abandon()
    assert [outcome for outcome, _ in outcomes(world)] == ["rate_limited"]
    before = world.clock.monotonic()
    start(world, acme, transport).result()
    assert world.clock.monotonic() - before >= 29.0


def test_a_failure_that_has_arrived_is_recorded_although_it_is_abandoned() -> None:
    world, acme = world_of(limits__retries=3)
    started = start(world, acme, FakeTransport([ConnectionFailed()]))
    assert started._pending is not None
    with pytest.raises(ConnectionFailed):
        started._pending.result()
    started.abandon()
    assert [outcome for outcome, _ in outcomes(world)] == ["connection"]


def test_without_another_thread_the_request_is_sent_when_it_is_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_arguments: object) -> None:
        raise RuntimeError("can't start new thread")

    for is_abandoned in (False, True):
        world, acme = world_of()
        monkeypatch.setattr(world.sender.threads, "start", fail)
        started = start(world, acme, FakeTransport([Response(200)]))
        assert not started.is_sent
        if is_abandoned:
            started.abandon()
        else:
            assert started.result().status == 200
        expected = "cancelled" if is_abandoned else "ok"
        assert [outcome for outcome, _ in outcomes(world)] == [expected]


def test_a_pause_for_the_rate_limit_is_left_for_later() -> None:
    world, acme = world_of(limits__requests_per_minute=60)
    transport = FakeTransport([Response(200)] * 90)
    began_at = world.clock.monotonic()
    for _ in range(90):
        started = start(world, acme, transport)
        if not started.is_sent:
            break
        started.result()
    assert world.clock.monotonic() == began_at  # nothing has waited yet
    started.result()
    assert world.clock.monotonic() > began_at
