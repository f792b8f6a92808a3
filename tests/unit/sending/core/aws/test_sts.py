"""Requests to STS, the keys of a session in its responses, and its failures."""

from email.utils import formatdate

import pytest

from outkey.foundation.core.errors import (
    OutkeyError,
    ProxyFailed,
    RedirectBlocked,
    TokenEndpointFailed,
)
from outkey.foundation.core.secret import Secret
from outkey.sending.core.aws.requests import AwsKeys
from outkey.sending.core.aws.sts import (
    assume_role,
    assume_role_with_web_identity,
    read_session,
    sts_failure,
    words_of,
)
from outkey.sending.core.aws.xml_fields import xml_fields
from outkey.sending.core.configuration.sections import AwsSettings
from outkey.sending.core.request.message import Request, Response, ResponseHeaders
from outkey.testing import configuration

NOW = 1_800_000_000.0
SESSION = (
    '<AssumeRoleResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">'
    "<AssumeRoleResult><AssumedRoleUser><Arn>arn:aws:sts::1:assumed-role/erp</Arn>"
    "</AssumedRoleUser><Credentials><AccessKeyId>ASIA7</AccessKeyId>"
    "<SecretAccessKey>s/k</SecretAccessKey><SessionToken>tok+en==</SessionToken>"
    "<Expiration>2027-01-15T09:00:00.5Z</Expiration></Credentials>"
    "</AssumeRoleResult></AssumeRoleResponse>"
)
ERROR = (
    "<ErrorResponse><Error><Type>Sender</Type><Code>{code}</Code>"
    "<Message>{words}</Message></Error></ErrorResponse>"
)


def settings(**changed: object) -> AwsSettings:
    values: dict[str, object] = {
        "access_key_id": "AKIAEXAMPLE",
        "region": "eu-central-1",
        "service": "sqs",
        "role_arn": "arn:aws:iam::1:role/erp",
    }
    prefixed = {f"aws__{name}": value for name, value in (values | changed).items()}
    return configuration(authentication_type="aws_sigv4", **prefixed).aws


def body_of(request: Request) -> str:
    assert isinstance(request.body, Secret)
    return request.body.reveal()


def header(request: Request, name: str) -> str:
    [value] = [h.value for h in request.headers if h.name == name]
    return value.reveal() if isinstance(value, Secret) else value


def test_a_role_is_assumed_by_a_signed_form() -> None:
    keys = AwsKeys.of("AKIAEXAMPLE", Secret("key"), None)
    made = assume_role(settings(external_id="partner-7"), keys, NOW)
    assert made.url == "https://sts.eu-central-1.amazonaws.com/"
    assert body_of(made) == (
        "Action=AssumeRole&Version=2011-06-15"
        "&RoleArn=arn%3Aaws%3Aiam%3A%3A1%3Arole%2Ferp&RoleSessionName=outkey"
        "&DurationSeconds=3600&ExternalId=partner-7"
    )
    assert "/20270115/eu-central-1/sts/aws4_request" in header(made, "Authorization")
    assert header(made, "Accept") == "text/xml"


@pytest.mark.parametrize(
    ("url", "region"),
    [
        ("https://sts.amazonaws.com/", "us-east-1"),
        ("https://sts.us-west-2.amazonaws.com/", "us-west-2"),
        ("https://minio.internal:9000/", "eu-central-1"),
    ],
)
def test_the_signature_is_for_the_region_of_the_sts_url(url: str, region: str) -> None:
    keys = AwsKeys.of("AKIAEXAMPLE", Secret("key"), None)
    made = assume_role(settings(sts_url=url), keys, NOW)
    assert f"/{region}/sts/" in header(made, "Authorization")


def test_a_web_identity_is_sent_in_the_body_alone_and_without_a_signature() -> None:
    made = assume_role_with_web_identity(
        settings(external_id="partner-7"), Secret("ey.J.x")
    )
    assert body_of(made).endswith("&WebIdentityToken=ey.J.x")
    assert "ExternalId" not in body_of(made)
    assert made.body_secrets == (Secret("ey.J.x"),)
    assert "Authorization" not in {h.name for h in made.headers}


def read(body: str, status: int = 200, *secrets: str) -> tuple[str, float | None]:
    date = ResponseHeaders((("Date", formatdate(NOW - 600, usegmt=True)),))
    made = read_session(
        Response(status, date, body.encode()),
        secrets=[Secret(text) for text in secrets],
        now=NOW,
    )
    assert (made.refresh, made.kind, made.scope) == (None, "AWS", "")
    return made.access.reveal(), made.lifetime


def test_a_session_is_three_keys_that_last_by_the_clock_of_sts() -> None:
    assert read(SESSION) == ("ASIA7\ns/k\ntok+en==", 4200.5)
    without = SESSION.replace("2027-01-15T09:00:00.5Z", "soon")
    assert read(without)[1] is None
    past = SESSION.replace("2027", "2020")
    assert read(past)[1] == 0.0


