"""The fields of CSRF tokens, on the tab Headers and query."""

from functools import partial

from outkey.foundation.core.fields.field_kinds import Audited, Field, Kind, Tab

csrf = partial(Field, Tab.HEADERS, rare=True)

FIELDS: tuple[Field, ...] = (
    csrf(
        "csrf.path",
        "CSRF path",
        Kind.TEXT,
        audited=Audited.PATH,
        help=(
            "The path below the Base URL where a GET fetches a CSRF token, such as"
            " /odata/ of SAP. Without it no CSRF token is sent."
        ),
    ),
    csrf(
        "csrf.header",
        "CSRF header",
        Kind.TEXT,
        default="X-CSRF-Token",
        maximum=256,
        help=(
            "The header that fetches the token (with the value Fetch) and contains it."
        ),
    ),
    csrf(
        "csrf.methods",
        "CSRF methods",
        Kind.LIST,
        default=("POST", "PUT", "PATCH", "DELETE"),
        maximum=10,
        audited=Audited.VALUE,
        help="The methods of the requests that have the token and its cookies.",
    ),
    csrf(
        "csrf.lifetime_seconds",
        "CSRF lifetime",
        Kind.SECONDS,
        default=1800,
        minimum=1,
        maximum=86_400,
        help="Seconds until another token is fetched.",
    ),
)
