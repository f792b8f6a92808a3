"""Pulling what an API prepares first: order, poll until it is done, download, delete.

A run stores that it orders before it does, and the ID at once: a killed run continues
with its job. The download is the line's own request, which `PageReader` sends.
"""

import json
from collections.abc import Generator, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from outkey.foundation.core.errors import (
    BadResponse,
    ConfigError,
    OutkeyError,
    RedirectBlocked,
)
from outkey.foundation.core.origin import (
    build_target,
    parse_redirect,
    parse_url,
    without_parameters,
)
from outkey.foundation.core.text import Text
from outkey.sending.core.request.message import Response, retry_after
from outkey.sync.core.line.line import JobSettings
from outkey.sync.core.line.templates import fill_body
from outkey.sync.core.mapping.mapping import Unmapped, fill_path
from outkey.sync.core.mapping.transforms import write_moment_by
from outkey.sync.core.paging.request_values import JobFile, RequestValues
from outkey.sync.core.paging.response import read_json
from outkey.sync.core.paging.since import since_text
from outkey.sync.core.run.effects import Effect
from outkey.sync.core.run.job import (
    HEADER,
    MAX_DELAY,
    JobState,
    id_in_header,
    job_id,
    next_poll,
    no_sample_of_job,
    order_key,
    state_text,
)
from outkey.sync.core.run.pauses import raise_for_cause
from outkey.sync.core.run.reasons import JOB_FAILED, JOB_TIMEOUT, sync_failure
from outkey.sync.core.run.run import Run
from outkey.sync.engine.pull.page_reader import PageReader
from outkey.sync.engine.pull.pull import Pull
from outkey.sync.engine.pull.records_to_rows import RecordsToRows
from outkey.sync.engine.pull.shape_watch import ShapeWatch
from outkey.sync.engine.pull.target_writer import TargetWriter
from outkey.sync.engine.runs.line_plan import LinePlan, SyncPorts
from outkey.sync.engine.runs.requests import LineRequest, RequestBatch
from outkey.sync.engine.runs.run_in_progress import RunInProgress, is_about_request

MISSING = frozenset({404, 410})
STEP_SECONDS = 1.0  # of a wait, in which a run can be stopped


class JobPull(Pull):
    """The pull of a line that orders a job, and downloads it once it is done."""

    def __init__(self, progress: RunInProgress) -> None:
        pages = PageReader(progress, reads_ahead=progress.ports.reads_ahead)
        target = TargetWriter(progress)
        reader = RecordsToRows(progress, target)
        super().__init__(progress, pages, reader, target, ShapeWatch(progress))
        self._pages = pages
        self._job = RunningJob(progress)

    def sample(self, limit: int) -> Sequence[Effect]:  # noqa: ARG002 - of every pull
        """Refuse a preview, which would have to order a job."""
        raise no_sample_of_job()

    def steps(self) -> Iterator[Run]:
        """Order and wait; then bring page after page, and delete the job."""
        if not self.progress.position().ended:
            self._pages.values = yield from self._job.wait()
        yield from super().steps()
        self._job.delete()


