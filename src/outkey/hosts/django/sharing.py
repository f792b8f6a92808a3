"""What the processes of an installation share besides its configurations: paces and presence."""

import socket
from collections.abc import Callable, Sequence

from django.db import transaction

from outkey.core.pace import Pace
from outkey.hosts.django import models
from outkey.hosts.django.statements import translated


class DjangoPaces:
    """How far the permits of each configuration are given out."""

    @translated
    def advance(self, configuration: str, step: Callable[[Pace], Pace]) -> None:
        """Replace the pace by what the step makes of it, with nobody else in between."""
        with transaction.atomic():
            models.Pace.objects.bulk_create(
                [models.Pace(configuration=configuration)], ignore_conflicts=True
            )
            row = models.Pace.objects.select_for_update().get(pk=configuration)
            before = Pace(row.drained_at, row.quiet_until)
            after = step(before)
            if after != before:
                row.drained_at, row.quiet_until = after.drained_at, after.quiet_until
                row.save()


class DjangoProcesses:
    """Which processes are at work, and which keys they hold."""

    @translated
    def seen(self, process: str, keys: Sequence[str], at: float) -> None:
        """Keep that a process works, with these keys."""
        facts = {"host": socket.gethostname(), "keys": list(keys), "seen_at": at}
        models.Process.objects.update_or_create(pk=process, defaults=facts)

    @translated
    def gone(self, process: str) -> None:
        """Forget a process that ended."""
        models.Process.objects.filter(pk=process).delete()

    @translated
    def lacking(self, key: str, since: float) -> list[str]:
        """Return the processes that were seen since then and do not hold this key."""
        alive = models.Process.objects.filter(seen_at__gte=since)
        return [f"{row.host}:{row.pk}" for row in alive if key not in row.keys]
