"""AWS signatures beside botocore, and at moto, which checks them by its own rules."""

import logging
from datetime import UTC, datetime
from unittest.mock import patch

import pytest
from botocore import auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from outkey import Gateway
from outkey.foundation.core.origin import parse_url
from outkey.foundation.core.secret import Secret
from outkey.sending.core.aws.requests import AwsKeys, hash_of_body, signed_request
from outkey.sending.core.aws.signing import stamp_at
from outkey.sending.core.request.message import Header, Request, Source
from peers.documents import GatewayFor, Given
from peers.moto import Moto
from peers.test_diagnosis_peers import WRONG, leaks, reasons

PATIENCE = 60
QUEUE = "/123456789012/orders"
KEY = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
NOW = 1_800_000_000


# ── the same signature as botocore's ──────────────────────────────────────────────────


@pytest.mark.parametrize("service", ["s3", "sqs", "execute-api"])
@pytest.mark.parametrize("session", [None, "session/token=="])
@pytest.mark.parametrize(
    ("method", "target", "body"),
    [
        ("GET", "/", b""),
        ("GET", "/prod/a%20b/%E1%88%B4?b=2&a=1&a=0&empty=", b""),
        ("GET", "/?a=%2f%c3%a9&b;c=1=2&%ff=1&d=x+y&flag", b""),
        ("PUT", "/bucket/a//b/c%2Bd%3D", b"content"),
        ("POST", "/x/./y/../z/?q=a%20b%2Fc", b'{"item": 7}'),
    ],
)
def test_botocore_makes_the_same_signature(
    service: str,
    session: str | None,
    method: str,
    target: str,
    body: bytes,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.CRITICAL, "botocore")  # it logs what it signs
    url = f"https://abc.{service}.eu-central-1.amazonaws.com"
    headers = {"Content-Type": "application/json", "X-Amz-Target": "T.Do  it"}
    ours = signed_request(
        Request(
            method,
            parse_url(url).origin,
            target,
            tuple(Header(name, text, Source.ROW) for name, text in headers.items()),
            body,
        ),
        AwsKeys.of("AKIDEXAMPLE", Secret(KEY), Secret(session) if session else None),
        stamp_at(NOW, "eu-central-1", service),
        body_hash=hash_of_body(body),
    )
    # It signs the query as it is written: only one spelling of it is right.
    theirs = AWSRequest(method, f"{url}{ours.target}", dict(headers), body)
    signer = auth.S3SigV4Auth if service == "s3" else auth.SigV4Auth
    keys = Credentials("AKIDEXAMPLE", KEY, session)
    at = datetime.fromtimestamp(NOW, UTC)
    with patch(
        "botocore.auth.get_current_datetime", lambda **_: at.replace(tzinfo=None)
    ):
        signer(keys, service, "eu-central-1").add_auth(theirs)
    [value] = [h.value for h in ours.headers if h.name == "Authorization"]
    assert isinstance(value, Secret)
    assert value.reveal() == theirs.headers["Authorization"]


# ── moto, with IAM switched on ────────────────────────────────────────────────────────


def test_a_key_signs_what_moto_accepts(moto: Moto, gateway_for: GatewayFor) -> None:
    gateway: Gateway = gateway_for(peer=moto.table(), queue=moto.table(service="sqs"))
    assert gateway.test("peer").ok
    key = "/exports/2026/a b+c=d:ä~(1).csv"
    assert gateway.send("peer", "PUT", key, data=b"1;2").status == 200
    assert gateway.send("peer", "GET", key).text == "1;2"
    listed = gateway.send("peer", "GET", "/exports", params={"prefix": "2026/a b+"})
    assert listed.status == 200
    form = {"Action": "SendMessage", "Version": "2012-11-05", "MessageBody": "a+b c=ä"}
    sent = gateway.send("queue", "POST", QUEUE, data=form)
    assert sent.status == 200, sent.text


def test_a_role_is_assumed_and_its_session_signs(
    moto: Moto, gateway_for: GatewayFor
) -> None:
    gateway = gateway_for(peer=moto.table(role_arn=moto.role))
    report = gateway.test("peer")
    assert report.ok, report
    assert gateway.send("peer", "GET", "/exports").status == 200


UNKNOWN = "AKIAUNKNOWN000000000"
MISTAKES: dict[str, tuple[dict[str, object], str]] = {
    "wrong secret": ({"secret_access_key": Given(WRONG)}, "aws-secret-wrong"),
    "secret with a quotation mark": (
        {"secret_access_key": Given('"KEY"')},
        "secret-in-quotes",
    ),
    "unknown key": ({"access_key_id": UNKNOWN}, "aws-key-unknown"),
    "temporary key without its session": (
        {"access_key_id": UNKNOWN.replace("AKIA", "ASIA")},
        "aws-key-unknown",
    ),
    "missing permission": (
        {"access_key_id": "DENIED", "secret_access_key": "DENIED"},
        "forbidden",
    ),
    "role, wrong secret": (
        {"secret_access_key": Given(WRONG), "role_arn": "ROLE"},
        "aws-secret-wrong",
    ),
    "role, unknown key": (
        {"access_key_id": UNKNOWN, "role_arn": "ROLE"},
        "aws-key-unknown",
    ),
    "role that the user may not assume": (
        {
            "access_key_id": "DENIED",
            "secret_access_key": "DENIED",
            "role_arn": "ROLE",
        },
        "aws-role-denied",
    ),
    "not STS": (
        {"sts_url": "/moto-api/data.json", "role_arn": "ROLE"},
        "sts-url-wrong",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_wrong_set_up_has_its_true_cause_first(
    name: str, moto: Moto, gateway_for: GatewayFor
) -> None:
    changed, expected = MISTAKES[name]
    places = {
        "role_arn": moto.role,
        "sts_url": f"{moto.url}{changed.get('sts_url', '')}",
    }
    if changed.get("access_key_id") == "DENIED":
        places["access_key_id"] = moto.denied_id
    values = changed | {key: text for key, text in places.items() if key in changed}
    if changed.get("secret_access_key") == "DENIED":
        values["secret_access_key"] = Given(moto.denied_key)
    table = moto.table(**values)
    report = gateway_for(peer=table).test("peer")
    assert not report.ok
    assert reasons(report)[0] == expected, report.suspicions
    assert leaks(report, table) == []
