"""Lists and other outputs as a stranger reads them."""

import re
from base64 import b64encode
from pathlib import Path

import pytest

from cli.conftest import Terminal

# What a list says in a home that has nothing yet, by its command.
EMPTY = {
    ("list",): "outkey new NAME --preset PRESET",
    ("line", "list"): "outkey apply FILE",
    ("run", "list"): "outkey line run NAME",
    ("run", "list", "--state", "failed"): "outkey run list",
    ("pair", "list"): "outkey apply FILE",
    ("data", "list"): "outkey line run NAME",
    ("webhook", "list"): "outkey apply FILE",
    ("api-token", "list"): "outkey api-token create NAME",
    ("user", "list"): "outkey user add NAME",
    ("preset", "list", "nothing-like-this"): "outkey preset list",
}
LINE = """
[configuration.shop]
base_url = "https://api.shop.example"
authentication_type = "basic"
username = "user"
active = false
[line.orders]
configuration = "shop"
path = "/orders"
direction = "pull"
target = "table:orders"
keys = ["id"]
fields = [{ api = "id", host = "id" }]
[webhook.orders]
scheme = "shopify"
line = "orders"
"""


@pytest.mark.parametrize("command", EMPTY, ids=" ".join)
def test_an_empty_list_says_what_to_do_next(
    outkey: Terminal, command: tuple[str, ...]
) -> None:
    done = outkey(*command)
    assert (done.code, done.err) == (0, "")
    (sentence,) = done.out.splitlines()
    assert sentence[0].isupper()
    assert EMPTY[command] in sentence
    assert outkey(*command, "--json").json == []


def test_an_empty_inbox_and_a_filter_without_matches_say_what_to_do(
    outkey: Terminal,
) -> None:
    assert outkey("apply", "-", stdin=LINE).code == 0
    inbox = ("webhook", "inbox", "orders")
    assert "outkey webhook send orders FILE" in outkey(*inbox).out
    assert "outkey webhook inbox orders" in outkey(*inbox, "--state", "failed").out
    assert outkey(*inbox, "--json").json == []
    listed = outkey("webhook", "list")
    assert "OUTKEY_PUBLIC_URL" in listed.err
    public = {"OUTKEY_PUBLIC_URL": "https://hooks.example"}
    assert "OUTKEY_PUBLIC_URL" not in outkey("webhook", "list", **public).err


def test_a_configuration_is_shown_without_what_is_as_by_default(
    outkey: Terminal,
) -> None:
    assert outkey("apply", "-", stdin=LINE).code == 0
    assert outkey("secret", "set", "shop", "password", stdin="secret").code == 0
    shown = outkey("show", "shop").out
    rows = [line.split()[0] for line in shown.splitlines()[1:-1]]
    assert rows == [
        "name",
        "base_url",
        "active",
        "authentication_type",
        "username",
        "password",
    ]
    assert "stored, version 1, set 20" in shown
    assert " by cli:" in shown
    assert "active               false" in shown
    whole = outkey("show", "shop", "--all").out
    assert "limits.connect_timeout" in whole
    assert "proxy in use" in whole
    assert "--all" not in whole


def test_an_empty_token_prefix_is_shown_as_a_document_has_it(outkey: Terminal) -> None:
    document = LINE.replace('username = "user"', 'token_prefix = "-"').replace(
        '"basic"', '"bearer"'
    )
    assert outkey("apply", "-", stdin=document).code == 0
    assert 'token_prefix         ""' in outkey("show", "shop").out
    assert outkey("show", "shop", "--json").json["token_prefix"] == ""
    assert 'token_prefix = ""' in outkey("export", "shop").out


def test_numbers_are_aligned_at_their_last_digit(outkey: Terminal) -> None:
    status = outkey("keys", "status").out.splitlines()
    assert status[0].endswith("  Secrets")
    assert status[1].endswith("        0")
    assert len(status[0]) == len(status[1])


