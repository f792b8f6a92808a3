"""Which step of a rotation is allowed when, and what it leaves."""

import json

import pytest

from outkey.foundation.core.errors import (
    ConfigError,
    RotationNone,
    RotationPending,
    RotationUntested,
)
from outkey.sending.core.configuration.reference import parse_reference
from outkey.sending.core.configuration.secret_state import SecretState
from outkey.sending.core.rotation.credential_sets import (
    DAY,
    ONE_SET,
    CredentialSet,
    CredentialSets,
    CredentialTrial,
    RotationState,
    SetTest,
    Tally,
)

NOW = 1_800_000_000.0
TOKEN = SecretState("https://api.example", version=2, set_at=NOW, set_by="ann")
USED = CredentialSet(1, {"token": SecretState("https://api.example", set_at=1.0)})
TRIAL = CredentialTrial(share=10, after=20, started_at=NOW)


def staged() -> CredentialSets:
    return ONE_SET.staged("token", TOKEN, at=NOW, by="ann")


def after_test() -> CredentialSets:
    return staged().tested(SetTest(NOW, ok=True))


def on_trial() -> CredentialSets:
    return after_test().started(TRIAL, NOW)


def promoted() -> CredentialSets:
    return after_test().promoted(Tally(), USED, now=NOW, days=7)


def test_each_step_leads_to_its_state() -> None:
    rejected = on_trial().rejected(Tally(refused=1), "invalid_credentials")
    states = [
        sets.state(NOW)
        for sets in (ONE_SET, staged(), after_test(), on_trial(), rejected, promoted())
    ]
    assert states == list(RotationState)


def test_a_test_is_good_for_an_hour() -> None:
    assert after_test().state(NOW + 3600) is RotationState.TESTED
    assert after_test().state(NOW + 3601) is RotationState.STAGED
    assert after_test().state(NOW - 1) is RotationState.STAGED, "the clock was set back"


def test_a_failed_test_leaves_the_set_staged() -> None:
    failed = staged().tested(SetTest(NOW, ok=False, cause="invalid_credentials"))
    assert failed.state(NOW) is RotationState.STAGED
    with pytest.raises(RotationUntested):
        failed.started(TRIAL, NOW)


def test_another_part_of_the_set_voids_its_test() -> None:
    sets = after_test().staged("username", "ann", at=NOW, by="ann")
    assert sets.state(NOW) is RotationState.STAGED
    assert sets.next is not None
    assert (sets.next.serial, sets.next.fields) == (2, ["token", "username"])


@pytest.mark.parametrize("sets", [on_trial(), promoted()])
def test_nothing_is_staged_during_a_trial_or_while_a_set_is_kept(
    sets: CredentialSets,
) -> None:
    with pytest.raises(RotationPending):
        sets.staged("token", TOKEN, at=NOW, by="ann")


def test_what_is_staged_after_a_rejection_has_another_serial() -> None:
    rejected = on_trial().rejected(Tally(good=3, refused=1), "invalid_credentials")
    again = rejected.staged("token", TOKEN, at=NOW, by="ann")
    assert again.next is not None
    assert (again.next.serial, again.cause, again.tally) == (3, "", Tally())


def test_a_rejected_set_has_to_be_staged_again_also_after_a_good_test() -> None:
    rejected = on_trial().rejected(Tally(good=3, refused=1), "invalid_credentials")
    tested = rejected.tested(SetTest(NOW, ok=True))
    with pytest.raises(RotationUntested, match="in their trial"):
        tested.started(TRIAL, NOW)
    with pytest.raises(RotationUntested, match="in their trial"):
        tested.promoted(Tally(good=1), USED, now=NOW, days=7)


def test_a_trial_needs_a_good_test_and_its_share_can_be_changed() -> None:
    with pytest.raises(RotationUntested):
        staged().started(TRIAL, NOW)
    changed = on_trial().started(CredentialTrial(50, 5, NOW + 9), NOW + 9)
    assert changed.trial == CredentialTrial(50, 5, NOW)


def test_a_set_is_promoted_after_a_test_or_a_success_and_not_without() -> None:
    for sets in (staged(), on_trial()):
        with pytest.raises(RotationUntested):
            sets.promoted(Tally(), USED, now=NOW, days=7)
    after_trial = on_trial().promoted(Tally(good=1), USED, now=NOW, days=7)
    assert after_trial == replace_tally(promoted(), Tally(good=1))
    assert (after_trial.serial, after_trial.until) == (2, NOW + 7 * DAY)
    assert after_trial.previous == USED


