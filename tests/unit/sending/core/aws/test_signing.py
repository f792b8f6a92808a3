"""The signature of AWS: its published test suite, and what the suite does not have."""

import json
from pathlib import Path

import pytest

from outkey.foundation.core.origin import Origin
from outkey.foundation.core.secret import Secret
from outkey.sending.core.aws import signing
from outkey.sending.core.aws.requests import AwsKeys, hash_of_body, signed_request
from outkey.sending.core.request.message import Header, Request, Source

SUITE = json.loads(Path(__file__).with_name("sigv4_suite.json").read_text("utf-8"))
STAMP = signing.stamp_at(SUITE["at"], SUITE["region"], SUITE["service"])
ORIGIN = Origin("https", "example.amazonaws.com", 443)
SESSION = "6e86291e8372ff2a2260956d9b8aae1d763fbf315fa00fa31553b73ebf194267"
KEYS = AwsKeys.of("AKIDEXAMPLE", Secret(SUITE["secret_access_key"]), None)


def parts_of(raw: str) -> tuple[str, str, list[tuple[str, str]], str]:
    """Return method, target, canonical headers and body of a request of the suite."""
    head, _, body = raw.partition("\n\n")
    first, *lines = head.strip().split("\n")
    method, _, target = first.partition(" ")
    headers: dict[str, str] = {}
    name = ""
    for line in lines:
        if line.startswith(" "):
            headers[name] += f" {line.strip()}"
            continue
        name, _, value = line.partition(":")
        name = name.lower()
        value = signing.canonical_value(value)
        # A request of ours has each header once; the suite joins those that repeat.
        headers[name] = f"{headers[name]},{value}" if name in headers else value
    lines_to_sign = [
        (name, signing.canonical_value(value)) for name, value in headers.items()
    ]
    return method, target.rpartition(" ")[0], sorted(lines_to_sign), body


@pytest.mark.parametrize("name", SUITE["cases"])
def test_the_published_suite_of_aws_passes(name: str) -> None:
    case = SUITE["cases"][name]
    method, target, headers, body = parts_of(case["request"])
    if name.endswith("with-session-token"):  # its token is not in the request yet
        headers.append(("x-amz-security-token", SESSION))
    path, _, query = target.partition("?")
    canonical = "".join(
        signing.canonical_parts(
            method,
            signing.canonical_path(path, SUITE["service"]),
            signing.canonical_query(query),
            headers,
            signing.body_hash([body.encode()]),
        )
    )
    assert canonical == case["canonical"]
    request_hash = signing.text_hash(canonical)
    assert signing.string_to_sign(STAMP, request_hash) == case["string"]
    signer = signing.Signer(STAMP, signing.joined_names(name for name, _ in headers))
    packed = f"AKIDEXAMPLE\n{SUITE['secret_access_key']}\n\n{request_hash}"
    assert signer.header(packed) == case["authorization"]


def request(target: str = "/", *headers: Header, **more: object) -> Request:
    return Request("GET", ORIGIN, target, headers, **more)  # type: ignore[arg-type]


def sign(sent: Request, service: str = "service", keys: AwsKeys = KEYS) -> Request:
    stamp = STAMP._replace(service=service)
    return signed_request(sent, keys, stamp, body_hash=hash_of_body(sent.body))


def header(signed: Request, name: str) -> str:
    [value] = [h.value for h in signed.headers if h.name.lower() == name]
    return value.reveal() if isinstance(value, Secret) else value


def test_a_request_of_outkey_has_the_signature_of_the_suite() -> None:
    signed = sign(request())
    assert header(signed, "x-amz-date") == "20150830T123600Z"
    expected = SUITE["cases"]["get-vanilla"]["authorization"]
    assert header(signed, "authorization") == expected


def test_the_signature_is_secret_and_the_date_is_not() -> None:
    secret = {h.name for h in sign(request()).headers if isinstance(h.value, Secret)}
    assert secret == {"Authorization"}


def test_a_session_token_is_sent_signed_and_secret() -> None:
    keys = AwsKeys.of("AKIDEXAMPLE", Secret("key"), Secret("session/token=="))
    signed = sign(request(), keys=keys)
    assert header(signed, "x-amz-security-token") == "session/token=="
    assert "host;x-amz-date;x-amz-security-token" in header(signed, "authorization")
    assert "session/token" not in repr(signed.headers)


def test_every_amazon_header_of_any_source_is_signed_with_the_content_type() -> None:
    signed = sign(
        request(
            "/",
            Header("X-Amz-Target", "Dynamo.Scan", Source.ROW),
            Header("x-amz-meta-key", Secret("secret value"), Source.ROW),
            Header("Content-Type", "application/json", Source.DEFAULT),
            Header("X-Other", "1", Source.CALLER),
        )
    )
    names = "SignedHeaders=content-type;host;x-amz-date;x-amz-meta-key;x-amz-target,"
    assert names in header(signed, "authorization")


def test_a_secret_value_is_signed_as_a_plain_one_is() -> None:
    plain = request("/?a=1&key=s%20t", Header("X-Amz-Meta-Key", "v", Source.ROW))
    secret = request(
        "/?a=1",
        Header("X-Amz-Meta-Key", Secret("v"), Source.ROW),
        secret_parameters={"key": Secret("s t")},
    )
    of_plain = header(sign(plain), "authorization")
    assert header(sign(secret), "authorization") == of_plain
    body = request(body=Secret("a=b"))._replace(method="POST")
    of_bytes = header(sign(body._replace(body=b"a=b")), "authorization")
    assert header(sign(body), "authorization") == of_bytes


def test_s3_has_the_hash_of_the_body_and_its_path_encoded_once() -> None:
    signed = sign(request("/a//b/../c:d%20e"), service="s3")
    assert header(signed, "x-amz-content-sha256") == signing.body_hash([])
    assert signed.target == "/a//b/../c%3Ad%20e"
    assert signing.canonical_path(signed.target, "s3") == signed.target


@pytest.mark.parametrize("service", ["s3", "execute-api"])
def test_a_plus_sign_in_a_query_is_sent_as_the_space_that_it_means(
    service: str,
) -> None:
    assert sign(request("/x+y?a=b+c"), service).target.endswith("?a=b%20c")


def test_an_unsigned_payload_is_named_as_such() -> None:
    signed = signed_request(request(), KEYS, STAMP, body_hash=signing.UNSIGNED_PAYLOAD)
    assert header(signed, "x-amz-content-sha256") == "UNSIGNED-PAYLOAD"
    assert "x-amz-content-sha256" in header(signed, "authorization")


def test_a_body_of_parts_has_the_hash_of_the_whole() -> None:
    class Parts:
        def __len__(self) -> int:
            return 2

        def parts(self) -> list[bytes]:
            return [b"a", b"b"]

    assert hash_of_body(Parts()) == hash_of_body(b"ab")  # type: ignore[arg-type]
