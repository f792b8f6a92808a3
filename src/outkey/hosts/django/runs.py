"""Runs of sync lines in Django's tables: who runs a line, how far it got, and what it left out."""

import hashlib
import json
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, replace
from typing import Any

from django.apps import apps
from django.db import IntegrityError, transaction
from django.db.models import F, Max, QuerySet

from outkey.core.errors import ConfigError, LineBusy, RunStopped, UnknownConfiguration
from outkey.core.sync.run import Counts, Quarantined, Run, RunState
from outkey.engine.managing.duties import SCHEDULES, Duties
from outkey.hosts.django import models
from outkey.hosts.django.database import DjangoDatabase
from outkey.hosts.django.raw_sql import execute, wrap_errors_of_methods
from outkey.hosts.django.registry import DjangoRegistry
from outkey.hosts.django.shared_state import DjangoStateRows
from outkey.ports.sync import Queue

_GRACE_SECONDS = 60.0  # for what a page takes besides its request
_BATCH = 500
_MOST_DUE = 5000
_LONGEST_KEY = 200
_OPEN = (RunState.WAITING, RunState.RUNNING)
_IRRELEVANT = (
    "schedule",
    "parallel",
    "max_records",
    "max_minutes",
)  # for which records come, and as what


class Polled:
    """Tells nobody: who works on one machine looks at the runs themselves, every second."""

    def put(self, run: Run, lock: str) -> None:  # noqa: ARG002 - the port's own
        return


def has_queue() -> bool:
    """Whether workers on any machine are told at once, which takes PostgreSQL and procrastinate."""
    return apps.is_installed("procrastinate.contrib.django")


def queue() -> Queue:
    """Return how workers learn of runs."""
    if not has_queue():
        return Polled()
    from outkey.hosts.django.tasks import ProcrastinateQueue

    return ProcrastinateQueue()


@wrap_errors_of_methods
class DjangoRuns:
    """One row a run, written only by whoever has seen it as it is."""

    def begin(self, line: str, actor: str, *, dry_run: bool, asked: str = "") -> Run:
        row = _line(line)
        lease = (
            _GRACE_SECONDS
            + DjangoRegistry().get(row.configuration.name).limits.total_timeout
        )
        try:
            with transaction.atomic():
                begun = _begun(
                    row, Run(asked, line, actor, 0.0, dry_run=dry_run), lease
                )
        except IntegrityError:  # somebody else has begun at the same moment
            raise LineBusy from None
        return replace(_run(begun), lease=lease)

    def page(self) -> AbstractContextManager[None]:
        return DjangoDatabase().transaction()

    def save(self, run: Run) -> Run:
        if not _written(run, until=_now() + run.lease):
            raise RunStopped(reason=_reason(run))
        return replace(run, generation=run.generation + 1)

    def quarantine(self, run: Run, items: Sequence[Quarantined]) -> None:
        rows = [
            models.Quarantine(
                run_id=int(run.id),
                number=item.number,
                key=_harmless(item.key),
                field=item.field,
                reason=item.reason,
            )
            for item in items
        ]
        models.Quarantine.objects.bulk_create(rows, batch_size=_BATCH)

    def finish(self, run: Run) -> None:
        ended_at = _now() if run.ended_at is None else run.ended_at
        if not _written(run, state=run.state.value, ended_at=ended_at):
            raise RunStopped(reason=_reason(run))

    def request(
        self, line: str, actor: str, *, dry_run: bool = False, sooner: bool = True
    ) -> Run:
        try:
            with transaction.atomic():
                found = _requested(_line(line), actor, dry_run=dry_run, sooner=sooner)
        except IntegrityError:  # somebody else has asked at the same moment
            raise LineBusy from None
        return _run(found)

    def wait_again(self, run: Run, seconds: float, attempt: int) -> Run:
        failed = models.Run.objects.filter(
            pk=int(run.id), state=RunState.FAILED
        ).first()
        if failed is None:
            raise LineBusy
        waits = {
            "state": RunState.WAITING,
            "until": _now() + seconds,
            "attempt": attempt,
        }
        try:
            with transaction.atomic():
                return _run(_taken(failed, **waits))
        except IntegrityError:  # somebody has asked for another one
            raise LineBusy from None

    def due(self, run: str = "") -> list[Run]:
        found = models.Run.objects.filter(
            state__in=_OPEN, attempt__gt=0, until__lte=_now()
        )
        chosen = found.filter(pk=_row(run).pk) if run else found
        return [
            _run(row)
            for row in chosen.select_related("line").order_by("until")[:_MOST_DUE]
        ]

    def take_schedules(self) -> tuple[float, float]:
        return Duties(DjangoStateRows(), DjangoDatabase()).take_time(SCHEDULES)

    def prune(self, before: float) -> None:
        """Forget runs that ended before a moment, but of no line the last complete one."""
        done = models.Run.objects.filter(state=RunState.DONE, dry_run=False)
        last = done.order_by().values("line").annotate(last=Max("id")).values("last")
        ended = models.Run.objects.filter(ended_at__lt=before).exclude(state__in=_OPEN)
        ended.exclude(pk__in=last).delete()

    def newest(self, limit: int, line: str = "", state: str = "") -> list[Run]:
        chosen = {"line__name": line} if line else {}
        chosen |= {"state": state} if state else {}
        rows = (
            models.Run.objects.select_related("line").filter(**chosen).order_by("-id")
        )
        return [_run(row) for row in rows[:limit]]

    def get(self, run: str) -> Run:
        return _run(_row(run))

    def left_out(self, run: str, limit: int) -> list[Quarantined]:
        rows = _row(run).left_out.order_by("number", "id")[:limit]
        return [Quarantined(row.number, row.key, row.field, row.reason) for row in rows]

    def cancel(self, run: str) -> None:
        found = models.Run.objects.filter(pk=_row(run).pk, state__in=_OPEN)
        found.update(state=RunState.CANCELLED, ended_at=_now())


