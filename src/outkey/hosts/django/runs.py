"""The tables of runs and of the records that they rejected."""

import json
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, replace
from typing import Any

from django.apps import apps
from django.db import IntegrityError, transaction

from outkey.core.errors import UnknownConfiguration
from outkey.core.sync.run import Counts, RejectedRecord, Run, RunState
from outkey.core.text import Text
from outkey.hosts.django import models
from outkey.hosts.django.raw_sql import execute, wrap_errors_of_methods
from outkey.ports.sync import Queue, RunOrder, RunQuery

BATCH = 500
ID_DIGITS = 18  # more than any id has, and fewer than a column overflows at
ORDERINGS = {
    RunOrder.NEWEST: "-id",
    RunOrder.OLDEST: "id",
    RunOrder.DUE: "until",
}


class PolledQueue:
    """Notifies nobody: workers on one machine look at the runs every second."""

    def put(self, run: Run, lock: str) -> None:  # noqa: ARG002 - the port's own
        return


def has_queue() -> bool:
    """Whether workers are notified at once: with PostgreSQL and procrastinate."""
    return apps.is_installed("procrastinate.contrib.django")


def queue() -> Queue:
    """Return the queue that notifies workers."""
    if not has_queue():
        return PolledQueue()
    from outkey.hosts.django.tasks import ProcrastinateQueue

    return ProcrastinateQueue()


@wrap_errors_of_methods
class DjangoRunRows:
    """One row per run, replaced only in the generation that was read."""

    def find(self, query: RunQuery, *, lock: bool = False) -> list[Run]:
        rows = models.Run.objects.select_related("line").filter(**_filters(query))
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
        self, run: str, first: int, records: Sequence[RejectedRecord]
    ) -> None:
        models.Quarantine.objects.filter(run_id=int(run), number__gte=first).delete()
        models.Quarantine.objects.bulk_create(
            [
                models.Quarantine(run_id=int(run), **asdict(record))
                for record in records
            ],
            batch_size=BATCH,
        )

    def rejected(self, run: str, limit: int) -> list[RejectedRecord]:
        rows = models.Quarantine.objects.filter(run_id=int(run))
        return [
            RejectedRecord(row.number, row.key, row.field, row.reason)
            for row in rows.order_by("number", "id")[:limit]
        ]


def _filters(query: RunQuery) -> dict[str, Any]:
    conditions = {
        "pk": _number(query.id) if query.id else None,
        "line__name": query.line or None,
        "state__in": query.states or None,
        "dry_run": query.dry_run,
        "digest": query.digest or None,
        "attempt__gt": 0 if query.requested else None,
        "until__lte": query.until,
        "ended_at__lt": query.ended_before,
        "pk__gt": _number(query.after) if query.after else None,
    }
    return {name: value for name, value in conditions.items() if value is not None}


def _number(run_id: str) -> int:
    """Return the id of a row; 0, which no row has, for text that is not an id."""
    is_id = run_id.isascii() and run_id.isdecimal() and len(run_id) <= ID_DIGITS
    return int(run_id) if is_id else 0


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
        raise UnknownConfiguration(
            Text("there is no sync line of that name"), field="line"
        )
    columns = _columns(run) | {"counts": asdict(run.counts)}
    row = models.Run.objects.create(line=line, dry_run=run.dry_run, **columns)
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
        "worked": run.worked,
    }
    return {
        "digest": run.digest,
        "actor": run.actor,
        "state": run.state.value,
        "checkpoint": json.dumps(checkpoint),
        "counts": json.dumps(asdict(run.counts)),
        "pages": run.pages,
        "started_at": run.started_at,
        "ended_at": run.ended_at,
        "cause": run.cause,
        "generation": run.generation,
        "until": run.until,
        "attempt": run.attempt,
    }


def run_of(row: models.Run) -> Run:
    """Return a run as core has it."""
    return Run(
        id=str(row.pk),
        line=row.line.name,
        actor=row.actor,
        started_at=row.started_at,
        state=RunState(row.state),
        dry_run=row.dry_run,
        counts=Counts.from_facts(row.counts),
        pages=row.pages,
        ended_at=row.ended_at,
        cause=row.cause,
        generation=row.generation,
        attempt=row.attempt,
        digest=row.digest,
        until=row.until,
        **json.loads(row.checkpoint),
    )
