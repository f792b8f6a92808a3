"""What one word a list shows for a configuration."""

from dataclasses import replace
from datetime import date

import pytest

from outkey.sending.core.configuration.health import (
    Health,
    Status,
    needs_secret,
    stores_secret,
)
from outkey.sending.core.configuration.reference import parse_reference
from outkey.sending.core.configuration.secret_state import SecretState
from outkey.testing import configuration

NOW = 1_800_000_000.0  # 2027-01-15
ORIGIN = "https://api.acme.example:443"
STORED = {"token": SecretState(ORIGIN)}
REFERENCE = {"token": SecretState(ORIGIN, parse_reference("env:X", field="token"))}
WORKS = Health(NOW, NOW, "", current=True)
FAILS = Health(NOW, NOW, "timeout", current=True)


@pytest.mark.parametrize(
    ("secrets", "expires", "health", "sealed", "status"),
    [
        (STORED, None, WORKS, False, Status.WORKING),
        (STORED, None, FAILS, False, Status.FAILING),
        (STORED, None, replace(FAILS, current=False), False, Status.NEVER_TESTED),
        (STORED, None, Health(), False, Status.NEVER_TESTED),
        (STORED, None, Health().after_success(NOW), False, Status.WORKING),
        (STORED, None, FAILS.after_success(NOW), False, Status.FAILING),
        (STORED, None, WORKS, True, Status.SEALED),
        (REFERENCE, None, WORKS, True, Status.WORKING),
        ({}, None, WORKS, True, Status.NEEDS_SECRET),
        (
            {"token": SecretState("https://b:443")},
            None,
            WORKS,
            False,
            Status.NEEDS_SECRET,
        ),
        (STORED, date(2027, 1, 14), WORKS, False, Status.EXPIRED),
        (STORED, date(2027, 1, 15), WORKS, False, Status.EXPIRING_SOON),
        (STORED, date(2027, 2, 14), WORKS, False, Status.EXPIRING_SOON),
        (STORED, date(2027, 2, 14), FAILS, False, Status.FAILING),
        (STORED, date(2027, 2, 15), WORKS, False, Status.WORKING),
    ],
)
def test_the_status_is_what_needs_attention_first(
    secrets: dict[str, SecretState],
    expires: date | None,
    health: Health,
    status: Status,
    *,
    sealed: bool,
) -> None:
    made = replace(configuration(authentication_type="bearer"), secrets=secrets)
    known = replace(
        health,
        expires_on=expires,
        needs_secret=needs_secret(made),
        stores_secret=stores_secret(made),
    )
    assert known.status(now=NOW, sealed=sealed) is status


def test_what_needs_a_person_is_said_from_the_token_or_from_the_last_test() -> None:
    wanted = Status.REAUTHORIZATION_NEEDED
    assert Health(needs_person=True).status(now=NOW, sealed=False) is wanted
    tested = Health(cause="reauthorization_needed", current=True)
    assert tested.status(now=NOW, sealed=False) is wanted
    assert (
        Health(cause="reauthorization_needed").status(now=NOW, sealed=False)
        is not wanted
    )


def test_requests_that_were_accepted_count_until_the_next_change_or_test() -> None:
    made = configuration(authentication_type="bearer")
    health = Health(seen={"tls": "TLSv1.3"}).after_success(NOW)
    assert health.is_proved
    assert health.accepted
    assert not health.current
    assert health.after_success(NOW + 1) == health, "only the first is stored"
    assert not health.after_change(made).is_proved
    assert health.after_change(made).seen == {"tls": "TLSv1.3"}
    assert not Health().after_success().is_proved, "of settings that are not these"
