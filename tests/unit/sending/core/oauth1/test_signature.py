"""Signatures of OAuth 1.0a: the vectors of RFC 5849, and oauthlib as a judge."""

import logging
from collections.abc import Iterator
from urllib.parse import urlencode

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from oauthlib.oauth1 import Client

from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.fields.choices import SignatureMethod
from outkey.foundation.core.origin import parse_url
from outkey.foundation.core.secret import Secret
from outkey.sending.adapters.tokens.signer_jose import JoseSigner
from outkey.sending.core.oauth1.signature import (
    FORM,
    Credentials,
    Stamp,
    base_string,
    signature_of,
    signed_header,
    stamp_of,
)
from outkey.sending.core.request.message import Header, Request, Source

SIGNER = JoseSigner()
STAMP = Stamp(137131202, "chapoH")
TOKEN = "nnch734d00sl2jdk"
PAIRS = st.lists(st.tuples(st.text(min_size=1), st.text()), max_size=4)


@pytest.fixture(autouse=True)
def _quiet_judge(caplog: pytest.LogCaptureFixture) -> None:
    """Keep oauthlib from logging the base string, which has the token."""
    caplog.set_level(logging.WARNING, logger="oauthlib")


def request_to(
    url: str, method: str = "GET", body: object = b"", content_type: str = ""
) -> Request:
    location = parse_url(url)
    headers: tuple[Header, ...] = ()
    if content_type:
        headers = (
            Header("Content-Type", "text/plain", Source.DEFAULT),
            Header("Content-Type", content_type, Source.CALLER),
        )
    return Request(method, location.origin, location.target, headers, body)  # type: ignore[arg-type]


def credentials(
    method: SignatureMethod = SignatureMethod.HMAC_SHA1,
    token: str | None = TOKEN,
    token_secret: str | None = "pfkkdhi9sl3r4s00",
    **more: object,
) -> Credentials:
    return Credentials(
        consumer_key="dpf43f3p2l4k3l03",
        method=method,
        consumer_secret=Secret("kd94hf93k423kf44"),
        token=None if token is None else Secret(token),
        token_secret=None if token_secret is None else Secret(token_secret),
        **more,  # type: ignore[arg-type]
    )


def signed(request: Request, used: Credentials, stamp: Stamp = STAMP) -> str:
    header = signed_header(request, used, stamp, SIGNER.rsa_sha1)
    assert (header.name, header.source) == ("Authorization", Source.AUTHENTICATION)
    assert isinstance(header.value, Secret)
    return header.value.reveal()


# ── RFC 5849 ──────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("url", "method", "parameters", "token", "token_secret", "signature"),
    [
        (
            "https://photos.example.net/initiate",
            "POST",
            [
                ("oauth_timestamp", "137131200"),
                ("oauth_nonce", "wIjqoS"),
                ("oauth_callback", "http://printer.example.com/ready"),
            ],
            None,
            None,
            "74KNZJeDHnMBp0EMJ9ZHt/XKycU=",
        ),
        (
            "https://photos.example.net/token",
            "POST",
            [
                ("oauth_timestamp", "137131201"),
                ("oauth_nonce", "walatlh"),
            ],
            "hh5s93j4hdidpola",
            "hdhd0244k9j7ao03",
            "gKgrFCywp7rO0OXSjdot/IHF7IU=",
        ),
        (
            "http://photos.example.net/photos?file=vacation.jpg&size=original",
            "GET",
            [("oauth_timestamp", "137131202"), ("oauth_nonce", "chapoH")],
            TOKEN,
            "pfkkdhi9sl3r4s00",
            "MdpQcU8iPSUjWoN/UDMsK2sui9I=",
        ),
    ],
    ids=["temporary credentials", "token credentials", "resource"],
)
def test_the_three_requests_of_rfc_5849_section_1_2(
    url: str,
    method: str,
    parameters: list[tuple[str, str]],
    token: str | None,
    token_secret: str | None,
    signature: str,
) -> None:
    used = credentials(token=token, token_secret=token_secret)
    if url.endswith("/token"):
        used = used._replace(verifier=Secret("hfdp7dh39dks9884"))
    protocol = (
        ("oauth_consumer_key", used.consumer_key),
        ("oauth_signature_method", "HMAC-SHA1"),
        *parameters,
    )
    made = signature_of(request_to(url, method), used, protocol, SIGNER.rsa_sha1)
    assert made.has_text(signature)


def test_the_base_string_of_rfc_5849_section_3_4_1_1() -> None:
    request = request_to(
        "http://EXAMPLE.com:80/request?b5=%3D%253D&a3=a&c%40=&a2=r%20b"
    )
    parameters = (
        ("oauth_consumer_key", "9djdj82h48djs9d2"),
        ("oauth_signature_method", "HMAC-SHA1"),
        ("oauth_timestamp", "137131201"),
        ("oauth_nonce", "7d8f3e4a"),
    )
    parts = f"kkk9d7dh3k39sjv7\n{request.target}\nc2&a3=2+q"
    names = ("oauth_token",)
    assert base_string("post", request.origin, parameters, names, parts) == (
        "POST&http%3A%2F%2Fexample.com%2Frequest&a2%3Dr%2520b%26a3%3D2%2520q%26a3%3Da"
        "%26b5%3D%253D%25253D%26c%2540%3D%26c2%3D%26oauth_consumer_key%3D9djdj82h48djs9"
        "d2%26oauth_nonce%3D7d8f3e4a%26oauth_signature_method%3DHMAC-SHA1%26oauth_timest"
        "amp%3D137131201%26oauth_token%3Dkkk9d7dh3k39sjv7"
    )


