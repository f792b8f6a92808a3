"""Pulls into tables and files, with an API and runs in memory."""

import json
import sqlite3
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path

import pytest

from outkey.administration.core.document.document import parse_document
from outkey.foundation.adapters.states_memory import MemoryStateRows
from outkey.foundation.core.errors import ConfigError, ConnectionFailed
from outkey.foundation.core.findings.checks import Level
from outkey.sending.adapters.secrets.secrets_reference import ReferencedSecrets
from outkey.sync.adapters.files.store import FileStore
from outkey.sync.adapters.tables.databases import NamedDatabases
from outkey.sync.adapters.tables.sqlite_files import SqliteFiles
from outkey.sync.adapters.tables.store import TableStore
from outkey.sync.core.databases.section import OtherDatabase
from outkey.sync.core.line.line import (
    INDEX,
    Children,
    Direction,
    FieldMapping,
    Gone,
    Incremental,
    Pagination,
    Sync,
    Transform,
)
from outkey.sync.core.mapping.records import HostRecord, Unseen, WriteOutcome
from outkey.sync.core.mapping.shape import shape_of
from outkey.sync.core.mapping.targets import parse_target
from outkey.sync.core.run.run import Counts, Run, RunState
from outkey.sync.engine.forms.unsaved_lines import DocumentLines
from outkey.sync.engine.runs.runner import SyncRunner
from outkey.sync.ports.sync import Key
from unit.sync.engine.pull.test_sync_run import (
    PAGES,
    Api,
    FakeSync,
    answer,
    fake_sync,
    people,
)

TARGET = "table:w.contacts"
ROWS = (FieldMapping("id", "number"), FieldMapping("v", "v"))
PULL = Sync(target=TARGET, keys=("number",), mappings=ROWS, pagination=PAGES)


@dataclass
class Made:
    """A line into a table or a file, and what its runs have changed of it."""

    sync: FakeSync
    tables: TableStore
    folder: Path
    changes: list[str]

    def run(self, *, dry_run: bool = False, allows_removal: bool = False) -> Run:
        self.changes.clear()
        *_, last = self.sync.runner.run(
            "contacts",
            "ada",
            dry_run=dry_run,
            note_change=self.changes.append,
            allows_removal=allows_removal,
        )
        return last

    def rows(self, target: str = TARGET) -> list[dict[str, object]]:
        found: list[HostRecord] = self.tables.rows(target, "", 100)
        return [dict(row.values) for row in found]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


def make(folder: Path, api: Api, sync: Sync = PULL) -> Made:
    fake = fake_sync(sync, api)
    settings = {"w": OtherDatabase("w", f"sqlite:///{folder / 'w.db'}")}
    named = NamedDatabases(
        lambda: settings, ReferencedSecrets().open_reference, SqliteFiles([folder])
    )
    states = MemoryStateRows()
    tables = TableStore(states, None, named, lambda run: fake.runs.get(run).line)
    files = FileStore(folder / "files")
    ports = replace(fake.ports, tables=tables, files=files)
    fake = replace(fake, runner=SyncRunner(ports), ports=ports)
    return Made(fake, tables, folder, [])


def test_the_first_values_tell_the_types_of_a_table(folder: Path) -> None:
    api = Api([{"id": 1, "v": None}, {"id": 2}, {"id": 3, "v": 7}])
    made = make(folder, api)
    assert made.run().counts == Counts(created=3)
    assert made.changes == [
        "table w.contacts: created: number number",
        "table w.contacts: column added: v number",
    ]
    assert [row["v"] for row in made.rows()] == [None, None, 7]
    assert made.run().counts == Counts(unchanged=3)
    assert made.changes == []


