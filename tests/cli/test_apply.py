"""What `outkey apply` prints: changes by field, and secrets that stay."""

import pytest

from cli.conftest import HomeOf, Terminal
from cli.test_terminal import outkey_on_terminal

DOCUMENT = """
[configuration.shop]
base_url = "https://api.shop.example"
authentication_type = "basic"
username = "user"
password = "env:SHOP_PASSWORD"
headers = [{ key = "X-Tenant", value = "7" }]
[line.orders]
configuration = "shop"
path = "/orders"
direction = "pull"
target = "table:orders"
keys = ["id"]
fields = [{ api = "id", host = "id" }]
[database.warehouse]
url = "env:WAREHOUSE"
[webhook.orders]
scheme = "shopify"
secret = "env:HOOK_SECRET"
line = "orders"
"""
CHANGED = (
    DOCUMENT.replace('"user"', '"other"')
    .replace('"7"', '"8"')
    .replace('path = "/orders"', 'path = "/v2/orders"')
    .replace("env:WAREHOUSE", "env:OTHER")
)
CHANGES = """\
updated: shop
  username          user → other
  headers.X-Tenant  7 → 8
updated: line orders
  path  /orders → /v2/orders
updated: database warehouse
  url  env:WAREHOUSE → env:OTHER
unchanged: webhook orders
"""
STAYS = "env:SHOP_PASSWORD cannot be read, so the stored secret stays"


@pytest.fixture
def shop(outkey: Terminal, copied_home: HomeOf) -> Terminal:
    def make(run: Terminal) -> None:
        assert run("apply", "-", stdin=DOCUMENT).code == 0

    return copied_home(outkey, "shop", make)


def test_a_new_thing_is_named_and_a_dry_run_shows_its_fields(outkey: Terminal) -> None:
    created = outkey("apply", "-", "--dry-run", stdin=DOCUMENT)
    assert created.out.startswith(
        "would be created: shop\n"
        "  base_url             https://api.shop.example\n"
        "  authentication_type  basic\n"
        "  username             user\n"
        "  password             env:SHOP_PASSWORD\n"
        "  headers.X-Tenant     7\n"
        "would be created: line orders\n"
    )
    assert outkey("list", "--json").json == []
    saved = outkey("apply", "-", stdin=DOCUMENT)
    assert saved.out == (
        "created: shop\n"
        "created: line orders\n"
        "created: database warehouse\n"
        "created: webhook orders\n"
    )


def test_a_change_is_printed_by_field_with_old_and_new_value(shop: Terminal) -> None:
    tried = shop("apply", "-", "--dry-run", stdin=CHANGED)
    assert tried.out == CHANGES.replace("up", "would be up").replace(
        "un", "would be un"
    )
    assert shop("apply", "-", stdin=CHANGED).out == CHANGES
    again = shop("apply", "-", stdin=CHANGED)
    assert "→" not in again.out
    assert again.out.startswith("unchanged: shop\n")


def test_programs_read_the_same_changes(shop: Terminal) -> None:
    done = shop("apply", "-", "--dry-run", "--json", stdin=CHANGED).json
    assert list(done) == [
        "created",
        "updated",
        "unchanged",
        "connections",
        "lines",
        "databases",
        "pairs",
        "webhooks",
        "changes",
        "findings",
    ]
    assert done["changes"] == [
        {
            "section": "configuration",
            "name": "shop",
            "outcome": "updated",
            "fields": [
                {"field": "username", "old": "user", "new": "other"},
                {"field": "headers.X-Tenant", "old": "7", "new": "8"},
            ],
        },
        {
            "section": "database",
            "name": "warehouse",
            "outcome": "updated",
            "fields": [
                {"field": "url", "old": "env:WAREHOUSE", "new": "env:OTHER"},
            ],
        },
        {
            "section": "line",
            "name": "orders",
            "outcome": "updated",
            "fields": [
                {"field": "path", "old": "/orders", "new": "/v2/orders"},
            ],
        },
    ]


