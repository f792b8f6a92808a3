"""When a field applies: conditions that several fields share."""

from outkey.foundation.core.fields.choices import REFRESHING_GRANTS, Grant

BY_NONE = (("authentication_type", ("none",)),)
BY_BASIC = (("authentication_type", ("basic",)),)
BY_AWS = (("authentication_type", ("aws_sigv4",)),)
BY_PASSWORD = (("authentication_type", ("basic", "digest")),)
BY_OAUTH1 = (("authentication_type", ("oauth1",)),)
BY_OAUTH1_SECRET = (
    *BY_OAUTH1,
    ("oauth1.signature_method", ("HMAC-SHA1", "HMAC-SHA256", "PLAINTEXT")),
)
BY_OAUTH1_KEY = (*BY_OAUTH1, ("oauth1.signature_method", ("RSA-SHA1",)))
BY_BEARER = (("authentication_type", ("bearer",)),)
BY_ENTERED_TOKEN = (*BY_BEARER, ("token_source", ("entered",)))
BY_ENCODED_TOKEN = (*BY_BEARER, ("token_encoding", ("base64",)))
BY_LOGIN = (*BY_BEARER, ("token_source", ("login",)))
BY_OAUTH2 = (*BY_BEARER, ("token_source", ("oauth2",)))
BY_REFRESH_TOKEN = (*BY_OAUTH2, ("oauth2.grant", ("refresh_token",)))
BY_AUTHORIZATION_CODE = (*BY_OAUTH2, ("oauth2.grant", ("authorization_code",)))
BY_JWT_BEARER = (*BY_OAUTH2, ("oauth2.grant", ("jwt_bearer",)))
BY_PASSWORD_GRANT = (*BY_OAUTH2, ("oauth2.grant", ("password",)))
BY_REFRESHING = (*BY_OAUTH2, ("oauth2.grant", REFRESHING_GRANTS))
BY_CLIENT_SECRET = (
    *BY_OAUTH2,
    (
        "oauth2.client_auth",
        ("body", "basic", "basic_raw", "client_secret_jwt", "private_key_jwt"),
    ),
)
BY_FEDERATED = (*BY_OAUTH2, ("oauth2.client_auth", ("federated",)))
# An assertion names its issuer, so that the provider need not be told a client.
BY_NAMED_CLIENT = (
    *BY_OAUTH2,
    ("oauth2.grant", (Grant.CLIENT_CREDENTIALS, *REFRESHING_GRANTS)),
)
BY_SIGNED_CLIENT = (
    *BY_OAUTH2,
    ("oauth2.client_auth", ("private_key_jwt", "client_secret_jwt")),
)
BY_TOKEN_EXCHANGE = (*BY_OAUTH2, ("oauth2.grant", ("token_exchange",)))
BY_ENTERED_SUBJECT = (
    *BY_TOKEN_EXCHANGE,
    ("oauth2.subject_token_from", ("reference",)),
)
BY_DEVICE_CODE = (*BY_OAUTH2, ("oauth2.grant", ("device_code",)))
