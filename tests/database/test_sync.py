"""Synchronization on both databases: the contracts, and what is special to Django."""

import json
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import partial
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch
from urllib.parse import parse_qs, urlsplit

import pytest
from django.db import connection, models
from django.db.models import F
from hypothesis import given
from hypothesis import strategies as st

from database.conftest import stored_runs
from outkey.administration.core.findings.monitoring import run_conditions
from outkey.administration.ports.installation import LineRuns
from outkey.foundation.adapters.clock_system import SystemClock
from outkey.foundation.adapters.paths_jmespath import JmespathCompiler
from outkey.foundation.core.errors import (
    ConfigError,
    StorageUnavailable,
    SyncFailed,
    UnknownConfiguration,
)
from outkey.foundation.core.shared_state import StateKind
from outkey.foundation.ports.database import Database
from outkey.sending.core.request.message import Request, Response, ResponseHeaders
from outkey.sync.adapters.calendar_cronsim import CronCalendar
from outkey.sync.core.line.line import (
    Children,
    Direction,
    FieldMapping,
    Gone,
    Pagination,
    Paging,
    Sync,
    SyncLine,
    Writes,
)
from outkey.sync.core.mapping.records import FieldKind, WriteOutcome, Written
from outkey.sync.core.run.run import (
    ChildCounts,
    Counts,
    RejectedRecord,
    Run,
    RunState,
    group_rejections,
)
from outkey.sync.engine.line_registry import Registry
from outkey.sync.engine.pull.record_mapper import effect_of
from outkey.sync.engine.runs.line_plan import SyncPorts
from outkey.sync.engine.runs.runner import SyncRunner
from outkey.sync.engine.runs.runs import Runs
from outkey.sync.ports.sync import (
    Key,
    LedgerRows,
    LineRows,
    PairRows,
    ParentRows,
    Records,
    RunRows,
)
from outkey.testing import configuration, fake_gateway
from outkey.testing.contracts_ledger import LedgerRowsContract, StoredLedgerContract
from outkey.testing.contracts_pairs import PairRowsContract, StoredPairsContract
from outkey.testing.contracts_parents import (
    ParentRowsContract,
    StoredParentsContract,
)
from outkey.testing.contracts_records import RecordsContract, contact
from outkey.testing.contracts_runs import (
    LineRunsContract,
    RunRowsContract,
    RunsContract,
    insert,
)
from outkey.testing.fakes.sync import MemoryParentRows

if TYPE_CHECKING:
    from outkey.hosts.django.records.django_records import DjangoRecords

CONTACT, ORDER = "demo.contact", "demo.order"
KEYS = ("external_id",)
CREATED = Written(WriteOutcome.CREATED)
UPDATED = Written(WriteOutcome.UPDATED)
UNCHANGED = Written(WriteOutcome.UNCHANGED)
SYNC = Sync(
    Direction.PULL,
    CONTACT,
    KEYS,
    (FieldMapping("id", "external_id"), FieldMapping("n", "name")),
)


def make_lines() -> None:
    from outkey.hosts.django.rows.storage import django_storage

    registry = Registry(django_storage(), SystemClock())
    registry.add(configuration())
    for name in ("contacts", "others", "orders"):
        registry.put_line(SyncLine(name, "acme", "GET", "/x", SYNC))


def opened(**people: Any) -> "DjangoRecords":  # noqa: ANN401 - whoever has permissions
    from outkey.hosts.django.records.django_records import DjangoRecords

    return DjangoRecords(
        {"demo.Contact": {"active": False}, "demo.Order": {}}, **people
    )


class ShoutingKey(models.AutoField):  # type: ignore[type-arg]  # not generic at run time
    """A key that is stored in another form than Python has it."""


def begun(line: str = "contacts") -> str:
    """Return a new run's id; the one before it is over."""
    from outkey.hosts.django import models

    models.Run.objects.filter(state="running").update(state="done")
    return stored_runs().begin(line, "tester", dry_run=False).id


@pytest.mark.usefixtures("database")
class TestDjangoRecords(RecordsContract):
    def make(self) -> Records:
        make_lines()
        return opened()

    def begin_run(self, line: str) -> str:
        return begun(line)


@pytest.mark.usefixtures("database")
class TestDjangoRunRows(RunRowsContract):
    def make(self) -> tuple[RunRows, Database]:
        from outkey.hosts.django.rows.database import DjangoDatabase
        from outkey.hosts.django.rows.runs import DjangoRunRows

        make_lines()
        return DjangoRunRows(), DjangoDatabase()

    def leave_thread(self) -> None:
        connection.close()


@pytest.mark.usefixtures("database")
class TestDjangoPairRows(PairRowsContract, StoredPairsContract):
    def make(self) -> PairRows:
        from outkey.hosts.django.rows.pairs import DjangoPairRows

        make_lines()
        return DjangoPairRows()

    def lines(self) -> LineRows:
        from outkey.hosts.django.rows.storage import django_storage

        return django_storage().lines


@pytest.mark.usefixtures("database")
class TestDjangoParentRows(ParentRowsContract, StoredParentsContract):
    def make(self) -> ParentRows:
        from outkey.hosts.django.rows.parents import DjangoParentRows

        make_lines()
        return DjangoParentRows()

    def lines(self) -> LineRows:
        from outkey.hosts.django.rows.storage import django_storage

        return django_storage().lines


@pytest.mark.usefixtures("database")
class TestDjangoLedgerRows(LedgerRowsContract, StoredLedgerContract):
    def make(self) -> LedgerRows:
        from outkey.hosts.django.rows.ledger import DjangoLedgerRows

        make_lines()
        return DjangoLedgerRows()

    def lines(self) -> LineRows:
        from outkey.hosts.django.rows.storage import django_storage

        return django_storage().lines


@pytest.mark.usefixtures("database")
class TestDjangoLineRuns(LineRunsContract):
    def make(self) -> tuple[LineRuns, RunRows]:
        from outkey.hosts.django.rows.runs import DjangoLineRuns, DjangoRunRows

        make_lines()
        return DjangoLineRuns(), DjangoRunRows()


@pytest.mark.usefixtures("database")
class TestDjangoRuns(RunsContract):
    def make(self) -> Runs:
        make_lines()
        return stored_runs()

    def pass_time(self, seconds: float) -> None:
        from outkey.hosts.django import models
        from outkey.hosts.django.rows.shared_state import DjangoStateRows

        rows = models.Run.objects.all()
        rows.update(until=F("until") - seconds)
        rows.filter(state="waiting").update(started_at=F("started_at") - seconds)
        states = DjangoStateRows()
        for duty, state in states.read(StateKind.MARK).items():
            mark = {"at": state.value["at"] - seconds}
            states.put(StateKind.MARK, {duty: mark})

    def leave_thread(self) -> None:
        connection.close()


@pytest.fixture
def records(database: str) -> "DjangoRecords":
    make_lines()
    return opened()


@pytest.fixture
def runs(records: "DjangoRecords") -> Runs:
    return stored_runs()


def order(number: object, **values: object) -> dict[str, object]:
    return {"year": 2027, "number": number, **values}


ORDER_KEYS = ("year", "number")


def put(records: "DjangoRecords", target: str, **values: object) -> Written:
    """Upsert one row, and return what became of it."""
    start, keys = (contact(1), KEYS) if target == CONTACT else (order(1), ORDER_KEYS)
    (written,) = records.upsert(target, keys, [start | values], begun())
    return written


def refused(field: str, reason: str) -> Written:
    return Written(WriteOutcome.REFUSED, field, reason)


# ── what may be synchronized ──────────────────────────────────────────────────────────


def test_only_fields_that_may_be_synchronized_are_described(
    records: "DjangoRecords",
) -> None:
    known = {f.name: f for target in records.targets() for f in target.fields}
    assert {name: str(field.kind) for name, field in known.items()} == {
        "external_id": "text",
        "name": "text",
        "email": "text",
        "kind": "choice",
        "credit": "decimal",
        "born_on": "date",
        "active": "boolean",
        "year": "number",
        "number": "number",
        "contact": "link",
        "ordered_at": "datetime",
        "weight": "decimal",
        "details": "json",
        "note": "text",
        "reference": "text",
    }
    assert [name for name, f in known.items() if f.required] == [
        "external_id",
        "name",
        "year",
        "number",
    ]
    assert known["kind"].choices == ("person", "company")
    assert (known["contact"].target, known["contact"].kind) == (CONTACT, FieldKind.LINK)
    for hidden in ("id", "portal_password", "changed_at"):
        with pytest.raises(ConfigError):
            put(records, CONTACT, **{hidden: "x"})
    with pytest.raises(ConfigError, match="cannot be found"):
        records.find(ORDER, "details", ["x"])


