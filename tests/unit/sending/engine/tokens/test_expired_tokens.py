"""Expired tokens: by status, and by a marker in a body of any status, also 200."""

import asyncio
import json
from dataclasses import replace

import pytest

from outkey.administration.core.access.relay import returned_headers
from outkey.foundation.core.errors import BadResponse, ConfigError, ResponseTooLarge
from outkey.sending.core.audit.events import Outcome
from outkey.sending.core.configuration.checks import refuse_unsavable
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.request.message import Request, Response
from outkey.sending.core.request.schemes.fetched import is_rejected
from outkey.sending.engine.exchange.calls import build_call
from outkey.sync.core.run.run import Counts, RunState
from outkey.testing import configuration, fake_gateway
from outkey.testing.fakes.basic import FakeWorld
from outkey.testing.fakes.storage import memory_registry
from unit.administration.core.access.test_api_access import Arriving
from unit.sending.core.oauth2.test_oauth2_token import refused
from unit.sending.engine.tokens.test_login_tokens import (
    LOGIN,
    PASSWORD,
    Api,
    reply,
    send,
    world,
)
from unit.sync.engine.pull.test_sync_run import PULL, PUSH, fake_sync, people, stored
from unit.sync.engine.pull.test_sync_run import Api as RecordsApi
from unit.sync.engine.push.test_sync_ledger import BATCH, shop
from unit.webhooks.engine.test_webhook_confirmation import MOLLIE, form, receiving

MARKER = "SESSION_OVER"
MARKED = {"verification__expired_marker": MARKER}
EXPIRED = {"error": MARKER}
SEARCHED = 64 * 1024


def oauth2(**values: object) -> Configuration:
    settings = {
        "authentication_type": "bearer",
        "token_source": "oauth2",
        "oauth2__token_url": "https://api.acme.example/token",
        "oauth2__client_id": "erp",
        "limits__retries": 2,
    }
    return configuration(**(settings | values))


class OAuthApi:
    """Grants tokens, and responds to everything else from a list."""

    def __init__(self, *responses: Response) -> None:
        self.responses = list(responses)
        self.requests: list[Request] = []
        self.grants = 0

    def __call__(self, request: Request) -> Response:
        if request.target == "/token":
            self.grants += 1
            return reply({"access_token": f"granted-{self.grants}", "expires_in": 900})
        self.requests.append(request)
        return self.responses.pop(0)


def oauth2_world(*responses: Response, **values: object) -> tuple[FakeWorld, OAuthApi]:
    api = OAuthApi(*responses)
    secrets = {"client_secret": "the-client-secret"}
    return fake_gateway(oauth2(**values), responses=api, secrets=secrets), api


# ── what rejects a token ────────────────────────────────────────────────────────────


@pytest.mark.parametrize("status", [200, 201, 302, 400, 403, 404, 418, 429, 500, 503])
def test_the_marker_rejects_the_token_whatever_the_status_is(status: int) -> None:
    response = Response(status, body=json.dumps(EXPIRED).encode())
    assert is_rejected(response, oauth2(**MARKED), lambda _: False)
    assert not is_rejected(response, oauth2(), lambda _: False)
    assert not is_rejected(Response(status), oauth2(**MARKED), lambda _: False)


def test_the_marker_is_searched_in_the_first_64_kib() -> None:
    inside = b" " * (SEARCHED - len(MARKER)) + MARKER.encode()
    assert is_rejected(Response(200, body=inside), oauth2(**MARKED), lambda _: False)
    outside = b" " + inside
    assert not is_rejected(
        Response(200, body=outside), oauth2(**MARKED), lambda _: False
    )


def test_the_marker_counts_also_beside_an_error_about_permissions() -> None:
    response = refused(403, "insufficient_scope", body=MARKER.encode())
    assert is_rejected(response, oauth2(**MARKED), lambda _: False)


