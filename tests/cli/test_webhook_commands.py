"""Webhooks with a real server: what senders get, and what the commands show."""

import hashlib
import hmac
import http.client
import json
import socket
import time
from base64 import b64encode
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from cli.conftest import Terminal
from cli.test_own_pages import serving

KEY = "hook-secret-7f3a"
DOCUMENT = """
[configuration.shop]
base_url = "https://api.shop.example"
no_auth_reason = "public_api"
authentication_type = "none"
[line.orders]
configuration = "shop"
path = "/orders"
direction = "pull"
target = "table:orders"
keys = ["id"]
incremental = { parameter = "since", field = "at" }
fields = [
  { api = "id", host = "id" },
  { api = "total", host = "total" },
  { api = "at", host = "at" },
]
[webhook.shop]
scheme = "shopify"
line = "orders"
"""
PATIENCE = 60
DUPLICATES = 100


@dataclass
class Sender:
    """Posts to the endpoint of a webhook."""

    port: int
    path: str

    def post(
        self, body: bytes, event: str = "e1", key: str = KEY
    ) -> tuple[int, bytes, dict[str, str]]:
        code = hmac.digest(key.encode(), body, hashlib.sha256)
        headers = {
            "X-Shopify-Hmac-SHA256": b64encode(code).decode(),
            "X-Shopify-Event-Id": event,
            "X-Shopify-Webhook-Id": event,
            "X-Shopify-Topic": "orders/create",
            "Content-Type": "application/json",
        }
        return self.request("POST", body, headers)

    def request(
        self, method: str, body: bytes = b"", headers: dict[str, str] | None = None
    ) -> tuple[int, bytes, dict[str, str]]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request(method, self.path, body=body, headers=headers or {})
            response = connection.getresponse()
            return response.status, response.read(), dict(response.getheaders())
        finally:
            connection.close()


@pytest.fixture
def shop(outkey: Terminal) -> Terminal:
    """A terminal whose home has a webhook with its secret."""
    assert outkey("apply", "-", stdin=DOCUMENT).code == 0
    assert outkey("webhook", "secret", "shop", stdin=KEY).code == 0
    return outkey


@pytest.fixture
def sender(shop: Terminal) -> Iterator[Sender]:
    with serving(shop, "127.0.0.1") as port:
        path = shop("webhook", "show", "shop", "--json").json["endpoint"]
        yield Sender(port, path)


def order(number: int | str, total: str = "1", at: str = "2026-01-01") -> bytes:
    return json.dumps({"id": number, "total": total, "at": at}).encode()


def wait_for_inbox(shop: Terminal, *states: str) -> list[dict[str, Any]]:
    """Wait until the deliveries have these states, oldest first."""
    deadline = time.monotonic() + PATIENCE
    while True:
        rows = shop("webhook", "inbox", "shop", "--json").json[::-1]
        if [row["state"] for row in rows] == list(states):
            return rows
        if time.monotonic() > deadline:
            pytest.fail(f"the inbox has {rows}")
        time.sleep(0.5)


def wait_for_refusals(shop: Terminal, counts: dict[str, int]) -> dict[str, Any]:
    """Wait until refusals are counted, which is a moment after the response."""
    deadline = time.monotonic() + PATIENCE
    while True:
        shown: dict[str, Any] = shop("webhook", "show", "shop", "--json").json
        if shown["refused"] == counts:
            return shown
        if time.monotonic() > deadline:
            pytest.fail(f"the refusals are {shown['refused']}")
        time.sleep(0.1)


def totals(shop: Terminal) -> dict[object, object]:
    """Return the total of each stored order."""
    shown = shop("data", "show", "orders", "--json")
    assert shown.code == 0, shown.err
    records = shown.json["records"]
    totals = {record["id"]: record["total"] for record in records}
    assert len(totals) == len(records)
    return totals


def test_a_delivery_is_received_once_and_becomes_a_record(
    shop: Terminal, sender: Sender
) -> None:
    with ThreadPoolExecutor(32) as pool:
        responses = list(pool.map(lambda _: sender.post(order(1)), range(DUPLICATES)))
    assert {status for status, _, _ in responses} == {200}
    (row,) = wait_for_inbox(shop, "processed")
    assert row["event_id"] == "e1"
    assert row["type"] == "orders/create"
    assert (row["records"], row["attempts"]) == (1, 1)
    assert totals(shop) == {1: "1"}


