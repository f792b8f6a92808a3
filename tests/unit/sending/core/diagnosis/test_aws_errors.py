"""Errors of AWS, in XML, JSON and headers, and the reason that comes first."""

from email.utils import formatdate

import pytest

from outkey.foundation.core.secret import Secret
from outkey.sending.core.aws.sts import sts_failure
from outkey.sending.core.configuration.configuration import Configuration, build
from outkey.sending.core.configuration.secret_state import SecretState
from outkey.sending.core.diagnosis.diagnose import diagnose, diagnose_error
from outkey.sending.core.diagnosis.evidence import Diagnosis
from outkey.sending.core.request.message import Response, ResponseHeaders

NOW = 1_800_000_000.0
S3 = "<Error><Code>{code}</Code><Message>{words}</Message></Error>"
QUERY = "<ErrorResponse><Error><Code>{code}</Code><Message>{words}</Message></Error></ErrorResponse>"  # noqa: E501
JSON = '{{"__type":"com.amazon.coral.service#{code}","message":"{words}"}}'
REST = '{{"message":"{words}"}}'
SCOPED = "Credential should be scoped to a valid region."


def aws(*secrets: str, **values: object) -> Configuration:
    settings: dict[str, object] = {
        "base_url": "https://sqs.eu-central-1.amazonaws.com",
        "authentication_type": "aws_sigv4",
        "aws.access_key_id": "AKIAEXAMPLE",
        "aws.region": "eu-central-1",
        "aws.service": "sqs",
    }
    changed = {path.replace("__", "."): value for path, value in values.items()}
    states = {name: SecretState("https://x.example:443") for name in secrets}
    return build("queue", settings | changed, secrets=states)


def first(
    status: int,
    body: str,
    asked: Configuration | None = None,
    *headers: tuple[str, str],
    tested: bool = False,
) -> Diagnosis:
    found = diagnose(
        Response(status, ResponseHeaders(headers), body.encode()),
        asked or aws("secret_access_key"),
        now=NOW,
        secret=(lambda _: Secret("wJalr")) if tested else None,
        anonymous=Response(status, ResponseHeaders(headers), body.encode())
        if tested
        else None,
    )
    assert found is not None
    return found


def reason(found: Diagnosis) -> str:
    return found.suspicions[0].reason.id


@pytest.mark.parametrize("tested", [True, False])
@pytest.mark.parametrize(
    ("status", "form", "code", "words", "expected"),
    [
        (403, S3, "SignatureDoesNotMatch", "The request", "aws-secret-wrong"),
        (403, QUERY, "SignatureDoesNotMatch", SCOPED, "aws-scope-wrong"),
        (403, QUERY, "SignatureDoesNotMatch", "Signature expired: 2", "clock-off"),
        (
            400,
            S3,
            "AuthorizationHeaderMalformed",
            "the region 'us-east-1' is wrong; expecting 'eu-central-1'",
            "aws-scope-wrong",
        ),
        (400, S3, "AuthorizationHeaderMalformed", "The header", "malformed-header"),
        (403, S3, "InvalidAccessKeyId", "The AWS Access Key Id", "aws-key-unknown"),
        (403, S3, "AccessDenied", "Access Denied", "forbidden"),
        (403, S3, "RequestTimeTooSkewed", "The difference", "clock-off"),
        (403, QUERY, "InvalidClientTokenId", "The security", "aws-key-unknown"),
        (403, QUERY, "MissingAuthenticationToken", "", "credentials-not-read"),
        (400, JSON, "UnrecognizedClientException", "The", "aws-key-unknown"),
        (400, JSON, "AccessDeniedException", "User: x", "forbidden"),
        (400, JSON, "InvalidSignatureException", "The request", "aws-secret-wrong"),
        (
            400,
            JSON,
            "InvalidSignatureException",
            "Credential should be scoped to correct service: 'sqs'.",
            "aws-scope-wrong",
        ),
        (400, JSON, "IncompleteSignatureException", "x", "malformed-header"),
        (400, JSON, "ExpiredTokenException", "The security", "token-expired"),
        (403, QUERY, "ExpiredToken", "The security token", "expired-as-403"),
        (
            403,
            REST,
            "",
            "The request signature we calculated does not match the signature",
            "aws-secret-wrong",
        ),
        (
            403,
            REST,
            "",
            "The security token included in the request is invalid.",
            "aws-key-unknown",
        ),
        (
            403,
            REST,
            "",
            "User: anonymous is not authorized to perform: es:ESHttpGet",
            "forbidden",
        ),
    ],
)
def test_the_code_and_words_of_aws_come_first(
    status: int, form: str, code: str, words: str, expected: str, *, tested: bool
) -> None:
    found = first(status, form.format(code=code, words=words), tested=tested)
    assert reason(found) == expected, [s.evidence for s in found.suspicions]