@pytest.mark.parametrize("status", [200, 400, 403])
def test_a_marker_beside_a_repeated_secret_does_not_count(status: int) -> None:
    response = Response(status, body=MARKER.encode())
    assert not is_rejected(response, oauth2(**MARKED), lambda _: True)
    assert not is_rejected(response, oauth2(**MARKED))


@pytest.mark.parametrize(
    ("statuses", "status", "is_expired"),
    [
        ("401", 401, True),
        ("401", 498, False),
        ("401, 498", 498, True),
        ("498", 401, True),
        ("440-449", 440, True),
        ("440-449", 450, False),
        ("401, 403", 403, True),
    ],
)
def test_expired_statuses_reject_a_token_and_401_always_belongs_to_them(
    statuses: str,
    status: int,
    *,
    is_expired: bool,
) -> None:
    made = oauth2(verification__expired_statuses=statuses)
    assert is_rejected(Response(status), made) is is_expired


@pytest.mark.parametrize(
    "statuses", ["200", "401, 200-299", "302", "399-499", "", "abc", "600", "499-400"]
)
def test_a_success_cannot_be_an_expired_status(statuses: str) -> None:
    with pytest.raises(ConfigError) as caught:
        refuse_unsavable(oauth2(verification__expired_statuses=statuses))
    assert caught.value.field == "verification.expired_statuses"


# ── one renewal, one replay ─────────────────────────────────────────────────────────


@pytest.mark.parametrize("status", [200, 400, 404, 500, 503])
@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
def test_a_login_is_repeated_once_and_the_request_is_sent_again(
    status: int, method: str
) -> None:
    api = Api()
    fake = world(api, **MARKED)
    fake.gateway.send("acme", method, "/orders", json={"a": 1})
    api.api_answers.append(reply(EXPIRED, status))
    response = fake.gateway.send("acme", method, "/orders", json={"a": 1})
    assert (response.status, response.cause) == (200, None)
    assert api.seen == ["token-1", "token-1", "token-2"]
    bodies = [
        request.body
        for request, _ in fake.transport.sent
        if request.target == "/orders"
    ]
    assert bodies == [b'{"a": 1}'] * 3


def test_a_status_that_means_expired_renews_the_token() -> None:
    api = Api()
    fake = world(api, verification__expired_statuses="401, 498")
    send(fake)
    api.api_answers.append(Response(498))
    assert send(fake).status == 200
    assert len(api.logins) == 2


@pytest.mark.parametrize("status", [200, 400, 503])
def test_a_replay_with_the_marker_too_is_an_expired_token_and_not_sent_again(
    status: int,
) -> None:
    responses = [reply(EXPIRED, status) for _ in range(9)]
    fake, api = oauth2_world(*responses, **MARKED)
    response = fake.gateway.send("acme", "GET", "/orders")
    assert (response.status, response.cause) == (status, "token_expired")
    assert "got a new token, and it is rejected too" in str(response.remedy)
    assert (len(api.requests), api.grants) == (2, 2)
    with pytest.raises(BadResponse):
        response.raise_for_cause()
    ends = [e.outcome for e in fake.audit.events if isinstance(e, Outcome)]
    assert ends == ["ok", "token_expired", "ok", "token_expired"]


def test_a_replay_with_an_expired_status_too_is_an_expired_token() -> None:
    values = {"verification__expired_statuses": "401, 498"}
    fake, api = oauth2_world(Response(498), Response(498), **values)
    response = fake.gateway.send("acme", "GET", "/orders")
    assert (response.status, response.cause) == (498, "token_expired")
    assert (len(api.requests), api.grants) == (2, 2)


def test_an_event_loop_renews_as_well() -> None:
    fake, api = oauth2_world(reply(EXPIRED), reply({"ok": 1}), **MARKED)
    response = asyncio.run(fake.gateway.asend("acme", "POST", "/orders"))
    assert (response.json(), response.cause) == ({"ok": 1}, None)
    assert api.grants == 2


