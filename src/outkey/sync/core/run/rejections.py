"""Rejected records by their reasons."""

from collections import Counter
from collections.abc import Iterable

from outkey.sync.core.run.run import RejectedRecord, RejectionGroup


def group_rejections(records: Iterable[RejectedRecord]) -> list[RejectionGroup]:
    """Return rejected records by reason and field, the most frequent first."""
    counts: Counter[tuple[str, str]] = Counter()
    examples: dict[tuple[str, str], str] = {}
    for record in records:
        group = record.reason, record.field
        counts[group] += 1
        examples.setdefault(group, record.excerpt)
    return [
        RejectionGroup(reason, field, count, examples[reason, field])
        for (reason, field), count in counts.most_common()
    ]
