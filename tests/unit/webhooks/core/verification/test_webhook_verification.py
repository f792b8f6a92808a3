"""Rules of single schemes, and everything that is refused."""

import hashlib
import hmac
import json
import zlib
from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA1, SHA256, SHA512, HashAlgorithm
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from hypothesis import given
from hypothesis import strategies as st

from outkey.foundation.core.limited_json import read_limited_json, text_at
from outkey.foundation.core.secret import Secret
from outkey.foundation.core.text import Text
from outkey.webhooks.adapters.public_keys import CryptographyKeys
from outkey.webhooks.core.inbox.delivery import (
    CertificateNeeded,
    Delivery,
    NotVerified,
    Outcome,
    RefusalReason,
    Refused,
    SecretSlot,
    Verified,
    WebhookSecrets,
)
from outkey.webhooks.core.schemes.scheme import (
    HmacHash,
    KeyForm,
    SignatureAlgorithm,
    SignatureEncoding,
    VerificationKind,
)
from outkey.webhooks.core.schemes.schemes import ROWS, SCHEMES
from outkey.webhooks.core.settings.settings import Webhook
from outkey.webhooks.core.verification.certificates import sns_message
from outkey.webhooks.core.verification.keys import key_bytes
from outkey.webhooks.core.verification.refusals import refusal
from outkey.webhooks.core.verification.signatures import (
    fill_template,
    symmetric_signature,
)
from outkey.webhooks.core.verification.signing import sign
from outkey.webhooks.core.verification.timestamps import whole_hours
from outkey.webhooks.core.verification.twilio import url_spellings
from outkey.webhooks.core.verification.verification import VERIFIERS, verify
from unit.webhook_vectors import (
    ADYEN_COLON,
    ADYEN_ITEM,
    ADYEN_KEY,
    ADYEN_OTHER,
    ADYEN_OTHER_KEY,
    ADYEN_SLASHES,
    FORM,
    HIGHLEVEL_BODY,
    HIGHLEVEL_PUBLISHED,
    HIGHLEVEL_SIGNATURE,
    KEYS,
    TWILIO_FORM,
    TWILIO_URL,
    URL,
    VECTORS,
    adyen_body,
    flip,
    hook,
    post,
    with_header,
    without_header,
)

NOW = 1_800_000_000.0
TOPIC = "arn:aws:sns:eu-central-1:123456789012:orders"
SNS_URL = "https://sns.eu-central-1.amazonaws.com"
ID_LINES = "MessageId\n{MessageId}"
CERTIFICATE_URL = f"{SNS_URL}/SimpleNotificationService-abc123.pem"
EVENT = ADYEN_ITEM["eventCode"]
PAYMENT = ADYEN_ITEM["pspReference"]


def check(
    delivery: Delivery,
    webhook: Webhook,
    secret: str = "",
    *,
    previous: str = "",
    certificate: bytes = b"",
    keys: CryptographyKeys = KEYS,
) -> Outcome:
    secrets = WebhookSecrets(
        Secret(secret) if secret else None, Secret(previous) if previous else None
    )
    return verify(
        delivery, webhook, secrets, now=NOW, keys=keys, certificate=certificate
    )


def reason_of(outcome: Outcome) -> RefusalReason | None:
    return outcome.reason if isinstance(outcome, Refused) else None


def accepted(outcome: Outcome) -> Verified:
    assert isinstance(outcome, Verified), outcome
    return outcome


def test_every_kind_of_verification_has_its_verifier() -> None:
    assert set(VERIFIERS) == set(VerificationKind)


def test_the_names_of_the_contract_are_in_the_table() -> None:
    names = (
        "standard svix stripe paddle calendly github gitlab gitlab_token meta jira"
        " bitbucket notion shopify woocommerce xero mollie slack zoom hubspot"
        " hubspot_v1 square twilio linear pagerduty twitch mailgun adyen sendgrid"
        " discord paypal sns graph google_channel rfc9421 hmac token basic unverified"
    )
    assert set(names.split()) <= set(SCHEMES)
    assert len(SCHEMES) == len(ROWS) >= 60
    assert len({row.label for row in ROWS}) == len(ROWS)


def test_a_previous_secret_alone_is_not_used() -> None:
    assert list(WebhookSecrets(None, Secret("old")).slots()) == []


def test_an_unknown_scheme_is_refused() -> None:
    outcome = check(post(), hook("nobody"), "secret")
    assert reason_of(outcome) is RefusalReason.UNKNOWN_SCHEME


def test_without_verification_a_reason_is_needed() -> None:
    assert reason_of(check(post(), hook("unverified"))) is RefusalReason.REASON_MISSING
    outcome = accepted(check(post(), hook("unverified", reason="test network")))
    assert (outcome.slot, outcome.covers_body) == (SecretSlot.NONE, False)


def signed(webhook: Webhook, secret: str, delivery: Delivery | None = None) -> Delivery:
    return sign(
        delivery or post(b'{"id": "evt_1", "type": "made"}'),
        webhook,
        Secret(secret),
        now=NOW,
        event_id="evt-9",
        keys=KEYS,
    )