def test_an_allow_list_that_is_wrong_is_refused(database: str) -> None:
    from outkey.hosts.django.records.django_records import DjangoRecords

    wrong: list[tuple[dict[str, Any], str]] = [
        ({"demo.Nobody": {}}, "no such model"),
        ({"nonsense": {}}, "no such model"),
        ({"outkey.Configuration": {}}, "own records"),
        ({"demo.Contact": {"name": False}}, "boolean field"),
        ({"demo.Contact": {"nobody": False}}, "boolean field"),
        ({"demo.Contact": {"active": "no"}}, "boolean field"),
        ({"demo.Contact": {"active": False, "name": True}}, "boolean field"),
    ]
    for allowed, reason in wrong:
        with pytest.raises(ConfigError, match=reason) as caught:
            DjangoRecords(allowed)
        assert caught.value.field == "RECORDS"


def test_nothing_is_open_unless_the_setting_says_so(database: str) -> None:
    from django.test import override_settings

    from outkey.hosts.django.wiring import records

    assert records().targets() == []
    with override_settings(OUTKEY={"RECORDS": {"demo.Order": {}}}):
        assert [target.name for target in records().targets()] == [ORDER]


def test_an_installation_checks_its_lines_by_the_models_that_are_open(
    records: "DjangoRecords", tmp_path: Path
) -> None:
    from django.test import override_settings

    from outkey.hosts.django import wiring

    application = wiring.install(tmp_path, {})
    for row in application.vouched_rows.changed():  # the fixture has no key
        assert application.vouched_rows.confirm(row)
    with override_settings(OUTKEY={"RECORDS": {"demo.Contact": {}}}):
        assert application.sync.runner().check("contacts") == []
        with pytest.raises(ConfigError, match="for the permission to view it"):
            application.sync.runner(wiring.records(Person())).check("contacts")
    with pytest.raises(ConfigError, match="not open"):
        application.sync.runner().check("contacts")
    application.audit.close()


class Person:
    def __init__(self, *permissions: str) -> None:
        self._permissions = {f"demo.{permission}" for permission in permissions}

    def has_perm(self, permission: str) -> bool:
        return permission in self._permissions


def test_a_person_needs_the_permissions_of_the_model(records: "DjangoRecords") -> None:
    run = begun()
    viewer = opened(person=Person("view_contact"))
    assert [target.name for target in viewer.targets()] == [CONTACT]
    assert [target.name for target in viewer.targets()] == [CONTACT]
    viewer.find(CONTACT, "name", ["x"])
    (written,) = viewer.upsert(CONTACT, KEYS, [contact(1)], "", dry_run=True)
    assert written.outcome is WriteOutcome.CREATED
    for some in (("view_contact", "add_contact"), ("change_contact",), ()):
        person = opened(person=Person(*some))
        with pytest.raises(ConfigError, match="permission is missing") as caught:
            person.upsert(CONTACT, KEYS, [contact(1)], run)
        assert "administrator" in caught.value.hint
    with pytest.raises(ConfigError):
        viewer.retire(CONTACT, "contacts", run, Gone.ARCHIVE)
    with pytest.raises(ConfigError):
        viewer.read(ORDER, "", 1)
    editor = opened(person=Person("view_contact", "add_contact", "change_contact"))
    assert [w.outcome for w in editor.upsert(CONTACT, KEYS, [contact(1)], run)] == [
        "created"
    ]


# ── values ────────────────────────────────────────────────────────────────────────────


BAD = [
    (CONTACT, "name", "a\x00b", "unstorable_character"),
    (CONTACT, "name", "\ud800", "unstorable_character"),
    (CONTACT, "name", ["a"], "invalid"),
    (CONTACT, "name", {"a": 1}, "invalid"),
    (CONTACT, "email", "nobody", "invalid"),
    (CONTACT, "kind", "robot", "unknown_choice"),
    (CONTACT, "credit", "1.005", "out_of_range"),
    (CONTACT, "credit", Decimal("1e30"), "out_of_range"),
    (CONTACT, "credit", Decimal("NaN"), "invalid"),
    (CONTACT, "credit", Decimal("Infinity"), "invalid"),
    (CONTACT, "credit", float("inf"), "invalid"),
    (CONTACT, "born_on", "2027-02-30", "invalid"),
    (CONTACT, "born_on", 7, "invalid"),
    (CONTACT, "active", "perhaps", "invalid"),
    (ORDER, "number", -1, "out_of_range"),
    (ORDER, "number", 10**30, "out_of_range"),
    (ORDER, "number", 1.5, "invalid"),
    (ORDER, "number", float("nan"), "invalid"),
    (ORDER, "number", "9" * 5000, "invalid"),
    (ORDER, "number", None, "missing"),
    (ORDER, "number", 0, "invalid"),  # by the model's own rule
    (ORDER, "weight", float("nan"), "invalid"),
    (ORDER, "weight", "1e999", "invalid"),
    (ORDER, "ordered_at", "yesterday", "invalid"),
    (ORDER, "ordered_at", 12, "invalid"),
    (ORDER, "contact", 77, "not_found"),
    (ORDER, "contact", 10**30, "out_of_range"),
    (ORDER, "contact", "hunter2", "invalid"),
    (ORDER, "details", {1, 2}, "invalid"),
    (ORDER, "details", {"a": [float("nan")]}, "invalid"),
    (ORDER, "details", {"a\x00": 1}, "unstorable_character"),
    (ORDER, "details", ["\ud800"], "unstorable_character"),
]


@pytest.mark.parametrize("target", [CONTACT, ORDER])
def test_a_bad_value_is_refused_by_field_and_reason_and_takes_no_other_with_it(
    records: "DjangoRecords", target: str
) -> None:
    keys, good = (KEYS, contact) if target == CONTACT else (ORDER_KEYS, order)
    bad = [
        (field, value, reason) for where, field, value, reason in BAD if where == target
    ]
    rows = [good(2 * n + 1) | {field: value} for n, (field, value, _) in enumerate(bad)]
    between = [good(2 * n + 2) for n in range(len(bad))]
    mixed = [row for pair in zip(rows, between, strict=True) for row in pair]
    written = records.upsert(target, keys, mixed, begun())
    assert {w.outcome for w in written[1::2]} == {WriteOutcome.CREATED}
    assert written[::2] == [refused(field, reason) for field, _, reason in bad]


def test_values_are_kept_as_the_fields_hold_them_and_the_same_again_is_unchanged(
    records: "DjangoRecords",
) -> None:
    put(records, CONTACT)
    (made,) = records.read(CONTACT, "", 1)
    given: dict[str, object] = {
        "contact": made.id,
        "ordered_at": "2027-01-31T10:00:00+02:00",
        "weight": Decimal("1.5"),
        "details": {"a": [1, None, "ä"]},
        "note": None,
        "reference": "",
        "number": "1",
    }
    assert put(records, ORDER, **given).outcome is WriteOutcome.CREATED
    assert put(records, ORDER, **given).outcome is WriteOutcome.UNCHANGED
    (kept,) = records.read(ORDER, "", 1)
    assert kept.values == {
        "year": 2027,
        "number": 1,
        "contact": int(made.id),
        "ordered_at": datetime(2027, 1, 31, 8, tzinfo=UTC),
        "weight": 1.5,
        "details": {"a": [1, None, "ä"]},
        "note": "",
        "reference": None,
    }
    assert (
        put(records, ORDER, contact=None, details=None).outcome is WriteOutcome.UPDATED
    )
    (kept,) = records.read(ORDER, "", 1)
    assert (kept.values["contact"], kept.values["details"]) == (None, {})
    values = {
        "credit": "12.5",
        "active": None,
        "kind": "person",
        "born_on": date(1980, 1, 2),
    }
    assert put(records, CONTACT, **values).outcome is WriteOutcome.UPDATED
    assert put(records, CONTACT, **values).outcome is WriteOutcome.UNCHANGED
    (kept,) = records.read(CONTACT, "", 1)
    assert (kept.values["credit"], kept.values["active"]) == (Decimal("12.50"), True)


@pytest.mark.parametrize("moment", [date(2027, 1, 31), datetime(2027, 1, 31)])  # noqa: DTZ001 - without a zone
def test_a_moment_without_a_zone_is_in_the_projects_own(
    records: "DjangoRecords", moment: date
) -> None:
    put(records, ORDER, ordered_at=moment)
    (kept,) = records.read(ORDER, "", 1)
    found = kept.values["ordered_at"]
    assert isinstance(found, datetime)
    assert found.utcoffset() is not None


