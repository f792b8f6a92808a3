"""The scenes of AWS, and each of their failures, as outkey meets and explains them."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.conftest import Terminal
from cli.test_token_processes import RENEWAL, output_of, race, start
from outkey.spar import Spar
from outkey.spar.aws import DENIED_ROLE, KEY, KEY_ID, WEB_IDENTITY

ROLE = "arn:aws:iam::1:role/erp"


@pytest.fixture
def spar() -> Iterator[Spar]:
    with Spar() as server:
        yield server


def document(spar: Spar, path: str = "/aws/api", **changed: object) -> str:
    aws: dict[str, object] = {
        "access_key_id": KEY_ID,
        "region": "eu-central-1",
        "service": "execute-api",
    }
    lines = [f'{key} = "{value}"' for key, value in (aws | changed).items()]
    return "\n".join(
        [
            "[configuration.acme]",
            f'base_url = "{spar.url}"',
            'network = "internal"',
            'authentication_type = "aws_sigv4"',
            f'verification = {{ test_path = "{path}", compare = false }}',
            "[configuration.acme.aws]",
            *lines,
        ]
    )


def apply(outkey: Terminal, text: str, key: str = KEY) -> None:
    assert outkey("apply", "-", stdin=text).code == 0
    name = "secret_access_key"
    assert outkey("secret", "set", "acme", name, stdin=key).code == 0


def sts_requests(spar: Spar) -> int:
    return Counter(arrival.path for arrival in spar.journal)["/aws/sts"]


def test_a_signed_request_is_accepted(outkey: Terminal, spar: Spar) -> None:
    apply(outkey, document(spar))
    assert outkey("test", "acme").code == 0
    sent = outkey("request", "acme", "POST", "/aws/api?b=2&a=1%202")
    assert sent.code == 0
    preview = outkey("preview", "acme", "/aws/api")
    assert "AWS4-HMAC-SHA256 ***" in preview.out


@pytest.mark.parametrize(
    ("changed", "key", "cause"),
    [
        ({}, "another key", "aws-secret-wrong"),
        ({"access_key_id": "AKIAOTHER"}, KEY, "aws-key-unknown"),
        ({"region": "us-east-1"}, KEY, "aws-scope-wrong"),
        ({"service": "sqs"}, KEY, "aws-scope-wrong"),
        ({"path": "/aws/api/denied"}, KEY, "forbidden"),
        ({"path": "/aws/api?skew=900"}, KEY, "clock-off"),
    ],
)
def test_each_failure_has_its_cause(
    outkey: Terminal, spar: Spar, changed: dict[str, str], key: str, cause: str
) -> None:
    apply(outkey, document(spar, **changed), key)
    report = outkey("test", "acme", "--json")
    assert report.code == 1
    assert report.json["findings"][0]["id"] == cause, report.json


def test_a_role_is_assumed_and_can_be_forgotten(outkey: Terminal, spar: Spar) -> None:
    apply(outkey, document(spar, role_arn=ROLE, sts_url=f"{spar.url}/aws/sts"))
    assert outkey("test", "acme").code == 0
    assert "fresh" in outkey("token", "status", "acme").out
    assert outkey("token", "forget", "acme").code == 0
    assert outkey("token", "renew", "acme").code == 0
    assert sts_requests(spar) == 2


def test_a_session_that_ended_earlier_than_stated_is_renewed_once(
    outkey: Terminal, spar: Spar
) -> None:
    url = f"{spar.url}/aws/sts?lifetime=-1&stated=3600"
    apply(outkey, document(spar, role_arn=ROLE, sts_url=url))
    sent = outkey("request", "acme", "/aws/api")
    assert sent.code == 1
    assert sts_requests(spar) == 2


def test_a_refused_role_has_the_code_and_words_of_sts(
    outkey: Terminal, spar: Spar
) -> None:
    apply(outkey, document(spar, role_arn=DENIED_ROLE, sts_url=f"{spar.url}/aws/sts"))
    sent = outkey("request", "acme", "/aws/api")
    assert sent.code == 1
    assert "AccessDenied: User: spar is not authorized" in sent.err
    assert "token_endpoint" in sent.err


def test_a_web_identity_is_read_from_its_file_each_time(
    outkey: Terminal, spar: Spar, tmp_path: Path
) -> None:
    file = tmp_path / "jwt"
    file.write_text("an expired one\n")
    role = {"role_arn": ROLE, "sts_url": f"{spar.url}/aws/sts"}
    text = document(spar, web_identity_token=f"file:{file}", **role)
    assert outkey("apply", "-", stdin=text).code == 0
    assert outkey("request", "acme", "/aws/api").code == 1
    file.write_text(f"{WEB_IDENTITY}\n")
    assert outkey("token", "renew", "acme").code == 0
    assert outkey("request", "acme", "/aws/api").code == 0


@pytest.mark.parametrize("processes", [2, pytest.param(8, marks=pytest.mark.full)])
def test_many_processes_assume_a_role_exactly_once(
    outkey: Terminal, spar: Spar, processes: int
) -> None:
    url = f"{spar.url}/aws/sts?before=0.3"
    apply(outkey, document(spar, role_arn=ROLE, sts_url=url))
    sent = race(outkey, "/aws/api", processes=processes, threads=25)
    assert sent == {200: processes * 25}
    assert sts_requests(spar) == 1


@pytest.mark.parametrize(
    "point",
    [
        pytest.param("before claim", marks=pytest.mark.full),
        "after asking",
        pytest.param("before keep", marks=pytest.mark.full),
    ],
)
def test_a_kill_between_the_response_of_sts_and_its_storing_is_recovered(
    point: str, outkey: Terminal, spar: Spar
) -> None:
    apply(outkey, document(spar, role_arn=ROLE, sts_url=f"{spar.url}/aws/sts"))
    killed = start(outkey, RENEWAL, point, "SIGKILL", "1", "/aws/api")
    assert output_of(killed, outkey.canary) == ""
    again = start(outkey, RENEWAL, "", "SIGKILL", "1", "/aws/api")
    assert output_of(again, outkey.canary) == "200"
    assert sts_requests(spar) == 1 + (point != "before claim")
    assert outkey("audit", "verify").code == 0


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({"region": ""}, "aws.region"),
        ({"service": ""}, "aws.service"),
        ({"access_key_id": ""}, "aws.access_key_id"),
        ({"payload": "unsigned"}, "aws.payload"),
    ],
)
def test_a_document_that_cannot_sign_is_refused(
    outkey: Terminal, spar: Spar, changed: dict[str, str], field: str
) -> None:
    refused = outkey("apply", "-", stdin=document(spar, **changed))
    assert refused.code == 2
    assert field in refused.err
