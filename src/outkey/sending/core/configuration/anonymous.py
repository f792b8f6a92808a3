"""A configuration for requests that must not have anything of the credentials."""

from dataclasses import replace

from outkey.foundation.core.fields.choices import (
    AuthenticationType,
    NoAuthReason,
    RateHeaders,
)
from outkey.foundation.core.origin import Location, Origin
from outkey.sending.core.configuration.configuration import Configuration


def without_credentials(configuration: Configuration) -> Configuration:
    """Return the configuration without anything that proves who sends."""
    return replace(
        configuration,
        record="",  # changed like this, it is not what is stored
        authentication_type=AuthenticationType.NONE,
        no_auth_reason=NoAuthReason.PUBLIC_API,
        headers=tuple(row for row in configuration.headers if not row.secret),
        query=tuple(row for row in configuration.query if not row.secret),
        script_enabled=False,
    )


def without_credentials_at(
    configuration: Configuration, origin: Origin
) -> Configuration:
    """Return the configuration for another origin: its network and its limits only.

    Also rows that are not secret were entered for the API. The limits of the API are
    not those of the other origin.
    """
    return replace(
        without_credentials(configuration),
        base_url=str(origin),
        base=Location(origin, ""),
        headers=(),
        query=(),
        csrf=replace(configuration.csrf, path=""),
        tls=replace(configuration.tls, client_certificate=""),
        limits=replace(
            configuration.limits, requests_per_minute=None, rate_headers=RateHeaders.OFF
        ),
        verification=replace(configuration.verification, expired_marker=""),
    )
