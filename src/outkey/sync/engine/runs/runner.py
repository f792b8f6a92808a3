"""Entry point for sync lines: check, preview and run them by name."""

import traceback
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import PurePath
from shlex import quote

from outkey.foundation.core.errors import (
    REQUEST_ONLY,
    BadResponse,
    ConfigError,
    OutkeyError,
    RunStopped,
    SyncFailed,
    UnknownConfiguration,
)
from outkey.foundation.core.findings.checks import Finding, Level
from outkey.foundation.core.script_syntax import check_transform
from outkey.foundation.core.secret import Secret
from outkey.foundation.core.text import Text
from outkey.sending.engine.exchange.scripts import is_vouched
from outkey.sync.core.line.checks import (
    INVALID_EXPRESSION,
    INVALID_LOOKUP,
    INVALID_SCHEDULE,
    INVALID_SCRIPT,
    SCRIPT_IN_PUSH,
    UNKNOWN_TARGET,
    line_findings,
)
from outkey.sync.core.line.children_checks import children_findings
from outkey.sync.core.line.job_checks import job_findings
from outkey.sync.core.line.line import (
    Direction,
    FieldMapping,
    PushedRecords,
    Sync,
    SyncLine,
    Transform,
)
from outkey.sync.core.line.parent_checks import parent_findings
from outkey.sync.core.line.push_checks import MISSING_TABLE, request_findings
from outkey.sync.core.line_form.line_form import LineForm
from outkey.sync.core.line_form.sample import LineSample
from outkey.sync.core.mapping.records import MissingTable, Target
from outkey.sync.core.mapping.shape import (
    is_made_by_outkey,
    shape_of,
    shape_of_children,
)
from outkey.sync.core.mapping.targets import FileName, parse_target
from outkey.sync.core.pairs.rules import refuse_unfit_pair
from outkey.sync.core.run.effects import Effect, Note
from outkey.sync.core.run.pauses import pauses_configuration
from outkey.sync.core.run.reasons import RUN_LIMIT, sync_failure
from outkey.sync.core.run.run import OPEN_STATES, Run
from outkey.sync.core.run.states import STOPPING
from outkey.sync.core.suggest.suggest import Suggestion
from outkey.sync.engine.forms.errors import form_errors
from outkey.sync.engine.forms.row_results import (
    DemandView,
    FormEvaluator,
    FormResults,
    demand_nothing,
)
from outkey.sync.engine.forms.suggesting import (
    LineSuggester,
    sample_plan,
    small_response,
)
from outkey.sync.engine.pairs.agreements import Agreements
from outkey.sync.engine.pairs.pull import pull_of_pair
from outkey.sync.engine.pairs.push import push_of_pair
from outkey.sync.engine.pull.job import JobPull, job_expressions
from outkey.sync.engine.pull.page_requests import every_expression
from outkey.sync.engine.pull.pull import Pull, pull_from_api
from outkey.sync.engine.pull.received_pull import ReceivedPage, pull_of_deliveries
from outkey.sync.engine.pull.target_columns import NoteChange, ignore_change
from outkey.sync.engine.push.push import Push, push_of_line
from outkey.sync.engine.push.responses import push_expressions
from outkey.sync.engine.push.without_ledger import push_without_ledger
from outkey.sync.engine.runs.line_plan import LinePlan, PairPlan, SyncPorts
from outkey.sync.engine.runs.run_in_progress import (
    READS_AGAIN,
    RunInProgress,
    failed_run,
    is_about_request,
)
from outkey.sync.ports.sync import Records

RunWork = Pull | Push


def never() -> bool:
    """Return False: nothing tells the run to stop."""
    return False


