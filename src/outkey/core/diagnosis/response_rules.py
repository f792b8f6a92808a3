"""The rules that read an answer: each looks at one thing and yields the clues it finds."""

import re
from collections.abc import Callable, Container, Iterator
from datetime import UTC, datetime

from outkey.core.config.choices import AuthenticationType, Environment
from outkey.core.diagnosis.evidence import Clue, Evidence, fix_of
from outkey.core.diagnosis.phrases import spoken
from outkey.core.diagnosis.reasons import REASONS
from outkey.core.moments import CLOCK_SKEW_SECONDS

_SCHEMES = ("Basic", "Bearer", "Digest", "DPoP", "Negotiate", "NTLM")
_KEY_SCHEMES = frozenset({"apikey", "api-key", "x-api-key", "key"})
# RFC 6750 §3.1: invalid_token is expired, revoked, malformed or invalid; the description may tell.
_DESCRIBED = (
    ("expired", "token-expired"),
    ("revoked", "token-revoked"),
    ("audience", "token-other-audience"),
    ("issuer", "token-other-issuer"),
    ("not yet", "token-not-yet-valid"),
    ("malformed", "wrong-credentials"),
    ("signature", "wrong-credentials"),
    ("unknown", "wrong-credentials"),
    ("not found", "wrong-credentials"),
)
_BY_STATUS = {
    401: "wrong-credentials",
    402: "account-locked",
    403: "forbidden",
    404: "not-found",
    405: "wrong-path",
    407: "proxy-credentials",
    408: "time-out",
    410: "not-found",
    429: "rate-limited",
    431: "header-too-large",
    # What nginx calls them where its own pages are replaced.
    494: "header-too-large",
    495: "client-certificate-refused",
    496: "client-certificate-missing",
    497: "plain-http-to-tls-port",
}
# Words of time that a signature was refused for; the first ones mean nothing else. (A field
# "timestamp" stands in every error of Spring.)
_TOO_LATE = (
    *(
        b"tooskewed",
        b"clockskew",
        b"requestexpired",
        b"invalidtimestamp",
        b"badtimestamp",
    ),
    *(
        b"timestamp" + word
        for word in (b"is", b"for", b"has", b"out", b"too", b"expired")
    ),
)
_TIMED = (
    b"tooskewed",
    b"clockskew",
    b"timestamp",
    b"requestexpired",
    b"signatureexpired",
)
_SWITCH = (
    "Implement a token refresh mechanism: switch on 403 means expired on the"
    " Verification tab, and outkey gets a new token after a 403."
)
_SAME_TIME = (
    "Both clocks agree: check the form of the timestamp too (UTC, unit, digits)."
)
# Who is known to answer 404 to what one may not see.
_HIDING = ("github.com", "gitlab.com", "bitbucket.org", "atlassian.net")
_KEY_HEADERS = {
    name.lower().encode(): name
    for name in (
        "X-API-Key",
        "X-Api-Token",
        "X-Auth-Token",
        "X-Auth-Key",
        "X-Access-Token",
        "X-Shopify-Access-Token",
        "X-Amz-Access-Token",
        "X-Goog-Api-Key",
        "X-Redmine-API-Key",
        "X-Figma-Token",
        "X-Vault-Token",
        "X-N8N-API-KEY",
        "DD-API-KEY",
        "Ocp-Apim-Subscription-Key",
        "Private-Token",
    )
}
_FIREWALL_HEADERS = {
    "cf-mitigated": "Cloudflare",
    "x-amzn-waf-action": "AWS WAF",
    "x-sucuri-block": "Sucuri",
    "x-iinfo": "Imperva",
}
_FIREWALLS = {"cloudflare": "Cloudflare", "akamaighost": "Akamai", "sucuri": "Sucuri"}
_TRIAL = frozenset(
    "sandbox test testing staging stage dev demo uat qa preprod preview".split()  # noqa: SIM905 - reads as one
)
_LABELS = re.compile(r"[.-]")
# Which user names these providers take, and what to say where it is another.
_USERS = (
    (
        "zendesk.com",
        re.compile(r"[^/]+@[^/]+/token"),
        "the e-mail address followed by /token",
    ),
    ("atlassian.net", re.compile(r".+@.+"), "the e-mail address of the account"),
    (
        "twilio.com",
        re.compile(r"(?:AC|SK)[0-9a-f]{32}"),
        "an SID that begins with AC or SK",
    ),
    (
        "stripe.com",
        re.compile(r"[rs]k_.+"),
        "the key; better choose Bearer Token and enter it as Token",
    ),
    ("freshdesk.com", re.compile(r"[^@]+"), "the API key, with X as Password"),
)


