"""Which configurations an account can be connected to by a link."""

from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.fields.choices import Grant
from outkey.foundation.core.text import Text
from outkey.sending.core.configuration.configuration import Configuration


def refuse_unconnectable(configuration: Configuration) -> None:
    """Refuse a configuration whose accounts no page can connect."""
    is_device = (
        configuration.uses_oauth2 and configuration.oauth2.grant is Grant.DEVICE_CODE
    )
    if not (is_device or configuration.has_three_legs or configuration.needs_subject):
        return
    raise ConfigError(
        Text("accounts of this configuration cannot be connected by a link"),
        hint=Text(
            "A link is for entered credentials and for the Grant Authorization code."
        ),
        field="oauth2.grant",
    )


def is_connected_by_consent(configuration: Configuration) -> bool:
    """Whether a user agrees at the provider, instead of entering credentials here."""
    grant = configuration.oauth2.grant
    return configuration.uses_oauth2 and grant is Grant.AUTHORIZATION_CODE
