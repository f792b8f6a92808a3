"""The API Sync Configuration and its sync lines, as frozen values. Built from the field table.

Attributes carry the names of `fields.py`, which also holds their defaults, so that nothing is
said twice; a test compares the two.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import date
from enum import StrEnum
from functools import cached_property

from outkey.core.errors import ConfigError
from outkey.core.fields import BY_PATH, FIELDS, Kind
from outkey.core.headers import check_name, check_value, looks_like_credential, tidy_value
from outkey.core.origin import Location, parse_base_url
from outkey.core.reference import Reference, is_reference


class AuthenticationType(StrEnum):
    """How a request proves who sends it."""

    NONE = "none"
    BASIC = "basic"
    BEARER = "bearer"


class Environment(StrEnum):
    """What the external system is used for."""

    DEVELOPMENT = "development"
    TEST = "test"
    PRODUCTION = "production"


class Network(StrEnum):
    """Where the external system may live."""

    PUBLIC = "public"
    INTERNAL = "internal"


class NoAuthReason(StrEnum):
    """Why a configuration sends no credentials."""

    INTERNAL = "internal"
    DEVELOPMENT = "development"
    PUBLIC_API = "public_api"


@dataclass(frozen=True, slots=True)
class HeaderRow:
    """One row of the Headers tab. The value of a secret row is kept with the secrets."""

    key: str
    value: str
    secret: bool

    @property
    def secret_field(self) -> str:
        """The name of the secret that this row's value is."""
        return f"header:{self.key}"


@dataclass(frozen=True, slots=True)
class Tls:
    """The TLS tab."""

    minimum_version: str
    ca_file: str
    client_certificate: str


@dataclass(frozen=True, slots=True)
class Limits:
    """The Limits tab."""

    connect_timeout: float
    read_timeout: float
    total_timeout: float
    requests_per_minute: int | None
    response_mebibytes: int
    retries: int


@dataclass(frozen=True, slots=True)
class Verification:
    """The Verification tab."""

    test_path: str
    test_method: str
    accepted_statuses: str
    forbidden_means_expired: bool
    expired_marker: str


@dataclass(frozen=True)
class Configuration:
    """One external API: where it is, and how requests to it authenticate."""

    name: str
    base_url: str
    environment: Environment
    network: Network
    active: bool
    notes: str
    authentication_type: AuthenticationType
    no_auth_reason: NoAuthReason | None
    username: str
    token_source: str
    token_expires_on: date | None
    tls: Tls
    limits: Limits
    verification: Verification
    headers: tuple[HeaderRow, ...] = ()
    secrets: Mapping[str, Reference] = field(default_factory=dict, repr=False)

    @cached_property
    def base(self) -> Location:
        """The Base URL, parsed."""
        return parse_base_url(self.base_url)


@dataclass(frozen=True, slots=True)
class SyncLine:
    """One named call of a configuration."""

    name: str
    configuration: str
    method: str
    path: str


_SECTIONS = {"tls": Tls, "limits": Limits, "verification": Verification}
_CHOICES: dict[str, type[StrEnum]] = {
    "environment": Environment,
    "network": Network,
    "authentication_type": AuthenticationType,
    "no_auth_reason": NoAuthReason,
}


def build(
    name: str,
    values: Mapping[str, object],
    *,
    headers: tuple[HeaderRow, ...] = (),
    secrets: Mapping[str, Reference] | None = None,
) -> Configuration:
    """Make a configuration from values by field path; what is left out gets its default."""
    top: dict[str, object] = {"name": name}
    sections: dict[str, dict[str, object]] = {section: {} for section in _SECTIONS}
    for known in FIELDS:
        if known.kind in {Kind.SECRET, Kind.ROWS} or known.path == "name":
            continue
        value = known.parse(values[known.path]) if known.path in values else known.default
        section, dot, key = known.path.partition(".")
        if dot:
            sections[section][key] = value
        else:
            top[section] = _CHOICES[section](str(value)) if section in _CHOICES and value else value
    for path in values:
        if path not in BY_PATH:
            raise ConfigError("there is no such field", field=path)
    top |= {section: _SECTIONS[section](**content) for section, content in sections.items()}
    configuration = Configuration(**top, headers=headers, secrets=dict(secrets or {}))  # type: ignore[arg-type]  # the table's kinds are the attributes' types, which a test compares
    _ = configuration.base  # a Base URL that cannot be read is refused here
    return configuration


def header_row(key: str, value: str | None, *, secret: bool | None, place: str) -> HeaderRow:
    """Make a row; Secret is ticked by default where the name looks like a credential."""
    key = check_name(key.strip(), field=f"{place}.key")
    if secret is None:
        secret = looks_like_credential(key) or (value is not None and is_reference(value))
    if secret or value is None:
        return HeaderRow(key, "", secret=True)
    return HeaderRow(key, check_value(tidy_value(value), field=f"{place}.value"), secret=False)


def attribute_paths() -> set[str]:
    """Return the field path of every attribute, for the test that compares with the table."""
    top = {f.name for f in fields(Configuration)} - set(_SECTIONS) - {"secrets"}
    nested = {f"{s}.{f.name}" for s, section in _SECTIONS.items() for f in fields(section)}
    return top | nested
