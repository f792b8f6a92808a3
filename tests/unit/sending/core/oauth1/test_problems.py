"""What providers report about requests of OAuth 1.0a, as they write it."""

import json
from dataclasses import replace

import pytest

from outkey.foundation.core.secret import Secret
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.configuration.secret_state import SecretState
from outkey.sending.core.diagnosis.diagnose import diagnose
from outkey.sending.core.oauth1.problems import problem_of
from outkey.sending.core.request.message import Response, ResponseHeaders
from outkey.testing import configuration

NOW = 1_800_000_000.0
SECRETS = ("consumer_secret", "access_token", "access_token_secret")
NETSUITE = (
    'OAuth realm="1234567", error="token_rejected",'
    ' error_description="Invalid login attempt."'
)


def signed(**changed: object) -> Configuration:
    values = {"authentication_type": "oauth1", "oauth1__consumer_key": "ck"}
    made = configuration(**(values | changed))  # type: ignore[arg-type]
    states = {name: SecretState(made.binding_of(name)) for name in SECRETS}
    return replace(made, secrets=states)


def response(body: object = "", challenge: str = "", status: int = 401) -> Response:
    text = body if isinstance(body, str) else json.dumps(body)
    pairs = (("WWW-Authenticate", challenge),) if challenge else ()
    return Response(status, ResponseHeaders(pairs), text.encode())


def first(given: Response, used: Configuration | None = None) -> str:
    """Return the first suspicion of a test of a configuration."""
    diagnosis = diagnose(
        given, used or signed(), now=NOW, secret=lambda name: Secret(f"the {name}")
    )
    assert diagnosis is not None
    return diagnosis.suspicions[0].reason.id


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        # OAuth Problem Reporting, in the body and in the challenge
        (response("oauth_problem=signature_invalid&debug_sbs=GET"), "oauth1-signature"),
        (response("oauth_problem=consumer_key_unknown"), "oauth1-consumer"),
        (response(challenge="OAuth oauth_problem=token_rejected"), "oauth1-token"),
        (response("oauth_problem=token_expired"), "token-expired"),
        (response("oauth_problem=token_revoked"), "token-revoked"),
        (response("oauth_problem=timestamp_refused"), "clock-off"),
        (response("oauth_problem=nonce_used"), "oauth1-nonce"),
        (response("oauth_problem=signature_method_rejected"), "oauth1-method"),
        (response("oauth_problem=permission_denied", status=403), "forbidden"),
        (response("oauth_problem=parameter_absent", status=400), "malformed-header"),
        (response({"oauth_problem": "consumer_key_rejected"}), "oauth1-consumer"),
        # NetSuite, Twitter, Magento, WooCommerce
        (response(challenge=NETSUITE), "oauth1-token"),
        (
            response({"errors": [{"code": 32, "message": "Could not authenticate."}]}),
            "oauth1-signature",
        ),
        (
            response(
                {"errors": [{"code": 89, "message": "Invalid or expired token."}]}
            ),
            "oauth1-token",
        ),
        (
            response(
                {"errors": [{"code": 135, "message": "Timestamp out of bounds."}]}
            ),
            "clock-off",
        ),
        (
            response({"message": "The signature is invalid. Verify and try again."}),
            "oauth1-signature",
        ),
        (
            response({"message": "Invalid signature - provided signature does not."}),
            "oauth1-signature",
        ),
        (response({"message": "Consumer key is invalid."}), "oauth1-consumer"),
        (response({"message": "Consumer secret is invalid."}), "oauth1-signature"),
        (response({"message": "Invalid timestamp."}), "clock-off"),
        (
            response({"message": "Invalid nonce - nonce has already been used."}),
            "oauth1-nonce",
        ),
        (response("Unsupported signature method"), "oauth1-method"),
        (response("Invalid or expired token"), "oauth1-token"),
        (response("The access token has expired"), "token-expired"),
        (response("The token has been revoked"), "token-revoked"),
        # a response that says nothing
        (response("Unauthorized"), "wrong-credentials"),
        (response(challenge='OAuth realm="shop"'), "wrong-credentials"),
        (response({"errors": [{"code": 99_999_999}]}), "wrong-credentials"),
        (response({"errors": ["x"]}), "wrong-credentials"),
        (response("{not json"), "wrong-credentials"),
        (response("{" * 5000), "wrong-credentials"),
        (response("[1]"), "wrong-credentials"),
    ],
)
def test_what_a_provider_reports_comes_first(given: Response, reason: str) -> None:
    assert first(given) == reason


def test_our_own_name_of_the_problem_is_the_evidence() -> None:
    diagnosis = diagnose(response("oauth_problem=signature_invalid"), signed(), now=NOW)
    assert diagnosis is not None
    evidence = str(diagnosis.suspicions[0].evidence)
    assert evidence == 'The response says "signature_invalid".'


@pytest.mark.parametrize(
    ("method", "words"),
    [
        ("HMAC-SHA1", "Signed here with HMAC-SHA1"),
        ("RSA-SHA1", "signs with the Private Key alone"),
    ],
)
def test_the_remedy_of_a_signature_names_what_signed(method: str, words: str) -> None:
    used = signed(oauth1__signature_method=method)
    diagnosis = diagnose(response("invalid signature"), used, now=NOW)
    assert diagnosis is not None
    assert words in str(diagnosis.remedy)


def test_a_user_authorizes_a_refused_token_again() -> None:
    base = "https://api.acme.example"
    urls = {"request_url": "/r", "authorization_url": "/a", "access_url": "/t"}
    used = signed(**{f"oauth1__{name}": base + path for name, path in urls.items()})
    used = replace(used, secrets={})
    diagnosis = diagnose(response("oauth_problem=token_rejected"), used, now=NOW)
    assert diagnosis is not None
    assert "authorize the access again" in str(diagnosis.remedy)


def test_the_fields_in_use_are_named_where_nothing_else_is_known() -> None:
    diagnosis = diagnose(
        response("no"), signed(), now=NOW, secret=lambda _: Secret("some-value")
    )
    assert diagnosis is not None
    assert "Consumer Key, Consumer Secret, Access Token, Access Token Secret" in str(
        diagnosis.remedy
    )


def test_a_secret_in_quotes_is_found() -> None:
    diagnosis = diagnose(
        response("Invalid signature"),
        signed(),
        now=NOW,
        secret=lambda name: Secret('"quoted"' if name == "consumer_secret" else "x"),
    )
    assert diagnosis is not None
    assert diagnosis.suspicions[0].reason.id == "secret-in-quotes"


def test_another_type_of_authentication_is_not_read_so() -> None:
    used = configuration(authentication_type="bearer")
    assert first(response("Invalid signature"), used) == "wrong-credentials"


def test_a_clock_that_is_off_explains_a_silent_refusal() -> None:
    headers = ResponseHeaders((("Date", "Fri, 15 Jan 2027 09:00:00 GMT"),))
    assert first(Response(401, headers, b"Unauthorized")) == "clock-off"


def test_a_challenge_that_names_oauth_is_met() -> None:
    other = response(challenge='Basic realm="shop"')
    assert first(other) == "wrong-scheme"


def test_a_problem_is_read_from_the_first_kilobytes_only() -> None:
    long = response("x" * 20_000 + "oauth_problem=nonce_used")
    assert problem_of(long) is None


def test_a_refusal_without_an_entered_token_asks_for_one() -> None:
    used = replace(signed(), secrets={})
    diagnosis = diagnose(response("oauth_problem=token_rejected"), used, now=NOW)
    assert diagnosis is not None
    assert "No Access Token is entered" in str(diagnosis.remedy)
