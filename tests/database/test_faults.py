"""The database fails while in use: nothing is sent unrecorded, and all recovers."""

import os
import resource
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from django.db import OperationalError, connection, connections

from database.test_installation import application, set_both, spar, verdict
from outkey.administration.core.document.document import parse_document
from outkey.administration.engine.editing.administration import Administration
from outkey.administration.engine.editing.editing import Edit
from outkey.foundation.core.errors import AuditUnavailable, HostError, OutkeyError
from outkey.foundation.core.secret import Secret
from outkey.sending.core.audit.events import Tag
from outkey.sending.core.oauth2 import token
from outkey.sending.engine.tokens import renewal as tokens
from outkey.spar import Spar
from outkey.spar.authority import CLIENT, CLIENT_SECRET

if TYPE_CHECKING:
    from outkey.administration.engine.application import Application

__all__ = ["application", "spar"]  # fixtures


@contextmanager
def failing_at(monkeypatch: pytest.MonkeyPatch, number: int) -> Iterator[list[int]]:
    """Let the call of this number to the database fail, and count the calls."""
    from outkey.hosts.django.rows import (
        audit_connection,
        database,
        shared_state,
        storage,
    )
    from outkey.hosts.django.rows import raw_sql as statements

    calls = [0]

    def count() -> None:
        calls[0] += 1
        if calls[0] == number:
            raise OperationalError("planted")

    def execute(statement: str, values: Any) -> Any:  # noqa: ANN401 - as the original
        count()
        return original(statement, values)

    def wrapped(run: Callable[..., Any], *arguments: Any) -> Any:  # noqa: ANN401 - Django's own
        count()
        return run(*arguments)

    def insert_by(connection: Any, rows: Any) -> None:  # noqa: ANN401 - as the original
        count()
        original_insert(connection, rows)

    original = statements.execute
    original_insert = audit_connection.insert_by
    with monkeypatch.context() as patched, connection.execute_wrapper(wrapped):
        for module in (audit_connection, database, shared_state, storage):
            patched.setattr(module, "execute", execute)
        patched.setattr(audit_connection, "insert_by", insert_by)
        yield calls


def work(application: "Application", number: int) -> None:
    """Do everything that reads or writes the database for a request, once each."""
    administration = Administration(
        application.registry, application.secrets, application.audit, "tester"
    )
    limits = "limits = { requests_per_minute = 6000 }"
    text = f'[configuration.acme]\nnotes = "{number}"\n{limits}'
    application.apply(administration, parse_document(text), dry_run=False)
    administration.set_secret("acme", "token", Secret("spar-token"))
    application.gateway.send("acme", "GET", "/bearer")
    administration.test(application.sender, "acme")


