"""What a form offers for the next credentials, and what is refused there."""

import pytest

from outkey.administration.engine.editing.rotating import CredentialRotation
from outkey.foundation.core.errors import ConfigError
from outkey.sending.core.configuration.configuration import Configuration
from outkey.testing import configuration
from unit.application_in_memory import memory_host

OAUTH = {
    "authentication_type": "bearer",
    "token_source": "oauth2",
    "oauth2__token_url": "https://api.acme.example/token",
    "oauth2__client_id": "client",
}


def rotation_of(made: Configuration) -> CredentialRotation:
    application = memory_host(made).application
    return application.credential_rotation(application.administration("ada"))


@pytest.mark.parametrize(
    ("settings", "fields"),
    [
        ({"no_auth_reason": "public_api"}, []),
        ({"authentication_type": "bearer"}, ["token", "token_expires_on"]),
        (
            {"authentication_type": "basic", "username": "svc"},
            ["password", "username"],
        ),
        (
            {**OAUTH, "oauth2__grant": "client_credentials"},
            ["client_secret", "client_id"],
        ),
        # A public client without a secret; its refresh token belongs to it.
        ({**OAUTH, "oauth2__grant": "refresh_token"}, []),
        (
            {
                "authentication_type": "basic",
                "username": "svc",
                "proxy__url": "http://proxy.example:8080",
                "proxy__username": "outkey",
                "tls__client_certificate": "/etc/outkey/client.pem",
            },
            ["password", "client_key", "username", "client_certificate"],
        ),
    ],
)
def test_a_form_offers_what_is_used_and_belongs_to_a_set(
    settings: dict[str, str], fields: list[str]
) -> None:
    made = configuration(**settings)
    assert sorted(rotation_of(made).fields(made)) == sorted(fields)


def test_an_empty_form_stages_nothing() -> None:
    made = configuration(authentication_type="bearer")
    with pytest.raises(ConfigError, match="nothing was entered"):
        rotation_of(made).stage(made, {})


def test_a_form_with_a_part_that_is_refused_stages_nothing() -> None:
    rotation = rotation_of(configuration(authentication_type="basic", username="svc"))
    seen = rotation.rotations.current("acme")
    with pytest.raises(ConfigError, match="in use already"):
        rotation.stage(seen, {"password": "next", "username": "svc"})
    assert rotation.rotations.current("acme").sets.next is None
