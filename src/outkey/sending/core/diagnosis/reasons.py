"""The table of reasons: what can be wrong, its signs, and what a user does about it.

A table and nothing else. The documentation has one page for each row.
"""

from dataclasses import dataclass

from outkey.foundation.core.errors import Cause, ReauthorizationNeeded
from outkey.foundation.core.text import Text, build_text, join_texts


@dataclass(frozen=True, slots=True)
class Reason:
    """One thing that can be wrong. If its cause is `unexpected`, the status decides.

    `signs` is for the documentation only.
    """

    id: str
    cause: Cause
    title: Text
    remedy: Text
    signs: str


# The remedies of the specification, section 7;
# those of its four causes begin with them.
_BEGIN = {
    Cause.INVALID_CREDENTIALS: Text("Check the username and password, or the token."),
    Cause.INSUFFICIENT_PERMISSIONS: Text("Check the permissions of the API user."),
    Cause.TOKEN_EXPIRED: Text("Implement a token refresh mechanism:"),
    Cause.HEADER_FORMAT: Text("Review the authentication header format."),
}


def reason(name: str, cause: Cause, title: str, remedy: str, signs: str) -> Reason:
    """Return a row of the table, with the remedy of the specification in front."""
    remedies = [_BEGIN[cause]] if cause in _BEGIN else []
    if remedy:
        remedies.append(build_text(remedy, {}))
    text = remedies[0] if len(remedies) == 1 else join_texts(remedies)
    return Reason(name, cause, build_text(title, {}), text, signs)