def test_later_values_widen_a_column(folder: Path) -> None:
    api = Api([{"id": 1, "v": 7}])
    made = make(folder, api)
    made.run()
    api.records += [
        {"id": 2, "v": 1.5},
        {"id": 3, "v": "x"},
        {"id": "4", "v": {"a": 1}},
    ]
    counts = made.run().counts
    assert (counts.created, counts.failed) == (3, 0)
    assert [change.partition("column ")[2] for change in made.changes] == [
        "v changed from number to decimal",
        "number changed from number to text",
        "v changed from decimal to text",
    ]
    rows = sorted(made.rows(), key=lambda row: str(row["number"]))
    assert [(row["number"], row["v"]) for row in rows] == [
        ("1", "7"),
        ("2", "1.5"),
        ("3", "x"),
        ("4", '{"a": 1}'),
    ]
    again = made.run()
    assert again.counts == Counts(unchanged=4)


def test_a_column_without_any_value_is_a_text_at_the_end(folder: Path) -> None:
    made = make(folder, Api([{"id": 1}]))
    made.run()
    assert made.changes[-1] == "table w.contacts: column added: v text"
    nothing = make(folder / "..", Api(), replace(PULL, target="table:w.empty"))
    nothing.run()
    assert nothing.changes == ["table w.empty: created: number text, v text"]


def test_a_dry_run_tells_what_it_would_make_and_makes_nothing(folder: Path) -> None:
    made = make(folder, Api([{"id": 1, "v": True}]))
    assert made.run(dry_run=True).counts == Counts(created=1)
    assert made.changes == [
        "table w.contacts: would be created: number number, v boolean"
    ]
    assert made.tables.targets() == []
    effects = made.sync.runner.preview("contacts")
    assert [effect.outcome for effect in effects] == [WriteOutcome.CREATED]
    made.run()
    assert made.run(dry_run=True).counts == Counts(unchanged=1)
    assert made.changes == []


def test_a_transform_and_a_constant_tell_the_type_themselves(folder: Path) -> None:
    rows = (
        FieldMapping("id", "number", Transform.NUMBER),
        FieldMapping("", "shop", Transform.CONSTANT, options={"value": "5"}),
        FieldMapping("born", "born", Transform.DATE),
    )
    sync = replace(PULL, mappings=rows)
    api = Api([{"id": 1, "born": "2000-01-02"}])
    made = make(folder, api, sync)
    made.run()
    assert made.changes == [
        "table w.contacts: created: number number, shop text, born date"
    ]
    api.records.append({"id": 2**70, "born": None})
    counts = made.run().counts
    # SQLite has no number of so many digits, and nothing is rounded.
    assert (counts.unchanged, counts.failed) == (1, 1)
    assert "number to decimal" in made.changes[0]
    assert [row["number"] for row in made.rows()] == [Decimal(1)]
    # As it is, where the column takes dates: a text that is none is rejected.
    as_is = (rows[0], rows[1], FieldMapping("born", "born"))
    made.sync.change(replace(sync, mappings=as_is))
    api.records[:] = [{"id": 1, "born": "2001-01-01"}, {"id": 3, "born": "soon"}]
    counts = made.run().counts
    assert (counts.updated, counts.failed) == (1, 1)


def test_a_change_of_type_is_refused_before_a_run(folder: Path) -> None:
    made = make(folder, Api([{"id": 1, "v": "x"}]))
    made.run()
    number = (ROWS[0], FieldMapping("v", "v", Transform.NUMBER))
    made.sync.change(replace(PULL, mappings=number))
    with pytest.raises(ConfigError, match="is text, and the line brings number"):
        made.run()