class TestHeaders:
    def test_stripe_sends_two_signatures_while_a_secret_is_rolled(self) -> None:
        delivery = signed(hook("stripe"), "whsec_new")
        value = delivery.header_values("Stripe-Signature")[0]
        for changed in (
            value.replace(",v1=", f",v1={'0' * 64},v0=ab,v1="),
            value.replace(",", ", "),
        ):
            both = with_header(delivery, "Stripe-Signature", changed)
            outcome = accepted(check(both, hook("stripe"), "whsec_new"))
            assert (outcome.event_id, outcome.event_type) == ("evt_1", "made")

    @pytest.mark.parametrize(
        ("change", "reason"),
        [
            (
                lambda value: value.replace("v1=", "v0="),
                RefusalReason.SIGNATURE_MALFORMED,
            ),
            (lambda value: value.replace("t=", "x="), RefusalReason.TIMESTAMP_MISSING),
            (lambda value: f"{value},t=1", RefusalReason.SIGNATURE_MALFORMED),
            (lambda value: value + ",v1=0" * 16, RefusalReason.SIGNATURE_MALFORMED),
            (
                lambda value: value.replace("t=1", "t=+1"),
                RefusalReason.TIMESTAMP_MALFORMED,
            ),
            (lambda value: value + "ä", RefusalReason.HEADER_MALFORMED),
            (lambda value: value + "," * 5000, RefusalReason.HEADER_MALFORMED),
            (lambda value: "", RefusalReason.SIGNATURE_MISSING),
        ],
    )
    def test_a_header_in_another_form_is_refused(
        self, change: Callable[[str], str], reason: RefusalReason
    ) -> None:
        delivery = signed(hook("stripe"), "whsec_new")
        value = change(delivery.header_values("Stripe-Signature")[0])
        changed = with_header(delivery, "Stripe-Signature", value)
        assert reason_of(check(changed, hook("stripe"), "whsec_new")) is reason

    def test_a_key_and_a_public_key_may_follow_each_other(self) -> None:
        private = ed25519.Ed25519PrivateKey.generate()
        public = "whpk_" + b64encode(private.public_key().public_bytes_raw()).decode()
        shared = "whsec_" + b64encode(bytes(range(32))).decode()
        secret = "whsk_" + b64encode(private.private_bytes_raw()).decode()
        by_key = signed(hook("standard"), secret)
        by_shared = signed(hook("standard"), shared)
        for delivery, slot in (
            (by_key, SecretSlot.CURRENT),
            (by_shared, SecretSlot.PREVIOUS),
        ):
            outcome = check(delivery, hook("standard"), public, previous=shared)
            assert accepted(outcome).slot is slot
        strict = hook("standard", tolerance_seconds=1)
        late = with_header(by_key, "webhook-timestamp", str(int(NOW) - 5))
        assert reason_of(check(late, strict, public)) is RefusalReason.WRONG_SIGNATURE

    def test_a_tolerance_can_be_set_for_any_scheme_with_a_clock(self) -> None:
        delivery = signed(hook("slack"), "secret")
        late = WebhookSecrets(Secret("secret"))
        for seconds, is_accepted in ((5, False), (20, True)):
            webhook = hook("slack", tolerance_seconds=seconds)
            outcome = verify(delivery, webhook, late, now=NOW + 10, keys=KEYS)
            assert isinstance(outcome, Verified) is is_accepted

    def test_an_id_cannot_take_a_part_of_the_body(self) -> None:
        secret = "whsec_" + b64encode(bytes(range(32))).decode()
        delivery = signed(hook("standard"), secret, post(b"1800000000.{}"))
        moved = replace(
            with_header(delivery, "webhook-id", f"evt-9.{int(NOW)}"), body=b"{}"
        )
        outcome = check(moved, hook("standard"), secret)
        assert reason_of(outcome) is RefusalReason.HEADER_MALFORMED
        missing = without_header(delivery, "webhook-id")
        outcome = check(missing, hook("standard"), secret)
        assert reason_of(outcome) is RefusalReason.HEADER_MISSING

    def test_a_signature_of_another_length_is_malformed(self) -> None:
        delivery = signed(hook("github"), "secret")
        for digits in ("ab" * 20, "ab" * 31, "ab" * 64):
            name = "X-Hub-Signature-256"
            changed = with_header(delivery, name, f"sha256={digits}")
            outcome = check(changed, hook("github"), "secret")
            assert reason_of(outcome) is RefusalReason.SIGNATURE_MALFORMED

    def test_mollie_may_send_a_prefix(self) -> None:
        delivery = signed(hook("mollie"), "secret")
        value = delivery.header_values("X-Mollie-Signature")[0]
        bare = with_header(delivery, "X-Mollie-Signature", value[len("sha256=") :])
        for each in (delivery, bare):
            accepted(check(each, hook("mollie"), "secret"))

    def test_xero_is_accepted_with_an_empty_list(self) -> None:
        delivery = signed(hook("xero"), "c2VjcmV0", post(b'{"events": []}'))
        accepted(check(delivery, hook("xero"), "c2VjcmV0"))

    def test_a_body_that_is_not_json_has_no_event(self) -> None:
        delivery = signed(hook("stripe"), "secret", post(b"\xff{"))
        assert accepted(check(delivery, hook("stripe"), "secret")).event_id == ""

    def test_an_event_id_can_be_stored_and_shown(self) -> None:
        body = json.dumps({"id": "a\0\u202eb" + "x" * 300}).encode()
        delivery = signed(hook("stripe"), "secret", post(body))
        event_id = accepted(check(delivery, hook("stripe"), "secret")).event_id
        assert event_id == ("ab" + "x" * 300)[:256]

    def test_any_method_can_be_signed(self) -> None:
        delivery = signed(hook("hubspot"), "secret")
        outcome = check(replace(delivery, method="\ud800"), hook("hubspot"), "secret")
        assert reason_of(outcome) is RefusalReason.WRONG_SIGNATURE

    def test_woocommerce_decodes_its_secret(self) -> None:
        delivery = signed(hook("woocommerce"), "a&b")
        accepted(check(delivery, hook("woocommerce"), "a&amp;b"))

    def test_the_url_of_hubspot_is_decoded_in_part(self) -> None:
        delivery = post(b"[]", url="https://a.example/x%3a%2Fy?z=%20%40")
        plain = replace(delivery, url="https://a.example/x:/y?z=%20@")
        headers = signed(hook("hubspot"), "secret", plain).headers
        accepted(check(replace(delivery, headers=headers), hook("hubspot"), "secret"))
        nowhere = replace(plain, headers=headers, url="")
        outcome = check(nowhere, hook("hubspot"), "secret")
        assert reason_of(outcome) is RefusalReason.URL_UNKNOWN

    def test_the_time_of_linear_is_in_the_signed_body(self) -> None:
        body = json.dumps({"webhookTimestamp": int(NOW * 1000), "type": "Issue"})
        webhook = hook("linear")
        delivery = signed(webhook, "secret", post(body.encode()))
        assert accepted(check(delivery, webhook, "secret")).timestamp == NOW
        old = json.dumps({"webhookTimestamp": int(NOW * 1000) - 61_000})
        for text, reason in (
            (old, RefusalReason.TOO_OLD),
            ("{}", RefusalReason.TIMESTAMP_MISSING),
            ("{", RefusalReason.TIMESTAMP_MISSING),
        ):
            delivery = signed(webhook, "secret", post(text.encode()))
            assert reason_of(check(delivery, webhook, "secret")) is reason

    @pytest.mark.parametrize(
        ("timestamp", "is_read"),
        [
            ("2027-01-15T08:00:00Z", True),
            ("2027-01-15T08:00:00.123456789Z", True),
            ("2027-01-15T09:00:00+01:00", True),
            ("2027-01-15T08:00:00", False),
            ("2027-13-15T08:00:00Z", False),
            ("0001-01-01T00:00:00+14:00", True),
        ],
    )
    def test_twitch_writes_the_time_as_text(
        self, timestamp: str, *, is_read: bool
    ) -> None:
        delivery = signed(hook("twitch"), "secret")
        changed = with_header(delivery, "Twitch-Eventsub-Message-Timestamp", timestamp)
        expected = RefusalReason.TIMESTAMP_MALFORMED
        outcome = check(changed, hook("twitch"), "secret")
        assert (reason_of(outcome) is expected) is not is_read

    @pytest.mark.parametrize(
        ("scheme", "secret"),
        [
            ("standard", "whsec_c2hvcnQ="),
            ("standard", "whsec_*"),
            ("standard", "whpk_c2hvcnQ="),
            ("onfleet", "xyz"),
            ("discord", "ab"),
            ("sendgrid", "A" * 8000),
            ("hubspot_v1", "\ud800"),
        ],
    )
    def test_a_secret_of_another_form_is_named(self, scheme: str, secret: str) -> None:
        private = ed25519.Ed25519PrivateKey.generate().private_bytes_raw()
        usable = {
            "standard": "whsec_" + b64encode(bytes(32)).decode(),
            "onfleet": "00ff",
            "discord": private.hex(),
        }
        header = "X-Twilio-Email-Event-Webhook-Signature"
        clock = "X-Twilio-Email-Event-Webhook-Timestamp"
        delivery = post(b"{}", (header, "MEUC"), (clock, str(int(NOW))))
        if scheme != "sendgrid":
            delivery = signed(hook(scheme), usable.get(scheme, "secret"))
        if secret.startswith("whpk"):
            value = "v1a," + b64encode(bytes(64)).decode()
            delivery = with_header(delivery, "webhook-signature", value)
        outcome = check(delivery, hook(scheme), secret)
        assert reason_of(outcome) is RefusalReason.SECRET_UNUSABLE


