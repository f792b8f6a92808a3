"""What callers use: check, preview and run sync lines by name."""

import traceback
from collections.abc import Callable, Generator, Iterator, Sequence
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
    line_findings,
)
from outkey.core.request.script import check_transform
from outkey.core.sync.line import Direction, Sync, Transform
from outkey.core.sync.reasons import RUN_LIMIT, sync_failure
from outkey.core.sync.records import find_target
from outkey.core.sync.run import Run
from outkey.core.sync.run_states import STOPPING
from outkey.core.text import Text
from outkey.engine.sending.scripts import is_vouched
from outkey.engine.sync.plan import Effect, LinePlan, Note, SyncPorts
from outkey.engine.sync.pull import Pull, expressions
from outkey.engine.sync.push import Push
from outkey.engine.sync.run_in_progress import RunInProgress, is_about_request
from outkey.ports.sync import Records

PREVIEW_MEBIBYTES = 4


def never() -> bool:
    """Return False: nothing tells the run to stop."""
    return False


class SyncRunner:
    """Checks, previews and runs sync lines."""

    def __init__(self, ports: SyncPorts) -> None:
        self._ports = ports

    def check(self, name: str) -> list[Finding]:
        """Return what is wrong or risky about a line, given the host's own fields."""
        return self._findings(self._plan(name))

    def refuse_faults(self, name: str) -> None:
        """Raise ConfigError for a fault that would end every run of a line."""
        self._refuse_faults(self._plan(name))

    def preview(self, name: str, limit: int = 20) -> Sequence[Effect]:
        """Return what a run would do with the first records; one request at most.

        Only a small page is requested: previews run in the host's web server.
        """
        plan = self._plan(name)
        limits = plan.configuration.limits
        if limits.response_mebibytes <= PREVIEW_MEBIBYTES:
            return self._run_in_progress(plan).sample(limit)
        small = replace(limits, response_mebibytes=PREVIEW_MEBIBYTES)
        plan = replace(plan, configuration=replace(plan.configuration, limits=small))
        try:
            return self._run_in_progress(plan).sample(limit)
        except ResponseTooLarge:
            raise ResponseTooLarge(
                Text(
                    "the first page is larger than the {count} MiB that a preview"
                    " reads",
                    count=PREVIEW_MEBIBYTES,
                ),
                hint=Text(
                    "Request fewer records at a time (pagination.size), or start a dry"
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
        run_id: str = "",
        is_stopping: Callable[[], bool] = never,
    ) -> Generator[Run]:
        """Run a line to its end; yield the run when it begins and after each page.

        Raises what ended it early; what was stored until then stays. A dry run writes
        no record and sends none. `note` is called with what became of each record.
        `run_id` is the requested run to do, RunStopped if that is not the next one.

        To stop it, let `is_stopping` return True, or throw KeyboardInterrupt into it:
        the run is released, so that the next one can continue it at once.
        """
        progress = self._run_in_progress(self._plan(name), note)
        begun = progress.adopt(
            self._ports.runs.begin(name, actor, dry_run=dry_run, run_id=run_id)
        )
        try:
            yield begun
            refuse_stopping(is_stopping)
            for run in progress.steps():
                yield run
                refuse_stopping(is_stopping)
            yield progress.complete()
        except RunStopped as stopped:
            if stopped.reason == STOPPING:
                self._ports.runs.release(progress.run)
            raise
        except KeyboardInterrupt:
            with suppress(OutkeyError):  # it was cancelled, or storage is unavailable
                self._ports.runs.release(progress.run)
            raise
        except OutkeyError as error:
            # If this cannot be stored, the run counts as killed when its lease ends.
            with suppress(OutkeyError):
                progress.fail(error, restarts=restarts_after(error, begun, progress))
            raise
        except Exception as error:  # noqa: BLE001 - an open run would block its line
            failure = unexpected_failure(error)
            with suppress(OutkeyError):
                progress.fail(failure, restarts=False)
            raise failure from None

    def _run_in_progress(
        self, plan: LinePlan, note: Note | None = None
    ) -> RunInProgress:
        self._refuse_faults(plan)
        vouched = self._with_vouched_script(plan)
        if plan.sync.direction is Direction.PULL:
            return Pull(self._ports, vouched, note)
        return Push(self._ports, vouched, note)

    def _with_vouched_script(self, plan: LinePlan) -> LinePlan:
        """Compare the script with its voucher once; later saves do not matter."""
        configuration = plan.configuration
        if not configuration.is_scripted:
            return plan
        is_genuine = False
        with suppress(OutkeyError):  # the first request reports why
            is_genuine = is_vouched(self._ports.sender.context, configuration)
        return replace(
            plan, configuration=replace(configuration, script_is_vouched=is_genuine)
        )

    def _refuse_faults(self, plan: LinePlan) -> None:
        for finding in self._findings(plan):
            if finding.level is Level.ERROR:
                raise ConfigError(
                    finding.message, hint=finding.hint, field=finding.field
                )

    def _plan(self, name: str) -> LinePlan:
        line = self._ports.configurations.line(name)
        if line.sync is None:
            raise ConfigError(
                Text("the line names one call and synchronizes nothing"),
                hint=Text("Set a direction, a target and the fields of the line."),
                field="direction",
            )
        configuration = self._ports.configurations.get(line.configuration)
        return LinePlan(line, line.sync, configuration)

    def _findings(self, plan: LinePlan) -> list[Finding]:
        ports = self._ports
        sync = plan.sync
        target = find_target(ports.records.targets(), sync.target)
        findings = line_findings(plan.line, sync, target.fields, ports.zones)
        findings += script_findings(sync)
        findings += lookup_findings(sync, ports.records)
        if sync.schedule:
            try:
                ports.calendar.next_after(sync.schedule, ports.clock.now())
            except ConfigError as error:
                findings.append(INVALID_SCHEDULE.finding_from(error))
        paths = expressions(sync) if sync.direction is Direction.PULL else {}
        for field, expression in paths.items():
            try:
                ports.finder.compile(expression, field=field)
            except ConfigError as error:
                findings.append(INVALID_EXPRESSION.finding_from(error))
        return findings


def script_findings(sync: Sync) -> list[Finding]:
    """Return what is wrong with the script of a line."""
    if not sync.script:
        return []
    if sync.direction is Direction.PUSH:
        return [SCRIPT_IN_PUSH.finding("script")]
    try:
        check_transform(sync.script)
    except ConfigError as error:
        return [INVALID_SCRIPT.finding_from(error, "script")]
    return []


def lookup_findings(sync: Sync, records: Records) -> Iterator[Finding]:
    """Look up nothing in every field that a line looks up, to see whether it may."""
    for number, mapping in enumerate(sync.mappings):
        target = mapping.options.get("target", "")
        field = mapping.options.get("field", "")
        if mapping.transform is not Transform.LOOKUP or not target or not field:
            continue
        try:
            records.find(target, field, ())
        except ConfigError as error:
            option = "target" if error.field == "target" else "field"
            place = f"fields[{number}].options.{option}"
            yield INVALID_LOOKUP.finding_from(error, place)


def refuse_stopping(is_stopping: Callable[[], bool]) -> None:
    """Raise RunStopped if the process is told to stop."""
    if is_stopping():
        raise RunStopped(reason=STOPPING)


def unexpected_failure(error: Exception) -> SyncFailed:
    """Return the error for an unexpected one: its type and place, none of its text."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return sync_failure(
        "internal_error",
        Text(
            "the run stopped at an unexpected error: {error} in {file}, line {line}",
            error=type(error).__name__,
            file=PurePath(frame.filename).name,
            line=frame.lineno,
        ),
    )


def restarts_after(error: OutkeyError, begun: Run, progress: RunInProgress) -> bool:
    """Whether the run after a failed one begins at the first page.

    After a limit a pull does: otherwise an API that invents records would be followed
    for ever. A push does not, since it would send records a second time; it continues
    when the limit is raised.
    """
    if error.reason == RUN_LIMIT:
        return isinstance(progress, Pull)
    return is_stale_position(error, begun, progress.run)


def is_stale_position(error: OutkeyError, begun: Run, run: Run) -> bool:
    """Whether a run could not even continue where the one before had stopped.

    Cursors expire: the next run must not try this one for ever.
    """
    is_refused = isinstance(error, BadAnswer) and is_about_request(error.status)
    return begun.position == run.position and (
        is_refused or isinstance(error, SyncFailed | ConfigError)
    )
