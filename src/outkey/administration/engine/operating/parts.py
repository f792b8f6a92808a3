"""The parts of an installation that must work, and how each is tried."""

from collections.abc import Callable

from outkey.administration.engine.application import Application
from outkey.administration.engine.operating.future_times import FutureTimesCheck
from outkey.administration.engine.operating.workers import count_workers
from outkey.administration.engine.watching.doctor import PROBE
from outkey.foundation.core.errors import WorkerMissing
from outkey.foundation.core.shared_state import StateKind


def readiness_checks(application: Application) -> dict[str, Callable[[], object]]:
    """Return a check for each part that every host has; a failure raises."""
    return {
        "database": lambda: _try_to_write(application),
        # As it is stored now: the process may still hold one that was removed.
        "key": application.keys.fresh,
        "scripts": lambda: application.sender.context.scripts.run(PROBE),
        "workers": lambda: _require_worker(application),
        "clock": FutureTimesCheck(application),
    }


def _try_to_write(application: Application) -> None:
    """Write to the database, or raise StorageUnavailable."""
    now = application.database.now()
    application.states.put(StateKind.MARK, {"readiness": {"at": now}})


def _require_worker(application: Application) -> None:
    """Raise unless a process does runs, if there is anything to do."""
    states = application.states
    has_work = bool(application.registry.lines() or states.read(StateKind.WEBHOOK))
    if has_work and not count_workers(states, application.database):
        raise WorkerMissing
