"""What the watch reads and remembers, in Django's tables."""

from collections.abc import Iterable, Mapping

from django.db import transaction
from django.db.models import Max, OuterRef, Q, Subquery

from outkey.core.audit.chain import facts_of
from outkey.core.findings.monitoring import KINDS, Baseline, Condition, Notice, habit_of
from outkey.core.sync.run import RunState
from outkey.hosts.django import models
from outkey.hosts.django.raw_sql import all_translated
from outkey.hosts.django.tokens import DjangoTokenRows

WATCH = "watch"  # the duty that has a position
_BATCH = 500


@all_translated
class DjangoMonitoringRows:
    """One row for each duty, habit and notice."""

    def take(self, duty: str, holder: str, seconds: float) -> bool:
        now = DjangoTokenRows().now()  # the clock that all machines share
        models.Duty.objects.bulk_create([models.Duty(name=duty)], ignore_conflicts=True)
        free = Q(holder=holder) | Q(until__lt=now)
        found = models.Duty.objects.filter(free, name=duty)
        return bool(found.update(holder=holder, until=now + seconds))

    def leave(self, holder: str) -> None:
        models.Duty.objects.filter(holder=holder).update(until=0)

    def has_run(self) -> bool:
        duties = models.Duty.objects.filter(name=WATCH, position__isnull=False)
        return duties.exists()

    def position(self) -> int:
        kept = (
            models.Duty.objects.filter(name=WATCH)
            .values_list("position", flat=True)
            .first()
        )
        if kept is not None:
            return kept
        return models.AuditRecord.objects.aggregate(newest=Max("id"))["newest"] or 0

    def records(self, after: int, limit: int) -> list[dict[str, object]]:
        """Return the facts of the next records with their ids, oldest first.

        One that is committed later than its successor is passed over: this is no audit.
        """
        found = models.AuditRecord.objects.filter(pk__gt=after).order_by("pk")
        rows = found.values_list("id", "body")[:limit]
        return [facts_of(bytes(body)) | {"id": number} for number, body in rows]

    def habits(self, names: Iterable[str]) -> dict[str, Baseline]:
        wanted, known = sorted(names), dict[str, Baseline]()
        for start in range(0, len(wanted), _BATCH):
            rows = models.Habit.objects.filter(pk__in=wanted[start : start + _BATCH])
            known |= {row.pk: habit_of(row.facts) for row in rows}
        return known

    def is_anybody_missed(self, seconds: float) -> bool:
        now = DjangoTokenRows().now()
        asked_for = models.Run.objects.filter(attempt__gt=0)
        overdue = asked_for.filter(state=RunState.WAITING, until__lt=now - seconds)
        alive = models.Run.objects.filter(state=RunState.RUNNING, until__gte=now)
        return overdue.exists() and not alive.exists()

    def failing_lines(self) -> list[tuple[str, str]]:
        runs = models.Run.objects.filter(line=OuterRef("pk"), dry_run=False).order_by(
            "-id"
        )
        lines = models.SyncLine.objects.annotate(
            last=Subquery(runs.values("state")[:1])
        )
        failed = lines.filter(last=RunState.FAILED).order_by("name")
        return list(failed.values_list("configuration__name", "name"))

    def open_notices(self) -> list[Notice]:
        rows = models.Notice.objects.filter(closed_at=None, kind__in=KINDS).order_by(
            "id"
        )
        return [
            Notice(Condition(row.kind, row.configuration, row.about), row.opened_at)
            for row in rows
        ]

    def turn(
        self, position: int, habits: Mapping[str, Baseline], notices: Iterable[Notice]
    ) -> None:
        with transaction.atomic():
            duty = {"position": position}
            models.Duty.objects.update_or_create(name=WATCH, defaults=duty)
            models.Habit.objects.bulk_create(
                [
                    models.Habit(configuration=name, facts=h.facts())
                    for name, h in habits.items()
                ],
                update_conflicts=True,
                unique_fields=["configuration"],
                update_fields=["facts"],
                batch_size=_BATCH,
            )
            for notice in notices:
                sign = notice.sign._asdict()
                if notice.closed_at is None:
                    row = models.Notice(**sign, opened_at=notice.opened_at)
                    models.Notice.objects.bulk_create([row], ignore_conflicts=True)
                else:
                    kept = models.Notice.objects.filter(**sign, closed_at=None)
                    kept.update(closed_at=notice.closed_at)
