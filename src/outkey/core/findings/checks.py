"""Findings: what is wrong or risky about a configuration, as data that every interface can show.

`check` looks at a configuration and at its secrets where they can be had; `refuse_unsendable`
is the part of it that stops a request, and `refuse_unsavable` the part that stops saving.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime
from enum import StrEnum
from functools import partial

from outkey.core.config.choices import (
    AuthenticationType,
    ClientAuth,
    Environment,
    Network,
    NoAuthReason,
)
from outkey.core.config.configuration import Configuration
from outkey.core.config.fields import SENT_TO_TOKEN_URL
from outkey.core.errors import (
    AuthenticationRequired,
    EgressDenied,
    InactiveConfiguration,
    OutkeyError,
)
from outkey.core.oauth2.jwt import expiry_of
from outkey.core.oauth2.token import AccessToken
from outkey.core.request.addresses import (
    AddressKind,
    is_address,
    is_allowed,
    is_internal,
    judge,
)
from outkey.core.request.assembly import SecretOpener, authenticated_request
from outkey.core.request.headers import tidy_token, tidy_value
from outkey.core.request.message import Request
from outkey.core.request.origin import parse_endpoint
from outkey.core.secret import Secret

_LONG = 4 * 1024
_ANY_SECRET = Secret("any-value")  # stands where only the form of a request matters
WARN_DAYS = 30


class Level(StrEnum):
    """How much a finding matters: an error stops requests, a notice only tells."""

    ERROR = "error"
    WARNING = "warning"
    NOTICE = "notice"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing to know about a configuration."""

    id: str
    level: Level
    message: str
    hint: str = ""
    field: str | None = None


def refuse_unsendable(configuration: Configuration) -> None:
    """Raise where the configuration itself forbids sending, whatever the request is."""
    if not configuration.active:
        raise InactiveConfiguration(field="active")
    _refuse_no_credentials(configuration)
    _refuse_plain_http(configuration)


def refuse_unsavable(configuration: Configuration) -> None:
    """Raise where no request can ever be sent as configured, whatever its secrets are.

    What depends on a secret, on a script or on a host name's addresses is left to sending.
    """
    _refuse_no_credentials(configuration)
    _refuse_plain_http(configuration)
    _refuse_addresses(configuration)
    _refuse_conflicts(configuration, lambda _name: _ANY_SECRET)


def _refuse_no_credentials(configuration: Configuration) -> None:
    if (
        not configuration.sends_credentials
        and configuration.environment is Environment.PRODUCTION
        and configuration.network is Network.PUBLIC
        and configuration.no_auth_reason is not NoAuthReason.PUBLIC_API
    ):
        raise AuthenticationRequired(field="authentication_type")


def _refuse_plain_http(configuration: Configuration) -> None:
    if configuration.network is not Network.PUBLIC:
        return
    origins = (
        configuration.origins()
        if configuration.uses_oauth2
        else {configuration.base.origin}
    )
    if any(origin.scheme != "https" for origin in origins):
        base = configuration.base.origin.scheme != "https"
        raise EgressDenied(
            "plain http is not allowed on the public internet",
            hint=(
                "Use https, or set Network to Internal trusted network (internal) if it"
                " is one."
            ),
            field="base_url" if base else "oauth2.token_url",
        )


def _refuse_addresses(configuration: Configuration) -> None:
    """Refuse an IP address in place of a host name that requests may not go to."""
    places = {"base_url": configuration.base.origin}
    if configuration.uses_oauth2:
        token_url = configuration.oauth2.token_url
        places["oauth2.token_url"] = parse_endpoint(
            token_url, "oauth2.token_url"
        ).origin
    for field, origin in places.items():
        verdict = judge(origin.host) if is_address(origin.host) else AddressKind.GLOBAL
        if is_allowed(verdict, configuration.network):
            continue
        if is_internal(verdict):
            raise EgressDenied(
                "the host is an address of an internal network",
                hint="Set Network to Internal trusted network (internal) if it is one.",
                field=field,
            )
        raise EgressDenied(
            "the host is an address that requests are never sent to",
            hint="Enter the API's host name or its own address.",
            field=field,
        )


def _refuse_conflicts(configuration: Configuration, secret: SecretOpener) -> None:
    request = Request("GET", configuration.base.origin, "/")
    kind = "DPoP" if configuration.oauth2.dpop else "Bearer"
    authenticated_request(
        request, configuration, secret, AccessToken(_ANY_SECRET, kind)
    )


