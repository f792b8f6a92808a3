"""Deliveries of webhooks in Django's database."""

from collections.abc import Sequence
from dataclasses import fields, replace
from itertools import chain
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from django.db import DEFAULT_DB_ALIAS, DatabaseError, connection, transaction
from django.db.models import (
    Case,
    Count,
    F,
    Func,
    IntegerField,
    Max,
    Q,
    QuerySet,
    Value,
    When,
)
from django.db.models.expressions import RawSQL

from outkey.foundation.core.errors import RowUnreadable
from outkey.foundation.core.groups import groups_of
from outkey.foundation.core.moments import LAST_MOMENT
from outkey.foundation.core.stored_times import LONGEST_WAIT, SKEW_SECONDS
from outkey.foundation.core.stored_values import is_odd
from outkey.hosts.django import models
from outkey.hosts.django.rows.raw_sql import execute, wrap_errors_of_methods
from outkey.hosts.django.rows.row_ids import row_id
from outkey.webhooks.core.inbox.inbox import DeliveryState, InboxDelivery
from outkey.webhooks.ports.webhooks import DeliveryCount, DeliveryQuery

if TYPE_CHECKING:
    from django.db.backends.base.base import BaseDatabaseWrapper
    from django.db.models.sql.compiler import SQLCompiler

FACTS = tuple(
    field.name for field in fields(InboxDelivery) if field.name not in {"id", "body"}
)
INSERTED = (*FACTS, "body")
CHANGING = (
    "nonce",
    "state",
    "due_at",
    "attempts",
    "reason",
    "records",
    "run",
    "generation",
)
# One statement without an error: one in a transaction would end it on PostgreSQL.
INSERT = f"INSERT INTO outkey_delivery ({', '.join(INSERTED)}) VALUES "  # noqa: S608
ROW = f"({', '.join(['%s'] * len(INSERTED))})"
OR_NOTHING = " ON CONFLICT DO NOTHING"
AND_ID = " RETURNING id"
PER_STATEMENT = 100  # rows: SQLite has a limit of values
VALUES = attrgetter(*INSERTED)
# Workers ask for them every second. They have an index of their own, which SQLite uses
# for a literal and in its own order only: otherwise it reads all deliveries there are.
RECEIVED = "SELECT id FROM outkey_delivery WHERE state = 'received' ORDER BY due_at"
HOUR = 3600.0
STATES = frozenset(state.value for state in DeliveryState)


class WholeNumber(Func):
    """A positive number without its fraction."""

    function = "FLOOR"
    output_field = IntegerField()

    def as_sqlite(
        self,
        compiler: "SQLCompiler",
        connection: "BaseDatabaseWrapper",
        **_context: object,
    ) -> tuple[str, Any]:
        # There FLOOR is a function of Python's, called for each row.
        template = "CAST(%(expressions)s AS INTEGER)"
        return self.as_sql(compiler, connection, template=template)


@wrap_errors_of_methods
class DjangoDeliveryRows:
    """One row for each delivery."""

    def find(self, query: DeliveryQuery) -> list[InboxDelivery]:
        columns = ["id", *FACTS, *(["body"] if query.has_body else [])]
        order = "id" if query.oldest_first else "-id"
        rows = filtered(query).order_by(order).values(*columns)
        return [_delivery_of(row) for row in rows[: query.limit]]

    def insert(self, deliveries: Sequence[InboxDelivery]) -> None:
        with transaction.atomic():
            for some in groups_of(deliveries, PER_STATEMENT):
                rows = ", ".join([ROW] * len(some))
                values = tuple(chain.from_iterable(map(VALUES, some)))
                written = execute(INSERT + rows + OR_NOTHING, values).rowcount
                if written < len(some):
                    refuse_swallowed(some)

    def swap(
        self, before: InboxDelivery | None, after: InboxDelivery | None
    ) -> InboxDelivery | None:
        if before is None:
            return None if after is None else insert(after)
        stored = models.Delivery.objects.filter(pk=int(before.id))
        # The generation of an odd row is not known.
        if not is_odd(before.generation):
            stored = stored.filter(generation=before.generation)
        if after is None:
            return before if stored.delete()[0] else None
        changes = {name: getattr(after, name) for name in CHANGING}
        return after if stored.update(**changes) else None

    def count_by_hour(self, since: float, endpoint: str = "") -> list[DeliveryCount]:
        return [
            DeliveryCount(
                endpoint=row["endpoint"],
                state=DeliveryState(row["state"]),
                hour=int(row["hour"]),
                count=row["count"],
                newest_at=row["newest_at"],
            )
            for row in count_rows(since, endpoint)
        ]


