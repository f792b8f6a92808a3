"""What outkey signs as a sample, outkey accepts, and only with the same secret."""

import json
from base64 import b64encode
from dataclasses import replace

import pytest
from cryptography.hazmat.primitives.asymmetric import ed25519
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from hypothesis import given
from hypothesis import strategies as st

from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.secret import Secret
from outkey.webhooks.core.inbox.delivery import (
    Delivery,
    Outcome,
    Refused,
    SecretSlot,
    Verified,
    WebhookSecrets,
)
from outkey.webhooks.core.schemes.scheme import KeyForm, VerificationKind
from outkey.webhooks.core.schemes.schemes import SCHEMES
from outkey.webhooks.core.settings.settings import Webhook
from outkey.webhooks.core.verification.signing import sign
from outkey.webhooks.core.verification.verification import verify
from unit.webhook_vectors import (
    ADYEN_ITEM,
    FORM,
    KEYS,
    URL,
    adyen_body,
    hook,
    post,
)

NOW = 1_800_000_000.0
ONLY_BY_SENDER = {"sendgrid", "highlevel", "paypal", "sns"}
WITHOUT_SECRET = {"mollie_classic", "unverified"}
SETTINGS: dict[str, dict[str, object]] = {
    "hmac": {"signature_header": "X-Signature"},
    "basic": {"username": "bob"},
    "alertmanager": {"username": "bob"},
    "chargebee": {"username": "bob"},
    "unverified": {"reason": "a test"},
}
PRIVATE = ed25519.Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
PUBLIC = PRIVATE.public_key().public_bytes_raw()
OTHER = ed25519.Ed25519PrivateKey.from_private_bytes(bytes(32))
BODIES = {
    "adyen": adyen_body(
        ADYEN_ITEM, {**ADYEN_ITEM, "pspReference": "2", "additionalData": 1}
    ),
    "graph": b'{"value": [{"changeType": "created"}]}',
    "linear": json.dumps({"webhookTimestamp": int(NOW * 1000)}).encode(),
    "mollie_classic": b"id=tr_1",
}
SAMPLE = b'{"id": "evt_1", "name": "Gr\xc3\xbc\xc3\x9fe"}'


def key_pair(name: str, number: int = 0) -> tuple[str, str]:
    """Return the secret that signs, and the one that verifies."""
    form = SCHEMES[name].key
    data = bytes([number]) * 32
    match form:
        case KeyForm.STANDARD:
            secret = "whsec_" + b64encode(data).decode()
        case KeyForm.HEX:
            secret = data.hex()
        case KeyForm.PUBLIC_HEX:
            return PRIVATE.private_bytes_raw().hex(), PUBLIC.hex()
        case KeyForm.PUBLIC_DER:
            key = PRIVATE if number == 0 else OTHER
            public = key.public_key().public_bytes(
                Encoding.DER, PublicFormat.SubjectPublicKeyInfo
            )
            private = b64encode(PRIVATE.private_bytes_raw()).decode()
            return private, b64encode(public).decode()
        case _:
            secret = f"c2VjcmV0{number:04}"
    return secret, secret


def hook_of(name: str) -> Webhook:
    return hook(name, **SETTINGS.get(name, {}))


def signed_sample(name: str, secret: str, body: bytes = b"") -> Delivery:
    delivery = post(
        body or BODIES.get(name, SAMPLE), ("Content-Type", "application/json")
    )
    return sign(
        delivery,
        hook_of(name),
        Secret(secret),
        now=NOW,
        event_id="evt-9",
        keys=KEYS,
    )


def check(delivery: Delivery, name: str, *secrets: str) -> Outcome:
    return verify(
        delivery,
        hook_of(name),
        WebhookSecrets(*map(Secret, secrets)),
        now=NOW,
        keys=KEYS,
    )


@pytest.mark.parametrize("name", sorted(set(SCHEMES) - ONLY_BY_SENDER - WITHOUT_SECRET))
def test_a_signed_sample_is_accepted_with_the_same_secret_only(name: str) -> None:
    signing, secret = key_pair(name)
    other = PUBLIC[::-1].hex() if name == "discord" else key_pair(name, 7)[1]
    delivery = signed_sample(name, signing)
    outcome = check(delivery, name, secret)
    assert isinstance(outcome, Verified), outcome
    assert outcome.slot is SecretSlot.CURRENT
    outcome = check(delivery, name, other, secret)
    assert isinstance(outcome, Verified)
    assert outcome.slot is SecretSlot.PREVIOUS
    assert isinstance(check(delivery, name, other), Refused)
    if outcome.covers_body:
        changed = replace(delivery, body=delivery.body.replace(b"1", b"2"))
        assert isinstance(check(changed, name, secret), Refused)