class TestCustomSchemes:
    def test_a_user_describes_a_scheme(self) -> None:
        webhook = hook(
            "hmac",
            signature_header="X-Sig",
            signature_prefix="v=",
            algorithm=HmacHash.SHA512,
            encoding=SignatureEncoding.BASE64,
            signed="{id}:{timestamp}:{method}:{url}:{body}",
            timestamp_header="X-Time",
            id_header="X-Id",
            tolerance_seconds=10,
        )
        delivery = signed(webhook, "secret")
        outcome = accepted(check(delivery, webhook, "secret"))
        assert (outcome.event_id, outcome.timestamp) == ("evt-9", NOW)
        other = replace(delivery, method="PUT")
        assert (
            reason_of(check(other, webhook, "secret")) is RefusalReason.WRONG_SIGNATURE
        )

    def test_milliseconds_are_recognized(self) -> None:
        webhook = hook(
            "hmac",
            signature_header="X-Sig",
            signed="{timestamp}.{body}",
            timestamp_header="X-Time",
        )
        milliseconds = str(int(NOW * 1000))
        text = replace(webhook, signed=f"{milliseconds}.{{body}}", timestamp_header="")
        delivery = signed(text, "secret")
        headers = (*delivery.headers, ("X-Time", milliseconds))
        outcome = check(replace(delivery, headers=headers), webhook, "secret")
        assert accepted(outcome).timestamp == NOW

    @pytest.mark.parametrize(
        ("header", "value", "slot"),
        [
            ("", "Bearer s3cret", SecretSlot.CURRENT),
            ("", "s3cret", SecretSlot.CURRENT),
            ("authorization", "Bearer older", SecretSlot.PREVIOUS),
            ("X-Token", "s3cret", SecretSlot.CURRENT),
            ("X-Token", "Bearer s3cret", None),
            ("", "Bearer s3crets", None),
            ("", "Basic s3cret", None),
        ],
    )
    def test_a_token_is_compared(
        self, header: str, value: str, slot: SecretSlot | None
    ) -> None:
        webhook = hook("token", token_header=header, id_header="X-Id")
        delivery = post(b"{}", (header or "Authorization", value), ("X-Id", "7"))
        outcome = check(delivery, webhook, "s3cret", previous="older")
        if slot is None:
            assert reason_of(outcome) is RefusalReason.WRONG_SIGNATURE
        else:
            assert accepted(outcome).slot is slot
            assert accepted(outcome).event_id == "7"

    @pytest.mark.parametrize(
        ("value", "reason"),
        [
            (b64encode(b"bob:s3cret").decode(), None),
            (b64encode(b"bob:older").decode(), None),
            (b64encode(b"eve:s3cret").decode(), RefusalReason.WRONG_SIGNATURE),
            (b64encode(b"bob:s3").decode(), RefusalReason.WRONG_SIGNATURE),
            (b64encode(b"\xff").decode(), RefusalReason.SIGNATURE_MALFORMED),
            ("*", RefusalReason.SIGNATURE_MALFORMED),
        ],
    )
    def test_user_name_and_password_are_compared(
        self, value: str, reason: RefusalReason | None
    ) -> None:
        delivery = post(b"{}", ("Authorization", f"basic {value}"))
        webhook = hook("basic", username="bob")
        outcome = check(delivery, webhook, "s3cret", previous="older")
        assert reason_of(outcome) is reason
        bearer = with_header(delivery, "Authorization", f"Bearer {value}")
        assert isinstance(check(bearer, webhook, "s3cret"), Refused)


class TestBodySignatures:
    def test_mailgun_signs_time_and_token_only(self) -> None:
        event = {"event-data": {"id": "e1", "event": "opened"}}
        webhook = hook("mailgun")
        delivery = signed(webhook, "key", post(json.dumps(event).encode()))
        outcome = accepted(check(delivery, webhook, "key"))
        assert (outcome.event_id, outcome.event_type) == ("e1", "opened")
        assert outcome.nonce
        assert not outcome.covers_body
        fields = json.loads(delivery.body)["signature"]
        form = "&".join(f"{name}={value}" for name, value in fields.items())
        accepted(check(post(form.encode(), FORM), webhook, "key"))

    @pytest.mark.parametrize(
        ("changes", "reason"),
        [
            ({"signature": ""}, RefusalReason.SIGNATURE_MISSING),
            ({"signature": "xyz"}, RefusalReason.SIGNATURE_MALFORMED),
            ({"token": "a.b"}, RefusalReason.SIGNATURE_MALFORMED),
            ({"token": "abc"}, RefusalReason.WRONG_SIGNATURE),
            ({"timestamp": "1800000001"}, RefusalReason.WRONG_SIGNATURE),
            ({"timestamp": "soon"}, RefusalReason.TIMESTAMP_MALFORMED),
        ],
    )
    def test_a_changed_delivery_of_mailgun_is_refused(
        self, changes: Mapping[str, str], reason: RefusalReason
    ) -> None:
        delivery = signed(hook("mailgun"), "key", post(b"{}"))
        body = json.loads(delivery.body)
        body["signature"] |= changes
        changed = replace(delivery, body=json.dumps(body).encode())
        assert reason_of(check(changed, hook("mailgun"), "key")) is reason

    def test_an_old_delivery_of_mailgun_is_refused(self) -> None:
        delivery = signed(hook("mailgun"), "key", post(b"{}"))
        secrets = WebhookSecrets(Secret("key"))
        outcome = verify(delivery, hook("mailgun"), secrets, now=NOW + 301, keys=KEYS)
        assert reason_of(outcome) is RefusalReason.TOO_OLD

    @pytest.mark.parametrize(
        "body", [b"[]", b"{", b'{"signature": 1, "signature": 2}', b'{"a": NaN}']
    )
    def test_an_unreadable_body_is_refused(self, body: bytes) -> None:
        for scheme in ("mailgun", "adyen", "graph", "sns"):
            outcome = check(post(body), hook(scheme, topic=TOPIC), "00")
            assert isinstance(outcome, Refused)
        form = post(b"\xff=1", FORM)
        outcome = check(form, hook("mailgun"), "key")
        assert reason_of(outcome) is RefusalReason.BODY_UNREADABLE

    def test_every_item_of_adyen_is_verified(self) -> None:
        outcome = accepted(
            check(post(adyen_body(ADYEN_ITEM)), hook("adyen"), ADYEN_KEY)
        )
        assert outcome.event_id == "AUTHORISATION:7914073381342284"
        assert outcome.event_type == "AUTHORISATION"
        two = accepted(
            check(post(adyen_body(ADYEN_ITEM, ADYEN_OTHER)), hook("adyen"), ADYEN_KEY)
        )
        assert (two.event_id, two.event_type) == ("", "")
        twice = check(
            post(adyen_body(ADYEN_ITEM, {**ADYEN_ITEM, "reason": "x"})),
            hook("adyen"),
            ADYEN_KEY,
        )
        assert reason_of(twice) is RefusalReason.BODY_UNREADABLE
        forged = {**ADYEN_ITEM, "success": "false"}
        outcome = check(post(adyen_body(ADYEN_ITEM, forged)), hook("adyen"), ADYEN_KEY)
        assert reason_of(outcome) is RefusalReason.WRONG_SIGNATURE

    @pytest.mark.parametrize(
        "forged",
        [
            {
                "eventCode": "REFUND",
                "amount": {"value": 1130, "currency": "EUR", "eventCode": EVENT},
            },
            {
                "pspReference": "1",
                "amount": {"value": 1130, "currency": "EUR", "pspReference": PAYMENT},
            },
            {"amount": [], "value": 1130, "currency": "EUR"},
        ],
    )
    def test_a_signed_value_of_adyen_counts_only_in_its_place(
        self, forged: dict[str, object]
    ) -> None:
        body = adyen_body({**ADYEN_ITEM, **forged})
        outcome = check(post(body), hook("adyen"), ADYEN_KEY)
        assert reason_of(outcome) is RefusalReason.WRONG_SIGNATURE

    def test_a_reference_of_adyen_cannot_become_other_values(self) -> None:
        moved = {
            "merchantReference": "",
            "amount": {"value": "slashes are fun:1000", "currency": "EUR"},
        }
        accepted(check(post(adyen_body(ADYEN_COLON)), hook("adyen"), ADYEN_OTHER_KEY))
        body = adyen_body({**ADYEN_COLON, **moved})
        outcome = check(post(body), hook("adyen"), ADYEN_OTHER_KEY)
        assert reason_of(outcome) is RefusalReason.BODY_UNREADABLE

    def test_items_of_adyen_may_be_signed_with_either_secret(self) -> None:
        other = "74F490DD33F7327BAECC88B2947C011FC02D014A473AAA33A8EC93E4DC069174"
        delivery = post(adyen_body(ADYEN_ITEM, ADYEN_SLASHES))
        outcome = check(delivery, hook("adyen"), ADYEN_KEY, previous=other)
        assert accepted(outcome).slot is SecretSlot.PREVIOUS

    @pytest.mark.parametrize(
        ("body", "reason"),
        [
            (b"{}", RefusalReason.BODY_UNREADABLE),
            (b'{"notificationItems": []}', RefusalReason.BODY_UNREADABLE),
            (b'{"notificationItems": [1]}', RefusalReason.BODY_UNREADABLE),
            (adyen_body({}), RefusalReason.SIGNATURE_MISSING),
            (adyen_body({"additionalData": 1}), RefusalReason.SIGNATURE_MISSING),
            (
                adyen_body({**ADYEN_ITEM, "eventCode": []}),
                RefusalReason.BODY_UNREADABLE,
            ),
            (
                adyen_body({**ADYEN_ITEM, "success": True, "amount": 1}),
                RefusalReason.WRONG_SIGNATURE,
            ),
        ],
    )
    def test_other_bodies_of_adyen_are_refused(
        self, body: bytes, reason: RefusalReason
    ) -> None:
        assert reason_of(check(post(body), hook("adyen"), ADYEN_KEY)) is reason

    def test_a_boolean_of_adyen_counts_as_its_text(self) -> None:
        body = adyen_body({**ADYEN_ITEM, "success": True})
        accepted(check(post(body), hook("adyen"), ADYEN_KEY))

    def test_every_item_of_graph_has_the_state(self) -> None:
        def body(*items: object) -> bytes:
            return json.dumps({"value": items}).encode()

        good = {"clientState": "s3cret", "changeType": "created"}
        old = {"clientState": "older", "changeType": "updated"}
        webhook = hook("graph")
        outcome = accepted(check(post(body(good, good)), webhook, "s3cret"))
        assert outcome.event_type == "created"
        both = (good, {**good, "changeType": "deleted"})
        assert accepted(check(post(body(*both)), webhook, "s3cret")).event_type == ""
        outcome = check(post(body(old)), webhook, "s3cret", previous="older")
        assert accepted(outcome).slot is SecretSlot.PREVIOUS
        for items, reason in (
            ((good, {"clientState": "x"}), RefusalReason.WRONG_SIGNATURE),
            ((good, {}), RefusalReason.SIGNATURE_MISSING),
            ((), RefusalReason.BODY_UNREADABLE),
        ):
            assert reason_of(check(post(body(*items)), webhook, "s3cret")) is reason

    @pytest.mark.parametrize(
        ("body", "identifier"),
        [
            (b"id=tr_7UhSN1zuXS", "tr_7UhSN1zuXS"),
            (b"id=tr_1&id=tr_2", ""),
            (b"id=../x", ""),
            (b"other=1", ""),
            (b"id=" + b"x" * 2000, ""),
            (b"\xff", ""),
        ],
    )
    def test_a_thin_delivery_only_names_an_object(
        self, body: bytes, identifier: str
    ) -> None:
        outcome = check(post(body), hook("mollie_classic", configuration="mollie"))
        if identifier:
            assert accepted(outcome).fetch_id == identifier
            assert not accepted(outcome).event_id
        else:
            assert reason_of(outcome) is RefusalReason.BODY_UNREADABLE


