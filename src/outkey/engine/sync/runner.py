"""The door for callers: check, preview and run sync lines by name."""

import traceback
from collections.abc import Generator, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import PurePath

from outkey.core.errors import (
    BadAnswer,
    ConfigError,
    OutkeyError,
    ResponseTooLarge,
    RunStopped,
    SyncFailed,
)
from outkey.core.findings.checks import Finding, Level
from outkey.core.findings.line_checks import (
    INVALID_EXPRESSION,
    INVALID_LOOKUP,
    INVALID_SCHEDULE,
    INVALID_SCRIPT,
    SCRIPT_IN_PUSH,
    check,
)
from outkey.core.request.script import check_transform
from outkey.core.sync.line import Direction, Sync, Transform
from outkey.core.sync.run import Run
from outkey.engine.sending.scripts import is_vouched
from outkey.engine.sync.pull import Pull, expressions
from outkey.engine.sync.push import Push
from outkey.engine.sync.run_in_progress import (
    RUN_LIMIT,
    Effect,
    Note,
    Plan,
    RunInProgress,
    SyncPorts,
    is_about_what_was_asked,
)
from outkey.ports.sync import Records

_PREVIEW_MEBIBYTES = 4
STOPPING = "stopping"  # why a worker that ends lets go of a run


class SyncRunner:
    """Checks, previews and runs sync lines."""

    def __init__(self, ports: SyncPorts) -> None:
        self._ports = ports

    def check(self, name: str) -> list[Finding]:
        """Return what is wrong or risky about a line, measured by the host's own fields."""
        return self._checked(self._plan(name))

    def refuse_faults(self, name: str) -> None:
        """Raise what would fail in every run of a line."""
        self._refuse_faults(self._plan(name))

    def preview(self, name: str, limit: int = 20) -> Sequence[Effect]:
        """Return what a run would do with the first records; it asks for one page at most.

        Only a small page is read: previews share one process with all pages of the host.
        """
        plan = self._plan(name)
        limits = plan.configuration.limits
        if limits.response_mebibytes <= _PREVIEW_MEBIBYTES:
            return self._course(plan).sample(limit)
        small = replace(limits, response_mebibytes=_PREVIEW_MEBIBYTES)
        plan = replace(plan, configuration=replace(plan.configuration, limits=small))
        try:
            return self._course(plan).sample(limit)
        except ResponseTooLarge:
            raise ResponseTooLarge(
                f"the first page is larger than the {_PREVIEW_MEBIBYTES} MiB that a"
                " preview reads",
                hint=(
                    "Ask for fewer records at a time (pagination.size), or start a dry"
                    " run."
                ),
            ) from None

    def run(
        self,
        name: str,
        actor: str,
        *,
        dry_run: bool = False,
        note: Note | None = None,
        asked: str = "",
    ) -> Generator[Run]:
        """Run a line to its end, and yield how far it is at first and after each page.

        Raises what ended it early; what was kept until then stays. A dry run writes no record
        and pushes none. `note` is told what became of every record, or would; `asked` is the id
        of the run that somebody asked for.
        """
        course = self._course(self._plan(name), note)
        begun = course.begin(
            self._ports.runs.begin(name, actor, dry_run=dry_run, asked=asked)
        )
        try:
            yield begun
            yield from course.steps()
            yield course.close()
        except RunStopped as stopped:
            if stopped.reason == STOPPING:
                course.fail(stopped, anew=False)
            raise
        except OutkeyError as error:
            # Where it cannot be kept how a run ended, the next one takes it for killed.
            with suppress(OutkeyError):
                course.fail(error, anew=_begins_anew(error, begun, course))
            raise
        except Exception as error:  # noqa: BLE001 - a run that nobody ends would block its line
            fault = _fault(error)
            with suppress(OutkeyError):
                course.fail(fault, anew=False)
            raise fault from None

    def _course(self, plan: Plan, note: Note | None = None) -> RunInProgress:
        self._refuse_faults(plan)
        made = Pull if plan.sync.direction is Direction.PULL else Push
        return made(self._ports, self._with_vouched_script(plan), note)

    def _with_vouched_script(self, plan: Plan) -> Plan:
        """Compare the script with its seal once: the run keeps it, whatever is saved meanwhile."""
        configuration = plan.configuration
        if not configuration.is_scripted:
            return plan
        is_genuine = False
        with suppress(OutkeyError):  # the first request reports why
            is_genuine = is_vouched(self._ports.sender.context, configuration)
        return replace(
            plan, configuration=replace(configuration, script_is_vouched=is_genuine)
        )

    def _refuse_faults(self, plan: Plan) -> None:
        for finding in self._checked(plan):
            if finding.level is Level.ERROR:
                raise ConfigError(
                    finding.message, hint=finding.hint, field=finding.field
                )

    def _plan(self, name: str) -> Plan:
        line = self._ports.configurations.line(name)
        if line.sync is None:
            raise ConfigError(
                "the line names one call and synchronizes nothing",
                hint="Say which records it pulls or pushes.",
                field="direction",
            )
        return Plan(line, line.sync, self._ports.configurations.get(line.configuration))

    def _checked(self, plan: Plan) -> list[Finding]:
        ports, sync = self._ports, plan.sync
        found = check(plan.line, sync, ports.records.describe(sync.target), ports.zones)
        found += _in_script(sync)
        found += _in_lookups(sync, ports.records)
        if sync.schedule:
            try:
                ports.calendar.next_after(sync.schedule, ports.clock.now())
            except ConfigError as error:
                found.append(INVALID_SCHEDULE.finding_from(error))
        paths = expressions(sync) if sync.direction is Direction.PULL else {}
        for place, expression in paths.items():
            try:
                ports.finder.compile(expression, field=place)
            except ConfigError as error:
                found.append(INVALID_EXPRESSION.finding_from(error))
        return found


