"""AWS, Azure, Google and 1Password: their requests, and every way they respond."""

import json
from base64 import b64encode
from collections.abc import Callable, Mapping

import pytest

from outkey.foundation.core.errors import OutkeyError
from outkey.foundation.core.secret import Secret
from outkey.sending.core.backends import aws, azure, google, onepassword
from outkey.sending.core.backends.checksum import crc32c
from outkey.sending.core.backends.rules import rules_of
from outkey.sending.core.backends.settings import Backend, StoreKind, parse_backends
from outkey.sending.core.backends.store import Moment, Session, StoreSteps
from outkey.sending.core.backends.values import StoredValue, StoreKey
from outkey.sending.core.oauth2.assertions import Assertion
from outkey.sending.core.request.message import Request, Response

BACKENDS = parse_backends(
    """
    [backend.aws]
    store = "aws"
    region = "eu-central-1"
    access_key_id = "AKID"
    secret_access_key = "env:S"
    [backend.web]
    store = "aws"
    region = "cn-north-1"
    role_arn = "arn:aws-cn:iam::1:role/erp"
    web_identity_token = "file:/run/token"
    [backend.azure]
    store = "azure"
    address = "https://erp.vault.azure.net"
    tenant_id = "t/1"
    client_id = "c"
    client_secret = "env:S"
    [backend.national]
    store = "azure"
    address = "https://erp.vault.azure.cn"
    authority = "https://login.chinacloudapi.cn"
    tenant_id = "t"
    client_id = "c"
    federated_token = "file:/run/token"
    [backend.gcp]
    store = "gcp"
    project = "acme"
    service_account = "file:/run/key.json"
    [backend.op]
    store = "op"
    address = "https://connect.example/base"
    token = "env:T"
    """
)
NOW = Moment(1_800_000_000.0, "n")
SESSION = Session(Secret("canary-token"))
ARN = "arn:aws:secretsmanager:eu-central-1:1:secret:erp/db-AbCdEf"
VERSION_ID = "0123456789abcdef0123456789abcdef"
VAULT = "v" * 26
ITEM = "i" * 26
Value = Callable[[], StoredValue]


def response(status: int, document: object) -> Response:
    return Response(status, body=json.dumps(document).encode())


def perform(
    steps: StoreSteps[object], *responses: Response
) -> tuple[list[Request], object]:
    """Return the requests of steps, and their result."""
    requests: list[Request] = []
    try:
        step = next(steps)
        for each in responses:
            assert isinstance(step, Request)
            requests.append(step)
            step = steps.send(each)
    except StopIteration as stop:
        return requests, stop.value
    raise AssertionError("it asks for more")


def key(name: str, store: str, *path: str, version: str = "") -> StoreKey:
    return StoreKey(BACKENDS.named(name), store, path, version)


def header(request: Request, name: str) -> str:
    [value] = [each.value for each in request.headers if each.name == name]
    return value.reveal() if isinstance(value, Secret) else value


def body_of(request: Request) -> str:
    body = request.body
    assert isinstance(body, bytes | Secret)
    return body.reveal() if isinstance(body, Secret) else body.decode()


# ── what is read ──────────────────────────────────────────────────────────────────────


def aws_keys(session: str = "") -> Session:
    given = {"access_key_id": "AKID", "secret_access_key": "S"}
    if session:
        given["session_token"] = session
    credentials = {name: Secret(text) for name, text in given.items()}
    _, result = perform(aws.log_in(BACKENDS.named("aws"), credentials, NOW))
    assert isinstance(result, Session)
    return result


def aws_secret(**changed: object) -> dict[str, object]:
    document: dict[str, object] = {
        "ARN": ARN,
        "Name": "erp/db",
        "VersionId": VERSION_ID,
        "VersionStages": ["AWSCURRENT"],
        "SecretString": '{"user": "u", "key": {"old": "o"}}',
    }
    return document | changed