def test_a_terminal_shows_outcomes_in_colour(shop: Terminal, tmp_path: object) -> None:
    file = f"{tmp_path}/changed.toml"
    with open(file, "w", encoding="utf-8") as stream:  # noqa: PTH123 - a name to pass
        stream.write(CHANGED)
    sent = outkey_on_terminal(shop, "apply", file, "--dry-run").decode()
    assert "\x1b[33mwould be updated: shop\x1b[0m\n" in sent
    assert "\x1b[2mwould be unchanged: webhook orders\x1b[0m\n" in sent
    assert "  username          user → other\n" in sent


def test_a_missing_secret_names_the_command_that_sets_it(outkey: Terminal) -> None:
    applied = outkey("apply", "-", stdin=DOCUMENT)
    assert applied.code == 0
    assert "Enter it: outkey secret set shop password\n" in applied.err


def test_a_secret_that_was_set_survives_a_reference_that_names_nothing(
    shop: Terminal,
) -> None:
    assert shop("secret", "set", "shop", "password", stdin="by hand").code == 0
    for options in (["--dry-run"], []):
        applied = shop("apply", "-", *options, stdin=CHANGED)
        assert applied.code == 0
        assert f"warning shop.password: {STAYS}\n" in applied.err
        assert "  password " not in applied.out
    stored = shop("show", "shop", "--json").json["password"]
    assert (stored["set"], stored["reference"]) == (True, None)
    strict = shop("apply", "-", "--strict", "--json", stdin=DOCUMENT)
    assert strict.code == 2
    findings = {
        finding["id"]: finding["message"] for finding in strict.json["findings"]
    }
    assert findings["W010"] == STAYS


def test_a_reference_that_can_be_read_replaces_a_secret_that_was_set(
    shop: Terminal,
) -> None:
    shop("secret", "set", "shop", "password", stdin="by hand")
    applied = shop("apply", "-", stdin=DOCUMENT, SHOP_PASSWORD="by reference")
    assert applied.code == 0
    assert "  password  stored, version 2 → env:SHOP_PASSWORD\n" in applied.out
    assert "the reference replaces the value that was entered" in applied.err
    stored = shop("show", "shop", "--json").json["password"]
    assert stored["reference"] == "env:SHOP_PASSWORD"


def test_a_reference_that_names_nothing_is_saved_where_nothing_is_stored(
    shop: Terminal,
) -> None:
    renamed = DOCUMENT.replace("env:SHOP_PASSWORD", "file:/nowhere/password")
    applied = shop("apply", "-", stdin=renamed)
    assert applied.code == 0
    assert "  password  env:SHOP_PASSWORD → file:/nowhere/password\n" in applied.out
    assert "the file of password cannot be read" in applied.err


def test_a_document_that_does_not_name_a_secret_keeps_it(shop: Terminal) -> None:
    shop("secret", "set", "shop", "password", stdin="by hand")
    silent = DOCUMENT.replace('password = "env:SHOP_PASSWORD"\n', "")
    applied = shop("apply", "-", stdin=silent)
    assert applied.out.startswith("unchanged: shop\n")
    assert "password" not in applied.err


def test_a_secret_of_a_webhook_survives_in_the_same_way(shop: Terminal) -> None:
    assert shop("webhook", "secret", "orders", stdin="by hand").code == 0
    applied = shop("apply", "-", stdin=DOCUMENT)
    assert applied.code == 0
    stays = "env:HOOK_SECRET cannot be read, so the stored secret stays"
    assert f"warning webhook.orders.secret: {stays}\n" in applied.err
    assert (
        shop("webhook", "show", "orders", "--json").json["secrets"]["secret"] == "set"
    )
    resolved = shop("apply", "-", stdin=DOCUMENT, HOOK_SECRET="by reference")
    assert "  secret  stored, version 1 → env:HOOK_SECRET\n" in resolved.out