class TestTwilio:
    SIGNATURE = ("X-Twilio-Signature", "RSOYDt4T1cUTdK1PDd93/VVr8B8=")

    @pytest.mark.parametrize(
        ("delivery", "reason"),
        [
            (
                post(TWILIO_FORM, FORM, SIGNATURE, url=""),
                RefusalReason.URL_UNKNOWN,
            ),
            (
                post(TWILIO_FORM, SIGNATURE, url=TWILIO_URL),
                RefusalReason.BODY_DIGEST,
            ),
            (
                post(b"\xff", FORM, SIGNATURE, url=TWILIO_URL),
                RefusalReason.BODY_UNREADABLE,
            ),
            (
                post(TWILIO_FORM, FORM, ("X-Twilio-Signature", "x"), url=TWILIO_URL),
                RefusalReason.SIGNATURE_MALFORMED,
            ),
            (
                post(
                    b"{}", SIGNATURE, url="https://a.example/?" + "&".join("a" * 1001)
                ),
                RefusalReason.BODY_DIGEST,
            ),
        ],
    )
    def test_other_deliveries_are_refused(
        self, delivery: Delivery, reason: RefusalReason
    ) -> None:
        assert reason_of(check(delivery, hook("twilio"), "12345")) is reason

    @pytest.mark.parametrize(
        "url", ["https://a.example/\ud800", "/x", "https://[a", "https://a:99999/"]
    )
    def test_an_unreadable_url_is_refused(self, url: str) -> None:
        for scheme in ("twilio", "square", "hubspot", "rfc9421"):
            delivery = signed(hook(scheme), "c2VjcmV0", post(b""))
            outcome = check(replace(delivery, url=url), hook(scheme), "c2VjcmV0")
            assert reason_of(outcome) is RefusalReason.URL_MALFORMED

    def test_the_hash_in_the_url_counts_whatever_the_type_is(self) -> None:
        webhook = hook("twilio")
        delivery = signed(webhook, "12345", post(b"{}"))
        for body in (b"", b"{}x"):
            form = replace(delivery, headers=(*delivery.headers, FORM), body=body)
            outcome = check(form, webhook, "12345")
            assert reason_of(outcome) is RefusalReason.BODY_DIGEST

    def test_two_hashes_in_the_url_are_refused(self) -> None:
        webhook = hook("twilio")
        digest = hashlib.sha256(b"{}").hexdigest()
        url = f"{URL}?bodySHA256={digest}&bodySHA256={'0' * 64}"
        empty = signed(webhook, "12345", Delivery("GET", url, (), b""))
        outcome = check(replace(empty, body=b"{}"), webhook, "12345")
        assert reason_of(outcome) is RefusalReason.BODY_DIGEST

    def test_a_form_has_one_spelling_of_each_text(self) -> None:
        delivery = signed(hook("twilio"), "12345", post(b"a=1", FORM))
        for body in (b"a=%ff", b"a=%fe"):
            outcome = check(replace(delivery, body=body), hook("twilio"), "12345")
            assert reason_of(outcome) is RefusalReason.BODY_UNREADABLE

    def test_a_call_without_a_body_signs_the_url(self) -> None:
        delivery = signed(hook("twilio"), "12345", Delivery("GET", TWILIO_URL, (), b""))
        accepted(check(delivery, hook("twilio"), "12345"))

    def test_a_url_has_its_spellings(self) -> None:
        assert url_spellings("https://[::1]:8443/x?y#z") == [
            "https://[::1]:8443/x?y#z",
            "https://[::1]/x?y#z",
        ]
        assert url_spellings("http://a.example/x") == [
            "http://a.example/x",
            "http://a.example:80/x",
        ]


def new_rsa_key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


@pytest.fixture(scope="module")
def private_key() -> rsa.RSAPrivateKey:
    return new_rsa_key()


def certificate_builder(
    subject: str, issuer: str, key: rsa.RSAPrivateKey
) -> x509.CertificateBuilder:
    start = datetime.fromtimestamp(NOW, UTC) - timedelta(days=1)
    names = [
        x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        for name in (subject, issuer)
    ]
    return (
        x509.CertificateBuilder()
        .subject_name(names[0])
        .issuer_name(names[1])
        .public_key(key.public_key())
        .serial_number(7)
        .not_valid_before(start)
        .not_valid_after(start + timedelta(days=30))
    )


def own_certificate(key: rsa.RSAPrivateKey) -> bytes:
    builder = certificate_builder("sns.amazonaws.com", "sns.amazonaws.com", key)
    return builder.sign(key, SHA256()).public_bytes(Encoding.PEM)


def issued_certificate(key: rsa.RSAPrivateKey, host: str) -> tuple[bytes, bytes]:
    """Return a certificate, and that of the authority that issued it."""
    authority = new_rsa_key()
    identifier = x509.AuthorityKeyIdentifier.from_issuer_public_key(
        authority.public_key()
    )
    usage = x509.KeyUsage(
        digital_signature=False,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=True,
        crl_sign=True,
        encipher_only=False,
        decipher_only=False,
    )
    root = (
        certificate_builder("Authority", "Authority", authority)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(
            x509.SubjectKeyIdentifier.from_public_key(authority.public_key()),
            critical=False,
        )
    )
    leaf = (
        certificate_builder(host, "Authority", key)
        .add_extension(
            x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False
        )
        .add_extension(identifier, critical=False)
        .add_extension(
            x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False
        )
    )
    return (
        leaf.sign(authority, SHA256()).public_bytes(Encoding.PEM),
        root.sign(authority, SHA256()).public_bytes(Encoding.PEM),
    )


