"""The fields of the tab OAuth 2.0."""

from functools import partial

from outkey.foundation.core.fields import choices
from outkey.foundation.core.fields.field_kinds import Field, Kind, Tab
from outkey.sending.core.configuration.field_tables.conditions import (
    BY_AUTHORIZATION_CODE,
    BY_CLIENT_SECRET,
    BY_DEVICE_CODE,
    BY_ENTERED_SUBJECT,
    BY_FEDERATED,
    BY_JWT_BEARER,
    BY_NAMED_CLIENT,
    BY_OAUTH2,
    BY_REFRESH_TOKEN,
    BY_REFRESHING,
    BY_SIGNED_CLIENT,
    BY_TOKEN_EXCHANGE,
)

ACCESS_TOKEN_TYPE = "urn:ietf:params:oauth:token-type:access_token"  # noqa: S105 - public
oauth2 = partial(Field, Tab.OAUTH2, when=BY_OAUTH2)  # unless a row says more
rare_oauth2 = partial(Field, Tab.OAUTH2, when=BY_OAUTH2, rare=True)
assertion = partial(
    Field,
    Tab.OAUTH2,
    when=BY_SIGNED_CLIENT,
    or_when=(BY_JWT_BEARER,),
    rare=True,
    is_strict=True,
)
grant_assertion = partial(Field, Tab.OAUTH2, when=BY_JWT_BEARER, is_strict=True)