def test_a_project_without_zones_gets_moments_without_them(database: str) -> None:
    from django.test import override_settings

    from outkey.hosts.demo_records.models import Order
    from outkey.hosts.django.records.fields import clean_value

    with override_settings(USE_TZ=False, TIME_ZONE="UTC"):
        made = clean_value(
            Order._meta.get_field("ordered_at"), datetime(2027, 1, 31, tzinfo=UTC)
        )
    assert made == datetime(2027, 1, 31)  # noqa: DTZ001 - that is the point


def test_a_moment_without_a_zone_is_read_in_the_zone_of_the_project(
    database: str, tmp_path: Path
) -> None:
    from django.test import override_settings

    from outkey.hosts.demo_records.models import Order
    from outkey.hosts.django.records.fields import clean_value
    from outkey.hosts.django.wiring import install
    from outkey.sync.core.mapping.versions import version_rank

    moment = datetime(2027, 7, 31, 8, tzinfo=UTC)
    with override_settings(USE_TZ=False, TIME_ZONE="Europe/Berlin"):
        made = clean_value(Order._meta.get_field("ordered_at"), moment)
        zone = install(tmp_path).sync_ports().zone
    assert str(zone) == "Europe/Berlin"
    assert version_rank(made, zone) == version_rank(moment)


# ── what the database and the models refuse ───────────────────────────────────────────


def test_a_value_that_another_record_has_is_refused_by_its_field(
    records: "DjangoRecords",
) -> None:
    run = begun()
    rows = [order(n, reference=f"r-{n}") for n in range(1, 21)]
    rows[7]["reference"] = "r-3"
    written = records.upsert(ORDER, ORDER_KEYS, rows, run)
    assert [w.outcome for w in written].count(WriteOutcome.CREATED) == 19
    assert written[7] == refused("reference", "taken")
    # Another key than the model's own: the pair of year and number is taken.
    (bad,) = records.upsert(ORDER, ("reference",), [order(1, reference="new")], run)
    assert bad == refused("", "taken")


def test_an_update_that_the_model_refuses_leaves_the_record_as_it_was(
    records: "DjangoRecords",
) -> None:
    run = begun()
    records.upsert(ORDER, ORDER_KEYS, [order(1, reference="r")], run)
    rows = [order(0, reference="r"), {"reference": "r", "year": 2028}]
    written = records.upsert(ORDER, ("reference",), rows, run)
    assert written == [refused("number", "invalid"), Written(WriteOutcome.UPDATED)]
    (kept,) = records.read(ORDER, "", 5)
    assert (kept.values["year"], kept.values["number"]) == (2028, 1)


def test_keys_that_two_records_have_are_not_guessed(records: "DjangoRecords") -> None:
    run = begun()
    records.upsert(ORDER, ORDER_KEYS, [order(1, note="x"), order(2, note="x")], run)
    (bad,) = records.upsert(ORDER, ("note",), [{"note": "x", "weight": 1}], run)
    assert bad == refused("note", "ambiguous")


def test_rows_without_their_keys_are_a_mistake_of_the_line(
    records: "DjangoRecords",
) -> None:
    for keys in ((), ("year", "number", "reference")):
        with pytest.raises(ConfigError, match="keys"):
            records.upsert(ORDER, keys, [order(1)], begun())
    with pytest.raises(ConfigError, match="no such run"):
        records.upsert(ORDER, ORDER_KEYS, [order(1)], "999")
    with pytest.raises(ConfigError, match="no such record"):
        records.read(ORDER, "nonsense", 5)


def test_a_record_that_somebody_else_creates_meanwhile_is_found_at_the_second_look(
    records: "DjangoRecords", monkeypatch: pytest.MonkeyPatch
) -> None:
    from outkey.hosts.django.records import upsert as module

    run = begun()
    records.upsert(CONTACT, KEYS, [contact(1)], run)
    real, looks = module.find_records, iter([{}])
    monkeypatch.setattr(
        module, "find_records", lambda *a, **k: next(looks, None) or real(*a, **k)
    )
    written = records.upsert(CONTACT, KEYS, [contact(n) for n in range(3)], run)
    assert [w.outcome for w in written] == ["created", "unchanged", "created"]


def test_what_breaks_in_the_host_for_one_row_refuses_that_row(
    records: "DjangoRecords", monkeypatch: pytest.MonkeyPatch
) -> None:
    from outkey.hosts.demo_records.models import Contact

    def clean(self: Contact) -> None:
        if self.external_id == "c-2":
            raise ValueError

    monkeypatch.setattr(Contact, "clean", clean)
    written = records.upsert(CONTACT, KEYS, [contact(n) for n in range(4)], begun())
    assert [w.outcome for w in written] == ["created", "created", "refused", "created"]


VALUES = (
    *(
        None,
        "",
        "x",
        "a b",
        "x" * 41,
        "person",
        "a\x00b",
        "\ud800",
        "line\nbreak",
        "7",
        "7.5",
    ),
    *(
        True,
        False,
        0,
        7,
        -7,
        2**70,
        1.5,
        float("nan"),
        Decimal("1.50"),
        Decimal("1.505"),
    ),
    *(
        Decimal("1E+20"),
        Decimal("NaN"),
        date(2026, 7, 1),
        datetime(2026, 7, 1, tzinfo=UTC),
    ),
    *([], {}, ["a"], {"a": 1}),
    *(
        "a@b.example",
        "a.b+c@x1.example.com",
        ".a@b.example",
        "a@b",
        "a@-b.example",
        "a@b_c.example",
    ),
    *(
        f"{'a' * 40}@{'b' * 63}.example",
        f"a@{'b' * 64}.example",
        f"a@{'b.' * 200}example",
        "@b.cd",
    ),
)


@pytest.mark.usefixtures("database")
def test_the_quick_way_to_clean_a_value_ends_like_the_long_one() -> None:
    from django.core.exceptions import ValidationError
    from django.core.validators import MaxLengthValidator, MinLengthValidator
    from django.db import models as django

    from outkey.hosts.demo_records.models import Contact, Order
    from outkey.hosts.django.records.fields import (
        clean_value,
        cleaner_of,
        fault_of,
        fields_of,
        plain_values,
    )

    class Loud(django.CharField):  # type: ignore[type-arg]  # Django's stubs want two
        def to_python(self, value: Any) -> Any:  # noqa: ANN401 - as Django has it
            return str(super().to_python(value)).upper()

    def no_seven(value: object) -> None:
        if "7" in str(value):
            raise ValueError

    def ended(clean: Any, value: object) -> tuple[str, object]:  # noqa: ANN401 - of two kinds
        try:
            made = clean(value)
        except ValidationError as error:
            return "refused", fault_of(error)
        return type(made).__name__, repr(made)

    fields = [
        *fields_of(Contact).values(),
        *fields_of(Order).values(),
        django.CharField(
            max_length=9, validators=[MinLengthValidator(2), MaxLengthValidator(5)]
        ),
        django.CharField(max_length=9, choices=lambda: [("x", "x")]),
        django.CharField(
            max_length=9, choices=[("group", [("x", "X"), ("7", "Seven")])]
        ),
        django.IntegerField(choices=[(7, "seven")], validators=[no_seven]),
        Loud(max_length=9),
    ]
    for field in fields:
        for value in VALUES:
            quick, long = cleaner_of(field), lambda v, f=field: clean_value(f, v)
            assert ended(quick, value) == ended(long, value), (field, value)
        plain = plain_values(field)
        for column in product(VALUES, repeat=2):
            if plain is not None and plain.are(column):
                stored = [clean_value(field, value) for value in column]
                assert list(map(repr, stored)) == list(map(repr, column)), field


@given(st.from_regex(r"[a-z.+-]{1,8}@[a-z0-9.-]{1,12}", fullmatch=True))
def test_no_address_is_plain_that_django_refuses(address: str) -> None:
    from django.core.validators import EmailValidator

    from outkey.hosts.django.records.fields import _PLAIN_EMAIL

    if _PLAIN_EMAIL.fullmatch(address):
        EmailValidator()(address)  # raises what it refuses
    assert not _PLAIN_EMAIL.fullmatch(f"{address}\n")


AWKWARD_TEXTS = [
    'a "quoted" \\ text',
    "{braces,and,commas}",
    "NULL",
    "null",
    " ends with a backslash \\",
    "%s and %(name)s and ?",
    "first line\nsecond\tcolumn",
    "Müller, 東京 and \U0001f600",
    "'; DROP TABLE demo_contact; --",
]


