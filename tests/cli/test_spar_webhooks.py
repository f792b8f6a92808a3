"""The sparring provider sends webhooks with every mistake to a real server."""

import time
from collections.abc import Iterator

import pytest

from cli.conftest import Terminal
from cli.test_own_pages import serving
from cli.test_webhook_commands import DOCUMENT, Sender, totals, wait_for_inbox
from outkey.hosts.sample_mistakes import (
    MISTAKES,
    SCHEMES,
    SECRET,
    is_on_this_machine,
)
from outkey.spar import Spar

# What the server responds, and the reason that is counted; "" if none is.
EXPECTED = {
    "none": ([200], ""),
    "wrong-secret": ([401], "wrong_signature"),
    "old-timestamp": ([401], "too_old"),
    "future-timestamp": ([401], "too_far_ahead"),
    "reencoded-body": ([401], "body_changed"),
    "changed-body": ([401], "wrong_signature"),
    "duplicate": ([200, 200], ""),
    "out-of-order": ([200, 200], ""),
    "replay": ([200, 401], "wrong_signature"),
    "wrong-scheme": ([401], "other_scheme"),
    "missing-header": ([401], "signature_missing"),
    # A server joins both to a list of signatures, one of which is right.
    "repeated-header": ([200], ""),
    "oversized": ([413], ""),
    "not-json": ([200], ""),
    "deep-json": ([200], ""),
    "nan": ([200], ""),
    "long-number": ([200], ""),
    "duplicate-keys": ([200], ""),
    "wrong-method": ([405], ""),
}
# What becomes of the stored deliveries, the oldest first.
STATES = {
    "none": [("processed", "")],
    "duplicate": [("processed", "")],
    "out-of-order": [("processed", ""), ("ignored", "out_of_order")],
    "replay": [("processed", "")],
    "repeated-header": [("processed", "")],
    "not-json": [("failed", "not_json")],
    "deep-json": [("failed", "not_json")],
    "nan": [("failed", "not_json")],
    "long-number": [("failed", "not_json")],
    "duplicate-keys": [("failed", "not_json")],
}


# An unsigned sender: what it names is fetched from the API.
CONFIRMED = """
[configuration.api]
base_url = "{url}"
network = "internal"
authentication_type = "bearer"
[line.payments]
configuration = "api"
path = "/echo"
direction = "pull"
target = "table:payments"
keys = ["path"]
fields = [{{ api = "path", host = "path" }}]
[webhook.shop]
scheme = "mollie_classic"
configuration = "api"
line = "payments"
confirm = "/{scene}/{{id}}"
"""


@pytest.fixture
def shop(outkey: Terminal) -> Terminal:
    document = DOCUMENT.replace('"shopify"', '"standard"')
    assert outkey("apply", "-", stdin=document).code == 0
    assert outkey("webhook", "secret", "shop", stdin=SECRET).code == 0
    return outkey


@pytest.fixture
def url(shop: Terminal) -> Iterator[str]:
    with serving(shop, "127.0.0.1") as port:
        path = shop("webhook", "show", "shop", "--json").json["endpoint"]
        yield f"http://127.0.0.1:{port}{path}"


def test_every_mistake_is_answered_and_explained(shop: Terminal, url: str) -> None:
    assert EXPECTED.keys() == MISTAKES.keys()
    counts: dict[str, int] = {}
    states: list[tuple[str, str]] = []
    for mistake, (statuses, reason) in EXPECTED.items():
        sent = shop(
            "spar",
            "webhook",
            url,
            "--mistake",
            mistake,
            "--event-id",
            f"spar-{mistake}",
            "--json",
            stdin=SECRET,
        )
        assert sent.json["statuses"] == statuses, mistake
        if reason:
            counts[reason] = counts.get(reason, 0) + 1
        assert refused_soon(shop, counts) == counts, mistake
        states += STATES.get(mistake, [])
    rows = wait_for_inbox(shop, *(state for state, _ in states))
    assert [(row["state"], row["reason"]) for row in rows] == states
    assert totals(shop)["spar-out-of-order"] == "2"
    texts = shop("webhook", "show", "shop").out
    assert "whole number of hours (8)" in texts


