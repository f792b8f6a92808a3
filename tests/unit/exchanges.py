"""Responses of APIs, and the reason that each should get.

Those written here are of well-known APIs as documented. Those of
`recorded_exchanges.jsonl` were recorded from real servers on loopback, each set up and
then asked with one mistake: its server and version, the mistake, the reasons that are
right, the response, and the one to the same request without credentials.

`test_reasons.py` reads both. Keys and users are made up.
"""

import json
from base64 import urlsafe_b64encode
from dataclasses import dataclass, field
from datetime import date
from email.utils import formatdate
from pathlib import Path

from outkey.sending.core.configuration.custom_rows import CustomHeader
from outkey.sending.core.request.message import Response, ResponseHeaders

NOW = 1_800_000_000.0  # 2027-01-15 08:00 UTC

Headers = dict[str, str]


@dataclass(frozen=True)
class Exchange:
    """One answer, the configuration that asked, and what should come first."""

    who: str
    first: str
    status: int
    headers: Headers = field(default_factory=dict)
    body: object = ""
    kind: str = "bearer"
    values: dict[str, object] = field(default_factory=dict)
    rows: tuple[str, ...] = ()
    # given in tests of a configuration
    secrets: dict[str, str] = field(default_factory=dict)
    fix: str = ""  # "path=value", or the name of the secret to tidy
    also: tuple[str, ...] = ()  # reasons that are as right as the first
    anonymous: Response | None = None  # to the same request without credentials
    at: float = NOW

    @property
    def raw(self) -> bytes:
        return (
            self.body if isinstance(self.body, str) else json.dumps(self.body)
        ).encode()

    @property
    def header_rows(self) -> tuple[CustomHeader, ...]:
        return tuple(CustomHeader(key, "", secret=True) for key in self.rows)


def challenge(text: str) -> Headers:
    return {"WWW-Authenticate": text}


def page(title: str, text: str = "") -> str:
    head = f"<head><title>{title}</title></head>"
    return f"<html>\r\n{head}\r\n<body>{text}</body>\r\n</html>"


def jwt(**claims: object) -> str:
    def part(value: object) -> str:
        return urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")

    return f"{part({'alg': 'RS256'})}.{part(claims)}.c2lnbmF0dXJl"


LATE = {"Date": formatdate(NOW - 600, usegmt=True)}
INVALID = 'Bearer realm="api", error="invalid_token"'
BASIC = {"kind": "basic", "values": {"username": "alice"}}
AWS: dict[str, object] = {
    "aws.access_key_id": "AKIAEXAMPLE",
    "aws.region": "eu-central-1",
    "aws.service": "sqs",
}
KEYED = {"kind": "none", "rows": ("X-API-Key",)}
OAUTH = {
    "values": {
        "token_source": "oauth2",
        "oauth2.token_url": "https://auth.acme.example/token",
        "oauth2.client_id": "erp",
    }
}


def at(host: str, **more: object) -> dict[str, object]:
    return {"base_url": f"https://{host}"} | more


def entered(first: str, token: str, status: int = 401, **more: object) -> Exchange:
    return Exchange("entered token", first, status, secrets={"token": token}, **more)  # type: ignore[arg-type]


