"""The bytes of a record, and the label that a table finds it by.

Every send has an intent and an outcome, so these two are put together from parts that
are cached: only time, attempt and duration differ from one send to the next. The result
is what `canonical` makes of the same facts.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from outkey.sending.core.audit.chain import (
    CANONICAL_JSON,
    MAX_ACTOR,
    Label,
    canonical,
    kind_of,
    label_of,
)
from outkey.sending.core.audit.events import Change, Intent, Outcome, Refusal, Tag

MAX_REMEMBERED = 1024


class EncodedRecord(NamedTuple):
    """An event as it is stored."""

    body: bytes
    label: Label


class IntentParts(NamedTuple):
    """The text of an intent before and after its time; the actor, if any, is before."""

    before: str
    after: str


class OutcomeParts(NamedTuple):
    """The text of an outcome before and after its duration, and its kind."""

    before: str
    after: str
    kind: str


def encode_intent(
    intent: Intent, attempt: str, at: int, request_id: str = ""
) -> EncodedRecord:
    """Return the record of an intent; `at` is Unix time in ms."""
    if request_id:
        facts = {"at": at, "attempt": attempt, **intent.facts()}
        return _encode_facts(facts, request_id)
    # In canonical JSON keys are sorted: only `actor` comes before `at` and `attempt`.
    parts = _encode_intent_parts(intent)
    body = f'{{{parts.before}"at":{at},"attempt":"{attempt}",{parts.after}}}'
    label = Label(at, intent.configuration, actor=intent.actor[:MAX_ACTOR])
    return EncodedRecord(body.encode(), label)


def encode_outcome(outcome: Outcome, at: int) -> EncodedRecord:
    """Return the record of an outcome; `at` is Unix time in ms."""
    parts = _encode_outcome_parts(
        outcome.configuration,
        outcome.outcome,
        outcome.status,
        outcome.tag,
        outcome.connection,
    )
    attempt = outcome.attempt
    attempt = f'"{attempt}"' if attempt.isalnum() else CANONICAL_JSON.encode(attempt)
    body = (
        f'{{"at":{at},"attempt":{attempt},{parts.before},'
        f'"duration_ms":{outcome.duration_ms},{parts.after}}}'
    )
    label = Label(at, outcome.configuration, outcome.outcome, kind=parts.kind)
    return EncodedRecord(body.encode(), label)


def encode_event(
    event: Change | Refusal, at: int, request_id: str = ""
) -> EncodedRecord:
    """Return the record of any other event; `at` is Unix time in ms."""
    if isinstance(event, Change):
        return _encode_facts({"at": at, **event.facts()}, request_id)
    facts = {"at": at, **event._asdict()}
    for name in ("actor", "connection"):
        if not facts[name]:
            del facts[name]  # most requests have none, and do not name one
    return _encode_facts(facts, request_id)


def _encode_facts(facts: Mapping[str, object], request_id: str) -> EncodedRecord:
    """Return a record with the id of the request that caused it, if there is one."""
    if request_id:
        facts = {**facts, "request_id": request_id}
    return EncodedRecord(canonical(facts), label_of(facts))


@lru_cache(maxsize=MAX_REMEMBERED)
def _encode_intent_parts(intent: Intent) -> IntentParts:
    """Return the facts of an intent that stand before and after its time."""
    facts = intent.facts()
    actor = canonical({"actor": facts.pop("actor", "")})[1:-1].decode()
    return IntentParts(
        f"{actor}," if intent.actor else "", canonical(facts)[1:-1].decode()
    )


@lru_cache(maxsize=MAX_REMEMBERED)
def _encode_outcome_parts(
    configuration: str, outcome: str, status: int, tag: Tag, connection: str
) -> OutcomeParts:
    """Return the facts of an outcome that stand before and after its duration."""
    account = {"connection": connection} if connection else {}
    before = canonical({"configuration": configuration, **account})
    after = canonical({"outcome": outcome, "status": status, "tag": tag})
    return OutcomeParts(
        before[1:-1].decode(), after[1:-1].decode(), kind_of(tag, outcome)
    )
