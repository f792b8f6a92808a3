"""Webhooks follow the configurations and lines that they name."""

import pytest

from outkey.foundation.core.errors import ConfigError, UnknownConfiguration
from outkey.webhooks.core.settings.settings import Webhook
from outkey.webhooks.core.settings.stored import StoredWebhook
from outkey.webhooks.engine.stored_webhooks import WebhookSettings
from unit.webhooks.engine.test_webhook_confirmation import MOLLIE
from unit.webhooks.engine.test_webhook_processing import Working
from unit.webhooks.engine.test_webhook_reception import Hooks

OTHERS = """
[webhook.starter]
scheme = "github"
run = "orders"
[webhook.called]
scheme = "github"
configuration = "acme"
handler = "shop.hooks.order"
[webhook.apart]
scheme = "github"
handler = "shop.hooks.order"
"""


def webhooks(hooks: Hooks) -> dict[str, Webhook]:
    return {name: stored.webhook for name, stored in hooks.settings.all().items()}


def test_a_renamed_configuration_and_line_keep_their_webhooks() -> None:
    hooks = Hooks(MOLLIE + OTHERS)
    before = hooks.settings.all()
    administration = hooks.application.administration("tester")
    administration.rename("acme", "crm", 7.0)
    hooks.application.lines.rename(administration, "orders", "sales")
    after = webhooks(hooks)
    assert [webhook.configuration for webhook in after.values()] == [
        "",
        "crm",
        "crm",
        "",
    ]
    assert (after["shop"].line, after["starter"].run) == ("sales", "sales")
    secrets = hooks.settings.all()["shop"].secrets
    assert secrets == before["shop"].secrets
    assert hooks.settings.all()["apart"] == before["apart"]


def test_what_a_webhook_names_is_not_deleted() -> None:
    hooks = Hooks(MOLLIE + OTHERS)
    administration = hooks.application.administration("tester")
    with pytest.raises(ConfigError, match="called, shop, starter"):
        administration.remove("acme", hooks.application.sync_settings)
    with pytest.raises(ConfigError, match="webhooks need it: shop, starter"):
        hooks.application.lines.remove(administration, "orders")
    assert hooks.tags() == []
    for name in ("shop", "starter", "called"):
        hooks.changes.remove(name)
    hooks.application.lines.remove(administration, "orders")
    administration.remove("acme", hooks.application.sync_settings)
    with pytest.raises(UnknownConfiguration):
        hooks.application.registry.get("acme")


def test_a_line_that_is_renamed_meanwhile_fails_no_delivery(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    working = Working()
    working.send({"id": "a"})
    stale = [working.settings.get("shop")]
    administration = working.application.administration("tester")
    working.application.lines.rename(administration, "orders", "sales")
    by_endpoint = WebhookSettings.by_endpoint

    def read(settings: WebhookSettings, endpoint: str) -> StoredWebhook | None:
        return stale.pop() if stale else by_endpoint(settings, endpoint)

    monkeypatch.setattr(WebhookSettings, "by_endpoint", read)
    working.work.round()
    assert working.states() == [("received", "line_renamed", None)]
    working.host.world.clock.sleep(3)
    working.work.round()
    assert working.states() == [("processed", "", 1)]


def test_a_line_that_is_unknown_fails_the_deliveries() -> None:
    working = Working()
    working.send({"id": "a"})
    working.application.registry.remove_line("orders")
    working.work.round()
    assert working.states() == [("failed", "unknown_configuration", None)]
