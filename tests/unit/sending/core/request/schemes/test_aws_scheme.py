"""What an AWS signature needs besides its rules: time, hash, script and session."""

from collections.abc import Iterator

import pytest

from outkey.foundation.core.errors import ConfigError, HeaderFormatError
from outkey.foundation.core.origin import Origin
from outkey.foundation.core.secret import Secret
from outkey.sending.core.configuration.configuration import Configuration, build
from outkey.sending.core.configuration.secret_state import SecretState
from outkey.sending.core.oauth2.token import AccessToken
from outkey.sending.core.request.assembly import authenticated_request
from outkey.sending.core.request.flow import (
    NeedBodyHash,
    NeedTime,
    NeedToken,
    RunScript,
    Send,
)
from outkey.sending.core.request.message import (
    Header,
    Request,
    Response,
    ResponseHeaders,
    Source,
)
from outkey.sending.core.request.schemes.choice import scheme_of
from outkey.sending.core.request.script import ScriptParts

REQUEST = Request("GET", Origin("https", "sqs.eu-central-1.amazonaws.com", 443), "/")
NOW = 1440938160.0
SESSION = AccessToken(Secret("ASIA1\nsecret\nsession"), "AWS")
RENEWED = AccessToken(Secret("ASIA2\nsecret\nother"), "AWS")
EXPIRED = b"<ErrorResponse><Error><Code>ExpiredToken</Code></Error></ErrorResponse>"


def aws(*secrets: str, **values: object) -> Configuration:
    settings: dict[str, object] = {
        "base_url": "https://sqs.eu-central-1.amazonaws.com",
        "authentication_type": "aws_sigv4",
        "aws.access_key_id": "AKIAEXAMPLE",
        "aws.region": "eu-central-1",
        "aws.service": "sqs",
    }
    changed = {path.replace("__", "."): value for path, value in values.items()}
    states = {
        name: SecretState("https://sqs.eu-central-1.amazonaws.com:443")
        for name in ("secret_access_key", *secrets)
    }
    return build("queue", settings | changed, secrets=states)


def secret(name: str) -> Secret:
    return Secret(f" {name} ")


def header(request: Request, name: str) -> str:
    values = [h.value for h in request.headers if h.name == name]
    [text] = [v.reveal() if isinstance(v, Secret) else v for v in values]
    return text


def test_the_time_that_is_signed_is_asked_for_with_each_request() -> None:
    flow = scheme_of(aws(), secret).flow(REQUEST)
    assert next(flow) == NeedTime(REQUEST.origin)
    step = flow.send(NOW)
    assert isinstance(step, Send)
    assert header(step.request, "X-Amz-Date") == "20150830T123600Z"
    assert header(step.request, "Authorization").startswith(
        "AWS4-HMAC-SHA256 Credential=AKIAEXAMPLE/20150830/eu-central-1/sqs/aws4_request"
    )
    with pytest.raises(StopIteration):
        flow.send(Response(403, body=EXPIRED))  # keys that were entered have no other


def test_a_session_token_is_sent_without_the_spaces_around_it() -> None:
    made = authenticated_request(REQUEST, aws("session_token"), secret, now=NOW)
    assert header(made, "X-Amz-Security-Token") == "session_token"


def test_a_session_token_that_no_header_can_carry_is_refused() -> None:
    configuration = aws("session_token")
    with pytest.raises(HeaderFormatError) as caught:
        authenticated_request(REQUEST, configuration, lambda _: Secret("a\u00e9b"))
    assert caught.value.field == "session_token"


def test_a_body_of_parts_is_hashed_outside_and_an_unsigned_one_never() -> None:
    class Parts:
        def __len__(self) -> int:
            return 2

        def parts(self) -> Iterator[bytes]:
            yield b"ab"

    upload = REQUEST._replace(method="PUT", body=Parts())
    flow = scheme_of(aws(), secret).flow(upload)
    next(flow)
    assert flow.send(NOW) == NeedBodyHash(upload.body)
    assert isinstance(flow.send("00"), Send)
    flow = scheme_of(aws(aws__payload="unsigned"), secret).flow(upload)
    next(flow)
    step = flow.send(NOW)
    assert header(step.request, "X-Amz-Content-Sha256") == "UNSIGNED-PAYLOAD"
    by_preview = authenticated_request(upload, aws(aws__service="s3"), secret)
    assert len(header(by_preview, "X-Amz-Content-Sha256")) == 64


def test_what_a_script_adds_is_signed() -> None:
    scripted = aws(
        script="def compute_auth_header(sync_line):\n    return {}\n",
        script_enabled=True,
    )
    flow = scheme_of(scripted, secret).flow(REQUEST)
    assert isinstance(next(flow), RunScript)
    target = Header("X-Amz-Target", "Q.List", Source.SCRIPT)
    step = flow.send(ScriptParts((target,)))
    assert isinstance(step, NeedTime)
    step = flow.send(NOW)
    assert "x-amz-target" in header(step.request, "Authorization")