def test_whichever_call_fails_nothing_is_sent_unrecorded_and_everything_goes_on(
    application: "Application", spar: Spar, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_both(application, "spar-token", "two")
    failed = 0
    for number in range(1, 200):
        with failing_at(monkeypatch, number) as calls:
            try:
                work(application, number)
            except OutkeyError as error:
                assert isinstance(error, HostError), error.code
                failed += 1
        assert application.gateway.send("acme", "GET", "/bearer").status == 200
        if calls[0] < number:
            break
    assert number < 199
    assert failed > 20
    intents = sum(
        b"engine:send:intended" in row.body
        for row in application.audit_trail.rows.read()
    )
    assert intents >= len(spar.journal)
    assert verdict(application).ok


def test_whichever_call_fails_nothing_of_a_saved_form_is_there(
    application: "Application", monkeypatch: pytest.MonkeyPatch
) -> None:
    set_both(application, "before", "two")
    before = application.registry.find(["acme"])["acme"]
    form = {
        "notes": "after",
        "active": "on",
        "script_enabled": "on",
        "version": str(before.version),
        "row-key-0": "X-API-Key",
        "row-secret-0": "on",
        "row-value-0": "after-of-the-row",
        "secret:token": "after",
        "secret:password": "new",
    }
    edit = Edit.read(form, before)
    assert isinstance(edit, Edit)
    administration = application.administration("tester")
    for number in range(1, 200):
        with failing_at(monkeypatch, number) as calls:
            with suppress(HostError):
                application.save_edit(administration, edit, allowed=lambda _: True)
            if calls[0] < number:
                break
        after = application.registry.find(["acme"])["acme"]
        assert (after, after.revision, after.voucher) == (
            before,
            before.revision,
            before.voucher,
        ), number
        assert application.secrets.open(after, "token") == Secret("before")
    assert 20 < number < 199
    after = application.registry.find(["acme"])["acme"]
    assert (after.notes, after.version) == ("after", before.version + 1)
    assert application.secrets.open(after, "token") == Secret("after")


def test_whichever_call_fails_a_rotated_refresh_token_is_not_lost(
    application: "Application", monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(token, "LEASE_SECONDS", 1.0)
    monkeypatch.setattr(tokens, "LEASE_SECONDS", 1.0)
    with Spar() as provider:
        text = f"""
[configuration.shop]
base_url = "{provider.url}"
network = "internal"
authentication_type = "bearer"
token_source = "oauth2"
[configuration.shop.oauth2]
token_url = "{provider.url}/oauth/token"
client_id = "{CLIENT}"
grant = "refresh_token"
"""
        administration = Administration(
            application.registry, application.secrets, application.audit, "tester"
        )
        application.apply(administration, parse_document(text), dry_run=False)
        administration.set_secret("shop", "client_secret", Secret(CLIENT_SECRET))
        administration.set_secret(
            "shop", "refresh_token", Secret(provider.authorization.seed_refresh())
        )
        for number in range(1, 100):
            with failing_at(monkeypatch, number) as calls, suppress(HostError):
                administration.token(
                    application.sender, "shop", Tag.TOKEN_RENEWED
                ).renew()
                application.gateway.send("shop", "GET", "/oauth/api")
            assert application.gateway.send("shop", "GET", "/oauth/api").status == 200
            if calls[0] < number:
                break
        counts = provider.authorization.counts()
    assert 10 < number < 99
    assert (counts.reuses, counts.dead_families) == (0, 0)
    assert verdict(application).ok


def test_a_locked_audit_refuses_in_time_and_recovers_without_a_restart(
    application: "Application", spar: Spar, database: str
) -> None:
    set_both(application, "spar-token", "two")
    locked, release = threading.Event(), threading.Event()

    def hold() -> None:
        try:
            with connection.cursor() as cursor:
                if database == "sqlite":
                    cursor.execute("BEGIN IMMEDIATE")
                else:
                    cursor.execute("BEGIN")
                    cursor.execute(
                        "LOCK TABLE outkey_auditrecord IN ACCESS EXCLUSIVE MODE"
                    )
                locked.set()
                release.wait(30)
        finally:
            connection.close()  # which rolls back

    holder = threading.Thread(target=hold)
    holder.start()
    assert locked.wait(10)
    started = time.monotonic()
    with pytest.raises(AuditUnavailable):
        application.gateway.send("acme", "GET", "/bearer")
    assert time.monotonic() - started < 10
    assert spar.journal == []
    release.set()
    holder.join()
    assert application.gateway.send("acme", "GET", "/bearer").status == 200
    assert verdict(application).ok


def test_a_connection_that_dies_is_replaced_without_a_restart(
    application: "Application", spar: Spar, database: str
) -> None:
    set_both(application, "spar-token", "two")
    if database == "sqlite":
        connection.connection.close()
    else:
        other = connections.create_connection("default")
        with other.cursor() as cursor:
            cursor.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        other.close()
    answers = []
    for _ in range(3):
        try:
            answers.append(application.gateway.send("acme", "GET", "/bearer").status)
        except HostError:
            answers.append(0)
    assert answers[-1] == 200
    assert len(spar.journal) == answers.count(200)
    assert verdict(application).ok


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
def test_a_full_disk_refuses_and_recovers_without_a_restart(
    application: "Application", spar: Spar, tmp_path: Path
) -> None:
    set_both(application, "spar-token", "two")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    wal = tmp_path / "outkey.sqlite3-wal"
    for _ in range(3):
        # No file may grow beyond this, which is what a full disk is to SQLite.
        resource.setrlimit(resource.RLIMIT_FSIZE, (1024, limits[1]))
        try:
            with pytest.raises(HostError):
                application.gateway.send("acme", "GET", "/bearer")
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        assert wal.exists()
    assert spar.journal == []
    assert application.gateway.send("acme", "GET", "/bearer").status == 200
    assert verdict(application).ok


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
def test_a_database_that_may_only_be_read_is_read_and_not_sent_with(
    application: "Application", spar: Spar
) -> None:
    set_both(application, "spar-token", "two")
    forbid_writing(application, "ON")
    assert application.registry.get("acme").name == "acme"
    with pytest.raises(AuditUnavailable):
        application.gateway.send("acme", "GET", "/bearer")
    forbid_writing(application, "OFF")
    assert spar.journal == []
    assert application.gateway.send("acme", "GET", "/bearer").status == 200


def forbid_writing(application: "Application", state: str) -> None:
    """Let SQLite refuse writes on the connections of this thread and of the audit."""
    of_audit = application.audit_trail.rows._connection._own  # type: ignore[attr-defined]
    for used in filter(None, (connection, of_audit)):
        used.ensure_connection()
        used.connection.execute(f"PRAGMA query_only = {state}")


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
def test_a_forked_child_makes_a_connection_of_its_own_and_records_what_it_sends(
    application: "Application", spar: Spar
) -> None:
    set_both(application, "spar-token", "two")
    assert application.gateway.send("acme", "GET", "/bearer").status == 200
    child = os.fork()
    if child == 0:
        status = 1
        try:
            status = (
                0
                if application.gateway.send("acme", "GET", "/bearer").status == 200
                else 1
            )
            application.audit.close()
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert application.gateway.send("acme", "GET", "/bearer").status == 200
    application.audit.close()
    assert (
        sum(
            b"engine:send:intended" in row.body
            for row in application.audit_trail.rows.read()
        )
        == 3
    )
    assert verdict(application).ok


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
def test_a_database_file_that_was_replaced_gets_the_records(
    application: "Application", spar: Spar
) -> None:
    set_both(application, "spar-token", "two")
    assert application.gateway.send("acme", "GET", "/bearer").status == 200
    application.audit.flush()
    file = Path(connection.settings_dict["NAME"])
    copy = file.with_suffix(".copy")
    with closing(sqlite3.connect(file)) as source, closing(sqlite3.connect(copy)) as to:
        source.backup(to)
    connections.close_all()
    copy.replace(file)
    for log in ("-wal", "-shm"):
        file.with_name(file.name + log).unlink(missing_ok=True)
    arrived = len(spar.journal)
    assert application.gateway.send("acme", "GET", "/bearer").status == 200
    assert len(spar.journal) == arrived + 1
    assert count_intents(file) == arrived + 1


def count_intents(file: Path) -> int:
    with closing(sqlite3.connect(file)) as database:
        rows = database.execute("SELECT body FROM outkey_auditrecord").fetchall()
    return sum(b"engine:send:intended" in body for (body,) in rows)


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
def test_a_closed_gateway_leaves_no_descriptor_open(
    application: "Application", spar: Spar
) -> None:
    set_both(application, "spar-token", "two")

    def send_and_close() -> int:
        assert application.gateway.send("acme", "GET", "/bearer").status == 200
        application.gateway.close()
        connections.close_all()
        return sum(1 for _ in Path("/proc/self/fd").iterdir())

    assert send_and_close() == send_and_close()
    opened = application.audit_trail.rows._connection._own  # type: ignore[attr-defined]
    assert opened is None
    assert verdict(application).ok