def test_a_set_that_was_refused_is_not_promoted_while_its_trial_is_not_ended() -> None:
    with pytest.raises(RotationUntested):
        on_trial().promoted(Tally(good=5, refused=1), USED, now=NOW, days=7)


def replace_tally(sets: CredentialSets, tally: Tally) -> CredentialSets:
    return CredentialSets.from_facts(
        {**sets.facts(), "tally": [tally.good, tally.refused, tally.denied]}
    )


def test_going_back_exchanges_the_sets_as_often_as_wanted() -> None:
    newer = CredentialSet(2, {"token": TOKEN})
    back = promoted().back(newer, NOW + 5)
    assert (back.serial, back.previous) == (1, newer)
    again = back.back(USED, NOW + 6)
    assert (again.serial, again.previous, again.newest) == (2, USED, 2)


def test_going_back_from_a_trial_leaves_the_set_staged_and_untested() -> None:
    sets = on_trial().back(USED, NOW)
    assert sets.state(NOW) is RotationState.STAGED
    assert sets.previous is None


def test_the_previous_set_is_forgotten_only_after_a_success_of_the_other() -> None:
    with pytest.raises(RotationUntested):
        promoted().retired(was_accepted=False)
    retired = promoted().retired(was_accepted=True)
    assert retired.state(NOW) is RotationState.NONE
    assert (retired.serial, retired.newest) == (2, 2)


@pytest.mark.parametrize("sets", [staged(), after_test(), on_trial()])
def test_a_next_set_is_discarded_in_any_state(sets: CredentialSets) -> None:
    discarded = sets.discarded()
    assert discarded.state(NOW) is RotationState.NONE
    assert (discarded.serial, discarded.newest) == (1, 2)


def test_a_step_without_its_set_is_refused() -> None:
    with pytest.raises(RotationNone):
        ONE_SET.discarded()
    with pytest.raises(RotationNone):
        ONE_SET.started(TRIAL, NOW)
    with pytest.raises(RotationNone):
        staged().back(USED, NOW)
    with pytest.raises(RotationNone):
        staged().retired(was_accepted=True)
    with pytest.raises(RotationNone):
        ONE_SET.probed(NOW)


def test_a_new_token_clears_the_end_of_the_one_before() -> None:
    sets = staged()
    assert sets.next is not None
    assert sets.next.replaced_companions == {"token_expires_on": ""}
    dated = sets.staged("token_expires_on", "2027-01-01", at=NOW, by="ann").next
    assert dated is not None
    assert dated.replaced_companions == {"token_expires_on": "2027-01-01"}


def test_sets_are_stored_as_json_and_read_again() -> None:
    reference = parse_reference("env:NEXT", field="token")
    sets = (
        ONE_SET.staged("token", SecretState("o", reference), at=NOW, by="ann")
        .staged("username", "ann", at=NOW, by="ann")
        .tested(SetTest(NOW, ok=True))
        .started(TRIAL, NOW)
    )
    for each in (sets, promoted(), ONE_SET, promoted().probed(NOW)):
        stored = json.loads(json.dumps(each.facts()))
        assert CredentialSets.from_facts(stored) == each


def test_a_configuration_with_one_set_stores_nothing() -> None:
    assert ONE_SET.facts() == {}


@pytest.mark.parametrize("facts", [{"serial": 1}, [1], "text", {"next": {}}])
def test_stored_sets_that_cannot_be_read_are_an_error(facts: object) -> None:
    with pytest.raises(ConfigError):
        CredentialSets.from_facts(facts)


def test_versions_of_both_sets_are_known() -> None:
    assert staged().has_version("token", 2)
    assert not staged().has_version("token", 1)
    assert promoted().has_version("token", 1)


def test_sets_end_by_time() -> None:
    until = promoted().until
    assert until is not None
    assert promoted().has_ended_overlap(until)
    assert not promoted().has_ended_overlap(until - 1)
    assert not ONE_SET.has_ended_overlap(NOW)
    assert staged().is_stale(NOW + 30 * DAY)
    assert not staged().is_stale(NOW + 30 * DAY - 1)
    assert not ONE_SET.is_stale(NOW)
