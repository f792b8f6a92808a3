"""The tables of runs and of the records that they rejected."""

import json
from collections.abc import Collection, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, fields, replace
from typing import TYPE_CHECKING, Any

from django.apps import apps
from django.db import IntegrityError, connection, transaction
from django.db.models import Count, F, Max, Min, Q
from django.db.models.expressions import RawSQL

from outkey.foundation.core.errors import RowUnreadable, unknown_line
from outkey.foundation.core.groups import groups_of
from outkey.foundation.core.stored_times import LONGEST_WAIT, SKEW_SECONDS
from outkey.foundation.core.stored_values import is_odd
from outkey.foundation.core.text import text_data
from outkey.hosts.django import models
from outkey.hosts.django.rows.raw_sql import execute, insert_row, wrap_errors_of_methods
from outkey.hosts.django.rows.row_ids import row_id
from outkey.sync.core.run.run import (
    OPEN_STATES,
    Counts,
    RejectedRecord,
    RejectionGroup,
    Run,
    RunState,
    read_checkpoint,
)
from outkey.sync.ports.sync import Queue, RunOrder, RunQuery

if TYPE_CHECKING:
    from outkey.administration.core.findings.monitoring import LineRun

BATCH = 500
# Workers ask for them every second. Each state has an index of its own, which SQLite
# uses only for a literal: with parameters it would read all runs that there ever were.
OPEN_RUNS = (
    "SELECT id FROM outkey_run WHERE state = 'waiting'"
    " UNION ALL SELECT id FROM outkey_run WHERE state = 'running'"
)
COLUMNS = [field.attname for field in models.Run._meta.concrete_fields]  # noqa: SLF001 - documented by Django
COUNTS: Any = models.Run._meta.get_field("counts")  # noqa: SLF001 - the same
FIND_RUN = (
    "SELECT outkey_syncline.name, "  # noqa: S608 - names of our own
    + ", ".join(f"outkey_run.{name}" for name in COLUMNS)
    + " FROM outkey_run JOIN outkey_syncline ON outkey_syncline.id = outkey_run.line_id"
    " WHERE outkey_run.id = %s"
)
STATES = frozenset(state.value for state in RunState)
REJECTED_COLUMNS = [field.name for field in fields(RejectedRecord)]
ORDERINGS = {
    RunOrder.NEWEST: "-id",
    RunOrder.OLDEST: "id",
    RunOrder.DUE: "until",
}


class PolledQueue:
    """Does not notify: workers on one machine look at the runs every second."""

    def put(self, run: Run, lock: str) -> None:  # noqa: ARG002 - the port's own
        return


def has_queue() -> bool:
    """Whether workers are notified at once: with PostgreSQL and procrastinate."""
    return apps.is_installed("procrastinate.contrib.django")


def queue() -> Queue:
    """Return the queue that notifies workers."""
    if not has_queue():
        return PolledQueue()
    from outkey.hosts.django.workers.tasks import ProcrastinateQueue

    return ProcrastinateQueue()


