"""Exports of the sparring provider: suggested, applied and pulled in every format."""

import pytest

from cli.conftest import Terminal
from cli.test_suggest_commands import CALL, apply, shop
from outkey.spar import Spar

__all__ = ["shop"]  # a fixture


@pytest.mark.parametrize(
    ("query", "written"),
    [
        ("format=csv", 'format = "csv"'),
        ("format=csv&packed=zip&delimiter=semicolon", 'delimiter = ";"'),
        ("format=jsonl&packed=gzip", 'format = "jsonl"'),
        ("format=xml", 'format = "xml"'),
    ],
)
def test_an_export_is_suggested_applied_and_pulled(
    shop: Terminal, spar: Spar, query: str, written: str
) -> None:
    apply(shop, spar, CALL.format(query=f"count=200&{query}"))
    if "packed=zip" in query:
        refused = shop("line", "suggest", "contacts")
        assert (refused.code, "has 2 files" in refused.err) == (1, True)
        line = CALL.format(query=f"count=200&{query}")
        pattern = 'direction = "pull"\nresponse = { file = "*.csv" }\n'
        target = 'target = "table:contacts"\nkeys = ["id"]\n'
        fields = 'fields = [{ api = "id", host = "id" }]\n'
        apply(shop, spar, line + pattern + target + fields)
    suggested = shop("line", "suggest", "contacts")
    assert suggested.code == 0, suggested.err
    assert written in suggested.out
    assert "format: " in suggested.err
    applied = shop("apply", "-", stdin=suggested.out)
    assert applied.code == 0, applied.err
    sample = shop("line", "run", "contacts", "--dry-run", "--json")
    assert (sample.code, sample.json["created"]) == (0, 200), sample.err
    run = shop("line", "run", "contacts", "--json")
    assert (run.code, run.json["created"], run.json["failed"]) == (0, 200, 0)
    assert shop("line", "run", "contacts", "--json").json["unchanged"] == 200


def test_pages_of_csv_follow_the_link_header(shop: Terminal, spar: Spar) -> None:
    line = CALL.format(query="count=25&style=link&per_page=10&format=csv")
    apply(shop, spar, line)
    suggested = shop("line", "suggest", "contacts")
    assert suggested.code == 0, suggested.err
    assert shop("apply", "-", stdin=suggested.out).code == 0
    run = shop("line", "run", "contacts", "--json")
    assert (run.json["created"], run.json["pages"]) == (25, 3)


@pytest.mark.parametrize("command", [("line", "run"), ("line", "suggest")])
def test_a_response_of_another_format_is_named(
    shop: Terminal, spar: Spar, command: tuple[str, str]
) -> None:
    line = CALL.format(query="count=3&format=csv") + (
        'direction = "pull"\ntarget = "table:contacts"\nkeys = ["id"]\n'
        'fields = [{ api = "id", host = "id" }]\nresponse = { format = "xml" }\n'
    )
    apply(shop, spar, line)
    refused = shop(*command, "contacts")
    assert refused.code == 1
    assert "the response is not XML" in refused.err
    assert "response.format" in refused.err
