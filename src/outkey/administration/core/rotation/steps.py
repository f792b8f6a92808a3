"""The steps of a rotation that are possible now, and what it says in words."""

from collections.abc import Callable, Iterator
from enum import StrEnum

from outkey.foundation.core.errors import Cause, ConfigError
from outkey.foundation.core.text import Text
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.rotation.credential_sets import (
    CredentialSet,
    CredentialSets,
    CredentialTrial,
    RotationState,
    Tally,
)


class Step(StrEnum):
    """A step, by the name that the commands have for it."""

    STAGE = "stage"
    TEST = "test"
    START = "start"
    PROMOTE = "promote"
    BACK = "back"
    RETIRE = "retire"
    PROBE = "probe-old"
    DISCARD = "discard"


def possible_steps(
    configuration: Configuration, tally: Tally, now: float
) -> frozenset[Step]:
    """Return the steps that would not be refused; `tally` is that of the trial."""
    sets = configuration.sets
    trial = CredentialTrial(
        configuration.rotation.share, configuration.rotation.successes, now
    )
    used = CredentialSet(sets.serial)
    attempts: dict[Step, Callable[[], object]] = {
        Step.STAGE: sets.refuse_staging,
        Step.TEST: sets.next_set,
        Step.START: lambda: sets.started(trial, now),
        Step.PROMOTE: lambda: sets.promoted(tally, used, now=now, days=1),
        Step.BACK: lambda: sets.back(used, now),
        Step.RETIRE: lambda: sets.retired(was_accepted=configuration.was_accepted),
        Step.PROBE: sets.previous_set,
        Step.DISCARD: sets.next_set,
    }
    steps = frozenset(step for step, take in attempts.items() if _is_possible(take))
    if sets.cause:  # another test would not bring a rejected set back
        steps -= {Step.TEST}
    return steps - {Step.START} if sets.trial else steps


def _is_possible(take: Callable[[], object]) -> bool:
    try:
        take()
    except ConfigError:
        return False
    return True


def rotation_sentences(
    configuration: Configuration, tally: Tally, now: float
) -> Iterator[Text]:
    """Yield how far a rotation is, in sentences."""
    sets = configuration.sets
    match sets.state(now):
        case RotationState.NONE:
            return
        case RotationState.STAGED:
            yield _words_of_staged(sets)
        case RotationState.TESTED:
            yield Text("The API accepted the next credentials in a test.")
            yield Text("Use them for a part of the requests first, or for all at once.")
        case RotationState.TRIAL:
            yield from _words_of_trial(configuration, tally)
        case RotationState.REJECTED:
            yield Text(
                "The next credentials were refused: {cause}.",
                cause=_cause_words(sets.cause),
            )
            yield Text(
                "The request was sent again with those in use, which all requests have"
                " used since."
            )
        case RotationState.OVERLAP:
            yield from _words_of_overlap(configuration)


def _words_of_staged(sets: CredentialSets) -> Text:
    test = sets.test
    if test is None:
        return Text("The next credentials are stored, and used for nothing: test them.")
    if not test.ok:
        return Text(
            "The last test of the next credentials failed: {cause}. They are used for"
            " nothing.",
            cause=_cause_words(test.cause),
        )
    return Text(
        "The last good test of the next credentials is more than an hour ago: test them"
        " again."
    )


def _cause_words(cause: str) -> Text:
    return (Cause(cause) if cause in {*Cause} else Cause.UNEXPECTED).label


def _words_of_trial(configuration: Configuration, tally: Tally) -> Iterator[Text]:
    trial = configuration.sets.trial
    assert trial is not None  # noqa: S101 - that is the state
    yield Text("{share} % of the requests try the next credentials.", share=trial.share)
    if tally.refused:  # which ends the trial as soon as a sender has noted it
        return
    if tally.good:
        yield Text(
            "They were accepted {good} of {after} times and never refused.",
            good=tally.good,
            after=trial.after,
        )
    else:
        yield Text("Until the first success they do so one at a time.")
    if tally.denied:
        yield Text(
            "They lacked a permission {denied} times, so you have to decide.",
            denied=tally.denied,
        )
    elif tally.good and configuration.rotation.automatic:
        yield Text("After that all requests use them.")
    elif tally.good:
        yield Text("You decide when all requests use them.")


def _words_of_overlap(configuration: Configuration) -> Iterator[Text]:
    sets = configuration.sets
    previous = sets.previous_set()
    if previous.serial > sets.serial:
        yield Text("The earlier credentials are used again, instead of the newer ones.")
    else:
        if sets.tally.good > 1:
            yield Text(
                "The next credentials were accepted {good} times and never refused.",
                good=sets.tally.good,
            )
        yield Text("All requests use the next credentials from now on.")
    if sets.refused_at is not None:
        yield Text("The API refuses the ones before.")
