"""The doctor: gathers what is known of an installation and puts it to the posture's checks.

It writes nothing and sends nothing. Secrets are opened to be compared, by fingerprints under a
key of this one look, which is kept nowhere.
"""

import heapq
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from secrets import token_bytes

from outkey.core.audit.chain import AuditKeys, ChainRow
from outkey.core.audit.events import Tag
from outkey.core.config.configuration import Configuration
from outkey.core.errors import OutkeyError
from outkey.core.findings.checks import Finding
from outkey.core.findings.posture import (
    ConfigurationFacts,
    InstallationFacts,
    posture_of,
    premises_of,
    subject_of,
)
from outkey.core.oauth2.jwt import expiry_of
from outkey.core.request.headers import tidy_token
from outkey.core.request.script import ScriptCall
from outkey.core.secret import Secret
from outkey.engine.managing.changes import verify_audit
from outkey.engine.managing.registry import Registry
from outkey.ports.sending import Scripts, Secrets
from outkey.ports.storage import AuditRows, Checkpoints

INSTALLATION = ""  # the name that findings about the installation have
_SETTLED_MS = 600_000  # a process at work signs for its records every minute
_TEST_MS = 60_000
_ROW = 3
_NAMED = 3
_NOTHING = "def compute_auth_header(sync_line):\n    return {}\n"
_PROBE = ScriptCall("doctor", _NOTHING, None, "", "", "", "", "GET", "", "/", "")
_TESTED = f'"{Tag.CONFIGURATION_TESTED}"'.encode()
Passing = Callable[[Iterable[ChainRow]], Iterable[ChainRow]]


class History:
    """What the audit says of every configuration, from one look at all records."""

    def __init__(self, signed: dict[str, int], now: float) -> None:
        self.oldest: float | None = None
        self.tail = 0
        self._signed, self._settled = signed, now * 1000 - _SETTLED_MS
        self._first: dict[str, int] = {}
        self._used: dict[str, int] = {}
        self._worked: dict[str, int] = {}
        self._failures: defaultdict[str, list[int]] = defaultdict(list)
        self._stream, self._tested = "", dict[str, int]()

    def passing(self, rows: Iterable[ChainRow]) -> Iterator[ChainRow]:
        """Look at the rows on their way."""
        for row in rows:
            if row.stream != self._stream:
                self._stream, self._tested = row.stream, {}
            self._see(row, row.label.at, row.label.configuration, row.label.outcome)
            yield row

    def used_at(self, name: str) -> float | None:
        """Return the last use; without one, since when it is known that there was none."""
        at = self._used.get(name, self._first.get(name))
        return self.oldest if at is None else at / 1000

    def failed(self, name: str) -> bool:
        """Tell whether the newest attempts failed, one after the other."""
        newest = self._failures.get(name, [])
        return len(newest) == _ROW and newest[0] > self._worked.get(name, 0)

    def _see(self, row: ChainRow, at: int, name: str, outcome: str) -> None:
        self.oldest = min(self.oldest or at / 1000, at / 1000)
        self.tail += row.number > self._signed.get(row.stream, 0) and at < self._settled
        self._first[name] = min(self._first.get(name, at), at)
        if not outcome:
            if _TESTED in row.body:
                self._tested[name] = at
            return
        if at - self._tested.get(name, -_TEST_MS) >= _TEST_MS:  # a test is no use
            self._used[name] = max(self._used.get(name, 0), at)
        if outcome == "ok":
            self._worked[name] = max(self._worked.get(name, 0), at)
        else:
            newest = self._failures[name]
            (heapq.heappush if len(newest) < _ROW else heapq.heappushpop)(newest, at)


