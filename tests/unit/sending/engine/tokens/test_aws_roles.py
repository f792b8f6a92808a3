"""Sessions of a role with fakes: when STS is asked, and what becomes of an answer."""

from dataclasses import replace
from urllib.parse import parse_qs

import pytest

from outkey.foundation.core.errors import (
    ConfigError,
    ConnectionFailed,
    OutkeyError,
    SecretMissing,
    SecretRebindRequired,
    TokenEndpointFailed,
)
from outkey.foundation.core.moments import moment_text
from outkey.foundation.core.secret import Secret
from outkey.sending.core.audit.events import Intent, Tag
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.configuration.secret_state import SecretState
from outkey.sending.core.oauth2.token import State
from outkey.sending.core.request.message import Request, Response
from outkey.sending.engine.tokens.actions import TokenAction
from outkey.testing import configuration, fake_gateway
from outkey.testing.fakes.basic import FakeWorld

ROLE = "arn:aws:iam::1:role/erp"
KEY = "wJalrXUtnFEMI-canary"
STS = "sts.eu-central-1.amazonaws.com"
REFUSAL = (
    "<ErrorResponse><Error><Code>{code}</Code><Message>{words}</Message></Error>"
    "</ErrorResponse>"
)


class Aws:
    """STS and an API, played by a function."""

    def __init__(self, seconds: float = 3600.0) -> None:
        self.world: FakeWorld | None = None
        self.seconds = seconds
        self.forms: list[dict[str, str]] = []
        self.signed: list[bool] = []
        self.sessions: list[str] = []
        self.refusals: list[Response | OutkeyError] = []
        self.api_answers: list[Response] = []

    def __call__(self, request: Request) -> Response | OutkeyError:
        headers = {h.name: h.value for h in request.headers}
        if request.origin.host == STS:
            assert isinstance(request.body, Secret)
            form = parse_qs(request.body.reveal())
            self.forms.append({name: values[0] for name, values in form.items()})
            self.signed.append("Authorization" in headers)
            if self.refusals:
                return self.refusals.pop(0)
            return self._session()
        session = headers["X-Amz-Security-Token"]
        assert isinstance(session, Secret)
        self.sessions.append(session.reveal())
        return self.api_answers.pop(0) if self.api_answers else Response(200)

    def _session(self) -> Response:
        assert self.world is not None
        number = len(self.forms)
        ends = moment_text(self.world.clock.now() + self.seconds).replace(" UTC", "Z")
        body = (
            "<AssumeRoleResponse><AssumeRoleResult><Credentials>"
            f"<AccessKeyId>ASIA{number}</AccessKeyId>"
            f"<SecretAccessKey>secret-{number}</SecretAccessKey>"
            f"<SessionToken>session-{number}</SessionToken>"
            f"<Expiration>{ends}</Expiration>"
            "</Credentials></AssumeRoleResult></AssumeRoleResponse>"
        )
        return Response(200, body=body.encode())


def role(*secrets: str, **values: object) -> Configuration:
    made = configuration(
        authentication_type="aws_sigv4",
        aws__access_key_id="AKIAEXAMPLE",
        aws__region="eu-central-1",
        aws__service="sqs",
        aws__role_arn=ROLE,
        **values,
    )
    states = {name: SecretState("") for name in secrets}
    bound = replace(made, secrets=states)
    return replace(
        bound, secrets={name: SecretState(bound.binding_of(name)) for name in secrets}
    )


def world(aws: Aws, made: Configuration | None = None, **secrets: str) -> FakeWorld:
    addresses = dict.fromkeys((STS, "api.acme.example"), ("93.184.215.14",))
    fake = fake_gateway(
        made or role("secret_access_key"),
        responses=aws,
        secrets={"secret_access_key": KEY} | secrets,
        names=addresses,
    )
    aws.world = fake
    return fake


def test_a_role_is_assumed_once_and_its_session_signs_every_request() -> None:
    aws = Aws()
    fake = world(aws)
    for _ in range(3):
        assert fake.gateway.send("acme", "GET", "/").status == 200
    assert [form["Action"] for form in aws.forms] == ["AssumeRole"]
    assert (aws.signed, aws.sessions) == ([True], ["session-1"] * 3)
    tags = [event.tag for event in fake.audit.events if isinstance(event, Intent)]
    assert tags[0] is Tag.TOKEN_INTENT


def test_a_session_is_renewed_before_it_ends() -> None:
    aws = Aws()
    fake = world(aws)
    fake.gateway.send("acme", "GET", "/")
    fake.clock.advance(3250)
    fake.gateway.send("acme", "GET", "/")
    assert len(aws.forms) == 1
    fake.clock.advance(60)
    fake.gateway.send("acme", "GET", "/")
    assert aws.sessions == ["session-1", "session-1", "session-2"]


def test_a_session_that_aws_calls_expired_is_renewed_once() -> None:
    aws = Aws()
    fake = world(aws)
    expired = Response(403, body=REFUSAL.format(code="ExpiredToken", words="").encode())
    aws.api_answers = [expired, expired]
    assert fake.gateway.send("acme", "POST", "/").status == 403
    assert aws.sessions == ["session-1", "session-2"]
    assert len(aws.forms) == 2


