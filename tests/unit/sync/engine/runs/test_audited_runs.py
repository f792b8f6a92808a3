"""What users start, retry, cancel and try is in the audit with their name, once."""

import pytest

from outkey.administration.core.document.document import parse_document
from outkey.administration.core.watching.audit_words import (
    Detail,
    details_of,
    subject_of,
)
from outkey.administration.engine.application import Application
from outkey.foundation.core.errors import ConfigError
from outkey.sending.core.audit.events import Change, Tag
from outkey.sending.core.request.message import Response
from outkey.sync.core.run.run import Run, RunState
from outkey.testing.fakes.sync import MemoryRunRows
from unit.administration.engine.test_application import LINES, OPEN, RecordsOfUser
from unit.application_in_memory import FIELDS, MemoryHost, memory_host
from unit.sync.engine.pairs.test_pair_users import host_with_conflict

RESPONSE = Response(200, body=b'[{"id": "1"}, {"id": []}]')


def host_with_line() -> MemoryHost:
    host = memory_host(OPEN, responses=[RESPONSE] * 3)
    host.registry.put_line(parse_document(LINES).lines[0])
    return host


def changes(host: MemoryHost) -> list[tuple[Tag, str, str, tuple[str, ...]]]:
    """Return what the audit has besides the requests themselves."""
    return [
        (event.tag, event.actor, event.configuration, event.fields)
        for event in host.audit.events
        if isinstance(event, Change)
    ]


def rejecting_run(application: Application) -> Run:
    *_, run = application.sync.runner().run("contacts", "worker")
    assert run.counts.failed == 1
    return run


def test_a_run_that_a_user_queues_is_recorded_with_what_it_may_do() -> None:
    host = host_with_line()
    application = host.application
    application.request_run("contacts", "ada", dry_run=True)
    application.request_run("contacts", "ada", allows_removal=True)
    assert changes(host) == [
        (Tag.RUN_REQUESTED, "ada", "acme", ("contacts", "dry_run")),
        (Tag.RUN_REQUESTED, "ada", "acme", ("contacts", "allow_removal")),
    ]


def test_a_run_in_this_process_is_recorded_before_it_begins() -> None:
    host = host_with_line()
    application = host.application
    steps = application.sync.run_line("contacts", "ada", allows_removal=True)
    assert changes(host) == [
        (Tag.RUN_REQUESTED, "ada", "acme", ("contacts", "allow_removal")),
    ]
    *_, run = steps
    assert run.state is RunState.DONE
    assert len(changes(host)) == 1  # neither the run nor a worker records it again


def test_retries_are_recorded_in_this_process_and_in_the_queue() -> None:
    host = host_with_line()
    application = host.application
    run = rejecting_run(application)
    steps = application.sync.retry(
        run.id, "ada", note=lambda _effect: None, note_change=lambda _change: None
    )
    assert [step.retry_of for step in steps][-1] == run.id
    application.sync.request_retry(run.id, "ben")
    retried = ("contacts", run.id)
    assert changes(host) == [
        (Tag.RUN_RETRIED, "ada", "acme", retried),
        (Tag.RUN_RETRIED, "ben", "acme", retried),
    ]


def test_a_cancelled_run_is_recorded_unless_it_had_ended() -> None:
    host = host_with_line()
    application = host.application
    run = application.runs.request("contacts", "worker")
    assert application.sync.cancel(run.id, "ada").state is RunState.CANCELLED
    assert application.sync.cancel(run.id, "ada").state is RunState.CANCELLED
    assert changes(host) == [
        (Tag.RUN_CANCELLED, "ada", "acme", ("contacts", run.id)),
    ]


def test_what_is_refused_is_not_recorded() -> None:
    host = host_with_line()
    records = RecordsOfUser(FIELDS, MemoryRunRows(host.registry))
    with pytest.raises(ConfigError, match="permission"):
        host.application.request_run("contacts", "ada", records)
    assert changes(host) == []


def test_samples_and_checks_of_a_line_are_recorded() -> None:
    host = host_with_line()
    application = host.application
    runner = application.sync.runner()
    line = host.registry.line("contacts")
    assert len(application.lines.sample(line, "ada", runner).records) == 2
    assert application.lines.suggest(line, "ada").count == 2
    assert len(application.lines.preview(line, "ada", runner)) == 2
    assert changes(host) == [
        (Tag.LINE_SAMPLED, "ada", "acme", ("contacts",)),
        (Tag.LINE_SAMPLED, "ada", "acme", ("contacts",)),
        (Tag.LINE_CHECKED, "ada", "acme", ("contacts",)),
    ]


def test_a_run_of_a_pair_is_recorded_for_both_lines() -> None:
    host, application, _pairs = host_with_conflict()
    pair = application.sync.pair_runner().get("orders")
    done: list[str] = []

    def follow(line: str, _begin: object) -> Run:
        done.append(line)
        return Run("1", line, "ada", started_at=host.world.clock.now() + 1)

    application.sync.run_pair("orders", "ada", follow)
    assert done == [pair.pull]  # it is not done, so nothing is pushed
    assert [(tag, actor, fields) for tag, actor, _, fields in changes(host)] == [
        (Tag.RUN_REQUESTED, "ada", (pair.pull,)),
        (Tag.RUN_REQUESTED, "ada", (pair.push,)),
    ]


def test_the_activity_shows_what_a_run_may_do() -> None:
    facts: dict[str, object] = {
        "tag": Tag.RUN_REQUESTED,
        "configuration": "acme",
        "fields": ["contacts", "dry_run", "allow_removal", "of a later version"],
    }
    assert subject_of(facts) == "contacts"
    assert details_of(facts) == [
        Detail("Dry run"),
        Detail("Removal of many records allowed"),
        Detail("of a later version"),
    ]
    retried = {"tag": Tag.RUN_RETRIED, "fields": ["contacts", "12"]}
    assert details_of(retried) == [Detail("Run 12")]
