"""The commands `outkey line` and `outkey run`: sync lines and their runs."""

import signal
from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from dataclasses import asdict, astuple, fields
from time import time
from typing import TYPE_CHECKING, Annotated

import typer

from outkey.core.config.configuration import SyncLine
from outkey.core.config.export import render
from outkey.core.errors import (
    OutkeyError,
    RunStopped,
    SyncFailed,
    UnknownConfiguration,
)
from outkey.core.moments import moment_text
from outkey.core.sync.records import WriteOutcome
from outkey.core.sync.remedies import remedy_of
from outkey.core.sync.run import Counts, Run, RunState
from outkey.core.sync.table import sync_table
from outkey.core.text import Text
from outkey.hosts.cli.output import (
    finding_facts,
    print_error,
    print_findings,
    print_json,
    print_line,
    print_table,
    progress_bar,
)
from outkey.hosts.cli.session import AsJson, administration_of, open_application

if TYPE_CHECKING:
    from outkey.engine.application import Application
    from outkey.engine.sync import Effect, Runs

_MAX_SHOWN = 20  # changes of a dry run, or rejected records
_MAX_REJECTED = 100
_SOON = 2.0  # seconds; the clocks of two machines differ by as much
# The words for users, in the order of Counts, whose names are those of JSON.
_COUNTED = tuple(
    "rejected" if count.name == "failed" else count.name for count in fields(Counts)
)
lines_app = typer.Typer(help="Sync lines.", no_args_is_help=True)
runs_app = typer.Typer(help="Runs of sync lines.", no_args_is_help=True)
Line = Annotated[str, typer.Argument(help="the sync line's name")]
RunId = Annotated[str, typer.Argument(help="the run's id")]


@lines_app.command("list")
def list_lines(*, as_json: AsJson = False) -> None:
    """List the sync lines."""
    lines = open_application().registry.lines()
    if as_json:
        print_json([line_facts(line) for line in lines])
        return
    print_table(
        ("Line", "Configuration", "Direction", "Target", "Schedule"),
        map(line_row, lines),
    )


def line_row(line: SyncLine) -> tuple[object, ...]:
    """Return a line for the list; one without records shows its request."""
    sync = line.sync
    if sync is None:
        return line.name, line.configuration, f"{line.method} {line.path}", "", ""
    return line.name, line.configuration, sync.direction, sync.target, sync.schedule


@lines_app.command("show")
def show_line(name: Line, *, as_json: AsJson = False) -> None:
    """Show a sync line, and what is wrong or risky about it."""
    application = open_application()
    line = find_line(application, name)
    findings = application.sync_runner().check(name) if line.sync else []
    if as_json:
        facts = [finding_facts(finding, line.configuration) for finding in findings]
        print_json(line_facts(line) | {"findings": facts})
        return
    print_line(render([], [line]))
    print_findings((name, finding) for finding in findings)