def test_new_records_of_a_page_are_stored_like_each_of_them_alone(
    records: "DjangoRecords", monkeypatch: pytest.MonkeyPatch
) -> None:
    from django.db.models import Model

    from outkey.hosts.demo_records.models import Order

    monkeypatch.setattr(Order, "clean", Model.clean)  # its rows need no instances then
    records.upsert(CONTACT, KEYS, [contact(1), contact(2)], begun())
    link, other = (int(one.id) for one in records.read(CONTACT, "", 2))
    moment = datetime(2026, 3, 29, 1, 30, tzinfo=UTC)
    rows = [
        order(
            number,
            note=text,
            reference=None if number % 2 else f"r{number}",
            contact=(None, link, other)[number % 3],
            ordered_at=None if number == 1 else moment,
            weight=None if number == 2 else number / 3,
            details={"text": text, "amount": [number, None, True]},
        )
        for number, text in enumerate(AWKWARD_TEXTS, start=1)
    ]

    def written_and_read(groups: list[list[dict[str, object]]]) -> object:
        for group in groups:
            written = records.upsert(ORDER, ORDER_KEYS, group, begun())
            assert {one.outcome for one in written} == {WriteOutcome.CREATED}
        stored = [one.values for one in records.read(ORDER, "", 99)]
        Order.objects.all().delete()
        return sorted(stored, key=lambda values: int(str(values["number"])))

    together = written_and_read([rows])
    assert together == written_and_read([[row] for row in rows])
    assert [row["note"] for row in together] == AWKWARD_TEXTS  # type: ignore[attr-defined]


def test_amounts_and_days_of_a_page_are_stored_exactly(
    records: "DjangoRecords",
) -> None:
    from outkey.hosts.demo_records.models import Contact

    amounts = ["-0.05", "99999999.99", "7", "1.5", "0.00", None]
    days = [date(1, 1, 1), date(9999, 12, 31), None, date(2026, 2, 28), None, None]
    rows = [
        contact(number, credit=amount and Decimal(amount), born_on=day)
        for number, (amount, day) in enumerate(zip(amounts, days, strict=True))
    ]
    records.upsert(CONTACT, KEYS, rows, begun())
    stored = Contact.objects.order_by("external_id")
    assert [one.credit for one in stored] == [row["credit"] for row in rows]
    assert [one.born_on for one in stored] == days


def test_new_records_have_their_defaults_and_the_time_whatever_their_rows_name(
    records: "DjangoRecords", monkeypatch: pytest.MonkeyPatch
) -> None:
    from outkey.hosts.demo_records.models import Contact

    passwords = iter("abc")
    field = Contact._meta.get_field("portal_password")
    for name in ("_get_default", "default"):
        monkeypatch.setattr(field, name, lambda: next(passwords))
    rows = [
        contact(1),
        contact(2, credit=Decimal("2.5"), active=False),
        contact(3, email=None),
    ]
    rows += [contact(1, credit=1)]
    written = records.upsert(CONTACT, KEYS, rows, begun())
    assert [w.outcome for w in written] == ["created", "created", "created", "updated"]
    made = list(Contact.objects.order_by("external_id"))
    assert [c.credit for c in made] == [Decimal(1), Decimal("2.5"), None]
    assert [c.active for c in made] == [True, False, True]
    assert [c.email for c in made] == [""] * 3
    assert [c.portal_password for c in made] == ["a", "b", "c"]
    assert all(
        abs((datetime.now(UTC) - c.changed_at).total_seconds()) < 60 for c in made
    )


def test_a_new_record_that_the_database_refuses_names_its_field(
    records: "DjangoRecords",
) -> None:
    rows = [contact(1), contact(1, name="Another"), contact(2, name="Third")]
    written = records.upsert(CONTACT, ("name",), rows, begun())
    assert [w.outcome for w in written] == ["created", "refused", "created"]
    assert written[1] == refused("external_id", "taken")
    (missing,) = records.upsert(CONTACT, ("email",), [contact(3, email="")], begun())
    assert missing == refused("email", "missing")


def test_a_new_record_that_has_a_rule_of_its_own_is_written_as_its_rule_leaves_it(
    records: "DjangoRecords", monkeypatch: pytest.MonkeyPatch
) -> None:
    from outkey.hosts.demo_records.models import Contact

    monkeypatch.setattr(
        Contact, "clean", lambda self: setattr(self, "name", self.name.upper())
    )
    put(records, CONTACT)
    assert Contact.objects.get().name == "CONTACT 1"


# ── many rows ─────────────────────────────────────────────────────────────────────────


@contextmanager
def watched() -> Iterator[list[str]]:
    """Give the statements that are run inside, each up to its table."""
    from outkey.hosts.django.records import (
        fast_insert,
        key_queries,
        marks,
        unchanged_rows,
    )
    from outkey.hosts.django.rows.raw_sql import execute

    seen: list[str] = []

    def note(execute: Any, sql: str, *rest: Any) -> Any:  # noqa: ANN401 - as Django calls it
        seen.append(sql[:60])
        return execute(sql, *rest)

    with ExitStack() as stack:
        stack.enter_context(connection.execute_wrapper(note))
        # Their own SQL passes Django's wrappers.
        for module in (fast_insert, key_queries, marks, unchanged_rows):
            stack.enter_context(patch.object(module, "execute", partial(note, execute)))
        yield seen


def test_ten_thousand_rows_need_few_statements_and_the_second_time_no_writing(
    records: "DjangoRecords",
) -> None:
    run = begun()
    rows = [contact(n, credit=n) for n in range(10_000)]
    with watched() as first:
        written = records.upsert(CONTACT, KEYS, rows, run)
    assert {w.outcome for w in written} == {WriteOutcome.CREATED}
    marked_by = transactions_of_marks()
    with watched() as second:
        written = records.upsert(CONTACT, KEYS, rows, run)
    assert {w.outcome for w in written} == {WriteOutcome.UNCHANGED}
    assert len(first) < 600
    assert transactions_of_marks() == marked_by
    # SQLite asks whether there are any, reads them, and reads their marks; PostgreSQL
    # asks, and compares them.
    reading = {"sqlite": {"SELECT": 60}, "postgresql": {"SELECT": 20, "WITH": 20}}
    words = Counter(sql.split()[0] for sql in second if "POINT" not in sql)
    del words["BEGIN"]
    assert words == reading[connection.vendor]
    later = begun()
    with watched() as third:
        records.upsert(CONTACT, KEYS, rows[:1000], later)
    writing = [sql for sql in third if sql.startswith(("INSERT", "UPDATE", "DELETE"))]
    assert all("outkey_syncmark" in sql for sql in writing)
    assert len(stored_marks(later)) == 1000


def transactions_of_marks() -> list[tuple[object, ...]]:
    """Return which transactions wrote marks; SQLite does not say."""
    if connection.vendor != "postgresql":
        return []
    with connection.cursor() as cursor:
        cursor.execute("SELECT xmin::text, count(*) FROM outkey_syncmark GROUP BY 1")
        return sorted(cursor.fetchall())


def stored_marks(run: str) -> list[str]:
    """Return the ids of the records that a run has marked."""
    from outkey.hosts.django.models import SyncMark

    return list(SyncMark.objects.filter(run=run).values_list("record", flat=True))


def test_among_rows_that_change_nothing_others_are_written_and_each_is_marked(
    records: "DjangoRecords",
) -> None:
    from outkey.hosts.django.models import SyncMark

    records.upsert(CONTACT, KEYS, [contact(n) for n in range(5)], begun())
    archiving = begun()
    rows = [contact(n) for n in (0, 1, 3, 4)]
    records.upsert(CONTACT, KEYS, rows, archiving)
    assert records.retire(CONTACT, "contacts", archiving, Gone.ARCHIVE) == 1
    # A record without a mark, as of a line that never saw it.
    unmarked = stored_marks(archiving)[-1]
    SyncMark.objects.filter(record=unmarked).delete()
    run = begun()
    rows = [
        contact(0),
        contact(1, name="Another"),
        contact(2),  # archived, and back
        contact(9),  # new
        contact(3, kind="nonsense"),
        contact(4),
    ]
    written = records.upsert(CONTACT, KEYS, rows, run)
    assert [w.outcome for w in written] == [
        "unchanged",
        "updated",
        "updated",
        "created",
        "refused",
        "unchanged",
    ]
    assert [w.changed for w in written[1:3]] == [("name",), ("active",)]
    assert len(stored_marks(run)) == 5
    assert unmarked in stored_marks(run)


