"""Rows of another program in the database: commands name, refuse, accept them."""

import json
import sqlite3
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from cli.conftest import Terminal
from outkey.spar import Spar

DOCUMENT = """
[database.warehouse]
url = "sqlite:///{folder}/warehouse.db"
[line.contacts]
configuration = "acme"
path = "/echo"
records = "[@]"
direction = "pull"
target = "table:warehouse.contacts"
keys = ["method"]
fields = [{{ api = "method", host = "method" }}]
[line.call]
configuration = "acme"
method = "GET"
path = "/echo"
[webhook.shop]
scheme = "hmac"
signature_header = "X-Signature"
line = "contacts"
secret = "env:HOOK_SECRET"
"""
TOKEN = "ok_" + "A" * 43


@pytest.fixture
def home(ready: Terminal, tmp_path: Path) -> Terminal:
    """A home with a line, a database and a webhook."""
    ready.settings["HOOK_SECRET"] = "hook-secret"
    ready.settings["OUTKEY_SQLITE_FOLDERS"] = str(tmp_path)
    document = DOCUMENT.format(folder=tmp_path)
    assert ready("apply", "-", stdin=document).code == 0
    return ready


def execute(terminal: Terminal, statement: str, *values: object) -> list[Any]:
    file = terminal.home / "data" / "outkey.sqlite3"
    with closing(sqlite3.connect(file)) as database, database:
        return database.execute(statement, values).fetchall()


def write(terminal: Terminal, kind: str, key: str, value: object) -> None:
    execute(
        terminal,
        "INSERT INTO outkey_sharedstate (kind, key, generation, value)"
        " VALUES (?, ?, 1, ?) ON CONFLICT (kind, key) DO UPDATE SET"
        " value = excluded.value, generation = generation + 1",
        kind,
        key,
        json.dumps(value),
    )


def plant(terminal: Terminal, target: Path) -> None:
    """Write a row of each kind, as a program without the key can."""
    write(terminal, "database", "loot", {"url": f"sqlite:///{target}"})
    execute(
        terminal,
        "INSERT INTO outkey_syncline (name, configuration_id, method, path, sync,"
        " source, voucher) SELECT 'planted', configuration_id, method, path,"
        " replace(sync, 'warehouse.contacts', 'loot.t'), source, voucher"
        " FROM outkey_syncline WHERE name = 'contacts'",
    )
    write(
        terminal,
        "api_token",
        sha256(TOKEN.encode()).hexdigest(),
        {
            "name": "planted",
            "digest": sha256(TOKEN.encode()).hexdigest(),
            "scopes": ["manage", "send"],
            "created_at": 0.0,
            "created_by": "x",
            "records": None,
            "expires_at": None,
            "revoked_at": None,
            "allow_internal": True,
            "per_minute": 1000,
        },
    )
    ((stored,),) = execute(
        terminal, "SELECT value FROM outkey_sharedstate WHERE kind = 'webhook'"
    )
    hook = json.loads(stored)
    hook["settings"] = {"scheme": "unverified", "reason": "x", "line": "contacts"}
    write(terminal, "webhook", "shop", hook)


PLANTED = ["api_token:planted", "database:loot", "webhook:shop", "line:planted"]


def test_planted_rows_are_listed_and_nothing_is_done_by_them(
    home: Terminal, tmp_path: Path, spar: Spar
) -> None:
    assert home("line", "run", "contacts").code == 0
    plant(home, tmp_path / "authorized_keys")
    spar.clear()
    run = home("line", "run", "planted", "--json")
    assert (run.code, run.json["error"]["code"]) == (5, "secret_unreadable")
    assert run.json["error"]["hint"].endswith("outkey secret confirm line:planted")
    assert not (tmp_path / "authorized_keys").exists()
    assert spar.journal == []
    assert home("webhook", "pause", "shop").code == 5
    doctor = home("doctor", "--json")
    (finding,) = [f for f in doctor.json["findings"] if f["id"] == "P-rows-changed"]
    assert doctor.code == 2
    assert all(label in finding["message"] for label in PLANTED)
    listed = home("secret", "confirm", "--dry-run", "--json")
    assert listed.code == 0
    assert listed.json["configurations"] == []
    assert [row["row"] for row in listed.json["rows"]] == PLANTED
    shown = home("secret", "confirm", "--dry-run")
    for text in (*PLANTED, "scheme = unverified", "target = table:loot.t"):
        assert text in shown.out


