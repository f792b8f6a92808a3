"""The table of reasons: what can be wrong, how it is recognised and what a person does about it.

A table and nothing else. The documentation has one page for each row.
"""

from dataclasses import dataclass

from outkey.core.errors import Cause


@dataclass(frozen=True, slots=True)
class Reason:
    """One thing that can be wrong. Where its cause is `unexpected`, the status decides that."""

    id: str
    cause: Cause
    title: str
    remedy: str
    signs: str


# The remedies of the specification, section 7; those of its four causes begin with them.
_BEGIN = {
    Cause.INVALID_CREDENTIALS: "Check the username and password, or the token.",
    Cause.INSUFFICIENT_PERMISSIONS: "Check the permissions of the API user.",
    Cause.TOKEN_EXPIRED: "Implement a token refresh mechanism:",
    Cause.HEADER_FORMAT: "Review the authentication header format.",
}


def _row(name: str, cause: Cause, title: str, more: str, signs: str) -> Reason:
    return Reason(name, cause, title, f"{_BEGIN.get(cause, '')} {more}".strip(), signs)


# Not formatted, because they are tables. Of two suspicions that weigh the same the upper one comes
# first.
_INVALID, _DENIED = Cause.INVALID_CREDENTIALS, Cause.INSUFFICIENT_PERMISSIONS
_HEADER, _TOKEN_URL = Cause.HEADER_FORMAT, Cause.TOKEN_ENDPOINT
_OF_STATUS = (  # what a status means where nothing tells more
    _row(
        "wrong-credentials",
        _INVALID,
        "The API does not accept the credentials",
        "",
        'The status is 401, or the answer has words such as "bad credentials", '
        "and nothing tells more.",
    ),
    _row(
        "forbidden",
        _DENIED,
        "The API knows the user and refuses the request",
        "",
        "The status is 403, and nothing tells more.",
    ),
    _row(
        "token-expired",
        Cause.TOKEN_EXPIRED,
        "The token has expired",
        "enter a new token now, and its expiry date, so that a finding warns in time.",
        "The challenge says invalid_token, the answer says expired, Token Expires On"
        " has passed, or the token's own exp claim lies in the past.",
    ),
    _row(
        "malformed-header",
        _HEADER,
        "The API cannot read the authentication header",
        "",
        "The challenge says invalid_request, or the answer calls the header malformed.",
    ),
    _row(
        "clock-off",
        Cause.CLOCK_SKEW,
        "This machine's clock is off",
        "Set this machine's clock right (NTP); the API rejects our timestamps.",
        "The answer's Date differs from our time by more than a minute, "
        "and the request is signed with a time or the answer speaks of one.",
    ),
    _row(
        "tls-failed",
        Cause.TLS,
        "The TLS handshake failed",
        "Check the scheme of the Base URL and the Client certificate.",
        "The handshake ended with an alert that has no name of its own here.",
    ),
    _row(
        "time-out",
        Cause.TIMEOUT,
        "The answer did not come in time",
        "Try again later; the API gave up waiting.",
        "The status is 408, or no whole answer came within the time-outs.",
    ),
    _row(
        "rate-limited",
        Cause.RATE_LIMITED,
        "Too many requests",
        "Send less often: set a Rate limit (limits.requests_per_minute).",
        "The status is 429, or a 403 comes with Retry-After or with no requests left.",
    ),
    _row(
        "not-found",
        Cause.NOT_FOUND,
        "There is nothing at this address",
        "Check Base URL and path; some APIs also hide what you may not see.",
        "The status is 404 or 410.",
    ),
    _row(
        "server-error",
        Cause.SERVER_ERROR,
        "The API failed",
        "Try again later; the fault is on the other side.",
        "The status is 500 or above.",
    ),
    _row(
        "unexpected",
        Cause.UNEXPECTED,
        "An answer that nothing explains",
        "Compare the request with the API's documentation; a preview shows it.",
        "No other reason fits.",
    ),
)
_OF_EVIDENCE = (
    _row(
        "no-credentials-sent",
        _INVALID,
        "No credentials arrived",
        "None arrived: choose the Authentication Type that the API asks for, "
        "or add its key on the Headers tab.",
        "Authentication Type is None and the API answers 401, "
        "or the answer says that credentials are missing.",
    ),
    _row(
        "basic-user-shape",
        _INVALID,
        "The user name has another shape than this API wants",
        "Enter the Username in the form that the API's provider describes.",
        "The host belongs to a provider with a rule for user names, and Username does"
        " not fit it: an e-mail address at Atlassian, e-mail/token at Zendesk, an SID"
        " at Twilio; Stripe and Freshdesk want the key there.",
    ),
    _row(
        "token-revoked",
        _INVALID,
        "The token was revoked",
        "It was revoked: create a new one at the provider and enter it.",
        "The challenge or the answer says revoked.",
    ),
    _row(
        "token-not-yet-valid",
        _INVALID,
        "The token is not valid yet",
        "Wait until it is valid, or check the clocks of both machines.",
        "The token's own nbf claim lies in the future, or the answer says so.",
    ),
    _row(
        "token-other-audience",
        _INVALID,
        "The token is for another API",
        "It is meant for another API: ask for one with this API as audience "
        "(OAuth 2.0: Audience or Resource).",
        "The token's own aud claim names other hosts than the Base URL, "
        "or the answer complains about the audience.",
    ),
    _row(
        "token-other-issuer",
        _INVALID,
        "The token is from an issuer that the API does not trust",
        "It is from another issuer: get it from the authorization server of this"
        " environment.",
        "The answer complains about the issuer, or the token's iss claim is not the"
        " Issuer.",
    ),
    _row(
        "wrong-environment",
        _INVALID,
        "Credentials of one environment, host of another",
        "Test credentials work at the test system only, and live ones at the live"
        " system: check Base URL and Environment.",
        "The host has a word such as sandbox and Environment is Production, "
        "the key begins with a word such as sk_test_, or the answer says so.",
    ),
    _row(
        "account-locked",
        _INVALID,
        "The account is locked, disabled or unpaid",
        "The account itself is locked: have its owner unlock it at the provider, "
        "and stop sending until then.",
        "The answer says locked, disabled or suspended, or the status is 402.",
    ),
    _row(
        "login-page",
        _INVALID,
        "The answer is a page to log in",
        "A person's log-in page came instead of the API: check that the Base URL is the"
        " API's own, and that credentials are sent.",
        "A redirect leads to a log-in page, or an HTML page asks for a password.",
    ),
    _row(
        "missing-scope",
        _DENIED,
        "The token lacks a permission (scope)",
        "Give the application the missing scope at the provider, add it to Scope, "
        "and get a new token.",
        "The challenge says insufficient_scope, the answer says so, "
        "or X-Accepted-OAuth-Scopes names none that the token has.",
    ),
    _row(
        "csrf-required",
        _DENIED,
        "The API wants a CSRF token",
        "They may be right already: this API wants a CSRF token with each change. Fetch"
        " one first (SAP: X-CSRF-Token: Fetch), or use an address that is made for"
        " programs.",
        "X-CSRF-Token: Required in the answer, or the word CSRF in it.",
    ),
    _row(
        "ip-not-allowed",
        _DENIED,
        "This machine's address is not on the API's list",
        "Have the public address of this machine put on the list of allowed addresses.",
        "The answer speaks of the address that the request came from.",
    ),
    _row(
        "blocked-by-firewall",
        _DENIED,
        "A firewall before the API blocks the request",
        "The request may not have reached the API: have this machine's address and"
        " User-Agent allowed by the firewall before it.",
        "An HTML page or a header of Cloudflare, Akamai, Imperva, F5, AWS WAF or"
        " Sucuri.",
    ),
    _row(
        "expired-as-403",
        Cause.TOKEN_EXPIRED,
        "The token has expired, and the API says 403",
        "enter a new token, and where OAuth 2.0 gets it switch on 403 means expired.",
        "A 403 that speaks of expiry or says invalid_token, or the configuration says"
        " that a 403 means it.",
    ),
    _row(
        "wrong-scheme",
        _HEADER,
        "The API asks for another scheme",
        "The API asks for another scheme.",
        "WWW-Authenticate names schemes, and the one that is sent is not among them.",
    ),
    _row(
        "doubled-prefix",
        _HEADER,
        "The secret holds a prefix that is sent already",
        "Enter the value alone, without a word such as Bearer and without the header's"
        " name.",
        "The entered value begins with Bearer, Basic, Authorization: or the like.",
    ),
    _row(
        "secret-in-quotes",
        _HEADER,
        "The secret stands in quotes",
        "Enter the value without the quotes around it.",
        "The entered value begins and ends with a quotation mark.",
    ),
    _row(
        "invisible-characters",
        _HEADER,
        "The secret holds characters that nobody sees",
        "Enter the value anew, typed or copied as plain text, without blanks"
        " around it.",
        "Blanks at an end of the password, or zero-width, non-breaking or control"
        " characters.",
    ),
    _row(
        "pasted-json",
        _HEADER,
        "A whole JSON document was entered as the secret",
        "Enter only the value of its access_token or key.",
        "The entered value begins with a brace or a bracket.",
    ),
    _row(
        "header-too-large",
        _HEADER,
        "The header is too large for the server",
        "It is too long for the server: ask for a shorter token (fewer groups and"
        " scopes), or have the server's limit raised.",
        "The status is 431, or 400 with words about the size of headers.",
    ),
    _row(
        "header-underscore",
        _HEADER,
        "A header name with an underscore was dropped",
        "Write the header's name with hyphens: nginx and gunicorn drop names with an"
        " underscore.",
        "A secret row of the Headers tab has an underscore in its Key, and the API"
        " answers 401.",
    ),
    _row(
        "key-in-another-header",
        _HEADER,
        "The API wants the key in another header",
        "Send the key in the header that the API names.",
        "The answer or the challenge names a header that this configuration does not"
        " send.",
    ),
    _row(
        "dpop-required",
        _HEADER,
        "The API wants tokens bound to a key (DPoP)",
        "Switch on DPoP on the OAuth 2.0 tab.",
        "The challenge is DPoP alone, or speaks of its proof.",
    ),
    _row(
        "client-certificate-missing",
        Cause.TLS,
        "The server wants a client certificate",
        "Set Client certificate and Client key on the TLS tab.",
        'nginx answers 400 with "No required SSL certificate was sent", '
        "or the handshake ends with certificate required.",
    ),
    _row(
        "client-certificate-refused",
        Cause.TLS,
        "The server refuses our client certificate",
        "Check Client certificate and Client key: the server must know who issued it, "
        "and it must not have ended.",
        'nginx answers 400 with "The SSL certificate error", '
        "or the handshake ends with an alert about our certificate.",
    ),
    _row(
        "plain-http-to-tls-port",
        Cause.TLS,
        "Plain http was sent to a port for https",
        "Check the scheme of the Base URL: write https.",
        "The answer says that plain HTTP was sent to an HTTPS port.",
    ),
    _row(
        "tls-to-plain-port",
        Cause.TLS,
        "The port does not speak TLS",
        "Check scheme and port of the Base URL.",
        "The server's first bytes are no TLS (wrong version number).",
    ),
    _row(
        "certificate-expired",
        Cause.TLS,
        "The server's certificate has expired",
        "Have its owner renew it; check this machine's clock as well.",
        "The verification of the certificate says so.",
    ),
    _row(
        "certificate-other-host",
        Cause.TLS,
        "The server's certificate is for another host",
        "Check the host of the Base URL: use the name that the certificate has.",
        "The certificate's names do not include the host.",
    ),
    _row(
        "certificate-self-signed",
        Cause.TLS,
        "The server's certificate is self-signed",
        "Add it to CA certificates (tls.ca_file) if it is your own server.",
        "The certificate is its own issuer.",
    ),
    _row(
        "certificate-unknown-issuer",
        Cause.TLS,
        "The server's certificate is from an unknown authority",
        "Add a private CA to CA certificates (tls.ca_file), "
        "or have the server send its whole chain.",
        "The chain does not end in an authority that this machine trusts.",
    ),
    _row(
        "tls-too-old",
        Cause.TLS,
        "The server speaks only an old TLS version",
        "Have the server updated; TLS 1.2 is the lowest version outkey speaks.",
        "The handshake ends with protocol version.",
    ),
    _row(
        "hidden-401",
        Cause.NOT_FOUND,
        "A 404 that may hide a refusal",
        "Check Base URL and path, and the credentials with their permissions: "
        "some APIs answer 404 to what you may not see.",
        "A 404 although credentials are sent: GitHub does so, and others say "
        '"or you do not have access".',
    ),
    _row(
        "wrong-path",
        Cause.UNEXPECTED,
        "The path or the method is wrong",
        "Compare path and method with the API's documentation; "
        "the path of the Base URL comes before each path.",
        "The status is 405, the Test Path repeats the path of the Base URL, "
        "or it is / and the API has nothing there.",
    ),
    _row(
        "https-required",
        Cause.CONFIGURATION,
        "The API wants https",
        "Write https in the Base URL, and enter the secrets again: they belong to the"
        " address.",
        "A redirect to the same host with https, or an answer that says so to plain"
        " http.",
    ),
    _row(
        "error-in-200",
        Cause.UNEXPECTED,
        "An error in an answer that says success",
        "Read the answer's own words, and set Test Path to one that answers with a"
        " status.",
        "Status 2xx with ok: false, success: false, nothing but an error, a SOAP fault,"
        " or an empty document where the user's name should be.",
    ),
    _row(
        "proxy-credentials",
        Cause.UNEXPECTED,
        "A proxy on the way wants credentials",
        "outkey uses no proxy of its own: have the network let this machine through to"
        " the API.",
        "The status is 407.",
    ),
    _row(
        "quota-exhausted",
        Cause.RATE_LIMITED,
        "The quota of the day or the plan is used up",
        "Wait until the quota begins anew, or have it raised at the provider.",
        "Words such as quota exceeded, daily limit or rateLimitExceeded, often with"
        " 403.",
    ),
    _row(
        "dns-failed",
        Cause.DNS,
        "The host name is not known",
        "Check the host name in the Base URL for a typing error.",
        "The name does not resolve to an address.",
    ),
    _row(
        "connection-refused",
        Cause.CONNECTION,
        "No connection",
        "Check host and port of the Base URL, and whether the service is up.",
        "Nothing listens there, or the connection broke before an answer.",
    ),
    _row(
        "redirected-elsewhere",
        Cause.REDIRECT_BLOCKED,
        "The server redirects to another host",
        "Put the address the API really lives at into the Base URL.",
        "A redirect leads to another origin, where these credentials must not go.",
    ),
    _row(
        "egress-denied",
        Cause.EGRESS_DENIED,
        "outkey may not send there",
        "Check Base URL and Network.",
        "The address is private, of a cloud's metadata service, or plain http on the"
        " internet.",
    ),
    _row(
        "client-secret-wrong",
        _TOKEN_URL,
        "The provider does not know the client or its secret",
        "Check Client ID, Client Secret and Client Authentication.",
        "The Token URL answers invalid_client or 401.",
    ),
    _row(
        "client-authentication-style",
        _TOKEN_URL,
        "The provider wants another Client Authentication",
        "Try the other Client Authentication: in the body, or HTTP Basic.",
        "The Token URL answers invalid_request, or invalid_client although the secret"
        " is right.",
    ),
    _row(
        "grant-not-allowed",
        _TOKEN_URL,
        "The provider does not allow this Grant",
        "Allow it in the application's settings at the provider, or choose another"
        " Grant.",
        "The Token URL answers unauthorized_client or unsupported_grant_type.",
    ),
    _row(
        "scope-not-allowed",
        _TOKEN_URL,
        "The provider does not grant this Scope",
        "Check Scope, and what the application may ask for at the provider.",
        "The Token URL answers invalid_scope.",
    ),
    _row(
        "refresh-token-dead",
        Cause.REAUTHORIZATION_NEEDED,
        "A person must allow the access again",
        "Press Connect on the configuration's page, run outkey token authorize NAME, "
        "or enter a new refresh token.",
        "The Token URL answers invalid_grant.",
    ),
    _row(
        "token-url-wrong",
        _TOKEN_URL,
        "The Token URL is not a token endpoint",
        "Check the Token URL; it may be a web page, or the API itself.",
        "The Token URL answers 404, redirects, or sends a page instead of a token.",
    ),
)
REASONS: dict[str, Reason] = {
    reason.id: reason for reason in (*_OF_STATUS, *_OF_EVIDENCE)
}
REMEDIES: dict[Cause, str] = {reason.cause: reason.remedy for reason in _OF_STATUS}

# What outkey can change itself where it recognises a reason; `{}` is what it found out.
FIXES: dict[str, str] = {
    "wrong-scheme": "Switch Authentication Type to {}",
    "doubled-prefix": "Remove the prefix from the secret",
    "secret-in-quotes": "Remove the quotes from the secret",
    "invisible-characters": "Remove the invisible characters from the secret",
    "basic-user-shape": "Add {} to Username",
    "header-underscore": "Write the header as {}",
    "key-in-another-header": "Send the key in {}",
    "dpop-required": "Switch DPoP on",
    "plain-http-to-tls-port": "Use https in the Base URL",
    "https-required": "Use https in the Base URL",
    "wrong-path": "Set Test Path to {}",
    "client-authentication-style": "Switch Client Authentication to {}",
}
