"""The last runs of sync lines in Django's tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db.models import Max

from outkey.hosts.django import models
from outkey.hosts.django.rows.raw_sql import wrap_errors_of_methods
from outkey.hosts.django.rows.runs import run_of

if TYPE_CHECKING:
    from outkey.administration.core.findings.monitoring import LineRun


@wrap_errors_of_methods
class DjangoLineRuns:
    """The newest row of each line and kind."""

    def latest(self) -> list[LineRun]:
        from outkey.administration.core.findings.monitoring import LineRun

        ordinary = models.Run.objects.filter(is_received=False)
        newest = ordinary.order_by().values("line", "dry_run")
        ids = newest.annotate(newest=Max("id")).values("newest")
        rows = models.Run.objects.select_related("line__configuration")
        return [
            LineRun(row.line.configuration.name, run_of(row))
            for row in rows.filter(pk__in=ids).order_by("line__name", "dry_run")
        ]