def test_a_web_identity_is_read_anew_for_each_session() -> None:
    aws = Aws()
    fake = world(aws, role("web_identity_token"), web_identity_token=" first\n")
    fake.gateway.send("acme", "GET", "/")
    fake.secrets.values["web_identity_token"] = "second"
    fake.clock.advance(3400)
    fake.gateway.send("acme", "GET", "/")
    assert [form["WebIdentityToken"] for form in aws.forms] == ["first", "second"]
    assert aws.forms[0]["Action"] == "AssumeRoleWithWebIdentity"
    assert aws.signed == [False, False]


def test_a_temporary_key_assumes_the_role_with_its_session_token() -> None:
    aws = Aws()
    made = role("secret_access_key", "session_token")
    fake = world(aws, made, session_token="its session")
    fake.gateway.send("acme", "GET", "/")
    [request, *_] = [request for request, _ in fake.transport.sent]
    assert "X-Amz-Security-Token" in {h.name for h in request.headers}


def test_a_refusal_of_sts_is_a_failure_with_its_code_and_words() -> None:
    aws = Aws()
    fake = world(aws)
    words = "User x is not authorized to perform: sts:AssumeRole"
    body = REFUSAL.format(code="AccessDenied", words=words)
    aws.refusals = [Response(403, body=body.encode())]
    with pytest.raises(TokenEndpointFailed) as caught:
        fake.gateway.send("acme", "GET", "/")
    assert caught.value.reason == "aws-role-denied"
    assert str(caught.value.said) == f"AccessDenied: {words} (status 403)"
    assert not aws.sessions
    with pytest.raises(TokenEndpointFailed):
        fake.gateway.send("acme", "GET", "/")
    assert len(aws.forms) == 1  # nobody asks again at once
    assert fake.token("acme").status().error == "aws-role-denied"


def test_words_that_repeat_a_secret_are_not_shown() -> None:
    aws = Aws()
    fake = world(aws)
    body = REFUSAL.format(code="AccessDenied", words=f"not with {KEY}")
    aws.refusals = [Response(403, body=body.encode())]
    with pytest.raises(TokenEndpointFailed) as caught:
        fake.gateway.send("acme", "GET", "/")
    assert KEY not in repr((caught.value, caught.value.said))
    assert not caught.value.said


def test_a_connection_that_breaks_is_tried_once_more() -> None:
    aws = Aws()
    fake = world(aws)
    aws.refusals = [ConnectionFailed()]
    assert fake.gateway.send("acme", "GET", "/").status == 200
    assert len(aws.forms) == 2


def test_a_missing_key_sends_nothing() -> None:
    aws = Aws()
    fake = world(aws, role("web_identity_token"))
    with pytest.raises(SecretMissing) as caught:
        fake.gateway.send("acme", "GET", "/")
    assert caught.value.field == "web_identity_token"
    assert not fake.transport.sent


def test_a_key_is_not_sent_to_another_sts_than_it_was_entered_for() -> None:
    made = role("secret_access_key")
    moved = replace(made, aws=replace(made.aws, sts_url="https://evil.example/"))
    fake = world(Aws(), moved)
    with pytest.raises(SecretRebindRequired, match="STS URL") as caught:
        fake.gateway.send("acme", "GET", "/")
    assert caught.value.field == "secret_access_key"
    assert not fake.transport.sent


def test_a_session_can_be_shown_renewed_and_deleted_and_not_revoked() -> None:
    aws = Aws()
    fake = world(aws)
    token = fake.token("acme")
    assert token.status().state is State.NONE
    assert token.renew().state is State.FRESH
    assert token.possible(token.status()) == {TokenAction.RENEW, TokenAction.FORGET}
    with pytest.raises(ConfigError):
        token.revoke()
    token.forget()
    assert token.status().state is State.NONE
    assert len(aws.forms) == 1


def test_another_role_needs_another_session() -> None:
    aws = Aws()
    fake = world(aws)
    fake.gateway.send("acme", "GET", "/")
    made = role("secret_access_key")
    for changed in (
        replace(made, aws=replace(made.aws, role_arn=f"{ROLE}2")),
        replace(made, aws=replace(made.aws, external_id="partner")),
    ):
        state, _ = fake.sender.token_actions(changed)._manager.state()
        assert state.content is None
    other_service = replace(made, aws=replace(made.aws, service="sns"))
    state, _ = fake.sender.token_actions(other_service)._manager.state()
    assert state.content is not None


def test_a_lent_session_is_renewed_where_a_header_says_that_it_expired() -> None:
    aws = Aws()
    fake = world(aws)
    url = "https://api.acme.example/"
    loan = fake.gateway.lend("acme", "GET", url, {})
    expired = [("x-amzn-ErrorType", "ExpiredTokenException")]
    assert fake.gateway.settle(loan, 403, expired)
    again = fake.gateway.lend(
        "acme", "GET", "https://api.acme.example/", {}, rejected=loan
    )
    assert again.token != loan.token
    assert not fake.gateway.settle(again, 403)
