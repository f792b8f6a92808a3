"""The page of pairs: its commands print what it shows."""

import re
import shlex
import sqlite3
from contextlib import closing
from pathlib import Path

from cli.conftest import Terminal
from docs.test_docs import ROOT, blocks
from outkey.spar import Spar
from outkey.testing.canary import Canaries

PAGE = ROOT / "docs" / "guide" / "pairs.md"
COMMAND = re.compile(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)  # and its output


def test_the_commands_of_the_page_print_what_it_shows(
    tmp_path: Path, canary: Canaries
) -> None:
    environment = {"ACME_TOKEN": "spar-token", "OUTKEY_DEMO": "1"}
    run = Terminal(tmp_path / "home", canary, environment)
    (document,) = blocks(PAGE, "toml")
    printed = []
    with Spar() as spar:
        file = tmp_path / "people.toml"
        file.write_text(document.replace("http://127.0.0.1:9000", spar.url))
        for command, output in COMMAND.findall("".join(blocks(PAGE, "console"))):
            program, *arguments = shlex.split(command.replace(file.name, str(file)))
            if program == "sqlite3":
                change(run, arguments[1])
            if program == "outkey":
                done = run(*arguments)
                assert done.code == 0, (command, done.err)
                assert done.out.rstrip("\n") == output.rstrip("\n"), command
                printed.append(command)
        names = [record["name"] for record in spar.stored.all()]
    assert names == ["Ada Lovelace", "Grace Hopper"]
    assert "outkey pair resolve people s1 host" in printed


def change(run: Terminal, statement: str) -> None:
    """Change a record, as the page does with the command sqlite3."""
    path = run.home / "data" / "outkey.sqlite3"
    with closing(sqlite3.connect(path, timeout=10)) as database, database:
        assert database.execute(statement).rowcount == 1
