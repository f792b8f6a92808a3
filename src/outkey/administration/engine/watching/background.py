"""The work that no user waits for: monitoring, repeated tests and pruning.

A host calls `round` about once a minute, in as many processes as it likes: one of them
does the work at a time.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from secrets import token_hex

from outkey.administration.engine.editing.administration import Administration
from outkey.administration.engine.watching.audit_trail import AuditTrail
from outkey.administration.engine.watching.monitoring import Monitor
from outkey.foundation.core.errors import OutkeyError
from outkey.foundation.engine.duties import MONITORING, PRUNING, ROTATING, Duties
from outkey.foundation.ports.clock import Clock
from outkey.sending.engine.connection_test import SAFE
from outkey.sending.engine.exchange.sender import Sender
from outkey.sync.engine.runs.runs import Runs

LEASE_SECONDS = 180.0
SECONDS_BETWEEN_TESTS = 1.0
DUE_AT_ONCE = 1000
# A round tests this part of what is due, so that a whole day's tests take an hour.
ROUNDS_FOR_ALL = 60
HOUR = 3600.0
DAY = 86_400.0


@dataclass(frozen=True, slots=True)
class BackgroundPorts:
    """The parts of an installation that the work in the background uses."""

    duties: Duties
    monitor: Monitor
    administration: Administration
    sender: Sender
    audit: AuditTrail
    is_sealed: Callable[[], bool]
    retention_days: Callable[[], int]
    runs: Runs
    # Deletes what the host itself stores for a number of days, such as sign-ins.
    delete_older_than: Callable[[int], object]
    clock: Clock
    # Records the refused deliveries of webhooks in the audit.
    note_refused_deliveries: Callable[[], object] = lambda: None
    # Deletes the deliveries of webhooks from before a Unix time.
    prune_deliveries: Callable[[float], object] = lambda _before: None
    # Deletes the recorded changes of tables from before a Unix time.
    prune_changes: Callable[[float], object] = lambda _before: None
    changes_days: Callable[[], int] = lambda: 30
    # Whether the installation was restored and not resumed yet.
    is_on_hold: Callable[[], bool] = lambda: False


class BackgroundWork:
    """The work that one process of an installation does for all of them."""

    def __init__(
        self,
        ports: BackgroundPorts,
        *,
        verify_hours: int,
        pause: Callable[[float], bool],
    ) -> None:
        """`pause` waits some seconds, and returns whether the work may go on."""
        self._ports = ports
        self._verify_hours = verify_hours
        self._pause = pause
        self._holder = token_hex(16)

    def round(self) -> None:
        """Do what is due, unless another process does it."""
        if not self._has_duty():
            return
        self._ports.note_refused_deliveries()
        # The installation that was backed up tests and notifies, if it still runs.
        if self._ports.is_on_hold():
            return
        self._ports.monitor.look()
        # With a sealed key every test would fail, whatever the configuration.
        if self._ports.is_sealed():
            return
        if self._verify_hours:
            self._verify()
        self._end_rotations()
        self._prune()

    def release(self) -> None:
        """Release the duties, so that another process takes them."""
        self._ports.duties.release(self._holder)

    def _has_duty(self) -> bool:
        return self._ports.duties.take(MONITORING, self._holder, LEASE_SECONDS)

    def _verify(self) -> None:
        verify_due(
            self._ports.administration,
            self._ports.sender,
            self._verify_hours * HOUR,
            lambda: self._pause(SECONDS_BETWEEN_TESTS) and self._has_duty(),
        )

    def _end_rotations(self) -> None:
        """End what a rotation has left, once an hour: it reads all configurations."""
        trials = self._ports.sender.trials
        if trials is not None and self._ports.duties.take(
            ROTATING, token_hex(16), HOUR
        ):
            trials.rotations.end_overdue()

    def _prune(self) -> None:
        ports = self._ports
        days = ports.retention_days()
        # A holder of its own, so that no process prunes again within a day.
        if not ports.duties.take(PRUNING, token_hex(16), DAY):
            return
        age = days * DAY
        ports.audit.prune_expired(ports.administration, ports.clock.now() - age)
        ports.runs.prune(ports.runs.now() - age)
        ports.prune_deliveries(ports.runs.now() - age)
        ports.prune_changes(ports.runs.now() - ports.changes_days() * DAY)
        ports.delete_older_than(days)
        ports.sender.context.tokens.prune_ended()


def verify_due(
    administration: Administration,
    sender: Sender,
    seconds: float,
    may_go_on: Callable[[], bool],
) -> int:
    """Test a part of the configurations whose last test is older; return how many."""
    registry = administration.registry
    names = registry.due(sender.context.clock.now(), seconds, DUE_AT_ONCE)
    count = 0
    for name in names[: 1 + len(names) // ROUNDS_FOR_ALL]:
        if not may_go_on():
            break
        # It may have been removed meanwhile, or cannot be recorded now.
        with suppress(OutkeyError):
            configuration = registry.get(name)
            is_safe = configuration.verification.test_method in SAFE
            # Without a user, nothing can be sent for one.
            if is_safe and not configuration.needs_subject:
                administration.test(sender, name)
        count += 1
    return count
