"""Values that could freeze or break a run, on both databases: rejected records."""

import time
from collections.abc import Callable
from decimal import Decimal
from typing import TYPE_CHECKING

import pytest
from django.core.exceptions import ValidationError
from django.db import OperationalError, connection, models

from database.test_sync import (
    CONTACT,
    KEYS,
    ORDER,
    ORDER_KEYS,
    begun,
    contact,
    make_lines,
    opened,
    order,
    put,
    refused,
)
from outkey.foundation.core.errors import StorageUnavailable
from outkey.foundation.core.stored_values import is_odd
from outkey.sync.core.mapping.records import WriteOutcome

if TYPE_CHECKING:
    from outkey.hosts.django.records.django_records import DjangoRecords


@pytest.fixture
def records(database: str) -> "DjangoRecords":
    make_lines()
    return opened()


def test_a_link_is_read_exactly_or_refused(records: "DjangoRecords") -> None:
    put(records, CONTACT)
    (made,) = records.read(CONTACT, "", 1)
    key = int(made.id)
    links = [
        key + Decimal("0.5"),
        key + 0.5,
        True,
        Decimal("1e999990"),
        float("nan"),
        f"{key}.0",
    ]
    rows = [order(n, contact=link) for n, link in enumerate(links, 1)]
    started = time.process_time()
    written = records.upsert(ORDER, ORDER_KEYS, rows, begun())
    assert time.process_time() - started < 2
    assert written == [refused("contact", "invalid")] * len(links)
    good = [
        order(n, contact=link) for n, link in enumerate([key, made.id, Decimal(key)], 1)
    ]
    written = records.upsert(ORDER, ORDER_KEYS, good, begun())
    assert [one.outcome for one in written] == [WriteOutcome.CREATED] * 3
    assert {one.values["contact"] for one in records.read(ORDER, "", 9)} == {key}


def test_a_link_to_a_text_or_to_a_link_is_read_exactly_too(database: str) -> None:
    from outkey.hosts.demo_records.models import Contact
    from outkey.hosts.django.records.fields import clean_value

    def linked(key: "models.Field[object, object]", value: object) -> object:
        link = models.ForeignKey(Contact, models.PROTECT)
        link.__dict__["foreign_related_fields"] = (key,)  # as if Contact had such a key
        return clean_value(link, value)

    def made(value: object) -> object:
        return linked(models.UUIDField(), value)

    number = "00000000-0000-0000-0000-000000000005"
    assert str(made(number)) == number
    assert made(made(number)) == made(number)
    for value in (5, True, Decimal("1.5")):
        with pytest.raises(ValidationError):
            made(value)
    assert linked(models.CharField(), Decimal("1.50")) == "1.50"
    deeper = models.OneToOneField(Contact, models.PROTECT)
    deeper.__dict__["foreign_related_fields"] = (models.IntegerField(),)
    assert linked(deeper, 5) == 5
    with pytest.raises(ValidationError):
        linked(deeper, Decimal("1.5"))


def test_a_number_that_no_integer_holds_is_refused_at_once(
    records: "DjangoRecords",
) -> None:
    started = time.process_time()
    assert put(records, ORDER, number=Decimal("1e999990")) == refused(
        "number", "invalid"
    )
    assert time.process_time() - started < 2
    assert put(records, ORDER, number=Decimal("7.0")).outcome is WriteOutcome.CREATED


def test_json_with_a_fraction_is_kept_and_the_same_again_is_unchanged(
    records: "DjangoRecords",
) -> None:
    details = {"price": Decimal("19.99"), "exact": [Decimal("1234567890.123456789")]}
    assert put(records, ORDER, details=details).outcome is WriteOutcome.CREATED
    assert put(records, ORDER, details=details).outcome is WriteOutcome.UNCHANGED
    (kept,) = records.read(ORDER, "", 1)
    assert kept.values["details"] == {"price": 19.99, "exact": ["1234567890.123456789"]}
    bad = put(records, ORDER, details={"price": Decimal("Infinity")})
    assert bad == refused("details", "invalid")


def broken(error: Exception) -> Callable[[models.Model], None]:
    def clean(self: models.Model) -> None:
        if getattr(self, "name", "") == "bad":
            raise error

    return clean


