"""Posture: what the specification recommends (5.8), as two tables of checks over facts.

The facts are gathered elsewhere. Where a fact is unknown, a check reports nothing.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum
from shlex import quote
from typing import Any, Generic, NamedTuple, TypeVar
from urllib.parse import parse_qsl

from outkey.administration.core.policy.policy import Policy
from outkey.administration.core.rotation.status import set_in_use
from outkey.foundation.core.endings import Ending
from outkey.foundation.core.errors import OutkeyError
from outkey.foundation.core.fields.choices import (
    AuthenticationType,
    Network,
    NoAuthReason,
)
from outkey.foundation.core.findings.checks import Check, Finding, Level, by_severity
from outkey.foundation.core.moments import DAY_SECONDS, day_of
from outkey.foundation.core.origin import endpoint_origin
from outkey.foundation.core.text import Text
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.configuration.expiry_warnings import (
    ENDED,
    NEW_TOKEN_HINT,
    WARN_DAYS,
    days_left,
    warning_stage,
)
from outkey.sending.core.configuration.health import Health
from outkey.sending.core.configuration.reference import Reference, Store
from outkey.sending.core.request.addresses import AddressKind, judge_host
from outkey.sending.core.request.headers import looks_like_credential
from outkey.sending.core.rotation.credential_sets import ONE_SET, STUCK_AFTER

HOUR_SECONDS = 3_600
MAX_DAYS = 36_500
FAILING_REFUSALS = 3  # in a row
ANY_NAME = "NAME"  # in the commands of texts about no configuration in particular
Facts = TypeVar("Facts")
# How well-known keys begin, or a text that no user chooses as the name of a variable.
KEY_ITSELF = re.compile(
    r"(sk|pk|rk)_(live|test)_|gh[opsu]_|github_pat_|glpat|xox[abp]|AKIA[0-9A-Z]{16}|eyJ"
    r"|(?=.*[a-z])(?=.*[A-Z])(?=.*[0-9])[A-Za-z0-9]{20,}\Z"
)


class Area(StrEnum):
    """The areas of the recommendations, and the installation itself."""

    TRANSPORT = "Transport"
    CREDENTIALS = "Credentials"
    ACCESS = "Access control"
    AUDIT = "Audit"
    INSTALLATION = "Installation"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigurationFacts:
    """One configuration, and as much as is known about it."""

    name: str
    base_url: str
    authentication_type: str
    environment: str
    active: bool
    stores_secret: bool
    set_at: Mapping[str, float]  # of stored secrets, by their fields
    now: float = 0.0
    policy: Policy = field(default_factory=Policy)
    health: Health | None = None
    configuration: Configuration | None = None
    used_at: float | None = None
    failed: bool = False  # the newest requests, one after the other
    # The names of other configurations with the same value, by field.
    shared: Mapping[str, str] = field(default_factory=dict)
    endless: bool = False  # an entered token whose expiry date is unknown
    token_ends: date | None = None  # as the token itself claims
    # When the preset that the configuration was made from was last corrected.
    preset_corrected: date | None = None
    preset_ending: Ending | None = None  # of the preset, or of the method used


@dataclass(frozen=True, slots=True)
class InstallationFacts:
    """The installation and the machine that it runs on."""

    now: float
    policy: Policy
    readable: tuple[str, ...] = ()  # files that other users can read
    key_readable: bool = False
    storage: bool = True
    sealed: bool = False
    on_hold: bool = False  # it was restored, and not resumed yet
    scripts_locked: bool = True
    tls_library: str = ""  # only one that is too old
    # API tokens whose creators may not do what the tokens do.
    token_problems: tuple[Text, ...] = ()
    odd_rows: tuple[str, ...] = ()  # that cannot be read
    triggers: tuple[str, ...] = ()  # on outkey's tables
    first_bad: str | None = None
    tail: int = 0
    oldest: float | None = None
    changed_rows: str = ""  # the names of those that outkey did not store
    future_times: tuple[Text, ...] = ()  # what has a time that lies in the future
    backend_file: Text | None = None  # why config/backends.toml cannot be used
    # Configurations and other sections with a reference that no backend is for.
    without_backend: tuple[str, ...] = ()
    plain_backends: tuple[str, ...] = ()  # that are reached without TLS


class FindingPlace(NamedTuple):
    """Where a check found something, and what it adds to its message."""

    field: str | None = None
    detail: str | None = None  # a `Text` unless it is a name or number
    level: Level | None = None  # None: that of its check


@dataclass(frozen=True, slots=True)
class PostureCheck(Check, Generic[Facts]):
    """A recommendation: how to recognise that it is not followed, and what to do."""

    area: Area
    find: Callable[[Facts], Iterable[FindingPlace]]

    def level_for(self, blocking: Iterable[str], own: Level | None = None) -> Level:
        """Return the level of a finding: what the policy blocks is an error."""
        return Level.ERROR if self.id in blocking else own or self.level

    def findings(
        self, facts: Facts, blocking: Iterable[str] = (), name: str = ANY_NAME
    ) -> Iterator[Finding]:
        """Yield the findings; `name` is that of the configuration, for commands."""
        for place in self.find(facts):
            message, hint = self.texts(name=name)
            if place.detail is not None:
                message = Text(
                    "{message}: {detail}", message=message, detail=place.detail
                )
            level = self.level_for(blocking, place.level)
            yield Finding(self.id, level, message, hint, place.field)


def facts_from_settings(configuration: Configuration) -> ConfigurationFacts:
    """Return the facts from a configuration's settings, without secrets and history."""
    secrets = configuration.secrets.items()
    return ConfigurationFacts(
        name=configuration.name,
        base_url=configuration.base_url,
        authentication_type=configuration.authentication_type,
        environment=configuration.environment,
        active=configuration.active,
        stores_secret=any(state.reference is None for _, state in secrets),
        set_at={
            name: state.set_at for name, state in secrets if state.set_at is not None
        },
        configuration=configuration,
    )


