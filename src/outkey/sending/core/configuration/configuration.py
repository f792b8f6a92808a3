"""The API Sync Configuration as a frozen value.

Attributes have the names of the table in `fields.py`, which also has their defaults; a
test compares the two.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from dataclasses import field as attribute
from datetime import date
from operator import attrgetter
from shlex import quote

from outkey.foundation.core.errors import (
    ConfigError,
    OutkeyError,
    SecretRebindRequired,
)
from outkey.foundation.core.fields import choices
from outkey.foundation.core.fields.field_kinds import Field, Kind, check_method
from outkey.foundation.core.origin import (
    Location,
    Origin,
    endpoint_origin,
    parse_base_url,
    parse_endpoint,
)
from outkey.foundation.core.placeholders import placeholders_in, sample_of
from outkey.foundation.core.script_syntax import asks_for_secret
from outkey.foundation.core.text import Text
from outkey.sending.core.configuration.aws_checks import refuse_odd_aws
from outkey.sending.core.configuration.connect_settings import (
    is_secret_of_account,
    refuse_odd_connections,
)
from outkey.sending.core.configuration.custom_rows import (
    ROW_KINDS,
    CustomHeader,
    CustomRow,
    QueryParameter,
    TokenHeader,
    check_parameter_name,
    check_parameter_value,
    is_row_secret,
)
from outkey.sending.core.configuration.field_tables.conditions import BY_PASSWORD_GRANT
from outkey.sending.core.configuration.field_tables.login import STEP_FIELDS
from outkey.sending.core.configuration.fields import BY_PATH, FIELDS, SENT_TO_TOKEN_URL
from outkey.sending.core.configuration.oauth1_settings import (
    OAUTH1_TOKEN,
    OAUTH1_TOKEN_SECRET,
    SENT_TO_REQUEST_URL,
    refuse_unusable_oauth1,
)
from outkey.sending.core.configuration.reference import Reference
from outkey.sending.core.configuration.secret_state import SecretState, successor
from outkey.sending.core.configuration.sections import (
    AssertionSettings,
    AwsSettings,
    ConnectSettings,
    CsrfSettings,
    Limits,
    LoginSettings,
    OAuth1Settings,
    OAuth2Settings,
    ProxySettings,
    RotationSettings,
    TlsSettings,
    Verification,
)
from outkey.sending.core.connections.allowed_origins import (
    OriginPattern,
    bound_text,
    parse_origin_pattern,
)
from outkey.sending.core.connections.connection import Connection, account_name
from outkey.sending.core.connections.url_templates import changes_origin
from outkey.sending.core.request.headers import (
    check_name,
    check_value,
    is_header_name,
    is_settable_name,
)
from outkey.sending.core.rotation.credential_sets import (
    ONE_SET,
    CredentialSet,
    CredentialSets,
)
from outkey.sending.core.vault.envelope import SealedRow


def parse_token_header(text: str) -> tuple[str, str]:
    """Return where requests carry a token: header, cookie or query, and its name."""
    kind, colon, name = text.partition(":")
    return (kind, name) if colon else ("header", text)


@dataclass(frozen=True, slots=True)
class Configuration:
    """One external API: where it is, and how requests to it authenticate."""

    name: str
    base_url: str
    environment: choices.Environment
    network: choices.Network
    active: bool
    owner: str  # whose users and tokens may use it; "" for all owners
    notes: str
    preset: str
    preset_day: date | None
    authentication_type: choices.AuthenticationType
    no_auth_reason: choices.NoAuthReason | None
    username: str
    key_as_username: bool
    token_source: choices.TokenSourceKind
    token_expires_on: date | None
    token_header: str
    token_prefix: str | None
    token_value: str
    token_encoding: choices.TokenEncoding
    script_enabled: bool
    script: str = attribute(repr=False)
    oauth2: OAuth2Settings
    oauth1: OAuth1Settings
    login: LoginSettings
    aws: AwsSettings
    csrf: CsrfSettings
    rotation: RotationSettings
    proxy: ProxySettings
    tls: TlsSettings
    connections: choices.Connections
    connect: ConnectSettings
    allowed_origins: tuple[str, ...]
    limits: Limits
    verification: Verification
    headers: tuple[CustomHeader, ...]
    query: tuple[QueryParameter, ...]
    secrets: Mapping[str, SecretState]
    base: Location  # the Base URL, parsed
    record: str = ""  # the id it is stored under, which is never reused
    version: int = 0  # grows with every change of settings: a second editor is noticed
    # Grows with every change of settings or of a secret.
    revision: int = attribute(default=0, compare=False)
    refused: int = attribute(default=0, compare=False)  # responses 401 in a row
    paused_at: float | None = attribute(default=None, compare=False)
    # Sealed, as it is stored.
    voucher: SealedRow | None = attribute(default=None, compare=False, repr=False)
    # The version of the newest voucher that was seen before this one was read.
    seen_voucher: int = attribute(default=0, compare=False, repr=False)
    # The names it had before, each with the Unix time until which it had it.
    former_names: tuple[tuple[str, float], ...] = attribute(default=(), compare=False)
    # Whether a test ended, or a request was accepted, since the last change.
    is_proved: bool = attribute(default=False, compare=False)
    # Whether a test succeeded, or a request was accepted, since the last change.
    was_accepted: bool = attribute(default=False, compare=False)
    # When the API last accepted a request or a test, as far as that was noted.
    accepted_at: float | None = attribute(default=None, compare=False)
    # Whether a run compared the script with its voucher when it began; later changes
    # of the script do not affect the run.
    script_is_vouched: bool = attribute(default=False, compare=False)
    # Other credentials than those in use, and how far their rotation has got.
    sets: CredentialSets = attribute(default=ONE_SET, compare=False, repr=False)
    # With other credentials: which set they are, and the configuration as it is stored.
    other_set: CredentialSet | None = attribute(default=None, compare=False, repr=False)
    stored: "Configuration | None" = attribute(default=None, compare=False, repr=False)
    # With an account: which one it is, and the configuration without it.
    connection: Connection | None = attribute(default=None, compare=False)
    unconnected: "Configuration | None" = attribute(
        default=None, compare=False, repr=False
    )
    # Why the variables of the account cannot be filled in: nothing is sent.
    variable_error: OutkeyError | None = attribute(
        default=None, compare=False, repr=False
    )
    _views: "dict[int, Configuration]" = attribute(
        default_factory=dict, init=False, compare=False, repr=False
    )
    # Stored because every request needs them: the serial of the credentials that it is
    # sent with, and the name of what connections are shared within, which is one set of
    # credentials: a connection proves who we are by the certificate it was opened with.
    serial: int = attribute(init=False, compare=False, repr=False)
    # What limits, pauses and clocks are counted by: its name, or that of the account.
    account: str = attribute(init=False, compare=False, repr=False)
    partition: str = attribute(init=False, compare=False, repr=False)
    # Whether tokens are obtained automatically, and whether a text in a response means
    # that the token has expired.
    fetches_token: bool = attribute(init=False, compare=False, repr=False)
    looks_for_marker: bool = attribute(init=False, compare=False, repr=False)
    # Whether a secret is in an external store, and those of them that sending opens.
    uses_stores: bool = attribute(init=False, compare=False, repr=False)
    external_secrets: tuple[tuple[str, Reference], ...] = attribute(
        init=False, compare=False, repr=False
    )

    def __post_init__(self) -> None:
        serial = self.other_set.serial if self.other_set else self.sets.serial
        object.__setattr__(self, "serial", serial)
        account = self.name
        if self.connection is not None:
            account = account_name(self.connection.configuration, self.connection.id)
        object.__setattr__(self, "account", account)
        # No configuration has a name with a line break.
        partition = f"{self.name}\n{serial}" if self.sets.is_used else self.name
        object.__setattr__(self, "partition", partition)
        has_session = self.uses_aws_role or self.has_three_legs
        object.__setattr__(self, "fetches_token", self.renews_token or has_session)
        marker = self.sends_token and bool(self.verification.expired_marker)
        object.__setattr__(self, "looks_for_marker", marker)
        external = {
            name: state.reference
            for name, state in self.secrets.items()
            if state.reference is not None and state.reference.is_external
        }
        object.__setattr__(self, "uses_stores", bool(external))
        needed = self.needed_secrets() if external else ()
        opened = tuple((name, external[name]) for name in needed if name in external)
        object.__setattr__(self, "external_secrets", opened)

    def with_set(self, other: CredentialSet) -> "Configuration":
        """Return this configuration with the credentials of another set.

        The same object each time: caches know it by that.
        """
        view = self._views.get(other.serial)
        if view is None or view.other_set is not other:
            view = self._views[other.serial] = self._view_of(other)
        return view

    def of_all_sets(self) -> "list[Configuration]":
        """Return this configuration, and the same with each of its other sets.

        A draft has its own alone: nothing vouches for others.
        """
        stored = self.stored or self
        others = (stored.sets.next, stored.sets.previous) if stored.record else ()
        views = [stored, *(stored.with_set(other) for other in others if other)]
        return [self, *(view for view in views if view.serial != self.serial)]

    def _view_of(self, other: CredentialSet) -> "Configuration":
        companions = other.companions
        client_id = companions.get("oauth2.client_id", self.oauth2.client_id)
        certificate = companions.get(
            "tls.client_certificate", self.tls.client_certificate
        )
        day = companions.get("token_expires_on")
        return replace(
            self,
            username=companions.get("username", self.username),
            oauth2=replace(self.oauth2, client_id=client_id),
            tls=replace(self.tls, client_certificate=certificate),
            token_expires_on=date.fromisoformat(day) if day else None,
            secrets={**self.secrets, **other.secrets},
            other_set=other,
            stored=self,
        )

    @property
    def allowed_patterns(self) -> list[OriginPattern]:
        """The origins that variables may lead to."""
        return [
            parse_origin_pattern(text, f"allowed_origins[{number}]")
            for number, text in enumerate(self.allowed_origins)
        ]

    def missing_variables(self) -> list[str]:
        """Return the variables without which no request has a destination.

        Those of the Base URL, where no connection has given them values.
        """
        if self.connection is not None or not self.connect.variables:
            return []
        return placeholders_in(self.base_url)

    @property
    def connection_id(self) -> str:
        """The id of the account; empty for the configuration's own."""
        return self.connection.id if self.connection else ""

    @property
    def command_name(self) -> str:
        """The name as commands take it, with the option that names the account."""
        option = f" --connection {quote(self.connection_id)}" if self.connection else ""
        return quote(self.name) + option

    def is_of_account(self, secret: str) -> bool:
        """Whether each connection has a secret of this name of its own."""
        return is_secret_of_account(secret, self.connect)

    def holder_of(self, secret: str) -> "Configuration":
        """Return whose secret it is: that of the account, or the configuration's."""
        if self.unconnected is None or self.is_of_account(secret):
            return self
        return self.unconnected

    @property
    def paused(self) -> bool:
        """Whether sending stopped because the credentials were refused too often."""
        return self.paused_at is not None

    @property
    def expires_on(self) -> date | None:
        """The last day on which the entered token is valid, if it is known."""
        return self.token_expires_on if self.sends_entered_token else None

    @property
    def sends_token(self) -> bool:
        """Whether requests carry a token, wherever it comes from."""
        return self.authentication_type is choices.AuthenticationType.BEARER

    @property
    def uses_oauth2(self) -> bool:
        """Whether tokens are obtained from a Token URL."""
        return self.sends_token and self.token_source is choices.TokenSourceKind.OAUTH2

    @property
    def uses_password_grant(self) -> bool:
        """Whether a user's name and password are sent to the Token URL."""
        return self.uses_oauth2 and self.oauth2.grant is choices.Grant.PASSWORD

    @property
    def uses_login(self) -> bool:
        """Whether tokens are obtained by a login at the API itself."""
        return self.sends_token and self.token_source is choices.TokenSourceKind.LOGIN

    @property
    def uses_cookies_only(self) -> bool:
        """Whether the cookies of a login are what it is done for, without a token."""
        return self.uses_login and self.login.cookies and not self.login.token

    @property
    def step_urls(self) -> list[str]:
        """The URLs of a login's steps that have one of their own."""
        if not self.uses_login:
            return []
        return [step.url for step in self.login.each_step if step.url]

    def tls_for(self, origin: Origin) -> TlsSettings:
        """Return the TLS settings for an origin.

        A client certificate identifies us to the API and, for OAuth 2.0, to the
        provider, which its key is bound to.
        """
        if self.uses_oauth2 or origin == self.base.origin:
            return self.tls
        return replace(self.tls, client_certificate="")

    def needs_csrf_token(self, method: str) -> bool:
        """Whether requests of a method carry a CSRF token."""
        return bool(self.csrf.path) and method in self.csrf.methods

    @property
    def renews_token(self) -> bool:
        """Whether a token that the API refuses is renewed automatically."""
        return self.uses_oauth2 or self.uses_login

    @property
    def uses_oauth1(self) -> bool:
        """Whether requests are signed by OAuth 1.0a."""
        return self.authentication_type is choices.AuthenticationType.OAUTH1

    @property
    def has_three_legs(self) -> bool:
        """Whether a user authorizes the access, so that no access token is entered."""
        if not self.uses_oauth1 or not self.oauth1.request_url:
            return False
        return OAUTH1_TOKEN not in self.secrets

    @property
    def needs_consent(self) -> bool:
        """Whether a user has to authorize the access before there is a token."""
        return self.has_three_legs or (self.uses_oauth2 and self.oauth2.needs_consent)

    @property
    def exchanges_token(self) -> bool:
        """Whether a token is exchanged for that of the API (RFC 8693)."""
        return self.uses_oauth2 and self.oauth2.exchanges_token

    @property
    def needs_subject(self) -> bool:
        """Whether each request brings the token that is exchanged for its own."""
        return self.uses_oauth2 and self.oauth2.needs_subject

    @property
    def has_unprotected_consent(self) -> bool:
        """Whether a code of a consent could be redeemed by who did not begin it."""
        is_off = self.oauth2.pkce is choices.Pkce.OFF
        by_code = self.oauth2.grant is choices.Grant.AUTHORIZATION_CODE
        return self.uses_oauth2 and by_code and is_off

    @property
    def uses_digest(self) -> bool:
        """Whether requests prove the password by Digest, and never carry it."""
        return self.authentication_type is choices.AuthenticationType.DIGEST

    @property
    def signs_for_aws(self) -> bool:
        """Whether requests have an AWS signature, and never the key itself."""
        return self.authentication_type is choices.AuthenticationType.AWS_SIGV4

    @property
    def uses_aws_role(self) -> bool:
        """Whether requests are signed with temporary keys of a role, by STS."""
        return self.signs_for_aws and bool(self.aws.role_arn)

    @property
    def uses_web_identity(self) -> bool:
        """Whether a role is assumed with a token of another issuer, without a key."""
        is_entered = "web_identity_token" in self.secrets
        return self.uses_aws_role and (is_entered or not self.aws.access_key_id)

    @property
    def token_place(self) -> tuple[str, str]:
        """Where requests carry their token: header, cookie or query, and its name."""
        return parse_token_header(self.token_header)

    @property
    def sends_name_with_token(self) -> bool:
        """Whether the user name is sent in one value with the token."""
        return self.sends_token and USERNAME_PLACEHOLDER in self.token_value

    @property
    def uses_dpop(self) -> bool:
        """Whether tokens are bound to a key, which each request proves to have."""
        return self.uses_oauth2 and self.oauth2.dpop

    @property
    def leeway_seconds(self) -> float:
        """How long before its expiry a token is renewed, at most."""
        if self.uses_aws_role:
            return AWS_LEEWAY
        return self.oauth2.leeway_seconds if self.uses_oauth2 else LOGIN_LEEWAY

    @property
    def sends_entered_token(self) -> bool:
        """Whether requests carry a token that a user entered."""
        return self.sends_token and not self.fetches_token

    @property
    def token_was_accepted(self) -> bool:
        """Whether the API accepted the entered token since it was entered."""
        state = self.secrets.get("token") if self.sends_entered_token else None
        if state is None or state.set_at is None or self.accepted_at is None:
            return False
        return state.set_at <= self.accepted_at

    @property
    def credentials_were_accepted(self) -> bool:
        """Whether the API accepted a request since the newest secret was entered."""
        times = [state.set_at for state in self.secrets.values()]
        if self.accepted_at is None or not times:
            return False
        return all(
            set_at is not None and set_at <= self.accepted_at for set_at in times
        )

    @property
    def sends_password(self) -> bool:
        """Whether requests prove that we know the Password."""
        return self.authentication_type in {
            choices.AuthenticationType.BASIC,
            choices.AuthenticationType.DIGEST,
        }

    @property
    def api_rows(self) -> tuple[CustomRow, ...]:
        """The rows that every request to the API carries."""
        return (*self.headers, *self.query)

    @property
    def rows(self) -> tuple[CustomRow, ...]:
        """All rows, also those of token requests."""
        return (*self.api_rows, *self.oauth2.token_headers)

    @property
    def rows_by_path(self) -> dict[str, tuple[CustomRow, ...]]:
        """All rows, by the path of their field."""
        return {path: rows_of(self) for path, rows_of in _ROW_GETTERS.items()}

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
        """Whether requests carry anything that proves who sends them."""
        return (
            self.authentication_type is not choices.AuthenticationType.NONE
            or self.is_scripted
            or self.shows_certificate
            or any(row.secret for row in self.api_rows)
        )

    @property
    def shows_certificate(self) -> bool:
        """Whether a client certificate identifies us; that needs TLS."""
        return bool(self.tls.client_certificate) and self.base.origin.scheme == "https"

    @property
    def is_scripted(self) -> bool:
        """Whether a script signs each request."""
        return self.script_enabled and bool(self.script)

    @property
    def script_secret(self) -> str | None:
        """The name of the secret that a script gets: the first of these that exists."""
        if "secret_key" in self.secrets:
            return "secret_key"
        if self.sends_password:
            return "password"
        return "token" if self.sends_entered_token else None

    def needed_secrets(self) -> list[str]:
        """Return the names of the secrets that sending opens."""
        names = [
            name
            for name, conditions in REQUIRED_SECRETS
            if all(value_of(self) in values for value_of, values in conditions)
        ]
        if self.uses_password_grant:
            names.append("password")
        if self.uses_oauth2 and self._has_client_secret():
            names.append("client_secret")
        if self.exchanges_token and "actor_token" in self.secrets:
            names.append("actor_token")
        if self.signs_for_aws:
            names += self._secrets_of_aws()
        if self.uses_oauth1:
            names += self.entered_oauth1_token()
        if self.tls.client_certificate:
            names.append("client_key")
        if self._needs_secret_key():
            names.append("secret_key")
        if self.uses_login:
            templates = "".join(self.login.templates)
            names += [
                name
                for name in SECRETS_OF_LOGIN
                if f"{{{name}}}" in templates and name not in names
            ]
        if self.proxy.url and self.proxy.username:
            names.append(PROXY_PASSWORD)
        rows = self.rows if self.uses_oauth2 else self.api_rows
        names += [row.secret_field for row in rows if row.secret]
        return [name for name in names if not self._leaves_to_accounts(name)]

    def _leaves_to_accounts(self, secret: str) -> bool:
        """Whether sending opens the secret of an account, and never this one."""
        return self.needs_connection and self.is_of_account(secret)

    @property
    def needs_connection(self) -> bool:
        """Whether a connection must be named, and none is."""
        is_required = self.connections is choices.Connections.REQUIRED
        return is_required and self.connection is None

    def entered_oauth1_token(self) -> list[str]:
        """Return the names of the access token and its secret, where one is entered.

        Two legs need neither of them, and a private key signs without the secret.
        """
        names = [OAUTH1_TOKEN]
        if self.oauth1.signature_method is not choices.SignatureMethod.RSA_SHA1:
            names.append(OAUTH1_TOKEN_SECRET)
        return names if any(name in self.secrets for name in names) else []

    def unset_secrets(self) -> list[str]:
        """Return the names of the secrets that sending opens and that are not set."""
        return [name for name in self.needed_secrets() if name not in self.secrets]

    def _secrets_of_aws(self) -> list[str]:
        """Return the names of the secrets that sign requests, or assume the role."""
        if self.uses_web_identity:
            return ["web_identity_token"]
        # Only a temporary access key has a Session Token.
        session = [name for name in ("session_token",) if name in self.secrets]
        return ["secret_access_key", *session]

    def _needs_secret_key(self) -> bool:
        """Whether the script gets a Secret Key, or asks for a missing one."""
        if not self.is_scripted:
            return False
        name = self.script_secret
        return name == "secret_key" or (name is None and asks_for_secret(self.script))

    def _has_client_secret(self) -> bool:
        """Whether a client secret is sent; public clients have none (RFC 6749)."""
        if self.oauth2.client_auth in _WITHOUT_CLIENT_SECRET:
            return False
        if self.exchanges_token and not self.oauth2.client_id:
            return False
        may_be_public = (
            self.oauth2.client_auth is choices.ClientAuth.BODY
            and self.oauth2.grant is not choices.Grant.CLIENT_CREDENTIALS
        )
        return not may_be_public or "client_secret" in self.secrets

    def binding_of(self, secret: str) -> str:
        """Return where a secret may be sent, in the form that it is bound to.

        A proxy's password is bound to the proxy, all others to the API and before it
        to every other URL that they are sent to: a user who changes the Base URL alone
        would otherwise receive the tokens that they are exchanged for.
        """
        return self.holder_of(secret).own_binding_of(secret)

    def own_binding_of(self, secret: str) -> str:
        """Return where a secret may be sent by the URLs of this very object.

        A secret of all accounts is bound to all origins that their variables may lead
        to; a token that was obtained with it is bound to that of its account.
        """
        if secret == PROXY_PASSWORD and self.proxy.url:
            return endpoint_origin(self.proxy.url, "proxy.url").bound
        others = [
            _origin_of(url, secret).bound for _, url in self._other_urls_of(secret)
        ]
        base = self.base.origin.bound
        if self.connection is None and changes_origin(self.base_url):
            base = bound_text(self.allowed_patterns).replace(" ", ",")
        return " ".join([*dict.fromkeys(others), base])

    def _other_urls_of(self, secret: str) -> list[tuple[Field, str]]:
        """Return the URLs that a secret is sent to besides the Base URL.

        Each with its field.
        """
        if secret in SECRETS_OF_LOGIN and self.uses_login:
            # All of them: what a step gets for a secret goes to the later ones.
            return [(STEP_URL, url) for url in self.step_urls]
        paths = self._fields_of_other_urls(secret)
        return [(BY_PATH[path], self._url_at(path)) for path in paths]

    def _fields_of_other_urls(self, secret: str) -> list[str]:
        """Return the fields whose URLs a secret is sent to besides the Base URL."""
        if secret in SECRETS_OF_AWS:
            return [STS_URL] if self.uses_aws_role else []
        paths = []
        if self._is_sent_to_token_url(secret) and self.oauth2.token_url:
            paths.append("oauth2.token_url")
            is_for_tokens = secret not in SENT_TO_TOKEN_URL_ONLY
            if is_for_tokens and self.oauth2.refresh_endpoint != self.oauth2.token_url:
                paths.append("oauth2.refresh_url")
        if secret in SENT_TO_PUSHED_URL and self.oauth2.pushed_authorization_url:
            paths.append(PUSHED_URL)
        is_signing = secret in SENT_TO_REQUEST_URL
        if secret == PRIVATE_KEY:
            is_signing = self.uses_oauth1
        if is_signing and self.oauth1.request_url:
            paths.append("oauth1.request_url")
        return paths

    def _is_sent_to_token_url(self, secret: str) -> bool:
        """Whether a secret is for the Token URL: sent there, or to sign for it."""
        if secret == PRIVATE_KEY:  # one name for the keys of two types
            return not self.uses_oauth1
        if secret == "client_key":  # noqa: S105 - the certificate identifies us there too
            return self.uses_oauth2
        if secret == "password":  # noqa: S105 - the name of a secret
            return self.uses_password_grant
        is_row = secret.startswith(f"{TokenHeader.KIND}:")
        return is_row or secret in SENT_TO_TOKEN_URL

    @property
    def token_binding(self) -> str:
        """Where stored tokens may be sent: as far as the secret they were made with."""
        if self.uses_oauth1:
            return self.own_binding_of("consumer_secret")
        if self.signs_for_aws:
            return self.own_binding_of("secret_access_key")
        return self.own_binding_of("client_secret")

    def _url_at(self, path: str) -> str:
        """Return the URL of a field, or the one that it means without a value."""
        if path == STS_URL:
            return self.aws.sts_endpoint
        return str(VALUE_GETTERS[path](self))

    def parameter_names(self) -> set[str]:
        """Return the query parameters that rows and the token add to each request."""
        names = {row.key for row in self.query}
        place, name = self.token_place
        if self.sends_token and place == "query":
            names.add(name)
        return names

    def token_urls(self) -> list[tuple[str, str]]:
        """Return the URLs in use where credentials become tokens, with their fields."""
        urls = [(STEPS, url) for url in self.step_urls]
        if self.uses_oauth2:
            urls.append(("oauth2.token_url", self.oauth2.token_url))
            if self.oauth2.refresh_endpoint != self.oauth2.token_url:
                urls.append(("oauth2.refresh_url", self.oauth2.refresh_url))
            if self.oauth2.pushes_authorization:
                urls.append((PUSHED_URL, self.oauth2.pushed_authorization_url))
        if self.has_three_legs:
            urls.append(("oauth1.request_url", self.oauth1.request_url))
        if self.uses_aws_role:
            urls.append((STS_URL, self.aws.sts_endpoint))
        return urls

    def origins(self) -> set[Origin]:
        """Return every origin that requests of this configuration are sent to."""
        urls = [
            self.oauth2.token_url,
            self.oauth2.refresh_endpoint,
            self.oauth2.authorization_url,
            self.oauth2.pushed_authorization_url,
            self.oauth1.request_url,
        ]
        if self.uses_aws_role:
            urls.append(self.aws.sts_endpoint)
        urls += self.step_urls
        return {self.base.origin} | {_origin_of(url, "") for url in urls if url}

    def refuse_unbound(self, secret: str) -> None:
        """Raise where a secret was entered for another origin than the current one."""
        state = self.secrets.get(secret)
        binding = self.binding_of(secret)
        if state is None or state.origin == binding:
            return
        *entered_for, entered_base = state.origin.split(" ")
        message = None
        if secret == PROXY_PASSWORD:
            message = _changed_url(BY_PATH["proxy.url"].label)
        elif entered_for and entered_base == self.base.origin.bound:
            message = self._other_url_changed(secret, entered_for)
        raise SecretRebindRequired(message, field=secret)

    def _other_url_changed(self, secret: str, origins: Sequence[str]) -> Text:
        """Return which other URL of a secret is not one that it was entered for."""
        for field, url in self._other_urls_of(secret):
            if _origin_of(url, secret).bound not in origins:
                return _changed_url(field.label)
        return Text("the secret was entered for one more URL, which was removed")

    def values(self) -> dict[str, object]:
        """Return the values by field path, as `build` takes them."""
        values: dict[str, object] = {}
        for path, value_of in VALUE_GETTERS.items():
            value = value_of(self)
            if value is not None:
                values[path] = (
                    str(value) if isinstance(value, choices.Choice) else value
                )
        return values


