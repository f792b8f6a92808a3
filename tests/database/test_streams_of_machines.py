"""Two machines with one database: a stream that is missing is noticed on both."""

from pathlib import Path
from shutil import copytree
from typing import TYPE_CHECKING

import pytest

from database.test_installation import application, installed, spar  # noqa: F401 - fixtures
from outkey.sending.core.audit.events import Change, Tag

if TYPE_CHECKING:
    from outkey.administration.engine.application import Application


@pytest.fixture
def second(
    application: "Application",  # noqa: F811
    tmp_path: Path,
) -> "Application":
    """Another machine: the same key, and a checkpoint file of its own."""
    application.audit.close()
    copytree(tmp_path / "home", tmp_path / "second")
    (tmp_path / "second" / "config" / "audit-checkpoints").unlink()
    return installed(tmp_path / "second")


def write_stream(machine: "Application") -> None:
    machine.audit.note(Change(Tag.KEY_ADDED, "tester"))
    machine.audit.close()


def delete_newest_stream() -> None:
    from outkey.hosts.django.models import AuditRecord, Stream

    newest = Stream.objects.latest("pk")
    AuditRecord.objects.filter(stream=newest).delete()
    newest.delete()


def test_a_stream_that_was_verified_here_is_missed_here(
    application: "Application",  # noqa: F811
    second: "Application",
) -> None:
    write_stream(second)
    first_look = application.audit_trail.verify()
    assert first_look.ok
    assert len(first_look.without_checkpoint) == 1
    application.audit_trail.note_verified(first_look)
    assert application.audit_trail.verify().without_checkpoint == ()
    delete_newest_stream()
    verdict = application.audit_trail.verify()
    assert "the stream is missing" in str(verdict.first_bad)


def test_a_server_sees_the_streams_of_others_without_a_verification(
    application: "Application",  # noqa: F811
    second: "Application",
) -> None:
    from outkey.hosts.django.workers.heartbeats import StreamWitness

    write_stream(second)
    StreamWitness(application).look()
    assert application.audit_trail.verify().without_checkpoint == ()
    delete_newest_stream()
    assert not application.audit_trail.verify().ok


def test_a_stream_that_others_followed_is_missed_on_a_machine_that_never_saw_it(
    application: "Application",  # noqa: F811
    second: "Application",
    tmp_path: Path,
) -> None:
    from outkey.hosts.django.models import AuditRecord, Stream

    write_stream(second)
    removed = Stream.objects.latest("pk")
    write_stream(installed(tmp_path / "second"))
    AuditRecord.objects.filter(stream=removed).delete()
    removed.delete()
    verdict = application.audit_trail.verify()
    assert verdict.first_bad == f"{removed.name} (the stream is missing)"


def test_pruned_streams_are_not_missing(
    application: "Application",  # noqa: F811
    second: "Application",
) -> None:
    from outkey.hosts.django.models import AuditRecord

    write_stream(second)
    application.audit_trail.note_streams()
    trail = application.audit_trail
    removed = sum(trail.prune(application.administration("tester"), 4e9))
    assert removed
    application.audit.close()
    assert AuditRecord.objects.count() == 1
    assert trail.verify().ok


def test_planted_streams_are_neither_seen_nor_followed(
    application: "Application",  # noqa: F811
    second: "Application",
) -> None:
    from outkey.hosts.django.models import AuditRecord, Stream

    genuine = Stream.objects.latest("pk")
    planted = Stream.objects.create(name=f"{genuine.name[:16]}.0123456789abcdef")
    AuditRecord.objects.create(stream=planted, number=1, at=1, body=b"{}", mac=b"1")
    application.audit_trail.note_streams()
    write_stream(second)
    AuditRecord.objects.filter(stream=planted).delete()
    planted.delete()
    assert application.audit_trail.verify().ok