def sns_body(
    key: rsa.RSAPrivateKey, algorithm: HashAlgorithm, **changes: object
) -> dict[str, object]:
    message: dict[str, object] = {
        "Type": "Notification",
        "MessageId": "22b80b92-fdea-4c2c-8f9d-bdfb0c7bf324",
        "TopicArn": TOPIC,
        "Subject": "An order",
        "Message": '{"order": 7}',
        "Timestamp": "2027-01-15T08:00:00.123Z",
        "SignatureVersion": "1" if isinstance(algorithm, SHA1) else "2",
        "SigningCertURL": CERTIFICATE_URL,
        **changes,
    }
    message = {name: value for name, value in message.items() if value is not None}
    signature = key.sign(sns_message(message), padding.PKCS1v15(), algorithm)
    return {**message, "Signature": b64encode(signature).decode()}


def test_a_body_is_not_copied_to_be_signed() -> None:
    body = b"x" * 1000
    parts = {"timestamp": b"1", "body": body}
    pieces = fill_template("{timestamp}.{body}", parts)
    assert b"".join(pieces) == b"1." + body
    assert any(piece is body for piece in pieces)
    assert symmetric_signature(
        SignatureAlgorithm.HMAC_SHA256, b"key", *pieces
    ) == symmetric_signature(SignatureAlgorithm.HMAC_SHA256, b"key", b"1." + body)


class TestSns:
    webhook = hook("sns", topic=TOPIC)

    def check(self, body: Mapping[str, object], certificate: bytes = b"") -> Outcome:
        delivery = post(json.dumps(body).encode())
        return check(delivery, self.webhook, certificate=certificate)

    @pytest.mark.parametrize("algorithm", [SHA1(), SHA256()], ids=["1", "2"])
    @pytest.mark.parametrize("subject", ["An order", None])
    def test_a_notification_is_verified(
        self,
        private_key: rsa.RSAPrivateKey,
        algorithm: HashAlgorithm,
        subject: str | None,
    ) -> None:
        body = sns_body(private_key, algorithm, Subject=subject)
        assert self.check(body) == CertificateNeeded(CERTIFICATE_URL)
        certificate = own_certificate(private_key)
        outcome = accepted(self.check(body, certificate))
        assert outcome.event_id == "22b80b92-fdea-4c2c-8f9d-bdfb0c7bf324"
        assert outcome.event_type == "Notification"
        for name in ("Message", "MessageId", "Subject", "Timestamp"):
            changed = self.check({**body, name: "other"}, certificate)
            assert reason_of(changed) is RefusalReason.WRONG_SIGNATURE

    @pytest.mark.parametrize(
        "changes",
        [
            {"MessageId": "{MessageId}\nSubject\n{Subject}", "Subject": None},
            {"Message": "a", "MessageId": f"b\nSubject\nc\n{ID_LINES}"},
            {
                "Message": "a",
                "MessageId": "b",
                "Subject": f"c\n{ID_LINES}\nSubject\n{{Subject}}",
            },
        ],
    )
    def test_one_signature_is_of_one_message(
        self, private_key: rsa.RSAPrivateKey, changes: Mapping[str, str | None]
    ) -> None:
        lines = "a\nMessageId\nb\nSubject\nc"
        body = sns_body(private_key, SHA256(), Message=lines)
        certificate = own_certificate(private_key)
        accepted(self.check(body, certificate))
        other = {name: text and text.format(**body) for name, text in changes.items()}
        outcome = self.check({**body, **other}, certificate)
        assert reason_of(outcome) is RefusalReason.BODY_UNREADABLE

    def test_a_confirmation_signs_other_keys(
        self, private_key: rsa.RSAPrivateKey
    ) -> None:
        body = sns_body(
            private_key,
            SHA256(),
            Type="UnsubscribeConfirmation",
            Token="abc",
            SubscribeURL=f"{SNS_URL}/?Action=ConfirmSubscription",
            Subject=None,
        )
        certificate = own_certificate(private_key)
        accepted(self.check(body, certificate))
        changed = self.check({**body, "Token": "abd"}, certificate)
        assert reason_of(changed) is RefusalReason.WRONG_SIGNATURE

    @pytest.mark.parametrize(
        "url",
        [
            "http://sns.eu-central-1.amazonaws.com/SimpleNotificationService-a.pem",
            "https://sns.eu-west-1.amazonaws.com/SimpleNotificationService-a.pem",
            "https://sns.eu-central-1.amazonaws.com.a.io/SimpleNotificationService-a.pem",
            "https://evil.s3.amazonaws.com/SimpleNotificationService-a.pem",
            "https://sns.eu-central-1.amazonaws.com.cn/SimpleNotificationService-a.pem",
            "https://sns.eu-central-1.amazonaws.com@a.io/SimpleNotificationService-a.pem",
            "https://sns.eu-central-1.amazonaws.com:8443/SimpleNotificationService-a.pem",
            f"{SNS_URL}/x/SimpleNotificationService-a.pem",
            f"{SNS_URL}/SimpleNotificationService-a.pem?x",
            f"{SNS_URL}/SimpleNotificationService-a.pem\n",
            "",
        ],
    )
    def test_no_other_url_may_have_the_certificate(
        self, private_key: rsa.RSAPrivateKey, url: str
    ) -> None:
        body = sns_body(private_key, SHA256(), SigningCertURL=url)
        outcome = self.check(body, own_certificate(private_key))
        assert reason_of(outcome) is RefusalReason.KEY_URL

    def test_china_has_a_domain_of_its_own(
        self, private_key: rsa.RSAPrivateKey
    ) -> None:
        topic = "arn:aws-cn:sns:cn-north-1:123456789012:orders"
        url = "https://sns.cn-north-1.amazonaws.com.cn/SimpleNotificationService-a1.pem"
        body = sns_body(private_key, SHA256(), TopicArn=topic, SigningCertURL=url)
        delivery = post(json.dumps(body).encode())
        outcome = check(delivery, hook("sns", topic=topic))
        assert outcome == CertificateNeeded(url)

    @pytest.mark.parametrize(
        ("changes", "reason"),
        [
            ({"TopicArn": TOPIC + "2"}, RefusalReason.WRONG_TOPIC),
            ({"TopicArn": "orders"}, RefusalReason.WRONG_TOPIC),
            ({"SignatureVersion": "3"}, RefusalReason.SIGNATURE_MALFORMED),
            ({"Signature": ""}, RefusalReason.SIGNATURE_MISSING),
            ({"Signature": "*"}, RefusalReason.SIGNATURE_MALFORMED),
            ({"Type": "Other"}, RefusalReason.BODY_UNREADABLE),
            ({"Message": 7}, RefusalReason.BODY_UNREADABLE),
            ({"Type": "SubscriptionConfirmation"}, RefusalReason.BODY_UNREADABLE),
        ],
    )
    def test_other_messages_are_refused(
        self,
        private_key: rsa.RSAPrivateKey,
        changes: Mapping[str, object],
        reason: RefusalReason,
    ) -> None:
        body = {**sns_body(private_key, SHA256()), **changes}
        assert reason_of(self.check(body, own_certificate(private_key))) is reason

    def test_an_old_message_is_refused_and_no_certificate_fetched_for_it(
        self, private_key: rsa.RSAPrivateKey
    ) -> None:
        delivery = post(json.dumps(sns_body(private_key, SHA256())).encode())
        for certificate in (b"", own_certificate(private_key)):
            outcome = verify(
                delivery,
                self.webhook,
                WebhookSecrets(),
                now=NOW + 86_401,
                keys=KEYS,
                certificate=certificate,
            )
            assert reason_of(outcome) is RefusalReason.TOO_OLD

    def test_a_user_may_shorten_the_tolerance(
        self, private_key: rsa.RSAPrivateKey
    ) -> None:
        delivery = post(json.dumps(sns_body(private_key, SHA256())).encode())
        webhook = replace(self.webhook, tolerance_seconds=3600)
        outcome = verify(delivery, webhook, WebhookSecrets(), now=NOW + 3700, keys=KEYS)
        assert reason_of(outcome) is RefusalReason.TOO_OLD

    def test_the_certificate_must_be_valid(
        self, private_key: rsa.RSAPrivateKey
    ) -> None:
        delivery = post(json.dumps(sns_body(private_key, SHA256())).encode())
        certificate = own_certificate(private_key)
        for content, now in (
            (b"-----", NOW),
            (certificate, NOW + 60 * 86400),
            (certificate, NOW - 60 * 86400),
            (certificate * 500, NOW),
        ):
            outcome = verify(
                delivery,
                self.webhook,
                WebhookSecrets(),
                now=now,
                keys=KEYS,
                certificate=content,
            )
            assert reason_of(outcome) is RefusalReason.CERTIFICATE


