"""Verification of webhooks beside libraries that nobody here wrote.

What they sign is accepted here, what is signed here they accept, and both refuse a
delivery in which a single byte of the signed parts has changed.
"""

import json
import re
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cache

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)

from outkey.foundation.core.secret import Secret
from outkey.webhooks.core.inbox.delivery import (
    Delivery,
    Refused,
    Verified,
    WebhookSecrets,
)
from outkey.webhooks.core.schemes.scheme import WebhookScheme
from outkey.webhooks.core.schemes.schemes import SCHEMES
from outkey.webhooks.core.verification.signing import sign
from outkey.webhooks.core.verification.verification import verify
from peers.webhook_judges import EVENT_ID, Judge, judge_running
from unit.webhook_vectors import (
    ADYEN_ITEM,
    ADYEN_KEY,
    ADYEN_SLASHES,
    FORM,
    KEYS,
    adyen_body,
    hook,
    post,
    with_header,
)

URL = "https://hooks.acme.example/hooks/Zq3?shop=7&name=J%C3%BCrgen"
STANDARD_SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
SHARED_KEY = "uzvJfB4u3N0Jy4T7NZ75MDVcr8zSTInedJtkgcu46YW4XByzNJjxBdtjUkdJPBtb"
SEED = bytes(range(32))
JSON = (
    b'{"id":"evt_1","type":"order.paid"}',
    '{"name":"Jürgen Ünal 🚚","note":"株式"}'.encode(),
    b'{ "spaced" : [1.0, 1e3, -0],\r\n\t"path":"a\\/b\\u00fc", "url":"a+b%20<c>&d" }\n',
)
FORMS = (
    b"CallSid=CA1&Caller=%2B14158675309&Digits=1234&To=%2B18005551212",
    b"b=2&a=1&b=1&b=2&empty=&name=J%C3%BCrgen+%F0%9F%9A%9A&a-b=%26%3D",
)
ADYEN_BODIES = (
    adyen_body(ADYEN_ITEM),
    adyen_body(ADYEN_SLASHES | {"originalReference": "Ü1/2"}),
)
AGE = 400  # seconds; all of them refuse this
BASE64_DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
HEX_DIGITS = "0123456789abcdef"


@dataclass(frozen=True)
class Pair:
    """A judge, and the scheme that it should agree with."""

    judge: str
    scheme: str
    secret: str
    bodies: tuple[bytes, ...] = JSON
    is_form: bool = False
    public_key: str = ""  # what is verified with here, if the secret is a private key
    judge_signs: bool = True
    is_signed_here: bool = True
    has_clock: bool = True  # the judge has one; ours follows the scheme

    def __str__(self) -> str:
        return f"{self.judge}-form" if self.is_form else self.judge

    @property
    def row(self) -> WebhookScheme:
        return SCHEMES[self.scheme]

    def deliveries(self) -> list[Delivery]:
        headers = (FORM,) if self.is_form else ()
        return [post(body, *headers, url=URL) for body in self.bodies]

    def sign(self, delivery: Delivery, now: float) -> Delivery:
        return sign(
            delivery,
            hook(self.scheme),
            Secret(self.secret),
            now=now,
            event_id=EVENT_ID,
            keys=KEYS,
        )

    def accepts(self, delivery: Delivery, now: float) -> bool:
        outcome = verify(
            delivery,
            hook(self.scheme),
            WebhookSecrets(Secret(self.public_key or self.secret)),
            now=now,
            keys=KEYS,
        )
        assert isinstance(outcome, Verified | Refused)
        return isinstance(outcome, Verified)


@cache
def key_pair(kind: str) -> tuple[str, str]:
    """Return a private key and its public one, as PEM."""
    private: ed25519.Ed25519PrivateKey | ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey
    match kind:
        case "ed25519":
            private = ed25519.Ed25519PrivateKey.generate()
        case "ecdsa":
            private = ec.generate_private_key(ec.SECP256R1())
        case _:
            private = rsa.generate_private_key(65537, 2048)
    pem = private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    public = private.public_key().public_bytes(
        Encoding.PEM, PublicFormat.SubjectPublicKeyInfo
    )
    return pem.decode(), public.decode()