def test_a_marker_in_every_200_does_not_cost_a_token_each_time() -> None:
    fake, api = oauth2_world(*(reply(EXPIRED) for _ in range(20)), **MARKED)
    for _ in range(5):
        assert fake.gateway.send("acme", "GET", "/orders").cause == "token_expired"
    assert api.grants == 2


def test_a_success_with_the_marker_is_no_proof_of_the_credentials() -> None:
    registry = memory_registry([oauth2(**MARKED)])
    api = OAuthApi(reply(EXPIRED), reply(EXPIRED), reply({"ok": 1}))
    secrets = {"client_secret": "the-client-secret"}
    fake = fake_gateway(responses=api, secrets=secrets, registry=registry)
    fake.gateway.send("acme", "GET", "/orders")
    assert not registry.get("acme").is_proved
    fake.gateway.send("acme", "GET", "/orders")
    assert registry.get("acme").is_proved


def test_a_200_that_echoes_the_token_is_passed_on_as_it_is() -> None:
    def echo(request: Request) -> Response:
        if request.target == "/token":
            return reply({"access_token": f"granted-{MARKER}", "expires_in": 900})
        return reply({"authorization": f"Bearer granted-{MARKER}"})

    fake = fake_gateway(
        oauth2(**MARKED), responses=echo, secrets={"client_secret": "the-client-secret"}
    )
    assert fake.gateway.send("acme", "GET", "/orders").cause is None
    assert len(fake.transport.sent) == 2


def test_an_entered_token_is_called_expired_and_sent_once() -> None:
    made = configuration(authentication_type="bearer", **MARKED)
    fake = fake_gateway(made, responses=[reply(EXPIRED)], secrets={"token": "entered"})
    assert fake.gateway.send("acme", "GET", "/orders").cause == "token_expired"


def test_a_password_cannot_expire_by_a_marker() -> None:
    made = configuration(authentication_type="basic", username="u", **MARKED)
    fake = fake_gateway(made, responses=[reply(EXPIRED)], secrets={"password": "p"})
    assert fake.gateway.send("acme", "GET", "/orders").cause is None


def test_a_connection_test_fails_with_the_marker_in_a_200() -> None:
    values = MARKED | {"verification__compare": False}
    fake, _ = oauth2_world(*(reply(EXPIRED) for _ in range(9)), **values)
    report = fake.gateway.test("acme")
    assert (report.ok, report.cause) == (False, "token_expired")


# ── a body that the caller reads as it arrives ──────────────────────────────────────


def stream(*bodies: Arriving) -> tuple[Response, OAuthApi, list[str]]:
    """Send a request whose responses have these bodies; also return the outcomes."""
    responses = (Response(200, stream=body) for body in bodies)
    fake, api = oauth2_world(*responses, **MARKED)
    made = fake.ports.configurations.get("acme")
    response = fake.sender.stream(build_call(made, "GET", "/orders"))
    return response, api, outcomes(fake)


def outcomes(fake: FakeWorld) -> list[str]:
    return [event.outcome for event in fake.audit.events if isinstance(event, Outcome)]


def test_the_start_of_an_arriving_body_is_searched_for_the_marker() -> None:
    expired = Arriving(b"SESS", b"ION_OVER", b"!")
    response, api, ends = stream(expired, Arriving(b"a", b"b"))
    assert response.stream is not None
    assert b"".join(response.stream) == b"ab"
    assert (response.cause, api.grants) == (None, 2)
    assert ends == ["ok", "token_expired", "ok"]


def test_an_arriving_body_is_passed_on_whole_after_its_start_was_searched() -> None:
    parts = [b"x" * 40_000, b"y" * 40_000, b"z" * 40_000]
    body = Arriving(*parts)
    response, _, _ = stream(body)
    assert response.stream is not None
    arriving = iter(response.stream)
    assert next(arriving) == parts[0] + parts[1]  # no more was waited for
    assert next(arriving) == parts[2]
    response.stream.close()
    assert body.is_closed


