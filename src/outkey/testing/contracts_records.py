"""The contract suite of a host's own records, used like those of `contracts`."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from decimal import Decimal

import pytest

from outkey.core.errors import ConfigError
from outkey.core.sync.records import (
    FieldKind,
    HostField,
    WriteOutcome,
    Written,
    find_target,
)
from outkey.ports.sync import Records

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


class RecordsContract(ABC):
    """What every host promises of its own records."""

    @abstractmethod
    def make(self) -> Records:
        """Return records with an empty target of these fields that can be archived."""

    @abstractmethod
    def begin_run(self, line: str) -> str:
        """Return the id of a new run of the line `contacts` or `others`."""

    def test_its_targets_are_described(self) -> None:
        records = self.make()
        assert TARGET in [target.name for target in records.targets()]
        target = find_target(records.targets(), TARGET)
        fields = {field.name: field for field in target.fields}
        assert [fields[field.name] for field in FIELDS] == list(FIELDS)
        assert all(
            not field.required for name, field in fields.items() if name not in _NAMES
        )

    def test_what_is_not_open_is_refused(self) -> None:
        records = self.make()
        run = self.begin_run("contacts")
        for refused in (
            lambda: find_target(records.targets(), "nobody.knows"),
            lambda: records.read("nobody.knows", "", 10),
            lambda: records.upsert("nobody.knows", _KEYS, [contact(1)], run),
            lambda: records.upsert(
                "nobody.knows", _KEYS, [contact(1)], "", dry_run=True
            ),
            lambda: records.archive("nobody.knows", "contacts", run),
            lambda: records.find("nobody.knows", "name", ["x"]),
            lambda: records.find(TARGET, "nothing", ["x"]),
            lambda: records.upsert(TARGET, ("nothing",), [contact(1)], run),
            lambda: records.upsert(TARGET, _KEYS, [contact(1, nothing="x")], run),
        ):
            with pytest.raises(ConfigError):
                refused()
        assert records.read(TARGET, "", 10) == []

    def test_a_row_is_created_once_then_unchanged_and_updated_where_it_differs(
        self,
    ) -> None:
        records = self.make()
        run = self.begin_run("contacts")
        rows = [contact(1), contact(2)]
        assert list(records.upsert(TARGET, _KEYS, rows, run)) == [_CREATED, _CREATED]
        assert list(records.upsert(TARGET, _KEYS, rows, run)) == [
            _UNCHANGED,
            _UNCHANGED,
        ]
        rows[1]["name"] = "Another"
        again = records.upsert(
            TARGET, _KEYS, [*rows, contact(3)], self.begin_run("contacts")
        )
        assert list(again) == [_UNCHANGED, _UPDATED, _CREATED]
        assert self._names(records) == ["Contact 1", "Another", "Contact 3"]

    def test_a_field_that_is_not_mapped_stays_as_it_is(self) -> None:
        records = self.make()
        run = self.begin_run("contacts")
        records.upsert(TARGET, _KEYS, [contact(1, credit=Decimal("1.50"))], run)
        records.upsert(TARGET, _KEYS, [contact(1, name="Another")], run)
        (record,) = records.read(TARGET, "", 10)
        assert record.values["credit"] == Decimal("1.50")

    def test_a_row_that_is_refused_takes_no_other_with_it(self) -> None:
        records = self.make()
        run = self.begin_run("contacts")
        for values, field in (
            ({"name": None}, "name"),
            ({"name": ""}, "name"),
            ({"name": "x" * 81}, "name"),
            ({"credit": "hunter2"}, "credit"),
            ({"external_id": ""}, "external_id"),
            ({"external_id": None}, "external_id"),
        ):
            rows = [contact(1), contact(2) | values, contact(3)]
            first, refused, last = records.upsert(TARGET, _KEYS, rows, run)
            assert WriteOutcome.REFUSED not in (first.outcome, last.outcome)
            assert (refused.outcome, refused.field) == (WriteOutcome.REFUSED, field)
            assert refused.reason
            assert "hunter2" not in refused.reason
        assert self._names(records) == ["Contact 1", "Contact 3"]

    def test_a_new_record_needs_all_that_is_required(self) -> None:
        records = self.make()
        run = self.begin_run("contacts")
        (refused,) = records.upsert(TARGET, _KEYS, [{"external_id": "c-1"}], run)
        assert (refused.outcome, refused.field) == (WriteOutcome.REFUSED, "name")
        records.upsert(TARGET, _KEYS, [contact(1)], run)
        assert list(records.upsert(TARGET, _KEYS, [{"external_id": "c-1"}], run)) == [
            _UNCHANGED
        ]

    def test_of_two_rows_with_the_same_keys_the_later_one_stays(self) -> None:
        records = self.make()
        run = self.begin_run("contacts")
        rows = [contact(1), contact(1, name="Later"), contact(1, name="Later")]
        written = records.upsert(TARGET, _KEYS, rows, run)
        assert list(written) == [_CREATED, _UPDATED, _UNCHANGED]
        assert self._names(records) == ["Later"]

    def test_a_comparison_tells_before_and_after_and_writes_nothing(self) -> None:
        records = self.make()
        run = self.begin_run("contacts")
        records.upsert(TARGET, _KEYS, [contact(1), contact(2)], run)
        rows = [
            contact(1),
            contact(2, name="Another"),
            contact(3),
            contact(4, name=None),
        ]
        compared = records.upsert(TARGET, _KEYS, rows, "", dry_run=True)
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
        changes = [dict(written.changes) for written in compared]
        assert changes == [{}, {"name": ("Contact 2", "Another")}, created, {}]
        assert self._names(records) == ["Contact 1", "Contact 2"]

    def test_records_are_read_one_part_after_the_other(self) -> None:
        records = self.make()
        run = self.begin_run("contacts")
        records.upsert(TARGET, _KEYS, [contact(n) for n in range(12)], run)
        keys = []
        after = ""
        while part := records.read(TARGET, after, 5):
            assert len(part) <= 5
            keys += [record.values["external_id"] for record in part]
            after = part[-1].id
        assert sorted(map(str, keys)) == sorted(f"c-{n}" for n in range(12))

    def test_records_are_found_by_the_value_of_a_field_unless_two_have_it(self) -> None:
        records = self.make()
        run = self.begin_run("contacts")
        rows = [contact(1), contact(2), contact(3, name="Contact 2")]
        records.upsert(TARGET, _KEYS, rows, run)
        ids = {
            record.values["external_id"]: record.id
            for record in records.read(TARGET, "", 9)
        }
        by_key = records.find(
            TARGET, "external_id", ["c-1", "c-3", "c-9", "", "x" * 99]
        )
        assert {value: str(record) for value, record in by_key.items()} == {
            "c-1": ids["c-1"],
            "c-3": ids["c-3"],
        }
        by_name = records.find(TARGET, "name", ["Contact 1", "Contact 2"])
        assert {name: str(record) for name, record in by_name.items()} == {
            "Contact 1": ids["c-1"]
        }

    def test_what_a_line_brought_and_does_not_see_any_more_is_archived_once(
        self,
    ) -> None:
        records = self.make()
        records.upsert(
            TARGET, _KEYS, [contact(1), contact(2)], self.begin_run("contacts")
        )
        records.upsert(TARGET, _KEYS, [contact(3)], self.begin_run("others"))
        run = self.begin_run("contacts")
        records.upsert(TARGET, _KEYS, [contact(2)], run)
        assert records.archive(TARGET, "contacts", run) == 1
        assert records.archive(TARGET, "contacts", run) == 0

    def _names(self, records: Records) -> list[object]:
        rows = [record.values for record in records.read(TARGET, "", 100)]
        rows.sort(key=lambda values: str(values["external_id"]))
        return [values["name"] for values in rows]