def usual(status: int) -> str:
    """Return the reason that a status alone stands for."""
    return _BY_STATUS.get(status, "server-error" if status >= 500 else "unexpected")


def by_status(evidence: Evidence) -> Iterator[Clue]:
    """Say what the status alone means."""
    status = evidence.status
    yield Clue(50, usual(status), f"The status is {status}.")
    if not evidence.configuration.sends_credentials and status in {401, 403}:
        weight = 85 if status == 401 else 45
        said = f"The status is {status}, and this configuration sends no credentials."
        yield Clue(weight, "no-credentials-sent", said)


def by_challenge(evidence: Evidence) -> Iterator[Clue]:
    """Read the errors of the challenges (RFC 6750 §3.1, RFC 9449 §7.1)."""
    errors = evidence.errors
    if "insufficient_scope" in errors:
        yield Clue(90, "missing-scope", "WWW-Authenticate says insufficient_scope.")
    if "invalid_token" in errors and evidence.configuration.sends_token:
        yield _invalid_token(evidence)
    if "invalid_request" in errors:
        yield Clue(75, "malformed-header", "WWW-Authenticate says invalid_request.")
    alone = "dpop" in evidence.offered and "bearer" not in evidence.offered
    if alone or errors & {"invalid_dpop_proof", "use_dpop_nonce"}:
        oauth2 = (
            evidence.configuration.uses_oauth2
            and not evidence.configuration.oauth2.dpop
        )
        fix = fix_of("dpop-required", ("oauth2.dpop", "true")) if oauth2 else None
        yield Clue(82, "dpop-required", "WWW-Authenticate asks for DPoP.", fix=fix)


def _invalid_token(evidence: Evidence) -> Clue:
    described = [reason for word, reason in _DESCRIBED if word in evidence.described]
    said = "WWW-Authenticate says invalid_token"
    if described:
        reason = described[0]
    elif (
        evidence.claims
        and (evidence.claims.expires or 0) > evidence.now + evidence.skew
    ):
        reason, said = (
            "wrong-credentials",
            f"{said}, and the token says that it has not expired",
        )
    else:
        reason = "token-expired"
    if evidence.status == 403 and reason == "token-expired":
        reason = "expired-as-403"
    return Clue(80, reason, f"{said}.")


def by_scheme(evidence: Evidence) -> Iterator[Clue]:
    """Compare the schemes that the server takes with ours."""
    configuration, offered = evidence.configuration, evidence.offered
    ours = configuration.authentication_type
    # Jira names OAuth whatever it takes; a row or script may hold any scheme; and with DPoP the
    # token's own type decides.
    if not offered - {"oauth", "dpop"} or ours in offered:
        return
    if configuration.is_scripted or not configuration.sends_credentials:
        return
    if any(row.key.lower() == "authorization" for row in configuration.headers):
        return
    if configuration.uses_oauth2 and configuration.oauth2.dpop:
        return
    sent = _named({ours})
    if ours is AuthenticationType.NONE:
        sent = (
            "keys in headers" if evidence.secret_rows else "a client certificate alone"
        )
    if offered & _KEY_SCHEMES:
        said = f"WWW-Authenticate asks for an API key; this configuration sends {sent}."
        yield Clue(72, "key-in-another-header", said)
        return
    wanted = _named(offered)
    remedy = REASONS["wrong-scheme"].remedy.replace("another scheme", wanted)
    said = f"WWW-Authenticate asks for {wanted}; this configuration sends {sent}."
    # Never none of them, whatever a server says that it takes.
    ours_too = (AuthenticationType.BASIC, AuthenticationType.BEARER)
    known = [kind for kind in ours_too if kind in offered]
    fix = known and fix_of(
        "wrong-scheme", ("authentication_type", str(known[-1])), word=known[-1].label
    )
    yield Clue(68, "wrong-scheme", said, remedy, fix or None)


def _named(schemes: set[str]) -> str:
    """Return the names of schemes; one that nobody knows is remote text."""
    return " or ".join(s for s in _SCHEMES if s.lower() in schemes) or "another scheme"


def by_expiry(evidence: Evidence) -> Iterator[Clue]:
    """Look at what the configuration knows about expiry."""
    status, configuration = evidence.status, evidence.configuration
    if not configuration.sends_token:
        return
    reason = "token-expired" if status == 401 else "expired-as-403"
    last_day = configuration.expires_on
    if last_day and datetime.fromtimestamp(evidence.now, UTC).date() > last_day:
        yield Clue(
            80 if status == 401 else 60, reason, f"Token Expires On is {last_day}."
        )
    verification = configuration.verification
    if (
        verification.expired_marker
        and verification.expired_marker.encode() in evidence.body
    ):
        yield Clue(86, reason, "The answer holds the Expired marker.")
    if status == 401:
        return
    if verification.forbidden_means_expired:
        yield Clue(80, reason, "The configuration says that 403 means expired.")
    elif "insufficient_scope" not in evidence.errors:
        said = "Some APIs answer 403 to an expired token (django-oauth-toolkit)."
        yield Clue(30, reason, said, _SWITCH if configuration.uses_oauth2 else "")