class SyncRunner:
    """Checks, previews and runs sync lines."""

    def __init__(self, ports: SyncPorts) -> None:
        self._ports = ports

    def check(self, name: str) -> list[Finding]:
        """Return the findings about a line, given the host's own fields."""
        return self._findings(self._plan(name))

    def refuse_faults(self, name: str) -> None:
        """Raise ConfigError for a fault that would end every run of a line."""
        plan = self._plan(name)
        self._refuse_faults(plan)
        self._pair_of(plan)

    def preview(self, name: str, limit: int = 20) -> Sequence[Effect]:
        """Return the effects of a run on the first records; one request at most.

        Only a small page is requested: previews run in the host's web server.
        """
        with self._sampling(self._plan(name)) as plan:
            return self._work(plan).sample(limit)

    def suggest(self, name: str) -> Suggestion:
        """Suggest how to complete a line, from a sample: one request.

        The line may name a call only, without a direction.
        """
        plan = sample_plan(self._ports, name)
        with self._sampling(self._with_vouched_script(plan)) as small:
            return LineSuggester(self._ports, small).suggest()

    def sample(self, name: str) -> LineSample:
        """Return the first records of a line's first page, and `suggest` for it.

        One request, as for a suggestion.
        """
        plan = sample_plan(self._ports, name)
        with self._sampling(self._with_vouched_script(plan)) as small:
            return LineSuggester(self._ports, small).sample()

    def evaluate(
        self,
        form: LineForm,
        sample: LineSample,
        number: int = 0,
        *,
        demand_view: DemandView = demand_nothing,
    ) -> FormResults:
        """Return the results of a form for one record of a sample, without a request.

        A row that looks values up where the user may not see records has no result.
        """
        evaluator = FormEvaluator(self._ports, form, demand_view)
        return evaluator.results(sample, number)

    def form_errors(self, form: LineForm, text: str = "") -> dict[str, ConfigError]:
        """Return everything that is wrong with a form, by the name of the input.

        `check` finds more, but only once the form can be read as a line.
        """
        return form_errors(self._ports, form, text)

    def run(  # noqa: PLR0913 - what a caller may follow of a run
        self,
        name: str,
        actor: str,
        *,
        dry_run: bool = False,
        note: Note | None = None,
        note_change: NoteChange = ignore_change,
        run_id: str = "",
        is_stopping: Callable[[], bool] = never,
        allows_removal: bool = False,
    ) -> Generator[Run]:
        """Run a line to its end; yield the run when it begins and after each page.

        Raises what ended it early; what was stored until then stays. A dry run writes
        no record and sends none. A run that rejected every record is not raised: the
        last run that is yielded has failed with `all_refused`.

        `note` is called with what became of each record, `note_change` with what was
        changed of a table, or would be. `run_id` is the requested run to do, RunStopped
        if that is not the next one. `allows_removal` turns the guard against the
        removal of many records off.

        To stop it, let `is_stopping` return True, or throw KeyboardInterrupt into it:
        the run is released, so that the next one can continue it at once.
        """
        plan = self._plan(name)
        if not dry_run:
            self._ports.runs.refuse_paused_line(name)
        if plan.sync.direction is Direction.PULL or not dry_run:
            self._ports.runs.refuse_paused_configuration(plan.line.configuration)
        begun = self._ports.runs.begin(name, actor, dry_run=dry_run, run_id=run_id)

        def open_target() -> RunWork:
            work = self._work(plan, note)
            work.progress.on_note = note_change
            work.progress.allows_removal = allows_removal or begun.allows_removal
            return work

        yield from self._follow(open_target, begun, is_stopping)

    def retry(
        self,
        run_id: str,
        actor: str,
        note: Note | None = None,
        note_change: NoteChange = ignore_change,
        *,
        retry_id: str = "",
        is_stopping: Callable[[], bool] = never,
    ) -> Generator[Run]:
        """Retry the records that a run rejected, as `run` does; no others.

        A pull requests the same pages as the next run, and writes only these records.
        A push sends only these. What succeeds is no longer listed with the earlier run.
        `retry_id` is the requested run to do, RunStopped if another process has it.
        """
        plan = self._plan_of_retry(run_id, has_begun=bool(retry_id))
        self._ports.runs.refuse_paused_configuration(plan.line.configuration)
        begun = self._ports.runs.begin_retry(run_id, actor, retry_id)

        def open_target() -> RunWork:
            work = self._work(plan, note)
            work.progress.on_note = note_change
            return work

        yield from self._follow(open_target, begun, is_stopping)

    def receive(
        self,
        name: str,
        actor: str,
        pages: Iterable[ReceivedPage],
        is_stopping: Callable[[], bool] = never,
        *,
        secrets: Sequence[Secret] = (),
        has_requests: bool = False,
    ) -> Run:
        """Store received records as a pull of the line would, and return the run.

        Records that repeat one of the sender's `secrets` are rejected too.
        `has_requests`: what the pages have is requested from the API. LineBusy while a
        run of the line is active. Deliveries that are all accepted extend the run of
        those before them.
        """
        plan = self._with_vouched_script(self._plan(name))
        self._ports.runs.refuse_paused_line(name)
        refuse_unreceivable(plan.sync, is_paired=self._pair_of(plan) is not None)
        begun, last = self._ports.runs.begin_received(
            name, actor, has_requests=has_requests
        )

        def open_target() -> RunWork:
            self._refuse_faults(plan)
            progress = RunInProgress(self._ports, plan)
            progress.guard.others = secrets
            return pull_of_deliveries(progress, pages, marked_run=last)

        for run in self._follow(open_target, begun, is_stopping):
            begun = run
        return begun

    def refuse_unfit_retry(self, run_id: str) -> None:
        """Raise ConfigError for a run whose rejected records cannot be retried."""
        plan = self._plan_of_retry(run_id)
        self._refuse_faults(plan)
        self._pair_of(plan)

    def has_record(self, name: str, record: str) -> bool:
        """Whether the host has a record of a line's target, and has not archived it."""
        target = self._plan(name).sync.target
        return record in self._ports.records.present(target, [record])

    def sends_deletions(self, name: str) -> bool:
        """Whether a push deletes at the API what the host has deleted."""
        return bool(self._plan(name).sync.delete)

    def _follow(
        self,
        open_target: Callable[[], RunWork],
        begun: Run,
        is_stopping: Callable[[], bool],
    ) -> Generator[Run]:
        """Do a run that has begun, to its end, and store how it ended.

        The target is opened only now: its database may hang, and then the lease of the
        run ends, and users see that it runs.
        """
        began_at = self._ports.clock.monotonic()
        progress: RunInProgress | None = None
        try:
            work = open_target()
            progress = work.progress
            begun = progress.adopt(begun, began_at)
            yield begun
            _refuse_stopping(is_stopping)
            for run in work.steps():
                yield run
                _refuse_stopping(is_stopping)
            yield work.complete()
        except RunStopped as stopped:
            if stopped.reason == STOPPING:
                self._ports.runs.release(progress.run if progress else begun)
            raise
        except KeyboardInterrupt:
            with suppress(OutkeyError):  # it was cancelled, or storage is unavailable
                self._ports.runs.release(progress.run if progress else begun)
            raise
        except OutkeyError as error:
            # If this cannot be stored, the run counts as killed when its lease ends.
            with suppress(OutkeyError):
                self._store_failure(begun, progress, error)
            raise
        except Exception as error:  # noqa: BLE001 - an open run would block its line
            failure = _unexpected_failure(error)
            with suppress(OutkeyError):
                self._store_failure(begun, progress, failure)
            raise failure from None
        finally:
            self._ports.sender.flush_audit()

    def _store_failure(
        self, begun: Run, progress: RunInProgress | None, error: OutkeyError
    ) -> None:
        """Store why a run ended early, which may be before its target was opened."""
        runs = self._ports.runs
        if progress is None:
            is_new = begun.generation == 1 and not begun.is_requested
            if is_new and isinstance(error, ConfigError):
                runs.discard(begun)  # the caller has the error, and nothing was done
            else:
                runs.finish(failed_run(begun, error))
            return
        if pauses_configuration(error):
            configuration = progress.plan.line.configuration
            runs.pause_configuration(configuration, error.pause)
        progress.fail(error, restarts=_restarts_after(error, begun, progress))

    @contextmanager
    def _sampling(self, plan: LinePlan) -> Iterator[LinePlan]:
        """Limit the response to a preview, and let the audit have its outcome."""
        try:
            with small_response(plan) as small:
                yield small
        finally:
            self._ports.sender.flush_audit()

    def _work(self, plan: LinePlan, note: Note | None = None) -> RunWork:
        """Return the pull or the push of a line."""
        self._refuse_faults(plan)
        vouched = self._with_vouched_script(plan)
        pair = self._pair_of(vouched)
        progress = RunInProgress(self._ports, vouched, note)
        if plan.sync.direction is Direction.PULL:
            if plan.sync.job:
                return JobPull(progress)
            if pair is None:
                return pull_from_api(progress)
            return pull_of_pair(progress, pair)
        if pair is not None:
            return push_of_pair(progress, pair)
        if _uses_ledger(plan.sync):
            return push_of_line(progress)
        return push_without_ledger(progress)

    def _pair_of(self, plan: LinePlan) -> PairPlan | None:
        """Return the pair that a line is in; its rules hold for every run of the line.

        ConfigError if its lines were changed and no longer fit each other.
        """
        pairing = self._ports.pairing
        if pairing is None:
            return None
        name = plan.line.name
        agreements = Agreements(pairing.agreements)
        for pair in pairing.pairs().values():
            if name not in {pair.pull, pair.push}:
                continue
            pull = plan if name == pair.pull else self._plan(pair.pull)
            push = plan if name == pair.push else self._plan(pair.push)
            refuse_unfit_pair(pair, {pair.pull: pull.line, pair.push: push.line})
            return PairPlan(pair, pull, push, agreements)
        return None

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
        self._target(plan.sync)  # MissingTable, which is a warning before a run
        for finding in self._findings(plan):
            if finding.level is Level.ERROR:
                raise ConfigError(
                    finding.message, hint=finding.hint, field=finding.field
                )

    def _plan_of_retry(self, run_id: str, *, has_begun: bool = False) -> LinePlan:
        """Return the plan of a run whose rejected records can be retried.

        A retry that has begun may have accepted all of them before it was killed.
        """
        rejecting = self._ports.runs.get(run_id)
        has_rejected = has_begun or bool(self._ports.runs.rejected(run_id, 1))
        _refuse_no_retry(rejecting, has_rejected=has_rejected)
        plan = self._plan(rejecting.line)
        _refuse_retry_of_file(plan.sync)
        self._ports.runs.refuse_paused_line(rejecting.line)
        return plan

    def _plan(self, name: str) -> LinePlan:
        line = self._ports.configurations.line(name)
        if line.sync is None:
            raise ConfigError(
                Text("the line names one call and synchronizes nothing"),
                hint=Text("Set a direction, a target and the fields of the line."),
                field="direction",
                reason=REQUEST_ONLY,
            )
        configuration = self._ports.configurations.get(line.configuration)
        return LinePlan(line, line.sync, configuration)

    def _target(self, sync: Sync) -> Target:
        """Return the target of a line; that of a pull as its first run makes it."""
        records = self._ports.records
        is_file = isinstance(parse_target(sync.target), FileName)
        is_pull = sync.direction is Direction.PULL
        # That no push reads a file is a finding.
        if is_file or (is_pull and is_made_by_outkey(sync.target)):
            return records.prepare(sync.target, shape_of(sync), dry_run=True).target
        return records.get(sync.target)

    def _child_target(self, sync: Sync, number: int) -> Target:
        """Return the target of children, as the first run of the line makes it."""
        records = self._ports.records
        name = sync.children[number].target
        if is_made_by_outkey(name):
            shape = shape_of_children(sync, number)
            return records.prepare(name, shape, dry_run=True).target
        return records.get(name)

    def _findings(self, plan: LinePlan) -> list[Finding]:
        ports = self._ports
        sync = plan.sync
        try:
            target = self._target(sync)
        except MissingTable as error:
            return [MISSING_TABLE.finding_from(error)]
        findings = line_findings(plan.line, sync, target.fields, ports.zones)
        findings += request_findings(plan.line, sync, target.fields)
        findings += job_findings(plan.line, sync)
        findings += self._children_findings(sync, target)
        findings += parent_findings(
            plan.line,
            sync,
            self._find_line,
            lambda parent: self._target(parent).fields,
        )
        findings += _script_findings(sync)
        findings += _lookup_findings(sync.mappings, ports.records)
        if sync.schedule:
            try:
                ports.calendar.next_after(sync.schedule, ports.clock.now())
            except ConfigError as error:
                findings.append(INVALID_SCHEDULE.finding_from(error))
        is_pull = sync.direction is Direction.PULL
        paths = every_expression(sync) if is_pull else push_expressions(sync)
        if is_pull and sync.job:
            paths = paths | job_expressions(sync.job)
        for field, expression in paths.items():
            try:
                ports.finder.compile(expression, field=field)
            except ConfigError as error:
                findings.append(INVALID_EXPRESSION.finding_from(error))
        return findings

    def _find_line(self, name: str) -> SyncLine | None:
        """Return a sync line, or None if there is none of this name."""
        try:
            return self._ports.configurations.line(name)
        except UnknownConfiguration:
            return None

    def _children_findings(self, sync: Sync, parent: Target) -> list[Finding]:
        """Return the findings about the lists in the records of a line."""
        records = self._ports.records
        findings: list[Finding] = []
        for number, children in enumerate(sync.children):
            place = f"children[{number}]."
            try:
                target = self._child_target(sync, number)
                records.transaction({sync.target, children.target})
            except ConfigError as error:
                findings.append(UNKNOWN_TARGET.finding_from(error, f"{place}target"))
                continue
            findings += children_findings(
                sync, number, parent.fields, target.fields, self._ports.zones
            )
            findings += _lookup_findings(children.mappings, records, place)
        return findings