def count_rows(since: float, endpoint: str) -> QuerySet[models.Delivery, Any]:
    """Return the query that counts deliveries by endpoint, state and hour."""
    rows = models.Delivery.objects.all()
    if endpoint:
        rows = rows.filter(endpoint=endpoint)
    # Times that no calendar has, and texts, which SQLite sorts after all numbers.
    rows = rows.filter(received_at__gte=0, received_at__lt=LAST_MOMENT)
    rows = rows.filter(state__in=STATES)
    hour = WholeNumber(F("received_at") / HOUR)
    counted = Case(When(received_at__gte=since, then=hour), default=Value(0))
    return (
        rows.order_by()
        .values("endpoint", "state", hour=counted)
        .annotate(count=Count("pk"), newest_at=Max("received_at"))
    )


def filtered(query: DeliveryQuery) -> QuerySet[models.Delivery]:
    """Return the rows of a query."""
    rows = models.Delivery.objects.all()
    if query.id:
        number = row_id(query.id)
        rows = rows.none() if number is None else rows.filter(pk=number)
    if query.before:
        number = row_id(query.before)
        rows = rows.none() if number is None else rows.filter(pk__lt=number)
    if query.endpoint:
        rows = rows.filter(endpoint=query.endpoint)
    if query.nonce:
        # The index has only rows with a nonce.
        rows = rows.filter(nonce=query.nonce).exclude(nonce="")
    if query.run:
        rows = rows.filter(run=query.run).exclude(run="")  # the index has only these
    if query.states:
        rows = in_states(rows, query.states)
    if query.due_by is not None:
        rows = rows.filter(is_due(query.due_by))
    if query.received_from is not None:
        rows = rows.filter(received_at__gte=query.received_from)
    if query.received_before is not None:
        rows = rows.filter(received_at__lt=query.received_before)
    return rows


def in_states(
    rows: QuerySet[models.Delivery], states: Sequence[DeliveryState]
) -> QuerySet[models.Delivery]:
    """Return those of the rows that are in one of these states."""
    if connection.vendor == "sqlite" and states == (DeliveryState.RECEIVED,):
        return rows.filter(pk__in=RawSQL(RECEIVED, ()))  # noqa: S611 - a constant
    return rows.filter(state__in=states)


def is_due(now: float) -> Q:
    """Return the condition of `InboxDelivery.is_due`."""
    latest = now + SKEW_SECONDS
    return (
        Q(due_at__lte=now)
        | Q(due_at__gt=latest, due_at=F("received_at"))
        | Q(due_at__gt=latest + LONGEST_WAIT)
    )


def insert(delivery: InboxDelivery) -> InboxDelivery | None:
    """Insert a delivery; None if its endpoint has one with this key or nonce."""
    statement = INSERT + ROW + OR_NOTHING + AND_ID
    found = execute(statement, VALUES(delivery)).fetchone()
    if found is None:
        refuse_swallowed([delivery])
        return None
    return replace(delivery, id=str(found[0]))


def refuse_swallowed(deliveries: Sequence[InboxDelivery]) -> None:
    """Raise DatabaseError if one of these deliveries is not stored at all.

    A trigger can make a database ignore rows without an error; the response to
    the sender would be that of a duplicate.
    """
    if not all(map(is_stored, deliveries)):
        raise DatabaseError("the database did not store a delivery")


def is_stored(delivery: InboxDelivery) -> bool:
    """Whether the endpoint has a delivery with this key or nonce.

    One query for each of the two indexes: with both in one, SQLite reads all
    deliveries of the endpoint.
    """
    of_endpoint = models.Delivery.objects.using(DEFAULT_DB_ALIAS).filter(
        endpoint=delivery.endpoint
    )
    if of_endpoint.filter(key=delivery.key).exists():
        return True
    with_nonce = of_endpoint.exclude(nonce="").filter(nonce=delivery.nonce)
    return bool(delivery.nonce) and with_nonce.exists()


def _delivery_of(row: dict[str, Any]) -> InboxDelivery:
    """Return a delivery as core has it; an odd row is one that has failed."""
    values = {
        **row,
        "id": str(row["id"]),
        "body": bytes(row.get("body", b"")),
    }
    if row["state"] not in STATES or is_odd(*row.values()):
        ended = {"state": DeliveryState.FAILED, "reason": RowUnreadable.code}
        return InboxDelivery(**{**values, **ended})
    return InboxDelivery(**{**values, "state": DeliveryState(row["state"])})