FIELDS: tuple[Field, ...] = (
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
        takes_variables=True,
        required=True,
        help="The URL that issues tokens, for example https://auth.acme.example/token.",
    ),
    oauth2(
        "oauth2.client_id",
        "Client ID",
        Kind.TEXT,
        required_when=BY_NAMED_CLIENT,
        help="The ID that the provider has given this application.",
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
        "oauth2.client_secret",
        "Client Secret",
        Kind.SECRET,
        when=BY_CLIENT_SECRET,
        to_token_url=True,
        lines=True,
        help=(
            "The application's secret; for private key JWT its private key, as PEM or"
            " JWK."
        ),
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
        "oauth2.client_assertion",
        "Client assertion",
        Kind.SECRET,
        when=BY_FEDERATED,
        required=True,
        to_token_url=True,
        is_strict=True,
        only_reference=True,
        help=(
            "Where the token of the other issuer is: a reference to a file or an"
            " environment variable, read with each token request and never stored."
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
        "oauth2.subject_token_from",
        "Subject comes from",
        Kind.CHOICE,
        choices.SubjectSource,
        default="reference",
        when=BY_TOKEN_EXCHANGE,
        is_strict=True,
        help=(
            "Whether this configuration has the token that is exchanged, or each"
            " request brings the one of its user."
        ),
    ),
    oauth2(
        "oauth2.subject_token",
        "Subject token",
        Kind.SECRET,
        when=BY_ENTERED_SUBJECT,
        required=True,
        to_token_url=True,
        is_strict=True,
        help=(
            "The token that is exchanged. A reference, such as a file that is renewed,"
            " is read at each exchange."
        ),
    ),
    oauth2(
        "oauth2.subject_token_type",
        "Subject token type",
        Kind.TEXT,
        default=ACCESS_TOKEN_TYPE,
        when=BY_TOKEN_EXCHANGE,
        required=True,
        is_strict=True,
        help="What kind of token the subject token is, as RFC 8693 names it.",
    ),
    rare_oauth2(
        "oauth2.actor_token",
        "Actor token",
        Kind.SECRET,
        when=BY_TOKEN_EXCHANGE,
        to_token_url=True,
        is_strict=True,
        help="The token of who acts for the subject, if the provider expects one.",
    ),
    rare_oauth2(
        "oauth2.actor_token_type",
        "Actor token type",
        Kind.TEXT,
        default=ACCESS_TOKEN_TYPE,
        when=BY_TOKEN_EXCHANGE,
        required=True,
        is_strict=True,
        help="What kind of token the actor token is.",
    ),
    rare_oauth2(
        "oauth2.requested_token_type",
        "Requested token type",
        Kind.TEXT,
        when=BY_TOKEN_EXCHANGE,
        is_strict=True,
        help="What kind of token to request, if the provider expects this parameter.",
    ),
    oauth2(
        "oauth2.authorization_url",
        "Authorization URL",
        Kind.ENDPOINT,
        takes_variables=True,
        when=BY_AUTHORIZATION_CODE,
        required=True,
        help="The page where a user gives consent in the browser.",
    ),
    rare_oauth2(
        "oauth2.pushed_authorization_url",
        "Pushed Authorization URL",
        Kind.ENDPOINT,
        takes_variables=True,
        when=BY_AUTHORIZATION_CODE,
        is_strict=True,
        help=(
            "The URL that takes the parameters of a consent before the browser leaves"
            " (RFC 9126). The Client Secret is sent there."
        ),
    ),
    oauth2(
        "oauth2.device_url",
        "Device URL",
        Kind.ENDPOINT,
        takes_variables=True,
        when=BY_DEVICE_CODE,
        required=True,
        help="The URL that issues device codes; at the Token URL's origin.",
    ),
    rare_oauth2(
        "oauth2.refresh_url",
        "Refresh URL",
        Kind.ENDPOINT,
        takes_variables=True,
        when=BY_REFRESHING,
        is_strict=True,
        help=(
            "The URL that renews tokens by refresh token, if it is not the Token URL."
            " It may be at another origin."
        ),
    ),
    rare_oauth2(
        "oauth2.revocation_url",
        "Revocation URL",
        Kind.ENDPOINT,
        takes_variables=True,
        help="The URL that revokes tokens; at the Token URL's origin.",
    ),
    rare_oauth2(
        "oauth2.introspection_url",
        "Introspection URL",
        Kind.ENDPOINT,
        takes_variables=True,
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
        "oauth2.pkce",
        "PKCE",
        Kind.CHOICE,
        choices.Pkce,
        default="S256",
        when=BY_AUTHORIZATION_CODE,
        is_strict=True,
        help=(
            "Proves that who redeems a consent is who began it (RFC 7636). Off only for"
            " a provider that refuses the parameter."
        ),
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
    rare_oauth2(
        "oauth2.token_headers",
        "Headers of token requests",
        Kind.ROWS,
        is_strict=True,
        help="Rows of Key, Value and Secret, sent to the Token URL only.",
    ),
    grant_assertion(
        "oauth2.private_key",
        "Private Key",
        Kind.SECRET,
        required=True,
        to_token_url=True,
        lines=True,
        help=(
            "The key that signs assertions: as unencrypted PEM, as JWK, or a service"
            " account file of Google, which names issuer and key ID too."
        ),
    ),
    grant_assertion(
        "oauth2.assertion.issuer",
        "Issuer of assertions",
        Kind.TEXT,
        help="Who signs (iss); by default the Client ID, or as the key file names it.",
    ),
    grant_assertion(
        "oauth2.assertion.subject",
        "Subject of assertions",
        Kind.TEXT,
        help="For whom tokens are requested (sub); by default the issuer.",
    ),
    grant_assertion(
        "oauth2.assertion.audience",
        "Audience of assertions",
        Kind.TEXT,
        rare=True,
        help="For whom assertions are (aud); by default Issuer, else the Token URL.",
    ),
    assertion(
        "oauth2.assertion.key_id",
        "Key ID",
        Kind.TEXT,
        maximum=256,
        help="The header kid of assertions, if the key itself does not name it.",
    ),
    assertion(
        "oauth2.assertion.algorithm",
        "Signature algorithm",
        Kind.CHOICE,
        choices.AssertionAlgorithm,
        help="How assertions are signed; by default as the key requires.",
    ),
    assertion(
        "oauth2.assertion.lifetime_seconds",
        "Assertion lifetime",
        Kind.INTEGER,
        default=300,
        minimum=10,
        maximum=3600,
        help="Seconds from the time in an assertion (iat) to its end (exp).",
    ),
    assertion(
        "oauth2.assertion.scope_in",
        "Scope is sent in",
        Kind.CHOICE,
        choices.ScopePlace,
        default="form",
        help="Where the provider expects the Scope.",
    ),
    assertion(
        "oauth2.assertion.claims",
        "More claims",
        Kind.CLAIMS,
        help=(
            "More claims of assertions, one name = value per line, all of them texts."
            " No secrets."
        ),
    ),
)
