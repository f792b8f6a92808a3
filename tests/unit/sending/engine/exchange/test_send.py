import asyncio
import shlex
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from outkey.foundation.core.errors import (
    AuditUnavailable,
    ConfigError,
    ConnectionFailed,
    ConnectTimedOut,
    DnsFailed,
    EgressDenied,
    HeaderConflict,
    HeaderFormatError,
    OutkeyError,
    RateLimited,
    RedirectBlocked,
    ResponseBroken,
    ScriptFailed,
    SecretMissing,
    SecretRebindRequired,
    TimedOut,
    TlsBelowFloor,
    UnknownConfiguration,
)
from outkey.foundation.core.fields.choices import RateHeaders
from outkey.foundation.core.moments import moment_text
from outkey.foundation.core.secret import Secret
from outkey.sending.core.audit.events import Intent, Outcome, Refusal, path_template
from outkey.sending.core.configuration.custom_rows import CustomHeader
from outkey.sending.core.configuration.secret_state import SecretState
from outkey.sending.core.request.assembly import Call
from outkey.sending.core.request.message import Request, Response, ResponseHeaders
from outkey.sending.engine.wire.drive import drive
from outkey.sending.engine.wire.steps import Wait
from outkey.sync.core.line.line import SyncLine
from outkey.testing import configuration, fake_gateway
from outkey.testing.fakes.basic import FakeWorld

BEARER = {"authentication_type": "bearer"}
TOKEN = {"token": "abc"}


def world(
    *responses: Response | OutkeyError,
    secrets: dict[str, str] | None = None,
    **values: object,
) -> FakeWorld:
    return fake_gateway(
        configuration(**(BEARER | values)),
        responses=list(responses),
        secrets=secrets or TOKEN,
    )


def answered(status: int, *headers: tuple[str, str], body: bytes = b"") -> Response:
    return Response(status, ResponseHeaders(headers), body)


def sent_headers(request: Request) -> dict[str, str]:
    return {
        name: value.reveal() if isinstance(value, Secret) else value
        for name, value, _ in request.headers
    }


def test_a_request_carries_defaults_rows_authentication_and_the_callers_headers() -> (
    None
):
    rows = (
        CustomHeader("X-API-Key", "", secret=True),
        CustomHeader("X-Tenant", "7", secret=False),
    )
    made = configuration(headers=rows, base_url="https://api.acme.example/v2", **BEARER)
    fake = fake_gateway(made, secrets={"token": "abc", "header:X-API-Key": " k\n"})
    fake.gateway.send(
        "acme",
        "post",
        "/orders",
        params={"page": 2},
        json={"ä": 1},
        headers={"X-Trace": "t"},
    )
    ((request, route),) = fake.transport.sent
    assert (request.method, request.url) == (
        "POST",
        "https://api.acme.example/v2/orders?page=2",
    )
    assert sent_headers(request) == {
        "Host": "api.acme.example",
        "Content-Length": "9",
        "User-Agent": "outkey",
        "Accept": "*/*",
        "Accept-Encoding": "gzip, deflate",
        "Content-Type": "application/json",
        "X-Trace": "t",
        "X-API-Key": "k",
        "X-Tenant": "7",
        "Authorization": "Bearer abc",
    }
    assert request.body == '{"ä": 1}'.encode()
    assert (route.addresses, route.partition) == (("93.184.215.14",), "acme")


@pytest.mark.parametrize(
    ("data", "body", "kind"),
    [
        ("text ä", "text ä".encode(), "text/plain; charset=utf-8"),
        (b"\x00\x01", b"\x00\x01", "application/octet-stream"),
        (
            {"a": "1 2", "b": ["x", "y"]},
            b"a=1+2&b=x&b=y",
            "application/x-www-form-urlencoded",
        ),
    ],
)
def test_data_is_sent_as_what_it_is(data: object, body: bytes, kind: str) -> None:
    fake = world()
    fake.gateway.send("acme", "PUT", "/", data=data)  # type: ignore[arg-type]
    request = fake.transport.sent[0][0]
    assert (request.body, sent_headers(request)["Content-Type"]) == (body, kind)


