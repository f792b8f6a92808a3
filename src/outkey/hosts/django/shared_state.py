"""What the processes of an installation share besides its configurations: paces and presence."""

import socket
from collections.abc import Callable, Sequence

from django.db import transaction

from outkey.core.request.rate_limit import Pace
from outkey.hosts.django import models
from outkey.hosts.django.raw_sql import all_translated


@all_translated
class DjangoRateLimitRows:
    """How far the permits of each configuration are given out."""

    def advance(self, configuration: str, step: Callable[[Pace], Pace]) -> None:
        with transaction.atomic():
            first = models.Pace(configuration=configuration)
            models.Pace.objects.bulk_create([first], ignore_conflicts=True)
            row = models.Pace.objects.select_for_update().get(pk=configuration)
            before = Pace(row.drained_at, row.quiet_until)
            after = step(before)
            if after != before:
                row.drained_at, row.quiet_until = after.drained_at, after.quiet_until
                row.save()


@all_translated
class DjangoProcesses:
    """Which processes are at work, and which keys they hold."""

    def seen(self, process: str, keys: Sequence[str], at: float) -> None:
        facts = {"host": socket.gethostname(), "keys": list(keys), "seen_at": at}
        models.Process.objects.update_or_create(pk=process, defaults=facts)

    def gone(self, process: str) -> None:
        models.Process.objects.filter(pk=process).delete()

    def lacking(self, key: str, since: float) -> list[str]:
        alive = models.Process.objects.filter(seen_at__gte=since)
        return [f"{row.host}:{row.pk}" for row in alive if key not in row.keys]
