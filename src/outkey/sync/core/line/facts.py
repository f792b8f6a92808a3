"""Sync lines and their runs as programs read them, in JSON."""

from collections.abc import Collection

from outkey.foundation.core.moments import iso_moment, iso_or_none
from outkey.sync.core.drift.drift import LineShape
from outkey.sync.core.line.line import SyncLine
from outkey.sync.core.line.table import sync_table
from outkey.sync.core.run.run import Run


def run_facts(run: Run) -> dict[str, object]:
    """Return a run as programs read it."""
    return {
        "run": run.id,
        "line": run.line,
        "state": str(run.state),
        "dry_run": run.dry_run,
        "trigger": str(run.trigger),
        "full": run.is_full,
        "started_at": iso_moment(run.started_at),
        "ended_at": iso_or_none(run.ended_at),
        "pages": run.pages,
        **run.counts.facts(),
        "cause": run.cause or None,
        "drift": [drift._asdict() for drift in run.drift],
        "attempt": run.attempt,
        "due_at": iso_or_none(run.due_at),
        "retry_of": run.retry_of or None,
        "repaired_by": run.repaired_by or None,
    }


def line_facts(line: SyncLine, paused: Collection[str]) -> dict[str, object]:
    """Return a line as programs read it: the keys of the TOML, and if it is paused.

    `problem` is the reason why a listed line does not run.
    """
    facts: dict[str, object] = {
        "name": line.name,
        "configuration": line.configuration,
        "method": line.method,
        "path": line.path,
        "paused": line.name in paused,
    }
    if line.error is not None:
        facts["problem"] = line.error.message
    return facts | (sync_table(line.sync) if line.sync else {})


def shape_facts(line: str, shape: LineShape) -> dict[str, object]:
    """Return the shape of a line's records: the kinds of the fields by their paths."""
    return {
        "line": line,
        "fields": {path: field.words for path, field in shape.fields.items()},
        "recorded_at": iso_or_none(shape.recorded_at or None),
        "drift": [drift._asdict() for drift in shape.drift],
    }
