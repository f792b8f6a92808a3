"""A refused delivery is explained by what would have been accepted."""

import json
from base64 import b64encode
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outkey.foundation.core.secret import Secret
from outkey.webhooks.core.inbox.delivery import (
    Delivery,
    RefusalReason,
    Refused,
    WebhookSecrets,
)
from outkey.webhooks.core.settings.settings import Webhook
from outkey.webhooks.core.verification.explanation import (
    explain,
    similar_bodies,
    similar_urls,
)
from outkey.webhooks.core.verification.signing import sign
from unit.webhook_vectors import (
    ADYEN_ITEM,
    KEYS,
    URL,
    adyen_body,
    hook,
    post,
    with_header,
    without_header,
)

NOW = 1_800_000_000.0
BODY = '{"id": 7, "name": "Grüße", "url": "a/b"}'.encode()
SHARED = "whsec_" + b64encode(bytes(range(32))).decode()


def signed(
    webhook: Webhook, secret: str, body: bytes = BODY, url: str = URL
) -> Delivery:
    return sign(
        post(body, url=url),
        webhook,
        Secret(secret),
        now=NOW,
        event_id="evt-9",
        keys=KEYS,
    )


def explained(
    delivery: Delivery,
    webhook: Webhook,
    secret: str,
    *,
    previous: str = "",
    now: float = NOW,
) -> Refused | None:
    secrets = WebhookSecrets(
        Secret(secret) if secret else None, Secret(previous) if previous else None
    )
    explanation = explain(delivery, webhook, secrets, now=now, keys=KEYS)
    if explanation is not None:
        shown = f"{explanation.text} {explanation.hint}"
        assert explanation.hint
        for text in filter(None, (secret, previous)):
            assert text not in shown
        for _, value in delivery.headers:
            assert value not in shown
    return explanation


def reason_of(explanation: Refused | None) -> RefusalReason | None:
    return explanation.reason if explanation else None


def test_an_accepted_delivery_needs_no_explanation() -> None:
    assert explained(signed(hook("github"), "s3cr3t"), hook("github"), "s3cr3t") is None


def test_a_delivery_with_the_previous_secret_is_noted() -> None:
    delivery = signed(hook("github"), "0lder")
    explanation = explained(delivery, hook("github"), "n3wer", previous="0lder")
    assert reason_of(explanation) is RefusalReason.PREVIOUS_SECRET


def test_a_wrong_secret_remains_a_wrong_secret() -> None:
    explanation = explained(signed(hook("github"), "s3cr3t"), hook("github"), "0th3r")
    assert reason_of(explanation) is RefusalReason.WRONG_SIGNATURE
    assert explanation is not None
    assert "Copy the secret again" in explanation.hint


def test_no_secret_and_no_scheme_need_no_search() -> None:
    delivery = signed(hook("github"), "s3cr3t")
    assert reason_of(explained(delivery, hook("github"), "")) is RefusalReason.NO_SECRET
    explanation = explained(delivery, hook("nobody"), "s3cr3t")
    assert reason_of(explanation) is RefusalReason.UNKNOWN_SCHEME


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(400, "Compare the clocks"), (7200, "time zone"), (-3600, "time zone")],
)
def test_the_difference_of_the_clocks_is_shown(seconds: int, words: str) -> None:
    delivery = signed(hook("slack"), "s3cr3t")
    explanation = explained(delivery, hook("slack"), "s3cr3t", now=NOW + seconds)
    assert explanation is not None
    assert words in explanation.hint


@pytest.mark.parametrize(
    ("sender", "configured", "label"),
    [
        ("stripe", "github", "Stripe"),
        ("github", "stripe", "GitHub"),
        ("shopify", "woocommerce", "Shopify"),
        ("hubspot", "hubspot_v1", "HubSpot, version 3"),
        ("hubspot_v2", "hubspot_v1", "HubSpot, version 2"),
        ("gitlab_token", "gitlab", "GitLab, secret token"),
        ("rfc9421", "github", "HTTP message signatures"),
        ("github", "mailgun", "GitHub"),
    ],
)
def test_the_scheme_of_the_sender_is_named(
    sender: str, configured: str, label: str
) -> None:
    secret = "c2VjcmV0"
    for used in (secret, "an0th3r"):
        explanation = explained(signed(hook(sender), secret), hook(configured), used)
        if (sender, used) == ("hubspot_v2", "an0th3r"):
            assert reason_of(explanation) is RefusalReason.WRONG_SIGNATURE
            continue
        assert reason_of(explanation) is not None
        assert explanation is not None
        if explanation.reason is RefusalReason.SECRET_UNUSABLE:
            continue
        assert explanation.reason is RefusalReason.OTHER_SCHEME
        assert label in explanation.text


