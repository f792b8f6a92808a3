"""A preview in short: counts by outcome, rejected records by field and reason."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from outkey.foundation.core.text import Text
from outkey.sync.core.mapping.records import WriteOutcome
from outkey.sync.core.run.effects import Effect
from outkey.sync.core.run.reasons import rejection_text

MAX_KEYS = 5  # of rejected records that are named


@dataclass(frozen=True, slots=True)
class RejectedGroup:
    """The records that were rejected for one reason in one field."""

    field: str
    reason: Text
    count: int
    keys: tuple[str, ...]  # of the first ones


@dataclass(frozen=True, slots=True)
class PreviewSummary:
    """How many records of a preview have which outcome."""

    counts: Mapping[WriteOutcome, int]  # those that occur
    rejections: tuple[RejectedGroup, ...]  # the most frequent first
    total: int


def preview_summary(effects: Sequence[Effect]) -> PreviewSummary:
    """Return the summary of a preview."""
    counts = Counter(effect.outcome for effect in effects)
    by_reason: dict[tuple[str, str], list[Effect]] = {}
    for effect in effects:
        if effect.outcome is WriteOutcome.REFUSED:
            by_reason.setdefault((effect.field, effect.reason), []).append(effect)
    groups = [
        RejectedGroup(
            field=field,
            reason=rejection_text(reason),
            count=len(rejected),
            keys=tuple(effect.key for effect in rejected[:MAX_KEYS] if effect.key),
        )
        for (field, reason), rejected in by_reason.items()
    ]
    groups.sort(key=lambda group: -group.count)
    return PreviewSummary(
        counts={
            outcome: counts[outcome] for outcome in WriteOutcome if counts[outcome]
        },
        rejections=tuple(groups),
        total=len(effects),
    )
