"""The API Sync Configuration and its sync lines, as frozen values. Built from the field table.

Attributes carry the names of `fields.py`, which also holds their defaults, so that nothing is
said twice; a test compares the two.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from operator import attrgetter

from outkey.core.config import choices
from outkey.core.config.field_kinds import Kind
from outkey.core.config.fields import BY_PATH, FIELDS, SENT_TO_TOKEN_URL
from outkey.core.config.reference import Reference, is_reference
from outkey.core.errors import ConfigError, SecretRebindRequired
from outkey.core.request.headers import (
    check_name,
    check_value,
    looks_like_credential,
    tidy_value,
)
from outkey.core.request.message import TlsSettings
from outkey.core.request.origin import Location, Origin, parse_base_url, parse_endpoint
from outkey.core.request.script import asks_for_secret
from outkey.core.sync.line import Sync
from outkey.core.vault.envelope import SealedRow


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
    return SecretState(
        origin, reference, before.version + 1 if before else 1, set_at, set_by
    )


@dataclass(frozen=True, slots=True)
class OAuth2Settings:
    """The OAuth 2.0 tab."""

    grant: choices.Grant
    token_url: str
    client_id: str
    client_auth: choices.ClientAuth
    scope: str
    audience: str
    resource: str
    extra: Mapping[str, str]
    authorization_url: str
    device_url: str
    revocation_url: str
    introspection_url: str
    issuer: str
    body_format: choices.BodyFormat
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
    runs_at_once: int


@dataclass(frozen=True, slots=True)
class Verification:
    """The Verification tab."""

    test_path: str
    test_method: str
    accepted_statuses: str
    forbidden_means_expired: bool
    expired_marker: str
    compare: bool
    follow_clock: bool


@dataclass(frozen=True, slots=True)
class Configuration:
    """One external API: where it is, and how requests to it authenticate."""

    name: str
    base_url: str
    environment: choices.Environment
    network: choices.Network
    active: bool
    notes: str
    authentication_type: choices.AuthenticationType
    no_auth_reason: choices.NoAuthReason | None
    username: str
    token_source: choices.TokenSource
    token_expires_on: date | None
    script_enabled: bool
    script: str = field(repr=False)
    oauth2: OAuth2Settings
    tls: TlsSettings
    limits: Limits
    verification: Verification
    headers: tuple[HeaderRow, ...]
    secrets: Mapping[str, SecretState]
    base: Location  # the Base URL, parsed
    record: str = ""  # the id it is stored under, which is never reused
    version: int = 0  # grows with every change, so that a second editor is noticed
    revision: int = field(
        default=0, compare=False
    )  # grows with every change of a secret as well
    refused: int = field(default=0, compare=False)  # answers 401 in a row
    paused_at: float | None = field(
        default=None, compare=False
    )  # since then nothing is sent
    voucher: SealedRow | None = field(
        default=None, compare=False, repr=False
    )  # sealed, as stored
    # Whether a run compared the script with its seal when it began; the run keeps that script.
    script_is_vouched: bool = field(default=False, compare=False)

    @property
    def paused(self) -> bool:
        """Whether sending has stopped because the credentials were refused too often."""
        return self.paused_at is not None

    @property
    def expires_on(self) -> date | None:
        """The last day that the token is valid, where there is one and it is known."""
        return self.token_expires_on if self.sends_entered_token else None

    @property
    def sends_token(self) -> bool:
        """Whether requests carry a token, entered or got."""
        return self.authentication_type is choices.AuthenticationType.BEARER

    @property
    def uses_oauth2(self) -> bool:
        """Whether tokens are got from a Token URL."""
        return self.sends_token and self.token_source is choices.TokenSource.OAUTH2

    @property
    def sends_entered_token(self) -> bool:
        """Whether requests carry a token that a user entered."""
        return self.sends_token and not self.uses_oauth2

    def as_begun_with(self, earlier: "Configuration") -> "Configuration":
        """Return this configuration with the script of an earlier one.

        Responses may be no larger than either of the two allows.
        """
        limits = self.limits
        if earlier.limits.response_mebibytes < limits.response_mebibytes:
            limits = replace(
                limits, response_mebibytes=earlier.limits.response_mebibytes
            )
        return replace(
            self,
            script=earlier.script,
            script_enabled=earlier.script_enabled,
            script_is_vouched=earlier.script_is_vouched,
            limits=limits,
        )

    @property
    def sends_credentials(self) -> bool:
        """Whether anything that proves who sends goes out with a request."""
        typed = self.authentication_type is not choices.AuthenticationType.NONE
        return (
            typed
            or self.is_scripted
            or self.shows_certificate
            or any(row.secret for row in self.headers)
        )

    @property
    def shows_certificate(self) -> bool:
        """Whether a client certificate identifies us; without TLS there is none."""
        return bool(self.tls.client_certificate) and self.base.origin.scheme == "https"

    @property
    def is_scripted(self) -> bool:
        """Whether a script signs each request."""
        return self.script_enabled and bool(self.script)

    @property
    def script_secret(self) -> str | None:
        """The name of the secret that a script is given; the first of these that there is."""
        if "secret_key" in self.secrets:
            return "secret_key"
        if self.authentication_type is choices.AuthenticationType.BASIC:
            return "password"
        return "token" if self.sends_entered_token else None

    def needed_secrets(self) -> list[str]:
        """Return the names of the secrets that sending with this configuration opens."""
        known = self.values()
        needed = [
            f.secret_name
            for f in FIELDS
            if f.secret and f.required and f.applies(known)
        ]
        if self.uses_oauth2 and self._proves_itself_by_secret():
            needed.append("client_secret")
        if self.tls.client_certificate:
            needed.append("client_key")
        if self._signs_by_secret_key():
            needed.append("secret_key")
        return needed + [row.secret_field for row in self.headers if row.secret]

    def _signs_by_secret_key(self) -> bool:
        """Tell whether the script is given a Secret Key, or asks for one that is not there."""
        if not self.is_scripted:
            return False
        given = self.script_secret
        return given == "secret_key" or (given is None and asks_for_secret(self.script))

    def _proves_itself_by_secret(self) -> bool:
        """Tell whether there is a client secret; an application on its own may have none."""
        if self.oauth2.client_auth is choices.ClientAuth.MTLS:
            return False
        consented = self.oauth2.grant is not choices.Grant.CLIENT_CREDENTIALS
        public = self.oauth2.client_auth is choices.ClientAuth.BODY and consented
        return not public or "client_secret" in self.secrets

    def binding_of(self, secret: str) -> str:
        """Return where a secret may go, in the form that it is bound to.

        What is sent to the Token URL is bound to both origins: whoever could change the Base URL
        alone would be sent the tokens that it is exchanged for.
        """
        base = self.base.origin.bound
        # The client certificate identifies us at the Token URL too.
        sent = secret in SENT_TO_TOKEN_URL or (
            secret == "client_key" and self.uses_oauth2  # noqa: S105 - a name
        )
        if not sent or not self.oauth2.token_url:
            return base
        return f"{parse_endpoint(self.oauth2.token_url, secret).origin.bound} {base}"

    def origins(self) -> set[Origin]:
        """Return every origin that requests of this configuration go to."""
        urls = (self.oauth2.token_url, self.oauth2.authorization_url)
        return {self.base.origin} | {
            parse_endpoint(url, "").origin for url in urls if url
        }

    def refuse_unbound(self, secret: str) -> None:
        """Raise where a secret was entered for another origin than requests go to now."""
        state = self.secrets.get(secret)
        if state is not None and state.origin != self.binding_of(secret):
            raise SecretRebindRequired(field=secret)

    def values(self) -> dict[str, object]:
        """Return the values by field path, as `build` takes them; what has none is left out."""
        found = {path: attrgetter(path)(self) for path in _VALUES}
        return {
            path: str(value) if isinstance(value, choices.Choice) else value
            for path, value in found.items()
            if value is not None
        }


@dataclass(frozen=True, slots=True)
class SyncLine:
    """One named call of a configuration, or what is synchronized by many of them."""

    name: str
    configuration: str
    method: str
    path: str
    sync: Sync | None = None


_NAMED = 10
_SECTIONS = {
    "oauth2": OAuth2Settings,
    "tls": TlsSettings,
    "limits": Limits,
    "verification": Verification,
}
_DEFAULT_HEADERS = frozenset(
    {"accept", "accept-encoding", "content-type", "user-agent"}
)
_AT_TOKEN_ORIGIN = (
    "oauth2.device_url",
    "oauth2.revocation_url",
    "oauth2.introspection_url",
)
_VALUES = {
    f.path: f
    for f in FIELDS
    if f.kind not in {Kind.SECRET, Kind.ROWS} and f.path != "name"
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
    read: dict[str, object] = {"name": BY_PATH["name"].parse(name)}
    for path, known in _VALUES.items():
        said = path in values or known.default is not None
        read[path] = (
            known.parse(values.get(path, known.default), read) if said else None
        )
    for path in values:
        if path not in BY_PATH:
            raise ConfigError("there is no such field", field=path)
    header = str(read["oauth2.token_header"])
    if check_name(header, field="oauth2.token_header").lower() in _DEFAULT_HEADERS:
        raise BY_PATH["oauth2.token_header"].refuse(
            "must not be one that servers log or change"
        )
    _refuse_two_hosts(read)
    for row in headers:
        check_name(row.key, field="headers")
        check_value(row.value, field=row.secret_field)
    made = Configuration(
        **_sorted(read),  # type: ignore[arg-type]  # the table's kinds are the attributes' types, which a test compares
        headers=headers,
        secrets=dict(secrets or {}),
        base=parse_base_url(str(read["base_url"])),
    )
    return replace(made, secrets=_bound(made, references or {}))


def _refuse_two_hosts(read: Mapping[str, object]) -> None:
    """Refuse addresses that would give a secret to another host than the Token URL's."""
    for path in _AT_TOKEN_ORIGIN:
        if read[path] and read["oauth2.token_url"]:
            token = parse_endpoint(
                str(read["oauth2.token_url"]), "oauth2.token_url"
            ).origin
            if parse_endpoint(str(read[path]), path).origin != token:
                reason = (
                    "must be at the Token URL's origin, since the Client Secret goes"
                    " there"
                )
                raise BY_PATH[path].refuse(reason)


