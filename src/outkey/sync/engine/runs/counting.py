"""Counts of ended runs, for metrics that cover all processes."""

from outkey.foundation.core.shared_state import SharedState, StateKind
from outkey.foundation.ports.database import StateRows
from outkey.sync.core.run.counts import RunCounts
from outkey.sync.core.run.run import Run


def count_run(states: StateRows, run: Run) -> None:
    """Count a run that has ended, in the transaction that stores its end."""
    if run.dry_run:
        return
    state = states.read(StateKind.METRIC_RUNS, [run.line]).get(run.line, SharedState())
    counts = RunCounts.from_facts(state.value)
    counts.add(run)
    states.put(StateKind.METRIC_RUNS, {run.line: counts.facts()})


def run_counts(states: StateRows) -> dict[str, RunCounts]:
    """Return the counts of runs by line."""
    return {
        line: RunCounts.from_facts(state.value)
        for line, state in states.read(StateKind.METRIC_RUNS).items()
    }
