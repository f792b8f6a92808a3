"""The steps of a key rotation as a user takes them."""

from dataclasses import replace
from pathlib import Path

from outkey.administration.engine.editing.changes import ConfigurationChange
from outkey.foundation.core.secret import Secret
from outkey.sending.adapters.secrets.keyring_file import KeySource
from outkey.sending.adapters.secrets.keyring_loader import KeyringLoader, KeyRotation
from outkey.sending.adapters.secrets.secrets_reference import ReferencedSecrets
from outkey.sending.adapters.secrets.secrets_stored import StoredSecrets
from outkey.sending.core.audit.events import Change, Tag
from outkey.testing import FakeClock, MemoryStateRows, configuration
from outkey.testing.fakes.storage import memory_registry, memory_storage
from unit.application_in_memory import memory_host


def test_every_step_is_recorded_with_its_key_and_the_user(tmp_path: Path) -> None:
    storage = memory_storage()
    clock = FakeClock()
    keys = KeyringLoader(
        KeySource(tmp_path / "key", None), storage.keys, storage.secrets
    )
    first = keys.ring().primary.name
    host = memory_host()
    application = replace(
        host.application,
        registry=memory_registry(storage=storage),
        secrets=StoredSecrets(storage, ReferencedSecrets(), keys, clock),
        keys=keys,
        rotation=KeyRotation(keys, storage.secrets, MemoryStateRows(), clock.now),
    )
    administration = application.administration("ada")
    administration.save(
        ConfigurationChange(
            None,
            configuration(authentication_type="bearer"),
            secrets={"token": Secret("x")},
        )
    )
    host.audit.events.clear()
    steps = application.key_administration(administration)
    second = steps.add()
    steps.promote(second)
    assert steps.rewrap_count() == 1
    assert sum(steps.rewrap()) == 1
    assert steps.rewrap_count() == 0
    assert application.vouched_rows.rewraps == 1
    steps.retire(first)
    steps.reopen(first)
    assert host.audit.events == [
        Change(Tag.KEY_ADDED, "ada", key=second),
        Change(Tag.KEY_PROMOTED, "ada", key=second),
        Change(Tag.KEY_REWRAPPED, "ada", key=second),
        Change(Tag.KEY_RETIRED, "ada", key=first),
        Change(Tag.KEY_REOPENED, "ada", key=first),
    ]
    stored = application.registry.get("acme")
    assert application.secrets.open(stored, "token") == Secret("x")
