"""The sections of webhooks in a document."""

import tomllib

import pytest

from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.toml.text import render_table
from outkey.webhooks.core.schemes.scheme import HmacHash, SignatureEncoding
from outkey.webhooks.core.settings.section import (
    WEBHOOK_FIELDS,
    read_webhook,
    webhook_errors,
    webhook_table,
)
from outkey.webhooks.core.settings.settings import Webhook

TOPIC = "arn:aws:sns:eu-central-1:123456789012:orders"
SHOP = """
configuration = "shop"
scheme = "shopify"
secret = "env:SHOP_HOOK_SECRET"
previous_secret = "env:SHOP_HOOK_OLD"
line = "orders"
records = "@"
tolerance_seconds = 300
"""
CUSTOM = """
scheme = "hmac"
secret = "file:/run/secrets/hook"
handler = "shop.hooks.order"
signature_header = "X-Signature"
signature_prefix = "sha512="
algorithm = "sha512"
encoding = "base64"
signed = "{timestamp}.{id}.{body}"
timestamp_header = "X-Timestamp"
id_header = "X-Id"
id = "event.id"
"""
OTHERS = (
    'scheme = "token"\nline = "a"\ntoken_header = "X-Token"',
    'scheme = "basic"\nline = "a"\nusername = "bob"',
    'scheme = "meta"\nrun = "a"\nverify_token = "env:VERIFY"',
    'scheme = "unverified"\nline = "a"\nreason = "test network"',
    f'scheme = "sns"\nline = "a"\ntopic = "{TOPIC}"',
    'scheme = "paypal"\nline = "a"\nwebhook_id = "1JE4"',
    'scheme = "mollie_classic"\nline = "a"\nconfiguration = "a"\nconfirm = "/a/{id}"',
    'scheme = "github"\nline = "a"\nprevious_secret = ""',
    'scheme = "docker_registry"\nline = "a"\ntoken_header = "X-Token"',
)


def read(text: str) -> Webhook:
    return read_webhook("shop", tomllib.loads(text), "webhook.shop.")


def test_a_webhook_is_read() -> None:
    assert read(SHOP) == Webhook(
        "shop",
        "shopify",
        configuration="shop",
        secret="env:SHOP_HOOK_SECRET",
        previous_secret="env:SHOP_HOOK_OLD",
        line="orders",
        tolerance_seconds=300,
    )
    custom = read(CUSTOM)
    assert custom.algorithm is HmacHash.SHA512
    assert custom.encoding is SignatureEncoding.BASE64


@pytest.mark.parametrize("text", [SHOP, CUSTOM, *OTHERS])
def test_a_webhook_is_written_as_it_was_read(text: str) -> None:
    webhook = read(text)
    table = webhook_table(webhook)
    assert read_webhook("shop", table, "") == webhook
    written = tomllib.loads(render_table("webhook.shop", table))
    assert read_webhook("shop", written["webhook"]["shop"], "") == webhook
    assert list(webhook_errors(webhook)) == []


