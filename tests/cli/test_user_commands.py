"""Accounts from the command line: a lost password has a way back."""

import pytest

import forks
from cli.conftest import Terminal
from outkey.foundation.core.errors import ConfigError
from outkey.hosts.cli.operating import accounts
from programs import assert_program_passes

PASSWORD = "correct horse battery"
FOUND = 302  # signed in, and sent on
REFUSED = 200  # the sign-in page again


def sign_in(outkey: Terminal, name: str, password: str) -> int:
    done = assert_program_passes("cli/try_sign_in", outkey.home, name, stdin=password)
    return int(done.stdout)


def tags(outkey: Terminal) -> list[str]:
    return [record["tag"] for record in outkey("audit", "list", "--json").json]


def test_a_lost_administrators_password_is_replaced_and_the_user_signs_in(
    outkey: Terminal,
) -> None:
    assert outkey("user", "add", "boss", "--role", "administrator").code == 0
    done = outkey("user", "password", "boss", "--json", stdin=f"{PASSWORD}\n")
    assert done.json == {"done": "password set", "user": "boss"}
    assert sign_in(outkey, "boss", PASSWORD) == FOUND
    assert "people:password:set" in tags(outkey)


def test_without_a_password_one_is_generated_and_printed_once(outkey: Terminal) -> None:
    created = outkey("user", "add", "eve", "--role", "Auditor", "--json").json
    assert created["done"] == "created"
    assert sign_in(outkey, "eve", created["password"]) == FOUND
    assert "password" not in outkey("user", "list", "--json").out
    assert "people:user:created" in tags(outkey)
    # The home has its hash and nothing else; the audit of the creation is there too.
    files = [file for file in outkey.home.rglob("*") if file.is_file()]
    content = b"".join(file.read_bytes() for file in files)
    assert b"people:user:created" in content
    assert created["password"].encode() not in content
    shown = outkey("user", "add", "ann")
    (line,) = [line for line in shown.out.splitlines() if line.startswith("password: ")]
    assert sign_in(outkey, "ann", line.removeprefix("password: ")) == FOUND


def test_users_are_listed_with_their_role(outkey: Terminal) -> None:
    outkey("user", "add", "boss", "--role", "Administrator", stdin=PASSWORD)
    outkey("user", "add", "nobody", stdin=PASSWORD)
    users = outkey("user", "list", "--json").json
    assert [(user["name"], user["superuser"], user["groups"]) for user in users] == [
        ("boss", True, ["Administrator"]),
        ("nobody", False, []),
    ]
    assert "Administrator" in outkey("user", "list").out


def test_a_role_whose_group_was_deleted_makes_no_user_but_an_administrator(
    outkey: Terminal,
) -> None:
    outkey("user", "list")
    assert_program_passes("cli/delete_groups", outkey.home)
    refused = outkey("user", "add", "eve", "--role", "Operator", stdin=PASSWORD)
    assert refused.code == 2
    assert "the group Operator was deleted" in refused.err
    outkey("user", "add", "boss", "--role", "Administrator", stdin=PASSWORD)
    users = outkey("user", "list", "--json").json
    assert [(user["name"], user["superuser"]) for user in users] == [("boss", True)]


def test_a_disabled_user_cannot_sign_in_and_the_last_administrator_stays(
    outkey: Terminal,
) -> None:
    outkey("user", "add", "boss", "--role", "Administrator", stdin=PASSWORD)
    outkey("user", "add", "eve", "--role", "Operator", stdin=PASSWORD)
    assert outkey("user", "disable", "eve").code == 0
    assert sign_in(outkey, "eve", PASSWORD) == REFUSED
    refused = outkey("user", "disable", "boss")
    assert refused.code == 2
    assert "only administrator" in refused.err
    assert "people:user:updated" in tags(outkey)


def test_the_tokens_of_a_disabled_user_are_revoked_and_listed(outkey: Terminal) -> None:
    outkey("user", "add", "boss", "--role", "Administrator", stdin=PASSWORD)
    outkey("user", "add", "eve", "--role", "Administrator", stdin=PASSWORD)
    for token in (
        ("one", "eve", "send"),
        ("two", "eve", "read"),
        ("b", "boss", "read"),
    ):
        assert_program_passes("cli/create_token_on_pages", outkey.home, *token)
    outkey("api-token", "create", "operator", "--scope", "send")
    users = outkey("user", "list", "--json").json
    assert {user["name"]: user["tokens"] for user in users} == {"boss": 1, "eve": 2}
    done = outkey("user", "disable", "eve", "--json").json
    assert done == {
        "done": "disabled",
        "user": "eve",
        "revoked_tokens": ["one", "two"],
    }
    states = {
        token["name"]: token["state"]
        for token in outkey("api-token", "list", "--json").json
    }
    assert states == {
        "one": "revoked",
        "two": "revoked",
        "b": "active",
        "operator": "active",
    }
    assert tags(outkey)[:2] == ["people:api_token:revoked"] * 2