def test_a_header_has_the_code_of_rest_apis() -> None:
    kind = ("x-amzn-ErrorType", "UnrecognizedClientException:http://internal/")
    assert reason(first(403, '{"message":"no"}', None, kind)) == "aws-key-unknown"


def test_an_unknown_path_of_api_gateway_is_not_a_missing_signature() -> None:
    gateway = aws("secret_access_key", aws__service="execute-api")
    found = first(403, '{"message":"Missing Authentication Token"}', gateway)
    assert reason(found) == "wrong-path"


def test_another_region_than_that_of_the_host_can_be_fixed() -> None:
    asked = aws("secret_access_key", aws__region="us-east-1")
    found = first(403, QUERY.format(code="SignatureDoesNotMatch", words=SCOPED), asked)
    fix = found.suspicions[0].fix
    assert fix is not None
    assert fix.changes == (("aws.region", "eu-central-1"),)
    same = first(403, QUERY.format(code="SignatureDoesNotMatch", words=SCOPED))
    assert same.suspicions[0].fix is None


def test_a_temporary_key_without_its_session_token_is_named() -> None:
    body = QUERY.format(code="InvalidClientTokenId", words="")
    alone = first(403, body, aws(aws__access_key_id="ASIAEXAMPLE"))
    assert "no Session Token is set" in alone.suspicions[0].evidence
    both = first(403, body, aws("session_token", aws__access_key_id="ASIAEXAMPLE"))
    assert "same session" in both.remedy


def test_a_session_that_was_renewed_already_needs_no_new_keys() -> None:
    body = QUERY.format(code="ExpiredToken", words="")
    assert "set a Role ARN" in first(403, body).remedy
    role = aws("secret_access_key", aws__role_arn="arn:aws:iam::1:role/erp")
    assert "got a new session" in first(403, body, role).remedy


def test_the_difference_of_the_clocks_is_named() -> None:
    late = ("Date", formatdate(NOW - 900, usegmt=True))
    body = S3.format(code="RequestTimeTooSkewed", words="")
    assert "900" in first(403, body, None, late).suspicions[0].evidence


def test_an_error_without_a_known_code_has_the_meaning_of_its_status() -> None:
    assert reason(first(403, S3.format(code="Other", words="no"))) == "forbidden"
    assert reason(first(401, "no", tested=True)) == "wrong-credentials"


def test_the_errors_of_aws_are_not_looked_for_in_other_responses() -> None:
    other = build(
        "x", {"base_url": "https://x.example", "authentication_type": "basic"}
    )
    found = first(403, S3.format(code="InvalidAccessKeyId", words=""), other)
    assert reason(found) != "aws-key-unknown"


@pytest.mark.parametrize(
    ("failure", "their_time", "expected"),
    [
        ("aws-secret-wrong", None, "aws-secret-wrong"),
        ("aws-secret-wrong", NOW - 900, "clock-off"),
        ("aws-role-denied", None, "aws-role-denied"),
        ("aws-invalid-value", None, "aws-role-denied"),
        ("aws-region-disabled", None, "aws-scope-wrong"),
        ("not_found", None, "sts-url-wrong"),
        ("redirect_blocked", None, "sts-url-wrong"),
        ("server_error", None, "server-error"),
        ("refused", None, "unexpected"),
    ],
)
def test_a_failure_of_sts_has_its_reason(
    failure: str, their_time: float | None, expected: str
) -> None:
    role = aws("secret_access_key", aws__role_arn="arn:aws:iam::1:role/erp")
    found = diagnose_error(sts_failure(failure, their_time), role, now=NOW)
    assert reason(found) == expected
