"""`/readyz` on PostgreSQL: each part fails for a real reason, and recovers."""

import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest
from psycopg.sql import SQL, Identifier

import forks
from cli.conftest import Terminal, document_for
from cli.served_interface import LINES
from cli.served_operating import Served, serving_operating
from database.conftest import Cluster
from outkey.spar import Spar
from outkey.testing.canary import Canaries

ROLE = "outkey_server"  # not the owner of the cluster, whose rights have no limits


@dataclass
class Worker:
    """A worker that can be stopped and started again."""

    outkey: Terminal
    log: Path
    process: "subprocess.Popen[bytes] | None" = None

    def start(self) -> None:
        with self.log.open("ab") as output:
            self.process = forks.Popen(
                [*forks.OUTKEY, "worker"],
                stdout=output,
                stderr=output,
                env=self.outkey.environment,
            )

    def stop(self) -> None:
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(30)


@pytest.fixture(scope="module")
def outkey(
    postgresql: Cluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Terminal]:
    """A home on PostgreSQL, whose role has only the rights that it needs."""
    url = postgresql.create("readiness")
    role = Identifier(ROLE)
    with psycopg.connect(url, autocommit=True) as owner:
        owner.execute(SQL("CREATE ROLE {} LOGIN").format(role))
        owner.execute(SQL("GRANT ALL ON SCHEMA public TO {}").format(role))
    settings = {"OUTKEY_DATABASE_URL": url.replace("outkey@", f"{ROLE}@")}
    terminal = Terminal(
        tmp_path_factory.mktemp("readiness") / "home", Canaries(), settings
    )
    with Spar() as spar:
        applied = terminal("apply", "-", stdin=document_for(spar) + LINES)
        assert applied.code == 0, applied.err
        yield terminal
    with psycopg.connect(url, autocommit=True) as owner:
        owner.execute(SQL("DROP OWNED BY {}").format(role))
        owner.execute(SQL("DROP ROLE {}").format(role))


@pytest.fixture(scope="module")
def worker(outkey: Terminal) -> Iterator[Worker]:
    process = Worker(outkey, outkey.home.with_name("worker.log"))
    process.start()
    yield process
    process.stop()


@pytest.fixture(scope="module")
def served(outkey: Terminal, worker: Worker) -> Iterator[Served]:
    assert worker.process is not None
    with serving_operating(outkey, outkey.home.with_name("log")) as server:
        assert server.wait_for_readiness("workers", "ok") == 200
        yield server


@pytest.fixture
def owner(served: Served) -> Iterator[psycopg.Connection]:
    url = served.outkey.settings["OUTKEY_DATABASE_URL"]
    with psycopg.connect(url.replace(f"{ROLE}@", "outkey@")) as connection:
        yield connection


def test_a_removed_key_is_not_ready_until_it_is_back(served: Served) -> None:
    key = served.outkey.home / "config" / "key"
    moved = key.with_name("elsewhere")
    key.rename(moved)
    try:
        assert served.wait_for_readiness("key", "sealed") == 503
    finally:
        moved.rename(key)
    assert served.wait_for_readiness("key", "ok") == 200


def test_a_locked_database_is_not_ready_until_it_is_free(
    served: Served, owner: psycopg.Connection
) -> None:
    owner.execute("LOCK TABLE outkey_sharedstate IN ACCESS EXCLUSIVE MODE")
    assert served.wait_for_readiness("database", "timeout") == 503
    began = time.monotonic()
    assert served.get("/readyz").status_code == 503
    assert time.monotonic() - began < 10
    assert served.get("/healthz").status_code == 200
    owner.rollback()
    assert served.wait_for_readiness("workers", "ok") in {200, 503}
    assert served.wait_for_readiness("database", "ok") == 200


def test_a_stopped_database_is_not_ready_until_it_runs_again(
    served: Served, postgresql: Cluster
) -> None:
    postgresql.stop()
    try:
        assert served.wait_for_readiness("database", "storage_unavailable") == 503
        assert served.wait_for_readiness("audit", "audit_unavailable") == 503
        assert served.get("/healthz").status_code == 200
    finally:
        postgresql.start()
    for part in ("database", "audit", "workers"):
        status = served.wait_for_readiness(part, "ok")
    assert status == 200


def test_a_database_that_only_reads_is_not_ready_until_it_writes(
    served: Served, owner: psycopg.Connection
) -> None:
    """As after a failover to a replica."""
    setting = "ALTER ROLE {} SET default_transaction_read_only = {}"
    owner.execute(SQL(setting).format(Identifier(ROLE), "on"))
    owner.commit()
    try:
        assert served.wait_for_readiness("database", "storage_unavailable") == 503
        assert served.wait_for_readiness("audit", "audit_unavailable") == 503
    finally:
        owner.execute(SQL(setting).format(Identifier(ROLE), "off"))
        owner.commit()
    assert served.wait_for_readiness("database", "ok") in {200, 503}
    assert served.wait_for_readiness("audit", "ok") == 200


def test_an_audit_that_must_not_be_written_is_not_ready_until_it_may(
    served: Served, owner: psycopg.Connection
) -> None:
    right = "{} INSERT ON outkey_auditrecord {} {}"
    owner.execute(SQL(right).format(SQL("REVOKE"), SQL("FROM"), Identifier(ROLE)))
    owner.commit()
    try:
        assert served.wait_for_readiness("audit", "audit_unavailable") == 503
        assert served.get("/readyz").json()["checks"]["database"] == "ok"
    finally:
        owner.execute(SQL(right).format(SQL("GRANT"), SQL("TO"), Identifier(ROLE)))
        owner.commit()
    assert served.wait_for_readiness("audit", "ok") == 200


def test_lines_without_a_worker_are_not_ready_until_there_is_one(
    served: Served, worker: Worker
) -> None:
    worker.stop()
    try:
        assert served.wait_for_readiness("workers", "worker_missing") == 503
    finally:
        worker.start()
    assert served.wait_for_readiness("workers", "ok") == 200