def test_a_status_is_in_words(outkey: Terminal) -> None:
    assert outkey("apply", "-", stdin=LINE).code == 0
    assert " needs secret " in outkey("list").out
    assert outkey("list", "--json").json[0]["status"] == "needs_secret"


CALL = """
[line.customers]
configuration = "shop"
path = "/customers"
"""


def test_columns_have_what_their_titles_say(outkey: Terminal) -> None:
    assert outkey("apply", "-", stdin=LINE + CALL).code == 0
    titles, *rows = outkey("webhook", "list").out.splitlines()
    assert titles.split()[3:5] == ["Goes", "to"]
    assert "line orders" in rows[0]
    listed = outkey("line", "list").out
    assert "customers  shop           request only" in listed
    assert "/customers" not in listed


def test_a_webhook_without_a_secret_is_not_ready(outkey: Terminal) -> None:
    assert outkey("apply", "-", stdin=LINE).code == 0
    assert " not ready " in outkey("webhook", "list").out
    assert "state     not ready" in outkey("webhook", "show", "orders").out
    assert outkey("webhook", "list", "--json").json[0]["state"] == "active"
    assert outkey("webhook", "secret", "orders", stdin="hook-secret").code == 0
    assert " active " in outkey("webhook", "list").out
    assert outkey("webhook", "pause", "orders").code == 0
    assert " paused " in outkey("webhook", "list").out


@pytest.mark.parametrize("problem", ["missing", "another"])
def test_a_sealed_home_is_not_shown_as_a_healthy_one(
    outkey: Terminal, problem: str
) -> None:
    assert outkey("apply", "-", stdin=LINE).code == 0
    assert outkey("secret", "set", "shop", "password", stdin="secret").code == 0
    key = outkey.home / "config" / "key"
    key.rename(key.with_name("elsewhere"))
    if problem == "another":
        key.write_text(f"primary {b64encode(bytes(range(32))).decode()}\n")
        key.chmod(0o600)
    reason = {
        "missing": "the key that decrypts the stored secrets is missing",
        "another": "this database was not used with the present key",
    }[problem]
    for command in (
        ("list",),
        ("show", "shop"),
        ("line", "list"),
        ("webhook", "list"),
        ("webhook", "show", "orders"),
    ):
        done = outkey(*command)
        assert done.code == 0
        assert f"sealed: {reason}. Restore the right key" in done.err
        as_json = outkey(*command, "--json")
        assert (as_json.code, as_json.err) == (0, "")
    key.with_name("elsewhere").replace(key)
    assert outkey("list").err == ""


def test_running_a_line_that_is_only_a_request_leads_to_a_proposal(
    outkey: Terminal,
) -> None:
    assert outkey("apply", "-", stdin=LINE + CALL).code == 0
    refused = outkey("line", "run", "customers")
    assert refused.code == 2
    assert "outkey line suggest customers" in refused.err


def test_a_restore_beside_another_key_says_so_and_prints_the_time_as_others_do(
    outkey: Terminal, tmp_path: Path
) -> None:
    assert outkey("apply", "-", stdin=LINE).code == 0
    backup = str(tmp_path / "backup")
    assert outkey("backup", backup).code == 0
    elsewhere = {"OUTKEY_HOME": str(tmp_path / "elsewhere"), "TZ": "Asia/Tokyo"}
    assert outkey("apply", "-", stdin=LINE, **elsewhere).code == 0
    refused = outkey("restore", backup, "--replace", **elsewhere)
    assert refused.code == 4
    assert "that signed the backup is missing" in refused.err
    restored = outkey("restore", backup, "--replace", "--unsigned", **elsewhere)
    assert re.match(
        r"restored the backup of \d{4}-\d\d-\d\d \d\d:\d\d:\d\d JST\n", restored.out
    )
    key = tmp_path / "elsewhere" / "config" / "key"
    assert f"The key in {key} is not the one of this backup." in restored.out
    assert "missing" not in restored.out
    key.rename(key.with_name("other-key"))
    again = outkey("restore", backup, "--replace", "--unsigned", **elsewhere)
    assert f"The key is missing. Put it here: {key}\n" in again.out
