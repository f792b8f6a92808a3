"""The doctor: gathers the facts of an installation and checks its posture.

It writes nothing and sends nothing. Secrets are opened to be compared, by fingerprints
under a key that exists during one examination only.
"""

import heapq
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date
from secrets import token_bytes

from outkey.administration.core.findings.posture import (
    ConfigurationFacts,
    InstallationFacts,
    configuration_posture,
    facts_from_settings,
    installation_posture,
)
from outkey.administration.engine.watching.audit_trail import AuditTrail, RowsWrapper
from outkey.administration.ports.installation import Presets, VouchedRows
from outkey.foundation.core.endings import Ending
from outkey.foundation.core.errors import OutkeyError
from outkey.foundation.core.findings.checks import Finding
from outkey.foundation.core.moments import day_of
from outkey.foundation.core.secret import Secret
from outkey.foundation.core.text import Text
from outkey.sending.core.audit.chain import ChainRow
from outkey.sending.core.audit.events import CHALLENGED, Tag
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.oauth2.jwt import expiry_of
from outkey.sending.core.request.headers import tidy_token
from outkey.sending.core.request.script import ScriptCall
from outkey.sending.ports.sending import Scripts, Secrets
from outkey.sync.engine.line_registry import Registry

NO_CONFIGURATION = ""  # the name that findings about the installation have
SETTLED_MS = 600_000  # a running process signs its records every minute
TEST_MS = 60_000
FAILURES_IN_A_ROW = 3
MOST_NAMES = 3
MOST_ROWS = 20
EMPTY_SCRIPT = "def compute_auth_header(sync_line):\n    return {}\n"
# A stopped clock means a process of its own: one that was locked in earlier would go on
# to work where the kernel refuses to lock in another.
PROBE = ScriptCall("doctor", EMPTY_SCRIPT, method="GET", path="/", at=0.0)
TESTED_TAG = f'"{Tag.CONFIGURATION_TESTED}"'.encode()


class History:
    """The audit's facts about every configuration, from one pass over all records."""

    def __init__(self, signed: dict[str, int], now: float) -> None:
        self.oldest: float | None = None
        self.tail = 0
        self._signed = signed
        self._settled_ms = now * 1000 - SETTLED_MS
        self._first_ms: dict[str, int] = {}
        self._used_ms: dict[str, int] = {}
        self._worked_ms: dict[str, int] = {}
        self._failures_ms: defaultdict[str, list[int]] = defaultdict(list)
        self._stream = ""
        self._tested_ms: dict[str, int] = {}  # in this stream

    def passing(self, rows: Iterable[ChainRow]) -> Iterator[ChainRow]:
        """Yield the rows again, and take each into account."""
        for row in rows:
            if row.stream != self._stream:
                self._stream = row.stream
                self._tested_ms = {}
            self._add(row)
            yield row

    def used_at(self, name: str) -> float | None:
        """Return the last use; without one, since when the audit shows none."""
        used_ms = self._used_ms.get(name, self._first_ms.get(name))
        return self.oldest if used_ms is None else used_ms / 1000

    def has_failed(self, name: str) -> bool:
        """Whether the newest attempts failed, one after the other."""
        failures = self._failures_ms.get(name, [])
        is_full = len(failures) == FAILURES_IN_A_ROW
        return is_full and failures[0] > self._worked_ms.get(name, 0)

    def _add(self, row: ChainRow) -> None:
        at = row.label.at
        name = row.label.configuration
        self.oldest = min(self.oldest or at / 1000, at / 1000)
        is_unsigned = row.number > self._signed.get(row.stream, 0)
        if is_unsigned and at < self._settled_ms:
            self.tail += 1
        self._first_ms[name] = min(self._first_ms.get(name, at), at)
        if not row.label.outcome:
            if TESTED_TAG in row.body:
                self._tested_ms[name] = at
            return
        is_test = at - self._tested_ms.get(name, -TEST_MS) < TEST_MS
        if not is_test:
            self._used_ms[name] = max(self._used_ms.get(name, 0), at)
        if row.label.outcome == "ok":
            self._worked_ms[name] = max(self._worked_ms.get(name, 0), at)
        elif row.label.outcome != CHALLENGED:
            self._add_failure(self._failures_ms[name], at)

    @staticmethod
    def _add_failure(failures: list[int], at: int) -> None:
        """Remember the newest failures, the oldest of them first."""
        if len(failures) < FAILURES_IN_A_ROW:
            heapq.heappush(failures, at)
        else:
            heapq.heappushpop(failures, at)


