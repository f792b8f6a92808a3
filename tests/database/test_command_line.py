"""The command line and the pages on PostgreSQL: the same commands, the same answers."""

import time
from pathlib import Path

import pytest

from browser.test_permissions import PROGRAMS
from cli.conftest import Terminal, document_for
from cli.test_token_processes import prepare, race
from database.conftest import Cluster
from outkey.spar import Spar
from outkey.testing.canary import Canaries
from programs import assert_program_passes


@pytest.fixture
def empty(postgresql: Cluster) -> str:
    """A database of its own, without tables."""
    return postgresql.create("commands")


def test_everything_an_operator_does_works_on_postgresql(
    empty: str, tmp_path: Path, canary: Canaries
) -> None:
    terminal = Terminal(tmp_path / "home", canary)

    def outkey(*arguments: str, stdin: str = "") -> str:
        done = terminal(*arguments, stdin=stdin, OUTKEY_DATABASE_URL=empty)
        assert done.code == 0, done.err
        return done.out

    with Spar() as spar:
        outkey("apply", "-", stdin=document_for(spar))
        outkey("secret", "set", "acme", "token", stdin="spar-token")
        outkey("secret", "set", "acme", "header:X-API-Key", stdin=canary.token())
        assert "accepted" in outkey("request", "acme", "/bearer")
        outkey("test", "acme")
        assert "working" in outkey("list")
        key = outkey("keys", "add").strip()
        outkey("keys", "promote", key)
        assert outkey("keys", "rewrap") == "rewrapped: 2 secrets\n"
        assert "accepted" in outkey("request", "acme", "/bearer")
        assert outkey("audit", "verify").startswith("clean")
        outkey("audit", "export")
        assert outkey("audit", "prune", "--days", "0", "--yes").startswith("removed: ")
        assert outkey("audit", "verify").startswith("clean: 1 record")
        assert "acme" in outkey("export")
        outkey("delete", "acme", "--yes")
    assert not (tmp_path / "home" / "data" / "outkey.sqlite3").exists()


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_pages_hold_on_postgresql(program: str, empty: str, tmp_path: Path) -> None:
    settings = {"OUTKEY_DATABASE_URL": empty}
    assert_program_passes(f"browser/{program}", tmp_path / "home", settings=settings)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://u:hunter2?x@h/d",
        "postgresql://u:hun/ter2@h:x/d",
        "mysql://u:hunter2@h/d",
        "postgresql://u:p@h/d?sslmode=require&passfile=hunter2",
        "postgresql://u:p@h/d#hunter2",
    ],
)
def test_an_address_that_is_none_is_refused_and_not_repeated(
    url: str, tmp_path: Path, canary: Canaries
) -> None:
    done = Terminal(tmp_path / "home", canary)(
        "list", "--json", OUTKEY_DATABASE_URL=url
    )
    assert done.code == 2
    assert done.json["error"]["code"] == "configuration"
    assert "hun" not in done.out + done.err


def test_a_database_that_does_not_answer_is_storage_unavailable(
    tmp_path: Path, canary: Canaries
) -> None:
    url = "postgresql://outkey:hunter2@127.0.0.1:1/outkey"
    done = Terminal(tmp_path / "home", canary)(
        "list", "--json", OUTKEY_DATABASE_URL=url
    )
    assert (done.code, done.json["error"]["code"]) == (5, "storage_unavailable")
    assert "hunter2" not in done.out + done.err


def test_the_address_of_a_database_can_demand_tls(
    empty: str, tmp_path: Path, canary: Canaries
) -> None:
    terminal = Terminal(tmp_path / "home", canary)
    done = terminal("list", OUTKEY_DATABASE_URL=f"{empty}?sslmode=disable")
    assert done.code == 0
    # This server has no TLS.
    for command in (["list"], ["backup", str(tmp_path / "copy")]):
        done = terminal(*command, OUTKEY_DATABASE_URL=f"{empty}?sslmode=require")
        assert done.code == 5


def test_processes_on_postgresql_get_one_token_and_keep_a_rotating_family_alive(
    empty: str, tmp_path: Path, canary: Canaries
) -> None:
    terminal = Terminal(tmp_path / "home", canary, {"OUTKEY_DATABASE_URL": empty})
    with Spar() as spar:
        prepare(terminal, spar, "refresh_token", "?lifetime=2&before=0.2")
        for number in (1, 2):
            assert race(terminal, processes=4, threads=3) == {200: 12}
            assert spar.authorization.counts().token_requests >= number
            time.sleep(2.1)
        counts = spar.authorization.counts()
    assert (counts.reuses, counts.dead_families) == (0, 0)
