"""Refusals of servers nobody had met: what may be claimed, and what only with an or."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

import pytest

from outkey.foundation.core.errors import SecretMissing
from outkey.foundation.core.secret import Secret
from outkey.sending.core.configuration.configuration import build
from outkey.sending.core.configuration.custom_rows import CustomHeader, QueryParameter
from outkey.sending.core.configuration.secret_state import SecretState
from outkey.sending.core.diagnosis.diagnose import diagnose
from outkey.sending.core.diagnosis.evidence import Suspicion
from outkey.sending.core.request.message import Response, ResponseHeaders

NOW = 1_800_000_000.0
BASIC = {"authentication_type": "basic", "username": "alice"}
BEARER = {"authentication_type": "bearer"}
NONE = {"authentication_type": "none"}
KEY = (CustomHeader("X-API-Key", "", secret=True),)
AUTHORIZATION = (CustomHeader("Authorization", "", secret=True),)


def response(status: int, body: str = "", challenge: str = "") -> Response:
    headers = (("WWW-Authenticate", challenge),) if challenge else ()
    return Response(status, ResponseHeaders(headers), body.encode())


def suspicions(
    values: Mapping[str, object],
    refusal: Response,
    anonymous: Response | None = None,
    *,
    rows: Iterable[CustomHeader] = (),
    query: Iterable[QueryParameter] = (),
    entered: str | None = "s3cret-value",
    accepted_at: float | None = None,
) -> tuple[Suspicion, ...]:
    def opened(name: str) -> Secret:
        if entered is None:
            raise SecretMissing(field=name)
        return Secret(entered)

    configuration = build(
        "acme",
        {"base_url": "https://api.acme.example"} | dict(values),
        headers=tuple(rows),
        query=tuple(query),
    )
    if accepted_at:
        states = {"password": SecretState("", set_at=10.0)}
        configuration = replace(configuration, secrets=states, accepted_at=accepted_at)
    found = diagnose(
        refusal,
        configuration,
        now=NOW,
        secret=opened,
        anonymous=anonymous,
    )
    assert found is not None
    return found.suspicions


def first(*args: object, **more: object) -> tuple[str, str, list[str]]:
    """Return the first reason, how sure it is, and what it may be otherwise."""
    suspicion = suspicions(*args, **more)[0]  # type: ignore[arg-type]
    rivals = [rival.id for rival in suspicion.rivals]
    return suspicion.reason.id, str(suspicion.certainty), rivals


# ── challenges ────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("values", "more", "challenge"),
    [
        (BASIC, {}, 'Basic realm="x"'),
        (BEARER, {}, "Bearer"),
        (BEARER | {"token_prefix": "Token"}, {}, "Token"),
        (NONE, {"rows": KEY}, "X-API-Key"),
        (NONE, {"rows": KEY}, 'ApiKey name="X-Api-Key"'),
        (NONE, {"query": [QueryParameter("apikey", "", secret=True)]}, "apikey"),
        (BEARER | {"token_header": "X-API-Key"}, {}, "X-API-Key"),
        (BEARER | {"token_header": "query:key"}, {}, 'ApiKey query="key"'),
        (NONE, {"rows": AUTHORIZATION, "entered": "SSWS abcdef"}, "SSWS"),
        (
            NONE,
            {"rows": [CustomHeader("Authorization", "Token {secret}", secret=True)]},
            'Token realm="x"',
        ),
    ],
)
def test_a_challenge_that_names_what_is_sent_means_that_the_value_is_wrong(
    values: dict[str, object], more: dict[str, object], challenge: str
) -> None:
    same = response(401, "no", challenge)
    assert first(values, same, same, **more) == ("wrong-credentials", "likely", [])


@pytest.mark.parametrize("challenge", ["xBasic", "Cookie", "Form realm=Basic"])
def test_an_unknown_challenge_proves_nothing(challenge: str) -> None:
    refusal = response(401, "", challenge)
    ids = [one.reason.id for one in suspicions(BASIC, refusal)]
    assert ids == ["wrong-credentials"]


def test_a_key_beside_a_challenge_for_basic_is_one_of_two_and_has_no_fix() -> None:
    # PowerDNS asks browsers for Basic, and programs send a key.
    same = response(401, "Unauthorized", 'Basic realm="PowerDNS"')
    found = suspicions(NONE, same, same, rows=KEY)[0]
    assert (found.reason.id, found.certainty) == ("wrong-scheme", "either")
    assert [rival.id for rival in found.rivals] == ["wrong-credentials"]
    assert found.fix is None
    assert found.doubt.startswith("Or: The API does not accept the credentials.")


def test_a_key_beside_a_challenge_for_a_key_may_be_the_wrong_one() -> None:
    refusal = response(401, "", "ApiKey")
    row = ("key-in-another-header", "either", ["wrong-credentials"])
    assert first(NONE, refusal, rows=KEY) == row
    assert first(BASIC, refusal) == ("key-in-another-header", "likely", [])


def test_another_scheme_is_switched_to_only_where_the_credentials_are_not_read() -> (
    None
):
    refusal = response(401, "no", "Basic")
    unread = suspicions(BEARER, refusal, refusal)[0]
    assert (unread.certainty, bool(unread.fix)) == ("likely", True)
    assert unread.doubt == ""
    read = suspicions(BEARER, refusal, response(401, "sign in", "Basic"))[0]
    assert (read.certainty, read.fix) == ("either", None)


@pytest.mark.parametrize("entered", [None, "abcdef"])
def test_an_authorization_row_without_a_known_word_is_not_compared(
    entered: str | None,
) -> None:
    refusal = response(401, "", "Basic")
    found = first(NONE, refusal, rows=AUTHORIZATION, entered=entered)
    assert found[0] == "wrong-credentials"


def test_a_token_without_a_word_is_named_so() -> None:
    values = BEARER | {"token_prefix": ""}
    found = suspicions(values, response(401, "", "Basic"))[0]
    assert found.evidence.endswith("sends a token without one of these words.")


@pytest.mark.parametrize("words", ["Signature is invalid", "Bad signature"])
def test_a_signature_that_was_checked_proves_that_the_token_was_read(
    words: str,
) -> None:
    refusal = response(401, words, 'Basic realm="x"')
    assert first(BEARER, refusal)[0] == "wrong-credentials"


# ── 403 ───────────────────────────────────────────────────────────────────────────────


def test_a_403_that_everybody_gets_is_about_rights_or_about_credentials() -> None:
    same = response(403, "Forbidden")
    assert first(BASIC, same, same) == (
        "forbidden",
        "either",
        ["wrong-credentials", "credentials-not-read"],
    )


def test_a_403_of_another_kind_than_the_anonymous_one_is_about_rights_or_wrong() -> (
    None
):
    refusal = response(403, "Forbidden")
    either = ("forbidden", "either", ["wrong-credentials"])
    assert first(BASIC, refusal, response(401)) == either
    assert first(BASIC, refusal, response(403, "Sign in")) == either


def test_credentials_that_were_accepted_before_lack_a_right() -> None:
    found = first(BASIC, response(403), response(401), accepted_at=20.0)
    assert found == ("forbidden", "likely", [])
    stale = first(BASIC, response(403), response(401), accepted_at=5.0)
    assert stale[1] == "either"


def test_words_about_the_credentials_count_more_than_the_status_403() -> None:
    refusal = response(403, '{"detail": "Invalid token."}')
    found = first(BEARER, refusal, response(403, '{"detail": "Not provided"}'))
    assert found[0] == "wrong-credentials"


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (401, '{"error":"not_authorised","reason":"Not management user"}'),
        (401, "Only for the administrator"),
        (403, "Access denied"),
        (403, "You are not a member of this project"),
    ],
)
def test_words_about_users_and_administrators_are_about_rights(
    status: int, words: str
) -> None:
    refusal = response(status, words, 'Basic realm="x"' if status == 401 else "")
    anonymous = response(401, "Sign in", 'Basic realm="x"')
    assert first(BASIC, refusal, anonymous) == ("forbidden", "likely", [])


@pytest.mark.parametrize(
    ("words", "anonymous"),
    [
        ("Access denied: wrong password", "Sign in"),
        ("Only for the administrator", "Only for the administrator"),
        ("<html><body>administrator</body></html>", "Sign in"),
        ("Nope", "Sign in"),
    ],
)
def test_other_words_of_a_401_are_not_about_rights(words: str, anonymous: str) -> None:
    challenge = 'Basic realm="x"'
    refusal = response(401, words, challenge)
    found = first(BASIC, refusal, response(401, anonymous, challenge))
    assert found[0] == "wrong-credentials"


def test_weaker_reasons_are_not_listed_beside_what_a_403_proves() -> None:
    refusal = response(403, "Forbidden")
    found = suspicions(BEARER, refusal, refusal, entered='"quoted"')
    assert found[0].reason.id == "secret-in-quotes"
    assert found[0].certainty == "certain"
    assert "ip-not-allowed" not in [one.reason.id for one in found]


def test_a_csrf_error_when_reading_means_that_the_credentials_are_not_recognized() -> (
    None
):
    same = response(403, "CSRF Error")
    found = first(NONE, same, same, rows=KEY)
    assert found == ("credentials-not-read", "either", ["wrong-credentials"])
    assert first(NONE, same)[0] != "credentials-not-read"


# ── what compares nothing ─────────────────────────────────────────────────────────────


@pytest.mark.parametrize("status", [500, 502, 503])
def test_a_server_that_fails_without_credentials_compares_nothing(status: int) -> None:
    refusal = response(403, "Forbidden")
    assert first(BASIC, refusal, response(status)) == first(BASIC, refusal)


def test_a_407_without_a_proxy_is_not_blamed_on_one() -> None:
    ids = [one.reason.id for one in suspicions(BASIC, response(407))]
    assert ids == ["unexpected", "wrong-credentials"]
    ids = [one.reason.id for one in suspicions(NONE, response(407))]
    assert ids == ["unexpected"]


def test_a_401_that_says_nothing_is_one_of_two() -> None:
    same = response(401, "no")
    token = first(BEARER, same, same)
    rivals = ["credentials-not-read", "forbidden"]
    assert token == ("wrong-credentials", "either", rivals)
    # RFC 9110 requires a challenge, and servers that know Basic nearly always send it.
    password = first(BASIC, same, same)
    assert password == ("credentials-not-read", "either", ["wrong-credentials"])


@pytest.mark.parametrize(
    ("words", "is_judged"),
    [
        ('invalid authKey "…". It must match the flag', True),
        ("Auth-Key is not valid", True),
        ("unknown parameter authkey", True),
        ("The authKey must be sent", False),
        ("invalid authKeyring", False),
    ],
)
def test_a_row_that_the_response_calls_invalid_has_a_wrong_value(
    words: str, *, is_judged: bool
) -> None:
    query = [
        QueryParameter("authKey", "", secret=True),
        QueryParameter("authKey2", "", secret=False),
        QueryParameter("k", "", secret=True),
    ]
    found = first(NONE, response(400, words), query=query)
    assert (found[0] == "wrong-credentials") is is_judged
