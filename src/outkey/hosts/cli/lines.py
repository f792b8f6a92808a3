"""The commands `outkey line` and `outkey run`: synchronizing, and looking at what was done."""

from collections.abc import Callable, Iterator
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from outkey.core.config import SyncLine
from outkey.core.export import render
from outkey.core.sync.run import Outcome, Run
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
    say(_summary(last))


@runs_app.command("list")
def list_runs(
    *,
    line: Annotated[str, typer.Option(help="of this line only")] = "",
    limit: Annotated[int, typer.Option(min=1, max=1000)] = 20,
    as_json: AsJson = False,
) -> None:
    """List the newest runs."""
    installation()
    found = _runs().newest(limit, line)
    if as_json:
        say_json([run_facts(run) for run in found])
        return
    say_table(
        ("Run", "Line", "Began", "State", "Created", "Updated", "Unchanged", "Failed", "Archived"),
        (
            (run.id, run.line, _moment(run.started_at), run.state, *asdict(run.counts).values())
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
    say(_summary(found))
    if left_out:
        rows = ((item.number, item.key, item.field, item.reason) for item in left_out)
        say_table(("Record", "Key", "Field", "Reason"), rows)


@runs_app.command("cancel")
def cancel_run(run: RunId, *, as_json: AsJson = False) -> None:
    """Let a run stop at its next page."""
    installation()
    _runs().cancel(run)
    if as_json:
        say_json({"cancelled": run})
    else:
        say(f"cancelled: {run}; it stops at its next page")


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


def _summary(run: Run) -> str:
    counts = ", ".join(f"{count} {word}" for word, count in asdict(run.counts).items() if count)
    word = "would be: " if run.dry_run else ""
    cause = f" ({run.cause})" if run.cause else ""
    return f"{run.line}: {run.state}{cause}, {word}{counts or 'nothing to do'}, run {run.id}"


def _moment(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S")