def test_a_get_has_no_content_length_and_an_empty_post_has_one() -> None:
    fake = world()
    fake.gateway.send("acme", "GET", "/")
    fake.gateway.send("acme", "POST", "/")
    lengths = [
        sent_headers(request).get("Content-Length")
        for request, _ in fake.transport.sent
    ]
    assert lengths == [None, "0"]


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"json": 1, "data": b""}, ConfigError),
        ({"data": 5}, ConfigError),
        ({"headers": {"Authorization": "x"}}, HeaderConflict),
        ({"headers": {"Host": "evil.example"}}, HeaderFormatError),
        ({"headers": {"X-A": "a\r\nb"}}, HeaderFormatError),
        ({"line": "unknown"}, UnknownConfiguration),
        ({"params": {"a": None}}, ConfigError),
        ({"data": {"a": object()}}, ConfigError),
    ],
)
def test_a_wrong_call_is_refused_before_anything_is_sent(
    arguments: dict[str, object], error: type[OutkeyError]
) -> None:
    fake = world()
    with pytest.raises(error):
        fake.gateway.send("acme", "GET", "/", **arguments)  # type: ignore[arg-type]
    assert fake.transport.sent == []


@pytest.mark.parametrize(
    ("name", "method", "path", "error"),
    [
        ("nobody", "GET", "/", UnknownConfiguration),
        ("acme", "G T", "/", ConfigError),
        ("acme", "GET", "https://evil.example/", ConfigError),
    ],
)
def test_a_wrong_destination_is_refused_before_anything_is_sent(
    name: str, method: str, path: str, error: type[OutkeyError]
) -> None:
    fake = world()
    with pytest.raises(error):
        fake.gateway.send(name, method, path)
    assert fake.transport.sent == []


def test_a_missing_secret_sends_nothing_and_is_recorded_as_a_refusal() -> None:
    fake = world(secrets={"other": "x"})
    with pytest.raises(SecretMissing):
        fake.gateway.send("acme", "GET", "/")
    assert fake.transport.sent == []
    assert fake.audit.events == [Refusal("", "acme", "", "secret_missing")]


def test_an_answer_is_returned_with_cause_remedy_and_attempt() -> None:
    fake = world(answered(401))
    response = fake.gateway.send("acme", "GET", "/")
    assert (response.cause, response.attempt) == ("invalid_credentials", "attempt-1")
    assert response.remedy == "Check the username and password, or the token."


# ── egress ────────────────────────────────────────────────────────────────────────────


def test_a_name_that_leads_inside_is_refused_before_anything_is_sent() -> None:
    fake = fake_gateway(
        configuration(**BEARER),
        secrets=TOKEN,
        names={"api.acme.example": ("93.184.215.14", "10.0.0.1")},
    )
    with pytest.raises(EgressDenied):
        fake.gateway.send("acme", "GET", "/")
    assert fake.transport.sent == []
    assert fake.audit.events == [Refusal("", "acme", "", "egress_denied")]


def test_an_address_is_not_resolved_and_a_name_once_an_attempt() -> None:
    fake = world(base_url="http://127.0.0.1:8000", network="internal")
    fake.gateway.send("acme", "GET", "/")
    assert fake.resolver.asked == []
    assert fake.transport.sent[0][1].addresses == ("127.0.0.1",)
    fake = world(answered(503), answered(200))
    fake.gateway.send("acme", "GET", "/")
    assert fake.resolver.asked == ["api.acme.example"] * 2


def test_an_unknown_name_is_not_retried() -> None:
    fake = fake_gateway(configuration(**BEARER), secrets=TOKEN, names={})
    with pytest.raises(DnsFailed):
        fake.gateway.send("acme", "GET", "/")
    assert fake.resolver.asked == ["api.acme.example"]
    assert fake.audit.events == [Refusal("", "acme", "", "dns")]


def test_a_secret_of_another_origin_is_not_sent() -> None:
    made = configuration(**BEARER)
    moved = replace(made, secrets={"token": SecretState("https://old.example:443")})
    fake = fake_gateway(moved, secrets=TOKEN)
    with pytest.raises(SecretRebindRequired):
        fake.gateway.send("acme", "GET", "/")
    assert fake.transport.sent == []
    assert [f.id for f in fake.findings("acme")] == ["E-secret_rebind_required"]
    bound = replace(
        made, secrets={"token": SecretState("https://api.acme.example:443")}
    )
    assert (
        fake_gateway(bound, secrets=TOKEN).gateway.send("acme", "GET", "/").status
        == 200
    )


