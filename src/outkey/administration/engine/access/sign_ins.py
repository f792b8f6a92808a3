"""Failed sign-ins to the pages: they slow an account down, and are counted.

The lock of a sign-in is by name and IP address (of IPv6, its /64 network), so that it
locks a user out at that address only. Users behind one address, such as an office
behind NAT, share the count there. The lock does not stop guesses from many addresses.
So for an account that has failed often, from anywhere, a password is checked once in a
while only, except from addresses that its user has signed in from before: these never
wait. Others get an appointment, one for each network, so that an attacker who tries all
the time does not take every turn. A network that had one within the last hour gets
another one only while less than half of them are taken, so that an attacker with many
networks does not take all for ever.

A process remembers this in memory. Names are remembered as hashes, since a name that
was typed may be a password, and only so many.
"""

import threading
from collections import Counter, OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import sha256

from outkey.foundation.ports.clock import Clock
from outkey.sending.core.audit.events import Change, ChangeEffect, Tag
from outkey.sending.ports.sending import Audit

SLOW_AFTER = 20  # failures
WINDOW_SECONDS = 3600.0
SLOW_SECONDS = 15.0  # between two passwords that are checked
MAX_APPOINTMENTS = 20
# As long as there are fewer, a network gets one that had another within the window. The
# rest is for new networks: those who ask most often would take every one that is free.
FREE_FOR_ALL = MAX_APPOINTMENTS // 2
GRACE_SECONDS = 120.0  # how long an appointment is valid
MAX_ACCOUNTS = 5000
MINUTE = 60
# Failures are recorded one by one as long as there are no more than these in a minute.
RECORDED_PER_MINUTE = 10
MAX_COUNTED = 100  # names in a minute; the others are counted together


@dataclass(slots=True)
class AccountPace:
    """When an account has failed last, and when it may be tried since it is slow."""

    failures: deque[float] = field(default_factory=lambda: deque(maxlen=SLOW_AFTER))
    next_at: float = 0.0  # the first moment that is not given away
    appointments: dict[str, float] = field(default_factory=dict)  # by network
    # The last appointment of each network, also one that was missed. There is one each
    # SLOW_SECONDS, so these are as many as a window has room for.
    latest: dict[str, float] = field(default_factory=dict)

    def is_slow(self, now: float) -> bool:
        """Whether attempts for the account have to wait."""
        is_full = len(self.failures) == SLOW_AFTER
        return is_full and self.failures[0] > now - WINDOW_SECONDS

    def wait_seconds(self, network: str, now: float) -> float:
        """Return how long a network waits for its turn; 0.0 uses the turn up."""
        self._forget_old(now)
        if network not in self.appointments:
            if not self._has_room(network):
                return MAX_APPOINTMENTS * SLOW_SECONDS
            at = max(now, self.next_at)
            self.appointments[network] = at
            self.latest[network] = at
            self.next_at = at + SLOW_SECONDS
        if now < self.appointments[network]:
            return self.appointments[network] - now
        del self.appointments[network]
        return 0.0

    def _forget_old(self, now: float) -> None:
        """Delete appointments that were missed, and those before the window."""
        self.appointments = {
            network: at
            for network, at in self.appointments.items()
            if now <= at + GRACE_SECONDS
        }
        self.latest = {
            network: at
            for network, at in self.latest.items()
            if now <= at + WINDOW_SECONDS
        }

    def _has_room(self, network: str) -> bool:
        """Whether a network can have an appointment now."""
        is_new = network not in self.latest
        most = MAX_APPOINTMENTS if is_new else FREE_FOR_ALL
        return len(self.appointments) < most


class SignInGuard:
    """Slows accounts down whose sign-ins fail, and records failures."""

    def __init__(self, audit: Audit, clock: Clock, actor: str) -> None:
        self._audit = audit
        self._clock = clock
        self._actor = actor  # of an attempt: no user is signed in
        self._lock = threading.Lock()
        self._paces: OrderedDict[str, AccountPace] = OrderedDict()
        self._minute = 0
        self._recorded = 0
        self._counts: Counter[tuple[str, ChangeEffect]] = Counter()

    def wait_seconds(
        self, name: str, network: str, is_known: Callable[[], bool]
    ) -> float:
        """Return how long an attempt has to wait; 0.0 if the password may be checked.

        `is_known`: the user has signed in from the same address before; it
        is called for a slow account only.
        """
        now = self._clock.monotonic()
        pace = self._paces.get(digest_of(name))
        if pace is None or not pace.is_slow(now) or is_known():
            return 0.0
        with self._lock:
            return pace.wait_seconds(network, now)

    def note_failure(self, name: str, *, was_checked: bool, exists: bool) -> None:
        """Take a failed sign-in into account; locked ones are not even checked."""
        if not was_checked:
            self._count(digest_of(name), ChangeEffect.COUNTED_LOCKED)
            return
        if self._slow_down(digest_of(name)) and exists:
            key = f"user {name}"
            self._audit.note(Change(Tag.SESSIONS_SLOWED, self._actor, key=key))
        self._count("", ChangeEffect.COUNTED)

    def note_past_minutes(self) -> None:
        """Record what was counted in minutes that have ended."""
        self._note(self._take(int(self._clock.now() // MINUTE)))

    def note_all(self) -> None:
        """Record what was counted: the process ends."""
        self._note(self._take(0))

    def _slow_down(self, digest: str) -> bool:
        """Add a failure of an account; return whether it has become slow by it."""
        now = self._clock.monotonic()
        with self._lock:
            pace = self._paces.setdefault(digest, AccountPace())
            self._paces.move_to_end(digest)
            was_slow = pace.is_slow(now)
            pace.failures.append(now)
            if len(self._paces) > MAX_ACCOUNTS:
                self._drop_one(now)
            return pace.is_slow(now) and not was_slow

    def _drop_one(self, now: float) -> None:
        """Remove the account that has failed longest ago, a slow one last."""
        *others, _newest = self._paces
        fast = (name for name in others if not self._paces[name].is_slow(now))
        del self._paces[next(fast, others[0])]

    def _count(self, digest: str, effect: ChangeEffect) -> None:
        """Count a failure of this minute, or record it while there are few."""
        past = self._take(int(self._clock.now() // MINUTE))
        with self._lock:
            is_few = self._recorded < RECORDED_PER_MINUTE
            is_recorded = effect is ChangeEffect.COUNTED and is_few
            if is_recorded:
                self._recorded += 1
            else:
                is_new = (digest, effect) not in self._counts
                is_full = len(self._counts) >= MAX_COUNTED
                self._counts["" if is_new and is_full else digest, effect] += 1
        self._note(past)
        if is_recorded:
            self._audit.note(Change(Tag.SESSION_REFUSED, self._actor))

    def _take(self, minute: int) -> list[tuple[ChangeEffect, int]]:
        """Return the counts of an earlier minute, and start a new one."""
        with self._lock:
            if minute == self._minute:
                return []
            self._minute = minute
            self._recorded = 0
            counts = [(effect, count) for (_, effect), count in self._counts.items()]
            self._counts.clear()
            return counts

    def _note(self, counts: list[tuple[ChangeEffect, int]]) -> None:
        changes = [
            Change(
                Tag.SESSION_REFUSED, self._actor, fields=(str(count),), effect=effect
            )
            for effect, count in counts
        ]
        if changes:
            self._audit.note(*changes)


def digest_of(name: str) -> str:
    """Return the digest that a name is stored as."""
    return sha256(name.encode("utf-8", "surrogatepass")).hexdigest()
