"""The provider of OAuth 1.0a verifies what another library signs, and refuses the rest.

The client is oauthlib; outkey's own requests are in `tests/cli/test_oauth1.py`.
"""

import http.client
import json
import logging
import re
import time
from collections.abc import Iterator
from urllib.parse import parse_qs, urlsplit

import pytest
from oauthlib.oauth1 import Client

from outkey.spar import Spar
from outkey.spar.oauth1 import CONSUMER, CONSUMER_SECRET
from outkey.spar.records import OAUTH1_TOKEN, OAUTH1_TOKEN_SECRET

FORM = "application/x-www-form-urlencoded"


@pytest.fixture(scope="module")
def spar() -> Iterator[Spar]:
    with Spar() as server:
        yield server


@pytest.fixture(autouse=True)
def _quiet_judge(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, logger="oauthlib")


def ask(
    spar: Spar, path: str, client: Client | None = None, *, form: str | None = None
) -> tuple[int, dict[str, str], str]:
    """Send a request that a client has signed."""
    method = "GET" if form is None else "POST"
    headers = {} if form is None else {"Content-Type": FORM}
    if client is not None:
        _, headers, _ = client.sign(
            spar.url + path, method, body=form, headers=headers or None
        )
    connection = http.client.HTTPConnection(
        spar.url.removeprefix("http://"), timeout=10
    )
    try:
        connection.request(method, path, body=form, headers=headers)
        response = connection.getresponse()
        return response.status, dict(response.getheaders()), response.read().decode()
    finally:
        connection.close()


def client(
    token: str | None = OAUTH1_TOKEN,
    token_secret: str | None = OAUTH1_TOKEN_SECRET,
    **changed: str,
) -> Client:
    values = {"client_key": CONSUMER, "client_secret": CONSUMER_SECRET} | changed
    return Client(
        resource_owner_key=token, resource_owner_secret=token_secret, **values
    )


@pytest.mark.parametrize("method", ["HMAC-SHA1", "HMAC-SHA256"])
def test_a_signed_request_is_accepted(spar: Spar, method: str) -> None:
    signed = client(signature_method=method)
    status, _, body = ask(
        spar, "/oauth1/api?b=2&a=%2F+x&a=1&c", signed, form="x=%C3%A4"
    )
    assert (status, json.loads(body)["legs"]) == (200, 3)


def test_two_legs_have_no_token(spar: Spar) -> None:
    assert ask(spar, "/oauth1/two-legs", client(None, None))[0] == 200
    assert "token_rejected" in ask(spar, "/oauth1/two-legs", client())[2]


@pytest.mark.parametrize(
    ("path", "changed", "problem"),
    [
        ("", {"client_key": "another"}, "consumer_key_unknown"),
        ("", {"client_secret": "another"}, "signature_invalid"),
        ("", {"timestamp": "1000000000"}, "timestamp_refused"),
        ("", {"timestamp": "soon"}, "timestamp_refused"),
        ("", {"signature_method": "PLAINTEXT"}, "signature_method_rejected"),
        ("?method=HMAC-SHA256", {}, "signature_method_rejected"),
        ("?skew=4000", {}, "timestamp_refused"),
        ("?problem=permission_denied", {}, "permission_denied"),
    ],
)
def test_another_request_is_refused_by_the_name_of_its_problem(
    spar: Spar, path: str, changed: dict[str, str], problem: str
) -> None:
    status, headers, body = ask(spar, f"/oauth1/api{path}", client(**changed))
    assert status == (403 if problem == "permission_denied" else 401)
    assert body == f"oauth_problem={problem}"
    assert f'oauth_problem="{problem}"' in headers["WWW-Authenticate"]


def test_another_token_and_no_signature_are_refused(spar: Spar) -> None:
    assert "token_rejected" in ask(spar, "/oauth1/api", client("another", "s"))[2]
    assert "parameter_absent" in ask(spar, "/oauth1/api")[2]


def test_a_request_is_accepted_once(spar: Spar) -> None:
    # Both in one second: a nonce is used once for each timestamp (RFC 5849 §3.3).
    fixed = client(nonce="once-only-1234567890", timestamp=str(int(time.time())))
    assert ask(spar, "/oauth1/api", fixed)[0] == 200
    assert "nonce_used" in ask(spar, "/oauth1/api", fixed)[2]


def test_a_problem_is_reported_in_words_if_asked(spar: Spar) -> None:
    wrong = client(client_secret="another")
    status, headers, body = ask(spar, "/oauth1/api?words=1", wrong)
    assert (status, "WWW-Authenticate" in headers) == (401, False)
    assert json.loads(body)["message"].startswith("Invalid signature")


def fields_of(body: str) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(body).items()}


@pytest.mark.parametrize("callback", ["oob", "http://127.0.0.1:9/back?a=1"])
def test_three_legs_end_in_a_token(spar: Spar, callback: str) -> None:
    begin = client(None, None, callback_uri=callback)
    temporary = fields_of(ask(spar, "/oauth1/initiate", begin, form="")[2])
    assert temporary["oauth_callback_confirmed"] == "true"
    token = temporary["oauth_token"]
    page = f"/oauth1/authorize?oauth_token={token}"
    assert "auto=1" in ask(spar, page)[2]
    status, headers, body = ask(spar, f"{page}&auto=1")
    if callback == "oob":
        [verifier] = re.findall(r"The verifier is (\d{8})", body)
    else:
        assert status == 302
        assert headers["Location"].startswith(f"{callback}&oauth_token={token}&")
        verifier = parse_qs(urlsplit(headers["Location"]).query)["oauth_verifier"][0]
    pair = (token, temporary["oauth_token_secret"])
    wrong = client(*pair, verifier="0")
    assert "verifier_invalid" in ask(spar, "/oauth1/token", wrong, form="")[2]
    right = client(*pair, verifier=verifier)
    granted = fields_of(ask(spar, "/oauth1/token", right, form="")[2])
    signed = client(granted["oauth_token"], granted["oauth_token_secret"])
    assert ask(spar, "/oauth1/api", signed)[0] == 200
    assert "token_rejected" in ask(spar, "/oauth1/token", right, form="")[2]


def test_a_user_may_refuse(spar: Spar) -> None:
    for callback, sign in (("oob", "Refused"), ("http://127.0.0.1:9/back", "")):
        begin = client(None, None, callback_uri=callback)
        token = fields_of(ask(spar, "/oauth1/initiate", begin, form="")[2])[
            "oauth_token"
        ]
        page = f"/oauth1/authorize?oauth_token={token}&auto=0"
        _, headers, body = ask(spar, page)
        assert sign in body or headers["Location"].endswith(f"?denied={token}")


def test_a_callback_elsewhere_and_an_unknown_token_are_refused(spar: Spar) -> None:
    begin = client(None, None, callback_uri="https://evil.com/")
    assert "parameter_rejected" in ask(spar, "/oauth1/initiate", begin, form="")[2]
    assert ask(spar, "/oauth1/authorize?oauth_token=x")[0] == 400