@dataclass(frozen=True, slots=True)
class Doctor:
    """Examines an installation and its configurations."""

    registry: Registry
    secrets: Secrets
    scripts: Scripts
    audit: AuditTrail
    presets: Presets
    vouched_rows: VouchedRows

    def examine(
        self,
        configurations: Sequence[Configuration],
        premises: InstallationFacts,
        passing: RowsWrapper = iter,
        advance: Callable[[int], None] = lambda _: None,
    ) -> list[tuple[str, Finding]]:
        """Return all findings with the names of their configurations.

        Those of the installation come first. `passing` wraps the rows of the audit, and
        `advance` is called for each configuration.
        """
        history, facts = self._read_audit(premises, passing)
        if not facts.sealed:
            labels = [row.label for row in self.vouched_rows.changed()]
            facts = replace(facts, changed_rows=first_names(labels, MOST_ROWS))
        if any(configuration.is_scripted for configuration in configurations):
            facts = replace(facts, scripts_locked=self._can_lock_scripts())
        findings = [
            (NO_CONFIGURATION, finding) for finding in installation_posture(facts)
        ]
        secrets = SecretComparison()
        if not facts.sealed:
            for configuration in configurations:
                secrets.add(configuration, self.secrets)
                advance(1)
        health_by_name = {
            summary.name: summary.health for summary in self.registry.summaries()
        }
        for configuration in configurations:
            name = configuration.name
            configuration_facts = replace(
                secrets.facts_about(configuration),
                now=facts.now,
                policy=facts.policy,
                health=health_by_name.get(name),
                used_at=history.used_at(name),
                failed=history.has_failed(name),
                preset_corrected=self._preset_corrected(configuration),
                preset_ending=self._preset_ending(configuration),
            )
            posture = configuration_posture(configuration_facts)
            findings += [(name, finding) for finding in posture]
        return findings

    def _preset_corrected(self, configuration: Configuration) -> date | None:
        """Return when the preset of a configuration was last corrected."""
        if configuration.preset not in self.presets.names():
            return None  # made without one, or by a version that had another
        return self.presets.get(configuration.preset).corrected

    def _preset_ending(self, configuration: Configuration) -> Ending | None:
        """Return what the provider of a configuration's preset stops."""
        if configuration.preset not in self.presets.names():
            return None
        return self.presets.get(configuration.preset).ending_of(configuration)

    def _can_lock_scripts(self) -> bool:
        try:
            self.scripts.run(PROBE)
        except OutkeyError:
            return False
        return True

    def _read_audit(
        self, facts: InstallationFacts, passing: RowsWrapper
    ) -> tuple[History, InstallationFacts]:
        """Read the audit once; without a key it is not verified."""
        signed: dict[str, int] = {}
        for mark in self.audit.checkpoints.read():
            if not mark.is_sighting:
                signed[mark.stream] = max(signed.get(mark.stream, 0), mark.number)
        history = History(signed, facts.now)
        first_bad = None
        if facts.sealed:
            deque(history.passing(passing(self.audit.rows.read())), maxlen=0)
        else:
            verdict = self.audit.verify(lambda rows: history.passing(passing(rows)))
            first_bad = verdict.first_bad
        return history, replace(
            facts, first_bad=first_bad, tail=history.tail, oldest=history.oldest
        )


class SecretComparison:
    """Comparisons of secrets that show none: which are equal, and when tokens end."""

    def __init__(self) -> None:
        self._key = token_bytes(32)
        self._owners: defaultdict[bytes, list[str]] = defaultdict(list)
        self._fingerprints: dict[tuple[str, str], bytes] = {}
        # Of entered tokens without an expiry date, as they claim themselves.
        self._token_ends: dict[str, date | None] = {}

    def add(self, configuration: Configuration, secrets: Secrets) -> None:
        """Open the secrets of a configuration; another check reports what fails.

        Those in external stores are not compared: nothing is sent here.
        """
        for field, state in configuration.secrets.items():
            if state.reference is not None and state.reference.is_external:
                continue
            with suppress(OutkeyError):
                self._add(configuration, field, secrets.open(configuration, field))

    def facts_about(self, configuration: Configuration) -> ConfigurationFacts:
        """Return the facts of a configuration and of its secrets."""
        name = configuration.name
        shared = {}
        for field in configuration.secrets:
            fingerprint = self._fingerprints.get((name, field), b"")
            owners = dict.fromkeys(self._owners.get(fingerprint, ()))
            others = [owner for owner in owners if owner != name]
            if others:
                shared[field] = first_names(others)
        token_ends = self._token_ends.get(name)
        return replace(
            facts_from_settings(configuration),
            shared=shared,
            endless=name in self._token_ends and token_ends is None,
            token_ends=token_ends,
        )

    def _add(self, configuration: Configuration, field: str, secret: Secret) -> None:
        if not secret:
            return  # empty passwords are not shared
        fingerprint = secret.derive(tidy_token).fingerprint(self._key)
        self._owners[fingerprint].append(configuration.name)
        self._fingerprints[configuration.name, field] = fingerprint
        is_token = field == "token" and configuration.sends_entered_token
        if is_token and configuration.token_expires_on is None:
            expiry = expiry_of(secret)
            ends = None if expiry is None else day_of(expiry)
            self._token_ends[configuration.name] = ends


def first_names(names: Sequence[str], most: int = MOST_NAMES) -> str:
    """Return the first of these names, and how many more there are."""
    listed = ", ".join(names[:most])
    more = len(names) - most
    if more <= 0:
        return listed
    return Text("{names} and {count} more", names=listed, count=more)
