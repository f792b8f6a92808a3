"""Which servers a signed sample may be sent to."""

from base64 import b64encode

import pytest

from outkey.foundation.core.errors import ConfigError
from outkey.webhooks.core.schemes.schemes import SCHEMES
from outkey.webhooks.core.settings.settings import Webhook
from outkey.webhooks.core.verification.sample_receivers import refuse_receiver
from unit.webhooks.core.verification.test_webhook_signing import (
    ONLY_BY_SENDER,
    WITHOUT_SECRET,
    key_pair,
    signed_sample,
)

LISTENER = "http://192.0.2.5:8765"
PUBLIC_URL = "https://outkey.example/"


def refused_for(scheme: str, url: str) -> str:
    """Return why a server must not get a sample; "" if it may."""
    try:
        refuse_receiver(
            Webhook("shop", scheme), url, listeners=[LISTENER], public_url=PUBLIC_URL
        )
    except ConfigError as refused:
        assert refused.field == "--url"
        assert refused.hint
        return str(refused)
    return ""


@pytest.mark.parametrize(
    "scheme", ["token", "basic", "graph", "gitlab_token", "chargebee"]
)
@pytest.mark.parametrize(
    "url",
    ["https://other.example", "https://outkey.example:8443", "http://127.0.0.1:8766"],
)
def test_a_sample_that_contains_the_secret_is_not_sent_to_another_server(
    scheme: str, url: str
) -> None:
    assert "contains the secret" in refused_for(scheme, url)


@pytest.mark.parametrize("name", sorted(set(SCHEMES) - ONLY_BY_SENDER - WITHOUT_SECRET))
def test_exactly_the_samples_that_contain_the_secret_are_refused(name: str) -> None:
    secret, _ = key_pair(name)
    sample = signed_sample(name, secret)
    text = f"{sample.url} {sample.headers} {sample.body!r}"
    basic = b64encode(f"bob:{secret}".encode()).decode()
    has_secret = secret in text or basic in text
    assert bool(refused_for(name, "https://other.example")) == has_secret


@pytest.mark.parametrize("scheme", ["token", "basic", "graph", "shopify", "unknown"])
@pytest.mark.parametrize(
    "url",
    [LISTENER, f"{LISTENER}/", "https://outkey.example", "https://OUTKEY.example:443"],
)
def test_every_sample_is_sent_to_the_server_of_the_installation(
    scheme: str, url: str
) -> None:
    assert not refused_for(scheme, url)


@pytest.mark.parametrize(
    "url",
    [
        "https://other.example",
        "http://127.0.0.1:1",
        "http://[::1]:1",
        "http://localhost",
    ],
)
def test_a_signed_sample_is_sent_to_another_server_too(url: str) -> None:
    assert not refused_for("shopify", url)


@pytest.mark.parametrize(
    "url", ["http://other.example", "http://192.0.2.5:8766", "http://a.localhost"]
)
@pytest.mark.parametrize("scheme", ["token", "shopify"])
def test_a_sample_leaves_this_machine_by_https_only(scheme: str, url: str) -> None:
    assert "https only" in refused_for(scheme, url)


@pytest.mark.parametrize(
    "url",
    ["ftp://x", "https://", "x", "https://x:port", "https://[::1", "http://x:99999"],
)
def test_what_is_not_the_url_of_a_server_is_refused(url: str) -> None:
    assert "not the URL of a server" in refused_for("shopify", url)