# ── redirects ─────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize(
    "location",
    [
        "https://evil.example/",
        "https://api.acme.example:8443/",
        "http://api.acme.example/",
        "//evil.example/x",
        "https://api.acme.example@evil.example/",
        "https://api.acme.example:x/",
        "/\\evil.example",
        "javascript:alert(1)",
    ],
)
def test_a_redirect_elsewhere_is_blocked_and_nothing_more_is_sent(
    status: int, location: str
) -> None:
    fake = world(answered(status, ("Location", location)))
    with pytest.raises(RedirectBlocked) as caught:
        fake.gateway.send("acme", "GET", "/")
    assert len(fake.transport.sent) == 1
    assert "alert" not in caught.value.message
    assert fake.audit.events[-1] == Refusal("attempt-1", "acme", "", "redirect_blocked")


@pytest.mark.parametrize(
    ("status", "method", "then", "body"),
    [
        (301, "GET", "GET", b""),
        (301, "POST", "GET", b""),
        (302, "POST", "GET", b""),
        (302, "PUT", "PUT", b"x"),
        (303, "PUT", "GET", b""),
        (303, "HEAD", "HEAD", b""),
        (307, "POST", "POST", b"x"),
        (308, "POST", "POST", b"x"),
    ],
)
def test_a_redirect_to_the_same_origin_is_followed_with_credentials(
    status: int, method: str, then: str, body: bytes
) -> None:
    fake = world(answered(status, ("Location", "next?y=1")), answered(200))
    fake.gateway.send(
        "acme", method, "/a/b?x=1", data=b"x" if method in {"POST", "PUT"} else None
    )
    request = fake.transport.sent[1][0]
    assert (request.method, request.target, request.body) == (then, "/a/next?y=1", body)
    headers = sent_headers(request)
    assert headers["Authorization"] == "Bearer abc"
    assert ("Content-Type" in headers, "Content-Length" in headers) == (
        bool(body),
        bool(body),
    )


def test_the_fourth_hop_is_blocked() -> None:
    fake = world(*[answered(302, ("Location", "/loop"))] * 5)
    with pytest.raises(RedirectBlocked, match="more than 3 times"):
        fake.gateway.send("acme", "GET", "/")
    assert len(fake.transport.sent) == 4


@pytest.mark.parametrize("response", [answered(302), answered(304, ("Location", "/x"))])
def test_what_only_looks_like_a_redirect_is_the_answer(response: Response) -> None:
    fake = world(response)
    assert fake.gateway.send("acme", "GET", "/").status == response.status


# ── retries, waits and deadlines ──────────────────────────────────────────────────────


@pytest.mark.parametrize("status", [429, 502, 503, 504])
@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS", "PUT", "DELETE"])
def test_an_idempotent_request_is_repeated_after_a_passing_error(
    status: int, method: str
) -> None:
    fake = world(answered(status), answered(status), answered(200))
    assert fake.gateway.send("acme", method, "/").status == 200
    assert fake.clock.sleeps == pytest.approx([0.1875, 0.375])


@pytest.mark.parametrize("method", ["POST", "PATCH"])
@pytest.mark.parametrize("answer", [answered(503), ConnectionFailed()])
def test_a_request_that_is_not_idempotent_is_sent_once(
    method: str, answer: Response | OutkeyError
) -> None:
    fake = world(answer, answered(200))
    if isinstance(answer, Response):
        assert fake.gateway.send("acme", method, "/").status == 503
    else:
        with pytest.raises(ConnectionFailed):
            fake.gateway.send("acme", method, "/")
    assert len(fake.transport.sent) == 1


def test_a_connection_that_fails_before_an_answer_is_tried_again() -> None:
    fake = world(ConnectionFailed(), answered(200))
    assert fake.gateway.send("acme", "GET", "/").status == 200


def test_a_connection_that_could_not_be_opened_in_time_is_tried_again() -> None:
    fake = world(ConnectTimedOut(), answered(200))
    assert fake.gateway.send("acme", "GET", "/").status == 200


@pytest.mark.parametrize("error", [ResponseBroken(), TimedOut()])
def test_an_answer_that_broke_or_did_not_come_in_time_is_not_tried_again(
    error: OutkeyError,
) -> None:
    fake = world(error, answered(200))
    with pytest.raises(type(error)):
        fake.gateway.send("acme", "GET", "/")
    assert len(fake.transport.sent) == 1