def test_a_lookup_finds_records_of_a_table(folder: Path) -> None:
    made = make(folder, Api(people(1, 2)))
    lookup = {"target": TARGET, "field": "number"}
    child = replace(
        PULL,
        target="table:w.orders",
        mappings=(
            FieldMapping("id", "number"),
            FieldMapping("owner", "owner", Transform.LOOKUP, options=lookup),
        ),
    )
    made.sync.change(child)
    with pytest.raises(ConfigError, match=r"there is no table w.contacts yet"):
        made.run()
    made.sync.change(PULL)
    made.run()
    made.sync.change(child)
    made.sync.world.transport.responses = Api(  # type: ignore[attr-defined]
        [{"id": 7, "owner": "2"}, {"id": 8, "owner": 9}]
    )
    counts = made.run().counts
    assert (counts.created, counts.failed) == (1, 1)
    assert [row["owner"] for row in made.rows("table:w.orders")] == [2]
    links = {field.name: str(field.kind) for field in made.tables.targets()[1].fields}
    assert links["owner"] == "link"


def test_a_table_archives_what_is_missing_upstream(folder: Path) -> None:
    api = Api(people(1, 2))
    made = make(folder, api, replace(PULL, gone=Gone.ARCHIVE, mappings=ROWS[:1]))
    made.run()
    del api.records[0]
    assert made.run().counts == Counts(unchanged=1, archived=1)
    assert [row["archived_at"] is None for row in made.rows()] == [False, True]


@pytest.mark.parametrize(
    ("gone", "count", "note"),
    [
        (Gone.ARCHIVE, 19, "missing upstream: 1 would be archived"),
        (Gone.DELETE, 18, "missing upstream: 2 would be deleted"),
        (Gone.KEEP, 18, None),
        (Gone.DELETE, 20, None),
        (
            Gone.DELETE,
            0,
            (
                "the API returned no record, so nothing is removed here. If it has"
                " none, run the line with --allow-removal"
            ),
        ),
        (
            Gone.ARCHIVE,
            5,
            (
                "missing upstream: 15; a run would remove none of them, since the guard"
                " permits 2"
            ),
        ),
    ],
)
def test_a_dry_run_tells_how_many_records_would_be_removed(
    folder: Path, gone: Gone, count: int, note: str | None
) -> None:
    api = Api(people(*range(20)))
    made = make(folder, api, replace(PULL, gone=gone))
    made.run()
    api.records[:] = people(*range(count))
    made.run(dry_run=True)
    assert made.changes == ([note] if note else [])
    assert len(made.rows()) == 20


def test_a_dry_run_that_finds_none_of_the_records_tells_of_no_removal(
    folder: Path,
) -> None:
    api = Api(people(1, 2))
    made = make(folder, api, replace(PULL, gone=Gone.DELETE))
    assert made.run(dry_run=True).counts == Counts(created=2)
    assert [change for change in made.changes if "missing" in change] == []
    made.run()
    api.records[:] = people(1)
    changes: list[str] = []
    [*_] = made.sync.runner.run(
        "contacts", "ada", dry_run=True, note_change=changes.append, allows_removal=True
    )
    assert changes == ["missing upstream: 1 would be deleted"]


def drop(folder: Path) -> None:
    with sqlite3.connect(folder / "w.db") as database:
        database.execute("DROP TABLE contacts")


def test_a_table_that_was_dropped_in_the_middle_of_a_run_has_every_record_at_the_end(
    folder: Path,
) -> None:
    api = Api(people(1, 2, 3, 4, 5))
    made = make(folder, api)
    api.odd = {3: ConnectionFailed()}
    with pytest.raises(ConnectionFailed):
        made.run()
    drop(folder)
    done = made.run()
    assert done.counts == Counts(created=5)
    assert len(made.rows()) == 5


def test_an_incremental_line_reads_everything_after_its_table_was_dropped(
    folder: Path,
) -> None:
    api = Api(people(1, 2, 3, at="2026-01-01"))
    at = FieldMapping("at", "changed_at")
    sync = replace(
        PULL,
        mappings=(ROWS[0], at),
        incremental=Incremental("since", "at"),
    )
    made = make(folder, api, sync)
    made.run()
    assert not made.run().is_full
    drop(folder)
    # Also if the first attempt fails after it has made the table again.
    api.odd = {len(api.asked) + 1: ConnectionFailed()}
    with pytest.raises(ConnectionFailed):
        made.run()
    done = made.run()
    assert (done.is_full, done.counts) == (True, Counts(created=3))
    assert not made.run().is_full


