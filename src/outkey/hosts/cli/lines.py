"""The commands `outkey line` and `outkey run`: synchronizing, and looking at what was done."""

import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, replace
from datetime import UTC, datetime
from time import time
from typing import TYPE_CHECKING, Annotated

import typer

from outkey.core.checks import Finding, Level
from outkey.core.config import SyncLine
from outkey.core.errors import ConfigError, Sealed
from outkey.core.export import render
from outkey.core.sync.run import Outcome, Run, RunState
from outkey.core.sync.table import sync_table
from outkey.hosts.cli.home import AsJson, desk_of, installation
from outkey.hosts.cli.output import (
    finding_facts,
    progress_bar,
    say,
    say_findings,
    say_json,
    say_table,
)

if TYPE_CHECKING:
    from outkey.engine.sync import Effect, SyncRunner
    from outkey.hosts.installation import Installation
    from outkey.ports import Runs

_MOST_SHOWN = 20  # of what a dry run would change
lines_app = typer.Typer(help="Sync lines.", no_args_is_help=True)
runs_app = typer.Typer(help="Runs of sync lines.", no_args_is_help=True)
Line = Annotated[str, typer.Argument(help="the sync line's name")]
RunId = Annotated[str, typer.Argument(help="the run's id")]


@lines_app.command("list")
def list_lines(*, as_json: AsJson = False) -> None:
    """List the sync lines."""
    lines = installation().registry.lines()
    if as_json:
        say_json([line_facts(line) for line in lines])
        return
    say_table(
        ("Line", "Configuration", "Direction", "Target", "Schedule"),
        (
            (
                line.name,
                line.configuration,
                line.sync.direction if line.sync else f"{line.method} {line.path}",
                line.sync.target if line.sync else "",
                line.sync.schedule if line.sync else "",
            )
            for line in lines
        ),
    )


@lines_app.command("show")
def show_line(name: Line, *, as_json: AsJson = False) -> None:
    """Show a sync line, and what is wrong or risky about it."""
    here = installation()
    line = here.registry.line(name)
    findings = _runner(here).check(name) if line.sync else []
    if as_json:
        facts = line_facts(line)
        say_json(facts | {"findings": [finding_facts(f, line.configuration) for f in findings]})
        return
    say(render([], [line]))
    say_findings((name, finding) for finding in findings)


@lines_app.command("run")
def run_line(
    name: Line,
    *,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="show what would change")] = False,
    as_json: AsJson = False,
) -> None:
    """Synchronize once; a run that was interrupted goes on where it stopped."""
    here = installation()
    effects: list[Effect] = []

    def note(effect: "Effect") -> None:
        if len(effects) < _MOST_SHOWN and effect.outcome is not Outcome.UNCHANGED:
            effects.append(effect)

    steps = _runner(here).run(name, desk_of(here).actor, dry_run=dry_run, note=note)
    with progress_bar(name, None) as advance:
        last = _followed(steps, advance)
    if as_json:
        say_json(run_facts(last))
        return
    if dry_run:
        say_table(("", "Key", "Change"), map(_effect_row, effects))
    elif left_out := [effect for effect in effects if effect.outcome is Outcome.REFUSED]:
        say_table(("", "Key", "Left out"), map(_effect_row, left_out))
    say(summary(last))


@runs_app.command("list")
def list_runs(
    *,
    line: Annotated[str, typer.Option(help="of this line only")] = "",
    state: Annotated[RunState | None, typer.Option(help="in this state only")] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000)] = 20,
    as_json: AsJson = False,
) -> None:
    """List the newest runs."""
    installation()
    found = _runs().newest(limit, line, state or "")
    if as_json:
        say_json([run_facts(run) for run in found])
        return
    say_table(
        ("Run", "Line", "Began", "State", "Created", "Updated", "Unchanged", "Failed", "Archived"),
        (
            (run.id, run.line, _moment(run.started_at), _state(run), *asdict(run.counts).values())
            for run in found
        ),
    )


@runs_app.command("show")
def show_run(run: RunId, *, as_json: AsJson = False) -> None:
    """Show a run, and what it left out."""
    installation()
    found, left_out = _runs().get(run), _runs().left_out(run, 100)
    if as_json:
        say_json(run_facts(found) | {"left_out": [asdict(item) for item in left_out]})
        return
    say(summary(found))
    if left_out:
        rows = ((item.number, item.key, item.field, item.reason) for item in left_out)
        say_table(("Record", "Key", "Field", "Reason"), rows)