@pytest.mark.parametrize("status", [400, 401, 403, 404, 500, 501])
def test_other_errors_are_not_repeated(status: int) -> None:
    fake = world(answered(status))
    assert fake.gateway.send("acme", "GET", "/").status == status
    assert len(fake.transport.sent) == 1


def test_retries_are_as_many_as_configured_and_the_last_answer_counts() -> None:
    fake = world(*[answered(503)] * 9, limits__retries=3)
    assert fake.gateway.send("acme", "GET", "/").status == 503
    assert len(fake.transport.sent) == 4
    fake = world(*[ConnectionFailed()] * 9, limits__retries=0)
    with pytest.raises(ConnectionFailed):
        fake.gateway.send("acme", "GET", "/")
    assert len(fake.transport.sent) == 1


def test_retry_after_is_honoured_within_the_total_time() -> None:
    fake = world(answered(429, ("Retry-After", "7")), answered(200))
    assert fake.gateway.send("acme", "GET", "/").status == 200
    assert fake.clock.sleeps == [7]
    fake = world(answered(429, ("Retry-After", "61")), answered(200))
    assert fake.gateway.send("acme", "GET", "/").cause == "rate_limited"
    assert fake.clock.sleeps == []


def test_retry_after_of_a_503_is_honoured_and_holds_nobody_else_up() -> None:
    fake = world(answered(503, ("Retry-After", "7")), answered(200))
    assert fake.gateway.send("acme", "GET", "/").status == 200
    assert fake.clock.sleeps == [7]
    fake = world(answered(503, ("Retry-After", "70")), answered(200))
    assert fake.gateway.send("acme", "GET", "/").status == 503
    assert fake.gateway.send("acme", "GET", "/").status == 200
    assert fake.clock.sleeps == []


def test_after_a_429_the_whole_configuration_waits_and_others_do_not() -> None:
    fake = fake_gateway(
        configuration(**BEARER),
        configuration("other", **BEARER),
        responses=[answered(429, ("Retry-After", "100"))],
        secrets=TOKEN,
    )
    assert fake.gateway.send("acme", "POST", "/").status == 429
    with pytest.raises(RateLimited, match="the API asked for a pause") as caught:
        fake.gateway.send("acme", "POST", "/")
    assert caught.value.field is None
    assert fake.gateway.send("other", "POST", "/").status == 200
    fake.clock.advance(100)
    assert fake.gateway.send("acme", "POST", "/").status == 200


SPENT = (("X-RateLimit-Remaining", "0"), ("X-RateLimit-Reset", "20"))
LONG_SPENT = (("X-RateLimit-Remaining", "0"), ("X-RateLimit-Reset", "3600"))


def test_a_request_waits_for_the_budget_that_the_response_before_it_has_spent() -> None:
    fake = world(answered(200, *SPENT), limits__rate_headers=RateHeaders.ALL)
    fake.gateway.send("acme", "POST", "/")
    assert fake.clock.sleeps == []
    fake.gateway.send("acme", "POST", "/")
    assert fake.clock.sleeps == [20]


def test_a_send_is_refused_while_the_budget_is_spent_for_longer_than_it_may_take() -> (
    None
):
    fake = world(answered(200, *LONG_SPENT), limits__rate_headers=RateHeaders.ALL)
    fake.gateway.send("acme", "GET", "/")
    with pytest.raises(RateLimited, match="no request is left") as refused:
        fake.gateway.send("acme", "GET", "/")
    assert refused.value.pause == 3600
    until = moment_text(fake.clock.now() + 3600)
    assert refused.value.hint == f"Retry after {until}."
    assert len(fake.transport.sent) == 1
    assert fake.audit.events[-1] == Refusal("", "acme", "", "rate_limited")
    fake.clock.advance(3600)
    assert fake.gateway.send("acme", "GET", "/").status == 200


