"""A pair whose records are in another database, which commits before the host's own."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from outkey.foundation.adapters.states_memory import MemoryStateRows
from outkey.sending.adapters.secrets.secrets_reference import ReferencedSecrets
from outkey.sync.adapters.tables.databases import NamedDatabases
from outkey.sync.adapters.tables.sqlite_files import SqliteFiles
from outkey.sync.adapters.tables.store import TableStore
from outkey.sync.core.databases.section import OtherDatabase
from outkey.sync.core.pairs.journal import PairJournal, stored_journal
from outkey.sync.core.pairs.pairs import PairAgreement
from outkey.sync.core.pairs.section import ConflictRule
from outkey.sync.core.push.ledger import LedgerEntry
from outkey.sync.engine.runs.runner import SyncRunner
from outkey.sync.engine.targets import Targets
from outkey.sync.ports.sync import PairQuery
from unit.sync.engine.pairs.test_pair_runs import PULL, PUSH, PairOfLines

TARGET = "table:w.contacts"


class Killed(BaseException):
    """The process ends here."""


def opened(folder: Path, rule: ConflictRule = ConflictRule.HOST) -> PairOfLines:
    """Return a pair in a SQLite of its own, whose sides both have n1 and n2."""
    made = PairOfLines(
        rule, pull=replace(PULL, target=TARGET), push=replace(PUSH, target=TARGET)
    )
    settings = {"w": OtherDatabase("w", f"sqlite:///{folder / 'w.db'}")}
    files = SqliteFiles([folder])
    named = NamedDatabases(lambda: settings, ReferencedSecrets().open_reference, files)
    runs = made.memory.runs
    tables = TableStore(MemoryStateRows(), None, named, lambda run: runs.get(run).line)
    made.ports = replace(made.ports, tables=tables)
    made.runner = SyncRunner(made.ports)
    for number in ("n1", "n2"):
        made.api.orders[number] = {"number": number, "name": f"Name {number}"}
    made.run()
    assert ours(made) == made.theirs()
    assert made.api.writes() == []
    return made


def ours(made: PairOfLines) -> dict[str, object]:
    records = made.ports.records.read(TARGET, "", 100)
    return {str(one.values["number"]): one.values["name"] for one in records}


def kill_a_pull(made: PairOfLines, monkeypatch: pytest.MonkeyPatch) -> None:
    """End a pull after the other database has committed its page."""
    transaction = Targets.transaction

    @contextmanager
    def die_after_it(*args: Any) -> Iterator[None]:  # noqa: ANN401 - of the method
        with transaction(*args):
            yield
        raise Killed

    monkeypatch.setattr(Targets, "transaction", die_after_it)
    with pytest.raises(Killed):
        made.run()
    monkeypatch.setattr(Targets, "transaction", transaction)
    made.clock.advance(3600)


def test_a_push_after_a_killed_pull_creates_nothing_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = opened(tmp_path)
    made.api.orders["n3"] = {"number": "n3", "name": "New at the API"}
    kill_a_pull(made, monkeypatch)
    assert ours(made) == made.theirs()
    list(made.runner.run("send orders", "ada"))
    made.run()
    assert made.api.writes() == []
    assert ours(made) == made.theirs()


def test_what_a_killed_pull_wrote_is_no_edit_of_a_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = opened(tmp_path)
    made.api.orders["n1"]["name"] = "First"
    kill_a_pull(made, monkeypatch)
    made.api.orders["n1"]["name"] = "Second"
    made.run()
    assert ours(made)["n1"] == "Second"
    assert made.api.writes() == []


@pytest.mark.parametrize("is_known", [True, False])
def test_what_was_stored_or_is_of_another_installation_is_not_stored(
    tmp_path: Path, *, is_known: bool
) -> None:
    made = opened(tmp_path)
    (run,) = made.memory.runs.newest(1, line="orders")
    journal = PairJournal(
        run=run.id if is_known else "999",
        pages=0,
        deleted=(),
        agreements=[PairAgreement("7", "n7")],
        entries=[LedgerEntry("7", "digest", "r7")],
    )
    assert stored_journal(journal.as_text()) == replace(journal, deleted=[])
    made.ports.records.put_journal(TARGET, "orders", journal.as_text())
    list(made.runner.run("send orders", "ada"))
    assert made.ports.records.journal(TARGET, "orders") == ""
    assert made.memory.pairs.find(PairQuery("send orders", keys=["n7"])) == []
    assert made.ports.ledger.read("send orders", ["7"]) == {}
    assert made.api.writes() == []
