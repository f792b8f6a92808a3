"""Checks of what a pull orders before it downloads."""

from dataclasses import replace
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from outkey.sync.core.line.checks import line_findings
from outkey.sync.core.line.job_checks import job_findings
from outkey.sync.core.line.line import (
    Direction,
    ForEach,
    Incremental,
    JobOrder,
    JobPoll,
    JobSettings,
    Pagination,
    Paging,
    PushRequest,
    Sync,
    SyncLine,
)

JOB = JobSettings(
    JobOrder(path="/reports", body='{"from": "{since}", "to": "{until}"}'),
    id="id",
    poll=JobPoll("/reports/{job.id}"),
    state="status",
    done=("done",),
    failed=("error",),
    delete=PushRequest("DELETE", "/reports/{job.id}"),
)
PATH = "/reports/{job.id}/download"


def findings(
    job: JobSettings = JOB, path: str = PATH, **changes: object
) -> list[tuple[str, str | None]]:
    line = SyncLine("report", "acme", "GET", path)
    sync = replace(Sync(job=job), **changes)  # type: ignore[arg-type]
    return [(found.id, found.field) for found in job_findings(line, sync)]


def test_a_job_that_fits_has_no_finding() -> None:
    assert findings() == []
    by_url = replace(JOB, url="url", origins=("https://files.example",))
    assert findings(by_url, "/") == []
    assert findings(path="/x", query=(("report", "{job.id}"),)) == []
    assert findings(path="/x", body='{"report": "{job.id}"}') == []
    assert findings(JobSettings(), "/x") == []


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"order": JobOrder("DELETE", "/reports")}, ("L030", "job.order.method")),
        ({"order": JobOrder(path="/r", body="{")}, ("L007", "job.order.body")),
        (
            {"order": JobOrder(path="/r", body='"{job.id}"')},
            ("L008", "job.order.body"),
        ),
        ({"poll": JobPoll("/reports")}, ("L080", "job.poll.path")),
        (
            {"poll": JobPoll("/reports/{job.id}/{id}")},
            ("L008", "job.poll.path"),
        ),
        (
            {"delete": PushRequest("GET", "/reports/{job.id}")},
            ("L030", "job.delete.method"),
        ),
        ({"delete": PushRequest("DELETE", "/reports")}, ("L080", "job.delete.path")),
        ({"origins": ("https://files.example",)}, ("L082", "job.origins")),
        ({"failed": ("error", "done")}, ("L083", "job.failed")),
    ],
)
def test_each_setting_of_a_job_that_does_not_fit_is_named(
    changes: dict[str, Any], expected: tuple[str, str]
) -> None:
    assert findings(replace(JOB, **changes)) == [expected]


def test_a_download_that_does_not_name_the_job_is_a_warning() -> None:
    assert findings(path="/reports/latest") == [("L080", "path")]


def test_the_file_of_a_job_has_no_pages() -> None:
    by_url = replace(JOB, url="url")
    link = Pagination(Paging.LINK)
    assert findings(by_url, pagination=link) == [("L081", "pagination.kind")]
    assert findings(pagination=link) == []


def test_a_job_is_not_ordered_for_each_parent_or_window() -> None:
    assert findings(for_each=ForEach(values=("DE",))) == [("L085", "for_each")]
    window = Incremental("since", start="-30d", window="7d", end_parameter="until")
    assert findings(incremental=window) == [("L086", "incremental.window")]


def test_the_id_of_a_job_needs_a_job_and_a_push_has_none() -> None:
    assert findings(JobSettings()) == [("L084", "job")]
    assert findings(JobSettings(), direction=Direction.PUSH) == []


def test_a_body_may_name_the_job_only_where_one_is_ordered() -> None:
    line = SyncLine("report", "acme", "POST", "/x")
    body = '{"report": "{job.id}"}'
    for job, expected in ((JOB, []), (JobSettings(), ["L008"])):
        sync = Sync(job=job, body=body)
        assert [f.id for f in line_findings(line, sync, [], ZoneInfo)] == expected
