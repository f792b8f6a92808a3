"""The kinds of authentication that API clients name alike: Postman, Insomnia, Bruno.

Each has other names for the same settings; all of them are tried.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from outkey.foundation.core.fields.choices import SignatureMethod
from outkey.foundation.core.findings.checks import Level
from outkey.foundation.core.text import Text
from outkey.importing.core.readers.tree import Table, text_of
from outkey.importing.core.report import ImportReport, shown_name
from outkey.importing.core.seen import (
    Auth,
    AwsAuth,
    KeyAuth,
    LoginAuth,
    OAuth1Auth,
    OAuth2Auth,
    PasswordAuth,
    TokenAuth,
)
from outkey.importing.core.token_requests import EXPIRY_PATH, TOKEN_PATH
from outkey.sending.core.configuration.placeholders import (
    is_placeholder,
    is_secret_parameter,
    is_secret_value,
)

# Returns a setting under the first of some names that has a value, "" without one.
Get = Callable[..., str]
_SCRIPTS = frozenset({"jwt", "hawk", "edgegrid", "akamai-edgegrid", "wsse"})
_GRANTS = {
    "client_credentials": "client_credentials",
    "clientCredentials": "client_credentials",
    "application": "client_credentials",
    "authorization_code": "authorization_code",
    "authorization_code_with_pkce": "authorization_code",
    "authorizationCode": "authorization_code",
    "accessCode": "authorization_code",
    "device_code": "device_code",
    "deviceAuthorization": "device_code",
    "refresh_token": "refresh_token",
    "password": "password",
    "password_credentials": "password",
    "implicit": "implicit",
}


@dataclass(frozen=True, slots=True, repr=False)
class OAuth2Facts:
    """The OAuth 2.0 settings of a format, in outkey's names."""

    grant: str = ""
    token_url: str = ""
    authorization_url: str = ""
    device_url: str = ""
    refresh_url: str = ""
    client_id: str = ""
    client_secret: str = ""
    scope: str = ""
    audience: str = ""
    resource: str = ""
    client_auth: str = ""
    prefix: str | None = None
    header: str = "Authorization"
    username: str = ""
    password: str = ""
    access_token: str = ""
    refresh_token: str = ""
    issuer: str = ""
    extra: Mapping[str, str] = field(default_factory=dict)


def auth_of_kind(
    kind: str, get: Get, report: ImportReport, extra: Mapping[str, str] | None = None
) -> tuple[Auth, ...]:
    """Return the credentials of an authentication type; `get` reads its settings.

    `extra` are more parameters of a token request.
    """
    name = kind.lower().replace("_", "-")
    if name in {"", "none", "noauth", "inherit"}:
        return ()
    if name == "oauth2":
        facts = _oauth2_facts(get)
        if extra:
            facts = replace(facts, extra=plain_extra(extra, report))
        return oauth2_auth(facts, report)
    if name in MAKERS:
        return MAKERS[name](get)
    _refuse_kind(name, report)
    return ()


def settings_getter(settings: Table, resolve: Callable[[str], str]) -> Get:
    """Return a reader of settings; `resolve` fills in the variables of a text."""

    def get(*names: str) -> str:
        texts = (text_of(settings.get(name)) for name in names)
        return resolve(next(filter(None, texts), ""))

    return get


def _basic_auth(get: Get) -> tuple[Auth, ...]:
    """Return user and password."""
    return (PasswordAuth(get("username"), get("password") or None),)


def _digest_auth(get: Get) -> tuple[Auth, ...]:
    """Return user and password for Digest."""
    password = get("password") or None
    return (PasswordAuth(get("username"), password, is_digest=True),)


def _bearer_auth(get: Get) -> tuple[Auth, ...]:
    """Return a token."""
    return (TokenAuth(get("token"), get("prefix") or None),)


def _refuse_kind(kind: str, report: ImportReport) -> None:
    """Report an authentication type that outkey does not support."""
    item = shown_name("authentication", kind)
    if kind in _SCRIPTS:
        why = Text("write a script for it: the guide to scripts has examples")
    else:
        why = Text("outkey does not have this kind of authentication")
    report.note_dropped(item, why, Level.ERROR)


def _key_auth(get: Get) -> tuple[Auth, ...]:
    """Return a key in a header, a parameter or a cookie."""
    place = get("in", "addTo", "placement").lower()
    kind = "query" if "quer" in place else "cookie" if "cookie" in place else "header"
    name = get("key", "name")
    if not name:
        return ()
    return (KeyAuth(name, get("value"), kind),)


def aws_auth(get: Get) -> tuple[Auth, ...]:
    """Return the keys of AWS."""
    keys = AwsAuth(
        get("accessKey", "accessKeyId"),
        get("secretKey", "secretAccessKey"),
        get("region"),
        get("service"),
        session_token=get("sessionToken"),
    )
    return (keys,)


def _oauth1_auth(get: Get) -> tuple[Auth, ...]:
    """Return the settings of OAuth 1.0a."""
    token = get("token", "tokenKey", "accessToken", "access_token")
    secrets = {"consumer_secret": get("consumerSecret", "consumer_secret")}
    method = get("signatureMethod", "signature_method", "signatureEncoding")
    if method == SignatureMethod.RSA_SHA1:
        secrets = {"private_key": _private_key(get)}
    if token:
        secrets["access_token"] = token
        if method != SignatureMethod.RSA_SHA1:
            secrets["access_token_secret"] = get(
                "tokenSecret", "token_secret", "accessTokenSecret"
            )
    settings = {
        "consumer_key": get("consumerKey", "consumer_key"),
        "signature_method": method,
        "realm": get("realm"),
        "request_url": get("requestTokenUrl"),
        "authorization_url": get("authorizationUrl", "authorizeUrl"),
        "access_url": get("accessTokenUrl"),
    }
    return (OAuth1Auth(settings, secrets),)


