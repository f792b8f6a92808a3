"""What the page of a configuration says about a rotation, and what it offers."""

from dataclasses import replace

import pytest

from outkey.administration.core.rotation.steps import (
    Step,
    possible_steps,
    rotation_sentences,
)
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.rotation.credential_sets import (
    ONE_SET,
    CredentialSets,
    SetTest,
    Tally,
)
from outkey.testing import configuration
from unit.sending.core.rotation.test_credential_sets import (
    NOW,
    USED,
    after_test,
    on_trial,
    promoted,
    staged,
)

NEXT = {Step.STAGE, Step.TEST, Step.DISCARD}
BEFORE = {Step.BACK, Step.PROBE}


def with_sets(
    sets: CredentialSets, *, was_accepted: bool = False, **wishes: object
) -> Configuration:
    made = configuration(authentication_type="bearer", **wishes)
    return replace(made, sets=sets, was_accepted=was_accepted)


def rejected() -> CredentialSets:
    return on_trial().rejected(Tally(good=1, refused=1), "token_expired")


@pytest.mark.parametrize(
    ("sets", "tally", "steps"),
    [
        (ONE_SET, Tally(), {Step.STAGE}),
        (staged(), Tally(), NEXT),
        (after_test(), Tally(), NEXT | {Step.START, Step.PROMOTE}),
        (on_trial(), Tally(), {Step.TEST, Step.BACK, Step.DISCARD}),
        (on_trial(), Tally(1), {Step.TEST, Step.BACK, Step.DISCARD, Step.PROMOTE}),
        (rejected(), Tally(), {Step.STAGE, Step.DISCARD}),
        (promoted(), Tally(), BEFORE),
    ],
)
def test_a_state_offers_the_steps_that_are_not_refused(
    sets: CredentialSets, tally: Tally, steps: set[Step]
) -> None:
    assert possible_steps(with_sets(sets), tally, NOW) == steps


def test_what_is_in_use_must_be_accepted_before_the_old_one_is_deleted() -> None:
    for was_accepted, steps in ((False, BEFORE), (True, BEFORE | {Step.RETIRE})):
        seen = with_sets(promoted(), was_accepted=was_accepted)
        assert possible_steps(seen, Tally(), NOW) == steps


def words(seen: Configuration, tally: Tally | None = None) -> str:
    return " ".join(rotation_sentences(seen, tally or Tally(), NOW))


@pytest.mark.parametrize(
    ("sets", "expected"),
    [
        (ONE_SET, ""),
        (staged(), "used for nothing: test them"),
        (staged().tested(SetTest(NOW, ok=False, cause="dns")), "failed: dns."),
        (staged().tested(SetTest(NOW, ok=False)), "failed: unexpected."),
        (staged().tested(SetTest(NOW - 3601, ok=True)), "more than an hour ago"),
        (after_test(), "accepted the next credentials in a test"),
        (rejected(), "were refused: token expired."),
    ],
)
def test_a_state_is_told_in_words(sets: CredentialSets, expected: str) -> None:
    said = words(with_sets(sets))
    assert expected in said
    assert bool(said) == bool(expected)


def test_a_trial_is_told_with_its_results() -> None:
    trying = with_sets(on_trial())
    assert "10 % of the requests" in words(trying)
    assert "one at a time" in words(trying)
    assert words(trying, Tally(4)).endswith(
        "accepted 4 of 20 times and never refused. After that all requests use them."
    )
    assert "lacked a permission 2 times" in words(trying, Tally(4, denied=2))
    assert "lacked a permission 1 times" in words(trying, Tally(denied=1))
    assert "You decide" in words(
        with_sets(on_trial(), rotation__automatic=False), Tally(4)
    )
    assert "never refused" not in words(trying, Tally(4, refused=1))


def test_an_overlap_tells_what_is_in_use_and_why() -> None:
    proved = after_test().promoted(Tally(20), USED, now=NOW, days=7)
    assert words(with_sets(proved)).startswith("The next credentials were accepted 20")
    assert words(with_sets(promoted())) == (
        "All requests use the next credentials from now on."
    )
    back = proved.back(replace(USED, serial=2), NOW)
    assert words(with_sets(back)).startswith("The earlier credentials are used again")
    assert words(with_sets(proved.probed(NOW))).endswith(
        "The API refuses the ones before."
    )