PAYPAL_URL = "https://api.paypal.com/v1/notifications/certs/CERT-360caa42-fca2a594"
PAYPAL_BODY = b'{"id": "WH-1", "event_type": "SALE"}'


class TestPaypal:
    webhook = hook("paypal", webhook_id="1JE4291016473214C")

    def delivery(self, key: rsa.RSAPrivateKey) -> Delivery:
        time = "2027-01-15T08:00:00Z"
        text = f"69cd13f0|{time}|1JE4291016473214C|{zlib.crc32(PAYPAL_BODY)}"
        signature = key.sign(text.encode(), padding.PKCS1v15(), SHA256())
        return post(
            PAYPAL_BODY,
            ("PAYPAL-TRANSMISSION-ID", "69cd13f0"),
            ("PAYPAL-TRANSMISSION-TIME", time),
            ("PAYPAL-TRANSMISSION-SIG", b64encode(signature).decode()),
            ("PAYPAL-CERT-URL", PAYPAL_URL),
            ("PAYPAL-AUTH-ALGO", "SHA256withRSA"),
        )

    def test_a_delivery_is_verified_with_an_issued_certificate(self) -> None:
        key = new_rsa_key()
        chain, roots = issued_certificate(key, "messageverificationcerts.paypal.com")
        delivery = self.delivery(key)
        assert check(delivery, self.webhook) == CertificateNeeded(PAYPAL_URL)

        def verify_with(
            delivery: Delivery,
            keys: CryptographyKeys,
            webhook: Webhook = self.webhook,
            now: float = NOW,
        ) -> Outcome:
            return verify(
                delivery,
                webhook,
                WebhookSecrets(),
                now=now,
                keys=keys,
                certificate=chain,
            )

        trusting = CryptographyKeys(lambda: roots)
        outcome = accepted(verify_with(delivery, trusting))
        assert (outcome.event_id, outcome.event_type) == ("WH-1", "SALE")
        assert outcome.nonce == "69cd13f0"
        assert not outcome.covers_body
        outcome = verify_with(delivery, CryptographyKeys())
        assert reason_of(outcome) is RefusalReason.CERTIFICATE
        sandbox = with_header(
            delivery, "PAYPAL-CERT-URL", PAYPAL_URL.replace("api.", "api.sandbox.")
        )
        outcome = verify_with(sandbox, trusting)
        assert reason_of(outcome) is RefusalReason.CERTIFICATE
        other = hook("paypal", webhook_id="2")
        for changed, webhook in (
            (delivery, other),
            (replace(delivery, body=PAYPAL_BODY + b" "), self.webhook),
            (with_header(delivery, "PAYPAL-TRANSMISSION-ID", "8"), self.webhook),
        ):
            outcome = verify_with(changed, trusting, webhook)
            assert reason_of(outcome) is RefusalReason.WRONG_SIGNATURE
        days = 86_400
        accepted(verify_with(delivery, trusting, now=NOW + 3 * days))
        outcome = verify_with(delivery, trusting, now=NOW + 5 * days)
        assert reason_of(outcome) is RefusalReason.TOO_OLD

    @pytest.mark.parametrize(
        ("header", "value", "reason"),
        [
            ("PAYPAL-CERT-URL", "", RefusalReason.HEADER_MISSING),
            (
                "PAYPAL-CERT-URL",
                PAYPAL_URL.replace("paypal", "paypa1"),
                RefusalReason.KEY_URL,
            ),
            ("PAYPAL-CERT-URL", f"{PAYPAL_URL}/../x", RefusalReason.KEY_URL),
            (
                "PAYPAL-CERT-URL",
                PAYPAL_URL.replace(".com", ".com.evil.example"),
                RefusalReason.KEY_URL,
            ),
            ("PAYPAL-AUTH-ALGO", "SHA1withRSA", RefusalReason.SIGNATURE_MALFORMED),
            ("PAYPAL-TRANSMISSION-SIG", "*", RefusalReason.SIGNATURE_MALFORMED),
            ("PAYPAL-TRANSMISSION-SIG", "", RefusalReason.SIGNATURE_MISSING),
            ("PAYPAL-TRANSMISSION-ID", "a|b", RefusalReason.SIGNATURE_MALFORMED),
            ("PAYPAL-TRANSMISSION-TIME", "now", RefusalReason.TIMESTAMP_MALFORMED),
        ],
    )
    def test_other_headers_are_refused(
        self,
        private_key: rsa.RSAPrivateKey,
        header: str,
        value: str,
        reason: RefusalReason,
    ) -> None:
        delivery = with_header(self.delivery(private_key), header, value)
        assert reason_of(check(delivery, self.webhook)) is reason

    def test_the_id_of_the_webhook_is_never_the_request_s(
        self, private_key: rsa.RSAPrivateKey
    ) -> None:
        outcome = check(self.delivery(private_key), hook("paypal"))
        assert reason_of(outcome) is RefusalReason.NO_SECRET


SHARED = b64encode(bytes(range(32))).decode()


def public_pem(
    key: rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey,
) -> str:
    return (
        key.public_key()
        .public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
        .decode()
    )