def test_an_old_number_does_not_overwrite_a_record_whose_key_became_text(
    shop: Terminal, sender: Sender
) -> None:
    sender.post(order(1, "new", "2026-02-01"), "e1")
    wait_for_inbox(shop, "processed")
    sender.post(order("A-7", "text"), "e2")
    wait_for_inbox(shop, "processed", "processed")
    sender.post(order(1, "old", "2026-01-01"), "e3")
    rows = wait_for_inbox(shop, "processed", "processed", "ignored")
    assert rows[-1]["reason"] == "out_of_order"
    assert totals(shop) == {"1": "new", "A-7": "text"}


def test_deliveries_out_of_order_and_of_other_kinds(
    shop: Terminal, sender: Sender
) -> None:
    assert sender.post(order(1, "2", "2026-02-02"), "e1")[0] == 200
    assert sender.post(order(1, "1", "2026-01-01"), "e2")[0] == 200
    assert sender.post(b"not json", "e3")[0] == 200
    assert sender.post(b'[{"id": null}]', "e4")[0] == 200
    rows = wait_for_inbox(shop, "processed", "ignored", "failed", "failed")
    assert [row["reason"] for row in rows] == [
        "",
        "out_of_order",
        "not_json",
        "all_refused",
    ]
    assert totals(shop) == {1: "2"}  # the older version has not replaced the newer one
    failed = shop("webhook", "inbox", "shop", "--state", "failed", "--json").json
    assert len(failed) == 2
    replayed = shop("webhook", "replay", "shop", failed[0]["id"], "--json")
    assert replayed.json["deliveries"] == [failed[0]["id"]]
    wait_for_inbox(shop, "processed", "ignored", "failed", "failed")
    asked = shop("webhook", "replay", "shop", "--state", "failed")
    assert asked.code == 2
    assert "--yes" in asked.err
    some = shop("webhook", "replay", "shop", "--state", "failed", "--yes", "--json")
    assert some.json == {"done": "replayed", "webhook": "shop", "count": 2}
    wait_for_inbox(shop, "processed", "ignored", "failed", "failed")
    period = ("--from", "2020-01-01", "--to", "2099-01-01T00:00+02:00")
    everything = shop("webhook", "replay", "shop", *period, "--yes")
    assert everything.out == "replayed: shop 4 deliveries; a worker processes them\n"
    rows = wait_for_inbox(shop, "processed", "ignored", "failed", "failed")
    assert totals(shop) == {1: "2"}
    nothing = shop("webhook", "replay", "shop", "--to", "2020-01-01", "--json")
    assert nothing.json["count"] == 0


def test_what_senders_are_told(shop: Terminal, sender: Sender) -> None:
    status, body, headers = sender.post(order(1), key="wrong")
    assert (status, body) == (401, b"")
    assert "Set-Cookie" not in headers
    assert sender.request("POST", order(1))[:2] == (401, b"")
    assert sender.request("GET")[0] == 405
    assert sender.post(b"x" * (1024 * 1024 + 1))[0] == 413
    unknown = Sender(sender.port, "/hooks/" + "x" * 22)
    assert unknown.post(order(1))[:2] == (404, b"")
    shown = wait_for_refusals(shop, {"wrong_signature": 1, "signature_missing": 1})
    assert [fact["reason"] for fact in shown["refusals"]] == list(shown["refused"])
    for _ in range(4):
        sender.post(order(1), key="wrong")
    wait_for_refusals(shop, {"wrong_signature": 5, "signature_missing": 1})
    printed = shop("webhook", "show", "shop")
    assert "What to do" in printed.out
    assert "refused deliveries within two hours: 5" in printed.err
    examined = shop("doctor", "--json").json["findings"]
    assert ("webhook shop", "H005") in {
        (fact["configuration"], fact["id"]) for fact in examined
    }
    assert shop("webhook", "pause", "shop").code == 0
    status, _, headers = sender.post(order(1))
    assert status == 503
    assert int(headers["Retry-After"]) > 0
    assert shop("webhook", "show", "shop", "--json").json["state"] == "paused"
    assert shop("webhook", "resume", "shop").code == 0
    assert shop("webhook", "delete", "shop").code == 2
    assert shop("webhook", "delete", "shop", "--yes").code == 0
    assert sender.post(order(1))[:2] == (410, b"")
    assert shop("webhook", "show", "shop").code == 2


