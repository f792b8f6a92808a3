"""Checks of a configuration: mistakes and risks.

`check` looks at a configuration and at its secrets where they can be opened;
`refuse_unsendable` is the part of it that stops a request, and `refuse_unsavable` the
part that stops saving.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import date
from functools import partial
from urllib.parse import parse_qsl

from outkey.foundation.core.errors import (
    AuthenticationRequired,
    ConfigError,
    EgressDenied,
    InactiveConfiguration,
    OutkeyError,
    paused_connection,
    repeated,
)
from outkey.foundation.core.fields.choices import (
    ClientAuth,
    Connections,
    Environment,
    Network,
    NoAuthReason,
)
from outkey.foundation.core.fields.statuses import parse_ranges
from outkey.foundation.core.findings.checks import (
    Check,
    Finding,
    Level,
    by_severity,
    error_finding,
)
from outkey.foundation.core.moments import day_of
from outkey.foundation.core.origin import Origin, build_target, endpoint_origin
from outkey.foundation.core.placeholders import sample_of
from outkey.foundation.core.secret import Secret
from outkey.foundation.core.text import Text
from outkey.sending.core.configuration.body_credentials import credentials_in_body
from outkey.sending.core.configuration.configuration import (
    PRIVATE_KEY,
    SECRETS_OF_LOGIN,
    STEPS,
    Configuration,
)
from outkey.sending.core.configuration.expiry_warnings import (
    NEW_TOKEN_HINT,
    WARN_DAYS,
    days_left,
)
from outkey.sending.core.configuration.fields import BY_PATH, FIELDS, SENT_TO_TOKEN_URL
from outkey.sending.core.configuration.oauth1_settings import OAUTH1_SECRETS
from outkey.sending.core.configuration.placeholders import (
    is_placeholder,
    is_secret_parameter,
    is_secret_value,
)
from outkey.sending.core.configuration.query_credentials import paired_passwords
from outkey.sending.core.connections.account import with_account
from outkey.sending.core.connections.connect_checks import (
    refuse_unusable_connections,
)
from outkey.sending.core.connections.connection import Connection
from outkey.sending.core.connections.naming import refuse_missing_connection
from outkey.sending.core.connections.variables import missing_variable
from outkey.sending.core.login.checks import in_braces, refuse_unusable_login
from outkey.sending.core.login.requests import login_request
from outkey.sending.core.login.steps import (
    LoginProgress,
    places_of,
    step_request,
    taken_names,
)
from outkey.sending.core.oauth2.jwt import expiry_of
from outkey.sending.core.oauth2.token import AccessToken
from outkey.sending.core.request.addresses import (
    AddressKind,
    is_address,
    is_allowed,
    is_internal,
    judge,
    judge_host,
)
from outkey.sending.core.request.assembly import SecretOpener, authenticated_request
from outkey.sending.core.request.headers import check_value, tidy_token, tidy_value
from outkey.sending.core.request.message import Request

LONG_SECRET = 4 * 1024
SHORTEST_KEY = 8
_WITHOUT_BODY = frozenset({"GET", "HEAD"})
_CREDENTIAL_PLACEHOLDER = re.compile(
    r"\{(?:username|secret|"
    + "|".join(field.secret_name for field in FIELDS if field.secret)
    + r")\}"
)
ANY_SECRET = Secret("any-value")  # stands where only the form of a request matters

UNENCRYPTED = Check(
    "W001",
    Level.WARNING,
    "credentials are sent unencrypted",
    "Use https, also inside your own network.",
)
UNENCRYPTED_AT_PROXY = Check(
    "W001",
    Level.WARNING,
    "credentials are sent unencrypted, and the proxy can read them",
    "Use https: a proxy only passes that on.",
)
NO_USERNAME = Check(
    "W002",
    Level.WARNING,
    "Username is empty",
    "Check that the API expects an empty user name.",
)
UNDERSCORE = Check(
    "W003",
    Level.WARNING,
    "the header {header} has an underscore; nginx and gunicorn drop such headers",
    "Use a hyphen if the API accepts it.",
)
LONG_VALUE = Check(
    "W004",
    Level.WARNING,
    "the value is longer than {limit} characters, which many servers reject",
    "Check that it is exactly the value that the API gave you.",
)
TOKEN_EXPIRED = Check(
    "W005", Level.WARNING, "the token expired on {day}", NEW_TOKEN_HINT
)
TOKEN_EXPIRES = Check(
    "W005", Level.WARNING, "the token expires on {day}", NEW_TOKEN_HINT
)
REFERENCE_REPLACES_VALUE = Check(
    "W006",
    Level.WARNING,
    "the reference replaces the value that was entered",
    "Remove the key from the document to use the entered value.",
)
REFERENCE_UNRESOLVED = Check(
    "W010",
    Level.WARNING,
    "{reference} cannot be read, so the stored secret stays",
    "Set the variable or the file, or see outkey backend check, and apply again. Or"
    " remove the key from the document.",
)
KEYS_NOT_NAMED = Check(
    "W011",
    Level.WARNING,
    "the document names [{place}] without {keys}, and applying it removes them",
    "Add what is missing, as outkey export prints it; delete the section from the"
    " document, and what is stored stays; or apply with --replace.",
)
CLOCK_AHEAD = Check(
    "W007",
    Level.WARNING,
    "the API's clock is {seconds} s ahead of this machine's",
    "Set this machine's clock (NTP), or switch on Use the API's clock.",
)
CLOCK_BEHIND = Check(
    "W007",
    Level.WARNING,
    "the API's clock is {seconds} s behind this machine's",
    "Set this machine's clock (NTP), or switch on Use the API's clock.",
)
TEST_PROVES_NOTHING = Check(
    "W008",
    Level.WARNING,
    "the test request succeeds without credentials too, so it proves nothing about"
    " them",
    "Set Test Path to one that needs credentials, such as the account's own data.",
)
DOUBTFUL_SUCCESS = Check(
    "W009",
    Level.WARNING,
    "the test request succeeds, but {sign}",
    "Look at the response, and set Test Path to one that reports errors by status.",
)
PASSWORD_GRANT = Check(
    "W012",
    Level.WARNING,
    "a user's password is sent to the Token URL",
    "Use another Grant if the provider has one: OAuth 2.1 drops this one, and two"
    " factors do not work with it.",
)
PKCE_IS_OFF = Check(
    "W013",
    Level.WARNING,
    "a consent is not protected by PKCE",
    "Set PKCE to S256, unless the provider refuses it: else a stolen code can be"
    " redeemed.",
)
TOKEN_TRIMMED = Check(
    "N001",
    Level.NOTICE,
    "surrounding spaces or a Bearer prefix were removed from the value",
    "",
)
VALUE_TRIMMED = Check(
    "N001", Level.NOTICE, "surrounding spaces were removed from the value", ""
)


def refuse_unsendable(configuration: Configuration) -> None:
    """Raise where the configuration itself forbids sending, whatever the request is."""
    refuse_missing_connection(configuration)
    for name in configuration.missing_variables():
        raise missing_variable(name)
    _refuse_unusable(configuration)


def _refuse_unusable(configuration: Configuration) -> None:
    """Raise where sending is forbidden, whichever account may be named yet."""
    connection = configuration.connection
    if connection is not None and not connection.active:
        raise paused_connection(configuration.name, connection.id, by_operator=True)
    if configuration.variable_error is not None:
        raise repeated(configuration.variable_error)
    if not configuration.active:
        raise InactiveConfiguration(field="active")
    _refuse_no_credentials(configuration)
    _refuse_plain_http(configuration)


def refuse_unsavable(configuration: Configuration) -> None:
    """Raise where no request can be sent, or no test can succeed, as configured.

    Secrets are not opened: what depends on one, on a script or on the IP addresses of a
    host name is left to sending.
    """
    refuse_unusable_connections(configuration)
    _refuse_no_credentials(configuration)
    _refuse_plain_http(configuration)
    _refuse_ip_addresses(configuration)
    _refuse_login(configuration, lambda _name: ANY_SECRET)
    _refuse_conflicts(configuration, lambda _name: ANY_SECRET)
    _refuse_odd_csrf_path(configuration)
    _refuse_odd_statuses(configuration)
    _refuse_keys_in_paths(configuration)
    _refuse_credentials_in_steps(configuration)
    _refuse_odd_test_body(configuration)


def _refuse_keys_in_paths(configuration: Configuration) -> None:
    """Refuse a path with a key in its query, which would be stored in plain."""
    paths = {
        "verification.test_path": configuration.verification.test_path,
        "csrf.path": configuration.csrf.path,
    }
    for path, text in paths.items():
        if _has_key_in_query(text):
            raise BY_PATH[path].refuse(
                Text("has a key in its query, which is stored and shown in plain"),
                place=path,
                hint=Text("Move it to Query parameters, as secret."),
            )


def _has_key_in_query(text: str) -> bool:
    """Whether the query of a path or URL has a credential in plain."""
    parameters = parse_qsl(text.partition("?")[2])
    passwords = paired_passwords(parameters)
    for name, value in parameters:
        is_password = name.lower() in passwords and not is_placeholder(value)
        if is_key_parameter(name, value) or (is_password and not value.isdecimal()):
            return True
    return False


def _refuse_credentials_in_steps(configuration: Configuration) -> None:
    """Refuse steps of a login with a credential, which would be stored in plain."""
    for place in places_of(configuration) if configuration.uses_login else ():
        step = place.step
        keys = [key for key in ("url", "path") if _has_key_in_query(getattr(step, key))]
        keys += ["body"] if credentials_in_body(step.body) else []
        if keys:
            raise BY_PATH[STEPS].refuse(
                Text("have a credential, which would be stored and shown in plain"),
                place=place.field(keys[0]),
                hint=Text(
                    "Write {names} where the value belongs; a secret is never written"
                    " here itself.",
                    names=in_braces(SECRETS_OF_LOGIN),
                ),
            )


def _refuse_odd_test_body(configuration: Configuration) -> None:
    """Refuse a Test Body that is not sent, or that has a credential in plain."""
    path = "verification.test_body"
    verification = configuration.verification
    check_value(verification.test_content_type, field="verification.test_content_type")
    body = verification.test_body
    if not body:
        return
    if verification.test_method in _WITHOUT_BODY:
        raise BY_PATH["verification.test_method"].refuse(
            Text("must be one that has a body, since there is a Test Body"),
            place="verification.test_method",
            hint=Text("Set Test Method to that of the request, such as POST."),
        )
    if _CREDENTIAL_PLACEHOLDER.search(body):
        raise BY_PATH[path].refuse(
            Text("must not have a placeholder of a credential"),
            place=path,
            hint=Text(
                "Credentials are sent in headers, in the query or by a login; see the"
                " tab Authentication."
            ),
        )
    if members := credentials_in_body(body):
        raise BY_PATH[path].refuse(
            Text(
                "has a credential in {member}, which would be stored and shown in"
                " plain",
                member=members[0].label,
            ),
            place=path,
            hint=Text(
                "Remove it. Credentials are sent in headers, in the query or by a"
                " login."
            ),
        )


def is_key_parameter(name: str, value: str) -> bool:
    """Whether a parameter surely is a key: by its name, and by its value.

    Words, short values and placeholders are not taken for one.
    """
    if not is_secret_parameter(name) or is_placeholder(value):
        return False
    has_digit = any(map(str.isdigit, value))
    return is_secret_value(value) or (len(value) >= SHORTEST_KEY and has_digit)


def _refuse_odd_csrf_path(configuration: Configuration) -> None:
    """Refuse a CSRF path that leads elsewhere, or is no path."""
    if not configuration.csrf.path:
        return
    try:
        build_target(configuration.base, configuration.csrf.path)
    except ConfigError as error:
        raise ConfigError(error.message, hint=error.hint, field="csrf.path") from None


def _refuse_odd_statuses(configuration: Configuration) -> None:
    """Refuse a range that no status can be in, and a success that means expired."""
    verification = configuration.verification
    statuses = {
        "verification.accepted_statuses": parse_ranges(verification.accepted_statuses),
        "verification.expired_statuses": parse_ranges(verification.expired_statuses),
    }
    for path, ranges in statuses.items():
        if not all(ranges):
            raise BY_PATH[path].refuse(
                Text("must not have a range that ends before it begins"),
                place=path,
                hint=Text("Write the lower status first, such as 200-299."),
            )
    path = "verification.expired_statuses"
    if any(statuses_in[0] < 400 for statuses_in in statuses[path]):
        raise BY_PATH[path].refuse(
            Text("must be statuses from 400 to 599"),
            place=path,
            hint=Text("Enter an Expired marker for an API that responds with 200."),
        )


def _refuse_no_credentials(configuration: Configuration) -> None:
    """Refuse to use a public API in production without credentials or the reason."""
    if (
        not configuration.sends_credentials
        and configuration.environment is Environment.PRODUCTION
        and configuration.network is Network.PUBLIC
        and configuration.no_auth_reason is not NoAuthReason.PUBLIC_API
    ):
        raise AuthenticationRequired(field="authentication_type")


def _refuse_plain_http(configuration: Configuration) -> None:
    """Refuse plain http on the public internet, of the Token URL too."""
    if configuration.network is not Network.PUBLIC:
        return
    plain = [
        (field, origin)
        for field, origin in _origins_by_field(configuration)
        if origin.scheme != "https"
    ]
    if not plain:
        return
    field, origin = plain[0]
    host = origin.host
    if is_internal(judge_host(host)):
        raise _internal_host(host, field)  # https would not help
    raise EgressDenied(
        Text("plain http is not allowed on the public internet"),
        hint=Text(
            "Use https, or set Network to Internal trusted network (internal) if"
            " the API is in one."
        ),
        field=field,
    )


def _origins_by_field(configuration: Configuration) -> Iterator[tuple[str, Origin]]:
    """Yield the origins of the URLs in use, the Base URL first, each with a field."""
    yield "base_url", configuration.base.origin
    for path, url in configuration.token_urls():
        yield path, endpoint_origin(sample_of(url), path)
    authorization_url = configuration.oauth2.authorization_url
    if configuration.uses_oauth2 and authorization_url:
        path = "oauth2.authorization_url"
        yield path, endpoint_origin(sample_of(authorization_url), path)


def _internal_host(host: str, field: str) -> EgressDenied:
    """Return the error for a host of an internal network on the public internet."""
    message = Text("the host is a name of an internal network")
    if is_address(host):
        message = Text("the host is an IP address of an internal network")
    return EgressDenied(
        message,
        hint=Text(
            "Set Network to Internal trusted network (internal) if the API is in one."
        ),
        field=field,
    )


def _refuse_ip_addresses(configuration: Configuration) -> None:
    """Refuse an IP address in place of a host name that requests may not go to."""
    origins = [("base_url", configuration.base.origin)]
    for path, url in configuration.token_urls():
        origins.append((path, endpoint_origin(sample_of(url), path)))
    if configuration.proxy.url:
        _refuse_proxy_address(endpoint_origin(configuration.proxy.url, "proxy.url"))
    for field, origin in origins:
        kind = judge(origin.host) if is_address(origin.host) else AddressKind.GLOBAL
        if is_allowed(kind, configuration.network):
            continue
        if is_internal(kind):
            raise _internal_host(origin.host, field)
        raise EgressDenied(
            Text("the host is an IP address that requests are never sent to"),
            hint=Text("Enter the API's host name or its own IP address."),
            field=field,
        )


def _refuse_proxy_address(proxy: Origin) -> None:
    """Refuse an IP address that no proxy can have.

    Whether a proxy of an internal network may be used is up to the operator's policy,
    and decided when a request is sent.
    """
    if is_address(proxy.host) and not is_allowed(judge(proxy.host), Network.INTERNAL):
        raise EgressDenied(
            Text("the proxy is an IP address that requests are never sent to"),
            hint=Text("Enter the proxy's host name or its own IP address."),
            field="proxy.url",
        )


def _refuse_conflicts(configuration: Configuration, secret: SecretOpener) -> None:
    """Refuse what cannot be made into a request, such as a header with two sources."""
    # By a method that carries all that there is.
    method = configuration.csrf.methods[0] if configuration.csrf.path else "GET"
    request = Request(method, configuration.base.origin, "/")
    kind = "DPoP" if configuration.uses_dpop else "Bearer"
    authenticated_request(request, configuration, secret, AccessToken(ANY_SECRET, kind))


def _refuse_login(configuration: Configuration, secret: SecretOpener) -> None:
    """Refuse a login that cannot work, or cannot be made into a request."""
    refuse_unusable_login(configuration)
    if not configuration.uses_login:
        return
    if not configuration.login.steps:
        login_request(configuration, secret)
    taken = dict.fromkeys(taken_names(configuration), ANY_SECRET)
    for place in places_of(configuration):
        step_request(configuration, place, secret, LoginProgress(taken))


def configuration_findings(
    configuration: Configuration, secret: SecretOpener, *, now: float
) -> list[Finding]:
    """Return everything worth knowing about a configuration, errors first."""
    return by_severity(
        [
            *_error_findings(configuration, secret),
            *setting_findings(configuration),
            *_expiry_findings(configuration, secret, now),
            *_secret_findings(configuration, secret),
        ]
    )


def findings_for_any_account(
    configuration: Configuration, secret: SecretOpener, *, now: float
) -> list[Finding]:
    """Return what is worth knowing about a configuration, whatever account is used.

    Where a connection is required, what each account has itself is nothing that the
    configuration lacks.
    """
    is_required = configuration.connections is Connections.REQUIRED
    if not is_required or configuration.connection is not None:
        return configuration_findings(configuration, secret, now=now)
    anyone = Connection("any", configuration.record, username="any")
    account = replace(with_account(configuration, anyone, {}), variable_error=None)

    def open_shared(name: str) -> Secret:
        return ANY_SECRET if configuration.is_of_account(name) else secret(name)

    return configuration_findings(account, open_shared, now=now)


def _error_findings(
    configuration: Configuration, secret: SecretOpener
) -> Iterator[Finding]:
    """Yield every error that sending would meet."""
    missing = list(_missing_secrets(configuration, secret))
    yield from missing
    # Other conflicts are found although a secret is missing, or left to the accounts.
    is_incomplete = missing or configuration.needs_connection
    opener = (lambda _name: ANY_SECRET) if is_incomplete else secret
    refusals = (
        partial(_refuse_unusable, configuration),
        partial(_refuse_ip_addresses, configuration),
        partial(_refuse_login, configuration, opener),
        partial(_refuse_conflicts, configuration, opener),
    )
    found: list[Finding] = []
    for refuse in refusals:
        try:
            refuse()
        except OutkeyError as error:
            found.append(error_finding(error))
    yield from dict.fromkeys(found)  # login and request may have the same conflict


def _missing_secrets(
    configuration: Configuration, secret: SecretOpener
) -> Iterator[Finding]:
    """Yield an error for each secret that sending needs and that cannot be opened."""
    for name in configuration.needed_secrets():
        try:
            secret(name)
        except OutkeyError as error:
            yield error_finding(error)


def setting_findings(configuration: Configuration) -> Iterator[Finding]:
    """Yield the findings about risky settings."""
    origin = configuration.base.origin
    # A proxy resolves names itself: there, localhost is another machine.
    stays_here = (
        judge_host(origin.host) is AddressKind.LOOPBACK and not configuration.proxy.url
    )
    is_plain = origin.scheme == "http" and not stays_here
    if is_plain and configuration.sends_credentials:
        check = UNENCRYPTED_AT_PROXY if configuration.proxy.url else UNENCRYPTED
        yield check.finding("base_url")
    sends_name = configuration.sends_password or (
        configuration.uses_login
        and any("{username}" in text for text in configuration.login.templates)
    )
    sends_name = sends_name or configuration.sends_name_with_token
    has_name = configuration.username or configuration.needs_connection
    if sends_name and not has_name:
        yield NO_USERNAME.finding("username")
    if configuration.uses_password_grant:
        yield PASSWORD_GRANT.finding("oauth2.grant")
    if configuration.has_unprotected_consent:
        yield PKCE_IS_OFF.finding("oauth2.pkce")
    for row in configuration.headers:
        if "_" in row.key:
            yield UNDERSCORE.finding(row.secret_field, header=row.key)


def _expiry_findings(
    configuration: Configuration, secret: SecretOpener, now: float
) -> Iterator[Finding]:
    """Yield a warning about an entered token that ends soon or has ended."""
    last_day = configuration.expires_on or _claimed_last_day(configuration, secret)
    if last_day is None:
        return
    days = days_left(last_day, now)
    if days <= WARN_DAYS:
        row = TOKEN_EXPIRED if days < 0 else TOKEN_EXPIRES
        yield row.finding("token_expires_on", day=last_day)


def _claimed_last_day(
    configuration: Configuration, secret: SecretOpener
) -> date | None:
    """Return the last day that an entered token names itself; it is not verified."""
    if not configuration.sends_entered_token:
        return None
    try:
        expiry = expiry_of(secret("token"))
    except OutkeyError:
        return None  # reported as an error already
    return None if expiry is None else day_of(expiry)


def _secret_findings(
    configuration: Configuration, secret: SecretOpener
) -> Iterator[Finding]:
    """Yield the findings about the values of secrets, without showing them."""
    if configuration.sends_entered_token:
        yield from _value_findings(secret, "token", tidy_token, TOKEN_TRIMMED)
    # A private key is text of several lines, with one more line break at its end.
    keys = {PRIVATE_KEY}
    if configuration.oauth2.client_auth is ClientAuth.PRIVATE_KEY_JWT:
        keys.add("client_secret")
    for name in configuration.needed_secrets():
        is_tidied = name in SENT_TO_TOKEN_URL and name not in keys
        if is_tidied or name in OAUTH1_SECRETS:
            yield from _value_findings(secret, name, tidy_value, VALUE_TRIMMED)
    for row in configuration.rows:
        if row.secret:
            field = row.secret_field
            yield from _value_findings(secret, field, tidy_value, VALUE_TRIMMED)


def _value_findings(
    secret: SecretOpener, field: str, tidy: Callable[[str], str], trimmed: Check
) -> Iterator[Finding]:
    """Yield the findings about one value: removed characters, and its length."""
    try:
        value = secret(field)
    except OutkeyError:
        return  # reported as an error already
    if value.derive(tidy) != value:
        yield trimmed.finding(field)
    if value.longer_than(LONG_SECRET):
        yield LONG_VALUE.finding(field, limit=LONG_SECRET)
