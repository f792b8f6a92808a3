"""The rules that read a response: each checks one thing and yields clues."""

import re
from collections.abc import Callable, Container, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import replace

from outkey.foundation.core.errors import HeaderFormatError
from outkey.foundation.core.fields.choices import AuthenticationType, Environment
from outkey.foundation.core.moments import CLOCK_SKEW_SECONDS, day_of
from outkey.foundation.core.text import NO_TEXT, Text, join_texts
from outkey.sending.core.diagnosis.aws_errors import by_aws_error
from outkey.sending.core.diagnosis.comparison import by_comparison
from outkey.sending.core.diagnosis.evidence import (
    STATED,
    Clue,
    Evidence,
    Fix,
    fix_of,
)
from outkey.sending.core.diagnosis.mentions import by_mentions, by_row_names
from outkey.sending.core.diagnosis.oauth1_problems import by_oauth1
from outkey.sending.core.diagnosis.phrases import by_phrases
from outkey.sending.core.diagnosis.reasons import REASONS
from outkey.sending.core.diagnosis.rights import by_rights
from outkey.sending.core.request.challenge import (
    CREDENTIAL_WORDS,
    KEY_SCHEMES,
    KNOWN_SCHEMES,
)
from outkey.sending.core.request.digest import strongest_challenge
from outkey.sending.core.request.expired_marker import (
    FORBIDDEN,
    UNAUTHORIZED,
    is_expired_status,
)
from outkey.sending.core.request.message import seconds_to_wait

# RFC 6750 §3.1: invalid_token is expired, revoked, malformed or invalid; the
# description may be more precise.
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
# The error alone, or one that names several reasons: more than any other refusal, but
# less than a description, a date or a claim that decides.
_ALTERNATIVE = 61
# The schemes that are named to users, and those that prove something.
_NAMED = tuple(dict.fromkeys((*KNOWN_SCHEMES, *CREDENTIAL_WORDS)))
_COMPARED = KEY_SCHEMES | {name.lower() for name in _NAMED} - {"dpop", "oauth"}
_WRONG = ("wrong-credentials",)
_SCHEMES_IN_DOCUMENTATION = Text(
    "The documentation of the API shows which: if it takes what is sent here, check the"
    " value first."
)
_HEADER_IN_DOCUMENTATION = Text(
    "The documentation of the API names the header: if it is the one that is sent here,"
    " the value is wrong."
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
    # The internal status codes of nginx, sent where its error pages are replaced.
    494: "header-too-large",
    495: "client-certificate-refused",
    496: "client-certificate-missing",
    497: "plain-http-to-tls-port",
}
# Phrases for a signature whose time was rejected.
# ("timestamp" alone is in every error of Spring.)
_TOO_LATE = (
    b"tooskewed",
    b"clockskew",
    b"requestexpired",
    b"invalidtimestamp",
    b"badtimestamp",
    b"timestampis",
    b"timestampfor",
    b"timestamphas",
    b"timestampout",
    b"timestamptoo",
    b"timestampexpired",
)
_TIMED = (
    b"tooskewed",
    b"clockskew",
    b"timestamp",
    b"requestexpired",
    b"signatureexpired",
)
PROXY_STATUS = 407
_OF_GATEWAY = Text(
    "Ask who runs the API whether a gateway in front of it wants credentials, and in"
    " which header."
)
_SWITCH = Text(
    "Implement a token refresh mechanism: switch on 403 means expired on the"
    " Verification tab, and outkey gets a new token after a 403."
)
_SAME_TIME = Text(
    "Both clocks agree: check the format of the timestamp too (UTC, unit, digits)."
)
_OTHER_DIGEST = Text(
    "WWW-Authenticate asks for a kind of Digest that outkey does not support: neither"
    " SHA-256 nor MD5, or not the protection auth."
)
# Providers that respond with 404 to a request without permission.
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
_HOST_SEPARATORS = re.compile(r"[.-]")
# The form of user names at some providers.
_USER_NAMES = (
    (
        "zendesk.com",
        re.compile(r"[^/]+@[^/]+/token"),
        Text("the e-mail address followed by /token"),
    ),
    (
        "atlassian.net",
        re.compile(r".+@.+"),
        Text("the e-mail address of the account"),
    ),
    (
        "twilio.com",
        re.compile(r"(?:AC|SK)[0-9a-f]{32}"),
        Text("an SID that begins with AC or SK"),
    ),
    (
        "stripe.com",
        re.compile(r"[rs]k_.+"),
        Text("the key; better choose Bearer Token and enter it as Token"),
    ),
    ("freshdesk.com", re.compile(r"[^@]+"), Text("the API key, with X as Password")),
)