ANSWERS = [
    # ── the plain ones ──
    Exchange(
        "nginx Basic", "wrong-credentials", 401, challenge('Basic realm="api"'), **BASIC
    ),
    Exchange(
        "GitHub, wrong token",
        "wrong-credentials",
        401,
        {"X-GitHub-Media-Type": "github.v3"},
        {
            "message": "Bad credentials",
            "documentation_url": "https://docs.github.com/rest",
        },
    ),
    Exchange(
        "Shopify, wrong token",
        "wrong-credentials",
        401,
        body={"errors": "[API] Invalid API key or access token (unrecognized login)"},
        kind="none",
        rows=("X-Shopify-Access-Token",),
    ),
    Exchange(
        "Google Maps, wrong key",
        "wrong-credentials",
        400,
        body={
            "error": {"code": 400, "message": "API key not valid.", "status": "INVALID"}
        },
        **KEYED,
    ),
    Exchange(
        "WooCommerce",
        "wrong-credentials",
        401,
        body={
            "code": "woocommerce_rest_authentication_error",
            "message": "Consumer secret is invalid.",
        },
        **BASIC,
    ),
    Exchange(
        "Atlassian, wrong API token",
        "wrong-credentials",
        401,
        challenge('OAuth realm="https%3A%2F%2Facme.atlassian.net"'),
        "Client must be authenticated to access this resource.",
        "basic",
        at("acme.atlassian.net", username="alice@acme.example"),
    ),
    Exchange(
        "AWS, wrong secret key",
        "wrong-credentials",
        403,
        body=(
            "<Error><Code>SignatureDoesNotMatch</Code><Message>The"
            " request</Message></Error>"
        ),
        kind="none",
        values={"script": "def compute_auth_header(sync_line):\n    return {}\n"},
    ),
    Exchange(
        "docker-registry, a stranger's token",
        "wrong-credentials",
        401,
        challenge(
            'Bearer realm="https://r/t",service="reg",scope="r:p",error="invalid_token"'
        ),
        secrets={"token": jwt(exp=NOW + 300)},
    ),
    Exchange(
        "Mailchimp, other data center",
        "wrong-environment",
        401,
        body={
            "title": "API Key Invalid",
            "detail": (
                "Your API key may be invalid, or you've attempted to access the wrong "
                "datacenter."
            ),
        },
        **BASIC,
    ),
    Exchange("nginx, rights", "forbidden", 403, body=page("403 Forbidden"), **BASIC),
    Exchange(
        "verdaccio, rights",
        "forbidden",
        403,
        body={"error": "user alice is not allowed"},
        **BASIC,
    ),
    Exchange("django-oauth-toolkit, bare 403", "forbidden", 403, **OAUTH),
    Exchange("a teapot", "unexpected", 418),
    Exchange("a bad request", "unexpected", 400, body={"message": "name is required"}),
    Exchange("gateway", "server-error", 502, body=page("502 Bad Gateway")),
    Exchange("request time-out", "time-out", 408),
    Exchange(
        "proxy",
        "proxy-credentials",
        407,
        {"Proxy-Authenticate": "Basic"},
        values={"proxy.url": "http://proxy.acme.example:3128"},
    ),
    Exchange("a gateway's 407", "unexpected", 407, {"Proxy-Authenticate": "Basic"}),
    # ── nothing arrived, or elsewhere ──
    Exchange(
        "nothing sent",
        "no-credentials-sent",
        401,
        challenge("Basic, Bearer"),
        kind="none",
    ),
    Exchange(
        "Stripe, nothing",
        "no-credentials-sent",
        401,
        body={
            "error": {
                "message": "You did not provide an API key. Use Basic or Bearer."
            },
        },
        kind="none",
    ),
    Exchange(
        "AWS API Gateway",
        "no-credentials-sent",
        403,
        body={"message": "Missing Authentication Token"},
        kind="none",
    ),
    Exchange(
        "Slack, not_authed as 401",
        "credentials-not-read",
        401,
        body={"error": "not_authed"},
    ),
    Exchange(
        "Azure API Management",
        "key-in-another-header",
        401,
        body={
            "message": (
                "Access denied due to missing subscription key. "
                "Make sure to include the header Ocp-Apim-Subscription-Key."
            )
        },
        **KEYED,
        fix="headers[0].key=Ocp-Apim-Subscription-Key",
    ),
    Exchange(
        "SP-API, token in Authorization",
        "key-in-another-header",
        403,
        body={
            "errors": [
                {
                    "message": "Access to requested resource is denied.",
                    "details": "The x-amz-access-token is missing.",
                }
            ]
        },
    ),
    Exchange(
        "an API key challenge",
        "key-in-another-header",
        401,
        challenge('ApiKey realm="x"'),
    ),
    Exchange(
        "a key with an underscore",
        "header-underscore",
        401,
        kind="none",
        rows=("X_API_KEY",),
        fix="headers[0].key=X-API-KEY",
    ),
    Exchange(
        "a key with an underscore beside one of the name without",
        "header-underscore",
        401,
        kind="none",
        rows=("X_API_KEY", "X-API-KEY"),
    ),
    # ── schemes ──
    Exchange(
        "Bearer for Basic",
        "wrong-scheme",
        401,
        challenge('Basic realm="x"'),
        fix="authentication_type=basic",
    ),
    Exchange(
        "Twilio, Bearer for Basic",
        "wrong-scheme",
        401,
        challenge('Basic realm="Twilio API"'),
        {"code": 20003, "message": "Authenticate"},
        fix="authentication_type=basic",
    ),
    Exchange(
        "Django REST, Bearer for Token",
        "wrong-scheme",
        401,
        challenge("Token"),
        {"detail": "Authentication credentials were not provided."},
    ),
    Exchange(
        "Basic for Bearer",
        "wrong-scheme",
        401,
        challenge('Bearer realm="x"'),
        **BASIC,
        fix="authentication_type=bearer",
    ),
    Exchange(
        "verdaccio, a key",
        "wrong-scheme",
        401,
        challenge("Basic, Bearer"),
        **KEYED,
    ),
    Exchange(
        "DPoP alone",
        "dpop-required",
        401,
        challenge('DPoP algs="ES256"'),
        **OAUTH,
        fix="oauth2.dpop=true",
    ),
    Exchange(
        "RFC 6750 malformed",
        "malformed-header",
        400,
        challenge('Bearer error="invalid_request"'),
    ),
    Exchange(
        "AWS, malformed",
        "malformed-header",
        400,
        body="<Error><Code>AuthorizationHeaderMalformed</Code></Error>",
    ),
    Exchange(
        "Microsoft Graph, not a JWT",
        "malformed-header",
        401,
        body={
            "error": {
                "code": "InvalidAuthenticationToken",
                "message": "CompactToken parsing failed",
            }
        },
    ),
    Exchange(
        "nginx, large header",
        "header-too-large",
        400,
        body=page("400 Request Header Or Cookie Too Large"),
    ),
    Exchange(
        "gunicorn, large header",
        "header-too-large",
        400,
        body=page(
            "Bad Request", "Error parsing headers: 'limit request headers fields size'"
        ),
    ),
    Exchange("Node, large header", "header-too-large", 431),
    # ── tokens ──
    Exchange(
        "RFC 6750 expired",
        "token-expired",
        401,
        challenge(f'{INVALID}, error_description="The access token expired"'),
    ),
    Exchange("RFC 6750 without a word", "wrong-credentials", 401, challenge(INVALID)),
    Exchange(
        "RFC 6750 with every reason",
        "wrong-credentials",
        401,
        challenge(
            f'{INVALID}, error_description="The access token provided is expired,'
            ' revoked, malformed, or invalid for other reasons."'
        ),
    ),
    Exchange(
        "X",
        "wrong-credentials",
        401,
        body={"errors": [{"code": 89, "message": "Invalid or expired token."}]},
    ),
    Exchange(
        "HubSpot", "token-expired", 401, body={"category": "EXPIRED_AUTHENTICATION"}
    ),
    Exchange(
        "Salesforce",
        "wrong-credentials",
        401,
        challenge("Token"),
        [{"message": "Session expired or invalid", "errorCode": "INVALID_SESSION_ID"}],
    ),
    Exchange(
        "Xero",
        "token-expired",
        401,
        challenge('OAuth Realm="api.xero.com"'),
        {
            "Title": "Unauthorized",
            "Detail": "TokenExpired: token expired at 01/14/2027",
        },
    ),
    Exchange(
        "QuickBooks",
        "token-expired",
        401,
        challenge(INVALID),
        {
            "fault": {
                "error": [
                    {
                        "message": (
                            "message=AuthenticationFailed; errorCode=003200; Token"
                            " expired"
                        )
                    }
                ]
            }
        },
    ),
    Exchange(
        "PayPal",
        "token-expired",
        401,
        challenge(
            'Bearer error="invalid_token", error_description="Token signature expired"'
        ),
        {"error": "invalid_token"},
    ),
    Exchange(
        "Microsoft Graph",
        "token-expired",
        401,
        body={
            "error": {
                "code": "InvalidAuthenticationToken",
                "message": "Lifetime validation failed, the token is expired.",
            }
        },
    ),
    Exchange(
        "eBay",
        "token-expired",
        401,
        body={
            "errors": [
                {
                    "errorId": 1001,
                    "message": "Invalid access token",
                    "longMessage": "Expired token.",
                }
            ]
        },
    ),
    Exchange(
        "Facebook",
        "token-expired",
        400,
        body={
            "error": {
                "message": "Error validating access token: Session has expired",
                "code": 190,
            }
        },
    ),
    Exchange(
        "known date",
        "token-expired",
        401,
        values={"token_expires_on": date(2027, 1, 14)},
    ),
    entered("token-expired", jwt(exp=NOW - 60)),
    Exchange(
        "SP-API, expired",
        "expired-as-403",
        403,
        body={
            "errors": [
                {
                    "message": "Access to requested resource is denied.",
                    "code": "Unauthorized",
                    "details": "The access token you provided has expired.",
                }
            ]
        },
        kind="none",
        rows=("x-amz-access-token",),
    ),
    Exchange(
        "the switch",
        "expired-as-403",
        403,
        values={"verification.forbidden_means_expired": True},
    ),
    Exchange(
        "the marker",
        "expired-as-403",
        403,
        body="oops: code 190",
        values={"verification.expired_marker": "code 190"},
    ),
    Exchange(
        "django-oauth-toolkit with a challenge",
        "expired-as-403",
        403,
        challenge(f'{INVALID}, error_description="The access token has expired."'),
    ),
    Exchange(
        "django-oauth-toolkit, unknown token",
        "wrong-credentials",
        403,
        challenge(f'{INVALID}, error_description="The access token is invalid."'),
    ),
    entered("expired-as-403", jwt(exp=NOW - 60), 403),
    Exchange(
        "a known date as 403",
        "expired-as-403",
        403,
        values={"token_expires_on": date(2027, 1, 14)},
    ),
    Exchange(
        "Auth0, revoked",
        "token-revoked",
        401,
        body={"message": "Token has been revoked."},
    ),
    Exchange(
        "Keycloak, revoked",
        "token-revoked",
        401,
        challenge('Bearer error="invalid_token", error_description="Token revoked"'),
    ),
    Exchange(
        "Keycloak, too early",
        "token-not-yet-valid",
        401,
        challenge(
            'Bearer error="invalid_token", error_description="Token is not yet valid"'
        ),
    ),
    entered("token-not-yet-valid", jwt(nbf=NOW + 600)),
    Exchange(
        "Graph, audience",
        "token-other-audience",
        401,
        body={
            "error": {
                "code": "InvalidAuthenticationToken",
                "message": "Access token validation failure. Invalid audience.",
            }
        },
    ),
    entered(
        "token-other-audience", jwt(aud=["https://graph.example.net", 7], exp=NOW + 9)
    ),
    Exchange(
        "Auth0, issuer",
        "token-other-issuer",
        401,
        challenge(
            'Bearer error="invalid_token", error_description="unexpected issuer"'
        ),
    ),
    entered(
        "token-other-issuer",
        jwt(iss="https://b.example"),
        values={"oauth2.issuer": "https://a.example/"},
    ),
    # ── permissions ──
    Exchange(
        "RFC 6750 scope",
        "missing-scope",
        403,
        challenge('Bearer error="insufficient_scope", scope="orders"'),
    ),
    Exchange(
        "docker-registry, scope",
        "missing-scope",
        401,
        challenge(
            "Bearer"
            ' realm="https://r/t",service="reg",scope="r:p",error="insufficient_scope"'
        ),
    ),
    Exchange(
        "GitHub, scopes",
        "missing-scope",
        404,
        {"X-OAuth-Scopes": "gist", "X-Accepted-OAuth-Scopes": "repo, admin:org"},
        {"message": "Not Found", "documentation_url": "https://docs.github.com/rest"},
    ),
    Exchange(
        "GitHub, fine-grained",
        "missing-scope",
        403,
        body={"message": "Resource not accessible by personal access token"},
    ),
    Exchange(
        "Google, scope",
        "missing-scope",
        403,
        body={
            "error": {
                "status": "PERMISSION_DENIED",
                "message": "Request had insufficient authentication scopes.",
            }
        },
    ),
    Exchange(
        "Graph, application rights",
        "missing-scope",
        403,
        body={
            "error": {
                "code": "Authorization_RequestDenied",
                "message": "Insufficient privileges to complete the operation.",
            }
        },
    ),
    Exchange(
        "HubSpot, scope", "missing-scope", 403, body={"category": "MISSING_SCOPES"}
    ),
    Exchange(
        "Zoho, scope", "missing-scope", 401, body={"code": "OAUTH_SCOPE_MISMATCH"}
    ),
    Exchange(
        "Shopify, scope",
        "missing-scope",
        403,
        body={
            "errors": (
                "[API] This action requires merchant approval for read_orders scope."
            )
        },
    ),
    Exchange(
        "SAP, CSRF",
        "csrf-required",
        403,
        {"x-csrf-token": "Required"},
        "CSRF token validation failed",
        **BASIC,
    ),
    Exchange(
        "Django REST, CSRF",
        "csrf-required",
        403,
        body={"detail": "CSRF Failed: CSRF cookie not set."},
    ),
    Exchange(
        "GitHub, allow list",
        "ip-not-allowed",
        403,
        body={
            "message": (
                "Although you appear to have the correct authorization credentials, the"
                " `acme` organization has an IP allow list enabled, and your IP address"
                " is not permitted to access this resource."
            )
        },
    ),
    Exchange(
        "Google, referer",
        "ip-not-allowed",
        403,
        body={"error": {"errors": [{"reason": "ipRefererBlocked"}]}},
        **KEYED,
    ),
    Exchange(
        "Cloudflare",
        "blocked-by-firewall",
        403,
        {"Server": "cloudflare"},
        "<!DOCTYPE html>" + page("Attention Required! | Cloudflare"),
    ),
    Exchange(
        "Cloudflare, a challenge",
        "blocked-by-firewall",
        503,
        {"CF-Mitigated": "challenge"},
        page("Just a moment..."),
    ),
    Exchange(
        "Akamai",
        "blocked-by-firewall",
        403,
        {"Server": "AkamaiGHost"},
        page("Access Denied", "Reference #18.2f"),
    ),
    Exchange(
        "an API behind Cloudflare",
        "forbidden",
        403,
        {"Server": "cloudflare"},
        {"error": "forbidden"},
    ),
    Exchange(
        "Slack, inactive as 403",
        "account-locked",
        403,
        body={"error": "account_inactive"},
    ),
    Exchange(
        "Magento, locked",
        "account-locked",
        401,
        body={
            "message": (
                "The account sign-in was incorrect or your account is disabled"
                " temporarily."
            )
        },
    ),
    Exchange(
        "Shopify, unpaid", "account-locked", 402, body={"errors": "Unavailable Shop"}
    ),
    # ── limits ──
    Exchange(
        "Django REST, throttled",
        "rate-limited",
        429,
        {"Retry-After": "30"},
        {"detail": "Request was throttled."},
    ),
    Exchange(
        "GitHub, no requests left",
        "rate-limited",
        403,
        {"X-RateLimit-Remaining": "0"},
        {"message": "API rate limit exceeded for user ID 1."},
    ),
    Exchange(
        "GitHub, secondary",
        "rate-limited",
        403,
        {"Retry-After": "60"},
        {"message": "You have exceeded a secondary rate limit."},
    ),
    Exchange(
        "Google, quota",
        "quota-exhausted",
        403,
        body={"error": {"errors": [{"reason": "rateLimitExceeded"}]}},
    ),
    Exchange(
        "HubSpot, daily",
        "quota-exhausted",
        429,
        body={"message": "You have reached your daily limit."},
    ),
    Exchange(
        "Salesforce, quota",
        "quota-exhausted",
        403,
        body=[{"errorCode": "REQUEST_LIMIT_EXCEEDED"}],
    ),
    # ── AWS ──
    Exchange(
        "AWS S3, wrong secret key",
        "aws-secret-wrong",
        403,
        body="<Error><Code>SignatureDoesNotMatch</Code></Error>",
        kind="aws_sigv4",
        values=AWS,
    ),
    Exchange(
        "AWS DynamoDB, unknown key",
        "aws-key-unknown",
        400,
        body={"__type": "com.amazon.coral.service#UnrecognizedClientException"},
        kind="aws_sigv4",
        values=AWS,
    ),
    Exchange(
        "AWS SQS, another region",
        "aws-scope-wrong",
        403,
        body=(
            "<ErrorResponse><Error><Code>SignatureDoesNotMatch</Code><Message>Credential"
            " should be scoped to a valid region.</Message></Error></ErrorResponse>"
        ),
        kind="aws_sigv4",
        values=AWS,
    ),
    Exchange(
        "a service that checks signatures of AWS and names no code",
        "wrong-credentials",
        401,
        challenge("AWS4-HMAC-SHA256, Bearer"),
        kind="aws_sigv4",
        values=AWS,
    ),
    # ── time ──
    Exchange(
        "AWS SigV4, skew",
        "clock-off",
        403,
        LATE,
        "<Error><Code>RequestTimeTooSkewed</Code></Error>",
        kind="none",
        values={"script": "def compute_auth_header(sync_line):\n    return {}\n"},
    ),
    Exchange(
        "a script that signs the time",
        "clock-off",
        401,
        LATE,
        {"error": "unauthorized"},
        kind="none",
        values={"script": "def compute_auth_header(sync_line):\n    return {}\n"},
    ),
    # ── OAuth 1.0a ──
    *(
        Exchange(
            f"OAuth 1.0a, {reason}",
            reason,
            401,
            body=body,
            kind="oauth1",
            values={"oauth1.consumer_key": "ck"},
        )
        for reason, body in {
            "oauth1-signature": {"message": "The signature is invalid."},
            "oauth1-consumer": "oauth_problem=consumer_key_unknown",
            "oauth1-token": {"errors": [{"code": 89, "message": "Invalid or expired"}]},
            "oauth1-method": "oauth_problem=signature_method_rejected",
            "oauth1-nonce": {"message": "Invalid nonce - nonce has already been used"},
        }.items()
    ),
    Exchange(
        "OAuth 1.0a, a challenge without a problem",
        "wrong-credentials",
        401,
        challenge('OAuth realm="shop", Basic realm="shop"'),
        kind="oauth1",
        values={"oauth1.consumer_key": "ck"},
    ),
    Exchange(
        "OAuth 1.0a where Bearer is asked for",
        "wrong-scheme",
        401,
        challenge('Bearer realm="shop"'),
        kind="oauth1",
        values={"oauth1.consumer_key": "ck"},
        fix="authentication_type=bearer",
    ),
    # ── TLS ──
    Exchange(
        "nginx, no client certificate",
        "client-certificate-missing",
        400,
        body=page("400 No required SSL certificate was sent"),
    ),
    Exchange(
        "nginx, other client certificate",
        "client-certificate-refused",
        400,
        body=page("400 The SSL certificate error"),
    ),
    Exchange(
        "nginx, http at a TLS port",
        "plain-http-to-tls-port",
        400,
        body=page("400 The plain HTTP request was sent to HTTPS port"),
        values={"base_url": "http://127.0.0.1:8443/v1", "network": "internal"},
        fix="base_url=https://127.0.0.1:8443/v1",
    ),
    Exchange(
        "Go, http at a TLS port",
        "plain-http-to-tls-port",
        400,
        body="Client sent an HTTP request to an HTTPS server.",
    ),
    # ── places ──
    Exchange("a wrong path", "not-found", 404, body={"error": "no such thing"}),
    Exchange(
        "a wrong path in a test",
        "not-found",
        404,
        body={"error": "no such thing"},
        values={"verification.test_path": "/nowhere"},
        secrets={"token": "abc"},
    ),
    Exchange(
        "a 404 that asks who asks",
        "hidden-401",
        404,
        challenge("Bearer"),
        {"error": "no such thing"},
    ),
    Exchange(
        "GitLab, hidden",
        "hidden-401",
        404,
        body={"message": "404 Project Not Found"},
        values=at("gitlab.com/api/v4"),
    ),
    Exchange(
        "Binance, time",
        "clock-off",
        403,
        body={
            "code": -1021,
            "msg": "Timestamp for this request is outside of the recvWindow.",
        },
        **KEYED,
    ),
    Exchange(
        "AWS, time without a date",
        "clock-off",
        403,
        body="<Error><Code>RequestTimeTooSkewed</Code></Error>",
    ),
    Exchange("gone", "not-found", 410, kind="none"),
    Exchange(
        "GitHub, hidden",
        "hidden-401",
        404,
        body={
            "message": "Not Found",
            "documentation_url": "https://docs.github.com/rest",
        },
    ),
    Exchange(
        "Jira, hidden",
        "hidden-401",
        404,
        body={
            "errorMessages": [
                "Issue does not exist or you do not have permission to see it."
            ]
        },
        **BASIC,
    ),
    Exchange(
        "httpbin hidden-basic",
        "hidden-401",
        404,
        kind="basic",
        values={
            "username": "user",
            "verification.test_path": "/hidden-basic-auth/user/pass",
        },
        secrets={"password": "wrong"},
    ),
    Exchange(
        "a doubled path",
        "wrong-path",
        404,
        values=at("api.acme.example/v2") | {"verification.test_path": "/v2/me"},
        secrets={"token": "abc"},
        fix="verification.test_path=/me",
    ),
    Exchange("a wrong method", "wrong-path", 405, {"Allow": "POST"}),
    Exchange(
        "the Test Path of a new configuration",
        "not-found",
        404,
        secrets={"token": "abc"},
    ),
    Exchange(
        "Stripe, test mode",
        "wrong-environment",
        404,
        body={
            "error": {
                "message": (
                    "No such customer; a similar object exists in live mode, but a test"
                    " mode key was used."
                )
            }
        },
    ),
    Exchange(
        "a sandbox in production",
        "wrong-environment",
        401,
        values=at("api-m.sandbox.paypal.example"),
    ),
    Exchange(
        "a test key in production",
        "wrong-environment",
        401,
        secrets={"token": "sk_test_0815"},
    ),
    Exchange(
        "a live key in tests",
        "wrong-environment",
        401,
        values={"environment": "test"},
        secrets={"token": "sk_live_0815"},
    ),
    Exchange(
        "a test key in tests",
        "wrong-credentials",
        401,
        values={"environment": "test"},
        secrets={"token": "sk_test_0815"},
    ),
    Exchange(
        "Google, http",
        "https-required",
        403,
        body={
            "error": {
                "errors": [{"reason": "sslRequired", "message": "SSL is required"}]
            }
        },
        values={"base_url": "http://intra.example/v1", "network": "internal"},
        fix="base_url=https://intra.example/v1",
    ),
    Exchange(
        "a log-in page as 401",
        "login-page",
        401,
        body="<!DOCTYPE html>"
        + page("Welcome", '<form><input name="p" type="password"></form>'),
    ),
    # ── users ──
    Exchange(
        "Zendesk, e-mail alone",
        "basic-user-shape",
        401,
        body={"error": "Couldn't authenticate you"},
        kind="basic",
        values=at("acme.zendesk.com", username="alice@acme.example"),
        fix="username=alice@acme.example/token",
    ),
    Exchange(
        "Zendesk, no e-mail",
        "basic-user-shape",
        401,
        kind="basic",
        values=at("acme.zendesk.com", username="alice"),
    ),
    Exchange(
        "Jira, no e-mail",
        "basic-user-shape",
        401,
        kind="basic",
        values=at("acme.atlassian.net", username="alice"),
    ),
    Exchange(
        "Twilio, no SID",
        "basic-user-shape",
        401,
        challenge('Basic realm="Twilio API"'),
        kind="basic",
        values=at("api.twilio.com", username="alice"),
    ),
    Exchange(
        "Stripe, the key as password",
        "basic-user-shape",
        401,
        kind="basic",
        values=at("api.stripe.com", username="alice"),
    ),
    # ── what was entered ──
    entered("doubled-prefix", "Bearer:abc", fix="token"),
    Exchange(
        "a pasted header",
        "doubled-prefix",
        401,
        kind="none",
        rows=("Authorization",),
        secrets={"header:Authorization": "Bearer Bearer abc"},
        fix="header:Authorization",
    ),
    Exchange(
        "a scheme in a key",
        "doubled-prefix",
        401,
        **KEYED,
        secrets={"header:X-API-Key": "Bearer abc"},
        fix="header:X-API-Key",
    ),
    entered("secret-in-quotes", '"abc"', fix="token"),
    Exchange(
        "a blank behind",
        "invisible-characters",
        401,
        **BASIC,
        secrets={"password": "open sesame "},
        fix="password",
    ),
    Exchange(
        "a zero-width space",
        "invisible-characters",
        401,
        **BASIC,
        secrets={"password": "open\u200bsesame"},
        fix="password",
    ),
    Exchange(
        "a prefix and nothing else",
        "doubled-prefix",
        401,
        **BASIC,
        secrets={"password": "token:"},
    ),
    Exchange(
        "a prefix behind a scheme that stays",
        "doubled-prefix",
        401,
        **KEYED | {"rows": ("Authorization",)},
        secrets={"header:Authorization": "Acme Bearer abc"},
    ),
    Exchange(
        "a blank behind the user name",
        "invisible-characters",
        401,
        challenge('Basic realm="api"'),
        kind="basic",
        values={"username": "alice "},
        secrets={"password": "sesame"},
        fix="username=alice",
    ),
    Exchange(
        "a user name of blanks",
        "invisible-characters",
        401,
        kind="basic",
        values={"username": " "},
        secrets={"password": "sesame"},
    ),
    Exchange(
        "an encoded pair",
        "password-encoded",
        401,
        **BASIC,
        secrets={"password": "Basic YWxpY2U6c2VzYW1l"},
    ),
    Exchange(
        "a password that is Base64",
        "wrong-credentials",
        401,
        **BASIC,
        secrets={"password": "Ym9iOnNlc2FtZQ=="},
    ),
    Exchange(
        "Basic in a row, where Bearer is asked for",
        "wrong-scheme",
        401,
        challenge('Bearer realm="x"'),
        kind="none",
        rows=("Authorization",),
        secrets={"header:Authorization": "Basic YWxpY2U6c2VzYW1l"},
    ),
    Exchange(
        "a pair of schemes in a row, where one is asked for",
        "wrong-credentials",
        401,
        challenge('Basic realm="x"'),
        kind="none",
        rows=("Authorization",),
        secrets={"header:Authorization": "Basic YWxpY2U6c2VzYW1l"},
    ),
    Exchange(
        "a token, where a password is looked for",
        "wrong-scheme",
        401,
        body={"message": "Unknown user or password"},
    ),
    Exchange(
        "a password, where a token is looked for",
        "wrong-scheme",
        401,
        body={"message": "Missing Bearer token"},
        **BASIC,
        fix="authentication_type=bearer",
    ),
    Exchange(
        "a Digest password that is wrong",
        "wrong-credentials",
        401,
        body={"message": "Wrong username or password"},
        kind="digest",
        values={"username": "alice"},
    ),
    Exchange(
        "a row for Authorization that cannot be opened",
        "wrong-credentials",
        401,
        challenge('Basic realm="x"'),
        kind="none",
        rows=("Authorization",),
        secrets={"password": "something-0815"},
    ),
    Exchange(
        "a role that is missing, as 401",
        "forbidden",
        401,
        body={"message": "The user does not have the required role ADMIN"},
    ),
    Exchange(
        "nothing sent, where Basic is asked for",
        "no-credentials-sent",
        403,
        challenge('Basic realm="x"'),
        kind="none",
    ),
    Exchange(
        "JSON",
        "pasted-json",
        401,
        **BASIC,
        secrets={"password": '{"access_token": "a"}'},
    ),
]

