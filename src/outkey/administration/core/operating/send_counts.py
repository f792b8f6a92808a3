"""How many requests of a configuration were sent, how long they took, and rotations."""

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from outkey.foundation.core.groups import add_one
from outkey.foundation.core.state_shapes import known_members
from outkey.sending.core.audit.events import Tag

# Upper bounds in seconds; APIs respond within a second or time out within a minute.
BUCKETS = (0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
MILLISECONDS = 1000


ROTATION_TAGS = frozenset(
    {
        Tag.SECRET_STAGED,
        Tag.ROTATION_TESTED,
        Tag.ROTATION_STARTED,
        Tag.ROTATION_PROMOTED,
        Tag.ROTATION_REFUSED,
        Tag.ROTATION_BACK,
        Tag.ROTATION_RETIRED,
        Tag.ROTATION_DISCARDED,
        Tag.ROTATION_PROBED,
    }
)


@dataclass(slots=True)
class SendCounts:
    """The counts of one configuration, from the records of the audit."""

    sends: dict[str, int] = field(default_factory=dict)  # by outcome
    renewals: dict[str, int] = field(default_factory=dict)  # of tokens, by outcome
    refusals: dict[str, int] = field(default_factory=dict)  # by the code of the error
    rotation_steps: dict[str, int] = field(default_factory=dict)
    # How many took no longer than each bound and longer than the one before it; the
    # last is for those that took longer than all bounds.
    durations: list[int] = field(default_factory=lambda: [0] * (len(BUCKETS) + 1))
    seconds: float = 0.0  # of all of them together

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any]) -> Self:
        """Return the counts that were stored; without facts, none."""
        return cls(**known_members(cls, facts))

    def facts(self) -> dict[str, object]:
        """Return the counts as JSON can hold them."""
        return {
            "sends": self.sends,
            "renewals": self.renewals,
            "refusals": self.refusals,
            "rotation_steps": self.rotation_steps,
            "durations": self.durations,
            "seconds": self.seconds,
        }

    def add(self, record: Mapping[str, object]) -> None:
        """Count what a record of the audit is about, if it is counted at all."""
        tag = record.get("tag")
        if tag == Tag.SEND_OUTCOME:
            add_one(self.sends, str(record.get("outcome")))
            self._add_duration(record.get("duration_ms"))
        elif tag == Tag.TOKEN_OUTCOME:
            add_one(self.renewals, str(record.get("outcome")))
        elif tag == Tag.SEND_REFUSED:
            add_one(self.refusals, str(record.get("code")))
        elif tag in ROTATION_TAGS:
            add_one(self.rotation_steps, str(tag).rpartition(":")[2])

    def _add_duration(self, milliseconds: object) -> None:
        if not isinstance(milliseconds, int):
            return
        seconds = milliseconds / MILLISECONDS
        if len(self.durations) != len(BUCKETS) + 1:
            return  # not as it was stored
        self.durations[bisect_left(BUCKETS, seconds)] += 1
        self.seconds += seconds


COUNTED_TAGS = ROTATION_TAGS | {Tag.SEND_OUTCOME, Tag.TOKEN_OUTCOME, Tag.SEND_REFUSED}