def status_reason(status: int) -> str:
    """Return the reason that a status alone suggests."""
    return _BY_STATUS.get(status, "server-error" if status >= 500 else "unexpected")


def by_status(evidence: Evidence) -> Iterator[Clue]:
    """Yield the meaning of the status alone."""
    status = evidence.status
    if status == PROXY_STATUS and not evidence.configuration.proxy.url:
        yield from _clues_of_foreign_proxy(evidence)
        return
    yield Clue(
        50, status_reason(status), Text("The status is {status}.", status=status)
    )
    if not evidence.configuration.sends_credentials and status in {401, 403}:
        text = Text(
            "The status is {status}, and this configuration sends no credentials.",
            status=status,
        )
        remedy = NO_TEXT
        if wanted := evidence.offered & set(map(str.lower, KNOWN_SCHEMES)):
            asked = Text("The API asks for {wanted}.", wanted=_scheme_names(wanted))
            remedy = join_texts([REASONS["no-credentials-sent"].remedy, asked])
        yield Clue(85 if status == 401 else 55, "no-credentials-sent", text, remedy)


def _clues_of_foreign_proxy(evidence: Evidence) -> Iterator[Clue]:
    """Yield the meaning of a 407 that no proxy of ours has sent.

    Our own proxies' refusals are errors and no responses.
    """
    text = Text(
        "The status is 407, which proxies send, and this configuration uses none: the"
        " API or a gateway in front of it sends it."
    )
    yield Clue(52, "unexpected", text, _OF_GATEWAY)
    if evidence.configuration.sends_credentials:
        yield Clue(50, "wrong-credentials", text)


def _by_challenge(evidence: Evidence) -> Iterator[Clue]:
    """Read the errors of the challenges (RFC 6750 §3.1, RFC 9449 §7.1)."""
    errors = evidence.errors
    if "insufficient_scope" in errors:
        text = Text("WWW-Authenticate has the error insufficient_scope.")
        yield Clue(90, "missing-scope", text)
    if "invalid_token" in errors and evidence.configuration.sends_token:
        yield from _clues_of_invalid_token(evidence)
    if "invalid_request" in errors:
        text = Text("WWW-Authenticate has the error invalid_request.")
        yield Clue(75, "malformed-header", text)
    alone = "dpop" in evidence.offered and "bearer" not in evidence.offered
    if alone or errors & {"invalid_dpop_proof", "use_dpop_nonce"}:
        oauth2 = (
            evidence.configuration.uses_oauth2
            and not evidence.configuration.oauth2.dpop
        )
        fix = fix_of("dpop-required", ("oauth2.dpop", "true")) if oauth2 else None
        text = Text("WWW-Authenticate asks for DPoP.")
        yield Clue(82, "dpop-required", text, fix=fix)


def _clues_of_invalid_token(evidence: Evidence) -> Iterator[Clue]:
    """Yield the reasons for an invalid_token error, by its description.

    Without one that decides, the token is called wrong and not expired: the error alone
    means either, and a token that never worked has not expired.
    """
    text = Text("WWW-Authenticate has the error invalid_token.")
    described = [reason for word, reason in _DESCRIBED if word in evidence.description]
    if described and not evidence.names_alternatives:
        yield Clue(80, _as_of_status(described[0], evidence.status), text)
        return
    claims = evidence.claims
    if claims and (claims.expires or 0) > evidence.now + evidence.skew:
        text = Text(
            "WWW-Authenticate has the error invalid_token, and by its own claim the"
            " token has not expired."
        )
        yield Clue(_ALTERNATIVE, "wrong-credentials", text)
        return
    if evidence.configuration.token_was_accepted:
        text = Text(
            "WWW-Authenticate has the error invalid_token, and the API accepted this"
            " token before."
        )
        yield Clue(66, _as_of_status("token-expired", evidence.status), text)
        yield Clue(45, "token-revoked", text)
        return
    yield Clue(_ALTERNATIVE, "wrong-credentials", text)
    text = Text("The error invalid_token is also that of an expired token.")
    yield Clue(40, _as_of_status("token-expired", evidence.status), text)