def _now() -> float:
    return DjangoDatabase().now()


def _line(name: str) -> models.SyncLine:
    row = (
        models.SyncLine.objects.select_related("configuration")
        .filter(name=name)
        .first()
    )
    if row is None:
        raise UnknownConfiguration("there is no sync line of that name", field="line")
    return row


def _row(run: str) -> models.Run:
    number = int(run) if run.isascii() and run.isdecimal() and len(run) < 19 else 0
    row = models.Run.objects.select_related("line").filter(pk=number).first()
    if row is None:
        raise ConfigError("there is no such run", field="run")
    return row


def _waiting(line: models.SyncLine, *, dry_run: bool) -> QuerySet[models.Run]:
    return _of(line).filter(state=RunState.WAITING, dry_run=dry_run)


def _of(line: models.SyncLine) -> QuerySet[models.Run]:
    return models.Run.objects.select_related("line").filter(line=line).order_by("-id")


def _begun(line: models.SyncLine, run: Run, lease: float) -> models.Run:
    """Begin what is asked for; `run` says by whom, of which kind and, if it has one, its id."""
    now, dry_run = _now(), run.dry_run
    _end_killed(line, now)
    begun = {"actor": run.actor, "state": RunState.RUNNING, "until": now + lease}
    found = _waiting(line, dry_run=dry_run).first() or _unfinished(
        line, dry_run=dry_run
    )
    if run.id and (found is None or str(found.pk) != run.id):
        raise RunStopped(reason="taken_over")
    if found is None:
        return _new(line, begun, dry_run=dry_run)
    if not _goes_on(found, _digest(line)):
        begun |= _beginning(line)
        found.left_out.all().delete()
    return _taken(found, ended_at=None, cause="", **begun)


def _requested(
    line: models.SyncLine, actor: str, *, dry_run: bool, sooner: bool
) -> models.Run:
    now = _now()
    _end_killed(line, now, dry_run=dry_run)
    waiting = _waiting(line, dry_run=dry_run).first()
    if waiting is not None:
        return _taken(waiting, until=now) if sooner and waiting.until > now else waiting
    waits = {"actor": actor, "until": now, "state": RunState.WAITING, "attempt": 1}
    unfinished = _unfinished(line, dry_run=dry_run)
    if unfinished is not None:
        return _taken(unfinished, **waits)
    return _new(line, waits, dry_run=dry_run)


def _end_killed(line: models.SyncLine, now: float, **kind: bool) -> None:
    """Write down that a run was killed, or raise LineBusy if it lives."""
    alive = _of(line).select_for_update().filter(state=RunState.RUNNING, **kind).first()
    if alive is None:
        return
    if alive.until >= now:
        raise LineBusy
    attempt = alive.attempt and alive.attempt + 1
    _taken(alive, state=RunState.FAILED, ended_at=now, cause="killed", attempt=attempt)