def _sorted(read: Mapping[str, object]) -> dict[str, object]:
    """Return values by field path as the arguments of a configuration, with its sections made."""
    parts: dict[str, dict[str, object]] = {section: {} for section in ("", *_SECTIONS)}
    for path, value in read.items():
        section, _, key = path.rpartition(".")
        parts[section][key] = value
    return parts.pop("") | {
        name: _SECTIONS[name](**part) for name, part in parts.items()
    }


def _bound(
    made: Configuration, references: Mapping[str, Reference]
) -> dict[str, SecretState]:
    """Return the secrets with these references bound; one that is as it was has no new version."""
    states = dict(made.secrets)
    for secret, reference in references.items():
        before, binding = states.get(secret), made.binding_of(secret)
        if before is None or (before.reference, before.origin) != (reference, binding):
            states[secret] = successor(before, binding, reference)
    return states


def known_names(names: Iterable[str], count: int) -> str:
    """Return a hint with the first of the names that there are."""
    first = list(names)[:_NAMED]
    more = f" and {count - _NAMED} more" if count > _NAMED else ""
    return f"Known: {', '.join(first) or 'none'}{more}."


def kept_secrets(
    secrets: Mapping[str, SecretState], headers: Iterable[HeaderRow]
) -> dict[str, SecretState]:
    """Return the secrets without those of rows that are gone."""
    rows = {row.secret_field for row in headers if row.secret}
    return {
        n: state
        for n, state in secrets.items()
        if n in rows or not n.startswith("header:")
    }


def header_row(
    key: str, value: str | None, *, secret: bool | None, place: str
) -> HeaderRow:
    """Make a row; Secret is ticked by default where the name looks like a credential."""
    key = check_name(key.strip(), field=f"{place}.key")
    if secret is None:
        secret = looks_like_credential(key) or value is None or is_reference(value)
    if secret:
        return HeaderRow(key, "", secret=True)
    if value is None:
        raise ConfigError(
            "a row that is not secret needs a value", field=f"{place}.value"
        )
    return HeaderRow(
        key, check_value(tidy_value(value), field=f"{place}.value"), secret=False
    )