def test_a_retry_does_not_complete_a_table_that_was_dropped(folder: Path) -> None:
    api = Api([{"id": 1, "v": 1}, {"id": 2, "v": "x"}])
    numbers = (FieldMapping("id", "number"), FieldMapping("v", "v", Transform.NUMBER))
    made = make(folder, api, replace(PULL, mappings=numbers))
    run = made.run()
    drop(folder)
    api.records[1]["v"] = 2
    *_, retried = made.sync.runner.retry(run.id, "ada")
    assert retried.counts == Counts(created=1)
    assert made.tables.prepare(TARGET, shape_of(PULL)).is_partial
    made.run()
    assert len(made.rows()) == 2
    prepared = made.tables.prepare(TARGET, shape_of(PULL))
    assert not prepared.is_partial_for(run.line)


def test_a_push_reads_a_table_that_is_there(folder: Path) -> None:
    made = make(folder, Api(people(1)))
    push = replace(PULL, direction=Direction.PUSH, pagination=Pagination())
    made.sync.change(push, "POST")
    (finding,) = made.sync.runner.check("contacts")
    assert (finding.id, finding.level) == ("L039", Level.WARNING)
    with pytest.raises(ConfigError, match="not there yet"):
        made.run()
    made.sync.change(PULL)
    made.run()
    made.sync.change(push, "POST")
    assert made.run().counts == Counts(created=1)


def test_values_are_assigned_to_the_rows_of_a_table(folder: Path) -> None:
    made = make(folder, Api(people(1)))
    run = made.run()
    records = made.sync.ports.records
    (record,) = records.read(PULL.target, "", 9)
    assert {*records.assign(PULL.target, {record.id: {"v": "New"}}, run.id)} == {
        record.id
    }
    (record,) = records.read(PULL.target, "", 9)
    assert record.values["v"] == "New"


def test_an_installation_without_tables_refuses_them() -> None:
    fake = fake_sync(PULL, Api())
    with pytest.raises(ConfigError, match="no tables and files"):
        fake.run()


# ── files ────────────────────────────────────────────────────────────────────────────

FILE = replace(PULL, target="file:contacts.jsonl")


def lines_of(made: Made) -> list[dict[str, object]]:
    text = (made.folder / "files" / "contacts.jsonl").read_text()
    return [json.loads(line) for line in text.splitlines()]


def test_a_file_has_what_a_complete_run_brought(folder: Path) -> None:
    api = Api([{"id": 1, "v": 1}, {"id": 2, "v": 2.5}, {"id": 3, "v": "x"}])
    made = make(folder, api, FILE)
    assert made.run().counts == Counts(created=3)
    assert [line["v"] for line in lines_of(made)] == ["1", "2.5", "x"]
    del api.records[:2]
    made.run()
    assert lines_of(made) == [{"number": 3, "v": "x"}]
    assert made.run(dry_run=True).counts == Counts(created=1)


def test_a_run_that_is_continued_repeats_nothing_in_its_file(folder: Path) -> None:
    api = Api(people(1, 2, 3, 4, 5))
    made = make(folder, api, FILE)
    made.run()
    api.records[:] = people(3, 4, 5, 6)
    api.odd = {len(api.asked) + 2: ConnectionFailed()}
    with pytest.raises(ConnectionFailed):
        made.run()
    assert [line["number"] for line in lines_of(made)] == [1, 2, 3, 4, 5]
    made.run()
    assert [line["number"] for line in lines_of(made)] == [3, 4, 5, 6]


def test_a_file_whose_unfinished_part_is_lost_begins_again(folder: Path) -> None:
    api = Api(people(1, 2, 3))
    made = make(folder, api, FILE)
    api.odd = {2: ConnectionFailed()}
    with pytest.raises(ConnectionFailed):
        made.run()
    (folder / "files" / ".contacts.jsonl.unfinished").unlink()
    with pytest.raises(ConfigError, match="unfinished file"):
        made.run()
    assert made.run().counts == Counts(created=3)
    assert len(lines_of(made)) == 3