# Of two suspicions with the same weight the upper one comes first.
_OF_STATUS = (  # the meaning of a status without further evidence
    reason(
        "wrong-credentials",
        Cause.INVALID_CREDENTIALS,
        "The API does not accept the credentials",
        "",
        "The status is 401, the challenge has the error invalid_token, or the response"
        ' has a phrase such as "bad credentials" or "invalid or expired token", without'
        " further evidence.",
    ),
    reason(
        "forbidden",
        Cause.INSUFFICIENT_PERMISSIONS,
        "The API refuses this request",
        "",
        "The status is 403, without further evidence; without credentials the status is"
        " 401; or the response reports that a right or a role is missing, also with"
        " 401.",
    ),
    reason(
        "token-expired",
        Cause.TOKEN_EXPIRED,
        "The token has expired",
        "enter a new token now, and its expiry date, so that a finding warns in time.",
        "The response or the description of its challenge states that the token has"
        " expired, and no other reason beside it; it has the Expired marker or one of"
        " the Expired statuses; Token Expires On has passed, the exp claim of the token"
        " is in the past, or the error is invalid_token and the API accepted the token"
        " before.",
    ),
    reason(
        "malformed-header",
        Cause.HEADER_FORMAT,
        "The API cannot read the authentication header",
        "",
        "The challenge has the error invalid_request, or the response calls the header"
        " malformed.",
    ),
    reason(
        "clock-off",
        Cause.CLOCK_SKEW,
        "The clock of this machine is wrong",
        "Correct the clock of this machine (NTP); the API rejects our timestamps.",
        "The Date header of the response differs from our time by more than a minute,"
        " and the request is signed with a time or the response mentions one.",
    ),
    reason(
        "tls-failed",
        Cause.TLS,
        "The TLS handshake failed",
        "Check the scheme of the Base URL and the Client certificate.",
        "The handshake ended with an alert that no other reason covers.",
    ),
    reason(
        "time-out",
        Cause.TIMEOUT,
        "The response did not arrive in time",
        "Retry later; the API did not finish the request in time.",
        "The status is 408, or no complete response arrived before the timeout.",
    ),
    reason(
        "rate-limited",
        Cause.RATE_LIMITED,
        "Too many requests",
        "Send less often: set a Rate limit (limits.requests_per_minute).",
        "The status is 429, or a 403 comes with Retry-After or with no requests left.",
    ),
    reason(
        "not-found",
        Cause.NOT_FOUND,
        "There is nothing at this URL",
        "Check Base URL and path; some APIs respond so if a permission is missing.",
        "The status is 404 or 410.",
    ),
    reason(
        "server-error",
        Cause.SERVER_ERROR,
        "The API failed",
        "Retry later; the error is on the side of the API.",
        "The status is 500 or above.",
    ),
    reason(
        "unexpected",
        Cause.UNEXPECTED,
        "The reason is unknown",
        "Compare the request with the API's documentation; a preview shows it.",
        "No other reason applies.",
    ),
)
_OF_EVIDENCE = (
    reason(
        "no-credentials-sent",
        Cause.INVALID_CREDENTIALS,
        "No credentials were received",
        "None were received: choose the Authentication Type that the API asks for,"
        " or add its key on the tab Headers and query.",
        "This configuration sends no credentials, and the status is 401 or 403.",
    ),
    reason(
        "basic-user-shape",
        Cause.INVALID_CREDENTIALS,
        "The user name does not have the form that this API expects",
        "Enter the Username in the form that the API's provider describes.",
        "The host belongs to a provider with a rule for user names, and Username does"
        " not match it: an e-mail address at Atlassian, e-mail/token at Zendesk, an SID"
        " at Twilio; Stripe and Freshdesk expect the key there.",
    ),
    reason(
        "password-encoded",
        Cause.INVALID_CREDENTIALS,
        "The password is encoded already",
        "Enter the password itself: outkey encodes user name and password when it"
        " sends them.",
        "The entered password is Base64 of the user name, a colon and a password.",
    ),
    reason(
        "token-revoked",
        Cause.INVALID_CREDENTIALS,
        "The token was revoked",
        "It was revoked: create a new one at the provider and enter it.",
        "The challenge or the response mentions revoked.",
    ),
    reason(
        "token-not-yet-valid",
        Cause.INVALID_CREDENTIALS,
        "The token is not valid yet",
        "Wait until it is valid, or check the clocks of both machines.",
        "The nbf claim of the token is in the future, or the response states it.",
    ),
    reason(
        "token-other-audience",
        Cause.INVALID_CREDENTIALS,
        "The token is for another API",
        "It is for another API: request one with this API as audience (OAuth 2.0:"
        " Audience or Resource).",
        "The aud claim of the token names other hosts than the Base URL, or the"
        " response mentions the audience.",
    ),
    reason(
        "token-other-issuer",
        Cause.INVALID_CREDENTIALS,
        "The token is from an issuer that the API does not trust",
        "It is from another issuer: get it from the authorization server of this"
        " environment.",
        "The response mentions the issuer, or the iss claim of the token is not the"
        " Issuer.",
    ),
    reason(
        "wrong-environment",
        Cause.INVALID_CREDENTIALS,
        "The credentials and the host belong to different environments",
        "Test credentials work at the test system only, and live ones at the live"
        " system: check Base URL and Environment.",
        "The host has a word such as sandbox and Environment is Production, "
        "the key begins with a word such as sk_test_, or the response states it.",
    ),
    reason(
        "account-locked",
        Cause.INVALID_CREDENTIALS,
        "The account is locked, disabled or unpaid",
        "The account itself is locked: have its owner unlock it at the provider, and"
        " do not send until then.",
        "The response mentions locked, disabled or suspended, or the status is 402.",
    ),
    reason(
        "login-page",
        Cause.INVALID_CREDENTIALS,
        "The response is a page to sign in",
        "A page to sign in was returned instead of the API: check that the Base URL is"
        " that of the API, and that credentials are sent.",
        "A redirect leads to a page to sign in, or an HTML page with an error status"
        " asks for a password.",
    ),
    reason(
        "missing-scope",
        Cause.INSUFFICIENT_PERMISSIONS,
        "The token lacks a permission (scope)",
        "Give the application the missing scope at the provider, add it to Scope, and"
        " get a new token.",
        "The challenge has the error insufficient_scope, the response reports it, or"
        " X-Accepted-OAuth-Scopes names no scope that the token has.",
    ),
    reason(
        "csrf-required",
        Cause.INSUFFICIENT_PERMISSIONS,
        "The API requires a CSRF token",
        "They may be right already: this API requires a CSRF token with each change."
        " Enter the CSRF path (csrf.path), so that outkey fetches one, or use a URL"
        " that is made for programs.",
        "The response has X-CSRF-Token: Required, or the word CSRF.",
    ),
    reason(
        "ip-not-allowed",
        Cause.INSUFFICIENT_PERMISSIONS,
        "The IP address of this machine is not allowed",
        "Have the public IP address of this machine added to the allowed addresses.",
        "The response mentions the IP address of the client.",
    ),
    reason(
        "blocked-by-firewall",
        Cause.INSUFFICIENT_PERMISSIONS,
        "A firewall in front of the API blocks the request",
        "The request may not have reached the API: have the IP address of this machine"
        " and the User-Agent allowed by the firewall.",
        "An HTML page or a header of Cloudflare, Akamai, Imperva, F5, AWS WAF or"
        " Sucuri.",
    ),
    reason(
        "expired-as-403",
        Cause.TOKEN_EXPIRED,
        "The token has expired, and the API responds with 403",
        "enter a new token; with OAuth 2.0 switch on 403 means expired.",
        "A 403 that states that the token has expired, or has the Expired marker; or"
        " 403 means expired is switched on.",
    ),
    reason(
        "wrong-scheme",
        Cause.HEADER_FORMAT,
        "The API asks for another scheme",
        "The API asks for another scheme.",
        "WWW-Authenticate or the text of the response names schemes, and not the one"
        " that is sent.",
    ),
    reason(
        "credentials-not-read",
        Cause.HEADER_FORMAT,
        "The API does not seem to find the credentials in the request",
        "Compare the Authentication Type, the scheme and the name of the header with"
        " the documentation of the API.",
        "Credentials are sent, and the response reports that they are missing, or it is"
        " the same without them.",
    ),
    reason(
        "doubled-prefix",
        Cause.HEADER_FORMAT,
        "The secret has a prefix that is sent already",
        "Enter the value only, without a word such as Bearer and without the name of"
        " the header.",
        "The entered value begins with Bearer, Basic, Authorization: or the like.",
    ),
    reason(
        "secret-in-quotes",
        Cause.HEADER_FORMAT,
        "The secret is in quotes",
        "Enter the value without the quotes around it.",
        "The entered value begins and ends with a quotation mark.",
    ),
    reason(
        "invisible-characters",
        Cause.HEADER_FORMAT,
        "A credential has invisible characters",
        "Enter the value again, typed or copied as plain text, without spaces around"
        " it.",
        "Spaces at an end of the user name or password, or zero-width, non-breaking or"
        " control characters.",
    ),
    reason(
        "pasted-json",
        Cause.HEADER_FORMAT,
        "A whole JSON document was entered as the secret",
        "Enter only the value of its access_token or key.",
        "The entered value begins with a brace or a bracket.",
    ),
    reason(
        "header-too-large",
        Cause.HEADER_FORMAT,
        "The header is too large for the server",
        "It is too long for the server: request a shorter token (fewer groups and"
        " scopes), or have the limit of the server raised.",
        "The status is 431, or 400 with a phrase about the size of headers.",
    ),
    reason(
        "header-underscore",
        Cause.HEADER_FORMAT,
        "A header name with an underscore was dropped",
        "Write the name of the header with hyphens: nginx and gunicorn drop names with"
        " an underscore.",
        "A secret header row has an underscore in its Key, and the status is 401.",
    ),
    reason(
        "key-in-another-header",
        Cause.HEADER_FORMAT,
        "The API expects the key in another header",
        "Send the key in the header that the API names.",
        "The response or the challenge names a header that this configuration does not"
        " send.",
    ),
    reason(
        "subject-token-expired",
        Cause.TOKEN_ENDPOINT,
        "The subject token has expired",
        "pass one of the user that is still valid; or renew what Subject token refers"
        " to.",
        "The Token URL reports so at a token exchange.",
    ),
    reason(
        "actor-token-needed",
        Cause.TOKEN_ENDPOINT,
        "The provider expects an actor token, or another one",
        "enter the Actor token of this application, and its type.",
        "The Token URL speaks of the actor at a token exchange.",
    ),
    reason(
        "exchange-target-refused",
        Cause.TOKEN_ENDPOINT,
        "The provider does not exchange tokens for this audience",
        "compare Audience and Resource with the provider's documentation, and have the"
        " application permitted to request them.",
        "The Token URL reports the error invalid_target at a token exchange.",
    ),
    reason(
        "subject-token-refused",
        Cause.TOKEN_ENDPOINT,
        "The provider does not accept the subject token",
        "check that it is the token of a user whom this provider knows, and compare"
        " Subject token type with the provider's documentation.",
        "The Token URL speaks of the subject token at a token exchange, or reports"
        " invalid_grant or invalid_request without another sign.",
    ),
    reason(
        "dpop-required",
        Cause.HEADER_FORMAT,
        "The API requires tokens bound to a key (DPoP)",
        "Switch on DPoP on the OAuth 2.0 tab.",
        "The challenge is DPoP alone, or mentions its proof.",
    ),
    reason(
        "client-certificate-missing",
        Cause.TLS,
        "The server requires a client certificate",
        "Set Client certificate and Client key on the TLS tab.",
        'nginx responds with 400 and "No required SSL certificate was sent", or the'
        " handshake ends with certificate required.",
    ),
    reason(
        "client-certificate-refused",
        Cause.TLS,
        "The server refuses our client certificate",
        "Check Client certificate and Client key: the server must know the issuer, and"
        " it must not have expired.",
        'nginx responds with 400 and "The SSL certificate error", or the handshake ends'
        " with an alert about our certificate.",
    ),
    reason(
        "plain-http-to-tls-port",
        Cause.TLS,
        "Plain http was sent to a port for https",
        "Check the scheme of the Base URL: write https.",
        "The response reports that plain HTTP was sent to an HTTPS port.",
    ),
    reason(
        "tls-to-plain-port",
        Cause.TLS,
        "The port does not support TLS",
        "Check scheme and port of the Base URL.",
        "The first bytes of the server are not TLS (wrong version number).",
    ),
    reason(
        "certificate-expired",
        Cause.TLS,
        "The server's certificate has expired",
        "Have its owner renew it; check the clock of this machine as well.",
        "The verification of the certificate reports it.",
    ),
    reason(
        "certificate-other-host",
        Cause.TLS,
        "The server's certificate is for another host",
        "Check the host of the Base URL: use the name in the certificate.",
        "The certificate's names do not include the host.",
    ),
    reason(
        "certificate-self-signed",
        Cause.TLS,
        "The server's certificate is self-signed",
        "Add it to CA certificates (tls.ca_file) if it is your own server.",
        "The certificate is its own issuer.",
    ),
    reason(
        "certificate-unknown-issuer",
        Cause.TLS,
        "The server's certificate is from an unknown authority",
        "Add a private CA to CA certificates (tls.ca_file), or have the server send its"
        " complete chain.",
        "The chain does not end in an authority that this machine trusts.",
    ),
    reason(
        "tls-too-old",
        Cause.TLS,
        "The server supports only an old TLS version",
        "Have the server updated; TLS 1.2 is the oldest version that outkey supports.",
        "The handshake ends with protocol version.",
    ),
    reason(
        "hidden-401",
        Cause.NOT_FOUND,
        "The 404 may be a refusal",
        "Check Base URL and path, and the permissions of the credentials: some APIs"
        " respond with 404 if a permission is missing.",
        "A 404 although credentials are sent: GitHub does so, and others add"
        ' "or you do not have access".',
    ),
    reason(
        "wrong-path",
        Cause.UNEXPECTED,
        "The path or the method is wrong",
        "Compare path and method with the documentation of the API; the path of the"
        " Base URL comes before each path.",
        "The status is 405, the Test Path repeats the path of the Base URL, or it is /"
        " and the API has nothing there.",
    ),
    reason(
        "https-required",
        Cause.CONFIGURATION,
        "https is required",
        "Write https in the Base URL, and enter the secrets again: they are bound to"
        " the URL.",
        "A redirect to the same host with https, a response to plain http that"
        " states it,"
        " or outkey's own rule: no plain http on the public internet.",
    ),
    reason(
        "error-in-200",
        Cause.UNEXPECTED,
        "The response has a success status and an error",
        "Read the message in the response, and set Test Path to one that reports errors"
        " by status.",
        "Status 2xx with a member such as error, errors or fault that is not empty,"
        " with ok: false or success: false, or a SOAP fault.",
    ),
    reason(
        "proxy-credentials",
        Cause.PROXY,
        "The proxy requires other credentials",
        "Check Proxy user and Proxy password, or those of the operator's policy; outkey"
        " sends them as Basic.",
        "The status is 407, or tinyproxy responds with 401.",
    ),
    reason(
        "proxy-refused",
        Cause.PROXY,
        "The proxy does not allow this host and port",
        "Have the proxy's operator allow the host and port of the URL; many allow https"
        " on port 443 only.",
        "The proxy responds to CONNECT with a status from 300 to 499, or squid or"
        " tinyproxy respond with 403 themselves.",
    ),
    reason(
        "proxy-cannot-reach",
        Cause.PROXY,
        "The proxy cannot connect to the API",
        "Check the host of the URL, and whether the proxy can resolve and reach it.",
        "The proxy responds to CONNECT with a status from 500 on or not in time, or"
        " squid or tinyproxy respond with such a status themselves.",
    ),
    reason(
        "proxy-unreachable",
        Cause.PROXY,
        "The proxy cannot be reached",
        "Check host and port of the proxy, and whether it is up.",
        "Its name does not resolve, nothing listens there, or it does not accept the"
        " connection in time.",
    ),
    reason(
        "proxy-tls",
        Cause.PROXY,
        "The TLS handshake with the proxy failed",
        "Check scheme and certificate of the proxy; add a private CA to CA certificates"
        " (tls.ca_file).",
        "The URL of the proxy is https, and its certificate cannot be verified or it"
        " does not support TLS.",
    ),
    reason(
        "proxy-not-http",
        Cause.PROXY,
        "The proxy does not respond as one",
        "Check host, port and scheme of the proxy: another service may be there.",
        "It closes the connection without a response, or the response is not HTTP.",
    ),
    reason(
        "quota-exhausted",
        Cause.RATE_LIMITED,
        "The quota is used up",
        "Wait until the quota is renewed, or have it raised at the provider.",
        "Phrases such as quota exceeded, daily limit or rateLimitExceeded, often with"
        " 403.",
    ),
    reason(
        "dns-failed",
        Cause.DNS,
        "The host name is unknown",
        "Check the host name in the Base URL for typos.",
        "The name does not resolve to an IP address.",
    ),
    reason(
        "connection-refused",
        Cause.CONNECTION,
        "No connection",
        "Check host and port of the Base URL, and whether the service is up.",
        "Nothing listens there, or the connection was closed before a response.",
    ),
    reason(
        "other-protocol",
        Cause.CONNECTION,
        "The port speaks another protocol than HTTP",
        "Check the port of the Base URL: another service listens there.",
        "The first bytes of the response are not HTTP, such as the greeting of an SSH"
        " or mail server.",
    ),
    reason(
        "redirected-elsewhere",
        Cause.REDIRECT_BLOCKED,
        "The server redirects to another host",
        "Enter the URL that the API redirects to as the Base URL, if you trust it.",
        "A redirect leads to another origin, which must not get these credentials.",
    ),
    reason(
        "redirected-to-http",
        Cause.REDIRECT_BLOCKED,
        "The server redirects to plain http",
        "Ask the provider for the https URL of its API: it redirects to plain http,"
        " where everybody on the way can read the credentials.",
        "The request was sent by https, and a redirect leads to a URL with plain http.",
    ),
    reason(
        "egress-denied",
        Cause.EGRESS_DENIED,
        "outkey is not allowed to send there",
        "Check Base URL and Network.",
        "The IP address is private or of a cloud metadata service, or the URL is plain"
        " http on the internet.",
    ),
    reason(
        "client-secret-wrong",
        Cause.TOKEN_ENDPOINT,
        "The provider does not know the client or its secret",
        "Check Client ID, Client Secret and Client Authentication.",
        "The Token URL responds with invalid_client or 401.",
    ),
    reason(
        "client-authentication-style",
        Cause.TOKEN_ENDPOINT,
        "The provider expects another Client Authentication",
        "Try the other Client Authentication: in the body, or HTTP Basic.",
        "The Token URL responds with invalid_request, names the method in its"
        " description, or responds with invalid_client although the secret is right.",
    ),
    reason(
        "grant-not-allowed",
        Cause.TOKEN_ENDPOINT,
        "The provider does not allow this Grant",
        "Allow it in the application's settings at the provider, or choose another"
        " Grant.",
        "The Token URL responds with unauthorized_client or unsupported_grant_type.",
    ),
    reason(
        "scope-not-allowed",
        Cause.TOKEN_ENDPOINT,
        "The provider does not grant this Scope",
        "Check Scope, and what the application may request at the provider.",
        "The Token URL responds with invalid_scope.",
    ),
    reason(
        "refresh-token-dead",
        Cause.REAUTHORIZATION_NEEDED,
        "A user must authorize the access again",
        ReauthorizationNeeded.default_hint,
        "The Token URL responds with invalid_grant.",
    ),
    reason(
        "assertion-audience",
        Cause.TOKEN_ENDPOINT,
        "The provider expects another audience in the assertion",
        "Set Audience of assertions, or Issuer, to what the provider documents: often"
        " its Token URL, sometimes its name.",
        "The words of the Token URL's response are about the audience (aud).",
    ),
    reason(
        "assertion-issuer",
        Cause.TOKEN_ENDPOINT,
        "The provider does not know the issuer of the assertion",
        "Compare Issuer of assertions, or Client ID, with the application's page at the"
        " provider; for a token of another issuer, the trust that is set up there.",
        "The words of the Token URL's response are about the issuer (iss).",
    ),
    reason(
        "assertion-subject",
        Cause.TOKEN_ENDPOINT,
        "The provider does not accept the subject of the assertion",
        "Check Subject of assertions, and whether the provider allows the application"
        " to act for it: many need the consent of an administrator.",
        "The words of the Token URL's response are about the subject (sub), or about a"
        " user who has not approved the application.",
    ),
    reason(
        "assertion-key",
        Cause.TOKEN_ENDPOINT,
        "The provider cannot verify the signature of the assertion",
        "Check that the public key of this key is registered at the provider, and that"
        " Key ID and Signature algorithm are as registered.",
        "The words of the Token URL's response are about the signature, the key or its"
        " ID (kid).",
    ),
    reason(
        "assertion-replayed",
        Cause.TOKEN_ENDPOINT,
        "The provider has seen this assertion before",
        "outkey signs a new one for each request: look for a proxy that repeats"
        " requests; a token of another issuer must be renewed before it is used again.",
        "The words of the Token URL's response are about a repeated number (jti).",
    ),
    reason(
        "assertion-refused",
        Cause.TOKEN_ENDPOINT,
        "The provider refuses the assertion",
        "Compare issuer, subject, audience and lifetime of assertions with the"
        " provider's documentation, and the key with the one registered there.",
        "The Token URL responds to an assertion with invalid_grant, without any"
        " explanation.",
    ),
    reason(
        "federated-token-expired",
        Cause.TOKEN_ENDPOINT,
        "The token of the other issuer has expired",
        "Check what renews the file or environment variable of Client assertion: outkey"
        " reads it with each token request.",
        "Client Authentication is federated, and the words of the Token URL's response"
        " are about a time.",
    ),
    reason(
        "password-refused",
        Cause.TOKEN_ENDPOINT,
        "The provider refuses the user name or the password",
        "Check both, and whether the user may sign in without a second factor.",
        "The grant is password, and the Token URL responds with invalid_grant.",
    ),
    reason(
        "oauth1-signature",
        Cause.INVALID_CREDENTIALS,
        "The API does not accept the signature",
        "A signature is wrong if Consumer Secret, Access Token Secret or Private Key is"
        " wrong, or if the API sees the request at another URL, as behind a proxy.",
        "An API of OAuth 1.0a responds with signature_invalid, code 32 or words such as"
        ' "Invalid signature".',
    ),
    reason(
        "oauth1-consumer",
        Cause.INVALID_CREDENTIALS,
        "The API does not know the Consumer Key",
        "Compare Consumer Key with the application's page at the provider, and check"
        " that the application is active.",
        "An API of OAuth 1.0a responds with consumer_key_unknown, with"
        ' consumer_key_rejected, or with words such as "Consumer key is invalid".',
    ),
    reason(
        "oauth1-token",
        Cause.INVALID_CREDENTIALS,
        "The API does not accept the Access Token",
        "Compare Access Token with the provider's page: it belongs to one Consumer Key"
        " and one account, and may have been replaced or revoked.",
        "An API of OAuth 1.0a responds with token_rejected, code 89 or words such as"
        ' "Invalid or expired token".',
    ),
    reason(
        "oauth1-method",
        Cause.HEADER_FORMAT,
        "The API expects another Signature Method",
        "Choose the Signature Method that its documentation names.",
        "An API of OAuth 1.0a responds with signature_method_rejected or reports it.",
    ),
    reason(
        "oauth1-nonce",
        Cause.UNEXPECTED,
        "The API has seen this nonce before",
        "outkey never uses a nonce twice: look for a proxy or a gateway that repeats"
        " requests, and check this machine's clock.",
        "An API of OAuth 1.0a responds with nonce_used or reports it.",
    ),
    reason(
        "not-connected",
        Cause.REAUTHORIZATION_NEEDED,
        "No user has authorized the access yet",
        "Connect it first: press Connect on the configuration's page, or run outkey"
        " token authorize.",
        "The grant needs a user's consent, and there has been no token yet.",
    ),
    reason(
        "login-refused",
        Cause.INVALID_CREDENTIALS,
        "The API refuses the login",
        "Also compare Login body and Login format with the documentation of the API."
        " outkey repeats a refused login after a minute at the earliest, and pauses"
        " after five, so that the account is not locked.",
        "The response to the login is 400, 401, 403 or 422, or it is a success that"
        " has an explicit error and no token.",
    ),
    reason(
        "login-token-elsewhere",
        Cause.TOKEN_ENDPOINT,
        "The login worked, but its token is in another place",
        "Correct Token in the response.",
        "The login succeeds, and its response has nothing where Token in the response"
        " points to.",
    ),
    reason(
        "login-path-wrong",
        Cause.TOKEN_ENDPOINT,
        "The Login path does not issue tokens",
        "Check Login path and Token in the response.",
        "The Login path responds with 404, a redirect or a page.",
    ),
    reason(
        "aws-secret-wrong",
        Cause.INVALID_CREDENTIALS,
        "AWS finds that the signature is wrong",
        "Enter the Secret Access Key anew: it does not belong to this Access Key ID."
        " What changes a request on its way, such as a proxy, has the same effect.",
        "AWS responds with SignatureDoesNotMatch or InvalidSignatureException, and does"
        " not speak of the time, the region or the service.",
    ),
    reason(
        "aws-key-unknown",
        Cause.INVALID_CREDENTIALS,
        "AWS does not know the access key",
        "Check the Access Key ID, and whether the key is active in this account; one"
        " that begins with ASIA needs its Session Token.",
        "AWS responds with InvalidClientTokenId, UnrecognizedClientException,"
        " InvalidAccessKeyId, InvalidToken or AuthFailure.",
    ),
    reason(
        "aws-scope-wrong",
        Cause.HEADER_FORMAT,
        "The signature is for another region or service",
        "Check Region and Service: they must be those of the host in the Base URL.",
        'AWS responds that the credential "should be scoped to a valid region" or "to'
        ' correct service", or that the region is wrong.',
    ),
    reason(
        "aws-role-denied",
        Cause.TOKEN_ENDPOINT,
        "STS does not allow to assume the role",
        "Check Role ARN and External ID, whether the role trusts this identity, and"
        " whether the access key may call sts:AssumeRole.",
        "STS responds with AccessDenied, NoSuchEntity or ValidationError.",
    ),
    reason(
        "aws-identity-refused",
        Cause.TOKEN_ENDPOINT,
        "STS does not accept the web identity token",
        "Check that it is from the identity provider that the role trusts, and its"
        " audience and subject.",
        "STS responds with InvalidIdentityToken or IDPRejectedClaim.",
    ),
    reason(
        "sts-url-wrong",
        Cause.TOKEN_ENDPOINT,
        "The STS URL is not STS",
        "Check Region and STS URL; empty, it is that of the region.",
        "The STS URL responds with 404, a redirect, or without the keys of a session.",
    ),
    reason(
        "token-url-wrong",
        Cause.TOKEN_ENDPOINT,
        "The Token URL is not a token endpoint",
        "Check the Token URL; it may be a web page, or the API itself.",
        "The Token URL responds with 404, a redirect, or a page instead of a token.",
    ),
)
REASONS: dict[str, Reason] = {row.id: row for row in (*_OF_STATUS, *_OF_EVIDENCE)}
REMEDIES: dict[Cause, Text] = {row.cause: row.remedy for row in _OF_STATUS}

# The changes that outkey can make itself; the value is a placeholder for the evidence.
FIXES: dict[str, Text] = {
    "wrong-scheme": Text("Switch Authentication Type to {value}", value="…"),
    "doubled-prefix": Text("Remove the prefix from the secret"),
    "secret-in-quotes": Text("Remove the quotes from the secret"),
    "invisible-characters": Text("Remove the invisible characters"),
    "basic-user-shape": Text("Add {value} to Username", value="…"),
    "header-underscore": Text("Write the header as {value}", value="…"),
    "key-in-another-header": Text("Send the key in {value}", value="…"),
    "dpop-required": Text("Switch DPoP on"),
    "aws-scope-wrong": Text("Set Region to {value}", value="…"),
    "plain-http-to-tls-port": Text("Use https in the Base URL"),
    "https-required": Text("Use https in the Base URL"),
    "wrong-path": Text("Set Test Path to {value}", value="…"),
    "client-authentication-style": Text(
        "Switch Client Authentication to {value}", value="…"
    ),
}
