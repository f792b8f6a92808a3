"""The contract suite of a host's own records, used like those of `contracts`."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import ClassVar

import pytest

from outkey.foundation.core.errors import ConfigError
from outkey.sync.core.line.line import Gone
from outkey.sync.core.mapping.records import (
    FieldKind,
    HostField,
    HostRecord,
    Unseen,
    WriteOutcome,
    Written,
    find_target,
)
from outkey.sync.ports.sync import Key, Records

TARGET = "demo.contact"
# The fields that the suite needs, besides fields that are not required.
FIELDS = (
    HostField("external_id", "external id", FieldKind.TEXT, required=True, longest=40),
    HostField("name", "name", FieldKind.TEXT, required=True, longest=80),
    HostField("credit", "credit", FieldKind.DECIMAL),
)
_NAMES = {field.name for field in FIELDS}
_KEYS = ("external_id",)
_CREATED = Written(WriteOutcome.CREATED)
_UPDATED = Written(WriteOutcome.UPDATED)
_UNCHANGED = Written(WriteOutcome.UNCHANGED)


def contact(number: object, **values: object) -> dict[str, object]:
    """Return a row of the target."""
    return {"external_id": f"c-{number}", "name": f"Contact {number}", **values}


def _has_values_of(record: HostRecord, known: HostRecord) -> bool:
    """Whether it is the same record; it may also have times that the host sets."""
    values = {name: record.values[name] for name in known.values}
    return HostRecord(record.id, values) == known


class RecordsContract(ABC):
    """The promises of every host about its own records."""

    target: ClassVar[str] = TARGET
    unknown: ClassVar[str] = "nobody.knows"
    fields: ClassVar[tuple[HostField, ...]] = FIELDS

    @abstractmethod
    def make(self) -> Records:
        """Return records with an empty target of these fields that can be archived."""

    @abstractmethod
    def begin_run(self, line: str) -> str:
        """Return the id of a new run of the line `contacts` or `others`."""

    def test_its_targets_are_described(self) -> None:
        records = self.make()
        assert self.target in [target.name for target in records.targets()]
        target = find_target(records.targets(), self.target)
        fields = {field.name: field for field in target.fields}
        assert [fields[field.name] for field in self.fields] == list(self.fields)
        assert all(
            not field.required for name, field in fields.items() if name not in _NAMES
        )

    def test_what_is_not_open_is_refused(self) -> None:
        records = self.make()
        run = self.begin_run("contacts")
        for refused in (
            lambda: find_target(records.targets(), self.unknown),
            lambda: records.read(self.unknown, "", 10),
            lambda: records.upsert(self.unknown, _KEYS, [contact(1)], run),
            lambda: records.upsert(self.unknown, _KEYS, [contact(1)], "", dry_run=True),
            lambda: records.retire(self.unknown, "contacts", run, Gone.ARCHIVE),
            lambda: records.matching(self.unknown, _KEYS, [("c-1",)]),
            lambda: records.missing(self.unknown, "contacts", run, "", 10),
            lambda: records.find(self.unknown, "name", ["x"]),
            lambda: records.find(self.target, "nothing", ["x"]),
            lambda: records.upsert(self.target, ("nothing",), [contact(1)], run),
            lambda: records.upsert(self.target, _KEYS, [contact(1, nothing="x")], run),
        ):
            with pytest.raises(ConfigError):
                refused()
        assert records.read(self.target, "", 10) == []

    def test_a_row_is_created_once_then_unchanged_and_updated_where_it_differs(
        self,
    ) -> None:
        records = self.make()
        run = self.begin_run("contacts")
        rows = [contact(1), contact(2)]
        assert list(records.upsert(self.target, _KEYS, rows, run)) == [
            _CREATED,
            _CREATED,
        ]
        assert list(records.upsert(self.target, _KEYS, rows, run)) == [
            _UNCHANGED,
            _UNCHANGED,
        ]
        rows[1]["name"] = "Another"
        again = records.upsert(
            self.target, _KEYS, [*rows, contact(3)], self.begin_run("contacts")
        )
        assert list(again) == [_UNCHANGED, _UPDATED, _CREATED]
        assert [written.changed for written in again] == [(), ("name",), ()]
        assert self._names(records) == ["Contact 1", "Another", "Contact 3"]

    def test_a_field_that_is_not_mapped_stays_as_it_is(self) -> None:
        records = self.make()
        run = self.begin_run("contacts")
        records.upsert(self.target, _KEYS, [contact(1, credit=Decimal("1.50"))], run)
        records.upsert(self.target, _KEYS, [contact(1, name="Another")], run)
        (record,) = records.read(self.target, "", 10)
        assert record.values["credit"] == Decimal("1.50")

    def test_a_row_that_is_refused_takes_no_other_with_it(self) -> None:
        records = self.make()
        run = self.begin_run("contacts")
        for values, field in self._unfit_values():
            rows = [contact(1), contact(2) | values, contact(3)]
            first, refused, last = records.upsert(self.target, _KEYS, rows, run)
            assert WriteOutcome.REFUSED not in (first.outcome, last.outcome)
            assert (refused.outcome, refused.field) == (WriteOutcome.REFUSED, field)
            assert refused.reason
            assert "hunter2" not in refused.reason
        assert self._names(records) == ["Contact 1", "Contact 3"]

    def _unfit_values(self) -> Iterator[tuple[dict[str, object], str]]:
        yield {"credit": "hunter2"}, "credit"
        for field in self.fields:
            if field.required:
                yield {field.name: None}, field.name
                yield {field.name: ""}, field.name
            if field.longest is not None:
                yield {field.name: "x" * (field.longest + 1)}, field.name

    def _unfit_key(self) -> str | None:
        """Return a text that is too long for the key; None if none is."""
        (field,) = [field for field in self.fields if field.name == "external_id"]
        return None if field.longest is None else "x" * (field.longest + 1)

    def test_a_new_record_needs_all_that_is_required(self) -> None:
        if [field.name for field in self.fields if field.required] == [*_KEYS]:
            return  # a table needs the keys only
        records = self.make()
        run = self.begin_run("contacts")
        (refused,) = records.upsert(self.target, _KEYS, [{"external_id": "c-1"}], run)
        assert (refused.outcome, refused.field) == (WriteOutcome.REFUSED, "name")
        records.upsert(self.target, _KEYS, [contact(1)], run)
        assert list(
            records.upsert(self.target, _KEYS, [{"external_id": "c-1"}], run)
        ) == [_UNCHANGED]

    def test_of_two_rows_with_the_same_keys_the_later_one_stays(self) -> None:
        records = self.make()
        run = self.begin_run("contacts")
        rows = [contact(1), contact(1, name="Later"), contact(1, name="Later")]
        written = records.upsert(self.target, _KEYS, rows, run)
        assert list(written) == [_CREATED, _UPDATED, _UNCHANGED]
        assert self._names(records) == ["Later"]

    def test_a_comparison_tells_before_and_after_and_writes_nothing(self) -> None:
        records = self.make()
        run = self.begin_run("contacts")
        records.upsert(self.target, _KEYS, [contact(1), contact(2)], run)
        rows = [
            contact(1),
            contact(2, name="Another"),
            contact(3),
            contact(4, credit="hunter2"),
        ]
        compared = records.upsert(self.target, _KEYS, rows, "", dry_run=True)
        outcomes = [written.outcome for written in compared]
        assert outcomes == [
            WriteOutcome.UNCHANGED,
            WriteOutcome.UPDATED,
            WriteOutcome.CREATED,
            WriteOutcome.REFUSED,
        ]
        created: Mapping[str, object] = {
            "external_id": (None, "c-3"),
            "name": (None, "Contact 3"),
        }
        assert compared[1].changed == ("name",)
        changes = [dict(written.changes) for written in compared]
        assert changes == [{}, {"name": ("Contact 2", "Another")}, created, {}]
        assert self._names(records) == ["Contact 1", "Contact 2"]

    def test_records_are_read_one_part_after_the_other(self) -> None:
        records = self.make()
        run = self.begin_run("contacts")
        records.upsert(self.target, _KEYS, [contact(n) for n in range(12)], run)
        keys = []
        after = ""
        while part := records.read(self.target, after, 5):
            assert len(part) <= 5
            keys += [record.values["external_id"] for record in part]
            after = part[-1].id
        assert sorted(map(str, keys)) == sorted(f"c-{n}" for n in range(12))

    def test_records_are_found_by_the_value_of_a_field_unless_two_have_it(self) -> None:
        records = self.make()
        run = self.begin_run("contacts")
        rows = [contact(1), contact(2), contact(3, name="Contact 2")]
        records.upsert(self.target, _KEYS, rows, run)
        ids = {
            record.values["external_id"]: record.id
            for record in records.read(self.target, "", 9)
        }
        by_key = records.find(
            self.target, "external_id", ["c-1", "c-3", "c-9", "", "x" * 99]
        )
        assert {value: str(record) for value, record in by_key.items()} == {
            "c-1": ids["c-1"],
            "c-3": ids["c-3"],
        }
        by_name = records.find(self.target, "name", ["Contact 1", "Contact 2"])
        assert {name: str(record) for name, record in by_name.items()} == {
            "Contact 1": ids["c-1"]
        }

    def test_what_a_line_brought_and_does_not_see_any_more_is_archived_once(
        self,
    ) -> None:
        records = self.make()
        records.upsert(
            self.target, _KEYS, [contact(1), contact(2)], self.begin_run("contacts")
        )
        records.upsert(self.target, _KEYS, [contact(3)], self.begin_run("others"))
        run = self.begin_run("contacts")
        records.upsert(self.target, _KEYS, [contact(2)], run)
        assert records.unseen(self.target, "contacts", run) == Unseen(
            missing=1, total=2
        )
        archived = [
            records.retire(self.target, "contacts", run, Gone.ARCHIVE) for _ in range(2)
        ]
        assert archived == [1, 0]
        assert records.unseen(self.target, "contacts", run) == Unseen(
            missing=0, total=1
        )

    def test_what_a_line_brought_and_does_not_see_any_more_is_deleted_once(
        self,
    ) -> None:
        records = self.make()
        first = self.begin_run("contacts")
        records.upsert(self.target, _KEYS, [contact(1), contact(2)], first)
        records.upsert(self.target, _KEYS, [contact(3)], self.begin_run("others"))
        run = self.begin_run("contacts")
        records.upsert(self.target, _KEYS, [contact(2)], run)
        deleted = [
            records.retire(self.target, "contacts", run, Gone.DELETE) for _ in range(2)
        ]
        assert deleted == [1, 0]
        assert self._names(records) == ["Contact 2", "Contact 3"]

    def test_the_id_of_a_deleted_record_is_not_used_again(self) -> None:
        records = self.make()
        first = self.begin_run("contacts")
        records.upsert(self.target, _KEYS, [contact(1), contact(2)], first)
        ids = {record.id for record in records.read(self.target, "", 9)}
        run = self.begin_run("contacts")
        records.upsert(self.target, _KEYS, [contact(1)], run)
        records.retire(self.target, "contacts", run, Gone.DELETE)
        records.upsert(self.target, _KEYS, [contact(3)], run)
        (_, new) = records.read(self.target, "", 9)
        assert new.id not in ids

    def test_archived_and_deleted_records_are_not_present(self) -> None:
        records = self.make()
        rows = [contact(number) for number in range(3)]
        records.upsert(self.target, _KEYS, rows, self.begin_run("contacts"))
        ids = [record.id for record in records.read(self.target, "", 9)]
        run = self.begin_run("contacts")
        records.upsert(self.target, _KEYS, rows[:2], run)
        records.retire(self.target, "contacts", run, Gone.ARCHIVE)
        assert {*records.present(self.target, [*ids, "999"])} == {*ids[:2]}
        assert {*records.by_id(self.target, [*ids, "999"])} == {*ids}
        records.retire(self.target, "contacts", self.begin_run("contacts"), Gone.DELETE)
        assert {*records.by_id(self.target, ids)} == {ids[2]}

    def test_records_are_found_by_their_keys_archived_ones_too(self) -> None:
        records = self.make()
        rows = [contact(number) for number in range(3)]
        records.upsert(self.target, _KEYS, rows, self.begin_run("contacts"))
        read = records.read(self.target, "", 9)
        run = self.begin_run("contacts")
        records.upsert(self.target, _KEYS, rows[:2], run)
        records.retire(self.target, "contacts", run, Gone.ARCHIVE)
        keys = [tuple(row[name] for name in _KEYS) for row in [*rows, contact(9)]]
        found = records.matching(self.target, _KEYS, keys)
        assert [found[key].id for key in keys[:3]] == [record.id for record in read]
        assert _has_values_of(found[keys[0]], read[0])
        assert keys[3] not in found
        unfit = ("x" * 999,)
        assert records.matching(self.target, _KEYS, [unfit]) == {}
        assert records.matching(self.target, _KEYS, []) == {}

    def test_records_are_found_by_their_ids_archived_ones_too(self) -> None:
        records = self.make()
        rows = [contact(number) for number in range(2)]
        records.upsert(self.target, _KEYS, rows, self.begin_run("contacts"))
        read = records.read(self.target, "", 9)
        run = self.begin_run("contacts")
        records.upsert(self.target, _KEYS, rows[:1], run)
        records.retire(self.target, "contacts", run, Gone.ARCHIVE)
        ids = [record.id for record in read]
        found = records.by_id(self.target, [*ids, "999"])
        assert {*found} == {*ids}
        # It may return more: the moments that a host sets itself.
        assert read[0].values.items() <= found[ids[0]].values.items()
        assert found[ids[1]].values["name"] == "Contact 1"
        assert records.by_id(self.target, []) == {}

    def test_values_are_assigned_to_records_by_their_ids(self) -> None:
        records = self.make()
        rows = [contact(number) for number in range(3)]
        records.upsert(self.target, _KEYS, rows, self.begin_run("contacts"))
        first, second, third = (r.id for r in records.read(self.target, "", 9))
        assigned = records.assign(
            self.target,
            {
                first: {"external_id": "other"},
                second: {"external_id": self._unfit_key()},
                third: {"external_id": ""},
                "999": {"external_id": "nobody's"},
            },
            self.begin_run("contacts"),
        )
        assert {*assigned} == {first}
        found = records.by_id(self.target, [first, second, third])
        keys = [found[record].values["external_id"] for record in found]
        assert sorted(map(str, keys)) == ["c-1", "c-2", "other"]
        assert found[first].values["name"] == "Contact 0"

    def test_a_record_that_is_assigned_to_is_marked_as_seen(self) -> None:
        records = self.make()
        rows = [contact(number) for number in range(2)]
        records.upsert(self.target, _KEYS, rows, self.begin_run("contacts"))
        first, second = records.read(self.target, "", 9)
        run = self.begin_run("contacts")
        assert {*records.assign(self.target, {}, run)} == set()
        assert {*records.assign(self.target, {first.id: {}}, run)} == {first.id}
        assert {*records.assign(self.target, {"999": {}}, run)} == set()
        found = records.by_id(self.target, [first.id])
        assert first.values.items() <= found[first.id].values.items()
        assert records.unseen(self.target, "contacts", run) == Unseen(1, 2)
        records.retire(self.target, "contacts", run, Gone.DELETE)
        assert list(records.read(self.target, "", 9)) == [first]
        assert {*records.by_id(self.target, [second.id])} == set()

    def test_what_a_line_brought_and_a_run_has_not_seen_is_missing(self) -> None:
        records = self.make()
        rows = [contact(number) for number in range(4)]
        records.upsert(self.target, _KEYS, rows, self.begin_run("contacts"))
        read = records.read(self.target, "", 9)
        run = self.begin_run("contacts")
        records.upsert(self.target, _KEYS, rows[:1], run)
        first, second = records.missing(self.target, "contacts", run, "", 2)
        (third,) = records.missing(self.target, "contacts", run, second.id, 2)
        for record, known in zip((first, second, third), read[1:], strict=True):
            assert _has_values_of(record, known)
        records.retire(self.target, "contacts", run, Gone.ARCHIVE)
        assert list(records.missing(self.target, "contacts", run, "", 9)) == []

    def test_children_that_their_parent_no_longer_has_are_deleted(self) -> None:
        records = self.make()
        run = self.begin_run("contacts")
        rows = [contact(1, name="A"), contact(2, name="A"), contact(3, name="B")]
        records.upsert(self.target, _KEYS, rows, run)
        kept: dict[Key, list[Key]] = {("A",): [("c-2",)], ("C",): []}
        deleted = [
            records.delete_children(self.target, ["name"], _KEYS, kept)
            for _ in range(2)
        ]
        assert deleted == [1, 0]
        assert self._names(records) == ["A", "B"]

    def _names(self, records: Records) -> list[object]:
        rows = [record.values for record in records.read(self.target, "", 100)]
        rows.sort(key=lambda values: str(values["external_id"]))
        return [values["name"] for values in rows]