def configuration_posture(
    facts: ConfigurationFacts,
    checks: "Iterable[PostureCheck[ConfigurationFacts]] | None" = None,
) -> list[Finding]:
    """Return the findings about a configuration, errors first; by default, all."""
    blocking = facts.policy.blocking.get(facts.environment, ())
    return by_severity(
        finding
        for check in (CONFIGURATION_CHECKS if checks is None else checks)
        for finding in check.findings(facts, blocking, quote(facts.name))
    )


def installation_posture(facts: InstallationFacts) -> list[Finding]:
    """Return the findings about the installation, errors first."""
    return by_severity(
        finding for check in INSTALLATION_CHECKS for finding in check.findings(facts)
    )


def _finding_if(
    condition: object, field: str | None = None, detail: str | None = None
) -> list[FindingPlace]:
    """Return this place where the condition holds."""
    return [FindingPlace(field, detail)] if condition else []


def _last_test(facts: ConfigurationFacts, fact: str) -> object:
    """Return a fact that the last test saw; None where it is unknown."""
    return None if facts.health is None else facts.health.seen.get(fact)


def _plain_http(facts: ConfigurationFacts) -> Iterator[FindingPlace]:
    """Find a URL in use without TLS, but for this machine itself."""
    configuration = facts.configuration
    urls = [("base_url", facts.base_url)]
    if configuration is not None:
        urls += configuration.token_urls()
    has_proxy = configuration is not None and bool(configuration.proxy.url)
    plain = (path for path, url in urls if _is_plain(url, has_proxy=has_proxy))
    for path in dict.fromkeys(plain):
        yield FindingPlace(path)


