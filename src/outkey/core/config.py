"""The API Sync Configuration and its sync lines, as frozen values. Built from the field table.

Attributes carry the names of `fields.py`, which also holds their defaults, so that nothing is
said twice; a test compares the two.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum

from outkey.core.errors import ConfigError, SecretRebindRequired
from outkey.core.field_kinds import Kind
from outkey.core.fields import BY_PATH, FIELDS
from outkey.core.headers import check_name, check_value, looks_like_credential, tidy_value
from outkey.core.message import TlsSettings
from outkey.core.origin import Location, Origin, parse_base_url, parse_endpoint
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


class Grant(StrEnum):
    """How tokens are got."""

    CLIENT_CREDENTIALS = "client_credentials"
    REFRESH_TOKEN = "refresh_token"  # noqa: S105 - the name of a grant
    AUTHORIZATION_CODE = "authorization_code"
    DEVICE_CODE = "device_code"


class ClientAuth(StrEnum):
    """How the application proves itself at the Token URL."""

    BODY = "body"
    BASIC = "basic"
    BASIC_RAW = "basic_raw"
    CLIENT_SECRET_JWT = "client_secret_jwt"  # noqa: S105 - the name of a method
    PRIVATE_KEY_JWT = "private_key_jwt"
    MTLS = "mtls"


@dataclass(frozen=True, slots=True)
class OAuth2Settings:
    """The OAuth 2.0 tab."""

    grant: Grant
    token_url: str
    client_id: str
    client_auth: ClientAuth
    scope: str
    audience: str
    resource: str
    extra: Mapping[str, str]
    authorization_url: str
    device_url: str
    revocation_url: str
    introspection_url: str
    issuer: str
    body_format: str
    token_header: str
    dpop: bool
    leeway_seconds: float
    default_lifetime_seconds: float


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
    oauth2: OAuth2Settings
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
        entered = self.sends_token and not self.uses_oauth2
        return self.token_expires_on if entered else None

    @property
    def sends_token(self) -> bool:
        """Whether requests carry a token, entered or got."""
        return self.authentication_type is AuthenticationType.BEARER

    @property
    def uses_oauth2(self) -> bool:
        """Whether tokens are got from a Token URL."""
        return self.sends_token and self.token_source == "oauth2"  # noqa: S105 - a choice

    def needed_secrets(self) -> list[str]:
        """Return the names of the secrets that sending with this configuration opens."""
        known = {
            "authentication_type": self.authentication_type,
            "token_source": self.token_source,
            "oauth2.grant": self.oauth2.grant,
        }
        needed = [f.secret_name for f in FIELDS if f.secret and f.is_required(known)]
        if self.uses_oauth2 and self._proves_itself_by_secret():
            needed.append("client_secret")
        if self.tls.client_certificate:
            needed.append("client_key")
        return needed + [row.secret_field for row in self.headers if row.secret]

    def _proves_itself_by_secret(self) -> bool:
        """Tell whether there is a client secret; an application on its own may have none."""
        if self.oauth2.client_auth is ClientAuth.MTLS:
            return False
        public = self.oauth2.client_auth is ClientAuth.BODY and self.oauth2.grant is not (
            Grant.CLIENT_CREDENTIALS
        )
        return not public or "client_secret" in self.secrets

    def binding_of(self, secret: str) -> str:
        """Return where a secret may go, in the form that it is bound to.

        What is sent to the Token URL is bound to both origins: whoever could change the Base URL
        alone would be sent the tokens that it is exchanged for.
        """
        base = self.base.origin.bound
        if secret not in _SENT_TO_TOKEN_URL or not self.oauth2.token_url:
            return base
        return f"{parse_endpoint(self.oauth2.token_url, secret).origin.bound} {base}"

    def origins(self) -> set[Origin]:
        """Return every origin that requests of this configuration go to."""
        urls = (self.oauth2.token_url, self.oauth2.authorization_url)
        return {self.base.origin} | {parse_endpoint(url, "").origin for url in urls if url}

    def refuse_unbound(self, secret: str) -> None:
        """Raise where a secret was entered for another origin than requests go to now."""
        state = self.secrets.get(secret)
        if state is not None and state.origin != self.binding_of(secret):
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


_SECTIONS = {
    "oauth2": OAuth2Settings,
    "tls": TlsSettings,
    "limits": Limits,
    "verification": Verification,
}
_AT_TOKEN_ORIGIN = ("oauth2.device_url", "oauth2.revocation_url", "oauth2.introspection_url")
_SENT_TO_TOKEN_URL = frozenset(f.secret_name for f in FIELDS if f.sent_to_token_url)
_CHOICES: dict[str, type[StrEnum]] = {
    "environment": Environment,
    "network": Network,
    "authentication_type": AuthenticationType,
    "no_auth_reason": NoAuthReason,
    "oauth2.grant": Grant,
    "oauth2.client_auth": ClientAuth,
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
            value = dict(known.default) if isinstance(known.default, dict) else known.default
        if known.path in _CHOICES and value:
            value = _CHOICES[known.path](str(value))
        section, dot, key = known.path.partition(".")
        (sections[section] if dot else top)[key or section] = value
    for path in values:
        if path not in BY_PATH:
            raise ConfigError("there is no such field", field=path)
    _refuse_incomplete(top, sections["oauth2"])
    top |= {section: _SECTIONS[section](**content) for section, content in sections.items()}
    for row in headers:
        check_name(row.key, field="headers")
        check_value(row.value, field=row.secret_field)
    base = parse_base_url(str(top["base_url"]))
    states = dict(secrets or {})
    top |= {"headers": headers, "secrets": states}
    made = Configuration(**top, base=base)  # type: ignore[arg-type]  # the table's kinds are the attributes' types, which a test compares
    for secret, reference in (references or {}).items():
        before, binding = states.get(secret), made.binding_of(secret)
        named = before is not None and before.reference == reference
        if before is None or not named or before.origin != binding:
            states[secret] = successor(before, binding, reference)
    return made


def _refuse_incomplete(top: Mapping[str, object], oauth2: Mapping[str, object]) -> None:
    """Refuse a way of getting tokens that lacks an address, or would give a secret to two hosts."""
    known = dict(top) | {f"oauth2.{key}": value for key, value in oauth2.items()}
    for entry in FIELDS:
        if not entry.secret and entry.is_required(known) and not known[entry.path]:
            raise entry.refuse("must not be empty")
    check_name(str(oauth2["token_header"]), field="oauth2.token_header")
    for path in _AT_TOKEN_ORIGIN:
        if known[path] and known["oauth2.token_url"]:
            token = parse_endpoint(str(known["oauth2.token_url"]), "oauth2.token_url").origin
            if parse_endpoint(str(known[path]), path).origin != token:
                reason = "must be at the Token URL's origin, since the Client Secret goes there"
                raise BY_PATH[path].refuse(reason)


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