def _as_of_status(reason: str, status: int) -> str:
    """Return the reason for an expired token that fits the status."""
    is_expired = reason == "token-expired"
    return "expired-as-403" if is_expired and status == FORBIDDEN else reason


def _by_scheme(evidence: Evidence) -> Iterator[Clue]:
    """Compare what the server asks for with what is sent."""
    configuration = evidence.configuration
    is_digest = "digest" in evidence.sent.words and "digest" in evidence.offered
    if is_digest and strongest_challenge(evidence.challenges) is None:
        yield Clue(90, "wrong-scheme", _OTHER_DIGEST)
        return
    if evidence.offers_ours:
        text = Text("WWW-Authenticate asks for what is sent, so its value is wrong.")
        yield Clue(STATED, "wrong-credentials", text)
        return
    if not _may_compare_schemes(evidence):
        return
    if evidence.offered & KEY_SCHEMES:
        yield _other_key_clue(evidence)
        return
    wanted = _scheme_names(evidence.offered)
    text = Text(
        "WWW-Authenticate asks for {wanted}; this configuration sends {sent}.",
        wanted=wanted,
        sent=_sent_names(evidence),
    )
    remedy = join_texts(
        [
            HeaderFormatError.default_hint,
            Text("The API asks for {wanted}.", wanted=wanted),
        ]
    )
    fix = None
    if "authorization" not in evidence.row_names:  # the row would be a second one
        fix = _scheme_fix(configuration.authentication_type, evidence.offered)
    clue = Clue(68, "wrong-scheme", text, remedy, fix)
    if evidence.sent.is_key_elsewhere or evidence.reads_ours:
        # Many APIs that take keys in a header of their own ask browsers for Basic.
        clue = replace(clue, rivals=_WRONG, distinction=_SCHEMES_IN_DOCUMENTATION)
    yield clue


def _other_key_clue(evidence: Evidence) -> Clue:
    """Return the clue for a challenge that asks for a key and names no header."""
    text = Text(
        "WWW-Authenticate asks for an API key; this configuration sends {sent}.",
        sent=_sent_names(evidence),
    )
    clue = Clue(72, "key-in-another-header", text)
    if evidence.sent.is_key_elsewhere:
        return replace(clue, rivals=_WRONG, distinction=_HEADER_IN_DOCUMENTATION)
    return clue


def _sent_names(evidence: Evidence) -> Text:
    """Return what is sent: the word in Authorization, or the names of the rows."""
    if evidence.sent.words:
        return _scheme_names(evidence.sent.words)
    if not evidence.sent.headers | evidence.sent.parameters:
        return Text("a client certificate alone")
    if evidence.sent.is_key_elsewhere and not evidence.configuration.sends_token:
        return Text("keys in headers")
    return Text("a token without one of these words")


def _may_compare_schemes(evidence: Evidence) -> bool:
    """Whether a challenge names a known scheme, and it is known which one is sent.

    An unknown one proves nothing. Jira always names OAuth; a script may have any
    scheme; with DPoP the type of the token decides; and the value of an Authorization
    row may begin with any word.
    """
    configuration = evidence.configuration
    return (
        bool(evidence.offered & _COMPARED)
        and configuration.sends_credentials
        and not configuration.is_scripted
        and not configuration.uses_dpop
        and (bool(evidence.sent.words) or "authorization" not in evidence.row_names)
    )