def _origin_of(url: str, field: str) -> Origin:
    """Return the origin of a URL, or of its sample where it has placeholders."""
    return endpoint_origin(sample_of(url), field)


def _changed_url(label: str) -> Text:
    return Text(
        "the secret was entered for another {url} than the present one",
        url=label,
    )


MAX_NAMES = 10
_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})  # RFC 9110 §9.2.1
TOKEN_PLACEHOLDER = "{token}"  # noqa: S105 - a placeholder
USERNAME_PLACEHOLDER = "{username}"
TOKEN_PLACEHOLDERS = (TOKEN_PLACEHOLDER, USERNAME_PLACEHOLDER)
_PLACEHOLDER = re.compile(r"\{[^{}]*\}")
PRIVATE_KEY = "private_key"
# What gets the first token; a Refresh URL gets all other secrets as well.
SENT_TO_TOKEN_URL_ONLY = frozenset({PRIVATE_KEY, "password"})
_WITHOUT_CLIENT_SECRET = (choices.ClientAuth.MTLS, choices.ClientAuth.FEDERATED)
PROXY_PASSWORD = "proxy_password"  # noqa: S105 - the name of a secret
LOGIN_LEEWAY = 60.0
AWS_LEEWAY = 300.0  # sessions last an hour or more
STS_URL = "aws.sts_url"
PUSHED_URL = "oauth2.pushed_authorization_url"
SENT_TO_PUSHED_URL = frozenset({"client_assertion", "client_secret", "client_key"})
SECRETS_OF_AWS = frozenset({"secret_access_key", "session_token", "web_identity_token"})
SECRETS_OF_LOGIN = ("password", "secret_key")
STEPS = "login.steps"
STEP_URL = next(part for part in STEP_FIELDS if part.key == "url")
TOKEN_HEADERS = "oauth2.token_headers"  # noqa: S105 - the path of a field
# A section comes after those that are in it.
SECTIONS = {
    "oauth2.assertion": AssertionSettings,
    "oauth2": OAuth2Settings,
    "oauth1": OAuth1Settings,
    "login": LoginSettings,
    "aws": AwsSettings,
    "csrf": CsrfSettings,
    "rotation": RotationSettings,
    "connect": ConnectSettings,
    "proxy": ProxySettings,
    "tls": TlsSettings,
    "limits": Limits,
    "verification": Verification,
}
# Headers that servers log or change; a token in one of them would not stay secret.
UNSAFE_FOR_TOKENS = frozenset(
    {"accept", "accept-encoding", "content-type", "user-agent"}
)
# URLs, besides the Base URL, that variables of an account are filled in.
FILLED_ENDPOINTS = (
    "oauth2.token_url",
    "oauth2.refresh_url",
    "oauth2.authorization_url",
    "oauth2.pushed_authorization_url",
    "oauth2.device_url",
    "oauth2.revocation_url",
    "oauth2.introspection_url",
)
AT_TOKEN_ORIGIN = (
    "oauth2.device_url",
    "oauth2.revocation_url",
    "oauth2.introspection_url",
)
VALUE_FIELDS = {
    field.path: field
    for field in FIELDS
    if field.kind not in {Kind.SECRET, Kind.ROWS} and field.path != "name"
}
VALUE_GETTERS = {path: attrgetter(path) for path in VALUE_FIELDS}
_ROW_GETTERS = {path: attrgetter(path) for path in ROW_KINDS}
# The required secrets, each with its conditions: getters of fields, and the values that
# they may return. Built once, since every preview and check needs them.
REQUIRED_SECRETS = tuple(
    (
        field.secret_name,
        tuple((VALUE_GETTERS[path], values) for path, values in field.when),
    )
    for field in FIELDS
    if field.secret and field.required
)


