"""The fields of the tab OAuth 1.0a."""

from functools import partial

from outkey.foundation.core.fields import choices
from outkey.foundation.core.fields.field_kinds import Field, Kind, Tab
from outkey.sending.core.configuration.field_tables.conditions import (
    BY_OAUTH1,
    BY_OAUTH1_KEY,
    BY_OAUTH1_SECRET,
)

oauth1 = partial(Field, Tab.OAUTH1, when=BY_OAUTH1)  # unless a row says more
rare_oauth1 = partial(Field, Tab.OAUTH1, when=BY_OAUTH1, rare=True)

FIELDS: tuple[Field, ...] = (
    oauth1(
        "oauth1.consumer_key",
        "Consumer Key",
        Kind.TEXT,
        required=True,
        help="The key that the provider has given this application; also client key.",
    ),
    oauth1(
        "oauth1.signature_method",
        "Signature Method",
        Kind.CHOICE,
        choices.SignatureMethod,
        default="HMAC-SHA1",
        help="How requests are signed; PLAINTEXT needs https.",
    ),
    oauth1(
        "oauth1.consumer_secret",
        "Consumer Secret",
        Kind.SECRET,
        when=BY_OAUTH1_SECRET,
        required=True,
        help="The secret that belongs to the Consumer Key; it signs every request.",
    ),
    oauth1(
        "oauth1.access_token",
        "Access Token",
        Kind.SECRET,
        help=(
            "The token of the account that requests are sent for. Without it, and"
            " without a Request URL, the application alone signs (two legs)."
        ),
    ),
    oauth1(
        "oauth1.access_token_secret",
        "Access Token Secret",
        Kind.SECRET,
        when=BY_OAUTH1_SECRET,
        help="The secret that belongs to the Access Token.",
    ),
    oauth1(
        "oauth1.private_key",
        "Private Key",
        Kind.SECRET,
        when=BY_OAUTH1_KEY,
        required=True,
        lines=True,
        help="The RSA key of this application, as unencrypted PEM or as a JWK.",
    ),
    rare_oauth1(
        "oauth1.realm",
        "Realm",
        Kind.TEXT,
        help="The realm in the header, if the provider expects one, as NetSuite does.",
    ),
    oauth1(
        "oauth1.request_url",
        "Request URL",
        Kind.ENDPOINT,
        help=(
            "The URL that issues temporary credentials, if a user authorizes the"
            " access (three legs)."
        ),
    ),
    oauth1(
        "oauth1.authorization_url",
        "Authorization URL",
        Kind.ENDPOINT,
        help="Where a user authorizes the access; at the Request URL's origin.",
    ),
    oauth1(
        "oauth1.access_url",
        "Access URL",
        Kind.ENDPOINT,
        help="The URL that issues the Access Token; at the Request URL's origin.",
    ),
)