def _unfinished(line: models.SyncLine, *, dry_run: bool) -> models.Run | None:
    """Return the last run if it did not come to its end and can go on, or was killed."""
    last = None if dry_run else _of(line).filter(dry_run=False).first()
    if last is None or last.state != RunState.FAILED:
        return None
    digest = _digest(line)
    killed = last.cause == "killed" and (last.attempt or last.digest == digest)
    return last if killed or _goes_on(last, digest) else None


def _goes_on(run: models.Run, digest: str) -> bool:
    """Tell whether a run has a place to go on from.

    A line that was changed since then has none: what came before it came as something else.
    """
    return run.digest == digest and bool(json.loads(run.checkpoint)["position"])


def _taken(run: models.Run, **columns: object) -> models.Run:
    """Change a run that nobody else changes at the same moment."""
    seen = models.Run.objects.filter(pk=run.pk, generation=run.generation)
    if not seen.update(generation=F("generation") + 1, **columns):
        raise LineBusy
    return models.Run.objects.select_related("line").get(pk=run.pk)


def _new(
    line: models.SyncLine, columns: dict[str, Any], *, dry_run: bool
) -> models.Run:
    return models.Run.objects.create(
        line=line, dry_run=dry_run, **_beginning(line), **columns
    )


def _beginning(line: models.SyncLine) -> dict[str, Any]:
    """Return what a run has that begins with the first page."""
    digest = _digest(line)
    done = _of(line).filter(dry_run=False, digest=digest, state=RunState.DONE).first()
    kept = json.loads(done.checkpoint) if done else {"cursor": "", "since": ""}
    return {
        "digest": digest,
        "checkpoint": _checkpoint({}, cursor="", since=kept["cursor"] or kept["since"]),
        "counts": {},
        "pages": 0,
        "started_at": _now(),
    }


def _digest(line: models.SyncLine) -> str:
    """Return what changes with whatever decides which records come, and as what."""
    sync = {
        key: value for key, value in (line.sync or {}).items() if key not in _IRRELEVANT
    }
    said = [str(line.configuration_id), line.method, line.path, sync]
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()


def _written(run: Run, **columns: object) -> int:
    """Write a run if it is as this process has seen it, and tell whether."""
    columns |= {
        "generation": run.generation + 1,
        "checkpoint": _checkpoint(
            run.position, cursor=run.cursor, since=run.since, worked=run.worked
        ),
        "counts": json.dumps(asdict(run.counts)),
        "pages": run.pages,
        "cause": run.cause,
    }
    changed = ", ".join(f"{name} = %s" for name in columns)
    allowed = ", ".join(f"'{state.value}'" for state in _OPEN)
    statement = (
        f"UPDATE outkey_run SET {changed}"  # noqa: S608 - names and states of our own
        f" WHERE id = %s AND generation = %s AND state IN ({allowed})"
    )
    written: int = execute(
        statement, [*columns.values(), int(run.id), run.generation]
    ).rowcount
    return written


def _reason(run: Run) -> str:
    """Return why a run cannot be written."""
    cancelled = models.Run.objects.filter(
        pk=int(run.id), state=RunState.CANCELLED
    ).exists()
    return "cancelled" if cancelled else "taken_over"


def _checkpoint(
    position: object, *, cursor: str, since: str, worked: float = 0.0
) -> str:
    return json.dumps(
        {"position": position, "cursor": cursor, "since": since, "worked": worked}
    )


def _harmless(key: str) -> str:
    """Return the key without what a database refuses or a terminal obeys: it came from outside."""
    return "".join(c if c.isprintable() else "\ufffd" for c in key[:_LONGEST_KEY])


def _run(row: models.Run) -> Run:
    return Run(
        id=str(row.pk),
        line=row.line.name,
        actor=row.actor,
        started_at=row.started_at,
        state=RunState(row.state),
        dry_run=row.dry_run,
        counts=Counts(**row.counts),
        pages=row.pages,
        ended_at=row.ended_at,
        cause=row.cause,
        generation=row.generation,
        attempt=row.attempt,
        due_at=row.until if row.state == RunState.WAITING else None,
        **json.loads(row.checkpoint),
    )