def test_slow_senders_do_not_stop_others(shop: Terminal, sender: Sender) -> None:
    head = f"POST {sender.path} HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nx"
    slow = [socket.create_connection(("127.0.0.1", sender.port)) for _ in range(100)]
    try:
        for connection in slow:
            connection.sendall(head.encode())
        assert sender.post(order(1))[0] == 200
    finally:
        for connection in slow:
            connection.close()


def test_a_sample_is_signed_and_posted_to_the_own_endpoint(
    shop: Terminal, sender: Sender, tmp_path: Path
) -> None:
    file = tmp_path / "order.json"
    file.write_bytes(order(7))
    sent = shop("webhook", "send", "shop", str(file), "--json")
    assert (sent.code, sent.json["status"]) == (0, 200)
    (row,) = wait_for_inbox(shop, "processed")
    shown = shop("webhook", "show", "shop", "--delivery", row["id"], "--body")
    assert shown.out.encode() == order(7)
    listed = shop("webhook", "inbox", "shop")
    assert row["event_id"] in listed.out
    # The inbox and the audit name the user.
    assert row["tested_by"].startswith("cli:")
    assert "Test by" in listed.out
    records = shop("audit", "list", "--json").json
    (tested,) = [row for row in records if row["tag"] == "hooks:delivery:tested"]
    assert tested["actor"] == row["tested_by"]
    assert tested["fields"] == ["shop", row["event_id"]]


def test_the_token_of_notion_is_stored_and_printed_once_asked_for(
    outkey: Terminal,
) -> None:
    document = DOCUMENT.replace('"shopify"', '"notion"')
    assert outkey("apply", "-", stdin=document).code == 0
    asked = ("webhook", "secret", "shop", "--offered")
    assert outkey(*asked).code == 2
    token = "secret_tMrlL1qK5vuQAh1b6cZGhFChZTSYJlce"
    with serving(outkey, "127.0.0.1") as port:
        path = outkey("webhook", "show", "shop", "--json").json["endpoint"]
        notion = Sender(port, path)
        body = json.dumps({"verification_token": token}).encode()
        assert notion.request("POST", body)[:2] == (200, b"")
        other = json.dumps({"verification_token": "x" * 40}).encode()
        assert notion.request("POST", other)[0] == 401
    assert outkey(*asked).out == f"{token}\n"
    assert outkey(*asked, "--json").json == {"webhook": "shop", "token": token}
    shown = outkey("webhook", "show", "shop")
    assert token not in shown.out + shown.err