@wrap_errors_of_methods
class DjangoRunRows:
    """One row per run, replaced only in the generation that was read."""

    def find(self, query: RunQuery, *, lock: bool = False) -> list[Run]:
        if lock and query == RunQuery(id=query.id):
            return [run_of(row) for row in _locked_run(query.id)]
        only_open = query.states and set(query.states).issubset(OPEN_STATES)
        if only_open and execute(f"{OPEN_RUNS} LIMIT 1", ()).fetchone() is None:
            return []
        rows = models.Run.objects.select_related("line").filter(**_filters(query))
        if query.due_by is not None:
            rows = rows.filter(_is_over(query.due_by))
        if only_open:
            rows = rows.filter(pk__in=RawSQL(OPEN_RUNS, ()))  # noqa: S611 - a constant
        if lock:
            rows = rows.select_for_update(of=("self",))
        return [
            run_of(row) for row in rows.order_by(ORDERINGS[query.order])[: query.limit]
        ]

    def swap(self, before: Run | None, after: Run | None) -> Run | None:
        if after is None:
            return before if before and _delete(before) else None
        try:
            with _savepoint(before, after):
                if before is None:
                    return _insert(after)
                return after if _update(before, after) else None
        except IntegrityError:  # another run of the line has the state already
            return None

    def put_rejected(
        self,
        run: str,
        first: int,
        records: Sequence[RejectedRecord],
        removed: Collection[str] = (),
    ) -> None:
        stored = models.Quarantine.objects.filter(run_id=int(run))
        stored.filter(number__gte=first).delete()
        for batch in groups_of(removed, BATCH):
            stored.filter(key__in=batch).delete()
        models.Quarantine.objects.bulk_create(
            [
                models.Quarantine(run_id=int(run), **asdict(record))
                for record in records
            ],
            batch_size=BATCH,
        )

    def rejected(
        self,
        run: str,
        limit: int,
        *,
        skip: int = 0,
        keys: Collection[str] | None = None,
    ) -> list[RejectedRecord]:
        rows = models.Quarantine.objects.filter(run_id=int(run))
        if keys is not None:
            rows = rows.filter(key__in=list(keys))
        columns = rows.order_by("number", "id").values_list(*REJECTED_COLUMNS)
        return [RejectedRecord(*row) for row in columns[skip : skip + limit]]

    def rejection_groups(self, run: str, limit: int) -> list[RejectionGroup]:
        """Return the groups of `group_rejections`, counted by the database.

        A run may have rejected a million records.
        """
        rows = models.Quarantine.objects.filter(run_id=int(run))
        # Later records have higher numbers and ids.
        groups = (
            rows.values("reason", "field")
            .annotate(count=Count("id"), first=Min("id"))
            .order_by("-count", "first")[:limit]
        )
        examples = rows.in_bulk([group["first"] for group in groups])
        return [
            RejectionGroup(
                group["reason"],
                group["field"],
                group["count"],
                examples[group["first"]].excerpt,
            )
            for group in groups
            if group["first"] in examples  # a retry may delete it in between
        ]


@wrap_errors_of_methods
class DjangoLineRuns:
    """The newest row of each line and kind."""

    def latest(self) -> "list[LineRun]":
        from outkey.administration.core.findings.monitoring import LineRun

        ordinary = models.Run.objects.filter(is_received=False)
        newest = ordinary.order_by().values("line", "dry_run")
        ids = newest.annotate(newest=Max("id")).values("newest")
        rows = models.Run.objects.select_related("line__configuration")
        return [
            LineRun(row.line.configuration.name, run_of(row))
            for row in rows.filter(pk__in=ids).order_by("line__name", "dry_run")
        ]


def _locked_run(run: str) -> Iterator[models.Run]:
    """Lock a run; in fixed SQL, since a run does it for each page of the API."""
    statement = FIND_RUN
    if connection.features.has_select_for_update_of:
        statement += " FOR UPDATE OF outkey_run"
    for line_name, *values in execute(statement, [_number(run)]):
        row = models.Run.from_db(connection.alias, COLUMNS, values)
        row.counts = COUNTS.from_db_value(row.counts, None, connection)
        row.line = models.SyncLine(pk=row.line_id, name=line_name)
        yield row


def _filters(query: RunQuery) -> dict[str, Any]:
    conditions = {
        "pk": _number(query.id) if query.id else None,
        "line__name": query.line or None,
        "line__configuration__name": query.configuration or None,
        "state__in": query.states or None,
        "dry_run": query.dry_run,
        "is_received": query.received,
        "digest": query.digest or None,
        "attempt__gt": 0 if query.requested else None,
        "ended_at__lt": query.ended_before,
        "pk__gt": _number(query.after) if query.after else None,
    }
    return {name: value for name, value in conditions.items() if value is not None}


def _is_over(now: float) -> Q:
    """Return the condition that a run does not wait any more: `run_states.is_over`."""
    latest = now + SKEW_SECONDS
    is_new = Q(until=F("started_at"))
    return (
        ~Q(state=RunState.WAITING)
        | Q(until__lte=now)
        | Q(is_new, until__gt=latest)
        | Q(until__gt=latest + LONGEST_WAIT)
    )


