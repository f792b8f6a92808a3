"""Measuring an installation, for all processes that share its database."""

from collections.abc import Mapping

from outkey.administration.core.operating.metrics import Metrics, RotationMetrics
from outkey.administration.core.operating.send_counts import SendCounts
from outkey.administration.engine.application import Application
from outkey.administration.engine.operating.counting import SendCounter
from outkey.administration.engine.operating.workers import count_workers
from outkey.administration.engine.watching.monitoring import open_notices
from outkey.foundation.core.shared_state import StateKind
from outkey.sync.engine.runs.counting import run_counts


def measure(application: Application) -> Metrics:
    """Return the metrics of an installation."""
    states = application.states
    sends = SendCounter(application.audit_trail.rows, states, application.database)
    sends.catch_up()
    counts = sends.read()
    refused = states.read(StateKind.HOOK_REFUSALS)
    return Metrics(
        sends=counts,
        rotations=measure_rotations(application, counts),
        runs=run_counts(states),
        deliveries=count_deliveries(application),
        refused_deliveries={
            webhook: dict(state.value.get("total", {}))
            for webhook, state in refused.items()
        },
        waiting_runs=len(application.runs.due()),
        running_runs=application.runs.count_running(),
        workers=count_workers(states, application.database),
        open_notices=len(open_notices(application.states)),
        is_sealed=application.keys.is_sealed(),
    )


def measure_rotations(
    application: Application, counts: Mapping[str, SendCounts]
) -> dict[str, RotationMetrics]:
    """Return how far the rotations of configurations have got.

    Configurations are read only where a rotation was ever begun.
    """
    if not any(count.rotation_steps for count in counts.values()):
        return {}
    now = application.clock.now()
    trials = application.sender.trials
    return {
        seen.name: RotationMetrics(
            seen.sets.state(now), trials.tally(seen) if trials else seen.sets.tally
        )
        for seen in application.registry.all()
        if seen.sets.is_used
    }


def count_deliveries(application: Application) -> dict[str, dict[str, int]]:
    """Return how many deliveries are in the inbox, by webhook and state."""
    webhooks = application.webhooks.stored()
    if not webhooks:
        return {}
    names = {stored.endpoint: name for name, stored in webhooks.items()}
    counts: dict[str, dict[str, int]] = {name: {} for name in names.values()}
    deliveries = application.webhooks.ports().deliveries
    for row in deliveries.count_by_hour(since=application.database.now()):
        if row.endpoint in names:  # those of deleted webhooks have no name
            states = counts[names[row.endpoint]]
            states[row.state] = states.get(row.state, 0) + row.count
    return counts