def refused_soon(shop: Terminal, expected: dict[str, int]) -> dict[str, int]:
    """Return what was refused, by reason, when it is counted: a moment later."""
    for _ in range(100):
        refused: dict[str, int] = shop("webhook", "show", "shop", "--json").json[
            "refused"
        ]
        if refused == expected:
            break
        time.sleep(0.05)
    return refused


@pytest.mark.parametrize("scheme", sorted(SCHEMES))
def test_what_the_provider_signs_is_accepted(outkey: Terminal, scheme: str) -> None:
    document = DOCUMENT.replace('"shopify"', f'"{scheme}"')
    assert outkey("apply", "-", stdin=document).code == 0
    assert outkey("webhook", "secret", "shop", stdin="spar-secret-1").code == 0
    if scheme == "standard":
        assert outkey("webhook", "secret", "shop", stdin=SECRET).code == 0
    secret = SECRET if scheme == "standard" else "spar-secret-1"
    with serving(outkey, "127.0.0.1") as port:
        path = outkey("webhook", "show", "shop", "--json").json["endpoint"]
        url = f"http://127.0.0.1:{port}{path}"
        command = ("spar", "webhook", url, "--scheme", scheme, "--json", "--mistake")
        assert outkey(*command, "none", stdin=secret).json["statuses"] == [200]
        assert outkey(*command, "wrong-secret", stdin=secret).json["statuses"] == [401]


def test_what_a_delivery_names_is_fetched_with_the_credentials(
    outkey: Terminal,
) -> None:
    with serving(outkey, "127.0.0.1") as port, Spar() as spar:
        document = CONFIRMED.format(url=spar.url, scene="echo")
        applied = outkey("apply", "-", stdin=document)
        assert applied.code == 0, applied.err
        assert outkey("secret", "set", "api", "token", stdin="spar-token").code == 0
        path = outkey("webhook", "show", "shop", "--json").json["endpoint"]
        sender = Sender(port, path)
        for name in (b"tr_1", b".."):
            assert sender.request("POST", b"id=" + name)[0] == 200
        assert sender.request("POST", b"id=../users")[0] == 401
        rows = wait_for_inbox(outkey, "processed", "failed")
        assert [row["reason"] for row in rows] == ["", "unsafe_id"]
        shown = outkey("data", "show", "payments", "--json").json["records"]
        assert [record["path"] for record in shown] == ["/echo/tr_1"]
        (arrival,) = spar.journal
        assert (arrival.method, arrival.path) == ("GET", "/echo/tr_1")
        assert arrival.values("Authorization") == ["Bearer spar-token"]
        missing = CONFIRMED.format(url=spar.url, scene="no-such-scene")
        assert outkey("apply", "-", stdin=missing).code == 0
        assert sender.request("POST", b"id=tr_2")[0] == 200
        rows = wait_for_inbox(outkey, "processed", "failed", "ignored")
        assert rows[-1]["reason"] == "not_found"


def test_nothing_is_sent_to_another_machine(outkey: Terminal) -> None:
    for url in ("http://example.com:80/", "https://127.0.0.1:1/", "http://[x", "x", ""):
        assert not is_on_this_machine(url)
        assert outkey("spar", "webhook", url, stdin="x").code == 2
    assert is_on_this_machine("http://[::1]:8000/hooks/x")


def test_the_mistakes_are_listed(outkey: Terminal) -> None:
    listed = outkey("spar", "webhook", "--list", "--json").json
    assert all(listed["mistakes"].values())
    assert listed["schemes"] == list(SCHEMES)
    assert "reencoded-body" in outkey("spar", "webhook", "--list").out
    url = "http://127.0.0.1:9/hooks/x"
    for option in ("--scheme", "--mistake"):
        assert outkey("spar", "webhook", url, option, "unknown", stdin="x").code == 2
    assert outkey("spar", "webhook", url, stdin="x").code == 2  # not Base64
    unanswered = outkey("spar", "webhook", url, stdin=SECRET)
    assert (unanswered.code, unanswered.out) == (1, "none: no response\n")
