"""`outkey line suggest`: from a path to a run, with nothing written by hand."""

import json
from pathlib import Path

import pytest

from cli.conftest import Terminal
from outkey.spar import Spar

CONFIGURATION = """
[configuration.shop]
base_url = "{url}"
network = "internal"
authentication_type = "bearer"
token = "env:SHOP_TOKEN"
"""
CALL = """
[line.contacts]
configuration = "shop"
path = "/records/contacts?{query}"
"""
PULL = """
[line.contacts]
configuration = "shop"
direction = "pull"
path = "/records/contacts"
query = {{ {query} }}
target = "demo.contact"
keys = ["external_id"]
fields = [{{ api = "id", host = "external_id" }}]
"""


@pytest.fixture
def shop(outkey: Terminal) -> Terminal:
    outkey.settings |= {"SHOP_TOKEN": "spar-token", "OUTKEY_DEMO": "1"}
    return outkey


def apply(shop: Terminal, spar: Spar, line: str) -> None:
    done = shop("apply", "-", stdin=CONFIGURATION.format(url=spar.url) + line)
    assert done.code == 0, done.err
    spar.clear()


@pytest.mark.parametrize(
    ("query", "kind"),
    [
        ('count = "250"', "page"),
        ('count = "250", style = "link"', "link"),
        ('count = "250", style = "cursor", after = "0"', "cursor"),
        ('count = "250", style = "offset", offset = "0", per_page = "50"', "offset"),
    ],
)
def test_a_suggestion_is_applied_as_it_is_and_brings_every_record(
    shop: Terminal, spar: Spar, query: str, kind: str
) -> None:
    apply(shop, spar, PULL.format(query=query))
    suggested = shop("line", "suggest", "contacts")
    assert suggested.code == 0, suggested.err
    assert len(spar.journal) == 1
    assert f"pages: {kind} " in suggested.err
    applied = shop("apply", "-", "--strict", stdin=suggested.out)
    assert applied.code == 0, applied.err
    run = shop("line", "run", "contacts", "--json")
    assert run.code == 0, run.out
    assert (run.json["created"], run.json["failed"]) == (250, 0)


def test_a_suggestion_for_a_model_fills_the_fields_of_the_same_name(
    shop: Terminal, spar: Spar
) -> None:
    apply(shop, spar, PULL.format(query='count = "250"'))
    facts = shop("line", "suggest", "contacts", "--json").json
    assert {*facts} == {"records", "pagination", "keys", "fields", "why"}
    assert (facts["records"], facts["keys"]) == ("items", ["external_id"])
    fields = {field["host"]: field["api"] for field in facts["fields"]}
    assert fields == {
        "external_id": "id",
        "name": "full_name",
        "email": "mail",
        "kind": "type",
        "credit": "credit",
    }
    for field in facts["fields"]:
        assert {*field} == {"api", "host", "transform", "options", "why"}
        assert field["why"]


def test_a_line_needs_a_configuration_and_a_path_only(
    shop: Terminal, spar: Spar
) -> None:
    apply(shop, spar, CALL.format(query="count=3"))
    facts = shop("line", "suggest", "contacts", "--json").json
    assert (facts["records"], facts["keys"]) == ("items", ["id"])
    assert facts["pagination"] == {"kind": "none"}
    assert [field["host"] for field in facts["fields"]] == [
        "id",
        "full_name",
        "mail",
        "type",
        "credit",
        "updated_at",
    ]
    suggested = shop("line", "suggest", "contacts")
    assert 'target = "table:contacts"' in suggested.out
    assert shop("apply", "-", stdin=suggested.out).code == 0
    assert "field credit: decimal (decimal numbers as text" in suggested.err
    assert "updated_at has the time of the last change" in suggested.err
    incremental = '{ parameter = "updated_since", field = "updated_at" }'
    assert f"add incremental = {incremental}" in suggested.err


def test_what_cannot_be_suggested_is_said(shop: Terminal, spar: Spar) -> None:
    apply(shop, spar, CALL.format(query="count=0"))
    empty = shop("line", "suggest", "contacts")
    assert (empty.code, empty.out) == (0, "")
    assert "the list is empty" in empty.err
    apply(shop, spar, CALL.format(query="fail=text&at=1"))
    page = shop("line", "suggest", "contacts", "--json")
    assert (page.code, page.json["error"]["code"]) == (1, "sync_failed")
    unknown = shop("line", "suggest", "nobody")
    assert unknown.code == 2
    assert "hint: See: outkey line list" in unknown.err


def test_a_suggestion_without_a_key_says_so_before_its_toml(
    shop: Terminal, spar: Spar
) -> None:
    apply(shop, spar, CALL.replace("/records/contacts?{query}", "/echo"))
    said = shop("line", "suggest", "contacts").out
    assert said.startswith("# Before you apply this, add keys: none was found.\n")


def test_a_secret_that_the_api_repeats_is_not_shown(shop: Terminal, spar: Spar) -> None:
    shop.settings["SHOP_TOKEN"] = "sekret-canary"
    apply(shop, spar, CALL.replace("/records/contacts?{query}", "/echo/sekret-canary"))
    done = shop("line", "suggest", "contacts", "--json")
    assert done.code == 0, done.out
    assert "canary" not in json.dumps(done.json["fields"])
    assert "repeats a secret" in done.json["why"]["notes"][0]


def test_a_file_is_written_if_the_request_succeeds_and_stays_as_it_was_if_not(
    shop: Terminal, spar: Spar, tmp_path: Path
) -> None:
    apply(shop, spar, CALL.format(query="count=9"))
    file = tmp_path / "contacts.toml"
    file.write_text("mine")
    failed = shop("line", "suggest", "nobody", "--output", str(file))
    assert (failed.code, file.read_text()) == (2, "mine")
    done = shop("line", "suggest", "contacts", "--output", str(file))
    assert (done.code, done.out) == (0, f"wrote {file}\n")
    written = file.read_text()
    assert written == shop("line", "suggest", "contacts").out
    file.unlink()
    facts = shop("line", "suggest", "contacts", "--json", "--output", str(file)).json
    assert (facts["keys"], file.read_text()) == (["id"], written)


def test_a_document_that_names_nothing_is_refused(shop: Terminal) -> None:
    for text in ("", "# a comment\n"):
        refused = shop("apply", "-", stdin=text)
        assert refused.code == 2
        assert "the document names nothing" in refused.err
