"""Published signatures are accepted, and nothing that differs in a single bit."""

import json
import re
from base64 import b64decode, b64encode
from collections.abc import Iterator
from dataclasses import replace
from urllib.parse import parse_qsl

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outkey.foundation.core.secret import Secret
from outkey.webhooks.core.inbox.delivery import (
    Delivery,
    NotVerified,
    RefusalReason,
    Refused,
    SecretSlot,
    Verified,
    WebhookSecrets,
)
from outkey.webhooks.core.schemes.schemes import SCHEMES
from outkey.webhooks.core.settings.settings import scheme_of
from outkey.webhooks.core.verification.body_signatures import ADYEN_FIELDS
from outkey.webhooks.core.verification.http_signatures import (
    SIGNATURE_VALUE,
    SignatureInput,
    component_value,
    keyed_scheme,
    read_input,
    read_labels,
    signature_base,
)
from outkey.webhooks.core.verification.signatures import decode_base64, is_signed
from outkey.webhooks.core.verification.verification import verify
from unit.webhook_vectors import (
    ADYEN_VECTORS,
    KEYS,
    RFC_COMPLETE,
    RFC_CREATED,
    RFC_DELIVERY,
    RFC_VECTORS,
    VECTORS,
    Vector,
    flip,
    post,
    with_header,
    without_header,
)

ALL = (*VECTORS, *ADYEN_VECTORS)
every_vector = pytest.mark.parametrize("vector", ALL, ids=lambda each: each.name)
every_header_vector = pytest.mark.parametrize(
    "vector", VECTORS, ids=lambda each: each.name
)


def signature_name(vector: Vector) -> str:
    scheme = scheme_of(vector.webhook)
    assert scheme is not None
    return next(
        name for name in scheme.signature_headers if vector.delivery.header_values(name)
    )


def flipped(text: str) -> Iterator[str]:
    """Yield a text with each of its bits changed."""
    for index in range(len(text)):
        for bit in range(8):
            yield flip(text.encode("latin-1"), index, bit).decode("latin-1")


def signature_of(vector: Vector) -> str:
    return vector.delivery.header_values(signature_name(vector))[0]


@every_vector
def test_a_published_signature_is_accepted(vector: Vector) -> None:
    outcome = vector.verify()
    assert isinstance(outcome, Verified), outcome
    assert outcome.slot is SecretSlot.CURRENT


@every_vector
def test_it_is_accepted_with_the_previous_secret_too(vector: Vector) -> None:
    other = Secret(vector.secret[:-4] + "AAA=" if "wh" in vector.secret else "0" * 64)
    outcome = verify(
        vector.delivery,
        vector.webhook,
        WebhookSecrets(other, Secret(vector.secret)),
        now=vector.now,
        keys=KEYS,
    )
    assert isinstance(outcome, Verified), outcome
    assert outcome.slot is SecretSlot.PREVIOUS


@every_header_vector
def test_no_bit_of_the_body_can_be_changed(vector: Vector) -> None:
    body = vector.delivery.body
    is_form = bool(vector.delivery.header_values("Content-Type"))
    for index in range(len(body)):
        changed = flip(body, index, index % 8)
        if is_form and changed.isascii():
            pairs = parse_qsl(changed.decode(), keep_blank_values=True)
            if pairs == parse_qsl(body.decode(), keep_blank_values=True):
                continue  # %2b instead of %2B
        assert isinstance(
            vector.verify(replace(vector.delivery, body=changed)), Refused
        )


@every_header_vector
def test_nothing_can_be_added_to_the_body(vector: Vector) -> None:
    for body in (
        vector.delivery.body + b"\n",
        b" " + vector.delivery.body,
        vector.delivery.body[:-1],
        b"",
    ):
        assert isinstance(vector.verify(replace(vector.delivery, body=body)), Refused)