@pytest.mark.parametrize("heeding", [RateHeaders.RUNS, RateHeaders.OFF])
def test_other_sends_neither_wait_for_a_spent_budget_nor_note_one(
    heeding: RateHeaders,
) -> None:
    fake = world(answered(200, *LONG_SPENT), limits__rate_headers=heeding)
    fake.gateway.send("acme", "GET", "/")
    fake.gateway.send("acme", "GET", "/")
    assert fake.ports.permits.budget_wait("acme") == 0
    fake.ports.permits.note_spent_budget("acme", 3600)
    assert fake.gateway.send("acme", "GET", "/").status == 200


@pytest.mark.parametrize(
    ("heeding", "is_heeded"),
    [(RateHeaders.ALL, True), (RateHeaders.RUNS, True), (RateHeaders.OFF, False)],
)
def test_a_request_of_a_run_heeds_the_budget_unless_that_is_off(
    heeding: RateHeaders,
    is_heeded: bool,  # noqa: FBT001 - a parameter
) -> None:
    fake = world(answered(200, *SPENT), limits__rate_headers=heeding)
    made = fake.ports.configurations.get("acme")
    for _ in range(2):
        fake.sender.send(Call(made, "GET", "/", of_run=True))
    assert fake.clock.sleeps == ([20] if is_heeded else [])


def test_a_retry_after_a_429_waits_for_the_reset_that_it_states() -> None:
    fake = world(answered(429, *SPENT), limits__rate_headers=RateHeaders.ALL)
    assert fake.gateway.send("acme", "GET", "/").status == 200
    assert fake.clock.sleeps == [20]


def test_a_429_whose_reset_is_too_far_away_is_returned_at_once() -> None:
    fake = world(answered(429, *LONG_SPENT), limits__rate_headers=RateHeaders.ALL)
    assert fake.gateway.send("acme", "GET", "/").status == 429
    assert fake.clock.sleeps == []


def test_a_request_after_a_challenge_or_a_redirect_waits_for_the_budget_too() -> None:
    moved = answered(302, ("Location", "/other"), *SPENT)
    fake = world(moved, limits__rate_headers=RateHeaders.ALL)
    assert fake.gateway.send("acme", "GET", "/").status == 200
    assert fake.clock.sleeps == [20]
    challenge = ("WWW-Authenticate", 'Digest realm="a", nonce="n", qop="auth"')
    digest = {"authentication_type": "digest", "username": "u"}
    fake = world(
        answered(401, challenge, *SPENT),
        secrets={"password": "p"},
        limits__rate_headers=RateHeaders.ALL,
        **digest,
    )
    assert fake.gateway.send("acme", "GET", "/").status == 200
    assert fake.clock.sleeps == [20]


def test_a_rate_limit_waits_within_the_total_time_and_then_refuses() -> None:
    fake = world(limits__requests_per_minute=1, limits__total_timeout=30)
    fake.gateway.send("acme", "GET", "/")
    with pytest.raises(RateLimited) as caught:
        fake.gateway.send("acme", "GET", "/")
    assert caught.value.field == "limits.requests_per_minute"
    fake = world(limits__requests_per_minute=2, limits__total_timeout=60)
    for _ in range(3):
        fake.gateway.send("acme", "GET", "/")
    assert fake.clock.sleeps == [30, 30]


def test_the_total_time_includes_waits_and_retries() -> None:
    fake = world(*[answered(503)] * 20, limits__total_timeout=1, limits__retries=10)
    fake.transport.delay = 0.3
    assert fake.gateway.send("acme", "GET", "/").status == 503
    assert fake.clock.monotonic() <= 1.0
    lefts = [route.time_left for _, route in fake.transport.sent]
    assert lefts == sorted(lefts, reverse=True)


def test_no_time_left_is_a_time_out_and_nothing_is_sent() -> None:
    fake = world(limits__total_timeout=1)
    resolve = fake.resolver.resolve

    def slow(host: str, port: int, timeout: float) -> tuple[str, ...]:
        fake.clock.advance(2)
        return resolve(host, port, timeout)

    fake.resolver.resolve = slow  # type: ignore[method-assign]
    with pytest.raises(TimedOut):
        fake.gateway.send("acme", "GET", "/")
    assert fake.transport.sent == []


# ── audit ─────────────────────────────────────────────────────────────────────────────