@pytest.mark.parametrize("name", sorted(WITHOUT_SECRET))
def test_a_sample_without_a_signature_stays_as_it_is(name: str) -> None:
    delivery = signed_sample(name, "")
    assert isinstance(check(delivery, name), Verified)


@pytest.mark.parametrize("name", [*sorted(ONLY_BY_SENDER), "nobody"])
def test_some_samples_can_be_signed_by_their_sender_only(name: str) -> None:
    with pytest.raises(ConfigError, match="by its sender only"):
        signed_sample(name, "secret")


@pytest.mark.parametrize(
    ("name", "secret"),
    [
        ("github", ""),
        ("standard", "whsec_short"),
        ("standard", "whsk_*"),
        ("standard", "whsk_AAAA"),
        ("discord", "xyz"),
        ("rfc9421", "*"),
        ("rfc9421", "-----BEGIN PUBLIC KEY-----"),
        ("hubspot_v1", ""),
    ],
)
def test_a_secret_that_cannot_sign_is_named(name: str, secret: str) -> None:
    with pytest.raises(ConfigError, match="does not have the form") as caught:
        signed_sample(name, secret)
    assert caught.value.field == "secret"


@pytest.mark.parametrize(
    ("name", "body", "message"),
    [
        ("mailgun", b"[]", "must be a JSON object"),
        ("graph", b"{", "must be a JSON object"),
        ("adyen", b"{}", "not what the scheme signs"),
    ],
)
def test_a_sample_of_another_form_is_refused(
    name: str, body: bytes, message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        signed_sample(name, key_pair(name)[0], body)


def test_a_sample_of_graph_without_items_is_refused_later() -> None:
    for body in (b'{"value": 1}', b'{"value": [1]}'):
        delivery = signed_sample("graph", "secret", body)
        assert isinstance(check(delivery, "graph", "secret"), Refused)


@pytest.mark.parametrize("name", ["square", "hubspot", "twilio", "rfc9421"])
def test_a_url_that_is_signed_must_be_known(name: str) -> None:
    with pytest.raises(ConfigError, match="public URL"):
        sign(
            post(b"", url=""),
            hook(name),
            Secret("c2VjcmV0"),
            now=NOW,
            event_id="1",
            keys=KEYS,
        )


@pytest.mark.parametrize("url", [URL, f"{URL}?a=1"])
@pytest.mark.parametrize(
    ("header", "body"),
    [
        (FORM, b"b=2&a=1&a=1&a=0"),
        (("Content-Type", "application/json"), b"{}"),
        (("Content-Type", "application/json"), b""),
    ],
)
def test_samples_of_twilio_are_forms_or_hashed(
    url: str, header: tuple[str, str], body: bytes
) -> None:
    delivery = sign(
        post(body, header, url=url),
        hook("twilio"),
        Secret("12345"),
        now=NOW,
        event_id="1",
        keys=KEYS,
    )
    outcome = check(delivery, "twilio", "12345")
    assert isinstance(outcome, Verified)
    assert outcome.event_id == "1"


@given(body=st.binary(max_size=300), secret=st.text(min_size=1, max_size=40))
def test_any_body_and_secret_can_be_signed(body: bytes, secret: str) -> None:
    try:
        secret.encode()
    except UnicodeEncodeError:
        return
    for name in ("github", "stripe", "slack", "shopify", "square", "hubspot"):
        delivery = signed_sample(name, secret, body or b" ")
        assert isinstance(check(delivery, name, secret), Verified)
        assert isinstance(check(delivery, name, secret + "x"), Refused)


def test_every_scheme_is_signed_or_left_to_its_sender() -> None:
    for name, scheme in SCHEMES.items():
        is_left = scheme.kind in {VerificationKind.SNS, VerificationKind.PAYPAL}
        assert not is_left or name in ONLY_BY_SENDER