# Answers that say success, or lead to a log-in page.
SUCCESSES = [
    Exchange(
        "Slack", "error-in-200", 200, body={"ok": False, "error": "channel_not_found"}
    ),
    Exchange(
        "Slack, expired",
        "token-expired",
        200,
        body={"ok": False, "error": "token_expired"},
    ),
    Exchange(
        "Slack, invalid",
        "wrong-credentials",
        200,
        body={"ok": False, "error": "invalid_auth"},
    ),
    Exchange(
        "Slack, scope",
        "missing-scope",
        200,
        body={"ok": False, "error": "missing_scope"},
    ),
    Exchange(
        "success: false", "error-in-200", 200, body={"success": False, "data": []}
    ),
    Exchange("nothing but an error", "error-in-200", 200, body={"error": {"code": 7}}),
    Exchange(
        "GraphQL, nothing but errors",
        "error-in-200",
        200,
        body={"errors": [{"code": 7}]},
    ),
    Exchange(
        "SOAP",
        "error-in-200",
        200,
        body="<s:Envelope><s:Fault><x/></s:Fault></s:Envelope>",
    ),
    Exchange(
        "an error beside data", "error-in-200", 200, body={"data": 1, "errors": ["a"]}
    ),
    Exchange("a fault", "error-in-200", 200, body={"Fault": {"faultstring": "x"}}),
    Exchange("a code", "error-in-200", 200, body={"error_code": "E17", "data": None}),
    Exchange("a flag", "error-in-200", 200, body={"error": True}),
    Exchange(
        "errors in a list", "error-in-200", 200, body=[{"error": "a"}, {"error": "b"}]
    ),
    Exchange(
        "errors in a list of the first level",
        "error-in-200",
        200,
        body={"results": [{"error": {"message": "denied"}}]},
    ),
    Exchange(
        "deep inside an error member",
        "error-in-200",
        200,
        body=f'{{"error": {"[" * 40 + "]" * 40}}}',
    ),
    Exchange(
        "Subsonic, wrong password",
        "wrong-credentials",
        200,
        body={
            "subsonic-response": {
                "status": "failed",
                "version": "1.16.1",
                "error": {"code": 40, "message": "Wrong username or password"},
            }
        },
        kind="basic",
    ),
    Exchange(
        "a status in words",
        "error-in-200",
        200,
        body={"status": "error", "message": "no such order"},
    ),
    Exchange(
        "a status one wrapper deep",
        "error-in-200",
        200,
        body={"result": {"status": "Failed", "reason": "closed"}},
    ),
    Exchange(
        "a flag one wrapper deep",
        "error-in-200",
        200,
        body={"response": {"success": False}},
    ),
    Exchange(
        "a redirect to log in",
        "login-page",
        302,
        {"Location": "https://acme.example/login?next=/api"},
    ),
]