def test_the_intent_is_recorded_before_and_the_outcome_after() -> None:
    fake = fake_gateway(
        configuration(**BEARER),
        secrets=TOKEN,
        lines=[SyncLine("orders", "acme", "GET", "/orders")],
    )
    seen_when_sent: list[int] = []
    fake.transport.responses = lambda _: (
        seen_when_sent.append(len(fake.audit.events)),
        Response(200),
    )[1]
    fake.gateway.send("acme", "GET", "/orders?secret=x", line="orders")
    assert seen_when_sent == [1]
    intent, outcome = fake.audit.events
    assert isinstance(intent, Intent)
    assert (intent.configuration, intent.line, intent.method) == (
        "acme",
        "orders",
        "GET",
    )
    assert (intent.origin, intent.path) == ("https://api.acme.example", "/orders")
    assert "Authorization" in intent.header_names
    assert outcome == Outcome("attempt-1", "acme", 200, "ok", 0)


def test_every_attempt_is_recorded_with_its_number_and_end() -> None:
    fake = world(answered(503), ConnectionFailed(), answered(404))
    fake.gateway.send("acme", "GET", "/")
    retries = [e.retry for e in fake.audit.events if isinstance(e, Intent)]
    outcomes = [
        (e.status, e.outcome) for e in fake.audit.events if isinstance(e, Outcome)
    ]
    assert retries == [0, 1, 2]
    assert outcomes == [(503, "server_error"), (0, "connection"), (404, "not_found")]


def test_no_record_no_send_and_no_second_try() -> None:
    fake = world()
    fake.audit.broken = True
    with pytest.raises(AuditUnavailable):
        fake.gateway.send("acme", "GET", "/")
    assert (fake.transport.sent, fake.clock.sleeps) == ([], [])


def test_what_has_an_outcome_is_not_recorded_as_a_refusal_too() -> None:
    fake = world(TlsBelowFloor())
    with pytest.raises(TlsBelowFloor):
        fake.gateway.send("acme", "GET", "/")
    intent, outcome = fake.audit.events
    assert isinstance(intent, Intent)
    assert outcome == Outcome("attempt-1", "acme", 0, "tls", 0)


@pytest.mark.parametrize(
    ("target", "template"),
    [
        ("/", "/"),
        ("/v2/orders?key=canary", "/v2/orders"),
        ("/orders/4711/lines", "/orders/{}/lines"),
        ("/bot123:canary/send-message", "/{}/send-message"),
        ("/users/jane%20doe", "/users/{}"),
        ("/canary" * 3 + "a" * 40, "/canary/canary/{}"),
        ("/api.json/", "/api.json/"),
    ],
)
def test_a_recorded_path_keeps_words_and_hides_values(
    target: str, template: str
) -> None:
    assert path_template(target) == template


def test_a_line_of_another_configuration_is_refused() -> None:
    fake = fake_gateway(
        configuration(**BEARER),
        secrets=TOKEN,
        lines=[SyncLine("orders", "other", "GET", "/")],
    )
    with pytest.raises(ConfigError, match="another configuration"):
        fake.gateway.send("acme", "GET", "/", line="orders")


# ── the two loops ─────────────────────────────────────────────────────────────────────


def by_gateway(fake: FakeWorld) -> Response:
    return fake.gateway.send("acme", "GET", "/")


def by_event_loop(fake: FakeWorld) -> Response:
    return asyncio.run(fake.gateway.asend("acme", "GET", "/"))


@pytest.mark.parametrize("send", [by_gateway, by_event_loop])
@pytest.mark.parametrize(
    "responses",
    [
        [answered(200)],
        [answered(503), answered(200)],
        [answered(302, ("Location", "/x")), answered(200)],
        [answered(429, ("Retry-After", "3")), ConnectionFailed(), answered(401)],
        [answered(302, ("Location", "https://evil.example/"))],
        [TimedOut()],
    ],
)
def test_both_loops_take_the_same_way(
    send: Callable[[FakeWorld], Response], responses: list[Response | OutkeyError]
) -> None:
    expected, actual = world(*responses), world(*responses)
    results = []
    for fake, how in ((expected, by_gateway), (actual, send)):
        try:
            results.append(how(fake))
        except OutkeyError as error:
            results.append(type(error))
    assert results[0] == results[1]
    assert [r.url for r, _ in actual.transport.sent] == [
        r.url for r, _ in expected.transport.sent
    ]
    assert actual.audit.events == expected.audit.events
    assert actual.clock.sleeps == expected.clock.sleeps