def failed(body: str, status: int = 403, *secrets: str) -> OutkeyError:
    with pytest.raises(OutkeyError) as caught:
        read(body, status, *secrets)
    return caught.value


@pytest.mark.parametrize(
    ("status", "code", "words", "reason", "field"),
    [
        (403, "AccessDenied", "not authorized", "aws-role-denied", "aws.role_arn"),
        (
            403,
            "SignatureDoesNotMatch",
            "The request signature we calculated does not match",
            "aws-secret-wrong",
            "aws.secret_access_key",
        ),
        (
            403,
            "SignatureDoesNotMatch",
            "Signature expired: 20270115T080000Z is now earlier than",
            "clock-off",
            "aws.sts_url",
        ),
        (
            403,
            "SignatureDoesNotMatch",
            "Credential should be scoped to a valid region.",
            "aws-scope-wrong",
            "aws.region",
        ),
        (403, "InvalidClientTokenId", "", "aws-key-unknown", "aws.access_key_id"),
        (400, "ExpiredTokenException", "", "token-expired", "aws.sts_url"),
        (
            400,
            "InvalidIdentityToken",
            "",
            "aws-identity-refused",
            "aws.web_identity_token",
        ),
        (400, "ValidationError", "", "aws-invalid-value", "aws.role_arn"),
        (403, "RegionDisabledException", "", "aws-region-disabled", "aws.region"),
        (400, "Throttling", "", "rate_limited", "aws.sts_url"),
        (429, "Slow", "", "rate_limited", "aws.sts_url"),
        (500, "InternalFailure", "", "server_error", "aws.sts_url"),
        (400, "Other", "", "refused", "aws.sts_url"),
    ],
)
def test_the_code_of_sts_decides_the_reason_and_the_field(
    status: int, code: str, words: str, reason: str, field: str
) -> None:
    error = failed(ERROR.format(code=code, words=words), status)
    assert isinstance(error, TokenEndpointFailed)
    assert (error.reason, error.field) == (reason, field)
    assert error.their_time == NOW - 600
    assert "Token URL" not in f"{error.message} {error.hint}"
    again = sts_failure(error.reason)
    assert (str(again.message), again.field) == (str(error.message), field)


@pytest.mark.parametrize(
    ("status", "body", "reason"),
    [
        (404, "not here", "not_found"),
        (400, "<html>", "not_a_token_endpoint"),
        (200, "<html>a page</html>", "no_token"),
        (200, "no xml", "not_a_token_endpoint"),
        (200, SESSION.replace("tok+en==", "a b"), "bad_token"),
        (200, SESSION.replace("ASIA7", "A" * 129), "bad_token"),
    ],
)
def test_what_is_no_session_is_refused(status: int, body: str, reason: str) -> None:
    error = failed(body, status)
    assert isinstance(error, TokenEndpointFailed)
    assert error.reason == reason


def test_a_session_that_repeats_a_secret_is_refused() -> None:
    error = failed(SESSION, 200, "tok+en==", "")
    assert isinstance(error, TokenEndpointFailed)
    assert error.reason == "own_secret"


def test_a_redirect_is_not_followed_and_a_failure_of_a_proxy_stays_one() -> None:
    assert isinstance(failed("", 302), RedirectBlocked)
    assert isinstance(sts_failure("proxy-unreachable"), ProxyFailed)
    assert isinstance(sts_failure("what nobody knows"), TokenEndpointFailed)


def test_the_words_are_the_code_and_the_message() -> None:
    response = Response(
        403, body=ERROR.format(code="AccessDenied", words="No.").encode()
    )
    assert words_of(response) == "AccessDenied: No."
    assert words_of(Response(403, body=b"<p>")) == ""


ENTITY = '<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><a>&b;</a>'
BOMB = '<!DOCTYPE a [<!ENTITY b "x"><!ENTITY c "&b;&b;&b;&b;&b;&b;">]><Code>&c;</Code>'


@pytest.mark.parametrize(
    "document",
    [
        ENTITY,
        BOMB,
        "<a>" * 51 + "</a>" * 51,
        "<a>" + "<b/>" * 50_000 + "</a>",
        "<a>&undefined;</a>",
        "<a>" + "x" * 1024 * 1024 + "</a>",
        "<a>",
        "",
    ],
)
def test_a_document_with_a_dtd_or_without_an_end_has_no_fields(document: str) -> None:
    assert xml_fields(document.encode()) == {}


def test_attributes_and_empty_elements_are_no_fields() -> None:
    document = b"<a id='7'><Code/><Code>C</Code></a>"
    assert xml_fields(document) == {"Code": "C"}


def test_the_first_text_of_a_name_counts_and_prefixes_do_not() -> None:
    document = b"<s:a xmlns:s='x'><s:Code> A&amp;B </s:Code><Code>C</Code></s:a>"
    assert xml_fields(document) == {"Code": "A&B"}
