"""An Application with a fake for every port: a host without Django or files."""

from dataclasses import dataclass, field
from pathlib import Path

from outkey.administration.adapters.preset_files import PresetFiles
from outkey.administration.core.policy.policy import Policy
from outkey.administration.engine.application import Application
from outkey.administration.engine.watching.audit_trail import AuditTrail
from outkey.foundation.adapters.paths_jmespath import JmespathCompiler
from outkey.foundation.adapters.states_memory import MemoryStateRows
from outkey.sending.adapters.secrets.keyring import Keyring, new_keyring
from outkey.sending.adapters.secrets.secrets_reference import ReferencedSecrets
from outkey.sending.adapters.secrets.secrets_stored import StoredSecrets
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sync.adapters.calendar_cronsim import CronCalendar
from outkey.sync.core.mapping.records import FieldKind, HostField
from outkey.sync.core.run.run import Run
from outkey.sync.engine.line_registry import Registry
from outkey.sync.engine.runs.line_plan import SyncPorts
from outkey.testing import (
    FakeListeners,
    MemoryAudit,
    MemoryAuditRows,
    MemoryCheckpoints,
    fake_gateway,
)
from outkey.testing.fakes.basic import FakeResponse, FakeWorld, MemoryDatabase
from outkey.testing.fakes.monitoring import MemoryLineRuns
from outkey.testing.fakes.storage import memory_registry, memory_storage
from outkey.testing.fakes.sync import MemorySync
from outkey.testing.fakes.vouching import FakeVouchedRows
from outkey.testing.fakes.webhooks import MemoryDeliveryRows
from outkey.webhooks.adapters.public_keys import CryptographyKeys
from outkey.webhooks.adapters.webhook_vault import SealedWebhooks
from outkey.webhooks.engine.fetching import fetch_public
from outkey.webhooks.engine.reception import ReceptionPorts
from outkey.webhooks.engine.refusals import Refusals
from outkey.webhooks.engine.stored_webhooks import WebhookSettings

KEY = b"a" * 32
FIELDS = {
    "contact": (
        HostField("number", "Number", FieldKind.TEXT, required=True),
        HostField("name", "Name", FieldKind.TEXT),
    )
}


@dataclass
class MemoryKeys:
    """One key ring, for as long as the test runs."""

    kept: Keyring = field(default_factory=new_keyring)
    sealed: bool = False

    def ring(self, needed: str = "") -> Keyring:
        return self.kept

    def fresh(self) -> Keyring:
        return self.kept

    def is_sealed(self) -> bool:
        return self.sealed

    def audit_key(self, key_id: str) -> bytes | None:
        return KEY


class MemoryQueue:
    """A queue that remembers the runs it was given, each once."""

    def __init__(self) -> None:
        self.runs: list[str] = []

    def put(self, run: Run, lock: str) -> None:
        if run.id not in self.runs:  # it comes with each lock that would do
            self.runs.append(run.id)


@dataclass
class MemoryHost:
    """The application, and the fakes behind it."""

    application: Application
    world: FakeWorld
    registry: Registry
    audit: MemoryAudit
    queue: MemoryQueue
    deliveries: MemoryDeliveryRows


def memory_host(
    *configurations: Configuration,
    responses: list[FakeResponse] | None = None,
    home: Path = Path("/nowhere"),
) -> MemoryHost:
    """Return an application without a database, a file or a socket."""
    storage = memory_storage()
    registry = memory_registry(configurations, storage=storage)
    world = fake_gateway(responses=responses, registry=registry)
    clock = world.clock
    keys = MemoryKeys()
    audit = MemoryAudit()
    rows = MemoryAuditRows()
    states = MemoryStateRows()
    memory = MemorySync(registry, FIELDS, clock)
    queue = MemoryQueue()

    def sync_ports() -> SyncPorts:
        return SyncPorts(
            sender=world.sender,
            configurations=registry,
            models=memory.records,
            runs=memory.runs,
            finder=JmespathCompiler(),
            clock=clock,
            calendar=CronCalendar(),
            ledger=memory.ledger,
            parents=memory.parents,
            scripts=world.scripts,
        )

    deliveries = MemoryDeliveryRows()
    database = MemoryDatabase(clock, states, deliveries)
    references = ReferencedSecrets()

    def hook_ports() -> ReceptionPorts:
        return ReceptionPorts(
            settings=WebhookSettings(
                states, database, SealedWebhooks(keys, references)
            ),
            deliveries=deliveries,
            refusals=Refusals(states, database, audit),
            database=database,
            clock=clock,
            keys=CryptographyKeys(),
            finder=JmespathCompiler(),
            fetch=lambda url: world.sender.run(fetch_public(world.sender.context, url)),
            audit=audit,
        )

    application = Application(
        database=database,
        registry=registry,
        states=states,
        secrets=StoredSecrets(storage, references, keys, clock),
        keys=keys,
        key_file=home / "key",
        rotation=None,  # type: ignore[arg-type]  # no key is changed here
        audit=audit,
        audit_trail=AuditTrail(rows, MemoryCheckpoints(), keys.audit_key),
        runs=memory.runs,
        line_runs=MemoryLineRuns(),
        clock=clock,
        vouched_rows=FakeVouchedRows(),
        listeners=FakeListeners(),  # type: ignore[arg-type]  # nothing is served here
        presets=PresetFiles(),
        open_sender=lambda: world.sender,
        policy=Policy,
        queue=lambda: queue,
        sync_ports=sync_ports,
        hook_ports=hook_ports,
        listed_handlers=("shop.hooks",),
    )
    return MemoryHost(application, world, registry, audit, queue, deliveries=deliveries)