@pytest.mark.parametrize(
    ("version", "asked", "answer"),
    [
        ("", {}, {}),
        (
            "AWSPENDING",
            {"VersionStage": "AWSPENDING"},
            {"VersionStages": ["AWSPENDING"]},
        ),
        (VERSION_ID, {"VersionId": VERSION_ID}, {"VersionStages": []}),
    ],
)
def test_secrets_manager_gets_one_signed_request(
    version: str, asked: dict[str, str], answer: dict[str, object]
) -> None:
    wanted = key("aws", "aws-secret", "erp", "db", version=version)
    steps = aws.read(wanted, aws_keys("session"), NOW)
    [request], value = perform(steps, response(200, aws_secret(**answer)))
    assert request.url == "https://secretsmanager.eu-central-1.amazonaws.com/"
    assert json.loads(body_of(request)) == {"SecretId": "erp/db"} | asked
    assert header(request, "X-Amz-Target") == "secretsmanager.GetSecretValue"
    assert header(request, "X-Amz-Security-Token") == "session"
    signature = header(request, "Authorization")
    assert "/eu-central-1/secretsmanager/aws4_request" in signature
    assert "content-type;host;x-amz-date;x-amz-security-token" in signature
    picked = value.pick("key.old", wanted.backend)  # type: ignore[attr-defined]
    assert (picked, value.version) == (Secret("o"), VERSION_ID)  # type: ignore[attr-defined]


def test_a_secret_can_be_named_by_its_arn() -> None:
    steps = aws.read(key("aws", "aws-secret", *ARN.split("/")), aws_keys(), NOW)
    [request], value = perform(steps, response(200, aws_secret()))
    assert json.loads(body_of(request)) == {"SecretId": ARN}
    assert value


@pytest.mark.parametrize(
    ("path", "version", "name"),
    [
        (("erp", "db"), "", "/erp/db"),
        (("erp", "db"), "3", "/erp/db:3"),
        (("erp",), "", "erp"),
    ],
)
def test_a_parameter_of_several_segments_begins_with_a_slash(
    path: tuple[str, ...], version: str, name: str
) -> None:
    wanted = key("aws", "aws-parameter", *path, version=version)
    parameter = {"Name": name.partition(":")[0], "Version": 3, "Value": "canary"}
    document = {"Parameter": parameter}
    steps = aws.read(wanted, aws_keys(), NOW)
    [request], value = perform(steps, response(200, document))
    assert request.url == "https://ssm.eu-central-1.amazonaws.com/"
    assert json.loads(body_of(request)) == {"Name": name, "WithDecryption": True}
    assert value.pick("", wanted.backend) == Secret("canary")  # type: ignore[attr-defined]
    assert value.version == "3"  # type: ignore[attr-defined]


def azure_secret(**changed: object) -> dict[str, object]:
    place = "https://erp.vault.azure.net/secrets/erp-db/ab12"
    attributes = {"enabled": True}
    return {"value": "canary", "id": place, "attributes": attributes} | changed


@pytest.mark.parametrize(("version", "end"), [("", ""), ("AB12", "/AB12")])
def test_a_key_vault_gets_the_name_in_any_case(version: str, end: str) -> None:
    wanted = key("azure", "azure-secret", "ERP-db", version=version)
    steps = azure.read(wanted, SESSION, NOW)
    [request], value = perform(steps, response(200, azure_secret()))
    base = "https://erp.vault.azure.net/secrets/ERP-db"
    assert request.url == f"{base}{end}?api-version=7.4"
    assert header(request, "Authorization") == "Bearer canary-token"
    assert value.pick("", wanted.backend) == Secret("canary")  # type: ignore[attr-defined]
    assert value.version == "ab12"  # type: ignore[attr-defined]


def google_secret(content: bytes = b"canary", **changed: object) -> dict[str, object]:
    data = b64encode(content).decode()
    payload = {"data": data, "dataCrc32c": str(crc32c(content))}
    name = "projects/123/secrets/erp/versions/4"
    return {"name": name, "payload": payload | changed}


@pytest.mark.parametrize(("version", "end"), [("", "latest"), ("4", "4")])
def test_secret_manager_gets_project_name_and_version(version: str, end: str) -> None:
    wanted = key("gcp", "gcp-secret", "erp", version=version)
    steps = google.read(wanted, SESSION, NOW)
    [request], value = perform(steps, response(200, google_secret()))
    base = "https://secretmanager.googleapis.com/v1/projects/acme/secrets/erp/versions"
    assert request.url == f"{base}/{end}:access"
    assert value.pick("", wanted.backend) == Secret("canary")  # type: ignore[attr-defined]
    assert value.version == "4"  # type: ignore[attr-defined]