def test_a_session_that_has_expired_is_renewed_once() -> None:
    configuration = aws(aws__role_arn="arn:aws:iam::1:role/erp")
    flow = scheme_of(configuration, secret).flow(REQUEST)
    assert next(flow) == NeedToken()
    assert isinstance(flow.send(SESSION), NeedTime)
    first = flow.send(NOW)
    assert header(first.request, "X-Amz-Security-Token") == "session"
    assert flow.send(Response(403, body=EXPIRED)) == NeedToken(
        SESSION, token_was_refused=True
    )
    flow.send(RENEWED)
    second = flow.send(NOW)
    assert "Credential=ASIA2/" in header(second.request, "Authorization")
    with pytest.raises(StopIteration) as done:
        flow.send(Response(403, body=EXPIRED))
    assert done.value.value.status == 403


@pytest.mark.parametrize(
    "response",
    [
        Response(200, body=EXPIRED),
        Response(403, body=b"<Code>AccessDenied</Code> for ExpiredToken"),
        Response(500, body=EXPIRED),
        Response(403),
    ],
)
def test_no_other_response_renews_a_session(response: Response) -> None:
    configuration = aws(aws__role_arn="arn:aws:iam::1:role/erp")
    flow = scheme_of(configuration, secret).flow(REQUEST)
    next(flow)
    flow.send(SESSION)
    flow.send(NOW)
    with pytest.raises(StopIteration):
        flow.send(response)


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        ((), b'{"__type":"com.amazon.coral.service#ExpiredTokenException"}'),
        ((("X-Amzn-ErrorType", "ExpiredTokenException:http://x/"),), b"{}"),
        ((), b'{"Error":{"Code":"ExpiredToken","Message":"gone"}}'),
    ],
)
def test_a_session_that_is_not_renewed_ends_with_the_response(
    headers: tuple[tuple[str, str], ...], body: bytes
) -> None:
    configuration = aws(aws__role_arn="arn:aws:iam::1:role/erp")
    flow = scheme_of(configuration, secret).flow(REQUEST)
    next(flow)
    flow.send(SESSION)
    flow.send(NOW)
    refusal = Response(400, ResponseHeaders(headers), body)
    assert isinstance(flow.send(refusal), NeedToken)
    with pytest.raises(StopIteration) as done:
        flow.send(SESSION)
    assert done.value.value is refusal


def test_a_placeholder_of_a_session_can_be_signed_for_a_preview() -> None:
    configuration = aws(aws__role_arn="arn:aws:iam::1:role/erp")
    made = authenticated_request(REQUEST, configuration, secret, now=NOW)
    names = {h.name for h in made.headers}
    assert {"Authorization", "X-Amz-Date", "X-Amz-Security-Token"} <= names


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("aws.region", ""),
        ("aws.service", ""),
        ("aws.access_key_id", ""),
        ("aws.access_key_id", "AKIA/1"),
        ("aws.region", "eu/central"),
        ("aws.service", "a b"),
        ("aws.role_arn", "erp"),
        ("aws.session_name", ""),
        ("aws.session_name", "a b"),
        ("aws.external_id", "a b"),
        ("aws.duration_seconds", 899),
        ("aws.sts_url", "sts"),
    ],
)
def test_a_value_that_cannot_sign_is_refused_with_its_field(
    path: str, value: object
) -> None:
    with pytest.raises(ConfigError) as caught:
        aws(**{path.replace(".", "__"): value})
    assert caught.value.field == path


def test_an_unsigned_payload_needs_https() -> None:
    with pytest.raises(ConfigError) as caught:
        aws(
            aws__payload="unsigned",
            base_url="http://minio.internal",
            network="internal",
        )
    assert caught.value.field == "aws.payload"


def test_a_role_with_a_web_identity_needs_no_access_key() -> None:
    role = {"aws__role_arn": "arn:aws:iam::1:role/erp"}
    assert aws(**role, aws__access_key_id="").needed_secrets() == ["web_identity_token"]
    assert aws("web_identity_token", **role).uses_web_identity
    assert aws(**role).needed_secrets() == ["secret_access_key"]
    assert aws("session_token").needed_secrets() == [
        "secret_access_key",
        "session_token",
    ]


def test_secrets_of_a_role_are_bound_to_sts_and_to_the_base_url() -> None:
    base = "https://sqs.eu-central-1.amazonaws.com:443"
    assert aws().binding_of("secret_access_key") == base
    role = aws(aws__role_arn="arn:aws:iam::1:role/erp")
    sts = "https://sts.eu-central-1.amazonaws.com:443"
    assert role.binding_of("secret_access_key") == f"{sts} {base}"
    assert role.binding_of("web_identity_token") == f"{sts} {base}"
    china = aws(aws__role_arn="arn:aws-cn:iam::1:role/erp", aws__region="cn-north-1")
    assert china.aws.sts_endpoint == "https://sts.cn-north-1.amazonaws.com.cn/"
    assert sts in {origin.bound for origin in role.origins()}
