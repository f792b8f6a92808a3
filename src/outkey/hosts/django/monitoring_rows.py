"""The last runs of sync lines in Django's tables."""

from django.db.models import Max

from outkey.core.findings.monitoring import LineRun
from outkey.core.sync.run import RunState
from outkey.hosts.django import models
from outkey.hosts.django.raw_sql import wrap_errors_of_methods


@wrap_errors_of_methods
class DjangoLineRuns:
    """The newest row of each line and kind."""

    def latest(self) -> list[LineRun]:
        newest = models.Run.objects.order_by().values("line", "dry_run")
        ids = newest.annotate(newest=Max("id")).values("newest")
        runs = models.Run.objects.filter(pk__in=ids).order_by("line__name", "dry_run")
        columns = runs.values_list(
            "line__configuration__name",
            "line__name",
            "dry_run",
            "state",
            "attempt",
            "until",
        )
        return [
            LineRun(
                configuration=configuration,
                line=line,
                dry_run=dry_run,
                state=RunState(state),
                attempt=attempt,
                until=until,
            )
            for configuration, line, dry_run, state, attempt, until in columns
        ]
