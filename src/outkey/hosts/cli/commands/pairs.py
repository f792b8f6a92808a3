"""The command `outkey pair`: both directions of one thing, and their conflicts."""

import signal
from collections.abc import Generator, Iterator
from contextlib import suppress
from shlex import quote
from typing import TYPE_CHECKING, Annotated

import typer

from outkey.administration.core.document.export import render
from outkey.foundation.core.errors import ConfigError, OutkeyError, RunStopped
from outkey.foundation.core.shared_state import StateKind
from outkey.foundation.core.text import Text
from outkey.hosts.cli.commands.lines import (
    find_line,
    follow_run,
    interruption,
    print_next_steps,
    rejection_error,
)
from outkey.hosts.cli.declaring import Commands
from outkey.hosts.cli.printing.effects import FirstEffects
from outkey.hosts.cli.printing.output import (
    exit_code_of,
    print_done,
    print_error,
    print_json,
    print_line,
    print_table,
    progress_bar,
    warn_unreadable,
)
from outkey.hosts.cli.printing.run_texts import name_line_in_hint, run_text
from outkey.hosts.cli.session import AsJson, open_application
from outkey.hosts.command_host import administration_of
from outkey.sync.core.line.facts import run_facts
from outkey.sync.core.mapping.shown import shortened
from outkey.sync.core.pairs.pairs import PairAgreement, changed_fields
from outkey.sync.core.pairs.section import ConflictRule, Pair
from outkey.sync.core.run.run import Run, RunState
from outkey.sync.core.run.states import STOPPING

if TYPE_CHECKING:
    from outkey.administration.engine.application import Application
    from outkey.sync.engine.pairs.runner import Begin, PairRunner

_MAX_SHOWN = 80  # characters of a value in a table
_OWNERS = {
    "keys": "keys",
    "shared": "shared by both sides",
    "pulled": "only from the API",
    "sent": "only to the API",
}
pairs_app = Commands(help="Synchronize in both directions, and decide conflicts.")
Name = Annotated[str, typer.Argument(help="The pair's name.")]
Key = Annotated[
    str, typer.Argument(help="The record's key, as outkey pair conflicts shows it.")
]


@pairs_app.command("list")
def list_pairs(*, as_json: AsJson = False) -> None:
    """List the pairs with their open conflicts."""
    application = open_application()
    runner = application.sync.pair_runner()
    pairs = runner.pairs().values()
    warn_unreadable(application.sync_settings.unreadable()[StateKind.PAIR])
    if as_json:
        print_json([_pair_facts(runner, pair) for pair in pairs])
        return
    if not pairs:
        print_line(
            "There are no pairs yet. Apply a document with [pair.NAME]:"
            " outkey apply FILE"
        )
        return
    rows = (
        (
            pair.name,
            pair.pull,
            pair.push,
            pair.error.message if pair.error else pair.conflict,
            runner.count_open(pair.name),
        )
        for pair in pairs
    )
    print_table(("Pair", "Pull", "Push", "Conflict", "Open conflicts"), rows)


@pairs_app.command("show")
def show_pair(name: Name, *, as_json: AsJson = False) -> None:
    """Show a pair, which side may change which fields, and its conflicts."""
    from outkey.sync.engine.pairs.runner import fields_by_owner

    application = open_application()
    runner = application.sync.pair_runner()
    pair = runner.get(name)
    pull = find_line(application, pair.pull).sync
    push = find_line(application, pair.push).sync
    fields = fields_by_owner(pull, push)
    if as_json:
        print_json(_pair_facts(runner, pair) | {"fields": fields})
        return
    print_line(render([], [], (), [pair]))
    rows = ((_OWNERS[owner], ", ".join(names)) for owner, names in fields.items())
    print_table(("Fields", "Names"), rows)
    _print_open_conflicts(name, runner.count_open(name))


@pairs_app.command("run")
def run_pair(name: Name, *, as_json: AsJson = False) -> int:
    """Pull and then push. An interrupted run is resumed."""
    application = open_application()
    runner = application.sync.pair_runner()
    pair = runner.get(name)
    find_line(application, pair.pull)
    find_line(application, pair.push)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # like Ctrl-C
    report = PairReport(application)
    error: OutkeyError | None
    try:
        actor = administration_of(application).actor
        application.sync.run_pair(name, actor, report.follow)
    except OutkeyError as failure:
        error = failure
        code = exit_code_of(failure)
    except KeyboardInterrupt:
        error = report.interruption(pair)
        code = 130
    else:
        error = next(filter(None, map(rejection_error, report.runs)), None)
        code = 1
    report.print(runner, pair, error, as_json=as_json)
    return code if error else 0


@pairs_app.command("conflicts")
def list_conflicts(name: Name, *, as_json: AsJson = False) -> None:
    """List the records that both sides have changed."""
    conflicts = list(open_application().sync.pair_runner().conflicts(name))
    if as_json:
        print_json([_conflict_facts(known) for known in conflicts])
        return
    if not conflicts:
        print_line("No record has a conflict. There is nothing to decide.")
        return
    rows = (row for known in conflicts for row in _conflict_rows(known))
    print_table(("Key", "Field", "Agreed", "API", "Host", "Choice"), rows)
    if any(known.is_open for known in conflicts):
        print_line(f"\nto decide: outkey pair resolve {quote(name)} KEY api|host")
    else:
        print_line(f"\nthe next run applies the choices: outkey pair run {quote(name)}")


