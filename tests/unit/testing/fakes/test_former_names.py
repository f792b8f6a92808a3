"""Programs that were written for version 0.2 of the fakes still run."""

from outkey.foundation.core.errors import ConnectionFailed
from outkey.sending.core.request.message import Response
from outkey.testing import FakeTransport, configuration, fake_gateway

OPEN = configuration(no_auth_reason="public_api")


def test_responses_can_be_given_by_their_former_name() -> None:
    world = fake_gateway(OPEN, answers=[Response(204)])
    assert world.gateway.send("acme", "GET", "/").status == 204
    world.transport.answers = [Response(201)]
    assert world.transport.answers is world.transport.responses
    assert world.gateway.send("acme", "GET", "/").status == 201


def test_a_transport_takes_responses_by_both_names_and_by_place() -> None:
    responses = [Response(200), ConnectionFailed()]
    assert FakeTransport(responses) == FakeTransport(answers=responses)
    assert FakeTransport(responses).responses is responses
    assert FakeTransport() == FakeTransport(responses=[])