def _uses_ledger(sync: Sync) -> bool:
    """Whether a push needs to know what the API has."""
    return sync.has_requests or sync.pushed_records is PushedRecords.CHANGED


def _script_findings(sync: Sync) -> list[Finding]:
    """Return the findings about the script of a line."""
    if not sync.script:
        return []
    if sync.direction is Direction.PUSH:
        return [SCRIPT_IN_PUSH.finding("script")]
    try:
        check_transform(sync.script)
    except ConfigError as error:
        return [INVALID_SCRIPT.finding_from(error, "script")]
    return []


def _lookup_findings(
    mappings: Sequence[FieldMapping], records: Records, place: str = ""
) -> Iterator[Finding]:
    """Look up nothing in every field that a line looks up, to see whether it may."""
    for number, mapping in enumerate(mappings):
        target = mapping.options.get("target", "")
        field = mapping.options.get("field", "")
        if mapping.transform is not Transform.LOOKUP or not target or not field:
            continue
        try:
            records.find(target, field, ())
        except ConfigError as error:
            option = "target" if error.field == "target" else "field"
            option_place = f"{place}fields[{number}].options.{option}"
            yield INVALID_LOOKUP.finding_from(error, option_place)


def _refuse_no_retry(rejecting: Run, *, has_rejected: bool) -> None:
    """Raise ConfigError for a run whose rejected records cannot be retried."""
    if rejecting.is_received:
        raise ConfigError(
            Text("the run is one of webhook deliveries: the API does not have them"),
            hint=Text(
                "Process the deliveries again: outkey run retry {run}", run=rejecting.id
            ),
            field="run",
        )
    refuse_unended(rejecting, has_rejected=has_rejected)


