"""Pushed authorization requests: the provider has the parameters, not the browser."""

import json
from urllib.parse import parse_qs, urlsplit

import pytest

from outkey.foundation.core.errors import (
    ConnectionFailed,
    OutkeyError,
    RedirectBlocked,
    TokenEndpointFailed,
)
from outkey.sending.core.request.message import Response, ResponseHeaders
from unit.sending.engine.tokens.test_consent import REDIRECT, Session

NAME = "urn:ietf:params:oauth:request_uri:6esc"
PUSHED_URL = "https://auth.acme.example/par"


def pushed(name: object = NAME, expires_in: object = 60) -> Response:
    fields = {"request_uri": name, "expires_in": expires_in}
    return Response(201, body=json.dumps(fields).encode())


def session(*answers: Response | OutkeyError) -> Session:
    made = Session(
        oauth2__pushed_authorization_url=PUSHED_URL, oauth2__client_auth="basic"
    )
    made.provider.token_answers += answers
    return made


def refused(error: str, description: str = "", status: int = 400) -> Response:
    fields = {"error": error, "error_description": description}
    return Response(status, body=json.dumps(fields).encode())


def failure_of(answer: Response | OutkeyError) -> OutkeyError:
    made = session(answer)
    if isinstance(answer, ConnectionFailed):
        made.provider.token_answers.append(answer)  # of the second attempt
    with pytest.raises(OutkeyError) as raised:
        made.begin()
    assert made.pending == {}
    assert raised.value.field == "oauth2.pushed_authorization_url"
    return raised.value


def test_the_browser_gets_the_client_and_the_name_of_the_request_only() -> None:
    made = session(pushed())
    assert made.begin() == {"client_id": "erp", "request_uri": NAME}
    (sent,) = made.provider.asked
    state = sent.pop("state")
    assert sent.pop("code_challenge")
    assert sent == {
        "client_id": "erp",
        "code_challenge_method": "S256",
        "redirect_uri": REDIRECT,
        "response_type": "code",
    }
    made.finish(state=state, code="the-code-of-the-consent")
    assert made.provider.asked[-1]["code_verifier"]
    assert made.actions.status().state == "fresh"


def test_a_request_is_pushed_again_once_it_has_expired_and_not_before() -> None:
    made = session(pushed(), pushed("urn:second"))
    made.begin()
    made.now += 59
    again = made.consents.url(made.actions, REDIRECT)
    assert again is not None
    assert parse_qs(urlsplit(again).query)["request_uri"] == [NAME]
    made.now += 1
    third = made.consents.url(made.actions, REDIRECT)
    assert third is not None
    assert parse_qs(urlsplit(third).query)["request_uri"] == ["urn:second"]
    states = {sent["state"] for sent in made.provider.asked}
    assert len(made.provider.asked) == 2
    assert len(states) == 1
    made.finish(state=states.pop(), code="the-code-of-the-consent")


def test_a_refusal_is_worded_for_a_consent_and_quotes_the_provider() -> None:
    answer = refused("invalid_request", "redirect_uri is not registered")
    error = failure_of(answer)
    assert isinstance(error, TokenEndpointFailed)
    assert error.reason == "invalid_request"
    assert "authorization request" in str(error.message)
    assert str(error.said) == (
        "invalid_request: redirect_uri is not registered (status 400)"
    )


@pytest.mark.parametrize(
    ("answer", "reason", "words"),
    [
        (refused("invalid_client", status=401), "invalid_client", "client secret"),
        (Response(404), "not_found", "nothing at the Pushed Authorization URL"),
        (ConnectionFailed(), "connection", "Pushed Authorization URL could not be"),
        (pushed(name=7), "not_a_token_endpoint", "does not look like"),
        (pushed("no uri"), "not_a_token_endpoint", "does not look like"),
        (pushed("urn:client-secret-1"), "not_a_token_endpoint", "does not look like"),
    ],
)
def test_a_push_that_fails_begins_nothing_and_names_its_url(
    answer: Response | OutkeyError, reason: str, words: str
) -> None:
    error = failure_of(answer)
    assert isinstance(error, TokenEndpointFailed)
    assert error.reason == reason
    assert words in str(error.message)
    assert "client-secret-1" not in f"{error}{error.said}"


def test_a_redirect_is_not_followed() -> None:
    headers = ResponseHeaders([("Location", "https://evil.example/")])
    error = failure_of(Response(302, headers))
    assert isinstance(error, RedirectBlocked)
    assert "Pushed Authorization URL redirected" in str(error.message)