def _is_plain(url: str, *, has_proxy: bool) -> bool:
    """Whether requests to a URL can be read on their way.

    A proxy resolves names itself: there, localhost is another machine.
    """
    if has_proxy or not url.lower().startswith("http:"):
        return url.lower().startswith("http:")
    try:
        host = endpoint_origin(url, "base_url").host
    except OutkeyError:
        return True
    return judge_host(host) is not AddressKind.LOOPBACK


def _tls_floor(facts: ConfigurationFacts) -> list[FindingPlace]:
    """Find a Minimum version below what the server supports."""
    configuration = facts.configuration
    is_below = configuration is not None and configuration.tls.minimum_version == "1.2"
    has_newer = _last_test(facts, "tls") == "TLSv1.3"
    return _finding_if(is_below and has_newer, "tls.minimum_version")


def _tls_1_2(facts: ConfigurationFacts) -> list[FindingPlace]:
    """Find a server that supports TLS 1.2 at most."""
    return _finding_if(_last_test(facts, "tls") == "TLSv1.2", "base_url")


def _old_tls(facts: ConfigurationFacts) -> list[FindingPlace]:
    """Find a server that supports only versions before TLS 1.2."""
    version = _last_test(facts, "tls")
    is_old = version and version not in {"TLSv1.2", "TLSv1.3"}
    return _finding_if(is_old, "base_url", str(version))


def certificate_ends(
    *stages: int,
) -> Callable[[ConfigurationFacts], list[FindingPlace]]:
    """Return a finder of certificates whose end has reached one of these stages."""

    def find(facts: ConfigurationFacts) -> list[FindingPlace]:
        ends = _last_test(facts, "certificate_ends")
        if not isinstance(ends, int | float):
            return []
        last_day = day_of(ends)
        is_reached = warning_stage(last_day, facts.now) in stages
        return _finding_if(is_reached, "base_url", Text("on {day}", day=last_day))

    return find


def _old_secrets(facts: ConfigurationFacts) -> Iterator[FindingPlace]:
    """Find stored secrets that are older than the policy allows."""
    limit = facts.now - facts.policy.secret_days * DAY_SECONDS
    for name, set_at in facts.set_at.items():
        if set_at < limit:
            yield FindingPlace(name, Text("set on {day}", day=day_of(set_at)))


def _shared_secrets(facts: ConfigurationFacts) -> Iterator[FindingPlace]:
    """Find secrets that other configurations have too."""
    for name, others in facts.shared.items():
        yield FindingPlace(name, Text("also used by {others}", others=others))


def token_ends(facts: ConfigurationFacts) -> list[FindingPlace]:
    """Find an entered token that ends soon, or has ended."""
    ends = facts.token_ends
    if ends is None and facts.health is not None:
        ends = facts.health.expires_on
    if ends is None:
        return []
    is_near = days_left(ends, facts.now) <= WARN_DAYS
    return _finding_if(is_near, "token_expires_on", Text("on {day}", day=ends))


def whole(
    find: Callable[[Configuration], Iterable[FindingPlace]],
) -> Callable[[ConfigurationFacts], Iterable[FindingPlace]]:
    """Return a check of whole configurations; silent where only columns are known."""
    return lambda facts: find(facts.configuration) if facts.configuration else ()


def unprotected(configuration: Configuration) -> list[FindingPlace]:
    """Find a public API that is used without any credentials."""
    is_public = (
        configuration.network is Network.PUBLIC
        and configuration.no_auth_reason is not NoAuthReason.PUBLIC_API
    )
    return _finding_if(
        is_public and not configuration.sends_credentials, "authentication_type"
    )


def _basic_where_bearer(facts: ConfigurationFacts) -> list[FindingPlace]:
    """Find a password that is sent where the server offers Bearer too."""
    schemes = _last_test(facts, "offered")
    offers_bearer = isinstance(schemes, list) and "bearer" in [
        str(name).lower() for name in schemes
    ]
    is_basic = facts.authentication_type == AuthenticationType.BASIC
    return _finding_if(offers_bearer and is_basic, "authentication_type")