def refuse_unended(rejecting: Run, *, has_rejected: bool) -> None:
    """Raise ConfigError for a run that has rejected nothing, or has not ended."""
    if not has_rejected:
        raise ConfigError(
            Text("the run has no rejected records"),
            hint=Text(
                "Nothing is left to retry; a later retry may have accepted them."
            ),
            field="run",
        )
    if rejecting.dry_run:
        raise ConfigError(
            Text("a dry run has written nothing that could be completed"),
            hint=Text(
                "Run the line: outkey line run {line}", line=quote(rejecting.line)
            ),
            field="run",
        )
    if rejecting.state in OPEN_STATES:
        raise ConfigError(
            Text("the run has not ended yet"),
            hint=Text(
                "Wait for it, or cancel it: outkey run cancel {run}", run=rejecting.id
            ),
            field="run",
        )


def _refuse_retry_of_file(sync: Sync) -> None:
    """Raise ConfigError for a file: it would have the retried records only."""
    if isinstance(parse_target(sync.target), FileName):
        raise ConfigError(
            Text("a file is a snapshot of all records"),
            hint=Text("Run the line again: it writes the whole file."),
            field="run",
        )


def _refuse_stopping(is_stopping: Callable[[], bool]) -> None:
    """Raise RunStopped if the stop signal is set."""
    if is_stopping():
        raise RunStopped(reason=STOPPING)