class TestHttpSignatures:
    webhook = hook("rfc9421")

    def delivery(self) -> Delivery:
        return signed(self.webhook, SHARED, post(b'{"a": 1}', url=f"{URL}?x=1"))

    def test_a_signed_delivery_is_accepted(self) -> None:
        outcome = accepted(
            check(self.delivery(), self.webhook, "AAAA", previous=SHARED)
        )
        assert outcome.slot is SecretSlot.PREVIOUS
        assert (outcome.timestamp, outcome.nonce) == (NOW, "evt-9")

    @pytest.mark.parametrize(
        ("change", "reason"),
        [
            (lambda d: replace(d, body=b'{"a": 2}'), RefusalReason.BODY_DIGEST),
            (lambda d: replace(d, method="PUT"), RefusalReason.WRONG_SIGNATURE),
            (lambda d: replace(d, url=URL), RefusalReason.WRONG_SIGNATURE),
            (lambda d: replace(d, url=f"{URL}?x=2"), RefusalReason.WRONG_SIGNATURE),
            (lambda d: replace(d, url=""), RefusalReason.URL_UNKNOWN),
            (
                lambda d: with_header(d, "Content-Digest", "sha-256=:AAAA:"),
                RefusalReason.WRONG_SIGNATURE,
            ),
            (
                lambda d: without_header(d, "Content-Digest"),
                RefusalReason.HEADER_MISSING,
            ),
            (
                lambda d: without_header(d, "Signature-Input"),
                RefusalReason.HEADER_MISSING,
            ),
            (lambda d: without_header(d, "Signature"), RefusalReason.SIGNATURE_MISSING),
            (
                lambda d: with_header(d, "Signature", "sig2=:AAAA:"),
                RefusalReason.SIGNATURE_MALFORMED,
            ),
            (
                lambda d: with_header(d, "Signature", "sig1=:AAAA:, sig2=:AAAA:"),
                RefusalReason.SIGNATURE_MALFORMED,
            ),
            (
                lambda d: with_header(d, "Signature", "sig1=AAAA"),
                RefusalReason.SIGNATURE_MALFORMED,
            ),
            (
                lambda d: with_header(d, "Content-Digest", "ä"),
                RefusalReason.HEADER_MALFORMED,
            ),
            (
                lambda d: with_header(d, "Signature-Input", "sig1=x"),
                RefusalReason.SIGNATURE_MALFORMED,
            ),
        ],
    )
    def test_a_changed_delivery_is_refused(
        self, change: Callable[[Delivery], Delivery], reason: RefusalReason
    ) -> None:
        changed = change(self.delivery())
        assert reason_of(check(changed, self.webhook, SHARED)) is reason

    @pytest.mark.parametrize(
        ("written", "reason"),
        [
            ("();created=1800000000", RefusalReason.NOT_COVERED),
            (
                '("@method" "@authority" "@path" "content-digest");created=1800000000',
                RefusalReason.NOT_COVERED,
            ),
            (
                '("@method" "@target-uri");created=1800000000',
                RefusalReason.NOT_COVERED,
            ),
            (
                '("@method" "@method" "@target-uri" "content-digest");created=1',
                RefusalReason.SIGNATURE_MALFORMED,
            ),
            (
                '("@method" "@target-uri" "content-digest");created=1;created=2',
                RefusalReason.SIGNATURE_MALFORMED,
            ),
            (
                '("@method" "@target-uri" "content-digest" "@status");created=1',
                RefusalReason.SIGNATURE_MALFORMED,
            ),
            (
                '("@method" "@target-uri" "content-digest";sf);created=1',
                RefusalReason.SIGNATURE_MALFORMED,
            ),
            (
                '("@method" "@target-uri" "content-digest" "x-none");created=1',
                RefusalReason.HEADER_MISSING,
            ),
        ],
    )
    def test_the_receiver_decides_what_must_be_covered(
        self, written: str, reason: RefusalReason
    ) -> None:
        delivery = with_header(self.delivery(), "Signature-Input", f"sig1={written}")
        assert reason_of(check(delivery, self.webhook, SHARED)) is reason

    def signed_with(
        self,
        parameters: str,
        sign_message: Callable[[bytes], bytes],
        digest: str = "",
    ) -> Delivery:
        plain = without_header(self.delivery(), "Signature")
        if digest:
            plain = with_header(plain, "Content-Digest", digest)
        written = f'("@method" "@target-uri" "content-digest"){parameters}'
        value = plain.header_values("Content-Digest")[0]
        message = (
            f'"@method": POST\n"@target-uri": {plain.url}\n"content-digest": {value}\n'
            f'"@signature-params": {written}'
        )
        signature = b64encode(sign_message(message.encode())).decode()
        plain = with_header(plain, "Signature-Input", f"sig1={written}")
        return with_header(plain, "Signature", f"sig1=:{signature}:")

    def shared(self, message: bytes) -> bytes:
        return hmac.digest(bytes(range(32)), message, "sha256")

    @pytest.mark.parametrize(
        ("parameters", "reason"),
        [
            (";created=1800000000", None),
            (';created=1800000000;expires=1800000001;alg="hmac-sha256"', None),
            (
                ';created=1800000000;alg="rsa-pss-sha512"',
                RefusalReason.WRONG_SIGNATURE,
            ),
            (';keyid="x"', RefusalReason.TIMESTAMP_MISSING),
            (";created=1799999000", RefusalReason.TOO_OLD),
            (";created=1800001000", RefusalReason.TOO_FAR_AHEAD),
            (";created=1800000000;expires=1799999999", RefusalReason.TOO_OLD),
        ],
    )
    def test_the_parameters_are_checked(
        self, parameters: str, reason: RefusalReason | None
    ) -> None:
        delivery = self.signed_with(parameters, self.shared)
        assert reason_of(check(delivery, self.webhook, SHARED)) is reason

    @pytest.mark.parametrize(
        "digest", ["md5=:AAAA:", "sha-256=:AAAA:", "none", "sha-256=:AAAA:, x"]
    )
    def test_the_digest_must_be_that_of_the_body(self, digest: str) -> None:
        delivery = self.signed_with(";created=1800000000", self.shared, digest)
        outcome = check(delivery, self.webhook, SHARED)
        assert reason_of(outcome) is RefusalReason.BODY_DIGEST

    def test_every_digest_must_be_that_of_the_body(self) -> None:
        right = b64encode(hashlib.sha256(b'{"a": 1}').digest()).decode()
        for other in (f"sha-512=:{right}:", "sha-512=:AAAA:"):
            digest = f"sha-256=:{right}:, {other}"
            delivery = self.signed_with(";created=1800000000", self.shared, digest)
            outcome = check(delivery, self.webhook, SHARED)
            assert reason_of(outcome) is RefusalReason.BODY_DIGEST
        digest = f"sha-256=:{right}:, md5=:AAAA:"
        delivery = self.signed_with(";created=1800000000", self.shared, digest)
        accepted(check(delivery, self.webhook, SHARED))

    def test_the_algorithm_is_that_of_the_key(
        self, private_key: rsa.RSAPrivateKey
    ) -> None:
        edwards = ed25519.Ed25519PrivateKey.generate()
        curve = ec.generate_private_key(ec.SECP256R1())

        def plain_ecdsa(message: bytes) -> bytes:
            r, s = decode_dss_signature(curve.sign(message, ec.ECDSA(SHA256())))
            return r.to_bytes(32) + s.to_bytes(32)

        def pss(message: bytes) -> bytes:
            mask = padding.MGF1(SHA512())
            return private_key.sign(
                message, padding.PSS(mgf=mask, salt_length=64), SHA512()
            )

        for key, sign_message in (
            (edwards, edwards.sign),
            (curve, plain_ecdsa),
            (private_key, pss),
        ):
            delivery = self.signed_with(";created=1800000000", sign_message)
            pem = public_pem(key)
            accepted(check(delivery, self.webhook, pem))
            # The public key as the key of an HMAC: what "alg" from the message allows.
            confused = self.signed_with(
                ';created=1800000000;alg="hmac-sha256"', self.shared
            )
            assert isinstance(check(confused, self.webhook, pem), Refused)
            wrong = self.signed_with(";created=1800000000", lambda _: bytes(63))
            outcome = check(wrong, self.webhook, pem)
            assert reason_of(outcome) is RefusalReason.WRONG_SIGNATURE

    def test_other_keys_are_refused(self) -> None:
        other_curve = public_pem(ec.generate_private_key(ec.SECP384R1()))
        broken = other_curve.replace("M", "*", 1)
        nonsense = "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----"
        for secret in (other_curve, broken, nonsense, "not Base64!"):
            outcome = check(self.delivery(), self.webhook, secret)
            assert reason_of(outcome) is RefusalReason.SECRET_UNUSABLE


