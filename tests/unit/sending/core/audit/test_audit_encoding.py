"""A record has one byte form, whichever way it is encoded."""

from hypothesis import given
from hypothesis import strategies as st

from outkey.sending.core.audit.chain import MAX_TIME, canonical, facts_of, label_of
from outkey.sending.core.audit.encoding import (
    encode_event,
    encode_intent,
    encode_outcome,
)
from outkey.sending.core.audit.events import Change, Intent, Outcome, Refusal, Tag

TEXTS = st.text(
    st.characters(exclude_categories=["Cs"]), max_size=12
)  # a lone surrogate is no text
TIMES = st.integers(min_value=0, max_value=MAX_TIME - 1)
INTENTS = st.builds(
    Intent,
    configuration=TEXTS,
    line=TEXTS,
    authentication_type=TEXTS,
    method=TEXTS,
    origin=TEXTS,
    path=TEXTS,
    header_names=st.lists(TEXTS, max_size=3).map(tuple),
    retry=st.integers(0, 9),
    tag=st.sampled_from([Tag.SEND_INTENT, Tag.TOKEN_INTENT]),
    actor=TEXTS,
)
OUTCOMES = st.builds(
    Outcome,
    attempt=TEXTS,
    configuration=TEXTS,
    status=st.integers(0, 599),
    outcome=TEXTS,
    duration_ms=st.integers(0, 10**6),
    tag=st.sampled_from([Tag.SEND_OUTCOME, Tag.TOKEN_OUTCOME]),
)
NUMBERS = st.dictionaries(
    st.sampled_from(["serial", "good", "refused"]), st.integers(0, 10**6)
)
OTHERS = st.builds(Refusal, TEXTS, TEXTS, TEXTS, TEXTS, actor=TEXTS) | st.builds(
    Change,
    st.sampled_from(Tag),
    TEXTS,
    TEXTS,
    st.lists(TEXTS).map(tuple),
    TEXTS,
    numbers=NUMBERS.map(lambda numbers: tuple(numbers.items())),
)


def named_facts(event: Outcome | Refusal | Change) -> dict[str, object]:
    """Return the facts of an event; a request without an actor names none.

    Nor one without a connection. The numbers of a rotation are facts by their names.
    """
    facts = event._asdict()
    if not event.connection:
        del facts["connection"]
    if isinstance(event, Change):
        del facts["numbers"]
        return facts | dict(event.numbers)
    if isinstance(event, Refusal) and not event.actor:
        del facts["actor"]
    return facts


@given(INTENTS, st.binary(max_size=16).map(bytes.hex), TIMES)
def test_an_intent_is_encoded_canonically(
    intent: Intent, attempt: str, at: int
) -> None:
    facts = {"at": at, "attempt": attempt, **intent.facts()}
    encoded = encode_intent(intent, attempt, at)
    assert encoded == (canonical(facts), label_of(facts))
    assert encode_intent(intent, attempt, at) == encoded
    assert label_of(facts_of(encoded.body))[0] == at


@given(OUTCOMES, TIMES)
def test_an_outcome_is_encoded_canonically(outcome: Outcome, at: int) -> None:
    facts = {"at": at, **named_facts(outcome)}
    assert encode_outcome(outcome, at) == (canonical(facts), label_of(facts))


@given(OTHERS, TIMES)
def test_every_other_event_is_encoded_canonically(
    event: Refusal | Change, at: int
) -> None:
    facts = {"at": at, **named_facts(event)}
    assert encode_event(event, at) == (canonical(facts), label_of(facts))


@given(INTENTS, OTHERS, TIMES, TEXTS.filter(bool))
def test_a_record_has_the_id_of_the_request_that_caused_it(
    intent: Intent, other: Refusal | Change, at: int, request_id: str
) -> None:
    facts = {"at": at, "attempt": "a", **intent.facts(), "request_id": request_id}
    encoded = encode_intent(intent, "a", at, request_id)
    assert encoded == (canonical(facts), label_of(facts))
    facts = {"at": at, **named_facts(other), "request_id": request_id}
    assert encode_event(other, at, request_id) == (canonical(facts), label_of(facts))


def test_refused_deliveries_are_failures_and_other_events_of_webhooks_changes() -> None:
    refused = encode_event(Change(Tag.DELIVERIES_REFUSED, "webhook"), 1)
    saved = encode_event(Change(Tag.WEBHOOK_SAVED, "ada"), 1)
    assert (refused.label.kind, saved.label.kind) == ("failure", "change")