def test_an_api_without_records_does_not_empty_a_file(folder: Path) -> None:
    api = Api(people(1, 2, 3))
    made = make(folder, api, FILE)
    made.run()
    api.records.clear()
    assert made.run().counts == Counts()
    (note,) = made.changes
    assert str(note) == (
        "file contacts.jsonl: not replaced, since the run brought no record. If the"
        " API has none, run the line with --allow-removal"
    )
    assert len(lines_of(made)) == 3
    *_, done = made.sync.runner.run("contacts", "ada", allows_removal=True)
    assert (done.counts, lines_of(made)) == (Counts(), [])


def test_a_page_that_is_missing_after_a_full_one_does_not_shorten_a_file(
    folder: Path,
) -> None:
    api = Api(people(1, 2, 3, 4, 5))
    made = make(folder, api, FILE)
    made.run()
    api.asked.clear()
    api.odd = {2: answer({}, status=404)}
    assert made.run().state is RunState.DONE
    (note,) = made.changes
    assert str(note) == (
        "file contacts.jsonl: not replaced, since the run brought fewer records and"
        " the API refused the page after a full one, which may not be the end. Run the"
        " line again; if that was the last page, run it with --allow-removal"
    )
    assert len(lines_of(made)) == 5
    api.asked.clear()
    made.run(allows_removal=True)
    assert len(lines_of(made)) == 2


def test_an_api_that_refuses_the_page_after_the_last_one_still_updates_a_file(
    folder: Path,
) -> None:
    api = Api(people(1, 2))
    made = make(folder, api, FILE)
    for numbers in ((1, 2), (3, 4), (1, 2, 3, 4)):
        api.records = people(*numbers)
        api.asked.clear()
        api.odd = {len(numbers) // 2 + 1: answer({}, status=404)}
        made.run()
        assert [line["number"] for line in lines_of(made)] == [*numbers]
    assert made.changes == []


def test_a_file_of_unknown_size_is_not_replaced_after_a_doubtful_end(
    folder: Path,
) -> None:
    api = Api(people(1, 2))
    made = make(folder, api, FILE)
    made.run()
    (folder / "files" / ".contacts.jsonl.unfinished").write_bytes(b"no database")
    api.records = people(3, 4)
    api.asked.clear()
    api.odd = {2: answer({}, status=404)}
    made.run()
    assert [line["number"] for line in lines_of(made)] == [1, 2]


def test_a_run_that_rejected_every_record_does_not_empty_a_file(folder: Path) -> None:
    api = Api([{"id": 1, "v": 1}, {"id": 2, "v": 2}])
    numbers = (FieldMapping("id", "number"), FieldMapping("v", "v", Transform.NUMBER))
    made = make(folder, api, replace(FILE, mappings=numbers))
    made.run()
    api.records[:] = [{"id": 1, "v": "x"}, {"id": 2, "v": "y"}]
    assert made.run().cause == "all_refused"
    assert len(lines_of(made)) == 2


def test_a_file_has_no_retry_since_it_would_have_the_retried_records_only(
    folder: Path,
) -> None:
    api = Api([{"id": 1, "v": 1}, {"id": 2, "v": "x"}])
    numbers = (FieldMapping("id", "number"), FieldMapping("v", "v", Transform.NUMBER))
    made = make(folder, api, replace(FILE, mappings=numbers))
    run = made.run()
    assert run.counts == Counts(created=1, failed=1)
    with pytest.raises(ConfigError, match="snapshot"):
        next(made.sync.runner.retry(run.id, "ada"))
    assert len(lines_of(made)) == 1


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"gone": Gone.ARCHIVE}, "gone"),
        ({"gone": Gone.DELETE}, "gone"),
        ({"direction": Direction.PUSH}, "target"),
        ({"incremental": Incremental("since", "v")}, "incremental"),
    ],
)
def test_a_file_is_a_snapshot(
    folder: Path, change: dict[str, object], place: str
) -> None:
    made = make(folder, Api(), replace(FILE, **change))  # type: ignore[arg-type]
    findings = made.sync.runner.check("contacts")
    assert (Level.ERROR, place) in [(f.level, f.field) for f in findings]