def build(  # noqa: PLR0913 - rows of three kinds, and secrets in two forms
    name: str,
    values: Mapping[str, object],
    *,
    headers: tuple[CustomHeader, ...] = (),
    query: tuple[QueryParameter, ...] = (),
    token_headers: tuple[TokenHeader, ...] = (),
    references: Mapping[str, Reference] | None = None,
    secrets: Mapping[str, SecretState] | None = None,
) -> Configuration:
    """Return a configuration of values by field path; missing ones get their default.

    References are bound to the origin that the configuration has now; states of secrets
    stay as they are.
    """
    parsed: dict[str, object] = {"name": BY_PATH["name"].parse(name)}
    for path, field in VALUE_FIELDS.items():
        value = values.get(path, field.default)
        is_unset = value is None and field.default is None
        parsed[path] = None if is_unset else field.parse(value, parsed)
    _refuse_nameless_user(parsed)
    for path in values:
        if path not in BY_PATH:
            raise ConfigError(Text("there is no such field"), field=path)
    _check_token_place(str(parsed["token_header"]))
    check_value(str(parsed["token_prefix"] or ""), field="token_prefix")
    _check_token_value(str(parsed["token_value"]))
    _refuse_placeholders(parsed)
    _refuse_two_hosts(parsed)
    _refuse_nameless_client(parsed)
    refuse_odd_aws(parsed)
    refuse_unusable_oauth1(parsed)
    refuse_odd_connections(parsed)
    _check_csrf(parsed)
    for header in (*headers, *token_headers):
        check_name(header.key, field="headers")
        check_value(header.value, field=header.secret_field)
    parsed[TOKEN_HEADERS] = token_headers
    for parameter in query:
        check_parameter_name(parameter.key, field="query")
        check_parameter_value(parameter.value, field=parameter.secret_field)
    configuration = Configuration(
        # A test compares the kinds of the table with the types of the attributes.
        **_constructor_arguments(parsed),  # type: ignore[arg-type]
        headers=headers,
        query=query,
        secrets=dict(secrets or {}),
        base=parse_base_url(sample_of(str(parsed["base_url"])))
        if parsed["connect.variables"]
        else parse_base_url(str(parsed["base_url"])),
    )
    return replace(
        configuration, secrets=with_references(configuration, references or {})
    )


