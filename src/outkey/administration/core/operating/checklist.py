"""The production check list: what an operator must have right, line by line.

Each line is a rule over facts that are gathered elsewhere. A line is passed, failed, or
cannot be seen from here; the guide to production has the same lines.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address, ip_network
from urllib.parse import urlsplit

from outkey.foundation.core.findings.checks import Check, Level
from outkey.foundation.core.moments import DAY_SECONDS
from outkey.foundation.core.stored_times import is_recent
from outkey.foundation.core.text import NO_TEXT, Text

BACKUP_DAYS = 2
LEAST_FREE_BYTES = 1024**3
LEAST_FREE_SHARE = 0.05
LEAST_DESCRIPTORS = 1024
CLOCK_SECONDS = 5.0  # how far clocks of two machines may differ
MOST_PROXIES = 65_536  # addresses that are believed
READY = "ok"  # as `readyz` reports a part


@dataclass(frozen=True, slots=True, kw_only=True)
class ProductionFacts:
    """The facts about an installation and its machine; None: unknown."""

    now: float
    # The parts of `readyz`: `ok`, or why they are not ready.
    parts: Mapping[str, str] = field(default_factory=dict)
    # The ids of what the doctor has found, and how many of it are errors.
    findings: Collection[str] | None = None
    errors: int | None = None
    public_url: str | None = None
    proxies: str | None = None  # addresses and networks, by spaces or commas
    listening: Collection[str] | None = None  # addresses of servers on this machine
    has_key_file: bool = True  # or else the key is in the environment
    database_host: str | None = None  # empty for a file or a socket
    database_encrypted: bool | None = None
    administrators: int | None = None  # that can sign in
    is_demo: bool | None = None
    notices: bool | None = None  # are sent to a user, and not only logged
    debugging: Collection[str] | None = None  # settings that are for developers
    is_superuser: bool | None = None  # of the operating system
    backed_up_at: float | None = None
    is_backed_up_here: bool = False  # this host has a command for backups
    free_bytes: int | None = None  # of the disk
    free_share: float | None = None
    descriptors: int | None = None
    clock_offset: float | None = None  # the database's clock less this machine's
    newest_record_at: float | None = None


Verdict = bool | None
Rule = Callable[[ProductionFacts], Verdict]


@dataclass(frozen=True, slots=True)
class ProductionCheck(Check):
    """One thing that must be right, and what to do where it is not or is not seen."""

    # A production site has all of them right.
    level: Level = field(default=Level.ERROR, kw_only=True)
    rule: Rule


@dataclass(frozen=True, slots=True)
class CheckedLine:
    """A line with its verdict; None: it cannot be seen from here."""

    code: str
    passed: Verdict
    text: Text
    hint: Text  # empty if the line is passed


def checked(facts: ProductionFacts) -> list[CheckedLine]:
    """Return the check list with the verdict on each line."""
    return [_checked_line(check, facts) for check in CHECKLIST]


def _checked_line(check: ProductionCheck, facts: ProductionFacts) -> CheckedLine:
    """Return one line with its verdict."""
    passed = check.rule(facts)
    text, hint = check.texts()
    return CheckedLine(check.id, passed, text, NO_TEXT if passed else hint)


def part(name: str) -> Rule:
    """Return the rule that a part of `readyz` is ready."""

    def rule(facts: ProductionFacts) -> Verdict:
        result = facts.parts.get(name)
        return None if result is None else result == READY

    return rule


def without(finding: str, *unless: str) -> Rule:
    """Return the rule that the doctor has not found this.

    It cannot be seen where one of the findings in `unless` prevents the examination.
    """

    def rule(facts: ProductionFacts) -> Verdict:
        if facts.findings is None or not set(unless).isdisjoint(facts.findings):
            return None
        return finding not in facts.findings

    return rule


def _never_seen(_facts: ProductionFacts) -> Verdict:
    """Return the verdict on what only the operator can know."""
    return None


def _has_https_url(facts: ProductionFacts) -> Verdict:
    """Whether users and senders of webhooks reach the server by TLS."""
    if facts.public_url is None:
        return None
    parts = urlsplit(facts.public_url)
    return parts.scheme == "https" and bool(parts.hostname)


def _names_proxies(facts: ProductionFacts) -> Verdict:
    """Whether the proxies are listed, and not everybody is believed."""
    if facts.proxies is None:
        return None
    texts = facts.proxies.replace(",", " ").split()
    try:
        networks = [ip_network(text, strict=False) for text in texts]
    except ValueError:
        return False
    sizes = [network.num_addresses for network in networks]
    return bool(sizes) and sum(sizes) <= MOST_PROXIES


def _is_behind_proxy(facts: ProductionFacts) -> Verdict:
    """Whether only this machine reaches the server; a firewall is not seen."""
    if not facts.listening:
        return None
    is_local = all(ip_address(address).is_loopback for address in facts.listening)
    return True if is_local else None


def _has_private_key(facts: ProductionFacts) -> Verdict:
    """Whether only its owner reads the key file; an environment is not seen."""
    rule = without("P-key-readable", "P-database")
    return rule(facts) if facts.has_key_file else None


def _reaches_database_safely(facts: ProductionFacts) -> Verdict:
    """Whether the database is on this machine, or the connection is encrypted."""
    host = facts.database_host
    if host is None:
        return None
    if not host or host.startswith("/") or host == "localhost":
        return True
    try:
        is_local = ip_address(host).is_loopback
    except ValueError:
        is_local = False
    return is_local or facts.database_encrypted


def _has_recent_backup(facts: ProductionFacts) -> Verdict:
    """Whether a backup was made in the last days."""
    if not facts.is_backed_up_here:
        return None
    at = facts.backed_up_at
    return at is not None and is_recent(at, facts.now, BACKUP_DAYS * DAY_SECONDS)


def _has_disk_space(facts: ProductionFacts) -> Verdict:
    """Whether the disk has space for the audit and for a backup."""
    if facts.free_bytes is None or facts.free_share is None:
        return None
    return facts.free_bytes >= LEAST_FREE_BYTES and facts.free_share >= LEAST_FREE_SHARE


def _has_plausible_clock(facts: ProductionFacts) -> Verdict:
    """Whether the clock agrees with the database's, and with what was recorded."""
    if facts.clock_offset is None:
        return None
    newest = facts.newest_record_at or 0.0
    is_behind = newest > facts.now + CLOCK_SECONDS
    return abs(facts.clock_offset) <= CLOCK_SECONDS and not is_behind


