"""What survives when the tables change."""

import json

import pytest
from django.core.management import call_command
from django.db import connection

from outkey.administration.core.findings.monitoring import Baseline, Notice
from outkey.administration.engine.watching.monitoring import open_notices
from outkey.foundation.core.findings.conditions import Condition
from outkey.foundation.core.shared_state import StateKind
from outkey.foundation.engine.duties import MONITORING, SCHEDULES
from outkey.sending.core.audit.events import Durability
from outkey.sending.core.request.rate_limit import Pace


@pytest.mark.usefixtures("database")
def test_no_migration_is_missing() -> None:
    call_command("makemigrations", "outkey", check=True, dry_run=True, verbosity=0)


@pytest.mark.usefixtures("database")
def test_shared_states_are_copied_from_the_tables_that_they_replace() -> None:
    from outkey.hosts.django.rows.shared_state import DjangoStateRows

    call_command("migrate", "outkey", "0002", verbosity=0)
    condition = Condition("S-new-origin", "acme", "https://ä.example")
    baseline = Baseline(("https://a.example",), {500: 3}, 2)
    rows = {
        "pace (configuration, drained_at, quiet_until)": [("acme", 7.5, 0.0)],
        "habit (configuration, facts)": [("acme", json.dumps(baseline.facts()))],
        "notice (kind, configuration, about, opened_at, closed_at)": [
            (*condition, 5.0, None),
            ("S-failing", "acme", "", 1.0, 2.0),
        ],
        "duty (name, holder, until, position)": [
            ("watch", "h", 9.0, 42),
            ("schedules", "", 0.0, 60_500),
            ("prune", "h", 9.0, None),
        ],
        "process (id, host, seen_at, keys)": [("p", "here", 1.0, "[]")],
    }
    with connection.cursor() as cursor:
        for table, values in rows.items():
            for row in values:
                places = ", ".join(["%s"] * len(row))
                cursor.execute(f"INSERT INTO outkey_{table} VALUES ({places})", row)
    call_command("migrate", "outkey", verbosity=0)
    states = DjangoStateRows()
    pace = states.read(StateKind.RATE_LIMIT)["acme"].value
    assert Pace.from_facts(pace) == Pace(7.5, 0.0)
    stored = states.read(StateKind.BASELINE)["acme"].value
    assert Baseline.from_facts(stored) == baseline
    assert open_notices(states) == [Notice(condition, 5.0)]
    assert states.read(StateKind.NOTICE).keys() == {condition.key()}
    marks = {key: state.value for key, state in states.read(StateKind.MARK).items()}
    assert marks == {MONITORING: {"position": 42}, SCHEDULES: {"at": 60.5}}
    assert states.read(StateKind.LEASE) == {}
    assert states.read(StateKind.PROCESS) == {}


@pytest.mark.usefixtures("database")
def test_stored_records_of_the_audit_get_their_kinds_and_the_chain_stays_whole() -> (
    None
):
    from outkey.hosts.django.models import Stream
    from outkey.hosts.django.rows.audit import DjangoAuditRows
    from outkey.sending.core.audit import chain

    call_command("migrate", "outkey", "0006", verbosity=0)
    key = b"k" * 32
    events = [
        {"at": 1, "tag": "engine:send:intended"},
        {"at": 2, "tag": "engine:send:ended", "outcome": "timeout"},
        {"at": 3, "tag": "api:line:kept", "actor": "ann"},
        {"at": 4, "tag": "people:session:began", "actor": "ben"},
    ]
    records = [(chain.canonical(facts), chain.label_of(facts)) for facts in events]
    stream = Stream.objects.create(name="k.a")
    with connection.cursor() as cursor:
        for row in chain.RowCodes(key, "k.a").chain(records):
            at, configuration, outcome, *_ = row.label
            cursor.execute(
                "INSERT INTO outkey_auditrecord (stream_id, number, at, configuration,"
                " outcome, body, mac) VALUES (%s, %s, %s, %s, %s, %s, %s)",
                [stream.pk, row.number, at, configuration, outcome, row.body, row.mac],
            )
        cursor.execute(
            "INSERT INTO outkey_auditrecord (stream_id, number, at, configuration,"
            " outcome, body, mac) VALUES (%s, 9, 9, '', '', %s, %s)",
            [stream.pk, b'{"at": "x", "tag": "api:line:kept"}', b"forged"],
        )
    call_command("migrate", "outkey", verbosity=0)
    table = DjangoAuditRows(lambda: Durability.PROCESS)
    kinds = {
        facts["at"]: kind
        for kind in (chain.FAILURE, chain.CHANGE, chain.SIGN_IN)
        for facts in table.newest(9, kind=kind)
    }
    # A record that another program has written is listed too; verifying names it.
    assert kinds == {
        2: chain.FAILURE,
        3: chain.CHANGE,
        4: chain.SIGN_IN,
        "x": chain.CHANGE,
    }
    whole = [row for row in table.read() if row.number <= len(events)]
    verdict = chain.verify(whole, lambda _: key, checkpoints=(), tombstones=())
    assert (verdict.ok, verdict.rows) == (True, 4)