def test_lists_mark_what_was_changed(home: Terminal, tmp_path: Path) -> None:
    plant(home, tmp_path / "x.db")
    lines = {line["name"]: line for line in home("line", "list", "--json").json}
    assert lines["planted"]["problem"] == "line:planted was changed outside of outkey"
    assert "problem" not in lines["contacts"]
    assert "was changed outside of outkey" in home("line", "list").out
    (hook,) = home("webhook", "list", "--json").json
    assert next(finding["id"] for finding in hook["findings"]) == "H016"
    assert "not ready" in home("webhook", "list").out
    (token,) = home("api-token", "list", "--json").json
    assert (token["name"], token["state"]) == ("planted", "changed")
    write(home, "pair", "p", {"pull": "contacts", "push": "planted"})
    (pair,) = home("pair", "list", "--json").json
    assert pair["problem"] == "pair:p was changed outside of outkey"
    assert "changed outside" in home("pair", "list").out


def test_one_command_accepts_all_that_is_listed(home: Terminal, tmp_path: Path) -> None:
    plant(home, tmp_path / "loot.db")
    execute(home, "DELETE FROM outkey_secretvalue WHERE field = 'voucher'")
    execute(home, "UPDATE outkey_configuration SET revision = revision + 1")
    refused = home("secret", "confirm")
    assert refused.code == 2, "nobody can be asked"
    assert "line:planted" in refused.out
    accepted = home("secret", "confirm", "--yes", "--json")
    assert accepted.json == {
        "done": "confirmed",
        "configurations": ["acme", "shop"],
        "rows": PLANTED,
    }
    nothing = home("secret", "confirm")
    assert (nothing.code, nothing.out.split(":")[0]) == (0, "nothing to confirm")
    assert home("line", "run", "planted").code == 0
    assert (tmp_path / "loot.db").exists()
    assert "P-rows-changed" not in home("doctor", "--json").out
    noted = home("audit", "list", "--json", "--limit", "50").out
    assert noted.count("api:row:confirmed") == len(PLANTED)


def test_rows_are_accepted_by_their_names(home: Terminal, tmp_path: Path) -> None:
    plant(home, tmp_path / "x.db")
    some = home("secret", "confirm", "line:planted", "webhook:shop", "--yes", "--json")
    assert some.json["rows"] == ["webhook:shop", "line:planted"]
    assert home("secret", "confirm", "acme", "--json").json["rows"] == []
    unchanged = home("secret", "confirm", "acme")
    assert unchanged.out.startswith("nothing to confirm: what you named is")
    assert home("secret", "confirm", "nobody").code == 2
    left = home("secret", "confirm", "--dry-run", "--json").json["rows"]
    assert [row["row"] for row in left] == PLANTED[:2]


def test_what_was_accepted_is_printed_for_people(
    home: Terminal, tmp_path: Path
) -> None:
    plant(home, tmp_path / "x.db")
    rows = home("secret", "confirm", "line:planted", "webhook:shop", "--yes")
    assert rows.out.endswith("\nconfirmed: webhook:shop, line:planted\n")
    execute(home, "DELETE FROM outkey_secretvalue WHERE field = 'voucher'")
    execute(home, "UPDATE outkey_configuration SET revision = revision + 1")
    everything = home("secret", "confirm", "--yes")
    names = "acme, shop, api_token:planted, database:loot"
    assert everything.out.endswith(f"\nconfirmed: {names}\n")


@pytest.mark.parametrize("name", ["line:nothing", "line:contacts"])
def test_the_name_of_a_row_that_was_not_changed_is_refused(
    home: Terminal, tmp_path: Path, name: str
) -> None:
    plant(home, tmp_path / "x.db")
    refused = home("secret", "confirm", "line:planted", name, "--yes", "--json")
    assert (refused.code, refused.json["error"]["field"]) == (2, "name")
    left = home("secret", "confirm", "--dry-run", "--json").json["rows"]
    assert [row["row"] for row in left] == PLANTED


def test_planted_rows_are_deleted_by_their_names(
    home: Terminal, tmp_path: Path
) -> None:
    plant(home, tmp_path / "x.db")
    assert home("secret", "reject", "line:planted").code == 2, "nobody can be asked"
    unknown = home("secret", "reject", "line:contacts", "--yes", "--json")
    assert (unknown.code, unknown.json["error"]["field"]) == (2, "name")
    done = home("secret", "reject", *PLANTED, "--yes")
    assert done.code == 0
    assert done.out.endswith(f"\ndeleted: {', '.join(PLANTED)}\n")
    assert home("secret", "confirm", "--json").json["rows"] == []
    names = [line["name"] for line in home("line", "list", "--json").json]
    assert names == ["call", "contacts"]
    assert home("api-token", "list", "--json").json == []
    assert home("webhook", "list", "--json").json == []