def test_the_marker_after_the_start_of_an_arriving_body_does_not_count() -> None:
    response, api, _ = stream(Arriving(b"x" * SEARCHED, MARKER.encode()))
    assert response.stream is not None
    assert b"".join(response.stream).endswith(MARKER.encode())
    assert api.grants == 1


def test_an_arriving_body_with_the_marker_after_the_renewal_is_passed_on_with_it() -> (
    None
):
    body = b"SESSION_OVER", b" since noon"
    response, api, ends = stream(Arriving(*body), Arriving(*body))
    assert (response.stream, response.body) == (None, b"SESSION_OVER since noon")
    assert ("X-Outkey-Cause", "token_expired") in returned_headers(response)
    assert (api.grants, len(api.requests)) == (2, 2)
    assert ends == ["ok", "token_expired", "ok", "token_expired"]


def test_a_body_that_breaks_while_it_is_searched_is_recorded_as_broken() -> None:
    body = Arriving(b"x", ResponseTooLarge())
    fake, _ = oauth2_world(Response(200, stream=body), **MARKED)
    made = fake.ports.configurations.get("acme")
    with pytest.raises(ResponseTooLarge):
        fake.sender.stream(build_call(made, "GET", "/orders"))
    assert outcomes(fake) == ["ok", "response_too_large"]


# ── synchronizing and webhooks ──────────────────────────────────────────────────────


def test_a_pull_renews_its_token_in_the_middle() -> None:
    api = Api()
    records = RecordsApi(people(1, 2, 3), {2: reply(EXPIRED)})

    def respond(request: Request) -> Response:
        is_login = request.target.startswith("/auth")
        response = api(request) if is_login else records(request)
        assert isinstance(response, Response)
        return response

    fake = fake_sync(responses=respond, **(LOGIN | MARKED))
    fake.world.secrets.values["password"] = PASSWORD
    assert fake.run().counts == Counts(created=3)
    assert len(api.logins) == 2


@pytest.mark.parametrize("status", [200, 400, 404])
@pytest.mark.parametrize("parallel", [1, 4])
def test_a_page_with_the_marker_ends_the_run_and_is_not_the_end_of_the_list(
    status: int, parallel: int
) -> None:
    api = RecordsApi(people(1, 2, 3), {2: reply(EXPIRED, status)})
    fake = fake_sync(replace(PULL, parallel=parallel), api, **MARKED)
    with pytest.raises(BadResponse):
        fake.run()
    (run,) = fake.runs.newest(9)
    assert (run.state, run.cause) == (RunState.FAILED, "token_expired")


@pytest.mark.parametrize("status", [200, 400])
def test_a_pushed_record_is_not_rejected_because_the_token_has_expired(
    status: int,
) -> None:
    api = RecordsApi(odd={2: reply(EXPIRED, status)})
    fake = fake_sync(PUSH, api, method="POST", **MARKED)
    stored(fake, *({"number": f"n{n}", "name": "A"} for n in range(3)))
    with pytest.raises(BadResponse):
        fake.run()
    assert fake.run().counts == Counts(created=3)


@pytest.mark.parametrize("status", [200, 422])
def test_a_batch_is_not_split_because_the_token_has_expired(status: int) -> None:
    fake, api = shop(BATCH, values=MARKED, odd={1: reply(EXPIRED, status)})
    with pytest.raises(BadResponse):
        fake.run()
    assert len(api.asked) == 1
    assert fake.run().counts == Counts(created=3)


def test_a_delivery_is_not_ignored_because_the_token_has_expired() -> None:
    document = MOLLIE.replace(
        'authentication_type = "none"\nno_auth_reason = "public_api"',
        'authentication_type = "bearer"\ntoken = "env:ACME_TOKEN"\n'
        f'verification.expired_marker = "{MARKER}"',
    )
    working = receiving(document, [reply(EXPIRED, 404)])
    working.host.world.secrets.values["token"] = "entered"
    working.receive(form("tr_1"))
    working.work.round()
    assert working.states() == [("failed", "token_expired", None)]
