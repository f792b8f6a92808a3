"""The declarative table of a configuration's fields.

Forms, command line, TOML, documentation and every later host derive from it or are tested
against it. A field says what it is called, where it stands, what it takes and when it applies.
"""

from functools import partial

from outkey.core.config import choices
from outkey.core.config.field_kinds import Conditions, Field, Kind, Tab

_NONE = (("authentication_type", "none"),)
_BASIC = (("authentication_type", "basic"),)
_BEARER = (("authentication_type", "bearer"),)
_ENTERED = (*_BEARER, ("token_source", "entered"))
_OAUTH2 = (*_BEARER, ("token_source", "oauth2"))
_BY_REFRESH = (*_OAUTH2, ("oauth2.grant", "refresh_token"))
_BY_CODE = (*_OAUTH2, ("oauth2.grant", "authorization_code"))
_BY_DEVICE = (*_OAUTH2, ("oauth2.grant", "device_code"))

_general = partial(Field, Tab.GENERAL)
_auth = partial(Field, Tab.AUTHENTICATION)
_oauth2 = partial(Field, Tab.OAUTH2, when=_OAUTH2)  # unless a row says more
_rare = partial(Field, Tab.OAUTH2, when=_OAUTH2, rare=True)
_script = partial(Field, Tab.SCRIPT)
_tls = partial(Field, Tab.TLS)
_limits = partial(Field, Tab.LIMITS)
_verification = partial(Field, Tab.VERIFICATION)