# Stored first, and then written over it.
CONTACT_PAIRS: list[tuple[str, object, object]] = [
    ("name", "a", "a"),
    ("name", "a", "A"),
    ("name", "ß", "ss"),
    ("name", "e\u0301", "\u00e9"),
    ("name", "tab\\t", "tab\\\\t"),
    ("email", "", ""),
    ("credit", Decimal("1.5"), Decimal("1.50")),
    ("credit", Decimal("1.5"), None),
    ("credit", None, None),
    ("credit", Decimal(0), Decimal("-0")),
    ("born_on", date(2027, 1, 1), date(2027, 1, 1)),
    ("born_on", None, date(1, 1, 1)),
    ("active", True, False),
]


@pytest.mark.parametrize(("name", "before", "after"), CONTACT_PAIRS)
def test_rows_are_compared_by_the_database_as_by_django(
    records: "DjangoRecords", name: str, before: object, after: object
) -> None:
    from outkey.hosts.django.records import upsert

    found = []
    for way in (upsert.can_be_compared, lambda *_: False):
        records.upsert(CONTACT, KEYS, [contact(1, **{name: before})], begun())
        with patch.object(upsert, "can_be_compared", way):
            found += records.upsert(
                CONTACT, KEYS, [contact(1, **{name: after})], begun()
            )
    assert found[0] == found[1]
    assert found[0].changed == found[1].changed


def conditions() -> list[str]:
    """Return what monitoring notices of the runs."""
    from outkey.hosts.django.rows.database import DjangoDatabase
    from outkey.hosts.django.rows.runs import DjangoLineRuns

    found = run_conditions(DjangoLineRuns().latest(), DjangoDatabase().now())
    return [": ".join(filter(None, condition)) for condition in found]


def test_a_line_whose_last_run_failed_is_noticed(runs: Runs) -> None:
    assert conditions() == []
    for dry_run, state, noticed in (
        (False, RunState.DONE, []),
        (True, RunState.FAILED, []),
        (False, RunState.FAILED, ["S-line-failing: acme: contacts"]),
        (False, RunState.DONE, []),
    ):
        run = runs.begin("contacts", "tester", dry_run=dry_run)
        runs.finish(replace(run, state=state))
        assert conditions() == noticed


def test_a_run_that_no_worker_takes_is_noticed(runs: Runs) -> None:
    from outkey.hosts.django import models

    runs.request("contacts", "tester", dry_run=True)
    assert conditions() == []
    models.Run.objects.update(until=F("until") - 301)
    assert conditions() == ["S-no-worker"]
    runs.begin("orders", "tester", dry_run=False)
    assert conditions() == []


def test_runs_of_the_past_are_forgotten_but_not_the_last_complete_one(
    runs: Runs,
) -> None:
    from outkey.hosts.django import models

    ended = []
    for state in (RunState.DONE, RunState.DONE, RunState.FAILED):
        run = runs.begin("contacts", "tester", dry_run=False)
        runs.add_rejected(run, [RejectedRecord(1, "k", "f", "missing")])
        runs.finish(replace(run, state=state, cursor="2027"))
        ended.append(run.id)
    models.Run.objects.update(ended_at=1000.0)
    asked = runs.request("contacts", "tester")
    runs.prune(1000.0)
    assert len(runs.newest(10)) == 4, "not before the moment"
    runs.prune(1001.0)
    assert [run.id for run in runs.newest(10)] == [asked.id, ended[1]]
    assert runs.begin("contacts", "tester", dry_run=False).since == "2027"


def test_runs_of_a_line_that_never_came_to_its_end_are_forgotten_too(
    runs: Runs,
) -> None:
    from outkey.hosts.django import models

    for _ in range(2):
        run = runs.begin("contacts", "tester", dry_run=False)
        runs.finish(replace(run, state=RunState.FAILED))
    models.Run.objects.update(ended_at=1000.0)
    runs.prune(1001.0)
    assert runs.newest(10) == []


def test_an_update_moves_the_fields_that_follow_the_time(
    records: "DjangoRecords",
) -> None:
    from outkey.hosts.demo_records.models import Contact

    put(records, CONTACT)
    first = Contact.objects.get().changed_at
    put(records, CONTACT)
    assert Contact.objects.get().changed_at == first
    put(records, CONTACT, name="Another")
    assert Contact.objects.get().changed_at > first


def test_of_several_keys_only_their_own_combinations_are_found(
    records: "DjangoRecords",
) -> None:
    keys = ("year", "number")
    run = begun("orders")
    pairs = [(2026, 2), (2027, 1)]
    first = [{"year": year, "number": number} for year, number in pairs]
    assert records.upsert(ORDER, keys, first, run) == [CREATED, CREATED]
    others = [{"year": 2026, "number": 1}, {"year": 2027, "number": 2}]
    assert records.upsert(ORDER, keys, others, run) == [CREATED, CREATED]
    assert records.upsert(ORDER, keys, first, run) == [UNCHANGED, UNCHANGED]
    many = [{"year": year, "number": year} for year in range(2000, 2100)]
    assert records.upsert(ORDER, keys, many, run) == [CREATED] * 100
    assert records.upsert(ORDER, keys, many, run) == [UNCHANGED] * 100


# ── with the model's own code ─────────────────────────────────────────────────────────


def save(records: "DjangoRecords", *rows: dict[str, object]) -> list[Written]:
    return records.upsert(CONTACT, KEYS, rows, begun(), saves=True)


@pytest.fixture
def saved() -> Iterator[list[tuple[str, bool]]]:
    """Return the contacts that were saved, and whether each was new."""
    from django.db.models.signals import post_save

    from outkey.hosts.demo_records.models import Contact

    seen: list[tuple[str, bool]] = []

    def receive(instance: Contact, created: bool, **_: object) -> None:  # noqa: FBT001 - Django's own
        if instance.name == "Boom":
            raise RuntimeError("hunter2")
        seen.append((instance.external_id, created))

    post_save.connect(receive, sender=Contact)
    yield seen
    post_save.disconnect(receive, sender=Contact)


def test_a_model_saves_its_records_with_signals_if_the_line_wants_it(
    records: "DjangoRecords", saved: list[tuple[str, bool]]
) -> None:
    assert save(records, contact(1), contact(2)) == [CREATED, CREATED]
    again = save(records, contact(1), contact(2, name="Another"), contact(3))
    assert again == [UNCHANGED, UPDATED, CREATED]
    assert saved == [("c-1", True), ("c-2", True), ("c-2", False), ("c-3", True)]
    records.upsert(CONTACT, KEYS, [contact(4)], begun())
    assert len(saved) == 4


def test_a_model_saves_assigned_values_if_the_line_wants_it(
    records: "DjangoRecords", saved: list[tuple[str, bool]]
) -> None:
    records.upsert(CONTACT, KEYS, [contact(1), contact(2), contact(3)], begun())
    first, second, third = [record.id for record in records.read(CONTACT, "", 9)]
    run = begun()
    values = {
        first: {"external_id": "c-7"},
        second: {"external_id": "c-3"},  # taken
        third: {"external_id": "c-3"},  # its own
        "999": {"external_id": "c-9"},
    }
    assert records.assign(CONTACT, values, run, saves=True) == {first, third}
    assert saved == [("c-7", False)]
    boom: dict[str, dict[str, object]] = {first: {"name": "Boom"}}
    assert records.assign(CONTACT, boom, run, saves=True) == set()
    nothing: dict[str, dict[str, object]] = {second: {}}
    assert records.assign(CONTACT, nothing, run, saves=True) == {second}
    assert len(saved) == 1


def test_a_database_that_fails_while_values_are_assigned_ends_the_run(
    records: "DjangoRecords",
) -> None:
    from django.db import OperationalError

    from outkey.hosts.demo_records.models import Contact

    records.upsert(CONTACT, KEYS, [contact(1)], begun())
    (first,) = [record.id for record in records.read(CONTACT, "", 9)]
    with (
        patch.object(Contact, "save", side_effect=OperationalError("hunter2")),
        pytest.raises(StorageUnavailable),
    ):
        records.assign(CONTACT, {first: {"name": "Other"}}, begun(), saves=True)


def test_what_the_code_of_a_model_raises_rejects_one_record(
    records: "DjangoRecords", saved: list[tuple[str, bool]]
) -> None:
    first, refused, last = save(
        records, contact(1), contact(2, name="Boom"), contact(3)
    )
    assert (first, last) == (CREATED, CREATED)
    assert refused == Written(WriteOutcome.REFUSED, "RuntimeError", "save_failed")
    names = [record.values["external_id"] for record in records.read(CONTACT, "", 9)]
    assert names == ["c-1", "c-3"]
    assert saved == [("c-1", True), ("c-3", True)]