def http_message(kind: str) -> Pair:
    """Return a judge of RFC 9421 with a pair of keys; here only shared keys sign."""
    private, public = key_pair(kind)
    return Pair(
        f"pypi:http_message_{kind}",
        "rfc9421",
        private,
        public_key=public,
        is_signed_here=False,
    )


PAIRS = (
    Pair("pypi:stripe", "stripe", "whsec_5f3a"),
    Pair("npm:stripe", "stripe", "whsec_5f3a"),
    Pair("npm:octokit", "github", "It's a Secret to Everybody", has_clock=False),
    Pair("pypi:standardwebhooks", "standard", STANDARD_SECRET),
    Pair("npm:standardwebhooks", "standard", STANDARD_SECRET),
    Pair("pypi:svix", "svix", STANDARD_SECRET),
    Pair("npm:svix", "svix", STANDARD_SECRET),
    Pair("pypi:twilio", "twilio", "12345", FORMS, is_form=True),
    Pair("pypi:twilio", "twilio", "12345"),
    Pair("npm:twilio", "twilio", "12345", FORMS, is_form=True),
    Pair("npm:twilio", "twilio", "12345"),
    Pair("pypi:slack", "slack", "8f742231b10e8888abcd99yyyzzz85a5", (*JSON, *FORMS)),
    Pair("npm:shopify", "shopify", "hush"),
    Pair("pypi:adyen", "adyen", ADYEN_KEY, ADYEN_BODIES),
    Pair("pypi:adyen_body", "adyen_body", ADYEN_KEY),
    Pair("pypi:square", "square", "Ibxx_5AKakO-3qeNVR61Dw", judge_signs=False),
    Pair("pypi:hubspot_v1", "hubspot_v1", "yyyyyyyy-yyyy"),
    Pair("pypi:hubspot_v2", "hubspot_v2", "yyyyyyyy-yyyy"),
    Pair("pypi:hubspot_v3", "hubspot", "yyyyyyyy-yyyy"),
    Pair("pypi:http_message_hmac", "rfc9421", SHARED_KEY),
    http_message("ed25519"),
    http_message("ecdsa"),
    http_message("rsa"),
    Pair(
        "pypi:discord",
        "discord",
        SEED.hex(),
        public_key=ed25519.Ed25519PrivateKey.from_private_bytes(SEED)
        .public_key()
        .public_bytes_raw()
        .hex(),
        has_clock=False,
    ),
)


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Judge]]:
    """Run each judge from when it is first asked."""
    folder = tmp_path_factory.mktemp("judges")
    with ExitStack() as closing:

        class Running(dict[str, Judge]):
            def __missing__(self, name: str) -> Judge:
                self[name] = closing.enter_context(judge_running(name, folder))
                return self[name]

        yield Running()


@pytest.fixture(params=PAIRS, ids=str)
def pair(request: pytest.FixtureRequest) -> Pair:
    found: Pair = request.param
    return found


@pytest.fixture
def judge(pair: Pair, running: dict[str, Judge]) -> Judge:
    return running[pair.judge]


def signed_by_both(pair: Pair, judge: Judge, now: int) -> list[Delivery]:
    """Return deliveries that the judge has signed, and those that were signed here."""
    signed = []
    for delivery in pair.deliveries():
        if pair.judge_signs:
            signed.append(judge.sign(delivery, pair.secret, now))
        if pair.is_signed_here:
            signed.append(pair.sign(delivery, now))
    return signed


def test_what_one_side_signs_the_other_one_accepts(pair: Pair, judge: Judge) -> None:
    now = int(time.time())
    for delivery in signed_by_both(pair, judge, now):
        assert pair.accepts(delivery, now)
        assert judge.accepts(delivery, pair.secret)


def test_no_changed_byte_of_the_body_is_accepted(pair: Pair, judge: Judge) -> None:
    now = int(time.time())
    for delivery in signed_by_both(pair, judge, now):
        for body in changed_bodies(pair, delivery):
            changed = replace(delivery, body=body)
            assert not pair.accepts(changed, now), body
            assert not judge.accepts(changed, pair.secret), body


def test_no_changed_digit_of_the_signature_is_accepted(
    pair: Pair, judge: Judge
) -> None:
    now = int(time.time())
    for delivery in signed_by_both(pair, judge, now):
        for changed in changed_signatures(pair, delivery):
            assert not pair.accepts(changed, now), changed
            assert not judge.accepts(changed, pair.secret), changed


