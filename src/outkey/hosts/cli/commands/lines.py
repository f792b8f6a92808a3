"""The commands `outkey line` and `outkey run`: sync lines and their runs."""

import json
import os
import signal
from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from shlex import quote
from time import sleep
from typing import TYPE_CHECKING, Annotated

import typer

from outkey.administration.core.document.export import render
from outkey.foundation.core.errors import (
    Cause,
    OutkeyError,
    RunStopped,
    SyncFailed,
    UnknownConfiguration,
)
from outkey.foundation.core.findings.checks import finding_facts
from outkey.foundation.core.moments import iso_moment
from outkey.foundation.core.text import Text
from outkey.hosts.cli.declaring import Commands
from outkey.hosts.cli.output_file import OutputOption
from outkey.hosts.cli.printing.effects import FirstEffects
from outkey.hosts.cli.printing.output import (
    confirm,
    exit_code_of,
    print_done,
    print_error,
    print_findings,
    print_json,
    print_line,
    print_table,
    progress_bar,
    warn,
    warn_if_sealed,
    warn_unreadable,
)
from outkey.hosts.cli.printing.presenters import dependents_text
from outkey.hosts.cli.printing.run_texts import (
    COUNTED,
    changed_fields_text,
    counts_text,
    extent_text,
    name_line_in_hint,
    next_steps,
    pages_text,
    repair_text,
    result_text,
    retry_steps,
    run_remedy,
    run_text,
    state_text,
    waiting_text,
)
from outkey.hosts.cli.printing.times import parse_time, time_text, with_local_times
from outkey.hosts.cli.session import AsJson, Yes, current_host, open_application
from outkey.hosts.command_host import administration_of
from outkey.sync.core.line.facts import line_facts, run_facts, shape_facts
from outkey.sync.core.line.line import SyncLine
from outkey.sync.core.mapping.targets import FILE_PREFIX
from outkey.sync.core.run.reasons import ALL_REFUSED, RUN_FAILURES, rejection_text
from outkey.sync.core.run.remedies import ERRORS
from outkey.sync.core.run.run import RejectedRecord, RejectionGroup, Run, RunState

if TYPE_CHECKING:
    from outkey.administration.engine.application import Application
    from outkey.sync.engine.runs.runs import Runs

_MAX_REJECTED = 100
_MAX_GROUPS = 100
lines_app = Commands(help="List, run and change sync lines.")
runs_app = Commands(help="List, follow, cancel and retry runs of sync lines.")
Line = Annotated[str, typer.Argument(help="The sync line's name.")]
RunId = Annotated[
    str, typer.Argument(help="The run's id, as outkey run list shows it.")
]


@lines_app.command("list")
def list_lines(*, as_json: AsJson = False) -> None:
    """List the sync lines."""
    application = open_application()
    lines = application.registry.lines()
    paused = application.runs.paused_lines()
    warn_unreadable(application.registry.unreadable_lines())
    if as_json:
        print_json([line_facts(line, paused) for line in lines])
        return
    warn_if_sealed(application)
    if not lines:
        print_line(
            "There are no sync lines yet. Apply a document with [line.NAME]:"
            " outkey apply FILE"
        )
        return
    print_table(
        ("Line", "Configuration", "Direction", "Target", "Schedule"),
        (line_row(line, paused) for line in lines),
    )


def line_row(line: SyncLine, paused: Collection[str]) -> tuple[object, ...]:
    """Return a line for the list; one that is only a request has no target."""
    sync = line.sync
    if sync is None:
        problem = line.error.message if line.error else ""
        return line.name, line.configuration, "request only", "", problem
    schedule = sync.schedule
    if line.error is not None:
        schedule = line.error.message
    elif line.name in paused:
        schedule = f"paused ({schedule})" if schedule else "paused"
    return line.name, line.configuration, sync.direction, sync.target, schedule