class TestPublicKeys:
    def test_a_key_of_another_kind_is_invalid(
        self, private_key: rsa.RSAPrivateKey
    ) -> None:
        edwards = ed25519.Ed25519PrivateKey.generate().public_key()
        keys = {
            "edwards": edwards.public_bytes(
                Encoding.DER, PublicFormat.SubjectPublicKeyInfo
            ),
            "rsa": private_key.public_key().public_bytes(
                Encoding.DER, PublicFormat.SubjectPublicKeyInfo
            ),
        }
        for algorithm, name in (
            (SignatureAlgorithm.ED25519, "rsa"),
            (SignatureAlgorithm.ECDSA_P256, "rsa"),
            (SignatureAlgorithm.RSA_SHA256, "edwards"),
            (SignatureAlgorithm.HMAC_SHA256, "rsa"),
        ):
            assert not KEYS.is_valid(algorithm, keys[name], b"x", bytes(64))

    def test_a_small_rsa_key_is_invalid(self) -> None:
        small = rsa.generate_private_key(public_exponent=65537, key_size=1024)
        key = small.public_key().public_bytes(
            Encoding.DER, PublicFormat.SubjectPublicKeyInfo
        )
        signature = small.sign(b"x", padding.PKCS1v15(), SHA256())
        assert not KEYS.is_valid(SignatureAlgorithm.RSA_SHA256, key, b"x", signature)

    def test_only_a_private_key_signs(self) -> None:
        assert KEYS.sign(b"short", b"x") is None
        assert KEYS.sign(bytes(64), b"x") == KEYS.sign(bytes(32), b"x")

    def test_highlevel_signs_with_rsa(self, private_key: rsa.RSAPrivateKey) -> None:
        body = b'{"webhookId": "w1", "type": "ContactCreate"}'
        signature = private_key.sign(body, padding.PKCS1v15(), SHA256())
        delivery = post(body, ("x-wh-signature", b64encode(signature).decode()))
        outcome = check(delivery, hook("highlevel"), public_pem(private_key))
        assert accepted(outcome).event_id == "w1"
        changed = replace(delivery, body=body + b" ")
        outcome = check(changed, hook("highlevel"), public_pem(private_key))
        assert reason_of(outcome) is RefusalReason.WRONG_SIGNATURE

    def test_highlevel_signs_with_ed25519_in_its_newer_header(self) -> None:
        vector = next(each for each in VECTORS if each.name == "highlevel_v2")
        outcome = accepted(vector.verify())
        assert (outcome.event_id, outcome.event_type) == ("w1", "ContactCreate")
        bare = "".join(vector.secret.splitlines()[1:-1])
        outcome = check(vector.delivery, hook("highlevel_v2"), bare)
        assert accepted(outcome).event_id == "w1"
        for header, value in (("x-wh-signature", HIGHLEVEL_SIGNATURE), ("X", "N/A")):
            other = post(HIGHLEVEL_BODY, (header, value))
            outcome = check(other, hook("highlevel_v2"), vector.secret)
            assert reason_of(outcome) is RefusalReason.SIGNATURE_MISSING
        unsigned = post(HIGHLEVEL_BODY, ("X-GHL-Signature", "N/A"))
        outcome = check(unsigned, hook("highlevel_v2"), vector.secret)
        assert reason_of(outcome) is RefusalReason.SIGNATURE_MALFORMED

    def test_the_key_that_highlevel_publishes_is_one_of_ed25519(self) -> None:
        key = key_bytes(Secret(HIGHLEVEL_PUBLISHED), KeyForm.PUBLIC_DER)
        assert key is not None
        assert KEYS.algorithm_of(key) is SignatureAlgorithm.ED25519


class TestPersona:
    """While a secret is replaced, the header has a list for each of the two."""

    body = b'{"data": {"id": "evt_1", "attributes": {"name": "inquiry.approved"}}}'
    time = int(NOW)

    def signed(self, secret: str, time: int = time) -> str:
        message = f"{time}.".encode() + self.body
        return f"t={time},v1={hmac.new(secret.encode(), message, 'sha256').hexdigest()}"

    def check(self, value: str, *secrets: str) -> Outcome:
        delivery = post(self.body, ("Persona-Signature", value))
        return check(delivery, hook("persona"), *secrets)

    @pytest.mark.parametrize("secret", ["new", "old"])
    def test_either_list_is_accepted(self, secret: str) -> None:
        value = f"{self.signed('new')} {self.signed('old')}"
        outcome = accepted(self.check(value, secret))
        assert (outcome.event_id, outcome.timestamp) == ("evt_1", NOW)
        assert accepted(self.check(self.signed(secret), secret))
        assert accepted(self.check(self.signed(secret).replace(",", ", "), secret))

    def test_no_list_of_another_time_or_secret_is_accepted(self) -> None:
        earlier = self.signed("old", self.time - 10)
        for value, reason in (
            (f"{self.signed('a')} {self.signed('b')}", RefusalReason.WRONG_SIGNATURE),
            (f"{self.signed('new')} {earlier}", RefusalReason.SIGNATURE_MALFORMED),
            (f"{earlier} {self.signed('new')}", RefusalReason.SIGNATURE_MALFORMED),
            ("v1=" + self.signed("new")[-64:], RefusalReason.TIMESTAMP_MISSING),
            (" ".join([self.signed("b")] * 9), RefusalReason.SIGNATURE_MALFORMED),
        ):
            assert reason_of(self.check(value, "new")) is reason

    def test_no_bit_of_two_lists_can_be_changed(self) -> None:
        value = f"{self.signed('new')} {self.signed('old')}"
        time = range(value.index("=") + 1, value.index(","))
        signature = range(value.index("v1=") + 3, value.index(" "))
        for index in (*time, *signature):
            changed = flip(value.encode(), index, index % 5).decode("latin-1")
            assert isinstance(self.check(changed, "new"), Refused), changed

    def test_only_persona_sends_two_lists(self) -> None:
        value = f"{self.signed('new')} {self.signed('old')}"
        delivery = post(self.body, ("Stripe-Signature", value))
        assert isinstance(check(delivery, hook("stripe"), "new"), Refused)


class TestTexts:
    def test_every_reason_has_a_text_and_a_hint(self) -> None:
        values = {"header": "X", "components": "@path", "seconds": 7200, "limit": 300}
        for reason in RefusalReason:
            refused = refusal(NotVerified(reason, **values))
            assert isinstance(refused.text, Text)
            assert refused.text
            assert refused.hint

    def test_whole_hours_suggest_a_time_zone(self) -> None:
        for seconds, hours in ((7200, 2), (3590, 1), (5400, 0), (100, 0), (72000, 0)):
            assert whole_hours(seconds) == hours
            refused = refusal(
                NotVerified(RefusalReason.TOO_OLD, seconds=seconds, limit=30)
            )
            assert ("time zone" in refused.hint) is bool(hours)
        assert (
            "2 h"
            in refusal(
                NotVerified(RefusalReason.TOO_FAR_AHEAD, seconds=7200, limit=30)
            ).text
        )


class TestLimitedJson:
    @pytest.mark.parametrize(
        "body",
        [
            b"",
            b"{",
            b"\xff",
            b'{"a": 1, "a": 2}',
            b"[NaN]",
            b"[-Infinity]",
            b"[" * 101 + b"]" * 101,
            b"[" * 200_000,
            b"1" * 101,
            b"1." + b"1" * 101,
            b'["\\ud800"]',
            b'{"\\ud800": 1}',
        ],
    )
    def test_what_parsers_disagree_on_is_refused(self, body: bytes) -> None:
        with pytest.raises(ValueError):  # noqa: PT011 - any of them
            read_limited_json(body)

    def test_the_rest_is_read(self) -> None:
        value = read_limited_json(b'{"a": {"b": "x", "n": 7, "f": 1.5, "t": true}}')
        assert text_at(value, "a.b") == "x"
        assert text_at(value, "a.n") == "7"
        for path in ("a.f", "a.t", "a.b.c", "z", "a", ""):
            assert text_at(value, path) == ""
        assert read_limited_json(b"[" * 100 + b"]" * 100)
        assert read_limited_json(b'["' + b"1" * 101 + b'", 7, -7, 1.5, 1e3]') == [
            "1" * 101,
            7,
            -7,
            1.5,
            1000.0,
        ]
        assert read_limited_json(b'["\\ud83d\\ude00"]') == ["\U0001f600"]

    @given(st.binary(max_size=100))
    def test_nothing_else_is_raised(self, body: bytes) -> None:
        try:
            value = read_limited_json(body)
        except ValueError:
            return
        assert value == json.loads(body)


def test_a_key_has_the_form_of_its_scheme() -> None:
    texts = {
        KeyForm.TEXT: ("ab", b"ab"),
        KeyForm.BASE64: ("AAAA", bytes(3)),
        KeyForm.HEX: (" 00ff\n", b"\x00\xff"),
        KeyForm.HTML: ("&lt;", b"<"),
        KeyForm.STANDARD: (f"v1,whsec_{'A' * 32}", bytes(24)),
        KeyForm.PUBLIC_HEX: ("00" * 32, bytes(32)),
        KeyForm.PUBLIC_STANDARD: (f"whpk_{'A' * 43}=", bytes(32)),
        KeyForm.PUBLIC_DER: ("AA\nAA", bytes(3)),
    }
    for form, (text, key) in texts.items():
        assert key_bytes(Secret(text), form) == key
    assert key_bytes(Secret(""), KeyForm.TEXT) is None
