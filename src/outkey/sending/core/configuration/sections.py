"""The sections of a configuration: one class for each tab with fields of its own."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from outkey.foundation.core.fields import choices

if TYPE_CHECKING:
    from outkey.sending.core.configuration.custom_rows import TokenHeader

# No JMESPath: a table of one has a colon behind each name.
_PLACEHOLDER = re.compile(r"\{[A-Za-z_][A-Za-z0-9_]*\}")


@dataclass(frozen=True, slots=True)
class AssertionSettings:
    """The assertions of the OAuth 2.0 tab: what signed tokens state (RFC 7523)."""

    issuer: str
    subject: str
    audience: str
    key_id: str
    scope_in: choices.ScopePlace
    algorithm: choices.AssertionAlgorithm | None
    lifetime_seconds: int
    claims: Mapping[str, str]


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
    pushed_authorization_url: str
    device_url: str
    refresh_url: str
    revocation_url: str
    introspection_url: str
    issuer: str
    body_format: choices.BodyFormat
    subject_token_from: choices.SubjectSource
    subject_token_type: str
    actor_token_type: str
    requested_token_type: str
    pkce: choices.Pkce
    dpop: bool
    leeway_seconds: float
    default_lifetime_seconds: float
    assertion: AssertionSettings
    token_headers: "tuple[TokenHeader, ...]"

    @property
    def refreshes(self) -> bool:
        """Whether tokens are renewed by refresh token, if there is one."""
        return self.grant in choices.REFRESHING_GRANTS

    @property
    def refresh_endpoint(self) -> str:
        """The URL that renews tokens by refresh token."""
        return (self.refresh_url if self.refreshes else "") or self.token_url

    @property
    def signs_assertions(self) -> bool:
        """Whether token requests have an assertion that outkey signs."""
        return self.grant is choices.Grant.JWT_BEARER or self.client_auth in {
            choices.ClientAuth.PRIVATE_KEY_JWT,
            choices.ClientAuth.CLIENT_SECRET_JWT,
        }

    @property
    def needs_consent(self) -> bool:
        """Whether a user has to authorize the grant before there is a token."""
        return self.grant in choices.GRANTS_OF_USERS

    @property
    def exchanges_token(self) -> bool:
        """Whether tokens are exchanged for those of the API (RFC 8693)."""
        return self.grant is choices.Grant.TOKEN_EXCHANGE

    @property
    def needs_subject(self) -> bool:
        """Whether each request brings the token that is exchanged for its own."""
        is_caller = self.subject_token_from is choices.SubjectSource.CALLER
        return self.exchanges_token and is_caller

    @property
    def pushes_authorization(self) -> bool:
        """Whether the provider gets a consent before the browser leaves (RFC 9126)."""
        by_code = self.grant is choices.Grant.AUTHORIZATION_CODE
        return by_code and bool(self.pushed_authorization_url)


@dataclass(frozen=True, slots=True)
class OAuth1Settings:
    """The OAuth 1.0a tab."""

    consumer_key: str
    signature_method: choices.SignatureMethod
    realm: str
    request_url: str
    authorization_url: str
    access_url: str


@dataclass(frozen=True, slots=True)
class LoginStep:
    """One request of a login of several steps, and what is taken from its response."""

    method: str = "POST"
    url: str = ""
    path: str = ""
    format: choices.StepFormat = choices.StepFormat.JSON
    headers: Mapping[str, str] = field(default_factory=dict)
    take: Mapping[str, str] = field(default_factory=dict)
    body: str = ""

    @property
    def templates(self) -> tuple[str, ...]:
        """The texts whose placeholders are replaced by values."""
        return (self.url, self.path, self.body, *self.headers.values())


@dataclass(frozen=True, slots=True)
class LoginSettings:
    """The Login tab: the requests that exchange user and password for a token."""

    # As a document has them, so that a default of a later version changes none of them.
    steps: tuple[Mapping[str, Any], ...]
    cookies: bool

    method: str
    path: str
    format: choices.BodyFormat
    body: str
    token: str
    expires_in: str
    expires_unit: choices.ExpiryUnit
    lifetime_seconds: float
    refresh_path: str
    refresh_body: str
    refresh_token: str
    logout_path: str

    @property
    def each_step(self) -> tuple[LoginStep, ...]:
        """The steps with their defaults."""
        return tuple(LoginStep(**step) for step in self.steps)

    @property
    def fills_token(self) -> bool:
        """Whether the token is a text with values that steps have taken."""
        return bool(self.steps) and _PLACEHOLDER.search(self.token) is not None

    @property
    def templates(self) -> tuple[str, ...]:
        """The texts whose placeholders are replaced by a secret, or another value."""
        texts = [text for step in self.each_step for text in step.templates]
        return (self.body, self.refresh_body, *texts)


@dataclass(frozen=True, slots=True)
class AwsSettings:
    """The AWS tab: what requests are signed for, and the role that is assumed."""

    access_key_id: str
    region: str
    service: str
    payload: choices.AwsPayload
    role_arn: str
    sts_url: str
    session_name: str
    external_id: str
    duration_seconds: int

    @property
    def sts_endpoint(self) -> str:
        """The URL of STS; by default that of the region."""
        return self.sts_url or f"{aws_url('sts', self.region)}/"


def aws_url(service: str, region: str) -> str:
    """Return the URL of a service in a region; China has a domain of its own."""
    domain = "amazonaws.com.cn" if region.startswith("cn-") else "amazonaws.com"
    return f"https://{service}.{region}.{domain}"


@dataclass(frozen=True, slots=True)
class CsrfSettings:
    """The CSRF token that requests of some methods carry; none without a path."""

    path: str
    header: str
    methods: tuple[str, ...]
    lifetime_seconds: float


@dataclass(frozen=True, slots=True)
class RotationSettings:
    """How the next credentials of a configuration replace those in use."""

    share: int
    successes: int
    automatic: bool
    overlap_days: int
    rotate_after_days: int | None


@dataclass(frozen=True, slots=True)
class ConnectSettings:
    """What connections share with their configuration, and what they have alone."""

    shared: tuple[str, ...]  # secrets of an account that are the configuration's
    own: tuple[str, ...]  # what else each connection has for itself
    variables: Mapping[str, str]  # the sources of the values, by name
    account: str  # the variable that identifies an account
    request_url: str


@dataclass(frozen=True, slots=True)
class ProxySettings:
    """The Proxy tab: the proxy that requests go through; none without a URL."""

    url: str
    username: str


@dataclass(frozen=True, slots=True)
class Limits:
    """The Limits tab."""

    connect_timeout: float
    read_timeout: float
    total_timeout: float
    requests_per_minute: int | None
    rate_headers: choices.RateHeaders
    response_mebibytes: int
    retries: int
    runs_at_once: int  # of sync lines: `first_in_line` in sync/core/run/schedule.py


@dataclass(frozen=True, slots=True)
class Verification:
    """The Verification tab."""

    test_path: str
    test_method: str
    test_body: str
    test_content_type: str
    accepted_statuses: str
    forbidden_means_expired: bool
    expired_statuses: str
    expired_marker: str
    compare: bool
    follow_clock: bool


@dataclass(frozen=True, slots=True)
class TlsSettings:
    """The TLS tab: how the server is verified, and our client certificate."""

    minimum_version: str = "1.2"
    ca_file: str = ""
    client_certificate: str = ""