def test_a_record_that_its_model_finds_invalid_is_not_saved(
    records: "DjangoRecords", saved: list[tuple[str, bool]]
) -> None:
    from django.core.exceptions import ValidationError

    from outkey.hosts.demo_records.models import Contact

    def refuse(_self: Contact) -> None:
        raise ValidationError({"kind": ValidationError("hunter2", code="first")})

    with patch.object(Contact, "clean", refuse):
        (refused,) = save(records, contact(1))
    assert refused == Written(WriteOutcome.REFUSED, "kind", "invalid")
    (long,) = save(records, contact(1, name="x" * 81))
    assert (long.field, long.reason) == ("name", "too_long")
    assert saved == []


def test_a_model_is_validated_once_for_each_record(records: "DjangoRecords") -> None:
    from outkey.hosts.demo_records.models import Contact

    with patch.object(Contact, "full_clean", autospec=True) as validated:
        save(records, contact(1), contact(2), contact(1))
    assert validated.call_count == 2


def test_an_error_of_the_database_ends_the_run_and_one_of_a_row_does_not(
    records: "DjangoRecords",
) -> None:
    from django.db import IntegrityError, OperationalError

    from outkey.hosts.demo_records.models import Contact

    with patch.object(Contact, "save", side_effect=IntegrityError("hunter2")):
        (refused,) = save(records, contact(1))
    assert (refused.field, refused.reason) == ("", "refused_by_database")
    with (
        patch.object(Contact, "save", side_effect=OperationalError("hunter2")),
        pytest.raises(StorageUnavailable),
    ):
        save(records, contact(1))


def test_what_comes_back_is_saved_as_active(
    records: "DjangoRecords", saved: list[tuple[str, bool]]
) -> None:
    save(records, contact(1), contact(2))
    run = begun()
    records.upsert(CONTACT, KEYS, [contact(2)], run, saves=True)
    assert records.retire(CONTACT, "contacts", run, Gone.ARCHIVE) == 1
    assert save(records, contact(1), contact(2)) == [UPDATED, UNCHANGED]
    assert saved[2:] == [("c-1", False)]


def test_a_line_says_how_its_records_are_written(
    records: "DjangoRecords", saved: list[tuple[str, bool]]
) -> None:
    theirs: list[dict[str, object]] = [
        {"id": "a", "n": "Ada"},
        {"id": "b", "n": "Boom"},
    ]
    sync = replace(SYNC, writes=Writes.MODEL)
    run = run_line(sync, theirs)
    assert run.counts == Counts(created=1, failed=1)
    assert stored_runs().rejected(run.id, 9) == [
        RejectedRecord(2, "b", "RuntimeError", "save_failed")
    ]
    assert run_line(sync, theirs, dry_run=True).counts == Counts(created=1, unchanged=1)
    assert saved == [("a", True)]


def test_a_dry_run_tells_the_stored_values_to_users_who_may_view_them(
    records: "DjangoRecords",
) -> None:
    stored = contact(1, name="Old name")
    records.upsert(CONTACT, KEYS, [stored], begun())
    row = contact(1, name="New name")
    viewer = opened(person=Person("view_contact"))
    (written,) = viewer.upsert(CONTACT, KEYS, [row], "", dry_run=True)
    assert effect_of("c-1", row, written).before == stored
    with pytest.raises(ConfigError):
        opened(person=Person()).upsert(CONTACT, KEYS, [row], "", dry_run=True)


# ── what is gone ──────────────────────────────────────────────────────────────────────


def test_what_comes_back_is_taken_out_of_the_archive_unless_a_person_put_it_there(
    records: "DjangoRecords",
) -> None:
    from outkey.hosts.demo_records.models import Contact

    records.upsert(CONTACT, KEYS, [contact(n) for n in range(1200)], begun())
    gone = begun()
    records.upsert(CONTACT, KEYS, [contact(0)], gone)
    Contact.objects.filter(external_id="c-0").update(active=False)
    assert records.retire(CONTACT, "contacts", gone, Gone.ARCHIVE) == 1199
    assert not Contact.objects.filter(active=True).exists()
    back = records.upsert(CONTACT, KEYS, [contact(0), contact(1), contact(1)], begun())
    assert [w.outcome for w in back] == ["unchanged", "updated", "unchanged"]
    assert [c.external_id for c in Contact.objects.filter(active=True)] == ["c-1"]


def test_an_api_that_says_what_is_active_is_not_overruled(
    records: "DjangoRecords",
) -> None:
    rows = [contact(1, active=True)]
    records.upsert(CONTACT, KEYS, rows, begun())
    gone = begun()
    assert records.retire(CONTACT, "contacts", gone, Gone.ARCHIVE) == 1
    back = records.upsert(CONTACT, KEYS, [contact(1, active=False)], begun())
    assert [w.outcome for w in back] == ["unchanged"]


def test_what_has_no_archive_is_kept(records: "DjangoRecords") -> None:
    with pytest.raises(ConfigError, match="cannot be archived") as caught:
        records.retire(ORDER, "orders", begun("orders"), Gone.ARCHIVE)
    assert caught.value.field == "gone"


def test_a_record_that_others_refer_to_is_not_deleted(
    records: "DjangoRecords",
) -> None:
    from outkey.hosts.demo_records.models import Contact, Order

    records.upsert(CONTACT, KEYS, [contact(1), contact(2)], begun())
    Order.objects.create(year=2027, number=1, contact=Contact.objects.first())
    with pytest.raises(ConfigError, match="other records refer") as caught:
        records.retire(CONTACT, "contacts", begun(), Gone.DELETE)
    assert caught.value.field == "gone"
    assert Contact.objects.count() == 2


def test_nothing_is_left_of_what_was_deleted(records: "DjangoRecords") -> None:
    from outkey.hosts.django.models import SyncMark

    records.upsert(CONTACT, KEYS, [contact(n) for n in range(1200)], begun())
    run = begun()
    records.upsert(CONTACT, KEYS, [contact(0), contact(1)], run)
    assert records.retire(CONTACT, "contacts", run, Gone.DELETE) == 1198
    kept: dict[Key, list[Key]] = {("Contact 1",): []}
    assert records.delete_children(CONTACT, ["name"], KEYS, kept) == 1
    assert SyncMark.objects.count() == len(records.read(CONTACT, "", 9)) == 1


def test_a_mark_that_is_left_of_an_id_that_was_used_before_is_taken_over(
    records: "DjangoRecords",
) -> None:
    from outkey.hosts.demo_records.models import Contact
    from outkey.hosts.django.models import SyncMark

    rows = [contact(1), contact(2)]
    records.upsert(CONTACT, KEYS, rows, begun())
    Contact.objects.all().delete()
    # As after a restored backup: the ids are given once more.
    marks = SyncMark.objects.order_by("record")
    for number, mark in enumerate(marks, start=3):
        mark.record = str(number)
        mark.save()
    run = begun()
    written = records.upsert(CONTACT, KEYS, rows, run)
    assert [w.outcome for w in written] == [WriteOutcome.CREATED] * 2
    assert set(marks.values_list("record", "run")) == {("3", int(run)), ("4", int(run))}


def test_marks_of_a_table_that_is_not_analyzed_are_found_by_their_index(
    records: "DjangoRecords",
) -> None:
    from outkey.hosts.django.records.marks import SELECTING_STATEMENTS

    if connection.vendor != "postgresql":
        pytest.skip("SQLite has one plan, whatever it knows of a table")
    rows = [contact(number) for number in range(3000)]
    records.upsert(CONTACT, KEYS, rows, begun())
    explained = f"EXPLAIN (ANALYZE) {SELECTING_STATEMENTS['postgresql']}"
    with connection.cursor() as cursor:
        cursor.execute(explained, ["{3,4,5}", 1, CONTACT])
        plan = "\n".join(text for (text,) in cursor.fetchall())
    assert "Index Scan using outkey_one_mark" in plan
    assert "Rows Removed" not in plan