@runs_app.command("cancel")
def cancel_run(run: RunId, *, as_json: AsJson = False) -> None:
    """End a run that waits, or let one stop at its next page."""
    installation()
    _runs().cancel(run)
    if as_json:
        say_json({"cancelled": run})
    else:
        say(f"cancelled: {run}; it stops at its next page")


@runs_app.command("repeat")
def repeat_run(run: RunId, *, as_json: AsJson = False) -> None:
    """Ask a worker to run the line of a run again; what failed goes on where it stopped."""
    here = installation()
    from outkey.hosts.django.wiring import planner  # noqa: PLC0415 - Django has started

    found = _runs().get(run)
    asked = planner(here).ask(found.line, desk_of(here).actor, dry_run=found.dry_run)
    if as_json:
        say_json(run_facts(asked))
    else:
        say(f"{summary(asked)}; a worker takes it: outkey worker, or outkey serve on SQLite")


def work(
    *,
    runs: Annotated[int, typer.Option(min=1, max=64, help="how many runs at the same time")] = 4,
) -> None:
    """Work off the runs of sync lines, on as many machines as share the PostgreSQL."""
    here = installation()
    from outkey.hosts.django.runs import has_queue  # noqa: PLC0415 - Django has started

    if not has_queue():
        raise ConfigError(
            "workers of their own need PostgreSQL",
            hint="On SQLite outkey serve does the work; to use PostgreSQL set OUTKEY_DATABASE_URL.",
        )
    if here.keys.is_sealed():  # it would take the runs of those who have the key, and fail them
        raise Sealed
    from outkey.hosts.django.worker import Worker  # noqa: PLC0415 - PostgreSQL only

    _log(f"working off runs, {runs} at a time; Ctrl-C or SIGTERM ends it")
    Worker(here, runs, _log, lambda run: _log(summary(run))).run()
    _log("ended")


def _log(text: str) -> None:
    say(f"{_moment(time())}  {text}")
    sys.stdout.flush()


def line_findings(here: "Installation", lines: Iterable[SyncLine]) -> Iterator[tuple[str, Finding]]:
    """Yield what is wrong or risky about lines, by the names of their configurations."""
    for line in lines:
        if line.sync is None:
            continue
        try:
            found = _runner(here).check(line.name)
        except ConfigError as error:  # the host does not open its target
            found = [Finding("L014", Level.ERROR, error.message, error.hint, error.field)]
        for finding in found:
            yield line.configuration, replace(finding, field=f"line.{line.name}.{finding.field}")


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


def _runner(here: "Installation") -> "SyncRunner":
    from outkey.hosts.django.wiring import sync_runner  # noqa: PLC0415 - Django has started

    return sync_runner(here)


def _runs() -> "Runs":
    from outkey.hosts.django.runs import DjangoRuns  # noqa: PLC0415 - Django has started

    return DjangoRuns()


def _followed(steps: Iterator[Run], advance: Callable[[int], None]) -> Run:
    """Go through a run, and return how it ended."""
    run = next(steps)
    for step in steps:
        advance(_records(step) - _records(run))
        run = step
    return run


def _records(run: Run) -> int:
    return sum(asdict(run.counts).values())


def _effect_row(effect: "Effect") -> tuple[str, str, str]:
    if effect.outcome is Outcome.REFUSED:
        return str(effect.outcome), effect.key, f"{effect.field}: {effect.reason}"
    changes = (
        f"{name}: {before!r} → {after!r}" for name, (before, after) in effect.changes.items()
    )
    return str(effect.outcome), effect.key, ", ".join(changes)


def summary(run: Run) -> str:
    """Return a run in a line for people."""
    counts = ", ".join(f"{count} {word}" for word, count in asdict(run.counts).items() if count)
    word = "would be: " if run.dry_run else ""
    return f"{run.line}: {_state(run)}, {word}{counts or 'nothing to do'}, run {run.id}"


def _state(run: Run) -> str:
    if run.due_at is None:
        return f"{run.state} ({run.cause})" if run.cause else str(run.state)
    failed = f" after {run.cause}, attempt {run.attempt}" if run.cause else ""
    return f"{run.state} until {_moment(run.due_at)}{failed}"


def _moment(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S")
