"""Runs of sync lines in Django's tables: who runs a line, how far it got, and what it left out."""

import hashlib
import json
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, replace

from django.db import IntegrityError, transaction
from django.db.models import F

from outkey.core.errors import ConfigError, LineBusy, RunStopped, UnknownConfiguration
from outkey.core.sync.run import Counts, Quarantined, Run, RunState
from outkey.hosts.django import models
from outkey.hosts.django.registry import DjangoRegistry
from outkey.hosts.django.statements import translated
from outkey.hosts.django.tokens import DjangoTokenRows

LEASE_SECONDS = 60.0
_BATCH = 500
_LONGEST_KEY = 200


class DjangoRuns:
    """One row a run, written only by whoever has seen it as it is."""

    @translated
    def begin(self, line: str, actor: str, *, dry_run: bool) -> Run:
        """Begin a run, or go on with one that was killed or failed; LineBusy while another lives.

        What stands still too long is taken over; its own process finds that out when it saves.
        """
        row = models.SyncLine.objects.filter(name=line).first()
        if row is None:
            raise UnknownConfiguration("there is no sync line of that name", field="line")
        try:
            with transaction.atomic():
                return _run(_begun(row, actor, dry_run=dry_run))
        except IntegrityError:  # somebody else has begun at the same moment
            raise LineBusy from None

    def page(self) -> AbstractContextManager[None]:
        """Keep all that is written inside, records and checkpoint, or nothing of it."""
        return DjangoRegistry().batch()

    @translated
    def save(self, run: Run) -> Run:
        """Keep a checkpoint; raise RunStopped where somebody cancelled it or took it over."""
        if not _written(run, until=_now() + LEASE_SECONDS):
            raise RunStopped(reason=_reason(run))
        return replace(run, generation=run.generation + 1)

    @translated
    def quarantine(self, run: Run, items: Sequence[Quarantined]) -> None:
        """Keep what was left out."""
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

    @translated
    def finish(self, run: Run) -> None:
        """Keep how a run ended; a cancelled one has its end already."""
        ended_at = _now() if run.ended_at is None else run.ended_at
        if not _written(run, state=run.state, ended_at=ended_at):
            reason = _reason(run)
            if reason != run.state:
                raise RunStopped(reason=reason)

    @translated
    def newest(self, limit: int, line: str = "") -> list[Run]:
        """Return runs, newest first."""
        rows = models.Run.objects.select_related("line").order_by("-id")
        return [_run(row) for row in (rows.filter(line__name=line) if line else rows)[:limit]]

    @translated
    def get(self, run: str) -> Run:
        """Return one run, or raise ConfigError."""
        return _run(_row(run))

    @translated
    def left_out(self, run: str, limit: int) -> list[Quarantined]:
        """Return what a run left out."""
        rows = _row(run).left_out.order_by("number", "id")[:limit]
        return [Quarantined(row.number, row.key, row.field, row.reason) for row in rows]

    @translated
    def cancel(self, run: str) -> None:
        """End a run that is under way; its own process finds that out when it saves."""
        found = models.Run.objects.filter(pk=_row(run).pk, state=RunState.RUNNING)
        found.update(state=RunState.CANCELLED, ended_at=_now())


def _now() -> float:
    return DjangoTokenRows().now()  # the clock that all machines share


def _row(run: str) -> models.Run:
    number = int(run) if run.isascii() and run.isdecimal() and len(run) < 19 else 0
    row = models.Run.objects.select_related("line").filter(pk=number).first()
    if row is None:
        raise ConfigError("there is no such run", field="run")
    return row


def _begun(line: models.SyncLine, actor: str, *, dry_run: bool) -> models.Run:
    now, digest = _now(), _digest(line)
    ours = models.Run.objects.select_related("line").filter(line=line)
    alive = ours.select_for_update().filter(state=RunState.RUNNING).first()
    if alive is not None:
        if alive.until >= now:
            raise LineBusy
        alive.state, alive.ended_at, alive.cause = RunState.FAILED, now, "killed"
        alive.generation += 1
        alive.save()
    begun = {"actor": actor, "state": RunState.RUNNING, "until": now + LEASE_SECONDS}
    real = ours.filter(dry_run=False).order_by("-id")
    last = real.first()
    if last is not None and not dry_run and _goes_on(last, digest):
        seen = ours.filter(pk=last.pk, generation=last.generation)
        if not seen.update(generation=F("generation") + 1, ended_at=None, cause="", **begun):
            raise LineBusy
        return ours.get(pk=last.pk)
    done = real.filter(digest=digest, state=RunState.DONE).first()
    kept = json.loads(done.checkpoint) if done else {"cursor": "", "since": ""}
    checkpoint = _checkpoint({}, "", kept["cursor"] or kept["since"])
    return models.Run.objects.create(
        line=line, digest=digest, dry_run=dry_run, checkpoint=checkpoint, started_at=now, **begun
    )


def _goes_on(run: models.Run, digest: str) -> bool:
    """Tell whether a run that did not come to its end has a place to go on from.

    A line that was changed since then has none: what came before it came as something else.
    """
    unfinished = run.state == RunState.FAILED and run.digest == digest
    return unfinished and bool(json.loads(run.checkpoint)["position"])


def _digest(line: models.SyncLine) -> str:
    """Return what changes with whatever decides which records come, and as what."""
    sync = {key: value for key, value in (line.sync or {}).items() if key != "schedule"}
    said = [str(line.configuration_id), line.method, line.path, sync]
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()


def _written(run: Run, **columns: object) -> int:
    """Write a run if it is as this process has seen it, and tell whether."""
    seen = models.Run.objects.filter(
        pk=int(run.id), generation=run.generation, state=RunState.RUNNING
    )
    return seen.update(
        generation=run.generation + 1,
        checkpoint=_checkpoint(run.position, run.cursor, run.since),
        counts=asdict(run.counts),
        pages=run.pages,
        cause=run.cause,
        **columns,
    )


def _reason(run: Run) -> str:
    """Return why a run cannot be written."""
    cancelled = models.Run.objects.filter(pk=int(run.id), state=RunState.CANCELLED).exists()
    return "cancelled" if cancelled else "taken_over"


def _checkpoint(position: object, cursor: str, since: str) -> str:
    return json.dumps({"position": position, "cursor": cursor, "since": since})


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
        **json.loads(row.checkpoint),
    )
