"""Runs in words: what became of one, why it rejected a record, and what to do next."""

from collections.abc import Collection, Iterator
from dataclasses import asdict, fields
from shlex import quote
from time import time

from outkey.foundation.core.errors import REQUEST_ONLY, OutkeyError, resume_line_hint
from outkey.foundation.core.text import Text
from outkey.hosts.cli.printing.times import time_text
from outkey.sync.core.run.reasons import (
    ALL_REFUSED,
    GUARD,
    SHAPE_CHANGED,
    TARGET_REPLACED,
    rejection_text,
)
from outkey.sync.core.run.remedies import cause_text, remedy_of
from outkey.sync.core.run.run import ChildCounts, Counts, ParentCounts, Run, RunState
from outkey.sync.core.run.states import PAUSED

_SOON = 2.0  # seconds; the clocks of two machines differ by as much
# The words for users, in the order of Counts, whose names are those of JSON.
COUNTED = {
    count.name: "rejected" if count.name == "failed" else count.name
    for count in fields(Counts)
    if count.name not in {"children", "parents", "changed_fields"}
}
_COUNTED_OF_CHILDREN = COUNTED | {"without_list": "without the list"}


def run_text(run: Run) -> str:
    """Return a run in one line for users."""
    return f"{run.line}: {result_text(run)}, run {run.id}"


def result_text(run: Run) -> str:
    """Return a run's state and counts for users."""
    counts = counts_text(run.counts)
    if run.counts.children:
        children = f"children: {counts_text(run.counts.children)}"
        counts = f"{counts}; {children}" if counts else children
    if run.counts.parents.total:
        parents = f"parents: {parents_text(run.counts.parents)}"
        counts = f"{counts}; {parents}" if counts else parents
    if counts and run.dry_run:
        counts = f"would be: {counts}"
    elif not counts and run.state is RunState.DONE:
        counts = "nothing to do"
    return ", ".join(filter(None, (state_text(run), counts)))


def counts_text(counts: Counts | ChildCounts) -> str:
    """Return counts for users, without those that are 0."""
    words = _COUNTED_OF_CHILDREN
    named = {word: getattr(counts, name, 0) for name, word in words.items()}
    return ", ".join(f"{count} {word}" for word, count in named.items() if count)


def parents_text(counts: ParentCounts) -> str:
    """Return how the lists of parents ended, without what is 0."""
    named = {
        "rejected" if name == "failed" else name: count
        for name, count in asdict(counts).items()
    }
    return ", ".join(f"{count} {word}" for word, count in named.items() if count)


def changed_fields_text(counts: Counts) -> str:
    """Return how many updates changed each field, the most frequent first."""
    return ", ".join(
        f"{field} {count}x" for field, count in counts.fields_by_frequency()
    )


def state_text(run: Run) -> str:
    """Return a run's state with its cause, or when it is retried."""
    dry = ", dry run" if run.dry_run else ", deliveries" if run.is_received else ""
    cause = f" ({cause_text(run.cause)})" if run.cause else ""
    if run.due_at is None:
        return f"{run.state}{cause}{dry}"
    until = f" until {time_text(run.due_at)}" if is_later(run) else ""
    attempt = f", attempt {run.attempt}" if run.attempt > 1 else ""
    return f"{run.state}{until}{cause}{attempt}{dry}"


def waiting_text(run: Run, paused: Collection[str]) -> str:
    """Return the text about the reason why a run waits."""
    if run.line in paused and not run.dry_run:
        return f"the line is paused: outkey line resume {quote(run.line)}"
    if is_later(run):
        return state_text(run)
    return "waiting for a worker: outkey worker, or outkey serve on SQLite"


def is_later(run: Run) -> bool:
    """Whether a waiting run is not due yet."""
    return run.due_at is not None and run.due_at > time() + _SOON


def extent_text(run: Run) -> str:
    """Return how much a run has read, and of what."""
    if run.is_received:
        return "one delivery" if run.pages == 1 else f"{run.pages} deliveries"
    extent = "all records" if run.is_full else "changed records only"
    return f"{pages_text(run.pages)}, {extent}"


def repair_text(run: Run) -> str:
    """Return the text about the records that a repaired run had rejected."""
    if run.repaired_by == run.id:  # such as of deliveries whose records were deleted
        return "nothing is left of what it rejected"
    return f"what it rejected was processed by run {run.repaired_by}"


def pages_text(count: int) -> str:
    """Return a number of pages."""
    return "one page" if count == 1 else f"{count} pages"


def rejected_text(field: str, reason: str) -> str:
    """Return in words why a record was rejected, after the field if there is one."""
    words = rejection_text(reason)
    return f"{field}: {words}" if field else words


def run_remedy(run: Run) -> Text:
    """Return the remedy after a run, with its commands; it may be empty."""
    if run.cause == PAUSED:
        return resume_line_hint(run.line)
    if run.cause in LINE_HINTS:
        return LINE_HINTS[run.cause](run.line)
    return remedy_of(run.cause)


def _removal_hint(line: str) -> Text:
    """Return the hint after a stop by the guard, with the command of the line."""
    return Text(
        "Check where they are missing: at the API, or for a push in the host. If"
        " they are really deleted: outkey line run {line} --allow-removal, or raise"
        " guard_percent.",
        line=quote(line),
    )


def _shape_hint(line: str) -> Text:
    """Return the hint after a stop by a changed shape, with the commands."""
    return Text(
        "See what has changed: outkey line shape {line}. Correct the fields of the"
        " line, and add --accept; the next run continues there.",
        line=quote(line),
    )


def _replaced_target_hint(line: str) -> Text:
    """Return the hint for a target that lost its records, with the command."""
    return Text(
        "If the target was made again or restored, they may be the same records with"
        " other IDs, and would be created at the API a second time: restore it with the"
        " IDs that it had. If they are new: outkey line run {line} --allow-removal",
        line=quote(line),
    )


def _complete_line_hint(line: str) -> Text:
    """Return how a line that is only a request becomes one that synchronizes."""
    return Text(
        "Set a direction, a target and the fields of the line. To see a proposal:"
        " outkey line suggest {line}",
        line=quote(line),
    )


LINE_HINTS = {
    GUARD: _removal_hint,
    SHAPE_CHANGED: _shape_hint,
    TARGET_REPLACED: _replaced_target_hint,
    REQUEST_ONLY: _complete_line_hint,
}


def name_line_in_hint(error: OutkeyError, line: str) -> None:
    """Let the hint of an error that ended a run name the command of its line."""
    if error.reason in LINE_HINTS:
        error.hint = LINE_HINTS[error.reason](line)


def next_steps(run: Run) -> Iterator[str]:
    """Yield the steps for the records that a run rejected, if there are any."""
    if run.counts.failed or run.counts.children.failed:
        yield f"to see the rejected records: outkey run show {rejecting_run(run)}"
        yield from retry_steps(run)


def retry_steps(run: Run) -> Iterator[str]:
    """Yield how to retry rejected records, unless the next run does that anyway."""
    is_retried_anyway = run.cause == ALL_REFUSED and not run.is_received
    if not run.dry_run and not is_retried_anyway:
        command = f"outkey run retry {rejecting_run(run)}"
        yield f"after correcting them or the line: {command}"


def rejecting_run(run: Run) -> str:
    """Return the run that knows what is still rejected: for a retry, the first one."""
    return run.retry_of or run.id