@lines_app.command("run")
def run_line(
    name: Line,
    *,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="show what would change")
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Synchronize once; a run that was interrupted is resumed."""
    application = open_application()
    find_line(application, name)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # like Ctrl-C
    effects = FirstEffects(dry_run=dry_run)
    steps = application.sync_runner().run(
        name, administration_of(application).actor, dry_run=dry_run, note=effects.note
    )
    try:
        with progress_bar(name, None) as advance:
            run = follow_run(steps, application.runs, effects, advance)
    except OutkeyError:
        if not as_json:
            effects.print()
        raise
    if run.state is not RunState.DONE:
        print_error(interruption(run), as_json=as_json)
        return 130
    error = rejection_error(run)
    if as_json:
        facts = run_facts(run)
        if dry_run:
            facts["changes"] = list(effects.facts())
        if error:
            facts["error"] = error.facts()
        print_json(facts)
    else:
        effects.print()
        print_line(run_text(run))
        if error:
            print_error(error, as_json=False)
    return 1 if error else 0


@runs_app.command("list")
def list_runs(
    *,
    line: Annotated[str, typer.Option(help="of this line only")] = "",
    state: Annotated[RunState | None, typer.Option(help="in this state only")] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, metavar="<1 to 1000>")] = 20,
    as_json: AsJson = False,
) -> None:
    """List the newest runs."""
    runs = open_application().runs.newest(limit, line, state or "")
    if as_json:
        print_json([run_facts(run) for run in runs])
        return
    titles = ("Run", "Line", "Began", "State", *map(str.capitalize, _COUNTED))
    print_table(titles, map(run_row, runs))


def run_row(run: Run) -> tuple[object, ...]:
    """Return a run for the list."""
    started = moment_text(run.started_at)
    return run.id, run.line, started, state_text(run), *astuple(run.counts)


@runs_app.command("show")
def show_run(run: RunId, *, as_json: AsJson = False) -> None:
    """Show a run, and the records that it rejected."""
    runs = open_application().runs
    stored = runs.get(run)
    rejected = runs.rejected(run, _MAX_REJECTED)
    remedy = remedy_of(stored.cause)
    if as_json:
        facts = run_facts(stored)
        facts["hint"] = remedy or None
        facts["left_out"] = [asdict(item) for item in rejected]
        print_json(facts)
        return
    print_line(run_text(stored))
    started = moment_text(stored.started_at)
    print_line(f"started by {stored.actor} at {started}, {stored.pages} pages")
    if remedy:
        print_line(f"hint: {remedy}")
    if rejected:
        rows = ((item.number, item.key, item.field, item.reason) for item in rejected)
        print_table(("Record", "Key", "Field", "Reason"), rows)


@runs_app.command("cancel")
def cancel_run(run: RunId, *, as_json: AsJson = False) -> None:
    """End a queued run, or stop a running one at its next page."""
    runs = open_application().runs
    before = runs.get(run)
    after = runs.cancel(run)
    has_ended = (
        before.state is RunState.CANCELLED or after.state is not RunState.CANCELLED
    )
    if as_json:
        done = "unchanged" if has_ended else "cancelled"
        print_json({"done": done, "run": run, "state": str(after.state)})
    elif has_ended:
        print_line(f"it has ended already: {result_text(after)}")
    elif before.state is RunState.RUNNING:
        print_line(f"cancelled: {run}; it stops at its next page")
    else:
        print_line(f"cancelled: {run}")


@runs_app.command("repeat")
def repeat_run(run: RunId, *, as_json: AsJson = False) -> None:
    """Queue another run of a run's line; a failed one is resumed."""
    application = open_application()
    before = application.runs.get(run)
    actor = administration_of(application).actor
    queued = application.planner().request(before.line, actor, dry_run=before.dry_run)
    if as_json:
        print_json(run_facts(queued))
    else:
        print_line(
            f"{run_text(queued)}; a worker takes it: outkey worker, or outkey serve on"
            " SQLite"
        )


def run_facts(run: Run) -> dict[str, object]:
    """Return a run as programs read it."""
    return {
        "run": run.id,
        "line": run.line,
        "state": str(run.state),
        "dry_run": run.dry_run,
        "started_at": run.started_at,
        "ended_at": run.ended_at,
        "pages": run.pages,
        **asdict(run.counts),
        "cause": run.cause or None,
        "attempt": run.attempt,
        "due_at": run.due_at,
    }


def line_facts(line: SyncLine) -> dict[str, object]:
    """Return a line as programs read it: the keys of the TOML."""
    facts = {
        "name": line.name,
        "configuration": line.configuration,
        "method": line.method,
        "path": line.path,
    }
    return facts | (sync_table(line.sync) if line.sync else {})


class FirstEffects:
    """The first records that a run rejects, or that a dry run would change."""

    def __init__(self, *, dry_run: bool) -> None:
        self._dry_run = dry_run
        self._effects: list[tuple[int, Effect]] = []
        self.count = 0  # of all records of the run so far

    def note(self, effect: "Effect") -> None:
        """Count a record, and remember it if it is among the first to show."""
        self.count += 1
        is_rejected = effect.outcome is WriteOutcome.REFUSED
        is_change = self._dry_run and effect.outcome is not WriteOutcome.UNCHANGED
        if (is_rejected or is_change) and len(self._effects) < _MAX_SHOWN:
            self._effects.append((self.count, effect))

    def print(self) -> None:
        """Print a table of the effects, if there are any."""
        if not self._effects:
            return
        title = "Change" if self._dry_run else "Rejected"
        rows = [(number, *effect_row(effect)) for number, effect in self._effects]
        print_table(("Record", "", "Key", title), rows)

    def facts(self) -> Iterator[dict[str, object]]:
        """Yield the effects as programs read them."""
        for number, effect in self._effects:
            yield {
                "record": number,
                "outcome": str(effect.outcome),
                "key": effect.key,
                "field": effect.field,
                "reason": effect.reason,
                "changes": effect.changes,
            }