def _secrets_in_clear(configuration: Configuration) -> Iterator[FindingPlace]:
    """Find values that look like credentials and are not stored as secrets."""
    for row in configuration.headers:
        is_clear = not row.secret and looks_like_credential(row.key)
        yield from _finding_if(is_clear, row.secret_field)
    has_credential = any(map(looks_like_credential, configuration.oauth2.extra))
    yield from _finding_if(has_credential, "oauth2.extra")


def _key_in_query(configuration: Configuration) -> list[FindingPlace]:
    """Find what looks like a key in the query of the Test Path."""
    query = configuration.verification.test_path.partition("?")[2]
    names = [name for name, _ in parse_qsl(query, keep_blank_values=True)]
    has_credential = any(map(looks_like_credential, names))
    return _finding_if(has_credential, "verification.test_path")


def _key_as_reference(configuration: Configuration) -> Iterator[FindingPlace]:
    """Find references that look like the secret itself."""
    for name, state in configuration.secrets.items():
        yield from _finding_if(_is_key_itself(state.reference), name)


def _is_key_itself(reference: Reference | None) -> bool:
    """Whether a reference to the environment looks like a key, not like a name."""
    if reference is None or reference.store is not Store.ENV:
        return False
    return KEY_ITSELF.match(reference.place) is not None


def _rotation_overdue(facts: ConfigurationFacts) -> list[FindingPlace]:
    """Find credentials in use that are older than their configuration wants them."""
    configuration = facts.configuration
    days = configuration.rotation.rotate_after_days if configuration else None
    if configuration is None or days is None:
        return []
    set_at = set_in_use(configuration).set_at
    is_overdue = 0 < set_at < facts.now - days * DAY_SECONDS
    detail = Text("set on {day}", day=day_of(set_at))
    return _finding_if(is_overdue, "rotation.rotate_after_days", detail)


def _rotation_open(facts: ConfigurationFacts) -> list[FindingPlace]:
    """Find previous credentials whose time of going back is over."""
    sets = facts.configuration.sets if facts.configuration else ONE_SET
    if sets.until is None or not sets.has_ended_overlap(facts.now):
        return []
    detail = Text("since {day}", day=day_of(sets.until))
    return [FindingPlace("rotation.overlap_days", detail)]


def _rotation_stuck(facts: ConfigurationFacts) -> list[FindingPlace]:
    """Find next credentials that wait for a long time, and are not tried."""
    sets = facts.configuration.sets if facts.configuration else ONE_SET
    if sets.next is None or sets.trial is not None:
        return []
    staged_at = sets.next.set_at
    detail = Text("set on {day}", day=day_of(staged_at))
    return _finding_if(facts.now - staged_at >= STUCK_AFTER, None, detail)


def _no_rate_limit(configuration: Configuration) -> list[FindingPlace]:
    """Find a configuration without a Rate limit."""
    is_unlimited = configuration.limits.requests_per_minute is None
    return _finding_if(is_unlimited, "limits.requests_per_minute")


def _never_verified(facts: ConfigurationFacts) -> list[FindingPlace]:
    """Find an active configuration that has never passed a test."""
    health = facts.health
    is_untested = health and facts.active and health.verified_at is None
    return _finding_if(is_untested, "verification.test_path")


def unused(facts: ConfigurationFacts) -> list[FindingPlace]:
    """Find a configuration that was not used for longer than the policy allows."""
    used_at = facts.used_at
    limit = facts.now - facts.policy.unused_days * DAY_SECONDS
    if used_at is None or used_at >= limit:
        return []
    return [FindingPlace(None, Text("since {day}", day=day_of(used_at)))]


def preset_corrected(facts: ConfigurationFacts) -> list[FindingPlace]:
    """Look for a preset that has changed since it was used."""
    corrected = facts.preset_corrected
    day = facts.configuration.preset_day if facts.configuration else None
    is_newer = corrected is not None and day is not None and day < corrected
    return _finding_if(is_newer, "preset", str(corrected))


