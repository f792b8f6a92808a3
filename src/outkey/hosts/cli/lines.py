"""The commands `outkey line` and `outkey run`: synchronizing, and looking at what was done."""

import signal
import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from dataclasses import asdict, replace
from time import time
from typing import TYPE_CHECKING, Annotated

import typer

from outkey.core.config.configuration import SyncLine
from outkey.core.config.export import render
from outkey.core.errors import (
    ConfigError,
    OutkeyError,
    RunStopped,
    Sealed,
    SyncFailed,
    UnknownConfiguration,
)
from outkey.core.findings.checks import Finding
from outkey.core.findings.line_checks import UNKNOWN_TARGET
from outkey.core.moments import moment_text
from outkey.core.sync.records import WriteOutcome
from outkey.core.sync.remedies import remedy_of
from outkey.core.sync.run import Run, RunState
from outkey.core.sync.table import sync_table
from outkey.hosts.cli.output import (
    finding_facts,
    progress_bar,
    say,
    say_error,
    say_findings,
    say_json,
    say_table,
)
from outkey.hosts.cli.session import AsJson, desk_of, installation

if TYPE_CHECKING:
    from outkey.core.config.document import Document
    from outkey.engine.sync import Effect, Runs, SyncRunner
    from outkey.hosts.installation import Installation
    from outkey.ports.sending import Configurations

_MOST_SHOWN = 20  # of what a dry run would change, or of what is left out
_SOON = 2.0  # seconds; the clocks of two machines differ by as much
_COUNTED = (
    "created",
    "updated",
    "unchanged",
    "left out",
    "archived",
)  # the fields of Counts
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
    line = _line(here, name)
    findings = _runner(here).check(name) if line.sync else []
    if as_json:
        facts = line_facts(line)
        say_json(
            facts
            | {"findings": [finding_facts(f, line.configuration) for f in findings]}
        )
        return
    say(render([], [line]))
    say_findings((name, finding) for finding in findings)