def _scheme_fix(ours: AuthenticationType, offered: Container[str]) -> Fix | None:
    """Return the change to the best scheme that the server names.

    It never chooses None, whatever schemes those are. Nor does it make a password
    travel that Digest does not send: an attacker may have replaced the challenge.
    """
    supported = [AuthenticationType.DIGEST, AuthenticationType.BEARER]
    if ours is not AuthenticationType.DIGEST:
        supported.insert(0, AuthenticationType.BASIC)
    choices = [choice for choice in supported if choice in offered]
    if not choices:
        return None
    choice = choices[-1]
    change = ("authentication_type", str(choice))
    return fix_of("wrong-scheme", change, value=choice.label)


def _scheme_names(schemes: AbstractSet[str]) -> Text:
    """Return the names of schemes; any other name is remote text and not repeated."""
    names = [name for name in _NAMED if name.lower() in schemes]
    if not names:
        return Text("another scheme")
    text = Text("{scheme}", scheme=names[0])
    for name in names[1:]:
        text = Text("{schemes} or {scheme}", schemes=text, scheme=name)
    return text


def by_expiry_settings(evidence: Evidence) -> Iterator[Clue]:
    """Check for what the configuration calls expired: its marker and its statuses."""
    status = evidence.status
    configuration = evidence.configuration
    if not configuration.sends_token:
        return
    reason = _as_of_status("token-expired", status)
    if evidence.has_expired_marker:
        yield Clue(95, reason, Text("The response has the Expired marker."))
    if status == FORBIDDEN and configuration.verification.forbidden_means_expired:
        yield Clue(80, reason, Text("403 means expired is switched on."))
    # 401 always is an expired status, so that it shows nothing of the token's age.
    elif status != UNAUTHORIZED and is_expired_status(status, configuration):
        text = Text("{status} is one of the Expired statuses.", status=status)
        yield Clue(80, reason, text)


def _by_expiry(evidence: Evidence) -> Iterator[Clue]:
    """Check Token Expires On, and whether a 403 may mean expired."""
    status = evidence.status
    configuration = evidence.configuration
    if not configuration.sends_token:
        return
    reason = _as_of_status("token-expired", status)
    last_day = configuration.expires_on
    if last_day and day_of(evidence.now) > last_day:
        text = Text("Token Expires On is {day}.", day=last_day)
        yield Clue(80 if status == UNAUTHORIZED else 60, reason, text)
    is_known = is_expired_status(status, configuration)
    if not is_known and "insufficient_scope" not in evidence.errors:
        text = Text(
            "Some APIs respond with 403 to an expired token (django-oauth-toolkit)."
        )
        remedy = _SWITCH if configuration.fetches_token else NO_TEXT
        yield Clue(30, reason, text, remedy)


def _by_clock(evidence: Evidence) -> Iterator[Clue]:
    """Compare the clocks, if the response mentions time or our request is signed."""
    configuration = evidence.configuration
    timed = any(phrase in evidence.phrases for phrase in _TIMED)
    signed = (
        configuration.is_scripted
        or configuration.uses_dpop
        or configuration.signs_for_aws
        or configuration.uses_oauth1
    )
    if not (timed or signed):
        return
    skew = round(evidence.skew)
    if abs(skew) > CLOCK_SKEW_SECONDS:
        text = _skew_text(skew)
        if timed:
            text = join_texts([text, Text("The response mentions the time.")])
        yield Clue(88 if timed else 65, "clock-off", text)
    elif any(phrase in evidence.phrases for phrase in _TOO_LATE):
        text = Text("The response rejects the time of the request.")
        remedy = NO_TEXT
        if evidence.skew:
            # The clocks agree, so the script may write the time in another format.
            remedy = join_texts([REASONS["clock-off"].remedy, _SAME_TIME])
        yield Clue(74, "clock-off", text, remedy)
    elif timed:
        yield Clue(30, "clock-off", Text("The response mentions the time."))


def _skew_text(skew: int) -> Text:
    """Return the difference of the clocks as a sentence."""
    if skew > 0:
        return Text(
            "The clock of the API is {seconds} seconds ahead of this machine's.",
            seconds=skew,
        )
    return Text(
        "The clock of the API is {seconds} seconds behind this machine's.",
        seconds=-skew,
    )