def _unexpected_failure(error: Exception) -> SyncFailed:
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


def _restarts_after(error: OutkeyError, begun: Run, progress: RunInProgress) -> bool:
    """Whether the run after a failed one begins at the first page.

    After a limit a pull does: otherwise an API that invents records would be followed
    for ever. A push does not, since it would send records a second time; it continues
    when the limit is raised. After the guard, the records must be read again to see
    whether they are still missing.
    """
    if error.reason in READS_AGAIN:
        return True
    if error.reason == RUN_LIMIT:
        return progress.sync.direction is Direction.PULL
    return _is_stale_position(error, begun, progress.run)


def _is_stale_position(error: OutkeyError, begun: Run, run: Run) -> bool:
    """Whether a run could not even continue where the one before had stopped.

    Cursors expire: the next run must not try this one for ever.
    """
    is_refused = isinstance(error, BadResponse) and is_about_request(error)
    return begun.position == run.position and (
        is_refused or isinstance(error, SyncFailed | ConfigError)
    )


def refuse_unreceivable(sync: Sync, *, is_paired: bool) -> None:
    """Refuse a line that cannot take received records."""
    hint = Text("Let the webhook start a run of the line: run instead of line.")
    if sync.direction is not Direction.PULL:
        raise ConfigError(
            Text("the records of deliveries go through a pull line"), hint=hint
        )
    if isinstance(parse_target(sync.target), FileName):
        raise ConfigError(
            Text("a file is written as a whole, not by deliveries"), hint=hint
        )
    if is_paired:
        raise ConfigError(Text("a line of a pair takes no deliveries"), hint=hint)
    if sync.for_each:
        raise ConfigError(
            Text("a delivery does not name the parent of its records"), hint=hint
        )
