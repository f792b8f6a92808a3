"""The fields of the tabs Headers and Script: what is added to each request."""

from functools import partial

from outkey.foundation.core.fields.field_kinds import Field, Kind, Tab

script = partial(Field, Tab.SCRIPT)

FIELDS: tuple[Field, ...] = (
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
            " headers or query parameters."
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
)
