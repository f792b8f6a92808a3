"""The versions of a secret: pending, current and previous."""

from dataclasses import replace

import pytest

from outkey.foundation.core.errors import ConfigError, EditConflict
from outkey.sending.core.configuration.reference import parse_reference
from outkey.sending.core.configuration.secret_state import SecretState
from outkey.sending.core.vault.envelope import SealedRow
from outkey.sending.core.vault.versions import (
    SecretLabel,
    SecretVersion,
    activate,
    add_pending,
    current_states,
    current_voucher,
    secret_version,
)
from outkey.sending.core.vault.voucher import voucher_place

ORIGIN = "https://api.acme.example:443"


def version(number: int, label: SecretLabel, field: str = "token") -> SecretVersion:
    state = SecretState(ORIGIN, version=number)
    return secret_version("r1", field, state, label=label, sealed=b"%d" % number)


PREVIOUS = version(1, SecretLabel.PREVIOUS)
CURRENT = version(2, SecretLabel.CURRENT)
PENDING = version(3, SecretLabel.PENDING)


def test_a_version_comes_back_as_the_state_it_was_made_of() -> None:
    reference = parse_reference("env:TOKEN", field="token")
    for state in (
        SecretState(ORIGIN, None, 3, 5.0, "alice"),
        SecretState(ORIGIN, reference, 1),
    ):
        assert secret_version("r1", "token", state).state == state


def test_a_reference_that_was_written_by_hand_is_refused_by_its_field() -> None:
    forged = replace(CURRENT, reference="nonsense")
    with pytest.raises(ConfigError) as caught:
        current_states([forged])
    assert caught.value.field == "token"


def test_a_new_version_is_pending_and_takes_the_place_of_one_left_over() -> None:
    again = replace(PENDING, sealed=b"again")
    assert add_pending([], PENDING) == [(None, PENDING)]
    assert add_pending([CURRENT, PENDING], again) == [(PENDING, None), (None, again)]


def test_a_version_that_is_in_use_is_not_written_again() -> None:
    for used in (PREVIOUS, CURRENT):
        with pytest.raises(EditConflict):
            add_pending([PREVIOUS, CURRENT], replace(used, label=SecretLabel.PENDING))


def test_pending_becomes_current_current_becomes_previous_and_previous_is_deleted() -> (
    None
):
    assert activate([PREVIOUS, CURRENT, PENDING], 3) == [
        (PREVIOUS, None),
        (CURRENT, replace(CURRENT, label=SecretLabel.PREVIOUS)),
        (PENDING, replace(PENDING, label=SecretLabel.CURRENT)),
    ]
    first = replace(PENDING, label=SecretLabel.CURRENT)
    assert activate([PENDING], 3) == [(PENDING, first)]


@pytest.mark.parametrize("versions", [[], [CURRENT], [CURRENT, PENDING]])
def test_what_is_not_pending_any_more_is_not_activated(
    versions: list[SecretVersion],
) -> None:
    with pytest.raises(EditConflict):
        activate(versions, 2)


def test_only_current_versions_with_our_labels_are_in_use() -> None:
    planted = replace(version(9, SecretLabel.CURRENT, "password"), label="CURRENT")
    versions = [PREVIOUS, CURRENT, PENDING, planted]
    assert current_states(versions) == {"token": CURRENT.state}


def test_a_voucher_is_not_a_secret() -> None:
    place = voucher_place("r1", 4)
    voucher = SecretVersion(place, sealed=b"sealed")
    replaced = replace(voucher, label=SecretLabel.PREVIOUS)
    assert current_states([voucher]) == {}
    assert current_voucher([CURRENT, replaced]) is None
    assert current_voucher([CURRENT, replaced, voucher]) == SealedRow(place, b"sealed")