def preset_ends(facts: ConfigurationFacts) -> list[FindingPlace]:
    """Look for a provider that stops the API or the way to authenticate."""
    ending = facts.preset_ending
    level = ending.level(facts.now) if ending else None
    if ending is None or level is None:
        return []
    return [FindingPlace("preset", ending.words, level)]


def failing(facts: ConfigurationFacts) -> Iterator[FindingPlace]:
    """Find what fails repeatedly, or has failed for an hour: once is an accident."""
    health = facts.health
    if not facts.active:
        return
    if facts.failed:
        yield FindingPlace(None, Text("the last requests failed, one after the other"))
    elif health and health.refused >= FAILING_REFUSALS:
        yield FindingPlace(
            None,
            Text(
                "the API refused the credentials {count} times in a row",
                count=health.refused,
            ),
        )
    elif health and health.current and health.cause:
        failed_at = health.tested_at or 0
        detail = Text(
            "the last test failed ({cause}, {day})",
            cause=health.cause,
            day=day_of(failed_at),
        )
        yield from _finding_if(failed_at < facts.now - HOUR_SECONDS, None, detail)


def _audit_kept_too_long(facts: InstallationFacts) -> list[FindingPlace]:
    """Find audit records that are older than the policy allows."""
    days = facts.policy.retention_days
    # A day more: records are pruned once a day.
    limit = facts.now - (days + 1) * DAY_SECONDS
    if facts.oldest is None or facts.oldest >= limit:
        return []
    detail = Text(
        "the oldest record is from {day}, the limit in days is {days}",
        day=day_of(facts.oldest),
        days=days,
    )
    return [FindingPlace(None, detail)]


def _tokens_beyond_rights(facts: InstallationFacts) -> Iterator[FindingPlace]:
    """Find API tokens that outlive the rights of the users who created them."""
    for problem in facts.token_problems:
        yield FindingPlace(None, problem)


def _times_in_future(facts: InstallationFacts) -> Iterator[FindingPlace]:
    """Find times that were stored by a clock that was ahead."""
    for what in facts.future_times:
        yield FindingPlace(None, what)


def readable_files(facts: InstallationFacts) -> Iterator[FindingPlace]:
    """Find files that other users can read."""
    for name in facts.readable:
        yield FindingPlace(None, name)