def _has_descriptors(facts: ProductionFacts) -> Verdict:
    """Whether the process may open enough files and connections."""
    return None if facts.descriptors is None else facts.descriptors >= LEAST_DESCRIPTORS


def _has_administrator(facts: ProductionFacts) -> Verdict:
    """Whether an administrator can sign in."""
    return None if facts.administrators is None else facts.administrators > 0


def _has_no_errors(facts: ProductionFacts) -> Verdict:
    """Whether the doctor has found no error."""
    return None if facts.errors is None else facts.errors == 0


def _opposite(value: object) -> Verdict:
    """Return whether there is nothing of this; None where that is unknown."""
    return None if value is None else not value


CHECKLIST: tuple[ProductionCheck, ...] = (
    ProductionCheck(
        "public-url",
        "OUTKEY_PUBLIC_URL is the https URL that users and senders of webhooks use",
        "Set it to https://NAME: without it, cookies are also sent without TLS.",
        _has_https_url,
    ),
    ProductionCheck(
        "proxies",
        "OUTKEY_PROXIES lists the reverse proxies and nobody else",
        "Set it to the IP addresses of the proxies: the forwarding headers that they"
        " send are believed.",
        _names_proxies,
    ),
    ProductionCheck(
        "server-address",
        "only the reverse proxy reaches the port of outkey serve",
        "Let it listen on 127.0.0.1, or check that a firewall blocks the port for"
        " everybody else.",
        _is_behind_proxy,
    ),
    ProductionCheck(
        "user",
        "outkey runs as a user of its own, not as root",
        "Run the server, the workers and this command as the user outkey: files that"
        " root creates cannot be read by it.",
        lambda facts: _opposite(facts.is_superuser),
    ),
    ProductionCheck(
        "files",
        "no other user can read the files of the installation",
        "Set the permissions of the folders to 700 and of the files to 600.",
        without("P-files-readable"),
    ),
    ProductionCheck(
        "key",
        "the key opens the stored secrets",
        "Restore the key file, or set OUTKEY_KEY_FILE to its path.",
        part("key"),
    ),
    ProductionCheck(
        "key-file",
        "no other user can read the key",
        "Set the permissions of the key file to 600. If the key is in the environment,"
        " check who can read the file that sets it.",
        _has_private_key,
    ),
    ProductionCheck(
        "key-copy",
        "a copy of the key is stored in another place than the backups",
        "Check it yourself: without the key, the secrets in a backup cannot be opened,"
        " and with it, everybody who finds the backup can open them.",
        _never_seen,
    ),
    ProductionCheck(
        "database",
        "the database responds and can be written",
        "Check OUTKEY_DATABASE_URL and OUTKEY_HOME, and whether the database is"
        " running.",
        part("database"),
    ),
    ProductionCheck(
        "database-tls",
        "the database is on this machine, or the connection to it is encrypted",
        "Add ?sslmode=verify-full&sslrootcert=FILE to OUTKEY_DATABASE_URL.",
        _reaches_database_safely,
    ),
    ProductionCheck(
        "workers",
        "a worker runs, if there are sync lines or webhooks",
        "Start outkey serve, or on PostgreSQL outkey worker.",
        part("workers"),
    ),
    ProductionCheck(
        "scripts",
        "the kernel of this machine can lock scripts in",
        "Use Linux 5.13 or newer with Landlock and seccomp, on x86_64 or aarch64.",
        part("scripts"),
    ),
    ProductionCheck(
        "audit",
        "the audit can be written",
        "Check the disk and the permissions of the folder config: without a record"
        " nothing is sent.",
        part("audit"),
    ),
    ProductionCheck(
        "audit-chain",
        "the audit is intact",
        "Find out what was changed: outkey audit verify. Without the key it cannot be"
        " verified.",
        without("P-audit-broken", "P-database", "P-sealed"),
    ),
    ProductionCheck(
        "audit-checkpoints",
        "the checkpoints of the audit are copied to another machine",
        "Check it yourself: who can change this machine can cut the audit and its"
        " checkpoints, but not a copy elsewhere.",
        _never_seen,
    ),
    ProductionCheck(
        "backup",
        "a backup was made within the last two days",
        "Run outkey backup once a day. If another program copies the database, check"
        " that one.",
        _has_recent_backup,
    ),
    ProductionCheck(
        "restore",
        "a backup was restored on another machine, as a trial",
        "Try it before you need it: outkey restore FILE.",
        _never_seen,
    ),
    ProductionCheck(
        "notices",
        "notices are sent to a user, not only logged",
        "Set OUTKEY_NOTICE_EMAIL or OUTKEY_NOTICE_WEBHOOK.",
        lambda facts: facts.notices,
    ),
    ProductionCheck(
        "administrator",
        "an administrator can sign in",
        "Create one: outkey user add NAME --role Administrator.",
        _has_administrator,
    ),
    ProductionCheck(
        "demo",
        "the samples of the demo are not in this home",
        "Use a home that was never served with --demo, and unset OUTKEY_DEMO.",
        lambda facts: _opposite(facts.is_demo),
    ),
    ProductionCheck(
        "debugging",
        "no setting for developers is on",
        "Set OUTKEY_LOG_LEVEL to INFO or WARNING; unset PYTHONDEVMODE, and DEBUG in the"
        " settings of a project.",
        lambda facts: _opposite(facts.debugging),
    ),
    ProductionCheck(
        "tls-library",
        "the TLS library of this Python supports TLS 1.3",
        "Use a Python with OpenSSL 3 or newer.",
        without("P-tls-library"),
    ),
    ProductionCheck(
        "disk",
        "the disk of the home has at least 1 GiB and 5 % free",
        "Free some space, or move OUTKEY_HOME: a full disk stops the audit, and with it"
        " every request.",
        _has_disk_space,
    ),
    ProductionCheck(
        "clock",
        "the clock of this machine is right",
        "Synchronize the clocks of all machines by NTP: signatures and tokens depend on"
        " them.",
        _has_plausible_clock,
    ),
    ProductionCheck(
        "descriptors",
        "a process may open at least 1024 files and connections",
        "Set LimitNOFILE in the unit, or ulimit -n in the shell.",
        _has_descriptors,
    ),
    ProductionCheck(
        "findings",
        "outkey doctor finds no error",
        "See the findings and what to do about them: outkey doctor.",
        _has_no_errors,
    ),
)