def _in_script(sync: Sync) -> list[Finding]:
    if not sync.script:
        return []
    if sync.direction is Direction.PUSH:
        return [SCRIPT_IN_PUSH.finding("script")]
    try:
        check_transform(sync.script)
    except ConfigError as error:
        return [INVALID_SCRIPT.finding_from(error, "script")]
    return []


def _in_lookups(sync: Sync, records: Records) -> Iterator[Finding]:
    """Look up nothing where a field looks something up, to see whether that is open."""
    for number, mapping in enumerate(sync.mappings):
        target, field = (mapping.options.get(name, "") for name in ("target", "field"))
        if mapping.transform is Transform.LOOKUP and target and field:
            try:
                records.find(target, field, ())
            except ConfigError as error:
                part = "target" if error.field == "target" else "field"
                place = f"fields[{number}].options.{part}"
                yield INVALID_LOOKUP.finding_from(error, place)


def _fault(error: Exception) -> SyncFailed:
    """Return what stopped a run unforeseen: its kind and place, no word of it."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    place = (
        f"{type(error).__name__} in {PurePath(frame.filename).name}, line"
        f" {frame.lineno}"
    )
    return SyncFailed(
        f"the run stopped at a fault that is not the API's: {place}",
        hint="Tell whoever maintains outkey or the application.",
        reason="internal_error",
    )


def _begins_anew(error: OutkeyError, begun: Run, course: RunInProgress) -> bool:
    """Tell whether the run after one that failed begins at the first record.

    After a limit, a pull does: an API that invents records would else be followed for ever. A
    push does not, since it would send records a second time; it goes on when the limit is raised.
    """
    if error.reason == RUN_LIMIT:
        return isinstance(course, Pull)
    return _is_stale(error, begun, course.run)


def _is_stale(error: OutkeyError, begun: Run, now: Run) -> bool:
    """Tell whether a run could not even go on where the one before had stopped.

    Cursors expire: the next run shall not try that one for ever, but begin anew.
    """
    refused = isinstance(error, BadAnswer) and is_about_what_was_asked(error.status)
    return begun.position == now.position and (
        refused or isinstance(error, SyncFailed | ConfigError)
    )