def test_the_doctor_names_tokens_that_do_more_than_their_creators_may(
    outkey: Terminal,
) -> None:
    outkey("user", "add", "boss", "--role", "Administrator", stdin=PASSWORD)
    outkey("user", "add", "eve", "--role", "Operator", stdin=PASSWORD)
    for token in (
        ("good", "boss", "send", "manage"),
        ("run", "eve", "run"),
        ("send", "eve", "send"),
        ("gone", "nobody", "read"),
    ):
        assert_program_passes("cli/create_token_on_pages", outkey.home, *token)
    outkey("api-token", "create", "operator", "--scope", "send")
    found = outkey("doctor", "--json").json["findings"]
    messages = [f["message"] for f in found if f["id"] == "P-token-owner"]
    more = "an API token does more than the user who created it may do"
    assert messages == [
        f"{more}: gone: the user nobody does not exist",
        f"{more}: send: the user eve lacks add_syncline, set_secret",
    ]


def test_wrong_names_roles_and_passwords_are_refused_and_nothing_is_stored(
    outkey: Terminal,
) -> None:
    assert "no role" in outkey("user", "add", "eve", "--role", "king").err
    assert "too weak" in outkey("user", "add", "eve", stdin="short").err
    assert "not allowed" in outkey("user", "add", "a b").err
    assert "no user" in outkey("user", "password", "eve", stdin=PASSWORD).err
    assert outkey("user", "list", "--json").json == []
    outkey("user", "add", "eve", stdin=PASSWORD)
    assert "taken" in outkey("user", "add", "eve", stdin=PASSWORD).err


def test_the_sessions_of_a_disabled_user_end_for_good(outkey: Terminal) -> None:
    outkey("user", "add", "boss", "--role", "Administrator", stdin=PASSWORD)
    outkey("user", "add", "eve", "--role", "Operator", stdin=PASSWORD)
    done = assert_program_passes(
        "cli/disabled_session", outkey.home, "eve", *forks.OUTKEY
    )
    assert done.stdout.split() == ["True", "False", "False"]


def test_every_refusal_ends_with_2_and_names_its_field(outkey: Terminal) -> None:
    outkey("user", "add", "boss", "--role", "Administrator", stdin=PASSWORD)
    refusals = {
        ("add", "eve", "--role", "king"): "--role",
        ("add", "a b"): "NAME",
        ("add", "boss"): "NAME",
        ("disable", "nobody"): "USER",
        ("disable", "boss"): "USER",
        ("password", "nobody"): "USER",
    }
    for arguments, field in refusals.items():
        done = outkey("user", *arguments, "--json", stdin=PASSWORD)
        assert (done.code, done.json["error"]["field"]) == (2, field), arguments


@pytest.mark.parametrize("ending", ["", "\n", "\r\n"])
def test_a_password_from_standard_input_has_no_line_break(
    outkey: Terminal, ending: str
) -> None:
    outkey("user", "add", "eve", "--role", "Auditor", stdin=f"{PASSWORD} {ending}")
    assert sign_in(outkey, "eve", f"{PASSWORD} ") == FOUND


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What a user types at a terminal, the next line first."""
    lines: list[str] = []
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr(accounts, "ask_password", lambda _question: lines.pop(0))
    return lines


def test_a_terminal_asks_twice_and_two_different_passwords_are_refused(
    typed: list[str],
) -> None:
    typed += [PASSWORD, PASSWORD]
    assert accounts.read_password("eve") == PASSWORD
    typed += [PASSWORD, f"{PASSWORD}x"]
    with pytest.raises(ConfigError, match="the two passwords differ"):
        accounts.read_password("eve")
    typed += [""]  # one is generated, and there is nothing to repeat
    assert accounts.read_password("eve") == ""
    assert typed == []


def test_a_token_is_limited_to_owners(outkey: Terminal) -> None:
    options = ("--scope", "read", "--owner", "south", "--owner", "north")
    created = outkey("api-token", "create", "ci", *options, "--json").json
    assert created["owners"] == ["north", "south"]
    outkey("api-token", "create", "all", "--scope", "read")
    listed = outkey("api-token", "list", "--json").json
    assert [token["owners"] for token in listed] == [None, ["north", "south"]]
    assert "north, south" in outkey("api-token", "list").out
    empty = outkey("api-token", "create", "x", "--scope", "read", "--owner", "")
    assert empty.code == 2


def test_a_user_is_limited_to_owners(outkey: Terminal) -> None:
    outkey("user", "add", "ann", "--owner", "north", stdin=PASSWORD)
    outkey("user", "add", "boss", "--role", "Administrator", stdin=PASSWORD)
    users = outkey("user", "list", "--json").json
    assert [user["owners"] for user in users] == [["north"], None]
    limited = outkey("user", "owners", "ann", "south", "north", "--json").json
    assert limited == {
        "done": "updated",
        "user": "ann",
        "owners": ["north", "south"],
        "revoked_tokens": [],
    }
    assert "north, south" in outkey("user", "list").out
    assert outkey("user", "owners", "ann").code == 0
    assert [user["owners"] for user in outkey("user", "list", "--json").json] == [
        None,
        None,
    ]
    for wrong in (("ann", ""), ("nobody", "north"), ("ann", "a\nb")):
        assert outkey("user", "owners", *wrong).code == 2
    assert outkey("user", "add", "eve", "--owner", "", stdin=PASSWORD).code == 2
    fields = [record.get("fields") for record in outkey("audit", "list", "--json").json]
    assert ["owners", "owners +south"] in fields
    assert ["owners", "owners -north", "owners -south"] in fields