def test_ids_times_and_urls_that_are_signed_cannot_be_changed(
    pair: Pair, judge: Judge
) -> None:
    now = int(time.time())
    for delivery in signed_by_both(pair, judge, now):
        for changed in changed_envelopes(pair, delivery):
            assert not pair.accepts(changed, now), changed
            assert not judge.accepts(changed, pair.secret), changed


@pytest.mark.parametrize(
    "pair",
    [pair for pair in PAIRS if pair.row.timestamp and pair.has_clock],
    ids=str,
)
def test_an_old_signature_is_refused(pair: Pair, judge: Judge) -> None:
    now = int(time.time())
    for delivery in signed_by_both(pair, judge, now - AGE):
        assert pair.accepts(delivery, now - AGE)
        assert not pair.accepts(delivery, now)
        assert not judge.accepts(delivery, pair.secret)


# ── changes ───────────────────────────────────────────────────────────────────────────


def changed_bodies(pair: Pair, delivery: Delivery) -> Iterator[bytes]:
    """Yield the body with each of its bytes changed, so that it stays UTF-8."""
    if pair.scheme == "adyen":
        yield from changed_items(delivery.body)
        return
    for index in range(len(delivery.body)):
        body = bytearray(delivery.body)
        body[index] ^= 1
        yield bytes(body)


def changed_items(body: bytes) -> Iterator[bytes]:
    """Yield a body of Adyen with each signed value changed: the others are not."""
    for name in (*ADYEN_ITEM, "originalReference"):
        value = json.loads(body)
        item = value["notificationItems"][0]["NotificationRequestItem"]
        if name == "amount":
            item["amount"]["value"] += 1
        elif name != "additionalData":
            item[name] = f"{item.get(name, '')}0"
        else:
            continue
        yield json.dumps(value).encode()


def changed_signatures(pair: Pair, delivery: Delivery) -> Iterator[Delivery]:
    """Yield a delivery with each digit of its signature changed.

    The highest bit is the one, since some libraries ignore the last bits of Base64.
    """
    if pair.scheme == "adyen":
        text = delivery.body.decode()
        for changed in changed_digits(text, BASE64_DIGITS):
            yield replace(delivery, body=changed.encode())
        return
    name = pair.row.signature_headers[0]
    [value] = delivery.header_values(name)
    digits = HEX_DIGITS if pair.row.encoding == "hex" else BASE64_DIGITS
    for changed in changed_digits(value, digits):
        yield with_header(delivery, name, changed)


def changed_digits(text: str, digits: str) -> Iterator[str]:
    """Yield a text with each digit of the signature in it changed."""
    *_, found = re.finditer(rf"[{digits}]{{26,}}(?=={{0,2}}[\":]|={{0,2}}$)", text)
    for index in range(*found.span()):
        other = digits[digits.index(text[index]) ^ len(digits) // 2]
        yield text[:index] + other + text[index + 1 :]


def changed_envelopes(pair: Pair, delivery: Delivery) -> Iterator[Delivery]:
    """Yield a delivery with each signed part changed that is outside of the body."""
    row = pair.row
    if "{id}" in row.signed:
        yield with_header(delivery, row.id_headers[0], f"{EVENT_ID[:-1]}X")
    if row.timestamp and row.timestamp.headers:
        [value] = delivery.header_values(row.timestamp.headers[0])
        yield with_header(delivery, row.timestamp.headers[0], str(int(value) - 1))
    if row.signs_url:
        yield replace(delivery, url=delivery.url.replace("shop=7", "shop=8"))
        yield replace(delivery, url=delivery.url.replace("/Zq3", "/Zq4"))
        yield replace(delivery, url=delivery.url.replace("acme", "acne"))
    if row.name == "rfc9421":
        [value] = delivery.header_values("Signature-Input")
        created = re.sub(
            r"created=(\d+)", lambda found: f"created={int(found[1]) - 1}", value
        )
        yield with_header(delivery, "Signature-Input", created)
        yield with_header(
            delivery, "Signature-Input", value.replace(EVENT_ID, f"{EVENT_ID}X")
        )
    if row.name == "stripe":
        [value] = delivery.header_values("Stripe-Signature")
        yield with_header(
            delivery,
            "Stripe-Signature",
            re.sub(r"t=(\d+)", lambda found: f"t={int(found[1]) - 1}", value),
        )