def _by_limits(evidence: Evidence) -> Iterator[Clue]:
    """Check for limits, also those that are sent as a 403 (GitHub)."""
    if pause := seconds_to_wait(evidence.headers.get("retry-after", "")):
        text = Text("Retry-After asks for a pause of {seconds} s.", seconds=pause)
        yield Clue(72, "rate-limited", text)
    names = ("x-ratelimit-remaining", "ratelimit-remaining")
    remaining = [evidence.headers[name] for name in names if name in evidence.headers]
    if remaining[:1] == ["0"]:
        text = Text("The headers of the response report that no requests are left.")
        yield Clue(78, "rate-limited", text)


def _by_scopes(evidence: Evidence) -> Iterator[Clue]:
    """Compare the scopes in GitHub's headers: one of the accepted is enough."""
    accepted = words_in(evidence.headers.get("x-accepted-oauth-scopes", ""))
    granted = words_in(evidence.headers.get("x-oauth-scopes", ""))
    if accepted and not accepted & granted:
        text = Text("X-Accepted-OAuth-Scopes names no scope that the token has.")
        yield Clue(76, "missing-scope", text)


def words_in(text: str) -> set[str]:
    """Return the words of a list with commas or spaces."""
    return set(text.replace(",", " ").split())


def _by_guard(evidence: Evidence) -> Iterator[Clue]:
    """Check for CSRF protection, firewalls and login pages in front of the API."""
    headers = evidence.headers
    html = evidence.is_html
    if evidence.status == 403 and headers.get("x-csrf-token", "").lower() == "required":
        text = Text("The response has X-CSRF-Token: Required.")
        yield Clue(92, "csrf-required", text)
    if evidence.status in {403, 406, 429, 503}:
        names = [
            name for header, name in _FIREWALL_HEADERS.items() if header in headers
        ]
        server = headers.get("server", "").lower()
        names += [name for word, name in _FIREWALLS.items() if html and word in server]
        if names:
            text = Text(
                "The response comes from {firewall}, and not from the API.",
                firewall=names[0],
            )
            yield Clue(74, "blocked-by-firewall", text)
    if html and asks_for_password(evidence):
        text = Text("The response is a page with a password field.")
        yield Clue(66, "login-page", text)


def asks_for_password(evidence: Evidence) -> bool:
    """Whether an HTML page has a password field."""
    return any(
        mark in evidence.lower for mark in (b'type="password"', b"type='password'")
    )


def _by_place(evidence: Evidence) -> Iterator[Clue]:
    """Yield the possible meanings of a 404; the path is known in tests only."""
    configuration = evidence.configuration
    tested = evidence.secret is not None
    base = configuration.base.target
    path = configuration.verification.test_path
    if tested and base and f"{path}/".startswith(f"{base}/"):
        rest = path.removeprefix(base) or "/"
        text = Text("The Test Path repeats the path of the Base URL.")
        fix = fix_of("wrong-path", ("verification.test_path", rest), value=rest)
        yield Clue(90, "wrong-path", text, fix=fix)
    elif tested and path == "/":
        text = Text("The Test Path is /, where many APIs have nothing.")
        yield Clue(48, "wrong-path", text)
    if configuration.sends_credentials:
        yield _hidden_refusal_clue(evidence, has_path=tested and path != "/")


def _hidden_refusal_clue(evidence: Evidence, *, has_path: bool) -> Clue:
    """Return how likely a 404 is a refusal; that of an unknown path has a body."""
    host = f".{evidence.configuration.base.origin.host}"
    weight = 30
    text = Text(
        "Credentials are sent, and some APIs respond with 404 instead of a refusal."
    )
    if evidence.offered:
        weight = 75
        text = Text("The 404 asks for credentials (WWW-Authenticate).")
    elif any(host.endswith(f".{domain}") for domain in _HIDING):
        weight = 60
        text = Text("This provider responds with 404 if a permission is missing.")
    elif has_path and not evidence.body:
        weight = 55
        text = Text(
            "The 404 is empty, as from an API that responds so if a permission is"
            " missing."
        )
    return Clue(weight, "hidden-401", text)


