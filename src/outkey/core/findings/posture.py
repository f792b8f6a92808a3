"""Posture: what the specification recommends (5.8), as two tables of checks over known facts.

Whoever gathers the facts is elsewhere. Where something is not known, a check says nothing.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from enum import StrEnum
from typing import Any, Generic, TypeVar
from urllib.parse import parse_qsl

from outkey.core.config.choices import AuthenticationType, Network, NoAuthReason
from outkey.core.config.configuration import Configuration
from outkey.core.config.reference import Reference, Store
from outkey.core.findings.checks import WARN_DAYS, Finding, Level
from outkey.core.findings.health import Health
from outkey.core.request.headers import looks_like_credential

_DAY, _HOUR = 86_400, 3_600
_REFUSALS = 3
LONGEST_DAYS = 36_500
Known = TypeVar("Known")
Place = tuple[str | None, str]  # a field, and what is to be said about it besides
# What well-known keys begin with, or a text that no person gives to a variable.
_KEY_ITSELF = re.compile(
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


@dataclass(frozen=True, slots=True)
class Policy:
    """What the operator demands: ages in days, and what may not be kept in an environment."""

    secret_days: int = 365
    unused_days: int = 90
    retention_days: int = 400
    blocking: Mapping[str, frozenset[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigurationFacts:
    """One configuration, and as much as is known about it."""

    base_url: str
    authentication_type: str
    environment: str
    active: bool
    stores_secret: bool
    set_at: Mapping[str, float]  # of stored secrets, by their fields
    now: float = 0.0
    policy: Policy = field(default_factory=Policy)
    standing: Health | None = None
    configuration: Configuration | None = None
    used_at: float | None = None
    failed: bool = False  # the newest sends, one after the other
    shared: Mapping[str, str] = field(
        default_factory=dict
    )  # who has the same value, by field
    endless: bool = False  # an entered token of which nobody says when it ends
    token_ends: date | None = None  # as the token itself says


@dataclass(frozen=True, slots=True)
class InstallationFacts:
    """The installation and the machine that it runs on."""

    now: float
    policy: Policy
    readable: tuple[str, ...] = ()  # by others
    key_readable: bool = False
    storage: bool = True
    sealed: bool = False
    scripts_locked: bool = True
    tls_library: str = ""  # only one that is too old
    first_bad: str | None = None
    tail: int = 0
    oldest: float | None = None


@dataclass(frozen=True, slots=True)
class Check(Generic[Known]):
    """One recommendation: how it is recognised that it is not followed, and what to do then."""

    id: str
    area: Area
    level: Level
    message: str
    hint: str
    find: Callable[[Known], Iterable[Place]]

    def findings(self, known: Known, blocking: Iterable[str] = ()) -> Iterator[Finding]:
        """Yield what is found; what the policy does not allow is an error."""
        for place, detail in self.find(known):
            level = Level.ERROR if self.id in blocking else self.level
            message = f"{self.message}: {detail}" if detail else self.message
            yield Finding(self.id, level, message, self.hint, place)


def subject_of(configuration: Configuration) -> ConfigurationFacts:
    """Return what a configuration says of itself, with neither secrets nor history."""
    secrets = configuration.secrets.items()
    return ConfigurationFacts(
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


def posture_of(subject: ConfigurationFacts) -> list[Finding]:
    """Return what is to be said about a configuration, the worst first."""
    blocking = subject.policy.blocking.get(subject.environment, ())
    return ranked(
        found for check in CHECKS for found in check.findings(subject, blocking)
    )


def premises_of(premises: InstallationFacts) -> list[Finding]:
    """Return what is to be said about the installation, the worst first."""
    return ranked(found for check in INSTALLATION for found in check.findings(premises))


def ranked(findings: Iterable[Finding]) -> list[Finding]:
    """Return findings with the worst first."""
    return sorted(findings, key=lambda finding: list(Level).index(finding.level))


def _if(found: object, place: str | None = None, detail: str = "") -> list[Place]:
    return [(place, detail)] if found else []


def _day(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%d")


def _seen(subject: ConfigurationFacts, fact: str) -> object:
    """Return a fact of the last test; None where there was none, or it saw nothing of it."""
    return None if subject.standing is None else subject.standing.seen.get(fact)


def _plain_http(subject: ConfigurationFacts) -> Iterator[Place]:
    yield from _if(subject.base_url.lower().startswith("http:"), "base_url")
    made = subject.configuration
    if made is not None and made.uses_oauth2:
        url = made.oauth2.token_url.lower()
        yield from _if(url.startswith("http:"), "oauth2.token_url")


def _tls_floor(subject: ConfigurationFacts) -> list[Place]:
    made = subject.configuration
    below = made is not None and made.tls.minimum_version == "1.2"
    return _if(below and _seen(subject, "tls") == "TLSv1.3", "tls.minimum_version")


def _tls_version(subject: ConfigurationFacts, *, floor: bool) -> list[Place]:
    version = _seen(subject, "tls")
    if not version or version == "TLSv1.3":
        return []
    return _if((version == "TLSv1.2") is floor, "base_url", str(version))


def _certificate(first: int, last: int) -> Callable[[ConfigurationFacts], list[Place]]:
    """Return what finds a certificate that ends within so many days, and in no fewer than that."""

    def find(subject: ConfigurationFacts) -> list[Place]:
        ends = _seen(subject, "certificate_ends")
        if not isinstance(ends, int | float):
            return []
        near = last * _DAY < ends - subject.now <= first * _DAY
        return [("base_url", f"on {_day(ends)}")] if near else []

    return find


def _old_secrets(subject: ConfigurationFacts) -> Iterator[Place]:
    limit = subject.now - subject.policy.secret_days * _DAY
    for name, moment in subject.set_at.items():
        if moment < limit:
            yield name, f"set on {_day(moment)}"


def _token_ends(subject: ConfigurationFacts) -> list[Place]:
    ends = subject.token_ends or (
        subject.standing.expires_on if subject.standing else None
    )
    if ends is None:
        return []
    left = (ends - datetime.fromtimestamp(subject.now, UTC).date()).days
    return _if(left <= WARN_DAYS, "token_expires_on", f"on {ends}")


def _whole(
    find: Callable[[Configuration], Iterable[Place]],
) -> Callable[[ConfigurationFacts], Iterable[Place]]:
    """Return a check of whole configurations; it is silent where only columns are known."""
    return lambda subject: find(subject.configuration) if subject.configuration else ()


def _unprotected(made: Configuration) -> list[Place]:
    """Find an API on the internet that is asked without any proof of who asks."""
    if made.authentication_type is not AuthenticationType.NONE:
        return []
    proven = made.is_scripted or any(row.secret for row in made.headers)
    outside = (
        made.network is Network.PUBLIC
        and made.no_auth_reason is not NoAuthReason.PUBLIC_API
    )
    return _if(
        outside and not proven and not made.tls.client_certificate,
        "authentication_type",
    )


def _basic_where_bearer(subject: ConfigurationFacts) -> list[Place]:
    offered = _seen(subject, "offered")
    bearer = isinstance(offered, list) and "bearer" in [
        str(name).lower() for name in offered
    ]
    return _if(bearer and subject.authentication_type == "basic", "authentication_type")


def _in_clear(made: Configuration) -> Iterator[Place]:
    for row in made.headers:
        yield from _if(
            not row.secret and looks_like_credential(row.key), row.secret_field
        )
    yield from _if(any(map(looks_like_credential, made.oauth2.extra)), "oauth2.extra")


def _key_in_query(made: Configuration) -> list[Place]:
    query = made.verification.test_path.partition("?")[2]
    names = [name for name, _ in parse_qsl(query, keep_blank_values=True)]
    return _if(any(map(looks_like_credential, names)), "verification.test_path")


def _key_as_reference(made: Configuration) -> Iterator[Place]:
    for name, state in made.secrets.items():
        yield from _if(_is_key_itself(state.reference), name)


def _is_key_itself(reference: Reference | None) -> bool:
    if reference is None or reference.store is not Store.ENV:
        return False
    return _KEY_ITSELF.match(reference.place) is not None


def _never_verified(subject: ConfigurationFacts) -> list[Place]:
    standing = subject.standing
    untested = standing and subject.active and standing.verified_at is None
    return _if(untested, "verification.test_path")


def _unused(subject: ConfigurationFacts) -> list[Place]:
    last = subject.used_at
    if last is None or last >= subject.now - subject.policy.unused_days * _DAY:
        return []
    return [(None, f"since {_day(last)}")]


def _failing(subject: ConfigurationFacts) -> Iterator[Place]:
    """Find what fails again and again, or has failed for an hour: once is an accident."""
    standing = subject.standing
    if not subject.active:
        return
    if subject.failed:
        yield None, "the last requests failed, one after the other"
    elif standing and standing.refused >= _REFUSALS:
        yield None, f"the API refused the credentials {standing.refused} times in a row"
    elif standing and standing.current and standing.cause:
        failed_at = standing.tested_at or 0
        late = failed_at < subject.now - _HOUR
        yield from _if(
            late, None, f"the last test failed ({standing.cause}, {_day(failed_at)})"
        )


def _kept_too_long(premises: InstallationFacts) -> list[Place]:
    days, oldest = premises.policy.retention_days, premises.oldest
    # A day more: pruning is done once a day.
    late = oldest is not None and oldest < premises.now - (days + 1) * _DAY
    return _if(
        late,
        None,
        f"the oldest record is from {_day(oldest or 0)}, the limit {days} days",
    )


_T, _C, _A = Area.TRANSPORT, Area.CREDENTIALS, Area.ACCESS
_ERROR, _WARNING, _NOTICE = Level
CHECKS: tuple[Check[ConfigurationFacts], ...] = (
    Check(
        "P-plain-http",
        _T,
        _WARNING,
        "requests travel unencrypted",
        "Use https, also inside your own network.",
        _plain_http,
    ),
    Check(
        "P-old-tls",
        _T,
        _ERROR,
        "the server speaks an old version of TLS",
        "Ask the API's provider for TLS 1.2 or, better, 1.3.",
        lambda s: _tls_version(s, floor=False),
    ),
    Check(
        "P-tls-1-2",
        _T,
        _NOTICE,
        "the server does not speak TLS 1.3",
        "Ask the API's provider for TLS 1.3.",
        lambda s: _tls_version(s, floor=True),
    ),
    Check(
        "P-tls-floor",
        _T,
        _NOTICE,
        "an older TLS is accepted than the server speaks",
        "Set Minimum version to 1.3, so that nobody in between can ask for less.",
        _tls_floor,
    ),
    Check(
        "P-certificate-1",
        _T,
        _ERROR,
        "the server's certificate ends within a day, or has ended",
        "Ask the API's provider to renew it now.",
        _certificate(1, -LONGEST_DAYS),
    ),
    Check(
        "P-certificate-7",
        _T,
        _WARNING,
        "the server's certificate ends within a week",
        "Ask the API's provider whether it is being renewed.",
        _certificate(7, 1),
    ),
    Check(
        "P-certificate-30",
        _T,
        _NOTICE,
        "the server's certificate ends within a month",
        "Look again in a week: most are renewed by themselves.",
        _certificate(30, 7),
    ),
    Check(
        "P-old-secret",
        _C,
        _WARNING,
        "a secret is older than the policy allows",
        "Get a new one from the API's provider, enter it, and revoke the old one.",
        _old_secrets,
    ),
    Check(
        "P-shared-secret",
        _C,
        _WARNING,
        "another configuration has the same secret",
        "Get one of its own for each, so that one can be revoked without the others.",
        lambda s: (
            (name, f"also used by {others}") for name, others in s.shared.items()
        ),
    ),
    Check(
        "P-token-ends",
        _C,
        _WARNING,
        "the token ends soon, or has ended",
        "Get a new one from the API's provider, and enter it with its expiry date.",
        _token_ends,
    ),
    Check(
        "P-no-expiry",
        _C,
        _NOTICE,
        "nobody knows when the entered token ends",
        "Enter Token Expires On, or let OAuth 2.0 renew tokens.",
        lambda s: _if(s.endless, "token_expires_on"),
    ),
    Check(
        "P-unprotected",
        _C,
        _WARNING,
        "an API on the internet is used without credentials",
        "Choose an Authentication Type, or give the Reason public API if it is one.",
        _whole(_unprotected),
    ),
    Check(
        "P-basic-where-bearer",
        _C,
        _NOTICE,
        "a password is sent where the API also takes tokens",
        "Use Bearer Token: a token can be limited and revoked by itself.",
        _basic_where_bearer,
    ),
    Check(
        "P-secret-in-clear",
        _C,
        _WARNING,
        "what looks like a credential is kept in the clear",
        "Tick Secret in the row of the header, or enter the value as a secret.",
        _whole(_in_clear),
    ),
    Check(
        "P-key-in-query",
        _C,
        _WARNING,
        "what looks like a key stands in an address",
        "Send it as a header: addresses are logged on their way.",
        _whole(_key_in_query),
    ),
    Check(
        "P-key-as-reference",
        _C,
        _ERROR,
        "a reference looks like the secret itself",
        "Put the secret into a variable, name that, and consider the secret known.",
        _whole(_key_as_reference),
    ),
    Check(
        "P-no-rate-limit",
        _A,
        _NOTICE,
        "there is no rate limit",
        "Set Rate limit to what the API allows, so that no error can flood it.",
        _whole(
            lambda made: _if(
                made.limits.requests_per_minute is None, "limits.requests_per_minute"
            )
        ),
    ),
    Check(
        "P-inactive-secret",
        _A,
        _WARNING,
        "it is not active and still keeps secrets",
        "Clear its secrets and revoke them at the API, or delete it.",
        lambda s: _if(not s.active and s.stores_secret, "active"),
    ),
    Check(
        "P-never-verified",
        _A,
        _NOTICE,
        "it has never passed a test",
        "Test it: outkey test NAME.",
        _never_verified,
    ),
    Check(
        "P-unused",
        _A,
        _NOTICE,
        "it has not been used for long",
        "Delete it, or switch it off, and revoke its credentials at the API.",
        _unused,
    ),
    Check(
        "P-failing",
        _A,
        _WARNING,
        "it keeps failing",
        "Test it for cause and remedy: outkey test NAME.",
        _failing,
    ),
)
_I = Area.INSTALLATION
INSTALLATION: tuple[Check[InstallationFacts], ...] = (
    Check(
        "P-database",
        _I,
        _ERROR,
        "the database does not answer",
        "Check OUTKEY_DATABASE_URL and OUTKEY_HOME, and whether the database runs.",
        lambda p: _if(not p.storage),
    ),
    Check(
        "P-key-readable",
        _I,
        _ERROR,
        "others may read the key file",
        "chmod 600 it, and consider the key known: outkey keys add.",
        lambda p: _if(p.key_readable),
    ),
    Check(
        "P-sealed",
        _I,
        _ERROR,
        "the installation is sealed: its key is missing or wrong",
        "Bring the key file back, or set OUTKEY_KEY_FILE to where it is.",
        lambda p: _if(p.sealed),
    ),
    Check(
        "P-files-readable",
        _I,
        _WARNING,
        "others may read files of the installation",
        "chmod 700 the folders and 600 the files in them.",
        lambda p: ((None, name) for name in p.readable),
    ),
    Check(
        "P-scripts",
        _I,
        _ERROR,
        "scripts cannot be locked away on this machine, and do not run",
        "Use Linux 5.13 or newer with Landlock and seccomp, on x86_64 or aarch64.",
        lambda p: _if(not p.scripts_locked),
    ),
    Check(
        "P-tls-library",
        _I,
        _WARNING,
        "the TLS library of this Python is too old",
        "Use a Python with OpenSSL 3 or newer, which speaks TLS 1.3.",
        lambda p: _if(p.tls_library, None, p.tls_library),
    ),
    Check(
        "P-audit-broken",
        Area.AUDIT,
        _ERROR,
        "the audit was tampered with, or is damaged",
        "Compare with a backup from before, and find out who had access to the"
        " database.",
        lambda p: _if(p.first_bad, None, f"at {p.first_bad}"),
    ),
    Check(
        "P-audit-tail",
        Area.AUDIT,
        _NOTICE,
        "records at the end of the audit are not signed for",
        "A process was killed before it could sign; look whether that was an accident.",
        lambda p: _if(p.tail, None, str(p.tail)),
    ),
    Check(
        "P-audit-kept",
        Area.AUDIT,
        _WARNING,
        "the audit is kept for longer than it may be",
        "Remove old records: outkey audit prune.",
        _kept_too_long,
    ),
)
EVERY: tuple[Check[Any], ...] = (*CHECKS, *INSTALLATION)