def test_the_checksum_is_that_of_the_standard() -> None:
    assert crc32c(b"123456789") == 0xE3069283
    assert crc32c(b"") == 0


FIELDS = [
    {"id": "username", "label": "user", "value": "u"},
    {"id": "f1", "label": "key", "value": "first"},
    {"id": "f2", "label": "key", "value": "second"},
    {"id": "f3", "label": "number", "value": 3},
    {"id": "f4", "label": "empty"},
]


def op_item(**changed: object) -> dict[str, object]:
    item = {"id": ITEM, "title": 'A "b" \\', "vault": {"id": VAULT}, "version": 2}
    return {**item, "fields": FIELDS, **changed}


def found(name: str, identifier: str, title: str) -> Response:
    other = {"id": "o" * 26, name: title.upper()}  # compared without regard to case
    return response(200, [other, {"id": identifier, name: title}])


def test_titles_are_escaped_and_both_are_found_first() -> None:
    wanted = key("op", "op", "Erp", 'A "b" \\')
    vaults = found("name", VAULT, "Erp")
    items = found("title", ITEM, 'A "b" \\')
    steps = onepassword.read(wanted, SESSION, NOW)
    requests, value = perform(steps, vaults, items, response(200, op_item()))
    assert [request.target for request in requests] == [
        "/base/v1/vaults?filter=name%20eq%20%22Erp%22",
        (
            f"/base/v1/vaults/{VAULT}/items?filter="
            "title%20eq%20%22A%20%5C%22b%5C%22%20%5C%5C%22"
        ),
        f"/base/v1/vaults/{VAULT}/items/{ITEM}",
    ]
    assert header(requests[0], "Authorization") == "Bearer canary-token"
    assert value.version == "2"  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("field", "result"),
    [
        ("user", "u"),
        ("username", "u"),
        ("f2", "second"),
        ("key", "field-absent"),
        ("other", "field-absent"),
        ("number", "secret-not-text"),
        ("empty", "secret-empty"),
    ],
)
def test_a_field_is_named_by_a_label_of_its_own_or_its_id(
    field: str, result: str
) -> None:
    wanted = key("op", "op", VAULT, ITEM)
    steps = onepassword.read(wanted, SESSION, NOW)
    _, value = perform(steps, response(200, op_item()))
    assert outcome(lambda: value.pick(field, wanted.backend)) == result  # type: ignore[attr-defined]


@pytest.mark.parametrize("odd", [[], {}, None, 1, [["x"]]])
def test_an_item_with_odd_members_is_read_as_far_as_it_can_be(odd: object) -> None:
    fields = [*FIELDS, odd, {"id": odd, "label": odd, "value": "canary"}]
    item = op_item(title=odd, state=odd, fields=fields)
    wanted = key("op", "op", VAULT, ITEM)
    _, value = perform(onepassword.read(wanted, SESSION, NOW), response(200, item))
    assert outcome(lambda: value.pick("user", wanted.backend)) == "u"  # type: ignore[attr-defined]


def outcome(pick: Callable[[], Secret]) -> str:
    try:
        return pick().reveal()
    except OutkeyError as error:
        return str(error.reason)


# ── what is refused ───────────────────────────────────────────────────────────────────

NO_ACCESS = response(400, {"__type": "AccessDeniedException"})
SECRET = ("aws", "aws-secret", "erp", "db")
PARAMETER = ("aws", "aws-parameter", "erp")
AZURE = ("azure", "azure-secret", "erp-db")
GOOGLE = ("gcp", "gcp-secret", "erp")
OP = ("op", "op", VAULT, ITEM)


def error_of_aws(code: str, status: int = 400) -> Response:
    return response(status, {"__type": code})


def parameter(**changed: object) -> Response:
    values = {"Name": "erp", "Version": 3, "Value": "canary"} | changed
    return response(200, {"Parameter": values})


def disabled() -> Response:
    inner = {"code": "SecretDisabled"}
    return response(403, {"error": {"code": "Forbidden", "innererror": inner}})


def state() -> Response:
    return response(400, {"error": {"status": "FAILED_PRECONDITION"}})


