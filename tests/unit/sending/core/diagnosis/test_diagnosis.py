from dataclasses import replace
from datetime import date
from email.utils import formatdate

import pytest

from outkey.foundation.core.errors import BadResponse, Cause
from outkey.foundation.core.secret import Secret
from outkey.sending.core.configuration.custom_rows import CustomHeader
from outkey.sending.core.configuration.secret_state import SecretState
from outkey.sending.core.diagnosis.diagnose import diagnose, diagnose_success
from outkey.sending.core.diagnosis.reasons import REMEDIES
from outkey.sending.core.request.challenge import Challenge, parse_challenges
from outkey.sending.core.request.message import Response, ResponseHeaders
from outkey.testing import configuration

NOW = 1_800_000_000.0  # 2027-01-15


def cause(
    status: int,
    body: str = "",
    *headers: tuple[str, str],
    kind: str = "bearer",
    **values: object,
) -> str | None:
    response = Response(status, ResponseHeaders(headers), body.encode())
    found = diagnose(
        response, configuration(authentication_type=kind, **values), now=NOW
    )
    return found.cause if found else None


def challenge(text: str) -> tuple[str, str]:
    return ("WWW-Authenticate", text)


@pytest.mark.parametrize("status", [200, 204, 301, 304, 399])
def test_an_answer_below_400_has_no_cause(status: int) -> None:
    assert cause(status) is None


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (401, "invalid_credentials"),
        (403, "insufficient_permissions"),
        (404, "not_found"),
        (410, "not_found"),
        (408, "timeout"),
        (429, "rate_limited"),
        (431, "header_format"),
        (500, "server_error"),
        (503, "server_error"),
        (599, "server_error"),
        (400, "unexpected"),
        (405, "unexpected"),
        (418, "unexpected"),
    ],
)
def test_each_status_has_its_cause(status: int, expected: str) -> None:
    assert cause(status) == expected


@pytest.mark.parametrize(
    ("body", "headers"),
    [
        (
            "",
            [
                challenge(
                    'Bearer error="invalid_token", error_description="The token'
                    ' expired"'
                )
            ],
        ),
        ("", [challenge('Bearer error="invalid_token", error_description="expired"')]),
        (
            "",
            [
                challenge(
                    'Basic realm="a",'
                    " Bearer error=invalid_token, error_description=expired"
                )
            ],
        ),
        ('{"category":"EXPIRED_AUTHENTICATION"}', []),
        ('{"error":"token_expired"}', []),
        ("Session expired", []),
    ],
)
def test_signs_of_expiry_make_a_401_an_expired_token(
    body: str, headers: list[tuple[str, str]]
) -> None:
    assert cause(401, body, *headers) == "token_expired"
    assert cause(401, body, kind="basic") == "invalid_credentials"


def test_the_word_expired_alone_in_a_body_proves_nothing() -> None:
    assert cause(401, '{"user": 7, "expired": false}') == "invalid_credentials"


def test_a_scheme_nobody_knows_proves_nothing_and_is_not_repeated() -> None:
    response = Response(401, ResponseHeaders((challenge("Call-0900-for-help"),)))
    found = diagnose(response, configuration(authentication_type="bearer"), now=NOW)
    assert found is not None
    assert [one.reason.id for one in found.suspicions] == ["wrong-credentials"]
    assert "0900" not in repr(found)


def test_a_scheme_that_outkey_does_not_support_is_named_if_it_is_known() -> None:
    response = Response(401, ResponseHeaders((challenge('HOBA realm="api"'),)))
    found = diagnose(response, configuration(authentication_type="bearer"), now=NOW)
    assert found is not None
    assert found.remedy.endswith("The API asks for HOBA.")


def test_a_prefix_that_is_no_known_scheme_is_not_repeated() -> None:
    response = Response(401, ResponseHeaders((challenge('Basic realm="api"'),)))
    made = configuration(authentication_type="bearer", token_prefix="Acme-0900")
    found = diagnose(response, made, now=NOW)
    assert found is not None
    assert found.suspicions[0].reason.id == "wrong-scheme"
    assert "another scheme" in str(found.suspicions[0].evidence)
    assert "0900" not in repr(found)


@pytest.mark.parametrize("word", ["SSWS", "Api-Key", "ApiKey", "Token"])
def test_an_authorization_row_with_another_scheme_than_asked_for(word: str) -> None:
    response = Response(401, ResponseHeaders((challenge('Bearer realm="api"'),)))
    row = CustomHeader("Authorization", "", secret=True)
    found = diagnose(
        response,
        configuration(authentication_type="none", headers=(row,)),
        now=NOW,
        secret=lambda _name: Secret(f"{word} 4f9d2c71e8a35b60"),
    )
    assert found is not None
    assert "wrong-scheme" in [one.reason.id for one in found.suspicions]


