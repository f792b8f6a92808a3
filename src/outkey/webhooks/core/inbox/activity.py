"""How often the deliveries of a webhook come, and whether its sender is silent."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import ceil
from typing import Any, Self

from outkey.foundation.core.moments import DAY_SECONDS

DAYS = 14  # whose gaps are compared: two weekends
USUAL_SHARE = 0.9  # of the days have no longer gap
LEAST_DELIVERIES = 5  # before anything is known to be usual
SHORTEST_GAP = 60.0  # seconds; a shorter one is a burst
SILENT_FACTOR = 3


@dataclass(frozen=True, slots=True)
class WebhookActivity:
    """The last delivery of a webhook, and the longest gap of each day with deliveries.

    A gap belongs to the day, counted since 1970, on which it ended. Nights and weekends
    are gaps like others, so that they are usual where they are.
    """

    last_at: float | None = None
    count: int = 0  # of deliveries, as far as that matters
    gaps: Mapping[int, float] = field(default_factory=dict)

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any]) -> Self:
        """Return the activity that stored facts describe; none without facts."""
        return cls(
            last_at=facts.get("last_at"),
            count=facts.get("count", 0),
            gaps=dict(facts.get("gaps", ())),
        )

    def facts(self) -> dict[str, object]:
        """Return the activity as JSON can hold it."""
        gaps = [[day, gap] for day, gap in self.gaps.items()]
        return {"last_at": self.last_at, "count": self.count, "gaps": gaps}

    def after(self, moments: Sequence[float]) -> "WebhookActivity":
        """Return the activity after deliveries at these times, the oldest first."""
        activity = self
        for moment in moments:
            activity = activity.after_delivery(moment)
        return activity

    def after_delivery(self, moment: float) -> "WebhookActivity":
        """Return the activity after one more delivery."""
        count = min(self.count + 1, LEAST_DELIVERIES)
        if self.last_at is None:
            return replace(self, last_at=moment, count=count)
        day = int(moment // DAY_SECONDS)
        gap = max(moment - self.last_at, self.gaps.get(day, 0.0))
        gaps = {
            known: longest
            for known, longest in {**self.gaps, day: gap}.items()
            if known > day - DAYS
        }
        return WebhookActivity(moment, count, gaps)

    def without_last(self) -> "WebhookActivity":
        """Return the activity where it is unknown what came after the last delivery."""
        return replace(self, last_at=None)

    @property
    def usual_gap(self) -> float | None:
        """The longest gap of a usual day, in seconds; None while that is unknown."""
        if self.count < LEAST_DELIVERIES or not self.gaps:
            return None
        gaps = sorted(self.gaps.values())
        return max(gaps[ceil(len(gaps) * USUAL_SHARE) - 1], SHORTEST_GAP)

    def silence(self, now: float, pulled_at: float | None) -> float | None:
        """Return for how long nothing came, if that is unusual; None if it is not.

        A pull of the same line at `pulled_at` has brought what was missed until then.
        """
        usual = self.usual_gap
        if usual is None or self.last_at is None:
            return None
        seconds = now - max(self.last_at, pulled_at or 0.0)
        return now - self.last_at if seconds > SILENT_FACTOR * usual else None