@pytest.mark.parametrize(
    "key",
    [
        models.CharField(primary_key=True, max_length=40),
        models.GenericIPAddressField(primary_key=True),
        models.FloatField(primary_key=True),
        models.DateTimeField(primary_key=True),
        ShoutingKey(primary_key=True),
    ],
)
def test_records_whose_id_the_database_may_write_in_another_way_are_not_compared_by_it(
    database: str, key: "models.Field[Any, Any]"
) -> None:
    from outkey.hosts.django.records.unchanged_rows import can_be_compared

    if database != "postgresql":
        pytest.skip("only PostgreSQL compares rows with a model")
    name = f"Keyed{type(key).__name__}"
    columns = {
        "__module__": __name__,
        "Meta": type("Meta", (), {"app_label": "demo"}),
        "id": key,
        "code": models.CharField(max_length=9, unique=True),
    }
    model: Any = type(name, (models.Model,), columns)
    fields = {"code": model._meta.get_field("code")}
    assert not can_be_compared(model, ("code",), fields)


def test_a_table_whose_columns_are_of_other_types_is_not_compared_by_the_database(
    records: "DjangoRecords",
) -> None:
    from outkey.hosts.django.records import unchanged_rows

    if connection.vendor != "postgresql":
        pytest.skip("only PostgreSQL compares rows with a model")
    rows = [contact(number, kind="person") for number in range(3)]
    records.upsert(CONTACT, KEYS, rows, begun())
    unchanged_rows.has_types_of_fields.cache_clear()
    with connection.cursor() as cursor:
        cursor.execute("CREATE TYPE shade AS ENUM ('', 'person', 'company')")
        cursor.execute(
            "ALTER TABLE demo_contact ALTER COLUMN kind TYPE shade USING kind::shade"
        )
    with watched() as seen:
        written = records.upsert(CONTACT, KEYS, rows, begun())
    assert {one.outcome for one in written} == {WriteOutcome.UNCHANGED}
    assert not [sql for sql in seen if "WITH found" in sql]
    unchanged_rows.has_types_of_fields.cache_clear()


# ── runs ──────────────────────────────────────────────────────────────────────────────


def test_a_page_takes_records_and_checkpoint_back_together(
    records: "DjangoRecords", runs: Runs
) -> None:
    run = runs.begin("contacts", "tester", dry_run=False)
    with (  # noqa: PT012 - the last one fails
        pytest.raises(StorageUnavailable),
        runs.transaction(),
    ):
        records.upsert(CONTACT, KEYS, [contact(1), contact(1, name="\x00")], run.id)
        runs.save(replace(run, pages=1))
        with connection.cursor() as cursor:
            cursor.execute("SELECT nonsense")
    assert records.read(CONTACT, "", 5) == []
    assert runs.get(run.id) == run
    with runs.transaction():
        records.upsert(CONTACT, KEYS, [contact(1)], run.id)
        runs.save(replace(run, pages=1))
    assert (len(records.read(CONTACT, "", 5)), runs.get(run.id).pages) == (1, 1)


def test_a_page_of_a_ghost_writes_nothing(records: "DjangoRecords", runs: Runs) -> None:
    from outkey.foundation.core.errors import RunStopped

    ghost = runs.begin("contacts", "tester", dry_run=False)
    runs.cancel(ghost.id)
    with pytest.raises(RunStopped), runs.transaction():  # noqa: PT012 - the last one fails
        records.upsert(CONTACT, KEYS, [contact(1)], ghost.id)
        runs.save(ghost)
    assert records.read(CONTACT, "", 5) == []


def test_a_line_that_was_changed_starts_anew_and_one_with_another_schedule_goes_on(
    runs: Runs,
) -> None:
    from outkey.hosts.django import models
    from outkey.hosts.django.rows.storage import django_storage

    registry = Registry(django_storage(), SystemClock())
    run = runs.begin("contacts", "tester", dry_run=False)
    runs.finish(replace(run, cursor="2027", state=RunState.DONE))
    killed = runs.begin("contacts", "tester", dry_run=False)
    killed = runs.save(replace(killed, position={"page": 2}))
    for sync, resumes in (
        (replace(SYNC, schedule="0 * * * *"), True),
        (replace(SYNC, records="x"), False),
    ):
        models.Run.objects.update(until=0)
        registry.put_line(SyncLine("contacts", "acme", "GET", "/x", sync))
        begun_again = runs.begin("contacts", "tester", dry_run=False)
        assert (begun_again.id == killed.id, begun_again.since == "2027") == (
            resumes,
            resumes,
        )
    assert runs.get(killed.id).cause == "killed"
    with pytest.raises(UnknownConfiguration):
        runs.begin("nobody", "tester", dry_run=False)


def test_a_trial_in_between_does_not_keep_a_killed_run_from_going_on(
    runs: Runs,
) -> None:
    from outkey.hosts.django import models

    killed = runs.begin("contacts", "tester", dry_run=False)
    killed = runs.save(replace(killed, position={"page": 2}))
    models.Run.objects.update(until=0)
    trial = runs.begin("contacts", "tester", dry_run=True)
    runs.finish(replace(trial, state=RunState.DONE))
    resumed = runs.begin("contacts", "another", dry_run=False)
    assert (resumed.id, resumed.position, resumed.actor) == (
        killed.id,
        {"page": 2},
        "another",
    )


def test_a_synchronization_is_kept_with_its_line_and_what_it_did_goes_with_it(
    records: "DjangoRecords", runs: Runs
) -> None:
    from outkey.hosts.django import models
    from outkey.hosts.django.rows.storage import django_storage

    registry = Registry(django_storage(), SystemClock())
    assert registry.line("contacts").sync == SYNC
    assert [line.sync for line in registry.lines()] == [SYNC] * 3
    registry.put_line(SyncLine("others", "acme", "GET", "/"))
    assert registry.line("others").sync is None
    run = runs.begin("contacts", "tester", dry_run=False)
    records.upsert(CONTACT, KEYS, [contact(1)], run.id)
    runs.add_rejected(run, [RejectedRecord(1, "k", "f", "r")])
    registry.remove_line("contacts")
    assert runs.newest(5) == []
    assert not models.SyncMark.objects.exists()
    assert len(records.read(CONTACT, "", 5)) == 1


def test_a_page_that_is_written_while_its_line_is_deleted_leaves_no_mark(
    records: "DjangoRecords", runs: Runs
) -> None:
    from outkey.hosts.django import models
    from outkey.hosts.django.rows.storage import django_storage

    run = runs.begin("contacts", "tester", dry_run=False)
    holds = threading.Event()
    written = threading.Event()

    def write_page() -> None:
        with runs.transaction():
            runs.hold(run)
            holds.set()
            records.upsert(CONTACT, KEYS, [contact(1), contact(2)], run.id)
            time.sleep(0.3)  # in which the deletion has begun
        written.set()
        connection.close()

    writer = threading.Thread(target=write_page)
    writer.start()
    assert holds.wait(timeout=20)
    Registry(django_storage(), SystemClock()).remove_line("contacts")
    writer.join(timeout=20)
    assert written.is_set()
    assert not models.SyncMark.objects.exists()


@pytest.mark.usefixtures("database")
def test_a_new_line_has_no_marks_of_one_that_was_removed_by_sql() -> None:
    from outkey.hosts.django import models
    from outkey.hosts.django.rows.storage import django_storage

    make_lines()
    ahead = models.SyncLine.objects.order_by("pk").last()
    assert ahead is not None
    models.SyncMark.objects.create(
        line_id=ahead.pk + 1, target=CONTACT, record="1", run=1
    )
    registry = Registry(django_storage(), SystemClock())
    registry.put_line(SyncLine("newest", "acme", "GET", "/"))
    line = models.SyncLine.objects.get(name="newest")
    assert line.pk == ahead.pk + 1
    assert not models.SyncMark.objects.filter(line=line).exists()


def test_the_key_of_what_was_left_out_steers_no_terminal(runs: Runs) -> None:
    run = runs.begin("contacts", "tester", dry_run=False)
    runs.add_rejected(
        run, [RejectedRecord(1, "a\x00\x1b[2J\ud800" + "b" * 999, "name", "missing")]
    )
    (kept,) = runs.rejected(run.id, 5)
    assert kept.key.startswith("a\ufffd\ufffd[2J\ufffdbbb")
    assert len(kept.key) == 200


def test_two_threads_upsert_the_same_rows_and_each_record_is_there_once(
    records: "DjangoRecords", runs: Runs
) -> None:
    run = begun()
    failures: list[BaseException] = []
    started = threading.Barrier(2)

    def work() -> None:
        started.wait(10)
        try:
            for _ in range(5):
                rows = [contact(n) for n in range(50)]
                assert not {
                    w.outcome for w in opened().upsert(CONTACT, KEYS, rows, run)
                } - {
                    WriteOutcome.CREATED,
                    WriteOutcome.UNCHANGED,
                }
        except BaseException as error:  # noqa: BLE001 - raised below
            failures.append(error)
        connection.close()

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert failures == []
    assert len(records.read(CONTACT, "", 100)) == 50