def by_clock(evidence: Evidence) -> Iterator[Clue]:
    """Compare the clocks, where the answer or our own signature depends on the time."""
    configuration = evidence.configuration
    timed = any(word in evidence.said for word in _TIMED)
    signed = configuration.is_scripted or (
        configuration.uses_oauth2 and configuration.oauth2.dpop
    )
    if not (timed or signed):
        return
    skew = round(evidence.skew)
    if abs(skew) > CLOCK_SKEW_SECONDS:
        side = "ahead of" if skew > 0 else "behind"
        said = f"The API's clock is {abs(skew)} seconds {side} ours"
        word = ", and the answer speaks of the time." if timed else "."
        yield Clue(88 if timed else 65, "clock-off", said + word)
    elif any(word in evidence.said for word in _TOO_LATE):
        # Where the clocks agree, a script may write the time in another form than the API reads.
        remedy = f"{REASONS['clock-off'].remedy} {_SAME_TIME}" if evidence.skew else ""
        yield Clue(
            74, "clock-off", "The answer refuses the time of the request.", remedy
        )
    elif timed:
        yield Clue(30, "clock-off", "The answer speaks of the time.")


def by_limits(evidence: Evidence) -> Iterator[Clue]:
    """Look for limits, also those that come as a 403 (GitHub)."""
    pause = evidence.headers.get("retry-after", "")
    if pause.isascii() and pause.isdigit():
        yield Clue(
            72, "rate-limited", f"Retry-After asks for a pause of {pause[:10]} seconds."
        )
    names = ("x-ratelimit-remaining", "ratelimit-remaining")
    if (
        next((evidence.headers[name] for name in names if name in evidence.headers), "")
        == "0"
    ):
        yield Clue(
            78, "rate-limited", "The answer's headers say that no requests are left."
        )


def by_scopes(evidence: Evidence) -> Iterator[Clue]:
    """Compare the scopes that GitHub's headers name: one of the accepted is enough."""
    accepted = _words(evidence.headers.get("x-accepted-oauth-scopes", ""))
    granted = _words(evidence.headers.get("x-oauth-scopes", ""))
    if accepted and not accepted & granted:
        said = "X-Accepted-OAuth-Scopes names no scope that the token has."
        yield Clue(76, "missing-scope", said)


def _words(text: str) -> set[str]:
    return set(text.replace(",", " ").split())


def by_guard(evidence: Evidence) -> Iterator[Clue]:
    """Look for what stands before the API: CSRF guards, firewalls, log-in pages."""
    headers, html = evidence.headers, evidence.is_html
    if evidence.status == 403 and headers.get("x-csrf-token", "").lower() == "required":
        yield Clue(92, "csrf-required", "The answer has X-CSRF-Token: Required.")
    if evidence.status in {403, 406, 429, 503}:
        marked = [
            name for header, name in _FIREWALL_HEADERS.items() if header in headers
        ]
        server = headers.get("server", "").lower()
        marked += [name for word, name in _FIREWALLS.items() if html and word in server]
        if marked:
            said = f"The answer comes from {marked[0]}, and not from the API."
            yield Clue(74, "blocked-by-firewall", said)
    if html and asks_for_password(evidence):
        yield Clue(
            66, "login-page", "The answer is a page with a field for a password."
        )


def asks_for_password(evidence: Evidence) -> bool:
    """Tell whether a page has a field for a password."""
    return any(
        mark in evidence.lower for mark in (b'type="password"', b"type='password'")
    )


def by_place(evidence: Evidence) -> Iterator[Clue]:
    """Say what else a 404 may be; the path is known in tests only."""
    configuration = evidence.configuration
    tested = evidence.secret is not None
    base, path = configuration.base.target, configuration.verification.test_path
    if tested and base and f"{path}/".startswith(f"{base}/"):
        rest = path.removeprefix(base) or "/"
        said = "The Test Path repeats the path of the Base URL."
        fix = fix_of("wrong-path", ("verification.test_path", rest), word=rest)
        yield Clue(90, "wrong-path", said, fix=fix)
    elif tested and path == "/":
        yield Clue(
            48, "wrong-path", "The Test Path is /, where many APIs have nothing."
        )
    if configuration.sends_credentials:
        yield _hidden(evidence, alone=tested and path != "/")
    if evidence.anonymous in {401, 403}:
        said = (
            f"Without credentials the answer is {evidence.anonymous}, so these are"
            " accepted."
        )
        yield Clue(58, "not-found", said)