@pytest.mark.parametrize(
    ("text", "field", "reason"),
    [
        ('line = "a"', "scheme", "must not be empty"),
        ('scheme = "shopfy"\nline = "a"', "scheme", "unknown scheme"),
        ('scheme = "qqqqqqqq"\nline = "a"', "scheme", "unknown scheme"),
        ('scheme = "github"', "line", "one of line, run and handler"),
        ('scheme = "github"\nline = "a"\nrun = "b"', "run", "one of line, run"),
        ('scheme = "github"\nhandler = "order"', "handler", "module and a function"),
        ('scheme = "github"\nhandler = "a.b()"', "handler", "module and a function"),
        ('scheme = "github"\nline = "a"\nsecret = "hunter2"', "secret", "a reference"),
        (
            'scheme = "github"\nline = "a"\nprevious_secret = "hunter2"',
            "previous_secret",
            "a reference",
        ),
        (
            'scheme = "github"\nline = "a"\ntolerance_seconds = 0',
            "tolerance_seconds",
            "whole number",
        ),
        (
            'scheme = "github"\nline = "a"\nsignature_header = "X-A"',
            "signature_header",
            "does not use this",
        ),
        (
            'scheme = "github"\nline = "a"\nverify_token = "env:A"',
            "verify_token",
            "does not use this",
        ),
        (
            'scheme = "unverified"\nline = "a"\nreason = "x"\nsecret = "env:A"',
            "secret",
            "does not use this",
        ),
        (
            'scheme = "gitlab_token"\nline = "a"\ntoken_header = "X-A"',
            "token_header",
            "does not use this",
        ),
        ('scheme = "token"\nline = "a"\nusername = "b"', "username", "does not use"),
        ('scheme = "unverified"\nline = "a"', "reason", "needs this"),
        ('scheme = "basic"\nline = "a"', "username", "needs this"),
        ('scheme = "chargebee"\nline = "a"', "username", "needs this"),
        ('scheme = "basic"\nline = "a"\nusername = "a:b"', "username", "colon"),
        ('scheme = "paypal"\nline = "a"', "webhook_id", "needs this"),
        ('scheme = "mollie_classic"\nline = "a"', "configuration", "needs this"),
        ('scheme = "sns"\nline = "a"', "topic", "not the ARN"),
        ('scheme = "sns"\nline = "a"\ntopic = "orders"', "topic", "not the ARN"),
        ('scheme = "hmac"\nline = "a"', "signature_header", "needs this"),
        (
            'scheme = "hmac"\nline = "a"\nsignature_header = "X A"',
            "signature_header",
            "name of a header",
        ),
        *(
            (
                (
                    'scheme = "hmac"\nline = "a"\nsignature_header = "X"\n'
                    f'id_header = "I"\nsigned = "{signed}"'
                ),
                "signed",
                "may occur once only",
            )
            for signed in ("{body}" * 300, "{body}.{body}", "{id}{id}{body}")
        ),
        (
            'scheme = "hmac"\nline = "a"\nsignature_header = "X"\nsigned = "{id}"',
            "signed",
            "must have {body}",
        ),
        (
            (
                'scheme = "hmac"\nline = "a"\nsignature_header = "X"\n'
                'signed = "{secret}{body}"'
            ),
            "signed",
            "no other places",
        ),
        (
            (
                'scheme = "hmac"\nline = "a"\nsignature_header = "X"\n'
                'signed = "{timestamp}{body}"'
            ),
            "timestamp_header",
            "{timestamp} needs timestamp_header",
        ),
        (
            (
                'scheme = "hmac"\nline = "a"\nsignature_header = "X"\n'
                'signed = "{id}{body}"'
            ),
            "id_header",
            "{id} needs id_header",
        ),
        (
            (
                'scheme = "hmac"\nline = "a"\nsignature_header = "X"\n'
                'timestamp_header = "T"'
            ),
            "timestamp_header",
            "protects from nothing",
        ),
        (
            'scheme = "hmac"\nline = "a"\nsignature_header = "X"\nalgorithm = "md5"',
            "algorithm",
            "one of: sha256, sha512, sha1",
        ),
        ('scheme = "github"\nlines = "a"', "lines", "unknown key"),
    ],
)
def test_what_is_wrong_with_a_webhook_is_named(
    text: str, field: str, reason: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        read(text)
    assert reason in str(caught.value)
    assert caught.value.field == f"webhook.shop.{field}"
    assert "hunter2" not in f"{caught.value} {caught.value.hint}"


def test_a_misspelled_scheme_has_a_suggestion() -> None:
    with pytest.raises(ConfigError) as caught:
        read('scheme = "shopfy"\nline = "a"')
    assert "shopify" in caught.value.hint


def test_all_mistakes_are_found_at_once() -> None:
    webhook = Webhook("shop", "hmac", secret="hunter2", signed="x", id_header="a b")
    fields = [error.field for error in webhook_errors(webhook)]
    assert fields == ["secret", "id_header", "line", "signature_header", "signed"]
    unknown = list(webhook_errors(Webhook("shop", "nobody")))
    assert [error.field for error in unknown] == ["scheme"]


def test_every_setting_has_a_field() -> None:
    keys = {field.key for field in WEBHOOK_FIELDS}
    assert keys == set(Webhook.__dataclass_fields__) - {"name"}