def _check_token_place(text: str) -> None:
    """Refuse a Token header that cannot carry a token.

    It is a header, or `cookie:NAME` or `query:NAME`.
    """
    path = "token_header"
    kind, _, name = text.partition(":")
    if kind == "query":
        check_parameter_name(name, field=path)
    elif kind == "cookie":
        if not is_header_name(name):  # RFC 6265 §4.1.1: the same grammar
            raise BY_PATH[path].refuse(Text("must name a cookie, as cookie:NAME"))
    elif check_name(text, field=path).lower() in UNSAFE_FOR_TOKENS:
        raise BY_PATH[path].refuse(
            Text("must not be a header that servers log or change")
        )


def _check_token_value(text: str) -> None:
    """Refuse a Token value without one place for the token, or with another name."""
    path = "token_value"
    check_value(text, field=path)
    if text.count(TOKEN_PLACEHOLDER) != 1:
        raise BY_PATH[path].refuse(
            Text("must contain {placeholder} once", placeholder=TOKEN_PLACEHOLDER)
        )
    unknown = [
        name for name in _PLACEHOLDER.findall(text) if name not in TOKEN_PLACEHOLDERS
    ]
    if unknown:
        raise BY_PATH[path].refuse(
            Text("may contain {names} only", names=" and ".join(TOKEN_PLACEHOLDERS))
        )