GOOD = [
    Exchange("a document", "", 200, body={"id": 7, "error": None}),
    Exchange(
        "no error, in many words",
        "",
        200,
        body={"errors": [], "fault": {}, "errorCode": "0", "error_message": "OK"},
    ),
    Exchange(
        "an error without content", "", 200, body={"error": {"code": 0, "message": ""}}
    ),
    Exchange("a count of errors", "", 200, body={"requests": 9, "errors": 3}),
    Exchange("a list", "", 200, body=[{"ok": False}]),
    Exchange(
        "a job that has failed",
        "",
        200,
        body={"id": 7, "status": "failed", "message": "no paper"},
    ),
    Exchange("a failed status alone", "", 200, body={"status": "failed"}),
    Exchange("a status of words", "", 200, body={"status": "ok", "message": "hello"}),
    Exchange("a text in a wrapper", "", 200, body={"data": "failed"}),
    Exchange("nothing", "", 204),
    Exchange("an empty document", "", 200, body={}),
    Exchange("an empty list", "", 200, body={"items": []}),
    Exchange("a page", "", 200, body=page("Acme")),
    Exchange("text", "", 200, body="token expired"),
    Exchange("not modified", "", 304),
    Exchange("a redirect", "", 302, {"Location": "/v2/"}),
    Exchange("an accepted 404", "", 404, body={"ok": False}),
]