def _hidden(evidence: Evidence, *, alone: bool) -> Clue:
    """Say how likely a 404 hides a refusal; one for an unknown path mostly has a body."""
    host = f".{evidence.configuration.base.origin.host}"
    weight, said = (
        30,
        "Credentials are sent, and some APIs answer 404 to what they refuse.",
    )
    if evidence.offered:
        weight, said = 75, "The 404 asks for credentials (WWW-Authenticate)."
    elif any(host.endswith(f".{domain}") for domain in _HIDING):
        weight, said = 60, "This provider answers 404 to what one may not see."
    elif alone and not evidence.body:
        weight, said = (
            55,
            "The 404 is empty, as of an API that hides what one may not see.",
        )
    return Clue(weight, "hidden-401", said)


def by_environment(evidence: Evidence) -> Iterator[Clue]:
    """Compare the host with the Environment."""
    configuration = evidence.configuration
    if configuration.environment is not Environment.PRODUCTION:
        return
    for label in _LABELS.split(configuration.base.origin.host):
        if label in _TRIAL:
            said = f'The host has the word "{label}", and Environment is Production.'
            yield Clue(55 if evidence.status == 401 else 40, "wrong-environment", said)


def by_row_names(evidence: Evidence) -> Iterator[Clue]:
    """Look for names of rows that do not arrive."""
    for place, key in evidence.secret_rows:
        if "_" in key:
            better = key.replace("_", "-")
            free = better.lower() not in evidence.row_names
            change = (f"headers[{place}].key", better)
            fix = fix_of("header-underscore", change, word=better) if free else None
            said = (
                f"The header {key} has an underscore, and many servers drop such"
                " headers."
            )
            yield Clue(
                64 if evidence.status == 401 else 45, "header-underscore", said, fix=fix
            )


def by_named_headers(evidence: Evidence) -> Iterator[Clue]:
    """Look for a header that the answer names and that is not sent."""
    if b"-key" not in evidence.lower and b"-token" not in evidence.lower:
        return
    rows = evidence.secret_rows
    ours = {key.lower() for _, key in rows}
    ours.add(evidence.configuration.oauth2.token_header.lower())
    for raw, name in _KEY_HEADERS.items():
        if raw in evidence.lower and name.lower() not in ours:
            renamed = [(f"headers[{place}].key", name) for place, _ in rows]
            one = len(rows) == 1 and name.lower() not in evidence.row_names
            fix = fix_of("key-in-another-header", *renamed, word=name) if one else None
            said = (
                f"The answer names the header {name}, which this configuration does not"
                " send."
            )
            remedy = f"{REASONS['key-in-another-header'].remedy} It names {name}."
            yield Clue(72, "key-in-another-header", said, remedy, fix)


def by_user(evidence: Evidence) -> Iterator[Clue]:
    """Compare the user name with the form that its provider wants."""
    configuration = evidence.configuration
    if configuration.authentication_type is not AuthenticationType.BASIC:
        return
    host, username = configuration.base.origin.host, configuration.username
    for domain, shape, wanted in _USERS:
        if f".{host}".endswith(f".{domain}") and not shape.fullmatch(username):
            remedy = f"{REASONS['basic-user-shape'].remedy} At {domain} it is {wanted}."
            fix = None
            if domain == "zendesk.com" and "@" in username and "/" not in username:
                fix = fix_of(
                    "basic-user-shape", ("username", f"{username}/token"), word="/token"
                )
            said = (
                f"At {domain} the user name is {wanted}, and Username has another form."
            )
            yield Clue(66, "basic-user-shape", said, remedy, fix)


_ALL = range(400, 1000)
# For which statuses each is asked.
RULES: tuple[tuple[Callable[[Evidence], Iterator[Clue]], Container[int]], ...] = (
    (by_status, _ALL),
    (by_challenge, _ALL),
    (by_scheme, {401}),
    (by_expiry, {401, 403}),
    (by_clock, {400, 401, 403}),
    (by_limits, {403, 429}),
    (by_scopes, {403, 404}),
    (by_guard, _ALL),
    (by_place, {404}),
    (by_environment, {401, 403}),
    (by_row_names, {400, 401, 403}),
    (by_named_headers, {400, 401, 403}),
    (by_user, {401}),
    (spoken, _ALL),
)
