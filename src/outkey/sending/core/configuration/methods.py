"""Ways to authenticate that a new configuration begins with.

A method is not a setting: it only fills in fields and rows that every
configuration has, and names the fields that a user has to enter first. An API key, for
example, is the authentication type `none` with one secret row.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import assert_never

from outkey.foundation.core.fields.choices import (
    AuthenticationType,
    ClientAuth,
    Grant,
)
from outkey.foundation.core.fields.field_kinds import Kind
from outkey.foundation.core.text import Text
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.configuration.custom_rows import (
    CustomHeader,
    QueryParameter,
    TokenHeader,
)
from outkey.sending.core.configuration.fields import BY_PATH
from outkey.sending.core.configuration.sections import OAuth2Settings

# What every configuration needs.
ALWAYS = ("name", "base_url", "network")
# The form has it beside the button that tests.
TEST_PATH = "verification.test_path"
_OAUTH2 = (
    "oauth2.grant",
    "oauth2.authorization_url",
    "oauth2.token_url",
    "oauth2.device_url",
    "oauth2.client_id",
    "oauth2.client_secret",
    "oauth2.refresh_token",
    "oauth2.subject_token_from",
    "oauth2.subject_token",
    "oauth2.subject_token_type",
    "oauth2.client_assertion",
    "oauth2.private_key",
    "oauth2.assertion.issuer",
    "oauth2.assertion.subject",
    "username",
    "password",
    "oauth2.scope",
)
_ASSERTION = (
    "oauth2.grant",
    "oauth2.token_url",
    "oauth2.private_key",
    "oauth2.scope",
    "oauth2.client_id",
    "oauth2.assertion.scope_in",
    "oauth2.assertion.issuer",
    "oauth2.assertion.subject",
)


@dataclass(frozen=True, slots=True)
class AuthenticationMethod:
    """One way to authenticate, as a user chooses it for a new configuration.

    `fields` are those that it needs besides `ALWAYS`. Some belong to another method: a
    proposed fix may switch to that one, and a condition hides them until then.
    """

    name: str
    title: Text
    help: Text
    values: Mapping[str, object]
    fields: tuple[str, ...] = ()
    header: str = ""  # the usual name of the header that has the key
    parameter: str = ""  # the usual name of the query parameter that has the key

    def initial(self) -> "InitialValues":
        """Return the initial values of a new configuration's form."""
        headers: tuple[CustomHeader, ...] = ()
        query: tuple[QueryParameter, ...] = ()
        if self.header:
            headers = (CustomHeader(self.header, "", secret=True),)
        if self.parameter:
            query = (QueryParameter(self.parameter, "", secret=True),)
        return InitialValues(
            values=self.values,
            headers=headers,
            query=query,
            fields=(*ALWAYS, *self.fields),
        )


@dataclass(frozen=True, slots=True)
class InitialValues:
    """The initial values of a new configuration's form, and the fields shown first."""

    values: Mapping[str, object]
    headers: tuple[CustomHeader, ...] = ()
    query: tuple[QueryParameter, ...] = ()
    token_headers: tuple[TokenHeader, ...] = ()
    fields: tuple[str, ...] = field(default=ALWAYS)


