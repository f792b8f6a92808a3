"""The declarative table of a configuration's fields.

Forms, command line, TOML, documentation and every later host derive from it or are
tested against it: the name of a field, its place, what it takes and when it applies.
"""

from functools import partial

from outkey.foundation.core.fields import choices
from outkey.foundation.core.fields.field_kinds import Audited, Field, Kind, Tab
from outkey.sending.core.configuration.custom_rows import row_label

BY_NONE = (("authentication_type", ("none",)),)
BY_BASIC = (("authentication_type", ("basic",)),)
BY_PASSWORD = (("authentication_type", ("basic", "digest")),)
BY_BEARER = (("authentication_type", ("bearer",)),)
BY_ENTERED_TOKEN = (*BY_BEARER, ("token_source", ("entered",)))
BY_LOGIN = (*BY_BEARER, ("token_source", ("login",)))
BY_OAUTH2 = (*BY_BEARER, ("token_source", ("oauth2",)))
BY_REFRESH_TOKEN = (*BY_OAUTH2, ("oauth2.grant", ("refresh_token",)))
BY_AUTHORIZATION_CODE = (*BY_OAUTH2, ("oauth2.grant", ("authorization_code",)))
BY_DEVICE_CODE = (*BY_OAUTH2, ("oauth2.grant", ("device_code",)))

general = partial(Field, Tab.GENERAL)
authentication = partial(Field, Tab.AUTHENTICATION)
oauth2 = partial(Field, Tab.OAUTH2, when=BY_OAUTH2)  # unless a row says more
rare_oauth2 = partial(Field, Tab.OAUTH2, when=BY_OAUTH2, rare=True)
login = partial(Field, Tab.LOGIN, when=BY_LOGIN)
rare_login = partial(Field, Tab.LOGIN, when=BY_LOGIN, rare=True)
script = partial(Field, Tab.SCRIPT)
tls = partial(Field, Tab.TLS)
proxy = partial(Field, Tab.PROXY)
limits = partial(Field, Tab.LIMITS)
verification = partial(Field, Tab.VERIFICATION)

