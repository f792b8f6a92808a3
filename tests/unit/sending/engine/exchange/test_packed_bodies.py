"""Large bodies, which are compressed in memory while they arrive."""

from outkey.foundation.core.errors import ConnectionFailed
from outkey.sending.core.audit.events import Outcome
from outkey.sending.core.request.message import Response
from outkey.sending.engine.exchange.calls import build_call
from outkey.testing import configuration, fake_gateway
from unit.sending.engine.tokens.test_expired_tokens import Arriving

ACME = configuration(authentication_type="bearer", limits__retries=1)


def test_a_body_that_breaks_off_is_requested_and_recorded_again() -> None:
    broken = Arriving(b"id\n1", ConnectionFailed())
    whole = Arriving(b"id\n", b"1\n2\n")
    responses = [Response(200, stream=body) for body in (broken, whole)]
    fake = fake_gateway(ACME, responses=responses, secrets={"token": "t" * 20})
    response = fake.sender.send(build_call(ACME, "GET", "/export.csv"), packs=True)
    assert (response.body, response.stream) == (b"", None)
    assert response.packed is not None
    assert b"".join(response.packed) == b"id\n1\n2\n"
    assert (broken.is_closed, whole.is_closed) == (True, True)
    records = [each for each in fake.audit.events if isinstance(each, Outcome)]
    assert [record.outcome for record in records] == ["connection", "ok"]


def test_only_a_transport_that_packs_is_asked_to_stream() -> None:
    fake = fake_gateway(ACME, secrets={"token": "t" * 20})
    call = build_call(ACME, "GET", "/orders")
    fake.sender.send(call)
    fake.sender.send(call, packs=True)
    assert [route.streams for _, route in fake.transport.sent] == [False, True]