def test_an_abandoned_flow_is_closed() -> None:
    closed = threading.Event()

    def flow():  # noqa: ANN202 - a generator by hand
        try:
            yield Wait(1)
        finally:
            closed.set()

    class Broken:
        def perform(self, step: object) -> None:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        drive(flow(), Broken())  # type: ignore[arg-type]
    assert closed.is_set()


# ── preview and lending ───────────────────────────────────────────────────────────────


def test_a_preview_shows_every_header_with_its_source_and_no_secret() -> None:
    rows = (
        CustomHeader("X-API-Key", "", secret=True),
        CustomHeader("User-Agent", "mine", secret=False),
    )
    made = configuration(headers=rows, verification__test_path="/me", **BEARER)
    fake = fake_gateway(
        made, secrets={"token": "Bearer canary", "header:X-API-Key": "canary2"}
    )
    shown = fake.gateway.preview("acme")
    assert (shown.method, shown.url) == ("GET", "https://api.acme.example/me")
    assert [tuple(header) for header in shown.headers] == [
        ("Host", "api.acme.example", "default"),
        ("User-Agent", "mine", "header row"),
        ("Accept", "*/*", "default"),
        ("Accept-Encoding", "gzip, deflate", "default"),
        ("X-API-Key", "***", "header row"),
        ("Authorization", "Bearer ***", "authentication"),
    ]
    assert [finding.id for finding in shown.findings] == ["N001"]
    assert "canary" not in repr(shown)
    assert (fake.transport.sent, fake.resolver.asked, fake.audit.events) == ([], [], [])


def test_a_preview_as_curl_has_a_variable_for_every_secret_and_quotes_the_rest() -> (
    None
):
    rows = (
        CustomHeader("X-API-Key", "", secret=True),
        CustomHeader("X`id`'", "a'b", secret=False),
    )
    made = configuration(headers=rows, authentication_type="bearer")
    fake = fake_gateway(made, secrets={"token": "canary", "header:X-API-Key": "canary"})
    command = fake.gateway.preview("acme", "POST", "/a b", params={"q": "$(id)"}).curl()
    words = shlex.split(command.replace("\\\n", ""))
    assert words[:4] == [
        "curl",
        "--request",
        "POST",
        fake.gateway.preview("acme", "POST", "/a b", params={"q": "$(id)"}).url,
    ]
    headers = [words[n + 1] for n, word in enumerate(words) if word == "--header"]
    assert "Authorization: Bearer $AUTHORIZATION" in headers
    assert "X-API-Key: $X_API_KEY" in headers
    assert "X`id`': a'b" in headers
    assert "canary" not in command
    assert not any(header.startswith(("Host", "Accept-Encoding")) for header in headers)


def test_a_preview_as_curl_lets_curl_build_basic_credentials() -> None:
    made = configuration(authentication_type="basic", username="user")
    fake = fake_gateway(made, secrets={"password": "canary"})
    assert '--user user:"$PASSWORD"' in fake.gateway.preview("acme").curl()


def test_a_preview_takes_what_send_takes() -> None:
    shown = world().gateway.preview(
        "acme",
        "put",
        "/orders",
        params={"page": 2},
        json={"a": 1},
        headers={"X-Trace": "t"},
    )
    assert (shown.method, shown.url) == (
        "PUT",
        "https://api.acme.example/orders?page=2",
    )
    assert ("Content-Length", "8", "default") in shown.headers
    assert ("X-Trace", "t", "caller") in shown.headers


def test_credentials_are_lent_for_the_own_origin_only() -> None:
    fake = world()
    loan = fake.gateway.lend(
        "acme", "GET", "https://api.acme.example/x", ["Accept", "User-Agent"]
    )
    assert sent_headers(Request("GET", None, "/", loan.headers)) == {
        "Authorization": "Bearer abc"
    }  # type: ignore[arg-type]
    fake.gateway.settle(loan, 200)
    assert isinstance(fake.audit.events[0], Intent)
    assert fake.audit.events[1] == Outcome("attempt-1", "acme", 200, "ok", 0)
    for url in ("https://evil.example/x", "http://api.acme.example/x"):
        with pytest.raises(EgressDenied) as caught:
            fake.gateway.lend("acme", "GET", url, [])
        assert "example" not in caught.value.message
    with pytest.raises(HeaderConflict):
        fake.gateway.lend("acme", "GET", "https://api.acme.example/", ["authorization"])