class RunningJob:
    """The job of a run: ordered, polled and deleted."""

    def __init__(self, progress: RunInProgress) -> None:
        ports: SyncPorts = progress.ports
        self._progress = progress
        self._plan: LinePlan = progress.plan
        self._job: JobSettings = progress.sync.job
        self._clock = ports.clock
        self._now = ports.runs.now
        self._batch = RequestBatch(ports.sender, progress.plan, parallel=1)
        self._finders = {
            field: ports.finder.compile(path, field=field)
            for field, path in job_expressions(self._job).items()
        }

    def wait(self) -> Generator[Run, None, RequestValues]:
        """Order a job, or continue with the run's own, and poll until it is done.

        Yield the run now and then, since the job may take an hour. Return the values
        that the requests of the download are filled with.
        """
        state = self._stored_state()
        if not state.id:
            state = self._order(state)
            yield self._progress.run
        while True:
            yield from self._wait_until(state.poll_at)
            response = self._poll(state)
            document = self._read(response)
            text = state_text(self._finders["job.state"](document))
            if text in self._job.failed:
                raise sync_failure(JOB_FAILED)
            if text in self._job.done:
                file = self._file(state, document) if self._job.url else None
                return RequestValues(job=state.id, file=file)
            now = self._now()
            requested = retry_after(response, now=now) or 0.0
            polled = replace(state, polls=state.polls + 1)
            poll_at = next_poll(self._job, polled, now, requested)
            if poll_at is None:
                raise self._timeout(text)
            state = replace(polled, poll_at=poll_at)
            self._save(state)

    def delete(self) -> None:
        """Delete the job, if the line says how; the run does not fail with it."""
        state = self._stored_state()
        if not self._job.delete or not state.id:
            return
        method, path = self._job.delete.method, self._job.delete.path
        try:
            response = self._send(LineRequest(path=_filled(path, state), method=method))
            is_gone = response.cause is None or response.status in MISSING
        except OutkeyError:
            is_gone = False
        if not is_gone:
            self._progress.note_change(
                Text("the job was downloaded, but the API did not delete it")
            )

    def _order(self, state: JobState) -> JobState:
        """Order a job and store its ID, or refuse a response without one."""
        run = self._progress.run
        if not state.key:
            record = self._plan.configuration.record
            key = order_key(record, run.line, run.id, run.generation)
            state = JobState(key=key, ordered_at=self._now())
            self._save(state)
        order = self._job.order
        request = LineRequest(
            path=order.path,
            method=order.method,
            json=self._body(),
            headers={"Idempotency-Key": state.key},
        )
        response = self._send(request)
        try:
            raise_for_cause(response, self._now)
        except BadResponse as error:
            if is_about_request(error):  # nothing was ordered
                self._save(JobState())
            raise
        identity = self._id_in(response)
        self._progress.guard.refuse_secret(identity)
        now = self._now()
        every = self._job.poll.every_seconds
        requested = retry_after(response, now=now) or 0.0
        poll_at = now + max(every, min(requested, 60 * self._job.max_minutes))
        state = replace(state, id=identity, ordered_at=now, poll_at=poll_at)
        self._save(state)
        return state

    def _body(self) -> object:
        """Return the body of the order; changes are wanted up to the run's begin."""
        if not self._job.order.body:
            return None
        run = self._progress.run
        incremental = self._progress.sync.incremental
        began_at = datetime.fromtimestamp(run.started_at, UTC)
        values = RequestValues(
            since=since_text(incremental, run.since, began_at),
            until=write_moment_by(incremental.format, began_at),
        )
        return fill_body(json.loads(self._job.order.body), values.placeholders())

    def _id_in(self, response: Response) -> str:
        """Return the ID in the response to an order."""
        if self._job.id.startswith(HEADER):
            name = self._job.id.removeprefix(HEADER)
            self._progress.guard.look_at(response, None)
            identity = id_in_header(response.headers.get(name))
        else:
            value = self._finders["job.id"](self._read(response))
            self._progress.guard.refuse_echo(value)
            identity = job_id(value)
        if not identity:
            raise sync_failure(
                JOB_FAILED, Text("the response to the order has no usable ID (job.id)")
            )
        return identity

    def _poll(self, state: JobState) -> Response:
        """Request the state of a job."""
        path = _filled(self._job.poll.path, state)
        response = self._send(LineRequest(path=path, method="GET"))
        if response.status in MISSING:
            raise sync_failure(
                JOB_FAILED,
                Text(
                    "the API has no job of this ID: status {status}",
                    status=response.status,
                ),
            )
        raise_for_cause(response, self._now)
        return response

    def _read(self, response: Response) -> object:
        """Return the document of a response, without secrets; None if it is empty."""
        document = read_json(response.body) if response.body.strip() else None
        guard = self._progress.guard
        if guard.look_at(response, document):
            return guard.detector().masked(document)
        return document

    def _file(self, state: JobState, document: object) -> JobFile:
        """Return the file that the last poll names, or refuse its URL."""
        reference = self._finders["job.url"](document)
        if not isinstance(reference, str) or not reference:
            raise sync_failure(
                JOB_FAILED, Text("the job is done, but has no URL of a file (job.url)")
            )
        self._progress.guard.refuse_echo(reference)
        self._progress.guard.refuse_secret(reference)
        configuration = self._plan.configuration
        base = configuration.base
        path = _filled(self._job.poll.path, state)
        try:
            location = parse_redirect(base.origin, build_target(base, path), reference)
        except ConfigError:
            raise sync_failure(
                JOB_FAILED, Text("the URL of the job's file is not valid")
            ) from None
        if location.origin == base.origin:
            names = configuration.parameter_names()
            own = without_parameters(location.target, names)
            return JobFile(f"{base.origin}{own}", is_elsewhere=False)
        origins = {parse_url(origin).origin for origin in self._job.origins}
        if location.origin not in origins:
            # Not named: a server could spell a secret as a host name.
            raise RedirectBlocked(
                Text("the file of the job is at another origin"),
                hint=Text(
                    "If the documentation of the API names that origin, add it to"
                    " job.origins; it gets no credentials."
                ),
                field="job.origins",
            )
        return JobFile(f"{location.origin}{location.target}", is_elsewhere=True)

    def _timeout(self, text: str) -> OutkeyError:
        """Return the error for a job that takes too long."""
        if text:
            return sync_failure(JOB_TIMEOUT)
        return sync_failure(
            JOB_TIMEOUT,
            Text("the job took too long, and the last poll had no state (job.state)"),
        )

    def _wait_until(self, moment: float) -> Iterator[Run]:
        """Wait until a moment, in steps in which the run can be stopped."""
        longest = 60.0 * self._job.max_minutes + MAX_DELAY
        ends_at = self._clock.monotonic() + min(moment - self._now(), longest)
        while (left := ends_at - self._clock.monotonic()) > 0:
            self._progress.keep_working()
            yield self._progress.run
            self._clock.sleep(min(left, STEP_SECONDS))
        self._progress.keep_working()

    def _send(self, request: LineRequest) -> Response:
        (response,) = self._batch.send([request])
        if isinstance(response, BaseException):
            raise response
        return response

    def _stored_state(self) -> JobState:
        return JobState.from_facts(self._progress.position().job)

    def _save(self, state: JobState) -> None:
        """Store how far the job is with the position of the run, and commit it."""
        position = replace(self._progress.position(), job=state.facts())
        with self._progress.page_transaction():
            saved = self._progress.save_page(position, ())
        self._progress.run = saved


def job_expressions(job: JobSettings) -> dict[str, str]:
    """Return the paths into responses that a job has, by field."""
    by_field = {"job.state": job.state}
    if not job.id.startswith(HEADER):
        by_field["job.id"] = job.id
    if job.url:
        by_field["job.url"] = job.url
    return by_field


def _filled(template: str, state: JobState) -> str:
    """Return a path that names the job."""
    path = fill_path(template, RequestValues(job=state.id).in_paths())
    if isinstance(path, Unmapped):
        raise sync_failure(JOB_FAILED)
    return path