@lines_app.command("show")
def show_line(name: Line, *, as_json: AsJson = False) -> None:
    """Show a sync line, and what is wrong or risky about it."""
    application = open_application()
    with _naming_the_list():
        line = application.registry.shown_line(name)
    is_checked = line.sync is not None and line.error is None
    findings = application.sync.runner().check(name) if is_checked else []
    findings += application.lines.drift(name)
    paused = application.runs.paused_lines()
    if as_json:
        facts = [finding_facts(finding, line.configuration) for finding in findings]
        print_json(line_facts(line, paused) | {"findings": facts})
        return
    print_line(render([], [line]).rstrip("\n"))
    if name in paused:
        print_line(f"\npaused; to resume it: outkey line resume {quote(name)}")
    print_findings((name, finding) for finding in findings)


@lines_app.command("suggest")
def suggest_line(
    name: Line,
    *,
    output: OutputOption = "",
    as_json: AsJson = False,
) -> None:
    """Propose records, paging, keys and fields from one request.

    Prints the line as TOML, and the reasons on standard error. A file is only written
    if the request succeeds.
    """
    from outkey.hosts.cli.printing.suggestions import print_suggestion

    application = open_application()
    line = find_line(application, name)
    actor = administration_of(application).actor
    suggestion = application.lines.suggest(line, actor)
    print_suggestion(suggestion, line, output, as_json=as_json)