ROTATION_CHECKS: tuple[PostureCheck[ConfigurationFacts], ...] = (
    PostureCheck(
        "P-rotation-overdue",
        Level.WARNING,
        "the credentials are older than Rotate after allows",
        "Get new ones from the API's provider and stage them, while the old ones still"
        " work: outkey secret stage {name} FIELD.",
        Area.CREDENTIALS,
        _rotation_overdue,
    ),
    PostureCheck(
        "P-rotation-open",
        Level.WARNING,
        "the previous credentials are still stored after their overlap",
        "Test those in use (outkey test {name}), revoke the previous ones at the API's"
        " provider, and destroy them: outkey rotation retire {name}.",
        Area.CREDENTIALS,
        _rotation_open,
    ),
    PostureCheck(
        "P-rotation-stuck",
        Level.NOTICE,
        "the next credentials have been waiting for a week",
        "Test and start them: outkey rotation test {name}, then outkey rotation start"
        " {name}. Or delete them: outkey rotation discard {name}.",
        Area.CREDENTIALS,
        _rotation_stuck,
    ),
)
CONFIGURATION_CHECKS: tuple[PostureCheck[ConfigurationFacts], ...] = (
    PostureCheck(
        "P-plain-http",
        Level.WARNING,
        "requests are sent unencrypted",
        "Use https, also inside your own network.",
        Area.TRANSPORT,
        _plain_http,
    ),
    PostureCheck(
        "P-old-tls",
        Level.ERROR,
        "the server uses an outdated version of TLS",
        "Ask the API's provider for TLS 1.2 or, better, 1.3.",
        Area.TRANSPORT,
        _old_tls,
    ),
    PostureCheck(
        "P-tls-1-2",
        Level.NOTICE,
        "the server does not support TLS 1.3",
        "Ask the API's provider for TLS 1.3.",
        Area.TRANSPORT,
        _tls_1_2,
    ),
    PostureCheck(
        "P-tls-floor",
        Level.NOTICE,
        "an older version of TLS is accepted than the server supports",
        "Set Minimum version to 1.3, so that an attacker cannot downgrade the"
        " connection.",
        Area.TRANSPORT,
        _tls_floor,
    ),
    PostureCheck(
        "P-certificate-1",
        Level.ERROR,
        "the server's certificate expires within a day, or has expired",
        "Ask the API's provider to renew it now.",
        Area.TRANSPORT,
        certificate_ends(ENDED, 1),
    ),
    PostureCheck(
        "P-certificate-7",
        Level.WARNING,
        "the server's certificate expires within a week",
        "Ask the API's provider whether it is being renewed.",
        Area.TRANSPORT,
        certificate_ends(7),
    ),
    PostureCheck(
        "P-certificate-30",
        Level.NOTICE,
        "the server's certificate expires within a month",
        "Check again in a week: most certificates are renewed automatically.",
        Area.TRANSPORT,
        certificate_ends(WARN_DAYS),
    ),
    PostureCheck(
        "P-old-secret",
        Level.WARNING,
        "a secret is older than the policy allows",
        "Get a new secret from the API's provider, enter it, and revoke the old one.",
        Area.CREDENTIALS,
        _old_secrets,
    ),
    PostureCheck(
        "P-shared-secret",
        Level.WARNING,
        "another configuration has the same secret",
        "Get a secret for each configuration, so that one can be revoked without the"
        " others.",
        Area.CREDENTIALS,
        _shared_secrets,
    ),
    PostureCheck(
        "P-token-ends",
        Level.WARNING,
        "the token expires soon, or has expired",
        NEW_TOKEN_HINT,
        Area.CREDENTIALS,
        token_ends,
    ),
    PostureCheck(
        "P-no-expiry",
        Level.NOTICE,
        "the expiry date of the entered token is unknown",
        "Enter Token Expires On, or let OAuth 2.0 renew tokens.",
        Area.CREDENTIALS,
        lambda facts: _finding_if(facts.endless, "token_expires_on"),
    ),
    *ROTATION_CHECKS,
    PostureCheck(
        "P-unprotected",
        Level.WARNING,
        "an API on the internet is used without credentials",
        "Choose an Authentication Type, or the Reason public API if it needs none.",
        Area.CREDENTIALS,
        whole(unprotected),
    ),
    PostureCheck(
        "P-basic-where-bearer",
        Level.NOTICE,
        "a password is sent although the API accepts tokens too",
        "Use Bearer Token: a token can be restricted, and revoked on its own.",
        Area.CREDENTIALS,
        _basic_where_bearer,
    ),
    PostureCheck(
        "P-secret-in-clear",
        Level.WARNING,
        "a value that looks like a credential is not stored as a secret",
        "Tick Secret in the row of the header, or enter the value as a secret.",
        Area.CREDENTIALS,
        whole(_secrets_in_clear),
    ),
    PostureCheck(
        "P-key-in-query",
        Level.WARNING,
        "a URL contains what looks like a key",
        "Move the key to Query parameters, as secret, or better to a header: URLs are"
        " written to logs on their way.",
        Area.CREDENTIALS,
        whole(_key_in_query),
    ),
    PostureCheck(
        "P-key-as-reference",
        Level.ERROR,
        "a reference looks like the secret itself",
        "Put the secret into an environment variable, refer to that, and replace the"
        " secret, since it may be known.",
        Area.CREDENTIALS,
        whole(_key_as_reference),
    ),
    PostureCheck(
        "P-no-rate-limit",
        Level.NOTICE,
        "no rate limit is set",
        "Set Rate limit to what the API allows, so that a mistake cannot flood it.",
        Area.ACCESS,
        whole(_no_rate_limit),
    ),
    PostureCheck(
        "P-inactive-secret",
        Level.WARNING,
        "the configuration is not active and still stores secrets",
        "Clear its secrets and revoke them at the API, or delete the configuration.",
        Area.ACCESS,
        lambda facts: _finding_if(not facts.active and facts.stores_secret, "active"),
    ),
    PostureCheck(
        "P-never-verified",
        Level.NOTICE,
        "the configuration has never passed a test",
        "Test it: outkey test {name}.",
        Area.ACCESS,
        _never_verified,
    ),
    PostureCheck(
        "P-unused",
        Level.NOTICE,
        "the configuration has not been used for a long time",
        "Delete it or switch it off, and revoke its credentials at the API.",
        Area.ACCESS,
        unused,
    ),
    PostureCheck(
        "P-preset-corrected",
        Level.NOTICE,
        "the preset that this configuration was made from was corrected since",
        "Compare the settings with it: outkey preset list, and outkey preset show.",
        Area.ACCESS,
        preset_corrected,
    ),
    PostureCheck(
        "P-preset-ends",
        Level.WARNING,
        "the provider stops what this configuration uses",
        "Change to what replaces it while both work: outkey preset show.",
        Area.ACCESS,
        preset_ends,
    ),
    PostureCheck(
        "P-failing",
        Level.WARNING,
        "the configuration fails repeatedly",
        "Test it to see the cause and the remedy: outkey test {name}.",
        Area.ACCESS,
        failing,
    ),
)
INSTALLATION_CHECKS: tuple[PostureCheck[InstallationFacts], ...] = (
    PostureCheck(
        "P-database",
        Level.ERROR,
        "the database does not respond",
        "Check OUTKEY_DATABASE_URL and OUTKEY_HOME, and whether the database is"
        " running.",
        Area.INSTALLATION,
        lambda facts: _finding_if(not facts.storage),
    ),
    PostureCheck(
        "P-key-readable",
        Level.ERROR,
        "other users can read the key file",
        "Set its permissions to 600, and replace the key, since it may be known:"
        " outkey keys add.",
        Area.INSTALLATION,
        lambda facts: _finding_if(facts.key_readable),
    ),
    PostureCheck(
        "P-sealed",
        Level.ERROR,
        "the installation is sealed: its key is missing or wrong",
        "Restore the key file, or set OUTKEY_KEY_FILE to its path.",
        Area.INSTALLATION,
        lambda facts: _finding_if(facts.sealed),
    ),
    PostureCheck(
        "P-on-hold",
        Level.WARNING,
        "the installation was restored and is on hold: no line runs, no token is"
        " renewed, no delivery is processed",
        "If the installation that was backed up does not run any more, run:"
        " outkey resume --all.",
        Area.INSTALLATION,
        lambda facts: _finding_if(facts.on_hold),
    ),
    PostureCheck(
        "P-rows-changed",
        Level.ERROR,
        "rows of the database were changed outside of outkey, and are not used",
        "List and accept them with: outkey secret confirm. Delete those that you do"
        " not know: outkey secret reject. Rows of version 0.2 or older are listed too,"
        " until they are confirmed once.",
        Area.INSTALLATION,
        lambda facts: _finding_if(facts.changed_rows, None, facts.changed_rows),
    ),
    PostureCheck(
        "P-future-time",
        Level.WARNING,
        "a stored time lies in the future: a clock was ahead, or this one is behind",
        "Synchronize the clocks of all machines by NTP. Nothing waits for such a time,"
        " and it is replaced when it is next stored.",
        Area.INSTALLATION,
        _times_in_future,
    ),
    PostureCheck(
        "P-files-readable",
        Level.WARNING,
        "other users can read files of the installation",
        "Set the permissions of the folders to 700 and of the files to 600.",
        Area.INSTALLATION,
        readable_files,
    ),
    PostureCheck(
        "P-scripts",
        Level.ERROR,
        "scripts do not run, because this machine cannot lock them in",
        "Use Linux 5.13 or newer with Landlock and seccomp, on x86_64 or aarch64.",
        Area.INSTALLATION,
        lambda facts: _finding_if(not facts.scripts_locked),
    ),
    PostureCheck(
        "P-odd-row",
        Level.ERROR,
        "a row of the database cannot be read",
        "It was changed without outkey, or is damaged: enter it again, delete it, or"
        " restore a backup, and find out who had access to the database.",
        Area.INSTALLATION,
        lambda facts: [FindingPlace(None, row) for row in facts.odd_rows],
    ),
    PostureCheck(
        "P-trigger",
        Level.ERROR,
        "a table of outkey has a trigger, which outkey never makes",
        "It can change or delete what is stored. Find out who had access to the"
        " database, and delete it: DROP TRIGGER.",
        Area.INSTALLATION,
        lambda facts: [FindingPlace(None, name) for name in facts.triggers],
    ),
    PostureCheck(
        "P-tls-library",
        Level.WARNING,
        "the TLS library of this Python is too old",
        "Use a Python with OpenSSL 3 or newer, which supports TLS 1.3.",
        Area.INSTALLATION,
        lambda facts: _finding_if(facts.tls_library, None, facts.tls_library),
    ),
    PostureCheck(
        "P-token-owner",
        Level.WARNING,
        "an API token does more than the user who created it may do",
        "Revoke it: outkey api-token revoke. If a program needs it, create another one"
        " with outkey api-token create.",
        Area.ACCESS,
        _tokens_beyond_rights,
    ),
    PostureCheck(
        "P-backend-file",
        Level.ERROR,
        "the file of the backends cannot be used",
        "Correct config/backends.toml, and let only its owner write it.",
        Area.CREDENTIALS,
        lambda facts: _finding_if(facts.backend_file, None, facts.backend_file),
    ),
    PostureCheck(
        "P-backend-unknown",
        Level.ERROR,
        "a reference names a store that no backend is for",
        "Add the backend to config/backends.toml, or correct the reference.",
        Area.CREDENTIALS,
        lambda facts: [FindingPlace(None, name) for name in facts.without_backend],
    ),
    PostureCheck(
        "P-backend-plain",
        Level.WARNING,
        "secrets are read from a backend without encryption",
        "Use https, also inside your own network.",
        Area.TRANSPORT,
        lambda facts: [FindingPlace(None, name) for name in facts.plain_backends],
    ),
    PostureCheck(
        "P-audit-broken",
        Level.ERROR,
        "the audit was tampered with, or is damaged",
        "Compare it with an earlier backup, and find out who had access to the"
        " database.",
        Area.AUDIT,
        lambda facts: _finding_if(
            facts.first_bad, None, Text("at {place}", place=facts.first_bad)
        ),
    ),
    PostureCheck(
        "P-audit-tail",
        Level.NOTICE,
        "the last records of the audit are not signed",
        "A process was killed before it could sign them; check whether that was an"
        " accident.",
        Area.AUDIT,
        lambda facts: _finding_if(facts.tail, None, str(facts.tail)),
    ),
    PostureCheck(
        "P-audit-kept",
        Level.WARNING,
        "the audit is stored for longer than the policy allows",
        "Remove old records: outkey audit prune.",
        Area.AUDIT,
        _audit_kept_too_long,
    ),
)
POSTURE_CHECKS: tuple[PostureCheck[Any], ...] = (
    *CONFIGURATION_CHECKS,
    *INSTALLATION_CHECKS,
)