def test_plaintext_is_both_secrets_encoded() -> None:
    used = credentials(SignatureMethod.PLAINTEXT)._replace(
        consumer_secret=Secret("k&y ")
    )
    header = signed(request_to("https://a.example/"), used)
    assert 'oauth_signature="k%2526y%2520%26pfkkdhi9sl3r4s00"' in header


# ── oauthlib signs the same ───────────────────────────────────────────────────────────


def by_oauthlib(request: Request, used: Credentials, form: str | None = None) -> str:
    private_key = used.private_key
    client = Client(
        used.consumer_key,
        used.consumer_secret.reveal() if used.consumer_secret else None,
        used.token.reveal() if used.token else None,
        used.token_secret.reveal() if used.token_secret else None,
        signature_method=used.method.value,
        rsa_key=private_key.reveal() if private_key else None,
        nonce=STAMP.nonce,
        timestamp=str(STAMP.timestamp),
        realm=used.realm or None,
    )
    _, headers, _ = client.sign(
        request.url,
        request.method,
        body=form,
        headers=None if form is None else {"Content-Type": FORM},
    )
    return str(headers["Authorization"])


def parts_of(header: str) -> set[str]:
    assert header.startswith("OAuth ")
    return set(header.removeprefix("OAuth ").split(", "))


@pytest.fixture(scope="module")
def private_key() -> str:
    key = rsa.generate_private_key(65537, 2048)
    form = PrivateFormat.PKCS8
    return key.private_bytes(Encoding.PEM, form, NoEncryption()).decode("ascii")


@pytest.mark.parametrize("method", list(SignatureMethod))
@pytest.mark.parametrize("legs", [2, 3])
def test_each_method_signs_as_oauthlib_does(
    method: SignatureMethod, legs: int, private_key: str
) -> None:
    used = credentials(method, realm="1234567_SB1")
    if legs == 2:
        used = used._replace(token=None, token_secret=None)
    if method is SignatureMethod.RSA_SHA1:
        used = used._replace(private_key=Secret(private_key))
    request = request_to("https://a.example:8443/a%20b/%C3%A9?x=1&x=0&y=%2B+")
    assert parts_of(signed(request, used)) == parts_of(by_oauthlib(request, used))


@settings(max_examples=60)
@given(query=PAIRS, form=PAIRS)
def test_any_parameters_are_signed_as_oauthlib_does(
    query: list[tuple[str, str]], form: list[tuple[str, str]]
) -> None:
    body = urlencode(form)
    url = f"https://a.example/rest?{urlencode(query)}"
    request = request_to(url, "POST", body.encode(), f"{FORM}; charset=utf-8")
    used = credentials(SignatureMethod.HMAC_SHA256)
    assert parts_of(signed(request, used)) == parts_of(by_oauthlib(request, used, body))


# ── what is signed ────────────────────────────────────────────────────────────────────


class Parts:
    """A body that is read part by part."""

    def __len__(self) -> int:
        return 7

    def parts(self) -> Iterator[bytes]:
        yield b"a=1"
        yield b"&b=2"


@pytest.mark.parametrize("body", [b"a=1&b=2", Secret("a=1&b=2"), Parts()])
def test_a_form_is_signed_wherever_it_comes_from(body: object) -> None:
    request = request_to("https://a.example/", "POST", body, FORM)
    expected = by_oauthlib(request, credentials(), "a=1&b=2")
    assert parts_of(signed(request, credentials())) == parts_of(expected)


@pytest.mark.parametrize("content_type", ["", "application/json"])
def test_another_body_is_not_signed(content_type: str) -> None:
    request = request_to("https://a.example/", "POST", b"a=1&b=2", content_type)
    without = request._replace(body=b"")
    assert signed(request, credentials()) == signed(without, credentials())


def test_a_secret_content_type_is_not_taken_for_a_form() -> None:
    request = request_to("https://a.example/", "POST", b"a=1")
    secret = Header("Content-Type", Secret(FORM), Source.ROW)
    sent = request.with_headers((secret,))
    assert signed(sent, credentials()) == signed(request, credentials())


def test_bytes_that_are_no_utf_8_are_signed_as_they_are() -> None:
    request = request_to("https://a.example/", "POST", b"a=\xff", FORM)
    escaped = request._replace(body=b"a=%FF")
    assert signed(request, credentials()) == signed(escaped, credentials())


def test_secret_parameters_of_the_query_are_signed() -> None:
    request = request_to("https://a.example/?a=1")
    hidden = request.with_parameter("key", Secret("s&1"))
    shown = request_to("https://a.example/?a=1&key=s%261")
    assert signed(hidden, credentials()) == signed(shown, credentials())


def test_a_realm_is_quoted_and_not_signed() -> None:
    request = request_to("https://a.example/")
    header = signed(request, credentials(realm='a"b\\c'))
    assert header.startswith('OAuth realm="a\\"b\\\\c", oauth_consumer_key=')
    without_realm = signed(request, credentials())
    assert header.endswith(without_realm.removeprefix("OAuth "))


def test_a_stamp_has_letters_and_digits_and_differs_with_the_random_text() -> None:
    stamp = stamp_of(1_800_000_000.9, "one")
    assert stamp.timestamp == 1_800_000_000
    assert stamp.nonce.isalnum()
    assert 20 <= len(stamp.nonce) <= 30
    assert stamp.nonce != stamp_of(1_800_000_000.9, "two").nonce


@pytest.mark.parametrize("key", ["not a key", '{"kty": "EC"}', "x" * 5000])
def test_what_is_no_rsa_key_is_refused_without_showing_it(key: str) -> None:
    used = credentials(SignatureMethod.RSA_SHA1, private_key=Secret(key))
    with pytest.raises(ConfigError, match="not an RSA key") as caught:
        signed(request_to("https://a.example/"), used)
    assert caught.value.field == "private_key"
    assert key not in repr(caught.value)