def _check_csrf(values: Mapping[str, object]) -> None:
    """Refuse a CSRF token that cannot be fetched or sent."""
    if not values["csrf.path"]:
        return
    name = str(values["csrf.header"])
    if not is_settable_name(name):
        raise BY_PATH["csrf.header"].refuse(Text("must be the name of a header"))
    if name.lower() in UNSAFE_FOR_TOKENS | {"cookie"}:
        raise BY_PATH["csrf.header"].refuse(
            Text("must not be a header that has another meaning")
        )
    methods = values["csrf.methods"]
    assert isinstance(methods, tuple)  # noqa: S101 - for the type checker
    if not methods:
        raise BY_PATH["csrf.methods"].refuse(Text("must not be empty"))
    for method in methods:
        if check_method(method, field="csrf.methods") != method or method in _SAFE:
            raise BY_PATH["csrf.methods"].refuse(
                Text("must be methods that change something, such as POST")
            )


def _refuse_nameless_user(values: Mapping[str, object]) -> None:
    """Refuse the grant password without the name of a user (RFC 6749 §4.3.2)."""
    is_used = all(values[path] in wanted for path, wanted in BY_PASSWORD_GRANT)
    if is_used and not values["username"]:
        raise BY_PATH["username"].refuse(Text("must not be empty"))