def test_a_line_is_reduced_to_its_request_only_where_that_is_wanted(
    shop: Terminal,
) -> None:
    bare = '[line.orders]\nconfiguration = "shop"\npath = "/orders"\n'
    lost = "the document names [line.orders] without direction, target, keys, fields"
    dry = shop("apply", "-", "--dry-run", stdin=bare)
    assert (dry.code, f"warning line.orders: {lost}" in dry.err) == (0, True)
    for arguments in ((), ("--strict",)):
        refused = shop("apply", "-", *arguments, stdin=bare)
        assert (refused.code, lost in refused.err) == (2, True)
        assert "--replace" in refused.err
    refused = shop("apply", "-", "--json", stdin=bare)
    assert refused.json["error"]["field"] == "line.orders"
    assert shop("line", "show", "orders", "--json").json["target"] == "table:orders"
    replaced = shop("apply", "-", "--replace", "--strict", stdin=bare)
    assert (replaced.code, lost in replaced.err) == (0, False)
    assert "target" not in shop("line", "show", "orders", "--json").json


def test_a_new_webhook_without_a_secret_names_the_next_command(shop: Terminal) -> None:
    new = '[webhook.paid]\nscheme = "shopify"\nline = "orders"\n'
    applied = shop("apply", "-", stdin=new)
    assert applied.code == 0
    assert "warning webhook.paid.secret: the webhook has no secret" in applied.err
    assert "outkey webhook secret paid" in applied.err


def test_deleting_names_the_lines_and_what_needs_them(shop: Terminal) -> None:
    refused = shop("delete", "shop")  # no question, since the answer is no
    assert (refused.code, "webhooks need it: orders" in refused.err) == (2, True)
    assert shop("webhook", "delete", "orders", "--yes").code == 0
    deleted = shop("delete", "shop", "--yes")
    assert deleted.out == "deleted: shop, the sync line orders (no runs)\n"


CONNECTIONS = """
[configuration.books]
base_url = "https://api.books.example"
authentication_type = "bearer"
connections = "optional"
[configuration.books.connect.variables]
region = "entered"
[configuration.books.connection."acme:1"]
owner = "north"
token = "env:ACME_TOKEN"
variables = { region = "eu1" }
[configuration.books.connection."acme:2"]
"""


def test_connections_are_applied_and_exported_where_they_are_asked_for(
    outkey: Terminal, copied_home: HomeOf
) -> None:
    def make(run: Terminal) -> None:
        done = run("apply", "-", "--json", stdin=CONNECTIONS).json
        assert done["connections"]["created"] == ["books/acme:1", "books/acme:2"]
        hints = {each["field"]: each["hint"] for each in done["findings"]}
        assert "outkey secret set" not in hints["connection.acme:1.token"]

    run = copied_home(outkey, "connections", make)
    assert "acme" not in run("export").out
    text = run("export", "books", "--connections").out
    assert 'token = "env:ACME_TOKEN"' in text
    applied = run("apply", "-", stdin=text).out
    assert "unchanged: connection books/acme:1\n" in applied
    assert "created" not in applied
    assert "updated" not in applied
    changed = text.replace("eu1", "us1")
    assert (
        "updated: connection books/acme:1\n  variables.region  eu1 → us1\n"
        in run("apply", "-", stdin=changed).out
    )


def test_a_literal_secret_of_a_connection_is_refused_with_its_field(
    outkey: Terminal,
) -> None:
    text = CONNECTIONS.replace("env:ACME_TOKEN", "hunter2")
    done = outkey("apply", "-", "--json", stdin=text)
    assert done.code == 2
    assert done.json["error"]["code"] == "configuration"
    assert done.json["error"]["field"] == "connection.acme:1.token"
    assert "hunter2" not in done.out + done.err
    assert outkey("list", "--json").json == []
