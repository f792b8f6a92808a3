"""Which references use the backends of an installation."""

from dataclasses import replace

from outkey.administration.engine.operating.secret_backends import (
    SecretBackends,
    external_uses,
)
from outkey.sending.core.configuration.reference import parse_reference
from outkey.sending.core.configuration.secret_state import SecretState
from outkey.sync.core.databases.section import OtherDatabase
from outkey.testing import configuration
from outkey.webhooks.core.settings.settings import Webhook
from unit.sending.engine.backends.test_stores import World


def backends_of(database_url: str) -> SecretBackends:
    world = World()
    reference = parse_reference("vault:main/acme#token", field="token")
    state = SecretState("https://api.acme.example:443", reference)
    acme = replace(configuration(), secrets={"token": state})
    shop = Webhook("shop", "github", secret="vault:hooks#shop", verify_token="env:V")
    database = OtherDatabase("erp", url=database_url)
    uses = external_uses([acme], [shop], [database])
    return SecretBackends(world.stores, world.clock, list(uses))


def test_configurations_webhooks_and_databases_use_a_backend() -> None:
    [backend] = backends_of("vault:erp#url").facts()
    assert (backend["name"], backend["references"]) == ("main", 3)


def test_what_names_a_backend_that_is_not_there_is_named() -> None:
    backends = backends_of("op:v/i#url")
    assert backends.without_backend() == ("database erp",)