@every_header_vector
def test_no_bit_of_the_signature_can_be_changed(vector: Vector) -> None:
    name = signature_name(vector)
    value = signature_of(vector)
    for index in range(len(value)):
        for bit in range(8):
            changed = flip(value.encode(), index, bit).decode("latin-1")
            is_same_hex = re.fullmatch(r"(\w+=)?[0-9a-f]+", value) and (
                changed.lower() == value and index >= value.find("=")
            )
            outcome = vector.verify(with_header(vector.delivery, name, changed))
            # The digits of a hexadecimal number are the same in any case.
            assert isinstance(outcome, Verified if is_same_hex else Refused), changed


@every_header_vector
def test_every_header_of_the_scheme_is_needed_once(vector: Vector) -> None:
    for name, value in vector.delivery.headers:
        if name == "Content-Type":
            continue
        missing = without_header(vector.delivery, name)
        assert isinstance(vector.verify(missing), Refused)
        renamed = replace(missing, headers=(*missing.headers, (f"{name}-x", value)))
        assert isinstance(vector.verify(renamed), Refused)
        empty = replace(missing, headers=(*missing.headers, (name, "  ")))
        assert isinstance(vector.verify(empty), Refused)
        doubled = replace(
            vector.delivery, headers=(*vector.delivery.headers, (name.upper(), value))
        )
        outcome = vector.verify(doubled)
        assert isinstance(outcome, Refused)
        assert outcome.reason is RefusalReason.HEADER_REPEATED


@every_header_vector
def test_no_bit_of_a_header_name_can_be_changed_but_the_case(vector: Vector) -> None:
    for name, value in vector.delivery.headers:
        if name == "Content-Type":
            continue
        others = without_header(vector.delivery, name)
        for changed in flipped(name):
            renamed = replace(others, headers=(*others.headers, (changed, value)))
            is_same = changed.lower() == name.lower()
            outcome = vector.verify(renamed)
            assert isinstance(outcome, Verified if is_same else Refused), changed


@every_header_vector
def test_ids_and_timestamps_are_signed(vector: Vector) -> None:
    name = signature_name(vector)
    for header, value in vector.delivery.headers:
        if header in {name, "Content-Type"}:
            continue
        for changed in (*flipped(value), f"{value}.9"):
            outcome = vector.verify(with_header(vector.delivery, header, changed))
            assert isinstance(outcome, Refused), changed


# Twilio ignores the port, since its servers do not agree about it.
@pytest.mark.parametrize(
    "vector",
    [
        each
        for each in VECTORS
        if SCHEMES[each.webhook.scheme].signs_url and ":1234" not in each.delivery.url
    ],
    ids=lambda each: each.name,
)
def test_no_bit_of_a_signed_url_can_be_changed(vector: Vector) -> None:
    url = vector.delivery.url
    start = url.index("/", len("https://"))
    for changed in flipped(url):
        # Scheme and host are the same in any case, and Twilio writes them anew.
        is_same = vector.webhook.scheme == "twilio" and (
            (changed[:start].lower(), changed[start:]) == (url[:start], url[start:])
        )
        outcome = vector.verify(replace(vector.delivery, url=changed))
        assert isinstance(outcome, Verified if is_same else Refused), changed


