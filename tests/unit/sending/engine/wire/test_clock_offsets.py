"""Other people's clocks, as their responses show them."""

from email.utils import formatdate

import pytest

from outkey.foundation.core.origin import Origin, parse_url
from outkey.sending.core.request.message import Response, ResponseHeaders
from outkey.sending.engine.wire.clock_offsets import ClockOffsets
from outkey.testing import FakeClock, configuration, fake_gateway

ORIGIN: Origin = parse_url("https://api.acme.example/").origin


def dated(at: float, *more: tuple[str, str]) -> Response:
    return Response(
        200, ResponseHeaders((("Date", formatdate(at, usegmt=True)), *more))
    )


def test_nothing_is_known_of_a_clock_that_was_never_seen() -> None:
    assert ClockOffsets().of("acme", ORIGIN, FakeClock()) == 0


@pytest.mark.parametrize("offset", [600, -600, 5])
def test_an_offset_is_learned_from_the_date(offset: int) -> None:
    offsets, clock = ClockOffsets(), FakeClock()
    offsets.note("acme", ORIGIN, dated(clock.now() + offset), clock)
    assert offsets.of("acme", ORIGIN, clock) == pytest.approx(offset, abs=1)


@pytest.mark.parametrize("offset", [0, 1, -1])
def test_a_second_is_no_offset(offset: int) -> None:
    offsets, clock = ClockOffsets(), FakeClock()
    offsets.note("acme", ORIGIN, dated(clock.now() + offset), clock)
    assert offsets.of("acme", ORIGIN, clock) == 0


@pytest.mark.parametrize(
    "response",
    [
        Response(200),
        Response(200, ResponseHeaders((("Date", "yesterday"),))),
        Response(200, ResponseHeaders((("Date", "Mon, 01 Jan 99999 00:00:00 GMT"),))),
        dated(0.0, ("Age", "600")),
    ],
)
def test_an_answer_without_a_date_of_its_own_says_nothing(response: Response) -> None:
    offsets, clock = ClockOffsets(), FakeClock()
    offsets.note("acme", ORIGIN, response, clock)
    assert offsets.of("acme", ORIGIN, clock) == 0


def test_a_clock_is_looked_at_again_after_a_minute() -> None:
    offsets, clock = ClockOffsets(), FakeClock()
    offsets.note("acme", ORIGIN, dated(clock.now() + 600), clock)
    offsets.note("acme", ORIGIN, dated(clock.now()), clock)
    assert offsets.of("acme", ORIGIN, clock) > 500
    clock.advance(61)
    offsets.note("acme", ORIGIN, dated(clock.now()), clock)
    assert offsets.of("acme", ORIGIN, clock) == 0


def test_many_origins_take_a_bounded_place() -> None:
    offsets, clock = ClockOffsets(), FakeClock()
    for number in range(1100):
        origin = parse_url(f"https://h{number}.example/").origin
        offsets.note("acme", origin, dated(clock.now() + 60), clock)
    assert len(offsets._measured) <= 1024


@pytest.mark.parametrize("follows", [True, False])
def test_timestamps_follow_the_api_only_where_that_is_switched_on(
    *, follows: bool
) -> None:
    made = configuration(
        environment="test",
        script="def compute_auth_header(sync_line): return {}",
        **{"verification.follow_clock": follows},
    )
    world = fake_gateway(made)
    at = world.clock.now() + 600
    world.transport.responses = [dated(at), dated(at)]
    for _ in range(2):
        world.gateway.send("acme", "GET", "/")
    shifts = [call.shift for call in world.scripts.calls]
    assert shifts == [0, pytest.approx(600, abs=1) if follows else 0]


def test_a_clock_that_is_a_day_off_is_not_believed() -> None:
    offsets, clock = ClockOffsets(), FakeClock()
    offsets.note("acme", ORIGIN, dated(clock.now() + 100_000), clock)
    assert offsets.of("acme", ORIGIN, clock) == 0


def test_what_nobody_confirms_is_forgotten() -> None:
    offsets, clock = ClockOffsets(), FakeClock()
    offsets.note("acme", ORIGIN, dated(clock.now() + 60), clock)
    clock.advance(601)
    assert offsets.of("acme", ORIGIN, clock) == 0


def test_two_configurations_do_not_believe_each_other() -> None:
    offsets, clock = ClockOffsets(), FakeClock()
    offsets.note("acme", ORIGIN, dated(clock.now() + 60), clock)
    assert offsets.of("other", ORIGIN, clock) == 0