# ── documents ────────────────────────────────────────────────────────────────────────

DOCUMENT = """
[database.w]
url = "env:W_URL"
[line.contacts]
configuration = "acme"
direction = "pull"
target = "table:w.contacts"
keys = ["number"]
fields = [{ api = "id", host = "number" }]
"""


def test_a_line_in_a_database_of_the_same_document_is_checked_when_that_is_saved(
    folder: Path,
) -> None:
    made = make(folder, Api())
    document = parse_document(DOCUMENT)
    registry = made.sync.world.ports.configurations
    new = DocumentLines(registry, document)  # type: ignore[arg-type]
    assert list(new.findings(made.sync.runner)) == []
    known = DocumentLines(registry, document, ["w"])  # type: ignore[arg-type]
    runner = SyncRunner(replace(made.sync.ports, configurations=known, tables=None))
    ((_, finding),) = known.findings(runner)
    assert finding.field == "line.contacts.target"


def test_a_database_that_is_down_is_a_warning_about_its_lines(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = make(folder, Api())
    lines = DocumentLines(
        made.sync.world.ports.configurations,  # type: ignore[arg-type]
        parse_document(DOCUMENT),
        ["w"],
    )
    (folder / "w.db").mkdir()  # no database can be opened there
    runner = SyncRunner(replace(made.sync.ports, configurations=lines))
    ((_, finding),) = lines.findings(runner)
    assert (finding.level, finding.field) == (Level.WARNING, "line.contacts.target")
    assert "the database w" in finding.message


# ── all targets under one interface ──────────────────────────────────────────────────


def test_the_name_of_a_target_tells_where_its_records_are(folder: Path) -> None:
    made = make(folder, Api(people(1, 2)))
    made.run()
    targets = made.sync.ports.records
    assert {target.name for target in targets.targets()} >= {TARGET, "contact"}
    assert targets.unseen(TARGET, "contacts", "1") == Unseen(missing=0, total=2)
    assert targets.present(TARGET, ["1", "9"]) == {"1"}
    kept: dict[Key, list[Key]] = {(1,): []}
    assert targets.delete_children(TARGET, ["number"], ["v"], kept) == 1
    with targets.transaction([TARGET]), targets.transaction(["contact"]):
        pass
    with pytest.raises(ConfigError, match="same place"):
        targets.transaction([TARGET, "contact"])
    targets.begin("contact", "1")  # a model is as it is
    targets.complete("contact", "1")


@pytest.mark.parametrize(
    "name", ["", "a-b", "a.b.c.d", "1a", "x" * 59, "w." + "x" * 64]
)
def test_what_no_table_can_be_called_is_refused(name: str) -> None:
    with pytest.raises(ConfigError):
        parse_target(f"table:{name}")


def test_children_whose_keys_a_table_has_as_texts_stay(folder: Path) -> None:
    lines = Children(
        list="lines",
        target="table:w.lines",
        parent=("contact",),
        keys=("contact", "position"),
        mappings=(FieldMapping(INDEX, "position"), FieldMapping("@", "sku")),
    )
    api = Api([{"id": 1, "v": 1, "lines": ["a"]}, {"id": "A3", "v": 1, "lines": ["b"]}])
    made = make(folder, api, replace(PULL, children=(lines,)))
    for _ in range(2):
        assert made.run().counts.children.deleted == 0
        assert [row["sku"] for row in made.rows("table:w.lines")] == ["a", "b"]