@lines_app.command("run")
def run_line(
    name: Line,
    *,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Show what would change, and write nothing."),
    ] = False,
    allow_removal: Annotated[
        bool,
        typer.Option(
            "--allow-removal",
            help=(
                "Remove as many records as are missing, this once, although"
                " guard_percent would stop the run."
            ),
        ),
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Synchronize now. A run that was interrupted is resumed."""
    application = open_application()
    find_line(application, name)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # like Ctrl-C
    effects = FirstEffects(dry_run=dry_run)
    steps = application.sync.run_line(
        name,
        administration_of(application).actor,
        dry_run=dry_run,
        note=effects.note,
        note_change=effects.changes_to_target.append,
        allows_removal=allow_removal,
    )
    return _perform_run(application, name, steps, effects, as_json=as_json)


def _perform_run(
    application: "Application",
    name: str,
    steps: Generator[Run],
    effects: FirstEffects,
    *,
    as_json: bool,
) -> int:
    """Perform a run, print what became of it, and return the exit code."""
    try:
        with progress_bar(name, None) as advance:
            run = follow_run(steps, application.runs, effects, advance)
    except OutkeyError as failure:
        name_line_in_hint(failure, name)
        if not as_json:
            effects.print()
        raise
    error = rejection_error(run)
    if run.state is not RunState.DONE and error is None:
        print_error(interruption(run), as_json=as_json)
        return 130
    if as_json:
        facts = run_facts(run) | {"changes_to_target": effects.changes_to_target}
        if run.dry_run:
            facts["changes"] = list(effects.facts())
        if error:
            facts["error"] = error.facts()
        print_json(facts)
    else:
        effects.print()
        for change in effects.changes_to_target:
            print_line(change)
        print_line(run_text(run))
        _print_drift(run)
        if error:
            print_error(error, as_json=False)
        else:
            _print_file(application, run)
            print_next_steps(run)
    return 1 if error else 0


@lines_app.command("pause")
def pause_line(name: Line, *, as_json: AsJson = False) -> None:
    """Pause a sync line. No run begins, and the active one stops."""
    application = open_application()
    with _naming_the_list():
        application.lines.pause(administration_of(application), name)
    print_done("paused", as_json=as_json, line=name)


@lines_app.command("resume")
def resume_line(name: Line, *, as_json: AsJson = False) -> None:
    """Resume a sync line. Workers continue what was stopped."""
    application = open_application()
    with _naming_the_list():
        application.lines.resume(administration_of(application), name)
    print_done("resumed", as_json=as_json, line=name)


@lines_app.command("shape")
def show_shape(
    name: Line,
    *,
    accept: Annotated[
        bool,
        typer.Option("--accept", help="Take the shape of the last run as the new one."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show the fields that the records of a pull have, and what has changed."""
    application = open_application()
    with _naming_the_list():
        application.registry.owner_of_line(name)
    shape = application.runs.shapes.get(name)
    if accept:
        administration = administration_of(application)
        shape = application.lines.accept_shape(administration, name)
    if as_json:
        print_json(shape_facts(name, shape))
        return
    if not shape.fields:
        print_line(
            "Nothing is recorded yet. The next complete run of the line records it:"
            f" outkey line run {quote(name)}"
        )
        return
    print_table(
        ("Field", "Kind", "In every record"),
        (
            (path, field.words or "unknown", "yes" if field.always else "no")
            for path, field in shape.fields.items()
        ),
    )
    print_line(f"recorded at {time_text(shape.recorded_at)}")
    print_findings((name, drift.finding(name)) for drift in shape.drift)


@lines_app.command("reset")
def reset_line(
    name: Line,
    *,
    since: Annotated[
        str,
        typer.Option(
            help=(
                "Where the next run begins, such as 2026-01-01 or -30d. By default it"
                " begins as a first run does."
            ),
            metavar="MOMENT",
        ),
    ] = "",
    parent: Annotated[
        str,
        typer.Option(
            help=(
                "Only the list of this parent begins again: the key or the ID of its"
                " record, or its value."
            ),
            metavar="KEY",
        ),
    ] = "",
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Let the next run of a sync line begin again. Its records stay."""
    application = open_application()
    find_line(application, name)
    moment = since
    if since and not since.isdecimal() and not since.startswith("-"):
        moment = iso_moment(parse_time(since, "--since"))
    begin = f"at {moment}" if moment else "as a first one"
    of_parent = f" for the parent {parent}" if parent else ""
    confirm(f"Let the next run of {name} begin {begin}{of_parent}?", yes=yes)
    stored, parents = application.lines.reset(
        administration_of(application), name, moment, parent
    )
    if as_json:
        print_json({"line": name, "since": stored or None, "parents": parents})
    else:
        begin = f"at {stored}" if stored else "as a first one"
        print_line(f"reset: {name}, the next run begins {begin}{of_parent}")


@lines_app.command("rename")
def rename_line(
    name: Line,
    new_name: Annotated[str, typer.Argument(help="The new name.", metavar="NEW")],
    *,
    as_json: AsJson = False,
) -> None:
    """Rename a sync line. Its runs, records and pair stay with it."""
    application = open_application()
    find_line(application, name)
    application.lines.rename(administration_of(application), name, new_name)
    if as_json:
        print_done("renamed", as_json=True, line=new_name)
    else:
        print_line(f"renamed: {name} → {new_name}")


@lines_app.command("delete")
def delete_line(
    name: Line,
    *,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Delete a sync line and its runs. Its records stay.

    The pair that it is in is deleted too.
    """
    application = open_application()
    with _naming_the_list():
        application.registry.owner_of_line(name)
    administration = administration_of(application)
    dependents = application.dependents(administration, line=name)
    if not dependents.webhooks:  # else it is refused, and there is nothing to ask
        also = dependents_text(dependents).removeprefix(", ")
        confirm(f"Delete {also}?", yes=yes)
    deleted = application.lines.remove(administration, name)
    also = "".join(f", with the pair {pair}" for pair in deleted)
    print_done("deleted", as_json=as_json, also=also, line=name)


@runs_app.command("list")
def list_runs(
    *,
    line: Annotated[
        str, typer.Option(help="List only runs of this line.", metavar="NAME")
    ] = "",
    state: Annotated[
        RunState | None,
        typer.Option(
            help=(
                "List only runs in this state: waiting, running, done, failed or"
                " cancelled."
            ),
            metavar="STATE",
        ),
    ] = None,
    deliveries: Annotated[
        bool | None,
        typer.Option(
            "--deliveries/--no-deliveries",
            help="List only runs of webhook deliveries, or none of them.",
        ),
    ] = None,
    limit: Annotated[
        int,
        typer.Option(
            min=1, max=1000, metavar="NUMBER", help="How many runs, the newest first."
        ),
    ] = 20,
    as_json: AsJson = False,
) -> None:
    """List the newest runs."""
    runs = open_application().runs.newest(limit, line, state or "", received=deliveries)
    if as_json:
        print_json([run_facts(run) for run in runs])
        return
    if not runs:
        print_line(_no_runs_text(line, state))
        return
    titles = ["Run", "Line", "Began", "State", *map(str.capitalize, COUNTED.values())]
    rows = list(map(_run_row, runs))
    if any(run.counts.children for run in runs):
        titles.append("Children")
        for row, run in zip(rows, runs, strict=True):
            row.append(counts_text(run.counts.children))
    print_table(titles, rows)


def _no_runs_text(line: str, state: RunState | None) -> str:
    """Return why no run is listed, and what to do."""
    if line or state:
        return "No run matches. List all of them with: outkey run list"
    return "There are no runs yet. Start one with: outkey line run NAME"


def _run_row(run: Run) -> list[object]:
    """Return a run for the list, without its children."""
    started = time_text(run.started_at)
    counts = (getattr(run.counts, name) for name in COUNTED)
    return [run.id, run.line, started, state_text(run), *counts]


@runs_app.command("show")
def show_run(run: RunId, *, as_json: AsJson = False) -> None:
    """Show a run, and the records that it rejected."""
    runs = open_application().runs
    stored = runs.get(run)
    rejected = runs.rejected(run, _MAX_REJECTED)
    groups = runs.rejection_groups(run)[:_MAX_GROUPS]
    if as_json:
        print_json(_shown_run_facts(stored, groups, rejected))
        return
    _print_run(stored)
    if rejected:
        _print_rejected(groups, rejected)
        for step in retry_steps(stored):
            print_line(step)


def _shown_run_facts(
    run: Run, groups: Sequence[RejectionGroup], rejected: Sequence[RejectedRecord]
) -> dict[str, object]:
    """Return a run as JSON has it, with the records that it rejected."""
    return {
        **run_facts(run),
        "hint": run_remedy(run) or None,
        "notes": list(run.notes),
        "reasons": [
            {"reason": group.reason, "field": group.field, "count": group.count}
            for group in groups
        ],
        "left_out": [asdict(item) for item in rejected],
    }


def _print_run(run: Run) -> None:
    """Print the state of a run, how to help it, and what it noted."""
    print_line(run_text(run))
    started = time_text(run.started_at)
    print_line(f"started by {run.actor} at {started}, {extent_text(run)}")
    if remedy := run_remedy(run):
        print_line(f"hint: {with_local_times(remedy)}")
    if run.retry_of:
        print_line(f"a retry of what run {run.retry_of} rejected")
    if run.repaired_by:
        print_line(repair_text(run))
    for note in run.notes:
        print_line(note)
    _print_drift(run)
    if run.counts.changed_fields:
        print_line(f"changed: {changed_fields_text(run.counts)}")


def _print_drift(run: Run) -> None:
    """Print how the records of a run differ from those of earlier ones."""
    print_findings((run.line, drift.finding(run.line)) for drift in run.drift)


def _print_rejected(
    groups: Sequence[RejectionGroup], rejected: Sequence[RejectedRecord]
) -> None:
    """Print the reasons why a run rejected records, and the first records."""
    print_table(
        ("Rejected", "Reason", "Field", "Example"),
        (
            (group.count, rejection_text(group.reason), group.field, group.example)
            for group in groups
        ),
    )
    print_table(
        ("Record", "Key", "Field", "Reason", "Type", "Value"),
        (
            (
                item.number,
                item.key,
                item.field,
                rejection_text(item.reason),
                item.kind,
                item.excerpt,
            )
            for item in rejected
        ),
    )


@runs_app.command("cancel")
def cancel_run(run: RunId, *, as_json: AsJson = False) -> None:
    """Cancel a waiting run, or stop a running one at its next page."""
    application = open_application()
    before = application.runs.get(run)
    after = application.sync.cancel(run, administration_of(application).actor)
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
    """Queue another run of the same line. A failed run is resumed."""
    application = open_application()
    before = application.runs.get(run)
    actor = administration_of(application).actor
    queued = application.request_run(before.line, actor, dry_run=before.dry_run)
    if as_json:
        print_json(run_facts(queued))
    else:
        print_line(
            f"{run_text(queued)}; a worker takes it: outkey worker, or outkey serve on"
            " SQLite"
        )


@runs_app.command("retry")
def retry_run(run: RunId, *, as_json: AsJson = False) -> int:
    """Retry only the records that a run rejected."""
    application = open_application()
    rejecting = application.runs.get(run)
    if rejecting.is_received:
        return retry_deliveries(application, run, as_json=as_json)
    line = rejecting.line
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # like Ctrl-C
    effects = FirstEffects(dry_run=False)
    actor = administration_of(application).actor
    steps = application.sync.retry(
        run, actor, note=effects.note, note_change=effects.changes_to_target.append
    )
    return _perform_run(application, line, steps, effects, as_json=as_json)


def retry_deliveries(application: "Application", run: str, *, as_json: bool) -> int:
    """Let workers process the deliveries again of which a run has rejected records."""
    administration = administration_of(application)
    name, deliveries = application.webhooks.retry(administration, run)
    ids = [delivery.id for delivery in deliveries]
    if as_json:
        print_json({"done": "replayed", "webhook": name, "deliveries": ids})
    else:
        print_line(f"replayed: {name} {' '.join(ids)}; a worker processes them")
    return 0


@runs_app.command("follow")
def follow_stored_run(run: RunId, *, as_json: AsJson = False) -> int:
    """Follow a run of a worker until it ends, and return its exit code."""
    runs = open_application().runs
    last = runs.get(run)
    said = ""
    with progress_bar(last.line, None) as advance:
        advance(last.counts.total)
        for step in runs.follow(run, sleep):
            advance(step.counts.total - last.counts.total)
            last = step
            if as_json:
                print_line(json.dumps(run_facts(step)))
            elif step.state is RunState.WAITING:
                reason = waiting_text(step, runs.paused_lines())
                if reason != said:
                    warn(reason)
                said = reason
    if not as_json:
        print_line(run_text(last))
        if remedy := run_remedy(last):
            print_line(f"hint: {with_local_times(remedy)}")
        print_next_steps(last)
    return _exit_code_after(last)


def _print_file(application: "Application", run: Run) -> None:
    """Print where the file is that a run has written, if its target is one."""
    from outkey.hosts.installation import files_folder

    target = target_of(application, run.line)
    if run.dry_run or not target.startswith(FILE_PREFIX):
        return
    folder = files_folder(current_host().home_folder(), os.environ)
    path = folder / target.removeprefix(FILE_PREFIX)
    if path.exists():
        print_line(f"file: {path}")


def target_of(application: "Application", line: str) -> str:
    """Return the target of a line that has records, or an empty text."""
    sync = application.registry.line(line).sync
    return sync.target if sync else ""


def print_next_steps(run: Run) -> None:
    """Print what to do about rejected records, if there are any."""
    for step in next_steps(run):
        print_line(step)


def _exit_code_after(run: Run) -> int:
    """Return the exit code that `line run` has after such a run."""
    if run.state is RunState.DONE:
        return 0
    if run.state is RunState.CANCELLED:
        return exit_code_of(RunStopped())
    # The limit of the API is reached more often than our own.
    error = None if run.cause == Cause.RATE_LIMITED else ERRORS.get(run.cause)
    return 1 if error is None else exit_code_of(error)


def find_line(application: "Application", name: str) -> SyncLine:
    """Return a line; the error for an unknown one shows how to list them."""
    with _naming_the_list():
        return application.registry.line(name)


@contextmanager
def _naming_the_list() -> Iterator[None]:
    """Let the error for an unknown line show how to list them."""
    try:
        yield
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
    elif run.retry_of:
        hint = Text("To start over: outkey run retry {run}", run=run.retry_of)
    else:
        hint = Text("To resume it: outkey line run {line}", line=quote(run.line))
    message = Text(
        "{line} was interrupted after {pages}, run {run}",
        line=run.line,
        pages=pages_text(run.pages),
        run=run.id,
    )
    return RunStopped(message, hint=hint)


def rejection_error(run: Run) -> SyncFailed | None:
    """Return the error for a run that rejected every record."""
    if run.cause != ALL_REFUSED:
        return None
    hint = Text(
        "Correct the line's fields; to see the rejected records: outkey run show {run}",
        run=run.id,
    )
    return SyncFailed(RUN_FAILURES[ALL_REFUSED].summary, hint=hint, reason=ALL_REFUSED)
