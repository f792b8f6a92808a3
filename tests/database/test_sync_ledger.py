"""A push that sends what changed, on both databases: ledger and checkpoint are one."""

from dataclasses import replace

import pytest

from database.conftest import stored_runs
from database.test_sync import opened
from outkey.foundation.adapters.clock_system import SystemClock
from outkey.foundation.adapters.paths_jmespath import JmespathCompiler
from outkey.sync.adapters.calendar_cronsim import CronCalendar
from outkey.sync.core.line.line import (
    Direction,
    FieldMapping,
    PushRequest,
    Sync,
    SyncLine,
)
from outkey.sync.core.run.run import Counts, Run
from outkey.sync.engine.runs.line_plan import SyncPorts
from outkey.sync.engine.runs.runner import SyncRunner
from outkey.sync.ports.sync import LedgerRows
from outkey.testing import configuration, fake_gateway
from outkey.testing.fakes.sync import MemoryParentRows
from unit.fake_orders_api import OrdersApi

ONE = "/orders/{remote_id}"
PUSH = Sync(
    direction=Direction.PUSH,
    target="demo.contact",
    mappings=(FieldMapping("number", "external_id"), FieldMapping("name", "name")),
    create=PushRequest("POST", "/orders"),
    update=PushRequest("PATCH", ONE),
    delete=PushRequest("DELETE", ONE),
    remote_id="data.id",
    guard_percent=100,
)


class Killed(BaseException):
    """What a kill looks like from inside."""


class Shop:
    """Contacts of a database, and an API that they are sent to."""

    def __init__(self, sync: Sync) -> None:
        from outkey.hosts.demo_records.models import Contact
        from outkey.hosts.django.rows.ledger import DjangoLedgerRows
        from outkey.hosts.django.rows.storage import django_storage
        from outkey.sync.engine.line_registry import Registry

        self.contacts = Contact.objects
        self.api = OrdersApi()
        registry = Registry(django_storage(), SystemClock())
        registry.add(configuration(no_auth_reason="public_api"))
        registry.put_line(SyncLine("contacts", "acme", "POST", "/", sync))
        world = fake_gateway(responses=self.api, registry=registry)
        self.runs = stored_runs()
        self.ledger: LedgerRows = DjangoLedgerRows()
        self.runner = SyncRunner(
            SyncPorts(
                sender=world.sender,
                configurations=registry,
                models=opened(),
                runs=self.runs,
                finder=JmespathCompiler(),
                clock=world.clock,
                calendar=CronCalendar(),
                ledger=self.ledger,
                parents=MemoryParentRows(),
                scripts=world.scripts,
            )
        )

    def run(self) -> Counts:
        *_, last = self.runner.run("contacts", "tester")
        return last.counts

    def is_equal(self) -> bool:
        ours = self.contacts.filter(active=True).values_list("external_id", "name")
        theirs = [
            (order["number"], order["name"]) for order in self.api.orders.values()
        ]
        return sorted(ours) == sorted(theirs)


@pytest.fixture
def shop(database: object) -> Shop:
    made = Shop(PUSH)
    for number in range(5):
        made.contacts.create(external_id=f"n{number}", name=f"Name {number}")
    return made


def test_what_changed_in_the_database_is_sent(shop: Shop) -> None:
    assert shop.run() == Counts(created=5)
    assert shop.run() == Counts(unchanged=5)
    shop.contacts.filter(external_id="n0").update(name="Other")
    shop.contacts.filter(external_id="n1").update(active=False)
    shop.contacts.filter(external_id="n2").delete()
    assert shop.run() == Counts(updated=1, unchanged=2, deleted=2)
    assert shop.is_equal()
    shop.contacts.filter(external_id="n1").update(active=True)
    assert shop.run() == Counts(created=1, unchanged=3)
    assert shop.is_equal()


def test_an_entry_is_stored_with_its_checkpoint_or_not_at_all(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    save = shop.runs.save
    saved: list[Run] = []

    def die_after_the_second_response(run: Run) -> Run:
        saved.append(run)  # when a create is announced, and when it is accepted
        if len(saved) == 4:
            raise Killed
        return save(run)

    monkeypatch.setattr(shop.runs, "save", die_after_the_second_response)
    with pytest.raises(Killed):
        shop.run()
    first, second = shop.ledger.after("contacts", "", 9)
    assert (first.remote_id, first.key, second.remote_id) == ("r1", "", "")
    assert second.key, "the create is announced"
    assert len(shop.api.orders) == 2
    from outkey.hosts.django import models

    models.Run.objects.update(until=0)
    assert shop.run() == Counts(created=5)
    assert shop.is_equal()
    keys = shop.api.keys()
    assert (len(keys), len(set(keys))) == (6, 5)


def test_a_batch_is_stored_with_its_checkpoint(database: object) -> None:
    batch = PushRequest("POST", "/batch")
    sync = replace(
        PUSH,
        create=batch,
        update=replace(batch, method="PATCH"),
        delete=replace(batch, method="DELETE"),
        batch=1000,
        records_at="data.items",
        results_at="results",
        body='{"id": "{remote_id}", "number": "{external_id}", "name": "{name}"}',
    )
    shop = Shop(sync)
    shop.contacts.bulk_create(
        shop.contacts.model(external_id=f"n{n}", name=f"Name {n}") for n in range(2100)
    )
    assert shop.run() == Counts(created=2100)
    assert len(shop.api.asked) == 3
    shop.contacts.filter(external_id__startswith="n1").delete()
    shop.contacts.filter(external_id__startswith="n2").update(name="Other")
    counts = shop.run()
    assert (counts.created, counts.failed) == (0, 0)
    assert counts.deleted > 1000
    assert shop.is_equal()
