"""A trigger lets the database ignore writes without an error: nothing believes them."""

import time
from typing import TYPE_CHECKING

import pytest
from django.db import connection

from database.test_installation import application, spar  # noqa: F401 - fixtures
from outkey.administration.core.document.document import parse_document
from outkey.foundation.core.errors import (
    AuditUnavailable,
    HostError,
    StorageUnavailable,
)
from outkey.foundation.core.secret import Secret
from outkey.foundation.core.shared_state import StateKind
from outkey.spar import Spar
from outkey.sync.core.push.ledger import LedgerEntry
from outkey.sync.core.run.parents import ParentState
from outkey.webhooks.core.inbox.inbox import InboxDelivery

if TYPE_CHECKING:
    from outkey.administration.engine.application import Application

FUNCTION = "CREATE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS $$ {body} $$"
IGNORED = {
    "sqlite": (
        "CREATE TRIGGER t BEFORE INSERT ON {table} BEGIN SELECT RAISE(IGNORE); END",
    ),
    "postgresql": (
        FUNCTION.format(name="swallow", body="BEGIN RETURN NULL; END"),
        (
            "CREATE TRIGGER t BEFORE INSERT ON {table}"
            " FOR EACH ROW EXECUTE FUNCTION swallow()"
        ),
    ),
}
DELETED = {
    "sqlite": (
        (
            "CREATE TRIGGER t AFTER INSERT ON {table}"
            " BEGIN DELETE FROM {table} WHERE id = NEW.id; END"
        ),
    ),
    "postgresql": (
        FUNCTION.format(
            name="remove",
            body="BEGIN DELETE FROM {table} WHERE id = NEW.id; RETURN NULL; END",
        ),
        (
            "CREATE TRIGGER t AFTER INSERT ON {table}"
            " FOR EACH ROW EXECUTE FUNCTION remove()"
        ),
    ),
}
# PostgreSQL runs it when the transaction commits.
DELETED_LATER = {
    "sqlite": DELETED["sqlite"],
    "postgresql": (
        DELETED["postgresql"][0],
        (
            "CREATE CONSTRAINT TRIGGER t AFTER INSERT ON {table} DEFERRABLE"
            " INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION remove()"
        ),
    ),
}
CHANGED = {
    "sqlite": (
        (
            "CREATE TRIGGER t AFTER INSERT ON {table}"
            " BEGIN UPDATE {table} SET body = x'00' WHERE id = NEW.id; END"
        ),
    ),
    "postgresql": (
        FUNCTION.format(
            name="change", body=r"BEGIN NEW.body := '\x00'::bytea; RETURN NEW; END"
        ),
        (
            "CREATE TRIGGER t BEFORE INSERT ON {table}"
            " FOR EACH ROW EXECUTE FUNCTION change()"
        ),
    ),
}


def plant(statements: dict[str, tuple[str, ...]], table: str) -> None:
    with connection.cursor() as cursor:
        for statement in statements[connection.vendor]:
            cursor.execute(statement.format(table=table))


def prepare(
    application: "Application",  # noqa: F811
) -> None:
    administration = application.administration("tester")
    administration.set_secret("acme", "header:X-API-Key", Secret("a-key"))
    administration.set_secret("acme", "token", Secret("spar-token"))


@pytest.mark.parametrize("trigger", [IGNORED, DELETED], ids=["ignored", "deleted"])
@pytest.mark.parametrize("table", ["outkey_auditrecord", "outkey_stream"])
def test_no_request_leaves_if_the_database_swallows_its_record(
    application: "Application",  # noqa: F811
    spar: Spar,  # noqa: F811
    table: str,
    trigger: dict[str, tuple[str, ...]],
) -> None:
    from outkey.hosts.django.wiring import install

    prepare(application)
    application.audit.close()
    spar.clear()
    plant(trigger, table)
    later = install(application.key_file.parent.parent, {})
    with pytest.raises(AuditUnavailable):
        later.gateway.send("acme", "GET", "/bearer")
    assert spar.journal == []