CASES: list[tuple[tuple[str, ...], str, Response, str]] = [
    (SECRET, "", error_of_aws("ResourceNotFoundException"), "secret-absent"),
    (SECRET, "V9", error_of_aws("ResourceNotFoundException"), "version-absent"),
    (SECRET, "", error_of_aws("InvalidRequestException"), "secret-deleted"),
    (SECRET, "", error_of_aws("AccessDeniedException"), "backend-denied"),
    (SECRET, "", error_of_aws("DecryptionFailure"), "backend-denied"),
    (SECRET, "", error_of_aws("ThrottlingException"), "backend-throttled"),
    (SECRET, "", error_of_aws("InternalServiceError", 500), "backend-unreachable"),
    (SECRET, "", error_of_aws("InvalidSignatureException"), "backend-login"),
    (SECRET, "", error_of_aws("UnrecognizedClientException"), "backend-login"),
    (SECRET, "", error_of_aws("ExpiredTokenException"), "backend-login"),
    (SECRET, "", error_of_aws("SomethingNew"), "backend-unreachable"),
    (SECRET, "", response(200, aws_secret(Name="other", ARN="x")), "lie"),
    (SECRET, "", response(200, aws_secret(VersionStages=["AWSPENDING"])), "lie"),
    (SECRET, "V9", response(200, aws_secret()), "lie"),
    (SECRET, "", response(200, aws_secret(VersionId=3)), "lie"),
    (SECRET, "", response(200, aws_secret(VersionId="canary\x1b[2J")), "lie"),
    (SECRET, "", response(200, aws_secret(VersionId="canary" * 20)), "lie"),
    (SECRET, "", response(200, aws_secret(SecretString=None)), "secret-not-text"),
    (PARAMETER, "", error_of_aws("ParameterNotFound"), "secret-absent"),
    (PARAMETER, "9", error_of_aws("ParameterVersionNotFound"), "version-absent"),
    (PARAMETER, "", parameter(Name="other"), "lie"),
    (PARAMETER, "", parameter(Version="3"), "lie"),
    (PARAMETER, "9", parameter(), "lie"),
    (PARAMETER, "", parameter(Version=10**100), "lie"),
    (PARAMETER, "", parameter(Value=3), "secret-not-text"),
    ((*AZURE, "more"), "", response(200, {}), "secret-absent"),
    (AZURE, "", response(401, {}), "backend-login"),
    (AZURE, "", response(403, {}), "backend-denied"),
    (AZURE, "", disabled(), "secret-deleted"),
    (AZURE, "", response(404, {}), "secret-absent"),
    (AZURE, "z9", response(404, {}), "version-absent"),
    (AZURE, "", response(418, {}), "backend-unreachable"),
    (AZURE, "", response(429, {}), "backend-throttled"),
    (AZURE, "", response(503, {}), "backend-unreachable"),
    (AZURE, "", response(200, azure_secret(id=None)), "lie"),
    (AZURE, "", response(200, azure_secret(id="https://x/secrets/o/1")), "lie"),
    (AZURE, "", response(200, azure_secret(id="x/secrets/erp-db/canary a")), "lie"),
    (AZURE, "z9", response(200, azure_secret()), "lie"),
    (AZURE, "", response(200, azure_secret(value=None)), "secret-not-text"),
    (
        AZURE,
        "",
        response(200, azure_secret(attributes={"enabled": False})),
        "secret-deleted",
    ),
    ((*GOOGLE, "more"), "", response(200, {}), "secret-absent"),
    (GOOGLE, "", response(401, {}), "backend-login"),
    (GOOGLE, "", response(403, {}), "backend-denied"),
    (GOOGLE, "", state(), "secret-deleted"),
    (GOOGLE, "", response(400, {}), "secret-absent"),
    (GOOGLE, "9", response(404, {}), "version-absent"),
    (GOOGLE, "", response(418, {}), "backend-unreachable"),
    (GOOGLE, "", response(429, {}), "backend-throttled"),
    (GOOGLE, "", response(200, google_secret(dataCrc32c="1")), "lie"),
    (GOOGLE, "", response(200, google_secret(data="%")), "lie"),
    (GOOGLE, "", response(200, google_secret() | {"name": "erp"}), "lie"),
    (GOOGLE, "", response(200, google_secret() | {"payload": 3}), "lie"),
    (GOOGLE, "9", response(200, google_secret()), "lie"),
    (GOOGLE, "", response(200, google_secret(b"\xff")), "secret-not-text"),
    (("op", "op", VAULT), "", response(200, {}), "secret-absent"),
    (OP, "", response(401, {}), "backend-login"),
    (OP, "", response(403, {}), "backend-denied"),
    (OP, "", response(404, {}), "secret-absent"),
    (OP, "", response(400, {}), "backend-unreachable"),
    (OP, "", response(429, {}), "backend-throttled"),
    (OP, "", response(200, op_item(id="x")), "lie"),
    (OP, "", response(200, op_item(vault={"id": "x"})), "lie"),
    (OP, "", response(200, op_item(version="2")), "lie"),
    (OP, "", response(200, op_item(version=10**100)), "lie"),
    (OP, "", response(200, op_item(fields=None)), "lie"),
    (OP, "", response(200, op_item(state="ARCHIVED")), "secret-deleted"),
    (("op", "op", "Erp", ITEM), "", response(200, {}), "lie"),
    (("op", "op", "Erp", ITEM), "", response(200, []), "secret-absent"),
    (("op", "op", "Erp", ITEM), "", response(200, [{"id": 1, "name": "Erp"}]), "lie"),
    (
        ("op", "op", "Erp", ITEM),
        "",
        response(200, [{"id": VAULT, "name": "Erp"}] * 2),
        "secret-absent",
    ),
]