METHODS = {
    method.name: method
    for method in (
        AuthenticationMethod(
            "api-key-header",
            Text("API key in a header"),
            Text("One key, sent in a header such as X-API-Key."),
            {"authentication_type": "none"},
            header="X-API-Key",
        ),
        AuthenticationMethod(
            "api-key-query",
            Text("API key in the URL"),
            Text("One key, sent as a query parameter such as api_key."),
            {"authentication_type": "none"},
            parameter="api_key",
        ),
        AuthenticationMethod(
            "basic",
            Text("Basic"),
            Text("A user name and a password."),
            {"authentication_type": "basic"},
            fields=("username", "password", "token"),
        ),
        AuthenticationMethod(
            "bearer",
            Text("Bearer token"),
            Text("A token that the provider gave you."),
            {"authentication_type": "bearer"},
            fields=("token", "token_expires_on", "username", "password"),
        ),
        AuthenticationMethod(
            "oauth2",
            Text("OAuth 2.0 for an application"),
            Text("A client ID and a client secret; no user is involved."),
            {
                "authentication_type": "bearer",
                "token_source": "oauth2",
                "oauth2.grant": "client_credentials",
            },
            fields=_OAUTH2,
        ),
        AuthenticationMethod(
            "oauth2-consent",
            Text("OAuth 2.0 with a user's consent"),
            Text("A user signs in at the provider and agrees, once."),
            {
                "authentication_type": "bearer",
                "token_source": "oauth2",
                "oauth2.grant": "authorization_code",
            },
            fields=_OAUTH2,
        ),
        AuthenticationMethod(
            "oauth2-assertion",
            Text("OAuth 2.0 with a signed assertion"),
            Text("A private key signs for a token, such as a service account's."),
            {
                "authentication_type": "bearer",
                "token_source": "oauth2",
                "oauth2.grant": "jwt_bearer",
            },
            fields=_ASSERTION,
        ),
        AuthenticationMethod(
            "oauth2-exchange",
            Text("OAuth 2.0 token exchange"),
            Text("The token of a user or a service, exchanged for one of the API."),
            {
                "authentication_type": "bearer",
                "token_source": "oauth2",
                "oauth2.grant": "token_exchange",
            },
            fields=_OAUTH2,
        ),
        AuthenticationMethod(
            "oauth2-federated",
            Text("OAuth 2.0 without a secret"),
            Text(
                "A token of your platform, such as Kubernetes, identifies the client."
            ),
            {
                "authentication_type": "bearer",
                "token_source": "oauth2",
                "oauth2.grant": "client_credentials",
                "oauth2.client_auth": "federated",
            },
            fields=_OAUTH2,
        ),
        AuthenticationMethod(
            "oauth1",
            Text("OAuth 1.0a"),
            Text(
                "A consumer key and its secret sign each request, often with a token."
            ),
            {"authentication_type": "oauth1"},
            fields=(
                "oauth1.consumer_key",
                "oauth1.consumer_secret",
                "oauth1.access_token",
                "oauth1.access_token_secret",
                "oauth1.signature_method",
                "oauth1.private_key",
                "oauth1.request_url",
                "oauth1.authorization_url",
                "oauth1.access_url",
            ),
        ),
        AuthenticationMethod(
            "login",
            Text("Login for a token"),
            Text("A user name and a password, exchanged for a token at the API."),
            {
                "authentication_type": "bearer",
                "token_source": "login",
                "login.body": '{"username": "{username}", "password": "{password}"}',
                "login.token": "access_token",
            },
            fields=(
                "username",
                "password",
                "login.path",
                "login.format",
                "login.body",
                "login.token",
            ),
        ),
        AuthenticationMethod(
            "login-steps",
            Text("Login in steps"),
            Text("Several requests for a token, or cookies that are a session."),
            {
                "authentication_type": "bearer",
                "token_source": "login",
                "login.steps": (
                    {"method": "GET", "path": "/start", "take": {"nonce": "nonce"}},
                    {
                        "path": "/login",
                        "body": '{"password": "{password}", "nonce": "{nonce}"}',
                        "take": {"session": "token"},
                    },
                ),
                "login.token": "{session}",
            },
            fields=(
                "username",
                "password",
                "login.steps",
                "login.token",
                "login.cookies",
            ),
        ),
        AuthenticationMethod(
            "aws",
            Text("AWS signature"),
            Text("An access key of AWS, or a role; each request is signed."),
            {"authentication_type": "aws_sigv4"},
            fields=(
                "aws.access_key_id",
                "aws.secret_access_key",
                "aws.region",
                "aws.service",
                "aws.role_arn",
                "aws.web_identity_token",
            ),
        ),
        AuthenticationMethod(
            "script",
            Text("Script"),
            Text("A short Python script signs each request."),
            {"authentication_type": "none"},
            fields=("secret_key", "script_enabled", "script"),
        ),
        AuthenticationMethod(
            "none",
            Text("None"),
            Text("A public API, or one for development."),
            {"authentication_type": "none"},
            fields=("environment", "no_auth_reason"),
        ),
    )
}


def method_of(configuration: Configuration) -> AuthenticationMethod:
    """Return the method that a configuration authenticates with."""
    match configuration.authentication_type:
        case AuthenticationType.NONE:
            name = _name_without_type(configuration)
        case AuthenticationType.BASIC | AuthenticationType.DIGEST:
            name = "basic"
        case AuthenticationType.BEARER:
            name = _name_of_token(configuration)
        case AuthenticationType.AWS_SIGV4:
            name = "aws"
        case AuthenticationType.OAUTH1:
            name = "oauth1"
        case other:
            assert_never(other)
    return METHODS[name]


def _name_of_token(configuration: Configuration) -> str:
    """Return the name of the method where the authentication type is `bearer`."""
    if configuration.uses_oauth2:
        return _name_of_oauth2(configuration.oauth2)
    if configuration.uses_login:
        return "login-steps" if configuration.login.steps else "login"
    return "bearer"


def _name_of_oauth2(settings: OAuth2Settings) -> str:
    """Return the name of the method where the token is one of OAuth 2.0."""
    match settings.grant:
        case Grant.AUTHORIZATION_CODE:
            return "oauth2-consent"
        case Grant.JWT_BEARER:
            return "oauth2-assertion"
        case Grant.TOKEN_EXCHANGE:
            return "oauth2-exchange"
        case _ if settings.client_auth is ClientAuth.FEDERATED:
            return "oauth2-federated"
        case _:
            return "oauth2"


def _name_without_type(configuration: Configuration) -> str:
    """Return the name of the method where the authentication type is `none`."""
    if configuration.is_scripted:
        return "script"
    if any(row.secret for row in configuration.query):
        return "api-key-query"
    if any(row.secret for row in configuration.headers):
        return "api-key-header"
    return "none"


def initial_values_of(
    configuration: Configuration, *, name: str = "", omit_filled: bool = False
) -> InitialValues:
    """Return a form that begins with the settings of a configuration, not its secrets.

    With `omit_filled` the form shows first only what is left to enter, as for a preset.
    """
    values = {**configuration.values(), "name": name or configuration.name}
    fields = [
        path
        for path in method_of(configuration).fields
        if not (omit_filled and is_filled(path, values))
    ]
    return InitialValues(
        values=values,
        headers=configuration.headers,
        query=configuration.query,
        token_headers=configuration.oauth2.token_headers,
        fields=(*ALWAYS, *fields),
    )


def is_filled(path: str, values: Mapping[str, object]) -> bool:
    """Whether a field has a value, so that a user need not enter one."""
    field = BY_PATH[path]
    return field.kind is Kind.FLAG or (not field.secret and bool(values.get(path)))
