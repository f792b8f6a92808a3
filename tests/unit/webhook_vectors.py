"""Published signatures of webhooks, and what the tests of webhooks share."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace

from outkey.foundation.core.secret import Secret
from outkey.webhooks.adapters.public_keys import CryptographyKeys
from outkey.webhooks.core.inbox.delivery import Delivery, Outcome, WebhookSecrets
from outkey.webhooks.core.settings.settings import Webhook
from outkey.webhooks.core.verification.verification import verify

KEYS = CryptographyKeys()
URL = "https://hooks.acme.example/hooks/abc"
Headers = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Vector:
    name: str
    webhook: Webhook
    secret: str
    delivery: Delivery
    now: float = 0.0

    def secrets(self) -> WebhookSecrets:
        return WebhookSecrets(Secret(self.secret))

    def verify(self, delivery: Delivery | None = None) -> Outcome:
        return verify(
            delivery or self.delivery,
            self.webhook,
            self.secrets(),
            now=self.now,
            keys=KEYS,
        )


def hook(scheme: str, **settings: object) -> Webhook:
    return Webhook("shop", scheme, line="orders", **settings)  # type: ignore[arg-type]


def post(body: bytes = b"{}", *headers: tuple[str, str], url: str = URL) -> Delivery:
    return Delivery("POST", url, headers, body)


def with_header(delivery: Delivery, name: str, value: str) -> Delivery:
    """Return a delivery whose header has another value."""
    others = tuple(pair for pair in delivery.headers if pair[0].lower() != name.lower())
    return replace(delivery, headers=(*others, (name, value)))


def without_header(delivery: Delivery, name: str) -> Delivery:
    others = tuple(pair for pair in delivery.headers if pair[0].lower() != name.lower())
    return replace(delivery, headers=others)


def flip(data: bytes, index: int, bit: int) -> bytes:
    changed = bytearray(data)
    changed[index] ^= 1 << bit
    return bytes(changed)


STANDARD_BODY = b'{"test": 2432232314}'
STANDARD_HEADERS: Headers = (
    ("webhook-id", "msg_p5jXN8AQM9LWM0D4loKWxJek"),
    ("webhook-timestamp", "1614265330"),
)
V1 = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
V1A = (
    "v1a,hnO3f9T8Ytu9HwrXslvumlUpqtNVqkhqw/enGzPCXe5BdqzCInXqYXFymVJaA7AZdpXwVLPo3mNl"
    "8EM+m7TBAg=="
)
SVIX_HEADERS: Headers = (
    ("svix-id", "msg_p5jXN8AQM9LWM0D4loKWxJek"),
    ("svix-timestamp", "1614265330"),
    ("svix-signature", V1),
)
SLACK_BODY = (
    b"token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow"
    b"&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner"
    b"&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com"
    b"%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN"
    b"&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c"
)
FORM = ("Content-Type", "application/x-www-form-urlencoded")
TWILIO_URL = "https://mycompany.com/myapp.php?foo=1&bar=2"
TWILIO_FORM = (
    b"CallSid=CA1234567890ABCDE&Caller=%2B14158675309&Digits=1234"
    b"&From=%2B14158675309&To=%2B18005551212"
)
TWILIO_HASH = "0a1ff7634d9ab3b95db5c9a2dfe9416e41502b283a80c7cf19632632f96e6620"
HUBSPOT_SECRET = "yyyyyyyy-yyyy-yyyy-yyyy-yyyyyyyyyyyy"
HUBSPOT_BODY = b"{'example_field':'example_value'}"
HUBSPOT_URL = "https://www.example.com/webhook_uri"
SQUARE_BODY = (
    b'{"merchant_id":"MLEFBHHSJGVHD","type":"webhooks.test_notification",'
    b'"event_id":"ac3ac95b-f97d-458c-a6e6-18981597e05f",'
    b'"created_at":"2022-07-13T20:30:59.037339943Z",'
    b'"data":{"type":"webhooks","id":"bc368e64-01aa-407e-b46e-3231809b1129"}}'
)
ADYEN_KEY = "44782DEF547AAA06C910C43932B1EB0C71FC68D9D0C057550C48EC2ACF6BA056"
ADYEN_OTHER_KEY = "74F490DD33F7327BAECC88B2947C011FC02D014A473AAA33A8EC93E4DC069174"
ADYEN_ITEM = {
    "pspReference": "7914073381342284",
    "merchantReference": "TestPayment-1407325143704",
    "merchantAccountCode": "TestMerchant",
    "amount": {"currency": "EUR", "value": 1130},
    "eventCode": "AUTHORISATION",
    "success": "true",
    "additionalData": {"hmacSignature": "coqCmt/IZ4E3CzPvMY8zTjQVL5hYJUiBRg8UU+iCWo0="},
}
# Signed here, with the same key.
ADYEN_OTHER = {
    **ADYEN_ITEM,
    "eventCode": "CAPTURE",
    "additionalData": {"hmacSignature": "TTqgucJHuZCec+mztKXAJ8ha1VvXlmBXgQFcmsilfRA="},
}
ADYEN_SLASHES = {
    "amount": {"currency": "EUR", "value": 1000},
    "eventCode": "AUTHORISATION",
    "merchantAccountCode": "AntoniStroinski",
    "merchantReference": "\\\\slashes are fun",
    "pspReference": "T7FD4VM4D3RZNN82",
    "success": "true",
    "additionalData": {"hmacSignature": "nIgT81gaB5oJpn2jPXupDq68iRo2wUlBsuYjtYfwKqo="},
}
ADYEN_COLON = ADYEN_SLASHES | {
    "merchantReference": ":slashes are fun",
    "pspReference": "M8NB66SBZSGLNK82",
    "additionalData": {"hmacSignature": "2EQYm7YJpKO4EtHSPu55SQTyWf8dkW5u2nD1tJFpViA="},
}
ADYEN_FORWARD_SLASHES = ADYEN_SLASHES | {
    "merchantReference": "//slashes are fun",
    "pspReference": "X3GWNS6KJ8NKGK82",
    "additionalData": {"hmacSignature": "9Z0xdpG9Xi3zcmXv14t/BvMBut77O/Xq9D4CQXSDUi4="},
}
ADYEN_MERCHANT = b"""
        {
            "type": "merchant.created",
            "environment": "test",
            "createdAt": "01-01-2024",
            "data": {
                "capabilities": {
                    "sendToTransferInstrument": {
                        "requested": true,
                        "requestedLevel": "notApplicable"
                    }
                },
                "companyId": "YOUR_COMPANY_ID",
                "merchantId": "YOUR_MERCHANT_ACCOUNT",
                "status": "PreActive"
            }
        }
        """
SENDGRID_KEY = (
    "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE83T4O/n84iotIvIW4mdBgQ/7dAfSmpqIM8kF9mN1flpVKS3"
    "GRqe62gw+2fNNRaINXvVpiglSI8eNEc6wEA3F+g=="
)
SENDGRID_SIGNATURE = (
    "MEUCIGHQVtGj+Y3LkG9fLcxf3qfI10QysgDWmMOVmxG0u6ZUAiEAyBiXDWzM+uOe5W0JuG+luQAbPIqHh89"
    "M15TluLtEZtM="
)
SENDGRID_BODY = (
    json.dumps(
        [
            {
                "email": "hello@world.com",
                "event": "dropped",
                "reason": "Bounced Address",
                "sg_event_id": "ZHJvcC0xMDk5NDkxOS1MUnpYbF9OSFN0T0doUTRrb2ZTbV9BLTA",
                "sg_message_id": "LRzXl_NHStOGhQ4kofSm_A.filterdrecv-p3mdw1-756b745b58"
                "-kmzbl-18-5F5FC76C-9.0",
                "smtp-id": "<LRzXl_NHStOGhQ4kofSm_A@ismtpd0039p1iad1.sendgrid.net>",
                "timestamp": 1600112492,
            }
        ],
        separators=(",", ":"),
    )
    + "\r\n"
).encode()

# RFC 9421 B.1.2 and B.2. The signature of B.2.3 is the only one that covers enough.
RFC_RSA_KEY = """-----BEGIN PUBLIC KEY-----
MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAr4tmm3r20Wd/PbqvP1s2
+QEtvpuRaV8Yq40gjUR8y2Rjxa6dpG2GXHbPfvMs8ct+Lh1GH45x28Rw3Ry53mm+
oAXjyQ86OnDkZ5N8lYbggD4O3w6M6pAvLkhk95AndTrifbIFPNU8PPMO7OyrFAHq
gDsznjPFmTOtCEcN2Z1FpWgchwuYLPL+Wokqltd11nqqzi+bJ9cvSKADYdUAAN5W
Utzdpiy6LbTgSxP7ociU4Tn0g5I6aDZJ7A8Lzo0KSyZYoA485mqcO0GVAdVw9lq4
aOT9v6d+nb4bnNkQVklLQ3fVAvJm+xdDOp9LCNCN48V2pnDOkFV6+U9nV5oyc6XI
2wIDAQAB
-----END PUBLIC KEY-----"""
RFC_ED25519_KEY = """-----BEGIN PUBLIC KEY-----
MCowBQYDK2VwAyEAJrQLj5P/89iXES9+vFgrIy29clF9CC/oPPsw3c5D0bs=
-----END PUBLIC KEY-----"""
RFC_SECRET = (
    "uzvJfB4u3N0Jy4T7NZ75MDVcr8zSTInedJtkgcu46YW4XByzNJjxBdtjUkdJPBtbmHhIDi6pcl8jsasjlTMt"
    "DQ=="
)
RFC_CREATED = 1618884473
RFC_DELIVERY = post(
    b'{"hello": "world"}',
    ("Date", "Tue, 20 Apr 2021 02:07:55 GMT"),
    ("Content-Type", "application/json"),
    (
        "Content-Digest",
        (
            "sha-512=:WZDPaVn/7XgHaAy8pmojAkGWoRx2UFChF41A2svX+TaPm+AbwAgBWnrIiYllu7BNNyealdVL"
            "vRwEmTHWXvJwew==:"
        ),
    ),
    ("Content-Length", "18"),
    url="https://example.com/foo?param=Value&Pet=dog",
)


def rfc_vector(name: str, secret: str, signature_input: str, signature: str) -> Vector:
    delivery = replace(
        RFC_DELIVERY,
        headers=(
            *RFC_DELIVERY.headers,
            ("Signature-Input", f"{name}={signature_input}"),
            ("Signature", f"{name}=:{signature}:"),
        ),
    )
    return Vector(name, hook("rfc9421"), secret, delivery, RFC_CREATED)


RFC_VECTORS = (
    rfc_vector(
        "sig-b21",
        RFC_RSA_KEY,
        '();created=1618884473;keyid="test-key-rsa-pss";nonce="b3k2pp5k7z-50gnwp.yemd"',
        "d2pmTvmbncD3xQm8E9ZV2828BjQWGgiwAaw5bAkgibUopemLJcWDy/lkbbHAve4cRAtx31Iq786U7it+"
        "+wgGxbtRxf8Udx7zFZsckzXaJMkA7ChG52eSkFxykJeNqsrWH5S+oxNFlD4dzVuwe8DhTSja8xxbR/Z2"
        "cOGdCbzR72rgFWhzx2VjBqJzsPLMIQKhO4DGezXehhWwE56YCE+O6c0mKZsfxVrogUvA4HELjVKWmAvt"
        "l6UnCh8jYzuVG5WSb/QEVPnP5TmcAnLH1g+s++v6d4s8m0gCw1fV5/SITLq9mhho8K3+7EPYTU8IU1bL"
        "hdxO5Nyt8C8ssinQ98Xw9Q==",
    ),
    rfc_vector(
        "sig-b22",
        RFC_RSA_KEY,
        '("@authority" "content-digest");created=1618884473;keyid="test-key-rsa-pss"',
        "Fee1uy9YGZq5UUwwYU6vz4dZNvfw3GYrFl1L6YlVIyUMuWswWDNSvql4dVtSeidYjYZUm7SBCENIb5KY"
        "y2ByoC3bI+7gydd2i4OAT5lyDtmeapnAa8uP/b9xUpg+VSPElbBs6JWBIQsd+nMdHDe+ls/IwVMwXktC"
        "37SqsnbNyhNp6kcvcWpevjzFcD2VqdZleUz4jN7P+W5A3wHiMGfIjIWn36KXNB+RKyrlGnIS8yaBBrom"
        "5rcZWLrLbtg6VlrH1+/07RV+kgTh/l10h8qgpl9zQHu7mWbDKTq0tJ8K4ywcPoC4s2I4rU88jzDKDGdT"
        "TQFZoTVZxZmuTM1FvHfzIw==",
    ),
    rfc_vector(
        "sig-b25",
        RFC_SECRET,
        '("date" "@authority" "content-type");created=1618884473;'
        'keyid="test-shared-secret"',
        "pxcQw6G3AjtMBQjwo8XzkZf/bws5LelbaMk5rGIGtE8=",
    ),
    rfc_vector(
        "sig-b26",
        RFC_ED25519_KEY,
        '("date" "@method" "@path" "@authority" "content-type" "content-length");'
        'created=1618884473;keyid="test-key-ed25519"',
        "wqcAqbmYJ2ji2glfAMaRy4gruYYnx2nEFN2HN6jrnDnQCK1u02Gb04v9EDgwUPiu4A0w6vuQv5lIp5WP"
        "pBKRCw==",
    ),
)
RFC_COMPLETE = rfc_vector(
    "sig-b23",
    RFC_RSA_KEY,
    '("date" "@method" "@path" "@query" "@authority" "content-type" "content-digest"'
    ' "content-length");created=1618884473;keyid="test-key-rsa-pss"',
    "bbN8oArOxYoyylQQUU6QYwrTuaxLwjAC9fbY2F6SVWvh0yBiMIRGOnMYwZ/5MR6fb0Kh1rIRASVxFkeGt683"
    "+qRpRRU5p2voTp768ZrCUb38K0fUxN0O0iC59DzYx8DFll5GmydPxSmme9v6ULbMFkl+V5B1TP/yPViV7KsL"
    "NmvKiLJH1pFkh/aYA2HXXZzNBXmIkoQoLd7YfW91kE9o/CCoC1xMy7JA1ipwvKvfrs65ldmlu9bpG6A9Bmzh"
    "uzF8Eim5f8ui9eH8LZH896+QIF61ka39VBrohr9iyMUJpvRX2Zbhl5ZJzSRxpJyoEZAFL2FUo5fTIztsDZKE"
    "gM4cUA==",
)


def adyen_body(*items: Mapping[str, object]) -> bytes:
    rows = [{"NotificationRequestItem": item} for item in items]
    return json.dumps({"live": "false", "notificationItems": rows}).encode()


# HighLevel publishes its key, but no signature: this one is of another key.
HIGHLEVEL_PUBLISHED = (
    "-----BEGIN PUBLIC KEY-----\n"
    "MCowBQYDK2VwAyEAi2HR1srL4o18O8BRa7gVJY7G7bupbN3H9AwJrHCDiOg=\n"
    "-----END PUBLIC KEY-----"
)
HIGHLEVEL_KEY = (
    "-----BEGIN PUBLIC KEY-----\n"
    "MCowBQYDK2VwAyEAA6EHv/POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg=\n"
    "-----END PUBLIC KEY-----"
)
HIGHLEVEL_BODY = (
    b'{"type":"ContactCreate","webhookId":"w1","timestamp":"2026-11-17T09:00:00.000Z"}'
)
HIGHLEVEL_SIGNATURE = (
    "4foqQlGLylHTclOA+s7b2KbmjQumZq7pL095T3/VTB5f7siuca+ROHtaxL7Ewkv3QmbCLiTgaKujkVca"
    "S3zZBQ=="
)
VECTORS = (
    Vector(
        "highlevel_v2",
        hook("highlevel_v2"),
        HIGHLEVEL_KEY,
        post(HIGHLEVEL_BODY, ("X-GHL-Signature", HIGHLEVEL_SIGNATURE)),
    ),
    Vector(
        "standard",
        hook("standard"),
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        post(STANDARD_BODY, *STANDARD_HEADERS, ("webhook-signature", V1)),
        1614265330,
    ),
    Vector(
        "standard, second",
        hook("standard"),
        "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD",
        post(
            b'{"email":"test@example.com","username":"test_user"}',
            ("webhook-id", "msg_27UH4WbU6Z5A5EzD8u03UvzRbpk"),
            ("webhook-timestamp", "1649367553"),
            ("webhook-signature", "v1,tZ1I4/hDygAJgO5TYxiSd6Sd0kDW6hPenDe+bTa3Kkw="),
        ),
        1649367553,
    ),
    Vector(
        "standard, public key",
        hook("standard"),
        "whpk_1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4=",
        post(STANDARD_BODY, *STANDARD_HEADERS, ("webhook-signature", V1A)),
        1614265330,
    ),
    Vector(
        "svix",
        hook("svix"),
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        post(STANDARD_BODY, *SVIX_HEADERS),
        1614265330,
    ),
    Vector(
        "github",
        hook("github"),
        "It's a Secret to Everybody",
        post(
            b"Hello, World!",
            (
                "X-Hub-Signature-256",
                "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17",
            ),
        ),
    ),
    Vector(
        "jira",
        hook("jira"),
        "It's a Secret to Everybody",
        post(
            b"Hello World!",
            (
                "X-Hub-Signature",
                "sha256=a4771c39fbe90f317c7824e83ddef3caae9cb3d976c214ace1f2937e133263c9",
            ),
        ),
    ),
    Vector(
        "slack",
        hook("slack"),
        "8f742231b10e8888abcd99yyyzzz85a5",
        post(
            SLACK_BODY,
            ("X-Slack-Request-Timestamp", "1531420618"),
            (
                "X-Slack-Signature",
                "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503",
            ),
        ),
        1531420618,
    ),
    Vector(
        "twilio",
        hook("twilio"),
        "12345",
        post(
            TWILIO_FORM,
            FORM,
            ("X-Twilio-Signature", "RSOYDt4T1cUTdK1PDd93/VVr8B8="),
            url=TWILIO_URL,
        ),
    ),
    Vector(
        "twilio, repeated names",
        hook("twilio"),
        "12345",
        post(
            b"Sid=CA123&SidAccount=AC123&Digits=5678&Digits=1234",
            FORM,
            ("X-Twilio-Signature", "IK+Dwps556ElfBT0I3Rgjkr1wJU="),
            url=TWILIO_URL,
        ),
    ),
    Vector(
        "twilio, JSON",
        hook("twilio"),
        "12345",
        post(
            b'{"property": "value", "boolean": true}',
            ("X-Twilio-Signature", "a9nBmqA0ju/hNViExpshrM61xv4="),
            url=f"{TWILIO_URL}&bodySHA256={TWILIO_HASH}",
        ),
    ),
    Vector(
        "twilio, port removed",
        hook("twilio"),
        "12345",
        post(
            TWILIO_FORM,
            FORM,
            ("X-Twilio-Signature", "RSOYDt4T1cUTdK1PDd93/VVr8B8="),
            url=TWILIO_URL.replace(".com", ".com:1234"),
        ),
    ),
    Vector(
        "twilio, port added",
        hook("twilio"),
        "12345",
        post(
            TWILIO_FORM,
            FORM,
            ("X-Twilio-Signature", "kvajT1Ptam85bY51eRf/AJRuM3w="),
            url=TWILIO_URL,
        ),
    ),
    Vector(
        "hubspot",
        hook("hubspot"),
        HUBSPOT_SECRET,
        post(
            HUBSPOT_BODY,
            ("X-HubSpot-Request-Timestamp", "1693657560000"),
            ("X-HubSpot-Signature-v3", "K36dawei4A+QBNolUOqo7s91KQDWQ5MXZ/QufNYuk/Y="),
            url=HUBSPOT_URL,
        ),
        1693657560,
    ),
    Vector(
        "hubspot, version 1",
        hook("hubspot_v1"),
        HUBSPOT_SECRET,
        post(
            HUBSPOT_BODY,
            (
                "X-HubSpot-Signature",
                "69fc6631a867edd4f9e9e627fc5c1148e3fbdd8b21837b6d2b8901c1fa57f750",
            ),
        ),
    ),
    Vector(
        "hubspot, version 2",
        hook("hubspot_v2"),
        HUBSPOT_SECRET,
        post(
            HUBSPOT_BODY,
            (
                "X-HubSpot-Signature",
                "4fe4e3a7d3cf09db53be39d0a58130e2aaba074ec123a9e355b876a689a1c383",
            ),
            url=HUBSPOT_URL,
        ),
    ),
    Vector(
        "square",
        hook("square"),
        "Ibxx_5AKakO-3qeNVR61Dw",
        post(
            SQUARE_BODY,
            (
                "x-square-hmacsha256-signature",
                "GF4YkrJgGBDZ9NIYbNXBnMzqb2HoL4RW/S6vkZ9/2N4=",
            ),
            url="https://webhook.site/679a4f3a-dcfa-49ee-bac5-9d0edad886b9",
        ),
    ),
    Vector(
        "square, escaped",
        hook("square"),
        "signature-key",
        post(
            b'{"data":{"type":"webhooks","id":">id<"}}',
            (
                "x-square-hmacsha256-signature",
                "Cxt7+aTi4rKgcA0bC4g9EHdVtLSDWdqccmL5MvihU4U=",
            ),
            url="https://webhook.site/webhooks",
        ),
    ),
    Vector(
        "adyen, body",
        hook("adyen_body"),
        ADYEN_KEY,
        post(
            ADYEN_MERCHANT,
            ("HmacSignature", "fX74xUdztFmaXAn3IusMFFUBUSkLmDQUK0tm8xL6ZTU="),
        ),
    ),
    Vector(
        "sendgrid",
        hook("sendgrid"),
        SENDGRID_KEY,
        post(
            SENDGRID_BODY,
            ("X-Twilio-Email-Event-Webhook-Timestamp", "1600112502"),
            (
                "X-Twilio-Email-Event-Webhook-Signature",
                SENDGRID_SIGNATURE,
            ),
        ),
        1600112502,
    ),
)
ADYEN_VECTORS = (
    Vector("adyen", hook("adyen"), ADYEN_KEY, post(adyen_body(ADYEN_ITEM))),
    Vector(
        "adyen, backslashes",
        hook("adyen"),
        ADYEN_OTHER_KEY,
        post(adyen_body(ADYEN_SLASHES)),
    ),
    Vector(
        "adyen, colon", hook("adyen"), ADYEN_OTHER_KEY, post(adyen_body(ADYEN_COLON))
    ),
    Vector(
        "adyen, slashes",
        hook("adyen"),
        ADYEN_OTHER_KEY,
        post(adyen_body(ADYEN_FORWARD_SLASHES)),
    ),
)