def test_sns_is_recognized_by_its_header() -> None:
    delivery = post(BODY, ("x-amz-sns-message-type", "Notification"))
    explanation = explained(delivery, hook("github"), "s3cr3t")
    assert explanation is not None
    assert "Amazon SNS" in explanation.text


def test_a_certificate_that_was_not_fetched_is_not_explained() -> None:
    topic = "arn:aws:sns:eu-central-1:123456789012:orders"
    body = {
        "Type": "Notification",
        "MessageId": "1",
        "TopicArn": topic,
        "Message": "m",
        "Timestamp": "2027-01-15T08:00:00Z",
        "SignatureVersion": "2",
        "Signature": "AAAA",
        "SigningCertURL": "https://sns.eu-central-1.amazonaws.com"
        "/SimpleNotificationService-a.pem",
    }
    delivery = post(json.dumps(body).encode())
    assert explained(delivery, hook("sns", topic=topic), "") is None


def test_a_missing_signature_stays_one() -> None:
    explanation = explained(post(BODY), hook("github"), "s3cr3t")
    assert reason_of(explanation) is RefusalReason.SIGNATURE_MISSING
    bearer = post(BODY, ("Authorization", "Bearer xyz"))
    explanation = explained(bearer, hook("github"), "s3cr3t")
    assert reason_of(explanation) is RefusalReason.SIGNATURE_MISSING
    unsigned = without_header(signed(hook("standard"), SHARED), "webhook-signature")
    explanation = explained(unsigned, hook("standard"), SHARED)
    assert reason_of(explanation) is RefusalReason.SIGNATURE_MISSING


@pytest.mark.parametrize(
    ("sender", "right", "entered"),
    [
        ("github", "s3cr3t", "s3cr3t\n"),
        ("github", "s3cr3t", "  s3cr3t"),
        ("stripe", "whsec_abc", "abc"),
        ("stripe", "abc", "whsec_abc"),
        ("xero", "c2VjcmV0", " c2VjcmV0 "),
    ],
)
def test_a_secret_in_another_form_is_recognized(
    sender: str, right: str, entered: str
) -> None:
    delivery = signed(hook(sender), right)
    for current, previous in ((entered, ""), ("0th3r", entered)):
        explanation = explained(delivery, hook(sender), current, previous=previous)
        assert reason_of(explanation) is RefusalReason.SECRET_FORM


@pytest.mark.parametrize(
    "change",
    [
        lambda body: body + b"\n",
        lambda body: body + b"\r\n",
        lambda body: b"\xef\xbb\xbf" + body,
        lambda body: json.dumps(json.loads(body)).encode(),
        lambda body: json.dumps(json.loads(body), indent=2).encode(),
        lambda body: json.dumps(json.loads(body), ensure_ascii=False).encode(),
        lambda body: json.dumps(json.loads(body), separators=(",", ":")).encode(),
        lambda body: body.replace(b"a/b", b"a\\/b"),
    ],
)
def test_a_body_that_was_written_anew_is_recognized(
    change: Callable[[bytes], bytes],
) -> None:
    compact = json.dumps(json.loads(BODY), separators=(",", ":")).encode()
    delivery = signed(hook("github"), "s3cr3t", compact)
    changed = replace(delivery, body=change(compact))
    explanation = explained(changed, hook("github"), "s3cr3t")
    expected = None if changed.body == compact else RefusalReason.BODY_CHANGED
    assert reason_of(explanation) is expected


def test_a_removed_line_break_is_recognized() -> None:
    delivery = signed(hook("github"), "s3cr3t", b"a=1\r\nb=2\r\n")
    for body in (b"a=1\r\nb=2", b"a=1\nb=2\n"):
        explanation = explained(replace(delivery, body=body), hook("github"), "s3cr3t")
        assert reason_of(explanation) is RefusalReason.BODY_CHANGED