def _number(run_id: str) -> int:
    """Return the id of a row; 0, which no row has, for text that is not an id."""
    return row_id(run_id) or 0


def _savepoint(before: Run | None, after: Run) -> AbstractContextManager[None]:
    """Return a savepoint, which undoes a write that a unique constraint refuses.

    A write that does not change the state cannot be refused, so it needs none.
    """
    if before is not None and before.state is after.state:
        return nullcontext()
    return transaction.atomic()


def _insert(run: Run) -> Run:
    line = models.SyncLine.objects.filter(name=run.line).first()
    if line is None:
        raise unknown_line()
    columns = _columns(run) | {"counts": run.counts.facts()}
    row = models.Run(line=line, dry_run=run.dry_run, **columns)
    insert_row(row)
    return replace(run, id=str(row.pk))


def _update(before: Run, after: Run) -> bool:
    """Write a run; in fixed SQL, since a run does it after each page of the API."""
    columns = _columns(after)
    assignments = ", ".join(f"{name} = %s" for name in columns)
    statement = (
        f"UPDATE outkey_run SET {assignments}"  # noqa: S608 - names of our own
        " WHERE id = %s AND generation = %s"
    )
    values = [*columns.values(), int(before.id), before.generation]
    return bool(execute(statement, values).rowcount)


def _delete(run: Run) -> bool:
    rows = models.Run.objects.filter(pk=int(run.id), generation=run.generation)
    _total, by_model = rows.delete()
    return models.Run._meta.label in by_model  # noqa: SLF001 - documented by Django


def _columns(run: Run) -> dict[str, Any]:
    """Return the columns that a transition may change."""
    checkpoint = {
        "position": run.position,
        "cursor": run.cursor,
        "since": run.since,
        "full_at": run.full_at,
        "retry_of": run.retry_of,
        "worked": run.worked,
    }
    if run.state is RunState.RUNNING:
        checkpoint["lease"] = run.lease
    if run.removed:
        checkpoint["removed"] = run.removed
    if run.allows_removal:
        checkpoint["allows_removal"] = True
    if run.repaired_by:
        checkpoint["repaired_by"] = run.repaired_by
    if run.expected:
        checkpoint["expected"] = run.expected
    if run.counted:
        checkpoint["counted"] = run.counted
    if run.notes:
        checkpoint["notes"] = [text_data(note) for note in run.notes]
    if run.drift:
        checkpoint["drift"] = [drift._asdict() for drift in run.drift]
    return {
        "digest": run.digest,
        "actor": run.actor,
        "state": run.state.value,
        "is_received": run.is_received,
        "checkpoint": json.dumps(checkpoint),
        "counts": json.dumps(run.counts.facts()),
        "pages": run.pages,
        "started_at": run.started_at,
        "ended_at": run.ended_at,
        "cause": run.cause,
        "generation": run.generation,
        "until": run.until,
        "attempt": run.attempt,
    }


def run_of(row: models.Run) -> Run:
    """Return a run as core has it; an odd row is one that has failed."""
    checkpoint = read_checkpoint(row.checkpoint)
    run = Run(
        id=str(row.pk),
        line=row.line.name,
        actor=row.actor,
        started_at=row.started_at,
        dry_run=row.dry_run,
        is_received=row.is_received,
        counts=Counts.from_facts(row.counts),
        pages=row.pages,
        ended_at=row.ended_at,
        cause=row.cause,
        generation=row.generation,
        attempt=row.attempt,
        digest=row.digest,
        until=row.until,
    )
    columns = (getattr(run, field.name) for field in fields(run))
    if row.state not in STATES or checkpoint is None or is_odd(row.counts, *columns):
        return replace(run, state=RunState.FAILED, cause=RowUnreadable.code)
    return replace(run, state=RunState(row.state), **checkpoint)
