"""The fields of the tab Authentication."""

from functools import partial

from outkey.foundation.core.fields import choices
from outkey.foundation.core.fields.field_kinds import Field, Kind, Tab
from outkey.sending.core.configuration.field_tables.conditions import (
    BY_BASIC,
    BY_BEARER,
    BY_ENCODED_TOKEN,
    BY_ENTERED_TOKEN,
    BY_LOGIN,
    BY_NONE,
    BY_PASSWORD,
    BY_PASSWORD_GRANT,
)

authentication = partial(Field, Tab.AUTHENTICATION)

FIELDS: tuple[Field, ...] = (
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
        or_when=(BY_LOGIN, BY_ENCODED_TOKEN, BY_PASSWORD_GRANT),
        no_colon=True,
        help="The dedicated API user in the external system.",
    ),
    authentication(
        "password",
        "Password",
        Kind.SECRET,
        when=BY_PASSWORD,
        or_when=(BY_LOGIN, BY_PASSWORD_GRANT),
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
    authentication(
        "token_value",
        "Token value",
        Kind.TEXT,
        when=BY_BEARER,
        default="{token}",
        maximum=1024,
        rare=True,
        help=(
            "What is sent as the token: a text with {token}, and {username} where the"
            " API expects it, such as {username}:{token}."
        ),
    ),
    authentication(
        "token_encoding",
        "Token encoding",
        Kind.CHOICE,
        choices.TokenEncoding,
        when=BY_BEARER,
        default="none",
        rare=True,
        help="How the Token value is encoded before it is sent.",
    ),
)