@pytest.mark.parametrize(
    "error",
    [
        TypeError("hunter2"),
        KeyError("hunter2"),
        ValidationError([]),
        ValidationError({}),
    ],
    ids=repr,
)
def test_a_rule_of_the_host_that_breaks_refuses_its_record_alone(
    records: "DjangoRecords", monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    from outkey.hosts.demo_records.models import Contact

    monkeypatch.setattr(Contact, "clean", broken(error))
    rows = [contact(1), contact(2, name="bad"), contact(3)]
    written = records.upsert(CONTACT, KEYS, rows, begun())
    assert [one.outcome for one in written] == ["created", "refused", "created"]
    assert written[1] == refused("", "invalid")
    changed = records.upsert(
        CONTACT, KEYS, [contact(1, name="bad"), contact(3)], begun()
    )
    assert changed == [refused("", "invalid"), changed[1]]
    assert changed[1].outcome is WriteOutcome.UNCHANGED
    assert [one.values["name"] for one in records.read(CONTACT, "", 9)] == [
        "Contact 1",
        "Contact 3",
    ]


def test_a_database_that_fails_in_a_rule_of_the_host_is_not_the_records_fault(
    records: "DjangoRecords", monkeypatch: pytest.MonkeyPatch
) -> None:
    from outkey.hosts.demo_records.models import Contact

    monkeypatch.setattr(Contact, "clean", broken(OperationalError("hunter2")))
    with pytest.raises(StorageUnavailable) as caught:
        records.upsert(CONTACT, KEYS, [contact(1, name="bad")], begun())
    assert "hunter2" not in str(caught.value)


def test_a_validator_of_the_host_that_breaks_refuses_its_record_alone(
    records: "DjangoRecords", monkeypatch: pytest.MonkeyPatch
) -> None:
    from outkey.hosts.demo_records.models import Contact
    from outkey.hosts.django.records.fields import cleaner_of, plain_values

    def check(value: str) -> None:
        if value == "bad":
            raise LookupError("hunter2")

    field = Contact._meta.get_field("name")
    monkeypatch.setitem(field.__dict__, "validators", [check])
    for cached in (cleaner_of, plain_values):
        cached.cache_clear()
    try:
        written = records.upsert(
            CONTACT, KEYS, [contact(1, name="bad"), contact(2)], begun()
        )
    finally:
        for cached in (cleaner_of, plain_values):
            cached.cache_clear()
    assert written[0] == refused("name", "invalid")
    assert written[1].outcome is WriteOutcome.CREATED


def test_fields_say_whether_they_are_unique(records: "DjangoRecords") -> None:
    from outkey.hosts.demo_records.models import Order
    from outkey.hosts.django.records.fields import describe_field

    fields = {target.name: target.fields for target in records.targets()}
    known = {field.name: field.unique for field in fields[CONTACT]}
    assert known["external_id"] is True
    assert known["name"] is False
    assert {field.name for field in fields[ORDER] if field.unique} == {"reference"}
    alone = models.UniqueConstraint(fields=["note"], name="alone")
    meta = Order._meta
    before = meta.total_unique_constraints
    meta.__dict__["total_unique_constraints"] = [*before, alone]
    try:
        assert describe_field(meta.get_field("note")).unique is True
    finally:
        meta.__dict__["total_unique_constraints"] = before


def test_a_text_that_is_not_utf_8_is_marked_as_odd_where_a_push_reads_it(
    records: "DjangoRecords",
) -> None:
    if connection.vendor != "sqlite":
        pytest.skip("PostgreSQL stores valid UTF-8 only")
    put(records, CONTACT)
    with connection.cursor() as cursor:
        cursor.execute("UPDATE demo_contact SET name = CAST(x'636166e9' AS TEXT)")
    (read,) = records.read(CONTACT, "", 1)
    assert is_odd(read.values["name"])


def test_json_that_is_not_utf_8_is_marked_as_odd_where_a_push_reads_it(
    records: "DjangoRecords",
) -> None:
    if connection.vendor != "sqlite":
        pytest.skip("PostgreSQL stores valid UTF-8 only")
    put(records, ORDER, details={"a": "b"})
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE demo_order SET details = CAST(x'7b2261223a22e9227d' AS TEXT)"
        )
    (read,) = records.read(ORDER, "", 1)
    assert is_odd(read.values["details"])