def _refuse_placeholders(values: Mapping[str, object]) -> None:
    """Refuse a placeholder in an origin where no variables are declared."""
    if values["connect.variables"]:
        return
    for path in FILLED_ENDPOINTS:
        if url := str(values[path]):
            parse_endpoint(url, path)


def _refuse_two_hosts(values: Mapping[str, object]) -> None:
    """Refuse URLs that would give a secret to another host than the Token URL's."""
    token_url = str(values["oauth2.token_url"])
    for path in AT_TOKEN_ORIGIN:
        url = str(values[path])
        if not url or not token_url:
            continue
        token_origin = _origin_of(token_url, "oauth2.token_url")
        if _origin_of(url, path) != token_origin:
            raise BY_PATH[path].refuse(
                Text(
                    "must be at the Token URL's origin, since the Client Secret is sent"
                    " there"
                )
            )


def _refuse_nameless_client(values: Mapping[str, object]) -> None:
    """Refuse a client authentication that nothing names the client of."""
    is_used = values["token_source"] is choices.TokenSourceKind.OAUTH2
    is_body = values["oauth2.client_auth"] is choices.ClientAuth.BODY
    if is_used and not is_body and not values["oauth2.client_id"]:
        raise BY_PATH["oauth2.client_id"].refuse(Text("must not be empty"))