@pairs_app.command("resolve")
def resolve_conflict(
    name: Name,
    key: Key,
    side: Annotated[str, typer.Argument(help="Whose version stays: api or host.")],
    *,
    as_json: AsJson = False,
) -> None:
    """Decide whose version of a record stays. The next run applies it."""
    if side not in {ConflictRule.API, ConflictRule.HOST}:
        raise ConfigError(
            Text("choose api or host"),
            hint=Text("The version of that side stays, and replaces the other."),
            field="side",
        )
    application = open_application()
    application.sync.resolve_conflict(
        administration_of(application), name, key, ConflictRule(side)
    )
    also = f"; the next run applies it: outkey pair run {quote(name)}"
    print_done("resolved", as_json=as_json, also=also, pair=name, key=key, choice=side)


class PairReport:
    """The output of a pair's run: the runs of its lines, and why it stopped."""

    def __init__(self, application: "Application") -> None:
        self._application = application
        self._effects: list[FirstEffects] = []
        self._is_interrupted = False
        self.runs: list[Run] = []  # those that ended; an error is raised instead
        self._began_at = application.runs.now()
        self._failed: Run | None = None  # the run that an error has ended

    def follow(self, line: str, begin: "Begin") -> Run:
        """Do the run of a line with a progress bar; KeyboardInterrupt ends the pair."""
        effects = FirstEffects(dry_run=False)
        self._effects.append(effects)
        steps = begin(note=effects.note, note_change=effects.changes_to_target.append)
        noticed = self._notice_interrupt(steps)
        try:
            with progress_bar(line, None) as advance:
                run = follow_run(noticed, self._application.runs, effects, advance)
        except OutkeyError as error:
            name_line_in_hint(error, line)
            self._failed = self._run_ended_by(error, line)
            raise
        self.runs.append(run)
        if self._is_interrupted:
            raise KeyboardInterrupt
        return run

    def _notice_interrupt(self, steps: Generator[Run]) -> Generator[Run]:
        """Pass the steps on; after an interrupt at its end, a pull has no push."""
        try:
            yield from steps
        except KeyboardInterrupt:
            self._is_interrupted = True
            raise

    def _run_ended_by(self, error: OutkeyError, line: str) -> Run | None:
        """Return the run that an error has ended; None if it let none begin."""
        with suppress(OutkeyError):  # the database is not available
            for run in self._application.runs.newest(1, line, RunState.FAILED):
                is_of_pair = (run.ended_at or 0.0) >= self._began_at
                if is_of_pair and run.cause in {error.reason, error.code}:
                    return run
        return None

    def interruption(self, pair: Pair) -> RunStopped | None:
        """Return the error for what the user interrupted; None if it was done."""
        hint = Text("To resume it: outkey pair run {pair}", pair=quote(pair.name))
        if not self.runs:
            return RunStopped(hint=hint)
        last = self.runs[-1]
        if last.state is not RunState.DONE:
            return RunStopped(interruption(last).message, hint=hint)
        if last.line == pair.push:
            return None
        message = Text("{pair} was interrupted before its push began", pair=pair.name)
        return RunStopped(message, hint=hint)

    def print(
        self,
        runner: "PairRunner",
        pair: Pair,
        error: OutkeyError | None,
        *,
        as_json: bool,
    ) -> None:
        """Print the runs, the number of open conflicts, and the error."""
        count = runner.count_open(pair.name)
        if as_json:
            facts = {"pair": pair.name, **self._facts(pair), "conflicts": count}
            print_json(facts | ({"error": error.facts()} if error else {}))
            return
        for effects in self._effects:
            effects.print()
            for change in effects.changes_to_target:
                print_line(change)
        for run in self.runs:
            if run.cause != STOPPING:  # the error has it
                print_line(run_text(run))
                print_next_steps(run)
        if self._failed:
            print_line(run_text(self._failed))
        _print_open_conflicts(pair.name, count)
        if error:
            print_error(error, as_json=False)

    def _facts(self, pair: Pair) -> dict[str, object]:
        """Return the last run of each line as `line run` prints it, or null."""
        facts: dict[str, object] = {}
        for run, effects in zip(self.runs, self._effects, strict=False):
            changes = {"changes_to_target": effects.changes_to_target}
            error = rejection_error(run)
            failure = {"error": error.facts()} if error else {}
            facts[run.line] = run_facts(run) | changes | failure
        return {"pull": facts.get(pair.pull), "push": facts.get(pair.push)}


def _pair_facts(runner: "PairRunner", pair: Pair) -> dict[str, object]:
    """Return a pair as programs read it."""
    return {
        "pair": pair.name,
        "pull": pair.pull,
        "push": pair.push,
        "conflict": str(pair.conflict),
        "host_changed": pair.host_changed or None,
        "api_changed": pair.api_changed or None,
        "conflicts": runner.count_open(pair.name),
        **({"problem": pair.error.message} if pair.error else {}),
    }


def _print_open_conflicts(name: str, count: int) -> None:
    """Print how many records wait for a user, if there are any, and what to do."""
    if count:
        records = "one record has" if count == 1 else f"{count} records have"
        print_line(f"{records} a conflict; to see: outkey pair conflicts {quote(name)}")


def _conflict_facts(known: PairAgreement) -> dict[str, object]:
    """Return a conflict as programs read it; null for a side that deleted it."""
    conflict = known.conflict
    assert conflict is not None  # noqa: S101 - for the type checker
    return {
        "key": known.key,
        "agreed": known.api,
        "api": conflict.api,
        "host": conflict.host,
        "choice": conflict.choice,
    }


def _conflict_rows(known: PairAgreement) -> Iterator[tuple[str, ...]]:
    """Yield a row for each field that differs."""
    conflict = known.conflict
    assert conflict is not None  # noqa: S101 - for the type checker
    versions = (known.api or {}, conflict.api, conflict.host)
    for name in changed_fields(conflict.api, conflict.host):
        values = (
            "deleted" if version is None else shortened(version.get(name), _MAX_SHOWN)
            for version in versions
        )
        yield known.key, name, *values, conflict.choice or ""