@pytest.mark.parametrize(("place", "version", "answer", "reason"), CASES)
def test_a_secret_that_cannot_be_read_has_its_reason(
    place: tuple[str, ...], version: str, answer: Response, reason: str
) -> None:
    name, store, *path = place
    wanted = key(name, store, *path, version=version)
    rules = rules_of(wanted.backend.store)
    session = aws_keys() if name == "aws" else SESSION
    with pytest.raises(OutkeyError) as refusal:
        perform(rules.read(wanted, session, NOW), answer)
    expected = "backend-unreachable" if reason == "lie" else reason
    assert refusal.value.reason == expected
    assert "canary" not in f"{refusal.value} {refusal.value.hint}"


# ── logging in ────────────────────────────────────────────────────────────────────────

TOKEN = {"access_token": "canary-granted", "token_type": "Bearer", "expires_in": 600}
STS = """<AssumeRoleWithWebIdentityResponse><AssumeRoleWithWebIdentityResult>
<Credentials><AccessKeyId>ASIA1</AccessKeyId><SecretAccessKey>K</SecretAccessKey>
<SessionToken>T</SessionToken>{end}</Credentials>
</AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>"""
END = "<Expiration>2027-01-15T08:10:00Z</Expiration>"  # ten minutes after NOW
CREDENTIALS: Mapping[str, Mapping[str, str]] = {
    "web": {"role_arn": "arn:role", "web_identity_token": " jwt\n"},
    "azure": {"tenant_id": "t/1", "client_id": "c", "client_secret": "s+\n"},
    "national": {"tenant_id": "t", "client_id": "c", "federated_token": "jwt\n"},
    "op": {"token": "canary-token\n"},
}


def log_in(name: str, *responses: Response) -> tuple[list[Request], Session]:
    backend = BACKENDS.named(name)
    credentials = {key: Secret(text) for key, text in CREDENTIALS[name].items()}
    rules = rules_of(backend.store)
    requests, session = perform(rules.log_in(backend, credentials, NOW), *responses)
    assert isinstance(session, Session)
    return requests, session


@pytest.mark.parametrize(("end", "life"), [(END, 600.0), ("", 3600.0)])
def test_a_web_identity_assumes_a_role_and_its_keys_sign(end: str, life: float) -> None:
    answer = Response(200, body=STS.format(end=end).encode())
    [request], session = log_in("web", answer)
    assert request.url == "https://sts.cn-north-1.amazonaws.com.cn/"
    assert "RoleArn=arn%3Arole&" in body_of(request)
    assert body_of(request).endswith("WebIdentityToken=jwt")
    assert session.ends == NOW.now + life
    wanted = key("web", "aws-secret", "erp", "db")
    [read], _ = perform(aws.read(wanted, session, NOW), response(200, aws_secret()))
    assert read.origin.host == "secretsmanager.cn-north-1.amazonaws.com.cn"
    assert header(read, "X-Amz-Security-Token") == "T"


