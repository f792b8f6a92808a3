"""A webhook that another process changes: no delivery is accepted as it was before."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from outkey.foundation.core.errors import SecretUnreadable, StorageUnavailable
from outkey.foundation.core.secret import Secret
from outkey.sending.adapters.secrets.keyring import Keyring, new_keyring
from outkey.testing.fakes.storage import MemorySecretRows
from outkey.webhooks.adapters.secrets_of_webhooks import SecretsWithWebhooks
from outkey.webhooks.core.settings.stored import SECRET
from outkey.webhooks.engine.reception import Reception
from outkey.webhooks.engine.stored_webhooks import WebhookSettings
from unit.webhooks.engine.test_webhook_reception import OTHER_KEY, Hooks, signed


class Receiving(Hooks):
    """A process that has received a delivery, and the settings of another process."""

    def __init__(self) -> None:
        super().__init__()
        self.known_endpoint = self.endpoint
        self.reception: Reception = self.application.webhooks.reception()
        ports = self.application.webhooks.ports()
        vault = ports.settings._vault
        self.elsewhere = WebhookSettings(ports.settings._states, ports.database, vault)
        assert self.status("e1") == 200

    def status(self, event: str, **changes: str) -> int:
        delivery = signed(event=event, **changes)
        return self.reception.receive(self.known_endpoint, delivery).status

    def stored(self) -> list[str]:
        return [row.event_id for row in self.host.deliveries.rows.values()]


CHANGES: dict[str, tuple[Callable[[WebhookSettings], object], int]] = {
    "deleted": (lambda settings: settings.remove("shop"), 410),
    "paused": (lambda settings: settings.set_paused("shop", is_paused=True), 503),
    "secret": (
        lambda settings: settings.set_secret("shop", SECRET, Secret(OTHER_KEY), ""),
        401,
    ),
    "scheme": (
        lambda settings: settings.change(
            "shop",
            lambda stored: stored.with_settings(
                replace(stored.webhook, scheme="github")
            ),
        ),
        401,
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_another_process_changes_holds_for_the_next_delivery(change: str) -> None:
    receiving = Receiving()
    make, status = CHANGES[change]
    make(receiving.elsewhere)
    assert receiving.status("e2") == status
    assert receiving.status("e3") == status
    assert receiving.stored() == ["e1"]


def test_a_secret_that_another_process_has_set_is_accepted_at_once() -> None:
    receiving = Receiving()
    receiving.elsewhere.set_secret("shop", SECRET, Secret(OTHER_KEY), "")
    assert receiving.status("e2", key=OTHER_KEY) == 200
    assert receiving.refused() == {}, "and nothing was refused by what was read before"


def test_a_webhook_that_another_process_has_resumed_accepts_at_once() -> None:
    receiving = Receiving()
    receiving.elsewhere.set_paused("shop", is_paused=True)
    assert receiving.status("e2") == 503
    receiving.elsewhere.set_paused("shop", is_paused=False)
    assert receiving.status("e2") == 200


def test_a_webhook_that_was_changed_without_outkey_accepts_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    receiving = Receiving()

    def refuse(*_: object) -> None:
        raise SecretUnreadable

    monkeypatch.setattr(receiving.application.states, "read", refuse)
    assert receiving.status("e2") == 503
    assert receiving.stored() == ["e1"]


def test_a_webhook_that_cannot_be_read_for_a_moment_is_read_once_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    receiving = Receiving()
    states = receiving.application.states
    read = states.read
    errors = [StorageUnavailable()]

    def fail_first(*arguments: object) -> object:
        if errors:
            raise errors.pop()
        return read(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(states, "read", fail_first)
    assert receiving.status("e2") == 200
    errors += [StorageUnavailable()] * 2
    assert receiving.status("e3") == 503
    assert receiving.status("e3") == 200


def test_a_webhook_whose_secrets_got_another_key_accepts_on() -> None:
    receiving = Receiving()
    application = receiving.application
    keys = application.keys
    old: Keyring = keys.kept  # type: ignore[attr-defined]
    ring, added = old.add()
    keys.kept = ring.promote(added.name)  # type: ignore[attr-defined]
    secrets = application.secrets
    rows = SecretsWithWebhooks(MemorySecretRows(), application.states)
    secrets._storage = replace(secrets._storage, secrets=rows)  # type: ignore[attr-defined]
    assert sum(secrets.rewrap()) == 2
    keys.kept = replace(new_keyring(), keys=(keys.ring().primary,))  # type: ignore[attr-defined]
    assert receiving.status("e2") == 200


def test_a_name_that_another_webhook_has_got_is_no_endpoint_of_the_first() -> None:
    receiving = Receiving()
    receiving.elsewhere.remove("shop")
    receiving.apply('[webhook.shop]\nscheme = "shopify"\nline = "orders"\n')
    receiving.changes.set_secret("shop", Secret("another-secret"))
    assert receiving.status("e2") == 410
    new = receiving.endpoint
    delivery = signed(event="e3", key="another-secret")
    assert receiving.reception.receive(new, delivery).status == 200
    assert receiving.status("e4") == 410
