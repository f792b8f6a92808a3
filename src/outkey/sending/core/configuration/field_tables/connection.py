"""The fields of the tabs TLS, Proxy and Limits."""

from functools import partial

from outkey.foundation.core.fields import choices
from outkey.foundation.core.fields.field_kinds import Field, Kind, Tab

tls = partial(Field, Tab.TLS)
proxy = partial(Field, Tab.PROXY)
limits = partial(Field, Tab.LIMITS)

FIELDS: tuple[Field, ...] = (
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
        "limits.rate_headers",
        "Stated budget",
        Kind.CHOICE,
        choices.RateHeaders,
        default="runs",
        help=(
            "The requests that wait when the API states that none is left"
            " (X-RateLimit-Remaining: 0), until the reset that it states."
        ),
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
)