def test_what_was_planted_can_be_deleted_in_the_usual_way(
    home: Terminal, tmp_path: Path
) -> None:
    plant(home, tmp_path / "x.db")
    assert home("line", "delete", "planted", "--yes").code == 0
    assert home("webhook", "delete", "shop", "--yes").code == 0
    left = home("secret", "confirm", "--dry-run", "--json").json["rows"]
    assert [row["row"] for row in left] == PLANTED[:2]


def test_a_changed_row_is_not_accepted_by_applying_a_document_over_it(
    home: Terminal, tmp_path: Path
) -> None:
    write(
        home,
        "database",
        "warehouse",
        {"url": f"sqlite:///{tmp_path}/other.db", "adopt": ["people"]},
    )
    document = DOCUMENT.format(folder=tmp_path)
    refused = home("apply", "-", "--json", stdin=document)
    assert (refused.code, refused.json["error"]["code"]) == (5, "secret_unreadable")
    assert home("secret", "reject", "database:warehouse", "--yes").code == 0
    assert home("apply", "-", stdin=document).code == 0
    assert home("line", "run", "contacts").code == 0


def test_a_line_of_a_request_sends_nothing_once_it_was_changed(
    home: Terminal, spar: Spar
) -> None:
    execute(home, "UPDATE outkey_syncline SET path = '/secret' WHERE name = 'call'")
    spar.clear()
    assert home("line", "show", "call").code == 5
    assert spar.journal == []


def test_without_a_key_lines_and_webhooks_can_be_looked_at(home: Terminal) -> None:
    key = home.home / "config" / "key"
    key.rename(key.with_name("elsewhere"))
    for arguments in (
        ("line", "list"),
        ("line", "show", "contacts"),
        ("webhook", "list"),
        ("webhook", "show", "shop"),
        ("pair", "list"),
        ("api-token", "list"),
    ):
        assert home(*arguments).code == 0, arguments
    for arguments in (("line", "run", "contacts"), ("secret", "confirm")):
        assert home(*arguments).code == 4, arguments


@pytest.fixture
def renewing(outkey: Terminal, spar: Spar) -> Terminal:
    """A home that renews its token, beginning with a refresh token that was entered."""
    document = f"""
[configuration.oauth]
base_url = "{spar.url}"
network = "internal"
authentication_type = "bearer"
token_source = "oauth2"
oauth2.token_url = "{spar.url}/oauth/token"
oauth2.client_id = "spar-client"
oauth2.grant = "refresh_token"
"""
    assert outkey("apply", "-", stdin=document).code == 0
    outkey("secret", "set", "oauth", "client_secret", stdin="spar-client-secret")
    seed = spar.authorization.seed_refresh()
    outkey("secret", "set", "oauth", "refresh_token", stdin=seed)
    return outkey


ROW = "SELECT generation, serial, origin, sealed, key_id, facts FROM outkey_token"


def test_an_older_token_that_is_put_back_is_not_sent(
    renewing: Terminal, spar: Spar
) -> None:
    assert renewing("token", "renew", "oauth").code == 0
    (old,) = execute(renewing, ROW)
    assert renewing("token", "renew", "oauth").code == 0
    (new,) = execute(renewing, ROW)
    assert old[1] < new[1]
    execute(
        renewing,
        "UPDATE outkey_token SET generation = ?, serial = ?, origin = ?, sealed = ?,"
        " key_id = ?, facts = ?",
        *old,
    )
    spar.clear()
    refused = renewing("request", "oauth", "/bearer", "--json")
    assert (refused.code, refused.json["error"]["code"]) == (5, "secret_unreadable")
    assert "outkey token forget oauth" in refused.json["error"]["hint"]
    assert spar.journal == []
    listed = renewing("secret", "confirm", "oauth", "--dry-run", "--json").json["rows"]
    assert [row["row"] for row in listed] == ["token:oauth"]
    assert renewing("token", "forget", "oauth").code == 0
    assert renewing("secret", "confirm", "--json").json["rows"] == []


def test_a_token_that_was_deleted_lets_no_replaced_one_be_sent(
    renewing: Terminal, spar: Spar
) -> None:
    assert renewing("token", "renew", "oauth").code == 0
    execute(renewing, "DELETE FROM outkey_token")
    spar.clear()
    assert renewing("request", "oauth", "/bearer").code == 5
    assert spar.journal == []
    assert renewing("secret", "confirm", "--yes").code == 0
    assert renewing("token", "status", "oauth", "--json").json["state"] == "none"
