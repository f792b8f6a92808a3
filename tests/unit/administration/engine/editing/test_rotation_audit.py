"""The serials that the audit has from the first staging on."""

from dataclasses import replace

import pytest

from outkey.administration.engine.editing.changes import ConfigurationChange
from outkey.foundation.core.errors import SecretRebindRequired
from outkey.foundation.core.secret import Secret
from outkey.sending.core.audit.events import Change, Intent
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.request.message import Response
from outkey.testing import configuration
from unit.application_in_memory import MemoryHost, memory_host

TOKEN = Response(200, body=b'{"access_token": "t", "token_type": "Bearer"}')
OAUTH = {
    "token_source": "oauth2",
    "oauth2__token_url": "https://api.acme.example/token",
    "oauth2__client_id": "erp",
}


def host_of(field: str, responses: list[Response], **settings: object) -> MemoryHost:
    host = memory_host(responses=responses)
    made = configuration(
        authentication_type="bearer", verification__test_path="/me", **settings
    )
    change = ConfigurationChange(None, made, secrets={field: Secret("old")})
    host.application.administration("ada").save(change)
    host.world.secrets.values[field] = "new"
    host.audit.events.clear()
    return host


def stored(host: MemoryHost) -> Configuration:
    return host.registry.get("acme")


def requests(host: MemoryHost) -> list[tuple[str, object]]:
    """Return the tag and serial of each request, as its record has them."""
    intents = [event for event in host.world.audit.events if isinstance(event, Intent)]
    return [(intent.tag, intent.facts().get("serial")) for intent in intents]


def steps(host: MemoryHost) -> list[dict[str, object]]:
    changes = [event for event in host.audit.events if isinstance(event, Change)]
    names = ("tag", "actor", "serial", "good", "refused")
    return [
        {name: change.facts()[name] for name in names if name in change.facts()}
        for change in changes
    ]


def test_requests_have_no_serial_before_there_was_a_second_set() -> None:
    host = host_of("token", [Response(200), Response(200)])
    host.world.gateway.send("acme", "GET", "/me")
    assert requests(host) == [("engine:send:intended", None)]
    application = host.application
    rotation = application.credential_rotation(application.administration("ada"))
    rotation.stage_secret(stored(host), "token", Secret("new"))
    rotation.discard("acme")
    host.world.gateway.send("acme", "GET", "/me")
    assert requests(host)[1:] == [("engine:send:intended", 1)], "from then on"


@pytest.mark.parametrize(
    ("field", "settings", "purposes"),
    [("token", {}, ["send"]), ("client_secret", OAUTH, ["token", "send"])],
)
def test_each_request_and_step_names_its_set(
    field: str, settings: dict[str, object], purposes: list[str]
) -> None:
    tokens = [TOKEN] * (len(purposes) - 1)
    responses = [*tokens, Response(200), Response(401), *tokens, Response(401)]
    host = host_of(field, responses, **settings)
    application = host.application
    rotation = application.credential_rotation(application.administration("ada"))
    rotation.stage_secret(stored(host), field, Secret("new"))
    assert rotation.test("acme").ok
    tags = [f"engine:{purpose}:intended" for purpose in purposes]
    without_credentials = ("engine:send:intended", 2)
    assert requests(host) == [*((tag, 2) for tag in tags), without_credentials]
    rotation.promote("acme")
    assert rotation.probe("acme").refused
    assert requests(host)[-len(tags) :] == [(tag, 1) for tag in tags]
    rotation.back("acme")
    assert steps(host) == [
        {"tag": "api:secret:staged", "actor": "ada", "serial": 2},
        {"tag": "api:rotation:tested", "actor": "ada", "serial": 2},
        {
            "tag": "api:rotation:promoted",
            "actor": "ada",
            "serial": 2,
            "good": 0,
            "refused": 0,
        },
        {"tag": "api:rotation:probed", "actor": "ada", "serial": 1},
        {"tag": "api:rotation:back", "actor": "ada", "serial": 1},
    ]


def test_a_way_back_that_is_refused_is_not_recorded() -> None:
    host = host_of("token", [Response(200), Response(401)])
    administration = host.application.administration("ada")
    rotation = host.application.credential_rotation(administration)
    rotation.stage_secret(stored(host), "token", Secret("new"))
    assert rotation.test("acme").ok
    rotation.promote("acme")
    moved = replace(stored(host), base_url="https://other.example")
    administration.save(ConfigurationChange(stored(host), moved))
    with pytest.raises(SecretRebindRequired):
        rotation.back("acme")
    assert "api:rotation:back" not in {step["tag"] for step in steps(host)}