@pytest.mark.parametrize(
    "trigger",
    [IGNORED, DELETED, DELETED_LATER, CHANGED],
    ids=["ignored", "deleted", "deleted later", "changed"],
)
def test_a_process_that_sent_before_notices_what_becomes_of_its_records(
    application: "Application",  # noqa: F811
    spar: Spar,  # noqa: F811
    trigger: dict[str, tuple[str, ...]],
) -> None:
    prepare(application)
    assert application.gateway.send("acme", "GET", "/bearer").status == 200
    spar.clear()
    plant(trigger, "outkey_auditrecord")
    with pytest.raises(AuditUnavailable):
        application.gateway.send("acme", "GET", "/bearer")
    assert spar.journal == []


@pytest.mark.parametrize(
    "table",
    [
        "outkey_configuration",
        "outkey_secretvalue",
        "outkey_syncline",
        "outkey_lineversion",
        "outkey_sharedstate",
    ],
)
def test_a_save_that_was_swallowed_is_not_reported_as_done(
    application: "Application",  # noqa: F811
    table: str,
) -> None:
    plant(IGNORED, table)
    text = """
[configuration.new]
base_url = "https://new.example"
authentication_type = "bearer"
token = "env:NEW_TOKEN"
[line.new]
configuration = "new"
path = "/x"
[database.warehouse]
url = "env:WAREHOUSE"
"""
    with pytest.raises(HostError):
        application.apply(
            application.administration("tester"), parse_document(text), dry_run=False
        )


@pytest.mark.usefixtures("database")
def test_a_swallowed_delivery_is_not_a_duplicate() -> None:
    from outkey.hosts.django.rows.deliveries import DjangoDeliveryRows

    rows = DjangoDeliveryRows()
    first = InboxDelivery("", "e" * 22, "k1", nonce="n1", received_at=time.time())
    rows.insert([first])
    plant(IGNORED, "outkey_delivery")
    rows.insert([first])  # it is stored
    assert rows.swap(None, first) is None
    second = InboxDelivery("", "e" * 22, "k2", received_at=time.time())
    with pytest.raises(StorageUnavailable):
        rows.insert([first, second])
    with pytest.raises(StorageUnavailable):
        rows.swap(None, second)


def test_a_swallowed_entry_of_the_ledger_is_noticed_before_a_create_is_sent(
    application: "Application",  # noqa: F811
) -> None:
    from outkey.hosts.django.rows.ledger import DjangoLedgerRows

    text = '[line.push]\nconfiguration = "acme"\npath = "/x"'
    application.apply(
        application.administration("tester"), parse_document(text), dry_run=False
    )
    plant(IGNORED, "outkey_ledger")
    with pytest.raises(StorageUnavailable):
        DjangoLedgerRows().put("push", [LedgerEntry("1"), LedgerEntry("2")])


def test_a_swallowed_state_of_a_parent_is_noticed(
    application: "Application",  # noqa: F811
) -> None:
    from outkey.hosts.django.rows.parents import DjangoParentRows

    text = '[line.items]\nconfiguration = "acme"\npath = "/x"'
    application.apply(
        application.administration("tester"), parse_document(text), dry_run=False
    )
    plant(IGNORED, "outkey_lineparent")
    with pytest.raises(StorageUnavailable):
        DjangoParentRows().put("items", [ParentState("1"), ParentState("2")])


def test_a_swallowed_run_does_not_begin(
    application: "Application",  # noqa: F811
) -> None:
    text = '[line.pull]\nconfiguration = "acme"\npath = "/x"'
    application.apply(
        application.administration("tester"), parse_document(text), dry_run=False
    )
    plant(IGNORED, "outkey_run")
    with pytest.raises(StorageUnavailable):
        application.runs.begin("pull", "tester", dry_run=False)


@pytest.mark.usefixtures("database")
def test_shared_values_that_were_swallowed_are_noticed() -> None:
    from outkey.hosts.django.rows.shared_state import DjangoStateRows

    states = DjangoStateRows()
    plant(IGNORED, "outkey_sharedstate")
    with pytest.raises(StorageUnavailable):
        states.put(StateKind.MARK, {"a": {"n": 1}})
    assert not states.swap(StateKind.MARK, "a", 0, {"n": 1})