# ── the whole way ─────────────────────────────────────────────────────────────────────


class Killed(BaseException):
    """What a kill looks like from inside."""


def test_a_pull_killed_between_record_and_checkpoint_resumes_without_doubles_or_losses(
    records: "DjangoRecords", monkeypatch: pytest.MonkeyPatch
) -> None:
    from outkey.hosts.demo_records.models import Contact
    from outkey.hosts.django import models
    from outkey.hosts.django.rows.database import DjangoDatabase
    from outkey.hosts.django.rows.ledger import DjangoLedgerRows
    from outkey.hosts.django.rows.runs import DjangoRunRows
    from outkey.hosts.django.rows.shared_state import DjangoStateRows

    theirs = [{"id": number, "n": f"Name {number}"} for number in range(5)]

    def answer(request: Request) -> Response:
        page = int(parse_qs(urlsplit(request.target).query)["page"][0])
        some = json.dumps(theirs[2 * page - 2 : 2 * page]).encode()
        return Response(200, ResponseHeaders([]), some)

    pages = Pagination(Paging.PAGE, 2, "size", "page")
    line = SyncLine(
        "contacts",
        "acme",
        "GET",
        "/x",
        replace(SYNC, pagination=pages, gone=Gone.ARCHIVE),
    )
    world = fake_gateway(
        configuration(authentication_type="bearer"),
        responses=answer,
        secrets={"token": "t"},
        lines=[line],
    )
    stored = world.ports.configurations
    runs = Runs(DjangoRunRows(), DjangoStateRows(), DjangoDatabase(), stored)
    finder = JmespathCompiler()
    runner = SyncRunner(
        SyncPorts(
            world.sender,
            stored,
            records,
            runs,
            finder,
            world.clock,
            CronCalendar(),
            DjangoLedgerRows(),
            MemoryParentRows(),
            world.scripts,
        )
    )
    save, saved = runs.save, []

    def killed_at_the_second_page(run: Run) -> Run:
        saved.append(run)
        if len(saved) == 2:
            raise Killed
        return save(run)

    monkeypatch.setattr(runs, "save", killed_at_the_second_page)
    with pytest.raises(Killed):
        list(runner.run("contacts", "tester"))
    assert Contact.objects.count() == 2
    models.Run.objects.update(until=0)
    *_, done = runner.run("contacts", "tester")
    assert (done.id, done.counts) == (saved[0].id, Counts(created=5))
    assert Contact.objects.count() == 5
    theirs.pop(1)
    theirs[0]["n"] = "Another"
    *_, trial = runner.run("contacts", "tester", dry_run=True)
    assert trial.counts == Counts(updated=1, unchanged=3)
    *_, done = runner.run("contacts", "tester")
    assert done.counts == Counts(updated=1, unchanged=3, archived=1)
    gone = Contact.objects.filter(active=False).values_list("external_id", flat=True)
    assert list(gone) == ["1"]


@pytest.mark.usefixtures("database")
def test_the_lists_of_records_become_records_that_link_to_them() -> None:
    from outkey.hosts.demo_records.models import Contact, Order
    from outkey.hosts.django.models import SyncMark

    make_lines()
    orders = Children(
        list="orders",
        target=ORDER,
        parent=("contact",),
        keys=("year", "number"),
        mappings=(FieldMapping("y", "year"), FieldMapping("@.n", "number")),
    )
    sync = replace(SYNC, gone=Gone.DELETE, guard_percent=100, children=(orders,))
    theirs: list[dict[str, object]] = [
        {"id": "a", "n": "Ada", "orders": [{"y": 2027, "n": n} for n in (1, 2, 3)]},
        {"id": "b", "n": "Bob", "orders": [{"y": 2027, "n": 4}, {"y": 2027, "n": 0}]},
    ]
    run = partial(run_line, sync, theirs)
    assert run(dry_run=True).counts.children == ChildCounts(created=5)
    assert (Contact.objects.count(), Order.objects.count()) == (0, 0)
    done = run()
    counts = ChildCounts(created=4, failed=1)  # the model refuses the number 0
    assert done.counts == Counts(created=2, children=counts)
    rejected = RejectedRecord(2, "b", "orders[].number", "invalid", "number", "0")
    assert stored_runs().rejected(done.id, 9) == [rejected]
    assert sorted(Order.objects.values_list("number", "contact__external_id")) == [
        (1, "a"),
        (2, "a"),
        (3, "a"),
        (4, "b"),
    ]
    theirs[0]["orders"] = [{"y": 2027, "n": 3}, {"y": 2027, "n": 5}]
    theirs[1]["orders"] = []
    counts = ChildCounts(created=1, unchanged=1, deleted=3)
    assert run().counts == Counts(unchanged=2, children=counts)
    assert SyncMark.objects.filter(target=ORDER).count() == 2
    del theirs[0]
    counts = ChildCounts(deleted=2)
    assert run().counts == Counts(unchanged=1, deleted=1, children=counts)
    assert (Contact.objects.count(), Order.objects.count()) == (1, 0)
    assert SyncMark.objects.count() == 1


@pytest.mark.usefixtures("database")
def test_the_database_counts_rejected_records_as_core_does() -> None:
    from outkey.hosts.django.rows.runs import DjangoRunRows

    make_lines()
    rows = DjangoRunRows()
    run, other = insert(rows), insert(rows, "orders")
    rows.put_rejected(other.id, 1, [RejectedRecord(1, "x", "name", "missing")])
    assert rows.rejection_groups(run.id, 9) == []
    records = [
        RejectedRecord(1, "a", "name", "missing", "null", "null"),
        RejectedRecord(2, "b", "born", "no_date", "text", "first"),
        RejectedRecord(3, "c", "born", "no_date", "text", "second"),
        RejectedRecord(4, "d", "day", "no_date", "text", "third"),
    ]
    rows.put_rejected(run.id, 1, records)
    groups = group_rejections(records)
    assert [group.count for group in groups] == [2, 1, 1]
    assert rows.rejection_groups(run.id, 9) == groups
    assert rows.rejection_groups(run.id, 2) == groups[:2]


@pytest.mark.usefixtures("database")
def test_the_guard_takes_the_deletions_of_a_page_back() -> None:
    from outkey.hosts.demo_records.models import Order

    make_lines()
    orders = Children(
        list="orders",
        target=ORDER,
        parent=("contact",),
        keys=("number",),
        mappings=(FieldMapping("@", "number"), FieldMapping("`2027`", "year")),
    )
    theirs: list[dict[str, object]] = [
        {"id": "a", "n": "Ada", "orders": [1, 2, 3]},
        {"id": "b", "n": "Bob"},
    ]
    run = partial(run_line, replace(SYNC, children=(orders,)), theirs)
    assert run().counts.children == ChildCounts(created=3, without_list=1)
    theirs[0] |= {"n": "Augusta", "orders": [1]}
    with pytest.raises(SyncFailed, match="at least 2 of 3 children"):
        run()
    theirs[0] |= {"n": "Ada", "orders": [1, 2]}
    done = run()
    children = ChildCounts(unchanged=2, deleted=1, without_list=1)
    assert done.counts == Counts(unchanged=2, children=children)
    assert sorted(Order.objects.values_list("number", flat=True)) == [1, 2]
    assert stored_runs().get(done.id).removed == {ORDER: 1}


def run_line(
    sync: Sync, theirs: list[dict[str, object]], *, dry_run: bool = False
) -> Run:
    """Run the line `contacts` against an API with these records."""
    from outkey.hosts.django.rows.database import DjangoDatabase
    from outkey.hosts.django.rows.ledger import DjangoLedgerRows
    from outkey.hosts.django.rows.runs import DjangoRunRows
    from outkey.hosts.django.rows.shared_state import DjangoStateRows

    body = json.dumps(theirs).encode()
    world = fake_gateway(
        configuration(authentication_type="bearer"),
        responses=lambda _request: Response(200, ResponseHeaders([]), body),
        secrets={"token": "t"},
        lines=[SyncLine("contacts", "acme", "GET", "/x", sync)],
    )
    stored = world.ports.configurations
    runs = Runs(DjangoRunRows(), DjangoStateRows(), DjangoDatabase(), stored)
    ports = SyncPorts(
        world.sender,
        stored,
        opened(),
        runs,
        JmespathCompiler(),
        world.clock,
        CronCalendar(),
        DjangoLedgerRows(),
        MemoryParentRows(),
        world.scripts,
    )
    *_, last = SyncRunner(ports).run("contacts", "tester", dry_run=dry_run)
    return last