def test_the_commands_without_a_server(shop: Terminal, tmp_path: Path) -> None:
    listed = shop("webhook", "list", "--json").json
    assert [row["webhook"] for row in listed] == ["shop"]
    endpoint = listed[0]["endpoint"]
    assert len(endpoint.rpartition("/")[2]) == 22
    known = shop("webhook", "list", OUTKEY_PUBLIC_URL="https://outkey.example")
    assert f"https://outkey.example{endpoint}" in known.out
    for secret in ("--previous", "--verify-token"):
        assert shop("webhook", "secret", "shop", secret, stdin="older").code == 0
    shown = shop("webhook", "show", "shop")
    assert "# previous_secret: set" in shown.out
    facts = shop("webhook", "show", "shop", "--json").json
    assert facts["secrets"]["secret"] == "set"
    exported = shop("export").out
    assert '[webhook.shop]\nscheme = "shopify"\nline = "orders"' in exported
    again = shop("apply", "-", "--json", stdin=exported)
    assert again.json["webhooks"]["unchanged"] == ["shop"]
    assert shop("webhook", "inbox", "shop").out.startswith("There are no deliveries")
    assert shop("line", "delete", "orders", "--yes").code == 2
    assert shop("delete", "shop", "--yes").code == 2
    assert shop("line", "rename", "orders", "sales").code == 0
    assert shop("webhook", "show", "shop", "--json").json["line"] == "sales"
    file = tmp_path / "x"
    file.write_bytes(b"{}")
    wrong = [
        ["inbox", "shop", "--state", "lost"],
        ["inbox", "unknown"],
        ["show", "shop", "--body"],
        ["show", "shop", "--delivery", "7"],
        ["replay", "shop", "7"],
        ["replay", "shop"],
        ["replay", "shop", "7", "--state", "failed"],
        ["replay", "shop", "--state", "lost"],
        ["replay", "shop", "--state", "received"],
        ["replay", "shop", "--from", "yesterday"],
        ["secret", "unknown"],
        ["secret", "shop", "--previous", "--verify-token"],
        ["send", "shop", str(file)],
        ["send", "shop", str(file), "--url", "ftp://x"],
    ]
    for arguments in wrong:
        done = shop("webhook", *arguments, stdin="x")
        assert done.code == 2, arguments
    unreachable = shop("webhook", "send", "shop", str(file), "--url", "http://[::1]:9")
    assert unreachable.code not in {0, 2}
    assert shop("webhook", "list", OUTKEY_WEBHOOK_MEBIBYTES="26").code == 2


def test_a_scheme_that_ends_is_listed_and_a_finding_of_its_webhooks(
    outkey: Terminal, tmp_path: Path
) -> None:
    schemes = {row["name"]: row for row in outkey("webhook", "schemes", "--json").json}
    assert schemes["highlevel"]["ends"] == "2026-07-01"
    assert schemes["highlevel"]["successor"] == "highlevel_v2"
    assert "instead: highlevel_v2" in outkey("webhook", "schemes").out
    file = tmp_path / "crm.toml"
    file.write_text(DOCUMENT.replace('"shopify"', '"highlevel"'))
    assert outkey("apply", str(file)).code == 0
    shown = outkey("webhook", "show", "shop", "--json").json
    assert "H009" in {found["id"] for found in shown["findings"]}
    found = outkey("doctor", "--json").json["findings"]
    ending = next(each for each in found if each["id"] == "H009")
    assert (ending["level"], ending["field"]) == ("warning", "scheme")


def test_a_sample_to_a_paused_webhook_leads_to_its_state(
    shop: Terminal, sender: Sender, tmp_path: Path
) -> None:
    assert shop("webhook", "pause", "shop").code == 0
    body = tmp_path / "order.json"
    body.write_bytes(order(1))
    sent = shop("webhook", "send", "shop", str(body))
    assert sent.code == 1
    assert "status 503" in sent.out
    assert "outkey webhook show shop" in sent.out


@pytest.mark.usefixtures("sender")
def test_a_sample_with_the_secret_itself_goes_to_the_own_server_only(
    shop: Terminal, tmp_path: Path
) -> None:
    document = '[webhook.till]\nscheme = "token"\nline = "orders"\n'
    assert shop("apply", "-", stdin=document).code == 0
    assert shop("webhook", "secret", "till", stdin=KEY).code == 0
    body = tmp_path / "order.json"
    body.write_bytes(order(1))
    with socket.create_server(("127.0.0.1", 0)) as other:
        url = f"http://127.0.0.1:{other.getsockname()[1]}"
        other.settimeout(0)
        refused = shop("webhook", "send", "till", str(body), "--url", url)
        with pytest.raises(BlockingIOError):
            other.accept()
    assert refused.code == 2
    assert "contains the secret" in refused.err
    assert "without --url" in refused.err
    assert KEY not in refused.out + refused.err
    assert shop("webhook", "send", "till", str(body)).code == 0


def test_a_sample_that_was_sent_before_is_reported(
    shop: Terminal, sender: Sender, tmp_path: Path
) -> None:
    body = tmp_path / "order.json"
    body.write_bytes(order(7))
    first = shop("webhook", "send", "shop", str(body))
    again = shop("webhook", "send", "shop", str(body))
    assert (first.code, again.code) == (0, 0)
    assert "Nothing was stored" not in first.err
    assert "Nothing was stored: the sample is a duplicate" in again.err