# Successes that may be refusals: at most a warning.
DOUBTFUL = [
    Exchange(
        "verdaccio",
        "names no user",
        200,
        body={},
        values={"verification.test_path": "/-/whoami"},
    ),
    Exchange(
        "an error deep inside",
        "member errors inside",
        200,
        body={"response": {"data": [{"errors": ["a"]}]}},
    ),
    Exchange(
        "one of two records",
        "member error inside",
        200,
        body=[{"id": 7}, {"id": 8, "error": "failed"}],
    ),
    Exchange("a log-in page", "page to sign in", 200, body=page("Acme | Log in")),
    Exchange(
        "a page with a password",
        "page to sign in",
        200,
        body="<!doctype html>" + page("Acme", "<input type='password'>"),
    ),
]


def recorded_response(entry: dict[str, object]) -> Response:
    headers = tuple((name, value) for name, value in entry["headers"])  # type: ignore[attr-defined]
    return Response(
        int(str(entry["status"])),
        ResponseHeaders(headers),
        str(entry["body"]).encode(),
    )


def recorded(line: str) -> Exchange:
    entry = json.loads(line)
    anonymous = entry.get("anonymous")
    first, *also = entry["right"]
    return Exchange(
        who=f"{entry['server']}, {entry['case']}",
        first=first,
        also=tuple(also),
        status=entry["status"],
        headers=dict(entry["headers"]),
        body=entry["body"],
        kind=entry["kind"],
        values={"base_url": "http://127.0.0.1:8080", "network": "internal"}
        | entry["values"],
        rows=tuple(entry["rows"]),
        secrets=entry["secrets"] or {"none": ""},
        anonymous=anonymous and recorded_response(anonymous),
        at=float(entry["at"]),
    )


RECORDED = [
    recorded(line)
    for line in Path(__file__)
    .with_name("recorded_exchanges.jsonl")
    .read_text("utf-8")
    .splitlines()
]