def _by_environment(evidence: Evidence) -> Iterator[Clue]:
    """Compare the host with the Environment."""
    configuration = evidence.configuration
    if configuration.environment is not Environment.PRODUCTION:
        return
    for label in _HOST_SEPARATORS.split(configuration.base.origin.host):
        if label in _TRIAL:
            text = Text(
                'The host has the word "{word}", and Environment is Production.',
                word=label,
            )
            yield Clue(55 if evidence.status == 401 else 40, "wrong-environment", text)


def _by_row_names(evidence: Evidence) -> Iterator[Clue]:
    """Check for names of header rows that many servers drop."""
    for position, key in evidence.secret_rows:
        if "_" not in key:
            continue
        name = key.replace("_", "-")
        fix = None
        if name.lower() not in evidence.row_names:
            change = (f"headers[{position}].key", name)
            fix = fix_of("header-underscore", change, value=name)
        text = Text(
            "The header {name} has an underscore, and many servers drop such headers.",
            name=key,
        )
        weight = 64 if evidence.status == 401 else 45
        yield Clue(weight, "header-underscore", text, fix=fix)


def _by_named_headers(evidence: Evidence) -> Iterator[Clue]:
    """Check for a header that the response names and that is not sent."""
    if b"-key" not in evidence.lower and b"-token" not in evidence.lower:
        return
    rows = evidence.secret_rows
    ours = {key.lower() for _, key in rows}
    ours.add(evidence.configuration.token_header.lower())
    for raw, name in _KEY_HEADERS.items():
        if raw not in evidence.lower or name.lower() in ours:
            continue
        fix = None
        if len(rows) == 1 and name.lower() not in evidence.row_names:
            change = (f"headers[{rows[0][0]}].key", name)
            fix = fix_of("key-in-another-header", change, value=name)
        text = Text(
            "The response names the header {name}, which this configuration does not"
            " send.",
            name=name,
        )
        remedy = join_texts(
            [
                REASONS["key-in-another-header"].remedy,
                Text("It names {name}.", name=name),
            ]
        )
        yield Clue(72, "key-in-another-header", text, remedy, fix)


def _by_user(evidence: Evidence) -> Iterator[Clue]:
    """Compare the user name with the form that its provider expects."""
    configuration = evidence.configuration
    if configuration.authentication_type is not AuthenticationType.BASIC:
        return
    host = configuration.base.origin.host
    username = configuration.username
    for domain, pattern, form in _USER_NAMES:
        if not f".{host}".endswith(f".{domain}") or pattern.fullmatch(username):
            continue
        remedy = join_texts(
            [
                REASONS["basic-user-shape"].remedy,
                Text("At {domain} it is {form}.", domain=domain, form=form),
            ]
        )
        fix = None
        if domain == "zendesk.com" and "@" in username and "/" not in username:
            change = ("username", f"{username}/token")
            fix = fix_of("basic-user-shape", change, value="/token")
        text = Text(
            "At {domain} the user name is {form}, and Username has another form.",
            domain=domain,
            form=form,
        )
        yield Clue(66, "basic-user-shape", text, remedy, fix)


_ALL = range(400, 1000)
# The statuses that each rule applies to.
RULES: tuple[tuple[Callable[[Evidence], Iterator[Clue]], Container[int]], ...] = (
    (by_status, _ALL),
    (by_aws_error, _ALL),
    (_by_challenge, _ALL),
    (_by_scheme, {401}),
    (by_comparison, {401, 403, 404}),
    (by_rights, {401, 403}),
    (by_mentions, {401, 403}),
    (by_row_names, {400, 401, 403}),
    (by_expiry_settings, _ALL),
    (_by_expiry, {401, 403}),
    (_by_clock, {400, 401, 403}),
    (_by_limits, {403, 429}),
    (_by_scopes, {403, 404}),
    (_by_guard, _ALL),
    (_by_place, {404}),
    (_by_environment, {401, 403}),
    (_by_row_names, {400, 401, 403}),
    (_by_named_headers, {400, 401, 403}),
    (_by_user, {401}),
    (by_phrases, _ALL),
    (by_oauth1, {400, 401, 403}),
)
