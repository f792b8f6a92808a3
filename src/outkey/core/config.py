"""The API Sync Configuration and its sync lines, as frozen values. Built from the field table.

Attributes carry the names of `fields.py`, which also holds their defaults, so that nothing is
said twice; a test compares the two.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum

from outkey.core.errors import ConfigError, SecretRebindRequired
from outkey.core.fields import BY_PATH, FIELDS, Kind
from outkey.core.headers import check_name, check_value, looks_like_credential, tidy_value
from outkey.core.message import TlsSettings
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
class SecretState:
    """What is known of a secret without opening it.

    A secret belongs to the origin it was entered for. Without a reference its value is stored,
    sealed, under its version.
    """

    origin: str
    reference: Reference | None = None
    version: int = 1
    set_at: float | None = None  # Unix time
    set_by: str = ""


def successor(
    before: SecretState | None,
    origin: str,
    reference: Reference | None = None,
    *,
    set_at: float | None = None,
    set_by: str = "",
) -> SecretState:
    """Return the state of a secret's next version."""
    return SecretState(origin, reference, before.version + 1 if before else 1, set_at, set_by)


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


@dataclass(frozen=True, slots=True)
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
    tls: TlsSettings
    limits: Limits
    verification: Verification
    headers: tuple[HeaderRow, ...]
    secrets: Mapping[str, SecretState]
    base: Location  # the Base URL, parsed
    record: str = ""  # the id it is stored under, which is never reused
    version: int = 0  # grows with every change, so that a second editor is noticed
    revision: int = field(default=0, compare=False)  # grows with every change of a secret as well

    @property
    def expires_on(self) -> date | None:
        """The last day that the token is valid, where there is one and it is known."""
        bearer = self.authentication_type is AuthenticationType.BEARER
        return self.token_expires_on if bearer else None

    def needed_secrets(self) -> list[str]:
        """Return the names of the secrets that sending with this configuration opens."""
        known = {"authentication_type": self.authentication_type}
        needed = [f.secret_name for f in FIELDS if f.secret and f.applies(f.required_when, known)]
        if self.tls.client_certificate:
            needed.append("client_key")
        return needed + [row.secret_field for row in self.headers if row.secret]

    def refuse_unbound(self, secret: str) -> None:
        """Raise where a secret was entered for another origin than requests go to now."""
        state = self.secrets.get(secret)
        if state is not None and state.origin != self.base.origin.bound:
            raise SecretRebindRequired(field=secret)

    def values(self) -> dict[str, object]:
        """Return the values by field path, as `build` takes them; what has none is left out."""
        found: dict[str, object] = {}
        for known in FIELDS:
            if known.kind in {Kind.SECRET, Kind.ROWS} or known.path == "name":
                continue
            value: object = self
            for part in known.path.split("."):
                value = getattr(value, part)
            if value is not None:
                found[known.path] = str(value) if isinstance(value, StrEnum) else value
        return found


@dataclass(frozen=True, slots=True)
class SyncLine:
    """One named call of a configuration."""

    name: str
    configuration: str
    method: str
    path: str


_SECTIONS = {"tls": TlsSettings, "limits": Limits, "verification": Verification}
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
    references: Mapping[str, Reference] | None = None,
    secrets: Mapping[str, SecretState] | None = None,
) -> Configuration:
    """Make a configuration from values by field path; what is left out gets its default.

    References are bound to the origin that the configuration has now; states stay as they are.
    """
    top: dict[str, object] = {"name": name}
    sections: dict[str, dict[str, object]] = {section: {} for section in _SECTIONS}
    for known in FIELDS:
        if known.kind in {Kind.SECRET, Kind.ROWS} or known.path == "name":
            continue
        if known.path in values or known.required:
            value = known.parse(values.get(known.path, ""))
        else:
            value = known.default
        section, dot, key = known.path.partition(".")
        if dot:
            sections[section][key] = value
        else:
            top[section] = _CHOICES[section](str(value)) if section in _CHOICES and value else value
    for path in values:
        if path not in BY_PATH:
            raise ConfigError("there is no such field", field=path)
    top |= {section: _SECTIONS[section](**content) for section, content in sections.items()}
    for row in headers:
        check_name(row.key, field="headers")
        check_value(row.value, field=row.secret_field)
    base = parse_base_url(str(top["base_url"]))
    states = dict(secrets or {})
    for secret, reference in (references or {}).items():
        before = states.get(secret)
        named = before is not None and before.reference == reference
        if before is None or not named or before.origin != base.origin.bound:
            states[secret] = successor(before, base.origin.bound, reference)
    top |= {"headers": headers, "secrets": states}
    return Configuration(**top, base=base)  # type: ignore[arg-type]  # the table's kinds are the attributes' types, which a test compares


def header_row(key: str, value: str | None, *, secret: bool | None, place: str) -> HeaderRow:
    """Make a row; Secret is ticked by default where the name looks like a credential."""
    key = check_name(key.strip(), field=f"{place}.key")
    if secret is None:
        secret = looks_like_credential(key) or value is None or is_reference(value)
    if secret:
        return HeaderRow(key, "", secret=True)
    if value is None:
        raise ConfigError("a row that is not secret needs a value", field=f"{place}.value")
    return HeaderRow(key, check_value(tidy_value(value), field=f"{place}.value"), secret=False)
