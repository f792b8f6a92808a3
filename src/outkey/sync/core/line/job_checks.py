"""Checks of what a pull orders and waits for before it downloads."""

from collections.abc import Iterator

from outkey.foundation.core.errors import SyncFailed
from outkey.foundation.core.findings.checks import Check, Finding, Level
from outkey.sync.core.line.checks import (
    BODY_NOT_JSON,
    UNKNOWN_PLACEHOLDER,
    placeholder_findings,
)
from outkey.sync.core.line.line import Direction, JobSettings, Paging, Sync, SyncLine
from outkey.sync.core.line.push_checks import DELETING_METHODS, REQUEST_METHOD
from outkey.sync.core.line.templates import placeholders
from outkey.sync.core.paging.response import read_json

JOB_ID = "job.id"
ORDER_PLACEHOLDERS = ("since", "until")
ORDER_METHODS = ("POST", "PUT", "PATCH", "GET")
NAMES_NO_JOB = Check(
    "L080",
    Level.WARNING,
    "the path does not name the job",
    "Add its ID, such as /reports/{{job.id}}.",
)
PAGES_OF_FILE = Check(
    "L081",
    Level.ERROR,
    "the file of a job is one response, without pages",
    "Remove pagination, or the URL of the file (job.url).",
)
ORIGINS_WITHOUT_URL = Check(
    "L082",
    Level.WARNING,
    "other origins have no effect without the URL of a file",
    "Enter where the response has the URL (job.url), or remove origins.",
)
DONE_AND_FAILED = Check(
    "L083",
    Level.ERROR,
    "a state is both done and failed",
    "Remove it from one of both.",
)
ID_WITHOUT_JOB = Check(
    "L084",
    Level.ERROR,
    "{{job.id}} is the ID of a job, and the line orders none",
    "Add the job, or remove the placeholder.",
)
JOB_FOR_EACH = Check(
    "L085",
    Level.ERROR,
    "a job is ordered once in a run, and not for each parent",
    "Remove the job, or for_each.",
)
JOB_WITH_WINDOWS = Check(
    "L086",
    Level.ERROR,
    "a job is ordered once in a run, and not for each window of time",
    "Remove the window: an order can have {{since}}, and the begin of the run as"
    " {{until}}.",
)


def job_findings(line: SyncLine, sync: Sync) -> Iterator[Finding]:
    """Yield the findings about the job of a pull."""
    if sync.direction is Direction.PUSH:
        return
    job = sync.job
    templates = (line.path, sync.body, *(value for _, value in sync.query))
    names_job = any(JOB_ID in placeholders(template) for template in templates)
    if not job:
        if names_job:
            yield ID_WITHOUT_JOB.finding("job")
        return
    yield from _request_findings(job)
    if not job.url and not names_job:
        yield NAMES_NO_JOB.finding("path")
    if job.url and sync.pagination.kind is not Paging.NONE:
        yield PAGES_OF_FILE.finding("pagination.kind")
    if job.origins and not job.url:
        yield ORIGINS_WITHOUT_URL.finding("job.origins")
    if sync.for_each:
        yield JOB_FOR_EACH.finding("for_each")
    if sync.incremental.window:
        yield JOB_WITH_WINDOWS.finding("incremental.window")
    if {*job.done} & {*job.failed}:
        yield DONE_AND_FAILED.finding("job.failed")


def _request_findings(job: JobSettings) -> Iterator[Finding]:
    """Yield the findings about the requests for a job, besides the download."""
    if job.order.method not in ORDER_METHODS:
        names = " or ".join(ORDER_METHODS)
        yield REQUEST_METHOD.finding("job.order.method", methods=names)
    if job.order.body:
        try:
            read_json(job.order.body)
        except SyncFailed:
            yield BODY_NOT_JSON.finding("job.order.body")
        yield from placeholder_findings(
            job.order.body, ORDER_PLACEHOLDERS, "job.order.body"
        )
    yield from _path_findings(job.poll.path, "job.poll.path")
    if job.delete:
        if job.delete.method not in DELETING_METHODS:
            names = " or ".join(DELETING_METHODS)
            yield REQUEST_METHOD.finding("job.delete.method", methods=names)
        yield from _path_findings(job.delete.path, "job.delete.path")


def _path_findings(path: str, field: str) -> Iterator[Finding]:
    """Yield the findings about a path that is to name the job, and nothing else."""
    names = placeholders(path)
    if JOB_ID not in names:
        yield NAMES_NO_JOB.finding(field)
    for name in names:
        if name != JOB_ID:
            yield UNKNOWN_PLACEHOLDER.finding(field, name=name, names=JOB_ID)