def test_a_client_of_azure_gets_a_token_for_vaults() -> None:
    [request], session = log_in("azure", response(200, TOKEN))
    assert request.origin.host == "login.microsoftonline.com"
    target = request.wire_target()
    assert isinstance(target, Secret)
    assert target.reveal() == "/t%2F1/oauth2/v2.0/token"
    assert body_of(request) == (
        "grant_type=client_credentials&client_id=c"
        "&scope=https%3A%2F%2Fvault.azure.net%2F.default&client_secret=s%2B"
    )
    assert (session.token, session.ends) == (Secret("canary-granted"), NOW.now + 600)


def test_a_national_cloud_and_a_federated_token_have_their_own_words() -> None:
    without_end = {**TOKEN, "expires_in": None}
    [request], session = log_in("national", response(200, without_end))
    assert request.origin.host == "login.chinacloudapi.cn"
    assert "scope=https%3A%2F%2Fvault.azure.cn%2F.default" in body_of(request)
    assert body_of(request).endswith("&client_assertion=jwt")
    assert session.ends == NOW.now + 3600


def test_an_account_of_google_signs_for_the_service_without_a_request() -> None:
    credentials = {"service_account": Secret("{}")}
    steps = google.log_in(BACKENDS.named("gcp"), credentials, NOW)
    assertion = next(steps)
    assert isinstance(assertion, Assertion)
    assert assertion.is_about_issuer
    assert assertion.claims == {
        "aud": "https://secretmanager.googleapis.com/",
        "iat": 1_800_000_000,
        "exp": 1_800_003_600,
    }
    with pytest.raises(StopIteration) as stop:
        steps.send(Secret("signed"))
    assert stop.value.value == Session(Secret("signed"), 1_800_003_600.0)


def test_connect_needs_no_request_to_log_in() -> None:
    assert log_in("op") == ([], Session(Secret("canary-token")))


@pytest.mark.parametrize("name", ["azure", "gcp", "op", "aws"])
def test_a_log_in_that_ends_is_replaced(name: str) -> None:
    backend = BACKENDS.named(name)
    rules = rules_of(backend.store)
    assert perform(rules.renew(backend, SESSION, NOW)) == ([], None)


def xml_error(code: str, status: int = 400) -> Response:
    text = f"<ErrorResponse><Error><Code>{code}</Code></Error></ErrorResponse>"
    return Response(status, body=text.encode())


@pytest.mark.parametrize(
    ("name", "answer", "reason"),
    [
        ("web", xml_error("AccessDenied", 403), "backend-login"),
        ("web", xml_error("ExpiredTokenException"), "backend-login"),
        ("web", xml_error("Throttling"), "backend-throttled"),
        ("web", xml_error("ServiceUnavailable", 503), "backend-unreachable"),
        ("azure", response(401, {"error": "invalid_client"}), "backend-login"),
        ("azure", response(200, {}), "backend-login"),
        ("azure", response(200, {"access_token": "s+"}), "backend-login"),
        ("azure", response(429, {}), "backend-throttled"),
        ("azure", response(502, {}), "backend-unreachable"),
    ],
)
def test_a_refused_log_in_has_its_reason(
    name: str, answer: Response, reason: str
) -> None:
    with pytest.raises(OutkeyError) as refusal:
        log_in(name, answer)
    assert refusal.value.reason == reason


def test_every_store_has_its_rules() -> None:
    assert {rules_of(kind) for kind in StoreKind} >= {aws, azure, google, onepassword}


def test_another_address_serves_secrets_parameters_and_roles() -> None:
    text = """
        [backend.a]
        store = "aws"
        region = "r"
        address = "https://aws.example"
        role_arn = "arn:role"
        web_identity_token = "file:/run/token"
    """
    backend: Backend = parse_backends(text).named("a")
    credentials = {"role_arn": Secret("r"), "web_identity_token": Secret("t")}
    step = next(aws.log_in(backend, credentials, NOW))
    assert isinstance(step, Request)
    assert step.url == "https://aws.example/"
    wanted = StoreKey(backend, "aws-parameter", ("p",), "")
    step = next(aws.read(wanted, aws_keys(), NOW))
    assert isinstance(step, Request)
    assert step.url == "https://aws.example/"
