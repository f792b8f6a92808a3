"""The hold of a restored installation, as users of a terminal and of pages see it."""

import sqlite3
from contextlib import closing

import pytest

from cli.conftest import Terminal
from programs import assert_program_passes

LINE = """
[line.contacts]
configuration = "acme"
direction = "pull"
path = "/records/contacts?count=3"
records = "items"
target = "table:contacts"
keys = ["id"]
fields = [{ api = "id", host = "id" }]
"""


@pytest.fixture
def held(ready: Terminal) -> Terminal:
    """A home that is on hold, with a line."""
    assert ready("apply", "-", stdin=LINE).code == 0
    file = ready.home / "data" / "outkey.sqlite3"
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute(
            "INSERT INTO outkey_sharedstate (kind, key, generation, value)"
            " VALUES ('hold', 'restored', 1, '{}')"
        )
    return ready


def test_a_line_is_refused_until_everything_is_resumed(held: Terminal) -> None:
    refused = held("line", "run", "contacts")
    assert refused.code == 2
    assert "error[on_hold]" in refused.err
    assert "outkey resume --all" in refused.err
    assert held("request", "acme", "/bearer").code == 0

    done = held("resume", "--all")
    assert (done.code, done.out.startswith("resumed: ")) == (0, True)
    assert held("line", "run", "contacts").code == 0
    again = held("resume", "--all", "--json")
    assert again.json == {"done": "unchanged"}
    resumed = [
        record
        for record in held("audit", "list", "--json").json
        if record["tag"] == "audit:installation:resumed"
    ]
    assert [record["actor"].partition(":")[0] for record in resumed] == ["cli"]


def test_the_doctor_reports_a_hold(held: Terminal) -> None:
    def ids() -> set[str]:
        findings = held("doctor", "--json").json["findings"]
        return {finding["id"] for finding in findings}

    assert "P-on-hold" in ids()
    held("resume", "--all")
    assert "P-on-hold" not in ids()


@pytest.mark.parametrize("arguments", [(), ("acme", "--all")])
def test_one_configuration_or_everything_is_resumed(
    held: Terminal, arguments: tuple[str, ...]
) -> None:
    refused = held("resume", *arguments)
    assert (refused.code, "--all" in refused.err) == (2, True)


def test_the_pages_say_what_to_do(held: Terminal) -> None:
    notes = assert_program_passes("cli/page_on_hold", held.home).stdout.splitlines()
    english, german = notes
    assert english.startswith("On hold. This installation was restored")
    assert german.startswith("Angehalten. Diese Installation wurde")
    assert all(note.endswith("outkey resume --all") for note in notes)