def effect_row(effect: "Effect") -> tuple[str, str, str]:
    """Return outcome, key, and reason or changes of one record."""
    outcome = str(effect.outcome)
    if effect.outcome is WriteOutcome.REFUSED:
        return outcome, effect.key, f"{effect.field}: {effect.reason}"
    changes = [
        f"{name}: {before!r} → {after!r}"
        for name, (before, after) in effect.changes.items()
    ]
    return outcome, effect.key, ", ".join(changes)


def find_line(application: "Application", name: str) -> SyncLine:
    """Return a line; the error for an unknown one says how to list them."""
    try:
        return application.registry.line(name)
    except UnknownConfiguration as error:
        raise UnknownConfiguration(
            error.message, hint=Text("See: outkey line list"), field=error.field
        ) from None


def follow_run(
    steps: Generator[Run],
    runs: "Runs",
    effects: FirstEffects,
    advance: Callable[[int], None],
) -> Run:
    """Perform a run; return how it ended, or how far it was when it was interrupted."""
    run = next(steps)
    effects.count = run.counts.total
    try:
        for step in steps:
            advance(step.counts.total - run.counts.total)
            run = step
    except KeyboardInterrupt as interrupt:
        # Between two pages the run does not know of it yet.
        with suppress(KeyboardInterrupt):
            steps.throw(interrupt)
        with suppress(OutkeyError):  # the database is not available
            run = runs.get(run.id)  # one page more than was reported may be stored
    return run


def interruption(run: Run) -> RunStopped:
    """Return the error for a run that the user interrupted."""
    if run.dry_run:
        hint = Text("A dry run writes nothing, and the next one starts over.")
    else:
        hint = Text("To resume it: outkey line run {line}", line=run.line)
    pages = "one page" if run.pages == 1 else f"{run.pages} pages"
    message = Text(
        "{line} was interrupted after {pages}, run {run}",
        line=run.line,
        pages=pages,
        run=run.id,
    )
    return RunStopped(message, hint=hint)


def rejection_error(run: Run) -> SyncFailed | None:
    """Return the error for a run that rejected every record."""
    if not run.counts.is_all_rejected:
        return None
    hint = Text(
        "Correct the line's fields; to see the rejected records: outkey run show {run}",
        run=run.id,
    )
    return SyncFailed(
        Text("every record was rejected"), hint=hint, reason="all_refused"
    )


def run_text(run: Run) -> str:
    """Return a run in one line for users."""
    return f"{run.line}: {result_text(run)}, run {run.id}"


def result_text(run: Run) -> str:
    """Return a run's state and counts for users."""
    values = astuple(run.counts)
    counts = ", ".join(
        f"{count} {word}" for word, count in zip(_COUNTED, values, strict=True) if count
    )
    if counts and run.dry_run:
        counts = f"would be: {counts}"
    elif not counts and run.state is RunState.DONE:
        counts = "nothing to do"
    return ", ".join(filter(None, (state_text(run), counts)))


def state_text(run: Run) -> str:
    """Return a run's state with its cause, or when it is retried."""
    dry = ", dry run" if run.dry_run else ""
    if run.due_at is None:
        cause = f" ({run.cause})" if run.cause else ""
        return f"{run.state}{cause}{dry}"
    is_later = run.due_at > time() + _SOON
    until = f" until {moment_text(run.due_at)}" if is_later else ""
    failure = f" after {run.cause}, attempt {run.attempt}" if run.cause else ""
    return f"{run.state}{until}{failure}{dry}"