def test_credentials_for_an_address_that_nobody_may_send_to_are_not_lent() -> None:
    fake = world(base_url="https://10.0.0.1")
    with pytest.raises(EgressDenied):
        fake.gateway.lend("acme", "GET", "https://10.0.0.1/x", [])
    assert [type(event) for event in fake.audit.events] == [Refusal]


@pytest.mark.parametrize(
    "parts",
    [
        {"params": {"q": "\ud800"}},
        {"data": {"q": "\ud800"}},
        {"data": "\ud800"},
        {"json": "\ud800"},
    ],
)
def test_text_that_utf_8_cannot_encode_is_refused(parts: dict[str, Any]) -> None:
    fake = world()
    with pytest.raises(ConfigError, match="UTF-8 cannot encode") as caught:
        fake.gateway.send("acme", "POST", "/", **parts)
    assert caught.value.field == next(iter(parts))
    assert fake.transport.sent == []


SIGNED = "def compute_auth_header(sync_line): return {}"


def test_a_script_signs_the_body_that_another_client_will_send() -> None:
    fake = world(script=SIGNED)
    fake.gateway.lend(
        "acme", "POST", "https://api.acme.example/x?a=%20b", [], body=b"pay 100"
    )
    (call,) = fake.scripts.calls
    assert (call.body, call.path, call.query) == (b"pay 100", "/x", "a=%20b")


@pytest.mark.parametrize(
    ("url", "body", "reason"),
    [
        ("https://api.acme.example/x", None, "stream"),
        ("https://api.acme.example/x?a=[1]|", b"", "another form"),
        ("https://api.acme.example:443/x", b"", "another form"),
    ],
)
def test_what_would_be_sent_in_another_form_than_it_is_signed_in_is_refused(
    url: str, body: bytes | None, reason: str
) -> None:
    fake = world(script=SIGNED)
    with pytest.raises(ScriptFailed, match=reason):
        fake.gateway.lend("acme", "POST", url, [], body=body)
    assert fake.scripts.calls == []
    fake = world()
    assert fake.gateway.lend("acme", "POST", url, [], body=body), (
        "without a script it is no matter"
    )


def test_the_names_that_a_script_chooses_are_not_recorded() -> None:
    fake = world(Response(200), script=SIGNED)
    fake.scripts.answer = lambda _call: {"X-Chosen": "text"}
    fake.gateway.send("acme", "GET", "/")
    (intent,) = (event for event in fake.audit.events if isinstance(event, Intent))
    assert "X-Chosen" not in intent.header_names
    assert "(script)" in intent.header_names


@pytest.mark.parametrize(("status", "outcome"), [(0, "unknown"), (401, "answered")])
def test_the_end_of_a_loan_is_recorded_with_its_duration(
    status: int, outcome: str
) -> None:
    fake = world()
    loan = fake.gateway.lend("acme", "GET", "https://api.acme.example/x", [])
    fake.clock.advance(0.25)
    fake.gateway.settle(loan, status)
    assert fake.audit.events[-1] == Outcome(loan.attempt, "acme", status, outcome, 250)


def test_a_loan_counts_against_the_rate_limit() -> None:
    fake = world(limits__requests_per_minute=1)
    fake.gateway.lend("acme", "GET", "https://api.acme.example/x", [])
    with pytest.raises(RateLimited):
        fake.gateway.lend("acme", "GET", "https://api.acme.example/x", [])
    assert fake.audit.events[-1] == Refusal("", "acme", "", "rate_limited")


def test_a_gateway_closes_its_transport_when_it_is_left() -> None:
    fake = world()
    closed: list[bool] = []
    fake.transport.close = lambda: closed.append(True)  # type: ignore[method-assign]
    with fake.gateway as gateway:
        gateway.send("acme", "GET", "/")
    assert closed == [True]


@pytest.mark.parametrize("method", ["CONNECT", "trace"])
def test_a_method_that_opens_a_tunnel_or_repeats_the_request_is_refused(
    method: str,
) -> None:
    fake = world()
    with pytest.raises(ConfigError, match="CONNECT or TRACE"):
        fake.gateway.send("acme", method, "/")
    assert fake.transport.sent == []