@pytest.mark.parametrize(
    "why",
    [
        "",
        "malformed token",
        "bad signature",
        "wrong audience",
        "revoked",
        "Expired or unknown",
        "Expired, revoked or unknown",
        "The token is invalid or has expired",
        "The token has expired or is invalid",
        "Bad/expired token",
    ],
)
def test_an_invalid_token_that_is_not_expired_is_an_invalid_credential(
    why: str,
) -> None:
    text = f'Bearer error="invalid_token", error_description="{why}"'
    assert cause(401, "", challenge(text)) == "invalid_credentials"


def test_a_known_expiry_date_explains_a_401_from_the_day_after() -> None:
    assert cause(401, token_expires_on=date(2027, 1, 14)) == "token_expired"
    assert cause(401, token_expires_on=date(2027, 1, 15)) == "invalid_credentials"


def test_the_configurations_own_marker_means_expired() -> None:
    values = {"verification__expired_marker": "code 190"}
    assert cause(401, "oops, code 190", **values) == "token_expired"
    assert cause(403, "oops, code 190", **values) == "token_expired"
    assert cause(403, "oops", **values) == "insufficient_permissions"


def test_a_403_is_an_expired_token_only_where_something_says_so() -> None:
    assert cause(403, verification__forbidden_means_expired=True) == "token_expired"
    described = 'Bearer error="invalid_token", error_description="expired"'
    assert cause(403, "", challenge(described)) == "token_expired"
    bare = challenge('Bearer error="invalid_token"')
    assert cause(403, "", bare) == "invalid_credentials"
    assert (
        cause(403, "", challenge('Bearer error="insufficient_scope"'))
        == "insufficient_permissions"
    )
    assert (
        cause(403, kind="basic", verification__forbidden_means_expired=True)
        == "insufficient_permissions"
    )


def test_a_client_certificate_alone_is_named_where_another_scheme_is_wanted() -> None:
    response = Response(401, ResponseHeaders((challenge("Bearer"),)))
    made = configuration(tls__client_certificate="/some/file.pem")
    found = diagnose(response, made, now=NOW)
    assert found is not None
    assert found.cause == "header_format"
    assert "sends a client certificate alone." in found.suspicions[0].evidence


def test_a_challenge_for_another_scheme_is_a_header_format_error_that_names_it() -> (
    None
):
    response = Response(401, ResponseHeaders((challenge('Basic realm="x"'),)))
    found = diagnose(response, configuration(authentication_type="bearer"), now=NOW)
    assert found is not None
    assert found.cause == "header_format"
    assert found.remedy.endswith("The API asks for Basic.")
    assert cause(401, "", challenge("Basic, Bearer")) == "invalid_credentials"
    assert cause(401, "", challenge("Basic"), kind="none") == "invalid_credentials"


@pytest.mark.parametrize(
    ("status", "body", "headers", "expected"),
    [
        (400, "", [challenge('Bearer error="invalid_request"')], "header_format"),
        (401, "", [challenge('Bearer error="invalid_request"')], "header_format"),
        (
            400,
            "<title>400 Request Header Or Cookie Too Large</title>",
            [],
            "header_format",
        ),
        (400, "No required SSL certificate was sent", [], "tls"),
        (400, "The plain HTTP request was sent to HTTPS port", [], "tls"),
    ],
)
def test_a_400_may_be_about_the_header_or_about_tls(
    status: int, body: str, headers: list[tuple[str, str]], expected: str
) -> None:
    assert cause(status, body, *headers) == expected


@pytest.mark.parametrize("status", [401, 403])
def test_words_about_the_time_explain_a_refusal_whatever_the_date_says(
    status: int,
) -> None:
    body = "<Code>RequestTimeTooSkewed</Code>"
    ahead = ("Date", formatdate(NOW + 600, usegmt=True))
    assert cause(status, body, ahead) == "clock_skew"
    assert (
        cause(status, body, ("Date", formatdate(NOW + 5, usegmt=True))) == "clock_skew"
    )
    assert cause(status, body, ("Date", "nonsense")) == "clock_skew"
    assert cause(status, body) == "clock_skew"


def test_a_response_from_a_cache_is_not_evidence_of_another_clock() -> None:
    scripted = configuration(
        environment="test", script="def compute_auth_header(sync_line): return {}"
    )
    date = ("Date", formatdate(NOW - 600, usegmt=True))
    reasons = []
    for headers in ((date,), (date, ("Age", "600"))):
        diagnosis = diagnose(Response(401, ResponseHeaders(headers)), scripted, now=NOW)
        assert diagnosis is not None
        reasons.append({suspicion.reason.id for suspicion in diagnosis.suspicions})
    fresh, cached = reasons
    assert "clock-off" in fresh
    assert "clock-off" not in cached


@pytest.mark.parametrize(
    ("of", "words"),
    [
        (Cause.INVALID_CREDENTIALS, "Check the username and password, or the token."),
        (Cause.INSUFFICIENT_PERMISSIONS, "Check the permissions of the API user."),
        (Cause.TOKEN_EXPIRED, "Implement a token refresh mechanism"),
        (Cause.HEADER_FORMAT, "Review the authentication header format."),
    ],
)
def test_the_four_errors_have_the_remedies_of_the_specification(
    of: Cause, words: str
) -> None:
    assert REMEDIES[of].startswith(words)


