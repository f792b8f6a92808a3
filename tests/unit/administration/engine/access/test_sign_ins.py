"""Failed sign-ins: accounts that fail often are slowed down, and floods are counted."""

import pytest

from outkey.administration.engine.access import sign_ins
from outkey.administration.engine.access.sign_ins import (
    GRACE_SECONDS,
    MAX_APPOINTMENTS,
    MAX_COUNTED,
    RECORDED_PER_MINUTE,
    SLOW_AFTER,
    SLOW_SECONDS,
    WINDOW_SECONDS,
    SignInGuard,
    digest_of,
)
from outkey.sending.core.audit.events import Change, ChangeEffect, Tag
from outkey.testing.fakes.basic import FakeClock, MemoryAudit

ACTOR = "web:"
REFUSED = Change(Tag.SESSION_REFUSED, ACTOR)


class Guarded:
    """A guard with a clock and an audit of its own."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.audit = MemoryAudit()
        self.guard = SignInGuard(self.audit, self.clock, ACTOR)

    def fail(self, name: str, times: int = 1, *, exists: bool = True) -> None:
        for _ in range(times):
            self.guard.note_failure(name, was_checked=True, exists=exists)

    def wait(self, name: str, network: str = "n", *, is_known: bool = False) -> float:
        return self.guard.wait_seconds(name, network, lambda: is_known)

    def taken(self) -> list[object]:
        events = list(self.audit.events)
        self.audit.events.clear()
        return events


def counted(effect: ChangeEffect, count: int) -> Change:
    return Change(Tag.SESSION_REFUSED, ACTOR, fields=(str(count),), effect=effect)


def test_an_account_that_fails_often_is_tried_once_in_a_while() -> None:
    guarded = Guarded()
    guarded.fail("ada", SLOW_AFTER - 1)
    assert guarded.wait("ada") == 0
    guarded.fail("ada")
    assert guarded.wait("ada") == 0  # the first one after it
    guarded.clock.advance(5)
    for _ in range(3):  # asking again costs nothing and gains nothing
        assert guarded.wait("ada") == pytest.approx(SLOW_SECONDS - 5)
    assert guarded.wait("bob") == 0
    guarded.clock.advance(SLOW_SECONDS - 5)
    assert guarded.wait("ada") == 0
    assert guarded.wait("ada") == pytest.approx(SLOW_SECONDS)


def test_every_network_gets_its_turn_however_often_another_one_tries() -> None:
    guarded = Guarded()
    guarded.fail("ada", SLOW_AFTER)
    checked = 0
    assert guarded.wait("ada", "attacker") == 0
    assert guarded.wait("ada", "attacker") == pytest.approx(SLOW_SECONDS)
    assert guarded.wait("ada", "user") == pytest.approx(2 * SLOW_SECONDS)
    for _ in range(int(2 * SLOW_SECONDS)):
        guarded.clock.advance(1)
        checked += guarded.wait("ada", "attacker") == 0
    assert guarded.wait("ada", "user") == 0
    assert checked == 1


def test_an_appointment_that_is_missed_is_given_to_another() -> None:
    guarded = Guarded()
    guarded.fail("ada", SLOW_AFTER)
    for number in range(MAX_APPOINTMENTS + 1):
        guarded.wait("ada", f"n{number}")  # the first one is used up at once
    assert guarded.wait("ada", "more") == MAX_APPOINTMENTS * SLOW_SECONDS
    guarded.clock.advance(MAX_APPOINTMENTS * SLOW_SECONDS)
    assert guarded.wait("ada", "more") == pytest.approx(SLOW_SECONDS)
    guarded.clock.advance(GRACE_SECONDS + SLOW_SECONDS + 1)
    assert guarded.wait("ada", "more") == 0


@pytest.mark.parametrize("misses_turns", [False, True])
def test_many_networks_that_ask_all_the_time_leave_turns_for_new_ones(
    *, misses_turns: bool
) -> None:
    """A new one waits until each of the others had a turn, and for those before it."""
    guarded = Guarded()
    guarded.fail("ada", SLOW_AFTER)
    attackers = [f"n{number}" for number in range(48)]

    def let_attackers_ask() -> None:
        for network in attackers:
            pace = guarded.guard._paces[digest_of("ada")]
            turn = pace.appointments.get(network, float("inf"))
            if not misses_turns or guarded.clock.monotonic() < turn:
                guarded.wait("ada", network)

    def seconds_until_turn(user: str) -> float:
        began = guarded.clock.monotonic()
        while True:
            let_attackers_ask()
            seconds = guarded.wait("ada", user)
            if not seconds:
                return guarded.clock.monotonic() - began
            assert guarded.clock.monotonic() < began + WINDOW_SECONDS
            guarded.clock.advance(SLOW_SECONDS / 2)

    longest = MAX_APPOINTMENTS * SLOW_SECONDS
    bound = len(attackers) * SLOW_SECONDS + GRACE_SECONDS + longest
    assert seconds_until_turn("user") <= bound
    # By now the others had theirs.
    assert guarded.wait("ada", "new") < longest
    assert seconds_until_turn("new") < longest
    remembered = guarded.guard._paces[digest_of("ada")].latest
    assert len(remembered) == len(attackers) + 2


def test_networks_are_remembered_for_the_window_only() -> None:
    guarded = Guarded()
    guarded.fail("ada", SLOW_AFTER)
    for number in range(1000):
        guarded.fail("ada")
        guarded.wait("ada", f"n{number}")
        guarded.clock.advance(SLOW_SECONDS)
    remembered = guarded.guard._paces[digest_of("ada")].latest
    assert len(remembered) == pytest.approx(WINDOW_SECONDS / SLOW_SECONDS, abs=1)


def test_the_user_never_waits_where_they_have_signed_in_before() -> None:
    guarded = Guarded()
    guarded.fail("ada", SLOW_AFTER)
    for _ in range(3):
        assert guarded.wait("ada", is_known=True) == 0
    guarded.wait("ada")
    assert guarded.wait("ada") > 0
    assert guarded.wait("ada", is_known=True) == 0


def test_where_a_user_has_signed_in_is_looked_up_for_slow_accounts_only() -> None:
    guarded = Guarded()
    guarded.fail("ada", SLOW_AFTER - 1)

    def look_up() -> bool:
        pytest.fail("it is looked up")

    assert guarded.guard.wait_seconds("ada", "n", look_up) == 0
    assert guarded.guard.wait_seconds("unknown", "n", look_up) == 0


def test_an_account_is_fast_again_when_its_failures_are_old() -> None:
    guarded = Guarded()
    guarded.fail("ada", SLOW_AFTER)
    guarded.wait("ada")
    guarded.clock.advance(WINDOW_SECONDS)
    assert guarded.wait("ada") == guarded.wait("ada") == 0


def test_attempts_that_were_not_checked_slow_no_account_down() -> None:
    guarded = Guarded()
    for _ in range(2 * SLOW_AFTER):
        guarded.guard.note_failure("ada", was_checked=False, exists=True)
    guarded.wait("ada")
    assert guarded.wait("ada") == 0


def test_the_administrators_learn_it_once_and_of_users_who_exist() -> None:
    guarded = Guarded()
    guarded.fail("ada", SLOW_AFTER + 5)
    guarded.fail("a password", SLOW_AFTER + 5, exists=False)
    slowed = [event for event in guarded.taken() if event.tag == Tag.SESSIONS_SLOWED]  # type: ignore[attr-defined]
    assert slowed == [Change(Tag.SESSIONS_SLOWED, ACTOR, key="user ada")]
    assert guarded.wait("a password") == 0
    assert guarded.wait("a password") > 0  # as for a user: it tells nothing
    guarded.clock.advance(WINDOW_SECONDS)
    guarded.fail("ada", SLOW_AFTER)
    assert slowed[0] in guarded.taken()


def test_few_failures_are_recorded_one_by_one_and_a_flood_is_counted() -> None:
    guarded = Guarded()
    for number in range(RECORDED_PER_MINUTE + 25):
        guarded.fail(f"name {number}")
    assert guarded.taken() == [REFUSED] * RECORDED_PER_MINUTE
    guarded.guard.note_past_minutes()
    assert guarded.taken() == []  # the minute goes on
    guarded.clock.advance(60)
    guarded.guard.note_past_minutes()
    assert guarded.taken() == [counted(ChangeEffect.COUNTED, 25)]
    guarded.fail("ada")
    assert guarded.taken() == [REFUSED]
    guarded.clock.advance(60)
    guarded.guard.note_past_minutes()
    assert guarded.taken() == []


def test_attempts_while_locked_are_one_record_a_name_and_minute() -> None:
    guarded = Guarded()
    for name, times in (("ada", 21), ("bob", 2)):
        for _ in range(times):
            guarded.guard.note_failure(name, was_checked=False, exists=True)
    assert guarded.taken() == []
    guarded.clock.advance(60)
    guarded.fail("carl")  # the next one records the minute before as well
    assert guarded.taken() == [
        counted(ChangeEffect.COUNTED_LOCKED, 21),
        counted(ChangeEffect.COUNTED_LOCKED, 2),
        REFUSED,
    ]


def test_more_names_than_are_counted_apart_are_counted_together() -> None:
    guarded = Guarded()
    for number in range(MAX_COUNTED + 30):
        guarded.guard.note_failure(f"n{number}", was_checked=False, exists=False)
    guarded.guard.note_all()
    events = guarded.taken()
    assert len(events) == MAX_COUNTED + 1
    assert events[-1] == counted(ChangeEffect.COUNTED_LOCKED, 30)


def test_what_was_counted_is_recorded_when_the_process_ends() -> None:
    guarded = Guarded()
    guarded.guard.note_failure("ada", was_checked=False, exists=True)
    guarded.guard.note_all()
    assert guarded.taken() == [counted(ChangeEffect.COUNTED_LOCKED, 1)]
    guarded.guard.note_all()
    assert guarded.taken() == []


def test_memory_is_limited_and_slow_accounts_are_forgotten_last(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sign_ins, "MAX_ACCOUNTS", 3)
    guarded = Guarded()
    guarded.fail("ada", SLOW_AFTER)
    for number in range(10):
        guarded.fail(f"n{number}")
    assert len(guarded.guard._paces) == 3
    guarded.wait("ada")
    assert guarded.wait("ada") > 0
    for name in ("b", "c", "d"):
        guarded.fail(name, SLOW_AFTER)
    assert len(guarded.guard._paces) == 3
    assert guarded.wait("ada") == 0