FIELDS: tuple[Field, ...] = (
    general(
        "name",
        "Name",
        Kind.TEXT,
        required=True,
        maximum=200,
        help="The name of this API; must be unique.",
    ),
    general(
        "base_url",
        "Base URL",
        Kind.URL,
        required=True,
        help="The URL of the API, for example https://api.acme.example/v2.",
    ),
    general(
        "environment",
        "Environment",
        Kind.CHOICE,
        choices.Environment,
        default="production",
        help="What the external system is used for.",
    ),
    general(
        "network",
        "Network",
        Kind.CHOICE,
        choices.Network,
        default="public",
        help=(
            "Public internet means https and global addresses only; "
            "Internal trusted network permits private addresses and plain http."
        ),
    ),
    general(
        "active",
        "Active",
        Kind.FLAG,
        default=True,
        help="Whether requests may be sent.",
    ),
    general(
        "notes",
        "Notes",
        Kind.LONG_TEXT,
        help="A contact, where the credentials came from, and the like. No secrets.",
    ),
    general(
        "preset",
        "Preset",
        Kind.TEXT,
        maximum=100,
        rare=True,
        help="The preset that this configuration was made from, if any.",
    ),
    general(
        "preset_day",
        "Preset as of",
        Kind.DATE,
        rare=True,
        help="The state of that preset; a check reports later corrections.",
    ),
    authentication(
        "authentication_type",
        "Authentication Type",
        Kind.CHOICE,
        choices.AuthenticationType,
        default="none",
        is_always_written=True,
        help="How requests authenticate.",
    ),
    authentication(
        "no_auth_reason",
        "Reason",
        Kind.CHOICE,
        choices.NoAuthReason,
        when=BY_NONE,
        help="Why no credentials are needed.",
    ),
    authentication(
        "username",
        "Username",
        Kind.TEXT,
        when=BY_PASSWORD,
        or_when=BY_LOGIN,
        no_colon=True,
        help="The dedicated API user in the external system.",
    ),
    authentication(
        "password",
        "Password",
        Kind.SECRET,
        when=BY_PASSWORD,
        or_when=BY_LOGIN,
        required=True,
        help="The password of that user; sent exactly as entered, with spaces.",
    ),
    authentication(
        "key_as_username",
        "Key as user name",
        Kind.FLAG,
        when=BY_BASIC,
        rare=True,
        help=(
            "For APIs that expect their key as the user name: the Password is sent in"
            " the place of the user name, and the Username, often empty, in that of"
            " the password."
        ),
    ),
    authentication(
        "token_source",
        "Token Source",
        Kind.CHOICE,
        choices.TokenSourceKind,
        when=BY_BEARER,
        default="entered",
        help="Where the token comes from.",
    ),
    authentication(
        "token",
        "Token",
        Kind.SECRET,
        when=BY_ENTERED_TOKEN,
        required=True,
        help="The token without the word Bearer.",
    ),
    authentication(
        "token_expires_on",
        "Token Expires On",
        Kind.DATE,
        when=BY_ENTERED_TOKEN,
        help="The last day the token is valid, if you know it.",
    ),
    authentication(
        "token_header",
        "Token header",
        Kind.TEXT,
        when=BY_BEARER,
        default="Authorization",
        maximum=256,
        rare=True,
        help=(
            "The header with the token; cookie:NAME for a cookie, query:NAME"
            " for a parameter of the URL."
        ),
    ),
    authentication(
        "token_prefix",
        "Token prefix",
        Kind.TEXT,
        when=BY_BEARER,
        maximum=64,
        is_nullable=True,
        rare=True,
        help=(
            "The word before the token. Not set: Bearer in Authorization, and no word"
            ' elsewhere. For no word: a hyphen (-), or "" in TOML and HTTP.'
        ),
    ),
    oauth2(
        "oauth2.grant",
        "Grant",
        Kind.CHOICE,
        choices.Grant,
        default="client_credentials",
        help=(
            "How tokens are obtained: for this application itself, or for a user who"
            " has given consent."
        ),
    ),
    oauth2(
        "oauth2.token_url",
        "Token URL",
        Kind.ENDPOINT,
        required=True,
        help="The URL that issues tokens, for example https://auth.acme.example/token.",
    ),
    oauth2(
        "oauth2.client_id",
        "Client ID",
        Kind.TEXT,
        required=True,
        help="The ID that the provider has given this application.",
    ),
    oauth2(
        "oauth2.client_secret",
        "Client Secret",
        Kind.SECRET,
        to_token_url=True,
        lines=True,
        help=(
            "The application's secret; for private key JWT its private key, as PEM or"
            " JWK."
        ),
    ),
    oauth2(
        "oauth2.client_auth",
        "Client Authentication",
        Kind.CHOICE,
        choices.ClientAuth,
        default="body",
        help="How the application authenticates at the Token URL.",
    ),
    oauth2(
        "oauth2.scope",
        "Scope",
        Kind.TEXT,
        help="The permissions to request, separated by spaces.",
    ),
    rare_oauth2(
        "oauth2.audience",
        "Audience",
        Kind.TEXT,
        help="The API that the token is for, if the provider expects this parameter.",
    ),
    rare_oauth2(
        "oauth2.resource",
        "Resource",
        Kind.TEXT,
        help="The API that the token is for, as a URL (RFC 8707).",
    ),
    rare_oauth2(
        "oauth2.extra",
        "Extra parameters",
        Kind.PAIRS,
        help=(
            "More parameters of the token request, one name = value per line."
            " No secrets."
        ),
    ),
    oauth2(
        "oauth2.refresh_token",
        "Refresh token",
        Kind.SECRET,
        when=BY_REFRESH_TOKEN,
        required=True,
        to_token_url=True,
        help="An existing refresh token to start with; outkey stores its successors.",
    ),
    oauth2(
        "oauth2.authorization_url",
        "Authorization URL",
        Kind.ENDPOINT,
        when=BY_AUTHORIZATION_CODE,
        required=True,
        help="The page where a user gives consent in the browser.",
    ),
    oauth2(
        "oauth2.device_url",
        "Device URL",
        Kind.ENDPOINT,
        when=BY_DEVICE_CODE,
        required=True,
        help="The URL that issues device codes; at the Token URL's origin.",
    ),
    rare_oauth2(
        "oauth2.revocation_url",
        "Revocation URL",
        Kind.ENDPOINT,
        help="The URL that revokes tokens; at the Token URL's origin.",
    ),
    rare_oauth2(
        "oauth2.introspection_url",
        "Introspection URL",
        Kind.ENDPOINT,
        help=(
            "The URL where the provider reports whether a token is active; at the"
            " Token URL's origin."
        ),
    ),
    rare_oauth2(
        "oauth2.issuer",
        "Issuer",
        Kind.ENDPOINT,
        help="The authorization server's identifier, which signed assertions name.",
    ),
    rare_oauth2(
        "oauth2.body_format",
        "Body format",
        Kind.CHOICE,
        choices.BodyFormat,
        default="form",
        help="The format of the token request; the standard is a form.",
    ),
    rare_oauth2(
        "oauth2.dpop",
        "DPoP",
        Kind.FLAG,
        help=(
            "Bind tokens to a key of this configuration, and prove possession of the"
            " key with each request (RFC 9449)."
        ),
    ),
    rare_oauth2(
        "oauth2.leeway_seconds",
        "Refresh leeway",
        Kind.SECONDS,
        default=60,
        maximum=3600,
        help=(
            "Seconds before its expiry that a token is renewed; at most a tenth of its"
            " lifetime."
        ),
    ),
    rare_oauth2(
        "oauth2.default_lifetime_seconds",
        "Default lifetime",
        Kind.SECONDS,
        default=3300,
        minimum=1,
        maximum=31_536_000,
        help="Seconds that a token is assumed to last if the provider does not"
        " state it.",
    ),
    login(
        "login.path",
        "Login path",
        Kind.TEXT,
        audited=Audited.PATH,
        required=True,
        help="The path below the Base URL that issues a token, such as /auth/login.",
    ),
    rare_login(
        "login.method",
        "Login method",
        Kind.METHOD,
        default="POST",
        help="The method of the login request.",
    ),
    login(
        "login.format",
        "Login format",
        Kind.CHOICE,
        choices.BodyFormat,
        default="json",
        help="The format of the login request.",
    ),
    login(
        "login.body",
        "Login body",
        Kind.LONG_TEXT,
        required=True,
        help=(
            "The body of the login request. {username}, {password} and {secret_key}"
            " are replaced by the fields of that name, encoded for the format."
        ),
    ),
    login(
        "login.token",
        "Token in the response",
        Kind.TEXT,
        required=True,
        help=(
            "Where the response has the token: a JMESPath such as data.access_token,"
            " header:NAME or cookie:NAME."
        ),
    ),
    login(
        "login.expires_in",
        "Expiry in the response",
        Kind.TEXT,
        help="Where the response has the lifetime of the token, as a JMESPath.",
    ),
    login(
        "login.expires_unit",
        "Expiry unit",
        Kind.CHOICE,
        choices.ExpiryUnit,
        default="s",
        help="What the expiry in the response means.",
    ),
    login(
        "login.lifetime_seconds",
        "Lifetime",
        Kind.SECONDS,
        default=3300,
        minimum=1,
        maximum=31_536_000,
        help="Seconds that a token is assumed to last if the response does not"
        " state it.",
    ),
    rare_login(
        "login.refresh_path",
        "Refresh path",
        Kind.TEXT,
        audited=Audited.PATH,
        help="The path that renews a token; without it the login is repeated.",
    ),
    rare_login(
        "login.refresh_body",
        "Refresh body",
        Kind.LONG_TEXT,
        help="The body of the refresh request; {refresh_token} is replaced.",
    ),
    rare_login(
        "login.refresh_token",
        "Refresh token in the response",
        Kind.TEXT,
        help="Where the response has the refresh token, as for the token.",
    ),
    rare_login(
        "login.logout_path",
        "Logout path",
        Kind.TEXT,
        audited=Audited.PATH,
        help="The path that ends the session; used when the token is revoked.",
    ),
    Field(
        Tab.HEADERS,
        "headers",
        "Headers",
        Kind.ROWS,
        help="Rows of Key, Value and Secret, sent with every request.",
    ),
    Field(
        Tab.HEADERS,
        "query",
        "Query parameters",
        Kind.ROWS,
        help="Rows of Key, Value and Secret, added to the URL of every request.",
    ),
    script(
        "script_enabled",
        "Dynamic Authentication",
        Kind.FLAG,
        default=True,
        help="Whether the script below signs each request.",
    ),
    script(
        "script",
        "Script",
        Kind.SCRIPT,
        help=(
            "Python with a function compute_auth_header(sync_line) that returns"
            " headers."
        ),
    ),
    script(
        "secret_key",
        "Secret Key",
        Kind.SECRET,
        lines=True,
        help=(
            "The secret that get_secret_key() returns; if it is not set, the Password"
            " or the Token."
        ),
    ),
    tls(
        "tls.minimum_version",
        "Minimum version",
        Kind.CHOICE,
        choices.TlsVersion,
        default="1.2",
        help="The oldest TLS version that is accepted.",
    ),
    tls(
        "tls.ca_file",
        "CA certificates",
        Kind.TEXT,
        help="A PEM file with certificate authorities to trust besides the system's.",
    ),
    tls(
        "tls.client_certificate",
        "Client certificate",
        Kind.TEXT,
        help="A PEM file with the certificate that identifies this client.",
    ),
    tls(
        "tls.client_key",
        "Client key",
        Kind.SECRET,
        lines=True,
        help="The private key of the client certificate, in PEM form.",
    ),
    proxy(
        "proxy.url",
        "Proxy URL",
        Kind.PROXY,
        help=(
            "The proxy that requests go through, such as http://proxy.example:3128;"
            " empty for none."
        ),
    ),
    proxy(
        "proxy.username",
        "Proxy user",
        Kind.TEXT,
        no_colon=True,
        help="The user at the proxy, if it asks for one.",
    ),
    proxy(
        "proxy.password",
        "Proxy password",
        Kind.SECRET,
        stored_as="proxy_password",
        help="The password at the proxy; it is never sent to the API.",
    ),
    limits(
        "limits.connect_timeout",
        "Connect timeout",
        Kind.SECONDS,
        default=5,
        minimum=0.1,
        maximum=300,
        help="Seconds until a connection must be established.",
    ),
    limits(
        "limits.read_timeout",
        "Read timeout",
        Kind.SECONDS,
        default=15,
        minimum=0.1,
        maximum=3600,
        help="Seconds without any data that are tolerated.",
    ),
    limits(
        "limits.total_timeout",
        "Total timeout",
        Kind.SECONDS,
        default=60,
        minimum=0.1,
        maximum=choices.LONGEST_TIMEOUT,
        help="Seconds for the whole request, with its waits, retries and redirects.",
    ),
    limits(
        "limits.requests_per_minute",
        "Rate limit",
        Kind.INTEGER,
        minimum=1,
        maximum=1_000_000,
        help="The maximum of requests per minute; empty means no limit.",
    ),
    limits(
        "limits.response_mebibytes",
        "Response size",
        Kind.INTEGER,
        default=32,
        minimum=1,
        maximum=1024,
        help="The maximum size of a response in mebibytes, also after decompression.",
    ),
    limits(
        "limits.retries",
        "Retries",
        Kind.INTEGER,
        default=2,
        maximum=10,
        help=(
            "How often an idempotent request is repeated after 429, 502, 503, 504 "
            "or a failed connection."
        ),
    ),
    limits(
        "limits.runs_at_once",
        "Runs at once",
        Kind.INTEGER,
        default=2,
        minimum=1,
        maximum=50,
        help="How many sync lines of this configuration run at the same time.",
    ),
    verification(
        "verification.test_path",
        "Test Path",
        Kind.TEXT,
        audited=Audited.PATH,
        default="/",
        help="A path that succeeds only with valid credentials and changes nothing.",
    ),
    verification(
        "verification.test_method",
        "Test Method",
        Kind.METHOD,
        default="GET",
        help="The method of the test request.",
    ),
    verification(
        "verification.accepted_statuses",
        "Accepted statuses",
        Kind.STATUSES,
        default="200-299",
        help="The statuses that count as success in a test.",
    ),
    verification(
        "verification.forbidden_means_expired",
        "403 means expired",
        Kind.FLAG,
        help="For APIs that respond with 403 to an expired token.",
    ),
    verification(
        "verification.expired_statuses",
        "Expired statuses",
        Kind.STATUSES,
        default="401",
        help=(
            "The statuses that mean that the token has expired, such as 401, 498. 401 "
            "always belongs to them."
        ),
    ),
    verification(
        "verification.expired_marker",
        "Expired marker",
        Kind.TEXT,
        help=(
            "A text that means that the token has expired, in the first 64 KiB of a "
            "response of any status, also 200."
        ),
    ),
    verification(
        "verification.compare",
        "Compare without credentials",
        Kind.FLAG,
        default=True,
        help=(
            "After a successful GET or HEAD, repeat the request without credentials: "
            "a path that succeeds for everybody proves nothing."
        ),
    ),
    verification(
        "verification.follow_clock",
        "Use the API's clock",
        Kind.FLAG,
        help=(
            "Let the timestamps of scripts and signed assertions follow the API's "
            "clock, as its Date header shows it."
        ),
    ),
)

BY_PATH = {field.path: field for field in FIELDS}
# Paths of version 0.1 that have other names now.
FORMER_KEYS = {"oauth2.token_header": "token_header"}
SECTIONS = tuple(
    dict.fromkeys(path.partition(".")[0] for path in BY_PATH if "." in path)
)
SECRET_LABELS = {field.secret_name: field.label for field in FIELDS if field.secret}
PATHS_OF_SECRETS = {field.secret_name: field.path for field in FIELDS if field.secret}
SENT_TO_TOKEN_URL = tuple(field.secret_name for field in FIELDS if field.to_token_url)


def secret_label(name: str) -> str:
    """Return a secret as a user knows it: the label of its field, or its row."""
    return SECRET_LABELS.get(name, row_label(name))