@dataclass(frozen=True, slots=True)
class Doctor:
    """What the doctor looks at."""

    registry: Registry
    secrets: Secrets
    scripts: Scripts
    rows: AuditRows
    checkpoints: Checkpoints
    keys: AuditKeys

    def examine(
        self,
        configurations: Sequence[Configuration],
        premises: InstallationFacts,
        passing: Passing = iter,
        advance: Callable[[int], None] = lambda _: None,
    ) -> list[tuple[str, Finding]]:
        """Return all findings with the names of their configurations, the installation first.

        `passing` sees the audit on its way, `advance` hears of every configuration.
        """
        history, premises = self._history(premises, passing)
        if any(made.is_scripted for made in configurations):
            premises = replace(premises, scripts_locked=self._scripts_locked())
        found = [(INSTALLATION, finding) for finding in premises_of(premises)]
        opened = _Opened()
        if not premises.sealed:
            for configuration in configurations:
                opened.look(configuration, self.secrets)
                advance(1)
        standings = {
            listed.name: listed.standing for listed in self.registry.summaries()
        }
        for configuration in configurations:
            name = configuration.name
            subject = replace(
                opened.subject(configuration),
                now=premises.now,
                policy=premises.policy,
                standing=standings.get(name),
                used_at=history.used_at(name),
                failed=history.failed(name),
            )
            found += [(name, finding) for finding in posture_of(subject)]
        return found

    def _scripts_locked(self) -> bool:
        try:
            self.scripts.run(_PROBE)
        except OutkeyError:
            return False
        return True

    def _history(
        self, premises: InstallationFacts, passing: Passing
    ) -> tuple[History, InstallationFacts]:
        """Go through the audit once; without a key it is read and not verified."""
        signed: dict[str, int] = {}
        for mark in self.checkpoints.read():
            signed[mark.stream] = max(signed.get(mark.stream, 0), mark.number)
        history = History(signed, premises.now)
        first_bad = None
        if premises.sealed:
            deque(history.passing(passing(self.rows.read())), maxlen=0)
        else:
            verdict = verify_audit(
                self.rows,
                self.checkpoints,
                self.keys,
                lambda rows: history.passing(passing(rows)),
            )
            first_bad = verdict.first_bad
        facts = {"first_bad": first_bad, "tail": history.tail, "oldest": history.oldest}
        return history, replace(premises, **facts)  # type: ignore[arg-type]


class _Opened:
    """What the secrets say without being shown: which are the same, and which tokens end."""

    def __init__(self) -> None:
        self._key = token_bytes(32)
        self._owners: defaultdict[bytes, list[str]] = defaultdict(list)
        self._prints: dict[tuple[str, str], bytes] = {}
        self._ends: dict[
            str, date | None
        ] = {}  # of entered tokens that say so themselves

    def look(self, configuration: Configuration, secrets: Secrets) -> None:
        """Open the secrets of a configuration; what does not open is another check's business."""
        for field in configuration.secrets:
            with suppress(OutkeyError):
                self._note(configuration, field, secrets.open(configuration, field))

    def subject(self, configuration: Configuration) -> ConfigurationFacts:
        """Return a configuration with what was found in its secrets."""
        name, shared = configuration.name, {}
        for field in configuration.secrets:
            owners = dict.fromkeys(
                self._owners.get(self._prints.get((name, field), b""), ())
            )
            others = [owner for owner in owners if owner != name]
            if others:
                more = (
                    f" and {len(others) - _NAMED} more" if len(others) > _NAMED else ""
                )
                shared[field] = ", ".join(others[:_NAMED]) + more
        ends = self._ends.get(name)
        endless = name in self._ends and ends is None
        return replace(
            subject_of(configuration), shared=shared, endless=endless, token_ends=ends
        )

    def _note(self, configuration: Configuration, field: str, secret: Secret) -> None:
        if not secret:
            return  # an empty password is nobody's
        found = secret.derive(tidy_token).fingerprint(self._key)
        self._owners[found].append(configuration.name)
        self._prints[configuration.name, field] = found
        entered = (
            field == "token"
            and configuration.sends_token
            and not configuration.uses_oauth2
        )
        if entered and configuration.token_expires_on is None:
            end = expiry_of(secret)
            day = None if end is None else datetime.fromtimestamp(end, UTC).date()
            self._ends[configuration.name] = day