@every_header_vector
def test_a_signature_in_another_encoding_is_refused(vector: Vector) -> None:
    name = signature_name(vector)
    value = signature_of(vector)
    prefix = re.match(r"(v1a?,|\w+=)?", value)
    start = prefix[0] if prefix and not value.endswith("=") else ""
    start = "v1a," if value.startswith("v1a,") else start
    start = "v1," if value.startswith("v1,") else start
    text = value.removeprefix(start)
    is_hex = re.fullmatch("[0-9a-f]{40,}", text)
    other = b64encode(bytes.fromhex(text)).decode() if is_hex else b64decode(text).hex()
    outcome = vector.verify(with_header(vector.delivery, name, f"{start}{other}"))
    assert isinstance(outcome, Refused)
    for short in (text[:-4], text + text[-4:], text[: len(text) // 2]):
        changed = with_header(vector.delivery, name, f"{start}{short}")
        assert isinstance(vector.verify(changed), Refused)


@every_vector
def test_without_a_secret_everything_is_refused(vector: Vector) -> None:
    for secrets in (
        WebhookSecrets(),
        WebhookSecrets(Secret("")),
        WebhookSecrets(None, Secret(vector.secret)),
    ):
        outcome = verify(
            vector.delivery, vector.webhook, secrets, now=vector.now, keys=KEYS
        )
        assert isinstance(outcome, Refused)
        assert outcome.reason is RefusalReason.NO_SECRET


@pytest.mark.parametrize(
    "vector", [each for each in VECTORS if each.now], ids=lambda each: each.name
)
def test_old_and_future_deliveries_are_refused(vector: Vector) -> None:
    for difference, reason in (
        (301, RefusalReason.TOO_OLD),
        (-301, RefusalReason.TOO_FAR_AHEAD),
    ):
        moved = replace(vector, now=vector.now + difference)
        outcome = moved.verify()
        assert isinstance(outcome, Refused)
        assert outcome.reason is reason
        assert isinstance(replace(vector, now=vector.now + 299).verify(), Verified)


@every_vector
def test_no_text_shows_the_secret_or_a_signature(vector: Vector) -> None:
    changed = replace(vector.delivery, body=vector.delivery.body + b" x")
    outcome = vector.verify(changed)
    assert isinstance(outcome, Refused)
    shown = f"{outcome} {changed!r} {vector.secrets()!r}"
    assert vector.secret not in shown
    for _, value in vector.delivery.headers:
        assert value not in shown


@pytest.mark.parametrize("vector", ADYEN_VECTORS, ids=lambda each: each.name)
def test_no_bit_of_what_adyen_signs_can_be_changed(vector: Vector) -> None:
    value = json.loads(vector.delivery.body)
    item = value["notificationItems"][0]["NotificationRequestItem"]
    amount = item["amount"]
    places = [(item, name) for name in ADYEN_FIELDS if name in item]
    places += [(amount, "currency"), (item["additionalData"], "hmacSignature")]
    for holder, name in places:
        before = holder[name]
        for changed in flipped(before):
            holder[name] = changed
            outcome = vector.verify(post(json.dumps(value).encode()))
            assert isinstance(outcome, Refused), changed
        holder[name] = before
    for bit in range(32):
        amount["value"] ^= 1 << bit
        assert isinstance(vector.verify(post(json.dumps(value).encode())), Refused)
        amount["value"] ^= 1 << bit
    item["originalReference"] = "7914073381342284"
    assert isinstance(vector.verify(post(json.dumps(value).encode())), Refused)


every_rfc_vector = pytest.mark.parametrize(
    "vector", [*RFC_VECTORS, RFC_COMPLETE], ids=lambda each: each.name
)


def has_rfc_signature(vector: Vector, delivery: Delivery) -> bool:
    """Whether the signature is valid, whatever it covers."""
    scheme = scheme_of(vector.webhook)
    assert scheme is not None
    key, scheme = keyed_scheme(scheme, Secret(vector.secret), KEYS)
    assert key is not None
    assert scheme is not None
    try:
        signature_input = read_input(delivery.header_values("Signature-Input")[0])
        message = signature_base(delivery, signature_input)
    except NotVerified:
        return False
    labels = read_labels(delivery.header_values("Signature")[0], SIGNATURE_VALUE)
    signature = decode_base64(labels.get(signature_input.label, ""))
    return is_signed(scheme, key, [message], [signature], KEYS)


@every_rfc_vector
def test_a_signature_of_rfc_9421_is_valid(vector: Vector) -> None:
    assert has_rfc_signature(vector, vector.delivery)
    outcome = vector.verify()
    if vector is RFC_COMPLETE:
        assert isinstance(outcome, Verified)
        assert outcome.timestamp == RFC_CREATED
    else:
        assert isinstance(outcome, Refused)
        assert outcome.reason is RefusalReason.NOT_COVERED


@every_rfc_vector
def test_no_bit_of_a_signature_of_rfc_9421_can_be_changed(vector: Vector) -> None:
    for name in ("Signature", "Signature-Input"):
        (value,) = vector.delivery.header_values(name)
        for changed in flipped(value):
            delivery = with_header(vector.delivery, name, changed)
            assert not has_rfc_signature(vector, delivery), changed
            assert isinstance(vector.verify(delivery), Refused)


@every_rfc_vector
def test_no_bit_of_what_rfc_9421_covers_can_be_changed(vector: Vector) -> None:
    (value,) = vector.delivery.header_values("Signature-Input")
    for component in read_input(value).components:
        if component.startswith("@"):
            continue
        (text,) = vector.delivery.header_values(component)
        for changed in flipped(text):
            delivery = with_header(vector.delivery, component, changed)
            assert not has_rfc_signature(vector, delivery), changed
            assert isinstance(vector.verify(delivery), Refused)
        for name in flipped(component):
            if name.lower() == component:
                continue
            others = without_header(vector.delivery, component)
            renamed = replace(others, headers=(*others.headers, (name, text)))
            assert not has_rfc_signature(vector, renamed), name


def test_no_bit_of_the_request_of_rfc_9421_can_be_changed() -> None:
    delivery = RFC_COMPLETE.delivery
    for index in range(len(delivery.body)):
        for bit in range(8):
            body = flip(delivery.body, index, bit)
            outcome = RFC_COMPLETE.verify(replace(delivery, body=body))
            assert isinstance(outcome, Refused)
            assert outcome.reason is RefusalReason.BODY_DIGEST
    target = delivery.url.index("example.com")
    for changed in flipped(delivery.url[target:]):
        is_same = (
            changed.lower().startswith("example.com/")
            and changed[11:] == (delivery.url[target + 11 :])
        )
        url = delivery.url[:target] + changed
        outcome = RFC_COMPLETE.verify(replace(delivery, url=url))
        # The name of a host is the same in any case.
        assert isinstance(outcome, Verified if is_same else Refused), url
    for method in flipped("POST"):
        assert isinstance(
            RFC_COMPLETE.verify(replace(delivery, method=method)), Refused
        )


def test_a_signature_of_rfc_9421_in_another_encoding_is_refused() -> None:
    (value,) = RFC_COMPLETE.delivery.header_values("Signature")
    label, _, encoded = value.partition("=:")
    text = b64decode(encoded.rstrip(":")).hex()
    for changed in (f"{label}=:{text}:", f"{label}={encoded}", f'{label}="{encoded}"'):
        outcome = RFC_COMPLETE.verify(
            with_header(RFC_COMPLETE.delivery, "Signature", changed)
        )
        assert isinstance(outcome, Refused)


def test_old_and_future_signatures_of_rfc_9421_are_refused() -> None:
    for difference, reason in (
        (301, RefusalReason.TOO_OLD),
        (-301, RefusalReason.TOO_FAR_AHEAD),
    ):
        outcome = replace(RFC_COMPLETE, now=RFC_CREATED + difference).verify()
        assert isinstance(outcome, Refused)
        assert outcome.reason is reason


def test_the_components_of_rfc_9421_have_their_values() -> None:
    values = {
        "@method": "POST",
        "@scheme": "https",
        "@authority": "example.com",
        "@path": "/foo",
        "@query": "?param=Value&Pet=dog",
        "@target-uri": "https://example.com/foo?param=Value&Pet=dog",
        "@request-target": "/foo?param=Value&Pet=dog",
        "content-length": "18",
    }
    for name, value in values.items():
        assert component_value(RFC_DELIVERY, name) == value
    plain = replace(RFC_DELIVERY, url="http://EXAMPLE.com:80")
    assert component_value(plain, "@authority") == "example.com"
    assert component_value(plain, "@request-target") == "/"
    assert signature_base(plain, SignatureInput("a", "()", (), {})) == (
        b'"@signature-params": ()'
    )


@given(body=st.binary(max_size=200), value=st.text(max_size=200))
def test_no_delivery_raises_or_passes_without_the_key(body: bytes, value: str) -> None:
    for vector in VECTORS:
        delivery = with_header(vector.delivery, signature_name(vector), value)
        outcome = vector.verify(replace(delivery, body=body))
        assert isinstance(outcome, Refused)