def check(
    configuration: Configuration, secret: SecretOpener, *, now: float
) -> list[Finding]:
    """Return everything worth knowing about a configuration, errors first."""
    findings = [
        *_refusals(configuration, secret),
        *_warnings(configuration),
        *_about_expiry(configuration, secret, now),
        *_about_secrets(configuration, secret),
    ]
    return sorted(findings, key=lambda finding: list(Level).index(finding.level))


def _refusals(configuration: Configuration, secret: SecretOpener) -> Iterator[Finding]:
    """Yield every error that sending would meet; in the place of missing secrets stand others."""
    missing = list(_missing(configuration, secret))
    yield from missing
    opener = (lambda _name: _ANY_SECRET) if missing else secret
    refusals = (
        partial(refuse_unsendable, configuration),
        partial(_refuse_addresses, configuration),
        partial(_refuse_conflicts, configuration, opener),
    )
    for refuse in refusals:
        try:
            refuse()
        except OutkeyError as error:
            yield _error_finding(error)


def _missing(configuration: Configuration, secret: SecretOpener) -> Iterator[Finding]:
    for name in configuration.needed_secrets():
        try:
            secret(name)
        except OutkeyError as error:
            yield _error_finding(error)


def _error_finding(error: OutkeyError) -> Finding:
    return Finding(
        f"E-{error.code}", Level.ERROR, error.message, error.hint, error.field
    )


def _warnings(configuration: Configuration) -> Iterator[Finding]:
    if configuration.base.origin.scheme == "http" and _sends_credentials(configuration):
        yield Finding(
            "W001",
            Level.WARNING,
            "credentials travel unencrypted",
            "Use https, also inside your own network.",
            "base_url",
        )
    if (
        configuration.authentication_type is AuthenticationType.BASIC
        and not configuration.username
    ):
        yield Finding(
            "W002",
            Level.WARNING,
            "Username is empty",
            "Check that the API wants it so.",
            "username",
        )
    for row in configuration.headers:
        if "_" in row.key:
            yield Finding(
                "W003",
                Level.WARNING,
                f"the header {row.key} has an underscore, and nginx and gunicorn drop"
                " such headers",
                "Use a hyphen if the API accepts it.",
                row.secret_field,
            )


def _sends_credentials(configuration: Configuration) -> bool:
    typed = configuration.authentication_type is not AuthenticationType.NONE
    return typed or any(row.secret for row in configuration.headers)


def _about_expiry(
    made: Configuration, secret: SecretOpener, now: float
) -> Iterator[Finding]:
    last_day = made.expires_on or _last_day_inside(made, secret)
    if last_day is None:
        return
    days_left = (last_day - datetime.fromtimestamp(now, UTC).date()).days
    if days_left > WARN_DAYS:
        return
    message = f"the token expired on {last_day}"
    if days_left >= 0:
        message = f"the token expires on {last_day}"
    hint = "Get a new one from the API's provider, and enter it with its expiry date."
    yield Finding("W005", Level.WARNING, message, hint, "token_expires_on")


def _last_day_inside(configuration: Configuration, secret: SecretOpener) -> date | None:
    """Return the last day that an entered token itself names; nobody else vouches for it."""
    if not configuration.sends_token or configuration.uses_oauth2:
        return None
    try:
        moment = expiry_of(secret("token"))
    except OutkeyError:
        return None  # said as an error already
    return None if moment is None else datetime.fromtimestamp(moment, UTC).date()


def _about_secrets(
    configuration: Configuration, secret: SecretOpener
) -> Iterator[Finding]:
    if configuration.sends_token and not configuration.uses_oauth2:
        yield from _about(
            secret, "token", tidy_token, "surrounding blanks or a Bearer prefix were"
        )
    for name in configuration.needed_secrets():
        # A private key is text of several lines, with one more break at its end.
        if (
            name in SENT_TO_TOKEN_URL
            and configuration.oauth2.client_auth is not ClientAuth.PRIVATE_KEY_JWT
        ):
            yield from _about(secret, name, tidy_value, "surrounding blanks were")
    for row in configuration.headers:
        if row.secret:
            yield from _about(
                secret, row.secret_field, tidy_value, "surrounding blanks were"
            )


def _about(
    secret: SecretOpener, field: str, tidy: Callable[[str], str], what: str
) -> Iterator[Finding]:
    try:
        value = secret(field)
    except OutkeyError:
        return  # said as an error already
    if value.derive(tidy) != value:
        yield Finding("N001", Level.NOTICE, f"{what} removed from the value", "", field)
    if value.longer_than(_LONG):
        message = (
            f"the value is longer than {_LONG} characters, and many servers refuse that"
        )
        hint = "Check that it is the value the API gave you, and nothing more."
        yield Finding("W004", Level.WARNING, message, hint, field)