# Not formatted, because it is a table: one row a field, with its help below.
FIELDS: tuple[Field, ...] = (
    _general(
        "name",
        "Name",
        Kind.TEXT,
        required=True,
        maximum=200,
        help="What you call this API; unique.",
    ),
    _general(
        "base_url",
        "Base URL",
        Kind.URL,
        required=True,
        help="Where the API lives, for example https://api.acme.example/v2.",
    ),
    _general(
        "environment",
        "Environment",
        Kind.CHOICE,
        choices.Environment,
        default="production",
        help="What the external system is used for.",
    ),
    _general(
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
    _general(
        "active",
        "Active",
        Kind.FLAG,
        default=True,
        help="Whether requests may be sent.",
    ),
    _general(
        "notes",
        "Notes",
        Kind.LONG_TEXT,
        help="For people: who to call, where the credentials came from. No secrets.",
    ),
    _auth(
        "authentication_type",
        "Authentication Type",
        Kind.CHOICE,
        choices.AuthenticationType,
        default="none",
        help="How each request proves who sends it.",
    ),
    _auth(
        "no_auth_reason",
        "Reason",
        Kind.CHOICE,
        choices.NoAuthReason,
        when=_NONE,
        help="Why no credentials are needed.",
    ),
    _auth(
        "username",
        "Username",
        Kind.TEXT,
        when=_BASIC,
        no_colon=True,
        help="The dedicated API user in the external system.",
    ),
    _auth(
        "password",
        "Password",
        Kind.SECRET,
        when=_BASIC,
        required=True,
        help="That user's password; sent as it is, blanks included.",
    ),
    _auth(
        "token_source",
        "Token Source",
        Kind.CHOICE,
        choices.TokenSource,
        when=_BEARER,
        default="entered",
        help="Where the token comes from.",
    ),
    _auth(
        "token",
        "Token",
        Kind.SECRET,
        when=_ENTERED,
        required=True,
        help="The token without the word Bearer.",
    ),
    _auth(
        "token_expires_on",
        "Token Expires On",
        Kind.DATE,
        when=_ENTERED,
        help="The last day the token is valid, if you know it.",
    ),
    _oauth2(
        "oauth2.grant",
        "Grant",
        Kind.CHOICE,
        choices.Grant,
        default="client_credentials",
        help=(
            "How tokens are got: as this application alone, or for a person who agreed"
            " to it."
        ),
    ),
    _oauth2(
        "oauth2.token_url",
        "Token URL",
        Kind.ENDPOINT,
        required=True,
        help="Where tokens are asked for, for example https://auth.acme.example/token.",
    ),
    _oauth2(
        "oauth2.client_id",
        "Client ID",
        Kind.TEXT,
        required=True,
        help="What the provider calls this application.",
    ),
    _oauth2(
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
    _oauth2(
        "oauth2.client_auth",
        "Client Authentication",
        Kind.CHOICE,
        choices.ClientAuth,
        default="body",
        help="How the application proves itself at the Token URL.",
    ),
    _oauth2(
        "oauth2.scope",
        "Scope",
        Kind.TEXT,
        help="The permissions to ask for, with blanks between them.",
    ),
    _rare(
        "oauth2.audience",
        "Audience",
        Kind.TEXT,
        help="The API that the token is for, where the provider wants it named so.",
    ),
    _rare(
        "oauth2.resource",
        "Resource",
        Kind.TEXT,
        help="The API that the token is for, as an address (RFC 8707).",
    ),
    _rare(
        "oauth2.extra",
        "Extra parameters",
        Kind.PAIRS,
        help=(
            "More parameters of the token request, one name = value a line. No secrets."
        ),
    ),
    _oauth2(
        "oauth2.refresh_token",
        "Refresh token",
        Kind.SECRET,
        when=_BY_REFRESH,
        required=True,
        to_token_url=True,
        help="An existing one to start from; its successors are kept by outkey.",
    ),
    _oauth2(
        "oauth2.authorization_url",
        "Authorization URL",
        Kind.ENDPOINT,
        when=_BY_CODE,
        required=True,
        help="Where a person agrees in the browser.",
    ),
    _oauth2(
        "oauth2.device_url",
        "Device URL",
        Kind.ENDPOINT,
        when=_BY_DEVICE,
        required=True,
        help="Where a device code is asked for; at the Token URL's origin.",
    ),
    _rare(
        "oauth2.revocation_url",
        "Revocation URL",
        Kind.ENDPOINT,
        help="Where tokens are given back; at the Token URL's origin.",
    ),
    _rare(
        "oauth2.introspection_url",
        "Introspection URL",
        Kind.ENDPOINT,
        help=(
            "Where the provider says what it thinks of a token; at the Token URL's"
            " origin."
        ),
    ),
    _rare(
        "oauth2.issuer",
        "Issuer",
        Kind.ENDPOINT,
        help="The authorization server's own name: whom signed assertions are for.",
    ),
    _rare(
        "oauth2.body_format",
        "Body format",
        Kind.CHOICE,
        choices.BodyFormat,
        default="form",
        help="How the token request is written; the standard is a form.",
    ),
    _rare(
        "oauth2.token_header",
        "Token header",
        Kind.TEXT,
        default="Authorization",
        help=(
            "Which header carries the token; any but Authorization gets it without"
            " Bearer."
        ),
    ),
    _rare(
        "oauth2.dpop",
        "DPoP",
        Kind.FLAG,
        help=(
            "Bind tokens to a key of our own, and prove it with each request (RFC"
            " 9449)."
        ),
    ),
    _rare(
        "oauth2.leeway_seconds",
        "Refresh leeway",
        Kind.SECONDS,
        default=60,
        maximum=3600,
        help=(
            "Seconds before its end that a token is renewed; at most a tenth of its"
            " life."
        ),
    ),
    _rare(
        "oauth2.default_lifetime_seconds",
        "Default lifetime",
        Kind.SECONDS,
        default=3300,
        minimum=1,
        maximum=31_536_000,
        help="Seconds that a token is taken to live where the provider does not say.",
    ),
    Field(
        Tab.HEADERS,
        "headers",
        "Headers",
        Kind.ROWS,
        help="Rows of Key, Value and Secret, sent with every request.",
    ),
    _script(
        "script_enabled",
        "Dynamic Authentication",
        Kind.FLAG,
        default=True,
        help="Whether the script below signs each request.",
    ),
    _script(
        "script",
        "Script",
        Kind.SCRIPT,
        help=(
            "Python with a function compute_auth_header(sync_line) that returns"
            " headers."
        ),
    ),
    _script(
        "secret_key",
        "Secret Key",
        Kind.SECRET,
        lines=True,
        help=(
            "What get_secret_key() returns; if it is not set, the Password or the"
            " Token."
        ),
    ),
    _tls(
        "tls.minimum_version",
        "Minimum version",
        Kind.CHOICE,
        choices.TlsVersion,
        default="1.2",
        help="The oldest TLS version that is accepted.",
    ),
    _tls(
        "tls.ca_file",
        "CA certificates",
        Kind.TEXT,
        help="A PEM file with certificate authorities to trust besides the system's.",
    ),
    _tls(
        "tls.client_certificate",
        "Client certificate",
        Kind.TEXT,
        help="A PEM file with the certificate that identifies this client.",
    ),
    _tls(
        "tls.client_key",
        "Client key",
        Kind.SECRET,
        lines=True,
        help="The private key of the client certificate, in PEM form.",
    ),
    _limits(
        "limits.connect_timeout",
        "Connect time-out",
        Kind.SECONDS,
        default=5,
        minimum=0.1,
        maximum=300,
        help="Seconds until a connection must stand.",
    ),
    _limits(
        "limits.read_timeout",
        "Read time-out",
        Kind.SECONDS,
        default=15,
        minimum=0.1,
        maximum=3600,
        help="Seconds of silence that are tolerated.",
    ),
    _limits(
        "limits.total_timeout",
        "Total time-out",
        Kind.SECONDS,
        default=60,
        minimum=0.1,
        maximum=3600,
        help="Seconds for the whole request with its waits, retries and redirects.",
    ),
    _limits(
        "limits.requests_per_minute",
        "Rate limit",
        Kind.INTEGER,
        minimum=1,
        maximum=1_000_000,
        help="Requests per minute at the most; empty means no limit.",
    ),
    _limits(
        "limits.response_mebibytes",
        "Response size",
        Kind.INTEGER,
        default=32,
        minimum=1,
        maximum=1024,
        help="Mebibytes that an answer may have, also after decompression.",
    ),
    _limits(
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
    _limits(
        "limits.runs_at_once",
        "Runs at once",
        Kind.INTEGER,
        default=2,
        minimum=1,
        maximum=50,
        help="How many sync lines of this configuration workers run at the same time.",
    ),
    _verification(
        "verification.test_path",
        "Test Path",
        Kind.TEXT,
        default="/",
        help="A path that answers only to valid credentials and changes nothing.",
    ),
    _verification(
        "verification.test_method",
        "Test Method",
        Kind.METHOD,
        default="GET",
        help="The method of the test request.",
    ),
    _verification(
        "verification.accepted_statuses",
        "Accepted statuses",
        Kind.STATUSES,
        default="200-299",
        help="The statuses that count as success in a test.",
    ),
    _verification(
        "verification.forbidden_means_expired",
        "403 means expired",
        Kind.FLAG,
        help="For APIs that answer 403 to an expired token.",
    ),
    _verification(
        "verification.expired_marker",
        "Expired marker",
        Kind.TEXT,
        help="A text in an error answer's body that means the token has expired.",
    ),
    _verification(
        "verification.compare",
        "Compare without credentials",
        Kind.FLAG,
        default=True,
        help=(
            "After a GET or HEAD that works, ask once more without credentials: "
            "a path that answers to everybody proves nothing."
        ),
    ),
    _verification(
        "verification.follow_clock",
        "Use the API's clock",
        Kind.FLAG,
        help=(
            "Let the timestamps of scripts and signed assertions follow the clock "
            "that the API shows in its Date header."
        ),
    ),
)

BY_PATH = {field.path: field for field in FIELDS}
SECTIONS = tuple(
    dict.fromkeys(path.partition(".")[0] for path in BY_PATH if "." in path)
)
SENT_TO_TOKEN_URL = tuple(field.secret_name for field in FIELDS if field.to_token_url)


def described(conditions: Conditions) -> str:
    """Return conditions as a person reads them."""
    return ", ".join(f"{BY_PATH[path].label} is {value}" for path, value in conditions)