def _private_key(get: Get) -> str:
    """Return a private key; "" for one that is in a file of its own (Bruno)."""
    key = get("privateKey", "private_key")
    is_path = get("privateKeyType") == "file" or key.startswith("@file(")
    return "" if is_path else key


MAKERS: Mapping[str, Callable[[Get], tuple[Auth, ...]]] = {
    "basic": _basic_auth,
    "digest": _digest_auth,
    "bearer": _bearer_auth,
    "oauth1": _oauth1_auth,
    "apikey": _key_auth,
    "api-key": _key_auth,
    "awsv4": aws_auth,
    "iam": aws_auth,
    "aws-iam": aws_auth,
}


def _oauth2_facts(get: Get) -> OAuth2Facts:
    """Return the settings of OAuth 2.0."""
    sent_as = get("client_authentication", "credentials_placement")
    credentials_in_body = get("credentialsInBody")
    client_auth = "body" if sent_as == "body" else ""
    if sent_as in {"header", "basic_auth_header"} or credentials_in_body == "false":
        client_auth = "basic"
    place = get("addTokenTo", "token_placement").lower()
    is_in_url = "quer" in place or place == "url"
    header = "query:access_token" if is_in_url else "Authorization"
    return OAuth2Facts(
        grant=get("grant_type", "grantType"),
        token_url=get("accessTokenUrl", "access_token_url"),
        authorization_url=get("authUrl", "authorizationUrl", "authorization_url"),
        refresh_url=get("refreshTokenUrl", "refresh_token_url"),
        client_id=get("clientId", "client_id"),
        client_secret=get("clientSecret", "client_secret"),
        scope=get("scope"),
        audience=get("audience"),
        resource=get("resource"),
        client_auth=client_auth,
        prefix=get("headerPrefix", "tokenPrefix", "token_header_prefix") or None,
        header=header,
        username=get("username"),
        password=get("password"),
        access_token=get("accessToken"),
        refresh_token=get("refreshToken"),
    )


def oauth2_auth(facts: OAuth2Facts, report: ImportReport) -> tuple[Auth, ...]:
    """Return OAuth 2.0 in the form that outkey can do, and report the rest."""
    grant = _GRANTS.get(facts.grant, facts.grant)
    if facts.refresh_url and facts.refresh_url != facts.token_url:
        report.note_dropped("refresh URL", Text("tokens are renewed at the Token URL"))
    if grant == "implicit" or (not facts.token_url and facts.access_token):
        report.note_changed(
            "grant_type", Text("outkey cannot obtain such tokens: enter the token")
        )
        return (TokenAuth(facts.access_token, facts.prefix, facts.header),)
    if grant == "password":
        return (_password_login(facts, report),)
    if facts.access_token:
        report.note_dropped(
            "access token", Text("outkey obtains its own"), Level.NOTICE
        )
    is_public = grant != "client_credentials" and not facts.client_secret
    settings: dict[str, object] = {
        "grant": _chosen_grant(grant, facts, report),
        "token_url": facts.token_url,
        "authorization_url": facts.authorization_url,
        "device_url": facts.device_url,
        "client_id": "" if is_placeholder(facts.client_id) else facts.client_id,
        "client_auth": facts.client_auth,
        "scope": facts.scope,
        "audience": facts.audience,
        "resource": facts.resource,
        "issuer": facts.issuer,
        "extra": dict(facts.extra),
    }
    refresh_token = facts.refresh_token
    return (
        OAuth2Auth(
            {
                name: value
                for name, value in settings.items()
                if not (isinstance(value, str) and "{{" in value)
            },
            None if is_public else facts.client_secret,
            refresh_token if settings["grant"] == "refresh_token" else None,
            facts.prefix,
            facts.header,
        ),
    )


def _chosen_grant(grant: str, facts: OAuth2Facts, report: ImportReport) -> str:
    """Return the grant, or another where the URL that it needs is missing."""
    needed_urls = {
        "authorization_code": facts.authorization_url,
        "device_code": facts.device_url,
        "client_credentials": "nothing",
        "refresh_token": "nothing",
    }
    if needed_urls.get(grant):
        return grant
    report.note_changed(
        "grant_type",
        Text(
            "this grant needs more than is there: enter a refresh token, or choose the"
            " grant and its URLs"
        ),
    )
    return "refresh_token"


def _password_login(facts: OAuth2Facts, report: ImportReport) -> LoginAuth:
    """Return the password grant as a login with user and password."""
    report.note_changed(
        "grant_type", Text("the password grant became a login with user and password")
    )
    body = "grant_type=password&username={username}&password={password}"
    if facts.client_id and not is_placeholder(facts.client_id):
        body += f"&client_id={facts.client_id}"
    secret_key = None
    if facts.client_secret:
        body += "&client_secret={secret_key}"
        secret_key = facts.client_secret
    if facts.scope and "{" not in facts.scope:
        body += f"&scope={facts.scope}"
    settings = {
        "format": "form",
        "body": body,
        "token": TOKEN_PATH,
        "expires_in": EXPIRY_PATH,
    }
    return LoginAuth(
        facts.token_url, settings, facts.username, facts.password, secret_key
    )


def plain_extra(parameters: Mapping[str, str], report: ImportReport) -> dict[str, str]:
    """Return the extra parameters of a token request that are no secrets."""
    extra = {}
    for name, value in parameters.items():
        is_secret = is_secret_parameter(name) or is_secret_value(value)
        if is_secret or "{{" in value:
            report.note_dropped(
                shown_name("parameter", name),
                Text("a token request takes no other secrets than its own"),
            )
        else:
            extra[name] = value
    return extra
