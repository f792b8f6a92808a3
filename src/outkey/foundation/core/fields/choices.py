"""The choices of a configuration: what is stored and written, and its label."""

from enum import StrEnum
from typing import Self

from outkey.foundation.core.text import Text, build_text

LONGEST_TIMEOUT = 3600  # seconds that a request may take at most


class Choice(StrEnum):
    """A value with a label."""

    label: Text

    def __new__(cls, value: str, label: str = "") -> Self:
        """Return a choice that is its value and has a label."""
        choice = str.__new__(cls, value)
        choice._value_ = value
        choice.label = build_text(label, {})
        return choice


class AuthenticationType(Choice):
    """How a request proves who sends it."""

    NONE = "none", "None"
    BASIC = "basic", "Basic"
    DIGEST = "digest", "Digest"
    BEARER = "bearer", "Bearer Token"
    AWS_SIGV4 = "aws_sigv4", "AWS Signature Version 4"
    OAUTH1 = "oauth1", "OAuth 1.0a"


class NoAuthReason(Choice):
    """Why a configuration sends no credentials."""

    INTERNAL = "internal", "internal API"
    DEVELOPMENT = "development", "development or test"
    PUBLIC_API = "public_api", "public API"


class Environment(Choice):
    """The use of the external system."""

    DEVELOPMENT = "development", "Development"
    TEST = "test", "Test"
    PRODUCTION = "production", "Production"


class Network(Choice):
    """The network that the external system is in."""

    PUBLIC = "public", "Public internet"
    INTERNAL = "internal", "Internal trusted network"


class Connections(Choice):
    """Whether accounts of others are connected under a configuration."""

    NONE = "none", "None"
    OPTIONAL = "optional", "Beside the own account"
    REQUIRED = "required", "Instead of an own account"


class TokenSourceKind(Choice):
    """Where a token comes from."""

    ENTERED = "entered", "Entered token"
    OAUTH2 = "oauth2", "OAuth 2.0"
    LOGIN = "login", "Login"


class Grant(Choice):
    """How tokens are obtained."""

    CLIENT_CREDENTIALS = "client_credentials", "Client credentials"
    REFRESH_TOKEN = "refresh_token", "Refresh token"
    AUTHORIZATION_CODE = "authorization_code", "Authorization code, in the browser"
    DEVICE_CODE = "device_code", "Device code, in the terminal"
    JWT_BEARER = "jwt_bearer", "Signed assertion (JWT bearer)"
    TOKEN_EXCHANGE = "token_exchange", "Token exchange"
    PASSWORD = "password", "User name and password"


GRANTS_OF_USERS = (Grant.REFRESH_TOKEN, Grant.AUTHORIZATION_CODE, Grant.DEVICE_CODE)
# Those that may come with a refresh token.
REFRESHING_GRANTS = (*GRANTS_OF_USERS, Grant.PASSWORD)


class ClientAuth(Choice):
    """How the application authenticates at the Token URL."""

    BODY = "body", "in the body"
    BASIC = "basic", "HTTP Basic"
    BASIC_RAW = "basic_raw", "HTTP Basic, not percent-encoded"
    CLIENT_SECRET_JWT = "client_secret_jwt", "client secret JWT"
    PRIVATE_KEY_JWT = "private_key_jwt", "private key JWT"
    MTLS = "mtls", "mTLS, with the client certificate"
    FEDERATED = "federated", "token of another issuer (federated)"


class SubjectSource(Choice):
    """Where the token comes from that a token exchange is about."""

    REFERENCE = "reference", "this configuration"
    CALLER = "caller", "each request"


class Pkce(Choice):
    """Whether a consent proves that the same client redeems it (RFC 7636)."""

    S256 = "S256", "S256"
    OFF = "off", "off, for providers that refuse it"


class ScopePlace(Choice):
    """Where a token request that has an assertion names the scope."""

    FORM = "form", "the form"
    ASSERTION = "assertion", "the assertion"
    BOTH = "both", "both"


class AssertionAlgorithm(Choice):
    """How an assertion is signed with a private key (RFC 7518)."""

    RS256 = "RS256", "RS256"
    RS384 = "RS384", "RS384"
    RS512 = "RS512", "RS512"
    PS256 = "PS256", "PS256"
    ES256 = "ES256", "ES256"


class RateHeaders(Choice):
    """Which requests heed the rate budget that an API states in its responses."""

    RUNS = "runs", "runs of sync lines"
    ALL = "all", "all requests"
    OFF = "off", "none"


class AwsPayload(Choice):
    """Whether an AWS signature covers the body."""

    SIGNED = "signed", "signed"
    UNSIGNED = "unsigned", "unsigned, by https only"


class SignatureMethod(Choice):
    """How requests are signed by OAuth 1.0a (RFC 5849 §3.4)."""

    HMAC_SHA1 = "HMAC-SHA1", "HMAC-SHA1"
    HMAC_SHA256 = "HMAC-SHA256", "HMAC-SHA256"
    RSA_SHA1 = "RSA-SHA1", "RSA-SHA1, with a private key"
    PLAINTEXT = "PLAINTEXT", "PLAINTEXT, without a signature"


class BodyFormat(Choice):
    """The format of a token or login request."""

    FORM = "form", "form"
    JSON = "json", "JSON"


class StepFormat(Choice):
    """The format of a step's request in a login of several steps."""

    JSON = "json", "JSON"
    FORM = "form", "form"
    XML = "xml", "XML"


class TokenEncoding(Choice):
    """How the value of a token is encoded before it is sent."""

    NONE = "none", "none"
    BASE64 = "base64", "Base64"


class ExpiryUnit(Choice):
    """How a login response states the end of a token."""

    SECONDS = "s", "seconds from now"
    MILLISECONDS = "ms", "milliseconds from now"
    MOMENT = "at", "a moment: ISO 8601 or Unix time"


class TlsVersion(Choice):
    """The oldest version of TLS that is accepted."""

    V1_2 = "1.2", "TLS 1.2"
    V1_3 = "1.3", "TLS 1.3"