def test_a_changed_value_is_not_called_rewritten() -> None:
    delivery = signed(hook("github"), "s3cr3t")
    changed = replace(delivery, body=BODY.replace(b"7", b"8"))
    explanation = explained(changed, hook("github"), "s3cr3t")
    assert reason_of(explanation) is RefusalReason.WRONG_SIGNATURE


def test_a_large_body_is_not_written_anew() -> None:
    assert list(similar_bodies(b" " * 300_000)) == []
    assert BODY not in list(similar_bodies(BODY))


@pytest.mark.parametrize(
    ("signed_url", "words"),
    [
        (URL.replace("https", "http"), "begins with http://hooks.acme.example"),
        (URL.replace(".example", ".example:443"), "hooks.acme.example:443"),
        (f"{URL}/", "slash"),
    ],
)
@pytest.mark.parametrize("scheme", ["square", "hubspot", "rfc9421"])
def test_another_url_is_recognized(scheme: str, signed_url: str, words: str) -> None:
    delivery = signed(hook(scheme), "c2VjcmV0", url=signed_url)
    received = replace(delivery, url=URL)
    explanation = explained(received, hook(scheme), "c2VjcmV0")
    if scheme == "rfc9421" and "slash" not in words:
        # It signs neither the scheme nor the port of its scheme.
        assert explanation is None
        return
    assert reason_of(explanation) is RefusalReason.URL_CHANGED
    assert explanation is not None
    assert words in explanation.text
    assert "abc" not in explanation.text


def test_a_query_that_was_added_is_recognized() -> None:
    delivery = signed(hook("square"), "s3cr3t")
    received = replace(delivery, url=f"{URL}?utm=1")
    explanation = explained(received, hook("square"), "s3cr3t")
    assert explanation is not None
    assert "without its query" in explanation.text


def test_a_port_that_was_removed_is_tried() -> None:
    urls = list(similar_urls("http://a.example:8080/x/?q"))
    assert "https://a.example/x" in urls
    assert "http://a.example:80/x/?q" in urls
    assert "http://a.example:8080/x/?q" not in urls
    assert list(similar_urls("ftp://a.example/x"))


def test_an_unknown_url_is_not_searched() -> None:
    delivery = replace(signed(hook("square"), "s3cr3t"), url="")
    explanation = explained(delivery, hook("square"), "s3cr3t")
    assert reason_of(explanation) is RefusalReason.URL_UNKNOWN


def test_a_wrong_secret_is_not_blamed_on_the_url() -> None:
    delivery = signed(hook("square"), "s3cr3t")
    explanation = explained(delivery, hook("square"), "0th3r")
    assert reason_of(explanation) is RefusalReason.WRONG_SIGNATURE


@given(st.text(max_size=100) | st.just("," * 99), st.binary(max_size=100))
def test_nothing_is_raised_for_any_header(value: str, body: bytes) -> None:
    for scheme in ("stripe", "github", "rfc9421", "twilio", "adyen"):
        for header in ("Stripe-Signature", "webhook-signature", "Signature"):
            delivery = post(body, (header, value))
            secrets = WebhookSecrets(Secret("c2VjcmV0"))
            explanation = explain(delivery, hook(scheme), secrets, now=NOW, keys=KEYS)
            assert isinstance(explanation, Refused)


def test_an_item_of_adyen_is_explained() -> None:
    webhook = hook("adyen")
    delivery = signed(webhook, "00ff", adyen_body(ADYEN_ITEM))
    explanation = explained(delivery, webhook, "00fe")
    assert reason_of(explanation) is RefusalReason.WRONG_SIGNATURE
    unreadable = with_header(delivery, "X-Other", "1")
    explanation = explained(replace(unreadable, body=b"{"), webhook, "00ff")
    assert reason_of(explanation) is RefusalReason.BODY_UNREADABLE


def test_a_public_key_is_not_tried_in_other_forms() -> None:
    webhook = hook("discord")
    delivery = signed(webhook, "00" * 32)
    explanation = explained(delivery, webhook, "11" * 32)
    assert reason_of(explanation) is RefusalReason.WRONG_SIGNATURE