def test_raising_for_a_cause_carries_code_status_and_remedy() -> None:
    response = Response(401, cause=Cause.INVALID_CREDENTIALS, remedy="do this")
    with pytest.raises(BadResponse) as caught:
        response.raise_for_cause()
    assert (caught.value.code, caught.value.status) == ("invalid_credentials", 401)
    assert caught.value.facts() == {
        "code": "invalid_credentials",
        "message": "the API responded with status 401 (invalid credentials)",
        "hint": "do this",
        "field": None,
    }
    assert Response(200).raise_for_cause() == Response(200)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([], []),
        (["Basic"], [Challenge("basic")]),
        (["Basic, Bearer"], [Challenge("basic"), Challenge("bearer")]),
        (
            ['Basic realm="a, b", charset="UTF-8", Bearer error=invalid_token'],
            [
                Challenge("basic", {"realm": "a, b", "charset": "UTF-8"}),
                Challenge("bearer", {"error": "invalid_token"}),
            ],
        ),
        (
            [
                (
                    'Bearer realm="https://r.example/token",service="reg",'
                    'scope="repository:foo:pull"'
                )
            ],
            [
                Challenge(
                    "bearer",
                    {
                        "realm": "https://r.example/token",
                        "service": "reg",
                        "scope": "repository:foo:pull",
                    },
                )
            ],
        ),
        (
            ["Negotiate abc==, Basic"],
            [Challenge("negotiate", token68="abc=="), Challenge("basic")],
        ),
        (['Basic realm="quo\\"te"'], [Challenge("basic", {"realm": 'quo"te'})]),
        (
            ["Digest a=1", "BASIC"],
            [Challenge("digest", {"a": "1"}), Challenge("basic")],
        ),
        (['error="no scheme"'], []),
        (['Basic realm="never closed'], [Challenge("basic")]),
        (["@@@"], []),
    ],
)
def test_challenges_are_read_whatever_their_form(
    values: list[str], expected: list[Challenge]
) -> None:
    assert parse_challenges(values) == expected


def test_reading_a_hostile_challenge_takes_no_time() -> None:
    assert len(parse_challenges(["a," * 100_000])) <= 16 * 1024
    assert parse_challenges(['B a="' + "\\" * 50_000]) == [Challenge("b")]


@pytest.mark.parametrize(
    ("set_at", "accepted_at", "status", "first"),
    [
        (10.0, 20.0, 401, "token-expired"),
        (10.0, 20.0, 403, "expired-as-403"),
        (20.0, 10.0, 401, "wrong-credentials"),
        (10.0, None, 401, "wrong-credentials"),
        (None, 20.0, 401, "wrong-credentials"),
    ],
)
def test_a_token_that_worked_since_it_was_entered_has_expired_or_was_revoked(
    set_at: float | None, accepted_at: float | None, status: int, first: str
) -> None:
    made = replace(
        configuration(authentication_type="bearer"),
        secrets={"token": SecretState("https://api.acme.example:443", set_at=set_at)},
        accepted_at=accepted_at,
    )
    response = Response(
        status, ResponseHeaders((challenge('Bearer error="invalid_token"'),))
    )
    found = diagnose(response, made, now=NOW)
    assert found is not None
    ids = [suspicion.reason.id for suspicion in found.suspicions]
    assert ids[0] == first
    assert ("token-revoked" in ids) is (first != "wrong-credentials")


# ── what is said of a fetched token ─────────────────────────────────────────────────

FETCHED = {
    "token_source": "oauth2",
    "oauth2__token_url": "https://auth.acme.example/token",
    "oauth2__client_id": "erp",
}


@pytest.mark.parametrize(
    ("status", "body", "is_renewed"),
    [
        (401, "token expired", True),
        (401, "", True),
        (403, "token expired", False),
        (400, "token expired", False),
        (403, "invalid token", False),
    ],
)
def test_a_remedy_says_that_a_token_was_renewed_only_where_it_was(
    status: int,
    body: str,
    *,
    is_renewed: bool,
) -> None:
    made = configuration(authentication_type="bearer", **FETCHED)
    response = Response(status, body=body.encode())
    for secret in (None, lambda _name: Secret("s3cret")):
        found = diagnose(response, made, now=NOW, secret=secret)
        assert found is not None
        assert ("outkey got a new token" in found.remedy) is is_renewed
    if "expired" in body and not is_renewed:
        assert "Expired marker" in found.remedy


def test_an_error_in_a_success_says_how_to_have_the_token_renewed() -> None:
    made = configuration(authentication_type="bearer", **FETCHED)
    response = Response(200, body=b'{"error": "token expired"}')
    found = diagnose_success(response, made, now=NOW)
    assert found is not None
    assert found.cause == "token_expired"
    assert "enter a text of this response as Expired marker" in found.remedy