def _constructor_arguments(values: Mapping[str, object]) -> dict[str, object]:
    """Return values by field path as the arguments of a configuration."""
    parts: dict[str, dict[str, object]] = {section: {} for section in ("", *SECTIONS)}
    for path, value in values.items():
        section, _, key = path.rpartition(".")
        parts[section][key] = value
    for path, make in SECTIONS.items():
        section, _, key = path.rpartition(".")
        parts[section][key] = make(**parts[path])
    return parts[""]


def with_references(
    configuration: Configuration, references: Mapping[str, Reference]
) -> dict[str, SecretState]:
    """Return the secrets with these references; an unchanged one stays as it is."""
    states = dict(configuration.secrets)
    for secret, reference in references.items():
        state = states.get(secret)
        binding = configuration.binding_of(secret)
        is_same = state is not None and state.reference == reference
        if state is None or not is_same or state.origin != binding:
            states[secret] = successor(state, binding, reference)
    return states


def known_names(names: Sequence[str]) -> Text:
    """Return a hint with the first of the names that there are."""
    listed = ", ".join(names[:MAX_NAMES])
    if not listed:
        return Text("Known: none.")
    more = len(names) - MAX_NAMES
    if more > 0:
        return Text("Known: {names} and {count} more.", names=listed, count=more)
    return Text("Known: {names}.", names=listed)


def kept_secrets(
    secrets: Mapping[str, SecretState], rows: Iterable[CustomRow]
) -> dict[str, SecretState]:
    """Return the secrets without those of rows that were removed."""
    names = {row.secret_field for row in rows if row.secret}
    return {
        name: state
        for name, state in secrets.items()
        if name in names or not is_row_secret(name)
    }