@lines_app.command("run")
def run_line(
    name: Line,
    *,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="show what would change")
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Synchronize once; a run that was interrupted goes on where it stopped."""
    here = installation()
    _line(here, name)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # like Ctrl-C
    noted = _Noted(dry_run=dry_run)
    steps = _runner(here).run(
        name, desk_of(here).actor, dry_run=dry_run, note=noted.note
    )
    try:
        with progress_bar(name, None) as advance:
            last = _followed(steps, noted, advance)
    except OutkeyError:
        if not as_json:
            noted.say()
        raise
    if last.state is not RunState.DONE:
        say_error(_interrupted(last), as_json=as_json)
        return 130
    refused = _all_refused(last)
    if as_json:
        changes = {"changes": list(noted.facts())} if dry_run else {}
        say_json(
            run_facts(last) | changes | ({"error": refused.facts()} if refused else {})
        )
    else:
        noted.say()
        say(summary(last))
        if refused:
            say_error(refused, as_json=False)
    return 1 if refused else 0


@runs_app.command("list")
def list_runs(
    *,
    line: Annotated[str, typer.Option(help="of this line only")] = "",
    state: Annotated[RunState | None, typer.Option(help="in this state only")] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, metavar="<1 to 1000>")] = 20,
    as_json: AsJson = False,
) -> None:
    """List the newest runs."""
    installation()
    found = _runs().newest(limit, line, state or "")
    if as_json:
        say_json([run_facts(run) for run in found])
        return
    say_table(
        ("Run", "Line", "Began", "State", *map(str.capitalize, _COUNTED)),
        (
            (
                run.id,
                run.line,
                moment_text(run.started_at),
                _state(run),
                *asdict(run.counts).values(),
            )
            for run in found
        ),
    )


@runs_app.command("show")
def show_run(run: RunId, *, as_json: AsJson = False) -> None:
    """Show a run, and what it left out."""
    installation()
    found, left_out = _runs().get(run), _runs().rejected(run, 100)
    if as_json:
        more = {"hint": remedy_of(found.cause) or None}
        say_json(
            run_facts(found) | more | {"left_out": [asdict(item) for item in left_out]}
        )
        return
    say(summary(found))
    say(
        f"begun by {found.actor} at {moment_text(found.started_at)}, {found.pages} pages"
    )
    if remedy := remedy_of(found.cause):
        say(f"hint: {remedy}")
    if left_out:
        rows = ((item.number, item.key, item.field, item.reason) for item in left_out)
        say_table(("Record", "Key", "Field", "Reason"), rows)


@runs_app.command("cancel")
def cancel_run(run: RunId, *, as_json: AsJson = False) -> None:
    """End a run that waits, or let one stop at its next page."""
    installation()
    before = _runs().get(run)
    now = _runs().cancel(run)
    ended = before.state is RunState.CANCELLED or now.state is not RunState.CANCELLED
    if as_json:
        done = "unchanged" if ended else "cancelled"
        say_json({"done": done, "run": run, "state": str(now.state)})
    elif ended:
        say(f"it has ended already: {_course(now)}")
    else:
        stops = (
            "; it stops at its next page" if before.state is RunState.RUNNING else ""
        )
        say(f"cancelled: {run}{stops}")


@runs_app.command("repeat")
def repeat_run(run: RunId, *, as_json: AsJson = False) -> None:
    """Ask a worker to run the line of a run again; what failed goes on where it stopped."""
    here = installation()
    from outkey.hosts.django.wiring import planner

    found = _runs().get(run)
    asked = planner(here).request(
        found.line, desk_of(here).actor, dry_run=found.dry_run
    )
    if as_json:
        say_json(run_facts(asked))
    else:
        say(
            f"{summary(asked)}; a worker takes it: outkey worker, or outkey serve on"
            " SQLite"
        )


def work(
    *,
    runs: Annotated[
        int,
        typer.Option(
            min=1, max=64, metavar="<1 to 64>", help="how many runs at the same time"
        ),
    ] = 4,
) -> None:
    """Work off the runs of sync lines, on as many machines as share the PostgreSQL."""
    here = installation()
    from outkey.hosts.django.project import in_project
    from outkey.hosts.django.runs import has_queue

    if not has_queue():
        hint = (
            "On SQLite outkey serve does the work; to use PostgreSQL set"
            " OUTKEY_DATABASE_URL."
        )
        if in_project():
            hint = "In this project run: python manage.py outkey_worker"
        raise ConfigError("workers of their own need PostgreSQL", hint=hint)
    if (
        here.keys.is_sealed()
    ):  # it would take the runs of those who have the key, and fail them
        raise Sealed
    from outkey.hosts.django.worker import QueueWorker

    _log(f"working off runs, {runs} at a time; Ctrl-C or SIGTERM ends it")
    QueueWorker(here, runs, _log, lambda run: _log(summary(run))).run()
    _log("ended")


def _log(text: str) -> None:
    say(f"{moment_text(time())}  {text}")
    sys.stdout.flush()


def line_findings(
    here: "Installation", document: "Document"
) -> Iterator[tuple[str, Finding]]:
    """Yield what is wrong or risky about a document's lines, kept or not, by configuration."""
    from outkey.adapters.configurations_memory import MemoryConfigurations

    owners = {line.configuration for line in document.lines}
    known = here.registry.find(owners)
    new = [draft for draft in document.drafts if draft.name in owners - known.keys()]
    made = [*known.values(), *(draft.configuration() for draft in new)]
    runner = _runner(here, MemoryConfigurations(made, document.lines))
    for line in document.lines:
        if line.sync is None:
            continue
        try:
            found = runner.check(line.name)
        except ConfigError as error:  # the host does not open its target
            found = [UNKNOWN_TARGET.finding_from(error)]
        for finding in found:
            yield (
                line.configuration,
                replace(finding, field=f"line.{line.name}.{finding.field}"),
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


class _Noted:
    """The first of what a run leaves out, or would change, each with its place in the run."""

    def __init__(self, *, dry_run: bool) -> None:
        self._dry_run, self.seen = dry_run, 0
        self._effects: list[tuple[int, Effect]] = []

    def note(self, effect: "Effect") -> None:
        self.seen += 1
        told = self._dry_run or effect.outcome is WriteOutcome.REFUSED
        if (
            told
            and effect.outcome is not WriteOutcome.UNCHANGED
            and len(self._effects) < _MOST_SHOWN
        ):
            self._effects.append((self.seen, effect))

    def say(self) -> None:
        if self._effects:
            rows = [(number, *_effect_row(effect)) for number, effect in self._effects]
            say_table(
                ("Record", "", "Key", "Change" if self._dry_run else "Left out"), rows
            )

    def facts(self) -> Iterator[dict[str, object]]:
        for number, effect in self._effects:
            yield {
                "record": number,
                "outcome": str(effect.outcome),
                "key": effect.key,
                "field": effect.field,
                "reason": effect.reason,
                "changes": effect.changes,
            }


def _line(here: "Installation", name: str) -> SyncLine:
    try:
        return here.registry.line(name)
    except UnknownConfiguration as error:
        hint = "See: outkey line list"
        raise UnknownConfiguration(
            error.message, hint=hint, field=error.field
        ) from None


def _runner(
    here: "Installation", configurations: "Configurations | None" = None
) -> "SyncRunner":
    from outkey.hosts.django.wiring import sync_runner

    return sync_runner(here, configurations=configurations)


def _runs() -> "Runs":
    from outkey.hosts.django.wiring import runs

    return runs()


def _followed(
    steps: Generator[Run], noted: _Noted, advance: Callable[[int], None]
) -> Run:
    """Go through a run, and return how it ended, or how far it was when it was interrupted."""
    run = next(steps)
    noted.seen = _records(run)
    try:
        for step in steps:
            advance(_records(step) - _records(run))
            run = step
    except KeyboardInterrupt as interrupt:
        # It may have come here, between two pages: then the run does not know of it yet.
        with suppress(KeyboardInterrupt):
            steps.throw(interrupt)
        with suppress(OutkeyError):  # the database is not available
            run = _runs().get(run.id)  # one page more than was yielded may be stored
    return run


def _interrupted(run: Run) -> RunStopped:
    pages = "one page" if run.pages == 1 else f"{run.pages} pages"
    anew = "A dry run writes nothing, and the next one begins anew."
    hint = anew if run.dry_run else f"To go on from there: outkey line run {run.line}"
    return RunStopped(
        f"{run.line} was interrupted after {pages}, run {run.id}", hint=hint
    )


def _all_refused(run: Run) -> SyncFailed | None:
    counts = run.counts
    if not counts.failed or counts.created + counts.updated + counts.unchanged:
        return None
    hint = (
        f"Correct the line's fields; to see what was left out: outkey run show {run.id}"
    )
    return SyncFailed(
        "not one of the records could be taken", hint=hint, reason="all_refused"
    )


def _records(run: Run) -> int:
    return sum(asdict(run.counts).values())


def _effect_row(effect: "Effect") -> tuple[str, str, str]:
    if effect.outcome is WriteOutcome.REFUSED:
        return str(effect.outcome), effect.key, f"{effect.field}: {effect.reason}"
    changes = (
        f"{name}: {before!r} → {after!r}"
        for name, (before, after) in effect.changes.items()
    )
    return str(effect.outcome), effect.key, ", ".join(changes)


def summary(run: Run) -> str:
    """Return a run in a line for people."""
    return f"{run.line}: {_course(run)}, run {run.id}"


def _course(run: Run) -> str:
    counted = zip(_COUNTED, asdict(run.counts).values(), strict=True)
    counts = ", ".join(f"{count} {word}" for word, count in counted if count)
    if counts and run.dry_run:
        counts = f"would be: {counts}"
    elif not counts and run.state is RunState.DONE:
        counts = "nothing to do"
    return ", ".join(filter(None, (_state(run), counts)))


def _state(run: Run) -> str:
    dry = ", dry run" if run.dry_run else ""
    if run.due_at is None:
        return f"{run.state}{f' ({run.cause})' if run.cause else ''}{dry}"
    until = f" until {moment_text(run.due_at)}" if run.due_at > time() + _SOON else ""
    failed = f" after {run.cause}, attempt {run.attempt}" if run.cause else ""
    return f"{run.state}{until}{failed}{dry}"
